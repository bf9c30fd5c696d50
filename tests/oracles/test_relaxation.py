"""The linear relaxation of trees: against enumeration, against the checker, and when it is stopped on the way."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier

from mace import Explainer, Space, explain
from mace.base.deadline import NEVER, Deadline
from mace.certify.writer import certificate
from mace.explain.proved import bound
from mace.problem.distance import Norm, norm
from mace.problem.proof import Priced
from mace.problem.question import Question
from mace.solve.ensembles import prover
from mace.solve.ensembles.arrays import walk
from mace.solve.ensembles.arrays.cells import Grounded, ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.terms import Bound, Terms
from mace.solve.ensembles.boxes import stalled
from mace.solve.ensembles.boxes.handover import Handover
from mace.solve.ensembles.boxes.plain import Plain
from mace.solve.ensembles.points import greedy
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.ensembles.relaxation import branching, tightening, trials
from mace.solve.ensembles.relaxation.ascent import Climbed
from mace.solve.ensembles.relaxation.branching import Branching
from mace.solve.ensembles.relaxation.cliques import Finder
from mace.solve.ensembles.relaxation.frame import ANYTHING, Active
from mace.solve.ensembles.relaxation.priced import Closing, Part
from mace.solve.ensembles.relaxation.relaxation import Effort, Relaxation
from mace.solve.ensembles.relaxation.trials import Trials
from mace.solve.ensembles.shortening import shorter
from mace.solve.protocol import Found, Gap, Limits, Refuted, Unknown
from mace.space.axes import Point
from tests.bench import breast_cancer
from tests.bench.ensembles import problem, question_of
from tests.clocks import Hand, Ticking
from tests.oracles.small_ensembles import bounds, optimum, points_of, random_question
from tests.oracles.test_ensembles import accepted
from tests.oracles.test_lines import before_trees

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relaxation from the first node on, without help of the plain search where it can do without."""
    monkeypatch.setattr(prover, "PATIENCE", 0)
    monkeypatch.setattr(branching, "WALKS", 0)


def the_answer_is_that_of_enumeration(question: Question) -> dict[str, int]:
    possible, certain = bounds(question)
    reply = EnsembleOracle(question).ask(None, Limits())
    if possible is None:
        assert isinstance(reply, Refuted)
    elif certain is None:
        assert isinstance(reply, Unknown)
        assert reply.lower == possible
        return {}
    else:
        assert isinstance(reply, Found)
        assert question.obeys(reply.point) and question.has_goal(reply.point)
        assert (question.distance_of(reply.point), reply.lower) == (certain, possible)
    return accepted(question, reply)


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_the_answer_by_the_relaxation_is_that_of_enumeration(first: int, at_once: None) -> None:
    fired: Counter[str] = Counter()
    for seed in range(first, first + 25):
        fired.update(the_answer_is_that_of_enumeration(random_question(seed)))
    assert fired["prices"]


@pytest.mark.parametrize("times", [Fraction(1, 10**12), Fraction(1, 10**30), Fraction(10**15), Fraction(10**40)])
def test_so_it_is_of_distances_of_any_size(times: Fraction, at_once: None) -> None:
    fired: Counter[str] = Counter()
    for seed in range(25):
        question = random_question(seed)
        assert isinstance(question.distance, Norm)
        weights = tuple(weight * times for weight in question.distance.weights)
        asked = replace(question, distance=replace(question.distance, weights=weights))
        fired.update(the_answer_is_that_of_enumeration(asked))
    assert fired["prices"]


