"""What `explain` returns: both bounds, the counterfactuals, the trace, and how to show and save them.

Promise: `exact_lower_bound <= true distance <= exact_distance`. The floats `lower_bound` and `distance` are these
rationals rounded outwards, so that no display claims more than was proved; where the two are equal, both are the float
nearest to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace.base.arguments import spelled
from mace.base.exact import nearest, shown_above, shown_below, text
from mace.base.formats import schema_of
from mace.base.values import for_json
from mace.base.views import Plot, view
from mace.errors import MaceError
from mace.explain.proved.bound import Proved
from mace.explain.proved.level import Level
from mace.solve.driver import OracleCall
from mace.solve.status import Status
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from mace.explain.deployed.judge import Outcomes
    from mace.explain.proved.together import Together
    from mace.problem.around import Around
    from mace.problem.proof import Proof
    from mace.problem.question import Question
    from mace.space.axes import Point

MEANING = {
    "optimal": "proved: nothing nearer reaches the goal",
    "bounded": "a limit was reached: the true distance lies between the two bounds",
    "infeasible": "proved: nothing allowed reaches the goal",
    "unknown": "no counterfactual was found, and it is not known whether there is one",
}

BY_BOXES = "proved by bounds on the model over boxes of rows"
_NEARER = "nothing that is nearer by more than the gap reaches the goal"
WITHIN, WITHIN_BOXES = f"proved: {_NEARER}", f"{BY_BOXES}: {_NEARER}"

_NO_MODEL = "this answer does not hold its model any more"
UNREAD = "nothing is proved: the model is only asked"

MEANING_OF_LEVELS = "proved, in this order: each objective is the least that those before it allow"
MEANING_OF_MISSES = "proved: nothing that may change comes nearer to the goal; then each objective is the least"
WITHIN_LEVELS = "proved, in this order: each objective is, within the gap, the least that those before it allow"
WITHIN_MISSES = (
    "proved: nothing that may change comes nearer to the goal by more than the gap; then each objective is, within it, "
    "the least"
)

MEANING_OF_SEARCH = {
    "optimal": "proved by asking the model about every allowed point that is nearer",
    "bounded": UNREAD,
    "infeasible": "proved by asking the model about every allowed point",
    "unknown": f"no counterfactual was found, and {UNREAD}",
}

MEANING_OF_BOXES = {
    "optimal": f"{BY_BOXES}: nothing nearer reaches the goal",
    "bounded": "a limit was reached: the true distance lies between the two bounds",
    "infeasible": f"{BY_BOXES}: nothing allowed reaches the goal",
    "unknown": "no counterfactual was found; none is nearer than the lower bound",
}

MEANING_OF_SETS = {
    "optimal": "proved: no such set has a smaller sum",
    "bounded": "a limit was reached: the least sum lies between the two bounds",
    "infeasible": "proved: there is no such set",
    "unknown": "no such set was found, and it is not known whether there is one",
}
WITHIN_SETS = "proved: no such set has a sum that is smaller by more than the gap"


@dataclass(frozen=True)
class Counterfactual:
    """One point with the goal, confirmed by the deployed model.

    values:  feature name -> value, in the space's own types.
    changes: feature name -> (before, after), changed features only.
    status, lower: the bounds of the question that gave it (later ones exclude the earlier; of a set found together, the
             bound of the region that it was found in).
    objectives: name of an objective -> its value here.
    """

    values: dict[str, Any]
    changes: dict[str, tuple[Any, Any]]
    exact_distance: Fraction
    exact_lower_bound: Fraction
    status: Status
    objectives: dict[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        changes = ", ".join(f"{name}: {before!r} -> {after!r}" for name, (before, after) in self.changes.items())
        return f"Counterfactual({changes or 'nothing changes'}, distance {self.distance:.6g})"

    @property
    def point(self) -> pd.Series[Any]:
        """The point as a Series in the space's own columns and types."""
        import pandas as pd

        return pd.Series(self.values, dtype=object, name="counterfactual")

    @property
    def distance(self) -> float:
        """Its distance from the start."""
        return nearest(self.exact_distance)


def counterfactual_at(
    place: Around, point: Point, distance: Fraction, lower: Fraction, status: Status,
    objectives: Mapping[str, float] | None = None,
) -> Counterfactual:  # fmt: skip
    """A point around a row, in the space's own values."""
    start, values = place.values(place.start), place.values(point)
    changes = {name: (start[name], values[name]) for name in values if values[name] != start[name]}
    return Counterfactual(values, changes, distance, lower, status, dict(objectives or {}))


