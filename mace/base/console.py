"""Where tables and bars are printed: rich's console, in which no text of others moves the cursor or changes colours.

In:  what rich can show.    Out: the same, every segment of it through `mace.base.escape`.
Promise: only rich itself writes control sequences; no text is read as markup unless it was made here as markup.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from mace.base.escape import lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console


def console(**settings: Any) -> Console:
    """A console of rich's; settings as rich takes them."""
    found: Console = _kind()(**({"highlight": False, "markup": False, "emoji": False} | settings))
    return found


@cache
def _kind() -> type[Console]:
    from rich.console import Console
    from rich.segment import Segment

    class Escaped(Console):
        def render(self, *args: Any, **kwargs: Any) -> Iterable[Segment]:
            for segment in super().render(*args, **kwargs):
                yield segment if segment.control else Segment(lines(segment.text), segment.style)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # whoever called decides how to end; rich would end the process

    return Escaped
