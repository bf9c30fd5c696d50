"""The checkpoint: records in an SQLite file, so that a run that was killed goes on where it was.

In:  the digests of the question (model, space, rules, goal, distance, limits), then records.
Out: the records of earlier runs of the same question.
Promise: a file of another version or another question is refused and left as it is, and so is one with a record that is
not as it was written: each has its digest beside it (against damage, and edits by hand; who forges a record may forge
its digest). Each record is in the file before the next is waited for, in WAL mode with one writer; a killed process
loses the queries in flight and nothing else.
The table `log` has a line for every query asked and every one answered, so that anyone can count.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from mace.audit.record import FORMAT, MAIN, Record, from_json, to_json
from mace.base.escape import json_text
from mace.base.files import check_folder, reason
from mace.errors import FileError

if TYPE_CHECKING:
    from mace.audit.result import Audit

APPLICATION = 0x6D616365  # "mace", in the header of the file
TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE records (key TEXT PRIMARY KEY, part TEXT NOT NULL, outcome TEXT NOT NULL, json TEXT NOT NULL,
    sha256 TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE log (id INTEGER PRIMARY KEY, key TEXT NOT NULL, event TEXT NOT NULL);
"""
# Beside them, what the last run asks, from its begin; once it has finished, with the rows of all findings.
RUN = "CREATE TABLE IF NOT EXISTS run (id INTEGER PRIMARY KEY CHECK (id = 0), json TEXT NOT NULL)"


class Store:
    """Records by key; kept in memory only when no file is given.

    parts: the digests of the question, by name.
    Raises FileError for a file that is no checkpoint, of another version, of another question, or in use.
    """

    def __init__(self, path: str | Path | None, parts: Mapping[str, str]) -> None:
        self.path = None if path is None else Path(path)
        self.records: dict[str, Record] = {}
        self._lock: int | None = None
        self._base: sqlite3.Connection | None = None
        if self.path is None:
            return
        check_folder(self.path)
        try:
            new = not self.path.exists() or self.path.stat().st_size == 0 or _holds_nothing(self.path)
            if not new:
                _refuse_strangers(self.path, parts)
            self._take_lock()
            self._base = sqlite3.connect(self.path, isolation_level=None)
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA synchronous=NORMAL")
            if new:
                self._create(parts)
            self.records |= {record.key: record for record in records_of(self._base)}
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise FileError(f"{self.path}: the checkpoint cannot be used ({reason(error)})") from None
        except (ValueError, TypeError) as error:
            self.close()
            raise FileError(
                f"{self.path}: a record in the checkpoint is damaged ({error})",
                hint="Put the file back as it was, or give one that does not exist yet.",
            ) from None
        except BaseException:
            self.close()
            raise

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Statements that are all kept, or none of them; raises FileError where the file takes no more."""
        assert self._base is not None
        try:
            self._base.execute("BEGIN")
            yield self._base
            self._base.execute("COMMIT")
        except sqlite3.Error as error:
            raise FileError(
                f"{self.path}: the checkpoint takes no more answers ({error})",
                hint="What it holds stays there. Make room: the same command then goes on.",
            ) from None

    def _create(self, parts: Mapping[str, str]) -> None:
        with self._transaction() as base:
            for statement in TABLES.strip().split(";"):
                if statement.strip():
                    base.execute(statement)
            base.executemany("INSERT INTO meta VALUES (?, ?)", sorted(parts.items()))
            base.execute(f"PRAGMA application_id={APPLICATION}")
            base.execute(f"PRAGMA user_version={FORMAT}")

    def asked(self, keys: Iterable[str]) -> None:
        """Note that these queries were handed to a worker."""
        if self._base is not None:
            with self._transaction() as base:
                base.executemany("INSERT INTO log (key, event) VALUES (?, 'asked')", [(key,) for key in keys])

    def put(self, record: Record) -> None:
        """Keep a record; it replaces an earlier one of the same key."""
        self.records[record.key] = record
        if self._base is not None:
            with self._transaction() as base:
                base.execute(
                    "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?)",
                    (record.key, record.part, record.outcome, line := to_json(record), _digest(line)),
                )
                base.execute("INSERT INTO log (key, event) VALUES (?, ?)", (record.key, record.outcome))

    def keep_run(self, audit: Audit) -> None:
        """Keep what the last finished run asked, and of which rows: the file alone is then enough for a report."""
        parts = {MAIN: audit.records, **audit.extra}
        rows = {part: [[r.key, r.row, r.label] for r in records] for part, records in parts.items()}
        self._keep(audit, rows, finished=True)

    def keep_plan(self, audit: Audit, rows: Sequence[tuple[str, int, str]]) -> None:
        """Keep what a run is about to ask: a report of it says how much of that was answered when it stopped.

        audit: without records. rows: key, place and label of each.
        """
        self._keep(audit, {MAIN: [list(row) for row in rows]}, finished=False)

    def _keep(self, audit: Audit, rows: Mapping[str, list[list[Any]]], *, finished: bool) -> None:
        if self._base is None:
            return
        run = {
            "about": audit.about,
            "groups": audit.groups,
            "protected": list(audit.protected),
            "random_state": audit.random_state,
            "rows": rows,
            "finished": finished,
        }
        with self._transaction() as base:
            base.execute(RUN)
            base.execute("INSERT OR REPLACE INTO run VALUES (0, ?)", (json_text(run),))

    def _take_lock(self) -> None:
        """One writer at a time; the system frees the lock of a process that died."""
        assert self.path is not None
        try:
            import fcntl
        except ImportError:
            return  # Windows: sqlite's own locks keep the file whole, two audits at once would only waste time
        self._lock = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileError(
                f"{self.path}: another audit is writing to this checkpoint", hint="Wait for it, or give another file."
            ) from None

    def close(self) -> None:
        """Close the file; the lock last, because closing any handle of the file would free sqlite's own locks."""
        if self._base is not None:
            with contextlib.suppress(sqlite3.Error):
                self._base.close()
            self._base = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _holds_nothing(path: Path) -> bool:
    """Whether a file is a database without a table, as a run leaves one that was stopped at its very first step."""
    try:
        with contextlib.closing(reader(path)) as base:
            (application,) = base.execute("PRAGMA application_id").fetchone()
            return application == 0 and base.execute("SELECT 1 FROM sqlite_master").fetchone() is None
    except sqlite3.DatabaseError:
        return False


