"""For the site: the lines `name: what it is` of a docstring become a list, which Markdown would run together."""

from __future__ import annotations

import re
from typing import Any

import griffe

_ARGUMENT = re.compile(r"^([a-z_][\w, ]*):\s+(\S.*)$")


def as_list(text: str) -> str:
    """A docstring with its arguments as a list; a line that is indented belongs to the one above it."""
    out: list[str] = []
    inside = False
    for line in text.splitlines():
        found = _ARGUMENT.match(line)
        if found:
            out += ([""] if not inside else []) + [f"- `{found[1]}`: {found[2]}"]
            inside = True
        elif inside and line.startswith(" "):
            out[-1] += f" {line.strip()}"
        else:
            out += ([""] if inside and line.strip() else []) + [line]
            inside = False
    return "\n".join(out)


class Arguments(griffe.Extension):
    """Rewrites every docstring that is shown."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """One module, class, function or attribute."""
        if obj.docstring is not None:
            obj.docstring.value = as_list(obj.docstring.value)
