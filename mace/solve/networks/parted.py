"""A search for each part of a network's goal: hidden units are bounded over the points that have that part alone.

In:  what the prover was asked, whose goal is a disjunction of several parts: any class but the present one, say.
Out: what the searches for all parts say together (`mace.solve.by_parts`).
Promise: what the deployed model refused in one search is excluded from those after it, under the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from mace.base.deadline import Deadline
from mace.solve.by_parts import ROUNDS, Turn, by_parts, stopped
from mace.solve.protocol import Asked, Refuted, Reply
from mace.solve.witnesses import Witnesses
from mace.space.axes import Point
from mace.tables.table import Compare, Network

KEPT, EACH = 0.5, 0.1  # of the time, or so many seconds a part: for the certificate of all parts, and its checker
Searched: TypeAlias = Callable[[Witnesses, Asked, Point | None], Reply]  # what a search says at its end


def parted(witnesses: Witnesses, best: Point | None, asked: Asked, searched: Searched) -> Reply:
    """What the searches for all parts say together.

    best: the nearest point with the goal that is known.
    """
    decision = witnesses.question.goal.decision
    nowhere: dict[int, Reply] = {}  # parts that no point at all has

    def search(part: int) -> Callable[[Point | None, int | None, Deadline], Turn]:
        def turn(known: Point | None, number: int | None, deadline: Deadline) -> Turn:
            if known is None and part in nowhere:
                return Turn(nowhere[part], paused=False)
            own = asked._replace(limits=replace(asked.limits, deadline=deadline))
            reply = _of_part(witnesses, part, own, known, searched, hears=number is None)
            if isinstance(reply, Refuted) and own.radius is None:
                # Multipliers that show this count too little against a distance, should one be found for another part.
                nowhere[part] = reply
                return Turn(reply, paused=True)
            if isinstance(reply, Refuted):
                return Turn(reply, paused=False, claim=own.radius)
            more = number is not None and number < ROUNDS - 1 and stopped(reply, deadline)
            return Turn(reply, more, reply.lower)

        return turn

    # After a first point, which the nearest part is likely to have, parts that are refuted at once leave their time.
    nearest, *others = sorted(range(len(decision)), key=lambda part: _missing(witnesses, decision[part]))
    order = [nearest, *reversed(others)]
    distance_of = witnesses.question.distance_of
    searches = [search(part) for part in range(len(decision))]
    deadline = _searching(asked.limits.deadline, len(decision))
    return by_parts(searches, best, distance_of, deadline, order, asked.radius)


def has_time(deadline: Deadline, parts: int) -> bool:
    """Whether there is time for a first look at each part; with less a search for all of them proves more."""
    left = deadline.left()
    return left is None or left >= EACH * parts


def _searching(deadline: Deadline, parts: int) -> Deadline:
    """The time for the searches: each leaves some for its own proof, and that of all parts takes as long as theirs."""
    left = deadline.left()
    return deadline if not left else deadline.share(1 - min(KEPT, EACH * parts / left))


def _of_part(
    witnesses: Witnesses, part: int, asked: Asked, known: Point | None, searched: Searched, *, hears: bool
) -> Reply:
    """The reply about one part; what was refused meanwhile is refused of all.

    known: the nearest point with any part of the goal, which that of this part is if none is nearer.
    hears: whether whoever hears bounds hears those of this part.
    """
    question = witnesses.question
    own = Witnesses(question.at_part(part))
    replay = witnesses.replay
    own.replay = replay if hears or replay is None else replace(replay, hearing=None)
    own.refused = [*witnesses.refused]
    reply = searched(own, asked, known)
    witnesses.refuse(own.refused[len(witnesses.refused) :])
    return reply


def _missing(witnesses: Witnesses, part: Sequence[Compare]) -> float:
    """How much the scores of the start lack to this part of the goal, in its worst comparison."""
    question = witnesses.question
    assert isinstance(question.model, Network)
    scores = question.model.scores(question.row(question.start))

    def side(number: int | None) -> float:
        return 0.0 if number is None else float(scores[number])

    return max((one.than - side(one.plus) + side(one.minus) for one in part), default=0.0)
