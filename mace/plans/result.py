"""What `plan` returns: both bounds, the steps, and how to show them.

Promise: `exact_lower_bound <= least cost <= exact_cost`. The floats are these rationals rounded outwards, so that no
display claims more than was proved; where the two are equal, both are the float nearest to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mace.base.arguments import spelled
from mace.base.deadline import Deadline, TimeOverError, stoppable
from mace.base.escape import short
from mace.base.exact import below, nearest, shown_above, shown_below, text
from mace.base.formats import schema_of
from mace.base.values import for_json
from mace.base.views import Plot, view
from mace.certify.writer import Certificate
from mace.errors import CertificateError
from mace.solve.status import Status
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MEANING = {
    "optimal": "proved: no plan of this length costs less",
    "bounded": "a limit was reached: the least cost lies between the two bounds",
    "infeasible": "proved: no plan of this length reaches the goal",
    "unknown": "no plan was found, and it is not known whether there is one",
}


@dataclass(frozen=True)
class PlanStep:
    """One action that is taken.

    action:   its name.
    values:   parameter -> value, as people see it.
    state:    feature -> value after the step, in the space's own types.
    changes:  feature -> (before, after) of this step.
    effort, discount, cost: cost = effort * discount, exact.
    sources:  (from, to, factor) of every consequence that made the step cheaper.
    """

    action: str
    values: Mapping[str, Any]
    state: dict[str, Any]
    changes: dict[str, tuple[Any, Any]]
    effort: Fraction
    discount: Fraction
    cost: Fraction
    sources: tuple[tuple[str, str, Fraction], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "action": self.action,
            "values": {name: for_json(value) for name, value in self.values.items()},
            "changes": {name: [for_json(a), for_json(b)] for name, (a, b) in self.changes.items()},
            "effort": nearest(self.effort),
            "discount": nearest(self.discount),
            "cost": nearest(self.cost),
            "exact_cost": text(self.cost),
            "consequences": [{"from": a, "to": b, "factor": nearest(factor)} for a, b, factor in self.sources],
        }


@dataclass(frozen=True)
class Plan:
    """A plan for one person; printing it shows a table of its steps.

    status:  "optimal", "bounded", "infeasible" or "unknown"; `why` says which limit was reached.
    steps:   in order; empty if the row has the goal already, or if there is no plan.
    horizon: the most actions that a plan may have; each is taken at most once.
    searched: how many sets of actions with boxes of parameters were bounded.
    prover, gower_prover: write the certificates; see `certify`.
    wanted:  the goal, with the names that people have for classes.
    counts:  what was made least before the cost, each with the count that no plan goes below ("steps", "touching Age").
    others:  the next cheapest plans, each of another set of actions than all before it.
    exact_gower: Gower's distance of start and end; None without a plan.
    exact_gower_bound: where it was an objective, no plan that the objectives before it left has less.
    exact_gower_limit: cost and bound are about plans whose distance is at most this; None: about all.
    """

    status: Status
    steps: list[PlanStep]
    exact_cost: Fraction | None
    exact_lower_bound: Fraction
    start: dict[str, Any]
    goal: str
    decision: Any
    horizon: int
    world: str
    why: str
    seconds: float
    space: Space = field(repr=False)
    notes: list[str] = field(default_factory=list)
    searched: int = 0
    prover: Callable[[Deadline], Certificate] | None = field(default=None, repr=False, compare=False)
    wanted: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    others: list[Plan] = field(default_factory=list)
    exact_gower: Fraction | None = None
    exact_gower_bound: Fraction | None = None
    exact_gower_limit: Fraction | None = None
    gower_prover: Callable[[Deadline], Certificate] | None = field(default=None, repr=False, compare=False)

    @property
    def meaning(self) -> str:
        """What the status says, for people."""
        said = MEANING[self.status].replace("length", "length" if self.exact_gower_limit is None else "length so near")
        open_ = self.status == "optimal" and self.exact_cost != self.exact_lower_bound
        return f"{said} by more than the gap" if open_ else said

    @property
    def cost(self) -> float | None:
        """The cost of the plan (rounded up if it must be rounded); None without one."""
        return None if self.exact_cost is None else shown_above(self.exact_cost, self.exact_lower_bound)

    @property
    def lower_bound(self) -> float:
        """No plan costs less than this (rounded down if it must be rounded)."""
        return shown_below(self.exact_lower_bound, self.exact_cost)

    @property
    def gower(self) -> float | None:
        """Gower's distance of start and end, the mean over all features of |change| / range (rounded up if need be)."""
        return None if self.exact_gower is None else shown_above(self.exact_gower, self.exact_gower_bound)

    @property
    def gower_bound(self) -> float | None:
        """See `exact_gower_bound` (rounded down if it must be rounded)."""
        return None if self.exact_gower_bound is None else shown_below(self.exact_gower_bound, self.exact_gower)

    @property
    def end(self) -> dict[str, Any]:
        """The state that the plan leads to, in the space's own types."""
        return self.steps[-1].state if self.steps else self.start

    def __getstate__(self) -> dict[str, Any]:
        # What writes certificates holds the model.
        return {**self.__dict__, "prover": None, "gower_prover": None}

    @spelled
    @stoppable()
    def certify(self, timeout: float | None = 60.0, of: str = "cost") -> Certificate:
        """A certificate of the lower bound, and of the plan, that `mace check` reads.

        timeout: seconds (None: no limit). Ctrl-C ends it as the limit does.
        of:      "cost", or "gower" where the distance came first: that no plan leads nearer than `exact_gower_bound`.
        Raises CertificateError where there is nothing to certify, where the model or the world is none that
        certificates speak of, where the proof is too long or takes too long, or where the plan does not hold its model
        any more, because it was pickled.
        """
        if not isinstance(of, str) or of not in ("cost", "gower"):
            raise CertificateError(f"there are certificates of the cost and of gower, not of {short(of)}")
        prover = self.prover if of == "cost" else self.gower_prover
        if self.status != "unknown" and self.prover is None:
            raise CertificateError(
                "this plan does not hold its model any more", hint="Certify it before it is pickled."
            )
        if self.status == "unknown" or prover is None:
            raise CertificateError("nothing was proved of this question", hint="Give it more time.")
        try:
            return prover(Deadline.asked(timeout))
        except TimeOverError as over:
            raise CertificateError(f"no certificate was written: {over}", hint="Give it more time.") from None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; exact rationals stand beside the floats as text."""
        infeasible = self.status == "infeasible"
        return {
            **schema_of("plan"),
            "status": self.status,
            "meaning": self.meaning,
            "why": self.why,
            "goal": self.goal,
            "wanted": self.wanted,
            "decision": for_json(self.decision),
            "world": self.world,
            "horizon": self.horizon,
            "cost": self.cost,
            "lower_bound": None if infeasible else self.lower_bound,
            "exact_cost": None if self.exact_cost is None else text(self.exact_cost),
            "exact_lower_bound": None if infeasible else text(self.exact_lower_bound),
            "seconds": self.seconds,
            "start": {name: for_json(value) for name, value in self.start.items()},
            "steps": [step.to_dict() for step in self.steps],
            "counts": dict(self.counts),
            "gower": self.gower,
            "gower_bound": self.gower_bound,
            "gower_limit": None if self.exact_gower_limit is None else below(self.exact_gower_limit),
            "others": [other.to_dict() for other in self.others],
            "notes": self.notes,
        }

    def to_frame(self) -> pd.DataFrame:
        """The states as rows of a frame in the space's own columns, with action, discount and cost of each step."""
        import pandas as pd

        rows = [{"action": "", **self.start, "discount": 1.0, "cost": 0.0}]
        rows += [
            {"action": one.action, **one.state, "discount": nearest(one.discount), "cost": nearest(one.cost)}
            for one in self.steps
        ]
        return pd.DataFrame(rows, index=["start", *(f"step {n}" for n in range(1, len(self.steps) + 1))])

    def plot(self, ax: Axes | None = None) -> Plot:
        """Draw the features that change, step by step; into `ax`, or into a new figure.

        Raises MaceError if there are no steps, or if matplotlib is not installed.
        """
        drawn: Plot = view("plan as a plot")(self, ax)
        return drawn

    def __str__(self) -> str:
        return str(view("plan as text")(self))

    def __rich__(self) -> Any:
        return view("plan for rich")(self)

    def __repr__(self) -> str:
        actions = ", ".join(step.action for step in self.steps)
        cost = "" if self.cost is None else f"; cost {self.cost:.6g}"
        return f"Plan({self.status}: {actions or self.meaning}{cost})"

    def _repr_html_(self) -> str:
        return str(view("plan as HTML")(self))
