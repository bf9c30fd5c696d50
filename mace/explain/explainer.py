"""The main job: the nearest counterfactuals of a row, with a proved lower bound.

In:  a trained model (or a core-language program), a space, a row, a goal.
Out: an `Answer`; every counterfactual in it was run through the deployed model's own `predict`.
Promise: same input, same answer, in every process. What cannot be compiled, read or allowed raises a `MaceError`;
what cannot be decided in the time given is the answer `bounded` or `unknown`.

`explain` does it all for one row; an `Explainer` reads the model and the background rows once, for many rows.
Source: Karimi et al. 2020, sections 3 and 4.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.deadline import Deadline
from mace.base.escape import short
from mace.base.exact import as_written, nearest
from mace.certify.recheck import recheck
from mace.certify.writer import certifiable
from mace.errors import MaceError, ModelError, NumberError
from mace.explain.answer import LONG_PROOF, Answer, Counterfactual
from mace.explain.judge import Judge, of_probability
from mace.problem import missing
from mace.problem.distance import Distance, DistanceProgram, norm
from mace.problem.exclusions import Avoid, AvoidBox, AvoidChanges, AvoidNear, AvoidPoint
from mace.problem.goal_decision import lower
from mace.problem.goal_text import wanted
from mace.problem.goals import Classes, Margin, Wanted
from mace.problem.programs import Rule, distance_program, model_program, rule_of
from mace.problem.proof import Leaf
from mace.problem.question import Goal, Question
from mace.solve.background import Background
from mace.solve.choice import choose
from mace.solve.driver import Bracket, bracket_optimum, pull_back
from mace.solve.protocol import Gap, Limits, Oracle, memory_asked
from mace.space.axes import Point
from mace.space.columns import usable_axes
from mace.space.space import Space
from mace.tables.table import Formula, Label, Network, Table

if TYPE_CHECKING:
    import pandas as pd

    from mace.compilers.pipeline.reader import CompiledPipeline

GoalSpec = Label | Iterable[Label] | Wanted | None
DistanceSpec = str | Mapping[str, object] | Path
HEAD_START = 0.3  # of the time allowed, for a first upper bound
IN_DOUBT = "rounding leaves in doubt"
MOST_ANSWERS = 1_000_000


class Explainer:
    """A model, a space, rules, a distance and background rows, read once; `explain` answers for one row."""

    def __init__(
        self,
        model: object,
        space: Space,
        *,
        background: pd.DataFrame | None = None,
        rules: Sequence[str | Path] = (),
        distance: DistanceSpec = "l1",
        weights: Mapping[str, object] | None = None,
    ) -> None:
        if not isinstance(space, Space):
            raise ModelError(
                f"the second argument must be a mace.Space, got {type(space).__name__}",
                hint="For instance mace.Space.from_frame(X).",
            )
        self.model = model
        self._read(space)
        if isinstance(rules, (str, Path)):
            rules = [rules]
        self.rules: tuple[Rule, ...] = tuple(rule_of(rule, space) for rule in (*space.rules, *rules))
        self.distance = read_distance(distance, space, weights)
        self._frame = background

    def _read(self, space: Space) -> None:
        """Read the model over a space."""
        self.space = space
        self.pipeline = read_pipeline(self.model, space)
        if self.pipeline is None:
            table = read_model(self.model, space)
            self.pipeline = read_encoded(self.model, table, space)
        self.table = table if self.pipeline is None else self.pipeline.table

    @cached_property
    def filling(self) -> Explainer:
        """The same, with the model read for a space in which every missing value may be given."""
        _ = self.background  # before the copy, so that both have it
        made = copy.copy(self)
        made.__dict__.pop("judge", None)
        made._read(self.space.filling())
        return made

    @cached_property
    def judge(self) -> Judge:
        """Queries the deployed model."""
        return Judge(self.model, self.table, self.space, self.pipeline)

    @cached_property
    def background(self) -> Background | None:
        """The background rows with the model's decision on each; read by whoever needs them."""
        if self._frame is None or isinstance(self.table, Formula):
            return None
        return Background(self.space, self._frame, self.decisions)

    @cached_property
    def probable(self) -> Background | None:
        """The background rows with the model's probabilities for each; read by whoever needs them."""
        if self._frame is None or isinstance(self.table, Formula):
            return None
        own = self.judge
        return Background(self.space, self._frame, lambda rows: own.says(own.frame(rows), probabilities=True))

    def decisions(self, frame: pd.DataFrame) -> NDArray[Any]:
        """The deployed model's own decisions for rows of the space; shape (rows,)."""
        return self.judge.says(self.judge.frame(frame))

    def decide(self, question: Question, point: Point) -> Label:
        """The deployed model's decision for a point."""
        return self.judge.decide(question, point)

    def question(self, x: object, goal: GoalSpec = None, most_changes: int | None = None) -> tuple[Question, Label]:
        """The question about one row, and the decision that the model takes on it now.

        Raises RowError, GoalError, and ModelError where model and space do not fit together.
        """
        axes = self.space.axes(x)
        inputs = None if self.pipeline is None else self.pipeline.columns
        if not isinstance(self.table, Formula):
            axes = usable_axes(inputs or self.space.columns, axes)
        axes = missing.settled(self.space, axes, self.rules, self.distance, self.table)
        if most_changes is not None and (not isinstance(most_changes, int) or most_changes < 0):
            raise MaceError(f"most_changes must be a whole number >= 0, got {short(most_changes)}")
        draft = Question(
            self.space,
            axes,
            self.table,
            Goal("", frozenset(), ()),
            self.distance,
            tuple(rule.at(axes) for rule in self.rules),
            most_changes=None if most_changes is None else min(most_changes, len(axes)),
            inputs=inputs,
        )
        decision = self.decide(draft, draft.start)
        asked, table = lower(wanted(goal, self.table.classes, decision), self.table)
        return replace(draft, goal=asked, model=table), decision

    def explain(
        self,
        x: object,
        *,
        goal: GoalSpec = None,
        gap: object = None,
        rgap: object = None,
        count: int = 1,
        diversity: object = "features",
        most_changes: int | None = None,
        oracle: str = "auto",
        timeout: float | Deadline | None = 60.0,
        memory_mb: int | None = 4096,
        callback: Callable[[Bracket], None] | None = None,
    ) -> Answer:
        """The answer for one row; arguments as in `mace.explain`. A `Deadline` that runs already holds for all answers.

        The provers' code is compiled before the clock of a number of seconds begins.
        """
        if not isinstance(count, int) or not 1 <= count <= MOST_ANSWERS:
            raise MaceError(f"count must be a whole number from 1 to {MOST_ANSWERS:,}, got {short(count)}")
        allowed = memory_asked(memory_mb)
        deadline = Deadline.asked(timeout).later(self.ready(oracle))  # the first answer's includes making the question
        began = time.perf_counter()
        question, decision = self.question(x, goal, most_changes)
        room = None if allowed is None else allowed * 2**20
        found: list[_Found] = []
        asked = question
        while len(found) < count:
            limits = Limits(Deadline.asked(timeout) if found else deadline, room)
            found.append(self._one(asked, oracle, gap, rgap, limits, callback))
            bracket = found[-1].bracket
            if bracket.point is None or bracket.point == question.start:
                break
            asked = asked.away(_exclusion(asked, bracket.point, diversity))
        answer = self._answer(question, decision, found, count)
        return replace(answer, seconds=time.perf_counter() - began, timeout=deadline.seconds)

    def ready(self, oracle: str = "auto") -> float:
        """Compile what the provers of this model need, or read it from disk, once a process; the seconds it took."""
        if oracle not in ("auto", "ensembles", "networks") or isinstance(self.distance, DistanceProgram):
            return 0.0  # solvers are processes of their own
        from mace.solve.warm import warm

        return warm(self.table)

    def _one(
        self,
        question: Question,
        oracle_name: str,
        gap: object,
        rgap: object,
        limits: Limits,
        callback: Callable[[Bracket], None] | None,
    ) -> _Found:
        """One answer of an oracle."""
        said: dict[Point, bool] = {}

        def confirm(point: Point) -> bool:
            if point not in said:
                said[point] = self.judge.confirms(question, point)
            return said[point]

        if question.obeys(question.start) and confirm(question.start):
            done = Bracket(Fraction(0), Fraction(0), question.start, "optimal", proof=[Leaf("distance")])
            return _Found(done, question, "none (the row has the goal already)", "")
        oracle, note = choose(question, oracle_name)
        try:
            best = self._first(question, oracle, confirm, limits.deadline.share(HEAD_START))
            bracket = bracket_optimum(
                question,
                oracle,
                confirm,
                gap=_gap(gap, rgap, oracle),
                limits=limits,
                best=best,
                watch=callback or (lambda _: None),
            )
        finally:
            oracle.close()
        answered = question
        for avoid in bracket.refused:
            answered = answered.away(avoid)
        recheck(bracket, answered, limits.deadline)
        return _Found(bracket, answered, oracle.name, note)

    def _first(
        self, question: Question, oracle: Oracle, confirm: Callable[[Point], bool], deadline: Deadline
    ) -> Point | None:
        """The nearest background row with the goal, pulled back towards the start unless the oracle does it itself."""
        goal = question.goal.wanted
        # A margin in score is judged by scores, which rows do not carry: the class leads there, at least.
        rough = Classes(frozenset([goal.label])) if isinstance(goal, Margin) and goal.in_score else goal
        known = self.background if rough is None or not of_probability(rough) else self.probable
        if known is None or rough is None:
            return None

        def has_goal(said: NDArray[Any]) -> NDArray[np.bool_]:
            return self.judge.met(rough, said)

        for point in known.read(deadline).nearest(question, has_goal):
            if deadline.over:
                break
            if confirm(point):
                return point if oracle.optimises else pull_back(question, point, confirm, deadline)
        return None

    def _answer(self, question: Question, decision: Label, found: list[_Found], count: int) -> Answer:
        first = found[0].bracket
        shown: list[Counterfactual] = []
        start = question.values(question.start)
        for bracket in (one.bracket for one in found):
            if bracket.point is None or bracket.upper is None:
                continue
            values = question.values(bracket.point)
            changes = {f: (start[f], values[f]) for f in values if values[f] != start[f]}
            shown.append(Counterfactual(values, changes, bracket.upper, bracket.lower, bracket.status))
        return Answer(
            status=first.status,
            counterfactuals=shown,
            exact_lower_bound=first.lower,
            exact_distance=first.upper,
            start=start,
            goal=question.goal.text,
            distance_name=self.distance.name,
            oracle=found[-1].oracle,
            why=first.why,
            seconds=0.0,
            trace=[asked for one in found for asked in one.bracket.trace],
            space=self.space,
            decision=decision,
            notes=self._notes(question, found, count),
            question=found[0].question,
            proof=first.proof,
            witness=first.point,
        )

    def _notes(self, question: Question, found: list[_Found], count: int) -> list[str]:
        """What an answer must say beside its bounds."""
        notes = []
        points = [one.bracket.point for one in found if one.bracket.point is not None]
        if points and points[0] == question.start:
            notes.append("the row has the goal already")
        elif points and len(points) < count:
            last = found[-1].bracket
            ending = "proved: there is no other" if last.status == "infeasible" else last.why or last.status
            notes.append(f"{len(points)} of {count} answers found ({ending})")
        notes += dict.fromkeys(one.note for one in found if one.note)
        if found[0].bracket.proof is not None and (reason := certifiable(found[0].question)) is not None:
            notes.append(f"no certificate: {reason}")
        elif len(found[0].bracket.proof or ()) >= LONG_PROOF:
            notes.append("the certificate is written when it is asked for, which the time limit does not count")
        if not isinstance(self.table, Formula):
            notes += [said for said in (self.judge.deployed.note, self.judge.deployed.assumed) if said]
        if any(question.has_goal(point) is None for point in points):
            notes.append(f"{IN_DOUBT} the counterfactual: the deployed model, asked about this row alone, accepts it")
        refused = [avoid for one in found for avoid in one.bracket.refused]
        if refused:
            what = "1 point" if len(refused) == 1 else f"{len(refused)} points"
            alike = any(isinstance(avoid, AvoidBox) for avoid in refused)
            notes.append(
                f"{IN_DOUBT} {what} that the deployed model, asked about each row alone, refuses: the bound is about "
                f"all others{', also without what reaches the same leaves' if alike else ''}"
            )
        if points[:1] != [question.start]:
            notes += missing.notes(question)
        return notes


