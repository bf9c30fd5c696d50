"""Distances that points can have, where those are multiples of one number.

In:  the axes of a question and a Norm.
Out: `denominator`: every distance is a whole multiple of one over it; `attainable`: the least such one from a bound on.
Promise: no point of the axes has a distance that is none. Counts of changes, integers, steps and levels have such a
number; changes of floats, and of a start off its grid, have none unless they cost the same however large they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from mace.problem.distance import Distance, NearestRow, Norm
from mace.space.axes import Axis, LevelAxis

Units = tuple[Fraction, ...]


def _units(axis: Axis) -> Units | None:
    """Numbers of which every change on the axis is a multiple; None if there are no such few."""
    if axis.fixed and axis.allows(axis.start):
        return ()
    if isinstance(axis, LevelAxis):
        return _level_units(axis)
    lost = () if axis.missing is None else (axis.missing_cost,)
    if axis.grid.kind == "step" and axis.grid.extra is None:
        return (*lost, axis.grid.step / axis.scale)
    return lost if axis.lacks else None


@lru_cache(maxsize=1024)
def _level_units(axis: LevelAxis) -> Units:
    lost = () if axis.missing is None else (axis.missing_cost,)
    return (*lost, Fraction(1, max(axis.count - 1 - len(lost), 1)) if axis.ordered else Fraction(1))


@lru_cache(maxsize=64)
def _common(norm: Norm, units: tuple[Units | None, ...]) -> int | None:
    """The scale on which all costs are whole; None if there is none."""
    found = 1
    for charge, some in zip(norm.charges, units, strict=True):
        slopes = (charge.slope, charge.peak)
        found = math.lcm(found, charge.once.denominator)
        if any(slopes):
            if some is None:
                return None
            found = math.lcm(found, *((slope * unit).denominator for slope in slopes for unit in some))
    return found


def denominator(axes: Sequence[Axis], distance: Distance) -> int | None:
    """Every distance is a whole multiple of one over this; None if there is no such number."""
    norm = distance.norm if isinstance(distance, NearestRow) else distance  # rows lie on the same grids
    return _common(norm, tuple(map(_units, axes))) if isinstance(norm, Norm) else None


def attainable(axes: Sequence[Axis], distance: Distance, bound: Fraction, *, beyond: bool) -> Fraction:
    """The least distance that a point may have, from a bound on, or above it if `beyond`; else the bound itself."""
    below = denominator(axes, distance)
    if below is None:
        return bound
    return Fraction(math.floor(bound * below) + 1 if beyond else math.ceil(bound * below), below)
