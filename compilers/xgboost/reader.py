"""Read XGBoost models: boosters, scikit-learn wrappers, and model files without importing the library.

In:  the document of a JSON or UBJSON model file, or an object of the library (which writes that document).
Out: an Ensemble whose scores are the library's margins (`output_margin=True`), bit by bit; of the booster "dart",
     whose trees have weights, up to `error`. Of a model that was trained on a frame with categories, the columns are
     the numbers that the library makes of them (`categories.py`).
Promise: every index, shape and number is checked; another version, booster or objective is a ModelError that names it.
How the library decides (checked against 3.2 row by row, in batches and in place): inputs are float32; a row goes left
where x < t, where it is NaN and the node's default is left, or where its category is not in the node's set; a number's
category is what comes before the point (0.5 has 0), negative numbers and categories never seen go left; the margin of
`base_score` comes first, then the trees' leaves, in order, in float32; the class is 1 where
1 / (1 + exp(-margin)) > 1/2, or the first of the largest. "count:poisson", "reg:gamma" and "reg:tweedie" predict
exp(margin).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mace.compilers.formats.ubjson import parse
from mace.compilers.tree_arrays import checked_tree, refuse_size
from mace.compilers.xgboost.model import OBJECTIVES, checked, trees_of
from mace.errors import ModelError, UnreadableError
from mace.tables.members import Members, truncated
from mace.tables.table import Compare, Decision, Ensemble, Floats, Label, Link, Tree

# The largest float32 for which 1 / (1 + expf(-s)) is not above 1/2: the sum is rounded to even.
_HALF = 1.5 * 2.0**-24


def read_booster(model: Any, rounds: int | None = None, classes: tuple[Label, ...] | None = None) -> Ensemble:
    """The table of a Booster; `rounds`: only so many rounds are used."""
    return read_document(checked(parse(bytes(model.save_raw(raw_format="ubj")), "the booster")), rounds, classes)


def read_wrapper(model: Any) -> Ensemble:
    """The table of XGBClassifier, XGBRegressor and their random forests."""
    try:
        booster = model.get_booster()
    except Exception as error:
        raise ModelError(
            f"this {type(model).__name__} is not fitted ({error})", hint="Call its `fit` first."
        ) from error
    best = booster.attributes().get("best_iteration")
    # The wrapper predicts with the best round after early stopping; a booster by itself uses all.
    try:
        # 0 rounds stand for all of them, as in `iteration_range`.
        rounds = None if best is None or getattr(model, "booster", None) == "gblinear" else int(best) + 1 or None
    except ValueError:
        raise ModelError(f"the XGBoost model is damaged: its best_iteration is {best!r}") from None
    known = getattr(model, "classes_", None) if hasattr(type(model), "predict_proba") else None
    classes = None if known is None else tuple(np.asarray(known).tolist())
    if model.missing is not None and not np.isnan(model.missing):
        raise UnreadableError(f"{type(model).__name__} takes {model.missing!r} as missing; only NaN is supported")
    table = read_booster(booster, rounds, classes)
    if known is None and table.classes:
        raise ModelError(
            f"this {type(model).__name__} was fitted for classes ({table.name}) and predicts a probability, which is "
            "not supported",
            hint="Fit an XGBClassifier, or give the Booster (`get_booster()`), which is read as a classifier.",
        )
    return table


def read_document(
    document: Mapping[str, Any], rounds: int | None = None, classes: tuple[Label, ...] | None = None
) -> Ensemble:
    """The table of a document that `formats.xgboost_model.checked` gave; raises ModelError."""
    learner = document["learner"]
    objective, parameters = learner["objective"]["name"], learner["learner_model_param"]
    booster = learner["gradient_booster"]
    kind, model = OBJECTIVES[objective], trees_of(booster)
    columns, outputs = int(parameters["num_feature"]), max(int(parameters["num_class"]), 1)
    trees, groups = model["trees"], model["tree_info"]
    dart = booster["name"] == "dart"
    weights = np.array(booster["weight_drop"] if dart else [1.0] * len(trees), dtype=np.float32)
    refuse_size("the XGBoost model", sum(len(tree["parents"]) for tree in trees), outputs)
    if rounds is not None:
        trees = trees[: _used(model, rounds, outputs)]
    elif classes is None and _stopped(learner, model, outputs):
        raise ModelError(
            "this XGBoost model was stopped early: whether the rounds after the best one count depends on who predicts",
            hint="Keep the rounds that count, `booster[: booster.best_iteration + 1]`, and save those.",
        )
    labels = classes if classes is not None else tuple(range(2 if kind == "two" else outputs if kind == "many" else 0))
    if len(labels) != (2 if kind == "two" else outputs if kind == "many" else 0):
        raise ModelError(f"the XGBoost model has {outputs} outputs and the classes {labels!r}")
    first: Decision = ((Compare(None, 0, -_HALF),),)
    second: Decision = ((Compare(0, None, _HALF, strict=True),),)
    start = _margins(parameters, objective, outputs)
    grown = tuple(
        _tree(number, tree, group, weight, columns, outputs)
        for number, (tree, group, weight) in enumerate(zip(trees, groups, weights, strict=False))
    )
    return Ensemble(
        trees=grown,
        columns=columns,
        start=start,
        rule="value" if not labels else "sigmoid" if kind == "two" else "softmax",
        classes=labels,
        cast="float32",
        test="<",
        dtype="float32",
        name=f"XGBoost {objective}",
        ordered=not dart,
        error=_weighed(grown, weights, start) if dart else 0.0,
        decisions=(first, second) if kind == "two" else None,
        link=_LINKS.get("probable" if objective == "multi:softprob" else kind),
    )


_LINKS: dict[str, Link] = {
    "two": Link("logistic", dtype="float32"), "exponential": Link("exp", dtype="float32"),
    "probable": Link("softmax", dtype="float32"),
}  # fmt: skip


def _weighed(trees: Sequence[Tree], weights: NDArray[np.float32], start: Floats) -> float:
    """How far the sums of a "dart" booster may lie from those of the rounded products of leaves and weights.

    3.2 adds these products, each rounded. Other builds may round product and sum at once, or take the margin of
    `base_score` from each leaf that it was added to: three more roundings a tree of numbers no larger than these.
    """
    leaves = sum(float(np.abs(tree.value).max(initial=0.0)) for tree in trees)
    margins = float(np.abs(start).max(initial=0.0) * np.abs(weights).sum())
    return 8 * 2.0**-24 * (leaves + margins) + len(trees) * 2.0**-120


def _tree(number: int, tree: Mapping[str, Any], group: int, weight: np.float32, columns: int, outputs: int) -> Tree:
    """One tree of the document."""
    where = f"the XGBoost model is damaged: tree {number}"
    left, right, column = (tree[key].astype(np.int64) for key in ("left_children", "right_children", "split_indices"))
    numbers, default = tree["split_conditions"].astype(np.float64), tree["default_left"] != 0
    nodes, starts, sizes, cells = (tree[f"categories{part}"] for part in ("_nodes", "_segments", "_sizes", ""))
    members: dict[int, Members] = {}
    for node, start, size_ in zip(nodes.tolist(), starts.tolist(), sizes.tolist(), strict=True):
        members[node] = truncated(cells[start : start + size_].tolist(), "float32", negative=False)
        # The set goes right: with the branches swapped, it is what goes left.
        left[node], right[node], default[node] = right[node], left[node], not default[node]
    value = np.zeros((len(left), outputs))
    leaf = left < 0  # of other nodes the same array holds thresholds
    value[leaf, group] = tree["split_conditions"][leaf] * weight  # in float32
    return checked_tree(where, columns, left, right, column, numbers, value, default, members)


def _margins(parameters: Mapping[str, Any], objective: str, outputs: int) -> Floats:
    """The margins before the first tree: `base_score` is stored as what is predicted."""
    stored = json.loads(parameters["base_score"])
    scores = np.array(stored if isinstance(stored, list) else [stored], dtype=np.float32)
    if objective == "binary:logistic":
        if not ((scores > 0) & (scores < 1)).all():
            raise ModelError(f"the XGBoost model is damaged: base_score {scores.tolist()} is no probability")
        odds = np.float32(1) / scores - np.float32(1)
        scores = np.array([-np.float32(math.log(float(odd))) for odd in odds], dtype=np.float32)  # logf, rounded right
    elif OBJECTIVES[objective] == "exponential":
        if not (scores > 0).all():
            raise ModelError(f"the XGBoost model is damaged: base_score {scores.tolist()} is no exponential")
        scores = np.array([np.float32(math.log(float(score))) for score in scores], dtype=np.float32)
    return np.broadcast_to(scores.astype(np.float64), (outputs,)).copy()


def _used(model: Mapping[str, Any], rounds: int, outputs: int) -> int:
    """How many trees the first rounds have."""
    return rounds * int(model["gbtree_model_param"]["num_parallel_tree"]) * outputs


def _stopped(learner: Mapping[str, Any], model: Mapping[str, Any], outputs: int) -> bool:
    """Whether there are rounds after the best one."""
    best = learner["attributes"].get("best_iteration")
    return best is not None and _used(model, int(best) + 1, outputs) < len(model["trees"])
