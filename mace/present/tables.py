"""Tables for a terminal and as plain text: what every page of figures shares.

In:  titles, heads and cells.    Out: what rich can show; `as_text` writes it as plain text, `as_html` as HTML.
Promise: a value is shown as it is, never read as markup, each in one line; no number is broken in two.
"""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterable
from html import escape
from typing import Any

from mace.base.console import console
from mace.base.escape import one_line
from mace.present.html import grid

WIDTH = 150
WORDS = ("", "why", "for instance")  # columns that hold words


def as_text(shown: Any, width: int = WIDTH) -> str:
    """Anything that rich can show, as plain text of a width at which the tables need not wrap."""
    out = io.StringIO()
    console(file=out, width=width, color_system=None).print(shown)
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().split("\n"))


def as_html(shown: Any) -> str:
    """What `stacked` made, for a notebook: tables whose cells wrap where the page is narrow."""
    from rich.table import Table

    out: list[str] = []
    for part in shown.renderables:
        if isinstance(part, Table):
            cells = zip(*(map(str, column.cells) for column in part.columns), strict=True)
            out.append(grid([str(column.header) for column in part.columns], [tuple(row) for row in cells]))
        elif str(part):
            said = escape(str(part))
            out.append(f"<p><b>{said}</b></p>" if part.style == "bold" else f"<p>{said}</p>")
    return f"<div>{''.join(out)}</div>"


def stacked(parts: Iterable[Any]) -> Any:
    """Tables one below the other. A title stands above its table, since inside it would wrap at the table's width."""
    from rich.console import Group
    from rich.text import Text

    out: list[Any] = []
    for part in parts:
        for column in getattr(part, "columns", ()):
            # No number is broken in two where the terminal is narrow.
            column.min_width = max(
                (len(word) for text in (column.header, *column.cells) for word in str(text).split()), default=0
            )
        title = getattr(part, "title", None)
        if title is not None:
            out.append(Text(one_line(title), style="bold"))
            part.title = None
        out += [part, Text("")]
    return Group(*out[:-1])


def table(title: str, *columns: str, words: Collection[str] = WORDS) -> Any:
    """A plain table; all columns but the first and those that hold words are to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    made = Table(title=title, box=SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(columns):
        left = place == 0 or name in words
        made.add_column(name, justify="left" if left else "right", overflow="fold")
    return made


class Figure:
    """A number with what stands beside it, `9.5% [8.2%, 11.0%] (9 of 95)`: where it is narrow each has a line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts = re.split(r" (?=[\[(])", text)

    def __str__(self) -> str:
        return self.text

    def __rich_console__(self, _: Any, options: Any) -> Iterable[Any]:
        from rich.text import Text

        narrow = options.max_width < len(self.text) and options.max_width >= max(map(len, self.parts))
        yield Text("\n".join(self.parts) if narrow else self.text)

    def __rich_measure__(self, console: Any, options: Any) -> Any:
        from rich.text import Text

        return console.measure(Text(self.text), options=options)


def row(made: Any, *cells: object) -> None:
    """Add a row; values are shown as they are, never read as markup, each in one line."""
    from rich.text import Text

    texts = map(one_line, cells)
    made.add_row(*(Figure(text) if re.match(r"-?[\d.]+%? [\[(]", text) else Text(text) for text in texts))
