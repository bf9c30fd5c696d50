"""What a worker is told once (a `Task`: model, space, rules, distance, limits), and for each row (a `Query`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from mace.audit.digest import digest, frame_digest
from mace.audit.record import MAIN, Record
from mace.base.cache import FieldsAlone
from mace.base.deadline import Deadline
from mace.base.exact import text
from mace.explain.explainer import DistanceSpec, Explainer
from mace.problem.goals import Wanted
from mace.solve.protocol import Gap
from mace.space.feature import Change

if TYPE_CHECKING:
    import pandas as pd

    from mace.space.space import Space


@dataclass(frozen=True, slots=True)
class Query:
    """One row and what is asked of it.

    part:     the question's name, see `Record`.
    changes:  feature -> how it may change here, where that differs from the space.
    alone:    if given, only these features may change, in any direction and without rules.
    any_goal: ask for any other decision instead of the goal.
    core:     ask which rules and restrictions block the row, instead of the nearest counterfactual.
    gap:      when to stop, where that differs from the task's.
    by:       who answers instead of the provers.
    """

    key: str
    row: int
    label: str
    values: dict[str, Any]
    part: str = MAIN
    changes: tuple[tuple[str, Change], ...] = ()
    alone: tuple[str, ...] = ()
    any_goal: bool = False
    core: bool = False
    gap: object = None
    by: Method | None = None


class Method(Protocol):
    """Whoever answers a query: an object that can be pickled, whose class other processes can import."""

    def __call__(self, explainer: Explainer, query: Query, task: Task, blank: Record, deadline: Deadline) -> Record:
        """The record of a query; `blank` is one without an answer. A MaceError is recorded as a failure."""
        ...


@dataclass(frozen=True)
class Task(FieldsAlone):
    """Everything that is the same for every row; arguments as in `mace.audit`."""

    model: object
    space: Space
    goal: Wanted | None
    distance: DistanceSpec
    weights: Mapping[str, object] | None
    rules: Sequence[str | Path]
    gap: object
    rgap: object
    oracle: str
    timeout: float | None
    memory_mb: int | None
    background: pd.DataFrame | None
    certificates: Path | None = None
    check: bool = True

    @property
    def seconds(self) -> float | None:
        """After how long a query is stopped from outside, if nothing inside stopped it.

        Twice the time of the search, because a certificate may be checked after it, and some for reading and writing.
        """
        return None if self.timeout is None else self.timeout * (2 if self.certificates and self.check else 1) + 5.0

    @cached_property
    def explainer(self) -> Explainer:
        """The model, read."""
        return Explainer(
            self.model,
            self.space,
            background=self.background,
            rules=self.rules,
            distance=self.distance,
            weights=self.weights,
        )

    @cached_property
    def parts(self) -> dict[str, str]:
        """The digests that together are the question: what a checkpoint belongs to, by name."""
        explainer, gap = self.explainer, Gap.asked(self.gap, self.rgap)
        table = digest(explainer.table)
        deployed = digest(str(type(self.model)), None if explainer.pipeline is None else explainer.pipeline.columns)
        return {
            "model": digest(table, deployed),
            "space": digest(self.space),
            "rules": digest([(rule.source, rule.program) for rule in explainer.rules]),
            "goal": digest(self.goal),
            "distance": digest(explainer.distance),
            "limits": digest(
                _told(self.gap, gap.absolute),
                _told(self.rgap, gap.relative),
                self.oracle,
                _number(self.timeout),
                self.memory_mb,
            ),
            "background": digest(None if self.background is None else frame_digest(self.background)),
            "certificates": digest(self.certificates is not None and self.check, self.certificates is not None),
        }


def _told(given: object, number: Fraction) -> str:
    """A number that may have been left to what is usual, as exact text."""
    return "usual" if given is None else text(number)


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
