"""What the log of a checkpoint holds: which rows were asked about, and answered, in order."""

import contextlib
from pathlib import Path

from mace.audit.store import reader


def read_log(path: str | Path) -> list[tuple[str, str]]:
    """Every (key, event) of a checkpoint's log; event is "asked" or the outcome."""
    with contextlib.closing(reader(Path(path))) as base:
        return list(base.execute("SELECT key, event FROM log ORDER BY id"))
