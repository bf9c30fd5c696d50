"""Small spaces by hand: what values a feature has, which of them a row may take, and how far apart they are.

Worked out from the features alone: it is what `mace.space.axes` and `mace.problem.distance` are compared with.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from mace.problem.programs import rule_of
from mace.space.feature import Feature
from mace.space.space import Space

Row = dict[str, Any]

# All of a small space, for what is compared with enumeration.
MIXED = Space(
    [
        Feature("a", "integer", 0, 6),
        Feature("b", "real", 0, 1, step="0.25"),
        Feature("c", "categorical", levels=["x", "y", "z"]),
        Feature("d", "integer", 0, 6, change="increase"),
    ]
)
MIXED_ROWS = pd.DataFrame(
    list(itertools.product(range(7), (0, 0.25, 0.5, 0.75, 1.0), "xyz", range(7))), columns=["a", "b", "c", "d"]
)


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
    known = [value for value in values(feature) if value is not None]
    if start is None:  # What is filled in has no direction.
        return [None] if feature.missing == "keep" or feature.change == "fixed" else [None, *known]
    lost = [None] if feature.missing == "any" and feature.change == "any" else []
    if not feature.numeric:
        place = known.index(start)
        ways = {"any": known, "fixed": [start], "increase": known[place:], "decrease": known[: place + 1]}
        return [*ways[feature.change], *lost]
    known = sorted({*known, start})
    return [
        v for v in known
        if feature.change == "any" or v == start or (v > start if feature.change == "increase" else v < start)
        if feature.change != "fixed" or v == start
    ] + lost  # fmt: skip


def with_ways(space: Space, rng: np.random.Generator) -> Space:
    """A space whose features may change as chance says: directions, and what becomes of missing values."""
    features = []
    for feature in space.features:
        change = str(rng.choice(["any"] * 7 + ["fixed", "increase", "decrease"]))
        if feature.kind == "categorical" and change in ("increase", "decrease"):
            change = "any"
        feature = replace(feature, change=change)  # type: ignore[arg-type]
        if feature.missing:
            missing = str(rng.choice(["keep", "fill", "any"]))
            cost = None if missing == "keep" else [None, None, "1/3", "0.7", "1", "0"][int(rng.integers(6))]
            feature = replace(feature, missing=missing, missing_cost=cost)  # type: ignore[arg-type]
        features.append(feature)
    return replace(space, features=features)


def lacks_what_is_read(space: Space, rule: str, row: Row) -> bool:
    """Whether a row lacks a number or a rank that a rule reads."""
    reads = rule_of(rule, space).reads
    return any(row[name] is None and space[name].kind not in ("binary", "categorical") for name in reads)


def delta(feature: Feature, one: Any, other: Any) -> Fraction:
    """The scaled change between two values."""
    if one == other:
        return Fraction(0)
    if one is None or other is None:
        return Fraction(1) if feature.missing_cost is None else Fraction(feature.missing_cost)
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


def encoded(of: Space, rows: Sequence[Row]) -> pd.DataFrame:
    """Rows as the matrix of a model that takes what the space encodes, float64; shape (rows, columns)."""
    columns: dict[str, Any] = {}
    for feature in of.features:
        cells = [row[feature.name] for row in rows]
        if feature.numeric:
            columns[feature.name] = [float("nan") if cell is None else float(cell) for cell in cells]
            continue
        ranks = np.array([feature.levels.index(cell) for cell in cells])
        match feature.encoding:
            case "one-hot":
                columns |= {f"{feature.name}={x}": ranks == k for k, x in enumerate(feature.levels)}
            case "thermometer":
                columns |= {f"{feature.name}>={x}": ranks >= k for k, x in enumerate(feature.levels) if k}
            case "as-is":
                columns[feature.name] = cells
            case _:
                columns[feature.name] = ranks
    return pd.DataFrame(columns).astype(np.float64)
