"""Leaves of different trees of which a point reaches at most one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, combinations
from typing import Any

from mace.proofs.kernel.axes import Span, empty, meet
from mace.proofs.kernel.ensembles import Reach, Sides
from mace.proofs.kernel.fields import index, read
from mace.proofs.kernel.floats import Refused, need


def cliques(reach: Reach, state: Any, *fields: Any) -> Any:
    """A state of which more cliques are known, each given by the numbers of its leaves.

    Lemma: a point reaches a leaf only if it lies in the box of the leaf's path. It reaches one leaf of each tree; and
    of any two leaves of a clique that belong to different trees the boxes have no point of the state's box in common.
    So a point of the state, and of whatever is left of it, reaches at most one leaf of a clique.
    """
    leaves: dict[int, tuple[tuple[int, int], Sides]] = {}  # those that the root reaches, numbered through all trees
    first = 0
    for t, (tree, reached) in enumerate(zip(reach.model.trees, reach.leaves, strict=True)):
        leaves |= {first + n: ((t, bit), sides) for n, (bit, sides) in reached.items()}
        first += len(tree.test)
    inside: dict[int, Sides | None] = {}
    child, found = state.child(), []
    for field in fields:
        clique = numbers(read(field, [index], "clique"), "clique")
        for n in clique:
            if n not in leaves:
                raise Refused(f"the root does not reach leaf {n} of all trees")
            if n not in inside:
                inside[n] = within(state.box, leaves[n][1])
        # A leaf without a point in the box is apart from every other one; those that are narrowed least come first.
        boxes = [(box, leaves[n][0][0], n) for n in clique if (box := inside[n]) is not None]
        for (one, t, n), (other, u, m) in combinations(sorted(boxes, key=lambda entry: len(entry[0])), 2):
            if t != u and not apart(one, other):
                raise Refused(f"a point may reach leaf {n} and leaf {m} of all trees")
        found.append([leaves[n][0] for n in clique])
    child.cliques = [*state.cliques, *found]
    return child


def numbers(steps: Sequence[int], where: str) -> list[int]:
    """Numbers of at least 0 that grow, each given by how much it exceeds the one before."""
    grow = not steps or (steps[0] >= 0 and min(steps[1:], default=1) >= 1)
    need(grow, f"{where}: expected numbers that grow")
    return [*accumulate(steps)]


def within(box: Sequence[Span], sides: Sides) -> Sides | None:
    """Where the sides of a leaf's path narrow the axes in a box; None if nothing is left."""
    inside = {j: meet(side, box[j]) for j, side in sides.items()}
    return None if any(map(empty, inside.values())) else inside


def apart(one: Sides, other: Sides) -> bool:
    """Whether two boxes have no point in common."""
    return any(j in other and empty(meet(span, other[j])) for j, span in one.items())
