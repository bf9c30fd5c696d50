"""Infer the features of a space from a frame, and say what was inferred.

bool and two-valued columns become binary, texts and unordered categories categorical, ordered categories ordinal,
whole numbers integer, decimals real with the step of their last place, other numbers real on the grid of the floats
that the column holds; ranges are the observed ones.
A column that lacks values may lack them: what may happen to them is as told, else they stay missing.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mace.base.escape import short
from mace.base.figures import counted
from mace.base.frames import in_pandas, made_of
from mace.base.suggestions import among, few
from mace.errors import SpaceError
from mace.space.feature import Change, Encoding, Feature, Level, Missing

if TYPE_CHECKING:
    import pandas as pd


_FRAME = "For instance pandas.DataFrame(X, columns=names)."


def as_frame(given: Any) -> pd.DataFrame:
    """A frame, of whichever library, as one of pandas; an array of shape (rows, columns) with the names x0, x1, ..;
    raises SpaceError.

    Numbers in the other order of bytes, as files of other machines hold them, are turned: pandas does not count them.
    """
    import pandas as pd

    given = in_pandas(given)
    if isinstance(given, pd.DataFrame):
        turned = {
            name: kind.newbyteorder("=")
            for name, kind in given.dtypes.items()
            if isinstance(kind, np.dtype) and not kind.isnative
        }
        return made_of(given.astype(turned), given) if turned and given.columns.is_unique else given
    try:
        array = np.asarray(given)
    except (TypeError, ValueError):  # what it holds is of several lengths
        raise SpaceError(
            f"expected a frame, or an array of shape (rows, columns); got {type(given).__name__}", hint=_FRAME
        ) from None
    if array.ndim != 2:
        raise SpaceError(
            f"expected a frame, or an array of shape (rows, columns); got {type(given).__name__} "
            f"of shape {getattr(given, 'shape', array.shape)}",  # of a sparse matrix numpy makes a single object
            hint="X.toarray() gives one." if hasattr(given, "toarray") else _FRAME,
        )
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    return pd.DataFrame(array, columns=pd.Index([f"x{place}" for place in range(array.shape[1])])).infer_objects()


def infer(
    frame: pd.DataFrame,
    directions: Mapping[str, Sequence[str]],
    step: Mapping[str, Any],
    ordinal: Mapping[str, Sequence[Level]],
    categorical: Sequence[str],
    encoding: Mapping[str, Encoding],
    unit: Mapping[str, str],
    missing: bool | Missing | Mapping[str, bool | Missing],
) -> tuple[list[Feature], list[str]]:
    """The features, and a note on each; see `Space.from_frame`.

    directions: "fixed", "increase" and "decrease" -> names of columns.
    """
    change: dict[str, Change] = {}
    for direction, names in directions.items():
        if isinstance(names, str):
            raise SpaceError(f"`{direction}` must be a list of column names, got the text {names!r}")
        for column in names:
            if column in change:
                raise SpaceError(f"column `{column}` is declared both `{change[column]}` and `{direction}`")
            change[column] = direction  # type: ignore[assignment]
    told = missing if isinstance(missing, Mapping) else {}
    for what, given in (
        *directions.items(),
        ("step", step),
        ("ordinal", ordinal),
        ("categorical", categorical),
        ("encoding", encoding),
        ("unit", unit),
        ("missing", told),
    ):
        for column in given:
            if column not in frame.columns:
                raise SpaceError(
                    f"{what}: there is no column `{column}`",
                    hint=among(column, frame.columns),
                )
    features: list[Feature] = []
    notes: list[str] = []
    _check_names(frame)
    for column in frame.columns:
        settings, note = _describe(frame[column], column, step, ordinal, column in categorical)
        settings["change"] = change.get(column, "any")
        if "missing" in settings and not isinstance(missing, Mapping):
            settings["missing"] = missing
        if column in told:
            settings["missing"] = told[column]
        if settings.get("lower") is not None and settings["lower"] == settings["upper"]:
            note += "; it has one value only, so it cannot change"
        if column in encoding:
            settings["encoding"] = encoding[column]
        features.append(Feature(column, unit=unit.get(column, ""), **settings))
        notes.append(f"{column}: {note}")
    return features, notes


def _check_names(frame: pd.DataFrame) -> None:
    """Raise SpaceError unless columns have names, and each one of its own."""
    for place, column in enumerate(frame.columns):
        if not isinstance(column, str):
            raise SpaceError(
                f"column names must be texts, got {short(column)}", hint="frame.columns = frame.columns.map(str)"
            )
        if not column:
            raise SpaceError(
                f"column {place + 1} of {len(frame.columns)} has no name (an empty text)",
                hint='Give it one, and fit the model with it: frame.rename(columns={"": "name"}).',
            )
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise SpaceError(f"two columns have the name {short(twice)}", hint="Give each column a name of its own.")


def _describe(
    values: pd.Series[Any], column: str, step: Mapping[str, Any], ordinal: Mapping[str, Sequence[Level]], nominal: bool
) -> tuple[dict[str, Any], str]:
    """Keyword arguments for `Feature`, and a sentence that says why."""
    import pandas as pd

    gone = _gone(values)
    absent = int(gone.sum())
    if absent and absent < len(values):
        settings, note = _describe(values[~gone], column, step, ordinal, nominal)
        return {
            **settings,
            "missing": "keep",
        }, f"{note}; {counted(absent, 'value is', 'values are')} missing, so a value may be"
    if absent:
        raise SpaceError(f"column `{column}` has missing values only", hint="Drop it.")
    if len(values) == 0:
        raise SpaceError(
            f"column `{column}` has no rows to infer a range from",
            hint="Give a table with rows, or a space that states the range.",
        )
    odd = [value for value in values.tolist() if not isinstance(value, Hashable)] if _of_any(values) else []
    if odd:
        raise SpaceError(f"column `{column}`: a cell holds {short(odd[0])}, which is no single value", hint="Drop it.")
    if column in ordinal:
        return {
            "kind": "ordinal",
            "levels": list(ordinal[column]),
        }, f"ordinal with {counted(len(ordinal[column]), 'level')}, as told"
    if isinstance(values.dtype, pd.CategoricalDtype):
        levels = values.cat.categories.tolist()
        kind = "ordinal" if values.cat.ordered else "categorical"
        return {"kind": kind, "levels": levels}, f"{kind} with {counted(len(levels), 'level')}, from its category type"
    numeric = pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)
    if not nominal and _of_any(values) and all(isinstance(value, Decimal) for value in values.tolist()):
        return _decimals(values, column, step.get(column))
    if not numeric or nominal:
        levels = sorted(values.unique().tolist(), key=lambda level: (str(type(level)), level))
        kind = "binary" if len(levels) == 2 and not nominal else "categorical"
        return {"kind": kind, "levels": levels}, f"{kind} with the levels {few(map(_level, levels), 8)}"
    return _of_numbers(values, column, step)


def _of_numbers(values: pd.Series[Any], column: str, step: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The same of a column of numbers, none of which is missing."""
    import pandas as pd

    if pd.api.types.is_complex_dtype(values.dtype):
        raise SpaceError(f"column `{column}` holds complex numbers", hint="Drop it, or give its parts a column each.")
    numbers = values.to_numpy(dtype=np.float64)
    if not np.isfinite(numbers).all():
        row = values.index[np.flatnonzero(~np.isfinite(numbers))[0]]
        raise SpaceError(
            f"column `{column}` holds an infinity, first in row {short(row)}",
            hint="Drop such rows, or let them be missing (NaN).",
        )
    if pd.api.types.is_integer_dtype(values.dtype):
        _check_whole(values, column)
    lower, upper = numbers.min().item(), numbers.max().item()
    whole = bool((numbers == np.floor(numbers)).all())
    if set(np.unique(numbers)) == {0.0, 1.0} and column not in step:
        return {"kind": "binary"}, "binary, 0 or 1"
    if column in step:
        note = f"real, multiples of {step[column]} in {lower:g}..{upper:g} (observed)"
        return {"kind": "real", "lower": lower, "upper": upper, "step": step[column]}, note
    if whole and abs(lower) < 2**53 and abs(upper) < 2**53:
        note = f"integer in {int(lower)}..{int(upper)} (observed)"
        return {"kind": "integer", "lower": int(lower), "upper": int(upper)}, note
    grid = _grid(values.dtype, column)
    settings = {"kind": "real", "lower": lower, "upper": upper, **({} if grid == "float64" else {"grid": grid})}
    return settings, f"real, any {grid} in {lower:g}..{upper:g} (observed)"


