"""Calibrated classifiers that average pipelines, each with steps of its own, held to the library and to enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.compilers.pipeline.reader import compile_pipeline
from mace.space.feature import Feature
from mace.space.space import Space
from tests.checkers import accepted_by_all

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
    "tree": lambda: make_pipeline(scaled(), DecisionTreeClassifier(max_depth=3, random_state=0)),
}


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("kind", MODELS)
def test_answers_are_the_nearest_of_all_people_and_their_proofs_stand(kind: str, method: str) -> None:
    model = CalibratedClassifierCV(MODELS[kind](), method=method, cv=3).fit(PEOPLE, ACCEPTED)
    assert compile_pipeline(model, SPACE).table.outputs == 3  # a score for each member
    decided = model.predict(PEOPLE)
    found = PEOPLE[decided == 1]
    asked = mace.Explainer(model, SPACE)
    for place in np.flatnonzero(decided == 0)[::29].tolist():
        start = PEOPLE.iloc[place]
        parts = [
            (found.age - start.age).abs() / 11,
            (found.job != start.job).astype(float),
            (found["size"] - start["size"]).abs() / 3,
        ]
        answer = asked.explain(start, goal=1)
        assert answer.status == "optimal"
        assert answer.distance == pytest.approx(float(sum(parts).min()) / 3, abs=1e-12)
        accepted_by_all([answer.certificate])


def test_behind_steps_of_all_members_stand_those_of_each() -> None:
    inner = CalibratedClassifierCV(make_pipeline(StandardScaler(), LogisticRegression()), cv=3)
    model = make_pipeline(scaled(), inner).fit(PEOPLE, ACCEPTED)
    refused = PEOPLE[model.predict(PEOPLE) == 0].iloc[0]
    answer = mace.explain(model, SPACE, refused, goal=1)
    assert answer.status == "optimal"
    assert model.predict(pd.DataFrame([answer.counterfactuals[0].values]))[0] == 1
    accepted_by_all([answer.certificate])


def test_members_over_what_the_space_encodes() -> None:
    matrix = SPACE.encode(PEOPLE)
    model = CalibratedClassifierCV(make_pipeline(StandardScaler(), LogisticRegression()), cv=3)
    for given in (matrix, matrix.to_numpy()):
        model.fit(given, ACCEPTED)
        refused = PEOPLE[model.predict(given) == 0].iloc[0]
        answer = mace.explain(model, SPACE, refused, goal=1)
        assert answer.status == "optimal"
        assert answer.oracle == "networks"
        accepted_by_all([answer.certificate])
