"""Models that are only asked: the best point that a search finds, and what asking about every point proves.

In:  a function, an object with `predict` that no reader takes, or a `BlackBox`; a space, a row, a goal.
Out: an `Answer`, as for a model that is read, with lower bound 0 and the words that nothing is proved. Where the space
     is finite and small, every point is asked about, the nearest first: then the answer is optimal or infeasible, and
     rests on the model answering each point as it did.
Promise: no row is asked about twice but those of the answer, once more at the end: a model that says something else
then is said to, and proves nothing. No more rows than `max_calls` are asked about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mace.base.arguments import checked, is_frame
from mace.base.deadline import Deadline, TimeOverError, now
from mace.base.escape import short
from mace.base.values import plain
from mace.compilers.pipeline.rows import frame_of, in_order, markers_of
from mace.compilers.pipeline.steps import is_pipeline
from mace.compilers.registry import names_known, types_asked
from mace.errors import MaceError, ModelError
from mace.explain.answer import UNREAD, Answer, Counterfactual, counterfactual_at
from mace.explain.proposing.task import places_of
from mace.explain.proved.level import Level
from mace.explain.reading import own_frame
from mace.explain.reading.frames import answers_of
from mace.explain.reading.settings import GoalSpec
from mace.explain.unread import words
from mace.explain.unread.aim import aim_of
from mace.explain.unread.enclosed import BOXES, NEAR, Boxes, about_probabilities, agrees, enclosure_of, takes
from mace.explain.unread.enclosed import Said as BoxesSaid
from mace.problem.another import exclusion, no_other
from mace.problem.around import Neighbourhood
from mace.problem.missing import settled
from mace.problem.objectives import DistanceSpec, read_distance
from mace.problem.programs import rules_of
from mace.search.aims import Aim, GoalAim, Targets
from mace.search.asked import AskedModel, ExhaustedError, Said, calls_asked
from mace.search.blackbox import Calls, black_box
from mace.search.chart import Chart, Floats
from mace.search.enumeration import MOST, Enumerated, enumerate_points, points_of
from mace.search.protocol import Effort, Proposal, Proposer, Run, Task
from mace.search.registry import ProposerSpec, proposer_of
from mace.search.score import Score
from mace.search.tabu import Tabu
from mace.solve.driver import Bracket, OracleCall
from mace.solve.protocol import NEARLY, Gap
from mace.solve.status import Status, is_final
from mace.space.axes import Point
from mace.space.space import Space
from mace.tables.table import Label

if TYPE_CHECKING:
    import pandas as pd

    from mace.compilers.enclosures.reader import Enclosure

AGAIN = 2  # rows of an answer that are asked about once more: the start and the counterfactual
DIFFERENTLY = "the model answered the same point differently when it was asked once more"
SAME = 1e-9  # by how much a model may miss a goal by more or less in another batch
FEWEST = 10  # calls from which on these are put aside
ASKED = "asked about "
COUNTED = (BOXES, ASKED)  # how notes begin that count what was done for one answer: the first one's is shown
FIRST_BOXES = 2000  # that are bounded before a search


class Unread:
    """A model that is only asked, a space, rules, a distance and background rows; `explain` answers for a row."""

    @checked
    def __init__(
        self,
        model: object,
        space: Space,
        *,
        background: pd.DataFrame | None = None,
        rules: Sequence[str | Path] = (),
        distance: DistanceSpec = "l1",
        weights: Mapping[str, object] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """notes: what an answer says first, for instance why the model is only asked."""
        self.box, self.model = black_box(model, space), model
        self.space, self.notes = space, (*notes, *space.names_of_none(self.box.classes))
        if isinstance(rules, (str, Path)):
            rules = [rules]
        self.rules = rules_of(space, rules)
        self.distance = read_distance(distance, space, weights)
        self._frame = background
        if background is not None and is_pipeline(model):
            own_frame.check(model, background, self._given, array=self.box.given == "array", within=None)

    def __repr__(self) -> str:
        return f"Explainer({type(self.model).__name__}, only asked, {self.space!r}, {self.distance.name})"

    def _given(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows of the space as the model is given them."""
        names = names_known(self.model)
        if self.box.given != "frame":
            return self.space.encode(rows)[[column.name for column in in_order(self.space.columns, names)]]
        held = [self.space.row(row) for row in rows.to_dict("records")]
        types = types_asked(self.model, self.space)
        return frame_of(self.space, held, names, markers_of(self.model), types)

    @cached_property
    def enclosure(self) -> Enclosure | None:
        """What bounds the model over boxes; None for one that nothing is known of."""
        return enclosure_of(self.model, self.box, self.space)

    @cached_property
    def numbers(self) -> NDArray[np.float64] | None:
        """The background rows as numbers; None without any."""
        return None if self._frame is None else self.space.numbers(self._frame)

    @checked
    def explain(
        self, x: object, *,
        goal: GoalSpec = None, count: int = 1, together: bool = False, diversity: object = "features",
        most_changes: int | None = None, oracle: str = "auto", timeout: float | Deadline | None = 60.0,
        callback: Callable[[Bracket], None] | None = None, proposer: ProposerSpec | None = None, random_state: int = 0,
        max_calls: int | None = None, constrained: Sequence[str] = (), confidence: float | None = None,
        gap: object = None, rgap: object = None, memory_mb: int | None = None, n_jobs: int | None = 1,  # noqa: ARG002
    ) -> Any:  # fmt: skip
        """The answer for a row; for a frame a list of answers. The arguments are those of `mace.explain`.

        Raises MaceError for what needs a model that is read, and as `mace.explain`.
        """
        if oracle not in ("auto", "search"):
            why = self.notes[0] if self.notes else "this one is only asked"
            raise MaceError(f"the oracle {short(oracle)} needs a model that is read: {why}")
        if together:
            raise MaceError(
                "answers that are found together need a model that is read",
                hint="Without together=True they are found one after the other.",
            )
        if not isinstance(count, int) or count < 1:
            raise MaceError(f"count must be a whole number >= 1, got {short(count)}")
        if most_changes is not None and (not isinstance(most_changes, int) or most_changes < 0):
            raise MaceError(f"most_changes must be a whole number >= 0, got {short(most_changes)}")
        chosen, most = proposer_of("tabu" if proposer is None else proposer), calls_asked(max_calls)
        named = places_of(constrained, self.space)
        near = Gap.usual(self.distance, NEARLY, NEAR) if gap is None and rgap is None else Gap.asked(gap, rgap)

        def answer(row: object) -> Answer:
            began, deadline = now(), Deadline.asked(timeout)
            around = self._around(row, most_changes)
            calls = Calls(self.box, Chart(around), deadline)
            search = _Search(self, around, calls, chosen, random_state, most, deadline, named, callback, near)
            made = search.answer(goal, confidence, count, diversity)
            return replace(made, seconds=now() - began, timeout=deadline.seconds)

        return answers_of(self.space, x, answer) if is_frame(x) else answer(x)

    def _around(self, row: object, most_changes: int | None) -> Neighbourhood:
        """The points around a row."""
        axes = settled(self.space, self.space.axes(row), self.rules, self.distance, None)
        rules = tuple(rule.at(axes) for rule in self.rules)
        most = None if most_changes is None else min(most_changes, len(axes))
        return Neighbourhood(self.space, axes, self.distance, rules, most_changes=most)


