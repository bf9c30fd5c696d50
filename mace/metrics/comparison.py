"""`mace.compare`: several methods' counterfactuals of the same rows side by side, beside the proved optimum.

In:  a model (or several by name), rows, for each method a frame of counterfactuals, and the space.
Out: a `Comparison`: for each model and method every measure, and how much farther than the proved optimum it ends.
Promise: "over the optimum" counts only answers that the model itself gives the goal and the space allows, against
that were proved; what was not compared is counted and said. An answer below a proved bound is a ModelError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.arguments import checked
from mace.base.escape import short
from mace.base.exact import nearest
from mace.base.frames import in_pandas
from mace.base.values import for_json
from mace.base.views import Plot, view
from mace.errors import GoalError, MaceError, ModelError, RowError
from mace.explain.answer import Answer
from mace.explain.explainer import Explainer
from mace.explain.goal_rows import have_goal
from mace.metrics import measures
from mace.metrics.frames import answers, framed, paired
from mace.metrics.validity import valid
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from mace.explain.reading.settings import GoalSpec
    from mace.problem.objectives import DistanceSpec


@dataclass(frozen=True)
class Line:
    """One method under one model; each measure as `mace.metrics` defines it, NaN where there is nothing to measure.

    answers:      how many were given.
    allowed:      share of them that the space's ranges, grids, restrictions and rules allow.
    distance:     mean distance of the nearest answer of a row that is valid and allowed.
    over_optimum: mean of distance / proved optimum - 1 over the rows `compared`.
    met:          how many of these are the optimum itself.
    ratios:       the single values behind `over_optimum`.
    missed:       rows without a valid, allowed answer of which it is proved that there is one.
    """

    model: str
    method: str
    rows: int
    answers: int
    validity: float
    coverage: float
    allowed: float
    proximity: float
    sparsity: float
    diversity: float
    normalised_diversity: float
    closeness: float
    plausibility: float
    cost: float
    seconds: float
    distance: float
    over_optimum: float
    compared: int
    met: int
    missed: int
    ratios: tuple[float, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """What `mace.compare` returns; printing it shows the table.

    optima: model -> the answer of `mace.explain` for each row; empty where no optimum was asked for.
    notes:  what was not compared, and why.
    """

    lines: list[Line]
    distance: str
    goal: str
    asked: int
    optima: dict[str, list[Answer]]
    notes: list[str]

    def to_frame(self) -> pd.DataFrame:
        """One row a model and method, a column a measure."""
        import pandas as pd

        return pd.DataFrame([self._cells(line) for line in self.lines])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "goal": self.goal,
            "distance": self.distance,
            "asked": self.asked,
            "lines": [
                {name: for_json(value) for name, value in self._cells(line).items()} | {"ratios": list(line.ratios)}
                for line in self.lines
            ],
            "notes": self.notes,
        }

    @staticmethod
    def _cells(line: Line) -> dict[str, Any]:
        return {part.name: getattr(line, part.name) for part in fields(Line) if part.name != "ratios"}

    def plot(self, ax: Axes | None = None) -> Plot:
        """Draw how much farther than the proved optimum each method's answers are; raises MaceError without optima."""
        drawn: Plot = view("comparison as a plot")(self, ax)
        return drawn

    def __str__(self) -> str:
        return str(view("comparison as text")(self))

    def __repr__(self) -> str:
        return f"Comparison({', '.join(line.method for line in self.lines)}; goal {self.goal})"

    def _repr_html_(self) -> str:
        return str(view("comparison as HTML")(self))

    def __rich__(self) -> Any:
        return view("comparison for rich")(self)


class Shared(NamedTuple):
    """What is the same for every method."""

    rows: pd.DataFrame
    space: Space
    goal: GoalSpec
    data: pd.DataFrame
    prices: Mapping[str, object] | None
    asked: int


