"""Proofs of several answers, written into one folder, with the model in a file of its own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from mace.cli.alive import alive
from mace.cli.options import say
from mace.errors import CertificateError

if TYPE_CHECKING:
    from mace.explain.proved import Proved


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
    without = f" ({left} lines have none)" if left else ""
    if not written:
        say(f"no certificate was written to {folder}{without}", err=True)
        return
    say(f"{written} certificates written to {folder}{without}; check them with: mace check {folder}", err=True)
