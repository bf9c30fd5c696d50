"""Vectors about distances with forms: what they add, and what multipliers make of them."""

from __future__ import annotations

from typing import Any

from tests.proofs.by_hand import AT_3, AT_LEAST_0, GOAL, LEVELS, LINE, TWO, at_least, dual, grid, network, number, two

WHOLE = 1 << 40
HAIR = "2000000001/1000000000"
SUM = network([[[1.0], [1.0]]], [[-4.0]])  # x + y >= 4
FROM_2 = network([[[1.0]]], [[-1.5]])


def formed(*forms: list[Any], **norm: str) -> dict[str, Any]:
    """A distance of forms, and of no norm but what is said."""
    return {"distance": {"alpha": "0", "beta": "0", "gamma": "0", **norm, "forms": list(forms)}}


HALF = formed(["1/2"])


def line(m: Any, closer: str | None = "2", proof: Any = None, **more: Any) -> Any:
    """x >= 4, at half of it: the far side of a split by multipliers."""
    given = {} if m is None else {"forms": m}
    nodes = proof or [["split", 0, 3], dual("100"), dual("0", **given)]
    return two(LINE, AT_LEAST_0, closer, nodes, [], **{**HALF, **more})


def tree(m: Any, closer: str | None = "2", unit: str = "1", price: int = 2, **more: Any) -> Any:
    """x >= 4 by a tree, at half of it, by a price of 2."""
    part = {"goal": ["2"], "largest": [], "unit": unit, "prices": [[0, 2, price]]}
    return two(
        AT_3, GOAL, closer, [["prices", {**part, **({} if m is None else {"forms": m})}]], [3], **{**HALF, **more}
    )


def level(entry: Any, start: int, closer: str, m: list[int], **more: Any) -> Any:
    """The last of three levels."""
    feature = {**LEVELS, "start": start}
    world = {"features": [feature], "columns": [[0, [number(x) for x in (0, 1, 2)], []]], **formed([entry])}
    return two(FROM_2, AT_LEAST_0, closer, [["split", 0, 3], dual("100"), dual("0", forms=m)], [], **{**world, **more})


def both(m: list[int], closer: str, forms: list[Any], *, goal: str = "1", **more: Any) -> Any:
    """Two features whose sum is 4 at least."""
    return two(SUM, AT_LEAST_0, closer, [dual(goal, forms=m)], [], **{**TWO, **formed(*forms), **more})


def witnessed(far: str, closer: str = "2", point: int = 4, **more: Any) -> Any:
    """With a point as its witness."""
    return tree([WHOLE], closer, **more) | {"witness": {"point": [point], "distance": far}}


def of_a_set(apart: str | None, **more: Any) -> Any:
    """No two points, since there is one alone."""
    said = two(LINE, AT_LEAST_0, None, [], [], **{"features": [grid(0, 4, 0)], **HALF, **more})["statement"]
    asked = {"count": 2, "features": False, "values": False, "apart": apart, "regions": [[[4, 4]]]}
    facts = [{"avoid": [{"box": [[4, 4]]}], "claim": {"anywhere": True}, "cuts": [],
              "proof": [["split", 0, 3], dual("100"), ["avoid", 0]]}]  # fmt: skip
    return {"mace_set": 1, "statement": said, "set": asked, "witness": None, "facts": facts}


