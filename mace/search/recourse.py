"""Actionable recourse of linear models: the cheapest combination of actions on a grid, by a mixed-integer program.

Each feature has a few values that it may take; one of them is chosen, so that the sum of what they add to the score
reaches the goal and the distance is the least. It is solved by HiGHS, through scipy.

Source: Ustun, Spangher, Liu 2019, "Actionable Recourse in Linear Classification".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mace.problem.distance import Norm
from mace.problem.question import Question
from mace.search.chart import Chart, Floats
from mace.search.limits import check
from mace.search.protocol import Batches, Task
from mace.tables.table import Compare, Network

TRIES = 20  # solutions that rules, or the model's own rounding, refuse
SLACK = 1e-9  # of the largest sum of scores, by which a goal must be met


class Actions(NamedTuple):
    """What may be chosen: one action of each feature.

    feature, value: of each action.    cost: what it adds to the sum of a distance.
    top: its part of the largest change.    changes: whether it changes its feature.
    """

    feature: Floats
    value: Floats
    cost: Floats
    top: Floats
    changes: Floats


@dataclass(frozen=True)
class ActionableRecourse:
    """Actionable recourse.

    bins: how many values, evenly spaced over its range, a number may take beside its own.
    """

    bins: int = 100
    name: str = "ar"

    def __post_init__(self) -> None:
        check(self)

    def refusal(self, task: Task) -> str | None:
        """Why it does not take a task: it is for linear models, and for norms."""
        place = task.place
        if not isinstance(place, Question) or not isinstance(place.model, Network) or len(place.model.layers) > 1:
            return "it is for linear models"
        if not isinstance(place.distance, Norm):
            return "the distance is a program"
        return None

    def batches(self, task: Task, rng: np.random.Generator) -> Batches:  # noqa: ARG002
        """The cheapest combination for each way to have the goal; where one is refused, the next."""
        question, chart = task.place, task.chart
        assert isinstance(question, Question)
        actions = self._actions(question, chart)
        for part in question.goal.decision:
            refused: list[Floats] = []
            while len(refused) < TRIES:
                chosen = _solve(question, chart, actions, part, refused)
                if chosen is None:
                    break
                row = chart.start.copy()
                places = np.flatnonzero(chosen)
                row[actions.feature[places].astype(np.intp)] = actions.value[places]
                scores = yield row[None]
                if scores.goal[0] == 0:
                    break
                refused.append(chosen)
        return None

    def _actions(self, question: Question, chart: Chart) -> Actions:
        """All that each feature may become."""
        norm = question.distance
        assert isinstance(norm, Norm)
        features, values = [], []
        for j in range(chart.features):
            known = chart.levels[j]
            if chart.free[j] and known is None:
                known = chart.snap_column(j, np.linspace(chart.low[j], chart.high[j], self.bins + 1))
            own = [chart.start[j]] if question.axes[j].allows(question.axes[j].start) else []
            several = np.unique([*own, *(known if known is not None and chart.free[j] else ())])
            features += [j] * len(several)
            values += several.tolist()
        feature, value = np.array(features), np.array(values)
        rows = np.tile(chart.start, (len(value), 1))
        rows[np.arange(len(value)), feature] = value
        deltas, at = chart.deltas(rows), (np.arange(len(value)), feature)
        charged, changes = norm.charged(deltas), (deltas[at] > 0).astype(np.float64)
        return Actions(feature.astype(np.float64), value, charged.part[at], charged.top[at], changes)


def _solve(
    question: Question, chart: Chart, actions: Actions, part: tuple[Compare, ...], refused: list[Floats]
) -> Floats | None:
    """The cheapest choice that satisfies all comparisons; shape (actions,). None if there is none.

    The variables are the choices, and the largest change.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    count = len(actions.value)
    feature = actions.feature.astype(np.intp)
    one_each = np.zeros((chart.features, count + 1))
    one_each[feature, np.arange(count)] = 1
    constraints = [LinearConstraint(one_each, 1, 1)]
    for compare in part:
        added, base = _added(question, chart, actions, compare)
        margin = SLACK * (1 + np.abs(added).sum() + abs(base))
        constraints.append(LinearConstraint(np.append(added, 0.0)[None], compare.than - base + margin, np.inf))
    if actions.top.any():
        tops = np.zeros((count, count + 1))
        tops[np.arange(count), np.arange(count)], tops[:, count] = -actions.top, 1
        constraints.append(LinearConstraint(tops, 0, np.inf))
    if question.most_changes is not None:
        constraints.append(LinearConstraint(np.append(actions.changes, 0.0)[None], 0, question.most_changes))
    constraints += [LinearConstraint(np.append(one, 0.0)[None], 0, one.sum() - 1) for one in refused]
    found = milp(
        np.append(actions.cost, 1.0),
        integrality=np.append(np.ones(count), 0),
        bounds=Bounds(0, np.append(np.ones(count), np.inf)),
        constraints=constraints,
        options={"mip_rel_gap": 1e-9},
    )
    return None if found.x is None else np.rint(found.x[:count])


def _added(question: Question, chart: Chart, actions: Actions, compare: Compare) -> tuple[Floats, float]:
    """What each action adds to a comparison, and what stands without them."""
    model = question.model
    assert isinstance(model, Network)
    (layer,) = model.layers
    weights, base = np.zeros(model.columns), 0.0
    for side, sign in ((compare.plus, 1.0), (compare.minus, -1.0)):
        if side is not None:
            weights, base = weights + sign * layer.weights[:, side], base + sign * float(layer.bias[side])
    rows = np.tile(chart.start, (len(actions.value), 1))
    feature = actions.feature.astype(np.intp)
    rows[np.arange(len(rows)), feature] = actions.value
    matrix = chart.matrix(rows, question.columns)
    owner = np.array([column.feature for column in question.columns])
    return np.where(owner[None, :] == feature[:, None], matrix * weights, 0.0).sum(axis=1), base
