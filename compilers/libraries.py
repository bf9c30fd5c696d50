"""The list of the libraries whose models are read, and which of them a class of models or a file belongs to.

In:  the name of a package, or the ending of a file's name.
Out: `known`, all that is known of one library, and `libraries`, of all; the readers and types of files that they have.
Promise: what is known of a library is imported when a model or a file of it comes, or somebody asks for all: an answer
about a forest does not wait for what is known of ten libraries. To add one is a folder with a `LIBRARY` object, and
its place here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module

from mace.compilers.library import FileType, Library, Reader

# The package that a library's classes come from, which is also the name of its folder here -> the endings of the files
# that it writes.
ENDINGS: dict[str, tuple[str, ...]] = {
    "sklearn": (".skops",),
    "xgboost": (".json", ".ubj"),
    "lightgbm": (".txt",),
    "catboost": (".json",),
    "interpret": (),
    "statsmodels": (),
    "torch": (),
    "onnx": (".onnx", ".onnx.gz"),
    "optbinning": (),
    "pmml": (".pmml",),
}

PICKLED = (".joblib", ".pkl", ".pickle")
"""The usual endings of what joblib or pickle writes, of which no library has one for its files."""


@cache
def known(package: str) -> Library | None:
    """The library of a package; None if its models are not read."""
    if package not in ENDINGS:
        return None
    found: Library = import_module(f"mace.compilers.{package}.library").LIBRARY
    return found


@cache
def libraries() -> tuple[Library, ...]:
    """All whose models are read, in the order in which they are shown."""
    return tuple(library for library in map(known, ENDINGS) if library is not None)


@cache
def readers() -> dict[str, Reader]:
    """Of all libraries, by the public paths of the classes that they are for."""
    return {path: reader for library in libraries() for path, reader in library.readers.items()}


def readers_near(module: str) -> Mapping[str, Reader]:
    """Those among which that of a class is, if it has one, by the module of the class: one of its library, or one made
    here for the library's models."""
    library = known(module.removeprefix("mace.compilers.").partition(".")[0])
    return {} if library is None else library.readers


def file_types(ending: str) -> list[FileType]:
    """Those of the files whose names end so."""
    owners = (known(package) for package, endings in ENDINGS.items() if ending in endings)
    return [kind for library in owners if library is not None for kind in library.files if ending in kind.endings]


def endings() -> list[str]:
    """Of the files that are read, sorted."""
    return sorted({ending for of_one in ENDINGS.values() for ending in of_one})
