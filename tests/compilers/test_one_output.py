"""One output of a model that asks one model for each: it is read as that model."""

from __future__ import annotations

import numpy as np
import pytest

import mace
from mace.errors import GoalError, ModelError
from mace.space.feature import Feature
from mace.space.space import Space
from tests.test_families_agree import sklearn

SPACE = Space([Feature("a", "integer", 0, 5), Feature("b", "integer", 0, 5)])
ROWS = np.random.default_rng(0).integers(0, 6, (80, 2)).astype(float)


def test_one_output_of_several_is_the_model_that_is_asked_for_it() -> None:
    labels = np.column_stack([ROWS[:, 0] > 2, np.digitize(ROWS[:, 1], [2, 4])]).astype(int)
    tree = sklearn("tree.DecisionTreeClassifier", max_depth=3, random_state=0)
    whole = sklearn("multioutput.MultiOutputClassifier", estimator=tree).fit(ROWS, labels)
    answer = mace.explain(mace.OneOutput(whole, 1), SPACE, {"a": 0, "b": 0}, goal=2)
    assert answer.status == "optimal" and answer.certificate.check().accepted
    (found,) = answer.counterfactuals
    assert whole.predict([[found.values["a"], found.values["b"]]])[0][1] == 2
    with pytest.raises(ModelError, match="no output 2"):
        mace.explain(mace.OneOutput(whole, 2), SPACE, {"a": 0, "b": 0})


def test_one_of_several_numbers_behind_a_scaler() -> None:
    from sklearn.pipeline import make_pipeline

    member = make_pipeline(sklearn("preprocessing.StandardScaler"), sklearn("linear_model.Ridge"))
    whole = sklearn("multioutput.MultiOutputRegressor", estimator=member).fit(
        ROWS, ROWS @ np.array([[1.0, 2], [0, -1]])
    )
    answer = mace.explain(mace.OneOutput(whole, 0), SPACE, {"a": 0, "b": 3}, goal="y >= 2.5")
    assert answer.status == "optimal" and answer.counterfactuals[0].values == {"a": 3, "b": 3}


def test_one_output_behind_the_steps_of_a_pipeline() -> None:
    from sklearn.pipeline import make_pipeline

    tree = sklearn("tree.DecisionTreeClassifier", max_depth=2, random_state=0)
    last = sklearn("multioutput.MultiOutputClassifier", estimator=tree)
    whole = make_pipeline(sklearn("preprocessing.StandardScaler"), last).fit(ROWS, (ROWS > 2).astype(int))
    answer = mace.explain(mace.OneOutput(whole, 1), SPACE, {"a": 0, "b": 0}, goal=1)
    assert answer.status == "optimal" and answer.counterfactuals[0].values == {"a": 0, "b": 3}


def test_one_output_of_a_forest_is_not_its_first_tree() -> None:
    for name in ("ensemble.RandomForestClassifier", "tree.DecisionTreeClassifier"):
        model = sklearn(name, max_depth=2, random_state=0).fit(ROWS, (ROWS[:, 0] > 2).astype(int))
        with pytest.raises(ModelError, match=f"and got {name.partition('.')[2]}"):
            mace.explain(mace.OneOutput(model, 0), SPACE, {"a": 0, "b": 0})


def test_outputs_of_different_classes_are_asked_for_by_their_places() -> None:
    labels = np.column_stack([ROWS[:, 0] > 2, np.digitize(ROWS[:, 1], [2, 4])]).astype(int)
    tree = sklearn("tree.DecisionTreeClassifier", max_depth=3, random_state=0)
    several = sklearn("multioutput.MultiOutputClassifier", estimator=tree).fit(ROWS, labels)
    at_once = sklearn("tree.DecisionTreeClassifier", max_depth=5, random_state=0).fit(ROWS, labels)
    for model in (several, at_once):
        with pytest.raises(GoalError, match="has 2 outputs"):
            mace.explain(model, SPACE, {"a": 0, "b": 0}, goal=1)
        for targets, needed in (({1: 2, 0: 0}, (0, 4)), ({1: 2}, (0, 4)), ({0: 1}, (3, 0))):
            answer = mace.explain(model, SPACE, {"a": 0, "b": 0}, goal=mace.Targets(targets))
            assert answer.status == "optimal" and tuple(answer.counterfactuals[0].values.values()) == needed
        with pytest.raises(GoalError, match="no output `2`"):
            mace.explain(model, SPACE, {"a": 0, "b": 0}, goal=mace.Targets({2: 1}))
