"""What plans are wanted first: of few actions, of few that touch a feature, or near to the start; then the cheapest.

In:  a task, and what is made least, in order.
Out: the cheapest plan of those with the least of what comes before; fronts of the cost and one other.
Promise: each is one search of `mace.plans.search`, or several. What is counted is known of a set of actions before any
of it is taken; a count is proved least by searches that show that there is no plan with less. Of a measure, later
objectives keep to what the plan that was found has of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from mace.base.deadline import Deadline
from mace.base.escape import short
from mace.base.suggestions import meant
from mace.errors import MaceError
from mace.plans.attempts import SearchResult
from mace.plans.search import Search
from mace.plans.task import COST, GOWER, Measure, Replayed, Task
from mace.solve.protocol import Gap
from mace.worlds.affine import ZERO

STEPS, TOUCHING = "steps", "touching "
FIRST = Gap(Fraction(0), Fraction(1))  # met by any plan


class Count(NamedTuple):
    """What is counted of a plan: its actions, or those of them that touch a feature (that assign it)."""

    name: str
    feature: str | None

    def most(self, task: Task) -> int:
        """The largest count that a plan can have."""
        if self.feature is None:
            return task.horizon
        touching = sum(self.feature in action.affects for action in task.world.actions)
        return min(task.horizon, touching, task.allowed.touching.get(self.feature, touching))

    def of(self, task: Task, actions: Sequence[str]) -> int:
        """The count of a plan with these actions."""
        return sum(self.feature is None or self.feature in task.world[name].affects for name in actions)

    def within(self, task: Task, most: int) -> Task:
        """The question about plans whose count is at most this; no plan at all has fewer than none."""
        if self.feature is None:
            return replace(task, horizon=most)
        allowed = task.allowed
        return replace(task, allowed=allowed._replace(touching={**allowed.touching, self.feature: most}))


Aim: TypeAlias = "Count | Measure"


class Aimed(NamedTuple):
    """What was found, the question that it answers, and what was made least beside the cost.

    found:  of the cost: its lower bound holds among the plans that earlier objectives left.
    counts: each count that was made least, and how many.
    far:    no plan that earlier objectives left has a smaller distance; None if it was no objective.
    nearer: the question about plans that are nearer than that, where certificates can speak of it.
    """

    found: SearchResult
    task: Task
    counts: tuple[tuple[str, int], ...]
    far: Fraction | None = None
    nearer: Task | None = None


def count_of(task: Task, name: object) -> Count:
    """What a name counts. Raises MaceError."""
    if name == STEPS:
        return Count(STEPS, None)
    if isinstance(name, str) and name.startswith(TOUCHING):
        return Count(name, touched(task, [name.removeprefix(TOUCHING).strip()])[0])
    known = f"Use `{STEPS}`, `{TOUCHING}` and the name of a feature, or `{GOWER}`."
    raise MaceError(f"{short(name)} counts nothing of a plan", hint=meant(str(name), [STEPS, GOWER], known))


def touched(task: Task, names: Iterable[object]) -> list[str]:
    """Features that actions touch. Raises MaceError for others."""
    known = sorted({name for action in task.world.actions for name in action.affects})
    found = []
    for name in names:
        if not isinstance(name, str) or name not in known:
            hint = meant(str(name), known, f"They touch {', '.join(known)}.")
            raise MaceError(f"no action of the world `{task.world.name}` touches {short(name)}", hint=hint)
        found.append(name)
    return found


def aims_of(task: Task, objectives: object) -> list[Aim]:
    """What is made least, the most important first; the cost last where it is not named. Raises MaceError."""
    if objectives is None:
        return [COST]
    named = [objectives] if isinstance(objectives, str) else objectives if isinstance(objectives, (list, tuple)) else []
    texts = all(isinstance(name, str) for name in named)
    if not named or not texts or len(set(named)) < len(named):
        raise MaceError(
            f"objectives must name each once, got {short(objectives)}",
            hint=f'As ["{STEPS}", "{COST}"]: of the plans of fewest actions the cheapest.',
        )
    late = [name for name in named[named.index(COST) + 1 :] if name != GOWER] if COST in named else []
    if late:
        raise MaceError(
            f"{short(late[0])} after the {COST} would decide between equal costs alone",
            hint=f'Put it before the cost, as ["{STEPS}", "{COST}"]; `Planner.front` shows what fewer actions cost.',
        )
    found: list[Aim] = [COST if n == COST else GOWER if n == GOWER else count_of(task, n) for n in named]
    return found if COST in found else [*found, COST]


class _Kept:
    """What the objectives so far left: the question, the best plan, and what is proved."""

    def __init__(self, task: Task, gap: Gap, deadline: Deadline) -> None:
        self.task, self.gap, self.deadline = task, gap, deadline
        self.plan: Replayed | None = None
        self.cost: SearchResult | None = None
        self.asked = task  # about the cost
        self.counts: list[tuple[str, int]] = []
        self.far: Fraction | None = None
        self.nearer: Task | None = None
        self.nodes = self.refused = 0

    def search(self, task: Task, gap: Gap) -> SearchResult:
        """One search, which begins with the plan that is known."""
        search = Search(task, gap, self.deadline)
        known = self.plan and task.ended(self.plan.steps, self.plan.steps[-1].after if self.plan.steps else task.start)
        if known:
            search.offer(known)
        found = search.run()
        self.nodes, self.refused = self.nodes + found.nodes, self.refused + found.refused
        return found

    def least_count(self, count: Count, then: Aim) -> SearchResult:
        """The least count; what was found is the best of these plans in what comes next, where that is measured."""
        gap = FIRST if isinstance(then, Count) else self.gap
        for most in range(count.most(self.task) + 1):
            part = count.within(self.task, most).measured(COST if isinstance(then, Count) else then)
            found = self.search(part, gap)
            if found.plan is not None or found.lower is not None:
                break
        self.task = part
        if found.plan is not None:
            self.counts.append((count.name, most))
        return found

    def least_of(self, measure: Measure) -> SearchResult:
        """The least of a measure."""
        self.task = self.task.measured(measure)
        return self.search(self.task, self.gap)

    def keep(self, measure: Measure, found: SearchResult) -> None:
        """Keep to what a measure has at least."""
        if measure == COST:
            self.cost, self.asked = found, self.task
        else:
            self.far = found.lower
            if found.lower is not None:
                self.nearer = self.task.at_most(GOWER, found.lower, strict=True).measured(COST)
        if found.plan is not None:
            self.plan = found.plan
            self.task = self.task.at_most(measure, found.plan.value)

    def end(self, found: SearchResult) -> Aimed:
        """The last plan, beside the bounds of the cost."""
        cost = self.cost or replace(found, lower=ZERO if found.plan or found.lower is not None else None)
        plan = found.plan or self.plan
        lower = cost.lower if plan is None or cost.lower is None else min(cost.lower, plan.cost)
        why = found.why or cost.why
        whole = replace(cost, plan=plan, lower=lower, why=why, nodes=self.nodes, refused=self.refused)
        return Aimed(whole, self.asked if self.cost else self.task, tuple(self.counts), self.far, self.nearer)


def best(
    task: Task, aims: Sequence[Aim], gap: Gap, deadline: Deadline, proposed: Replayed | None = None
) -> Aimed:  # fmt: skip
    """The cheapest plan of those with the least of what comes before the cost; and of such, what comes after it.

    proposed: a plan from elsewhere, from which the search begins.
    """
    kept, ready = _Kept(task, gap, deadline), None
    kept.plan = proposed
    for place, aim in enumerate(aims):
        if isinstance(aim, Count):
            found = kept.least_count(aim, aims[place + 1])
            ready = None if isinstance(aims[place + 1], Count) else found
        else:
            found, ready = kept.least_of(aim) if ready is None else ready, None
            kept.keep(aim, found)
        if ready is None and (found.plan is None or found.why):
            break
    return kept.end(found)


def front(task: Task, count: Count, gap: Gap, deadline: Deadline) -> Iterator[tuple[int, Aimed]]:
    """The largest count allowed, and the cheapest plan then: from the cheapest of all, until there is none, or 0."""
    most = count.most(task)
    while most >= 0:
        part = count.within(task, most)
        found = Search(part, gap, deadline).run()
        yield most, Aimed(found, part, ())
        if found.plan is None:
            return
        most = count.of(task, [step.action for step in found.plan.steps]) - 1


def within(task: Task, points: int, gap: Gap, deadline: Deadline) -> Iterator[tuple[Fraction, Aimed]]:
    """The largest distance allowed, and the cheapest plan then: from the cheapest of all to that of the least distance.

    points: as many distances as that, equally far from one another; those of which the plan is known already are left
            out.
    Where the time is over before the least distance is known, the last one is what was found of it.
    """
    cheapest = best(task, [COST], gap, deadline)
    if cheapest.found.plan is None or cheapest.found.why:
        yield Fraction(1), cheapest
        return
    far = task.gower(cheapest.found.plan.end)
    yield far, cheapest
    nearest = best(task, [GOWER, COST], gap, deadline)
    if nearest.found.plan is None or nearest.found.why:
        plan = nearest.found.plan
        near = far if plan is None else min(far, task.gower(plan.end))
        yield near, nearest if near < far else nearest._replace(found=replace(nearest.found, plan=None))
        return
    least = task.gower(nearest.found.plan.end)
    now = far
    for place in range(points - 2, 0, -1):
        most = least + (far - least) * place / (points - 1)
        if most >= now:
            continue
        part = task.at_most(GOWER, most)
        found = Search(part, gap, deadline).run()
        yield most, Aimed(found, part, ())
        if found.plan is None:
            return
        now = task.gower(found.plan.end)
    if least < now:
        yield least, nearest
