"""Edits of model files: of their bytes, and of what they hold.

In:  the bytes of an honest file of a format, and a generator of random numbers.    Out: the bytes of an edited one.
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

Rng = np.random.Generator

EXTREMES: tuple[Any, ...] = (
    0, 1, -1, 2, 3, 7, 127, 128, 255, 256, 32767, 65536, 2**24, 2**31 - 2, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**32,
    2**53, 2**62, 2**63 - 1, 2**63, -(2**63), 2**64, 10**30, 0.5, -0.0, 1e-320, 1e-45, 1e38, 3.5e38, 1e300, 1.7e308,
    math.inf, -math.inf, math.nan,
)  # fmt: skip
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    "",
    "x",
    "1",
    "-1",
    "1e400",
    "\ud800",
    "a\0b",
    "\n",
    [],
    {},
    [[]],
    [1],
    {"a": 1},
)


def pick(rng: Rng, values: Any) -> Any:
    """One of several."""
    return values[int(rng.integers(len(values)))]


def edited(kind: str, data: bytes, rng: Rng) -> bytes:
    """The file with one to three edits."""
    for _ in range(int(rng.integers(1, 4))):
        ways = [*WITHIN[kind], WITHIN[kind][0], of_bytes]
        try:
            data = pick(rng, ways)(data, rng)
        except Exception:  # noqa: BLE001 - an edit before has left no form that could be edited
            data = of_bytes(data, rng)
    return data


# ------------------------------------------------------------------------------------------------- bytes


def of_bytes(data: bytes, rng: Rng) -> bytes:
    """Change, delete, double, insert or move some bytes."""
    if not data:
        return bytes(rng.integers(0, 256, 20, dtype=np.uint8))
    at, length = int(rng.integers(len(data))), int(min(rng.geometric(0.1), 200))
    match int(rng.integers(7)):
        case 0:
            return data[:at] + bytes([data[at] ^ 1 << int(rng.integers(8))]) + data[at + 1 :]
        case 1:
            return data[:at] + bytes([pick(rng, (0, 1, 127, 128, 255, int(rng.integers(256))))]) + data[at + 1 :]
        case 2:
            return data[:at] + data[at + length :]
        case 3:
            return data[: at + length] + data[at:]
        case 4:
            return data[:at] + bytes(rng.integers(0, 256, length, dtype=np.uint8)) + data[at:]
        case 5:
            return data[:at]
        case _:
            other = int(rng.integers(len(data)))
            return data[:at] + data[other : other + length] + data[at + length :]


_NUMBER = re.compile(rb"-?\d+(\.\d+)?([eE][-+]?\d+)?")


def of_numbers(data: bytes, rng: Rng) -> bytes:
    """Change a number that is written in digits."""
    found = list(_NUMBER.finditer(data))
    place = pick(rng, found)
    new = str(pick(rng, EXTREMES)) if rng.random() < 0.7 else pick(rng, found)[0].decode()
    return data[: place.start()] + new.encode() + data[place.end() :]


# ------------------------------------------------------------------------------------------------- trees of values


def of_values(document: Any, rng: Rng) -> Any:
    """A document of dicts, lists, arrays, numbers and texts with one member changed, somewhere."""
    place: tuple[Any, Any] | None = None
    value = document
    # Walk down at random; the way down goes on more often than not.
    while isinstance(value, (dict, list)) and len(value) and (place is None or rng.random() < 0.85):
        key = pick(rng, list(value)) if isinstance(value, dict) else int(rng.integers(len(value)))
        place, value = (value, key), value[key]
    if place is None:
        return pick(rng, ODD)
    holder, key = place
    choice = rng.random()
    if choice < 0.12:
        del holder[key]
    elif choice < 0.2 and isinstance(holder, list):
        holder.insert(int(rng.integers(len(holder) + 1)), value)
    elif choice < 0.28 and isinstance(holder, list):
        other = int(rng.integers(len(holder)))
        holder[key], holder[other] = holder[other], holder[key]
    elif choice < 0.33 and isinstance(holder, dict):
        holder[pick(rng, [*holder, "more"])] = value
    else:
        holder[key] = changed(value, rng)
    return document


def changed(value: Any, rng: Rng) -> Any:
    """Another value in place of one."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return _array(value, rng)
    if rng.random() < 0.15:
        return pick(rng, ODD)
    match value:
        case bool():
            return not value
        case int() | float():
            near = value + int(rng.integers(-3, 4)) if abs(value) < 2**62 else 0
            return pick(rng, EXTREMES) if rng.random() < 0.6 else near
        case str():
            if _NUMBER.fullmatch(value.encode("utf-8", "replace")) and rng.random() < 0.8:
                return str(pick(rng, EXTREMES))
            return pick(rng, ("", value * 2, value[:-1], value + "\0", "x" * 20_000, "\ud800"))
        case bytes():
            return of_bytes(value, rng)
        case list():
            return pick(rng, ([], value * 2, value[::-1], value[:-1], [value], [*value, pick(rng, EXTREMES)]))
        case dict():
            return pick(rng, ({}, {**value, "more": 1}, dict(list(value.items())[:-1])))
        case _:
            return pick(rng, ODD)


