"""The linear program of one node: its variables and rows, numbered as they are made; compiled.

In:  a box cut to the ball, bounds and phases of the hidden units, one part of the goal; see `model.py` for the arrays.
Out: a `Program`.
How: the variables are the change of each grid axis in each direction (an l0 jump is spread over the way to the end of
the box), a share of each level, the largest change, and the output of each ReLU that may be on or off. All costs are
>= 0, so the dual simplex needs no first phase, and a node without points ends in a ray.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.networks.kernels import INFINITY
from mace.solve.networks.model import LEVELS, Array, Axes, Hull, Net, Units


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


class Numbered(NamedTuple):
    """The variables and rows of hidden units, as they are numbered; see `Program`."""

    hidden: Array
    lower: Array
    fixed: Array


@compiled
def program(
    C: Array, than: Array, axes: Axes, net: Net, hull: Hull, units: Units, distance: bool, limit: float, most: float
) -> Program:
    """The linear program of one node and one part of the goal, `distance`: with costs; limit < 0: distances have none;
    most: how many features may change, at least as many as there are where nobody has said.

    Variables and rows are numbered as they are made: the goal's rows come first, then those of rules, of hidden units,
    and of axes.
    """
    axes, net, units = Axes(*axes), Net(*net), Units(*units)  # plain tuples, see `kernels.plain`
    (H, N), J, items, G = units.L.shape, len(axes.kind), net.W0.shape[0], len(than)
    unstable, rows = room(axes, net, units, distance)
    columns = 2 * J + items + unstable + 1
    made = Variables(
        np.zeros(columns), np.full(columns, INFINITY), np.zeros(columns), np.full(columns, -1), np.full(columns, -1),
        np.zeros(columns), np.zeros(items), np.zeros(J),
    )  # fmt: skip
    n, start, moved = of_axes(axes, hull, made)
    inputs, largest = n, -1
    if distance and np.any(axes.peak > 0):
        made.cost[n] = 1.0
        largest = n
        n += 1
    if not distance:
        made.cost[:] = 0.0
        start = 0.0
    T, b = np.zeros((G + rows, columns)), np.zeros(G + rows)
    m = rows_of_rules(axes, made, inputs, T, b, G)
    numbered = Numbered(np.full((H, N), -1), np.full((H, N), -1), np.full((H, N), -1))
    zs, zo = np.zeros((H, N, columns)), np.zeros((H, N))
    z, o = np.zeros((N, columns)), net.B[0] + made.base @ net.W0
    of_first_layer(axes, net.W0, made, inputs, z)
    for layer in range(H):  # Invariant: the inputs of the layer's units are z . variables + o.
        zs[layer], zo[layer] = z, o
        n, m, outputs, offset = rows_of_units(net, units, layer, z, o, n, made.top, m, T, b, numbered)
        z, o = net.W[layer + 1].T @ outputs, net.W[layer + 1].T @ offset + net.B[layer + 1]
    for g in range(G):  # c . s - than >= 0
        T[g] = -(C[g] @ z)
        b[g] = C[g] @ o - than[g]
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
        made.sign, made.base, made.least, ball, few, numbered.hidden, numbered.lower, numbered.fixed, ends, zs, zo,
    )  # fmt: skip


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


@lean
def of_axes(axes: Axes, hull: Hull, made: Variables) -> tuple[int, float, float]:
    """Number the variables of all axes; returns how many there are, and what every point costs and counts."""
    lo, hi, on = hull
    n, start, moved = 0, 0.0, 0.0
    for j in range(len(axes.kind)):
        if axes.kind[j] != LEVELS:
            n, costs, counts = of_number(axes, j, lo[j], hi[j], n, made)
        else:
            n, costs, counts = of_levels(axes, j, on, n, made)
        start += costs
        moved += counts
    return n, start, moved


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


@compiled
def rows_of_units(
    net: Net, units: Units, layer: int, z: Array, o: Array, n: int, top: Array, m: int, T: Array, b: Array,
    numbered: Numbered,
) -> tuple[int, int, Array, Array]:  # fmt: skip
    """Number variables and rows of a layer's units, whose inputs are z . variables + o, from variable n and row m on.

    Returns the next of both, and the units' outputs as functions of the variables: coefficients and constants.
    """
    L, U, phase = units
    expression, offset = np.zeros(z.shape), np.zeros(len(o))
    for i in range(net.size[layer]):
        below, above = L[layer, i], U[layer, i]
        if phase[layer, i] != 0:
            numbered.fixed[layer, i] = m
            T[m] = -phase[layer, i] * z[i]
            b[m] = phase[layer, i] * o[i]
            m += 1
        if net.relu[layer] and above <= 0.0:
            continue
        if not net.relu[layer] or below >= 0.0:
            expression[i], offset[i] = z[i], o[i]
            continue
        numbered.hidden[layer, i] = n
        expression[i, n] = 1.0
        # A proof's multipliers know no end of an output beside its two lines, so that what it adds is not proved.
        top[n] = INFINITY
        numbered.lower[layer, i] = m  # z <= a
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
    return n, m, expression, offset


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
