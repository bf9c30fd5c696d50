"""Everything that an oracle needs to know, in one place, exact and independent of any library.

In:  a model's table, a space, a start row, a goal, a distance, rules, what earlier answers exclude.
Out: a `Question`. A point is a tuple of axis indices (`mace.space.axes`); distance, rules and the model's float
     scores of a point are computed here and nowhere else, so that provers, solvers, driver and certificates agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mace.base.exact import exact
from mace.errors import ModelError
from mace.problem.budget import Budget
from mace.problem.distance import Distance, DistanceProgram, Norm
from mace.problem.exclusions import Avoid, AvoidBox, AvoidChanges, AvoidNear, AvoidPoint
from mace.problem.programs import Rule, typed
from mace.space.axes import Axis, Point, holds
from mace.space.columns import Column
from mace.space.space import Space
from mace.tables.decide import decides
from mace.tables.table import Decision, Ensemble, Formula, Label, Network, Table

if TYPE_CHECKING:
    from mace.language import Program
    from mace.problem.goals import Wanted


@dataclass(frozen=True)
class Goal:
    """What the model shall say: `decision` over its scores; for a program, `results` are the class numbers wanted.

    labels: the classes wanted, where the goal is about classes.
    wanted: what the caller asked for (`mace.problem.goals`), by which the deployed model's own words are judged.
    """

    text: str
    labels: frozenset[Label]
    decision: Decision
    results: frozenset[int] = frozenset()
    wanted: Wanted | None = None


@dataclass(frozen=True, eq=False)
class Question:
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
                hint=f"The space's columns are {', '.join(c.name for c in self.columns)}.",
            )

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The model's columns, as functions of features; of a number that the row lacks, as one level."""
        columns = self.space.columns if self.inputs is None else self.inputs
        return tuple(column.on(self.axes[column.feature]) for column in columns)

    @cached_property
    def start(self) -> Point:
        """The factual point."""
        return tuple(axis.start for axis in self.axes)

    def away(self, avoid: Avoid) -> Question:
        """The same question with one more exclusion."""
        return replace(self, avoid=(*self.avoid, avoid))

    def deltas(self, point: Point) -> list[Fraction]:
        """The scaled change of every feature, in [0, 1]."""
        return [axis.delta(index) for axis, index in zip(self.axes, point, strict=True)]

    def distance_of(self, point: Point) -> Fraction:
        """The exact distance of a point from the start."""
        if isinstance(self.distance, Norm):
            return self.distance.of(self.deltas(point))
        return program_distance(self.distance, self.axes, point)

    def distance_between(self, one: Point, other: Point) -> Fraction:
        """The exact distance between two points, scaled and weighted as the distance from the start."""
        if isinstance(self.distance, DistanceProgram):
            return program_distance(
                self.distance, tuple(_moved(a, i) for a, i in zip(self.axes, one, strict=True)), other
            )
        deltas = [_moved(axis, i).delta(j) for axis, i, j in zip(self.axes, one, other, strict=True)]
        return self.distance.of(deltas)

    def changed(self, point: Point) -> tuple[int, ...]:
        """The features whose value differs from the start's."""
        return tuple(j for j, axis in enumerate(self.axes) if point[j] != axis.start)

    def obeys(self, point: Point) -> bool:
        """Whether a point is allowed: axes, rules, number of changes, exclusions. Says nothing about the goal."""
        if not all(axis.allows(index) for axis, index in zip(self.axes, point, strict=True)):
            return False
        if self.most_changes is not None and len(self.changed(point)) > self.most_changes:
            return False
        return not any(self.excluded(a, point) for a in self.avoid) and all(
            r.holds(self.axes, point) for r in self.rules
        )

    def excluded(self, avoid: Avoid, point: Point) -> bool:
        """Whether one exclusion rules a point out."""
        match avoid:
            case AvoidPoint(point=other):
                return point == other
            case AvoidChanges(features=features):
                return all(point[j] != self.axes[j].start for j in features)
            case AvoidNear(point=other, radius=radius):
                return self.distance_between(other, point) < radius
            case AvoidBox(box=box):
                return all(holds(side, index) for side, index in zip(box, point, strict=True))

    def row(self, point: Point) -> NDArray[np.float64]:
        """The model's float64 input, shape (columns,)."""
        return np.array([c.at(self.axes[c.feature], point[c.feature]) for c in self.columns], dtype=np.float64)

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
        return decides(self.model, self.goal.decision, self.row(point))

    def values(self, point: Point) -> dict[str, Any]:
        """A point in the features' own types and units."""
        return self.space.show(self.axes, point)


def _moved(axis: Axis, start: int) -> Axis:
    return replace(axis, start=start)


def program_inputs(program: Program, axes: Sequence[Axis], point: Point) -> dict[str, Fraction | bool]:
    """Values for the inputs of a program over the features: `x`, and `start_x` for the start's value of `x`."""
    reads = {declared.name for declared in program.inputs}
    values: dict[str, Fraction] = {}
    for axis, index in zip(axes, point, strict=True):  # A value that nobody reads may be missing.
        if axis.name in reads:
            values[axis.name] = axis.value(index)
        if "start_" + axis.name in reads:
            values.setdefault("start_" + axis.name, axis.value(axis.start))
    return typed(program, values)


def program_distance(distance: DistanceProgram, axes: Sequence[Axis], point: Point) -> Fraction:
    """The value of a distance program at a point."""
    from mace.language import run

    return exact(run(distance.program, program_inputs(distance.program, axes, point)))


def program_result(model: Formula, axes: Sequence[Axis], point: Point) -> int:
    """The class number that a program model returns at a point."""
    from mace.language import run

    return int(run(model.program, program_inputs(model.program, axes, point)))
