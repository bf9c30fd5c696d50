"""A file of rows as a frame: CSV, with the columns that its first line names, or Parquet.

In:  a path; a space, if one is given.    Out: a frame.
Promise: what pandas would guess is refused: which of two columns of one name is meant, and that the first value of
each row is its label where the first line has one name too few. Where a space says what a column holds, nothing is
guessed: the level "NA" is no missing value, "01" is no number, and a cell that is no number spoils no other one.
A Parquet file says of which types its columns are.
"""

from __future__ import annotations

import csv
import re
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace.base.escape import one_line, short
from mace.base.figures import counted
from mace.base.files import is_open, no_text, reason
from mace.base.frames import arrow, in_pandas
from mace.errors import FileError

if TYPE_CHECKING:
    import pandas as pd

    from mace.space.feature import Feature
    from mace.space.space import Space

PARQUET = ".parquet"
PACKED = (".gz", ".bz2", ".zip", ".xz", ".zst", ".tar")  # as pandas unpacks them
OTHER_KINDS = (".xlsx", ".xls", ".ods", ".json", ".jsonl", ".feather", ".pkl", ".pickle")  # of tables
_OTHERS = {";": "semicolons", "\t": "tabs", "|": "bars"}
_EXPECTED = "Expected are a first line with the names of the columns, commas between values, and UTF-8."


def read_rows(path: str, hint: str = "") -> pd.DataFrame:
    """The table in a file, by its ending; raises FileError. hint: where the file cannot be read at all."""
    if Path(path).is_dir():
        raise FileError(f"{path}: this is a folder, not a file", hint=hint)
    if Path(path).suffix.lower() in OTHER_KINDS:
        raise FileError(f"{path}: a table is read from CSV or Parquet", hint="Save it as one of these.")
    return _read_parquet(path, hint) if _is_parquet(path) else read_csv(path, hint)


def _is_parquet(path: str) -> bool:
    return Path(path).suffix.lower() == PARQUET


def _read_parquet(path: str, hint: str) -> pd.DataFrame:
    """The table in a Parquet file, its rows without the labels that they may have there."""
    parquet = arrow().parquet
    try:
        with parquet.ParquetFile(path) as file:
            frame: pd.DataFrame = in_pandas(file.read()).reset_index(drop=True)
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file", hint=hint) from None
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  what a file says of itself is read too, and that may be anything
        raise FileError(f"{path}: cannot be read as Parquet ({one_line(str(error))})", hint=hint) from None
    if not frame.columns.is_unique:
        raise _two_called(path, frame.columns[frame.columns.duplicated()][0])
    return frame


def read_csv(path: str, hint: str = "") -> pd.DataFrame:
    """The table in a CSV file; raises FileError. hint: where the file cannot be read at all."""
    import pandas as pd

    try:
        if Path(path).is_char_device() and not is_open(Path(path)):  # some never end
            raise FileError(f"{path}: this is a device, not a file", hint=hint)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(path, index_col=False)
    except pd.errors.ParserWarning:
        said = "its rows have more values than its first line has names"
        raise FileError(f"{path}: {said}", hint=_EXPECTED) from None
    except FileNotFoundError:
        raise FileError(f"{path}: there is no such file", hint=hint) from None
    except OSError as error:
        raise FileError(f"{path}: cannot be read as CSV ({reason(error)})", hint=hint) from None
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: {no_text(error)}", hint=_EXPECTED) from None
    except pd.errors.EmptyDataError:
        raise FileError(f"{path}: it is empty", hint=_EXPECTED) from None
    except (ValueError, pd.errors.ParserError) as error:
        said = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise FileError(f"{path}: cannot be read as CSV ({said})", hint=_EXPECTED) from None
    names = [str(name) for name in frame.columns]
    if len(names) == 1 and (found := next((mark for mark in _OTHERS if mark in names[0]), None)):
        raise FileError(f"{path}: it has {_OTHERS[found]} between its values, not commas", hint=_EXPECTED)
    texts = frame.select_dtypes(exclude=["number", "bool"])
    if any("\0" in name for name in (*names, *(str(cell) for name in texts for cell in texts[name].unique()))):
        raise FileError(f"{path}: it is no text in UTF-8: it holds the byte 0x00", hint=_EXPECTED)
    if (twice := _twice(path, names)) is not None:
        raise _two_called(path, twice)
    if len(names) > 1 and frame.iloc[:, -1].isna().any() and Path(path).suffix.lower() not in PACKED:
        _check_lengths(Path(path), len(names))
    return frame


def _check_lengths(path: Path, width: int) -> None:
    """Raise FileError for a row with fewer values than there are names: pandas takes what lacks for missing."""
    if not path.is_file():  # what comes through a pipe is read once
        return
    with path.open(encoding="utf-8-sig", newline="") as file, suppress(csv.Error):
        rows = csv.reader(file)
        for row in rows:
            if 0 < len(row) < width and any(cell.strip() for cell in row):
                said = f"its line {rows.line_num} has {counted(len(row), 'value')}, and its first line {width} names"
                raise FileError(f"{path}: {said}", hint="Complete the row; of a value that is missing the comma stays.")


def as_declared(frame: pd.DataFrame, path: str, space: Space) -> pd.DataFrame:
    """The table that `read_rows` read from a file, with the values that the features of a space have there."""
    import pandas as pd

    if _is_parquet(path):
        return frame
    guessed = [f for f in space.features if f.name in frame.columns and _is_guess(f, frame[f.name])]
    if not guessed or not Path(path).is_file():  # what comes through a pipe is read once
        return frame
    texts = pd.read_csv(path, index_col=False, usecols=[f.name for f in guessed], dtype=str, keep_default_na=False)
    read = {f.name: pd.Series(_cells(f, texts[f.name], frame[f.name]), frame.index, dtype=object) for f in guessed}
    return frame.assign(**read)


def _is_guess(feature: Feature, column: pd.Series[Any]) -> bool:
    """Whether pandas may have taken a cell of a column for something else than the feature has."""
    if feature.numeric:
        return column.dtype.kind not in "iuf"
    return any(isinstance(level, str) for level in feature.levels) and (
        column.dtype.kind in "iufb" or bool(column.isna().any())
    )


def _cells(feature: Feature, texts: pd.Series[str], guesses: pd.Series[Any]) -> list[Any]:
    """The values of a column: numbers or levels by their texts; what is none stays as it is, for a message."""
    if feature.numeric:
        return [guess if guess != guess else _number(text) for text, guess in zip(texts, guesses, strict=True)]
    known = {str(level): level for level in feature.levels if level is not None}
    words = all(isinstance(level, str) for level in known.values())
    return [
        known.get(text, guess if guess != guess or not words else text)
        for text, guess in zip(texts, guesses, strict=True)
    ]


def _number(text: str) -> object:
    """The number that a text is; else the text."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text.replace("_", "no digit"))
    return text


def _two_called(path: str, name: str) -> FileError:
    return FileError(f"{path}: two columns are called {short(name)}", hint="Rename one of them, or leave it out.")


def _twice(path: str, names: list[str]) -> str | None:
    """A name that two columns have in the file, of which pandas calls the second `name.1`."""
    renamed = {found[1] for name in names if (found := re.fullmatch(r"(.*)\.\d+", name, re.DOTALL))}
    if not renamed & set(names):
        return None
    import pandas as pd

    first = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, quoting=csv.QUOTE_MINIMAL)
    said = first.iloc[0].tolist()
    return next((name for name in said if said.count(name) > 1), None)
