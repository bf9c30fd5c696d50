"""What the site's page of messages ends with: every message that the sources hold, and what it says to do.

In:  the sources, read and not run.    Out: markdown, after what is written by hand.
Promise: a message is what stands in the code, with `…` for what is filled in; no copy of it can grow old.
`python docs/every_message.py` prints it; `mkdocs` calls `on_page_markdown`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
FILLED = "…"

# What is raised, in the order in which somebody meets it, and the folders that are looked through.
KINDS = {
    "ModelError": "A model that cannot be read or compiled",
    "UnreadableError": "A model that no reader takes, and that may be asked all the same",
    "SpaceError": "A space that contradicts itself, its file or the model",
    "RowError": "A row that does not lie in its space",
    "GoalError": "A goal that the model does not have, or that cannot be expressed",
    "NowhereError": "A goal that no input can have",
    "EverywhereError": "A goal that every input has",
    "ProgramError": "A text of the core language, a world or a property",
    "NumberError": "What is no number, or none that can be used",
    "FileError": "A file",
    "CertificateError": "A certificate that cannot be written or read",
    "ArgumentError": "A name that no argument has",
    "StoppedError": "Interrupted",
    "MaceError": "All else",
    "Refused": "Why a checker refuses a certificate",
    "Unusable": "Why a checker cannot read one",
}
FOLDERS = ("mace", "compilers", "proofs")


class Message(NamedTuple):
    """One message of the sources: its class, what it says, what to do, and the folder that it comes from."""

    kind: str
    text: str
    hint: str
    folder: str


def messages() -> list[Message]:
    """All of them; what several files of a folder say alike is there once."""
    found = {
        message
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not any(parent.is_symlink() for parent in path.parents)
        for message in of_source(path.read_text(encoding="utf-8"), path.parent.relative_to(ROOT).as_posix())
    }
    return sorted(found, key=lambda one: (list(KINDS).index(one.kind), one.folder, one.text.strip(FILLED).lower(), one))


def of_source(source: str, folder: str) -> Iterator[Message]:
    """The messages of one file."""
    for scope in ast.walk(ast.parse(source)):
        if not isinstance(scope, ast.FunctionDef):
            continue
        named: dict[str, ast.expr] = {}  # what a name in the function stands for, if it is said there
        for node in ast.walk(scope):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                named[node.targets[0].id] = node.value
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and _name(node.func) in KINDS and node.args:
                text = _text(node.args[0], named)
                hint = next((_text(word.value, named) for word in node.keywords if word.arg == "hint"), "")
                if any(letter.isalpha() for letter in text):
                    yield Message(_name(node.func), text, hint if hint != FILLED else "", folder)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _text(node: ast.expr, named: dict[str, ast.expr]) -> str:
    """What an expression of text says, as far as the source tells."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.JoinedStr(values=parts):
            return "".join(_text(part, {}) for part in parts)
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _text(left, named) + _text(right, named)
        case ast.IfExp(body=body, orelse=other):
            return _text(body, named) or _text(other, named)
        case ast.Call(func=func, args=[_, _, known]) if _name(func) == "meant":
            return f"Did you mean {FILLED}? {_text(known, named)}".removesuffix(FILLED).strip()
        case ast.Call(func=func, args=[_, _, *rest]) if _name(func) == "among":
            return f"Did you mean {FILLED}? {_text(rest[0], named) if rest else 'It'} has {FILLED}."
        case ast.Name(id=name) if name in named:
            return _text(named[name], {})
    return FILLED


def as_markdown() -> str:
    """A table for each kind of message."""
    found = messages()
    lines = [
        "", "## Every message", "",
        f"All {len(found)}, from the sources, with `{FILLED}` for what is filled in: a name, a number, what was found. "
        "Many say themselves what to do.",
    ]  # fmt: skip
    for kind, title in KINDS.items():
        rows = [one for one in found if one.kind == kind]
        if rows:
            lines += ["", f"### {title}", "", f"`{kind}`", "", "| message | what to do | from |", "|---|---|---|"]
            lines += [f"| {_cell(one.text)} | {_cell(one.hint)} | {one.folder} |" for one in rows]
    return "\n".join([*lines, ""])


def _cell(text: str) -> str:
    """A text in a cell of a table, where nothing of it is markup."""
    return " ".join(text.translate({ord(sign): f"&#{ord(sign)};" for sign in "&\\`*_[]<>|{}"}).split())


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """MkDocs: the page of messages ends with all of them."""
    return markdown + as_markdown() if page.file.src_path == "messages.md" else markdown


if __name__ == "__main__":
    print(as_markdown())  # noqa: T201
