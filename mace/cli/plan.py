"""`mace plan`: the cheapest sequence of actions after which the model decides as wanted, for one row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mace.base.exit_codes import DONE, NOT_FOUND, UNDECIDED
from mace.cli.alive import alive
from mace.cli.options import FormatOption, Given, names_of
from mace.cli.output import Format, print_json, say, terminal
from mace.cli.plots import check_plot, save_plot
from mace.cli.proofs import save_one
from mace.cli.resolve import planned_of
from mace.errors import MaceError
from mace.solve.status import is_final

if TYPE_CHECKING:
    from mace.plans.plan_front import PlanFront
    from mace.plans.result import Plan

POINTS = 10
WorldOption = Annotated[
    str | None,
    typer.Option(
        "--world", help="A world (.mace), or adult, german, german-corrected, loans: actions and their costs."
    ),
]


@dataclass(frozen=True)
class Aims:
    """Which plans are wanted, beside the cheapest."""

    objectives: Annotated[
        str | None,
        typer.Option("--objectives", help="Least first: steps,cost; gower,cost; 'touching Age,cost'."),
    ] = None
    avoid: Annotated[str | None, typer.Option("--avoid", help="Features that no action may touch: Age,Job.")] = None
    proposer: Annotated[
        str | None, typer.Option("--proposer", help="Begin with the plan that a heuristic finds: brkga.")
    ] = None
    count: Annotated[int, typer.Option("--count", help="How many plans, each of another set of actions.")] = 1
    front: Annotated[
        str | None, typer.Option("--front", help="What less of it costs: steps, gower, or 'touching Age'.")
    ] = None
    points: Annotated[
        int | None,
        typer.Option("--points", help=f"Of a front by gower: how many distances are allowed. Default: {POINTS}."),
    ] = None

    @property
    def asked(self) -> dict[str, Any]:
        """Arguments of `mace.plan`."""
        objectives = names_of(self.objectives) or None
        return {"objectives": objectives, "count": self.count, "proposer": self.proposer}


GAP = "Stop when cost and bound are this near. Default: 0.000001."
RGAP = "Stop when they are this part of the cost apart. Default: 0.001."


def plan(
    given: Given,
    aims: Aims,
    world: WorldOption = None,
    row: Annotated[int, typer.Option("--row", help="Which row of the data to plan for, from 0.")] = 0,
    goal: Annotated[str | None, typer.Option("--goal", help="As for mace explain.")] = None,
    horizon: Annotated[int | None, typer.Option("--horizon", help="The most actions. Default: all of them.")] = None,
    discount: Annotated[
        bool, typer.Option("--discount/--no-discount", help="Whether consequences make later actions cheaper.")
    ] = True,
    rule: Annotated[list[str] | None, typer.Option("--rule", help="A condition that the end must obey.")] = None,
    gap: Annotated[float | None, typer.Option("--gap", help=GAP)] = None,
    rgap: Annotated[float | None, typer.Option("--rgap", help=RGAP)] = None,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds; 0 means no limit.")] = 60.0,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Draw the states to this file (.svg, .png, .pdf).")
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", help="Write the proof of the bound to this file (.json or .json.gz)."),
    ] = None,
    must_exist: Annotated[
        bool, typer.Option("--must-exist", help="Exit with 10 when it is proved that there is no plan.")
    ] = False,
    format: FormatOption = Format.text,
) -> None:
    """Find the cheapest sequence of actions that reaches the wanted decision, and a bound below which there is none.

    With --data cscf-adult or cscf-german the model, the space and the world are those of that benchmark.
    """
    from mace.base.files import check_folder
    from mace.plans.run import Planner

    _check_front(aims, {"--plot": plot, "--certificate": certificate, "--must-exist": must_exist})
    if plot is not None:
        check_plot(plot)
    if certificate is not None:
        check_folder(certificate)
    asked = planned_of(given, world, goal)
    alive.doing = "searching plans"
    planner = Planner(asked.model, asked.space, asked.world, rules=rule or [])
    common: dict[str, Any] = {
        "goal": asked.goal, "horizon": horizon, "discount": discount, "avoid": names_of(aims.avoid),
        "gap": gap, "rgap": rgap, "timeout": timeout or None,
    }  # fmt: skip
    if aims.front is not None:
        _show_front(planner.front(asked.row(row), aims.front, points=aims.points or POINTS, **common), format)
    made = planner.plan(asked.row(row), **aims.asked, **common)
    saved = save_one(certificate, lambda: made.certify(timeout or None))
    _show(made, saved.said, format)
    if plot is not None and made.steps:
        save_plot(made.plot(), plot)
    elif plot is not None:
        say(f"{plot} is not written: the plan has no step to draw ({made.status})", err=True)
    if saved.failed is not None:
        raise saved.failed
    if not is_final(made.status):
        raise typer.Exit(UNDECIDED)
    raise typer.Exit(NOT_FOUND if must_exist and made.status == "infeasible" else DONE)


def _show(made: Plan, written: str, format: Format) -> None:
    """Print a plan, and what is said of its certificate."""
    from mace.plans.run import CERTIFIABLE

    if written:  # what became of it is said
        made = replace(made, notes=[note for note in made.notes if note != CERTIFIABLE])
    if format is Format.json:
        print_json(made.to_dict() | ({"certificate": written} if written else {}))
    else:
        terminal().print(made)
        if written:
            say(written)


def _check_front(aims: Aims, more: dict[str, object]) -> None:
    """Refuse, before any work, what a front would leave undone, and what only a front would do."""
    from mace.plans.task import GOWER

    if aims.points is not None and (aims.front != GOWER or aims.points < 2):
        raise MaceError(
            "--points is about a front by gower, and at least 2", hint="Add --front gower, or leave --points out."
        )
    if aims.front is None:
        return
    of_aims = {"--objectives": aims.objectives, "--proposer": aims.proposer, "--count": aims.count != 1}
    for option, value in (of_aims | more).items():
        if value:
            raise MaceError(
                f"{option} is about one plan, and --front finds several",
                hint=f"Leave out one of the two: without --front, {option} speaks of the cheapest plan.",
            )


def _show_front(made: PlanFront, format: Format) -> None:
    """Print a front, and end."""
    if format is Format.json:
        print_json(made.to_dict())
    else:
        say(made)
    open_ends = any(not is_final(point.plan.status) for point in made.points)
    raise typer.Exit(UNDECIDED if open_ends else DONE)
