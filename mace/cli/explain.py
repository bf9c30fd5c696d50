"""`mace explain`: the nearest input with the wanted decision, for one row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mace.base.files import check_folder
from mace.cli.options import (
    DONE,
    NOT_FOUND,
    UNDECIDED,
    Asked,
    Format,
    FormatOption,
    Given,
    Limits,
    Measured,
    Prioritised,
    Proposing,
    Several,
    explainer_by_oracle,
    print_json,
    say,
    terminal,
)
from mace.cli.progress import Progress
from mace.errors import CertificateError, FileError

if TYPE_CHECKING:
    from mace.explain.answer import Answer


def explain(
    given: Given,
    asked: Asked,
    measured: Measured,
    prioritised: Prioritised,
    several: Several,
    limits: Limits,
    proposing: Proposing,
    gap: Annotated[float | None, typer.Option("--gap", help="Stop at this absolute gap between the bounds.")] = None,
    rgap: Annotated[float | None, typer.Option("--rgap", help="Stop at this relative gap.")] = None,
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
    written, failed = "", None
    if certificate is not None:
        try:
            written = _save(answer, certificate)
        except FileError as error:  # raised when the answer has been printed
            failed = error
    if format is Format.json:
        print_json(answer.to_dict() | ({"certificate": written} if written else {}))
    else:
        terminal().print(answer)
        if written:
            say(written)
    if failed is not None:
        raise failed
    if answer.status in ("unknown", "bounded"):
        raise typer.Exit(UNDECIDED)
    raise typer.Exit(NOT_FOUND if must_exist and answer.status == "infeasible" else DONE)


def _save(answer: Answer, path: Path) -> str:
    try:
        made = answer.certificate
    except CertificateError as error:
        return f"no certificate: {error.message}"
    made.save(path)
    if answer.by_solvers:
        return f"the solvers' record was written to {path}; mace check {path} asks them again, given this model and row"
    return f"certificate written to {path}; check it with: mace check {path}"
