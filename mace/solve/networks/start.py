"""A first point with the goal: change one feature after another, the one that gains most for what it costs.

In:  a `Frame`.    Out: the items of a point that seems to have the goal; a guess, which the caller checks.
The driver usually knows a point from the data; this is for when it does not, and for a second opinion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.base.deadline import Deadline
from mace.solve.networks.model import LEVELS, Array
from mace.solve.networks.nodes import Frame
from mace.space.axes import GridAxis

SHARES = (0.1, 0.3, 0.6, 1.0)
AT_ONCE = 1024  # moves, between which the clock is looked at


def margins(frame: Frame, x: Array) -> Array:
    """For rows of item values, shape (rows, I): by how much each has the goal; shape (rows,)."""
    return after_inputs(frame, x @ frame.numbers.net.W0 + frame.numbers.net.B[0])


def after_inputs(frame: Frame, values: Array) -> Array:
    """`margins`, from what the first layer is given; shape (rows, N)."""
    net = frame.numbers.net
    for layer in range(len(net.size)):
        if net.relu[layer]:
            values = np.maximum(values, 0.0)
        values = values @ net.W[layer + 1] + net.B[layer + 1]
    parts = [(values @ part.C.T - part.than).min(axis=1, initial=np.inf) for part in frame.numbers.parts]
    best: Array = np.max(parts, axis=0)
    return best


class Moves(NamedTuple):
    """Changes of single axes, shape (moves,): what an item of an axis becomes, and the cost. Of a level that becomes 1
    all others of its axis become 0.
    """

    axis: Array
    item: Array
    value: Array
    cost: Array


def moves(frame: Frame) -> Moves:
    """All that are tried."""
    n, hull = frame.numbers.axes, frame.first_node().hull
    slope, grids = n.rate + n.peak, np.flatnonzero(n.kind != LEVELS)
    ends = np.stack([hull.lo[grids], hull.hi[grids]], axis=1)
    values = np.hstack([np.kron(ends, SHARES), np.zeros((len(grids), 1))])
    tried = np.hstack([np.repeat(ends != 0.0, len(SHARES), axis=1), np.ones((len(grids), 1), np.bool_)])
    costs = n.jump[grids, None] + slope[grids, None] * np.abs(values)
    axes = np.repeat(grids, tried.sum(axis=1))
    of_levels = [
        (j, n.first[j] + level, 1.0, n.jump[j] + slope[j] * change if change else 0.0)
        for j, axis in enumerate(frame.question.axes)
        if not isinstance(axis, GridAxis)
        for level in axis.levels()
        for change in (n.change[n.first[j] + level],)
    ]
    more = np.array(of_levels).reshape(-1, 4).T
    found = (axes, n.first[axes], values[tried], costs[tried])
    axis, item, value, cost = (np.concatenate(both) for both in zip(found, more, strict=True))
    order = np.argsort(axis, kind="stable")
    return Moves(axis[order].astype(np.int64), item[order].astype(np.int64), value[order], cost[order])


def greedy(frame: Frame, until: Deadline, *, by_cost: bool = True) -> Array | None:
    """Items (I,) of a point that seems to have the goal; None if none was reached before a deadline.

    by_cost: what gains most for what it costs comes first; else what gains most.
    """
    n, question = frame.numbers.axes, frame.question
    x = np.zeros(len(n.change))
    for j, axis in enumerate(question.axes):
        if not isinstance(axis, GridAxis):
            x[n.first[j] + axis.start] = 1.0
    spent = np.zeros(len(question.axes))
    axes, items, values, costs = moves(frame)
    of_axis = np.repeat(np.arange(len(n.first)), n.count)
    margin = float(margins(frame, x[None, :])[0])
    moved: set[int] = set()  # axes; once they are as many as may be, no others are tried
    for _ in range(2 * len(question.axes) + 5):
        if margin >= 0.0 or not len(axes):
            break
        extra, reached = costs - spent[axes], np.empty(len(axes))
        for first in range(0, len(axes), AT_ONCE):
            if until.over:
                return None
            some = slice(first, first + AT_ONCE)
            trial = np.where(axes[some, None] == of_axis, 0.0, x)
            trial[np.arange(len(trial)), items[some]] = values[some]
            reached[some] = margins(frame, trial)
        if frame.sparse and len(moved) >= frame.most:
            reached[~np.isin(axes, [*moved])] = -np.inf
        if (reached >= 0.0).any():
            row = int(np.argmin(np.where(reached >= 0.0, extra, np.inf)))
        else:
            gains = (reached - margin) / (np.maximum(extra, 1e-6) if by_cost else 1.0)
            row = int(np.argmax(np.where(reached > margin + 1e-12, gains, -np.inf)))
            if reached[row] <= margin + 1e-12:
                return None
        x = np.where(axes[row] == of_axis, 0.0, x)
        x[items[row]], margin = values[row], float(reached[row])
        spent[axes[row]] = costs[row]
        moved.add(int(axes[row]))
    return x if margin >= 0.0 else None
