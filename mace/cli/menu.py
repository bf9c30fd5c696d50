"""`mace menu`: for one row, which features suffice for the decision wanted, and which provably do not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mace.base.exit_codes import DONE, UNDECIDED
from mace.base.files import make_folder
from mace.cli.alive import alive
from mace.cli.options import FormatOption, Given, Limits, Measured, OracleOption, RowAndGoal
from mace.cli.output import Format, print_json, say
from mace.cli.proofs import save
from mace.cli.resolve import explainer_of


def menu(
    given: Given,
    asked: RowAndGoal,
    measured: Measured,
    limits: Limits,
    oracle: OracleOption = "auto",
    safe: Annotated[bool, typer.Option("--safe/--no-safe", help="Prove how far each new value may move, too.")] = True,
    certificates: Annotated[
        Path | None, typer.Option("--certificates", help="A folder for the proof of each line.")
    ] = None,
    format: FormatOption = Format.text,
) -> None:
    """Find every minimal set of features that suffices, with its nearest change, and prove what does not suffice."""
    if certificates is not None:
        make_folder(certificates, "certificates")
    explainer, row = explainer_of(given, measured, asked)
    alive.doing = "trying sets of features"
    made = explainer.menu(
        row, goal=asked.goal, most_changes=asked.most_changes, oracle=oracle, safe=safe, **limits.settings
    )
    if format is Format.json:
        print_json(made.to_dict())
    else:
        say(made)
    if certificates is not None:
        save(certificates, ((f"{number:03}", answer) for number, answer in enumerate(made.proofs())))
    raise typer.Exit(DONE if made.complete else UNDECIDED)
