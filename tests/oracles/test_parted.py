"""A search for each part of the goal: against enumeration, against the checker, in turns, and when it is stopped."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.neural_network import MLPClassifier

from mace import Explainer, Space
from mace.base.deadline import NEVER, Deadline
from mace.certify.writer import certificate
from mace.problem.distance import norm
from mace.problem.proof import GoalPart, Leaf, Proof, Split, pieces
from mace.problem.question import Question
from mace.solve import by_parts
from mace.solve.ensembles import prover
from mace.solve.ensembles.arrays import lined, sweeping, walk
from mace.solve.ensembles.arrays.cells import ground
from mace.solve.ensembles.arrays.terms import Bound, Terms
from mace.solve.ensembles.boxes import parted, plain, stalled
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.ensembles.relaxation import branching
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Found, Gap, Hearing, Limits, ProvedBound, Refuted, Replay, Reply, Unknown
from mace.solve.witnesses import Witnesses
from mace.space.axes import GridAxis, Point
from mace.space.feature import Feature
from mace.tables.table import Ensemble
from tests.clocks import Hand, Ticking
from tests.oracles.small_ensembles import bounds, optimum, points_of, random_question
from tests.oracles.test_relaxation import the_answer_is_that_of_enumeration


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Goals are divided before anything is searched, and searches take short turns."""
    monkeypatch.setattr(prover, "PATIENCE", 0)
    monkeypatch.setattr(parted, "MOST", 2.0)
    monkeypatch.setattr(plain, "WALKS", 20)
    monkeypatch.setattr(stalled, "NODES", 1)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 400, 50))
def test_the_answer_by_parts_is_that_of_enumeration(first: int, at_once: None) -> None:
    fired: Counter[str] = Counter()
    for seed in range(first, first + 50):
        fired.update(the_answer_is_that_of_enumeration(random_question(seed)))
    assert fired["part"]


def of_one_score_each(question: Question) -> Question:
    """The same question about trees of which each tells one score alone, as in boosting, and adds a constant to all."""
    model = question.model
    assert isinstance(model, Ensemble)
    trees, outputs = [], len(model.start)
    for number, tree in enumerate(model.trees):
        value = np.full_like(tree.value, 0.1 * (number % 2))
        value[:, number % outputs] = tree.value[:, number % outputs]
        trees.append(replace(tree, value=value))
    return replace(question, model=replace(model, trees=tuple(trees)))


@pytest.mark.parametrize("first", range(0, 240, 40))
def test_so_it_is_where_each_tree_tells_one_class_alone(first: int, at_once: None) -> None:
    """The search for a part makes one leaf of each tree that tells others; a certificate knows all its leaves."""
    fired: Counter[str] = Counter()
    for seed in range(first, first + 40):
        fired.update(the_answer_is_that_of_enumeration(of_one_score_each(random_question(seed))))
    assert fired["part"] and fired["prices"] + fired["cell"]


@pytest.mark.parametrize("seed", range(30))
def test_without_idle_trees_a_part_is_what_it_was(seed: int) -> None:
    made, rng = ground(of_one_score_each(random_question(seed))), np.random.default_rng(seed)
    for part in range(len(made.aim.begin) - 1):
        aimed, forest = made.aimed_at(part, made.forest)
        less = parted.without_idle(forest, aimed.aim)
        assert len(less.roots) == len(forest.roots) and len(less.test) <= len(forest.test)
        for _ in range(20):
            point = made.cells(tuple(int(rng.integers(axis.lower, axis.upper + 1)) if isinstance(axis, GridAxis)
                                     else int(rng.integers(axis.count)) for axis in made.axes))  # fmt: skip
            old, new = (
                np.array([walk.leaf_of(made.ground, one, root, point) for root in one.roots]) for one in (forest, less)
            )
            assert (forest.gain[:, old] == less.gain[:, new]).all()
            assert walk.has_goal(aimed.aim, forest.value, forest.leaf[old]) == walk.has_goal(
                aimed.aim, less.value, less.leaf[new]
            )


@pytest.mark.parametrize(("seed", "error"), [(43, 0.01), (176, 0.01), (36, 0.1), (50, 0.1)])
def test_where_rounding_decides_in_a_small_ball_a_farther_point_is_found(
    seed: int, error: float, at_once: None
) -> None:
    question = random_question(seed)
    question = replace(question, model=replace(question.model, error=error))
    possible, certain = bounds(question)
    assert possible is not None and certain is not None and possible < certain
    the_answer_is_that_of_enumeration(question)


