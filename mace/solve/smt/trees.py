"""Tree ensembles as solver terms: which nodes a point reaches, and what their leaves add up to.

In:  an `Ensemble`, a goal, the axes' terms, the radius of the ball.
Out: the formula "the goal is possible"; and for a point that turns out not to have it, a clause against its leaves.
Promise: a point of the ball with the goal satisfies the formula. What it is satisfied by is not always a point with the
goal, because leaf values are rounded to a coarse lattice (solvers compute with short numbers several times faster) and
float sums round: each such point is excluded together with all points that reach the same leaves.

How: nodes that no point of the ball reaches, and leaves that no sum with the goal can afford, are pruned. What is left
has one Bool a node, "reached", implied by its parent and the literal of its test. Per comparison of the goal and per
tree one Real is bounded from above by the leaf reached. A naive nest of if-then-else does not finish on 100 trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import TypeAlias

import numpy as np

from mace.base.bits import members
from mace.base.exact import exact
from mace.problem.distance import Charge
from mace.problem.question import Question
from mace.solve.smt.axes import GridTerm, LevelTerm
from mace.solve.smt.cuts import Cuts, hull, others
from mace.solve.smt.terms import Term, Terms
from mace.space.axes import GridAxis, LevelAxis, Point
from mace.tables.margins import Slack, compare_slack
from mace.tables.table import Compare, Ensemble, Tree

DIGITS = {"float64": 30, "float32": 20}  # of the lattice: sums of so few bits are exact in the format


@dataclass(slots=True)
class Leaf:
    """A leaf that the ball reaches, or a subtree all of whose leaves are alike; `nodes` are the tree's own numbers."""

    nodes: list[int]
    value: tuple[float, ...]


@dataclass(slots=True)
class Inner:
    """A test that the ball leaves open, as a literal."""

    test: Term
    left: TermTree
    right: TermTree


TermTree: TypeAlias = Leaf | Inner


