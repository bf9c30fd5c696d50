"""One message for every mistake: what is wrong, where, why, and what to do next.

In:  the place (a `Span` of a text, or the name of a file, a feature, a step) and the words.
Out: an exception whose `str` is the whole message, ready to print; no traceback is needed to understand it.
Promise: everything that a user can get wrong raises a subclass of `MaceError`. A timeout, or a question that a
solver gives up on, is an answer (`unknown`), never an exception.
"""

from __future__ import annotations

from dataclasses import dataclass

from mace.base.escape import lines, one_line, readable
from mace.base.exit_codes import USAGE

_AROUND = 120  # characters of a line before and after the place that a message shows


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a text: file name, first line and column (both from 1), and how many characters it covers."""

    file: str
    line: int
    column: int
    length: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


def caret(text: str, span: Span) -> str:
    """The line of `text` that `span` names, numbered, with a caret under every character of the span."""
    rows = text.splitlines()
    if not 1 <= span.line <= len(rows):
        return ""
    line = rows[span.line - 1].replace("\t", " ")
    first = max(0, span.column - 1 - _AROUND)
    start, line = span.column - 1 - first, line[first : span.column - 1 + _AROUND]
    end = start + max(1, min(span.length, len(line) - start))
    before, marked = one_line(line[:start]), one_line(line[start:end])
    number = f"{span.line:5d} | "
    under = " " * max(start, len(before)) + "^" * max(1, len(marked))
    return f"{number}{before}{marked}{one_line(line[end:])}\n{' ' * (len(number) - 2)}| {under}"


class MaceError(Exception):
    """The user can mend this. `exit_code` is what the command line returns.

    message: what is wrong, where and why. shown: lines of a text that show it. hint: what to do next.
    """

    exit_code = USAGE

    def __init__(self, message: str, *, shown: str = "", hint: str = "") -> None:
        # Names and files may hold anything, and a message ends on a terminal: it is one line, so is the hint.
        self.message = readable(one_line(message))
        self.shown = lines(shown)
        self.hint = readable(one_line(hint))
        super().__init__(self._whole)

    @property
    def _whole(self) -> str:
        return "\n".join(part for part in (self.message, self.shown, self.hint) if part)

    def reword(self, message: str) -> None:
        """Say the same in the words of another place."""
        self.message = readable(one_line(message))
        self.args = (self._whole,)


class ProgramError(MaceError):
    """A core-language text that does not parse, or that is not well formed. Shows the line and a caret."""

    def __init__(self, message: str, *, span: Span | None = None, text: str = "", hint: str = "") -> None:
        self.span = span
        where = f"{span}: " if span is not None else ""
        shown = caret(text, span) if span is not None and text else ""
        super().__init__(f"{where}{message}", shown=shown, hint=hint)


class NumberError(MaceError, ValueError):
    """What is no number, none that is finite, or one of more digits than any question needs."""


class ArgumentError(MaceError, TypeError):
    """A name that no argument of the function has."""


class ModelError(MaceError):
    """A model that cannot be read or compiled: unsupported class or step, damaged table, untrusted file."""


ASKED = "`mace.explain` asks it all the same, or bounds it over boxes."


class UnreadableError(ModelError):
    """A model of a class, or with a step, that no reader takes; the hint says who takes it all the same."""

    def __init__(self, message: str, *, shown: str = "", hint: str = "") -> None:
        if "`mace.explain`" not in hint:
            hint = f"{hint} {ASKED}".lstrip()
        super().__init__(message, shown=shown, hint=hint)


class SpaceError(MaceError):
    """A declaration of features that contradicts itself, its file format, or the model."""


class RowError(MaceError):
    """A row of data that does not lie in its space: missing column, wrong type, NaN, unknown category."""


class GoalError(MaceError):
    """A goal that names no class of the model, or that the model cannot express."""


class NowhereError(GoalError):
    """A goal that no input of the model can have, wherever it lies."""


class EverywhereError(GoalError):
    """A goal that every input of the model has, wherever it lies."""


class FileError(MaceError):
    """A file that is absent, unreadable, of another version, or too large."""


class CertificateError(MaceError):
    """A certificate that cannot be written or read, or that was refused."""
