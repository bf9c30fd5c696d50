"""The menu of one person: which sets of features suffice for the goal, and which provably do not.

In:  a question about a row.
Out: a `Menu`: for every minimal set of features that suffices the nearest change of these alone, with how far each new
     value may move (`mace.explain.safe`); and every maximal set that does not suffice, whatever becomes of it.
Promise: each "suffices" was run through the deployed model, each "nearest" and each "cannot" has a certificate. Where
nothing is `undecided`, every set of features holds one of the ways or lies in one of the others: there are no more.
How: `mace.explain.combinatorics.subsets`; the question about a set is the question itself with all other features held.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from mace.base.bits import members
from mace.base.deadline import now
from mace.base.formats import schema_of
from mace.base.values import for_json
from mace.base.views import view
from mace.errors import GoalError
from mace.explain.answer import Answer
from mace.explain.combinatorics.subsets import Reply, all_subsets
from mace.explain.nearest.assemble import answer_of
from mace.explain.nearest.row_solver import RowSolver
from mace.explain.nearest.search import Searched
from mace.explain.safe import BoxesAround, Safe
from mace.problem.objectives import Priority
from mace.problem.question import Question
from mace.solve.driver import pull_back
from mace.solve.protocol import Limits
from mace.space.axes import GridAxis, Point
from mace.space.space import Space

FOR_SETS, FOR_WAYS = 0.6, 0.7  # of the time that is left: for which sets there are, then for the nearest change of each


@dataclass(frozen=True)
class Way:
    """A minimal set of features that suffices.

    answer: the nearest change of these features alone, with its certificate.
    box:    the largest box around all new values in which the decision stays; None where that was not proved.
    ranges: feature -> the largest range of this one new value, with the others as they are.
    """

    features: tuple[str, ...]
    answer: Answer
    box: Safe | None = None
    ranges: dict[str, Safe] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "features": list(self.features),
            "answer": self.answer.to_dict(),
            "box": None if self.box is None else self.box.to_dict(),
            "ranges": {name: box.to_dict() for name, box in self.ranges.items()},
        }


@dataclass(frozen=True)
class Cannot:
    """A maximal set of features that does not suffice, whatever their values: `answer` has the certificate."""

    features: tuple[str, ...]
    answer: Answer

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"features": list(self.features), "oracle": self.answer.oracle, "seconds": self.answer.seconds}


@dataclass(frozen=True)
class Menu:
    """All ways to the goal of one row, by the features that they change.

    ways:      minimal sets that suffice, the nearest first.
    cannot:    maximal sets that provably do not.
    undecided: sets of which a time limit left open whether they suffice.
    held, free: features that may not change, and those that the sets are made of.
    """

    start: dict[str, Any]
    decision: Any
    wanted: str
    ways: list[Way]
    cannot: list[Cannot]
    undecided: list[tuple[str, ...]]
    held: tuple[str, ...]
    free: tuple[str, ...]
    space: Space
    seconds: float
    why: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether these are all: every set of features holds one of the ways, or lies in one that provably does not."""
        return not self.undecided

    def alone(self, feature: str) -> Way | Cannot | None:
        """What a feature can do alone: the way, the proof that it cannot, or None where that is not known."""
        for way in self.ways:
            if way.features == (feature,):
                return way
        return next((one for one in self.cannot if feature in one.features), None)

    def proofs(self) -> Iterator[Answer]:
        """Every answer that the menu rests on; each has a `certificate`."""
        yield from (way.answer for way in self.ways)
        yield from (one.answer for one in self.cannot)
        for way in self.ways:
            for box in (way.box, *way.ranges.values()):
                yield from () if box is None else box.proved

    def sentences(self) -> list[str]:
        """The menu in sentences, for a letter: `Income alone: from 25,300 to 30,000 EUR a year.`"""
        found: list[str] = view("menu as sentences")(self)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **schema_of("menu"),
            "decision": for_json(self.decision),
            "wanted": self.wanted,
            "complete": self.complete,
            "why": self.why,
            "ways": [way.to_dict() for way in self.ways],
            "cannot": [one.to_dict() for one in self.cannot],
            "undecided": [list(features) for features in self.undecided],
            "held": list(self.held),
            "sentences": self.sentences(),
            "notes": self.notes,
            "seconds": self.seconds,
        }

    def __str__(self) -> str:
        return str(view("menu as text")(self))

    def __repr__(self) -> str:
        counts = f"{len(self.ways)} ways, {len(self.cannot)} sets that cannot"
        return f"Menu({counts}, {'complete' if self.complete else f'{len(self.undecided)} undecided'})"

    def _repr_html_(self) -> str:
        return str(view("menu as HTML")(self))


def menu(solver: RowSolver, priorities: Sequence[Priority], assumed: Sequence[str] = (), *, safe: bool = True) -> Menu:
    """The menu of a row, within the limits of what was asked.

    priorities: by which the nearest change of each set is found.
    assumed:    what was taken for granted of the space.
    safe:       whether to look for the ranges and boxes in which the decision stays.
    """
    began = now()
    made = _Menus(solver, priorities, assumed).made(safe=safe)
    return replace(made, seconds=now() - began)


