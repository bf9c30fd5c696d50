"""The dual simplex on a dense tableau, compiled on first use: from the slack basis, or on from where it has been.

In:  min cost . x over T x <= b and 0 <= x <= top, with costs >= 0, in doubles.
Out: the value reached, which never falls on the way, and the basis; the tableau is changed in place.
Source: the textbook's method for variables with upper ends, with Harris' ratio test (1973) and his Devex weights; costs
that are tied are perturbed as in Koberstein, The Dual Simplex Method, 2005.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.networks.kernels import INFINITY
from mace.solve.networks.model import Array

OPTIMAL, CUTOFF, EMPTY, STUCK, BEYOND = 0, 1, 2, 3, 4
TIED = 30  # pivots that gain nothing: then costs are moved apart, by `APART` of the largest one
APART = 1e-11
GOLDEN = 0.6180339887498949  # whose multiples modulo 1 are spread evenly


class Basis(NamedTuple):
    """Which variables are basic (m,) and which are free (n,); the slack of row r is number n + r.

    full: whether a free variable stands at its upper end.
    """

    basic: Array
    free: Array
    full: Array


class Simplex(NamedTuple):
    """Where the dual simplex ended.

    status:    OPTIMAL, CUTOFF, EMPTY or STUCK.
    objective: the value reached.
    row, way:  of EMPTY: the row that proves it; -1 if its variable lies above its upper end, 1 if below 0.
    violation: by how much.
    """

    status: int
    objective: float
    row: int
    way: float
    violation: float


@compiled
def slack_basis(m: int, n: int) -> Basis:
    """All slacks are basic, all variables 0."""
    return Basis(np.arange(n, n + m), np.arange(n), np.zeros(n, dtype=np.bool_))


@compiled
def pivot(T: Array, x: Array, d: Array, line: Array, r: int, c: int, step: float, value: float) -> None:
    """Let free variable c, which moves by `step` to `value`, take the place of the basic one of row r; line: (n,) room.

    Rows are changed as arrays of their own, by a copy of row r: only then is the loop vectorised.
    """
    m, n = T.shape
    inverse = 1.0 / T[r, c]
    for e in range(n):
        line[e] = T[r, e] * inverse
    line[c] = inverse
    for i in range(m):
        g = T[i, c]
        if i != r and g != 0.0:
            x[i] -= g * step
            other = T[i]
            for e in range(n):
                other[e] -= g * line[e]
            other[c] = -g * inverse
    x[r] = value
    T[r] = line
    g = d[c]
    for e in range(n):
        d[e] -= g * line[e]
    d[c] = -g * inverse


@lean
def beyond_its_ends(x: Array, top: Array, basic: Array, weight: Array) -> tuple[int, float, bool]:
    """The row whose basic variable lies farthest beyond its ends, by the weights of rows; by how much, and whether
    above; -1 where all lie within."""
    r, worst, above, most = -1, 0.0, False, 0.0
    for i in range(len(x)):
        beyond = max(-x[i], x[i] - top[basic[i]])
        if beyond > 1e-11 and beyond * beyond > most * weight[i]:
            r, worst, above, most = i, beyond, x[i] > 0.0, beyond * beyond / weight[i]
    return r, worst, above


@lean
def entering(T: Array, d: Array, full: Array, r: int, above: bool) -> int:
    """The free variable that takes the place of the basic one of row r, so that costs stay feasible; -1 for none.

    Two passes (Harris): the smallest ratio up to a tolerance, then the largest pivot among those within it.
    """
    limit = INFINITY
    for c in range(len(d)):
        a = -T[r, c] if above else T[r, c]
        if (a > 1e-10) if full[c] else (a < -1e-10):
            limit = min(limit, (abs(d[c]) + 1e-12) / abs(a))
    chosen, size = -1, 0.0
    for c in range(len(d)):
        a = -T[r, c] if above else T[r, c]
        if ((a > 1e-10) if full[c] else (a < -1e-10)) and abs(d[c]) / abs(a) <= limit and abs(a) > size:
            chosen, size = c, abs(a)
    return chosen


@lean
def shortest(T: Array, x: Array, top: Array, basic: Array, c: int, way: float) -> float:
    """How far free variable c may go until a basic one comes to an end, up to a tolerance (Harris)."""
    limit = INFINITY
    for i in range(len(x)):
        a = way * T[i, c]
        if a > 1e-10:
            limit = min(limit, (max(x[i], 0.0) + 1e-12) / a)
        elif a < -1e-10 and top[basic[i]] < INFINITY:
            limit = min(limit, (max(top[basic[i]] - x[i], 0.0) + 1e-12) / -a)
    return limit


@lean
def leaving(T: Array, x: Array, top: Array, basic: Array, c: int, way: float, limit: float) -> tuple[int, float, bool]:
    """The row that free variable c pivots on: the largest pivot among those within the limit; how far it goes, and
    whether the row's variable comes to its upper end."""
    r, size, step, above = -1, 0.0, 0.0, False
    for i in range(len(x)):
        a = way * T[i, c]
        if a > 1e-10:
            room = max(x[i], 0.0) / a
        elif a < -1e-10 and top[basic[i]] < INFINITY:
            room = max(top[basic[i]] - x[i], 0.0) / -a
        else:
            continue
        if room <= limit and abs(a) > size:
            r, size, step, above = i, abs(a), room, a < 0.0
    return r, step, above


