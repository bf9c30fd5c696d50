"""Read a program, or a rule, from text.

In:  text in the core language (`core.lark`), and the name under which messages speak of it.
Out: a Program that `check` accepted.
Promise: parse_program(show(p)) == p; every refusal is a ProgramError with place, caret and next step; neither
length nor depth of a text raises anything else (MAX_BYTES, MAX_NESTING).
Source: Karimi et al. 2020, appendix A; the concrete syntax is ours, after Python.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from mace.errors import ProgramError, Span
from mace.language.check import check, check_rule
from mace.language.show import RESERVED
from mace.language.syntax import (
    MAX_BYTES,
    Assign,
    Const,
    Expr,
    For,
    If,
    Input,
    Name,
    Program,
    Return,
    Sort,
    Stmt,
    nodes_of,
    statements_of,
)

if TYPE_CHECKING:
    from lark import Lark
    from lark.exceptions import UnexpectedInput

    from mace.language.build import Build
    from mace.language.layout import Layout

# The parser is built once; its two helpers hold the text at hand, so that one text is read at a time.
_ONE_AT_A_TIME = threading.Lock()


def parse_program(text: str, name: str = "<program>", inputs: Mapping[str, Sort | Input] | None = None) -> Program:
    """Read a program.

    text:   the program; at most MAX_BYTES.
    name:   what messages call it, mostly the name of its file.
    inputs: declarations for a text that has none of its own; only those that it reads are kept.
    Returns a Program that `check` accepted.
    Raises  ProgramError naming line and column.
    """
    items = _parse(text, name, "program")
    assert isinstance(items, list)
    declared: list[Input] = []
    consts: list[Const] = []
    body: list[Stmt] = []
    for item in items:
        if isinstance(item, (Input, Const)) and body:
            raise ProgramError(
                f"`{item.name}` is declared after the first statement", span=item.span, text=text,
                hint="Inputs and constants stand at the top, before every statement.",
            )  # fmt: skip
        if isinstance(item, Input):
            declared.append(item)
        elif isinstance(item, Const):
            consts.append(item)
        else:
            body.append(item)
    if not declared and inputs:
        declared = _used(inputs, body)
    program = Program(tuple(declared), tuple(consts), tuple(body), name, text)
    check(program, tuple(inputs or ()))
    return program


def parse_rule(text: str, inputs: Mapping[str, Sort | Input], name: str = "<rule>") -> Program:
    """Read a rule: one bool expression over inputs that the caller declares.

    text:   such as `CapitalLoss == 0 or CapitalGain == 0`.
    inputs: the sort or the declaration of each name that may be read; only those that are read are kept.
    Returns a Program whose body is a single `return`.
    Raises  ProgramError naming line and column.
    """
    value = _parse(text, name, "rule")
    assert not isinstance(value, list)
    body = (Return(value, value.span),)
    program = Program(tuple(_used(inputs, list(body))), (), body, name, text)
    check_rule(program, tuple(inputs))
    return program


def parse_block(text: str, name: str) -> list[Input | Const | Stmt]:
    """The declarations and statements of a text that is a part of something larger; nothing is checked yet."""
    items = _parse(text, name, "program")
    assert isinstance(items, list)
    return items


def parse_expression(text: str, name: str) -> Expr:
    """An expression that is a part of something larger; nothing is checked yet."""
    value = _parse(text, name, "rule")
    assert not isinstance(value, list)
    return value


def _used(inputs: Mapping[str, Sort | Input], body: list[Stmt]) -> list[Input]:
    """Declarations of the inputs that a body reads or assigns to, in the caller's order."""
    names: set[str] = set()
    for stmt in statements_of(tuple(body)):
        values: tuple[Expr, ...] = ()
        match stmt:
            case Assign():
                names.add(stmt.name)
                values = (stmt.value,)
            case If():
                values = (stmt.test,)
            case For():
                names.add(stmt.index)
            case Return():
                values = (stmt.value,)
            case _:
                pass
        names.update(node.name for value in values for node in nodes_of(value) if isinstance(node, Name))
    return [
        replace(sort, name=name) if isinstance(sort, Input) else Input(name, sort)
        for name, sort in inputs.items()
        if name in names
    ]


# --- lark ------------------------------------------------------------------------------------------------------------


@cache
def _parser() -> tuple[Lark, Build, Layout]:
    from lark import Lark  # late: most questions hold no text to parse

    from mace.language.build import Build
    from mace.language.layout import Layout

    build, layout = Build(), Layout()
    lark = Lark.open(
        "core.lark", rel_to=__file__, parser="lalr", lexer="basic", start=["program", "rule"],
        transformer=build, postlex=layout, keep_all_tokens=True, maybe_placeholders=False,
    )  # fmt: skip
    return lark, build, layout


def _parse(text: str, file: str, start: str) -> list[Input | Const | Stmt] | Expr:
    text = text.replace("\r\n", "\n")
    # Encoding with surrogatepass: a lone surrogate is an odd character to refuse below, not a crash here.
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise ProgramError(
            f"{file} is longer than {MAX_BYTES // 2**20} MB", hint="Split the model, or compile it from its library."
        )
    _refuse_tabs(text, file)
    from lark.exceptions import UnexpectedInput

    with _ONE_AT_A_TIME:
        lark, build, layout = _parser()
        build.file = layout.file = file
        build.source = layout.source = text
        layout.flat = start == "rule"
        try:
            # The line break at the end closes the last statement and every open block.
            result = lark.parse(text + "\n", start=start)
        except UnexpectedInput as error:
            raise _human(error, text, file, start) from None
        finally:
            build.source = layout.source = ""
    return result  # type: ignore[return-value]  # lark types the result as a tree; `Build` returns ours


