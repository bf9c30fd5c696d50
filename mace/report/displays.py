"""The plots of an audit, as Display objects.

In:  an `Audit`.    Out: displays with `from_audit`, `plot(ax)`, `ax_`, `figure_`, and `alt`, the plot in words.
Promise: each draws what `audit.findings` says and nothing else; what was not decided is drawn too, as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mace.base.figures import counted, number, percent
from mace.present.drawing import (
    BLUE,
    FAINT,
    GREEN,
    GREY,
    INK,
    LONGEST,
    ORANGE,
    PALE,
    PURPLE,
    RED,
    Display,
    plain,
    plain_each,
)

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.axes import Axes

    from mace.audit.intervals import Estimate, Share
    from mace.audit.record import Record
    from mace.audit.result import Audit

MOST_GROUPS = 16  # of a plot; the tables have them all
MOST_FEATURES = 12
MOST_MARKS = 400  # for the rows of a group: more cannot be told apart, and would make a page of many megabytes
# Outcome -> colour and hatching, so that the parts can be told apart without colour.
OUTCOMES: dict[str, tuple[str, str]] = {
    "optimal": (BLUE, ""),
    "infeasible": (RED, "///"),
    "bounded": (ORANGE, "..."),
    "unknown": (GREY, "xxx"),
    "timeout": (PURPLE, "\\\\\\"),
    "memory": (GREEN, "|||"),
    "crashed": (INK, ""),
    "error": (FAINT, "---"),
}


class AuditDisplay(Display):
    """What the displays of an audit share."""

    @classmethod
    def from_audit(cls, audit: Audit, ax: Axes | None = None) -> Self:
        """Make the display from an audit and draw it into `ax`, or into a new figure."""
        return cls.of(audit).plot(ax)

    @classmethod
    def of(cls, audit: Audit) -> Self:
        """The display, not drawn yet."""
        raise NotImplementedError


class StatusDisplay(AuditDisplay):
    """How the rows ended, as one bar; `counts` is outcome -> rows, in the order of `OUTCOMES`."""

    title = "How the rows ended"
    height = 1.45

    def __init__(self, counts: dict[str, int]) -> None:
        self.counts = counts

    @classmethod
    def of(cls, audit: Audit) -> Self:
        found = audit.findings.statuses.counts
        return cls({name: found[name] for name in OUTCOMES if found.get(name)})

    @property
    def alt(self) -> str:
        return ", ".join(f"{name}: {counted(count, 'row')}" for name, count in self.counts.items()) or "no rows"

    def _draw(self, ax: Axes) -> None:
        left = 0
        for name, count in self.counts.items():
            color, hatch = OUTCOMES[name]
            label = f"{name} ({count:,})"
            ax.barh([0], [count], left=left, color=color, hatch=hatch, edgecolor="white", height=0.9, label=label)
            left += count
        ax.set_yticks([])
        ax.set_xlim(0, max(1, left))
        ax.set_xlabel("rows")
        _whole(ax.xaxis)
        ax.spines["left"].set_visible(False)
        if self.counts:
            ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.02), ncols=3, frameon=False, handlelength=1.6)


@dataclass(frozen=True, slots=True)
class Group:
    """The distances of a group that were proved, their median, and how many rows have none.

    left_out: how many rows are undecided.    stuck: how many provably have no way out.
    """

    name: str
    values: tuple[float, ...]
    median: Estimate
    quantiles: dict[str, float]
    left_out: int
    stuck: int


class DistanceDisplay(AuditDisplay):
    """The distances of the nearest counterfactuals, by group: each one, their quartiles, and the median's interval."""

    title = "Distance to the nearest counterfactual, by group"

    def __init__(self, groups: Sequence[Group], distance_name: str = "") -> None:
        self.groups = list(groups)
        self.distance_name = distance_name

    @classmethod
    def of(cls, audit: Audit) -> Self:
        groups = []
        for found in audit.findings.distances:
            inside = members(audit, found.by, found.group)
            values = tuple(r.distance for r in inside if r.outcome == "optimal" and r.distance is not None)
            stuck = sum(record.outcome == "infeasible" for record in inside)
            name = name_of(found.by, found.group)
            groups.append(Group(name, values, found.median, found.quantiles, found.left_out, stuck))
        return cls(groups, str(audit.about.get("distance", "")))

    @property
    def height(self) -> float:  # type: ignore[override]
        return 1.0 + 0.42 * max(1, len(self.groups[:MOST_GROUPS]))

    @property
    def alt(self) -> str:
        parts = []
        for group in self.groups[:MOST_GROUPS]:
            middle = "no proved distance" if group.median.value is None else f"median {number(group.median.value, 4)}"
            if group.median.lower is not None and group.median.upper is not None:
                middle += f", 95% interval {number(group.median.lower, 4)} to {number(group.median.upper, 4)}"
            parts.append(f"{group.name}: {middle}, {counted(len(group.values), 'row')}")
        return "; ".join(parts)

    def _draw(self, ax: Axes) -> None:
        shown = self.groups[:MOST_GROUPS]
        for place, group in enumerate(shown):
            if not group.values:
                stuck = "none: proved to have no way out" if group.stuck else "no rows"
                words = "none proved" if group.left_out else stuck
                ax.text(0.02, place, words, transform=ax.get_yaxis_transform(), va="center", color=GREY)
                continue
            q = group.quantiles
            ax.barh([place], [q["q75"] - q["q25"]], left=q["q25"], height=0.5, color=PALE, edgecolor=BLUE, zorder=1)
            strokes = thinned(sorted(group.values))
            ax.plot(strokes, [place] * len(strokes), "|", color=INK, alpha=0.4, markersize=7, zorder=2)
            if group.median.lower is not None and group.median.upper is not None:
                ax.plot([group.median.lower, group.median.upper], [place] * 2, color=RED, linewidth=2.2, zorder=3)
            ax.plot(
                [q["median"]], [place], "D", color=RED, markeredgecolor="white", markersize=6.5, zorder=4, clip_on=False
            )
        _rows(ax, [group.name for group in shown])
        ax.set_xlim(left=0)
        ax.locator_params(axis="x", nbins=5)  # more would run into each other on a phone
        ax.set_xlabel(f"{plain(self.distance_name)} distance".strip())


