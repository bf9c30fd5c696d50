"""Trees of PMML as binary trees over parts of columns.

In:  a `Tree`, and the parts of every column within which no test of the model changes.
Out: `Leaf` and `Split`: a row goes to the left where its value lies in some parts of a column.
Promise: every row that has a prediction ends in the leaf of the node that predicts for it. Rows that have none only
because a value is missing, or is a category that the file does not name, are noted (`lacking`, `odd`), for the step
before the model to refuse them all; any other row without a prediction is a ModelError, or noted (`open`).
How: a row is known as a product of sets of parts. A predicate splits it into those for which it is true, false and
unknown; what is settled already is not asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from mace.compilers.pmml.content import PmmlNode, Tree, fields_of
from mace.compilers.pmml.evaluate import leaf_of
from mace.compilers.pmml.fields import Atoms, NoResultError
from mace.compilers.pmml.predicates import Predicate, Several, Test
from mace.errors import ModelError

MOST_NODES = 2_000_000
_MANY = 40  # branches of a node


class Leaf(NamedTuple):
    """A leaf; None: no row of a space comes here."""

    node: PmmlNode | None


class Split(NamedTuple):
    """A test: rows whose value of a column lies in these parts go to the left; those of `rest` to the right."""

    atoms: Atoms
    parts: int
    rest: int
    left: Grown
    right: Grown


Grown: TypeAlias = Leaf | Split
Known: TypeAlias = Mapping[int, int]  # of columns, the parts that a row may lie in; all usable ones where absent
Then: TypeAlias = Callable[[Known], Grown]


@dataclass(eq=False)
class Branches:
    """Makes binary trees.

    atoms:   by the names of columns.
    lacking, odd: the columns that may not be missing, and those whose unnamed categories have no prediction.
    may_open: whether other rows without a prediction are noted, in `open`; else they are a ModelError.
    """

    atoms: Mapping[str, Atoms]
    lacking: set[int] = field(default_factory=set)
    odd: set[int] = field(default_factory=set)
    may_open: bool = False
    open: bool = False
    made: int = 0
    _masks: dict[int, tuple[Test, int, int, int]] = field(default_factory=dict)

    def grown(self, tree: Tree) -> Grown:
        """The binary tree; raises ModelError."""
        if len(tree.root.below) > _MANY and (alone := column_of(tree)) is not None:
            return self._halves(self.atoms[alone], leaves_of(self, tree, self.atoms[alone]), 0)
        return self._tree(tree, {})

    def _halves(self, atoms: Atoms, leaves: Sequence[PmmlNode | None], low: int) -> Grown:
        """A tree over the parts of one column, from the part `low` on: the missing one first, then by halves."""
        self._count()
        if all(leaf is leaves[0] for leaf in leaves):
            return Leaf(leaves[0])
        if low + len(leaves) > atoms.count:
            present = self._halves(atoms, leaves[:-1], low) if leaves[:-1] else Leaf(leaves[-1])
            return Split(atoms, atoms.missing, atoms.missing - 1, Leaf(leaves[-1]), present)
        middle = len(leaves) // 2
        parts, rest = ((1 << middle) - 1) << low, ((1 << len(leaves) - middle) - 1) << low + middle
        left, right = (self._halves(atoms, leaves[:middle], low), self._halves(atoms, leaves[middle:], low + middle))
        return Split(atoms, parts, rest, left, right)

    # ------------------------------------------------------------------ nodes

    def _tree(self, tree: Tree, known: Known) -> Grown:
        """What becomes of rows that come to a tree."""
        return self._branch(tree.root.predicate, known, self._node(tree, tree.root), self._none, self._none)

    def _node(self, tree: Tree, node: PmmlNode) -> Then:
        """What becomes of rows that come to a node."""

        def here(known: Known) -> Grown:
            if node.inner is not None:
                return self._tree(node.inner, known)
            return self._below(tree, node, 0)(known) if node.below else self._leaf(node, known)

        return here

    def _below(self, tree: Tree, node: PmmlNode, place: int) -> Then:
        """What becomes of rows that no child before this place took."""

        def here(known: Known) -> Grown:
            if place == len(node.below):
                return self._leaf(node, known) if tree.last else self._none(known)
            child, on = node.below[place], self._below(tree, node, place + 1)
            return self._branch(child.predicate, known, self._node(tree, child), on, self._unknown(tree, node, on))

        return here

    def _unknown(self, tree: Tree, node: PmmlNode, on: Then) -> Then:
        match tree.strategy:
            case "none":
                return on
            case "lastPrediction":
                return lambda known: self._leaf(node, known)
            case "defaultChild" if node.default is not None:
                return self._node(tree, node.below[node.default])
            case _:
                return self._none

    def _leaf(self, node: PmmlNode, known: Known) -> Grown:
        if node.score is None:
            return self._none(known)
        self._count()
        return Leaf(node)

    def _none(self, known: Known) -> Grown:
        self._count()
        self.refuse(known)
        return Leaf(None)

    def refuse(self, known: Known) -> None:
        """Note that rows have no prediction; raises ModelError for such as lack nothing, unless there may be some."""
        for atoms in self.atoms.values():
            if atoms.place not in known:
                continue
            parts = known[atoms.place]
            other = 0 if atoms.source.numeric else 1 << (atoms.count - 1)
            if parts & ~(atoms.missing | other) == 0:
                if parts & atoms.missing:
                    self.lacking.add(atoms.place)
                if parts & other:
                    self.odd.add(atoms.place)
                return
        if self.may_open:
            self.open = True
            return
        raise ModelError(
            "the PMML model has no prediction for some rows that lack nothing"
            + (f": those of {self._shown(known)}" if known else ""),
            hint="Let it predict for all of them: noTrueChildStrategy=returnLastPrediction, or one branch more.",
        )

    def _shown(self, known: Known) -> str:
        names = [atoms.source.name for atoms in self.atoms.values() if atoms.place in known]
        return "some " + ", ".join(f"`{name}`" for name in names[:5])

    def _count(self) -> None:
        self.made += 1
        if self.made > MOST_NODES:
            raise ModelError(f"the PMML model's trees become more than {MOST_NODES} tests of one column each")

    # ------------------------------------------------------------------ predicates

    def _branch(self, predicate: Predicate, known: Known, true: Then, false: Then, unknown: Then) -> Grown:
        if isinstance(predicate, Several):
            return self._several(predicate.how, predicate.parts, known, (true, false, unknown))
        test, yes, no, open_ = self._mask(predicate)
        atoms = self.atoms[test.field.source.name]
        now = known.get(atoms.place, atoms.usable)
        found: list[tuple[int, Then]] = []
        for parts, then in ((yes, true), (no, false), (open_, unknown)):
            if parts & now:
                at = next((k for k, (_, other) in enumerate(found) if other is then), None)
                if at is None:
                    found.append((parts & now, then))
                else:
                    found[at] = (found[at][0] | parts & now, then)
        return self._split(atoms, known, found)

    def _split(self, atoms: Atoms, known: Known, found: Sequence[tuple[int, Then]]) -> Grown:
        parts, then = found[0]
        if len(found) == 1:
            return then({**known, atoms.place: parts})
        self._count()
        rest = sum(other for other, _ in found[1:])  # they have no bit in common
        left = then({**known, atoms.place: parts})
        return Split(atoms, parts, rest, left, self._split(atoms, known, found[1:]))

    def _several(self, how: str, parts: Sequence[Predicate], known: Known, ends: tuple[Then, Then, Then]) -> Grown:
        true, false, unknown = ends
        if how == "surrogate":

            def ask(place: int) -> Then:
                if place == len(parts):
                    return unknown
                return lambda now: self._branch(parts[place], now, true, false, ask(place + 1))

            return ask(0)(known)
        if how == "xor":
            even, odd = false, true  # what becomes of rows of which so many of the parts before hold
            for part in reversed(parts):
                even, odd = self._asked(part, odd, even, unknown), self._asked(part, even, odd, unknown)
            return even(known)
        stop, on = (false, true) if how == "and" else (true, false)

        def after(place: int, *, open_: bool) -> Then:
            if place == len(parts):
                return unknown if open_ else on
            same = other = after(place + 1, open_=open_)
            if not open_ and unknown is not on:  # What is unknown so far may still be settled by a part further on.
                other = stop if unknown is stop else after(place + 1, open_=True)

            def here(now: Known) -> Grown:
                yes, no = (same, stop) if how == "and" else (stop, same)
                return self._branch(parts[place], now, yes, no, other)

            return here

        return after(0, open_=False)(known)

    def _asked(self, part: Predicate, true: Then, false: Then, unknown: Then) -> Then:
        return lambda known: self._branch(part, known, true, false, unknown)

    def _mask(self, test: Test) -> tuple[Test, int, int, int]:
        """The parts of its column for which a test is true, false and unknown."""
        found = self._masks.get(id(test))
        if found is None:
            atoms, yes, no, unknown = self.atoms[test.field.source.name], 0, 0, 0
            for part in range(atoms.count + 1):
                if atoms.usable >> part & 1:
                    said = test.of(atoms.value(part))
                    yes |= (said is True) << part
                    no |= (said is False) << part
                    unknown |= (said is None) << part
            found = self._masks[id(test)] = (test, yes, no, unknown)
        return found


def column_of(tree: Tree) -> str | None:
    """The one column that a tree is about; None for several, and for none."""
    found = {field.source.name for field, _ in fields_of(tree)}
    return found.pop() if len(found) == 1 else None


def leaves_of(branches: Branches, tree: Tree, atoms: Atoms) -> list[PmmlNode | None]:
    """Of a tree of one column, the node that predicts for each part, and for what is missing; None where none does.

    Raises ModelError where that is another part than what is missing, or not named.
    """
    found: list[PmmlNode | None] = []
    for part in range(atoms.count + 1):
        try:
            found.append(leaf_of(tree, {atoms.source.name: atoms.value(part)}))
        except NoResultError:
            found.append(None)
            if atoms.usable >> part & 1:
                branches.refuse({atoms.place: 1 << part})
    return found
