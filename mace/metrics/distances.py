"""The distances that the measures are made of, on arrays: scaled by ranges, or by median absolute deviations.

In:  arrays of `mace.metrics.frames`, shape (n, features).    Out: arrays of floats.
Promise: 0 for what is equal, missing beside missing too; a number that is given or lost counts as the feature's
`missing_cost`. Floats: for comparing methods, not for proving anything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mace.metrics.frames import Numbers, numbers
from mace.problem.distance import Norm
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd


def mads(data: pd.DataFrame, space: Space) -> dict[str, float]:
    """The median absolute deviation of each numeric feature, in its own unit; 1 where it would be 0.

    MAD_j = median over rows of |x_j - median(x_j)|, missing numbers left out.
    data:   training rows, in the columns of the space.
    Raises RowError for what is no row.
    Source: Mothilal, Sharma, Tan 2020 (DiCE), distance of continuous features; 0 becomes 1 in DiCE's code.
    """
    values = numbers(data, space, "the data")
    found = {}
    for j, feature in enumerate(space.features):
        if feature.numeric:
            column = values[:, j][~np.isnan(values[:, j])]
            spread = float(np.median(np.abs(column - np.median(column)))) if len(column) else 0.0
            found[feature.name] = spread or 1.0
    return found


def deltas(before: Numbers, after: Numbers, space: Space) -> Numbers:
    """The scaled change of each feature: |x - x'| / range, ranks for ordinals, 0 or 1 for other levels."""
    return _scaled(before, after, space, [_scale(space, j) for j in range(len(space.features))])


def changed(before: Numbers, after: Numbers) -> NDArray[np.bool_]:
    """Which features differ; missing and missing do not."""
    found: NDArray[np.bool_] = (before != after) & ~(np.isnan(before) & np.isnan(after))
    return found


def norm_of(norm: Norm, delta: Numbers) -> Numbers:
    """The norm of each row of scaled changes; shape (n,)."""
    weights = np.array([float(weight) for weight in norm.weights])
    weighted = delta * weights
    total = float(norm.alpha) * ((delta > 0) * weights).sum(axis=-1) + float(norm.beta) * weighted.sum(axis=-1)
    found: Numbers = total + float(norm.gamma) * weighted.max(axis=-1, initial=0.0)
    return found


def continuous(before: Numbers, after: Numbers, space: Space, mad: dict[str, float]) -> Numbers:
    """d_cont: the mean over numeric features of |x - x'| / MAD; shape (n,). 0 without such features."""
    scales = [mad[feature.name] if feature.numeric else 1.0 for feature in space.features]
    chosen = [j for j, feature in enumerate(space.features) if feature.numeric]
    scaled = _scaled(before, after, space, scales)[:, chosen]
    found: Numbers = scaled.mean(axis=1) if chosen else np.zeros(len(before))
    return found


def categorical(before: Numbers, after: Numbers, space: Space) -> Numbers:
    """d_cat: the share of the features with levels that differ; shape (n,). 0 without such features."""
    chosen = [j for j, feature in enumerate(space.features) if not feature.numeric]
    found: Numbers = changed(before, after)[:, chosen].mean(axis=1) if chosen else np.zeros(len(before))
    return found


def _scaled(before: Numbers, after: Numbers, space: Space, scales: list[float]) -> Numbers:
    moved: Numbers = np.abs(after - before) / np.array(scales)
    for j, feature in enumerate(space.features):
        count = len(feature.levels) - 1
        level = not feature.numeric
        if level and feature.kind != "ordinal":
            moved[:, j] = moved[:, j] > 0
        if not feature.missing:
            continue
        one, other = (
            ((before[:, j] == count), (after[:, j] == count))
            if level
            else (np.isnan(before[:, j]), np.isnan(after[:, j]))
        )
        moved[:, j] = np.where(one & other, 0.0, np.where(one | other, float(feature.price), moved[:, j]))
    return moved


def _scale(space: Space, j: int) -> float:
    feature = space.features[j]
    if feature.numeric:
        lower, upper = feature.bounds()
        return float(upper - lower) if upper > lower else 1.0
    ranks = len(feature.levels) - bool(feature.missing) - 1
    return float(max(ranks, 1)) if feature.kind == "ordinal" else 1.0
