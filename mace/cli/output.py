"""What a command prints: text and JSON on stdout, messages on stderr.

Every other file of the command line prints through `say`, `print_json` or `terminal`, so that all text is escaped
(`mace/base/escape.py`) and the sign of life (`alive.py`) is wiped away first.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from enum import Enum
from pathlib import Path
from typing import Any

import typer

from mace.base.console import console
from mace.base.escape import json_text, lines
from mace.cli.alive import alive

SHOWN = re.compile(r" *\d* \| ")  # a line of a program in a message, or the line of carets below it
WIDEST = 1_000_000  # columns, where stdout is not a terminal


class Format(str, Enum):
    """How results are printed."""

    text = "text"
    json = "json"


def say(text: object, *, err: bool = False, nl: bool = True) -> None:
    """Print a text on stdout or stderr: the only place of the command line that prints one.

    nl: False for code, of which nothing is changed; on a terminal the lines of other texts are broken between words.
    """
    alive.spoke()
    said = lines(text)
    typer.echo(wrapped(said) if nl and (sys.stderr if err else sys.stdout).isatty() else said, err=err, nl=nl)


def wrote(what: str, path: Path, then: str = "") -> None:
    """Say on stderr what was written, where, and what can be done with it."""
    say(f"{what} written to {path}{then and f'; {then}'}", err=True)


def print_json(value: object) -> None:
    """Print JSON, and nothing else, on stdout."""
    alive.spoke()
    typer.echo(json_text(value, indent=2, allow_nan=True))


def terminal() -> Any:
    """Where tables are printed; what is not a terminal gets lines that are neither cut nor broken."""
    alive.spoke()
    return console() if sys.stdout.isatty() else console(soft_wrap=True, width=WIDEST)


def wrapped(text: str) -> str:
    """A text for a terminal: long lines are broken between words, and go on farther to the right.

    A line of somebody's program, numbered, or marked below, stays as it is.
    """
    width = max(40, shutil.get_terminal_size().columns)
    return "\n".join(
        line
        if SHOWN.match(line)
        else textwrap.fill(
            line, width, subsequent_indent=" " * (len(line) - len(line.lstrip()) + 4), break_long_words=False,
            break_on_hyphens=False, drop_whitespace=True,
        )
        for line in text.split("\n")
    )  # fmt: skip
