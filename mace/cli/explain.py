"""`mace explain`: the nearest input with the wanted decision, for one row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mace.base.exit_codes import DONE, NOT_FOUND, UNDECIDED
from mace.base.files import check_folder
from mace.cli.options import FormatOption, Given, Limits, Measured, Prioritised, Proposing, RowAndGoal, Several
from mace.cli.output import Format, print_json, say, terminal
from mace.cli.progress import Progress
from mace.cli.proofs import WRITTEN, save_one
from mace.cli.resolve import explainer_by_oracle
from mace.solve.status import is_final

BY_SOLVERS = "the solvers' record was written to {path}; mace check {path} asks them again, given this model and row"

GAP = (
    "Stop when distance and bound are this near. Default: 0 for trees, about a billionth for networks, 0.000001 "
    "by solvers."
)
RGAP = "Stop when they are this part of the distance apart. Default: 0, by solvers 0.001."


def explain(
    given: Given,
    asked: RowAndGoal,
    measured: Measured,
    prioritised: Prioritised,
    several: Several,
    limits: Limits,
    proposing: Proposing,
    gap: Annotated[float | None, typer.Option("--gap", help=GAP)] = None,
    rgap: Annotated[float | None, typer.Option("--rgap", help=RGAP)] = None,
    oracle: Annotated[
        str, typer.Option("--oracle", help="auto, ensembles, networks, smt, z3, cvc5, or search: only ask the model.")
    ] = "auto",
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", help="Write the proof of the bound to this file (.json or .json.gz)."),
    ] = None,
    must_exist: Annotated[
        bool, typer.Option("--must-exist", help="Exit with 10 when it is proved that nothing reaches the goal.")
    ] = False,
    n_jobs: Annotated[
        int, typer.Option("--n-jobs", help="Threads that a hard question about trees may use; -1: one a core.")
    ] = 1,
    format: FormatOption = Format.text,
) -> None:
    """Find the nearest input with the wanted decision, and prove that there is none nearer."""
    if certificate is not None:
        check_folder(certificate)
    explainer, row = explainer_by_oracle(given, measured, asked, prioritised, oracle)
    with Progress() as callback:
        answer = explainer.explain(
            row,
            goal=asked.goal,
            gap=gap,
            rgap=rgap,
            most_changes=asked.most_changes,
            oracle=oracle,
            n_jobs=n_jobs,
            callback=callback,
            **several.settings,
            **limits.settings,
            **proposing.settings,
        )
    saved = save_one(certificate, lambda: answer.certificate, BY_SOLVERS if answer.by_solvers else WRITTEN)
    if format is Format.json:
        print_json(answer.to_dict() | ({"certificate": saved.said} if saved.said else {}))
    else:
        terminal().print(answer)
        if saved.said:
            say(saved.said)
    if saved.failed is not None:
        raise saved.failed
    if not is_final(answer.status):
        raise typer.Exit(UNDECIDED)
    raise typer.Exit(NOT_FOUND if must_exist and answer.status == "infeasible" else DONE)
