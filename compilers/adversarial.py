"""Rows that are made to tell a table from the library that it was read from.

In:  a table, its columns as functions of one feature each, and for every feature the values that it may have.
Out: rows, one value a feature. Of an ensemble each one leads to some node of some tree, and sits on the boundary of
     the tests on its way there: a threshold as it is stored, the last float that passes it once it is cast (a midpoint
     of two float32 numbers), their neighbours, the ends of a set of categories.
Promise: the same table gives the same rows. Every value comes from its feature's `Values`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mace.base.exact import exact, nearest
from mace.compilers.thresholds import before_cast, largest_passing
from mace.space.columns import Column
from mace.space.feature import Feature
from mace.tables.table import Ensemble, Ints, Network, Tree

TARGETED, MIXED = 96, 32  # rows that lead to a node; rows of any values
MOST_NEAR = 64  # values that are tried for one feature of one row
_TINY = 5e-324
# Zeros of both signs, what LightGBM takes for zero, numbers that lose what follows the point, and large ones.
_PLAIN = (0.0, -0.0, _TINY, -_TINY, 1e-36, -1e-36, 1.0, 0.5, 1.5, -0.5, -1.0, 7.0, 2.0**24, 2.0**31, -1e10, 1e30)


class Values(Protocol):
    """The values that a feature may have."""

    def usual(self) -> Sequence[Any]:
        """Values to try wherever no test asks for others."""

    def near(self, number: float) -> Sequence[Any]:
        """Values at a number and on both sides of it."""


@dataclass(frozen=True)
class AnyNumber:
    """A column of a matrix: any finite number of the type to which the library casts.

    known: numbers that it holds in use.
    """

    known: tuple[float, ...]
    largest: float

    def usual(self) -> Sequence[float]:
        """See `Values`."""
        return [x for x in (*_PLAIN, *self.known) if abs(x) <= self.largest]

    def near(self, number: float) -> Sequence[float]:
        """See `Values`."""
        found = (number, math.nextafter(number, math.inf), math.nextafter(number, -math.inf))
        return [x for x in found if abs(x) <= self.largest]


@dataclass(frozen=True)
class OfFeature:
    """A feature of a space, missing values aside."""

    feature: Feature

    def usual(self) -> Sequence[Any]:
        """See `Values`."""
        if not self.feature.numeric:
            return [level for level in self.feature.levels if level is not None]
        lower, upper = map(nearest, self.feature.bounds())
        return [x for number in (lower, upper, 0.0, (lower + upper) / 2) for x in self.near(number)] or [lower]

    def near(self, number: float) -> Sequence[Any]:
        """See `Values`."""
        feature = self.feature
        if not feature.numeric:
            return self.usual()
        lower, upper = feature.bounds()
        if not math.isfinite(number):
            return []
        if feature.kind == "integer":
            return [x for x in (math.floor(number), math.floor(number) + 1) if lower <= x <= upper]
        if feature.step is not None:
            step = Fraction(str(feature.step))
            place = math.floor(exact(number) / step)
            return [nearest(k * step) for k in (place, place + 1) if lower <= k * step <= upper]
        sides = (number, math.nextafter(number, math.inf), math.nextafter(number, -math.inf))
        return [x for x in (*sides, -0.0 if number == 0 else number) if nearest(lower) <= x <= nearest(upper)]


class _Test(NamedTuple):
    """A test that a row shall pass, or fail."""

    tree: Tree
    node: int
    column: int
    passed: bool


def rows(table: Ensemble | Network, columns: Sequence[Column], values: Sequence[Values]) -> list[list[Any]]:
    """Rows of one value a feature; `columns` name features by their place in `values`."""
    rng = np.random.default_rng(0)
    levels = [list(one.usual()) for one in values]
    usual = [list(some) for some in levels]
    if not isinstance(table, Ensemble):
        return [_mixed(usual, rng) for _ in range(TARGETED)]
    places = _Places(table)
    targets = _targets(table, rng)
    for tests in targets[:MIXED]:  # Values of some tests, together with values of others.
        for test in tests:
            feature = columns[test.column].feature
            usual[feature] += [x for number in places.of(test) for x in values[feature].near(number)]
    found = [_mixed(usual, rng) for _ in range(MIXED)]
    for tests in targets:
        row = _mixed(usual, rng)
        by_feature: dict[int, list[_Test]] = {}
        for test in tests:
            by_feature.setdefault(columns[test.column].feature, []).append(test)
        for feature, some in by_feature.items():
            near = [x for test in some for number in places.of(test) for x in values[feature].near(number)]
            near = near or levels[feature]
            near = [near[k] for k in rng.permutation(len(near))[:MOST_NEAR].tolist()]
            row[feature] = _on_the_way(table, columns, levels[feature], near, some)
        found.append(row)
    return found


def as_column(column: Column, levels: Sequence[Any], value: Any) -> float:
    """What a column holds for a value of its feature."""
    return column.of(float(value)) if column.values is None else column.values[levels.index(value)]


def _mixed(usual: Sequence[list[Any]], rng: np.random.Generator) -> list[Any]:
    return [some[k] for some, k in zip(usual, rng.integers(list(map(len, usual))).tolist(), strict=True)]


class _Places:
    """Where the answers of tests change, remembered by threshold."""

    def __init__(self, table: Ensemble) -> None:
        self.table = table
        self._known: dict[float, tuple[float, ...]] = {}

    def of(self, test: _Test) -> tuple[float, ...]:
        """Numbers at which the answer of a test changes, or may be thought to."""
        members = test.tree.members.get(test.node)
        if members is not None:
            before = before_cast(members[:3] + members[-1:], self.table.cast)
            ends = [end for low, high in before for end in (low, high)]
            return (*ends, *(math.floor(end) + 0.5 for end in ends[:2]))
        threshold = float(test.tree.threshold[test.node])
        if threshold not in self._known:
            last = largest_passing(threshold, self.table.cast, self.table.test)
            self._known[threshold] = tuple(x for x in {threshold, last} if math.isfinite(x))
        return self._known[threshold]


def _targets(table: Ensemble, rng: np.random.Generator) -> list[list[_Test]]:
    """For some nodes, the tests that lead there, and one of the node itself."""
    grown = [tree for tree in table.trees if tree.column[0] >= 0]
    found: list[list[_Test]] = []
    above: dict[int, Ints] = {}
    inner: dict[int, NDArray[Any]] = {}
    for _ in range(TARGETED if grown else 0):
        place = int(rng.integers(len(grown)))
        tree = grown[place]
        if place not in above:
            inner[place] = np.flatnonzero(tree.column >= 0)
            above[place] = _parents(tree, inner[place])
        node = int(inner[place][rng.integers(len(inner[place]))])
        tests = [_Test(tree, node, int(tree.column[node]), bool(rng.integers(2)))]
        while node:
            node, child = int(above[place][node]), node
            tests.append(_Test(tree, node, int(tree.column[node]), int(tree.left[node]) == child))
        found.append(tests)
    return found


def _parents(tree: Tree, inner: NDArray[Any]) -> Ints:
    parents = np.zeros(tree.nodes, dtype=np.int32)
    parents[tree.left[inner]] = inner
    parents[tree.right[inner]] = inner
    return parents


def _on_the_way(
    table: Ensemble, columns: Sequence[Column], levels: Sequence[Any], near: Sequence[Any], tests: Sequence[_Test]
) -> Any:
    """The first of some values of one feature that all of its tests let through; else the first one.

    levels: what the feature may be, where it is no number.
    """
    # Cast together; one after the other they are compared, for most rows need a few.
    seen = {
        column: table.seen(np.array([as_column(columns[column], levels, x) for x in near])).tolist()
        for column in {test.column for test in tests}
    }

    def fits(place: int) -> bool:
        return all(
            table.seen_goes_left(test.tree, test.node, seen[test.column][place]) == test.passed for test in tests
        )

    return near[next(filter(fits, range(len(near))), 0)]
