"""The progress of a search on stderr: a line with the two bounds closing in.

In:  brackets, as the driver reports them.    Out: nothing where stderr is not a terminal.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from mace.base.console import console

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