def _refuse_strangers(path: Path, parts: Mapping[str, str]) -> None:
    """Raise FileError unless the file is a checkpoint of this version and this question. Only reads."""
    with contextlib.closing(reader(path)) as base:
        try:
            (application,) = base.execute("PRAGMA application_id").fetchone()
            (version,) = base.execute("PRAGMA user_version").fetchone()
            found = dict(base.execute("SELECT name, value FROM meta")) if application == APPLICATION else {}
        except sqlite3.DatabaseError as error:
            raise FileError(
                f"{path}: this is no checkpoint of an audit ({error})", hint="Give a file that does not exist yet."
            ) from None
    if application != APPLICATION:
        raise FileError(f"{path}: this is no checkpoint of an audit", hint="Give a file that does not exist yet.")
    if version != FORMAT:
        raise FileError(
            f"{path}: a checkpoint of format {version}; this version of mace writes format {FORMAT}",
            hint="Use the version that wrote it, or give a file that does not exist yet.",
        )
    other = [name for name in sorted({*parts, *found}) if parts.get(name) != found.get(name)]
    if other:
        read = (
            " A model counts as it was read, which another version of mace may do otherwise."
            if "model" in other
            else ""
        )
        raise FileError(
            f"{path}: a checkpoint of another question; these differ: {', '.join(other)}",
            hint="Ask the same question again, or give a file that does not exist yet." + read,
        )


def reader(path: Path) -> sqlite3.Connection:
    """A checkpoint to read from. Nothing is written, not even beside it."""
    # While a log of changes lies beside the file, it must be read too, for which SQLite makes an index there.
    how = "mode=ro" if path.with_name(path.name + "-wal").exists() else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True)


def records_of(base: sqlite3.Connection) -> Iterator[Record]:
    """The records of a checkpoint, by their keys; raises ValueError for one that is not as it was written."""
    for key, line, sha256 in base.execute("SELECT key, json, sha256 FROM records ORDER BY key"):
        record = from_json(line)
        if record.key != key:
            raise ValueError(f"row {record.row}: it is the answer to another question")
        if sha256 != _digest(line):
            raise ValueError(f"row {record.row}: it is not as it was written")
        yield record


def _digest(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()
