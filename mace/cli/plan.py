"""`mace plan`: the cheapest sequence of actions after which the model decides as wanted, for one row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mace.cli.alive import alive
from mace.cli.options import (
    DONE,
    NOT_FOUND,
    UNDECIDED,
    Format,
    FormatOption,
    Given,
    planned_of,
    print_json,
    say,
    terminal,
)

if TYPE_CHECKING:
    from mace.plans.result import Plan

WorldOption = Annotated[
    str | None,
    typer.Option(
        "--world", help="A world (.mace), or adult, german, german-corrected, loans: actions and their costs."
    ),
]


def plan(
    given: Given,
    world: WorldOption = None,
    row: Annotated[int, typer.Option("--row", help="Which row of the data to plan for, from 0.")] = 0,
    goal: Annotated[str | None, typer.Option("--goal", help="As for mace explain.")] = None,
    horizon: Annotated[int | None, typer.Option("--horizon", help="The most actions. Default: all of them.")] = None,
    discount: Annotated[
        bool, typer.Option("--discount/--no-discount", help="Whether consequences make later actions cheaper.")
    ] = True,
    rule: Annotated[list[str] | None, typer.Option("--rule", help="A condition that the end must obey.")] = None,
    gap: Annotated[float | None, typer.Option("--gap", help="Stop at this absolute gap between the bounds.")] = None,
    rgap: Annotated[float | None, typer.Option("--rgap", help="Stop at this relative gap.")] = None,
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

    for path in (plot, certificate):
        if path is not None:
            check_folder(path)
    asked = planned_of(given, world, row, goal)
    alive.doing = "searching plans"
    made = Planner(asked.model, asked.space, asked.world, rules=rule or []).plan(
        asked.row, goal=asked.goal, horizon=horizon, discount=discount, gap=gap, rgap=rgap, timeout=timeout or None
    )
    if plot is not None and made.steps:
        made.plot().figure_.savefig(plot)
        say(f"plot written to {plot}", err=True)
    written = None if certificate is None else _save(made, certificate, timeout or None)
    if format is Format.json:
        print_json(made.to_dict() | ({"certificate": written} if written else {}))
    else:
        terminal().print(made)
        if written:
            say(written)
    if made.status in ("unknown", "bounded"):
        raise typer.Exit(UNDECIDED)
    raise typer.Exit(NOT_FOUND if must_exist and made.status == "infeasible" else DONE)


def _save(made: Plan, path: Path, timeout: float | None) -> str:
    """Write the certificate; says where it is, or why there is none."""
    from mace.errors import CertificateError

    try:
        made.certify(timeout).save(path)
    except CertificateError as error:
        return f"no certificate: {error.message}"
    return f"certificate written to {path}; check it with: mace check {path}"