@checked
def compare(
    models: object, rows: pd.DataFrame, counterfactuals: Mapping[str, pd.DataFrame], space: Space, *,
    goal: GoalSpec, data: pd.DataFrame | None = None, outcome: Sequence[bool] | None = None,
    distance: DistanceSpec = "l1", prices: Mapping[str, object] | None = None, asked: int = 1,
    seconds: Mapping[str, Sequence[float]] | None = None,
    optimum: bool | Sequence[Answer] = True, timeout: float | None = 60.0,
) -> Comparison:  # fmt: skip
    """Put methods' counterfactuals of the same rows side by side, beside the proved optimum.

    models:  a model as `mace.explain` takes it, or name -> model.
    rows:    the rows that were explained, in the columns of the space; their index has each label once.
    counterfactuals: method -> frame in the same columns, whose index says which row each answers.
    goal:    what the counterfactuals were to reach.
    data:    real rows, for deviations, closeness and plausibility; None: `rows`.
    outcome: of each row of `data`, whether it has the goal outcome; None: the model's decision.
    distance: the norm of `distance` and `over_optimum`; prices: of each feature, for `cost`.
    asked:   how many answers a row was asked for.
    seconds: method -> seconds of each row.
    optimum: whether to ask `mace.explain` for the nearest counterfactual of each row, one after the other; or its
             answers, one a row, where there is one model. timeout: seconds for each.
    Returns a Comparison. Raises RowError, GoalError, MaceError for what does not fit.
    """
    if goal is None:
        raise GoalError("which counterfactuals are valid depends on the goal", hint="Give goal=.")
    if not counterfactuals:
        raise MaceError("counterfactuals are a dict: the name of a method -> its frame")
    counterfactuals = {method: in_pandas(frame) for method, frame in counterfactuals.items()}
    named = dict(models) if isinstance(models, Mapping) else {"model": models}
    if not named:
        raise MaceError("models are a dict: the name of a model -> the model; got none")
    framed(rows)
    same = Shared(rows, space, goal, rows if data is None else data, prices, asked)
    lines: list[Line] = []
    optima: dict[str, list[Answer]] = {}
    notes: list[str] = []
    for name, model in named.items():
        explainer = Explainer(model, space, distance=distance, background=same.data)
        if optimum is True:
            optima[name] = explainer.explain(rows, goal=goal, timeout=timeout)
        elif optimum:
            optima[name] = _given(optimum, rows, len(named))
        notes += _about(name if len(named) > 1 else "", optima.get(name))
        explained = explainer.wanted(goal)
        having = have_goal(explainer, same.data, explained) if outcome is None else list(outcome)
        if len(having) != len(same.data):
            raise MaceError(
                f"outcome has {len(having)} entries; it needs one for each row of the data ({len(same.data)})"
            )
        for method, frame in counterfactuals.items():
            taken = measures.time((seconds or {}).get(method, ())).mean
            real = same.data[np.array(having, dtype=bool)]
            lines.append(_line(str(name), str(method), frame, explainer, same, optima.get(name), real, taken))
    return Comparison(lines, explainer.distance.name, str(explained), asked, optima, notes)


