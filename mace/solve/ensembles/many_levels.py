"""Features with more levels than a search has bits for: the same question with the levels that trees tell apart.

In:  a question about trees under a norm, of which some feature has more than `MOST_LEVELS` levels.
Out: what questions with fewer levels say of it together.
Promise: levels become one where every test of the trees sends them the same way, a change to each costs the same, and
no exclusion tells them apart: what is proved of one of them is proved of all. Are they still too many, they are divided
among several questions, whose proofs are put together by splits.
How: a feature without order alone; no rule may read it. The start keeps a level of its own wherever it is not allowed
or something is excluded, since another level of its kind is then not the same to everybody. Where an earlier objective
counts its change, levels before the start stay before it, and those after it after it: so budgets count on boxes.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.bits import members
from mace.base.cache import Kept, Recent
from mace.base.deadline import Deadline
from mace.problem.budget import Budget
from mace.problem.distance import Norm
from mace.problem.exclusions import Avoid, AvoidBox, AvoidChanges, AvoidNear, AvoidPoint
from mace.problem.proof import Leaf, Narrow, Proof, ProofNode, Split
from mace.problem.question import Question
from mace.solve.by_parts import ROUNDS, Turn, by_parts, stopped
from mace.solve.ensembles.arrays.cells import MOST_LEVELS
from mace.solve.ensembles.arrays.cuts import trees_of
from mace.solve.protocol import Asked, Found, ProvedBound, Refuted, Replay, Reply, Unknown
from mace.solve.witnesses import Witnesses
from mace.space.axes import LevelAxis, Point
from mace.space.columns import Column
from mace.tables.members import among
from mace.tables.table import Ensemble

TOO_MANY = "exclusions name more levels of one feature than the prover can tell apart"

Answered = Callable[[Question, Asked, Point | None, Replay | None], tuple[Reply, Sequence[Avoid]]]
_ALIKE: Kept[NDArray[np.int64]] = Kept(64)
_COLUMNS: Recent[tuple[tuple[Column, ...], tuple[Column, ...]]] = Recent()


class Fewer(NamedTuple):
    """A question with fewer levels of one feature.

    axis:    the feature.
    shown:   of each of its levels, the level of the whole question that stands for it.
    meant:   of each, all levels that it stands for, as a mask.
    """

    question: Question
    axis: int
    shown: tuple[int, ...]
    meant: tuple[int, ...]

    def whole(self, point: Point) -> Point:
        """A point of it as a point of the whole question."""
        j = self.axis
        return (*point[:j], self.shown[point[j]], *point[j + 1 :])

    def own(self, point: Point) -> Point | None:
        """A point of the whole question as one of this one that is no farther; None where it has no such level."""
        j = self.axis
        level = next((k for k, mask in enumerate(self.meant) if mask >> point[j] & 1), None)
        return None if level is None else (*point[:j], level, *point[j + 1 :])

    def mask(self, levels: int) -> int:
        """All levels that those of a mask stand for."""
        found = 0
        for level in members(levels & (1 << len(self.meant)) - 1):
            found |= self.meant[level]
        return found

    def own_mask(self, levels: int) -> int:
        """The levels of it that stand for some of a mask."""
        return sum(1 << k for k, mask in enumerate(self.meant) if mask & levels)

    def proof(self, proof: Proof | None) -> Proof | None:
        """A proof of it as a proof about the whole question."""
        return None if proof is None else list(map(self._node, proof))

    def _node(self, node: ProofNode) -> ProofNode:
        match node:
            case Split(axis=axis, at=at) if axis == self.axis:
                return Split(axis, self.mask(at))
            case Narrow(spans=spans) if any(axis == self.axis for axis, _, _ in spans):
                meant = [
                    (j, self.mask(low), self.mask(low)) if j == self.axis else (j, low, high) for j, low, high in spans
                ]
                return replace(node, spans=tuple(meant))
        return node

    def reply(self, reply: Reply) -> Reply:
        """What a reply says of the whole question."""
        proof = self.proof(reply.proof)
        if isinstance(reply, Refuted):
            return Refuted(proof)
        spare = None if reply.spare is None else ProvedBound(reply.spare.lower, self.proof(reply.spare.proof))
        if isinstance(reply, Found):
            return Found(self.whole(reply.point), reply.lower, proof, reply.why, spare)
        return Unknown(reply.why, reply.lower, proof, spare)

    def excluded(self, avoid: Avoid) -> Avoid:
        """What was excluded from it, in the whole question."""
        match avoid:
            case AvoidBox(box=box):
                side = box[self.axis]
                assert isinstance(side, int)
                return AvoidBox((*box[: self.axis], self.mask(side), *box[self.axis + 1 :]))
            case AvoidPoint(point=point):
                return AvoidPoint(self.whole(point))
        return avoid


def many(question: Question) -> int | None:
    """The first feature with more levels than a search takes; None if there is none."""
    found = (j for j, axis in enumerate(question.axes) if isinstance(axis, LevelAxis) and axis.count > MOST_LEVELS)
    return next(found, None)


def refusal(question: Question, j: int) -> str | None:
    """Why the levels of a feature cannot be made fewer; None if they can."""
    axis = question.axes[j]
    assert isinstance(axis, LevelAxis)
    told = f"`{axis.name}` has {axis.count} levels"
    if axis.ordered:
        return f"{told} in an order, and it takes up to {MOST_LEVELS} of these"
    if _beside(question, j) >= MOST_LEVELS:
        return f"exclusions name {_beside(question, j)} levels of `{axis.name}`, and it takes up to {MOST_LEVELS}"
    for rule in question.rules:
        if j in rule.reads.values() and not (isinstance(rule, Budget) and not rule.starts):
            return f"{told} and a rule reads it; it takes up to {MOST_LEVELS} of these"
    return None


def fewer(question: Question, j: int, levels: int | None = None) -> Fewer:
    """The question with those levels of a feature that differ; levels: the mask of those that it is about, if not all.

    Where these are still too many, its own oracle divides it.
    """
    axis, model = question.axes[j], question.model
    assert isinstance(axis, LevelAxis) and isinstance(model, Ensemble)
    allowed = axis.allowed if levels is None else axis.allowed & levels
    kinds: dict[Any, list[int]] = {}
    named = _named(question, j)
    sides = [avoid.box[j] for avoid in question.avoid if isinstance(avoid, AvoidBox)]
    boxes = [side for side in sides if isinstance(side, int)]
    likes = [(alike, *(box >> level & 1 for box in boxes)) for level, alike in enumerate(_alike(question, j).tolist())]
    counted = any(j in rule.reads.values() for rule in question.rules)
    for level, like in enumerate(likes):
        after = counted and level > axis.start and (like != likes[axis.start] or axis.start in named)
        kinds.setdefault(level if level in named else (like, after), []).append(level)
    found = [
        (axis.start if axis.start in kind else next((k for k in kind if allowed >> k & 1), kind[0]), kind)
        for kind in kinds.values()
        if any(allowed >> k & 1 for k in kind) or axis.start in kind or set(kind) & named
    ]
    found.sort(key=lambda one: (one[0] == axis.missing, one[0] if counted and one[0] == axis.start else one[1][0]))
    shown = tuple(level for level, _ in found)
    start = shown.index(axis.start)
    own = LevelAxis(
        axis.name,
        len(found),
        sum(1 << k for k, (_, kind) in enumerate(found) if any(allowed >> level & 1 for level in kind)),
        start,
        missing=len(found) - 1 if found[-1][0] == axis.missing else None,
        missing_cost=axis.missing_cost,
    )
    # The same for all rows where they can be: what is known of the trees is kept by columns.
    columns, firsts = question.columns, tuple(kind[0] for _, kind in found)

    def made() -> tuple[Column, ...]:
        return tuple(
            replace(c, values=tuple(c.values[k] for k in firsts)) if c.feature == j and c.values is not None else c
            for c in columns
        )

    # With the columns, whose id is then no other's.
    _, shared = _COLUMNS.get((id(columns), j, firsts), lambda: (columns, made()))
    meant = tuple(sum(1 << level for level in kind) for _, kind in found)
    axes = (*question.axes[:j], own, *question.axes[j + 1 :])
    avoid = tuple(_within(one, j, shown, meant) for one in question.avoid)
    return Fewer(replace(question, axes=axes, inputs=shared, avoid=avoid), j, shown, meant)


def with_few(question: Question, moving: Container[int]) -> tuple[Question, dict[int, Fewer]] | None:
    """The question, for what its trees say of points alone, with few levels of each feature, and how by feature; None
    where there are too many.

    moving: features of which any level counts; of others only that of the start does.
    """
    found: dict[int, Fewer] = {}
    while (j := many(question)) is not None:
        axis = question.axes[j]
        assert isinstance(axis, LevelAxis)
        levels = (1 << axis.count) - 1 if j in moving else 1 << axis.start
        own = replace(axis, allowed=levels)
        one = fewer(replace(question, axes=(*question.axes[:j], own, *question.axes[j + 1 :])), j)
        if len(one.shown) > MOST_LEVELS:
            return None
        question, found[j] = one.question, one
    return question, found


def answered(witnesses: Witnesses, j: int, asked: Asked, best: Point | None, ask: Answered) -> Reply:
    """What questions with fewer levels of a feature say together.

    ask: answers one of them, and says what the deployed model refused.
    """
    pieces = _pieces(witnesses.question, j)
    if pieces is None:
        return Unknown(TOO_MANY)
    if len(pieces) == 1:
        return _of(witnesses, j, None, asked, best, ask, hears=True)
    searches = [_search(witnesses, j, piece, asked, ask) for piece in pieces]
    start = witnesses.question.axes[j].start
    order = sorted(range(len(pieces)), key=lambda k: not pieces[k] >> start & 1)

    def joined(proofs: Sequence[Proof | None]) -> Proof | None:
        found: Proof = []
        for piece, proof in zip(pieces, proofs, strict=True):
            if proof is None:
                return None
            found += [Split(j, piece), *proof] if piece != pieces[-1] else proof
        return found

    distance_of = witnesses.question.distance_of
    return by_parts(searches, best, distance_of, asked.limits.deadline, order, asked.radius, joined)


def within(question: Question, radius: Fraction) -> Iterator[Question]:
    """Questions with few levels that together have all allowed points within a radius, and maybe others."""
    j = many(question)
    if j is None:
        yield question
        return
    every = replace(question, avoid=())
    pieces = _pieces(every, j)
    assert pieces is not None
    near = [piece for piece in pieces if not _beyond(every, j, piece, radius, strict=False)]
    for piece in near or pieces[:1]:  # one at least, even if nothing in it is
        yield from within(fewer(every, j, piece).question, radius)


def _search(
    witnesses: Witnesses, j: int, piece: int, asked: Asked, ask: Answered
) -> Callable[[Point | None, int | None, Deadline], Turn]:
    """The search of one piece, which begins anew each turn."""
    nowhere: list[Reply] = []  # what shows that no point at all is there, which need not show it within a distance

    def turn(known: Point | None, number: int | None, deadline: Deadline) -> Turn:
        if known is None and nowhere:
            return Turn(nowhere[0], paused=False)
        own = asked._replace(limits=replace(asked.limits, deadline=deadline))
        if known is not None:
            distance = witnesses.question.distance_of(known)
            if own.radius is None or distance <= own.radius:
                own = own._replace(radius=distance, strict=True)
        if own.radius is not None and _beyond(witnesses.question, j, piece, own.radius, strict=own.strict):
            return Turn(Refuted([Leaf("distance")]), paused=False, claim=own.radius)
        reply = _of(witnesses, j, piece, own, None, ask, hears=number is None)
        if isinstance(reply, Refuted):
            nowhere[:] = [reply] if own.radius is None else nowhere
            return Turn(reply, paused=own.radius is None, claim=own.radius)
        more = number is not None and number < ROUNDS - 1 and stopped(reply, deadline)
        return Turn(reply, more, reply.lower)

    return turn


def _beyond(question: Question, j: int, piece: int, radius: Fraction, *, strict: bool) -> bool:
    """Whether a change to any level of a piece is farther by itself than a radius, or as far if `strict`."""
    axis, norm = question.axes[j], question.distance
    assert isinstance(axis, LevelAxis) and isinstance(norm, Norm)
    least = min((norm.charges[j].least(axis.delta(level)) for level in members(piece & axis.allowed)), default=None)
    return least is None or (least >= radius if strict else least > radius)


def _of(
    witnesses: Witnesses, j: int, piece: int | None, asked: Asked, best: Point | None, ask: Answered, *, hears: bool
) -> Reply:
    """The reply about some levels; what was refused meanwhile is refused of all."""
    while True:
        one = fewer(witnesses.question, j, piece)
        replay = _asked_by(witnesses.replay, one, hears=hears)
        reply, refused = ask(one.question, asked, None if best is None else one.own(best), replay)
        witnesses.refuse([one.excluded(avoid) for avoid in refused])
        # Of levels that are one to the trees a single one was refused: now they are told apart.
        again = any(isinstance(avoid, AvoidPoint) and _several(one.meant[avoid.point[j]]) for avoid in refused)
        if not again or asked.limits.deadline.over:
            return one.reply(reply) if not again else Unknown(asked.limits.deadline.why)


def _asked_by(replay: Replay | None, one: Fewer, *, hears: bool) -> Replay | None:
    """Who is asked about points of a question with fewer levels; hears: whether bounds of it are those of the whole."""
    if replay is None:
        return None
    accepts = replay.accepts
    return replace(replay, accepts=lambda point: accepts(one.whole(point)), hearing=replay.hearing if hears else None)


def _pieces(question: Question, j: int) -> list[int] | None:
    """The levels of each question, as masks that hold each level once; None if exclusions name too many."""
    axis = question.axes[j]
    assert isinstance(axis, LevelAxis)
    whole = fewer(question, j)
    every = (1 << axis.count) - 1
    if len(whole.shown) <= MOST_LEVELS:
        return [every]
    most = MOST_LEVELS - _beside(question, j)
    if most < 1:  # since the deployed model refused so many points
        return None
    meant = [levels for levels in whole.meant if levels & axis.allowed]
    found = [sum(meant[begin : begin + most]) for begin in range(0, len(meant), most)]
    # Levels that nothing allows go anywhere.
    found[-1] |= every & ~sum(found)
    return found


def _named(question: Question, j: int) -> set[int]:
    """Levels that are no other's like: the one that stands for "missing", what exclusions name, at times the start."""
    axis = question.axes[j]
    assert isinstance(axis, LevelAxis)
    found = {one.point[j] for one in question.avoid if isinstance(one, AvoidPoint | AvoidNear)}
    if found or not axis.allows(axis.start):
        found.add(axis.start)
    return found if axis.missing is None else {*found, axis.missing}


