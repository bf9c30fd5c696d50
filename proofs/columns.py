"""Prices that a certificate has in two columns, as the entries that the kernel reads: FORMAT.md 6.14.

In:  a certificate, parsed.    Out: the same with entries `[tree, node, n]`; what makes no sense stays as it is.
Promise: none is needed. What is written here is verified by the kernel; a mistake costs a proof, never truth.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Any


def unfolded(data: dict[str, Any]) -> dict[str, Any]:
    """A certificate whose prices are entries, in its own proof and in those of its facts; what was given stays."""
    begin: list[int] = []

    def entry(part: Any) -> Any:
        prices = part.get("prices") if type(part) is dict else None
        if type(prices) is not dict or prices.keys() != {"nodes", "units"}:
            return part
        if not begin:
            begin.extend(begins(data))
        found = entries(prices["nodes"], prices["units"], begin)
        return part if found is None else {**part, "prices": found}

    def with_entries(one: Any) -> Any:
        proof = one.get("proof") if type(one) is dict else None
        if type(proof) is not list:
            return one
        nodes = [
            ["prices", *map(entry, node[1:])] if type(node) is list and node and node[0] == "prices" else node
            for node in proof
        ]
        return {**one, "proof": nodes}

    found, facts = with_entries(data), data.get("facts")
    return {**found, "facts": [*map(with_entries, facts)]} if type(facts) is list else found


def begins(data: dict[str, Any]) -> list[int]:
    """Where the nodes of each tree begin, if those of all are numbered one after the other; their count at the end."""
    try:
        return [*accumulate((len(tree["column"]) for tree in data["statement"]["model"]["trees"]), initial=0)]
    except (KeyError, TypeError):
        return [0]


def entries(steps: Any, units: Any, begin: list[int]) -> list[Any] | None:
    """The entries of two columns, None where they make no sense.

    steps: by how much each node's number exceeds that of the one before. units: the n of each. begin: see `begins`.
    """
    if type(steps) is not list or type(units) is not list or len(steps) != len(units):
        return None
    if any(type(step) is not int for step in steps):
        return None
    found = []
    for number, n in zip(accumulate(steps), units, strict=True):
        tree = bisect_right(begin, number) - 1
        if not 0 <= tree < len(begin) - 1:
            return None
        found.append([tree, number - begin[tree], n])
    return found
