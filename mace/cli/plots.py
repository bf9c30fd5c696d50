"""Plots as files: `--plot FILE`.

In:  a name, before the work; a plot, after it.    Out: a file, whole or not at all.
"""

from __future__ import annotations

import io
from pathlib import Path

from mace.base.files import check_folder, write_whole
from mace.base.views import Plot
from mace.cli.output import wrote
from mace.errors import FileError

FORMATS = (".svg", ".png", ".pdf")


def check_plot(path: Path) -> None:
    """Raise FileError unless the name says which format is meant, and a file of this name can be."""
    if path.suffix.lower() not in FORMATS:
        raise FileError(
            f"{path}: cannot tell the format from the name", hint=f"End it with one of {', '.join(FORMATS)}."
        )
    check_folder(path)


def save_plot(plot: Plot, path: Path) -> None:
    """Write a plot that was drawn; raises FileError."""
    drawn = io.BytesIO()
    plot.figure_.savefig(drawn, format=path.suffix.lower()[1:])
    write_whole(path, drawn.getvalue())
    wrote("plot", path)
