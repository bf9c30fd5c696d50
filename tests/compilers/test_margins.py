"""Float scores lie within their margins, whatever the order of summation; decisions within the slack."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mace.base.exact import nearest, rank_to_float32, to_float32
from mace.compilers import read
from mace.errors import ModelError
from mace.tables.margins import (
    FEW_VALUES,
    _grain,
    compare_slack,
    exact_margin,
    exact_scores,
    network_error,
    possible,
    surely,
)
from mace.tables.table import HALF_OF_SIGMOID, Compare, Ensemble, Floats, Layer, Network, Tree, class_decision
from tests.compilers import cases

KINDS = ("halves", "fractions", "any", "mixed")


def leaf_values(rng: np.random.Generator, kind: str, size: tuple[int, int]) -> Floats:
    match kind:
        case "halves":
            return rng.integers(-8, 9, size) / 8.0
        case "fractions":
            counts = rng.integers(0, 6, size)
            return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        case "any":
            return rng.normal(size=size) * 10.0 ** rng.integers(-20, 5, size)
        case _:
            return np.where(rng.random(size) < 0.5, rng.integers(-3, 4, size), rng.normal(size=size))


def stump(values: Floats) -> Tree:
    """A tree that goes left where column 0 is <= 0; two leaves."""
    return Tree(
        np.array([0, -1, -1], np.int32), np.zeros(3), np.array([1, -1, -1], np.int32), np.array([2, -1, -1], np.int32),
        np.vstack([np.zeros((1, values.shape[1])), values]),
    )  # fmt: skip


@given(
    st.integers(0, 2**32),
    st.sampled_from(KINDS),
    st.integers(1, 12),
    st.booleans(),
    st.sampled_from(["float64", "float32"]),
)
@settings(max_examples=300)
def test_float_sums_of_trees_hold_only_if_possible_and_whenever_sure(seed, kind, trees, mean, dtype) -> None:
    rng = np.random.default_rng(seed)
    start = leaf_values(rng, kind, (1, 2))[0] * rng.integers(0, 2)
    stumps = tuple(stump(leaf_values(rng, kind, (2, 2))) for _ in range(trees))
    table = Ensemble(stumps, 1, start, "argmax", (0, 1), dtype=dtype, divide=trees if mean else 1)
    row = np.array([rng.normal()])
    exact = exact_scores(table, row)
    reached = [tree.value[table.leaf(tree, row)] for tree in table.trees]
    # A threshold at the score itself is where rounding shows.
    threshold = float(table.scores(row)[0])
    for compare in [
        *(Compare(1, 0, strict=strict) for strict in (False, True)),
        *(Compare(0, None, threshold, strict) for strict in (False, True)),
        *(Compare(None, 0, -threshold, strict) for strict in (False, True)),
    ]:
        margin, slack = exact_margin(table, compare, exact), compare_slack(table, compare)
        for _ in range(4):
            holds = compare.holds(table.total(reached))
            assert possible(compare, margin, slack) >= holds >= surely(compare, margin, slack)
            rng.shuffle(reached)


def ensemble(*values: list[list[float]], divide: int = 1) -> Ensemble:
    return Ensemble(tuple(stump(np.array(v)) for v in values), 1, np.zeros(2), "argmax", (0, 1), divide=divide)


def test_sums_that_no_format_can_round_have_no_slack() -> None:
    pure = ensemble([[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.5], [0.25, 0.75]], [[1.0, 0.0], [0.0, 1.0]], divide=3)
    assert [compare_slack(pure, c) for part in class_decision("argmax", 2, 1) for c in part] == [(0, 0)]
    assert compare_slack(ensemble([[0.1, 0.9], [0.3, 0.7]]), Compare(1, 0, strict=True)) == (0, 0)


def test_sums_that_may_round_have_a_small_slack() -> None:
    slack = compare_slack(
        ensemble([[0.1, 0.9], [0.3, 0.7]], [[0.2, 0.8], [0.3, 0.7]], divide=2), Compare(1, 0, strict=True)
    )
    assert 0 < slack.possible < slack.sure < Fraction(1, 10**14)


def test_sums_that_may_overflow_are_refused() -> None:
    with pytest.raises(ModelError, match="may overflow float64"):
        compare_slack(ensemble(*[[[1e308, 0.0], [0.0, 0.0]]] * 2), Compare(0, 1))
    with pytest.raises(ModelError, match="may overflow float64"):  # of both sides of one leaf
        compare_slack(ensemble([[1.5e308, 1.5e308], [0.0, 0.0]]), Compare(1, 0))


def a_network(seed: int, widths: list[int], kind: str = "any") -> Network:
    rng = np.random.default_rng(seed)
    layers = []
    for number, (fan_in, fan_out) in enumerate(itertools.pairwise(widths)):
        scale = 10.0 ** rng.integers(-3, 3, (fan_in, fan_out)) if kind == "any" else 1e-160
        weights = rng.normal(size=(fan_in, fan_out)) * scale
        last = number == len(widths) - 2
        layers.append(Layer(weights, rng.normal(size=fan_out) * (kind == "any"), "identity" if last else "relu"))
    return Network(tuple(layers), widths[0], "sigmoid", (0, 1))


def scores_in_some_order(network: Network, row: Floats, rng: np.random.Generator, fused: bool) -> Floats:
    """The network in doubles, each sum in a random order, with or without fused multiply-add."""
    values = row.tolist()
    for layer in network.layers:
        found = []
        for column, bias in zip(layer.weights.T.tolist(), layer.bias.tolist(), strict=True):
            terms = [(weight, value) for weight, value in zip(column, values, strict=True)]
            place = int(rng.integers(0, len(terms) + 1))
            rng.shuffle(terms)
            total = 0.0
            for number, (weight, value) in enumerate(terms):
                total = total + bias if number == place else total
                if fused:
                    total = nearest(Fraction(weight) * Fraction(value) + Fraction(total))
                else:
                    total = weight * value + total
            found.append(total + bias if place == len(terms) else total)
        values = [max(v, 0.0) for v in found] if layer.activation == "relu" else found
    return np.array(values)


@given(
    st.integers(0, 2**32),
    st.lists(st.integers(1, 9), min_size=2, max_size=4),
    st.booleans(),
    st.sampled_from(["any", "tiny"]),
)
@settings(max_examples=150)
def test_float_scores_of_networks_lie_within_the_error(seed, widths, fused, kind) -> None:
    rng = np.random.default_rng(seed)
    network = a_network(seed, widths, kind)
    row = rng.normal(size=widths[0]) * 10.0 ** rng.integers(-4, 4)
    error = network_error(network, [Fraction(abs(v)) for v in row.tolist()])
    exact = exact_scores(network, row)
    for scores in (network.scores(row), scores_in_some_order(network, row, rng, fused)):
        for score, truth, bound in zip(scores.tolist(), exact, error, strict=True):
            assert abs(Fraction(score) - truth) <= bound


def test_the_error_covers_products_that_underflow() -> None:
    network = Network((Layer(np.full((3, 1), 1e-170), np.zeros(1), "identity"),), 3, "positive", (0, 1))
    row = np.full(3, 1e-170)
    (error,), (truth,) = network_error(network, [Fraction(1e-170)] * 3), exact_scores(network, row)
    assert network.scores(row)[0] == 0 < truth <= error < Fraction(1, 2**1000)
    assert error >= 3 * Fraction(1, 2**1022)  # where a processor flushes subnormal numbers to zero


def test_the_error_of_a_network_is_small() -> None:
    network = a_network(0, [30, 100, 100, 1])
    scale = float(np.prod([np.abs(layer.weights).sum(axis=0).max() for layer in network.layers]))
    (error,) = network_error(network, [Fraction(1)] * 30)
    assert 0 < error < Fraction(scale) / 10**12


def test_the_error_covers_inputs_that_are_inexact_themselves() -> None:
    network = a_network(1, [2, 3, 1])
    row = [Fraction(1, 3), Fraction(-2, 7)]
    rounded = np.array([float(v) + 0.001 for v in row])
    layers = [[[Fraction(w) for w in line] for line in layer.weights.T.tolist()] for layer in network.layers]
    hidden = [
        max(sum((w * v for w, v in zip(line, row, strict=True)), Fraction(bias)), Fraction(0))
        for line, bias in zip(layers[0], network.layers[0].bias.tolist(), strict=True)
    ]
    truth = sum((w * v for w, v in zip(layers[1][0], hidden, strict=True)), Fraction(network.layers[1].bias[0]))
    (error,) = network_error(
        network, [Fraction(1)] * 2, [abs(Fraction(f) - v) for f, v in zip(rounded.tolist(), row, strict=True)]
    )
    assert abs(Fraction(float(network.scores(rounded)[0])) - truth) <= error


def test_scores_that_may_overflow_are_refused() -> None:
    with pytest.raises(ModelError, match="may overflow float64"):
        network_error(a_network(0, [3, 4, 1]), [Fraction(10) ** 308] * 3)


def test_a_network_without_bounds_has_no_margin() -> None:
    with pytest.raises(ModelError, match="needs a bound on every input column"):
        compare_slack(a_network(0, [3, 4, 1]), Compare(0, None))


def test_the_sigmoid_is_above_one_half_from_the_constant_on_and_within_the_slack_everywhere() -> None:
    from scipy.special import expit

    ranks = np.arange(-3000, 3000)
    near = (np.float64(HALF_OF_SIGMOID).view(np.int64) + ranks).view(np.float64)
    assert ((expit(near) > 0.5) == (near > HALF_OF_SIGMOID)).all()
    # Elsewhere: monotone enough that no score beyond the slack of 16 units is on the wrong side.
    wide = np.concatenate([sign * 2.0 ** np.linspace(-49, 9, 200_000) for sign in (-1, 1)])
    assert ((expit(wide) > 0.5) == (wide > 0)).all()
    small = np.concatenate([sign * 2.0 ** np.linspace(-1074, -53, 20_000) for sign in (-1, 1)])
    assert not (expit(small) > 0.5).any()


def test_the_sigmoid_of_float32_changes_within_the_slack() -> None:
    from scipy.special import expit

    unit = 2.0**-24
    near = np.array([rank_to_float32(rank) for rank in range(0x32000000, 0x36000000, 997)], dtype=np.float32)
    above = near[expit(near) > np.float32(0.5)].astype(np.float64)
    assert 0 < above.min() < 16 * unit
    assert (expit(near[near > 16 * unit]) > 0.5).all()
    assert not (expit(-near) > 0.5).any()


@pytest.mark.parametrize(("dtype", "unit"), [(np.float64, 2.0**-53), (np.float32, 2.0**-24)])
def test_softmax_ties_only_scores_within_the_slack(dtype, unit) -> None:
    from sklearn.neural_network._base import inplace_softmax

    rng = np.random.default_rng(0)
    scores = (rng.normal(size=(40_000, 3)) * 10.0 ** rng.integers(-9, 2, (40_000, 1))).astype(dtype)
    scores[:, 1] = scores[:, 0] + rng.integers(-60, 60, 40_000) * unit * 10.0 ** -rng.integers(0, 2, 40_000)
    squashed = scores.copy()
    inplace_softmax(squashed)
    first = np.take_along_axis(scores, squashed.argmax(axis=1)[:, None], axis=1)[:, 0]
    short = scores.max(axis=1).astype(np.float64) - first.astype(np.float64)
    assert (short > 0).any()  # such ties exist: the reason for rule "softmax"
    network = Network((Layer(np.eye(3), np.zeros(3), "identity"),), 3, "softmax", (0, 1, 2), dtype=dtype.__name__)
    for row, index in zip(scores[short > 0][:20], squashed.argmax(axis=1)[short > 0], strict=False):
        goal = class_decision("softmax", 3, int(index))
        assert cases.enclosure(network, goal, row.astype(np.float64), cases.bounds(row[None])) == (True, False)
    assert short.max() <= 32 * unit
    rest = np.sort(scores.astype(np.float64), axis=1)
    clear = rest[:, 2] - rest[:, 1] > 32 * unit
    assert (squashed.argmax(axis=1) == scores.argmax(axis=1))[clear].all()


def test_a_network_fitted_on_float32_has_the_margin_of_float32() -> None:
    wide, narrow = (read(cases.fitted(cases.relu_network, 2, dtype)) for dtype in ("float64", "float32"))
    assert isinstance(wide, Network)
    assert isinstance(narrow, Network)
    assert (wide.dtype, narrow.dtype) == ("float64", "float32")
    assert network_error(narrow, [Fraction(1)] * 5)[0] > 10**6 * network_error(wide, [Fraction(1)] * 5)[0]


def test_rounding_to_float32_agrees_with_numpy() -> None:
    values = np.random.default_rng(0).normal(size=1000) * 1e30
    assert [to_float32(v) for v in values.tolist()] == values.astype(np.float32).astype(np.float64).tolist()
    assert math.isinf(to_float32(1e39))


@pytest.mark.parametrize("tail", [[], [0.0], [0.75], [2.0**-60], [1e300, 2.0**-1074], [3.0 * 2.0**-1022]], ids=str)
@pytest.mark.parametrize("unit", [0.0, 1.0, 0.125, 8.0, 2.0**-1022, 2.0**-1074, 2.0**1000], ids=str)
def test_all_values_are_multiples_of_their_grain_and_of_none_that_is_larger(unit: float, tail: list[float]) -> None:
    few = np.random.default_rng(0).integers(-9, 10, FEW_VALUES + 50) * unit
    values = np.array([*few, *tail])
    grain = _grain(np.zeros(1), values)
    whole = [Fraction(value) for value in values.tolist() if value]
    if not whole:
        assert grain == 0
        return
    assert all((value / grain).denominator == 1 for value in whole)
    assert any((value / (2 * grain)).denominator != 1 for value in whole)
