"""Vectors about how a certificate looks: absent fields, values of another type, spellings of numbers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from tests.proofs.by_hand import (
    AT_3,
    FREE,
    GOAL,
    LEVELS,
    PRICE,
    at_least,
    certificate,
    dual,
    forest,
    grid,
    network,
    number,
    tent,
    tree,
    two,
)  # fmt: skip

TOP = number(1e300)
NUMBERED = [number(x) for x in (0, 1, 2)]
# A number that must be given, and ranks of which one is "missing".
BOTH = {
    "features": [grid(0, 10, 0, missing={"cost": "20", "allowed": False}), {**LEVELS, "missing": {"cost": "1"}}],
    "columns": [[0, None, [], TOP], [1, NUMBERED, []]],
}
FOREST = two(
    AT_3, GOAL, "4", [["split", 0, 3], ["trees", [0, 2]], ["distance"]], [3], {"point": [4, 0], "distance": "4"},
    avoid=[{"near": [9, 1], "radius": "1"}], **BOTH,
)  # fmt: skip
PRICED = tree([["prices", {"goal": ["4"], "largest": [], "unit": "1", "prices": [[0, 2, 4]]}]], "4", rules=[])
NETWORK = tent([["bounds", [0, 0, FREE, PRICE]], dual("9/5")])
FLOATS = grid(0, 10, 0, grid="float64")


def put(data: Any, path: tuple[Any, ...], *value: Any) -> Any:
    """A copy with another value at a path, or without the field there."""
    found = copy.deepcopy(data)
    inner = found
    for key in path[:-1]:
        inner = inner[key]
    if value:
        inner[path[-1]] = value[0]
    else:
        del inner[path[-1]]
    return found


def fields(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every field of every object."""
    if isinstance(data, dict):
        for name, inner in data.items():
            yield (*path, name)
            yield from fields(inner, (*path, name))
    elif isinstance(data, list):
        for place, inner in enumerate(data):
            yield from fields(inner, (*path, place))


def absent() -> Iterator[tuple[str, Any]]:
    """Each field of each kind of object, left out."""
    known: set[Any] = set()
    for base, prefix in ((FOREST, ()), (NETWORK, ("statement", "model")), (NETWORK, ("proof",)), (PRICED, ("proof",))):
        inner = base
        for key in prefix:
            inner = inner[key]
        for rest in fields(inner):
            path = (*prefix, *rest)
            named = tuple(key for key in path if type(key) is str or path[1] == "features")
            what = (base is NETWORK, base is PRICED, named)
            if what not in known and path[-1] != "missing":
                known.add(what)
                kind = "network" if base is NETWORK else "prices" if base is PRICED else "trees"
                yield f"{kind}: without the field {' '.join(map(str, path))}", put(base, path)


def where(path: str) -> tuple[Any, ...]:
    return tuple(int(key) if key.isdigit() else key for key in path.split())


