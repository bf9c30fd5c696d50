"""What bounds a model over the end states of a node: for each part of the goal upper lines, or that it cannot hold.

In:  a question, and a form for every feature.
Out: `Bound`: parts of the goal that are not excluded, each as lines: margin <= coef . t + constant for every point of
     the box, t in [-1, 1] a variable's place in its interval.
Promise: a part that is missing cannot hold, for the deployed model, at any point that the forms enclose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from mace.plans.nodes import Forms
from mace.worlds.affine import Ranges

Floats = NDArray[np.float64]
Box = Mapping[str, tuple[int, int]]


class Line(NamedTuple):
    """margin <= coef . t + constant, one of a conjunction; `worth` is what the bound may lose in each variable."""

    coef: Floats
    constant: float


class Bound(NamedTuple):
    """The parts that may hold, each with its lines.

    worth:  how much each variable's width loosens them.    spread: how much the intervals of forms do.
    """

    parts: list[list[Line]]
    worth: Floats
    spread: float = 0.0


class Bounder(Protocol):
    """Bounds a model over forms."""

    def prepare(self, end: Forms, variables: Sequence[str], ranges: Ranges) -> Any:
        """What of the forms does not depend on the box, as long as it lies in `ranges`."""
        ...

    def bound(self, prepared: Any, variables: Sequence[str], box: Box) -> Bound:
        """The parts of the goal that may hold at the ends, over a box of variables."""
        ...

    def likely(self, prepared: Any, variables: Sequence[str], point: Sequence[int]) -> bool:
        """Whether the model seems to have the goal at the end that the middle of the forms gives; a guess."""
        ...


def middle_of(box: tuple[int, int]) -> Fraction:
    """The middle of an interval of indices."""
    return Fraction(box[0] + box[1], 2)


class NoBounds:
    """A model that nothing is known of on a box: only plans without parameters left are decided, one by one."""

    def prepare(self, end: Forms, variables: Sequence[str], ranges: Ranges) -> None:
        """See `Bounder`."""

    def bound(self, prepared: None, variables: Sequence[str], box: Box) -> Bound:  # noqa: ARG002
        """See `Bounder`."""
        return Bound([[]], np.zeros(len(variables)))

    def likely(self, prepared: None, variables: Sequence[str], point: Sequence[int]) -> bool:  # noqa: ARG002
        """See `Bounder`."""
        return True
