"""One digest for anything that a question is made of: models, spaces, rules, rows, limits.

In:  numbers, texts, dates, intervals, sequences, mappings, sets, arrays, frames, frozen dataclasses of them.
Out: SHA-256 as hex text.
Promise: equal values give equal digests in every process and on every machine; a change of any number, down to the
last bit of a float, or of a type changes the digest. Places in a source text (`Span`) do not count, nor do fields of
a class that have their defaults: digests of an earlier version hold where it had no such field.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from mace.base.classes import package_of
from mace.base.values import hashed
from mace.errors import Span

# Single values that their texts tell apart; of pandas, intervals, periods and times are such.
_SAID = (Decimal, date, time, timedelta, np.longdouble)


def digest(*values: object) -> str:
    """SHA-256 of the values; raises TypeError for a kind of value that has no fixed meaning here."""
    whole = hashlib.sha256()
    for value in values:
        _feed(whole, value)
    return whole.hexdigest()


def _put(into: Any, kind: str, raw: bytes) -> None:
    """A value with its kind and its length before it, so that no two values read the same."""
    into.update(f"{kind}:{len(raw)}:".encode())
    into.update(raw)


def _feed(into: Any, value: object) -> None:
    """Each value, and what it is made of."""
    if isinstance(value, Span):
        return
    if isinstance(value, Enum):
        _put(into, "enum", f"{type(value).__name__}.{value.name}".encode())
    elif isinstance(value, np.generic) and not isinstance(value, np.longdouble):  # whose item is itself
        _feed(into, value.item())
    elif value is None or isinstance(value, (bool, int, str, Fraction, Path)):
        _put(into, type(value).__name__ if not isinstance(value, Path) else "path", str(value).encode())
    elif isinstance(value, float):
        _put(into, "float", value.hex().encode())
    elif isinstance(value, bytes):
        _put(into, "bytes", value)
    elif isinstance(value, np.ndarray):
        _put(into, f"array {value.dtype.str} {value.shape}", np.ascontiguousarray(value).tobytes())
    elif isinstance(value, (list, tuple)):
        _put(into, "list", str(len(value)).encode())
        for item in value:
            _feed(into, item)
    elif isinstance(value, Set):
        _feed(into, sorted(digest(item) for item in value))
    elif isinstance(value, Mapping):
        _put(into, "map", str(len(value)).encode())
        for one in sorted((digest(key), digest(item)) for key, item in value.items()):
            _feed(into, one)
    elif is_dataclass(value) and not isinstance(value, type):
        _put(into, "class", type(value).__name__.encode())
        for part in fields(value):
            if part.compare and not _usual(part.default, getattr(value, part.name)):
                _put(into, "field", part.name.encode())
                _feed(into, getattr(value, part.name))
    elif isinstance(value, _SAID) or package_of(type(value)) == "pandas" and hashed(value):
        _put(into, type(value).__name__, repr(value).encode())
    else:
        raise TypeError(f"no digest for a {type(value).__name__}")


def _usual(default: object, value: object) -> bool:
    """Whether a field has its default: it does not count, so that a class may get a field that changes nothing."""
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


def frame_digest(frame: Any) -> str:
    """SHA-256 of a frame's column names, types and values, whatever its index."""
    whole = hashlib.sha256()
    for name in frame.columns:
        values = frame[name].to_numpy()
        _feed(whole, str(name))
        if values.dtype == object:
            _feed_cells(whole, values.tolist())
        else:
            _feed(whole, values)
    return whole.hexdigest()


class _Collected(bytearray):
    """What is fed, as it is."""

    update = bytearray.extend


def _feed_cells(into: Any, cells: list[object]) -> None:
    """As `_feed` does a list of cells. The texts of a column are few, and come again and again."""
    _put(into, "list", str(len(cells)).encode())
    texts: dict[str, bytes] = {}
    for cell in cells:
        if type(cell) is str:
            if cell not in texts:
                _feed(fed := _Collected(), cell)
                texts[cell] = bytes(fed)
            into.update(texts[cell])
        else:
            _feed(into, cell if isinstance(cell, (bool, int, float, str)) or cell is None else str(cell))
