"""XGBoost's model files, JSON and UBJSON: every field checked, and written again for the library.

In:  the bytes of a .json or .ubj file, or what a Booster writes of itself.
Out: the document, with all that its predictions need and nothing else: numbers in arrays of the library's own types.
     `written` makes UBJSON of it, which is what the library is given in place of the file.
Promise: what the library trusts is made here, not copied: the parents of nodes, the sizes of arrays, the numbers of
trees and classes, the offsets and the sorted order of categories. Members that prediction does not need (gains,
weights, attributes) are left out; members that are not known are a ModelError, for they may change predictions.
Whether children, columns and sets of categories make trees is checked by `read_document`, which must have accepted a
document before it is written.
Source: src/learner.cc, src/gbm/gbtree_model.cc, src/tree/tree_model.cc, src/data/cat_container.cc (2.0 to 3.2).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from mace.base.exact import to_float32
from mace.base.files import read_bytes
from mace.compilers.formats import ubjson
from mace.compilers.formats.fields import Fields, fields_of
from mace.compilers.xgboost.dump import Dump, document_of
from mace.compilers.xgboost.trees import MOST_OUTPUTS, MOST_TREES, tree_of
from mace.errors import FileError, ModelError, UnreadableError

OLDEST, TOO_NEW = (2, 0), (4, 0)
LARGEST_FILE, LARGEST_JSON = 2**30, 2**28  # bytes; JSON takes some twelve times as much when it is read
MOST_COLUMNS = 2**24
MOST_SET_BITS = 2**31  # of all sets of categories: the library keeps a bit for every category up to the largest
OBJECTIVES = {
    "binary:logistic": "two", "multi:softprob": "many", "multi:softmax": "many",
    "reg:squarederror": "number", "reg:absoluteerror": "number", "reg:pseudohubererror": "number",
    "reg:squaredlogerror": "number", "reg:quantileerror": "number",
    "rank:pairwise": "number", "rank:ndcg": "number", "rank:map": "number",
    "count:poisson": "exponential", "reg:gamma": "exponential", "reg:tweedie": "exponential",
    "survival:cox": "exponential", "survival:aft": "exponential",
}  # fmt: skip
# The parameters of objectives: only in training do they matter, but for the number of classes.
_PARAMETERS = {
    "reg_loss_param": {"scale_pos_weight": "1"},
    "pseudo_huber_param": {"huber_slope": "1"},
    "softmax_multiclass_param": {},
    "poisson_regression_param": {"max_delta_step": "0.7"},
    "tweedie_regression_param": {"tweedie_variance_power": "1.5"},
    "quantile_loss_param": {"quantile_alpha": "[5E-1]"},
    "lambdarank_param": {},
    "aft_loss_param": {"aft_loss_distribution": "normal", "aft_loss_distribution_scale": "1"},
}
_OF_OBJECTIVE = {
    "binary:logistic": "reg_loss_param", "reg:squarederror": "reg_loss_param",
    "reg:pseudohubererror": "pseudo_huber_param",
    "count:poisson": "poisson_regression_param", "reg:gamma": "reg_loss_param",
    "reg:tweedie": "tweedie_regression_param", "reg:quantileerror": "quantile_loss_param",
    "rank:pairwise": "lambdarank_param", "rank:ndcg": "lambdarank_param", "rank:map": "lambdarank_param",
    "survival:aft": "aft_loss_param",
    "multi:softprob": "softmax_multiclass_param", "multi:softmax": "softmax_multiclass_param",
}  # fmt: skip
_TYPES = ("float", "int", "i", "q", "c")
# How the library numbers the types of categories that are numbers.
_CATEGORIES = {9: "int8", 10: "uint8", 11: "int16", 13: "int32", 15: "int64"}
_DAMAGED = "the XGBoost model is damaged: it"


def load(path: Path, dump: Dump | None = None) -> dict[str, Any]:
    """The checked document of a .json or .ubj file; raises FileError for what is no such document, ModelError.

    dump: what a file of `dump_model` lacks.
    """
    data = read_bytes(path, LARGEST_FILE if path.suffix == ".ubj" else LARGEST_JSON)
    document = ubjson.parse(data, str(path)) if path.suffix == ".ubj" else _parsed(data, path)
    if isinstance(document, list) and document and all(isinstance(t, dict) and "nodeid" in t for t in document):
        return checked(document_of(document, dump, str(path)))
    if dump is not None:
        raise ModelError(f"{path} holds no trees of `dump_model`", hint="Leave out what is said of a dump.")
    if not isinstance(document, dict) or "learner" not in document:
        raise FileError(f"{path} is no XGBoost model: it has no `learner`")
    return checked(document)


def _parsed(data: bytes, path: Path) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key stands twice")
        return found

    try:
        return json.loads(data, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is no JSON: {error}", hint="It may be cut off: save the model again.") from None


def written(document: Mapping[str, Any]) -> bytes:
    """The UBJSON file of a document that `checked` gave and `read_document` accepted."""
    return ubjson.write(document)


def checked(document: Any) -> dict[str, Any]:
    """The document with what predictions need, typed; raises ModelError for damage and for what is not supported."""
    whole = fields_of(document, _DAMAGED, "its whole")
    version = whole.wholes("version", "int64", 0, 10**6).tolist()
    learner = whole.fields("learner")
    booster, objective = learner.fields("gradient_booster"), learner.fields("objective")
    name = booster.text("name")
    _refuse_unsupported(version, name, objective.text("name"))
    whole.only(("version", "learner", "config", "Config"))
    learner.only(
        ("attributes", "feature_names", "feature_types", "gradient_booster", "learner_model_param", "objective")
    )
    parameters = learner.fields("learner_model_param")
    columns, classes = parameters.whole("num_feature", 0, MOST_COLUMNS), parameters.whole("num_class", 0, MOST_OUTPUTS)
    if parameters.whole("num_target", 1, MOST_OUTPUTS, 1) > 1 or columns < 1:
        raise ModelError("XGBoost models with several targets or without features are not supported")
    parameters.only(("base_score", "boost_from_average", "num_class", "num_feature", "num_target"))
    return {
        "learner": {
            "attributes": _attributes(learner),
            **_columns(learner, columns),
            "gradient_booster": (_dart if name == "dart" else _gbtree)(booster, columns, max(classes, 1)),
            "learner_model_param": {
                "base_score": _base_score(parameters, max(classes, 1)),
                "boost_from_average": str(parameters.whole("boost_from_average", 0, 1, 1)),
                "num_class": str(classes),
                "num_feature": str(columns),
                "num_target": "1",
            },
            "objective": _objective(objective, classes),
        },
        "version": version,
    }


def _refuse_unsupported(version: list[int], booster: str, objective: str) -> None:
    if len(version) != 3 or not OLDEST <= tuple(version[:2]) < TOO_NEW:
        raise ModelError(
            f"the model was written by XGBoost {'.'.join(map(str, version[:2]))}; read are versions "
            f"{OLDEST[0]}.{OLDEST[1]} to below {TOO_NEW[0]}.{TOO_NEW[1]}",
            hint="Load it with a version among these, and save it again.",
        )
    if booster not in ("gbtree", "dart"):
        raise UnreadableError(
            f"XGBoost's booster {booster[:60]!r} is not supported", hint='Supported are "gbtree" and "dart".'
        )
    if objective not in OBJECTIVES:
        raise UnreadableError(
            f"XGBoost's objective {objective[:60]!r} is not supported",
            hint=f"Supported are {', '.join(sorted(OBJECTIVES))}.",
        )


def trees_of(booster: Mapping[str, Any]) -> Mapping[str, Any]:
    """The trees of a checked booster, whether each has a weight or not."""
    found: Mapping[str, Any] = booster["gbtree"]["model"] if booster["name"] == "dart" else booster["model"]
    return found


def _gbtree(booster: Fields, columns: int, outputs: int) -> dict[str, Any]:
    booster.only(("name", "model"))
    if booster.text("name") != "gbtree":
        raise booster.wrong("weighs trees of another kind than gbtree")
    return {"model": _model(booster.fields("model"), columns, outputs), "name": "gbtree"}


def _dart(booster: Fields, columns: int, outputs: int) -> dict[str, Any]:
    """Trees of which each has a weight."""
    booster.only(("gbtree", "name", "weight_drop"))
    trees, weights = _gbtree(booster.fields("gbtree"), columns, outputs), booster.floats("weight_drop", "float32")
    if len(weights) != len(trees["model"]["trees"]):
        raise booster.wrong(f"has {len(weights)} weights for {len(trees['model']['trees'])} trees")
    return {"gbtree": trees, "name": "dart", "weight_drop": list(weights)}  # the library refuses a typed array


def _attributes(learner: Fields) -> dict[str, str]:
    """The one attribute that a reader needs: `predict` of a Booster looks at none."""
    if not isinstance(learner.values.get("attributes") or {}, dict):
        raise learner.wrong("has no mapping in `attributes`")
    attributes = learner.values.get("attributes") or {}
    if "best_iteration" not in attributes:
        return {}
    return {"best_iteration": str(Fields(attributes, learner.where).whole("best_iteration", -1, MOST_TREES))}


def _columns(learner: Fields, columns: int) -> dict[str, list[str]]:
    """The names and types of columns; either list may be empty."""
    names, types = (learner.texts(key) if key in learner.values else [] for key in ("feature_names", "feature_types"))
    if len(names) not in (0, columns) or len(set(names)) != len(names):
        raise learner.wrong(f"has {len(names)} feature_names for {columns} columns, or one of them twice")
    if len(types) not in (0, columns) or not set(types) <= set(_TYPES):
        raise learner.wrong(f"has {len(types)} feature_types for {columns} columns, or unknown ones")
    return {"feature_names": names, "feature_types": types}


def _base_score(parameters: Fields, outputs: int) -> str:
    """One number or a list of them, written as the library writes float32."""
    stored = parameters.text("base_score")
    try:
        found = json.loads(stored)
    except (ValueError, RecursionError):
        found = None
    scores = found if isinstance(found, list) else [found]
    if len(scores) not in (1, outputs) or any(type(score) not in (int, float) for score in scores):
        raise parameters.wrong(f"has {len(scores)} numbers in base_score ({stored[:60]!r}) for {outputs} outputs")
    try:
        numbers = [to_float32(float(score)) for score in scores]
    except OverflowError:
        numbers = [float("inf")]
    if not np.isfinite(numbers).all():
        raise parameters.wrong(f"has base_score = {stored[:60]!r}")
    # The shortest text that is read back as the same float32.
    texts = [str(np.float32(number)) for number in numbers]
    return f"[{','.join(texts)}]" if isinstance(found, list) else texts[0]


def _objective(objective: Fields, classes: int) -> dict[str, Any]:
    name = objective.text("name")
    own = _OF_OBJECTIVE.get(name)
    # What was learnt of the bias of positions says nothing of a row.
    objective.only(("name", *([own] if own else []), *(("ti+", "tj-") if own == "lambdarank_param" else ())))
    if (classes > 1) != (OBJECTIVES[name] == "many"):
        raise objective.wrong(f"has {classes} classes, which do not go with {name!r}")
    if own is None:
        return {"name": name}
    made = dict(_PARAMETERS[own])
    if own == "softmax_multiclass_param":
        found = objective.fields(own).whole("num_class", 0, MOST_OUTPUTS)
        if found != classes:
            raise objective.wrong(f"has {found} classes in its objective and {classes} outside it")
        made["num_class"] = str(classes)
    return {"name": name, own: made}


def _model(model: Fields, columns: int, outputs: int) -> dict[str, Any]:
    """The trees, and which score each adds to."""
    trees = model.items("trees")
    groups = model.wholes("tree_info", "int64", -(2**31), 2**31)
    parallel = model.fields("gbtree_model_param").whole("num_parallel_tree", 0, MOST_TREES, 1) or 1
    if len(trees) != len(groups) or len(groups) and not 0 <= groups.min() <= groups.max() < outputs:
        raise model.wrong(f"has {len(trees)} trees, and tree_info does not fit")
    model.only(("cats", "gbtree_model_param", "iteration_indptr", "tree_info", "trees"))
    made, bits = [], 0
    for number, tree in enumerate(trees):
        fields = fields_of(tree, f"the XGBoost model is damaged: tree {number}", "it")
        made.append(tree_of(fields, number, columns))
        sets = made[-1]["categories"]
        bits += len(made[-1]["categories_nodes"]) * (int(sets.max()) + 1) if len(sets) else 0
    if bits > MOST_SET_BITS:
        raise model.wrong("has sets of categories that are too large")
    return {
        "cats": _categories(model, columns),
        "gbtree_model_param": {"num_parallel_tree": str(parallel), "num_trees": str(len(trees))},
        "iteration_indptr": _rounds(model, len(trees), parallel * outputs),
        "tree_info": groups.tolist(),
        "trees": made,
    }


def _rounds(model: Fields, trees: int, each: int) -> list[int]:
    """Where each round begins among the trees, and the end of the last one."""
    if "iteration_indptr" not in model.values:
        return [*range(0, trees, each), trees]
    found: list[int] = model.wholes("iteration_indptr", "int64", 0, trees).tolist()
    if not found or found[0] != 0 or found[-1] != trees or found != sorted(found):
        raise model.wrong("has an iteration_indptr that does not fit its trees")
    return found


# ----------------------------------------------------------------------------------- the categories of a frame


def _categories(model: Fields, columns: int) -> dict[str, Any]:
    """The categories of each column, from 3.1 on: texts one after the other with offsets, or whole numbers."""
    nothing: dict[str, Any] = {"enc": [], **{key: np.zeros(0, np.int32) for key in ("feature_segments", "sorted_idx")}}
    if "cats" not in model.values:
        return nothing
    cats = model.fields("cats")
    cats.only(nothing)
    listed = cats.items("enc")
    if not listed:
        return nothing
    if len(listed) != columns:
        raise model.wrong(f"has categories for {len(listed)} of {columns} columns")
    made, sizes, order = [], [0], []
    for number, one in enumerate(listed):
        column, found = _column(fields_of(one, f"the XGBoost model is damaged: column {number}", "its categories"))
        made.append(column)
        sizes.append(len(found))
        order += sorted(range(len(found)), key=found.__getitem__)
    segments = np.cumsum(sizes).astype(np.int32)
    for key, expected in (("feature_segments", segments.tolist()), ("sorted_idx", order)):
        if cats.wholes(key, "int64", 0, 2**31 - 1).tolist() != expected:
            raise cats.wrong(f"has a {key} that does not fit its categories")
    return {"enc": made, "feature_segments": segments, "sorted_idx": np.array(order, dtype=np.int32)}


def _column(column: Fields) -> tuple[dict[str, Any], list[Any]]:
    """What is stored of a column's categories, and a list of them in their order."""
    if "offsets" not in column.values:
        column.only(("type", "values"))
        kind = _CATEGORIES.get(column.whole("type", 0, 2**31 - 1))
        if kind is None:
            raise ModelError(
                f"{column.where.removeprefix('the XGBoost model is damaged: ')} of the XGBoost model has categories "
                "that are numbers of an unknown type",
                hint="Make them texts, or whole numbers of 64 bits, and fit the model again.",
            )
        info = np.iinfo(kind)
        values = column.wholes("values", kind, int(info.min), int(info.max))
        return {"type": column.values["type"], "values": values}, values.tolist()
    column.only(("offsets", "values"))
    letters = column.wholes("values", "int8", -128, 127)
    offsets = column.wholes("offsets", "int32", 0, 2**31 - 1)
    ends = offsets.tolist()
    if ends and (ends[0] != 0 or ends != sorted(ends)) or (ends[-1] if ends else 0) != len(letters):
        raise column.wrong("has offsets that do not fit the categories")
    # The library compares the letters as signed bytes.
    return {"offsets": offsets, "values": letters}, [letters[a:b].tolist() for a, b in pairwise(ends)]