def _line(
    model: str, method: str, frame: pd.DataFrame, explainer: Explainer, same: Shared, optima: list[Answer] | None,
    real: pd.DataFrame, seconds: float,
) -> Line:  # fmt: skip
    """One method's measures; `real` are the rows of `data` that have the goal."""
    rows, space, data = same.rows, same.space, same.data
    nan = float("nan")
    good = valid(explainer, space, frame, same.goal)
    given = answers(frame, space)
    reached = _reached(frame, good, explainer, same)
    ratios, missed = _beside(reached.best, optima, same)
    some = bool(given.any())
    inside = frame[reached.inside]
    return Line(
        model,
        method,
        len(rows),
        int(given.sum()),
        float(good[given].mean()) if some else nan,
        measures.coverage(rows, frame, space, good.tolist(), same.asked),
        float(reached.allowed[given].mean()) if some else nan,
        measures.proximity(rows, frame, space, data),
        measures.sparsity(rows, frame, space),
        measures.diversity(rows, frame, space, data),
        measures.normalised_diversity(rows, frame, space, data),
        measures.closeness(rows, inside, space, data) if len(data) > 1 and len(inside) else nan,
        measures.plausibility(rows, frame, space, real) if len(real) else nan,
        nan if same.prices is None else measures.cost(rows, frame, space, same.prices),
        seconds,
        float(np.mean([nearest(far) for far, _ in reached.best.values()])) if reached.best else nan,
        float(np.mean(ratios)) if ratios else nan,
        len(ratios),
        sum(ratio == 0 for ratio in ratios),
        missed,
        tuple(ratios),
    )


class Reached(NamedTuple):
    """Which rows of a frame lie in the space, which of them are allowed, and the nearest that is valid and allowed:
    place of a row -> exact distance and the place of the answer."""

    inside: NDArray[np.bool_]
    allowed: NDArray[np.bool_]
    best: dict[int, tuple[Fraction, int]]


def _reached(frame: pd.DataFrame, good: NDArray[np.bool_], explainer: Explainer, same: Shared) -> Reached:
    pairs = paired(same.rows, frame, same.space)
    inside, allowed = np.zeros(len(frame), dtype=bool), np.zeros(len(frame), dtype=bool)
    best: dict[int, tuple[Fraction, int]] = {}
    for group in pairs.groups():
        person = int(pairs.person[group[0]])
        question, _ = explainer.question(same.rows.iloc[person], same.goal)
        for place in pairs.place[group].tolist():
            try:
                point = same.space.point(question.axes, frame.iloc[place])
            except RowError:
                continue  # outside of the space: it was counted as an answer that is not allowed
            inside[place] = True
            if point is None or not question.obeys(point):
                continue
            allowed[place] = True
            far = question.distance_of(point)
            if good[place] and (person not in best or far < best[person][0]):
                best[person] = (far, place)
    return Reached(inside, allowed, best)


def _beside(
    best: Mapping[int, tuple[Fraction, int]], optima: list[Answer] | None, same: Shared
) -> tuple[list[float], int]:
    """How much farther than the proved optimum each row's best answer is, as a share; and how many were missed."""
    ratios, missed = [], 0
    for person, answer in enumerate(optima or ()):
        if person not in best:
            missed += answer.exact_distance is not None
            continue
        far, _ = best[person]
        if answer.status == "infeasible" or far < answer.exact_lower_bound:
            raise ModelError(
                f"row {short(same.rows.index[person])}: an answer is nearer than the bound that was proved",
                hint="Does the model decide alike for one row and for many? If so, please report this.",
            )
        if answer.status == "optimal" and answer.exact_lower_bound > 0:
            ratios.append(nearest(far / answer.exact_lower_bound - 1))
    return ratios, missed


def _given(optimum: Sequence[Answer], rows: pd.DataFrame, models: int) -> list[Answer]:
    found = list(optimum)
    if models > 1 or len(found) != len(rows) or not all(isinstance(one, Answer) for one in found):
        raise MaceError(f"optimum has {len(found)} answers; it needs one a row ({len(rows)}), of one model")
    return found


def _about(model: str, optima: list[Answer] | None) -> list[str]:
    if optima is None:
        return ["no optimum was asked for"]
    where = f"{model}: " if model else ""
    counts = {
        status: sum(answer.status == status for answer in optima) for status in ("infeasible", "bounded", "unknown")
    }
    said = {
        "infeasible": "it is proved that nothing allowed reaches the goal",
        "bounded": "the optimum lies between two bounds and is not compared with",
        "unknown": "no optimum was found",
    }
    return [f"{where}{count} of {len(optima)} rows: {said[status]}" for status, count in counts.items() if count]
