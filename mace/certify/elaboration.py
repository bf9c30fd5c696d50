"""Elaborate a proof about trees for its certificate: the cuts of tests, and the leaves that boxes do not reach.

In:  a question, the distance that is claimed, and the proof as the prover built it.
Out: `cuts` and `proof` of proofs/FORMAT.md, 5 and 6; None where this road does not lead to the end.
Promise: none is needed, since the checker verifies what is written. It is found in the prover's own arrays (cells,
scaled costs and margins), where each leaf of its proof closes; only where rounding leaves open whether the root reaches
a leaf at all, which a checker knows exactly, are distances compared as fractions.
The other road is `mace.proofs.convert`, which needs the statement alone and no compiled code: it reads format 1, and
takes proofs whose question the prover's arrays do not hold.
"""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mace.base.deadline import NEVER, Deadline
from mace.certify.models import WRITING, numbering
from mace.problem.distance import Norm
from mace.problem.proof import Cliques, Leaf, Narrow, Priced, Proof, ProofNode, Split, is_whole, pieces
from mace.problem.question import Question
from mace.solve.ensembles.arrays.cells import Grounded, ground, refusal, with_cut
from mace.solve.ensembles.arrays.cuts import Array, Tests, tests_of, trees_of
from mace.solve.warm import about_trees, solved
from mace.space.axes import GridAxis
from mace.tables.table import Ensemble, Network, Table

if TYPE_CHECKING:
    from mace.solve.ensembles.shortening.leaves import Reached
    from mace.solve.ensembles.shortening.pruning import Lists, Steps

NO_LIMIT = 2**62


class Elaborated(NamedTuple):
    """The cuts of all tests, and for nodes of the proof the leaves pruned there, as [tree, leaf, ..].

    reached: (nodes of the forest,) whether the root reaches a leaf.
    """

    cuts: list[int | None]
    pruned: dict[int, list[list[int]]]
    reached: Array

    def only_reached(self, node: Cliques, question: Question) -> Cliques:
        """The same cliques of leaves that the root reaches: a search knows some that only a distance above the claim
        does.
        """
        assert isinstance(question.model, Ensemble)
        roots = trees_of(question.model).roots
        return Cliques(
            tuple(tuple(one for one in clique if self.reached[roots[one[0]] + one[1]]) for clique in node.cliques)
        )


def of_trees(question: Question, claim: Fraction | None, proof: Proof, deadline: Deadline) -> Elaborated | None:
    """What a certificate says beside its proof; None if some node does not close by the prover's arrays.

    claim: no point with the goal is nearer; None: there is none at all. Raises TimeOverError.
    """
    if refusal(question) is not None:
        return None
    from mace.solve.ensembles.arrays.walk import measure, new_box
    from mace.solve.ensembles.shortening.leaves import reach

    grounded = ground(question, deadline)
    limit = NO_LIMIT if claim is None else min(ceil(claim * grounded.scale), NO_LIMIT)
    grounded, steps, origin = _steps(question, grounded, proof)
    box = new_box(len(question.axes))
    box.low[:], box.high[:] = grounded.ground.low, grounded.ground.high
    measure(grounded.ground, box)
    reached = reach(grounded.ground, grounded.forest, box, limit, grounded.depth)
    visited = reached.visited.copy()
    reached = _exactly(question, claim, grounded, reached, limit)
    assert isinstance(question.model, Ensemble)
    numbers, pruned = numbering(question.model), dict[int, list[list[int]]]()
    for piece in pieces(proof):
        deadline.look(WRITING)
        begin, end = np.searchsorted(origin, (piece.begin, piece.end)).tolist()
        found = (
            _pruned(grounded, reached, steps, piece.part, slice(begin, end), limit) if is_whole(proof, piece) else None
        )
        if found is None:
            return None
        node, of_tree, place = found.T
        pruned |= _by_node(origin[node + begin], of_tree, numbers.place[reached.leaf[place]])
    for tree in {
        t for one in proof if isinstance(one, Priced | Narrow) for part in one.parts for t, _, _ in part.prices
    }:
        visited[numbers.tree == tree] = True
    leaves = np.zeros(len(grounded.forest.up), bool)
    leaves[reached.leaf] = True
    return Elaborated(_cuts(question, grounded.tests, visited), pruned, leaves)


