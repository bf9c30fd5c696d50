"""The nearest observed row with the goal outcome: a first upper bound before any search.

In:  a frame of rows (usually the training table), the space, and what the deployed model decides for such rows.
Out: rows with the goal, nearest first, as points of a question.
Promise: only a head start. Distances here are floats and serve to sort; every candidate is checked exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.cache import Recent
from mace.base.deadline import NEVER, Deadline
from mace.base.exact import as_written, exact, floats_to_ranks
from mace.problem.distance import Norm
from mace.problem.exclusions import AvoidNear
from mace.problem.question import Question
from mace.space.axes import Axis, GridAxis, LevelAxis, Point, index_of
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

CANDIDATES = 50
ROUNDING = 1e-9  # of a distance in floats
CHUNK = 2000  # rows read between two looks at the clock
BATCH = 250  # rows that the model is asked about first, and then twice as many each time
GLANCES = 3  # questions after which it is asked about all rows

Wanted = Callable[[NDArray[Any]], NDArray[np.bool_]]


class Rows(NamedTuple):
    """Background rows as points, and how many more there are that are no points."""

    points: list[Point]
    left_out: int


class Background:
    """Rows of a frame as numbers (a value, or a level's index), with the model's decisions."""

    def __init__(self, space: Space, frame: pd.DataFrame, decide: Callable[[pd.DataFrame], NDArray[Any]]) -> None:
        self.space, self.frame, self.decide = space, frame, decide
        self._values = np.zeros((len(frame), len(space.features)))  # of rows that are not read yet too
        self._read = 0  # rows
        self._said: NDArray[Any] | None = None  # in the order in which the model was asked
        self._place = np.full(len(frame), -1)  # of each row in it; -1: not asked yet
        self._in_order: NDArray[Any] | None = None
        self._kept: tuple[Wanted, NDArray[Any], _Having] | None = None  # with what it was made of
        self._glances = 0

    @property
    def values(self) -> NDArray[np.float64]:
        """The rows read so far, shape (rows, features)."""
        return self._values[: self._read]

    @property
    def decisions(self) -> NDArray[Any] | None:
        """What the model says of the rows that it was asked about, in their order; None before the first."""
        if self._in_order is None and self._said is not None:
            self._in_order = self._said[self._place[self._place >= 0]]
        return self._in_order

    @property
    def _asked(self) -> int:
        """How many rows the model was asked about."""
        return 0 if self._said is None else len(self._said)

    def read(self, deadline: Deadline = NEVER) -> Background:
        """Read what is left of the rows and ask the model about them, up to a deadline; the next call goes on there.

        Raises RowError.
        """
        while self._asked < len(self.frame) and not deadline.over:
            left = np.flatnonzero(self._place < 0)[:CHUNK]
            self._number(int(left[-1]) + 1)
            self._ask(left)
        return self

    def _number(self, count: int) -> None:
        """Read so many rows as numbers."""
        if self._read < count:
            self._values[self._read : count] = self.space.numbers(self.frame.iloc[self._read : count])
            self._read = count

    def _ask(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """The model's decisions for rows; those that it was not asked about are given to it at once."""
        new = rows[self._place[rows] < 0]
        if self._said is None or len(new):
            said = self.decide(self.frame.iloc[new][self.space.names])
            self._place[new] = self._asked + np.arange(len(new))
            self._said = said if self._said is None else np.concatenate([self._said, said])
            self._in_order = None
        return np.asarray(self._said[self._place[rows]])

    def near(self, question: Question, wanted: Wanted, deadline: Deadline = NEVER) -> Iterator[Point]:
        """`nearest` of all rows, read up to a deadline.

        For the first few questions the model is asked about rows one batch after the other, the nearest first, until
        enough have a wanted decision: a single question needs few of many.
        """
        self._glances += 1
        if self._glances > GLANCES or self._asked == len(self.frame) or len(self.frame) <= CHUNK:
            yield from self.read(deadline).nearest(question, wanted)
            return
        while not deadline.over and self._read < len(self.frame):
            self._number(min(self._read + CHUNK, len(self.frame)))
        columns = np.ascontiguousarray(self.values.T)
        rows, cost = _allowed_ones(question, columns, _Having(np.ones(columns.shape[1], dtype=bool), columns))
        rows = rows[np.argsort(cost, kind="stable")]
        given, done, size = 0, 0, BATCH
        while done < len(rows) and given < CANDIDATES and not deadline.over:
            batch = rows[done : done + size]
            having = batch[wanted(self._ask(batch))][: CANDIDATES - given]
            yield from self._points(question, columns[:, having])
            given, done, size = given + len(having), done + size, 2 * size

    def nearest(self, question: Question, wanted: Wanted) -> Iterator[Point]:
        """Points of the rows read so far that the model gives a wanted decision and the question allows, nearest first.

        wanted: from decisions, shape (rows,), to booleans. Yields at most a few candidates.
        """
        if (decisions := self.decisions) is None:
            return
        having = self._wanted(wanted, decisions)
        # Few rows may be allowed: only theirs are measured.
        rows, cost = _allowed_ones(question, having.columns, having)
        if len(cost) > CANDIDATES:  # in the order in which sorting all of them would put these
            near = np.flatnonzero(cost <= np.partition(cost, CANDIDATES)[CANDIDATES])
            rows, cost = rows[near], cost[near]
        chosen = rows[np.argsort(cost, kind="stable")[:CANDIDATES]]
        yield from self._points(question, having.columns[:, chosen])

    def _points(self, question: Question, columns: NDArray[np.float64]) -> Iterator[Point]:
        """Those of some rows, given as columns, that are allowed points."""
        for values in columns.T:
            point = self._point(question, values)
            if point is not None and question.obeys(point):
                yield point

    def _wanted(self, wanted: Wanted, decisions: NDArray[Any]) -> _Having:
        """The wanted rows; kept, for a goal is asked about many times."""
        kept = self._kept
        if kept is not None and kept[0] == wanted and kept[1] is decisions:
            return kept[2]
        found = wanted(decisions)
        if kept is not None and np.array_equal(kept[2].wanted, found):
            having = kept[2]
        else:
            rows = np.flatnonzero(self._place >= 0)[np.flatnonzero(found)]
            having = _Having(found, np.ascontiguousarray(self.values[rows].T))
        self._kept = wanted, decisions, having
        return having

    def points(self, question: Question, wanted: Wanted, deadline: Deadline = NEVER) -> Rows:
        """All different rows that the model was asked about and gives a wanted decision, be they allowed or not.

        Left out are rows that are no point of the axes: a value off a grid, or one that is missing where none may be.
        Raises TimeOverError.
        """
        if (decisions := self.decisions) is None:
            return Rows([], 0)
        rows = np.flatnonzero(self._place >= 0)[np.flatnonzero(wanted(decisions))]
        values = np.unique(self.values[rows], axis=0)
        different = len(values)
        for j, (axis, feature) in enumerate(zip(question.axes, question.space.features, strict=True)):
            gone = np.isnan(values[:, j])
            if isinstance(axis, GridAxis):
                known = ~gone if axis.missing is None else np.ones(len(values), dtype=bool)
            else:
                known = gone if feature.numeric else values[:, j] < axis.count
            values = values[known]
        # Rows share most of their values, and a number takes long to be found on its grid.
        columns = []
        for axis, column in zip(question.axes, values.T, strict=True):
            deadline.look("reading background rows")
            different_ones, places = np.unique(column, return_inverse=True)
            indices = _indices(axis, different_ones)
            columns.append([indices[place] for place in places.tolist()])
        found: list[Point] = [row for row in zip(*columns, strict=True) if None not in row]
        return Rows(found, different - len(found))

    @staticmethod
    def _point(question: Question, values: NDArray[np.float64]) -> Point | None:
        """The point of a row; None when a value does not lie on the question's grid."""
        point = []
        for axis, value in zip(question.axes, values.tolist(), strict=True):
            index = _index(axis, value)
            if index is None:
                return None
            point.append(index)
        return tuple(point)


def _indices(axis: Axis, values: NDArray[np.float64]) -> list[int | None]:
    """`_index` of each."""
    if isinstance(axis, LevelAxis) or axis.grid.kind != "float64":
        return [_index(axis, value) for value in values.tolist()]
    return [
        axis.missing if lacks else rank
        for rank, lacks in zip(floats_to_ranks(values).tolist(), np.isnan(values).tolist(), strict=True)
    ]


def _index(axis: Axis, value: float) -> int | None:
    """The index of a value on its axis; None where it is no value of the axis."""
    if isinstance(axis, LevelAxis):
        return 0 if np.isnan(value) else int(value)
    if np.isnan(value):
        return axis.missing
    return index_of(axis, as_written(value) if axis.grid.kind == "step" else exact(value))


class _Having:
    """Rows that have a goal.

    wanted: which of all rows, shape (rows,); columns: their values, shape (features, those rows).
    """

    def __init__(self, wanted: NDArray[np.bool_], columns: NDArray[np.float64]) -> None:
        self.wanted, self.columns = wanted, columns
        self._alike: Recent[NDArray[np.intp]] = Recent(256)
        self._whole: Recent[bool] = Recent(1024)

    def allowed(self, question: Question) -> NDArray[np.intp]:
        """The rows that the axes of a question allow, in order."""
        axes = [
            (j, axis, feature.numeric)
            for j, (axis, feature) in enumerate(zip(question.axes, question.space.features, strict=True))
            if not self._allows_all(j, axis, numeric=feature.numeric)
        ]
        # Questions share the levels that must stay: what has them is looked for once, and the rest looked for in it.
        fixed = [one for one in axes if isinstance(one[1], LevelAxis) and one[1].fixed]
        rows = self._alike.get(tuple((j, axis.allowed) for j, axis, _ in fixed), lambda: self._among(fixed))  # type: ignore[union-attr]
        for j, axis, numeric in axes:
            if not (isinstance(axis, LevelAxis) and axis.fixed):
                rows = rows[_allowed(axis, self.columns[j, rows], numeric=numeric)]
        return rows

    def _among(self, axes: Sequence[tuple[int, Axis, bool]]) -> NDArray[np.intp]:
        """The rows that some axes allow."""
        allowed = np.ones(self.columns.shape[1], dtype=bool)
        for j, axis, numeric in axes:
            allowed &= _allowed(axis, self.columns[j], numeric=numeric)
        return np.flatnonzero(allowed)

    def _allows_all(self, j: int, axis: Axis, *, numeric: bool) -> bool:
        """Whether an axis allows all rows."""
        key: tuple[object, ...] = (j, axis.missing)
        key += (axis.count, axis.allowed) if isinstance(axis, LevelAxis) else (axis.grid, axis.lower, axis.upper)
        return self._whole.get(key, lambda: bool(_allowed(axis, self.columns[j], numeric=numeric).all()))


def _allowed_ones(
    question: Question, columns: NDArray[np.float64], having: _Having
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The rows that a question allows, in order, and their distances."""
    rows = having.allowed(question)
    # A ball around an earlier answer may hold more of the nearest rows than there are candidates.
    for ball in (one for one in question.avoid if isinstance(one, AvoidNear)):
        around = [replace(axis, start=at) for axis, at in zip(question.axes, ball.point, strict=True)]
        rows = rows[_costs(question, around, columns[:, rows]) >= float(ball.radius) * (1 - ROUNDING)]
    return rows, _costs(question, question.axes, columns[:, rows])


def _costs(question: Question, axes: Sequence[Axis], columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distances of allowed rows, given as columns, from where the axes start."""
    deltas = np.zeros(columns.shape).T  # of which each feature lies together, to be added as a whole
    for j, axis in enumerate(axes):
        if axis.fixed and axis.allows(axis.start):
            continue  # the rows are allowed: none differs here
        deltas[:, j] = _deltas(axis, columns[j], numeric=question.space.features[j].numeric)
    norm = question.distance
    return norm.charged(deltas).total if isinstance(norm, Norm) else deltas.sum(axis=1)


def _allowed(axis: Axis, column: NDArray[np.float64], *, numeric: bool) -> NDArray[np.bool_]:
    """Which values of one feature, shape (rows,), its axis allows."""
    if isinstance(axis, GridAxis):
        if axis.lower > axis.last:  # "missing" alone
            return np.isnan(column)
        within = (column >= float(axis.value(axis.lower))) & (column <= float(axis.value(axis.last)))
        return within | np.isnan(column) if axis.may_lack else within  # comparisons with NaN fail
    if numeric:  # The row lacks this number: only rows that lack it too.
        return np.isnan(column)
    return np.asarray(_by_level(axis).allowed[_levels(axis, column)])


def _deltas(axis: Axis, column: NDArray[np.float64], *, numeric: bool) -> NDArray[np.float64]:
    """The scaled changes of one feature to some values, shape (rows,), in floats."""
    if isinstance(axis, GridAxis):
        lost = float(axis.missing_cost)
        if axis.lacks:
            return np.where(np.isnan(column), 0.0, lost)
        moved = np.abs(column - float(axis.start_value)) / float(axis.scale)
        return moved if axis.missing is None else np.where(np.isnan(column), lost, moved)
    if numeric:
        return np.zeros(len(column))
    return np.asarray(_by_level(axis).delta[_levels(axis, column)])


class _ByLevel(NamedTuple):
    """Of each level of an axis, and of one more: whether it is allowed, and its scaled change in floats."""

    allowed: NDArray[np.bool_]
    delta: NDArray[np.float64]


@lru_cache(1 << 10)
def _by_level(axis: LevelAxis) -> _ByLevel:
    """What depends on an axis of levels alone, cached: the same few axes come again and again, with another start."""
    allowed = np.array([axis.allows(k) for k in range(axis.count + 1)])
    return _ByLevel(allowed, np.array([*(float(axis.delta(k)) for k in range(axis.count)), 0.0]))


def _levels(axis: LevelAxis, column: NDArray[np.float64]) -> NDArray[np.intp]:
    """Levels as places; there is one more, for the level that the model cannot take."""
    return np.minimum(column.astype(np.intp), axis.count)
