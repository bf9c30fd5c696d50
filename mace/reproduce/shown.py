"""A reproduced table on a terminal and as plain text."""

from __future__ import annotations

from typing import Any

from mace.present.tables import as_text as written
from mace.present.tables import row, stacked, table
from mace.reproduce.result import Grid, Reproduced

WIDTH = 200


def as_text(result: Reproduced) -> str:
    """Plain text."""
    return written(as_rich(result), WIDTH)


def as_rich(result: Reproduced) -> Any:
    """The source, the tables, what is proved, what differs in direction, the setting and the notes."""
    from rich.text import Text

    parts: list[Any] = [Text(f"{result.title} [{result.source}]")]
    for part in result.parts:
        keys = part.keys if isinstance(part, Grid) else part.head
        head = (*keys, *part.columns) if isinstance(part, Grid) else part.head
        unit = f", {part.unit}" if isinstance(part, Grid) and part.unit else ""
        made = table(f"{part.title}{unit}", *head, words=keys)
        for line in part.lines() if isinstance(part, Grid) else part.lines:
            row(made, *line)
        parts.append(made)
    parts += [Text(line) for line in said(result)]
    return stacked(parts)


def said(result: Reproduced) -> list[str]:
    """What stands below the tables, a sentence or more a line."""
    alike = [figure.alike for figure in result.figures if figure.alike is not None]
    lines = [f"{result.proved:,} of {result.rows:,} answers are proved; {result.seconds:,.0f} s."]
    if alike:
        lines.append(f"{sum(alike)} of {len(alike)} figures point the way that the paper's do.")
    lines += [f"Another direction: {line}" for line in result.unlike]
    return [*lines, *result.notes, *result.setting]