def _pruned(
    grounded: Grounded, reached: Reached, steps: Steps, part: int | None, piece: slice, limit: int
) -> Array | None:
    """The leaves pruned at the steps of a piece, as rows (step, tree, leaf); None if one of them does not close."""
    from mace.solve.ensembles.arrays.walk import measure, new_box
    from mace.solve.ensembles.shortening.hoisting import hoisted, new_path
    from mace.solve.ensembles.shortening.pruning import elaborate

    if part is not None:
        grounded, _ = grounded.aimed_at(part, grounded.forest)
    own = type(steps)(*(values[piece] for values in steps))
    box = new_box(len(grounded.axes))
    box.low[:], box.high[:] = grounded.ground.low, grounded.ground.high
    measure(grounded.ground, box)
    found = elaborate(grounded.ground, grounded.aim, reached, _lists(grounded, reached), own, box, limit)
    if found.failed >= 0:
        return None
    box.low[:], box.high[:] = grounded.ground.low, grounded.ground.high
    measure(grounded.ground, box)
    return np.asarray(hoisted(grounded.ground, reached, own, new_path(own, box), limit, found.pruned))


def warm(table: Table) -> None:
    """Compile, or read from disk, what writing certificates of such a model needs, once a process: whoever writes them
    within limits of time does so before (see mace/solve/warm.py).
    """
    if isinstance(table, Ensemble):
        _trees()
    elif isinstance(table, Network):
        from mace.certify.networks import warm as layers

        layers()


@cache
def _trees() -> None:
    question = about_trees()
    found = solved(question)
    assert found.proof is not None
    of_trees(question, found.lower, found.proof, NEVER)


def all_cuts(question: Question) -> list[int | None] | None:
    """The cuts of all tests, for whoever has no proof yet; None where the prover's arrays do not hold the question."""
    if not isinstance(question.model, Ensemble) or refusal(question) is not None:
        return None
    tests = tests_of(question, question.model, lambda: None)
    return _cuts(question, tests, numbering(question.model).test >= 0)


def _steps(question: Question, grounded: Grounded, proof: Proof) -> tuple[Grounded, Steps, Array]:
    """The proof as arrays, and the arrays of the question with a cut wherever the proof splits a grid.

    Third, of each step the node of the proof at which leaves are pruned before it.
    """
    from mace.solve.ensembles.shortening.pruning import FIRST, REST, SPLIT, Steps

    norm = question.distance
    assert isinstance(norm, Norm)
    known: dict[int, list[int]] = {}  # most nodes of a proof are few objects
    kinds: list[tuple[int, int, int]] = []
    which, origin = list[int](), list[int]()
    for number, node in enumerate(proof):
        places = known.get(id(node))
        if places is None:
            own = _as_steps(question, node)
            places = known[id(node)] = [*range(len(kinds), len(kinds) + len(own))]
            kinds += own
        which += places
        # Between the steps of a node nothing can be said: what goes there goes at the next one, whose box is smaller.
        origin += [number, *[number + 1] * (len(places) - 1)] if places else []
    grids = [isinstance(axis, GridAxis) for axis in question.axes]
    splits: dict[int, list[int]] = {}  # of each grid that is split, which kinds split it
    for place, (kind, j, _) in enumerate(kinds):
        if kind in (SPLIT, FIRST, REST) and grids[j]:
            splits.setdefault(j, []).append(place)
    table = np.array(kinds, np.int64).reshape(-1, 3)
    for j, here in splits.items():
        one, at = question.axes[j], table[here, 2]
        assert isinstance(one, GridAxis)
        inside = (at >= one.lower) & (at < one.upper)
        cuts = grounded.cuts(j)
        cells = np.searchsorted(cuts, at)
        new = at[inside & (np.append(cuts, one.upper)[cells] != at)]
        if len(new):
            for cut in np.unique(new).tolist():
                grounded, _ = with_cut(grounded, norm, j, cut)
            cuts = grounded.cuts(j)
            cells = np.searchsorted(cuts, at)
        # Outside of what is allowed one of the two sides is empty.
        table[here, 2] = np.where(inside, cells, np.where(at < one.lower, -1, len(cuts)))
    return grounded, Steps(*table[np.array(which, np.int64)].T.copy()), np.array(origin, np.int64)


def _as_steps(question: Question, node: ProofNode) -> list[tuple[int, int, int]]:
    """A node of a proof as steps (kind, axis, at): none where it says nothing of boxes."""
    from mace.solve.ensembles.shortening.pruning import CELL, FIRST, OTHER, REST, SPLIT, TREES

    if isinstance(node, Split):
        return [(SPLIT, node.axis, node.at)]
    if isinstance(node, Narrow):
        found = []
        for j, low, high in node.spans:
            if isinstance(question.axes[j], GridAxis):
                found += [(REST, j, low - 1), (FIRST, j, high)]
            else:
                found.append((FIRST, j, low))
        return found
    if isinstance(node, Cliques):
        return []
    rule = node.rule if isinstance(node, Leaf) else ""
    return [({"trees": TREES, "cell": CELL}.get(rule, OTHER), 0, 0)]