@dataclass(frozen=True, slots=True)
class Blocked:
    """A group's share without recourse, and what it would be if all undecided rows had none."""

    name: str
    proved: Share
    at_most: float


class NoRecourseDisplay(AuditDisplay):
    """The share of each group that provably has no recourse, with its interval."""

    title = "Share with no recourse, proved, by group"

    def __init__(self, groups: Sequence[Blocked]) -> None:
        self.groups = list(groups)

    @classmethod
    def of(cls, audit: Audit) -> Self:
        return cls([Blocked(name_of(g.by, g.group), g.proved, g.at_most) for g in audit.findings.no_recourse])

    @property
    def height(self) -> float:  # type: ignore[override]
        return 1.0 + 0.36 * max(1, len(self.groups[:MOST_GROUPS]))

    @property
    def alt(self) -> str:
        return "; ".join(
            f"{group.name}: {percent(group.proved.value)} of {group.proved.of} rows, 95% interval "
            f"{percent(group.proved.lower)} to {percent(group.proved.upper)}, at most {percent(group.at_most)}"
            for group in self.groups[:MOST_GROUPS]
        )

    def _draw(self, ax: Axes) -> None:
        shown = self.groups[:MOST_GROUPS]
        for place, group in enumerate(shown):
            if group.proved.value is None:
                continue
            ax.plot([group.proved.lower, group.proved.upper], [place] * 2, color=RED, linewidth=2.2, zorder=2)
            ax.plot([group.proved.value], [place], "o", color=RED, markeredgecolor="white", markersize=7, zorder=3)
            if group.at_most > group.proved.value:
                ax.plot([group.at_most], [place], ">", color="white", markeredgecolor=INK, markersize=6, zorder=4)
        _rows(ax, [group.name for group in shown])
        ax.set_xlim(-0.02, 1.02)
        _percent(ax)


