"""What a table may be: every reader, and everything that rewrites a table, asks here before anyone computes with it.

In:  a table of `mace.tables.table`.
Out: the same table, or an error that names the first thing that does not fit: indices, shapes, numbers that are not
     finite, activations, casts, trees that are none, decisions about scores that are not there.
Promise: on a table that is accepted `scores` returns finite or infinite floats of shape (outputs,) for every row, and
walks through its trees end at a leaf. Whether the numbers are the library's own is for the readers to know.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from mace.errors import ModelError
from mace.tables.members import Members
from mace.tables.table import Compare, Decision, Ensemble, Formula, Link, Network, Rule, Table, Tree

T = TypeVar("T", bound=Table)

LEAF = -1
DTYPES = ("float32", "float64")
ACTIVATIONS = ("relu", "identity")
ONE_SCORE = ("positive", "nonnegative", "sigmoid")


def validate(table: T, made_by: str = "") -> T:
    """The table itself, if it is one.

    made_by: what in this package rewrote the table, for instance "the product of two models"; "": it was read.
    Raises ModelError, "<name> is damaged: ..", for a table that was read; AssertionError for one that we made.
    """
    if isinstance(table, Formula):
        return table

    def wrong(what: str) -> Exception:
        return AssertionError(f"{made_by}: {what}") if made_by else ModelError(f"{table.name} is damaged: {what}")

    fault = _fault(table)
    if fault:
        raise wrong(fault)
    return table


def _fault(table: Ensemble | Network) -> str:
    """What is wrong with a table; empty if nothing is."""
    checks: list[Callable[[], str]] = [lambda: _whole("columns", table.columns, 1)]
    if isinstance(table, Ensemble):
        checks += [lambda: _header(table), lambda: _trees(table)]
    else:
        checks += [lambda: _one_of("dtype", table.dtype, DTYPES), lambda: _layers(table)]
    checks += [lambda: _decides(table), lambda: _linked(table.link, table.outputs, len(table.classes))]
    return next((fault for check in checks if (fault := check())), "")


# ---------------------------------------------------------------------------------------------- ensembles


def _header(table: Ensemble) -> str:
    start = table.start
    return (
        _one_of("cast", table.cast, DTYPES)
        or _one_of("test", table.test, ("<=", "<"))
        or _one_of("dtype", table.dtype, DTYPES)
        or _whole("divide", table.divide, 1)
        or ("" if isinstance(table.ordered, bool) else f"ordered is {table.ordered!r}")
        or ("" if math.isfinite(table.error) and table.error >= 0 else f"error is {table.error!r}")
        or _numbers("start", start, 1)
        or ("" if len(start) else "it has no score")
    )


def _trees(table: Ensemble) -> str:
    for number, tree in enumerate(table.trees):
        fault = tree_fault(tree, table.columns, table.outputs)
        if fault:
            return f"tree {number}{fault}"
    return ""


def tree_fault(tree: Tree, columns: int, outputs: int) -> str:
    """What is wrong with a tree, for instance ", node 3 has one child only"; empty if nothing is.

    The indices may be integers of any width: readers ask before they narrow them.
    """
    nodes = tree.nodes
    shapes = [(tree.column, "column"), (tree.left, "left"), (tree.right, "right")]
    for array, name in shapes:
        if array.shape != (nodes,) or array.dtype.kind != "i":
            return f" has {name} of shape {array.shape} and type {array.dtype}, expected {(nodes,)} whole numbers"
    fault = _numbers("threshold", tree.threshold, 1, finite=False) or _numbers("value", tree.value, 2, finite=False)
    if fault:
        return f": {fault}"
    if not nodes or tree.threshold.shape != (nodes,) or tree.value.shape != (nodes, outputs):
        return (
            f" has {nodes} nodes, thresholds of shape {tree.threshold.shape} and values of shape {tree.value.shape}, "
            f"expected {(nodes, outputs)}"
        )
    missing = tree.missing_left
    if missing is not None and (missing.shape != (nodes,) or missing.dtype != np.bool_):
        return f" has missing_left of shape {missing.shape} and type {missing.dtype}, expected {(nodes,)} booleans"
    if not all(0 <= node < nodes for node in tree.members):
        return f" tests a category in node {next(n for n in tree.members if not 0 <= n < nodes)}, of {nodes}"
    return _nodes_fault(tree, columns) or _cycle(tree)


def _nodes_fault(tree: Tree, columns: int) -> str:
    """The first node whose numbers do not fit."""
    leaf = tree.left == LEAF
    inner = ~leaf
    categorical = np.zeros(tree.nodes, dtype=np.bool_)
    categorical[list(tree.members)] = True
    unset = [node for node, members in tree.members.items() if not _rising(members)]

    def out(child: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(inner & ((child < 0) | (child >= tree.nodes)))

    found: list[tuple[NDArray[np.bool_], str, NDArray[Any] | None]] = [
        (leaf != (tree.right == LEAF), "has one child only", None),
        (out(tree.left), "has its left child out of range", tree.left),
        (out(tree.right), "has its right child out of range", tree.right),
        (inner & ((tree.column < 0) | (tree.column >= columns)), f"tests a column beyond the {columns} known",
         tree.column),
        (leaf & (tree.column != LEAF), "is a leaf and tests a column", tree.column),
        (inner & ~categorical & ~np.isfinite(tree.threshold), "has a threshold that is not finite", tree.threshold),
        (leaf & ~np.isfinite(tree.value).all(axis=1), "has a leaf value that is not finite", None),
    ]  # fmt: skip
    if tree.members:
        found += [
            (leaf & categorical, "is a leaf and tests a category", None),
            (np.isin(np.arange(tree.nodes), unset), "tests a set that is no rising list of intervals", None),
        ]
    for wrong, what, shown in found:
        if wrong.any():
            node = int(np.flatnonzero(wrong)[0])
            return f", node {node} {what}" + (f" ({shown[node]})" if shown is not None else "")
    return ""


def _rising(members: Members) -> bool:
    """Whether intervals of finite numbers follow one another, apart."""
    ends = [end for interval in members for end in interval]
    # Within an interval the ends may be one number, between two intervals not.
    return all(math.isfinite(end) for end in ends) and all(
        a <= b if place % 2 == 0 else a < b for place, (a, b) in enumerate(itertools.pairwise(ends))
    )


def _cycle(tree: Tree) -> str:
    """Every node is reached from the root, exactly once: then walks end, at a leaf."""
    inner = np.flatnonzero(tree.left != LEAF)
    left, right = tree.left[inner], tree.right[inner]
    parents = np.bincount(np.concatenate([left, right]), minlength=tree.nodes)
    if (parents[1:] == 1).all() and (left > inner).all() and (right > inner).all():
        return ""  # as most libraries number their nodes: from parent to parent every way leads down to the root
    if parents[0]:
        return ", node 0 is the root and a child as well: a cycle"
    if (parents > 1).any():
        node = int(np.flatnonzero(parents > 1)[0])
        return f", node {node} is reached from several nodes, or twice from one: a cycle or a shared branch"
    reached = np.zeros(tree.nodes, dtype=np.bool_)
    here = np.zeros(1, dtype=np.int64)
    while len(here):  # Every node has one parent at most, so none is reached twice.
        reached[here] = True
        down = here[tree.left[here] != LEAF]
        here = np.concatenate([tree.left[down], tree.right[down]])
    if not reached.all():
        return f", node {int(np.flatnonzero(~reached)[0])} is not reached from the root: a cycle or a loose branch"
    return ""


# ---------------------------------------------------------------------------------------------- networks


def _layers(table: Network) -> str:
    if not table.layers:
        return "it has no layer"
    width = table.columns
    for number, layer in enumerate(table.layers):
        fault = (
            _one_of("activation", layer.activation, ACTIVATIONS)
            or _numbers("weights", layer.weights, 2)
            or _numbers("bias", layer.bias, 1)
        )
        if not fault and layer.weights.shape != (width, len(layer.bias)) or not len(layer.bias):
            fault = f"weights of shape {layer.weights.shape} take {width} numbers to {len(layer.bias)}"
        if fault:
            return f"layer {number}: {fault}"
        width = len(layer.bias)
    last = table.layers[-1].activation
    return "" if last == "identity" else f"its last layer has the activation {last!r}, not the identity"


# ---------------------------------------------------------------------------------------------- decisions


def _decides(table: Ensemble | Network) -> str:
    """The rule, the classes and the decisions fit together."""
    outputs, classes = table.outputs, len(table.classes)
    if table.decisions is None:
        fits = {"value": classes == 0, **dict.fromkeys(ONE_SCORE, outputs == 1 and classes in (0, 2))}
        # A product of two models has scores and no classes: its rule says how they round.
        fits |= dict.fromkeys(("argmax", "softmax"), classes in (0, outputs))
        fits["value"] |= table.link is not None and table.link.kind == "mean" and classes == 2
        fault = _one_of("rule", table.rule, get_args(Rule))
        if fault or fits[table.rule] or not classes:
            return fault
        return f"rule {table.rule!r} makes no {classes} classes of {outputs} scores"
    if len(table.decisions) != classes:
        return f"it has {len(table.decisions)} decisions for {classes} classes"
    return _one_of("rule", table.rule, get_args(Rule)) or next(
        (fault for decision in table.decisions if (fault := decision_fault(decision, outputs))), ""
    )


def decision_fault(decision: Decision, outputs: int) -> str:
    """What is wrong with a decision over so many scores; empty if nothing is."""
    for part in decision:
        for compare in part:
            if fault := _compare_fault(compare, outputs):
                return fault
    return ""


def _compare_fault(compare: Compare, outputs: int) -> str:
    sides = [side for side in (compare.plus, compare.minus) if side is not None]
    if not all(isinstance(side, int) and 0 <= side < outputs for side in sides):
        return f"{compare} is about a score that is not there: it has {outputs}"
    if not sides or not math.isfinite(compare.than) or len(sides) == 2 and compare.than:
        return f"{compare} compares nothing"
    return ""


def _linked(link: Link | None, outputs: int, classes: int) -> str:
    if link is not None and (link.kind in ("exp", "expm1")) == (classes > 0):
        return f"its {link.kind!r} does not go with {classes} classes"
    if link is not None and link.kind == "softmax" and not classes == outputs > 1:
        return f"its softmax of {outputs} scores does not go with {classes} classes"
    if link is not None and link.kind == "mean":
        if len(link.parts) != outputs or any(part.kind not in ("logistic", "steps", "odds") for part in link.parts):
            return f"its mean of {len(link.parts)} probabilities does not go with {outputs} scores"
        if link.weights and (len(link.weights) != outputs or not all(0 < x < math.inf for x in link.weights)):
            return f"its mean has the weights {link.weights}, of {outputs} probabilities"
        return next((fault for part in link.parts if (fault := _linked(part, outputs, classes))), "")
    while link is not None:
        numbers = [link.slope, link.shift, *(x for knot in link.knots for x in knot)]
        if not all(math.isfinite(x) for x in numbers) or not 0 <= link.score < outputs:
            return f"its probabilities follow from {link}, over {outputs} scores"
        link = link.inside
    return ""


# ---------------------------------------------------------------------------------------------- single values


def _one_of(name: str, value: object, known: Sequence[object]) -> str:
    return "" if value in known else f"{name} is {value!r}, expected one of {', '.join(map(str, known))}"


def _whole(name: str, value: object, least: int) -> str:
    good = isinstance(value, int) and not isinstance(value, bool) and value >= least
    return "" if good else f"{name} is {value!r}, expected a whole number from {least} on"


def _numbers(name: str, value: object, dimensions: int, *, finite: bool = True) -> str:
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.ndim != dimensions:
        shape = f"shape {value.shape} and type {value.dtype}" if isinstance(value, np.ndarray) else repr(value)[:60]
        return f"{name} has {shape}, expected numbers in {dimensions} dimension{'s' if dimensions > 1 else ''}"
    if finite and not np.isfinite(value).all():
        return f"{name} has a number that is not finite"
    return ""


__all__ = ["decision_fault", "tree_fault", "validate"]
