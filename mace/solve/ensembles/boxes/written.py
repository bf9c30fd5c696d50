"""The proof that a search of boxes comes to: its book as nodes of a proof tree.

In:  the book of a search, the axes, the limit that it went to, and the nodes that close boxes by linear rules.
Out: a `Proof`, in preorder, of all nodes that are needed.
Promise: open boxes are at least as far as the bound claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import numpy as np

from mace.problem.proof import Leaf, Priced, Proof, ProofNode, Split
from mace.solve.ensembles.arrays.cells import NO_LIMIT, Ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.boxes import book as books
from mace.solve.ensembles.boxes.book import Book, preorder, standing

# The claim goes no further than the distance of a cell that may or may not have the goal.
RULES = {
    books.OPEN: "distance", books.DISTANCE: "distance", books.DOUBTFUL: "distance", books.TREES: "trees",
    books.CELL: "cell", books.CHANGES: "changes", books.AVOID: "avoid", books.RULE: "rule", books.LINED: "empty",
}  # fmt: skip


def proof_of(book: Book, ground: Ground, limit: int, lined: Sequence[Priced]) -> Proof:
    """The tree of a book's nodes; lined: what closes the boxes of `LINED`, by their note."""
    used = int(book.count[books.NODES])
    child, state, note, key = book.child[:used], book.state[:used], book.note[:used], book.key[:used]
    nodes = np.empty(used, object)
    inner = child >= 0
    first = child[inner]
    # Few are different, so that millions of nodes are made of few objects.
    places, back = _distinct(ground.base[book.axis[first]] + book.cut[first])
    axes = np.searchsorted(ground.base, places, side="right") - 1
    nodes[inner] = _objects(map(Split, axes.tolist(), ground.at[places].tolist()))[back]
    kinds, back = _distinct(note[~inner] * len(RULES) + state[~inner])
    pairs = (divmod(kind, len(RULES)) for kind in kinds.tolist())
    leaves = (
        lined[number] if kind == books.LINED else Leaf(RULES[kind], number)  # type: ignore[arg-type]
        for number, kind in pairs
    )
    nodes[~inner] = _objects(leaves)[back]
    claim = min(limit, int(key[~inner & (state == books.OPEN)].min(initial=NO_LIMIT)))
    return cast(Proof, nodes[preorder(child, standing(child, state, key, claim))].tolist())


def _distinct(values: Array) -> tuple[Array, Array]:
    """The different values, none below 0, and for each of the values its place among them.

    As `np.unique`, without sorting, which takes longer than all else that is done for a proof.
    """
    found = np.flatnonzero(np.bincount(values))
    place = np.empty(found[-1] + 1 if len(found) else 0, np.intp)
    place[found] = np.arange(len(found))
    return found, place[values]


def _objects(nodes: Iterable[ProofNode]) -> Array:
    """An array of nodes, which numpy would otherwise take for arrays themselves."""
    found = list(nodes)
    array = np.empty(len(found), object)
    array[:] = found
    return array
