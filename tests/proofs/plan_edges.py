"""More certificates of plans by hand: in each one thing alone is right or wrong, which some change of the kernel turns.

The world is that of `plan_cases.py`: x and y from 0 to 10 and a level, 0 at the start; a tree says 1 where x > 3.
"""

from __future__ import annotations

from typing import Any

from tests.proofs.by_hand import grid
from tests.proofs.plan_cases import (
    END,
    GO,
    LIFT,
    NOTHING,
    OVER,
    PICK,
    PICKED,
    PROOF,
    UP_TO_3,
    WITNESS,
    WORLD,
    one,
    plan,
    setting,
)  # fmt: skip

NEVER: list[Any] = [["never"]]
BY_RULE: list[Any] = [["step"], ["end", ["rule", 0]]]
AT_MOST_4 = {"rules": [["<=", ["x", 0], ["c", "4"]]]}
NO_X = {"rules": [["<", ["x", 0], ["c", "0"]]]}
PICK_2 = [*PICK[:2], ["<", 1, 0]]  # whether the parameter is 2
QUOTIENT = [["c", "1"], ["c", "49"], ["/", 0, 1], ["*", 2, 1]]  # 1 / 49 * 49: in floats less than 1
BOTH = [["c", "0"], ["<=", 3, 3], ["<", 3, 3]]  # after PICK, line 4 is true, and line 5 is false


def span(*ends: tuple[int, int]) -> dict[str, Any]:
    """Parameters with these indices."""
    return {"parameters": [{"step": "1", "first": first, "last": last} for first, last in ends]}


def asking(lines: list[Any], **more: Any) -> dict[str, Any]:
    """An action that sets x to 4 if the last line holds."""
    return setting([*lines, ["c", "4"]], before=[len(lines) - 1], **more)


def level(lines: list[Any], **more: Any) -> dict[str, Any]:
    """An action that sets the level to the last line, and x to 4."""
    return setting([*lines, ["c", "4"]], change=[[2, len(lines) - 1], [0, len(lines)]], **more)


def only(k: int) -> dict[str, Any]:
    """A rule: this is the one level that is allowed."""
    return {"rules": [["==", ["x", 2], ["c", str(k)]]]}


def alone(action: dict[str, Any], claim: str, proof: Any) -> Any:
    """A world of one action, which may be taken once, for a claim about cost."""
    return plan(claim, [["step"], END, *proof], [action], 1)


def lacking(data: Any, *place: Any) -> Any:
    """The same without one field."""
    key, *rest = place
    if rest:
        inner = lacking(data[key], *rest)
        return {**data, key: inner} if isinstance(data, dict) else [*data[:key], inner, *data[key + 1 :]]
    return {name: inner for name, inner in data.items() if name != key}


