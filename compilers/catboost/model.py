"""CatBoost's JSON model files: every field checked, and written again for the library.

In:  the document of a file, or what a model writes of itself.
Out: `Content`: columns, classes, trees and numbers, typed; `written` makes JSON of it, which is what the library is
     given in place of the file.
Promise: the library finds a split by its number alone (`split_index`), over all borders and then all categories; that
number is made here, and a file in which it is another split than the border or category beside it is a ModelError.
What predictions need and is not read (statistics of categories, texts, embeddings) is a ModelError that names it.
Source: catboost/libs/model/model_export/json_model_helpers.cpp (1.2).
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mace.base.files import read_bytes
from mace.compilers.formats.fields import Fields, fields_of, shown, writable
from mace.compilers.tree_arrays import refuse_size
from mace.errors import FileError, ModelError, UnreadableError
from mace.tables.table import Label

LARGEST_FILE = 2**28  # bytes; JSON takes some twelve times as much when it is read
MOST_COLUMNS, MOST_SPLITS, MOST_OUTPUTS, DEEPEST = 2**24, 2**24, 2**16, 16
DEEPEST_GROWN = 200  # levels of a tree that is not symmetric
TWO, MANY = ("Logloss", "CrossEntropy"), ("MultiClass", "MultiClassOneVsAll")
EXPONENTIALS = ("Poisson", "Tweedie")
RANKS = (
    "LambdaMart", "PairLogit", "PairLogitPairwise", "QueryRMSE", "QuerySoftMax", "StochasticRank", "YetiRank",
    "YetiRankPairwise",
)  # fmt: skip
NUMBERS = ("RMSE", "MAE", "Quantile", "Huber", "LogCosh", "MAPE", "Expectile", "Lq", *RANKS)
_DAMAGED = "the CatBoost model is damaged: it"
_UNREAD = {
    "text_features": "columns of text", "embedding_features": "columns of embeddings",
    "estimated_features": "features estimated from texts or embeddings",
}  # fmt: skip
_CTR = (
    "Fit it with one_hot_max_size as large as the largest number of categories of a column (at most 255): then every "
    "category is a column of its own, and no statistic of the target is needed."
)


_BINARY = b"CBM1"  # what a .cbm begins with


class Number(NamedTuple):
    """A column of numbers: its place in the matrix, its borders (float32, rising), and what NaN counts as."""

    place: int
    borders: tuple[float, ...]
    missing: str


class Category(NamedTuple):
    """A column of categories: its place, and the numbers (`hashing.py`) of those that splits ask for."""

    place: int
    values: tuple[int, ...]


class Oblivious(NamedTuple):
    """A tree that asks the same on each level; leaf k is where split j said yes if bit j of k is set.

    splits: numbers of borders and categories, over those of all columns.
    """

    splits: tuple[int, ...]
    values: np.ndarray[Any, np.dtype[np.float64]]


class InnerNode(NamedTuple):
    """An inner node of any other tree: `right` is where the split of this number says yes."""

    split: int
    left: Grown
    right: Grown


Grown: TypeAlias = "InnerNode | tuple[float, ...]"


class Content(NamedTuple):
    """All that predictions need.

    names:     of the columns; "" where there is none.
    loss:      what it was trained for.
    classes:   none for a regressor.
    threshold: the probability from which on the second of two classes is taken.
    """

    names: tuple[str, ...]
    numbers: tuple[Number, ...]
    categories: tuple[Category, ...]
    trees: tuple[Oblivious | InnerNode | tuple[float, ...], ...]
    scale: float
    bias: tuple[float, ...]
    loss: str
    classes: tuple[Label, ...]
    threshold: float = 0.5


def is_model(data: bytes) -> bool:
    """Whether the bytes of a file named JSON are a model of CatBoost, and of no other library."""
    return data.startswith(_BINARY) or b'"features_info"' in data and b'"learner"' not in data


def load(path: Path) -> Content:
    """The checked content of a .json file; raises FileError for what is no such document, ModelError."""
    data = read_bytes(path, LARGEST_FILE)
    if data.startswith(_BINARY):
        raise FileError(
            f"{path} is CatBoost's binary format under the name of JSON",
            hint='The name alone does not choose it: model.save_model("model.json", format="json").',
        )
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is no JSON: {error}", hint="It may be cut off: save the model again.") from None
    return checked(document)


def checked(document: Any) -> Content:
    """What predictions need, typed; raises ModelError for damage and for what is not supported."""
    whole = fields_of(document, _DAMAGED, "its whole")
    features, info = whole.fields("features_info"), whole.fields("model_info")
    for key, what in _UNREAD.items():
        if features.values.get(key):
            raise ModelError(f"CatBoost models with {what} are not supported", hint="Fit it without these columns.")
    if features.values.get("ctrs") or whole.values.get("ctr_data"):
        _refuse_statistics(whole)
    loss = _loss(info)
    numbers = tuple(_number(f, k) for k, f in enumerate(_parts(features, "float_features")))
    categories = tuple(_category(f, k) for k, f in enumerate(_parts(features, "categorical_features")))
    places = [*(one.place for one in numbers), *(one.place for one in categories)]
    if not places or sorted(places) != list(range(len(places))):
        raise features.wrong("has columns that are not numbered one after the other")
    names = [""] * len(places)
    parts = [*_parts(features, "float_features"), *_parts(features, "categorical_features")]
    for place, part in zip(places, parts, strict=True):
        names[place] = part.text("feature_id") if "feature_id" in part.values else ""
    scale, bias = _scale(whole, loss)
    classes = _classes(info, loss, len(bias))
    threshold = _threshold(info)
    trees = _Trees(numbers, categories, len(bias)).read(whole)
    return Content(tuple(names), numbers, categories, trees, scale, bias, loss, classes, threshold)


def _refuse_statistics(whole: Fields) -> None:
    """Raise if a tree asks for statistics of categories: a model may keep some that none asks for."""
    text = json.dumps(whole.values.get("oblivious_trees") or whole.values.get("trees"))
    if '"OnlineCtr"' in text:
        raise UnreadableError(
            "CatBoost's statistics of categories over the target (CTR) are not supported, and trees of this model ask "
            "for them",
            hint=_CTR,
        )


def _loss(info: Fields) -> str:
    """What the model was trained for."""
    if "params" not in info.values:
        raise ModelError(
            "the CatBoost model does not say what it was trained for: it has no `params`",
            hint="A sum of models, or one that was edited, loses them: save one that was fitted.",
        )
    parameters = info.get("params")
    if isinstance(parameters, str):  # as older versions write it
        try:
            parameters = json.loads(parameters)
        except (ValueError, RecursionError):
            raise info.wrong("has `params` that cannot be read") from None
    loss = fields_of(parameters, info.where, "`params`").fields("loss_function").text("type")
    known = (*TWO, *MANY, *NUMBERS, *EXPONENTIALS)
    if loss not in known:
        raise UnreadableError(
            f"CatBoost's loss {loss[:60]!r} is not supported", hint=f"Supported are {', '.join(known)}."
        )
    return loss


def _parts(features: Fields, key: str) -> list[Fields]:
    found = features.items(key) if features.values.get(key) else []
    return [fields_of(one, f"the CatBoost model is damaged: {key} {k}", "it") for k, one in enumerate(found)]


def _number(feature: Fields, number: int) -> Number:
    if feature.whole("feature_index", 0, MOST_COLUMNS) != number:
        raise feature.wrong("has another feature_index than its place")
    exact = feature.floats("borders", "float64") if feature.values.get("borders") else np.zeros(0)
    borders = exact.astype(np.float32).astype(np.float64).tolist()
    if any(a >= b for a, b in pairwise(borders)) or not np.isfinite(borders).all():
        raise feature.wrong("has borders that do not rise")
    missing = feature.text("nan_value_treatment")
    if missing not in ("AsIs", "AsFalse", "AsTrue"):
        raise feature.wrong(f"has nan_value_treatment {shown(missing)}")
    return Number(feature.whole("flat_feature_index", 0, MOST_COLUMNS), tuple(borders), missing)


def _category(feature: Fields, number: int) -> Category:
    if feature.whole("feature_index", 0, MOST_COLUMNS) != number:
        raise feature.wrong("has another feature_index than its place")
    values = feature.wholes("values", "int64", -(2**31), 2**31 - 1) if feature.values.get("values") else np.zeros(0)
    found = tuple(map(int, values.tolist()))
    if len(set(found)) != len(found):
        raise feature.wrong("has a category twice")
    return Category(feature.whole("flat_feature_index", 0, MOST_COLUMNS), found)


def _scale(whole: Fields, loss: str) -> tuple[float, tuple[float, ...]]:
    if "scale_and_bias" not in whole.values and loss not in MANY:  # versions before 0.24
        return 1.0, (0.0,)
    found = whole.items("scale_and_bias")
    if len(found) != 2 or not isinstance(found[1], list) or not 1 <= len(found[1]) <= MOST_OUTPUTS:
        raise whole.wrong("has no scale and bias")
    flat = [found[0], *found[1]]
    if not all(type(x) in (int, float) and abs(x) < 1e300 for x in flat):  # NaN is not below it either
        raise whole.wrong("has a scale or bias that is no finite number")
    return float(flat[0]), tuple(map(float, flat[1:]))


def _classes(info: Fields, loss: str, outputs: int) -> tuple[Label, ...]:
    """The classes, as the library's `predict` gives them."""
    if loss in (*NUMBERS, *EXPONENTIALS):
        if outputs != 1:
            raise info.wrong(f"has {outputs} outputs, which do not go with {loss!r}")
        return ()
    parameters = info.fields("class_params")
    names, places = parameters.items("class_names"), parameters.items("class_to_label")
    kind = {"Integer": int, "Float": float, "String": str, "Boolean": bool}.get(parameters.text("class_label_type"))
    labels = names or places
    allowed = (int, float) if kind in (int, float) else (kind,)
    finite = all(math.isfinite(x) for x in (*names, *places) if type(x) is float)
    if kind is None or not finite or not all(type(x) in allowed and (kind is not str or writable(x)) for x in labels):
        raise parameters.wrong("has classes that are not of the type that it says")
    expected = 2 if loss in TWO else outputs
    distinct = len({kind(label) for label in labels}) == len(labels)
    if outputs != (1 if loss in TWO else expected) or not distinct or len(labels) != expected:
        raise parameters.wrong(f"has {len(labels)} classes and {outputs} outputs, which do not go with {loss!r}")
    if [int(x) if type(x) in (int, float) else x for x in places] != list(range(expected)):
        raise ModelError("CatBoost models whose outputs are not in the order of their classes are not supported")
    return tuple(kind(label) for label in labels)