# Where -> what stands there, of a certificate that is accepted otherwise.
OTHER_FOREST: dict[str, list[Any]] = {
    "statement": [[]],
    "witness": [[], 0],
    "cuts": [{}, [{}]],
    "proof 0": [["split"], ["split", 0, None], [["split"], 0, 3], ["split", True, 3], ["split", -1, 3]],
    "proof 1": [["trees", [0, 2], []], ["trees", {}], ["trees", [-1, 2]], ["trees", ["0", 2]]],
    "statement features 0": [[], 0],
    "statement features 0 name": [3],
    "statement features 0 weight": ["-1", 1, True],
    "statement features 0 kind": ["levels", "grids"],
    "statement features 0 grid": ["float16", "float"],
    "statement features 0 step": ["0", "-1"],
    "statement features 0 extra": ["x"],
    "statement features 0 scale": ["0", "-1"],
    "statement features 0 start": ["0", True],
    "statement features 0 lower": ["0"],
    "statement features 0 upper": [False],
    "statement features 0 missing": [None, {}],
    "statement features 0 missing allowed": [0],
    "statement features 0 missing cost": ["-1", 1],
    "statement features 1 ordered": [1],
    "statement features 1 count": [0, True, "3"],
    "statement features 1 allowed": [8, 0, -1, True],
    "statement features 1 start": [3, -1],
    "statement columns": [{}, [[0, None, [], TOP]] * 3],
    "statement columns 0": [
        [], {}, [2, None, [], TOP], [-1, None, [], TOP], [0, NUMBERED, [], TOP], [0, None, []], [0, None],
        [0, None, [["pow", number(1)]], TOP], [0, None, [["div", number(0)]], TOP], [0, None, [["add"]], TOP],
        [0, None, [["add", 1]], TOP], [0, None, "float64", TOP], [0, None, [], TOP, TOP], [0, None, [], 1],
        [0, None, [], number(9.0)], [0, None, [], number(float.fromhex("0x1.3ffffffffffffp+3"))],
    ],
    "statement columns 1": [[1, None, []], [1, NUMBERED[:2], []], [1, NUMBERED, [["add", number(1)]]], [1, NUMBERED],
                            [1, [1, 2, 3], []]],
    "statement model kind": ["forest", None, ["ensemble"]],
    "statement model rule": ["max"],
    "statement model cast": ["float16"],
    "statement model test": [">"],
    "statement model dtype": ["double"],
    "statement model ordered": [1],
    "statement model error": [number(-1.0)],
    "statement model divide": [0, True, "1"],
    "statement model start": [{}, [0]],
    "statement model trees": [{}],
    "statement model trees 0 column 0": ["0", True, -2, 2],
    "statement model trees 0 column 1": [0],
    "statement model trees 0 column": [[], [0, -1]],
    "statement model trees 0 value": [[None, [number(0)]]],
    "statement model trees 0 threshold 0": [0, None],
    "statement model trees 0 threshold 1": [False, 1],
    "statement model trees 0 left 0": [0, -1, 3, 2, True],
    "statement model trees 0 left 1": [False, 2],
    "statement model trees 0 right 1": [1],
    "statement model trees 0 value 0": [[number(0)]],
    "statement model trees 0 value 1": [[number(0)] * 2, [], None],
    "statement goal": [{}, [{}]],
    "statement goal 0 0": [[1, None, number(1), False], [-1, None, number(1), False], [None, 1, number(1), False],
                           [0, 0, number(1), False], [0, None, number(1), 0], [0, None, number(1)],
                           [True, None, number(1), False],
                           [0, None, "1", False], [0, 1, number(0), False]],
    "statement distance alpha": ["-1"],
    "statement distance gamma": [0],
    "statement rules": [{}],
    "statement avoid": [
        {}, [0], [{}], [{"near": [9, 1]}], [{"radius": "1"}], [{"near": [9], "radius": "1"}],
        [{"near": [9, 3], "radius": "1"}],
        [{"point": [9]}], [{"point": [9, -1]}], [{"box": [[0, 10]]}], [{"box": [[0, 10], 8]}], [{"box": [[0], 7]}],
        [{"box": [[0, 10], [0, 1]]}], [{"changes": 0}], [{"changes": [2]}], [{"changes": [-1]}], [{"ball": [9, 1]}],
    ],
    "statement most_changes": ["1", True],
    "statement claim": [{"anywhere": False}, {"anywhere": 1}, {"closer_than": "4", "anywhere": False}],
    "witness point": [[4], [4, 0, 0], [4, 3], [4, -1], ["4", 0]],
    "witness distance": [4],
}  # fmt: skip
OTHER_NETWORK: dict[str, list[Any]] = {
    "statement model layers": [[]],
    "statement model layers 0 weights": [[], [[number(1)], [number(1)]], [[number(1), number(1)]], [[]]],
    "statement model layers 0 bias": [[]],
    "statement model layers 1 activation": ["relu"],
    "statement model layers 0 activation": ["tanh"],
    "statement model rule": ["max"],
    "statement columns": [[[0, None, []], [0, None, []]], [[0, None, "float32"]]],
    "statement features 0 missing": [{"cost": "1", "allowed": False}],
    "statement model layers 1 weights": [[[number(1)], [number(1)]], []],
    "cuts": [{}, [None]],
    "proof 0": [["bounds", {}], ["bounds", [-1, 0, FREE, PRICE]], ["bounds", [0, -1, FREE, PRICE]]],
    "proof 1 1 goal": [[], ["9/5", "0"], [2]],
    "proof 1 1 slopes": [[[0, 0]], [[1, 0, "1"]], [[0, 1, "1"]]],
    "proof 1 1 phases": [[[0, 0, "1"]]],
    "proof 1 1 largest": [[[1, "1"]], [[-1, "1"]], [[0, "-1"]]],
}
OTHER_PRICES: dict[str, list[Any]] = {
    "goal": [[], ["-1"], ["4", "0"]],
    "largest": [[[1, "1"]], [[-1, "1"]], [[0, "0"], [0, "0"]], [[0, "-1"]], [[0, "1"], [0, "1"]]],
    "unit": ["-1"],
    "prices": [[[1, 2, 4]], [[-1, 2, 4]], [[0, 3, 4]], [[0, 0, 4]], [[0, 2, 4], [0, 2, 0]], [[0, 2, 4], [0, 1, 0]],
               [[0, 1, -1], [0, 2, 4]], [[0, 2]]],
}  # fmt: skip