MISSING = {"features": [grid(0, 10, 0, missing={"cost": "1", "allowed": False})]}
TREE_MISSING = {**MISSING, "columns": [[0, None, [], number(1e9)]]}
NEAR = {"avoid": [{"near": [9], "radius": "1/4"}]}
NO_FORM = {"distance": {"alpha": "0", "beta": "1", "gamma": "0", "forms": []}}
FORMS: dict[str, Any] = {
    "a form of a number": line([WHOLE]),
    "a form of a number, false by a hair": line([WHOLE], HAIR),
    "a form of a number, less a hair of its multiplier": line([WHOLE - 1]),
    "a multiplier above 1 by a hair": line([WHOLE + 1]),
    "a multiplier of -1": line([-WHOLE], **formed(["-1/2"])),
    "a multiplier below -1 by a hair": line([-WHOLE - 1], **formed(["-1/2"])),
    "a multiplier of the other sign": line([-WHOLE]),
    "no multipliers": line(None),
    "no multipliers are needed where nothing is": line(None, "0", [["distance"]]),
    "a box is far by its norm alone": line(
        None, "4", [["split", 0, 3], dual("100"), ["distance"]], **formed(["1"], beta="1")
    ),
    "a box is not far by its forms": line(None, "4", [["split", 0, 3], dual("100"), ["distance"]], **formed(["1"])),
    "a norm and a form": line([WHOLE], "6", **formed(["1/2"], beta="1")),
    "a norm and a form, false by a hair": line([WHOLE], "6000000001/1000000000", **formed(["1/2"], beta="1")),
    "below the start": two(
        network([[[-1.0]]], [[5.5]]), AT_LEAST_0, "2", [["split", 0, 5], dual("0", forms=[-WHOLE]), dual("100")], [],
        features=[grid(0, 10, 9)], **HALF,
    ),
    "below the start, false by a hair": two(
        network([[[-1.0]]], [[5.5]]), AT_LEAST_0, HAIR, [["split", 0, 5], dual("0", forms=[-WHOLE]), dual("100")], [],
        features=[grid(0, 10, 9)], **HALF,
    ),
    "in steps of a third": two(
        network([[[1.0]]], [[-4.1]]), AT_LEAST_0, "2166666666/1000000000",
        [["split", 0, 12], dual("100"), dual("0", forms=[WHOLE])], [], features=[grid(0, 30, 0, "1/3")], **HALF,
    ),
    "in steps of a third, false by a hair": two(
        network([[[1.0]]], [[-4.1]]), AT_LEAST_0, "2166666667/1000000000",
        [["split", 0, 12], dual("100"), dual("0", forms=[WHOLE])], [], features=[grid(0, 30, 0, "1/3")], **HALF,
    ),
    "the lower end of a span": line(
        [-WHOLE], "1/2", [["split", 0, 3], dual("100"), dual("0", forms=[-WHOLE])], **formed(["-1/8"])
    ),
    "the upper end of a span": line(
        [WHOLE], "1/2", [["split", 0, 3], dual("100"), dual("0", forms=[-WHOLE])], **formed(["1/8"])
    ),
    "a form of levels": level(["0", "1", "3"], 0, "3", [WHOLE]),
    "a form of levels, false by a hair": level(["0", "1", "3"], 0, "3000000001/1000000000", [WHOLE]),
    "a form of levels from another start": level(["5", "1", "3"], 1, "2", [WHOLE]),
    "a form of levels from another start, false by a hair": level(["5", "1", "3"], 1, HAIR, [WHOLE]),
    "the least of two levels": two(
        network([[[1.0]]], [[-0.5]]), AT_LEAST_0, "1", [["split", 0, 1], dual("100"), dual("0", forms=[WHOLE])], [],
        features=[LEVELS], columns=[[0, [number(x) for x in (0, 1, 2)], []]], **formed([["0", "3", "1"]]),
    ),
    "the least of two levels, false by a hair": two(
        network([[[1.0]]], [[-0.5]]), AT_LEAST_0, "1000000001/1000000000",
        [["split", 0, 1], dual("100"), dual("0", forms=[WHOLE])], [],
        features=[LEVELS], columns=[[0, [number(x) for x in (0, 1, 2)], []]], **formed([["0", "3", "1"]]),
    ),
    "one number of a level too few": level(["0", "1"], 0, "3", [WHOLE]),
    "a number for levels": level("1", 0, "3", [WHOLE]),
    "levels for a number": line([WHOLE], **formed([["1/2"]])),
    "two forms of two features": both([WHOLE, WHOLE], "3999/1000", [["1", "0"], ["0", "1"]]),
    "two forms of two features, too much": both([WHOLE, WHOLE], "4001/1000", [["1", "0"], ["0", "1"]]),
    "a form in which features make up for each other": both([WHOLE], "1/1000", [["1", "-1"]], goal="1/4"),
    "two forms of opposite signs": both([WHOLE, 0], "3999/1000", [["1", "1"], ["1", "-1"]]),
    "two forms of opposite signs, with both": both([WHOLE, WHOLE // 2], "3999/1000", [["1", "1"], ["1", "-1"]]),
    "a form too few for its features": both([WHOLE], "1", [["1"]]),
    "two numbers too many for its features": both([WHOLE], "1", [["1", "1", "1", "1"]]),
    "a constant": line([WHOLE], "3", **formed(["1/2", "1"])),
    "a constant, false by a hair": line([WHOLE], "3000000001/1000000000", **formed(["1/2", "1"])),
    "a constant below 0": line([-WHOLE], "3", **formed(["1/2", "-8"])),
    "a constant below 0, false by a hair": line([-WHOLE], "3000000001/1000000000", **formed(["1/2", "-8"])),
    "a constant that the change makes up for": line([WHOLE], "1", **formed(["1/2", "-2"])),
    "a constant of its own denominator": line([WHOLE], "2142857142/1000000000", **formed(["1/2", "1/7"])),
    "a constant of its own denominator, false by a hair": line(
        [WHOLE], "2142857143/1000000000", **formed(["1/2", "1/7"])
    ),
    "a constant counts once": both([WHOLE], "5", [["1", "1", "1"]], goal="1"),
    "a constant counts once, false by a hair": both([WHOLE], "5000000001/1000000000", [["1", "1", "1"]], goal="1"),
    "two constants": both([WHOLE, -WHOLE], "27/2", [["1", "0", "3"], ["0", "1", "-43/2"]], goal="1/4"),
    "one constant, beside a form without": both([WHOLE, WHOLE], "9/2", [["1", "0", "1/2"], ["0", "1"]]),
    "one constant, beside a form without, false by a hair": both(
        [WHOLE, WHOLE], "4500000001/1000000000", [["1", "0", "1/2"], ["0", "1"]]
    ),
    "a constant of levels": level(["0", "1", "3"], 0, "4", [WHOLE], **formed([["0", "1", "3"], "1"])),
    "a constant of levels, false by a hair": level(
        ["0", "1", "3"], 0, "4000000001/1000000000", [WHOLE], **formed([["0", "1", "3"], "1"])
    ),
    "a number for a constant": line([WHOLE], **formed(["1/2", 1])),
    "a list for a constant": line([WHOLE], **formed(["1/2", ["1"]])),
    "prices and a constant": tree([WHOLE], "3", **formed(["1/2", "1"])),
    "prices and a constant, false by a hair": tree([WHOLE], "3000000001/1000000000", **formed(["1/2", "1"])),
    "prices and a constant of its own denominator": tree(
        [WHOLE], "2142857142/1000000000", **formed(["1/2", "1/7"])
    ),
    "a point by a form with a constant": witnessed("3", **formed(["1/2", "1"])),
    "a point by a form without its constant": witnessed("2", **formed(["1/2", "1"])),
    "a point by a form whose constant makes up for it": witnessed("1", "1", **formed(["1/2", "-3"])),
    "a multiplier too few": both([WHOLE], "3", [["1", "0"], ["0", "1"]]),
    "a multiplier too many": line([WHOLE, 0]),
    "a multiplier as text": line([str(WHOLE)]),
    "true is no multiplier": line([True], "1/1000"),
    "multipliers that are no list": line("m"),
    "forms that are no list": line([WHOLE], distance={"alpha": "0", "beta": "0", "gamma": "0", "forms": {}}),
    "a form that is no list": line([WHOLE], **formed("1/2")),  # type: ignore[arg-type]
    "a form that is a digit": line([WHOLE], **formed("2")),  # type: ignore[arg-type]
    "a factor that is a number": line([WHOLE], **formed([1])),
    "multipliers where the claim is not about distance": line(
        [0], None, [dual("1", forms=[0])], features=[grid(0, 3, 0)]
    ),
    "no multipliers where the claim is not about distance": line(
        None, None, [dual("1")], features=[grid(0, 3, 0)]
    ),
    "prices where the claim is not about distance": tree([0], None, features=[grid(0, 3, 0)]),
    "prices without multipliers where the claim is not about distance": tree(None, None, features=[grid(0, 3, 0)]),
    "no forms, and their multipliers": line([], "4", [["split", 0, 3], dual("100"), dual("0", forms=[])], **NO_FORM),
    "no forms beside what may be missing": tree(None, "2", price=2, **{**TREE_MISSING, **NO_FORM}),
    "forms beside what may be missing": tree([WHOLE], **TREE_MISSING),
    "forms beside a level that is missing": level(["0", "1", "3"], 0, "3", [WHOLE], features=[
        {**LEVELS, "missing": {"cost": "1"}}
    ]),
    "no forms beside a ball": line(None, "4", [["split", 0, 3], dual("100"), ["distance"]], **{**NO_FORM, **NEAR}),
    "forms beside a ball": line([WHOLE], **NEAR),
    "a point at the sum of its forms": witnessed("2"),
    "a point at another distance": witnessed("4"),
    "a point that is nearer than the claim": witnessed("2", "5/2"),
    "a point beyond the claim": witnessed("5/2", point=5),
    "a point by a norm and a form": witnessed("6", "2", **formed(["1/2"], beta="1")),
    "a point by two forms": both([WHOLE, 0], "3", [["1", "1"], ["1", "-1"]])
    | {"witness": {"point": [1, 4], "distance": "8"}},
    "a point by a form of levels": level(["5", "1", "3"], 1, "2", [WHOLE])
    | {"witness": {"point": [2], "distance": "2"}},
    "prices and a form": tree([WHOLE]),
    "prices and a form, false by a hair": tree([WHOLE], HAIR),
    "prices and a form of another unit": tree([WHOLE], unit="2/3", price=3),
    "prices and a form, without its multiplier": tree(None),
    "prices that fall short by a hair of the multiplier": tree([WHOLE - 1]),
    "prices, a norm and a form": tree([WHOLE], "2", **formed(["1/4"], beta="1/4")),
    "prices, a norm and a form, false by a hair": tree([WHOLE], HAIR, **formed(["1/4"], beta="1/4")),
    "prices and a form: a distance that no norm has": tree(
        [WHOLE], "19/10", unit="19/20", price=2, **formed(["19/40"])
    ),
    "prices of nothing, and a claim of 0": tree([WHOLE], "0"),
    "a set": of_a_set(None),
    "a set without forms whose answers are apart": of_a_set("1/4", **NO_FORM),
    "a set with forms whose answers are apart": of_a_set("1/4"),
    "floats": two(
        LINE, at_least(0.0), "19999/10000", [dual("1/2", forms=[WHOLE])], [],
        features=[grid(0, 0x4024000000000000, 0, grid="float64")], **HALF,
    ),
    "floats, false by a hair": two(
        LINE, at_least(0.0), "20001/10000", [dual("1/2", forms=[WHOLE])], [],
        features=[grid(0, 0x4024000000000000, 0, grid="float64")], **HALF,
    ),
}  # fmt: skip