@compiled
def dual_simplex(
    T: Array, x: Array, d: Array, top: Array, basis: Basis, start: float, cutoff: float, rounds: int
) -> Simplex:
    """Minimise from a dual feasible basis, at most so many pivots, and no longer than the value is below the cutoff.

    T:   (m, n) the tableau; x: (m,) the basic values (of the slack basis: b); d: (n,) the free ones' reduced costs.
    top: (n + m,) the upper ends of variables and slacks.    start: the value of this basis.
    T, x, d and the basis are changed in place.

    Where many costs are equal (that of the largest change is the only one above 0), pivots gain nothing and may come
    back to where they were; so costs that are tied for long are moved apart, away from 0, which leaves the basis dual
    feasible.
    """
    m, n = T.shape
    basic, free, full = basis
    largest = np.abs(d).max() if n > 0 else 0.0
    apart = APART * (largest if largest > 0.0 else 1.0)
    gained, since = start, 0
    objective = start
    line, weight = np.empty(n), np.ones(m)
    for _ in range(rounds):
        if objective >= cutoff:
            return Simplex(CUTOFF, objective, -1, 0.0, 0.0)
        if objective > gained + apart:
            gained, since = objective, 0
        elif since < TIED:
            since += 1
            if since == TIED:
                for c in range(n):
                    moved = apart * (1.0 + (GOLDEN * (c + 1.0)) % 1.0)
                    d[c] += -moved if full[c] else moved
        r, worst, above = beyond_its_ends(x, top, basic, weight)
        if r < 0:
            return Simplex(OPTIMAL, objective, -1, 0.0, 0.0)
        c = entering(T, d, full, r, above)
        if c < 0:
            return Simplex(EMPTY, objective, r, -1.0 if above else 1.0, worst)
        a = T[r, c]
        target = top[basic[r]] if above else 0.0
        step = (x[r] - target) / a
        objective += d[c] * step
        value = (top[free[c]] if full[c] else 0.0) + step
        reference = weight[r]
        for i in range(m):
            weight[i] = max(weight[i], (T[i, c] / a) ** 2 * reference)
        weight[r] = max(reference / (a * a), 1.0)
        pivot(T, x, d, line, r, c, step, value)
        full[c] = above
        basic[r], free[c] = free[c], basic[r]
    return Simplex(STUCK, objective, -1, 0.0, 0.0)


@compiled
def primal_simplex(
    T: Array, x: Array, d: Array, top: Array, basis: Basis, start: float, enough: float, rounds: int
) -> Simplex:
    """Minimise from a feasible basis, at most so many pivots, and no longer than the value is above `enough`.

    Arguments as of `dual_simplex`; d may have any signs. The value never rises. CUTOFF: it came down to `enough`.
    """
    m, n = T.shape
    basic, free, full = basis
    least = 1e-11 * np.abs(d).max() if n > 0 else 0.0
    objective = start
    line, weight = np.empty(n), np.ones(n)
    for _ in range(rounds):
        if objective <= enough:
            return Simplex(CUTOFF, objective, -1, 0.0, 0.0)
        c, best = -1, 0.0
        for e in range(n):
            gain = d[e] if full[e] else -d[e]
            if gain > least and gain * gain > best * weight[e]:
                c, best = e, gain * gain / weight[e]
        if c < 0:
            return Simplex(OPTIMAL, objective, -1, 0.0, 0.0)
        way = -1.0 if full[c] else 1.0
        limit = shortest(T, x, top, basic, c, way)
        whole = top[free[c]]
        if whole <= limit:
            if whole >= INFINITY:
                return Simplex(STUCK, objective, -1, 0.0, 0.0)
            for i in range(m):
                x[i] -= T[i, c] * way * whole
            objective += d[c] * way * whole
            full[c] = not full[c]
            continue
        r, step, above = leaving(T, x, top, basic, c, way, limit)
        objective += d[c] * way * step
        value = (whole if full[c] else 0.0) + way * step
        a, reference = T[r, c], weight[c]
        for e in range(n):
            weight[e] = max(weight[e], (T[r, e] / a) ** 2 * reference)
        weight[c] = max(reference / (a * a), 1.0)
        pivot(T, x, d, line, r, c, way * step, value)
        full[c] = above
        basic[r], free[c] = free[c], basic[r]
    return Simplex(STUCK, objective, -1, 0.0, 0.0)
