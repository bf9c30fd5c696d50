"""A linear model of nothing but bins and levels: one tree for each feature.

In:  a Network of one layer, its columns, of which each number is binned or a whole one of a small range, and the
     features.
Out: `additive`, an Ensemble over the features themselves whose tree of a feature says what all columns of this feature
     add to each score; None where some column is a line of a real number or of one with more than `MOST_VALUES`
     values, or where no number is binned (the linear prover takes that as it is).
Promise: for every row of the space the scores of the model lie within `error` of the exact sums of the leaves.
     The library adds products of columns and weights in an order of its own: `network_error` bounds what that rounds.
     A leaf is the sum of a feature's products, rounded once.
Why: reasoning about linear functions cannot follow a step; trees are steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.exact import UNIT_ROUNDOFF, above, exact, nearest
from mace.compilers.pipeline.thresholds import edges_of
from mace.space.columns import Column
from mace.space.feature import Feature
from mace.tables.margins import network_error
from mace.tables.table import Ensemble, Floats, Network, Tree
from mace.tables.validity import validate

MOST_VALUES = 1000  # an integer feature with at most so many values may be a table
MOST_PIECES = 5000  # of a feature: more than `MOST_VALUES` of an integer, and few enough for one tree


class _Term(NamedTuple):
    """What a feature adds to the scores.

    column: the feature's own column: a number as it is, or the place of a level.
    ends:   the largest number of each piece but the last, rising; of levels all places but the last.
    values: (pieces, columns of the feature), what these columns are in each piece; where the model takes missing
            numbers, one row more for these.
    places: which columns of the model these are.
    """

    column: Column
    ends: tuple[float, ...]
    values: Floats
    places: list[int]


def additive(
    table: Network, columns: Sequence[Column], features: Sequence[Feature]
) -> tuple[Ensemble, tuple[Column, ...]] | None:
    """See the module's docstring."""
    if len(table.layers) != 1 or table.dtype != "float64" or not any(column.is_bent for column in columns):
        return None
    if any(column.rounded_to != "float64" for column in columns):
        return None
    terms: list[_Term] = []
    for j, feature in enumerate(features):
        places = [k for k, column in enumerate(columns) if column.feature == j]
        if not places:
            continue
        term = _term(places, columns, feature)
        if term is None:
            return None
        terms.append(term)
    layer = table.layers[0]
    trees = tuple(_tree(term, layer.weights[term.places], number) for number, term in enumerate(terms))
    made = Ensemble(
        trees=trees, columns=len(terms), start=layer.bias, rule=table.rule, classes=table.classes, cast="float64",
        dtype=table.dtype, name=table.name, ordered=False, error=_error(table, terms, trees), decisions=table.decisions,
        link=table.link,
    )  # fmt: skip
    return validate(made, "terms of a linear model"), tuple(term.column for term in terms)


def _term(places: list[int], columns: Sequence[Column], feature: Feature) -> _Term | None:
    """What is known of one feature's columns; None where one of them is no step function."""
    own = [columns[k] for k in places]
    if own[0].values is not None:
        count = min(len(column.values or ()) for column in own)  # some may not take the last one, which is "missing"
        levels = tuple(map(float, range(count)))
        values = np.array([(column.values or ())[:count] for column in own]).T
        return _finite(_Term(Column(feature.name, own[0].feature, levels), levels[:-1], values, places))
    found = [_ends(column, feature) for column in own]
    if any(edges is None for edges in found):
        return None
    lower, upper = map(nearest, feature.bounds())
    ends = sorted({end for edges in found for end in edges or () if lower <= end < upper})
    if len(ends) > MOST_PIECES:
        return None
    values = np.array([column.of_many(np.array([*ends, upper])) for column in own]).T
    takes = all(column.missing is not None for column in own)
    if takes:
        values = np.vstack([values, [column.missing for column in own]])
    column = Column(feature.name, own[0].feature, None, missing=math.nan if takes else None)
    return _finite(_Term(column, tuple(ends), values, places))


def _ends(column: Column, feature: Feature) -> tuple[float, ...] | None:
    """The largest number of each piece but the last on which a column is constant; None where it is a longer line."""
    edges = edges_of(column, feature)
    if edges is not None or not column.is_affine:
        return edges
    if column.affine()[0] == 0:
        return ()
    lower, upper = feature.bounds()
    whole = feature.kind == "integer" and upper - lower < MOST_VALUES
    return tuple(map(float, range(int(lower), int(upper)))) if whole else None


def _finite(term: _Term) -> _Term | None:
    """The term, unless it has a place at which some column is not a number."""
    return term if np.isfinite(term.values).all() else None


def _tree(term: _Term, weights: Floats, number: int) -> Tree:
    """The pieces by halves, and before them whether the number is there, where it may be missing."""
    sums = [_sums(row, weights) for row in term.values]
    column: list[int] = []
    threshold: list[float] = []
    children: list[list[int]] = []
    value: list[list[float]] = []

    def add(test: float | None, piece: int) -> int:
        column.append(-1 if test is None else number)
        threshold.append(0.0 if test is None else test)
        children.append([-1, -1])
        value.append(sums[piece] if test is None else [0.0] * len(sums[0]))
        return len(column) - 1

    pieces = len(term.ends) + 1
    todo: list[tuple[int, int, int, int]] = [(0, pieces, -1, 0)]
    if len(sums) > pieces:  # Every number is at most the largest double; what is missing fails the test.
        add(float(np.finfo(np.float64).max), 0)
        children[0][1] = add(None, pieces)
        todo = [(0, pieces, 0, 0)]
    while todo:
        first, last, parent, side = todo.pop()
        middle = (first + last) // 2
        node = add(None if last == first + 1 else term.ends[middle - 1], first)
        if parent >= 0:
            children[parent][side] = node
        if last > first + 1:
            todo += [(first, middle, node, 0), (middle, last, node, 1)]
    left, right = np.array(children, dtype=np.int32).T
    return Tree(np.array(column, dtype=np.int32), np.array(threshold), left, right, np.array(value))


def _sums(values: Floats, weights: Floats) -> list[float]:
    """For each score the sum of products, rounded once."""
    some = np.flatnonzero(values).tolist()
    factors = [exact(value) for value in values[some].tolist()]
    return [
        nearest(sum((value * exact(w) for value, w in zip(factors, column, strict=True)), Fraction(0)))
        for column in weights[some].T.tolist()
    ]


def _error(table: Network, terms: Sequence[_Term], trees: Sequence[Tree]) -> float:
    """How far a score of the library may lie from the exact sum of the leaves."""
    magnitude = np.zeros(table.columns)
    for term in terms:
        magnitude[term.places] = np.abs(term.values).max(axis=0)
    rounding = max(network_error(table, magnitude.tolist()))
    leaves = sum((exact(float(np.abs(tree.value).max())) for tree in trees), Fraction(0))
    return above(rounding + UNIT_ROUNDOFF * leaves * (1 + 2 * UNIT_ROUNDOFF) + len(trees) * Fraction(1, 2**1074))
