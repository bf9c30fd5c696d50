"""What the model shall say instead: classes, a probability, a number, a margin; one small type with a text form.

In:  what is wanted, made by hand or read from a text (`mace.problem.goal_text`).
Out: `str`, a text that is read back as the same; `named`, the same with the names that people have for classes; `met`,
     whether it is true of what the deployed model returned.
A margin is over the runner-up: of its probability, or `in score` of the scores that the model compares; it counts up
to a difference of `MARGIN_UNIT`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.tables.table import Bools, Label

MARGIN_UNIT = 2.0**-40
"""Margins are met up to this much: 0.6 - 0.4 is 0.2, although the difference of the two floats is not."""


@dataclass(frozen=True, slots=True)
class Between:
    """An interval of numbers; a side is None where it is open to infinity."""

    low: float | None = None
    high: float | None = None
    low_strict: bool = False
    high_strict: bool = False

    def holds(self, values: NDArray[Any]) -> Bools:
        """Which values lie in it; they are compared as doubles."""
        numbers = np.asarray(values, dtype=np.float64)
        inside = np.ones(numbers.shape, dtype=np.bool_)
        if self.low is not None:
            inside &= numbers > self.low if self.low_strict else numbers >= self.low
        if self.high is not None:
            inside &= numbers < self.high if self.high_strict else numbers <= self.high
        return inside

    def shown(self, name: str) -> str:
        """`0.3 <= name <= 0.6`."""
        low, high = ("<" if self.low_strict else "<="), ("<" if self.high_strict else "<=")
        if self.low is None:
            return f"{name} {high} {_number(self.high)}"
        if self.high is None:
            return f"{name} {'>' if self.low_strict else '>='} {_number(self.low)}"
        return f"{_number(self.low)} {low} {name} {high} {_number(self.high)}"


@dataclass(frozen=True, slots=True)
class Classes:
    """One of some classes. `but_not` only for the text: the class that it is not."""

    labels: frozenset[Label]
    but_not: Label | None = None

    def __str__(self) -> str:
        if self.but_not is not None and len(self.labels) != 1:
            return f"anything but {self.but_not!r}"
        return " or ".join(repr(label) for label in sorted(self.labels, key=repr))

    def named(self, called: Callable[[object], str]) -> str:
        """The classes as people call them."""
        return " or ".join(sorted(map(called, self.labels)))

    def met(self, said: NDArray[Any], classes: Sequence[Label]) -> Bools:  # noqa: ARG002
        """Which decisions, shape (rows,), are among the classes."""
        if said.dtype.kind in "iu" and self.labels and all(isinstance(label, int) for label in self.labels):
            # The same, in a tenth of the time: an audit asks it of all background rows.
            return np.asarray(np.logical_or.reduce([said == label for label in self.labels]), dtype=np.bool_)
        return np.asarray(np.isin(said, list(self.labels)), dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Probability:
    """The probability of a class lies in an interval."""

    label: Label
    between: Between

    def __str__(self) -> str:
        return self.named(str)

    def named(self, called: Callable[[object], str]) -> str:
        """`p(approved) >= 0.7`."""
        return self.between.shown(f"p({called(self.label)})")

    def met(self, said: NDArray[Any], classes: Sequence[Label]) -> Bools:
        """Which probabilities, shape (rows, classes), have it."""
        return self.between.holds(said[:, list(classes).index(self.label)])


@dataclass(frozen=True, slots=True)
class Value:
    """A predicted number lies in an interval."""

    between: Between
    name: str = "y"

    def __str__(self) -> str:
        return self.between.shown(self.name)

    def named(self, called: Callable[[object], str]) -> str:  # noqa: ARG002
        """The same: a number has a name of its own."""
        return str(self)

    def met(self, said: NDArray[Any], classes: Sequence[Label]) -> Bools:  # noqa: ARG002
        """Which predictions, shape (rows,), lie in it."""
        return self.between.holds(said)


@dataclass(frozen=True, slots=True)
class Margin:
    """A class leads all others by so much, in probability or in score."""

    label: Label
    by: float
    in_score: bool = False

    def __str__(self) -> str:
        return self.named(str)

    def named(self, called: Callable[[object], str]) -> str:
        """`approved by 0.1`."""
        return f"{called(self.label)} by {_number(self.by)}{' in score' if self.in_score else ''}"

    def met(self, said: NDArray[Any], classes: Sequence[Label]) -> Bools:
        """Which probabilities or scores, shape (rows, classes), have it; one score is that of class 1 over class 0."""
        numbers = np.asarray(said, dtype=np.float64)
        place = list(classes).index(self.label)
        if numbers.shape[1] == 1:
            lead = numbers[:, 0] if place else -numbers[:, 0]
        else:
            lead = numbers[:, place] - np.delete(numbers, place, axis=1).max(axis=1)
        return np.asarray(lead >= self.by - MARGIN_UNIT * max(1.0, self.by), dtype=np.bool_)

    def of_two(self) -> Probability:
        """A lead in probability over the only other class: the two add up to 1, so that it is 2 p - 1. What is met by
        the unit of leads, and by the rounding of the sums, has this probability."""
        return Probability(self.label, Between((1 + self.by) / 2 - MARGIN_UNIT * max(1.0, self.by)))


Wanted: TypeAlias = Classes | Probability | Value | Margin


def _number(value: float | None) -> str:
    assert value is not None
    return repr(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
