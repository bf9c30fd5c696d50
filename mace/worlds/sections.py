"""The text of a world as sections: which lines say what of which action.

In:  a text.    Out: `Sections`: every part is an expression or a block of the core language, not yet checked.
Promise: a place in a message is a place in the text: each part is read with all other lines left blank.

    const month = 1 / 12
    action study:
        parameter years: real in [0.5, 6] step 0.5
        before Age < 60
        Education = Education + years
        Age = Age + years
        after Education <= 20
        cost years
    consequence Education -> Income: 1 if Education < 12 else 0.5

A condition may stand on several lines of the same kind, which hold together. All other lines of an action are
statements, run one after the other. A consequence is an expression, or a block that returns a number.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

from mace.base.exact import exact
from mace.errors import NumberError, ProgramError, Span
from mace.language import Block, Const, Expr, Input, Stmt
from mace.language.parse import parse_block, parse_expression
from mace.language.syntax import If

CLAUSE = re.compile(r"(parameter|before|after|cost)\b(?!\s*=(?!=))")
STEP = re.compile(r"\bstep\s+(\S+)\s*$")
MOST_LINES = 10_000

T = TypeVar("T")


@dataclass(frozen=True)
class Declared:
    """A parameter as it is written: its sort and range, and the step of its values."""

    input: Input
    step: Fraction | None
    span: Span


@dataclass
class ActionText:
    """An action as it is written."""

    name: str
    span: Span
    parameters: list[Declared] = field(default_factory=list)
    before: list[Expr] = field(default_factory=list)
    change: Block = ()
    after: list[Expr] = field(default_factory=list)
    cost: Expr | None = None


@dataclass
class EdgeText:
    """A consequence as it is written: `of` is an expression, or a block that returns."""

    source: str
    target: str
    span: Span
    of: Expr | Block


@dataclass
class Sections:
    """A world as it is written."""

    name: str = ""
    consts: list[Const] = field(default_factory=list)
    actions: list[ActionText] = field(default_factory=list)
    edges: list[EdgeText] = field(default_factory=list)


def sections(text: str, file: str) -> Sections:
    """Read the sections of a world; raises ProgramError."""
    return _Reader(text.replace("\r\n", "\n"), file).read()


class _Reader:
    def __init__(self, text: str, file: str) -> None:
        self.text, self.file, self.lines = text, file, text.split("\n")
        if len(self.lines) > MOST_LINES:
            raise ProgramError(f"{file} has more than {MOST_LINES:,} lines", hint="A world is written by hand.")

    def read(self) -> Sections:
        found = Sections()
        heads = [n for n, line in enumerate(self.lines) if self._bare(line) and not line[0].isspace()]
        if any(self._bare(line) for line in self.lines[: heads[0] if heads else None]):
            raise self._wrong(0, "this line belongs to no action", "Begin with `action NAME:`.")
        for at, end in itertools.pairwise([*heads, len(self.lines)]):
            self._section(found, at, range(at + 1, end))
        return found

    def _section(self, found: Sections, at: int, inside: range) -> None:
        line = self._bare(self.lines[at])
        word, _, rest = line.partition(" ")
        if word in ("world", "const"):
            if any(self._bare(self.lines[n]) for n in inside):
                raise self._wrong(inside[0], "this line is indented, and belongs to no action", "Remove the spaces.")
            if word == "world":
                found.name = rest.strip()
            else:
                items = self._parsed(parse_block, {at: self.lines[at]})
                found.consts += [item for item in items if isinstance(item, Const)]
        elif word == "action":
            found.actions.append(self._action(rest, at, inside))
        elif word == "consequence":
            found.edges.append(self._edge(rest, at, inside))
        else:
            raise self._wrong(
                at, f"expected `world`, `const`, `action` or `consequence`, found `{word}`",
                "Lines of an action are indented by four spaces.",
            )  # fmt: skip

    # --- actions ---

    def _action(self, rest: str, at: int, inside: range) -> ActionText:
        name = rest.strip().removesuffix(":").strip()
        if not rest.rstrip().endswith(":") or not name:
            raise self._wrong(at, "expected `action NAME:`", "End the line with a colon.")
        made = ActionText(name, self._span(at))
        statements: dict[int, str] = {}
        outer = next((self._indent(n) for n in inside if self._bare(self.lines[n])), 0)
        for n in inside:
            line = self.lines[n]
            clause = CLAUSE.match(line.strip()) if self._indent(n) == outer else None
            if clause is None:
                statements[n] = line
            elif clause[1] == "parameter":
                made.parameters.append(self._parameter(n))
            elif clause[1] == "cost" and made.cost is not None:
                raise self._wrong(n, "this action has a cost already", "Add the two, or leave one out.")
            elif clause[1] == "cost":
                made.cost = self._after_word(n, "cost")
            else:
                (made.before if clause[1] == "before" else made.after).append(self._after_word(n, clause[1]))
        made.change = self._block(at, statements)
        return made

    def _parameter(self, n: int) -> Declared:
        line = self.lines[n].split("#")[0].rstrip()
        step, written = None, STEP.search(line)
        if written:
            try:
                step = exact(written[1])
            except NumberError as error:
                raise self._wrong(n, f"the step is no number: {error.message}", "Write `step 0.1`.") from None
            line = line[: written.start()].rstrip()
        # `input` is a shorter word: the spaces keep every place as it is.
        items = self._parsed(parse_block, {n: line.lstrip().replace("parameter", "input    ", 1)}, self._indent(n))
        assert isinstance(items[0], Input)
        return Declared(items[0], step, self._span(n))

    def _after_word(self, n: int, word: str) -> Expr:
        line = self.lines[n]
        at = line.index(word) + len(word)
        if not self._bare(line[at:]):
            raise self._wrong(n, f"expected an expression after `{word}`", "Complete the line.")
        return self._parsed(parse_expression, {n: " " * at + line[at:]})

    def _block(self, head: int, statements: dict[int, str]) -> Block:
        """Statements that are indented below a head, read as those of an `if` in its place."""
        if not any(self._bare(line) for line in statements.values()):
            return ()
        items: Sequence[Input | Const | Stmt] = self._parsed(parse_block, {head: "if true:", **statements})
        assert isinstance(items[0], If)
        return items[0].then

    # --- consequences ---

    def _edge(self, rest: str, at: int, inside: range) -> EdgeText:
        found = re.match(r"\s*(`[^`]+`|[^-:`]+?)\s*->\s*(`[^`]+`|[^:`]+?)\s*:(.*)$", rest)
        if found is None:
            raise self._wrong(at, "expected `consequence FROM -> TO: FACTOR`", "Odd names are written in backquotes.")
        source, target = (name.strip("`").strip() for name in found.groups()[:2])
        if found[3].strip():
            if any(self._bare(self.lines[n]) for n in inside):
                raise self._wrong(inside[0], "the factor stands on the line above already", "Leave one of the two out.")
            line = self.lines[at]
            start = len(line.split("#")[0].rstrip()) - len(found[3].lstrip())
            of: Expr | Block = self._parsed(parse_expression, {at: " " * start + line[start:]})
        else:
            of = self._block(at, {n: self.lines[n] for n in inside})
            if not of:
                raise self._wrong(at, "this consequence has no factor", "Write it behind the colon, or below.")
        return EdgeText(source, target, self._span(at), of)

    # --- lines ---

    def _parsed(self, parse: Callable[[str, str], T], lines: dict[int, str], indent: int = 0) -> T:
        """A part of the text, parsed where it stands; messages show the text itself."""
        part = "\n".join(lines.get(n, "") for n in range(max(lines) + 1))
        try:
            return parse(part, self.file)
        except ProgramError as error:
            span = error.span
            if span is not None:
                span = Span(span.file, min(span.line, len(self.lines)), span.column + indent, span.length)
            message = error.message.removeprefix(f"{error.span}: ")
            raise ProgramError(message, span=span, text=self.text, hint=error.hint) from None

    @staticmethod
    def _bare(line: str) -> str:
        return line.split("#")[0].strip()

    def _indent(self, n: int) -> int:
        return len(self.lines[n]) - len(self.lines[n].lstrip())

    def _span(self, n: int) -> Span:
        line = self.lines[n].split("#")[0].rstrip()
        return Span(self.file, n + 1, len(line) - len(line.lstrip()) + 1, max(1, len(line.strip())))

    def _wrong(self, n: int, message: str, hint: str) -> ProgramError:
        return ProgramError(message, span=self._span(n), text=self.text, hint=hint)
