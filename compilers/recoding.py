"""The step that numbers a model's categories, before any tree sees a row, where the model does so by itself.

In:  what a library keeps of the categories in its models (read in the library's folder).
Out: a `Recoding`, to be run like a step of a pipeline.
Promise: the numbers are the library's own. LightGBM and XGBoost (from 3.1 on) keep the categories of every column in
their model and look a row's values up there, in whatever order the row's frame holds them; here pandas does the same
look-up. A value that is not among them is a missing one to LightGBM, and an error to XGBoost: then a ModelError names
column and value. To an OptBinning scorecard, which looks up texts, it is a bin of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mace.errors import ModelError
from mace.space.feature import Level
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

Levels = tuple[Level, ...]


@dataclass(frozen=True, eq=False)
class Recoding:
    """What LightGBM and XGBoost do to a frame: a category becomes its number in the model's own list, NaN stays.

    names:   the model's columns, in order.
    lists:   the categories that the model keeps, in the order of their numbers.
    places:  the columns that they belong to, one a list; None: in order, the columns of type `category`.
    refuses: the library whose `predict` fails for other categories; "" where they count as missing.
    stored:  the types of whole numbers that XGBoost insists on, one a list; "" for texts.
    typed:   whether these columns have pandas' type `category`; else any, and other categories get the next number.
    """

    names: tuple[str, ...]
    lists: tuple[Levels, ...]
    places: tuple[int, ...] | None = None
    refuses: str = ""
    stored: tuple[str, ...] = ()
    typed: bool = True

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
            out[:, place] = self.codes(column, lists[place], name) if place in lists else _numbers(column, name)
        return out

    def codes(self, column: pd.Series[Any], known: Levels, name: object) -> NDArray[np.float64]:
        """The numbers of a column of categories; see `transform`."""
        import pandas as pd

        if not self.typed:
            codes = np.asarray(pd.Categorical(column, list(known)).codes)
            return np.where(column.isna(), np.nan, np.where(codes < 0, len(known), codes))
        if not isinstance(column.dtype, pd.CategoricalDtype):
            raise ModelError(f"the model takes categories in column `{name}`, which reaches it as {column.dtype}")
        if self.refuses and (odd := [level for level in column.cat.categories.tolist() if level not in known]):
            raise ModelError(
                f"column `{name}`: {self.refuses} has not seen in training, and fails for, the category "
                + ", ".join(map(repr, odd)),
                hint=f"Leave what it has not seen out of the levels of `{name}` in the space.",
            )
        codes = column.cat.set_categories(list(known)).cat.codes.to_numpy()
        return np.where(codes < 0, np.nan, codes)

    def followed(self, columns: Sequence[Any]) -> list[Any]:
        """The columns that leave it, as `mace.compilers.pipeline.steps.Traced`, of those that enter it."""
        return list(columns)

    def on(self, space: Space) -> Recoding:
        """The same with the names of a space's features. Raises ModelError where it does not fit the space."""
        del space  # The names are the features' own.
        return self

    def types(self) -> dict[str, str]:
        """The columns taken as pandas' type `category`, one of whole numbers, or as `object`, by name."""
        kinds = self.stored or ("",) * len(self.lists)
        plain = "category" if self.typed else "object"
        return {self.names[place]: kind or plain for place, kind in zip(self.places or (), kinds, strict=False)}


def _numbers(column: pd.Series[Any], name: object) -> NDArray[np.float64]:
    """A column without categories."""
    try:
        return column.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(
            f"the model takes numbers in column `{name}`, and there is text in it",
            hint="Was it fitted on another frame than the space describes?",
        ) from None
