"""`mace.front`: all points that no other one beats in two or three objectives at once, each proved.

In:  a model, a space, a row, two or three objectives of which all but one take few values.
Out: a `Front`: its points, and the cells that were proved to be empty.
Promise: where the status is "optimal", every allowed point with the goal is at least as large in every objective as one
of the points. A point's certificates say that nothing below it has the goal; an empty cell's, that nothing in it has.
How: the objective with many values is minimised, then the others, in the zone below bounds on the others; the point
found cuts its zone into smaller ones, until all are empty. It cuts another zone that holds it, too, where the first
objective is proved to be no smaller there; elsewhere something else may come first.
Source: Klamroth, Lacour, Vanderpooten 2015, "On the representation of the search region in multi-objective
optimization".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mace.base.arguments import checked
from mace.base.deadline import Deadline, TimeOverError, now, stoppable
from mace.base.escape import short
from mace.base.exact import nearest
from mace.base.figures import counted
from mace.base.formats import schema_of
from mace.base.values import for_json
from mace.base.views import Plot, view
from mace.errors import MaceError
from mace.explain.answer import Counterfactual
from mace.explain.nearest.assemble import doubts
from mace.explain.proved.level import Level
from mace.problem import missing
from mace.problem.distance import Distance, DistanceError
from mace.problem.objectives import ObjectiveSpec, Priority, Shortfall, bounded, each_change, value_of
from mace.solve.status import Status

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from mace.explain.explainer import Explainer, GoalSpec
    from mace.explain.nearest.search import Searched
    from mace.problem.exclusions import Avoid
    from mace.problem.question import Question
    from mace.space.axes import Point
    from mace.space.space import Space

MOST_POINTS = 100
Bounds = tuple[Fraction | None, ...]  # what each objective but the first stays below; None for no bound


class Zone(NamedTuple):
    """Where points are looked for: below `bounds`, where the first objective is proved to be at least `least`."""

    bounds: Bounds
    least: Fraction


@dataclass(frozen=True)
class FrontPoint:
    """One point of a front.

    counterfactual: the point, with the value of every objective.
    levels: one for each objective, as those of an answer: the first one's certificate says that the cell below the
            point is empty, within the bounds `below`.
    below:  what the other objectives stayed below when it was found; by name, without those that had no bound.
    """

    counterfactual: Counterfactual
    levels: tuple[Level, ...]
    below: dict[str, float]

    @property
    def objectives(self) -> dict[str, float]:
        """The value of every objective, by name."""
        return self.counterfactual.objectives


@dataclass(frozen=True)
class EmptyCell:
    """Nothing allowed that has the goal is below all of these: `level.certificate` proves it.

    Where a point was found again, within other bounds than before, it is below the first objective, too.
    """

    below: dict[str, float]
    level: Level


@dataclass(frozen=True)
class Front:
    """All points that no other one beats; printing it shows them.

    status: "optimal" (proved: these are all), "bounded" (`why` says what is open), "infeasible", or "unknown".
    points: by the first objective, the least first.
    empty:  the cells that hold nothing.
    wanted: the goal, with the names that people have for classes.
    """

    status: Status
    points: list[FrontPoint]
    empty: list[EmptyCell]
    names: tuple[str, ...]
    start: dict[str, Any]
    goal: str
    why: str
    seconds: float
    space: Space
    notes: list[str] = field(default_factory=list)
    wanted: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **schema_of("front"),
            "status": self.status,
            "why": self.why,
            "goal": self.goal,
            "objectives": list(self.names),
            "points": [
                {
                    "objectives": point.objectives,
                    "point": {name: for_json(value) for name, value in point.counterfactual.values.items()},
                    "changes": {
                        name: [for_json(before), for_json(after)]
                        for name, (before, after) in point.counterfactual.changes.items()
                    },
                    "below": point.below,
                    "levels": [level.to_dict() for level in point.levels],
                }
                for point in self.points
            ],
            "empty": [{"below": cell.below, "status": cell.level.status} for cell in self.empty],
            "start": {name: for_json(value) for name, value in self.start.items()},
            "seconds": self.seconds,
            "notes": self.notes,
        }

    def to_frame(self) -> pd.DataFrame:
        """The points as rows of a frame: the space's own columns, and one for each objective."""
        import pandas as pd

        rows = [{**point.counterfactual.values, **point.objectives} for point in self.points]
        return pd.DataFrame(rows, columns=[*self.start, *self.names])

    def plot(self, ax: Axes | None = None) -> Plot:
        """Draw the points by their first two objectives; raises MaceError if matplotlib is not installed."""
        drawn: Plot = view("front as a plot")(self, ax)
        return drawn

    def __str__(self) -> str:
        return str(view("front as text")(self))

    def __repr__(self) -> str:
        return f"Front({self.status}: {counted(len(self.points), 'point')}, {', '.join(self.names)})"

    def _repr_html_(self) -> str:
        return str(view("front as HTML")(self))


