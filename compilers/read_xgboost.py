"""Read XGBoost models: boosters, scikit-learn wrappers, and model files without importing the library.

In:  the document of a JSON or UBJSON model file, or an object of the library (which writes that document).
Out: an Ensemble whose scores are the library's margins (`output_margin=True`), bit by bit. Of a model
     that was trained on a frame with categories, the columns are the numbers that the library makes of them
     (`native.py`).
Promise: every index, shape and number is checked; another version, booster or objective is a ModelError that names it.
How the library decides (checked against 3.2 row by row, in batches and in place): inputs are float32; a row goes left
where x < t, where it is NaN and the node's default is left, or where its category is not in the node's set; a number's
category is what comes before the point (0.5 has 0), negative numbers and categories never seen go left; the margin of
`base_score` comes first, then the trees' leaves, in order, in float32; the class is 1 where
1 / (1 + exp(-margin)) > 1/2, or the first of the largest.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mace.compilers.tree_arrays import checked
from mace.compilers.ubjson import parse
from mace.errors import FileError, ModelError
from mace.members import Members, truncated
from mace.tables import Compare, Decision, Ensemble, Floats, Label, Link, Tree

OLDEST, TOO_NEW = (2, 0), (4, 0)
LARGEST_FILE = 2**31
_OBJECTIVES = {
    "binary:logistic": "two", "multi:softprob": "many", "multi:softmax": "many",
    "reg:squarederror": "number", "reg:absoluteerror": "number", "reg:pseudohubererror": "number",
}  # fmt: skip
# The largest float32 for which 1 / (1 + expf(-s)) is not above 1/2: the sum is rounded to even.
_HALF = 1.5 * 2.0**-24
_CATEGORIES = 2**24  # From here on float32 has gaps, and the library knows no category.


def read_booster(model: Any, rounds: int | None = None, classes: tuple[Label, ...] | None = None) -> Ensemble:
    """The table of a Booster; `rounds`: only so many rounds are used."""
    return read_document(parse(bytes(model.save_raw(raw_format="ubj")), "the booster"), rounds, classes)


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
        raise ModelError(f"{type(model).__name__} takes {model.missing!r} as missing; only NaN is supported")
    table = read_booster(booster, rounds, classes)
    if known is None and table.classes:
        raise ModelError(
            f"this {type(model).__name__} was fitted for classes ({table.name}) and predicts a probability, which is "
            "not supported",
            hint="Fit an XGBClassifier, or give the Booster (`get_booster()`), which is read as a classifier.",
        )
    return table


def load(path: Path) -> Mapping[str, Any]:
    """The document of a .json or .ubj file; raises FileError for what is no such document."""
    if path.stat().st_size > LARGEST_FILE:
        raise FileError(f"{path} is larger than {LARGEST_FILE // 2**30} GB")
    data = path.read_bytes()
    if path.suffix == ".ubj":
        document = parse(data, str(path))
    else:
        try:
            document = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise FileError(f"{path} is no JSON: {error}", hint="It may be cut off: save the model again.") from None
    if not isinstance(document, dict) or "learner" not in document:
        raise FileError(f"{path} is no XGBoost model: it has no `learner`")
    return document


def read_document(
    document: Mapping[str, Any], rounds: int | None = None, classes: tuple[Label, ...] | None = None
) -> Ensemble:
    """The table of a model file's document."""
    version = tuple(int(part) for part in _at(document, "version")[:2])
    if not OLDEST <= version < TOO_NEW:
        raise ModelError(
            f"the model was written by XGBoost {'.'.join(map(str, version))}; read are versions "
            f"{OLDEST[0]}.{OLDEST[1]} to below {TOO_NEW[0]}.{TOO_NEW[1]}",
            hint="Load it with a version among these, and save it again.",
        )
    learner = _at(document, "learner")
    booster, objective = _at(learner, "gradient_booster"), str(_at(_at(learner, "objective"), "name"))
    if _at(booster, "name") != "gbtree":
        raise ModelError(f"XGBoost's booster {booster['name']!r} is not supported", hint='Supported is "gbtree".')
    kind = _OBJECTIVES.get(objective)
    if kind is None:
        raise ModelError(
            f"XGBoost's objective {objective!r} is not supported",
            hint=f"Supported are {', '.join(sorted(_OBJECTIVES))}.",
        )
    parameters, model = _at(learner, "learner_model_param"), _at(booster, "model")
    columns, outputs = _integer(parameters, "num_feature"), max(_integer(parameters, "num_class"), 1)
    if int(parameters.get("num_target", "1")) > 1 or columns < 1:
        raise ModelError("XGBoost models with several targets or without features are not supported")
    trees, groups = _at(model, "trees"), [int(group) for group in _at(model, "tree_info")]
    if len(trees) != len(groups) or any(not 0 <= group < outputs for group in groups):
        raise ModelError(f"the XGBoost model is damaged: {len(trees)} trees, and tree_info does not fit")
    if rounds is not None:
        trees = trees[: _used(model, rounds, outputs)]
    elif (
        classes is None and "best_iteration" in (learner.get("attributes") or {}) and _stopped(learner, model, outputs)
    ):
        raise ModelError(
            "this XGBoost model was stopped early: whether the rounds after the best one count depends on who predicts",
            hint="Keep the rounds that count, `booster[: booster.best_iteration + 1]`, and save those.",
        )
    labels = classes if classes is not None else tuple(range(2 if kind == "two" else outputs if kind == "many" else 0))
    if len(labels) != (0 if kind == "number" else 2 if kind == "two" else outputs):
        raise ModelError(f"the XGBoost model has {outputs} outputs and the classes {labels!r}")
    first: Decision = ((Compare(None, 0, -_HALF),),)
    second: Decision = ((Compare(0, None, _HALF, strict=True),),)
    return Ensemble(
        trees=tuple(
            _tree(number, tree, group, columns, outputs)
            for number, (tree, group) in enumerate(zip(trees, groups, strict=False))
        ),
        columns=columns,
        start=_margins(parameters, objective, outputs),
        rule="value" if kind == "number" else "sigmoid" if kind == "two" else "softmax",
        classes=labels,
        cast="float32",
        test="<",
        dtype="float32",
        name=f"XGBoost {objective}",
        decisions=(first, second) if kind == "two" else None,
        link=Link("logistic", dtype="float32") if kind == "two" else None,
    )


