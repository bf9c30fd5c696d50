"""Gower's distance of start and end over a node: a lower line, and what keeps within a distance.

In:  a task, the forms of an end, and a box.
Out: `Near`: a form whose lower line bounds the distance of every end; limits of the budgets among the rules.
Promise: exact arithmetic; what the question's own norm charges for a change, from below. Where a feature may lie on
either side of its start, nothing is said of it but where to divide.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from mace.plans.nodes import Cut, Forms, cuts_of
from mace.plans.task import Task
from mace.problem.budget import Budget
from mace.space.axes import Axis, GridAxis
from mace.worlds.affine import ZERO, Form, Ranges
from mace.worlds.forms import Limit


@dataclass
class Near:
    """line, floor: bound the distance from below; exact: the line is the same on smaller boxes; cuts: its turns."""

    line: Form = field(default_factory=lambda: Form.constant(ZERO))
    floor: Fraction = ZERO
    exact: bool = True
    cuts: list[Cut] = field(default_factory=list)

    def add(self, axis: Axis, form: Form, slope: Fraction, ranges: Ranges) -> None:
        """Add what one feature counts; slope: for a change by the whole of its range."""
        low, high = form.span(ranges)
        start = axis.value(axis.start)
        if not isinstance(axis, GridAxis) and not axis.ordered:
            apart = not low <= start <= high
            self.line, self.floor = self.line + Form.constant(slope * apart), self.floor + slope * apart
            self.exact &= low == high
            return
        per = slope / _scale(axis)
        if low >= start or high <= start:
            moved = form.wider(-start, -start).times(per if low >= start else -per)
            self.line, self.exact = self.line + moved, self.exact and form.exact
            self.floor += per * min(abs(low - start), abs(high - start))
        else:
            self.exact = False
            self.cuts += cuts_of(form, start, ranges)


def _scale(axis: Axis) -> Fraction:
    """What a change is divided by: see the axis's own `delta`."""
    return axis.scale if isinstance(axis, GridAxis) else Fraction(axis.count - 1 - (axis.missing is not None))


def near(task: Task, end: Forms, ranges: Ranges) -> Near:
    """See the module."""
    found = Near()
    for axis, charge in zip(task.question.axes, task.norm.charges, strict=True):
        form = end.get(axis.name)
        if form is not None and (form.tops or not form.exact or form.low != axis.value(axis.start)):
            found.add(axis, form, charge.slope, ranges)
    return found


def kept_to(budget: Budget, found: Near) -> list[Limit] | None:
    """What has to hold for a distance to be within a budget; None where it cannot be."""
    if not budget.allows(found.floor):
        return None
    return [Limit(found.line.wider(-budget.most, -budget.most), strict=budget.strict)]