class EnsembleTerms:
    """The formula of one ensemble; `possible` holds wherever the model may have the goal."""

    def __init__(
        self, question: Question, terms: Terms, axes: list[GridTerm | LevelTerm], charges: list[Charge],
        radius: Fraction | None,
    ) -> None:  # fmt: skip
        assert isinstance(question.model, Ensemble)
        self.question, self.model, self.terms, self.axes = question, question.model, terms, axes
        self.charges, self.radius = charges, radius
        self.columns = question.columns
        self.cuts = Cuts(question.model, self.columns, axes)
        self._reached: list[dict[int, Term]] = []
        self._rough: list[Term] = []
        self._hopeless: list[set[int]] | None = None  # leaves with which no sum has the goal, by tree
        self.roots = [self._pruned(tree) for tree in self.model.trees]
        self.lattices = [[_Lattice(self.model, compare) for compare in part] for part in question.goal.decision]
        self._drop_hopeless()
        for number, root in enumerate(self.roots):
            self._reach(number, root)
        rough = terms.any(self._rough)
        self.possible = terms.any(
            [terms.all([self._compare(f"{i}_{j}", lattice, rough) for j, lattice in enumerate(part)])
             for i, part in enumerate(self.lattices)]
        )  # fmt: skip

    def against(self, point: Point) -> Term:
        """A clause that excludes all points that reach the same leaves."""
        row = self.question.row(point)
        reached = [
            known.get(self.model.leaf(tree, row), self.terms.false)
            for tree, known in zip(self.model.trees, self._reached, strict=True)
        ]
        return self.terms.any([self.terms.no(literal) for literal in reached])

    # ------------------------------------------------------------------ pruning

    def _pruned(self, tree: Tree) -> TermTree:
        """The part of a tree that the ball reaches."""
        box: list[tuple[int, int] | int] = [
            (axis.lower, axis.upper) if isinstance(axis, GridTerm) else sum(1 << level for level in axis.levels)
            for axis in self.axes
        ]
        done: list[TermTree | None] = []
        todo: list[tuple[int, list[tuple[int, int] | int], Fraction, Term | None]] = [(0, box, Fraction(0), None)]
        while todo:
            self.terms.look()
            node, box, far, test = todo.pop()
            if test is not None:  # Both sides of this node are done.
                right, left = done.pop(), done.pop()
                done.append(_joined(test, left, right))
                continue
            if self.radius is not None and far > self.radius:
                done.append(None)
                continue
            if tree.column[node] < 0:
                done.append(Leaf([node], tuple(tree.value[node].tolist())))
                continue
            place = self.columns[tree.column[node]].feature
            old, cut, axis = box[place], self.cuts.left(tree, node), self.axes[place]
            sides: list[tuple[int, int] | int | None]
            if isinstance(old, tuple):
                assert isinstance(cut, tuple)
                sides = [hull(cut, old), hull(others(cut, old), old)]
                full = [side is not None for side in sides]
            else:
                assert isinstance(cut, int)
                sides = [old & cut, old & ~cut]
                full = [bool(side) for side in sides]
            child = [int(tree.left[node]), int(tree.right[node])]
            if not all(full):
                todo.append((child[0] if full[0] else child[1], box, far, None))
                continue
            test = axis.within(cut) if isinstance(axis, GridTerm) else axis.among(cut)  # type: ignore[arg-type]
            todo.append((node, box, far, test))
            without = far - self._least(place, old)
            for index in (1, 0):
                side = sides[index]
                assert side is not None
                narrowed = [*box[:place], side, *box[place + 1 :]]
                todo.append((child[index], narrowed, without + self._least(place, side), None))
        root = done.pop()
        assert root is not None  # The start lies in the ball.
        return root

    def _least(self, place: int, side: tuple[int, int] | int) -> Fraction:
        """The least that a part of an axis adds to the sum of a distance."""
        axis = self.question.axes[place]
        if isinstance(side, tuple):
            assert isinstance(axis, GridAxis)
            return self.charges[place].part(axis.delta(axis.nearest(*side)))
        assert isinstance(axis, LevelAxis)
        if side >> axis.start & 1:
            return Fraction(0)
        deltas = [axis.delta(level) for level in members(side)]
        return self.charges[place].part(min(deltas))

    def _drop_hopeless(self) -> None:
        """Drop leaves with which no sum can have the goal; where it has several parts, this is left to the solver."""
        if len(self.lattices) != 1:
            return
        tops = [[max(lattice.units(leaf.value) for leaf in _leaves(root)) for lattice in self.lattices[0]]
                for root in self.roots]  # fmt: skip
        sums = [sum(column) for column in zip(*tops, strict=True)]

        def hopeless(leaf: Leaf, top: list[int]) -> bool:
            return any(
                lattice.constant + total - best + lattice.units(leaf.value) < lattice.least
                for lattice, total, best in zip(self.lattices[0], sums, top, strict=True)
            )

        self._hopeless = [
            {leaf.nodes[0] for leaf in _leaves(root) if hopeless(leaf, top)}
            for root, top in zip(self.roots, tops, strict=True)
        ]

    # ------------------------------------------------------------------ formulae

    def _reach(self, number: int, root: TermTree) -> None:
        """Say which nodes of a tree a point reaches."""
        terms = self.terms
        known: dict[int, Term] = {}
        hopeless = self._hopeless[number] if self._hopeless is not None else set()
        todo: list[tuple[TermTree, Term]] = [(root, terms.true)]
        count = 0
        while todo:
            terms.look()
            node, reached = todo.pop()
            if isinstance(node, Leaf):
                known |= dict.fromkeys(node.nodes, reached)
                if node.nodes[0] in hopeless:
                    terms.add(terms.no(reached))
                elif not all(lattice.holds(node.value) for part in self.lattices for lattice in part):
                    self._rough.append(reached)
                continue
            for test, child in ((node.test, node.left), (terms.no(node.test), node.right)):
                below = terms.truth(f"t{number}_{count}")
                count += 1
                terms.add(terms.any([terms.no(reached), terms.no(test), below]))
                terms.when(below, reached)
                terms.when(below, test)
                todo.append((child, below))
        self._reached.append(known)

    def _compare(self, name: str, lattice: _Lattice, rough: Term) -> Term:
        """One comparison: the sum of what the reached leaves add, at most."""
        terms, parts, constant = self.terms, [], lattice.constant
        for number, root in enumerate(self.roots):
            # Leaves of one value share one bound.
            terms.look()
            alike: dict[int, list[Term]] = {}
            for leaf in _leaves(root):
                alike.setdefault(lattice.units(leaf.value), []).append(self._reached[number][leaf.nodes[0]])
            top = max(alike)
            if len(alike) == 1:
                constant += top
                continue
            score = terms.real(f"s{number}_{name}")
            terms.add(terms.at_most(score, Fraction(top)))
            for units, leaves in sorted(alike.items()):
                if units != top:
                    for leaf_reached in leaves:
                        terms.when(leaf_reached, terms.at_most(score, Fraction(units)))
            parts.append((Fraction(1), score))
        if not parts:
            enough = terms.true if constant >= lattice.certain else terms.false
            return terms.any([enough, terms.all([rough, terms.true if constant >= lattice.least else terms.false])])
        total = terms.real(f"s_{name}")
        terms.add(terms.make.LE(total, terms.sum(parts)))
        reach = [terms.at_least(total, Fraction(lattice.certain - constant))]
        if lattice.least < lattice.certain:
            reach.append(terms.all([rough, terms.at_least(total, Fraction(lattice.least - constant))]))
        return terms.any(reach)


