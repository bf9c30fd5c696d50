"""Methods that give several answers to a row, and the way back from their records.

A record has room for one point; the further ones stand in its note, as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mace.audit.record import Record
from mace.audit.task import Query, Task
from mace.base.deadline import Deadline
from mace.base.escape import json_text
from mace.base.exact import above, below, rounded_text
from mace.base.values import for_json
from mace.explain.answer import Counterfactual
from mace.explain.explainer import Explainer
from mace.reproduce.methods import recorded
from mace.search.protocol import Proposer

if TYPE_CHECKING:
    import pandas as pd

    from mace.explain.answer import Answer


@dataclass(frozen=True)
class Several:
    """A proposer that is asked for several answers: its own, or those of several runs.

    runs: how many runs, each with a random state of its own, give one answer each; 0: one run gives all of them.
    """

    proposer: Proposer
    count: int
    runs: int = 0
    random_state: int = 0

    def __call__(self, explainer: Explainer, query: Query, task: Task, blank: Record, deadline: Deadline) -> Record:
        """A record with all answers; "unknown" where there is none."""
        found: list[Counterfactual] = []
        why = ""
        for run in range(self.runs or 1):
            said = explainer.propose(
                query.values, self.proposer, goal=task.goal, random_state=self.random_state + run, timeout=deadline
            )
            why = why or said.why
            found += said.several[: self.count] if not self.runs else [said.best] if said.best else []
        nearest = min(found, key=lambda one: one.exact_distance, default=None)
        record = recorded(nearest, blank, f"search:{self.proposer.name}", why or "it found nothing")
        return replace(record, why=why or record.why, notes=[json_text([_plain(one) for one in found])])


@dataclass(frozen=True)
class Proved:
    """The nearest counterfactuals, each proved: later ones are at least so far from all earlier ones.

    gap: in parts of the distance, within which the nearest is called proved.
    """

    count: int
    apart: str = "0.01"
    gap: str = "1e-6"

    def __call__(self, explainer: Explainer, query: Query, task: Task, blank: Record, deadline: Deadline) -> Record:
        """A record with all answers; its status is that of the first, which is the nearest of all."""
        answer = explainer.explain(
            query.values, goal=task.goal, count=self.count, diversity=float(self.apart), rgap=self.gap,
            timeout=deadline, memory_mb=task.memory_mb,
        )  # fmt: skip
        return replace(answered(answer, blank), notes=[json_text([_plain(one) for one in answer.counterfactuals])])


def answered(answer: Answer, blank: Record) -> Record:
    """The first of an answer's counterfactuals, with its bounds, as a record."""
    if not answer.counterfactuals:
        bound = None if answer.status == "infeasible" else rounded_text(answer.exact_lower_bound, below)
        return replace(blank, status=answer.status, why=answer.why, oracle=answer.oracle, exact_lower_bound=bound)
    first = answer.counterfactuals[0]
    return replace(
        blank,
        status=first.status,
        why=answer.why,
        distance=above(first.exact_distance),
        lower_bound=below(first.exact_lower_bound),
        exact_distance=rounded_text(first.exact_distance, above),
        exact_lower_bound=rounded_text(first.exact_lower_bound, below),
        changes={name: [for_json(a), for_json(b)] for name, (a, b) in first.changes.items()},
        oracle=answer.oracle,
    )


def _plain(one: Counterfactual) -> dict[str, Any]:
    return {
        "changes": {name: for_json(after) for name, (_, after) in one.changes.items()},
        "distance": rounded_text(one.exact_distance, above),
        "status": one.status,
    }


def points(record: Record) -> list[dict[str, Any]]:
    """The answers of a record: what changes, the exact distance as text, the status."""
    found: list[dict[str, Any]] = json.loads(record.notes[0]) if record.notes else []
    return found


def frame_of(records: Sequence[Record], rows: pd.DataFrame) -> pd.DataFrame:
    """All answers as a frame in the columns of `rows`, whose index says which row each answers."""
    import pandas as pd

    labels, cells = [], []
    for place, record in enumerate(records):
        for point in points(record):
            cells.append(rows.iloc[place].to_dict() | point["changes"])
            labels.append(rows.index[place])
    if not cells:
        return pd.DataFrame(np.nan, index=rows.index[:0], columns=rows.columns)
    return pd.DataFrame(cells, index=labels, columns=rows.columns)
