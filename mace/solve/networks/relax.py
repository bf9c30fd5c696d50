"""The linear relaxation of one node, from its linear program to its multipliers; compiled.

In:  the node and one part of the goal, as `program.py` takes them.
Out: the bound that the multipliers prove (in floating point), the multipliers, and the relaxed point with, for every
     way to branch, about how much of the distance the relaxation loses there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.compiled import compiled
from mace.solve.networks.kernels import INFINITY, NOWHERE, dual_bound
from mace.solve.networks.model import LEVELS, Array, Axes, Hull, Net, Units
from mace.solve.networks.program import Program, base_level, program
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
    """Multipliers of comparisons and rules, lines (2, H, N), phases (H, N) and axes (J,), see `dual_bound`."""

    goal: Array
    lines: Array
    mu: Array
    share: Array


@compiled
def dual_of(found: Program, y: Array, G: int, most: float) -> Dual:
    """The multipliers of a program's rows; the shares of the axes are together at most `most`."""
    H, N = found.hidden.shape
    J = len(found.ends)
    lines, mu, share = np.zeros((2, H, N)), np.zeros((H, N)), np.zeros(J)
    for layer in range(H):
        for i in range(N):
            if found.lower[layer, i] >= 0:
                lines[0, layer, i] = y[found.lower[layer, i]]
                lines[1, layer, i] = y[found.lower[layer, i] + 1]
            if found.fixed[layer, i] >= 0:
                mu[layer, i] = y[found.fixed[layer, i]]
    total = 0.0
    for j in range(J):
        if found.ends[j] >= 0:
            share[j] = y[found.ends[j]]
            total += share[j]
    if total > most:
        share *= most / total
    return Dual(y[:G].copy(), lines, mu, share)


@compiled
def values_of(end: Solved) -> Array:
    """The variables of a solved program."""
    basic, free, full = end.basis
    n = len(free)
    values = np.zeros(n)
    for c in range(n):
        if free[c] < n and full[c]:
            values[free[c]] = end.top[free[c]]
    for r in range(len(basic)):
        if basic[r] < n:
            values[basic[r]] = end.x[r]
    return values


@compiled
def relaxed_point(axes: Axes, hull: Hull, found: Program, values: Array, push: float) -> tuple[Array, Array]:
    """The items of the relaxed point, and for each about how much of the distance is lost there.

    push: what it costs that a feature changes at all, beside its own jump.
    """
    axes, (lo, hi, _) = Axes(*axes), hull  # plain tuples, see `kernels.plain`
    point, loss = found.base.copy(), np.zeros(len(found.base))
    for c in range(found.inputs):
        j, i = found.axis[c], found.item[c]
        v = min(max(values[c], 0.0), found.top[c])
        if axes.kind[j] != LEVELS:
            point[i] += found.sign[c] * v
            once = axes.jump[j] + push
            # The rest of an l0 jump that was spread.
            if v > 1e-9 * found.top[c] and once > 0.0 and lo[j] <= 0.0 <= hi[j]:
                loss[i] = max(loss[i], once * (1.0 - v / found.top[c]))
        else:
            point[i] += v
            level = base_level(axes, j, found.base)
            if level >= 0:
                point[level] -= v
    return point, loss


@compiled
def lost_at_units(found: Program, units: Units, values: Array, weight: Array) -> Array:
    """About how much of the distance is lost at each ReLU, whose coefficients are `weight`, shape (H, N)."""
    L, U, _ = units
    lost = np.zeros(L.shape)
    for layer in range(len(L)):
        for i in range(L.shape[1]):
            if found.hidden[layer, i] >= 0:
                z = found.zs[layer, i, : len(values)] @ values + found.zo[layer, i]
                wrong = abs(values[found.hidden[layer, i]] - max(z, 0.0))
                if wrong > 1e-9 * (U[layer, i] - L[layer, i]):
                    # The small share counts where the goal costs nothing yet, so that no multiplier is positive.
                    lost[layer, i] = (abs(weight[layer, i]) + 1e-9) * wrong
    return lost


@compiled
def relax(
    distance: bool, cutoff: float, rounds: int, most: float, C: Array, than: Array, axes: Axes, net: Net, hull: Hull,
    units: Units,
) -> Relaxed:  # fmt: skip
    """Solve one node; most: how many features may change."""
    peak, need = axes[5], axes[10]
    J, (H, N) = len(peak), units[0].shape
    found = program(C, than, axes, net, hull, units, distance, -1.0, most)
    # A little beyond: what is left of the multipliers once they are rounded has to reach it.
    end = solved(found.T, found.b, found.cost, found.top, found.start, cutoff * (1 + 1e-4) + 1e-6, rounds)
    status, y = end.ended.status, end.y
    if status == EMPTY:
        y = y + end.ray * (max(2.0 * cutoff - end.ended.objective, 1.0) / end.ended.violation) if distance else end.ray
    goal, lines, mu, share = dual_of(found, y, len(than) + len(need), 1.0)
    push = y[found.few] if found.few >= 0 else 0.0
    if lines.size > 0 and lines.max() > 0.0:
        # A slope is a share of the coefficient above it, which is 0 where no comparison counts.
        for g in range(len(than)):
            goal[g] = max(goal[g], 1e-9 * lines.max())
    slope, weight = np.zeros((H, N)), np.zeros((H, N))
    for j in range(J):
        share[j] *= peak[j]
    bound = dual_bound(
        1.0 if distance else 0.0, NOWHERE, 0.0, goal, lines, mu, share, (push, most), C, than, axes, net, hull, units,
        slope, weight,
    )  # fmt: skip
    for j in range(J):
        share[j] = share[j] / peak[j] if peak[j] > 0 else 0.0
    values = values_of(end)
    point, loss = relaxed_point(axes, hull, found, values, push)
    scores = lost_at_units(found, units, values, weight)
    total = bound + goal.sum() + slope.sum() + mu.sum() + share.sum() + push
    if not np.isfinite(total + point.sum() + loss.sum() + scores.sum() + weight.sum()):
        status = BEYOND
    return Relaxed(bound, status, goal, slope, mu, share, push, point, loss, scores, weight)
