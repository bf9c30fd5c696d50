"""The certificate of a set of bins: a linear model over the values of bins, and a proof that is written as it is found.

In:  a `Problem` with proximity and closeness for costs, the rules, the set or that there is none.
Out: a `Certificate` of a set (proofs/FORMAT.md, section 11).

The statement is about values of bins: each variable is a grid of doubles, and a rule says that it has the value of one
of its bins; closeness is a sum of forms that are not 0 at the start. Facts: outside the listed single choices none is
nearer than what the sum needs. Where values must differ, prices of bins and of sets of variables leave few choices of
them to look at; where every choice takes one of a few bins, fewer than the answers, these bins are the regions instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.bits import members
from mace.base.deadline import Deadline, TimeOverError
from mace.certify.sets import Fact, Prices, SetClaim, set_certificate
from mace.certify.writer import Certificate
from mace.errors import CertificateError
from mace.problem.diversity import Diversity
from mace.problem.exclusions import AvoidBox
from mace.problem.question import Question
from mace.scorecards.choosing import Chosen, Rules, hitting
from mace.scorecards.listing import list_singles
from mace.scorecards.pricing import Priced, priced
from mace.scorecards.problem import Array, Problem
from mace.scorecards.proof import Prover
from mace.scorecards.statement import index_of, point_of, question_of
from mace.solve.regions import cheapest, only
from mace.space.axes import Box, Point, ends, index_alone, whole

MOST_POINTS = 1500  # which a checker compares with each other
MOST_LISTED = 5000  # where prices leave few of them to compare
SECONDS = 60.0  # for a proof to be written
LISTS = 4  # of choices to price, each longer than the one before
EXACTLY = 20.0  # seconds, to see whether another set is better by less than doubles tell
FINE = 40  # prices are whole numbers times 2^-FINE
ROOM = 1e-7  # beyond the sum's need, so that no rounding of costs leaves a point out


def certificate_of(
    problem: Problem, rules: Rules, count: int, objective: Mapping[str, float], chosen: Chosen | None, status: str
) -> Certificate:
    """The certificate of what was found; raises CertificateError with the reason where there is none."""
    _certifiable(problem, rules, count, chosen, status)
    deadline = Deadline.after(SECONDS)
    try:
        return _certificate(problem, rules, count, objective, chosen, deadline)
    except TimeOverError as over:
        raise CertificateError(f"no certificate: {over}") from None


def _certificate(
    problem: Problem, rules: Rules, count: int, objective: Mapping[str, float], chosen: Chosen | None,
    deadline: Deadline,
) -> Certificate:  # fmt: skip
    """See `certificate_of`; raises TimeOverError."""
    question = question_of(problem, objective if chosen is not None else {"proximity": 1.0})
    diversity = Diversity(rules.features, rules.values)
    if chosen is None:
        _beyond_doubt(problem, {"proximity": 1.0}, math.inf, deadline)
        listed = list_singles(problem, {"proximity": 1.0}, math.inf, deadline)
        bins = hitting(listed.bins, count - 1) if rules.values else None
        boxes = _points(problem, question, listed.bins, MOST_POINTS) if bins is None else _bins(problem, question, bins)
        proof = Prover(problem, question, {}, boxes, None, deadline).run()
        fact = Fact(question.without(map(AvoidBox, boxes)), None, proof)
        return set_certificate(question, SetClaim(count, diversity, None), [], boxes, [fact], [])
    by_prices = _by_prices(problem, objective, rules, count, chosen, deadline)
    reach = chosen.reach if by_prices is None else by_prices.reach
    _beyond_doubt(problem, objective, _beyond(reach), deadline)
    near = list_singles(problem, objective, _beyond(reach), deadline).bins if by_prices is None else by_prices.bins
    boxes = _points(problem, question, near, MOST_POINTS if by_prices is None else MOST_LISTED)
    points = [point_of(problem, question, bins) for bins in chosen.bins]
    looked_at = np.arange(len(near)) if by_prices is None else np.flatnonzero(by_prices.keep)
    points = _exactly(question, rules, near[looked_at], [boxes[n] for n in looked_at], points)
    claim = sum(map(question.distance_of, points), Fraction(0))
    needed = Fraction(reach) * (1 + Fraction(ROOM))
    proof = Prover(problem, question, objective, boxes, needed, deadline).run()
    fact = Fact(question.without(map(AvoidBox, boxes)), needed, proof)
    prices = None if by_prices is None else _prices(problem, question, by_prices.found)
    return set_certificate(question, SetClaim(count, diversity, claim, prices), points, boxes, [fact], [])


def _certifiable(problem: Problem, rules: Rules, count: int, chosen: Chosen | None, status: str) -> None:
    """Raise CertificateError where no certificate can be written."""
    if status not in ("OPTIMAL", "INFEASIBLE"):
        raise CertificateError(f"no certificate: the status is {status}")
    if chosen is not None and (problem.target or rules.by_features or rules.by_values):
        raise CertificateError("no certificate: soft constraints are no distance")
    if chosen is not None and not math.isfinite(chosen.reach):
        raise CertificateError('no certificate: method="hierarchical" with several objectives writes none')
    for j, choice in enumerate(problem.choices):
        held = [float(problem.values[j][k]) for k in choice]
        if count > 1 and len(set(held)) < len(held):
            raise CertificateError(f"no certificate: two bins of `{problem.card.names[j]}` have one value")


def _beyond(reach: float) -> float:
    """A little more than what a fact reaches to, so that no rounding leaves a choice out."""
    return reach * (1 + 2 * ROOM)


def _beyond_doubt(problem: Problem, objective: Mapping[str, float], most: float, deadline: Deadline) -> None:
    """Raise CertificateError where some choice that costs at most so much has a score at an end of what will do."""
    for end in (problem.low, problem.high):
        if math.isfinite(end):
            around = replace(
                problem, low=end - problem.doubt, high=end + problem.doubt, target=None, accepts=lambda _: True
            )
            if list_singles(around, objective, most, deadline).size:
                raise CertificateError(
                    "no certificate: a score lies so near to the end that only the scorecard can tell"
                )


# --- regions ---------------------------------------------------------------------------------------------------------


def _points(problem: Problem, question: Question, bins: Array, most: int) -> list[Box]:
    """A region for each choice."""
    if len(bins) > most:
        raise CertificateError(f"no certificate: {len(bins):,} single choices would be listed, at most {most:,} are")
    return [only(point_of(problem, question, one), question.axes) for one in bins]


def _bins(problem: Problem, question: Question, bins: Sequence[tuple[int, int]]) -> list[Box]:
    """A region for each of some bins: all points in it."""
    everything = whole(question.axes)
    return [
        (*everything[:j], index_alone(question.axes[j], index_of(question, j, problem, k)), *everything[j + 1 :])
        for j, k in bins
    ]


class _ByPrices(NamedTuple):
    """Prices, what a choice may cost at most in a set that is as good, such choices, shape (choices, variables), and
    which of them, (choices,), may be in it.
    """

    found: Priced
    reach: float
    bins: Array
    keep: Array


def _by_prices(
    problem: Problem, objective: Mapping[str, float], rules: Rules, count: int, chosen: Chosen, deadline: Deadline
) -> _ByPrices | None:
    """Prices that leave few choices; None where values may be the same, or two are asked for at most."""
    if not rules.values or count < 3:
        return None
    most = chosen.reach
    for _ in range(LISTS):
        listed = list_singles(problem, objective, _beyond(most), deadline)
        found = priced(listed.bins, listed.cost, count, deadline, features=rules.features)
        if found is None:
            return None
        # A set that costs less has members only that exceed the least one, prices included, by less than it the bound.
        gap = chosen.cost - found.bound + ROOM
        reach = found.least + gap
        if reach <= most:
            near = listed.cost <= _beyond(reach)
            if near.sum() > MOST_LISTED:
                return None
            return _ByPrices(found, reach, listed.bins[near], found.excess[near] <= gap)
        most = reach
    return None


def _prices(problem: Problem, question: Question, found: Priced) -> Prices:
    """Prices of values, and of sets of variables, rounded."""

    def rounded(price: float) -> Fraction:
        return Fraction(round(price * 2**FINE), 2**FINE)

    return Prices(
        [(j, index_of(question, j, problem, k), rounded(price)) for (j, k), price in found.values.items()],
        [(tuple(members(mask)), rounded(price)) for mask, price in found.sets.items()],
    )


def _exactly(question: Question, rules: Rules, bins: Array, boxes: Sequence[Box], points: list[Point]) -> list[Point]:
    """The best set of the listed choices in exact numbers, where doubles found one that is as good but for rounding."""
    listed = [tuple(ends(side)[0] for side in box) for box in boxes]
    moved, goes = bins >= 0, []
    for k, one in enumerate(bins):
        fits = np.arange(len(bins)) != k
        if rules.features:
            fits &= (moved != moved[k]).any(axis=1)
        if rules.values:
            fits &= ~((bins == one) & moved).any(axis=1)
        goes.append(int.from_bytes(np.packbits(fits, bitorder="little").tobytes(), "little"))
    total = sum(map(question.distance_of, points), Fraction(0))
    try:
        found = cheapest(list(map(question.distance_of, listed)), goes, len(points), total, Deadline.after(EXACTLY))
    except TimeOverError:
        return points
    return points if found is None else [listed[k] for k in found]
