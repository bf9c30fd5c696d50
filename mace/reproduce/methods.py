"""Heuristics as methods of the audits' engine: what a proposer finds for a row, as a record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mace.audit.record import Record
from mace.audit.task import Query, Task
from mace.base.deadline import Deadline
from mace.base.exact import above, rounded_text
from mace.base.values import for_json
from mace.explain.explainer import Explainer
from mace.search.protocol import Proposer

if TYPE_CHECKING:
    from mace.explain.answer import Counterfactual


FOUND = "found by a search: nothing is proved"


@dataclass(frozen=True)
class Proposing:
    """A proposer of `mace.search`, by name or with its settings.

    among: how many of the background rows, from the first, it may see; None: all.
    which: the answer's place among those that the proposer takes for several; None: the nearest one.
    """

    proposer: str | Proposer
    among: int | None = None
    which: int | None = None
    random_state: int = 0

    def __call__(self, explainer: Explainer, query: Query, task: Task, blank: Record, deadline: Deadline) -> Record:
        """The best point found: "bounded", with lower bound 0; "unknown" where there is none."""
        seeing = explainer if self.among is None else explainer.over(self.among)
        found = seeing.propose(
            query.values, self.proposer, goal=task.goal, random_state=self.random_state, timeout=deadline
        )
        point = found.best
        if self.which is not None:
            point = found.several[self.which] if self.which < len(found.several) else None
        return recorded(point, blank, "search", found.why or "it found nothing")


def recorded(point: Counterfactual | None, blank: Record, oracle: str, why: str) -> Record:
    """A point of which nothing is proved, or none, as a record."""
    if point is None:
        return replace(blank, status="unknown", why=why, oracle=oracle)
    return replace(
        blank,
        status="bounded",
        why=FOUND,
        distance=above(point.exact_distance),
        lower_bound=0.0,
        exact_distance=rounded_text(point.exact_distance, above),
        exact_lower_bound="0",
        changes={name: [for_json(a), for_json(b)] for name, (a, b) in point.changes.items()},
        oracle=oracle,
    )