class _Found(NamedTuple):
    """A bracket, the question as the oracle answered it, the oracle's name, and a note on the choice of it."""

    bracket: Bracket
    question: Question
    oracle: str
    note: str


def read_pipeline(model: object, space: Space) -> CompiledPipeline | None:
    """A model over the space's raw columns; None for one that takes what the space encodes, and for a program."""
    if isinstance(model, (str, Path)):
        return None
    from mace.compilers.pipeline.reader import compile_raw

    return compile_raw(model, space)


def read_encoded(model: object, table: Table, space: Space) -> CompiledPipeline | None:
    """A model over the columns that the space encodes, which takes numbers that are missing; None for any other."""
    if isinstance(model, (str, Path)):
        return None
    from mace.compilers.encoded import compile_encoded

    return compile_encoded(model, table, space)


def read_model(model: object, space: Space) -> Table:
    """The table of a model; a text or a Path is read as a core-language program over the space's features."""
    if isinstance(model, (str, Path)):
        return model_program(model, space)
    from mace.compilers import deployed, read
    from mace.compilers.categories import on_thresholds

    table = read(model, _held(space))
    own = deployed(model)
    names, columns = own.names, [own.spelled(column.name) for column in space.columns]
    if names is not None and list(names) != columns:
        if set(names) == set(columns):
            what = "the same columns in another order"
        else:
            odd = [n for n in names if n not in columns] or [c for c in columns if c not in set(names)]
            what = f"other columns (for instance `{odd[0]}`)"
        raise ModelError(
            f"the model was trained on {what} than the space encodes",
            hint="Train it on space.encode(frame), or set encoding= and columns=. "
            f"The space has: {', '.join(columns)}.",
        )
    return table if isinstance(table, (Network, Formula)) else on_thresholds(table, space.columns, space.features)


