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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from numpy.typing import NDArray

from mace.base.arguments import checked, is_frame
from mace.base.cache import Kept
from mace.base.deadline import NEVER, Deadline, now, stoppable
from mace.base.escape import short
from mace.base.frames import check_read
from mace.base.views import view
from mace.errors import MaceError, ModelError
from mace.explain.answer import Answer
from mace.explain.deployed.confirmation import Confirmation, Unsettled
from mace.explain.deployed.judge import Judge, of_probability
from mace.explain.nearest.assemble import answer_of
from mace.explain.nearest.levels import by_priority
from mace.explain.nearest.row_solver import RowSolver
from mace.explain.nearest.search import Search, Searched
from mace.explain.proposing.beside import Beside
from mace.explain.reading import own_frame
from mace.explain.reading.frames import answers_of
from mace.explain.reading.inferred import inferred
from mace.explain.reading.models import read_model
from mace.explain.reading.recall import read
from mace.explain.reading.settings import GoalSpec, Settings
from mace.problem import missing
from mace.problem.another import exclusion, least_apart
from mace.problem.distance import DistanceError, DistanceProgram
from mace.problem.diversity import diversity_of
from mace.problem.goal_decision import lower
from mace.problem.goal_text import wanted
from mace.problem.goals import Wanted
from mace.problem.objectives import (
    DistanceSpec,
    ObjectiveSpec,
    Priority,
    Shortfall,
    read_distance,
    read_objectives,
)
from mace.problem.programs import Rule, rules_of
from mace.problem.question import Goal, Question
from mace.search.asked import calls_asked
from mace.search.protocol import Effort
from mace.search.registry import ProposerSpec, proposer_of
from mace.solve.background import Background
from mace.solve.driver import Bracket
from mace.solve.protocol import Limits
from mace.space.axes import Point
from mace.space.columns import usable_axes
from mace.space.space import Space
from mace.tables.table import Formula, Label, Table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from mace.explain.menu import Menu
    from mace.explain.proposing.alone import Proposed

MOST_ANSWERS = 1_000_000
SHARE = 0.5  # what one of several points may use of the time left for them: the first one is what the others rest on
_LOWERED: Kept[tuple[Goal, Table]] = Kept(8)  # goals over the scores of a table, by what was asked


