"""Means of what members say of the probability of a class, each a function of a score of its own.

In:  the tables of members of two classes, what of their scores are their probabilities (`Member`), and how much each
     counts.
Out: one table with a score for each member, and the link "mean". Of trees an Ensemble, whose `error` bounds the
     difference to the members' own sums; forests, whose scores are probabilities already, share one score. Of linear
     models and perceptrons a Network, whose layers stand beside each other.
Promise: members of another number of columns are a ModelError, trees and networks together an UnreadableError.
How the library decides (sklearn/calibration.py, ensemble/_voting.py, ensemble/_bagging.py, checked in 1.9): the
probabilities of the members, times their weights, are added and divided by the sum of the weights; class 1 where its
mean is the larger one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mace.compilers.sklearn.beside import beside, coarsest
from mace.compilers.sklearn.common import name_of
from mace.compilers.sklearn.mixed import Part, weighted_sum
from mace.errors import ModelError, UnreadableError
from mace.tables.means import counts
from mace.tables.table import Ensemble, Label, Link, Network, Table

UNIT_32 = 2.0**-24
ITSELF = Link("steps", knots=((0.0, 0.0), (1.0, 1.0)))
"""Of a score that is the probability."""


class Member(NamedTuple):
    """A table, what `links` make of its scores (`Link.score`), and how much each of them counts."""

    table: Ensemble | Network
    links: tuple[Link, ...]
    weights: tuple[float, ...] = (1.0,)


def member_of(what: str, table: Table, weight: float) -> Member:
    """A model of two classes whose own link says its probability; what: it is, for messages.

    Raises UnreadableError where no such link is known.
    """
    if isinstance(table, (Ensemble, Network)) and table.link is not None:
        link = table.link
        if link.kind == "mean":
            shares = counts(link) * (weight / len(link.parts))
            return Member(table, link.parts, tuple(shares.tolist()))
        if link.kind == "fraction":
            return Member(table, (replace(ITSELF, score=1),), (weight,))
        if link.kind in ("logistic", "steps", "odds"):
            coarse = "float32" in (link.dtype, table.dtype)
            return Member(table, (replace(link, dtype="float32" if coarse else "float64"),), (weight,))
    raise UnreadableError(
        f"{what}, whose probability is no known function of one score, or of a mean of such",
        hint="Use trees, forests and gradient boosting as members, or logistic regression and perceptrons; others "
        "where CalibratedClassifierCV makes their probabilities.",
    )


def mean_of(model: Any, members: Sequence[Member], classes: tuple[Label, ...]) -> Ensemble | Network:
    """The table of a mean of members."""
    first = members[0].table
    for number, one in enumerate(members):
        if one.table.columns != first.columns:
            raise ModelError(
                f"{name_of(model)} is damaged: member {number} takes {one.table.columns} columns, "
                f"member 0 {first.columns}"
            )
    named = {one.table.name: None for one in members}
    name = f"{name_of(model)} of {len(members)} {' and '.join(named) if len(named) < 3 else 'models'}"
    ensembles = [one for one in members if isinstance(one.table, Ensemble)]
    if len(ensembles) == len(members):
        return _of_ensembles(members, classes, name)
    if not ensembles:
        return _of_networks(members, classes, name)
    raise UnreadableError(
        f"{name_of(model)} of trees and linear models together ({' and '.join(named)}) is not supported",
        hint="Leave out the ones or the others.",
    )


def _link(parts: Sequence[Link], weights: Sequence[float]) -> Link:
    """The mean of parts in the order of their scores."""
    told = () if len(set(weights)) == 1 else tuple(weights)
    parts = tuple(replace(part, score=number) for number, part in enumerate(parts))
    return Link("mean", parts=parts, weights=told, dtype=parts[0].dtype)


def _of_ensembles(members: Sequence[Member], classes: tuple[Label, ...], name: str) -> Ensemble:
    """A score for each part; those that are probabilities already are one, which counts as much as all of them."""
    places: list[list[int]] = []
    parts: list[Link] = []
    counted: list[float] = []
    for one in members:
        places.append([])
        for link, weight in zip(one.links, one.weights, strict=True):
            place = parts.index(ITSELF) if replace(link, score=0) == ITSELF and ITSELF in parts else len(parts)
            if place == len(parts):
                parts.append(replace(link, score=0))
                counted.append(0.0)
            counted[place] += weight
            places[-1].append(place)
    sums = []
    for one, put in zip(members, places, strict=True):
        table = in_doubles(one.table)
        weights = np.zeros((table.outputs, len(parts)))
        for link, weight, place in zip(one.links, one.weights, put, strict=True):
            weights[link.score, place] += weight / counted[place]
        sums.append(Part(table, weights))
    return weighted_sum(
        sums, np.zeros(len(parts)), rule="value", classes=classes, name=name, link=_link(parts, counted)
    )


def in_doubles(table: Ensemble | Network) -> Ensemble:
    """A table of sums in float32 as one of sums in float64, whose `error` covers what the library rounds."""
    assert isinstance(table, Ensemble)
    if table.dtype == "float64":
        return table
    error = table.error + 2 * (len(table.trees) + 2) * UNIT_32 * size_of(table) * table.divide
    return replace(table, dtype="float64", error=error)


def size_of(table: Ensemble) -> float:
    """No score of a table has a larger magnitude, but for rounding."""
    largest = [float(np.abs(tree.value[tree.column < 0]).max()) for tree in table.trees]
    return (float(np.abs(table.start).max()) + sum(largest)) / table.divide


def _of_networks(members: Sequence[Member], classes: tuple[Label, ...], name: str) -> Network:
    """The layers of all beside each other; the first of each sees the same columns."""
    tables = [one.table for one in members if isinstance(one.table, Network)]
    for one in members:
        if [link.score for link in one.links] != list(range(one.table.outputs)):
            raise UnreadableError(f"{name}: the probability of {one.table.name} is not read from all of its scores")
    return replace(
        tables[0],
        layers=beside(tables),
        rule="value",
        classes=classes,
        name=name,
        decisions=None,
        link=_link([link for one in members for link in one.links], [w for one in members for w in one.weights]),
        dtype=coarsest(tables),
    )
