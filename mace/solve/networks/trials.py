"""Strong branching on hidden units, compiled: the bounds of a node's two children for each split that is tried.

In:  a node, and units that may be on or off.    Out: for each of them about the bounds of the two children.
How: the node's linear program is solved once. A unit is off where the upper end of its output is 0, and on where that
of the slack of the line below it is: two changes of one tableau, from which the dual simplex goes on for a few pivots.
The bounds of other units stay those of the node, so that a child's own relaxation bounds it at least as well.
Source: strong branching, Applegate, Bixby, Chvatal and Cook 1995.
"""

from __future__ import annotations

import numpy as np

from mace.solve.compiled import compiled
from mace.solve.networks.model import Array, Axes, Hull, Net, Units
from mace.solve.networks.program import program
from mace.solve.networks.relax import MOST_PIVOTS, solved
from mace.solve.networks.simplex import CUTOFF, EMPTY, OPTIMAL, Basis, dual_simplex

FEW = 40  # pivots for one side of a unit


@compiled
def tried(
    distance: bool, cutoff: float, most: float, C: Array, than: Array, axes: Axes, net: Net, hull: Hull, units: Units,
    places: Array,
) -> Array:  # fmt: skip
    """The bounds (P, 2) of the sides, off and on, of the units at places (P, 2), at most the cutoff."""
    found = program(C, than, axes, net, hull, units, distance, -1.0, most)
    T = found.T
    n = T.shape[1]
    root = solved(T, found.b, found.cost, found.top, found.start, cutoff, MOST_PIVOTS)
    said = np.full((len(places), 2), min(root.ended.objective, cutoff))
    if root.ended.status != OPTIMAL:
        if root.ended.status == EMPTY or root.ended.status == CUTOFF:
            said[:] = cutoff
        return said
    table, x, d, top = np.empty_like(T), np.empty_like(root.x), np.empty_like(root.d), root.top
    basis = Basis(np.copy(root.basis.basic), np.copy(root.basis.free), np.copy(root.basis.full))
    for p in range(len(places)):
        layer, unit = places[p, 0], places[p, 1]
        if found.hidden[layer, unit] < 0:
            continue
        for side in range(2):
            ended = found.hidden[layer, unit] if side == 0 else n + found.lower[layer, unit]
            table[:], x[:], d[:] = T, root.x, root.d
            basis.basic[:], basis.free[:], basis.full[:] = root.basis.basic, root.basis.free, root.basis.full
            kept, top[ended] = top[ended], 0.0
            end = dual_simplex(table, x, d, top, basis, root.ended.objective, cutoff, FEW)
            top[ended] = kept
            said[p, side] = cutoff if end.status == EMPTY else min(end.objective, cutoff)
    return said
