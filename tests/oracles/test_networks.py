"""The networks oracle: the same answers as enumeration, and proofs that the checker accepts."""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from mace import Explainer
from mace.base.deadline import Deadline, TimeOverError
from mace.base.exact import exact
from mace.certify import recheck
from mace.certify.writer import certificate
from mace.errors import CertificateError
from mace.problem.distance import Charge, Norm, norm
from mace.problem.exclusions import AvoidNear, AvoidPoint
from mace.problem.proof import Leaf, Phase, Proof, Split
from mace.problem.question import Goal, Question
from mace.proofs.check import check
from mace.solve import compiled
from mace.solve.driver import bracket_optimum
from mace.solve.networks import branch, points, start, values
from mace.solve.networks import proof as networks_proof
from mace.solve.networks import search as networks_search
from mace.solve.networks.balls import in_balls
from mace.solve.networks.exact import Exact
from mace.solve.networks.model import Array, Part, numbers
from mace.solve.networks.nodes import Frame, Node, halves
from mace.solve.networks.points import Points
from mace.solve.networks.prover import NetworkOracle
from mace.solve.networks.relax import MOST_PIVOTS, Relaxed
from mace.solve.networks.search import Search
from mace.solve.networks.simplex import CUTOFF, STUCK
from mace.solve.protocol import Found, Gap, Limits, ProvedBound, Refuted, Replay, Unknown
from mace.solve.warm import about_layers
from mace.solve.witnesses import Witnesses
from mace.space.axes import GridAxis, LevelAxis, Side, whole
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Layer, Network, decision_for
from tests.clocks import Hand
from tests.marks import slow_unless
from tests.reference import nearest, random_question

CLOSE = Fraction(1, 10**9)


def agree(question: Question) -> None:
    """The oracle's answer, its point and its proof against enumeration and the checker."""
    expected = nearest(question)
    reply = NetworkOracle(question).ask(None, Limits.of(600.0))
    if expected is None:
        assert isinstance(reply, Refuted)
        assert reply.proof is not None
        verdict = check(certificate(question, None, None, reply.proof).data)
        assert verdict.accepted, verdict
        return
    assert isinstance(reply, Found), reply
    assert question.obeys(reply.point)
    assert question.has_goal(reply.point)
    assert question.distance_of(reply.point) == expected[0]
    assert reply.lower == expected[0]  # every feature has steps
    assert reply.proof is not None
    verdict = check(certificate(question, reply.lower, reply.point, reply.proof).data)
    assert verdict.accepted, verdict


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("times", [Fraction(1, 10**12), Fraction(10**12), Fraction(7 * 10**35)])
def test_weights_may_make_distances_of_any_size(seed: int, times: Fraction) -> None:
    """The search's floats once took 1e-9 for nothing, whatever a distance came to: anything was the nearest point."""
    question = random_question(seed, "network")
    distance = question.distance
    assert isinstance(distance, Norm)
    agree(replace(question, distance=replace(distance, weights=tuple(one * times for one in distance.weights))))


@pytest.mark.parametrize("kind", ["network", "linear"])
@pytest.mark.parametrize("times", [Fraction(1, 10**9), Fraction(10**9)])
def test_how_far_answers_are_apart_counts_in_the_unit_of_distances(times: Fraction, kind: str) -> None:
    """In the unit of the search the least distance from an earlier answer was the number that was given: "proved: there
    is no other", where there was.
    """
    for seed in range(12):
        question = random_question(seed, kind, extras=False)
        distance, found = question.distance, nearest(question)
        assert isinstance(distance, Norm)
        dear = replace(question, distance=replace(distance, weights=tuple(one * times for one in distance.weights)))
        if found is not None:
            agree(dear.away(AvoidNear(found[1], times / 10)))


def test_boxes_are_cut_beyond_the_last_distance_that_counts_where_doubles_do_not_tell_it_from_others() -> None:
    """What cheap features cost beside a dear one is less than the last digit: boxes were cut before it."""
    question = random_question(15791, "network", extras=False)
    distance = question.distance
    assert isinstance(distance, Norm)
    weights = [one * Fraction(10) ** (-9 if j % 2 else 9) for j, one in enumerate(distance.weights, 1)]
    question = replace(question, distance=replace(distance, weights=tuple(weights)))
    search = Points(Witnesses(question), Gap(), None, strict=False)
    last = 5 * 10**8 + Fraction(2, 10**10)
    assert search.unit is not None
    assert float(last) == 5 * 10**8
    search.distance, search.best = last + search.unit, question.start
    assert Fraction(search.reach) >= last


@pytest.mark.parametrize("weight", [Fraction(1, 10**12), Fraction(10**12)])
@pytest.mark.parametrize("distance", ["l1", "linf"])
def test_how_close_an_answer_comes_is_told_in_the_size_of_its_distances(distance: str, weight: Fraction) -> None:
    rows, target = load_breast_cancer(return_X_y=True)
    rows = rows[:, :4] / rows[:, :4].max(axis=0)
    model = LogisticRegression().fit(rows, target)
    space = Space([Feature(f"x{k}", "real", 0, 1) for k in range(4)])
    row = rows[model.predict(rows) == 0][0]
    usual = Explainer(model, space, distance=distance).explain(row, goal=1)
    answer = Explainer(model, space, distance=distance, weights=dict.fromkeys(space.names, weight)).explain(row, goal=1)
    assert (usual.status, answer.status) == ("optimal", "optimal")
    assert usual.exact_distance is not None
    assert answer.exact_distance is not None
    assert abs(answer.exact_distance / weight - usual.exact_distance) < Fraction(2, 10**9)
    assert answer.exact_distance - answer.exact_lower_bound < 2 * weight / 10**9
    assert answer.certificate.check().accepted


@pytest.mark.parametrize("weight", [Fraction(1, 10**40), Fraction(10**45), Fraction(10**200)])
def test_where_multipliers_have_too_few_digits_a_certificate_says_what_to_do(weight: Fraction) -> None:
    """The checker refused such proofs, the answer lost its bound, and people were asked to report it."""
    rows, target = load_breast_cancer(return_X_y=True)
    rows = rows[:, :3] / rows[:, :3].max(axis=0)
    model = MLPClassifier((4,), max_iter=400, random_state=0).fit(rows, target)
    space = Space([Feature(f"x{k}", "real", 0, 1) for k in range(3)])
    row = rows[model.predict(rows) == 0][0]
    usual = Explainer(model, space).explain(row, goal=1)
    answer = Explainer(model, space, weights=dict.fromkeys(space.names, weight)).explain(row, goal=1)
    assert (usual.status, answer.status) == ("optimal", "optimal")
    assert usual.exact_distance is not None
    assert answer.exact_distance is not None
    assert abs(answer.exact_distance / weight - usual.exact_distance) < Fraction(2, 10**9)
    with pytest.raises(CertificateError, match=r"distances from 2\^-100 to 2\^(120|64); divide all weights by 2\^"):
        _ = answer.certificate


@pytest.mark.parametrize("powers", [(123, 133, 133), (70, 70, 204)])
def test_multipliers_have_too_few_digits_for_one_change_that_is_dear(powers: tuple[int, ...]) -> None:
    """As above, where the least weight alone decided whether a certificate can be written."""
    rows, target = load_breast_cancer(return_X_y=True)
    rows = rows[:, :3] / rows[:, :3].max(axis=0)
    model = MLPClassifier((4,), max_iter=400, random_state=0).fit(rows, target)
    space = Space([Feature(f"x{k}", "real", 0, 1) for k in range(3)])
    weights = {name: 2**power for name, power in zip(space.names, powers, strict=True)}
    answer = Explainer(model, space, weights=weights).explain(rows[180], goal=1)
    assert answer.status in ("optimal", "bounded")
    assert "refused" not in answer.why
    with pytest.raises(CertificateError, match=rf"of about 2\^{powers[0]} \(the largest 2\^"):
        _ = answer.certificate


