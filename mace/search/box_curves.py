"""What the columns of boxes bring beyond their slopes, where a number is a quadratic function of them.

In:  a symmetric matrix M for each box; how far each column may fall and rise; what that costs, if it does.
Out: `Steep`: how much d' M d is at most for each unit by which a column falls or rises.
Promise: bounds from above, within the box and its ball.

Two ways. What two columns bring together is shared out between them so that what they cost is worth the same, and each
column is given the most that the others can make of its part: where a budget is spent on few columns, that is nearly
all that there is (a quadratic function over a simplex, as in Bomze and de Klerk, 2002). And where all columns move at
once, d' M d is no more than d' D d of a diagonal matrix D with D - M positive semidefinite: the dual of a semidefinite
program, of which vectors on spheres, moved one after the other, find nearly the best (Wang and Kolter, 2017). That
D - M is positive semidefinite is seen to by its least eigenvalue, which is added where it is below 0.
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


def by_diagonal(matrix: Floats, down: Floats, up: Floats) -> Steep:
    """What each column has of a diagonal matrix that is no smaller."""
    wide = np.maximum(down, up)
    scaled = matrix * wide[:, :, None] * wide[:, None, :]
    columns = wide.shape[1]
    known = np.asarray((np.abs(scaled) < LARGEST).all(axis=(1, 2), keepdims=True))
    scaled = np.where(known, scaled, 0.0)
    diagonal = _dual(scaled)
    lacking = np.linalg.eigvalsh(scaled - diagonal[:, :, None] * np.eye(columns))[:, -1]
    margin = columns * UNSURE * (np.abs(scaled).sum(axis=(1, 2)) + diagonal.sum(axis=1)) + TINY
    diagonal = diagonal + (np.maximum(lacking, 0.0) + margin)[:, None]
    with np.errstate(all="ignore"):
        rates = [np.where(span > 0, diagonal * (span / wide) / wide, 0.0) for span in (down, up)]
    return Steep(*(np.where(known[:, 0], rate * (1 + UNSURE), np.inf) for rate in rates))


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
