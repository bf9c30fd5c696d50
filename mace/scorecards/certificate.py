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

from mace.base.deadline import NEVER, Deadline, TimeOverError
from mace.certify.sets import Asked, Fact, Prices, set_certificate
from mace.certify.writer import Certificate
from mace.errors import CertificateError
from mace.problem.diversity import Diversity
from mace.problem.exclusions import AvoidBox
from mace.problem.question import Question
from mace.scorecards.choosing import Chosen, Rules, hitting
from mace.scorecards.pricing import Priced, priced
from mace.scorecards.problem import Array, Problem, Singles
from mace.scorecards.proof import Prover
from mace.scorecards.statement import index_of, point_of, question_of
from mace.solve.conditions import ends
from mace.solve.regions import cheapest, only
from mace.space.axes import Box, Point, full, index_alone

MOST_POINTS = 1500  # which a checker compares with each other
MOST_LISTED = 5000  # where prices leave few of them to compare
EXACTLY = 20.0  # seconds, to see whether another set is better by less than doubles tell
FINE = 40  # prices are whole numbers times 2^-FINE
ROOM = 1e-7  # beyond the sum's need, so that no rounding of costs leaves a point out


def certificate_of(
    problem: Problem, rules: Rules, count: int, objective: Mapping[str, float], chosen: Chosen | None, status: str
) -> Certificate:
    """The certificate of what was found; raises CertificateError with the reason where there is none."""
    _certifiable(problem, rules, count, chosen, status)
    question = question_of(problem, objective if chosen is not None else {"proximity": 1.0})
    listed = problem.singles(objective, math.inf, NEVER)
    if _in_doubt(problem):
        raise CertificateError("no certificate: a score lies so near to the end that only the scorecard can tell")
    diversity = Diversity(rules.features, rules.values)
    if chosen is None:
        bins = hitting(listed.bins, count - 1) if rules.values else None
        boxes = _points(problem, question, listed.bins, MOST_POINTS) if bins is None else _bins(problem, question, bins)
        proof = Prover(problem, question, {}, boxes, None).run()
        fact = Fact(question.without(map(AvoidBox, boxes)), None, proof)
        return set_certificate(question, Asked(count, diversity, None), [], boxes, [fact], [])
    by_prices = _by_prices(listed, rules, count, chosen)
    reach = chosen.reach if by_prices is None else by_prices.reach
    near = np.flatnonzero(listed.cost <= reach * (1 + 2 * ROOM))
    boxes = _points(problem, question, listed.bins[near], MOST_POINTS if by_prices is None else MOST_LISTED)
    points = [point_of(problem, question, bins) for bins in chosen.bins]
    looked_at = np.arange(len(near)) if by_prices is None else np.flatnonzero(by_prices.keep[near])
    points = _exactly(question, rules, listed.bins[near[looked_at]], [boxes[n] for n in looked_at], points)
    claim = sum(map(question.distance_of, points), Fraction(0))
    needed = Fraction(reach) * (1 + Fraction(ROOM))
    proof = Prover(problem, question, objective, boxes, needed).run()
    fact = Fact(question.without(map(AvoidBox, boxes)), needed, proof)
    prices = None if by_prices is None else _prices(problem, question, by_prices.found)
    return set_certificate(question, Asked(count, diversity, claim, prices), points, boxes, [fact], [])


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


def _in_doubt(problem: Problem) -> bool:
    """Whether some choice, allowed or not, has a score at an end of what will do."""
    wide = replace(problem, low=-math.inf, high=math.inf)
    bins = wide.singles({"proximity": 1.0}, math.inf, NEVER).bins
    scores = problem.scores(bins)
    ends = [end for end in (problem.low, problem.high) if math.isfinite(end)]
    return any(bool((np.abs(scores - end) <= 2 * problem.doubt).any()) for end in ends)


# --- regions ---------------------------------------------------------------------------------------------------------


def _points(problem: Problem, question: Question, bins: Array, most: int) -> list[Box]:
    """A region for each choice."""
    if len(bins) > most:
        raise CertificateError(f"no certificate: {len(bins):,} single choices would be listed, at most {most:,} are")
    return [only(point_of(problem, question, one), question.axes) for one in bins]


def _bins(problem: Problem, question: Question, bins: Sequence[tuple[int, int]]) -> list[Box]:
    """A region for each of some bins: all points in it."""
    everything = tuple(full(axis) for axis in question.axes)
    return [
        (*everything[:j], index_alone(question.axes[j], index_of(question, j, problem, k)), *everything[j + 1 :])
        for j, k in bins
    ]


class _ByPrices(NamedTuple):
    """Prices, what a choice may cost at most in a set that is as good, and which ones (choices,) may be in it."""

    found: Priced
    reach: float
    keep: Array


def _by_prices(listed: Singles, rules: Rules, count: int, chosen: Chosen) -> _ByPrices | None:
    """Prices that leave few choices; None where values may be the same, or two are asked for at most."""
    if not rules.values or count < 3 or listed.size < count:
        return None
    found = priced(listed.bins, listed.cost, count, NEVER, features=rules.features)
    if found is None:
        return None
    # A set that costs less has members only that exceed the least one, prices included, by less than it the bound.
    gap = chosen.cost - found.bound + ROOM
    reach = found.least + gap
    if (listed.cost <= reach).sum() > MOST_LISTED:
        return None
    return _ByPrices(found, reach, found.excess <= gap)


def _prices(problem: Problem, question: Question, found: Priced) -> Prices:
    """Prices of values, and of sets of variables, rounded."""

    def rounded(price: float) -> Fraction:
        return Fraction(round(price * 2**FINE), 2**FINE)

    width = len(question.axes)
    return Prices(
        [(j, index_of(question, j, problem, k), rounded(price)) for (j, k), price in found.values.items()],
        [(tuple(j for j in range(width) if mask >> j & 1), rounded(price)) for mask, price in found.sets.items()],
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
