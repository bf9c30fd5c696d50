"""Where tests of a column cut the indices of a grid axis.

In:  a grid axis, the column of the model that it goes through, and thresholds of tests.
Out: for each threshold the largest index on the low side of its test.
Promise: a cut is confirmed by the model's own test on the float64 values at both sides of it; a guess, from the
threshold and the cast, only saves time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.base.exact import first_holding_each, nearest
from mace.space.axes import GridAxis
from mace.space.columns import Column
from mace.tables.table import Ensemble

Array: TypeAlias = NDArray[Any]


def cut_indices(axis: GridAxis, source: Column, thresholds: Array, model: Ensemble) -> Array:
    """For each threshold the largest index on the low side of the test; lower - 1 or upper if all are on one side.

    A guess for each, kept if the library's test confirms it at both neighbours; bisection for the others.
    """
    flip = falls(source)
    if axis.missing is not None:
        axis = replace(axis.present, missing=None)

    def low_side(indices: Array, thresholds: Array) -> Array:
        return model.passes(source.of_many(_given(axis, indices)), thresholds) ^ flip

    found = np.full(len(thresholds), axis.lower - 1, np.int64)
    first, last = low_side(np.array([axis.lower, axis.upper]), thresholds[:, None]).T
    found[last] = axis.upper
    open_ = first & ~last
    guess = _guess(axis, _back(source, _last_passing(thresholds, model)))
    for offset in (0, -1, 1):
        which = np.flatnonzero(open_)
        if not len(which):
            return found
        index = np.clip(guess[which] + offset, axis.lower, axis.upper - 1)
        right = low_side(index, thresholds[which]) & ~low_side(index + 1, thresholds[which])
        found[which[right]] = index[right]
        open_[which[right]] = False
    which = np.flatnonzero(open_)
    low, high = np.full(len(which), axis.lower), np.full(len(which), axis.upper)
    found[which] = first_holding_each(lambda middle: ~low_side(middle, thresholds[which]), low, high) - 1
    return found


def falls(source: Column) -> bool:
    """Whether the column falls where the feature rises; it does one of the two."""
    found = False
    for step in source.chain:
        if step[0] == "mul" or step[0] == "div":
            found ^= step[1] < 0
        elif step[0] == "steps":
            values = list(step[1][1])
            found ^= values[0] > values[-1]
    return found


def _back(source: Column, numbers: Array) -> Array:
    """About the feature's value for a column's value; only the speed of finding cuts depends on it."""
    with np.errstate(all="ignore"):
        for step in reversed(source.chain):
            if step[0] == "add":
                numbers = numbers - step[1]
            elif step[0] == "sub":
                numbers = numbers + step[1]
            elif step[0] == "mul":
                numbers = numbers / step[1]
            elif step[0] == "div":
                numbers = numbers * step[1]
            elif step[0] == "log":
                numbers = np.exp(numbers)
            elif step[0] == "log1p":
                numbers = np.expm1(numbers)
            elif step[0] == "sqrt":
                numbers = numbers * numbers
    return np.nan_to_num(numbers)


def _last_passing(thresholds: Array, model: Ensemble) -> Array:
    """About the largest double that passes each test."""
    if model.cast == "float64":
        return thresholds if model.test == "<=" else np.nextafter(thresholds, -np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        low = thresholds.astype(np.float32)
        above = low > thresholds if model.test == "<=" else low >= thresholds
        low = np.where(above, np.nextafter(low, np.float32(-np.inf)), low)
        high = np.nextafter(low, np.float32(np.inf))
        middle = (low.astype(np.float64) + high.astype(np.float64)) / 2
        return np.asarray(np.where(middle.astype(np.float32) <= low, middle, np.nextafter(middle, -np.inf)))


def _guess(axis: GridAxis, last: Array) -> Array:
    """The index of the last grid value that is <= each number, right in nearly all cases."""
    with np.errstate(over="ignore", invalid="ignore"):
        if axis.grid.kind == "float64":
            bits = (last + 0.0).view(np.int64)
            return np.where(bits >= 0, bits, -(bits & 0x7FFF_FFFF_FFFF_FFFF))
        if axis.grid.kind == "float32":
            single = last.astype(np.float32)
            single = np.where(single > last, np.nextafter(single, np.float32(-np.inf)), single)
            small = (single + np.float32(0)).view(np.int32).astype(np.int64)
            return np.where(small >= 0, small, -(small & 0x7FFF_FFFF))
        places = np.floor(last / nearest(axis.grid.step))
        return np.asarray(np.clip(np.nan_to_num(places), -(2.0**62), 2.0**62).astype(np.int64))


def _given(axis: GridAxis, indices: Array) -> Array:
    """The float that the model is given for each index."""
    if axis.grid.rounded_to == "float64":
        return values_of(axis, indices)
    return np.array([axis.given(int(index)) for index in indices])


def values_of(axis: GridAxis, indices: Array) -> Array:
    """The float64 nearest to the value with each index."""
    if axis.grid.kind == "float64":
        size = np.abs(indices).view(np.float64)
        return np.where(indices >= 0, size, -size)
    if axis.grid.kind == "float32":
        small = np.abs(indices).astype(np.int32).view(np.float32).astype(np.float64)
        return np.where(indices >= 0, small, -small)
    step = axis.grid.step
    largest = max(abs(axis.lower), abs(axis.upper)) + 2
    if axis.grid.extra is None and largest * step.numerator < 2**53 and step.denominator < 2**53:
        # Product and divisor are exact, so that the quotient is rounded once.
        return np.asarray(indices * float(step.numerator) / float(step.denominator))
    return np.array([nearest(axis.grid.value(int(index))) for index in indices])
