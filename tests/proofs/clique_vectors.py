"""Vectors about leaves of which a point reaches at most one, and about axes that are narrowed by prices."""

from __future__ import annotations

from typing import Any

from tests.proofs.by_hand import BY_LEVEL, TWO, at_least, forest, grid, number, two
from tests.proofs.part_vectors import OFF, RULED

# One says 1 where x > 4, the other where x <= 3: nodes 2 and 4, if those of both are counted.
APART = forest([[0.0], [1.0]], [[1.0], [0.0]], at=[4.0, 3.0])
KNOWN = ["cliques", [2, 2]]
# The same, and a third one that says 1 where y > 2.
THIRD = forest([[0.0], [1.0]], [[1.0], [0.0]], [[0.0], [1.0]], at=[4.0, 3.0, 2.0])
THIRD["trees"][2]["column"][0] = 1
FREE_X = {"features": [grid(0, 10, 0, weight="0"), grid(0, 10, 0)], "columns": TWO["columns"]}
# 1 where x > 4, 2 where x <= 3, 1 where x > 5: the second one is apart from both others, which go together.
STAR = forest([[0.0], [1.0]], [[2.0], [0.0]], [[0.0], [1.0]], at=[4.0, 3.0, 5.0])
# Of the first tree the leaf 4 is where x > 3 and y > 2, of the second the leaf 6 where y <= 2.
DEEP = forest([[0.0]], [[1.0], [0.0]], at=[0.0, 2.0])
DEEP["trees"][0] = {
    "column": [0, -1, 1, -1, -1], "threshold": [number(3), 0, number(2), 0, 0], "left": [1, 0, 3, 0, 0],
    "right": [2, 0, 4, 0, 0], "value": [None, [number(0)], None, [number(0)], [number(1)]],
}  # fmt: skip
DEEP["trees"][1]["column"][0] = 1
# x + y of points with x > 3 and y > 2.
BOTH = forest([[0.0], [1.0]], [[0.0], [1.0]], at=[3.0, 2.0])
BOTH["trees"][1]["column"][0] = 1
FROM_5 = {"rules": [["<", ["c", "4"], ["x", 1]]]}  # closes what is left of y up to 4
# Levels 0 and 1 go left in the first tree, 1 and 2 in the second; the levels 0 and 2 are allowed.
CORNERS = {"features": [{**BY_LEVEL["features"][0], "allowed": 5}], "columns": BY_LEVEL["columns"]}
LEVELLED = forest([[1.0], [0.0]], [[1.0], [0.0]])
for _t, _set in enumerate(([0, 1], [1, 2])):
    LEVELLED["trees"][_t]["threshold"][0] = _set
# With a form that adds nothing no distance is taken to be a multiple of anything.
EXACT = {"distance": {"alpha": "0", "beta": "1", "gamma": "0", "forms": [["0", "0"]]}}
FIVE = {"features": [grid(0, 10, 5), grid(0, 10, 0)], "columns": TWO["columns"]}


def part(factor: str, *entries: list[int], **more: Any) -> dict[str, Any]:
    """Prices for one comparison."""
    return {"goal": [factor], "largest": [], "unit": "1", "prices": [*entries], **more}


def shared(*units: Any, numbers: Any = (0,), **more: Any) -> dict[str, Any]:
    """Prices of nothing but cliques."""
    return part("1", cliques={"numbers": [*numbers], "units": [*units]}, **more)


def apart(*proof: Any, than: float = 2.0, closer: str | None = None, cuts: Any = (4, 3), **more: Any) -> Any:
    """That not both trees say 1."""
    return two(APART, at_least(than), closer, [*proof], [*cuts], **more)


def known(*cliques: Any, model: Any = APART, cuts: Any = (4, 3), **more: Any) -> Any:
    """That these are cliques; nothing is allowed."""
    return two(model, at_least(2.0), None, [["cliques", *cliques], RULED], [*cuts], **{**OFF, **more})


def below(first: Any, second: Any, at: int = 3) -> Any:
    """That these are cliques up to an index, and above it."""
    proof = [["split", 0, at], ["cliques", first], RULED, ["cliques", second], RULED]
    return two(STAR, at_least(2.0), None, proof, [4, 3, 5], **OFF)


