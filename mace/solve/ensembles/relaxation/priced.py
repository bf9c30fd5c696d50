"""The nodes of the relaxation's branch and bound: boxes with the bounds that prices prove, and what they leave open.

In:  a relaxation for each part of the goal.
Out: `PricedNode`, a box with its bounds; `Way`, which computes again what boxes leave open of the relaxation.
Promise: a node's key is what its parts prove, whether the ascent that led there is still in memory or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np

from mace.base.deadline import Deadline
from mace.problem.proof import Proof, Split
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.relaxation.ascent import Climbed
from mace.solve.ensembles.relaxation.frame import Active
from mace.solve.ensembles.relaxation.relaxation import Exact, Relaxation

NO_CLIMB = Climbed(0.0, *(np.zeros(0),) * 6)


class Closing(NamedTuple):
    """What the plain search made of a box: a proof if it closed it."""

    proof: Proof | None
    doubtful: Fraction | None


class Host(Protocol):
    """The search that stalled."""

    room: int  # bytes
    jobs: int  # threads
    why: str  # what ended the last attempt that closed nothing

    @property
    def deadline(self) -> Deadline:
        """When the time is over."""
        ...

    @property
    def limit(self) -> int:
        """The scaled distance from which on nothing is of interest; it falls with every better point."""
        ...

    def near_enough(self, key: int) -> bool:
        """Whether a lower bound meets the gap."""
        ...

    def offer(self, cells: Array, part: int) -> None:
        """Look for a point with this part of the goal near these cells."""
        ...

    def repair(self) -> None:
        """Look for a nearer point with the goal around the best one known."""
        ...

    def attempt(self, low: Array, high: Array, walks: int | None) -> Closing:
        """Search a box with so many walks through trees (None: until the deadline)."""
        ...

    def tell(self, key: int) -> None:
        """Say that nothing of interest has a smaller scaled distance."""
        ...

    def key_of(self, low: Array, high: Array) -> int:
        """The scaled distance of a box."""
        ...


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the goal in one node: the key that its multipliers prove, and where the ascent ended."""

    key: int
    exact: Exact
    climbed: Climbed


class Narrowing(NamedTuple):
    """A box before cells were taken from it that are too far, and the multipliers of each part of the goal by which."""

    low: Array
    high: Array
    exact: tuple[Exact, ...]


@dataclass(slots=True)
class PricedNode:
    """A box of cells; `near` is its own scaled distance, `split` and `children` are there once it is split.

    parent: the box that was split, None of the root.
    waited: how many splits lie between it and the last try of the plain search.
    narrowing: how the side of the split became this box, None if it is that side.
    """

    low: Array
    high: Array
    near: int
    parts: tuple[Part, ...]
    parent: PricedNode | None = None
    split: Split | None = None
    children: tuple[PricedNode, ...] = ()
    proof: Proof | None = None
    waited: int = 0
    narrowing: Narrowing | None = None

    def forget(self) -> None:
        """Keep of a closed box what its proof needs."""
        self.parts = tuple(Part(part.key, part.exact, NO_CLIMB) for part in self.parts)

    @property
    def key(self) -> int:
        """No point of the box with the goal has a smaller scaled distance."""
        return max(self.near, min(part.key for part in self.parts))


class Way:
    """What the boxes on the way from the root to a node leave open; what two ways share is looked at once."""

    def __init__(self, relaxations: list[Relaxation], limit: int) -> None:
        self.relaxations, self.limit = relaxations, limit
        # Of the last way: each node with what its boxes leave open of each part of the goal.
        self.steps: list[tuple[PricedNode, list[list[Active]]]] = []

    def to(self, node: PricedNode) -> list[list[Active]]:
        """What a node leaves open of each part of the goal, below the limit: before it was narrowed, and at last."""
        nodes = [node]
        while (parent := nodes[-1].parent) is not None:
            nodes.append(parent)
        nodes.reverse()
        shared = sum(1 for one, (other, _) in zip(nodes, self.steps, strict=False) if one is other)
        del self.steps[shared:]
        for one in nodes[shared:]:
            known = self.steps[-1][1][-1] if self.steps else [relaxation.whole for relaxation in self.relaxations]
            found = []
            boxes: list[Narrowing | PricedNode] = [one] if one.narrowing is None else [one.narrowing, one]
            for box in boxes:
                pairs = zip(self.relaxations, known, strict=True)
                known = [relaxation.open(box.low, box.high, self.limit, above) for relaxation, above in pairs]
                found.append(known)
            self.steps.append((one, found))
        return self.steps[-1][1]
