"""Vectors about proofs in columns: what stands for which nodes, and what makes no sense."""

from __future__ import annotations

from typing import Any

from tests.proofs.by_hand import AT_3, GOAL, TWO, at_least, dual, forest, line, tree, two

# The nodes of a tree that says 1 from 4 on, where nothing above 3 is allowed.
COLUMNS = {"rules": "sto", "places": [[0, 3]], "splits": [0], "prune": [], "trees": [[2]], "others": [["rule", 0]]}
PAIR = forest([[0.0], [1.0]], [[0.0], [1.0]], at=[3.0, 2.0])  # nodes 0, 1, 2 and 3, 4, 5; the second tests y
PAIR["trees"][1]["column"][0] = 1


def pair(closer: str = "7", **columns: Any) -> Any:
    """About two trees of which each says 1 far from the start: FORMAT.md 10 in columns."""
    said = {
        "rules": "sptt", "places": [[0, 3]], "splits": [0], "prune": [[2]], "trees": [[], [5]], "others": [], **columns,
    }  # fmt: skip
    return two(PAIR, at_least(2.0), closer, said, [3, 2], **TWO)


def columns(**more: Any) -> Any:
    """About one tree, with other columns."""
    return tree({**COLUMNS, **more})


IN_COLUMNS: dict[str, Any] = {
    "a split, leaves and another node": columns(),
    "a claim that is false": two(AT_3, GOAL, None, {**COLUMNS, "rules": "st", "others": []}, [3]),
    "leaves of two trees": pair(),
    "leaves of two trees, and a claim that is too high": pair("8"),
    "leaves of another tree": pair(trees=[[], [4]]),
    "leaves of two trees in one node": pair(rules="stt", prune=[], trees=[[2], [5]]),
    "leaves of two trees together": pair(rules="sptt", prune=[[2]], trees=[[2], [2, 5]]),
    "leaves against their order": pair(trees=[[], [5, 5]]),
    "the second of two places": columns(places=[[0, 5], [0, 3]], splits=[1]),
    "the first of two places": columns(places=[[0, 5], [0, 3]]),
    "a place that there is not": columns(splits=[1]),
    "the last place by a number below 0": columns(splits=[-1]),
    "true is no number of a place": columns(places=[[0, 5], [0, 3]], splits=[True]),
    "a place of three": columns(places=[[0, 3, 0]]),
    "a node that there is not": pair(trees=[[], [6]]),
    "a node below 0": pair(trees=[[], [-1]]),
    "true is no number of a node": columns(trees=[[2, True]]),
    "a number for a list of nodes": columns(trees=[2]),
    "an object for a list of no nodes": pair(trees=[{}, [5]]),
    "a text for a list of no nodes": pair(trees=["", [5]]),
    "an object for a place, where nothing is left": columns(
        rules="ssoosto", places=[[0, -1], {"0": 0, "3": 3}, [0, 3]], splits=[0, 1, 2],
        others=[["empty"], ["empty"], ["rule", 0]],
    ),
    "a place where nothing is left": columns(
        rules="ssoosto", places=[[0, -1], [0, 3]], splits=[0, 1, 1], others=[["empty"], ["empty"], ["rule", 0]],
    ),
    "a letter that there is not": columns(rules="stx"),
    "a rule without an entry": columns(rules="stot"),
    "an entry without a rule": columns(trees=[[2], [2]]),
    "an entry of others without a rule": columns(others=[["rule", 0], ["rule", 0]]),
    "a column is absent": tree({name: found for name, found in COLUMNS.items() if name != "prune"}),
    "a column too many": columns(near=[]),
    "rules that are a list": columns(rules=["s", "t", "o"]),
    "a column that is null": columns(prune=None),
    "nothing": tree({**COLUMNS, "rules": "", "splits": [], "trees": [], "others": []}),
    "columns among the others": columns(others=[COLUMNS]),
    "prices in columns within": two(
        AT_3, GOAL, "4", {
            **COLUMNS, "rules": "o", "splits": [], "trees": [], "others": [
                ["prices", {"goal": ["100"], "largest": [], "unit": "1", "prices": {"nodes": [2], "units": [4]}}]
            ],
        }, [3],
    ),
    "its false twin": two(
        AT_3, GOAL, "5", {
            **COLUMNS, "rules": "o", "splits": [], "trees": [], "others": [
                ["prices", {"goal": ["100"], "largest": [], "unit": "1", "prices": {"nodes": [2], "units": [4]}}]
            ],
        }, [3],
    ),
    "in a model without trees": line(
        {**COLUMNS, "places": [[0, 2]], "rules": "soo", "trees": [], "others": [dual("100"), ["distance"]]}
    ),
    "for a model without trees, as nodes": line([["split", 0, 2], dual("100"), ["distance"]]),
}  # fmt: skip
