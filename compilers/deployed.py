"""The deployed model, whatever its library: one `predict` that takes a frame and gives decisions.

In:  a fitted estimator, a Booster, a ModelProto, or a `ModelFile` (what `load_model` makes of a model file).
Out: a `Deployed`, whose `predict` is the library's own; where the library of a file is not installed, it is the
     emulation of the table, and `note` says so.
Promise: the library is imported only here, and only to predict; reading a file needs none.
A Booster and an ONNX graph give numbers; the decision is then the one that their libraries' wrappers take: class 1
above one half, or the first of the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.compilers.lightgbm import reader as read_lightgbm
from mace.compilers.model_file import ModelFile
from mace.compilers.onnx import reader as read_onnx
from mace.tables.table import Ensemble, Formula, decided, decision_of

if TYPE_CHECKING:
    import pandas as pd

Rows = NDArray[Any]
Given: TypeAlias = Callable[["pd.DataFrame"], Any]  # what the library's `predict` is handed for a frame


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


def innermost(model: Any) -> Any:
    """The model that is given the matrix: what a calibration calibrates, or the model itself."""
    while True:
        if type(model).__name__ == "CalibratedClassifierCV" and getattr(model, "calibrated_classifiers_", None):
            model = model.calibrated_classifiers_[0].estimator
        elif type(model).__name__ == "FrozenEstimator":
            model = model.estimator
        else:
            return model


def library_of(model: Any) -> str:
    """The package that the innermost model is of."""
    return str(type(innermost(model)).__module__).split(".")[0]


def spelling_of(model: Any) -> Callable[[str], str]:
    """How a model spells the names of its columns: LightGBM writes an underscore for every space."""
    return read_lightgbm.spelled if library_of(model) == "lightgbm" else str


def names_of(part: Any) -> tuple[str, ...] | None:
    """The names of the columns that a model or a step was fitted on, as it spells them; None if it knows none."""
    return _names(getattr(part, "feature_names_in_", None))


def deployed(model: Any, *, raw: Literal["frame", "array"] | None = None) -> Deployed:
    """The model as its users call it.

    raw: its frames hold columns of any type, categories among them, and it takes them as frames or as arrays without
         names; None: they hold numbers only.
    """
    given: Given = {"frame": _as_it_is, "array": _values, None: _rows}[raw]
    if isinstance(model, ModelFile):
        return _of_file(model, given)
    package, name = type(model).__module__.split(".")[0], type(model).__name__
    if (package, name) == ("xgboost", "Booster"):
        return _booster(model, given)
    if package == "optbinning":  # It looks its variables up by name.
        names = tuple(model.binning_process_.variable_names)
        return Deployed(
            lambda frame: np.asarray(model.predict(frame)), names, "", _probable(model, lambda frame: frame)
        )
    if package == "lightgbm":
        if name == "Booster":
            return _lightgbm(model, given)
        own = _names(model.booster_.feature_name())
        return Deployed(
            lambda frame: np.asarray(model.predict(given(frame))), own, "", _probable(model, given), spelling_of(model)
        )
    if (package, name[:10]) == ("onnx", "ModelProto"):
        return _of_file(ModelFile(Path("the model"), "onnx", read_onnx.graph_of(model)), given)
    known = names_of(model)
    if raw is None and known is not None:
        given = _as_it_is
    return Deployed(
        lambda frame: np.asarray(model.predict(given(frame))), known, "", _probable(model, given), spelling_of(model)
    )


def _as_it_is(frame: pd.DataFrame) -> Any:
    return frame


def _values(frame: pd.DataFrame) -> Any:
    return frame.to_numpy()


def _probable(model: Any, given: Given) -> Callable[[pd.DataFrame], Rows] | None:
    """The model's `predict_proba`, if it has one."""
    ask = getattr(model, "predict_proba", None)
    return None if ask is None else lambda frame: np.asarray(ask(given(frame)))


def _of_both(found: Callable[[pd.DataFrame], Rows]) -> Callable[[pd.DataFrame], Rows]:
    """The probabilities of both classes from those of class 1."""

    def both(frame: pd.DataFrame) -> Rows:
        p = found(frame)
        return np.stack([1 - p, p], axis=1)

    return both


def _of_file(file: ModelFile, given: Given) -> Deployed:
    try:
        loaded = file.loaded()
    except ImportError as error:
        table = file.table()
        assert not isinstance(table, Formula)
        note = (
            f"{error.name} is not installed: the answer is confirmed by mace's own emulation of {file.path.name} only"
        )
        return Deployed(
            lambda frame: np.array([decide(table, row) for row in _rows(frame)]), None, note, assumed=file.assumed
        )
    match file.format:
        case "xgboost":
            return replace(_booster(loaded, given), assumed=file.assumed)
        case "lightgbm":
            return _lightgbm(loaded, given)
        case "onnx":
            return Deployed(_session(loaded, file.table()))


