"""A front as text, as HTML and as a plot.

In:  a `Front`.    Out: its points with the value of every objective and what changes; a `FrontDisplay`.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from mace.base.escape import one_line
from mace.base.figures import counted
from mace.errors import MaceError
from mace.present.drawing import BLUE, GREY, PALE, Display, plain
from mace.present.html import grid
from mace.present.words import change

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mace.explain.front import Front

MEANING = {
    "optimal": "proved: these are all",
    "bounded": "a limit was reached: there may be more",
    "infeasible": "proved: nothing allowed reaches the goal",
    "unknown": "no point was found, and it is not known whether there is one",
}


def _rows(front: Front) -> list[list[str]]:
    """One row a point: the objectives, then what changes."""
    rows = []
    for point in front.points:
        changes = point.counterfactual.changes.items()
        units = {feature.name: feature.unit for feature in front.space.features}
        said = "; ".join(change(name, units.get(name, ""), before, after) for name, (before, after) in changes)
        rows.append([*(f"{point.objectives[name]:.9g}" for name in front.names), said or "nothing"])
    return rows


def _head(front: Front) -> list[str]:
    return [*map(one_line, front.names), "changes of features"]


def _wanted(front: Front) -> str:
    return f"wanted: {one_line(front.wanted)}"


def _said(front: Front) -> str:
    why = f"; {one_line(front.why)}" if front.why else ""
    return f"{front.status} ({MEANING[front.status]}{why}), {counted(len(front.points), 'point')}"


def as_text(front: Front) -> str:
    """Plain text: a line for each point."""
    lines, rows = [_wanted(front)], [_head(front), *_rows(front)]
    if front.points:
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines += [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
    return "\n".join([*lines, _said(front), *(f"note: {one_line(note)}" for note in front.notes)])


def as_html(front: Front) -> str:
    """For a notebook; every value is escaped."""
    table = grid(_head(front), _rows(front))
    notes = "".join(f"<p>note: {escape(one_line(note))}</p>" for note in front.notes)
    return f"<div><p>{escape(_wanted(front))}</p>{table}<p>{escape(_said(front))}</p>{notes}</div>"


class FrontDisplay(Display):
    """The points of a front by two objectives, and what was proved to be empty below them.

    After `plot`: `ax_`, `figure_`.
    """

    height = 3.2

    def __init__(self, front: Front) -> None:
        self.front = front
        self.names = front.names[:2]
        count = len(front.points)
        self.title = f"{front.status}: {count} point{'s' * (count != 1)} that no other one beats"

    @classmethod
    def from_front(cls, front: Front, ax: Axes | None = None) -> FrontDisplay:
        """Plot a front; raises MaceError if it has no point, or one beyond what floats hold."""
        if not front.points:
            raise MaceError(f"there is no point to plot: the front is {front.status}")
        if not all(math.isfinite(value) for point in front.points for value in point.objectives.values()):
            raise MaceError("a value of an objective is too large to be plotted", hint="Give it smaller weights.")
        return cls(front).plot(ax)

    @property
    def alt(self) -> str:
        """All points in words."""
        points = (", ".join(f"{name} {p.objectives[name]:.6g}" for name in self.front.names) for p in self.front.points)
        return "; ".join(points)

    def _draw(self, ax: Axes) -> None:
        from matplotlib.ticker import MaxNLocator

        first, second = self.names
        x = [point.objectives[first] for point in self.front.points]
        y = [point.objectives[second] for point in self.front.points]
        right, top = 1.1 * max(x) or 1.0, 1.1 * max(y) or 1.0
        if len(self.front.names) == 2:
            # Left of the stairs, and below them, nothing has the goal, where that was proved.
            across, up = [0.0, *x, right], [top, *y, y[-1]]
            if self.front.status == "optimal":
                ax.fill_between(across, up, step="post", color=PALE, linewidth=0, zorder=0)
            ax.step([x[0], *x, right], up, where="post", color=GREY, linewidth=1.2, zorder=1)
        ax.plot(x, y, "o", markersize=7, color=BLUE, zorder=2)
        ax.set_xlim(0, right)
        ax.set_ylim(0, top)
        ax.set_xlabel(plain(first))
        ax.set_ylabel(plain(second))
        for axis, values in ((ax.xaxis, x), (ax.yaxis, y)):
            axis.set_major_locator(MaxNLocator("auto", integer=all(value.is_integer() for value in values)))
