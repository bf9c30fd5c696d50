"""Points with the goal where the largest change alone counts: the goal reached in smaller and smaller balls.

In:  a search's `Points`, of a norm that sums nothing.    Out: points that were offered, each nearer than the last.
Promise: nothing but good guesses; each is offered, so that what counts is said elsewhere.
How: inside a ball every value of every feature is free. So each goes to the end of its side from which the goal is
missed by less, many at once as long as that helps, until the goal is reached or no single change helps. The radius is
bisected between the nearest point and the largest ball without success.
"""

from __future__ import annotations

import numpy as np

from mace.base.deadline import Deadline
from mace.solve.networks.model import LEVELS, Array, Hull
from mace.solve.networks.points import Points
from mace.solve.networks.start import after_inputs, margins

FINE = 8  # the radius is bisected to this part of it
STEPS = 5  # for each feature, in one ball
BALLS = 30
LEAST = 1e-9  # of what is missing: gains of less are none
SURE = 1e-9  # what the goal is exceeded by, so that rounding to the grid keeps it


def in_balls(points: Points, deadline: Deadline) -> None:
    """Offer points with the goal, as near as they are found."""
    below, above = 0.0, float(min(points.distance, points.widest))
    tried = set[bytes]()
    for _ in range(BALLS):
        if above - below <= above / FINE or deadline.over:
            return
        radius = (below + above) / 2
        node = points.first_node()
        if not points.cut_to(node, radius):
            below = radius
            continue
        ends = b"".join(side.tobytes() for side in node.hull)
        x = climbed(points, node.hull, deadline) if ends not in tried else None
        tried.add(ends)
        if x is not None and points.offer(points.rounded(x, outward=False)):
            above = float(points.distance)
        else:
            below = radius


class Options:
    """Where each feature may go in a box: items, their values there, and how that moves the first layer's inputs."""

    def __init__(self, points: Points, hull: Hull) -> None:
        n, axes = points.numbers.axes, points.question.axes
        grids = np.flatnonzero(n.kind != LEVELS)
        levels = [
            (j, first + level)
            for j in np.flatnonzero(n.kind == LEVELS)
            for first in (int(n.first[j]),)
            for level in range(int(n.count[j]))
            if hull.on[first + level]
        ]
        of_levels = np.array(levels, np.int64).reshape(-1, 2)
        self.moved = np.concatenate([grids, grids, of_levels[:, 0]])
        self.items = np.concatenate([n.first[grids], n.first[grids], of_levels[:, 1]])
        self.values = np.concatenate([hull.lo[grids], hull.hi[grids], np.ones(len(levels))])
        self.level = np.arange(len(self.moved)) >= 2 * len(grids)
        self.first, self.count, self.W0 = n.first, n.count, points.numbers.net.W0
        self.home = np.zeros(len(n.change))
        self.home[n.first[grids]] = np.clip(0.0, hull.lo[grids], hull.hi[grids])
        for j, item in reversed(levels):  # the start, or else the first that is left
            axis, first = axes[j], int(n.first[j])
            if item == first + axis.start or not hull.on[first + axis.start]:
                self.home[first : first + int(n.count[j])] = 0.0
                self.home[item] = 1.0

    def inputs(self, x: Array, base: Array) -> Array:
        """The first layer's inputs (options, N) after one change of x (I,), whose own are base (N,)."""
        moves: Array = (self.values - x[self.items])[:, None] * self.W0[self.items]
        if self.level.any():
            now = np.array([int(f + np.argmax(x[f : f + c])) for f, c in zip(self.first, self.count, strict=True)])
            left = self.W0[now[self.moved]] * (now[self.moved] != self.items)[:, None]
            moves = moves - np.where(self.level[:, None], left, 0.0)
        return base + moves

    def taken(self, x: Array, chosen: Array) -> Array:
        """A point after several changes, of different features."""
        y = x.copy()
        for k in chosen:
            if self.level[k]:
                first = self.first[self.moved[k]]
                y[first : first + self.count[self.moved[k]]] = 0.0
            y[self.items[k]] = self.values[k]
        return y


def climbed(points: Points, hull: Hull, deadline: Deadline) -> Array | None:
    """Items (I,) of a point in a box that seems to have the goal; None if no single change leads on to it in time."""
    options, net = Options(points, hull), points.numbers.net
    x = options.home
    margin = float(margins(points, x[None, :])[0])
    for _ in range(STEPS * len(hull.lo)):
        if margin >= SURE:
            return x
        if deadline.over:
            return None
        gains = after_inputs(points, options.inputs(x, x @ net.W0 + net.B[0])) - margin
        order = np.argsort(-gains, kind="stable")
        order = order[gains[order] > LEAST * -min(margin, -LEAST)]
        # The best change of each feature, the features that gain most first.
        chosen = order[np.sort(np.unique(options.moved[order], return_index=True)[1])]
        while len(chosen):
            y = options.taken(x, chosen)
            reached = float(margins(points, y[None, :])[0])
            if reached > margin:
                x, margin = y, reached
                break
            chosen = chosen[: len(chosen) // 2]
        else:
            return None
    return x if margin >= SURE else None
