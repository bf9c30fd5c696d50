"""Branch and bound for sums of functions of one feature or two, as additive machines are: one price for the goal.

In:  a `Plain` search that has not begun, of a question whose trees test one axis or two each.
Out: a reply, or None for any other question, and where it takes too long.
Promise: as that of the plain search; a box is closed by prices, which a checker evaluates, and which were found to
prove enough in whole numbers.

Tables of two axes are bounded from above by sums of functions of one (`mace.solve.ensembles.additive.messages`). Then
what a value costs and what it adds to the goal depends on its axis alone: to add up to the goal at the least cost is a
knapsack with choices. Under a price for the goal every axis takes its best cell by itself. A box is split where the
relaxation divides an axis between two cells, or a table is not what its bound says; what the axes take, repaired, are
points with the goal.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, overload

import numpy as np

from mace.problem.proof import Leaf, Priced, Prices, Proof, Split, preorder
from mace.problem.question import Question
from mace.solve.ensembles.additive.ladders import SumTerms, cropped, terms_of
from mace.solve.ensembles.arrays.cells import Grounded
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.terms import Bound, nearest_of
from mace.solve.ensembles.boxes.plain import Plain
from mace.solve.protocol import Reply
from mace.space.axes import Point

DIGITS = 44  # binary ones of the limit, in units of prices
NOT_THERE = 2**62
LARGEST = 2**52  # limit, in units of costs: sums of these are exact doubles
FIRST_ROUNDS, ROUNDS = 30, 6  # of messages
OFFERS = 8  # nodes in which points are looked for; later on in one of four
LEAST = 1e-3  # of the limit: what another round must raise a bound by


def separated(plain: Plain) -> Separable | None:
    """A search for such a question; None for any other."""
    if not plain.bound.distance or not 0 < plain.limit < LARGEST:
        return None
    terms = _terms(plain.question, plain.grounded)
    return None if terms is None else Separable(plain, terms)


def climbed(question: Question, grounded: Grounded) -> Point | None:
    """A first point with the goal, as far as sums of rounded numbers say; None where none was found, or looked for."""
    if (terms := _terms(question, grounded)) is None:
        return None
    from mace.solve.ensembles.additive.climbing import repaired

    ground = grounded.ground
    low, high = ground.low.astype(np.int64), ground.high.astype(np.int64)
    cost, active = _costs(grounded, terms), _active(terms, grounded, low, high)
    nearest = np.where(active, cost, NOT_THERE)
    ends = terms.first.tolist()
    places = np.array([a + int(nearest[a:b].argmin()) for a, b in pairwise(ends)])
    need = float(int(grounded.aim.need[0]) - terms.fixed)
    return _point(grounded, terms, places) if repaired(terms, cost, active, need, np.inf, places) else None


def _terms(question: Question, grounded: Grounded) -> SumTerms | None:
    """The terms of a question that is of this kind."""
    ground, aim = grounded.ground, grounded.aim
    plainly = question.most_changes is None and not question.rules and not question.avoid
    if not plainly or len(aim.need) != 1 or len(aim.begin) != 2 or ground.top.any() or ground.level_top.any():
        return None
    return terms_of(grounded)


def _active(terms: SumTerms, grounded: Grounded, low: Array, high: Array) -> Array:
    """Which cells and levels a box holds."""
    sizes, cell, grid = terms.first[1:] - terms.first[:-1], terms.cell, grounded.ground.grid[terms.axis]
    below, above = low[terms.axis].repeat(sizes), high[terms.axis].repeat(sizes)
    within = (cell >= below) & (cell <= above)
    if not grid.all():
        ordered = grid.repeat(sizes)
        within = np.where(ordered, within, below >> np.where(ordered, 0, cell) & 1 == 1)
    return np.asarray(within)


def _point(grounded: Grounded, terms: SumTerms, places: Array) -> Point:
    """The point in these cells that is nearest to the start; on other axes it is as near as it may be."""
    low, high = grounded.ground.low.astype(np.int64), grounded.ground.high.astype(np.int64)
    chosen, ordered = terms.cell[places], grounded.ground.grid[terms.axis]
    low[terms.axis] = np.where(ordered, chosen, np.int64(1) << np.where(ordered, 0, chosen))
    high[terms.axis] = np.where(ordered, chosen, high[terms.axis])
    return grounded.nearest(low, high)


class PriceRows(Sequence[tuple[int, int, int]]):
    """Rows of three numbers, made Python's own when they are written."""

    def __init__(self, rows: Array) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> tuple[int, int, int]: ...
    @overload
    def __getitem__(self, place: slice) -> PriceRows: ...
    def __getitem__(self, place: int | slice) -> Any:
        return PriceRows(self.rows[place]) if isinstance(place, slice) else tuple(self.rows[place].tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PriceRows) and np.array_equal(self.rows, other.rows)

    def __hash__(self) -> int:
        return hash(self.rows.tobytes())

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        return map(tuple, self.rows.tolist())


