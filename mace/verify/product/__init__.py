"""Two models, or one model twice, as one model: what turns a property of pairs into a question about single points.

In:  two tables of one kind, the columns that each reads, the axes of the points.
Out: a `Product`: one table whose scores are those of both, and `goal(i, j)`: the first decides for its class i and the
     second for its class j, as comparisons of these scores.
Promise: every point at which the two deployed models decide so has the goal of the product, as bounds read it, so a
refutation is one of the property. Witnesses are run through `predict`. Each table that is made passes `validate`.
Source: self-composition, Barthe, D'Argenio, Rezk 2004.
"""

from __future__ import annotations

from collections.abc import Sequence

from mace.base.deadline import NEVER, Deadline
from mace.space.axes import Axis
from mace.space.columns import Column
from mace.tables.table import Ensemble, Network
from mace.verify.product.joint import NoProduct, Pair, Product
from mace.verify.product.networks import of_networks
from mace.verify.product.trees import of_ensembles


def product(
    one: Ensemble | Network,
    one_columns: Sequence[Column],
    other: Ensemble | Network,
    other_columns: Sequence[Column],
    axes: Sequence[Axis],
    pairs: Sequence[Pair],
    deadline: Deadline = NEVER,
) -> Product:
    """The product of two models.

    axes:  one a feature; columns name features by their place there.
    pairs: the decisions that will be asked for.
    Raises NoProduct for a network beside an ensemble, and for ensembles whose tests have no common form; TimeOverError.
    """
    columns, place = _union(one_columns, other_columns, axes)
    if isinstance(one, Network) and isinstance(other, Network):
        return of_networks(one, place[0], other, place[1], columns)
    if isinstance(one, Ensemble) and isinstance(other, Ensemble):
        return of_ensembles(one, place[0], other, place[1], columns, axes, pairs, deadline)
    raise NoProduct("no prover takes a network and a tree ensemble together")


def _union(
    one: Sequence[Column], other: Sequence[Column], axes: Sequence[Axis]
) -> tuple[tuple[Column, ...], list[list[int]]]:
    """The columns of both, equal ones once, and where each column of each model went."""
    columns: list[Column] = []
    seen: dict[object, int] = {}
    places: list[list[int]] = []
    for given in (one, other):
        place: list[int] = []
        for column in given:
            column = column.on(axes[column.feature])
            # NaN is not equal to itself: by its text it is. Of one model no two columns are made one: that would add
            # their weights, and round.
            same = (column.feature, repr(column.values), repr(column.chain), repr(column.missing))
            number = 0
            while seen.get((*same, number)) in place:
                number += 1
            key = (*same, number)
            if key not in seen:
                seen[key] = len(columns)
                columns.append(column)
            place.append(seen[key])
        places.append(place)
    return tuple(columns), places


__all__ = ["NoProduct", "Pair", "Product", "product"]
