"""Compiled: the most fractional cut, or level, of every axis in the solution of a relaxation.

In:  the shares of the pieces of axes, and the box that they are about.
Out: `most_undecided`: of each axis a cut with what lies below it, or a level with its share.
Promise: none is needed, since a box may be divided at any cut; the choice does not depend on the machine.
"""

from __future__ import annotations

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.relaxation.frame import RelaxationArrays

EVEN = 1e-6  # of a share: among cuts that nothing is open about, nearer ones to the middle come first


@lean
def of_cuts(frame: RelaxationArrays, pieces: Array, begin: int, cuts: int, low: int, high: int) -> int:
    """Of the cuts of an ordered axis that divide the box, the most undecided one, by place; -1 where there is none."""
    below, middle = 0.0, cuts
    for k in range(cuts):
        below += pieces[begin + k]
        if below >= 0.5:
            middle = k
            break
    found, most, below = -1, -np.inf, 0.0
    for k in range(cuts):
        below += pieces[begin + k]
        cut = frame.end_cell[begin + k]
        if low <= cut < high:
            own = min(below, 1 - below) - EVEN * abs(k + 0.5 - middle)
            if own > most:
                found, most = k, own
    return found


@lean
def of_levels(frame: RelaxationArrays, pieces: Array, begin: int, levels: int, mask: int) -> int:
    """Of the levels of an axis that divide the box, the most undecided one, by place; -1 where there is none."""
    found, most = -1, -np.inf
    for k in range(levels):
        level = frame.begin_cell[begin + k]
        if (mask >> level) & 1 and mask != 1 << level:
            here = pieces[begin + k]
            own = min(here, 1 - here) + EVEN * here
            if own > most:
                found, most = k, own
    return found


@compiled
def most_undecided(frame: RelaxationArrays, pieces: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """(J,) the cut of each axis, as a cell, or the level; -1 where nothing divides the box. (J,) the share of the side
    below it, or of the level.

    pieces: (K,) shares. low, high: (J,) the box.
    """
    axes = len(low)
    items, shares = np.full(axes, -1, np.int64), np.zeros(axes)
    for j in range(axes):
        begin, end = frame.begin[j], frame.begin[j + 1]
        if not frame.grid[j]:
            k = of_levels(frame, pieces, begin, end - begin, low[j])
            if k >= 0:
                items[j], shares[j] = frame.begin_cell[begin + k], pieces[begin + k]
            continue
        k = of_cuts(frame, pieces, begin, end - begin - 1, low[j], high[j])
        if k >= 0:
            items[j] = frame.end_cell[begin + k]
            for piece in range(begin, begin + k + 1):
                shares[j] += pieces[piece]
    return items, shares
