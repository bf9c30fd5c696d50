"""Tables of models that are given some of the columns that several see together.

In:  the tables of the members that a model averages, where each member is a pipeline with its own steps, or is given
     its own choice of columns.
Out: `side_by_side`: for each the same table over the columns of all members, those of the first member first.
     `placed`: a table over all columns that sees some of them, in an order of its own, and some perhaps twice.
Promise: a table reads its own columns among them, and no others; sums of a network that sees a column twice round as
they did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mace.errors import UnreadableError
from mace.tables.table import Ensemble, Layer, Network, Table


def side_by_side(tables: Sequence[Table]) -> list[Ensemble | Network]:
    """See the module's docstring; raises UnreadableError for a table that has no columns."""
    sizes = [table.columns if isinstance(table, (Ensemble, Network)) else 0 for table in tables]
    if not all(sizes):
        raise UnreadableError("members that are programs are not supported behind steps of their own")
    ends = np.cumsum([0, *sizes])
    return [
        placed(table, range(ends[number], ends[number + 1]), sum(sizes))
        for number, table in enumerate(tables)
        if isinstance(table, (Ensemble, Network))
    ]


def placed(
    table: Ensemble | Network, places: Sequence[int], columns: int, *, chosen: bool = False
) -> Ensemble | Network:
    """A table over so many columns; places: which of them its own are.

    chosen: whether a network is given them by a layer of its own, as it is where it sees a column twice.
    """
    at = np.asarray(places, dtype=np.intp)
    if isinstance(table, Ensemble):
        trees = (
            replace(tree, column=np.where(tree.column < 0, -1, at[tree.column]).astype(np.int32))
            for tree in table.trees
        )
        return replace(table, trees=tuple(trees), columns=columns)
    if chosen or len(set(places)) < len(places):
        weights = np.zeros((columns, len(at)))
        weights[at, np.arange(len(at))] = 1.0
        choice = Layer(weights, np.zeros(len(at)), "identity")
        return replace(table, layers=(choice, *table.layers), columns=columns)
    one = table.layers[0]
    weights = np.zeros((columns, one.weights.shape[1]))
    weights[at] = one.weights
    return replace(table, layers=(replace(one, weights=weights), *table.layers[1:]), columns=columns)
