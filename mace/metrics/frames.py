"""Counterfactuals beside the rows that they answer, as numbers.

In:  the frame of rows, the frame of counterfactuals, the space.
Out: `Pairs`: for each answer the place of its row, and both as numbers: a value, or the index of a level.
Promise: nothing is guessed. The index of a counterfactual is the label of its row (several may have the same one); a
row that is missing throughout is no answer; what cannot be read is a RowError with frame, row, column and reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.arguments import is_frame
from mace.base.escape import short
from mace.base.frames import in_pandas
from mace.base.suggestions import few, meant
from mace.base.values import plain
from mace.errors import RowError
from mace.space.feature import Feature
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

Numbers = NDArray[np.float64]


class Pairs(NamedTuple):
    """Each answer and its row.

    rows:    how many rows were asked about.
    person:  of each answer, the place of its row; shape (answers,), in increasing order.
    place:   of each answer, its place in the frame of counterfactuals; shape (answers,).
    before, after: the row and the answer, shape (answers, features): values of numbers, indices of levels, NaN where a
             number is missing.
    """

    rows: int
    person: NDArray[np.intp]
    place: NDArray[np.intp]
    before: Numbers
    after: Numbers

    def groups(self) -> list[NDArray[np.intp]]:
        """For each row that has answers, their places among all answers."""
        cuts = np.flatnonzero(np.diff(self.person)) + 1
        return [group for group in np.split(np.arange(len(self.person)), cuts) if len(group)]


def framed(rows: object) -> None:
    """Raise RowError for what are no rows of a frame, whose index says which is which."""
    if not is_frame(rows):
        raise RowError(
            f"the rows that were explained are a frame in the space's columns, got {type(rows).__name__}",
            hint="Of a single row: frame.iloc[[0]].",
        )


def paired(rows: pd.DataFrame, counterfactuals: pd.DataFrame, space: Space) -> Pairs:
    """Match counterfactuals with their rows by the index; raises RowError for frames that do not fit."""
    rows, counterfactuals = in_pandas(rows), in_pandas(counterfactuals)
    framed(rows)
    given = answers(counterfactuals, space)
    if not rows.index.is_unique:
        raise RowError("the rows' index has a label twice", hint="rows = rows.reset_index(drop=True)")
    person = rows.index.get_indexer(counterfactuals.index[given])
    if (person < 0).any():
        stranger = counterfactuals.index[given][int(np.argmin(person))]
        raise RowError(
            f"the counterfactuals' index has the label {short(stranger)}, which no row has",
            hint="The index says which row each answers: counterfactuals.index = rows.index.repeat(k), or "
            "counterfactuals.set_axis(rows.index).",
        )
    order = np.argsort(person, kind="stable")
    place = np.flatnonzero(given)[order]
    before = numbers(rows, space, "the rows")
    after = numbers(counterfactuals.iloc[place], space, "the counterfactuals")
    return Pairs(len(rows), person[order], place, before[person[order]], after)


def answers(counterfactuals: pd.DataFrame, space: Space) -> NDArray[np.bool_]:
    """Which rows of a frame of counterfactuals are answers: those that are not missing throughout. Raises RowError."""
    if not hasattr(counterfactuals, "columns"):
        raise RowError(
            f"counterfactuals are a frame in the space's columns, got {type(counterfactuals).__name__}",
            hint="A row that has none is a row of NaN.",
        )
    lacking = [name for name in space.names if name not in counterfactuals.columns]
    if lacking:
        raise RowError(
            f"the counterfactuals have no column `{lacking[0]}`",
            hint=meant(lacking[0], counterfactuals.columns, f"They need every feature: {few(space.names)}."),
        )
    return np.asarray(counterfactuals[space.names].notna().any(axis=1), dtype=np.bool_)


def numbers(frame: pd.DataFrame, space: Space, what: str) -> Numbers:
    """A frame as numbers, shape (rows, features); numbers may lie outside their ranges. Raises RowError."""
    lacking = [name for name in space.names if name not in frame.columns]
    if lacking:
        hint = meant(lacking[0], frame.columns, f"They need {few(space.names)}.")
        raise RowError(f"{what} have no column `{lacking[0]}`", hint=hint)
    out = np.empty((len(frame), len(space.features)))
    for j, feature in enumerate(space.features):
        known: dict[tuple[type, object], float] = {}
        for i, cell in enumerate(frame[feature.name].tolist()):
            try:
                key = (type(cell), cell)
                if key not in known:
                    known[key] = _number(feature, plain(cell))
                out[i, j] = known[key]
            except (RowError, TypeError) as error:
                said = error.message if isinstance(error, RowError) else f"{short(cell)} is no single value"
                hint = error.hint if isinstance(error, RowError) else ""
                raise RowError(f"{what}: row {short(frame.index[i])}, {said}", hint=hint) from None
    return out


def _number(feature: Feature, value: object) -> float:
    """A cell as a number: a value, or the index of a level; NaN for a number that is missing."""
    absent = value is None or isinstance(value, float) and np.isnan(value)
    if absent and not feature.missing:
        raise RowError(
            f"column `{feature.name}`: the value is missing",
            hint="A row that is missing throughout is no answer; one that is missing in part is no row.",
        )
    if not feature.numeric:
        level = feature.read(value)
        assert level is not None
        return float(level)
    if absent:
        return float("nan")
    if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
        raise RowError(f"column `{feature.name}`: expected a number, got {short(value)} ({type(value).__name__})")
    return float(value)
