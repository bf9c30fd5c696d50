"""Where the relaxation's branch and bound splits a box: reliability branching, by trial ascents and pseudo-costs.

In:  a node with the shares of its relaxation.    Out: `Trials`: the cut whose two sides a short ascent raises most.
Promise: which cut is chosen does not depend on the number of threads, among which the trials of a node are divided.

Strong branching is done for cuts of axes about which little is known, and for those with the highest pseudo-costs: what
earlier cuts of their axes gained.
Source: Achterberg, Koch, Martin 2005, "Branching rules revisited".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mace.solve.ensembles.arrays.cells import Grounded
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.relaxation.ascent import Climbed
from mace.solve.ensembles.relaxation.frame import Active
from mace.solve.ensembles.relaxation.priced import Host, PricedNode
from mace.solve.ensembles.relaxation.relaxation import Effort, Pace, Relaxation
from mace.solve.ensembles.relaxation.undecided import most_undecided
from mace.solve.side_by_side import SideBySide

CANDIDATES = 6  # cuts of axes about which little is known that are tried in one node
RELIABLE = 2  # how often each side of an axis was split on, or tried, until its pseudo-cost is believed
PROMISED = 5  # cuts with the best believed pseudo-costs, which are tried too
TRIAL = Effort(rounds=40, step=0.2, pace=Pace(0.9, 3, 0.85))
LEAST_MOVED = 0.05  # shares are known about so well


class Candidate(NamedTuple):
    """A cut of an axis, or a level, and the share of the side below it, or of the level."""

    axis: int
    cut: int
    share: float

    @property
    def decided(self) -> bool:
        """Whether the relaxation has nearly all on one side."""
        return not LEAST_MOVED < self.share < 1 - LEAST_MOVED

    def moved(self, side: int) -> float:
        """How much of the shares must change for a side to have all."""
        return max(LEAST_MOVED, 1 - self.share if side == 0 else self.share)


class Trial(NamedTuple):
    """One side of a cut: what it leaves open, where the ascent ended (None: nothing is open), what that added."""

    active: Active
    climbed: Climbed | None
    gained: float


class Look(NamedTuple):
    """What was found of one node.

    limit:  the scaled distance from which on nothing is of interest. opened: what it leaves open of each part.
    place:  the part of the goal with the least bound, which is what trials are about.
    trials: of sides of cuts. Where there was no time for one it is absent.
    """

    limit: int
    opened: list[Active]
    place: int
    trials: dict[tuple[Candidate, int], Trial]

    def trial(self, cut: Candidate, side: int, place: int) -> Trial | None:
        """That of a side, if it was about this part of the goal."""
        return self.trials.get((cut, side)) if place == self.place else None


class Trials:
    """The cuts of one branch and bound."""

    def __init__(self, grounded: Grounded, relaxations: list[Relaxation], host: Host, threads: SideBySide) -> None:
        self.grounded, self.relaxations, self.host, self.threads = grounded, relaxations, host, threads
        # What sides of cuts added to bounds for each part of the shares that moved: the sum, and of how many.
        self.gains: dict[tuple[int, int], tuple[float, int]] = {}

    def choose(self, node: PricedNode) -> tuple[Look, Candidate | None]:
        """The cut whose two sides promise the best bounds, None if the relaxation is whole; and what was seen."""
        limit = self.host.limit
        pairs = zip(self.relaxations, node.parts, strict=True)
        opened = [one.open(node.low, node.high, limit, paid=part.climbed.prices) for one, part in pairs]
        look = Look(limit, opened, min(range(len(node.parts)), key=lambda p: node.parts[p].key), {})
        wanted = self._wanted(node, look.place)
        sides = [(one, side) for one in wanted for side in (0, 1)]
        tried = self.threads.each(self._trial, ((node, look, *pair) for pair in sides))
        for pair, trial in zip(sides, tried, strict=True):
            if trial is not None:
                look.trials[pair] = trial
                self.learn(*pair, trial.gained)

        def gained(*pair: *tuple[Candidate, int]) -> float:
            return look.trials[pair].gained if pair in look.trials else 0.0

        return look, max(wanted, key=lambda one: self._score(one, gained), default=None)

    def learn(self, cut: Candidate, side: int, gained: float) -> None:
        """Remember what a side of a cut added to the bound."""
        total, count = self.gains.get((cut.axis, side), (0.0, 0))
        self.gains[cut.axis, side] = (total + gained / cut.moved(side), count + 1)

    def half(self, node: PricedNode, cut: Candidate, side: int) -> tuple[Array, Array]:
        """The box of one side of a cut of an ordered axis, or of a level against all others."""
        low, high = node.low.copy(), node.high.copy()
        if not self.grounded.ground.grid[cut.axis]:
            low[cut.axis] &= 1 << cut.cut if side == 0 else ~(1 << cut.cut)
        elif side == 0:
            high[cut.axis] = cut.cut
        else:
            low[cut.axis] = cut.cut + 1
        return low, high

    # ------------------------------------------------------------------------------------------ one node

    def _wanted(self, node: PricedNode, place: int) -> list[Candidate]:
        """The cuts to be tried."""
        candidates = self._candidates(self.relaxations[place], node.parts[place].climbed.pieces, node)
        known = [one for one in candidates if self._believed(one)]
        promised = sorted(known, key=lambda one: self._score(one, self._expected), reverse=True)[:PROMISED]
        return [one for one in candidates if one not in known][:CANDIDATES] + promised

    def _believed(self, cut: Candidate) -> bool:
        """Whether enough is known of its axis."""
        return all(self.gains.get((cut.axis, side), (0.0, 0))[1] >= RELIABLE for side in (0, 1))

    def _expected(self, cut: Candidate, side: int) -> float:
        """What a side of a cut may add to the bound, by what cuts of this axis added before."""
        total, count = self.gains.get((cut.axis, side), (0.0, 0))
        return total / max(count, 1) * cut.moved(side)

    def _score(self, cut: Candidate, gained: Callable[[Candidate, int], float]) -> float:
        """How good a cut is by what its sides add."""
        least = 1e-6 * float(self.host.limit / self.grounded.scale)
        return max(gained(cut, 0), least) * max(gained(cut, 1), least)

    def _trial(self, node: PricedNode, look: Look, cut: Candidate, side: int) -> Trial | None:
        """What a few rounds add to the bound on one side of a cut; None where there is no time for them."""
        if self.host.deadline.over:
            return None
        relaxation, part = self.relaxations[look.place], node.parts[look.place]
        active = relaxation.open(*self.half(node, cut, side), look.limit, look.opened[look.place])
        most = relaxation.wanted(look.limit)
        climbed = None if active.empty else relaxation.climb(active, part.climbed, TRIAL, look.limit)
        value = most if climbed is None else min(climbed.value, most)
        return Trial(active, climbed, max(0.0, value - part.climbed.value) * math.ldexp(1.0, -relaxation.bits))

    def _candidates(self, relaxation: Relaxation, pieces: Array, node: PricedNode) -> list[Candidate]:
        """Of every axis the cut, or level, that is most undecided, the most undecided first."""
        items, shares = most_undecided(relaxation.framed, pieces, node.low, node.high)
        axes = np.flatnonzero(items >= 0).tolist()
        found = [Candidate(j, int(items[j]), float(shares[j])) for j in axes]
        return sorted(found, key=lambda one: (abs(one.share - 0.5), one.axis))