def _array(value: Any, rng: Rng) -> Any:
    """An array with another number, length or type."""
    value = value.copy()
    if value.size and rng.random() < 0.75:
        at = tuple(int(rng.integers(size)) for size in value.shape)
        if value.dtype.kind == "V":  # the nodes of a tree
            name = pick(rng, value.dtype.names)
            part = value[name]
            part[at] = _fitting(part.dtype, rng)
            return value
        value[at] = _fitting(value.dtype, rng)
        return value
    return pick(rng, (value[:-1], value[:0], np.concatenate([value, value]), value[::-1].copy(), np.array([1.5])))


def _fitting(dtype: Any, rng: Rng) -> Any:
    """An extreme number of a type."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = int(rng.integers(-3, 12))
        return pick(rng, (info.min, info.max, info.max - 1, max(small, info.min), max(small, info.min)))
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return np.array(float(pick(rng, EXTREMES))).astype(dtype)[()]
    return np.zeros(1, dtype)[0]


# ------------------------------------------------------------------------------------------------- formats


def _json(data: bytes, rng: Rng) -> bytes:
    return json.dumps(_booster(json.loads(data), rng)).encode("utf-8", "replace")


def _booster(document: Any, rng: Rng) -> Any:
    """A document of XGBoost with another member; what says the same twice is left out at times, to come further."""
    document = _renumbered(document, rng) if rng.random() < 0.15 else of_values(document, rng)
    if rng.random() < 0.6 and isinstance(document, dict):
        model = document["learner"]["gradient_booster"]["model"]
        model.pop("iteration_indptr", None)
        for tree in model["trees"]:
            tree.pop("parents", None)
            tree["tree_param"] = {"size_leaf_vector": "1"}
    return document


def _renumbered(document: Any, rng: Rng) -> Any:
    """The same trees with one whose nodes, but for the root, have other numbers."""
    tree = pick(rng, document["learner"]["gradient_booster"]["model"]["trees"])
    count = len(tree["left_children"])
    order = [0, *(int(place) + 1 for place in rng.permutation(count - 1))]
    number = {old: new for new, old in enumerate(order)}
    for key, values in tree.items():
        if isinstance(values, (list, np.ndarray)) and len(values) == count:
            moved = [values[old] for old in order]
            if key in ("left_children", "right_children", "parents"):
                moved = [number.get(int(value), int(value)) for value in moved]
            tree[key] = np.array(moved, values.dtype) if isinstance(values, np.ndarray) else moved
    return document


def _ubj(data: bytes, rng: Rng) -> bytes:
    from mace.compilers.formats import ubjson

    return _ubjson(_booster(ubjson.parse(data, "it"), rng))


def _ubjson(value: Any) -> bytes:
    """UBJSON of anything, also of what mace never writes."""
    from mace.compilers.formats import ubjson

    def length(count: int) -> bytes:
        return b"L" + struct.pack(">q", count)

    match value:
        case None | bool():
            return {None: b"Z", True: b"T", False: b"F"}[value]
        case float():
            return b"D" + struct.pack(">d", value)
        case int():
            return length(max(-(2**63), min(value, 2**63 - 1)))
        case str():
            raw = value.encode("utf-8", "surrogatepass")
            return b"S" + length(len(raw)) + raw
        case list():
            return b"[#" + length(len(value)) + b"".join(map(_ubjson, value))
        case dict():
            return b"{" + b"".join(_ubjson(key)[1:] + _ubjson(one) for key, one in value.items()) + b"}"
        case _:
            return ubjson.write(value)


def _lines(data: bytes, rng: Rng) -> bytes:
    """Change, delete, double or move a line."""
    lines = data.decode().split("\n")
    end = lines.index("end of trees") + 3 if "end of trees" in lines else len(lines)
    at, other = int(rng.integers(end)), int(rng.integers(end))
    match int(rng.integers(8)):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[other])
        case 2:
            lines[at], lines[other] = lines[other], lines[at]
        case 3:
            lines[at] = lines[at] + pick(rng, (" 1", " x", "=", " " * 1000, "\r", "\u2028"))
        case _:
            key, sign, value = lines[at].partition("=")
            words = value.split(" ")
            place = int(rng.integers(len(words)))
            words[place] = str(
                changed(float(words[place]) if _NUMBER.fullmatch(words[place].encode()) else words[place], rng)
            )
            if words[place].endswith(".0"):
                words[place] = words[place][:-2]
            lines[at] = key + sign + " ".join(words)
    if rng.random() < 0.7:  # Else the sizes of trees no longer fit, and nothing else is looked at.
        lines = [line for line in lines if not line.startswith("tree_sizes=")]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _onnx(data: bytes, rng: Rng) -> bytes:
    from mace.compilers.formats.protobuf import decode, encode
    from mace.compilers.onnx.model import SCHEMA

    return encode(of_values(decode(data, SCHEMA, "Model"), rng), SCHEMA, "Model")


def _members(data: bytes, rng: Rng, change: Callable[[str, bytes], bytes | None]) -> bytes:
    """A zip file with one member changed, or left out."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", pick(rng, (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for name, held in members.items():
            new = change(name, held)
            if new is not None:
                archive.writestr(name, new)
    return made.getvalue()


def _schema(data: bytes, rng: Rng) -> bytes:
    return _members(
        data,
        rng,
        lambda name, held: json.dumps(of_values(json.loads(held), rng)).encode() if name == "schema.json" else held,
    )


def _arrays(data: bytes, rng: Rng) -> bytes:
    """Change one array of a skops file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        chosen = pick(rng, [name for name in archive.namelist() if name != "schema.json"])

    def change(name: str, held: bytes) -> bytes | None:
        if name != chosen:
            return held
        if rng.random() < 0.2:
            return pick(rng, (None, of_bytes(held, rng), b""))
        array = np.load(io.BytesIO(held), allow_pickle=False)
        made = io.BytesIO()
        np.save(made, _array(array, rng), allow_pickle=False)
        return made.getvalue()

    return _members(data, rng, change)


_TAG = re.compile(rb"<[^<>]*>")
_ATTRIBUTE = re.compile(rb'([\w-]+)="([^"]*)"')


def _elements(data: bytes, rng: Rng) -> bytes:
    """Change, delete, double or move a tag of XML, or an attribute, or add what parsers have stumbled over."""
    tags = list(_TAG.finditer(data))
    one, other = pick(rng, tags), pick(rng, tags)
    match int(rng.integers(20)):
        case 0:
            return data[: one.start()] + data[one.end() :]
        case 1:
            return data[: one.end()] + other[0] + data[one.end() :]
        case 2:
            return data[: one.start()] + other[0] + data[one.end() :]
        case 3:
            deep = int(rng.integers(1, 3000))
            return data[: one.end()] + b"<Node>" * deep + b"</Node>" * deep + data[one.end() :]
        case 4:
            bomb = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
            return data.replace(b"<PMML", bomb + b"<PMML", 1) if rng.random() < 0.5 else data.replace(b"red", b"&b;")
        case _:
            found = list(_ATTRIBUTE.finditer(data))
            place, source = pick(rng, found), pick(rng, found)
            new = (
                source[2] if rng.random() < 0.5 else str(pick(rng, (*EXTREMES, *ODD[3:11]))).encode("utf-8", "replace")
            )
            return data[: place.start(2)] + new + data[place.end(2) :]


WITHIN: dict[str, tuple[Callable[[bytes, Rng], bytes], ...]] = {
    "json": (_json, of_numbers),
    "ubj": (_ubj,),
    "txt": (_lines, of_numbers),
    "onnx": (_onnx,),
    "skops": (_arrays, _schema),
    "catboost": (_json, of_numbers),
    "pmml": (_elements, of_numbers),
}
