"""How XGBoost's models number the categories of a frame by themselves.

In:  a booster, a wrapper for scikit-learn, or a `ModelFile` of theirs.
Out: `step_of`: the step that does so (from XGBoost 3.1 on); None for a model without one. `takes_raw`: refuses a model
     that was fitted on such a frame and does not say which number a category has.
Promise: texts and whole numbers are read as the library stores them; types of other kinds are a ModelError.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from mace.compilers.library import descends
from mace.compilers.model_file import ModelFile
from mace.compilers.recoding import Levels, Recoding
from mace.errors import ModelError
from mace.space.space import Space


def step_of(model: Any) -> Recoding | None:
    """See the module's docstring; raises ModelError for a damaged model."""
    if isinstance(model, ModelFile):
        return _step_of_document(model.content)
    booster = _booster_of(model)
    if booster is not None and "c" in (booster.feature_types or ()):
        return _step_of_document(json.loads(bytes(booster.save_raw(raw_format="json"))))
    return None


def _booster_of(model: Any) -> Any:
    """The booster itself, or that of a wrapper; None before it is fitted."""
    return model if descends(model, "xgboost.Booster") else getattr(model, "_Booster", None)


def takes_raw(model: Any, space: Space) -> bool:
    """Never; raises ModelError for a model that was fitted on the space's raw columns without keeping categories."""
    types, given = _types_of(model)
    if "c" in types and set(given) <= set(space.names) and given != [column.name for column in space.columns]:
        name = next(name for name, kind in zip(given, types, strict=True) if kind == "c")
        raise ModelError(
            f"column `{name}`: the XGBoost model takes numbers for its categories, and does not say which is which: "
            "before 3.1 XGBoost does not store them, and it never knows those that were numbered beforehand",
            hint="Fit it with XGBoost 3.1 or newer on a frame with columns of type `category`, or put an "
            "OrdinalEncoder before it in a Pipeline.",
        )
    return False


def _types_of(model: Any) -> tuple[list[str], list[str]]:
    """The types and names of a model's columns, if it has names."""
    if isinstance(model, ModelFile):
        learner = model.content["learner"]
        types, names = learner.get("feature_types"), learner.get("feature_names")
    else:
        booster = _booster_of(model)
        types, names = getattr(booster, "feature_types", None), getattr(booster, "feature_names", None)
    if not types or not names or len(types) != len(names):
        return [], []
    return list(map(str, types)), list(map(str, names))


# How XGBoost writes the type of categories that are whole numbers.
_WHOLE = {9: "int8", 10: "uint8", 11: "int16", 13: "int32", 15: "int64"}


def _step_of_document(document: Mapping[str, Any]) -> Recoding | None:
    """From 3.1 on: the categories of every column, as one text with offsets, or as whole numbers."""
    learner = document.get("learner") or {}
    booster = learner.get("gradient_booster") or {}
    trees = booster.get("gbtree") or booster  # of the booster "dart", or of "gbtree"
    stored = ((trees.get("model") or {}).get("cats") or {}).get("enc") or []
    if not len(stored):
        return None
    names = tuple(map(str, learner.get("feature_names") or [f"f{k}" for k in range(len(stored))]))
    if len(names) != len(stored):
        raise ModelError(f"the XGBoost model is damaged: categories for {len(stored)} of {len(names)} columns")
    found: dict[int, Levels] = {}
    kinds: list[str] = []
    for place, one in enumerate(stored):
        try:
            values, offsets = [int(x) for x in one["values"]], one.get("offsets")
            if offsets is not None and any(value < 0 or value > 127 for value in values):
                raise ModelError(
                    f"column `{names[place]}`: XGBoost has cut its categories apart in the wrong places, because some "
                    "hold letters beyond ASCII",
                    hint="Rename these categories, and fit the model again.",
                )
            text, ends = (
                bytes(values if offsets is not None else []),
                [] if offsets is None else [int(x) for x in offsets],
            )
            if ends and (ends[0] != 0 or ends != sorted(ends) or ends[-1] != len(text)):
                raise ValueError("offsets")
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise ModelError(f"the XGBoost model is damaged: categories of column {place} ({error})") from None
        if offsets is None:
            found[place] = tuple(values)
            if one.get("type") not in _WHOLE:
                raise ModelError(
                    f"column `{names[place]}`: XGBoost keeps its categories as numbers of an unknown type",
                    hint="Make them texts, or whole numbers of 64 bits, and fit the model again.",
                )
            kinds.append(_WHOLE[one["type"]])
        elif ends:
            kinds.append("")
            found[place] = tuple(text[a:b].decode() for a, b in pairwise(ends))
    if not found:
        return None
    return Recoding(names, tuple(found.values()), tuple(found), "XGBoost", tuple(kinds))
