"""A first point with the goal: change one feature after another, the one that gains most for what it costs.

In:  a `Frame`.    Out: the items of a point that seems to have the goal; a guess, which the caller checks.
The driver usually knows a point from the data; this is for when it does not, and for a second opinion.
"""

from __future__ import annotations

import numpy as np

from mace.solve.networks.model import Array
from mace.solve.networks.nodes import Frame
from mace.space.axes import GridAxis

SHARES = (0.1, 0.3, 0.6, 1.0)


def margins(frame: Frame, x: Array) -> Array:
    """For rows of item values, shape (rows, I): by how much each has the goal; shape (rows,)."""
    net = frame.numbers.net
    values = x @ net.W0 + net.B[0]
    for layer in range(len(net.size)):
        if net.relu[layer]:
            values = np.maximum(values, 0.0)
        values = values @ net.W[layer + 1] + net.B[layer + 1]
    parts = [(values @ part.C.T - part.than).min(axis=1, initial=np.inf) for part in frame.numbers.parts]
    best: Array = np.max(parts, axis=0)
    return best


def moves(frame: Frame) -> list[tuple[int, Array, float]]:
    """Single changes: the axis, its items' values, and the cost."""
    n, found = frame.numbers.axes, []
    node = frame.first_node()
    for j, axis in enumerate(frame.question.axes):
        first, count = int(n.first[j]), int(n.count[j])
        if isinstance(axis, GridAxis):
            ends = [end * share for end in (node.hull.lo[j], node.hull.hi[j]) if end != 0.0 for share in SHARES]
            found += [(j, np.array([v]), n.jump[j] + (n.rate[j] + n.peak[j]) * abs(v)) for v in [*ends, 0.0]]
            continue
        for level in axis.levels():
            value = np.zeros(count)
            value[level] = 1.0
            change = n.change[first + level]
            found.append((j, value, (n.jump[j] + (n.rate[j] + n.peak[j]) * change) if change else 0.0))
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
    margin = float(margins(frame, x[None, :])[0])
    for _ in range(2 * len(question.axes) + 5):
        if margin >= 0.0 or not options:
            break
        trial = np.repeat(x[None, :], len(options), axis=0)
        extra = np.empty(len(options))
        for row, (j, value, cost) in enumerate(options):
            trial[row, n.first[j] : n.first[j] + n.count[j]] = value
            extra[row] = cost - spent[j]
        reached = margins(frame, trial)
        if (reached >= 0.0).any():
            row = int(np.argmin(np.where(reached >= 0.0, extra, np.inf)))
        else:
            gains = (reached - margin) / np.maximum(extra, 1e-6)
            row = int(np.argmax(np.where(reached > margin + 1e-12, gains, -np.inf)))
            if reached[row] <= margin + 1e-12:
                return None
        j, value, cost = options[row]
        x[n.first[j] : n.first[j] + n.count[j]] = value
        spent[j], margin = cost, float(reached[row])
    return x if margin >= 0.0 else None