class _Menus:
    """The search for the menu of one row, and what is known of sets of features by now, as masks over `free`."""

    def __init__(self, solver: RowSolver, priorities: Sequence[Priority], assumed: Sequence[str]) -> None:
        self.solver, self.priorities, self.assumed = solver, priorities, assumed
        question = solver.question
        self.decided = solver.confirmation.decision(question, question.start)
        # A value that the row lacks and must be given always changes; it is in no set.
        self.free = [j for j, axis in enumerate(question.axes) if not axis.fixed and axis.allows(axis.start)]
        self.names = [axis.name for axis in question.axes]
        self.refuted: dict[int, Searched] = {}
        self.points: list[Point] = []
        self.reached: dict[int, Point] = {}  # which features a point with the goal changes -> the point
        self.why = ""

    def made(self, *, safe: bool) -> Menu:
        """The sets, then the nearest change of each that suffices, then how far its values may move."""
        question, whole = self.solver.question, self.solver.limits
        limits = replace(whole, deadline=whole.deadline.share(FOR_SETS))
        sets = all_subsets(len(self.free), lambda mask: self._suffices(mask, limits))
        limits = replace(whole, deadline=whole.deadline.share(FOR_WAYS))
        ways = [self._way(mask, limits) for mask in sets.minimal]
        ways.sort(key=lambda way: (way.answer.exact_distance or Fraction(0), way.features))
        self.solver.settle(self.points)
        notes: list[str] = []
        if safe:
            ways = [self._with_boxes(way, whole, notes) for way in ways]
        cannot = [Cannot(self._called(mask), self._answer(self.refuted[mask])) for mask in sets.maximal]
        return Menu(
            start=question.values(question.start),
            decision=self.decided,
            wanted=question.goal.named(question.space.called),
            ways=ways,
            cannot=sorted(cannot, key=lambda one: (-len(one.features), one.features)),
            undecided=sorted({self._called(mask) for mask in sets.undecided}),
            held=tuple(name for j, name in enumerate(self.names) if question.axes[j].fixed),
            free=tuple(self.names[j] for j in self.free),
            space=question.space,
            seconds=0.0,
            why=self.why if sets.undecided else "",
            notes=[*dict.fromkeys(notes), *self.assumed],
        )

    def _called(self, mask: int) -> tuple[str, ...]:
        return tuple(self.names[self.free[place]] for place in members(mask))

    def _held(self, mask: int) -> Question:
        """The question in which only these features may change."""
        question, may = self.solver.question, {self.free[place] for place in members(mask)}
        axes = tuple(
            axis
            if j in may or j not in self.free
            else replace(axis, lower=axis.start, upper=axis.start)
            if isinstance(axis, GridAxis)
            else replace(axis, allowed=1 << axis.start)
            for j, axis in enumerate(question.axes)
        )
        return replace(question, axes=axes)

    def _suffices(self, mask: int, limits: Limits) -> Reply:
        """Whether any change of these features alone reaches the goal, and which of them one that does changes."""
        question, confirmation = self._held(mask), self.solver.confirmation
        if limits.deadline.over:
            self.why = limits.deadline.why
            return Reply(suffices=None)
        found = replace(self.solver.search, gap=0, rgap=1).nearest(question, confirmation, limits)
        bracket = found.bracket
        if bracket.point is None:
            self.refuted[mask] = found
            self.why = self.why or bracket.why
            return Reply(suffices=False if bracket.status == "infeasible" else None)
        point = pull_back(question, bracket.point, lambda at: confirmation.confirms(question, at), limits.deadline)
        changed = sum(1 << place for place, j in enumerate(self.free) if point[j] != question.axes[j].start)
        self.reached[changed] = point
        return Reply(suffices=True, part=changed)

    def _way(self, mask: int, limits: Limits) -> Way:
        """The nearest change of these features alone."""
        began = now()
        known = next((point for changed, point in self.reached.items() if not changed & ~mask), None)
        found = self.solver.solve_within(self._held(mask), self.priorities, limits, known)
        if found.bracket.point is not None:
            self.points.append(found.bracket.point)
        answer = self._answer(found)
        return Way(self._called(mask), replace(answer, seconds=now() - began))

    def _answer(self, found: Searched) -> Answer:
        return answer_of(self.solver.question, self.decided, [found], 1, self.solver.search.judge)

    def _with_boxes(self, way: Way, limits: Limits, notes: list[str]) -> Way:
        point = way.answer.witness
        if point is None or limits.deadline.over:
            return way
        try:
            around = BoxesAround(self.solver.question, point, self.solver.search, limits)
        except GoalError as error:
            notes.append(error.message)
            return way
        places = [self.names.index(name) for name in way.features if name in way.answer.counterfactuals[0].changes]
        if not places:
            return way
        box = around.box(places)
        if len(places) == 1:
            return way if box is None else replace(way, box=box, ranges={self.names[places[0]]: box})
        ranges = {self.names[j]: around.box([j]) for j in places}
        return replace(way, box=box, ranges={name: one for name, one in ranges.items() if one is not None})
