"""Read scikit-learn's gradient boosting, in both implementations.

In:  GradientBoosting or HistGradientBoosting, Classifier or Regressor, or a subclass.
Out: an Ensemble whose scores are `decision_function` (of a regressor: `predict`), bit by bit.
Promise: everything is checked before use; what cannot be read exactly is a ModelError that says why.
How the library decides (sklearn/ensemble/_gb.py, _gradient_boosting.pyx, checked in 1.7 to 1.9): a row is cast to
float32; from the scores of `init_`, each stage adds rate * value, the product rounded and then the sum, in float64;
class 1 is score >= 0. (Builds for processors with fused multiply-add round once only; those of x86-64 do not use it.)
How HistGradientBoosting decides (_hist_gradient_boosting/_predictor.pyx): float64 inputs compared with float64
thresholds; NaN goes where the node says; a category goes left if it is in the node's bit set, right if it was seen in
training, else as NaN does; class 1 is score > 0; the losses "poisson" and "gamma" predict exp(score).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mace.compilers.sklearn.common import columns_of, fitted, labels_of, name_of, numbers
from mace.compilers.sklearn.trees import is_regressor, tree_of
from mace.compilers.tree_arrays import checked_tree
from mace.errors import ModelError, UnreadableError
from mace.tables.members import Members, equal_to
from mace.tables.table import Ensemble, Floats, Label, Link, Rule, Tree

_EXPONENTIALS = ("poisson", "gamma")


def read_boosting(model: Any) -> Ensemble:
    """The table of GradientBoostingClassifier or GradientBoostingRegressor."""
    stages, columns = np.asarray(fitted(model, "estimators_"), dtype=object), columns_of(model)
    classes = _classes(model)
    outputs = len(classes) if len(classes) > 2 else 1
    if stages.ndim != 2 or stages.shape[1] != outputs:
        raise ModelError(f"{name_of(model)} is damaged: estimators_ has shape {stages.shape}, expected (.., {outputs})")
    trees = []
    for number, estimator in enumerate(stages.ravel()):
        tree = fitted(estimator, "tree_")
        added = float(model.learning_rate) * np.asarray(tree.value, dtype=np.float64).reshape(-1, 1)
        one = tree_of(name_of(model), number, tree, columns, 1, values=added)
        trees.append(replace(one, value=_only(one.value[:, 0], number % outputs, outputs)))
    return Ensemble(
        trees=tuple(trees),
        columns=columns,
        start=_start(model, columns, outputs),
        rule=_rule(classes, "nonnegative"),
        classes=classes,
        cast="float32",
        test="<=",
        name=name_of(model),
        # The exponential loss halves the logit.
        link=Link("logistic", slope=2.0 if model.loss == "exponential" else 1.0)
        if len(classes) == 2
        else Link("softmax")
        if classes
        else None,
    )


def read_hist_boosting(model: Any) -> Ensemble:
    """The table of HistGradientBoostingClassifier or HistGradientBoostingRegressor."""
    stages, columns, classes = fitted(model, "_predictors"), columns_of(model), _classes(model)
    outputs = len(classes) if len(classes) > 2 else 1
    if not classes and model.loss not in ("squared_error", "absolute_error", "quantile", *_EXPONENTIALS):
        raise UnreadableError(f"{name_of(model)} with loss={model.loss!r} is not supported")
    source, known = _categories(model, columns)
    _refuse_other_bins(model, columns)
    trees = []
    for number, one in enumerate(predictor for stage in stages for predictor in stage):
        tree = _hist_tree(f"{name_of(model)} is damaged: tree {number}", one, columns, source, known)
        trees.append(replace(tree, value=_only(tree.value[:, 0], number % outputs, outputs)))
    return Ensemble(
        trees=tuple(trees),
        columns=columns,
        start=numbers(model, "_baseline_prediction", fitted(model, "_baseline_prediction"), (outputs,)),
        rule=_rule(classes, "positive"),
        classes=classes,
        cast="float64",
        test="<=",
        name=name_of(model),
        link=Link("logistic")
        if len(classes) == 2
        else Link("softmax")
        if classes
        else Link("exp")
        if not classes and model.loss in _EXPONENTIALS
        else None,
    )


def _classes(model: Any) -> tuple[Label, ...]:
    """The classes; none for a regressor."""
    classes = () if is_regressor(model) else labels_of(model)
    if len(classes) == 1:
        raise ModelError(f"{name_of(model)} knows one class only, {classes[0]!r}: no input has another decision")
    return classes


def _rule(classes: Sequence[Label], two: Rule) -> Rule:
    return "value" if not classes else two if len(classes) == 2 else "argmax"


def _only(added: Floats, output: int, outputs: int) -> Floats:
    """What a tree adds to one of several scores, as rows of all of them: adding 0 never rounds."""
    value = np.zeros((len(added), outputs))
    value[:, output] = added
    return value


def _start(model: Any, columns: int, outputs: int) -> Floats:
    """The scores before the first tree: the library's own, for they are the logarithms of its own functions."""
    init = fitted(model, "init_")
    if not isinstance(init, str) and type(init).__name__ not in ("DummyClassifier", "DummyRegressor"):
        raise UnreadableError(
            f"{name_of(model)} starts from a {type(init).__name__}, which is not supported",
            hint="Fit it with init=None or init='zero'.",
        )
    start = np.asarray(model._raw_predict_init(np.zeros((1, columns), dtype=np.float32)))
    if start.shape != (1, outputs):  # Native code adds the trees to it, and looks at no sizes.
        raise ModelError(f"{name_of(model)} is damaged: init_ gives scores of shape {start.shape}")
    return numbers(model, "init_", start, (outputs,))


