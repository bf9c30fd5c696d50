"""How LightGBM's models number the categories of a frame by themselves.

In:  a booster, a wrapper for scikit-learn, or a `ModelFile` of theirs.
Out: `step_of`: the step that does so, which still has to find its columns (`Listed.on`); None for a model without one.
Promise: the model keeps its lists of categories without the names of their columns. They are given to the columns of a
space that they fit, in order; where several ways would decide otherwise, or none fits, that is a ModelError.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mace.base.suggestions import among
from mace.compilers.library import descends
from mace.compilers.lightgbm.reader import spelled
from mace.compilers.model_file import ModelFile
from mace.compilers.recoding import Levels, Recoding
from mace.errors import ModelError
from mace.space.feature import Feature
from mace.space.space import Space

MOST_WAYS = 10_000  # to give the lists to columns


def step_of(model: Any) -> Recoding | None:
    """See the module's docstring; raises ModelError for a damaged model."""
    if isinstance(model, ModelFile):
        return _step_of_text(model.content)
    booster: Any = model if descends(model, "lightgbm.Booster") else getattr(model, "_Booster", None)
    kept = getattr(booster, "pandas_categorical", None)
    return _step_of_text(booster.model_to_string(num_iteration=1)) if kept else None


@dataclass(frozen=True, eq=False)
class Listed(Recoding):
    """A numbering whose lists have no columns yet.

    seen: per column what was seen in training, as `feature_infos` of the model writes it.
    """

    seen: tuple[str, ...] = ()

    def on(self, space: Space) -> Recoding:
        """See `Recoding`: its lists are given to the columns that they fit.

        Raises ModelError where LightGBM's lists, which it keeps without names, fit no column, or several.
        """
        known = {spelled(name): name for name in space.names}
        names = tuple(known.get(name, name) for name in self.names)
        if not set(names) & set(space.names):
            return Recoding(names, self.lists)
        for name in names:
            if name not in space.names:
                raise ModelError(
                    f"the model reads the column `{name}`, which the space does not have",
                    hint=among(name, space.names, "The space"),
                )
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


def _step_of_text(text: str) -> Listed | None:
    """The last line of the model holds the categories of the columns that had any, in order."""
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
    return Listed(names, kept, seen=seen)
