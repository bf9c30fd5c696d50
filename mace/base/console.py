"""Where tables and bars are printed: rich's console, in which no text of others moves the cursor or changes colours.

In:  what rich can show.    Out: the same, every segment of it through `mace.base.escape`.
Promise: only rich itself writes control sequences; no text is read as markup unless it was made here as markup. Lines
that go to no terminal end with their last word: rich fills the last column of a table with spaces.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from mace.base.escape import lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

ENDS = re.compile(r"(?<! ) +\n")  # looked for once in a run of spaces, not from each of them


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
            escaped = (
                segment if segment.control else Segment(lines(segment.text), segment.style)
                for segment in super().render(*args, **kwargs)
            )  # fmt: skip
            return escaped if self.is_terminal else _bare(escaped)

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # whoever called decides how to end; rich would end the process

    def _bare(segments: Iterable[Segment]) -> Iterable[Segment]:
        """The same without spaces at the ends of lines; they are held back until it is known what follows."""
        held: list[Segment] = []
        for segment in segments:
            text = ENDS.sub("\n", segment.text)
            if text.lstrip(" ").startswith("\n"):
                held, text = [], text.lstrip(" ")
            words = text.rstrip(" ")
            if words or segment.control:
                yield from held
                held = []
                yield segment if segment.control else Segment(words, segment.style)
            if len(words) < len(text):
                held.append(Segment(text[len(words) :], segment.style))
        yield from held

    return Escaped
