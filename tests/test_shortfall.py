"""The least shortfall of a goal is that of enumeration through `predict`, and its certificate is accepted."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import mace
from mace.errors import GoalError, MaceError
from tests.small_spaces import MIXED as SPACE
from tests.small_spaces import MIXED_ROWS as ROWS


def target(rng: np.random.Generator) -> Any:
    noise = rng.normal(size=len(ROWS))
    return ROWS.a - 3 * ROWS.b + 2 * (ROWS.c == "y") - ROWS.d * rng.normal() + noise


NUMBERS = {
    "tree": DecisionTreeRegressor(max_depth=5, random_state=0),
    "forest": RandomForestRegressor(8, max_depth=4, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=12, max_depth=2, random_state=0),
    "linear": LinearRegression(),
    "network": MLPRegressor(hidden_layer_sizes=(4,), max_iter=60, random_state=0),
}
CLASSES = {
    "forest": RandomForestClassifier(8, max_depth=4, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=12, max_depth=2, random_state=0),
    "logistic": LogisticRegression(max_iter=500),
}


def allowed(row: pd.Series[Any]) -> pd.DataFrame:
    return ROWS[ROWS.d >= row.d]


def distance(rows: pd.DataFrame, row: pd.Series[Any]) -> Any:
    sums = abs(rows.a - row.a) / 6 + abs(rows.b - row.b) + (rows.c != row.c) + abs(rows.d - row.d) / 6
    return sums / 4


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("seed", range(2))
def test_the_least_shortfall_of_a_number_is_that_of_enumeration(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = NUMBERS[name].fit(SPACE.encode(ROWS), target(rng))
    row = ROWS.iloc[int(rng.integers(len(ROWS)))]
    rows = allowed(row)
    said = model.predict(SPACE.encode(rows))
    for low, high in ((said.max() + 2, said.max() + 3), (said.min() - 4, said.min() - 1), (float(said[0]), 1e6)):
        answer = mace.explain(model, SPACE, row, goal=f"{low} <= y <= {high}", objectives=["shortfall", "l1"])
        misses = np.maximum(0, np.maximum(low - said, said - high))
        level, second = answer.levels
        assert level.status == second.status == "optimal"
        assert level.lower_bound <= misses.min() + 1e-12
        assert level.value == pytest.approx(misses.min(), rel=1e-8, abs=1e-9)
        assert level.certificate.check().accepted
        near = distance(rows[misses <= misses.min() + 1e-9], row).min()
        assert second.value == pytest.approx(near, rel=1e-8)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("form", ["p(1) >= {}", "1 by {}", "1"])
def test_the_least_shortfall_of_a_class_is_that_of_enumeration(name: str, form: str) -> None:
    rng = np.random.default_rng(7)
    y = target(rng)
    model = CLASSES[name].fit(SPACE.encode(ROWS), (y > np.quantile(y, 0.9)).astype(int))
    row = ROWS.iloc[int(np.argmin(y))].copy()
    row["d"] = 6
    rows = allowed(row)
    p = model.predict_proba(SPACE.encode(rows))[:, 1]
    end = (p.max() + 1) / 2
    answer = mace.explain(model, SPACE, row, goal=form.format(end), objectives=["shortfall", "l1"])
    misses = {"p(": np.maximum(0, end - p), "1 ": np.maximum(0, end - (2 * p - 1)), "1": np.maximum(0, 1 - 2 * p)}
    least = misses[form[:2]].min()
    assert answer.levels[0].status == "optimal"
    assert answer.levels[0].value == pytest.approx(least, rel=1e-8, abs=1e-9)
    assert answer.levels[0].certificate.check().accepted


def test_the_nearest_miss_of_an_infeasible_answer_is_asked_anew() -> None:
    model = NUMBERS["tree"].fit(SPACE.encode(ROWS), ROWS.a.astype(float))
    answer = mace.explain(model, SPACE, ROWS.iloc[0], goal="y >= 9", distance="l0")
    assert answer.status == "infeasible"
    with pytest.raises(MaceError, match="does not hold its model any more\nAsk again, with objectives="):
        pickle.loads(pickle.dumps(answer)).nearest_miss()  # not the answer itself, as if nothing were nearer
    missed = answer.nearest_miss()
    assert [level.name for level in missed.levels] == ["shortfall", "l0"]
    assert missed.levels[0].value == missed.levels[0].lower_bound == 3
    assert missed.counterfactuals[0].values["a"] == 6
    assert "the goal cannot be met: `y >= 6` is the nearest to it" in str(missed)
    assert missed.nearest_miss() is missed
    assert pickle.loads(pickle.dumps(missed)).levels[0].value == 3


def test_what_may_be_missed_by_less_is_not_said_to_be_the_nearest() -> None:
    # The start was as near as a gap asked for, or a time limit left it: "no change brings the row nearer to the goal".
    model = NUMBERS["tree"].fit(SPACE.encode(ROWS), ROWS.a.astype(float))
    row = ROWS[ROWS.a == 2].iloc[0]
    rough, exact = (
        mace.explain(model, SPACE, row, goal="y >= 9", objectives=["shortfall", "l0"], gap=gap) for gap in (10, 0)
    )
    assert exact.levels[0].value == 3 and rough.levels[0].value == 7 and rough.levels[0].lower_bound < 3
    assert "no change is known that brings the row nearer to the goal" in rough.notes
    assert "`y >= 2` is the nearest to it that was found" in str(rough) and "by more than the gap" in str(rough)
    assert "`y >= 6` is the nearest to it" in str(exact) and "found" not in str(exact)


def test_a_goal_of_several_classes_has_no_shortfall() -> None:
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(SPACE.encode(ROWS), ROWS.a % 4)
    with pytest.raises(GoalError, match="names several classes"):
        mace.explain(model, SPACE, ROWS.iloc[0], goal=[2, 3], objectives=["shortfall", "l1"])


def test_a_share_of_votes_that_stays_at_nothing_is_missed_by_all_of_it() -> None:
    rows = pd.DataFrame({"x": [0.0, 1.0, 2.0, 8.0, 9.0]})
    model = DecisionTreeClassifier().fit(rows, [0, 0, 0, 1, 1])
    space = mace.Space([mace.Feature("x", "integer", 0, 3)])
    objectives = ["shortfall", "l1"]
    answer = mace.explain(model, space, {"x": 1}, goal="p(1) >= 0.9", objectives=objectives)
    assert [level.value for level in answer.levels] == [0.9, 0.0]
    assert all(level.certificate.check().accepted for level in answer.levels)
    assert "no change brings the row nearer to the goal" in answer.notes
    assert "nothing that may change comes nearer to the goal" in str(answer)


BREAKING = {
    "boosting": GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=0),
    "logistic": LogisticRegression(max_iter=500),
    "calibrated": CalibratedClassifierCV(DecisionTreeClassifier(max_depth=3, random_state=0), cv=2, ensemble=False),
    "steps": CalibratedClassifierCV(
        DecisionTreeClassifier(max_depth=3, random_state=0), method="isotonic", cv=2, ensemble=False
    ),
    "mean": CalibratedClassifierCV(LogisticRegression(max_iter=500), method="isotonic", cv=2),
}


@pytest.mark.parametrize("name", BREAKING)
def test_a_row_that_breaks_a_rule_may_be_content_with_any_probability(name: str) -> None:
    """No point is known then: any is asked for. That was a goal that every input has, and an error."""
    few = mace.Space([SPACE["a"], SPACE["b"]])
    rows = few.encode(ROWS[["a", "b"]].drop_duplicates().reset_index(drop=True))
    y = (rows.a + rows.b > 5.5).astype(int)
    model = BREAKING[name].fit(rows, y)
    p = model.predict_proba(rows)[:, 1]
    for least, most, goal in ((3, 6, "p(1) >= 0.999999"), (1, 2, "p(1) >= 0.999999"), (1, 2, "1")):
        inside = (rows.a >= least) & (rows.a <= most)
        rules = [f"a >= {least} and a <= {most}"]
        answer = mace.explain(model, few, {"a": 0, "b": 0}, goal=goal, rules=rules, objectives=["shortfall", "l1"])
        wanted = np.maximum(0, 0.999999 - p) if "p" in goal else np.maximum(0, 1 - 2 * p)
        assert answer.levels[0].value == pytest.approx(wanted[inside].min(), abs=1e-9)
        near = ((rows.a / 6 + rows.b) / 2)[inside & (wanted <= wanted[inside].min() + 1e-9)].min()
        assert answer.levels[1].value == pytest.approx(near)
        assert all(level.certificate.check().accepted for level in answer.levels)


def test_an_open_end_that_is_reached_and_not_passed_is_no_goal_that_is_met() -> None:
    """It is missed by nothing. A farther point than the nearest on that end was called the nearest with the goal."""
    rows = pd.DataFrame({"a": range(6)})
    space = mace.Space.from_frame(rows)
    number = DecisionTreeRegressor().fit(rows, [0, 1, 2, 3, 4, 4.0])
    share = DecisionTreeClassifier().fit(rows, [0, 0, 0, 0, 1, 1])
    for model, goal, held, values in (
        (number, "y > 4", "y >= 4", {"a": 4}),
        (number, "2 < y < 3", "2 <= y <= 3", {"a": 2}),
        (share, "p(1) > 1", "p(1) >= 1", {"a": 4}),
    ):
        answer = mace.explain(model, space, {"a": 1}, goal=goal, objectives=["shortfall", "l1"])
        assert answer.counterfactuals[0].values == values
        assert answer.misses and any(f"cannot be met: `{held}`" in note for note in answer.notes)
        assert all(level.certificate.check().accepted for level in answer.levels)
        assert "no allowed point has the goal" in str(answer.levels[0].certificate.check())
