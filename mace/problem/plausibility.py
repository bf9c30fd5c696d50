"""Plausibility: how far a point is from the nearest real row that has the goal, as one question for each row.

In:  a question whose distance is a `NearestRow`.
Out: `least_of`: what every allowed point is at least from a row; `from_row`: the question whose start is that row, in
     which all else that counts changes from the start still counts them from the question's own.
Promise: the least distance of a question is the least of all its rows' questions, whose goals, values and conditions
are the same.
Source: Kanamori et al. 2020 and the spec of levels call a counterfactual plausible where real rows are near to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from mace.problem.budget import Budget
from mace.problem.distance import Distance, NearestRow, Norm
from mace.problem.exclusions import Avoid, AvoidChanges
from mace.problem.programs import Rule
from mace.problem.question import Question
from mace.problem.rows import by_bound, least_change
from mace.space.axes import Point, full, started


def least_of(question: Question, distance: NearestRow) -> Iterator[tuple[Fraction, Point]]:
    """Each row with a bound on its distance to any allowed point, the least first."""
    return by_bound(distance.norm, question.axes, distance.rows, tuple(map(full, question.axes)), least_change)


def said_of_rows(distance: Distance) -> str:
    """What an answer must say of the rows that a distance is measured from; nothing where all of them count."""
    if not isinstance(distance, NearestRow) or not distance.left_out:
        return ""
    return (
        f"{distance.name} is measured from {len(distance.rows)} of {len(distance.rows) + distance.left_out} different "
        f"background rows with the goal: the others are off a feature's grid, or lack a value that may not be missing"
    )


def from_row(question: Question, distance: NearestRow, row: Point) -> Question:
    """The question about the distance from one row."""
    axes, start = question.axes, question.start
    rules = [_counted(rule, start) for rule in question.rules]
    if question.most_changes is not None:
        rules.append(_changes(question, range(len(axes)), question.most_changes))
    kept: list[Avoid] = []
    for avoid in question.avoid:
        if isinstance(avoid, AvoidChanges):
            rules.append(_changes(question, avoid.features, len(avoid.features) - 1))
        else:
            kept.append(avoid)
    return replace(
        question,
        axes=started(axes, row),
        distance=replace(distance.norm, name=distance.name),
        rules=tuple(rules),
        avoid=tuple(kept),
        most_changes=None,
    )


def _counted(rule: Rule | Budget, start: Point) -> Rule | Budget:
    return replace(rule, starts=(start,)) if isinstance(rule, Budget) and not rule.starts else rule


def _changes(question: Question, features: Iterable[int], most: int) -> Budget:
    """At most so many of some features differ from the question's start."""
    among = frozenset(features)
    weights = tuple(Fraction(j in among) for j in range(len(question.axes)))
    norm = Norm(Fraction(1), Fraction(0), Fraction(0), weights, "changes")
    return Budget.of(norm, question.axes, Fraction(most), starts=(question.start,), each=True)