@pytest.mark.slow
def test_where_rules_are_broken_the_answer_by_parts_is_that_of_enumeration(at_once: None) -> None:
    """Regions of rules are searched anew in each turn."""
    for seed in range(100):
        question = random_question(seed)
        possible, certain = bounds(question)
        oracle = EnsembleOracle(question)
        oracle._ruled = True
        reply = oracle.ask(None, Limits())
        assert isinstance(reply, Refuted) == (possible is None)
        assert isinstance(reply, Refuted) or reply.lower == possible
        assert not isinstance(reply, Found) or question.distance_of(reply.point) == certain


def test_what_time_did_not_end_is_not_begun_anew() -> None:
    """A part that rounding left in doubt before regions of rules was searched again and again, without end."""
    leaf: Proof = [Leaf("trees")]
    short = Deadline.after(5.0)
    assert by_parts.stopped(Unknown("time limit (5 s)", Fraction(1), leaf), short)
    assert by_parts.stopped(Found((1,), Fraction(0), leaf, "time limit (5 s), reached before the proof"), short)
    for why in ("", "at the distance 2 rounding decides", "memory limit, reached at 9 nodes"):
        assert not by_parts.stopped(Found((1,), Fraction(0), leaf, why), short)
        assert not by_parts.stopped(Unknown(why, Fraction(0), leaf), NEVER)
    assert not by_parts.stopped(Refuted(leaf), short)


@pytest.mark.slow
def test_what_a_deadline_leaves_is_a_bound_with_a_proof(at_once: None) -> None:
    ended: Counter[str] = Counter()
    for seed in range(60):
        question = random_question(seed)
        possible, _ = bounds(question)
        for ticks in (8, 40):
            reply = EnsembleOracle(question).ask(None, Limits(Deadline.after(ticks, Ticking())))
            if isinstance(reply, Refuted):
                assert possible is None
                continue
            assert possible is None or (reply.lower or 0) <= possible
            if reply.proof is not None:
                verdict = certificate(question, reply.lower, None, reply.proof).check()
                assert verdict.accepted, verdict
                ended.update(verdict.fired)
    assert ended["part"]


