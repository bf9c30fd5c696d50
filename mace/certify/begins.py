"""Whether the question of a certificate begins at a row: what `statement` wrote of each feature, read back.

In:  the features of a statement that the checker accepted, and a row's values as JSON has them.    Out: yes or no.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mace.base.exact import nearest
from mace.base.values import for_json
from mace.space.axes import Grid

if TYPE_CHECKING:
    from mace.space.space import Space


def begins_at(features: Sequence[Mapping[str, Any]], start: Mapping[str, Any], space: Space | None) -> bool:
    """Whether a statement's features start at the values of a row; levels are compared where the space is known."""
    return all(_starts_at(feature, start[name], space) for feature in features if (name := feature["name"]) in start)


def _starts_at(feature: Mapping[str, Any], value: object, space: Space | None) -> bool:
    """Whether the place that a feature starts from, in an accepted statement, is that of `value`."""
    place = feature["start"]
    if feature["kind"] == "levels":
        levels = space[feature["name"]].levels if space is not None and feature["name"] in space.names else ()
        return bool(place >= len(levels) or for_json(levels[place]) == value)
    if "missing" in feature and place > feature["upper"]:
        return value is None
    if not isinstance(value, int | float):
        return value is not None  # dates and the like stand for numbers that only the reader of the data knows
    extra = feature["extra"]
    number = Grid(feature["grid"], Fraction(feature["step"]), None if extra is None else Fraction(extra)).value(place)
    return value in (number, nearest(number))
