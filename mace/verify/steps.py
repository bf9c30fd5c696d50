"""Questions about single steps along one feature, for monotone ensembles.

One axis counts the places at which some tree changes its answer along the feature: steps at each of them alone, one
after the other, make up every rise.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from mace.base.deadline import NEVER, Deadline
from mace.problem.question import Goal
from mace.space.axes import Axis, LevelAxis, Point
from mace.space.columns import Column
from mace.tables.table import Ensemble
from mace.verify.product import Pair, product
from mace.verify.questions import Broken, Case, Rows, plain_goal, question_of
from mace.verify.subject import Subject

STEPS = 60  # on one axis: the prover for ensembles takes up to 63 levels


def step_cases(
    subject: Subject, feature: str, rising: bool, pairs: Sequence[Pair], broken: Broken, text: str, *, exact: bool,
    deadline: Deadline = NEVER,
) -> Iterator[Case]:  # fmt: skip
    """Monotone by single steps: from each place where some tree changes its answer along the feature to the next.

    Rules that read the feature are left out: a refutation without them says more. A witness must obey them.
    exact: whether there are no such rules: then a step that the deployed model refuses may be left out.
    Raises TimeOverError.
    """
    table, space = subject.table, subject.space
    assert isinstance(table, Ensemble)
    j = space.names.index(feature)
    rules = [rule for rule in subject.rules if feature not in rule.reads]
    for axes, lacking in subject.wholes:
        if feature in lacking:
            continue
        for low, high in _chunks(_steps(subject, axes, j, deadline)):
            if not rising:
                low, high = high, low
            axis = axes[j]
            along = LevelAxis(feature, len(low), (1 << len(low)) - 1, 0, ordered=True)
            walked = (*axes[:j], along, *axes[j + 1 :])
            one, other = (_placed(subject.columns, axis, j, side) for side in (low, high))
            made = product(table, one, table, other, walked, pairs, deadline)
            question = question_of(space, walked, made.table, made.columns, plain_goal(text, made.goal(pairs)), rules)

            def rows(point: Point, axes: tuple[Axis, ...] = axes, low: list[int] = low, high: list[int] = high) -> Rows:
                ends = (low[point[j]], high[point[j]])
                return tuple(space.show(axes, (*point[:j], end, *point[j + 1 :])) for end in ends)

            yield Case(question, rows, broken, exact)


def _placed(columns: Sequence[Column], axis: Axis, feature: int, indices: list[int]) -> list[Column]:
    """The columns of a feature as functions of the number of the step."""
    return [
        c if c.feature != feature else Column(c.name, feature, tuple(c.on(axis).at(axis, index) for index in indices))
        for c in columns
    ]


def _steps(subject: Subject, axes: tuple[Axis, ...], j: int, deadline: Deadline) -> list[tuple[int, int]]:
    """Neighbouring indices of an axis between which some tree may change its answer."""
    from mace.solve.ensembles.arrays.cuts import tests_of

    axis, table = axes[j], subject.table
    if isinstance(axis, LevelAxis):
        # The level of what is missing is neither above nor below the others.
        known = subject.space.features[j].levels
        return list(itertools.pairwise(level for level in axis.levels() if known and known[level] is not None))
    assert isinstance(table, Ensemble)
    question = question_of(subject.space, axes, table, subject.columns, Goal("", frozenset(), ()), ())
    cuts = tests_of(question, table, lambda: deadline.look("finding where trees change their answer")).cuts[j]
    last = axis.last - (axis.missing is None)  # beyond the last value there is only "missing"
    return [(cut, cut + 1) for cut in cuts.tolist() if axis.lower <= cut <= last]


def _chunks(steps: list[tuple[int, int]]) -> Iterator[tuple[list[int], list[int]]]:
    for first in range(0, len(steps), STEPS):
        part = steps[first : first + STEPS]
        yield [low for low, _ in part], [high for _, high in part]
