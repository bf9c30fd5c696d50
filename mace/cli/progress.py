"""How far a search or an audit is, on stderr.

In:  brackets, as the driver reports them; the answers of an audit.
Out: on a terminal a line with the two bounds closing in; of an audit elsewhere a line now and then.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from mace.base.console import console
from mace.cli.options import say

if TYPE_CHECKING:
    from mace.solve.driver import Bracket


class Progress:
    """A line on stderr with the two bounds closing in; nothing where stderr is not a terminal."""

    def __enter__(self) -> Any:
        self.status: Any = None
        if sys.stderr.isatty():
            self.status = console(stderr=True).status("asking ..")
            self.status.start()
        return self._show

    def _show(self, bracket: Bracket) -> None:
        if self.status is not None:
            upper = float(bracket.upper) if bracket.upper is not None else None
            lower = float(bracket.lower)
            width = 30
            left = round(width * lower / upper) if upper else 0
            bar = "━" * left + "╌" * (width - left)
            shown = f"{upper:.6g}" if upper is not None else "?"
            self.status.update(f"{lower:.6g} {bar} {shown}  ({len(bracket.trace)} questions)")

    def __exit__(self, *_: object) -> None:
        if self.status is not None:
            self.status.stop()


class Lines:
    """How far an audit is, as a line on stderr now and then: for a log, or a terminal that shows no bars."""

    EVERY = 10.0  # seconds

    def __init__(self) -> None:
        self.began = self.last = time.perf_counter()

    def __call__(self, _: object, done: int, total: int) -> None:
        """One more answer: `done` of `total` of this part."""
        now = time.perf_counter()
        if now - self.last >= self.EVERY or done == total:
            self.last = now
            say(f"mace: {done:,} of {total:,} answered, {_duration(now - self.began)}", err=True)


def _duration(seconds: float) -> str:
    """`42 s`, `3 min 5 s`, `2 h 10 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    return f"{whole // 60} min {whole % 60} s" if whole < 3600 else f"{whole // 3600} h {whole % 3600 // 60} min"
