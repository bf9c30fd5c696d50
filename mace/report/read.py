"""Audits from files, for a report.

In:  a file: the whole audit (.json, what `Audit.to_dict` holds), its answers (.jsonl, .csv, .parquet), or a checkpoint.
Out: an `Audit`; what a file does not hold is left empty, and the report says so.
Promise: files are only read; what is no audit, or is damaged, is a FileError.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from mace.audit.export import read as read_records
from mace.audit.record import FORMAT, MAIN, Record, checked
from mace.audit.result import Audit
from mace.audit.store import APPLICATION, reader, records_of
from mace.base.suggestions import few
from mace.errors import FileError, RowError

FLAT = (".jsonl", ".csv", ".parquet")
CHECKPOINTS = (".sqlite", ".sqlite3", ".db")
KINDS = (".json", *FLAT, *CHECKPOINTS)
NOT_RECORDED = "(not recorded)"
_GIVE = "Give what `mace audit` wrote: the file of its --checkpoint, or of its --out."
_ABOUT: dict[str, tuple[type, ...]] = {
    "limit": (int, type(None)),
    "frame_rows": (int,),
    "planned": (int,),
    "finished": (bool,),
    "features": (dict,),
    "decisions": (dict,),
    "rules": (list,),
    "restrictions": (dict,),
    "missing": (dict,),
    "digests": (dict,),
    "timeout_seconds": (int, float, type(None)),
    "memory_mb": (int, float, type(None)),
}


def read_audit(path: str | Path, groups: Iterable[str] = ()) -> Audit:
    """The audit in a file; its suffix says which kind it is.

    groups: features by whose value to group the rows, where the file holds no groups (a checkpoint has none).
    Raises FileError for a file that is absent, damaged or of another kind; RowError for an unknown group.
    """
    path = Path(path)
    if path.is_dir():
        held = sorted(one.name for one in path.iterdir() if one.suffix in KINDS)
        hint = f"It holds {few(held)}: name one of these." if held else "Name what --checkpoint or --out of it wrote."
        raise FileError(f"{path}: this is a folder; an audit is one file", hint=hint)
    if not path.is_file():
        raise FileError(f"{path}: there is no such file", hint=_GIVE)
    try:
        if path.suffix == ".json":
            audit = _whole(path)
        elif path.suffix in FLAT:
            records, named = read_records(path)
            audit = Audit(records, {}, named, (), {})
        elif path.suffix in CHECKPOINTS:
            audit = _checkpoint(path)
        else:
            known = ", ".join(KINDS)
            raise FileError(f"{path}: cannot tell the format from the name", hint=f"It should end with one of {known}.")
        _check(audit)
    except (
        OSError,
        sqlite3.Error,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        OverflowError,
    ) as error:
        raise FileError(f"{path}: cannot be read as an audit ({type(error).__name__}: {error})", hint=_GIVE) from None
    return _grouped(audit, groups)


def _whole(path: Path) -> Audit:
    data = json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=_refuse)
    if not isinstance(data, dict) or not {"about", "groups", "extra", "records"} <= set(data):
        lacks = "it lacks its records, or what they are about"
        raise FileError(f"{path}: cannot be read as an audit ({lacks})", hint=_GIVE)
    extra = {str(part): [Record(**one) for one in some] for part, some in data["extra"].items()}
    groups = {str(name): [str(label) for label in labels] for name, labels in data["groups"].items()}
    # Each protected feature has asked what flips when it alone changes.
    protected = data.get("protected") or [part.partition(":")[2] for part in extra if part.startswith("flip:")]
    records = [Record(**one) for one in data["records"]]
    random_state = data.get("random_state", 0)
    return Audit(records, extra, groups, tuple(map(str, protected)), dict(data["about"]), random_state)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _checkpoint(path: Path) -> Audit:
    """The last run that was finished; if there is none, the records alone, with equal rows once."""
    with contextlib.closing(reader(path)) as base:
        (application,) = base.execute("PRAGMA application_id").fetchone()
        (version,) = base.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            raise FileError(f"{path}: this is no checkpoint of an audit")
        if version != FORMAT:
            raise FileError(f"{path}: a checkpoint of format {version}; this version of mace reads format {FORMAT}")
        digests = dict(base.execute("SELECT name, value FROM meta ORDER BY name").fetchall())
        found = list(records_of(base))
        finished = base.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'run'").fetchone()
        run = base.execute("SELECT json FROM run").fetchone() if finished else None
    if run is not None:
        asked = json.loads(run[0], parse_constant=_refuse)
        by_key = {record.key: record for record in found}
        return _finished(asked, by_key) if asked.get("finished", True) else _unfinished(asked, by_key)
    found.sort(key=lambda record: (record.row, record.key))
    extra: dict[str, list[Record]] = {}
    for record in found:
        if record.part != MAIN:
            extra.setdefault(record.part, []).append(record)
    protected = tuple(sorted(part.removeprefix("flip:") for part in extra if part.startswith("flip:")))
    records = [record for record in found if record.part == MAIN]
    about = {"digests": digests, "audited": len(records), "source": "checkpoint"}
    return Audit(records, dict(sorted(extra.items())), {}, protected, about)


def _finished(run: Any, records: dict[str, Record]) -> Audit:
    parts = {
        str(part): [replace(records[key], row=row, label=label) for key, row, label in rows]
        for part, rows in run["rows"].items()
    }
    groups = {str(name): [str(label) for label in labels] for name, labels in run["groups"].items()}
    return Audit(
        parts.pop(MAIN), parts, groups, tuple(map(str, run["protected"])), dict(run["about"]), run["random_state"]
    )


def _unfinished(run: Any, records: dict[str, Record]) -> Audit:
    """What was answered before a run stopped, and of how many rows it was going to ask."""
    planned = run["rows"][MAIN]
    answered = [place for place, (key, _, _) in enumerate(planned) if key in records]
    main = [replace(records[key], row=row, label=label) for key, row, label in (planned[place] for place in answered)]
    groups = {str(name): [str(labels[place]) for place in answered] for name, labels in run["groups"].items()}
    rows, extra = {record.row for record in main}, dict[str, list[Record]]()
    for record in sorted(records.values(), key=lambda record: (record.row, record.key)):
        if record.part != MAIN and record.row in rows:
            extra.setdefault(record.part, []).append(record)
    about = {**run["about"], "planned": len(planned), "finished": False, "audited": len(main)}
    return Audit(main, extra, groups, tuple(map(str, run["protected"])), about, run["random_state"])


def _check(audit: Audit) -> None:
    """Raise ValueError unless every field of every record has its type, so that nothing later stumbles on it."""
    for name, allowed in _ABOUT.items():
        if not isinstance(audit.about.get(name, allowed[0]()), allowed):
            raise ValueError(f"`{name}` is {audit.about[name]!r}")
    if not isinstance(audit.random_state, int):
        raise ValueError(f"`random_state` is {audit.random_state!r}")
    for records in (audit.records, *audit.extra.values()):
        for record in records:
            checked(record)
    for name, labels in audit.groups.items():
        if len(labels) != len(audit.records):
            raise ValueError(f"the group `{name}` has {len(labels)} entries for {len(audit.records)} records")
    _ = audit.period  # raises for a time that is none
    known_rows = {record.row for record in audit.records}
    for part, records in audit.extra.items():
        if not known_rows.issuperset(record.row for record in records):
            raise ValueError(f"{part!r} was asked of rows that have no record")


def _grouped(audit: Audit, names: Iterable[str]) -> Audit:
    groups = dict(audit.groups)
    for name in names:
        if name in groups:
            continue
        if not any(name in record.start for record in audit.records):
            known = sorted({*groups, *(feature for record in audit.records for feature in record.start)})
            raise RowError(f"no record has a feature `{name}` to group by", hint=f"There are {few(known)}.")
        # A query that was killed has left no row behind.
        groups[name] = [str(r.start[name]) if name in r.start else NOT_RECORDED for r in audit.records]
    return replace(audit, groups=groups)
