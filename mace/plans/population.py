"""Plans for a population: who has none at all, proved, and what the others cost.

In:  a model, a space, a frame, a world.    Out: `PlanAudit`, a plan for every row that lacks the goal.
Promise: a row counts as without a plan only where that is proved; what a limit left undecided is counted by itself.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace.base.arguments import checked, names
from mace.base.deadline import Deadline, stoppable
from mace.base.escape import short
from mace.base.exact import nearest
from mace.base.formats import schema_of
from mace.base.suggestions import meant
from mace.base.values import for_json
from mace.base.views import view
from mace.errors import MaceError, RowError
from mace.plans.result import Plan
from mace.plans.run import Planner
from mace.solve.status import is_final
from mace.space.space import Space
from mace.worlds.world import World

if TYPE_CHECKING:
    import pandas as pd

EVERYBODY = "all rows"


@dataclass(frozen=True)
class PlanAudit:
    """A plan for every row of a frame that lacks the goal; printing it shows the shares.

    rows:   the index of each in the frame.
    groups: name -> the group of each.
    why:    what ended it before all rows were asked about, and how many are left; empty if nothing did.
    """

    plans: list[Plan]
    rows: list[Any]
    groups: Mapping[str, list[Any]]
    wanted: str
    world: str
    horizon: int
    why: str = ""

    @property
    def settled(self) -> bool:
        """Whether for every row the cheapest plan, or that there is none, is proved."""
        return not self.why and all(is_final(plan.status) for plan in self.plans)

    @property
    def without(self) -> list[Any]:
        """The rows for which it is proved that no plan reaches the goal."""
        return [row for row, plan in zip(self.rows, self.plans, strict=True) if plan.status == "infeasible"]

    @cached_property
    def table(self) -> pd.DataFrame:
        """Figures of all rows, and of each group.

        rows; no plan (share, proved); no plan at most (that share, if no undecided row had one); undecided (share
        without a plan or a proof that there is none); median cost and mean steps of the plans found.
        """
        import pandas as pd

        made = {EVERYBODY: _figures(self.plans)}
        for name, of in self.groups.items():
            for group in sorted(set(of), key=str):
                made[f"{name} = {group}"] = _figures([p for p, one in zip(self.plans, of, strict=True) if one == group])
        return pd.DataFrame.from_dict(made, orient="index")

    def to_frame(self) -> pd.DataFrame:
        """A row for each plan: status, cost, lower bound, and the actions in order."""
        import pandas as pd

        return pd.DataFrame(
            {
                **dict(self.groups),
                "status": [plan.status for plan in self.plans],
                "cost": [plan.cost for plan in self.plans],
                "lower_bound": [None if plan.status == "infeasible" else plan.lower_bound for plan in self.plans],
                "actions": [[step.action for step in plan.steps] for plan in self.plans],
                "seconds": [plan.seconds for plan in self.plans],
            },
            index=self.rows,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        table = {
            name: {key: for_json(value) for key, value in figures.items()}
            for name, figures in self.table.astype(object).where(self.table.notna(), None).to_dict("index").items()
        }
        return {
            **schema_of("plan-audit"),
            "wanted": self.wanted,
            "world": self.world,
            "horizon": self.horizon,
            "why": self.why,
            "table": table,
            "plans": [
                {"row": for_json(row), **plan.to_dict()} for row, plan in zip(self.rows, self.plans, strict=True)
            ],
        }

    def __str__(self) -> str:
        return str(view("audit of plans as text")(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.plans)} rows, {len(self.without)} without a plan, proved)"

    def _repr_html_(self) -> str:
        return str(view("as HTML")(str(self)))


@checked
@stoppable()
def audit_plans(
    model: object, space: Space, frame: pd.DataFrame, world: World | str | Path, *,
    goal: Any = None, groups: Sequence[str] = (), limit: int | None = None, rules: Sequence[str | Path] = (),
    **settings: Any,
) -> PlanAudit:  # fmt: skip
    """The cheapest plan for every row that lacks the goal, and by group who has none at all, proved.

    model, space, world, goal, rules: as for `mace.plan`; a goal must be given.
    frame:    rows with the space's columns.
    groups:   columns of the frame to compare by, or one of them.
    limit:    only the first so many of the rows that lack the goal.
    settings: of each plan, as for `mace.plan`: horizon, discount, objectives, avoid, gap, rgap, timeout (for each row).
    Returns a PlanAudit; after Ctrl-C, of the plans by then. Raises a MaceError as `mace.plan` does, and RowError for a
    group that is no column.
    """
    if goal is None:
        raise MaceError("an audit of plans needs a goal", hint="Name the decision that is wanted: goal=1.")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise MaceError(f"limit must be a whole number >= 1, got {short(limit)}")
    columns = names(() if groups is None else groups)
    for name in columns:
        if name not in frame.columns:
            raise RowError(f"no column {short(name)} to group by", hint=meant(name, list(frame.columns), ""))
    if not len(frame):
        raise RowError("the frame has no rows")
    planner = Planner(model, space, world, rules=rules)
    plans: list[Plan] = []
    rows: list[int] = []
    why, stopped = "", Deadline.asked(None)  # over once Ctrl-C came
    for place in range(len(frame)):
        if limit is not None and len(plans) == limit:
            break
        if stopped.over:
            why = f"{stopped.why} with {len(frame) - place} of {len(frame)} rows left to look at"
            break
        plan = planner.plan(frame.iloc[place], goal=goal, **settings)
        if plan.cost != 0 or plan.steps:  # without a step: it has the goal already
            plans.append(plan)
            rows.append(place)
    if not plans:
        raise RowError(f"no row by then lacks the goal: {why}" if why else "every row has the goal already")
    kept = {name: [frame[name].iloc[place] for place in rows] for name in columns}
    first = plans[0]
    index = [frame.index[place] for place in rows]
    return PlanAudit(plans, index, kept, first.wanted, first.world, first.horizon, why)


def _figures(plans: Sequence[Plan]) -> dict[str, float]:
    """See `PlanAudit.table`."""
    none = sum(plan.status == "infeasible" for plan in plans)
    unknown = sum(plan.status == "unknown" for plan in plans)
    costs = [nearest(plan.exact_cost) for plan in plans if plan.exact_cost is not None]
    steps = [len(plan.steps) for plan in plans if plan.exact_cost is not None]
    return {
        "rows": len(plans),
        "no plan": none / len(plans),
        "no plan at most": (none + unknown) / len(plans),
        "undecided": unknown / len(plans),
        "median cost": statistics.median(costs) if costs else float("nan"),
        "mean steps": statistics.fmean(steps) if steps else float("nan"),
    }
