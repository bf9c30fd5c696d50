"""How CatBoost's models number the categories of a frame by themselves: by a hash of their text.

In:  a model, or a `ModelFile` of one.
Out: `step_of`: the step that does so; None for a model without columns of categories.
Promise: the numbers are places in the model's own lists of hashes; a category that no split asks for has the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mace.compilers.catboost.hashing import hash_of
from mace.compilers.catboost.model import Content
from mace.compilers.catboost.reader import content_of
from mace.compilers.model_file import ModelFile
from mace.compilers.recoding import Levels, Recoding
from mace.errors import ModelError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Hashed(Recoding):
    """A numbering whose lists hold hashes of categories."""

    def codes(self, column: pd.Series[Any], known: Levels, name: object) -> NDArray[np.float64]:
        """See `Recoding`; raises ModelError for what CatBoost takes for no category."""
        places = {number: k for k, number in enumerate(known)}
        codes = {level: places.get(hash_of(level, str(name)), len(places)) for level in set(column.tolist())}
        return np.array([codes[level] for level in column.tolist()], dtype=np.float64)


def step_of(model: Any) -> Hashed | None:
    """See the module's docstring; raises ModelError for a damaged model."""
    content = model.content if isinstance(model, ModelFile) else None
    if content is None:
        if not model.is_fitted() or not model.get_cat_feature_indices():
            return None
        content = content_of(model)
    assert isinstance(content, Content)
    if not content.categories:
        return None
    if not all(content.names):
        raise ModelError(
            "the CatBoost model has columns of categories without names", hint="Fit it on a frame with named columns."
        )
    lists, places = tuple(one.values for one in content.categories), tuple(one.place for one in content.categories)
    return Hashed(content.names, lists, places, typed=False)
