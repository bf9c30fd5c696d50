"""Decorators that check the arguments of public functions: of which kind they are, and how their names are spelled.

In:  a function that people call; an argument of one name is of one kind throughout the package (`_KINDS`).
Out: `checked`: raises MaceError for an argument of another kind; `spelled`: raises ArgumentError for a name that is
     no argument, with the nearest that is one; `spelled_class`: the same for the fields of a class.
Promise: only what would end as an error of Python is refused here: a table in the place of one value, a number in the
place of a text. Which values of its kind an argument may have (which classes there are, that a number is positive) is
checked where it is used.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeGuard, TypeVar

from mace.base.escape import one_line, short
from mace.base.frames import in_pandas
from mace.base.suggestions import meant
from mace.base.values import plain
from mace.errors import ArgumentError, MaceError

if TYPE_CHECKING:
    import pandas as pd

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)


class _Kind(NamedTuple):
    """fits: whether a value is of the kind.    what: in words, after "must be"."""

    fits: Callable[[object], bool]
    what: str


def _single(value: object) -> bool:
    """Whether a value is no array and no frame, which Python cannot compare with one value."""
    return not getattr(value, "ndim", 0) and not hasattr(value, "iloc")


def _labels(value: object) -> bool:
    """Whether a value is a label or a goal, or several labels."""
    several = value if isinstance(value, (list, tuple, set, frozenset)) else [value]
    return all(_single(one) and isinstance(one, Hashable) for one in several)


def is_frame(value: object) -> TypeGuard[pd.DataFrame]:
    """Whether something is a table of rows rather than one row."""
    return hasattr(value, "iloc") and getattr(value, "ndim", 1) == 2


def _frame(value: object) -> bool:
    return is_frame(value) and value.columns.is_unique


def _texts(value: object) -> bool:
    """Whether a value is a text, or several things one after the other."""
    return isinstance(value, (str, os.PathLike)) or isinstance(value, Iterable) and getattr(value, "ndim", 1) == 1


def _several(value: object) -> bool:
    """Whether a value is a name, or several, one after the other."""
    hashable = not isinstance(value, (list, tuple)) or all(isinstance(one, Hashable) for one in value)
    return _texts(value) and hashable and not isinstance(value, os.PathLike)


def _groups(value: object) -> bool:
    """Whether a value says which group each row is in, or in which columns that stands."""
    return all(map(_several, value.values())) if isinstance(value, Mapping) else _several(value)


def _world(value: object) -> bool:
    """Whether a value is a world, which this room does not know, or says where one is written."""
    return isinstance(value, (str, os.PathLike)) or hasattr(value, "actions")


def _number(value: object) -> bool:
    """Whether a value is read as a number, or as a text that may be one."""
    return isinstance(value, (str, Fraction)) or hasattr(value, "__float__") and not hasattr(value, "__len__")


def _or_none(kind: _Kind) -> _Kind:
    return _Kind(lambda value: value is None or kind.fits(value), f"{kind.what}, or None")


_TEXT = _Kind(lambda value: isinstance(value, str), "a text")
_NUMBER = _Kind(_number, "a number")
_WHOLE = _Kind(lambda value: isinstance(value, int), "a whole number")
_TRUTH = _Kind(lambda value: type(value).__name__ in ("bool", "bool_"), "True or False")  # numpy's are no `bool`
_FRAME = _Kind(_frame, "a DataFrame")
_ONE = _Kind(_single, "a single value, no table")
_PATH = _Kind(lambda value: isinstance(value, (str, os.PathLike)), "a path")
_NAMES = _Kind(_several, "a name, or a list of names")

# Numbers, which may come out of an array: the scalars of numpy and pandas are taken for Python's own.
_COUNTS = (
    "count", "timeout", "memory_mb", "most_changes", "max_calls", "random_state", "limit", "n_jobs", "cores", "horizon",
    "points",
)  # fmt: skip
_NUMBERS = frozenset((*_COUNTS, "most", "asked", "gap", "rgap", "confidence"))

# A model is nobody's frame; what stands in the place of a space is held beside what the model is given of it.
_AS_GIVEN = frozenset(("self", "model", "space"))

_KINDS = {
    "goal": _Kind(
        _labels,
        "a class, a list of classes, or a text such as `p(1) >= 0.7`",
    ),
    "distance": _Kind(
        lambda value: isinstance(value, (str, os.PathLike, Mapping)),
        'a text such as "l1", a mixture such as {"l0": 0.5, "l1": 0.5}, or the Path of a program',
    ),
    "weights": _or_none(_Kind(lambda value: isinstance(value, Mapping), "a dict from names of features to numbers")),
    "rules": _Kind(_texts, "a text, a Path, or a list of these"),
    "background": _or_none(_FRAME),
    "data": _or_none(_FRAME),
    "callback": _or_none(_Kind(callable, "a function")),
    "groups": _or_none(_Kind(_groups, "a name, a list of names, a dict from names to the group of each row")),
    "world": _Kind(_world, "a mace.World, the path of a world, or the name of one that comes with mace"),
    **dict.fromkeys(("by", "text"), _TEXT),
    **dict.fromkeys(("constrained", "protected", "avoid"), _NAMES),
    **dict.fromkeys(("checkpoint", "certificates"), _or_none(_PATH)),
    "counterfactuals": _Kind(lambda value: isinstance(value, Mapping), "a dict from the name of a method to its frame"),
    **dict.fromkeys(("prices", "seconds"), _or_none(_Kind(lambda value: isinstance(value, Mapping), "a dict"))),
    "outcome": _or_none(_Kind(lambda value: _texts(value) and not isinstance(value, str), "a list of truths")),
    "optimum": _Kind(lambda value: isinstance(value, (bool, list, tuple)), "true, false, or a list of answers"),
    "asked": _WHOLE,
    "scheduler": _or_none(_TEXT),
    "oracle": _TEXT,
    "frame": _FRAME,
    "gap": _or_none(_NUMBER),
    "rgap": _or_none(_NUMBER),
    "confidence": _or_none(_Kind(lambda value: _number(value) and not isinstance(value, str), _NUMBER.what)),
    "most": _WHOLE,
    **dict.fromkeys((*_COUNTS, "proposer"), _ONE),
    **dict.fromkeys(("together", "safe", "resume", "check", "flips", "discount", "special_missing"), _TRUTH),
    **dict.fromkeys(("show_only_changes", "show_outcome", "show_points"), _TRUTH),
    "progress": _or_none(_TRUTH),
    "diversity": _Kind(lambda value: _single(value), "a text, a number, or a list of these"),
}  # fmt: skip


def check(given: Mapping[str, object]) -> None:
    """Raise MaceError for an argument, name -> value, of another kind than its name says."""
    for name, value in given.items():
        kind = _KINDS.get(name)
        if kind is not None and not kind.fits(value):
            if hasattr(value, "columns") and not getattr(value.columns, "is_unique", True):
                twice = value.columns[value.columns.duplicated()][0]
                raise MaceError(
                    f"{name} has several columns called `{twice}`", hint="Rename them, or drop all but one."
                )
            shown = short(value) if _single(value) else type(value).__name__
            raise MaceError(f"{name} must be {kind.what}; got {shown}")


def names(value: str | Iterable[str]) -> list[str]:
    """The names of an argument that is a name, or a list of names."""
    return [value] if isinstance(value, str) else list(value)


def spelled(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which raises ArgumentError for a keyword that is no argument, with the nearest that is one."""
    takes = list(inspect.signature(function).parameters.values())
    known = [one.name for one in takes if one.name not in ("self", "cls")]
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in takes):  # whoever is given the rest says so
        return function
    called = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        # Too many of them, and one that lacks, are told by Python.
        for name in kwargs:
            if name not in known:
                hint = _where_made(type(args[0]), name) if args and takes[0].name == "self" else ""
                hint = hint or meant(name, known, f"It has {', '.join(known)}.")
                raise ArgumentError(f"{called} has no argument `{one_line(name)}`", hint=hint)
        return function(*args, **kwargs)

    return wrapped


def _where_made(made: type, name: str) -> str:
    """That an argument of a method is one of its class instead, if it is."""
    takes = name in inspect.signature(made).parameters
    return f"Give it where the {made.__name__} is made: {made.__name__}(.., {name}=..)." if takes else ""


def spelled_class(made: C) -> C:
    """The class, which does so for a keyword that is none of its fields."""
    made.__init__ = spelled(made.__init__)  # type: ignore[misc]
    return made


def _own(name: str, value: object) -> object:
    """A scalar of numpy as Python's own, where the argument is a number; a frame as one of pandas."""
    if name in _NUMBERS:
        return plain(value)
    return value if name in _AS_GIVEN else in_pandas(value)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which first checks of which kind its arguments are, and how they are spelled."""
    takes = list(inspect.signature(function).parameters.values())
    names = [one.name for one in takes if one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        # More arguments than there are names are left for Python to refuse.
        own = [_own(name, value) for name, value in zip(names, args, strict=False)]
        named = {name: _own(name, value) for name, value in kwargs.items()}
        check({**dict(zip(names, own, strict=False)), **named})
        return function(*own, *args[len(own) :], **named)  # type: ignore[arg-type]

    return spelled(wrapped)
