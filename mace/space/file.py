"""A space as a TOML file: `mace_space = 1`, `name`, `rules`, `decisions`, and a `[[feature]]` table per feature.

Promise: load(save(space)) == space; a wrong file names the file, the feature and the line of its table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from mace.base.escape import short
from mace.base.files import parse_toml, read_text, write_whole
from mace.base.suggestions import meant
from mace.errors import FileError, SpaceError
from mace.space.feature import Feature

VERSION = 1
LIMIT = 4_000_000
KEYS = tuple(f.name for f in fields(Feature))


class Declared(Protocol):
    """What a file holds of a space."""

    @property
    def features(self) -> Sequence[Feature]:
        """In order."""
        ...

    @property
    def rules(self) -> Sequence[str]:
        """Between features."""
        ...

    @property
    def name(self) -> str:
        """Of the space."""
        ...

    @property
    def decisions(self) -> Mapping[str, str]:
        """What people call the model's classes."""
        ...


Made = TypeVar("Made")
# features, rules, name, notes, decisions, file -> the space
Make: TypeAlias = Callable[[Sequence[Feature], Sequence[str], str, Sequence[str], Mapping[str, str], str], Made]


def load(path: Path, make: Make[Made]) -> Made:
    """Read a space; raises FileError for an unreadable file and SpaceError for a wrong one."""
    text = read_text(path, "Give the path of a space file (TOML).", LIMIT)
    return loads(text, make, str(path))


def loads(text: str, make: Make[Made], file: str = "<space>") -> Made:
    """Read a space from TOML text; `file` is the name shown in messages."""
    try:
        data = parse_toml(text, file, "A space is a TOML file, as `Space.save` writes it.")
    except FileError as error:
        raise SpaceError(error.message, hint=error.hint) from None
    if data.get("mace_space") != VERSION:
        if "mace_space" not in data:
            hint = f"A space begins with the line `mace_space = {VERSION}`."
            raise SpaceError(f"{file}: this is no space: it has no `mace_space`", hint=hint)
        hint = f"This mace reads version {VERSION} of the format: read the file with the mace that wrote it."
        raise SpaceError(f"{file}: expected `mace_space = {VERSION}`, found {short(data['mace_space'])}", hint=hint)
    unknown = set(data) - {"mace_space", "name", "rules", "feature", "decisions"}
    if unknown:
        raise SpaceError(f"{file}: unknown key `{min(unknown)}`", hint="Known: name, rules, decisions, [[feature]].")
    tables = data.get("feature")
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise SpaceError(f"{file}: a space needs [[feature]] tables")
    rules = data.get("rules", [])
    if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
        raise SpaceError(f"{file}: `rules` must be a list of texts")
    decisions = data.get("decisions", {})
    if not isinstance(decisions, dict) or not all(isinstance(name, str) for name in decisions.values()):
        raise SpaceError(f"{file}: `decisions` must be a table of texts", hint='For instance { 0 = "refused" }.')
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line.split("#")[0].strip() == "[[feature]]"]
    features = []
    for place, table in enumerate(tables):
        where = f"{file}:{lines[place]}" if place < len(lines) else file
        features.append(_feature(table, where))
    try:
        return make(features, rules, str(data.get("name", "space")), (), decisions, file)
    except SpaceError as error:
        raise SpaceError(f"{file}: {error.message}", shown=error.shown, hint=error.hint) from None


def _feature(table: dict[str, Any], where: str) -> Feature:
    name = table.get("name", "?")
    for key in table:
        if key not in KEYS:
            hint = meant(key, KEYS, f"Known: {', '.join(KEYS)}.")
            raise SpaceError(f"{where}: feature `{name}`: unknown key `{key}`", hint=hint)
    for key in ("name", "kind"):
        if key not in table:
            raise SpaceError(f"{where}: feature `{name}`: `{key}` is missing")
    for key in ("levels", "columns"):
        if key in table and not isinstance(table[key], list):
            raise SpaceError(f"{where}: feature `{name}`: `{key}` must be a list")
    try:
        return Feature(**table)
    except SpaceError as error:
        raise SpaceError(f"{where}: {error.message}", shown=error.shown, hint=error.hint) from None


def dumps(space: Declared) -> str:
    """The TOML text of a space."""
    out = [f"mace_space = {VERSION}", f"name = {_toml(space.name)}"]
    if space.rules:
        out.append("rules = [")
        out += [f"    {_toml(rule)}," for rule in space.rules]
        out.append("]")
    if space.decisions:
        names = ", ".join(f"{_toml(label)} = {_toml(name)}" for label, name in space.decisions.items())
        out.append(f"decisions = {{ {names} }}")
    for feature in space.features:
        out += ["", "[[feature]]"]
        plain = Feature(**{key: getattr(feature, key) for key in KEYS if key not in ("columns", "encoding")})
        for key in KEYS:
            value = getattr(feature, key)
            if key == "levels":  # TOML has no None; `missing` says that it is a level
                value = tuple(level for level in value if level is not None)
            default = (
                getattr(plain, key) if key in ("columns", "encoding") else Feature.__dataclass_fields__[key].default
            )
            if key in ("name", "kind") or value != default:
                out.append(f"{key} = {_toml(value)}")
    return "\n".join(out) + "\n"


def save(space: Declared, path: Path) -> None:
    """Write a space; the file appears whole or not at all."""
    write_whole(path, dumps(space).encode())


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(item) for item in value)}]"
    if isinstance(value, Fraction):
        return str(value.numerator) if value.denominator == 1 else _toml(f"{value.numerator}/{value.denominator}")
    if isinstance(value, (int, float)):
        return repr(value)
    # JSON escapes are valid TOML escapes, except that surrogate pairs must be whole characters.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
