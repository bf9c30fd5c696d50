"""Small spaces drawn at random, and their points as people, and as libraries, hold them.

In:  Hypothesis's `draw`.    Out: features of at most `MOST_POINTS` points together, rows, frames.
Promise: what a feature's columns hold is worked out here by hand; `Space.encode` has no part in it, so that a fault of
the encoding shows as a wrong answer.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from mace.space.feature import Feature
from mace.space.space import Space
from tests.small_spaces import Row, values

MOST_POINTS = 160
Kind = TypeVar("Kind")
Draw = Callable[[st.SearchStrategy[Any]], Any]

LEVELS: list[list[Any]] = [["u", "v"], ["a b", "c,d", "e=f"], ["low", "middle", "high"], [1, 2, 5], [-1, 0, 3]]


def pick(draw: Draw, options: Sequence[Kind]) -> Kind:
    """One of some options; the first is the simplest."""
    found: Kind = draw(st.sampled_from(options))
    return found


def number(draw: Draw, name: str, missing: bool) -> Feature:
    """A whole number or a real one of few values, often around zero, sometimes far from it."""
    width = draw(st.integers(1, 5))
    gone = missing and draw(st.booleans())
    if pick(draw, [True, False]):
        low = pick(draw, [0, -2, 1, 1000, -(2**24) - 1, 2**24 - 1])
        return Feature(name, "integer", low, low + width, missing=gone)
    step = pick(draw, ["0.5", "0.1", "0.25", "100", "0.001", "0.3"])
    size = _exact(step)
    low = size * pick(draw, [0, -1, -3, 2, 10])
    return Feature(name, "real", low, low + width * size, step=size, missing=gone)


def _exact(text: str) -> Any:
    from fractions import Fraction

    return Fraction(text)


def levels(draw: Draw, name: str, raw: bool, missing: bool) -> Feature:
    """A feature with levels; where the model reads raw columns, the encoding is the pipeline's affair."""
    kind = pick(draw, ["binary", "categorical", "ordinal"])
    gone = missing and draw(st.booleans())
    if kind == "binary":
        return Feature(name, "binary", missing=gone)
    known = pick(draw, LEVELS)
    if kind == "ordinal":
        encoding = None if raw else pick(draw, ["codes", "thermometer"])
        return Feature(name, "ordinal", levels=known, encoding=encoding)
    whole = all(isinstance(level, int) for level in known)
    encoding = None if raw else pick(draw, ["one-hot", "codes", *(["as-is"] if whole else [])])
    return Feature(name, "categorical", levels=known, encoding=encoding, missing=gone and encoding != "as-is")


def space(draw: Draw, *, raw: bool = False, missing: bool = False) -> Space:
    """Two to four features with at most `MOST_POINTS` points, the first a number."""
    found = [number(draw, "n", missing)]
    for name in ("m", "c", "k")[: draw(st.integers(1, 3))]:
        feature = number(draw, name, missing) if name == "m" else levels(draw, name, raw, missing)
        if math.prod(len(all_values(f)) for f in (*found, feature)) <= MOST_POINTS:
            found.append(feature)
    if len(found) == 1:
        found.append(Feature("b", "binary"))
    return Space(found)


def all_values(feature: Feature) -> list[Any]:
    """All values, None for a missing number among them."""
    return [*values(feature), *([None] if feature.missing and feature.numeric else [])]


def points(of: Space) -> list[Row]:
    """All rows of a space."""
    sides = [all_values(feature) for feature in of.features]
    return [dict(zip(of.names, point, strict=True)) for point in itertools.product(*sides)]


def raw(of: Space, rows: Sequence[Row], like: pd.DataFrame | None = None) -> pd.DataFrame:
    """Rows as a frame in the space's own columns: whole numbers int64 unless some row may lack one.

    like: the frame that the model was fitted on; its types are kept.
    """
    columns: dict[str, Any] = {}
    for feature in of.features:
        cells = [row[feature.name] for row in rows]
        if feature.numeric:
            floats = pd.Series([float("nan") if cell is None else float(cell) for cell in cells], dtype=np.float64)
            whole = feature.kind == "integer" and not feature.missing
            columns[feature.name] = pd.Series([int(c) for c in cells], dtype=np.int64) if whole else floats
        elif like is not None and isinstance(like[feature.name].dtype, pd.CategoricalDtype):
            columns[feature.name] = pd.Series(pd.Categorical(cells, like[feature.name].cat.categories))
        elif all(isinstance(level, int) for level in feature.levels):
            columns[feature.name] = pd.Series(cells, dtype=np.int64)
        else:
            columns[feature.name] = pd.Series([float("nan") if cell is None else cell for cell in cells], dtype=object)
    return pd.DataFrame(columns)
