"""The nearest observed row with the goal outcome: a first upper bound before any search.

In:  a frame of rows (usually the training table), the space, and what the deployed model decides for such rows.
Out: rows with the goal, nearest first, as points of a question.
Promise: only a head start. Distances here are floats and serve to sort; every candidate is checked exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.deadline import NEVER, Deadline
from mace.base.exact import as_written, exact, nearest
from mace.problem.distance import Norm
from mace.problem.question import Question
from mace.space.axes import GridAxis, LevelAxis, Point, index_of
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

CANDIDATES = 50
CHUNK = 2000  # rows read between two looks at the clock


class Rows(NamedTuple):
    """Background rows as points, and how many more there are that are no points."""

    points: list[Point]
    left_out: int


class Background:
    """Rows of a frame as numbers (a value, or a level's index), with the model's decision on each.

    values, decisions: of the rows read so far; None before the first.
    """

    def __init__(self, space: Space, frame: pd.DataFrame, decide: Callable[[pd.DataFrame], NDArray[Any]]) -> None:
        self.space, self.frame, self.decide = space, frame, decide
        self.values = np.empty((0, len(space.features)))
        self.decisions: NDArray[Any] | None = None

    def read(self, deadline: Deadline = NEVER) -> Background:
        """Read what is left of the rows, up to a deadline; the next call goes on from there. Raises RowError."""
        while (done := len(self.values)) < len(self.frame) and not deadline.over:
            part = self.frame.iloc[done : done + CHUNK]
            values = numbers_of(self.space, part)
            decisions = self.decide(part[self.space.names])
            self.decisions = decisions if self.decisions is None else np.concatenate([self.decisions, decisions])
            self.values = np.concatenate([self.values, values])
        return self

    def nearest(self, question: Question, wanted: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> Iterator[Point]:
        """Points of the rows read so far that the model gives a wanted decision and the question allows, nearest first.

        wanted: from decisions, shape (rows,), to booleans. Yields at most a few candidates.
        """
        if self.decisions is None:
            return
        rows = np.flatnonzero(wanted(self.decisions))
        if not len(rows):
            return
        deltas = np.empty((len(rows), len(question.axes)))
        allowed = np.ones(len(rows), dtype=bool)
        for j, axis in enumerate(question.axes):
            column = self.values[rows, j]
            if isinstance(axis, GridAxis):
                gone, lost = np.isnan(column), float(axis.missing_cost)
                if axis.lacks:
                    deltas[:, j] = np.where(gone, 0.0, lost)
                else:
                    deltas[:, j] = np.where(gone, lost, np.abs(column - float(axis.start_value)) / float(axis.scale))
                low, high = float(axis.value(axis.lower)), float(axis.value(axis.last))
                allowed &= np.where(gone, axis.may_lack, (column >= low) & (column <= high))
            elif question.space.features[j].numeric:  # The row lacks this number: only rows that lack it too.
                deltas[:, j] = 0.0
                allowed &= np.isnan(column)
            else:
                # One more place, for the level that the model cannot take.
                level = np.minimum(column.astype(np.intp), axis.count)
                deltas[:, j] = np.array([*(float(axis.delta(k)) for k in range(axis.count)), 0.0])[level]
                allowed &= np.array([axis.allows(k) for k in range(axis.count + 1)])[level]
        rows, deltas = rows[allowed], deltas[allowed]
        norm = question.distance
        cost = norm.charged(deltas).total if isinstance(norm, Norm) else deltas.sum(axis=1)
        for place in np.argsort(cost, kind="stable")[:CANDIDATES]:
            point = self._point(question, self.values[rows[place]])
            if point is not None and question.obeys(point):
                yield point

    def points(self, question: Question, wanted: Callable[[NDArray[Any]], NDArray[np.bool_]]) -> Rows:
        """All different rows read so far that the model gives a wanted decision, be they allowed or not.

        Left out are rows that are no point of the axes: a value off a grid, or one that is missing where none may be.
        """
        if self.decisions is None:
            return Rows([], 0)
        values = np.unique(self.values[np.flatnonzero(wanted(self.decisions))], axis=0)
        different = len(values)
        for j, (axis, feature) in enumerate(zip(question.axes, question.space.features, strict=True)):
            gone = np.isnan(values[:, j])
            if isinstance(axis, GridAxis):
                known = ~gone if axis.missing is None else np.ones(len(values), dtype=bool)
            else:
                known = gone if feature.numeric else values[:, j] < axis.count
            values = values[known]
        found = [point for row in values if (point := self._point(question, row)) is not None]
        return Rows(found, different - len(found))

    @staticmethod
    def _point(question: Question, values: NDArray[np.float64]) -> Point | None:
        """The point of a row; None when a value does not lie on the question's grid."""
        point = []
        for axis, value in zip(question.axes, values.tolist(), strict=True):
            if isinstance(axis, LevelAxis):
                point.append(0 if np.isnan(value) else int(value))
                continue
            if np.isnan(value):
                assert axis.missing is not None
                point.append(axis.missing)
                continue
            number = as_written(value) if axis.grid.kind == "step" else exact(value)
            index = index_of(axis, number)
            if index is None:
                return None
            point.append(index)
        return tuple(point)


def numbers_of(space: Space, frame: pd.DataFrame) -> NDArray[np.float64]:
    """A frame as numbers, shape (rows, features): values (missing: NaN), or levels' indices. Raises RowError."""
    values = np.empty((len(frame), len(space.features)))
    for j, cells in enumerate(space.read(frame)):
        values[:, j] = [np.nan if cell is None else nearest(Fraction(cell)) for cell in cells]
    return values
