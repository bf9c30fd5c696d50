"""The meaning of a world: the interpreter takes one action in one state.

In:  a world, the axes of a person's row, a state, an action and values for its parameters.
Out: a `Step` with the state after it, its effort, its discount and where that came from; or `Refused`, and why.
Promise: nothing is rounded but what the space says: a feature takes the nearest value of its own grid after every
action (of two that are equally near the one with the even index), and a state that leaves its range cannot be reached.
Source: Naumann and Ntoutsi 2021, section 3: cost = effort * discount; equations 1 and 2 for the discount, in the state
before the action. A feature counts as affected when the transition assigns it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from mace.errors import ProgramError, RowError
from mace.language import Program, Value, run
from mace.language.run import ran
from mace.language.show import show_number
from mace.space.axes import Axis, GridAxis, Point
from mace.worlds.parts import Action, Consequence, Laws

State: TypeAlias = Mapping[str, Fraction]
MOST_KEPT = 10_000  # factors


class Source(NamedTuple):
    """One consequence that counted: the edge, and the factor that it gave."""

    source: str
    target: str
    factor: Fraction


class Step(NamedTuple):
    """One action that was taken; cost = effort * discount, all exact."""

    action: str
    values: Mapping[str, Fraction]
    after: State
    effort: Fraction
    discount: Fraction
    sources: tuple[Source, ...]

    @property
    def cost(self) -> Fraction:
        """What the step costs."""
        return self.effort * self.discount


class Refused(NamedTuple):
    """Why an action cannot be taken."""

    why: str


def start_state(world: Laws, axes: Sequence[Axis]) -> State:
    """The state of a row. Raises RowError if a value is missing that the world speaks of."""
    state = {}
    for axis in axes:
        if axis.start == axis.missing or not isinstance(axis, GridAxis) and axis.start >= axis.count:
            if axis.name in world.speaks:
                raise RowError(
                    f"column `{axis.name}`: the value is missing, and the world `{world.name}` speaks of it",
                    hint="Fill it in.",
                )
            continue
        state[axis.name] = axis.value(axis.start)
    return state


def names_of(start: State, before: State, after: State, values: Mapping[str, Fraction]) -> dict[str, Value]:
    """What programs may read: the two states, the start, and the parameters."""
    names: dict[str, Value] = {f"start_{name}": value for name, value in start.items()}
    names |= {f"before_{name}": value for name, value in before.items()}
    return {**names, **after, **values}


def take(
    world: Laws, axes: Sequence[Axis], state: State, action: Action, values: Mapping[str, Fraction], discount: bool,
    start: State | None = None,
) -> Step | Refused:  # fmt: skip
    """Take an action: see the module. start: what `start_state` says, where that was asked before."""
    for one in action.parameters:
        at = values[one.name] / one.step
        if at.denominator != 1 or not one.first <= at <= one.last:
            return Refused(f"{one.show(values[one.name])} is no value of `{one.name}`")
    start = start_state(world, axes) if start is None else start
    names = names_of(start, state, state, values)
    try:
        if not _all(action.before, names):
            return Refused(f"a condition before `{action.name}` does not hold")
        changed = ran(action.change, names).names
        after = dict(state)
        for axis in axes:
            if axis.name in action.affects:
                index = index_of(axis, Fraction(changed[axis.name]))
                if index is None:
                    return Refused(f"`{axis.name}` leaves its range")
                after[axis.name] = axis.value(index)
        names = names_of(start, state, after, values)
        if not _all(action.after, names):
            return Refused(f"a condition after `{action.name}` does not hold")
        effort = Fraction(run(action.cost, names))
        share, sources = factor_of(world, action, names_of(start, state, state, {})) if discount else (Fraction(1), ())
    except ZeroDivisionError:
        return Refused(f"`{action.name}` divides by zero here")
    if effort < 0 or not 0 <= share <= 1:  # what a grid rounds to: `check_sense` refuses the rest
        wrong = f"costs {show_number(effort)}" if effort < 0 else f"has the discount {show_number(share)}"
        raise ProgramError(
            f"the action `{action.name}` {wrong} in a state that can be reached: each feature takes the nearest value "
            "of its grid",
            span=action.cost.body[-1].span, text=world.text, hint="Write `max(0, ..)` around it.",
        )  # fmt: skip
    return Step(action.name, dict(values), after, effort, share, sources)


def _all(tests: Sequence[Program], names: Mapping[str, Value]) -> bool:
    return all(run(test, names) for test in tests)


def factor_of(world: Laws, action: Action, names: Mapping[str, Value]) -> tuple[Fraction, tuple[Source, ...]]:
    """The discount of an action in a state (equations 1 and 2), and the consequences that gave it."""
    shares, sources = [], []
    for feature in action.affects:
        edges = world.into.get(feature, ())
        factors = [_factor(world, edge, names) for edge in edges]
        sources += [Source(e.source, e.target, f) for e, f in zip(edges, factors, strict=True) if f != 1]
        if factors:
            shares.append(sum(factors, Fraction(0)) / len(factors))
    return (sum(shares, Fraction(0)) / len(shares) if shares else Fraction(1)), tuple(sources)


def _factor(world: Laws, edge: Consequence, names: Mapping[str, Value]) -> Fraction:
    """What a consequence gives; few states differ in what one reads."""
    key = (id(edge), *(names[declared.name] for declared in edge.factor.inputs))
    if key not in world.factors:
        if len(world.factors) >= MOST_KEPT:
            world.factors.clear()
        world.factors[key] = Fraction(run(edge.factor, names))
    return world.factors[key]


def index_of(axis: Axis, value: Fraction) -> int | None:
    """The index that a feature takes for a value: the nearest on its grid; None outside of what is allowed."""
    if not isinstance(axis, GridAxis):
        index = int(value)
        return index if value.denominator == 1 and 0 <= index < axis.count and axis.allows(index) else None
    low = axis.grid.floor(value)
    index = low
    below = value - axis.grid.value(low)
    if below:
        above = axis.grid.value(low + 1) - value
        index = low if below < above or below == above and low % 2 == 0 else low + 1
    return index if axis.lower <= index <= axis.upper and index != axis.missing else None


def point_of(axes: Sequence[Axis], state: State) -> Point:
    """A state as a point of the axes; a value that is missing stays so."""
    point = []
    for axis in axes:
        index = index_of(axis, state[axis.name]) if axis.name in state else axis.start
        assert index is not None
        point.append(index)
    return tuple(point)
