"""Models that were fitted on a frame with categories: how they number these, before any tree sees a row.

In:  a fitted model or model file.
Out: `step_of`: the step that does the numbering, to be run like one of a pipeline; None for a model without one.
Promise: the numbers are the library's own. scikit-learn's histogram boosters carry an encoder, which is run itself.
LightGBM and XGBoost (from 3.1 on) keep the categories of every column in their model and look a row's values up there,
in whatever order the row's frame holds them; here pandas does the same look-up. A value that is not among them is a
missing one to scikit-learn and LightGBM, and an error to XGBoost: then a ModelError names column and value. To an
OptBinning scorecard, which looks up texts, it is a bin of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mace.compilers.lightgbm.reader import spelled
from mace.compilers.model_file import ModelFile
from mace.compilers.optbinning.reader import categories_of
from mace.compilers.sklearn.boosting import numbered_by, whole
from mace.compilers.sklearn.common import fitted
from mace.errors import ModelError
from mace.space.feature import Feature, Level
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

Levels = tuple[Level, ...]
MOST_WAYS = 10_000  # to give LightGBM's lists to columns


@dataclass(frozen=True, eq=False)
class Recoding:
    """What LightGBM and XGBoost do to a frame: a category becomes its number in the model's own list, NaN stays.

    names:   the model's columns, in order.
    lists:   the categories that the model keeps, in the order of their numbers.
    places:  the columns that they belong to, one a list; None: in order, the columns of type `category`.
    refuses: the library whose `predict` fails for other categories; "" where they count as missing.
    stored:  the types of whole numbers that XGBoost insists on, one a list; "" for texts.
    typed:   whether these columns have pandas' type `category`; else any, and other categories get the next number.
    seen:    per column what was seen in training, as `feature_infos` of LightGBM writes it.
    """

    names: tuple[str, ...]
    lists: tuple[Levels, ...]
    places: tuple[int, ...] | None = None
    refuses: str = ""
    stored: tuple[str, ...] = ()
    typed: bool = True
    seen: tuple[str, ...] = ()

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """As scikit-learn's steps have it."""
        return np.array(self.names, dtype=object)

    def get_feature_names_out(self, _: object = None) -> NDArray[np.object_]:
        """As scikit-learn's steps have it: no column is added or moved."""
        return self.feature_names_in_

    def transform(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """The matrix that the trees see, shape (rows, columns).

        Raises ModelError for text in a column without categories, and where the library fails.
        """
        import pandas as pd

        if not hasattr(frame, "iloc"):
            raise ModelError(
                "the model was fitted on a frame with categories, and the step before it gives an array",
                hint='Call set_output(transform="pandas") on the pipeline, and fit it again.',
            )
        places = self.places
        if places is None:
            places = tuple(k for k, kind in enumerate(frame.dtypes) if isinstance(kind, pd.CategoricalDtype))
            if len(places) != len(self.lists):
                raise ModelError(
                    f"the model keeps categories for {len(self.lists)} columns, and {len(places)} of type `category` "
                    "reach it"
                )
        out = np.empty((len(frame), frame.shape[1]))
        lists = dict(zip(places, self.lists, strict=True))
        for place, name in enumerate(frame.columns):
            column = frame.iloc[:, place]
            if place not in lists:
                try:
                    out[:, place] = column.to_numpy(dtype=np.float64)
                except (TypeError, ValueError):
                    raise ModelError(
                        f"the model takes numbers in column `{name}`, and there is text in it",
                        hint="Was it fitted on another frame than the space describes?",
                    ) from None
                continue
            if not self.typed:
                codes = np.asarray(pd.Categorical(column, list(lists[place])).codes)
                out[:, place] = np.where(column.isna(), np.nan, np.where(codes < 0, len(lists[place]), codes))
                continue
            if not isinstance(column.dtype, pd.CategoricalDtype):
                raise ModelError(f"the model takes categories in column `{name}`, which reaches it as {column.dtype}")
            known = list(lists[place])
            if self.refuses and (odd := [level for level in column.cat.categories.tolist() if level not in known]):
                raise ModelError(
                    f"column `{name}`: {self.refuses} has not seen in training, and fails for, the category "
                    + ", ".join(map(repr, odd)),
                    hint=f"Leave what it has not seen out of the levels of `{name}` in the space.",
                )
            codes = column.cat.set_categories(known).cat.codes.to_numpy()
            out[:, place] = np.where(codes < 0, np.nan, codes)
        return out

    def on(self, space: Space) -> Recoding:
        """The same with the names of a space's features, and its lists given to columns.

        Raises ModelError where LightGBM's lists, which it keeps without names, fit no column, or several.
        """
        known = {spelled(name) if self.seen else name: name for name in space.names}
        names = tuple(known.get(name, name) for name in self.names)
        if self.places is not None or not set(names) & set(space.names):
            return Recoding(names, self.lists, self.places, self.refuses, self.stored, self.typed)
        for name in names:
            if name not in space.names:
                raise ModelError(f"the model reads the column `{name}`, which the space does not have")
        features = [space[name] for name in names]
        for feature, seen in zip(features, self.seen, strict=True):
            if not _numbers(feature, seen) and not any(_fits(feature, levels, seen) for levels in self.lists):
                raise ModelError(
                    f"column `{feature.name}`: its levels are neither categories nor numbers that the LightGBM model "
                    f"saw there in training: {', '.join(map(repr, feature.levels[:12]))}"
                )
        found: dict[tuple[Any, ...], tuple[int, ...]] = {}
        for count, places in enumerate(_assigned(features, self.lists, self.seen, 0, 0)):
            lists = dict(zip(places, self.lists, strict=True))
            found.setdefault(tuple(_codes(f, lists.get(k)) for k, f in enumerate(features)), places)
            if len(found) > 1 or count > MOST_WAYS:
                raise ModelError(
                    "which columns had the type `category` in training cannot be told from the LightGBM model",
                    hint="Declare the columns that were numbers as numbers (kind integer or real) in the space.",
                )
        if not found:
            shown = "; ".join(", ".join(map(repr, levels[:4])) for levels in self.lists)
            raise ModelError(
                f"the categories that the LightGBM model keeps do not fit the space's columns in their order: {shown}",
                hint=f"The model's columns are {', '.join(names)}; text ones need levels in the space.",
            )
        return Recoding(names, self.lists, next(iter(found.values())))


def _assigned(
    features: Sequence[Feature], lists: Sequence[Levels], seen: Sequence[str], column: int, place: int
) -> Iterator[tuple[int, ...]]:
    """Every way to give the lists, in order, to columns that they fit; at most a few."""
    if place == len(lists):
        if all(_numbers(features[k], seen[k]) for k in range(column, len(features))):
            yield ()
        return
    for k in range(column, len(features) - (len(lists) - place) + 1):
        if _fits(features[k], lists[place], seen[k]):
            yield from ((k, *rest) for rest in _assigned(features, lists, seen, k + 1, place + 1))
        if not _numbers(features[k], seen[k]):
            return


def _codes(feature: Feature, levels: Levels | None) -> tuple[Any, ...]:
    """What the levels of a feature become: their places in a list of categories, or the numbers that they are."""
    if levels is None:
        return tuple(feature.levels)
    return tuple(levels.index(level) if level in levels else None for level in feature.levels)


def _observed(seen: str) -> list[float]:
    """The ends of a range, or the values, in an entry of `feature_infos`."""
    return [float(word) for word in seen.strip("[]").split(":") if word and seen != "none"]


def _fits(feature: Feature, levels: Levels, seen: str) -> bool:
    """Whether a column may have had these categories."""
    if any(not value.is_integer() or not -1 <= value < len(levels) for value in _observed(seen)):
        return False
    # To pandas True is not 1.
    known = {(isinstance(level, bool), level) for level in levels}
    return any((isinstance(level, bool), level) in known for level in feature.levels)


def _numbers(feature: Feature, seen: str) -> bool:
    """Whether a column may have held numbers."""
    if feature.numeric:
        return True
    if any(isinstance(level, str) for level in feature.levels):
        return False
    ends = [float(level) for level in feature.levels if level is not None]
    return all(min(ends) <= value <= max(ends) or value == -1 and seen[:1] != "[" for value in _observed(seen))


# ---------------------------------------------------------------------------------------------- by library


def step_of(model: Any) -> Any:
    """The step that numbers a model's categories; None if its trees see the columns as they are given.

    Raises ModelError for categories whose numbering is not known.
    """
    if isinstance(model, ModelFile):
        if model.format == "lightgbm":
            return _of_text(model.content)
        return _of_document(model.content) if model.format == "xgboost" else None
    package, name = type(model).__module__.split(".")[0], type(model).__name__
    if package == "sklearn" or getattr(model, "_preprocessor", None) is not None:
        return numbered_by(model)
    if package == "lightgbm":
        booster: Any = model if name == "Booster" else getattr(model, "_Booster", None)
        kept = getattr(booster, "pandas_categorical", None)
        return _of_text(booster.model_to_string(num_iteration=1)) if kept else None
    if package == "optbinning":
        return _of_scorecard(model)
    if package == "xgboost":
        booster = model if name == "Booster" else getattr(model, "_Booster", None)
        if booster is not None and "c" in (booster.feature_types or ()):
            return _of_document(json.loads(bytes(booster.save_raw(raw_format="json"))))
    return None


def _of_text(text: str) -> Recoding | None:
    """LightGBM: the last line of the model holds the categories of the columns that had any, in order."""
    found = re.findall(r"^pandas_categorical:(.*)$", text, re.MULTILINE)
    try:
        lists = json.loads(found[-1]) if found else None
        if not lists:
            return None
        kept = tuple(tuple(levels) for levels in lists)
        given = {key: re.search(rf"^{key}=(.*)$", text, re.MULTILINE) for key in ("feature_names", "feature_infos")}
        names, seen = (tuple(line[1].split(" ")) if line else () for line in given.values())
        [_observed(one) for one in seen]
    except (ValueError, TypeError) as error:
        raise ModelError(f"the LightGBM model is damaged: its pandas_categorical is unreadable ({error})") from None
    if not len(kept) <= len(names) == len(seen):
        raise ModelError(f"the LightGBM model is damaged: {len(kept)} lists of categories, {len(names)} columns")
    return Recoding(names, kept, seen=seen)


# How XGBoost writes the type of categories that are whole numbers.
_WHOLE = {9: "int8", 10: "uint8", 11: "int16", 13: "int32", 15: "int64"}


def _of_document(document: Mapping[str, Any]) -> Recoding | None:
    """XGBoost from 3.1 on: the categories of every column, as one text with offsets, or as whole numbers."""
    learner = document.get("learner") or {}
    booster = learner.get("gradient_booster") or {}
    stored = ((booster.get("model") or {}).get("cats") or {}).get("enc") or []
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


def _of_scorecard(model: Any) -> Recoding | None:
    """OptBinning: the variables whose categories are no whole numbers."""
    process = fitted(model, "binning_process_")
    names = tuple(map(str, process.variable_names))
    chosen = {str(name) for name in process.get_support(names=True)}
    found = {
        place: levels for place, name in enumerate(names)
        if name in chosen and (levels := categories_of(process.get_binned_variable(name))) is not None
    }  # fmt: skip
    return Recoding(names, tuple(found.values()), tuple(found), typed=False) if found else None


def takes_raw(model: Any, space: Space) -> bool:
    """Whether a model without such a step was still fitted on the space's raw columns: its categories are numbers.

    Raises ModelError for an XGBoost model of such columns that does not say which number a category has.
    """
    types, given = _types_of_xgboost(model)
    if "c" in types and set(given) <= set(space.names) and given != [column.name for column in space.columns]:
        name = next(name for name, kind in zip(given, types, strict=True) if kind == "c")
        raise ModelError(
            f"column `{name}`: the XGBoost model takes numbers for its categories, and does not say which is which: "
            "before 3.1 XGBoost does not store them, and it never knows those that were numbered beforehand",
            hint="Fit it with XGBoost 3.1 or newer on a frame with columns of type `category`, or put an "
            "OrdinalEncoder before it in a Pipeline.",
        )
    encoder, names = getattr(model, "_preprocessor", None), getattr(model, "feature_names_in_", None)
    if encoder is None or names is None or not set(names.tolist()) <= set(space.names):
        return False
    if names.tolist() != [column.name for column in space.columns]:
        return True
    # The names are those of the encoded columns too: what the categories are tells.
    chosen = [space[name] for name, is_ in zip(names.tolist(), model.is_categorical_, strict=True) if is_]
    known = [set(whole(values) or ()) for values in encoder.named_transformers_["encoder"].categories_]
    codes = all(found <= set(range(len(f.levels))) for f, found in zip(chosen, known, strict=True))
    levels = all(found <= set(f.levels) for f, found in zip(chosen, known, strict=True))
    return levels and (not codes or isinstance(model.categorical_features, str))


def _types_of_xgboost(model: Any) -> tuple[list[str], list[str]]:
    """The types and names of an XGBoost model's columns, if it has names."""
    if isinstance(model, ModelFile) and model.format == "xgboost":
        learner = model.content["learner"]
        types, names = learner.get("feature_types"), learner.get("feature_names")
    elif type(model).__module__.split(".")[0] == "xgboost":
        booster: Any = model if type(model).__name__ == "Booster" else getattr(model, "_Booster", None)
        types, names = getattr(booster, "feature_types", None), getattr(booster, "feature_names", None)
    else:
        types = names = None
    if not types or not names or len(types) != len(names):
        return [], []
    return list(map(str, types)), list(map(str, names))


def types_of(model: Any, step: Any, space: Space, *, behind: bool) -> dict[str, str]:
    """The features that the model takes as columns of pandas' type `category` (or one of whole numbers of a type), or
    as `object`, by name.

    behind: whether other steps of a pipeline come before it.
    """
    encoder, found = getattr(model, "_preprocessor", None), dict[str, str]()
    if isinstance(step, Recoding):
        kinds = step.stored or ("",) * len(step.lists)
        for place, kind in zip(step.places or (), kinds, strict=False):
            found[step.names[place]] = kind or ("category" if step.typed else "object")
    elif encoder is not None:
        chosen = np.asarray(getattr(model, "feature_names_in_", [""] * len(model.is_categorical_)))
        known = encoder.named_transformers_["encoder"].categories_
        for name, values in zip(chosen[np.asarray(model.is_categorical_, dtype=bool)].tolist(), known, strict=True):
            if isinstance(model.categorical_features, str):
                found[name] = "category"
            elif np.asarray(values).dtype == object:  # Else its encoder fails where it compares numbers with these.
                found[name] = "object"
    else:
        return {}
    if behind and "object" not in found.values():
        return {f.name: "category" for f in space.features if any(isinstance(level, str) for level in f.levels)}
    return {name: kind for name, kind in found.items() if name in space.names and not space[name].numeric}
