"""The linear relaxation of one node, from its box to its multipliers; compiled, see `model.py` for the arrays.

In:  a box cut to the ball, bounds and phases of the hidden units, one part of the goal.
Out: the bound that the multipliers prove (in floating point), the multipliers, and the relaxed point with, for every
     way to branch, about how much of the distance the relaxation loses there.
How: the variables are the change of each grid axis in each direction (an l0 jump is spread over the way to the end of
the box), a share of each level, the largest change, and the output of each ReLU that may be on or off. All costs are
>= 0, so the dual simplex needs no first phase, and a node without points ends in a ray.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.networks.kernels import INFINITY, NOWHERE, dual_bound
from mace.solve.networks.model import LEVELS, Array, Axes, Hull, Net, Units
from mace.solve.networks.simplex import BEYOND, EMPTY, Basis, Simplex, dual_simplex, slack_basis

MOST_PIVOTS = 2000  # for a node's linear program from its first basis; what is not solved by then counts as stuck


class Relaxed(NamedTuple):
    """What the relaxation of a node says of one part of the goal.

    bound:  the distance that the multipliers prove, in floats.
    status: of the simplex; BEYOND where not every number here may be finite.
    goal, slope, mu, share: multipliers of the comparisons and of what rules make hold, one after the other, of the
            ReLUs (H, N), the phases (H, N), the axes (J,).
    changes: that of how many features change.
    point:  (I,) the relaxed point.    loss, scores: of items (I,) and ReLUs (H, N), about how much is lost there.
    weight: (H, N) each hidden unit's coefficient.
    """

    bound: float
    status: int
    goal: Array
    slope: Array
    mu: Array
    share: Array
    changes: float
    point: Array
    loss: Array
    scores: Array
    weight: Array


class Program(NamedTuple):
    """The linear program of a node, cost . x over T x <= b and 0 <= x <= top, before it is solved.

    start:       what every point costs.    inputs: how many variables, the first ones, move a feature.
    axis, item, sign: of these, the axis, the item and the direction.
    base, least: the items (I,) where all variables are 0, and what each axis (J,) has changed there.
    ball:        the row that keeps the distance below a limit; -1 if there is none.
    few:         the row that keeps the number of changes, spread over the way as jumps are, small enough; -1.
    hidden:      (H, N) the variables that are outputs of ReLUs; -1 where there is none, as in all that follow.
    lower, fixed, ends: the rows of lines below ReLUs (H, N), of phases (H, N) and of the largest change (J,).
    zs, zo:      the inputs of hidden units as functions of the variables.
    """

    T: Array
    b: Array
    cost: Array
    top: Array
    start: float
    inputs: int
    axis: Array
    item: Array
    sign: Array
    base: Array
    least: Array
    ball: int
    few: int
    hidden: Array
    lower: Array
    fixed: Array
    ends: Array
    zs: Array
    zo: Array


class Variables(NamedTuple):
    """The variables of a program as they are numbered, and the point where all are 0; see `Program`.

    moves: what of a change of a feature each makes, where changes are counted.
    """

    cost: Array
    top: Array
    moves: Array
    axis: Array
    item: Array
    sign: Array
    base: Array
    least: Array


@lean
def of_number(axes: Axes, j: int, low: float, high: float, n: int, made: Variables) -> tuple[int, float, float]:
    """Number the variables of a number whose change lies in low..high, from n on: one for each way it may go.

    Returns the next number, and what every change costs and counts.
    """
    f, jump, rate = axes.first[j], axes.jump[j], axes.rate[j]
    if low <= 0.0 <= high:
        for side in range(2):
            reach = high if side == 0 else -low
            if reach > 0.0:
                made.axis[n], made.item[n], made.sign[n], made.top[n] = j, f, 1.0 - 2.0 * side, reach
                made.cost[n] = rate + jump / reach
                made.moves[n] = 1.0 / reach
                n += 1
        return n, 0.0, 0.0
    near, far, way = (low, high, 1.0) if low > 0.0 else (high, low, -1.0)
    made.base[f] = near
    made.least[j] = abs(near)
    if far != near:
        made.axis[n], made.item[n], made.sign[n], made.top[n] = j, f, way, abs(far - near)
        made.cost[n] = rate
        n += 1
    return n, jump + rate * abs(near), 1.0


@lean
def of_levels(axes: Axes, j: int, on: Array, n: int, made: Variables) -> tuple[int, float, float]:
    """Number the variables of a feature with levels, from n on: a share of each level but the cheapest.

    Returns the next number, and what every level costs and counts.
    """
    change, jump, rate = axes.change, axes.jump[j], axes.rate[j]
    chosen, cheapest = -1, INFINITY
    for i in range(axes.first[j], axes.first[j] + axes.count[j]):
        if on[i]:
            c = jump + rate * change[i] if change[i] > 0 else 0.0
            if c < cheapest:
                chosen, cheapest = i, c
    made.base[chosen] = 1.0
    made.least[j] = change[chosen]
    already = 1.0 if change[chosen] > 0 else 0.0
    for i in range(axes.first[j], axes.first[j] + axes.count[j]):
        if on[i] and i != chosen:
            made.axis[n], made.item[n], made.sign[n], made.top[n] = j, i, 1.0, 1.0
            made.cost[n] = (jump + rate * change[i] if change[i] > 0 else 0.0) - cheapest
            made.moves[n] = (1.0 if change[i] > 0 else 0.0) - already
            n += 1
    return n, cheapest, already


@lean
def base_level(axes: Axes, j: int, base: Array) -> int:
    """The item of the level that the base point has of a feature; -1 where the feature is a number."""
    if axes.kind[j] == LEVELS:
        for i in range(axes.first[j], axes.first[j] + axes.count[j]):
            if base[i] == 1.0:
                return int(i)
    return -1


@compiled
def rows_of_rules(axes: Axes, made: Variables, inputs: int, T: Array, b: Array, m: int) -> int:
    """The rows held . items >= need, from row m on; returns the next row."""
    for r in range(len(axes.need)):
        held = axes.held[r]
        b[m] = held @ made.base - axes.need[r]
        for c in range(inputs):
            T[m, c] = -made.sign[c] * held[made.item[c]]
            level = base_level(axes, made.axis[c], made.base)
            if level >= 0:
                T[m, c] += held[level]
        m += 1
    return m


@lean
def of_first_layer(axes: Axes, W0: Array, made: Variables, inputs: int, z: Array) -> None:
    """The inputs of the first layer's units (N, columns) as functions of the variables."""
    for c in range(inputs):
        level = base_level(axes, made.axis[c], made.base)
        for i in range(len(z)):
            z[i, c] = made.sign[c] * W0[made.item[c], i] - (W0[level, i] if level >= 0 else 0.0)


