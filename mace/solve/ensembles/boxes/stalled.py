"""Continue a plain search that stalled by branch and bound on the relaxation, and serve it: search boxes, find points.

In:  a `Plain` search that was paused.    Out: a reply, or None where the relaxation's bound is not good enough.
Promise: points and bounds found here are those of the plain search, and count only as they do there.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from mace.base.deadline import Deadline, TimeOverError
from mace.problem.distance import Norm
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.terms import Terms
from mace.solve.ensembles.arrays.walk import measure
from mace.solve.ensembles.boxes.handover import Handover
from mace.solve.ensembles.boxes.plain import Plain
from mace.solve.ensembles.points.obeying import Dive, within
from mace.solve.ensembles.points.repair import Repairs
from mace.solve.ensembles.relaxation.branching import Branching
from mace.solve.ensembles.relaxation.priced import Closing
from mace.solve.protocol import Gap, Reply

NODES = 4  # of the relaxation in the first turn, where searches take turns; then twice as many each time
MOST_LEAVES = 200_000  # of a forest whose relaxation is solved: it takes too long with more
# Repairs (large neighbourhood search) before the relaxation is made, within a part of the time left: they end after
# `AT_FIRST` in vain, or after `IN_VAIN` in a row once one helped. On a point that was not optimal one of a dozen did.
AT_FIRST, IN_VAIN, AT_MOST = 15, 25, 0.1


def relaxed(plain: Plain, handover: Handover) -> Reply | None:
    """Go on by the relaxation; None where it promises too little."""
    branching = plain.branching or _begun(plain, handover)
    if branching is None:
        return None
    plain.branching, branching.why = branching, ""
    with branching.threads:
        finished = branching.run(None if plain.turn is None else NODES << plain.turn)
    plain.paused = branching.paused
    plain.why = "" if finished else branching.why or plain.why or (plain.deadline.why if plain.deadline.over else "")
    plain.relaxations = branching.nodes
    lower = None if finished else Fraction(branching.key, plain.grounded.scale)
    doubtful = branching.doubtful  # which a point that was found later may be nearer than
    if doubtful is not None and plain.bound.excludes(doubtful):
        doubtful = None
    return plain.at_least(plain.said(doubtful, lower, branching.proof()))


def _begun(plain: Plain, handover: Handover) -> Branching | None:
    """The relaxation of what the plain search leaves open; None where it promises too little."""
    if plain.deadline.over or not plain.bound.distance:
        return None  # without a radius there is nothing to spend
    distance = plain.question.distance
    if plain.leaves > MOST_LEAVES or isinstance(distance, Norm) and distance.beyond_floats:
        return None
    host = PlainHost(plain)
    host.improve()
    try:
        branching = Branching(plain.grounded, plain.nearer(), host)
    except TimeOverError:
        return None
    known = math.floor(plain.lower() * plain.grounded.scale)
    with branching.threads:
        return branching if handover.is_due(branching.start(known), known, host.limit) else None


class PlainHost:
    """The host of a `Branching`: boxes and points as the plain search sees them."""

    def __init__(self, plain: Plain) -> None:
        self.plain, self.room, self.jobs = plain, plain.room, plain.jobs
        self.repairs: Repairs | None = None
        self.why = ""

    @property
    def deadline(self) -> Deadline:
        """That of the plain search, which may be given more time."""
        return self.plain.deadline

    @property
    def limit(self) -> int:
        """The scaled distance from which on nothing is of interest."""
        return self.plain.limit

    def near_enough(self, key: int) -> bool:
        """Whether a lower bound meets the gap."""
        return key >= self.plain.enough(self.limit)

    def tell(self, key: int) -> None:
        """Say how far the search is, where its bounds are those of the question."""
        if not self.plain.tells:
            return
        plain, lower = self.plain, Fraction(min(key, self.limit), self.plain.grounded.scale)
        plain.witnesses.tell(lambda: (lower, None if plain.point is None else plain.bound.distance))

    def key_of(self, low: Array, high: Array) -> int:
        """The scaled distance of a box."""
        plain = self.plain
        plain.box.low[:], plain.box.high[:] = low, high
        measure(plain.grounded.ground, plain.box)
        return int(plain.box.total.sum())

    def offer(self, cells: Array, part: int) -> None:
        """Look for a nearer point with this part of the goal around these cells."""
        self.plain.offer(cells, part)

    def improve(self) -> None:
        """Repair the best point known until that hardly helps: what it leaves of the trees is all that is relaxed."""
        deadline, vain, most = self.deadline.share(AT_MOST), 0, AT_FIRST
        while self.plain.point is not None and vain < most and not deadline.over:
            before = self.limit
            self.repair()
            vain, most = (0, IN_VAIN) if self.limit < before else (vain + 1, most)

    def repair(self) -> None:
        """Look for a nearer point with the goal around the best one known."""
        plain = self.plain
        if plain.point is None:
            return
        known = plain.grounded.cells(plain.point)
        if not within(plain.grounded, known):
            return  # it lies in another region
        if self.repairs is None:
            most = -1 if plain.question.most_changes is None else plain.question.most_changes
            self.repairs = Repairs(plain.grounded, most, known, np.random.default_rng(0))
        self.repairs.take(known)
        cells = self.repairs.repaired(self.deadline)
        if cells is None:
            return
        if not plain.question.rules or plain.question.obeys(plain.grounded.point(cells)):
            plain.take(cells)
            return
        point = Dive(plain.question, plain.grounded, cells, self.deadline).run(self.repairs.rng)
        if point is not None:
            plain.take_point(point)

    def attempt(self, low: Array, high: Array, walks: int | None) -> Closing:
        """Search a box by the plain search."""
        plain = self.plain
        grounded = plain.grounded.inside(low, high)
        terms = Terms(plain.bound, plain.point, Gap(), plain.deadline, plain.room, plain.jobs)
        part = Plain(plain.witnesses, grounded, terms, plain.forest)
        part.tells = False  # its bounds are about the box
        finished = part.search(walks)
        plain.point, plain.bound = part.point, part.bound
        plain.work += part.book.count
        self.why = part.why
        return Closing(part.proof(), part.doubtful()) if finished else Closing(None, None)
