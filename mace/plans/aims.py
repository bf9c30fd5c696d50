"""What plans are wanted first: of few actions, or of few that touch a feature; then, of these, the cheapest.

In:  a task, and what is counted.    Out: the cheapest plan of those with the least counts; fronts of cost and a count.
Promise: each is one search of `mace.plans.search`, or several, over fewer sets of actions: what is counted is known of
a set before any of it is taken. A count is proved least by searches that show that there is no plan with less.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from mace.base.deadline import Deadline
from mace.base.escape import short
from mace.base.meant import meant
from mace.errors import MaceError
from mace.plans.attempts import Found
from mace.plans.search import Search
from mace.plans.task import Task
from mace.solve.protocol import Gap

COST, STEPS, TOUCHING = "cost", "steps", "touching "
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


class Aimed(NamedTuple):
    """What was found, the question that it answers, and each count that was made least before."""

    found: Found
    task: Task
    counts: tuple[tuple[str, int], ...]


def count_of(task: Task, name: object) -> Count:
    """What a name counts. Raises MaceError."""
    if name == STEPS:
        return Count(STEPS, None)
    if isinstance(name, str) and name.startswith(TOUCHING):
        return Count(name, touched(task, [name.removeprefix(TOUCHING).strip()])[0])
    known = f"Use `{STEPS}`, or `{TOUCHING}` and the name of a feature."
    raise MaceError(f"{short(name)} counts nothing of a plan", hint=meant(str(name), [STEPS], known))


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


def counts_of(task: Task, objectives: object) -> list[Count]:
    """What is made least before the cost, the most important first. Raises MaceError."""
    if objectives is None:
        return []
    names = [objectives] if isinstance(objectives, str) else objectives if isinstance(objectives, (list, tuple)) else []
    texts = all(isinstance(name, str) for name in names)
    if not names or not texts or COST in names[:-1] or len(set(names)) < len(names):
        raise MaceError(
            f"objectives must name each once, and the cost last, got {short(objectives)}",
            hint=f'As ["{STEPS}", "{COST}"]: of the plans of fewest actions the cheapest. What follows the cost would '
            "decide between equal costs alone; `Planner.front` shows what fewer actions cost.",
        )
    return [count_of(task, name) for name in names if name != COST]


def cheapest(task: Task, counts: Sequence[Count], gap: Gap, deadline: Deadline) -> Aimed:
    """The cheapest plan of those with the least counts, the first count first."""
    least: list[tuple[str, int]] = []
    for place, count in enumerate(counts):
        last = place == len(counts) - 1
        for most in range(count.most(task) + 1):
            part = count.within(task, most)
            found = Search(part, gap if last else FIRST, deadline).run()
            if found.plan is not None or found.lower is not None:
                break
        if found.plan is None:
            return Aimed(found, part, tuple(least))
        task = part
        least.append((count.name, most))
        if last or found.why:
            return Aimed(found, task, tuple(least))
    return Aimed(Search(task, gap, deadline).run(), task, ())


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
