"""One question about plans: a person, a model with a goal, a world, and how long a plan may be.

In:  what `mace.plan` was given, read.    Out: a `Task`, which replays plans by the interpreter.
Promise: `replay` is the only way to a plan: every step by `mace.worlds.steps`, the end by the question's own rules and
by the deployed model. A state may change whatever the world's actions change: what the space says of features that are
fixed, or go one way only, is about questions without a world.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias

from mace.errors import MaceError
from mace.explain.deployed.judge import Judge
from mace.explain.explainer import Explainer
from mace.problem.budget import Budget
from mace.problem.distance import Norm
from mace.problem.question import Question
from mace.space.axes import Point
from mace.space.space import Space
from mace.tables.table import Label
from mace.worlds.parts import Action, Parameter
from mace.worlds.steps import Refused, State, Step, point_of, take
from mace.worlds.world import World

Indices: TypeAlias = Mapping[str, int]  # variable -> index of its parameter's value


@dataclass(frozen=True, eq=False)
class Variant:
    """An action with its parameters that are levels chosen; `variables` are its numbers: variable -> parameter."""

    number: int
    action: Action
    levels: Mapping[str, Fraction]
    variables: Mapping[str, Parameter]

    def values(self, indices: Indices) -> dict[str, Fraction]:
        """All parameters' values, by the indices of the numbers among them."""
        return {**self.levels, **{one.name: one.value(indices[name]) for name, one in self.variables.items()}}


class Replayed(NamedTuple):
    """A plan that the interpreter took to its end; value: what is made least, its cost or another measure."""

    steps: tuple[Step, ...]
    cost: Fraction
    end: Point
    value: Fraction


class Allowed(NamedTuple):
    """Which sets of actions plans may consist of.

    touching: feature -> the most actions that may touch it (that assign it).
    without:  sets of actions that are not asked for; larger ones are.
    """

    touching: Mapping[str, int] = MappingProxyType({})
    without: frozenset[frozenset[str]] = frozenset()


EVERYTHING = Allowed()
Measure: TypeAlias = Literal["cost", "gower"]
COST: Measure = "cost"
GOWER: Measure = "gower"


