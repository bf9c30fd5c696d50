"""Which SMT-LIB 2 texts may reach a solver: declarations, assertions, one set-logic and one check-sat.

In:  a text.    Out: nothing; UnsafeTextError names the first command or word that may not be there.
Promise: what passes can make a solver declare, assert and check, and nothing else. Every word is one of the lists
below, a number, or a name that the text declares; there are no options, files, strings, attributes or comments.
Why: a solver obeys its script. cvc5 truncates whatever file `(set-option :regular-output-channel "file")` names.
Source: SMT-LIB 2.6, sections 3.1 (lexicon) and 3.9 (scripts); theory Reals_Ints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mace.errors import MaceError

SORTS = frozenset({"Bool", "Int", "Real"})
LOGICS = frozenset({"QF_LIRA"})
TERMS = frozenset({"let", "ite", "true", "false", "and", "or", "not", "xor", "=>", "=", "distinct", "<", "<=", ">",
                   ">=", "+", "-", "*", "/", "to_real", "to_int"})  # fmt: skip
COMMANDS = frozenset({"set-logic", "declare-const", "assert", "check-sat"})
RESERVED = SORTS | TERMS | COMMANDS | {"!", "_", "as", "exists", "forall", "match", "par"}

WORD = r"[A-Za-z0-9~!@$%^&*_+=<>.?/-]+"
BARS = r"\|[^|\\\x00-\x1f\x7f]*\|"
TOKEN = re.compile(rf"[()]|{BARS}|{WORD}|[^ \t\r\n]")  # the last is a character that stands nowhere in these texts
NAME = re.compile(rf"{BARS}|(?![0-9]){WORD}", re.ASCII)
NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)
SHARED = re.compile(r"\.def_[0-9]+", re.ASCII)  # what pySMT calls the parts that `let` shares


class UnsafeTextError(MaceError):
    """A text that asks a solver for more than a verdict."""


def check_script(text: str) -> None:
    """Raise UnsafeTextError unless the text is a whole script: set-logic, declarations, assertions, check-sat."""
    names: set[str] = set()
    heads = []
    for command in _commands(text):
        _check_command(command, names)
        heads.append(command[1])
    inside = set(heads[1:-1])
    if heads[:1] != ["set-logic"] or heads[-1:] != ["check-sat"] or inside & {"set-logic", "check-sat"}:
        raise UnsafeTextError("a script has one set-logic, at its start, and one check-sat, at its end")


def check_lines(text: str, names: set[str]) -> None:
    """Raise UnsafeTextError unless the text only declares and asserts; `names` are those declared before, and grow."""
    for command in _commands(text):
        _check_command(command, names)
        if command[1] not in ("declare-const", "assert"):
            raise UnsafeTextError(f"`{command[1]}` has no place among declarations and assertions")


def _commands(text: str) -> Iterator[list[str]]:
    """The words of each command, its parentheses included."""
    command: list[str] = []
    depth = 0
    for word in TOKEN.findall(text):
        command.append(word)
        if word == "(":
            depth += 1
        elif word == ")":
            depth -= 1
        if depth < 0 or (depth == 0 and word != ")"):
            raise UnsafeTextError(f"{word[:40]!r} stands outside of every command")
        if depth == 0:
            yield command
            command = []
    if depth:
        raise UnsafeTextError("the last command has no end")


def _check_command(command: list[str], names: set[str]) -> None:
    """One command; what it declares joins the names."""
    head, inside = command[1], command[2:-1]
    match head, inside:
        case "set-logic", [logic] if logic in LOGICS:
            return
        case "check-sat", []:
            return
        case "declare-const", [name, sort] if sort in SORTS and name not in RESERVED and NAME.fullmatch(name):
            names.add(name)
        case "assert", [_, *_] if _is_term(inside):
            for word in set(inside):
                known = word in TERMS or word in names or word in "()"
                if not (known or NUMBER.fullmatch(word) or SHARED.fullmatch(word)):
                    raise UnsafeTextError(f"an assertion speaks of {word[:40]!r}, which the text does not declare")
        case _:
            raise UnsafeTextError(
                f"the command {' '.join(command)[:60]!r} may not reach a solver",
                hint=f"Only {', '.join(sorted(COMMANDS))} may.",
            )


def _is_term(words: list[str]) -> bool:
    """Whether these are exactly one term: the parentheses close at the last of them and not before."""
    depth = 0
    for place, word in enumerate(words):
        depth += (word == "(") - (word == ")")
        if depth == 0:
            return place == len(words) - 1
    return False
