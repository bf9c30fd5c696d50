"""Read CatBoost models: the library's objects, and JSON model files without importing the library.

In:  a fitted CatBoostClassifier, CatBoostRegressor or CatBoost, or the checked content of a file (`model.py`).
Out: an Ensemble whose scores are the library's raw values (`prediction_type="RawFormulaVal"`): of an object bit by
     bit, of a file within `error`.
Promise: every index, shape and number is checked; statistics of categories, texts and losses with other links are a
ModelError. Of a model with categories, the columns are the places of these in the model's lists (`categories.py`).
How the library decides (checked against 1.2 row by row, alone and in batches): inputs are float32; a split says yes
where x > border, and of a category where its hash is the split's; NaN counts as less than every number ("AsFalse",
"AsIs") or as more ("AsTrue"); leaves are added from zero in float64, in the order of the trees, then multiplied by the
scale, and the bias is added last; the second class is raw > logit(threshold), else the first of the largest;
Poisson and Tweedie predict exp(raw).
Its own reader of JSON rounds numbers off by up to 3 units in the last place, so that the same file has other last bits
in the library than it says: `error` covers both.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mace.compilers.catboost.model import EXPONENTIALS, TWO, Content, Grown, InnerNode, Oblivious, checked
from mace.compilers.sklearn.common import name_of
from mace.compilers.tree_arrays import checked_tree, refuse_size
from mace.errors import ModelError
from mace.tables.members import Members, equal_to
from mace.tables.table import Compare, Decision, Ensemble, Floats, Label, Link, Rule, Tree

_UNIT = 2.0**-53
_MISREAD = 8 * _UNIT
"""How far the library may read a number of a JSON file from what it says, relative to it."""


def content_of(model: Any) -> Content:
    """What an object of the library writes of itself; raises ModelError."""
    if not model.is_fitted():
        raise ModelError(f"this {name_of(model)} is not fitted", hint="Call its `fit` first.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json")
        except Exception as error:  # the library raises its own kind
            raise ModelError(f"this {name_of(model)} cannot be written as JSON ({error})") from error
        return checked(json.loads(path.read_bytes()))


def read_model(model: Any) -> Ensemble:
    """The table of an object of the library."""
    content = content_of(model)
    kind = getattr(model, "_estimator_type", None)
    if (kind == "classifier") != bool(content.classes) and kind is not None:
        raise ModelError(f"this {name_of(model)} was fitted for {content.loss}, which is not its kind")
    classes = tuple(np.asarray(model.classes_).tolist()) if kind == "classifier" else None
    return _table(content, 0.0, classes)


def read_content(content: Content) -> Ensemble:
    """The table of a file's content; raises ModelError."""
    return _table(content, _MISREAD, None)


def _table(content: Content, misread: float, classes: tuple[Label, ...] | None) -> Ensemble:
    """misread: how far the library may read a number from what it is here, relative to it."""
    outputs, columns = len(content.bias), len(content.names)
    labels = content.classes if classes is None else classes
    if len(labels) != len(content.classes):
        raise ModelError(f"the CatBoost model is damaged: it has the classes {labels!r} and {content.classes!r}")
    refuse_size("the CatBoost model", sum(_size(tree) for tree in content.trees), outputs)
    tests = _tests(content)
    exact_scale = content.scale != 0 and abs(math.frexp(content.scale)[0]) == 0.5  # multiplying rounds nothing
    trees = [_tree(number, tree, tests, columns, content.scale) for number, tree in enumerate(content.trees)]
    if any(content.bias):  # added last, as one more tree
        trees.append(checked_tree("the bias", columns, [-1], [-1], [-1], [0.0], np.array([content.bias])))
    size = sum(float(np.abs(tree.value[tree.column < 0]).max()) for tree in trees)
    error = misread * size + (0.0 if exact_scale else (2 * len(trees) + 8) * _UNIT * size)
    rule: Rule = "value" if not labels else "positive" if content.loss in TWO else "argmax"
    decisions = None
    if content.loss in TWO and content.threshold != 0.5:
        turn = -math.log(1 / content.threshold - 1)
        error += 16 * _UNIT * (1 + abs(turn))  # the library's own logarithm
        decisions = _beyond(turn)
    return Ensemble(
        trees=tuple(trees),
        columns=columns,
        start=np.zeros(outputs),
        rule=rule,
        classes=labels,
        cast="float32",
        test="<=",
        name=f"CatBoost {content.loss}",
        error=error,
        decisions=decisions,
        link=Link("logistic") if content.loss in TWO else Link("exp") if content.loss in EXPONENTIALS else None,
    )


