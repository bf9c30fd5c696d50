"""Read soft votes and bagging of scikit-learn over members that are read one at a time, whatever they are.

In:  VotingClassifier with voting="soft", BaggingClassifier, BaggingRegressor, and the tables of their members. Over
     trees alone, and soft votes over trees and forests, they are read as one sum of trees (`ensembles.py`).
Out: of members that say fractions (trees, forests, bagging of these) an Ensemble of their weighted mean, whose scores
     are the probabilities within its `error`; of other members of two classes the mean of their probabilities
     (`means.py`); of regressors their mean as one weighted sum.
Promise: members that know other classes than the whole, and those of which nothing is known, are named by a ModelError.
How the library decides (sklearn/ensemble/_voting.py, _bagging.py, checked in 1.9): soft votes take the weighted mean of
`predict_proba` by `numpy.average`, which for members in float32 alone, without weights, adds in float32; bagging gives
each member its own columns of the matrix, adds what they say to zeros in float64 (of regressors in their own type), and
divides by their number. The first of the largest means is the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mace.compilers.side_by_side import placed
from mace.compilers.sklearn.beside import averaged
from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of
from mace.compilers.sklearn.ensembles import FORESTS, TREES, is_own, read_bagging, read_voting, weights_of
from mace.compilers.sklearn.means import UNIT_32, in_doubles, mean_of, member_of, size_of
from mace.compilers.sklearn.mixed import Part, weighted_sum
from mace.errors import ModelError, UnreadableError
from mace.tables.table import Ensemble, Label, Link, Network, Table


def voters(model: Any) -> list[Any]:
    """The members of soft votes that count; none where the votes are read as one sum of trees."""
    members = list(fitted(model, "estimators_"))
    if model.voting != "soft" or all(is_own(member, (*TREES, *FORESTS)) for member in members):
        return []
    return [member for member, share in zip(members, _shares(model, members), strict=True) if share > 0]


def _shares(model: Any, members: Sequence[Any]) -> list[float]:
    """What the votes of each member count; together 1."""
    weights = weights_of(model, members)
    shares: list[float] = (weights / weights.sum()).tolist()
    return shares


def read_soft(
    model: Any, _: Any = None, __: Any = None, tables: Sequence[Table] = (), finals: Sequence[Any] = ()
) -> Ensemble | Network:
    """The table of VotingClassifier; tables, finals: of its members, where these are no trees and forests alone."""
    if not tables:
        return read_voting(model)
    shares = [share for share in _shares(model, fitted(model, "estimators_")) if share > 0]
    classes = tuple(np.asarray(fitted(model, "le_").classes_).tolist())
    return _mean(model, tables, finals, shares, classes)


def bagged(model: Any) -> list[Any]:
    """The members of bagging; none where they are trees, which are read as one sum."""
    members = list(fitted(model, "estimators_"))
    return [] if all(is_own(member, TREES) for member in members) else members


def read_bagged(
    model: Any, _: Any = None, __: Any = None, tables: Sequence[Table] = (), finals: Sequence[Any] = ()
) -> Ensemble | Network:
    """The table of BaggingClassifier or BaggingRegressor; tables, finals: of its members, where these are no trees."""
    if not tables:
        return read_bagging(model)
    if model.n_estimators != len(tables):
        raise ModelError(f"{name_of(model)} is damaged: it divides {len(tables)} members by {model.n_estimators}")
    given = _given(model, tables)
    shares = [1.0 / len(tables)] * len(tables)
    if hasattr(type(model), "predict_proba"):
        return _mean(model, given, finals, shares, labels_of(model))
    return _mean_number(model, given, finals, shares)


def _given(model: Any, tables: Sequence[Table]) -> list[Table]:
    """The tables over the columns of the whole, of which each member is given its own."""
    columns = columns_of(model)
    parts = [np.asarray(part).tolist() for part in fitted(model, "estimators_features_")]
    if len(parts) != len(tables):
        raise ModelError(f"{name_of(model)} is damaged: {len(tables)} members, {len(parts)} sets of columns")
    if any(not isinstance(f, int) or not 0 <= f < columns for part in parts for f in part):
        raise ModelError(f"{name_of(model)} is damaged: a member uses columns beyond the {columns} known")
    twice = any(len(set(part)) < len(part) for part in parts)
    found: list[Table] = []
    for number, (table, part) in enumerate(zip(tables, parts, strict=True)):
        if isinstance(table, (Ensemble, Network)) and table.columns == len(part):
            found.append(placed(table, part, columns, chosen=twice))
        elif part == list(range(columns)):  # behind steps of its own, which are given all columns
            found.append(table)
        else:
            raise UnreadableError(
                f"{name_of(model)}: member {number} is a pipeline that is given some of the columns, which is not "
                "supported",
                hint="Fit it with max_features=1.0 and bootstrap_features=False, or put the steps before the whole.",
            )
    return found


def _mean(
    model: Any, tables: Sequence[Table], finals: Sequence[Any], shares: Sequence[float], classes: tuple[Label, ...]
) -> Ensemble | Network:
    """The table of a weighted mean of probabilities."""
    whats = [f"{name_of(model)}: member {number} is a {name_of(final)}" for number, final in enumerate(finals)]
    name = f"{name_of(model)} of {len(tables)} models"
    ensembles = [table for table in tables if isinstance(table, Ensemble)]
    known = tuple(range(len(classes)))
    for what, table in zip(whats, tables, strict=True):
        if not set(table.classes) <= set(known):
            raise ModelError(f"{what} that knows other classes than the whole")
    if len(ensembles) == len(tables) and all(t.link is not None and t.link.kind == "fraction" for t in ensembles):
        # Of bagging a member may have seen fewer classes than the whole.
        parts = [
            Part(table, share * np.eye(len(classes))[list(table.classes)])
            for table, share in zip(ensembles, shares, strict=True)
        ]
        bias = np.zeros(len(classes))
        return weighted_sum(parts, bias, rule="argmax", classes=classes, name=name, link=Link("fraction"))
    if len(classes) != 2:
        raise UnreadableError(
            f"{name_of(model)} has {len(classes)} classes; supported are two, but for trees and forests",
            hint="With more, a mean of probabilities compares no scores: use trees and forests as members, or explain "
            "one of the members.",
        )
    for what, table in zip(whats, tables, strict=True):
        if tuple(table.classes) != known:
            raise UnreadableError(f"{what} that knows fewer classes than the whole, which is not supported")
    members = [member_of(what, table, share) for what, table, share in zip(whats, tables, shares, strict=True)]
    return mean_of(model, members, classes)


# ---------------------------------------------------------------------------------------------- numbers


def _mean_number(
    model: Any, tables: Sequence[Table], finals: Sequence[Any], shares: Sequence[float]
) -> Ensemble | Network:
    """The table of the mean of what regressors predict."""
    for number, (table, final) in enumerate(zip(tables, finals, strict=True)):
        if not isinstance(table, (Ensemble, Network)) or table.classes or table.link is not None or table.outputs != 1:
            raise UnreadableError(
                f"{name_of(model)}: member {number} is a {name_of(final)}, which predicts no plain sum",
                hint="Use trees, forests, gradient boosting with a squared error, or linear models as members.",
            )
    networks = [table for table in tables if isinstance(table, Network)]
    ensembles = [table for table in tables if isinstance(table, Ensemble)]
    if len(networks) == len(tables):
        return averaged(networks, shares, name_of(model))
    if networks:
        raise UnreadableError(
            f"{name_of(model)} of trees and linear models together is not supported",
            hint="Leave out the ones or the others.",
        )
    parts = [Part(in_doubles(table), np.array([[share]])) for table, share in zip(ensembles, shares, strict=True)]
    found = weighted_sum(parts, np.zeros(1), rule="value", classes=(), name=name_of(model))
    if all(table.dtype == "float64" for table in ensembles):
        return found
    # Members that predict in float32 are added, and divided, in float32.
    size = sum(share * size_of(table) for table, share in zip(ensembles, shares, strict=True))
    return replace(found, error=found.error + 2 * (len(tables) + 2) * UNIT_32 * size)
