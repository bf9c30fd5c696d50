"""A question about a row as proposers take it: the task, and the deployed model as they ask it.

In:  a question, the deployed model (`mace.explain.deployed.judge`), and how many rows it may be asked about.
Out: `Task` (`mace.search.protocol`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mace.base.arguments import names
from mace.base.deadline import NEVER, Deadline
from mace.explain.deployed.judge import Judge, of_probability
from mace.problem.goals import Classes, Margin
from mace.problem.question import Question
from mace.problem.shortfall import LEAST_MISSED, shortfalls
from mace.search.asked import FARTHEST, AskedModel, Said
from mace.search.chart import Chart, Floats
from mace.search.protocol import Task
from mace.space.space import Space
from mace.tables.table import Compare, Ensemble, Formula

if TYPE_CHECKING:
    import pandas as pd

BATCH = 10_000  # rows that the deployed model is asked about at once


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
