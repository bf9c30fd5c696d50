"""Vectors about what rules compare: linear functions that have to be at most 0, and multipliers of them."""

from __future__ import annotations

from typing import Any

from tests.proofs.by_hand import AT_3, AT_LEAST_0, FREE, GOAL, LEVELS, TWO, dual, end_of, grid, network, number, two

X, Y = ["x", 0], ["x", 1]
SUM = network([[[1.0], [1.0]]], [[-6.0]])  # x + y >= 6
SECOND = network([[[0.0], [1.0]]], [[-4.0]])  # y >= 4
UNIT = network([[[1.0], [1.0]], [[1.0]]], [[-5.0], [-0.5]])  # a unit that is on where x + y > 5
FROM_9 = ["<=", ["c", "9"], X]
MIXED = {"features": [grid(0, 10, 0), {**LEVELS, "count": 4, "allowed": 15}]}
BY_LEVEL = {**MIXED, "columns": [[0, None, []], [1, [number(x) for x in (0, 1, 2, 3)], []]]}

THIRDS = {"features": [grid(0, 30, 0, "1/3", scale="1"), grid(0, 10, 0)]}


def c(value: str) -> list[str]:
    return ["c", value]


def few(rule: Any, *entries: Any, factor: str = "1", **more: Any) -> Any:
    """That no point with x + y >= 6 obeys a rule, by multipliers of what it compares."""
    return two(SUM, AT_LEAST_0, None, [dual(factor, rules=[*entries])], [], **{**TWO, "rules": [rule], **more})


def near(rule: Any, *entries: Any, closer: str = "7999999/1000000", factor: str = "2", **more: Any) -> Any:
    """How far points with y >= 4 are that obey a rule: where x >= y, 8."""
    nodes = [dual(factor, rules=[*entries])]
    return two(SECOND, AT_LEAST_0, closer, nodes, [], **{**TWO, "rules": [rule], **more})


def fewer(m: str) -> Any:
    """That y >= 4 and x >= y take two changes."""
    around = {"features": [grid(0, 4, 0)] * 2, "columns": TWO["columns"], "rules": [AS_LARGE], "most_changes": 1}
    return two(SECOND, AT_LEAST_0, "10", [dual("7/2", changes="3", rules=[[0, 0, m]])], [], **around)


UP_TO_5 = ["<=", ["+", X, Y], c("5")]
AS_LARGE = ["<=", Y, X]
AS_SUM = ["<=", ["+", Y, ["neg", X]], c("0")]
FALSE = ["<", c("1"), c("0")]
M = [0, 0, "1"]

