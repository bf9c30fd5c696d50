"""The shape of JSON data: every field is looked at once, and becomes a number, a text or a list of them.

A shape is a function of data and place, a list [shape] (any length), a tuple of shapes (this length), or a dict of
shapes: an object with exactly these fields, where one whose name ends in `?` may be absent, and is None then.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from mace.proofs.kernel.floats import Refused, floating, need, rational

KEPT = 1 << 24  # bytes of data of which `once` keeps what was made


def read(data: Any, shape: Any, where: str) -> Any:
    """What data of this shape means; refuses any other."""
    if callable(shape):
        return shape(data, where)
    if isinstance(shape, dict):
        need(type(data) is dict, f"{where}: expected an object")
        names, least = fields(tuple(shape))
        need(least <= data.keys() <= set(names), f"{where}: expected the fields {', '.join(names)}")
        found = {
            name: read(data[name], inner, f"{where}: {name}") if name in data else None
            for name, inner in zip(names, shape.values(), strict=True)
        }
        return SimpleNamespace(**found)
    need(type(data) is list, f"{where}: expected a list")
    if shape == [anything]:
        return data
    parts = shape * len(data) if isinstance(shape, list) else shape
    need(len(data) == len(parts), f"{where}: expected {len(parts)} entries, found {len(data)}")
    pairs = zip(data, parts, strict=True)
    return [part(inner, where) if callable(part) else read(inner, part, where) for inner, part in pairs]


@lru_cache(1 << 8)
def fields(shape: tuple[str, ...]) -> tuple[list[str], set[str]]:
    """The names of an object's fields, in order, and those that may not be absent."""
    return [name.rstrip("?") for name in shape], {name for name in shape if not name.endswith("?")}


def once(make: Callable[..., Any]) -> Callable[..., Any]:
    """What is made of data, and of what else it depends on, once for all data that reads the same: statements about one
    model share most of theirs. Nobody changes what was made."""
    known: dict[Any, Any] = {}
    room = KEPT

    def made(data: Any, *more: Any) -> Any:
        nonlocal room
        try:
            key = (marshal.dumps(data, 2), *more)  # which tells 1 from true
        except ValueError:  # it is nested deeply, or is no plain data
            return make(data, *more)
        if key not in known:
            room -= len(key[0])
            if room < 0:
                known.clear()
                room = KEPT
            known[key] = make(data, *more)
        return known[key]

    return made


def integer(data: Any, low: int | None, high: int | None, where: str) -> int:
    """An integer within limits, ends included."""
    if type(data) is not int or not ((low is None or low <= data) and (high is None or data <= high)):
        ends = (f" {word} {end}" for word, end in (("from", low), ("to", high)) if end is not None)
        raise Refused(f"{where}: expected an integer{''.join(ends)}")
    return data


def index(data: Any, where: str) -> int:
    """Any integer."""
    return integer(data, None, None, where)


def count(data: Any, where: str) -> int:
    """An integer of at least 1."""
    return integer(data, 1, None, where)


def words(data: Any, where: str) -> str:
    """Any text."""
    need(type(data) is str, f"{where}: expected a text")
    return str(data)


def truth(data: Any, where: str) -> bool:
    """True or false."""
    need(type(data) is bool, f"{where}: expected true or false")
    return bool(data)


def least_0(data: Any, where: str) -> Fraction:
    """A rational number that is not negative."""
    number = rational(data, where)
    need(number >= 0, f"{where}: expected a number of at least 0")
    return number


def positive(data: Any, where: str) -> Fraction:
    """A rational number above 0."""
    number = rational(data, where)
    need(number > 0, f"{where}: must be positive")
    return number


def one_of(*choices: str) -> Callable[[Any, str], str]:
    """One of a few texts."""

    def chosen(data: Any, where: str) -> str:
        need(data in choices, f"{where}: expected one of {', '.join(choices)}")
        return str(data)

    return chosen


def below_or(number: str, nothing: str) -> Callable[[Any, str], Fraction | None]:
    """A claim: `{number: q}`, with q at least 0; or `{nothing: true}`, which is None."""

    def claim(data: Any, where: str) -> Fraction | None:
        found = read(data, {f"{number}?": least_0, f"{nothing}?": truth}, where)
        q: Fraction | None
        q, none = vars(found).values()
        need((q is None) == (none is True) and none is not False, f"{where}: expected {number} or {nothing}")
        return q

    return claim


def maybe(shape: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Of this shape, or null."""
    return lambda data, where: None if data is None else shape(data, where)


def anything(data: Any, _: str) -> Any:
    """Data that is looked at later."""
    return data


def float_0(data: Any, where: str) -> int:
    """A float that is not negative, times 2^1074."""
    number = floating(data, where)
    need(number >= 0, f"{where}: is negative")
    return number
