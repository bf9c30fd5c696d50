"""Turn indentation into tokens: `_INDENT` where a block starts, `_DEDENT` where it ends.

In:  lark's stream of tokens, where `_NL` holds a line break, comments, blank lines and the next line's indentation.
Out: the same stream with `_INDENT` and `_DEDENT` added; line breaks inside brackets are dropped.
Promise: a line that fits no open block, and nesting beyond `MAX_NESTING`, are a ProgramError at that line.
"""

from __future__ import annotations

from collections.abc import Iterator

from lark.lark import PostLex
from lark.lexer import Token

from mace.errors import ProgramError, Span
from mace.language.syntax import MAX_NESTING, too_deep

OPENING = frozenset({"LPAR", "LSQB"})
CLOSING = frozenset({"RPAR", "RSQB"})


class Layout(PostLex):
    """Lark's hook between lexer and parser. `flat` drops every line break: a rule is one expression on any lines."""

    always_accept = ("_NL",)

    def __init__(self) -> None:
        self.flat = False
        self.file = ""
        self.source = ""

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        """Add the block tokens to a stream."""
        open_blocks = [0]
        brackets = 0
        last: Token | None = None
        for token in stream:
            last = token
            if token.type == "_NL":
                if not brackets and not self.flat:
                    yield token
                    yield from self._blocks(token, open_blocks)
                continue
            if token.type in OPENING:
                brackets += 1
                if brackets > MAX_NESTING:
                    raise too_deep(self._span(token), self.source)
            elif token.type in CLOSING:
                brackets = max(0, brackets - 1)
            yield token
        while len(open_blocks) > 1:
            open_blocks.pop()
            yield Token("_DEDENT", "") if last is None else Token.new_borrow_pos("_DEDENT", "", last)

    def _blocks(self, token: Token, open_blocks: list[int]) -> Iterator[Token]:
        width = len(token) - token.rindex("\n") - 1
        if width > open_blocks[-1]:
            open_blocks.append(width)
            if len(open_blocks) > MAX_NESTING + 1:
                raise too_deep(self._span(token, width), self.source)
            yield Token.new_borrow_pos("_INDENT", "", token)
        known = list(open_blocks)
        while width < open_blocks[-1]:
            open_blocks.pop()
            yield Token.new_borrow_pos("_DEDENT", "", token)
        if width != open_blocks[-1]:
            raise ProgramError(
                f"this line is indented by {width} spaces, which fits no block above it",
                span=self._span(token, width), text=self.source,
                hint="Open blocks are indented by " + ", ".join(map(str, known)) + " spaces.",
            )  # fmt: skip

    def _span(self, token: Token, width: int | None = None) -> Span:
        if width is None:
            return Span(self.file, token.line or 1, token.column or 1)
        return Span(self.file, token.end_line or 1, width + 1)
