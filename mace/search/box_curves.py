"""What the columns of boxes bring beyond their slopes, where a number is a quadratic function of them.

In:  a symmetric matrix M for each box; how far each column may fall and rise; what that costs, if it does.
Out: `Steep`: how much d' M d is at most for each unit by which a column falls or rises.
Promise: bounds from above, within the box and its ball.

Two ways. What two columns bring together is shared out between them so that what they cost is worth the same, and each
column is given the most that the others can make of its part: where a budget is spent on few columns, that is nearly
all that there is (a quadratic function over a simplex, as in Bomze and de Klerk, 2002). And where all columns move at
once, s d + d' M d is no more than what a diagonal matrix D makes of it, with D less the matrix positive semidefinite:
the dual of a semidefinite program (Shor 1987), of which vectors on spheres, moved one after the other, find nearly the
best (Wang and Kolter 2017). That the difference is positive semidefinite is seen to by its least eigenvalue, which is
added where it is below 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.compilers.enclosures.ranges import TINY, UNSURE, Ball, Floats

LARGEST = 1e100  # of what is not taken for infinite
RANK = 8  # of the vectors
SWEEPS = 8  # over them
SIGNS = np.array([-1.0, 1.0])


class Steep(NamedTuple):
    """How much more each unit of a column brings where it falls and where it rises, shape (boxes, columns)."""

    down: Floats
    up: Floats


def by_pairs(matrix: Floats, slopes: Floats, down: Floats, up: Floats, ball: Ball | None) -> Steep:
    """What each column has of all pairs; matrix: shape (boxes, columns, columns), the others (boxes, columns)."""
    boxes, columns = down.shape
    spans = np.stack([down, up], axis=1)
    # Of a column and a way it goes, and another one: what both bring, shape (boxes, ways, columns, ways, columns).
    pairs = SIGNS[:, None, None, None] * SIGNS[:, None] * matrix[:, None, :, None, :]
    pairs = np.maximum(pairs, 0.0)
    each = np.arange(columns)
    pairs[:, 0, each, 1, each] = pairs[:, 1, each, 0, each] = 0.0  # no column goes both ways
    share = np.full(pairs.shape, 0.5) if ball is None else _shared(pairs, slopes, spans, ball)
    share[:, :, each, :, each] = 0.5
    brought = 2 * share * pairs * spans[:, None, None] * (1 + UNSURE)
    # By the other one falling and rising: of each column and its way.
    falls, rises = np.moveaxis(brought.reshape(boxes, 2 * columns, 2, columns), (2, 3), (0, 2))
    most = np.maximum(falls, rises).sum(axis=1) if ball is None else ball.most(falls, rises)
    most = (most * (1 + UNSURE)).reshape(boxes, 2, columns)
    return Steep(most[:, 0], most[:, 1])


def _shared(pairs: Floats, slopes: Floats, spans: Floats, ball: Ball) -> Floats:
    """Which part of each pair its first column is given: so that a unit of cost is worth as much in both."""
    with np.errstate(all="ignore"):
        cost = np.where(spans > 0, np.stack([ball.down, ball.up], axis=1) / spans, 0.0)
        worth = SIGNS[:, None] * slopes[:, None]
        ahead = worth[:, None, None] * cost[..., None, None] - worth[..., None, None] * cost[:, None, None]
        found = 0.5 + ahead / (4 * ball.left[:, None, None, None, None] * pairs)
    # Both parts of a pair are found by themselves: what one is given more by rounding is in the margin.
    return np.clip(np.where(np.isfinite(found), found, 0.5), 0.0, 1.0)


def of_cubes(third: Floats, down: Floats, up: Floats, ball: Ball | None) -> Steep:
    """What each column has of the sum of T |d_j d_k d_l|, for T of shape (1 or boxes, columns, columns, columns)."""
    wide = np.maximum(down, up)
    rate = _spent(_spent(third, wide, down, up, ball), wide, down, up, ball) * (1 + UNSURE)
    return Steep(rate, rate)


def _spent(each: Floats, wide: Floats, down: Floats, up: Floats, ball: Ball | None) -> Floats:
    """The most that columns, the last axis, bring together, each so much for each unit of a change of it."""
    shape = (len(wide), *(1,) * (each.ndim - 2), wide.shape[1])
    whole = (each * wide.reshape(shape)).sum(axis=-1)
    if ball is None:
        return np.asarray(whole * (1 + UNSURE))
    with np.errstate(all="ignore"):
        units = [np.where(cost > 0, side / cost, 0.0) for side, cost in ((down, ball.down), (up, ball.up))]
    free = np.maximum(np.where(ball.down > 0, 0.0, down), np.where(ball.up > 0, 0.0, up))
    left = ball.left.reshape(shape[:-1])
    spent = (each * free.reshape(shape)).sum(axis=-1) + left * (each * np.maximum(*units).reshape(shape)).max(axis=-1)
    return np.asarray(np.fmin(whole, spent) * (1 + UNSURE))


def by_diagonal(matrix: Floats, slopes: Floats, down: Floats, up: Floats) -> tuple[Floats, Steep]:
    """What all of s d + d' M d is, slopes s with it: a constant, shape (boxes,), and what each column has beyond it.

    With d = m + w u, where u is in [-1, 1], it is a quadratic function of u and of a 1: that is no more than one of a
    diagonal matrix, the sum of D u^2 and what the 1 has. A column's u^2 is no more than by a line on either side of 0.
    """
    middle, wide = (up - down) / 2, (up + down) / 2
    moved = np.matmul(matrix, middle[:, :, None])[:, :, 0]
    boxes, columns = wide.shape
    lifted = np.zeros((boxes, columns + 1, columns + 1))
    lifted[:, 1:, 1:] = matrix * wide[:, :, None] * wide[:, None, :]
    lifted[:, 0, 1:] = lifted[:, 1:, 0] = wide * (slopes / 2 + moved)
    known = np.asarray((np.abs(lifted) < LARGEST).all(axis=(1, 2), keepdims=True))
    lifted = np.where(known, lifted, 0.0)
    diagonal = _dual(lifted)
    lacking = np.linalg.eigvalsh(lifted - diagonal[:, :, None] * np.eye(columns + 1))[:, -1]
    size = np.abs(middle) * (np.abs(slopes) + np.matmul(np.abs(matrix), np.abs(middle)[:, :, None])[:, :, 0])
    size = size.sum(axis=1) + np.abs(lifted).sum(axis=(1, 2)) + diagonal.sum(axis=1)
    diagonal += (np.maximum(lacking, 0.0) + columns * UNSURE * size + TINY)[:, None]
    each = diagonal[:, 1:]
    start = np.where(wide > 0, np.abs(middle) / np.where(wide > 0, wide, 1.0), 0.0) ** 2  # u^2 where d is 0
    constant = (middle * (slopes + moved)).sum(axis=1) + diagonal[:, 0] + (each * start).sum(axis=1)
    with np.errstate(all="ignore"):
        rates = [np.where(side > 0, each * (1 - start) / side, 0.0) * (1 + UNSURE) for side in (down, up)]
    constant = np.where(known[:, 0, 0], constant + columns * UNSURE * size, np.inf)
    return constant, Steep(*(np.maximum(rate, 0.0) for rate in rates))


def _dual(matrix: Floats) -> Floats:
    """Nearly the least diagonals that matrices are no larger than, shape (boxes, columns)."""
    boxes, columns, _ = matrix.shape
    vectors = np.random.default_rng(0).normal(size=(columns, RANK))
    vectors = np.tile(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), (boxes, 1, 1))
    own, others = np.einsum("bkk->bk", matrix), matrix * (1 - np.eye(columns))
    found = np.zeros((boxes, columns))
    for _ in range(SWEEPS):
        for k in range(columns):
            pull = np.matmul(others[:, k, None, :], vectors)[:, 0]
            length = np.sqrt((pull**2).sum(axis=1))
            found[:, k] = np.maximum(own[:, k] + length, 0.0)
            # Of what bends down by itself the best place is inside.
            least = np.maximum(length, np.maximum(-own[:, k], TINY))
            vectors[:, k] = pull / least[:, None]
    return found


def owed(matrix: Floats, down: Floats, up: Floats, ball: Ball | None) -> Floats:
    """What d' M d owes to each column, about, shape (boxes, columns): of a budget, beside the one that matters most."""
    wide = np.maximum(down, up)
    parts = np.abs(matrix) * wide[:, :, None] * wide[:, None, :]
    return np.asarray(parts.sum(axis=2) if ball is None else parts.max(axis=2, initial=0.0))
