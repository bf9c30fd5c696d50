"""A bar on stderr while an audit runs; nothing where stderr is not a terminal."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

from mace.audit.record import MAIN, Record
from mace.base.console import console
from mace.base.escape import one_line

# Called with each new record, how many of this part are done, and how many there are.
Callback: TypeAlias = Callable[[Record, int, int], None]


class Progress:
    """Shows parts one after the other; arguments as in `mace.audit`."""

    def __init__(self, progress: bool | None = None, callback: Callback | None = None) -> None:
        self._call = callback
        self._wanted = sys.stderr.isatty() if progress is None else progress
        self._bar: Any = None
        self._line: Any = None
        self._counts: Counter[str] = Counter()
        self._done = self._total = 0

    def __enter__(self) -> Progress:
        if self._wanted:
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[counts]}", markup=False),
                console=console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._wait("getting ready")
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, part: str, total: int, done: int) -> None:
        """Start a part of which some records are known already."""
        self._counts.clear()
        self._done, self._total = done, total
        if self._bar is not None:
            self._bar.remove_task(self._line)
            name = "rows" if part == MAIN else one_line(part)
            self._line = self._bar.add_task(name, total=total, completed=done, counts="")

    def step(self, record: Record) -> None:
        """One more record."""
        self._done += 1
        self._counts[record.outcome] += 1
        if self._bar is not None:
            counts = ", ".join(f"{count} {name}" for name, count in sorted(self._counts.items()))
            self._bar.update(self._line, advance=1, counts=counts)
        if self._call is not None:
            self._call(record, self._done, self._total)

    def end(self) -> None:
        """The part is over."""
        if self._bar is not None:
            self._bar.remove_task(self._line)
            self._wait("what is next")

    def _wait(self, doing: str) -> None:
        """A bar that only moves, while nothing can be counted."""
        self._line = self._bar.add_task(doing, total=None, counts="")