def test_boosting_of_many_classes_is_proved_by_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joint cuts for four classes take longer than those for each; the bound is the same."""
    monkeypatch.setattr(prover, "PATIENCE", 0)
    X, y = load_digits(n_class=4, return_X_y=True, as_frame=True)
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X.to_numpy(), y)
    explainer = Explainer(model, Space.from_frame(X))
    answer = explainer.explain(X.iloc[0])
    assert answer.status == "optimal" and answer.proof is not None
    assert [node.number for node in answer.proof if isinstance(node, GoalPart)] == [0, 1, 2]
    assert answer.certificate.check().accepted
    monkeypatch.setattr(parted, "MOST", 0.0)
    assert explainer.explain(X.iloc[0]).exact_distance == answer.exact_distance


def perceptron(seed: int) -> tuple[MLPClassifier, Space, pd.DataFrame]:
    """A network that tells four classes apart, some of which it may never name, on a small grid of whole numbers."""
    rng = np.random.default_rng(seed)
    grid = pd.DataFrame(itertools.product(range(6), range(5), range(3)), columns=["a", "b", "c"])
    labels = np.argmax((grid - [2.5, 2.0, 1.0]).to_numpy() @ rng.normal(size=(3, 4)) + rng.normal(size=4), axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MLPClassifier((5, 4), max_iter=60, random_state=seed).fit(grid.to_numpy(), labels)
    return model, Space([Feature(name, "integer", 0, int(grid[name].max())) for name in grid]), grid


def test_a_network_of_many_classes_is_proved_by_parts() -> None:
    divided = 0
    for seed in range(8):
        model, space, grid = perceptron(seed)
        explainer, named = Explainer(model, space, distance="l1"), model.predict(grid.to_numpy())
        for place in (0, 37, 61):
            answer = explainer.explain(grid.iloc[place])
            moved = ((grid - grid.iloc[place]).abs() / grid.max()).sum(axis=1) / 3
            nearest = moved[named != named[place]].min()  # NaN where the network names one class alone
            assert answer.status == ("infeasible" if np.isnan(nearest) else "optimal")
            assert answer.distance == (None if np.isnan(nearest) else pytest.approx(nearest))
            verdict = answer.certificate.check()
            assert verdict.accepted, verdict
            divided += "part" in verdict.fired
    assert divided > 10


def test_shares_of_the_largest_change_are_at_most_1_exactly() -> None:
    """.2 and .8 add up to 1 as doubles, and to a little more as the fractions that they are."""
    shares = lined._at_most_1({3: Fraction(0.2), 5: Fraction(0.8)})
    assert sum(shares.values()) == 1 and Fraction(0.2) + Fraction(0.8) > 1
    assert lined._at_most_1({3: Fraction(1, 2)}) == {3: Fraction(1, 2)}


def test_a_part_may_name_a_comparison_twice() -> None:
    """Climbing had room for different comparisons alone, and wrote beyond it."""
    question = random_question(3)
    (first, *_), *_ = question.goal.decision
    twice = replace(question, goal=replace(question.goal, decision=((first,) * 40,)))
    assert sweeping.room(ground(twice)).total.shape[0] == 40
    once = replace(question, goal=replace(question.goal, decision=((first,),)))
    assert EnsembleOracle(twice).ask(None, Limits()) == EnsembleOracle(once).ask(None, Limits())


def test_after_a_look_at_each_part_the_next_in_order_and_the_one_of_least_bound_take_turns() -> None:
    taken, bounds = list[tuple[int, int | None]](), {0: 3, 1: 8, 2: 1, 3: 5}

    def of(part: int, last: int) -> by_parts.Search:
        def search(best: Point | None, number: int | None, _: Deadline) -> by_parts.Turn:
            taken.append((part, number))
            done = number is None or number >= last
            reply = Found((9,), Fraction(9 if done else bounds[part]), [], "")
            return by_parts.Turn(reply, paused=not done)

        return search

    reply = by_parts.by_parts(
        [of(0, 2), of(1, 1), of(2, 3), of(3, 1)], (9,), lambda point: Fraction(point[0]), NEVER, (3, 1, 0, 2)
    )
    assert taken[:4] == [(3, 0), (1, 0), (0, 0), (2, 0)]
    assert taken[4:] == [(3, 1), (2, 1), (1, 1), (2, 2), (0, 1), (2, 3), (0, None)]
    assert isinstance(reply, Found) and reply.lower == 9


def test_a_paused_search_that_proved_as_much_as_the_nearest_point_is_done() -> None:
    """Another part's point may be so near that nothing is left of a search that was paused; it went on."""
    asked = list[int]()

    def far(*_: object) -> by_parts.Turn:
        asked.append(0)
        return by_parts.Turn(Found((9,), Fraction(5), []), paused=True)

    def near(*_: object) -> by_parts.Turn:
        asked.append(1)
        return by_parts.Turn(Found((4,), Fraction(4), []), paused=False)

    reply = by_parts.by_parts([far, near], (9,), lambda point: Fraction(point[0]), NEVER, (0, 1))
    assert asked == [0, 1]
    assert isinstance(reply, Found) and (reply.point, reply.lower, reply.why) == ((4,), 4, "")


