"""What all readers of scikit-learn models share: attributes that must be there, arrays that must be numbers.

In:  a fitted estimator of scikit-learn.    Out: its labels and arrays as plain numpy and Python values.
Promise: nothing of scikit-learn is imported here; whatever does not fit is a ModelError naming class and attribute.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.errors import ModelError, UnreadableError
from mace.tables.table import Floats, Label

# What looking at a model raises whose attributes are not those that `fit` leaves.
DAMAGE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def name_of(model: object) -> str:
    """The class name that messages and tables use."""
    return type(model).__name__


def fitted(model: object, attribute: str) -> Any:
    """An attribute that `fit` sets. Raises ModelError if the model has none."""
    try:
        value = getattr(model, attribute, None)
    except (ValueError, TypeError) as error:  # some are computed, and fail on a damaged model
        raise ModelError(f"{name_of(model)} is damaged: {attribute} cannot be read ({error})") from error
    if value is None:
        raise ModelError(f"this {name_of(model)} is not fitted: it has no {attribute}", hint="Call its `fit` first.")
    return value


def columns_of(model: object) -> int:
    """The number of columns that the model expects."""
    columns = fitted(model, "n_features_in_")
    if not isinstance(columns, (int, np.integer)) or columns < 1:
        raise ModelError(f"{name_of(model)} is damaged: n_features_in_ is {columns!r}")
    return int(columns)


def labels_of(model: object) -> tuple[Label, ...]:
    """The classes, in the model's order, as plain Python values."""
    classes = fitted(model, "classes_")
    if isinstance(classes, list) or np.ndim(classes) != 1:
        raise UnreadableError(f"{name_of(model)} decides several outputs at once, which is not supported")
    labels = tuple(np.asarray(classes).tolist())
    if not labels or len(set(labels)) != len(labels):
        raise ModelError(f"{name_of(model)} is damaged: its classes are {labels!r}")
    return labels


def numbers(model: object, attribute: str, value: object, shape: tuple[int, ...]) -> Floats:
    """A copy of `value` as float64 of this shape (a single number or row is spread), every entry finite."""
    if hasattr(value, "toarray"):  # SGDClassifier.sparsify()
        value = value.toarray()
    array = np.asarray(value)
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise ModelError(f"{name_of(model)} is damaged: {attribute} holds {array.dtype}, not numbers")
    if array.size == int(np.prod(shape)) or array.size == 1:
        array = array.reshape(shape) if array.size != 1 else np.full(shape, array.item())
    if array.shape != shape:
        raise ModelError(f"{name_of(model)} is damaged: {attribute} has shape {array.shape}, expected {shape}")
    copied: Floats = np.array(array, dtype=np.float64)
    if not np.isfinite(copied).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(copied))[0])
        raise ModelError(f"{name_of(model)} is damaged: {attribute}{list(place)} is {copied[place]}")
    return copied