def _threshold(info: Fields) -> float:
    given = info.values.get("binclass_probability_threshold", "0.5")
    try:
        found = float(given)
    except (TypeError, ValueError):
        found = -1.0
    if not 0 < found < 1:
        raise info.wrong(f"has binclass_probability_threshold = {shown(given)}")
    return found


class _Trees:
    """The trees of a document, over the splits of all columns in their order."""

    def __init__(self, numbers: tuple[Number, ...], categories: tuple[Category, ...], outputs: int) -> None:
        self.outputs = outputs
        self.splits: list[tuple[str, int, float]] = [
            ("float_feature_index", k, border) for k, one in enumerate(numbers) for border in one.borders
        ]
        self.splits += [("cat_feature_index", k, value) for k, one in enumerate(categories) for value in one.values]

    def read(self, whole: Fields) -> tuple[Oblivious | InnerNode | tuple[float, ...], ...]:
        if ("oblivious_trees" in whole.values) == ("trees" in whole.values):
            raise whole.wrong("has no trees, or two lists of them")
        regular = "oblivious_trees" in whole.values
        listed = whole.items("oblivious_trees" if regular else "trees")
        made: list[Oblivious | InnerNode | tuple[float, ...]] = []
        for number, tree in enumerate(listed):
            fields = fields_of(tree, f"the CatBoost model is damaged: tree {number}", "it")
            made.append(self._oblivious(fields) if regular else self._grown(fields))
        refuse_size("the CatBoost model", len(made), self.outputs)
        return tuple(made)

    def _oblivious(self, tree: Fields) -> Oblivious:
        listed = tree.items("splits") if tree.values.get("splits") else []
        if len(listed) > DEEPEST:
            raise tree.wrong(f"has more than {DEEPEST} levels")
        values = tree.floats("leaf_values", "float64")
        if len(values) != self.outputs << len(listed):
            raise tree.wrong(f"has {len(values)} leaf_values for {len(listed)} splits and {self.outputs} outputs")
        splits = tuple(self._split(fields_of(one, tree.where, "a split")) for one in listed)
        return Oblivious(splits, values.reshape(-1, self.outputs))

    def _grown(self, root: Fields) -> Grown:
        """A tree of nodes, each read after those below it."""
        order, level = [root], [0]
        children: list[tuple[int, int] | None] = []
        for place, node in enumerate(order):  # grows while it is read
            children.append(None)
            if "split" in node.values:
                if level[place] >= DEEPEST_GROWN:
                    raise root.wrong(f"has more than {DEEPEST_GROWN} levels")
                children[-1] = (len(order), len(order) + 1)
                level += [level[place] + 1] * 2
                order += [fields_of(node.get(side), root.where, f"a node's {side}") for side in ("left", "right")]
        made: list[Grown] = [()] * len(order)
        for place in range(len(order) - 1, -1, -1):
            below, node = children[place], order[place]
            if below is None:
                made[place] = self._leaf(node)
            else:
                split = self._split(node.fields("split"))
                made[place] = InnerNode(split, made[below[0]], made[below[1]])
        return made[0]

    def _leaf(self, node: Fields) -> tuple[float, ...]:
        found = node.get("value")
        values = found if isinstance(found, list) else [found]
        if len(values) != self.outputs or not all(type(x) in (int, float) and abs(x) < 1e300 for x in values):
            raise node.wrong("has a leaf without its numbers")
        return tuple(map(float, values))

    def _split(self, split: Fields) -> int:
        """The split that the library finds by its number, which must be the one that is written beside it."""
        kind = split.text("split_type")
        if kind == "OnlineCtr":
            raise ModelError("CatBoost's statistics of categories (CTR) are not supported", hint=_CTR)
        if kind not in ("FloatFeature", "OneHotFeature"):
            raise ModelError(f"CatBoost's splits of the type {shown(kind)} are not supported")
        index = split.whole("split_index", 0, MOST_SPLITS)
        if index >= len(self.splits):
            raise split.wrong(f"has a split beyond the {len(self.splits)} known")
        key, column, number = self.splits[index]
        shown_number = split.get("border" if key == "float_feature_index" else "value")
        if type(shown_number) not in (int, float) or split.whole(key, 0, MOST_COLUMNS) != column:
            raise split.wrong(f"has a split {index} on another column than it says")
        if float(np.float32(shown_number) if key == "float_feature_index" else shown_number) != number:
            raise split.wrong(f"has a split {index} at another place than it says")
        return index