@dataclass(frozen=True, eq=False)
class Task:
    """See the module.

    decision: what the model says of the row now.
    measure:  what is made least: the cost, or Gower's distance of start and end.
    dearest:  no plan may cost more; None: there is no limit.
    """

    world: World
    question: Question
    judge: Judge
    decision: Label
    horizon: int
    discount: bool
    allowed: Allowed = EVERYTHING
    measure: Measure = COST
    dearest: Fraction | None = None

    @cached_property
    def start(self) -> State:
        """The person's row."""
        return self.world.start(self.question.axes)

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """Every action with every choice of its levels, in the world's order."""
        found: list[Variant] = []
        for action in self.world.actions:
            chosen = [one for one in action.parameters if one.levels]
            numbers = {f"{action.name}.{one.name}": one for one in action.parameters if not one.levels}
            for levels in itertools.product(*(range(one.last + 1) for one in chosen)):
                fixed = {one.name: Fraction(at) for one, at in zip(chosen, levels, strict=True)}
                found.append(Variant(len(found), action, fixed, numbers))
        return tuple(found)

    def _asked_for(self, actions: Sequence[str]) -> bool:
        """Whether plans of these actions are among those that the question is about."""
        allowed = self.allowed
        return (
            len(actions) <= self.horizon
            and frozenset(actions) not in allowed.without
            and all(
                sum(feature in self.world[name].affects for name in actions) <= most
                for feature, most in allowed.touching.items()
            )
        )

    def gower(self, end: Point) -> Fraction:
        """Gower's distance of the start and an end: the mean over all features of |change| / range."""
        return self.norm.of([axis.delta(index) for axis, index in zip(self.question.axes, end, strict=True)])

    @property
    def norm(self) -> Norm:
        """The question's own distance, which is that of Gower."""
        norm = self.question.distance
        assert isinstance(norm, Norm)
        assert norm.name == "l1"
        return norm

    def measured(self, measure: Measure) -> Task:
        """The question about the least of another measure."""
        return replace(self, measure=measure)

    def at_most(self, measure: Measure, most: Fraction, *, strict: bool = False) -> Task:
        """The question about plans of which one measure is at most this; strict: of the distance, below this."""
        if measure == COST:
            return replace(self, dearest=most)
        budget = Budget.of(self.norm, self.question.axes, most, strict=strict)
        return replace(self, question=replace(self.question, rules=(*self.question.rules, budget)))

    def later(self, chosen: frozenset[int]) -> Iterator[int]:
        """The variants of actions that stand behind all chosen ones in the world's order."""
        order = {action.name: at for at, action in enumerate(self.world.actions)}
        last = max((order[self.variants[v].action.name] for v in chosen), default=-1)
        return (v.number for v in self.variants if order[v.action.name] > last)

    def exceeds(self, chosen: frozenset[int]) -> bool:
        """Whether a set of variants, and so every larger one, touches some feature too often."""
        return any(
            sum(feature in self.variants[v].action.affects for v in chosen) > most
            for feature, most in self.allowed.touching.items()
        )

    def left_out(self, chosen: frozenset[int]) -> bool:
        """Whether plans of exactly these variants are not asked for."""
        without = self.allowed.without
        return bool(without) and frozenset(self.variants[v].action.name for v in chosen) in without

    def step(self, state: State, variant: Variant, indices: Indices) -> Step | Refused:
        """Take one action, by the interpreter."""
        values = variant.values(indices)
        return take(self.world, self.question.axes, state, variant.action, values, self.discount, self.start)

    def replay(self, order: Sequence[int], indices: Indices) -> Replayed | None:
        """A plan by the interpreter; None where a step cannot be taken, or the end breaks a rule.

        Says nothing about the model.
        """
        state, steps = self.start, []
        for number in order:
            step = self.step(state, self.variants[number], indices)
            if isinstance(step, Refused):
                return None
            steps.append(step)
            state = step.after
        return self.ended(steps, state)

    def ended(self, steps: Sequence[Step], state: State) -> Replayed | None:
        """A plan of some steps that lead to a state; None where it is not asked for, or the end breaks a rule."""
        end, cost = point_of(self.question.axes, state), sum((step.cost for step in steps), Fraction(0))
        dear = self.dearest is not None and cost > self.dearest
        if dear or not self._asked_for([step.action for step in steps]) or not self.question.obeys(end):
            return None
        return Replayed(tuple(steps), cost, end, cost if self.measure == COST else self.gower(end))


def task_of(
    explainer: Explainer, world: World, x: object, goal: Any, horizon: int | None, discount: bool
) -> Task:  # fmt: skip
    """Read a question about plans. Raises MaceError for a horizon that makes no sense, or a world of another space."""
    most = len(world.actions)
    if horizon is not None and (isinstance(horizon, bool) or not isinstance(horizon, int) or not 1 <= horizon <= most):
        raise MaceError(
            f"horizon must be a whole number from 1 to {most}, the number of actions of `{world.name}`, each of which "
            f"is taken at most once; got {horizon!r}",
            hint="Leave it out for plans of any length.",
        )
    names = [(feature.name, feature.kind) for feature in explainer.space.features]
    if [(feature.name, feature.kind) for feature in world.space.features] != names:
        raise MaceError(
            f"the world `{world.name}` was read for another space", hint="Give the space that it was read with."
        )
    question, decision = explainer.question(x, goal)
    return Task(world, question, explainer.judge, decision, horizon or most, discount)


def movable(space: Space) -> Space:
    """See `Task`: a copy of a space in which every feature may change; its rules stay."""
    return replace(space, features=[feature.free() for feature in space.features])
