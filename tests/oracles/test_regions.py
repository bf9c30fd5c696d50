"""Rules with trees: regions that they divide, points that obey them; against enumeration and the checker."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import mace
from mace.base.deadline import NEVER, Deadline
from mace.certify.writer import certificate
from mace.problem.programs import rule_of
from mace.problem.question import Question
from mace.solve.conditions import broken
from mace.solve.ensembles import prover
from mace.solve.ensembles.arrays.cells import ground
from mace.solve.ensembles.boxes import regions
from mace.solve.ensembles.boxes.plain import Plain
from mace.solve.ensembles.points import obeying
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.forms.program import Program
from mace.solve.protocol import Found, Limits, Refuted, Unknown
from mace.space.axes import full, holds
from tests.clocks import Ticking
from tests.marks import exhaustive_from
from tests.oracles.small_ensembles import bounds, points_of, random_question, started_elsewhere
from tests.oracles.test_ensembles import accepted, as_enumerated
from tests.reference import random_rule


def ruled(seed: int) -> Question:
    """A random question with one to four rules."""
    question, rng = random_question(seed), np.random.default_rng(seed)
    texts = {random_rule(question.space, rng) for _ in range(rng.integers(1, 5))}
    return replace(question, rules=tuple(rule_of(text, question.space) for text in sorted(texts)))


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every search with rules is divided at once; returns into how many regions, as they are searched."""
    monkeypatch.setattr(prover, "PATIENCE", 0)
    plain, divide, counts = EnsembleOracle._plain, regions.divided, list[int]()

    def as_ruled(self: EnsembleOracle, terms: Any) -> Any:
        search = plain(self, terms)
        search.ruled = bool(self.question.rules)
        return search

    def counted(*given: Any) -> regions.RegionNode:
        root = divide(*given)
        counts.append(sum(region.open for region in root.every()))
        return root

    monkeypatch.setattr(EnsembleOracle, "_plain", as_ruled)
    monkeypatch.setattr(regions, "divided", counted)
    return counts


@pytest.mark.parametrize("first", exhaustive_from(150, range(0, 300, 50)))
def test_the_answer_by_regions_is_that_of_enumeration(first: int, divided: list[int]) -> None:
    for seed in range(first, first + 50):
        as_enumerated(ruled(seed))
        as_enumerated(started_elsewhere(seed, ruled(seed)))
    assert sum(count > 1 for count in divided) > 5 and max(divided) <= regions.MOST


@pytest.mark.parametrize("seed", [430, 1017, 1272, 1733, 2140, 4556])
def test_what_random_questions_found(seed: int, divided: list[int]) -> None:
    """Where rounding decides in one region the others count all the same; a row may lie outside of what is allowed."""
    as_enumerated(ruled(seed))
    as_enumerated(started_elsewhere(seed, ruled(seed)))


@pytest.mark.parametrize("seed", range(40))
def test_regions_hold_every_point_that_obeys_once_and_no_other_of_those_cut_away(seed: int) -> None:
    question = ruled(seed)
    grounded = ground(question)
    root = regions.divided(question, grounded.sides(grounded.ground.low, grounded.ground.high))
    leaves = [region for region in root.every() if region.split is None]
    for point in points_of(question):
        if not question.obeys(point):
            continue
        holding = [region for region in leaves if all(map(holds, region.box, point))]
        assert len(holding) == 1 and holding[0].open
    for region in leaves:
        if region.proof is not None:
            assert broken(question, region.proof[0].number, region.box)  # type: ignore[union-attr]


def test_levels_that_a_rule_rules_out_one_by_one_are_cut_away_one_by_one() -> None:
    """Of the levels a and b together each part of this rule may hold, so that no checker closes them in one box."""
    space = mace.Space([mace.Feature("c", "categorical", levels=list("abc")), mace.Feature("x", "integer", 0, 3)])
    rule = rule_of('c != "a" and c != "b"', space)
    axes = space.axes({"c": "c", "x": 0})
    question = replace(random_question(0), space=space, axes=axes, rules=(rule,), avoid=())
    root = regions.divided(question, tuple(map(full, axes)))
    closed = [region for region in root.every() if region.proof is not None]
    assert closed and all(broken(question, 0, region.box) for region in closed)
    assert [region.box[0] for region in root.every() if region.open] == [4]


