"""The shape of a proof that no point with the goal is closer than some distance (or exists at all).

A proof is a tree, written in preorder as one list: an inner node is followed by its first child's tree, then by its
second child's (`Bounds` and `Tighten` have one child). The root stands for all allowed points. proofs/FORMAT.md
defines every node and the rule by which each leaf closes; the provers build these, `mace.certify.nodes` writes them,
and `proofs/check.py`, which shares no code with this package, accepts or refuses them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar

from mace.problem.exclusions import Avoid


@dataclass(frozen=True, slots=True)
class Split:
    """Two children: the points whose index on `axis` is <= at (levels: lies in the mask `at`), and the rest."""

    axis: int
    at: int


@dataclass(frozen=True, slots=True)
class GoalPart:
    """Two children: the points that have this part of the goal's disjunction, from 0, and those that have another."""

    number: int


@dataclass(frozen=True, slots=True)
class Phase:
    """Two children: z <= 0 and z >= 0, for the input z of the ReLU `unit` of hidden layer `layer` (both from 0)."""

    layer: int
    unit: int


@dataclass(frozen=True, slots=True)
class Bounds:
    """One child: the bounds of the hidden ReLUs are derived again for this node's box and phases."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf that needs no more than its rule, see FORMAT.md; `number` picks one rule or one excluded region.

    "divided" is written as "empty": every part of the goal was taken by a `GoalPart`, so that none is left. A prover
    says "empty" of a box that its bounds empty, which may be floats.
    """

    rule: Literal["empty", "divided", "distance", "trees", "cell", "avoid", "rule", "changes"]
    number: int = 0


@dataclass(frozen=True, slots=True)
class Multipliers:
    """Dual multipliers against one part of the goal's disjunction.

    goal:    one per comparison of the part, >= 0.
    slopes:  (layer, unit) -> t, the lower line t * z of a ReLU that may be on or off; above 1 and below 0 the upper
             line is used as well, see FORMAT.md (absent: 1 for a ReLU that is on, else 0).
    phases:  (layer, unit) -> multiplier >= 0 of the phase's inequality (0 when absent).
    largest: feature -> share of the linf part, >= 0, summing to at most 1.
    forms:   of a distance with forms one for each, from -1 to 1, times 2^40; () for none.
    changes: >= 0, of how many features change, less how many may.
    rules:   (rule, which of the comparisons that it joins by `and`, multiplier), >= 0 but of `==`.
    """

    goal: tuple[Fraction, ...]
    slopes: dict[tuple[int, int], Fraction]
    phases: dict[tuple[int, int], Fraction]
    largest: dict[int, Fraction]
    forms: tuple[int, ...] = ()
    changes: Fraction = Fraction(0)
    rules: tuple[tuple[int, int, Fraction], ...] = ()


@dataclass(frozen=True, slots=True)
class Dual:
    """A leaf closed by multipliers, one set for each part of the goal's disjunction."""

    parts: tuple[Multipliers, ...]


@dataclass(frozen=True, slots=True)
class End:
    """Why a bound of one hidden ReLU's input holds at every point with the goal that is nearer than the claim.

    end:   0 for the lower bound, 1 for the upper one.
    theta: >= 0, of the distance; parts: multipliers for each part of the goal; `largest` sums to at most theta.
    """

    layer: int
    unit: int
    end: int
    theta: float
    parts: tuple[Multipliers, ...]


@dataclass(frozen=True, slots=True)
class Tighten:
    """One child: bounds of some hidden ReLUs are narrowed to the points that have the goal, one end after the other."""

    ends: tuple[End, ...]


@dataclass(frozen=True, slots=True)
class Prices:
    """Dual multipliers of the linear relaxation of trees, against one part of the goal's disjunction.

    goal:    one per comparison of the part, >= 0: distance per unit of the score times `divide`.
    largest: feature -> share of the linf part, >= 0, summing to at most 1.
    unit:    the distance that a price of 1 stands for.
    prices:  (tree, node, price): what a point pays that takes the side of the test leading to the node; whole numbers
             > 0, each node once.
    forms, rules: as in `Multipliers`.
    cliques: (number, price): what a leaf of this clique pays, each clique once, in order.
    """

    goal: tuple[Fraction, ...]
    largest: dict[int, Fraction]
    unit: Fraction
    prices: Sequence[tuple[int, int, int]]
    forms: tuple[int, ...] = ()
    rules: tuple[tuple[int, int, Fraction], ...] = ()
    cliques: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, slots=True)
