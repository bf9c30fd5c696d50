"""What an action makes of features, on their grids, over boxes of states and of parameters.

In:  a task; the forms of a state, and a box.    Out: forms of the features that an action changes.
Promise: what the interpreter makes of any state that the forms enclose lies in what comes out.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from mace.plans.nodes import Forms
from mace.plans.task import Task, Variant
from mace.space.axes import Axis, GridAxis
from mace.worlds.affine import ZERO, Form, Ranges
from mace.worlds.forms import Enclosing, UnboundedError
from mace.worlds.steps import index_of


@dataclass(frozen=True)
class Effect:
    """What a variant does to a feature where that is simple: adds a form of its parameters, or sets it to one."""

    adds: bool
    form: Form


class Changes:
    """Encloses the transitions of one task; keeps what each variant does where that is simple."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.axes: dict[str, Axis] = {axis.name: axis for axis in task.question.axes}
        self.start: dict[str, Form] = {name: Form.constant(value) for name, value in task.start.items()}
        self.base = {f"start_{name}": form for name, form in self.start.items()}
        self.effects = [self._effects(variant) for variant in task.variants]
        self.reads = [
            {name for i in v.action.change.inputs for name in (i.name, i.name.removeprefix("before_"))}
            for v in task.variants
        ]

    # --- actions ---

    def names(self, variant: Variant, before: Forms, after: Forms) -> dict[str, Form]:
        names = {**self.base, **{f"before_{name}": form for name, form in before.items()}, **after}
        names |= {name: Form.constant(value) for name, value in variant.levels.items()}
        return names | {one.name: Form.variable(v, one.step) for v, one in variant.variables.items()}

    def changed(self, variant: Variant, state: Forms, walk: Enclosing) -> dict[str, Form]:
        """What an action makes of the features that it affects, on their grids."""
        try:
            made = walk.run(variant.action.change, self.names(variant, state, state))[1]
        except UnboundedError:
            return {name: Form.constant(*self.ends(name)) for name in variant.action.affects}
        found = {}
        for name in variant.action.affects:
            form = made[name]
            assert isinstance(form, Form)
            found[name] = self.rounded(name, form, walk.box)
        return found

    def _effects(self, variant: Variant) -> dict[str, Effect]:
        """What a variant does to features, where that is to add, or to set, a form of its parameters alone."""
        ranges = {**self._all, **{f"state {name}": ends for name, ends in self.all_ends.items()}}
        state = {name: Form.variable(f"state {name}") for name in self.start}
        try:
            made = Enclosing(ranges).run(variant.action.change, self.names(variant, state, state))[1]
        except UnboundedError:
            return {}
        found = {}
        for name in variant.action.affects:
            form = made[name]
            assert isinstance(form, Form)
            if not form.exact:
                continue
            adds = form.tops.get(f"state {name}", 0)
            part = form.without(f"state {name}")
            if adds in (0, form.den) and all(key in variant.variables for key in part.tops):
                found[name] = Effect(adds > 0, part if adds else self.rounded(name, part))
        return found

    # --- features ---

    def ends(self, name: str) -> tuple[Fraction, Fraction]:
        return self.all_ends[name]

    @cached_property
    def all_ends(self) -> dict[str, tuple[Fraction, Fraction]]:
        found = {}
        for name, axis in self.axes.items():
            if isinstance(axis, GridAxis):
                last = axis.upper - 1 if axis.upper == axis.missing else axis.upper
                found[name] = (axis.value(axis.lower), axis.value(last))
            else:
                found[name] = (ZERO, Fraction(axis.count - 1))
        return found

    def inside(self, name: str, form: Form) -> Form:
        """A form that is an interval alone, cut off at the range of its feature."""
        if form.tops or form.exact:
            return form
        first, last = self.ends(name)
        low, high = max(first, form.low), min(last, form.high)
        return Form.constant(low, high) if low <= high else form

    def slack(self, name: str, form: Form, ranges: Ranges) -> Fraction:
        """How far a value may be moved on its way to the nearest value of its feature's grid."""
        axis = self.axes[name]
        if not isinstance(axis, GridAxis):
            return ZERO
        if axis.grid.kind == "step":
            step = axis.grid.step
            # Indices are whole numbers, so that whole multiples of the step stay as they are.
            unit = form.den * step.numerator
            whole = form.exact and not any(c * step.denominator % unit for c in (*form.tops.values(), form.least))
            if whole:
                return ZERO
        return axis.grid.apart(max(map(abs, (*form.span(ranges), *self.ends(name)))))

    def rounded(self, name: str, form: Form, ranges: Ranges | None = None) -> Form:
        """What a feature's grid makes of a form: one value where all of a box is rounded to it."""
        box = self._all if ranges is None else ranges
        slack = self.slack(name, form, box)
        if not slack:
            return form
        first, last = (index_of(self.axes[name], value) for value in form.span(box))
        if first is not None and first == last:
            return Form.constant(self.axes[name].value(first))
        return form.wider(-slack, slack)

    @cached_property
    def _all(self) -> Ranges:
        """The whole box of all parameters."""
        return {
            name: (one.first, one.last) for variant in self.task.variants for name, one in variant.variables.items()
        }
