"""ONNX models: whatever onnxruntime decides is possible for the table, and what is sure for the table it decides."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mace.compilers import deployed, load_model, read
from mace.errors import FileError, MaceError, ModelError
from mace.tables.decide import class_of
from mace.tables.table import Ensemble, Network, decision_of
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


def floats(values: Any) -> Any:
    """As an array of float32, or of the floats that it is of."""
    return values if getattr(values, "dtype", None) == np.float16 else np.asarray(values, dtype=np.float32)


def chain(*nodes: tuple[Any, ...], shape: Sequence[int | None] = (None, 2), **constants: Any) -> Any:
    """A graph over a matrix of two columns called x, with the output y; `shape` is what it says of x."""
    onnx = pytest.importorskip("onnx", reason="an extra that is not installed")
    helper, numbers = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node(kind, inputs, outputs, **dict(*given)) for kind, inputs, outputs, *given in nodes],
        "g",
        [helper.make_tensor_value_info("x", numbers, shape)],
        [helper.make_tensor_value_info("y", numbers, None)],
        [onnx.numpy_helper.from_array(floats(v), k) for k, v in constants.items()],
    )
    # What the oldest onnxruntime takes: reading a model asks its runtime too.
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])


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


NORM = {"a": [2, -0.5], "b": [1, 0.3], "c": [1000.3, -2], "d": [1e-4, 3]}
BETWEEN: dict[str, Any] = {
    "a norm of large numbers": lambda: chain(("BatchNormalization", ["x", *"abcd"], ["y"]), **NORM),
    "a norm and its epsilon": lambda: chain(
        ("Relu", ["x"], ["r"]), ("BatchNormalization", ["r", *"abcd"], ["y"], {"epsilon": 0.25}), **NORM
    ),
    "a leaky ReLU": lambda: chain(
        ("LeakyRelu", ["x"], ["l"], {"alpha": 0.3}), ("Gemm", ["l", "w"], ["m"]), ("LeakyRelu", ["m"], ["y"]),
        w=[[1, -2], [3, 0.1]],
    ),
    "ReLUs at once, and twice": lambda: chain(("Relu", ["x"], ["r"]), ("Relu", ["r"], ["s"]), ("Neg", ["s"], ["y"])),
    "an alpha and a beta": lambda: chain(
        ("Gemm", ["x", "w", "v"], ["y"], {"alpha": -0.5, "beta": 4.0, "transB": 1}), w=[[1, -2], [3, 0.1]], v=[0.1, 1],
    ),
    "weights that are turned, shared and of another type": lambda: chain(
        ("Transpose", ["w"], ["t"]), ("Identity", ["t"], ["i"]), ("Cast", ["i"], ["c"], {"to": 11}),
        ("Cast", ["c"], ["d"], {"to": 1}), ("MatMul", ["x", "d"], ["r"]), ("MatMul", ["r", "i"], ["y"]),
        w=[[1, -2], [3, 0.1]],
    ),
    "a beta of nothing": lambda: chain(
        ("Gemm", ["x", "w", "v"], ["y"], {"beta": 0.0}), w=[[1, -2], [3, 0.1]], v=[0.1, 1]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BETWEEN))
def test_what_stands_between_dense_layers_decides_as_onnxruntime(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="an extra that is not installed")
    model = BETWEEN[name]()
    table: Any = read(model)
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(300, 2)) * 3, [1000.3, -2] + rng.normal(size=(300, 2)) / 100])
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    said = session.run(None, {"x": rows.astype(np.float32)})[0]
    for row, own in zip(rows, said, strict=True):
        assert np.allclose(table.scores(row), own, rtol=1e-3, atol=0.05)
        found = class_of(table, row)
        assert found is None or found == int(np.argmax(own))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: chain(("Tanh", ["x"], ["y"])), "Tanh (y) is not supported"),
        (lambda: chain(("MatMul", ["x", "w"], ["y"]), w=np.ones((3, 1))), "takes 3 columns and is given 2"),
        (lambda: chain(("MatMul", ["x", "w"], ["y"]), w=[[np.nan], [1]]), "not finite"),
        (lambda: chain(("MatMul", ["x", "w"], ["z"]), ("Softmax", ["z"], ["y"]), w=[[1], [2]]), "Softmax of one score"),
        (lambda: chain(("Softmax", ["x"], ["p"]), ("ArgMax", ["p"], ["y"], {"axis": 1})), "computes nothing"),
        (lambda: chain(("Transpose", ["x"], ["t"]), ("MatMul", ["t", "w"], ["y"]), w=np.ones((2, 1))), "Transpose (t)"),
        (lambda: chain(("Transpose", ["w"], ["t"], {"perm": [0, 0]}), ("MatMul", ["x", "t"], ["y"]), w=np.ones((2, 1))),
         "the order [0, 0] for 2 dimensions"),
        (lambda: chain(("Cast", ["w"], ["t"], {"to": 7}), ("MatMul", ["x", "t"], ["y"]), w=np.ones((2, 1))),
         "not between float32 and float64"),
        (lambda: chain(("Scan", ["x"], ["y"], {"num_scan_inputs": 1, "body": chain(("Neg", ["x"], ["y"])).graph})),
         "a graph inside an operation (If, Loop, Scan)"),
        (lambda: chain(("Gemm", ["x", "w"], ["y"], {"transA": 1}), w=np.ones((2, 1))), "takes columns for rows"),
        (lambda: chain(("Gemm", ["x", "w"], ["y"], {"alpha": 0.3}), w=np.ones((2, 1))), "has the alpha 0.3"),
        (lambda: chain(("Gemm", ["x", "w"], ["y"], {"alpha": 0.5}), w=np.full((2, 1), 1e9)), "beside an alpha of 0.5"),
        (lambda: chain(("LeakyRelu", ["x"], ["y"], {"alpha": 2.0})), "has the slope 2"),
        (lambda: chain(("BatchNormalization", ["x", *"abcd"], ["y"]), a=[1, 1], b=[0, 0], c=[0, 0], d=[-1, 1]),
         "a variance that is zero or negative"),
        (lambda: chain(("BatchNormalization", ["x", *"abcd"], ["y"]), a=[1], b=[0], c=[0], d=[1]), "1 means for 2"),
        (lambda: chain(("BatchNormalization", ["x", *"abcd"], ["y", "m", "v"]), a=[1, 1], b=[0, 0], c=[0, 0], d=[1, 1]),
         "training mode"),
        (lambda: chain(("Add", ["x", "w"], ["y"]), w=np.ones(2, np.float16)), "values of type float16"),
        (lambda: chain(("Flatten", ["x"], ["f"]), ("MatMul", ["f", "w"], ["y"]), w=np.ones((1, 1)), shape=(2,)),
         "Flatten (f) is not followed for an input of one dimension"),
        (lambda: chain(("Add", ["x", "w"], ["y"]), w=np.ones((1, 2)), shape=(2,)), "makes several dimensions of one"),
        (lambda: chain(("MatMul", ["w", "x"], ["y"]), w=np.ones((2, 2))), "is not supported"),
        (lambda: chain(("Neg", ["x"], ["y"]), shape=(1,) * 9), "has 9 dimensions"),
    ],
)  # fmt: skip
def test_what_is_not_supported_is_named(model: Any, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        read(model())
    assert message in str(caught.value)


def test_an_operation_that_is_read_elsewhere_is_not_said_to_be_supported() -> None:
    twice = chain(("MatMul", ["x", "w"], ["z"]), ("Sigmoid", ["z"], ["p"]), ("Sigmoid", ["p"], ["y"]), w=[[1], [2]])
    with pytest.raises(ModelError, match="The Sigmoid before it has made probabilities of the scores already") as given:
        read(twice)
    assert "Supported are" not in str(given.value)
    relu = chain(("MatMul", ["x", "w"], ["z"]), ("Sigmoid", ["z"], ["p"]), ("Relu", ["p"], ["y"]), w=[[1], [2]])
    with pytest.raises(ModelError, match=r"After the scores only ArgMax, .* are followed"):
        read(relu)
    with pytest.raises(ModelError, match="Other uses of LeakyRelu are read"):
        read(chain(("LeakyRelu", ["x"], ["y"], {"alpha": 2.0})))


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


@pytest.mark.parametrize("turned", [False, True])
def test_an_input_of_one_dimension_is_one_row(tmp_path: Path, turned: bool) -> None:
    """As VNN-COMP's smallest networks are: x W, or W x, of a plain list of numbers; from a compressed file, too."""
    runtime = pytest.importorskip("onnxruntime", reason="an extra that is not installed")
    w, v = np.array([[1.0, -2.0, 0.5], [3.0, 0.1, -1.0]]), np.array([[1.0, 0.5], [-1.0, 2.0], [0.3, 0.0]])
    weights = {"w": w.T, "v": v.T} if turned else {"w": w, "v": v}
    sides = (["w", "x"], ["v", "r"]) if turned else (["x", "w"], ["r", "v"])
    model = chain(
        ("MatMul", sides[0], ["m"]), ("Add", ["m", "b"], ["a"]), ("Relu", ["a"], ["r"]), ("MatMul", sides[1], ["y"]),
        shape=(2,), b=[0.5, 0, -1], **weights,
    )  # fmt: skip
    path = tmp_path / "model.onnx.gz"
    path.write_bytes(gzip.compress(model.SerializeToString()))
    rows = pd.DataFrame(np.random.default_rng(1).normal(size=(50, 2)).astype(np.float32))
    session = runtime.InferenceSession(model.SerializeToString())
    own = np.array([session.run(None, {"x": row})[0] for row in rows.to_numpy()])
    read_back: Any = load_model(path)
    assert np.allclose([read_back.table().scores(row) for row in rows.to_numpy()], own, atol=1e-5)
    assert deployed(read_back).predict(rows).tolist() == own.argmax(axis=1).tolist()
    assert len(set(own.argmax(axis=1).tolist())) == 2


