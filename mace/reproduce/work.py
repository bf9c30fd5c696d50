"""What every entry of `mace reproduce` is given: how many rows, who answers, where answers are kept.

In:  the settings of a run.    Out: `Work.ask`: records of the rows of one setting, from the engine of the audits.
Promise: each setting has a checkpoint of its own in the folder, so that a run that was killed, one with more rows, and
another table of the same setting ask only what is not there yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace.audit.record import Record
from mace.audit.request import Request
from mace.audit.several import Part, ask_parts
from mace.base.files import make_folder
from mace.errors import MaceError

if TYPE_CHECKING:
    import pandas as pd

    from mace.explain.explainer import DistanceSpec, GoalSpec
    from mace.space.space import Space


def _nothing(text: str) -> None:
    """Nobody is told."""


@dataclass(frozen=True)
class Work:
    """The settings of a run.

    rows:      of each setting; None: as many as the paper.
    folder:    of checkpoints; None: nothing is kept.
    n_jobs, scheduler, timeout, memory_mb, resume, progress: as for `mace.audit`.
    only:      words, such as names of data sets and models; a setting is asked if each of its words that could be
               chosen is among them. Empty: all settings.
    say:       called with a sentence when a setting is done.
    """

    rows: int | None = None
    folder: Path | None = None
    n_jobs: int | None = None
    scheduler: str | None = None
    timeout: float | None = 60.0
    memory_mb: int | None = 4096
    resume: bool = False
    progress: bool | None = None
    only: tuple[str, ...] = ()
    say: Callable[[str], None] = field(default=_nothing, repr=False)

    def __post_init__(self) -> None:
        if self.rows is not None and (isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 1):
            raise MaceError(f"rows must be a whole number >= 1, got {self.rows!r}")

    def limit(self, usual: int) -> int:
        """How many rows of a setting, where the paper has `usual`."""
        return usual if self.rows is None else self.rows

    def chosen(self, words: Sequence[str]) -> list[str]:
        """Those of some words that were chosen: all of them where none was named."""
        return [word for word in words if word in self.only] or list(words)

    def checkpoint(self, name: str) -> Path | None:
        """The file of a setting; raises FileError where the folder cannot be made."""
        if self.folder is None:
            return None
        return make_folder(self.folder, "checkpoints") / f"{name}.sqlite"

    def ask(
        self, name: str, model: object, space: Space, frame: pd.DataFrame, goal: GoalSpec, parts: Sequence[Part], *,
        limit: int | None, background: pd.DataFrame, distance: DistanceSpec = "l1", rows: str = "rejected",
        rules: Sequence[str] = (),
    ) -> dict[str, list[Record]]:  # fmt: skip
        """Part -> a record for each of the first `limit` rows of `frame` that lack the goal (`rows="all"`: of all)."""
        given: dict[str, Any] = dict.fromkeys(Request.__dataclass_fields__)
        given |= {
            "model": model, "space": space, "frame": frame, "goal": goal, "rows": rows, "limit": limit,
            "distance": distance, "rules": tuple(rules), "oracle": "auto", "background": background, "check": False,
            "protected": (), "flips": False, "cores": 0, "random_state": 0, "checkpoint": self.checkpoint(name),
            "resume": self.resume and self.folder is not None,
        }  # fmt: skip
        given |= {key: getattr(self, key) for key in ("n_jobs", "scheduler", "timeout", "memory_mb", "progress")}
        found = ask_parts(Request(**given), parts)
        asked = max((len(records) for records in found.values()), default=0)
        self.say(f"{name}: {asked} rows, {', '.join(part.name for part in parts)}")
        return found


def seconds_of(records: Sequence[Record]) -> float | None:
    """The mean seconds of some records; None without any."""
    return sum(record.seconds for record in records) / len(records) if records else None
