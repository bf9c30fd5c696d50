"""Branch and bound for sums of functions of one feature each, as additive machines are: one price for the goal.

In:  a `Plain` search that has not begun, of a question whose trees test one ordered axis each, and each axis one tree.
Out: a reply, or None for any other question, and where it takes too long.
Promise: as that of the plain search; boxes are closed by the prices of `mace.solve.ensembles.relaxation`, which a
checker evaluates.

What a value costs and what it adds to the goal depends on its axis alone: to add up to the goal at the least cost is a
knapsack with choices. Under a price for the goal every axis takes its best cell by itself, and the price at which this
is the most is that of the linear relaxation: no search for other prices is needed, for those of the sides of cuts are
the costs of crossing them. The relaxation divides one axis at most between two cells; there the box is split, and the
dearer of both is a point with the goal.
Source: Sinha, Zoltners 1979, "The multiple-choice knapsack problem".
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.problem.proof import Leaf, Priced, Prices, Proof, Split, preorder
from mace.solve.ensembles.cells import NO_TURN, Forest, Grounded
from mace.solve.ensembles.cuts import Array
from mace.solve.ensembles.plain import Bound, Plain
from mace.solve.ensembles.stalled import Boxes
from mace.solve.protocol import Reply

MOST_NODES = 20_000
STEPS = 200  # towards the best price for the goal
UNIT = 2.0**-50  # of rounding, several times over


def separated(plain: Plain) -> Reply | None:
    """The reply of a search for such a question; None for any other, and where it takes too long."""
    question, ground, forest = plain.question, plain.grounded.ground, plain.grounded.forest
    plainly = question.most_changes is None and not question.rules and not question.avoid
    if (
        not plainly
        or not plain.bound.distance
        or len(plain.grounded.aim.need) != 1
        or len(plain.grounded.aim.begin) != 2
    ):
        return None
    if ground.top.any() or ground.level_top.any() or (ground.turn != NO_TURN).any():
        return None
    axes = _axes(forest)
    if axes is None or not ground.grid[axes[axes >= 0]].all():
        return None
    terms = [_term(plain.grounded, t, int(axes[t])) for t in np.flatnonzero(axes >= 0).tolist()]
    found = [term for term in terms if term is not None]
    return Separable(plain, found).reply() if found and len(found) == len(terms) else None


def _axes(forest: Forest) -> Array | None:
    """The axis that each tree tests, -1 for none; None where a tree tests several, or several trees test one."""
    axes = forest.test[forest.roots, 0]
    tested = axes[axes >= 0]
    below = forest.test[forest.test[forest.roots[axes >= 0], 2:], 0]
    # Nearly all models are told by the first tests of their trees.
    if len(np.unique(tested)) < len(tested) or ((below >= 0) & (below != tested[:, None])).any():
        return None
    sizes = np.diff(forest.roots, append=len(forest.test))
    other = (forest.test[:, 0] >= 0) & (forest.test[:, 0] != np.repeat(axes, sizes))
    return None if other.any() else np.asarray(axes)


class Term(NamedTuple):
    """One axis and its tree. cost, gain: of every cell, scaled; below, above: (cuts,) nodes of the tree, by side."""

    axis: int
    tree: int
    cost: Array
    gain: Array
    below: Array
    above: Array


def _term(grounded: Grounded, tree: int, axis: int) -> Term | None:
    """The term of a tree; None where some cut of the axis is not the tree's."""
    ground, forest = grounded.ground, grounded.forest
    root = int(forest.roots[tree])
    end = int(forest.roots[tree + 1]) if tree + 1 < len(forest.roots) else len(forest.test)
    cuts, start = len(grounded.cuts(axis)), int(ground.start[axis])
    below, above = np.full(cuts, -1), np.full(cuts, -1)
    inner = root + np.flatnonzero(forest.test[root:end, 0] >= 0)
    inner = inner[(forest.test[inner, 1] >= 0) & (forest.test[inner, 1] < cuts)]  # others lie outside of the range
    below[forest.test[inner, 1]] = forest.test[inner, 2] - root
    above[forest.test[inner, 1]] = forest.test[inner, 3] - root
    if (below[int(ground.low[axis]) : int(ground.high[axis])] < 0).any():
        return None
    cells = np.arange(cuts + 1)
    node = np.full(cuts + 1, root)
    while len(here := np.flatnonzero(forest.test[node, 0] >= 0)):
        test = forest.test[node[here]]
        node[here] = np.where(cells[here] <= test[:, 1], test[:, 2], test[:, 3])
    part = ground.part[ground.base[axis] : ground.base[axis] + cuts]
    cost = np.zeros(cuts + 1, np.int64)
    cost[start + 1 :], cost[:start] = part[start:], part[:start]
    return Term(axis, tree, cost, forest.gain[0][node], below, above)


@dataclass(slots=True)
class Node:
    """A box of cells; near: its own scaled distance, price: of the goal. What it is split by, or closed by, is there
    once it is: `proof` for what another search closed."""

    low: Array
    high: Array
    near: int
    price: float
    split: Split | None = None
    children: tuple[Node, ...] = ()
    proof: Proof | None = None