TRUE = {
    "a number of 10,000 bits": one(setting([["c", str(2**9999)], ["c", "3"]]), NOTHING),
    "one branch of which nothing is known": one(
        setting([*PICK, ["x", 1], ["c", "2"], ["/", 4, 3], ["if", 2, 5, 1]], **PICKED), BY_RULE, **NO_X),
    "another branch of which nothing is known": one(
        setting([*PICK, ["x", 1], ["c", "2"], ["/", 4, 3], ["if", 2, 1, 5]], **PICKED), BY_RULE, **NO_X),
    "one branch whose values are not listed": one(setting([*PICK, ["if", 2, 0, 1]], **PICKED), NOTHING),
    "another branch whose values are not listed": one(setting([*PICK, ["if", 2, 1, 0]], **PICKED), NOTHING),
    "a branch that is certain": one(setting([["true"], ["c", "1"], ["c", "5"], ["if", 0, 1, 2]]), NOTHING),
    "another branch that is certain": one(setting([["false"], ["c", "1"], ["c", "5"], ["if", 0, 2, 1]]), NOTHING),
    "a condition in two branches that both hold": one(
        asking([*PICK, *BOTH, ["if", 2, 4, 4], ["not", 6]], **PICKED), NEVER),
    "a parameter with one value": one(setting([["p", 0]], **span((3, 3))), NOTHING),
    "the state before the action, in a condition on the state after": one(
        setting([["c", "4"]], then=[["x", 0], ["<=", 1, 2]], after=[3]), NEVER),
    "levels between two": one(level([["p", 0]], **PICKED), BY_RULE, **only(0)),
    "levels of which one between them is not listed": one(
        level([*PICK, ["c", "0"], ["c", "2"], ["if", 2, 3, 4]], **PICKED), BY_RULE, **only(1)),
    "a share below 0": one(setting([["c", "-1"], ["c", "4"]], factors=[[0]]), NEVER),
    "a span without an index": alone(
        setting([["p", 0], ["c", "0"]], cost=0, **span((1, 5))), "1", [["split", 0, 0, 0], ["never"], ["dear"]]),
    "the first of three parameters": alone(
        setting([["p", 0], ["p", 1], ["p", 2], ["+", 0, 1, 2]], cost=0, **span((0, 2), (0, 2), (0, 1))), "1",
        [["split", 0, 0, 0], *NOTHING, ["dear"]]),
    "the first of two actions": plan(proof=[
        ["step"], END, ["step"], UP_TO_3, END, ["dear"], ["split", 0, 0, 3], ["step"], END, ["dear"], *PROOF[10:]]),
    "an action that cannot be taken, at whatever cost": alone(asking([["false"]]), "9", [["dear"]]),
    "a quotient of whole numbers, which no float is": one(asking([*QUOTIENT, ["<", 3, 0]]), NEVER),
}  # fmt: skip
FALSE = {
    "a quotient of whole numbers, rounded": one(asking([*QUOTIENT, ["<=", 0, 3]]), NEVER),
    "the first of two conditions holds": one(asking([*PICK, *BOTH, ["if", 2, 4, 5]], **PICKED), NEVER),
    "the second of two conditions holds": one(asking([*PICK, *BOTH, ["if", 2, 5, 4]], **PICKED), NEVER),
    "the second of two conditions fails": one(asking([*PICK, *BOTH, ["if", 2, 4, 5], ["not", 6]], **PICKED), NEVER),
    "the first of two conditions fails": one(asking([*PICK, *BOTH, ["if", 2, 5, 4], ["not", 6]], **PICKED), NEVER),
    "a value of one of two branches": one(
        asking([*PICK, ["c", "3"], ["if", 2, 1, 3], ["==", 4, 3]], **PICKED), NEVER),
    "the least value of one branch": one(
        setting([*PICK, ["c", "3"], ["+", 0, 3], ["c", "6"], ["if", 2, 4, 5]], **PICKED), BY_RULE, **AT_MOST_4),
    "the least value of another branch": one(
        setting([*PICK_2, ["c", "3"], ["+", 0, 3], ["c", "6"], ["if", 2, 5, 4]], **PICKED), BY_RULE, **AT_MOST_4),
    "the greatest value of another branch": one(
        setting([*PICK, ["c", "2"], ["+", 0, 3], ["if", 2, 1, 4]], **PICKED), NOTHING),
    "the greatest product": one(setting([["p", 0], ["c", "2"], ["*", 0, 1]], **PICKED), NOTHING),
    "the least product": one(
        setting([["p", 0], ["c", "2"], ["*", 0, 1]], **span((2, 3))), BY_RULE, **AT_MOST_4),
    "the greatest quotient": one(setting([["p", 0], ["c", "12"], ["/", 1, 0]], **span((2, 3))), NOTHING),
    "a condition on what may have no value": one(
        asking([["p", 0], ["c", "2"], ["/", 1, 0], ["<=", 2, 1]], **span((0, 1))), NEVER),
    "that a condition fails of what may have no value": one(
        asking([["p", 0], ["c", "2"], ["/", 1, 0], ["<", 2, 1], ["not", 3]], **span((0, 1))), NEVER),
    "the lower one of two levels": one(level([["p", 0]], **PICKED), BY_RULE, **only(1)),
    "a level that may be set": one(level([["c", "1"]]), NEVER),
    "the very level that is set": one(level([["c", "1"]]), BY_RULE, **only(1)),
    "a factor that may have no value": alone(
        setting([["p", 0], ["c", "1"], ["/", 1, 0], ["c", "4"]], factors=[[2]], **span((0, 1))), "2", [["dear"]]),
    "a cost that may have no value": one(
        setting([["p", 0], ["c", "1"], ["/", 1, 0], ["c", "4"]], cost=2, **span((0, 1))), NEVER),
    "the least of a factor": alone(
        setting([["p", 0], ["c", "1/2"], ["*", 0, 1], ["c", "4"]], factors=[[2]], **PICKED), "1", [["dear"]]),
    "a share of 0": one(setting([["c", "0"], ["c", "4"]], factors=[[0]]), NEVER),
}  # fmt: skip
AT_GOAL = {"features": [grid(4, 10, 4), *WORLD["features"][1:]], "witness": {"steps": [[0, []]], "cost": "1"}}
WRONG = {
    "a number of 10,001 bits": one(setting([["c", str(2**10000)], ["c", "3"]]), NOTHING),
    "one of two changed features has floats": one(
        {**LIFT, "change": [[0, 0], [1, 0]]}, NOTHING,
        features=[WORLD["features"][0], grid(0, 10, 0, grid="float64"), WORLD["features"][2]]),
    "a line that begins with a number": one(setting([[0, 0]]), NOTHING),
    "a line of nothing": one(setting([[]]), NOTHING),
    "a constant of two parts": one(setting([["c", "1", "2"]]), NOTHING),
    "a choice of four parts": one(setting([["true"], ["c", "1"], ["if", 0, 1, 1, 1]]), NOTHING),
    "a choice by a number": one(setting([["c", "1"], ["if", 0, 0, 0]]), NOTHING),
    "an operator that is unknown, of lines that are known": one(setting([["c", "1"], ["pow", 0, 0]]), NOTHING),
    "a sum of conditions": one(setting([["true"], ["+", 0]]), NOTHING),
    "a plan that sets what has no value": plan("0", [["dear"]], [setting(OVER)], **AT_GOAL),
    "a plan that sets one of two to what has no value": plan(
        "0", [["dear"]], [setting(OVER, change=[[0, 2], [1, 1]])], **AT_GOAL),
    "a plan without its actions": plan(witness=lacking(WITNESS, "steps")),
    "a plan without its cost": plan(witness=lacking(WITNESS, "cost")),
    "a plan of an action that there is not": plan(witness={"steps": [[2, []]], "cost": "3"}),
    "a statement that is a list": plan() | {"statement": []},
    "a statement without its model": lacking(plan(), "statement", "model"),
    "a claim, and that it is not the other": plan() | {"claim": {"cheaper_than": "3", "never": False}},
    "a claim that it is not": plan() | {"claim": {"never": False}},
    "a place before the first": plan(proof=[["split", -1, 0, 3] if n == UP_TO_3 else n for n in PROOF]),
    "a place after the last": plan(proof=[["split", 1, 0, 3] if n == UP_TO_3 else n for n in PROOF]),
    "an index as text": plan(proof=[["split", 0, 0, "3"] if n == UP_TO_3 else n for n in PROOF]),
    "an end whose proof is a number": plan(proof=[["step"], ["end", 3], *PROOF[2:]]),
    **{f"nothing said of {name}": lacking(plan(), name)
       for name in ("statement", "world", "claim", "witness", "cuts", "proof")},
    **{f"a world without {name}": lacking(plan(), "world", name) for name in ("horizon", "actions")},
    **{f"an action without {name}": lacking(plan(), "world", "actions", 0, name) for name in GO},
    **{f"a parameter without {name}": lacking(plan(), "world", "actions", 0, "parameters", 0, name)
       for name in ("step", "first", "last")},
}  # fmt: skip
CASES = {**TRUE, **{f"false: {name}": data for name, data in {**FALSE, **WRONG}.items()}}
