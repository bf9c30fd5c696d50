"""Questions whose distances are far from 1, asked in a unit in which they are not: the searches' floats expect that.

In:  a question under a `Norm`, or a sum of forms, and a unit, a power of two.
Out: the question in that unit, and replies out of it.
Promise: what is said in the unit is said of the question itself, number by number: nothing rounds.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from mace.base.exact import nearest
from mace.problem.distance import DistanceProgram, Norm
from mace.problem.exclusions import AvoidNear
from mace.problem.proof import Dual, End, Multipliers, Priced, Prices, Proof, ProofNode, Tighten
from mace.problem.question import Question
from mace.solve.protocol import Found, Hearing, ProvedBound, Refuted, Replay, Reply, Unknown


def into(question: Question, unit: Fraction) -> Question:
    """The same question, whose distances are counted in this unit, those from earlier answers among them."""
    distance = question.distance
    avoid = tuple(replace(a, radius=a.radius / unit) if isinstance(a, AvoidNear) else a for a in question.avoid)
    if isinstance(distance, Norm):
        of: Norm | DistanceProgram = replace(distance, weights=tuple(weight / unit for weight in distance.weights))
    else:
        assert isinstance(distance, DistanceProgram) and distance.forms is not None
        of = replace(distance, forms=distance.forms.counted_in(unit))
    return replace(question, distance=of, avoid=avoid)


def heard_from(replay: Replay | None, unit: Fraction) -> Replay | None:
    """Who hears of bounds, told in distances of the question itself."""
    if replay is None or replay.hearing is None:
        return replay
    hears = replay.hearing.hears

    def told(lower: Fraction, upper: Fraction | None) -> None:
        hears(lower * unit, None if upper is None else upper * unit)

    return replace(replay, hearing=Hearing(told))


def out_of(reply: Reply, unit: Fraction) -> Reply:
    """What a reply in this unit says of the question itself."""
    proof = _proof(reply.proof, unit)
    if isinstance(reply, Refuted):
        return Refuted(proof)
    lower = None if reply.lower is None else reply.lower * unit
    spare = reply.spare
    if spare is not None:
        spare = ProvedBound(spare.lower * unit, _proof(spare.proof, unit))
    if isinstance(reply, Found):
        return Found(reply.point, lower, proof, reply.why, spare)
    return Unknown(reply.why, lower, proof, spare)


def _proof(proof: Proof | None, unit: Fraction) -> Proof | None:
    return None if proof is None else [_node(node, unit) for node in proof]


def _node(node: ProofNode, unit: Fraction) -> ProofNode:
    if isinstance(node, Dual):
        return Dual(tuple(_multipliers(part, unit) for part in node.parts))
    if isinstance(node, Priced):
        return Priced(tuple(_prices(part, unit) for part in node.parts))
    if isinstance(node, Tighten):
        return Tighten(tuple(_end(end, unit) for end in node.ends))
    return node


def _multipliers(part: Multipliers, unit: Fraction) -> Multipliers:
    """What prices the goal, phases, changes and rules is a distance; slopes and shares of the largest are not."""
    return replace(
        part,
        goal=tuple(price * unit for price in part.goal),
        phases={relu: price * unit for relu, price in part.phases.items()},
        changes=part.changes * unit,
        rules=tuple((rule, number, price * unit) for rule, number, price in part.rules),
    )


def _prices(part: Prices, unit: Fraction) -> Prices:
    """What prices the goal, sides and rules is a distance; multipliers of forms are not."""
    rules = tuple((rule, number, price * unit) for rule, number, price in part.rules)
    return replace(part, goal=tuple(price * unit for price in part.goal), unit=part.unit * unit, rules=rules)


def _end(end: End, unit: Fraction) -> End:
    """An end of a unit is bounded in numbers of its own: what they pay for a distance is per distance."""
    parts = tuple(replace(one, largest={j: share / unit for j, share in one.largest.items()}) for one in end.parts)
    return replace(end, theta=nearest(Fraction(end.theta) / unit), parts=parts)
