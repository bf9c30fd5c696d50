"""`mace audit`: explain every rejected row, and say what the answers say together."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from mace.cli.faults import StoppedError
from mace.cli.options import (
    Format,
    FormatOption,
    Given,
    GroupsOption,
    Limits,
    Measured,
    OracleOption,
    names_of,
    print_json,
    say,
    terminal,
)

NARROWEST = 80  # columns of a terminal in which the tables fit


def audit(
    given: Given,
    measured: Measured,
    limits: Limits,
    groups: GroupsOption = None,
    goal: Annotated[str | None, typer.Option("--goal", help="The favourable decision.")] = None,
    all_rows: Annotated[bool, typer.Option("--all", help="Every row, not only those that lack the goal.")] = False,
    rows: Annotated[int | None, typer.Option("--rows", help="Only the first so many of them.")] = None,
    protected: Annotated[
        str | None, typer.Option("--protected", help="Features on which no decision should rest: Sex,Age.")
    ] = None,
    cores: Annotated[int, typer.Option("--cores", help="Ask of so many rows without recourse what blocks them.")] = 25,
    processes: Annotated[int | None, typer.Option("--processes", help="Queries at once. Default: one a core.")] = None,
    oracle: OracleOption = "auto",
    checkpoint: Annotated[
        Path | None, typer.Option("--checkpoint", help="An SQLite file that keeps every answer.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Ask again what the checkpoint holds as unknown or failed.")
    ] = False,
    scheduler: Annotated[str | None, typer.Option("--scheduler", help="The address of a Dask scheduler.")] = None,
    certificates: Annotated[
        Path | None, typer.Option("--certificates", help="A folder for a checked certificate of each row.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write .parquet, .csv, .jsonl or .json.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the bootstrap and of the choice for --cores.")] = 0,
    paper_tables: Annotated[
        bool, typer.Option("--paper-tables", help="Tables 4 and 7 of Karimi et al. 2020 on Adult; needs no --model.")
    ] = False,
    format: FormatOption = Format.text,
) -> None:
    """Explain every rejected row in parallel, and say by group who has no way out, who a longer one, and why."""
    from mace.audit.command import run_audit, run_paper_tables
    from mace.report.paper import as_rich
    from mace.report.text import as_text

    common: dict[str, Any] = limits.settings | {
        "processes": processes,
        "checkpoint": checkpoint,
        "resume": resume,
        "scheduler": scheduler,
        "seed": seed,
    }
    shown: Any
    plain: Any
    with _stoppable(checkpoint):
        if paper_tables:
            lines, code = run_paper_tables(rows=500 if rows is None else rows, **common)
            shown, plain = as_rich(lines), [line.to_dict() for line in lines]
        else:
            frame, space = given.read_table()
            shown, code = run_audit(
                given.read_model(),
                space,
                frame,
                names_of(groups),
                out,
                goal=goal if goal is not None else given.favourable,
                rows="all" if all_rows else "rejected",
                limit=rows,
                oracle=oracle,
                certificates=certificates,
                protected=names_of(protected),
                cores=cores,
                **measured.settings,
                **common,
            )
            plain = shown.to_dict()
    if format is Format.json:
        print_json(plain)
    elif sys.stdout.isatty():
        wide = terminal()
        # A terminal that is narrower breaks the lines; rich would leave out columns.
        wide.print(shown, width=max(wide.width, NARROWEST), crop=False)
    else:
        say(as_text(shown))
    raise typer.Exit(code)


@contextmanager
def _stoppable(checkpoint: Path | None) -> Iterator[None]:
    """Say after Ctrl-C whether the work is lost."""
    try:
        yield
    except KeyboardInterrupt:
        kept = f"What was answered is in {checkpoint}: the same command goes on from there."
        lost = "No answer was kept. With --checkpoint FILE they are, and the same command goes on from there."
        raise StoppedError("interrupted", hint=lost if checkpoint is None else kept) from None
