"""What fewer actions cost one person: the proved front beside that of the published search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mace.present.drawing import BLUE, ORANGE, Display
from mace.reproduce.planned import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Fronts(Display):
    """Costs by the most actions that a plan may have.

    proved: (actions, cost) of plans with none cheaper, proved.    found: of the plans that the published search found.
    """

    height = 2.8

    def __init__(self, title: str, proved: Sequence[Point], found: Sequence[Point]) -> None:
        self.title = title
        self.proved = [(point.steps, point.cost) for point in proved if point.proved]
        self.found: list[tuple[int, float]] = []
        for point in sorted(found):
            if not self.found or point.cost < self.found[-1][1]:
                self.found.append((point.steps, point.cost))

    @property
    def alt(self) -> str:
        """The points in words."""
        return f"proved: {_words(self.proved)}; published search: {_words(self.found)}"

    def _draw(self, ax: Axes) -> None:
        for points, marker, colour, label in (
            (self.proved, "s", BLUE, "proved cheapest"),
            (self.found, "o", ORANGE, "published search"),
        ):
            if points:
                steps, costs = zip(*points, strict=True)
                ax.step(steps, costs, where="post", color=colour, linewidth=1, marker=marker, label=label)
        counts = [steps for steps, _ in (*self.proved, *self.found)]
        ax.set_xticks(range(min(counts, default=1), max(counts, default=1) + 1))
        ax.set_xlabel("actions")
        ax.set_ylabel("cost")
        ax.set_ylim(bottom=0)
        ax.legend(fontsize=7, frameon=False)


def _words(points: Sequence[tuple[int, float]]) -> str:
    return ", ".join(f"{steps} action{'s' * (steps != 1)} cost {cost:.4g}" for steps, cost in points) or "none"
