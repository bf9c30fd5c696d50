"""skops files: what they describe is checked before it is made, and what native code would trust is refused."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mace.compilers import deployed, load_model, read
from mace.errors import FileError, MaceError, ModelError

skops = pytest.importorskip("skops.io", reason="an extra that is not installed")


def rows() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 9, 80).astype(float), "b": rng.normal(size=80)})
    return frame, (frame["a"] > 4 + frame["b"]).to_numpy().astype(int)


def saved(model: Any, folder: Path, edit: Callable[[Any, dict[str, bytes]], None] | None = None) -> Path:
    """The model in a skops file, its schema and its arrays edited."""
    data = skops.dumps(model)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    if edit is not None:
        schema = json.loads(members["schema.json"])
        edit(schema, members)
        members["schema.json"] = json.dumps(schema).encode()
    path = folder / "model.skops"
    with zipfile.ZipFile(path, "w") as archive:
        for name, held in members.items():
            archive.writestr(name, held)
    return path


def found(value: Any, loader: str) -> Any:
    """The first node with a loader."""
    if isinstance(value, dict):
        if value.get("__loader__") == loader:
            return value
        value = list(value.values())
    if isinstance(value, list):
        return next((node for one in value if (node := found(one, loader)) is not None), None)
    return None


def tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=3).fit(*rows())


def replace_array(node: Any, members: dict[str, bytes], change: Callable[[Any], Any]) -> None:
    held = io.BytesIO()
    np.save(held, change(np.load(io.BytesIO(members[node["file"]]))))
    members[node["file"]] = held.getvalue()


def set_number(node: Any, number: object) -> None:
    node.update(content=json.dumps(number), __id__=1)


def set_node(name: str, value: int) -> Callable[[Any], Any]:
    def change(nodes: Any) -> Any:
        nodes[name][0] = value
        return nodes

    return change


def content(schema: Any) -> Any:
    return found(schema, "TreeNode")["content"]["content"]


TREE_WRONG: dict[str, tuple[Callable[[Any, dict[str, bytes]], None], str]] = {
    "more nodes than there are": (lambda s, m: set_number(content(s)["node_count"], 10**8), "of 100000000 nodes"),
    "more outputs than classes": (
        lambda s, m: set_number(found(s, "TreeNode")["__reduce__"]["args"]["content"][2], 10**7),
        "no number of classes",
    ),
    "a child out of range": (
        lambda s, m: replace_array(content(s)["nodes"], m, set_node("left_child", 10**6)),
        "left child out of range (1000000)",
    ),
    "a column out of range": (
        lambda s, m: replace_array(content(s)["nodes"], m, set_node("feature", 10**6)),
        "tests a column beyond the 2 known",
    ),
    "fewer values than nodes": (lambda s, m: replace_array(content(s)["values"], m, lambda v: v[:1]), "has values of"),
    "nodes of another kind": (
        lambda s, m: replace_array(content(s)["nodes"], m, lambda v: v["threshold"].copy()),
        "a tree has no nodes",
    ),
    "an array that is a number": (
        lambda s, m: content(s)["nodes"].update(__loader__="JsonNode", content="1", __class__="str"),
        "a tree has no arrays",
    ),
    "an array shorter than its shape": (
        lambda s, m: m.update({content(s)["values"]["file"]: m[content(s)["values"]["file"]][:-8]}),
        "does not fit its file",
    ),
    "an array of objects": (
        lambda s, m: m.update({content(s)["values"]["file"]: npy_header("|O", "(10,)")}),
        "holds an array of object",
    ),
    "an array of a huge shape": (
        lambda s, m: m.update({content(s)["values"]["file"]: npy_header("<f8", "(4000000000000000000, 9)")}),
        "does not fit its file",
    ),
    "a header that is no header": (
        lambda s, m: m.update({content(s)["values"]["file"]: npy_header("<f8", "(" * 5000)}),
        "has no header",
    ),
    "another class": (
        lambda s, m: s.update(__class__="KernelPCA", __module__="sklearn.decomposition._kernel_pca"),
        "not trusted: sklearn.decomposition._kernel_pca.KernelPCA",
    ),
    "a method": (lambda s, m: found(s, "JsonNode").update(__loader__="MethodNode"), "MethodNode"),
    "a sparse matrix": (lambda s, m: found(s, "NdArrayNode").update(__loader__="SparseMatrixNode"), "SparseMatrixNode"),
    "a memory map": (lambda s, m: found(s, "NdArrayNode").update(__class__="memmap"), "numpy.memmap"),
    "an older protocol": (lambda s, m: s.update(protocol=0), "protocol 0"),
    "no schema": (lambda s, m: s.clear(), "another version of skops (protocol None)"),
}  # fmt: skip


def share(schema: Any, members: dict[str, bytes]) -> None:
    """The first number of a model and the number of its nodes under one identity: skops then makes one of them."""
    found(schema, "JsonNode").update(content="1000000", __id__=7)
    content(schema)["node_count"]["__id__"] = 7


def npy_header(descr: str, shape: str) -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize("name", TREE_WRONG)
def test_what_native_code_would_trust_is_refused(tmp_path: Path, name: str) -> None:
    edit, message = TREE_WRONG[name]
    path = saved(tree(), tmp_path, edit)
    with pytest.raises(MaceError) as caught:
        load_model(path)
    assert message in str(caught.value)


def test_objects_are_made_apart_whatever_identity_they_claim(tmp_path: Path) -> None:
    """skops makes one object of two nodes with one identity: the second one's content would never be looked at."""

    X, _ = rows()
    assert load_model(saved(tree(), tmp_path, share)).predict(X).tolist() == tree().predict(X).tolist()


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", "{}")
        archive.writestr("0.npy", b"\0" * 1000)
    data = bytearray(path.read_bytes())
    place = data.rindex(b"0.npy") - 46 + 24  # the size that the directory at the end claims
    data[place : place + 4] = (2**32 - 2).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(FileError, match="more than 2 GB"):
        load_model(path)


