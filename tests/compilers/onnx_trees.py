"""Graphs of one tree ensemble, made by hand: nodes of every mode, in the operators of both versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
KINDS = {
    "all": MODES,
    "catboost": ("BRANCH_GT",),
    "strict": ("BRANCH_LT", "BRANCH_GTE"),
    "equal": ("BRANCH_EQ", "BRANCH_NEQ"),
    "leq": ("BRANCH_LEQ",),
}
# Plain numbers, some that float32 rounds, and the ends of its range.
NUMBERS = (
    np.array([0, 1, 2, 3, -1, 0.5], dtype=np.float32),
    np.array([0.1, 0.3, -0.7, 1 / 3, 1e-3], dtype=np.float32),
    np.array([-0.0, 0.0, 1e-45, 1e-38, 3.4e38, -3.4e38], dtype=np.float32),
)


class Drawn(NamedTuple):
    """A node: its mode, column, number, the places of its true and false children, whether NaN is true, its weight."""

    mode: str
    column: int
    number: float
    true: int
    false: int
    tracks: int
    weight: float


Nodes = Sequence[Drawn]


def tree(rng: np.random.Generator, depth: int, columns: int, modes: Sequence[str], numbers: Any) -> list[Drawn]:
    """A random tree whose root is no leaf."""
    nodes: list[Drawn] = []

    def grow(depth: int) -> int:
        place = len(nodes)
        nodes.append(Drawn("LEAF", 0, 0.0, 0, 0, 0, float(np.float32(rng.normal()))))
        if depth and (not place or rng.random() < 0.9):
            mode, number = modes[rng.integers(len(modes))], float(numbers[rng.integers(len(numbers))])
            true, false = grow(depth - 1), grow(depth - 1)
            nodes[place] = Drawn(mode, int(rng.integers(columns)), number, true, false, int(rng.integers(2)), 0.0)
        return place

    grow(depth)
    return nodes


def trees(rng: np.random.Generator, kind: str, numbers: Any, columns: int = 3) -> list[list[Drawn]]:
    return [tree(rng, int(rng.integers(1, 5)), columns, KINDS[kind], numbers) for _ in range(rng.integers(1, 4))]


def rows_for(rng: np.random.Generator, numbers: Any, count: int, columns: int = 3) -> Any:
    """Float32 rows on, just below and just above the numbers that are compared with, NaN and infinities among them."""
    near = [numbers, np.nextafter(numbers, np.float32(np.inf)), np.nextafter(numbers, np.float32(-np.inf))]
    values = np.concatenate([*near, [np.nan, np.inf, -np.inf, 64, 1.5]]).astype(np.float32)
    return values[rng.integers(len(values), size=(count, columns))]


def graph(node: Any, columns: int, version: int, *outputs: Any) -> Any:
    from onnx import helper

    outputs = outputs or (helper.make_tensor_value_info("y", 1, [None, 1]),)
    made = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", 1, [None, columns])], outputs)
    sets = [helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", version)]
    return helper.make_model(made, ir_version=8, opset_imports=sets)


def _nodes(drawn: Sequence[Nodes]) -> dict[str, list[Any]]:
    every = [(number, place, node) for number, nodes in enumerate(drawn) for place, node in enumerate(nodes)]
    return {
        "nodes_treeids": [number for number, _, _ in every],
        "nodes_nodeids": [place for _, place, _ in every],
        "nodes_featureids": [node.column for *_, node in every],
        "nodes_values": [node.number for *_, node in every],
        "nodes_modes": [node.mode for *_, node in every],
        "nodes_truenodeids": [node.true for *_, node in every],
        "nodes_falsenodeids": [node.false for *_, node in every],
        "nodes_missing_value_tracks_true": [node.tracks for *_, node in every],
    }


def _leaves(drawn: Sequence[Nodes], word: str, signs: dict[int, int]) -> dict[str, list[Any]]:
    """What leaves add; signs: the number of a class or a target -> what its weights are multiplied by."""
    every = [
        (number, place, label, sign * node.weight)
        for number, nodes in enumerate(drawn) for place, node in enumerate(nodes) if node.mode == "LEAF"
        for label, sign in signs.items()
    ]  # fmt: skip
    keys = (f"{word}_{key}" for key in ("treeids", "nodeids", "ids", "weights"))
    return dict(zip(keys, map(list, zip(*every, strict=True)), strict=True))


def regressor(drawn: Sequence[Nodes], columns: int = 3) -> Any:
    """A TreeEnsembleRegressor of version 3 of the operators."""
    from onnx import helper

    given = {**_nodes(drawn), **_leaves(drawn, "target", {0: 1})}
    return graph(
        helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, **given), columns, 3
    )


def classifier(drawn: Sequence[Nodes], columns: int = 3, *, both: bool = True) -> Any:
    """A TreeEnsembleClassifier of two classes, as CatBoost writes its models; or with weights for class 1 only."""
    from onnx import helper

    node = helper.make_node(
        "TreeEnsembleClassifier", ["x"], ["label", "p"], domain="ai.onnx.ml", classlabels_int64s=[0, 1],
        post_transform="LOGISTIC", **_nodes(drawn), **_leaves(drawn, "class", {0: -1, 1: 1} if both else {1: 1}),
    )  # fmt: skip
    outputs = [helper.make_tensor_value_info("label", 7, [None]), helper.make_tensor_value_info("p", 1, [None, 2])]
    return graph(node, columns, 3, *outputs)


def flat(drawn: Sequence[Nodes], columns: int = 3) -> Any:
    """A TreeEnsemble of version 5 of the operators."""
    from onnx import helper, numpy_helper

    inner: list[tuple[int, Drawn]] = []
    places: dict[tuple[int, int], int] = {}
    leaves: dict[tuple[int, int], int] = {}
    weights: list[float] = []
    for number, nodes in enumerate(drawn):
        for place, node in enumerate(nodes):
            if node.mode == "LEAF":
                leaves[number, place] = len(weights)
                weights.append(node.weight)
            else:
                places[number, place] = len(inner)
                inner.append((number, node))

    def child(number: int, place: int) -> tuple[int, int]:
        leaf = (number, place) in leaves
        return (leaves if leaf else places)[number, place], int(leaf)

    sides = [(child(number, node.true), child(number, node.false)) for number, node in inner]
    node = helper.make_node(
        "TreeEnsemble", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, aggregate_function=1, post_transform=0,
        tree_roots=[places[number, 0] for number in range(len(drawn))],
        nodes_modes=numpy_helper.from_array(np.array([MODES.index(one.mode) for _, one in inner], dtype=np.uint8)),
        nodes_splits=numpy_helper.from_array(np.array([one.number for _, one in inner], dtype=np.float32)),
        nodes_featureids=[one.column for _, one in inner],
        nodes_missing_value_tracks_true=[one.tracks for _, one in inner],
        nodes_truenodeids=[true[0] for true, _ in sides], nodes_trueleafs=[true[1] for true, _ in sides],
        nodes_falsenodeids=[false[0] for _, false in sides], nodes_falseleafs=[false[1] for _, false in sides],
        leaf_targetids=[0] * len(weights),
        leaf_weights=numpy_helper.from_array(np.array(weights, dtype=np.float32)),
    )  # fmt: skip
    return graph(node, columns, 5)


MAKERS = {"regressor": regressor, "flat": flat}
