"""Objectives in order of priority: each is minimised over the points that keep to what the earlier ones allow.

In:  a question, its priorities, and how answers are looked for (`mace.explain.nearest.search`).
Out: `Searched`: the point of the last level, the bracket of the first distance, and every level's own bounds and proof.
Promise: a level's bound holds for all points that keep to the earlier levels, with their tolerance, at what these
reached. A limit that is reached leaves this level, and no other, without its proof; the point is that of the last.

How: an earlier level is a condition among the question's rules (`mace.problem.objectives.bounded`). That is all where
the solvers answer. Provers are strongest about the distance that they search by, and what the first level allows is
nearly nothing: so they keep the first distance, whose bound becomes the radius, and are asked for a point in that ball
with less of the level's own objective, until they refute it. An objective that falls in too many steps for that is
minimised itself, with the first one as a condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from mace.base.deadline import TimeOverError, now
from mace.base.exact import nearest
from mace.certify.recheck import read
from mace.explain.deployed.confirmation import Confirmation
from mace.explain.nearest.search import Search, Searched, nothing_less
from mace.explain.nearest.shortfall import least_shortfall, shortfall_at
from mace.explain.nearest.traded import Trade
from mace.explain.proved.level import Level
from mace.problem.distance import Distance, Norm
from mace.problem.goals import Wanted
from mace.problem.objectives import Priority, Shortfall, bounded, each_change, value_of
from mace.problem.plausibility import said_of_rows
from mace.problem.proof import Proof
from mace.problem.question import Question
from mace.solve.choice import choose
from mace.solve.driver import Bracket, OracleCall, bracket_within
from mace.solve.lattice import attainable, denominator
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import NEARLY, Gap, Limits, Oracle
from mace.space.axes import GridAxis, Point
from mace.tables.table import Network

ROUNDS = 12  # points that are found on the way down before an objective is minimised itself


class Held(NamedTuple):
    """An objective of an earlier level, and what it may be at most."""

    priority: Priority
    most: Fraction


@dataclass
class _Run:
    """What the levels of one answer share: how points are searched for, what earlier levels hold, the best point."""

    search: Search
    confirmation: Confirmation
    limits: Limits
    question: Question
    held: list[Held]
    best: Point | None = None

    def limited(self, question: Question, held: Sequence[Held]) -> Question:
        """A question in which some earlier objectives keep to their bounds."""
        for one in held:
            assert not isinstance(one.priority.of, Shortfall)
            question = bounded(question, one.priority.of, one.most)
        return question


def by_priority(
    search: Search, question: Question, priorities: Sequence[Priority], confirmation: Confirmation, limits: Limits,
    best: Point | None = None,
) -> Searched:  # fmt: skip
    """One answer by objectives in order of priority; the caller settles its point with `confirmation`.

    best: an allowed point with the goal, if one is known.
    """
    run, levels, first = _Run(search, confirmation, limits, question, [], best), list[Level](), None
    try:
        priorities = [
            one if isinstance(one.of, Shortfall) else one._replace(of=search.located(question, one.of, limits.deadline))
            for one in priorities
        ]
    except TimeOverError as over:
        return Searched(Bracket(status="unknown", why=str(over)), question, "none", "")
    for priority in priorities:
        began = now()
        if isinstance(priority.of, Shortfall):
            missed = least_shortfall(search, question, priority, limits, Gap.asked(search.gap, search.rgap))
            levels.append(missed.level)
            run.question, run.confirmation, run.best = missed.question, missed.confirmation, missed.point
            if missed.point is None:
                break
            continue
        found = _level(run, priority)
        levels.append(_shown(priority, found, now() - began, limits))
        first = first or found
        if found.bracket.point is None or found.bracket.upper is None:
            break
        run.best = found.bracket.point
        run.held.append(Held(priority, priority.held(found.bracket.upper)))
    if run.best is not None and run.confirmation is not confirmation:  # about another goal, which is confirmed here
        run.confirmation.settle(run.question, [run.best])
    said = "; ".join(filter(None, (said_of_rows(one.of) for one in priorities if not isinstance(one.of, Shortfall))))
    if first is None:  # no allowed point is known at all
        only = levels[0]
        return Searched(Bracket(status=only.status, why=only.why), question, only.oracle, said, levels=tuple(levels))
    if said:
        first = first._replace(note=f"{first.note}; {said}" if first.note else said)
    return _together(first, run, priorities, levels, question.goal.wanted)


def _together(
    first: Searched, run: _Run, priorities: Sequence[Priority], levels: list[Level], wanted: Wanted | None
) -> Searched:
    """The first level's bracket about the last level's point, and all levels."""
    unit = next(one.unit for one in priorities if not isinstance(one.of, Shortfall))
    point, bracket = run.best, first.bracket
    if point is None:
        return first._replace(levels=tuple(levels), unit=unit)
    shown = []
    for level, priority in zip(levels, priorities, strict=False):
        value = (
            shortfall_at(run.search, wanted, run.question, point)
            if isinstance(priority.of, Shortfall)
            else (value_of(run.question, priority.of, point) * priority.unit)
        )
        shown.append(replace(level, of_answer=nearest(value)))
    open_ = next((level for level in levels if level.status != "optimal"), None)
    if open_ is not None and bracket.status == "optimal":
        bracket = replace(bracket, status="bounded", why=f"{open_.name}: {open_.why}")
    bracket = replace(bracket, point=point, upper=first.question.distance_of(point))
    note = first.note
    if levels[0].missed:
        known = "is the nearest to it" if levels[0].least else "is the nearest to it that was found"
        held = f"the goal cannot be met: `{run.question.goal.named(run.question.space.called)}` {known}"
        note = f"{held}; {note}" if note else held
    return first._replace(bracket=bracket, levels=tuple(shown), unit=unit, note=note)


def _shown(priority: Priority, found: Searched, seconds: float, limits: Limits) -> Level:
    bracket = found.bracket
    return Level(
        priority.name,
        bracket.status,
        None if bracket.upper is None else bracket.upper * priority.unit,
        bracket.lower * priority.unit,
        why=bracket.why,
        oracle=found.oracle,
        seconds=seconds,
        question=found.question,
        proof=bracket.proof,
        unproved=bracket.unproved,
        witness=bracket.point if found.claim is None else None,
        claimed=None if bracket.status == "infeasible" else bracket.lower if found.claim is None else found.claim,
        timeout=limits.deadline.seconds,
    )


def _level(run: _Run, priority: Priority) -> Searched:
    """One level: its bracket, and the question that its proof speaks of."""
    assert not isinstance(priority.of, Shortfall)
    # A count of changes is a limit that every prover knows: then the level is minimised itself.
    norms = [one for one in run.held if isinstance(one.priority.of, Norm) and each_change(one.priority.of) is None]
    held = norms[0] if norms else None
    if held is not None and run.best is not None:
        found = _inside(run, held, priority)
        if found is not None:
            return found
    question = run.question
    if priority.of is not question.distance:
        question = replace(question, distance=priority.of)
    return run.search.nearest(run.limited(question, run.held), run.confirmation, run.limits, run.best)


# ---------------------------------------------------------------------------------------------- in the first ball


class _Ball(NamedTuple):
    """What an earlier norm allows: points at a distance <= most, and no point lies between that and `radius`."""

    question: Question
    most: Fraction
    radius: Fraction


class _Refuted(NamedTuple):
    """No point of the ball has less: what was proved of the first distance, and the question in which."""

    question: Question
    claim: Fraction
    proof: Proof | None


def _inside(run: _Run, held: Held, priority: Priority) -> Searched | None:
    """A level inside the ball that an earlier norm allows, by the provers; None where that is not the way."""
    first, own = held.priority.of, priority.of
    assert isinstance(first, Norm) and not isinstance(own, Shortfall) and run.best is not None
    question = run.limited(replace(run.question, distance=first), [one for one in run.held if one is not held])
    if isinstance(own, Norm) and _over_floats(question, own):
        return _traded(run, question, first, held.most, own)
    ball = _Ball(question, held.most, _beyond(question, first, held.most))
    bracket = Bracket(point=run.best, upper=value_of(question, own, run.best))
    for _ in range(ROUNDS):
        assert bracket.upper is not None and bracket.point is not None
        if bracket.upper <= 0:
            bracket.status, bracket.proof = "optimal", nothing_less(own)
            return Searched(bracket, replace(question, distance=own), "none (nothing is less than 0)", "")
        below = bracket.upper - _margin(question, own, bracket.upper)
        asked = bounded(question, own, below, strict=True)
        oracle, note = choose(asked, run.search.oracle)
        try:
            if not oracle.optimises:
                return None
            refuted = _less(run, ball._replace(question=asked), oracle, own, bracket)
        finally:
            oracle.close()
        if refuted is not None:
            bracket.lower, bracket.proof, bracket.status = below, refuted.proof, "optimal"
            return Searched(bracket, refuted.question, oracle.name, note, claim=refuted.claim)
        if bracket.why:
            bracket.status = "bounded"
            return Searched(bracket, asked, oracle.name, note, claim=Fraction(0))
        run.search.watch(bracket)
    run.best = bracket.point
    return None


def _over_floats(question: Question, own: Norm) -> bool:
    """Whether a network answers, and values of the objective are too many to be excluded one by one."""
    floats = any(isinstance(a, GridAxis) and a.grid.kind != "step" and not a.fixed for a in question.axes)
    return isinstance(question.model, Network) and floats and not each_change(own)


def _traded(run: _Run, question: Question, first: Norm, most: Fraction, own: Norm) -> Searched | None:
    """A level over floats, of a network: bounded by what sums of both norms are proved to be at least."""
    assert run.best is not None

    def solve(asked: Question, best: Point) -> Searched:
        return run.search.nearest(asked, run.confirmation, run.limits, best)

    confirm = partial(run.confirmation.confirms, question)
    if NetworkOracle.accepts(question) is not None or run.search.oracle not in ("auto", "networks"):
        return None
    return Trade(question, first, most, own, solve, confirm).run(run.best)


def _less(run: _Run, ball: _Ball, oracle: Oracle, own: Distance, bracket: Bracket) -> _Refuted | None:
    """Look in a ball for a point with less of an objective: `bracket` holds it, or why nobody knows."""
    asked, began = ball.question, now()

    confirm = partial(run.confirmation.confirms, asked)

    def ask(oracle: Oracle, best: Point | None) -> Bracket:
        found = bracket_within(asked, oracle, confirm, ball.radius, gap=Gap(), limits=run.limits, best=best)
        if found.upper is not None and found.upper <= ball.most:
            found.proof = None  # which nothing rests on: the point is what was looked for
        return found

    found, answered = read(asked, oracle, ask, run.limits.deadline)
    done = False
    if found.point is not None and found.upper is not None and found.upper <= ball.most:
        bracket.point, bracket.upper = found.point, value_of(asked, own, found.point)
    elif found.lower > ball.most:
        done = True
    else:
        bracket.why = found.why or "the bound does not reach what the earlier objectives allow"
    verdict = "refuted" if done else "unknown" if bracket.why else "found"
    bracket.trace.append(OracleCall(ball.radius, verdict, now() - began, bracket.lower, bracket.upper))
    return _Refuted(answered, found.lower, found.proof) if done else None


def _beyond(question: Question, norm: Norm, most: Fraction) -> Fraction:
    """A radius beyond a bound: up to the next distance that points can have, where there is one."""
    radius = attainable(question.axes, norm, most, beyond=True)
    return radius if radius > most else most + max(most, Fraction(1, 2**20)) / 2**30


def _margin(question: Question, own: Distance, value: Fraction) -> Fraction:
    """By how much a point must be better: rounding leaves a network's points over floats in doubt."""
    if not isinstance(question.model, Network) or denominator(question.axes, own) is not None:
        return Fraction(0)
    near = Gap.usual(own, NEARLY)
    return min(max(near.absolute, near.relative * value), value / 2)
