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

import math
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
    return _Grown(axes, grid.reshape(*shape, outputs)[np.ix_(*keep)]).tree(where, columns)


class _Grown:
    """A tree that is being made over some axes. A row is a choice of bins of the first so many of them, by its number.

    turns:    for each number of axes, and each row of these, the bins of the next axis that differ from the one after.
    constant: likewise, whether all that the row holds is the same.
    """

    def __init__(self, axes: Sequence[_Axis], grid: Floats) -> None:
        self.axes, self.shape = axes, grid.shape[:-1]
        self.values = grid.reshape(-1, grid.shape[-1])
        self.turns: list[list[list[int]]] = []
        self.constant: list[list[bool]] = []
        # Found for all rows at once: comparing bin by bin, in every node, takes fifteen times as long as all else here.
        for depth, bins in enumerate(self.shape):
            rows = grid.reshape(math.prod(self.shape[:depth]), bins, -1)
            self.turns.append([np.flatnonzero(row).tolist() for row in (rows[:, 1:] != rows[:, :-1]).any(axis=2)])
            whole = grid.reshape(len(rows), -1, grid.shape[-1])
            self.constant.append((whole == whole[:, :1]).all(axis=(1, 2)).tolist())
        # Of every node, -1 where there is none: the column and the last number of the left side, the children, and of a
        # leaf its place in `values`.
        self.column, self.left, self.right, self.place = (list[int]() for _ in range(4))
        self.threshold: list[float] = []

    def add(self, depth: int, row: int) -> int:
        """The root of a tree over the axes from `depth` on: missing values of the first one, then its bins."""
        if depth == len(self.axes) or self.constant[depth][row]:
            return self._node(-1, 0.0, row * math.prod(self.shape[depth:]))
        node = self._node(self.axes[depth].column, _LAST)  # every number is up to it
        turns = self.turns[depth][row]
        self.left[node] = self._halves(depth, row, turns[1:] if turns[:1] == [0] else turns, 1)
        self.right[node] = self.add(depth + 1, row * self.shape[depth])
        return node

    def _halves(self, depth: int, row: int, turns: Sequence[int], low: int) -> int:
        """The root of a tree over the bins of an axis from `low` on, up to what lies behind the last of some turns."""
        if not turns:
            return self.add(depth + 1, row * self.shape[depth] + low)
        middle = len(turns) // 2
        turn = turns[middle]
        node = self._node(self.axes[depth].column, self.axes[depth].ends[turn - 1])
        self.left[node] = self._halves(depth, row, turns[:middle], low)
        self.right[node] = self._halves(depth, row, turns[middle + 1 :], turn + 1)
        return node

    def _node(self, column: int, threshold: float, place: int = -1) -> int:
        self.column.append(column)
        self.threshold.append(threshold)
        self.left.append(-1)
        self.right.append(-1)
        self.place.append(place)
        return len(self.place) - 1

    def tree(self, where: str, columns: int) -> Tree:
        """All nodes, checked."""
        self.add(0, 0)
        place = np.array(self.place)
        values = np.where(place[:, None] >= 0, self.values[place], 0.0)
        return checked_tree(where, columns, self.left, self.right, self.column, self.threshold, values)
