"""Branch and bound on the linear relaxation of trees, for questions on which the plain search stalls.

In:  the arrays of a question, a forest cut down to the ball of the best point known, and a `Host`: the plain search.
Out: `Branching`: whether every box was closed, a lower bound, and the proof of it.
Promise: a node is closed by prices only where their exact bound says so; open nodes carry the prices of their bound, so
that the bound stands with its proof whenever the search ends. A child's bound is never below its parent's.

The nodes are boxes of cells, taken by their bounds. A child's prices are its parent's, made better for its own box by
a few rounds of dual ascent over the leaves that it reaches nearer than the best point. The plain search, which closes
small boxes faster, has a try at each; where it fails the box is split at a cut that the relaxation leaves open: of the
cuts that promise most, by what cuts of their axes gained before, the one whose sides a short ascent lifts most. The
shares of the relaxation, rounded, are where points with the goal are looked for, and in a long search then the
neighbourhood of the best one: the nearer it is, the fewer leaves and boxes are left.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from typing import NamedTuple, Protocol

import numpy as np

from mace.base.deadline import Deadline
from mace.problem.proof import Leaf, Priced, Prices, Proof, Split, preorder
from mace.solve.ensembles.ascent import Active, Climbed, ascend
from mace.solve.ensembles.cells import Forest, Grounded
from mace.solve.ensembles.cuts import Array
from mace.solve.ensembles.relaxation import DIGITS, Exact, Relaxation
from mace.solve.side_by_side import SideBySide

CLOSED = 2**62  # the key of a box without a point that has the goal
# How a cut is chosen: Achterberg, Koch, Martin 2005, "Branching rules revisited".
CANDIDATES = 6  # cuts of axes about which little is known that are tried in one node
RELIABLE = 2  # how often an axis was split, or tried, until what that gained is believed
PROMISED = 5  # cuts that promise most, by what is believed, that are tried too
TRIAL, ROUNDS, FIRST_ROUNDS = 40, 300, 2000  # of dual ascent: in such a trial, a node, the box of all allowed points
GLANCE, PROMISING = 200, 0.9  # rounds, after which it must prove such a part of what is known already to go on
STEP, FIRST_STEP = 0.3, 1.0  # how long its first steps are
WALKS = 20_000  # walks through trees that the plain search may take in one node
CAUTION = 0.2  # of what is left of a bound must be closed by others before the plain search tries again
WAITED = 5  # or so many splits
OFFERS = 60  # nodes near whose shares points with the goal are looked for; in later ones around the best point
QUANTILES = (0.5, 0.2, 0.8)  # of the shares of pieces: where they are looked for
# Digits of prices, and the part of the limit below which they are dropped: more is written only where less does not
# prove enough.
ROUNDED = (
    (8, 3e-3), (9, 2e-3), (10, 2e-3), (10, 5e-4), (11, 1e-3), (11, 5e-4), (12, 5e-4), (13, 3e-4), (14, 2e-4),
    (18, 2e-5), (26, 0.0), (36, 0.0),
)  # fmt: skip
FINEST = ROUNDED[-2:]  # of boxes that stay open
# An ascent aims at so many times the limit, and ends there: in the box of all allowed points, and in other boxes. What
# is too much is spent on rounding.
FIRST_AIM, AIM = 1.01, 1.08
LEAST_MOVED = 0.05  # shares are known about so well


class Closing(NamedTuple):
    """What the plain search made of a box: a proof if it closed it."""

    proof: Proof | None
    doubtful: Fraction | None


class Host(Protocol):
    """The search that stalled."""

    deadline: Deadline
    room: int  # bytes
    jobs: int  # threads

    @property
    def limit(self) -> int:
        """The scaled distance from which on nothing is of interest; it falls with every better point."""
        ...

    def near_enough(self, key: int) -> bool:
        """Whether a lower bound meets the gap."""
        ...

    def offer(self, cells: Array) -> None:
        """Look for a point with the goal near these cells."""
        ...

    def repair(self) -> None:
        """Look for a nearer point with the goal around the best one known."""
        ...

    def attempt(self, low: Array, high: Array, walks: int | None) -> Closing:
        """Search a box with so many walks through trees (None: until the deadline)."""
        ...

    def tell(self, key: int) -> None:
        """Say that nothing of interest has a smaller scaled distance."""
        ...

    def key_of(self, low: Array, high: Array) -> int:
        """The scaled distance of a box."""
        ...


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


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the goal in one node: the key that its multipliers prove, and where the ascent ended."""

    key: int
    exact: Exact
    climbed: Climbed


