"""T1 to T7: the cases of "Counterfactuals with Constraint Solvers", by tabu search and proved.

Each model is a sum of features, a linear regression here; that of T7 has three outputs, whose sum its goal is
about. The distance that the system reports, S1, is the square root of the mean of |x - x'| / range: our l1 under a
root. Its own search is ended by steps; ours by as many model calls. Every certificate of what is proved is checked.
Source: the TrustyAI explainability toolkit's unit tests, and its public implementation's results on T1 and T5.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from operator import mul
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
    from mace.explain.proposing.alone import Proposed

SOURCE = '"Counterfactuals with Constraint Solvers" (TrustyAI), acceptance cases'
TITLE = "Cases T1 to T7 by tabu search, beside the proved answers"
T5_WEIGHTS = (5.0, 0.0, 1.0, 25.0, -5.0)
T5_START = (-0.04822564522107575, 2.0912726657731104, 5.368920447474639, 0.7460348559645964, 3.6228232398513613)
T5_MOVED = (
    (sum(map(mul, T5_WEIGHTS, T5_START)) - 0.01) / 25 / 10
)  # the largest weight's feature, in shares of its range


@dataclass(frozen=True)
class Case:
    """One case.

    weights: of the sum.    start, lower, upper: of every feature.    fixed: features that may not change.
    outputs: of each output the weights of the features; then `weights` are those of the outputs.
    moved:   the hand-computed sum of |x - x'| / range; None where there is no answer.
    theirs:  the reference's S1 and seconds; steps: its number of steps, and our number of model calls.
    """

    name: str
    what: str
    goal: str
    weights: tuple[float, ...]
    start: tuple[float, ...]
    lower: float
    upper: float
    moved: float | None
    outputs: tuple[tuple[float, ...], ...] = ()
    fixed: tuple[int, ...] = ()
    steps: int = 10_000
    theirs: tuple[float, float] | None = None

    @property
    def best(self) -> float | None:
        """The hand-computed S1."""
        return None if self.moved is None else math.sqrt(self.moved / len(self.start))

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
    Case("T1", "490 <= sum <= 510", "490 <= y <= 510", (1,) * 4, (100, 150, 1, 2), 0, 1000, 0.237,
         theirs=(0.24375, 3.7)),
    Case("T2", "T1 with features 1 and 4 constrained", "490 <= y <= 510", (1,) * 4, (100,) * 4, 0, 1000, 0.09,
         fixed=(0, 3)),
    Case("T3", "T1 with confidence |10 - |sum - 500|| >= .9", "490.9 <= y <= 509.1", (1,) * 4, (100,) * 4, 0, 1000,
         0.0909),
    Case("T4", "499 <= sum <= 501, two features free in [0, 2]", "499 <= y <= 501", (1,) * 4, (1,) * 4, 0, 2, None,
         fixed=(2, 3)),
    Case("T5", "w.x = 0 within .01", "y within 0.01 of 0", T5_WEIGHTS, T5_START, -5, 5, T5_MOVED, steps=30_000,
         theirs=(0.15132, 12.5)),
    Case("T6", "sum in [9.9, 10.1]", "9.9 <= y <= 10.1", (1, 1), (0, 5), 0, 10, 0.49),
    Case("T7", "500 <= sum of three outputs <= 700, each the sum of two features", "500 <= total <= 700", (1,) * 3,
         (10,) * 4, 0, 1000, 0.22, outputs=((1, 1, 0, 0), (0, 1, 1, 0), (0, 0, 1, 1))),
)  # fmt: skip


class Solved(NamedTuple):
    """A case.

    answer, missed: what is proved; where the goal cannot be met, the least shortfall and what is nearest to it.
    checks: of each certificate what it is about, and what the checker says.
    proved_in, searched_in: seconds.    found: by the search.
    """

    answer: Answer
    missed: Answer | None
    checks: list[tuple[str, bool]]
    proved_in: float
    found: Proposed
    searched_in: float

    @property
    def settled(self) -> bool:
        """Whether nothing is open and every certificate was accepted."""
        levels = (self.missed or self.answer).levels
        return all(level.status == "optimal" for level in levels) and all(accepted for _, accepted in self.checks)


def solve(case: Case, timeout: float | None) -> Solved:
    """Both ways; the search may ask the model as often as the reference took steps."""
    explainer = Explainer(model_of(case), case.space, objectives=["l1", "changes"])
    row = {f"x{j}": float(value) for j, value in enumerate(case.start)}
    began = time.perf_counter()
    answer = explainer.explain(row, goal=case.goal, timeout=timeout)
    missed = answer.nearest_miss() if answer.status == "infeasible" else None
    middle = time.perf_counter()
    found = explainer.propose(row, "tabu", goal=case.goal, max_calls=case.steps, timeout=Deadline.asked(timeout))
    searched = time.perf_counter() - middle
    whole = [] if missed is None else [("no point has the goal", answer.certificate)]
    parts = [*whole, *((level.name, level.certificate) for level in (missed or answer).levels)]
    checks = [(name, certificate.check().accepted) for name, certificate in parts]
    return Solved(answer, missed, checks, middle - began, found, searched)


def model_of(case: Case) -> Any:
    """A linear regression with the weights of a case, or the sum of what one with several outputs predicts."""
    from sklearn.linear_model import LinearRegression

    from mace.compilers.sklearn.outputs import SumOfOutputs

    model, count = LinearRegression(), len(case.start)
    model.coef_ = np.array(case.outputs or case.weights, dtype=np.float64)
    model.intercept_ = np.zeros(len(case.outputs)) if case.outputs else 0.0
    model.n_features_in_, model.rank_, model.singular_ = count, count, np.ones(count)
    model.feature_names_in_ = np.array([f"x{j}" for j in range(count)], dtype=object)
    return SumOfOutputs(model, case.weights) if case.outputs else model


def run(work: Work) -> Reproduced:
    """Solve the chosen cases."""
    figures: list[Figure] = []
    calls: list[Figure] = []
    lines: list[tuple[str, ...]] = []
    rows = settled = 0
    for name in work.chosen([case.name for case in CASES]):
        case = next(case for case in CASES if case.name == name)
        one = solve(case, work.timeout)
        rows, settled = rows + 1, settled + one.settled
        figures += _figures(case, one)
        row, done = (case.name, case.what), int(one.settled)
        calls.append(Figure(row, "model calls of tabu", float(one.found.calls), case.steps, 1, done))
        changes = "" if one.found.best is None else ", ".join(one.found.best.changes)
        checked = "; ".join(f"{part}: {'accepted' if accepted else 'REFUSED'}" for part, accepted in one.checks)
        lines.append((case.name, _said(one), checked, changes))
        work.say(f"{case.name}: {_said(one)}")
    keys = ("case", "goal")
    grids = [
        Grid("In brackets: by hand, and the reference's search", keys, figures, "", 5),
        Grid("Model calls (in brackets: the most, as many as the reference took steps)", keys, calls, "", 0),
    ]
    head = ("case", "proved", "certificates", "tabu changes")
    listing = Listing("What is proved, and what the search changed", head, lines)
    return Reproduced("levels-t1-t7", TITLE, SOURCE, [*grids, listing], [], [], (), rows, settled)


def _figures(case: Case, one: Solved) -> list[Figure]:
    """The figures of a case."""
    row, done, (steps, seconds) = (case.name, case.what), int(one.settled), case.theirs or (None, None)
    best, proved = one.found.best, one.answer.distance
    s1 = None if best is None else math.sqrt(best.distance)
    near = None if steps is None or s1 is None else s1 <= steps + 1e-9
    quick = None if seconds is None else one.searched_in < seconds
    moved = None if proved is None else proved * len(case.start)
    exact = None if moved is None or case.moved is None else abs(moved - case.moved) <= 1e-9
    return [
        Figure(row, "moved, proved", moved, case.moved, 1, done, exact, "" if exact is not False else "not by hand's"),
        Figure(row, "S1, proved", None if proved is None else math.sqrt(proved), case.best, 1, done),
        Figure(row, "S1, tabu", s1, steps, 1, done, near, "" if near is not False else "it ended farther"),
        Figure(row, "seconds, tabu", one.searched_in, seconds, 1, done, quick, ""),
        Figure(row, "seconds, proved", one.proved_in, None, 1, done),
    ]


def _said(one: Solved) -> str:
    if one.missed is None:
        changes = ", ".join(one.answer.counterfactuals[0].changes) if one.answer.counterfactuals else "nothing"
        return f"{one.answer.status}, it changes {changes}"
    least = one.missed.levels[0]
    found = "the search found nothing" if one.found.best is None else "the search found something"
    return f"infeasible; the least shortfall is {least.value:g} ({least.status}); {found}"


ENTRY = Entry("levels-t1-t7", TITLE, SOURCE, run, tuple(case.name for case in CASES))
