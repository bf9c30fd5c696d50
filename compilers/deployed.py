"""The deployed model, whatever its library: one `predict` that takes a frame and gives decisions.

In:  a fitted estimator, a Booster, a ModelProto, or a `ModelFile` (what `load_model` makes of a model file).
Out: a `Deployed`, whose `predict` is the library's own; where the library of a file is not installed, it is the
     emulation of the table, and `note` says so.
Promise: the library is imported only here, and only to predict; reading a file needs none (ONNX: the package onnx).
A Booster and an ONNX graph give numbers; the decision is then the one that their libraries' wrappers take: class 1
above one half, or the first of the largest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from mace.compilers import read_lightgbm, read_onnx, read_xgboost
from mace.tables import Ensemble, Formula, Table, decided, decision_of

if TYPE_CHECKING:
    import pandas as pd

Format = Literal["xgboost", "lightgbm", "onnx"]
Rows = NDArray[Any]
FORMATS: dict[str, Format] = {".json": "xgboost", ".ubj": "xgboost", ".txt": "lightgbm", ".onnx": "onnx"}


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A model file that holds plain data, and its content."""

    path: Path
    format: Format
    content: Any

    def table(self) -> Table:
        """Its table; raises ModelError."""
        return _READ[self.format](self.content)


_READ: dict[Format, Callable[[Any], Table]] = {
    "xgboost": read_xgboost.read_document,
    "lightgbm": read_lightgbm.read_text,
    "onnx": read_onnx.read_proto,
}


def open_file(path: Path) -> ModelFile:
    """The content of a model file, by its ending; raises FileError for damage."""
    kind = FORMATS[path.suffix]
    if kind == "onnx":
        return ModelFile(path, kind, read_onnx.parse(path.read_bytes(), str(path)))
    return ModelFile(path, kind, read_xgboost.load(path) if kind == "xgboost" else read_lightgbm.load(path))


@dataclass(frozen=True, slots=True)
class Deployed:
    """A model that is asked for decisions.

    predict: a frame of the model's columns, shape (rows, columns) -> decisions, shape (rows,).
    names:   the columns that it was trained on, if it knows them.
    note:    what an answer must say about it; empty if the library itself predicts.
    """

    predict: Callable[[pd.DataFrame], Rows]
    names: tuple[str, ...] | None = None
    note: str = ""


def deployed(model: Any) -> Deployed:
    """The model as its users call it."""
    if isinstance(model, ModelFile):
        return _of_file(model)
    package, name = type(model).__module__.split(".")[0], type(model).__name__
    if (package, name) == ("xgboost", "Booster"):
        return Deployed(_booster(model), _names(model.feature_names))
    if package == "optbinning":  # It looks its variables up by name.
        return Deployed(lambda frame: np.asarray(model.predict(frame)), tuple(model.binning_process_.variable_names))
    if package == "lightgbm":
        booster = model if name == "Booster" else model.booster_
        known = _names(booster.feature_name())
        return Deployed(_lightgbm(booster) if name == "Booster" else lambda frame: model.predict(_rows(frame)), known)
    if (package, name[:10]) == ("onnx", "ModelProto"):
        return _of_file(ModelFile(Path("the model"), "onnx", model))
    known = getattr(model, "feature_names_in_", None)

    def predict(frame: pd.DataFrame) -> Rows:
        return np.asarray(model.predict(frame if known is not None else _rows(frame)))

    return Deployed(predict, _names(known))


def _of_file(file: ModelFile) -> Deployed:
    try:
        match file.format:
            case "xgboost":
                import xgboost

                booster = xgboost.Booster(model_file=str(file.path))
                return Deployed(_booster(booster), _names(booster.feature_names))
            case "lightgbm":
                import lightgbm

                loaded = lightgbm.Booster(model_str=file.content)
                return Deployed(_lightgbm(loaded), _names(loaded.feature_name()))
            case "onnx":
                import onnxruntime

                return Deployed(_session(onnxruntime.InferenceSession(file.content.SerializeToString()), file.table()))
    except ImportError as error:
        table = file.table()
        assert not isinstance(table, Formula)
        note = (
            f"{error.name} is not installed: the answer is confirmed by mace's own emulation of {file.path.name} only"
        )
        return Deployed(lambda frame: np.array([_decide(table, row) for row in _rows(frame)]), None, note)


def _decide(table: Any, row: Rows) -> Any:
    """A table's own decision, for a row of shape (columns,)."""
    scores = table.scores(row)
    for index, label in enumerate(table.classes):
        if decided(decision_of(table, index), scores):
            return label
    return float(scores[0])


def _booster(booster: Any) -> Callable[[pd.DataFrame], Rows]:
    """XGBoost's decisions as XGBClassifier takes them."""
    import json

    import xgboost

    objective: str = json.loads(booster.save_config())["learner"]["objective"]["name"]

    def predict(frame: pd.DataFrame) -> Rows:
        rows = xgboost.DMatrix(
            _rows(frame), feature_names=booster.feature_names, feature_types=booster.feature_types,
            enable_categorical=True,
        )  # fmt: skip
        found = np.asarray(booster.predict(rows))
        if found.ndim == 2:
            return np.asarray(np.argmax(found, axis=1))
        if objective.startswith("reg:"):
            return found
        return np.asarray(found, dtype=np.int64) if objective == "multi:softmax" else np.where(found > 0.5, 1, 0)

    return predict


def _lightgbm(booster: Any) -> Callable[[pd.DataFrame], Rows]:
    """LightGBM's decisions as LGBMClassifier takes them."""
    binary = "objective=binary" in booster.model_to_string(num_iteration=1)

    def predict(frame: pd.DataFrame) -> Rows:
        found = np.asarray(booster.predict(_rows(frame)))
        if found.ndim == 2:
            return np.asarray(np.argmax(found, axis=1))
        return np.where(found > 0.5, 1, 0) if binary else found

    return predict


def _session(session: Any, table: Any) -> Callable[[pd.DataFrame], Rows]:
    """The decisions of an ONNX graph: its label if it has one, else what its numbers say."""
    given = session.get_inputs()[0]
    dtype = np.float64 if "double" in given.type else np.float32
    labels = [out.name for out in session.get_outputs() if out.type in ("tensor(int64)", "tensor(string)")]
    last = session.get_outputs()[-1].name

    def predict(frame: pd.DataFrame) -> Rows:
        rows = {given.name: _rows(frame).astype(dtype)}
        if labels:
            return np.asarray(session.run(labels[:1], rows)[0]).ravel()
        found = np.asarray(session.run([last], rows)[0]).reshape(len(frame), -1)
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
