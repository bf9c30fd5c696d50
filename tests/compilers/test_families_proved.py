"""For each family: the provers, the solvers and the enumeration of every point agree, and certificates are accepted."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mace import Explainer, Feature, Space, explain
from mace.compilers import deployed
from mace.solve.protocol import Found, Refuted
from mace.solve.smt.oracle import SmtOracle
from mace.solve.smt.process import SolverName
from tests.compilers.families import EVERY as FAMILIES
from tests.compilers.families import Family, Floats, Rows, needed

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared

NUMBERS, CODES = 4, 2
NAMES = ["a", "b", "c", "d", "e", "f"]
SPACE = Space(
    [
        *(Feature(name, "integer", lower=0, upper=4) for name in NAMES[:NUMBERS]),
        *(Feature(name, "categorical", levels=range(6), encoding="as-is") for name in NAMES[NUMBERS:]),
    ]
)
EVERY = np.array(list(itertools.product(*[range(5)] * NUMBERS, *[range(6)] * CODES)), dtype=np.float64)
DECIDING = [family for family in FAMILIES if family.classes]


@lru_cache(maxsize=1)
def fitted(family: Family) -> tuple[Any, Floats, Rows]:
    """A model over the small space, some rows, and what its library decides at every point."""
    if (package := needed(family)) is not None:
        pytest.importorskip(package, reason="an extra that is not installed")
    rng = np.random.default_rng(7)
    X = EVERY[rng.integers(0, len(EVERY), 300)]
    score = X[:, 0] - X[:, 1] + 2 * (X[:, 4] % 3 == 1) - 2 * (X[:, 5] == 3) + rng.normal(size=len(X))
    y = np.digitize(score, np.quantile(score, np.arange(1, family.classes) / family.classes))
    model = family.fit(X, y)
    return model, X, deployed(model).predict(pd.DataFrame(EVERY))


def nearest(row: Floats, reached: Rows) -> Fraction | None:
    """The least distance of the points reached, by enumeration."""
    if not reached.any():
        return None
    points = EVERY[reached]
    changed = (points[:, NUMBERS:] != row[NUMBERS:]).sum(axis=1)
    return Fraction(int((np.abs(points[:, :NUMBERS] - row[:NUMBERS]).sum(axis=1) + 4 * changed).min()), 4 * len(NAMES))


def agree(family: Family, rows: range, oracle: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, X, decided = fitted(family)
        for row in X[rows.start : rows.stop]:
            start = decided[(row == EVERY).all(axis=1)][0]
            expected = nearest(row, decided != start)
            answer = explain(model, SPACE, dict(zip(NAMES, row.astype(int).tolist(), strict=True)), oracle=oracle)
            if expected is None:
                assert answer.status == "infeasible"
                continue
            assert answer.exact_distance == expected, (row, answer.status, answer.why)
            if oracle == "ensembles":
                assert answer.status == "optimal"
                verdict = answer.certificate.check()
                assert verdict.accepted, verdict.reason
            else:
                assert answer.exact_lower_bound <= expected


def nothing_is_nearer(family: Family, solver: SolverName) -> None:
    """Of one row, a solver refutes all that is nearer than the nearest point, and comes to that one.

    Two questions in one encoding: a search without them asks four or five times as much (`agree`).
    """
    model, X, decided = fitted(family)
    question, start = Explainer(model, SPACE).question(dict(zip(NAMES, X[0].astype(int).tolist(), strict=True)))
    oracle, expected = SmtOracle(question, (solver,)), nearest(X[0], decided != start)
    try:
        if expected is None:
            assert isinstance(oracle.ask(None), Refuted)
            return
        assert isinstance(oracle.ask(expected, strict=True), Refuted)
        found = oracle.ask(expected)
        assert isinstance(found, Found) and question.distance_of(found.point) == expected, found
        assert decided[(np.array(list(question.values(found.point).values()), float) == EVERY).all(axis=1)][0] != start
    finally:
        oracle.close()


@pytest.mark.parametrize("family", DECIDING, ids=lambda family: family.name)
def test_prover_solver_and_enumeration_agree_on_a_few_rows(family: Family) -> None:
    agree(family, range(4), "ensembles")
    nothing_is_nearer(family, "z3")


@pytest.mark.exhaustive
@pytest.mark.parametrize("family", DECIDING, ids=lambda family: family.name)
def test_prover_and_enumeration_agree_and_certificates_are_accepted(family: Family) -> None:
    agree(family, range(50), "ensembles")


@pytest.mark.exhaustive
@pytest.mark.parametrize("family", DECIDING, ids=lambda family: family.name)
def test_solvers_and_enumeration_agree(family: Family) -> None:
    agree(family, range(50), "z3")