def _gone(values: pd.Series[Any]) -> NDArray[np.bool_]:
    """Which values are missing; NaN is so in each type of numbers, of which pandas knows some with another mark."""
    import pandas as pd

    gone = values.isna().to_numpy(dtype=np.bool_)
    if not pd.api.types.is_float_dtype(values.dtype):
        return gone
    return np.asarray(gone | np.isnan(values.to_numpy(dtype=np.float64, na_value=np.nan)), dtype=np.bool_)


def _of_any(values: pd.Series[Any]) -> bool:
    """Whether a column may hold anything: objects of Python, or what Arrow has beside numbers and texts."""
    return values.dtype == object or type(values.dtype).__name__ == "ArrowDtype" and values.dtype.kind == "O"


def _decimals(values: pd.Series[Any], column: str, step: Any) -> tuple[dict[str, Any], str]:
    """A column of decimals: multiples of the last place that any of them has."""
    cells: list[Decimal] = values.tolist()
    if not all(cell.is_finite() for cell in cells):
        row = values.index[[cell.is_finite() for cell in cells].index(False)]
        raise SpaceError(
            f"column `{column}` holds a decimal that is no number, first in row {short(row)}", hint="Drop it."
        )
    places = max(0, *(-int(cell.as_tuple().exponent) for cell in cells))
    least, most = min(cells), max(cells)
    if max(abs(least), abs(most)).scaleb(places) >= 2**53:
        raise SpaceError(
            f"column `{column}` holds decimals of more digits than the models' numbers (float64) tell apart",
            hint="Drop it if it is an identifier; else make it texts, or round it.",
        )
    lower, upper = float(least), float(most)
    if not places and step is None:
        note = f"integer in {int(least)}..{int(most)} (observed)"
        return {"kind": "integer", "lower": int(least), "upper": int(most)}, note
    step = step or f"{Decimal(1).scaleb(-places):f}"
    note = f"real, multiples of {step} in {lower:g}..{upper:g} (observed)"
    return {"kind": "real", "lower": lower, "upper": upper, "step": step}, note


