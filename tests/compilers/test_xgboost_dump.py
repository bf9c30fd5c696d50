"""Trees that XGBoost's `dump_model` wrote: with what they lack they are the model, without it an error says what."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mace
from mace.compilers import deployed, load_model, read
from mace.compilers.xgboost.dump import Dump
from mace.errors import ModelError

xgboost = pytest.importorskip("xgboost", reason="an extra that is not installed")


def rows() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"a": rng.normal(size=200), "b": rng.integers(0, 9, 200), "c": rng.normal(size=200)})
    frame.loc[rng.random(200) < 0.2, "c"] = np.nan
    return frame, frame["a"] * 2 - frame["b"] / 3 + frame["c"].fillna(1)


KINDS: dict[str, tuple[dict[str, Any], Dump]] = {
    "binary": (
        {"objective": "binary:logistic", "base_score": 0.3},
        Dump("binary:logistic", 0.3, ("a", "b", "c")),
    ),
    "classes": (
        {"objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2, "base_score": 0.5},
        Dump("multi:softprob", 0.5, ("a", "b", "c"), 3, 2),
    ),
    "number": (
        {"objective": "reg:squarederror", "base_score": -1.25},
        Dump("reg:squarederror", -1.25, ("a", "b", "c")),
    ),
}


def trained(name: str, *, named: bool = True) -> tuple[Any, Any]:
    frame, score = rows()
    classes = {"binary": 2, "classes": 3, "number": 0}[name]
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)) if classes else score
    data = xgboost.DMatrix(frame if named else frame.to_numpy(dtype=float), y)
    options = {"max_depth": 3, "subsample": 0.8, "nthread": 1, **KINDS[name][0]}
    return xgboost.train(options, data, 4), data


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("name", KINDS)
def test_a_dump_with_what_it_lacks_is_the_model(tmp_path: Path, name: str, named: bool) -> None:
    model, data = trained(name, named=named)
    model.dump_model(tmp_path / "model.json", dump_format="json", with_stats=True)
    again: Any = load_model(tmp_path / "model.json", dump=KINDS[name][1])
    table: Any = read(again)
    margins = model.predict(data, output_margin=True).reshape(len(rows()[0]), -1)
    found = np.array([table.scores(row) for row in rows()[0].to_numpy(dtype=float)])
    assert found.astype(np.float32).tolist() == margins.tolist()
    said = deployed(again).predict(rows()[0])
    own = model.predict(data)
    assert (
        said.tolist()
        == (own.argmax(axis=1) if own.ndim == 2 else own if name == "number" else (own > 0.5).astype(int)).tolist()
    )


def test_an_answer_says_what_was_taken_for_the_model(tmp_path: Path) -> None:
    model, _ = trained("binary")
    model.dump_model(tmp_path / "model.json", dump_format="json")
    again = load_model(tmp_path / "model.json", dump="objective=binary:logistic base_score=0.3 columns=a,b,c")
    space = mace.Space(
        [
            mace.Feature("a", "real", -3.0, 3.0, step=0.5),
            mace.Feature("b", "integer", 0, 8),
            mace.Feature("c", "real", -3.0, 3.0, step=0.5),
        ]
    )
    answer = mace.explain(again, space, {"a": 0.0, "b": 3, "c": 0.0})
    assert answer.status == "optimal"
    assert "model.json holds trees alone; taken: objective binary:logistic, base_score 0.3" in answer.notes


def categories(tree: Any) -> None:
    tree["split_condition"] = [1, 2]


WRONG: dict[str, tuple[Callable[[Any], object], str]] = {
    "categories": (categories, "splits on categories"),
    "an indicator": (lambda tree: tree.pop("split_condition"), "at a number that is not in the dump"),
    "another column": (lambda tree: tree.update(split="z"), "'z', which is no column"),
    "a column beyond the last": (lambda tree: tree.update(split="f3"), "'f3', which is no column"),
    "other children": (lambda tree: tree.update(yes=77), "children are not those that it names"),
    "one child": (lambda tree: tree["children"].pop(), "children are not those that it names"),
    "missing values elsewhere": (lambda tree: tree.update(missing=77), "children are not those that it names"),
    "a linear model": (lambda tree: tree.update(bias=[1.0]), "a member `'bias'`, which is not known"),
    "a leaf that is no number": (lambda tree: (tree.clear(), tree.update(nodeid=0, leaf="x")), "split_conditions"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_damaged_dump_is_refused_with_its_message(tmp_path: Path, name: str) -> None:
    edit, message = WRONG[name]
    trees = [json.loads(tree) for tree in trained("binary")[0].get_dump(dump_format="json")]
    edit(trees[0])
    (tmp_path / "model.json").write_text(json.dumps(trees))
    with pytest.raises(ModelError) as caught:
        load_model(tmp_path / "model.json", dump=KINDS["binary"][1])
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("dump", "message"),
    [
        (None, "the objective, base_score and the columns are not in it"),
        ("base_score=0.5 columns=a,b,c", "lacks objective"),
        ("objective=binary:logistic columns=a,b,c", "lacks base_score"),
        ("objective=binary:logistic base_score=half columns=a,b,c", "cannot be read"),
        ("objective=binary:logistic base_score=0.5 columns=a,b,c classes=2", "'classes' is not one of"),
        ("objective=binary:logistic base_score=0.5 columns=a,a,c", "a column twice"),
        ("objective=binary:logistic base_score=nan columns=a,b,c", "base_score"),
        ("objective=reg:logistic base_score=0.5 columns=a,b,c", "'reg:logistic' is not supported"),
    ],
)
def test_what_is_not_said_of_a_dump_is_named(tmp_path: Path, dump: str | None, message: str) -> None:
    trained("binary")[0].dump_model(tmp_path / "model.json", dump_format="json")
    with pytest.raises(ModelError) as caught:
        load_model(tmp_path / "model.json", dump=dump)
    assert message in str(caught.value)
