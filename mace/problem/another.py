"""Another answer, one after the other: what `diversity` asks of it, and what it means that there is none.

In:  how later answers are to differ, and a point that was found.
Out: what a later answer must not be (`mace.problem.exclusions`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from mace.base.escape import short
from mace.errors import MaceError
from mace.problem.around import Around
from mace.problem.diversity import least_distance
from mace.problem.exclusions import Avoid, AvoidChanges, AvoidNear, AvoidPoint
from mace.space.axes import Point


def exclusion(question: Around, point: Point, diversity: object) -> Avoid:
    """What a later answer must not be, once a point was found."""
    if diversity == "points":
        return AvoidPoint(point)
    radius = least_apart(diversity)
    return AvoidChanges(question.changed(point)) if radius is None else AvoidNear(point, radius)


def no_other(avoid: Sequence[Avoid]) -> str:
    """What it means that nothing is left beside these: whatever else there is, is not as different as was asked."""
    said = "there is no other"
    if any(isinstance(one, AvoidChanges) for one in avoid):
        return f"{said}; whatever else reaches the goal changes all features that one of these changes"
    if any(isinstance(one, AvoidNear) for one in avoid):
        return f"{said}; whatever else reaches the goal is too near to one of these"
    return said


def least_apart(diversity: object) -> Fraction | None:
    """The least distance between answers; None where they differ in another way. Raises MaceError."""
    if diversity in ("features", "points"):
        return None
    if isinstance(diversity, str) and re.match(r"(F|FV)\b", diversity) or isinstance(diversity, (list, tuple, dict)):
        hint = "Add together=True (--together), or leave diversity out."
        raise MaceError(f"diversity {short(diversity)} is about answers that are found together", hint=hint)
    return least_distance(diversity, 'diversity must be "features", "points" or a least distance between answers')
