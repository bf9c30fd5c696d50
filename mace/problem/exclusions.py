"""Ask again for another answer: what an earlier answer rules out.

A second answer that repeats the first with one cent more helps nobody, so there are three ways to be different:
* `AvoidPoint`: any other point (at least one feature differs from the earlier answer);
* `AvoidChanges`: at least one feature that the earlier answer changed stays as it is;
* `AvoidNear`: at least `radius` away from the earlier answer, in the question's own distance.
What the deployed model refused, asked about a point that rounding leaves in doubt, is excluded too: the point
(`AvoidPoint`), or all points that are one to the model (`AvoidBox`).
Source: Karimi et al. 2020, section 4.2, diversity.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from mace.space.axes import Box, Point


@dataclass(frozen=True, slots=True)
class AvoidPoint:
    """The point itself is excluded."""

    point: Point


@dataclass(frozen=True, slots=True)
class AvoidChanges:
    """Points that change every one of these features (indices) are excluded."""

    features: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AvoidNear:
    """Points at a distance below `radius` from `point` are excluded; scaled and weighted as the question's norm."""

    point: Point
    radius: Fraction


@dataclass(frozen=True, slots=True)
class AvoidBox:
    """The points of a box are excluded."""

    box: Box


Avoid: TypeAlias = AvoidPoint | AvoidChanges | AvoidNear | AvoidBox