def test_the_start_of_boosting_has_as_many_scores_as_its_trees(tmp_path: Path) -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    X, y = rows()
    model = GradientBoostingClassifier(n_estimators=2, max_depth=2).fit(X, y + (X["b"] > 0.5))
    two = GradientBoostingClassifier(n_estimators=2, max_depth=2).fit(X, y)
    model.init_, model._loss = two.init_, two._loss
    with pytest.raises(ModelError, match="init_ gives scores of shape"):
        load_model(saved(model, tmp_path))


def test_the_bins_of_a_histogram_booster_are_those_of_its_trees(tmp_path: Path) -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y = rows()
    model = HistGradientBoostingClassifier(max_iter=2, categorical_features=["a"]).fit(X, y)
    X = X.astype({"a": "category"})
    assert len(load_model(saved(model, tmp_path)).predict(X)) == len(X)
    model._bin_mapper.is_categorical_ = np.zeros(1, dtype=np.uint8)
    with pytest.raises(ModelError, match="its bins are those of other columns"):
        load_model(saved(model, tmp_path))


def test_an_isolation_forest_on_all_columns_has_them_in_order(tmp_path: Path) -> None:
    from sklearn.ensemble import IsolationForest

    model = IsolationForest(n_estimators=2, random_state=0).fit(rows()[0])
    model.estimators_features_ = [np.array([0, 1, 0, 1]), np.array([0, 1])]
    with pytest.raises(ModelError, match="other columns than the whole"):
        load_model(saved(model, tmp_path))


def test_pipelines_and_votes_are_read(tmp_path: Path) -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.decomposition import PCA
    from sklearn.ensemble import VotingClassifier
    from sklearn.feature_selection import SelectKBest
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    X, y = rows()
    columns = make_column_transformer(
        (StandardScaler(), ["a"]), (KBinsDiscretizer(3, encode="onehot-dense", random_state=0), ["b"])
    )
    for model in (
        make_pipeline(StandardScaler(), PCA(1), LogisticRegression()),
        make_pipeline(SelectKBest(k=1), LogisticRegression()),
        make_pipeline(columns, make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3))),
        VotingClassifier([("one", DecisionTreeClassifier(max_depth=2)), ("two", DecisionTreeClassifier(max_depth=3))]),
    ):
        again = load_model(saved(model.fit(X, y), tmp_path))
        assert deployed(again).predict(X).tolist() == model.predict(X).tolist()


def test_a_reader_that_finds_attributes_of_another_type_says_so(tmp_path: Path) -> None:
    model = tree()
    model.n_features_in_ = 2
    model.tree_ = np.zeros(3)
    with pytest.raises(ModelError):
        read(load_model(saved(model, tmp_path)))


