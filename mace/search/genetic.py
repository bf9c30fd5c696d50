"""Genetic searches through pymoo: NSGA-II on shortfall, distance and number of changes, and a plain one on distance.

Individuals are the vectors of `mace.search.swarm.Coder`. The first generation has the start, the background rows that
fit, and random rows. Source: Deb et al. 2002, as pymoo implements it; Dandl et al. 2020 for the objectives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mace.search.chart import Floats
from mace.search.extra import require
from mace.search.limits import check
from mace.search.protocol import Batches, Task, unmovable
from mace.search.score import Scores
from mace.search.swarm import Coder

FAR = 1e12  # how far a goal is missed by what is not allowed


@dataclass(frozen=True)
class Genetic:
    """A genetic search.

    kind:        "nsga2" for the front of shortfall, distance and changes; "ga" for the distance, the goal a constraint.
    population, generations: how many individuals, how often.
    """

    kind: Literal["nsga2", "ga"] = "nsga2"
    population: int = 50
    generations: int = 100

    def __post_init__(self) -> None:
        check(self)

    @property
    def name(self) -> str:
        """By its kind."""
        return self.kind

    def refusal(self, task: Task) -> str | None:
        """Why it does not take a task: it needs pymoo, and something that may change."""
        require("pymoo", "pymoo", "mace-smt[search]")
        return unmovable(task)

    def batches(self, task: Task, rng: np.random.Generator) -> Batches:
        """Each generation; at the end, for NSGA-II, the front of valid points."""
        from pymoo.core.evaluator import Evaluator
        from pymoo.core.problem import Problem
        from pymoo.problems.static import StaticProblem

        coder = Coder(task.chart, task.chart.free)
        goals, constraints = (3, 0) if self.kind == "nsga2" else (1, 1)
        problem = Problem(
            n_var=len(coder.low), n_obj=goals, n_ieq_constr=constraints, xl=coder.low, xu=coder.high, vtype=float
        )
        algorithm = self._algorithm(self._first(task, coder, rng))
        algorithm.setup(problem, termination=("n_gen", self.generations), seed=int(rng.integers(2**31)), verbose=False)
        front = np.empty((0, task.chart.features))
        while algorithm.has_next():
            population = algorithm.ask()
            rows = coder.rows(np.asarray(population.get("X"), dtype=np.float64))
            scores = yield rows
            found = self._measured(scores)
            Evaluator().eval(StaticProblem(problem, **found), population)
            algorithm.tell(infills=population)
            if self.kind == "nsga2":
                front = coder.rows(np.asarray(algorithm.pop.get("X"), dtype=np.float64))
        return np.unique(front, axis=0) if self.kind == "nsga2" else None

    def _algorithm(self, first: Floats) -> Any:
        if self.kind == "nsga2":
            from pymoo.algorithms.moo.nsga2 import NSGA2

            return NSGA2(pop_size=self.population, sampling=first)
        from pymoo.algorithms.soo.nonconvex.ga import GA

        return GA(pop_size=self.population, sampling=first)

    def _first(self, task: Task, coder: Coder, rng: np.random.Generator) -> Floats:
        """The first generation, as vectors."""
        chart = task.chart
        rows = [chart.snap(chart.start)]
        if task.rows is not None and len(task.rows):
            known, fit = chart.fitted(task.rows)
            known = known[fit]
            rows.append(known[rng.choice(len(known), min(len(known), self.population // 2), replace=False)])
        some = np.concatenate(rows)[: self.population]
        return coder.code(np.concatenate([some, chart.uniform(rng, self.population - len(some))]))

    def _measured(self, scores: Scores) -> dict[str, Floats]:
        """Scores as pymoo takes them."""
        missed = np.minimum(scores.goal, FAR) + scores.constrained + np.minimum(scores.doubts, FAR)
        if self.kind == "nsga2":
            return {"F": np.column_stack([missed, scores.distance, scores.changes])}
        return {"F": scores.distance[:, None], "G": missed[:, None]}