@dataclass(frozen=True)
class Answer(Proved):
    """The answer to one question; printing it shows a before/after table.

    status: "optimal", "bounded", "infeasible" or "unknown"; `why` says which limit was reached.
    oracle: which oracle gave the bound.
    trace:  every question asked, with radius, verdict and seconds.
    levels: one for each objective, in order of priority: its name, value, lower bound and certificate. With several
            objectives `distance`, `lower_bound` and `certificate` are those of the first one that is a distance.
    timeout: the seconds allowed for an answer; looking for a shorter proof takes no more than what is left of them.
    calls:    how many rows a model was asked about that is not read; None for one that is.
    together: what was found where the counterfactuals are one set; distance and bounds are then of the sum.
    named:    the goal with the names that people have for classes; the question may be about a nearer one.
    """

    status: Status
    counterfactuals: list[Counterfactual]
    exact_lower_bound: Fraction
    exact_distance: Fraction | None
    start: dict[str, Any]
    goal: str
    distance_name: str
    oracle: str
    why: str
    seconds: float
    trace: list[OracleCall]
    space: Space
    decision: Any = None
    notes: list[str] = field(default_factory=list)
    question: Question | None = field(default=None, repr=False, compare=False)
    proof: Proof | None = field(default=None, repr=False, compare=False)
    unproved: str = field(default="", repr=False, compare=False)
    witness: tuple[int, ...] | None = field(default=None, repr=False, compare=False)
    timeout: float | None = field(default=None, repr=False, compare=False)
    levels: list[Level] = field(default_factory=list)
    unit: Fraction = field(default=Fraction(1), repr=False, compare=False)
    missed: Callable[[], Answer] | None = field(default=None, repr=False, compare=False)
    together: Together | None = field(default=None, repr=False, compare=False)
    judged: Callable[[], Outcomes | None] | None = field(default=None, repr=False, compare=False)
    menus: Callable[..., Any] | None = field(default=None, repr=False, compare=False)
    calls: int | None = None
    named: str = field(default="", repr=False, compare=False)

    @property
    def claim(self) -> Fraction | None:
        """What the certificate says of the question's distance; None: there is no point at all."""
        return None if self.status == "infeasible" else self.exact_lower_bound / self.unit

    @property
    def meaning(self) -> str:
        """What the status says, for people."""
        open_ = self.status == "optimal" and self.exact_distance != self.exact_lower_bound
        if self.oracle == "search (boxes)":
            return WITHIN_BOXES if open_ else MEANING_OF_BOXES[self.status]
        if self.calls is not None:
            return MEANING_OF_SEARCH[self.status]
        if self.together is None and self.status == "optimal" and len(self.levels) > 1:
            if any(level.exact_distance != level.exact_lower_bound for level in self.levels):
                return WITHIN_MISSES if self.misses else WITHIN_LEVELS
            return MEANING_OF_MISSES if self.misses else MEANING_OF_LEVELS
        if open_:
            return WITHIN if self.together is None else WITHIN_SETS
        return (MEANING if self.together is None else MEANING_OF_SETS)[self.status]

    @property
    def misses(self) -> bool:
        """Whether the goal cannot be met, and this is how near one can come."""
        return any(level.missed for level in self.levels[:1])

    @property
    def distance(self) -> float | None:
        """The distance of the nearest counterfactual found (rounded up if it must be rounded); None without one."""
        return None if self.exact_distance is None else shown_above(self.exact_distance, self.exact_lower_bound)

    @property
    def lower_bound(self) -> float:
        """No counterfactual is closer than this (rounded down if it must be rounded)."""
        return shown_below(self.exact_lower_bound, self.exact_distance)

    def __getstate__(self) -> dict[str, Any]:
        _ = self.outcomes  # what asks holds the model, what was said does not
        return {**self.__dict__, "missed": None, "judged": None, "menus": None}

    @cached_property
    def outcomes(self) -> Outcomes | None:
        """What the model says of the row and of each counterfactual in numbers, the row first; asked when first wanted.

        The probability of what is wanted, or the predicted number; None for a model that has neither.
        """
        try:
            return None if self.judged is None else self.judged()
        except MaceError:  # a model whose `predict_proba` fails decides all the same
            return None

    @property
    def wanted(self) -> str:
        """What was wanted, with the names that people have for classes."""
        return self.named or self.goal

    @spelled
    def sentences(self, which: int = 0) -> list[str]:
        """One sentence for each change of counterfactual number `which`: `Income from 25,300 to 30,000 EUR a year`."""
        found: list[str] = view("answer as sentences")(self, which)
        return found

    def nearest_miss(self) -> Answer:
        """How near the goal can be reached: by the least shortfall, then by this answer's own objectives.

        It is asked anew, with the time limit of this answer. Where the goal can be met the shortfall is 0.
        Raises GoalError for a goal whose shortfall is no number, and MaceError for an answer without a counterfactual
        that does not hold its model any more: one that was pickled, or a set.
        """
        if self.levels and self.levels[0].name == "shortfall":
            return self
        if self.missed is not None:
            return self.missed()
        if self.counterfactuals or self.calls is not None:
            return self
        raise MaceError(_NO_MODEL, hint='Ask again, with objectives=["shortfall", "l1"].')

    @spelled
    def menu(self, timeout: float | None = 60.0, *, safe: bool = True) -> Any:
        """A `mace.Menu`: the minimal sets of features that suffice, with nearest changes, and the maximal that do not.

        timeout: seconds for all of it; safe: whether to prove how far each new value may move as well.
        Raises MaceError for a model that is only asked, and for an answer that does not hold its model any more: one
        that was pickled, or a set.
        """
        if self.calls is not None:
            raise MaceError("a menu needs a model that is read: this one is only asked")
        if self.menus is None:
            raise MaceError(_NO_MODEL, hint="Use mace.Explainer(..).menu(row).")
        return self.menus(timeout=timeout, safe=safe)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; exact rationals stand beside the floats as text."""
        return {
            **schema_of("answer"),
            "status": self.status,
            "meaning": self.meaning,
            "why": self.why,
            "goal": self.goal,
            "decision": for_json(self.decision),
            "wanted": self.wanted,
            "outcomes": None if self.outcomes is None else self.outcomes._asdict(),
            "distance_name": self.distance_name,
            "distance": self.distance,
            "lower_bound": None if self.status == "infeasible" else self.lower_bound,
            "exact_distance": None if self.exact_distance is None else text(self.exact_distance),
            "exact_lower_bound": None if self.status == "infeasible" else text(self.exact_lower_bound),
            "levels": [level.to_dict() for level in self.levels],
            "oracle": self.oracle,
            "seconds": self.seconds,
            "start": {name: for_json(value) for name, value in self.start.items()},
            "counterfactuals": [
                {
                    "point": {name: for_json(value) for name, value in c.values.items()},
                    "changes": {name: [for_json(a), for_json(b)] for name, (a, b) in c.changes.items()},
                    "sentences": self.sentences(place),
                    "distance": c.distance,
                    "status": c.status,
                    "objectives": c.objectives,
                }
                for place, c in enumerate(self.counterfactuals)
            ],
            "trace": [
                {
                    "radius": None if asked.radius is None else nearest(asked.radius),
                    "verdict": asked.verdict,
                    "seconds": asked.seconds,
                }
                for asked in self.trace
            ],
            "notes": self.notes,
            **({} if self.calls is None else {"calls": self.calls}),
            **({} if self.together is None else {"together": self.together.to_dict()}),
        }

    def to_frame(self) -> pd.DataFrame:
        """The start and the counterfactuals as rows of a frame in the space's own columns, with their distance,
        and with the value of every objective where there are several."""
        import pandas as pd

        several = len(self.levels) > 1
        rows = [{**self.start, "distance": 0.0}]
        rows += [{**c.values, "distance": c.distance} | (c.objectives if several else {}) for c in self.counterfactuals]
        index = ["start", *(f"counterfactual {n}" for n in range(1, len(self.counterfactuals) + 1))]
        return pd.DataFrame(rows, index=index)

    @spelled
    def to_html(self, path: str | Path, menu: Any = None) -> Path:
        """Write one page of HTML with the answer, its plots, its certificate and, where it is given, its `mace.Menu`.

        Raises FileError if it cannot be written, MaceError if Jinja2 or matplotlib is not installed.
        """
        return Path(view("answer as a page")(self, path, menu))

    @spelled
    def plot(self, ax: Axes | None = None, *, which: int | None = None) -> Plot:
        """Draw what counterfactual number `which`, from 0, changes, or all of them; into `ax`, or into a new figure.

        Raises MaceError if there is no such counterfactual, or if matplotlib is not installed.
        """
        drawn: Plot = view("answer as a plot")(self, ax, which=which)
        return drawn

    def __str__(self) -> str:
        return str(view("answer as text")(self))

    def __repr__(self) -> str:
        return str(view("answer in short")(self))

    def __rich__(self) -> Any:
        return view("answer for rich")(self)

    def _repr_html_(self) -> str:
        return str(view("answer as HTML")(self))
