"""What reproducing a table gives: figures beside those of the paper, in grids, with plots and notes.

Promise: a figure says how many rows it rests on and how many of them were proved; nothing is rounded here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from mace.base.formats import schema_of
from mace.base.values import for_json

if TYPE_CHECKING:
    import pandas as pd

    from mace.present.drawing import Display


class Figure(NamedTuple):
    """One number of a table.

    row, column: where it stands; `row` has an entry for each of the grid's keys.
    ours, paper: the two figures, in the grid's unit, a count as an int; None where there is none.
    rows, proved: how many rows it is the mean of, and of how many of them the nearest counterfactual is proved.
    alike: whether it points the way that the paper's does; None where nothing can be said.
    why:   of a figure that does not, the reason.
    """

    row: tuple[str, ...]
    column: str
    ours: float | None
    paper: float | None = None
    rows: int = 0
    proved: int = 0
    alike: bool | None = None
    why: str = ""


@dataclass(frozen=True)
class Grid:
    """A table of figures.

    keys:   what tells its rows apart.
    digits: after the point, as it is shown; counts have none.
    unit:   of every figure: "%", "s", "" for none.
    """

    title: str
    keys: tuple[str, ...]
    figures: Sequence[Figure]
    unit: str = ""
    digits: int = 0

    @property
    def columns(self) -> list[str]:
        """The columns, in order of appearance."""
        return list(dict.fromkeys(figure.column for figure in self.figures))

    def lines(self) -> list[list[str]]:
        """A line a row: its keys, then in each column our figure and in brackets the paper's; `!` where they differ."""
        by_row: dict[tuple[str, ...], dict[str, Figure]] = {}
        for figure in self.figures:
            by_row.setdefault(figure.row, {})[figure.column] = figure
        return [[*row, *(self._cell(cells.get(name)) for name in self.columns)] for row, cells in by_row.items()]

    def _cell(self, figure: Figure | None) -> str:
        if figure is None:
            return ""
        ours = "-" if figure.ours is None or figure.ours != figure.ours else self._shown(figure.ours)
        paper = "" if figure.paper is None else f" ({self._shown(figure.paper)})"
        return f"{ours}{paper}{' !' if figure.alike is False else ''}"

    def _shown(self, number: float) -> str:
        """A number with the grid's digits; a count, which is an `int`, has none."""
        return f"{number:,}" if isinstance(number, int) else f"{number:,.{self.digits}f}"


@dataclass(frozen=True)
class Listing:
    """A table of words: a head, and lines of texts."""

    title: str
    head: tuple[str, ...]
    lines: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Reproduced:
    """One entry, run.

    setting: what was asked, in sentences.
    notes:   what the reader must know; first what differs in direction, and why.
    rows, proved: of the questions that were asked to be proved, how many were asked and how many answers are final.
    command: what asks for the same once more.
    """

    name: str
    title: str
    source: str
    parts: Sequence[Grid | Listing]
    setting: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    plots: Sequence[Display] = ()
    rows: int = 0
    proved: int = 0
    seconds: float = 0.0
    command: str = ""

    @property
    def settled(self) -> bool:
        """Whether everything that was to be proved was."""
        return self.proved == self.rows

    @property
    def figures(self) -> list[Figure]:
        """The figures of all grids."""
        return [figure for part in self.parts if isinstance(part, Grid) for figure in part.figures]

    @property
    def unlike(self) -> list[str]:
        """The figures that point another way than the paper's: a line for each row and reason, with its columns."""
        found: dict[tuple[tuple[str, ...], str], list[str]] = {}
        for figure in self.figures:
            if figure.alike is False:
                found.setdefault((figure.row, figure.why or "not explained"), []).append(figure.column)
        return [f"{', '.join(row)} ({', '.join(columns)}): {why}" for (row, why), columns in found.items()]

    def to_frame(self) -> pd.DataFrame:
        """A row a figure: where it stands, ours, the paper's, how many rows and how many of them proved."""
        import pandas as pd

        rows = [
            {"table": part.title, "row": " / ".join(figure.row), "column": figure.column, "unit": part.unit}
            | {name: getattr(figure, name) for name in ("ours", "paper", "rows", "proved", "alike", "why")}
            for part in self.parts
            if isinstance(part, Grid)
            for figure in part.figures
        ]
        listed = [
            {"table": part.title, "row": str(line[0]), "column": name, "ours": cell}
            for part in self.parts
            if isinstance(part, Listing)
            for line in part.lines
            for name, cell in zip(part.head[1:], line[1:], strict=True)
        ]
        return pd.DataFrame([*rows, *listed])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        figures = [
            {name: for_json(value) for name, value in line.items()} for line in self.to_frame().to_dict("records")
        ]
        about = {
            name: getattr(self, name) for name in ("name", "title", "source", "setting", "notes", "rows", "proved")
        }
        return {
            **schema_of("reproduction"),
            **about,
            "unlike": self.unlike,
            "seconds": round(self.seconds, 3),
            "figures": figures,
        }
