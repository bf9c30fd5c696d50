"""Plans as methods of the audits' engine: the proved one, a proved front, and what the published search finds.

In:  the name of a world, whether consequences count, how many actions.
Out: a record whose distance is the cost of the plan; its note holds the actions, or the points of a front, as JSON.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from mace.audit.record import Record
from mace.audit.task import Query, Task
from mace.base.deadline import Deadline
from mace.base.escape import json_text
from mace.base.exact import above, below, rounded_text
from mace.explain.explainer import Explainer
from mace.plans.genetic import PUBLISHED, Settings, search
from mace.plans.result import Plan
from mace.plans.run import Planner
from mace.worlds.world import World


class Point(NamedTuple):
    """A plan of a front: how many actions it has, what it costs, and whether that is proved to be the least."""

    steps: int
    cost: float
    proved: bool


class Told(NamedTuple):
    """The actions of a plan in order, and the seconds of CPU time that finding it took."""

    actions: Sequence[str]
    seconds: float


@dataclass(frozen=True)
class Planned:
    """The cheapest plan, proved."""

    world: str
    discount: bool
    horizon: int | None = None

    def __call__(self, explainer: Explainer, query: Query, task: Task, blank: Record, deadline: Deadline) -> Record:
        """Cost and lower bound; the note has what `told` reads."""
        planner, began = _planner(explainer, self.world), time.process_time()
        plan = planner.plan(
            query.values, goal=task.goal, horizon=self.horizon, discount=self.discount, timeout=deadline
        )
        made = Told([step.action for step in plan.steps], time.process_time() - began)
        return _recorded(plan, replace(blank, notes=[json_text(made)]))


@dataclass(frozen=True)
class Fronted:
    """What fewer actions cost, proved."""

    world: str
    discount: bool

    def __call__(self, explainer: Explainer, query: Query, task: Task, blank: Record, deadline: Deadline) -> Record:
        """The note has the points, the fewest actions first; the record itself is about the cheapest plan."""
        front = _planner(explainer, self.world).front(
            query.values, goal=task.goal, discount=self.discount, timeout=deadline
        )
        points = [Point(len(p.steps), p.cost, p.status == "optimal") for p in front.plans if p.cost is not None]
        return _recorded(front.points[-1].plan, replace(blank, notes=[json_text(points)]))


@dataclass(frozen=True)
class Evolved:
    """The published search; its seed is the number of the row."""

    world: str
    discount: bool
    settings: Settings = PUBLISHED

    def __call__(self, explainer: Explainer, query: Query, task: Task, blank: Record, deadline: Deadline) -> Record:
        """The cheapest plan that it found; the note has the points of its front."""
        planner = _planner(explainer, self.world)
        asked = planner.asked(query.values, goal=task.goal, discount=self.discount)
        front = search(asked, replace(self.settings, seed=query.row), deadline)
        if not front:
            return replace(blank, status="unknown", why="it found nothing", oracle="search:brkga")
        cost = front[0].plan.cost
        return replace(
            blank,
            status="bounded",
            why="found by a search: nothing is proved",
            distance=above(cost),
            lower_bound=0.0,
            exact_distance=rounded_text(cost, above),
            exact_lower_bound="0",
            oracle="search:brkga",
            notes=[json_text([Point(len(one.plan.steps), float(one.plan.cost), proved=False) for one in front])],
        )


@lru_cache(maxsize=2)
def _planner(explainer: Explainer, world: str) -> Planner:
    """A planner over what a worker has read."""
    return Planner.over(explainer, World.load(world, explainer.space))


def _recorded(plan: Plan, blank: Record) -> Record:
    lower: Fraction | None = None if plan.status == "infeasible" else plan.exact_lower_bound
    cost = plan.exact_cost
    return replace(
        blank,
        status=plan.status,
        why=plan.why,
        distance=plan.cost,
        lower_bound=None if lower is None else plan.lower_bound,
        exact_distance=None if cost is None else rounded_text(cost, above),
        exact_lower_bound=None if lower is None else rounded_text(lower, below),
        oracle="plans",
    )


def points(record: Record) -> list[Point]:
    """The points of a front that a record holds."""
    return [Point(*point) for point in _note(record)]


def told(record: Record) -> Told:
    """The actions of a plan, and its seconds; of a query that failed, none."""
    note = _note(record)
    return Told(*note) if note else Told((), record.seconds)


def _note(record: Record) -> list[Any]:
    found: list[Any] = json.loads(record.notes[0]) if record.notes else []
    return found
