"""Everything that an oracle needs to know, in one place, exact and independent of any library.

In:  a model's table, a space, a start row, a goal, a distance, rules, what earlier answers exclude.
Out: a `Question`. A point is a tuple of axis indices (`mace.space.axes`); the model's float scores of a point are
     computed here and nowhere else, its distance and the rules in `mace.problem.around`, so that provers, solvers,
     driver and certificates agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import is_
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.cache import Recent
from mace.base.exact import ranks_to_floats
from mace.base.suggestions import few
from mace.errors import ModelError
from mace.problem.around import Around, program_inputs
from mace.problem.budget import Budget
from mace.problem.distance import Distance
from mace.problem.exclusions import Avoid
from mace.problem.programs import Rule
from mace.space.axes import Axis, Point
from mace.space.columns import Column
from mace.space.space import Space
from mace.tables.decide import decides
from mace.tables.table import Decision, Ensemble, Formula, Label, Network, Table

if TYPE_CHECKING:
    from mace.problem.goals import Wanted


_COLUMNS: Recent[tuple[Column, ...]] = Recent()


class _Same(NamedTuple):
    """Columns that are made alike, and the feature of each."""

    columns: list[int]
    features: list[int]


class _Kinds(NamedTuple):
    """How columns are made: as the double of an index, as multiples of a step (above / below), or one by one."""

    doubles: _Same
    multiples: _Same
    above: NDArray[np.float64]
    below: NDArray[np.float64]
    others: list[int]


@dataclass(frozen=True)
class Goal:
    """What the model shall say: `decision` over its scores; for a program, `results` are the class numbers wanted.

    decision: a disjunction of the goal's parts, each a conjunction of comparisons of scores.
    labels:   the classes wanted, where the goal is about classes.
    wanted:   what the caller asked for (`mace.problem.goals`); the deployed model's predictions are compared with it.
    enclosed: whether `decision` only encloses the goal: it holds wherever the goal does, and may hold elsewhere, as of
              a probability, whose exponential the model rounds.
    """

    text: str
    labels: frozenset[Label]
    decision: Decision
    results: frozenset[int] = frozenset()
    wanted: Wanted | None = None
    enclosed: bool = False

    def named(self, called: Callable[[object], str]) -> str:
        """The goal, with the names that people have for classes."""
        return self.text if self.wanted is None else self.wanted.named(called)


@dataclass(frozen=True, eq=False)
class Question(Around):
    """The nearest point with the goal: see the module's docstring.

    axes:         one per feature; each knows its start, its allowed values and its scale.
    rules:        of the world, and what earlier objectives leave to the distance.
    most_changes: at most this many features may change; None for any number.
    inputs:       the model's columns where they are not the space's own (a pipeline that encodes by itself).
    """

    space: Space
    axes: tuple[Axis, ...]
    model: Table
    goal: Goal
    distance: Distance
    rules: tuple[Rule | Budget, ...] = ()
    avoid: tuple[Avoid, ...] = ()
    most_changes: int | None = None
    inputs: tuple[Column, ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, Formula) and self.model.columns != len(self.columns):
            raise ModelError(
                f"the model takes {self.model.columns} columns, the space encodes {len(self.columns)}",
                hint=f"The space's columns are {few(c.name for c in self.columns)}.",
            )

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The model's columns as functions of features; a number that is missing in the row is an axis of one level."""
        columns = self.space.columns if self.inputs is None else self.inputs
        found = tuple(column.on(self.axes[column.feature]) for column in columns)
        # Questions share them, so that nobody has to compare them; nearly always they are those of the space.
        return columns if all(map(is_, found, columns)) else _COLUMNS.get(found, lambda: found)

    @property
    def bent(self) -> str | None:
        """Why the model's columns are not linear functions of the features; None if they are."""
        bent = next((column.name for column in self.columns if column.is_bent), None)
        return None if bent is None else f"the column `{bent}` is not a linear function of its feature"

    def away(self, avoid: Avoid) -> Question:
        """The same question with one more exclusion."""
        return self.without((avoid,))

    def without(self, avoids: Iterable[Avoid]) -> Question:
        """The same question with more exclusions, in their order after its own."""
        more = tuple(avoids)
        return replace(self, avoid=(*self.avoid, *more)) if more else self

    def aimed(self, goal: Goal, model: Table) -> Question:
        """The same question with another goal, over the scores of `model`; what is known of points alone stays."""
        made = replace(self, goal=goal, model=model)
        shared = ("columns", "start", "_rows", "_kinds", "_shown", "_distances", "_costs", "_obeyed")
        made.__dict__.update({name: self.__dict__[name] for name in shared if name in self.__dict__})
        return made

    def at_part(self, part: int) -> Question:
        """The same question about one part of its goal alone."""
        return self.aimed(replace(self.goal, decision=self.goal.decision[part : part + 1]), self.model)

    def row(self, point: Point) -> NDArray[np.float64]:
        """The model's float64 input, shape (columns,); not to be changed."""
        return self._rows.get(point, lambda: self._row(point))

    @cached_property
    def _rows(self) -> Recent[NDArray[np.float64]]:
        return Recent()

    def _row(self, point: Point) -> NDArray[np.float64]:
        kinds, (doubles, multiples) = self._kinds, self._kinds[:2]
        if len(doubles.columns) == len(self.columns):
            made = ranks_to_floats([point[j] for j in doubles.features])
        else:
            made = np.empty(len(self.columns))
            made[doubles.columns] = ranks_to_floats([point[j] for j in doubles.features])
            steps = np.array([point[j] for j in multiples.features], np.float64)
            made[multiples.columns] = steps * kinds.above / kinds.below
            for number in kinds.others:
                column = self.columns[number]
                made[number] = column.at(self.axes[column.feature], point[column.feature])
        made.flags.writeable = False
        return made

    @cached_property
    def _kinds(self) -> _Kinds:
        """Which columns are made all at once."""
        axes, found = self.axes, list[list[int]]([[], [], []])
        for number, column in enumerate(self.columns):
            axis = axes[column.feature]
            found[0 if column.is_double_of(axis) else 1 if column.is_multiple_of(axis) else 2].append(number)
        doubles, multiples = (_Same(ones, [self.columns[number].feature for number in ones]) for ones in found[:2])
        steps = [axes[j].grid.step for j in multiples.features]  # type: ignore[union-attr]
        above, below = (np.array([getattr(s, end) for s in steps], np.float64) for end in ("numerator", "denominator"))
        return _Kinds(doubles, multiples, above, below, found[2])

    def scores(self, point: Point) -> NDArray[np.float64]:
        """The model's float scores, shape (outputs,); for a network the last bits are not certain."""
        assert isinstance(self.model, (Ensemble, Network))
        return self.model.scores(self.row(point))

    def has_goal(self, point: Point) -> bool | None:
        """Whether the deployed model's scores satisfy the goal's comparisons: for certain, certainly not, or None.

        None where the last bits of its scores decide (`mace.tables.decide`). Of a goal that comparisons only enclose
        (`mace.problem.goals.lower`), True does not yet say that the deployed model has it; False says that it has not.
        """
        if isinstance(self.model, Formula):
            return program_result(self.model, self.axes, point) in self.goal.results
        if () in self.goal.decision:  # no comparison at all: every point has it
            return True
        return decides(self.model, self.goal.decision, self.row(point))

    def settled(self, point: Point) -> bool | None:
        """Whether the deployed model has the goal, where what was read of it tells; None where it has to be asked.

        That is where rounding decides, and where comparisons grant a goal that they only enclose.
        """
        said = self.has_goal(point)
        return None if said and self.goal.enclosed else said


def program_result(model: Formula, axes: Sequence[Axis], point: Point) -> int:
    """The class number that a program model returns at a point."""
    from mace.language import run

    return int(run(model.program, program_inputs(model.program, axes, point)))