def test_the_bound_of_a_ball_is_kept_where_a_point_beyond_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts of a larger ball may know less at the end of the time, as soon as one of them has a point."""
    leaf: Proof = [Leaf("trees")]
    balls = list[Fraction]()

    def searched(search: plain.Plain) -> Reply:
        if search.bound.inclusive and search.bound.distance is not None:
            balls.append(search.bound.distance)
            return Refuted(leaf)
        return Found(search.question.start, Fraction(0), [], "time limit")

    monkeypatch.setattr(prover, "_searched", searched)
    monkeypatch.setattr(EnsembleOracle, "_first", lambda *_: None)
    question = replace(random_question(3), rules=())
    reply = EnsembleOracle(question).ask(None, Limits())
    assert isinstance(reply, Found)
    assert (reply.lower, reply.proof, reply.why) == (max(balls), leaf, "time limit")


def test_a_nearer_point_of_a_part_that_was_searched_anew_is_kept() -> None:
    """The search that goes on instead of it went on from the farther one, and that was what all parts knew then."""
    question = of_one_score_each(random_question(next(seed for seed in range(99) if many(seed))))
    points = sorted(filter(question.obeys, points_of(question)), key=question.distance_of)
    near, far = points[1], points[-1]
    assert question.distance_of(near) < question.distance_of(far)
    whole = plain.Plain(Witnesses(question), ground(question), Terms(Bound(), far, Gap(), NEVER, 2**20))
    taken = list[Point | None]()

    def searched(one: plain.Plain) -> Reply:
        if one.turn == plain.LONG_LOOK:
            one.point, one.paused = near, True
        taken.append(one.point)
        return Unknown("", Fraction(0), [])

    part = parted._Part(whole, 0, whole.forest, searched)
    part.turn(far, 0, NEVER)
    assert part.plain is not None
    part.plain.branching = True  # type: ignore[assignment]
    part.plain.point = points[-2]
    part.turn(far, 1, NEVER)
    assert taken == [far, near, near] and whole.point == near


def many(seed: int) -> bool:
    """Whether the goal of a question has several parts."""
    return len(random_question(seed).goal.decision) > 1


@pytest.mark.parametrize(("seed", "crowded"), [(266, False), (524, True)])
@pytest.mark.parametrize("size", [Fraction(0), Fraction(1, 5)])
def test_no_bound_of_one_part_is_told_as_that_of_all(
    seed: int, crowded: bool, size: Fraction, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a part came to the relaxation its bounds were heard, above the nearest point with another part."""
    monkeypatch.setattr(branching, "WALKS", 0)
    monkeypatch.setattr(Hearing, "EVERY", 0.0)
    question = of_one_score_each(random_question(seed, crowded=crowded))
    nearest, heard = optimum(question), list[tuple[Fraction, Fraction | None]]()
    replay = Replay(
        lambda point: bool(question.has_goal(point)), hearing=Hearing(lambda lower, upper: heard.append((lower, upper)))
    )
    EnsembleOracle(question).ask(None, Limits(), gap=Gap(size), replay=replay)
    assert heard and nearest is not None
    assert all(lower <= nearest and (upper is None or nearest <= upper) for lower, upper in heard)


def test_a_search_that_has_nothing_left_is_at_its_end_whatever_the_clock_says() -> None:
    """Where the time was over after the last box, the bound was 0: no box was left to have one."""
    question = random_question(38)
    search = plain.Plain(Witnesses(question), ground(question), Terms(Bound(), None, Gap(), NEVER, 2**20))
    assert search.search() and search.bound.distance == optimum(question)
    search.deadline = Deadline.after(0.0)
    assert search.search(walks=0) and not search.stalled and not search.why