def _beyond(turn: float) -> tuple[Decision, Decision]:
    """One decision a class: up to the turn, and beyond it."""
    return ((Compare(None, 0, -turn),),), ((Compare(0, None, turn, strict=True),),)


class _Asked(NamedTuple):
    """What a split asks: whether the column's number is above the border, or is this place among its categories."""

    column: int
    border: float
    category: int | None
    nan_left: bool


_LEAF = _Asked(-1, 0.0, None, nan_left=False)


def _tests(content: Content) -> list[_Asked]:
    """What every split asks, by its number."""
    found = [_Asked(one.place, b, None, one.missing != "AsTrue") for one in content.numbers for b in one.borders]
    return found + [
        _Asked(one.place, 0.0, k, nan_left=False) for one in content.categories for k in range(len(one.values))
    ]


def _size(tree: Oblivious | Grown) -> int:
    if isinstance(tree, Oblivious):
        return 2 * len(tree.values) - 1
    waiting, nodes = [tree], 0
    while waiting:
        node, nodes = waiting.pop(), nodes + 1
        if isinstance(node, InnerNode):
            waiting += [node.left, node.right]
    return nodes


class _Pair(NamedTuple):
    """A test, and what lies below it where the answer is no, and yes."""

    asked: _Asked
    no: _Below
    yes: _Below


_Below: TypeAlias = "_Pair | tuple[float, ...]"  # or a leaf


def _tree(number: int, tree: Oblivious | Grown, tests: Sequence[_Asked], columns: int, scale: float) -> Tree:
    """One tree of plain arrays."""
    if isinstance(tree, Oblivious):
        asked = [tests[split] for split in tree.splits]
        root = _unfolded(asked, list(map(tuple, tree.values.tolist())), 0, 0, {})
    else:
        root = _paired(tree, tests)
    return _arrays(f"the CatBoost model is damaged: tree {number}", root, columns, scale)


def _unfolded(
    asked: Sequence[_Asked],
    values: Sequence[tuple[float, ...]],
    level: int,
    place: int,
    known: dict[int, tuple[float, float]],
) -> _Below:
    """What lies below a level of a symmetric tree, without the tests whose answer is known.

    known: per column of numbers, the largest border that it is above and the smallest that it is not; a category that
    it is, once that is known, is twice that place.
    """
    if level == len(asked):
        return values[place]
    one = asked[level]
    low, high = known.get(one.column, (-math.inf, math.inf))
    yes = no = True  # whether that answer is possible
    if one.category is None:
        yes, no = one.border < high, one.border > low
        if_yes, if_no = (one.border, high), (low, one.border)
    else:
        if low == high:
            yes, no = one.category == low, one.category != low
        if_yes, if_no = (float(one.category),) * 2, (low, high)
    above = place | 1 << level
    right = _unfolded(asked, values, level + 1, above, {**known, one.column: if_yes}) if yes else None
    left = _unfolded(asked, values, level + 1, place, {**known, one.column: if_no}) if no else None
    if left is None or right is None:
        found = right if left is None else left
        assert found is not None
        return found
    return left if left == right else _Pair(one, left, right)


def _paired(root: Grown, tests: Sequence[_Asked]) -> _Below:
    if not isinstance(root, InnerNode):
        return root
    return _Pair(tests[root.split], _paired(root.left, tests), _paired(root.right, tests))


def _arrays(where: str, root: _Below, columns: int, scale: float) -> Tree:
    left, asked, leaves = list[int](), list[_Asked](), list[tuple[float, ...]]()
    members: dict[int, Members] = {}
    waiting = [root]
    for here, node in enumerate(waiting):  # grows while it is read
        if not isinstance(node, _Pair):
            left.append(-1)
            asked.append(_LEAF)
            leaves.append(node)
            continue
        left.append(len(waiting))
        asked.append(node.asked)
        leaves.append(())
        if node.asked.category is None:  # A number goes left where it is not above the border,
            waiting += [node.no, node.yes]
        else:  # a category where it is the one asked for.
            members[here] = equal_to([node.asked.category])
            waiting += [node.yes, node.no]
    outputs = max(map(len, leaves))
    values: Floats = np.array([one or (0.0,) * outputs for one in leaves], dtype=np.float64) * scale
    right = [-1 if child < 0 else child + 1 for child in left]
    column, border, _, nan_left = zip(*asked, strict=True)
    return checked_tree(where, columns, left, right, column, border, values, nan_left, members)
