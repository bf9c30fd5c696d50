"""All that is known of one library whose models are read, in one object.

In:  the `LIBRARY` of each library's folder, in `library.py` there.
Out: `Library`, and what it is made of: `Reader` (a class of models), `FileType`, `Intake` (what the library makes of a
     container), `Categories` (how its models number them). `libraries.py` holds the list, and everything else asks
     `registry.py`.
Promise: nothing here imports a library: a class is known by its name, and by where it says that it was defined.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mace.base.classes import module_of
from mace.compilers.deployed import Deployed, Given
from mace.space.space import Space
from mace.tables.table import Ensemble, Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Reader:
    """How a class of models is read, and what its table keeps of the deployed model.

    read:      a fitted model -> its table; where the model has another one inside, that one (without what only passes
               on) and its table follow as further arguments.
    precision: "exact" if the table repeats the library bit by bit, "margin" if only within a rigorous margin.
    refused:   what the library allows and the reader does not.
    inside:    a fitted model -> the model inside, which is given the same rows, or None if this one has none; None
               for a class without one.
    passes_on: whether the class does nothing itself: what the model inside says is what it says.
    members:   a fitted model -> the models whose answers it averages, none where it has one inside. Two arguments
               follow: their tables, and of each the model that is given the matrix, inside of pipelines and searches.
    """

    read: Callable[..., Table]
    precision: str
    refused: str = ""
    inside: Callable[[Any], Any] | None = None
    passes_on: bool = False
    members: Callable[[Any], Sequence[Any]] | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """What may be needed to open a file.

    dump:  what its user says that it lacks; as `load_model` was given it.
    known: whether objects of a class may be made, by module and name.
    """

    dump: Any
    known: Callable[[str, str], bool]


@dataclass(frozen=True, slots=True)
class FileType:
    """A type of model files that run nothing when they are opened.

    endings: of their names.
    open:    a path -> a `ModelFile`, or the library's own object.
    lacking: the endings of files that may lack what `load_model(dump=..)` says.
    holds:   whether the bytes of a file with such an ending are of this type, where another type has the ending too;
             None: it has all that no other says it holds.
    models:  of a format of many programs, the kinds of models that are read, by the names that it gives them.
    unread:  the kinds that are asked for and not read: what to do instead.
    """

    endings: tuple[str, ...]
    open: Callable[[Path, Opening], Any]
    lacking: tuple[str, ...] = ()
    holds: Callable[[bytes], bool] | None = None
    models: Mapping[str, Reader] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Intake:
    """How a library reads the matrix that its model is given.

    absent:   what an entry is that a sparse matrix does not store.
    by_column: whether each column of a frame is made floats of by itself; else all of them, in the type that they have
              in common.
    integers: the floats that an array of integers becomes before anything else.
    sparse:   the table of dense rows -> the table of rows of a sparse matrix, where these differ.
    """

    absent: Literal["zero", "missing"] = "zero"
    by_column: bool = False
    integers: Literal["float32", "float64"] = "float64"
    sparse: Callable[[Ensemble], Ensemble] | None = None


def _none(_: Any) -> None:
    """Of a library whose models number no categories by themselves."""
    return


def _not_raw(*_: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Categories:
    """How a library's models number the categories of a frame by themselves.

    step:      a model or a `ModelFile` -> the step that does the numbering, to be run like one of a pipeline; None for
               a model without one. Raises ModelError for categories whose numbering is not known.
    takes_raw: whether a model without such a step was still fitted on the space's raw columns, its categories being
               numbers. Raises ModelError for a model that does not say which number a category has.
    types:     the columns that a model takes in another type than float64, by name, where its step is no `Recoding` and
               does not say so; None for a model that takes none.
    """

    step: Callable[[Any], Any] = _none
    takes_raw: Callable[[Any, Space], bool] = _not_raw
    types: Callable[[Any], Mapping[str, str] | None] = _none


@dataclass(frozen=True, slots=True)
class Library:
    """A library whose models are read.

    name:          as its makers write it.
    package:       the name to import, with which the modules of its classes begin.
    distributions: what an answer may depend on, by the name that people know: the names under which it is installed.
    deployed:      a model, and how rows are handed to it -> the model as its users call it.
    readers:       the public path of a class -> how it is read. A class matches by its own path or that of a base
                   class, wherever inside the package the library keeps it.
    unread:        classes that are asked for and not read: what to do instead.
    unread_files:  the same of types of files, by their endings.
    extra:         what `pip install 'mace-smt[..]'` brings it; "" for what mace depends on itself.
    products:      a model whose columns are products of others, of dummies and at most one number each -> the places of
                   those that are multiplied; None for a model without.
    makes_columns: whether a model makes its columns of a raw frame by itself, and is asked as `deployed` says where no
                   reader takes it.
    spelled:       how its models spell the name of a column.
    names:         the names of the columns that a model was fitted on, where it keeps them elsewhere than scikit-learn
                   does; None where it made them up.
    small:         fits a small model for `mace doctor`, on a frame of numbers and labels 0 and 1; None: none is.
    """

    name: str
    package: str
    distributions: Mapping[str, tuple[str, ...]]
    deployed: Callable[[Any, Given], Deployed]
    readers: Mapping[str, Reader]
    unread: Mapping[str, str] = field(default_factory=dict)
    extra: str = ""
    files: tuple[FileType, ...] = ()
    unread_files: Mapping[str, str] = field(default_factory=dict)
    categories: Categories = field(default_factory=Categories)
    intake: Intake = field(default_factory=Intake)
    products: Callable[[Any], Sequence[Sequence[int]] | None] = _none
    makes_columns: Callable[[Any], bool] = _not_raw
    spelled: Callable[[str], str] = str
    names: Callable[[Any], tuple[str, ...] | None] = _none
    small: Callable[[pd.DataFrame, pd.Series], Any] | None = None


def is_path(module: str, name: str, path: str) -> bool:
    """Whether a class is the public one of a path, wherever inside the named package the library keeps it.

    module, name: where the class says that it was defined, and its name there.
    """
    package, _, public = path.rpartition(".")
    return name == public and f"{module}.".startswith(f"{package}.")


def public_name(kind: type) -> str:
    """A class as people import it: `sklearn.svm.SVC`, which says of itself that it is of `sklearn.svm._classes`.

    The first package on the way to it that has it under its name; nothing is imported to find out.
    """
    module = module_of(kind)
    parts = module.split(".")
    for length in range(1, len(parts)):
        package = ".".join(parts[:length])
        if getattr(sys.modules.get(package), "__dict__", {}).get(kind.__qualname__) is kind:
            return f"{package}.{kind.__qualname__}"
    return kind.__qualname__ if module in ("", "builtins") else f"{module}.{kind.__qualname__}"


def is_class(kind: type, path: str) -> bool:
    """As `is_path`, of a class."""
    return is_path(module_of(kind), kind.__qualname__, path)


def is_a(thing: object, path: str) -> bool:
    """Whether an object is of exactly this public class."""
    return is_class(type(thing), path)


def descends(thing: object, path: str) -> bool:
    """Whether an object is of this public class, or of one that is made from it."""
    return any(is_class(base, path) for base in type(thing).__mro__)
