"""Bounds over boxes hold for every point of the box, however a runtime rounds and adds."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from mace.base.deadline import NEVER, Deadline, TimeOverError
from mace.solve.splitting import chain as chains
from mace.solve.splitting import rows as rows_of_forms
from mace.solve.splitting import search as splitting
from mace.solve.splitting.attempts import Attempts
from mace.solve.splitting.bounds import back, bounded, greatest, steepest
from mace.solve.splitting.chain import Interval, chain_of
from mace.solve.splitting.climb import Wanted
from mace.solve.splitting.rows import Full
from mace.solve.splitting.search import search
from mace.solve.splitting.tuned import tuned
from mace.tables.table import Floats, Layer, Network


@pytest.fixture(params=["inputs", "phases"])
def phases(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether boxes are split along inputs, or into phases of units, as before many inputs."""
    monkeypatch.setattr(splitting, "MANY", 0 if request.param == "phases" else 32)


@pytest.fixture(params=["full", "sparse"])
def kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether stages keep only the weights that are not zero, however many these are."""
    if request.param == "sparse":
        monkeypatch.setattr(chains, "FEW", 0)
        monkeypatch.setattr(chains, "LEAST_SPARSE", 0)
    return request.param == "sparse"


def random_network(rng: np.random.Generator, dtype: str, scale: float = 1.0, zeros: float = 0.0) -> Network:
    """Dense layers with ReLUs or without, after a cast and a shift of every input, all weights in the dtype.

    zeros: the part of the weights that are zero.
    """
    sizes = [int(rng.integers(1, 5)), *rng.integers(1, 12, rng.integers(1, 5)).tolist(), 3]
    n = sizes[0]
    layers = [
        Layer(np.eye(n), np.zeros(n), "identity"),
        Layer(np.diag(rng.normal(size=n)), -rng.normal(size=n), "identity"),
    ]
    for k, (fan_in, units) in enumerate(itertools.pairwise(sizes)):
        last = k == len(sizes) - 2
        activation = "identity" if last or rng.random() < 0.2 else "relu"
        weights = rng.normal(size=(fan_in, units)) * scale
        if zeros:
            weights[rng.random(weights.shape) < zeros] = 0.0
        layers.append(Layer(weights, rng.normal(size=units), activation))  # type: ignore[arg-type]
    layers = [Layer(stored(one.weights, dtype), stored(one.bias, dtype), one.activation) for one in layers]
    return Network(tuple(layers), n, "value", (), dtype=dtype)  # type: ignore[arg-type]


def stored(values: Floats, dtype: str) -> Floats:
    """What a file of this precision holds of numbers."""
    return np.asarray(values.astype(dtype), dtype=np.float64)


def computed(network: Network, rows: Floats, rng: np.random.Generator) -> Floats:
    """The outputs, every product and sum rounded to the network's precision, the terms added in a random order."""
    values = rows.astype(network.dtype)
    for layer in network.layers:
        weights, bias = layer.weights.astype(network.dtype), layer.bias.astype(network.dtype)
        terms = np.concatenate(
            [values[:, :, None] * weights[None], np.broadcast_to(bias, (len(rows), 1, len(bias)))], 1
        )
        total = np.zeros((len(rows), len(bias)), dtype=network.dtype)
        for place in rng.permutation(terms.shape[1]):
            total = (total + terms[:, place]).astype(network.dtype)
        values = np.maximum(total, 0) if layer.activation == "relu" else total
    return values.astype(np.float64)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(15))
