"""Nodes of the network prover's search: a box, its arrays, what is known of hidden units, and points on its grid.

In:  a question's `Witnesses`.    Out: a `Frame`: the root, children of a node, grid points near relaxed ones.
Promise: a node's exact box and its arrays describe the same points; arrays are cut to balls, boxes are not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from mace.base.exact import exact, float_to_rank, floats_to_ranks, nearest, rank_to_float, ranks_to_floats
from mace.problem.proof import Phase, Split
from mace.problem.question import Question
from mace.solve.networks.exact import prepared
from mace.solve.networks.kernels import INFINITY
from mace.solve.networks.model import FLOATS, Array, Hull, Units, narrowed
from mace.solve.networks.multipliers import Tight
from mace.solve.networks.relax import Relaxed
from mace.solve.witnesses import Witnesses
from mace.space.axes import Axis, Box, GridAxis, Point, Side, whole

FEW = 2**30  # steps: of a place among so many, doubles keep more than `ON`
CELL = 1e-9  # seconds, and rather more than less, that a pivot takes for each number of its tableau
ON = 1e-6  # of a step: a relaxed value that is nearer to a multiple is that multiple


@dataclass(eq=False)
class Node:
    """A node of the branch and bound: a box and phases, what its relaxation said, how it was closed or split.

    box: exact, for the proof. hull: the same box cut to the ball, for the compiled loops.
    closed: how the node ended, None while it is open or if it has children.
    tight: why its bounds of hidden units are narrower than its box and phases alone make them, in order;
            None where nobody has tried.
    """

    box: Box
    hull: Hull
    units: Units
    bound: float = 0.0
    radius: Fraction = Fraction(0)
    duals: dict[int, Relaxed] = field(default_factory=dict)
    point: Array | None = None
    loss: Array | None = None
    scores: Array | None = None
    split: Split | Phase | None = None
    children: list[Node] = field(default_factory=list)
    closed: str = ""
    number: int = 0
    tight: list[Tight] | None = None

    def copy(self) -> Node:
        """A node of its own with the same arrays and children."""
        return replace(self, hull=Hull(*map(np.copy, self.hull)), units=Units(*map(np.copy, self.units)))


class Frame:
    """A question as nodes see it: its arrays, its axes, and what is excluded from it by now."""

    def __init__(self, witnesses: Witnesses) -> None:
        self.witnesses = witnesses
        self.numbers, self.exact = prepared(witnesses.question)
        # Of axes of doubles, what turns a change into a value, nearly.
        self._doubles = [
            (nearest(axis.start_value), nearest(axis.scale))
            if isinstance(axis, GridAxis) and axis.grid.kind == "float64"
            else None
            for axis in witnesses.question.axes
        ]
        # The same of all axes at once, where each is one of doubles, and the indices: lower, upper, start.
        self.all_doubles: Array | None = None
        if self._doubles and all(self._doubles):
            self.all_doubles = np.array(self._doubles).T
            self.indices = np.array([(axis.lower, axis.upper, axis.start) for axis in grids(witnesses.question)]).T
        # The same where each is a grid of multiples of one step: there doubles know their places to well below a step.
        self.all_multiples = bool(self._doubles) and all(map(_multiples, witnesses.question.axes))
        if self.all_multiples:
            self.indices = np.array([(axis.lower, axis.upper, axis.start) for axis in grids(witnesses.question)]).T
        self.stepped = not any(self.numbers.axes.kind == FLOATS)  # whether every feature has few values, or steps
        # How many features may change, and whether that is less than all of them.
        self.most, self.sparse = float(self.exact.most), self.exact.most < len(witnesses.question.axes)
        self._root: Node | None = None
        self._changes: dict[tuple[int, int], float] = {}

    @property
    def question(self) -> Question:
        """The question, with what the deployed model has refused by now among its exclusions."""
        return self.witnesses.question

    def cells(self, node: Node | None = None) -> int:
        """About how many numbers the tableau of a node's program has; without a node, at most."""
        features, net = len(self.question.axes), self.numbers.net
        hidden = int(net.size[net.relu].sum()) if node is None else self.unsettled(node)
        return (2 * features + hidden) * (features + 2 * hidden)

    def unsettled(self, node: Node) -> int:
        """How many hidden units may be on or off in a node."""
        return int(np.count_nonzero((node.units.L < 0.0) & (node.units.U > 0.0) & self.numbers.net.relu[:, None]))

    def values_left(self, node: Node) -> list[int]:
        """How many values a node's box has left of each feature."""
        return [s[1] - s[0] + 1 if isinstance(s, tuple) else s.bit_count() for s in node.box]

    def first_node(self) -> Node:
        """The box of all allowed points; a copy that its taker may change."""
        if self._root is None:
            n, axes = self.numbers, self.question.axes
            H, N = n.net.B.shape[0] - 1, n.net.B.shape[1]
            hull = Hull(np.zeros(len(axes)), np.zeros(len(axes)), np.ones(len(n.axes.change), dtype=np.bool_))
            units = Units(np.full((H, N), -INFINITY), np.full((H, N), INFINITY), np.zeros((H, N), dtype=np.int64))
            self._root = Node(whole(self.question.axes), hull, units)
            self.enclose_all(self._root, self._root.box)
        root = self._root
        return Node(root.box, Hull(*map(np.copy, root.hull)), Units(*map(np.copy, root.units)))

    def restrict(self, node: Node, j: int, side: Side) -> None:
        """Give one axis of a node another side, in the exact box and in the arrays."""
        node.box = (*node.box[:j], side, *node.box[j + 1 :])
        self.enclose(node, j, side)

    def enclose(self, node: Node, j: int, side: Side) -> None:
        """Give one axis of a node's arrays another side."""
        axis, first = self.question.axes[j], self.numbers.axes.first[j]
        if isinstance(axis, GridAxis):
            assert isinstance(side, tuple)
            node.hull.lo[j], node.hull.hi[j] = self.change(j, side[0]), self.change(j, side[1])
        else:
            assert isinstance(side, int)
            node.hull.on[first : first + axis.count] = [bool(side >> level & 1) for level in range(axis.count)]

    def enclose_all(self, node: Node, box: Box) -> None:
        """Give all axes of a node's arrays the sides of a box."""
        if self.all_doubles is not None:
            ends = list(zip(*box, strict=True))
            node.hull.lo[:], node.hull.hi[:] = self.changes(ends[0]), self.changes(ends[1])
            return
        for j, side in enumerate(box):
            self.enclose(node, j, side)

    def change(self, j: int, index: int) -> float:
        """The signed scaled change of a grid axis, but for a few roundings, that `model._rough` counts."""
        if (j, index) not in self._changes:
            axis = self.question.axes[j]
            assert isinstance(axis, GridAxis)
            double, change = self._doubles[j], math.inf
            if double is not None:  # three roundings, of the scale, the difference and the quotient
                change = (rank_to_float(index) - double[0]) / double[1]
            if not math.isfinite(change):
                change = nearest((axis.value(index) - axis.start_value) / axis.scale) if index != axis.start else 0.0
            self._changes[j, index] = change
        return self._changes[j, index]

    def changes(self, point: Point) -> Array:
        """The changes of a point, shape (axes,), where each axis is a grid; 0 for others."""
        if self.all_doubles is not None:
            with np.errstate(over="ignore"):
                found: Array = (ranks_to_floats(point) - self.all_doubles[0]) / self.all_doubles[1]
            if np.isfinite(found).all():
                return found
        axes = self.question.axes
        return np.array([self.change(j, k) if isinstance(axes[j], GridAxis) else 0.0 for j, k in enumerate(point)])

    def rounded(self, x: Array, outward: bool) -> Point:
        """A grid point near a relaxed one: away from the start if `outward`, else the nearest step, or the next float
        towards the start: with a huge weight every float shows in the distance.
        """
        if self.all_doubles is not None:
            lower, upper, start = self.indices
            with np.errstate(over="ignore"):
                near = floats_to_ranks(self.all_doubles[0] + x * self.all_doubles[1])
            way = np.sign(x).astype(np.int64)
            if outward:
                moved = near + way
            else:
                beyond = np.abs(ranks_to_floats(near) - self.all_doubles[0]) > np.abs(x * self.all_doubles[1])
                moved = near - way * beyond
            return tuple(np.where(x == 0.0, start, np.clip(moved, lower, upper)).tolist())
        if self.all_multiples:
            return self._rounded_to_multiples(x, outward)
        n, indices = self.numbers, []
        for j, axis in enumerate(self.question.axes):
            first = int(n.axes.first[j])
            if not isinstance(axis, GridAxis):
                indices.append(int(np.argmax(x[first : first + axis.count])))
                continue
            change = float(x[first])
            if change == 0.0:
                indices.append(axis.start)
                continue
            if (double := self._doubles[j]) is not None:
                rank, step = float_to_rank(double[0] + change * double[1]), 1 if change > 0 else -1
                if outward:
                    rank += step
                elif abs(rank_to_float(rank) - double[0]) > abs(change * double[1]):
                    rank -= step
                indices.append(min(max(rank, axis.lower), axis.upper))
                continue
            value = axis.start_value + exact(change) * axis.scale
            low = axis.grid.floor(value)
            if axis.grid.value(low) == value:
                index = low
            elif outward or axis.grid.kind != "step":
                index = low + ((change > 0) == outward)
            else:
                index = low if value - axis.grid.value(low) <= axis.grid.value(low + 1) - value else low + 1
            indices.append(min(max(index, axis.lower), axis.upper))
        return tuple(indices)

    def _rounded_to_multiples(self, x: Array, outward: bool) -> Point:
        """`rounded`, where every axis is a grid of multiples of one step."""
        n, (lower, upper, start) = self.numbers.axes, self.indices
        places = n.offset + x * n.steps
        near = np.rint(places)
        # Of two multiples that are as near, the lower one.
        wanted = np.where(x > 0.0, np.ceil(places), np.floor(places)) if outward else np.ceil(places - 0.5)
        moved = np.clip(np.where(np.abs(places - near) < ON, near, wanted), lower, upper).astype(np.int64)
        return tuple(np.where(x == 0.0, start, moved).tolist())

    def child(self, node: Node, split: Split | Phase, side: int) -> Node:
        """One half of a split node."""
        child = Node(node.box, Hull(*map(np.copy, node.hull)), narrowed(node.units, split, side))
        if isinstance(split, Split):
            self.restrict(child, split.axis, halves(node.box[split.axis], split.at)[side])
        return child


def grids(question: Question) -> list[GridAxis]:
    """The axes that are grids."""
    return [axis for axis in question.axes if isinstance(axis, GridAxis)]


def _multiples(axis: Axis) -> bool:
    """Whether an axis is a grid of multiples of one step, not too many for doubles to tell them apart."""
    if not isinstance(axis, GridAxis) or axis.grid.kind != "step" or axis.grid.extra is not None:
        return False
    return max(abs(axis.lower), abs(axis.upper)) < FEW


def halves(side: Side, at: int) -> tuple[Side, Side]:
    """What a Split makes of one axis's side."""
    if isinstance(side, tuple):
        return (side[0], min(side[1], at)), (max(side[0], at + 1), side[1])
    return side & at, side & ~at
