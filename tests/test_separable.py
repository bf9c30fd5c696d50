"""Sums of functions of one feature or two each: nearest points by enumeration, proofs that a checker accepts."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mace
from mace.certify.writer import certificate
from mace.solve.ensembles import prover
from mace.solve.ensembles.additive import separable
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.protocol import Found, Gap, Limits
from tests.oracles.small_ensembles import optimum, random_question

TOPS = (9, 7, 5, 5)
NAMES = list("abcd")
SPACE = mace.Space([mace.Feature(name, "integer", 0, top) for name, top in zip(NAMES, TOPS, strict=True)])
EVERY = np.array(list(itertools.product(*(range(top + 1) for top in TOPS))), dtype=np.float64)


def additive(seed: int, columns: int) -> Any:
    """A mean of trees of which each sees so many columns."""
    from sklearn.ensemble import BaggingRegressor
    from sklearn.tree import DecisionTreeRegressor

    rng = np.random.default_rng(seed)
    X = EVERY[rng.integers(0, len(EVERY), 200)]
    bent = np.sin(X * rng.uniform(0.5, 2, 4)) @ rng.normal(size=4) + np.sin(X[:, 0] * X[:, 1])
    model = BaggingRegressor(DecisionTreeRegressor(max_depth=5), 4, max_features=columns, random_state=seed)
    return model.fit(pd.DataFrame(X, columns=NAMES), bent)


@pytest.fixture(scope="module")
def models() -> list[tuple[Any, Any]]:
    """Models, and what their library says of every point."""
    return [
        (model := additive(columns, columns), model.predict(pd.DataFrame(EVERY, columns=NAMES))) for columns in (1, 2)
    ]


@pytest.mark.parametrize("goal", [0.999, 0.9, 0.6])
def test_the_nearest_of_all_points_is_found_and_proved(goal: float, models: Any, monkeypatch: Any) -> None:
    searched = []

    ended = separable.Separable.run

    def noted(sums: Any, most: int) -> bool:
        searched.append(ended(sums, most))
        return searched[-1]

    monkeypatch.setattr(separable.Separable, "run", noted)
    rng = np.random.default_rng(3)
    for model, said in models:
        least = float(np.quantile(said, goal))
        for start in EVERY[rng.integers(0, len(EVERY), 3)]:
            row = dict(zip(NAMES, map(int, start), strict=True))
            answer = mace.explain(model, SPACE, row, goal=f"y >= {least!r}", distance="l1")
            away = [sum(Fraction(abs(int(x)), top) for x, top in zip(change, TOPS, strict=True)) / 4
                    for change in EVERY[said >= least] - start]  # fmt: skip
            assert answer.exact_distance == min(away)
            assert answer.exact_distance == 0 or answer.certificate.check().accepted
    assert sum(searched) > len(models)


def test_where_a_search_ends_early_what_it_knows_is_proved(models: Any, monkeypatch: Any) -> None:
    def early(search: Any) -> Any:
        sums = separable.separated(search)
        assert sums is not None
        sums.run(most=4)
        return sums.reply()

    monkeypatch.setattr(prover, "_searched", early)
    rng, ends = np.random.default_rng(5), []
    model, said = models[1]
    least = float(said.max())
    for start in EVERY[rng.integers(0, len(EVERY), 6)]:
        row = dict(zip(NAMES, map(int, start), strict=True))
        answer = mace.explain(model, SPACE, row, goal=f"y >= {least!r}", distance="l1")
        nearest = min(sum(Fraction(abs(int(x)), top) for x, top in zip(change, TOPS, strict=True)) / 4
                      for change in EVERY[said >= least] - start)  # fmt: skip
        assert answer.exact_lower_bound <= nearest <= answer.exact_distance
        assert not answer.exact_lower_bound or answer.certificate.check().accepted
        ends.append((answer.status, answer.exact_lower_bound > 0))
    assert ("bounded", True) in ends


@pytest.mark.parametrize("seed", [54, 2511, 4672, 4845])
def test_a_box_of_which_prices_prove_less_than_the_gap_is_not_lost(seed: int) -> None:
    """Its place in the queue changed, and another box was taken out in its stead and never searched."""
    question = random_question(seed)
    for size in (Fraction(1, 50), Fraction(2, 25), Fraction(1, 5)):
        gap = Gap(size, Fraction(0))
        reply = EnsembleOracle(question).ask(None, Limits(), gap=gap)
        assert isinstance(reply, Found)
        distance, nearest = question.distance_of(reply.point), optimum(question)
        assert nearest is not None and reply.lower <= nearest <= distance and gap.met(reply.lower, distance)
        verdict = certificate(question, reply.lower, None, reply.proof).check()
        assert verdict.accepted, verdict


def test_a_box_that_prices_closed_stays_closed(models: Any, monkeypatch: Any) -> None:
    """Its message is gone: asked once more, what is still in the queue was paid by numbers that were none of its."""
    closed, twice = separable.Separable._closed, []

    def asked(sums: Any, node: Any) -> bool:
        said = closed(sums, node)
        if said and node.rows is not None and not node.far and node.near + sums.grounded.width < sums.limit:
            rows = node.rows
            twice.append(closed(sums, node) and node.rows is rows)
        return said

    monkeypatch.setattr(separable.Separable, "_closed", asked)
    model, said = models[1]
    row = dict(zip(NAMES, (0, 0, 0, 0), strict=True))
    answer = mace.explain(model, SPACE, row, goal=f"y >= {float(np.quantile(said, 0.99))!r}", distance="l1")
    assert answer.status == "optimal" and answer.certificate.check().accepted
    assert twice and all(twice)


def test_what_is_no_such_sum_is_left_to_the_other_searches(models: Any) -> None:
    from sklearn.tree import DecisionTreeRegressor

    (model, said), *_ = models
    row = dict(zip(NAMES, (0, 0, 0, 0), strict=True))
    goal = f"y >= {float(np.quantile(said, 0.9))!r}"
    answer = mace.explain(model, SPACE, row, goal=goal, distance={"l1": 0.5, "linf": 0.5})
    assert answer.status == "optimal"
    assert mace.explain(model, SPACE, row, goal=goal, most_changes=4).status == "optimal"
    tree = DecisionTreeRegressor(max_depth=4).fit(pd.DataFrame(EVERY, columns=NAMES), said)
    assert mace.explain(tree, SPACE, row, goal=goal).status in ("optimal", "infeasible")
