"""Rules of the world, built from a few words or from data: each function gives the text of a rule.

In:  names of features and, for `follows` and `seen`, a frame of observed rows.
Out: a text of the core language for `rules=` (of `mace.explain`, `Explainer`) or `Space(rules=..)`.
Promise: a text says all that it means; nothing is remembered beside it. Every oracle takes every rule, as a condition
that it evaluates over boxes or asserts; a certificate takes it where it is one expression, which all of these are.

    rules.rises_only_if("Age", 'Education != start_Education')   # conditional actionability
    rules.linear({"Rent": 12, "Loan": 1}, "<=", 30000)           # linear relations
    rules.implies('Married == 1', 'Age >= 18')
    rules.follows(frame, "EducationLevel", "EducationNumber")    # functional dependence, from data
    rules.seen(frame, "Job", "Sector")                           # only combinations that were seen

One feature at a time is `most_changes=1`, at most k changes `most_changes=k`: arguments of `explain`, not rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mace.base.arguments import spelled
from mace.base.exact import as_written
from mace.base.suggestions import among
from mace.errors import NumberError, SpaceError
from mace.language.show import show_name, show_number, show_text
from mace.language.syntax import Int, Level
from mace.problem.programs import sort_of
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

MOST = 5000
"""Values, or combinations of values, that a rule may list."""


def rises_only_if(name: str, condition: str) -> str:
    """The feature `name` may be above its present value only where a condition holds; `start_X` is the present X."""
    return f"{show_name(name)} <= {_start(name)} or ({condition})"


def falls_only_if(name: str, condition: str) -> str:
    """The feature `name` may be below its present value only where a condition holds."""
    return f"{show_name(name)} >= {_start(name)} or ({condition})"


def changes_only_if(name: str, condition: str) -> str:
    """The feature `name` may differ from its present value only where a condition holds."""
    return f"{show_name(name)} == {_start(name)} or ({condition})"


def together(*names: str) -> str:
    """The features of these names change together, or none of them does. Raises SpaceError for fewer than two."""
    if len(names) < 2:
        raise SpaceError("`together` needs two features at least")
    same = [f"{show_name(name)} == {_start(name)}" for name in names]
    other = [f"{show_name(name)} != {_start(name)}" for name in names]
    return f"({' and '.join(same)}) or ({' and '.join(other)})"


def implies(condition: str, consequence: str) -> str:
    """Where a condition holds, so does another one."""
    return f"({condition}) implies ({consequence})"


@spelled
def linear(weights: Mapping[str, object], compare: str, bound: object) -> str:
    """A weighted sum of features, in their own units, compared with a number: `{"Rent": 12, "Loan": 1}, "<=", 30000`.

    weights: feature name -> number.    compare: "<=", "<", ">=", ">" or "==".    bound: a number.
    A number is meant as it is written: 0.1 is 1/10. Raises SpaceError for what is none of these.
    """
    if compare not in ("<=", "<", ">=", ">", "=="):
        raise SpaceError(f"`linear` compares by <=, <, >=, > or ==, got {compare!r}")
    if not weights:
        raise SpaceError("`linear` needs a feature at least")
    terms = " + ".join(f"({_exact(weight)}) * {show_name(name)}" for name, weight in weights.items())
    return f"{terms} {compare} {_exact(bound)}"


@spelled
def follows(frame: pd.DataFrame, name: str, source: str, space: Space | None = None) -> str:
    """`name` follows `source`: it has the one value that it had in the data beside each value of `source`.

    frame: observed rows with both columns; rows that lack one of the two values are left out.
    space: where given, values are written as its features' sorts, and runs of whole numbers as ranges; else texts
           are levels and numbers numbers.
    Raises SpaceError if the data hold two values of `name` beside one of `source`. Values of `source` that the data do
    not hold are not allowed.
    """
    beside: dict[str, set[str]] = {}
    known: dict[str, str] = {}
    for given, value in _observed(frame, (source, name), space):
        if known.setdefault(given, value) != value:
            raise SpaceError(
                f"`{name}` does not follow `{source}`: beside {given} the data hold {known[given]} and {value}",
                hint="Mend the data, or use `seen` for the combinations that occur.",
            )
        beside.setdefault(value, set()).add(given)
    parts = _in_order(beside.items())
    return _any(f"({show_name(name)} == {value} and {_among(source, givens, space)})" for value, givens in parts)


@spelled
def seen(frame: pd.DataFrame, *names: str, space: Space | None = None) -> str:
    """Only values (of several features: combinations) that the data hold.

    frame: observed rows with these columns; rows that lack one of the values are left out.    space: as in `follows`.
    Raises SpaceError without a name, and where the rule would list more than `MOST` values.
    """
    if not names:
        raise SpaceError("`seen` needs a feature at least")
    rows = _observed(frame, names, space)
    if len(names) == 1:
        return _among(names[0], {row[0] for row in rows}, space)
    grouped: dict[tuple[str, ...], set[str]] = {}
    for *first, last in rows:
        grouped.setdefault(tuple(first), set()).add(last)
    parts = []
    for first, lasts in _in_order(grouped.items()):
        same = " and ".join(f"{show_name(n)} == {value}" for n, value in zip(names, first, strict=False))
        parts.append(f"({same} and {_among(names[-1], lasts, space)})")
    return _any(parts)


# ---------------------------------------------------------------------------------------------- values as text


def _start(name: str) -> str:
    return show_name("start_" + name)


def _exact(number: object) -> str:
    try:
        return show_number(as_written(number))
    except NumberError as error:
        raise SpaceError(error.message, hint=error.hint) from None


def _observed(frame: pd.DataFrame, names: Sequence[str], space: Space | None) -> list[tuple[str, ...]]:
    """The distinct rows of some columns, as texts of the language; rows that lack a value are left out."""
    for name in names:
        if name not in frame.columns:
            raise SpaceError(f"the data have no column `{name}`", hint=among(name, frame.columns, "The frame"))
    rows = frame[list(names)].drop_duplicates().dropna().itertuples(index=False, name=None)
    found = [tuple(_shown(n, value, space) for n, value in zip(names, row, strict=True)) for row in rows]
    if not found:
        raise SpaceError(f"the data hold no value of {', '.join(names)}")
    if len(found) > MOST:
        raise SpaceError(
            f"the data hold {len(found)} values of {', '.join(names)}; a rule lists at most {MOST}",
            hint="Give the feature a coarser step, or bounds.",
        )
    return found


def _shown(name: str, value: Any, space: Space | None) -> str:
    if space is not None:
        feature = space[name]
        if isinstance(sort_of(feature), Level):
            if value not in feature.levels:
                raise SpaceError(f"`{name}` has no level {value!r}")
            return show_text(str(value))
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    return show_text(value) if isinstance(value, str) else _exact(value)


def _among(name: str, values: set[str], space: Space | None) -> str:
    """The feature has one of some values; all whole numbers from one to another are a range, where it is whole."""
    if len(values) == 1:
        return f"{show_name(name)} == {next(iter(values))}"
    if space is not None and isinstance(sort_of(space[name]), Int):
        numbers = [int(value) for value in values if value.lstrip("-").isdigit()]
        if len(numbers) == len(values) and max(numbers) - min(numbers) == len(numbers) - 1:
            return f"({show_name(name)} >= {min(numbers)} and {show_name(name)} <= {max(numbers)})"
    return _any(f"{show_name(name)} == {value}" for (value,) in _in_order((value,) for value in values))


def _any(parts: Any) -> str:
    listed = list(parts)
    return listed[0] if len(listed) == 1 else f"({' or '.join(listed)})"


def _in_order(items: Any) -> list[Any]:
    """Sorted, numbers by size, so that the same data give the same text."""

    def key(item: Any) -> tuple[bool, float, str]:
        first = item[0] if isinstance(item[0], str) else " ".join(item[0])
        try:
            return (False, float(first), "")
        except ValueError:
            return (True, 0.0, first)

    return sorted(items, key=key)
