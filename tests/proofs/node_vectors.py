"""Vectors about what nodes have to say: true claims, which a checker that looks for leaves by itself would accept."""

from __future__ import annotations

from typing import Any

from tests.proofs.by_hand import (
    AT_3,
    AT_LEAST_0,
    FREE,
    GOAL,
    LEVELS,
    TWO,
    at_least,
    dual,
    end_of,
    forest,
    grid,
    network,
    number,
    tree,
    two,
)

UP_TO_3_OF_EACH = forest([[0.0], [1.0]], [[0.0], [1.0]], at=[3.0, 3.0])
UP_TO_3_OF_EACH["trees"][1]["column"] = [1, -1, -1]
FROM_5 = {"rules": [["<=", ["c", "5"], ["x", 0]]]}
LOW = [["split", 0, 3], ["cell", [0, 2], [1, 2]], ["cell", [0, 1], [1, 2]]]
MIDDLE_AND_HIGH = [["split", 1, 3], ["cell", [0, 2], [1, 2]], ["cell", [0, 2], [1, 1]]]
BESIDE = forest([[0.0], [1.0]], [[0.0], [0.0]], at=[3.0, 5.0])


SUM = network([[[1.0], [1.0]]], [[-6.0]])  # x + y >= 6
FOURS = {"features": [grid(0, 4, 0), grid(0, 4, 0)], "columns": TWO["columns"], "most_changes": 1}
# One change of the first feature costs 6; two of the others would cost 3/5.
CHEAP = {
    "features": [grid(0, 9, 0), *[grid(0, 4, 0, weight="1/10")] * 2], "most_changes": 1,
    "columns": [*TWO["columns"], [2, None, []]],
}  # fmt: skip
SUM_OF_3 = network([[[1.0], [1.0], [1.0]]], [[-6.0]])
UNITS = network([[[1.0], [1.0]], [[1.0]]], [[-5.0], [-0.5]])  # a unit that is on where x + y > 5
BY_TWO_LEVELS = {
    "features": [{**LEVELS, "allowed": 7}, grid(0, 4, 0)], "most_changes": 1,
    "columns": [[0, [number(x) for x in (0, 3, 4)], []], [1, None, []]],
}  # fmt: skip


def few(changes: Any, closer: str | None = None, factor: str = "1", **more: Any) -> Any:
    """That one change is not enough, by a multiplier of the count of changes."""
    part = {} if changes is None else {"changes": changes}
    return two(SUM, AT_LEAST_0, closer, [dual(factor, **part)], [], **{**FOURS, **more})


def cheapest(closer: str, changes: str) -> Any:
    """About what one change costs where two would be cheaper."""
    return two(SUM_OF_3, AT_LEAST_0, closer, [dual("1", changes=changes)], [], **CHEAP)


def held(changes: str) -> Any:
    """A unit that is off wherever one change is allowed, so that nothing has the goal."""
    end = end_of((0, 0, 1), FREE, "0", changes=changes)
    return two(UNITS, AT_LEAST_0, None, [end, dual("1")], [], **FOURS)


def prices(*entries: list[int], factor: str = "4") -> list[Any]:
    """The rule for one comparison."""
    return ["prices", {"goal": [factor], "largest": [], "unit": "1", "prices": [*entries]}]


def columns(nodes: Any, units: Any, **more: Any) -> Any:
    """Prices in two columns, of two trees that ask for one change each: both of them cost 4."""
    part = {"goal": ["4"], "largest": [], "unit": "1", "prices": {"nodes": nodes, "units": units, **more}}
    return two(UP_TO_3_OF_EACH, at_least(2.0), "8", [["prices", part]], [3, 3], **TWO)


