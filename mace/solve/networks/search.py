"""The search behind `networks`: nodes, their bounds, where they are split, and the proof that is read off the tree.

In:  a question, a gap, limits, a radius.    Out: the best point, and a proof that nothing is closer than `lower`.
Promise: see `mace.solve.networks.prover`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.exact import below, exact
from mace.problem.distance import Norm
from mace.problem.proof import Proof
from mace.solve.conditions import broken, inside
from mace.solve.networks.branch import TRIED, Branching
from mace.solve.networks.exact import Exact, single
from mace.solve.networks.kernels import INFINITY, OPTIMAL, STUCK, cut, derive, plain
from mace.solve.networks.model import FLOATS, Array, Part, Units
from mace.solve.networks.nodes import Frame, Node
from mace.solve.networks.relax import Relaxed, relax
from mace.solve.networks.start import greedy
from mace.solve.networks.tighten import tighten
from mace.solve.protocol import Gap, Limits
from mace.solve.witnesses import Witnesses
from mace.space.axes import GridAxis, Point, Side, holds

SMALLEST_GAP = Fraction(1, 10**9)
ROUNDS = 2000
IDLE = 2  # splits tried in a row that promise no more than the best one: then no more are tried
RENEW = Fraction(999, 1000)
FIRST_KEPT, KEEPING = 30, 1.5  # nodes: when a first proof is kept, and by which factor later than the last the next
STALLED = 5  # nodes that were split: then the root is tightened, and the tree begun anew
ROUNDS_TIGHT, LITTLE = 8, 0.05  # rounds of tightening; one that gains less of what is missing to the target is the last
WORTH = 0.1  # of what is missing to the target: tightening that gains more was worth it
TRUSTED = 3  # times that tightening a node may be in vain, more than it is not: then no more are tightened
DOUBTED = 200  # points in doubt that the deployed model is asked about before boxes come down to them
SEARCHING = 0.75  # of the time allowed; the rest is for writing the proof
ALONE = 0.1  # of the time allowed: who ends within it needs no proof that is kept on the way


class Kept(NamedTuple):
    """A bound that was proved while the search went on, and its proof."""

    lower: Fraction
    proof: Proof | None


class Region(NamedTuple):
    """A linear region, in which a search for points moves floats.

    sides:  what features other than free floats have.
    active: which units of a layer of ReLUs are active, as bytes.
    anywhere: whether points count at any distance.
    """

    sides: tuple[tuple[int, Side], ...]
    active: tuple[tuple[int, bytes], ...]
    anywhere: bool


class Search(Frame):
    """One run of branch and bound; see the module's docstring."""

    def __init__(self, witnesses: Witnesses, gap: Gap, limits: Limits, radius: Fraction | None, strict: bool) -> None:
        question = witnesses.question
        assert isinstance(question.distance, Norm)
        super().__init__(witnesses)
        self.radius, self.strict, self.gap = radius, strict, gap
        self.exact = Exact(question, self.numbers)
        self.arrays = (plain(self.numbers.axes), plain(self.numbers.net))
        ends = (2, *self.numbers.net.B[1:].shape)
        self.ends = (np.ones(ends, np.bool_), np.zeros(ends))
        self.branching = Branching(self)
        self.best: Point | None = None
        # No distance is larger than this.
        self.widest = question.distance.of([Fraction(1)] * len(question.axes)) + 1
        self.distance = self.widest
        if radius is not None and radius < self.widest:
            # A little more than was asked, so that what is proved reaches the radius after rounding.
            self.distance = radius + SMALLEST_GAP
        self.anywhere = False  # whether the claim is that no point has the goal at all
        self.exactly = False  # whether boxes are cut, and nodes closed, at the distance itself, not a little beyond it
        self.why = ""
        self.settled = INFINITY  # the least bound of nodes that nothing can be done about
        self.deadline = limits.deadline
        self.searching = self.deadline.share(SEARCHING)
        self.alone = self.deadline.share(ALONE)
        self.keep: Callable[[Search], None] = lambda _: None  # called now and then while the tree grows
        self.kept = Kept(Fraction(0), None)
        self.tightens = True  # whether nodes may be tightened at all
        self.tightened = 3 * self.widest  # the distance at which the root was tightened last
        self.worth = 0  # how often tightening a node may still be in vain
        self.heap: list[tuple[float, float, int, Node]] = []
        self.count = 0
        self.tried: set[Point] = set()
        self.polished: set[Region] = set()
        self.doubted = 0  # points of which rounding decides whether they have the goal
        self.root: Node | None = None
        self.seeds: set[Point] = set()
        # Witnesses must be beyond the margin on the other side, and stay so when they are rounded to the grid.
        self.certain = [p.than + np.array([3 * float(e) + 2.0**-49 for e in p.slack]) for p in self.numbers.parts]

    @property
    def conditions(self) -> bool:
        """Whether a box may be closed by anything but distance and model."""
        question = self.question
        return bool(question.rules or question.avoid or question.most_changes is not None)

    # ------------------------------------------------------------------------------------------ the target

    @property
    def slack(self) -> Fraction:
        """How far the bounds may stay apart."""
        if self.exactly:
            return Fraction(0)
        return max(SMALLEST_GAP, self.gap.absolute, self.gap.relative * self.distance)

    @property
    def target(self) -> float:
        """The bound from which a node need not be looked at any more."""
        if self.anywhere:
            return 1e-9
        if self.best is None:
            return float(self.distance) + (0.0 if self.radius is not None else 1.0) - 1e-10
        return float(self.distance - self.slack / 2)

    @property
    def reach(self) -> float:
        """The radius of the ball that boxes are cut to; slightly more, so that rounding keeps what is inside."""
        if self.anywhere or (self.best is None and self.radius is None):
            return INFINITY
        return float(self.distance) * (1 + 1e-12) + 1e-15

    def within(self, distance: Fraction) -> bool:
        """Whether a distance is within the radius asked."""
        return self.radius is None or distance < self.radius or distance == self.radius and not self.strict

    def nearer(self, distance: Fraction) -> bool:
        """Whether a point at a distance would be a better one: within the radius, which the ball exceeds a little."""
        return distance < self.distance and self.within(distance)

    def lower(self) -> Fraction:
        """What the search has shown so far, not verified in exact arithmetic."""
        least = min([self.settled, self.target, *(entry[3].bound for entry in self.heap)])
        return max(Fraction(0), exact(below(exact(least) - Fraction(1, 2**40))))

    # ------------------------------------------------------------------------------------------ the loop

    def run(self) -> bool:
        """Search until the gap is closed (True) or a limit is reached."""
        ended = self._run()
        if ended and self.best is None and self.radius is None and not self.anywhere:
            # Every point is too far or has not the goal; the claim to be proved is the second.
            self.anywhere, self.settled = True, INFINITY
            ended = self._run()
            if self.best is not None:
                self.anywhere = False
                return self.run()
        return ended

    def _run(self) -> bool:
        self.heap, self.count = [], 0
        self.root = self.first_node()
        if self.best is None and not self.anywhere:
            self.begin()
        self.look(self.root)
        self.propose(self.root)
        self.push(self.root)
        due, expanded = float(FIRST_KEPT), 0
        # Invariant: every allowed point with the goal closer than `target` is in a node of the heap or a settled one.
        while self.heap:
            if self.searching.over:
                self.why = self.deadline.why
                return False
            self.witnesses.tell(lambda: (self.lower(), self.distance if self.best is not None else None))
            node = heapq.heappop(self.heap)[3]
            if node.bound >= self.target and node.duals:
                node.closed = "dual"
                continue
            if self.distance < node.radius * RENEW:  # the ball has shrunk since: look again
                self.look(node)
                if not node.closed:
                    self.propose(node)
                self.push(node)
                continue
            if self.worth > 0 and expanded > STALLED and node.tight is None:
                self.worth += 1 if self.tighten(node) else -1
                self.push(node)
                continue
            self.expand(node)
            expanded += 1
            if expanded >= STALLED and self.heap and self.distance < self.tightened / 2:
                self.begin_anew()
            if self.count >= due and self.alone.over:
                self.keep(self)
                due = KEEPING * self.count
        return True

    def push(self, node: Node) -> None:
        """Keep a node that is still open."""
        if not node.closed:
            self.count += 1
            # Until there is a point, depth comes first; then the least bound.
            order = node.bound if self.best is not None else -float(self.count)
            heapq.heappush(self.heap, (order, node.bound, self.count, node))

    # ------------------------------------------------------------------------------------------ one node

    def look(self, node: Node) -> None:
        """Bound a node: close it, or leave what `expand` needs."""
        if any(side[0] > side[1] if isinstance(side, tuple) else not side for side in node.box):
            node.closed = "empty"
            return
        if self.conditions and self.ruled_out(node):
            return
        if self.reach < INFINITY and not self.cut_to(node, self.reach):
            node.closed = "distance"
            return
        if not self.derive(node, self.reach if self.reach < INFINITY else -1.0, node.units):
            node.closed = "bounds"
            return
        self.relaxed(node)

    def relaxed(self, node: Node) -> None:
        """Bound a node by its relaxation."""
        node.radius = self.distance
        node.bound = INFINITY
        node.duals = {}
        for k, part in enumerate(self.numbers.parts):
            found = self.solve(node, part)
            node.duals[k] = found
            if found.bound < node.bound:
                node.bound = found.bound
                node.point, node.loss, node.scores = found.point, found.loss, found.scores
        if node.bound >= self.target:
            node.closed = "dual"

    def tighten(self, node: Node) -> bool:
        """Narrow what is known of an unsplit node's hidden units by linear programs; whether that was worth it."""
        began, node.tight = node.bound, []
        self.look(node)
        for _ in range(ROUNDS_TIGHT):
            before = node.bound
            if node.closed or self.searching.over:
                break
            if not tighten(self, node, self.reach, self.searching):
                node.closed = "bounds"
                break
            self.relaxed(node)
            node.bound = max(node.bound, before)
            self.propose(node)
            if node.bound < before + LITTLE * (self.target - before):
                break
        return bool(node.closed) or node.bound > began + WORTH * (self.target - began)

    def begin_anew(self) -> None:
        """Tighten the root, and begin the tree anew if that was worth it; nodes are tightened from here on."""
        self.tightened = self.distance
        if not self.tightens or self.anywhere or self.reach >= INFINITY or not self.numbers.net.relu.any():
            return
        root = self.first_node()
        self.look(root)
        self.worth = TRUSTED
        if not root.closed and self.tighten(root):
            self.root, self.heap = root, []
            self.push(root)

    def cut_to(self, node: Node, q: float) -> bool:
        """Cut a node's arrays to the ball of radius q; False if nothing is left."""
        if not self.exactly:
            return bool(cut(q, self.arrays[0], plain(node.hull)))
        return self.cut_exactly(node, self.distance)

    def cut_exactly(self, node: Node, q: Fraction) -> bool:
        """Cut a node's arrays to its cut box in the ball of radius q, as a checker does; False if nothing is left."""
        inside = self.exact.cut(node.box, q)
        for j, side in enumerate(inside or ()):
            self.enclose(node, j, side)
        return inside is not None

    def derive(self, node: Node, q: float, units: Units) -> bool:
        """Narrow bounds of hidden units, in place, inside a node's box and the ball of radius q (q < 0: no ball)."""
        return bool(derive(q, *self.arrays, plain(node.hull), plain(units), *self.ends))

    def solve(self, node: Node, part: Part, than: Array | None = None, rounds: int = ROUNDS) -> Relaxed:
        """The relaxation of a node for one part of the goal; `than` in place of the part's own."""
        than = part.than if than is None else than
        nodes = (plain(node.hull), plain(node.units))
        found: Relaxed = relax(not self.anywhere, self.target, rounds, part.C, than, *self.arrays, *nodes)
        if all(np.isfinite(value).all() for value in found):
            return found
        # Numbers too far apart for doubles: any multipliers are sound, and these prove nothing.
        goal, slope, mu, share = map(np.zeros_like, (found.goal, found.slope, found.mu, found.share))
        loss, scores, weight = map(np.nan_to_num, (found.loss, found.scores, found.weight))
        bound, point = 0.0 if not self.anywhere else -INFINITY, self.numbers.around(node.hull)
        return Relaxed(bound, STUCK, goal, slope, mu, share, point, loss, scores, weight)

    def ruled_out(self, node: Node) -> bool:
        """Close a node by the number of changes, an exclusion or a rule, if one of them does."""
        question, axes = self.question, self.question.axes
        moved = [not holds(side, axis.start) for side, axis in zip(node.box, axes, strict=True)]
        if question.most_changes is not None and sum(moved) > question.most_changes:
            node.closed = "changes"
            return True
        for k in range(len(question.avoid)):
            if inside(question, k, node.box):
                node.closed, node.number = "avoid", k
                return True
        for k in range(len(question.rules)):
            if broken(question, k, node.box):
                node.closed, node.number = "rule", k
                return True
        return False

    # ------------------------------------------------------------------------------------------ points

    def offer(self, point: Point, *, trusted: bool = False) -> bool:
        """Take a point as the best one if it is closer, allowed, and has the goal (or is trusted to)."""
        if point in self.tried:
            return False
        self.tried.add(point)
        if not trusted and not self.exact.near(point):  # sooner seen than how far it is
            return False
        distance = self.question.distance_of(point)
        if not self.nearer(distance) or not self.question.obeys(point):
            return False
        if not trusted and not self.counts(point):
            return False
        self.best, self.distance = point, distance
        return True

    def counts(self, point: Point) -> bool:
        """Whether a point has the goal: for certain, or, where rounding decides, by what the deployed model says."""
        said = self.exact.accepts(point)
        if said is None:
            self.doubted += 1
            return self.doubted <= DOUBTED and bool(self.witnesses.counts(point, exclude=False))
        return said and bool(self.witnesses.counts(point))

    def begin(self) -> None:
        """Offer a point that has the goal, and what is left of it when its changes are undone one by one."""
        x = greedy(self)
        if x is None:
            return
        for outward in (True, False):
            point = self.rounded(x, outward)
            self.offer(point)
            self.polish(point)
        self.shorten()

    def shorten(self) -> None:
        """Undo the changes of the best point one by one, the costliest first, as long as it keeps the goal."""
        improved = True
        while improved and self.best is not None:
            improved = False
            point: Point = self.best
            deltas = self.question.deltas(point)
            for j in sorted(self.question.changed(point), key=lambda j: -deltas[j]):
                shorter = (*point[:j], self.question.axes[j].start, *point[j + 1 :])
                self.polish(shorter)
                if self.offer(shorter) or self.best != point:
                    improved = True
                    break

    def propose(self, node: Node) -> None:
        """Try the points near a relaxed one: as it is, away from the start, and the nearest of its linear region."""
        if node.point is None:
            return
        x = node.point
        for outward in (False, True):
            point = self.rounded(x, outward)
            if point not in self.seeds:
                self.seeds.add(point)
                self.offer(point)
                self.polish(point)

    def polish(self, point: Point) -> None:
        """Move the floats of a point as near to the start as its own linear region allows, several times.

        Where a change has a price of its own, what has not changed stays.
        """
        n = self.numbers
        for _ in range(5):
            region = self.region(point)
            if region in self.polished:  # what is nearest there was offered
                return
            self.polished.add(region)
            node = self.first_node()
            for j, side in region.sides:
                self.restrict(node, j, side)
            if self.reach < INFINITY and not self.cut_to(node, self.reach):
                return
            self.fix_phases(node, region.active)
            found = None
            for part, than in zip(n.parts, self.certain, strict=True):
                solved = self.solve(node, part, than, rounds=500)
                if solved.status == OPTIMAL and (found is None or solved.bound < found.bound):
                    found = solved
            if found is None:
                return
            moved = self.rounded(found.point, outward=False)
            if not self.offer(moved):
                return
            point = moved

    def region(self, point: Point) -> Region:
        """Where the floats of a point may move: its ReLUs keep their phases, and other features their values."""
        first, net, kind, jump = (
            self.numbers.axes.first,
            self.numbers.net,
            self.numbers.axes.kind,
            self.numbers.axes.jump,
        )
        x, sides = np.zeros(len(self.numbers.axes.change)), list[tuple[int, Side]]()
        for j, axis in enumerate(self.question.axes):
            if not isinstance(axis, GridAxis):
                x[first[j] + point[j]] = 1.0
                sides.append((j, 1 << point[j]))
                continue
            x[first[j]] = self.change(j, point[j])
            if kind[j] != FLOATS:
                sides.append((j, (point[j], point[j])))
            elif jump[j] > 0.0:
                # What a change costs at once is charged in full only where the start is left out.
                sides.append((j, _side_of(axis, point[j])))
        values, active = net.B[0] + x @ net.W0, []
        for layer in range(len(net.size)):
            if net.relu[layer]:
                active.append((layer, (values > 0).tobytes()))
                values = np.maximum(values, 0.0)
            values = values @ net.W[layer + 1] + net.B[layer + 1]
        return Region(tuple(sides), tuple(active), self.anywhere)

    def fix_phases(self, node: Node, active: Iterable[tuple[int, bytes]]) -> None:
        """Give a node the phases of every ReLU, by layer."""
        net, units = self.numbers.net, node.units
        for layer, flags in active:
            on = np.frombuffer(flags, np.bool_)
            units.phase[layer, : net.size[layer]] = np.where(on, 1, -1)[: net.size[layer]]
            units.L[layer], units.U[layer] = np.where(on, 0.0, -1e9), np.where(on, 1e9, 0.0)

    # ------------------------------------------------------------------------------------------ branching

    def expand(self, node: Node) -> None:
        """Split a node where its relaxation loses most: the likeliest splits are tried, the best one is kept."""
        splits = self.branching.candidates(node)
        if not splits:
            self.settle(node)
            return
        most, idle = -1.0, 0
        for split in splits[:TRIED]:
            children = [self.child(node, split, side) for side in (0, 1)]
            gains = []
            for child in children:
                self.look(child)
                child.bound = max(child.bound, node.bound)
                gains.append(self.target - node.bound if child.closed else child.bound - node.bound)
            gain = max(gains[0], 1e-9) * max(gains[1], 1e-9)
            idle += 1
            if gain > most:
                most, node.split, node.children, idle = gain, split, children, 0
            if idle == IDLE or all(child.closed for child in children):
                break
        for child in node.children:
            if not child.closed:
                self.propose(child)
            self.push(child)

    def settle(self, node: Node) -> None:
        """Close a node that cannot be split: where it is a single point, the deployed model is asked about it."""
        node.closed = "dual"
        if all(map(single, node.box)):
            point = tuple(s[0] if isinstance(s, tuple) else s.bit_length() - 1 for s in node.box)
            distance = self.question.distance_of(point)
            if not self.nearer(distance):
                return
            counts = self.witnesses.counts(point)
            if counts:
                self.best, self.distance = point, distance
                return
            if counts is False:  # it is excluded now
                node.closed, node.number = "avoid", len(self.question.avoid) - 1
                return
        self.settled = min(self.settled, node.bound)


def _side_of(axis: GridAxis, index: int) -> Side:
    """The values on one side of the start, or the start alone."""
    if index == axis.start:
        return index, index
    return (axis.lower, axis.start - 1) if index < axis.start else (axis.start + 1, axis.upper)
