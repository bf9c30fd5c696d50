"""What it costs to cross each cut of the trees, for all axes of a row at once.

In:  the axes of a question, a Norm, the cuts of a model, a scale.
Out: `Tariff`, kept with the cuts: what does not depend on where a row starts; `at_once`: what a row makes of it.
Promise: number by number what `mace.solve.ensembles.arrays.costs` gives for one axis after the other. What may be
missing, grids of float32, starts off their grid, and numbers that 64 bits do not hold are left to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.cache import Recent
from mace.base.exact import nearest
from mace.problem.distance import Charge, Norm
from mace.solve.ensembles.arrays.costs import EXACT, ROUNDED, Costs, charges_of, costs_of
from mace.solve.ensembles.arrays.cuts import Array, Tests
from mace.solve.ensembles.arrays.grid_cuts import values_of
from mace.space.axes import Axis, GridAxis, LevelAxis


class Levels(NamedTuple):
    """The levels of an axis, allowed or not: in order, the nearest to the start first, and what each costs."""

    order: tuple[int, ...]
    costs: Costs


class Row(NamedTuple):
    """What the cuts cost a row: the fields of a `Ground`, but for the axes that are `left` to do, and for levels."""

    part: Array
    top: Array
    low: Array
    high: Array
    start: Array
    left: list[int]


class _Rate(NamedTuple):
    """k steps cost (first + more * k) // under, and (rise * k) // beneath at the top; `most` is the largest k."""

    first: int
    more: int
    under: int
    rise: int
    beneath: int
    most: int


class Tariff:
    """The charges of a norm on the cuts of a model."""

    def __init__(self, axes: Sequence[Axis], norm: Norm, tests: Tests, scale: int | Fraction) -> None:
        self.charges = charges_of(norm, scale)
        self.grid = np.array([isinstance(axis, GridAxis) for axis in axes])
        self.levels = [j for j, axis in enumerate(axes) if isinstance(axis, LevelAxis)]
        self._every: Recent[Levels] = Recent(256)
        rates = {j: _rate(axis, self.charges[j]) for j, axis in enumerate(axes) if isinstance(axis, GridAxis)}
        self._rates = {j: rate for j, rate in rates.items() if rate is not None}
        self._doubles = [j for j, rate in rates.items() if rate is None and _of_doubles(axes[j])]
        self._others = [j for j in rates if j not in self._rates and j not in self._doubles]
        # All cuts, and of which axis each is.
        self._cuts, self._base, self._at = tests.cuts, tests.base, tests.at
        self._of = np.repeat(np.arange(len(axes), dtype=np.int32), list(map(len, tests.cuts)))
        self._steps = np.zeros((5, len(axes)), np.int64)
        for j, rate in self._rates.items():
            self._steps[:, j] = rate[:5]
        self._charges = np.zeros((4, len(axes)))
        self._sides = np.empty((2, len(tests.at) if self._doubles else 0))
        for j in self._doubles:
            axis, cuts = axes[j], tests.cuts[j]
            assert isinstance(axis, GridAxis)
            self._charges[:, j] = nearest(axis.scale), *map(nearest, self.charges[j])
            here = slice(tests.base[j], tests.base[j] + len(cuts))
            self._sides[0, here], self._sides[1, here] = values_of(axis, cuts), values_of(axis, cuts + 1)

    def at_once(self, axes: Sequence[Axis]) -> Row:
        """What the cuts cost from where a row starts."""
        left, start = list(self._others), np.zeros(len(axes), np.int64)
        cells = np.zeros((3, len(axes)), np.int64)  # of the lower and the upper end, and of the start
        seen: tuple[list[Array], list[Array]] = [], []
        for j in (*self._doubles, *self._rates):
            axis, between = axes[j], j not in self._rates
            assert isinstance(axis, GridAxis)
            if not between and not _fits(axis, self._rates[j]):
                left.append(j)
                continue
            start[j] = axis.start
            low, high, home = cells[:, j] = self._cuts[j].searchsorted((axis.lower, axis.upper, axis.start))
            # Other cuts divide nothing that is allowed, and their costs nothing that is compared.
            seen[between].append(np.arange(min(low, home), max(high, home)) + self._base[j])
        part, top = np.zeros((2, len(self._at)), np.int64)
        for fill, places in zip((self._by_steps, self._by_doubles), seen, strict=True):
            if places:
                here = np.concatenate(places)
                part[here], top[here] = fill(here, start)
        return Row(part, top, cells[0], cells[1], cells[2], left)

    def _by_steps(self, here: Array, start: Array) -> tuple[Array, Array]:
        """What it costs to cross some cuts of axes that are charged by steps."""
        at, of = self._at[here], self._of[here]
        first, more, under, rise, beneath = self._steps[:, of]
        # The side without the start begins right after the cut, or ends at it.
        begun = start[of]
        steps = np.abs(at + (at >= begun) - begun)
        return (first + more * steps) // under, rise * steps // beneath

    def _by_doubles(self, here: Array, start: Array) -> tuple[Array, Array]:
        """What it costs to cross some cuts between doubles."""
        of = self._of[here]
        scale, once, slope, peak = self._charges[:, of]
        begun = np.abs(start).view(np.float64)
        begun = np.where(start >= 0, begun, -begun)
        with np.errstate(over="ignore"):
            delta = np.abs(self._sides[(self._at[here] >= start[of]).view(np.int8), here] - begun[of]) / scale
        return np.floor((once + slope * delta) * ROUNDED), np.floor(peak * delta * ROUNDED)

    def of_levels(self, j: int, axis: LevelAxis) -> Levels:
        """The levels of an axis."""
        return self._every.get((j, axis), lambda: self._of_levels(j, axis))

    def _of_levels(self, j: int, axis: LevelAxis) -> Levels:
        order = sorted(range(axis.count), key=axis.nearness)
        return Levels(tuple(order), costs_of(axis, self.charges[j], np.arange(axis.count)))


