"""Whether the question of a certificate begins at a row, and its witness is another: what was written, read back.

In:  the features of a statement that the checker accepted, and a row's values as JSON has them.    Out: yes or no.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mace.base.exact import above, nearest, rounded_text
from mace.base.values import for_json
from mace.space.axes import Grid

if TYPE_CHECKING:
    from mace.space.space import Space


def begins_at(features: Sequence[Mapping[str, Any]], start: Mapping[str, Any], space: Space | None) -> bool:
    """Whether a statement's features start at the values of a row; levels are compared where the space is known."""
    return _is_at(features, [feature["start"] for feature in features], start, space)


def witnessed(data: Mapping[str, Any], values: Mapping[str, Any], distance: str | None, space: Space | None) -> bool:
    """Whether the witness of an accepted certificate is a row, at a distance as audits write it; true without one."""
    witness, features = data.get("witness"), data["statement"].get("features", ())
    if not isinstance(witness, Mapping) or "point" not in witness:
        return True  # only the deployed model confirmed it
    away = rounded_text(Fraction(witness["distance"]), above)
    return away == distance and _is_at(features, witness["point"], values, space)


def _is_at(
    features: Sequence[Mapping[str, Any]], point: Sequence[int], values: Mapping[str, Any], space: Space | None
) -> bool:
    return all(
        _means(feature, place, values[name], space)
        for feature, place in zip(features, point, strict=True)
        if (name := feature["name"]) in values
    )


def _means(feature: Mapping[str, Any], place: int, value: object, space: Space | None) -> bool:
    """Whether a place on the axis of a feature, in an accepted statement, is that of `value`."""
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
