"""Model files are written again from what was checked: for honest models the library reads the very same model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mace.compilers import load_model, read
from mace.compilers.formats import ubjson
from mace.compilers.lightgbm import model as lightgbm_model
from mace.compilers.xgboost import model as xgboost_model
from mace.errors import FileError, MaceError, ModelError


def rows(count: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "town": pd.Categorical(rng.choice(["oslo", "rome", "kyiv", "lima"], count)),
            "code": pd.Categorical(rng.choice([30, 7, 9], count)),
            "x": np.where(rng.random(count) < 0.1, np.nan, rng.normal(size=count)),
            "y": rng.normal(size=count),
        }
    )


def target(frame: pd.DataFrame) -> Any:
    score = frame["x"].fillna(1) + frame["y"] * (frame["town"] == "rome") - (frame["code"] == 9)
    return score.to_numpy(dtype=float)


XGBOOST: dict[str, dict[str, Any]] = {
    "binary": {"objective": "binary:logistic"},
    "three classes": {"objective": "multi:softprob", "num_class": 3},
    "three classes, labels": {"objective": "multi:softmax", "num_class": 3},
    "squared error": {"objective": "reg:squarederror"},
    "absolute error": {"objective": "reg:absoluteerror"},
    "pseudo huber": {"objective": "reg:pseudohubererror"},
    "two trees a round": {"objective": "binary:logistic", "num_parallel_tree": 2, "subsample": 0.7},
    "base score": {"objective": "binary:logistic", "base_score": 0.3},
    "sets of categories": {"objective": "binary:logistic", "max_cat_to_onehot": 1},
}


def xgb(name: str) -> Any:
    xgboost = pytest.importorskip("xgboost", "3.1", reason="an extra that is not installed, or one before categories")
    frame = rows()
    y = target(frame)
    if "num_class" in XGBOOST[name]:
        y = np.digitize(y, [-0.5, 0.5])
    elif "binary" in XGBOOST[name]["objective"]:
        y = y > 0
    data = xgboost.DMatrix(frame, y, enable_categorical=True)
    return xgboost.train({"max_depth": 4, "nthread": 1, **XGBOOST[name]}, data, 4)


@pytest.mark.parametrize("kind", ["json", "ubj"])
@pytest.mark.parametrize("name", XGBOOST)
def test_xgboost_reads_the_model_that_it_wrote(tmp_path: Path, name: str, kind: str) -> None:
    import xgboost

    model = xgb(name)
    model.save_model(tmp_path / f"model.{kind}")
    content = xgboost_model.load(tmp_path / f"model.{kind}")
    again = xgboost.Booster(model_file=bytearray(xgboost_model.written(content)))

    def everything(booster: Any) -> Any:
        document = json.loads(bytes(booster.save_raw("json")))
        for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
            for unused in ("base_weights", "loss_changes", "sum_hessian"):
                tree.pop(unused)
        return document

    assert everything(again) == everything(model)
    data = xgboost.DMatrix(rows(), enable_categorical=True)
    assert again.predict(data, output_margin=True).tobytes() == model.predict(data, output_margin=True).tobytes()


def test_nodes_that_pruning_deleted_are_left_out(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost", reason="an extra that is not installed")
    frame = rows()[["x", "y"]]
    data = xgboost.DMatrix(frame, target(rows()) > 0)
    model = xgboost.train({"objective": "binary:logistic", "tree_method": "exact", "gamma": 2.0}, data, 3)
    model.save_model(tmp_path / "model.json")
    assert re.search(r'"num_deleted":"[1-9]', (tmp_path / "model.json").read_text())
    table: Any = read(load_model(tmp_path / "model.json"))
    margins = model.predict(data, output_margin=True)
    assert [table.scores(row)[0] for row in frame.to_numpy()] == margins.tolist()
    again: Any = load_model(tmp_path / "model.json")
    assert again.loaded().predict(data, output_margin=True).tobytes() == margins.tobytes()


LIGHTGBM: dict[str, dict[str, Any]] = {
    "binary": {"objective": "binary"},
    "steep": {"objective": "binary", "sigmoid": 0.7},
    "three classes": {"objective": "multiclass", "num_class": 3},
    "monotone": {"objective": "regression", "monotone_constraints": [0, 0, 1, 0]},
    **{name: {"objective": name} for name in lightgbm_model.NUMBERS},
    "stumps": {"objective": "binary", "min_child_samples": 5000},
    "dart": {"objective": "binary", "boosting": "dart"},
}


def lgb(name: str) -> Any:
    lightgbm = pytest.importorskip("lightgbm", reason="an extra that is not installed")
    frame = rows()
    y: Any = target(frame)
    if "num_class" in LIGHTGBM[name]:
        y = np.digitize(y, [-0.5, 0.5])
    elif LIGHTGBM[name]["objective"] == "binary":
        y = y > 0
    ranks = LIGHTGBM[name]["objective"] in ("lambdarank", "rank_xendcg")
    if ranks:
        y = np.digitize(y, [-0.5, 0.5])
    common = {"num_leaves": 7, "min_data_per_group": 5, "cat_smooth": 1, "verbose": -1, "num_threads": 1}
    data = lightgbm.Dataset(frame, y, group=[len(frame)] if ranks else None)
    return lightgbm.train({**common, **LIGHTGBM[name]}, data, 4)


@pytest.mark.parametrize("name", LIGHTGBM)
def test_lightgbm_reads_the_model_that_it_wrote(tmp_path: Path, name: str) -> None:
    import lightgbm

    model = lgb(name)
    model.save_model(tmp_path / "model.txt")
    text = lightgbm_model.load(tmp_path / "model.txt")
    again = lightgbm.Booster(model_str=text)
    assert again.predict(rows(), raw_score=True).tobytes() == model.predict(rows(), raw_score=True).tobytes()
    assert again.predict(rows()).tobytes() == model.predict(rows()).tobytes()
    unused = r"(split_gain|leaf_weight|leaf_count|internal_\w+|shrinkage|tree_sizes|monotone_constraints)=.*\n"
    whole, made = (
        re.sub(unused, "", one.model_to_string()).partition("end of trees")[0].rstrip() for one in (model, again)
    )
    assert made == whole
    assert lightgbm_model.checked(text) == text


# ------------------------------------------------------------------------------------------- what is refused

Edit = Callable[[Any], Any]


def first_tree(document: Any) -> Any:
    return document["learner"]["gradient_booster"]["model"]["trees"][0]


def model_of(document: Any) -> Any:
    return document["learner"]["gradient_booster"]["model"]


XGBOOST_WRONG: dict[str, tuple[Edit, str]] = {
    "parents": (lambda d: first_tree(d)["parents"].__setitem__(1, 12345), "tree 0 has parents that are not those"),
    "id": (lambda d: first_tree(d).update(id=1), "tree 0 has another number than its place"),
    "id not a number": (lambda d: first_tree(d).update(id=[]), "id = a list of 0"),
    "rounds": (lambda d: model_of(d).update(iteration_indptr=[0, 9]), "9 in iteration_indptr"),
    "group": (lambda d: model_of(d).update(tree_info=[0, 0, 0, 7]), "tree_info does not fit"),
    "member": (lambda d: first_tree(d).update(leaf_kind=1), "a member `'leaf_kind'`, which is not known"),
    "classes": (
        lambda d: d["learner"]["learner_model_param"].update(num_class="65536"),
        "has 65536 classes, which do not go with 'binary:logistic'",
    ),
    "columns": (
        lambda d: d["learner"]["learner_model_param"].update(num_feature="999999999"),
        "num_feature = 999999999, expected a whole number from 0 to 16777216",
    ),
    "base score": (
        lambda d: d["learner"]["learner_model_param"].update(base_score="[1e400]"),
        "base_score = '[1e400]'",
    ),
    "half a letter": (
        lambda d: d["learner"].update(feature_names=["\ud800", "b", "c", "d"]),
        "characters that no text",
    ),
    "too large": (lambda d: first_tree(d)["split_conditions"].__setitem__(0, 1e300), "number in split_conditions"),
    "category": (lambda d: d["learner"]["gradient_booster"]["model"]["cats"]["sorted_idx"].reverse(), "sorted_idx"),
    "a long text among numbers": (
        lambda d: first_tree(d)["left_children"].__setitem__(0, "x" * 1000),
        "no readable arrays",
    ),
    "a number of many digits": (lambda d: first_tree(d)["left_children"].__setitem__(0, 10**300), "no readable arrays"),
    "attributes": (lambda d: d["learner"].update(attributes=[1]), "no mapping in `attributes`"),
    "objective": (lambda d: d["learner"].update(objective=3), "no mapping in `objective`"),
    "trees": (lambda d: model_of(d).update(trees={}), "no list in `trees`"),
}


@pytest.mark.parametrize("name", XGBOOST_WRONG)
def test_what_xgboost_would_trust_is_refused(tmp_path: Path, name: str) -> None:
    edit, message = XGBOOST_WRONG[name]
    document = json.loads(bytes(xgb("binary").save_raw("json")))
    edit(document)
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelError, match=re.escape(message)):
        read(load_model(tmp_path / "model.json"))


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text('{"learner": 1, "learner": 2}')
    with pytest.raises(FileError, match="a key stands twice"):
        load_model(tmp_path / "model.json")


def test_json_of_any_depth_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text('{"learner":' + "[" * 10**6)
    with pytest.raises(FileError, match="is no JSON"):
        load_model(tmp_path / "model.json")


def test_a_short_ubjson_file_claims_no_memory() -> None:
    many = b"l" + (200).to_bytes(4, "big")
    inner = b"[$Z#" + many
    with pytest.raises(FileError, match="a container of 'Z'"):
        ubjson.parse(b"[#" + many + inner * 200, "it")
    with pytest.raises(FileError, match="claims 2147483647 elements"):
        ubjson.parse(b"[#l\x7f\xff\xff\xff" + b"i\x01" * 20, "it")
    with pytest.raises(FileError, match="nested more than"):
        ubjson.parse(b"[" * 100_000, "it")
    with pytest.raises(FileError, match="claims 2147483647 elements"):
        ubjson.parse(b"[$d#l\x7f\xff\xff\xff", "it")


LIGHTGBM_WRONG: dict[str, tuple[str, str, str]] = {
    "sizes": (r"(?m)^tree_sizes=\d+", "tree_sizes=-1", "tree_sizes out of range (-1)"),
    "shrinkage": (r"(?m)^shrinkage=1$", "shrinkage=1e308", "tree_sizes are not the sizes"),
    "classes": (r"(?m)^num_class=1$", "num_class=9", "for 9 classes and 1 outputs"),
    "objective": (r"binary sigmoid:1", "binary sigmoid:0", "its sigmoid is '0'"),
    "a word of the objective": (r"binary sigmoid:1", "binary sigmoid:1 num_class:7", "its objective is"),
    "line": (r"(?m)^label_index", "average_label", "a line that is not known, or stands twice: 'average_label=0'"),
    "twice": (r"(?m)^num_class=1$", "num_class=1\nnum_class=2", "stands twice"),
    "names": (r"(?m)^feature_names=town", "feature_names=town a", "5 feature_names for 4 columns"),
    "infos": (r"(?m)^feature_infos=\S+", "feature_infos=x", "its feature_infos"),
    "columns": (r"(?m)^max_feature_idx=3", "max_feature_idx=99999999", "expected a whole number from 0 to 16777216"),
    "categories": (r"pandas_categorical:.*", "pandas_categorical:[[{}]]", "a mapping of 0, which is no category"),
}
# Within a tree; the line tree_sizes is taken out.
TREE_WRONG: dict[str, tuple[str, str, str]] = {
    "column": (r"split_feature=\d", "split_feature=9", "split_feature out of range (9)"),
    "decision": (r"decision_type=\d", "decision_type=12", "unknown decision_type (12)"),
    "negative decision": (r"decision_type=\d", "decision_type=-1", "decision_type out of range (-1)"),
    "categories": (r"num_cat=[1-9]", "num_cat=0", "a set of categories out of range"),
    "boundaries": (r"cat_boundaries=0 \d+", "cat_boundaries=0 99999", "cat_threshold, expected 99999"),
    "bits": (r"cat_threshold=\d+", "cat_threshold=99999999999", "cat_threshold out of range"),
    "leaves": (r"num_leaves=\d", "num_leaves=9000000", "leaf_value, expected 9000000"),
    "leaf": (r"leaf_value=\S+", "leaf_value=1e999", "leaf_value that is not finite"),
    "nan": (r"leaf_value=\S+", "leaf_value=nan", "no numbers in leaf_value"),
    "other digits": (r"leaf_value=\S+", "leaf_value=\u0661", "no numbers in leaf_value"),
    "number": (r"Tree=1", "Tree=7", "tree 1 has another number than its place"),
}


@pytest.mark.parametrize("name", [*LIGHTGBM_WRONG, *(f"tree: {name}" for name in TREE_WRONG)])
def test_what_lightgbm_would_trust_is_refused(tmp_path: Path, name: str) -> None:
    text = lgb("binary").model_to_string()
    old, new, message = LIGHTGBM_WRONG[name] if name in LIGHTGBM_WRONG else TREE_WRONG[name.removeprefix("tree: ")]
    if name not in LIGHTGBM_WRONG:
        text = re.sub(r"tree_sizes=.*\n", "", text)
    edited, count = re.subn(old, new, text, count=1)
    assert count == 1
    (tmp_path / "model.txt").write_text(edited, encoding="utf-8")
    with pytest.raises(MaceError, match=re.escape(message)):
        read(load_model(tmp_path / "model.txt"))


def test_children_that_do_not_lie_side_by_side_are_refused(tmp_path: Path) -> None:
    """XGBoost goes to the node behind the left child, wherever the right one is."""
    document = json.loads(bytes(xgb("squared error").save_raw("json")))
    tree = first_tree(document)
    tree["left_children"][0], tree["right_children"][0] = tree["right_children"][0], tree["left_children"][0]
    (tmp_path / "model.json").write_text(json.dumps(document))
    with pytest.raises(ModelError, match="a right child that does not follow the left one"):
        load_model(tmp_path / "model.json")


def test_a_tree_as_deep_as_a_stack_is_refused(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm", reason="an extra that is not installed")
    frame = rows()[["y"]]
    data = lightgbm.Dataset(frame, target(rows()))
    text = lightgbm.train({"objective": "regression", "verbose": -1, "num_leaves": 3}, data, 1).model_to_string()
    depth = 20_000  # node k goes left to leaf k, right to node k + 1
    lines = [
        f"num_leaves={depth + 1}",
        "num_cat=0",
        "split_feature=" + " ".join(["0"] * depth),
        "threshold=" + " ".join(map(str, range(depth))),
        "decision_type=" + " ".join(["2"] * depth),
        "left_child=" + " ".join(str(-k - 1) for k in range(depth)),
        "right_child=" + " ".join([*map(str, range(1, depth)), str(-depth - 1)]),
        "leaf_value=" + " ".join(["1"] * (depth + 1)),
    ]
    text = re.sub(r"tree_sizes=.*\n", "", text)
    text = re.sub(r"(?s)Tree=0\n.*?\n\n\n", "Tree=0\n" + "\n".join(lines) + "\n\n\n", text)
    (tmp_path / "model.txt").write_text(text)
    with pytest.raises(ModelError, match="more than 5000 levels deep"):
        read(load_model(tmp_path / "model.txt"))


def test_a_model_without_trees_is_refused(tmp_path: Path) -> None:
    text = re.sub(r"(?s)tree_sizes=.*?end of trees", "\nend of trees", lgb("binary").model_to_string())
    (tmp_path / "model.txt").write_text(text)
    document = json.loads(bytes(xgb("binary").save_raw("json")))
    model_of(document).update(trees=[], tree_info=[], iteration_indptr=[0])
    (tmp_path / "model.json").write_text(json.dumps(document))
    for file in ("model.txt", "model.json"):
        with pytest.raises(ModelError, match="has no trees"):
            load_model(tmp_path / file).table()  # type: ignore[attr-defined]