def tariff_of(axes: Sequence[Axis], norm: Norm, tests: Tests, scale: int | Fraction) -> Tariff:
    """The tariff of the axes of a row, which rows of one space share."""
    key = tuple(
        (axis.grid, axis.scale.numerator, axis.scale.denominator, axis.missing is None)
        if isinstance(axis, GridAxis)
        else None
        for axis in axes
    )
    found: Tariff = tests.charged.get((norm, scale, key), lambda: Tariff(axes, norm, tests, scale))
    return found


def _of_doubles(axis: Axis) -> bool:
    return isinstance(axis, GridAxis) and axis.missing is None and axis.grid.kind == "float64"


def _rate(axis: GridAxis, charge: Charge) -> _Rate | None:
    """What steps of an axis cost; None where that is no multiple of their number."""
    if axis.missing is not None:
        return None
    if not charge.slope and not charge.peak:
        return _Rate(math.floor(charge.once), 0, 1, 0, 1, EXACT)
    if axis.grid.kind != "step" or axis.grid.extra is not None:
        return None
    unit = axis.grid.step / axis.scale
    part, top = _multiples(charge.once, charge.slope * unit), _multiples(Fraction(0), charge.peak * unit)
    first, more, under, _, rise, beneath = *part, *top
    if max(first, more, under, rise, beneath) >= EXACT:
        return None
    return _Rate(first, more, under, rise, beneath, (EXACT - 1 - first) // max(more, rise, 1))


def _multiples(once: Fraction, each: Fraction) -> tuple[int, int, int]:
    """first, more, under: once + each * k is (first + more * k) / under for every k, rounded down where each is 0."""
    if not each:
        return math.floor(once), 0, 1
    under = math.lcm(once.denominator, each.denominator)
    return once.numerator * (under // once.denominator), each.numerator * (under // each.denominator), under


def _fits(axis: GridAxis, rate: _Rate) -> bool:
    """Whether 64 bits hold all indices of an axis, and the way to what they cost."""
    low, high = min(axis.lower, axis.start), max(axis.upper, axis.start)
    if not rate.more and not rate.rise:
        return axis.grid.kind != "step" or low > -EXACT and high < EXACT
    return low > -EXACT and high < EXACT and high - low < rate.most
