"""The product of two models has the scores of both, for every kind of table and every property that needs one."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from mace.base.exact import exact
from mace.space.axes import GridAxis
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.margins import compare_slack, exact_margin, exact_scores, network_error, possible
from mace.tables.members import equal_to
from mace.tables.table import Compare, Ensemble, Layer, Network, decided, decision_of
from mace.verify.pairs import Pairs
from mace.verify.product.joint import decisions_of
from mace.verify.steps import step_cases
from mace.verify.subject import Whole
from tests.marks import slow_unless
from tests.reference import random_model

SPACE = Space(
    [
        Feature("a", "integer", -3, 4),
        Feature("b", "real", -1, 1, step="1/4"),
        Feature("s", "categorical", levels=["u", "v", "w"], encoding="codes"),
        Feature("o", "ordinal", levels=["l0", "l1", "l2"], encoding="thermometer"),
    ]
)
ROW = {"a": 0, "b": 0, "s": "u", "o": "l0"}
POINTS = 10


def varied(table: Ensemble | Network, rng: np.random.Generator) -> Ensemble | Network:
    """The table as some other library would have it: casts, tests, types, threads, categories, activations."""
    if isinstance(table, Network):
        return network(rng, table.columns, int(rng.integers(0, 4)))
    kind = str(rng.choice(["plain", "xgboost", "threads", "histograms", "categories", "numbers"]))
    if kind == "xgboost":
        # At most two figures: every sum is exact in float32 too.
        trees = tuple(replace(tree, value=np.round(tree.value * 4) / 4) for tree in table.trees)
        start = np.round(table.start * 4) / 4
        return replace(table, trees=trees, start=start, cast="float32", test="<", dtype="float32", divide=1)
    if kind == "threads":
        return replace(table, ordered=False)
    if kind == "histograms":
        return replace(table, cast="float64", divide=1)
    if kind == "categories":
        by_code = SPACE.columns.index(next(c for c in SPACE.columns if c.name == "s"))
        trees = tuple(
            replace(t, members={int(n): equal_to([1, 2]) for n in np.flatnonzero(t.column == by_code)})
            for t in table.trees
        )
        return replace(table, trees=trees)
    if kind == "numbers":
        trees = tuple(replace(tree, value=tree.value[:, :1]) for tree in table.trees)
        return replace(table, trees=trees, start=table.start[:1], rule="value", classes=())
    return table


def network(rng: np.random.Generator, columns: int, depth: int) -> Network:
    """A network whose hidden layers have any of the activations; now and then a unit stands in it twice."""
    layers, width = [], columns
    for place in range(depth + 1):
        size = 1 if place == depth else int(rng.integers(2, 5))
        weights, bias = rng.normal(size=(width, size)), rng.normal(size=size)
        if place < depth and rng.random() < 0.3:
            weights[:, 1], bias[1] = weights[:, 0], bias[0]
        layers.append(Layer(weights, bias, "identity" if place == depth else str(rng.choice(["relu", "identity"]))))  # type: ignore[arg-type]
        width = size
    return Network(tuple(layers), columns, "sigmoid", (0, 1), dtype=str(rng.choice(["float64", "float32"])))  # type: ignore[arg-type]


def subject_of(table: Ensemble | Network) -> SimpleNamespace:
    """What `Pairs` reads of a subject."""
    return SimpleNamespace(
        space=SPACE,
        table=table,
        columns=SPACE.columns,
        rules=(),
        classes=table.classes,
        wholes=[Whole(SPACE.axes(ROW))],
    )


def cases(one: Ensemble | Network, other: Ensemble | Network, rng: np.random.Generator):
    """Questions of every shape: pairs of rows under one model, steps of one feature, one row under two models."""
    first, second = subject_of(one), subject_of(other)
    names = [str(name) for name in rng.permutation(SPACE.names)]
    pairs = list(itertools.product(range(len(one.classes) or 1), range(len(one.classes) or 1)))
    for doubled in (names[:1], names[:3]):
        for case in Pairs(first, first, tuple(doubled)).cases(pairs, lambda _: None, ""):  # type: ignore[arg-type]
            yield one, one, pairs, case
    if isinstance(one, Ensemble):
        for rising in (True, False):
            for case in step_cases(first, names[0], rising, pairs, lambda _: None, "", exact=True):  # type: ignore[arg-type]
                yield one, one, pairs, case
    if type(one) is type(other) and bool(one.classes) == bool(other.classes):
        pairs = list(itertools.product(range(len(one.classes) or 1), range(len(other.classes) or 1)))
        for case in Pairs(first, second, ()).cases(pairs, lambda _: None, ""):  # type: ignore[arg-type]
            yield one, other, pairs, case


def somewhere(axes, rng: np.random.Generator):
    return tuple(
        int(rng.integers(a.lower, a.upper + 1)) if isinstance(a, GridAxis) else int(rng.choice(a.levels()))
        for a in axes
    )


def matrix(row) -> np.ndarray:
    import pandas as pd

    return SPACE.encode(pd.DataFrame([row])).to_numpy()[0]


def error_of(table: Ensemble | Network, made: Ensemble | Network, row) -> list[Fraction]:
    """How far each score of a model may be from that of the product."""
    if isinstance(table, Network):
        size = [abs(exact(x)) for x in row.tolist()]
        return [2 * e for e in network_error(table, size)]
    assert isinstance(made, Ensemble)
    if (made.dtype, made.divide) == (table.dtype, table.divide):
        return [Fraction(0)] * table.outputs
    return [exact(made.error) / table.divide] * table.outputs


def check(one: Ensemble | Network, other: Ensemble | Network, rng: np.random.Generator) -> None:
    for first, second, pairs, case in cases(one, other, rng):
        made = case.question.model
        divide = made.divide if isinstance(made, Ensemble) else 1
        for _ in range(POINTS):
            point = somewhere(case.question.axes, rng)
            rows = case.rows(point)
            given = [matrix(rows[0]), matrix(rows[-1])]
            scores = made.scores(case.question.row(point))
            said = [table.scores(row) for table, row in zip((first, second), given, strict=True)]
            parts = scores[: len(said[0])], scores[len(said[0]) : len(said[0]) + len(said[1])]
            for table, row, found, own in zip((first, second), given, parts, said, strict=True):
                # Sums of another divisor are not divided; numbers, which are compared, are brought to one divisor.
                scale = 1 if not isinstance(table, Ensemble) or divide == table.divide else table.divide
                if scale != 1 and not table.classes:
                    scale = _common(first, second)
                for a, b, error in zip(found.tolist(), own.tolist(), error_of(table, made, row), strict=True):
                    assert abs(exact(a) - exact(b) * scale) <= error * scale
            for i, j in pairs:
                if first.classes and not all(
                    decided(decision_of(t, k), s) for t, k, s in zip((first, second), (i, j), said, strict=True)
                ):
                    continue
                if not first.classes and not said[0][0] > said[1][0]:
                    continue
                assert meant(case.question, point), "both decide so, and the product has not the goal"


def _common(one: Ensemble | Network, other: Ensemble | Network) -> int:
    assert isinstance(one, Ensemble) and isinstance(other, Ensemble)
    return int(np.lcm(one.divide, other.divide))


def meant(question, point) -> bool:
    """Whether a bound counts a point as one that may have the goal."""
    model, row = question.model, question.row(point)
    scores, size = exact_scores(model, row), [abs(exact(x)) for x in row.tolist()]
    moved = [x / 2**24 + Fraction(1, 2**149) for x in size] if model.dtype == "float32" else None

    def may(compare: Compare) -> bool:
        return possible(compare, exact_margin(model, compare, scores), compare_slack(model, compare, size, moved))

    return any(all(map(may, part)) for part in question.goal.decision)


@pytest.mark.parametrize("kind", slow_unless(lambda kind: kind == "tree", ["tree", "forest", "boosting", "network"]))
def test_a_product_has_the_scores_of_both_models(kind: str) -> None:
    for seed in range(12):
        rng = np.random.default_rng([seed, len(kind)])
        one = varied(random_model(SPACE, rng, kind), rng)
        other = varied(
            random_model(SPACE, rng, kind if kind == "network" else str(rng.choice(["tree", "forest"]))), rng
        )
        check(one, other, rng)


@pytest.mark.slow
def test_layers_of_two_networks_that_differ_keep_their_activations() -> None:
    rng = np.random.default_rng(5)
    for one, other in itertools.product(["", "r", "i", "ir", "rri"], repeat=2):
        tables = []
        for word in (one, other):
            made = network(rng, len(SPACE.columns), len(word))
            layers = [
                replace(layer, activation={"r": "relu", "i": "identity"}[letter])
                for layer, letter in zip(made.layers[:-1], word, strict=True)
            ]
            tables.append(replace(made, layers=(*layers, made.layers[-1]), dtype="float64"))
        check(tables[0], tables[1], rng)


def test_the_last_float_that_passes_a_test_at_zero_is_found() -> None:
    """A float32 threshold of 0 ends half way to the smallest float32; no reach around it is counted in ranks."""
    rng = np.random.default_rng(0)
    one = random_model(SPACE, rng, "tree")
    assert isinstance(one, Ensemble)
    tree = one.trees[0]
    at_zero = replace(one, trees=(replace(tree, threshold=tree.threshold * 0.0),))
    check(at_zero, replace(at_zero, cast="float64"), rng)
    check(at_zero, replace(at_zero, test="<"), rng)


def test_numbers_of_forests_of_different_sizes_are_compared_as_means() -> None:
    rng = np.random.default_rng(2)
    for _ in range(4):
        tables = [random_model(SPACE, rng, "forest") for _ in range(2)]
        numbers = [
            replace(t, trees=tuple(replace(tree, value=tree.value[:, :1]) for tree in t.trees), start=t.start[:1],
                    rule="value", classes=())
            for t in tables
            if isinstance(t, Ensemble)
        ]  # fmt: skip
        check(numbers[0], numbers[1], rng)


def test_decisions_of_a_regressor_always_hold() -> None:
    table = varied(random_model(SPACE, np.random.default_rng(1), "tree"), np.random.default_rng(5))
    assert decisions_of(replace(table, classes=(), rule="value")) == (((),),)