def _tree(number: int, tree: Mapping[str, Any], group: int, columns: int, outputs: int) -> Tree:
    """One tree of the document."""
    where = f"the XGBoost model is damaged: tree {number}"
    size = str((tree.get("tree_param") or {}).get("size_leaf_vector", "0"))
    if size not in ("0", "1"):
        raise ModelError(f"tree {number} of the XGBoost model has leaves with {size} numbers, which is not supported")
    try:
        left, right = (np.array(_at(tree, f"{side}_children"), dtype=np.int64) for side in ("left", "right"))
        column = np.array(_at(tree, "split_indices"), dtype=np.int64)
        numbers = np.array(_at(tree, "split_conditions"), dtype=np.float64).astype(np.float32).astype(np.float64)
        default = np.array(_at(tree, "default_left"), dtype=np.int64) != 0
        split = np.array(tree.get("split_type", np.zeros(len(left))), dtype=np.int64)
        nodes, starts, sizes, cells = (
            np.array(tree.get(f"categories{part}", []), dtype=np.int64)
            for part in ("_nodes", "_segments", "_sizes", "")
        )
    except (TypeError, ValueError, OverflowError) as error:
        raise ModelError(f"{where} has no readable arrays ({error})") from error
    if not len(left) == len(right) == len(column) == len(numbers) == len(default) == len(split):
        raise ModelError(f"{where} has arrays of different lengths")
    if not len(nodes) == len(starts) == len(sizes):
        raise ModelError(f"{where} has sets of categories that do not fit together")
    members: dict[int, Members] = {}
    for node, start, size_ in zip(nodes.tolist(), starts.tolist(), sizes.tolist(), strict=True):
        if not 0 <= node < len(left) or start < 0 or size_ < 0 or start + size_ > len(cells):
            raise ModelError(f"{where} has a set of categories out of range (node {node})")
        codes = cells[start : start + size_].tolist()
        if any(not 0 <= code < _CATEGORIES for code in codes):
            raise ModelError(f"{where} has a category out of range (node {node})")
        members[node] = truncated(codes, "float32", negative=False)
        # The set goes right: with the branches swapped, it is what goes left.
        left[node], right[node], default[node] = right[node], left[node], not default[node]
    if set(np.flatnonzero((split == 1) & (left != -1)).tolist()) != set(members):
        raise ModelError(f"{where} has categorical nodes without categories")
    value = np.zeros((len(left), outputs))
    value[:, group] = numbers
    return checked(where, columns, left, right, column, numbers, value, default, members)


def _margins(parameters: Mapping[str, Any], objective: str, outputs: int) -> Floats:
    """The margins before the first tree: `base_score` is stored as a probability for "binary:logistic"."""
    try:
        stored = json.loads(str(_at(parameters, "base_score")))
        scores = np.array(stored if isinstance(stored, list) else [stored], dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise ModelError(f"the XGBoost model is damaged: base_score is {parameters['base_score']!r}") from error
    if objective == "binary:logistic":
        if not ((scores > 0) & (scores < 1)).all():
            raise ModelError(f"the XGBoost model is damaged: base_score {scores.tolist()} is no probability")
        odds = np.float32(1) / scores - np.float32(1)
        scores = np.array([-np.float32(math.log(float(odd))) for odd in odds], dtype=np.float32)  # logf, rounded right
    if len(scores) not in (1, outputs) or not np.isfinite(scores).all():
        raise ModelError(f"the XGBoost model is damaged: base_score has {len(scores)} numbers for {outputs} outputs")
    return np.broadcast_to(scores.astype(np.float64), (outputs,)).copy()


def _used(model: Mapping[str, Any], rounds: int, outputs: int) -> int:
    """How many trees the first rounds have."""
    parallel = int(_at(model, "gbtree_model_param").get("num_parallel_tree", 1) or 1)
    return rounds * parallel * outputs


def _stopped(learner: Mapping[str, Any], model: Mapping[str, Any], outputs: int) -> bool:
    """Whether there are rounds after the best one."""
    best = (learner.get("attributes") or {}).get("best_iteration")
    return best is not None and _used(model, int(best) + 1, outputs) < len(model["trees"])


def _at(document: Any, key: str) -> Any:
    """What stands under a key."""
    if not isinstance(document, dict) or key not in document:
        raise ModelError(f"the XGBoost model is damaged: it has no `{key}`")
    return document[key]


def _integer(parameters: Any, key: str) -> int:
    try:
        return int(_at(parameters, key))
    except ValueError:
        raise ModelError(f"the XGBoost model is damaged: {key} is {parameters[key]!r}") from None
