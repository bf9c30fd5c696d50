"""The swarm's own question, proved: the nearest counterfactual inside its box, over its active features.

The swarm may move a few features only, each by a share of where it stands in its range. Both are plain bounds on the
axes of a question: whether there is a counterfactual within them, and how near the nearest is, has a proof.
Source: Shekhar et al. 2023, algorithm 1, steps 1 to 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mace.audit.record import Record
from mace.audit.task import Query, Task
from mace.base.deadline import Deadline
from mace.base.exact import above, below, exact, rounded_text
from mace.explain.explainer import Explainer
from mace.explain.proposing.task import task_of
from mace.problem.question import Question
from mace.search.swarm import Swarm, room
from mace.space.axes import Axis, GridAxis


@dataclass(frozen=True)
class Within:
    """The provers, within what a swarm may reach."""

    swarm: Swarm

    def __call__(self, explainer: Explainer, query: Query, task: Task, blank: Record, deadline: Deadline) -> Record:
        """The nearest point of the box as a record; "infeasible" where it is proved that there is none."""
        solver = explainer.row_solver(query.values, task.goal, None, task.oracle, deadline, task.memory_mb)
        within = boxed(solver.question, explainer, self.swarm)
        bracket = solver.solve(within, explainer.priorities).bracket
        record = replace(blank, status=bracket.status, why=bracket.why, oracle="box")
        if bracket.status != "infeasible":
            record = replace(
                record, lower_bound=below(bracket.lower), exact_lower_bound=rounded_text(bracket.lower, below)
            )
        if bracket.point is None or bracket.upper is None:
            return record
        solver.settle([bracket.point])
        return replace(record, distance=above(bracket.upper), exact_distance=rounded_text(bracket.upper, above))


def boxed(question: Question, explainer: Explainer, swarm: Swarm) -> Question:
    """The question within a swarm's reach: numbers among its active features inside its box, other features
    of these free, all others as they are."""
    task = task_of(question, explainer.judge, explainer.numbers, None)
    active = swarm.active_features(task)
    axes = [
        _still(axis)
        if not active[j]
        else _within(axis, room(task.chart, j, swarm.box))
        if isinstance(axis, GridAxis)
        else axis
        for j, axis in enumerate(question.axes)
    ]
    return replace(question, axes=tuple(axes))


def _within(axis: GridAxis, ends: tuple[float, float]) -> GridAxis:
    """A grid axis between two numbers, with its start."""
    low, high = axis.grid.ceil(exact(ends[0])), axis.grid.floor(exact(ends[1]))
    return replace(axis, lower=min(max(low, axis.lower), axis.start), upper=max(min(high, axis.upper), axis.start))


def _still(axis: Axis) -> Axis:
    """An axis on which only the start is left."""
    if isinstance(axis, GridAxis):
        return replace(axis, lower=axis.start, upper=axis.start)
    return replace(axis, allowed=1 << axis.start)
