"""The acceptance cases of the score levels of "Counterfactuals with Constraint Solvers": optima worked out by hand.

The model of most cases is a sum of features, here a linear regression. S1, the distance that the system reports, is the
square root of the mean of |x - x'| / range, which orders points as l1 does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import mace
from mace.compilers.sklearn.outputs import read_sum
from mace.errors import ModelError
from mace.explain.answer import Answer
from mace.space.feature import Feature
from mace.space.space import Space
from tests.checkers import accepted_by_all


def weighted(weights: Sequence[float]) -> LinearRegression:
    """A linear model with these very weights."""
    model = LinearRegression()
    model.coef_, model.intercept_ = np.array(weights, dtype=np.float64), 0.0
    model.n_features_in_, model.rank_, model.singular_ = len(weights), len(weights), np.ones(len(weights))
    model.feature_names_in_ = np.array([f"x{k}" for k in range(len(weights))], dtype=object)
    return model


def space(count: int, lower: Any, upper: Any, step: Any = None, fixed: Sequence[int] = (), **other: Any) -> Space:
    return Space(
        [
            Feature(f"x{k}", "real", lower, upper, step=step, change="fixed" if k in fixed else "any")
            for k in range(count)
        ],
        **other,
    )


def row(values: Sequence[float]) -> Mapping[str, float]:
    return {f"x{k}": float(value) for k, value in enumerate(values)}


def solved(model: LinearRegression, features: Space, x: Sequence[float], goal: str) -> Answer:
    answer = mace.explain(model, features, row(x), goal=goal, objectives=["l1", "changes"])
    assert answer.status == "optimal"
    assert all(level.certificate.check().accepted for level in answer.levels)
    return answer


EXACT = [
    ("T1", (100, 150, 1, 2), (), "490 <= y <= 510", Fraction("0.237"), 0.24341),
    ("T2", (100, 100, 100, 100), (0, 3), "490 <= y <= 510", Fraction("0.09"), 0.15),
    (
        "T3, where the confidence 10 - |y - 500| is .9",
        (100,) * 4,
        (),
        "490.9 <= y <= 509.1",
        Fraction("0.0909"),
        0.15075,
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "x", "fixed", "goal", "moved", "s1"), EXACT, ids=[case[0][:2] for case in EXACT])
def test_a_sum_reaches_an_interval_by_one_feature(name, x, fixed, goal, moved, s1):
    answer = solved(weighted([1] * 4), space(4, 0, 1000, step="0.1", fixed=fixed), x, goal)
    assert answer.exact_distance == moved / 4
    assert answer.exact_distance - answer.exact_lower_bound <= Fraction(1, 10**9)
    assert math.sqrt(answer.distance) == pytest.approx(s1, abs=5e-6)
    assert answer.levels[1].exact_value == answer.levels[1].exact_lower_bound == 1


@pytest.mark.parametrize(("name", "x", "fixed", "goal", "moved", "s1"), EXACT, ids=[case[0][:2] for case in EXACT])
def test_the_same_over_all_floats(name, x, fixed, goal, moved, s1):
    answer = solved(weighted([1] * 4), space(4, 0, 1000, fixed=fixed), x, goal)
    assert float(answer.exact_distance) == pytest.approx(float(moved / 4), rel=1e-12)
    assert math.sqrt(answer.distance) == pytest.approx(s1, abs=5e-6)
    assert answer.exact_distance - answer.exact_lower_bound <= Fraction(1, 10**9)
    assert answer.levels[1].value == answer.levels[1].lower_bound == 1


def test_t4_is_infeasible_and_its_least_shortfall_is_493():
    narrow = space(4, 0, 2, fixed=(2, 3))
    answer = mace.explain(weighted([1] * 4), narrow, row((1,) * 4), goal="499 <= y <= 501")
    assert answer.status == "infeasible"
    assert answer.certificate.check().accepted
    missed = answer.nearest_miss()
    shortfall, l1 = missed.levels
    assert shortfall.exact_value == 493
    assert 493 - shortfall.exact_lower_bound <= Fraction(1, 10**6)
    assert float(l1.exact_value) == 0.25
    assert shortfall.certificate.check().accepted
    assert l1.certificate.check().accepted


def test_t5_moves_one_weight_of_five_where_the_search_changes_four():
    x = (-0.04822564522107575, 2.0912726657731104, 5.368920447474639, 0.7460348559645964, 3.6228232398513613)
    # x2 starts outside of its range: it stays, or comes inside.
    features = [Feature(f"x{k}", "real", -5, max(5, x[2]) if k == 2 else 5) for k in range(5)]
    answer = solved(
        weighted([5, 0, 1, 25, -5]),
        Space(features, rules=["x2 <= 5 or x2 == start_x2"]),
        x,
        "y within 0.01 of 0",
    )
    (found,) = answer.counterfactuals
    assert list(found.changes) == ["x3"]
    assert found.changes["x3"][1] - x[3] == pytest.approx(-0.226182, abs=1e-6)
    assert math.sqrt(answer.distance) == pytest.approx(0.06726, abs=5e-6)
    assert answer.levels[1].value == answer.levels[1].lower_bound == 1


def test_t6_needs_one_feature_at_most():
    answer = solved(weighted([1, 1]), space(2, 0, 10), (0, 5), "9.9 <= y <= 10.1")
    assert answer.levels[1].value == answer.levels[1].lower_bound == 1
    assert answer.distance == pytest.approx(0.49 / 2, rel=1e-9)


OUTPUTS = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]])


@pytest.mark.parametrize("weights", [None, (2.0, 1.0, 0.5)])
def test_t7_the_goal_is_about_a_sum_of_several_outputs(weights):
    model = weighted(OUTPUTS[0])
    model.coef_, model.intercept_ = OUTPUTS, np.zeros(3)
    asked = mace.SumOfOutputs(model, weights)
    assert repr(asked).startswith(f"SumOfOutputs({type(model).__name__}")
    rates = OUTPUTS.sum(axis=0) if weights is None else np.array(weights) @ OUTPUTS
    answer = mace.explain(
        asked, space(4, 0, 1000, step=1), row((10,) * 4), goal="500 <= y <= 700", objectives=["l1", "changes"]
    )
    assert answer.status == "optimal"
    assert accepted_by_all([level.certificate for level in answer.levels])
    least = math.ceil((500 - 10 * rates.sum()) / rates.max())  # of the feature that most outputs count
    assert answer.exact_distance == Fraction(least, 4000) and answer.levels[1].exact_value == 1
    changed = {name: float(value) for name, (_, value) in answer.counterfactuals[0].changes.items()}
    assert 500 <= asked.predict(pd.DataFrame([{**row((10,) * 4), **changed}]))[0] <= 700


def test_a_sum_of_outputs_says_what_it_does_not_read():
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor(max_depth=1).fit(np.arange(8.0).reshape(4, 2), np.arange(8.0).reshape(4, 2))
    with pytest.raises(ModelError, match="SumOfOutputs over a DecisionTreeRegressor"):
        read_sum(mace.SumOfOutputs(tree))
    with pytest.raises(ModelError, match="weights has shape"):
        read_sum(mace.SumOfOutputs(weighted([1, 1]), (1, 2)))
