"""Several answers a row, the swarm's box, and the table's figures: on a small generated table."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from mace.audit.record import Record
from mace.audit.task import Query, Task
from mace.base.deadline import Deadline
from mace.datasets.wide import wide
from mace.errors import FileError
from mace.explain.explainer import Explainer
from mace.problem.goal_text import wanted
from mace.reproduce.answers import Proved, Several, frame_of, points
from mace.reproduce.levels import CASES, solve
from mace.reproduce.methods import FOUND
from mace.reproduce.swarm import table_2
from mace.reproduce.swarm.box import Within
from mace.search.observed import MinimumObservable
from mace.search.swarm import Swarm
from mace.space.space import Space

BLANK = Record(0, "0", "main", "k")


@pytest.fixture(scope="module")
def frame():
    generator = np.random.default_rng(3)
    return pd.DataFrame({name: generator.integers(1, 21, 200) for name in "abc"})


@pytest.fixture(scope="module")
def explainer(frame):
    space = Space.from_frame(frame)
    outcome = (frame["a"] + frame["b"] > 24).astype(int)
    forest = RandomForestClassifier(5, random_state=0).fit(space.encode(frame), outcome)
    return Explainer(forest, space, background=frame)


def ask(method, explainer, row):
    goal = wanted(1, explainer.table.classes)
    task = Task(explainer.model, explainer.space, goal, "l1", None, (), None, None, "auto", 60.0, 4096, None)
    return method(explainer, Query("k", 0, "0", row), task, BLANK, Deadline.after(60.0))


def test_the_provers_first_answer_is_the_nearest_and_heuristics_are_not_nearer(explainer, frame):
    row = {"a": 5, "b": 6, "c": 9}
    ours = ask(Proved(3), explainer, row)
    assert ours.status == "optimal"
    assert 1 <= len(points(ours)) <= 3
    observed = ask(Several(MinimumObservable(), 2, runs=2), explainer, row)
    assert [one["distance"] for one in points(observed)] == [observed.exact_distance] * 2
    assert Fraction(ours.exact_distance) <= Fraction(observed.exact_distance)
    both = frame_of([ours, observed], pd.DataFrame([row, row], index=["p", "q"]))
    assert both.index.tolist() == ["p"] * len(points(ours)) + ["q"] * 2
    assert both.columns.tolist() == ["a", "b", "c"]


def test_the_box_is_the_swarms_own(explainer, frame):
    swarm = Swarm(particles=10, iterations=5, active=2, box=0.5, count=2, objective="paper")
    row = {"a": 12, "b": 10, "c": 9}
    inside, free = ask(Within(swarm), explainer, row), ask(Proved(1), explainer, row)
    found = ask(Several(swarm, 2), explainer, row)
    assert inside.status in ("optimal", "infeasible")
    for record in (inside, found):
        if record.exact_distance is not None:
            assert Fraction(record.exact_distance) >= Fraction(free.exact_distance)
    for one in points(found):
        assert inside.status == "optimal"
        assert Fraction(one["distance"]) >= Fraction(inside.exact_distance)
    # Nothing may move at the least of every range: z = 0 leaves no room.
    none = ask(Within(swarm), explainer, {"a": 1, "b": 1, "c": 1})
    assert none.status == "infeasible"


def test_a_box_is_brute_force_over_what_a_swarm_may_reach(explainer, frame):
    swarm = Swarm(active=2, box=0.5)
    for start in ({"a": 12, "b": 10, "c": 9}, {"a": 9, "b": 14, "c": 20}, {"a": 14, "b": 8, "c": 3}):
        got = ask(Within(swarm), explainer, start)
        lows = {name: feature.lower for name, feature in zip("abc", explainer.space.features, strict=True)}
        reach = {
            name: [v for v in range(1, 21) if abs(v - start[name]) <= 0.5 * (start[name] - lows[name])] for name in "ab"
        }
        grid = pd.DataFrame([{**start, "a": a, "b": b} for a in reach["a"] for b in reach["b"]])
        good = grid[explainer.decisions(grid) == 1]
        scale = [float(feature.upper - feature.lower) for feature in explainer.space.features[:2]]
        far = [abs(r["a"] - start["a"]) / scale[0] + abs(r["b"] - start["b"]) / scale[1] for _, r in good.iterrows()]
        if far:
            assert got.status == "optimal"
            assert float(Fraction(got.exact_distance)) == pytest.approx(min(far) / 3)
        else:
            assert got.status == "infeasible"


def test_missing_answers_are_said_with_whether_there_is_one(explainer):
    def record(status, found, why=""):
        note = [json.dumps([{"changes": {}, "distance": "1/2", "status": "bounded"}] * found)]
        return Record(0, "7", "p", "k", status=status, why=why, notes=note)

    lines = table_2._missing(
        "lsvt",
        "MD-PSO",
        [record("bounded", 4, FOUND)],
        [record("bounded", 4)],
        [record("infeasible", 0)],
    )
    assert lines == [("lsvt", "MD-PSO", "7", "1 of 5", "it found no more", "no, proved: there is none inside its box")]
    lines = table_2._missing(
        "lsvt", "GS", [record("unknown", 0, "time limit (300 s)")], [record("optimal", 5)], [record("optimal", 5)]
    )
    assert lines == [("lsvt", "GS", "7", "5 of 5", "time limit (300 s)", "yes, proved: the nearest is known")]
    (line,) = table_2._missing("lsvt", "GS", [record("unknown", 0)], [record("bounded", 2)], [record("unknown", 0)])
    assert line[-2:] == ("it found nothing", "yes: one is known")
    assert table_2._missing("lsvt", "GS", [record("bounded", 5)], [record("optimal", 5)], [record("optimal", 0)]) == []


def test_what_table_two_prints_is_whole():
    found = table_2.printed()
    assert len(found) == 24
    assert {data for data, _ in found} == set(table_2.ACTIVE)
    for near, _, spread, normalised, coverage in found.values():
        assert spread / near == pytest.approx(normalised, rel=3e-2)
        assert coverage in (0.6, 0.8, 1.0)


def test_a_table_that_is_not_there_is_said(tmp_path):
    with pytest.raises(FileError, match=r"lsvt\.csv\.gz: not found"):
        wide("lsvt", tmp_path)
    (tmp_path / "lsvt.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(FileError, match="cannot be read"):
        wide("lsvt", tmp_path)
    with pytest.raises(FileError, match="there is no table 'x'"):
        wide("x")


@pytest.mark.data
def test_arrhythmia_has_the_features_that_the_paper_counts():
    space = wide("arrhythmia").space
    assert sum(feature.numeric for feature in space.features) == 177
    assert sum(not feature.numeric for feature in space.features) == 85


@pytest.mark.parametrize("case", [pytest.param(CASES[3], marks=pytest.mark.slow), CASES[5]], ids=lambda case: case.name)
def test_a_case_is_proved_and_searched(case):
    solved = solve(case, 60.0)
    if case.best is None:
        assert solved.answer.status == "infeasible"
        assert solved.found.best is None
    else:
        assert solved.answer.distance**0.5 == pytest.approx(case.best, abs=5e-6)
        assert solved.found.best.distance >= solved.answer.lower_bound
