"""What a change costs, in integers: a distance of 1 has `scale` units, and every cost is rounded down to one.

In:  the axes of a question and a Norm.
Out: `scale_of`; `costs_of`: for indices of one axis what they add to the sum, and their part of the largest change.
Promise: the scaled cost of a point is at most its exact one and less than `width` below it; where `width` is 0 every
cost is a whole number of units, and equal to the exact one. What depends on the norm alone is kept.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mace.base.exact import nearest, rank_to_float
from mace.problem.distance import Charge, Norm
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.grid_cuts import values_of
from mace.solve.lattice import denominator
from mace.space.axes import Axis, GridAxis, LevelAxis

LARGEST_SUM = 2**60
EXACT = 2**62  # integers below this are multiplied and added in 64 bits
ROUNDED = 1.0 - 2.0**-48  # more than the relative error of the few float operations that give a cost


class Scale(NamedTuple):
    """How many units a distance of 1 has, and how far a scaled cost may lie below the exact one.

    scale: above 0; below 1 where weights make distances so long that 64 bits hold no more.
    """

    scale: int | Fraction
    width: int


class Costs(NamedTuple):
    """What indices add to the sum, and their part of the largest change; both of one shape."""

    part: Array
    top: Array


def scale_of(axes: Sequence[Axis], norm: Norm) -> Scale:
    """The coarsest scale on which every cost is whole, if there is one that fits; else a fine one."""
    reaches = tuple(max(1, math.ceil(reach(axis))) for axis in axes)
    total = _total(norm, reaches)
    whole = denominator(axes, norm)
    if whole is not None and whole * total < LARGEST_SUM:
        return Scale(whole, 0)
    return _fine(norm, reaches)


@lru_cache(maxsize=64)
def _total(norm: Norm, reaches: tuple[int, ...]) -> Fraction:
    """More than the largest distance."""
    return norm.of([Fraction(one) for one in reaches]) + norm.unit


@lru_cache(maxsize=64)
def _fine(norm: Norm, reaches: tuple[int, ...]) -> Scale:
    """A scale on which costs are rounded."""
    total, power = _total(norm, reaches), 52 - norm.exponent
    while Fraction(2) ** power * total >= LARGEST_SUM:
        power -= 1
    scale, width = 1 << power if power >= 0 else Fraction(1, 1 << -power), 0
    for charge, one in zip(charges_of(norm, scale), reaches, strict=True):
        width += math.ceil((charge.once + (charge.slope + charge.peak) * one) / 2**46) + 4
    return Scale(scale, width)


def largest_delta(axis: Axis) -> Fraction:
    """The largest delta on an axis."""
    if isinstance(axis, LevelAxis):
        return max(axis.delta(level) for level in axis.levels())
    return max(axis.delta(index) for index in axis.ends(axis.lower, axis.upper))


@lru_cache(maxsize=1024)
def reach(axis: Axis) -> float:
    """The largest change between values of an axis, in floats; infinite if that is not a double."""
    if isinstance(axis, LevelAxis) or axis.lacks:
        return 1.0
    scale, start = nearest(axis.scale), _value(axis, axis.start)
    if not scale > 0.0:
        return math.inf
    far = max(abs(_value(axis, axis.lower) - start), abs(_value(axis, axis.last) - start)) / scale
    # From one end of the range to the other it is exactly 1: a hair more is still 1.
    return far * (1.0 - 1e-12) if far < math.inf else math.inf


def _value(axis: GridAxis, index: int) -> float:
    return rank_to_float(index) if axis.grid.kind == "float64" else nearest(axis.grid.value(index))


@lru_cache(maxsize=64)
def charges_of(norm: Norm, scale: int | Fraction) -> tuple[Charge, ...]:
    """What every feature's change costs, in units."""
    return tuple(charge.times(scale) for charge in norm.charges)


def costs_of(axis: Axis, charge: Charge, indices: Array) -> Costs:
    """The costs of indices of one axis, shape (n,), rounded down."""
    if not len(indices):
        return Costs(indices.astype(np.int64), indices.astype(np.int64))
    if isinstance(axis, LevelAxis):
        every = _level_costs(axis, charge)
        return Costs(every.part[indices], every.top[indices])
    if axis.missing is None:
        part, top = _of_numbers(axis, charge, indices)
    else:
        lost, cost = np.ones(len(indices), bool) if axis.lacks else indices == axis.missing, axis.missing_cost
        part = top = np.zeros(len(indices), np.int64)
        if not axis.lacks:
            part, top = _of_numbers(axis, charge, np.where(lost, axis.start, indices))
        part = np.where(lost, math.floor(charge.part(cost)), part)
        top = np.where(lost, math.floor(charge.top(cost)), top)
    changed = indices != axis.start
    return Costs(part * changed, top * changed)


def _of_numbers(axis: GridAxis, charge: Charge, indices: Array) -> Costs:
    """The costs of values, with what is charged for any change alike."""
    if not charge.slope and not charge.peak:
        return Costs(np.full(len(indices), math.floor(charge.once)), np.zeros(len(indices), np.int64))
    return _of_values(axis, charge, indices)


def _of_values(axis: GridAxis, charge: Charge, indices: Array) -> Costs:
    """The costs of values, for a start that is a value; that of the start itself does not matter."""
    if axis.grid.kind == "step" and axis.grid.extra is None:
        unit, steps = axis.grid.step / axis.scale, np.abs(indices - axis.start)
        part = _multiples(charge.once, charge.slope * unit, steps)
        top = _multiples(Fraction(0), charge.peak * unit, steps)
        if part is not None and top is not None:
            return Costs(part, top)
    if axis.grid.kind == "step":
        deltas = [axis.delta(int(index)) for index in indices]
        return _exactly(charge, deltas)
    # Differences of doubles, quotients and products: each operation errs by one part in 2^53.
    with np.errstate(over="ignore"):
        delta = np.abs(values_of(axis, indices) - nearest(axis.start_value)) / nearest(axis.scale)
    once, slope, peak = map(nearest, charge)
    part = np.floor((once + slope * delta) * ROUNDED)
    return Costs(part.astype(np.int64), np.floor(peak * delta * ROUNDED).astype(np.int64))


def _multiples(once: Fraction, each: Fraction, steps: Array) -> Array | None:
    """once + each * steps, rounded down; None where 64 bits do not hold the way to it."""
    if not each and once < EXACT:
        return np.full(len(steps), math.floor(once))
    below = math.lcm(once.denominator, each.denominator)
    first, more = once.numerator * (below // once.denominator), each.numerator * (below // each.denominator)
    if first + more * int(steps.max(initial=0)) >= EXACT or max(below, more) >= EXACT:
        return None
    return np.asarray((first + more * steps) // below)


@lru_cache(maxsize=1024)
def _level_costs(axis: LevelAxis, charge: Charge) -> Costs:
    return _exactly(charge, [axis.delta(level) for level in range(axis.count)])


def _exactly(charge: Charge, deltas: Sequence[Fraction]) -> Costs:
    """The costs of changes, each rounded down once."""
    part, top = ([math.floor(cost(delta)) for delta in deltas] for cost in (charge.part, charge.top))
    return Costs(np.array(part, np.int64), np.array(top, np.int64))
