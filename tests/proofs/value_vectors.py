"""Vectors about what numbers come out: rules, roundings, columns, distances, regions, each to a hair."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from tests.proofs import enumeration
from tests.proofs.by_hand import GOAL, LEVELS, at_least, forest, grid, number, two
from tests.proofs.shape_vectors import certificate_of_rule, put

HAIR = Fraction(1, 10**9)
TOP = number(1e300)

# --- rules -----------------------------------------------------------------------------------------------------------

X, Y, LEVEL, OTHER, TWO_TO_3, ONE_TO_2, AT_2 = (["x", j] for j in range(7))
WORLD = {
    "features": [
        grid(4, 10, 4), grid(-3, 2, 0), {**LEVELS, "count": 4, "allowed": 0b1010, "start": 1},
        {**LEVELS, "count": 4, "allowed": 0b0101, "start": 2}, grid(2, 3, 2), grid(1, 2, 1), grid(2, 2, 2),
        grid(1, 2, 1, "1/2"), grid(0, 2, 0, extra="1/2"),
    ],
    "columns": [],
}  # fmt: skip


def c(number_: Fraction | int | str) -> list[Any]:
    return ["c", str(number_)]


# An expression, and the least and the greatest of its values.
RANGES: dict[str, tuple[Any, str, str]] = {
    "x": (X, "4", "10"),
    "levels": (LEVEL, "1", "3"),
    "a step": (["x", 7], "1/2", "1"),
    "an extra value": (["x", 8], "0", "1"),
    "a sum": (["+", X, c("1/2"), Y], "3/2", "25/2"),
    "a difference": (["-", X, Y], "2", "13"),
    "a negative": (["neg", X], "-10", "-4"),
    "a multiple": (["*", "3/2", X], "6", "15"),
    "a negative multiple": (["*", "-2", Y], "-4", "6"),
    "a size, above": (["abs", X], "4", "10"),
    "a size, below": (["abs", ["neg", X]], "4", "10"),
    "a size, more below": (["abs", Y], "0", "3"),
    "a size, more above": (["abs", ["neg", Y]], "0", "3"),
    "a size around 0": (["abs", ["-", ["x", 8], c("1/2")]], "0", "1/2"),
    "a minimum": (["min", c(7), X, c(8)], "4", "7"),
    "a maximum": (["max", X, c(7), c(6)], "7", "10"),
}
TRUE, FALSE = ["true"], ["false"]
# Conditions that hold nowhere, and the same but for a hair: they hold somewhere.
PAIRS: list[tuple[Any, Any]] = [
    (["<", X, c(4)], ["<", X, c(4 + HAIR)]),
    (["<", c(10), X], ["<", c(10 - HAIR), X]),
    (["not", ["<", X, c(10 + HAIR)]], ["not", ["<", X, c(10)]]),
    (["not", ["<", c(4 - HAIR), X]], ["not", ["<", c(4), X]]),
    (["<=", X, c(4 - HAIR)], ["<=", X, c(4)]),
    (["<=", c(10 + HAIR), X], ["<=", c(10), X]),
    (["not", ["<=", X, c(10)]], ["not", ["<=", X, c(10 - HAIR)]]),
    (["not", ["<=", c(4), X]], ["not", ["<=", c(4 + HAIR), X]]),
    (["==", X, c(10 + HAIR)], ["==", X, c(10)]),
    (["==", c(4 - HAIR), X], ["==", c(4), X]),
    (["==", X, c(4 - HAIR)], ["==", X, c(4)]),
    (["==", c(10 + HAIR), X], ["==", c(10), X]),
    (["!=", AT_2, c(2)], ["!=", AT_2, c(2 + HAIR)]),
    (["!=", c(2), AT_2], ["!=", c(2 - HAIR), AT_2]),
    (["not", ["==", AT_2, c(2)]], ["not", ["==", AT_2, c(3)]]),
    (["not", ["!=", AT_2, c(3)]], ["not", ["!=", AT_2, c(2)]]),
    (["!=", c(2), c(2)], ["!=", TWO_TO_3, c(2)]),
    (["not", ["==", AT_2, AT_2]], ["not", ["==", c(2), ONE_TO_2]]),
    (["not", ["==", c(3), c(3)]], ["not", ["==", TWO_TO_3, AT_2]]),
    (["!=", c("4/2"), c(2)], ["!=", ONE_TO_2, TWO_TO_3]),
    (["==", X, TWO_TO_3], ["==", TWO_TO_3, ONE_TO_2]),
    (["==", TWO_TO_3, X], ["==", ONE_TO_2, TWO_TO_3]),
    (["==", LEVEL, c(2)], ["==", LEVEL, c(3)]),
    (["==", c(2), LEVEL], ["==", c(1), LEVEL]),
    (["==", LEVEL, OTHER], ["!=", LEVEL, OTHER]),
    (["==", OTHER, LEVEL], ["==", LEVEL, LEVEL]),
    (["==", LEVEL, AT_2], ["==", LEVEL, TWO_TO_3]),
    (["==", AT_2, LEVEL], ["==", ONE_TO_2, LEVEL]),
    (["not", ["!=", OTHER, LEVEL]], ["not", ["==", OTHER, c(2)]]),
    (["==", ["+", LEVEL, c(0)], c("1/2")], ["==", ["+", LEVEL, c(0)], c(2)]),
    (["and", TRUE, FALSE], ["and", TRUE, TRUE]),
    (["and", FALSE, TRUE], ["and"]),
    (["not", ["and"]], ["not", ["and", TRUE, FALSE]]),
    (["not", ["and", TRUE, TRUE]], ["not", ["and", FALSE, TRUE]]),
    (["or", FALSE, FALSE], ["or", FALSE, TRUE]),
    (["or"], ["or", TRUE, FALSE]),
    (["not", ["or", TRUE, FALSE]], ["not", ["or"]]),
    (["not", ["or", FALSE, TRUE]], ["not", ["or", FALSE, FALSE]]),
    (["not", TRUE], TRUE),
    (FALSE, ["not", FALSE]),
    (["not", ["not", FALSE]], ["not", ["not", TRUE]]),
]


def rules() -> Iterator[tuple[str, Any]]:
    """That a rule leaves no point: those that do in one certificate, each that does not by itself."""
    nowhere = [["or", ["<", made, c(low)], ["<", c(high), made]] for made, low, high in RANGES.values()]
    yield "no expression leaves its range", certificate_of_rule(["or", *nowhere], **WORLD)
    for name, (made, low, high) in RANGES.items():
        yield f"{name}: the least value is taken", certificate_of_rule(["<=", made, c(low)], **WORLD)
        yield f"{name}: the greatest value is taken", certificate_of_rule(["<=", c(high), made], **WORLD)
    yield "conditions that hold nowhere", certificate_of_rule(["or", *(one for one, _ in PAIRS)], **WORLD)
    for _, rule in PAIRS:
        yield f"{' '.join(map(str, rule))} holds somewhere", certificate_of_rule(rule, **WORLD)
    yield "what is wide may be equal: by intervals nobody can tell", certificate_of_rule(["!=", X, X], **WORLD)
    yield "rule 0 of two", {**certificate_of_rule(FALSE, TRUE, **WORLD), "proof": [["rule", 0]]}
    for k in (-1, 2, True):
        yield f"rule {k} of two", {**certificate_of_rule(FALSE, FALSE, **WORLD), "proof": [["rule", k]]}


# --- roundings -------------------------------------------------------------------------------------------------------

SUMS = [  # ties, halves, and what lies just beside them; small, subnormal, negative
    (1.0, 2.0**-53), (1.0 + 2.0**-52, 2.0**-53), (1.0, 2.0**-53 + 2.0**-80), (-1.0, -(2.0**-53)), (-1.0, 3 * 2.0**-53),
    (0.1, 0.2), (1.0, -1.0), (2.0**-1074, 2.0**-1074), (2.0**-1022, -(2.0**-1074)), (1.0, 2.0**-24),
    (1.0 + 2.0**-23, 2.0**-24),
    (0.1, 0.7), (2.0**-149, 2.0**-149), (2.0**-150, 0.0), (2.0**-150 * 1.5, 0.0), (2.0**-126, -(2.0**-149)),
    (-0.1, 0.3),
    (1e10, 1.0), (-(2.0**-1074) * 3, 2.0**-1074), (5.0, 0.0), (7.0, 2.0**-50), (-7.0, 0.0),
    (2.0**-140 * 1.1, 2.0**-140),
    ((2**53 - 1) * 2.0**-1074, (2**53 - 2) * 2.0**-1074),
    (1.0 - 2.0**-53, 2.0**-54), (1.0 - 2.0**-24, 2.0**-25),
]  # fmt: skip


def exactly(score: int, x: float) -> list[Any]:
    """Two parts of a goal of which neither holds if and only if a score is x: above it, below it."""
    return [[[score, None, number(x), True]], [[None, score, number(-x), True]]]


def sums() -> Iterator[tuple[str, Any]]:
    """The float sums and quotients of a model are those of the processor."""
    for dtype in ("float64", "float32"):
        kind = np.dtype(dtype).type
        for divide in (1, 2, 3):
            with np.errstate(all="ignore"):
                found = [float((kind(a) + kind(b)) / kind(divide)) for a, b in SUMS]
            model = forest([[a for a, _ in SUMS]], [[b for _, b in SUMS]], dtype=dtype, divide=divide)
            goal = [part for k, x in enumerate(found) for part in exactly(k, x)]
            yield f"sums of {dtype} by {divide}", two(model, goal, None, [["cell"]], [])
            if divide < 3:
                for k in (0, 4, 5, 8, 12):
                    same = at_least(found[k])
                    model = forest([[SUMS[k][0]]], [[SUMS[k][1]]], dtype=dtype, divide=divide)
                    yield f"the sum {k} of {dtype} by {divide} is as large", two(model, same, None, [["cell"]], [])


def pinned(j: int, index: int, x: float, falling: bool) -> list[tuple[float, int]]:
    """Two tests, x and the float before it, with their cuts, where the column has x at an index alone."""
    before = math.nextafter(x, -math.inf)
    return [(x, index - 1 if falling else index), (before, index if falling else index - 1)]


def shown(features: list[Any], columns: list[Any], found: list[tuple[int, int, float]], **more: Any) -> Any:
    """That columns have these floats at these indices, (column, index, float): by the cuts of tests beside them."""
    tests = []
    for j, index, x in found:
        odd = sum(float.fromhex(y) < 0 for name, y in columns[j][2] if name in ("mul", "div")) % 2 == 1
        tests += [(j, at, cut) for at, cut in pinned(j, index, x, odd)]
    tests = list({(j, at): (j, at, cut) for j, at, cut in tests}.values())
    model = forest(*([[0.0], [0.0]] for _ in tests), at=[at for _, at, _ in tests], **more)
    for made, (j, _, _) in zip(model["trees"], tests, strict=True):
        made["column"][0] = j
    return two(model, GOAL, None, [["trees"]], [cut for _, _, cut in tests], features=features, columns=columns)


CHAINS: list[list[tuple[str, float]]] = [
    [("add", 0.1)], [("sub", 0.3)], [("mul", 0.1)], [("div", 0.3)], [("mul", -0.7)], [("div", -0.7)],
    [("sub", 0.3), ("div", 0.7), ("add", -0.1), ("mul", 3.3)], [("mul", -0.1), ("div", -0.3), ("sub", 0.7)],
    [("add", -1.7), ("sub", -2.5), ("mul", 2.0)], [("div", -1.3), ("add", 5.0)], [("add", 2.5e-17)],
]  # fmt: skip


def after(x: float, chain: list[tuple[str, float]]) -> float:
    for name, y in chain:
        x = {"add": x + y, "sub": x - y, "mul": x * y, "div": x / y}[name]
    return x


def columns() -> Iterator[tuple[str, Any]]:
    """The floats that a model is given."""
    tenths = grid(-7, 13, 0, "1/10")
    made = [[0, None, [[name, number(y)] for name, y in chain]] for chain in ([], *CHAINS)]
    found = [
        (k, i, after(float(Fraction(i, 10)), chain)) for k,
        chain in enumerate(([], *CHAINS)) for i in (-7, -1, 0, 1, 3, 13)
        if not (k == len(CHAINS) and i)
    ]  # fmt: skip
    found = [(k, i, x) for k, i, x in found if -7 < i < 13]
    yield "floats after chains of operations", shown([tenths], made, found)
    wrong = shown([tenths], made, found)
    for k in range(0, len(found), 5):
        yield f"floats after chains, cut {k} too high", put(wrong, ("cuts", k), wrong["cuts"][k] + 1)
        yield f"floats after chains, cut {k} too low", put(wrong, ("cuts", k), wrong["cuts"][k] - 1)
    extra = grid(-3, 5, 0, "1/3", extra="1/2")
    places = [enumeration.value(extra, i) for i in range(-3, 6)]
    yield (
        "floats of an extra value",
        shown([extra], [[0, None, []]], [(0, i, float(x)) for i, x in zip(range(-2, 5), places[1:-1], strict=True)]),
    )
    whole = grid(-3, 5, 0, extra="-2")
    yield (
        "floats of an extra value that is a step as well",
        shown([whole], [[0, None, []]], [(0, i, float(enumeration.value(whole, i))) for i in (0, 1, 2, 3)]),
    )
    for name, code, kind in (("float64", "<d", "<q"), ("float32", "<f", "<i")):
        one, least = (
            struct.unpack(kind, struct.pack(code, 1.0))[0],
            struct.unpack(kind, struct.pack(code, 2.0**-126))[0],
        )
        for rank, what in (
            (0, "zero"),
            (one, "one"),
            (least, "the least normal one"),
            (2 * least, "twice the least normal one"),
            (3 * least, "four times the least normal one"),
        ):
            near = grid(rank - 4, rank + 4, rank, grid=name, scale="1/1000000")
            at = [(0, i, float(enumeration.value(near, i))) for i in range(rank - 3, rank + 4)]
            yield f"floats of {name} near {what}", shown([near], [[0, None, []]], at)
        near = grid(-one - 4, -one + 4, -one, grid=name)
        at = [(0, i, float(enumeration.value(near, i))) for i in range(-one - 3, -one + 4)]
        yield f"floats of {name} near minus one", shown([near], [[0, None, []]], at)
    tiny = grid(-4, 4, 0, grid="float64")
    divided = [[0, None, [["div", number(2.0**-1074)]]]]
    yield "floats divided by the smallest", shown([tiny], divided, [(0, i, float(i)) for i in range(-3, 4)])
    thrice = [[0, None, [["mul", number(-1.0)]] * 3]]
    yield (
        "a column that falls three times is not cut before its start",
        two(forest([[1.0], [0.0]], at=[-7.0]), GOAL, None, [["trees"]], [-1], columns=thrice),
    )
    large = grid(2**60 - 3, 2**60 + 2**37 + 3, 2**60)
    odd = 2**60 + 2**36 + 1
    once = [0, None, "float32"]
    tests = [(float(2**60), odd - 1), (float(2**60 + 2**37), 2**60 + 2**37 + 3)]
    model = forest(*([[0.0], [0.0]] for _ in tests), at=[at for at, _ in tests], cast="float32")
    yield (
        "rounded once to float32",
        two(model, GOAL, None, [["trees"]], [cut for _, cut in tests], features=[large], columns=[once]),
    )
    for chain, feature in (
        ([["mul", number(1e308)]], grid(0, 20, 0)), ([["mul", number(-1e308)]], grid(0, 20, 0)),
        ([["add", number(1.7e308)], ["add", number(1.7e308)], ["mul", number(0.0)]], grid(0, 20, 0)),
        ([["add", number(-1.7e308)], ["add", number(-1.7e308)], ["mul", number(0.0)]], grid(0, 20, 0)),
        ([["mul", number(1e308)], ["div", number(1e9)]], grid(-20, 0, 0)), ([], grid(0, 1, 0, str(2**1024))),
        ([], grid(0, 1, 0, str(2**1024 - 2**970))),
    ):  # fmt: skip
        chained = [[0, None, chain]]
        yield (
            f"a column that overflows: {chain} {feature['step'][:9]} {feature['lower']}",
            two(forest([[0.0]]), GOAL, None, [["trees"]], [], features=[feature], columns=chained),
        )
    for chain, feature in (
        ([["mul", number(8.9e306)]], grid(-20, 20, 0)),
        ([], grid(-1, 1, 0, str(2**1024 - 2**970 - 1))),
    ):
        yield (
            f"a column that hardly does not overflow: {chain}",
            two(forest([[0.0]]), GOAL, None, [["trees"]], [], features=[feature], columns=[[0, None, chain]]),
        )
    lacks = grid(0, 5, 0, missing={"cost": "1", "allowed": True})
    for chain, absent in (
        ([], 5.0), ([], math.nextafter(5.0, 0)), ([["mul", number(-2.0)]], -10.0),
        ([["mul", number(-2.0)]], math.nextafter(-10.0, 0)), ([["div", number(-1.0)]], 6.0),
        ([["add", number(-9.0)], ["mul", number(0.0)]], 0.0), ([["sub", number(-9.0)]], 14.0),
    ):  # fmt: skip
        model = forest([[0.0], [0.0]], at=[absent])
        cut = 4 if chain and chain[0][0] == "mul" else 6
        yield (
            f"missing at {absent} after {chain}",
            two(model, GOAL, None, [["trees"]], [cut], features=[lacks], columns=[[0, None, chain, number(absent)]]),
        )


# --- distances and regions -------------------------------------------------------------------------------------------

LACKING = {"missing": {"cost": "5/2", "allowed": True}}
MEASURED: dict[str, tuple[dict[str, Any], list[int]]] = {
    "a grid": (grid(-5, 5, 1, "1/2", scale="3", weight="2/3"), [1, 4, -5]),
    "an extra value": (grid(-3, 5, 0, "1/3", extra="1/2", scale="2"), [0, 1, 2, 3, 5, -3]),
    "from an extra value": (grid(-3, 5, 2, "1/3", extra="1/2", scale="2"), [2, 1, 3, -2]),
    "a whole extra value": (grid(-4, 5, 0, extra="-2"), [-2, -1, -3, 1]),
    "float64": (grid(0x3FF0000000000000, 0x3FF0000000000009, 0x3FF0000000000001, grid="float64", scale="1/1024"),
                [0x3FF0000000000009, 0x3FF0000000000000]),
    "float32": (grid(-9, 0x3F800000, -2, grid="float32"), [-9, 5, 0, 0x3F800000]),
    "levels": ({**LEVELS, "count": 4, "allowed": 15, "ordered": False, "start": 2}, [2, 0, 3]),
    "ranks": ({**LEVELS, "count": 4, "allowed": 15, "start": 2, "weight": "1/7"}, [2, 0, 3]),
    "one rank": ({**LEVELS, "count": 1, "allowed": 1, "start": 0}, [0]),
    "two ranks and missing": ({**LEVELS, "count": 3, "missing": {"cost": "7/3"}}, [1, 2, 0]),
    "one rank and missing": ({**LEVELS, "count": 2, "allowed": 3, "missing": {"cost": "7/3"}}, [1]),
    "from missing": (grid(0, 5, 6, scale="7", **LACKING), [6, 0, 5]),
    "to missing": (grid(0, 5, 3, scale="7", weight="3", **LACKING), [6, 3, 0]),
    "missing for nothing": (grid(0, 5, 3, missing={"cost": "0", "allowed": True}), [6, 2]),
}  # fmt: skip
MIXES = [("1", "0", "0"), ("0", "1", "0"), ("0", "0", "1"), ("1/2", "3", "2/5")]


def columns_for(features: list[Any]) -> list[Any]:
    return [
        [j, [number(0)] * f["count"], []]
        if f["kind"] == "levels"
        else [j, None, [], *([TOP] if "missing" in f else [])]
        for j, f in enumerate(features)
    ]


def seen(features: list[Any], mix: tuple[str, ...], point: list[int]) -> Any:
    """That a point has its distance, where all have the goal."""
    world: dict[str, Any] = {
        "features": features, "columns": columns_for(features),
        "distance": dict(zip(("alpha", "beta", "gamma"), mix, strict=True)),
    }  # fmt: skip
    far = enumeration.distance(world, point, [f["start"] for f in features])
    return two(forest([[1.0]]), GOAL, "0", [["distance"]], [], {"point": point, "distance": str(far)}, **world)


def distances() -> Iterator[tuple[str, Any]]:
    """The distance of a witness, by each kind of feature alone and with another."""
    other = grid(0, 9, 0, scale="10")
    for name, (feature, indices) in MEASURED.items():
        for index in indices:
            for mix in MIXES if index == indices[-1] else MIXES[3:]:
                yield f"{name}: {index} by {'+'.join(mix)}", seen([feature, other], mix, [index, 3])


def levels() -> Iterator[tuple[str, Any]]:
    """Witnesses of models that are given levels, and statements without a feature."""
    world = {
        "features": [{**LEVELS, "count": 4, "allowed": 15}],
        "columns": [[0, [number(x) for x in (0, 9, 0, 9)], []]],
    }
    model = forest([[0.0], [1.0]], at=[3.0])
    for level, far in ((1, "1/3"), (2, "2/3"), (3, "1")):
        witness = {"point": [level], "distance": far}
        yield f"the level {level} of four", two(model, GOAL, "0", [["distance"]], [None], witness, **world)
    bare: dict[str, Any] = {"features": [], "columns": []}
    for claim in ("0", "1"):
        witness = {"point": [], "distance": "0"} if claim == "0" else None
        yield f"no feature, closer than {claim}", two(forest([[1.0]]), GOAL, claim, [["distance"]], [], witness, **bare)


def hollow(features: list[Any], region: Any, **more: Any) -> Any:
    """That all points lie in a region, where all have the goal."""
    return two(
        forest([[1.0]]),
        GOAL,
        None,
        [["avoid", 0]],
        [],
        features=features,
        columns=columns_for(features),
        avoid=[region],
        **more,
    )


def regions() -> Iterator[tuple[str, Any]]:
    """Regions that hold the box, or hold it but for one point."""
    a, b, three = grid(2, 4, 2), grid(1, 1, 1), {**LEVELS, "allowed": 5, "ordered": False}
    lacks = grid(2, 4, 2, missing={"cost": "5/2", "allowed": True})
    mixed = {"distance": {"alpha": "1", "beta": "1", "gamma": "1"}}
    for name, features, near, radius in (
        ("two axes", [a, grid(0, 3, 0)], [3, 1], "3"), ("levels", [three, b], [0, 1], "1"),
        ("levels from a third", [three, b], [1, 1], "1"),
        ("one end", [a, b], [2, 1], "2"), ("the other end", [a, b], [4, 1], "2"),
        ("what lacks", [lacks, b], [3, 1], "5/2"),
        ("from what lacks", [lacks, b], [5, 1], "5/2"), ("the last value", [lacks, b], [1, 1], "3"),
    ):  # fmt: skip
        yield f"a ball that ends at the box: {name}", hollow(features, {"near": near, "radius": radius})
        yield f"a ball around the box: {name}", hollow(features, {"near": near, "radius": str(Fraction(radius) + HAIR)})
    for name, features, near in (
        ("two axes", [a, grid(0, 3, 0)], [3, 1]),
        ("other two axes", [grid(0, 3, 0), a], [1, 3]),
    ):
        radius = Fraction(7)  # one for each change, 1 and 2 for the changes, and 2 for the larger of them
        yield (
            f"a ball of three parts that ends at the box: {name}",
            hollow(features, {"near": near, "radius": str(radius)}, **mixed),
        )
        yield (
            f"a ball of three parts around the box: {name}",
            hollow(features, {"near": near, "radius": str(radius + HAIR)}, **mixed),
        )
    yield "the point that all are", hollow([b, grid(5, 5, 5)], {"point": [1, 5]})
    yield "a point beside it, by the first", hollow([b, grid(5, 5, 5)], {"point": [2, 5]})
    yield "a point beside it, by the second", hollow([b, grid(5, 5, 5)], {"point": [1, 6]})
    yield "a point of two", hollow([b, grid(5, 6, 5)], {"point": [1, 5]})
    yield "the box that all are in", hollow([a, three], {"box": [[2, 4], 5]})
    yield "a box without the first index", hollow([a, three], {"box": [[3, 4], 5]})
    yield "a box without a level", hollow([a, three], {"box": [[2, 4], 6]})
    yield "the changes of all", hollow([grid(2, 4, 1), grid(2, 4, 5)], {"changes": [0, 1]})
    yield "the changes of all but one, below", hollow([grid(2, 4, 2), grid(2, 4, 5)], {"changes": [0, 1]})
    yield "the changes of all but one, above", hollow([grid(2, 4, 1), grid(2, 4, 4)], {"changes": [0, 1]})
    yield "no changes are of all", hollow([a, three], {"changes": []})
    for k in (-1, 1, True, "0"):
        yield f"region {k!r} of one", {**hollow([a], {"changes": []}), "proof": [["avoid", k]]}


def values() -> dict[str, dict[str, Any]]:
    """What each certificate is about -> what it shows -> the certificate."""
    return {
        "rule": dict(rules()), "cell": dict(sums()), "cuts": dict(columns()),
        "witness": dict([*distances(), *levels()]), "avoid": dict(regions()),
    }  # fmt: skip
