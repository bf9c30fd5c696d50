"""`mace.audit`: the nearest counterfactual of every rejected row, and what the answers say together.

In:  a model, a space, a frame; which rows, which groups, which protected features; limits.
Out: an `Audit`.
Nothing heavy is imported before the function is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mace.audit.result import Audit
from mace.base.arguments import checked, names

if TYPE_CHECKING:
    import pandas as pd

    from mace.audit.progress import Callback
    from mace.explain.explainer import DistanceSpec, GoalSpec
    from mace.space.space import Space


@checked
def audit(
    model: object, space: Space, frame: pd.DataFrame,
    groups: Iterable[str] | Mapping[str, Sequence[object]] | None = None, *,
    goal: GoalSpec = None, rows: Literal["rejected", "all"] = "rejected", limit: int | None = None,
    distance: DistanceSpec = "l1", weights: Mapping[str, object] | None = None, rules: Sequence[str | Path] = (),
    gap: object = None, rgap: object = None, oracle: str = "auto",
    n_jobs: int | None = None, timeout: float | None = 60.0, memory_mb: int | None = 4096,
    background: pd.DataFrame | None = None,
    checkpoint: str | Path | None = None, resume: bool = False, scheduler: str | None = None,
    certificates: str | Path | None = None, check: bool = True,
    protected: Sequence[str] = (), flips: bool = True, cores: int = 25, random_state: int = 0,
    progress: bool | None = None, callback: Callback | None = None,
) -> Audit:  # fmt: skip
    """Ask for the nearest counterfactual of every rejected row (or of every row), in parallel.

    model, space, goal, distance, weights, rules, gap, rgap, oracle: as in `mace.explain`.
    frame:      the rows, in the space's own columns; further columns may serve as groups.
    groups:     names of columns of `frame`, or name -> the group of each row of `frame`, or one Series of these.
    rows:       "rejected": the rows that do not have the goal (which must then be given); "all": every row.
    limit:      only the first so many of them.
    n_jobs:     how many queries at once on this machine; None or -1: one a core.
    timeout:    seconds for each answer; a query that does not heed them is stopped a little later.
    memory_mb:  MB by which a process may grow for one query; also the limit of each solver.
    background: rows that give first upper bounds; None: `frame`.
    checkpoint: an SQLite file that keeps every record. Queries that it holds are not asked again; with `resume`, those
                that were unknown or failed are.
    scheduler:  the address of a Dask scheduler whose workers answer instead of processes here.
    certificates: a folder for the certificate of each row and the file of their model; `check` checks each. Where
                solvers answered, what they refuted is written instead, and never counted as certified.
    protected:  features on which no decision should rest. For each the audit also asks which decisions flip when it
                alone changes (unless `flips` is False), and what it costs not to use it. Where the model predicts a
                number, a decision is whether it lies within the goal.
    cores:      for how many rows without recourse to ask which rules and restrictions block them.
    random_state: of the bootstrap and of the choice of rows for `cores`.
    progress:   whether to show a bar on stderr; None: if it is a terminal.
    callback:   called with each new record, how many are done, and how many there are.
    Returns an Audit. Raises a MaceError for wrong arguments or a checkpoint of another question; a row that cannot be
            asked is a record that says so.
    """
    given = locals()
    from mace.audit.dispatch import answered
    from mace.audit.request import Request

    return answered(Request(**given | {"protected": names(protected)}))