# ---------------------------------------------------------------------------------------------- histograms


def numbered_by(model: Any) -> Any:
    """The encoder that numbers a histogram booster's categories, unless they are all whole numbers; else None."""
    encoder = getattr(model, "_preprocessor", None)
    if encoder is None or all(whole(values) is not None for values in _known(encoder)):
        return None
    return encoder


def whole(values: Any) -> list[int] | None:
    """Categories without the missing ones, if all are whole numbers."""
    present = [value for value in np.asarray(values).tolist() if value == value and value is not None]
    if not all(isinstance(value, (int, float)) and float(value).is_integer() for value in present):
        return None
    return [int(value) for value in present]


def _known(encoder: Any) -> list[Any]:
    return list(encoder.named_transformers_["encoder"].categories_)


def _categories(model: Any, columns: int) -> tuple[list[int], dict[int, list[int]]]:
    """For every column of the trees the table's own column, and for categorical ones the codes, in order.

    The library moves categorical columns to the front and numbers their values. Whole numbers are read as such, in the
    model's columns; of other categories the table sees the numbers that `numbered_by` makes, in its order.
    """
    encoder = getattr(model, "_preprocessor", None)
    if encoder is None:
        return list(range(columns)), {}
    categorical = np.asarray(fitted(model, "is_categorical_"), dtype=bool)
    if categorical.shape != (columns,):
        raise ModelError(f"{name_of(model)} is damaged: is_categorical_ has shape {categorical.shape}")
    if numbered_by(model) is not None:
        return list(range(columns)), {place: list(range(len(values))) for place, values in enumerate(_known(encoder))}
    source = [*np.flatnonzero(categorical).tolist(), *np.flatnonzero(~categorical).tolist()]
    return source, {place: whole(values) or [] for place, values in enumerate(_known(encoder))}


def _refuse_other_bins(model: Any, columns: int) -> None:
    """Raise unless the columns that are categories for the trees are so for what hands rows to native code."""
    bins = getattr(fitted(model, "_bin_mapper"), "is_categorical_", None)
    own = getattr(model, "is_categorical_", None)
    categorical = np.zeros(columns, dtype=bool) if own is None else np.sort(np.asarray(own, dtype=bool))[::-1]
    # The library moves them to the front.
    if not np.array_equal(np.asarray(bins), categorical):
        raise ModelError(f"{name_of(model)} is damaged: its bins are those of other columns")


def _hist_tree(where: str, predictor: Any, columns: int, source: list[int], known: dict[int, list[int]]) -> Tree:
    """One tree of a histogram booster."""
    try:
        nodes, sets = predictor.nodes, np.asarray(predictor.raw_left_cat_bitsets, dtype=np.uint32)
        if sets.ndim != 2 or sets.shape[1] != 8 or nodes.ndim != 1:
            raise ValueError(f"sets of shape {sets.shape}")
        leaf = nodes["is_leaf"].astype(bool)
        left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
        column, threshold = nodes["feature_idx"].astype(np.int64), nodes["num_threshold"].astype(np.float64)
        missing = nodes["missing_go_to_left"].astype(bool)
        categorical, place = nodes["is_categorical"].astype(bool) & ~leaf, nodes["bitset_idx"].astype(np.int64)
        value = nodes["value"].astype(np.float64)
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        raise ModelError(f"{where} has no readable nodes ({error})") from error
    left, right = np.where(leaf, -1, left), np.where(leaf, -1, right)
    members: dict[int, Members] = {}
    for node in np.flatnonzero(categorical).tolist():
        codes = known.get(int(column[node]))
        if codes is None or not 0 <= place[node] < len(sets):
            raise ModelError(f"{where}, node {node} tests categories that are not known")
        bits = sets[place[node]].tolist()
        goes = frozenset(code for k, code in enumerate(codes) if k < 256 and bits[k // 32] >> k % 32 & 1)
        if missing[node]:  # Unknown categories go left with NaN: name those that go right, and swap the branches.
            goes = frozenset(codes) - goes
            left[node], right[node] = right[node], left[node]
            missing[node] = False
        members[node] = equal_to(goes)
    # A split between minus infinity and the rest sends every finite number to the right: its branches are swapped.
    least = np.isneginf(threshold) & ~leaf & ~categorical
    left, right = np.where(least, right, left), np.where(least, left, right)
    threshold, missing = np.where(least, np.inf, threshold), missing ^ least
    # One between NaN and the rest has the threshold infinity: every finite number goes left.
    threshold = np.where(np.isposinf(threshold), np.finfo(np.float64).max, threshold)
    tree = checked_tree(where, columns, left, right, column, threshold, value[:, None], missing, members)
    moved = np.where(tree.column < 0, -1, np.asarray(source, dtype=np.int32)[tree.column])
    return replace(tree, column=moved.astype(np.int32))
