from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mace.base.deadline import Deadline
from mace.certify.recheck import recheck
from mace.certify.statement import certifiable
from mace.problem.distance import DistanceError, norm
from mace.problem.exclusions import AvoidNear
from mace.problem.programs import rule_of
from mace.problem.proof import Leaf, Split
from mace.solve.conditions import Farthest
from mace.solve.driver import Bracket, bracket_optimum
from mace.solve.protocol import Found, Gap, Limits, Refuted, Unknown
from mace.space.axes import GridAxis, full, index_alone
from tests.reference import nearest, points, random_question

deltas = st.lists(st.fractions(0, 1, max_denominator=20), min_size=3, max_size=3)


@given(deltas)
def test_the_named_norms_are_share_mean_and_maximum(delta):
    assert norm("l0", 3).of(delta) == Fraction(sum(d > 0 for d in delta), 3)
    assert norm("l1", 3).of(delta) == sum(delta) / 3
    assert norm("linf", 3).of(delta) == max(delta)


@given(deltas, st.fractions(0, 1, max_denominator=10))
def test_a_mixture_is_the_mixture_of_the_norms(delta, share):
    mixed = norm({"l0": share, "linf": 1 - share}, 3)
    assert mixed.of(delta) == share * norm("l0", 3).of(delta) + (1 - share) * norm("linf", 3).of(delta)
    assert norm({"alpha": share / 3, "gamma": 1 - share}, 3).of(delta) == mixed.of(delta)
    assert mixed.of(delta) <= 1


def test_shares_may_miss_1_by_what_floats_do() -> None:
    """1/3 and 2/3 were refused."""
    third = norm({"l0": Fraction(1, 3), "linf": Fraction(2, 3)}, 3)
    for spec in ({"l0": 1 / 3, "linf": 2 / 3}, {"alpha": 1 / 9, "gamma": 2 / 3}):
        found = norm(spec, 3)
        assert 3 * (found.alpha + found.beta) + found.gamma == 1
        assert abs(found.alpha - third.alpha) < Fraction(1, 10**15)


BAD = [
    ("l2", "unknown distance 'l2'"),
    ({"l0": 0.5, "l1": 0.6}, "must sum to 1"),
    ({"alpha": 1, "beta": 1}, "must satisfy J \\* \\(alpha \\+ beta\\) \\+ gamma = 1"),
    ({"l0": 2, "l1": -1}, ">= 0"),
    ({"l0": "x"}, "needs numbers"),
    ({"l3": 1}, "has the keys"),
    ("l0=0.5,l3=0.5", "has the keys"),
    ("l0=0.5,l0=0.5", "gives 'l0' twice"),
    ("l0=0.5,l1", "'l1' is not NAME=NUMBER"),
]


def test_a_text_may_be_a_mixture():
    """The command line took it, and the Python functions did not."""
    assert norm("L0=0.25, l1=0.75", 3) == norm({"l0": "0.25", "l1": "0.75"}, 3)


@pytest.mark.parametrize(("spec", "message"), BAD)
def test_what_is_no_distance_is_refused(spec, message):
    with pytest.raises(DistanceError, match=message):
        norm(spec, 3)