def decide(table: Any, row: Rows) -> Any:
    """A table's own decision, for a row of shape (columns,)."""
    scores = table.scores(row)
    for index, label in enumerate(table.classes):
        if decided(decision_of(table, index), scores):
            return label
    return float(scores[0])


def _booster(booster: Any, given: Given) -> Deployed:
    """XGBoost's decisions as XGBClassifier takes them."""
    import json

    import xgboost

    objective: str = json.loads(booster.save_config())["learner"]["objective"]["name"]

    def ask(frame: pd.DataFrame) -> Rows:
        if given is _as_it_is:
            return np.asarray(booster.predict(xgboost.DMatrix(frame, enable_categorical=True)))
        rows = xgboost.DMatrix(
            given(frame), feature_names=booster.feature_names, feature_types=booster.feature_types,
            enable_categorical=True,
        )  # fmt: skip
        return np.asarray(booster.predict(rows))

    def predict(frame: pd.DataFrame) -> Rows:
        found = ask(frame)
        if found.ndim == 2:
            return np.asarray(np.argmax(found, axis=1))
        if objective.startswith("reg:"):
            return found
        return np.asarray(found, dtype=np.int64) if objective == "multi:softmax" else np.where(found > 0.5, 1, 0)

    known = _names(booster.feature_names)
    return Deployed(predict, known, "", _of_both(ask) if objective == "binary:logistic" else None)


def _lightgbm(booster: Any, given: Given) -> Deployed:
    """LightGBM's decisions as LGBMClassifier takes them."""
    binary = "objective=binary" in booster.model_to_string(num_iteration=1)

    def ask(frame: pd.DataFrame) -> Rows:
        return np.asarray(booster.predict(given(frame)))

    def predict(frame: pd.DataFrame) -> Rows:
        found = ask(frame)
        if found.ndim == 2:
            return np.asarray(np.argmax(found, axis=1))
        return np.where(found > 0.5, 1, 0) if binary else found

    known = _names(booster.feature_name())
    return Deployed(predict, known, "", _of_both(ask) if binary else None, read_lightgbm.spelled)


def _session(session: Any, table: Any) -> Callable[[pd.DataFrame], Rows]:
    """The decisions of an ONNX graph whose output is a class, or else scores."""
    given = session.get_inputs()[0]
    dtype = np.float64 if "double" in given.type else np.float32
    output = session.get_outputs()[0]  # the one that decides: `read_onnx.follow` keeps no other
    fixed = given.shape[0] if isinstance(given.shape[0], int) else None  # Some exporters fix how many rows are asked.

    def ask(rows: Rows) -> Rows:
        """The classes or scores, shape (rows, ..); in blocks of the fixed size, the last one filled up."""
        if fixed is None or not len(rows):
            return np.asarray(session.run([output.name], {given.name: rows})[0]).reshape(len(rows), -1)
        padded = np.concatenate([rows, np.repeat(rows[-1:], -len(rows) % fixed, axis=0)])
        blocks = [padded[start : start + fixed] for start in range(0, len(padded), fixed)]
        found = [np.asarray(session.run([output.name], {given.name: block})[0]).reshape(fixed, -1) for block in blocks]
        return np.concatenate(found)[: len(rows)]

    def predict(frame: pd.DataFrame) -> Rows:
        found = ask(_rows(frame).astype(dtype))
        if output.type in ("tensor(int64)", "tensor(string)"):
            return found.ravel()
        if not table.classes:
            return np.asarray(found[:, 0])
        if isinstance(table, Ensemble) and table.outputs == 1 or found.shape[1] == 1:
            return np.asarray(np.array(table.classes)[(found[:, 0] > 0.5).astype(int)])
        return np.asarray(np.array(table.classes)[np.argmax(found, axis=1)])

    return predict


def _rows(frame: Any) -> Rows:
    return np.asarray(frame.to_numpy() if hasattr(frame, "to_numpy") else frame, dtype=np.float64)


def _names(known: Sequence[Any] | None) -> tuple[str, ...] | None:
    """The names of columns, unless the library made them up."""
    if known is None or not len(known):
        return None
    names = tuple(map(str, known))
    made_up = (tuple(f"{word}{k}" for k in range(len(names))) for word in ("Column_", "f"))
    return None if names in made_up else names