def test_bounds_hold_for_every_order_of_summation(seed: int, dtype: str, kept: bool) -> None:
    rng = np.random.default_rng(seed)
    network = random_network(rng, dtype, 10.0 ** rng.integers(-2, 3), 0.7 if kept else 0.0)
    chain = chain_of(network)
    assert all(stage.sparse == kept for stage in chain.stages)
    low = rng.normal(size=(4, network.columns)) * 10.0 ** rng.integers(-3, 3)
    high = low + rng.random(low.shape) * np.array([[1e-9], [1e-3], [0.3], [3.0]]) * np.abs(low)
    forms = rng.normal(size=(4, 3))
    ends = [chain.enter(Interval(a, b)) for a, b in zip(low, high, strict=True)]
    boxes = Interval(np.array([one.lower for one in ends]), np.array([one.upper for one in ends]))
    found = bounded(chain, boxes, None)
    assert found.sound.all()
    which = np.arange(4)
    most = greatest(back(chain, found.lines, Full(forms, which)), boxes, which)
    again = bounded(chain, boxes, found.units)  # as for a child that is the same box
    assert (
        greatest(back(chain, again.lines, Full(forms, which)), boxes, which) <= most + 1e-6 * np.abs(most) + 1e-9
    ).all()
    for k in range(4):
        rows = low[k] + rng.random((200, network.columns)) * (high[k] - low[k])
        rows[:64] = np.where(rng.random((64, network.columns)) < 0.5, low[k], high[k])
        rows = np.clip(rows, low[k], high[k])
        for _ in range(3):
            reached = [np.dot(forms[k].astype(np.longdouble), y) for y in computed(network, rows, rng)]
            assert max(reached) <= most[k]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(15))
