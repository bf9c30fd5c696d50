"""Read interpret's explainable boosting machines: a step function of each feature, grids for pairs, one sum.

In:  a fitted ExplainableBoostingClassifier or ExplainableBoostingRegressor, or its private (DP) form.
Out: an Ensemble of one tree a term whose scores are `decision_function` (of a regressor: `predict`), bit by bit.
     Of a nominal feature the column is the number of the category's bin (`step_of` looks it up), one more than the
     last where it was never seen.
Promise: every shape and number is checked.
How the library decides (glassbox/_ebm/_bin.py, checked against 0.7 row by row): a number is in the bin after the last
cut that is <= it; missing values are in bin 0 of every feature; a term of several features uses the coarser bins of
each where it has some; scores are the intercept, then the terms in order, in float64; class 1 is score > 0, else the
first of the largest; the link "log" predicts exp(score).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mace.compilers.interpret.categories import bins_of
from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of, numbers
from mace.compilers.tree_arrays import checked_tree, refuse_size
from mace.errors import ModelError
from mace.tables.table import Ensemble, Floats, Link, Rule, Tree

_LAST = float(np.finfo(np.float64).max)
_LINKS = ("identity", "log", "logit", "mlogit", "vlogit")
_NUMBERS = ("identity", "log")


def read_ebm(model: Any) -> Ensemble:
    """The table of one machine."""
    link, columns, features = fitted(model, "link_"), columns_of(model), fitted(model, "term_features_")
    if link not in _LINKS:
        raise ModelError(
            f"{name_of(model)} with the link {link!r} is not supported",
            hint="It knows one class only: no input has another decision.",
        )
    classes = () if link in _NUMBERS else labels_of(model)
    outputs = 1 if link in (*_NUMBERS, "logit") else len(classes)
    if len(classes) != (0 if link in _NUMBERS else 2 if link == "logit" else outputs):
        raise ModelError(f"{name_of(model)} is damaged: {len(classes)} classes do not go with the link {link!r}")
    scores = fitted(model, "term_scores_")
    if len(scores) != len(features):
        raise ModelError(f"{name_of(model)} is damaged: {len(features)} terms and the scores of {len(scores)}")
    refuse_size(name_of(model), sum(2 * np.size(one) // outputs for one in scores), outputs)
    trees = tuple(
        _term(model, number, tuple(some), values, columns, outputs)
        for number, (some, values) in enumerate(zip(features, scores, strict=True))
    )
    rule: Rule = "value" if not classes else "positive" if link == "logit" else "argmax"
    return Ensemble(
        trees=trees,
        columns=columns,
        start=numbers(model, "intercept_", fitted(model, "intercept_"), (outputs,)),
        rule=rule,
        classes=classes,
        cast="float64",
        test="<=",
        name=name_of(model),
        link=Link("logistic") if link == "logit" else Link("exp") if link == "log" else None,
    )


class _Axis(NamedTuple):
    """A feature of a term: its column, and the tests between its bins, missing values aside.

    ends: the largest number of each bin but the last.
    """

    column: int
    ends: tuple[float, ...]


def _term(model: Any, number: int, some: tuple[int, ...], values: Any, columns: int, outputs: int) -> Tree:
    """One term as a tree: missing or not, then the bins by halves, feature after feature."""
    where = f"{name_of(model)} is damaged: term {number}"
    if not some or not all(isinstance(f, (int, np.integer)) and 0 <= f < columns for f in some):
        raise ModelError(f"{where} is of the features {some!r}, of {columns}")
    grid = np.asarray(values, dtype=np.float64)
    axes, keep, shape = [], [], []
    for feature in map(int, some):
        bins = bins_of(model, feature, len(some))
        if isinstance(bins, dict):
            last = max(bins.values(), default=0)
            ends, kept = [float(k) for k in range(1, last + 1)], list(range(last + 2))
        else:
            cuts = numbers(model, "bins_", bins, (len(bins),)) if len(bins) else np.zeros(0)
            if (np.diff(cuts) <= 0).any():
                raise ModelError(f"{where} has cuts that do not rise")
            # A number is on the upper side of a cut that it equals.
            ends, kept = np.nextafter(cuts, -np.inf).tolist(), list(range(len(cuts) + 2))
        axes.append(_Axis(feature, tuple(ends)))
        keep.append(kept)  # Behind the last bin of numbers stands one for what is no number.
        shape.append(len(kept) + (0 if isinstance(bins, dict) else 1))
    if grid.shape != (*shape, *([outputs] if outputs > 1 else [])):
        raise ModelError(f"{where} has scores of shape {grid.shape}, its bins are {tuple(shape)}")
    grown = _Grown(where, columns, outputs)
    grown.add(axes, grid.reshape(*shape, outputs)[np.ix_(*keep)])
    return grown.tree()


class _Grown:
    """The nodes of a tree that is being made."""

    def __init__(self, where: str, columns: int, outputs: int) -> None:
        self.where, self.columns, self.outputs = where, columns, outputs
        self.nodes: list[tuple[int, float]] = []  # column and threshold; -1 for a leaf
        self.children: list[tuple[int, int]] = []
        self.values: list[Floats] = []

    def add(self, axes: Sequence[_Axis], grid: Floats) -> int:
        """The root of a tree over these axes: missing values of the first one, then its bins."""
        if not axes or (grid == grid.reshape(-1, self.outputs)[0]).all():
            return self._node(-1, 0.0, grid.reshape(-1, self.outputs)[0])
        node = self._node(axes[0].column, _LAST, np.zeros(self.outputs))  # every number is up to it
        present = self._halves(axes, grid[1:], 0, len(grid) - 1)
        self.children[node] = present, self.add(axes[1:], grid[0])
        return node

    def _halves(self, axes: Sequence[_Axis], bins: Floats, low: int, high: int) -> int:
        """The root of a tree over the bins low..high - 1 of the first axis."""
        turns = [k for k in range(low, high - 1) if not np.array_equal(bins[k], bins[k + 1])]
        if not turns:
            return self.add(axes[1:], bins[low])
        middle = turns[len(turns) // 2]
        node = self._node(axes[0].column, axes[0].ends[middle], np.zeros(self.outputs))
        self.children[node] = self._halves(axes, bins, low, middle + 1), self._halves(axes, bins, middle + 1, high)
        return node

    def _node(self, column: int, threshold: float, value: Floats) -> int:
        self.nodes.append((column, threshold))
        self.children.append((-1, -1))
        self.values.append(value)
        return len(self.nodes) - 1

    def tree(self) -> Tree:
        """All nodes, checked."""
        column, threshold = zip(*self.nodes, strict=True)
        left, right = zip(*self.children, strict=True)
        return checked_tree(self.where, self.columns, left, right, column, threshold, np.array(self.values))
