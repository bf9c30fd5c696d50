"""`mace check`: whether a certificate proves its claim, and whether it speaks of this model and row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mace.cli.options import (
    DONE,
    NOT_FOUND,
    Asked,
    Format,
    FormatOption,
    Given,
    Measured,
    print_json,
    question_of,
)
from mace.errors import FileError, MaceError


def check(
    file: Annotated[Path, typer.Argument(help="A certificate (JSON, or gzip of it).")],
    given: Given,
    asked: Asked,
    measured: Measured,
    format: FormatOption = Format.text,
) -> None:
    """Check a certificate; with --model and --data also that it speaks of this model and this row."""
    from mace.certificate import same_statement
    from mace.proofs.check import Unusable, load
    from mace.proofs.check import check as check_data
    from mace.solver_certificate import from_dict

    try:
        data = load(file)
    except (OSError, Unusable) as error:
        raise FileError(f"{file}: {error}", hint="Give a file that --certificate wrote.") from None
    by_solvers = isinstance(data, dict) and "mace_solver_certificate" in data
    verdict = from_dict(data).check() if by_solvers else check_data(data)
    differences: list[str] = []
    if given.model is not None and by_solvers:
        raise MaceError("a solvers' certificate cannot be compared with a model", hint="Ask again with mace explain.")
    if given.model is not None:
        differences = same_statement(data, question_of(given, measured, asked))
    accepted = verdict.accepted and not differences
    if format is Format.json:
        print_json(
            {
                "accepted": accepted,
                "verdict": str(verdict),
                "compared_with_model": given.model is not None,
                "differences": differences,
            }
        )
    else:
        typer.echo(str(verdict))
        for difference in differences:
            typer.echo(f"not about this question: {difference}")
        if given.model is not None and not differences:
            typer.echo("the statement is the one of this model, space and row")
    raise typer.Exit(DONE if accepted else NOT_FOUND)