class Enumeration:
    """An oracle that enumerates, and answers honestly but with any witness inside the radius."""

    name, optimises, refused = "enumeration", False, ()

    def __init__(self, question):
        self.known = [
            (question.distance_of(p), p) for p in points(question) if question.obeys(p) and question.has_goal(p)
        ]

    def ask(self, radius, limits, *, strict=False, replay, **known):  # noqa: ARG002
        near = [p for d, p in self.known if radius is None or d < radius or (d == radius and not strict)]
        inside = [p for p in near if replay.accepts(p)]
        return Found(inside[len(inside) // 2]) if inside else Refuted()

    def close(self) -> None:
        pass


@pytest.mark.parametrize("seed", range(40))
def test_the_driver_closes_the_bracket_on_the_true_distance(seed):
    question = random_question(seed)
    best = nearest(question)
    bracket = bracket_optimum(question, Enumeration(question), lambda p: True, gap=Gap(), limits=Limits())
    if best is None:
        assert bracket.status == "infeasible"
    else:
        assert bracket.status == "optimal"
        assert bracket.lower == bracket.upper == best[0] == question.distance_of(bracket.point)


@pytest.mark.parametrize("seed", range(10))
def test_a_witness_that_the_deployed_model_refuses_is_never_returned(seed):
    question = random_question(seed, extras=False)
    refused = nearest(question)
    bracket = bracket_optimum(
        question, Enumeration(question), lambda p: refused is None or p != refused[1], gap=Gap(), limits=Limits()
    )
    assert refused is None or bracket.point != refused[1]
    assert bracket.status in ("optimal", "infeasible")


def test_an_oracle_that_gives_up_leaves_an_honest_bracket():
    question = next(q for q in map(random_question, range(50)) if (b := nearest(q)) and b[0] > 0)

    class GivesUp(Enumeration):
        asked = 0

        def ask(self, radius, limits, **more):
            self.asked += 1
            return Unknown("out of breath") if self.asked > 2 else super().ask(radius, limits, **more)

    bracket = bracket_optimum(question, GivesUp(question), lambda p: True, gap=Gap(), limits=Limits())
    assert (bracket.status, bracket.why) == ("bounded", "out of breath") or bracket.status == "optimal"
    assert bracket.lower <= nearest(question)[0] <= bracket.upper


@pytest.mark.parametrize(("seconds", "why"), [(None, "refused"), (60.0, "refused"), (0.0, "time")])
def test_a_proof_that_the_checker_does_not_accept_in_time_bounds_nothing(seconds, why):
    question = next(q for q in map(random_question, range(50)) if (b := nearest(q)) and b[0] > 0)
    distance, point = nearest(question)
    bracket = Bracket(distance, distance, point, "optimal", proof=[Leaf("empty")])
    recheck(bracket, question, Deadline.after(seconds))
    assert (bracket.status, bracket.lower, bracket.proof) == ("bounded", 0, None)
    assert why in bracket.why


def test_a_proof_that_the_checker_accepts_in_a_process_of_its_own_keeps_its_bound():
    question = next(q for q in map(random_question, range(50)) if (b := nearest(q)) and b[0] > 0)
    cut = next(j for j, axis in enumerate(question.axes) if isinstance(axis, GridAxis))
    # Nothing is closer than 0; the second half of a grid cut at its end is empty.
    proof = [Split(cut, question.axes[cut].upper), Leaf("distance"), Leaf("empty")]
    bracket = Bracket(Fraction(0), None, None, "unknown", proof=proof)
    recheck(bracket, question, Deadline.after(60.0))
    assert bracket.proof is proof
    assert not bracket.why


@pytest.mark.parametrize("true", [True, False])
def test_a_rule_that_no_certificate_can_hold_does_not_spare_a_proof_its_reading(true):
    question = next(q for q in map(random_question, range(50)) if (b := nearest(q)) and b[0] > 0)
    distance, point = nearest(question)
    rule = rule_of("x = 1\nreturn x == 1", question.space)
    question = replace(question, rules=(*question.rules, rule))
    assert certifiable(question) is not None
    cut = next(j for j, axis in enumerate(question.axes) if isinstance(axis, GridAxis))
    past = question.axes[cut].upper - (0 if true else 1)  # of the second half, nothing or the last value
    proof = [Split(cut, past), Leaf("rule", len(question.rules) - 1), Leaf("empty")]
    bracket = Bracket(distance, distance, point, "optimal", proof=proof)
    recheck(bracket, question)
    assert (bracket.status, bracket.lower) == (("optimal", distance) if true else ("bounded", 0))


@pytest.mark.parametrize("seed", range(40))
def test_a_box_lies_in_a_ball_if_all_its_points_do(seed):
    rng = np.random.default_rng(seed)
    question = random_question(seed, extras=False)
    inside = list(points(question))
    ball = AvoidNear(inside[rng.integers(len(inside))], Fraction(int(rng.integers(1, 12)), 10))
    corner = inside[rng.integers(len(inside))]
    box = [
        full(axis) if rng.random() < 0.5 else index_alone(axis, index)
        for axis, index in zip(question.axes, corner, strict=True)
    ]

    def holds(sides):
        where = replace(question, axes=tuple(map(_limited, question.axes, sides)))
        return all(question.excluded(ball, point) for point in points(where))

    measured = Farthest(question, ball, tuple(box))
    assert measured.near() == holds(box)
    for j, axis in enumerate(question.axes):
        for side in (full(axis), index_alone(axis, corner[j])):
            assert measured.near_on(j, side) == holds([*box[:j], side, *box[j + 1 :]])


def _limited(axis, side):
    """An axis with the indices of a side alone."""
    if isinstance(axis, GridAxis):
        return replace(axis, lower=side[0], upper=side[1])
    return replace(axis, allowed=side)
