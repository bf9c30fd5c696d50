"""Points that may have what is wanted of the outputs: scores of points, and climbing along the gradient.

In:  a `Chain`, points that its first stage is given, what is wanted.    Out: points; guesses, which the caller checks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.deadline import Deadline
from mace.solve.splitting.chain import Chain, Interval
from mace.tables.table import Floats


class Wanted(NamedTuple):
    """What is wanted of the outputs: for some part, forms @ outputs >= least in all of its rows.

    forms: (rows, outputs); least: (rows,), rounded down; parts: (parts, rows) of booleans.
    near:  scores below zero by no more than this may be worth asking the deployed model.
    """

    forms: Floats
    least: Floats
    parts: NDArray[np.bool_]
    near: float


def scores(chain: Chain, points: Floats, wanted: Wanted) -> Floats:
    """About how far each point, shape (points, columns), is beyond what is wanted; negative where it falls short."""
    return _short(chain.outputs(points), wanted)[0]


def _short(outputs: Floats, wanted: Wanted) -> tuple[Floats, NDArray[np.int64]]:
    """Scores, and the row that limits each: the worst row of the best part."""
    over = outputs @ wanted.forms.T - wanted.least
    # A part's rows, and after them one that is always reached, so that no part has none.
    sure = np.ones((len(wanted.parts), 1), dtype=np.bool_)
    part, row = np.nonzero(np.hstack([wanted.parts, sure]))
    each = np.hstack([over, np.full((len(over), 1), np.inf)])[:, row]
    parts = np.minimum.reduceat(each, np.flatnonzero(np.diff(part, prepend=-1)), axis=1)
    best = parts.argmax(axis=1)
    reached = parts[np.arange(len(outputs)), best]
    if not wanted.forms.size:
        return reached, np.zeros(len(outputs), np.int64)
    return reached, np.where(wanted.parts[best], over, np.inf).argmin(axis=1)


def best_points(reached: Floats, most: int) -> NDArray[np.int64]:
    """The places of the best scores, the best first."""
    return np.argsort(-reached, kind="stable")[:most]


def climbed(chain: Chain, points: Floats, box: Interval, wanted: Wanted, steps: int, deadline: Deadline) -> Floats:
    """Points after some steps along the signs of the gradient of their scores, inside the box; none gets worse.

    box: ends of shape (columns,) for all points, or (points, columns). At the deadline it is fewer steps.
    """
    width = box.upper - box.lower
    best, size = points, 0.25
    if not wanted.forms.size:
        return points
    reached, row = _short(chain.outputs(best), wanted)
    for _ in range(steps):
        if deadline.over:
            break
        moved = best + np.sign(_gradient(chain, best, wanted.forms[row])) * width * size
        moved = np.clip(moved, box.lower, box.upper)
        score, limiting = _short(chain.outputs(moved), wanted)
        better = score > reached
        best = np.where(better[:, None], moved, best)
        reached, row = np.where(better, score, reached), np.where(better, limiting, row)
        size *= 1.0 if better.any() else 0.5
        size = max(size * 0.85, 1e-4)
    return best


def _gradient(chain: Chain, points: Floats, forms: Floats) -> Floats:
    """The gradient of a form of the outputs, (points, outputs), at each point."""
    values, on = points, []
    for stage in chain.stages:
        values = stage.forward(values) + stage.bias
        on.append(values > 0 if stage.relu else np.ones_like(values, dtype=np.bool_))
        values = np.where(on[-1], values, 0.0)
    slope = forms
    for stage, active in zip(reversed(chain.stages), reversed(on), strict=True):
        slope = stage.back(slope * active)
    return slope


__all__ = ["Wanted", "best_points", "climbed", "scores"]
