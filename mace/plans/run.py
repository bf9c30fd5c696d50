"""The cheapest plan for a person, with a lower bound below which there is none.

In:  a model, a space, a row, a world.    Out: a `Plan`.
Promise: as `mace.plans`; what cannot be read raises a MaceError, a limit that is reached is the answer `bounded` or
`unknown`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from mace.base.arguments import checked, names
from mace.base.deadline import Deadline, now, stoppable
from mace.base.escape import short
from mace.base.exact import nearest
from mace.base.figures import at_least, at_most, counted
from mace.base.suggestions import meant
from mace.errors import MaceError
from mace.explain.explainer import Explainer
from mace.plans.aims import STEPS, Aimed, aims_of, best, count_of, front, touched, within
from mace.plans.attempts import SearchResult
from mace.plans.bounders import warm
from mace.plans.certificate import plan_certificate, uncertifiable
from mace.plans.plan_front import FrontPoint, PlanFront
from mace.plans.result import Plan, PlanStep
from mace.plans.task import EVERYTHING, GOWER, Allowed, Replayed, Task, movable, task_of
from mace.problem.budget import Budget
from mace.solve.protocol import Gap
from mace.solve.status import Status
from mace.space.space import Space, check_space
from mace.tables.table import Formula
from mace.worlds.steps import point_of
from mace.worlds.world import World

BRKGA = "brkga"
PROPOSING = 0.5  # of the time, at most, that a proposer may take
USUAL = Gap(Fraction(1, 10**6), Fraction(1, 1000))
CERTIFIABLE = (
    "the bound is that of the search; `plan.certify()` or `--certificate FILE` writes its certificate, "
    "if that is not too long"
)


class Planner:
    """A model, a space and a world, read once; `plan` answers for a row.

    The arguments are those of `mace.plan`. Raises a MaceError for a model, a world or a rule that does not fit.
    """

    @checked
    def __init__(
        self, model: object, space: Space, world: World | str | Path, *, rules: Sequence[str | Path] = ()
    ) -> None:  # fmt: skip
        check_space(space)
        self.space = space
        self.world = world if isinstance(world, World) else World.load(world, space)
        self.explainer = Explainer(model, movable(space), rules=rules)

    def __repr__(self) -> str:
        return f"Planner({type(self.explainer.model).__name__}, {self.world!r})"

    @classmethod
    def over(cls, explainer: Explainer, world: World) -> Planner:
        """A planner over a model that was read, for a space in which every feature may change (`movable`)."""
        made = cls.__new__(cls)
        made.space, made.world, made.explainer = explainer.space, world, explainer
        return made

    @checked
    @stoppable()
    def plan(
        self, x: object, *, goal: Any = None, horizon: int | None = None, discount: bool = True,
        objectives: str | Sequence[str] | None = None, avoid: Sequence[str] = (), count: int = 1,
        proposer: str | None = None, gap: object = None, rgap: object = None, timeout: float | Deadline | None = 60.0,
    ) -> Plan:  # fmt: skip
        """The cheapest plan for a row; arguments as for `mace.plan`."""
        deadline, began = Deadline.asked(timeout), now()
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise MaceError(f"count must be a whole number >= 1, got {short(count)}")
        task, close = self.asked(x, goal, horizon, discount, avoid), Gap.asked(gap, rgap, USUAL)
        aims, made = aims_of(task, objectives), list[Plan]()
        first = _proposed(task, proposer, deadline)
        while len(made) < count:
            aimed = best(task, aims, close, deadline, first)
            made.append(_plan(aimed, close, now() - began, self.explainer.assumed))
            if aimed.found.plan is None or aimed.found.why:
                break
            actions = frozenset(step.action for step in aimed.found.plan.steps)
            task = replace(task, allowed=task.allowed._replace(without=task.allowed.without | {actions}))
            first = None
        return replace(made[0], others=made[1:])

    @checked
    @stoppable()
    def front(
        self, x: object, by: str = STEPS, *, goal: Any = None, horizon: int | None = None, discount: bool = True,
        avoid: Sequence[str] = (), points: int = 10, gap: object = None, rgap: object = None,
        timeout: float | Deadline | None = 60.0,
    ) -> PlanFront:  # fmt: skip
        """What fewer actions cost, or fewer that touch a feature, or nearer ends: the cheapest plan for each.

        by:      `steps`, `touching` and the name of a feature, or `gower`.
        points:  by `gower`, how many distances are allowed, equally far from one another, between the least and that of
                 the cheapest plan; those of which the plan is known already are left out.
        timeout: for the whole front.
        The other arguments are those of `mace.plan`.
        """
        deadline, close = Deadline.asked(timeout), Gap.asked(gap, rgap, USUAL)
        task = self.asked(x, goal, horizon, discount, avoid)
        if isinstance(points, bool) or not isinstance(points, int) or points < 2:
            raise MaceError(f"points must be a whole number >= 2, got {short(points)}")
        made, began = list[FrontPoint](), now()
        allowed: Iterator[tuple[int | Fraction, Aimed]] = (
            within(task, points, close, deadline) if by == GOWER else front(task, count_of(task, by), close, deadline)
        )
        for most, aimed in allowed:
            if made and _beats(aimed.found, made[-1].plan):
                made.pop()
            shown = _plan(aimed, close, now() - began, self.explainer.assumed)
            made.append(FrontPoint(most if isinstance(most, int) else nearest(most), shown))
            began = now()
        return PlanFront(by, made[::-1])

    def asked(
        self, x: object, goal: Any = None, horizon: int | None = None, discount: bool = True, avoid: Sequence[str] = ()
    ) -> Task:
        """A question about plans, read; arguments as for `mace.plan`."""
        warm(self.explainer.table)
        task = task_of(self.explainer, self.world, x, goal, horizon, discount)
        return replace(task, allowed=Allowed(dict.fromkeys(touched(task, names(avoid)), 0)))


@checked
def plan(
    model: object, space: Space, x: object, world: World | str | Path, *,
    goal: Any = None, horizon: int | None = None, discount: bool = True,
    objectives: str | Sequence[str] | None = None, avoid: Sequence[str] = (), count: int = 1,
    proposer: str | None = None, gap: object = None, rgap: object = None, rules: Sequence[str | Path] = (),
    timeout: float | None = 60.0,
) -> Plan:  # fmt: skip
    """The cheapest sequence of actions after which the model decides as wanted, with a proved lower bound of its cost.

    model:    as for `mace.explain`.
    space:    what values features can have. What may change is the world's to say: `change` in the space is not asked.
    x:        the row: a Series, a dict or a list, in the space's own columns and types.
    world:    a `mace.World` over the space, the path of a `.mace` file, or the name of a world that comes with mace.
    goal:     as for `mace.explain`. None: any class but the present one.
    horizon:  the most actions; each is taken at most once. None: all of them.
    discount: whether consequences make later actions cheaper.
    objectives: what is made least, the most important first: `steps`, `touching` and the name of a feature (how many
              actions assign it), `gower` (the distance of start and end: the mean over all features of |change| /
              range), and the `cost`, after which only `gower` may stand. Default: the cost alone.
    avoid:    features that no action of the plan may touch.
    proposer: `brkga` searches as the source does (in at most half the time) for a plan to begin with, as a large world
              may need it; None: the search finds its own.
    count:    how many plans, each the cheapest of those with another set of actions than all before; see `Plan.others`.
    gap, rgap: stop when upper - lower <= gap, or <= rgap * upper. Default: 1e-6, and 0.001 of the cost.
    rules:    conditions that the end must obey, beside those of the space.
    timeout:  seconds (None: no limit).
    Returns a Plan. Raises a MaceError for a wrong model, space, row, world, goal or horizon.
    Source: Naumann and Ntoutsi 2021, section 3.
    """
    return Planner(model, space, world, rules=rules).plan(
        x, goal=goal, horizon=horizon, discount=discount, objectives=objectives, avoid=avoid, count=count,
        proposer=proposer, gap=gap, rgap=rgap, timeout=timeout,
    )  # fmt: skip


def _beats(found: SearchResult, dearer: Plan) -> bool:
    """Whether a plan with less of what is counted costs as little as one whose cost is settled.

    As it does where an action more costs nothing.
    """
    cost = dearer.exact_cost if dearer.status == "optimal" else None
    return found.plan is not None and not found.why and cost is not None and found.plan.cost <= cost


def _proposed(task: Task, proposer: str | None, deadline: Deadline) -> Replayed | None:
    """The plan from which the search begins."""
    if proposer is None:
        return None
    if proposer != BRKGA:
        raise MaceError(
            f"no proposer of plans is called {short(proposer)}", hint=meant(proposer, [BRKGA], f"Known: {BRKGA}.")
        )
    from mace.plans.genetic import search

    found = search(task, deadline=deadline.share(PROPOSING))
    return found[0].plan if found else None


def _plan(aimed: Aimed, gap: Gap, seconds: float, assumed: Sequence[str]) -> Plan:
    """What was found, as people see it."""
    found, task = aimed.found, aimed.task
    question = task.question
    reason = uncertifiable(task)
    nearer = aimed.nearer
    limit = min((rule.most for rule in question.rules if isinstance(rule, Budget)), default=None)
    notes = list(assumed)
    if reason is not None:
        notes.append(f"the bound is that of the search; it has no certificate: {reason}")
    elif found.plan is not None or not found.why:  # else there is nothing to certify
        notes.append(CERTIFIABLE)
    if found.refused:
        notes.append(
            f"{found.refused} ends that rounding leaves in doubt were asked of the model, which refused them: the "
            "bound is about all others"
        )
    if isinstance(question.model, Formula):
        notes.append("nothing bounds a program over boxes: plans are tried one by one")
    notes += [
        f"no plan has fewer {'steps' if name == STEPS else f'actions {name}'}: the least is {least}"
        for name, least in aimed.counts
    ]
    if aimed.far is not None and found.plan is not None:
        rest = " that earlier objectives leave" if aimed.counts or limit is None else ""
        far = at_most(task.gower(found.plan.end))
        notes.append(f"Gower's distance of start and end is {far}; no plan{rest} has less than {at_least(aimed.far)}")
    if limit is not None:
        notes.append(f"cost and bound are about plans whose end is within a distance of {at_least(limit)}")
    if task.allowed != EVERYTHING:
        notes.append(_asked(task.allowed))
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
        wanted=question.goal.named(question.space.called),
        counts=dict(aimed.counts),
        exact_gower=task.gower(found.plan.end) if found.plan else None,
        exact_gower_bound=aimed.far,
        exact_gower_limit=limit,
        gower_prover=None if nearer is None else lambda deadline: plan_certificate(nearer, None, None, deadline),
    )


def _asked(allowed: Allowed) -> str:
    """Of which plans the bound speaks, where it does not speak of all."""
    never = [name for name, most in allowed.touching.items() if not most]
    parts = [f"no action of which touches {' or '.join(never)}"] if never else []
    parts += [f"at most {most} of whose actions touch {name}" for name, most in allowed.touching.items() if most]
    if allowed.without:
        above = counted(len(allowed.without), "set that was", "sets that were")
        parts.append(f"of other actions than the {above} found before")
    return f"the bound is about plans {', '.join(parts)}"


def _status(found: SearchResult, gap: Gap) -> Status:
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
