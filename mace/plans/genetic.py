"""The published search for plans: a genetic algorithm with biased random keys (BRKGA), through pymoo.

In:  a task, and how long to search.    Out: the best plans that it came across, replayed; nothing is proved.
Promise: every plan in it was taken by the interpreter, and its end accepted by the deployed model. The same seed gives
the same plans.

A genotype has two numbers in [0, 1] for each action: it is taken if the first, its key, is at most 0.5, in the order of
the keys; the second is its parameter's place between least and largest value (of levels, the floor of the index).
Source: Naumann and Ntoutsi 2021, section 4: 500 individuals, of which .8 are offspring and .2 mutants, bias .7, 150
generations; objectives are the cost, Gower's distance, and for each feature the steps that change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.base.deadline import NEVER, Deadline
from mace.errors import MaceError
from mace.plans.task import Replayed, Task
from mace.problem.goals import Classes
from mace.space.axes import Point
from mace.worlds.steps import Refused, State, Step, take

Floats = NDArray[np.float64]
WORST = 1e9
KEY = 0.5  # the largest key of an action that is taken
Taken: TypeAlias = tuple[tuple[int, tuple[int, ...]], ...]  # actions in order, each with its parameters' places


@dataclass(frozen=True)
class Settings:
    """Of the published search. offspring, mutants: parts of the population."""

    population: int = 500
    offspring: float = 0.8
    mutants: float = 0.2
    bias: float = 0.7
    generations: int = 150
    seed: int = 0


PUBLISHED = Settings()


class Proposed(NamedTuple):
    """One plan, and its objectives: cost, Gower's distance, and for each feature the steps that change it."""

    plan: Replayed
    objectives: tuple[Fraction, ...]


def search(task: Task, settings: Settings = PUBLISHED, deadline: Deadline = NEVER) -> list[Proposed]:
    """The plans that no other one found beats in every objective, the cheapest first; at the deadline some of them.

    Raises MaceError if pymoo is not installed.
    """
    try:
        from pymoo.algorithms.soo.nonconvex.brkga import BRKGA
        from pymoo.core.problem import Problem
    except ImportError:
        raise MaceError("pymoo is not installed", hint='pip install "mace-smt[search]"') from None
    reader = _Reader(task, deadline)

    class Decoded(Problem):  # type: ignore[misc]  # pymoo has no types
        """The genotypes of a generation, decoded and asked together."""

        def __init__(self) -> None:
            super().__init__(n_var=2 * reader.actions, n_obj=2 + len(reader.axes), xl=0.0, xu=1.0)

        def _evaluate(self, X: Floats, out: dict[str, Any], *_: object, **__: object) -> None:
            # What is no plan is worse than every plan, and in an order, so that the front is never all of a generation.
            out["F"] = np.array(
                [[WORST + n if f is None else float(f) for f in row] for n, row in enumerate(reader.read(X))]
            )

    # The elites are the front, whatever their number.
    size = settings.population
    algorithm = BRKGA(
        n_elites=0, n_offsprings=round(size * settings.offspring), n_mutants=round(size * settings.mutants),
        bias=settings.bias, eliminate_duplicates=True,
    )  # fmt: skip
    algorithm.setup(Decoded(), termination=("n_gen", settings.generations), seed=settings.seed, verbose=False)
    while algorithm.has_next() and not deadline.over:
        algorithm.next()
    return reader.front()


class _Reader:
    """Genotypes to objectives; keeps every accepted plan with objectives of its own."""

    def __init__(self, task: Task, deadline: Deadline) -> None:
        self.task, self.deadline = task, deadline
        self.actions = len(task.world.actions)
        self.axes = task.question.axes
        self.found: dict[tuple[Fraction, ...], Proposed] = {}
        self.taken: dict[Taken, Step | None] = {}
        self.plans: dict[Taken, Replayed | None] = {}
        self.accepted: dict[Point, bool] = {}

    def read(self, genotypes: Floats) -> list[Sequence[Fraction | None]]:
        """The objectives of each genotype; all None for one that is no plan, or whose end the model refuses.

        At the deadline the rest of them are taken for no plans: one generation may take longer than the whole limit.
        """
        plans = [None if self.deadline.over else self._decoded(row) for row in genotypes]
        self._ask({plan.end: None for plan in plans if plan is not None and plan.end not in self.accepted})
        rows: list[Sequence[Fraction | None]] = []
        for plan in plans:
            if plan is None or not self.accepted[plan.end]:
                rows.append([None] * (2 + len(self.axes)))
                continue
            objectives = self._objectives(plan)
            self.found.setdefault(objectives, Proposed(plan, objectives))
            rows.append(objectives)
        return rows

    def _ask(self, ends: Iterable[Point]) -> None:
        """Ask the deployed model about the ends of a generation in one call, as the published search does."""
        judge, question, points = self.task.judge, self.task.question, list(ends)
        if isinstance(question.goal.wanted, Classes | None):
            said = [judge.has(question, label) for label in judge.decide_all(question, points)]
        else:
            said = [judge.meets(question, point) for point in points]
        self.accepted |= zip(points, said, strict=True)

    def front(self) -> list[Proposed]:
        """What no other plan found beats in every objective, the cheapest first; each end is asked about alone, too."""
        kept: list[Proposed] = []
        for one in sorted(self.found.values(), key=lambda found: found.objectives):
            if kept and self.deadline.over:
                break
            beaten = any(all(a <= b for a, b in zip(o.objectives, one.objectives, strict=True)) for o in kept)
            if not beaten and self.task.judge.confirms(self.task.question, one.plan.end):
                kept.append(one)
        return kept

    def _decoded(self, genotype: Floats) -> Replayed | None:
        """The plan of a genotype; many genotypes are one plan, and more begin alike."""
        keys, places = genotype[: self.actions], genotype[self.actions :]
        chosen: list[tuple[int, tuple[int, ...]]] = []
        for at in np.argsort(keys, kind="stable")[: self.task.horizon]:
            if keys[at] > KEY:
                break
            counts = [one.last - one.first + 1 for one in self.task.world.actions[at].parameters]
            chosen.append((int(at), tuple(min(int(places[at] * count), count - 1) for count in counts)))
        order = tuple(chosen)
        if order not in self.plans:
            self.plans[order] = self._replayed(order)
        return self.plans[order]

    def _replayed(self, order: Taken) -> Replayed | None:
        state: State = self.task.start
        steps: list[Step] = []
        for length in range(1, len(order) + 1):
            step = self._step(order[:length], state)
            if step is None:
                return None
            steps.append(step)
            state = step.after
        return self.task.ended(steps, state)

    def _step(self, order: Taken, state: State) -> Step | None:
        """The last of some actions, taken in the state after all others; None where it cannot be."""
        if order not in self.taken:
            at, offsets = order[-1]
            action = self.task.world.actions[at]
            values = {
                one.name: one.value(one.first + offset) for one, offset in zip(action.parameters, offsets, strict=True)
            }
            step = take(self.task.world, self.axes, state, action, values, self.task.discount, self.task.start)
            self.taken[order] = None if isinstance(step, Refused) else step
        return self.taken[order]

    def _objectives(self, plan: Replayed) -> tuple[Fraction, ...]:
        touched = dict.fromkeys((axis.name for axis in self.axes), 0)
        before = self.task.start
        for step in plan.steps:
            for name in self.task.world[step.action].affects:
                touched[name] += step.after[name] != before[name]
            before = step.after
        return (plan.cost, self.task.gower(plan.end), *map(Fraction, touched.values()))