class BoundsDisplay(AuditDisplay):
    """Lower and upper bound of every row that has both, nearest first: the gap is what is not known.

    bounds:  (lower, upper) a row.
    without: how many rows have neither a distance nor a proof that there is none.
    proved:  of how many rows with a distance it is proved that nothing is nearer, by more than `gap` at most.
    """

    title = "Lower and upper bound of the distance, row by row"
    height = 2.7

    def __init__(
        self,
        bounds: Sequence[tuple[float, float]],
        without: int = 0,
        distance_name: str = "",
        *,
        proved: int = 0,
        gap: float = 0.0,
    ) -> None:
        self.bounds = sorted(bounds, key=lambda pair: (pair[1], pair[0]))
        self.without, self.proved, self.gap = without, proved, gap
        self.distance_name = distance_name

    @classmethod
    def of(cls, audit: Audit) -> Self:
        rows = [
            (record.lower_bound, record.distance, record.proved)
            for record in audit.records
            if record.distance is not None and record.lower_bound is not None
        ]
        gaps = [upper - lower for lower, upper, proved in rows if proved]
        return cls(
            [(lower, upper) for lower, upper, _ in rows],
            sum(record.distance is None and record.outcome != "infeasible" for record in audit.records),
            str(audit.about.get("distance", "")),
            proved=len(gaps),
            gap=max(gaps, default=0.0),
        )

    @property
    def alt(self) -> str:
        widest = max((upper - lower for lower, upper in self.bounds), default=0.0)
        gap = f"; the widest gap is {number(widest, 4, 'up')}" if widest else ""
        proved = f"{self.proved} of {len(self.bounds)} rows with a counterfactual are proved to have no nearer one"
        return f"{proved}{gap}; {self.without} rows have neither one nor a proof that there is none"

    def _draw(self, ax: Axes) -> None:
        marks = thinned(list(enumerate(self.bounds, start=1)))
        if marks:
            places = [place for place, _ in marks]
            lowers, uppers = zip(*(bounds for _, bounds in marks), strict=True)
            ax.vlines(places, lowers, uppers, color=ORANGE, linewidth=2, zorder=1)
            # The hollow mark is the larger one: where both bounds meet, the other is seen inside it.
            ax.plot(places, uppers, "o", color=BLUE, markersize=4.5, fillstyle="none", label="found", zorder=3)
            ax.plot(places, lowers, ".", color=RED, markersize=3.5, label="none is nearer", zorder=2)
            ax.legend(frameon=False, loc="upper left")
        ax.set_xlim(0, len(self.bounds) + 1)
        ax.set_ylim(bottom=0)
        _whole(ax.xaxis)
        ax.set_xlabel("rows, nearest first")
        ax.set_ylabel(f"{plain(self.distance_name)} distance".strip())


@dataclass(frozen=True, slots=True)
class Relied:
    """In which share of the counterfactuals found a feature changes."""

    name: str
    changed: Share
    protected: bool


class RelianceDisplay(AuditDisplay):
    """The features that the nearest counterfactuals change, most often first."""

    title = "Features that the nearest counterfactuals change"

    def __init__(self, features: Sequence[Relied]) -> None:
        self.features = list(features)

    @classmethod
    def of(cls, audit: Audit) -> Self:
        return cls([Relied(f.feature, f.changed, f.protected) for f in audit.findings.reliance])

    @property
    def height(self) -> float:  # type: ignore[override]
        return 1.0 + 0.34 * max(1, len(self.features[:MOST_FEATURES]))

    @property
    def alt(self) -> str:
        return "; ".join(
            f"{f.name}{' (protected)' if f.protected else ''}: {percent(f.changed.value)}"
            for f in self.features[:MOST_FEATURES]
        )

    def _draw(self, ax: Axes) -> None:
        shown = self.features[:MOST_FEATURES]
        for place, feature in enumerate(shown):
            color, hatch = (RED, "///") if feature.protected else (BLUE, "")
            ax.barh([place], [feature.changed.value or 0], height=0.62, color=color, hatch=hatch, edgecolor="white")
            ax.plot([feature.changed.lower, feature.changed.upper], [place] * 2, color=INK, linewidth=1.4)
        _rows(ax, [f"{f.name} (protected)" if f.protected else f.name for f in shown])
        ax.set_xlim(0, 1.02)
        _percent(ax)


def thinned(values: Sequence[Any]) -> Sequence[Any]:
    """At most MOST_MARKS of them, evenly spaced, the first and the last among them."""
    if len(values) <= MOST_MARKS:
        return values
    return [values[place * (len(values) - 1) // (MOST_MARKS - 1)] for place in range(MOST_MARKS)]


def members(audit: Audit, by: str, group: str) -> list[Record]:
    """The rows of a group."""
    if by == group == "everyone" and by not in audit.groups:
        return list(audit.records)
    return [r for r, label in zip(audit.records, audit.groups[by], strict=True) if label == group]


def name_of(by: str, group: str) -> str:
    """A group as a plot calls it."""
    return group if by == "everyone" else f"{by}: {group}"


def _rows(ax: Axes, names: Sequence[str]) -> None:
    """Names down the left side, the first on top, with a fine line for each."""
    ax.set_yticks(range(len(names)), _beside(names))
    ax.set_ylim(max(1, len(names)) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines["left"].set_visible(False)


def _beside(names: Sequence[str]) -> list[str]:
    """Names beside an axis; that of a group may take two lines, so that less of it is cut."""
    parts = [name.partition(": ") for name in names]
    firsts, groups = plain_each(f"{by}:" for by, _, _ in parts), plain_each(group for _, _, group in parts)
    return [
        f"{first}\n{group}" if colon and len(name) > LONGEST else whole
        for name, whole, (_, colon, _), first, group in zip(
            names, plain_each(names), parts, firsts, groups, strict=True
        )
    ]


def _percent(ax: Axes) -> None:
    from matplotlib.ticker import PercentFormatter

    ax.xaxis.set_major_formatter(PercentFormatter(xmax=1.0, decimals=0))


def _whole(axis: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
