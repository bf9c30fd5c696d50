"""Protocol buffers: bytes to plain values by a schema, and back.

In:  bytes, and a schema: for each message its fields by number.
Out: a dict for each message, with every field that was there: numbers, texts, bytes, dicts, and lists of these; many
     floats are a numpy array. `encode` goes back.
Promise: nothing is allocated that the bytes do not hold; messages nest only as deep as the schema, which has no
cycles; a field that the schema does not know, or that stands twice where it may stand once, is refused. Damage is a
FormatError that says at which byte.
Source: protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIRE = {"int": _VARINT, "float": _FIXED32, "double": _FIXED64}
_DTYPE: dict[str, np.dtype[Any]] = {"float": np.dtype("<f4"), "double": np.dtype("<f8")}


class FormatError(Exception):
    """Bytes that are no message of the schema."""


class UnreadError(FormatError):
    """A message has a field that may not be there, whose name is `field`."""

    def __init__(self, field: str, what: str) -> None:
        super().__init__(what)
        self.field = field


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a message.

    kind: "int" (64 bits, signed), "float", "double", "text", "bytes", the name of a message; "skip" for what is of no
          interest, "refuse" for what may not be there.
    """

    name: str
    kind: str
    many: bool = False


Schema = Mapping[str, Mapping[int, Field]]


def decode(data: bytes, schema: Schema, message: str) -> dict[str, Any]:
    """The message that the bytes hold; raises FormatError."""
    return _Reader(data, schema).message(message, 0, len(data))


