"""Boosters fitted on a frame with categories: read over its raw columns, they decide as the library itself."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mace.compilers import load_model, read
from mace.compilers.pipeline.reader import CompiledPipeline, compile_raw
from mace.compilers.registry import step_of
from mace.errors import MaceError, ModelError
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Ensemble
from tests.compilers import families
from tests.compilers.native import NATIVE, REGIONS, Native, frame_of, hist, light, people, saved, space_of, xgb
from tests.compilers.pipelines import adversarial_rows, random_rows

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared


def named(name: str) -> Native:
    return next(native for native in NATIVE if native.name == name)


def compiled(model: Any, space: Space) -> CompiledPipeline:
    found = compile_raw(model, space)
    assert found is not None
    return found


def asked(found: CompiledPipeline, random: int = 10_000, near: int = 1_000) -> list[dict[str, Any]]:
    """Rows anywhere in the space and near thresholds: missing values and levels never seen among them."""
    rows = [*random_rows(found.space, random), *adversarial_rows(found, near)]
    if "moon" in found.space["region"].levels:
        assert sum(row["region"] == "moon" for row in rows) > random / 20
    assert sum(row["region"] is None and row["income"] is None for row in rows) > random / 1000
    return rows


def scores(found: CompiledPipeline, rows: list[dict[str, Any]]) -> Any:
    assert isinstance(found.table, Ensemble)
    return families.scores(found.table, np.array([found.row(row) for row in rows]))


@pytest.mark.parametrize("native", NATIVE, ids=lambda native: native.name)
def test_a_booster_of_raw_categories_scores_and_decides_as_the_library(native: Native) -> None:
    model, frame = native.fitted()
    found = compiled(model, space_of(unseen=not native.refuses))
    rows = asked(found)
    held = frame_of(rows, frame)
    mine, own = scores(found, rows), native.scores(model, held)
    assert np.array_equal(mine.reshape(np.shape(own)), own)
    said = found.predict(found.frame(rows))  # on the frame that witnesses are tried on
    assert isinstance(found.table, Ensemble)
    if native.classes:
        assert families.decisions(found.table, mine) == said.tolist()
    if hasattr(model, "fit"):
        assert np.array_equal(said, model.predict(held))


@pytest.mark.parametrize(
    ("name", "ending"), [("LGBMClassifier-2", ".txt"), ("XGBClassifier-2", ".json"), ("XGBClassifier-2", ".ubj")]
)
def test_a_model_file_keeps_its_categories(name: str, ending: str, tmp_path: Path) -> None:
    native = named(name)
    model, frame = native.fitted()
    found = compiled(load_model(saved(model, tmp_path, ending)), space_of(unseen=not native.refuses))
    rows = asked(found, 1000, 200)
    held = frame_of(rows, frame)
    assert np.array_equal(scores(found, rows)[:, 0], native.scores(model, held))
    assert np.array_equal(found.predict(found.frame(rows)), model.predict(held))


@pytest.mark.parametrize("name", ["LGBMClassifier-2", "LGBMRegressor", "XGBClassifier-3-sets"])
def test_categories_numbered_otherwise_than_by_the_library_do_not_pass(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = named(name).fitted()
    step = step_of(model)
    wrong = replace(step, lists=tuple(levels[1:] + levels[:1] for levels in step.lists))
    monkeypatch.setattr("mace.compilers.pipeline.reader.step_of", lambda _: wrong)
    with pytest.raises(ModelError, match="the model's own library says"):
        compile_raw(model, space_of(unseen=False))


def decides_as_predict(model: Any, space: Space, like: pd.DataFrame) -> None:
    found = compiled(model, space)
    rows = random_rows(space, 500)
    decided = families.decisions(found.table, scores(found, rows))  # type: ignore[arg-type]
    assert decided == model.predict(frame_of(rows, like)).tolist()


def test_columns_need_not_stand_in_the_order_of_the_space_and_names_may_hold_spaces() -> None:
    frame, score = people()
    frame = frame.rename(columns={"region": "home region"})
    features = [f if f.name != "region" else Feature("home region", "categorical", levels=REGIONS, missing=True)
                for f in space_of().features]  # fmt: skip
    space = Space(features[::-1])
    for fit in (hist(), light(), xgb()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LightGBM writes underscores for spaces
            model = fit(frame, (score > 1).astype(int))
        decides_as_predict(model, space, frame)


def test_categories_that_are_whole_numbers_are_read_in_raw_columns_too() -> None:
    frame, score = people()
    frame = frame[["income", "code"]]
    space = Space([Feature("income", "real", 500.0, 250000.0), Feature("code", "categorical", levels=[10, 20, 30, 40])])
    objects = frame.astype({"code": object})
    for fit, like in ((hist(), frame), (hist(categorical_features=["code"]), objects), (light(), frame)):
        model = fit(like, (score > 1).astype(int))
        decides_as_predict(model, space, like)


def test_codes_of_the_encoded_columns_are_still_read_as_such() -> None:
    frame, score = people()
    space = Space(
        [Feature("age", "integer", 16, 90), Feature("code", "categorical", levels=[10, 20, 30], encoding="codes")]
    )
    encoded = space.encode(frame[["age", "code"]])
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(categorical_features=["code"]).fit(encoded, score > 1)
    assert compile_raw(model, space) is None
    read(model)
    raw = HistGradientBoostingClassifier().fit(frame[["age", "code"]], score > 1)
    assert compile_raw(raw, space) is not None


def test_a_level_is_missing_or_refused_as_the_library_has_it() -> None:
    with pytest.raises(
        ModelError, match=r"`region`: XGBoost has not seen in training, and fails for, the category 'moon'"
    ):
        compile_raw(named("XGBClassifier-2").fitted()[0], space_of())
    found = compiled(named("LGBMClassifier-2").fitted()[0], space_of())
    row = {**random_rows(found.space, 1, missing=0)[0], "region": "moon"}
    assert scores(found, [row]) == scores(found, [{**row, "region": None}])


def test_the_table_of_such_a_model_is_not_given_out_over_encoded_columns() -> None:
    for name in ("HistGradientBoostingClassifier-2", "LGBMClassifier-2", "XGBClassifier-2"):
        with pytest.raises(ModelError, match="was fitted on a frame with categories, which it numbers by itself"):
            read(named(name).fitted()[0])


def changed(space: Space, *features: Feature) -> Space:
    new = {feature.name: feature for feature in features}
    return Space([new.get(feature.name, feature) for feature in space.features])


TEXT_AGE = Feature("age", "categorical", levels=["young", "old"])
NUMBER_REGION = Feature("region", "real", 0, 1)
OTHER_REGION = Feature("region", "categorical", levels=["up", "down"])


@pytest.mark.parametrize(
    ("name", "feature", "message"),
    [
        ("HistGradientBoostingClassifier-2", TEXT_AGE, "does not take the row age='young'"),
        ("HistGradientBoostingClassifier-2", NUMBER_REGION, "`region`, which the space declares as a number"),
        ("LGBMClassifier-2", TEXT_AGE, "`age`: its levels are neither categories nor numbers"),
        ("LGBMClassifier-2", NUMBER_REGION, "do not fit the space's columns"),
        ("LGBMClassifier-2", OTHER_REGION, "`region`: its levels are neither .*: 'up', 'down'"),
        ("XGBClassifier-2", TEXT_AGE, "takes numbers in column `age`, and there is text"),
        ("XGBClassifier-2", NUMBER_REGION, "`region`, which the space declares as a number"),
        ("XGBClassifier-2", OTHER_REGION, "not seen in training, and fails for, the category 'up', 'down'"),
    ],
)
def test_a_space_that_does_not_fit_the_model_is_refused(name: str, feature: Feature, message: str) -> None:
    with pytest.raises(MaceError, match=message):
        compile_raw(named(name).fitted()[0], changed(space_of(unseen=False), feature))


def test_columns_that_the_space_lacks_are_named() -> None:
    small = Space([feature for feature in space_of(unseen=False).features if feature.name != "grade"])
    for name in ("HistGradientBoostingClassifier-2", "LGBMClassifier-2", "XGBClassifier-2"):
        with pytest.raises(ModelError, match="the model reads the column `grade`, which the space does not have"):
            compile_raw(named(name).fitted()[0], small)


def test_lists_that_fit_several_columns_are_no_guess() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": pd.Categorical(rng.choice([1, 0], 300), [1, 0]), "b": rng.integers(0, 2, 300)})
    model = light()(frame, (frame["a"].astype(int) + rng.normal(size=300) > 0.5).astype(int))
    space = Space([Feature("a", "binary"), Feature("b", "binary")])
    with pytest.raises(ModelError, match="cannot be told from the LightGBM model"):
        compile_raw(model, space)
    found = compiled(model, changed(space, Feature("b", "integer", 0, 1)))
    assert found.columns[0].values == (1.0, 0.0)


def test_letters_that_xgboost_cuts_apart_are_refused() -> None:
    frame, score = people()
    frame["region"] = frame["region"].cat.rename_categories({"west": "W\u00fcste"})
    features = Feature("region", "categorical", levels=["north", "east", "south, or so", "W\u00fcste"], missing=True)
    space = changed(space_of(), features)
    with pytest.raises(ModelError, match=r"`region`: XGBoost has cut its categories apart"):
        compile_raw(xgb()(frame, (score > 1).astype(int)), space)
    for fit in (light(), hist()):
        model = fit(frame, (score > 1).astype(int))
        decides_as_predict(model, space, frame)


def test_an_xgboost_model_that_does_not_say_what_its_numbers_are_is_refused(tmp_path: Path) -> None:
    path = saved(named("XGBClassifier-2").fitted()[0], tmp_path, ".json")
    document = json.loads(path.read_text())
    document["version"] = [3, 0, 5]
    del document["learner"]["gradient_booster"]["model"]["cats"]
    path.write_text(json.dumps(document))
    with pytest.raises(ModelError, match=r"`region`: .* does not say which is which: before 3.1 XGBoost"):
        compile_raw(load_model(path), space_of(unseen=False))


def test_a_calibrated_booster_of_categories_is_refused_with_the_reason() -> None:
    from sklearn.calibration import CalibratedClassifierCV

    frame, score = people()
    model = CalibratedClassifierCV(hist_of(frame, score), ensemble=False, cv=2).fit(frame, score > 1)
    with pytest.raises(ModelError, match="was fitted on a frame with categories, which it numbers by itself"):
        read(model)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "int32"])
def test_categories_that_are_numbers_of_few_bits_keep_their_type(kind: str) -> None:
    frame, score = people()
    frame["code"] = pd.Categorical(frame["code"].to_numpy(dtype=kind))
    model = xgb()(frame, (score > 1).astype(int))
    found = compiled(model, space_of(unseen=False))
    rows = random_rows(found.space, 300)
    decided = families.decisions(found.table, scores(found, rows))  # type: ignore[arg-type]
    assert decided == found.predict(found.frame(rows)).tolist()


def hist_of(frame: pd.DataFrame, score: Any) -> Any:
    return hist()(frame, score > 1)


def test_a_skops_file_of_a_booster_with_categories_is_read(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io", reason="an extra that is not installed")
    frame, score = people()
    model = hist_of(frame, score)
    skops.dump(model, tmp_path / "model.skops")
    loaded = load_model(tmp_path / "model.skops")
    found = compiled(loaded, space_of())
    rows = random_rows(found.space, 200)
    assert np.array_equal(found.predict(found.frame(rows)), model.predict(frame_of(rows, frame)))


def test_damaged_categories_are_refused(tmp_path: Path) -> None:
    model, _ = named("LGBMClassifier-2").fitted()
    path = saved(model, tmp_path, ".txt")
    text = path.read_text()
    for lists in ('[["a"', "7", '[["a"],["b"],["c"],["d"],["e"],["f"],["g"],["h"]]'):
        path.write_text(text[: text.index("pandas_categorical:")] + f"pandas_categorical:{lists}\n")
        with pytest.raises(ModelError, match="the LightGBM model is damaged"):
            compile_raw(load_model(path), space_of())
    booster, _ = named("xgboost.Booster").fitted()
    path = saved(booster, tmp_path, ".json")
    document = json.loads(path.read_text())
    kept = document["learner"]["gradient_booster"]["model"]["cats"]["enc"]
    for wrong in ({"offsets": [0, 9999], "values": [65]}, {"values": "x"}, 3, {"offsets": [0, 1]}):
        document["learner"]["gradient_booster"]["model"]["cats"]["enc"] = [wrong, *kept[1:]]
        path.write_text(json.dumps(document))
        with pytest.raises(ModelError, match="the XGBoost model is damaged"):
            compile_raw(load_model(path), space_of(unseen=False))
