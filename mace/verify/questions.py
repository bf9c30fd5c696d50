"""From a property to questions: if none of them has an answer, the property holds.

In:  the model under test, a property.
Out: `Case`s. Each is a Question about points of one input, or of a pair, and a `replay` that makes real rows of a point
     and asks the deployed model whether they break the property.
Promise: every pair of allowed rows that breaks the property is a point of one of the cases with its goal.

Three shapes: single inputs (`reachable`, `bounded`, programs that read one input); pairs (`pairs.py`); and steps, for
monotone ensembles (`steps.py`). Programs are in `conditions.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from mace.problem.distance import norm
from mace.problem.programs import Rule
from mace.problem.question import Goal, Question
from mace.space.axes import Axis, Point
from mace.space.columns import Column
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Decision, Formula, Label, decision_of
from mace.verify.subject import Subject

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = tuple[Row, ...]
Broken: TypeAlias = Callable[[Rows], tuple[Label, ...] | None]


@dataclass(frozen=True)
class Case:
    """One question; `rows` makes rows of a point, `broken` replays them: the decisions if they break the property.

    exact: whether a point stands for its own rows only, so that one refused by the replay may be excluded. If not,
           such a point leaves the question undecided.
    """

    question: Question
    rows: Callable[[Point], Rows]
    broken: Broken
    exact: bool = True


def question_of(
    space: Space, axes: Sequence[Axis], table: Any, columns: Sequence[Column], goal: Goal, rules: Sequence[Rule]
) -> Question:
    """A question about whether any point has the goal; the distance only orders the search."""
    return Question(space, tuple(axes), table, goal, norm("l1", len(axes)), tuple(rules), inputs=tuple(columns))


def plain_goal(text: str, decision: Decision) -> Goal:
    """A goal over the scores of a product."""
    return Goal(text, frozenset(), decision)


def class_goal(subject: Subject, index: int, text: str = "") -> Goal:
    """The goal of one class, by its number."""
    table, label = subject.table, subject.classes[index]
    if isinstance(table, Formula):
        return Goal(text or repr(label), frozenset([label]), (), frozenset([index]))
    return Goal(text or repr(label), frozenset([label]), decision_of(table, index))


def has_higher(feature: Feature) -> bool:
    """Whether "higher" has a meaning for a feature."""
    return feature.ordered or feature.kind == "binary"