NO_CLIMB = Climbed(0.0, *(np.zeros(0),) * 4)


@dataclass(slots=True)
class Node:
    """A box of cells; `near` is its own scaled distance, `split` and `children` are there once it is split.

    parent: the box that was split, None of the root.
    waited: how many splits lie between it and the last try of the plain search.
    """

    low: Array
    high: Array
    near: int
    parts: tuple[Part, ...]
    parent: Node | None = None
    split: Split | None = None
    children: tuple[Node, ...] = ()
    proof: Proof | None = None
    waited: int = 0

    def forget(self) -> None:
        """Keep of a closed box what its proof needs."""
        self.parts = tuple(Part(part.key, part.exact, NO_CLIMB) for part in self.parts)

    @property
    def key(self) -> int:
        """No point of the box with the goal has a smaller scaled distance."""
        return max(self.near, min(part.key for part in self.parts))


class Way:
    """What the boxes on the way from the root to a node leave open; what two ways share is looked at once."""

    def __init__(self, relaxations: list[Relaxation], limit: int) -> None:
        self.relaxations, self.limit = relaxations, limit
        self.steps: list[tuple[Node, list[Active]]] = []  # of the last way

    def to(self, node: Node) -> list[Active]:
        """What a node leaves open of each part of the goal, below the limit."""
        nodes = [node]
        while (parent := nodes[-1].parent) is not None:
            nodes.append(parent)
        nodes.reverse()
        shared = sum(1 for one, (other, _) in zip(nodes, self.steps, strict=False) if one is other)
        del self.steps[shared:]
        for one in nodes[shared:]:
            known = self.steps[-1][1] if self.steps else [relaxation.whole for relaxation in self.relaxations]
            pairs = zip(self.relaxations, known, strict=True)
            self.steps.append((one, [r.open(one.low, one.high, self.limit, above) for r, above in pairs]))
        return self.steps[-1][1]


