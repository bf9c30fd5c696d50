"""Prices of a long proof as changes of earlier ones, which take two thirds of the bytes: FORMAT.md 6.20.

In:  the nodes of a proof, as lists, with prices in columns.    Out: the same nodes; a part that is much like one of the
last few before it says only what is different.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.exact import magnitude
from mace.certify.nodes import PRICED, steps_of
from mace.proofs.changes import FARTHEST, MOST

LAST = 6  # parts before one, of which the one most like it is changed
ADDED, BESIDE = (
    10.0,
    3.0,
)  # bits that an added number takes with its price, about; and a price by itself beside its digits

Array = NDArray[Any]


class Column(NamedTuple):
    """Prices by number, in order."""

    numbers: Array
    units: Array


class Part(NamedTuple):
    """The prices of nodes and of cliques in units of 2^exponent."""

    exponent: int
    columns: tuple[Column, Column]

    def some(self) -> Part:
        """The same without prices of 0, which changes leave out."""
        first, second = (Column(one.numbers[one.units > 0], one.units[one.units > 0]) for one in self.columns)
        return Part(self.exponent, (first, second))


def as_changes(nodes: list[list[Any]]) -> list[list[Any]]:
    """Nodes of a proof about trees, whose prices are changes of earlier ones where that is shorter."""
    earlier: list[Part | None] = []

    def written(part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        found = _read(part)
        earlier.append(found)
        if found is None:
            return part
        ways = [(_cost(found, None), 0), *_ways(found, earlier[-LAST - 1 : -1])]
        _, back = min(ways)
        before = earlier[-1 - back] if back else None
        if before is None:
            return part
        earlier[-1] = found.some()
        return _changed(part, found, before, back)

    return [[node[0], *map(written, node[1:])] if node[0] in PRICED else node for node in nodes]


def _ways(found: Part, last: list[Part | None]) -> Iterator[tuple[float, int]]:
    """What it costs to change each of the last parts, and how far back that is."""
    for k, before in enumerate(last):
        if before is not None and abs(before.exponent - found.exponent) <= FARTHEST:
            yield _cost(found, before), len(last) - k


def _read(part: dict[str, Any]) -> Part | None:
    """The prices of a part in columns, None where these cannot be changed."""
    unit = Fraction(part["unit"])
    if unit.numerator & (unit.numerator - 1) or unit.denominator & (unit.denominator - 1):
        return None
    columns = []
    for given, name in ((part["prices"], "nodes"), (part.get("cliques"), "numbers")):
        steps, units = ([], []) if given is None else (given[name], given["units"])
        if any(n >= MOST for n in units):
            return None
        columns.append(Column(np.cumsum(np.array(steps, np.int64)), np.array(units, np.int64)))
    first, second = columns
    return Part(magnitude(unit), (first, second))


def _difference(own: Column, before: Column, shift: int) -> tuple[Array, Column]:
    """The changes of earlier prices, and what is added to them."""
    units = before.units << shift if shift >= 0 else (before.units + (1 << (-shift - 1))) >> -shift
    place = np.searchsorted(own.numbers, before.numbers)
    there = np.append(own.numbers, -1)[place] == before.numbers
    changes = np.where(there, np.append(own.units, 0)[place], 0) - units
    new = ~np.isin(own.numbers, before.numbers, assume_unique=True)
    return changes, Column(own.numbers[new], own.units[new])


def _cost(found: Part, before: Part | None) -> float:
    """About how many bits it takes to write a part, as changes of one before it or by itself.

    Infinite where a change is larger than any may be.
    """
    if before is None:
        return float(sum(_bits(one.units) + BESIDE * len(one.units) for one in found.columns))
    shift, total = before.exponent - found.exponent, 0.0
    for own, other in zip(found.columns, before.columns, strict=True):
        changes, added = _difference(own, other, shift)
        if (np.abs(changes) >= MOST).any():
            return math.inf
        total += _bits(changes) + ADDED * len(added.units)
    return total


def _bits(values: Array) -> float:
    return float(np.log2(2.0 + 2.0 * np.abs(values)).sum())


def _changed(part: dict[str, Any], found: Part, before: Part, back: int) -> dict[str, Any]:
    """A part as changes of another one before it."""
    shift = before.exponent - found.exponent
    prices, cliques = (_difference(*pair, shift) for pair in zip(found.columns, before.columns, strict=True))
    return {
        **part,
        "like": back,
        "shift": shift,
        "prices": {
            "changes": prices[0].tolist(),
            "nodes": steps_of(prices[1].numbers.tolist()),
            "units": prices[1].units.tolist(),
        },
        "cliques": {
            "changes": cliques[0].tolist(),
            "numbers": steps_of(cliques[1].numbers.tolist()),
            "units": cliques[1].units.tolist(),
        },
    }