@pytest.mark.parametrize("weight", [10**9, 10**18])
@pytest.mark.parametrize("made", [LogisticRegression(), MLPClassifier((4,), max_iter=400, random_state=0)])
def test_one_dear_feature_leaves_the_others_as_exact(made: Any, weight: int) -> None:
    """A part of the largest distance was taken for nothing: any point that left that feature was the nearest."""
    rows, target = load_breast_cancer(return_X_y=True)
    rows = rows[:, :3] / rows[:, :3].max(axis=0)
    model = made.fit(rows, target)
    space = Space([Feature(f"x{k}", "real", 0, 1) for k in range(3)])
    row = rows[model.predict(rows) == 0][0]
    fixed = Explainer(model, space.change(x2="fixed")).explain(row, goal=1)
    answer = Explainer(model, space, weights={"x2": weight}).explain(row, goal=1)
    assert (fixed.status, answer.status) == ("optimal", "optimal")
    assert fixed.exact_distance is not None
    assert answer.exact_distance is not None
    assert abs(answer.exact_distance - fixed.exact_distance) < Fraction(2, 10**9)


@pytest.mark.parametrize("power", [9, 25, 90])
@pytest.mark.parametrize("distance", ["l1", "linf", {"l0": 0.2, "l1": 0.5, "linf": 0.3}])
@pytest.mark.parametrize("made", [LogisticRegression(), MLPClassifier((4,), max_iter=400, random_state=0)])
def test_cheap_features_beside_others_are_seen(made: Any, distance: Any, power: int) -> None:
    """A part of what others cost was taken for nothing: any point that changed cheap features alone was the nearest."""
    rows, target = load_breast_cancer(return_X_y=True)
    rows = rows[:, :4] / rows[:, :4].max(axis=0)
    model = made.fit(rows, target)
    space = Space([Feature(f"x{k}", "real", 0, 1) for k in range(4)])
    row = rows[model.predict(rows) == 0][0]
    cheap = Fraction(1, 10**power)
    weights = {"x0": cheap, "x1": cheap}
    fixed = Explainer(model, space.change(x2="fixed", x3="fixed"), distance=distance).explain(row, goal=1)
    answer = Explainer(model, space, distance=distance, weights=weights).explain(row, goal=1)
    assert (fixed.status, answer.status) == ("optimal", "optimal")
    assert fixed.exact_distance is not None
    assert answer.exact_distance is not None
    # Others move a little, too, where only the largest change counts.
    assert fixed.exact_distance * (1 - Fraction(3, 10**8)) - cheap * 10**5 <= answer.exact_distance / cheap
    assert answer.exact_distance / cheap <= fixed.exact_distance * (1 + Fraction(3, 10**8))
    assert answer.exact_distance * (1 - Fraction(1, 10**8)) - cheap / 10**8 <= answer.exact_lower_bound
    if power < 30:
        assert answer.certificate.check().accepted
    else:
        with pytest.raises(CertificateError, match=r"divide all weights by 2\^-"):
            _ = answer.certificate


@pytest.mark.parametrize("cheap", [Fraction(1, 10**9), Fraction(1, 10**3), Fraction(1)])
@pytest.mark.parametrize("distance", ["l1", "linf", {"l0": 0.2, "l1": 0.5, "linf": 0.3}])
@pytest.mark.parametrize("made", [LogisticRegression(), MLPClassifier((4,), max_iter=400, random_state=0)])
def test_cheap_features_that_do_not_suffice_leave_the_others_as_near(made: Any, distance: Any, cheap: Fraction) -> None:
    """The gap was a part of what the cheap one costs, or of too little: bounds that were near enough were not equal."""
    rows, target = load_breast_cancer(return_X_y=True)
    rows = rows[:, :4] / rows[:, :4].max(axis=0)
    model = made.fit(rows, target)
    space = Space([Feature(f"x{k}", "real", 0, 1) for k in range(4)])
    weights = {"x0": cheap} | dict.fromkeys(("x1", "x2", "x3"), 1 if cheap < 1 else 10**9)
    unit = weights["x3"]
    for allowed in (space, space.change(x0="fixed")):
        explainer = Explainer(model, allowed, distance=distance, weights=weights)
        same = Explainer(model, allowed, distance=distance, weights={k: w / unit for k, w in weights.items()})
        for row in rows[model.predict(rows) == 0][:8]:
            answer, other = explainer.explain(row, goal=1), same.explain(row, goal=1)
            assert (answer.status, other.status) == ("optimal", "optimal")
            assert answer.exact_distance is not None
            assert other.exact_distance is not None
            assert abs(answer.exact_distance / unit - other.exact_distance) <= other.exact_distance * Fraction(2, 10**8)
            assert answer.certificate.check().accepted


@pytest.mark.parametrize("distance", ["l1", "linf"])
def test_one_dear_feature_moves_by_no_float_too_many(distance: str) -> None:
    """The next float was taken for any other: of a weight of 1e9 it is farther by a part in ten thousand."""
    rows, target = load_breast_cancer(return_X_y=True)
    rows = rows[:, :4] / rows[:, :4].max(axis=0)
    model = LogisticRegression().fit(rows, target)
    space = Space([Feature(f"x{k}", "real", 0, 1) for k in range(4)])
    explainer = Explainer(model, space, distance=distance, weights={"x2": 10**9, "x3": 3 * 10**9})
    for row in rows[model.predict(rows) == 0][:10]:
        answer = explainer.explain(row, goal=1)
        assert answer.exact_distance is not None
        assert answer.exact_distance - answer.exact_lower_bound < Fraction(1, 10**8)


