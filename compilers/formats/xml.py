"""XML of model files: elements, their attributes and texts, and nothing that an XML parser can be made to do.

In:  the bytes of a file.    Out: `Element`, names without their namespaces.
Promise: a document type, and so every entity beyond XML's own five, is refused before anything is expanded; nothing
outside of the file is opened; depth and number of elements are limited. The only exception is a FileError.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from mace.errors import FileError

DEEPEST, MOST_ELEMENTS = 2000, 4_000_000
SKIPPED = ("Extension",)  # said by one program for itself


@dataclass(slots=True)
class Element:
    """An element; `line` says where in the file it begins."""

    name: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Its own text."""
        return "".join(self.texts)

    def all(self, *names: str) -> list[Element]:
        """The children of these names, in order."""
        return [child for child in self.children if child.name in names]

    def first(self, *names: str) -> Element | None:
        """The first child of one of these names."""
        return next((child for child in self.children if child.name in names), None)

    def walk(self) -> Iterator[Element]:
        """The element and all inside, in order."""
        waiting = [self]
        while waiting:
            here = waiting.pop()
            yield here
            waiting += reversed(here.children)


class _RefusedError(Exception):
    """Why a file is not read further."""


def parse(data: bytes, name: str) -> Element:
    """The outermost element of a file; `name` begins every message. Raises FileError."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    reader = _Reader(parser)
    parser.StartDoctypeDeclHandler = reader.doctype
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.characters
    try:
        parser.Parse(data, True)  # noqa: FBT003  it takes no names
    except (expat.ExpatError, UnicodeError, LookupError, ValueError) as error:
        raise FileError(f"{name} is no XML: {error}", hint="It may be cut off: save the model again.") from None
    except _RefusedError as error:
        raise FileError(f"{name}: {error}") from None
    if reader.root is None:
        raise FileError(f"{name} is no XML: it has no element")
    return reader.root


class _Reader:
    def __init__(self, parser: expat.XMLParserType) -> None:
        self.parser, self.count = parser, 0
        self.open: list[Element] = []
        self.skipping = 0
        self.root: Element | None = None

    def doctype(self, *_: object) -> None:
        raise _RefusedError("it declares a document type, which may hold entities: such files are refused")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) + self.skipping >= DEEPEST or self.count > MOST_ELEMENTS:
            raise _RefusedError(f"it is nested deeper than {DEEPEST}, or has more than {MOST_ELEMENTS} elements")
        local = name.rpartition(":")[2]
        if self.skipping or local in SKIPPED:
            self.skipping += 1
            return
        here = Element(local, attributes, self.parser.CurrentLineNumber)
        if self.open:
            self.open[-1].children.append(here)
        elif self.root is None:
            self.root = here
        self.open.append(here)

    def end(self, _: str) -> None:
        if self.skipping:
            self.skipping -= 1
        else:
            self.open.pop()

    def characters(self, text: str) -> None:
        if self.open and not self.skipping:
            self.open[-1].texts.append(text)
