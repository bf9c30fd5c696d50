"""What is made once and kept changes no answer, and is never given where anything that it depends on differs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

import mace
from mace.base.cache import Kept
from mace.errors import ModelError
from mace.explain.explainer import Explainer
from mace.problem.distance import norm
from mace.problem.question import Goal, Question
from mace.solve.ensembles.arrays.cells import ground
from mace.solve.ensembles.arrays.costs import charges_of, costs_of, scale_of
from mace.solve.ensembles.arrays.cuts import tests_of as cut_by
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.protocol import Limits, Reply
from mace.space.axes import GridAxis, LevelAxis
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables import leaves
from mace.tables.table import Ensemble, decision_for
from tests.oracles.small_ensembles import points_of, random_question, random_space
from tests.small_spaces import SPECS

FEATURES = [
    Feature("age", "integer", 18, 60, change="increase"),
    Feature("income", "real", 0, 10),
    Feature("debt", "real", "0", "5", step="0.25"),
    Feature("job", "categorical", levels=["a", "b", "c"]),
    Feature("grade", "ordinal", levels=["low", "mid", "high"]),
]


def rows(count: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 61, count),
            "income": rng.random(count) * 10,
            "debt": np.round(rng.random(count) * 5, 2),  # some of them off the steps
            "job": rng.choice(["a", "b", "c"], count),
            "grade": rng.choice(["low", "mid", "high"], count),
        }
    )


def target(frame: pd.DataFrame) -> np.ndarray:
    score = frame["income"] - frame["debt"] + (frame["job"] == "b") + (frame["grade"] == "high") + frame["age"] / 30
    return (score > 5).astype(int).to_numpy()


MODELS = {
    "forest": RandomForestClassifier(7, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0),
    "logistic": LogisticRegression(max_iter=1000),
    "network": MLPClassifier((3,), max_iter=200, random_state=0, solver="lbfgs"),
}


def said(answer: mace.Answer) -> tuple[Any, ...]:
    shown = [(c.values, c.exact_distance, c.status) for c in answer.counterfactuals]
    bounds = (answer.exact_distance, answer.exact_lower_bound)
    return (answer.status, answer.goal, answer.decision, answer.start, *bounds, shown, answer.notes, answer.proof)


@pytest.mark.parametrize("name", MODELS)
def test_an_explainer_in_use_answers_as_a_fresh_one(name: str) -> None:
    frame, space = rows(300), Space(FEATURES)
    model = MODELS[name].fit(space.encode(frame).to_numpy(), target(frame))
    specs: list[tuple[str, list[str], dict[str, float] | None]] = [
        ("l1", [], None), ("l0", ["debt <= income"], {"job": 2.0}), ("linf", [], {"age": 0.5}),
    ]  # fmt: skip
    used = [Explainer(model, space, rules=rules, distance=spec, weights=w) for spec, rules, w in specs]
    rng = np.random.default_rng(1)
    for row in rows(6, seed=2).to_dict("records"):
        place, goal = int(rng.integers(3)), [None, 1, 0, "p(1) >= 0.6"][rng.integers(4)]
        spec, rules, weights = specs[place]
        fresh = Explainer(model, space, rules=rules, distance=spec, weights=weights)
        options = {"goal": goal, "count": int(rng.integers(1, 3)), "rgap": 0.01 if name == "network" else None}
        if rng.random() < 0.3:
            options["most_changes"] = 2
        assert said(used[place].explain(row, **options)) == said(fresh.explain(row, **options)), (row, options)


def test_the_same_goal_in_other_words_keeps_its_own_text() -> None:
    frame, space = rows(100), Space(FEATURES)
    model = MODELS["forest"].fit(space.encode(frame).to_numpy(), target(frame))
    explainer, row = Explainer(model, space), frame.iloc[0].to_dict()
    assert [explainer.explain(row, goal=goal).goal for goal in (1, True, 1.0, 1)] == ["1", "True", "1.0", "1"]


# ---------------------------------------------------------------------------------------------- trees


def others(question: Question, seed: int) -> Iterator[Question]:
    """Questions about the same table: other starts, spaces, distances, goals and numbers of changes."""
    rng = np.random.default_rng(seed)
    for number in range(5):
        points = points_of(replace(question, axes=question.space.free().axes(values(question))))
        start = points[rng.integers(len(points))]
        space = question.space if number % 2 else question.space.free()
        axes = space.axes(space.show(question.space.free().axes(values(question)), start))
        weights = [str(rng.choice(["1", "0.7", "3"])) for _ in axes]
        distance = norm(SPECS[rng.integers(len(SPECS))], len(axes), weights)
        assert isinstance(question.model, Ensemble)
        goal = question.goal
        if question.model.rule != "value" and number > 2:
            label = question.model.classes[rng.integers(len(question.model.classes))]
            goal = Goal(str(label), frozenset([label]), decision_for(question.model, {label}))
        yield replace(question, space=space, axes=axes, distance=distance, goal=goal, avoid=(), most_changes=None)


def values(question: Question) -> dict[str, object]:
    return question.space.show(question.axes, question.start)


def ask(question: Question) -> Reply:
    return EnsembleOracle(question).ask(None, Limits())


@pytest.mark.parametrize("seed", range(40))
def test_questions_about_one_table_do_not_disturb_each_other(seed: int) -> None:
    question = random_question(seed)
    asked = [question, *others(question, seed), question]
    for one in asked:
        assert ask(one) == ask(replace(one, model=replace(one.model))), values(one)


def test_what_is_kept_is_as_it_was_after_a_search() -> None:
    question = random_question(3)
    assert isinstance(question.model, Ensemble)
    made = [ground(question).forest, cut_by(question, question.model, lambda: None)]
    before = [np.copy(array) for some in made for array in some if isinstance(array, np.ndarray)]
    for one in [question, *others(question, 3)]:
        ask(one)
    after = [array for some in made for array in some if isinstance(array, np.ndarray)]
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def test_a_part_of_a_range_has_the_cuts_of_that_part() -> None:
    for seed in range(60):
        question = random_question(seed)
        model = question.model
        assert isinstance(model, Ensemble)
        tests = cut_by(question, model, lambda: None)
        for j, axis in enumerate(question.axes):
            if not isinstance(axis, GridAxis):
                continue
            # Within a cell no tree tells two values apart; `row` and `leaf` know nothing of cuts.
            changes = set()
            for index in range(axis.lower, axis.upper):
                point = question.start[:j], question.start[j + 1 :]
                one, other = ((*point[0], at, *point[1]) for at in (index, index + 1))
                reached = [
                    [question.model.leaf(t, question.row(p)) for t in question.model.trees] for p in (one, other)
                ]
                if reached[0] != reached[1]:
                    changes.add(index)
            assert changes <= set(tests.cuts[j].tolist())


# ---------------------------------------------------------------------------------------------- costs


@pytest.mark.parametrize("seed", range(60))
def test_scaled_costs_are_rounded_down_by_less_than_is_said(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space, row = random_space(rng)
    axes = space.axes(row)
    weights = [str(rng.choice(["1", "2", "0.3", "0", "1/7"])) for _ in axes]
    distance = norm(SPECS[seed % len(SPECS)], len(axes), weights)
    scale, width = scale_of(axes, distance)
    found = []
    for axis, charge in zip(axes, charges_of(distance, scale), strict=True):
        indices = axis.levels() if isinstance(axis, LevelAxis) else range(axis.lower, axis.upper + 1)
        found.append(list(zip(indices, *costs_of(axis, charge, np.array(indices)), strict=True)))
    for point in itertools.islice(itertools.product(*found), 300):
        scaled = sum(part for _, part, _ in point) + max(top for _, _, top in point)
        exact = distance.of([axis.delta(index) for axis, (index, _, _) in zip(axes, point, strict=True)]) * scale
        assert scaled <= exact
        assert exact - scaled < width if width else exact == scaled


@pytest.mark.parametrize("cost", [0, "0.3", 1])
@pytest.mark.parametrize("start", [None, 1])
@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_what_a_missing_value_costs_is_the_same_in_units(spec: Any, start: int | None, cost: Any) -> None:
    # A change that is declared free is no change, to l0 neither: each index by the definition of the norm.
    axes = [Feature(name, "integer", 0, 3, missing="any", missing_cost=cost).axis(start) for name in "ab"]
    distance = norm(spec, 2, ["2", "1/3"])
    scale, width = scale_of(axes, distance)
    assert width == 0
    for j, axis in enumerate(axes):
        assert isinstance(axis, GridAxis)
        costs = costs_of(axis, charges_of(distance, scale)[j], np.arange(axis.lower, axis.upper + 1))
        for place, index in enumerate(range(axis.lower, axis.upper + 1)):
            delta, weight = axis.delta(index), distance.weights[j] * scale
            assert delta == cost_of_turning(axis, index, start, cost)
            assert costs.part[place] == (weight * (distance.alpha + distance.beta * delta) if delta else 0)
            assert costs.top[place] == weight * distance.gamma * delta


def cost_of_turning(axis: GridAxis, index: int, start: int | None, cost: Any) -> Fraction:
    """By the words of `missing_cost`: what it says between a value and none, else the change over the range."""
    if (index == axis.missing) != (start is None):
        return Fraction(cost)
    return Fraction(0) if start is None else abs(axis.value(index) - start) / 3


def test_changes_of_floats_are_counted_exactly_where_only_their_number_counts() -> None:
    axis = Feature("x", "real", 0, 1).axis(0.5)
    axes = (axis, axis, axis)
    distance = norm("l0", 3)
    scale, width = scale_of(axes, distance)
    assert (scale, width) == (3, 0)
    many = np.arange(axis.lower, axis.lower + 100)
    assert costs_of(axis, charges_of(distance, scale)[0], many).part.tolist() == [1] * 100


# ---------------------------------------------------------------------------------------------- keeping


class Thing:
    """Something that results are kept about."""


def test_results_are_kept_by_object_and_key_and_the_oldest_is_forgotten() -> None:
    kept: Kept[int] = Kept(2)
    one, other, made = Thing(), Thing(), []

    def get(about: Thing, key: object) -> int:
        def make() -> int:
            made.append(key)
            return len(made)

        return kept.get(about, key, make)

    assert [get(one, "a"), get(one, "a"), get(other, "a"), get(one, "b"), get(one, "a")] == [1, 1, 2, 3, 1]
    assert get(one, "c") == 4  # "b" was asked for longest ago
    assert [get(one, "a"), get(one, "b")] == [1, 5]


@pytest.mark.parametrize("seed", range(30))
def test_scores_of_one_row_are_those_of_its_trees(seed: int) -> None:
    question = random_question(seed)
    assert isinstance(question.model, Ensemble)
    for point in points_of(question)[:20]:
        row = question.row(point)
        assert leaves.one(question.model, row).tolist() == question.model.scores(row).tolist()


# ---------------------------------------------------------------------------------------------- the deployed model


def test_the_deployed_model_is_asked_once_where_no_rounding_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, space = rows(200), Space(FEATURES)
    model = MODELS["forest"].fit(space.encode(frame).to_numpy(), target(frame))
    explainer = Explainer(model, space)
    calls: list[int] = []
    ask_library = explainer.judge.deployed.predict

    def predict(matrix: pd.DataFrame) -> Any:
        calls.append(len(matrix))
        return ask_library(matrix)

    monkeypatch.setitem(explainer.judge.__dict__, "deployed", replace(explainer.judge.deployed, predict=predict))
    answer = explainer.explain(frame.iloc[0].to_dict(), goal=1 - int(target(frame)[0]))
    assert answer.status == "optimal"
    assert calls == [2]  # the row and its counterfactual


@pytest.mark.parametrize("liar", ["the row", "the counterfactual"])
def test_a_model_that_is_not_what_was_read_is_found_out_before_anything_is_said(
    liar: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, space = rows(200), Space(FEATURES)
    model = MODELS["forest"].fit(space.encode(frame).to_numpy(), target(frame))
    explainer = Explainer(model, space)
    ask_library = explainer.judge.deployed.predict

    def predict(matrix: pd.DataFrame) -> Any:
        found = ask_library(matrix).copy()
        place = 0 if liar == "the row" else -1
        found[place] = 1 - found[place]
        return found

    monkeypatch.setitem(explainer.judge.__dict__, "deployed", replace(explainer.judge.deployed, predict=predict))
    row = frame.iloc[0].to_dict()
    with pytest.raises(ModelError, match="contradicts the numbers that were read of it"):
        explainer.explain(row, goal=1 - int(model.predict(space.encode(frame[:1]).to_numpy())[0]))
