"""Run an entry: check what was asked, time it, and write what it gives."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mace.base.escape import short
from mace.base.files import check_folder, write_whole
from mace.errors import MaceError
from mace.reproduce.registry import entry
from mace.reproduce.result import Reproduced
from mace.reproduce.work import Work

TIMEOUT = 60.0  # seconds for each answer, where nothing is said


def reproduce(
    name: str, *,
    rows: int | None = None, folder: str | Path | None = None, n_jobs: int | None = None, scheduler: str | None = None,
    timeout: float | None = TIMEOUT, memory_mb: int | None = 4096, resume: bool = False, progress: bool | None = None,
    only: Sequence[str] = (), say: Callable[[str], None] | None = None,
) -> Reproduced:  # fmt: skip
    """Run a table or figure of a paper again, beside what the paper prints.

    name:   of an entry: `mace.reproduce.entries()`.
    rows:   of each setting; None: as many as the paper has.
    folder: where answers are kept (a checkpoint a setting); a run of the same name and folder goes on from there.
    n_jobs, scheduler, timeout, memory_mb, resume, progress: as for `mace.audit`.
    only:   data sets, models, methods to which to keep; see the entry's `words`.
    say:    called with a sentence when a setting is done.
    Returns a Reproduced. Raises MaceError for a wrong name or argument, FileError where a data set is not found.
    """
    chosen = entry(name)
    unknown = [word for word in only if word not in chosen.words]
    if unknown:
        raise MaceError(f"{name} has no {short(unknown[0])}", hint=f"Words to choose from: {', '.join(chosen.words)}.")
    settings: dict[str, Any] = {} if say is None else {"say": say}
    work = Work(
        rows, None if folder is None else Path(folder), n_jobs, scheduler, timeout, memory_mb, resume, progress,
        tuple(only), **settings,
    )  # fmt: skip
    began = time.perf_counter()
    made = chosen.run(work)
    return replace(made, seconds=time.perf_counter() - began, command=_command(name, rows, only, timeout))


def _command(name: str, rows: int | None, only: Sequence[str], timeout: float | None) -> str:
    """What asks for the same once more, on the command line."""
    words = [f"mace reproduce {name}"]
    words += [] if rows is None else [f"--rows {rows}"]
    words += [f"--only {','.join(only)}"] if only else []
    words += [] if timeout == TIMEOUT else [f"--timeout {timeout or 0:g}"]
    return " ".join(words)


def check_name(path: Path) -> None:
    """Raise unless a result can be written there: MaceError for its ending, FileError for its folder."""
    if path.suffix not in (".csv", ".json", ".html"):
        raise MaceError(f"{path}: results are written as .csv, .json or .html", hint="Name the file so.")
    check_folder(path)


def save(result: Reproduced, path: str | Path) -> Path:
    """Write a result as .csv, .json or .html; raises MaceError for another ending, FileError where it cannot."""
    path = Path(path)
    check_name(path)
    match path.suffix:
        case ".csv":
            text = result.to_frame().to_csv(index=False, lineterminator="\n")
        case ".json":
            from mace.base.escape import json_text

            text = json_text(result.to_dict()) + "\n"
        case _:
            from mace.reproduce.page import to_html

            text = to_html(result)
    return write_whole(path, text.encode())
