"""What a black box is to say: a goal as everywhere, or a target for each of several outputs, with confidences.

In:  what the model said of rows.    Out: `Said`: how far each row misses the goal, how many outputs are in doubt.

A target y is missed by |f - y|, and by nothing where |f - y| / max(|f|, |y|) is below the tolerance (for y = 0 where
|f| is); a class or a truth by 0 or 1. An output is in doubt where its confidence lies below its threshold.
Source: "Counterfactuals with Constraint Solvers", levels H1 and H3, with the absolute value that its implementation
leaves out.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mace.base.arguments import spelled_class
from mace.base.escape import short
from mace.base.values import plain
from mace.errors import GoalError
from mace.problem.goals import Classes, Probability, Wanted
from mace.problem.goals import Margin as Lead
from mace.problem.shortfall import shortfalls
from mace.search.asked import Said
from mace.search.blackbox import BlackBox, Calls
from mace.search.chart import Floats
from mace.tables.table import Label


class Aim(Protocol):
    """What is wanted of a black box."""

    def said(self, calls: Calls, rows: Floats) -> Said:
        """Ask about rows."""
        ...


@spelled_class
@dataclass(frozen=True)
class Targets:
    """A target for each of several outputs of a black box.

    values:     name of an output -> the value wanted: a number, a truth, a class. Outputs without names are called by
                their places, from 0, or all of them by any texts, in their order.
    tolerance:  how far a number may be off, as a share of the larger of the two; of 0 the number itself.
    confidence: name of an output -> how sure it has to be, in 0..1; or one threshold for all of `values`.
    """

    values: Mapping[str, Any]
    tolerance: float = 0.0
    confidence: Mapping[str, float] | float = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping) or not self.values:
            raise GoalError(f"targets map names of outputs to values; got {short(self.values)}")
        # Numbers of numpy are as good as Python's.
        object.__setattr__(self, "values", {name: plain(value) for name, value in self.values.items()})
        object.__setattr__(self, "tolerance", plain(self.tolerance))
        own = self.confidence
        sure = {name: plain(least) for name, least in own.items()} if isinstance(own, Mapping) else plain(own)
        object.__setattr__(self, "confidence", sure)
        for name, value in self.values.items():
            if not isinstance(value, (str, bool)) and not _finite(value):
                raise GoalError(
                    f"the target of `{name}` must be a finite number, a truth or a text; got {short(value)}"
                )
        if isinstance(self.tolerance, bool) or not _finite(self.tolerance) or not self.tolerance >= 0:
            raise GoalError(f"the tolerance of targets must be a number >= 0, got {short(self.tolerance)}")
        object.__setattr__(self, "tolerance", float(self.tolerance))
        for threshold in self.thresholds.values():
            if isinstance(threshold, bool) or not isinstance(threshold, (int, float)) or not 0 <= threshold <= 1:
                raise GoalError(f"a confidence lies between 0 and 1, got {short(threshold)}")

    @property
    def thresholds(self) -> Mapping[str, float]:
        """The least confidence of each output that has one."""
        own = self.confidence
        return own if isinstance(own, Mapping) else dict.fromkeys(self.values, own)

    def __str__(self) -> str:
        parts = [f"{name} = {value}" for name, value in self.values.items()]
        sure = [f"sure of {name} to {least:g}" for name, least in self.thresholds.items()]
        within = [f"within {self.tolerance:g}"] if self.tolerance else []
        return ", ".join(parts + within + sure)


@dataclass(frozen=True)
class GoalAim:
    """A goal as everywhere.

    least: how sure the model has to be, where it says so; None: not asked.
    """

    wanted: Wanted
    classes: tuple[Label, ...]
    least: float | None = None

    def said(self, calls: Calls, rows: Floats) -> Said:
        """Ask for decisions or numbers, or for probabilities where the goal speaks of them."""
        doubts = np.zeros(len(rows))
        if self.least is not None:
            doubts = (calls.confidences(rows) < self.least).sum(axis=1).astype(np.float64)
        if isinstance(self.wanted, (Probability, Lead)):
            return Said(shortfalls(self.wanted, calls.probabilities(rows), self.classes), doubts)
        said = calls.answers(rows)
        if said.ndim == 2:
            raise GoalError(
                f"the {calls.box.name} has {said.shape[1]} outputs", hint="Give a mace.Targets, which names them."
            )
        if not isinstance(self.wanted, Classes):
            said = _numbers(said, calls.box)
        missed = shortfalls(self.wanted, said, self.classes)
        if isinstance(self.wanted, Classes) and calls.box.graded and calls.box.probabilities and (missed > 0).any():
            # An estimator here: its probabilities say how far its decision is, and cost no further call elsewhere.
            graded = shortfalls(self.wanted, calls.probabilities(rows), self.classes)
            missed = np.where(missed > 0, np.clip(graded, 1e-3, 1.0), 0.0)
        return Said(missed, doubts)


@dataclass(frozen=True)
class TargetsAim:
    """A target for each of several outputs."""

    targets: Targets
    names: tuple[Hashable, ...]

    def said(self, calls: Calls, rows: Floats) -> Said:
        """Ask for all outputs, and for their confidences where there are thresholds."""
        said = calls.answers(rows)
        said = said.reshape(len(rows), -1)
        if said.shape[1] != len(self.names):
            raise GoalError(f"the {calls.box.name} gave {said.shape[1]} outputs, and {len(self.names)} are named")
        missed = np.zeros(len(rows))
        for name, value in self.targets.values.items():
            missed += _missed(said[:, self.names.index(name)], value, self.targets.tolerance, calls.box)
        doubts, thresholds = np.zeros(len(rows)), self.targets.thresholds
        if thresholds:
            sure = calls.confidences(rows)
            if sure.shape[1] not in (1, len(self.names)):
                raise GoalError(f"the {calls.box.name} gave {sure.shape[1]} confidences for {len(self.names)} outputs")
            for name, least in thresholds.items():
                doubts += sure[:, self.names.index(name) if sure.shape[1] > 1 else 0] < least
        return Said(missed, doubts)


def _finite(value: object) -> bool:
    try:
        return isinstance(value, (int, float, Fraction, Decimal)) and math.isfinite(value)
    except OverflowError:
        return False


def _missed(said: NDArray[Any], value: Any, tolerance: float, box: BlackBox) -> Floats:
    """How far each answer is from a target."""
    if isinstance(value, (str, bool, np.bool_)):
        return np.array([float(one != value) for one in said.tolist()])
    numbers, target = _numbers(said, box), float(value)
    gap = np.abs(numbers - target)
    size = np.maximum(np.abs(numbers), abs(target)) if target else np.ones(len(numbers))
    return np.where((gap == 0) | (gap / np.where(size > 0, size, 1.0) < tolerance), 0.0, gap)


def _numbers(said: NDArray[Any], box: BlackBox) -> Floats:
    """Answers as numbers."""
    try:
        return said.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise GoalError(f"the goal is about a number, and the {box.name} said {short(said.tolist()[0])}") from None
