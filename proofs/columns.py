"""What a file has in columns, as the lists that the kernel reads: prices (FORMAT.md 6.14, 6.20) and whole proofs
(6.17).

In:  a certificate, parsed.    Out: the same with nodes and entries; what makes no sense stays as it is, and the kernel
refuses it.
Promise: none is needed. What is written here is verified by the kernel; a mistake costs a proof, never truth.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate, groupby
from typing import Any

from mace.proofs.changes import Changes

FIELDS = {"rules", "places", "splits", "prune", "trees", "others"}  # of a proof in columns
PRICED = ("prices", "narrow")  # nodes with prices


def unfolded(data: dict[str, Any]) -> dict[str, Any]:
    """A certificate whose proof is nodes, and whose prices are entries; those of its facts as well. What was given
    stays."""
    known: list[list[int]] = []

    def begin() -> list[int]:
        if not known:
            known.append(begins(data))
        return known[0]

    def entry(part: Any) -> Any:
        prices = part.get("prices") if type(part) is dict else None
        if type(prices) is not dict or prices.keys() != {"nodes", "units"}:
            return part
        found = entries(prices["nodes"], prices["units"], begin())
        return part if found is None else {**part, "prices": found}

    def with_entries(one: Any) -> Any:
        proof = one.get("proof") if type(one) is dict else None
        if type(proof) is dict and _may_be_columns(data):
            proof = nodes(proof, begin())
        if type(proof) is not list:
            return one
        if "mace_plan" in data:  # the proofs of ends, whose prices are not changes of others
            return {**one, "proof": [["end", *priced(node[1:], entry)] if _is(node, "end") else node for node in proof]}
        changes = Changes()
        return {**one, "proof": priced(proof, lambda part: entry(changes.unchanged(part)))}

    def priced(proof: list[Any], read: Callable[[Any], Any]) -> list[Any]:
        return [
            [node[0], *(read(part) if type(part) is dict else part for part in node[1:])]
            if _is(node, *PRICED)
            else node
            for node in proof
        ]

    found, facts = with_entries(data), data.get("facts")
    return {**found, "facts": [*map(with_entries, facts)]} if type(facts) is list else found


def _is(node: Any, *names: str) -> bool:
    """Whether this is a node of one of these rules."""
    return type(node) is list and bool(node) and node[0] in names


def _may_be_columns(data: dict[str, Any]) -> bool:
    """Whether a proof may be in columns: about an ensemble, and not about plans."""
    try:
        return "mace_plan" not in data and bool(data["statement"]["model"]["kind"] == "ensemble")
    except (KeyError, TypeError):
        return False


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


def nodes(columns: dict[str, Any], begin: list[int]) -> list[Any] | None:
    """The nodes of a proof in columns, in the order of its rules; None where they make no sense.

    columns: `rules`, a letter a node; and for each kind of node a list with what its nodes say, in the same order.
    """
    if columns.keys() != FIELDS or type(columns["rules"]) is not str:
        return None
    if any(type(columns[name]) is not list for name in FIELDS - {"rules"}):
        return None
    places, grouped = columns["places"], _grouped(begin)

    def split(k: Any) -> list[Any]:
        if type(k) is not int or k < 0 or type(places[k]) is not list or len(places[k]) != 2:
            raise ValueError("no number of a place")
        return ["split", *places[k]]

    read: dict[str, Callable[[Any], Any]] = {
        "s": split,
        "p": lambda numbers: ["prune", *grouped(numbers)],
        "t": lambda numbers: ["trees", *grouped(numbers)],
        "o": lambda node: node,
    }
    given = {"s": columns["splits"], "p": columns["prune"], "t": columns["trees"], "o": columns["others"]}
    if any(columns["rules"].count(letter) != len(found) for letter, found in given.items()):
        return None
    if len(columns["rules"]) != sum(map(len, given.values())):
        return None
    try:
        made = {letter: map(read[letter], found) for letter, found in given.items()}
        return [next(made[letter]) for letter in columns["rules"]]
    except (ValueError, TypeError, LookupError):
        return None


def _grouped(begin: list[int]) -> Callable[[Any], list[Any]]:
    """Numbers of nodes, counted through all trees, as `[tree, node, ..]` for those in a row that are of one tree."""
    places: dict[int, tuple[int, int]] = {}

    def place(number: Any) -> tuple[int, int]:
        if type(number) is not int:
            raise ValueError("no number of a node")
        if number not in places:
            tree = bisect_right(begin, number) - 1
            if not 0 <= tree < len(begin) - 1:
                raise ValueError("no number of a node")
            places[number] = (tree, number - begin[tree])
        return places[number]

    def grouped(numbers: Any) -> list[Any]:
        if type(numbers) is not list:
            raise TypeError("no list of nodes")
        if len(numbers) == 1:
            return [[*place(numbers[0])]]
        return [[t, *(n for _, n in of_tree)] for t, of_tree in groupby(map(place, numbers), key=lambda one: one[0])]

    return grouped
