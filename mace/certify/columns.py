"""A long proof about trees in columns, of which gzip makes a quarter less than of its nodes: FORMAT.md 6.17.

In:  the nodes of a proof, as lists.    Out: what stands for them in a certificate, an object where there are many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from mace.certify.changes import as_changes
from mace.certify.models import numbering
from mace.tables.table import Ensemble, Table

LONG = 1000  # nodes; a shorter proof can be read by people as it is


def packed(nodes: list[list[Any]], model: Table) -> list[list[Any]] | dict[str, Any]:
    """A proof about an ensemble as a certificate has it."""
    assert isinstance(model, Ensemble)
    nodes = as_changes(nodes)
    return nodes if len(nodes) < LONG else in_columns(nodes, numbering(model).begin.tolist())


def in_columns(nodes: list[list[Any]], begin: Sequence[int]) -> dict[str, Any]:
    """A proof in columns: each kind of node by itself, since there like follows like.

    begin: the number of each tree's root, if the nodes of all trees are numbered one after the other.
    """
    splits = [(node[1], node[2]) for node in nodes if node[0] == "split"]
    places = [place for place, _ in Counter(splits).most_common()]  # what is frequent has few digits
    number = {place: k for k, place in enumerate(places)}
    rules: list[str] = []
    kept: dict[str, list[Any]] = {"prune": [], "trees": [], "others": []}
    for node in nodes:
        rule = node[0]
        if rule == "split":
            rules.append("s")
        elif rule in ("prune", "trees") and _in_order(node):
            rules.append(rule[0])
            kept[rule].append([begin[t] + n for t, *leaves in node[1:] for n in leaves])
        else:
            rules.append("o")
            kept["others"].append(node)
    named = {"places": [[*place] for place in places], "splits": [number[place] for place in splits]}
    return {"rules": "".join(rules), **named, **kept}


def _in_order(node: list[Any]) -> bool:
    """Whether entries have leaves, and no two in a row one tree: then their leaves alone say the same."""
    return all(len(entry) > 1 for entry in node[1:]) and all(one[0] != other[0] for one, other in pairwise(node[1:]))