def _refuse_tabs(text: str, file: str) -> None:
    if "\t" not in text:
        return
    for number, line in enumerate(text.split("\n"), start=1):
        blank = line[: len(line) - len(line.lstrip())]
        if "\t" in blank and line.strip():
            raise ProgramError(
                "this line is indented with a tab", span=Span(file, number, blank.index("\t") + 1), text=text,
                hint="Indent with spaces: four for each block.",
            )  # fmt: skip


WORDS: Mapping[str, str] = {
    "_NL": "the end of the line", "_INDENT": "an indented block", "_DEDENT": "the end of the block",
    "COLON": "`:`", "EQUAL": "`=`", "RPAR": "`)`", "LPAR": "`(`", "LSQB": "`[`", "RSQB": "`]`", "COMMA": "`,`",
    "IN": "`in`", "OF": "`of`", "ELSE": "`else`", "__ANON_0": "`..`", "NAME": "a name", "TEXT": "a text",
    "INPUT": "`input`", "IF": "`if`",
}  # fmt: skip
# What to do where one of these was expected; the first that applies.
MISSING: Mapping[str, str] = {
    "_INDENT": "Indent the lines of a block by four spaces, or write one statement after the `:`.",
    "BOOL": 'Write `int`, `real`, `bool`, or the levels: `one of "low", "high"`.',
    "NUMBER": "Complete the expression.",
    "RPAR": "Close the bracket.",
    "COLON": "End the line with `:`.",
}
ADVICE_AT_LAST = "Remove it, or complete what stands before it."
ADVICE: Mapping[str, str] = {
    "=": "A comparison is written `==`.",
    "&": "Write `and`.", "&&": "Write `and`.", "|": "Write `or`.", "||": "Write `or`.", "!": "Write `not`.",
    "^": "There are no powers: the language is linear.", "%": "There is no remainder in this language.",
    ".": "A number needs digits on both sides of its point: `0.5`; a range is written `0..3`.",
    "`": "A backquoted name ends with a backquote on the same line.",
    '"': "A text ends with its quote on the same line.", "'": "A text ends with its quote on the same line.",
    "{": "Blocks are marked by `:` and indentation.", ";": "Write one statement on each line.",
    "while": "Loops have literal bounds: `for i in 0..3:`.", "def": "There are no functions in this language.",
}  # fmt: skip


def _human(error: UnexpectedInput, text: str, file: str, start: str) -> ProgramError:
    """What was expected, what came, and what to do."""
    from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedToken

    if isinstance(error, UnexpectedCharacters):
        span = Span(file, error.line, error.column)
        return ProgramError(
            f"`{error.char}` has no place in this language" if error.char not in "\"'`" else f"{error.char} never ends",
            span=span, text=text, hint=_advice(error.char, text, span) or "Odd names are written in backquotes.",
        )  # fmt: skip
    if isinstance(error, UnexpectedEOF) or not isinstance(error, UnexpectedToken):
        return ProgramError("the text ends too early", hint=f"{file} is incomplete.")
    token = error.token
    span = Span(file, token.line or 1, token.column or 1, max(1, len(token.rstrip("\n"))))
    accepts = error.accepts or set()
    expected = _expected(accepts)
    if token.type == "$END":
        lines = text.rstrip().split("\n")
        span = Span(file, len(lines), len(lines[-1]) + 1)
        found = "the end of the text"
    elif token.type == "_NL":
        found = "the end of the line"
        span = Span(file, token.line or 1, token.column or 1)
    elif token.type in ("_INDENT", "_DEDENT"):
        found = "an indented line" if token.type == "_INDENT" else "a line that is not indented"
        span = Span(file, token.end_line or 1, max(1, token.end_column or 1))
    else:
        found = f"`{token}`"
    hint = _advice(str(token), text, span)
    if token.type == "COMPARE" and not accepts & {"NUMBER", "RETURN"}:
        hint = "Comparisons do not chain: write `0 < x and x < 3`."
    elif token.type == "_INDENT":
        hint = "Only the lines of a block are indented, below `if`, `elif`, `else` or `for` and a `:`."
    elif start == "rule" and token.type in ("IF", "INPUT", "CONST", "RETURN", "FOR"):
        hint = "A rule is one expression, such as `age >= 18 or not owns`."
    elif token in RESERVED and accepts and accepts <= {"NAME", "QUOTED"}:
        hint = f"`{token}` is a reserved word: choose another name, or write it in backquotes."
    hint = hint or next((advice for name, advice in MISSING.items() if name in accepts), ADVICE_AT_LAST)
    return ProgramError(f"expected {expected}, found {found}", span=span, text=text, hint=hint)


def _expected(accepts: set[str]) -> str:
    words: list[str] = []
    if "NUMBER" in accepts:
        words.append("an expression")
        accepts = accepts - {"NUMBER", "NAME", "TEXT", "LPAR", "INF"}
    elif "RETURN" in accepts:
        words.append("a statement")
        accepts = accepts - {"NAME", "IF", "INPUT", "$END", "_DEDENT", "ELSE"}
    elif "BOOL" in accepts:
        words.append("a sort (`bool`, `int`, `real` or `one of`)")
    else:
        # After a whole expression only what ends it is named; `if` would go on with `a if c else b`.
        accepts = accepts - {"IF"}
    words += [word for name, word in WORDS.items() if name in accepts]
    if not words:
        words = ["the end of the text"]
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def _advice(found: str, text: str, span: Span) -> str:
    line = text.split("\n")[span.line - 1] if span.line <= text.count("\n") + 1 else ""
    word = line.split()[0] if line.split() else ""
    return ADVICE.get(found) or ADVICE.get(word) or ""