class Branching:
    """One search, from the box of all allowed points."""

    def __init__(self, grounded: Grounded, forest: Forest, host: Host) -> None:
        self.grounded, self.host = grounded, host
        self.size = Fraction(host.limit, grounded.scale)
        parts = range(len(grounded.aim.begin) - 1)
        self.relaxations = [Relaxation(grounded, forest, part, self.size) for part in parts]
        self.doubtful: Fraction | None = None
        self.root: Node | None = None
        self.heap: list[tuple[int, int, Node]] = []
        self.nodes, self.why = 0, ""
        self.bytes = 24 * sum(len(relaxation.sides.tree) + 200 for relaxation in self.relaxations)  # a node
        self.promising = 0.0  # the part of the limit that bounds of nodes must have for the plain search to try them
        # What sides of cuts added to bounds for each part of the shares that moved: the sum, and of how many.
        self.gains: dict[tuple[int, int], tuple[float, int]] = {}
        self.threads = SideBySide(host.jobs)
        # Of the node at hand: what sides of cuts that were tried leave open of a part, and where the trial ended.
        self._tried: dict[tuple[Candidate, int, int], tuple[Active, Climbed | None]] = {}

    # ------------------------------------------------------------------------------------------ bounds

    def start(self, known: int = 0) -> int:
        """Solve the relaxation of all allowed points, or look at it, where that promises less than is known already.

        known: a key that is proved. Returns the key that the relaxation proves.
        """
        ground, axes = self.grounded.ground, len(self.grounded.ground.grid)
        low, high = ground.low.astype(np.int64), ground.high.astype(np.int64)
        parts = []
        for relaxation in self.relaxations:
            rows = len(relaxation.sides.tree)
            zero = Climbed(0.0, np.zeros(rows), np.zeros(len(relaxation.compares)), np.zeros(axes), np.zeros(0))
            parts.append(Part(0, relaxation.nothing(), zero))
        for rounds in (GLANCE, FIRST_ROUNDS):
            opened = self._opened(low, high)
            parts = self.threads.each(self._part, zip(self.relaxations, parts, opened, repeat(rounds), strict=False))
            self.root = Node(low, high, self.host.key_of(low, high), tuple(parts))
            if self.root.key < PROMISING * known:
                return self.root.key
        assert self.root is not None
        self._push(self.root)
        self._round(self.root)
        return self.root.key

    def _opened(self, low: Array, high: Array) -> list[Active]:
        """What a box leaves open of each part of the goal."""
        return [relaxation.open(low, high, self.host.limit) for relaxation in self.relaxations]

    def _part(
        self, relaxation: Relaxation, parent: Part, active: Active, rounds: int, start: Climbed | None = None
    ) -> Part:
        """Better prices than its parent's, or than those to start from, for what a box leaves open, and what they
        prove.
        """
        if active.empty:
            return Part(CLOSED, parent.exact, parent.climbed)
        climbed = self._climb(relaxation, active, start or parent.climbed, rounds)
        best: Part | None = None
        for digits, smallest in ROUNDED if climbed.value >= self._units(relaxation) else FINEST:
            exact = relaxation.exact(climbed, digits, smallest)
            key = relaxation.key(relaxation.bound(exact, active), self.grounded.width == 0)
            if best is None or key > best.key:
                best = Part(key, exact, climbed)
            if key >= self.host.limit:
                break
        assert best is not None
        return best if best.key >= parent.key else Part(parent.key, parent.exact, climbed)

    def _climb(self, relaxation: Relaxation, active: Active, start: Climbed, rounds: int) -> Climbed:
        """Some rounds of dual ascent from given multipliers."""
        first = rounds in (GLANCE, FIRST_ROUNDS)
        target = self._units(relaxation) * (FIRST_AIM if first else AIM)
        return ascend(
            relaxation.framed, active, start.prices, start.goal, start.shares, float(1 << DIGITS), target, rounds,
            relaxation.largest, FIRST_STEP if first else STEP,
        )  # fmt: skip

    def _units(self, relaxation: Relaxation) -> float:
        """The limit in the units of a relaxation."""
        return math.ldexp(self.host.limit / self.grounded.scale, relaxation.bits)

    def _side(self, node: Node, opened: list[Active], cut: Candidate, side: int, place: int, near: int) -> Part:
        """One part of the goal on one side of a cut, with prices of its own.

        opened: what the node leaves open of each part of the goal. near: the distance of the side itself.
        """
        relaxation, part = self.relaxations[place], node.parts[place]
        # A box has its parent's bound too, which is all that there is time for once the deadline is over.
        if max(part.key, near) >= self.host.limit or self.host.deadline.over:
            return part
        active, start = self._tried.get((cut, side, place), (None, None))
        if active is None:
            active = relaxation.open(*self._half(node, cut.axis, cut.cut, side), self.host.limit, opened[place])
        return self._part(relaxation, part, active, ROUNDS, start)

    # ------------------------------------------------------------------------------------------ the loop

    def run(self) -> bool:
        """Whether every box was closed; else the deadline is over, or the gap was met."""
        # Invariant: every point of interest lies in a box of the heap, or in one whose doubtful points are noted.
        while self.heap:
            key, _, node = self.heap[0]
            if key >= self.host.limit:
                return True
            self.host.tell(key)
            if self.host.deadline.over or self.host.near_enough(key):
                return False
            if self.nodes * self.bytes > self.host.room:
                self.why = f"memory limit, reached at {self.nodes} nodes"
                return False
            heapq.heappop(self.heap)
            if self.nodes >= OFFERS:
                self.host.repair()
            closing = self._attempt(node)
            opened = [] if closing.proof is not None else self._opened(node.low, node.high)
            cut = None if closing.proof is not None else self._choose(node, opened)
            if closing.proof is None and self.host.deadline.over:
                heapq.heappush(self.heap, (node.key, -self.nodes, node))
                return False
            if closing.proof is None and (cut is None or (cut.decided and node.waited)):
                closing = self.host.attempt(node.low, node.high, None if cut is None else WALKS)
            if closing.proof is not None:
                node.proof = closing.proof
                if closing.doubtful is not None:
                    self.doubtful = min(self.doubtful or closing.doubtful, closing.doubtful)
            elif cut is not None:
                self._divide(node, opened, cut)
            else:
                self._push(node)
        return True

    def _attempt(self, node: Node) -> Closing:
        """Let the plain search have a try, where boxes with such bounds were not too large for it lately."""
        done = node.key / self.host.limit
        if done < self.promising and node.waited < WAITED:
            return Closing(None, None)
        closing = self.host.attempt(node.low, node.high, WALKS)
        self.promising = done if closing.proof is not None else done + CAUTION * (1 - done)
        node.waited = 0
        return closing

    def _push(self, node: Node) -> None:
        heapq.heappush(self.heap, (node.key, -self.nodes, node))
        self.nodes += 1

    def _divide(self, node: Node, opened: list[Active], candidate: Candidate) -> None:
        ground, axis, cut = self.grounded.ground, candidate.axis, candidate.cut
        at = int(ground.at[ground.base[axis] + cut]) if ground.grid[axis] else 1 << cut
        node.split = Split(axis, at)
        halves = [self._half(node, axis, cut, side) for side in (0, 1)]
        near = [self.host.key_of(*half) for half in halves]
        places = range(len(node.parts))
        asked = [(node, opened, candidate, side, place, near[side]) for side in (0, 1) for place in places]
        parts = self.threads.each(self._side, asked)
        children = []
        for side, half in enumerate(halves):
            own = tuple(parts[side * len(places) : (side + 1) * len(places)])
            child = Node(*half, near[side], own, node, waited=node.waited + 1)
            children.append(child)
            gained = max(0, min(child.key, self.host.limit) - node.key) / self.grounded.scale
            self._learn(candidate, side, gained)
            if child.key < self.host.limit:
                self._push(child)
                if self.nodes < OFFERS and not self.host.deadline.over:
                    self._round(child)
            else:
                child.forget()
        node.children, node.parts = tuple(children), ()

    def _half(self, node: Node, axis: int, cut: int, side: int) -> tuple[Array, Array]:
        """One side of a cut of an ordered axis, or of a level against all others."""
        low, high = node.low.copy(), node.high.copy()
        if not self.grounded.ground.grid[axis]:
            low[axis] &= 1 << cut if side == 0 else ~(1 << cut)
        elif side == 0:
            high[axis] = cut
        else:
            low[axis] = cut + 1
        return low, high

    def _choose(self, node: Node, opened: list[Active]) -> Candidate | None:
        """The cut (axis, cut or level) whose two sides promise the best bounds; None if the relaxation is whole.

        opened: what the node leaves open of each part of the goal.
        """
        self._tried.clear()
        place = min(range(len(node.parts)), key=lambda p: node.parts[p].key)
        least = 1e-6 * float(self.host.limit) / self.grounded.scale

        def score(candidate: Candidate, gained: Callable[[Candidate, int], float]) -> float:
            return math.prod(max(gained(candidate, side), least) for side in (0, 1))

        def believed(candidate: Candidate) -> bool:
            return all(self.gains.get((candidate.axis, side), (0.0, 0))[1] >= RELIABLE for side in (0, 1))

        candidates = self._open(self.relaxations[place], node.parts[place].climbed.pieces, node)
        known = sorted(filter(believed, candidates), key=lambda one: score(one, self._expected), reverse=True)
        tried = [one for one in candidates if not believed(one)][:CANDIDATES] + known[:PROMISED]
        sides = [(one, side) for one in tried for side in (0, 1)]
        asked = [(node, place, opened[place], *pair) for pair in sides]
        gains = dict(zip(sides, self.threads.each(self._trial, asked), strict=True))
        for pair, gained in gains.items():
            if gained is not None:
                self._learn(*pair, gained)
        return max(tried, key=lambda one: score(one, lambda *pair: gains[pair] or 0.0), default=None)

    def _trial(self, node: Node, place: int, above: Active, candidate: Candidate, side: int) -> float | None:
        """What a few rounds add to the bound on one side of a cut; None where there is no time for them."""
        relaxation, part = self.relaxations[place], node.parts[place]
        if self.host.deadline.over:
            return None
        half = self._half(node, candidate.axis, candidate.cut, side)
        active = relaxation.open(*half, self.host.limit, above)
        unit, limit = math.ldexp(1.0, -relaxation.bits), float(self.host.limit) / self.grounded.scale
        climbed = None if active.empty else self._climb(relaxation, active, part.climbed, TRIAL)
        self._tried[candidate, side, place] = active, climbed
        value = limit if climbed is None else climbed.value * unit
        return max(0.0, min(value, limit) - part.climbed.value * unit)

    def _expected(self, candidate: Candidate, side: int) -> float:
        """What a side of a cut may add to the bound, by what cuts of this axis added before."""
        total, count = self.gains.get((candidate.axis, side), (0.0, 0))
        return total / max(count, 1) * candidate.moved(side)

    def _learn(self, candidate: Candidate, side: int, gained: float) -> None:
        total, count = self.gains.get((candidate.axis, side), (0.0, 0))
        self.gains[candidate.axis, side] = (total + gained / candidate.moved(side), count + 1)

    def _open(self, relaxation: Relaxation, pieces: Array, node: Node) -> list[Candidate]:
        """Of every axis the cut, or level, that is most undecided, the most undecided first."""
        found = []
        for columns, begin in zip(relaxation.columns, relaxation.framed.begin[:-1].tolist(), strict=True):
            j, items = columns.axis, columns.items
            if not len(items):
                continue
            here = pieces[begin : begin + len(items)]
            grid = bool(self.grounded.ground.grid[j])
            if grid:
                here = np.cumsum(here)
                divides = (items >= node.low[j]) & (items < node.high[j])
            else:
                divides = (node.low[j] >> items & 1 == 1) & (node.low[j] != 1 << items)
            if divides.any():
                # Of cuts on which nothing is open the one next to where the shares lie.
                nearest = -np.abs(np.arange(len(items)) + 0.5 - np.searchsorted(here, 0.5)) if grid else here
                undecided = np.where(divides, np.minimum(here, 1 - here) + 1e-6 * nearest, -1.0)
                k = int(np.argmax(undecided))
                found.append(Candidate(j, int(items[k]), float(here[k])))
        return sorted(found, key=lambda one: (abs(one.share - 0.5), one.axis))

    def _round(self, node: Node) -> None:
        """Offer the points that the shares are nearest to."""
        ground = self.grounded.ground
        for relaxation, part in zip(self.relaxations, node.parts, strict=True):
            if part.key >= self.host.limit:
                continue
            for quantile in QUANTILES:
                cells = ground.start.copy()
                for columns, begin in zip(relaxation.columns, relaxation.framed.begin[:-1].tolist(), strict=True):
                    j, items = columns.axis, columns.items
                    here = part.climbed.pieces[begin : begin + len(items)]
                    if ground.grid[j]:
                        k = int(np.searchsorted(np.cumsum(here), quantile))
                        first = max(int(items[k - 1]) + 1 if k else 0, int(node.low[j]))
                        last = min(int(items[k]) if k < len(items) else int(node.high[j]), int(node.high[j]))
                        cells[j] = min(max(int(ground.start[j]), first), max(first, last))
                    else:
                        cells[j] = items[int(np.argmax(here))]
                self.host.offer(cells)

    # ------------------------------------------------------------------------------------------ what was proved

    @property
    def key(self) -> int:
        """No point of interest in an open box has a smaller scaled distance."""
        return min((key for key, _, _ in self.heap), default=CLOSED)

    def proof(self) -> Proof:
        """The tree of all boxes, in preorder; open ones are closed by their prices, at the bound that is claimed."""
        assert self.root is not None
        claim = min(self.key, self.host.limit)

        def closing(node: Node) -> Leaf | Priced:
            if node.near >= min(part.key for part in node.parts):
                return Leaf("distance")
            triples = zip(self.relaxations, node.parts, way.to(node), strict=True)
            return Priced(tuple(self._written(*triple, claim) for triple in triples))

        way = Way(self.relaxations, claim)
        return preorder(self.root, closing)

    def _written(self, relaxation: Relaxation, part: Part, active: Active, claim: int) -> Prices:
        """The prices of a box, in no more digits than the claim needs: that of a search that was stopped needs few.

        active: what the box leaves open to points below the claim.
        """
        exact = part.exact
        known = NO_CLIMB._replace(prices=exact.prices * float(1 << exact.coarse), goal=exact.goal, shares=exact.shares)
        for digits, smallest in ROUNDED:
            if active.empty or DIGITS - digits <= exact.coarse:
                break
            fewer = relaxation.exact(known, digits, smallest)
            if relaxation.key(relaxation.bound(fewer, active), self.grounded.width == 0) >= claim:
                return relaxation.prices(fewer, active)
        return relaxation.prices(exact, active)
