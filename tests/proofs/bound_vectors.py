"""Vectors about bounds, each claim just below what the rule gives, and just above: margins, duals, bounds, prices.

Duals, bounds and prices are drawn by chance; of the seeds those are taken that tell mutants of the kernel apart. The
claim between the two is found by asking the checker, and the second checker has to agree about both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from mace.proofs.check import check
from mace.proofs.convert import elaborated
from tests.proofs.by_hand import LEVELS, certificate, dual, forest, grid, in_format_2, network, number, two
from tests.proofs.test_margins import (
    ENSEMBLES,
    HAIR,
    NETWORKS,
    PAIRS,
    beside,
    ensemble_case,
    ensemble_margin,
    network_case,
    pair_case,
)

ROOM = Fraction(1, 2**30)  # around a bound, so that checkers may round it
MOST = Fraction(64)


def twins(made: Callable[[str | None, float], Any]) -> list[tuple[str, Any]]:
    """A certificate with the largest claim that is accepted, but for a hair, and the same with a hair more.

    made: from a claim (None: `anywhere`) and the number that the goal asks for. Where the claim may be `anywhere`,
    it is the goal that is moved.
    """
    if check(made(None, 0.0)).accepted:
        low, high = -MOST, Fraction(0)
        if check(made(None, float(low))).accepted:
            return [("anywhere", made(None, 0.0))]
        while high - low > ROOM / 4:
            middle = (low + high) / 2
            low, high = (low, middle) if check(made(None, float(middle))).accepted else (middle, high)
        return [
            ("a goal above the bound", made(None, float(high + ROOM))),
            ("a goal below the bound", made(None, float(low - ROOM))),
        ]
    low, high = Fraction(0), MOST
    if check(made(str(high), 0.0)).accepted or not check(made("0", 0.0)).accepted:
        return []
    while high - low > ROOM / 4:
        middle = (low + high) / 2
        low, high = (middle, high) if check(made(str(middle), 0.0)).accepted else (low, middle)
    below, above = max(Fraction(0), low - ROOM), high + ROOM
    return [("below the bound", made(str(below), 0.0)), ("above the bound", made(str(above), 0.0))]


def pick(rng: np.random.Generator, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def feature(rng: np.random.Generator, lacks: bool) -> tuple[dict[str, Any], Any]:
    """A small feature, and what the model is given for it."""
    weight = pick(rng, "1", "1", "1/2", "2")
    if rng.random() < 0.3:
        levels = {**LEVELS, "count": 4, "allowed": pick(rng, 15, 11, 7), "start": pick(rng, 0, 1), "weight": weight}
        return {**levels, "ordered": bool(rng.random() < 0.5)}, [number(x) for x in rng.permutation([0, 1, 2.5, -3])]
    low = int(rng.integers(-4, 3))
    high = low + int(rng.integers(1, 9))
    start = int(rng.integers(low - 1, high + 2))
    step, extra = pick(rng, ("1", None), ("1", None), ("1/2", None), ("1", "1/3"), ("3/10", None))
    more: dict[str, Any] = {"extra": extra, "weight": weight, "scale": pick(rng, "1", "1", "3")}
    if lacks and rng.random() < 0.4:
        more["missing"] = {"cost": pick(rng, "0", "1/2", "3"), "allowed": bool(rng.random() < 0.7)}
        start = high + 1 if rng.random() < 0.3 else start
    return grid(low, high, start, step, **more), None


def world(rng: np.random.Generator, lacks: bool) -> dict[str, Any]:
    """One or two features, their columns, a distance."""
    drawn = [feature(rng, lacks) for _ in range(int(rng.integers(1, 3)))]
    columns: list[Any] = []
    for j, (entry, table) in enumerate(drawn):
        chain = (
            []
            if table or rng.random() < 0.6
            else [[pick(rng, "mul", "div", "add", "sub"), number(pick(rng, -2.0, 0.5))]]
        )
        falls = chain and chain[0][0] in ("mul", "div") and chain[0][1].startswith("-")
        columns.append([j, table, chain, *([number(-1e9 if falls else 1e9)] if "missing" in entry else [])])
    mix = pick(
        rng, ("0", "1", "0"), ("0", "1", "0"), ("1", "1/2", "0"), ("0", "1/2", "1"), ("0", "0", "1"), ("1", "0", "0")
    )
    norm = dict(zip(("alpha", "beta", "gamma"), mix, strict=True))
    return {"features": [entry for entry, _ in drawn], "columns": columns, "distance": norm}


def shares(rng: np.random.Generator, count: int) -> list[Any]:
    if rng.random() < 0.5:
        return []
    return [[j, pick(rng, "1/2", "1/3", "0")] for j in range(count)] if rng.random() < 0.5 else [[0, "1"]]


SLOPES = "0", "1/2", "1", "3/2", "3"
BELOW = "-1/2", "-1", "-3", "2"


def linear(seed: int, texts: Sequence[str] = SLOPES) -> Callable[[str | None, float], Any]:
    """A network, its proof by `bounds`, perhaps `near` and `phase`, and `dual` with such slopes."""
    rng = np.random.default_rng(seed)
    around = world(rng, lacks=False)
    sizes = [len(around["columns"]), *(int(rng.integers(1, 3)) for _ in range(int(rng.integers(0, 3)))), 1]
    values = [-2.0, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0]
    weights = [rng.choice(values, (a, b)).tolist() for a, b in pairwise(sizes)]
    biases = [rng.choice([-4.0, -2.0, -1.0, 0.0, 1.0, 3.0], b).tolist() for b in sizes[1:]]
    biases[-1] = [-float(rng.integers(1, 16))]
    more = {"dtype": pick(rng, "float64", "float32"), "rule": pick(rng, "value", "sigmoid", "softmax")}
    model = network(weights, biases, **more)
    hidden = [(k, n) for k, width in enumerate(sizes[1:-1]) for n in range(width)]
    if len(hidden) > 1 and rng.random() < 0.3:
        model["layers"][0]["activation"] = "identity"
        hidden = [(k, n) for k, n in hidden if k]
    theta = [pick(rng, number(0), number(0), number(1), number(0.5), None) for _ in range(2 * len(hidden))]
    bounds = (
        [["bounds", *([k, n, theta[2 * i], theta[2 * i + 1]] for i, (k, n) in enumerate(hidden))]] if hidden else []
    )
    slopes = [[k, n, pick(rng, *texts)] for k, n in hidden if rng.random() < 0.7]
    strict = bool(rng.random() < 0.3)
    part = {
        "goal": [pick(rng, "1", "1/2", "1/3", "1/4", "1/8", "1/16", "3")],
        "slopes": slopes,
        "phases": [],
        "largest": shares(rng, len(around["features"])),
    }
    proof: list[Any] = [*bounds, ["dual", part]]
    if hidden and rng.random() < 0.6:
        unit = hidden[int(rng.integers(len(hidden)))]
        halves = [{**part, "phases": [[*unit, pick(rng, "1/4", "1", "2", "1/2")]]} for _ in range(2)]
        proof = [*bounds, ["phase", *unit], *(n for half in halves for n in (*bounds[:1], ["dual", half]))]

    def made(claim: str | None, than: float) -> Any:
        return two(model, [[[0, None, number(than), strict]]], claim, proof, [], **around)

    return made


def priced(seed: int) -> Callable[[str | None, float], Any]:
    """A few trees, and their prices."""
    rng = np.random.default_rng(seed)
    around = world(rng, lacks=True)
    count, trees, nodes = int(rng.integers(1, 4)), [], []
    for t in range(count):
        tree: dict[str, Any] = {
            "column": [],
            "threshold": [],
            "left": [1, 2, 0, 0, 0],
            "right": [4, 3, 0, 0, 0],
            "value": [],
        }
        for n in range(5):
            c = int(rng.integers(len(around["columns"]))) if n < 2 else -1
            tree["column"].append(c)
            tree["value"].append(None if n < 2 else [number(float(rng.integers(-2, 5)) / 2)])
            entry = around["features"][c]
            by_level = entry["kind"] == "levels"
            x = (
                float(rng.integers(-3, 4)) + 0.25
                if by_level
                else float(rng.integers(2 * entry["lower"], 2 * entry["upper"] + 1)) / 2
            )
            tree["threshold"].append(number(x) if n < 2 else 0)
        trees.append(tree)
        nodes += [[t, n, int(rng.integers(0, 5))] for n in range(1, 5) if rng.random() < 0.6]
    ordered = bool(rng.random() < 0.5)
    model = {**forest([[0.0]]), "trees": trees, "ordered": ordered, "start": [number(pick(rng, 0.0, 0.5))]}
    model["divide"] = pick(rng, 1, 1, 2, 3)
    least, strict, second = float(rng.integers(1, 5)) / 2, bool(rng.random() < 0.3), bool(rng.random() < 0.3)
    factor = pick(rng, "1", "2", "1/3", "3/2")
    part = {"largest": shares(rng, len(around["features"])), "unit": pick(rng, "1", "1/2", "2/3"), "prices": nodes}
    parts = [{**part, "goal": [factor] * each} for each in ([1, 2] if second else [1])]
    proof: list[Any] = [["prices", *parts]]
    if rng.random() < 0.4:
        entry = around["features"][0]
        at = 5 if entry["kind"] == "levels" else (entry["lower"] + entry["upper"]) // 2
        proof = [["split", 0, at], *proof, *proof]

    def made(claim: str | None, than: float) -> Any:
        goal: list[Any] = [[[0, None, number(least + than), strict]]]
        if second:
            goal.append([[None, 0, number(3.0), False], *goal[0]])
        data = two(model, goal, claim, proof, [], **around)
        return {**data, "cuts": elaborated(data["statement"], data["proof"])[0]}

    return made


# Of the margins of networks those that tell mutants apart.
WITNESSES = ("sums that underflow", "in float32", "a cast that underflows", "a scaler in float32")
PROOFS = (
    "a cast that underflows", "a scaler", "a step beyond what a float holds", "a grid of floats",
    "a step that underflows",
    "a grid of float32", "a large whole number in float32", "a chain that underflows", "three layers",
)  # fmt: skip


def margins() -> Iterator[tuple[str, Any]]:
    """Margins of networks and ensembles that are a hair too small, and a hair larger."""
    for word, hair in (("too small", -4 * HAIR), ("large enough", 4 * HAIR)):
        for name in NETWORKS:
            witness, proof = network_case(name, hair)
            if name in WITNESSES:
                yield f"{name}: a witness whose margin is {word}", in_format_2(witness)
            if name in PROOFS:
                yield f"{name}: a proof whose margin is {word}", in_format_2(proof)
        for name in ENSEMBLES:
            for strict in (False, True):
                for k, data in enumerate(ensemble_case(name, hair, strict)):
                    yield (
                        f"{name}: a margin that is {word}, {'>' if strict else '>='}, {('proof', 'witness')[k]}",
                        in_format_2(data),
                    )
        for name in PAIRS:
            for strict in (False, True):
                for proves in (False, True):
                    what = f"{'>' if strict else '>='}, {'proof' if proves else 'witness'}"
                    yield f"{name}: a margin that is {word}, {what}", in_format_2(pair_case(name, hair, strict, proves))


DUALS = (0, 1, 2, 3, 5, 11, 17, 19, 22, 23, 26, 43, 55, 64, 90, 110, 150, 167)
DUALS_BELOW = (2, 3, 5, 9, 11, 17, 19, 22, 23, 26, 43, 55, 64, 90, 110, 150)  # with slopes below 0
PRICES = (0, 2, 4, 6, 8, 18, 22, 25, 42)


def apart() -> Iterator[tuple[str, Any]]:
    """Sums of leaves of which not all are as large, and quotients that keep sums apart or do not."""
    large = forest(*([[[0.1]]] * 8), [[-0.8], [-5.0]], ordered=False)
    small = sum(map(Fraction, [0.1] * 8 + [-0.8]), Fraction(0))
    size = [*([Fraction(0.1)] * 8), Fraction(-5)]
    for hair, word in ((-4 * HAIR, "too small"), (4 * HAIR, "large enough")):
        than = beside(small + ensemble_margin(large, size, 1, Fraction(0)) * (1 + hair), hair > 0)
        yield (
            f"a margin by the largest leaves that is {word}",
            in_format_2(certificate(large, at(than), None, [["trees"]])),
        )
    lead = [[[0, 1, number(0), False]]]
    for divide, more in ((2, 2.0**-30), (3, 2.0**-30), (3, 2.0**-51), (2, 2.0**-51)):
        model = forest([[1.0, 1.0 + more]], divide=divide, ordered=False)
        yield f"quotients by {divide} of what is {more} apart", two(model, lead, None, [["trees"]], [])
    model = forest([[0.1, 0.1 + 2.0**-40]], [[0.2, 0.2]], divide=3, ordered=False)
    yield "quotients of sums that are not exact", two(model, lead, None, [["trees"]], [])
    for power in (-1021, -1020, -1019):
        model = forest([[2.0**power, 2.0**power * 3]], divide=4, ordered=False)
        yield f"quotients of 2^{power} that may underflow", two(model, lead, None, [["trees"]], [])

    def led(_: str | None, more: float) -> Any:
        made = forest([[0.0, 2.0**55]], [[0.0, 40.0 + more]], ordered=False, start=[number(2.0**55), number(0)])
        return two(made, lead, None, [["trees"]], [])

    for word, data in twins(led):
        yield f"two scores, one from a start: {word}", data
    odds = forest([[2.0**-52]], rule="sigmoid")
    least = forest([[2.0**-1074]])
    wide = forest([[0.5]], error=number(0.25))
    for node in (["cell"], ["trees"]):
        for than in (2.0**-51, 2.0**-47):
            yield (
                f"{node[0]}: a squashed score above {than}",
                two(odds, [[[0, None, number(than), True]]], None, [node], []),
            )
        yield f"{node[0]}: the least that is above 0", two(least, [[[0, None, number(0), True]]], None, [node], [])
        half = forest([[0.5]])
        yield f"{node[0]}: above a half, or not", two(half, [[[0, None, number(0.5), True]]], None, [node], [])
        yield f"{node[0]}: above a quarter", two(half, [[[0, None, number(0.25), True]]], None, [node], [])
        yield f"{node[0]}: one of two comparisons", two(half, [[*at(0.75)[0], *at(0.25)[0]]], None, [node], [])
    yield "just above what the error reaches", two(wide, [[[0, None, number(0.75), True]]], None, [["trees"]], [])
    low = forest([[0.0], [1.0]], at=[-1.0])
    proof = [["split", 0, 0], ["trees", [0, 2]], ["rule", 0]]
    yield (
        "a cut after the first index, which fails",
        two(low, at(1.0), None, proof, [0], rules=[["<", ["x", 0], ["c", "1"]]]),
    )
    both = forest([[2.0**128, 0.0]], dtype="float32")
    yield "one of two leaves beyond float32", two(both, at(2.0), None, [["trees"]], [])


def measured() -> Iterator[tuple[str, Any]]:
    """Networks written by hand, each with what it bounds, to a hair."""
    free, one = number(0.0), number(1.0)
    cases: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
        "two scores": (
            network([[[1.0, -1.0]]], [[-40.0, 3.0]]),
            lambda than: [[[0, 1, number(0), False], [0, None, number(than), False]]],
            [["dual", {"goal": ["1", "1/2"], "slopes": [], "phases": [], "largest": []}]], {},
        ),
        "a score from above": (network([[[-2.0]]], [[40.0]]), lambda than: [[[None, 0, number(than), True]]],
            [dual("1")], {}),
        "as far below 0 as above": (
            network([[[1.0], [0.5]], [[1.0]], [[-1.0]]], [[-3.0], [1.0], [-9.0]]), at, [
                ["bounds", [0, 0, free, free]], ["bounds", [1, 0, free, free]], dual("1"),
            ], {"features": [grid(0, 4, 0), grid(0, 4, 0)], "columns": [[0, None, []], [1, None, []]]},
        ),
        "half of it below 0": (
            network([[[1.0]], [[-1.0]], [[1.0]]], [[-5.0], [2.0], [-9.0]]), at, [
                ["bounds", [0, 0, free, free]], ["bounds", [1, 0, free, free]], dual("1"),
            ], {},
        ),
        "a slope below 0 of what counts for the goal": (
            network([[[1.0]], [[1.0]]], [[-3.0], [-9.0]]), at,
            [["bounds", [0, 0, free, free]], dual("1", slopes=[[0, 0, "-1"]])], {},
        ),
        "a slope below 0 of what counts against the goal": (
            network([[[1.0]], [[-1.0]]], [[-3.0], [-5.0]]), at,
            [["bounds", [0, 0, free, free]], dual("2", slopes=[[0, 0, "-1"]])], {},
        ),
        "a slope below 0 of what is on": (
            network([[[1.0]], [[-1.0]]], [[1.0], [-5.0]]), at,
            [["bounds", [0, 0, free, free]], dual("1", slopes=[[0, 0, "-1"]])], {},
        ),
        "the phase of one of three": (
            network([[[1.0, 1.0, -1.0]], [[1.0], [2.0], [3.0]]], [[-2.0, -3.0, 4.0], [-50.0]]), at, [
                ["bounds", *([0, n, free, free] for n in range(3))], ["phase", 0, 0], *[dual("1")] * 2,
            ], {},
        ),
        "levels of which one is a float32": (
            network([[[1.0]]], [[-9.0]], dtype="float32"), at, [dual("1")],
            {"features": [LEVELS], "columns": [[0, [number(x) for x in (0.75, 0.7, 0.5)], []]]},
        ),
        "whole numbers up to 2^53": (
            network([[[1.0]]], [[-(2.0**53) - 40]]), at, [dual("1")], {"features": [grid(2**53, 2**53, 2**53)]},
        ),
        "whole numbers beyond 2^53": (
            network([[[1.0]]], [[-(2.0**53) - 40]]), at, [dual("1")],
            {"features": [grid(2**53 + 1, 2**53 + 1, 2**53 + 1)]},
        ),
        "whole numbers up to 2^24": (
            network([[[1.0]]], [[-(2.0**24) - 40]], dtype="float32"), at, [dual("1")],
            {"features": [grid(2**24, 2**24, 2**24)]},
        ),
        "whole numbers beyond 2^24": (
            network([[[1.0]]], [[-(2.0**24) - 40]], dtype="float32"), at, [dual("1")],
            {"features": [grid(2**24 + 2, 2**24 + 2, 2**24 + 2)]},
        ),
        "a price of the distance in one of three": (
            network([[[1.0], [1.0], [1.0]]], [[-30.0]]), at,
            [["dual", {"goal": ["1/3"], "slopes": [], "phases": [], "largest": [[j, "1/3"] for j in range(3)]}]],
            {
                "features": [grid(0, 10, 0)] * 3, "columns": [[j, None, []] for j in range(3)],
                "distance": {"alpha": "0", "beta": "0", "gamma": "1"},
            },
        ),
        "a bound above by a price": (
            network([[[1.0]], [[1.0]]], [[-4.0], [-9.0]]), at, [["bounds", [0, 0, free, one]], dual("1")], {},
        ),
    }  # fmt: skip
    for name, (model, goal, proof, around) in cases.items():

        def made(
            claim: str | None,
            than: float,
            model: Any = model,
            goal: Any = goal,
            proof: Any = proof,
            around: Any = around,
        ) -> Any:
            return two(model, goal(than), claim, proof, [], **around)

        for word, data in twins(made):
            yield f"{name}: {word}", data


def at(than: float) -> Any:
    return [[[0, None, number(than), False]]]


def closed() -> Iterator[tuple[str, Any]]:
    """Ends of intervals that meet, multipliers that say nothing, and scores that may overflow."""
    free = number(0.0)
    far = {"features": [grid(0, 10, 0, weight=str(10**60))], "distance": {"alpha": "0", "beta": "0", "gamma": "1"}}
    yield (
        "the largest change counts for nothing in a bound without a price",
        two(
            network([[[1.0]], [[1.0]]], [[-4.0], [-5.5]]),
            at(0.0),
            f"20{'0' * 60}",
            [["bounds", [0, 0, free, free]], dual(str(10**62))],
            [],
            **far,
        ),
    )
    small = network([[[2.0**-100]], [[2.0**100]]], [[-9 * 2.0**-100], [-0.5]])
    yield (
        "an interval that ends above 0 by the least",
        two(small, at(0.0), None, [["bounds", [0, 0, free, free]], dual("1")], []),
    )
    for bias, word in ((-10.0, "meet"), (-11.0, "cross")):
        model = network([[[1.0]], [[1.0]]], [[bias], [-9.0]])
        proof = [["bounds", [0, 0, number(0), number(0)]], ["phase", 0, 0], dual("1"), ["empty"]]
        yield f"the ends of an interval {word} at a phase", two(model, at(0.0), None, proof, [])
    model = network([[[1.0]], [[1.0]]], [[-10.0], [-9.0]])
    nodes = [["split", 0, 9], ["bounds", [0, 0, number(0), number(0)]], ["phase", 0, 0], dual("1"), ["empty"]]
    last = ["bounds", [0, 0, number(0), number(0)]]
    yield "an interval of one number is not empty", two(model, at(0.0), None, [*nodes, last, ["empty"]], [])
    yield (
        "multipliers that say nothing of what is no nearer than 0",
        two(network([[[1.0]]], [[1.0]]), at(0.0), "0", [dual("0")], []),
    )
    yield (
        "multipliers that say nothing of what is positive",
        two(network([[[1.0]]], [[1.0]]), at(0.0), None, [dual("0")], []),
    )
    for dtype, power in (("float64", 1022), ("float32", 126)):
        unit = 2.0**-53 if dtype == "float64" else 2.0**-24
        for share, word in (
            (1.0, "overflow"),
            (1 - unit, "overflow by its rounding"),
            (1 - 4 * unit, "hardly not overflow"),
        ):
            model = network([[[0.0]]], [[share * 2.0**power]], dtype=dtype)
            yield f"a score of {dtype} that may {word}", two(model, at(2.0 ** (power + 1)), None, [dual("1")], [])
            leaf = forest([[share * 2.0 ** (power + 1)]], dtype=dtype, ordered=False)
            yield f"a sum of {dtype} that may {word}", two(leaf, at(2.0 ** (power + 1)), None, [["trees"]], [])
    yield "a leaf beyond float32", two(forest([[2.0**128]], dtype="float32"), at(2.0), None, [["trees"]], [])
    yield "a leaf below float32", two(forest([[-(2.0**128)]], dtype="float32"), at(2.0), None, [["trees"]], [])


def drawn() -> Iterator[tuple[str, Any]]:
    below = partial(linear, texts=BELOW)
    for kind, make, seeds in (
        ("dual", linear, DUALS), ("dual below 0", below, DUALS_BELOW), ("prices", priced, PRICES),
    ):  # fmt: skip
        for seed in seeds:
            for word, data in twins(make(seed)):
                yield f"{kind} {seed}: {word}", data


def bounds() -> dict[str, dict[str, Any]]:
    """What each certificate is about -> what it shows -> the certificate."""
    return {"trees": dict([*margins(), *apart()]), "dual": dict([*drawn(), *measured(), *closed()])}
