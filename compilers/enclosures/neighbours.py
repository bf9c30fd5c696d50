"""Bound k-nearest neighbours: means over stored rows, of which a box of rows may have several as its nearest.

In:  KNeighborsClassifier or KNeighborsRegressor with weights="uniform", over dense rows, with a Minkowski metric.
Out: `Enclosed`, whose scores are the shares of the classes among the neighbours, or the mean of their numbers.
Promise: which of several rows at one distance are taken is left open.
How the library decides (sklearn/neighbors, checked in 1.9): the first of the classes that most of the neighbours have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.compilers.enclosures.bounds import Bounds, Change, jumping
from mace.compilers.enclosures.enclosed import Enclosed, Function, largest
from mace.compilers.enclosures.kernels import squared_length
from mace.compilers.enclosures.ranges import TINY, UNSURE, Floats, Range, unsure
from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of, numbers
from mace.errors import ModelError, UnreadableError
from mace.tables.table import Bools

OTHERS = 8  # of the nearest rows, beside as many as are asked, how many others are compared with

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
        if classes and metric == "euclidean" and x.change is not None:
            return _by_pairs(x, rows, each, count, scores)
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
    error = _rounding(each)
    return Bounds(Range(low / count, high / count).wider(error), np.broadcast_to(error, low.shape))


def _rounding(each: Floats) -> Floats:
    """What means may be off by."""
    return np.asarray(UNSURE * (np.abs(each).max(axis=0) + 1))


# ------------------------------------------------------------------------------------------- pairs of rows


class _Pairs(NamedTuple):
    """Stored rows, and others that are nearer than them at the centres of boxes.

    rows:   places of stored rows, shape (boxes, some).    others: of those that they are compared with, (boxes, few).
    surely: whether the other one is nearer at all rows of the box, shape (boxes, some, few). Than a row that is not
            among `rows` all others are, or all others are of its class.
    """

    rows: NDArray[np.intp]
    others: NDArray[np.intp]
    surely: Bools


def _by_pairs(x: Bounds, stored: Floats, each: Floats, count: int, scores: Function) -> Bounds:
    """The shares of classes, and how they change."""
    assert x.change is not None
    pairs, error = _pairs(x, x.change.alone, stored, each, count), _rounding(each)
    found = Bounds(_shares(pairs, each, count).wider(error), np.broadcast_to(error, (len(x.error), len(error))))
    apart = np.abs(stored[pairs.rows[:, :count, None]] - stored[pairs.others[:, None]])
    open_ = np.where(pairs.surely[:, :count, :, None], 0.0, apart).sum(axis=(1, 2))
    open_ *= x.values.high - x.values.low
    open_ /= open_.sum(axis=1, keepdims=True) + TINY
    width = found.values.high - found.values.low
    jumps = jumping(found, x, scores, open_[:, :, None] * width[:, None, :])
    assert jumps.change is not None
    if (jumps.change.span.size > 2 * TINY).any():
        return jumps
    # Of a row alone nothing changes, whatever the slopes: these say where to look for rows with another class.
    return replace(jumps, change=replace(jumps.change, slopes=_ways(x.change, found, stored, each, count)))


def _ways(own: Change, found: Bounds, stored: Floats, each: Floats, count: int) -> Floats:
    """How shares would change if leads were by how much the rows of a majority are nearer than others in the mean."""
    at = own.centre.values.low
    far = ((at[:, None, :] - stored) ** 2).sum(axis=2)
    slopes = np.zeros((*own.slopes.shape[:2], each.shape[1]))
    for k in range(each.shape[1]):
        sides, away = [], []
        for some in (each[:, k] > 0, each[:, k] == 0):
            nearest = np.argsort(np.where(some, far, np.inf), axis=1)[:, : min((count + 1) // 2, int(some.sum()))]
            sides.append(stored[nearest].mean(axis=1))
            away.append(np.take_along_axis(far, nearest, axis=1).mean(axis=1))
        lead = 2 * found.values.high[:, k] - 1
        share = np.abs(lead) / (np.abs(away[1] - away[0]) + TINY)
        slopes[:, :, k] = np.einsum("bjk,bk->bj", own.slopes, (sides[0] - sides[1]) * share[:, None])
    return slopes


def _pairs(x: Bounds, own: Change, stored: Floats, each: Floats, count: int) -> _Pairs:
    """By pairs of rows: |x - b|^2 - |x - a|^2 is that at the centre, and 2 <a - b, x - c>, which is linear."""
    at, share = own.centre.values, unsure(stored.shape[1])
    middle, width = at.low + (at.high - at.low) / 2, at.high - at.low
    far = ((middle[:, None, :] - stored) ** 2).sum(axis=2)
    size = ((x.said.size[:, None, :] + np.abs(stored)) ** 2).sum(axis=2)
    # What the library rounds, and what is not known of the columns that it is given.
    doubt = 4 * share * size + TINY + 2 * (own.rest.size + width + x.error + share * own.size) @ np.abs(stored).T

    def of(values: Floats, places: NDArray[np.intp]) -> Floats:
        return np.take_along_axis(values, places, axis=1)

    others = np.argsort(far, axis=1)[:, : count + OTHERS]
    away = 2 * np.sqrt(squared_length(own)[0] + (width**2).sum(axis=1))[:, None]
    last = of(far + doubt, others).max(axis=1, keepdims=True)
    near = ~(far - doubt > (np.sqrt(last) + away) ** 2 * (1 + UNSURE))
    of_class = each.argmax(axis=1)
    first = of_class[others[:, :1]]
    near &= (of_class != first) | (of_class[others] != first).any(axis=1, keepdims=True)
    rows = np.argsort(np.where(near, far, np.inf), axis=1, kind="stable")[:, : int(near.sum(axis=1).max())]
    moved = 2 * np.matmul(own.slopes[:, :-1], stored.T)
    brought = _most(own, *(np.take_along_axis(moved, places[:, None, :], axis=2) for places in (rows, others)))
    least = of(far - doubt, rows)[:, :, None]
    return _Pairs(rows, others, (of(far + doubt, others)[:, None, :] + brought) < least)


def _most(own: Change, rows: Floats, others: Floats) -> Floats:
    """The most that a row comes nearer than another one, both moved as columns are, shape (boxes, columns, ..)."""
    whole = np.zeros((len(rows), rows.shape[2], others.shape[2]))
    free, dearest = np.zeros_like(whole), np.zeros_like(whole)
    for j in range(rows.shape[1]):
        change = rows[:, j, :, None] - others[:, j, None, :]
        ends = [change * side[:, j, None, None] for side in own.span]
        whole += np.maximum(*ends)
        if own.ball is None:
            continue
        costs = [cost[:, j, None, None] for cost in (own.ball.down, own.ball.up)]
        free += np.maximum(*(np.where(cost > 0, 0.0, end) for end, cost in zip(ends, costs, strict=True)))
        for end, cost in zip(ends, costs, strict=True):
            dearest = np.maximum(dearest, np.where(cost > 0, end / cost, 0.0))
    # What is spent brings no more than where a unit brings most.
    most = whole if own.ball is None else np.fmin(whole, free + dearest * own.ball.left[:, None, None])
    return np.where(most > 0, most * (1 + UNSURE), most)


def _shares(pairs: _Pairs, each: Floats, count: int) -> Range:
    """Bounds on the shares of classes: so many of a class are neighbours as have few enough others before them."""
    among, surely = each[pairs.others] > 0, pairs.surely.astype(np.float32)
    neighbour = surely.sum(axis=2) < count
    low, high = np.zeros((len(surely), each.shape[1])), np.ones((len(surely), each.shape[1]))

    def most(has: Bools, other: Bools) -> Floats:
        """The largest share of rows, before each of which others are that are not of them."""
        before = np.matmul(surely, other[:, :, None].astype(np.float32))[:, :, 0]
        ranked = np.sort(np.where(has & neighbour, before, np.inf), axis=1)[:, :count]
        places = np.arange(ranked.shape[1])
        found = np.where(ranked <= count - 1 - places, places + 1, 0).max(axis=1, initial=0)
        return np.where(other.any(axis=1), found, count) / count

    for k in range(each.shape[1]):
        has = each[pairs.rows, k] > 0
        high[:, k] = most(has, ~among[:, :, k])
        low[:, k] = 1 - most(~has, among[:, :, k])
    return Range(low, high)