@lean
def rows_of_axes(
    axes: Axes, made: Variables, inputs: int, largest: int, T: Array, b: Array, m: int, ends: Array
) -> int:
    """The rows of shares of levels, and of changes below the largest one, from row m on; returns the next row.

    largest: the variable that is the largest change, -1 if that costs nothing; ends: (J,) its rows, filled in here.
    """
    for j in range(len(axes.kind)):
        levels = axes.kind[j] == LEVELS
        several = 0
        for c in range(inputs):
            if made.axis[c] == j and levels:
                several += 1
        if several > 1:  # shares of levels sum to at most 1; the base has the rest
            for c in range(inputs):
                if made.axis[c] == j:
                    T[m, c] = 1.0
            b[m] = 1.0
            m += 1
        if largest >= 0 and axes.peak[j] > 0:
            ends[j] = m
            for c in range(inputs):
                if made.axis[c] == j:
                    T[m, c] = axes.peak[j] * (axes.change[made.item[c]] - made.least[j] if levels else 1.0)
            T[m, largest] = -1.0
            b[m] = -axes.peak[j] * made.least[j]
            m += 1
    return m


@lean
def room(axes: Axes, net: Net, units: Units, distance: bool) -> tuple[int, int]:
    """How many hidden units may be on or off; and how many rows a program has at most, but for the goal's."""
    unstable, rows = 0, 0
    for layer in range(len(units.L)):
        for i in range(net.size[layer]):
            if net.relu[layer] and units.L[layer, i] < 0.0 < units.U[layer, i]:
                unstable += 1
            if units.phase[layer, i] != 0:
                rows += 1
    if distance:
        for j in range(len(axes.peak)):
            if axes.peak[j] > 0:
                rows += 1
    return unstable, rows + 2 * unstable + len(axes.need) + len(axes.kind) + 2


