"""`mace report`: read an audit from a file and write it as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mace.base.figures import counted
from mace.base.files import check_folder
from mace.cli.alive import alive
from mace.cli.options import names_of, read_space
from mace.cli.output import say
from mace.errors import FileError


def report(
    file: Annotated[
        Path,
        typer.Argument(metavar="AUDIT", help="What `mace audit` wrote: .json, .jsonl, .csv, .parquet or a checkpoint."),
    ],
    out: Annotated[Path, typer.Option("--out", help="The file to write: .html, or .pdf where a Chromium is.")],
    person: Annotated[int | None, typer.Option("--person", help="A page about this row of the data, from 0.")] = None,
    groups: Annotated[
        str | None, typer.Option("--groups", help="Features to compare by, where AUDIT holds no groups: Sex,Job.")
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Of the report.")] = None,
    date: Annotated[str | None, typer.Option("--date", help="Shown as it is. Default: when the audit ran.")] = None,
    space: Annotated[
        str | None, typer.Option("--space", help="For units: a space file (TOML), or the name of a data set.")
    ] = None,
    certificates: Annotated[
        Path | None, typer.Option("--certificates", help="Their folder: checks that of --person once more.")
    ] = None,
    template: Annotated[
        str, typer.Option("--template", help="audit, model-validation, or letter: one page for --person.")
    ] = "audit",
) -> None:
    """Write an audit as one file to read, print and hand on: .html or .pdf."""
    from mace.report.make import report as write
    from mace.report.read import read_audit

    if out.exists() and file.exists() and out.samefile(file):
        raise FileError(f"{out}: the report would replace the audit", hint="Give another name to --out.")
    check_folder(out)
    alive.doing = "writing the report"
    audit = read_audit(file, names_of(groups))
    chosen = None if space is None else read_space(space)
    settings: Any = {"title": title, "date": date, "space": chosen, "certificates": certificates, "template": template}
    write(audit, out, person, **settings)
    if template == "letter":
        say(f"letter about row {person} written to {out}")
        return
    unfinished = "" if audit.finished else f", of {audit.about['planned']:,}: the audit is not finished"
    say(f"report of {counted(len(audit.records), 'row')}{unfinished} written to {out}")