def written(content: Content) -> str:
    """The JSON of a content that `checked` gave."""
    splits: list[dict[str, Any]] = []
    for k, one in enumerate(content.numbers):
        splits += [{"float_feature_index": k, "border": b, "split_type": "FloatFeature"} for b in one.borders]
    for k, each in enumerate(content.categories):
        splits += [{"cat_feature_index": k, "value": v, "split_type": "OneHotFeature"} for v in each.values]

    def split(index: int) -> dict[str, Any]:
        return {**splits[index], "split_index": index}

    def grown(node: Grown) -> dict[str, Any]:
        if not isinstance(node, InnerNode):
            return {"value": list(node) if len(node) > 1 else node[0], "weight": 1}
        return {"split": split(node.split), "left": grown(node.left), "right": grown(node.right)}

    info: dict[str, Any] = {}
    if content.classes:
        kind = {int: "Integer", float: "Float", str: "String", bool: "Boolean"}[type(content.classes[0])]
        info["class_params"] = {
            "class_label_type": kind, "class_names": list(content.classes), "classes_count": 0,
            "class_to_label": list(range(len(content.classes))),
        }  # fmt: skip
        info["binclass_probability_threshold"] = repr(content.threshold)
    trees: dict[str, Any] = {"trees": [grown(tree) for tree in content.trees if not isinstance(tree, Oblivious)]}
    if isinstance(content.trees[0], Oblivious):
        trees = {
            "oblivious_trees": [
                {"splits": [split(s) for s in tree.splits], "leaf_values": tree.values.ravel().tolist()}
                for tree in content.trees
                if isinstance(tree, Oblivious)
            ]
        }
    features = {
        "float_features": [
            {
                "borders": list(one.borders), "feature_id": content.names[one.place], "feature_index": k,
                "flat_feature_index": one.place, "has_nans": one.missing != "AsIs", "nan_value_treatment": one.missing,
            }
            for k, one in enumerate(content.numbers)
        ],
        "categorical_features": [
            {
                "feature_id": content.names[each.place], "feature_index": k, "flat_feature_index": each.place,
                "values": list(each.values),
            }
            for k, each in enumerate(content.categories)
        ],
    }  # fmt: skip
    return json.dumps(
        {"features_info": features, "model_info": info, "scale_and_bias": [content.scale, list(content.bias)], **trees}
    )
