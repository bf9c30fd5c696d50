"""Calibrated classifiers that average pipelines, each with steps of its own, held to the library and to enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import mace
from mace.compilers.pipeline.reader import compile_pipeline
from mace.errors import UnreadableError
from mace.space.feature import Feature
from mace.space.space import Space
from tests.checkers import accepted_by_all
from tests.compilers.held_to_all import held_to_all

JOBS = ("clerk", "nurse", "baker")
SPACE = Space([
    Feature("age", "integer", 18, 29),
    Feature("job", "categorical", levels=JOBS),
    Feature("size", "real", 0, 3, step="0.5"),
])  # fmt: skip
PEOPLE = pd.DataFrame(list(itertools.product(range(18, 30), JOBS, np.arange(7) / 2)), columns=["age", "job", "size"])
ACCEPTED = (PEOPLE.age * (PEOPLE.job != "clerk") + 6 * PEOPLE["size"] > 29).astype(int)


def scaled() -> Any:
    """Numbers scaled, jobs as dummies."""
    return make_column_transformer((StandardScaler(), ["age", "size"]), (OneHotEncoder(), ["job"]))


MODELS: dict[str, Any] = {
    "linear": lambda: make_pipeline(scaled(), LogisticRegression()),
    "margins": lambda: make_pipeline(scaled(), LinearSVC(random_state=0)),
    "projected": lambda: make_pipeline(scaled(), PCA(3), LogisticRegression()),
    "forest": lambda: make_pipeline(scaled(), RandomForestClassifier(4, max_depth=3, random_state=0)),
    "searched": lambda: GridSearchCV(MODELS["forest"](), {"randomforestclassifier__max_depth": [2, 3]}, cv=2),
    "tree": lambda: make_pipeline(scaled(), DecisionTreeClassifier(max_depth=3, random_state=0)),
}


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("kind", MODELS)
def test_answers_are_the_nearest_of_all_people_and_their_proofs_stand(kind: str, method: str) -> None:
    model = CalibratedClassifierCV(MODELS[kind](), method=method, cv=3).fit(PEOPLE, ACCEPTED)
    assert compile_pipeline(model, SPACE).table.outputs == 3  # a score for each member

    def distances(found: pd.DataFrame, start: Any) -> Any:
        return [
            (found.age - start.age).abs() / 11,
            (found.job != start.job).astype(float),
            (found["size"] - start["size"]).abs() / 3,
        ]

    held_to_all(mace.Explainer(model, SPACE), PEOPLE, model.predict(PEOPLE), distances, every=29)


def held_to_predict(model: Any, space: Space) -> None:
    """An answer is proved, accepted by every checker, and what `predict` says."""
    refused = PEOPLE[model.predict(PEOPLE) == 0].iloc[0]
    answer = mace.explain(model, space, refused, goal=1)
    assert answer.status == "optimal"
    assert model.predict(pd.DataFrame([answer.counterfactuals[0].values]))[0] == 1
    accepted_by_all([answer.certificate])


def test_behind_steps_of_all_members_stand_those_of_each() -> None:
    inner = CalibratedClassifierCV(make_pipeline(StandardScaler(), LogisticRegression()), cv=3)
    model = make_pipeline(scaled(), inner).fit(PEOPLE, ACCEPTED)
    held_to_predict(model, SPACE)


def test_members_over_what_the_space_encodes() -> None:
    matrix = SPACE.encode(PEOPLE)
    for step, given in itertools.product(("passthrough", StandardScaler()), (matrix, matrix.to_numpy())):
        model = CalibratedClassifierCV(make_pipeline(step, LogisticRegression()), cv=3)
        model.fit(given, ACCEPTED)
        refused = PEOPLE[model.predict(given) == 0].iloc[0]
        answer = mace.explain(model, SPACE, refused, goal=1)
        assert answer.status == "optimal"
        assert answer.oracle == "networks"
        accepted_by_all([answer.certificate])


def test_members_take_what_a_sparse_matrix_does_not_store_as_their_library_does() -> None:
    """XGBoost takes it for missing; that it is averaged by scikit-learn does not change that."""
    dummies = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["age", "job"]), ("passthrough", ["size"])
    )
    space = Space([
        Feature("age", "ordinal", levels=tuple(range(18, 30))), *(SPACE[name] for name in ("job", "size"))
    ])  # fmt: skip
    booster = XGBClassifier(n_estimators=4, max_depth=3)
    for model in (
        CalibratedClassifierCV(make_pipeline(dummies, booster), cv=3),
        make_pipeline(dummies, CalibratedClassifierCV(booster, cv=3)),
    ):
        model.fit(PEOPLE, ACCEPTED)
        held_to_predict(model, space)


def test_members_of_which_some_are_given_sparse_matrices_are_refused_where_that_matters() -> None:
    folds = [(np.arange(0, 252, 2), np.arange(1, 252, 2)), (np.arange(1, 252, 2), np.arange(0, 252, 2))]
    for booster, readable in ((XGBClassifier(n_estimators=3), False), (DecisionTreeClassifier(max_depth=3), True)):
        model = CalibratedClassifierCV(make_pipeline(scaled(), booster), cv=folds).fit(PEOPLE, ACCEPTED)
        for number, member in enumerate(model.calibrated_classifiers_):
            # `fit` decides it by the share of zeros, which differs from one member to the next.
            member.estimator.steps[0][1].sparse_output_ = number == 0
        if readable:
            assert compile_pipeline(model, SPACE).table.outputs == 2
        else:
            with pytest.raises(UnreadableError, match="sparse matrices and others are not"):
                compile_pipeline(model, SPACE)


@pytest.mark.parametrize("ensemble", [True, False])
def test_a_random_forest_of_lightgbm_is_calibrated_by_the_sums_of_its_trees(ensemble: bool) -> None:
    """Its `predict_proba` takes their mean, its `decision_function` does not."""
    forest = LGBMClassifier(
        n_estimators=5, max_depth=3, boosting_type="rf", bagging_freq=1, bagging_fraction=0.6, verbose=-1
    )
    model = CalibratedClassifierCV(make_pipeline(scaled(), forest), cv=2, ensemble=ensemble).fit(PEOPLE, ACCEPTED)
    refused = PEOPLE[model.predict(PEOPLE) == 0].iloc[0]
    answer = mace.explain(model, SPACE, refused, goal="p(1) >= 0.6")
    assert answer.status == "optimal"
    assert model.predict_proba(pd.DataFrame([answer.counterfactuals[0].values]))[0, 1] >= 0.6
    accepted_by_all([answer.certificate])
