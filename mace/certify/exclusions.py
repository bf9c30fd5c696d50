"""What a certificate leaves out because the deployed model refused it, asked of the model again.

In:  a question, the exclusions that a certificate lists (as proofs/FORMAT.md writes them), and the model's own word.
Out: the question without them.
Promise: only what the model refuses now is left out: a point, or the points that reach the same leaf of every tree as
one that it refuses. Otherwise whoever writes a certificate could leave out whatever contradicts its claim.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mace.errors import CertificateError
from mace.problem.exclusions import Avoid, AvoidBox, AvoidPoint
from mace.problem.question import Question
from mace.solve.witnesses import MOST_REFUSED, same_leaves
from mace.space.axes import Point
from mace.tables.table import Ensemble


def without(question: Question, listed: Any, meets: Callable[[Point], bool]) -> Question:
    """The question without the points and boxes of a list; raises CertificateError for what may not be left out.

    meets: whether the deployed model has the goal at a point.
    """
    if not isinstance(listed, list) or len(listed) > MOST_REFUSED:
        raise CertificateError("its exclusions are no list, or a list that is too long")
    avoids: list[Avoid] = []
    for one in listed:
        match one:
            case {"point": list(indices)} if len(one) == 1:
                point = _point(question, indices)
                avoids.append(AvoidPoint(point))
            case {"box": list(sides)} if len(one) == 1:
                point = _point(question, [_first(side) for side in sides])
                avoids.append(_box(question, point, sides))
            case _:
                raise CertificateError("it excludes what is neither a point nor a box")
        if meets(point):
            raise CertificateError("it excludes a point at which the model has the goal")
    return question.without(avoids)


def _point(question: Question, indices: list[Any]) -> Point:
    fits = len(indices) == len(question.axes) and all(
        type(index) is int and axis.allows(index) for axis, index in zip(question.axes, indices, strict=False)
    )
    if not fits:
        raise CertificateError("it excludes a point that the space does not have")
    return tuple(indices)


def _first(side: Any) -> Any:
    """The first index of a side: of `[lowest, highest]`, or of a mask of levels."""
    if isinstance(side, list):
        return side[0] if side else None
    return (side & -side).bit_length() - 1 if type(side) is int and side > 0 else None


def _box(question: Question, point: Point, sides: list[Any]) -> AvoidBox:
    if not isinstance(question.model, Ensemble):
        raise CertificateError("it excludes a box, and the model has no trees")
    box = same_leaves(question, point)
    wanted = [list(side) if isinstance(side, tuple) else side for side in box]
    if sides != wanted:
        raise CertificateError("it excludes a box of points that reach different leaves")
    return AvoidBox(box)
