"""The driver: tighten the lower and the upper bound on the distance of the nearest counterfactual.

In:  a question, an oracle, and `confirm`, which runs a point through the deployed model.
Out: a `Bracket` with both bounds, the witness, and a trace of every question asked.
Promise: the witness was confirmed; `lower` was proved by the oracle; a limit that was reached leaves the bracket
wider and is named in `why`; nothing is `optimal` unless the two bounds are as close as was asked.
Source: Karimi et al. 2020, algorithm 1, with a witness moving `upper` to its own distance, a strict last question
(nothing closer than the witness itself), and a relative gap beside the absolute one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction

from mace.base.deadline import NEVER, Deadline, now
from mace.base.exact import first_holding
from mace.problem.exclusions import Avoid
from mace.problem.proof import Proof
from mace.problem.question import Question
from mace.solve.lattice import attainable
from mace.solve.protocol import Found, Gap, Hearing, Limits, Oracle, ProvedBound, Refuted, Replay, Unknown
from mace.solve.status import Status
from mace.space.axes import GridAxis, Point

CONTRADICTED = "the oracle refuted a question to which a witness is known; please report this"


@dataclass(frozen=True, slots=True)
class OracleCall:
    """One question to the oracle: the radius (None: anywhere), what came back, and how long it took."""

    radius: Fraction | None
    verdict: str
    seconds: float
    lower: Fraction
    upper: Fraction | None


@dataclass(slots=True)
class Bracket:
    """lower <= true distance <= upper; `point` has the goal at distance upper (None when none is known).

    unproved: why the bound has no proof that a certificate could hold, where that is no limit.
    refused: points that rounding leaves in doubt, and that the deployed model refused: `lower` is about all others.
    spare: a lower bound with a shorter proof, which counts where no time is left to check that of `lower`.
    """

    lower: Fraction = Fraction(0)
    upper: Fraction | None = None
    point: Point | None = None
    status: Status = "unknown"
    why: str = ""
    proof: Proof | None = None
    unproved: str = ""
    refused: tuple[Avoid, ...] = ()
    spare: ProvedBound | None = None
    trace: list[OracleCall] = field(default_factory=list)


def bracket_optimum(
    question: Question,
    oracle: Oracle,
    confirm: Callable[[Point], bool],
    *,
    gap: Gap,
    limits: Limits,
    best: Point | None = None,
    watch: Callable[[Bracket], None] = lambda bracket: None,
) -> Bracket:
    """Bracket the distance from the start to the nearest point with the goal.

    best:  a point that `confirm` accepted and the question allows, for a first upper bound.
    watch: called after every question, and now and then within a long one, for progress.
    Returns a Bracket; a limit does not raise: the bracket stays wider and `why` says which.
    """
    bracket = Bracket()
    if best is not None:
        bracket.point, bracket.upper = best, question.distance_of(best)
    step = _optimise if oracle.optimises else _bisect
    # Invariant: no point with the goal is closer than bracket.lower, and bracket.point has it at bracket.upper.
    while not step(bracket, question, oracle, confirm, gap, limits, watch):
        if limits.deadline.over and not bracket.why:
            bracket.why = limits.deadline.why
        if bracket.why:
            break
    conclude(bracket, gap)
    return bracket


def bracket_within(
    question: Question,
    oracle: Oracle,
    confirm: Callable[[Point], bool],
    radius: Fraction,
    *,
    gap: Gap,
    limits: Limits,
    best: Point | None = None,
) -> Bracket:
    """The same where only points nearer than a radius count, for an oracle that optimises.

    best: as above, nearer than the radius.
    Without such a point `lower` is the radius, and the status "bounded" or, for lack of an answer, "unknown".
    """
    bracket = Bracket()
    if best is not None:
        bracket.point, bracket.upper = best, question.distance_of(best)
    reply = _ask(bracket, oracle, radius, gap, limits, confirm, question, strict=True)
    bracket.proof = reply.proof
    if isinstance(reply, Refuted):
        bracket.lower, bracket.status = radius, "bounded"
        if best is not None:  # which the radius holds: `conclude` takes the bound away
            conclude(bracket, gap)
        return bracket
    bracket.lower = reply.lower or Fraction(0)
    bracket.why = reply.why
    conclude(bracket, gap)
    return bracket


def _ask(
    bracket: Bracket,
    oracle: Oracle,
    radius: Fraction | None,
    gap: Gap,
    limits: Limits,
    confirm: Callable[[Point], bool],
    question: Question,
    *,
    strict: bool = False,
    hearing: Hearing | None = None,
) -> Found | Refuted | Unknown:
    """One question; a witness is believed only when it obeys the question and the deployed model confirms it."""
    began = now()
    replay = Replay(confirm, hearing=hearing)
    reply = oracle.ask(radius, limits, strict=strict, best=bracket.point, gap=gap, replay=replay)
    bracket.refused = tuple(oracle.refused)
    if isinstance(reply, Found) and reply.point != bracket.point:
        if question.obeys(reply.point) and confirm(reply.point):
            distance = question.distance_of(reply.point)
            if bracket.upper is None or distance < bracket.upper:
                bracket.point, bracket.upper = reply.point, distance
        else:
            reply = Unknown("the oracle found a point that the deployed model refuses; please report this")
    verdict = {"Found": "found", "Refuted": "refuted", "Unknown": "unknown"}[type(reply).__name__]
    bracket.trace.append(OracleCall(radius, verdict, now() - began, bracket.lower, bracket.upper))
    return reply


def _optimise(
    bracket: Bracket,
    question: Question,
    oracle: Oracle,
    confirm: Callable[[Point], bool],
    gap: Gap,
    limits: Limits,
    watch: Callable[[Bracket], None],
) -> bool:
    """An oracle that optimises is asked once; true when there is nothing more to ask."""

    def heard(lower: Fraction, upper: Fraction | None) -> None:
        known = [one for one in (upper, bracket.upper) if one is not None]
        watch(Bracket(min([lower, *known]), min(known, default=None)))

    reply = _ask(bracket, oracle, None, gap, limits, confirm, question, hearing=Hearing(heard))
    match reply:
        case Found():
            bracket.lower = max(bracket.lower, reply.lower or Fraction(0))
            bracket.proof, bracket.why, bracket.spare = reply.proof, reply.why, reply.spare
        case Refuted():
            bracket.proof = reply.proof
            # A known witness that the oracle, having it, refutes would be a contradiction: never call it infeasible.
            if bracket.point is None:
                bracket.status = "infeasible"
            else:
                bracket.why = CONTRADICTED
                bracket.proof = None
        case Unknown():
            bracket.lower = max(bracket.lower, reply.lower or Fraction(0))
            bracket.proof, bracket.why, bracket.spare = reply.proof, reply.why, reply.spare
    watch(bracket)
    return True


def _bisect(
    bracket: Bracket,
    question: Question,
    oracle: Oracle,
    confirm: Callable[[Point], bool],
    gap: Gap,
    limits: Limits,
    watch: Callable[[Bracket], None],
) -> bool:
    """One step of the bisection (algorithm 1 of Karimi et al. 2020); true when there is nothing more to ask."""
    if bracket.upper is None:
        reply = _ask(bracket, oracle, None, gap, limits, confirm, question)
        if isinstance(reply, Refuted):
            bracket.status = "infeasible"
            bracket.proof = reply.proof
        elif isinstance(reply, Unknown):
            bracket.why = reply.why
        watch(bracket)
        return not isinstance(reply, Found)
    if gap.met(bracket.lower, bracket.upper):
        return True
    # Close to the end ask for anything closer than the witness itself: a "no" closes the bracket without a gap.
    narrow = gap.met(bracket.lower, bracket.upper - (bracket.upper - bracket.lower) / 2)
    last = bracket.trace[-1] if bracket.trace else None
    finish = narrow or (last is not None and last.verdict == "refuted" and len(bracket.trace) % 4 == 3)
    radius = bracket.upper if finish else _simple((bracket.lower + bracket.upper) / 2, bracket.lower, bracket.upper)
    reply = _ask(bracket, oracle, radius, gap, limits, confirm, question, strict=finish)
    match reply:
        case Refuted():
            # Between two distances that points can have there is nothing to be found.
            lower = attainable(question.axes, question.distance, radius, beyond=not finish)
            bracket.lower = max(bracket.lower, lower)
        case Unknown():
            bracket.lower = max(bracket.lower, reply.lower or Fraction(0))
            bracket.why = reply.why
    watch(bracket)
    return False


def _simple(middle: Fraction, lower: Fraction, upper: Fraction) -> Fraction:
    """A radius near the middle with a short denominator, so that solvers compute with short numbers."""
    bits = 8
    while True:
        radius = Fraction(round(middle * 2**bits), 2**bits)
        if abs(radius - middle) <= (upper - lower) / 8:
            return radius
        bits += 8


def bring_in(bracket: Bracket, point: Point, distance: Fraction, gap: Gap) -> None:
    """A confirmed, allowed point of somebody else, for the upper bound, where it is nearer than the bracket's own."""
    if bracket.status != "optimal" and (bracket.upper is None or distance < bracket.upper):
        if bracket.status == "infeasible":
            bracket.status, bracket.proof = "unknown", None
            bracket.why = CONTRADICTED
        bracket.point, bracket.upper = point, distance
        conclude(bracket, gap)