@compiled
def program(
    C: Array, than: Array, axes: Axes, net: Net, hull: Hull, units: Units, distance: bool, limit: float, most: float
) -> Program:
    """The linear program of one node and one part of the goal, `distance`: with costs; limit < 0: distances have none;
    most: how many features may change, at least as many as there are where nobody has said.

    Long because variables, rows and multipliers are numbered as they are made: the goal's rows come first, then those
    of rules, of hidden units, and of axes.
    """
    axes, net, units = Axes(*axes), Net(*net), Units(*units)  # plain tuples, see `kernels.plain`
    W0, W, B, relu, size, _ = net
    L, U, phase = units
    lo, hi, on = hull
    H, N = L.shape
    J, items, G = len(axes.kind), W0.shape[0], len(than)
    unstable, rows = room(axes, net, units, distance)
    columns = 2 * J + items + unstable + 1
    made = Variables(
        np.zeros(columns), np.full(columns, INFINITY), np.zeros(columns), np.full(columns, -1), np.full(columns, -1),
        np.zeros(columns), np.zeros(items), np.zeros(J),
    )  # fmt: skip
    n, start, moved = 0, 0.0, 0.0
    for j in range(J):
        if axes.kind[j] != LEVELS:
            n, costs, counts = of_number(axes, j, lo[j], hi[j], n, made)
        else:
            n, costs, counts = of_levels(axes, j, on, n, made)
        start += costs
        moved += counts
    inputs, largest = n, -1
    if distance and np.any(axes.peak > 0):
        made.cost[n] = 1.0
        largest = n
        n += 1
    if not distance:
        made.cost[:] = 0.0
        start = 0.0
    hidden, lower, fixed = np.full((H, N), -1), np.full((H, N), -1), np.full((H, N), -1)
    T, b = np.zeros((G + rows, columns)), np.zeros(G + rows)
    m = rows_of_rules(axes, made, inputs, T, b, G)
    # Invariant: output i of the layer below is expression[i] . variables + offset[i].
    expression, offset = np.zeros((N, columns)), np.zeros(N)
    zs, zo = np.zeros((H, N, columns)), np.zeros((H, N))
    for layer in range(H + 1):
        if layer == 0:
            z, o = np.zeros((N, columns)), B[0] + made.base @ W0
            of_first_layer(axes, W0, made, inputs, z)
        else:
            z, o = W[layer].T @ expression, W[layer].T @ offset + B[layer]
        if layer == H:
            for g in range(G):  # c . s - than >= 0
                T[g] = -(C[g] @ z)
                b[g] = C[g] @ o - than[g]
            break
        zs[layer], zo[layer] = z, o
        expression, offset = np.zeros((N, columns)), np.zeros(N)
        for i in range(size[layer]):
            below, above = L[layer, i], U[layer, i]
            if phase[layer, i] != 0:
                fixed[layer, i] = m
                T[m] = -phase[layer, i] * z[i]
                b[m] = phase[layer, i] * o[i]
                m += 1
            if relu[layer] and above <= 0.0:
                continue
            if not relu[layer] or below >= 0.0:
                expression[i], offset[i] = z[i], o[i]
                continue
            hidden[layer, i] = n
            expression[i, n] = 1.0
            # A proof's multipliers know no end of an output beside its two lines, so that what it adds is not proved.
            made.top[n] = INFINITY
            lower[layer, i] = m  # z <= a
            T[m] = z[i]
            T[m, n] -= 1.0
            b[m] = -o[i]
            m += 1
            steep = above / (above - below)
            T[m] = -steep * z[i]  # a <= steep (z - below)
            T[m, n] += 1.0
            b[m] = steep * (o[i] - below)
            m += 1
            n += 1
    ends = np.full(J, -1)
    m = rows_of_axes(axes, made, inputs, largest, T, b, m, ends)
    ball = few = -1
    if limit >= 0.0:
        ball = m
        T[m] = made.cost
        b[m] = limit - start
        m += 1
    if most < J:
        few = m
        T[m] = made.moves
        b[m] = most - moved
        m += 1
    return Program(
        T[:m, :n].copy(), b[:m].copy(), made.cost[:n].copy(), made.top[:n].copy(), start, inputs, made.axis, made.item,
        made.sign, made.base, made.least, ball, few, hidden, lower, fixed, ends, zs, zo,
    )  # fmt: skip


