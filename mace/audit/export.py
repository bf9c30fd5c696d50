"""Records as tables: Parquet, CSV, JSON Lines, and back; the whole audit as JSON.

Promise: `read(save(audit, path))` gives the records and groups again, whatever the format. Nested values are JSON texts
in the flat formats; floats are written so that they read back as the same floats. In CSV a text that a spreadsheet
would take for a formula stands behind an apostrophe.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mace.audit.record import NAMES, NESTED, Record, from_cells, to_cells
from mace.base.escape import from_cell, json_text, short, to_cell
from mace.base.files import check_folder, draft_of
from mace.base.frames import arrow
from mace.errors import FileError

if TYPE_CHECKING:
    import pandas as pd

Groups: TypeAlias = Mapping[str, Sequence[str]]  # name -> the group of each record

GROUP = "group: "  # before the name of a group's column
_TYPES = {part.name: str(part.type) for part in fields(Record)}


class Saved(NamedTuple):
    """What is written: the records and groups, and the whole audit as plain values."""

    records: Sequence[Record]
    groups: Groups
    whole: Callable[[], dict[str, Any]]


def rows_of(records: Sequence[Record], groups: Groups) -> list[dict[str, Any]]:
    """One flat row a record, groups last."""
    return [
        to_cells(record) | {GROUP + name: labels[place] for name, labels in groups.items()}
        for place, record in enumerate(records)
    ]


def columns_of(groups: Groups) -> list[str]:
    """The columns of the flat table."""
    return [*NAMES, *(GROUP + name for name in groups)]


def to_frame(records: Sequence[Record], groups: Groups) -> pd.DataFrame:
    """The flat table as a frame."""
    import pandas as pd

    return pd.DataFrame(rows_of(records, groups), columns=columns_of(groups))


def save(path: Path, records: Sequence[Record], groups: Groups, whole: Callable[[], dict[str, Any]]) -> Path:
    """Write the records, or for .json the whole audit, in the format that the suffix names; raises FileError.

    The file appears whole or not at all.
    """
    check_name(path)
    with draft_of(path) as draft:
        _WRITERS[path.suffix](Saved(records, groups, whole), draft)
    return path


def read(path: str | Path) -> tuple[list[Record], dict[str, list[str]]]:
    """The records and groups of a file that `save` wrote; raises FileError."""
    path = Path(path)
    _check_format(path)
    try:
        rows = _READERS[path.suffix](path)
        records = [from_cells(row) for row in rows]
    except KeyError as error:
        raise FileError(
            f"{path}: holds no records of an audit: it has no column {short(error.args[0])}",
            hint="Give the file that `mace audit --out` wrote, or its checkpoint.",
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise FileError(f"{path}: cannot be read as the records of an audit ({error})") from None
    names = [name for name in (rows[0] if rows else {}) if name.startswith(GROUP)]
    return records, {name.removeprefix(GROUP): [str(row[name]) for row in rows] for name in names}


def check_name(path: Path) -> None:
    """Raise FileError unless the name says which format is meant, and a file of this name can be written."""
    _check_format(path)
    check_folder(path)


def _check_format(path: Path) -> None:
    """Raise FileError unless the name says which format is meant."""
    if path.suffix not in _WRITERS:
        raise FileError(
            f"{path}: cannot tell the format from the name", hint=f"End it with one of {', '.join(_WRITERS)}."
        )


def _write_lines(audit: Saved, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows_of(audit.records, audit.groups):
            row |= {name: json.loads(row[name]) for name in NESTED}
            file.write(json_text(row) + "\n")


def _read_lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8-sig") as file:
        rows = [json.loads(line) for line in file]
    return [row | {name: json.dumps(row[name], ensure_ascii=False) for name in NESTED} for row in rows]


def _write_csv(audit: Saved, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns_of(audit.groups), lineterminator="\n")
        writer.writeheader()
        for row in rows_of(audit.records, audit.groups):
            writer.writerow({name: to_cell(cell) if isinstance(cell, str) else cell for name, cell in row.items()})


def _read_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [{name: _typed(name, cell) for name, cell in row.items()} for row in csv.DictReader(file)]


def _typed(name: str, cell: str) -> Any:
    """A cell of a CSV file as the type that its column has."""
    kind = _TYPES.get(name, "str")
    if kind.endswith("| None") and cell == "":
        return None
    if kind == "int":
        return int(cell)
    if kind == "bool":
        return cell == "True"
    return float(cell) if kind.startswith("float") else from_cell(cell)


def _write_parquet(audit: Saved, path: Path) -> None:
    pa = arrow()
    kinds = {"int": pa.int64(), "bool": pa.bool_(), "float": pa.float64(), "float | None": pa.float64()}
    schema = pa.schema([(name, kinds.get(_TYPES.get(name, "str"), pa.string())) for name in columns_of(audit.groups)])
    pa.parquet.write_table(pa.Table.from_pylist(rows_of(audit.records, audit.groups), schema=schema), path)


def _read_parquet(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = arrow().parquet.read_table(path).to_pylist()
    return rows


def _write_whole(audit: Saved, path: Path) -> None:
    path.write_text(json_text(audit.whole()) + "\n", encoding="utf-8")


def _read_whole(path: Path) -> list[dict[str, Any]]:
    data = json.loads(path.read_text(encoding="utf-8-sig"))
    rows = [to_cells(Record(**one)) for one in data["records"]]
    return [
        row | {GROUP + name: labels[place] for name, labels in data["groups"].items()} for place, row in enumerate(rows)
    ]


_WRITERS: dict[str, Callable[[Saved, Path], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".jsonl": _write_lines,
    ".json": _write_whole,
}
_READERS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    ".parquet": _read_parquet,
    ".csv": _read_csv,
    ".jsonl": _read_lines,
    ".json": _read_whole,
}
