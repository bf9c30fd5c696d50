"""How far a float score may lie from the exact one is what soundness.md says, to a hair.

A margin that is a hair less is refused, one that is a hair more is accepted. Each case is one point. For the witness
`than` lies just below the exact score by the margin, for the proof just above.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mace.proofs.check import check
from mace.proofs.kernel.axes import read_axis
from mace.proofs.kernel.networks import ERROR, Network, domain
from mace.proofs.kernel.proof import read_model
from mace.proofs.kernel.statement import Column
from tests.proofs.by_hand import certificate, forest, grid, network, number

HAIR = Fraction(1, 10**9)
UNIT = {"float64": Fraction(1, 2**53), "float32": Fraction(1, 2**24)}
SMALLEST = {"float64": Fraction(1, 2**1022), "float32": Fraction(1, 2**126)}
SQUASHED = {"sigmoid": 16, "softmax": 32}
VAST = str(10**340)


def gamma(n: int, dtype: str) -> Fraction:
    return n * UNIT[dtype] / (1 - n * UNIT[dtype])


def exact(text: str) -> Fraction:
    return Fraction(float.fromhex(text))


def beside(x: Fraction, above: bool) -> float:
    """A double just above or below a number, by no more than a hair of it."""
    found = float(x)
    while (Fraction(found) <= x) if above else (Fraction(found) >= x):
        found = float(np.nextafter(found, np.inf if above else -np.inf))
    assert abs(Fraction(found) - x) <= abs(x) * HAIR
    return found


# --- networks --------------------------------------------------------------------------------------------------------


def network_score(model: Any, row: Sequence[Fraction], size: Sequence[Fraction], error: Sequence[Fraction]) -> Any:
    """Exact scores, and the bound on what each float score is off."""
    for layer in model["layers"]:
        rows = [[exact(w) for w in line] for line in layer["weights"]]
        n, values, sizes, errors = len(rows), [], [], []
        for o, bias in enumerate(map(exact, layer["bias"])):
            weights = [line[o] for line in rows]
            values.append(sum((w * x for w, x in zip(weights, row, strict=True)), bias))
            sizes.append(sum((abs(w) * s for w, s in zip(weights, size, strict=True)), abs(bias)))
            carried = sum(abs(w) * e for w, e in zip(weights, error, strict=True))
            reached = sum((abs(w) * (s + e) for w, s, e in zip(weights, size, error, strict=True)), abs(bias))
            dtype = model["dtype"]
            errors.append(carried + gamma(n + 1, dtype) * reached + (2 * n + 2) * SMALLEST[dtype])
        relu = layer["activation"] == "relu"
        row, size, error = [max(v, Fraction(0)) if relu else v for v in values], sizes, errors
    return row, error


def input_error(x: Fraction, chain: Sequence[Any], whole: bool, dtype: str, plain: bool) -> tuple[Fraction, Fraction]:
    """The largest exact value of a column at a value of its feature, and how far its float may be from that."""
    u, least = UNIT["float64"], Fraction(1, 2**1074)
    error = Fraction(0) if whole else abs(x) * u + least
    factor, shift = Fraction(1), Fraction(0)
    for name, operand in chain:
        y = exact(operand)
        if name in ("add", "sub"):
            shift += y if name == "add" else -y
        else:
            by = y if name == "mul" else 1 / y
            factor, shift, error = factor * by, shift * by, error * abs(by)
        error += (abs(factor * x) + abs(shift) + error) * u + least
    size = abs(factor * x) + abs(shift)
    if dtype == "float32" and not plain:
        error += (size + error) * UNIT["float32"] + Fraction(1, 2**149)
    return size, error


def chained(x: float, chain: Sequence[Any]) -> Fraction:
    for name, operand in chain:
        y = float.fromhex(operand)
        x = {"add": x + y, "sub": x - y, "mul": x * y, "div": x / y}[name]
    return Fraction(x)


TENTH = 0.1
SCALER = [["sub", number(2.7)], ["div", number(-1.3)], ["mul", number(0.7)], ["add", number(0.1)]]
LEVEL = {"name": "l", "weight": "1", "kind": "levels", "count": 2, "allowed": 2, "start": 1, "ordered": False}
# Name -> weights, biases, index of x, its step, chain, values of a second column by level, more of the model
NETWORKS: dict[str, tuple[Any, Any, int, str, Any, Any, dict[str, Any]]] = {
    "one product": ([[[TENTH]]], [[-0.3]], 3, "1", [], None, {}),
    "a step that is no float": ([[[TENTH]]], [[-0.03]], 3, "1/10", [], None, {}),
    "a step beyond what a float holds": ([[[TENTH]]], [[-9e15]], 9, str(10**16), [], None, {}),
    "a scaler": ([[[TENTH]]], [[0.006]], 3, "1", SCALER, None, {}),
    "a scaler of steps": ([[[TENTH]]], [[0.14]], 3, "1/10", SCALER, None, {}),
    "two layers": ([[[TENTH, -0.2]], [[0.7], [0.9]]], [[-0.2, 0.9], [-0.33]], 3, "1", [], None, {}),
    "three layers": ([[[TENTH], [0.3]], [[1.1]], [[0.3]]], [[0.2], [-0.1], [-0.2043]], 3, "1", [], 0.7, {}),
    "in float32": ([[[TENTH, 0.2]], [[0.7], [0.9]]], [[-0.2, 0.9], [-1.42]], 3, "1", [], None, {"dtype": "float32"}),
    "a large whole number in float32": ([[[1.0]]], [[-20000001.0]], 20000001, "1", [], None, {"dtype": "float32"}),
    "a step in float32": ([[[TENTH]]], [[-0.03]], 3, "1/10", [], None, {"dtype": "float32"}),
    "a scaler in float32": ([[[TENTH]]], [[0.006]], 3, "1", SCALER, None, {"dtype": "float32"}),
    "a level": ([[[TENTH], [0.3]]], [[-0.51]], 3, "1", [], 0.7, {}),
    "a level in float32": ([[[TENTH], [0.3]]], [[-0.51]], 3, "1", [], 0.7, {"dtype": "float32"}),
    "a float32 level": ([[[TENTH], [0.3]]], [[-0.525]], 3, "1", [], 0.75, {"dtype": "float32"}),
    "a grid of floats": ([[[TENTH]]], [[-0.3]], 0x4008000000000001, "float64", [], None, {}),
    "floats in float32": ([[[TENTH]]], [[-0.3]], 0x4008000000000001, "float64", [], None, {"dtype": "float32"}),
    "a grid of float32": ([[[TENTH]]], [[-0.3]], 0x40400001, "float32", [], None, {"dtype": "float32"}),
    "squashed": ([[[TENTH]]], [[-0.3]], 3, "1", [], None, {"rule": "sigmoid"}),
    "softmax in float32": ([[[TENTH]]], [[-0.3]], 3, "1", [], None, {"rule": "softmax", "dtype": "float32"}),
    "sums that underflow": ([[[0.0]], [[1.0]]], [[0.0], [0.0]], 3, "1", [], None, {}),
    "sums of two that underflow": ([[[0.0], [0.0]], [[1.0]]], [[0.0], [0.0]], 3, "1", [], 0.5, {}),
    "a cast that underflows": ([[[1.0]]], [[0.0]], 0, "float64", [], None, {"dtype": "float32"}),
    "a step that underflows": ([[[2.0**900]]], [[0.0]], 0, "1/10", [], None, {}),
    "a chain that underflows": ([[[2.0**900]]], [[0.0]], 0, "1", [["mul", number(1.0)]], None, {}),
    "sums that underflow in float32": ([[[0.0]], [[1.0]]], [[0.0], [0.0]], 3, "1", [], None, {"dtype": "float32"}),
}  # fmt: skip


def network_case(name: str, hair: Fraction) -> tuple[Any, Any]:
    """A certificate with a witness only, and one with a proof only, at the margin times 1 + hair."""
    weights, biases, index, step, chain, level, more = NETWORKS[name]
    model = network(weights, biases, **more)
    dtype = model["dtype"]
    known = step in UNIT  # a grid of floats: the model is given the very value
    x = (
        Fraction(float(np.array([index], np.uint64 if step == "float64" else np.uint32).view(step)[0]))
        if known
        else (index * Fraction(step))
    )
    whole = known or (Fraction(step).denominator == 1 and abs(x) <= 2**53)
    plain = step == "float32" or (not known and whole and x <= 2**24 and not chain)
    row, (size, error) = (
        [chained(float(x), chain)],
        input_error(x, chain, whole, dtype, plain),
    )
    given, sizes, errors = [Fraction(float(x))] if not chain else row, [size], [error]
    # The proof goes by exact values.
    proved = [x]
    for operation, operand in chain:
        y = exact(operand)
        proved = [{"add": v + y, "sub": v - y, "mul": v * y, "div": v / y}[operation] for v in proved]
    features = [grid(index, index, index, "1" if known else step, grid=step if known else "step")]
    columns: list[Any] = [[0, None, chain]]
    if level is not None:
        features.append(LEVEL)
        columns.append([1, [number(9.0), number(level)], []])
        held, loss = input_error(Fraction(level), [], True, dtype, float(np.float32(level)) == level)
        given, proved, sizes, errors = [*given, held], [*proved, held], [*sizes, held], [*errors, loss]
    squashed = SQUASHED.get(model["rule"], 0) * UNIT[dtype]
    world = {"features": features, "columns": columns}

    cast = [abs(v) * UNIT["float32"] + Fraction(1, 2**149) if dtype == "float32" else Fraction(0) for v in given]
    (score,), (margin,) = network_score(model, given, [abs(v) for v in given], cast)
    than = beside(score - (margin + squashed) * (1 + hair), hair < 0)
    point = {"point": [index] + [1] * (level is not None), "distance": "0"}
    seen = certificate(model, [[[0, None, number(than), False]]], "0", [["distance"]], point, **world)

    (score,), (margin,) = network_score(model, proved, sizes, errors)
    than = beside(score + (margin + squashed) * (1 + hair), hair > 0)
    dual = ["dual", {"goal": [VAST], "slopes": [], "phases": [], "largest": []}]
    return seen, certificate(model, [[[0, None, number(than), False]]], None, [dual], **world)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_margin_of_a_network(name: str) -> None:
    inside, outside = network_case(name, -HAIR * 4), network_case(name, HAIR * 4)
    for kind in (0, 1):
        assert not check(inside[kind]).accepted
        verdict = check(outside[kind])
        assert verdict.accepted, (kind, verdict.reason)


def test_the_margin_of_a_network_is_that_of_all_allowed_points() -> None:
    dual = ["dual", {"goal": [VAST], "slopes": [], "phases": [], "largest": []}]
    worlds: list[tuple[Any, Any, Any]] = [
        ([grid(-5, 3, 3)], [0, None, []], [["split", 0, 2], ["distance"], dual]),
        ([{**LEVEL, "allowed": 3}], [0, [number(-5.0), number(3.0)], []], [["split", 0, 2], dual, ["distance"]]),
    ]
    model = network([[[TENTH]]], [[-0.3]])
    _, (margin,) = network_score(model, [Fraction(3)], [Fraction(5)], [Fraction(0)])
    score = 3 * Fraction(TENTH) - Fraction(0.3)
    for features, column, proof in worlds:
        for hair in (-4 * HAIR, 4 * HAIR):
            goal = [[[0, None, number(beside(score + margin * (1 + hair), hair > 0)), False]]]
            verdict = check(certificate(model, goal, "1", proof, features=features, columns=[column]))
            assert verdict.accepted == (hair > 0), verdict.reason


# --- ensembles -------------------------------------------------------------------------------------------------------

MANY = 200
# Name -> leaves of trees with one leaf each, what the model has besides
ENSEMBLES: dict[str, tuple[list[float], dict[str, Any]]] = {
    "in any order": ([0.1] * 9 + [-0.9], {"ordered": False}),
    "in this order": ([0.1] * 9 + [-0.9], {}),
    "from a start": ([0.1] * 9, {"ordered": False, "start": [number(-0.9)]}),
    "in float32": ([0.1] * MANY + [-0.1 * MANY], {"ordered": False, "dtype": "float32"}),
    "exact sums": ([0.5, 0.25, -0.75], {"ordered": False, "error": number(2.0**-40)}),
    "an error": ([0.1] * 9 + [-0.9], {"error": number(1e-9)}),
    "an average": ([0.1] * 9 + [-0.9], {"ordered": False, "divide": 3}),
    "an average in float32": ([0.1] * MANY + [-0.1 * MANY], {"ordered": False, "divide": 3, "dtype": "float32"}),
    "an average of exact sums": ([0.5, 0.25, -0.75], {"ordered": False, "divide": 3}),
    "an average of two": ([0.1] * 9 + [-0.9], {"ordered": False, "divide": 2}),
    "an average by halves": ([0.1] * 9 + [-0.9], {"ordered": False, "divide": 4}),
    "an average that is off": ([0.5, 0.25, -0.75], {"ordered": False, "divide": 3, "error": number(1e-9)}),
    "an average that underflows": ([2.0**-1022, -(2.0**-1022)], {"ordered": False, "divide": 3}),
    "squashed": ([0.1] * 9 + [-0.9], {"rule": "sigmoid"}),
    "a squashed average": ([0.1] * 9 + [-0.9], {"rule": "softmax", "divide": 3, "error": number(1e-9)}),
    "squashed in float32": ([0.5, 0.25, -0.75], {"rule": "softmax", "dtype": "float32"}),
}


def stored(x: float, dtype: str) -> Fraction:
    return Fraction(float(np.dtype(dtype).type(x)))


def ensemble_margin(model: Any, leaves: list[Fraction], sides: int, off: Fraction) -> Fraction:
    """The margin in units of the score times divide; `off`: the part of a division."""
    dtype, divide = model["dtype"], model["divide"]
    start = sum(abs(exact(x)) for x in model["start"])
    terms = len(leaves) + (start > 0)
    size = sum(map(abs, leaves)) + start
    grain = max(v.denominator for v in [*leaves, *map(exact, model["start"])])
    summing = Fraction(0) if size * grain <= 1 / UNIT[dtype] else gamma(terms - 1, dtype) * size
    dividing = 2 * UNIT[dtype] * size * (1 + gamma(terms, dtype)) + 2 * divide * SMALLEST[dtype]
    squashed = SQUASHED.get(model["rule"], 0) * UNIT[dtype] * divide + exact(model["error"]) * sides
    return summing + dividing * off + squashed


def ensemble_case(name: str, hair: Fraction, strict: bool) -> list[Any]:
    """A certificate with a proof only, and where slack matters to a witness one with a witness only."""
    values, more = ENSEMBLES[name]
    model = forest(*([[v]] for v in values), **more)
    leaves = [stored(v, model["dtype"]) for v in values]
    score = sum(leaves, Fraction(0)) + exact(model["start"][0])
    margin = ensemble_margin(model, leaves, 1, Fraction(model["divide"] > 1))
    than = beside((score + margin * (1 + hair)) / model["divide"], hair > 0)
    found = [certificate(model, [[[0, None, number(than), strict]]], None, [["trees"]])]
    if not model["ordered"] or exact(model["error"]) or model["rule"] in SQUASHED:
        than = beside((score - margin * (1 + hair)) / model["divide"], hair < 0)
        point = {"point": [0], "distance": "0"}
        found.append(certificate(model, [[[0, None, number(than), strict]]], "0", [["distance"]], point))
    return found


@pytest.mark.parametrize("name", ENSEMBLES)
def test_the_margin_of_an_ensemble(name: str) -> None:
    for hair in (-4 * HAIR, 4 * HAIR):
        for strict in (False, True):
            for data in ensemble_case(name, hair, strict):
                assert check(data).accepted == (hair > 0), check(data).reason


def test_the_margin_of_an_ensemble_is_that_of_its_largest_leaves() -> None:
    model = forest(*([[[0.1]]] * 8), [[-0.8], [-5.0]], ordered=False)
    largest = [*([Fraction(0.1)] * 8), Fraction(-5)]
    score = sum(map(Fraction, [0.1] * 8 + [-0.8]), Fraction(0))
    for hair in (-4 * HAIR, 4 * HAIR):
        than = beside(score + ensemble_margin(model, largest, 1, Fraction(0)) * (1 + hair), hair > 0)
        verdict = check(certificate(model, [[[0, None, number(than), False]]], None, [["trees"]]))
        assert verdict.accepted == (hair > 0), verdict.reason


# Name -> leaves of the first score, and of the second; what the model has besides; whether a division is felt
PAIRS: dict[str, tuple[list[float], list[float], dict[str, Any], bool]] = {
    "two scores in any order": ([0.1] * 9, [0.3] * 3 + [0.0] * 6, {"ordered": False}, False),
    "two averages": ([0.1] * 9, [0.3] * 3 + [0.0] * 6, {"ordered": False, "divide": 3}, True),
    "two averages by halves": ([0.1] * 9, [0.3] * 3 + [0.0] * 6, {"ordered": False, "divide": 8}, True),
    "two averages that are off": ([0.1] * 9, [0.3] * 3 + [0.0] * 6, {"divide": 3, "error": number(1e-9)}, True),
}


def pair_case(name: str, hair: Fraction, strict: bool, proves: bool) -> Any:
    """A certificate with a proof only, or with a witness only."""
    first, second, more, felt = PAIRS[name]
    score = sum(map(Fraction, first)) - sum(map(Fraction, second))
    base = forest(*([[a, b]] for a, b in zip(first, second, strict=True)), start=[number(0)] * 2, **more)
    # Division can only make two scores equal: it matters to a tie that counts in a proof, or that must not be.
    off = Fraction(felt and strict != proves)
    values = [Fraction(a) + Fraction(b) for a, b in zip(first, second, strict=True)]
    margin = ensemble_margin(base, [*values, Fraction(0)], 2, off)
    wanted = margin * (1 + hair) * (-1 if proves else 1)
    # One more tree brings the difference of the two to the margin; it adds nothing to their size.
    tree = forest([[beside(wanted - score, (hair > 0) != proves), 0.0]])["trees"][0]
    model = {**base, "trees": [*base["trees"], tree]}
    goal = [[[0, 1, number(0), strict]]]
    if proves:
        return certificate(model, goal, None, [["trees"]])
    return certificate(model, goal, "0", [["distance"]], {"point": [0], "distance": "0"})


@pytest.mark.parametrize("name", PAIRS)
def test_the_margin_of_two_scores(name: str) -> None:
    for strict in (False, True):
        for proves in (False, True):
            for hair in (-4 * HAIR, 4 * HAIR):
                data = pair_case(name, hair, strict, proves)
                assert check(data).accepted == (hair > 0), (strict, proves, check(data).reason)


def test_exact_sums_that_a_division_keeps_apart_need_no_margin() -> None:
    for divide, apart in ((2, 2.0**-30), (3, 2.0**-30), (3, 2.0**-51)):
        model = forest([[1.0, 1.0 + apart]], divide=divide, ordered=False)
        kept = certificate(model, [[[0, 1, number(0), False]]], None, [["trees"]])
        assert check(kept).accepted == (apart > 2.0**-40 or divide == 2)
    # A quotient by two that underflows rounds after all.
    model = forest([[2.0**-1021, 2.0**-1021 * 3]], divide=4, ordered=False)
    assert not check(certificate(model, [[[0, 1, number(0), False]]], None, [["trees"]])).accepted


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_that_may_overflow_are_refused(dtype: str) -> None:
    large = float(np.finfo(dtype).max) * 0.49
    point = {"point": [0], "distance": "0"}
    for model, words in (
        (forest([[large]], [[large]], ordered=False, dtype=dtype), "sums may overflow"),
        (network([[[large]]], [[large]], dtype=dtype), "model: may overflow"),
    ):
        world = {"features": [grid(0, 1, 0)]}
        assert words in check(certificate(model, [[[0, None, number(-1), False]]], "0", [["trees"]], **world)).reason
        small = {**model, "trees": model["trees"][:1]} if model["kind"] == "ensemble" else None
        if small:
            assert check(certificate(small, [[[0, None, number(-1), False]]], "0", [["distance"]], point)).accepted


def test_the_margin_of_two_scores_of_a_network_is_that_of_both() -> None:
    world = {"features": [grid(3, 3, 3), LEVEL], "columns": [[0, None, []], [1, [number(9.0), number(1.0)], []]]}

    def model(difference: float) -> Any:
        return network([[[TENTH, TENTH], [difference, 0.0]]], [[0.7, 0.7]], rule="argmax")

    given = [Fraction(3), Fraction(1)]
    _, errors = network_score(model(0.0), given, given, [Fraction(0)] * 2)
    for hair in (-4 * HAIR, 4 * HAIR):
        margin = sum(errors) * (1 + hair)
        goal = [[[0, 1, number(0), False]]]
        point = {"point": [3, 1], "distance": "0"}
        seen = certificate(model(beside(margin, hair > 0)), goal, "0", [["distance"]], point, **world)
        assert check(seen).accepted == (hair > 0), check(seen).reason
        dual = ["dual", {"goal": [VAST], "slopes": [], "phases": [], "largest": []}]
        proof = certificate(model(beside(-margin, hair < 0)), goal, None, [dual], **world)
        assert check(proof).accepted == (hair > 0), check(proof).reason


@pytest.mark.parametrize("name", NETWORKS)
def test_errors_of_scores_are_rounded_up(name: str) -> None:
    data = network_case(name, 4 * HAIR)[0]
    model = read_model(data["statement"]["model"])
    assert isinstance(model, Network)
    size = [Fraction(7, 3)] * len(data["statement"]["columns"])
    moved = [Fraction(1, 10**20)] * len(size)
    _, expected = network_score(data["statement"]["model"], size, size, moved)
    for found, error in zip(model.errors(tuple(size), tuple(moved)), expected, strict=True):
        assert error <= Fraction(found, 1 << ERROR) <= error * (1 + Fraction(1, 2**100)) + Fraction(1, 2**1100)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_input_of_a_network_is_off_by_exactly_what_the_formula_says(name: str) -> None:
    _, _, index, step, chain, _, more = NETWORKS[name]
    known = step in UNIT
    feature, _ = read_axis(grid(index, index, index, "1" if known else step, grid=step if known else "step"), "")
    x = Fraction(feature.number(index), feature.unit)
    whole = known or (Fraction(step).denominator == 1 and abs(x) <= 2**53)
    plain = step == "float32" or (not known and whole and x <= 2**24 and not chain)
    dtype = more.get("dtype", "float64")
    assert domain(Column([0, None, chain], feature, ""), dtype) == input_error(x, chain, whole, dtype, plain)
