"""Confirms the points of one answer with the deployed model, which is asked as seldom as the promise allows.

In:  a `Judge`, a question.
Out: `Confirmation`, which says of a point whether the deployed model has the goal there.
Promise: no point leaves an answer that the deployed model was not asked about. Where rounding may decide, it is asked
about that row alone, at once. Where no rounding can (`Question.has_goal` is true or false), what is true of the point
is known, and the model confirms it before the answer is returned: all such points of the answer in one call
(`settle`), which raises ModelError where the model says something else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

from mace.errors import MaceError
from mace.explain.deployed.judge import Judge
from mace.problem.goals import Classes
from mace.problem.question import Question
from mace.space.axes import Point
from mace.tables.decide import class_of
from mace.tables.table import Formula, Label


class Confirmation:
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
            known = self._known(question, point)
            if known is None:
                return self.ask(question, point)
            self._said[point] = known
        return self._said[point]

    def _known(self, question: Question, point: Point) -> bool | None:
        """Whether a point has the goal, where no rounding changes it; None where the model is to be asked."""
        goal, table = question.goal, self.judge.table
        if goal.wanted is None or isinstance(question.model, Formula) or isinstance(table, Formula):
            return None
        if not goal.enclosed:
            return question.has_goal(point)
        if not isinstance(goal.wanted, Classes):
            return None
        index = class_of(table, question.row(point))
        return None if index is None else table.classes[index] in goal.labels

    def ask(self, question: Question, point: Point) -> bool:
        """The same, asked of the model at once, about the row alone."""
        if point not in self._confirmed:
            self._said[point] = self.judge.confirms(question, point)
            self._confirmed.add(point)
        return self._said[point]

    def settle(self, question: Question, points: Iterable[Point], later: Unsettled | None = None) -> None:
        """Ask about the points of an answer that were not asked about, or let `later`; raises ModelError, RowError."""
        points = list(dict.fromkeys(points))
        if later is not None:
            later.add(self, question, points)
            return
        open_ = self.open(points)
        self.hear(question, points, dict(zip(open_, self.judge.decide_all(question, open_), strict=True)))

    def open(self, points: Iterable[Point]) -> list[Point]:
        """The points that the model was not asked about."""
        known = self._decisions.keys() | (self._confirmed - self._expected.keys())
        return [point for point in dict.fromkeys(points) if point not in known]

    def hear(self, question: Question, points: Iterable[Point], said_of: Mapping[Point, Label]) -> None:
        """Take in what the model decides on open points of an answer; raises ModelError where that contradicts it."""
        self._decisions |= said_of
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
        """The model's decision on a point that `settle`, or `decision`, asked about; or is to be asked about."""
        return self._decisions[point] if point in self._decisions else self._expected[point]


class Unsettled:
    """Answers whose points the deployed model is asked about together: nobody may see one before `settle` has.

    A call of `predict` takes far longer than each of its rows.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[Confirmation, Question, list[Point]]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, confirmation: Confirmation, question: Question, points: list[Point]) -> None:
        """Ask about these points, all different, of an answer later: what no rounding changes is known."""
        self._waiting.append((confirmation, question, points))

    def settle(self) -> list[Label | MaceError]:
        """Ask about the points of all answers: in their order the decision on the first point, or why there is none."""
        said: dict[int, dict[Point, Label]] = {}
        for judge in {id(confirmation.judge): confirmation.judge for confirmation, _, _ in self._waiting}.values():
            places = [k for k, (confirmation, _, _) in enumerate(self._waiting) if confirmation.judge is judge]
            asked = [(k, point) for k in places for point in self._waiting[k][0].open(self._waiting[k][2])]
            with suppress(MaceError):  # then each answer is asked about alone, to know which one it is
                found = judge.decide_each([(self._waiting[k][1], point) for k, point in asked])
                said |= {k: {} for k in places}
                for (k, point), label in zip(asked, found, strict=True):
                    said[k][point] = label
        settled = [self._settled(*one, said.get(k)) for k, one in enumerate(self._waiting)]
        self._waiting = []
        return settled

    @staticmethod
    def _settled(
        confirmation: Confirmation, question: Question, points: list[Point], said: dict[Point, Label] | None
    ) -> Label | MaceError:
        """The decision on the first point; or the error, where the model does not confirm the answer."""
        try:
            if said is None:
                confirmation.settle(question, points)
            else:
                confirmation.hear(question, points, said)
        except MaceError as error:
            return error
        return confirmation.decided(points[0])
