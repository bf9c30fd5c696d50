"""T1 to T7: the cases of "Counterfactuals with Constraint Solvers", by tabu search and proved.

Each model is a sum of features, a linear regression here; the distance that the system reports, S1, is the square root
of the mean of |x - x'| / range: our l1 under a root. Its own search is ended by steps; ours by as many model calls.
Source: the TrustyAI explainability toolkit's unit tests, and its public implementation's results on T1 and T5.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mace.base.deadline import Deadline
from mace.explain.answer import Answer
from mace.explain.explainer import Explainer
from mace.reproduce.entry import Entry
from mace.reproduce.result import Figure, Grid, Listing, Reproduced
from mace.reproduce.work import Work
from mace.space.feature import Feature
from mace.space.space import Space

if TYPE_CHECKING:
    from mace.explain.proposing import Proposed

SOURCE = '"Counterfactuals with Constraint Solvers" (TrustyAI), acceptance cases'
TITLE = "Cases T1 to T7 by tabu search, beside the proved answers"
T5_START = (-0.04822564522107575, 2.0912726657731104, 5.368920447474639, 0.7460348559645964, 3.6228232398513613)


@dataclass(frozen=True)
class Case:
    """One case.

    weights: of the sum.    start, lower, upper: of every feature.    fixed: features that may not change.
    best:    the hand-computed S1; None where there is no answer.
    theirs:  the reference's S1 and seconds; steps: its number of steps, and our number of model calls.
    """

    name: str
    what: str
    goal: str
    weights: tuple[float, ...]
    start: tuple[float, ...]
    lower: float
    upper: float
    best: float | None
    fixed: tuple[int, ...] = ()
    steps: int = 10_000
    theirs: tuple[float, float] | None = None

    @property
    def space(self) -> Space:
        """Reals; one that starts outside of its range stays or comes inside."""
        outside = [j for j, value in enumerate(self.start) if value > self.upper]
        features = [
            Feature(f"x{j}", "real", self.lower, max(self.upper, value), change="fixed" if j in self.fixed else "any")
            for j, value in enumerate(self.start)
        ]
        return Space(features, [f"x{j} <= {self.upper:g} or x{j} == start_x{j}" for j in outside])


CASES = (
    Case("T1", "490 <= sum <= 510", "490 <= y <= 510", (1,) * 4, (100, 150, 1, 2), 0, 1000, math.sqrt(0.237 / 4),
         theirs=(0.24375, 3.7)),
    Case("T2", "T1 with features 1 and 4 constrained", "490 <= y <= 510", (1,) * 4, (100,) * 4, 0, 1000, 0.15, (0, 3)),
    Case("T3", "T1 with confidence |10 - |sum - 500|| >= .9", "490.9 <= y <= 509.1", (1,) * 4, (100,) * 4, 0, 1000,
         math.sqrt(0.0909 / 4)),
    Case("T4", "499 <= sum <= 501, two features free in [0, 2]", "499 <= y <= 501", (1,) * 4, (1,) * 4, 0, 2, None,
         (2, 3)),
    Case("T5", "w.x = 0 within .01", "y within 0.01 of 0", (5, 0, 1, 25, -5), T5_START, -5, 5, 0.06726, steps=30_000,
         theirs=(0.15132, 12.5)),
    Case("T6", "sum in [9.9, 10.1]", "9.9 <= y <= 10.1", (1, 1), (0, 5), 0, 10, math.sqrt(0.49 / 2)),
    Case("T7", "500 <= sum of outputs <= 700, each twice a feature", "500 <= y <= 700", (2,) * 3, (1,) * 3, 0, 1000,
         math.sqrt(0.247 / 3)),
)  # fmt: skip


class Solved(NamedTuple):
    """A case: the proved answer and its seconds, what the search found and its seconds."""

    answer: Answer
    proved_in: float
    found: Proposed
    searched_in: float


def solve(case: Case, timeout: float | None) -> Solved:
    """Both ways; the search may ask the model as often as the reference took steps."""
    explainer = Explainer(model_of(case.weights), case.space, objectives=["l1", "changes"])
    row = {f"x{j}": float(value) for j, value in enumerate(case.start)}
    began = time.perf_counter()
    answer = explainer.explain(row, goal=case.goal, timeout=timeout)
    middle = time.perf_counter()
    found = explainer.propose(row, "tabu", goal=case.goal, max_calls=case.steps, timeout=Deadline.asked(timeout))
    return Solved(answer, middle - began, found, time.perf_counter() - middle)


def model_of(weights: Sequence[float]) -> Any:
    """A linear regression with these weights."""
    from sklearn.linear_model import LinearRegression

    model = LinearRegression()
    model.coef_, model.intercept_ = np.array(weights, dtype=np.float64), 0.0
    model.n_features_in_, model.rank_, model.singular_ = len(weights), len(weights), np.ones(len(weights))
    model.feature_names_in_ = np.array([f"x{j}" for j in range(len(weights))], dtype=object)
    return model


def run(work: Work) -> Reproduced:
    """Solve the chosen cases."""
    figures: list[Figure] = []
    calls: list[Figure] = []
    lines: list[tuple[str, ...]] = []
    rows = settled = 0
    for name in work.chosen([case.name for case in CASES]):
        case = next(case for case in CASES if case.name == name)
        one = solve(case, work.timeout)
        done = one.answer.status in ("optimal", "infeasible")
        rows, settled = rows + 1, settled + done
        best, theirs = one.found.best, case.theirs or (None, None)
        s1 = None if best is None else math.sqrt(best.distance)
        near = None if theirs[0] is None or s1 is None else s1 <= theirs[0] + 1e-9
        quick = None if theirs[1] is None else one.searched_in < theirs[1]
        row = (case.name, case.what)
        proved = None if one.answer.distance is None else math.sqrt(one.answer.distance)
        figures += [
            Figure(row, "S1, proved", proved, case.best, 1, int(done)),
            Figure(row, "S1, tabu", s1, theirs[0], 1, int(done), near, "" if near is not False else "it ended farther"),
            Figure(row, "seconds, tabu", one.searched_in, theirs[1], 1, int(done), quick, ""),
            Figure(row, "seconds, proved", one.proved_in, None, 1, int(done)),
        ]
        calls.append(Figure(row, "model calls of tabu", float(one.found.calls), case.steps, 1, int(done)))
        lines.append((case.name, _said(one), "" if best is None else ", ".join(best.changes)))
        work.say(f"{case.name}: {_said(one)}")
    grids = [
        Grid("In brackets: by hand, and the reference's search", ("case", "goal"), figures, "", 5),
        Grid(
            "Model calls (in brackets: the most, as many as the reference took steps)", ("case", "goal"), calls, "", 0
        ),
    ]
    listing = Listing("What is proved, and what the search changed", ("case", "proved", "tabu changes"), lines)
    return Reproduced("levels-t1-t7", TITLE, SOURCE, [*grids, listing], [], [], (), rows, settled)


def _said(one: Solved) -> str:
    if one.answer.status != "infeasible":
        changes = ", ".join(one.answer.counterfactuals[0].changes) if one.answer.counterfactuals else "nothing"
        return f"{one.answer.status}, it changes {changes}"
    missed = one.answer.nearest_miss()
    least = missed.levels[0] if missed.levels else None
    found = "the search found nothing" if one.found.best is None else "the search found something"
    return f"infeasible; the least shortfall is {least.value:g} ({least.status}); {found}" if least else "infeasible"


ENTRY = Entry("levels-t1-t7", TITLE, SOURCE, run, tuple(case.name for case in CASES))
