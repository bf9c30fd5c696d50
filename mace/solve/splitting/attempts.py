"""Points that are climbed from: random ones, and ones around the best that were reached before.

In:  a `Chain`, a box, what is wanted of the outputs, and who confirms a point.
Out: `Attempts`: whether some point was confirmed. Same calls, same points.
How: climbing ends at points that fall short by a little more often than at one that does not; around the former the
latter are found sooner than anywhere. Source: Wales, Doye 1997 (basin hopping).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from mace.base.deadline import Deadline
from mace.solve.splitting.bounds import AT_ONCE
from mace.solve.splitting.chain import Chain, Interval
from mace.solve.splitting.climb import Wanted, best_points, climbed, scores
from mace.tables.table import Floats

STARTS, LEAST_STARTS = 256, 16  # points that are climbed from together; so few before a very large network
TURNS, STEPS = 3, 20  # of climbing, between which the deployed model is asked
CONFIRMED = 4  # points that it is asked about
KEPT = 32  # the best points so far
SMALLEST, LARGEST, MOVED = 1e-3, 0.3, 0.6  # moves as parts of the box, and what part of the inputs moves at all
Confirm = Callable[[Floats], bool]


class Attempts:
    """What was tried so far to find a point of a box, ends of shape (columns,), that has what is wanted."""

    def __init__(self, chain: Chain, box: Interval, wanted: Wanted, confirm: Confirm) -> None:
        self.chain = chain
        self.box = box
        self.wanted = wanted
        self.confirm = confirm
        self.starts = max(LEAST_STARTS, min(STARTS, AT_ONCE // (4 * chain.weights)))
        self._rng = np.random.default_rng(0)
        self._best = np.zeros((0, len(box.lower)))

    def anywhere(self, deadline: Deadline) -> bool:
        """From random points of the whole box, half of them its corners, and from its middle.

        Raises TimeOverError, as does `among`.
        """
        shares = self._rng.random((self.starts, len(self.box.lower)))
        shares[: self.starts // 2] = np.round(shares[: self.starts // 2])
        shares[0] = 0.5
        return self._tried(self.box.lower + shares * (self.box.upper - self.box.lower), deadline)

    def among(self, boxes: Iterable[Interval], deadline: Deadline) -> bool:
        """From random points of these boxes, (boxes, columns) each, and from as many around the best ones so far."""
        near = self._near(self.starts // 2)
        return self._tried(np.concatenate([near, self._inside(boxes, self.starts - len(near))]), deadline)

    def _near(self, count: int) -> Floats:
        """Points around the best ones; none while there are none."""
        if not len(self._best):
            return self._best
        width = self.box.upper - self.box.lower
        around = self._best[self._rng.integers(len(self._best), size=count)]
        size = SMALLEST * (LARGEST / SMALLEST) ** self._rng.random((count, 1))
        moves = self._rng.normal(size=around.shape) * size * (self._rng.random(around.shape) < MOVED)
        return np.clip(around + moves * width, self.box.lower, self.box.upper)

    def _inside(self, boxes: Iterable[Interval], count: int) -> Floats:
        """Points of boxes, of each as many as is its part of their volume."""
        ends = list(boxes)
        lower, upper = np.concatenate([one.lower for one in ends]), np.concatenate([one.upper for one in ends])
        width = self.box.upper - self.box.lower
        parts = np.divide(upper - lower, width, out=np.ones_like(lower), where=width > 0)
        volume = np.log2(np.maximum(parts, 2.0**-1000)).sum(axis=1)  # of many inputs no double would hold it
        volume = np.exp2(volume - volume.max())
        place = self._rng.choice(len(lower), count, p=volume / volume.sum())
        inside: Floats = lower[place] + self._rng.random((count, len(width))) * (upper - lower)[place]
        return inside

    def _tried(self, points: Floats, deadline: Deadline) -> bool:
        for _ in range(TURNS):
            deadline.look("points were tried")
            points = climbed(self.chain, points, self.box, self.wanted, STEPS, deadline)
            for place in best_points(scores(self.chain, points, self.wanted), CONFIRMED):
                if self.confirm(points[place]):
                    return True
        every = np.concatenate([self._best, points])
        self._best = every[best_points(scores(self.chain, every, self.wanted), KEPT)]
        return False


__all__ = ["CONFIRMED", "Attempts", "Confirm"]
