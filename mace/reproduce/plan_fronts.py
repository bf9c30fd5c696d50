"""What fewer actions cost one person: the proved front beside that of the published search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mace.plans.genetic import Proposed
from mace.plans.plan_front import PlanFront
from mace.present.drawing import BLUE, ORANGE, Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Fronts(Display):
    """Costs by the most actions that a plan may have.

    proved: (actions, cost) of plans with none cheaper, proved.    found: of the plans that the published search found.
    """

    height = 2.8

    def __init__(self, title: str, proved: PlanFront, found: Sequence[Proposed]) -> None:
        self.title = title
        self.proved = [
            (len(plan.steps), plan.cost) for plan in proved.plans if plan.cost is not None and plan.status == "optimal"
        ]
        self.found: list[tuple[int, float]] = []
        for one in sorted(found, key=lambda one: (len(one.plan.steps), one.plan.cost)):
            cost = float(one.plan.cost)
            if not self.found or cost < self.found[-1][1]:
                self.found.append((len(one.plan.steps), cost))

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
