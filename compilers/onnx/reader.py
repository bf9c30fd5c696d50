"""Read ONNX models: chains of dense layers, and tree ensembles.

In:  the `Graph` of an .onnx file (`formats/onnx_model.py`), or a ModelProto (package `onnx`).
Out: a Network (each operation a layer of its own, in the precision of the input), or an Ensemble; and the graph that a
     runtime is given: the operations that were followed, with the attributes that are known, up to the decision.
Promise: shapes must fit; an operation, an attribute or an output that is not followed is a ModelError that names it.
Runtimes add in any order, so nothing depends on it.
How a runtime decides (onnxruntime 1.31; ONNX operators): trees compare float32 inputs with float32 thresholds and add
in float32; of two classes with weights for one only, class 1 is sum > 1/2 if no weight is negative, else sum > 0; of
several classes the first of the largest. A model whose last operation is Sigmoid decides for class 1 above 1/2, one
that ends in Softmax for the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.compilers.onnx.dense import Dense
from mace.compilers.onnx.flat_trees import KIND as FLAT_TREES
from mace.compilers.onnx.flat_trees import read_flat_trees
from mace.compilers.onnx.model import ML, Graph, OnnxNode, parse, written
from mace.compilers.onnx.operations import refuse_unknown, wrong
from mace.compilers.onnx.trees import read_tree_ensemble
from mace.errors import ModelError
from mace.tables.table import Compare, Decision, Ensemble, Label, Layer, Network, Rule

_LEFT_OUT = "nodes_hitrates"  # an attribute that nothing depends on
# What a value after the last score is: the scores, 1 - p, the number of the largest score, or the class itself; "other"
# for what only its users see.
Role: TypeAlias = Literal["scores", "rest", "index", "label", "other"]
_INT64, _STRING = 7, 8


class Followed(NamedTuple):
    """A table, and the file of a graph whose one output decides: a class, or the scores if the graph names none.

    scores: whether that output is the table's scores, as they are, rather than a class or what was made of scores.
    """

    table: Ensemble | Network
    file: bytes
    scores: bool


def read_proto(model: Any) -> Ensemble | Network:
    """The table of a Graph or a ModelProto; raises ModelError."""
    return follow(graph_of(model)).table


def graph_of(model: Any) -> Graph:
    """The graph of a ModelProto; a Graph as it is."""
    return model if isinstance(model, Graph) else parse(model.SerializeToString())


def follow(graph: Graph) -> Followed:
    """The table of a graph, and the graph that a runtime is given; raises ModelError."""
    walk = _Walk(graph)
    table = walk.table()
    output, kind = walk.decision()
    known = replace(graph, constants=walk.dense.constants, columns=walk.dense.columns)
    return Followed(table, written(known, walk.kept, output, kind), output == walk.at and not walk.tail.squashed)


@dataclass(frozen=True, slots=True)
class _Tail:
    """How the scores became classes."""

    squashed: str = ""
    classes: tuple[Label, ...] | None = None


class _Walk:
    """A graph on its way to a table: the layers so far, and the name of what the last one gives."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.dense, self.at = graph, Dense(graph.columns, graph.constants), graph.input
        self.shape = graph.shape  # of a row, as long as nothing has made it flat
        self.kept: list[OnnxNode] = []
        self.roles: dict[str, Role] = {}
        self.trees: Ensemble | None = None
        self.tail = _Tail()

    def table(self) -> Ensemble | Network:
        """Follow the graph from its input to its outputs."""
        for node in self.graph.nodes:
            refuse_unknown(node)
            if node.kind == "Constant":
                self._set_constant(node)
                continue
            if node.kind in _OF_CONSTANTS and node.inputs[0] in self.dense.constants and len(node.inputs) == 1:
                self._fold(node, self.dense.constants[node.inputs[0]])
                continue
            used = [name for name in node.inputs if name]
            if self.graph.vector and node.kind not in _OF_VECTORS:
                raise wrong(node, "is not followed for an input of one dimension, which has no rows")
            if node.kind in ("ArgMax", "ZipMap") and self.at in used and self.dense.layers:
                self.roles.setdefault(self.at, "scores")
            role = next((self.roles[name] for name in used if name in self.roles), None)
            if role is not None:
                self._tail(node, used, role)
            elif self.at not in used or self.trees is not None or self.tail.squashed:
                raise wrong(node, "is no step of a chain from the input")
            elif node.kind.startswith("TreeEnsemble"):
                self._trees(node)
            else:
                self._step(node, used)
            attributes = {k: v for k, v in node.attributes.items() if k != _LEFT_OUT and (np.ndim(v) == 0 or len(v))}
            outputs = node.outputs if node.kind in _TWO_OUTPUTS else node.outputs[:1]
            self.kept.append(replace(node, outputs=outputs, attributes=attributes, name=""))
        if self.trees is None and not self.dense.layers:
            raise ModelError("the ONNX model computes nothing")
        if self.trees is not None:
            return self.trees
        if not self.tail.squashed:
            self.roles.setdefault(self.at, "scores")
        return self._network()

    def decision(self) -> tuple[str, int]:
        """The output that decides, and its type: the first that is a class, else the last one, the scores."""
        roles = [(name, self.roles.get(name)) for name in self.graph.outputs]
        for name, role in roles:
            if role is None or role == "rest":
                raise ModelError(f"the ONNX model's output {name!r} is not followed: it is neither scores nor a class")
        found = [name for name, role in roles if role in ("label", "index")]
        if found:
            labels = self._labels()
            if self.roles[found[0]] == "index" and labels not in ((), tuple(range(self._scores()))):
                raise ModelError(f"the ONNX model's output {found[0]!r} is the number of a class, not the class")
            return found[0], _STRING if labels and isinstance(labels[0], str) else _INT64
        found = [name for name, role in roles if role == "scores"]
        if not found:
            raise ModelError("the ONNX model has no output that decides")
        return found[-1], 1 if self.graph.dtype == "float32" or self.tail.squashed == "LinearClassifier" else 11

    def _network(self) -> Network:
        outputs = len(self.dense.layers[-1].bias)
        layers = self.dense.layers
        if layers[-1].activation != "identity":
            layers = [*layers, Layer(self.dense.square(outputs), np.zeros(outputs), "identity")]
        rule: Rule = "value" if outputs == 1 else "argmax"
        decisions: tuple[Decision, ...] | None = None
        kinds = 0 if outputs == 1 else outputs
        if self.tail.squashed == "Sigmoid":
            if outputs != 1:
                raise ModelError(f"the ONNX model ends in a Sigmoid of {outputs} scores; supported is one")
            half = 1.5 * 2.0 ** (-24 if self.graph.dtype == "float32" else -53)
            rule, kinds = "sigmoid", 2
            decisions = (((Compare(None, 0, -half),),), ((Compare(0, None, half, strict=True),),))
        elif self.tail.squashed == "Softmax" and outputs == 1:
            raise ModelError("the ONNX model ends in a Softmax of one score: no input has another decision")
        elif self.tail.squashed in ("Softmax", "LinearClassifier"):
            rule = "softmax"
        classes = self.tail.classes if self.tail.classes is not None and kinds else tuple(range(kinds))
        if len(classes) != kinds or len(set(classes)) != kinds:
            raise ModelError(f"the ONNX model has {outputs} scores and {len(classes)} classes")
        if self.graph.dtype == "float32":
            # The runtime is given float32(x): a layer of its own, whose margin holds that rounding.
            layers = [Layer(self.dense.square(self.dense.columns), np.zeros(self.dense.columns), "identity"), *layers]
        return Network(
            tuple(layers), self.dense.columns, rule, classes, "ONNX network",
            "float32" if self.graph.dtype == "float32" else "float64", decisions,
        )  # fmt: skip

    # ------------------------------------------------------------------ steps

    def _set_constant(self, node: OnnxNode) -> None:
        given = node.attributes
        if len(given) != 1:
            raise wrong(node, "has several values, or none")
        value = np.asarray(next(iter(given.values())))
        self.dense.constants[node.outputs[0]] = value.astype("<f4") if "value_float" in given else value

    def _fold(self, node: OnnxNode, array: NDArray[Any]) -> None:
        """What is made of a constant is one: exporters share weights, turn them, and keep them in another type."""
        if node.kind == "Transpose":
            order = node.attributes.get("perm", [*range(array.ndim)][::-1])
            if sorted(order) != [*range(array.ndim)]:
                raise wrong(node, f"has the order {order} for {array.ndim} dimensions")
            array = np.ascontiguousarray(array.transpose(order))
        elif node.kind == "Cast":
            to = _FLOATS.get(node.attributes.get("to", 0))
            if to is None or array.dtype.kind != "f":
                raise wrong(node, "is of a constant, and not between float32 and float64")
            with np.errstate(over="ignore"):
                array = array.astype(np.dtype(to).newbyteorder("<"))
        self.dense.constants[node.outputs[0]] = array

    def _trees(self, node: OnnxNode) -> None:
        if self.dense.layers or self.at != self.graph.input:
            raise wrong(node, "comes after other computations")
        if not self.dense.columns:
            raise ModelError(
                "the ONNX model leaves its number of columns open", hint="Export it with a fixed input shape."
            )
        if (node.kind == FLAT_TREES) != (self.graph.versions.get(ML, 1) >= 5):
            raise wrong(node, f"is not of version {self.graph.versions.get(ML, 1)} of its operations")
        if node.kind == FLAT_TREES:
            self.trees = read_flat_trees(node.attributes, self.dense.columns, self.graph.dtype)
        else:
            self.trees = read_tree_ensemble(node.kind, dict(node.attributes), self.dense.columns, self.graph.dtype)
        self._end(node, classifier=node.kind == "TreeEnsembleClassifier")

    def _end(self, node: OnnxNode, *, classifier: bool) -> None:
        """A last operation with its scores, and with its class before them if it has one."""
        if len(node.outputs) != (2 if classifier else 1) or not all(node.outputs):
            raise wrong(node, f"has {len(node.outputs)} outputs")
        self.roles[node.outputs[-1]] = "scores"
        if classifier:
            self.roles[node.outputs[0]] = "label"

    def _step(self, node: OnnxNode, used: Sequence[str]) -> None:
        """One operation on the way."""
        kind, given = node.kind, node.attributes
        first = bool(used) and used[0] == self.at
        if self.shape and kind not in _ANY_SHAPE and any(size != 1 for size in self.shape[:-1]):
            raise wrong(node, "comes before a Flatten, and rows have several dimensions there")
        if kind in _MOVING:
            self._refuse_moving(node, used, self.dense.width())
            self.shape = self.shape if kind == "Identity" else ()
        elif kind == "Dropout" and first:
            if len(node.inputs) > 2 and self.dense.constants.get(node.inputs[2], np.ones(1)).any():
                raise wrong(node, "is switched on")
        elif kind == "Cast":
            if _FLOATS.get(given.get("to", 0)) != self.graph.dtype:
                raise wrong(node, "changes the precision")
        elif kind == "Relu":
            self.dense.relu(node)
        elif kind == "LeakyRelu":
            self.dense.leaky(node)
        elif kind == "BatchNormalization" and first:
            self.dense.normalise(node, used)
        elif kind == "Neg":
            self.dense.by_column(node, "Mul", -np.ones(1), first=True)
        elif kind == "MatMul" and first and len(used) == 2:
            self.dense.dense(node, self.dense.constant(node, used[1], 2), None)
        elif kind == "MatMul" and self.graph.vector and len(used) == 2:
            self.dense.dense(node, self.dense.constant(node, used[0], 2).T, None)
        elif kind == "Gemm" and first and len(used) > 1:
            self.dense.gemm(node, used)
        elif kind in ("Add", "Sub", "Mul", "Div") and len(used) == 2:
            other = used[1] if first else used[0]
            if self.shape:
                self.dense.flatten(node, other, self.shape)
            if self.graph.vector and other in self.dense.constants and self.dense.constants[other].ndim > 1:
                raise wrong(node, f"makes several dimensions of one, with {other!r}")
            self.dense.by_column(node, kind, self.dense.row(node, other), first)
        elif kind == "Scaler":
            self.dense.scaler(node)
        elif kind in ("LinearClassifier", "LinearRegressor"):
            self._linear(node)
            return
        elif kind in ("Sigmoid", "Softmax"):
            if kind == "Softmax" and given.get("axis", -1) not in (-1, 1):
                raise wrong(node, "works along the rows")
            self.tail = _Tail(kind)
            self.roles[node.outputs[0]] = "scores"
            return
        else:
            raise wrong(node, "is not supported")
        self.at = node.outputs[0]

    def _refuse_moving(self, node: OnnxNode, used: Sequence[str], width: int) -> None:
        """Raise unless a change of shape leaves rows of so many columns as they are."""
        kind, given = node.kind, node.attributes
        if kind == "Flatten" and given.get("axis", 1) not in ((1,) if self.shape else (1, -1)):
            raise wrong(node, "moves numbers between rows")
        if kind == "Reshape":
            shape = self.dense.constants.get(used[1] if len(used) > 1 else "")
            to = [] if shape is None or shape.dtype.kind not in "iu" else shape.ravel().tolist()
            if len(to) != 2 or to[1] not in ([width] if width else []) and to != [0, -1] or given.get("allowzero"):
                raise wrong(node, "moves numbers between rows")

    def _linear(self, node: OnnxNode) -> None:
        """The linear models of the ML operators."""
        given = node.attributes
        weights, bias = (np.asarray(given.get(key, []), dtype=np.float64) for key in ("coefficients", "intercepts"))
        bias = bias if bias.size else np.zeros(1)
        if weights.size % bias.size or not np.isfinite([*weights, *bias]).all():
            raise wrong(node, f"has {weights.size} coefficients for {bias.size} scores, or some that are not finite")
        self.dense.dense(node, weights.reshape(bias.size, -1).T.copy(), bias)
        classifier = node.kind == "LinearClassifier"
        transform = given.get("post_transform", "NONE")
        if transform not in (("NONE", "SOFTMAX", "LOGISTIC") if classifier else ("NONE",)):
            raise wrong(node, f"ends in {transform}")
        self._end(node, classifier=classifier)
        if not classifier:
            if bias.size != 1 or given.get("targets", 1) != 1:
                raise wrong(node, f"predicts {bias.size} numbers")
            self.at = node.outputs[0]
            return
        classes = tuple(given.get("classlabels_ints") or given.get("classlabels_strings") or ())
        if len(classes) != bias.size or "classlabels_ints" in given and "classlabels_strings" in given:
            raise wrong(node, f"has {bias.size} scores for {len(classes)} classes")
        self.tail = _Tail("LinearClassifier", classes)

    # ------------------------------------------------------------------ after the scores

    def _tail(self, node: OnnxNode, used: Sequence[str], role: Role) -> None:
        """An operation after the scores: what its value is to those who take it for a decision."""
        kind, given = node.kind, node.attributes
        made: Role = role
        one = len(used) == 1
        if kind in ("Identity", "Cast") and one:
            if kind == "Cast" and not self._same(role, given.get("to", 0)):
                raise wrong(node, "changes what the model decides")
        elif kind in _MOVING or kind == "Squeeze":
            self._refuse_other_shape(node, used, role)
        elif kind == "ArgMax" and one and role == "scores":
            if given.get("axis", 0) not in (1, -1) or given.get("select_last_index") or self._scores() < 2:
                raise wrong(node, "does not take the first of the largest scores")
            made = "index"
        elif kind == "ArrayFeatureExtractor" and len(used) == 2 and role == "index" and used[0] in self.dense.constants:
            self._name_classes(node, used[0])
            made = "label"
        elif kind == "Sub" and len(used) == 2 and role == "scores" and self.tail.squashed == "Sigmoid":
            before = self.dense.constants.get(used[0])
            if before is None or before.dtype.kind != "f" or before.ravel().tolist() != [1.0]:
                raise wrong(node, "is not 1 - p")
            made = "rest"
        elif kind == "Concat" and [self.roles.get(name) for name in used] == ["rest", "scores"]:
            if given.get("axis") not in (1, -1):
                raise wrong(node, "does not join columns")
            made = "scores"
        elif kind == "Normalizer" and one and role == "scores":
            if given.get("norm", "MAX") not in ("MAX", "L1", "L2"):
                raise wrong(node, f"has the norm {given['norm']}")
        elif kind == "ZipMap" and one and role == "scores":
            made = "other"
        else:
            raise wrong(node, "comes after the scores, and is not followed there", self._hint_after(kind))
        self.roles[node.outputs[0]] = made

    def _hint_after(self, kind: str) -> str:
        """What to do about an operation that is not followed after the scores."""
        if kind in ("Sigmoid", "Softmax") and self.tail.squashed:
            return (
                f"The {self.tail.squashed} before it has made probabilities of the scores already, and a second one of "
                "them changes what the model decides: export the model with one of the two."
            )
        return (
            f"After the scores only {', '.join(_AFTER)} are followed. Export the model without what comes after them."
        )

    def _name_classes(self, node: OnnxNode, constant: str) -> None:
        """Take the classes from the constant that the index of the largest score chooses from."""
        values = self.dense.constants[constant]
        if values.dtype.kind in "iu":
            values = self.dense.constants[constant] = values.astype("<i8")
        elif values.dtype != object:
            raise wrong(node, "chooses among classes that are neither whole numbers nor texts")
        classes = tuple(values.ravel().tolist())
        if len(classes) != self._scores() or self.trees is not None or self.tail.classes not in (None, classes):
            raise wrong(node, f"chooses among {len(classes)} classes for {self._scores()} scores")
        self.tail = _Tail(self.tail.squashed, classes)

    def _scores(self) -> int:
        """How many scores there are after 1 - p and p have been joined."""
        if self.trees is not None:
            return self.trees.outputs
        return 2 if self.tail.squashed == "Sigmoid" else self.dense.width()

    def _same(self, role: Role, to: int) -> bool:
        """Whether a value is the same after a cast."""
        if role in ("scores", "rest"):
            return to == (1 if self.graph.dtype == "float32" else 11)
        labels = self._labels()
        return to == (_STRING if role == "label" and labels and isinstance(labels[0], str) else _INT64)

    def _labels(self) -> tuple[Label, ...]:
        """The classes, as far as they are known."""
        return self.trees.classes if self.trees is not None else self.tail.classes or ()

    def _refuse_other_shape(self, node: OnnxNode, used: Sequence[str], role: Role) -> None:
        """Raise unless the rows stay what they are: a class each, or a row of scores."""
        if role not in ("label", "index"):
            if node.kind == "Squeeze":
                raise wrong(node, "changes the shape of the scores")
            return self._refuse_moving(node, used, self._scores() if role == "scores" else 1)
        shape = self.dense.constants.get(used[1]) if len(used) > 1 else None
        to = None if shape is None else shape.ravel().tolist()
        if (
            node.kind == "Reshape"
            and to not in ([-1], [-1, 1])
            or node.kind == "Squeeze"
            and to not in (None, [1], [-1])
        ):
            raise wrong(node, "changes the shape of the classes")
        return None


_FLOATS = {1: "float32", 11: "float64"}
_OF_CONSTANTS = ("Identity", "Cast", "Transpose")
_AFTER = ("ArgMax", "ArrayFeatureExtractor", "Cast", "Concat", "Normalizer", "Squeeze", "Sub", "ZipMap", "Identity")
_MOVING = ("Identity", "Flatten", "Reshape")
_BY_ITSELF = ("Add", "Sub", "Mul", "Div", "Neg", "Relu", "LeakyRelu", "Sigmoid", "Identity", "Cast", "Dropout")
_OF_VECTORS = ("MatMul", *_BY_ITSELF)
_ANY_SHAPE = (*_MOVING, "Cast", "Dropout", "Add", "Sub", "Mul", "Div")
_TWO_OUTPUTS = ("LinearClassifier", "TreeEnsembleClassifier")