LINES: dict[str, Any] = {
    "a sum that may not be so large": few(UP_TO_5, M),
    "a multiplier that is too small": few(UP_TO_5, [0, 0, "1/2"]),
    "one that is too large": few(UP_TO_5, [0, 0, "2"]),
    "two multipliers of one comparison": few(UP_TO_5, [0, 0, "1/2"], [0, 0, "1/2"]),
    "a negative one, of what has to hold": few(UP_TO_5, [0, 0, "-1"]),
    "nothing times a comparison": few(UP_TO_5, [0, 0, "0"]),
    "no multipliers": few(UP_TO_5),
    "null": two(SUM, AT_LEAST_0, None, [dual("1", rules=None)], [], **TWO, rules=[UP_TO_5]),
    "a rule that there is not": few(UP_TO_5, [1, 0, "1"]),
    "a rule from the end": few(UP_TO_5, [-1, 0, "1"]),
    "a comparison that there is not": few(UP_TO_5, [0, 1, "1"]),
    "a comparison from the end": few(UP_TO_5, [0, -1, "1"]),
    "a rule that compares nothing": few(["true"], M),
    "no rules": few(UP_TO_5, M, rules=[]),
    "two entries for three": few(UP_TO_5, [0, "1"]),
    "four entries for three": few(UP_TO_5, [0, 0, "1", "1"]),
    "a number for a multiplier": few(UP_TO_5, [0, 0, 1]),
    "a number for a list": few(UP_TO_5, 0),
    "true for a rule": few(UP_TO_5, [False, 0, "1"], rules=[UP_TO_5]),
    "the second of two rules": few(UP_TO_5, [1, 0, "1"], rules=[AS_LARGE, UP_TO_5]),
    "the first of two rules, where the second counts": few(UP_TO_5, M, rules=[AS_LARGE, UP_TO_5]),
    "the second comparison of a rule": few(["and", AS_LARGE, UP_TO_5], [0, 1, "1"]),
    "the first comparison of a rule, where the second counts": few(["and", AS_LARGE, UP_TO_5], M),
    "one of two that may hold": few(["or", AS_LARGE, UP_TO_5], [0, 1, "1"]),
    "one of two, beside one that cannot hold": few(["or", FALSE, UP_TO_5], [0, 1, "1"]),
    "one of two, beside one that cannot hold after it": few(["or", UP_TO_5, FALSE], M),
    "one of two, in a box where the other cannot hold": two(
        SUM, AT_LEAST_0, None, [["split", 0, 8], dual("1", rules=[M]), dual("1", rules=[[1, 0, "1"]])], [],
        **{**TWO, "rules": [["or", UP_TO_5, FROM_9], UP_TO_5]},
    ),
    "one of two, in a box where the other can hold": two(
        SUM, AT_LEAST_0, None, [["split", 0, 9], dual("1", rules=[M]), dual("1", rules=[[1, 0, "1"]])], [],
        **{**TWO, "rules": [["or", UP_TO_5, FROM_9], UP_TO_5]},
    ),
    "what has to fail, by a negative multiplier": few(["not", ["<=", c("5"), ["+", X, Y]]], [0, 0, "-1"]),
    "what has to fail, by one that is not": few(["not", ["<=", c("5"), ["+", X, Y]]], [0, 0, "1"]),
    "what has to fail, by nothing": few(["not", ["<=", c("5"), ["+", X, Y]]], [0, 0, "0"]),
    "neither of two": few(["not", ["or", ["<", c("5"), ["+", X, Y]], FALSE]], [0, 0, "-1"]),
    "less than a number": few(["<", ["+", X, Y], c("5")], M),
    "not less than a number": few(["not", ["<", c("5"), ["+", X, Y]]], [0, 0, "-1"]),
    "a number that is less": few(["<", c("5"), ["+", X, Y]], M),
    "as much as a number": few(["==", ["+", X, Y], c("5")], M),
    "a number that is as much": few(["==", c("5"), ["+", X, Y]], [0, 0, "-1"]),
    "as much as a number, the other way": few(["==", ["+", X, Y], c("5")], [0, 0, "-1"]),
    "nothing times what is as much": few(["==", ["+", X, Y], c("5")], [0, 0, "0"]),
    "what may not be as much": few(["not", ["==", ["+", X, Y], c("5")]], M),
    "what may not be different": few(["not", ["!=", ["+", X, Y], c("5")]], M),
    "a number that may not be different": few(["not", ["!=", c("5"), ["+", X, Y]]], [0, 0, "-1"]),
    "what is different": few(["!=", ["+", X, Y], c("5")], M),
    "what is different, the other way": few(["!=", c("5"), ["+", X, Y]], [0, 0, "-1"]),
    "a sum of one": few(["<=", ["+", X], ["-", c("5"), Y]], M),
    "a sum of four": few(["<=", ["+", X, c("1"), Y, c("1")], c("7")], M),
    "a difference": few(["<=", ["-", X, ["neg", Y]], c("5")], M),
    "a difference the other way": few(["<=", ["-", c("-5"), ["neg", X]], ["neg", Y]], M),
    "twice a sum": few(["<=", ["*", "2", ["+", X, Y]], c("10")], [0, 0, "1/2"]),
    "minus twice a sum": few(["<=", ["neg", ["*", "1/2", ["+", X, Y]]], c("-5/2")], [0, 0, "2"]),
    "a sum with minus half of it": few(["<=", c("-5/2"), ["*", "-1/2", ["+", X, Y]]], [0, 0, "2"]),
    "a feature that comes twice": few(["<=", ["+", X, Y, X], ["+", c("5"), X]], M),
    "a third of a sum": few(["<=", ["*", "1/3", ["+", X, Y]], c("5/3")], [0, 0, "3"]),
    "the size of a sum": few(["<=", ["abs", ["+", X, Y]], c("5")], M),
    "the larger one": few(["<=", ["max", ["+", X, Y], c("0")], c("5")], M),
    "the smaller one": few(["<=", ["min", ["+", X, Y], c("20")], c("5")], M),
    "a number that is the larger one": few(["<=", ["+", X, Y], ["max", c("5"), c("4")]], M),
    "beside the size of a sum": few(["and", UP_TO_5, ["<=", ["abs", X], c("9")]], M),
    "steps of thirds": few(UP_TO_5, M, features=[grid(0, 30, 0, "1/3"), grid(0, 10, 0)]),
    "steps beside another value": few(UP_TO_5, M, features=[grid(0, 11, 0, extra="1/7"), grid(0, 10, 0)]),
    "starts elsewhere": few(UP_TO_5, M, features=[grid(0, 10, 7), grid(0, 10, -3)]),
    "doubles": few(
        UP_TO_5, M, features=[{**grid(0, 4616189618054758400, 0), "grid": "float64", "scale": "1"}, grid(0, 10, 0)]
    ),
    "levels": few(UP_TO_5, M, **BY_LEVEL),
    "levels that start elsewhere": few(
        UP_TO_5, M, **{**BY_LEVEL, "features": [MIXED["features"][0], {**MIXED["features"][1], "start": 2}]}
    ),
    "levels, by a multiplier that is too small": few(["<=", ["+", X, Y, Y], c("5")], [0, 0, "1/4"], **BY_LEVEL),
    "levels that count twice": few(["<=", ["+", X, Y, Y], c("5")], M, **BY_LEVEL),
    "what is missing at the start": few(
        UP_TO_5, M, features=[{**LEVELS, "count": 4, "start": 3, "missing": {"cost": "1"}}, grid(0, 10, 0)],
        columns=[[0, [number(x) for x in (0, 1, 2, 3)], []], [1, None, []]],
    ),
    "beside what is missing at the start": few(
        UP_TO_5, M, features=[*TWO["features"], grid(0, 3, 4, missing={"cost": "1", "allowed": False})]
    ),
    "beside what may be missing": few(
        UP_TO_5, M, features=[*TWO["features"], grid(0, 3, 0, missing={"cost": "1", "allowed": True})]
    ),
    "a distance": near(AS_LARGE, M),
    "a distance that is a hair larger": near(AS_LARGE, M, closer="8000001/1000000"),
    "a distance by a sum": near(AS_SUM, M),
    "a distance by a sum that is a hair larger": near(AS_SUM, M, closer="8000001/1000000"),
    "a distance on steps of thirds": near(AS_LARGE, M, **THIRDS),
    "a distance on steps of thirds that is a hair larger": near(AS_LARGE, M, closer="8000001/1000000", **THIRDS),
    "a distance by half of it": near(AS_LARGE, [0, 0, "1/2"], factor="3/2", closer="5999999/1000000"),
    "a distance by half of it that is a hair larger": near(
        AS_LARGE, [0, 0, "1/2"], factor="3/2", closer="6000001/1000000"
    ),
    "a distance that counts starts elsewhere": near(
        AS_LARGE, M, features=[grid(0, 10, 3), grid(0, 10, 2)], closer="2999999/1000000"
    ),
    "a distance that counts starts elsewhere and is a hair larger": near(
        AS_LARGE, M, features=[grid(0, 10, 3), grid(0, 10, 2)], closer="3000001/1000000"
    ),
    "a distance of levels": near(AS_LARGE, M, closer="4", **BY_LEVEL),
    "a distance of few changes": near(AS_LARGE, M, most_changes=1, closer="8"),
    "a distance with a multiplier of changes": fewer("7/4"),
    "a distance with a multiplier of changes, and one of a rule that is too small": fewer("3/2"),
}  # fmt: skip