def test_a_graph_for_one_row_at_a_time_is_asked_row_by_row(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="an extra that is not installed")
    whole, _ = saved_apart(tmp_path)
    rows = pd.DataFrame(np.random.default_rng(1).normal(size=(50, 4)))
    table = read(whole)
    said = deployed(whole).predict(rows)
    assert said.tolist() == [int(np.argmax(table.scores(row))) for row in rows.to_numpy()]
    assert len(set(said.tolist())) > 1


@pytest.mark.slow
def test_maps_and_labels_of_text_decide_as_onnxruntime() -> None:
    runtime = pytest.importorskip("onnxruntime", reason="an extra that is not installed")
    skl2onnx = pytest.importorskip("skl2onnx")
    X, y = data(Family("three", lambda X, y: None, 3))
    words = np.array(["low", "middle", "high"])[y]
    for name, (model, classes) in models().items():
        if name.endswith("-2"):
            continue
        for labels in (y, words) if classes == 3 else (y > 0,):
            for zipmap in (True, False):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(X.astype(np.float32), labels)
                    proto = skl2onnx.to_onnx(model, X[:1].astype(np.float32), options={"zipmap": zipmap})
                session = runtime.InferenceSession(proto.SerializeToString())
                said = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})[0]
                mine = deployed(proto)
                assert mine.predict(pd.DataFrame(X)).tolist() == said.tolist(), name
                assert set(said.tolist()) <= set(read(proto).classes)