def _grid(dtype: Any, column: str) -> str:
    """The floats that a column can hold: another one would not be the answer's any more, once it is written there.

    Raises SpaceError for half precision, of which there is no grid.
    """
    held = getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype))
    if held == np.float16:
        raise SpaceError(
            f"column `{column}` holds numbers of half precision (float16), and answers would be rounded there",
            hint='Make it frame.astype({"' + column + '": "float32"}), as for the model, or state its `step`.',
        )
    return "float32" if held == np.float32 else "float64"


def _check_whole(values: pd.Series[Any], column: str) -> None:
    """Raise SpaceError for whole numbers of which the models' doubles do not tell one from the next."""
    lost = next((whole for whole in map(int, values.tolist()) if float(whole) != whole), None)
    if lost is not None:
        raise SpaceError(
            f"column `{column}`: the models' numbers (float64) cannot hold {lost}, only whole numbers up to 2^53 and "
            "some beyond",
            hint="Drop it if it is an identifier; else make it texts, or round it.",
        )


def _level(level: Level) -> str:
    """A level as a note shows it: a date without the time that it does not have."""
    if isinstance(level, str):
        return level if level == level.strip() and level else repr(level)
    return str(level).removesuffix(" 00:00:00") if hasattr(level, "isoformat") else short(level)