def _held(space: Space) -> list[list[float]]:
    """For every column that a space encodes, what its levels become, or the ends of its range."""
    return [
        list(column.values) if column.values is not None else [*map(nearest, space.features[column.feature].bounds())]
        for column in space.columns
    ]


def read_distance(spec: DistanceSpec, space: Space, weights: Mapping[str, object] | None = None) -> Distance:
    """A norm over the space's features, or a distance program; raises DistanceError or ProgramError."""
    if isinstance(spec, Path) or isinstance(spec, str) and ("\n" in spec or spec.endswith(".mace")):
        if weights:
            raise MaceError("weights belong to l0, l1, linf and mixtures; a distance program has its own")
        return DistanceProgram(distance_program(spec, space))
    for name in weights or {}:
        _ = space[name]
    given = [(weights or {}).get(name, 1) for name in space.names] if weights else None
    return norm(spec, len(space.features), given)


def _gap(gap: object, rgap: object, oracle: Oracle) -> Gap:
    """The gap asked for; when nothing is said, what the oracle reaches as a matter of course."""
    if gap is None and rgap is None:
        if not oracle.optimises:
            return Gap(Fraction(1, 10**6), Fraction(1, 1000))
        return Gap(Fraction(0) if oracle.name == "ensembles" else Fraction(1, 10**9))
    try:
        absolute, relative = as_written(gap or 0), as_written(rgap or 0)
    except NumberError as error:
        raise MaceError(f"gap and rgap must be numbers: {error.message}", hint=error.hint) from None
    if absolute < 0 or relative < 0:
        raise MaceError("gap and rgap must be >= 0")
    return Gap(absolute, relative)


def _exclusion(question: Question, point: Point, diversity: object) -> Avoid:
    if diversity == "points":
        return AvoidPoint(point)
    if diversity == "features":
        return AvoidChanges(question.changed(point))
    try:
        radius = as_written(diversity)
    except NumberError as error:
        raise MaceError(
            f'diversity must be "features", "points" or a least distance between answers: {error.message}',
            hint=error.hint,
        ) from None
    if radius <= 0:
        raise MaceError(f"the least distance between answers must be > 0, got {short(diversity)}")
    return AvoidNear(point, radius)


__all__ = ["Answer", "Counterfactual", "Explainer", "read_distance", "read_model"]
