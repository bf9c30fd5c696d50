"""Read the tree ensembles of ONNX's ML operators.

In:  the attributes of a TreeEnsembleClassifier or TreeEnsembleRegressor (up to version 4 of the operators).
Out: an Ensemble in float32, whose trees may be added in any order (runtimes split them among threads).
Promise: every node is checked as in `tree_arrays.py`; other aggregates and transforms are ModelErrors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mace.compilers.onnx.branches import LEAF, Branch, Comparison, comparison, tree_of
from mace.compilers.tree_arrays import refuse_size
from mace.errors import ModelError
from mace.tables.table import Compare, Decision, Ensemble, Floats, Label, Rule, Tree

_TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX")


def read_tree_ensemble(kind: str, given: dict[str, Any], columns: int, dtype: str) -> Ensemble:
    """The table of one operator."""
    classifier = kind == "TreeEnsembleClassifier"
    _refuse_options(kind, given, dtype, classifier=classifier)
    labels = tuple(given.get("classlabels_int64s") or given.get("classlabels_strings") or ()) if classifier else ()
    outputs = len(labels) if classifier else int(given.get("n_targets", 1))
    if outputs < 1 or not classifier and outputs != 1:
        raise ModelError(f"{kind} with {outputs} targets is not supported")
    word = "class" if classifier else "target"
    used = sorted(set(given.get(f"{word}_ids", ())))
    if used and not 0 <= used[0] <= used[-1] < outputs:
        raise ModelError(f"the ONNX model is damaged: {word}_ids name {used[-1]} of {outputs}")
    one = classifier and outputs == 2 and len(used) == 1  # Weights for one class only: its score decides.
    scores = 1 if one else outputs
    refuse_size("the ONNX model", len(given.get("nodes_treeids", ())), scores)
    test = comparison(kind, set(given.get("nodes_modes", ())))
    trees = _trees(given, word, columns, scores, {label: 0 if one else label for label in used}, test)
    if classifier:
        _refuse_other_choices(kind, given, labels, used, trees)
    rule: Rule = "argmax" if classifier else "value"
    decisions: tuple[Decision, ...] | None = None
    if one:
        than = 0.5 if min(given[f"{word}_weights"]) >= 0 else 0.0
        rule = "value"
        decisions = (((Compare(None, 0, -than),),), ((Compare(0, None, than, strict=True),),))
    start = _start(kind, given, scores, outputs, one=one or not classifier)
    return Ensemble(
        trees, columns, start, rule, labels, "float32", test, "float32", name=f"ONNX {kind}", ordered=False,
        decisions=decisions,
    )  # fmt: skip


def _refuse_options(kind: str, given: Mapping[str, Any], dtype: str, *, classifier: bool) -> None:
    """Raise for what changes the numbers in ways that are not followed."""
    if dtype != "float32":
        raise ModelError(f"{kind} on {dtype} inputs is not supported", hint="Export it for float32 inputs.")
    transform = given.get("post_transform", "NONE")
    if given.get("aggregate_function", "SUM") != "SUM" or transform not in (_TRANSFORMS if classifier else ("NONE",)):
        raise ModelError(f"{kind} with {given.get('aggregate_function', 'SUM')} and {transform} is not supported")
    if any(key.endswith("_as_tensor") and len(np.atleast_1d(value)) for key, value in given.items()):
        raise ModelError(f"{kind} with numbers in float64 is not supported", hint="Export it for float32 inputs.")


def _refuse_other_choices(
    kind: str, given: Mapping[str, Any], labels: tuple[Label, ...], used: list[int], trees: tuple[Tree, ...]
) -> None:
    """Raise where onnxruntime does not choose the first of the largest scores, or the one score with its base value.

    A class counts only where some leaf that a row reaches has a weight for it. Of two classes with weights for both
    the second is chosen where its own score is > 0, under the names 1 and 0 whatever the labels; base values are then
    added crosswise, and with weights for the second class only they are not added at all.
    """
    based = len(given.get("base_values", ())) > 0
    if len(labels) != 2:
        wrong = not based and not all(_always_there(given, label) for label in range(len(labels)))
        what = "classes that have no weight in some leaves"
    elif len(used) == 1:
        wrong = based and (used == [1] or not _always_there(given, 0))
        what = "a base value that counts in some rows only"
    else:
        opposite = all(np.array_equal(tree.value[:, 0], -tree.value[:, 1]) for tree in trees)
        wrong = based or not used or not opposite or labels != (0, 1) and not isinstance(labels[0], str)
        what = "weights for both of two classes, other than s and -s of the classes 0 and 1 without base values,"
    if wrong:
        raise ModelError(
            f"{kind} with {what} is not supported",
            hint="Runtimes choose other classes there than the largest score: export it with weights for one class.",
        )


def _always_there(given: Mapping[str, Any], label: int) -> bool:
    """Whether some tree has a weight for a class in each of its leaves."""
    nodes = zip(given["nodes_treeids"], given["nodes_nodeids"], given["nodes_modes"], strict=True)
    leaves = {(tree, node) for tree, node, mode in nodes if mode == LEAF}
    weights = zip(given["class_treeids"], given["class_nodeids"], given["class_ids"], strict=True)
    lacking = leaves - {(tree, node) for tree, node, of in weights if of == label}
    return bool({tree for tree, _ in leaves} - {tree for tree, _ in lacking})


def _start(kind: str, given: Mapping[str, Any], scores: int, outputs: int, *, one: bool) -> Floats:
    """The scores before the first tree."""
    base = [float(value) for value in given.get("base_values", ())]
    if len(base) not in (0, 1, scores) or not np.isfinite(base).all():
        raise ModelError(f"the ONNX model is damaged: {len(base)} base_values for {scores} scores, or not finite")
    if len(base) == 1 and not one:
        raise ModelError(f"{kind} has one base value for {outputs} classes, which is not supported")
    return np.zeros(scores) if not base else np.array(base, dtype=np.float32).astype(np.float64)


def _trees(
    given: Mapping[str, Any], word: str, columns: int, scores: int, place: Mapping[int, int], test: Comparison
) -> tuple[Tree, ...]:
    """The trees, in the order of their numbers.

    place: the score that each class or target adds to.
    """
    rows = _rows(given)
    weights: dict[tuple[int, int], list[tuple[int, float]]] = {}
    parts = [list(given.get(f"{word}_{key}", ())) for key in ("treeids", "nodeids", "ids", "weights")]
    if len({len(part) for part in parts}) != 1:
        raise ModelError(f"the ONNX model is damaged: its {word}_ attributes have different lengths")
    for tree, node, label, weight in zip(*parts, strict=True):
        weights.setdefault((int(tree), int(node)), []).append((place[label], float(weight)))
    found = []
    for tree, numbered in sorted(rows.items()):
        where = f"the ONNX model is damaged: tree {tree}"
        places = {number: index for index, (number, _) in enumerate(numbered)}
        if len(places) != len(numbered):
            raise ModelError(f"{where} has two nodes of one number")
        # A child that is not there gets a place beyond the nodes, which is refused like any other.
        nodes = [
            node._replace(true=places.get(node.true, len(numbered)), false=places.get(node.false, len(numbered)))
            for _, node in numbered
        ]
        value = np.zeros((len(nodes), scores))
        for index, (number, node) in enumerate(numbered):
            added = weights.pop((tree, number), ())
            if added and node.mode != LEAF:
                raise ModelError(f"{where}, node {index} has weights and is no leaf")
            for score, weight in added:
                value[index, score] += weight
        found.append(tree_of(where, columns, nodes, value, test))
    if weights:
        raise ModelError(f"the ONNX model is damaged: weights for the node {next(iter(weights))}, which is not there")
    return tuple(found)


def _rows(given: Mapping[str, Any]) -> dict[int, list[tuple[int, Branch]]]:
    """For every tree its nodes in order, each with its number; their children are numbers too."""
    keys = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    lists = [list(given.get(f"nodes_{key}", ())) for key in keys]
    count = len(lists[0])
    starts = [tree for tree, before in zip(lists[0], [None, *lists[0]], strict=False) if tree != before]
    if len(set(starts)) != len(starts):
        raise ModelError("the ONNX model is damaged: the nodes of its trees are mixed")  # The first node is the root.
    if any(len(one) != count for one in lists):
        raise ModelError("the ONNX model is damaged: its nodes_ attributes have different lengths")
    tracks = list(given.get("nodes_missing_value_tracks_true", ())) or [0] * count
    if len(tracks) != count:
        raise ModelError("the ONNX model is damaged: nodes_missing_value_tracks_true does not fit")
    rows: dict[int, list[tuple[int, Branch]]] = {}
    for tree, number, column, threshold, mode, true, false, tracked in zip(*lists, tracks, strict=True):
        node = Branch(int(column), float(threshold), mode, int(true), int(false), bool(tracked))
        rows.setdefault(int(tree), []).append((int(number), node))
    return rows
