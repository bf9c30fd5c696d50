"""The cheapest plan for a person, with a lower bound below which there is none.

In:  a model, a space, a row, a world.    Out: a `Plan`.
Promise: as `mace.plans`; what cannot be read raises a MaceError, a limit that is reached is the answer `bounded` or
`unknown`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from mace.base.deadline import Deadline, now
from mace.base.escape import short
from mace.base.exact import as_written
from mace.errors import MaceError, NumberError
from mace.explain.explainer import Explainer
from mace.plans.attempts import Found
from mace.plans.bounders import warm
from mace.plans.certificate import plan_certificate, uncertifiable
from mace.plans.result import Plan, PlanStep
from mace.plans.search import Search
from mace.plans.task import Replayed, Task, movable, task_of
from mace.solve.driver import Status
from mace.solve.protocol import Gap
from mace.space.space import Space
from mace.tables.table import Formula
from mace.worlds.steps import point_of
from mace.worlds.world import World

GAP, RGAP = Fraction(1, 10**6), Fraction(1, 1000)
CERTIFIABLE = "the bound is that of the search; `certify()` writes a certificate of it, if its proof is not too long"


class Planner:
    """A model, a space and a world, read once; `plan` answers for a row."""

    def __init__(
        self, model: object, space: Space, world: World | str | Path, *, rules: Sequence[str | Path] = ()
    ) -> None:  # fmt: skip
        if not isinstance(space, Space):
            raise MaceError(f"the second argument must be a mace.Space, got {type(space).__name__}")
        self.space = space
        self.world = world if isinstance(world, World) else World.load(world, space)
        self.explainer = Explainer(model, movable(space), rules=rules)

    def plan(
        self, x: object, *, goal: Any = None, horizon: int | None = None, discount: bool = True,
        gap: object = None, rgap: object = None, timeout: float | Deadline | None = 60.0,
    ) -> Plan:  # fmt: skip
        """The cheapest plan for a row; arguments as for `mace.plan`."""
        warm(self.explainer.table)
        deadline, began = Deadline.asked(timeout), now()
        task = task_of(self.explainer, self.world, x, goal, horizon, discount)
        close = Gap(_number(gap, GAP, "gap"), _number(rgap, RGAP, "rgap"))
        found = Search(task, close, deadline).run()
        return _plan(task, found, close, now() - began)


def plan(
    model: object, space: Space, x: object, world: World | str | Path, *,
    goal: Any = None, horizon: int | None = None, discount: bool = True,
    gap: object = None, rgap: object = None, rules: Sequence[str | Path] = (), timeout: float | None = 60.0,
) -> Plan:  # fmt: skip
    """The cheapest sequence of actions after which the model decides as wanted, with a proved lower bound of its cost.

    model:    as for `mace.explain`.
    space:    what values features can have. What may change is the world's to say: `change` in the space is not asked.
    x:        the row: a Series, a dict or a list, in the space's own columns and types.
    world:    a `mace.World` over the space, the path of a `.mace` file, or the name of a world that comes with mace.
    goal:     as for `mace.explain`. None: any class but the present one.
    horizon:  the most actions; each is taken at most once. None: all of them.
    discount: whether consequences make later actions cheaper.
    gap, rgap: stop when upper - lower <= gap, or <= rgap * upper. Default: 1e-6, and 0.001 of the cost.
    rules:    conditions that the end must obey, beside those of the space.
    timeout:  seconds (None: no limit).
    Returns a Plan. Raises a MaceError for a wrong model, space, row, world, goal or horizon.
    Source: Naumann and Ntoutsi 2021, section 3.
    """
    return Planner(model, space, world, rules=rules).plan(
        x, goal=goal, horizon=horizon, discount=discount, gap=gap, rgap=rgap, timeout=timeout
    )


def _number(value: object, default: Fraction, what: str) -> Fraction:
    if value is None:
        return default
    try:
        number = as_written(value)
    except NumberError as error:
        raise MaceError(f"{what} must be a number >= 0: {error.message}") from None
    if number < 0:
        raise MaceError(f"{what} must be a number >= 0, got {short(value)}")
    return number


def _plan(task: Task, found: Found, gap: Gap, seconds: float) -> Plan:
    """What was found, as people see it."""
    question = task.question
    reason = uncertifiable(task)
    notes = [CERTIFIABLE if reason is None else f"the bound is that of the search; it has no certificate: {reason}"]
    if found.refused:
        notes.append(
            f"{found.refused} ends that rounding leaves in doubt were asked of the model, which refused them: the "
            "bound is about all others"
        )
    if isinstance(question.model, Formula):
        notes.append("nothing bounds a program over boxes: plans are tried one by one")
    return Plan(
        status=_status(found, gap),
        steps=_steps(task, found.plan) if found.plan else [],
        exact_cost=found.plan.cost if found.plan else None,
        exact_lower_bound=found.lower or Fraction(0),
        start=question.values(question.start),
        goal=question.goal.text,
        decision=task.decision,
        horizon=task.horizon,
        world=task.world.name,
        why=found.why,
        seconds=seconds,
        space=question.space,
        notes=notes,
        searched=found.nodes,
        prover=lambda deadline: plan_certificate(task, found.lower, found.plan, deadline),
    )


def _status(found: Found, gap: Gap) -> Status:
    if found.plan is None:
        return "infeasible" if found.lower is None else "unknown"
    assert found.lower is not None
    return "optimal" if gap.met(found.lower, found.plan.cost) else "bounded"


def _steps(task: Task, plan: Replayed) -> list[PlanStep]:
    """The steps of a plan in the space's own types."""
    question = task.question
    before, made = question.values(question.start), []
    for step in plan.steps:
        after = question.values(point_of(question.axes, step.after))
        parameters = {one.name: one for one in task.world[step.action].parameters}
        made.append(
            PlanStep(
                step.action,
                {name: parameters[name].show(value) for name, value in step.values.items()},
                after,
                {name: (before[name], value) for name, value in after.items() if value != before[name]},
                step.effort,
                step.discount,
                step.cost,
                tuple(step.sources),
            )
        )
        before = after
    return made
