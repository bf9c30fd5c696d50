"""A first point with the goal: change one feature after another, the one that gains most for what it costs.

In:  a `Frame`.    Out: the items of a point that seems to have the goal; a guess, which the caller checks.
The driver usually knows a point from the data; this is for when it does not, and for a second opinion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.networks.model import Array
from mace.solve.networks.nodes import Frame
from mace.space.axes import GridAxis

SHARES = (0.1, 0.3, 0.6, 1.0)


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


class Move(NamedTuple):
    """A single change of an axis: what its item becomes, and the cost. A level becomes 1, all others of its axis 0."""

    axis: int
    item: int
    value: float
    cost: float


def moves(frame: Frame) -> list[Move]:
    """All that are tried."""
    n, found = frame.numbers.axes, []
    hull = frame.first_node().hull
    lows, highs, firsts, jumps = hull.lo.tolist(), hull.hi.tolist(), n.first.tolist(), n.jump.tolist()
    slopes, changes = (n.rate + n.peak).tolist(), n.change.tolist()
    for j, axis in enumerate(frame.question.axes):
        first, jump, slope = firsts[j], jumps[j], slopes[j]
        if isinstance(axis, GridAxis):
            ends = [end * share for end in (lows[j], highs[j]) if end != 0.0 for share in SHARES]
            found += [Move(j, first, v, jump + slope * abs(v)) for v in [*ends, 0.0]]
            continue
        for level in axis.levels():
            change = changes[first + level]
            found.append(Move(j, first + level, 1.0, jump + slope * change if change else 0.0))
    return found


def greedy(frame: Frame) -> Array | None:
    """Items (I,) of a point that seems to have the goal; None if none was reached."""
    n, question = frame.numbers.axes, frame.question
    options = moves(frame)
    x = np.zeros(len(n.change))
    for j, axis in enumerate(question.axes):
        if not isinstance(axis, GridAxis):
            x[n.first[j] + axis.start] = 1.0
    spent = np.zeros(len(question.axes))
    axes, items = (np.array([move[k] for move in options], np.int64) for k in (0, 1))
    values, costs = (np.array([move[k] for move in options]) for k in (2, 3))
    rows, of_axis = np.arange(len(options)), np.repeat(np.arange(len(n.first)), n.count)
    margin = float(margins(frame, x[None, :])[0])
    for _ in range(2 * len(question.axes) + 5):
        if margin >= 0.0 or not options:
            break
        trial = np.where(axes[:, None] == of_axis, 0.0, x)
        trial[rows, items] = values
        extra = costs - spent[axes]
        reached = margins(frame, trial)
        if (reached >= 0.0).any():
            row = int(np.argmin(np.where(reached >= 0.0, extra, np.inf)))
        else:
            gains = (reached - margin) / np.maximum(extra, 1e-6)
            row = int(np.argmax(np.where(reached > margin + 1e-12, gains, -np.inf)))
            if reached[row] <= margin + 1e-12:
                return None
        x, margin = trial[row], float(reached[row])
        spent[axes[row]] = costs[row]
    return x if margin >= 0.0 else None
