"""Several questions about the same rows, each by a prover or by any other method, in one checkpoint.

In:  a `Request`, and `Part`s: a name, a gap, who answers.
Out: part -> a record for each row, in the order of the frame.
Promise: that of an audit: every row has a record, answered or not; a run that was killed goes on where it was, whatever
parts and however many rows are asked for next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mace.audit.digest import digest
from mace.audit.dispatch import Dispatch
from mace.audit.progress import Progress
from mace.audit.record import FORMAT, Record
from mace.audit.request import Request
from mace.audit.rows import choose
from mace.audit.store import Store
from mace.audit.task import Method, Query


class Part(NamedTuple):
    """One question about every row.

    name: what a checkpoint knows it by, together with how the method is written out.
    gap:  when a prover stops.
    by:   who answers instead of the provers.
    """

    name: str
    gap: object = None
    by: Method | None = None


def ask_parts(request: Request, parts: Sequence[Part]) -> dict[str, list[Record]]:
    """Ask every part about every row that the request chooses."""
    task = request.task()
    chosen = choose(task.explainer, request.frame, task.goal, request.rows, request.limit)
    base = digest(FORMAT, sorted(task.parts.items()))
    labels = request.frame.index
    with (
        Store(request.checkpoint, task.parts) as store,
        Progress(request.progress, request.callback) as progress,
        Dispatch(task, store, request, progress) as dispatch,
    ):
        return {
            part.name: dispatch.all(
                [
                    Query(digest(base, part.name, repr(part.by), values), place, str(labels[place]), values, part.name,
                          gap=part.gap, by=part.by)
                    for place, values in chosen
                ]
            )
            for part in parts
        }  # fmt: skip