def deep(clique: Any, cuts: Any = (3, 2), **more: Any) -> Any:
    """That these leaves of two trees over two features are a clique."""
    return known(clique, model=DEEP, cuts=cuts, **TWO, **more)


def star(*units: int, than: float = 3.0, second: Any = ((4, 4),), **more: Any) -> Any:
    """That the sum of three trees is below 3: of the second one's leaf both others pay, too."""
    proof = [["cliques", [2, 2]], *(["cliques", [*steps]] for steps in second)]
    return two(STAR, at_least(than), None, [*proof, ["prices", shared(*units, numbers=[0, 1], **more)]], [4, 3, 5])


def third(closer: str, price: int = 3, factor: str = "3", unit: str = "1", **more: Any) -> Any:
    """How far points with y > 2 are, where not both of the other trees say 1."""
    paid = part(factor, [2, 2, price], unit=unit, cliques={"numbers": [0], "units": [price]})
    return two(THIRD, at_least(2.0), closer, [KNOWN, ["prices", paid]], [4, 3, 2], **{**FREE_X, **EXACT, **more})


WAYS = part("4", [0, 2, 4], [1, 2, 3])
# A leaf of x > 3 pays more than it gains, so that it is dear to stay where x <= 3 as well: 7 there, and 5 elsewhere.
DEAR = part("4", [0, 2, 6], [1, 2, 3])


def both(said: Any, *then: Any, closer: str = "9", parts: Any = (WAYS,), **more: Any) -> Any:
    """About points with x > 3 and y > 2, of which y is above 4."""
    proof = [["narrow", *([] if said is None else [said]), *parts], *(then or (RULED,))]
    return two(BOTH, at_least(2.0), closer, proof, [3, 2], **{**TWO, **FROM_5, **more})


def ball(span: Any, closer: str = "3", **more: Any) -> Any:
    """What is near to a start in the middle, of which nothing is allowed."""
    near = {"rules": [["<", ["c", "2"], ["abs", ["-", ["x", 0], ["c", "5"]]]]]}
    proof = [["narrow", [[0, span]], part("0")], RULED]
    return two(forest([[1.0]]), at_least(1.0), closer, proof, [], **{**FIVE, **near, **more})


def levels(mask: Any, closer: str = "1", allowed: int = 7) -> Any:
    """What is left of three levels in order, of which the first is the start; it is not allowed."""
    around = {"features": [{**BY_LEVEL["features"][0], "allowed": allowed}], "columns": BY_LEVEL["columns"]}
    proof = [["narrow", [[0, mask]], part("0")], RULED]
    rule = {"rules": [["<=", ["c", "2"], ["x", 0]]]}
    return two(forest([[1.0]]), at_least(1.0), closer, proof, [], **around, **rule)


def nowhere(span: Any, factor: str = "1", price: int = 1) -> Any:
    """That the goal is not where x <= 3, at whatever distance; elsewhere nothing is allowed."""
    model, rule = forest([[0.0], [1.0]], at=[3.0]), {"rules": [["<=", ["x", 0], ["c", "3"]]]}
    return two(model, at_least(1.0), None, [["narrow", [[0, span]], part(factor, [0, 2, price])], RULED], [3], **rule)


def formed(axis: int, closer: str, constant: str = "2", span: Any = (0, 3)) -> Any:
    """A distance that is |x + y + 2|, from the start on: what one axis does by itself."""
    form = {"distance": {"alpha": "0", "beta": "0", "gamma": "0", "forms": [["1", "1", constant]]}}
    proof = [["narrow", [[axis, [*span]]], part("0", forms=[1 << 40])], RULED]
    rule = {"rules": [["<", ["c", str(span[1])], ["x", axis]]]}
    return two(forest([[1.0]]), at_least(1.0), closer, proof, [], **TWO, **form, **rule)


def ruled(closer: str, span: Any = (0, 2), multiplier: str = "1") -> Any:
    """What follows from y >= x: of points with x > 2 the distance is at least 6."""
    rules = [["<=", ["x", 0], ["x", 1]], ["<", ["c", "2"], ["x", 0]]]
    proof = [["narrow", [[0, [*span]]], part("0", rules=[[0, 0, multiplier]])], ["rule", 1]]
    return two(forest([[1.0]]), at_least(1.0), closer, proof, [], rules=rules, **TWO)


