"""The arguments of `mace.audit`, checked, and what they come to for every row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mace.audit.progress import Callback
from mace.audit.task import Task
from mace.base.deadline import Deadline
from mace.base.escape import short
from mace.base.files import make_folder
from mace.errors import GoalError, MaceError
from mace.solve.choice import known
from mace.solve.protocol import Gap, jobs_asked, memory_asked
from mace.space.space import Space, check_space

if TYPE_CHECKING:
    import pandas as pd

    from mace.explain.explainer import DistanceSpec, GoalSpec


@dataclass(frozen=True)
class Request:
    """What was asked, under the names that `mace.audit` explains. Raises MaceError for what cannot be asked."""

    model: object
    space: Space
    frame: pd.DataFrame
    groups: Iterable[str] | Mapping[str, Sequence[object]] | None
    goal: GoalSpec
    rows: str
    limit: int | None
    distance: DistanceSpec
    weights: Mapping[str, object] | None
    rules: Sequence[str | Path]
    gap: object
    rgap: object
    oracle: str
    n_jobs: int | None
    timeout: float | None
    memory_mb: int | None
    background: pd.DataFrame | None
    checkpoint: str | Path | None
    resume: bool
    scheduler: str | None
    certificates: str | Path | None
    check: bool
    protected: Sequence[str]
    flips: bool
    cores: int
    random_state: int
    progress: bool | None
    callback: Callback | None

    def __post_init__(self) -> None:
        if not isinstance(self.rows, str) or self.rows not in ("rejected", "all"):
            raise MaceError(f'rows must be "rejected" or "all", got {short(self.rows)}')
        check_space(self.space)
        Deadline.asked(self.timeout)
        memory_asked(self.memory_mb)
        jobs_asked(self.n_jobs)
        known(self.oracle)
        Gap.asked(self.gap, self.rgap)
        for name in self.protected:
            _ = self.space[name]
        if self.limit is not None and (not isinstance(self.limit, int) or self.limit < 1):
            raise MaceError(f"limit must be a whole number >= 1, got {short(self.limit)}")
        if isinstance(self.cores, bool) or not isinstance(self.cores, int) or self.cores < 0:
            raise MaceError(f"cores must be a whole number >= 0, got {short(self.cores)}")
        if isinstance(self.random_state, bool) or not isinstance(self.random_state, int) or self.random_state < 0:
            raise MaceError(f"random_state must be a whole number >= 0, got {short(self.random_state)}")
        if self.resume and self.checkpoint is None:
            raise MaceError("there is nothing to resume without a checkpoint", hint="Name its file: --checkpoint.")
        if self.goal is None and self.rows == "rejected":
            raise GoalError(
                "which rows are rejected depends on the goal", hint='Give goal= (--goal), or rows="all" (--all).'
            )

    def task(self) -> Task:
        """What is the same for every row; the model is read. Makes the folder for certificates."""
        names, background = self.space.names, self.background
        if background is None and set(names) <= set(self.frame.columns):
            background = self.frame[names]
        task = Task(
            self.model,
            self.space,
            None,
            self.distance,
            self.weights,
            tuple([self.rules] if isinstance(self.rules, (str, Path)) else self.rules),
            self.gap,
            self.rgap,
            self.oracle,
            Deadline.asked(self.timeout).seconds,
            memory_asked(self.memory_mb),
            background,
            _folder(self.certificates),
            self.check,
        )
        if self.goal is not None:
            explainer = task.explainer
            task = replace(task, goal=explainer.wanted(self.goal))
            # What was read stays read.
            task.__dict__["explainer"] = explainer
        return task


def _folder(path: str | Path | None) -> Path | None:
    return None if path is None else make_folder(Path(path).absolute(), "certificates")
