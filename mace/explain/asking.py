"""Queries the deployed model about the points of one answer, as seldom as its promise allows.

In:  a `Judge`, a question.
Out: `Asking`, called with a point: whether the deployed model has the goal there.
Promise: no point leaves an answer that the deployed model was not asked about. Where rounding may decide, it is asked
about that row alone, at once. Where no rounding can (`Question.has_goal` is true or false), what is true of the point
is known, and the model confirms it before the answer is returned: all such points of the answer in one call
(`settle`), which raises ModelError where the model says something else.
"""

from __future__ import annotations

from collections.abc import Iterable

from mace.explain.judge import Judge
from mace.problem.question import Question
from mace.space.axes import Point
from mace.tables.decide import class_of
from mace.tables.table import Formula, Label


class Asking:
    """What the deployed model says of points of one answer's questions; each is asked about once."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self._said: dict[Point, bool] = {}  # whether a point has the goal
        self._confirmed: set[Point] = set()  # points of which the model itself has said so
        self._decisions: dict[Point, Label] = {}  # what the model decides
        self._expected: dict[Point, Label] = {}  # classes that no rounding changes

    def decision(self, draft: Question, point: Point) -> Label:
        """The decision on a point: a class that no rounding changes, or what the model says of the row alone."""
        table = self.judge.table
        if not isinstance(table, Formula) and table.classes:
            index = class_of(table, draft.row(point))
            if index is not None:
                self._expected[point] = table.classes[index]
                return table.classes[index]
        self._decisions[point] = self.judge.decide(draft, point)
        return self._decisions[point]

    def confirms(self, question: Question, point: Point) -> bool:
        """Whether the model has the goal at a point; raises ModelError where its numbers contradict it."""
        if point not in self._said:
            known = None
            goal = question.goal
            if goal.wanted is not None and not goal.enclosed and not isinstance(question.model, Formula):
                known = question.has_goal(point)
            if known is None:
                return self.ask(question, point)
            self._said[point] = known
        return self._said[point]

    def ask(self, question: Question, point: Point) -> bool:
        """The same, asked of the model at once, about the row alone."""
        if point not in self._confirmed:
            self._said[point] = self.judge.confirms(question, point)
            self._confirmed.add(point)
        return self._said[point]

    def settle(self, question: Question, points: Iterable[Point]) -> None:
        """Ask about the points of an answer that were not asked about; raises ModelError, RowError."""
        points = list(dict.fromkeys(points))
        known = self._decisions.keys() | (self._confirmed - self._expected.keys())
        open_ = [point for point in points if point not in known]
        self._decisions |= zip(open_, self.judge.decide_all(question, open_), strict=True)
        for point in points:
            if point not in self._decisions:
                continue
            said, unlike = self._decisions[point], False
            if point in self._expected:
                unlike = said != self._expected[point]
            if point in self._said and point not in self._confirmed:
                unlike = unlike or self.judge.has(question, said) != self._said[point]
            if unlike:
                raise self.judge.contradiction(question, point, said)

    def decided(self, point: Point) -> Label:
        """The model's decision on a point that `settle`, or `decision`, asked about."""
        return self._decisions[point]
