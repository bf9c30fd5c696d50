"""Vectors about parts of the goal: which of them a state has open, and what leaves say of those alone."""

from __future__ import annotations

from typing import Any

from tests.proofs.by_hand import (
    AT_3,
    AT_LEAST_0,
    FREE,
    GOAL,
    LEFT,
    LINE,
    UP_TO_3,
    at_least,
    dual,
    forest,
    network,
    tree,
    two,
)  # fmt: skip
from tests.proofs.node_vectors import prices

OFF = {"rules": [["false"]]}  # with it `RULED` closes what a vector is not about
RULED = ["rule", 0]
THREE_PARTS = [*GOAL, *at_least(2.0), *at_least(3.0)]
LINES = [*AT_LEAST_0, *at_least(1.0), *at_least(2.0)]  # x >= 4, 5, 6
# The second part asks for more than one comparison.
UNEVEN = [*GOAL, [*at_least(2.0)[0], *at_least(0.5)[0]], *at_least(3.0)]
HALF = forest([[0.5]])
BESIDE = network([[[1.0, 1.0]], [[0.0], [1.0]]], [[-20.0, -5.0], [-1.0]])  # its second unit decides: x >= 6
WITH = [0, 1, 0, FREE]
FIRST = ["bounds", [0, 1, FREE, FREE]]
FROM_6_AND_9 = [*AT_LEAST_0, *at_least(3.0)]
# With a form that adds nothing no distance is taken to be a multiple of anything.
ANY = {"distance": {"alpha": "0", "beta": "1", "gamma": "0", "forms": [["0"]]}}


def leaves(proof: Any, goal: Any = THREE_PARTS, closer: str | None = None, **more: Any) -> Any:
    """About a tree that says 1 from 4 on, where nothing above 3 is allowed; the first of three parts is all it has."""
    return two(AT_3, goal, closer, proof, [3], **{"rules": UP_TO_3, **more})


def cells(proof: Any, **more: Any) -> Any:
    """About a tree that says 0.5 everywhere, which has the first and the last of three parts."""
    return two(HALF, [*at_least(0.25), *at_least(0.75), *at_least(0.5)], None, proof, [], **{**OFF, **more})


def lines(proof: Any, closer: str = "5", **more: Any) -> Any:
    """About a linear model that has the first of three parts from 4 on, which is nearer than the claim."""
    return two(LINE, LINES, closer, proof, [], **{**OFF, **more})


def duals(*multipliers: str) -> list[Any]:
    return ["dual", *(dual(one)[1] for one in multipliers)]


def priced(proof: Any, closer: str = "5", goal: Any = UNEVEN, **more: Any) -> Any:
    """About the tree that says 1 from 4 on, which is nearer than the claim."""
    return two(AT_3, goal, closer, proof, [3], **{**OFF, **more})


def priced_as(*multipliers: list[str]) -> list[Any]:
    return ["prices", *({**prices([0, 2, 4])[1], "goal": one} for one in multipliers)]


ONE, SECOND, THIRD = ["4"], ["4", "0"], ["5"]  # multipliers for the parts of UNEVEN


def ends(proof: Any, closer: str = "8", **more: Any) -> Any:
    """About a network of which x >= 6 has the first part, and x >= 9 the second one too."""
    return two(BESIDE, FROM_6_AND_9, closer, proof, [], **{**OFF, **ANY, **more})


def tightened(*multipliers: str) -> list[Any]:
    return ["tighten", [*WITH, *(dual(one)[1] for one in multipliers)]]


