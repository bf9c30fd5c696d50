"""Several questions about one row, each within other bounds: what they share, and how each is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mace.explain.answer import Counterfactual
from mace.explain.deployed.confirmation import Confirmation
from mace.explain.nearest.assemble import counterfactual_of
from mace.explain.nearest.levels import by_priority
from mace.explain.nearest.search import Search, Searched
from mace.problem.distance import Distance
from mace.problem.objectives import Priority, Shortfall
from mace.problem.question import Question
from mace.solve.protocol import Limits
from mace.space.axes import Point


@dataclass(frozen=True)
class RowSolver:
    """The first question about a row, how points are searched for and confirmed, and the limits of all questions."""

    question: Question
    confirmation: Confirmation
    search: Search
    limits: Limits

    def solve(self, question: Question, priorities: Sequence[Priority]) -> Searched:
        """One answer, by objectives in order of priority; `settle` its point before it is shown."""
        return by_priority(self.search, question, priorities, self.confirmation, self.limits)

    def solve_within(
        self, question: Question, priorities: Sequence[Priority], limits: Limits, best: Point | None = None
    ) -> Searched:
        """The same, within limits of its own; best: an allowed point with the goal, if one is known."""
        return by_priority(self.search, question, priorities, self.confirmation, limits, best)

    def located(self, of: Distance | Shortfall) -> Distance | Shortfall:
        """An objective; the distance to the nearest background row with these rows. Raises TimeOverError."""
        return of if isinstance(of, Shortfall) else self.search.located(self.question, of, self.limits.deadline)

    def shown(self, found: Searched) -> Counterfactual:
        """The point that was found."""
        return counterfactual_of(self.question, found)

    def settle(self, points: Sequence[Point]) -> None:
        """Ask the deployed model about the row and all points in one call; raises ModelError where it disagrees."""
        self.confirmation.settle(self.question, [self.question.start, *points])
