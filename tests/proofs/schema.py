"""JSON Schema, as far as proofs/format.schema.json uses it: any other keyword is an error here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda data: data is None,
    "boolean": lambda data: type(data) is bool,
    "integer": lambda data: type(data) is int,
    "string": lambda data: type(data) is str,
    "array": lambda data: type(data) is list,
    "object": lambda data: type(data) is dict,
}
WORDS = {"$schema", "title", "$defs"}


def fits(data: Any, schema: Any, root: dict[str, Any]) -> bool:
    """Whether data is as a schema says; `root` is the whole schema, for references."""
    if isinstance(schema, bool):
        return schema
    return all(KEYWORDS[word](data, value, schema, root) for word, value in schema.items() if word not in WORDS)


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are one: `true` is not 1."""
    return type(one) is type(other) and bool(one == other)


def referred(name: str, root: dict[str, Any]) -> Any:
    """The schema that a reference within the file names."""
    assert name.startswith("#/$defs/"), name
    return root["$defs"][name.removeprefix("#/$defs/")]


def items(data: Any, schema: Any, around: dict[str, Any], root: dict[str, Any]) -> bool:
    """What follows the entries that have schemas of their own."""
    return type(data) is not list or all(fits(one, schema, root) for one in data[len(around.get("prefixItems", ())) :])


KEYWORDS: dict[str, Callable[[Any, Any, dict[str, Any], dict[str, Any]], bool]] = {
    "type": lambda data, names, *_: any(TYPES[name](data) for name in ([names] if isinstance(names, str) else names)),
    "const": lambda data, value, *_: same(data, value),
    "enum": lambda data, values, *_: any(same(data, value) for value in values),
    "minimum": lambda data, least, *_: type(data) is not int or data >= least,
    "pattern": lambda data, pattern, *_: type(data) is not str or bool(re.search(pattern, data)),
    "minItems": lambda data, count, *_: type(data) is not list or len(data) >= count,
    "maxItems": lambda data, count, *_: type(data) is not list or len(data) <= count,
    "required": lambda data, names, *_: type(data) is not dict or set(names) <= set(data),
    "additionalProperties": lambda data, more, around, _: (
        type(data) is not dict or more is not False or set(data) <= set(around.get("properties", ()))
    ),
    "properties": lambda data, inner, _, root: (
        type(data) is not dict or all(fits(data[name], inner[name], root) for name in inner if name in data)
    ),
    "prefixItems": lambda data, inner, _, root: (
        type(data) is not list or all(fits(one, part, root) for one, part in zip(data, inner, strict=False))
    ),
    "items": items,
    "oneOf": lambda data, choices, _, root: sum(fits(data, choice, root) for choice in choices) == 1,
    "$ref": lambda data, name, _, root: fits(data, referred(name, root), root),
}
