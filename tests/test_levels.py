"""Objectives in order of priority: every level's optimum is that of enumeration, and its certificate is accepted."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

import mace
from mace.base.deadline import Deadline
from mace.certify.writer import Certificate
from mace.errors import MaceError
from mace.problem.around import Neighbourhood
from mace.problem.distance import DistanceError, DistanceProgram, NearestRow, distance_of_costs, norm
from mace.problem.objectives import Objective, Priority, read_objectives
from mace.space.feature import Feature
from mace.space.space import Space
from tests.checkers import accepted_by_all
from tests.clocks import Ticking
from tests.levels import (
    bounded_as_enumerated,
    certified,
    compared,
    plain,
    random_levels,
    random_rows,
    random_sum,
    random_with_forms,
    refused_by_a_hair,
)
from tests.reference import points


@pytest.mark.parametrize("seed", range(40))
def test_levels_are_those_of_enumeration(seed: int) -> None:
    question = plain(seed)
    certified(compared(question, random_levels(seed, question.space)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_the_solvers_agree(seed: int) -> None:
    question = plain(seed)
    compared(question, random_levels(seed, question.space), "z3")


@pytest.mark.parametrize("seed", [0, 4, 8, 9, 10, 12, 14, 22])
def test_a_level_that_claims_a_hair_more_is_refused(seed: int) -> None:
    """What an earlier level allows, or the claim itself, is moved until some point contradicts the certificate."""
    question = plain(seed, "forest")
    priorities = read_objectives(["l1 within 10%", "linf", "changes"], question.space)
    levels = [level for level in compared(question, priorities) if level.exact_lower_bound > 0 and level.proof]
    assert len(levels) == 3
    for level in levels:
        data = level.certificate.to_dict()
        assert level.certificate.check().accepted
        claim = data["statement"]["claim"]
        if level.witness is not None:  # it is at the very distance of the claim
            claim["closer_than"] = str(Fraction(claim["closer_than"]) + Fraction(1, 10**12))
        elif data["statement"]["most_changes"] is not None:
            data["statement"]["most_changes"] += 1
        else:
            rule = data["statement"]["rules"][-1]
            rule[0], rule[2] = "<=", ["c", str(Fraction(rule[2][1]) + Fraction(1, 10**12))]
        data["witness"] = None
        assert not Certificate(data).check().accepted


FORMS = [2, 19, 24, 26, 32, 33, 36, 39]
SUMS = [24, 26, 39, 43, 44, 56]


@pytest.mark.parametrize("seed", FORMS)
def test_levels_around_closeness_are_those_of_enumeration_and_certified(seed: int) -> None:
    question = plain(seed)
    levels = bounded_as_enumerated(question, random_with_forms(seed, question))
    certified = [level for level in levels if level.proof is not None]
    assert accepted_by_all([level.certificate for level in certified])
    assert len(certified) == len(levels) and sum(map(refused_by_a_hair, certified))


@pytest.mark.parametrize("seed", SUMS)
def test_weighted_sums_and_levels_around_them_are_those_of_enumeration_and_certified(seed: int) -> None:
    question = plain(seed)
    of = random_sum(seed, question)
    assert isinstance(of, DistanceProgram)
    by_program = replace(question, distance=replace(of, forms=None))
    summed = replace(question, distance=of)
    for point in list(points(question))[::23]:
        assert summed.distance_of(point) == by_program.distance_of(point)
    more = read_objectives([("l1", "changes", "linf")[seed % 3]], question.space)
    own = (Priority(of, "sum", relative=Fraction(seed % 2, 10)),)
    levels = bounded_as_enumerated(question, (*own, *more) if seed % 2 else (*more, *own))
    assert accepted_by_all([level.certificate for level in levels])
    assert sum(map(refused_by_a_hair, levels))


def test_what_cannot_be_summed_is_refused_with_what_to_ask_instead() -> None:
    space = Space([Feature("a", "integer", 0, 9)])
    rows = pd.DataFrame({"a": [1, 2, 4]})
    for name, instead in (("plausibility", "within"), ("shortfall", "first"), ("d.mace", "one program")):
        with pytest.raises(DistanceError, match="no part of a weighted sum") as error:
            read_objectives([{"l1": 1, name: 1}], space, rows)
        assert instead in str(error.value.hint)
    with pytest.raises(DistanceError, match="background rows"):
        read_objectives([{"closeness": 1}], space)


@pytest.mark.parametrize("seed", range(4))
def test_two_norms_of_a_linear_model_over_floats_are_those_of_linear_programming(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scales, start = rng.uniform(1, 9, 4), rng.uniform(0.3, 0.7, 4)
    space = Space([Feature(f"x{k}", "real", 0.0, float(scale)) for k, scale in enumerate(scales)])
    x = pd.DataFrame(rng.uniform(0, 1, (400, 4)) * scales, columns=space.names)
    model = LinearRegression().fit(x, x @ rng.normal(size=4))
    row = dict(zip(space.names, (start * scales).tolist(), strict=True))
    end = float(model.predict(pd.DataFrame([row]))[0]) + 0.8
    answer = mace.explain(model, space, row, goal=f"y >= {end!r}", objectives=["l1 within 5%", "linf"])
    # Changes up and down of each feature, in shares of its range, and the largest of them.
    gains = model.coef_ * scales
    needed = end - model.intercept_ - gains @ start
    limits = [*((0, 1 - s) for s in start), *((0, s) for s in start), (0, 1)]
    largest = np.hstack([np.eye(4), np.eye(4), -np.ones((4, 1))])
    reach, sums = np.array([*-gains, *gains, 0.0]), np.array([0.25] * 8 + [0.0])
    first = linprog(sums, A_ub=[reach], b_ub=[-needed], bounds=limits)
    rows, most = np.vstack([reach, sums, largest]), [-needed, 1.05 * first.fun, *[0.0] * 4]
    second = linprog([0.0] * 8 + [1.0], A_ub=rows, b_ub=most, bounds=limits)
    for level, expected in zip(answer.levels, (first.fun, second.fun), strict=True):
        assert level.status == "optimal"
        assert level.certificate.check().accepted
        assert level.value == pytest.approx(expected, abs=3e-7)
        assert level.lower_bound <= expected + 1e-9


FRAME = pd.DataFrame({"age": [25, 40, 61, 33], "income": [900.0, 2500.0, 1200.0, 1800.0], "job": ["a", "b", "b", "a"]})
SPACE = Space(
    [
        Feature("age", "integer", 18, 78),
        Feature("income", "real", 0, 4000, step=100),
        Feature("job", "categorical", levels=["a", "b", "c"]),
    ]
)
PRICES = {"age": 100, "income": 1, "job": 900}


@pytest.fixture(scope="module")
def forest() -> RandomForestClassifier:
    rng = np.random.default_rng(3)
    rows = pd.DataFrame(
        {
            "age": rng.integers(18, 79, 300),
            "income": rng.integers(0, 41, 300) * 100.0,
            "job": rng.choice(["a", "b", "c"], 300),
        }
    )
    good = (rows.age > 40) & (rows.income > 1500) | (rows.job == "c") & (rows.income > 2500)
    return RandomForestClassifier(12, max_depth=5, random_state=0).fit(SPACE.encode(rows), good.astype(int))


@pytest.mark.parametrize("unit", [Fraction(1, 10**9), Fraction(10**9)])
@pytest.mark.parametrize("second", ["l1", "linf"])
def test_a_level_over_floats_is_as_near_in_any_unit(second: str, unit: Fraction) -> None:
    """A second objective of small weights was called optimal at twice what it was proved to be at least."""
    rng = np.random.default_rng(0)
    rows = rng.random((100, 3))
    model = LogisticRegression(C=10).fit(rows, rows @ [1, 2, -1] > 1)
    space = Space([Feature(f"x{k}", "real", 0, 1) for k in range(3)])
    ended = set()
    for row in rows[:8]:
        levels = []
        for size in (Fraction(1), unit):
            own = Objective(second, weights={"x0": 3 * size, "x1": size, "x2": 5 * size}, name="own")
            first = Objective("l1", relative=Fraction(1, 100))
            levels.append(mace.explain(model, space, row, objectives=[first, own]).levels[1])
        usual, other = levels
        assert usual.status == other.status
        ended.add(usual.status)
        assert usual.exact_value is not None
        assert other.exact_value is not None
        assert abs(other.exact_value / unit - usual.exact_value) <= usual.exact_value / 10**6
        assert abs(other.exact_lower_bound / unit - usual.exact_lower_bound) <= usual.exact_value / 10**6
    assert ended == {"optimal" if second == "l1" else "bounded"}


def test_a_program_of_small_distances_is_not_optimal_at_half_of_them(tmp_path: Path) -> None:
    """A point had to be better by 1e-9, or by half where that was more than all there is: else the last was optimal."""
    rows = np.random.default_rng(0).random((100, 2))
    model = LogisticRegression(C=10).fit(rows, rows @ [1, 2] > 1.4)
    space = Space([Feature("x0", "real", 0, 1), Feature("x1", "real", 0, 1)])
    program = tmp_path / "small.mace"
    program.write_text("return (abs(x0 - start_x0) * 3 + abs(x1 - start_x1)) / 1000000000\n")
    explainer = mace.Explainer(model, space, objectives=["l1 within 20%", program])
    level = explainer.explain(rows[0], timeout=Deadline.after(300, Ticking())).levels[1]
    assert level.exact_value is not None
    assert level.status == "bounded" or level.exact_lower_bound >= level.exact_value * (1 - Fraction(1, 10**6))


def test_an_answer_has_a_level_for_each_objective(forest: RandomForestClassifier) -> None:
    row = {"age": 25, "income": 900.0, "job": "a"}
    answer = mace.explain(forest, SPACE, row, goal=1, objectives=["l1 within 10%", "changes", "linf"])
    assert [level.name for level in answer.levels] == ["l1", "changes", "linf"]
    assert all(level.status == "optimal" and level.certificate.check().accepted for level in answer.levels)
    single = mace.explain(forest, SPACE, row, goal=1)
    assert answer.levels[0].value == single.distance == single.levels[0].value
    assert answer.levels[1].value == len(answer.counterfactuals[0].changes)
    assert answer.distance is not None and answer.distance <= 1.1 * single.distance
    assert answer.counterfactuals[0].objectives["linf"] == answer.levels[2].value
    assert "2. changes = lower bound = " in str(answer)
    assert "each objective is the least that those before it allow): l1 distance" in str(answer)
    levels = [replace(answer.levels[0], exact_lower_bound=Fraction(0)), *answer.levels[1:]]
    assert "each objective is, within the gap, the least that those before it allow" in str(
        replace(answer, levels=levels)
    )
    assert "nothing nearer" not in str(answer)
    assert set(answer.to_frame().columns) >= {"l1", "changes", "linf"}
    assert [level["name"] for level in answer.to_dict()["levels"]] == ["l1", "changes", "linf"]


def test_costs_are_counted_in_money(forest: RandomForestClassifier) -> None:
    row = {"age": 25, "income": 900.0, "job": "a"}
    answer = mace.explain(forest, SPACE, row, goal=1, objectives=[Objective("cost", prices=PRICES), "changes"])
    (found,) = answer.counterfactuals
    paid = sum(
        PRICES[name] * (1 if name == "job" else abs(after - before)) for name, (before, after) in found.changes.items()
    )
    assert answer.distance == answer.lower_bound == paid == answer.levels[0].value


@pytest.mark.parametrize(
    ("objectives", "message"),
    [
        (["l1", "shortfall"], "`shortfall` comes first"),
        (["l3"], "unknown objective 'l3'"),
        (["cost"], "needs a price for `age`, `income`, `job`"),
        (["l1 within -1"], "tolerance of an objective must be >= 0"),
        ([{"l1": -1}], "weights >= 0"),
        ([], "a list, the most important first"),
    ],
)
def test_an_objective_that_is_none_is_refused(forest: Any, objectives: Any, message: str) -> None:
    with pytest.raises(MaceError, match=re.escape(message)):
        mace.explain(forest, SPACE, FRAME.iloc[0], objectives=objectives)


def test_closeness_is_the_l1_norm_of_a_change_made_uncorrelated(forest: RandomForestClassifier) -> None:
    rng = np.random.default_rng(1)
    rows = pd.DataFrame({"age": rng.integers(18, 79, 200), "job": rng.choice(["a", "b", "c"], 200)})
    rows["income"] = (rows.age * 40 + rng.integers(0, 9, 200) * 100).clip(0, 4000) // 100 * 100.0
    row = {"age": 25, "income": 900.0, "job": "a"}
    answer = mace.explain(
        forest, SPACE, row, goal=1, objectives=["l1 within 20%", "closeness"], background=rows[SPACE.names]
    )
    encoded = SPACE.encode(rows[SPACE.names]).to_numpy(dtype=float)
    spread = encoded.std(axis=0)
    values, vectors = np.linalg.eigh(np.corrcoef(encoded.T) + 1e-6 * np.eye(len(spread)))
    change = SPACE.encode(pd.DataFrame([answer.counterfactuals[0].values, row])).to_numpy(dtype=float)
    expected = abs(vectors @ np.diag(values**-0.5) @ vectors.T @ ((change[0] - change[1]) / spread)).sum()
    assert answer.levels[1].status == "optimal"
    assert answer.levels[1].value == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", ["closeness", "plausibility"])
def test_some_objectives_need_background_rows(forest: RandomForestClassifier, name: str) -> None:
    with pytest.raises(MaceError, match="measured by background rows"):
        mace.explain(forest, SPACE, FRAME.iloc[0], objectives=[name])


@pytest.mark.parametrize("seed", [3, 5, 6, 11])
def test_the_nearest_of_several_rows_is_that_of_enumeration(seed: int) -> None:
    question = plain(seed)
    certified(compared(question, random_rows(seed, question)))


def test_distances_to_many_rows_are_exact_of_those_alone_that_may_be_the_nearest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    space = Space([Feature(name, "real", 0, 1, step="0.001") for name in "abc"])
    rng = np.random.default_rng(0)
    rows = [tuple(row) for row in rng.integers(0, 1001, (500, 3)).tolist()]
    axes = space.axes({"a": 0.5, "b": 0.5, "c": 0.5})
    distance = NearestRow(norm("l1", 3, [1, 2, Fraction(1, 3)]), tuple(rows))
    around, counted = Neighbourhood(space, axes, distance), list[int]()
    truly = min(around.distance_between(row, (7, 8, 9)) for row in rows)
    monkeypatch.setattr(
        "mace.problem.around.distance_of_costs", lambda costs: counted.append(1) or distance_of_costs(costs)
    )
    assert around.distance_of((7, 8, 9)) == truly and len(counted) < 5
    assert around.distance_of(rows[3]) == 0


def test_background_rows_that_a_time_limit_leaves_unread_make_no_distance(forest: RandomForestClassifier) -> None:
    """A million rows were read and compared for five minutes, whatever the limit."""
    background = pd.concat([FRAME] * 40)
    answer = mace.explain(
        forest, SPACE, FRAME.iloc[0], goal=1, objectives=["plausibility", "l1"], background=background, timeout=1e-9
    )
    assert (answer.status, answer.distance) == ("unknown", None)
    assert answer.why == "time limit (1e-09 s), reached while reading background rows"
    assert "unknown" in str(answer) and "unknown" in answer._repr_html_()
    front = mace.front(
        forest,
        SPACE,
        FRAME.iloc[0],
        goal=1,
        objectives=["changes", "plausibility"],
        background=background,
        timeout=1e-9,
    )
    assert (front.status, front.points, front.why) == ("unknown", [], answer.why)


def test_plausibility_is_the_distance_to_the_nearest_row_with_the_goal(forest: RandomForestClassifier) -> None:
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"age": rng.integers(18, 79, 40), "income": rng.integers(0, 41, 40) * 100.0})
    rows = rows.assign(job=rng.choice(["a", "b", "c"], 40))
    row = FRAME.iloc[0]
    there = rows[forest.predict(SPACE.encode(rows)) == 1]
    answer = mace.explain(forest, SPACE, row, goal=1, objectives=["l1 within 20%", "plausibility"], background=rows)

    def apart(one: Any, other: Any) -> float:
        changes = [abs(one.age - other.age) / 60, abs(one.income - other.income) / 4000, float(one.job != other.job)]
        return sum(changes) / 3

    point = answer.counterfactuals[0].point
    assert answer.levels[1].status == "optimal"
    assert answer.levels[1].value == pytest.approx(min(apart(point, there.loc[k]) for k in there.index))
    assert answer.levels[1].certificate.check().accepted
    first = mace.explain(forest, SPACE, row, goal=1, objectives=["plausibility", "l1"], background=rows)
    assert first.levels[0].value == 0  # some row itself may be reached
    assert first.levels[0].certificate.check().accepted
    assert not any("certificate" in note for note in first.notes)
    with pytest.raises(MaceError, match="no background row has the goal"):
        mace.explain(forest, SPACE, row, goal=1, objectives=["plausibility"], background=rows.drop(index=there.index))


def test_rows_off_the_grid_are_no_plausible_ones_and_the_answer_says_so(forest: RandomForestClassifier) -> None:
    row, objectives = FRAME.iloc[0], ["l1 within 20%", "plausibility"]
    rows = pd.DataFrame({"age": [70, 60, 60], "income": [3900.0, 2050.0, 3000.0], "job": ["b", "b", "b"]})
    assert forest.predict(SPACE.encode(rows)).tolist() == [1, 1, 1]
    for asked in (objectives, objectives[1:]):
        notes = mace.explain(forest, SPACE, row, goal=1, objectives=asked, background=rows).notes
        assert any("plausibility is measured from 2 of 3 different background rows" in note for note in notes)
    front = mace.front(forest, SPACE, row, goal=1, objectives=["changes", "plausibility"], background=rows)
    assert any("2 of 3" in note for note in front.notes) and "note: plausibility is measured" in str(front)
    several = mace.explain(
        forest,
        SPACE,
        row,
        goal=1,
        objectives=objectives[1:],
        background=rows,
        count=2,
        together=True,
        diversity="points",
    )
    assert any("2 of 3" in note for note in several.notes)
    on_grid = mace.explain(forest, SPACE, row, goal=1, objectives=objectives, background=rows.iloc[[0, 2]])
    assert not any("background rows" in note for note in on_grid.notes)
    with pytest.raises(MaceError, match="is a point of the space: each is off a feature's grid"):
        mace.explain(forest, SPACE, row, goal=1, objectives=objectives, background=rows.iloc[[1]])


def test_objectives_take_the_place_of_a_distance(forest: RandomForestClassifier) -> None:
    with pytest.raises(MaceError, match="short form"):
        mace.explain(forest, SPACE, FRAME.iloc[0], objectives=["l1"], distance="l0")


def test_a_tolerance_may_be_far_wider_than_all_distances(forest: RandomForestClassifier) -> None:
    """In units of 1e-30 a quarter is more than 64 bits hold."""
    tiny = mace.Objective("l1", weights=dict.fromkeys(SPACE.names, "1e-30"), absolute="0.25")
    answer = mace.explain(forest, SPACE, FRAME.iloc[0], goal=1, objectives=[tiny, "changes", "l1"])
    free = mace.explain(forest, SPACE, FRAME.iloc[0], goal=1, objectives=["changes", "l1"])
    assert (answer.status, free.status) == ("optimal", "optimal")
    assert answer.levels[1].of_answer == free.levels[0].of_answer
    assert answer.levels[2].of_answer == free.levels[1].of_answer
    accepted_by_all(level.certificate for level in answer.levels)