def test_a_hard_question_takes_as_many_nodes_whatever_the_size_of_its_distances() -> None:
    """Tiny ones had few digits as whole numbers: nothing was proved before the time was over."""
    task = breast_cancer.problem("forest-50x6", 7)
    usual = question_of(task, task.rows[6], "l1")
    norm = usual.distance
    assert isinstance(norm, Norm)
    for times in (Fraction(1, 2**50), Fraction(2**50)):
        asked = replace(usual, distance=replace(norm, weights=tuple(weight * times for weight in norm.weights)))
        oracles = [EnsembleOracle(question) for question in (usual, asked)]
        replies = [oracle.ask(None, Limits()) for oracle in oracles]
        assert all(isinstance(reply, Found) and not reply.why for reply in replies)
        assert replies[0].lower is not None and replies[1].lower == replies[0].lower * times
        nodes, more = (oracle.statistics["nodes"] for oracle in oracles)
        assert more < 2 * nodes


@pytest.mark.parametrize("first", [0, 60, 120])
def test_so_it_is_where_leaves_of_many_trees_contradict_each_other(
    first: int, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tightening, "WORTH", 1.0)  # every box that can be is narrowed
    fired: Counter[str] = Counter()
    for seed in range(first, first + 30):
        fired.update(the_answer_is_that_of_enumeration(random_question(seed, crowded=True)))
    assert fired["prices"] and fired["cliques"] and fired["narrow"], fired


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_a_plain_search_that_was_ahead_makes_way_later(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [(3, Handover(ahead=1e9)), (9, Handover(ahead=1e9, behind=1e9))]
    monkeypatch.setattr(prover, "_patience", lambda _: turns)
    monkeypatch.setattr(branching, "WALKS", 0)
    fired: Counter[str] = Counter()
    for seed in range(first, first + 25):
        fired.update(the_answer_is_that_of_enumeration(random_question(seed)))
    assert fired["prices"]


def test_what_the_plain_search_had_proved_is_kept_until_the_relaxation_has_proved_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stopped(self: Branching, nodes: int | None = None) -> bool:
        self.why = "stopped"
        return False

    monkeypatch.setattr(prover, "_patience", lambda _: [(20_000, Handover(behind=1e9))])
    monkeypatch.setattr(branching, "GLANCE", Effort(rounds=1))
    monkeypatch.setattr(Branching, "run", stopped)
    task = breast_cancer.problem("forest-50x6", 7)
    question = question_of(task, task.rows[6], "l1")
    reply = EnsembleOracle(question).ask(None, Limits())
    assert isinstance(reply, Found) and reply.proof and reply.lower > question.distance_of(reply.point) / 4
    assert not any(isinstance(node, Priced) for node in reply.proof)
    assert certificate(question, reply.lower, reply.point, reply.proof).check().accepted


@pytest.mark.parametrize("first", [0, 25])
def test_points_around_the_best_one_change_no_answer(
    first: int, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(branching, "OFFERS", 0)
    for seed in range(first, first + 25):
        the_answer_is_that_of_enumeration(random_question(seed))


def begun(row: int) -> Plain:
    """A plain search about a row of breast_cancer, with a first point."""
    task = breast_cancer.problem("forest-50x6", row + 1)
    oracle = EnsembleOracle(question_of(task, task.rows[row], "l1"))
    oracle.ask(None, Limits())
    grounded = ground(oracle.question)
    first = oracle._first(grounded, None, Bound(), NEVER)
    return Plain(oracle.witnesses, grounded, Terms(Bound(), first, Gap(), NEVER, 2**30))


def test_around_a_point_there_are_nearer_ones() -> None:
    search = begun(0)
    question, host, before = search.witnesses.question, stalled.PlainHost(search), search.bound.distance
    for _ in range(50):
        host.repair()
    assert before is not None and search.point is not None and question.has_goal(search.point)
    assert search.bound.distance == question.distance_of(search.point) < before


def test_a_first_box_that_was_only_glanced_at_is_solved_before_it_is_divided(at_once: None) -> None:
    """Where another search knew more at first, but has not ended since."""
    search = begun(5)
    search.search(1000)
    host = stalled.PlainHost(search)
    keys = []
    for known in (host.limit, 0):
        tree = Branching(search.grounded, search.nearer(), host)
        tree.start(known)
        tree.tightening.join_cliques = tree.tightening.narrow = lambda *_: None  # type: ignore[method-assign]
        assert tree.root is not None
        before = tree.root.key
        tree._prepare()
        assert tree.heap == [(tree.root.key, 0, tree.root)]
        assert (tree.root.key > before) == (known > 0)
        keys.append(tree.root.key)
    assert keys[0] == pytest.approx(keys[1], rel=0.01)  # points that are found meanwhile are nearer


@pytest.mark.parametrize("made", [random_question, before_trees])
@pytest.mark.parametrize("seed", range(60))
def test_any_prices_at_all_give_a_bound_that_holds_and_that_the_checker_finds_too(
    seed: int, made: Callable[[int], Question]
) -> None:
    question, rng = made(seed), np.random.default_rng(seed)
    found = optimum(replace(question, avoid=(), most_changes=None))
    if found is None or not question.model.certain:
        return
    grounded = ground(question)
    low, high = grounded.ground.low, grounded.ground.high
    box = walk.new_box(len(low))
    box.low[:], box.high[:] = low, high
    walk.measure(grounded.ground, box)
    forest = walk.shrink(grounded.ground, grounded.forest, box, 2**62, walk.new_stack(grounded.depth))
    parts, claims, cliques, narrowed = [], [], list[Array](), list[tuple[Array, Array]]()
    for part in range(len(grounded.aim.begin) - 1):
        relaxation = Relaxation(grounded, forest, part, Fraction(1))
        if not part:
            finder = Finder(relaxation.leaves, grounded.ground.grid)
            cliques = finder.found(rng.random(len(relaxation.tree)))
        relaxation.add(cliques)
        unit, active = 2.0**relaxation.bits, relaxation.open(low, high, 2**62)
        rows = len(relaxation.sides.tree) + len(cliques)
        prices = rng.random(rows) * rng.integers(0, 2, rows) / 4 * unit
        goal = rng.random(len(relaxation.compares)) * unit / 2.0**58
        shares = np.append(rng.random(len(relaxation.columns)) / 9, 0.0)
        lines = rng.random(len(relaxation.lines)) * rng.integers(0, 2, len(relaxation.lines)) * 3
        exact = relaxation.exact(Climbed(0.0, prices, goal, shares, lines, prices, prices), 12, 0.0)
        claim = relaxation.bound(exact, active)
        claims.append(None if claim == ANYTHING else Fraction(claim, 2**relaxation.bits))
        parts.append(relaxation.prices(exact, active))
        if claim != ANYTHING:  # what is left of the box for points that are hardly farther than the best one
            enough = math.floor(found * Fraction(2) ** relaxation.bits) + 1
            narrowed.append(relaxation.narrow(exact, active, low, high, enough))
    known = [claim for claim in claims if claim is not None]
    if not known:
        return
    assert min(known) <= found
    proof = [relaxation.written_cliques(), Priced(tuple(parts))]
    written = certificate(question, max(Fraction(0), min(known)), None, proof)
    assert min(known) < 0 or written.check().accepted, written.check().reason
    for point in points_of(question):
        if question.has_goal(point) and question.distance_of(point) == found:
            assert any(inside(grounded, point, *box) for box in narrowed)


def inside(grounded: Grounded, point: Point, low: Array, high: Array) -> bool:
    """Whether a box of cells and masks has a point."""
    cells, grid = grounded.cells(point), grounded.ground.grid
    return bool(np.where(grid, (low <= cells) & (cells <= high), low >> np.where(grid, 0, cells) & 1 == 1).all())


def test_between_two_distances_that_there_are_a_bound_is_the_upper_one(at_once: None) -> None:
    """By l0 each of 15 features counts 1/15: bounds of the relaxation lie between."""
    task = problem("forest-10x6", 2)
    for row in task.rows:
        question = question_of(task, row, "l0")
        reply = EnsembleOracle(question).ask(None, Limits())
        assert isinstance(reply, Found)
        assert reply.lower == question.distance_of(reply.point)
        assert accepted(question, reply)["prices"]


def test_a_hard_row_needs_few_boxes_and_a_short_proof() -> None:
    """30 real features, 100 trees: cuts that are not chosen well make ten times as many boxes."""
    task = breast_cancer.problem("forest-100x6", 7)
    question = question_of(task, task.rows[6], "l1")
    oracle = EnsembleOracle(question)
    reply = oracle.ask(None, Limits())
    assert isinstance(reply, Found) and reply.lower == question.distance_of(reply.point)
    assert 0 < oracle.statistics["relaxations"] < 250
    made = certificate(question, reply.lower, reply.point, reply.proof or [])
    assert made.check().accepted
    assert made.proof_size < 300_000


def test_trials_and_boxes_gain_more_at_their_pace_than_at_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    gained: dict[Effort, list[float]] = {trials.TRIAL: [0.0, 0.0], branching.EACH: [0.0, 0.0]}
    climb = Relaxation.climb

    def both(self: Relaxation, active: Active, start: Climbed, effort: Effort, limit: int) -> Climbed:
        found, most = climb(self, active, start, effort, limit), self.units(limit)
        if effort in gained:
            usual = climb(self, active, start, Effort(effort.rounds), limit)
            for place, one in enumerate((found, usual)):
                gained[effort][place] += max(0.0, min(one.value, most) / most - start.value / most)
        return found

    monkeypatch.setattr(Relaxation, "climb", both)
    task = breast_cancer.problem("forest-100x6", 7)
    assert isinstance(EnsembleOracle(question_of(task, task.rows[6], "l1")).ask(None, Limits()), Found)
    assert all(ours > 1.05 * usual > 0 for ours, usual in gained.values()), gained


def test_in_large_forests_the_relaxation_is_asked_early_where_it_is_far_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    task = breast_cancer.problem("forest-50x6", 7)
    question = question_of(task, task.rows[6], "l1")
    monkeypatch.setattr(prover, "FEW_LEAVES", 0)
    monkeypatch.setattr(prover, "PATIENCE", 50)
    monkeypatch.setattr(prover, "MORE_PATIENCE", 10**6)
    for ahead in (1.0, 1e9):
        monkeypatch.setattr(prover, "AHEAD", ahead)
        oracle = EnsembleOracle(question)
        reply = oracle.ask(None, Limits(), gap=Gap(relative=Fraction(1, 2)))
        assert isinstance(reply, Found) and reply.lower is not None
        assert reply.lower * 2 >= question.distance_of(reply.point)
        assert (oracle.statistics["relaxations"] > 0) == (ahead == 1.0)


def test_what_prices_prove_is_not_searched_once_more_for_a_certificate(
    at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = problem("forest-10x6", 1)
    found = explain(task.model, task.space, task.rows[0], goal=1)
    assert any(isinstance(node, Priced) for node in found.proof or ())
    monkeypatch.setattr(bound, "LONG_PROOF", 1)
    monkeypatch.delattr(shorter, "shorter")
    assert found.certificate.check().accepted


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_any_number_of_threads_has_the_same_answer_and_proof(load: Any, at_once: None) -> None:
    """Which of them ends first decides nothing; wine has three classes, each a relaxation of its own."""
    frame, target = load(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(frame.to_numpy(), target)
    question = Explainer(model, Space.from_frame(frame)).question(frame.iloc[0], None)[0]
    one, three = (EnsembleOracle(question).ask(None, Limits(jobs=jobs)) for jobs in (1, 3))
    assert isinstance(one, Found) and any(isinstance(node, Priced) for node in one.proof or ())
    assert one == three
    assert {thread.name.partition("_")[0] for thread in threading.enumerate()}.isdisjoint({"mace"})


def test_what_is_relaxed_is_what_a_repaired_point_leaves_of_the_trees(
    at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a default forest the first point was .0685 for a minute, until .0524 was found by chance."""
    task = breast_cancer.problem("forest-50x6", 7)
    question, made = question_of(task, task.rows[6], "l1"), []
    begin = Branching.__init__

    def noted(self: Branching, grounded: Any, forest: Any, host: Any) -> None:
        made.append((int((forest.test[:, 0] < 0).sum()), host.plain.leaves, host.limit))
        begin(self, grounded, forest, host)

    monkeypatch.setattr(Branching, "__init__", noted)
    reply = EnsembleOracle(question).ask(None, Limits())
    assert isinstance(reply, Found)
    relaxed, before, limit = made[-1]
    assert relaxed < before
    assert limit <= 1.05 * float(question.distance_of(reply.point) * ground(question).scale)


class Stopping(Branching):
    """A clock that runs out after some nodes."""

    clock: Hand
    most = 3

    def _push(self, node: branching.PricedNode) -> None:
        super()._push(node)
        if self.nodes >= self.most:
            self.clock.now += 1000


@pytest.mark.parametrize("most", [1, 2, 5])
def test_a_search_that_is_stopped_has_the_bound_of_its_open_boxes_with_a_proof(
    most: int, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = problem("forest-10x6", 1)
    question = question_of(task, task.rows[0], "l1")
    whole = EnsembleOracle(question).ask(None, Limits())
    assert isinstance(whole, Found)
    clock = Hand()
    monkeypatch.setattr(Stopping, "clock", clock, raising=False)
    monkeypatch.setattr(Stopping, "most", most)
    roots: list[int] = []
    start = Branching.start

    def noted(self: Branching, known: int = 0) -> int:
        roots.append(start(self, known))
        return roots[-1]

    monkeypatch.setattr(Branching, "start", noted)
    monkeypatch.setattr(stalled, "Branching", Stopping)
    oracle = EnsembleOracle(question)
    reply = oracle.ask(None, Limits(Deadline.after(10, clock)))
    assert isinstance(reply, Found)
    assert reply.why.startswith("time limit")
    assert reply.lower is not None and whole.lower is not None
    scale = ground(question).scale
    assert Fraction(roots[-1], scale) <= reply.lower <= whole.lower
    assert reply.lower > 0
    accepted(question, reply)


def test_wherever_the_time_is_over_no_box_is_lost(at_once: None) -> None:
    """Among the trials of one node too, and between the two sides of a cut."""
    task = problem("forest-10x6", 1)
    question = question_of(task, task.rows[0], "l1")
    whole = EnsembleOracle(question).ask(None, Limits())
    assert isinstance(whole, Found) and whole.lower is not None
    lower, ends = Fraction(0), set()
    for looks in range(20, 1200, 25):
        reply = EnsembleOracle(question).ask(None, Limits(Deadline.after(looks, Ticking())))
        if isinstance(reply, Found):
            assert reply.lower is not None and reply.lower <= whole.lower
            assert reply.lower >= lower, "with more time less is known"
            accepted(question, reply)
            lower = reply.lower
            ends.add(reply.lower)
    assert len(ends) > 3


@pytest.mark.parametrize("seconds", [1, 3, 10, 30])
def test_the_first_ascent_is_no_longer_than_there_is_time_for(
    seconds: int, at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing interrupts an ascent. Each of its rounds takes a hundredth of a second here; wine has three classes."""
    clock, climb = Hand(), Relaxation.climb

    def slow(self: Relaxation, active: Any, start: Climbed, effort: Effort, limit: int) -> Climbed:
        clock.now += effort.rounds / 100
        return climb(self, active, start, effort, limit)

    monkeypatch.setattr(Relaxation, "climb", slow)
    frame, target = load_wine(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(frame.to_numpy(), target)
    question = Explainer(model, Space.from_frame(frame)).question(frame.iloc[0], None)[0]
    began = clock.now
    reply = EnsembleOracle(question).ask(None, Limits(Deadline.after(seconds, clock)))
    assert clock.now - began <= seconds + 3, "more than one ascent too late"
    assert isinstance(reply, Found) and reply.lower is not None
    assert seconds < 10 or reply.lower > 0
    accepted(question, reply)


def test_near_the_shares_of_a_part_of_the_goal_that_part_alone_is_climbed_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part has shares of its own: of ten classes every one was climbed to from the shares of every other."""
    frame, target = load_wine(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(frame.to_numpy(), target)
    question = Explainer(model, Space.from_frame(frame)).question(frame.iloc[0], None)[0]
    grounded, parts, climb = ground(question), list[int](), greedy.climb

    def noted(*given: Any) -> int:
        parts.append(given[3])
        return climb(*given)

    monkeypatch.setattr(greedy, "climb", noted)
    search = Plain(EnsembleOracle(question).witnesses, grounded, Terms(Bound(), None, Gap(), NEVER, 2**30))
    for part in range(len(grounded.aim.begin) - 1):
        parts.clear()
        search.offer(grounded.ground.start.astype(np.int64), part)
        assert set(parts) == {part}
    assert search.point is not None and question.has_goal(search.point)


def test_a_box_that_can_neither_be_cut_nor_searched_in_the_memory_allowed_ends_the_search(
    at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was tried again and again, without a time limit for ever."""
    attempts: list[int | None] = []

    def in_vain(self: stalled.PlainHost, low: Any, high: Any, walks: int | None) -> Closing:
        attempts.append(walks)
        self.why = "memory limit"
        return Closing(None, None)

    choose = Trials.choose
    monkeypatch.setattr(stalled.PlainHost, "attempt", in_vain)
    monkeypatch.setattr(Trials, "choose", lambda self, node: (choose(self, node)[0], None))
    task = problem("forest-10x6", 1)
    question = question_of(task, task.rows[0], "l1")
    reply = EnsembleOracle(question).ask(None, Limits())
    assert isinstance(reply, Found) and reply.why == "memory limit" and reply.lower
    assert attempts[-1] is None and len(attempts) <= 2
    accepted(question, reply)


def test_parts_of_a_goal_share_what_they_have_in_common() -> None:
    frame, target = load_wine(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(frame.to_numpy(), target)
    grounded = ground(Explainer(model, Space.from_frame(frame)).question(frame.iloc[0], None)[0])
    first, own = (Relaxation(grounded, grounded.forest, part, Fraction(1)) for part in (0, 1))
    shared = first.beside(grounded, grounded.forest, 1)
    assert shared.compares == own.compares != first.compares
    for one, other in zip(shared.framed, own.framed, strict=True):
        assert (one == other).all()


def test_rows_of_a_leaf_are_in_order_of_their_axes_whatever_a_box_leaves_open() -> None:
    """What a leaf costs is added up axis by axis: an axis that came twice would be paid for twice."""
    for question in _questions():
        grounded = ground(question)
        relaxation = Relaxation(grounded, grounded.forest, 0, Fraction(1))
        low, high = grounded.ground.low.copy(), grounded.ground.high.copy()
        for j in np.flatnonzero(grounded.ground.grid):
            high[j] = (low[j] + high[j]) // 2
            active = relaxation.open(low, high, 2**62)
            for begin, end in zip(active.at[:-1], active.at[1:], strict=True):
                rows = active.number[active.row[begin:end]]
                assert (np.diff(rows) > 0).all() and (np.diff(relaxation.framed.axis[rows]) >= 0).all()


def test_a_bound_is_enough_where_the_distance_that_it_proves_is_that_limit_or_more() -> None:
    task = problem("forest-10x6", 1)
    grounded = ground(question_of(task, task.rows[0], "l1"))
    relaxation = Relaxation(grounded, grounded.forest, 0, Fraction(1))
    rng = np.random.default_rng(0)
    for limit in rng.integers(1, relaxation.scale, 200).tolist():
        for whole in (False, True):
            enough = relaxation.enough(limit, whole)
            assert relaxation.key(enough, whole) >= limit > relaxation.key(enough - 1, whole)


def test_a_part_that_is_closed_keeps_the_prices_that_close_it_where_a_box_is_narrowed() -> None:
    """Those of cliques that a later ascent had lowered to nothing were taken from it, and with them what closed it."""
    task = problem("forest-10x6", 1)
    grounded = ground(question_of(task, task.rows[0], "l1"))
    low, high = grounded.ground.low, grounded.ground.high
    relaxation = Relaxation(grounded, grounded.forest, 0, Fraction(1))
    relaxation.add([np.array([0, 9])])
    rows = len(relaxation.framed.axis)
    exact = relaxation.nothing()._replace(prices=np.full(rows, 2**20 + 1))
    lowered = np.zeros(rows)
    active = relaxation.open(low, high, 2**62, paid=lowered)
    climbed = Climbed(0.0, lowered, *[np.zeros(0)] * 5)
    for key, kept in ((5, False), (10, True)):
        prices = tightening.narrowing_prices(relaxation, Part(key, exact, climbed), active, 10)
        assert (prices is exact) == kept and bool(prices.prices[-1]) == kept


def test_a_gap_that_was_asked_for_ends_the_search(at_once: None) -> None:
    task = problem("forest-10x6", 1)
    question = question_of(task, task.rows[0], "l1")
    reply = EnsembleOracle(question).ask(None, Limits(), gap=Gap(relative=Fraction(1, 2)))
    assert isinstance(reply, Found)
    assert reply.lower is not None and 2 * reply.lower >= question.distance_of(reply.point)
    accepted(question, reply)


def _questions() -> Iterator[Question]:
    for seed in range(300, 340):
        question = random_question(seed)
        yield replace(question, distance=norm("l1", len(question.axes)))


def test_boxes_of_a_node_have_the_nearest_points_of_their_own(at_once: None) -> None:
    """A box inside of all cells: its nearest point lies in it."""
    rng = np.random.default_rng(0)
    for question in _questions():
        grounded = ground(question)
        low, high = grounded.ground.low.copy(), grounded.ground.high.copy()
        cells = grounded.cells(points_of(question)[int(rng.integers(len(points_of(question))))])
        grid = grounded.ground.grid
        low[grid], high[grid], low[~grid] = cells[grid], cells[grid], 1 << cells[~grid]
        point = grounded.inside(low, high).nearest(low, high)
        assert (grounded.cells(point) == cells).all()


def test_a_forest_too_large_for_the_relaxation_is_searched_as_before(
    at_once: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stalled, "MOST_LEAVES", 0)
    for seed in range(10):
        assert not the_answer_is_that_of_enumeration(random_question(seed)).get("prices")


def test_multipliers_that_are_no_numbers_count_for_nothing() -> None:
    task = problem("forest-10x6", 1)
    grounded = ground(question_of(task, task.rows[0], "l1"))
    box = walk.new_box(len(grounded.ground.low))
    box.low[:], box.high[:] = grounded.ground.low, grounded.ground.high
    walk.measure(grounded.ground, box)
    forest = walk.shrink(grounded.ground, grounded.forest, box, 2**62, walk.new_stack(grounded.depth))
    relaxation = Relaxation(grounded, forest, 0, Fraction(1))
    rows, axes = len(relaxation.sides.tree), len(relaxation.columns)
    none = Climbed(0.0, np.full(rows, np.nan), np.array([np.inf]), np.full(axes, -np.inf), *[np.zeros(0)] * 3)
    exact = relaxation.exact(none, 12, 0.0)
    assert not exact.prices.any()
    active = relaxation.open(grounded.ground.low, grounded.ground.high, 2**62)
    assert -100 <= relaxation.bound(exact, active) <= 0
