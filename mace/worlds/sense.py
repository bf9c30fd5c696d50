"""Does a world make sense? What can be seen without any person's row.

In:  a world whose programs are well formed.    Out: nothing, or a ProgramError at the place.
Promise: refused is only what is wrong for every person, or what the planner relies on and cannot see: costs that are
never negative, factors within 0..1. A cost that could be negative as far as enclosures tell is refused.
"""

from __future__ import annotations

from fractions import Fraction

from mace.errors import ProgramError, Span
from mace.language import Program, possible
from mace.language.interval import NO
from mace.language.show import show_number
from mace.space.feature import Feature
from mace.worlds.affine import Form, Ranges
from mace.worlds.forms import Enclosing, Limit, UnboundedError
from mace.worlds.parts import Action, Laws

LARGEST = Fraction(10**300)  # cost of an action: sums and slopes of costs are doubles
ROUNDS = 3  # of narrowing a box by conditions
PREFIXES = ("", "before_", "start_")


def check_sense(world: Laws) -> None:
    """Raise a ProgramError for a world that cannot be meant."""
    for action in world.actions:
        _action(world, action)
    _factors(world)
    _circle(world)


def _ranges(world: Laws, action: Action | None) -> dict[str, tuple[Fraction, Fraction]]:
    """The range of every name that programs may read."""
    found: dict[str, tuple[Fraction, Fraction]] = {}
    for feature in world.space.features:
        ends = feature.bounds() if feature.numeric else (Fraction(0), Fraction(len(feature.levels) - 1))
        found |= {prefix + feature.name: ends for prefix in PREFIXES}
    for one in () if action is None else action.parameters:
        found[one.name] = (one.value(one.first), one.value(one.last))
    return found


def _wrong(world: Laws, message: str, span: Span | None, hint: str) -> ProgramError:
    return ProgramError(message, span=span, text=world.text, hint=hint)


def _action(world: Laws, action: Action) -> None:
    ranges = _ranges(world, action)
    walk = Enclosing(ranges)
    names = {name: Form.variable(name) for name in ranges}
    # Before an action, both names of a feature mean the same.
    names |= {f"before_{f.name}": names[f.name] for f in world.space.features}
    limits = list[Limit]()
    for test in action.before:
        _can_hold(world, walk, test, names, limits)
    try:
        changed = walk.run(action.change, names)[1]
    except UnboundedError:
        return
    for name in action.affects:
        form = changed[name]
        assert isinstance(form, Form)
        names[name] = form
    # A condition after is about numbers on their grids. Of costs rounding is left aside: `c - before_c` is never
    # negative where c grows, and a form with the rounding of c does not know that.
    grids = {name: _on_grid(world.space[name], names[name], walk.box) for name in action.affects}
    for test in action.after:
        _can_hold(world, walk, test, {**names, **grids}, None)
    least, most = _ends(walk, action.cost, names)
    if most is not None and most > LARGEST:
        raise _wrong(
            world, f"the cost of `{action.name}` can be larger than 1e300, which bounds cannot hold",
            action.cost.body[-1].span, "Write costs in another unit, or narrow the range of a parameter.",
        )  # fmt: skip
    if least is not None and least < 0:
        raise _wrong(
            world, f"the cost of `{action.name}` can be negative: as far as can be seen {show_number(least)} at least",
            action.cost.body[-1].span, "Write `abs(..)` or `max(0, ..)` around it, or narrow the range of a parameter.",
        )  # fmt: skip


def _on_grid(feature: Feature, form: Form, ranges: Ranges) -> Form:
    """What the grid of a feature may make of a form, whatever start of its own it has."""
    if not feature.numeric:
        return form
    away = feature.own_grid.apart(max(map(abs, (*form.span(ranges), *feature.bounds()))))
    return form.wider(-away, away)


def _can_hold(
    world: Laws, walk: Enclosing, test: Program, names: dict[str, Form], limits: list[Limit] | None
) -> None:  # fmt: skip
    """Refuse a condition that cannot hold, alone or with those whose limits are given, to which its own are added."""
    try:
        said = walk.holds([test], names)
        if limits is not None:
            limits += walk.limits([test], names)
    except UnboundedError:
        return
    if said == NO or limits and _empty(limits, walk.box):
        raise _wrong(
            world, "no state meets this condition", test.body[-1].span,
            "Compare it with the ranges of the features and of the parameters.",
        )  # fmt: skip


def _empty(limits: list[Limit], ranges: Ranges) -> bool:
    """Whether no point of a box meets all limits, as far as narrowing it by one after the other tells."""
    box = dict(ranges)
    for form, strict in limits * ROUNDS:
        first = {name: factor * box[name][factor < 0] for name, factor in form.coef.items()}
        least = form.low + sum(first.values())
        if least > 0 or strict and least >= 0:
            return True
        for name, factor in form.coef.items():
            # factor * x + the least of all others <= 0
            end, (low, high) = (first[name] - least) / factor, box[name]
            box[name] = (low, min(high, end)) if factor > 0 else (max(low, end), high)
    return False


def _ends(walk: Enclosing, program: Program, names: dict[str, Form]) -> tuple[Fraction | None, Fraction | None]:
    """The tightest bounds of a number that affine forms and intervals give; None for none."""
    lows, highs = [], []
    try:
        form = walk.run(program, names)[0]
        assert isinstance(form, Form)
        low, high = form.span(walk.box)
        lows.append(low)
        highs.append(high)
    except UnboundedError:
        pass
    try:
        found = possible(program, {i.name: names[i.name].span(walk.box) for i in program.inputs})
        assert isinstance(found, tuple)
        lows.append(found[0])
        highs.append(found[1])
    except ZeroDivisionError:
        pass
    return max(lows, default=None), min(highs, default=None)


def _factors(world: Laws) -> None:
    ranges = _ranges(world, None)
    walk = Enclosing(ranges)
    names = {name: Form.variable(name) for name in ranges}
    for edge in world.consequences:
        low, high = _ends(walk, edge.factor, names)
        if low is None or high is None or low < 0 or high > 1:
            ends = (
                ""
                if low is None or high is None
                else f": as far as can be seen {show_number(low)}..{show_number(high)}"
            )
            raise _wrong(
                world, f"the factor of `{edge.source}` on `{edge.target}` can leave 0..1{ends}", edge.span,
                "Write `max(0, min(1, ..))` around it.",
            )  # fmt: skip


def _circle(world: Laws) -> None:
    """Refuse consequences that go round in a circle."""
    into = {target: [edge.source for edge in edges] for target, edges in world.into.items()}
    for edge in world.consequences:
        seen, todo = set(), [edge.source]
        while todo:
            name = todo.pop()
            if name == edge.target:
                message = f"this consequence closes a circle: `{edge.target}` has an effect on `{edge.source}`"
                raise _wrong(world, message, edge.span, "Leave out one edge of the circle.")
            if name not in seen:
                seen.add(name)
                todo += into.get(name, [])
