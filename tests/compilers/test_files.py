"""Model files: what their library says, without it; nothing runs, and damage is named."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mace.compilers import ModelFile, deployed, load_model, read
from mace.errors import FileError, MaceError, ModelError
from mace.tables.table import Ensemble
from tests.compilers.families import Family, asked, data, decisions, lightgbm, scores, xgboost

TWO = Family("two", lambda X, y: None, 2)


def saved(path: Path, kind: str) -> Path:
    """A small model in a file of this kind."""
    package = {"json": "xgboost", "ubj": "xgboost", "txt": "lightgbm"}.get(kind, kind)
    pytest.importorskip(package, reason="an extra that is not installed")
    X, y = data(TWO)
    file = path / f"model.{kind}"
    if package == "xgboost":
        xgboost()(X, y).save_model(file)
    elif package == "lightgbm":
        lightgbm()(X, y).booster_.save_model(file)
    elif kind == "onnx":
        skl2onnx = pytest.importorskip("skl2onnx")
        from sklearn.ensemble import RandomForestClassifier

        forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, y)
        proto = skl2onnx.to_onnx(forest, X[:1].astype(np.float32), options={"zipmap": False})
        file.write_bytes(proto.SerializeToString())
    else:
        import skops.io
        from sklearn.ensemble import HistGradientBoostingClassifier

        skops.io.dump(HistGradientBoostingClassifier(max_iter=5).fit(X, y), file)
    return file


@pytest.mark.parametrize("kind", ["json", "ubj", "txt", "onnx", "skops"])
def test_a_file_decides_as_its_library(tmp_path: Path, kind: str) -> None:
    X, _ = data(TWO)
    model = load_model(saved(tmp_path, kind))
    table = read(model)
    assert isinstance(table, Ensemble)
    rows = asked(TWO, table, X, 1000, 200)
    if kind == "onnx":
        pytest.importorskip("onnxruntime")
    said = deployed(model).predict(pd.DataFrame(rows))
    assert decisions(table, scores(table, rows)) == said.tolist()


def test_json_and_ubj_are_one_model(tmp_path: Path) -> None:
    tables = [read(load_model(saved(tmp_path, kind))) for kind in ("json", "ubj")]
    for one, other in zip(tables[0].trees, tables[1].trees, strict=True):  # type: ignore[union-attr]
        assert np.array_equal(one.threshold, other.threshold)
        assert np.array_equal(one.value, other.value)


@pytest.mark.parametrize("kind", ["json", "ubj", "txt", "onnx", "skops"])
def test_a_truncated_file_is_refused(tmp_path: Path, kind: str) -> None:
    file = saved(tmp_path, kind)
    whole = file.read_bytes()
    for length in (0, 1, 40, len(whole) // 2, len(whole) - 3 if kind != "txt" else len(whole) // 3):
        file.write_bytes(whole[:length])
        with pytest.raises(MaceError):
            read(load_model(file))


def edited(path: Path, edit: Any) -> Path:
    """An XGBoost file with one thing wrong in it."""
    file = saved(path, "json")
    document = json.loads(file.read_text(encoding="utf-8"))
    edit(document)
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def first_tree(document: Any) -> Any:
    return document["learner"]["gradient_booster"]["model"]["trees"][0]


def weighed(document: Any, weights: Any, kind: str = "gbtree") -> None:
    """The booster "dart" of the same trees."""
    booster = document["learner"]["gradient_booster"]
    trees = {"model": booster.pop("model"), "name": kind}
    booster.update(name="dart", gbtree=trees, weight_drop=weights)


WRONG: dict[str, tuple[Any, str]] = {
    "child out of range": (
        lambda d: first_tree(d)["left_children"].__setitem__(0, 999),
        "left child out of range (999)",
    ),
    "cycle": (lambda d: first_tree(d)["left_children"].__setitem__(0, 0), "a cycle"),
    "column out of range": (lambda d: first_tree(d)["split_indices"].__setitem__(0, 77), "beyond the 6 known (77)"),
    "too new": (lambda d: d.update(version=[9, 0, 0]), "written by XGBoost 9.0; read are versions 2.0 to below 4.0"),
    "gblinear": (lambda d: d["learner"]["gradient_booster"].update(name="gblinear"), "'gblinear' is not supported"),
    "dart": (lambda d: d["learner"]["gradient_booster"].update(name="dart"), "a member `'model'`, which is not known"),
    "weights": (lambda d: weighed(d, [1.0]), "has 1 weights for"),
    "a weight": (lambda d: weighed(d, [float("nan")]), "a number in weight_drop that is not finite"),
    "no weights": (lambda d: weighed(d, None), "weight_drop is missing"),
    "trees of another kind": (lambda d: weighed(d, [1.0], "gblinear"), "of another kind than gbtree"),
    "objective": (lambda d: d["learner"]["objective"].update(name="reg:logistic"), "'reg:logistic' is not supported"),
    "lengths": (lambda d: first_tree(d)["default_left"].pop(), "arrays of different lengths"),
    "no trees": (lambda d: d["learner"]["gradient_booster"]["model"].pop("trees"), "it has no `trees`"),
    "number": (lambda d: first_tree(d)["split_conditions"].__setitem__(0, "x"), "no readable arrays"),
    "leaves with several numbers": (
        lambda d: (first_tree(d)["tree_param"].update(size_leaf_vector="3"), first_tree(d).update(leaf_weights=[])),
        'leaves with 3 numbers, which is not supported\nFit it with multi_strategy="one_output_per_tree"',
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_damaged_xgboost_file_is_refused_with_its_message(tmp_path: Path, name: str) -> None:
    edit, message = WRONG[name]
    with pytest.raises(ModelError) as caught:
        read(load_model(edited(tmp_path, edit)))
    assert message in str(caught.value)


LINES = {
    "child out of range": ("left_child=", "left_child=900 ", "left child out of range"),
    "version": ("version=v4", "version=v9", "has format 'v9'"),
    "linear": ("is_linear=0", "is_linear=1\nleaf_const=0.5 0.25", "linear leaves, which is not supported"),
    "objective": ("objective=binary", "objective=cross_entropy", "is not supported"),
    "a word": ("threshold=", "threshold=x", "numbers in threshold"),
}


@pytest.mark.parametrize("name", LINES)
def test_a_damaged_lightgbm_file_is_refused_with_its_message(tmp_path: Path, name: str) -> None:
    old, new, message = LINES[name]
    file = saved(tmp_path, "txt")
    text = file.read_text(encoding="utf-8")
    if name == "child out of range":  # one number for another, so that their count stays
        head, _, tail = text.partition(old)
        file.write_text(head + new + tail.split(" ", 1)[1], encoding="utf-8")
    else:
        file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        read(load_model(file))
    assert message in str(caught.value)


def test_skops_refuses_types_that_are_not_known(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    from sklearn.preprocessing import FunctionTransformer

    file = tmp_path / "model.skops"
    skops.dump(FunctionTransformer(Path), file)
    with pytest.raises(MaceError, match="Path"):
        load_model(file)


def test_a_tree_in_a_skops_file_is_checked_before_it_predicts(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    from sklearn.tree import DecisionTreeClassifier

    X, y = data(TWO)
    model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    model.tree_.children_left[0] = 10_000
    skops.dump(model, tmp_path / "model.skops")
    with pytest.raises(ModelError, match="left child out of range"):
        load_model(tmp_path / "model.skops")


def test_a_file_without_its_library_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    file = load_model(saved(tmp_path, "txt"))
    assert isinstance(file, ModelFile)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    model = deployed(file)
    assert "lightgbm is not installed" in model.note
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(model.predict(pd.DataFrame(data(TWO)[0][:20])).tolist()) <= {0, 1}


def test_no_such_json(tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(FileError, match="no `learner`"):
        load_model(file)


def test_what_a_weighed_booster_rounds_is_a_matter_of_its_leaves_alone() -> None:
    """Its inner nodes hold thresholds in the same array, which may be a million times as large."""
    xgboost = pytest.importorskip("xgboost")
    X, y = pd.DataFrame({"a": np.arange(40.0) * 1e6, "b": np.arange(40.0) % 7}), np.arange(40) // 3 % 2
    model = xgboost.XGBClassifier(booster="dart", rate_drop=0.5, n_estimators=6, max_depth=2, n_jobs=1).fit(X, y)
    table = read(model)
    assert isinstance(table, Ensemble)
    largest = [np.abs(tree.value).max() for tree in table.trees]
    assert max(largest) < 1
    assert 0 < table.error < 1e-5
