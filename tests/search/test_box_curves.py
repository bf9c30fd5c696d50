"""Polynomials over boxes: what they bring is bounded at every row, and no tighter bound would hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from mace.compilers.enclosures.bounds import over
from mace.compilers.enclosures.functions import power
from mace.compilers.enclosures.ranges import Ball, Floats, Range
from mace.compilers.enclosures.registry import enclosed
from mace.search.box_curves import Steep, by_diagonal, by_pairs, of_cubes
from tests.search.test_box_distances import explained, fitted, some_balls
from tests.test_families_agree import sklearn

COLUMNS = 5


def some_forms(rng: np.random.Generator, count: int) -> tuple[Floats, Floats, Floats, Floats, Ball]:
    """Symmetric matrices, slopes, how far columns may fall and rise, and what that costs."""
    matrix = rng.normal(size=(count, COLUMNS, COLUMNS)) * rng.choice([0.0, 1.0, 5.0], (count, COLUMNS, COLUMNS))
    down, up = (rng.choice([0.0, 0.3, 2.0], (count, COLUMNS)) * rng.random((count, COLUMNS)) for _ in range(2))
    prices = rng.choice([0.0, 1.0, 3.0], (count, COLUMNS), p=[0.1, 0.5, 0.4])
    ball = Ball(down * prices, up * prices, rng.random(count))
    return matrix + np.swapaxes(matrix, 1, 2), rng.normal(size=(count, COLUMNS)), down, up, ball


def some_changes(rng: np.random.Generator, down: Floats, up: Floats, ball: Ball | None) -> Floats:
    """Changes of columns, of one or several at once, that cost no more than is left."""
    ways = rng.choice([0.0, 1.0, 0.7], (400, *down.shape), p=[0.5, 0.3, 0.2]) * rng.choice([-1, 1], (400, *down.shape))
    if ball is None:
        return np.where(ways < 0, ways * down, ways * up)
    cost = np.where(ways < 0, -ways * ball.down, ways * ball.up).sum(axis=2, keepdims=True)
    ways = ways * np.minimum(1.0, ball.left[:, None] / (cost + 1e-300))
    return np.where(ways < 0, ways * down, ways * up)


def most(steep: Steep, changes: Floats) -> Floats:
    return (np.abs(changes) * np.where(changes < 0, steep.down, steep.up)).sum(axis=2)


@pytest.mark.parametrize("way", ["pairs in a ball", "pairs", "diagonal"])
def test_columns_bring_no_more_than_is_said(way: str) -> None:
    rng = np.random.default_rng(3)
    matrix, slopes, down, up, ball = some_forms(rng, 60)
    within = ball if way == "pairs in a ball" else None
    changes = some_changes(rng, down, up, within)
    bends, along = np.einsum("rbj,bjk,rbk->rb", changes, matrix, changes), (changes * slopes).sum(axis=2)
    if way == "diagonal":
        constant, steep = by_diagonal(matrix, slopes, down, up)
        said, found = constant + most(steep, changes), bends + along
    else:
        said, found = most(by_pairs(matrix, slopes, down, up, within), changes), bends
    assert (found <= said + 1e-9).all()
    # Somewhere it is all that is brought: a bound that is less by a thousandth does not hold.
    assert (found > said - 1e-3 * np.abs(said) + 1e-9).any()


def test_a_budget_that_one_column_spends_is_bounded_by_what_it_brings() -> None:
    # 3 x y with |x| + |y| <= 1 is 3/4 at most: both parts are worth 3/2, of which half of the budget makes all of it.
    matrix, wide = np.array([[[0.0, 1.5], [1.5, 0.0]]]), np.ones((1, 2))
    steep = by_pairs(matrix, np.zeros((1, 2)), wide, wide, Ball(wide, wide, np.ones(1)))
    assert steep.up == pytest.approx(np.full((1, 2), 1.5))
    # Where a slope makes the first column dearer, the second one is given all of the pair.
    steep = by_pairs(matrix, np.array([[9.0, 0.0]]), wide, wide, Ball(wide, wide, np.ones(1)))
    assert steep.up == pytest.approx(np.array([[0.0, 3.0]]))


def test_squares_that_cancel_are_not_added_up() -> None:
    # (x - y)^2 - (x + y)^2 = -4 x y, and -(x + 2 y)^2, in [-1, 1]: no more than 4, and nothing.
    matrix, wide = np.array([[[0.0, -2.0], [-2.0, 0.0]], [[-1.0, -2.0], [-2.0, -4.0]]]), np.ones((2, 2))
    constant, steep = by_diagonal(matrix, np.zeros((2, 2)), wide, wide)
    assert constant + steep.up.sum(axis=1) == pytest.approx(np.array([4.0, 0.0]), abs=1e-6)


def test_what_bends_down_takes_from_what_slopes_bring() -> None:
    # 2 x - x^2 in [-3, 3] is no more than 1, at 1; and x + x^2 in [0, 2] is 6 at most, at its end.
    matrix, slopes = np.array([[[-1.0]], [[1.0]]]), np.array([[2.0], [1.0]])
    down, up = np.array([[3.0], [0.0]]), np.array([[3.0], [2.0]])
    constant, steep = by_diagonal(matrix, slopes, down, up)
    assert constant + (steep.up * up)[:, 0] == pytest.approx(np.array([1.0, 6.0]), abs=1e-3)


@pytest.mark.parametrize("name", ["boxes-QDA", "boxes-products-logistic", "boxes-SVC-poly"])
def test_scores_are_polynomials_of_the_columns(name: str) -> None:
    rng = np.random.default_rng(5)
    model = enclosed(fitted(name, rng))
    columns, centre, ball, rows = some_balls(rng, 40)
    form = over(model.scores, columns, centre, ball, curved=True).form
    assert form is not None
    for at in rows:
        moved, said = at - centre, over(model.scores, Range(at, at)).said
        high = form.high + np.einsum("bk,bkn->bn", moved, form.slopes)
        high += np.einsum("bj,bnjk,bk->bn", moved, form.matrix, moved)
        if form.third is not None:
            each = np.abs(moved)
            high += np.einsum("bj,bk,bl,cnjkl->bn", each, each, each, form.third)
        assert (said.low <= high).all()
        if form.third is None:
            assert (high - said.high < 1e-6 * (1 + np.abs(high))).all()


@pytest.mark.parametrize("in_ball", [True, False])
def test_cubes_bring_no_more_than_is_said(in_ball: bool) -> None:
    rng = np.random.default_rng(4)
    _, _, down, up, ball = some_forms(rng, 60)
    third = np.abs(rng.normal(size=(1, *(COLUMNS,) * 3))) * rng.choice([0.0, 1.0], (60, *(COLUMNS,) * 3), p=[0.8, 0.2])
    changes = np.abs(some_changes(rng, down, up, ball if in_ball else None))
    found = np.einsum("rbj,rbk,rbl,bjkl->rb", changes, changes, changes, third)
    said = most(of_cubes(third, down, up, ball if in_ball else None), changes)
    assert (found <= said + 1e-12).all()
    assert (found > 0.999 * said + 1e-9).any()


def test_the_cube_of_a_sum_is_one_cube() -> None:
    # (x + y)^3 - (x - y)^3 = 6 x^2 y + 2 y^3: from 0 the cubes of x are gone.
    columns, at = Range(np.full((1, 2), -2.0), np.full((1, 2), 2.0)), np.zeros((1, 2))
    both, less = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([[1.0], [-1.0]])
    form = over(
        lambda x: power(x.affine(both, np.zeros(2)), 3).affine(less, np.zeros(1)), columns, at, curved=True
    ).form
    assert form is not None and form.third is not None
    assert form.third[0, 0] == pytest.approx(np.array([[[0.0, 2.0], [2.0, 0.0]], [[2.0, 0.0], [0.0, 2.0]]]))
    assert np.abs(form.matrix).max() < 1e-9 and form.high[0, 0] < 1e-8


@pytest.mark.parametrize("what", ["tanh-2", "SVC-rbf-2", "votes", "neighbours"])
def test_what_is_no_quadratic_function_is_not_taken_for_one(what: str) -> None:
    rng = np.random.default_rng(5)
    columns, centre, ball, _ = some_balls(rng, 3)
    assert over(enclosed(fitted(f"boxes-{what}", rng)).scores, columns, centre, ball, curved=True).form is None


def quadratic_problem(last: Any) -> tuple[Any, pd.DataFrame, pd.Series]:
    """A model of ten numbers, its rows, and one that it refuses."""
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 10)), columns=[f"x{k}" for k in range(10)])
    y = (X.x0 + X.x1 * X.x2 - X.x3**2 / 2 + X.x4 * X.x5 > 0.5).astype(int)
    model = make_pipeline(sklearn("preprocessing.StandardScaler"), *last).fit(X, y)
    return model, X, X[model.predict(X) == 0].iloc[3]


def test_a_discriminant_of_ten_numbers_is_proved_by_few_boxes() -> None:
    last = [sklearn("discriminant_analysis.QuadraticDiscriminantAnalysis", reg_param=0.1)]
    model, X, row = quadratic_problem(last)
    found = explained(model, X, row, "l1", 400)
    assert found.status == "optimal"


def test_products_of_ten_numbers_are_proved_by_few_boxes() -> None:
    last = [sklearn("preprocessing.PolynomialFeatures"), sklearn("linear_model.LogisticRegression", C=0.1)]
    model, X, row = quadratic_problem(last)
    found = explained(model, X, row, "l1", 400)
    assert found.status == "optimal"
