"""Tables of models behind steps of their own, as tables over the columns of all these steps.

In:  the tables of the members that a model averages, where each member is a pipeline with its own steps.
Out: for each the same table over the columns of all members, those of the first member first.
Promise: a table reads its own columns among them, and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mace.errors import UnreadableError
from mace.tables.table import Ensemble, Network, Table


def side_by_side(tables: Sequence[Table]) -> list[Table]:
    """See the module's docstring; raises UnreadableError for a table that has no columns."""
    sizes = [table.columns if isinstance(table, (Ensemble, Network)) else 0 for table in tables]
    if not all(sizes):
        raise UnreadableError("members that are programs are not supported behind steps of their own")
    return [_placed(table, sum(sizes[:number]), sum(sizes)) for number, table in enumerate(tables)]


def _placed(table: Table, first: int, columns: int) -> Table:
    """A table whose columns begin at place `first` of so many."""
    if isinstance(table, Ensemble):
        trees = (replace(t, column=np.where(t.column < 0, t.column, t.column + first)) for t in table.trees)
        return replace(table, trees=tuple(trees), columns=columns)
    assert isinstance(table, Network)
    one = table.layers[0]
    weights = np.zeros((columns, one.weights.shape[1]))
    weights[first : first + table.columns] = one.weights
    return replace(table, layers=(replace(one, weights=weights), *table.layers[1:]), columns=columns)
