"""How far a search or an audit is, on stderr.

In:  brackets, as the driver reports them; the answers of an audit.
Out: on a terminal a line with the two bounds closing in; of an audit elsewhere a line now and then.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from mace.base.console import console
from mace.cli.alive import alive
from mace.cli.output import say
from mace.present.closing import bar

if TYPE_CHECKING:
    from mace.audit.record import Record
    from mace.solve.driver import Bracket


class Progress:
    """A line on stderr with the two bounds closing in; nothing where stderr is not a terminal."""

    def __enter__(self) -> Any:
        self.status: Any = None
        alive.doing = "searching"
        if sys.stderr.isatty():
            alive.hush()
            self.status = console(stderr=True).status("asking ..")
            self.status.start()
        return self._show

    def _show(self, bracket: Bracket) -> None:
        if self.status is not None:
            self.status.update(bar(bracket))

    def __exit__(self, *_: object) -> None:
        alive.doing = "writing the proof"  # what comes after the search
        if self.status is not None:
            self.status.stop()
            alive.resume()


# What else an audit asks about each row, by the name of the part.
PARTS = {
    "flip": " (whether {} alone decides)",
    "fixed": " (with {} as it is)",
    "increase": " (with {} not lower)",
    "core": " (what blocks)",
}


class Lines:
    """How far an audit is, as a line on stderr now and then: for a log, or a terminal that shows no bars."""

    EVERY = 10.0  # seconds

    def __init__(self) -> None:
        self.began = self.last = time.perf_counter()
        alive.hush()

    def __call__(self, record: Record | None, done: int, total: int) -> None:
        """One more answer: `done` of `total` of this part."""
        now = time.perf_counter()
        if now - self.last >= self.EVERY or done == total:
            self.last = now
            kind, _, feature = ("" if record is None else record.part).partition(":")
            about = PARTS.get(kind, "").format(feature)
            say(f"mace: {done:,} of {total:,} answered{about}, {_duration(now - self.began)}", err=True)


def _duration(seconds: float) -> str:
    """`42 s`, `3 min 5 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"


class Beat:
    """A sign of life on stderr while one step takes long: what is done, then every few seconds for how long."""

    EVERY = 2.0  # seconds

    def __init__(self, doing: str) -> None:
        self.doing, self._over = doing, threading.Event()

    def __enter__(self) -> Beat:
        self.began = time.perf_counter()
        alive.hush()
        say(f"mace: {self.doing} ..", err=True)
        self._thread = threading.Thread(target=self._tick, daemon=True)
        self._thread.start()
        return self

    def _tick(self) -> None:
        while not self._over.wait(self.EVERY):
            say(f"mace: {self.doing}, {_duration(time.perf_counter() - self.began)}", err=True)

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        alive.resume()
