"""Read the tree ensembles of ONNX's ML operators.

In:  the attributes of a TreeEnsembleClassifier or TreeEnsembleRegressor.
Out: an Ensemble in float32, whose trees may be added in any order (runtimes split them among threads).
Promise: every node is checked as in `tree_arrays.py`; other aggregates, transforms and comparisons are ModelErrors.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from mace.compilers.tree_arrays import checked, refuse_deep, refuse_size
from mace.errors import ModelError
from mace.tables.table import Compare, Decision, Ensemble, Rule, Tree

_TESTS: dict[str, Literal["<=", "<"]] = {"BRANCH_LEQ": "<=", "BRANCH_LT": "<"}
MOST_LEVELS = 1000  # onnxruntime's stack ends at some ten thousand
_TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX")


def read_tree_ensemble(kind: str, given: dict[str, Any], columns: int, dtype: str) -> Ensemble:
    """The table of one operator."""
    classifier = kind == "TreeEnsembleClassifier"
    if dtype != "float32":
        raise ModelError(f"{kind} on {dtype} inputs is not supported", hint="Export it for float32 inputs.")
    transform = given.get("post_transform", "NONE")
    if given.get("aggregate_function", "SUM") != "SUM" or transform not in (_TRANSFORMS if classifier else ("NONE",)):
        raise ModelError(f"{kind} with {given.get('aggregate_function', 'SUM')} and {transform} is not supported")
    if any(key.endswith("_as_tensor") and len(np.atleast_1d(value)) for key, value in given.items()):
        raise ModelError(f"{kind} with numbers in float64 is not supported", hint="Export it for float32 inputs.")
    labels = tuple(given.get("classlabels_int64s") or given.get("classlabels_strings") or ()) if classifier else ()
    outputs = len(labels) if classifier else int(given.get("n_targets", 1))
    if outputs < 1 or not classifier and outputs != 1:
        raise ModelError(f"{kind} with {outputs} targets is not supported")
    modes = set(given.get("nodes_modes", ())) - {"LEAF"}
    if len(modes) > 1 or not modes <= _TESTS.keys():
        raise ModelError(f"{kind} compares by {', '.join(sorted(modes))}; supported is BRANCH_LEQ or BRANCH_LT alone")
    word = "class" if classifier else "target"
    used = sorted(set(given.get(f"{word}_ids", ())))
    if used and not 0 <= used[0] <= used[-1] < outputs:
        raise ModelError(f"the ONNX model is damaged: {word}_ids name {used[-1]} of {outputs}")
    one = classifier and outputs == 2 and len(used) == 1  # Weights for one class only: its score decides.
    scores = 1 if one else outputs
    refuse_size("the ONNX model", len(given.get("nodes_treeids", ())), scores)
    trees = _trees(given, word, columns, scores, {label: 0 if one else label for label in used})
    base = [float(value) for value in given.get("base_values", ())]
    if len(base) not in (0, 1, scores) or not np.isfinite(base).all():
        raise ModelError(f"the ONNX model is damaged: {len(base)} base_values for {scores} scores, or not finite")
    decisions: tuple[Decision, ...] | None = None
    rule: Rule = "argmax" if classifier else "value"
    if one:
        positive = min(given[f"{word}_weights"]) >= 0
        than = 0.5 if positive else 0.0
        rule = "value"
        decisions = (((Compare(None, 0, -than),),), ((Compare(0, None, than, strict=True),),))
    elif classifier and len(base) == 1:
        raise ModelError(f"{kind} has one base value for {outputs} classes, which is not supported")
    start = np.zeros(scores) if not base else np.array(base, dtype=np.float32).astype(np.float64)
    test = _TESTS[modes.pop()] if modes else "<="
    return Ensemble(
        trees, columns, start, rule, labels, "float32", test, "float32", name=f"ONNX {kind}", ordered=False,
        decisions=decisions,
    )  # fmt: skip


def _trees(given: dict[str, Any], word: str, columns: int, scores: int, place: dict[int, int]) -> tuple[Tree, ...]:
    """The trees, in the order of their numbers."""
    keys = ("treeids", "nodeids", "featureids", "values", "truenodeids", "falsenodeids", "modes")
    lists = [list(given.get(f"nodes_{key}", ())) for key in keys]
    count = len(lists[0])
    starts = [tree for tree, before in zip(lists[0], [None, *lists[0]], strict=False) if tree != before]
    if len(set(starts)) != len(starts):
        raise ModelError("the ONNX model is damaged: the nodes of its trees are mixed")  # The first node is the root.
    if any(len(one) != count for one in lists):
        raise ModelError("the ONNX model is damaged: its nodes_ attributes have different lengths")
    missing = list(given.get("nodes_missing_value_tracks_true", ())) or [0] * count
    if len(missing) != count:
        raise ModelError("the ONNX model is damaged: nodes_missing_value_tracks_true does not fit")
    rows: dict[int, list[tuple[Any, ...]]] = {}
    for tree, *rest in zip(*lists, missing, strict=True):
        rows.setdefault(int(tree), []).append(tuple(rest))
    weights: dict[tuple[int, int], list[tuple[int, float]]] = {}
    parts = [list(given.get(f"{word}_{key}", ())) for key in ("treeids", "nodeids", "ids", "weights")]
    if len({len(part) for part in parts}) != 1:
        raise ModelError(f"the ONNX model is damaged: its {word}_ attributes have different lengths")
    for tree, node, label, weight in zip(*parts, strict=True):
        weights.setdefault((int(tree), int(node)), []).append((place[label], float(weight)))
    found = []
    for tree, nodes in sorted(rows.items()):
        where = f"the ONNX model is damaged: tree {tree}"
        number = {int(row[0]): index for index, row in enumerate(nodes)}
        if len(number) != len(nodes):
            raise ModelError(f"{where} has two nodes of one number")
        leaf = [row[5] == "LEAF" for row in nodes]
        left, right = (
            [-1 if end else number.get(int(row[k]), len(nodes)) for row, end in zip(nodes, leaf, strict=True)]
            for k in (3, 4)
        )
        value = np.zeros((len(nodes), scores))
        for index, row in enumerate(nodes):
            added = weights.pop((tree, int(row[0])), ())
            if added and not leaf[index]:
                raise ModelError(f"{where}, node {index} has weights and is no leaf")
            for label, weight in added:
                value[index, label] += weight
        found.append(
            checked(
                where, columns, left, right, [row[1] for row in nodes],
                np.array([row[2] for row in nodes], np.float32), value,
                [bool(row[6]) and not end for row, end in zip(nodes, leaf, strict=True)],
            )
        )  # fmt: skip
        refuse_deep(where, found[-1], MOST_LEVELS)
    if weights:
        raise ModelError(f"the ONNX model is damaged: weights for the node {next(iter(weights))}, which is not there")
    return tuple(found)
