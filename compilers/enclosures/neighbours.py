"""Bound k-nearest neighbours: means over stored rows, of which a box of rows may have several as its nearest.

In:  KNeighborsClassifier or KNeighborsRegressor with weights="uniform", over dense rows, with a Minkowski metric.
Out: `Enclosed`, whose scores are the shares of the classes among the neighbours, or the mean of their numbers.
Promise: which of several rows at one distance are taken is left open.
How the library decides (sklearn/neighbors, checked in 1.9): the first of the classes that most of the neighbours have.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.compilers.enclosures.bounds import Bounds, jumping
from mace.compilers.enclosures.enclosed import Enclosed, largest
from mace.compilers.enclosures.ranges import TINY, UNSURE, Floats, Range, unsure
from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of, numbers
from mace.errors import ModelError, UnreadableError

_POWERS = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": np.inf}


def neighbours(model: Any) -> Enclosed:
    """One model of neighbours."""
    metric, columns, count = fitted(model, "effective_metric_"), columns_of(model), int(model.n_neighbors)
    stored = fitted(model, "_fit_X")
    if model.weights not in ("uniform", None) or metric not in _POWERS or hasattr(stored, "tocsr"):
        raise UnreadableError(
            f"{name_of(model)} with weights={model.weights!r} and the metric {metric!r} is not bounded over boxes",
            hint='Use weights="uniform" and a Minkowski metric with p of 1 or 2, on dense rows.',
        )
    rows = numbers(model, "_fit_X", stored, (len(stored), columns))
    if not 1 <= count <= len(rows) or np.asarray(stored).dtype == np.float32:
        raise ModelError(f"{name_of(model)} asks {count} of {len(rows)} rows")
    targets = np.asarray(fitted(model, "_y"))
    if targets.ndim != 1:
        raise UnreadableError(f"{name_of(model)} with several outputs is not supported", hint="Fit one for each.")
    if targets.dtype.kind == "f" and targets.dtype != np.float64:
        raise UnreadableError(f"{name_of(model)} of {targets.dtype} numbers is not bounded over boxes")
    classes = labels_of(model) if hasattr(model, "classes_") else ()
    each = np.eye(len(classes))[targets] if classes else targets[:, None].astype(np.float64)

    def scores(x: Bounds) -> Bounds:
        return jumping(_means(_distances(x.said, rows, _POWERS[metric]), each, count), x, scores)

    name = f"{name_of(model)} of {count} rows"
    if not classes:
        return Enclosed(name, columns, (), scores, width=len(rows))
    return Enclosed(name, columns, classes, scores, largest(len(classes)), scores, None, len(rows))


def _distances(x: Range, rows: Floats, power: float) -> Range:
    """Bounds on what a metric compares, shape (boxes, rows)."""
    low, high = x.low[:, None, :] - rows, x.high[:, None, :] - rows
    near = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(np.abs(low), np.abs(high)))
    far = np.maximum(np.abs(low), np.abs(high))
    size = x.size[:, None, :] + np.abs(rows)
    if power == 2:
        # As |x|^2 + |v|^2 - 2 <x, v> it loses what its terms are larger by than it.
        margin = unsure(rows.shape[1]) * (size**2).sum(axis=2) + TINY
        return Range((near**2).sum(axis=2), (far**2).sum(axis=2)).wider(margin)
    margin = unsure(rows.shape[1]) * size.sum(axis=2) + TINY
    if power == 1:
        return Range(near.sum(axis=2), far.sum(axis=2)).wider(margin)
    return Range(near.max(axis=2), far.max(axis=2)).wider(margin)


def _means(far: Range, each: Floats, count: int) -> Bounds:
    """Bounds on the mean of what the nearest rows have; `each` has shape (rows, numbers)."""
    # What overflows may be any distance.
    far = Range(np.where(np.isnan(far.low), -np.inf, far.low), np.where(np.isnan(far.high), np.inf, far.high))
    boxes, outputs = len(far.low), each.shape[1]
    last = np.partition(far.high, count - 1, axis=1)[:, count - 1 : count]
    may = far.low <= last  # one of the nearest at some row of the box
    order = np.sort(far.low, axis=1)
    # A row is surely one of the nearest where fewer than `count` others may be as near as it ever is far.
    must = np.stack([np.searchsorted(lows, highs, side="right") for lows, highs in zip(order, far.high, strict=True)])
    must = may & (must <= count)
    low, high = np.empty((boxes, outputs)), np.empty((boxes, outputs))
    for box in range(boxes):
        sure, open_ = each[must[box]], each[may[box] & ~must[box]]
        free = count - len(sure)
        ranked, total = np.sort(open_, axis=0), sure.sum(axis=0)
        low[box] = total + ranked[:free].sum(axis=0)
        high[box] = total + ranked[len(ranked) - free :].sum(axis=0)
    error = UNSURE * (np.abs(each).max(axis=0) + 1)
    return Bounds(Range(low / count, high / count).wider(error), np.broadcast_to(error, low.shape))
