"""The settings of one question; their names and meaning are those of `mace.explain`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypedDict

from mace.base.deadline import Deadline
from mace.problem.goals import Wanted
from mace.search.aims import Targets
from mace.search.registry import ProposerSpec
from mace.solve.driver import Bracket
from mace.tables.table import Label

GoalSpec = Label | Iterable[Label] | Wanted | Targets | None


class Settings(TypedDict, total=False):
    """The keyword arguments of `Explainer.explain`."""

    goal: GoalSpec
    gap: object
    rgap: object
    count: int
    together: bool
    diversity: object
    most_changes: int | None
    oracle: str
    timeout: float | Deadline | None
    memory_mb: int | None
    n_jobs: int | None
    callback: Callable[[Bracket], None] | None
    proposer: ProposerSpec | None
    random_state: int
    max_calls: int | None