class _Lattice:
    """What leaves add to one comparison, in whole units, rounded up.

    certain: the least sum of units with which leaves on the lattice pass; their float sums are exact.
    least:   the least sum with which any leaves may pass.
    """

    def __init__(self, model: Ensemble, compare: Compare) -> None:
        self.compare = compare
        self.slack: Slack = compare_slack(model, compare)
        sides = [side for side in (compare.plus, compare.minus) if side is not None]
        size = sum((float(np.abs(tree.value[:, sides]).sum(axis=1).max(initial=0.0)) for tree in model.trees), 1.0)
        self.unit = Fraction(2) ** (int(np.ceil(np.log2(size))) + 1 - DIGITS[model.dtype])
        start = tuple(model.start.tolist())
        offset = self._margin(start) - exact(compare.than) * model.divide
        self.constant = ceil(offset / self.unit)
        bare = compare.than == 0 and self.holds(start) and model.rule not in ("softmax", "sigmoid") and not model.error
        self.least = ceil(-self.slack.possible / self.unit)
        # Without rounding a comparison with zero, or of two sums, is decided by the sign of whole units.
        self.certain = 1 if bare and compare.strict else 0 if bare else self.least

    def _margin(self, value: tuple[float, ...]) -> Fraction:
        margin = Fraction(0)
        if self.compare.plus is not None:
            margin += Fraction(value[self.compare.plus])
        if self.compare.minus is not None:
            margin -= Fraction(value[self.compare.minus])
        return margin

    @cached_property
    def _units(self) -> dict[tuple[float, ...], int]:
        return {}

    def units(self, value: tuple[float, ...]) -> int:
        """What a leaf adds, rounded up."""
        if value not in self._units:
            self._units[value] = ceil(self._margin(value) / self.unit)
        return self._units[value]

    def holds(self, value: tuple[float, ...] | np.ndarray[tuple[int], np.dtype[np.float64]]) -> bool:
        """Whether the numbers that a leaf adds lie on the lattice, so that nothing is rounded."""
        sides = [side for side in (self.compare.plus, self.compare.minus) if side is not None]
        return all((Fraction(float(value[side])) / self.unit).denominator == 1 for side in sides)


def _joined(test: Term, left: TermTree | None, right: TermTree | None) -> TermTree | None:
    """Two sides of a test, or one where the other is out of reach or says the same."""
    if left is None or right is None:
        return left if right is None else right
    if isinstance(left, Leaf) and isinstance(right, Leaf) and left.value == right.value:
        return Leaf([*left.nodes, *right.nodes], left.value)
    return Inner(test, left, right)


def _leaves(root: TermTree) -> list[Leaf]:
    """All leaves, from the left to the right."""
    found: list[Leaf] = []
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, Leaf):
            found.append(node)
        else:
            todo += [node.right, node.left]
    return found
