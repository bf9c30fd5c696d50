"""The plain search of one question: best-first branch and bound over boxes of cells, each tree bounded by itself.

In:  the arrays of a question, a bound to start from, and a point with the goal if one is known.
Out: `Plain`: whether every box was closed, the best point found, a lower bound, and the proof of it.
Promise: as `mace.solve.ensembles.prover` says. In the bound of a box each tree by itself may spend the whole distance;
the relaxation (`mace.solve.ensembles.relaxation`) is what makes trees share it.

The compiled loop (`mace.solve.ensembles.boxes.search`) hands back what arrays cannot decide: witnesses, keys within
their own rounding of the best distance, rules and exclusions.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from mace.base.deadline import TimeOverError
from mace.base.exact import nearest
from mace.errors import ModelError
from mace.problem.distance import Norm
from mace.problem.lines import lines_of
from mace.problem.proof import Priced, Proof
from mace.problem.question import Question
from mace.solve.compiled import interruptible
from mace.solve.conditions import Cut, close_or_cut
from mace.solve.ensembles.arrays import walk
from mace.solve.ensembles.arrays.cells import Forest, Grounded, moved, with_cut
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.terms import Bound, Terms, nearest_of
from mace.solve.ensembles.boxes import book as books
from mace.solve.ensembles.boxes import search
from mace.solve.ensembles.boxes.book import Book, Scratch
from mace.solve.ensembles.boxes.written import proof_of
from mace.solve.protocol import NEARLY, Found, Gap, Refuted, Reply, Unknown
from mace.solve.witnesses import Witnesses
from mace.space.axes import Box as AnyBox
from mace.space.axes import GridAxis, LevelAxis, Point, Side

if TYPE_CHECKING:
    from mace.solve.ensembles.arrays.lined import Lined
    from mace.solve.ensembles.relaxation.branching import Branching

FIRST_BUDGET, LARGEST_BUDGET = 1000, 1_000_000  # walks through trees between two looks at the clock
SECONDS_BETWEEN_LOOKS = 0.05
WALKS = 1_000_000  # in the first turn, where searches take turns; then twice as many each time
LOOK, LONG_LOOK = -1, -2  # numbers of turns that end where the search stalls, or stalls for the second time
FIRST_ROOM = 4096  # nodes
BYTES_A_NODE = 120  # while the book grows, old and new arrays are there together


class Plain:
    """One search, with one bound to start from; the bound shrinks to the best point found."""

    def __init__(self, witnesses: Witnesses, grounded: Grounded, terms: Terms, forest: Forest | None = None) -> None:
        self.witnesses, self.grounded = witnesses, grounded
        question = self.question
        bound, self.point, self.gap, self.deadline, self.room, self.jobs = terms
        self.bound = bound if self.point is None else Bound(question.distance_of(self.point))
        self._limit: tuple[Bound, int] | None = None  # a bound, and what it is in scaled distances
        self.why, self.stalled = "", False
        self.ruled = False  # whether the nearest points with the goal are likely to break rules
        self.shared: list[Priced] = []  # the leaves of boxes that linear rules close, see `_together`
        self.between = Gap.usual(question.distance, NEARLY)  # linear rules are met at points between those of a grid
        self.nearly: Fraction | None = None  # the least bound of those that come a little short of the best point
        self.tells = True  # whether its bounds are those of the question, which somebody may want to hear
        self.relaxations, self.work = 0, np.zeros(8, np.int64)  # nodes of the relaxation, and the work in them
        self.turn: int | None = None  # where searches take turns: the number of this one, at whose end it pauses
        self.paused = False
        self.branching: Branching | None = None  # how it goes on by the relaxation, once it does
        self.declined = 0  # how many times the relaxation knew no more
        self.box = walk.new_box(len(question.axes))
        self.stack = walk.new_stack(grounded.depth)
        self.book: Book = books.new_book(FIRST_ROOM)
        axes = grounded.ground
        self.box.low[:], self.box.high[:] = axes.low, axes.high
        walk.measure(axes, self.box)
        self._whole = forest or grounded.forest  # or what is known to hold all that the bound leaves of it
        self.book.key[0] = int(self.box.total.sum())

    @cached_property
    def forest(self) -> Forest:
        """What the bound leaves of the trees, cut down when it is needed."""
        axes = self.grounded.ground
        self.box.low[:], self.box.high[:] = axes.low, axes.high
        walk.measure(axes, self.box)
        try:
            with interruptible(self.deadline):
                return walk.shrink(axes, self._whole, self.box, self.limit, self.stack)
        except TimeOverError:
            return self._whole  # of which nothing is walked any more

    def nearer(self) -> Forest:
        """What the best point known by now leaves of the trees."""
        axes, forest = self.grounded.ground, self.forest
        self.box.low[:], self.box.high[:] = axes.low, axes.high
        walk.measure(axes, self.box)
        return walk.shrink(axes, forest, self.box, self.limit, self.stack)

    @cached_property
    def scratch(self) -> Scratch:
        """Room for the loop."""
        return self._scratch()

    @property
    def question(self) -> Question:
        """The question, with what the deployed model has refused by now among its exclusions."""
        return self.witnesses.question

    def _scratch(self) -> Scratch:
        return books.new_scratch(self.grounded.ground, self.forest)

    def statistics(self) -> dict[str, int]:
        """How much work it was: nodes written, boxes evaluated, trees walked; leaves, if this search walked any."""
        count = self.book.count + self.work
        names = {"nodes": books.NODES, "boxes": books.POPPED, "walks": books.WORK}
        found = {name: int(count[place]) for name, place in names.items()}
        leaves = self.leaves if "forest" in self.__dict__ else 0
        return found | {"leaves": leaves, "relaxations": self.relaxations}

    @property
    def leaves(self) -> int:
        """How many leaves of all trees lie in the ball of the first bound."""
        return int((self.forest.test[:, 0] < 0).sum())

    # ------------------------------------------------------------------------------------------ the loop

    @property
    def limit(self) -> int:
        """The scaled distance from which on nothing is of interest; made once a bound, since it is asked for often."""
        bound, made = self.bound, self._limit  # as one: threads ask too
        if made is None or made[0] is not bound:
            made = self._limit = bound, bound.scaled(self.grounded.scale)
        return made[1]

    def said(self, doubtful: Fraction | None, lower: Fraction | None, proof: Proof) -> Reply:
        """The reply of a search.

        doubtful, lower: the least distance of a doubtful cell, and of an open box; None where there is none.
        """
        if lower is None and doubtful is None:
            return Refuted(proof) if self.point is None else Found(self.point, self.bound.distance, proof)
        open_, why = [one for one in (lower, doubtful) if one is not None], self.why
        if doubtful is not None and self.witnesses.why:
            why = why or f"at the distance {nearest(doubtful):.6g} {self.witnesses.why}"
        if self.point is None:
            return Unknown(why, min(open_), proof)
        assert self.bound.distance is not None
        return Found(self.point, min(self.bound.distance, *open_), proof, why)

    def at_least(self, reply: Reply) -> Reply:
        """What another search says that went on from it, or what it had shown before, where that is more."""
        if isinstance(reply, Refuted) or not (reply.why or self.paused) or self.lower() <= (reply.lower or 0):
            return reply
        before = self.said(self.doubtful(), self.lower(), self.proof())
        known = before.lower if isinstance(before, (Found, Unknown)) else None
        return before if known is not None and known > (reply.lower or 0) else reply

    def doubtful(self) -> Fraction | None:
        """The least distance of a cell that may or may not have the goal, if it is nearer than the point found."""
        used = slice(0, int(self.book.count[books.NODES]))
        nodes = np.flatnonzero(self.book.state[used] == books.DOUBTFUL).tolist()
        distances = [self.question.distance_of(self._load(node)) for node in nodes]
        distances += [] if self.nearly is None else [self.nearly]
        return min((d for d in distances if not self.bound.excludes(d)), default=None)

    def search(self, walks: int | None = None) -> bool:
        """Whether every box was closed; if not, `why` says what stopped it (nothing when the gap was met).

        walks: through trees, after which the search pauses; then it is `stalled`.
        """
        count = self.book.count
        most = -1 if self.question.most_changes is None else self.question.most_changes
        budget = FIRST_BUDGET
        # Invariant: no allowed point with the goal lies within the bound, unless in a box of the heap or pending.
        while True:
            if self.tells:
                self.witnesses.tell(self.bounds)
            if self._empty:
                self.stalled = False
                return True
            if self.deadline.over:
                self.why = self.deadline.why
                return False
            self.stalled = walks is not None and int(count[books.WORK]) >= walks
            if self.stalled:
                return False
            if walks is not None:
                budget = min(budget, walks - int(count[books.WORK]))
            began = time.perf_counter()
            limit = self.limit
            ended = self.step(limit, most, budget)
            # Where the search pauses changes nothing in what it does; only how soon it notices the deadline.
            quick = time.perf_counter() - began < SECONDS_BETWEEN_LOOKS
            budget = min(2 * budget, LARGEST_BUDGET) if quick else max(budget // 2, 1)
            if ended == search.GOAL:
                self._witness(int(count[books.WITNESS]))
            elif ended == search.FULL:
                if 2 * len(self.book.key) * BYTES_A_NODE > self.room:
                    self.why = f"memory limit, reached at {int(count[books.NODES])} nodes"
                    return False
                self.book = books.grown(self.book)
                count = self.book.count
            elif ended != search.BUDGET and self._settle():
                continue
            elif ended == search.DONE:
                return True
            elif ended == search.GAP:
                return False

    @property
    def _empty(self) -> bool:
        """Whether no box is left that is of interest; else the limits say whether to go on."""
        book = self.book
        left = book.count[books.HEAP] > 0 and book.key[book.heap[0]] < self.limit
        return not left and not book.count[books.WAITING]

    def search_on(self) -> bool:
        """Search to the end, or to that of a turn; whether every box was closed."""
        more = None if self.turn is None else WALKS << self.turn
        finished = self.search(None if more is None else int(self.book.count[books.WORK]) + more)
        self.paused = self.stalled
        return finished

    def step(self, limit: int, most: int, budget: int) -> int:
        """Search boxes until something is to be decided here; returns what."""
        return search.run(
            self.grounded.ground, self.forest, self.grounded.forest, self.grounded.aim, self.book, self.box,
            self.scratch, self.stack, limit, self.grounded.width, self.enough(limit), most, budget,
        )  # fmt: skip

    def counts(self, point: Point) -> bool | None:
        """Whether an allowed point has the goal; see `Witnesses.counts`."""
        if not self.grounded.aim.fuzzy and not self.question.has_goal(point):
            raise ModelError("the model's sums are not those of its cells", hint='Use oracle="smt".')
        return self.witnesses.counts(point)

    def offer(self, cells: Array, part: int) -> None:
        """Look for a nearer point with this part of the goal around these cells."""
        from mace.solve.ensembles.points.greedy import from_near

        most = -1 if self.question.most_changes is None else self.question.most_changes
        found = from_near(self.grounded, self.forest, self.limit, most, cells, part, self.deadline)
        if found is not None:
            self.take(found)

    def take(self, cells: Array) -> None:
        """Go on from these cells where they are of an allowed point with the goal that is nearer than the best one."""
        point = self.grounded.point(cells)
        if (lined := self._lined(point)) is not None:
            low = np.where(self.grounded.ground.grid, cells, np.left_shift(1, np.maximum(cells, 0)))
            point = lined.near(self.grounded.sides(low, low), point)
        self.take_point(point)

    def take_point(self, point: Point) -> None:
        """Go on from a point where it is allowed, has the goal, and is nearer than the best one."""
        near = self.question.obeys(point) and not self.bound.excludes(self.question.distance_of(point))
        if near and self.question.has_goal(point) is not False and self.witnesses.counts(point):
            self.point, self.bound = point, Bound(self.question.distance_of(point))
            self.book.settled[:] = 0

    def enough(self, limit: int) -> int:
        """The smallest open key that meets the gap."""
        upper = self.bound.distance
        allowance = max(self.gap.absolute, self.gap.relative * (upper or 0))
        if upper is None or self.point is None or not allowance:
            return limit
        return max(0, math.ceil((upper - allowance) * self.grounded.scale))

    def lower(self) -> Fraction:
        """No allowed point with the goal is closer than this: the smallest key of an open box."""
        book = self.book
        open_nodes = [*book.heap[: min(1, book.count[books.HEAP])], *book.pending[: book.count[books.WAITING]]]
        keys = [int(book.key[node]) for node in open_nodes]
        return Fraction(min(keys, default=0), self.grounded.scale)

    def bounds(self) -> tuple[Fraction, Fraction | None]:
        """What is known so far: no point is closer than the first, and there is one at the second."""
        ends = [one for one in (self.lower(), self.bound.distance) if one is not None]
        return min(ends), None if self.point is None else self.bound.distance

    def _load(self, node: int) -> Point:
        """Fill in the box of a node; returns its nearest point."""
        books.load(self.grounded.ground, self.book, node, self.box)
        walk.measure(self.grounded.ground, self.box)
        return self.grounded.nearest(self.box.low, self.box.high)

    def _settle(self) -> bool:
        """Compare pending boxes with the bound in exact numbers; whether any of them is still of interest."""
        book = self.book
        pending = book.pending[: book.count[books.WAITING]].tolist()
        book.count[books.WAITING] = 0
        alive = False
        for node in pending:
            if self.bound.excludes(self.question.distance_of(self._load(node))):
                book.state[node] = books.DISTANCE
            else:
                book.settled[node] = books.NEAR_ENOUGH
                books.push(book, node)
                alive = True
        return alive

    def _witness(self, node: int) -> None:
        """The nearest point of a box has the goal: take it if it is allowed, else look at what forbids it."""
        point = self._load(node)
        if not self.question.obeys(point):
            self._forbidden(node, point)
            return
        distance = self.question.distance_of(point)
        if not self.bound.excludes(distance):
            counts = self.counts(point)
            if counts is False:  # it is excluded now
                self._forbidden(node, point)
                return
            if counts is None:
                self.book.settled[node] = books.DOUBTED
                books.push(self.book, node)
                return
            self.point, self.bound = point, Bound(distance)
            self.book.settled[:] = 0
        self.book.state[node] = books.DISTANCE

    # ------------------------------------------------------------------------------------------ rules and exclusions

    def _forbidden(self, node: int, point: Point) -> None:
        """Close a box by a rule or an exclusion that its nearest point breaks, after what lies beyond was split off.

        The box of the node is loaded. The near side of each split has the same nearest point, with the goal: nothing
        else would close it.
        """
        lined = self._lined(point)
        if lined is not None and (node := self._together(lined, node, point)) < 0:
            return
        sides = self._sides()
        while isinstance(found := close_or_cut(self.question, sides, point), Cut):
            node = self._split(node, found.axis, found.at)
            if self.deadline.over:  # around a ball in many features there are thousands of cuts
                books.push(self.book, node)
                return
            sides = (
                *sides[: found.axis],
                _near(sides[found.axis], found.at, point[found.axis]),
                *sides[found.axis + 1 :],
            )
        self.book.state[node] = books.AVOID if found.by == "avoid" else books.RULE
        self.book.note[node] = found.number

    def _lined(self, point: Point) -> Lined | None:
        """The linear rules of the question, where a point breaks some of these and nothing else."""
        if not lines_of(self.question.rules):
            return None
        from mace.solve.ensembles.arrays.lined import Lined

        lined = Lined.of(self.question)
        return lined if lined is not None and lined.only(self.question, point) else None

    def _together(self, lined: Lined, node: int, point: Point) -> int:
        """Close a box whose nearest point breaks linear rules alone, by multipliers of these; returns -1.

        While it may hold something near enough it is cut where the nearest point that obeys lies in other cells. Where
        both lie in the same cells and the grid allows no such point, the node that is left, with its box loaded.
        """
        while True:
            sides = self._sides()
            held = lined.nearest(sides, point, self.bound.distance)
            near = point
            if not self.bound.excludes(held.bound):
                near = lined.near(sides, point)
                self.take_point(near)
            reached = self.bound.distance is not None and self.between.met(held.bound, self.bound.distance)
            reached = reached and not lined.few(sides)
            if self.bound.excludes(held.bound) or reached:
                if not self.bound.excludes(held.bound):
                    self.nearly = nearest_of(self.nearly, held.bound)
                self.book.state[node], self.book.note[node] = books.LINED, len(self.shared)
                self.shared.append(lined.proof(held, self.grounded.part))
                return -1
            if self.deadline.over:
                books.push(self.book, node)
                return -1
            cut = self._parting(point, near)
            if cut is None:
                return node
            node = self._split(node, *cut)

    def _parting(self, point: Point, near: Point) -> Cut | None:
        """The cut between a point and the cell of another one, next to that cell, on the axis where most has to move;
        None where both lie in the same cells."""
        best: tuple[Fraction, Cut] | None = None
        here, there = self.grounded.cells(point).tolist(), self.grounded.cells(near).tolist()
        for j, axis in enumerate(self.question.axes):
            if here[j] == there[j]:
                continue
            if isinstance(axis, LevelAxis):
                cut = Cut(j, 1 << point[j])
            else:
                cut = Cut(j, int(self.grounded.cuts(j)[there[j] - 1 if there[j] > here[j] else there[j]]))
            moved = abs(axis.delta(near[j]) - axis.delta(point[j]))
            if best is None or moved > best[0]:
                best = moved, cut
        return None if best is None else best[1]

    def _sides(self) -> AnyBox:
        """The loaded box in indices of the axes."""
        return self.grounded.sides(self.box.low, self.box.high)

    def _split(self, node: int, axis: int, at: int) -> int:
        """Split a node at an index (or mask) that may not be a cut of any tree; its box is loaded.

        Returns the near child, with its box loaded; the far one is open.
        """
        grounded = self.grounded
        place = np.flatnonzero(grounded.cuts(axis) == at)
        if self.book.count[books.NODES] + 2 > len(self.book.key):
            self.book = books.grown(self.book)
        if len(place):
            cut = int(place[0])
        else:
            cut = self._new_cut(axis, at)
            books.load(self.grounded.ground, self.book, node, self.box)
            walk.measure(self.grounded.ground, self.box)
        return int(books.split(self.grounded.ground, self.book, node, self.box, axis, cut, self.limit))

    def _new_cut(self, axis: int, at: int) -> int:
        norm = self.question.distance
        assert isinstance(norm, Norm)
        self.grounded, place = with_cut(self.grounded, norm, axis, at)
        if isinstance(self.question.axes[axis], GridAxis):
            self.forest = self.forest._replace(test=moved(self.forest.test, axis, place))
            used = slice(0, int(self.book.count[books.NODES]))
            later = (self.book.axis[used] == axis) & (self.book.cut[used] >= place)
            self.book.cut[used][later] += 1
        self.scratch = self._scratch()
        return place

    def proof(self) -> Proof:
        """The tree of all nodes that are needed."""
        return proof_of(self.book, self.grounded.ground, self.limit, self.shared)


def _near(side: Side, at: int, point: int) -> Side:
    """The part of a side, cut at an index or mask, that holds a point's index."""
    if isinstance(side, int):
        return side & at if at >> point & 1 else side & ~at
    return (side[0], at) if point <= at else (at + 1, side[1])
