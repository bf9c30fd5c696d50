"""Branch and bound on the linear relaxation of trees, for questions on which the plain search stalls.

In:  the arrays of a question, a forest cut down to the ball of the best point known, and a `Host`: the plain search.
Out: `Branching`: whether every box was closed, a lower bound, and the proof of it.
Promise: a node is closed by prices only where their exact bound says so; open nodes carry the prices of their bound, so
that the bound stands with its proof whenever the search ends. A child's bound is never below its parent's.

The nodes are boxes of cells, taken by their bounds. The plain search, which closes small boxes a thousand times faster,
has a try at each; where it fails the box is split at a cut that the relaxation leaves open. The shares of the
relaxation, rounded, are where points with the goal are looked for.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np

from mace.base.deadline import Deadline
from mace.problem.proof import Leaf, Priced, Proof, Split
from mace.solve.ensembles.cells import Forest, Grounded
from mace.solve.ensembles.cuts import Array
from mace.solve.ensembles.highs import Solved, Solver
from mace.solve.ensembles.relaxation import Exact, Relaxation

CLOSED = 2**62  # the key of a box without a point that has the goal
CANDIDATES = 6  # cuts of axes about which little is known that are tried in one node
RELIABLE = 3  # how often an axis was split, or tried, until no more trials are made
TRIAL = 60  # iterations of such a trial
WALKS = 60_000  # walks through trees that the plain search may take in one node
FIRST = 0.3  # of the time that is left may go to the relaxation of all allowed points
CAUTION = 0.2  # of what is left of a bound must be closed by others before the plain search tries again
QUANTILES = (0.5, 0.2, 0.8)  # of the shares of cells: where points with the goal are looked for
DIGITS = (18, 26, 36)  # of prices: more are written only where fewer do not prove enough
FRACTIONAL = 1e-6


class Closing(NamedTuple):
    """What the plain search made of a box: a proof if it closed it."""

    proof: Proof | None
    doubtful: Fraction | None


class Host(Protocol):
    """The search that stalled."""

    deadline: Deadline

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

    def attempt(self, low: Array, high: Array, walks: int | None) -> Closing:
        """Search a box with so many walks through trees (None: until the deadline)."""
        ...

    def key_of(self, low: Array, high: Array) -> int:
        """The scaled distance of a box."""
        ...


class Candidate(NamedTuple):
    """A cut of an axis, or a level, and the share of the side below it, or of the level."""

    axis: int
    cut: int
    share: float

    def moved(self, side: int) -> float:
        """How much of the shares must change for a side to have all."""
        return 1 - self.share if side == 0 else self.share


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the goal in one node: the key that its multipliers prove, and the relaxation's shares and basis."""

    key: int
    exact: Exact
    solved: Solved


@dataclass(slots=True)
class Node:
    """A box of cells; `near` is its own scaled distance, `split` and `children` are there once it is split."""

    low: Array
    high: Array
    near: int
    parts: tuple[Part, ...]
    split: Split | None = None
    children: tuple[Node, ...] = ()
    proof: Proof | None = None

    @property
    def key(self) -> int:
        """No point of the box with the goal has a smaller scaled distance."""
        return max(self.near, min(part.key for part in self.parts))


