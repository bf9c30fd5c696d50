"""The linear relaxation of a question about forms: made once, solved for many boxes.

In:  a `FormsPart`.
Out: `Program.solve(box)`: multipliers for `FormsPart.bound`, and how the relaxation shares out the pieces and where it
     puts the numbers. None of it is believed: the bound is worked out again from the multipliers.

Columns: the share of each piece; the change of each number; what of each form is above 0, and what below; the share of
each leaf; what is missing to each comparison, at a price at which it is rather reached where that is possible at all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack, identity, vstack

from mace.solve.forms.frame import Array, FormsPart, Multipliers
from mace.solve.forms.simplex import Simplex
from mace.space.axes import Box, GridAxis

MISSING = 1000.0  # times the largest form over the largest comparison: the price of what is missing to the goal


class Relaxed(NamedTuple):
    """shares: (items,) change: (axes,) of numbers. missing: whether the relaxation does not reach the goal."""

    by: Multipliers
    shares: Array
    change: Array
    missing: bool


class Program:
    """The relaxation of one part of the goal."""

    def __init__(self, frame: FormsPart) -> None:
        self.frame = frame
        self.grid = np.array([isinstance(axis, GridAxis) for axis in frame.axes])
        items, axes, forms = len(frame.items.low), len(frame.axes), frame.forms
        leaves = 0 if frame.trees is None else len(frame.trees.tree)
        self.widths = [items, axes, forms, forms, leaves, len(frame.need)]
        self.at = np.cumsum([0, *self.widths])
        self.owner = np.repeat(np.arange(axes), np.diff(frame.items.begin))
        spread = np.abs(frame.effects).sum(axis=1).max(initial=0.0) + np.abs(frame.slopes).sum(axis=1).max(initial=0.0)
        score = np.abs(frame.scores).max(initial=0.0) + np.abs(frame.rates).max(initial=0.0)
        score += 0.0 if frame.trees is None else np.abs(frame.trees.gain).max(initial=0.0)
        self.price = MISSING * spread / (score or 1.0)
        cost = np.zeros(int(self.at[-1]))
        cost[self.at[2] : self.at[4]] = 1.0
        cost[self.at[5] :] = self.price
        rows = [*self._read(), *self._tied(leaves)]
        low, high = (np.concatenate([limits[end] for _, *limits in rows]) for end in (0, 1))
        self.simplex = Simplex(cost, csc_array(vstack([block for block, *_ in rows])), low, high)

    def _block(self, **blocks: csr_array) -> csr_array:
        """Rows with some blocks of columns, the others 0."""
        names = ("shares", "change", "above", "below", "leaves", "missing")
        rows = next(iter(blocks.values())).shape[0]
        parts = [
            csr_array(blocks[name]) if name in blocks else csr_array((rows, width))
            for name, width in zip(names, self.widths, strict=True)
        ]
        return hstack(parts, format="csr")

    def _read(self) -> list[Limited]:
        """Forms, goal and sides, whose multipliers are read."""
        frame, (_, _, forms, _, _, goals) = self.frame, self.widths
        one, none, most = identity(forms, format="csr"), np.zeros(forms), np.full(goals, np.inf)
        effects, slopes = csr_array(frame.effects.T), csr_array(frame.slopes.T)
        goal = {"shares": csr_array(frame.scores.T), "change": csr_array(frame.rates.T)}
        goal["missing"] = identity(goals, format="csr")
        if frame.trees is not None:
            goal["leaves"] = csr_array(frame.trees.gain)
        rows = [
            Limited(self._block(shares=effects, change=slopes, above=-one, below=one), none, none),
            Limited(self._block(**goal), frame.need, most),
        ]
        if frame.trees is not None:
            trees = frame.trees
            ones = np.ones(len(trees.leaf_of))
            whole = csr_array((ones, (trees.row_of, trees.leaf_of)), shape=(len(trees.sides), len(trees.tree)))
            block = self._block(shares=csr_array(trees.sides.astype(float)), leaves=-whole)
            rows.append(Limited(block, np.zeros(len(trees.sides)), np.full(len(trees.sides), np.inf)))
        return rows

    def _tied(self, leaves: int) -> list[Limited]:
        """The shares of an axis, and of a tree, are one; numbers lie in their pieces."""
        frame, (items, axes, *_) = self.frame, self.widths
        shared = np.flatnonzero(np.diff(frame.items.begin) > 1)
        rows = [_equal(self._block(shares=_among(shared, self.owner, np.ones(items), axes)))]
        if frame.trees is not None:
            tree = frame.trees.tree
            each = csr_array((np.ones(leaves), (tree, np.arange(leaves))), shape=(len(frame.trees.first), leaves))
            rows.append(_equal(self._block(leaves=each)))
        grids = shared[self.grid[shared]]
        number = csr_array((np.ones(len(grids)), (np.arange(len(grids)), grids)), shape=(len(grids), axes))
        for sign, ends in ((1, frame.items.high), (-1, frame.items.low)):
            reach = _among(grids, self.owner, sign * ends, axes)
            block = self._block(shares=reach, change=-sign * number)
            rows.append(Limited(block, np.zeros(len(grids)), np.full(len(grids), np.inf)))
        return rows

    def solve(self, box: Box) -> Relaxed | None:
        """The relaxation in a box; None where HiGHS does not say."""
        frame, (items, axes, forms, _, _, goals) = self.frame, self.widths
        has, low, high = frame.active(box)
        top = np.full(int(self.at[-1]), np.inf)
        bottom = np.zeros(int(self.at[-1]))
        top[:items] = has
        there = frame.items.begin[:-1]
        alone = there[np.diff(frame.items.begin) == 1]
        bottom[alone] = 1.0
        least = np.minimum.reduceat(np.where(has, low, np.inf), there)
        most = np.maximum.reduceat(np.where(has, high, -np.inf), there)
        bottom[items : items + axes] = np.where(self.grid, least, 0.0)
        top[items : items + axes] = np.where(self.grid, most, 0.0)
        if frame.trees is not None:
            top[self.at[4] : self.at[5]] = frame.reached(has)
        found = self.simplex.solve(bottom, top)
        if found is None:
            return None
        v = np.clip(-found.duals[:forms], -1.0, 1.0)
        rest = np.maximum(found.duals[forms:], 0.0)
        prices = rest[goals : goals + (0 if frame.trees is None else len(frame.trees.sides))]
        missing = bool(found.x[self.at[5] :].max(initial=0.0) > 1e-9)
        by = Multipliers(v, rest[:goals], prices).written()
        return Relaxed(by, found.x[:items], found.x[items : items + axes], missing)


class Limited(NamedTuple):
    """Rows, and what they are at least and at most."""

    block: csr_array
    low: Array
    high: Array


def _equal(block: csr_array) -> Limited:
    """Rows that are one."""
    return Limited(block, np.ones(block.shape[0]), np.ones(block.shape[0]))


def _among(some: Array, owner: Array, weights: Array, axes: int) -> csr_array:
    """A row for each of some axes, over the pieces."""
    place = np.full(axes, -1)
    place[some] = np.arange(len(some))
    mine = np.flatnonzero(place[owner] >= 0)
    return csr_array((weights[mine], (place[owner[mine]], mine)), shape=(len(some), len(owner)))


__all__ = ["Program", "Relaxed"]