def _beside(question: Question, j: int) -> int:
    """How many levels each question has beside those that it is about."""
    return len({question.axes[j].start, *_named(question, j)})


def _within(avoid: Avoid, j: int, shown: Sequence[int], meant: Sequence[int]) -> Avoid:
    """An exclusion of the whole question over fewer levels."""

    def placed(point: Point) -> Point:
        return (*point[:j], shown.index(point[j]), *point[j + 1 :])

    match avoid:
        case AvoidPoint(point=point):
            return AvoidPoint(placed(point))
        case AvoidNear(point=point, radius=radius):
            return AvoidNear(placed(point), radius)
        case AvoidBox(box=box):
            side = box[j]
            assert isinstance(side, int)
            mask = sum(1 << k for k, levels in enumerate(meant) if levels & side)
            return AvoidBox((*box[:j], mask, *box[j + 1 :]))
        case AvoidChanges():
            return avoid


def _several(mask: int) -> bool:
    return bool(mask & mask - 1)


def _alike(question: Question, j: int) -> NDArray[np.int64]:
    """Of each level of a feature the first one that every test of the trees sends the same way."""
    axis, model = question.axes[j], question.model
    assert isinstance(axis, LevelAxis) and isinstance(model, Ensemble)
    mine = tuple((number, c) for number, c in enumerate(question.columns) if c.feature == j)
    return _ALIKE.get(model, (axis.count, mine), lambda: _told_apart(model, mine, axis.count))


def _told_apart(model: Ensemble, columns: Sequence[tuple[int, Column]], count: int) -> NDArray[np.int64]:
    trees, answers = trees_of(model), [np.zeros((1, count), bool)]
    for number, column in columns:
        assert column.values is not None
        values, nodes = np.array(column.values[:count]), trees.testing[number]
        thresholds = np.unique(trees.threshold[nodes])[:, None]
        # Where nothing is missing both are the same.
        answers += [model.passes(values[None, :], thresholds, left) for left in (False, True)]
        seen = model.seen(values).tolist()
        for node in nodes.tolist() if trees.members else ():
            if node in trees.members:
                cell = trees.members[node]
                answers.append(np.array([[bool(x != x) or among(cell, x) for x in seen]]))
    packed = np.packbits(np.concatenate(answers), axis=0)
    _, first, back = np.unique(packed, axis=1, return_index=True, return_inverse=True)
    return np.asarray(first[back.reshape(-1)], np.int64)


__all__ = ["Fewer", "answered", "fewer", "many", "refusal", "with_few", "within"]