def test_a_search_in_regions_that_is_stopped_has_a_bound_with_its_proof(divided: list[int]) -> None:
    ended: Counter[str] = Counter()
    for seed in range(60):
        question = ruled(seed)
        possible, _ = bounds(question)
        for looks in (3, 6, 12, 24):
            reply = EnsembleOracle(question).ask(None, Limits(Deadline.after(looks, Ticking())))
            ended[type(reply).__name__] += 1
            if isinstance(reply, Refuted):
                assert possible is None
                continue
            if possible is not None:
                assert (reply.lower or 0) <= possible
            if isinstance(reply, Found):
                accepted(question, reply)
    assert ended["Found"] and ended["Unknown"] and divided


@pytest.mark.parametrize("seed", [1333, 1346, 1465])
def test_a_region_without_a_point_in_the_ball_that_is_searched_says_nothing_of_what_lies_beyond(
    seed: int, divided: list[int]
) -> None:
    """The row lies outside of what is allowed: of the region that is searched when the time is over, a bound beyond the
    ball is known before anything is looked at. It had been taken for a bound of all regions.
    """
    question = started_elsewhere(seed, ruled(seed))
    stopped = 0
    for looks in range(18, 42, 3):
        reply = EnsembleOracle(question).ask(None, Limits(Deadline.after(looks, Ticking())))
        if isinstance(reply, Unknown) and reply.proof is not None:
            assert certificate(question, reply.lower, None, reply.proof).check().accepted
            stopped += 1
    assert stopped and divided


@pytest.mark.parametrize("first", exhaustive_from(100, range(0, 200, 50)))
def test_points_that_dives_come_to_are_allowed(first: int) -> None:
    found = 0
    for seed in range(first, first + 50):
        question, rng = ruled(seed), np.random.default_rng(seed)
        grounded = ground(question)
        for cells in [grounded.cells(point) for point in points_of(question) if question.has_goal(point)][:5]:
            point = obeying.obeying(question, grounded, cells, rng, NEVER)
            if point is not None and question.has_goal(point) is not False:
                assert question.obeys(point)
                found += 1
    assert found > 20


def test_rules_that_a_nearest_point_would_break_leave_no_gap() -> None:
    """As in Credit, where months overdue ask for counts of them and a history: 60 s had left half of it open."""
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(5)]
    frame = pd.DataFrame(rng.integers(0, 30, (600, 5)), columns=names)
    months = np.where(rng.random(600) < 0.4, rng.integers(1, 30, 600), 0)
    frame = frame.assign(months=months, counts=np.minimum(months, 2), history=(months > 0).astype(int))
    target = frame[names].sum(axis=1) + 3 * months > 90
    model = RandomForestClassifier(20, max_depth=8, random_state=0).fit(frame, target)
    features = [mace.Feature(name, "integer", 0, 30) for name in [*names, "months"]]
    features += [mace.Feature("counts", "integer", 0, 2), mace.Feature("history", "binary")]
    tied = ["months >= 1 implies history == 1", "history == 1 implies months >= 1",
            "months >= 1 implies counts >= 1", "counts <= months"]  # fmt: skip
    space = mace.Space(features, rules=tied)
    row = frame[(months == 0) & ~model.predict(frame)].iloc[0]
    answer = mace.explain(model, space, row, goal=True)
    assert answer.status == "optimal" and answer.certificate.check().accepted
    free = mace.explain(model, mace.Space(features), row, goal=True)
    assert free.distance < answer.distance


@pytest.mark.parametrize(
    ("objective", "rules"),
    [
        ("l1", ["a < 0"]), ("l1", ["a + b < 0"]), ("l1", ['a > 3 implies c == "y"', 'c == "x"', "a > 3"]),
        ("closeness", ["a + b < 0"]),
    ],
)  # fmt: skip
def test_where_rules_leave_nothing_nothing_is_searched(
    objective: str, rules: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search by distance came to it box by box: ten seconds before ten trees."""
    frame = pd.DataFrame({"a": [0, 2, 4, 6], "b": [6, 0, 4, 2], "c": list("xyxy")})
    space = mace.Space.from_frame(frame)
    forest = RandomForestClassifier(3, random_state=0).fit(space.encode(frame), [0, 0, 1, 1])
    monkeypatch.setattr(Plain, "search", None)
    monkeypatch.setattr(Program, "solve", None)
    answer = mace.explain(forest, space, frame.iloc[0], goal=1, rules=rules, objectives=[objective], background=frame)
    assert answer.status == "infeasible" and answer.certificate.check().accepted
