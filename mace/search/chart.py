"""The axes of points around a start as columns of floats, on which heuristics compute.

In:  a `Neighbourhood` or a `Question`.
Out: rows of floats, shape (n, features): of a number its value (NaN: missing), of a feature with levels the index of
     the level; onto the grids (`snap`), as exact points (`point`), as values that people see (`values`).
Promise: a row that `snap` returned is a point of the axes: `point` names it exactly. Distances here are floats and
serve to compare; what is reported is computed from the point.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.exact import exact, float32_to_rank, float_to_rank, nearest
from mace.problem.around import Around
from mace.problem.distance import Norm
from mace.space.axes import Axis, GridAxis, LevelAxis, Point
from mace.space.columns import Column

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Way = Literal["nearest", "down", "up"]
_ROUND = {"nearest": np.rint, "down": np.floor, "up": np.ceil}


class Fitted(NamedTuple):
    """Rows as a chart holds them, and which of them are points of its axes."""

    rows: Floats
    fit: Bools


class Chart:
    """The axes of points around a start as columns.

    low, high: the ends of each column's values.    start: the row of the start.
    free:      which features may change.           scale: what a change of 1 in scaled units is, in the column's.
    numbers:   which columns hold numbers, which change by how far; the others hold levels.
    """

    def __init__(self, place: Around) -> None:
        self.place = place
        axes = place.axes
        self.numbers = np.array([isinstance(axis, GridAxis) for axis in axes])
        ends = [_ends(axis) for axis in axes]
        self.low, self.high = np.array([end[0] for end in ends]), np.array([end[1] for end in ends])
        self.scale = np.array([_scale(axis) for axis in axes])
        self.free = np.array([not axis.fixed or not axis.allows(axis.start) for axis in axes])
        self.start = self.row(place.start)
        self.levels = [None if isinstance(axis, GridAxis) else np.array(axis.levels(), float) for axis in axes]
        self._delta = [
            None if isinstance(axis, GridAxis) else np.array([nearest(axis.delta(k)) for k in range(axis.count)])
            for axis in axes
        ]

    @property
    def features(self) -> int:
        """How many columns there are."""
        return len(self.place.axes)

    def row(self, point: Point) -> Floats:
        """The row of a point; shape (features,)."""
        found = np.empty(len(point))
        for j, (axis, index) in enumerate(zip(self.place.axes, point, strict=True)):
            missing = isinstance(axis, GridAxis) and index == axis.missing
            found[j] = np.nan if missing else nearest(axis.value(index))
        return found

    def point(self, row: Floats) -> Point:
        """The point of a row that `snap` returned."""
        return tuple(_index(axis, number) for axis, number in zip(self.place.axes, row.tolist(), strict=True))

    def snap(self, rows: Floats, way: Way = "nearest") -> Floats:
        """The rows, moved onto the grids and into what is allowed; `way`: to which of two values of a step."""
        found = np.array(rows, dtype=np.float64, ndmin=2)
        for j in range(self.features):
            found[:, j] = self.snap_column(j, found[:, j], way)
        return found

    def snap_column(self, j: int, numbers: Floats, way: Way = "nearest") -> Floats:
        """The same of one feature; numbers: shape (n,)."""
        axis, known = self.place.axes[j], self.levels[j]
        gone = np.isnan(numbers)
        if isinstance(axis, LevelAxis):
            assert known is not None
            between = (known[:-1] + known[1:]) / 2  # a number in the middle goes to the lower level
            return known[np.searchsorted(between, np.where(gone, self.start[j], numbers))]
        column = np.clip(np.where(gone, self.low[j], numbers), self.low[j], self.high[j])
        found = np.clip(_on_grid(axis, column, way), self.low[j], self.high[j])
        if gone.any():
            found[gone] = np.nan if axis.may_lack else self.low[j] if axis.lacks else self.start[j]
        return found

    def fitted(self, rows: Floats) -> Fitted:
        """Rows of a table (a number that is missing: NaN), and which of them are points of the axes."""
        moved, same = np.array(rows, dtype=np.float64, ndmin=2), np.ones(len(rows), dtype=np.bool_)
        for j, (axis, feature) in enumerate(zip(self.place.axes, self.place.space.features, strict=True)):
            if feature.numeric and isinstance(axis, LevelAxis):  # the row lacks this number, and keeps lacking it
                same &= np.isnan(moved[:, j])
                moved[:, j] = 0.0
        snapped = self.snap(moved)
        near = np.abs(snapped - moved) <= 1e-12 * np.maximum(1.0, np.abs(moved))
        return Fitted(snapped, same & (near | (np.isnan(snapped) & np.isnan(moved))).all(axis=1))

    def taken(self, rows: Floats) -> Floats:
        """Rows of a table as the model is asked about them: they need not be points of the axes."""
        found = np.array(rows, dtype=np.float64, ndmin=2)
        for j, (axis, feature) in enumerate(zip(self.place.axes, self.place.space.features, strict=True)):
            if isinstance(axis, LevelAxis):
                found[:, j] = 0.0 if feature.numeric else np.minimum(found[:, j], axis.count - 1)
        return found

    def deltas(self, rows: Floats) -> Floats:
        """The scaled change of every feature; shape (rows, features)."""
        found = np.empty(rows.shape)
        for j, axis in enumerate(self.place.axes):
            table = self._delta[j]
            if table is not None:
                found[:, j] = table[rows[:, j].astype(np.intp)]
            elif isinstance(axis, GridAxis):
                gone, lost = np.isnan(rows[:, j]), nearest(axis.missing_cost)
                change = np.abs(rows[:, j] - self.start[j]) / self.scale[j]
                found[:, j] = np.where(gone, 0.0 if axis.lacks else lost, lost if axis.lacks else change)
        return found

    def distances(self, rows: Floats) -> Floats:
        """The distance of every row from the start; shape (rows,)."""
        distance = self.place.distance
        if not isinstance(distance, Norm):
            return np.array([nearest(self.place.distance_of(self.point(row))) for row in rows])
        return distance.charged(self.deltas(rows)).total

    def changed(self, rows: Floats) -> Bools:
        """Which features of every row differ from the start; shape (rows, features)."""
        return np.asarray((rows != self.start) & ~(np.isnan(rows) & np.isnan(self.start)))

    def allowed(self, rows: Floats) -> Bools:
        """Which rows of `snap` keep to rules, exclusions and the number of changes; shape (rows,)."""
        place = self.place
        inside = all(axis.allows(axis.start) for axis in place.axes)
        if inside and not place.rules and not place.avoid:
            most = self.features if place.most_changes is None else place.most_changes
            return np.asarray(self.changed(rows).sum(axis=1) <= most)
        return np.array([place.obeys(self.point(row)) for row in rows], dtype=np.bool_)

    def uniform(self, rng: np.random.Generator, count: int) -> Floats:
        """Rows of which every free feature is drawn from all that is allowed; shape (count, features)."""
        found = np.tile(self.start, (count, 1))
        for j in np.flatnonzero(self.free):
            known = self.levels[j]
            numbers = rng.uniform(self.low[j], self.high[j], count)
            found[:, j] = numbers if known is None else rng.choice(known, count)
        return self.snap(found)

    def values(self, rows: Floats) -> list[dict[str, Any]]:
        """The rows in the features' own types and units, None for what is missing."""
        columns = []
        for j, (axis, feature) in enumerate(zip(self.place.axes, self.place.space.features, strict=True)):
            column = rows[:, j].tolist()
            if not feature.numeric:
                columns.append([feature.levels[int(k)] for k in column])
            elif isinstance(axis, LevelAxis):
                columns.append([None] * len(column))
            else:
                kind = int if feature.kind == "integer" else float
                columns.append([None if x != x else kind(x) for x in column])
        names = self.place.space.names
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def matrix(self, rows: Floats, columns: tuple[Column, ...]) -> Floats:
        """The matrix of a model with these columns; shape (rows, columns)."""
        found = np.empty((len(rows), len(columns)))
        for k, column in enumerate(columns):
            numbers = rows[:, column.feature]
            known = column.on(self.place.axes[column.feature]).values  # a number that stays missing is a level
            if known is not None:
                found[:, k] = np.asarray((*known, np.nan))[numbers.astype(np.intp)]  # the last may be missing
                continue
            gone = np.isnan(numbers)
            if column.rounded_to == "float32":
                numbers = numbers.astype(np.float32).astype(np.float64)
            found[:, k] = column.of_many(np.where(gone, 0.0, numbers))
            if gone.any():
                found[gone, k] = np.nan if column.missing is None else column.missing
        return found


