"""Each part of a goal by itself: a disjunction is refuted part by part, each by cuts of its own.

In:  for each part of the goal somebody who searches for points with that part, and the time for all of them.
Out: what they say together: the nearest point of all, and a bound for all, with its proof.
Promise: the proof divides the goal, then the box for each part. The bound is the least that any part is left with.
Why: a box is refuted only where every part is, so that in one search for all parts the cuts that matter to one are made
for all. The nearest point known ends the search for each other part: hence they take turns. After the first of each
come, alternately, the next in order, whose point may end the others, and the one whose bound is least: that of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from mace.base.deadline import Deadline
from mace.problem.proof import GoalPart, Leaf, Proof
from mace.solve.protocol import Found, ProvedBound, Refuted, Reply, combined
from mace.space.axes import Point


class Turn(NamedTuple):
    """What a search said at the end of a turn.

    paused: it would go on. claim: below which distance its proof shows that there is nothing, where that need not show
    it of a smaller one.
    """

    reply: Reply
    paused: bool
    claim: Fraction | None = None


# Goes on with the search for points with one part that are nearer than the best point known, for a turn; the longer,
# the higher its number is. It may end earlier. None: all other parts are done with, so that the turn need not end, and
# its bounds are those of the question.
Search: TypeAlias = Callable[[Point | None, int | None, Deadline], Turn]
Joins: TypeAlias = Callable[[Sequence[Proof | None]], Proof | None]  # one proof for all, where each has one

ROUNDS = 3  # of turns, of searches that begin anew each time


def chained(proofs: Sequence[Proof | None]) -> Proof | None:
    """One proof for all parts of a goal, in its order; None where a part has none."""
    found: Proof = []
    for part, proof in enumerate(proofs):
        if proof is None:
            return None
        found += [GoalPart(part), *proof]
    return [*found, Leaf("divided")]


def by_parts(
    searches: Sequence[Search],
    best: Point | None,
    distance_of: Callable[[Point], Fraction],
    deadline: Deadline,
    order: Sequence[int],
    within: Fraction | None = None,
    joined: Joins = chained,
) -> Reply:
    """What searches for the parts of a goal, in its order, say together; or for any pieces of a question.

    best: the nearest point with the goal that is known. order: of their first turns. within: the radius that is
    asked about, if any. joined: one proof for all of theirs.
    """
    turns: dict[int, Turn] = {}
    if best is not None and within is not None and distance_of(best) > within:  # who is asked looks no farther
        best = None
    number = dict.fromkeys(order, 0)  # of the next turn of each
    while True:
        if best is not None:
            turns = {part: _done(turn, distance_of(best)) for part, turn in turns.items()}
        left = [part for part in order if part not in turns or (turns[part].paused and not deadline.over)]
        if not left:
            break
        part = _next(left, turns, number)
        alone = len(left) == 1 and all(
            _closed(turn, best, distance_of) for other, turn in turns.items() if other != part
        )
        turn = searches[part](best, None if alone else number[part], deadline.share(2 / (len(left) + 1)))
        found = turn.reply
        if isinstance(found, Found) and (best is None or distance_of(found.point) < distance_of(best)):
            best = found.point
        turns[part] = turn if part not in turns else _better(turn, turns[part])
        number[part] += 1
    distance = None if best is None else distance_of(best)
    if best is not None and distance is not None:
        _prove_again(searches, turns, best, distance, deadline)
    every = [_ended(turns[part], deadline) for part in range(len(searches))]
    return together(every, best, distance, within, joined)


def _done(turn: Turn, distance: Fraction) -> Turn:
    """A turn, which pauses no search that has proved that nothing is nearer than this."""
    return turn._replace(paused=False) if turn.paused and _lower(turn.reply) >= distance else turn


def _next(left: Sequence[int], turns: dict[int, Turn], number: dict[int, int]) -> int:
    """Whose turn it is: of each once, then alternately of the first that had fewest, and of the least bound."""
    waiting = [part for part in left if part not in turns]
    if waiting:
        return waiting[0]
    lower = {part: _lower(turns[part].reply) for part in left}
    if (sum(number.values()) - len(number)) % 2:
        return min(left, key=lambda part: (lower[part], number[part]))
    return min(left, key=lambda part: number[part])


def _prove_again(
    searches: Sequence[Search], turns: dict[int, Turn], best: Point, distance: Fraction, deadline: Deadline
) -> None:
    """Ask those again whose proofs are of larger distances than that of the best point, while there is time."""
    for part, turn in turns.items():
        if turn.claim is None or turn.claim <= distance or _open(turn) or deadline.over:
            continue
        again = searches[part](best, 0, deadline)
        if not _open(again):
            turns[part] = again


def together(
    turns: Sequence[Turn],
    best: Point | None,
    distance: Fraction | None,
    within: Fraction | None,
    joined: Joins = chained,
) -> Reply:
    """One reply for all parts of a goal, in its order; see `combined`."""
    proof = joined([turn.reply.proof for turn in turns])
    reply = combined([turn.reply for turn in turns], best, distance, proof, within)
    return reply if isinstance(reply, Refuted) else replace(reply, spare=_spare(turns, joined))


def stopped(reply: Reply, deadline: Deadline) -> bool:
    """Whether it was the deadline that ended a search, so that with more time it would say more."""
    return not isinstance(reply, Refuted) and reply.why.startswith(deadline.why)


def _ended(turn: Turn, deadline: Deadline) -> Turn:
    """A turn, which says that the deadline ended its search where that was paused."""
    reply = turn.reply
    if not turn.paused or isinstance(reply, Refuted) or reply.why:
        return turn
    return turn._replace(reply=replace(reply, why=deadline.why))


def _open(turn: Turn) -> bool:
    """Whether a search was not at its end."""
    return turn.paused or (not isinstance(turn.reply, Refuted) and bool(turn.reply.why))


def _closed(turn: Turn, best: Point | None, distance_of: Callable[[Point], Fraction]) -> bool:
    """Whether nothing nearer than the best point is left of a part; a gap may have ended its search before."""
    if isinstance(turn.reply, Refuted):
        return not turn.paused
    return best is not None and _lower(turn.reply) >= distance_of(best)


def _better(turn: Turn, before: Turn) -> Turn:
    """The turn, or where a search begins anew and got less far what it said before."""
    ended = isinstance(turn.reply, Refuted) or not turn.reply.why
    return turn if ended or _lower(turn.reply) >= _lower(before.reply) else before._replace(paused=turn.paused)


def _lower(reply: Reply) -> Fraction:
    """The bound of a part; of one that is refuted it says nothing."""
    return Fraction(0) if isinstance(reply, Refuted) else reply.lower or Fraction(0)


def _spare(turns: Sequence[Turn], joined: Joins) -> ProvedBound | None:
    """A bound with a shorter proof, where some part has one."""
    shorter = [None if isinstance(turn.reply, Refuted) else turn.reply.spare for turn in turns]
    if not any(shorter):
        return None
    chosen = [
        spare or ProvedBound(_lower(turn.reply), turn.reply.proof) for spare, turn in zip(shorter, turns, strict=True)
    ]
    least = [one.lower for one, turn in zip(chosen, turns, strict=True) if not isinstance(turn.reply, Refuted)]
    return ProvedBound(min(least), joined([one.proof for one in chosen]))
