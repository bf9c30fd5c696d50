"""The signature of a command as typer reads it: groups of options, each replaced by its fields.

In:  a function whose parameters are groups of options (`options.py`) and single options.
Out: the function as a command, whose messages name the options as they are typed.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from mace.base.escape import short
from mace.cli.faults import explained
from mace.errors import MaceError


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """The command with every group of options among its parameters replaced by the fields of the group.

    typer reads the options of a command from its signature; the command itself is called with the groups.
    """
    groups: dict[str, Any] = {}
    shown: list[inspect.Parameter] = []
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if is_dataclass(kind) and isinstance(kind, type):
            groups[name] = kind
            inside = get_type_hints(kind, include_extras=True)
            shown += [_parameter(field.name, inside[field.name], _default(field)) for field in fields(kind)]
        else:
            shown.append(_parameter(name, kind, parameter.default))

    @functools.wraps(command)
    def called(**values: Any) -> None:
        made = {
            name: kind(**{field.name: values.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        with explained(), typed:
            command(**made, **values)

    typed = _Typed(shown)
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    return called


class _Typed(AbstractContextManager[None]):
    """Messages about an argument of a function name the option that was typed for it."""

    def __init__(self, shown: list[inspect.Parameter]) -> None:
        names = "|".join(parameter.name for parameter in shown)
        self._argument = re.compile(rf"({names}) must be ")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, MaceError) and (found := self._argument.match(error.message)):
            said = f"--{found[1].replace('_', '-')} must be {error.message[found.end() :]}"
            # None cannot be typed.
            error.reword(said.replace(", or None for no limit", "").replace(" or None for all cores", " for all cores"))


def _parameter(name: str, kind: Any, default: object) -> inspect.Parameter:
    # typer's own messages about numbers do not say what was typed, and are made for programs.
    plain, *said = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    for number, (parser, metavar) in NUMBERS.items():
        if number in (plain, *get_args(plain)):
            for option in said:
                option.parser, option.metavar = parser, option.metavar or metavar
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _whole(typed: str) -> int:
    try:
        return int(typed)
    except ValueError:
        raise typer.BadParameter(f"must be a whole number, got {short(typed)}") from None


def _number(typed: str) -> float:
    try:
        return float(typed)
    except ValueError:
        raise typer.BadParameter(f"must be a number, got {short(typed)}") from None


NUMBERS: dict[type, tuple[Callable[[str], Any], str]] = {int: (_whole, "<int>"), float: (_number, "<float>")}


def _default(field: Field[Any]) -> object:
    return inspect.Parameter.empty if field.default is MISSING else field.default