class Best(NamedTuple):
    """The best price for the goal of a box, what it proves (rounded down), and the cells that the terms take.

    divided: the term that the relaxation divides, -1 for none, and the cell that it takes with the others, `cells`, as
    long as the goal is not reached.
    """

    price: float
    bound: float
    cells: Array
    divided: int
    other: int


class Taken(NamedTuple):
    """What the terms take at a price, by place among all cells: the bound, and what is missing to the goal."""

    price: float
    bound: float
    missing: float
    places: Array


class Separable:
    """One search."""

    def __init__(self, plain: Plain, terms: list[Term]) -> None:
        self.plain, self.terms, self.host = plain, terms, Boxes(plain)
        self.grounded = plain.grounded
        forest = self.grounded.forest
        trees = {term.tree for term in terms}
        fixed = sum(int(forest.gain[0][root]) for t, root in enumerate(forest.roots.tolist()) if t not in trees)
        self.need = float(int(self.grounded.aim.need[0]) - 1 - fixed)
        # All cells that lie in the ball by themselves, one term after the other.
        limit, sides = plain.limit, [len(term.cost) for term in terms]
        axis = np.repeat(np.arange(len(terms)), sides)
        cell = np.concatenate([np.arange(side) for side in sides])
        cost, gain = (np.concatenate([getattr(term, name) for term in terms]) for name in ("cost", "gain"))
        kept = cost < limit
        self.term, self.cell = axis[kept], cell[kept]
        self.cost, self.gain = cost[kept].astype(np.float64), gain[kept].astype(np.float64)
        self.begin = np.searchsorted(self.term, np.arange(len(terms)))
        self.axes = np.array([term.axis for term in terms])
        self.nodes = 0
        self.doubtful: Fraction | None = None

    def reply(self) -> Reply | None:
        """Search to the end; None where that takes too long."""
        ground = self.grounded.ground
        low, high = ground.low.astype(np.int64), ground.high.astype(np.int64)
        root = Node(low, high, self.host.key_of(low, high), 0.0)
        heap: list[tuple[float, int, Node]] = []
        self._open(root, heap)
        # Invariant: every point of interest lies in a box of the heap, or in one whose doubtful points are noted.
        while heap:
            _, _, node = heapq.heappop(heap)
            if self.plain.deadline.over or self.nodes > MOST_NODES:
                return None
            self._open(node, heap)
        self.plain.relaxations = self.nodes
        return self.plain.said(self.doubtful, None, preorder(root, self._closing))

    def _open(self, node: Node, heap: list[tuple[float, int, Node]]) -> None:
        """Close a box, or split it and note its sides."""
        if node.near >= self.plain.limit:
            return
        best = self._best(node)
        node.price = best.price
        if self._closes(best.bound):
            return
        self._offer(node, best.cells)
        if self._closes(best.bound) or node.near >= self.plain.limit:
            return
        cut = self._cut(node, best)
        if cut is None:
            closing = self.host.attempt(node.low, node.high, None)
            node.proof = closing.proof
            if closing.doubtful is not None:
                self.doubtful = min(self.doubtful or closing.doubtful, closing.doubtful)
            return
        axis, place = cut
        node.split = Split(axis, int(self.grounded.ground.at[self.grounded.ground.base[axis] + place]))
        low, high = node.low.copy(), node.high.copy()
        high[axis], low[axis] = place, place + 1
        sides = ((node.low, high), (low, node.high))
        node.children = tuple(Node(a, b, self.host.key_of(a, b), best.price) for a, b in sides)
        for child in node.children:
            self.nodes += 1
            heapq.heappush(heap, (max(best.bound, child.near), self.nodes, child))

    # ------------------------------------------------------------------------------------------ bounds

    def _closes(self, bound: float) -> bool:
        """Whether no point of interest is that far away; between whole distances there is none."""
        limit = self.plain.limit
        return bound > limit - 1 if self.grounded.width == 0 else bound >= limit

    def _best(self, node: Node) -> Best:
        """The best price of a box, by the tangents on both sides of it."""
        inside = (self.cell >= node.low[self.axes][self.term]) & (self.cell <= node.high[self.axes][self.term])
        near = np.minimum.reduceat(np.where(inside, self.cost, np.inf), self.begin)
        # A cell is not reached whose cost is too much beside that of the box.
        inside &= self.cost - near[self.term] < self.plain.limit - node.near
        places = np.flatnonzero(inside)
        cost, gain = self.cost[places], self.gain[places]
        begin = np.searchsorted(self.term[places], np.arange(len(self.terms)))
        rest, owner = float(node.near) - float(near.sum()), self.term[places]
        size = float(np.maximum.reduceat(np.abs(cost), begin).sum()) + abs(rest)
        pull = float(np.maximum.reduceat(np.abs(gain), begin).sum()) + abs(self.need) + len(begin)

        def taken(price: float) -> Taken:
            worth = cost - price * gain
            least = np.minimum.reduceat(worth, begin)
            chosen = np.flatnonzero(worth == least[owner])
            # Of cells that are worth the same the one that adds most.
            order = np.lexsort((-gain[chosen], owner[chosen]))
            chosen = chosen[order][np.searchsorted(owner[chosen[order]], np.arange(len(begin)))]
            bound = float(least.sum()) + price * self.need + rest
            missing = self.need - float(gain[chosen].sum())
            margin = (len(begin) + 8) * UNIT * (size + price * pull)
            return Taken(price, bound - margin, missing, places[chosen])

        left = taken(0.0)
        if left.missing <= 0:
            return self._rounded(left, left, left)
        right = taken(node.price or float(self.plain.limit) / pull)
        for _ in range(STEPS):  # until the goal is reached, or the bound is beyond all that is of interest
            if right.missing <= 0 or self._closes(right.bound):
                break
            left, right = right, taken(2 * right.price)
        if right.missing > 0:
            return self._rounded(right, right, right)
        best = max(left, right, key=lambda one: one.bound)
        for _ in range(STEPS):
            price = (right.bound - left.bound + left.missing * left.price - right.missing * right.price) / (
                left.missing - right.missing
            )
            if not left.price < price < right.price:
                break
            middle = taken(price)
            best = max(best, middle, key=lambda one: one.bound)
            if np.array_equal(middle.places, left.places) or np.array_equal(middle.places, right.places):
                break
            left, right = (left, middle) if middle.missing <= 0 else (middle, right)
        return self._rounded(best, left, right)

    def _rounded(self, best: Taken, left: Taken, right: Taken) -> Best:
        """The cells on both sides of the best price, exchanged one by one until the goal is reached."""
        cells, divided, other = left.places.copy(), -1, -1
        missing = left.missing
        for term in np.flatnonzero(left.places != right.places).tolist():
            if missing <= 0:
                break
            divided, other = term, int(self.cell[cells[term]])
            missing += float(self.gain[cells[term]] - self.gain[right.places[term]])
            cells[term] = right.places[term]
        return Best(best.price, best.bound, self.cell[cells], divided, other)

    def _cut(self, node: Node, best: Best) -> tuple[int, int] | None:
        """An axis and a cut of it: where the relaxation is divided, else beside a cell that it takes; None if every
        axis has one cell."""
        if best.divided >= 0:
            one, other = int(best.cells[best.divided]), best.other
            return int(self.axes[best.divided]), one - 1 if one > other else one
        for axis, cell in zip(self.axes.tolist(), best.cells.tolist(), strict=True):
            if node.low[axis] < node.high[axis]:
                return axis, cell - 1 if cell > node.low[axis] else cell
        return None

    def _offer(self, node: Node, cells: Array) -> None:
        """Take the point of a box in these cells, if it is nearer and has the goal."""
        plain = self.plain
        low, high = node.low.copy(), node.high.copy()
        low[self.axes] = high[self.axes] = cells
        if self.host.key_of(low, high) >= plain.limit:
            return
        point = self.grounded.nearest(low, high)
        near = plain.question.obeys(point) and not plain.bound.excludes(plain.question.distance_of(point))
        if near and plain.question.has_goal(point) is not False and plain.witnesses.counts(point):
            plain.point, plain.bound = point, Bound(plain.question.distance_of(point))

    # ------------------------------------------------------------------------------------------ what was proved

    def _closing(self, node: Node) -> Leaf | Priced:
        """How a box closes, at the bound that is claimed."""
        return Leaf("distance") if node.near >= self.plain.limit else Priced((self._prices(node),))

    def _prices(self, node: Node) -> Prices:
        """What it costs to cross each cut of a box away from the start, and the price for the goal."""
        start, room = self.grounded.ground.start, self.plain.limit - node.near
        trees, nodes, prices = [], [], []
        for term in self.terms:
            low, high = int(node.low[term.axis]), int(node.high[term.axis])
            cuts = np.arange(low, high)
            away = cuts >= start[term.axis]
            far, back = np.where(away, cuts + 1, cuts), np.where(away, cuts, cuts + 1)
            price = term.cost[far] - term.cost[back]
            kept = price > 0
            kept &= term.cost[far] - term.cost[low : high + 1].min() < room  # what lies beyond is not reached
            nodes.append(np.where(away, term.above[cuts], term.below[cuts])[kept])
            prices.append(price[kept])
            trees.append(np.full(len(prices[-1]), term.tree))
        tree, side, price = (np.concatenate(one) for one in (trees, nodes, prices))
        order = np.lexsort((side, tree))
        written = zip(tree[order].tolist(), side[order].tolist(), price[order].tolist(), strict=True)
        goal = Fraction(node.price) * Fraction(2) ** self.grounded.aim.exponent / self.grounded.scale
        return Prices((goal,), {}, Fraction(1, self.grounded.scale), tuple(written))