@checked
@stoppable()
def front(
    model: object, space: Space, x: object, *,
    objectives: Sequence[ObjectiveSpec] = ("l1", "changes"), goal: GoalSpec = None,
    most_changes: int | None = None, rules: Sequence[str | Path] = (), oracle: str = "auto",
    timeout: float | None = 60.0, memory_mb: int | None = 4096, background: pd.DataFrame | None = None,
    most: int = MOST_POINTS,
) -> Front:  # fmt: skip
    """All points with the goal that no other one beats in every objective.

    objectives: two or three, as `mace.explain` takes them, without tolerances; all but one should take few values.
    timeout:    seconds for the whole front (None: no limit).
    most:       after so many points the front is left open.
    The other arguments are those of `mace.explain`. Raises a MaceError for what is wrong with any of them.
    """
    from mace.explain.explainer import Explainer

    deadline = Deadline.asked(timeout)
    explainer = Explainer(model, space, background=background, rules=rules, objectives=objectives)
    return front_of(explainer, explainer.space.row(x), goal, most_changes, oracle, deadline, memory_mb, most)


@stoppable()
def front_of(
    explainer: Explainer, row: object, goal: GoalSpec, most_changes: int | None, oracle: str,
    timeout: float | Deadline | None, memory_mb: int | None, most: int = MOST_POINTS,
) -> Front:  # fmt: skip
    """The front of an explainer's objectives for one row; raises MaceError."""
    if most < 1:
        raise MaceError(f"most must be a whole number >= 1, the number of points to find, got {short(most)}")
    began = now()
    priorities = _ordered(explainer.priorities)
    solver = explainer.row_solver(row, goal, most_changes, oracle, Deadline.asked(timeout), memory_mb)
    unread = ""
    try:
        priorities = tuple(one._replace(of=solver.located(one.of)) for one in priorities)
    except TimeOverError as over:
        unread = str(over)
    search = _Fronting(solver.question, priorities)
    search.why = unread
    said: dict[str, None] = {}
    refused: list[Avoid] = []
    while not unread and (zone := search.next()) is not None:
        if len(search.points) >= most or solver.limits.deadline.over:
            search.why = (
                solver.limits.deadline.why
                if solver.limits.deadline.over
                else f"{counted(most, 'point was', 'points were')} found"
            )
            break
        found = solver.solve(search.inside(zone), priorities)
        said |= dict.fromkeys(filter(None, [found.note]))
        refused += found.bracket.refused
        if found.bracket.point is not None:
            search.take(zone, found, solver.shown(found))
        elif found.bracket.status == "infeasible":
            search.close(zone, found.levels[0])
        else:
            search.why = found.bracket.why or found.bracket.status
            break
    points, at = [point for point, _ in search.points], [at for _, at in search.points]
    solver.settle(at)
    about = solver.question
    notes = [*said, *doubts(about, at, refused, solver.search.judge), *missing.notes(about), *explainer.assumed]
    left = bool(search.why)
    status: Status = "bounded" if left and points else "unknown" if left else "optimal" if points else "infeasible"
    names = tuple(priority.name for priority in explainer.priorities)
    return Front(
        status,
        sorted(points, key=lambda point: [point.objectives[name] for name in names]),
        search.empty,
        names,
        about.values(about.start),
        about.goal.text,
        search.why,
        now() - began,
        about.space,
        notes,
        about.goal.named(about.space.called),
    )


