"""The deployed model, whatever its library: one `predict` that takes a frame and gives decisions.

In:  a fitted estimator, and how it is handed the rows of a frame.
Out: a `Deployed`, whose `predict` is the library's own. Here stands what the libraries share; each says in its folder
     how its models are asked, and `registry.deployed` asks the right one.
Promise: a library is imported only to predict; reading a file needs none.
A Booster and an ONNX graph give numbers; the decision is then the one that their libraries' wrappers take: class 1
above one half, or the first of the largest.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.tables.table import decided, decision_of, predicted

if TYPE_CHECKING:
    import pandas as pd

Rows = NDArray[Any]
Given: TypeAlias = Callable[["pd.DataFrame"], Any]  # what the library's `predict` is handed for a frame


@contextmanager
def quiet() -> Iterator[None]:
    """Without the library's warnings: rows are tried that nobody asked about."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True, slots=True)
class Deployed:
    """A model that is asked for decisions.

    predict: a frame of the model's columns, shape (rows, columns) -> decisions, shape (rows,).
    names:   the columns that it was trained on, if it knows them, as it spells them.
    spelled: how it spells a name.
    note:    what an answer must say about it; empty if the library itself predicts.
    assumed: what its user said of it, which an answer must say too.
    probabilities: such a frame -> probabilities, shape (rows, classes); None if the model has none.
    """

    predict: Callable[[pd.DataFrame], Rows]
    names: tuple[str, ...] | None = None
    note: str = ""
    probabilities: Callable[[pd.DataFrame], Rows] | None = None
    spelled: Callable[[str], str] = str
    assumed: str = ""


def as_it_is(frame: pd.DataFrame) -> Any:
    """The frame itself."""
    return frame


def as_values(frame: pd.DataFrame) -> Any:
    """An array of whatever type the columns have in common."""
    return frame.to_numpy()


def as_rows(frame: Any) -> Rows:
    """An array of float64."""
    return np.asarray(frame.to_numpy() if hasattr(frame, "to_numpy") else frame, dtype=np.float64)


def as_estimator(model: Any, given: Given, names: tuple[str, ...] | None = None) -> Deployed:
    """A model with the interface of scikit-learn: it is handed frames of numbers if it knows the names of columns.

    names: these, where its library keeps them in a place of its own.
    """
    known = names_of(model) if names is None else names
    if given is as_rows and known is not None:
        given = as_it_is
    return asked(model, given, known)


def asked(model: Any, given: Given, names: tuple[str, ...] | None) -> Deployed:
    """A model that is asked by its `predict`, and by its `predict_proba` if it has one."""
    ask = getattr(model, "predict_proba", None)
    probabilities = None if ask is None else lambda frame: np.asarray(ask(given(frame)))

    def predict(frame: pd.DataFrame) -> Rows:
        said = np.asarray(model.predict(given(frame)))
        # CatBoost gives one of several classes as a column, and so does a pipeline that ends in it.
        return said[:, 0] if said.ndim == 2 and said.shape[1] == 1 else said

    return Deployed(predict, names, "", probabilities)


def of_numbers(ask: Callable[[pd.DataFrame], Rows], names: tuple[str, ...] | None, *, binary: bool) -> Deployed:
    """A booster that gives numbers, and the decisions that its library's wrappers take.

    ask:    a frame -> probabilities of class 1, shape (rows,), if `binary`; of every class, shape (rows, classes);
            or a regressor's numbers.
    """

    def predict(frame: pd.DataFrame) -> Rows:
        found = ask(frame)
        if found.ndim == 2:
            return np.asarray(np.argmax(found, axis=1))
        return np.where(found > 0.5, 1, 0) if binary else found

    def both(frame: pd.DataFrame) -> Rows:
        p = ask(frame)
        return np.stack([1 - p, p], axis=1)

    return Deployed(predict, names, "", both if binary else None)


def decide(table: Any, row: Rows) -> Any:
    """A table's own decision, for a row of shape (columns,)."""
    scores = table.scores(row)
    for index, label in enumerate(table.classes):
        if decided(decision_of(table, index), scores):
            return label
    return float(predicted(table, scores[None, :])[0])


def names_of(part: Any) -> tuple[str, ...] | None:
    """The names of the columns that a model or a step was fitted on, as it spells them; None if it knows none."""
    known = getattr(part, "feature_names_in_", None)
    if known is not None and _picks_by_name(part):
        return tuple(map(str, known))
    return real_names(known)


def _picks_by_name(part: Any, depth: int = 9) -> bool:
    """Whether something in a part, or in what it hands its rows to, picks columns by their names, or knows categories
    of a frame as scikit-learn's boosting does: the names then are nobody's invention."""
    if hasattr(part, "transformers_") or getattr(part, "is_categorical_", None) is not None:
        return True
    inside = [getattr(part, name, None) for name in ("best_estimator_", "estimator_", "estimator")]
    members = getattr(part, "estimators_", None)
    inside += members if isinstance(members, list) else []
    inside += [step for _, step in getattr(part, "steps", None) or ()]
    inside += getattr(part, "calibrated_classifiers_", None) or ()
    return depth > 0 and any(one is not None and _picks_by_name(one, depth - 1) for one in inside)


def real_names(known: Sequence[Any] | None) -> tuple[str, ...] | None:
    """The names of columns, unless the library made them up."""
    if known is None or not len(known):
        return None
    names = tuple(map(str, known))
    made_up = (tuple(word.format(k) for k in range(len(names))) for word in ("Column_{}", "f{}", "feature_{:04d}"))
    return None if names in made_up else names