def others() -> Iterator[tuple[str, Any]]:
    """Values that a field does not take."""
    for kind, base, table in (("trees", FOREST, OTHER_FOREST), ("network", NETWORK, OTHER_NETWORK)):
        for path, values in table.items():
            for value in values:
                yield f"{kind}: {path}: {value!r}", put(base, where(path), value)
    for name, values in OTHER_PRICES.items():
        for value in values:
            yield f"prices: {name}: {value!r}", put(PRICED, ("proof", 0, 1, name), value)


# --- numbers ---------------------------------------------------------------------------------------------------------

SPELLED = {  # a threshold, and the last index up to it
    "0x1p-1022": 0, "0x0.0000000000001p-1022": 0, "0x0p+5": 0, "0x1.fffffffffffffp+1023": 10, "-0x1p+0": -1,
    "0x1.8p+0001": 3, "-0x0.8p-1022": -1,
}  # fmt: skip
NO_FLOATS = [
    "0x0.8p+0", "0x0.8p-1021", "0x1p-1023", "0x2p+0", "0x1.00000000000000p+0", "0x1.p+0", "0x1p0", "+0x1p+0", "0x1P+0",
    "0x1.Ap+0", "0x1p+0\n", " 0x1p+0", "0x1p+00000", "inf", "nan", "0x0p+1024", "0x0p-1023", 1, None, True,
]  # fmt: skip
NO_RATIONALS = [
    "1/-2", "+1", " 1", "1\n", "1/", "/2", "1/00", "", "1e3", "0x1", "1/2/3", "--1", "\u0661", "1_0", 4, None, ["4"],
]  # fmt: skip
LONG = "1" * 4000
SAME = [("-1/3", "-2/6"), ("007/0003", "14/6"), ("-0", "0/5"), (f"{LONG}/{LONG}", "1"), ("-4/4", "-1")]


def spelled() -> Iterator[tuple[str, Any]]:
    """Spellings of numbers: of those that are right, one certificate."""
    model = forest(*([[0.0], [0.0]] for _ in SPELLED), at=[0.0] * len(SPELLED))
    for made, text in zip(model["trees"], SPELLED, strict=True):
        made["threshold"][0] = text
    yield "floats of all sizes", two(model, at_least(1.0), None, [["trees"]], list(SPELLED.values()))
    for text in NO_FLOATS:
        yield f"{text!r} is no float", put(FOREST, where("statement model trees 0 threshold 0"), text)
    apart = ["or", *(["!=", ["c", one], ["c", other]] for one, other in SAME)]
    yield "rationals in other terms", certificate_of_rule(apart)
    for data in NO_RATIONALS:
        yield f"{data!r} is no rational", put(FOREST, ("statement", "claim", "closer_than"), data)


def certificate_of_rule(*rules: Any, **more: Any) -> Any:
    """That every point is against the last of some rules, where each has the goal."""
    data = certificate(forest([[1.0]]), GOAL, None, [["rule", len(rules) - 1]], rules=list(rules), **more)
    return {**data, "mace_certificate": 2, "cuts": []}


