"""The operations of ONNX that are followed, and the attributes that each may have.

In:  a node of a graph.
Out: nothing; a ModelError for an operation or an attribute that is not in the table, or is of another type.
Source: onnx.ai/onnx/operators, versions 7 to 24 of the operations and 1 to 5 of those for machine learning.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mace.compilers.onnx.model import ML, OnnxNode
from mace.errors import ModelError

# What an attribute must be.
_TYPES: dict[str, Callable[[Any], bool]] = {
    "float": lambda value: isinstance(value, float) and math.isfinite(value),
    "int": lambda value: isinstance(value, int),
    "text": lambda value: isinstance(value, str),
    "floats": lambda value: isinstance(value, np.ndarray) and value.dtype == np.float32 and value.ndim == 1,
    "ints": lambda value: isinstance(value, list) and all(isinstance(one, int) for one in value),
    "texts": lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    "array": lambda value: isinstance(value, np.ndarray),
}
_TREES = {
    "post_transform": "text", "base_values": "floats", "nodes_treeids": "ints", "nodes_nodeids": "ints",
    "nodes_featureids": "ints", "nodes_values": "floats", "nodes_hitrates": "floats", "nodes_modes": "texts",
    "nodes_truenodeids": "ints", "nodes_falsenodeids": "ints", "nodes_missing_value_tracks_true": "ints",
}  # fmt: skip
# Every operation that is followed: the set that it belongs to, and its attributes.
OPERATIONS: dict[str, tuple[str, dict[str, str]]] = {
    **{kind: ("", {}) for kind in ("MatMul", "Add", "Sub", "Mul", "Div", "Neg", "Relu", "Identity",
                                "Sigmoid")},
    "Transpose": ("", {"perm": "ints"}),
    "LeakyRelu": ("", {"alpha": "float"}),
    "BatchNormalization": ("", {"epsilon": "float", "momentum": "float", "spatial": "int", "training_mode": "int"}),
    "Gemm": ("", {"alpha": "float", "beta": "float", "transA": "int", "transB": "int"}),
    "Flatten": ("", {"axis": "int"}),
    "Reshape": ("", {"allowzero": "int"}),
    "Cast": ("", {"to": "int", "saturate": "int"}),
    "Dropout": ("", {"ratio": "float", "seed": "int"}),
    "Softmax": ("", {"axis": "int"}),
    "Constant": ("", {"value": "array", "value_float": "float", "value_int": "int", "value_ints": "ints",
                      "value_floats": "floats"}),
    "Scaler": (ML, {"offset": "floats", "scale": "floats"}),
    "LinearClassifier": (ML, {"classlabels_ints": "ints", "classlabels_strings": "texts", "coefficients": "floats",
                              "intercepts": "floats", "multi_class": "int", "post_transform": "text"}),
    "LinearRegressor": (ML, {"coefficients": "floats", "intercepts": "floats", "targets": "int",
                             "post_transform": "text"}),
    "TreeEnsembleClassifier": (ML, {**_TREES, "class_treeids": "ints", "class_nodeids": "ints", "class_ids": "ints",
                                    "class_weights": "floats", "classlabels_int64s": "ints",
                                    "classlabels_strings": "texts"}),
    "TreeEnsembleRegressor": (ML, {**_TREES, "target_treeids": "ints", "target_nodeids": "ints", "target_ids": "ints",
                                   "target_weights": "floats", "n_targets": "int", "aggregate_function": "text"}),
    "TreeEnsemble": (ML, {
        **dict.fromkeys(("aggregate_function", "n_targets", "post_transform"), "int"),
        **dict.fromkeys(("leaf_targetids", "nodes_falseleafs", "nodes_falsenodeids", "nodes_featureids",
                         "nodes_missing_value_tracks_true", "nodes_trueleafs", "nodes_truenodeids", "tree_roots"),
                        "ints"),
        **dict.fromkeys(("leaf_weights", "membership_values", "nodes_hitrates", "nodes_modes", "nodes_splits"),
                        "array"),
    }),
    "ArgMax": ("", {"axis": "int", "keepdims": "int", "select_last_index": "int"}),
    "Concat": ("", {"axis": "int"}),
    "Squeeze": ("", {"axes": "ints"}),
    "ArrayFeatureExtractor": (ML, {}),
    "Normalizer": (ML, {"norm": "text"}),
    "ZipMap": (ML, {"classlabels_int64s": "ints", "classlabels_strings": "texts"}),
}  # fmt: skip


def refuse_unknown(node: OnnxNode) -> None:
    """Raise for an operation, a set of operations or an attribute that is not known."""
    domain, known = OPERATIONS.get(node.kind, (None, {}))
    if node.domain != domain:
        raise wrong(node, "is not supported")
    for name, value in node.attributes.items():
        if name not in known:
            raise wrong(node, f"has the attribute {name!r}, which is not known")
        if not _TYPES[known[name]](value):
            raise wrong(node, f"has the attribute {name!r} of another type")


def wrong(node: OnnxNode, what: str, hint: str = "") -> ModelError:
    """The error for an operation; the usual hint says what is followed, or that only this use of it is not."""
    known = OPERATIONS.get(node.kind, (None, {}))[0] == node.domain
    usual = f"Other uses of {node.kind} are read: export the model without this one, or as its own library's file."
    if not known:
        usual = f"Supported are chains of {', '.join(sorted(OPERATIONS))}."
    return ModelError(f"{node} {what}", hint=hint or usual)
