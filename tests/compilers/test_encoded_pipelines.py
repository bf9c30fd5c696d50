"""Pipelines that were fitted on what a space encodes, by name or as an array, held to enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OrdinalEncoder, StandardScaler

import mace
from mace.errors import ModelError
from mace.space.feature import Feature
from mace.space.space import Space
from tests.compilers.held_to_all import held_to_all

JOBS, GRADES = ("clerk", "nurse", "baker", "smith"), ("low", "middle", "high")
SPACE = Space([
    Feature("age", "integer", 18, 29), Feature("job", "categorical", levels=JOBS),
    Feature("grade", "ordinal", levels=GRADES), Feature("size", "real", 0, 3, step="0.5"),
])  # fmt: skip
PEOPLE = pd.DataFrame(
    list(itertools.product(range(18, 30), JOBS, GRADES, np.arange(7) / 2)), columns=["age", "job", "grade", "size"]
)
ACCEPTED = (PEOPLE.age * (PEOPLE.job != "clerk") + 9 * (PEOPLE.grade == "high") + 4 * PEOPLE["size"] > 27).astype(int)
MODELS: dict[str, Any] = {
    "linear": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": lambda: make_pipeline(StandardScaler(), RandomForestClassifier(7, max_depth=4, random_state=0)),
    "network": lambda: make_pipeline(StandardScaler(), MLPClassifier((6,), random_state=0, max_iter=300)),
    "bins": lambda: make_pipeline(KBinsDiscretizer(3, strategy="uniform"), LogisticRegression()),
}


def fitted(kind: str, columns: list[str] | None) -> tuple[Pipeline, Any]:
    """A model, and what it takes people as: a frame of these columns, or an array of all."""
    matrix = SPACE.encode(PEOPLE)
    given = matrix.to_numpy() if columns is None else matrix[columns]
    return MODELS[kind]().fit(given, ACCEPTED), given


def columns(how: str) -> list[str] | None:
    """All of the encoded columns, in another order, some of them, or none by name."""
    names = [column.name for column in SPACE.columns]
    return {"frame": names, "order": names[::-1], "some": names[1:], "array": None}[how]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("how", ["frame", "order", "some", "array"])
def test_answers_are_the_nearest_of_all_people_and_their_proofs_stand(kind: str, how: str) -> None:
    model, given = fitted(kind, columns(how))
    places = {grade: place for place, grade in enumerate(GRADES)}

    def distances(found: pd.DataFrame, start: Any) -> Any:
        return [
            (found.age - start.age).abs() / 11,
            (found.job != start.job).astype(float),
            (found.grade.map(places) - places[start.grade]).abs() / 2,
            (found["size"] - start["size"]).abs() / 3,
        ]

    held_to_all(mace.Explainer(model, SPACE), PEOPLE, model.predict(given), distances, every=41)


def test_a_pipeline_of_other_columns_says_how_many_there_are() -> None:
    matrix = SPACE.encode(PEOPLE).to_numpy()[:, :5]
    model = MODELS["linear"]().fit(matrix, ACCEPTED)
    with pytest.raises(ModelError, match=r"5 columns without names, not on 4 features, nor on the"):
        mace.explain(model, SPACE, PEOPLE.iloc[0])


CODED = Space([
    Feature("age", "integer", 18, 29), Feature("job", "categorical", levels=JOBS, encoding="codes"),
    Feature("grade", "ordinal", levels=GRADES), Feature("owns", "binary", levels=["no", "yes"]),
])  # fmt: skip
OWNERS = pd.DataFrame(list(itertools.product(range(18, 30), JOBS, GRADES, ("no", "yes"))), columns=CODED.names)


@pytest.mark.parametrize("kind", ["linear", "forest"])
@pytest.mark.parametrize("named", [True, False])
def test_a_pipeline_of_codes_with_the_names_of_the_features_is_given_codes(kind: str, named: bool) -> None:
    """It was given texts, which its scaler refused."""
    matrix = CODED.encode(OWNERS)
    given = matrix if named else matrix.to_numpy()
    model = MODELS[kind]().fit(given, (OWNERS.age + 9 * (OWNERS.grade == "high") + 5 * (OWNERS.owns == "yes") > 33))
    explainer = mace.Explainer(model, CODED)
    assert (explainer.decisions(OWNERS) == model.predict(given)).all()
    answer = explainer.explain(OWNERS.iloc[3])
    assert answer.status == "optimal" and answer.certificate.check().accepted and not answer.notes


def test_a_pipeline_that_takes_texts_is_given_them() -> None:
    encoded = make_pipeline(OrdinalEncoder(categories=[JOBS[::-1], GRADES, ["yes", "no"]]), LogisticRegression())
    names = ["job", "grade", "owns"]
    for given in (OWNERS[names], OWNERS[names].to_numpy()):
        model = encoded.fit(given, (OWNERS.job == "smith") | (OWNERS.owns == "yes"))
        explainer = mace.Explainer(model, Space([CODED[name] for name in names]))
        assert (explainer.decisions(OWNERS[names]) == model.predict(given)).all()


def test_an_unknown_category_is_still_named() -> None:
    known = OWNERS[OWNERS.job != "smith"][["job", "grade"]]
    model = make_pipeline(OrdinalEncoder(), LogisticRegression()).fit(known, known.grade == "high")
    with pytest.raises(ModelError, match="smith"):
        mace.Explainer(model, Space([CODED["job"], CODED["grade"]]))


def test_whether_numbers_are_levels_or_their_codes_is_said_to_be_taken_for_granted() -> None:
    space = Space([Feature("age", "integer", 18, 29), Feature("rooms", "ordinal", levels=[1, 2, 5], encoding="codes")])
    flats = pd.DataFrame(list(itertools.product(range(18, 30), (1, 2, 5))), columns=space.names)
    model = MODELS["linear"]().fit(flats, flats.age + 4 * flats.rooms > 35)
    answer = mace.explain(model, space, flats.iloc[0])
    assert any("the levels of `rooms` as they are" in note for note in answer.notes)
    plain = Space([space["age"], Feature("rooms", "ordinal", levels=[1, 2, 5])])
    assert not mace.explain(model, plain, flats.iloc[0]).notes
