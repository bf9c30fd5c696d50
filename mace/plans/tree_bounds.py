"""The best leaves of an ensemble that the end states of a node can reach.

In:  a question whose model is an ensemble, and a form for every feature.    Out: `Bound`, a constant for each part.
Promise: as `mace.plans.bounds`; by whole indices of axes, and scaled whole numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mace.plans.bounds import Bound, Box, Floats, Line
from mace.plans.nodes import Forms
from mace.problem.question import Question
from mace.solve.ensembles.arrays.cells import ground
from mace.solve.ensembles.many_levels import Fewer, with_few
from mace.space.axes import GridAxis
from mace.tables.table import Ensemble
from mace.worlds.affine import Ranges

Ints = NDArray[np.int64]


class TreeBounds:
    """The best leaves that a box of states can reach; see the module."""

    def __init__(self, question: Question, moving: Sequence[str], few: Question, fewer: Mapping[int, Fewer]) -> None:
        self.axes, self.fewer = question.axes, fewer
        order = {axis.name: j for j, axis in enumerate(question.axes)}
        self.moving = [(order[name], name) for name in moving if name in order]
        self.grounded = ground(few)
        self.cells = self.grounded.cells(few.start)
        self.middles: dict[int, Floats] = {}
        aim = self.grounded.aim
        self.parts = [list(aim.part_of[a:b]) for a, b in zip(aim.begin, aim.begin[1:], strict=False)]

    @classmethod
    def of(cls, question: Question, moving: Sequence[str]) -> TreeBounds | None:
        """The bounds of a question's trees; None where a feature has more levels than their arrays take.

        moving: the features that change; all others stay at the start.
        """
        assert isinstance(question.model, Ensemble)
        few = with_few(question, {j for j, axis in enumerate(question.axes) if axis.name in moving})
        return None if few is None else cls(question, moving, *few)

    def prepare(self, end: Forms, variables: Sequence[str], ranges: Ranges) -> Forms:  # noqa: ARG002
        """See `Bounder`."""
        return end

    def bound(self, prepared: Forms, variables: Sequence[str], box: Box) -> Bound:
        """See `Bounder`: a constant for each part."""
        low, high = self.sides({name: prepared[name].span(box) for _, name in self.moving})
        best = self._best(low, high)
        flat, worth = np.zeros(len(variables)), np.zeros(len(variables))
        for j, name in self.moving:
            # A variable counts for the cuts that it moves its features across.
            form = prepared[name]
            moves = {v: abs(c / form.den) * (box[v][1] - box[v][0]) for v, c in form.tops.items()}
            total = sum(moves.values())
            for v, move in moves.items():
                if total and isinstance(self.axes[j], GridAxis):
                    worth[variables.index(v)] += move / total * float(high[j] - low[j])
        need = self.grounded.aim.need
        parts = [
            [Line(flat, float(best[c] - need[c])) for c in part]
            for part in self.parts
            if all(best[c] >= need[c] for c in part)
        ]
        return Bound(parts, worth)

    def survivors(self, prepared: Forms, variables: Sequence[str], box: Box) -> Ints:
        """The points of a small box where the goal may hold, shape (points, variables)."""
        ends = [np.arange(box[name][0], box[name][1] + 1) for name in variables]
        points = np.array(np.meshgrid(*ends, indexing="ij"), dtype=np.int64).reshape(len(variables), -1).T
        low, high = self.sides({name: prepared[name].span(box) for _, name in self.moving})
        lows, highs = np.tile(low, (len(points), 1)), np.tile(high, (len(points), 1))
        for j, name in self.moving:
            if isinstance(self.axes[j], GridAxis) and prepared[name].tops:
                form, middles = prepared[name], self._middles(j)
                coef = np.array([float(form.coef.get(v, 0)) for v in variables])
                value = points @ coef
                # Doubles err by far less; a value of the grid lies half a step from the places between its values.
                spare = 2.0**-40 * (np.abs(points) @ np.abs(coef) + abs(float(form.low)) + abs(float(form.high)))
                lows[:, j] = np.maximum(low[j], np.searchsorted(middles, value + float(form.low) - spare))
                highs[:, j] = np.minimum(high[j], np.searchsorted(middles, value + float(form.high) + spare))
        from mace.solve.ensembles.arrays.best_leaves import may_hold

        forest, ground, aim = self.grounded.forest, self.grounded.ground, self.grounded.aim
        held = may_hold(
            forest.test, forest.roots, forest.gain, ground.grid, ground.base, ground.at, lows, highs,
            aim.need, aim.part_of, aim.begin,
        )  # fmt: skip
        return points[held]

    def _middles(self, j: int) -> Floats:
        """For every cut of a grid axis a place between the values on its two sides."""
        if j not in self.middles:
            axis = self.axes[j]
            assert isinstance(axis, GridAxis)
            cuts = [int(cut) for cut in self.grounded.cuts(j)]
            self.middles[j] = np.array([float((axis.grid.value(k) + axis.grid.value(k + 1)) / 2) for k in cuts])
        return self.middles[j]

    def likely(self, prepared: Forms, variables: Sequence[str], point: Sequence[int]) -> bool:
        """See `Bounder`: whether a part of the goal may hold there."""
        ranges = {name: (at, at) for name, at in zip(variables, point, strict=True)}
        return self._held(self._best(*self.sides({name: prepared[name].span(ranges) for _, name in self.moving})))

    def sides(self, spans: Mapping[str, tuple[Fraction, Fraction]]) -> tuple[Ints, Ints]:
        """The cells, or the masks of levels, of intervals of features; all others stay at the start."""
        low, high = self.cells.copy(), self.cells.copy()
        for j, axis in enumerate(self.axes):
            if not isinstance(axis, GridAxis):
                low[j] = 1 << int(self.cells[j])
        for j, name in self.moving:
            axis, (least, most) = self.axes[j], spans[name]
            if isinstance(axis, GridAxis):
                cuts = self.grounded.cuts(j)
                first = max(axis.lower, axis.grid.ceil(least))
                last = min(axis.upper, axis.grid.floor(most))
                low[j], high[j] = np.searchsorted(cuts, [min(first, last), last])
            else:
                low[j] = self._mask(j, sum(1 << level for level in range(axis.count) if least <= level <= most))
        return low, high

    def open(self, box: Sequence[Any]) -> bool:
        """Whether a part of the goal may hold in a box of indices, a pair or a mask of levels for each axis."""
        low, high = self.cells.copy(), self.cells.copy()
        for j, (axis, span) in enumerate(zip(self.axes, box, strict=True)):
            if isinstance(axis, GridAxis):
                low[j], high[j] = np.searchsorted(self.grounded.cuts(j), span)
            else:
                low[j] = self._mask(j, span)
        return self._held(self._best(low, high))

    def _mask(self, j: int, levels: int) -> int:
        """A mask of levels of a feature as the arrays number them."""
        return self.fewer[j].own_mask(levels) if j in self.fewer else levels

    def _held(self, best: Ints) -> bool:
        return any(all(best[c] >= self.grounded.aim.need[c] for c in part) for part in self.parts)

    def _best(self, low: Ints, high: Ints) -> Ints:
        from mace.solve.ensembles.arrays.best_leaves import best_gains

        forest, ground = self.grounded.forest, self.grounded.ground
        found: Ints = best_gains(forest.test, forest.roots, forest.gain, ground.grid, ground.base, ground.at, low, high)
        return found
