"""Points around a start, whatever the model: which are allowed, and how far they are; exact.

In:  a space, an axis per feature, a distance, rules, what earlier answers exclude.
Out: `Around`, which a `Question` is; `Neighbourhood`, for a model that is only asked and never read.
Promise: distance and rules of a point are computed here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mace.base.cache import Recent
from mace.base.exact import exact, moderate, nearest
from mace.problem.budget import Budget
from mace.problem.distance import Cost, Distance, DistanceProgram, NearestRow, Norm, distance_of_costs
from mace.problem.exclusions import Avoid, AvoidBox, AvoidChanges, AvoidNear, AvoidPoint
from mace.problem.programs import Rule, typed
from mace.problem.rows import least_to
from mace.space.axes import Axis, Point, holds, started
from mace.space.space import Space

if TYPE_CHECKING:
    from mace.language import Program


class Around:
    """What is known of points without a model; the fields are those of `Question` and `Neighbourhood`."""

    space: Space
    axes: tuple[Axis, ...]
    distance: Distance
    rules: tuple[Rule | Budget, ...]
    avoid: tuple[Avoid, ...]
    most_changes: int | None

    @cached_property
    def start(self) -> Point:
        """The factual point."""
        return tuple(axis.start for axis in self.axes)

    def deltas(self, point: Point) -> list[Fraction]:
        """The scaled change of every feature, in [0, 1]."""
        return [axis.delta(index) for axis, index in zip(self.axes, point, strict=True)]

    def distance_of(self, point: Point) -> Fraction:
        """The exact distance of a point from the start, or from the nearest of the rows that count."""
        return self._distances.get(point, lambda: self._distance_of(point))

    @cached_property
    def _distances(self) -> Recent[Fraction]:
        """Distances by point, cached: search, driver and answer all ask about the same few points."""
        return Recent()

    def _distance_of(self, point: Point) -> Fraction:
        match self.distance:
            case Norm():
                moved = list(self.changed(point))
                if not self.distance.alpha and not self.distance.beta:
                    moved = self._largest(moved, point)
                return distance_of_costs(self._charged(j, point[j]) for j in moved)
            case NearestRow(rows=rows):
                return least_to(self.distance.norm, self.axes, rows, point)
            case DistanceProgram():
                return program_distance(self.distance, self.axes, point)

    def _largest(self, moved: list[int], point: Point) -> list[int]:
        """The features of a point, of those that changed, whose change may be the largest one, by floats."""
        rough = [self.axes[j].rough_delta(point[j]) * self._peaks[j] for j in moved]
        least = max(rough, default=0.0) * (1 - 2.0**-40)  # floats of this size lose far less
        return [j for j, size in zip(moved, rough, strict=True) if not size < least] if moderate(least) else moved

    @cached_property
    def _peaks(self) -> list[float]:
        """About how large a change of a feature's whole range counts; infinity where no float is near to that."""
        assert isinstance(self.distance, Norm)
        peaks = [(charge.peak, nearest(charge.peak)) for charge in self.distance.charges]
        return [rough if moderate(rough) or not peak else math.inf for peak, rough in peaks]

    def _charged(self, j: int, index: int) -> Cost:
        """What a value of one feature costs."""
        assert isinstance(self.distance, Norm)
        charge, axis = self.distance.charges[j], self.axes[j]
        return self._costs.get((j, index), lambda: charge.of(axis.delta(index)))

    @cached_property
    def _costs(self) -> Recent[Cost]:
        """Costs by feature and value, cached: points of one search share most of their values."""
        return Recent(4096)

    def distance_between(self, one: Point, other: Point) -> Fraction:
        """The exact distance between two points, scaled and weighted as the distance from the start."""
        if isinstance(self.distance, DistanceProgram):
            return program_distance(self.distance, started(self.axes, one), other)
        norm = self.distance.norm if isinstance(self.distance, NearestRow) else self.distance
        return norm.of([axis.delta(index) for axis, index in zip(started(self.axes, one), other, strict=True)])

    def changed(self, point: Point) -> tuple[int, ...]:
        """The features whose value differs from the start's."""
        return tuple(j for j, axis in enumerate(self.axes) if point[j] != axis.start)

    def obeys(self, point: Point) -> bool:
        """Whether a point is allowed: axes, rules, number of changes, exclusions. Says nothing about the goal."""
        return self._obeyed.get(point, lambda: self._obeys(point))

    @cached_property
    def _obeyed(self) -> Recent[bool]:
        return Recent()

    def _obeys(self, point: Point) -> bool:
        if not all(axis.allows(index) for axis, index in zip(self.axes, point, strict=True)):
            return False
        if self.most_changes is not None and len(self.changed(point)) > self.most_changes:
            return False
        return not self.forbidden(point)

    def forbidden(self, point: Point) -> bool:
        """Whether a rule or an exclusion rules a point of the axes out."""
        return any(self.excluded(a, point) for a in self.avoid) or not all(
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

    def values(self, point: Point) -> dict[str, Any]:
        """A point in the features' own types and units; a dict of the caller's own."""
        return dict(self._shown.get(point, lambda: self.space.show(self.axes, point)))

    @cached_property
    def _shown(self) -> Recent[dict[str, Any]]:
        return Recent()


@dataclass(frozen=True, eq=False)
class Neighbourhood(Around):
    """Points around a start for a model that is only asked; the fields mean what those of a `Question` mean."""

    space: Space
    axes: tuple[Axis, ...]
    distance: Distance
    rules: tuple[Rule | Budget, ...] = ()
    avoid: tuple[Avoid, ...] = ()
    most_changes: int | None = None

    def away(self, avoid: Avoid) -> Neighbourhood:
        """The same with one more exclusion."""
        return replace(self, avoid=(*self.avoid, avoid))


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
    if distance.forms is not None:
        return distance.forms.of(axes, point)
    from mace.language import run

    return exact(run(distance.program, program_inputs(distance.program, axes, point)))
