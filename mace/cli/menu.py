"""`mace menu`: for one row, which features suffice for the decision wanted, and which provably do not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mace.cli.alive import alive
from mace.cli.options import (
    DONE,
    UNDECIDED,
    Asked,
    Format,
    FormatOption,
    Given,
    Limits,
    Measured,
    OracleOption,
    explainer_of,
    print_json,
    say,
)
from mace.errors import CertificateError


def menu(
    given: Given,
    asked: Asked,
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
    explainer, row = explainer_of(given, measured, asked)
    alive.doing = "trying sets of features"
    if certificates is not None:
        certificates.mkdir(parents=True, exist_ok=True)
    made = explainer.menu(
        row, goal=asked.goal, most_changes=asked.most_changes, oracle=oracle, safe=safe, **limits.settings
    )
    if format is Format.json:
        print_json(made.to_dict())
    else:
        say(made)
    if certificates is not None:
        left = 0
        for number, answer in enumerate(made.proofs()):
            try:
                answer.certificate.save(certificates / f"{number:03}.json.gz")
            except CertificateError:  # a limit was reached, or no certificate speaks of such a question
                left += 1
        without = f" ({left} lines have none)" if left else ""
        say(f"certificates written to {certificates}{without}; check them with: mace check {certificates}", err=True)
    raise typer.Exit(DONE if made.complete else UNDECIDED)
