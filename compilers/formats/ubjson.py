"""Read UBJSON (draft 12), as far as model files use it, into plain Python values, and write it.

In:  bytes.    Out: dicts, lists, strings, numbers; a typed array of numbers becomes a numpy array. `write` goes back.
Promise: nothing is executed, nothing is allocated that the file does not hold, nesting is bounded; damage is a
FileError that says at which byte.
Source: ubjson.org/type-reference; numbers are big-endian, optimised containers have `$` type and `#` count.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from mace.errors import FileError

_NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "u": ">u2", "l": ">i4", "m": ">u4", "L": ">i8", "d": ">f4", "D": ">f8"}
_DEEPEST = 64


def parse(data: bytes, name: str) -> Any:
    """The one value that the bytes hold; `name` is for messages."""
    reader = _Reader(data, name)
    value = reader.value(reader.marker(), 0)
    if reader.at != len(data):
        raise reader.wrong("something follows the end of the document")
    return value


class _Reader:
    """A place in the bytes."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name, self.at = data, name, 0

    def wrong(self, what: str) -> FileError:
        return FileError(f"{self.name} is damaged at byte {self.at}: {what}", hint="Save the model again.")

    def take(self, count: int) -> bytes:
        if count < 0 or self.at + count > len(self.data):
            raise self.wrong("the file ends too early")
        self.at += count
        return self.data[self.at - count : self.at]

    def marker(self) -> str:
        while (found := self.take(1)) == b"N":  # no-op
            pass
        return found.decode("latin-1")

    def count(self) -> int:
        found = self.number(self.marker())
        if not isinstance(found, int) or found < 0:
            raise self.wrong(f"{found!r} is no length")
        return found

    def number(self, marker: str) -> int | float:
        kind = _NUMBERS.get(marker)
        if kind is None:
            raise self.wrong(f"expected a number, found {marker!r}")
        dtype = np.dtype(kind)
        found: int | float = np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()
        return found

    def text(self) -> str:
        try:
            return self.take(self.count()).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.wrong(f"a text is not UTF-8 ({error.reason})") from None

    def value(self, marker: str, depth: int) -> Any:
        if depth > _DEEPEST:
            raise self.wrong(f"nested more than {_DEEPEST} deep")
        match marker:
            case "Z" | "T" | "F":
                return {"Z": None, "T": True, "F": False}[marker]
            case "S" | "H":
                return self.text()
            case "C":
                return self.take(1).decode("latin-1")
            case "[" | "{":
                return self.container(marker, depth)
            case _:
                return self.number(marker)

    def container(self, opened: str, depth: int) -> Any:
        kind, length = None, None
        if self.peek() == "$":
            self.take(1)
            kind = self.take(1).decode("latin-1")
            if kind in "ZTFN":  # They take no byte each: a short text could claim any number of them.
                raise self.wrong(f"a container of {kind!r}, which models do not have")
            if self.peek() != "#":
                raise self.wrong("a typed container has no length")
        if self.peek() == "#":
            self.take(1)
            length = self.count()
            if length > len(self.data) - self.at:  # Every element takes a byte at least.
                raise self.wrong(f"a container claims {length} elements")
        if opened == "[" and kind in _NUMBERS and length is not None:
            dtype = np.dtype(_NUMBERS[kind])
            array = np.frombuffer(self.take(length * dtype.itemsize), dtype)
            return array.astype(dtype.newbyteorder("="))
        listed: list[Any] = []
        named: dict[str, Any] = {}
        end = "]" if opened == "[" else "}"
        while length is None or len(listed) + len(named) < length:
            if length is None and self.peek() == end:
                self.take(1)
                break
            if opened == "[":
                listed.append(self.value(kind or self.marker(), depth + 1))
                continue
            key = self.text()
            if key in named:
                raise self.wrong(f"the key {key!r} stands twice")
            named[key] = self.value(kind or self.marker(), depth + 1)
        return listed if opened == "[" else named

    def peek(self) -> str:
        while self.at < len(self.data) and self.data[self.at : self.at + 1] == b"N":
            self.at += 1
        if self.at >= len(self.data):
            raise self.wrong("the file ends too early")
        return self.data[self.at : self.at + 1].decode("latin-1")


# ------------------------------------------------------------------------------------------------- writing

_MARKERS = {np.dtype(kind[1:]).str[1:]: marker for marker, kind in _NUMBERS.items()}


def write(value: Any) -> bytes:
    """The UBJSON of dicts, lists, texts, whole numbers of 64 bits, and of numpy's float32 and arrays of numbers."""
    parts: list[bytes] = []
    _write(value, parts)
    return b"".join(parts)


def _length(count: int) -> bytes:
    return b"L" + struct.pack(">q", count)


def _write(value: Any, parts: list[bytes]) -> None:
    match value:
        case str():
            raw = value.encode("utf-8")
            parts += [b"S", _length(len(raw)), raw]
        case int():
            parts.append(_length(value))
        case np.floating() if value.dtype == np.float32:
            parts += [b"d", struct.pack(">f", value)]
        case np.ndarray():
            marker = _MARKERS[value.dtype.str[1:]].encode()
            parts += [b"[$", marker, b"#", _length(len(value)), value.astype(value.dtype.newbyteorder(">")).tobytes()]
        case list():
            parts += [b"[#", _length(len(value))]
            for one in value:
                _write(one, parts)
        case dict():
            parts.append(b"{")
            for key, one in value.items():
                raw = key.encode("utf-8")
                parts += [_length(len(raw)), raw]
                _write(one, parts)
            parts.append(b"}")
        case _:
            raise TypeError(f"{type(value).__name__} has no UBJSON")
