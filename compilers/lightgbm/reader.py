"""Read LightGBM models: boosters, scikit-learn wrappers, and text model files without importing the library.

In:  the text of a model file, or an object of the library (which writes that text: 17 digits, so nothing is rounded).
Out: an Ensemble whose scores are the library's raw scores (`raw_score=True`), bit by bit; of a random forest
     (boosting="rf") their mean over the rounds, of which the library makes what it predicts. Of a model that was
     trained on a frame with categories, the columns are the numbers that the library makes of them (`categories.py`).
Promise: every index, shape and number is checked; another version, kind of tree or objective is a ModelError.
How the library decides (tree.h, checked against 4.7 row by row): float64 inputs go left where x <= t; numbers up
to 1e-35 count as 0; NaN goes where the node's default says, or counts as 0 where the node knows no missing values; a
number in a categorical column goes left if it is in the node's set once what follows the point is cut off (-0.5 is 0),
NaN, others and numbers beyond a C int go right; raw scores add
the leaves from zero in float64, in order; class 1 is
1 / (1 + exp(-sigmoid * score)) > 1/2, else the first of the largest. "poisson", "gamma" and "tweedie" predict
exp(score).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np

from mace.compilers.lightgbm.model import AVERAGE, EXPONENTIALS, MANY, checked
from mace.compilers.tree_arrays import checked_tree, refuse_size
from mace.errors import ModelError, UnreadableError
from mace.tables.members import Members, truncated
from mace.tables.table import HALF_OF_SIGMOID, Compare, Decision, Ensemble, Label, Link, Tree

_ZERO = float(np.float32(1e-35))  # what the library takes for zero


def read_booster(model: Any, classes: tuple[Label, ...] | None = None) -> Ensemble:
    """The table of a Booster, with the rounds that its `predict` uses."""
    return read_text(checked(model.model_to_string()), classes)


def read_wrapper(model: Any) -> Ensemble:
    """The table of LGBMClassifier or LGBMRegressor."""
    try:
        booster = model.booster_
    except Exception as error:
        raise ModelError(
            f"this {type(model).__name__} is not fitted ({error})", hint="Call its `fit` first."
        ) from error
    if _switched_on(model.get_params().get("pred_early_stop")):
        raise UnreadableError(
            f"this {type(model).__name__} stops adding trees where a row seems decided (pred_early_stop=True), "
            "which is not supported",
            hint="Call set_params(pred_early_stop=False): then `predict` adds all trees.",
        )
    known = getattr(model, "classes_", None) if hasattr(type(model), "predict_proba") else None
    table = read_booster(booster, None if known is None else tuple(np.asarray(known).tolist()))
    if known is None and table.classes:
        raise ModelError(
            f"this {type(model).__name__} was fitted for classes ({table.name}) and predicts a probability, which is "
            "not supported",
            hint="Fit an LGBMClassifier, or give the Booster (`booster_`), which is read as a classifier.",
        )
    return table


def _switched_on(value: object) -> bool:
    """Whether a parameter is true as the library reads it from text; what it cannot read counts as true."""
    return str(value).strip().lower() not in ("none", "false", "0", "-")


def spelled(name: str) -> str:
    """The name of a column as the library keeps it (dataset.h, set_feature_names): it allows no other change."""
    return name.replace(" ", "_")


def read_text(text: str, classes: tuple[Label, ...] | None = None) -> Ensemble:
    """The table of a text that `formats.lightgbm_model.checked` gave; raises ModelError."""
    header, *blocks = re.split(r"^Tree=\d+$", text.partition("\nend of trees")[0], flags=re.MULTILINE)
    given = _pairs(header)
    columns, outputs = int(given["max_feature_idx"]) + 1, int(given["num_tree_per_iteration"])
    objective, *options = given["objective"].split(" ")
    many = objective in MANY
    refuse_size("the LightGBM model", 2 * text.count(" ") if blocks else 0, outputs)
    kinds = 2 if objective == "binary" else outputs if many else 0
    labels = tuple(range(kinds)) if classes is None else classes
    if len(labels) != kinds:
        raise ModelError(f"the LightGBM model has {outputs} outputs and the classes {labels!r}")
    trees = tuple(
        _tree(number, _pairs(block), columns, number % outputs, outputs) for number, block in enumerate(blocks)
    )
    divide = len(trees) // outputs if f"\n{AVERAGE}\n" in header else 1
    steep = next((float(option[8:]) for option in options if option.startswith("sigmoid:")), 1.0)
    half = HALF_OF_SIGMOID / steep
    first: Decision = ((Compare(None, 0, -half),),)
    second: Decision = ((Compare(0, None, half, strict=True),),)
    return Ensemble(
        trees=trees,
        columns=columns,
        start=np.zeros(outputs),
        rule="sigmoid" if kinds == 2 and not many else "softmax" if many else "value",
        classes=labels,
        cast="float64",
        test="<=",
        divide=divide,
        name=f"LightGBM {objective}",
        decisions=(first, second) if objective == "binary" else None,
        link=Link("logistic", slope=steep)
        if objective == "binary"
        else Link("exp")
        if objective in EXPONENTIALS
        else Link("softmax")
        if many
        else None,
        # The rule's own slack is for a sigmoid of steepness 1; a flatter one is in doubt further from its middle.
        error=0.0 if steep >= 1 else 16 * 2.0**-53 / steep * divide,
    )


def of_sparse_rows(table: Ensemble) -> Ensemble:
    """The table for rows of a sparse matrix, which keep numbers up to 1e-35.

    The only thresholds among these that the library writes are -_ZERO and _ZERO (bin.cpp, FindBinWithZeroAsOneBin).
    """
    moved = np.nextafter(-_ZERO, -np.inf)
    trees = [replace(tree, threshold=np.where(tree.threshold == moved, -_ZERO, tree.threshold)) for tree in table.trees]
    return replace(table, trees=tuple(trees))


def _tree(number: int, given: dict[str, str], columns: int, output: int, outputs: int) -> Tree:
    """One tree: inner nodes come first, then the leaves."""
    where = f"the LightGBM model is damaged: tree {number}"
    leaves = int(given["num_leaves"])
    inner, added = leaves - 1, _numbers(given["leaf_value"])
    value = np.zeros((inner + leaves, outputs))
    value[inner:, output] = added
    if not inner:
        return checked_tree(where, columns, [-1], [-1], [-1], [0.0], value)
    kind = _numbers(given["decision_type"]).astype(np.int64)
    column = _numbers(given["split_feature"]).astype(np.int64)
    threshold = _numbers(given["threshold"])
    sides = []
    for side in ("left_child", "right_child"):
        child = _numbers(given[side]).astype(np.int64)
        sides.append(np.where(child >= 0, child, inner - child - 1))  # Leaf k is stored as -k - 1.
    left, right = sides
    categorical, default, missing = (kind & 1) != 0, (kind & 2) != 0, kind >> 2 & 3
    if (zero := np.flatnonzero(~categorical & (missing == 1) & ((threshold >= _ZERO) != default))).size:
        raise ModelError(
            f"tree {number} of the LightGBM model, node {int(zero[0])} takes zero for a missing value, "
            "which is not supported",
            hint="Train it with zero_as_missing=false.",
        )
    # Rows lose numbers this small before they reach a tree: from -_ZERO to _ZERO all count as 0.
    threshold = np.where((threshold >= -_ZERO) & (threshold < 0), np.nextafter(-_ZERO, -np.inf), threshold)
    threshold = np.where((threshold >= 0) & (threshold < _ZERO), _ZERO, threshold)
    # A split between NaN and the rest has the threshold infinity.
    threshold = np.where(np.isposinf(threshold), np.finfo(np.float64).max, threshold)
    members: dict[int, Members] = {}
    if categorical.any():
        bounds, words = (list(map(int, given[key].split())) for key in ("cat_boundaries", "cat_threshold"))
        for node in np.flatnonzero(categorical).tolist():
            place = int(threshold[node])
            bits = words[bounds[place] : bounds[place + 1]]
            codes = (k for k in range(32 * len(bits)) if bits[k // 32] >> k % 32 & 1)
            members[node] = truncated(codes, "float64", negative=True)
    # Where a node knows no missing values, NaN is 0.
    goes_left = ~categorical & np.where(missing == 0, threshold >= 0, default)
    fill = np.full(leaves, -1)
    return checked_tree(
        where, columns, np.concatenate([left, fill]), np.concatenate([right, fill]), np.concatenate([column, fill]),
        np.concatenate([threshold, np.zeros(leaves)]), value, np.concatenate([goes_left, np.zeros(leaves, dtype=bool)]),
        members,
    )  # fmt: skip


def _pairs(block: str) -> dict[str, str]:
    """The lines `key=value`."""
    return dict(line.split("=", 1) for line in block.splitlines() if "=" in line)


def _numbers(words: str) -> Any:
    """The numbers of a line."""
    return np.array([float(word) for word in words.split()])