X, C = ["x", 0], ["c", "1"]
NO_RULES: list[Any] = [
    [], "x", {"x": 0}, None, [["false"]], ["x"], ["x", 0], C, ["<", ["x", 1], C], ["<", ["x", -1], C],
    ["<", ["x", True], C],
    ["<", ["x", 0, 0], C], ["<", ["c"], C], ["<", ["c", 1], C], ["<", ["c", "1", "1"], C], ["<", ["*", "2"], C],
    ["<", ["*", "2", X, X], C], ["<", ["*", X, "2"], C], ["<", ["-", X], C], ["<", ["-", X, X, X], C],
    ["<", ["neg"], C],
    ["<", ["neg", X, X], C], ["<", ["abs", X, X], C], ["<", ["+"], C], ["<", ["min"], C], ["<", ["max"], C], ["<", X],
    ["<", X, C, C], ["not"], ["not", ["true"], ["true"]], ["false", ["true"]], ["true", ["true"]], ["<", ["true"], C],
    ["and", X], ["or", ["true"], C], ["<", ["+", ["true"], X], C], ["pow", X, C], ["<", ["<", X, C], C], ["<=", X],
    ["==", X],
    ["!=", X, X, X], [0, X], ["not", C], [["not"], ["true"]], ["<", ["max", ["false"]], C],
    ["<", ["min", ["false"]], C],
    ["<", ["*", "2", ["true"]], C], ["<", ["abs", ["true"]], C], ["<", ["neg", ["true"]], C],
    ["<", ["-", ["true"], X], C],
    ["<=", ["true"], C], ["==", ["true"], C], ["!=", C, ["true"]],
]  # fmt: skip


def no_rules() -> Iterator[tuple[str, Any]]:
    """Expressions that say nothing, beside a rule that is false everywhere."""
    for rule in NO_RULES:
        yield f"{rule!r} is no rule", certificate_of_rule(rule, ["false"])
    lacking = {"features": [grid(0, 10, 0, missing={"cost": "1", "allowed": True})], "columns": [[0, None, [], TOP]]}
    yield "a rule that reads what may be missing", certificate_of_rule(["<", X, ["c", "-1"]], **lacking)
    given = {"features": [grid(0, 10, 0, missing={"cost": "1", "allowed": False})], "columns": [[0, None, [], TOP]]}
    yield "a rule that reads what must be given", certificate_of_rule(["<", X, ["c", "0"]], **given)


def ends_of_float_grids() -> Iterator[tuple[str, Any]]:
    """Indices of floats end at the largest finite one."""
    for name, last in (("float64", 0x7FEFFFFFFFFFFFFF), ("float32", 0x7F7FFFFF)):
        every = grid(-last, last, last, grid=name)
        model, goal = forest([[0.0]]), at_least(1.0)
        world: dict[str, Any] = {"features": [every], "avoid": [{"point": [-last]}]}
        yield f"all of {name}", two(model, goal, None, [["trees"]], [], **world)
        for field, value in (("lower", -last - 1), ("upper", last + 1), ("start", last + 1), ("start", -last - 1)):
            features = [{**every, field: value}]
            yield f"{name}: {field} beyond the floats", two(model, goal, None, [["trees"]], [], features=features)
        for beyond in (last + 1, -last - 1):
            region = {**world, "avoid": [{"point": [beyond]}]}
            yield f"{name}: the point {beyond}", two(model, goal, None, [["trees"]], [], **region)
        extra = {"features": [{**every, "extra": "1/3"}]}
        yield f"{name} with an extra value", two(model, goal, None, [["trees"]], [], **extra)
        lacks = {"missing": {"cost": "1", "allowed": True}}
        world = {
            "features": [{**every, **lacks, "start": last + 1}],
            "columns": [[0, None, [], number(1.7976931348623157e308)]],
        }
        yield f"{name}: missing above the last", two(model, goal, None, [["trees"]], [], **world)
        world = {"features": [{**every, **lacks}], "columns": [[0, None, "float32", TOP]]}
        yield f"{name} is not rounded once", two(model, goal, None, [["trees"]], [], **world)
    more = {"columns": [[0, None, "float32", TOP]]}
    yield (
        "a field after a number that is rounded once",
        two(forest([[0.0]]), at_least(1.0), None, [["trees"]], [], **more),
    )
    once = {"features": [FLOATS], "columns": [[0, None, "float32"]]}
    yield "floats are not rounded once to float32", two(forest([[0.0]]), at_least(1.0), None, [["trees"]], [], **once)


