"""ONNX models: whatever onnxruntime decides is possible for the table, and what is sure for the table it decides."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from mace.compilers import read
from mace.errors import ModelError
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
