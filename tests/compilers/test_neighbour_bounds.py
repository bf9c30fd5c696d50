"""Neighbours over boxes, by pairs of stored rows: what is said of shares holds at every row, and not far beyond it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mace.compilers.enclosures import neighbours
from mace.compilers.enclosures.bounds import over
from mace.compilers.enclosures.ranges import Ball, Range
from mace.compilers.enclosures.registry import enclosed
from tests.search.test_box_curves import quadratic_problem
from tests.search.test_box_distances import explained, some_balls
from tests.test_families_agree import sklearn


def model_of(rows: Any, labels: Any, count: int) -> Any:
    return sklearn("neighbors.KNeighborsClassifier", n_neighbors=count).fit(np.asarray(rows), np.asarray(labels))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("count", [1, 4, 5])
@pytest.mark.parametrize("others", [1, 8])
def test_shares_hold_in_balls(classes: int, count: int, others: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "OTHERS", others)
    rng = np.random.default_rng(classes * count)
    stored = rng.normal(size=(60, 4)).round(1)
    model = model_of(stored, rng.integers(0, classes, 60) * (stored[:, 0] > -0.5), count)
    columns, centre, ball, rows = some_balls(rng, 60)
    found = over(enclosed(model).scores, columns, centre, ball).said
    for at in rows:
        said = model.predict_proba(at)
        assert (found.low <= said).all() and (said <= found.high).all()
    # They say something: of some boxes that no row has another class.
    assert ((found.high - found.low < 1e-6).all(axis=1)).any()


@pytest.mark.parametrize("count", [1, 3])
def test_a_vote_changes_where_the_last_row_that_counts_is_passed(count: int) -> None:
    # Of two numbers; the rows of either class lie beside each other, and 0.5 is between them.
    side = np.stack([np.zeros(3), np.arange(3) * 0.01], axis=1)
    model = enclosed(model_of(np.concatenate([side, side + np.array([1.0, 0.0])]), [0] * 3 + [1] * 3, count))
    columns, centre = Range(np.array([[-1.0, 0.01]]), np.array([[2.0, 0.01]])), np.array([[0.1, 0.01]])
    for left, most in ((0.3995, 0.0), (0.4005, 1.0)):
        ball = Ball(np.array([[1.1, 0.0]]), np.array([[1.9, 0.0]]), np.array([left]))
        share = over(model.scores, columns, centre, ball).said.high[0, 1]
        assert share == pytest.approx(most, abs=1e-6) or (most and share > 0.5)


def test_rows_of_one_place_and_two_classes_may_both_be_taken() -> None:
    model = enclosed(model_of([[0.0], [0.0], [5.0]], [0, 1, 1], 1))
    at = np.array([[0.0]])
    low, high = over(model.scores, Range(at, at), at).said
    assert (low < 0.1).all() and (high > 0.9).all()


def test_neighbours_of_ten_numbers_are_proved_far_by_few_boxes() -> None:
    model, X, row = quadratic_problem([sklearn("neighbors.KNeighborsClassifier")])
    # By intervals 30 boxes prove 0.0008 of l1 and 0.009 of linf.
    for name, least in (("l1", 0.009), ("linf", 0.024)):
        assert explained(model, X, row, name, 30).lower > least
