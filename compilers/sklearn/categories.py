"""How scikit-learn's histogram boosters number the categories of a frame by themselves: with an encoder of their own.

In:  a fitted model of any class of scikit-learn.
Out: `step_of`: that encoder, unless its categories are whole numbers, which the table reads as they are; else None.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.compilers.sklearn.boosting import numbered_by, whole
from mace.space.space import Space


def step_of(model: Any) -> Any:
    """See the module's docstring."""
    return numbered_by(model)


def _known(model: Any) -> list[Any]:
    """The categories of every column that has some."""
    return list(model._preprocessor.named_transformers_["encoder"].categories_)


def takes_raw(model: Any, space: Space) -> bool:
    """Whether a model whose categories are whole numbers was fitted on the space's raw columns."""
    encoder, names = getattr(model, "_preprocessor", None), getattr(model, "feature_names_in_", None)
    if encoder is None or names is None or not set(names.tolist()) <= set(space.names):
        return False
    if names.tolist() != [column.name for column in space.columns]:
        return True
    # The names are those of the encoded columns too: what the categories are tells.
    chosen = [space[name] for name, is_ in zip(names.tolist(), model.is_categorical_, strict=True) if is_]
    known = [set(whole(values) or ()) for values in _known(model)]
    codes = all(found <= set(range(len(f.levels))) for f, found in zip(chosen, known, strict=True))
    levels = all(found <= set(f.levels) for f, found in zip(chosen, known, strict=True))
    return levels and (not codes or isinstance(model.categorical_features, str))


def types_of(model: Any) -> dict[str, str] | None:
    """The columns that the model takes as pandas' type `category`, or as `object`, by name; None without an encoder."""
    if getattr(model, "_preprocessor", None) is None:
        return None
    found: dict[str, str] = {}
    chosen = np.asarray(getattr(model, "feature_names_in_", [""] * len(model.is_categorical_)))
    chosen = chosen[np.asarray(model.is_categorical_, dtype=bool)]
    for name, values in zip(chosen.tolist(), _known(model), strict=True):
        if isinstance(model.categorical_features, str):
            found[name] = "category"
        elif np.asarray(values).dtype == object:  # Else its encoder fails where it compares numbers with these.
            found[name] = "object"
    return found