# What it shows -> the certificate.
PARTS: dict[str, Any] = {
    # --- the tree of boxes
    "one part, then the others": leaves([["part", 0], *LEFT, ["trees"]]),
    "the second part first": leaves([["part", 1], ["trees"], *LEFT]),
    "the last part first": leaves([["part", 2], ["trees"], *LEFT]),
    "the sides exchanged": leaves([["part", 0], ["trees"], *LEFT]),
    "the sides of the second part exchanged": leaves([["part", 1], *LEFT, ["trees"]]),
    "a side alone": leaves([["part", 0], *LEFT]),
    "a side too many": leaves([["part", 0], *LEFT, ["trees"], ["trees"]]),
    "a part of the others, and the one that is left": leaves([["part", 1], ["trees"], ["part", 2], ["trees"], *LEFT]),
    "the part that is left, which cannot be closed so": leaves(
        [["part", 1], ["trees"], ["part", 2], ["trees"], ["trees"]]
    ),
    "a part of the others, and those that are left": leaves([["part", 1], ["trees"], ["part", 0], *LEFT, ["trees"]]),
    "a part that is gone": leaves([["part", 1], ["trees"], ["part", 1], ["trees"], *LEFT]),
    "another part of the one that is open alone": leaves([["part", 0], ["part", 1], *LEFT, *LEFT, ["trees"]]),
    "the part that is open alone: nothing else is left": leaves(
        [["part", 0], ["part", 0], *LEFT, ["empty"], ["trees"]]
    ),
    "what is left of nothing needs a leaf": leaves([["part", 0], ["part", 0], *LEFT, ["trees"]]),
    "what is left of nothing may be divided, and is nothing": leaves(
        [["part", 0], ["part", 0], *LEFT, ["part", 9], ["split", 9, 9], ["cell"], ["prices"], ["avoid", 5], ["trees"]]
    ),
    "what is left of nothing, and a rule of networks": leaves(
        [["part", 0], ["part", 0], *LEFT, ["dual"], ["trees"]]
    ),
    "the part that is open alone is not nothing": leaves([["part", 0], ["part", 0], ["empty"], ["empty"], ["trees"]]),
    "the only part of a goal": tree([["part", 0], *LEFT, ["empty"]]),
    "the only part of a goal is not nothing": tree([["part", 0], ["empty"], *LEFT]),
    "one of two parts leaves another": leaves([["part", 0], *LEFT, ["empty"]], THREE_PARTS[:2]),
    "of a goal without parts": leaves([["part", 0], ["trees"], ["trees"]], []),
    "of a part without comparisons": leaves([["part", 0], ["trees"], ["empty"]], [[]]),
    "of a part without comparisons, and one with": leaves([["part", 1], *LEFT, *LEFT[:1], ["rule", 0]], [[], *GOAL]),
    "one part in two places": leaves([["part", 1], *LEFT, ["trees"]], [*at_least(2.0), *GOAL]),
    "the same part twice is two parts": leaves([["part", 0], *LEFT, ["trees"]], [*GOAL, *GOAL]),
    "the same part twice, and a proof for each": leaves([["part", 0], *LEFT, *LEFT], [*GOAL, *GOAL]),
    # --- its field
    "a part that there is not": leaves([["part", 3], *LEFT, *LEFT]),
    "a part before the first": leaves([["part", -1], *LEFT, *LEFT]),
    "a part of many digits": leaves([["part", 2**70], *LEFT, *LEFT]),
    "a part as text": leaves([["part", "0"], *LEFT, *LEFT]),
    "true is no part": leaves([["part", True], *LEFT, *LEFT]),
    "false is no part": leaves([["part", False], *LEFT, *LEFT]),
    "null is no part": leaves([["part", None], *LEFT, *LEFT]),
    "a list of parts": leaves([["part", [0]], *LEFT, *LEFT]),
    "no field": leaves([["part"], *LEFT, *LEFT]),
    "two fields": leaves([["part", 0, 1], *LEFT, *LEFT]),
    "in an empty box": leaves([["split", 0, -1], ["part", 9], ["trees"], ["empty"], *LEFT]),
    "in an empty box, with text": leaves([["split", 0, -1], ["part", "x"], ["trees"], ["empty"], *LEFT]),
    "in an empty box, with two fields": leaves([["split", 0, -1], ["part", 0, 0], ["trees"], ["empty"], *LEFT]),
    "in an empty box, with a side alone": leaves([["split", 0, -1], ["part", 0], ["trees"], *LEFT]),
    # --- other nodes leave open what is open
    "a split of one part": leaves([["part", 1], ["split", 0, 5], ["trees"], ["trees"], *LEFT]),
    "a split of the others": leaves([["part", 0], *LEFT, ["split", 0, 5], ["trees"], ["trees"]]),
    "a split of two parts, and a part of each side": leaves(
        [["split", 0, 3], ["part", 1], ["trees"], ["trees", [0, 2]], ["part", 0], ["rule", 0], ["trees"]]
    ),
    "a part is open on the other side of a split": leaves(
        [["split", 0, 3], ["part", 1], ["trees"], ["trees", [0, 2]], ["trees"]]
    ),
    "leaves that go of one part are there of the others": leaves(
        [["split", 0, 3], ["part", 0], ["trees", [0, 2]], ["trees"], ["rule", 0]]
    ),
    "leaves that went before": leaves(
        [["split", 0, 3], ["prune", [0, 2]], ["part", 0], ["trees"], ["trees"], ["rule", 0]]
    ),
    "leaves that go of one part alone, and what needs it of the others": leaves(
        [["split", 0, 3], ["part", 1], ["prune", [0, 2]], ["trees"], ["trees"], ["rule", 0]]
    ),
    "near, of one part": lines([["part", 1], ["near", [0, [0, 4]]], duals("1"), RULED]),
    "near, of the others": lines([["part", 0], RULED, ["near", [0, [0, 4]]], duals("1", "1")]),
    "distance, whatever is open": leaves(
        [["split", 0, 3], ["trees"], ["part", 0], ["distance"], ["distance"]], closer="4", rules=[]
    ),
    # --- leaves
    "trees: a claim that one part makes false": leaves([["part", 1], ["trees"], ["trees"]], closer="5", rules=[]),
    "trees: a claim that the other part makes false": leaves(
        [["part", 0], ["trees"], ["trees"]], [*at_least(2.0), *GOAL], closer="5", rules=[]
    ),
    "trees: its true twin": leaves(
        [["part", 0], ["trees"], ["trees"]], [*at_least(2.0), *at_least(3.0)], closer="5", rules=[]
    ),
    "trees: a part that the model has": leaves(
        [["part", 0], ["trees"], ["trees"]], [*at_least(2.0), *at_least(0.0)], closer="4", rules=[]
    ),
    "cell: a part that the cell misses": cells([["part", 1], ["cell"], RULED]),
    "cell: a part that it has": cells([["part", 0], ["cell"], RULED]),
    "cell: the others, of which it has the last": cells([["part", 0], RULED, ["cell"]]),
    "cell: the others, of which it has both": cells([["part", 1], RULED, ["cell"]]),
    "cell: what is left": cells([["part", 0], RULED, ["part", 2], RULED, ["cell"]]),
    "cell: a claim that one part makes false": cells([["part", 1], ["cell"], ["cell"]], rules=[]),
    "prices: one part": priced([["part", 1], priced_as(SECOND), RULED]),
    "prices: a part that is too near": priced([["part", 0], priced_as(ONE), RULED]),
    "prices: a part that is far enough": priced([["part", 0], priced_as(ONE), RULED], "4"),
    "prices: what they say of another part": priced([["part", 1], priced_as(ONE), RULED]),
    "prices: the others": priced([["part", 0], RULED, priced_as(SECOND, THIRD)]),
    "prices: the others in another order": priced([["part", 0], RULED, priced_as(THIRD, SECOND)]),
    "prices: those of all parts": priced([["part", 0], RULED, priced_as(ONE, SECOND, THIRD)]),
    "prices: those of one of the others": priced([["part", 0], RULED, priced_as(SECOND)]),
    "prices: the others, of which one is too near": priced([["part", 1], RULED, priced_as(ONE, THIRD)]),
    "prices: the others, which are far enough": priced([["part", 1], RULED, priced_as(ONE, THIRD)], "4"),
    "prices: of one part those of all": priced([["part", 1], priced_as(ONE, SECOND, THIRD), RULED]),
    "prices: of one part none": priced([["part", 1], priced_as(), RULED]),
    "prices: none of nothing": priced([["part", 1], ["part", 1], priced_as(SECOND), priced_as(), RULED]),
    "prices: a claim that one part makes false": priced(
        [["part", 0], priced_as(SECOND), priced_as(ONE)], goal=[UNEVEN[1], UNEVEN[0]], rules=[]
    ),
    "prices: its true twin": priced(
        [["part", 0], priced_as(SECOND), priced_as(THIRD)], goal=[UNEVEN[1], UNEVEN[2]], rules=[]
    ),
    "dual: one part": lines([["part", 1], duals("1"), RULED]),
    "dual: a part that is too near": lines([["part", 0], duals("1"), RULED]),
    "dual: the others": lines([["part", 0], RULED, duals("1", "1")]),
    "dual: the others, of which one is too near": lines([["part", 1], RULED, duals("1", "1")]),
    "dual: the others, in the goal's order": lines([["part", 0], RULED, duals("1", "4/5")]),
    "dual: the others in another order": lines([["part", 0], RULED, duals("4/5", "1")]),
    "dual: multipliers for all parts": lines([["part", 0], RULED, duals("1", "1", "1")]),
    "dual: multipliers for one of the others": lines([["part", 0], RULED, duals("1")]),
    "dual: of one part those for all": lines([["part", 1], duals("1", "1", "1"), RULED]),
    "dual: of one part none": lines([["part", 1], duals(), RULED]),
    "dual: of nothing none": lines([["part", 1], ["part", 1], duals("1"), duals(), RULED]),
    "dual: a claim that one part makes false": lines([["part", 1], duals("1"), duals("1", "1")], rules=[]),
    "dual: its true twin": lines([["part", 1], duals("1"), duals("1", "1")], "4", rules=[]),
    "tighten: both parts, one after the other": ends(
        [FIRST, ["part", 0], tightened("2"), duals("1"), tightened("2"), duals("1")], "2", rules=[]
    ),
    "tighten: both parts before they are divided": ends(
        [FIRST, tightened("2", "2"), ["part", 0], duals("1"), duals("1")], "2", rules=[]
    ),
    "tighten: a claim that one part makes false": ends(
        [FIRST, ["part", 1], tightened("2"), duals("1"), tightened("2"), duals("1")], rules=[]
    ),
    "tighten: an end that holds of one part alone": ends([FIRST, ["part", 1], tightened("2"), duals("1"), RULED]),
    "tighten: an end of one part is none of the other": ends([FIRST, ["part", 0], tightened("2"), duals("1"), RULED]),
    "tighten: an end that holds of both": ends([FIRST, tightened("2", "2"), ["part", 1], duals("1"), RULED]),
    "tighten: an end that holds of both, and is enough": ends(
        [FIRST, tightened("2", "2"), ["part", 1], duals("1"), RULED], "5"
    ),
    "tighten: no end": ends([FIRST, ["part", 1], duals("1"), RULED], "5"),
    "tighten: entries for all parts, of one": ends([FIRST, ["part", 1], tightened("2", "2"), duals("1"), RULED]),
    "tighten: entries for none, of one": ends([FIRST, ["part", 1], tightened(), duals("1"), RULED]),
    "tighten: an entry for one, of both": ends([FIRST, tightened("2"), ["part", 1], duals("1"), RULED]),
    "tighten: an end that leaves nothing of one part": ends(
        [FIRST, ["near", [0, [0, 7]]], ["bounds", [0, 1, FREE, FREE]], ["part", 1], tightened("100"), ["empty"], RULED]
    ),
    "bounds and phases of one part": ends(
        [FIRST, ["part", 1], ["phase", 0, 1], duals("100"), tightened("2"), duals("1"), RULED]
    ),
    "a part of each side of a phase": ends(
        [FIRST, ["phase", 0, 1], duals("100", "100"), ["part", 1], tightened("2"), duals("1"), RULED]
    ),
}  # fmt: skip
