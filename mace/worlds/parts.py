"""What a world is made of: actions with parameters, and consequences between features.

In:  nothing; `mace.worlds.build` makes these from a text.    Out: frozen values.
Promise: all programs passed `mace.language.check`; levels are numbers, by index. They speak of features by name (`x` is
the state at hand), of the state before an action by `before_x`, of the person's own row by `start_x`, and of the
action's parameters.
Source: Naumann and Ntoutsi 2021: an action, definition 1; consequences, equations 1 and 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from mace.errors import Span
from mace.language import Name, Program
from mace.language.syntax import returning
from mace.space.space import Space


@dataclass(frozen=True)
class Parameter:
    """What an action may choose: a number, all multiples of `step` from `lower` to `upper`, or one of some levels.

    first, last: the parameter's indices; that of a number is its multiple of the step.
    """

    name: str
    step: Fraction
    first: int
    last: int
    levels: tuple[str, ...] = ()

    def value(self, index: int) -> Fraction:
        """The exact value with this index: a number, or the index of a level."""
        return index * self.step

    def show(self, value: Fraction) -> Any:
        """A value as people see it."""
        if self.levels:
            return self.levels[int(value)]
        return int(value) if value.denominator == 1 else float(value)


@dataclass(frozen=True, eq=False)
class Action:
    """One action; the programs are for `mace.worlds.steps` and `mace.worlds.forms`.

    before, after: bool programs, each a condition on the state before, or on both.    change: the transition.
    cost:     effort as a number, from the states before and after.
    affects:  the features that the transition assigns, whether or not their value changes.
    """

    name: str
    parameters: tuple[Parameter, ...]
    before: tuple[Program, ...]
    change: Program
    after: tuple[Program, ...]
    cost: Program
    affects: tuple[str, ...]
    span: Span

    def makes(self, name: str) -> Program:
        """The transition as a program that returns what it makes of one feature that it affects."""
        return replace(self.change, body=returning(self.change.body, lambda _: Name(name)))


@dataclass(frozen=True, eq=False)
class Consequence:
    """An edge: in the state before an action that affects `target`, its cost is discounted by `factor`."""

    source: str
    target: str
    factor: Program
    span: Span


@dataclass(frozen=True, eq=False)
class Laws:
    """What can be done over a space, and what follows from it; `mace.worlds.world.World` reads it from a text."""

    name: str
    space: Space
    actions: tuple[Action, ...]
    consequences: tuple[Consequence, ...]
    text: str = field(repr=False, default="")

    def __repr__(self) -> str:
        counts = f"{len(self.actions)} actions, {len(self.consequences)} consequences"
        return f"{type(self).__name__}({self.name!r}, {counts})"

    def __getitem__(self, name: str) -> Action:
        return next(action for action in self.actions if action.name == name)

    @cached_property
    def into(self) -> Mapping[str, tuple[Consequence, ...]]:
        """Feature -> the consequences that reach it."""
        found: dict[str, tuple[Consequence, ...]] = {}
        for edge in self.consequences:
            found[edge.target] = (*found.get(edge.target, ()), edge)
        return found

    @cached_property
    def speaks(self) -> frozenset[str]:
        """Every feature that some program reads or assigns."""
        programs = [edge.factor for edge in self.consequences]
        found = {name for action in self.actions for name in action.affects}
        for action in self.actions:
            programs += [*action.before, action.change, *action.after, action.cost]
        read = {declared.name for program in programs for declared in program.inputs}
        return frozenset(
            found | {name for name in self.space.names if {name, f"before_{name}", f"start_{name}"} & read}
        )

    @cached_property
    def factors(self) -> dict[tuple[object, ...], Fraction]:
        """What consequences gave where they were asked before, by the edge and the values that it read."""
        return {}