def regressors() -> dict[str, Any]:
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import LinearRegression
    from sklearn.neural_network import MLPRegressor

    return {
        "linear": LinearRegression(),
        "forest": RandomForestRegressor(5, max_depth=4, random_state=0),
        "boosting": GradientBoostingRegressor(n_estimators=5, random_state=0),
        "network": MLPRegressor(hidden_layer_sizes=(4,), random_state=0, max_iter=50),
    }


@pytest.mark.parametrize("name", list(regressors()))
def test_a_number_is_predicted_as_onnxruntime_predicts_it(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="an extra that is not installed")
    skl2onnx = pytest.importorskip("skl2onnx")
    X, _ = data(Family("two", lambda X, y: None, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = regressors()[name].fit(X.astype(np.float32), X[:, 0] + X[:, 1] ** 2)
        proto = skl2onnx.to_onnx(model, X[:1].astype(np.float32))
    session = runtime.InferenceSession(proto.SerializeToString())
    said = session.run(None, {session.get_inputs()[0].name: X.astype(np.float32)})[0].ravel()
    assert deployed(proto).predict(pd.DataFrame(X)).tolist() == said.tolist()


def forest() -> Any:
    """Three small trees for three classes."""
    skl2onnx = pytest.importorskip("skl2onnx")
    from sklearn.ensemble import RandomForestClassifier

    X, y = data(Family("three", lambda X, y: None, 3))
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
    return skl2onnx.to_onnx(model, X[:1].astype(np.float32), options={"zipmap": False})


def attribute(model: Any, name: str) -> Any:
    return next(one for one in model.graph.node[0].attribute if one.name == name)


def add_identity(model: Any, kind: str, **attributes: Any) -> None:
    """An operation after the label, which becomes the output."""
    onnx = pytest.importorskip("onnx")
    last = model.graph.output[0].name
    model.graph.node.append(onnx.helper.make_node(kind, [last], ["changed"], **attributes))
    model.graph.output[0].name = "changed"


WRONG: dict[str, tuple[Any, str]] = {
    "class": (lambda m: attribute(m, "class_ids").ints.__setitem__(0, 9), "class_ids name 9 of 3"),
    "child": (lambda m: attribute(m, "nodes_truenodeids").ints.__setitem__(0, 99), "left child out of range"),
    "cycle": (lambda m: attribute(m, "nodes_truenodeids").ints.__setitem__(0, 0), "a cycle"),
    "column": (lambda m: attribute(m, "nodes_featureids").ints.__setitem__(0, 2**40), "beyond the 6 known"),
    "lengths": (lambda m: attribute(m, "nodes_values").floats.pop(), "different lengths"),
    "mixed trees": (lambda m: attribute(m, "nodes_treeids").ints.__setitem__(0, 1), "trees are mixed"),
    "weight of an inner node": (lambda m: attribute(m, "class_nodeids").ints.__setitem__(0, 0), "is no leaf"),
    "infinite": (lambda m: attribute(m, "class_weights").floats.__setitem__(0, np.inf), "not finite"),
    "unknown attribute": (lambda m: setattr(attribute(m, "post_transform"), "name", "post"), "'post', which is not"),
    "another type": (lambda m: setattr(attribute(m, "post_transform"), "type", 2), "of another type"),
    "a text that is none": (lambda m: setattr(attribute(m, "post_transform"), "s", b"\xff"), "no UTF-8"),
    "another set of operations": (lambda m: setattr(m.graph.node[0], "domain", "x"), "is not supported"),
    "version": (lambda m: setattr(m.opset_import[0], "version", 99), "version 99 of the operations"),
    "columns": (
        lambda m: setattr(m.graph.input[0].type.tensor_type.shape.dim[1], "dim_value", 2**40),
        "number of columns is 1099511627776",
    ),
    "an input without a name": (
        lambda m: m.graph.input.append(type(m.graph.input[0])()),
        "an input has no name",
    ),
    "a label that is changed": (lambda m: add_identity(m, "Cast", to=1), "changes what the model decides"),
    "a label that is turned": (
        lambda m: add_identity(m, "Neg"),
        "Neg (changed) comes after the scores, and is not followed there",
    ),
    "an output that is not there": (lambda m: setattr(m.graph.output[0], "name", "gone"), "'gone' is not followed"),
    "no output": (lambda m: m.graph.ClearField("output"), "no output that decides"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_onnxruntime_would_trust_is_refused(tmp_path: Path, name: str) -> None:
    edit, message = WRONG[name]
    model = forest()
    edit(model)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ModelError) as caught:
        read(load_model(tmp_path / "model.onnx"))
    assert message in str(caught.value)


def test_a_tree_as_deep_as_a_stack_is_refused() -> None:
    model = forest()
    depth = 3_000  # node k goes left to the leaf depth + k, right to k + 1
    count = 2 * depth + 1
    for name, values in {
        "nodes_treeids": [0] * count,
        "nodes_nodeids": range(count),
        "nodes_featureids": [0] * count,
        "nodes_truenodeids": [*range(depth, 2 * depth), *[0] * (depth + 1)],
        "nodes_falsenodeids": [*range(1, depth), 2 * depth, *[0] * (depth + 1)],
        "nodes_hitrates": [1.0] * count,
        "nodes_missing_value_tracks_true": [0] * count,
        "nodes_values": [float(k) for k in range(count)],
        "nodes_modes": [b"BRANCH_LEQ"] * depth + [b"LEAF"] * (depth + 1),
        "class_treeids": [0] * (depth + 1),
        "class_nodeids": range(depth, count),
        "class_ids": [0] * (depth + 1),
        "class_weights": [1.0] * (depth + 1),
    }.items():
        one = attribute(model, name)
        field = {6: "floats", 7: "ints", 8: "strings"}[one.type]
        one.ClearField(field)
        getattr(one, field).extend(values)
    with pytest.raises(ModelError, match="more than 1000 levels deep"):
        read(model)


def test_a_wide_layer_of_one_number_claims_no_memory() -> None:
    model = chain(("Add", ["x", "one"], ["y"]), one=[1.0])
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 10_000_000
    with pytest.raises(ModelError, match="too large"):
        read(model)


def test_a_change_of_shape_that_moves_numbers_between_rows_is_refused() -> None:
    onnx = pytest.importorskip("onnx")
    model = chain(("Reshape", ["x", "shape"], ["a"]), ("MatMul", ["a", "w"], ["y"]), w=[[1.0]])
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([-1, 1]), "shape"))
    with pytest.raises(ModelError, match="moves numbers between rows"):
        read(model)


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00", b"\x3a\x00", b"\x3a\xff\xff\xff\xff\x0f", b"\xff" * 30, b"\x08" + b"\xff" * 12, b"\x3a\x02\x2a\x7f"],
)
def test_bytes_that_are_no_message_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "model.onnx").write_bytes(data)
    with pytest.raises((FileError, ModelError)):
        read(load_model(tmp_path / "model.onnx"))


def test_a_fixed_number_of_rows_claims_no_memory() -> None:
    model = chain(("MatMul", ["x", "w"], ["y"]), w=np.ones((2, 1)))
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2**40
    with pytest.raises(ModelError, match="number of rows is 1099511627776"):
        read(model)


def test_a_space_of_other_columns_is_refused_with_both_numbers() -> None:
    import mace

    space = mace.Space([mace.Feature("a", "integer", 0, 4)])
    with pytest.raises(MaceError, match="the model takes 6 columns, the space encodes 1"):
        mace.explain(forest(), space, {"a": 1})
