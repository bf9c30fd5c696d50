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
from numpy.typing import NDArray

from mace.base.exact import to_float32
from mace.base.files import read_bytes
from mace.compilers.formats import ubjson
from mace.compilers.formats.fields import Fields, fields_of
from mace.compilers.xgboost.dump import Dump, document_of
from mace.errors import FileError, ModelError, UnreadableError

OLDEST, TOO_NEW = (2, 0), (4, 0)
LARGEST_FILE, LARGEST_JSON = 2**30, 2**28  # bytes; JSON takes some twelve times as much when it is read
MOST_COLUMNS, MOST_OUTPUTS, MOST_TREES = 2**24, 2**16, 2**24
MOST_CATEGORIES = 2**24  # From here on float32 has gaps, and the library knows no category.
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
_DELETED = 2**31 - 1  # the column of a node that pruning took out of the tree
_NO_PARENT = 2**31 - 1
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
        made.append(_tree(fields, number, columns))
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


_TREE = (
    "base_weights", "categories", "categories_nodes", "categories_segments", "categories_sizes", "default_left", "id",
    "left_children", "loss_changes", "parents", "right_children", "split_conditions", "split_indices", "split_type",
    "sum_hessian", "tree_param",
)  # fmt: skip


def _tree(tree: Fields, number: int, columns: int) -> dict[str, Any]:
    """One tree without the nodes that pruning deleted, whose arrays are as long as one another."""
    parameters = tree.fields("tree_param") if "tree_param" in tree.values else Fields({}, tree.where)
    if (size := parameters.whole("size_leaf_vector", 0, MOST_OUTPUTS, 0)) > 1:
        raise UnreadableError(
            f"tree {number} of the XGBoost model has leaves with {size} numbers, which is not supported",
            hint='Fit it with multi_strategy="one_output_per_tree", the default: leaves that are numbers.',
        )
    tree.only(_TREE)  # Leaves with several numbers bring members of their own.
    if tree.whole("id", 0, MOST_TREES, number) != number:
        raise tree.wrong("has another number than its place")
    left = tree.wholes("left_children", "int32", -1, 2**31 - 1)
    arrays = {
        "left_children": left,
        "right_children": tree.wholes("right_children", "int32", -1, 2**31 - 1),
        "split_indices": tree.wholes("split_indices", "int32", 0, 2**31 - 1),
        "split_conditions": tree.floats("split_conditions", "float32"),
        "default_left": tree.wholes("default_left", "uint8", 0, 1),
        "split_type": tree.wholes("split_type", "uint8", 0, 1, np.zeros(len(left), dtype=np.uint8)),
    }
    unused = [tree.numbers(key) for key in ("base_weights", "loss_changes", "sum_hessian") if key in tree.values]
    if len({len(array) for array in (*arrays.values(), *unused)}) != 1:
        raise tree.wrong("has arrays of different lengths")
    gone = arrays["split_indices"] == _DELETED
    for key, expected in (("num_nodes", len(left)), ("num_deleted", int(gone.sum()))):
        if parameters.whole(key, 0, 2**31 - 1, expected) != expected:
            raise tree.wrong(f"has a {key} that does not fit its arrays")
    place = np.cumsum(~gone) - 1  # of every node that stays
    sets = _sets(tree, arrays["split_type"] & ~gone, place)
    kept = {key: array[~gone] for key, array in arrays.items()}
    for side in ("left_children", "right_children"):
        child = kept[side]
        inside = (child >= 0) & (child < len(gone))
        if gone[child[inside]].any():
            raise tree.wrong("has a node below which there is a deleted one")
        child[inside] = place[child[inside]]
    made = _complete(kept, sets, number, columns)
    children = np.concatenate([made["left_children"], made["right_children"]])
    if np.array_equal(np.sort(children[children >= 0]), np.arange(1, len(made["parents"]))):
        _refuse_other_order(tree, made, gone, place)
    return made  # Where a node is the child of several, or of none, `read_document` says so.


def _refuse_other_order(tree: Fields, made: dict[str, Any], gone: NDArray[Any], place: NDArray[Any]) -> None:
    """Raise unless the children of a node lie side by side, and name it as their parent."""
    inner = made["left_children"] >= 0
    if (made["left_children"][inner] + 1 != made["right_children"][inner]).any():
        # `GetNextNode` of predict_fn.h goes to the node behind the left child, wherever the right one is.
        raise tree.wrong("has a right child that does not follow the left one, which XGBoost takes for granted")
    if "parents" not in tree.values:
        return
    stored = tree.wholes("parents", "int64", -(2**31), 2**31 - 1)
    stored = stored[~gone][1:] if len(stored) == len(gone) else np.array([-1])
    inside = (stored >= 0) & (stored < len(place))
    if not inside.all() or not np.array_equal(place[stored], made["parents"][1:]):
        raise tree.wrong("has parents that are not those of its children")


def _complete(kept: dict[str, NDArray[Any]], sets: dict[str, Any], number: int, columns: int) -> dict[str, Any]:
    """A tree with what follows from its arrays: the parent of every node, and how many there are."""
    nodes = len(kept["left_children"])
    parents = np.full(nodes, _NO_PARENT, dtype=np.int32)
    for side in ("left_children", "right_children"):
        child = kept[side]
        inside = (child >= 0) & (child < nodes)
        parents[child[inside]] = np.flatnonzero(inside)
    nothing = np.zeros(nodes, dtype=np.float32)
    return {
        **kept,
        **sets,
        "base_weights": nothing,
        "id": number,
        "loss_changes": nothing,
        "parents": parents,
        "sum_hessian": nothing,
        "tree_param": {
            "num_deleted": "0", "num_feature": str(columns), "num_nodes": str(nodes), "size_leaf_vector": "1",
        },
    }  # fmt: skip


def _sets(tree: Fields, categorical: NDArray[Any], place: NDArray[Any]) -> dict[str, Any]:
    """The sets of categories, one after the other in the order of their nodes."""
    nothing = np.zeros(0, dtype=np.int64)
    nodes, starts, sizes = (
        tree.wholes(f"categories_{part}", "int64", 0, 2**31 - 1, nothing) for part in ("nodes", "segments", "sizes")
    )
    members = tree.wholes("categories", "int32", 0, MOST_CATEGORIES - 1, nothing)
    if not len(nodes) == len(starts) == len(sizes):
        raise tree.wrong("has sets of categories that do not fit together")
    if nodes.tolist() != np.flatnonzero(categorical).tolist():
        raise tree.wrong("has categorical nodes without categories, or sets in another order")
    if len(nodes) and (not sizes.all() or (starts + sizes > len(members)).any() or sizes.sum() > len(members)):
        raise tree.wrong("has a set of categories out of range")
    parts = [members[a : a + size] for a, size in zip(starts.tolist(), sizes.tolist(), strict=True)]
    return {
        "categories": np.concatenate([members[:0], *parts]),
        "categories_nodes": place[nodes].astype(np.int32),
        "categories_segments": (np.cumsum(sizes) - sizes).astype(np.int64),
        "categories_sizes": sizes,
    }


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