class Solved(NamedTuple):
    """The end of the dual simplex on a program, see `simplex.Simplex`.

    top: (n + m,) the upper ends of variables and slacks.    d: (n,) what the free variables cost.
    scale: (m,) what the rows were multiplied by, to be of size 1.
    y:   a multiplier of each row.    ray: of EMPTY, the multipliers that show it.    x: the basic values.
    """

    ended: Simplex
    basis: Basis
    top: Array
    d: Array
    scale: Array
    y: Array
    ray: Array
    x: Array


@compiled
def solved(T: Array, b: Array, d: Array, top: Array, start: float, cutoff: float, rounds: int) -> Solved:
    """Minimise d . x, d >= 0, over T x <= b, 0 <= x <= top; T and d are changed."""
    m, n = T.shape
    # Rows are scaled to size 1, so that one tolerance fits scores of any magnitude.
    scale = np.ones(m)
    for r in range(m):
        biggest = np.abs(T[r]).max() if n > 0 else 0.0
        if biggest > 1e-290:  # below that, its inverse may be infinite
            scale[r] = 1.0 / biggest
            T[r] *= scale[r]
    x = b * scale
    tops = np.full(n + m, INFINITY)
    tops[:n] = top
    basis = slack_basis(m, n)
    basic, free, _ = basis
    ended = dual_simplex(T, x, d, tops, basis, start, cutoff + 1e-12, rounds)
    y, ray = multipliers(d, free, m), np.zeros(m)
    if ended.status == EMPTY:
        r, way = ended.row, ended.way
        if basic[r] >= n:
            ray[basic[r] - n] = 1.0
        for c in range(n):
            if free[c] >= n:
                ray[free[c] - n] = max(way * T[r, c], 0.0)
    return Solved(ended, basis, tops, d, scale, y * scale, ray * scale, x)


@compiled
def multipliers(d: Array, free: Array, m: int) -> Array:
    """The rows' multipliers (m,), of free slacks, by what they cost."""
    n = len(free)
    y = np.zeros(m)
    for c in range(n):
        if free[c] >= n:
            y[free[c] - n] = max(d[c], 0.0)
    return y


class Dual(NamedTuple):
    """Multipliers of comparisons and rules, lines y1 (H, N), phases (H, N) and axes (J,), see `dual_bound`."""

    goal: Array
    y1: Array
    mu: Array
    share: Array


@compiled
def dual_of(found: Program, y: Array, G: int, most: float) -> Dual:
    """The multipliers of a program's rows; the shares of the axes are together at most `most`."""
    H, N = found.hidden.shape
    J = len(found.ends)
    y1, mu, share = np.zeros((H, N)), np.zeros((H, N)), np.zeros(J)
    for layer in range(H):
        for i in range(N):
            if found.lower[layer, i] >= 0:
                y1[layer, i] = y[found.lower[layer, i]]
            if found.fixed[layer, i] >= 0:
                mu[layer, i] = y[found.fixed[layer, i]]
    total = 0.0
    for j in range(J):
        if found.ends[j] >= 0:
            share[j] = y[found.ends[j]]
            total += share[j]
    if total > most:
        share *= most / total
    return Dual(y[:G].copy(), y1, mu, share)


