"""The models that were read last, so that calls of `mace.explain` about one model in a row read it once.

In:  a model and a space.
Out: `Read`: the table, and the way to the model where it takes raw columns.
Promise: what is recalled was read of this very object, over this very space, while its content was the same to the
last byte that its library writes down; anything else is read anew, and compared with its library. Only models made of
well-known libraries' classes alone are recalled: another class may keep what decides out of what it writes down.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mace.base.classes import package_of
from mace.explain.reading.models import read_encoded, read_model, read_pipeline
from mace.space.space import Space
from mace.tables.table import Table

if TYPE_CHECKING:
    from mace.compilers.pipeline.reader import CompiledPipeline

MOST = 2  # models that are held on to
KNOWN = frozenset((
    "builtins", "catboost", "collections", "copyreg", "functools", "interpret", "lightgbm", "numpy", "optbinning",
    "pandas", "scipy", "sklearn", "xgboost",
))  # fmt: skip
LEAVE_OUT = frozenset({"catboost"})  # write their trees down, and not what else was set on the object


class Read(NamedTuple):
    """A model as a table; `pipeline` where it takes the raw columns itself."""

    table: Table
    pipeline: CompiledPipeline | None


class _Held(NamedTuple):
    """What was read, of what; the objects are held, so that no other one can be taken for them."""

    model: object
    space: Space
    content: Hashable
    read: Read


_HELD: list[_Held] = []  # the one that was asked for last comes last


def read(model: object, space: Space) -> Read:
    """The model over a space, read now or recalled; raises what the readers raise."""
    known = content(model)
    for place, held in enumerate(_HELD if known is not None else ()):
        if held.model is model and held.space is space and held.content == known:
            _HELD.append(_HELD.pop(place))
            return held.read
    found = _read(model, space)
    if known is not None:
        _HELD[:] = [*_HELD[1 - MOST :], _Held(model, space, known, found)]
    return found


def _read(model: object, space: Space) -> Read:
    pipeline = read_pipeline(model, space)
    if pipeline is None:
        table = read_model(model, space)
        pipeline = read_encoded(model, table, space)
    return Read(table if pipeline is None else pipeline.table, pipeline)


def content(model: object) -> Hashable | None:
    """What tells whether a model is as it was: its bytes, and what its class does; None if that cannot be told."""
    if isinstance(model, (str, Path)):
        return None
    writing = _Writing()
    try:
        _Pickler(writing).dump(model)
    except Exception:  # noqa: BLE001  whatever a library raises: the model is read each time
        return None
    # A method that somebody replaced is another object; as part of what is kept, no other one can have its place.
    methods = tuple(_Same(value) for base in type(model).__mro__[:-1] for value in vars(base).values())
    config = sys.modules["sklearn"].get_config() if "sklearn" in sys.modules else {}
    return (writing.digest.digest(), methods, repr(config))


class _Same:
    """An object that equals nothing but itself."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class _Writing:
    """A file of which only the digest is kept."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()

    def write(self, data: bytes | memoryview) -> None:
        """Take some bytes in; how they are cut into pieces counts too."""
        self.digest.update(len(data).to_bytes(8, "little"))
        self.digest.update(data)


class _Pickler(pickle.Pickler):
    """Writes a model down; raises PicklingError for a class or a function of an unknown module."""

    def __init__(self, writing: _Writing) -> None:
        super().__init__(writing, protocol=5, buffer_callback=lambda buffer: writing.write(buffer.raw()))

    def reducer_override(self, obj: Any) -> Any:
        """Look at every class and function that is named, and leave the writing to pickle."""
        named = obj if isinstance(obj, type) or hasattr(obj, "__qualname__") else type(obj)
        if not _known(named):
            raise pickle.PicklingError(f"{named!r} is of no library that is known")
        if package_of(named) in LEAVE_OUT and any(callable(getattr(named, name, None)) for name in _own(obj)):
            raise pickle.PicklingError(f"a method of this {named!r} was replaced")
        return NotImplemented


def _own(obj: object) -> Iterable[str]:
    """The names that were set on an object, and not on its class."""
    return () if isinstance(obj, type) else getattr(obj, "__dict__", ())


def _known(named: Any) -> bool:
    return package_of(named) in KNOWN
