"""Name one path through a program: the conditions under which it is taken, for messages.

In:  a block, a place in it, and a name that the path must not assign (None: any path that does not return).
Out: the conditions in order, such as `age < 18`; empty where the path has no choice.
Promise: used only when there is an error to report; such a path exists then.
"""

from __future__ import annotations

from collections.abc import Sequence

from mace.language.show import show
from mace.language.syntax import Assign, Block, Expr, For, If, Return, Stmt, negated, statements_of

MOST_SHOWN = 4


def path_to(block: Block, at: int, name: str | None, test: Expr | None = None, holds: bool = True) -> list[Expr]:
    """Conditions under which a run passes `block[:at]` without assigning `name`; with `test`, of entering it."""
    entered = [] if test is None else [test if holds else negated(test)]
    return entered + (_through(block[:at], name) or [])


def path_text(conditions: Sequence[Expr]) -> str:
    """` (path: age < 18 and not owns)`, or nothing."""
    if not conditions:
        return ""
    shown = [show(condition) for condition in conditions[-MOST_SHOWN:]]
    more = "... " if len(conditions) > MOST_SHOWN else ""
    return f" (path: {more}{' and '.join(shown)})"


def _through(block: Block, name: str | None) -> list[Expr] | None:
    """Conditions to reach the end of a block without assigning the name; None if there is no such path."""
    conditions: list[Expr] = []
    for stmt in block:
        match stmt:
            case Return():
                return None
            case Assign(name=assigned) if assigned == name:
                return None
            case For(body=body):
                part = _through(body, name)
            case If():
                part = _through_if(stmt, name)
            case _:
                continue
        if part is None:
            return None
        conditions += part
    return conditions


def _through_if(stmt: If, name: str | None) -> list[Expr] | None:
    if not any(_matters(inner, name) for inner in statements_of(stmt.then + stmt.other)):
        return []
    then = _through(stmt.then, name)
    if then is not None:
        return [stmt.test, *then]
    other = _through(stmt.other, name)
    return None if other is None else [negated(stmt.test), *other]


def _matters(stmt: Stmt, name: str | None) -> bool:
    return isinstance(stmt, Return) or (isinstance(stmt, Assign) and stmt.name == name)
