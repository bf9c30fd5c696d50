"""All that is known of ONNX, and of onnxruntime, which runs its graphs; what reads them is imported late."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mace.compilers.deployed import Deployed, Given, Rows, as_rows
from mace.compilers.library import FileType, Library, Reader
from mace.compilers.model_file import Format, ModelFile
from mace.tables.table import Ensemble, Table


def _read(graph: Any) -> Table:
    from mace.compilers.onnx.reader import read_proto

    return read_proto(graph)


def _opened(path: Path) -> ModelFile:
    from mace.compilers.onnx.model import load

    return ModelFile(path, FORMAT, load(path))


def _deployed(model: Any, given: Given) -> Deployed:
    from mace.compilers.onnx.reader import graph_of

    return ModelFile(Path("the model"), FORMAT, graph_of(model)).deployed(given)


def _made(graph: Any) -> Any:
    import onnxruntime

    from mace.compilers.onnx.reader import follow

    return onnxruntime.InferenceSession(follow(graph).file)


def _session(session: Any, _: Given, table: Any) -> Deployed:
    """The decisions of an ONNX graph whose output is a class, or else scores."""
    given = session.get_inputs()[0]
    dtype = np.float64 if "double" in given.type else np.float32
    output = session.get_outputs()[0]  # the one that decides: `follow` keeps no other
    vector = len(given.shape) == 1
    fixed = given.shape[0] if isinstance(given.shape[0], int) else None  # Some exporters fix how many rows are asked.
    fixed = 1 if vector else fixed

    def ask(rows: Rows) -> Rows:
        """The classes or scores, shape (rows, ..); in blocks of the fixed size, the last one filled up."""
        if fixed is None or not len(rows):
            return np.asarray(session.run([output.name], {given.name: rows})[0]).reshape(len(rows), -1)
        padded = np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % fixed, axis=0)])
        blocks = [padded[start : start + fixed] for start in range(0, len(padded), fixed)]
        blocks = [block.ravel() if vector else block for block in blocks]
        found = [np.asarray(session.run([output.name], {given.name: block})[0]).reshape(fixed, -1) for block in blocks]
        return np.concatenate(found)[: len(rows)]

    def predict(frame: Any) -> Rows:
        found = ask(as_rows(frame).astype(dtype))
        if output.type in ("tensor(int64)", "tensor(string)"):
            return found.ravel()
        if not table.classes:
            return np.asarray(found[:, 0])
        if isinstance(table, Ensemble) and table.outputs == 1 or found.shape[1] == 1:
            return np.asarray(np.array(table.classes)[(found[:, 0] > 0.5).astype(int)])
        return np.asarray(np.array(table.classes)[np.argmax(found, axis=1)])

    return Deployed(predict)


def _small(frame: Any, labels: Any) -> Any:
    """One test of the first column, as CatBoost writes trees."""
    from onnx import helper

    nodes = {"treeids": [0] * 3, "nodeids": [0, 1, 2], "featureids": [0] * 3, "truenodeids": [2, 0, 0],
             "falsenodeids": [1, 0, 0], "modes": ["BRANCH_GT", "LEAF", "LEAF"],
             "values": [float(frame.iloc[:, 0][labels == 0].max()), 0.0, 0.0]}  # fmt: skip
    leaves = {"treeids": [0] * 2, "nodeids": [1, 2], "ids": [1, 1], "weights": [-1.0, 1.0]}
    node = helper.make_node(
        "TreeEnsembleClassifier", ["x"], ["label", "p"], domain="ai.onnx.ml", classlabels_int64s=[0, 1],
        **{f"nodes_{key}": value for key, value in nodes.items()},
        **{f"class_{key}": value for key, value in leaves.items()},
    )  # fmt: skip
    outputs = [helper.make_tensor_value_info("label", 7, [None]), helper.make_tensor_value_info("p", 1, [None, 2])]
    graph = helper.make_graph([node], "small", [helper.make_tensor_value_info("x", 1, [None, frame.shape[1]])], outputs)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("ai.onnx.ml", 2)])


FORMAT = Format("onnx", _read, _made, _session)
LIBRARY = Library(
    name="ONNX",
    package="onnx",
    distributions={"onnx": ("onnx",), "onnxruntime": ("onnxruntime", "onnxruntime-gpu")},
    extra="onnx",
    deployed=_deployed,
    readers={
        "onnx.ModelProto": Reader(
            _read,
            "margin",
            "operations other than those of dense layers and tree ensembles; several inputs; trees with BRANCH_MEMBER, "
            "several targets, numbers in float64, or other aggregates than sums",
        ),
    },
    files=(FileType((".onnx", ".onnx.gz"), lambda path, _: _opened(path)),),
    small=_small,
)
