"""All that is known of LightGBM."""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.compilers.deployed import Deployed, Given, as_estimator, of_numbers, real_names
from mace.compilers.library import Categories, FileType, Intake, Library, Reader, descends
from mace.compilers.lightgbm.categories import step_of
from mace.compilers.lightgbm.model import load
from mace.compilers.lightgbm.reader import of_sparse_rows, read_booster, read_text, read_wrapper, spelled
from mace.compilers.model_file import Format, ModelFile


def _booster(booster: Any, given: Given, _: object = None) -> Deployed:
    """A Booster's decisions, as LGBMClassifier takes them."""
    binary = "objective=binary" in booster.model_to_string(num_iteration=1)
    names = real_names(booster.feature_name())
    return of_numbers(lambda frame: np.asarray(booster.predict(given(frame))), names, binary=binary)


def _deployed(model: Any, given: Given) -> Deployed:
    if descends(model, "lightgbm.Booster"):
        return _booster(model, given)
    return as_estimator(model, given, real_names(model.booster_.feature_name()))


def _made(text: Any) -> Any:
    import lightgbm

    return lightgbm.Booster(model_str=text)


def _small(frame: Any, labels: Any) -> Any:
    import lightgbm

    return lightgbm.LGBMClassifier(n_estimators=2, num_leaves=4, n_jobs=1, verbose=-1).fit(frame, labels)


_REFUSED = "linear leaves; zero_as_missing; pred_early_stop; objectives with other links"
_SUMS = "exact sums, margin for probabilities"
FORMAT = Format("lightgbm", read_text, _made, _booster)
LIBRARY = Library(
    name="LightGBM",
    package="lightgbm",
    distributions={"lightgbm": ("lightgbm",)},
    extra="lightgbm",
    deployed=_deployed,
    readers={
        "lightgbm.LGBMClassifier": Reader(read_wrapper, _SUMS, _REFUSED),
        "lightgbm.LGBMRegressor": Reader(read_wrapper, "exact; margin for log links", _REFUSED),
        "lightgbm.LGBMRanker": Reader(read_wrapper, "exact; margin for log links", _REFUSED),
        "lightgbm.Booster": Reader(read_booster, _SUMS, _REFUSED),
    },
    files=(FileType((".txt",), lambda path, _: ModelFile(path, FORMAT, load(path))),),
    categories=Categories(step_of),
    intake=Intake(integers="float32", sparse=of_sparse_rows),
    spelled=spelled,
    small=_small,
)
