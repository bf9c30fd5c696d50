"""Small multiples: for each group, for which share of its rows a change of a given size is enough.

In:  an `Audit`.    Out: a `ReachDisplay`, one panel a group on the same axes, everyone's curve behind each.
Promise: a curve counts counterfactuals that the model accepted; the band above it, rows of which it is not proved that
less is too little. Where the band is closed, the share is exact.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mace.base.figures import number, percent
from mace.present.drawing import BLUE, FAINT, GREY, LONGEST, ORANGE, plain
from mace.report.displays import AuditDisplay, members, name_of

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.axes import Axes

    from mace.audit.result import Audit

COLUMNS, MOST_PANELS = 3, 9
MOSTLY = 0.95  # of the rows of a group are shown, where the others would leave them no room
TITLES = 7.5  # points
GAP = 1.5  # points between the titles of neighbours
ACROSS, DOWN = 1.16, 1.62  # from one panel to the next, in widths and heights of a panel


@dataclass(frozen=True, slots=True)
class Reach:
    """A group of `rows` rows: the sizes of changes that are enough, and the least that might be, each ascending."""

    name: str
    rows: int
    enough: tuple[float, ...]
    possible: tuple[float, ...]

    def share(self, size: float) -> float:
        """For which share of the rows a change of at most this size is enough."""
        return bisect_right(self.enough, size) / self.rows if self.rows else 0.0


class ReachDisplay(AuditDisplay):
    """For which share of each group a change of a given size is enough, a panel a group.

    by: what all groups are groups of, which then stands once, below the panels, and not above each of them.
    """

    title = "For which share of each group a change of a given size is enough"

    def __init__(self, everyone: Reach, groups: Sequence[Reach], distance_name: str = "", by: str = "") -> None:
        self.everyone = everyone
        self.groups = list(groups)
        self.distance_name = distance_name
        self.by = by

    @classmethod
    def of(cls, audit: Audit) -> Self:
        everyone, *groups = (_reach(audit, line.by, line.group) for line in audit.findings.no_recourse)
        (by, *others) = audit.groups or [""]
        return cls(everyone, groups, str(audit.about.get("distance", "")), "" if others else by)

    @property
    def panels(self) -> list[Reach]:
        """The groups that are drawn; everyone, where there are none."""
        return self.groups[:MOST_PANELS] or [self.everyone]

    @property
    def height(self) -> float:  # type: ignore[override]
        return 0.55 + 1.45 * -(-len(self.panels) // COLUMNS)

    @property
    def alt(self) -> str:
        middle = self._farthest / 2
        return f"at a distance of {number(middle, 2)}: " + "; ".join(
            f"{group.name} {percent(group.share(middle))} of {group.rows} rows" for group in self.panels
        )

    @property
    def _farthest(self) -> float:
        """Where the axes end: at the farthest row, or where all but a few of every group are, if that is far nearer."""
        found = [group.enough for group in (self.everyone, *self.groups) if group.enough]
        most = max((values[-1] for values in found), default=1.0) or 1.0
        nearer = max((values[int(MOSTLY * (len(values) - 1))] for values in found), default=most)
        return nearer if 0 < nearer < most / 2 else most

    @property
    def beyond(self) -> int:
        """How many rows are farther than the axes reach."""
        return len(self.everyone.enough) - bisect_right(self.everyone.enough, self._farthest)

    def _draw(self, ax: Axes) -> None:
        farthest, panels = self._farthest, self.panels
        for place, group in enumerate(panels):
            left, base = place % COLUMNS * ACROSS, -(place // COLUMNS) * DOWN
            for share in (0, 0.5, 1):
                ax.plot([left, left + 1], [base + share] * 2, color=FAINT, linewidth=0.6, zorder=0)
            for reach, color, width in ((self.everyone, GREY, 0.9), (group, BLUE, 2.0)):
                x, y = _stairs(reach.enough, reach.rows, farthest)
                ax.plot(
                    [left + one for one in x], [base + one for one in y], color=color, linewidth=width,
                    drawstyle="steps-post", zorder=3,
                )  # fmt: skip
            x, y = _stairs(group.possible, group.rows, farthest)
            both = sorted({*x, *_stairs(group.enough, group.rows, farthest)[0]})
            low = [base + group.share(one * farthest) for one in both]
            high = [base + bisect_right(group.possible, one * farthest) / max(1, group.rows) for one in both]
            ax.fill_between([left + one for one in both], low, high, step="post", color=ORANGE, alpha=0.5, linewidth=0)
            # Those of neighbours keep apart.
            ax.text(left, base - 0.06, "0", fontsize=8.5, va="top", ha="left")
            ax.text(left + 1, base - 0.06, number(farthest, 2), fontsize=8.5, va="top", ha="right")
        rows = range(-(-len(panels) // COLUMNS))
        ax.set_yticks(
            [s - r * DOWN for r in rows for s in (0, 0.5, 1)], [w for _ in rows for w in ("0%", "50%", "100%")]
        )
        ax.set_xticks([])
        ax.tick_params(axis="y", length=0)
        ax.set_xlim(-0.06, max(1, min(COLUMNS, len(panels))) * ACROSS - 0.04)
        ax.set_ylim(-rows[-1] * DOWN - 0.25, 1.4)
        ax.spines[["left", "bottom"]].set_visible(False)
        by = f", by {plain(self.by)}" if self.by else ""
        ax.set_xlabel(f"{plain(self.distance_name)} distance{by}".strip())
        self._name(ax)

    def _name(self, ax: Axes) -> None:
        """Write above each panel whose it is, cut to the room that the layout leaves there."""
        figure = ax.get_figure(root=True)
        assert figure is not None
        figure.draw_without_rendering()
        left, right = ax.get_xlim()
        room = ax.get_window_extent().width / figure.dpi * 72 * ACROSS / (right - left) - GAP
        for place, group in enumerate(self.panels):
            name = group.name.removeprefix(f"{self.by}: ") if self.by else group.name
            above = -(place // COLUMNS) * DOWN + 1.1
            ax.text(place % COLUMNS * ACROSS, above, _title(name, group.rows, room), fontsize=TITLES, va="bottom")


def _title(name: str, rows: int, room: float) -> str:
    """The name of a group, cut so that it has room (points) beside how many rows it has."""
    from matplotlib.textpath import TextPath

    for longest in range(LONGEST, 6, -1):
        title = f"{plain(name, longest)} ({rows:,})"
        if TextPath((0, 0), title, size=TITLES).get_extents().width <= room:
            break
    return title


def _stairs(values: Sequence[float], rows: int, farthest: float) -> tuple[list[float], list[float]]:
    """A curve of shares over sizes in shares of the farthest."""
    shown = values[: bisect_right(values, farthest)]
    x = [0.0, *(value / farthest for value in shown), 1.0]
    return x, [place / max(1, rows) for place in range(len(shown) + 1)] + [len(shown) / max(1, rows)]


def _reach(audit: Audit, by: str, group: str) -> Reach:
    records = members(audit, by, group)
    enough = sorted(record.distance for record in records if record.distance is not None)
    possible = sorted(
        record.distance if record.outcome == "optimal" and record.distance is not None else record.lower_bound or 0.0
        for record in records
        if record.outcome != "infeasible"
    )
    return Reach(name_of(by, group), len(records), tuple(enough), tuple(possible))
