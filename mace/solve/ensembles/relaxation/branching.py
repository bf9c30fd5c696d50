"""Branch and bound on the linear relaxation of trees, for questions on which the plain search stalls.

In:  the arrays of a question, a forest cut down to the ball of the best point known, and a `Host`: the plain search.
Out: `Branching`: whether every box was closed, a lower bound, and the proof of it.
Promise: a node is closed by its prices (dual multipliers) only where their exact bound says so; an open node keeps the
prices of its bound, so that the bound has its proof whenever the search ends. A child's bound is never below its
parent's.

Nodes are boxes of cells, best bound first. A child starts from its parent's prices and improves them for its own box by
a few rounds of dual ascent over the leaves that it reaches nearer than the incumbent. The plain search closes small
boxes faster and gets a try first; where it fails, the box is split at a cut that the relaxation leaves fractional
(`mace.solve.ensembles.relaxation.trials`). Points with the goal are looked for by rounding the solution of the
relaxation, and in a long search then around the incumbent: the nearer that is, the fewer leaves and boxes are left.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import repeat
from typing import NamedTuple

import numpy as np

from mace.problem.proof import Leaf, Narrow, Priced, Prices, Proof, ProofNode, Split, preorder
from mace.solve.ensembles.arrays.cells import Forest, Grounded
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.terms import nearest_of
from mace.solve.ensembles.points.balls import sums_nothing
from mace.solve.ensembles.relaxation.ascent import Climbed
from mace.solve.ensembles.relaxation.enclosing import Shell, around, inside, shells_of
from mace.solve.ensembles.relaxation.frame import Active
from mace.solve.ensembles.relaxation.priced import Closing, Host, Narrowing, Part, PricedNode, Way
from mace.solve.ensembles.relaxation.relaxation import Effort, Exact, Pace, Relaxation
from mace.solve.ensembles.relaxation.tightening import Tightening
from mace.solve.ensembles.relaxation.trials import Candidate, Look, Trials
from mace.solve.side_by_side import SideBySide

CLOSED = 2**62  # the key of a box without a point that has the goal
# The paces of these, and of trials, gained most in as many rounds, on ascents that were recorded from hard searches.
GLANCE = Effort(rounds=200, aim=1.01, step=0.5, pace=Pace(0.9, 6, 0.85))  # at the box of all allowed points
PROMISING = 0.75  # the part of what is known already that a glance must prove to go on
FIRST = GLANCE._replace(rounds=2000)  # then
EACH = Effort(rounds=150, pace=Pace(0.9, 4, 0.9))  # in every other box
WALKS = 10_000  # walks through trees that the plain search may take in one node
CAUTION = 0.2  # after a failed try: of what the bound left open, to be closed before the plain search tries again
WAITED = 5  # or so many splits since its last try
OFFERS = 60  # nodes near whose shares points with the goal are looked for; in later ones around the best point
REPAIRS, IN_VAIN, SELDOM = 2, 60, 4  # of the best point, a node; after so many that found none, in one node of four
QUANTILES = (0.5, 0.2, 0.8)  # of the shares of pieces: where they are looked for
# Digits of prices, and the part of the limit below which they are dropped. The search takes the finest; of what
# is written, more only where less does not prove enough.
ROUNDED = (
    (8, 3e-3), (9, 2e-3), (10, 2e-3), (10, 5e-4), (11, 1e-3), (11, 5e-4), (12, 5e-4), (13, 3e-4), (14, 2e-4),
    (18, 2e-5), (26, 0.0), (36, 0.0),
)  # fmt: skip
FINEST = ROUNDED[-2:]
# Where only the largest change counts: bisections of the radius of a ball that prices close, and the part of the time
# left that they may take.
BALLS, AT_MOST = 6, 0.25
FREE = Effort(rounds=600, aim=1.0, step=0.5, pace=Pace(0.9, 6, 0.85))  # in each of them


class Ball(NamedTuple):
    """A ball that prices close: its radius, a scaled distance, what it leaves out, and its box with the prices."""

    radius: int
    shells: list[Shell]
    node: PricedNode


class Branching:
    """One search, from the box of all allowed points. Raises TimeOverError where that ends before it begins."""

    def __init__(self, grounded: Grounded, forest: Forest, host: Host) -> None:
        self.grounded, self.host = grounded, host
        self.size = Fraction(host.limit, grounded.scale)
        free = sums_nothing(grounded.ground)
        first = Relaxation(grounded, forest, 0, self.size, host.deadline, free=free)
        others = range(1, len(grounded.aim.begin) - 1)
        self.relaxations = [first, *(first.beside(grounded, forest, part) for part in others)]
        self.doubtful: Fraction | None = None
        self.root: PricedNode | None = None
        self.shells: list[Shell] = []  # what the first box leaves out, of what is too far
        self.ball: Ball | None = None
        self.heap: list[tuple[int, int, PricedNode]] = []
        self.nodes, self.why, self.paused, self.prepared = 0, "", False, False
        self.first: Effort | None = None  # what is still to be spent on the first box
        self.vain = 0  # repairs since the last that found a nearer point
        self.bytes = 32 * sum(len(relaxation.sides.tree) + 200 for relaxation in self.relaxations)  # a node
        self.promising = 0.0  # the part of the limit that bounds of nodes must have for the plain search to try them
        self.threads = SideBySide(host.jobs)
        self.trials = Trials(grounded, self.relaxations, host, self.threads)
        self.tightening = Tightening(grounded, self.relaxations, host, self._better)

    # ------------------------------------------------------------------------------------------ bounds

    def start(self, known: int = 0) -> int:
        """Solve the relaxation of all allowed points, or look at it, where that promises less than is known already.

        known: a key that is proved. Returns the key that the relaxation proves.
        """
        nothing = []
        for relaxation in self.relaxations:
            zero = relaxation.nothing()
            lengths = (len(column) for column in (zero.prices, zero.goal, zero.shares, zero.lines))
            nothing.append(Part(0, zero, Climbed(0.0, *map(np.zeros, (*lengths, 0, 0)))))
        left = self.host.deadline.left()
        if self.relaxations[0].free:
            self.root = root = self._by_balls(nothing, known)
            self._push(root)
            if not self.host.deadline.over:
                self._round(root)
            return root.key
        root = self._solved(nothing, GLANCE)
        self.first = FIRST._replace(rounds=self._first_rounds(left))
        if root.key >= PROMISING * known:
            root = self._solved_on(root)
        self.root = root
        self._push(root)
        if root.key >= PROMISING * known and not self.host.deadline.over:
            self._round(root)
        return root.key

    def _solved(
        self, parts: Iterable[Part], effort: Effort, shells: Sequence[Shell] = (), limit: int | None = None
    ) -> PricedNode:
        """The box of all allowed points, with better prices than the given ones.

        shells: without these; limit: for points nearer than this, in the place of the host's limit.
        """
        low, high = inside(self.grounded.ground, shells)
        opened = [one.open(low, high, self.host.limit if limit is None else limit) for one in self.relaxations]
        better = self._better(parts, opened, effort)
        return PricedNode(low, high, self.host.key_of(low, high), better)

    def _by_balls(self, nothing: Sequence[Part], known: int) -> PricedNode:
        """The box of the ball in which a nearer point must lie. If prices do not close it, those of the largest smaller
        ball that they do close bound it from below; known: a key that is proved."""
        ground, limit, left = self.grounded.ground, self.host.limit, self.host.deadline.left()
        self.shells = shells_of(ground, limit)
        root = self._solved(nothing, FREE, self.shells)
        low, high, parts = known, limit, root.parts
        for _ in range(self._balls(left) if root.key < limit else 0):
            middle = low + (high - low) // 2
            shells = shells_of(ground, middle)
            node = self._solved(parts, FREE, shells, middle)
            if node.key >= limit:
                low, self.ball = middle, Ball(middle, shells, node)
            else:
                high = middle
        if self.ball is not None:
            root.parts = tuple(replace(part, key=max(part.key, self.ball.radius)) for part in root.parts)
        return root

    def _balls(self, before: float | None) -> int:
        """How many smaller balls there is time for after the first; before: the seconds that were left before that."""
        left = self.host.deadline.left()
        if before is None or left is None or before <= left:
            return BALLS
        return min(BALLS, int(AT_MOST * left / (before - left)))

    def _solved_on(self, root: PricedNode) -> PricedNode:
        """The same box after all the rounds that it is worth, unless it had them before."""
        effort, self.first = self.first, None
        return root if effort is None or effort.rounds <= GLANCE.rounds else self._solved(root.parts, effort)

    def _better(self, parts: Iterable[Part], opened: list[Active], effort: Effort) -> tuple[Part, ...]:
        """Better prices of each part of the goal for what a box leaves open of it."""
        asked = zip(self.relaxations, parts, opened, repeat(effort), strict=False)
        return tuple(self.threads.each(self._part, asked))

    def _prepare(self) -> None:
        """Make the bound of the first box as good as it gets, before that is divided."""
        self.prepared = True
        assert self.root is not None
        self.root = root = self._solved_on(self.root)
        needed = root.key < self.host.limit and not self.host.near_enough(root.key)
        if needed:
            self.tightening.join_cliques(root)
            self.tightening.narrow(root, [relaxation.whole for relaxation in self.relaxations])
        self.heap = [(root.key, 0, root)]
        if needed and not self.host.deadline.over:
            self._round(root)

    def _first_rounds(self, before: float | None) -> int:
        """How many rounds there is time for after a glance; before: the seconds that were left when it began.

        Nothing interrupts an ascent, and in a large forest all its rounds take many times a short time limit.
        """
        left = self.host.deadline.left()
        if before is None or left is None or before <= left:
            return FIRST.rounds
        return min(FIRST.rounds, int(GLANCE.rounds * left / (before - left)))

    def _part(
        self, relaxation: Relaxation, parent: Part, active: Active, effort: Effort, start: Climbed | None = None
    ) -> Part:
        """Better prices than its parent's, or than those to start from, for what a box leaves open, and what they
        prove.
        """
        if active.empty:
            return Part(CLOSED, parent.exact, parent.climbed)
        if self.host.deadline.over:
            return parent
        climbed = relaxation.climb(active, start or parent.climbed, effort, self.host.limit)
        best: Part | None = None
        for digits, smallest in FINEST:
            exact = relaxation.exact(climbed, digits, smallest)
            key = relaxation.key(relaxation.bound(exact, active), self.grounded.width == 0)
            if best is None or key > best.key:
                best = Part(key, exact, climbed)
            if key >= self.host.limit:
                break
        assert best is not None
        if best.key >= parent.key:
            return best
        return Part(parent.key, best.exact if relaxation.free else parent.exact, climbed)

    def _side(self, node: PricedNode, look: Look, cut: Candidate, side: int, place: int, near: int) -> Part:
        """One part of the goal on one side of a cut, with prices of its own; near: the distance of the side itself."""
        relaxation, part = self.relaxations[place], node.parts[place]
        # A box has its parent's bound too, which is all that there is time for once the deadline is over.
        if max(part.key, near) >= self.host.limit or self.host.deadline.over:
            return part
        if (trial := look.trial(cut, side, place)) is not None:
            return self._part(relaxation, part, trial.active, EACH, trial.climbed)
        active = relaxation.open(*self.trials.half(node, cut, side), self.host.limit, look.opened[place])
        return self._part(relaxation, part, active, EACH)

    # ------------------------------------------------------------------------------------------ the loop

    def run(self, nodes: int | None = None) -> bool:
        """Whether every box was closed; else the deadline is over, the gap was met, or so many nodes were made."""
        if not self.prepared:
            self._prepare()
        until = None if nodes is None else self.nodes + nodes
        self.paused = False
        # Invariant: every point of interest lies in a box of the heap, or in one whose doubtful points are noted.
        while self.heap:
            self._repair()
            key, _, node = self.heap[0]
            if key >= self.host.limit:
                return True
            self.host.tell(key)
            if self.host.deadline.over or self.host.near_enough(key):
                return False
            if until is not None and self.nodes >= until:
                self.paused = True
                return False
            if self.nodes * self.bytes > self.host.room:
                self.why = f"memory limit, reached at {self.nodes} nodes"
                return False
            heapq.heappop(self.heap)
            if self._closed(node, self._attempt(node)):
                continue
            look, cut = self.trials.choose(node)
            if self.host.deadline.over:
                heapq.heappush(self.heap, (node.key, -self.nodes, node))
                return False
            if cut is None or (cut.decided and node.waited):
                walks = None if cut is None else WALKS
                if self._closed(node, self.host.attempt(node.low, node.high, walks)):
                    continue
            if cut is None:  # time or memory ended that attempt, and nothing else is left to be done with the box
                self._push(node)
                self.why = self.host.why
                return False
            self._divide(node, look, cut)
        return True

    def _repair(self) -> None:
        """Look for a nearer point around the best one, the more seldom the longer that finds none."""
        if self.nodes < OFFERS or (self.vain >= IN_VAIN and self.nodes % SELDOM):
            return
        for _ in range(REPAIRS):
            before = self.host.limit
            self.host.repair()
            self.vain = self.vain + 1 if self.host.limit == before else 0

    def _closed(self, node: PricedNode, closing: Closing) -> bool:
        """Whether the plain search closed a box; its proof and its doubt are kept."""
        if closing.proof is None:
            return False
        node.proof = closing.proof
        self.doubtful = nearest_of(self.doubtful, closing.doubtful)
        return True

    def _attempt(self, node: PricedNode) -> Closing:
        """Let the plain search have a try, where boxes with such bounds were not too large for it lately."""
        done = node.key / self.host.limit
        if done < self.promising and node.waited < WAITED:
            return Closing(None, None)
        closing = self.host.attempt(node.low, node.high, WALKS)
        self.promising = done if closing.proof is not None else done + CAUTION * (1 - done)
        node.waited = 0
        return closing

    def _push(self, node: PricedNode) -> None:
        heapq.heappush(self.heap, (node.key, -self.nodes, node))
        self.nodes += 1

    def _divide(self, node: PricedNode, look: Look, cut: Candidate) -> None:
        """Split a node at a cut; sides that nothing closes wait for their turn."""
        ground = self.grounded.ground
        at = int(ground.at[ground.base[cut.axis] + cut.cut]) if ground.grid[cut.axis] else 1 << cut.cut
        node.split = Split(cut.axis, at)
        halves = [self.trials.half(node, cut, side) for side in (0, 1)]
        near = [self.host.key_of(*half) for half in halves]
        places = range(len(node.parts))
        asked = [(node, look, cut, side, place, near[side]) for side in (0, 1) for place in places]
        parts = self.threads.each(self._side, asked)
        children = []
        for side, half in enumerate(halves):
            own = tuple(parts[side * len(places) : (side + 1) * len(places)])
            child = PricedNode(*half, near[side], own, node, waited=node.waited + 1)
            self.tightening.narrow(child, look.opened)
            children.append(child)
            self.trials.learn(cut, side, self._gained(node, child))
            if child.key < self.host.limit:
                self._push(child)
                if self.nodes < OFFERS and not self.host.deadline.over:
                    self._round(child)
            else:
                child.forget()
        node.children, node.parts = tuple(children), ()

    def _gained(self, node: PricedNode, child: PricedNode) -> float:
        """By how much the bound of one side of a box is better than its own."""
        first = self.relaxations[0]
        if not first.free:
            return float(max(0, min(child.key, self.host.limit) - node.key) / self.grounded.scale)
        most = first.wanted(self.host.limit)
        closed = child.key >= self.host.limit
        after = most if closed else min(min(part.climbed.value for part in child.parts), most)
        return max(0.0, after - min(part.climbed.value for part in node.parts)) * 2.0**-first.bits

    def _round(self, node: PricedNode) -> None:
        """Offer the points that the shares of each part of the goal are nearest to."""
        ground = self.grounded.ground
        for place, (relaxation, part) in enumerate(zip(self.relaxations, node.parts, strict=True)):
            if part.key >= self.host.limit:
                continue
            cells = np.tile(ground.start, (len(QUANTILES), 1))
            for columns, begin in zip(relaxation.columns, relaxation.framed.begin[:-2].tolist(), strict=True):
                j, items = columns.axis, columns.items
                here = part.climbed.pieces[begin : begin + len(items)]
                if not ground.grid[j]:
                    cells[:, j] = items[here.argmax()]
                    continue
                start, low, high = int(ground.start[j]), int(node.low[j]), int(node.high[j])
                for number, k in enumerate(here.cumsum().searchsorted(QUANTILES).tolist()):
                    first = max(int(items[k - 1]) + 1 if k else 0, low)
                    last = min(int(items[k]), high) if k < len(items) else high
                    cells[number, j] = min(max(start, first), max(first, last))
            for point in cells:
                self.host.offer(point, place)

    # ------------------------------------------------------------------------------------------ what was proved

    @property
    def key(self) -> int:
        """No point of interest in an open box has a smaller scaled distance."""
        return min((key for key, _, _ in self.heap), default=CLOSED)

    def proof(self) -> Proof:
        """The tree of all boxes, in preorder; open ones are closed by their prices, at the bound that is claimed."""
        assert self.root is not None
        claim = min(self.key, self.host.limit)
        way, root, shells = Way(self.relaxations, claim), self.root, self.shells
        if self.ball is not None and claim <= self.ball.radius:
            root, shells = self.ball.node, self.ball.shells

        def closing(node: PricedNode) -> Leaf | Priced:
            if not node.parts or node.near >= min(part.key for part in node.parts):
                return Leaf("distance")
            triples = zip(self.relaxations, node.parts, way.to(node)[-1], strict=True)
            return Priced(tuple(self._written(one, part.exact, active, claim) for one, part, active in triples))

        def opening(node: PricedNode) -> list[ProofNode]:
            first = self.relaxations[0]
            found: list[ProofNode] = [first.written_cliques()] if node is root and first.cliques else []
            if node.narrowing is not None:
                found.append(self._narrowed(node, node.narrowing, way.to(node)[0], claim))
            return found

        return preorder(around(self.grounded.ground, shells, root), closing, opening)

    def _narrowed(self, node: PricedNode, before: Narrowing, opened: list[Active], claim: int) -> Narrow:
        """How the narrowing of a box is written. opened: what it left open before."""
        spans = []
        for j in np.flatnonzero((before.low != node.low) | (before.high != node.high)).tolist():
            low, high = int(node.low[j]), int(node.high[j])
            grid = self.grounded.ground.grid[j]
            spans.append((j, *(self.grounded.interval(j, low, high) if grid else (low, low))))
        triples = zip(self.relaxations, before.exact, opened, strict=True)
        box = (before.low, before.high, node.low, node.high)
        return Narrow(tuple(spans), tuple(self._written(*triple, claim, box) for triple in triples))

    def _written(
        self, relaxation: Relaxation, exact: Exact, active: Active, claim: int,
        narrowing: tuple[Array, Array, Array, Array] | None = None,
    ) -> Prices:  # fmt: skip
        """The prices of a box, in no more digits than the claim needs: that of a search that was stopped needs few.

        active: what the box leaves open to points below the claim. narrowing: the box, and what is to be left of it
        after what the prices take; None where they close all of it.
        """
        whole = self.grounded.width == 0
        enough = relaxation.enough(claim, whole)

        def proves(fewer: Exact) -> bool:
            if narrowing is None:
                return relaxation.bound(fewer, active) >= enough
            return relaxation.narrows(fewer, active, narrowing, enough)

        for digits, smallest in () if active.empty else ROUNDED:
            fewer = relaxation.coarser(exact, digits, smallest)
            if proves(fewer):
                return relaxation.prices(fewer, active, claim)
        return relaxation.prices(exact, active, claim)
