"""Read OptBinning scorecards: a step function of each variable, in a linear model.

In:  a fitted Scorecard for two classes, over a linear estimator of scikit-learn.
Out: an Ensemble of one tree a variable, whose leaves add coefficient * WoE of the bin; `error` bounds the difference
     to the library's own products and sums, whose order is not fixed.
     Categories that are no whole numbers are columns of their places in `categories_of` (`step_of` looks them up).
Promise: the WoE of every bin is what the library's own `transform` gives for a number in it; transforms of other kinds
are a ModelError.
How the library decides (binning/transformations.py, checked against 1.0): a number is in the bin after the last split
that is <= it; special codes, missing values and categories never seen have a WoE of their own; the estimator then sees
WoE instead of the variables.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.compilers.recoding import Recoding
from mace.compilers.sklearn.common import fitted, name_of
from mace.compilers.sklearn.linear import read_linear
from mace.compilers.tree_arrays import checked_tree
from mace.errors import ModelError, UnreadableError
from mace.tables.members import Members, equal_to
from mace.tables.table import Ensemble, Tree

_UNIT = 2.0**-53
_LAST = float(np.finfo(np.float64).max)


def read_scorecard(model: Any) -> Ensemble:
    """The table of a Scorecard."""
    estimator, process = fitted(model, "estimator_"), fitted(model, "binning_process_")
    if not hasattr(estimator, "coef_") or not hasattr(estimator, "classes_") or len(estimator.classes_) != 2:
        raise UnreadableError(
            f"{name_of(model)} over a {name_of(estimator)} is not supported",
            hint="Supported are linear classifiers of scikit-learn, for two classes.",
        )
    if getattr(process, "binning_transform_params", None):
        raise UnreadableError(f"{name_of(model)} with binning_transform_params is not supported")
    line = read_linear(estimator)
    names, chosen = list(process.variable_names), [str(name) for name in process.get_support(names=True)]
    weights, bias = line.layers[0].weights[:, 0], float(line.layers[0].bias[0])
    if len(chosen) != len(weights) or not set(chosen) <= {str(name) for name in names}:
        raise ModelError(f"{name_of(model)} is damaged: {len(weights)} coefficients for {len(chosen)} variables")
    trees = tuple(
        _tree(model, number, name, process.get_binned_variable(name), len(names), names.index(name), float(weight))
        for number, (name, weight) in enumerate(zip(chosen, weights, strict=True))
    )
    size = abs(bias) + sum(float(np.abs(tree.value).max()) for tree in trees)
    return Ensemble(
        trees=trees,
        columns=len(names),
        start=np.array([bias]),
        rule="positive",
        classes=line.classes,
        cast="float64",
        test="<",
        name=name_of(model),
        # The library multiplies and adds in any order, with or without fused operations; here each product is rounded.
        error=(2 * len(trees) + 8) * _UNIT * size,
    )


def step_of(model: Any) -> Recoding | None:
    """What numbers the variables whose categories are no whole numbers; None without any."""
    process = fitted(model, "binning_process_")
    names = tuple(map(str, process.variable_names))
    chosen = {str(name) for name in process.get_support(names=True)}
    found = {
        place: levels for place, name in enumerate(names)
        if name in chosen and (levels := categories_of(process.get_binned_variable(name))) is not None
    }  # fmt: skip
    return Recoding(names, tuple(found.values()), tuple(found), typed=False) if found else None


def categories_of(binned: Any) -> tuple[Any, ...] | None:
    """The categories of a variable that are no whole numbers, in the order of their places; None if it has none."""
    known = [code for codes in _groups(binned) for code in codes] if binned.dtype != "numerical" else []
    if all(isinstance(code, (int, float)) and float(code).is_integer() for code in known):
        return None
    return tuple(known)


def _groups(binned: Any) -> list[list[Any]]:
    """The categories of every bin; each special code is one more."""
    return [np.asarray(group).tolist() for group in binned.splits] + [[code] for code in _special(binned)]


def _special(binned: Any) -> list[Any]:
    codes = getattr(binned, "special_codes", None)
    found = list(codes.values()) if isinstance(codes, dict) else [codes if codes is not None else []]
    return [code for group in found for code in np.asarray(group).ravel().tolist()]


def _alone(binned: Any) -> set[float]:
    """Where bins end that hold one special code each, and nothing else."""
    return {end for code in map(float, _special(binned)) for end in (code, float(np.nextafter(code, np.inf)))}


def _tree(model: Any, number: int, name: str, binned: Any, columns: int, column: int, weight: float) -> Tree:
    """One variable as a chain of tests: missing or not, then bin after bin."""
    where = f"{name_of(model)}: the variable {name!r}"
    metrics = {"metric_special": model._metric_special, "metric_missing": model._metric_missing}

    def woe(value: Any) -> float:
        held = np.array([value], dtype=object if isinstance(value, str) else None)
        return float(np.asarray(binned.transform(held, metric="woe", **metrics), dtype=np.float64)[0])

    members: dict[int, Members] = {}
    if binned.dtype == "numerical":
        splits = sorted({float(split) for split in np.asarray(binned.splits).ravel()}.union(_alone(binned)))
        ends: list[tuple[float | frozenset[int], float]] = [
            (split, woe(np.nextafter(split, -np.inf))) for split in splits
        ]
        last = woe(splits[-1] if splits else 0.0)
    else:
        ends = []
        places = {level: place for place, level in enumerate(categories_of(binned) or ())}
        for codes in _groups(binned):
            ends.append((frozenset(places.get(code, code) for code in codes), woe(codes[0])))
        # A category never seen.
        known = [code for codes in _groups(binned) for code in codes]
        last = woe("".join(map(str, known)) + "?" if places else max(known, default=0) + 1)
    # Node 1 begins the chain, node 2 holds missing values: every number is below the threshold of node 0.
    left, right, tested, threshold = [1, -1, -1], [2, -1, -1], [column, -1, -1], [_LAST, 0.0, 0.0]
    value = [0.0, 0.0, woe(np.nan)]
    at = 1
    for end, inside in ends:
        here = len(left)
        left[at], right[at], tested[at] = here, here + 1, column
        if isinstance(end, frozenset):
            members[at] = equal_to(end)
        else:
            threshold[at] = end
        left += [-1, -1]
        right += [-1, -1]
        tested += [-1, -1]
        threshold += [0.0, 0.0]
        value += [inside, 0.0]
        at = here + 1
    value[at] = last
    added = np.array(value)[:, None] * weight
    return checked_tree(f"{where} (tree {number})", columns, left, right, tested, threshold, added, None, members)
