"""Read calibrated classifiers that average several members (`ensemble=True`, the default), over single trees.

In:  CalibratedClassifierCV over trees of scikit-learn, of any number of classes, by any method.
Out: an Ensemble of one tree a member, whose leaves hold what the library itself says of a row that reaches them.
Promise: a leaf that no float32 reaches has no say.
How the library decides (sklearn/calibration.py, checked in 1.9): the probabilities of the members are added from zero
in order and divided by their number; the first of the largest is the class. With isotonic calibrations the table
repeats this bit by bit; an exponential may differ by some units where a row is asked in another place of a batch.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mace.base.classes import module_of
from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of, numbers
from mace.compilers.sklearn.trees import read_tree
from mace.errors import ModelError
from mace.tables.table import Ensemble, Floats, Link, Tree

_TREES = ("DecisionTreeClassifier", "ExtraTreeClassifier")
_UNITS = 64 * 2.0**-53


def is_tree(estimator: Any) -> bool:
    """Whether a member is a single tree of scikit-learn."""
    return name_of(estimator) in _TREES and module_of(type(estimator)).startswith("sklearn.")


def read_members(model: Any) -> Ensemble:
    """The table of a CalibratedClassifierCV of several members."""
    classes, columns = labels_of(model), columns_of(model)
    members = fitted(model, "calibrated_classifiers_")
    trees = tuple(_member(model, number, member, columns, len(classes)) for number, member in enumerate(members))
    exact = all(member.method == "isotonic" for member in members)
    return Ensemble(
        trees=trees,
        columns=columns,
        start=np.zeros(len(classes)),
        rule="argmax",
        classes=classes,
        cast="float32",
        test="<=",
        divide=len(trees),
        name=f"{name_of(model)} of {len(trees)} trees",
        error=0.0 if exact else _UNITS * len(trees),
        link=Link("fraction"),
    )


def _member(model: Any, number: int, member: Any, columns: int, classes: int) -> Tree:
    table = read_tree(member.estimator)
    if table.columns != columns:
        raise ModelError(f"{name_of(model)} is damaged: member {number} takes {table.columns} columns, not {columns}")
    tree = table.trees[0]
    leaves = np.flatnonzero(tree.column < 0)
    rows = [_Way(table, tree).row(int(leaf)) for leaf in leaves]
    reached = np.array([row is not None for row in rows], dtype=np.bool_)
    matrix = np.array([row for row in rows if row is not None]).reshape(-1, columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may miss the names of columns, and the classes that a fold lacked
        said = np.asarray(member.predict_proba(matrix))
    said = numbers(model, f"the probabilities of member {number}", said, (len(matrix), classes))
    value: Floats = np.zeros((tree.nodes, classes))
    value[leaves[reached]] = said
    return replace(tree, value=value)


@dataclass(frozen=True)
class _Way:
    """The way from the root of a tree down to its leaves."""

    table: Ensemble
    tree: Tree

    def row(self, leaf: int) -> Floats | None:
        """A row that reaches a leaf, of numbers where there are such, else with NaN; None if no row does.

        Raises ModelError where rows may reach it and none was found.
        """
        tree = self.tree
        row = np.zeros(self.table.columns)
        for column, tests in self._tests(leaf).items():
            low = max((float(tree.threshold[node]) for node, left in tests if not left), default=-np.inf)
            high = min((float(tree.threshold[node]) for node, left in tests if left), default=np.inf)
            found = _between(low, high)
            if found is None:
                if not all(self._lacking(node) == left for node, left in tests):
                    return None
                found = float("nan")
            row[column] = found
        if self.table.leaf(tree, row) != leaf:
            raise ModelError(f"no row was found that reaches leaf {leaf} of a calibrated tree", hint="Fit it again.")
        return row

    def _lacking(self, node: int) -> bool:
        """Whether NaN goes to the left."""
        return self.tree.missing_left is not None and bool(self.tree.missing_left[node])

    def _tests(self, leaf: int) -> dict[int, list[tuple[int, bool]]]:
        """The tests above a leaf, of each column, and whether it lies to their left."""
        tree, found = self.tree, dict[int, list[tuple[int, bool]]]()
        above = {int(child): (node, side == 0) for node in np.flatnonzero(tree.column >= 0).tolist()
                 for side, child in enumerate((tree.left[node], tree.right[node]))}  # fmt: skip
        here = leaf
        while here:
            here, left = above[here]
            found.setdefault(int(tree.column[here]), []).append((here, left))
        return found


def _between(low: float, high: float) -> float | None:
    """A number of float32 above `low` and up to `high`; None if there is none."""
    with np.errstate(over="ignore"):
        at = np.float32(max(low, -3e38)) if high > 0 else np.float32(min(high, 3e38))
    if high > 0:
        while float(at) <= low:
            at = np.nextafter(at, np.float32(np.inf))
    else:
        while float(at) > high:
            at = np.nextafter(at, np.float32(-np.inf))
    found = float(at)
    return found if low < found <= high and np.isfinite(at) else None
