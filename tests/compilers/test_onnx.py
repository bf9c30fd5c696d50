"""ONNX models: whatever onnxruntime decides is possible for the table, and what is sure for the table it decides."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mace.compilers import deployed, load_model, read
from mace.errors import FileError, ModelError
from mace.tables import Ensemble, Network, decision_of
from tests.compilers.cases import bounds, enclosure
from tests.compilers.families import Family, asked, data, decisions, scores


def models() -> dict[str, tuple[Any, int]]:
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    return {
        "tree": (DecisionTreeClassifier(max_depth=5, random_state=0), 2),
        "forest-2": (RandomForestClassifier(9, max_depth=5, random_state=0), 2),
        "forest-3": (RandomForestClassifier(9, max_depth=5, random_state=0), 3),
        "boosting-2": (GradientBoostingClassifier(n_estimators=12, random_state=0), 2),
        "boosting-3": (GradientBoostingClassifier(n_estimators=5, random_state=0), 3),
        "network-2": (MLPClassifier((6, 5), random_state=0), 2),
        "network-3": (make_pipeline(StandardScaler(), MLPClassifier((6, 5), random_state=0)), 3),
        "logistic-2": (make_pipeline(StandardScaler(), LogisticRegression()), 2),
        "logistic-3": (make_pipeline(StandardScaler(), LogisticRegression()), 3),
    }


@pytest.mark.parametrize("name", list(models()))
def test_an_onnx_model_decides_as_onnxruntime(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="an extra that is not installed")
    skl2onnx = pytest.importorskip("skl2onnx")
    model, classes = models()[name]
    family = Family(name, lambda X, y: None, classes)
    X, y = data(family)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X.astype(np.float32), y)
        proto = skl2onnx.to_onnx(model, X[:1].astype(np.float32), options={"zipmap": False})
    table = read(proto)
    if isinstance(table, Ensemble):
        rows = asked(family, table, X)
        found = scores(table, rows)
    else:
        assert isinstance(table, Network)
        rng = np.random.default_rng(0)
        rows = X[rng.integers(0, len(X), 10_000)] * (1 + rng.normal(size=(10_000, X.shape[1])) / 10)
        found = np.array([table.scores(row) for row in rows])
    session = runtime.InferenceSession(proto.SerializeToString())
    said = session.run(None, {session.get_inputs()[0].name: rows.astype(np.float32)})[0]
    different = np.flatnonzero(np.array(decisions(table, found)) != said)
    bound = bounds(rows)
    for place in [*range(0, len(rows), 100), *different.tolist()]:
        for index, label in enumerate(table.classes):
            possible, sure = enclosure(table, decision_of(table, index), rows[place], bound)
            assert possible or said[place] != label
            assert not sure or said[place] == label


def chain(*nodes: tuple[str, list[str], list[str]], **constants: Any) -> Any:
    """A graph over a matrix of two columns called x, with the output y."""
    onnx = pytest.importorskip("onnx", reason="an extra that is not installed")
    helper, numbers = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node(kind, inputs, outputs) for kind, inputs, outputs in nodes],
        "g",
        [helper.make_tensor_value_info("x", numbers, [None, 2])],
        [helper.make_tensor_value_info("y", numbers, None)],
        [onnx.numpy_helper.from_array(np.asarray(v, dtype=np.float32), k) for k, v in constants.items()],
    )
    return helper.make_model(graph)


def test_scaling_dense_layers_and_relu_compute_what_they_say() -> None:
    model = chain(
        ("Sub", ["x", "m"], ["a"]), ("Div", ["a", "s"], ["b"]), ("Gemm", ["b", "w", "c"], ["d"]),
        ("Relu", ["d"], ["e"]), ("MatMul", ["e", "v"], ["y"]),
        m=[1, 2], s=[2, 4], w=[[1, -1], [2, 0.5]], c=[0.5, 0], v=[[1, 0, 2], [0, 1, -1]],
    )  # fmt: skip
    table = read(model)
    assert isinstance(table, Network)
    x = np.array([3.0, -2.0])
    hidden = np.maximum((x - [1, 2]) / [2, 4] @ np.array([[1, -1], [2, 0.5]]) + [0.5, 0], 0)
    assert np.allclose(table.scores(x), hidden @ np.array([[1, 0, 2], [0, 1, -1]]))
    assert table.classes == (0, 1, 2)
    assert table.dtype == "float32"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: chain(("Tanh", ["x"], ["y"])), "Tanh (y) is not supported"),
        (lambda: chain(("MatMul", ["x", "w"], ["y"]), w=np.ones((3, 1))), "takes 3 columns and is given 2"),
        (lambda: chain(("MatMul", ["x", "w"], ["y"]), w=[[np.nan], [1]]), "not finite"),
        (lambda: chain(("Relu", ["x"], ["y"])), "does not follow a layer"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_named(model: Any, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        read(model())
    assert message in str(caught.value)


def saved_apart(folder: Path) -> tuple[Any, Path]:
    """A dense graph in a file, its weights in another one beside it, as exporters of networks write them."""
    onnx = pytest.importorskip("onnx")
    rng = np.random.default_rng(0)
    weights = [rng.normal(size=shape).astype(np.float32) for shape in ((4, 30), (30,), (30, 3), (3,))]
    graph = onnx.helper.make_graph(
        [
            onnx.helper.make_node("Gemm", ["x", "w0", "b0"], ["z"]),
            onnx.helper.make_node("Relu", ["z"], ["a"]),
            onnx.helper.make_node("Gemm", ["a", "w1", "b1"], ["y"]),
        ],
        "graph",
        [onnx.helper.make_tensor_value_info("x", 1, [1, 4])],
        [onnx.helper.make_tensor_value_info("y", 1, [1, 3])],
        [onnx.numpy_helper.from_array(w, n) for w, n in zip(weights, ("w0", "b0", "w1", "b1"), strict=True)],
    )
    proto = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    whole = onnx.ModelProto.FromString(proto.SerializeToString())
    path = folder / "model.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="model.onnx.data", size_threshold=0)
    return whole, path


def test_weights_in_a_file_beside_the_model_are_read(tmp_path: Path) -> None:
    whole, path = saved_apart(tmp_path)
    apart: Any = load_model(path)
    row = np.array([0.5, -1.0, 2.0, 0.25])
    table = apart.table()
    assert isinstance(table, Network)
    assert table.scores(row).tolist() == read(whole).scores(row).tolist()


@pytest.mark.parametrize("location", ["/etc/hostname", "../model.onnx.data", "sub/model.onnx.data", "..", "link"])
def test_weights_are_read_from_nowhere_else(tmp_path: Path, location: str) -> None:
    onnx = pytest.importorskip("onnx")
    _, path = saved_apart(tmp_path)
    (tmp_path / "link").symlink_to("model.onnx.data")
    proto = onnx.load(path, load_external_data=False)
    for tensor in proto.graph.initializer:
        tensor.external_data[0].value = location
    path.write_bytes(proto.SerializeToString())
    with pytest.raises(FileError, match=r"beside it|no plain file"):
        load_model(path)


def test_a_file_of_weights_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    _, path = saved_apart(tmp_path)
    beside = path.with_name("model.onnx.data")
    beside.write_bytes(beside.read_bytes()[:100])
    with pytest.raises(FileError, match="too short"):
        load_model(path)


def test_a_graph_for_one_row_at_a_time_is_asked_row_by_row(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="an extra that is not installed")
    whole, _ = saved_apart(tmp_path)
    rows = pd.DataFrame(np.random.default_rng(1).normal(size=(50, 4)))
    table = read(whole)
    said = deployed(whole).predict(rows)
    assert said.tolist() == [int(np.argmax(table.scores(row))) for row in rows.to_numpy()]
    assert len(set(said.tolist())) > 1
