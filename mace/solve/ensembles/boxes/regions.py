"""Divide the box of all allowed points by the rules before it is searched, and search region by region.

In:  a search that stalled, whose question has rules.
Out: what the searches of all regions say together; None where rules divide the box into nothing.
Promise: the proof is a tree of cuts; its leaves are closed by rules, or hold the proof of a region.
Why: a search by distance comes to points that break a rule again and again, each time beside another one, while
`overdue >= 1 implies history == "yes"` costs one more change wherever anything is overdue. In the regions where the
history stays and where it does not that is known from the beginning.
How: what rules rule out at an end of a feature, or of its levels, is cut away until nothing is left that could be. Then
the box is cut between what a feature of a rule is now and all else, where rules rule out more on one side at least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from mace.base.deadline import NEVER, Deadline
from mace.problem.distance import Norm
from mace.problem.lines import lines_of
from mace.problem.proof import Leaf, Proof, Split, preorder
from mace.problem.question import Question
from mace.solve.conditions import Cut, put, ruled_out
from mace.solve.ensembles.arrays.cells import Grounded, with_cut
from mace.solve.ensembles.arrays.terms import Bound, Terms
from mace.solve.ensembles.boxes.plain import Plain
from mace.solve.protocol import Found, Reply, combined
from mace.space.axes import Box, GridAxis, Side, ends

MOST = 16  # regions
DIVIDING = 0.1  # of the time left, for looking for them: of many rules about many features each look takes a while


@dataclass(slots=True)
class RegionNode:
    """A box; the cut that divides it and its halves, or the proof that closes it."""

    box: Box
    split: Split | None = None
    children: tuple[RegionNode, ...] = ()
    proof: Proof | None = None

    def divide(self, axis: int, at: int) -> tuple[RegionNode, RegionNode]:
        """Cut the box in two; the half with the indices up to `at`, or the levels in it, comes first."""
        side = self.box[axis]
        parts: tuple[Side, Side]
        parts = (side & at, side & ~at) if isinstance(side, int) else ((side[0], at), (at + 1, side[1]))
        one, other = (RegionNode(put(self.box, axis, part)) for part in parts)
        self.split, self.children = Split(axis, at), (one, other)
        return one, other

    @property
    def open(self) -> bool:
        """Whether it is still to be searched."""
        return self.split is None and self.proof is None

    def every(self) -> Iterator[RegionNode]:
        """The region itself and all within it."""
        todo = [self]
        while todo:
            region = todo.pop()
            yield region
            todo += region.children


def by_regions(search: Plain, searched: Callable[[Plain], Reply]) -> Reply | None:
    """What the searches of all regions say together, the nearest region first; None where there is only one."""
    question, grounded = search.question, search.grounded
    whole = grounded.sides(grounded.ground.low, grounded.ground.high)
    root = divided(question, whole, search.deadline.share(DIVIDING))
    if root.split is None:
        return None
    grounded = cut_into(grounded, question, root)
    terms = Terms(search.bound, search.point, search.gap, search.deadline, search.room, search.jobs)
    parts = [(Plain(search.witnesses, inside_of(grounded, one.box), terms), one) for one in root.every() if one.open]
    parts.sort(key=lambda pair: int(pair[0].book.key[0]))
    replies = list[Reply]()
    for part, region in parts:
        part.tells = False
        part.point, part.bound = search.point, search.bound
        reply = searched(part)
        if isinstance(reply, Found):
            search.point, search.bound = reply.point, Bound(question.distance_of(reply.point))
        replies.append(reply)
        region.proof = reply.proof
        search.why = search.why or part.why  # a limit; that rounding decides somewhere keeps nobody from going on
        search.work += part.book.count + part.work
        search.relaxations += part.relaxations
    known = search.bound.distance
    return search.at_least(combined(replies, search.point, known, preorder(root, _closing), known))


def nothing_obeys(question: Question, grounded: Grounded, deadline: Deadline) -> Proof | None:
    """A proof by rules alone that no point is allowed, where what rules say of whole boxes tells it; else None.

    A search by distance would come to it box by box, after seconds.
    """
    root = RegionNode(grounded.sides(grounded.ground.low, grounded.ground.high))
    return preorder(root, _closing) if _cut_down(question, root, deadline.share(DIVIDING)) is None else None


def divided(question: Question, box: Box, until: Deadline = NEVER) -> RegionNode:
    """A box, cut by rules into at most so many regions that are left open; when the time is over, into fewer."""
    root = RegionNode(box)
    todo, left = [root], MOST
    while todo:
        region = _cut_down(question, todo.pop(0), until)
        if region is not None and left > 1 and (found := _between(question, region.box, until)) is not None:
            todo += region.divide(*found)
            left -= 1
    return root


def _cut_down(question: Question, region: RegionNode, until: Deadline) -> RegionNode | None:
    """What is left of a region without what rules rule out at its ends; None where that is nothing."""
    while not until.over and (found := ruled_out(question, region.box)) is not None:
        if found.cut is None:
            region.proof = [Leaf("rule", found.number)]
            return None
        halves = region.divide(*found.cut)
        halves[found.half].proof = [Leaf("rule", found.number)]
        region = halves[1 - found.half]
    return region


def _between(question: Question, box: Box, until: Deadline) -> Cut | None:
    """A cut between what a feature is now and all else, by which rules rule out more; features of few levels first."""
    lined = {line.rule for line in lines_of(question.rules)}  # which the search itself knows better
    read = {j for k, rule in enumerate(question.rules) if k not in lined for j in rule.reads.values()}
    for j in sorted(read, key=lambda j: (not isinstance(box[j], int), len(ends(box[j])), j)):
        if until.over:
            break
        at = _beside(box[j], question.axes[j].start)
        if at is not None and any(ruled_out(question, half.box) for half in RegionNode(box).divide(j, at)):
            return Cut(j, at)
    return None


def _beside(side: Side, start: int) -> int | None:
    """Where to cut a side so that one half has the start alone, or is nearer to that; None where it has one value."""
    if isinstance(side, int):
        one = 1 << start if side >> start & 1 else side & -side
        return one if one != side else None
    first, last = side
    if first == last or not first <= start <= last:
        return None
    return start if start < last else last - 1


def cut_into(grounded: Grounded, question: Question, root: RegionNode) -> Grounded:
    """The arrays with a cut wherever regions were divided; level axes need none."""
    norm = question.distance
    assert isinstance(norm, Norm)
    for split in [region.split for region in root.every() if region.split is not None]:
        if isinstance(grounded.axes[split.axis], GridAxis) and split.at not in grounded.cuts(split.axis):
            grounded, _ = with_cut(grounded, norm, split.axis, split.at)
    return grounded


def inside_of(grounded: Grounded, box: Box) -> Grounded:
    """The arrays for a box whose ends are cuts."""
    low, high = grounded.ground.low.copy(), grounded.ground.high.copy()
    for j, side in enumerate(box):
        if isinstance(side, int):
            low[j] = side
        else:
            first, last = np.searchsorted(grounded.cuts(j), side)
            low[j], high[j] = max(low[j], first), min(high[j], last)
    return grounded.inside(low, high)


def _closing(region: RegionNode) -> Leaf:
    raise AssertionError(f"the region {region.box} was not searched")