def largest(closer: str, share: str = "1", span: Any = (0, 3)) -> Any:
    """By the largest change: what goes beyond an index of x."""
    around = {"distance": {"alpha": "0", "beta": "0", "gamma": "1"}, "rules": [["<", ["c", str(span[1])], ["x", 0]]]}
    proof = [["narrow", [[0, [*span]]], part("0", largest=[[0, share]])], RULED]
    return two(forest([[1.0]]), at_least(1.0), closer, proof, [], **TWO, **around)


def named(field: Any, **more: Any) -> Any:
    """The prices of cliques as this field."""
    return apart(KNOWN, ["prices", {**part("1"), "cliques": field, **more}])


CLIQUES: dict[str, Any] = {
    "a leaf of each of two trees": apart(KNOWN, ["prices", shared(1)]),
    "they are not said to be a clique": apart(["prices", shared(1)]),
    "a price of nothing": apart(KNOWN, ["prices", shared(0)]),
    "a price that is too high": apart(KNOWN, ["prices", shared(2)]),
    "a price of nothing that is not asked": apart(KNOWN, ["prices", shared(0)], than=2.5),
    "a negative price": apart(KNOWN, ["prices", shared(-1)], than=0.5),
    "a goal that one tree has alone": apart(KNOWN, ["prices", shared(1)], than=1.0),
    "a goal that is a hair more": apart(KNOWN, ["prices", shared(1)], than=1 + 2.0**-30),
    "tests that meet at one cut": known([2, 2], model=forest([[0.0], [1.0]], [[1.0], [0.0]], at=[3.0, 3.0]), cuts=[3]),
    "one index that both have": known(
        [2, 2], model=forest([[0.0], [1.0]], [[1.0], [0.0]], at=[3.0, 4.0]), cuts=[3, 4]
    ),
    "one index that both have, and its price": two(
        forest([[0.0], [1.0]], [[1.0], [0.0]], at=[3.0, 4.0]), at_least(2.0), None, [KNOWN, ["prices", shared(1)]],
        [3, 4],
    ),
    "without a cut": known([2, 2], cuts=[None, 3]),
    "without the other cut": known([2, 2], cuts=[4, None]),
    "leaves that are above": known([2, 3]),
    "leaves that are below": known([1, 3]),
    "both leaves of a tree": known([1, 1]),
    "both leaves of a tree without a cut": known([1, 1], cuts=[None, 3]),
    "both leaves of a tree, and one that is apart from one of them": known([1, 1, 2]),
    "no clique": known(),
    "an empty clique": known([]),
    "a clique of one leaf": known([2]),
    "the first node of all": known([0], model=forest([[1.0]], [[0.0], [1.0]], at=[0.0, 4.0]), cuts=[4]),
    "the last node of all": known([5]),
    "several cliques": known([2, 2], [], [1, 1]),
    "several cliques, of which one is none": known([2, 2], [2, 3]),
    "an inner node": known([0, 2]),
    "the inner node of the second tree": known([2, 1]),
    "a node beyond all trees": known([6]),
    "a first number below 0": known([-1, 3]),
    "a number twice": known([2, 0]),
    "a number twice, after another": known([1, 1, 0]),
    "a number twice, before another": known([2, 0, 2]),
    "a step back": known([4, -2]),
    "a step as text": known(["2", 2]),
    "true is no step": known([True, 1]),
    "a number for a list": known(2),
    "an object for a list": known({"2": 2}),
    "null for a list": known(None),
    "a leaf that is too far": apart(KNOWN, ["prices", shared(1)], closer="5"),
    "a leaf that is just near enough": apart(
        KNOWN, ["prices", part("6", cliques={"numbers": [0], "units": [6]})], closer="6"
    ),
    "a leaf that was pruned": apart(
        ["split", 0, 3], ["prune", [0, 2]], KNOWN, ["prices", shared(1)], ["prune", [1, 1]], KNOWN,
        ["prices", shared(1)],
    ),
    "leaves that the box misses": below([2, 3], [2, 2]),
    "leaves that the box does not miss": below([2, 2], [2, 3]),
    "one leaf that the box misses": below([2, 2, 1], [2, 2]),
    "a leaf that the box misses, beside one that is everywhere": two(
        forest([[0.0], [1.0]], [[1.0]], at=[4.0, 0.0]), at_least(2.0), None,
        [["split", 0, 3], ["cliques", [2, 1]], RULED, RULED], [4], **OFF,
    ),
    "a leaf that the box does not miss, beside one that is everywhere": two(
        forest([[0.0], [1.0]], [[1.0]], at=[4.0, 0.0]), at_least(2.0), None,
        [["split", 0, 5], ["cliques", [2, 1]], RULED, RULED], [4], **OFF,
    ),
    "levels that are not both allowed": known([1, 3], model=LEVELLED, cuts=[None, None], **CORNERS),
    "levels of which one is in both": known([1, 3], model=LEVELLED, cuts=[None, None], **BY_LEVEL),
    "levels that the box has not both": two(
        LEVELLED, at_least(2.0), None, [["split", 0, 5], ["cliques", [1, 3]], ["prices", shared(1)], RULED],
        [None, None], **BY_LEVEL, rules=[["!=", ["x", 0], ["c", "1"]]],
    ),
    "apart on the second axis": deep([4, 2]),
    "not apart on the second axis": deep([3, 3]),
    "another leaf that is not narrowed there": deep([1, 5]),
    "apart on an axis that is not cut": deep([4, 2], cuts=[3, None]),
    "a box that misses a leaf on one of two axes": two(
        DEEP, at_least(2.0), None, [["split", 1, 2], ["cliques", [4, 2]], ["cliques", [4, 3]], RULED, RULED],
        [3, 2], **TWO, **OFF,
    ),
    "a clique that was known above": apart(KNOWN, ["split", 0, 5], ["prices", shared(1)], ["prices", shared(1)]),
    "a clique that is known beside": apart(["split", 0, 5], KNOWN, ["prices", shared(1)], ["prices", shared(1)]),
    "a clique that is known on both sides": apart(
        ["split", 0, 5], KNOWN, ["prices", shared(1)], KNOWN, ["prices", shared(1)]
    ),
    "cliques of parts of a goal": two(
        APART, [*at_least(2.0), *at_least(3.0)], None,
        [KNOWN, ["part", 1], ["prices", shared(1)], ["prices", shared(1)]], [4, 3],
    ),
    "prices for two parts of a goal": two(
        APART, [*at_least(2.0), *at_least(3.0)], None, [KNOWN, ["prices", shared(1), part("1")]], [4, 3],
    ),
    "prices for two parts of a goal, and none for the nearer": two(
        APART, [*at_least(2.0), *at_least(3.0)], None, [KNOWN, ["prices", part("1"), shared(1)]], [4, 3],
    ),
    "the second clique": apart(["cliques", [1], [2, 2]], ["prices", shared(1, numbers=[1])]),
    "the second clique, by the number of the first": apart(["cliques", [1], [2, 2]], ["prices", shared(1)]),
    "a clique after one of another node": apart(["cliques", [1]], KNOWN, ["prices", shared(1, numbers=[1])]),
    "a clique before one of another node": apart(KNOWN, ["cliques", [1]], ["prices", shared(1)]),
    "a leaf of two cliques": star(1, 1),
    "a leaf of two cliques, of which one is free": star(1, 0),
    "a leaf of two cliques, of which the other is free": star(0, 1),
    "a leaf of two cliques: a hair more than there is": star(1, 1, than=2 + 2.0**-30),
    "a leaf of two cliques: all that there is": star(1, 1, than=2.0),
    "a leaf of two cliques, in halves": star(2, 2, unit="1/2"),
    "a leaf of two cliques, in halves: too little": star(1, 1, unit="1/2"),
    "a leaf of two cliques, at a price that is too high": star(3, 3),
    "prices of cliques and of a side": third("3"),
    "prices of cliques and of a side, a hair more": third("3000000001/1000000000"),
    "prices of cliques and of a side, in another unit": third("2", price=3, factor="2", unit="2/3"),
    "prices of cliques and of a side, in another unit, a hair more": third("2000000001/1000000000", 3, "2", "2/3"),
    "a clique that is priced in vain": third("4"),
    "no prices of cliques": named({"numbers": [], "units": []}),
    "no prices of cliques, where none are needed": apart(
        KNOWN, ["prices", {**part("1"), "cliques": {"numbers": [], "units": []}}], than=2.5
    ),
    "a price that is missing": named({"numbers": [0], "units": []}),
    "a price too many": named({"numbers": [0], "units": [1, 0]}),
    "a clique that there is not": named({"numbers": [1], "units": [1]}),
    "a clique that there is not, beside one": named({"numbers": [0, 1], "units": [1, 0]}),
    "a clique before the first": named({"numbers": [-1], "units": [1]}),
    "a clique twice": named({"numbers": [0, 0], "units": [1, 0]}),
    "a price as text": named({"numbers": [0], "units": ["1"]}),
    "true is no price": named({"numbers": [0], "units": [True]}),
    "false is no clique": named({"numbers": [False], "units": [1]}),
    "null for prices": named(None),
    "a list for prices": named([[0, 1]]),
    "a field too few": named({"numbers": [0]}),
    "the other field too few": named({"units": [1]}),
    "no field": named({}),
    "a field too many": named({"numbers": [0], "units": [1], "cliques": [0]}),
    "the names of another field": named({"nodes": [0], "units": [1]}),
    "numbers for lists": named({"numbers": 0, "units": 1}),
    "in an empty box": two(
        APART, at_least(2.0), None,
        [["split", 0, -1], ["cliques", [9]], ["trees"], KNOWN, ["prices", shared(1)]], [4, 3],
    ),
    "in an empty box, and one node too few": two(
        APART, at_least(2.0), None, [["split", 0, -1], ["cliques"], KNOWN, ["prices", shared(1)]], [4, 3],
    ),
    "of a proof in columns": apart(
        than=2.0,
    ) | {"proof": {
        "rules": "oo", "places": [], "splits": [], "prune": [], "trees": [],
        "others": [KNOWN, ["prices", {**shared(1), "prices": {"nodes": [2], "units": [0]}}]],
    }},
}  # fmt: skip

