"""Read calibrated classifiers that average several members (`ensemble=True`, the default), but for single trees.

In:  CalibratedClassifierCV for two classes whose members are models that `calibrated.py` reads one at a time, and the
     tables of these.
Out: one table with a score for each member, and the link "mean": what the calibrators make of the scores, added and
     divided. Of trees an Ensemble, whose `error` bounds the difference to the members' own sums; of linear models and
     perceptrons a Network, whose layers stand beside each other.
Promise: members of another number of columns, or that know other classes, are a ModelError.
How the library decides (sklearn/calibration.py, checked in 1.9): the probabilities of the members are added from zero
in order and divided by their number; class 1 where its mean is the larger one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from mace.compilers.sklearn.common import labels_of, name_of
from mace.compilers.sklearn.mixed import Part, weighted_sum
from mace.errors import ModelError, UnreadableError
from mace.tables.table import Ensemble, Floats, Label, Layer, Link, Network

_UNIT_32 = 2.0**-24
T = TypeVar("T", Ensemble, Network)


def mean_of(model: Any, tables: Sequence[Ensemble | Network], links: Sequence[Link]) -> Ensemble | Network:
    """The table of a mean of calibrated members.

    links: what the calibrator of each makes of one of its scores.
    """
    classes = labels_of(model)
    for number, table in enumerate(tables):
        if table.columns != tables[0].columns:
            raise ModelError(
                f"{name_of(model)} is damaged: member {number} takes {table.columns} columns, "
                f"member 0 {tables[0].columns}"
            )
    parts = tuple(replace(link, score=number) for number, link in enumerate(links))
    mean = Link("mean", parts=parts, dtype=tables[0].dtype)
    name = f"{name_of(model)} of {len(tables)} {tables[0].name}"
    ensembles = [table for table in tables if isinstance(table, Ensemble)]
    networks = [table for table in tables if isinstance(table, Network)]
    if len(ensembles) == len(tables):
        return _of_ensembles(ensembles, [link.score for link in links], mean, classes, name)
    if len({len(table.layers) for table in networks}) == 1 and len(networks) == len(tables):
        return _of_networks(networks, mean, classes, name)
    raise UnreadableError(f"{name_of(model)} over members of different kinds is not supported")


def _of_ensembles(
    tables: Sequence[Ensemble], scores: Sequence[int], mean: Link, classes: tuple[Label, ...], name: str
) -> Ensemble:
    """One score of each, as the scores of one ensemble."""
    parts = []
    for number, (table, score) in enumerate(zip(tables, scores, strict=True)):
        weights = np.zeros((table.outputs, len(tables)))
        weights[score, number] = 1.0
        parts.append(Part(_in_doubles(table), weights))
    return weighted_sum(parts, np.zeros(len(tables)), rule="value", classes=classes, name=name, link=mean)


def _in_doubles(table: Ensemble) -> Ensemble:
    """A table of sums in float32 as one of sums in float64, whose `error` covers what the library rounds."""
    if table.dtype == "float64":
        return table
    largest = [float(np.abs(tree.value[tree.column < 0]).max()) for tree in table.trees]
    size = float(np.abs(table.start).max()) + sum(largest)
    error = table.error + 2 * (len(table.trees) + 2) * _UNIT_32 * size
    return replace(table, dtype="float64", error=error)


def _of_networks(tables: Sequence[Network], mean: Link, classes: tuple[Label, ...], name: str) -> Network:
    """The layers of all beside each other; the first of each sees the same columns."""
    first = Layer(
        np.hstack([table.layers[0].weights for table in tables]),
        np.concatenate([table.layers[0].bias for table in tables]),
        tables[0].layers[0].activation,
    )
    later = []
    for layers in zip(*(table.layers[1:] for table in tables), strict=True):
        if len({layer.activation for layer in layers}) > 1:
            raise UnreadableError(f"{name}: its members have other activations from one to the next")
        bias = np.concatenate([layer.bias for layer in layers])
        later.append(Layer(_diagonal([layer.weights for layer in layers]), bias, layers[0].activation))
    return replace(
        tables[0],
        layers=(first, *later),
        rule="value",
        classes=classes,
        name=name,
        decisions=None,
        link=mean,
    )


def _diagonal(blocks: Sequence[Floats]) -> Floats:
    """Matrices along the diagonal of one."""
    rows, columns = np.cumsum([0, *(b.shape[0] for b in blocks)]), np.cumsum([0, *(b.shape[1] for b in blocks)])
    whole = np.zeros((rows[-1], columns[-1]))
    for number, block in enumerate(blocks):
        whole[rows[number] : rows[number + 1], columns[number] : columns[number + 1]] = block
    return whole
