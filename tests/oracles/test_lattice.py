"""Distances that points can have: between two of them there is nothing to be found."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mace.problem.distance import norm
from mace.problem.exclusions import Avoid
from mace.problem.question import Question
from mace.solve.driver import bracket_optimum
from mace.solve.lattice import attainable, denominator
from mace.solve.protocol import Found, Gap, Limits, Refuted, Reply
from mace.space.feature import Feature
from tests.oracles.small_ensembles import optimum, points_of, random_question, random_space
from tests.small_spaces import SPECS


@pytest.mark.parametrize("seed", range(60))
def test_no_point_lies_between_two_attainable_distances(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space, row = random_space(rng)
    axes = space.axes(row)
    distance = norm(SPECS[seed % len(SPECS)], len(axes), [str(rng.choice(["1", "2", "0.3", "0"])) for _ in axes])
    ranges = [a.levels() if hasattr(a, "levels") else range(a.lower, a.upper + 1) for a in axes]
    found = sorted(
        {distance.of([a.delta(i) for a, i in zip(axes, p, strict=True)]) for p in itertools.product(*ranges)}
    )
    below = denominator(axes, distance)
    assert below is None or all((one * below).denominator == 1 for one in found)
    for bound in [*found, *(one + Fraction(1, 997) for one in found), Fraction(1, 3)]:
        for beyond in (False, True):
            nearest = attainable(axes, distance, bound, beyond=beyond)
            assert nearest >= bound
            assert all(one >= nearest for one in found if (one > bound if beyond else one >= bound))


def test_only_what_has_steps_has_a_lattice() -> None:
    whole, real = Feature("a", "integer", 0, 10).axis(3), Feature("b", "real", 0, 1).axis(0.5)
    assert denominator((whole, whole), norm("l1", 2)) == 20
    assert denominator((whole, real), norm("l1", 2)) is None
    assert denominator((whole, real), norm("l0", 2)) == 2
    off = Feature("c", "real", 0, 1, step="0.5").axis(0.3)
    assert denominator((whole, off), norm("l1", 2)) is None
    assert attainable((whole, real), norm("l0", 2), Fraction(1, 3), beyond=False) == Fraction(1, 2)
    assert attainable((whole, real), norm("l0", 2), Fraction(1, 2), beyond=True) == 1


class Enumerating:
    """An oracle that knows every point, and says nothing but whether there is one within the radius."""

    name = "enumerating"
    optimises = False
    refused: tuple[Avoid, ...] = ()

    def __init__(self, question: Question) -> None:
        goals = [p for p in points_of(question) if question.obeys(p) and question.has_goal(p)]
        # The farthest first: the bracket has to be closed from below.
        self.found = sorted(((question.distance_of(p), p) for p in goals), reverse=True)

    def ask(self, radius: Fraction | None, limits: Limits, *, strict: bool = False, **_: Any) -> Reply:  # noqa: ARG002
        for distance, point in self.found:
            if radius is None or distance < radius or (distance == radius and not strict):
                return Found(point)
        return Refuted()

    def close(self) -> None:
        """Nothing."""


@pytest.mark.parametrize("seed", range(40))
def test_a_bracket_closes_on_the_lattice(seed: int) -> None:
    question = random_question(seed)
    bracket = bracket_optimum(
        question, Enumerating(question), lambda point: bool(question.has_goal(point)), gap=Gap(), limits=Limits()
    )
    best = optimum(question)
    if best is None:
        assert bracket.status == "infeasible"
        return
    assert bracket.lower == bracket.upper == best
    assert all(asked.lower <= best for asked in bracket.trace)
    below = denominator(question.axes, question.distance)
    if below is not None and bracket.trace:
        assert all((asked.lower * below).denominator == 1 for asked in bracket.trace)
        largest = max(question.distance_of(point) for point in points_of(question))
        assert len(bracket.trace) <= 4 * math.log2(max(float(largest) * below, 1) + 1) + 4
