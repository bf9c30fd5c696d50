"""The prover for means of what members say: best-first branch and bound over threshold cells, as for one ensemble.

In:  a Question about an Ensemble whose link is a mean, each tree of one member, under a Norm, and the conditions on the
     mean (`mace.problem.goal_means`).
Out: as `mace.solve.ensembles.prover`; and of the boxes of its proof that close by trees the scores that they reach at
     most (`corners`), from which the goal is written as comparisons for a certificate.
Promise: as there. A point that what was read of the model certainly denies is no witness, and nobody is asked about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mace.base.cache import Kept
from mace.base.deadline import Deadline, TimeOverError
from mace.problem.goal_means import Condition, whole_of
from mace.problem.goal_rises import Rise, rise_of
from mace.problem.proof import Proof
from mace.problem.question import Goal, Question
from mace.solve.ensembles.arrays import walk
from mace.solve.ensembles.arrays.cells import Forest, Grounded, ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.gains import spread
from mace.solve.ensembles.arrays.terms import Bound, Terms
from mace.solve.ensembles.boxes import book as books
from mace.solve.ensembles.boxes.plain import Plain
from mace.solve.ensembles.means.cover import Refuted
from mace.solve.ensembles.means.reached import Sums, sums_of
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.protocol import Reply
from mace.space.axes import Point
from mace.tables.decide import mean_at
from mace.tables.table import Compare, Ensemble

if TYPE_CHECKING:
    from mace.solve.ensembles.means.loop import Means

CLEAR = 0.01
"""By how much a box shall miss a condition, where splitting it does that: scores far from the goal are told from it by
fewer comparisons."""


def owners(table: Ensemble) -> Array | None:
    """The member that each tree belongs to, shape (trees,); None where a tree adds to several."""
    return _OWNERS.get(table, None, lambda: _owners(table))


def _owners(table: Ensemble) -> Array | None:
    adds = np.array([tree.value.any(axis=0) for tree in table.trees])
    return None if (adds.sum(axis=1) > 1).any() else np.asarray(adds.argmax(axis=1).astype(np.int64))


_OWNERS: Kept[Array | None] = Kept(1)


class _Aimed(NamedTuple):
    """What every question about these conditions has: a gain for each leaf in the forest, and the conditions."""

    gain: Array
    means: Means


_AIMED: Kept[_Aimed] = Kept(4)


PATIENCE = 6_000_000
"""Walks through trees after which the search has `stalled`, where it is told that something else can be tried."""
SOME = 1000
"""Boxes whose corners are looked at between two looks at the clock."""


class Corners(NamedTuple):
    """What boxes reach, and the least and the largest score of each member within the distance that is claimed."""

    refuted: Refuted
    ball: Sums


class MeanOracle(EnsembleOracle):
    """Answers one question about a mean.

    patience: walks through trees after which a search ends, `stalled`; None for as many as the limits allow.
    """

    def __init__(self, question: Question, conditions: Sequence[Condition]) -> None:
        super().__init__(plainly(question, len(conditions)))
        table = question.model
        assert isinstance(table, Ensemble)
        whole = whole_of(table)
        self.conditions = tuple(conditions)
        self.rises = [rise_of(table, one, whole) for one in conditions]
        self._searches: list[tuple[Reply, MeanPlain]] = []
        self.patience: int | None = None
        self.stalled = False

    def _ground(self, deadline: Deadline) -> Grounded:
        found = ground(self.question, deadline)
        return replace(found, forest=found.forest._replace(gain=self._aimed(found).gain))

    def _aimed(self, grounded: Grounded) -> _Aimed:
        table = self.question.model
        assert isinstance(table, Ensemble)
        owner = owners(table)
        assert owner is not None
        return _AIMED.get(table, self.conditions, lambda: _aimed_at(grounded, owner, self.rises))

    def meets(self, deadline: Deadline) -> Callable[[Point], bool] | None:
        """Whether a point may have the goal, as fast as the search tells it; None without time for its arrays."""
        from mace.solve.ensembles.means.loop import met_at

        try:
            grounded = self._grounded = self._grounded or self._ground(deadline)
        except TimeOverError:
            return None
        found = self.means(grounded)
        return lambda point: bool(met_at(grounded.ground, grounded.forest, found, grounded.cells(point)))

    def means(self, grounded: Grounded) -> Means:
        """The conditions as compiled code takes them."""
        return self._aimed(grounded).means

    def _plain(self, terms: Terms) -> Plain:
        assert self._grounded is not None
        return MeanPlain(self, self._grounded, terms)

    def _searched(self, search: Plain) -> Reply:
        finished = search.search(self.patience)
        if search.stalled:
            self.stalled, search.why = True, f"left after {self.patience} walks through trees"
        reply = search.said(search.doubtful(), None if finished else search.lower(), search.proof())
        assert isinstance(search, MeanPlain)
        self._searches.append((reply, search))
        return reply

    def corners(self, proof: Proof, claim: Fraction | None, deadline: Deadline) -> Corners | None:
        """What the boxes of a proof that trees close reach at most, nearer than what is claimed (None: anywhere).

        Raises TimeOverError.
        """
        search = next((search for reply, search in self._searches if reply.proof is proof), None)
        return None if search is None else search.corners(claim, deadline)

    def _first(self, grounded: Grounded, best: Point | None, bound: Bound, deadline: Deadline) -> Point | None:
        points = [best] if best is not None else self._guesses(grounded, deadline)
        near = (p for p in points if self.question.obeys(p) and not bound.excludes(self.question.distance_of(p)))
        return next((point for point in near if point is best or self.witnesses.counts(point)), None)

    def _guesses(self, grounded: Grounded, deadline: Deadline) -> Iterator[Point]:
        """Points that may have the goal."""
        from mace.solve.ensembles.means.guess import guesses
        from mace.solve.ensembles.means.loop import met_at

        question, table, means = self.question, self.question.model, self.means(grounded)
        assert isinstance(table, Ensemble)
        most = -1 if question.most_changes is None else question.most_changes
        scores = table.scores(question.row(question.start))
        for cells in guesses(grounded, means.owner, self.rises[0], scores, most, deadline):
            if met_at(grounded.ground, grounded.forest, means, cells):
                yield grounded.point(cells)


def plainly(question: Question, conditions: int) -> Question:
    """The question with comparisons in the place of conditions, of which nothing is used but their number."""
    table = question.model
    assert isinstance(table, Ensemble)
    part = tuple(Compare(0, None, float(n)) for n in range(conditions))
    return question.aimed(Goal(question.goal.text, question.goal.labels, (part,), enclosed=True), table)


def _aimed_at(grounded: Grounded, owner: Array, rises: Sequence[Rise]) -> _Aimed:
    forest = grounded.forest
    leaves = np.flatnonzero(forest.test[:, 0] < 0)
    tree = np.searchsorted(forest.roots, leaves, side="right") - 1
    value = forest.value[leaves, owner[tree]]
    largest = float(np.abs(value).max(initial=1e-300))
    exponent = 58 - int(np.frexp(largest * (len(forest.roots) + 1))[1])
    gain = np.zeros((len(rises), len(forest.test)), np.int64)
    for c, rise in enumerate(rises):
        gain[c, leaves] = np.ceil(np.ldexp(value * rise.turn[owner[tree]], exponent)).astype(np.int64)
    spread(grounded.tests.trees, gain)
    return _Aimed(gain, _means(owner, rises, 2.0**-exponent))


def _means(owner: Array, rises: Sequence[Rise], unit: float) -> Means:
    from mace.solve.ensembles.means.loop import Means

    at, places, left, right, start, far = (
        np.array([getattr(rise, name) for rise in rises]) for name in ("at", "places", "left", "right", "start", "far")
    )
    need, part, clear = np.array([rise.need for rise in rises]), np.arange(len(rises)), CLEAR * places.shape[1]
    return Means(owner, at, places, left, right, start, far, need, rises[0].divide, unit, part, clear)


class MeanPlain(Plain):
    """One search."""

    def __init__(self, oracle: MeanOracle, grounded: Grounded, terms: Terms) -> None:
        from mace.solve.ensembles.means import loop as means

        table = oracle.question.model
        assert isinstance(table, Ensemble)
        self.oracle, self.table, self.compiled = oracle, table, means
        self.means, self.rises = oracle.means(grounded), oracle.rises
        super().__init__(oracle.witnesses, grounded, terms)
        self.room_of = means.new_room(self.means, len(self.forest.up))

    def step(self, limit: int, most: int, budget: int) -> int:
        """See `Plain`."""
        return self.compiled.run(
            self.grounded.ground, self.forest, self.grounded.forest, self.means, self.book, self.box, self.scratch,
            self.room_of, self.stack, limit, self.grounded.width, self.enough(limit), most, budget,
        )  # fmt: skip

    def counts(self, point: Point) -> bool | None:
        """See `Plain`."""
        return None if self._denied(point) else self.witnesses.counts(point)

    def _denied(self, point: Point) -> bool:
        """Whether what was read of the model certainly denies the goal."""
        mean = mean_at(self.table, self.question.row(point))
        conditions = self.oracle.conditions
        return not all(one.sign * (mean.high if one.sign > 0 else mean.low) >= one.bound for one in conditions)

    def doubtful(self) -> Fraction | None:
        """See `Plain`. A cell whose points are all denied is closed by its trees."""
        book = self.book
        used = slice(0, int(book.count[books.NODES]))
        for node in np.flatnonzero(book.state[used] == books.DOUBTFUL).tolist():
            if self._denied(self._load(node)):
                book.state[node] = books.TREES
        return super().doubtful()

    def corners(self, claim: Fraction | None, deadline: Deadline) -> Corners:
        """What the boxes that trees close reach at most, nearer than what is claimed (None: anywhere).

        Raises TimeOverError.
        """
        # A box that was closed may hold the point that was found, whose distance is what is claimed; it is in the ball.
        book = self.book
        limit, far = (Bound(claim, inclusive).scaled(self.grounded.scale) for inclusive in (False, True))
        used = slice(0, int(book.count[books.NODES]))
        nodes = np.flatnonzero((book.state[used] == books.TREES) & (book.key[used] < limit))
        # Of the forest cut down to the limit, where paths are shorter, more leaves would seem to be near.
        reached = np.zeros((len(nodes), *self.means.places.shape), np.int64)
        for begin in range(0, len(nodes), SOME):
            deadline.look()
            some = slice(begin, begin + SOME)
            reached[some] = self.compiled.corners(
                self.grounded.ground, self.forest, self.means, book, nodes[some], self.box, limit, self.stack
            )
        low, high = (np.full((len(nodes), self.table.outputs), end) for end in (-np.inf, np.inf))
        for c, rise in enumerate(self.rises):
            turned = (reached[:, c] * self.means.unit + rise.start + rise.far) / rise.divide
            high = np.where(rise.turn > 0, np.minimum(high, turned), high)
            low = np.where(rise.turn < 0, np.maximum(low, -turned), low)
        return Corners(Refuted(low, high), sums_of(self.table, self.grounded.forest, self._ball(far)))

    def _ball(self, limit: int) -> Forest:
        """What is nearer than a limit of the trees."""
        axes = self.grounded.ground
        self.box.low[:], self.box.high[:] = axes.low, axes.high
        walk.measure(axes, self.box)
        found: Forest = walk.shrink(axes, self.grounded.forest, self.box, limit, self.stack)
        return found