class Explainer:
    """A model, a space, rules, a distance and background rows, read once; `explain` answers for a row, or for many.

    The arguments are those of `mace.explain`; a frame or an array in the place of the space stands for the space that
    is inferred from it, and for the background. Give `objectives`, or `distance` and `weights`.
    Raises ModelError for a model that is not read or does not fit the space, and a MaceError for a wrong rule,
    distance, objective or background.
    """

    @checked
    def __init__(
        self,
        model: object,
        space: Space | pd.DataFrame | NDArray[Any],
        *,
        background: pd.DataFrame | None = None,
        rules: Sequence[str | Path] = (),
        distance: DistanceSpec = "l1",
        weights: Mapping[str, object] | None = None,
        objectives: Sequence[ObjectiveSpec] | None = None,
    ) -> None:
        self.assumed: list[str] = []
        given, held = background, None
        if not isinstance(space, Space):
            check_read(space)
            if not hasattr(space, "shape"):
                named = isinstance(space, (str, Path))
                raise ModelError(
                    f"the second argument must be a mace.Space, or a frame that it is inferred from; "
                    f"got {type(space).__name__}",
                    hint=f"mace.Space.load({str(space)!r}) reads a file."
                    if named
                    else "For instance mace.Space.from_frame(X).",
                )
            held = space
            given, space, self.assumed = inferred(model, space)
            background = given if background is None else background
        self.model = model
        self._read(space)
        if given is not None:
            own_frame.hold(self.judge, given, held)
        self.assumed += space.names_of_none(self.table.classes)
        if isinstance(rules, (str, Path)):
            rules = [rules]
        self.rules: tuple[Rule, ...] = rules_of(space, rules)
        if objectives is None:
            of = read_distance(distance, space, weights)
            self.priorities: tuple[Priority, ...] = (Priority(of, of.name),)
        elif distance != "l1" or weights:
            raise DistanceError("give objectives, or a distance and weights: a distance is the short form of one")
        else:
            self.priorities = read_objectives(objectives, space, background)
        self.distance = next(one.of for one in self.priorities if not isinstance(one.of, Shortfall))
        self._frame = background
        self._over: dict[int, Explainer] = {}
        self.unsettled: Unsettled | None = None  # where the next answer waits to be confirmed together with others

    def __repr__(self) -> str:
        by = ", ".join(priority.name for priority in self.priorities)
        return f"Explainer({type(self.model).__name__}, {self.space!r}, {by})"

    def _repr_html_(self) -> str:
        return f"{view('as HTML')(repr(self))}{self.space._repr_html_()}"

    def _read(self, space: Space) -> None:
        """Read the model over a space."""
        self.space = space
        self.table, self.pipeline = read(self.model, space)

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
        """The deployed model's own decisions for a frame with the space's columns; shape (rows,). Raises RowError."""
        return self.judge.says(self.judge.frame(frame))

    def decide(self, question: Question, point: Point) -> Label:
        """The deployed model's decision for a point."""
        return self.judge.decide(question, point)

    def question(self, x: object, goal: GoalSpec = None, most_changes: int | None = None) -> tuple[Question, Label]:
        """The question about one row, and the decision that the model takes on it now; arguments as for `mace.explain`.

        Raises RowError, GoalError, and ModelError where model and space do not fit together.
        """
        draft = self._draft(x, most_changes)
        decision = self.decide(draft, draft.start)
        return self._aimed(draft, goal, decision), decision

    def _draft(self, x: object, most_changes: int | None) -> Question:
        """The question about one row, without a goal."""
        axes = self.space.axes(x)
        inputs = None if self.pipeline is None else self.pipeline.columns
        if not isinstance(self.table, Formula):
            axes = usable_axes(inputs or self.space.columns, axes)
        for priority in self.priorities:
            if not isinstance(priority.of, Shortfall):
                axes = missing.settled(self.space, axes, self.rules, priority.of, self.table)
        if most_changes is not None and (not isinstance(most_changes, int) or most_changes < 0):
            raise MaceError(f"most_changes must be a whole number >= 0, got {short(most_changes)}")
        return Question(
            self.space,
            axes,
            self.table,
            Goal("", frozenset(), ()),
            self.distance,
            tuple(rule.at(axes) for rule in self.rules),
            most_changes=None if most_changes is None else min(most_changes, len(axes)),
            inputs=inputs,
        )

    @checked
    def wanted(self, goal: GoalSpec, decision: Label | None = None) -> Wanted:
        """What a goal means of this model and this space; None: anything but `decision`. Raises GoalError."""
        return wanted(goal, self.table.classes, decision, self.space.decisions, self.space.names)

    def _aimed(self, draft: Question, goal: GoalSpec, decision: Label) -> Question:
        """A question with its goal."""
        spec = self.wanted(goal, decision)
        asked, table = _LOWERED.get(self.table, (spec, repr(spec)), lambda: lower(spec, self.table))
        return draft.aimed(asked, table)

    @overload
    def explain(self, x: pd.DataFrame, **settings: Unpack[Settings]) -> list[Answer]: ...  # type: ignore[overload-overlap]

    @overload
    def explain(self, x: object, **settings: Unpack[Settings]) -> Answer: ...

    @checked
    def explain(
        self, x: object, *,
        goal: GoalSpec = None, gap: object = None, rgap: object = None,
        count: int = 1, together: bool = False, diversity: object = "features", most_changes: int | None = None,
        oracle: str = "auto", timeout: float | Deadline | None = 60.0, memory_mb: int | None = 4096,
        n_jobs: int | None = 1, callback: Callable[[Bracket], None] | None = None,
        proposer: ProposerSpec | None = None, random_state: int = 0, max_calls: int | None = None,
    ) -> Answer | list[Answer]:  # fmt: skip
        """The answer for a row; for a frame a list of answers, one a row, in its order.

        x:       a row as for `mace.explain`, or a DataFrame with the space's columns. What its rows share is done once:
                 equal rows have one answer. Ctrl-C ends the search for the row at hand and for those that are left,
                 which say so; what was answered before is kept.
        timeout: seconds for the answer to a row and its proof, or a running `Deadline`. Of several points each
                 may use half of what is left, and the last one all of it, since further points depend on the first.
        The other arguments are those of `mace.explain`. The provers' code is compiled before a clock begins.
        Raises a MaceError as `mace.explain`; of a frame it names the row, and those that are not in the space are found
        before the first one is answered.
        """
        later, self.unsettled = self.unsettled, None
        self._check_several(count, together, diversity)
        within, most = Limits.asked(NEVER, memory_mb, n_jobs), calls_asked(max_calls)
        beside = None
        if proposer is not None:
            beside = Beside(proposer_of(proposer), self.judge, self.numbers, random_state, most)
        line = view("bounds closing in")() if callback is None and not is_frame(x) else None
        search = Search(self.judge, self._rows, oracle, gap, rgap, callback or line, beside)

        def answer(row: object) -> Answer:
            # It includes making the question.
            deadline = Deadline.asked(timeout).later(self.warm(oracle))
            began = now()
            draft, confirmation = self._draft(row, most_changes), Confirmation(self.judge)
            question = self._aimed(draft, goal, confirmation.decision(draft, draft.start))
            if together:
                limits = replace(within, deadline=deadline)
                made = self._as_a_set(question, diversity, count, search, confirmation, limits)
                return replace(made, seconds=now() - began, timeout=deadline.seconds)
            found: list[Searched] = []
            asked = question
            for clock in _clocks(deadline, count):
                found.append(by_priority(search, asked, self.priorities, confirmation, replace(within, deadline=clock)))
                bracket = found[-1].bracket
                if bracket.point is None or bracket.point == question.start:
                    break
                asked = asked.away(exclusion(asked, bracket.point, diversity))
            points = [one.bracket.point for one in found if one.bracket.point]
            confirmation.settle(question, [question.start, *points], later)
            made = answer_of(question, confirmation.decided(question.start), found, count, self.judge, self.assumed)
            more: dict[str, Any] = {"goal": question.goal.wanted, "most_changes": most_changes}
            more |= {"oracle": oracle, "memory_mb": memory_mb}
            again = partial(self._missed, row, gap=gap, rgap=rgap, timeout=deadline.seconds, n_jobs=n_jobs, **more)
            ways = partial(self.menu, row, **more)
            return replace(made, seconds=now() - began, timeout=deadline.seconds, missed=again, menus=ways)

        with stoppable(), line or nullcontext():
            if not is_frame(x):
                return answer(x)
            own_frame.hold(self.judge, x)
            return answers_of(self.space, x, answer)

    def _as_a_set(
        self, question: Question, diversity: object, count: int, search: Search, confirmation: Confirmation,
        limits: Limits,
    ) -> Answer:  # fmt: skip
        from mace.explain.sets.answer import set_answer  # late: few ask for a set

        made = set_answer(question, diversity_of(diversity), count, search, confirmation, limits)
        return replace(made, notes=[*made.notes, *self.assumed])

    def _check_several(self, count: int, together: bool, diversity: object) -> None:
        """Raise MaceError where so many answers cannot be asked for in this way."""
        if not isinstance(count, int) or not 1 <= count <= MOST_ANSWERS:
            raise MaceError(f"count must be a whole number from 1 to {MOST_ANSWERS:,}, got {short(count)}")
        if count > 1 and len(self.priorities) > 1 and diversity not in ("features", "points"):
            raise MaceError('with several objectives, diversity is "features" or "points"')
        if not together:
            least_apart(diversity)
        if together and (len(self.priorities) > 1 or self.priorities[0].unit != 1):
            raise MaceError("answers that are found together have one objective, which is a distance")

    @checked
    def row_solver(
        self, row: object, goal: GoalSpec, most_changes: int | None, oracle: str, deadline: Deadline,
        memory_mb: int | None,
    ) -> RowSolver:  # fmt: skip
        """What answers several questions about a row; its clock stands still while code is compiled."""
        deadline = deadline.later(self.warm(oracle))
        limits = Limits.asked(deadline, memory_mb)
        draft, confirmation = self._draft(row, most_changes), Confirmation(self.judge)
        question = self._aimed(draft, goal, confirmation.decision(draft, draft.start))
        search = Search(self.judge, self._rows, oracle, None, None, None)
        return RowSolver(question, confirmation, search, limits)

    @checked
    def propose(
        self, x: object, proposer: ProposerSpec, *,
        goal: GoalSpec = None, most_changes: int | None = None, random_state: int = 0, steps: int | None = None,
        max_calls: int | None = None, constrained: Sequence[str] = (), timeout: float | Deadline | None = 60.0,
    ) -> Proposed:  # fmt: skip
        """What a heuristic finds for a row, from above: points that the deployed model accepts, and no bound.

        proposer:    a name of `mace.search.registry.PROPOSERS`, or an object of `mace.search` with its settings.
        steps, max_calls, timeout: what it may spend: batches, rows that the model is asked about, seconds.
        constrained: features that had better not change: fewer of them count more than any distance.
        The same `random_state` gives the same answer, unless the time limit ends it.
        Raises MaceError where the proposer does not take the question, and as `explain`.
        """
        from mace.explain.proposing.alone import propose

        draft = self._draft(x, most_changes)
        question = self._aimed(draft, goal, Confirmation(self.judge).decision(draft, draft.start))
        effort = Effort(steps, Deadline.asked(timeout))
        return propose(
            question, self.judge, proposer_of(proposer), rows=self.numbers, random_state=random_state, effort=effort,
            max_calls=max_calls, constrained=constrained,
        )  # fmt: skip

    @cached_property
    def numbers(self) -> NDArray[np.float64] | None:
        """The background rows as numbers, shape (rows, features); None without any."""
        return None if self._frame is None else self.space.numbers(self._frame)

    @checked
    def menu(
        self, x: object, *,
        goal: GoalSpec = None, most_changes: int | None = None, oracle: str = "auto",
        timeout: float | Deadline | None = 60.0, memory_mb: int | None = 4096, safe: bool = True,
    ) -> Menu:  # fmt: skip
        """All minimal sets of features that suffice, each with its nearest change, and all maximal ones that do not.

        timeout: seconds for all of it; what is not decided by then is `undecided`.
        safe:    whether to prove how far the new values may move, too.
        The other arguments are those of `explain`, and so is what it raises.
        """
        from mace.explain.menu import menu

        with stoppable():
            solver = self.row_solver(x, goal, most_changes, oracle, Deadline.asked(timeout), memory_mb)
            return menu(solver, self.priorities, self.assumed, safe=safe)

    def over(self, rows: int) -> Explainer:
        """The same with the first so many of the background rows."""
        if rows not in self._over:
            made = copy.copy(self)
            for read in ("background", "probable", "numbers"):
                made.__dict__.pop(read, None)
            made._frame = None if self._frame is None else self._frame.iloc[:rows]
            self._over[rows] = made
        return self._over[rows]

    def _missed(self, row: object, **settings: Unpack[Settings]) -> Answer:
        """The answer whose first objective is the shortfall of the goal."""
        first = copy.copy(self)
        first.priorities = (Priority(Shortfall(), "shortfall"), *self.priorities)
        return first.explain(row, **settings)

    def _rows(self, wanted: Wanted) -> Background | None:
        """The background rows with what tells whether they have a goal: probabilities, or else decisions."""
        return self.probable if of_probability(wanted) else self.background

    def ready(self, oracle: str = "auto") -> float:
        """Read from disk what the provers of this model were compiled to, once a process; the seconds it took.

        For a process that is about to answer many questions: without this, code is read once that is worth it. In a new
        installation there is nothing to read yet.
        """
        from mace.solve.compiled import read_at_once

        read_at_once()
        return self.warm(oracle, whole=True)

    def warm(self, oracle: str = "auto", *, whole: bool = False) -> float:
        """Compile or read what the provers of this model need, where that is worth it by now; the seconds it took.

        whole: with what only searches that stall come to.
        """
        if oracle not in ("auto", "ensembles", "networks") or isinstance(self.distance, DistanceProgram):
            return 0.0  # solvers are processes of their own
        from mace.solve.warm import warm

        return warm(self.table, whole=whole)


__all__ = ["DistanceSpec", "Explainer", "GoalSpec", "read_distance", "read_model"]


def _clocks(whole: Deadline, count: int) -> Iterator[Deadline]:
    """The clock of each point of an answer."""
    for later in reversed(range(count)):
        yield whole.share(SHARE) if later else whole
