"""Read ONNX models: chains of dense layers, and tree ensembles.

In:  the bytes of an .onnx file, or a ModelProto (package `onnx`).
Out: a Network (each operation a layer of its own, in the precision of the input), or an Ensemble.
Promise: the graph is checked by `onnx.checker`, shapes must fit, an operation that is not known is a ModelError that
names it; weights that an exporter put into a file of their own are read from beside the model only. Runtimes add in
any order, so nothing depends on it.
How a runtime decides (onnxruntime 1.31; ONNX operators): trees compare float32 inputs with float32 thresholds and add
in float32; of two classes with weights for one only, class 1 is sum > 1/2 if no weight is negative, else sum > 0; of
several classes the first of the largest. A model whose last operation is Sigmoid decides for class 1 above 1/2, one
that ends in Softmax for the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mace.compilers.read_onnx_trees import read_tree_ensemble
from mace.errors import FileError, ModelError
from mace.tables import Compare, Decision, Ensemble, Floats, Label, Layer, Network, Rule

_FLOATS = {1: "float32", 11: "float64"}
# What may follow the probabilities or the label: none of these changes which class is the largest.
_TAIL = ("Identity", "Cast", "ZipMap", "ArgMax", "ArrayFeatureExtractor", "Reshape", "Squeeze", "Flatten", "Normalizer")
SUPPORTED = (
    "Gemm", "MatMul", "Add", "Sub", "Mul", "Div", "Relu", "Flatten", "Reshape", "Identity", "Cast", "Dropout", "Scaler",
    "Sigmoid", "Softmax", "LinearClassifier", "LinearRegressor", "TreeEnsembleClassifier", "TreeEnsembleRegressor",
)  # fmt: skip
LARGEST_FILE = 2**31


def load(path: Path) -> Any:
    """The ModelProto of a file; raises FileError for damage, ModelError if `onnx` is not installed."""
    try:
        import onnx
    except ImportError:
        raise ModelError(f"reading {path} needs the package onnx", hint="pip install 'mace-smt[onnx]'") from None
    if path.stat().st_size > LARGEST_FILE:
        raise FileError(f"{path} is larger than {LARGEST_FILE // 2**30} GB")
    try:
        model = onnx.load_model_from_string(path.read_bytes())
        for tensor in model.graph.initializer:
            if tensor.data_location == tensor.EXTERNAL:
                _bring_in(tensor, path)
        onnx.checker.check_model(model)
    except FileError:
        raise
    except Exception as error:  # noqa: BLE001 - protobuf and the checker raise their own kinds
        raise FileError(
            f"{path} is no valid ONNX model ({error})", hint="It may be cut off: export it again."
        ) from None
    return model


def _bring_in(tensor: Any, path: Path) -> None:
    """Take a tensor's bytes from the file that an exporter wrote beside the model, and from nowhere else."""
    told = {entry.key: entry.value for entry in tensor.external_data}
    name = told.get("location", "")
    if not name or name in (".", "..") or Path(name).name != name or "\\" in name:
        raise FileError(
            f"{path} keeps {tensor.name!r} in {name!r}, which is not the plain name of a file beside it",
            hint="Export it again, with its weights inside or in a file beside it.",
        )
    beside = path.parent / name
    if beside.is_symlink() or not beside.is_file():
        raise FileError(
            f"{path} keeps {tensor.name!r} in {beside}, which is not there or no plain file",
            hint="Keep the two files together, or export the model with its weights inside (external_data=False).",
        )
    offset = int(told.get("offset", 0))
    length = int(told.get("length", beside.stat().st_size - offset))
    if offset < 0 or length < 0 or offset + length > beside.stat().st_size:
        raise FileError(f"{beside} is too short for {tensor.name!r} of {path}", hint="It may be cut off: export again.")
    with beside.open("rb") as file:
        file.seek(offset)
        tensor.raw_data = file.read(length)
    tensor.data_location = tensor.DEFAULT
    del tensor.external_data[:]


