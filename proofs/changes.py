"""Prices that a file has as changes of earlier ones, as the columns that they stand for (FORMAT.md 6.20).

In:  the parts of a proof about an ensemble, one after the other.    Out: the same parts, each with its own prices; what
makes no sense stays as it is, and the kernel refuses it.
Promise: none is needed. What is written here is verified by the kernel; a mistake costs a proof, never truth.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

MOST, FARTHEST = 2**31, 31  # what prices are below, and the most binary places by which they are moved
NO_CLIQUES: dict[str, list[int]] = {"numbers": [], "units": []}
Prices = tuple[dict[int, int], dict[int, int]]  # n by the number of a node, and by that of a clique


class Changes:
    """The prices of the parts of one proof so far, None for those that no later part may change."""

    def __init__(self) -> None:
        self.earlier: list[Prices | None] = []

    def unchanged(self, part: Any) -> Any:
        """A part, with its own prices if it changes earlier ones."""
        found = None
        if type(part) is dict and "like" in part:
            try:
                found = self._changed(part)
            except (LookupError, TypeError, ValueError):
                self.earlier.append(None)
                return part
            prices, cliques = (_steps(one) for one in found)
            kept = {name: value for name, value in part.items() if name not in ("like", "shift", "cliques")}
            part = {**kept, "prices": {"nodes": prices[0], "units": prices[1]}}
            if found[1]:
                part["cliques"] = {"numbers": cliques[0], "units": cliques[1]}
        elif type(part) is dict:
            try:
                found = (
                    _numbered(part["prices"], "nodes"),
                    _numbered(part.get("cliques", NO_CLIQUES), "numbers"),
                )
            except (LookupError, TypeError, ValueError):
                found = None
        self.earlier.append(found)
        return part

    def _changed(self, part: dict[str, Any]) -> Prices:
        """The prices of a part that changes those of an earlier one. Raises ValueError, TypeError or LookupError."""
        back, shift = (_whole(part[name], -FARTHEST, MOST) for name in ("like", "shift"))
        if not 1 <= back <= len(self.earlier) or shift > FARTHEST or (before := self.earlier[-back]) is None:
            raise ValueError("no such part")
        fields = ("nodes", part["prices"]), ("numbers", part["cliques"])
        prices, cliques = (_merged(one, given, name, shift) for one, (name, given) in zip(before, fields, strict=True))
        return prices, cliques


def _merged(before: dict[int, int], given: Any, name: str, shift: int) -> dict[int, int]:
    """What is left of earlier prices after a column of changes, and those that are added."""
    if type(given) is not dict or given.keys() != {"changes", name, "units"} or type(given["changes"]) is not list:
        raise TypeError("not changes")
    found = {}
    for (number, n), change in zip(before.items(), given["changes"], strict=True):
        moved = n << shift if shift >= 0 else (n + (1 << (-shift - 1))) >> -shift
        found[number] = _whole(moved + _whole(change, 1 - MOST, MOST), 0, MOST)
    added = _numbered({name: given[name], "units": given["units"]}, name)
    if added.keys() & found.keys():
        raise ValueError("added twice")
    return {number: n for number, n in sorted((found | added).items()) if n}


def _numbered(columns: Any, name: str) -> dict[int, int]:
    """Two columns, steps from number to number and what each has, by number."""
    if type(columns) is not dict or columns.keys() != {name, "units"}:
        raise TypeError("no columns")
    if type(columns[name]) is not list or type(columns["units"]) is not list:
        raise TypeError("no columns")
    numbers = [*accumulate(_whole(step, 0, MOST) for step in columns[name])]
    if any(one >= other for one, other in pairwise(numbers)) or (numbers and numbers[-1] >= MOST):
        raise ValueError("not in order")
    return dict(zip(numbers, (_whole(n, 0, MOST) for n in columns["units"]), strict=True))


def _steps(found: dict[int, int]) -> tuple[list[int], list[int]]:
    """What has a number, in order, as steps and units."""
    numbers = [*found]
    return numbers[:1] + [other - one for one, other in pairwise(numbers)], [*found.values()]


def _whole(value: Any, low: int, end: int) -> int:
    """A whole number from low to below end."""
    if type(value) is not int or not low <= value < end:
        raise ValueError("no such number")
    return value
