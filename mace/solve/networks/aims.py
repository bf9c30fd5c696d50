"""Bounds of hidden units by linear programs, many at a time: what `tighten.py` asks; compiled on first use.

In:  a node, one part of the goal, a limit of the distance.
Out: for each end of some units of a layer a bound, in floating point, and the multipliers that prove it.
How: all ends have the feasible region of one linear program and differ in the objective alone, so that the primal
simplex goes on from one to the next. It gives an end up once a relaxed point shows that hardly anything can be gained.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.compiled import compiled
from mace.solve.networks.kernels import INFINITY, dual_bound
from mace.solve.networks.model import Array, Axes, Hull, Net, Units
from mace.solve.networks.program import Program, program
from mace.solve.networks.relax import MOST_PIVOTS, Solved, dual_of, multipliers, solved
from mace.solve.networks.simplex import CUTOFF, OPTIMAL, primal_simplex

AIMING = 400  # pivots for one end


class Aims(NamedTuple):
    """Bounds of the units' inputs, and of minus them: what is about the lower ends (0) and the upper ends (1).

    bound: (2, N), -INFINITY where nothing was gained.    theta: (2, N) multipliers of the distance's limit.
    goal: (2, N, comparisons and rules), slope, mu: (2, N, H, N), share: (2, N, J), changes: (2, N); as in
          `relax.Relaxed`.
    """

    bound: Array
    theta: Array
    goal: Array
    slope: Array
    mu: Array
    share: Array
    changes: Array


@compiled
def aimed(found: Program, root: Solved, d: Array, layer: int, unit: int, way: float) -> float:
    """Fill in what the free variables cost, where `way` times a unit's input is what is minimised from here on.

    Returns the value of that at the basis; root: the tableau's end, whatever pivots have followed.
    """
    T = found.T
    m, n = T.shape
    basic, free, full = root.basis
    cost = np.zeros(n + m)
    cost[:n] = way * found.zs[layer, unit, :n]
    value = way * found.zo[layer, unit]
    for c in range(n):
        d[c] = cost[free[c]]
        if full[c]:
            value += cost[free[c]] * root.top[free[c]]
    for r in range(m):
        price = cost[basic[r]]
        if price != 0.0:
            value += price * root.x[r]
            line = T[r]
            for c in range(n):
                d[c] -= price * line[c]
    return float(value)


@compiled
def aims(
    layer: int, first: int, last: int, limit: float, least: float, most: float, C: Array, than: Array,
    axes: Axes, net: Net, hull: Hull, units: Units,
) -> Aims:  # fmt: skip
    """Bound the ends of the intervals of a layer's units `first` to `last` (left out) over a node's relaxed points
    within the limit, with `most` changes of features; least: the share of its interval that an end has to gain.

    All ends share one tableau: each goes on from where the one before it ended.
    """
    L, U, _ = units
    relu = net[3]
    H, N = L.shape
    J, G = len(axes[0]), len(than) + len(axes[10])
    made = Aims(
        np.full((2, N), -INFINITY), np.zeros((2, N)), np.zeros((2, N, G)), np.zeros((2, N, H, N)),
        np.zeros((2, N, H, N)), np.zeros((2, N, J)), np.zeros((2, N)),
    )  # fmt: skip
    found = program(C, than, axes, net, hull, units, limit >= 0.0, limit, most)
    d = found.cost.copy()
    root = solved(found.T, found.b, d, found.top, found.start, INFINITY, MOST_PIVOTS)
    if root.ended.status != OPTIMAL:
        return made
    weight = np.zeros((H, N))
    for unit in range(first, last):
        if not relu[layer] or L[layer, unit] >= 0.0 or U[layer, unit] <= 0.0:
            continue
        for end in range(2):
            way = 1.0 - 2.0 * end
            value = aimed(found, root, d, layer, unit, way)
            enough = (L[layer, unit] if end == 0 else -U[layer, unit]) + least * (U[layer, unit] - L[layer, unit])
            ended = primal_simplex(found.T, root.x, d, root.top, root.basis, value, enough, AIMING)
            if ended.status == CUTOFF:
                continue
            y = multipliers(d, root.basis.free, len(root.x)) * root.scale
            theta = y[found.ball] if found.ball >= 0 else 0.0
            push = y[found.few] if found.few >= 0 else 0.0
            goal, lines, mu, share = dual_of(found, y, G, theta)
            slope = np.zeros((H, N))
            bound = dual_bound(
                theta, (layer, unit), way, goal, lines, mu, share * axes[5], (push, most), C, than, axes, net, hull,
                units, slope, weight,
            )  # fmt: skip
            made.bound[end, unit] = bound - theta * limit
            made.theta[end, unit], made.changes[end, unit] = theta, push
            made.goal[end, unit], made.slope[end, unit], made.mu[end, unit] = goal, slope, mu
            made.share[end, unit] = share
    return made