def held(m: str, rule: Any = UP_TO_5) -> Any:
    """A unit that is off wherever a rule holds, so that nothing has the goal."""
    end = end_of((0, 0, 1), FREE, "0", rules=[[0, 0, m]])
    return two(UNIT, AT_LEAST_0, None, [end, dual("1")], [], **TWO, rules=[rule])


TIGHT = {
    "what a rule compares leaves a unit off": held("1"),
    "half of what a rule compares leaves it open": held("1/2"),
    "what a rule compares and leaves open": held("1", ["or", UP_TO_5, FROM_9]),
    "a rule whose sum may be larger": held("1", ["<=", ["+", X, Y], c("6")]),
}


UNDER = ["<=", X, Y]


def priced(*entries: Any, closer: str | None = "79/10", factor: str = "8", price: int = 8, **more: Any) -> Any:
    """How far points with x > 3 are of which y is as large, by prices of taking that side: 8."""
    part = {"goal": [factor], "largest": [], "unit": "1", "prices": [[0, 2, price]], "rules": [*entries]}
    return two(AT_3, GOAL, closer, [["prices", part]], [3], **{**TWO, "rules": [UNDER], **more})


ELSEWHERE = {"features": [grid(0, 10, 0), grid(0, 10, 2)]}
LARGEST = {"distance": {"alpha": "0", "beta": "0", "gamma": "1"}}
JUMPS = {"distance": {"alpha": "1", "beta": "1", "gamma": "0"}}


