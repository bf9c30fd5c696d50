"""Large neighbourhood search on tree ensembles: undo some changes of the best point, and reach the goal in another way.

It reads the trees, and proposes nothing but points that are nearer than all before and have the goal by the model's own
sums. It begins with the nearest point that is known, or climbs from the start itself.

Source: Shaw 1998; the steps are those of `mace.solve.ensembles.points.repair`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mace.base.deadline import TimeOverError
from mace.problem.question import Question
from mace.search.asked import ExhaustedError
from mace.search.limits import check
from mace.search.protocol import Batches, Task


@dataclass(frozen=True)
class Neighbourhoods:
    """Large neighbourhood search.

    repairs:  how many are tried in a step.
    patience: after so many steps without a nearer point it ends; None: never by itself.
    """

    repairs: int = 8
    patience: int | None = 300
    name: str = "lns"

    def __post_init__(self) -> None:
        check(self)

    def refusal(self, task: Task) -> str | None:
        """Why it does not take a task: it reads trees, under the distances that their prover takes."""
        from mace.solve.ensembles.arrays.cells import refusal

        if not isinstance(task.place, Question):
            return "it reads the trees of an ensemble"
        return refusal(task.place)

    def batches(self, task: Task, rng: np.random.Generator) -> Batches:
        """The first point with the goal, then each nearer one."""
        from mace.solve.ensembles.arrays.cells import ground
        from mace.solve.ensembles.points.greedy import greedy
        from mace.solve.ensembles.points.repair import Repairs

        question, chart, deadline = task.place, task.chart, task.asked.deadline
        assert isinstance(question, Question)
        try:
            grounded = ground(question, deadline)
        except TimeOverError as over:
            raise ExhaustedError(str(over)) from None
        most = -1 if question.most_changes is None else question.most_changes
        known = task.known()
        first = greedy(grounded, most, np.zeros(0, np.int64), deadline) if known is None else grounded.cells(known)
        if first is None:
            return None
        allowed = known is not None or bool((yield chart.row(grounded.point(first))[None]).valid.all())
        search = Repairs(grounded, most, first, rng, counts=allowed)
        refused, idle, none = set[bytes](), 0, np.empty((0, chart.features))
        while self.patience is None or idle < self.patience:
            found = (search.repaired(deadline) for _ in range(self.repairs))
            nearer = next((one for one in found if one is not None and one.tobytes() not in refused), None)
            scores = yield none if nearer is None else chart.row(grounded.point(nearer))[None]
            idle += 1
            if nearer is not None and scores.valid.all():
                search.take(nearer)
                idle = 0
            elif nearer is not None:  # the model, or a rule, refuses it
                refused.add(nearer.tobytes())
            if task.known() is not known:
                known = task.known()
                assert known is not None
                search.take(grounded.cells(known))
        return None