def others_of_models() -> Iterator[tuple[str, Any]]:
    """Models that are none."""
    more = copy.deepcopy(AT_3)
    for name, value in (("column", -1), ("threshold", 0), ("left", 0), ("right", 0), ("value", [number(5.0)])):
        more["trees"][0][name].append(value)
    yield "a node that nothing leads to", two(more, at_least(9.0), None, [["trees"]], [3])
    integers = put(AT_3, ("trees", 0, "threshold", 0), [3])
    yield "a list of integers for a grid", two(integers, at_least(9.0), None, [["trees"]], [None])
    levels = {"features": [LEVELS], "columns": [[0, NUMBERED, []]]}
    for listed, last in (([0, 1], 0), ([0, 2], 0), ([], 3), ([-1, 0, 1, 5], 0)):
        model = put(AT_3, ("trees", 0, "threshold", 0), listed)
        left = [k for k in range(3) if k in listed]
        proof: list[Any] = [["split", 0, sum(1 << k for k in left)], ["trees", [0, 2]], ["rule", 0]]
        held = [["or", ["false"], *(["==", X, ["c", str(k)]] for k in left)]]
        yield f"the levels {listed!r} go left", two(model, GOAL, None, proof, [None], rules=held, **levels)
        if last < 3:
            held = [["or", ["==", X, ["c", "1"]], ["==", X, ["c", "2"]]]]
            yield f"of the levels not all but {listed!r}", two(model, GOAL, None, proof, [None], rules=held, **levels)
    for text in ("0", "1", None, True):
        model = put(AT_3, ("trees", 0, "threshold", 0), [text])
        yield f"{text!r} is no level", two(model, at_least(9.0), None, [["trees"]], [None], **levels)
    empty: dict[str, Any] = {name: [] for name in ("column", "threshold", "left", "right", "value")}
    yield "a tree without nodes", two({**AT_3, "trees": [empty]}, at_least(9.0), None, [["trees"]], [])
    yield "a layer without outputs", two(network([[[]], []], [[], [1.0]]), at_least(2.0), None, [dual("1")], [])
    lacks = {"features": [grid(0, 10, 0, missing={"cost": "1", "allowed": False})], "columns": [[0, None, [], TOP]]}
    yield (
        "a network of what may be missing",
        two(NETWORK["statement"]["model"], at_least(99.0), None, [dual("1")], [], **lacks),
    )
    ranks = {"features": [{**LEVELS, "missing": {"cost": "1"}}], "columns": [[0, NUMBERED, []]]}
    yield (
        "a network of levels of which one is missing",
        two(
            NETWORK["statement"]["model"],
            at_least(99.0),
            None,
            [["bounds", [0, 0, FREE, FREE]], dual("1")],
            [],
            **ranks,
        ),
    )
    plain = copy.deepcopy(NETWORK["statement"]["model"])
    plain["layers"][0]["activation"] = "identity"
    for node in (["bounds", [0, 0, FREE, FREE]], ["phase", 0, 0]):
        yield f"{node[0]} of a layer without ReLUs", two(plain, at_least(99.0), None, [node, dual("1"), dual("1")], [])
    slope = dual("1", slopes=[[0, 0, "1"]])
    yield "a slope of a layer without ReLUs", two(plain, at_least(99.0), None, [slope], [])
    yield "no tree", two({**AT_3, "trees": []}, GOAL, None, [["trees"]], [])
    yield (
        "a network without columns",
        two(network([[]], [[1.0]]), at_least(2.0), None, [dual("1")], [], columns=[], features=[]),
    )
    yield "a network of zeros", two(network([[[0.0]]], [[0.0]]), at_least(1.0), None, [dual("1")], [])
    yield "two digits for a column", put(FOREST, ("statement", "columns", 0, 0), "0")


def shapes() -> dict[str, dict[str, Any]]:
    """What each certificate is about -> what it shows -> the certificate."""
    return {
        "statement": dict([*absent(), *others(), *spelled(), *ends_of_float_grids(), *others_of_models()]),
        "rule": dict(no_rules()),
    }
