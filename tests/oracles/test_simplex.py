"""The simplex of the network prover against scipy's: from the slack basis, from one objective to the next, and on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import linprog

from mace.solve.networks.simplex import (
    EMPTY,
    INFINITY,
    OPTIMAL,
    Basis,
    Simplex,
    dual_simplex,
    primal_simplex,
    slack_basis,
)


class Tableau(NamedTuple):
    """A program with its tableau, which the simplex changes."""

    rows: np.ndarray
    right: np.ndarray
    top: np.ndarray
    T: np.ndarray
    x: np.ndarray
    d: np.ndarray
    tops: np.ndarray
    basis: Basis


def tableau(rows: np.ndarray, right: np.ndarray, cost: np.ndarray, top: np.ndarray) -> Tableau:
    m, n = rows.shape
    tops = np.concatenate([top, np.full(m, INFINITY)])
    return Tableau(rows, right, top, rows.copy(), right.copy(), cost.copy(), tops, slack_basis(m, n))


def random_one(seed: int, largest: int) -> Tableau:
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(1, largest)), int(rng.integers(1, largest))
    return tableau(rng.normal(size=(m, n)), rng.normal(size=m), rng.random(n), rng.random(n) * 3)


def nearest(t: Tableau) -> Simplex:
    return dual_simplex(t.T, t.x, t.d, t.tops, t.basis, 0.0, INFINITY, 5000)


def scipys(t: Tableau, cost: np.ndarray, top: np.ndarray | None = None) -> tuple[int, float]:
    tops = t.top if top is None else top
    found = linprog(cost, t.rows, t.right, bounds=list(zip(np.zeros(len(cost)), tops, strict=True)))
    return found.status, found.fun


def aim(t: Tableau, cost: np.ndarray) -> float:
    """Write another objective into the reduced costs, and say what the basis has of it."""
    basic, free, full = t.basis
    every = np.concatenate([cost, np.zeros(len(t.x))])
    t.d[:] = every[free] - every[basic] @ t.T
    return float(every[basic] @ t.x + (every[free] * t.tops[free])[full].sum())


@pytest.mark.parametrize("seed", range(60))
def test_the_dual_simplex_ends_where_scipy_does(seed: int) -> None:
    t = random_one(seed, 6)
    cost = t.d.copy()
    status, value = scipys(t, cost)
    ended = nearest(t)
    if status == 2:
        assert ended.status == EMPTY
        assert ended.violation > 0.0
        assert ended.way in (-1.0, 1.0)
        return
    assert ended.status == OPTIMAL
    assert ended.objective == pytest.approx(value, abs=1e-7)


@pytest.mark.parametrize("seed", range(40))
def test_costs_that_are_all_tied_do_not_send_it_round_in_circles(seed: int) -> None:
    # The least t with |x| <= t: t alone costs anything, and most pivots gain nothing.
    rng = np.random.default_rng(seed)
    n = 25
    one, minus = rng.normal(size=(12, n)), rng.normal(size=12) - 1.0
    signed = np.hstack([one, -one, np.zeros((12, 1))])
    ends = np.hstack([np.eye(n), np.eye(n), -np.ones((n, 1))])
    cost, top = np.zeros(2 * n + 1), np.append(np.full(2 * n, 1.0), 1.0)
    cost[-1] = 1.0
    t = tableau(np.vstack([signed, ends]), np.append(minus, np.zeros(n)), cost, top)
    status, value = scipys(t, cost)
    ended = nearest(t)
    assert (ended.status == EMPTY) == (status == 2)
    assert ended.status in (EMPTY, OPTIMAL)
    if status == 0:
        assert ended.objective == pytest.approx(value, abs=1e-8)


@pytest.mark.parametrize("seed", range(40))
def test_a_program_without_costs_ends_at_a_point_or_without_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = tableau(rng.normal(size=(30, 20)), rng.normal(size=30) + 0.3, np.zeros(20), np.ones(20))
    status, _ = scipys(t, np.zeros(20))
    assert nearest(t).status == (EMPTY if status == 2 else OPTIMAL)


@pytest.mark.parametrize("seed", range(60))
def test_the_primal_simplex_goes_on_from_one_objective_to_the_next(seed: int) -> None:
    t = random_one(seed, 12)
    if nearest(t).status == EMPTY:
        return
    rng = np.random.default_rng(seed + 1)
    for _ in range(5):
        cost = rng.normal(size=len(t.top))
        ended = primal_simplex(t.T, t.x, t.d, t.tops, t.basis, aim(t, cost), -INFINITY, 5000)
        assert ended.status == OPTIMAL
        assert ended.objective == pytest.approx(scipys(t, cost)[1], abs=1e-7)
        assert ended.objective == pytest.approx(aim(t, cost), abs=1e-7)
        assert (t.x >= -1e-9).all()
        assert (t.x <= t.tops[t.basis.basic] + 1e-9).all()


@pytest.mark.parametrize("seed", range(60))
def test_the_dual_simplex_goes_on_where_an_end_is_taken_away(seed: int) -> None:
    t = random_one(seed, 12)
    cost = t.d.copy()
    ended = nearest(t)
    if ended.status == EMPTY:
        return
    for c in range(len(t.top)):
        if t.basis.full[list(t.basis.free).index(c)] if c in t.basis.free else False:
            continue  # a variable at its upper end would have to move first
        here = Tableau(*(v.copy() if isinstance(v, np.ndarray) else Basis(*map(np.copy, v)) for v in t))
        here.tops[c] = 0.0
        less = t.top.copy()
        less[c] = 0.0
        status, value = scipys(t, cost, less)
        after = dual_simplex(here.T, here.x, here.d, here.tops, here.basis, ended.objective, INFINITY, 5000)
        assert (after.status == EMPTY) == (status == 2)
        if status == 0:
            assert after.objective == pytest.approx(value, abs=1e-7)
