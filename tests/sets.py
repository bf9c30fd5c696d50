"""Random sets of answers, and the best one by trying every set."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from mace.base.deadline import Deadline
from mace.certify.writer import Certificate
from mace.explain.proved.together import Together
from mace.explain.sets.choosing import Choosing, InRegion
from mace.problem.diversity import Diversity, diversity_of
from mace.problem.question import Question
from mace.solve.choice import choose
from mace.solve.driver import Status, bracket_optimum
from mace.solve.protocol import Gap, Limits
from mace.solve.sidesteps import beside
from mace.space.axes import Point
from tests.reference import points, random_question

SOFT: list[Any] = ["F=0.05", "FV=0.02", "F=0.1+FV=0.04", "F+FV=0.03", "FV+F=0.05", "F=0.02+0.2"]
SPECS: list[Any] = ["F", "FV", "F+FV", "points", "0.2", "0.45", "F+0.3", "FV+0.25"]
NETWORK_GAP = Fraction(1, 10**9)


class Agreed(NamedTuple):
    """How a question ended as enumeration says; the certificate where anything is claimed."""

    status: Status
    certificate: Certificate | None


def apart(question: Question, spec: str, one: Point, other: Point) -> bool:
    """Whether two points may stand in one set, by the definitions and nothing else."""
    start = [axis.start for axis in question.axes]
    moved = [[a != s for a, s in zip(p, start, strict=True)] for p in (one, other)]
    for part in spec.split("+"):
        if part == "F" and moved[0] == moved[1]:
            return False
        if part == "FV" and any(m and n and a == b for m, n, a, b in zip(*moved, one, other, strict=True)):
            return False
        if part[0].isdigit() and question.distance_between(one, other) < Fraction(part):
            return False
    return one != other


def worth(question: Question, spec: str, one: Point, other: Point) -> Fraction:
    """What the differences of two points are worth, by the definitions and nothing else."""
    total, start = Fraction(0), [axis.start for axis in question.axes]
    for part in spec.split("+"):
        kind, _, each = part.partition("=")
        for s, a, b in zip(start, one, other, strict=True) if each else ():
            total += Fraction(each) * (len({a} - {s} ^ {b} - {s}) if kind == "FV" else (a != s) != (b != s))
    return total


def least_soft(question: Question, spec: str, count: int, good: Sequence[Point]) -> Fraction | None:
    """The least sum of a set less what its differences are worth, by trying every one; None if there is none."""
    sums = []
    for chosen in combinations(good, count):
        pairs = list(combinations(chosen, 2))
        if all(apart(question, spec, *pair) for pair in pairs):
            off = sum(worth(question, spec, *pair) for pair in pairs)
            sums.append(sum(map(question.distance_of, chosen)) - off)
    return min(sums, default=None)


def least(question: Question, spec: str, count: int, good: Sequence[Point]) -> Fraction | None:
    """The least sum of a set, by trying every one; None if there is none."""
    costs = sorted((question.distance_of(point), point) for point in good)
    best: Fraction | None = None

    def extend(chosen: list[Point], total: Fraction, since: int) -> None:
        nonlocal best
        left = count - len(chosen)
        if not left:
            best = total
            return
        for n in range(since, len(costs)):
            distance, point = costs[n]
            if best is not None and total + left * distance >= best:
                return
            if all(apart(question, spec, point, other) for other in chosen):
                extend([*chosen, point], total + distance, n + 1)

    extend([], Fraction(0), 0)
    return best


def found_by_provers(question: Question, diversity: Diversity, count: int) -> Together:
    def nearest(asked: Question, known: Sequence[Point], floor: Fraction) -> InRegion:
        oracle, _ = choose(asked)
        gap = Gap(Fraction(0) if oracle.name == "ensembles" else NETWORK_GAP)
        best = beside(asked, known, lambda point: bool(asked.has_goal(point)), floor)
        limits = Limits(Deadline.after(600))  # the first use of a prover compiles it
        said = bracket_optimum(asked, oracle, lambda p: bool(asked.has_goal(p)), gap=gap, limits=limits, best=best)
        return InRegion(said, asked, gap)

    return Choosing(question, diversity, count, nearest, Limits(Deadline.after(600))).run()


def soft_agrees(seed: int, most: int = 14) -> Status | None:
    """One random question where differences are worth something, asked both ways; None if it is too large."""
    rng = np.random.default_rng(seed)
    question = random_question(seed)
    count, spec = int(rng.integers(2, 4)), str(rng.choice(SOFT))
    allowed = [point for point in points(question) if question.obeys(point)]
    good = [point for point in allowed if question.has_goal(point)]
    if len(good) > most or any(question.has_goal(point) is None for point in allowed):
        return None
    truth = least_soft(question, spec, count, good)
    made = found_by_provers(question, diversity_of(spec), count)
    label = (seed, spec, count, made.status, made.why, made.lower, made.upper, truth)
    if truth is None:
        assert made.status == "infeasible" and made.certificate().check().accepted, label
        return made.status
    room = NETWORK_GAP * count
    assert made.status == "optimal" and made.upper is not None, label
    assert truth - room <= made.lower <= truth <= made.upper <= truth + room, label
    off = sum(worth(question, spec, *pair) for pair in combinations(made.points, 2))
    assert sum(map(question.distance_of, made.points)) - off == made.upper, label
    assert all(apart(question, spec, *pair) for pair in combinations(made.points, 2)), label
    assert len(made.points) == count and all(point in good for point in made.points), label
    return made.status


def agrees(seed: int, kind: str | None = None) -> Agreed | None:
    """One random question, asked both ways, with the certificate; None if it is too large to try every set."""
    rng = np.random.default_rng(seed)
    question = random_question(seed, kind)
    count, spec = int(rng.integers(2, 5)), str(rng.choice(SPECS))
    allowed = [point for point in points(question) if question.obeys(point)]
    good = [point for point in allowed if question.has_goal(point)]
    if len(good) > 600 or any(question.has_goal(point) is None for point in allowed):
        return None
    truth = least(question, spec, count, good)
    made = found_by_provers(question, diversity_of(spec), count)
    label = (seed, spec, count, made.status, made.why, made.lower, made.upper, truth)
    if truth is None:
        assert made.status == "infeasible" and not made.points, label
    else:
        room = NETWORK_GAP * count
        assert made.status == "optimal", label
        assert made.upper is not None and made.lower <= truth <= made.upper <= truth + room, label
        assert made.lower >= truth - room, label
        assert len(made.points) == count and all(point in good for point in made.points), label
        assert all(apart(question, spec, p, q) for n, p in enumerate(made.points) for q in made.points[:n]), label
        assert sum(map(question.distance_of, made.points)) == made.upper, label
    if truth == 0:
        return Agreed(made.status, None)
    certificate = made.certificate()
    verdict = certificate.check()
    assert verdict.accepted, (label, verdict.reason)
    return Agreed(made.status, certificate)