def test_tuned_bounds_hold_where_the_chosen_phases_do(seed: int, dtype: str) -> None:
    """For every order of summation; the phases are those of one point, of half of the units."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, dtype, 10.0 ** rng.integers(-1, 2))
    chain = chain_of(network)
    low = rng.normal(size=network.columns)
    high = low + rng.random(network.columns)
    rows = low + rng.random((600, network.columns)) * (high - low)
    ends = chain.enter(Interval(low, high))
    boxes, none = Interval(ends.lower[None], ends.upper[None]), np.zeros(7, np.int64)
    units = bounded(chain, boxes, None).units
    kept, values = np.ones(len(rows), dtype=np.bool_), rows
    for layer in network.layers[: len(chain.first)]:
        values = values @ layer.weights + layer.bias
    for stage, one in zip(chain.stages[:-1], units, strict=True):
        sums = stage.forward(values) + stage.bias
        chosen = (rng.random(sums.shape[1]) < 0.5) & (one.lower[0] < 0) & (one.upper[0] > 0) & stage.relu
        on = sums[0] > 0
        one.lower[0, chosen & on] = one.upper[0, chosen & ~on] = 0.0
        # Near to 0, another order of summation may have the other phase.
        agrees = np.where(on, sums, -sums) > 1e-4 * (np.abs(sums).max() + 1)
        kept &= (agrees | ~chosen).all(axis=1)
        values = np.maximum(sums, 0.0) if stage.relu else sums
    found = bounded(chain, boxes, units)
    forms = rng.normal(size=(7, 3))
    reached = np.array([network.scores(row) for row in rows]) @ forms.T
    least = np.quantile(reached, 0.5, axis=0) - np.ptp(reached, axis=0)  # a level that no bound comes below
    plain = greatest(back(chain, found.lines, Full(forms, none)), boxes, none)
    most = greatest(tuned(chain, found, boxes, forms, none, least).forms, boxes, none)
    assert (most <= plain).all()
    for y in computed(network, rows[kept], rng):
        assert (forms.astype(np.longdouble) @ y <= most).all()


def test_tuning_looks_at_the_clock() -> None:
    """Of a batch before two layers of 2,000 units it took seven seconds, whatever was left."""
    chain = chain_of(random_network(np.random.default_rng(0), "float32"))
    boxes = Interval(np.zeros((1, chain.stages[0].inputs)), np.ones((1, chain.stages[0].inputs)))
    found = bounded(chain, boxes, None)
    with pytest.raises(TimeOverError):
        tuned(chain, found, boxes, np.ones((1, 3)), np.zeros(1, np.int64), np.zeros(1), Deadline.after(0.0))


def test_a_sparse_network_without_any_weight_is_bounded_as_others(kept: bool) -> None:
    """It was divided by how many weights there are."""
    network = Network((Layer(np.zeros((3, 1)), np.zeros(1), "identity"),), 3, "value", (), dtype="float32")
    wanted = Wanted(np.ones((1, 1)), np.ones(1), np.ones((1, 1), np.bool_), 1e-5)
    chain = chain_of(network)
    assert chain.stages[0].sparse == kept
    assert search(chain, Interval(np.zeros(3), np.ones(3)), wanted, lambda _: False, NEVER).status == "none"


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.usefixtures("phases")
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_slopes_that_overflow_refute_nothing(sign: float) -> None:
    """Before inputs below 1e-300 the output is 1e10; the slope, 1e320, was taken for the largest double."""
    first, last = (Layer(np.array([[one]]), np.zeros(1), "relu") for one in (1e160, sign * 1e160))
    chain = chain_of(Network((first, replace(last, activation="identity")), 1, "value", (), dtype="float64"))
    box, tiny = Interval(np.zeros(1), np.array([1e-310])), np.array([[1e-310]])
    wanted = Wanted(np.array([[sign]]), np.array([1e9]), np.ones((1, 1), np.bool_), 0.0)
    assert sign * chain.outputs(tiny) > 9e9
    assert search(chain, box, wanted, lambda _: False, Deadline.after(0.2)).status != "none"
    assert search(chain, box, wanted, lambda _: True, NEVER).status == "found"


def test_no_points_are_tried_in_a_box_that_its_first_bounds_refute() -> None:
    """A property of thousands of boxes took a hundredth of a second for each, of which nine tenths were for points."""
    asked: list[Floats] = []
    wanted = Wanted(np.ones((1, 3)), np.array([1e4]), np.ones((1, 1), np.bool_), 1e6)
    chain = chain_of(random_network(np.random.default_rng(0), "float32"))
    box = Interval(np.zeros(chain.stages[0].inputs), np.ones(chain.stages[0].inputs))
    assert search(chain, box, wanted, lambda point: bool(asked.append(point)), NEVER).status == "none"
    assert not asked


@pytest.mark.parametrize("seed", range(20))
def test_sparse_rows_are_the_full_ones(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bounds but for the last bits, whichever weights are kept, and wherever rows become full."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, "float32", zeros=0.8)
    low = rng.normal(size=(5, network.columns))
    forms, which = rng.normal(size=(7, 3)), rng.integers(0, 5, 7)
    found = []
    for least, many in ((2**30, 8), (0, 0), (0, 2), (0, 8)):
        monkeypatch.setattr(chains, "FEW", 0)
        monkeypatch.setattr(chains, "LEAST_SPARSE", least)
        monkeypatch.setattr(rows_of_forms, "MANY", many)
        chain = chain_of(network)
        ends = [chain.enter(Interval(one, one + 1)) for one in low]
        boxes = Interval(np.array([one.lower for one in ends]), np.array([one.upper for one in ends]))
        units = bounded(chain, boxes, None)
        most = greatest(back(chain, units.lines, Full(forms, which)), boxes, which)
        found.append([*units.units, Interval(most, steepest(chain, units.lines, forms, which))])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert np.allclose(one.lower, two.lower, rtol=1e-6)
            assert np.allclose(one.upper, two.upper, rtol=1e-6)


@pytest.mark.usefixtures("phases")
@pytest.mark.parametrize("seed", range(10))
def test_a_search_finds_what_a_fine_grid_finds(seed: int, kept: bool) -> None:
    """Over two inputs: none is said only where a grid has none, and found points are points of the box."""
    rng = np.random.default_rng(100 + seed)
    parts = np.array([[True, True, False, False], [False, False, True, True]])
    each = parts.astype(int).T  # how many rows of each part hold
    over = np.zeros((1, 4))
    while (np.ptp(over, axis=0) < 0.01).any():  # a level that all points reach alike is nobody's question
        network, n = random_network(rng, "float64"), 3
        while n > 2:
            network = random_network(rng, "float64")
            n = network.columns
        forms = rng.normal(size=(4, 3))
        grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 101)] * n), axis=-1).reshape(-1, n)
        over = np.array([network.scores(row) for row in grid]) @ forms.T
    chain, low, high = chain_of(network), -np.ones(n), np.ones(n)
    for share in (0.5, 0.99, 1.05, 1.3):
        least = np.quantile(over, 0.5, axis=0) + share * (over.max(axis=0) - np.quantile(over, 0.5, axis=0))
        reached = (over >= least) @ each == 2
        seen: list[Floats] = []

        def confirm(entered: Floats, least: Floats = least, seen: list[Floats] = seen) -> bool:
            row = chain.leave(entered)
            over = network.scores(row) @ forms.T
            if ((over >= least) @ each == 2).any() and (np.abs(row) <= 1 + 1e-9).all():
                seen.append(row)
            return bool(seen)

        settled = search(chain, Interval(low, high), Wanted(forms, least, parts, 1e-9), confirm, NEVER)
        assert settled.status in ("found", "none")
        assert not reached.any() or settled.status == "found"
        assert (settled.status == "found") == bool(seen)


def needle(at: float, width: float) -> Network:
    """Of inputs x and a second one that changes nothing: 1 at x = at, 0 where x is farther than width, and x / 5."""
    steps = np.array([at - width, at, at + width, 0.0])
    first = Layer(np.array([[1.0] * 4, [0.0] * 4]), -steps, "relu")
    last = Layer(np.array([[1 / width], [-2 / width], [1 / width], [0.2]]), np.zeros(1), "identity")
    return Network((first, last), 2, "value", (), dtype="float64")


NEEDLE = needle(0.7123, 1e-4)
WANTED = Wanted(np.ones((1, 1)), np.array([0.9]), np.ones((1, 1), dtype=np.bool_), 0.0)


def attempts(asked: list[float], second: float = 1.0) -> Attempts:
    """Before a needle that points from anywhere miss; the first input of every point that is asked about is noted."""

    def confirm(point: Floats) -> bool:
        assert ((point >= 0) & (point <= [1.0, second])).all()
        asked.append(float(point[0]))
        return abs(asked[-1] - 0.7123) < 9e-5

    return Attempts(chain_of(NEEDLE), Interval(np.zeros(2), np.array([1.0, second])), WANTED, confirm)


@pytest.mark.parametrize("second", [1.0, 0.0])
def test_points_are_looked_for_where_boxes_are_open(second: float) -> None:
    one = attempts([], second)
    assert not one.anywhere(NEVER)
    elsewhere = Interval(np.array([[0.1, 0.0]]), np.array([[0.1001, second]]))
    assert not one.among([elsewhere], NEVER)
    there = Interval(np.array([[0.71225, 0.0]]), np.array([[0.71235, second]]))
    assert one.among([there], NEVER)


def test_points_are_looked_for_around_the_best_so_far() -> None:
    one = attempts([])
    one._best = np.array([[0.7125, 0.5]])  # beyond the needle, where climbing leads away from it
    elsewhere = Interval(np.array([[0.1, 0.0]]), np.array([[0.1001, 1.0]]))
    assert one.among([elsewhere], NEVER)


def test_the_same_attempts_try_the_same_points() -> None:
    boxes = [Interval(np.zeros((1, 2)), np.full((1, 2), 0.5)), Interval(np.full((2, 2), 0.5), np.ones((2, 2)))]
    runs: list[list[float]] = [[], []]
    for run in runs:
        one = attempts(run)
        for _ in range(3):
            one.among(boxes, NEVER)
    assert runs[0] == runs[1]
    assert runs[0]


def test_a_search_tries_points_between_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    left = [False, True]  # what trying comes to

    class Counted(Attempts):
        def among(self, boxes: object, deadline: object) -> bool:
            assert boxes
            assert deadline
            return left.pop(0)

    monkeypatch.setattr(splitting, "Attempts", Counted)
    monkeypatch.setattr(splitting, "AGAIN", 0)
    box = Interval(np.zeros(2), np.ones(2))
    settled = search(chain_of(NEEDLE), box, WANTED, lambda _: False, NEVER)
    assert (settled.status, left) == ("found", [])