class Branching:
    """One search, from the box of all allowed points."""

    def __init__(self, grounded: Grounded, forest: Forest, host: Host) -> None:
        self.grounded, self.host = grounded, host
        self.size = Fraction(host.limit, grounded.scale)
        parts = range(len(grounded.aim.begin) - 1)
        self.relaxations = [Relaxation(grounded, forest, part) for part in parts]
        self.solvers = [Solver(relaxation, float(self.size)) for relaxation in self.relaxations]
        self.doubtful: Fraction | None = None
        self.root: Node | None = None
        self.heap: list[tuple[int, int, Node]] = []
        self.nodes = 0
        self.promising = 0.0  # the part of the limit that bounds of nodes must have for the plain search to try them
        # What sides of cuts added to bounds for each part of the shares that moved: the sum, and of how many.
        self.gains: dict[tuple[int, int], tuple[float, int]] = {}

    # ------------------------------------------------------------------------------------------ bounds

    def start(self) -> int | None:
        """Solve the relaxation of all allowed points; the key that it proves, or None if there was no time for it."""
        ground, parts = self.grounded.ground, []
        for relaxation, solver in zip(self.relaxations, self.solvers, strict=True):
            # The plain search goes on if this takes too long.
            solved = solver.solve(ground.low, ground.high, self.host.deadline.share(FIRST))
            if solved is None:
                return None
            parts.append(self._part(relaxation, solved, ground.low, ground.high))
        self.root = Node(ground.low, ground.high, self.host.key_of(ground.low, ground.high), tuple(parts))
        self._push(self.root)
        self._round(self.root)
        return self.root.key

    def _part(self, relaxation: Relaxation, solved: Solved, low: Array, high: Array) -> Part:
        best: Part | None = None
        for digits in DIGITS:
            exact = relaxation.exact(solved.duals, self.size, digits)
            key = self._key(relaxation.bound(exact, low, high))
            if best is None or key > best.key:
                best = Part(key, exact, solved)
            if key >= self.host.limit or solved.value * self.grounded.scale < 0.9999 * self.host.limit:
                break
        assert best is not None
        return best

    def _key(self, bound: Fraction | None) -> int:
        """The scaled distance that a bound proves: where every distance is whole, up to the next one."""
        if bound is None:
            return CLOSED
        scaled = bound * self.grounded.scale
        return max(0, min(CLOSED, math.floor(scaled) if self.grounded.width else math.ceil(scaled)))

    def _child(self, parent: Node, low: Array, high: Array) -> Node:
        near, limit = self.host.key_of(low, high), self.host.limit
        parts = []
        stop = float(limit) / self.grounded.scale * (1 + 1e-6)
        for relaxation, solver, part in zip(self.relaxations, self.solvers, parent.parts, strict=True):
            key = max(part.key, self._key(relaxation.bound(part.exact, low, high)))
            kept = Part(key, part.exact, part.solved)
            if max(key, near) < limit:
                solved = solver.solve(low, high, self.host.deadline, stop=stop, basis=part.solved.basis)
                if solved is not None:
                    found = self._part(relaxation, solved, low, high)
                    kept = found if found.key >= key else Part(key, part.exact, solved)
            parts.append(kept)
        return Node(low, high, near, tuple(parts))

    # ------------------------------------------------------------------------------------------ the loop

    def run(self) -> bool:
        """Whether every box was closed; else the deadline is over, or the gap was met."""
        # Invariant: every point of interest lies in a box of the heap, or in one whose doubtful points are noted.
        while self.heap:
            key, _, node = self.heap[0]
            if key >= self.host.limit:
                return True
            if self.host.deadline.over or self.host.near_enough(key):
                return False
            heapq.heappop(self.heap)
            closing = self._attempt(node)
            if closing.proof is None:
                cut = self._choose(node)
                if cut is not None:
                    self._divide(node, cut)
                    continue
                closing = self.host.attempt(node.low, node.high, None)
            if closing.proof is None:
                self._push(node)
                continue
            node.proof = closing.proof
            if closing.doubtful is not None:
                self.doubtful = min(self.doubtful or closing.doubtful, closing.doubtful)
        return True

    def _attempt(self, node: Node) -> Closing:
        """Let the plain search have a try, where boxes with such bounds were not too large for it lately."""
        done = node.key / self.host.limit
        if done < self.promising:
            return Closing(None, None)
        closing = self.host.attempt(node.low, node.high, WALKS)
        self.promising = done if closing.proof is not None else done + CAUTION * (1 - done)
        return closing

    def _push(self, node: Node) -> None:
        heapq.heappush(self.heap, (node.key, -self.nodes, node))
        self.nodes += 1

    def _divide(self, node: Node, candidate: Candidate) -> None:
        ground, axis, cut = self.grounded.ground, candidate.axis, candidate.cut
        at = int(ground.at[ground.base[axis] + cut]) if ground.grid[axis] else 1 << cut
        node.split = Split(axis, at)
        children = []
        for side in (0, 1):
            child = self._child(node, *self._half(node, axis, cut, side))
            children.append(child)
            gained = max(0, min(child.key, self.host.limit) - node.key) / self.grounded.scale
            self._learn(candidate, side, gained)
            if child.key < self.host.limit:
                self._push(child)
                self._round(child)
        node.children = tuple(children)

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

    def _choose(self, node: Node) -> Candidate | None:
        """The cut (axis, cut or level) whose two sides promise the best bounds; None if the relaxation is whole."""
        place = min(range(len(node.parts)), key=lambda p: node.parts[p].key)
        part, tried = node.parts[place], 0
        least = 1e-6 * float(self.host.limit) / self.grounded.scale
        best, chosen = -1.0, None
        for candidate in self._open(self.relaxations[place], part.solved.shares, node):
            known = all(self.gains.get((candidate.axis, side), (0.0, 0))[1] >= RELIABLE for side in (0, 1))
            if not known and tried < CANDIDATES:
                tried += 1
                score = math.prod(max(self._trial(node, place, candidate, side), least) for side in (0, 1))
            else:
                score = math.prod(max(self._expected(candidate, side), least) for side in (0, 1))
            if score > best:
                best, chosen = score, candidate
        return chosen

    def _trial(self, node: Node, place: int, candidate: Candidate, side: int) -> float:
        """What a few iterations add to the bound on one side of a cut."""
        part, limit = node.parts[place], float(self.host.limit) / self.grounded.scale
        low, high = self._half(node, candidate.axis, candidate.cut, side)
        basis = part.solved.basis
        solved = self.solvers[place].solve(low, high, self.host.deadline, stop=limit, basis=basis, most=TRIAL)
        gained = 0.0 if solved is None else max(0.0, min(solved.value, limit) - part.solved.value)
        self._learn(candidate, side, gained)
        return gained

    def _expected(self, candidate: Candidate, side: int) -> float:
        """What a side of a cut may add to the bound, by what cuts of this axis added before."""
        total, count = self.gains.get((candidate.axis, side), (0.0, 0))
        return total / max(count, 1) * candidate.moved(side)

    def _learn(self, candidate: Candidate, side: int, gained: float) -> None:
        total, count = self.gains.get((candidate.axis, side), (0.0, 0))
        self.gains[candidate.axis, side] = (total + gained / candidate.moved(side), count + 1)

    def _open(self, relaxation: Relaxation, shares: Array, node: Node) -> list[Candidate]:
        """Of every axis the cut, or level, that is most undecided, the most undecided first."""
        found = []
        for columns in relaxation.columns:
            begin = columns.first - relaxation.columns[0].first
            here = shares[begin : begin + len(columns.items)]
            undecided = np.minimum(here, 1 - here)
            j = columns.axis
            if self.grounded.ground.grid[j]:
                undecided = np.where((columns.items >= node.low[j]) & (columns.items < node.high[j]), undecided, 0.0)
            if len(here) and undecided.max() > FRACTIONAL:
                k = int(np.argmax(undecided))
                found.append(Candidate(j, int(columns.items[k]), float(here[k])))
        return sorted(found, key=lambda one: (abs(one.share - 0.5), one.axis))

    def _round(self, node: Node) -> None:
        """Offer the points that the shares are nearest to."""
        ground = self.grounded.ground
        for relaxation, part in zip(self.relaxations, node.parts, strict=True):
            if part.key >= self.host.limit:
                continue
            for quantile in QUANTILES:
                cells = ground.start.copy()
                for columns in relaxation.columns:
                    begin, j, items = columns.first - relaxation.columns[0].first, columns.axis, columns.items
                    here = part.solved.shares[begin : begin + len(items)]
                    if ground.grid[j]:
                        k = int(np.searchsorted(here, quantile))
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
        proof: Proof = []
        todo = [self.root]
        while todo:
            node = todo.pop()
            if node.split is not None:
                proof.append(node.split)
                todo += reversed(node.children)
            elif node.proof is not None:
                proof += node.proof
            elif node.near >= min(part.key for part in node.parts):
                proof.append(Leaf("distance"))
            else:
                pairs = zip(self.relaxations, node.parts, strict=True)
                proof.append(Priced(tuple(r.prices(part.exact, node.low, node.high) for r, part in pairs)))
        return proof
