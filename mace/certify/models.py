"""A model as a certificate writes it, made once and kept with its table.

In:  a table of trees or of layers.
Out: its part of a statement, as a checker reads it too, and where its nodes and tests stand in that (`Numbering`).
Promise: numbers are written as exact text; the nodes of a tree stand in preorder, children after their parents, and
tests are numbered as proofs/FORMAT.md, 5.1, does. Who takes a part must not change it: other certificates share it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mace.base.cache import Kept
from mace.base.deadline import NEVER, Deadline
from mace.certify.numbers import canonical
from mace.errors import CertificateError
from mace.proofs.reader import SharedModel
from mace.solve.ensembles.arrays.cuts import Array, trees_of
from mace.tables.members import whole_numbers
from mace.tables.table import Ensemble, Network, Tree

WRITING = "the certificate was being written"


class Numbering(NamedTuple):
    """Where the N nodes of all trees, tree by tree in the order of the table, stand in a certificate.

    tree, place: (N,) the tree of a node, and its number there.
    test:        (N,) the number of a node's test, -1 for a leaf; first: (tests,) the first node with each.
    begin:       (trees + 1,) where the nodes of each tree begin, if those of all are numbered one after the other.
    """

    tree: Array
    place: Array
    test: Array
    first: Array
    begin: Array


class Written:
    """What statements say of a model, and what becomes of that once for all certificates."""

    def __init__(self, part: dict[str, Any]) -> None:
        self.part = part

    @cached_property
    def text(self) -> bytes:
        """As it is written."""
        return canonical(self.part)

    @cached_property
    def parsed(self) -> SharedModel:
        """As a checker reads it from its text; the kernel's model is made of it once."""
        return SharedModel(json.loads(self.text))


_PARTS: Kept[Written] = Kept(1)
_NUMBERS: Kept[Numbering] = Kept(1)


def model_part(table: Ensemble | Network, deadline: Deadline = NEVER) -> dict[str, Any]:
    """What a statement says of a model; raises CertificateError for numbers that are not finite, TimeOverError."""
    return model_written(table, deadline).part


def model_written(table: Ensemble | Network, deadline: Deadline = NEVER) -> Written:
    """The same, and its text; raises the same."""
    return _PARTS.get(table, None, lambda: Written(_model(table, deadline)))


def numbering(table: Ensemble) -> Numbering:
    """Where the nodes and tests of trees stand in `model_part`."""
    return _NUMBERS.get(table, None, lambda: _numbered(table))


def _model(table: Ensemble | Network, deadline: Deadline) -> dict[str, Any]:
    if isinstance(table, Ensemble):
        return {
            "kind": "ensemble",
            "rule": table.rule,
            "cast": table.cast,
            "test": table.test,
            "dtype": table.dtype,
            "ordered": bool(table.ordered),
            "error": float_text(table.error),
            "divide": int(table.divide),
            "start": float_texts(table.start.tolist()),
            "trees": [_tree(tree, deadline) for tree in table.trees],
        }
    return {
        "kind": "network",
        "rule": table.rule,
        "dtype": table.dtype,
        "layers": [
            {
                "weights": [float_texts(row) for row in layer.weights.tolist()],
                "bias": float_texts(layer.bias.tolist()),
                "activation": layer.activation,
            }
            for layer in table.layers
        ],
    }


def _tree(tree: Tree, deadline: Deadline) -> dict[str, list[Any]]:
    """A tree with its nodes in preorder, as a checker wants them: children after their parents."""
    deadline.look(WRITING)
    column, left, right = tree.column.tolist(), tree.left.tolist(), tree.right.tolist()
    order = preorder(tree)
    place = {node: index for index, node in enumerate(order)}
    threshold, value = tree.threshold.tolist(), tree.value.tolist()
    inner = [column[node] >= 0 for node in order]
    pairs = list(zip(order, inner, strict=True))
    return {
        "column": [column[node] if test else -1 for node, test in pairs],
        "threshold": [
            0
            if not test
            else whole_numbers(tree.members[node])
            if node in tree.members
            else float_text(threshold[node])
            for node, test in pairs
        ],
        "left": [place[left[node]] if test else 0 for node, test in pairs],
        "right": [place[right[node]] if test else 0 for node, test in pairs],
        "value": [None if test else float_texts(value[node]) for node, test in pairs],
    }


def preorder(tree: Tree) -> list[int]:
    """The nodes of a tree in the order in which they are written."""
    column, left, right = tree.column.tolist(), tree.left.tolist(), tree.right.tolist()
    order: list[int] = []
    todo = [0]
    while todo:
        node = todo.pop()
        order.append(node)
        if column[node] >= 0:
            todo += [right[node], left[node]]
    return order


def _numbered(table: Ensemble) -> Numbering:
    trees = trees_of(table)
    count = len(trees.column)
    tree, place, test = np.zeros(count, np.int32), np.zeros(count, np.int32), np.full(count, -1, np.int64)
    known: dict[tuple[int, object], int] = {}
    first: list[int] = []
    begin = [0]
    column, threshold = trees.column.tolist(), trees.threshold.tolist()
    for t, (root, one) in enumerate(zip(trees.roots.tolist(), table.trees, strict=True)):
        order = preorder(one)
        tree[root : root + one.nodes] = t
        place[root + np.array(order)] = np.arange(len(order))
        begin.append(begin[-1] + len(order))
        for node in (root + own for own in order):
            if column[node] < 0:
                continue
            held = trees.members.get(node)
            key = column[node], threshold[node] if held is None else frozenset(whole_numbers(held))
            number = known.setdefault(key, len(first))
            if number == len(first):
                first.append(node)
            test[node] = number
    return Numbering(tree, place, test, np.array(first, np.int64), np.array(begin, np.int64))


def float_text(number: float) -> str:
    """A double as its exact text; raises CertificateError for one that is not finite."""
    if not math.isfinite(number):
        raise CertificateError(f"the model holds {number}, which is not a finite number")
    return float(number).hex()


def float_texts(numbers: Iterable[float]) -> list[str]:
    """Doubles as their exact texts; raises as for one. A model holds millions of them."""
    found = list(map(float, numbers))
    if not all(map(math.isfinite, found)):
        return [float_text(number) for number in found]
    return list(map(float.hex, found))