def conclude(bracket: Bracket, gap: Gap) -> None:
    """The status of a bracket, once nothing more is asked."""
    if bracket.status == "infeasible":
        return
    if bracket.upper is not None:
        if bracket.lower > bracket.upper:
            # Some refutation was wrong, and nothing says which: none of them may count.
            bracket.lower, bracket.proof, bracket.status = Fraction(0), None, "bounded"
            bracket.why = "the oracle refuted a distance at which a witness is known; please report this"
        elif gap.met(bracket.lower, bracket.upper):
            bracket.status, bracket.why = "optimal", ""
        else:
            bracket.status = "bounded"


def pull_back(question: Question, point: Point, confirm: Callable[[Point], bool], deadline: Deadline = NEVER) -> Point:
    """Walk a point with the goal towards the start, feature by feature, as long as it keeps the goal.

    Each pass tries to undo a change completely, the costliest first; what cannot be undone is halved towards the
    start, which finds a nearest value when the model is monotone on the way, and a nearer one in any case.
    At the deadline it stays where it is.
    """

    def works(candidate: Point) -> bool:
        return (
            not deadline.over
            and question.obeys(candidate)
            and question.has_goal(candidate) is not False
            and confirm(candidate)
        )

    def put(base: Point, feature: int, index: int) -> Point:
        return (*base[:feature], index, *base[feature + 1 :])

    def halved(base: Point, feature: int) -> Point:
        start = question.axes[feature].start
        way = 1 if base[feature] > start else -1
        steps = first_holding(lambda step: works(put(base, feature, start + way * step)), 0, abs(base[feature] - start))
        return put(base, feature, start + way * steps)

    def by_cost(base: Point) -> Iterable[int]:
        deltas = question.deltas(base)
        return sorted((j for j in range(len(base)) if deltas[j]), key=lambda j: (-deltas[j], j))

    for feature in by_cost(point):
        undone = put(point, feature, question.axes[feature].start)
        if works(undone):
            point = undone
    for feature in by_cost(point):
        if isinstance(question.axes[feature], GridAxis):
            point = halved(point, feature)
    return point