def _exactly(question: Question, claim: Fraction | None, grounded: Grounded, reached: Reached, limit: int) -> Reached:
    """Without the leaves that are too far by less than costs are rounded: a checker's root does not reach them."""
    if claim is None or not grounded.width:
        return reached
    keep = np.ones(len(reached.leaf), bool)
    near: dict[tuple[int, ...], bool] = {}
    for leaf in np.flatnonzero(reached.key >= limit - grounded.width).tolist():
        low, high = grounded.ground.low.copy(), grounded.ground.high.copy()
        sides = slice(reached.sides[leaf], reached.sides[leaf + 1])
        low[reached.axis[sides]], high[reached.axis[sides]] = reached.low[sides], reached.high[sides]
        point = grounded.nearest(low, high)
        if point not in near:
            near[point] = question.distance_of(point) < claim
        keep[leaf] = near[point]
    if keep.all():
        return reached
    count = np.concatenate([[0], np.cumsum(keep)])
    of_side = np.repeat(keep, np.diff(reached.sides))
    return reached._replace(
        leaf=reached.leaf[keep],
        first=count[reached.first],
        key=reached.key[keep],
        sides=np.concatenate([[0], np.cumsum(np.diff(reached.sides)[keep])]),
        axis=reached.axis[of_side],
        low=reached.low[of_side],
        high=reached.high[of_side],
    )


def _lists(grounded: Grounded, reached: Reached) -> Lists:
    """For each comparison the leaves of every tree, best first."""
    from mace.solve.ensembles.shortening.pruning import Lists

    gain = np.ascontiguousarray(grounded.forest.gain[:, reached.leaf])
    tree = np.repeat(np.arange(len(reached.first) - 1), np.diff(reached.first))
    order = np.array([np.lexsort((-margins, tree)) for margins in gain], np.int64).reshape(gain.shape)
    return Lists(order, np.take_along_axis(gain, order, axis=1), _alike(order, reached.first.tolist()))


def _alike(order: Array, first: list[int]) -> Array:
    """The first comparison that has the leaves of each tree in the same order; those of a mean have few orders."""
    found = np.repeat(np.arange(len(order))[:, None], len(first) - 1, axis=1)
    for t, (begin, end) in enumerate(itertools.pairwise(first) if len(order) > 1 else ()):
        known: dict[bytes, int] = {}
        found[:, t] = [known.setdefault(one.tobytes(), c) for c, one in enumerate(order[:, begin:end])]
    return found


def _cuts(question: Question, tests: Tests, visited: Array) -> list[int | None]:
    """The cut of each test of a visited node, see `Tests`; None for others, and for tests of levels."""
    assert isinstance(question.model, Ensemble)
    numbers = numbering(question.model)
    found: list[int | None] = [None] * len(numbers.first)
    used = _different(numbers.test[np.flatnonzero(visited)])
    axes, places = tests.test[numbers.first[used], :2].T
    cuts = np.append(tests.at, 0).take(tests.base[axes] + places, mode="clip")
    ends = {
        j: (axis.lower - 1, axis.last + axis.may_lack, len(tests.cuts[j]))
        for j, axis in enumerate(question.axes)
        if isinstance(axis, GridAxis)
    }
    each = zip(used.tolist(), axes.tolist(), places.tolist(), cuts.tolist(), strict=True)
    for number, j, place, cut in each:
        if j in ends:
            low, high, count = ends[j]
            found[number] = low if place < 0 else high if place == count else min(max(cut, low), high)
    return found


def _different(numbers: Array) -> Array:
    """Numbers >= 0 in order, none twice: of a few `np.unique` takes longer."""
    numbers = np.sort(numbers)
    return numbers[_begins(numbers)]


def _begins(numbers: Array) -> Array:
    """Where numbers >= 0 in order change."""
    return np.flatnonzero(numbers != np.append(-1, numbers[:-1]))


def _by_node(node: Array, tree: Array, leaf: Array) -> dict[int, list[list[int]]]:
    """The leaves pruned at each node, as lists [tree, leaf, ..], in order; none twice."""
    if not len(node):
        return {}
    trees, leaves = int(tree.max()) + 1, int(leaf.max()) + 1
    group, leaf = np.divmod(_different((node * trees + tree) * leaves + leaf), leaves)
    begin = _begins(group)
    node, tree = np.divmod(group[begin], trees)
    every, end = leaf.tolist(), [*begin[1:].tolist(), len(leaf)]
    found: dict[int, list[list[int]]] = {}
    for n, t, one, other in zip(node.tolist(), tree.tolist(), begin.tolist(), end, strict=True):
        found.setdefault(n, []).append([t, *every[one:other]])
    return found