def read_proto(model: Any) -> Ensemble | Network:
    """The table of a ModelProto."""
    return _Graph(model).table()


class _Graph:
    """A graph on its way to a table: the layers so far, and the name of what the last one gives."""

    def __init__(self, model: Any) -> None:
        from onnx import numpy_helper

        graph = model.graph
        self.constants: dict[str, Any] = {}
        for tensor in graph.initializer:
            if tensor.data_location == tensor.EXTERNAL:
                raise ModelError(
                    f"the ONNX model keeps {tensor.name!r} in another file",
                    hint="Give the path of the .onnx file, or load it with its data: onnx.load(path).",
                )
            self.constants[tensor.name] = numpy_helper.to_array(tensor)
        inputs = [one for one in graph.input if one.name not in self.constants]
        if len(inputs) != 1:
            names = ", ".join(one.name for one in inputs)
            raise ModelError(f"the ONNX model has {len(inputs)} inputs ({names}); supported is one matrix of numbers")
        tensor = inputs[0].type.tensor_type
        if tensor.elem_type not in _FLOATS:
            raise ModelError(f"the ONNX model's input {inputs[0].name!r} holds no float32 or float64 numbers")
        self.dtype = _FLOATS[tensor.elem_type]
        shape = [size.dim_value for size in tensor.shape.dim]
        self.columns = shape[-1] if shape else 0
        self.nodes, self.at, self.layers = list(graph.node), inputs[0].name, list[Layer]()
        self.squashed: str | None = None
        self.probability = ""
        self.classes: tuple[Label, ...] | None = None

    def table(self) -> Ensemble | Network:
        """Follow the graph from its input to its outputs."""
        for node in self.nodes:
            used = [name for name in node.input if name]
            attributes = {one.name: _attribute(one) for one in node.attribute}
            if node.op_type == "Constant":
                self.constants[node.output[0]] = np.asarray(attributes.get("value", attributes.get("value_float")))
                continue
            if self.squashed is not None:
                self._tail(node, used, attributes)
                continue
            if self.at not in used:
                raise self._wrong(node, "is no step of a chain from the input")
            if node.op_type in ("TreeEnsembleClassifier", "TreeEnsembleRegressor"):
                if self.layers:
                    raise self._wrong(node, "comes after other computations")
                if not self.columns:
                    raise ModelError(
                        "the ONNX model leaves its number of columns open", hint="Export it with a fixed input shape."
                    )
                return read_tree_ensemble(node.op_type, attributes, self.columns, self.dtype)
            self._step(node, used, attributes)
        if not self.layers:
            raise ModelError("the ONNX model computes nothing")
        return self._network()

    def _network(self) -> Network:
        outputs = len(self.layers[-1].bias)
        layers = self.layers
        if layers[-1].activation != "identity":
            layers = [*layers, Layer(np.eye(outputs), np.zeros(outputs), "identity")]
        rule: Rule = "value" if outputs == 1 else "argmax"
        decisions: tuple[Decision, ...] | None = None
        kinds = 0 if outputs == 1 else outputs
        if self.squashed == "Sigmoid":
            if outputs != 1:
                raise ModelError(f"the ONNX model ends in a Sigmoid of {outputs} scores; supported is one")
            half = 1.5 * 2.0 ** (-24 if self.dtype == "float32" else -53)
            rule, kinds = "sigmoid", 2
            decisions = (((Compare(None, 0, -half),),), ((Compare(0, None, half, strict=True),),))
        elif self.squashed in ("Softmax", "LinearClassifier"):
            rule = "softmax"
        classes = self.classes if self.classes is not None and kinds else tuple(range(kinds))
        if len(classes) != kinds:
            raise ModelError(f"the ONNX model has {outputs} scores and {len(classes)} classes")
        if self.dtype == "float32":
            # The runtime is given float32(x): a layer of its own, whose margin holds that rounding.
            layers = [Layer(np.eye(self.columns), np.zeros(self.columns), "identity"), *layers]
        return Network(
            tuple(layers), self.columns, rule, classes, "ONNX network",
            "float32" if self.dtype == "float32" else "float64", decisions,
        )  # fmt: skip

    # ------------------------------------------------------------------ steps

    def _step(self, node: Any, used: Sequence[str], given: dict[str, Any]) -> None:
        """One operation on the way."""
        kind, out = node.op_type, node.output[0]
        first = bool(used) and used[0] == self.at
        if kind in ("Identity", "Flatten", "Reshape", "Dropout"):
            pass  # On rows of one dimension none of them moves a number; other shapes do not fit below.
        elif kind == "Cast":
            if _FLOATS.get(int(given.get("to", 0))) != self.dtype:
                raise self._wrong(node, "changes the precision")
        elif kind == "Relu":
            if not self.layers or self.layers[-1].activation == "relu":
                raise self._wrong(node, "does not follow a layer")
            last = self.layers[-1]
            self.layers[-1] = Layer(last.weights, last.bias, "relu")
        elif kind == "MatMul" and first:
            self._dense(node, self._constant(node, used[1], 2), None)
        elif kind == "Gemm" and first and not given.get("transA"):
            weights = self._constant(node, used[1], 2) * float(given.get("alpha", 1.0))
            weights = weights.T if given.get("transB") else weights
            bias = self._constant(node, used[2], None) * float(given.get("beta", 1.0)) if len(used) > 2 else None
            if given.get("alpha", 1.0) != 1.0 or given.get("beta", 1.0) != 1.0:
                raise self._wrong(node, "has alpha or beta other than 1")
            self._dense(node, weights, bias)
        elif kind in ("Add", "Sub", "Mul", "Div") and len(used) == 2:
            other = self._constant(node, used[1] if first else used[0], None)
            self._by_column(node, kind, other, first)
        elif kind == "Scaler":
            offset, scale = (np.asarray(given.get(key, []), dtype=np.float64) for key in ("offset", "scale"))
            self._by_column(node, "Sub", offset, first=True)
            self._by_column(node, "Mul", scale, first=True)
        elif kind in ("LinearClassifier", "LinearRegressor"):
            self._linear(node, given)
        elif kind in ("Sigmoid", "Softmax"):
            if kind == "Softmax" and int(given.get("axis", -1)) not in (-1, 1):
                raise self._wrong(node, "works along the rows")
            self.squashed, self.probability = kind, out
        else:
            raise self._wrong(node, "is not supported")
        self.at = out

    def _dense(self, node: Any, weights: Floats, bias: Floats | None) -> None:
        width = len(self.layers[-1].bias) if self.layers else self.columns
        if not self.layers and not self.columns:
            self.columns = width = len(weights)  # The file leaves the number of columns open.
        if len(weights) != width:
            raise self._wrong(node, f"takes {len(weights)} columns and is given {width}")
        outputs = weights.shape[1]
        if bias is not None and bias.size not in (1, outputs):
            raise self._wrong(node, f"adds {bias.size} numbers to {outputs} columns")
        spread = np.zeros(outputs) if bias is None else np.broadcast_to(bias.ravel(), (outputs,)).copy()
        self.layers.append(Layer(weights, spread, "identity"))

    def _by_column(self, node: Any, kind: str, other: Floats, first: bool) -> None:
        """A number for each column is added, subtracted, multiplied or divided by."""
        width = len(self.layers[-1].bias) if self.layers else self.columns or other.size
        self.columns = self.columns or width
        if other.size not in (1, width):
            raise self._wrong(node, f"has {other.size} numbers for {width} columns")
        each = np.broadcast_to(other.ravel(), (width,)).astype(np.float64)
        if kind in ("Add", "Sub"):
            sign = -1.0 if kind == "Sub" else 1.0
            last = self.layers[-1] if self.layers else None
            if kind == "Add" and last is not None and last.activation == "identity" and not last.bias.any():
                self.layers[-1] = Layer(last.weights, each.copy(), "identity")  # The bias of a MatMul.
                return
            factor = 1.0 if first or kind == "Add" else -1.0
            self.layers.append(
                Layer(np.eye(width) * factor, each * (sign if first or kind == "Add" else 1.0), "identity")
            )
            return
        if kind == "Div" and (not first or not each.all()):
            raise self._wrong(node, "divides by a column, or by zero")
        # 1 / d is rounded to float64: the margin of a layer is far wider, for it allows for every sum of its width.
        self.layers.append(Layer(np.diag(each if kind == "Mul" else 1.0 / each), np.zeros(width), "identity"))

    def _linear(self, node: Any, given: dict[str, Any]) -> None:
        """The linear models of the ML operators."""
        bias = np.asarray(given.get("intercepts", [0.0]), dtype=np.float64)
        weights = np.asarray(given.get("coefficients", []), dtype=np.float64)
        if not bias.size or weights.size % bias.size:
            raise self._wrong(node, f"has {weights.size} coefficients for {bias.size} scores")
        self._dense(node, weights.reshape(bias.size, -1).T.copy(), bias)
        if node.op_type == "LinearClassifier":
            self.classes = tuple(given.get("classlabels_ints") or given.get("classlabels_strings") or ())
            if len(self.classes) != bias.size:
                raise self._wrong(node, f"has {bias.size} scores for {len(self.classes)} classes")
            if given.get("post_transform", "NONE") not in ("NONE", "SOFTMAX", "LOGISTIC"):
                raise self._wrong(node, f"ends in {given['post_transform']}")
            self.squashed, self.probability = "LinearClassifier", node.output[-1]
        elif bias.size != 1:
            raise self._wrong(node, f"predicts {bias.size} numbers")

    def _tail(self, node: Any, used: Sequence[str], given: dict[str, Any]) -> None:
        """An operation after the probabilities."""
        if node.op_type == "ArrayFeatureExtractor" and used[0] in self.constants:
            self.classes = tuple(np.asarray(self.constants[used[0]]).ravel().tolist())
        elif node.op_type == "Sub":
            one = self.constants.get(used[0])
            if one is None or np.asarray(one).ravel().tolist() != [1.0] or used[1] != self.probability:
                raise self._wrong(node, "comes after the probabilities")
            self.constants[node.output[0]] = "rest"
        elif node.op_type == "Concat":
            if len(used) != 2 or str(self.constants.get(used[0])) != "rest" or used[1] != self.probability:
                raise self._wrong(node, "joins something else than 1 - p and p")
        elif node.op_type not in _TAIL or node.op_type == "ArgMax" and int(given.get("axis", 0)) not in (1, -1):
            raise self._wrong(node, "comes after the probabilities")

    def _constant(self, node: Any, name: str, dimensions: int | None) -> Floats:
        array = self.constants.get(name)
        if array is None or isinstance(array, str) or array.dtype.kind not in "fiu":
            raise self._wrong(node, f"needs a constant, and {name!r} is none")
        if dimensions is not None and array.ndim != dimensions or not np.isfinite(array).all():
            raise self._wrong(node, f"has {name!r} of shape {array.shape}, or numbers that are not finite")
        return np.asarray(array, dtype=np.float64)

    def _wrong(self, node: Any, what: str) -> ModelError:
        return ModelError(
            f"the ONNX operation {node.op_type} ({node.name or node.output[0]}) {what}",
            hint=f"Supported are chains of {', '.join(SUPPORTED)}.",
        )


def _attribute(one: Any) -> Any:
    """An attribute as plain Python values."""
    from onnx import helper, numpy_helper

    value = helper.get_attribute_value(one)
    if hasattr(value, "raw_data"):
        return numpy_helper.to_array(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (list, tuple)) or hasattr(value, "extend"):
        return [item.decode("utf-8", "replace") if isinstance(item, bytes) else item for item in value]
    return value
