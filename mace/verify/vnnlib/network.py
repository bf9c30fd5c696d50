"""The network that a property in VNN-LIB is about, and what computes its outputs as a runtime does.

In:  an `.onnx` file, or what `mace.explain` takes for ONNX.
Out: its table, a `Runtime` (the outputs for one row, of the network's precision), and a note on who computes them.
Promise: onnxruntime is asked wherever it is installed and runs the graph; else the note says that it was not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from mace.compilers.load import load_model
from mace.compilers.model_file import ModelFile
from mace.compilers.onnx import reader as read_onnx
from mace.errors import ModelError
from mace.tables.table import Floats, Network

Runtime: TypeAlias = Callable[[Floats], Floats]
EMULATED = "onnxruntime is not installed: the outputs are mace's own evaluation"
NOT_RUN = "onnxruntime does not run this network: the outputs are mace's own evaluation"


def read_network(given: object) -> tuple[Network, Runtime, str]:
    """The table of a network, what computes its outputs as a runtime does, and a note on that."""
    if isinstance(given, (str, Path)):
        given = load_model(given)
    content = given.content if isinstance(given, ModelFile) else given
    if isinstance(given, ModelFile) and given.format.package != "onnx":
        raise ModelError(f"a property in VNN-LIB is about a network in ONNX, and {given.path.name} is none")
    followed = read_onnx.follow(read_onnx.graph_of(content))
    table = followed.table
    if not isinstance(table, Network) or not followed.scores:
        raise ModelError(
            "a property in VNN-LIB is about the numbers that a ReLU network computes; this one is a "
            f"{table.name} whose output is something else",
            hint="Export the network up to its last linear layer.",
        )
    try:
        import onnxruntime
    except ImportError:
        return table, lambda row: _emulated(table, row), EMULATED
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(followed.file, options, providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001  its errors have no common kind; some operations it knows in float32 alone
        return table, lambda row: _emulated(table, row), NOT_RUN
    asked, dtype = session.get_inputs()[0], np.dtype(table.dtype)
    vector = len(asked.shape) == 1
    rows = asked.shape[0] if isinstance(asked.shape[0], int) and not vector else 1  # a file may say how many it takes

    def run(row: Floats) -> Floats:
        given = row.astype(dtype) if vector else np.tile(row.astype(dtype), (rows, 1))
        found = np.asarray(session.run(None, {asked.name: given})[0], dtype=np.float64)
        return np.asarray(found.reshape(rows, -1)[0])

    return table, run, "the outputs are onnxruntime's"


def _emulated(table: Network, row: Floats) -> Floats:
    """The outputs for a row, every operation in the network's precision."""
    values: Any = row.astype(table.dtype)
    for layer in table.layers:
        values = values @ layer.weights.astype(table.dtype) + layer.bias.astype(table.dtype)
        if layer.activation == "relu":
            values = np.maximum(values, 0)
    return np.asarray(values, dtype=np.float64)


__all__ = ["Runtime", "read_network"]