def largest(x: str, y: str) -> Any:
    """The same where the larger change alone counts, of which each feature has a share."""
    part = {"goal": ["4"], "largest": [[0, x], [1, y]], "unit": "1", "prices": [[0, 2, 4]], "rules": [[0, 0, "1/2"]]}
    return two(AT_3, GOAL, "39/10", [["prices", part]], [3], **TWO, rules=[UNDER], **LARGEST)


def nowhere(most: str, entries: Any) -> Any:
    """That no point has x > 3, by what x + y may be at most."""
    part = {"goal": ["5"], "largest": [], "unit": "1", "prices": [[0, 2, 4]], "rules": entries}
    return two(AT_3, GOAL, None, [["prices", part]], [3], **TWO, rules=[["<=", ["+", X, Y], c(most)]])


def beside_forms(closer: str) -> Any:
    """What multipliers of forms and of rules make of a distance |x| + |y|: 3."""
    part = {"goal": ["4"], "largest": [], "unit": "1", "prices": [[0, 2, 4]], "rules": [[0, 0, "1/10"]]}
    around = {"distance": {"alpha": "0", "beta": "0", "gamma": "0", "forms": [["1", "0"], ["0", "1"]]}}
    return two(AT_3, GOAL, closer, [["prices", {**part, "forms": [1 << 40] * 2}]], [3], **TWO, rules=[UNDER], **around)


PRICED = {
    "prices: a second feature that has to follow": priced(M),
    "prices: a hair more than both changes": priced(M, closer="801/100"),
    "prices: without a multiplier": priced(),
    "prices: half a multiplier": priced([0, 0, "1/2"], closer="59/10", factor="6", price=6),
    "prices: half a multiplier, and a hair more": priced([0, 0, "1/2"], closer="601/100", factor="6", price=6),
    "prices: a multiplier that is too large": priced([0, 0, "2"]),
    "prices: a negative multiplier": priced([0, 0, "-1"]),
    "prices: a start between the ends of a cell": priced(M, closer="59/10", **ELSEWHERE),
    "prices: a start between the ends of a cell, and a hair more": priced(M, closer="601/100", **ELSEWHERE),
    "prices: jumps": priced(M, closer="9", factor="9", price=9, **JUMPS),
    "prices: jumps, and both of them": priced(
        [0, 0, "11/10"], closer="98/10", factor="94/10", price=9, **JUMPS
    ),
    "prices: the largest change alone": largest("1/2", "1/2"),
    "prices: the largest change alone, in other shares": largest("3/4", "1/4"),
    "prices: nothing at any distance": nowhere("2", [M]),
    "prices: nothing at any distance, where there may be something": nowhere("4", [M]),
    "prices: null": nowhere("2", None),
    "prices: forms beside a rule": beside_forms("29/10"),
    "prices: forms beside a rule, and a hair more": beside_forms("31/10"),
    "prices: a rule that there is not": priced([1, 0, "1"]),
    "prices: beside what may be missing": priced(
        M, features=[*TWO["features"], grid(0, 3, 0, missing={"cost": "1", "allowed": True})],
    ),
    "prices: beside what is missing at the start": priced(
        M, features=[*TWO["features"], grid(0, 3, 4, missing={"cost": "1", "allowed": False})],
    ),
    "prices: levels": priced(M, features=[grid(0, 10, 0), {**LEVELS, "count": 10, "allowed": 1023, "weight": "9"}],
        columns=[[0, None, []], [1, [number(float(x)) for x in range(10)], []]], closer="79/10"),
}  # fmt: skip