class _Reader:
    def __init__(self, data: bytes, schema: Schema) -> None:
        self.data, self.schema = data, schema

    def message(self, name: str, at: int, end: int) -> dict[str, Any]:
        fields = self.schema[name]
        found: dict[str, Any] = {}
        while at < end:
            start = at
            key, at = self.varint(at, end)
            number, wire = key >> 3, key & 7
            field = fields.get(number)
            if field is None:
                raise FormatError(f"{name} has the field number {number}, which is not supported (byte {start})")
            if field.kind == "refuse":
                what = f"{name} has the field {field.name}, which is not supported (byte {start})"
                raise UnreadError(field.name, what)
            if field.kind == "skip":
                at = self.skip(wire, at, end)
                continue
            if field.many:
                at = self.add(found.setdefault(field.name, []), field, (start, wire), at, end)
                continue
            if field.name in found:
                raise FormatError(f"{name} has the field {field.name} twice (byte {start})")
            found[field.name], at = self.one(field, wire, at, end)
        return {key: _joined(value) for key, value in found.items()}

    def one(self, field: Field, wire: int, at: int, end: int) -> tuple[Any, int]:
        if wire != _WIRE.get(field.kind, _BYTES):
            raise FormatError(f"the field {field.name} has another type (byte {at})")
        if wire == _VARINT:
            value, at = self.varint(at, end)
            return value - 2**64 if value >= 2**63 else value, at
        if wire in (_FIXED32, _FIXED64):
            dtype = _DTYPE[field.kind]
            place, at = at, self.within(at + dtype.itemsize, end)
            return np.frombuffer(self.data, dtype, 1, place)[0].item(), at
        length, at = self.varint(at, end)
        place, at = at, self.within(at + length, end)
        if field.kind == "bytes":
            return self.data[place:at], at
        if field.kind == "text":
            try:
                return self.data[place:at].decode("utf-8"), at
            except UnicodeDecodeError:
                raise FormatError(f"the field {field.name} is no UTF-8 (byte {place})") from None
        return self.message(field.kind, place, at), at

    def add(self, values: list[Any], field: Field, key: tuple[int, int], at: int, end: int) -> int:
        """Add one value of a repeated field, or as many as follow one another; returns where the next field begins."""
        start, wire = key
        if wire == _BYTES and field.kind in _WIRE:  # packed
            length, at = self.varint(at, end)
            stop = self.within(at + length, end)
            if field.kind == "int":
                while at < stop:
                    value, at = self.varint(at, stop)
                    values.append(value - 2**64 if value >= 2**63 else value)
            else:
                dtype = _DTYPE[field.kind]
                if length % dtype.itemsize:
                    raise FormatError(f"the field {field.name} has no whole number of values (byte {at})")
                values.append(np.frombuffer(self.data, dtype, length // dtype.itemsize, at))
            return stop
        if wire == _FIXED32 and field.kind == "float" and at - start == 1:
            return self.floats(values, start, end)
        if wire == _VARINT and field.kind == "int" and at - start == 1:
            return self.ints(values, start, end)
        value, at = self.one(field, wire, at, end)
        values.append(value if field.kind not in _DTYPE else np.array([value], _DTYPE[field.kind]))
        return at

    def floats(self, values: list[Any], at: int, end: int) -> int:
        """Floats that follow one another, each with the same key of one byte before it."""
        key, block = self.data[at], 16
        while at + 5 <= end:
            rows = np.frombuffer(self.data, np.uint8, 5 * min(block, (end - at) // 5), at).reshape(-1, 5)
            same = rows[:, 0] == key
            count = len(same) if same.all() else int(np.argmin(same))
            values.append(np.ascontiguousarray(rows[:count, 1:]).view("<f4").ravel())
            at += 5 * count
            if count < len(same):
                break
            block *= 4
        if at < end and self.data[at] == key:
            raise FormatError(f"the bytes end within a number (byte {at})")
        return at

    def ints(self, values: list[Any], at: int, end: int) -> int:
        """Whole numbers that follow one another, each with the same key of one byte before it."""
        data, key = self.data, self.data[at]
        while at < end and data[at] == key:
            at += 1
            if at < end and data[at] < 128:
                values.append(data[at])
                at += 1
                continue
            value, at = self.varint(at, end)
            values.append(value - 2**64 if value >= 2**63 else value)
        return at

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """An unsigned number of at most 64 bits, and where it ends."""
        value, shift = 0, 0
        while at < end and shift < 70:
            byte = self.data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value & (2**64 - 1), at
            shift += 7
        raise FormatError(f"the bytes end within a number, or it is too long (byte {at})")

    def skip(self, wire: int, at: int, end: int) -> int:
        if wire == _VARINT:
            return self.varint(at, end)[1]
        if wire in (_FIXED32, _FIXED64):
            return self.within(at + (8 if wire == _FIXED64 else 4), end)
        if wire != _BYTES:
            raise FormatError(f"a field of the unknown type {wire} (byte {at})")
        length, at = self.varint(at, end)
        return self.within(at + length, end)

    def within(self, at: int, end: int) -> int:
        if at > end:
            raise FormatError(f"the bytes end too early: a field reaches to byte {at} of {end}")
        return at


def _joined(value: Any) -> Any:
    """A list of arrays as one array."""
    return np.concatenate(value) if isinstance(value, list) and value and isinstance(value[0], np.ndarray) else value


# ------------------------------------------------------------------------------------------------- writing


def encode(value: Mapping[str, Any], schema: Schema, message: str) -> bytes:
    """The bytes of a message; numbers of repeated fields are packed."""
    parts: list[bytes] = []
    numbers = {field.name: (number, field) for number, field in schema[message].items()}
    for name, held in value.items():
        number, field = numbers[name]
        if not field.many:
            parts.append(_encoded(number, field, held, schema))
        elif field.kind in _WIRE:
            packed = (
                b"".join(map(_varint, held)) if field.kind == "int" else np.asarray(held, _DTYPE[field.kind]).tobytes()
            )
            parts.append(_varint(number << 3 | _BYTES) + _varint(len(packed)) + packed)
        else:
            parts += [_encoded(number, field, one, schema) for one in held]
    return b"".join(parts)


def _encoded(number: int, field: Field, value: Any, schema: Schema) -> bytes:
    key = _varint(number << 3 | _WIRE.get(field.kind, _BYTES))
    raw: bytes
    match field.kind:
        case "int":
            return key + _varint(value)
        case "float":
            return key + struct.pack("<f", value)
        case "double":
            return key + struct.pack("<d", value)
        case "text":
            raw = value.encode("utf-8")
        case "bytes":
            raw = value
        case _:
            raw = encode(value, schema, field.kind)
    return key + _varint(len(raw)) + raw


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)
