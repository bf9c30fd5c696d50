"""`mace reproduce`: a table or figure of a paper again, beside what the paper prints."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from mace.base.exit_codes import DONE, UNDECIDED
from mace.base.formats import schema_of
from mace.cli.faults import StoppedError
from mace.cli.options import FormatOption, names_of
from mace.cli.output import Format, print_json, say, terminal

LIST = "list"


def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of a table or figure; `list` shows them all.")] = LIST,
    rows: Annotated[
        int | None, typer.Option("--rows", help="Of each setting, for a taste. Default: as many as the paper.")
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", help="Data sets, models, methods to keep to: adult,tree,l1.")
    ] = None,
    folder: Annotated[
        Path, typer.Option("--folder", help="Keeps every answer; a run that was stopped goes on from there.")
    ] = Path("reproduced"),
    out: Annotated[Path | None, typer.Option("--out", help="Write .html, .csv or .json.")] = None,
    n_jobs: Annotated[int | None, typer.Option("--n-jobs", help="Queries at once. Default: one a core.")] = None,
    scheduler: Annotated[str | None, typer.Option("--scheduler", help="The address of a Dask scheduler.")] = None,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds for each answer; 0 means no limit.")] = 60.0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Ask again what was unknown or failed, beside what is not there.")
    ] = False,
    format: FormatOption = Format.text,
) -> None:
    """Run a table or figure of a paper again, and print it beside the paper's; `mace reproduce list` shows them."""
    from mace.reproduce.registry import entries

    if name == LIST:
        known = entries()
        if format is Format.json:
            told = [{"name": e.name, "title": e.title, "source": e.source, "only": list(e.words)} for e in known]
            print_json(schema_of("reproductions") | {"known": told})
        else:
            width = max(len(e.name) for e in known)
            say("\n".join(f"{e.name:<{width}}  {e.title} [{e.source}]" for e in known))
        return
    from mace.reproduce.run import check_name, save
    from mace.reproduce.run import reproduce as run
    from mace.reproduce.shown import as_rich, as_text

    if out is not None:
        check_name(out)
    try:
        result = run(
            name, rows=rows, folder=folder, n_jobs=n_jobs, scheduler=scheduler, timeout=timeout or None, resume=resume,
            only=names_of(only) or (), say=lambda line: say(line, err=True),
        )  # fmt: skip
    except KeyboardInterrupt as stop:
        hint = f"What was answered is in {folder}: the same command goes on from there."
        raise StoppedError(stop, hint) from None
    if out is not None:
        save(result, out)
    if format is Format.json:
        print_json(result.to_dict())
    elif sys.stdout.isatty():
        wide = terminal()
        wide.print(as_rich(result), width=max(wide.width, 120), crop=False)
    else:
        say(as_text(result))
    raise typer.Exit(DONE if result.settled else UNDECIDED)