class Priced:
    """A leaf closed by prices, one set for each part of the goal's disjunction."""

    parts: tuple[Prices, ...]

    def under(self, decision: Sequence[Sequence[object]]) -> Priced:
        """The same leaf under another goal. Only of a leaf that rules alone close: it prices neither scores nor trees.

        Raises ValueError for any other.
        """
        first = self.parts[0]
        if any(any(part.goal) or part.prices for part in self.parts):
            raise ValueError("what prices scores or trees closes no box under another goal")
        return Priced(tuple(replace(first, goal=(Fraction(0),) * len(part)) for part in decision))


@dataclass(frozen=True, slots=True)
class Narrow:
    """One child: the points whose index on each of some axes lies in a span; prices prove the others too far.

    spans: (axis, lowest, highest index), or (axis, mask, mask) for levels, in the order of axes.
    parts: as in `Priced`.
    """

    spans: tuple[tuple[int, int, int], ...]
    parts: tuple[Prices, ...]


@dataclass(frozen=True, slots=True)
class Cliques:
    """One child, and below it cliques, numbered from 0: leaves (tree, node) of which a point reaches one at most."""

    cliques: tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True, slots=True)
class FromRow:
    """What is proved of one row's distance, where a distance is the least of those from several: no part of a tree.

    refused: what the deployed model refused, which follows the question's own exclusions in the row's question.
    """

    row: tuple[int, ...]
    refused: tuple[Avoid, ...]
    proof: list[ProofNode]


ProofNode: TypeAlias = Split | GoalPart | Phase | Bounds | Tighten | Leaf | Dual | Priced | Narrow | Cliques | FromRow
Proof: TypeAlias = list[ProofNode]


class Piece(NamedTuple):
    """The nodes of a proof from `begin` up to `end`, whose points have part `part` of the goal; None: any of them."""

    part: int | None
    begin: int
    end: int


def pieces(proof: Proof) -> list[Piece]:
    """What follows the divisions of the goal with which a proof begins: of each part one piece; without any, all of it.

    Such a proof divides the goal into all its parts until none is left: `mace.solve.by_parts`.
    """
    found, begin = list[Piece](), 0
    while begin < len(proof) and isinstance(node := proof[begin], GoalPart):
        end, left = begin + 1, 1
        while left and end < len(proof):
            left += _CHILDREN.get(type(proof[end]), 0) - 1
            end += 1
        found.append(Piece(node.number, begin + 1, end))
        begin = end
    return found or [Piece(None, 0, len(proof))]


def is_whole(proof: Proof, piece: Piece) -> bool:
    """Whether a piece divides the goal nowhere else."""
    return not any(isinstance(node, GoalPart) for node in proof[piece.begin : piece.end])


_CHILDREN: dict[type, int] = {Split: 2, GoalPart: 2, Phase: 2, Bounds: 1, Tighten: 1, Narrow: 1, Cliques: 1}


class Branch(Protocol):
    """A box of a search that is over: `split` into `children`, or closed by `proof` where that is known already."""

    @property
    def split(self) -> Split | None: ...
    @property
    def children(self) -> Sequence[Self]: ...
    @property
    def proof(self) -> Proof | None: ...


B = TypeVar("B", bound=Branch)


def preorder(
    root: B, closing: Callable[[B], ProofNode], opening: Callable[[B], Sequence[ProofNode]] = lambda _: ()
) -> Proof:
    """The proof of a whole search tree.

    closing: how a box closes that has neither a split nor a proof. opening: nodes of one child that come before.
    """
    proof: Proof = []
    todo = [root]
    while todo:
        branch = todo.pop()
        proof += opening(branch)
        if branch.split is not None:
            proof.append(branch.split)
            todo += reversed(branch.children)
        elif branch.proof is not None:
            proof += branch.proof
        else:
            proof.append(closing(branch))
    return proof
