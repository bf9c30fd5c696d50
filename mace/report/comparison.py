"""A comparison of methods as a table and as a plot.

In:  a `Comparison`.    Out: text, something rich can show, a `ComparisonDisplay`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mace.base.figures import number, percent
from mace.errors import MaceError
from mace.present.drawing import BLUE, GREY, PALE, Display, plain
from mace.present.tables import as_html as tables_as_html
from mace.present.tables import as_text as written
from mace.present.tables import row, stacked, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mace.metrics.comparison import Comparison, Line


def as_text(comparison: Comparison) -> str:
    """Plain text."""
    return written(as_rich(comparison))


def as_html(comparison: Comparison) -> str:
    """The tables for a notebook."""
    return tables_as_html(as_rich(comparison))


def as_rich(comparison: Comparison) -> Any:
    """The table: how good the answers are, then how far from the proved optimum."""
    from rich.text import Text

    several = len({line.model for line in comparison.lines}) > 1
    name = ("model", "method") if several else ("method",)
    head = f"{len(comparison.lines)} methods" if len(comparison.lines) > 1 else "1 method"
    first = table(
        f"{head}, goal {comparison.goal}, {comparison.lines[0].rows} rows x {comparison.asked}",
        *name, "answers", "valid", "coverage", "allowed", "proximity", "sparsity", "diversity", "div./prox.",
        "closeness", "plausibility", "cost", "seconds",
    )  # fmt: skip
    second = table(
        f"against the proved optimum, {comparison.distance} distance",
        *name, "mean distance", "over the optimum", "rows compared", "optimal", "missed, proved",
    )  # fmt: skip
    for line in comparison.lines:
        who = (line.model, line.method) if several else (line.method,)
        row(first, *who, line.answers, _share(line.validity), _share(line.coverage), _share(line.allowed),
            *(_number(value) for value in (line.proximity, line.sparsity, line.diversity, line.normalised_diversity,
                                           line.closeness, line.plausibility, line.cost, line.seconds)))  # fmt: skip
        over = "" if not line.compared else f"+{line.over_optimum:.1%}"
        row(second, *who, _number(line.distance), over, line.compared, line.met, line.missed)
    return stacked([first, second, *(Text(f"note: {note}") for note in comparison.notes)])


def _share(value: float) -> str:
    return "" if value != value else percent(value)


def _number(value: float) -> str:
    return "" if value != value else number(value, 4)


class ComparisonDisplay(Display):
    """How much farther than the proved optimum the answers of each method are: a box over rows, and the mean."""

    def __init__(self, comparison: Comparison) -> None:
        self.lines: list[Line] = [line for line in comparison.lines if line.compared]
        self.several = len({line.model for line in comparison.lines}) > 1
        self.height = 1.2 + 0.4 * len(self.lines)
        self.title = f"distance over the proved optimum ({comparison.distance})"

    @classmethod
    def from_comparison(cls, comparison: Comparison, ax: Axes | None = None) -> ComparisonDisplay:
        """Plot a comparison; raises MaceError if no answer could be compared with an optimum."""
        made = cls(comparison)
        if not made.lines:
            raise MaceError("there is nothing to plot: no answer was compared with a proved optimum")
        return made.plot(ax)

    @property
    def alt(self) -> str:
        """The means in words."""
        return "; ".join(f"{line.method}: {line.over_optimum:+.1%} on {line.compared} rows" for line in self.lines)

    def _draw(self, ax: Axes) -> None:
        names = [plain(f"{line.model}: {line.method}" if self.several else line.method) for line in self.lines]
        places = range(len(self.lines), 0, -1)
        boxes = ax.boxplot(
            [[100 * ratio for ratio in line.ratios] for line in self.lines],
            positions=list(places), orientation="horizontal", patch_artist=True, widths=0.5,
            flierprops={"marker": ".", "markersize": 3, "markeredgecolor": GREY},
        )  # fmt: skip
        for box in boxes["boxes"]:
            box.set(facecolor=PALE, edgecolor=GREY)
        ax.plot([100 * line.over_optimum for line in self.lines], list(places), "D", color=BLUE, markersize=4)
        ax.set_yticks(list(places), names)
        ax.set_xlabel("farther than the proved optimum, % (diamond: mean)")
        ax.set_xscale("symlog", linthresh=1)
        ax.set_xlim(0, 1.5 * max(1.0, float(ax.dataLim.x1)))  # room for the last diamond, on a scale of powers