@dataclass
class _Found:
    """One answer on its way: a point, what is proved of it, and why no more is."""

    point: Point | None
    status: Status
    lower: Fraction
    why: str
    score: Score | None = None
    missed: Proposal | None = None  # the point that comes nearest to a goal that was not reached
    note: str = ""


@dataclass
class _Search:
    """The search of one row."""

    unread: Unread
    around: Neighbourhood
    calls: Calls
    proposer: Proposer
    random_state: int
    most: int | None
    deadline: Deadline
    constrained: frozenset[int]
    callback: Callable[[Bracket], None] | None
    gap: Gap
    trace: list[OracleCall] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what leaves the answers in doubt
    unused: str = ""  # why bounds over boxes are not used
    spent: int = 0  # rows asked about beside the search
    levelled: bool = False  # whether an answer shows the levels of its score

    def answer(self, goal: GoalSpec, confidence: float | None, count: int, diversity: object) -> Answer:
        """The whole answer."""
        start = self.calls.chart.snap(self.calls.chart.start)
        try:
            said = self.calls.answers(start)
        except ExhaustedError as error:
            raise ModelError(f"the {self.unread.box.name} cannot be asked: {error}") from error
        self.calls.remember(start[0], said)
        decision = said[0].tolist() if said.ndim > 1 else plain(said[0])
        aim, text = aim_of(self.unread.box, self.unread.space, goal, decision, confidence, self._observed)
        self.levelled = isinstance(goal, Targets) or confidence is not None or bool(self.constrained)
        asked = self._asked(aim)
        asked.about(start)
        found: list[_Found] = []
        around = self.around
        while len(found) < count:
            found.append(self._one(around, aim, asked))
            point = found[-1].point
            if point is None or point == around.start:
                break
            around = around.away(exclusion(around, point, diversity))
        named = aim.wanted.named(self.around.space.called) if isinstance(aim, GoalAim) else text
        ending = found[-1].why or found[-1].status
        if found[-1].status == "infeasible":
            ending = no_other(around.avoid)
        return replace(self._made(found, count, ending, text, decision, asked.calls + self.spent), named=named)

    def _observed(self) -> set[Label]:
        """The classes of some background rows."""
        numbers = self.unread.numbers
        room = 50 if self.most is None else min(50, self.most // 4)
        if numbers is None or not room:
            return set()
        rows = self.calls.chart.taken(numbers[:room])
        self.spent += len(rows)
        return {plain(label) for label in self.calls.answers(rows)}

    def _asked(self, aim: Aim) -> AskedModel:
        """The model, with as many calls left as are not put aside."""
        aside = self.spent + (AGAIN if self.most is not None and self.most >= FEWEST else 0)

        def ask(rows: Floats) -> Said:
            return aim.said(self.calls, rows)

        return AskedModel(ask, self.most, self.deadline, self.unread.box.batch, aside)

    # ------------------------------------------------------------------------------------------ one answer

    def _one(self, around: Neighbourhood, aim: Aim, asked: AskedModel) -> _Found:
        """One answer: by asking about all points where they are few, else by the proposer."""
        task = Task(around, asked, self.unread.numbers, self.constrained)
        movable = bool(task.chart.free.any())
        # A proposer need not take a question in which nothing may change; the row alone settles that.
        proposer = self.proposer if movable else Tabu()
        run = Run(proposer, task, self.random_state, Effort(None, self.deadline))
        room = MOST if asked.most is None else min(MOST, asked.most)
        if points_of(task) <= room:
            return self._proved(enumerate_points(run), aim, task)
        boxes = self._boxes(run, aim)
        if boxes is None:
            return self._proposed(run, aim, asked)
        found = self._bounded(boxes.bounded(self.deadline.share(0.5), FIRST_BOXES), aim, asked)
        if is_final(found.status):
            return found
        # What a search finds first spares the boxes that are farther; it has more time where bounds say little.
        little = found.point is None or 4 * found.lower < around.distance_of(found.point)
        first = replace(run.effort, deadline=self.deadline.share(0.6 if little else 0.25))
        near = self._proposed(Run(proposer, task, self.random_state, first), aim, asked, found)
        done = self._bounded(boxes.bounded(self.deadline, None, near.point), aim, asked)
        return replace(near, lower=done.lower, note=done.note) if done.point is None and near.point else done

    def _proposed(self, run: Run, aim: Aim, asked: AskedModel, known: _Found | None = None) -> _Found:
        """The best that a proposer finds; known: what is known already."""
        lower, note = (Fraction(0), "") if known is None else (known.lower, known.note)
        trace = []
        for one in run:
            trace.append(one)
            if one.score.valid:
                self._progress(one.distance, min(lower, one.distance), one.point, one.seconds)
        valid = [one for one in trace if one.score.valid]
        why = run.why or "the search came to its own end"
        if known is not None and known.point is not None:
            far = self.around.distance_of(known.point)
            if not (valid and valid[-1].distance < far):
                return known
        for one in reversed(valid):
            if self._again(one.point, aim, asked):
                done = one.distance <= lower
                least = min(lower, one.distance)
                return _Found(
                    one.point, "optimal" if done else "bounded", least, "" if done else why, one.score, note=note
                )
        return _Found(None, "unknown", lower, why, missed=trace[-1] if trace else None, note=note)

    def _boxes(self, run: Run, aim: Aim) -> Boxes | None:
        """The search over boxes; None where nothing is bounded."""
        enclosure = self.unread.enclosure
        if enclosure is None or self.most is not None or not takes(run.task, aim, enclosure):
            return None
        try:
            agreed = agrees(enclosure, self.calls, self.deadline.share(0.5), likely=about_probabilities(aim))
        except TimeOverError as over:
            self.unused = f"the bounds of {enclosure.model.name} are not used: {over}"
            return None
        if not agreed:
            self.unused = f"the bounds of {enclosure.model.name} are not used: the model says something else"
            return None
        return Boxes(run, aim, enclosure, self.gap)

    def _bounded(self, said: BoxesSaid, aim: Aim, asked: AskedModel) -> _Found:
        """What bounds over boxes prove."""
        if said.point is not None and not self._again(said.point, aim, asked):
            return _Found(None, "unknown", Fraction(0), DIFFERENTLY)
        if self.notes:
            return _Found(said.point, "bounded" if said.point else "unknown", Fraction(0), self.notes[-1])
        if said.point is not None:
            self._progress(self.around.distance_of(said.point), said.lower, said.point, 0.0)
        return _Found(said.point, said.status, said.lower, said.why, note=said.note)

    def _proved(self, found: Enumerated, aim: Aim, task: Task) -> _Found:
        """What asking about all points proves; nothing where the model says something else now."""
        asked = task.asked
        if found.point is not None and not self._again(found.point, aim, asked):
            return _Found(None, "unknown", Fraction(0), DIFFERENTLY)
        if self.notes:
            upper = found.point
            return _Found(upper, "bounded" if upper else "unknown", Fraction(0), self.notes[-1])
        if found.lower is None:
            note = f"{ASKED}all {found.allowed} allowed points; this rests on the model answering as it did"
            return _Found(None, "infeasible", Fraction(0), "", missed=found.missed, note=note)
        note = (
            f"{ASKED}{found.asked} of {found.allowed} allowed points, the nearest first; this rests on the model "
            "answering as it did"
        )
        if found.point is None:
            return _Found(None, "unknown", found.lower, found.why, missed=found.missed, note=note)
        upper_bound = task.place.distance_of(found.point)
        self._progress(upper_bound, found.lower, found.point, 0.0)
        status: Status = "optimal" if found.lower == upper_bound else "bounded"
        return _Found(found.point, status, found.lower, found.why, found.score, note=note)

    def _again(self, point: Point, aim: Aim, asked: AskedModel) -> bool:
        """Ask about the start and a point once more; whether the point still has the goal."""
        rows = np.array([self.calls.chart.row(self.around.start), self.calls.chart.row(point)])
        if self.most is not None and asked.calls + self.spent + len(rows) > self.most:
            return True
        before = asked.about(rows)
        self.calls.remember(rows[0], None)
        try:
            now = aim.said(self.calls, rows)
        except ExhaustedError as error:
            self.notes.append(f"the counterfactual could not be asked about once more: {error}")
            return True
        self.spent += len(rows)
        # How far a goal is missed may be a difference of probabilities, whose last bits change from batch to batch.
        same = ((now.missed == 0) == (before.missed == 0)) & np.isclose(now.missed, before.missed, rtol=SAME, atol=SAME)
        if same.all() and (now.doubts == before.doubts).all():
            return True
        if DIFFERENTLY not in self.notes:
            self.notes.append(DIFFERENTLY)
        return bool(now.missed[1] == 0 and now.doubts[1] == 0)

    def _progress(self, upper: Fraction, lower: Fraction, point: Point, seconds: float) -> None:
        """Keep an improvement, and tell the caller."""
        self.trace.append(OracleCall(None, "proposed", seconds, lower, upper))
        if self.callback is not None:
            self.callback(Bracket(lower, upper, point, "bounded", UNREAD, trace=list(self.trace)))

    # ------------------------------------------------------------------------------------------ the answer

    def _levels(self, found: _Found) -> list[Level]:
        """The levels of an answer's score, or of what comes nearest to the goal; none where only distances count."""
        score = found.score or (found.missed.score if found.missed else None)
        point = found.point or (found.missed.point if found.missed else self.around.start)
        # Points that are not valid were compared by distances of nine digits: beyond those nothing is proved of them.
        proved = 0 if not is_final(found.status) else len(words.LEVELS) if found.point else words.VALID
        return words.levels(score, self.around.distance_of(point), proved) if self.levelled else []

    def _made(self, found: Sequence[_Found], count: int, ending: str, text: str, decision: Any, calls: int) -> Answer:
        """What was found, as an answer; where it is less than `count`, `ending` says why."""
        first, around = found[0], self.around
        shown: list[Counterfactual] = []
        for one in found:
            if one.point is not None:
                upper = around.distance_of(one.point)
                shown.append(counterfactual_at(around, one.point, upper, one.lower, one.status))
        notes = ["the row has the goal already"] if first.point == around.start else []
        notes += self.unread.notes
        notes += dict.fromkeys(n for one in found if (n := one.note) and (one is first or not n.startswith(COUNTED)))
        if shown and len(shown) < count and first.point != around.start:
            notes.append(f"{len(shown)} of {count} answers found ({ending})")
        missed = first.missed
        if missed is not None and not shown and (self.levelled or missed.point != around.start):
            notes.append(words.nearest_miss(around, missed))
        if self.calls.failed:
            notes.append(f"{self.calls.failed} calls failed on the way and were made again")
        return Answer(
            status=first.status,
            counterfactuals=shown,
            exact_lower_bound=first.lower,
            exact_distance=None if first.point is None else around.distance_of(first.point),
            start=around.values(around.start),
            goal=text,
            distance_name=around.distance.name,
            oracle=words.oracle(first.note, self.proposer.name),
            why=first.why,
            seconds=0.0,
            trace=self.trace,
            space=around.space,
            decision=decision,
            notes=[*notes, *filter(None, [self.unused]), *self.notes],
            levels=self._levels(first),
            calls=calls,
            unproved="the model is only asked",
        )
