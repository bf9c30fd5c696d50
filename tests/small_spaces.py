"""Small spaces by hand: what values a feature has, which of them a row may take, and how far apart they are.

Worked out from the features alone: it is what `mace.axes` and `mace.distance` are compared with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mace.space import Feature, Space

Row = dict[str, Any]


SPECS: list[Any] = [
    "l0",
    "l1",
    "linf",
    {"l0": Fraction(1, 4), "l1": Fraction(3, 4)},
    {"l0": Fraction(1, 3), "l1": Fraction(1, 3), "linf": Fraction(1, 3)},
    {"l1": Fraction(1, 2), "linf": Fraction(1, 2)},
]


def values(feature: Feature) -> list[Any]:
    """All values in the range, exact, with no regard to direction or start; None for a level that is missing."""
    if not feature.numeric:
        return list(feature.levels)
    low, high, step = Fraction(feature.lower), Fraction(feature.upper), Fraction(feature.step or 1)
    return [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


def shown(feature: Feature, value: Any) -> Any:
    """A value as people write it in a row."""
    if not feature.numeric or value is None:
        return value
    return int(value) if feature.kind == "integer" else float(value)


def reachable(feature: Feature, start: Any) -> list[Any]:
    """The values that the feature may take from its start."""
    known = values(feature)
    # A number, or a rank, that is missing stays so, and one that is there stays there; elsewhere it is one more level.
    if feature.missing and feature.kind not in ("binary", "categorical"):
        if start is None:
            return [None]
        known = [value for value in known if value is not None]
    if not feature.numeric:
        place = known.index(start)
        ways = {"any": known, "fixed": [start], "increase": known[place:], "decrease": known[: place + 1]}
        return ways[feature.change]
    known = sorted({*known, start})
    return [
        v for v in known
        if feature.change == "any" or v == start or (v > start if feature.change == "increase" else v < start)
        if feature.change != "fixed" or v == start
    ]  # fmt: skip


def delta(feature: Feature, one: Any, other: Any) -> Fraction:
    """The scaled change between two values."""
    if one == other:
        return Fraction(0)
    if feature.numeric:
        return abs(one - other) / (Fraction(feature.upper) - Fraction(feature.lower))
    if feature.kind == "ordinal":
        ranks = [level for level in feature.levels if level is not None]
        return Fraction(abs(ranks.index(one) - ranks.index(other)), len(ranks) - 1)
    return Fraction(1)


@dataclass
class Measure:
    """A mixture of the three norms, with weights."""

    spec: Any
    weights: dict[str, Fraction] | None

    def between(self, space: Space, one: Row, other: Row) -> Fraction:
        shares = {self.spec: Fraction(1)} if isinstance(self.spec, str) else self.spec
        weights = self.weights or {}
        moved = [(weights.get(f.name, Fraction(1)), delta(f, one[f.name], other[f.name])) for f in space.features]
        count = sum((w for w, d in moved if d), Fraction(0)) / len(moved)
        total = sum((w * d for w, d in moved), Fraction(0)) / len(moved)
        largest = max(w * d for w, d in moved)
        return shares.get("l0", 0) * count + shares.get("l1", 0) * total + shares.get("linf", 0) * largest
