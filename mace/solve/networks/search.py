"""The search behind `networks`: nodes, their bounds, where they are split, and the proof that is read off the tree.

In:  a question, a gap, limits, a radius.    Out: the best point, and a proof that nothing is closer than `lower`.
Promise: see `mace.solve.networks.prover`.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.deadline import Pace
from mace.base.exact import below, exact
from mace.problem.proof import Phase, Split
from mace.solve.conditions import broken, inside
from mace.solve.networks.balls import in_balls
from mace.solve.networks.branch import TRIED, Branching
from mace.solve.networks.kernels import INFINITY
from mace.solve.networks.nodes import Node
from mace.solve.networks.points import SMALL, Points
from mace.solve.networks.tighten import tighten
from mace.solve.protocol import Gap, Limits, ProvedBound
from mace.solve.witnesses import Witnesses
from mace.space.axes import Box, holds, is_single
from mace.tables.table import Network, Table

LIKELY = 2  # units, of those tried in the tableau of a node, whose sides are bounded on their own
LEAST_GAIN = 1e-9  # what a side that gains nothing counts as
TRYING = 1500  # pivots, about, for trying all units of a node
IDLE = 2  # splits tried in a row that promise no more than the best one: then no more are tried
RENEW = Fraction(999, 1000)
FIRST_KEPT, KEEPING = 30, 3  # nodes: when a first proof is kept, and by which factor later than the last the next
STALLED = 5  # nodes that were split: then the root is tightened, and the tree begun anew
ROUNDS_TIGHT, LITTLE = 8, 0.05  # rounds of tightening; one that gains less of what is missing to the target is the last
WORTH = 0.1  # of what is missing to the target: tightening that gains more was worth it
TRUSTED = 3  # times that tightening a node may be in vain, more than it is not: then no more are tightened
SHELLS = 10  # halvings of the known distance, among which the first ball is looked for
SEARCHING = 0.5  # of the time left, again and again; the rest is for writing the proof, and for the checker
READING, COPYING = 12, 2  # times as long as to write a proof does a checker take, and where none has to read it
# Seconds a weight that a checker takes to read the model; of networks with so many weights it is a process of its own.
# It reads two proofs, the second of which is that of a lower bound.
MODEL, LARGE, PROOFS = 8e-6, 3000, 2
LEAST_LEFT = 0.1  # of the time allowed: with less left the search ends; on a busy machine by so much earlier
ALONE = 0.1  # of the time allowed: who ends within it needs no proof that is kept on the way
# What the last ball has cost before smaller ones are looked at, then twice as much each time; what part of that these
# may cost; and by what part of the distance one has to be larger than what is shown. To split a node costs 1.
LAST, BETWEEN, LARGER = 60, Fraction(1, 4), Fraction(1, 50)
TIGHTENING = 8  # what it costs to tighten a node, about
OF_BALL = "horizon", "root", "heap", "count", "spent", "settled", "tightened", "worth"  # what is known of one ball


class Shown(NamedTuple):
    """A distance below which a tree that was searched to its end has shown that there is nothing, and its root."""

    lower: Fraction
    root: Node | None


class Search(Points):
    """One run of branch and bound; see the module's docstring."""

    def __init__(self, witnesses: Witnesses, gap: Gap, limits: Limits, radius: Fraction | None, strict: bool) -> None:
        super().__init__(witnesses, gap, radius, strict)
        self.branching = Branching(self)
        self.why = ""
        self.settled = INFINITY  # the least bound of nodes that nothing can be done about
        self.deadline = limits.deadline
        self.searching = self.deadline.share(SEARCHING)
        self.least_left = LEAST_LEFT * (self.deadline.left() or 0.0)
        self.pace: Callable[[], float] = Pace(self.deadline)
        self.writing = 0.0  # seconds that the proof took that is kept
        self.reading = READING if self.numbers.net.relu.any() else COPYING
        self.model_reading = _model_read(self.question.model) if self.reading == READING else 0.0
        self.alone = self.deadline.share(ALONE)
        self.keep: Callable[[Search], None] = lambda _: None  # called now and then while the tree grows
        self.kept = ProvedBound(Fraction(0), None)  # what was proved while the search went on
        self.spare: ProvedBound | None = None  # what was kept first, whose proof is the shortest
        self.dismissed: set[Fraction] = set()  # claims whose proofs take too long to be read
        self.tightens = True  # whether nodes may be tightened at all
        self.tightened = 3 * self.widest  # the distance at which the root was tightened last
        self.worth = 0  # how often tightening a node may still be in vain
        self.held: Box | None = None  # the box that was looked at last, and is not empty
        self.heap: list[tuple[float, float, int, Node]] = []
        self.count = 0
        self.spent = 0
        self.root: Node | None = None
        self.shown = Shown(Fraction(0), None)
        self.too_large: Fraction | None = None  # the radius of the least ball in which too much was to be done

    @property
    def conditions(self) -> bool:
        """Whether a box may be closed by anything but distance and model."""
        question = self.question
        return bool(question.rules or question.avoid or question.most_changes is not None)

    @property
    def in_last_ball(self) -> bool:
        """Whether all points nearer than the best one are searched."""
        return self.best is not None and self.horizon >= self.distance and not self.anywhere

    @property
    def in_doubt(self) -> bool:
        """Whether there are nodes that nothing can be done about."""
        return self.settled < INFINITY

    # ------------------------------------------------------------------------------------------ the loop

    def lower(self) -> Fraction:
        """What the search has shown so far, not verified in exact arithmetic."""
        least = min([self.settled, self.target, *(entry[3].bound for entry in self.heap)])
        return max(self.shown.lower, self.beneath(least))

    @staticmethod
    def beneath(bound: float) -> Fraction:
        """A little less than a bound in floats, by more than its rounding."""
        return exact(below(exact(bound) - Fraction(1, 2**40)))

    def show(self, root: Node | None) -> None:
        """Remember that the tree of a root, which was searched to its end, shows what `lower` says now."""
        if self.lower() > self.shown.lower:
            self.shown = Shown(self.lower(), root)

    def root_for(self, q: Fraction | None) -> Node:
        """The root of a tree that shows that nothing is nearer than q."""
        top = self.shown.root if q is not None and q <= self.claim(self.shown.lower) else None
        top = top or self.root
        assert top is not None
        return top

    def run(self) -> bool:
        """Search until the gap is closed (True) or a limit is reached.

        Before a ReLU network ball after ball is searched, each twice as large as the one before: in a small ball
        relaxations are tight, and the last one is not much larger than the distance that is looked for.
        """
        if not self.anywhere:
            if self.best is None:
                self.begin()
            self.horizon = self.first_horizon() if self.numbers.net.relu.any() else self.widest
            if self.horizon < self.distance and self.sums_nothing:  # the point is far: there may be a nearer one
                in_balls(self, self.searching)
                self.horizon = self.first_horizon()
        ended = self._in_ball()
        while ended and self.horizon < self.distance and not self.anywhere:
            self.show(self.root)
            if self.alone.over:
                self.keep(self)
            self.horizon *= 2 if self.horizon * 3 < self.distance else 4  # the last ball is all that is left
            ended = self._in_ball()
        if ended and self.best is None and self.radius is None and not self.anywhere:
            # Every point is too far or has not the goal; the claim to be proved is the second.
            self.anywhere = True
            ended = self._in_ball()
            if self.best is not None:
                self.anywhere = False
                return self.run()
        return ended

    def first_horizon(self) -> Fraction:
        """About the largest ball of which the root's relaxation alone shows that nothing is in it, twice as large."""
        far, none, whole = 0, SHELLS, self.distance
        while none - far > 1 and not self.searching.over:  # one look at a large network may take a second
            middle = (far + none) // 2
            self.horizon = whole / 2**middle
            node = self.first_node()
            self.look(node)
            if node.closed:
                none = middle
                self.show(node)
            else:
                far = middle
                self.propose(node)
        return whole / 2**far if far else self.widest

    def _in_ball(self, most: int | None = None) -> bool:
        """Search the ball of radius `horizon`; False if a limit was reached, or it costs more than `most`.

        most: None for one of the balls that lead on to the best point, the last of which may take long.
        """
        self.heap, self.count, self.spent, self.settled = [], 0, 0, INFINITY
        self.tightened, self.worth = 3 * self.widest, 0
        self.root = self.first_node()
        if not self.deadline.over:
            self.look(self.root)
            self.propose(self.root)
        self.push(self.root)
        due, expanded, smaller = float(FIRST_KEPT), 0, LAST
        # Invariant: every allowed point with the goal closer than `target` is in a node of the heap or a settled one.
        while self.heap:
            if self.searching.over and not self.goes_on() or most is not None and self.spent >= most:
                return False
            self.witnesses.tell(lambda: (self.lower(), self.distance if self.best is not None else None))
            node = heapq.heappop(self.heap)[3]
            if node.bound >= self.target and node.duals:
                node.closed = "dual"
                continue
            if self.ball < node.radius * RENEW:  # the ball has shrunk since: look again
                self.look(node)
                if not node.closed:
                    self.propose(node)
                self.push(node)
                continue
            if self.worth > 0 and expanded > STALLED and node.tight is None:
                self.worth += 1 if self.tighten(node) else -1
                self.spent += TIGHTENING
                self.push(node)
                continue
            self.expand(node)
            expanded += 1
            self.spent += 1
            if expanded >= STALLED and self.heap and self.ball < self.tightened / 2:
                self.begin_anew()
            if most is None and self.spent >= smaller and self.in_last_ball:
                self.between(int(self.spent * BETWEEN))
                smaller = 2 * self.spent
            if self.count >= due and self.alone.over:
                self.keep(self)
                due = KEEPING * self.count
        return True

    def between(self, most: int) -> None:
        """Show more by smaller balls than the last one, at such a cost; the tree of the last one stays as it is.

        In a smaller ball relaxations are tighter: three quarters of the distance may take a few nodes to be shown where
        the least node of the last ball stays at half of it. The radius is bisected.
        """
        kept = {name: getattr(self, name) for name in OF_BALL}
        while most > 0 and not self.searching.over:
            low, high = self.shown.lower, min(self.too_large or self.distance, self.distance)
            middle = Fraction(math.floor((low + high) / 2 * 2**48), 2**48)
            if middle - low < max(LARGER * self.distance, self.unit or 0):
                break
            self.horizon = middle
            if not self._in_ball(most):
                self.too_large = middle
                break
            self.show(self.root)
            most -= max(1, self.spent)
        for name, value in kept.items():
            setattr(self, name, value)

    def goes_on(self) -> bool:
        """Whether to search on beyond a share of the time: what was shown is kept, and its proof needs far less."""
        self.searching = self.deadline.share(SEARCHING)
        self.keep(self)
        left, needs = self.deadline.left(), max(2 * self.read_in(self.writing), self.least_left * self.pace())
        safe = self.anywhere or self.kept.lower >= max(self.claim(self.shown.lower), SMALL)
        if safe and left is not None and left > needs:
            self.searching = self.deadline.share(min(SEARCHING, 1 - needs / left))
            return True
        kept = f", of which {left:.2g} s are kept for its proof" if left and left > 2 * self.least_left else ""
        self.why = f"{self.deadline.why}{kept}"
        return False

    def read_in(self, seconds: float) -> float:
        """The seconds that a checker takes, about, for a proof that took so long to write."""
        return self.reading * seconds + self.model_reading

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
        if node.box is not self.held:  # a phase leaves the box as it is
            if any(side[0] > side[1] if isinstance(side, tuple) else not side for side in node.box):
                node.closed = "empty"
                return
            self.held = node.box
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
        node.radius = self.ball
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
        self.tightened = self.ball
        if not self.tightens or self.anywhere or self.reach >= INFINITY or not self.numbers.net.relu.any():
            return
        root = self.first_node()
        self.look(root)
        self.worth = TRUSTED
        if not root.closed and self.tighten(root):
            self.root, self.heap = root, []
            self.push(root)

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

    # ------------------------------------------------------------------------------------------ branching

    def expand(self, node: Node) -> None:
        """Split a node where its relaxation loses most: the likeliest splits are tried, the best one is kept."""
        splits = self.likeliest(self.branching.candidates(node, self.missing(node)), node)
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
            gain = max(gains[0], LEAST_GAIN) * max(gains[1], LEAST_GAIN)
            idle += 1
            if gain > most:
                most, node.split, node.children, idle = gain, split, children, 0
            if idle == IDLE or all(child.closed for child in children) or self.deadline.over:
                break
        for child in node.children:
            if not child.closed:
                self.propose(child)
            self.push(child)

    def missing(self, node: Node) -> float:
        """How much the bound of a node lacks; 0 where no point is known yet, beyond which nothing is of interest."""
        return max(0.0, self.target - node.bound) if np.isfinite(self.target) else 0.0

    def likeliest(self, splits: list[Split | Phase], node: Node) -> list[Split | Phase]:
        """Splits with the units that promise most, when each is tried, in the places of all units."""
        phases = [split for split in splits if isinstance(split, Phase)]
        if len(phases) <= LIKELY or self.affordable(node) < TRYING:
            return splits
        gains = np.maximum(self.trials(node, phases) - node.bound, LEAST_GAIN)
        order = np.argsort(-gains.prod(axis=1), kind="stable")[:LIKELY]
        best = iter([phases[k] for k in order])
        kept = set(phases[:LIKELY])
        return [next(best) if isinstance(s, Phase) else s for s in splits if not isinstance(s, Phase) or s in kept]

    def settle(self, node: Node) -> None:
        """Close a node that cannot be split: where it is a single point, the deployed model is asked about it."""
        node.closed = "dual"
        if all(map(is_single, node.box)):
            point = tuple(s[0] if isinstance(s, tuple) else s.bit_length() - 1 for s in node.box)
            distance = self.question.distance_of(point)
            if not self.nearer(distance) or self.ruled_out(node):  # it was refused since, with other units fixed
                return
            counts = self.witnesses.counts(point)
            if counts:
                self.best, self.distance = point, distance
                return
            if counts is False:  # it is excluded now
                node.closed, node.number = "avoid", len(self.question.avoid) - 1
                return
        self.settled = min(self.settled, node.bound)


def _model_read(model: Table) -> float:
    """The seconds that a checker takes, about, to read a network for all proofs of one answer."""
    weights = sum(layer.weights.size for layer in model.layers) if isinstance(model, Network) else 0
    return PROOFS * MODEL * weights if weights > LARGE else 0.0