def test_parts_that_need_a_large_dictionary_are_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("schema.json", "{}")
    with pytest.raises(FileError, match="packed in another way"):
        load_model(path)


def test_a_step_whose_attributes_do_not_fit_is_refused_by_name(tmp_path: Path) -> None:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    import mace

    X, y = rows()
    model = make_pipeline(SimpleImputer(), tree()).fit(X, y)
    model[0].statistics_ = model[0].statistics_[:1]
    space = mace.Space([mace.Feature("a", "real", 0.0, 9.0), mace.Feature("b", "real", -3.0, 3.0)])
    with pytest.raises(ModelError, match="the step `simpleimputer` of the pipeline cannot be followed"):
        mace.explain(load_model(saved(model, tmp_path)), space, {"a": 1.0, "b": 0.0})


def kernels(options: dict[str, Any], **changed: Any) -> Any:
    from sklearn.svm import SVC, SVR

    X, y = rows()
    model = (SVR(**options) if "epsilon" in options else SVC(**options)).fit(X, y)
    for name, value in changed.items():
        setattr(model, name, value)
    return model


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize(
    "changed",
    [
        {"support_": np.zeros(3_000_000, dtype=np.int32)},
        {"_n_support": np.ones(100_000, dtype=np.int32)},
        {"_dual_coef_": np.ones((1, 1))},
        {"_intercept_": np.ones(3)},
        {"_probA": np.ones(1), "_probB": np.zeros(0)},
    ],
    ids=str,
)
def test_a_machine_whose_arrays_do_not_fit_is_refused_before_libsvm_reads_beyond_them(
    tmp_path: Path, kernel: str, changed: dict[str, Any]
) -> None:
    for options in ({}, {"epsilon": 0.1}):
        model = kernels({"kernel": kernel, **options}, **changed)
        with pytest.raises(ModelError, match=" is damaged: "):
            load_model(saved(model, tmp_path))
    held = kernels({"kernel": kernel})._n_support + np.array([1000, -1000], dtype=np.int32)
    with pytest.raises(ModelError, match="support vectors of"):
        load_model(saved(kernels({"kernel": kernel}, _n_support=held), tmp_path))


def test_models_that_are_bounded_and_searches_are_read(tmp_path: Path) -> None:
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
    from sklearn.ensemble import VotingClassifier
    from sklearn.linear_model import LogisticRegression, TweedieRegressor
    from sklearn.model_selection import GridSearchCV
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    import mace

    X, y = rows()
    space = mace.Space([mace.Feature("a", "integer", 0, 8), mace.Feature("b", "real", -2.0, 2.0, step=0.5)])
    members = [("one", LogisticRegression()), ("two", GaussianNB())]
    for model in (
        make_pipeline(StandardScaler(), SVC()),
        make_pipeline(StandardScaler(), MLPClassifier((3,), activation="tanh", random_state=0, max_iter=60)),
        SVR(), GaussianNB(), QuadraticDiscriminantAnalysis(), VotingClassifier(members, voting="soft"),
        GridSearchCV(SVC(), {"C": [1.0, 2.0]}, cv=2, scoring="roc_auc"),
        GridSearchCV(LogisticRegression(), {"C": [1.0, 2.0]}, cv=2), TweedieRegressor(power=1.5),
        TweedieRegressor(power=0),
    ):  # fmt: skip
        again = load_model(saved(model.fit(X, y), tmp_path))
        goal = "y >= 0.5" if isinstance(model, (SVR, TweedieRegressor)) else None
        said = [str(mace.explain(one, space, {"a": 1, "b": 0.5}, goal=goal)) for one in (model, again)]
        assert said[0] == said[1] and "needed" in said[0]


def test_a_tuned_threshold_is_refused_with_what_to_save_in_its_place(tmp_path: Path) -> None:
    from sklearn.frozen import FrozenEstimator
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

    X, y = rows()
    model = TunedThresholdClassifierCV(LogisticRegression(), cv=2).fit(X, y)
    with pytest.raises(ModelError, match="save FixedThresholdClassifier"):
        load_model(saved(model, tmp_path))
    fixed = FixedThresholdClassifier(FrozenEstimator(model.estimator_), threshold=model.best_threshold_).fit(X, y)
    again = load_model(saved(fixed, tmp_path))
    assert deployed(again).predict(X).tolist() == model.predict(X).tolist()
