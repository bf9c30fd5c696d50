"""A search for each part of the goal, where one search for all of them stalls.

In:  a search that stalled, whose goal is a disjunction of several parts: any class but the present one, say.
Out: what the searches for all parts say together (`mace.solve.by_parts`); None where the goal has one part, or all
     parts are about the same trees.
Why: in gradient boosting each tree adds to the score of one class, so that splits that refute one class do nothing
for the others. In a random forest each tree adds to all classes, and relaxing all parts costs little more than one.
How: trees that do not matter to a part become one leaf. The part that greedy search reaches at the least distance has
the first turn. First turns are short: they end where the plain search stalls. A search that pauses goes on where it
was; only with regions of rules, which are searched one after the other, each turn begins anew, in a share of the time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mace.base.deadline import Deadline
from mace.solve.by_parts import Turn, by_parts, stopped
from mace.solve.ensembles.arrays.cells import NO_LIMIT, Aim, Forest
from mace.solve.ensembles.arrays.terms import Bound, Terms
from mace.solve.ensembles.boxes.plain import LONG_LOOK, LOOK, Plain
from mace.solve.protocol import Refuted, Reply
from mace.space.axes import Point

MOST = 0.8  # of the trees may matter to a comparison: of three classes, each with its own trees, two thirds do


def parted(search: Plain, searched: Callable[[Plain], Reply]) -> Reply | None:
    """What the searches for all parts say together; None where there is only one, or all are about the same trees.

    searched: what a search says at its end, or where it pauses.
    """
    count = len(search.grounded.aim.begin) - 1
    if count < 2 or _matter(search.grounded.forest) > MOST:
        return None
    forest = search.nearer()
    parts = [_Part(search, part, forest, searched) for part in range(count)]
    order = sorted(range(count), key=lambda part: parts[part].climbed())
    distance_of = search.question.distance_of
    within = None if search.point is not None else search.bound.distance
    reply = by_parts([part.turn for part in parts], search.point, distance_of, search.deadline, order, within)
    if not isinstance(reply, Refuted):
        limits = [part.plain.why for part in parts if part.plain is not None]
        # A cell that rounding leaves undecided is no limit: the search may go on.
        search.why = reply.why if any(limits) or search.deadline.over else ""
    return search.at_least(reply)


def _matter(forest: Forest) -> float:
    """The part of the trees whose leaves differ for a comparison, on average."""
    leaves = np.flatnonzero(forest.test[:, 0] < 0)
    first = np.searchsorted(leaves, forest.roots)  # a tree's nodes follow one another
    gain = forest.gain[:, leaves]
    return float((np.maximum.reduceat(gain, first, axis=1) > np.minimum.reduceat(gain, first, axis=1)).mean())


def without_idle(forest: Forest, aim: Aim) -> Forest:
    """The forest in which a tree is one leaf if all its leaves are alike in the scores that are compared.

    Of boosting with ten classes those are eight trees of ten, for each part of the goal others.
    """
    leaves = np.flatnonzero(forest.test[:, 0] < 0)
    first = np.searchsorted(leaves, forest.roots)  # a tree's nodes follow one another
    scores = np.unique(np.concatenate([aim.plus, aim.minus]))
    value = forest.value[forest.leaf[leaves]][:, scores[scores >= 0]]
    idle = (np.maximum.reduceat(value, first) == np.minimum.reduceat(value, first)).all(axis=1)
    roots, chosen = forest.roots[idle], leaves[first[idle]]
    keep = ~np.repeat(idle, np.diff(forest.roots, append=len(forest.test)))
    keep[roots] = True
    number = (np.cumsum(keep) - 1).astype(np.int32)
    test, gain, leaf = forest.test.copy(), forest.gain.copy(), forest.leaf.copy()
    test[roots], gain[:, roots], leaf[roots] = -1, gain[:, chosen], leaf[chosen]
    test, inner = test[keep], test[keep, 0] >= 0
    test[inner, 2:] = number[test[inner, 2:]]
    up = forest.up[keep]
    up[up >= 0] = number[up[up >= 0]]
    return Forest(test, up, number[forest.roots], np.ascontiguousarray(gain[:, keep]), forest.value, leaf[keep])


class _Part:
    """The search for one part; forest: what the search for all of them left of the trees."""

    def __init__(self, search: Plain, part: int, forest: Forest, searched: Callable[[Plain], Reply]) -> None:
        self.search, self.searched = search, searched
        self.grounded, own = search.grounded.aimed_at(part, forest)
        self.forest = without_idle(own, self.grounded.aim)
        self.plain: Plain | None = None

    def climbed(self) -> int:
        """The scaled distance of the first point with this part that climbing finds."""
        from mace.solve.ensembles.points.greedy import cost_of, greedy

        question = self.search.question
        most = -1 if question.most_changes is None else question.most_changes
        cells = greedy(self.grounded, most, np.zeros(0, np.int64), self.search.deadline)
        return NO_LIMIT if cells is None else int(cost_of(self.grounded.ground, cells))

    def turn(self, best: Point | None, number: int | None, share: Deadline) -> Turn:
        """Go on for a turn; best: the nearest point of all searches, from which on nothing is of interest."""
        search, deadline = self.search, share if self.search.ruled else self.search.deadline
        if self.plain is None or search.ruled:
            self.plain = self._begun(best, deadline)
        one, nearer = self.plain, best is not None and best != self.plain.point
        if nearer and one.branching is not None:
            # Prices know little of it: in the smaller ball the plain search may be done as soon as it begins.
            again = self._begun(best, deadline)
            turn = self._taken(again, LONG_LOOK, deadline)
            if not (turn.paused or again.why):  # else the search that was paused says more
                self.plain = again
                return turn
            best = again.point  # which may be nearer still
        if best is not None and nearer:
            one.point, one.bound = best, Bound(search.question.distance_of(best))
            one.book.settled[:] = 0
        one.tells = number is None
        return self._taken(one, None if number is None else LOOK + number, deadline)

    def _begun(self, best: Point | None, deadline: Deadline) -> Plain:
        """A search that has not begun, for points nearer than the best one known."""
        search = self.search
        room = search.room // (len(search.grounded.aim.begin) - 1)
        terms = Terms(search.bound, best, search.gap, deadline, room, search.jobs)
        made = Plain(search.witnesses, self.grounded, terms, self.forest)
        made.ruled, made.tells = search.ruled, False
        return made

    def _taken(self, one: Plain, turn: int | None, deadline: Deadline) -> Turn:
        """What a search says at the end of a turn; its work and its point are those of the search for all parts."""
        search = self.search
        one.turn, one.deadline, one.why, one.paused = turn, deadline, "", False
        before = one.book.count + one.work, one.relaxations
        reply = self.searched(one)
        search.work += one.book.count + one.work - before[0]
        search.relaxations += one.relaxations - before[1]
        if one.point is not None:
            search.point, search.bound = one.point, Bound(search.question.distance_of(one.point))
        return Turn(reply, one.paused or (search.ruled and stopped(reply, deadline)))
