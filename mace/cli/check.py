"""`mace check`: whether certificates prove their claims, and whether one speaks of this model and row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mace.cli.options import (
    DONE,
    NOT_FOUND,
    USAGE,
    Asked,
    Format,
    FormatOption,
    Given,
    Measured,
    print_json,
    question_of,
)
from mace.errors import CertificateError, FileError, MaceError
from mace.files import reason


def check(
    file: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="A certificate (JSON, or gzip of it), or a folder of them.")
    ],
    given: Given,
    asked: Asked,
    measured: Measured,
    format: FormatOption = Format.text,
) -> None:
    """Check a certificate; with --model and --data also that it speaks of this model and this row."""
    if file.is_dir():
        if given.model is not None:
            raise MaceError("a model is compared with one certificate at a time", hint=f"Give a file of {file}.")
        _check_folder(file, format)
    from mace.certificate import same_statement

    data, verdict = _checked(file, {})
    differences: list[str] = []
    if given.model is not None:
        if "mace_solver_certificate" in data:
            raise MaceError(
                "what solvers refuted cannot be compared with a model", hint="Ask the question again: mace explain."
            )
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


def _checked(file: Path, models: dict[str, Any]) -> tuple[Any, Any]:
    """What is in a file, and the verdict on it: the checker's, or that of the solvers on what they refuted."""
    from mace.proofs.check import Unusable, check, load
    from mace.solver_certificate import from_dict

    try:
        data = load(file, models)
        if isinstance(data, dict) and "mace_solver_certificate" in data:
            return data, from_dict(data).check()
        return data, check(data)
    except (OSError, Unusable) as error:
        hint = "Give a file that --certificate or --certificates wrote."
        raise FileError(f"{file}: {reason(error)}", hint=hint) from None


def _check_folder(folder: Path, format: Format) -> None:
    """Check every certificate in a folder; what rests on solvers is counted apart."""
    from mace.proofs.check import files_of
    from mace.solver_certificate import SUFFIX

    files = [path for path in files_of(folder) if path != folder] + sorted(folder.glob(f"*{SUFFIX}"))
    if not files:
        raise FileError(f"{folder}: no certificate is in this folder")
    found: list[dict[str, Any]] = []
    models: dict[str, Any] = {}
    for path in files:
        kind = "by solvers" if path.name.endswith(SUFFIX) else "by the checker"
        try:
            verdict = _checked(path, models)[1]
            status, words = "accepted" if verdict.accepted else "refused", str(verdict)
        except (FileError, CertificateError) as error:
            status, words = "unusable", f"unusable: {error.message}"
        # A name with a line break must not look like a line of its own.
        name = path.name if path.name.isprintable() else ascii(path.name)
        found.append({"file": name, "status": status, "kind": kind, "verdict": words})
        if format is Format.text:
            typer.echo(f"{name}: {words}")
    if format is Format.json:
        print_json({"accepted": all(one["status"] == "accepted" for one in found), "files": found})
    else:
        count = [
            f"{sum(one['status'] == status and one['kind'] == kind for one in found)} {status} {kind}"
            for kind in ("by the checker", "by solvers")
            for status in ("accepted", "refused", "unusable")
        ]
        typer.echo(", ".join(words for words in count if not words.startswith("0 ")))
    statuses = {one["status"] for one in found}
    raise typer.Exit(NOT_FOUND if "refused" in statuses else USAGE if "unusable" in statuses else DONE)