@dataclass(slots=True)
class SeparableNode:
    """A box of cells; near: its own scaled distance, bound: of what it holds (a float), message and price: of the goal,
    that prove it. What it is split by, or closed by, is there once it is: `rows` of prices, or `proof` for what another
    search closed; no message is left of what prices closed (`priced`). cut: where it may be split, an axis and a cut of
    it (a mask of levels)."""

    low: Array
    high: Array
    near: int
    bound: float
    message: Array
    price: float
    cut: tuple[int, int] | None = None
    split: Split | None = None
    children: tuple[SeparableNode, ...] = ()
    rows: Array | None = None
    far: bool = False
    priced: bool = False
    proof: Proof | None = None


class Separable:
    """One search."""

    def __init__(self, plain: Plain, terms: SumTerms) -> None:
        from mace.solve.ensembles.additive import climbing, messages, payments
        from mace.solve.ensembles.boxes.stalled import PlainHost  # late: most searches end without

        self.climbing, self.messages, self.payments = climbing, messages, payments
        self.plain, self.terms, self.host = plain, terms, PlainHost(plain)
        self.grounded: Grounded = plain.grounded
        self.need = int(self.grounded.aim.need[0]) - terms.fixed
        self.ordered = self.grounded.ground.grid[terms.axis]
        self.cost = _costs(self.grounded, terms)
        # What is farther is as good as there: so units of prices fit into whole numbers.
        self.capped = np.minimum(self.cost, 4 * plain.limit)
        self.bits = max(0, DIGITS - plain.limit.bit_length())
        self.unit = 1 << self.bits  # of costs, in units of prices
        # What is searched is what the first ball has by itself; what is proved is about all.
        ground = self.grounded.ground
        active = _active(terms, self.grounded, ground.low, ground.high)
        nearest = np.minimum.reduceat(np.where(active, self.cost, NOT_THERE), terms.first[:-1])
        own = self.cost - np.repeat(nearest, np.diff(terms.first))
        kept = active & (own < plain.limit - self.host.key_of(ground.low, ground.high))
        self.near: SumTerms = cropped(terms, kept) if kept.any() else terms
        self.near_cost: Array = self.cost[kept] if kept.any() else self.cost
        self.every = np.ones(len(self.near_cost), bool)
        self.limit, self.nodes, self.stopped = plain.limit, 0, False
        self.root: SeparableNode | None = None
        self.heap: list[tuple[float, int, SeparableNode]] = []
        self.doubtful: Fraction | None = None

    def run(self, most: int) -> bool:
        """Whether every box is closed, or the gap is met; else the deadline is over, or there are so many nodes.

        Nothing is done once the plain search has cut its axes anew, since cells are others then.
        """
        if self.plain.grounded is not self.grounded:
            return False
        if self.root is None:
            ground = self.grounded.ground
            low, high = ground.low.astype(np.int64), ground.high.astype(np.int64)
            self.root = SeparableNode(low, high, self.host.key_of(low, high), 0.0, np.zeros(len(self.terms.gain)), 0.0)
            self._look(self.root, FIRST_ROUNDS)
            self._push(self.root)
        self.limit = self.plain.limit
        ended = self._ended(most)
        self.plain.book.settled[:] = 0  # its bound may be another one now
        return ended

    def _ended(self, most: int) -> bool:
        # Invariant: every point of interest lies in a box of the heap, or in one whose doubtful points are noted.
        while self.heap:
            key = self.heap[0][0]
            enough = self.plain.enough(self.limit)
            if enough < min(key, self.limit) and self._prove(enough):
                return True
            if self.stopped or self.plain.deadline.over or self.nodes > most:
                return False
            _, _, node = heapq.heappop(self.heap)  # which may be another one, after `_prove`
            if not self._closed(node):
                self._divide(node)
        return True

    def _prove(self, enough: int) -> bool:
        """Whether prices prove so much of every open box; a box of which they prove less is searched on.

        They may prove nothing of a box whose bound is large: sums beyond whole numbers of 64 bits.
        """
        weak = False
        for place, (_, number, node) in enumerate(self.heap):
            if not self._closed(node) and (proved := self._proved(node)) < enough:
                node.bound, weak = float(proved), True
                self.heap[place] = (node.bound, number, node)
        heapq.heapify(self.heap)
        return not weak

    def reply(self) -> Reply:
        """What is known where the search has ended, or at any time before."""
        assert self.root is not None
        plain, open_ = self.plain, [node for _, _, node in self.heap if not self._closed(node)]
        plain.relaxations = self.nodes
        lower = Fraction(min(map(self._proved, open_)), self.grounded.scale) if open_ else None
        if lower is not None and plain.deadline.over:
            plain.why = plain.deadline.why
        return plain.said(self.doubtful, lower, preorder(self.root, self._closing))

    def _push(self, node: SeparableNode) -> None:
        if not self._closed(node):
            self.nodes += 1
            heapq.heappush(self.heap, (max(node.bound, node.near), -self.nodes, node))

    def _divide(self, node: SeparableNode) -> None:
        """Split a box and note its sides, or let the plain search close it."""
        cut = node.cut or self._any_cut(node)
        if cut is None:
            closing = self.host.attempt(node.low, node.high, None)
            node.proof, self.stopped, self.limit = closing.proof, closing.proof is None, self.plain.limit
            self.doubtful = nearest_of(self.doubtful, closing.doubtful)
            if self.stopped:
                self._push(node)
            return
        axis, place = cut
        ground = self.grounded.ground
        low, high = node.low.copy(), node.high.copy()
        if ground.grid[axis]:
            node.split = Split(axis, int(ground.at[ground.base[axis] + place]))
            high[axis], low[axis] = place, place + 1
            sides = ((node.low, high), (low, node.high))
        else:
            node.split = Split(axis, place)
            other = node.low.copy()
            low[axis], other[axis] = int(low[axis]) & place, int(low[axis]) & ~place
            sides = ((low, node.high), (other, node.high))
        node.children = tuple(
            SeparableNode(a, b, self.host.key_of(a, b), node.bound, node.message.copy(), node.price) for a, b in sides
        )
        node.message = node.message[:0]
        for child in node.children:
            self._look(child, ROUNDS)
            self._push(child)

    # ------------------------------------------------------------------------------------------ bounds

    def _closes(self, bound: float) -> bool:
        """Whether no point of interest is that far away; between whole distances there is none."""
        limit = self.limit
        return bound > limit - 1 if self.grounded.width == 0 else bound >= limit

    def _look(self, node: SeparableNode, rounds: int) -> None:
        """Bound a box, and look for points around what its axes take."""
        limit = self.limit
        if node.near >= limit:
            return
        room = float(limit - node.near)
        target = room * (1 + 1e-6) if self.grounded.width else room - 1 + min(0.5, 1e-6 * room)
        active = _active(self.near, self.grounded, node.low, node.high)
        inside = self.messages.inside_of(self.near, self.near_cost, active, room)
        found = self.messages.evaluate(
            self.near, inside, float(self.need - 1), node.message, node.price or self._first_price(room), room,
            target, rounds, LEAST * room,
        )  # fmt: skip
        node.price = float(found.price)
        node.bound = max(node.bound, node.near + float(found.bound))
        node.cut = self._cut(int(found.axis), int(found.one), int(found.other))
        if not self._closes(node.bound) and (self.nodes < OFFERS or self.nodes % 4 == 0):
            for point in (found.right, found.left):
                self._offer(point)

    def _first_price(self, room: float) -> float:
        """Some price, of the right size."""
        return room / (float(np.abs(self.terms.whole).max(initial=0.0)) + abs(float(self.need)) + 1.0)

    def _cut(self, place: int, one: int, other: int) -> tuple[int, int] | None:
        """Where an axis, by place, is split between two cells, by place: beside the first one."""
        if place < 0:
            return None
        axis, first, second = int(self.near.axis[place]), int(self.near.cell[one]), int(self.near.cell[other])
        if not self.ordered[place]:
            return axis, 1 << first
        return axis, (first + second) // 2 if first != second else first

    def _any_cut(self, node: SeparableNode) -> tuple[int, int] | None:
        """An axis with more than one cell and a cut of it; None if there is none."""
        for axis in self.terms.axis.tolist():
            low, high = int(node.low[axis]), int(node.high[axis])
            if self.grounded.ground.grid[axis] and low < high:
                return axis, low + (high - low) // 2
            if not self.grounded.ground.grid[axis] and low & (low - 1):
                return axis, low & -low
        return None

    def _offer(self, places: Array) -> None:
        """Take a point near what axes take, if it is nearer and has the goal."""
        plain = self.plain
        # What costs as much as the best point known, but for rounding, is most often that point.
        limit = float(self.limit - self.grounded.width)
        if not self.climbing.repaired(self.near, self.near_cost, self.every, float(self.need), limit, places):
            return
        point = _point(self.grounded, self.near, places)
        near = plain.question.obeys(point) and not plain.bound.excludes(plain.question.distance_of(point))
        if near and plain.question.has_goal(point) is not False and plain.witnesses.counts(point):
            plain.point, plain.bound = point, Bound(plain.question.distance_of(point))
            self.limit = plain.limit

    # ------------------------------------------------------------------------------------------ what was proved

    def _closed(self, node: SeparableNode) -> bool:
        """Whether nothing in a box is of interest, and that is proved."""
        limit = self.limit
        if node.near >= limit:
            return True
        if node.near + self.grounded.width >= limit:  # exact numbers decide
            nearest = self.grounded.nearest(node.low, node.high)
            if self.plain.bound.excludes(self.plain.question.distance_of(nearest)):
                node.far = True
                return True
        if not self._closes(node.bound):
            return False
        if node.priced:
            return True
        proved, rows = self._paid(node)
        if proved < (limit * self.unit if self.grounded.width else (limit - 1) * self.unit + 1):
            return False
        # What proved less of it before may have been its distance alone.
        node.far, node.priced, node.rows, node.message = False, True, rows, node.message[:0]
        return True

    def _proved(self, node: SeparableNode) -> int:
        """The scaled distance that is proved of an open box, by its prices or by its own distance."""
        proved, rows = self._paid(node)
        # Between whole distances there is none.
        key = proved // self.unit if self.grounded.width else -(-proved // self.unit)
        node.far = key <= node.near
        if not node.far:
            node.rows = rows
        return max(key, node.near)

    def _paid(self, node: SeparableNode) -> tuple[int, Array]:
        """What the prices of a box prove in whole units, and these prices."""
        room = float(self.limit - node.near)
        active = _active(self.terms, self.grounded, node.low, node.high)
        inside = self.messages.inside_of(self.terms, self.cost, active, room)
        found = self.payments.paid(
            self.terms, inside, self.capped, active, self.ordered, node.message, node.price * self.unit,
            float(self.need - 1), self.unit, room,
        )  # fmt: skip
        near = np.minimum.reduceat(np.where(active, self.cost, NOT_THERE), self.terms.first[:-1])
        return int(found.bound) + (node.near - int(near.sum())) * self.unit, found.rows

    def _closing(self, node: SeparableNode) -> Leaf | Priced:
        """How a box closes, at the bound that is claimed."""
        if node.far or node.near >= self.limit or node.rows is None:
            return Leaf("distance")
        goal = Fraction(node.price) * Fraction(2) ** self.grounded.aim.exponent / self.grounded.scale
        return Priced((Prices((goal,), {}, Fraction(1, self.grounded.scale * self.unit), PriceRows(node.rows)),))


def _costs(grounded: Grounded, terms: SumTerms) -> Array:
    """The scaled cost of every cell and level."""
    ground, found = grounded.ground, []
    for j, size in zip(terms.axis.tolist(), np.diff(terms.first).tolist(), strict=True):
        cost = np.zeros(size, np.int64)
        if ground.grid[j]:
            start, part = int(ground.start[j]), ground.part[ground.base[j] : ground.base[j] + size - 1]
            cost[start + 1 :], cost[:start] = part[start:], part[:start]
        else:
            cost[:] = ground.level_part[j, :size]
        found.append(cost)
    return np.concatenate(found)