@pytest.mark.parametrize(("hidden", "rounds", "number"), [(24, 80, 5), (24, 80, 100), (32, 100, 500)])
def test_a_box_without_the_goal_is_closed_although_the_distance_wanted_is_tiny(
    hidden: int, rounds: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Next to a row on whole numbers any positive bound is enough: so small that the linear program ended before what
    its rounded multipliers prove was positive, and thousands of boxes were divided to no end.
    """
    expanded, expand = [0], Search.expand

    def counted(search: Search, node: Node) -> None:
        expanded[0] += 1
        expand(search, node)

    monkeypatch.setattr(Search, "expand", counted)
    rows, target = load_digits(return_X_y=True)
    model = MLPClassifier((hidden,), max_iter=rounds, random_state=0).fit(rows, target)
    space = Space([Feature(f"x{k}", "integer", 0, 16) for k in range(rows.shape[1])])
    goal = (int(model.predict(rows[number][None])[0]) + 1) % 10
    answer = Explainer(model, space, distance="linf").explain(rows[number], goal=goal)
    assert answer.status == "optimal"
    assert expanded[0] < 20  # 231, 495 and more than 5,000
    assert answer.certificate.check().accepted


@pytest.mark.parametrize("power", [-330, -40, 60, 307])
@pytest.mark.parametrize(
    "made",
    [
        LogisticRegression(),
        MLPClassifier((4,), max_iter=400, random_state=0),
        DecisionTreeClassifier(max_depth=3, random_state=0),
    ],
)
def test_no_certificate_is_written_that_a_checker_rounds_away(made: Any, power: int) -> None:
    rows, target = load_breast_cancer(return_X_y=True)
    rows = rows[:, :3] / rows[:, :3].max(axis=0)
    model = made.fit(rows, target)
    space = Space([Feature(f"x{k}", "real", 0, 1) for k in range(3)])
    explainer = Explainer(
        model, space, rules=["x0 <= x1"], weights=dict.fromkeys(space.names, Fraction(3) * Fraction(10) ** power)
    )
    for row in rows[model.predict(rows) == 0][:2]:
        answer = explainer.explain(row, goal=1)
        assert answer.status == "optimal"
        try:
            assert answer.certificate.check().accepted
        except CertificateError as error:
            assert "weights make distances" in error.message  # noqa: PT017


@pytest.mark.parametrize(
    "made",
    [
        LogisticRegression(),
        MLPClassifier((4,), max_iter=400, random_state=0),
        CalibratedClassifierCV(MLPClassifier((3,), max_iter=400, random_state=0), cv=2),
        DecisionTreeClassifier(max_depth=3, random_state=0),
    ],
)
def test_weights_beyond_all_floats_are_no_error(made: Any) -> None:
    rows, target = load_breast_cancer(return_X_y=True)
    rows = rows[:, :3] / rows[:, :3].max(axis=0)
    model = made.fit(rows, target)
    space = Space([Feature(f"x{k}", "real", 0, 1) for k in range(3)])
    row = rows[model.predict(rows) == 0][0]
    explainer = Explainer(model, space, rules=["x0 <= x1"], weights=dict.fromkeys(space.names, 10**400))
    answer = explainer.explain(row, goal=1)
    assert answer.status in ("optimal", "bounded")
    assert answer.exact_distance is not None
    assert 0 <= answer.exact_lower_bound <= answer.exact_distance
    assert math.isinf(answer.distance or 0.0)


@pytest.mark.parametrize("spec", ["l0", "l1", "linf", {"l0": 0.25, "l1": 0.75}])
def test_a_box_cut_to_a_ball_keeps_each_value_that_is_near_enough_alone(spec: object) -> None:
    for seed in range(12):
        question = random_question(seed, "network")
        question = replace(
            question, distance=norm(spec, len(question.axes), [1 + j for j in range(len(question.axes))])
        )
        exact = Exact(question, numbers(question))
        rng = np.random.default_rng(seed)
        box = whole(question.axes)
        for _ in range(6):
            q = Fraction(int(rng.integers(1, 60)), 40)
            costs = [exact.worth(j, exact.least_index(j, side)).part for j, side in enumerate(box)]

            rest = [sum(costs) - cost for cost in costs]
            kept = [
                [index for index in indices(side) if exact.worth(j, index).reach < q - rest[j]]
                for j, side in enumerate(box)
            ]
            found = exact.cut(box, q)
            assert (found is None) == (not all(kept))
            assert found is None or [indices(side) for side in found] == kept
            j = int(rng.integers(len(box)))  # a smaller box, which may leave the start out
            axis = question.axes[j]
            if isinstance(axis, GridAxis):
                ends = sorted(rng.integers(axis.lower, axis.upper + 1, 2).tolist())
                box = (*box[:j], (ends[0], ends[1]), *box[j + 1 :])


def indices(side: Side) -> list[int]:
    """The indices of a side."""
    return list(range(side[0], side[1] + 1)) if isinstance(side, tuple) else [k for k in range(64) if side >> k & 1]


@pytest.mark.parametrize("spec", ["l1", "linf", "l0"])
def test_doubles_are_moved_and_measured_all_at_once_as_each_alone(spec: str) -> None:
    question = drawn((4, 4), 5, spec, levels=False)
    frame, alone = Frame(Witnesses(question)), Frame(Witnesses(question))
    assert frame.all_doubles is not None
    alone.all_doubles = None
    for one, other in zip(frame.first_node().hull, alone.first_node().hull, strict=True):
        assert np.array_equal(one, other)
    rng = np.random.default_rng(0)
    for k in range(40):
        x = rng.normal(size=len(question.axes)) * 10.0 ** rng.integers(-12, 2) * rng.integers(0, 2, len(question.axes))
        point = frame.rounded(x, outward=bool(k % 2))
        assert point == alone.rounded(x, outward=bool(k % 2))
        assert np.array_equal(frame.changes(point), alone.changes(point))
        assert question.row(point).tolist() == [
            c.at(question.axes[c.feature], point[c.feature]) for c in question.columns
        ]
        assert isinstance(question.distance, Norm)
        assert question.distance_of(point) == question.distance.of(question.deltas(point))


@pytest.mark.parametrize("step", ["1/8", "0.3"])
def test_multiples_of_steps_are_rounded_to_all_at_once_as_each_alone(step: str) -> None:
    drawn_one = drawn((4, 4), 5, "l1", step, levels=False)
    starts = [0, 2 * Fraction(step), -3 * Fraction(step), 0]
    question = replace(drawn_one, axes=drawn_one.space.axes({f"x{k}": float(value) for k, value in enumerate(starts)}))
    frame, alone = Frame(Witnesses(question)), Frame(Witnesses(question))
    assert frame.all_multiples
    alone.all_multiples = False
    rng = np.random.default_rng(0)
    for k in range(80):
        x = rng.normal(size=len(question.axes)) * 10.0 ** rng.integers(-4, 2) * rng.integers(0, 2, len(question.axes))
        assert frame.rounded(x, outward=bool(k % 2)) == alone.rounded(x, outward=bool(k % 2))
        point = frame.rounded(x, outward=False)
        assert (
            frame.rounded(frame.changes(point), outward=bool(k % 2)) == point
        )  # a multiple stays, whatever its double


def test_where_nothing_moves_in_a_linear_region_none_is_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Points, "fix_phases")
    for seed in range(4):
        agree(random_question(seed, "network"))  # of steps and levels


def test_no_linear_region_is_searched_twice_for_points_but_in_a_larger_ball(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, count = Search.fix_phases, 0
    for seed in range(4):
        searched: dict[object, float] = {}

        def noted(
            self: Search, node: Node, active: tuple[tuple[int, bytes], ...], seen: dict[object, float] = searched
        ) -> None:
            region = (node.box, active, self.anywhere)
            assert self.target > seen.get(region, -1.0)
            seen[region] = self.target
            whole(self, node, active)

        monkeypatch.setattr(Search, "fix_phases", noted)
        assert isinstance(NetworkOracle(drawn((6, 5), seed, "l1")).ask(None, Limits.of(600.0)), Found)
        count += len(searched)
    assert count


@pytest.mark.parametrize("kind", ["linear", "network"])
@pytest.mark.parametrize("block", slow_unless(lambda block: block < 3, range(8)))
def test_same_optimum_as_enumeration_and_accepted_proof(kind: str, block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        agree(random_question(seed, kind))


@pytest.mark.parametrize("kind", ["linear", "network"])
@pytest.mark.parametrize("block", slow_unless(lambda block: block < 1, range(20)))
def test_with_a_gap_bounds_lie_about_the_optimum_and_proofs_hold(kind: str, block: int) -> None:
    for seed in range(5 * block, 5 * block + 5):
        question = random_question(seed, kind)
        expected = nearest(question)
        for gap in (Gap(Fraction(1, 5)), Gap(Fraction(1, 50)), Gap(relative=Fraction(1, 4))):
            reply = NetworkOracle(question).ask(None, Limits.of(600.0), gap=gap)
            if expected is None:
                assert isinstance(reply, Refuted)
                continue
            assert isinstance(reply, Found) and reply.lower is not None and question.has_goal(reply.point)
            distance = question.distance_of(reply.point)
            assert reply.lower <= expected[0] <= distance
            assert gap.met(reply.lower, distance)
            verdict = check(certificate(question, reply.lower, reply.point, reply.proof).data)
            assert verdict.accepted, verdict


def test_who_is_content_with_a_gap_waits_for_no_more_than_who_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    looked, look = [0], Search.look

    def counted(search: Search, node: Node) -> None:
        looked[0] += 1
        look(search, node)

    monkeypatch.setattr(Search, "look", counted)
    nodes = {}
    for gap in (Gap(), Gap(Fraction(1, 4))):
        looked[0] = 0
        for seed, spec in itertools.product((0, 1, 2, 4), ("l1", "linf")):
            NetworkOracle(drawn((), seed, spec, step="0.001")).ask(None, Limits(), gap=gap)
        nodes[gap] = looked[0]
    assert nodes[Gap(Fraction(1, 4))] <= nodes[Gap()]


def test_a_nearer_point_that_is_found_while_the_proof_is_written_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    prove, distances = networks_proof.prove, list[tuple[Fraction, Fraction]]()

    def noted(search: Search) -> tuple[Fraction, Proof | None]:
        before, proved = search.distance, prove(search)
        distances.append((before, search.distance))
        return proved

    monkeypatch.setattr(networks_proof, "prove", noted)
    for seed, spec in itertools.product((0, 1, 2, 4), ("l1", "linf")):
        question = drawn((), seed, spec, step="0.001")
        reply = NetworkOracle(question).ask(None, Limits(), gap=Gap(Fraction(1, 4)))
        assert isinstance(reply, Found)
        assert question.distance_of(reply.point) == distances[-1][1]
        assert check(certificate(question, reply.lower, reply.point, reply.proof).data).accepted
    assert any(after < before for before, after in distances)


def test_same_optimum_where_bounds_are_tightened_as_soon_as_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks_search, "STALLED", 1)
    for seed in (134, 502, 612, 789, 908, 1009, 1108, 1141, 1214):
        agree(random_question(seed, "network"))


@pytest.mark.parametrize("seed", [2, 5])
def test_tightened_bounds_make_proofs_short(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    lengths = []
    for stalled in (1, 10**9):
        monkeypatch.setattr(networks_search, "STALLED", stalled)
        question = drawn((10, 10), seed, "l1")
        reply = NetworkOracle(question).ask(None, Limits.of(600.0))
        assert isinstance(reply, Found) and reply.proof is not None and reply.lower is not None
        assert question.distance_of(reply.point) - reply.lower <= 2 * CLOSE
        verdict = check(certificate(question, reply.lower, reply.point, reply.proof).data)
        assert verdict.accepted, verdict
        assert ("tighten" in verdict.fired) == (stalled == 1)
        lengths.append(verdict.fired["dual"])
    assert lengths[0] < lengths[1]


@pytest.mark.parametrize("seed", [4, 7, 10])
def test_of_few_points_features_are_halved_before_units_are_fixed(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    question, replies = drawn((14, 14), seed, "l1", "2"), []
    for points_a_unit in (0, branch.POINTS):
        monkeypatch.setattr(branch, "POINTS", points_a_unit)
        reply = NetworkOracle(question).ask(None, Limits())
        assert isinstance(reply, Found) and reply.proof is not None
        assert check(certificate(question, reply.lower, reply.point, reply.proof).data).accepted
        replies.append((question.distance_of(reply.point), reply.lower, len(reply.proof)))
    assert replies[0][:2] == replies[1][:2] and replies[0][0] == replies[0][1]
    assert replies[1][2] < replies[0][2] / 2


def drawn(layers: tuple[int, ...], seed: int, spec: str, step: str | None = None, *, levels: bool = True) -> Question:
    """A question over four real features, on the float64 grid without a step, and perhaps a categorical one."""
    rng = np.random.default_rng(seed)
    features = [Feature(f"x{k}", "real", -3, 3, step=step) for k in range(4)]
    space = Space([*features, Feature("c", "categorical", levels=["a", "b", "c"])] if levels else features)
    inputs = width = len(space.columns)
    made: list[Layer] = []
    for size in (*layers, 1):
        made.append(Layer(rng.normal(size=(width, size)), rng.normal(size=size), "relu"))
        width = size
    made[-1] = replace(made[-1], activation="identity")
    model = Network(tuple(made), inputs, "sigmoid", (0, 1))
    row = {f"x{k}": float(np.clip(rng.normal(), -3, 3)) for k in range(4)} | ({"c": "b"} if levels else {})
    axes = space.axes(row)
    start = tuple(axis.start for axis in axes)
    probe = Question(space, axes, model, Goal("", frozenset([1]), decision_for(model, {1})), norm(spec, len(axes)))
    goal = 0 if probe.has_goal(start) else 1
    return replace(probe, goal=Goal("", frozenset([goal]), decision_for(model, {goal})))


def test_hidden_units_beyond_the_doubles_that_ends_are_kept_in_are_not_taken() -> None:
    question = drawn((4,), 0, "l1")
    assert isinstance(question.model, Network) and NetworkOracle.accepts(question) is None
    first, last = question.model.layers
    for size, taken in ((1e200, True), (1e300, False)):
        layers = (replace(first, weights=first.weights * size), replace(last, weights=last.weights / size))
        huge = replace(question, model=replace(question.model, layers=layers))
        assert (NetworkOracle.accepts(huge) is None) == taken


def of_whole_weights(seed: int) -> Question:
    """A question about a network with whole weights: many units reach as far below 0 as above it."""
    rng = np.random.default_rng(seed)
    space = Space([Feature(f"x{k}", "integer", -4, 4) for k in range(2)])
    made, width = list[Layer](), 2
    for size in (4, 4, 3, 1):
        made.append(Layer(rng.integers(-2, 3, (width, size)).astype(float), np.zeros(size), "relu"))
        width = size
    made[-1] = replace(made[-1], activation="identity", bias=np.array([-5.5]))
    model = Network(tuple(made), 2, "sigmoid", (0, 1))
    axes = space.axes({f"x{k}": float(rng.integers(-1, 2)) for k in range(2)})
    return Question(space, axes, model, Goal("", frozenset([1]), decision_for(model, {1})), norm("l1", 2))


def test_of_a_unit_that_reaches_as_far_below_0_as_above_it_a_certificate_says_the_line() -> None:
    needed = 0
    for seed in (63, 243, 301, 303, 352, 398):
        question = of_whole_weights(seed)
        reply = NetworkOracle(question).ask(None, Limits.of(600.0))
        assert isinstance(reply, (Found, Refuted))
        assert reply.proof is not None
        lower, point = (reply.lower, reply.point) if isinstance(reply, Found) else (None, None)
        data = certificate(question, lower, point, reply.proof).data
        verdict = check(data)
        assert verdict.accepted, (seed, verdict)
        unsaid = [
            ["bounds", *(entry[:4] for entry in node[1:])] if node[0] == "bounds" else node for node in data["proof"]
        ]
        needed += not check({**data, "proof": unsaid}).accepted
    assert needed  # or these networks say nothing


@pytest.mark.parametrize("spec", ["l0", "l1", "linf"])
@pytest.mark.parametrize("layers", [(), (6,), (6, 5), pytest.param((5, 4, 4), marks=pytest.mark.slow)])
def test_on_floats_the_gap_closes_and_nothing_nearer_is_found_by_sampling(layers: tuple[int, ...], spec: str) -> None:
    for seed in range(4):
        question = drawn(layers, seed, spec, levels=seed > 1)
        reply = NetworkOracle(question).ask(None, Limits.of(600.0))
        assert isinstance(reply, (Found, Refuted))
        lower = reply.lower if isinstance(reply, Found) else None
        point = reply.point if isinstance(reply, Found) else None
        assert reply.proof is not None
        assert check(certificate(question, lower, point, reply.proof).data).accepted
        if point is None:
            continue
        assert question.has_goal(point)
        assert lower is not None
        assert question.distance_of(point) - lower <= CLOSE
        rng = np.random.default_rng(seed)
        for _ in range(300):
            shrunk = tuple(
                axis.grid.floor(axis.start_value + (axis.value(i) - axis.start_value) * Fraction(rng.random()))
                if hasattr(axis, "grid")
                else i
                for axis, i in zip(question.axes, point, strict=True)
            )
            assert question.distance_of(shrunk) >= lower or not question.has_goal(shrunk)


def counted(spec: str, hidden: int, goals: int = 2) -> Question:
    """Twenty numbers from 0 to 10, all 0, and a level: which of some sums is largest, of as many numbers each."""
    rng = np.random.default_rng(hidden)
    space = Space([
        *(Feature(f"x{k}", "integer", 0, 10) for k in range(20)), Feature("o", "ordinal", levels=list("abcde"))
    ])  # fmt: skip
    ups = np.zeros((21, goals))
    for k in range(20):
        ups[k, k % goals] = 1.0
    ups[20, goals - 1] = 1.0
    layers = [Layer(np.hstack([ups, -ups, rng.normal(size=(21, hidden)) / 9]), np.zeros(2 * goals + hidden), "relu")]
    back = np.vstack([np.eye(goals), -np.eye(goals), rng.normal(size=(hidden, goals)) / 9])
    layers.append(Layer(back, np.array([31.5, *[0.0] * (goals - 1)]), "identity"))
    model = Network(tuple(layers), 21, "softmax", tuple(range(goals)))
    axes = space.axes({f"x{k}": 0 for k in range(20)} | {"o": "a"})
    last = goals - 1
    return Question(space, axes, model, Goal("", frozenset([last]), decision_for(model, {last})), norm(spec, 21))


@pytest.mark.parametrize("goals", [2, 4])
def test_where_the_largest_change_alone_counts_all_features_move_together(goals: int) -> None:
    question = counted("linf", 0, goals)
    few = sum(1 for k in range(20) if k % goals == goals - 1)
    search = Search(Witnesses(question), Gap(), Limits(), None, False)
    search.begin()
    one_by_one = search.distance
    in_balls(search, Deadline.after(None))
    least = next(k for k in range(11) if few * k + min(k * 4 // 10, 4) > 31.5)  # a level is a quarter of its range
    assert search.distance == Fraction(least, 10) < one_by_one
    reply = NetworkOracle(question).ask(None, Limits())
    assert isinstance(reply, Found) and reply.lower == Fraction(least, 10) and reply.proof is not None
    assert check(certificate(question, reply.lower, reply.point, reply.proof).data).accepted


def many_features(count: int) -> Question:
    """A linear model over so many real features, of which all move together to what is nearest under linf."""
    rng = np.random.default_rng(0)
    space = Space([Feature(f"x{k}", "real", -4.0, 4.0) for k in range(count)])
    layer = Layer(rng.normal(size=(count, 1)), np.array([-6.0]), "identity")
    model = Network((layer,), count, "positive", (0, 1))
    axes = space.axes(dict(zip(space.names, rng.normal(size=count) / 100, strict=True)))
    return Question(space, axes, model, Goal("1", frozenset([1]), decision_for(model, {1})), norm("linf", count))


def test_what_is_nearest_under_linf_takes_a_pivot_a_feature() -> None:
    """After 500 pivots none was known, and the answer was a hundred times as far as the bound."""
    reply = NetworkOracle(many_features(600)).ask(None, Limits())
    assert isinstance(reply, Found) and reply.lower is not None
    assert nearly(many_features(600).distance_of(reply.point), reply.lower)


def nearly(one: Fraction, other: Fraction) -> bool:
    return abs(one - other) <= other / 10**6


def test_an_interpreted_relaxation_ends_with_the_time_limit_and_shows_what_it_does_without_pivots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compiled, "_interpreting", compiled._Interpreting())
    monkeypatch.setattr(compiled._interpreting, "patience", 1e9)
    monkeypatch.setattr(compiled._interpreting, "reading", 1e9)
    monkeypatch.setattr(points, "relax", compiled.compiled(points.relax.py_func))  # type: ignore[attr-defined]
    search = Search(Witnesses(many_features(4)), Gap(), Limits(), None, False)
    node, part = search.first_node(), search.numbers.parts[0]
    whole = search.solve(node, part)
    monkeypatch.setattr(search, "affordable", lambda node: MOST_PIVOTS)
    search.deadline = Deadline.after(0.0)
    cut_off = search.solve(node, part)
    assert cut_off.status == STUCK and cut_off.bound <= 0.0 < whole.bound


def test_a_large_model_is_read_in_the_time_that_is_kept_for_its_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network of 784 inputs proved .94 of a distance; the checker needed a second more, and .50 was returned."""
    question = about_layers()
    small = Search(Witnesses(question), Gap(), Limits(), None, False)
    assert small.read_in(0.5) == networks_search.READING * 0.5
    assert isinstance(question.model, Network)
    weights = sum(layer.weights.size for layer in question.model.layers)
    monkeypatch.setattr(networks_search, "LARGE", weights - 1)
    large = Search(Witnesses(question), Gap(), Limits(), None, False)
    assert large.read_in(0.5) == pytest.approx(small.read_in(0.5) + 2 * weights * networks_search.MODEL)


@pytest.mark.parametrize(("spec", "nodes"), [("l1", 1), ("linf", 1), ("l0", 1)])
def test_a_bound_between_two_distances_that_points_can_have_is_the_upper_one(spec: str, nodes: int) -> None:
    """No relaxation over twelve integers comes to a distance itself, and all branching would be for the last unit."""
    rng = np.random.default_rng(5)
    space = Space([Feature(f"x{k}", "integer", 0, 16) for k in range(12)])
    weights = np.column_stack([rng.normal(size=(12, 1)), np.zeros(12)])
    start = rng.integers(0, 17, 12)
    bias = np.array([-float(start @ weights[:, 0]) - 9.3, 0.0])
    model = Network((Layer(weights, bias, "identity"),), 12, "argmax", (0, 1))
    axes = space.axes({f"x{k}": int(start[k]) for k in range(12)})
    question = Question(space, axes, model, Goal("", frozenset([0]), decision_for(model, {0})), norm(spec, 12))
    reply = NetworkOracle(question).ask(None, Limits())
    assert isinstance(reply, Found) and reply.lower == question.distance_of(reply.point)
    assert reply.proof is not None and len(reply.proof) <= nodes
    assert check(certificate(question, reply.lower, reply.point, reply.proof).data).accepted
    # Whether something is nearer was asked as if distances were any numbers: it took all the time there was.
    search = Search(Witnesses(question), Gap(), Limits(), reply.lower, True)
    assert search.run() and search.best is None and search.count <= nodes
    refuted = NetworkOracle(question).ask(reply.lower, Limits(), strict=True)
    assert isinstance(refuted, Refuted) and refuted.proof is not None and len(refuted.proof) <= nodes
    assert check(certificate(question, reply.lower, None, refuted.proof).data).accepted
    assert isinstance(NetworkOracle(question).ask(reply.lower, Limits()), Found)


def of_few(spec: str, most: int, margin: float) -> Question:
    """A linear model of twenty real features, of which so many may change; the start misses the goal by a margin."""
    rng = np.random.default_rng(7)
    space = Space([Feature(f"x{k}", "real", 0, 1) for k in range(20)])
    weights = np.column_stack([rng.normal(size=(20, 1)), np.zeros(20)])
    start = rng.random(20)
    bias = np.array([-float(start @ weights[:, 0]) - margin, 0.0])
    model = Network((Layer(weights, bias, "identity"),), 20, "argmax", (0, 1))
    axes = space.axes({f"x{k}": float(start[k]) for k in range(20)})
    goal = Goal("", frozenset([0]), decision_for(model, {0}))
    return replace(Question(space, axes, model, goal, norm(spec, 20)), most_changes=most)


@pytest.mark.parametrize(("spec", "most", "margin"), [("linf", 2, 1.8), ("l1", 3, 2.5), ("linf", 3, 2.2)])
def test_few_changes_are_counted_by_a_multiplier(spec: str, most: int, margin: float) -> None:
    """All subsets of twenty features that may change would be a tree of hundreds of boxes."""
    question = of_few(spec, most, margin)
    reply = NetworkOracle(question).ask(None, Limits())
    assert isinstance(reply, Found) and reply.proof is not None and len(reply.proof) <= 3
    assert len(question.changed(reply.point)) <= most
    assert question.distance_of(reply.point) - reply.lower <= CLOSE
    made = certificate(question, reply.lower, reply.point, reply.proof)
    assert '"changes"' in json.dumps(made.data["proof"]) and made.check().accepted


def test_that_so_few_changes_never_suffice_is_proved_by_one_node() -> None:
    question = of_few("l1", 2, 4.0)
    reply = NetworkOracle(question).ask(None, Limits())
    assert isinstance(reply, Refuted) and reply.proof is not None and len(reply.proof) == 1
    assert certificate(question, None, None, reply.proof).check().accepted


@pytest.mark.parametrize("kind", ["linear", "network"])
@pytest.mark.parametrize("most", [0, 1, 2])
def test_few_changes_agree_with_enumeration(kind: str, most: int) -> None:
    for seed in range(20):
        question = replace(random_question(seed, kind), most_changes=most)
        if NetworkOracle.accepts(question) is None:
            agree(question)


def test_nothing_but_the_start_has_changed_less_than_one_feature() -> None:
    question = counted("l0", 3)
    far = replace(question, model=replace(question.model, layers=tuple(
        replace(layer, bias=np.array([5.5, 0.0])) if layer.activation == "identity" else layer
        for layer in question.model.layers
    )))  # fmt: skip
    reply = NetworkOracle(far).ask(None, Limits())
    assert isinstance(reply, Found) and reply.lower == Fraction(1, 21) == far.distance_of(reply.point)
    assert reply.proof is not None and len(reply.proof) == 1  # every box that is nearer holds the start alone


def test_a_ball_that_the_root_shows_to_be_empty_is_a_bound_however_soon_the_limit_comes() -> None:
    question = counted("linf", 8)
    search = Search(Witnesses(question), Gap(), Limits(), None, False)
    search.begin()
    search.first_horizon()
    assert search.shown.lower > 0
    lower, written = networks_proof.prove_bound(search, search.shown.lower)
    assert lower > 0 and written is not None
    assert check(certificate(question, lower, None, written).data).accepted
    best = NetworkOracle(question).ask(None, Limits())
    assert isinstance(best, Found) and lower <= question.distance_of(best.point)


@pytest.mark.parametrize("seconds", [1, 2, 4, 8])
def test_the_first_ball_is_looked_for_no_longer_than_there_is_time_for(
    seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large network one relaxation may take a second, as each does here."""
    clock, solve = Hand(), Search.solve

    def slow(self: Search, *given: Any, **more: Any) -> Relaxed:
        clock.now += 1
        return solve(self, *given, **more)

    for seed in range(12):
        question = random_question(seed, "network", extras=False)
        oracle = NetworkOracle(question)
        best = oracle.ask(None, Limits())
        if not isinstance(best, Found) or best.point == question.start:
            continue
        with monkeypatch.context() as patch:
            patch.setattr(Search, "solve", slow)
            began = clock.now
            reply = NetworkOracle(question).ask(None, Limits(Deadline.after(seconds, clock)), best=best.point)
        assert clock.now - began <= seconds + 2 * len(question.goal.decision)
        assert isinstance(reply, Found) and reply.lower is not None and reply.lower <= question.distance_of(best.point)
        if reply.proof is not None:
            assert certificate(question, reply.lower, reply.point, reply.proof).check().accepted


def test_a_linear_region_is_searched_again_once_the_ball_holds_what_is_nearest_there() -> None:
    question = drawn((6, 5), 3, "linf", levels=False)
    best = NetworkOracle(question).ask(None, Limits())
    assert isinstance(best, Found)
    distance = question.distance_of(best.point)
    search = Search(Witnesses(question), Gap(), Limits(), None, False)
    for part in (2, 4):
        search.horizon = distance / part
        search.polish(best.point)
        assert search.best is None
    search.horizon = search.widest
    search.polish(best.point)
    assert search.best is not None and search.distance <= distance + CLOSE


@pytest.mark.parametrize("spec", ["l0", "l1", "linf"])
def test_a_side_that_is_tried_in_its_nodes_tableau_promises_no_more_than_its_own_relaxation(spec: str) -> None:
    gained = 0
    for seed in range(8):
        search = Search(Witnesses(drawn((8, 8), seed, spec)), Gap(), Limits(), None, False)
        search.begin()
        node = search.first_node()
        search.look(node)
        low, high, _ = node.units
        phases = [Phase(*map(int, place)) for place in np.argwhere((low < 0) & (high > 0))]
        if node.closed or not phases:
            continue
        for phase, sides in zip(phases, search.trials(node, phases), strict=True):
            for side, promised in enumerate(sides):
                child = search.child(node, phase, side)
                search.relaxed(child)  # with the bounds of its parent's units, as in the tableau
                assert node.bound - 1e-6 <= promised <= max(child.bound, node.bound) + 1e-6
                gained += promised > node.bound + 1e-6
    assert gained > 10


def begun(clock: Hand) -> Search:
    """A search with a limit of 80 seconds that has shown a first ball to be empty, and has one node to go on with."""
    search = Search(Witnesses(counted("linf", 8)), Gap(), Limits(Deadline.after(80.0, clock)), None, False)
    search.keep = networks_proof.keep
    search.pace = lambda: 1.0
    search.begin()
    search.horizon = search.first_horizon()
    search.root = search.first_node()
    search.look(search.root)
    search.push(search.root)
    return search


def test_a_search_goes_on_while_what_it_has_shown_is_read_in_far_less_than_is_left() -> None:
    clock = Hand()
    search = begun(clock)
    clock.now += 40.0
    assert search.searching.over and search.goes_on()
    assert search.kept.proof is not None and search.kept.lower >= search.claim(search.shown.lower) > 0
    assert not search.searching.over and search.searching.left() == 20.0
    search.writing = 11 / networks_search.READING  # read in 11 s
    clock.now += 20.0
    assert not search.goes_on() and "of which 20 s are kept" in search.why
    search.writing, search.pace = 0.0, lambda: 3.0  # a tenth of the limit, three times
    assert not search.goes_on()
    search.pace = lambda: 1.0
    assert search.goes_on()
    clock.now += 13.0
    assert not search.goes_on() and search.why == "time limit (80 s)"  # less than a tenth of the limit is left


def test_a_proof_that_would_not_be_read_in_time_does_not_take_the_place_of_one_that_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Hand()
    search = begun(clock)
    write, seconds = networks_proof.write, iter([3.0])

    def slowly(*given: object, **more: object) -> Proof:
        clock.now += next(seconds, 5.0)
        return write(*given, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(networks_proof, "write", slowly)
    monkeypatch.setattr(networks_proof, "now", clock)
    first = search.shown
    search.shown = first._replace(lower=first.lower / 2)
    networks_proof.keep(search)
    little = search.kept
    search.shown = first
    clock.now += 27.0
    networks_proof.keep(search)  # it would be read in 60 s, of the 45 that are left
    assert little.proof is not None and search.kept is little
    assert networks_proof.prove_bound(search, first.lower) == little


def test_a_relaxation_that_is_cut_off_proves_what_it_was_cut_off_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks_search, "STALLED", 1)
    search = Search(Witnesses(drawn((6, 5), 1, "l1")), Gap(), Limits(), None, False)
    solve, cut_off = search.solve, list[tuple[float, float]]()

    def noted(node: Node, part: Part, than: Array | None = None, **more: Any) -> Relaxed:
        found = solve(node, part, than, **more)
        if than is None and found.status == CUTOFF:
            cut_off.append((found.bound, search.target))
        return found

    monkeypatch.setattr(search, "solve", noted)
    assert search.run()
    assert cut_off
    for bound, target in cut_off:
        assert bound > target - 1e-6


def test_where_the_first_point_is_far_the_last_ball_is_as_large_as_the_distance_of_the_nearest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    question = drawn((6, 5), 4, "l1")
    nearest_one = NetworkOracle(question).ask(None, Limits())
    assert isinstance(nearest_one, Found)
    axes, rng = question.axes, np.random.default_rng(0)
    points = (
        tuple(int(rng.choice([a.lower, a.upper])) if isinstance(a, GridAxis) else a.start for a in axes)
        for _ in range(1000)
    )
    far = max((point for point in points if question.has_goal(point)), key=question.distance_of)
    distance = question.distance_of(nearest_one.point)
    assert question.distance_of(far) > 8 * distance
    balls, run = list[Fraction](), Search._in_ball

    def noted(search: Search, most: int | None = None) -> bool:
        balls.append(search.horizon)
        return run(search, most)

    monkeypatch.setattr(Search, "_in_ball", noted)
    found = NetworkOracle(question).ask(None, Limits(), best=far)
    assert isinstance(found, Found)
    assert question.distance_of(found.point) - distance <= CLOSE
    assert balls == sorted(balls)
    assert balls[-1] <= 4 * distance


@pytest.mark.parametrize(("seconds", "times"), [(10.0, 2), (40.0, 1)])
def test_a_search_that_took_more_than_half_of_the_time_leaves_the_rest_to_its_proof(
    monkeypatch: pytest.MonkeyPatch, seconds: float, times: int
) -> None:
    question, clock, asked = drawn((6, 5), 4, "l1"), Hand(), list[Fraction]()
    in_unit = NetworkOracle._in_unit

    def slow(oracle: NetworkOracle, unit: Fraction, *given: Any) -> Any:
        asked.append(unit)
        reply = in_unit(oracle, unit, *given)
        clock.now += seconds
        return reply

    monkeypatch.setattr(NetworkOracle, "_in_unit", slow)
    # No search in floats meets such a gap, so that it is asked again in a unit of about the distance found.
    gap = Gap(Fraction(1, 10**15))
    found = NetworkOracle(question).ask(None, Limits(Deadline.after(60, clock)), gap=gap)
    assert isinstance(found, Found) and found.lower is not None
    assert len(asked) == times


def test_where_a_kept_proof_takes_the_time_that_is_left_nothing_more_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    question = drawn((6, 5), 4, "l1")
    oracle = NetworkOracle(question)
    limits = Limits(Deadline.after(30, Hand()))
    search = Search(oracle.witnesses, Gap(), limits, None, strict=False)
    search.begin()
    search.root = search.first_node()
    search.kept, search.writing = ProvedBound(Fraction(1, 1000), [Leaf("distance")]), 1.0
    monkeypatch.setattr(networks_proof, "write", lambda *_, **__: pytest.fail("there is no time for it"))
    assert networks_proof.prove_bound(search, Fraction(1, 100)) == (search.kept.lower, search.kept.proof)


@pytest.mark.parametrize("norm", ["l1", "linf"])
def test_smaller_balls_show_more_and_leave_the_last_one_as_it_was(monkeypatch: pytest.MonkeyPatch, norm: str) -> None:
    question = drawn((8, 8), 2, norm)
    plain = NetworkOracle(question).ask(None, Limits.of(600.0))
    assert isinstance(plain, Found)
    between, shown = Search.between, list[bool]()

    def noted(search: Search, most: int) -> None:
        before = search.root, [*search.heap], search.horizon, search.shown.lower
        between(search, most)
        assert (search.root, search.heap, search.horizon) == before[:3]
        assert search.shown.lower <= question.distance_of(plain.point) + CLOSE
        shown.append(search.shown.lower > before[3])

    monkeypatch.setattr(networks_search, "LAST", 1)
    monkeypatch.setattr(networks_search, "BETWEEN", 20)
    monkeypatch.setattr(Search, "between", noted)
    found = NetworkOracle(question).ask(None, Limits.of(600.0))
    assert isinstance(found, Found) and found.lower is not None
    assert question.distance_of(found.point) - question.distance_of(plain.point) <= CLOSE
    assert question.distance_of(found.point) - found.lower <= CLOSE
    assert any(shown)
    assert check(certificate(question, found.lower, found.point, found.proof).data).accepted


def test_a_radius_below_the_optimum_is_refuted_and_one_above_is_not() -> None:
    question = drawn((6,), 0, "l1")
    reply = NetworkOracle(question).ask(None, Limits.of(600.0))
    assert isinstance(reply, Found)
    distance = question.distance_of(reply.point)
    below, above = distance * Fraction(99, 100), distance * Fraction(101, 100)
    refuted = NetworkOracle(question).ask(below, Limits.of(600.0))
    assert isinstance(refuted, Refuted)
    assert refuted.proof is not None
    assert check(certificate(question, below, None, refuted.proof).data).accepted
    assert isinstance(NetworkOracle(question).ask(above, Limits.of(600.0)), Found)


def test_a_point_in_doubt_at_the_radius_itself_is_not_refuted() -> None:
    """What is proved is that nothing is nearer."""
    space = Space([Feature("a", "integer", 0, 4), Feature("b", "integer", 0, 4)])
    third = Layer(np.array([[1 / 3], [1 / 7]]), np.array([-3 * (1 / 3) - 2 * (1 / 7)]), "identity")
    model = Network((third,), 2, "positive", (0, 1))
    goal = Goal("1", frozenset({1}), decision_for(model, {1}))
    for row, radius in (({"a": 3, "b": 2}, 0), ({"a": 2, "b": 2}, Fraction(1, 8))):
        question = Question(space, space.axes(row), model, goal, norm("l1", 2))
        assert question.has_goal((3, 2)) is None
        reply = NetworkOracle(question).ask(Fraction(radius), Limits())
        assert isinstance(reply, Unknown) and reply.lower == radius
        assert isinstance(NetworkOracle(question).ask(Fraction(radius), Limits(), strict=True), Refuted)


def test_a_point_that_the_deployed_model_refuses_is_excluded() -> None:
    question = random_question(3, "network", extras=False)
    first = NetworkOracle(question).ask(None, Limits.of(600.0))
    assert isinstance(first, Found)
    oracle = NetworkOracle(question)
    second = oracle.ask(None, Limits.of(600.0), replay=Replay(lambda point: point != first.point))
    assert AvoidPoint(first.point) in oracle.refused
    assert isinstance(second, Found)
    assert second.point != first.point
    assert second.lower is not None and second.proof is not None
    assert check(certificate(oracle.question, second.lower, second.point, second.proof).data).accepted


def test_a_point_is_refused_once_however_its_units_are_fixed() -> None:
    layers = (
        Layer(np.array([[-1.0]]), np.array([-0.5]), "relu"),
        Layer(np.array([[1.0, 1.0]]), np.array([-0.5, 0.0]), "relu"),
        Layer(np.array([[0.0], [-1.0]]), np.array([0.0]), "identity"),
    )
    model = Network(layers, 1, "sigmoid", (0, 1))
    space = Space([Feature("x", "integer", -1, 2)])
    question = Question(
        space, space.axes({"x": -1}), model, Goal("", frozenset([1]), decision_for(model, {1})), norm("l1", 1)
    )
    oracle = NetworkOracle(question)
    reply = oracle.ask(None, Limits.of(600.0), replay=Replay(lambda _: False))
    assert isinstance(reply, Refuted) and reply.proof is not None
    assert len(oracle.refused) == len(set(oracle.refused)) > 0
    assert check(certificate(oracle.question, None, None, reply.proof).data).accepted


def test_a_first_point_is_looked_for_no_longer_than_there_is_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a wide network with many features it may take a second to try a part of all moves, as it does here."""
    clock, margins = Hand(), start.margins

    def slow(frame: Any, x: Any) -> Any:
        clock.now += 1
        return margins(frame, x)

    monkeypatch.setattr(start, "margins", slow)
    monkeypatch.setattr(start, "AT_ONCE", 1)
    reply = NetworkOracle(drawn((6, 5), 1, "l1")).ask(None, Limits(Deadline.after(10, clock)))
    assert isinstance(reply, (Found, Unknown))
    assert 105 <= clock.now <= 112


def test_of_a_wide_network_no_more_pivots_are_made_than_there_is_time_for(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, question = Hand(), drawn((6, 5), 1, "l1")
    search = Search(Witnesses(question), Gap(), Limits(Deadline.after(10, clock)), None, False)
    node = search.first_node()
    assert search.affordable(node) == MOST_PIVOTS
    monkeypatch.setattr(search, "_ample", math.inf)
    assert search.affordable(node) == MOST_PIVOTS  # one of a small network takes microseconds
    monkeypatch.setattr(search, "cells", lambda _: 10**9)
    assert search.affordable(node) == 5
    clock.now += 5
    assert search.affordable(node) == 5  # the search is over, and the proof is written
    clock.now += 5
    assert search.affordable(node) == 0
    assert search.solve(node, search.numbers.parts[0]).bound < search.target


def test_importing_the_oracle_loads_no_compiler_and_no_solver() -> None:
    code = "import sys, mace.solve.networks.prover; assert not {'numba', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_limit_that_is_reached_leaves_a_proved_bound() -> None:
    question = drawn((6, 5), 1, "l1")
    reply = NetworkOracle(question).ask(None, Limits.of(0.0))
    assert isinstance(reply, (Found, Unknown))
    best = NetworkOracle(question).ask(None, Limits.of(600.0))
    assert isinstance(best, Found)
    assert (reply.lower or 0) <= question.distance_of(best.point)


@pytest.mark.parametrize("share", [None, -1.0])
def test_the_time_limit_holds_for_the_proof_and_what_was_not_proved_in_time_is_not_claimed(
    share: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = drawn((6, 5), 1, "l1")
    whole = NetworkOracle(question).ask(None, Limits.of(600.0))
    assert isinstance(whole, Found)
    distance = question.distance_of(whole.point)
    if share is None:  # no time at all is left when the search has ended
        run = Search.run

        def late(search: Search) -> bool:
            ended, search.deadline = run(search), Deadline(60.0, end=-math.inf)
            return ended

        monkeypatch.setattr(Search, "run", late)
    else:  # too little for the whole proof, enough for one of a smaller distance
        monkeypatch.setattr(networks_proof, "WHOLE", share)
    bracket = bracket_optimum(question, NetworkOracle(question), question.has_goal, gap=Gap(), limits=Limits.of(600.0))
    assert (bracket.status, bracket.upper) == ("bounded", distance)
    assert "before the proof was written" in bracket.why
    if share is None:
        assert (bracket.lower, bracket.proof) == (0, None)
        return
    assert distance / 5 < bracket.lower < distance
    assert bracket.proof is not None
    assert check(certificate(question, bracket.lower, bracket.point, bracket.proof).data).accepted


def test_a_bound_that_was_reached_before_the_limit_is_kept_with_its_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    question = drawn((8, 8), 2, "l1")
    best = NetworkOracle(question).ask(None, Limits.of(600.0))
    assert isinstance(best, Found)
    clock, expand, counted = Hand(), Search.expand, [0]
    monkeypatch.setattr(networks_search, "FIRST_KEPT", 2)

    def until(search: Search, node: Node) -> None:
        expand(search, node)
        counted[0] += 1
        clock.now += 1e6 if counted[0] == 4 else 7.0  # after the fourth nothing is left, for a proof neither

    monkeypatch.setattr(Search, "expand", until)
    reply = NetworkOracle(question).ask(None, Limits(Deadline.after(60, clock)))
    assert counted[0] == 4
    assert isinstance(reply, Found)
    assert reply.lower is not None
    assert 0 < reply.lower < question.distance_of(best.point)
    assert reply.proof is not None
    assert check(certificate(question, reply.lower, reply.point, reply.proof).data).accepted


def test_beside_a_long_proof_there_is_that_of_the_last_ball(monkeypatch: pytest.MonkeyPatch) -> None:
    question = drawn((8, 8), 2, "l1")
    monkeypatch.setattr(networks_proof, "LONG", -1.0)
    whole = NetworkOracle(question).ask(None, Limits.of(600.0))
    assert isinstance(whole, Found) and whole.lower is not None
    assert whole.spare is not None and whole.spare.proof is not None and 0 < whole.spare.lower < whole.lower
    assert check(certificate(question, whole.spare.lower, whole.point, whole.spare.proof).data).accepted


def test_where_a_proof_may_not_be_read_in_time_a_smaller_one_is_read_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    question, said, asked = drawn((8, 8), 2, "l1"), recheck.objection, list[bool]()
    monkeypatch.setattr(networks_search, "READING", 1e9)
    monkeypatch.setattr(networks_search, "STALLED", 1)
    whole = bracket_optimum(question, NetworkOracle(question), question.has_goal, gap=Gap(), limits=Limits.of(600.0))
    assert whole.spare is not None and 0 < whole.spare.lower < whole.lower

    def late(*given: Any) -> str:
        asked.append(True)
        if len(asked) == 2:
            raise TimeOverError("time limit (600 s)")
        return said(*given)

    monkeypatch.setattr(recheck, "objection", late)
    assert recheck.recheck(whole, question)
    assert (whole.lower, whole.proof, whole.status) == (*whole.spare, "bounded")
    assert check(certificate(question, whole.lower, whole.point, whole.spare.proof).data).accepted


def test_without_time_for_the_proof_nothing_is_said_to_be_infeasible(monkeypatch: pytest.MonkeyPatch) -> None:
    question = next(q for q in (random_question(s, "network") for s in range(50)) if nearest(q) is None)
    monkeypatch.setattr(networks_proof, "WHOLE", -1.0)
    reply = NetworkOracle(question).ask(None, Limits.of(600.0))
    assert isinstance(reply, Unknown)
    assert "before the proof was written" in reply.why


def test_a_proof_at_the_distance_itself_that_is_too_long_or_too_late_leaves_the_usual_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    question = next(q for q in (random_question(s, "network") for s in range(100)) if (b := nearest(q)) and b[0] > 0)
    distance = question.distance_of(nearest(question)[1])  # type: ignore[index]

    def refuse(search: Search, q: Fraction | None, until: Deadline, most: int = 10**6, *, grow: bool = True) -> Proof:
        if search.exactly:
            search.settled = 0.0
            raise networks_proof.UnprovedError
        return write(search, q, until, most, grow=grow)

    write = networks_proof.write
    monkeypatch.setattr(networks_proof, "write", refuse)
    reply = NetworkOracle(question).ask(None, Limits.of(600.0))
    assert isinstance(reply, Found)
    assert reply.lower is not None
    assert 0 < distance - reply.lower <= CLOSE
    assert reply.proof is not None
    assert check(certificate(question, reply.lower, reply.point, reply.proof).data).accepted
    farther = certificate(question, distance + CLOSE, None, reply.proof)
    assert not check(farther.data).accepted


def test_bounds_of_hidden_units_hold_where_large_weights_cancel() -> None:
    # Of two units that are nearly the same, the second layer takes the difference: doubles ended beside the exact sums,
    # so that a proof that no checker had read rested on bounds that did not hold.
    for seed in (1, 2, 6):
        rng = np.random.default_rng(seed)
        first, second = (rng.normal(size=shape) * 10.0 ** rng.integers(-3, 6, shape) for shape in ((3, 4), (4, 4)))
        shift = rng.normal(size=4) * 10.0 ** rng.integers(-3, 6, 4)
        first[:, 1], shift[1], second[1] = first[:, 0], shift[0] * (1 + 1e-12), -second[0] * (1 + 1e-13)
        layers = (
            Layer(first, shift, "relu"),
            Layer(second, rng.normal(size=4), "relu"),
            Layer(rng.normal(size=(4, 1)), np.zeros(1), "identity"),
        )
        features = [Feature("x0", "integer", 0, 100_000), *(Feature(f"x{j}", "real", 0.0, 1.0) for j in (1, 2))]
        space = Space(features)
        model = Network(layers, 3, "sigmoid", (0, 1))
        axes = space.axes({"x0": int(rng.integers(0, 100_000)), "x1": 0.25, "x2": 0.75})
        question = Question(space, axes, model, Goal("", frozenset([1]), decision_for(model, {1})), norm("l1", 3))
        search = Search(Witnesses(question), Gap(), Limits(), None, False)
        node = search.first_node()
        assert search.cut_exactly(node, Fraction(1, 10**7)) and search.derive(node, 1e-7, node.units)
        values = [exact(value) for value in question.row(question.start).tolist()]
        for k, layer in enumerate(layers[:-1]):
            sums = [
                sum((exact(weight) * value for weight, value in zip(column, values, strict=True)), exact(offset))
                for column, offset in zip(layer.weights.T.tolist(), layer.bias.tolist(), strict=True)
            ]
            for unit, value in enumerate(sums):
                assert exact(float(node.units.L[k, unit])) <= value <= exact(float(node.units.U[k, unit]))
            values = [max(value, Fraction(0)) for value in sums]


def test_the_columns_of_a_feature_with_many_levels_are_made_exact_once_a_number(monkeypatch: pytest.MonkeyPatch):
    """With 1,000 levels they are a million numbers, all of them 0 or 1, which took four seconds."""
    levels, asked = 40, list[float]()
    columns = tuple(tuple(float(j == k) for j in range(levels)) for k in range(levels))
    axis = LevelAxis("c", levels, (1 << levels) - 1, 3)
    charge = Charge(Fraction(0), Fraction(1, 2), Fraction(0))

    def counted(value: float) -> Fraction:
        asked.append(value)
        return exact(value)

    monkeypatch.setattr(values, "exact", counted)
    found = values._of_levels(axis, charge, (*columns, None))
    assert sorted(asked) == [0.0, 1.0]
    assert len(found) == levels and found[5].columns[5] == found[5].below and not any(found[5].columns[6:])


def test_between_floats_of_single_precision_nothing_is_looked_for_that_rounding_decides_anyway(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever had a frame of float32 waited fifty times as long, for 500 splits that closed no box."""
    expand, split = Search.expand, list[Node]()

    def noted(self: Search, node: Node) -> None:
        split.append(node)
        expand(self, node)

    monkeypatch.setattr(Search, "expand", noted)
    frame, target = load_breast_cancer(return_X_y=True, as_frame=True)
    frame = frame.iloc[:, :6]
    frame = ((frame - frame.min()) / (frame.max() - frame.min())).astype("float32")
    model = LogisticRegression().fit(frame, target)
    question, _ = Explainer(model, Space.from_frame(frame)).question(frame.iloc[0], 1)
    reply = NetworkOracle(question).ask(None, Limits())
    assert isinstance(reply, Found) and reply.lower is not None
    assert float(reply.lower) >= (1 - 1e-4) * float(question.distance_of(reply.point))
    assert len(split) < 50


def test_values_that_a_rule_takes_only_beside_another_change_are_split_off_first() -> None:
    """Months overdue asked for a history of them, which is dear: every relaxation had a part of a month for nothing."""
    rng = np.random.default_rng(0)
    space = Space(
        [
            Feature("months", "integer", 0, 36),
            Feature("history", "binary"),
            *(Feature(f"bill{k}", "real", 0, 5000, step=10) for k in range(4)),
        ],
        rules=["months >= 1 implies history == 1"],
    )
    rows = np.column_stack([rng.integers(0, 36, 400), rng.integers(0, 2, 400), rng.integers(0, 500, (400, 4)) * 10])
    score = rows[:, 0] / 9 + rows[:, 2:].sum(axis=1) / 4000 + rng.normal(size=400)
    model = make_pipeline(StandardScaler(), MLPClassifier((8, 8), max_iter=200, random_state=0))
    model.fit(pd.DataFrame(rows, columns=space.names), score > np.median(score) + 2)
    row = dict(zip(space.names, [0, 0, 400, 300, 200, 100], strict=True))
    explainer = Explainer(model, space)
    question, _ = explainer.question(row, goal=True)
    search = Search(Witnesses(question), Gap(), Limits(), None, strict=False)
    node = search.first_node()
    search.look(node)
    split = search.branching.edge(node)
    assert split == Split(0, 0)
    none, some = (search.child(node, split, side) for side in (0, 1))
    for child in (none, some):
        search.look(child)
    assert search.branching.edge(none) is None
    further = search.branching.edge(some)
    assert further is None or all(map(bool, halves(some.box[further.axis], further.at)))
    search.begin()  # what gains most for its cost are months alone, which the rule refuses
    assert search.best is not None
    assert question.obeys(search.best)
    answer = explainer.explain(row, goal=True)
    assert answer.status == "optimal"
    assert answer.certificate.check().accepted