def _ends(axis: Axis) -> tuple[float, float]:
    if isinstance(axis, LevelAxis):
        return 0.0, float(axis.count - 1)
    return nearest(axis.value(axis.lower)), nearest(axis.value(axis.last))


def _scale(axis: Axis) -> float:
    if isinstance(axis, GridAxis):
        return nearest(axis.scale)
    return float(max(1, axis.count - 1 - (axis.missing is not None))) if axis.ordered else 1.0


def _on_grid(axis: GridAxis, numbers: Floats, way: Way) -> Floats:
    """Numbers moved to the values of a grid."""
    grid = axis.grid
    if grid.kind == "float64":
        return numbers
    if grid.kind == "float32":
        return _to_float32(numbers, way)
    above, below = grid.step.numerator, grid.step.denominator
    # One rounding: a whole number divided by a whole number is the float nearest to the multiple.
    found = _ROUND[way](numbers * below / above) * above / below
    if grid.extra is None:
        return np.asarray(found)
    extra = nearest(grid.extra)
    return np.where(np.abs(numbers - extra) <= np.abs(numbers - found), extra, found)


def _to_float32(numbers: Floats, way: Way) -> Floats:
    found = numbers.astype(np.float32)
    if way == "down":
        found = np.where(found > numbers, np.nextafter(found, np.float32(-np.inf)), found)
    elif way == "up":
        found = np.where(found < numbers, np.nextafter(found, np.float32(np.inf)), found)
    return found.astype(np.float64)


def _index(axis: Axis, number: float) -> int:
    """The index of a value that lies on an axis."""
    if isinstance(axis, LevelAxis):
        return int(number)
    if number != number:
        assert axis.missing is not None
        return axis.missing
    grid = axis.grid
    if grid.kind == "float64":
        index = float_to_rank(number)
    elif grid.kind == "float32":
        index = float32_to_rank(number)
    elif grid.extra is not None and nearest(grid.extra) == number:
        index = grid.floor(grid.extra)
    else:
        index = grid.floor(round(exact(number) / grid.step) * grid.step)
    return min(max(index, axis.lower), axis.last)
