"""The ball of a radius as a box, cut out of the box of all allowed points by splits.

In:  the axes of a question, and a scaled distance.
Out: `shells_of`: what lies so far away on one axis alone; `inside`: the box that is left; `around`: the splits that
     take one after the other away, as nodes around that of the box.
Promise: no point nearer than the distance is lost; what is taken away is as far as that, by which a checker closes it.

Where only the largest change counts, nothing adds up: a relaxation that may pay for parts of far cells proves little of
the distance. That the goal is not met in the box of a ball it proves nearly as well as anything does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mace.problem.proof import Split
from mace.solve.ensembles.arrays.cells import NO_TURN, Ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.relaxation.priced import PricedNode


class Shell(NamedTuple):
    """A cut of an ordered axis one side of which is too far: 0, the cells up to it, or 1, those above."""

    axis: int
    cut: int
    side: int


def shells_of(ground: Ground, limit: int) -> list[Shell]:
    """All that is at a scaled distance of `limit`, or more, by one axis alone.

    Levels stay, of which there are few, and axes that may lose their value, whose last cell is not the farthest.
    """
    found = []
    for axis in np.flatnonzero(ground.grid & (ground.turn == NO_TURN)).tolist():
        cuts = np.arange(int(ground.low[axis]), int(ground.high[axis]))
        places = int(ground.base[axis]) + cuts
        far = ground.part[places] + ground.top[places] >= limit
        below, above = cuts[far & (cuts < ground.start[axis])], cuts[far & (cuts >= ground.start[axis])]
        found += [Shell(axis, int(below[-1]), 0)] if len(below) else []
        found += [Shell(axis, int(above[0]), 1)] if len(above) else []
    return found


def inside(ground: Ground, shells: Sequence[Shell]) -> tuple[Array, Array]:
    """The box of all allowed points without these sides."""
    low, high = ground.low.astype(np.int64), ground.high.astype(np.int64)
    for axis, cut, side in shells:
        if side == 0:
            low[axis] = cut + 1
        else:
            high[axis] = cut
    return low, high


def around(ground: Ground, shells: Sequence[Shell], node: PricedNode) -> PricedNode:
    """The box of all allowed points, divided until the box of a node is left."""
    for number in range(len(shells) - 1, -1, -1):
        axis, cut, side = shells[number]
        low, high = inside(ground, shells[:number])
        beyond = [low.copy(), high.copy()]
        beyond[1 - side][axis] = cut + side
        far = PricedNode(beyond[0], beyond[1], 0, ())
        outer = PricedNode(low, high, 0, ())
        outer.split = Split(axis, int(ground.at[ground.base[axis] + cut]))
        outer.children = (far, node) if side == 0 else (node, far)
        node = outer
    return node
