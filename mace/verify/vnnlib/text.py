"""S-expressions: a text as nested lists of atoms, each with its place.

In:  a text, and the name of its file for messages.
Out: a `Text`, and the expressions of its top level.
Promise: no recursion, and limits on size and depth: a hostile text ends in a ProgramError with line and column.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from mace.errors import ProgramError, Span

DEEPEST = 200
MOST_TOKENS = 4_000_000
# A word may end in brackets, with whatever stands in these: `X[0, 3]`.
TOKEN = re.compile(r";[^\n]*|[()]|\|[^|]*\||\"[^\"]*\"|[^\s();|\"\[]*\[[^\]();|\"]*\]|[^\s();|\"]+")
BLANK = re.compile(r"\s*")


@dataclass(frozen=True, slots=True)
class Expression:
    """An atom, or a list; `start` and `end` are places in the text."""

    start: int
    end: int
    atom: str | None
    items: tuple[Expression, ...] = ()

    @property
    def head(self) -> str:
        """The atom that a list begins with; empty for anything else."""
        return (self.items[0].atom or "") if self.items else ""


@dataclass(frozen=True, slots=True)
class Text:
    """A text and the name of its file."""

    text: str
    file: str

    def refuse(self, message: str, start: int, end: int, hint: str = "") -> NoReturn:
        """Raise a ProgramError that shows a place."""
        line = self.text.count("\n", 0, start) + 1
        column = start - (self.text.rfind("\n", 0, start) + 1) + 1
        span = Span(self.file, line, column, max(1, min(end - start, 200)))
        raise ProgramError(message, span=span, text=self.text, hint=hint)

    def wrong(self, message: str, there: Expression, hint: str = "") -> NoReturn:
        """Raise a ProgramError that shows an expression."""
        self.refuse(message, there.start, there.end, hint)

    def expressions(self) -> list[Expression]:
        """The expressions of the top level; raises ProgramError."""
        found: list[Expression] = []
        opened: list[tuple[int, list[Expression]]] = []  # the lists around the place that is read
        place, count = 0, 0
        while True:
            blank = BLANK.match(self.text, place)
            place = blank.end() if blank else place
            if place == len(self.text):
                break
            token = TOKEN.match(self.text, place)
            if token is None:
                self.refuse(f"{self.text[place]!r} has no end", place, place + 1)
            start, place = token.span()
            word = token[0]
            count += 1
            if count > MOST_TOKENS:
                self.refuse(f"the file has more than {MOST_TOKENS:,} words", start, place)
            inner = opened[-1][1] if opened else found
            if word == "(":
                if len(opened) == DEEPEST:
                    self.refuse(f"lists are nested more than {DEEPEST} deep", start, place)
                opened.append((start, []))
            elif word == ")":
                if not opened:
                    self.refuse("a `)` without its `(`", start, place)
                first, items = opened.pop()
                (opened[-1][1] if opened else found).append(Expression(first, place, None, tuple(items)))
            elif not word.startswith(";"):
                inner.append(Expression(start, place, word))
        if opened:
            self.refuse("a `(` without its `)`", opened[-1][0], opened[-1][0] + 1, "The file may be cut off.")
        return found


__all__ = ["Expression", "Text"]
