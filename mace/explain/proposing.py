"""Proposers on models that were read: what a heuristic finds, confirmed by the deployed model, and nothing proved.

In:  a question about a row, the deployed model (`mace.explain.judge`), a proposer and what it may spend.
Out: `Proposed`: the counterfactual, the points that the proposer takes for several, the stream of what it found.
Promise: every point was accepted by the deployed model, asked as for any other answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from mace.base.arguments import names
from mace.base.deadline import NEVER, Deadline, now
from mace.explain.answer import Counterfactual
from mace.explain.confirmation import Confirmation
from mace.explain.judge import Judge, of_probability
from mace.problem.around import Around
from mace.problem.goals import Classes, Margin
from mace.problem.question import Question
from mace.problem.shortfall import LEAST_MISSED, shortfalls
from mace.search.asked import FARTHEST, AskedModel, Said
from mace.search.chart import Chart, Floats
from mace.search.protocol import Effort, Proposal, Proposer, Run, Task
from mace.space.axes import Point
from mace.space.space import Space
from mace.tables.table import Compare, Ensemble, Formula

if TYPE_CHECKING:
    import pandas as pd

BATCH = 10_000  # rows that the deployed model is asked about at once


@dataclass(frozen=True)
class Proposed:
    """What a proposer found for one row.

    best:    the nearest valid point, with lower bound 0; None if none was found.
    several: the valid points among those that the proposer takes for several answers, in its order.
    offered: how many points it took for several answers; 0 for a proposer that gives one.
    trace:   every improvement, valid or not, with the work done until then.
    why:     which limit ended it; "" where it came to its own end.
    calls:   rows that the model was asked about; batches: how often it was asked; steps: batches of the proposer.
    """

    best: Counterfactual | None
    several: list[Counterfactual]
    offered: int
    trace: list[Proposal] = field(repr=False)
    why: str
    calls: int
    batches: int
    steps: int
    seconds: float

    @property
    def counterfactuals(self) -> list[Counterfactual]:
        """The valid points, as an answer calls them: `several` where the proposer gives several, else the best one."""
        return self.several if self.offered else [] if self.best is None else [self.best]

    def __str__(self) -> str:
        lines = [str(one) for one in self.counterfactuals] or ["no valid point was found"]
        ended = f"; {self.why}" if self.why else ""
        note = f"nothing is proved: {self.calls:,} rows asked about, {self.seconds:.2f} s{ended}"
        return "\n".join([*lines, note])


def propose(
    question: Question, judge: Judge, proposer: Proposer, *, rows: Floats | None, random_state: int, effort: Effort,
    max_calls: int | None, constrained: Sequence[str] = (),
) -> Proposed:  # fmt: skip
    """What a proposer finds for a question about a model that was read."""
    began, confirmation = now(), Confirmation(judge)
    task = task_of(question, judge, rows, max_calls, effort.deadline, constrained)
    run = Run(proposer, task, random_state, effort, confirm=lambda point: confirmation.confirms(question, point))
    trace = list(run)
    valid = [one.point for one in trace if one.score.valid]
    several = [point for point in run.several if question.obeys(point) and confirmation.confirms(question, point)]
    confirmation.settle(question, [*valid[-1:], *several])
    return Proposed(
        counterfactual(question, valid[-1]) if valid else None,
        [counterfactual(question, point) for point in several],
        len(run.several),
        trace,
        run.why,
        task.asked.calls,
        task.asked.batches,
        run.steps,
        now() - began,
    )


def counterfactual(place: Around, point: Point) -> Counterfactual:
    """A point of which nothing is proved."""
    start, values = place.values(place.start), place.values(point)
    changes = {name: (start[name], values[name]) for name in values if values[name] != start[name]}
    return Counterfactual(values, changes, place.distance_of(point), Fraction(0), "bounded")


def task_of(
    question: Question, judge: Judge, rows: Floats | None, max_calls: int | None, deadline: Deadline = NEVER,
    constrained: Sequence[str] = (), *, by_scores: bool = False,
) -> Task:  # fmt: skip
    """A question as a task, and the deployed model as proposers ask it.

    by_scores: ask the trees that were read instead, where there are any; what is proposed is confirmed all the same.
    """
    trees = by_scores and isinstance(question.model, Ensemble)
    asked = AskedModel(_by_scores(question) if trees else _asker(question, judge), max_calls, deadline, BATCH)
    return Task(question, asked, rows, places_of(constrained, question.space))


def places_of(given: str | Iterable[str], space: Space) -> frozenset[int]:
    """The features of some names, as indices; raises SpaceError for a name that is none."""
    return frozenset(space.names.index(space[name].name) for name in names(given))


def _by_scores(question: Question) -> Callable[[Floats], Said]:
    """What the trees say of rows of a chart: by how much the comparisons of the goal are missed, in score."""
    from mace.tables.leaves import scores

    chart, table = Chart(question), question.model
    assert isinstance(table, Ensemble)

    def said(rows: Floats) -> Said:
        found = scores(table, chart.matrix(rows, question.columns))
        missed = np.full(len(rows), FARTHEST)
        for part in question.goal.decision:
            lacks: Floats = sum((_lacks(compare, found) for compare in part), np.zeros(len(rows)))
            missed = np.minimum(missed, lacks)
        return Said.of(missed)

    return said


def _lacks(compare: Compare, scores: Floats) -> Floats:
    """By how much rows miss a comparison, 0 where it holds; scores: shape (rows, outputs)."""
    lack = np.full(len(scores), compare.than)
    lack -= 0.0 if compare.plus is None else scores[:, compare.plus]
    lack += 0.0 if compare.minus is None else scores[:, compare.minus]
    met = lack < 0 if compare.strict else lack <= 0
    return np.where(met, 0.0, np.maximum(lack, LEAST_MISSED))


def _asker(question: Question, judge: Judge) -> Callable[[Floats], Said]:
    """What the deployed model says of rows of a chart, in one call."""
    chart, wanted, table = Chart(question), question.goal.wanted, judge.table
    assert wanted is not None

    def one_by_one(rows: Floats) -> Said:
        """Of programs, and of scores, which libraries do not hand out alike."""
        if isinstance(table, Formula):
            said = np.array([judge.decide(question, chart.point(row)) for row in rows])
        else:
            said = np.array([judge.scores(question.row(chart.point(row))) for row in rows])
        return Said.of(shortfalls(wanted, said, table.classes))

    def together(rows: Floats) -> Said:
        # Of a class the probabilities say how far it is; that it is decided is confirmed before a point is proposed.
        graded = isinstance(wanted, Classes) and judge.deployed.probabilities is not None
        said = judge.says(_frame(question, judge, chart, rows), probabilities=graded or of_probability(wanted))
        return Said.of(shortfalls(wanted, said, table.classes))

    single = isinstance(table, Formula) or isinstance(wanted, Margin) and wanted.in_score
    return one_by_one if single else together


def _frame(question: Question, judge: Judge, chart: Chart, rows: Floats) -> pd.DataFrame:
    """Rows of a chart as the frame that the model is given."""
    if judge.pipeline is not None:
        return judge.pipeline.frame(chart.values(rows))
    return judge.framed(chart.matrix(rows, question.columns))
