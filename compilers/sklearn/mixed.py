"""Weighted sums of models: what stacking and the votes of regressors make of their members.

In:  the tables of the members, and what each of their scores counts in each score of the whole.
Out: one Ensemble, whose `error` bounds the difference to the library's own means, products and sums.
Promise: tests on float32 and on float64 are brought to one kind, so that every double takes the same way
(`mace.compilers.thresholds`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mace.compilers.thresholds import before_cast, largest_passing
from mace.tables.table import Ensemble, Floats, Label, Link, Rule, Tree

_UNIT = 2.0**-53
_LAST = float(np.finfo(np.float64).max)


class Part(NamedTuple):
    """A member, and what its scores count: weights of shape (its scores, scores of the whole)."""

    table: Ensemble
    weights: Floats


def weighted_sum(
    parts: Sequence[Part], bias: Floats, *, rule: Rule, classes: tuple[Label, ...], name: str, link: Link | None = None
) -> Ensemble:
    """The table of bias + sum of scores * weights; bias of shape (outputs,)."""
    start, size, error = bias.copy(), float(np.abs(bias).max()), 0.0
    trees: list[Tree] = []
    for table, weights in parts:
        share = weights / table.divide
        start = start + table.start @ share
        trees += [replace(tree, value=tree.value @ share) for tree in _on_doubles(table).trees]
        largest = np.abs(table.start) + sum(np.abs(tree.value[tree.column < 0]).max(axis=0) for tree in table.trees)
        size += float((largest @ np.abs(share)).max())
        error += table.error * float(np.abs(share).sum(axis=0).max())
    # A member's mean has as many roundings as it has trees; then there are a product and a sum for each score.
    deepest = max(len(table.trees) for table, _ in parts)
    scores = sum(table.outputs for table, _ in parts)
    first = parts[0].table
    return Ensemble(
        trees=tuple(trees),
        columns=first.columns,
        start=start,
        rule=rule,
        classes=classes,
        cast="float64",
        test="<=",
        name=name,
        ordered=all(table.ordered for table, _ in parts),
        error=error + (2 * deepest + 4 * scores + 32) * _UNIT * size,
        link=link,
    )


def _on_doubles(table: Ensemble) -> Ensemble:
    """The same trees with tests of the doubles themselves."""
    if table.cast == "float64" and table.test == "<=":
        return table
    known: dict[float, float] = {}

    def moved(threshold: float) -> float:
        if threshold not in known:
            found = largest_passing(threshold, table.cast, table.test)
            known[threshold] = min(max(found, -_LAST), _LAST)
        return known[threshold]

    trees = [
        replace(
            tree,
            threshold=np.array([moved(x) for x in tree.threshold.tolist()], dtype=np.float64),
            members={node: before_cast(members, table.cast) for node, members in tree.members.items()},
        )
        for tree in table.trees
    ]
    return replace(table, trees=tuple(trees), cast="float64", test="<=")