@compiled
def relax(
    distance: bool,
    cutoff: float,
    rounds: int,
    most: float,
    C: Array,
    than: Array,
    axes: Axes,
    net: Net,
    hull: Hull,
    units: Units,
) -> Relaxed:
    """Solve one node; most: how many features may change.

    Long because what is read off the last basis needs all that its program numbers.
    """
    kind, first, count, jump, _, peak, _, _, _, _, need = axes
    lo, hi, _ = hull
    L, U, _ = units
    H, N = L.shape
    found = program(C, than, axes, net, hull, units, distance, -1.0, most)
    top, axis, item, sign, base = found.top, found.axis, found.item, found.sign, found.base
    m, n = found.T.shape
    end = solved(found.T, found.b, found.cost, top, found.start, cutoff, rounds)
    status, x, y = end.ended.status, end.x, end.y
    basic, free, full = end.basis
    if status == EMPTY:
        y = y + end.ray * (max(2.0 * cutoff - end.ended.objective, 1.0) / end.ended.violation) if distance else end.ray
    goal, y1, mu, share = dual_of(found, y, len(than) + len(need), 1.0)
    push = y[found.few] if found.few >= 0 else 0.0
    if y1.size > 0 and y1.max() > 0.0:
        # A slope is a share of the coefficient above it, which is 0 where no comparison counts.
        for g in range(len(than)):
            goal[g] = max(goal[g], 1e-7 * y1.max())
    slope, weight = np.zeros((H, N)), np.zeros((H, N))
    for j in range(len(kind)):
        share[j] *= peak[j]
    bound = dual_bound(
        1.0 if distance else 0.0, NOWHERE, 0.0, goal, y1, mu, share, (push, most), C, than, axes, net, hull, units,
        slope, weight,
    )  # fmt: skip
    for j in range(len(kind)):
        share[j] = share[j] / peak[j] if peak[j] > 0 else 0.0

    values = np.zeros(n)
    for c in range(n):
        if free[c] < n and full[c]:
            values[free[c]] = top[free[c]]
    for r in range(m):
        if basic[r] < n:
            values[basic[r]] = x[r]
    point = base.copy()
    loss = np.zeros(len(base))
    for c in range(found.inputs):
        j, v = axis[c], min(max(values[c], 0.0), top[c])
        if kind[j] != LEVELS:
            point[item[c]] += sign[c] * v
            once = jump[j] + push
            if v > 1e-9 * top[c] and once > 0.0 and lo[j] <= 0.0 <= hi[j]:  # the rest of an l0 jump that was spread
                loss[item[c]] = max(loss[item[c]], once * (1.0 - v / top[c]))
        else:
            point[item[c]] += v
            for i in range(first[j], first[j] + count[j]):
                if base[i] == 1.0:
                    point[i] -= v
    scores = np.zeros((H, N))
    for layer in range(H):
        for i in range(N):
            if found.hidden[layer, i] >= 0:
                z = found.zs[layer, i, :n] @ values + found.zo[layer, i]
                wrong = abs(values[found.hidden[layer, i]] - max(z, 0.0))
                if wrong > 1e-9 * (U[layer, i] - L[layer, i]):
                    # The small share counts where the goal costs nothing yet, so that no multiplier is positive.
                    scores[layer, i] = (abs(weight[layer, i]) + 1e-9) * wrong
    total = bound + goal.sum() + slope.sum() + mu.sum() + share.sum() + push
    if not np.isfinite(total + point.sum() + loss.sum() + scores.sum() + weight.sum()):
        status = BEYOND
    return Relaxed(bound, status, goal, slope, mu, share, push, point, loss, scores, weight)
