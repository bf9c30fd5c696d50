"""What `Planner.front` returns: the cheapest plan for each count of actions, or for each distance allowed.

Promise: each plan's bound is proved of all plans with at most its count; where the first has no plan, nothing with so
few reaches the goal. A plan whose cost is settled costs less than every plan before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from mace.base.formats import schema_of
from mace.base.views import view
from mace.plans.result import Plan

if TYPE_CHECKING:
    import pandas as pd


class FrontPoint(NamedTuple):
    """The largest count, or distance, that was allowed, and the cheapest plan then."""

    most: int | float
    plan: Plan


@dataclass(frozen=True)
class PlanFront:
    """The points of a front, fewest first; printing it shows a table.

    by:     what is counted: `steps`, or `touching` and the name of a feature; or `gower`, a distance.
    points: a first one without a plan says that fewer do not suffice (infeasible), or that this was not decided.
    """

    by: str
    points: list[FrontPoint]

    @property
    def plans(self) -> list[Plan]:
        """The plans that were found, fewest actions first."""
        return [point.plan for point in self.points if point.plan.cost is not None]

    def to_frame(self) -> pd.DataFrame:
        """A row for each point: what was allowed, status, cost, lower bound, distance, and the actions in order."""
        import pandas as pd

        plans = [point.plan for point in self.points]
        return pd.DataFrame(
            {
                "at most": [point.most for point in self.points],
                "status": [plan.status for plan in plans],
                "cost": [plan.cost for plan in plans],
                "lower_bound": [None if plan.status == "infeasible" else plan.lower_bound for plan in plans],
                "gower": [plan.gower for plan in plans],
                "actions": [[step.action for step in plan.steps] for plan in plans],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        points = [{"at_most": point.most, "plan": point.plan.to_dict()} for point in self.points]
        return {**schema_of("plan-front"), "by": self.by, "points": points}

    def __str__(self) -> str:
        return str(view("front of plans as text")(self))

    def __repr__(self) -> str:
        return f"PlanFront({len(self.points)} points, by {self.by})"

    def _repr_html_(self) -> str:
        return str(view("as HTML")(str(self)))