NARROWED: dict[str, Any] = {
    "an axis": both([[1, [0, 4]]]),
    "an axis, by one index more": both([[1, [0, 3]]]),
    "an axis, to nothing near": both([[1, [0, 4]]], closer="10"),
    "the first axis": both([[0, [0, 5]]], rules=[["<", ["c", "5"], ["x", 0]]]),
    "the first axis, by one index more": both([[0, [0, 4]]], rules=[["<", ["c", "4"], ["x", 0]]]),
    "two axes": both([[0, [0, 5]], [1, [0, 4]]]),
    "two axes, the first by one index more": both([[0, [0, 4]], [1, [0, 4]]]),
    "two axes, the second by one index more": both([[0, [0, 5]], [1, [0, 3]]]),
    "two axes, and what is left of both": both(
        [[0, [0, 5]], [1, [0, 4]]], ["split", 0, 5], ["split", 1, 4], RULED, ["empty"], ["empty"]
    ),
    "two axes, of which one stays": both([[0, [-3, 10]], [1, [0, 4]]]),
    "no axis": both([], ["split", 1, 4], RULED, ["prices", DEAR], closer="7"),
    "nothing goes": both([[1, [0, 10]]], ["split", 1, 4], RULED, ["prices", DEAR], closer="7"),
    "all goes": both([[1, [3, 2]]], ["empty"], closer="7", rules=[]),
    "all goes, and is near enough": both([[1, [3, 2]]], ["empty"], closer="8"),
    "all goes, by a span elsewhere": both([[1, [11, 20]]], ["empty"], closer="7", rules=[]),
    "all goes on the first axis": both([[0, [5, 1]], [1, [0, 10]]], ["empty"], closer="7", rules=[]),
    "what stays is not what goes": both([[1, [5, 10]]], ["empty"], closer="9"),
    "a narrowed box is far": both([[0, [4, 10]], [1, [3, 10]]], ["distance"], closer="7", rules=[]),
    "a narrowed box is not far": both([[0, [4, 10]]], ["distance"], closer="7", rules=[]),
    "prices that are higher than the way": both([[1, [0, 4]]], parts=[part("5", [0, 2, 5], [1, 2, 4])], closer="11"),
    "one after the other": both(
        [[0, [4, 10]]], ["narrow", [[1, [0, 2]]], DEAR], ["trees", [1, 2]], parts=[DEAR], closer="7", rules=[]
    ),
    "not at once what goes one after the other": both(
        [[0, [4, 10]], [1, [0, 2]]], ["trees", [1, 2]], parts=[DEAR], closer="7", rules=[]
    ),
    "at once what goes by itself": both(
        [[0, [4, 10]], [1, [0, 4]]], ["narrow", [[1, [0, 2]]], DEAR], ["trees", [1, 2]], parts=[DEAR], closer="7",
        rules=[],
    ),
    "in a box of its own": two(
        BOTH, at_least(2.0), "9",
        [["split", 1, 6], ["narrow", [[1, [0, 4]]], WAYS], RULED, ["narrow", [[1, [5, 6]]], WAYS], ["empty"]],
        [3, 2], **TWO, **FROM_5,
    ),
    "axes in another order": both([[1, [0, 4]], [0, [0, 5]]]),
    "an axis twice": both([[1, [0, 5]], [1, [0, 4]]]),
    "an axis before the first": both([[-1, [0, 4]]]),
    "an axis that there is not": both([[1, [0, 4]], [2, [0, 4]]]),
    "true is no axis": both([[True, [0, 4]]]),
    "an axis as text": both([["1", [0, 4]]]),
    "an axis without a span": both([[1]]),
    "an axis with two spans": both([[1, [0, 4], [0, 4]]]),
    "an axis alone": both([1]),
    "a span without an end": both([[1, [0]]]),
    "a span as text": both([[1, ["0", 4]]]),
    "a mask for a grid": both([[1, 7]]),
    "an object for an axis": both([{"1": [0, 4]}]),
    "an object for the list": both({"1": [0, 4]}),
    "a number for the list": both(1),
    "null for the list": two(BOTH, at_least(2.0), "9", [["narrow", None, WAYS], RULED], [3, 2], **TWO, **FROM_5),
    "no field": both(None, parts=[]),
    "no list": both(None),
    "no part": both([[1, [0, 4]]], parts=[]),
    "a part too many": both([[1, [0, 4]]], parts=[WAYS, WAYS]),
    "no part, where nothing goes": both([], parts=[]),
    "a part that makes no sense, where nothing goes": both([], parts=[{**WAYS, "unit": "-1"}]),
    "a negative unit": both([[1, [0, 4]]], parts=[{**WAYS, "unit": "-1"}]),
    "a part in columns": both([[1, [0, 4]]], parts=[{**WAYS, "prices": {"nodes": [2, 3], "units": [4, 3]}}]),
    "a part in columns, a node too far": both(
        [[1, [0, 4]]], parts=[{**WAYS, "prices": {"nodes": [2, 4], "units": [4, 3]}}]
    ),
    "two parts of the goal": two(
        BOTH, [*at_least(2.0), *at_least(3.0)], "9", [["narrow", [[1, [0, 4]]], WAYS, WAYS], RULED],
        [3, 2], **TWO, **FROM_5,
    ),
    "two parts of the goal, of which the second is nearer": two(
        BOTH, [*at_least(2.0), *at_least(1.0)], "9", [["narrow", [[1, [0, 4]]], WAYS, WAYS], RULED],
        [3, 2], **TWO, **FROM_5,
    ),
    "two parts of the goal, of which the first is nearer": two(
        BOTH, [*at_least(1.0), *at_least(2.0)], "9", [["narrow", [[1, [0, 4]]], WAYS, WAYS], RULED],
        [3, 2], **TWO, **FROM_5,
    ),
    "one part of two": two(
        BOTH, [*at_least(1.0), *at_least(2.0)], "9", [["part", 1], ["narrow", [[1, [0, 4]]], WAYS], RULED, ["rule", 1]],
        [3, 2], **TWO, rules=[["<", ["c", "4"], ["x", 1]], ["<", ["c", "10"], ["x", 0]]],
    ),
    "a part that closes": two(
        BOTH, at_least(2.0), "5", [["split", 0, 4], RULED, ["narrow", [[1, [7, 7]]], part("0")], ["distance"]],
        [3, 2], **TWO, rules=[["<", ["c", "4"], ["x", 0]]],
    ),
    "a part that does not close": two(
        BOTH, at_least(2.0), "6", [["split", 0, 4], RULED, ["narrow", [[1, [7, 7]]], part("0")], ["distance"]],
        [3, 2], **TWO, rules=[["<", ["c", "4"], ["x", 0]]],
    ),
    "around the start": ball([3, 7]),
    "around the start, one index too few below": ball([4, 7]),
    "around the start, one index too few above": ball([3, 6]),
    "around the start, a hair too far": ball([3, 7], "3000000001/1000000000", **EXACT),
    "around the start, at the very distance": ball([3, 7], **EXACT),
    "levels": levels(0b011),
    "levels: one that is near goes": levels(0b101),
    "levels: one that is near, and one that is not": levels(0b001),
    "levels: as near as half": levels(0b001, "1/2"),
    "levels: nothing goes": levels(0b111, allowed=3),
    "levels: a mask of levels that there are not": levels(0b1011),
    "levels: a negative mask": levels(-1),
    "levels: a span for a mask": levels([0, 1]),
    "at no distance": nowhere([4, 10]),
    "at no distance: an index too few": nowhere([3, 10]),
    "at no distance: an index too many": nowhere([5, 10]),
    "at no distance: the other side": nowhere([0, 3]),
    "at no distance: without a price": nowhere([4, 10], price=0),
    "at no distance: without a multiplier": nowhere([4, 10], factor="0"),
    "a form": formed(0, "6"),
    "a form, a hair more": formed(0, "6000000001/1000000000"),
    "a form, on the second axis": formed(1, "6"),
    "a form, on the second axis, a hair more": formed(1, "6000000001/1000000000"),
    "a rule that two axes obey": ruled("6"),
    "a rule that two axes obey, and farther": ruled("7"),
    "a rule that two axes obey, half of it": ruled("5", multiplier="1/2"),
    "the largest change": largest("4"),
    "the largest change, and farther": largest("5"),
    "the largest change, half of it": largest("4", "1/2"),
    "with the price of a clique": two(
        THIRD, at_least(2.0), "5",
        [KNOWN, ["narrow", [[1, [0, 4]]], part("3", [2, 2, 3], cliques={"numbers": [0], "units": [3]})], RULED],
        [4, 3, 2], **FREE_X, **FROM_5,
    ),
    "with the price of a clique, and farther": two(
        THIRD, at_least(2.0), "6",
        [KNOWN, ["narrow", [[1, [0, 4]]], part("3", [2, 2, 3], cliques={"numbers": [0], "units": [3]})], RULED],
        [4, 3, 2], **FREE_X, **FROM_5,
    ),
    "cliques are known below": two(
        THIRD, at_least(2.0), "5",
        [
            KNOWN, ["narrow", [[1, [0, 4]]], part("3", [2, 2, 3], cliques={"numbers": [0], "units": [3]})],
            ["split", 1, 2], ["prices", part("5", cliques={"numbers": [0], "units": [5]})], RULED,
        ], [4, 3, 2], **FREE_X, **FROM_5,
    ),
    "in an empty box": two(
        BOTH, at_least(2.0), "9",
        [["split", 0, -1], ["narrow", [[7, [0, 1]]]], ["trees"], ["narrow", [[1, [0, 4]]], WAYS], RULED],
        [3, 2], **TWO, **FROM_5,
    ),
    "of a proof in columns": both([[1, [0, 4]]]) | {"proof": {
        "rules": "oo", "places": [], "splits": [], "prune": [], "trees": [],
        "others": [["narrow", [[1, [0, 4]]], {**WAYS, "prices": {"nodes": [2, 3], "units": [4, 3]}}], RULED],
    }},
}  # fmt: skip
