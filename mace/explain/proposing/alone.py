"""Proposers on models that were read: what a heuristic finds, confirmed by the deployed model, and nothing proved.

In:  a question about a row, the deployed model (`mace.explain.deployed.judge`), a proposer and what it may spend.
Out: `Proposed`: the counterfactual, the points that the proposer takes for several, the stream of what it found.
Promise: every point was accepted by the deployed model, asked as for any other answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from mace.base.deadline import now
from mace.explain.answer import Counterfactual, counterfactual_at
from mace.explain.deployed.confirmation import Confirmation
from mace.explain.deployed.judge import Judge
from mace.explain.proposing.task import task_of
from mace.problem.question import Question
from mace.search.chart import Floats
from mace.search.protocol import Effort, Proposal, Proposer, Run
from mace.space.axes import Point


@dataclass(frozen=True)
class Proposed:
    """What a proposer found for one row.

    best:    the nearest valid point, with lower bound 0; None if none was found.
    several: the valid points among those that the proposer takes for several answers, in its order.
    offered: how many points it took for several answers; 0 for a proposer that gives one.
    trace:   every improvement, valid or not, with the work done until then.
    why:     which limit ended it; "" where it came to its own end.
    calls:   rows that the model was asked about; batches: how often it was asked; steps: batches of the proposer.
    """

    best: Counterfactual | None
    several: list[Counterfactual]
    offered: int
    trace: list[Proposal] = field(repr=False)
    why: str
    calls: int
    batches: int
    steps: int
    seconds: float

    @property
    def counterfactuals(self) -> list[Counterfactual]:
        """The valid points, as an answer calls them: `several` where the proposer gives several, else the best one."""
        return self.several if self.offered else [] if self.best is None else [self.best]

    def __str__(self) -> str:
        lines = [str(one) for one in self.counterfactuals] or ["no valid point was found"]
        ended = f"; {self.why}" if self.why else ""
        note = f"nothing is proved: {self.calls:,} rows asked about, {self.seconds:.2f} s{ended}"
        return "\n".join([*lines, note])


def propose(
    question: Question, judge: Judge, proposer: Proposer, *, rows: Floats | None, random_state: int, effort: Effort,
    max_calls: int | None, constrained: Sequence[str] = (),
) -> Proposed:  # fmt: skip
    """What a proposer finds for a question about a model that was read."""
    began, confirmation = now(), Confirmation(judge)
    task = task_of(question, judge, rows, max_calls, effort.deadline, constrained)
    run = Run(proposer, task, random_state, effort, confirm=lambda point: confirmation.confirms(question, point))
    trace = list(run)
    valid = [one.point for one in trace if one.score.valid]
    several = [point for point in run.several if question.obeys(point) and confirmation.confirms(question, point)]
    confirmation.settle(question, [*valid[-1:], *several])
    return Proposed(
        _shown(question, valid[-1]) if valid else None,
        [_shown(question, point) for point in several],
        len(run.several),
        trace,
        run.why,
        task.asked.calls,
        task.asked.batches,
        run.steps,
        now() - began,
    )


def _shown(question: Question, point: Point) -> Counterfactual:
    """A point of which nothing is proved."""
    return counterfactual_at(question, point, question.distance_of(point), Fraction(0), "bounded")