def _ordered(priorities: Sequence[Priority]) -> tuple[Priority, ...]:
    """The objective with many values first: it is minimised, the others bound zones."""
    if not 2 <= len(priorities) <= 3 or any(isinstance(one.of, Shortfall) for one in priorities):
        raise DistanceError(
            "a front has two or three objectives, none of them the shortfall", hint="For instance `l1` and `changes`."
        )
    if any(one.absolute or one.relative for one in priorities):
        raise DistanceError("the objectives of a front have no tolerance: none of them comes first")
    if len({one.name for one in priorities}) < len(priorities):
        raise DistanceError("two objectives of a front have one name")
    return tuple(sorted(priorities, key=lambda one: _counts(one) is not None))


def _counts(priority: Priority) -> Fraction | None:
    return None if isinstance(priority.of, Shortfall) else each_change(priority.of)


class _Fronting:
    """The zones that are open, and what was found. Invariant: all points that are not beaten lie in open zones."""

    def __init__(self, question: Question, priorities: tuple[Priority, ...]) -> None:
        self.question, self.priorities = question, priorities
        self.zones = [Zone((None,) * (len(priorities) - 1), Fraction(0))]
        self.values: list[tuple[Fraction, ...]] = []  # of each point, every objective
        self.points: list[tuple[FrontPoint, Point]] = []
        self.empty: list[EmptyCell] = []
        self.why = ""  # what ended the search, or left a level open

    def next(self) -> Zone | None:
        """The next open zone: the one in which the first objective may be least."""
        if not self.zones:
            return None
        return self.zones.pop(min(range(len(self.zones)), key=lambda place: self.zones[place].least))

    def distances(self) -> Iterator[tuple[Priority, Distance]]:
        """All objectives, the first one and those that bound zones."""
        for priority in self.priorities:
            assert not isinstance(priority.of, Shortfall)
            yield priority, priority.of

    def inside(self, zone: Zone) -> Question:
        """The question about a zone."""
        question = self.question
        for (_, distance), bound in zip(self.distances(), (None, *zone.bounds), strict=True):
            if bound is not None:
                question = bounded(question, distance, bound, strict=True)
        return question

    def below(self, zone: Zone) -> dict[str, float]:
        """A zone's bounds, in people's units."""
        pairs = zip(self.distances(), (None, *zone.bounds), strict=True)
        return {one.name: nearest(bound * one.unit) for (one, _), bound in pairs if bound is not None}

    def take(self, zone: Zone, found: Searched, shown: Counterfactual) -> None:
        """Keep a point, if none is known that is as small in every objective, and cut all zones that it leaves no more.

        A bound on the first objective of a zone holds for all of its parts.
        """
        at, first = found.bracket.point, found.levels[0]
        open_ = (f"{level.name}: {level.why or level.status}" for level in found.levels if level.status != "optimal")
        self.why = self.why or next(open_, "")
        assert at is not None
        values = tuple(value_of(self.question, distance, at) for _, distance in self.distances())
        least = max(zone.least, first.exact_lower_bound / self.priorities[0].unit)
        if not any(all(a <= b for a, b in zip(known, values, strict=True)) for known in self.values):
            self.points.append((FrontPoint(shown, found.levels, self.below(zone)), at))
            self.values.append(values)
        elif least > 0:
            below = {self.priorities[0].name: first.lower_bound, **self.below(zone)}
            self.empty.append(EmptyCell(below, first))
        cut: list[Zone] = []
        for one in [*self.zones, zone._replace(least=least)]:
            holds = all(b is None or value < b for value, b in zip(values[1:], one.bounds, strict=True))
            if not holds or one.least < least:  # there something may have less of the first objective
                cut.append(one)
                continue
            # Nothing is less than 0.
            for k, value in enumerate(values[1:]):
                if value > 0:
                    cut.append(one._replace(bounds=(*one.bounds[:k], value, *one.bounds[k + 1 :])))
        self.zones = [
            one
            for place, one in enumerate(cut)
            if not any(_within(one, other, earlier=k < place) for k, other in enumerate(cut) if k != place)
        ]

    def close(self, zone: Zone, level: Level) -> None:
        """A zone holds nothing."""
        self.empty.append(EmptyCell(self.below(zone), level))


def _within(one: Zone, other: Zone, *, earlier: bool) -> bool:
    """Whether a zone lies in another one; of two that are the same, in the one of which more is known."""
    if one.bounds == other.bounds:
        return other.least > one.least or other.least == one.least and earlier
    return all(b is None or a is not None and a <= b for a, b in zip(one.bounds, other.bounds, strict=True))


__all__ = ["EmptyCell", "Front", "FrontPoint", "front", "front_of"]
