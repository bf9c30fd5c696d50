"""A reproduced table as one page of HTML that stands alone.

Promise: every value is escaped, nothing is fetched from anywhere.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from mace.base.versions import MACE, versions
from mace.compilers import extras
from mace.present.drawing import to_svg
from mace.present.html import template
from mace.reproduce.result import Grid, Reproduced
from mace.reproduce.shown import said

MARKED = "\N{NO-BREAK SPACE}!"  # the mark of a figure stays on its line


class Shown(NamedTuple):
    """A table as the template shows it: how many of its columns hold words, from the first."""

    title: str
    head: list[str]
    lines: list[list[str]]
    words: int


def to_html(result: Reproduced) -> str:
    """The page as text; raises MaceError if Jinja2, or for plots matplotlib, is not installed."""
    from markupsafe import Markup

    tables = []
    for part in result.parts:
        if isinstance(part, Grid):
            head = [*part.keys, *part.columns]
            lines = [[cell.replace(" !", MARKED) for cell in line] for line in part.lines()]
            unit = f", {part.unit}" if part.unit else ""
            tables.append(Shown(f"{part.title}{unit}", head, lines, len(part.keys)))
        else:
            tables.append(Shown(part.title, list(part.head), [list(line) for line in part.lines], len(part.head)))
    plots = [
        (display.title, Markup(to_svg(display, f"plot-{n}")))  # noqa: S704  own SVG
        for n, display in enumerate(result.plots)
    ]
    installed = {name: version for name, version in versions(extras()).items() if "not installed" not in version}
    rendered: str = _template().render(
        result=result, tables=tables, plots=plots, said=said(result), mace=MACE, versions=installed
    )
    return rendered


@cache
def _template() -> Any:
    return template(files("mace.reproduce").joinpath("page.html.jinja").read_text(encoding="utf-8"), "a page")