# What it is about -> what it shows -> the certificate.
NODES: dict[str, dict[str, Any]] = {
    "cell": {
        "cell: a leaf that the root does not reach": two(AT_3, GOAL, "4", [["cell", [0, 2]]], [3]),
        "cell: a leaf that the root does not reach, without a word": two(AT_3, GOAL, "4", [["cell"]], [3], rules=[]),
        "cell: a number for a list": tree([["split", 0, 3], ["cell", 0], ["rule", 0]]),
        "cell: a tree that there is not": tree([["split", 0, 3], ["cell", [1, 2]], ["rule", 0]]),
        "cell: a leaf that goes unnamed": tree([["split", 0, 3], ["cell"], ["rule", 0]]),
        "cell: a box that is too far, with a score that has the goal": two(
            AT_3, GOAL, "5", [["split", 0, 4], ["rule", 0], ["cell", [0, 1]]], [3], **FROM_5
        ),
        "cell: a box that is too far, with a score that misses the goal": two(
            AT_3, at_least(2.0), "5", [["split", 0, 4], ["rule", 0], ["cell", [0, 1]]], [3], **FROM_5
        ),
        "cell: leaves that are too far beside those that the box misses": two(
            UP_TO_3_OF_EACH, at_least(2.0), "5", [["split", 1, 1], *LOW, *MIDDLE_AND_HIGH], [3, 3], **TWO
        ),
    },
    "trees": {
        "trees: a leaf that goes unnamed": tree([["split", 0, 3], ["trees"], ["rule", 0]]),
        "trees: a number for a list": tree([["split", 0, 3], ["trees", 0], ["rule", 0]]),
        "trees: a tree that there is not": tree([["split", 0, 3], ["trees", [1, 2]], ["rule", 0]]),
    },
    "changes": {"a claim of 0: no leaf is reached, so that nothing is asked of a node": tree([["changes"]], "0")},
    "empty": {
        "a claim of 0: the box is known to have no point": tree([["empty"]], "0"),
        "a claim of 0: a node with a field too many": tree([["empty", 0]], "0"),
    },
    "rule": {
        "a claim of 0: a rule that there is not": tree([["rule", 7]], "0"),
        "a claim of 0: a node that is of no rule": tree([["rules", 0]], "0"),
    },
    "prices": {
        "prices beside a test without a cut": two(BESIDE, GOAL, "4", [prices([0, 2, 4])], [3, None]),
        "prices beside a test that narrows nothing": tree(
            [["split", 0, 3], prices(factor="1"), ["rule", 0]], cuts=[None]
        ),
        "prices beside the same test with its cut": tree([["split", 0, 3], prices(factor="1"), ["rule", 0]]),
        "prices of a box that is too far": two(
            AT_3, GOAL, "5", [["split", 0, 4], ["rule", 0], prices(factor="0")], [3], **FROM_5
        ),
        "columns: nodes of two trees": columns([2, 3], [4, 4]),
        "columns: prices that are higher than the way": columns([2, 3], [4, 5]),
        "columns: nodes of the other side, for nothing": columns([1, 1, 2, 1], [0, 4, 0, 4]),
        "columns: the first tree alone": columns([2], [4]),
        "columns: no prices": columns([], []),
        "columns: a root": columns([0, 2, 3], [0, 4, 4]),
        "columns: the root of the second tree": columns([2, 1, 2], [4, 0, 4]),
        "columns: a node twice": columns([2, 0, 3], [4, 0, 4]),
        "columns: a step back": columns([5, -3], [4, 4]),
        "columns: a first step back": columns([-1, 3, 3], [0, 4, 4]),
        "columns: a node beyond all trees": columns([2, 4], [4, 4]),
        "columns: a step of many digits": columns([2, 2**70], [4, 4]),
        "columns: a column too short": columns([2, 3], [4]),
        "columns: a column too long": columns([2, 3], [4, 4, 4]),
        "columns: a negative price": columns([1, 1, 3], [-1, 4, 4]),
        "columns: a price as text": columns([2, 3], [4, "4"]),
        "columns: true is no price": columns([1, 1, 3], [True, 4, 4]),
        "columns: a step as text": columns(["2", 3], [4, 4]),
        "columns: true is no step": columns([True, 1, 3], [0, 4, 4]),
        "columns: numbers for lists": columns(2, 4),
        "columns: a field too many": columns([2, 3], [4, 4], trees=[0, 1]),
    },
    "dual": {
        "changes: one of two, and what it costs to change": few("4"),
        "changes: a multiplier that is large enough": few("10/3"),
        "changes: one that is too small": few("2"),
        "changes: one that is too large": few("6"),
        "changes: none": few(None),
        "changes: nothing times the count": few("0"),
        "changes: two of two": few("4", most_changes=2),
        "changes: as many as there are": few("4", most_changes=None),
        "changes: a negative multiplier": few("-4"),
        "changes: a number for a rational": few(4),
        "changes: null": two(SUM, AT_LEAST_0, None, [dual("1", changes=None)], [], **FOURS),
        "changes: of levels": few("4", **BY_TWO_LEVELS),
        "changes: a start that is not allowed": few("4", features=[grid(1, 4, 0), grid(0, 4, 0)]),
        "changes: a start that is not allowed, and costs nothing more": few(
            "4", features=[grid(1, 2, 0), grid(0, 4, 0)]
        ),
        "changes: a distance": cheapest("12/5", "18/5"),
        "changes: a distance that is a hair larger": cheapest("24000001/10000000", "18/5"),
        "changes: a distance by another multiplier": cheapest("12/5", "17/5"),
        "changes: a distance without one": cheapest("12/5", "0"),
    },
    "tighten": {
        "changes: a unit that one change leaves off": held("4"),
        "changes: a unit that two changes would turn on": held("1"),
    },
    "statement": {
        "fewer than no changes": tree([["changes"]], most_changes=-1),
        "as many changes as there are numbers": tree(
            [["split", 0, 3], ["trees", [0, 2]], ["rule", 0]], most_changes=10**40
        ),
    },
}  # fmt: skip