@pytest.mark.parametrize("seed", [103, 380, 400, 425, 461, 483, 490])
def test_a_comparison_that_always_holds_has_no_multiplier(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where trees add so little that a class is ahead of another anyway, its need is not known here as it is to a
    checker, which refused what the prices of such a comparison were thought to prove."""
    monkeypatch.setattr(prover, "PATIENCE", 0)
    monkeypatch.setattr(prover, "_relaxes", lambda: True)
    monkeypatch.setattr(branching, "WALKS", 0)
    question = random_question(seed)
    assert isinstance(question.model, Ensemble)
    outputs = len(question.model.start)
    trees = tuple(replace(tree, value=tree.value * 1e-15) for tree in question.model.trees)
    start = np.where(np.arange(outputs) == seed % outputs, -0.3, 0.0)
    model = replace(question.model, trees=trees, start=start, dtype="float64", divide=1)
    the_answer_is_that_of_enumeration(replace(question, model=model, distance=norm("linf", len(question.axes))))


def test_the_last_part_is_not_alone_where_a_gap_ended_another() -> None:
    """Its bounds were told as those of all parts, above the nearest point with the other one."""
    asked = list[int | None]()

    def ended(*_: object) -> by_parts.Turn:
        return by_parts.Turn(Found((9,), Fraction(5), [], ""), paused=False)

    def last(best: Point | None, number: int | None, _: Deadline) -> by_parts.Turn:
        asked.append(number)
        return by_parts.Turn(Found((9,), Fraction(2 + 2 * len(asked)), [], ""), paused=len(asked) < 3)

    reply = by_parts.by_parts([ended, last], (9,), lambda point: Fraction(point[0]), NEVER, (0, 1))
    assert asked == [0, 1, 2]
    assert isinstance(reply, Found) and reply.lower == 5


def test_the_pieces_of_a_proof_are_those_of_its_parts() -> None:
    cut, leaf = Split(0, 1), Leaf("trees")
    proofs = [[cut, leaf, leaf], [leaf], [cut, cut, leaf, leaf, leaf], [leaf]]
    whole = by_parts.chained(proofs)
    assert whole is not None and whole[-1] == Leaf("divided")
    assert [whole[piece.begin : piece.end] for piece in pieces(whole)] == proofs
    assert [piece.part for piece in pieces(whole)] == [0, 1, 2, 3]
    assert pieces([cut, leaf, leaf]) == [(None, 0, 3)]
    assert by_parts.chained([[leaf], None]) is None


def test_a_proof_of_a_larger_distance_is_found_again() -> None:
    """Bounds of hidden units may come out worse in a smaller ball, so that a proof need not hold there."""
    asked = list[tuple[int, Point | None]]()
    leaf: Proof = [Leaf("trees")]

    def far(best: Point | None, number: int | None, _: Deadline) -> by_parts.Turn:
        asked.append((0, best))
        return by_parts.Turn(Refuted([*leaf]), paused=False, claim=None if best is None else Fraction(best[0]))

    def near(best: Point | None, number: int | None, _: Deadline) -> by_parts.Turn:
        asked.append((1, best))
        return by_parts.Turn(Found((3,), Fraction(3), leaf), paused=False, claim=Fraction(3))

    reply = by_parts.by_parts([far, near], (7,), lambda point: Fraction(point[0]), NEVER, (0, 1))
    assert asked == [(0, (7,)), (1, (7,)), (0, (3,))]
    assert isinstance(reply, Found) and reply.lower == 3


def test_what_parts_say_together() -> None:
    def told(*replies: Reply, best: Point | None = None, within: Fraction | None = None) -> Reply:
        distance = None if best is None else Fraction(best[0])
        return by_parts.together([by_parts.Turn(reply, paused=False) for reply in replies], best, distance, within)

    leaf: Proof = [Leaf("trees")]
    assert told(Refuted(leaf), Refuted(leaf)) == Refuted([GoalPart(0), *leaf, GoalPart(1), *leaf, Leaf("divided")])
    found = told(Found((5,), Fraction(5), leaf), Refuted(leaf), best=(5,))
    assert isinstance(found, Found) and (found.lower, found.why) == (5, "")
    stopped = Unknown("time limit", Fraction(2), leaf, ProvedBound(Fraction(1), leaf))
    found = told(Found((5,), Fraction(5), leaf), stopped, Refuted(leaf), best=(4,))
    assert isinstance(found, Found) and (found.point, found.lower, found.why) == ((4,), 2, "time limit")
    assert found.spare is not None and found.spare.lower == 1
    unknown = told(Unknown("memory", Fraction(3), None), Refuted(leaf))
    assert isinstance(unknown, Unknown) and (unknown.lower, unknown.proof) == (3, None)
    # Of a part that was refuted within 2 nobody knows what lies beyond.
    unknown = told(Unknown("memory", Fraction(3), leaf), Refuted(leaf), within=Fraction(2))
    assert isinstance(unknown, Unknown) and unknown.lower == 2


def test_time_is_kept_for_the_certificate_of_all_parts() -> None:
    """Each search kept time for its own proof: within two seconds nine parts ended without any bound."""
    from mace.solve.networks.parted import EACH, KEPT, _searching

    clock = Hand()
    short, long = (_searching(Deadline.after(seconds, clock), 9).left() for seconds in (1.0, 60.0))
    assert short == pytest.approx(1 * (1 - KEPT))
    assert long == pytest.approx(60 - 9 * EACH)
    assert _searching(NEVER, 9) is NEVER


@pytest.mark.parametrize("seconds", [0.2, 5.0])
def test_a_network_is_searched_part_by_part_where_there_is_time_for_a_look_at_each(seconds: float) -> None:
    """Within half a second ten classes had no bound at all, where one search for all of them proves half."""
    model, space, grid = perceptron(1)
    question = Explainer(model, space, distance="l1").question(grid.iloc[37], None)[0]
    assert len(question.goal.decision) == 3
    limits = Limits(deadline=Deadline.after(seconds, Hand()))
    reply = NetworkOracle(question).ask(None, limits)
    assert isinstance(reply, Found) and reply.lower == question.distance_of(reply.point)
    assert any(isinstance(node, GoalPart) for node in reply.proof or ()) == (seconds > 1)
