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

from mace.solve.compiled import compiled
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


@compiled
def program(
    C: Array, than: Array, axes: Axes, net: Net, hull: Hull, units: Units, distance: bool, limit: float, most: float
) -> Program:
    """The linear program of one node and one part of the goal, `distance`: with costs; limit < 0: distances have none;
    most: how many features may change, at least as many as there are where nobody has said.

    Long because variables, rows and multipliers are numbered as they are made. Split up, each part would hand a dozen
    arrays to the next.
    """
    kind, first, count, jump, rate, peak, change, _, _, held, need = axes
    W0, W, B, relu, size, _ = net
    lo, hi, on = hull
    L, U, phase = units
    H, N = L.shape
    J, items, G, K = len(kind), W0.shape[0], len(than), len(need)
    unstable, phases = 0, 0
    for layer in range(H):
        for i in range(size[layer]):
            if relu[layer] and L[layer, i] < 0.0 < U[layer, i]:
                unstable += 1
            if phase[layer, i] != 0:
                phases += 1
    peaked = 0
    if distance:
        for j in range(J):
            if peak[j] > 0:
                peaked += 1
    columns = 2 * J + items + unstable + 1
    rows = G + K + 2 * unstable + phases + peaked + J + 2
    cost, top, moves = np.zeros(columns), np.full(columns, INFINITY), np.zeros(columns)
    axis, item, sign = np.full(columns, -1), np.full(columns, -1), np.zeros(columns)
    base = np.zeros(items)
    least = np.zeros(J)  # the change that the base point makes, for the largest change
    n, start, moved = 0, 0.0, 0.0
    for j in range(J):
        f = first[j]
        if kind[j] != LEVELS:
            if lo[j] <= 0.0 <= hi[j]:
                for side in range(2):
                    reach = hi[j] if side == 0 else -lo[j]
                    if reach > 0.0:
                        axis[n], item[n], sign[n], top[n] = j, f, 1.0 - 2.0 * side, reach
                        cost[n] = rate[j] + jump[j] / reach
                        moves[n] = 1.0 / reach
                        n += 1
            else:
                near, far, way = (lo[j], hi[j], 1.0) if lo[j] > 0.0 else (hi[j], lo[j], -1.0)
                base[f] = near
                least[j] = abs(near)
                start += jump[j] + rate[j] * abs(near)
                moved += 1.0
                if far != near:
                    axis[n], item[n], sign[n], top[n] = j, f, way, abs(far - near)
                    cost[n] = rate[j]
                    n += 1
        else:
            chosen, cheapest = -1, INFINITY
            for i in range(f, f + count[j]):
                if on[i]:
                    c = jump[j] + rate[j] * change[i] if change[i] > 0 else 0.0
                    if c < cheapest:
                        chosen, cheapest = i, c
            base[chosen] = 1.0
            least[j] = change[chosen]
            start += cheapest
            already = 1.0 if change[chosen] > 0 else 0.0
            moved += already
            for i in range(f, f + count[j]):
                if on[i] and i != chosen:
                    axis[n], item[n], sign[n], top[n] = j, i, 1.0, 1.0
                    cost[n] = (jump[j] + rate[j] * change[i] if change[i] > 0 else 0.0) - cheapest
                    moves[n] = (1.0 if change[i] > 0 else 0.0) - already
                    n += 1
    inputs = n
    if distance and peaked > 0:
        cost[n] = 1.0
        largest = n
        n += 1
    else:
        largest = -1
    if not distance:
        cost[:] = 0.0
        start = 0.0
    hidden = np.full((H, N), -1)
    T, b = np.zeros((rows, columns)), np.zeros(rows)
    lower, fixed = np.full((H, N), -1), np.full((H, N), -1)
    m = G + K  # the goal's rows come first, then those of rules
    for r in range(K):  # held . items - need >= 0
        b[G + r] = held[r] @ base - need[r]
        for c in range(inputs):
            T[G + r, c] = -sign[c] * held[r, item[c]]
            if kind[axis[c]] == LEVELS:
                for i in range(first[axis[c]], first[axis[c]] + count[axis[c]]):
                    if base[i] == 1.0:
                        T[G + r, c] += held[r, i]
    # Invariant: output i of the layer below is expression[i] . variables + offset[i].
    expression, offset = np.zeros((N, columns)), np.zeros(N)
    zs, zo = np.zeros((H, N, columns)), np.zeros((H, N))
    for layer in range(H + 1):
        if layer == 0:
            z, o = np.zeros((N, columns)), B[0] + base @ W0
            for c in range(inputs):
                chosen = -1
                if kind[axis[c]] == LEVELS:
                    for i in range(first[axis[c]], first[axis[c]] + count[axis[c]]):
                        if base[i] == 1.0:
                            chosen = i
                for i in range(N):
                    z[i, c] = sign[c] * W0[item[c], i] - (W0[chosen, i] if chosen >= 0 else 0.0)
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
            top[n] = INFINITY
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
    for j in range(J):
        several = 0
        for c in range(inputs):
            if axis[c] == j and kind[j] == LEVELS:
                several += 1
        if several > 1:  # shares of levels sum to at most 1; the base has the rest
            for c in range(inputs):
                if axis[c] == j:
                    T[m, c] = 1.0
            b[m] = 1.0
            m += 1
        if distance and peak[j] > 0:
            ends[j] = m
            for c in range(inputs):
                if axis[c] == j:
                    T[m, c] = peak[j] * (1.0 if kind[j] != LEVELS else change[item[c]] - least[j])
            T[m, largest] = -1.0
            b[m] = -peak[j] * least[j]
            m += 1
    ball = -1
    if limit >= 0.0:
        ball = m
        T[m] = cost
        b[m] = limit - start
        m += 1
    few = -1
    if most < J:
        few = m
        T[m] = moves
        b[m] = most - moved
        m += 1
    return Program(
        T[:m, :n].copy(), b[:m].copy(), cost[:n].copy(), top[:n].copy(), start, inputs, axis, item, sign, base, least,
        ball, few, hidden, lower, fixed, ends, zs, zo,
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
