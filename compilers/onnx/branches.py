"""How the nodes of ONNX's trees compare, as the tests of a table.

In:  the nodes of one tree, each with its mode.
Out: a `Tree` whose nodes compare all alike ("<=" or "<"), or ask whether a number is one number.
Promise: every float32 goes where onnxruntime (1.31) sends it, NaN too. NaN goes where missing_value_tracks_true of a
node says, but at BRANCH_NEQ always to the true side, for NaN differs from every number. BRANCH_MEMBER (a set) is
refused by name: onnxruntime takes whole numbers only, and is not followed there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from mace.compilers.tree_arrays import checked_tree, refuse_deep
from mace.errors import ModelError
from mace.tables.members import Members, equal_to, neighbour
from mace.tables.table import Tree

MOST_LEVELS = 1000  # onnxruntime's stack ends at some ten thousand
Comparison: TypeAlias = Literal["<=", "<"]


class _Mode(NamedTuple):
    """test: the comparison with the threshold. swapped: it is the false side that passes it."""

    test: Literal["<=", "<", "="]
    swapped: bool = False


MODES = {
    "BRANCH_LEQ": _Mode("<="),
    "BRANCH_GT": _Mode("<=", swapped=True),
    "BRANCH_LT": _Mode("<"),
    "BRANCH_GTE": _Mode("<", swapped=True),
    "BRANCH_EQ": _Mode("="),
    "BRANCH_NEQ": _Mode("=", swapped=True),
}
LEAF = "LEAF"


class Branch(NamedTuple):
    """A node of a tree.

    number: the float32 that it compares with.
    true, false: where the two answers lead, as places among the nodes.
    tracks: whether NaN counts as true.
    A leaf has the mode LEAF, and nothing else counts.
    """

    column: int
    number: float
    mode: str
    true: int
    false: int
    tracks: bool


def comparison(kind: str, modes: set[str]) -> Comparison:
    """How the nodes of a table shall compare, so that most thresholds stay what they are.

    Raises ModelError for modes that are not known.
    """
    if odd := sorted(modes - MODES.keys() - {LEAF}):
        raise ModelError(f"{kind} compares by {', '.join(odd)}; supported are {', '.join(MODES)}")
    tests = {MODES[mode].test for mode in modes - {LEAF}} - {"="}
    return "<" if tests == {"<"} else "<="


def tree_of(where: str, columns: int, nodes: Sequence[Branch], value: Any, test: Comparison) -> Tree:
    """The tree of a table.

    where: begins every message. value: shape (nodes, scores). Raises ModelError for nodes that form no tree.
    """
    left, right, missing = [-1] * len(nodes), [-1] * len(nodes), [False] * len(nodes)
    thresholds, members = np.zeros(len(nodes)), dict[int, Members]()
    for place, node in enumerate(nodes):
        if node.mode == LEAF:
            continue
        mode = MODES[node.mode]
        tracks = node.tracks or node.mode == "BRANCH_NEQ"
        left[place], right[place] = (node.false, node.true) if mode.swapped else (node.true, node.false)
        missing[place] = tracks != mode.swapped
        number = float(np.float32(node.number))
        if not math.isfinite(number):
            raise ModelError(f"{where}, node {place} compares with {number}")
        if mode.test == "=":
            members[place] = equal_to([number])
        else:  # x < t holds for the float32 numbers up to the one below t.
            thresholds[place] = number if mode.test == test else neighbour(number, "float32", up=False)
    tree = checked_tree(
        where, columns, left, right, [node.column for node in nodes], thresholds, value, missing, members
    )
    refuse_deep(where, tree, MOST_LEVELS)
    return tree
