"""Frames of other libraries than pandas, and the library that reads and writes Parquet.

In:  whatever somebody gives in the place of a frame.
Out: `in_pandas`: a frame of polars, pyarrow or another library that turns its own into pandas' as such; all else as it
     is. `as_given`: of such a frame of pandas the one that it was made of. `arrow`: pyarrow, with what reads and writes
     Parquet.
Promise: nothing else looks at whose frame it is.
"""

from __future__ import annotations

from typing import Any, TypeVar

from mace.base.classes import package_of
from mace.base.escape import one_line
from mace.errors import FileError, MaceError

T = TypeVar("T")
_MADE_OF = "_mace_made_of"
_WHOLE = {"int64": "Int64", "uint64": "UInt64"}  # types that hold more than floats do, and pandas' own with a gap


def in_pandas(given: T) -> T:
    """A frame of another library as one of pandas; raises MaceError where that cannot be made."""
    check_read(given)
    if hasattr(given, "iloc") or not all(hasattr(type(given), name) for name in ("to_pandas", "columns")):
        return given
    try:
        return made_of(_whole(given.to_pandas(), given), given)  # type: ignore[attr-defined, no-any-return]
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  whatever another library says
        whose = package_of(type(given))
        raise MaceError(
            f"the frame of {one_line(whose)} could not be turned into one of pandas: {one_line(str(error))}",
            hint="Give pandas.DataFrame(..) of its columns; polars takes pyarrow for it: pip install pyarrow.",
        ) from None


def check_read(given: object) -> None:
    """Raise MaceError for a frame of polars of which nothing has been read."""
    if type(given).__name__ == "LazyFrame":
        raise MaceError("a LazyFrame holds a plan of what to read, and no rows", hint="Give frame.collect().")


def kinds(given: Any) -> list[Any]:
    """The types of a frame's columns, in order, as its library has them."""
    return list(given.schema.types if hasattr(given, "column_names") else given.dtypes)


def _whole(frame: Any, given: Any) -> Any:
    """The frame, its whole numbers beyond 2^53 as they are: where others are missing, they were rounded to floats."""
    import pandas as pd

    names = getattr(given, "column_names", given.columns)
    held = dict(zip(names, map(str, kinds(given)), strict=True))
    for place, name in enumerate(map(str, frame.columns)):
        column, kind = frame.iloc[:, place], held.get(name, "").lower()
        if kind in _WHOLE and column.dtype == "float64" and column.abs().max() >= 2**53:
            cells = given[name].to_pylist() if hasattr(given, "column_names") else given[name].to_list()
            frame.isetitem(place, pd.Series(cells, frame.index, dtype=_WHOLE[kind]))
    return frame


def made_of(frame: T, given: object) -> T:
    """A frame of pandas, which from now on remembers what it was made of; copies and parts of it do not."""
    if given is not frame:
        object.__setattr__(frame, _MADE_OF, given)  # pandas would look for a column
    return frame


def as_given(frame: Any) -> Any:
    """What a frame of pandas was made of, which a model may take otherwise than it; else the frame itself."""
    return vars(frame).get(_MADE_OF, frame)


def arrow() -> Any:
    """pyarrow, with `parquet`; raises FileError where it is not installed."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise FileError("Parquet needs pyarrow", hint="pip install 'mace-smt[parquet]', or use .csv.") from None
    return pyarrow
