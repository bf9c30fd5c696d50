"""Two bounds closing in, in a notebook, while an answer is looked for.

In:  brackets, as the search reports them.    Out: a line below the cell, which is wiped away at the end.
Promise: outside of a notebook, and of quick answers, nothing is shown.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from mace.base.deadline import now
from mace.base.figures import at_least, at_most

if TYPE_CHECKING:
    from mace.solve.driver import Bracket

PATIENCE = 1.0  # seconds that an answer may take before anything is shown


class Line:
    """A line of a notebook that changes."""

    def __init__(self) -> None:
        self._began, self._handle = now(), None

    def __call__(self, bracket: Bracket) -> None:
        """Show how far a search is."""
        if now() - self._began >= PATIENCE:
            self._show(bar(bracket))

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            self._show("")

    def _show(self, said: str) -> None:
        display: Any = sys.modules["IPython.display"]
        html = display.HTML(f"<code>{said}</code>" if said else "")
        if self._handle is None:
            self._handle = display.display(html, display_id=True)
        else:
            self._handle.update(html)


def line() -> Line | None:
    """A line of the notebook that this runs in; None where it does not run in one."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    there = getattr(shell, "kernel", None) is not None and "IPython.display" in sys.modules
    return Line() if there else None


def bar(bracket: Bracket, width: int = 30) -> str:
    """The two bounds, and between them how much of the upper one is proved: `between 0.01 ━━╌╌ and 0.02`."""
    lower, upper = float(bracket.lower), None if bracket.upper is None else float(bracket.upper)
    left = round(width * lower / upper) if upper else 0
    asked = len(bracket.trace)
    count = f"  ({asked} questions)" if asked > 1 else ""
    shown = "?" if bracket.upper is None else at_most(bracket.upper, 6)
    return f"between {at_least(bracket.lower, 6)} {'━' * left}{'╌' * (width - left)} and {shown}{count}"
