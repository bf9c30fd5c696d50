"""How interpret's machines number the categories of a frame: by the bin of their text.

In:  a fitted machine.
Out: `step_of`: the step that looks texts up; None for a machine without nominal features. `bins_of`: the bins of a
     feature.
Promise: texts and whole numbers are looked up as the library does; other values in a nominal column are a ModelError.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mace.compilers.recoding import Recoding
from mace.compilers.sklearn.common import fitted, name_of
from mace.errors import ModelError

if TYPE_CHECKING:
    import pandas as pd


def bins_of(model: Any, feature: int, together: int) -> Mapping[str, int] | Any:
    """The categories of a nominal feature with the numbers of their bins, or the cuts of a number.

    together: of how many features the term is.
    """
    levels = fitted(model, "bins_")[feature]
    if not levels:
        raise ModelError(f"{name_of(model)} is damaged: feature {feature} has no bins")
    found = levels[min(len(levels), together) - 1]
    if not isinstance(found, dict):
        return found
    if not all(type(text) is str and isinstance(place, (int, np.integer)) for text, place in found.items()):
        raise ModelError(f"{name_of(model)} is damaged: feature {feature} has categories that are no texts")
    known = set(map(int, found.values()))
    if known != set(range(1, len(known) + 1)):
        raise ModelError(f"{name_of(model)} is damaged: feature {feature} has bins that are not numbered 1, 2, ..")
    return {text: int(place) for text, place in found.items()}


def made_up(name: str, place: int) -> bool:
    """Whether the library gave a feature this name itself."""
    return name == f"feature_{place:04d}"


@dataclass(frozen=True, eq=False)
class Binned(Recoding):
    """A numbering by bins.

    bins: the texts of each list with the numbers of their bins.
    """

    bins: tuple[Mapping[str, int], ...] = ()

    def transform(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """See `Recoding`."""
        out = np.empty((len(frame), frame.shape[1]))
        bins = dict(zip(self.places or (), self.bins, strict=True))
        for place, name in enumerate(frame.columns):
            column = frame.iloc[:, place]
            if place in bins:
                out[:, place] = [self._bin(bins[place], value, str(name)) for value in column.tolist()]
                continue
            try:
                out[:, place] = column.to_numpy(dtype=np.float64)
            except (TypeError, ValueError):
                raise ModelError(f"the model takes numbers in column `{name}`, and there is text in it") from None
        return out

    @staticmethod
    def _bin(bins: Mapping[str, int], value: Any, name: str) -> float:
        if value is None or value != value:
            return float("nan")
        if isinstance(value, (bool, float)):
            raise ModelError(
                f"column `{name}` is nominal to the model, and {value!r} in it is not supported",
                hint="Write its levels as texts or whole numbers, in the frame and in the space.",
            )
        return float(bins.get(str(value), max(bins.values(), default=0) + 1))


def step_of(model: Any) -> Binned | None:
    """See the module's docstring."""
    types, names = fitted(model, "feature_types_in_"), [str(name) for name in fitted(model, "feature_names_in_")]
    found: dict[int, Mapping[str, int]] = {}
    for place, kind in enumerate(types):
        if kind == "continuous":
            continue
        bins = bins_of(model, place, 1)
        if not isinstance(bins, dict) or len(fitted(model, "bins_")[place]) != 1:
            raise ModelError(f"{name_of(model)} bins `{names[place]}` otherwise in pairs than alone: not supported")
        found[place] = bins
    if found and any(made_up(name, place) for place, name in enumerate(names)):
        raise ModelError(
            f"{name_of(model)} has nominal columns without names", hint="Fit it on a frame with named columns."
        )
    lists = tuple(tuple(bins) for bins in found.values())
    return Binned(tuple(names), lists, tuple(found), typed=False, bins=tuple(found.values())) if found else None
