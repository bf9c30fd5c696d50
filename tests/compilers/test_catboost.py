"""CatBoost's models: categories by hash, JSON files with and without the library, and what is refused by name."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mace
from mace.compilers import load_model, read
from mace.compilers.catboost.hashing import hash_of
from mace.compilers.pipeline.reader import CompiledPipeline, compile_raw
from mace.errors import FileError, ModelError
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Ensemble
from tests.compilers import families
from tests.compilers.pipelines import adversarial_rows, random_rows

catboost = pytest.importorskip("catboost", reason="an extra that is not installed")

SMALL: dict[str, Any] = {
    "iterations": 6, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1, "learning_rate": 0.5,
}  # fmt: skip
REGIONS, CODES = ["north", "a region of more than sixteen letters", "wést"], [10, 20, 30]
SPACE = Space(
    [
        Feature("age", "integer", 0, 60),
        Feature("region", "categorical", levels=["never seen", *REGIONS]),
        Feature("code", "categorical", levels=[*CODES, 99]),
        Feature("owner", "binary", levels=[False, True]),
        Feature("income", "real", 0.0, 9.0, missing=True),
    ]
)


def people(rows: int = 200) -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "income": np.where(rng.random(rows) < 0.1, np.nan, rng.random(rows) * 9),
            "region": rng.choice(REGIONS, rows),
            "age": rng.integers(0, 61, rows),
            "code": rng.choice(CODES, rows),
            "owner": rng.random(rows) < 0.5,
        }
    )
    score = frame["age"] / 20 + frame["income"].fillna(4) / 3 + 2 * (frame["region"] == "wést") + (frame["code"] == 20)
    return frame, (score + frame["owner"]).to_numpy()


def with_categories(**options: Any) -> Any:
    frame, score = people()
    settings = {**SMALL, "cat_features": ["region", "code", "owner"], "one_hot_max_size": 255, **options}
    return catboost.CatBoostClassifier(**settings).fit(frame, score > np.median(score))


def plain(kind: str = "CatBoostClassifier", **options: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(150, 3))
    score = matrix[:, 0] + matrix[:, 1] * matrix[:, 2]
    target = score if kind == "CatBoostRegressor" else (score > 0).astype(int)
    return getattr(catboost, kind)(**{**SMALL, **options}).fit(matrix, target), matrix


def document(model: Any, folder: Path) -> Any:
    model.save_model(str(folder / "model.json"), format="json")
    return json.loads((folder / "model.json").read_bytes())


def saved(content: Any, folder: Path) -> Path:
    path = folder / "edited.json"
    path.write_text(json.dumps(content))
    return path


def compiled(model: Any) -> CompiledPipeline:
    found = compile_raw(model, SPACE)
    assert found is not None
    return found


def test_categories_are_those_whose_hash_the_library_knows() -> None:
    model = with_categories()
    found = compiled(model)
    rows = [*random_rows(SPACE, 300), *adversarial_rows(found, 100)]
    assert isinstance(found.table, Ensemble) and found.table.certain
    frame = pd.DataFrame([{name: row[name] for name in model.feature_names_} for row in rows])
    mine = families.scores(found.table, np.array([found.row(row) for row in rows]))
    assert np.array_equal(mine[:, 0], model.predict(frame, prediction_type="RawFormulaVal"))


@pytest.mark.parametrize("length", [0, 1, 3, 4, 8, 9, 16, 17, 32, 33, 63, 64])
def test_a_category_has_the_number_that_the_library_stores(length: int, tmp_path: Path) -> None:
    level = "é"[: length % 2] + "abcdefghij" * 7
    level = level.encode()[:length].decode(errors="ignore")
    frame = pd.DataFrame({"c": [level, "another"] * 10})
    model = catboost.CatBoostRegressor(**{**SMALL, "iterations": 1}, cat_features=["c"], one_hot_max_size=9)
    stored = document(model.fit(frame, [0.0, 1.0] * 10), tmp_path)["features_info"]["categorical_features"][0]["values"]
    assert set(stored) <= {hash_of(level, "c"), hash_of("another", "c")}


@pytest.mark.parametrize("category", [1.0, None, float("nan"), "x" * 65])
def test_what_catboost_takes_for_no_category_is_refused(category: Any) -> None:
    with pytest.raises(ModelError, match="column `c`"):
        hash_of(category, "c")


@pytest.mark.parametrize("options", [{}, {"grow_policy": "Lossguide"}, {"nan_mode": "Max"}])
def test_a_file_is_the_model_within_the_rounding_of_the_librarys_own_reader(
    options: dict[str, Any], tmp_path: Path
) -> None:
    frame, _ = people()
    model = with_categories(**options)
    model.save_model(str(tmp_path / "model.json"), format="json")
    opened: Any = load_model(tmp_path / "model.json")
    found, raw = compiled(opened), model.predict(frame, prediction_type="RawFormulaVal")
    rows = [
        {name: None if value != value else value for name, value in row.items()} for row in frame.to_dict("records")
    ]
    mine = families.scores(found.table, np.array([found.row(row) for row in rows]))[:, 0]  # type: ignore[arg-type]
    assert np.array_equal(mine, raw)
    loaded = opened.loaded().predict(frame, prediction_type="RawFormulaVal")
    assert isinstance(found.table, Ensemble) and 0 < np.abs(loaded - mine).max() <= found.table.error < 1e-13


def test_a_file_is_read_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, matrix = plain()
    model.save_model(str(tmp_path / "model.json"), format="json")
    monkeypatch.setitem(__import__("sys").modules, "catboost", None)
    opened: Any = load_model(tmp_path / "model.json")
    assert "catboost is not installed" in opened.deployed(lambda frame: frame).note
    table: Any = opened.table()
    assert families.decisions(table, families.scores(table, matrix)) == model.predict(matrix).tolist()


def test_scale_bias_and_a_threshold_are_followed() -> None:
    model, matrix = plain("CatBoostRegressor")
    for scale, bias in ((0.5, -1.25), (1.1, 0.3)):
        model.set_scale_and_bias(scale, bias)
        table: Any = read(model)
        apart = np.abs(families.scores(table, matrix)[:, 0] - model.predict(matrix)).max()
        assert apart <= table.error if scale != 0.5 else apart == table.error == 0
    model, matrix = plain()
    model.set_probability_threshold(0.7)
    table = read(model)
    assert families.decisions(table, families.scores(table, matrix)) == model.predict(matrix).tolist()


@pytest.mark.parametrize("kind", [str, bool, float, int])
def test_classes_are_those_that_predict_gives(kind: type, tmp_path: Path) -> None:
    _, matrix = plain()
    model = catboost.CatBoostClassifier(**SMALL).fit(matrix, np.array([kind(x > 0) for x in matrix[:, 0]]))
    model.save_model(str(tmp_path / "model.json"), format="json")
    for table in (read(model), load_model(tmp_path / "model.json").table()):  # type: ignore[attr-defined]
        assert [type(label) for label in table.classes] == [kind, kind]  # type: ignore[union-attr]
        assert list(table.classes) == model.classes_.tolist()  # type: ignore[union-attr]


def test_statistics_of_categories_are_refused_with_what_to_do() -> None:
    frame, score = people()
    model = catboost.CatBoostClassifier(**SMALL, cat_features=["region"]).fit(frame[["income", "region"]], score > 3)
    with pytest.raises(ModelError, match="CTR") as caught:
        read(model)
    assert "one_hot_max_size" in str(caught.value)


def test_what_ranks_gives_its_scores_bit_by_bit() -> None:
    matrix = np.random.default_rng(0).random((60, 2))
    model = catboost.CatBoostRanker(**SMALL, loss_function="PairLogit")
    model.fit(matrix, matrix[:, 0] > 0.5, group_id=[k // 10 for k in range(60)])
    table = read(model)
    assert [float(table.scores(row)[0]) for row in matrix] == model.predict(matrix).tolist()


@pytest.mark.parametrize("loss", ["MultiRMSE", "RMSEWithUncertainty"])
def test_another_loss_is_refused_by_name(loss: str) -> None:
    matrix = np.random.default_rng(0).random((60, 2))
    target = matrix if loss == "MultiRMSE" else matrix[:, 0]
    model = catboost.CatBoostRegressor(**SMALL, loss_function=loss).fit(matrix, target)
    with pytest.raises(ModelError, match=loss):
        read(model)


def test_a_model_that_is_not_fitted_and_a_binary_file_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not fitted"):
        read(catboost.CatBoostClassifier())
    model, _ = plain()
    model.save_model(str(tmp_path / "model.cbm"))
    with pytest.raises(ModelError, match='format="json"'):
        load_model(tmp_path / "model.cbm")
    (tmp_path / "model.cbm").rename(tmp_path / "model.json")
    with pytest.raises(FileError, match="binary format under the name of JSON"):
        load_model(tmp_path / "model.json")


def _moved_split(content: Any) -> None:
    content["oblivious_trees"][0]["splits"][0]["split_index"] += 1


def _border(content: Any) -> None:
    content["oblivious_trees"][0]["splits"][0]["border"] += 0.5


def _leaves(content: Any) -> None:
    content["oblivious_trees"][0]["leaf_values"].pop()


def _falling(content: Any) -> None:
    content["features_info"]["float_features"][0]["borders"].reverse()


def _deep(content: Any) -> None:
    content["oblivious_trees"][0]["splits"] *= 20


def _huge(content: Any) -> None:
    content["scale_and_bias"] = [1e400, [0]]


def _texts(content: Any) -> None:
    content["features_info"]["text_features"] = [{"feature_index": 0}]


def _endless(content: Any) -> None:
    content["model_info"]["class_params"]["class_to_label"][0] = float("nan")


def _same(content: Any) -> None:
    content["model_info"]["class_params"]["class_names"] = [0.2, 0.7]


EDITS: dict[str, tuple[Callable[[Any], None], str]] = {
    "another split than its border": (_moved_split, "it says"),
    "another border than its split": (_border, "at another place than it says"),
    "a leaf too few": (_leaves, "7 leaf_values"),
    "borders that fall": (_falling, "do not rise"),
    "too deep": (_deep, "more than 16 levels"),
    "an infinite scale": (_huge, "no finite number"),
    "texts": (_texts, "columns of text"),
    "a class that is no number": (_endless, "not of the type"),
    "classes that are the same": (_same, "2 classes"),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_damaged_file_says_what_is_wrong(name: str, tmp_path: Path) -> None:
    content = copy.deepcopy(document(plain()[0], tmp_path))
    edit, message = EDITS[name]
    edit(content)
    with pytest.raises((ModelError, FileError), match=message):
        load_model(saved(content, tmp_path))


def test_a_json_of_neither_library_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text('{"features_info": 1, "learner": 2}')
    with pytest.raises(ModelError):
        load_model(path)
    path.write_text('{"features_info": {}}')
    with pytest.raises(ModelError, match="CatBoost"):
        load_model(path)


@pytest.mark.parametrize("search", [False, True])
def test_several_classes_behind_steps_are_read_as_the_column_that_catboost_gives(search: bool) -> None:
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 6, 90).astype(float), "b": rng.integers(0, 6, 90).astype(float)})
    labels = np.array(["low", "middle", "high"])[np.digitize(X["a"] + X["b"], [4, 7])]
    model: Any = make_pipeline(StandardScaler(), catboost.CatBoostClassifier(**SMALL))
    if search:
        model = GridSearchCV(model, {"catboostclassifier__depth": [2, 3]}, cv=2)
    model.fit(X, labels)
    space = Space([Feature("a", "integer", 0, 5), Feature("b", "integer", 0, 5)])
    answer = mace.explain(model, space, {"a": 0, "b": 0}, goal="high")
    every = pd.DataFrame([(a, b) for a in range(6) for b in range(6)], columns=["a", "b"], dtype=float)
    high = every[model.predict(every)[:, 0] == "high"]
    assert answer.status == "optimal" and answer.distance == (high["a"] + high["b"]).min() / 10
    assert answer.certificate.check().accepted
