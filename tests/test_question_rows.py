"""Rows that a question makes all at once against those made column by column."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mace.problem.distance import norm
from mace.problem.question import Goal, Question
from mace.space.axes import Point
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Ensemble, Tree
from tests.oracles.small_ensembles import points_of, random_question


def one_by_one(question: Question, point: Point) -> bytes:
    """The row's bytes, by each column's own definition."""
    made = [column.at(question.axes[column.feature], point[column.feature]) for column in question.columns]
    return np.array(made, np.float64).tobytes()


@pytest.mark.parametrize("seed", range(60))
def test_rows_of_any_features(seed: int) -> None:
    question = random_question(seed)
    for point in points_of(question)[:50]:
        assert question.row(point).tobytes() == one_by_one(question, point)


@settings(deadline=None)
@given(st.sampled_from(["1", "7", "0.1", "0.3", "0.00001", "1e-15", "1e12"]), st.data())
def test_rows_of_multiples_of_a_step(step: str, data: st.DataObject) -> None:
    lower, upper = (f"{float(step) * end:.17g}" for end in (-(10**6), 10**6))
    space = Space([Feature("x", "real", lower, upper, step=step), Feature("n", "integer", -(2**40), 2**40)])
    axes = space.axes([float(step) * 3, 5])
    leaf = Tree(*(np.array([one]) for one in (-1, 0.0, -1, -1)), np.zeros((1, 1)))
    model = Ensemble((leaf,), 2, np.zeros(1), "value", (0,))
    question = Question(space, axes, model, Goal("", frozenset(), ()), norm("l1", 2))
    for _ in range(20):
        point = tuple(data.draw(st.integers(axis.lower, axis.upper)) for axis in axes)  # type: ignore[union-attr]
        assert question.row(point).tobytes() == one_by_one(question, point)
