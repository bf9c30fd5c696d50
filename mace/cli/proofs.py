"""Certificates as files: of one answer, or of several in one folder, with the model in a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mace.base.figures import counted
from mace.cli.alive import alive
from mace.cli.output import say
from mace.errors import CertificateError, FileError

if TYPE_CHECKING:
    from mace.explain.proved.bound import Proved


WRITTEN = "certificate written to {path}; check it with: mace check {path}"


class Savable(Protocol):
    """A certificate, or a record of solvers."""

    def save(self, path: str | Path) -> Path:
        """Write it to a file; raises FileError."""
        ...


class Saved(NamedTuple):
    """said: where the certificate is, or why there is none.    failed: what is raised once the answer is printed."""

    said: str = ""
    failed: FileError | None = None


def save_one(path: Path | None, certificate: Callable[[], Savable], written: str = WRITTEN) -> Saved:
    """Write the certificate of an answer to a file, if one is named; no disk that is full costs the answer."""
    if path is None:
        return Saved()
    try:
        certificate().save(path)
    except CertificateError as error:
        return Saved(f"no certificate: {error.message}")
    except FileError as error:
        return Saved(failed=error)
    return Saved(written.format(path=path))


def save(folder: Path, named: Iterable[tuple[str, Proved]]) -> None:
    """Write the certificate of each answer under its name, and say on stderr how many have none."""
    from mace.audit.certificates import Writers

    writers, written, left = Writers(), 0, 0
    alive.doing = "writing certificates"
    for name, proved in named:
        try:
            writers.save(proved, folder / f"{name}.json.gz")
            written += 1
        except CertificateError:  # a limit was reached, or no certificate speaks of such a question
            left += 1
    without = f" ({counted(left, 'line has', 'lines have')} none)" if left else ""
    if not written:
        say(f"no certificate was written to {folder}{without}", err=True)
        return
    said = f"{counted(written, 'certificate')} written to {folder}{without}"
    say(f"{said}; check {'it' if written == 1 else 'them'} with: mace check {folder}", err=True)
