"""All that is known of XGBoost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mace.compilers.deployed import Deployed, Given, Rows, as_estimator, as_it_is, of_numbers, real_names
from mace.compilers.library import Categories, FileType, Intake, Library, Opening, Reader, descends
from mace.compilers.model_file import Format, ModelFile
from mace.compilers.xgboost.categories import step_of, takes_raw
from mace.compilers.xgboost.dump import stated
from mace.compilers.xgboost.model import load, written
from mace.compilers.xgboost.reader import read_booster, read_document, read_wrapper


def _booster(booster: Any, given: Given, _: object = None) -> Deployed:
    """A Booster's decisions, as XGBClassifier takes them."""
    import json

    import xgboost

    objective: str = json.loads(booster.save_config())["learner"]["objective"]["name"]

    def ask(frame: Any) -> Rows:
        if given is as_it_is:
            rows = xgboost.DMatrix(frame, enable_categorical=True)
        else:
            rows = xgboost.DMatrix(
                given(frame), feature_names=booster.feature_names, feature_types=booster.feature_types,
                enable_categorical=True,
            )  # fmt: skip
        found = np.asarray(booster.predict(rows))
        return found.astype(np.int64) if objective == "multi:softmax" else found

    return of_numbers(ask, real_names(booster.feature_names), binary=objective == "binary:logistic")


def _deployed(model: Any, given: Given) -> Deployed:
    return _booster(model, given) if descends(model, "xgboost.Booster") else as_estimator(model, given)


def _open(path: Path, opening: Opening) -> ModelFile:
    dump = stated(opening.dump) if isinstance(opening.dump, str) else opening.dump
    if dump is None:
        return ModelFile(path, FORMAT, load(path))
    return ModelFile(path, FORMAT, load(path, dump), f"{path.name} holds trees alone; taken: {dump}")


def _made(document: Any) -> Any:
    import xgboost

    return xgboost.Booster(model_file=bytearray(written(document)))


def _small(frame: Any, labels: Any) -> Any:
    import xgboost

    return xgboost.XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1).fit(frame, labels)


_REFUSED = "gblinear; several targets; `missing` other than NaN; objectives with other links; versions before 2, from 4"
_SUMS = "exact sums, margin for probabilities"
FORMAT = Format("xgboost", read_document, _made, _booster)
LIBRARY = Library(
    name="XGBoost",
    package="xgboost",
    distributions={"xgboost": ("xgboost", "xgboost-cpu")},
    extra="xgboost",
    deployed=_deployed,
    readers={
        "xgboost.XGBClassifier": Reader(read_wrapper, _SUMS, _REFUSED),
        "xgboost.XGBRegressor": Reader(read_wrapper, "exact; margin for log links", _REFUSED),
        "xgboost.XGBRanker": Reader(read_wrapper, "exact; margin for log links", _REFUSED),
        "xgboost.Booster": Reader(read_booster, _SUMS, _REFUSED),
    },
    files=(FileType((".json", ".ubj"), _open, lacking=(".json",)),),
    categories=Categories(step_of, takes_raw),
    intake=Intake(absent="missing", by_column=True),
    small=_small,
)
