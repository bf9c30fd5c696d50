"""Put one question to an oracle, and replay what it finds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from mace.certify.recheck import read
from mace.errors import ModelError
from mace.problem.question import Question
from mace.solve.choice import choose
from mace.solve.driver import Bracket
from mace.solve.protocol import Found, Gap, Limits, Oracle, Refuted, Replay, Reply, Unknown
from mace.space.axes import Point
from mace.tables.table import Label
from mace.verify.questions import Case, Rows

ANYTHING = Gap(Fraction(10**12))  # the first point found will do: nobody asked for the nearest


class Asked(NamedTuple):
    """What came of one question.

    rows:     rows that break the property, as the deployed model says; None if there are none, or none are known.
    question: the question that was answered: without the points that the deployed model refused, `refused` of them.
    note:     on the choice of the oracle, empty if there is nothing to say.
    """

    reply: Reply
    rows: Rows | None
    question: Question
    refused: int = 0
    oracle: str = "none"
    note: str = ""


def ask(
    case: Case,
    radius: Fraction | None,
    limits: Limits,
    breaks: Callable[[Case, Rows], tuple[Label, ...] | None],
) -> Asked:
    """Put one question to an oracle; `breaks` replays what it finds."""

    def accepts(point: Point) -> bool:
        return breaks(case, case.rows(point)) is not None

    try:
        oracle, note = choose(case.question)
    except ModelError as error:
        return Asked(Unknown(error.message), None, case.question)
    try:
        reply, question = _read(case, radius, oracle, limits, accepts)
        rows = None
        if isinstance(reply, Found):
            if case.question.obeys(reply.point) and accepts(reply.point):
                rows = case.rows(reply.point)
            else:
                reply = Unknown("spurious counterexample: it fails the replay")
        refused = len(question.avoid) - len(case.question.avoid)
        return Asked(reply, rows, question, refused, oracle.name, note)
    finally:
        oracle.close()


def _read(
    case: Case, radius: Fraction | None, oracle: Oracle, limits: Limits, accepts: Callable[[Point], bool]
) -> tuple[Reply, Question]:
    """What the oracle says, where the checker leaves it its proof, and the question that it answered."""
    # A point that does not stand for its rows alone must not be excluded for their sake: it is replayed at the end.
    replay, replies = Replay(accepts) if case.exact else None, list[Reply]()

    def put(oracle: Oracle, _: Point | None) -> Bracket:
        reply = oracle.ask(radius, limits, strict=radius is not None, gap=ANYTHING, replay=replay)
        replies.append(reply)
        refused = tuple(oracle.refused)
        match reply:
            case Found():  # the point is all that is asked for
                return Bracket(refused=refused)
            case Refuted(proof=proof) if radius is None:
                return Bracket(status="infeasible", proof=proof, refused=refused)
            case Refuted(proof=proof):
                return Bracket(radius or Fraction(0), proof=proof, refused=refused)
            case Unknown(lower=lower, proof=proof):
                return Bracket(lower or Fraction(0), proof=proof, refused=refused)

    bracket, question = read(case.question, oracle, put, limits.deadline)
    reply = replies[-1]
    taken = not isinstance(reply, Found) and bracket.proof is not reply.proof
    return Unknown(bracket.why) if taken else reply, question
