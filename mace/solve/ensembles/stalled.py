"""What a plain search that was paused gets: nearer points to begin anew with, and the relaxation, which it helps.

In:  a `Plain` search that was paused.    Out: a reply, or None where the relaxation knows no more than the search did.
Nearer points come from repairs of the best one, shares of the relaxation, and boxes in which few axes move.
Promise: points and bounds found here are those of the plain search, and count only as they do there.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from mace.solve.ensembles.branching import Branching, Closing
from mace.solve.ensembles.cuts import Array
from mace.solve.ensembles.plain import Plain, Terms
from mace.solve.ensembles.repair import Repairs, box_without
from mace.solve.protocol import Gap, Reply

MOST_LEAVES = 20_000  # of a forest whose relaxation is solved: it takes too long with more
REPAIRS = 60_000  # for so many axes of trees, counted once a repair, nearer points are looked for at once
FEW_WALKS = 20_000  # through trees, in a box in which few axes may move
MOVING = 0.2  # so much of an axis's shares lies away from the start where the relaxation is followed
RARELY, OFTEN = 0.1, 2.0  # how likely an axis may move in a repair: so much, and so many times its share
GROWTH = 22.0  # by 2 to so many times the part of the bound that is left, the walks of a plain search still grow


class Stalled:
    """A plain search that was paused, and the relaxation that may go on from it.

    branching: with the relaxation of all allowed points, solved for points nearer than `solved`.
    """

    def __init__(self, plain: Plain) -> None:
        self.plain, self.boxes = plain, Boxes(plain)
        self.branching: Branching | None = None
        self.solved = plain.limit

    def nearer(self) -> None:
        """Look for nearer points; the plain search begins anew below the nearest one, if there is any."""
        before, axes = self.plain.limit, len(self.plain.grounded.ground.grid)
        self._repair()
        self.boxes.around(np.zeros(axes, bool), FEW_WALKS)
        moving = self._solve().moving()
        self.boxes.around(moving >= MOVING, 2 * FEW_WALKS)
        self._repair(np.minimum(1.0, RARELY + OFTEN * moving))
        self.boxes.around(np.zeros(axes, bool), FEW_WALKS)
        if self.plain.limit < before:
            self.plain.begin_anew()

    def _repair(self, moving: Array | None = None) -> None:
        ground, forest = self.plain.grounded.ground, self.plain.grounded.forest
        for _ in range(max(1, REPAIRS // (len(forest.roots) * len(ground.grid)))):
            self.boxes.repair(moving)

    def _solve(self) -> Branching:
        """The relaxation of all allowed points, solved, or solved again where a nearer point is known since."""
        plain = self.plain
        if self.branching is None:
            self.branching = Branching(plain.grounded, plain.forest, self.boxes)
            self.solved = plain.limit
            self.branching.start(math.floor(plain.lower() * plain.grounded.scale))
        elif plain.limit < self.solved:
            self.solved = plain.limit
            self.branching.improve()
        return self.branching

    @property
    def closed(self) -> bool:
        """Whether the relaxation proves that the best point is the nearest one."""
        return self.branching is not None and self.branching.key >= self.plain.limit

    def patience(self, most: int) -> int:
        """How many walks through trees the plain search has before the relaxation goes on, by what it may still need.

        most: of a search that is worth its end; after more its proof is long, too.
        """
        plain = self.plain
        walks = int(plain.book.count[plain.kernel.WORK])
        left = 1 - float(plain.lower() * plain.grounded.scale / max(plain.limit, 1))
        needed = walks * 2 ** (GROWTH * left)
        return int(2 * needed) if needed <= most else walks

    def relaxed(self) -> Reply | None:
        """Go on by the relaxation; None where that knows no more than the plain search."""
        plain, branching = self.plain, self._solve()
        if not self.knows_more:
            return None
        finished = branching.run()
        plain.why = (
            "" if finished else branching.why or plain.why or (plain.deadline.why if plain.deadline.over else "")
        )
        plain.relaxations = branching.nodes
        return self.said(finished)

    @property
    def knows_more(self) -> bool:
        """Whether the relaxation has proved more than the plain search."""
        plain = self.plain
        return self.branching is not None and self.branching.key > math.floor(plain.lower() * plain.grounded.scale)

    def said(self, finished: bool = False) -> Reply:
        """The reply by what the relaxation has proved."""
        plain, branching = self.plain, self.branching
        assert branching is not None
        lower = None if finished else Fraction(branching.key, plain.grounded.scale)
        return plain.said(branching.doubtful, lower, branching.proof())


def relaxable(plain: Plain) -> bool:
    """Whether the relaxation may know more than the plain search."""
    axes = plain.grounded.ground
    if plain.deadline.over or not plain.bound.distance or not (axes.part.any() or axes.level_part.any()):
        return False  # without a radius there is nothing to spend; the largest change alone is no sum
    return plain.leaves <= MOST_LEAVES


class Boxes:
    """The host of a `Branching`: boxes and points as the plain search sees them."""

    def __init__(self, plain: Plain) -> None:
        self.plain, self.deadline, self.room = plain, plain.deadline, plain.room
        self.repairs: Repairs | None = None

    @property
    def limit(self) -> int:
        """The scaled distance from which on nothing is of interest."""
        return self.plain.limit

    def near_enough(self, key: int) -> bool:
        """Whether a lower bound meets the gap."""
        return key >= self.plain.enough(self.limit)

    def tell(self, key: int) -> None:
        """Say how far the search is."""
        plain, lower = self.plain, Fraction(min(key, self.limit), self.plain.grounded.scale)
        plain.witnesses.tell(lambda: (lower, None if plain.point is None else plain.bound.distance))

    def key_of(self, low: Array, high: Array) -> int:
        """The scaled distance of a box."""
        plain = self.plain
        plain.box.low[:], plain.box.high[:] = low, high
        plain.walk.measure(plain.grounded.ground, plain.box)
        return int(plain.box.total.sum())

    def offer(self, cells: Array) -> None:
        """Look for a nearer point with the goal around these cells."""
        self.plain.offer(cells)

    def repair(self, moving: Array | None = None) -> None:
        """Look for a nearer point with the goal around the best one known.

        moving: how likely each axis may move, where half of all repairs are to be led by that.
        """
        plain = self.plain
        if plain.point is None:
            return
        known = plain.grounded.cells(plain.point)
        if self.repairs is None:
            most = -1 if plain.question.most_changes is None else plain.question.most_changes
            self.repairs = Repairs(plain.grounded, most, known, np.random.default_rng(0))
        self.repairs.take(known)
        cells = self.repairs.repaired(self.deadline, moving)
        if cells is not None:
            plain.take(cells)

    def around(self, free: Array, walks: int) -> None:
        """Look for a nearer point that changes no other axes than these and those that the best point changes."""
        plain, ground = self.plain, self.plain.grounded.ground
        if plain.point is None:
            return
        free = free | (plain.grounded.cells(plain.point) != ground.start)
        low, high = box_without(ground, np.flatnonzero(~free))
        self.attempt(low, high, walks)

    def attempt(self, low: Array, high: Array, walks: int | None) -> Closing:
        """Search a box by the plain search."""
        plain = self.plain
        grounded = plain.grounded.inside(low, high)
        terms = Terms(plain.bound, plain.point, Gap(), plain.deadline, plain.room)
        part = Plain(plain.witnesses, grounded, terms, plain.forest)
        part.tells = False  # its bounds are about the box
        finished = part.search(walks)
        plain.point, plain.bound = part.point, part.bound
        plain.work += part.book.count
        return Closing(part.proof(), part.doubtful()) if finished else Closing(None, None)
