"""Where in the pieces of axes linear rules look: the only values of a piece that may be the best, whatever multipliers.

In:  the arrays of a question with linear rules, the pieces of its axes.
Out: `Spots.of`: those `frame.RelaxationArrays` that are about rules; `Spots.rules`: multipliers as a proof has them.
Promise: cost and rules together are linear on either side of the start, so that an end of a piece or the start is best.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from mace.solve.ensembles.arrays.cells import Grounded
from mace.solve.ensembles.arrays.cuts import Array
from mace.space.axes import GridAxis


class Spots:
    """The linear rules of a question, each divided by a power of two so that its changes are of the size of their cost.

    bits: a distance of 1 has 2^bits units.
    """

    def __init__(self, grounded: Grounded, bits: int) -> None:
        self.grounded, self.bits, self.lines = grounded, bits, grounded.lines
        self.factors: dict[int, list[tuple[int, Fraction]]] = {}  # by axis: of each line that reads it
        self.divisors = []
        for n, line in enumerate(self.lines):
            largest = Fraction(0)
            for j, factor in line.factors:
                charge, axis = grounded.charges[j], grounded.axes[j]
                per = charge.slope + charge.peak or charge.once or Fraction(1)
                largest = max(largest, abs(factor) * (axis.scale if isinstance(axis, GridAxis) else 1) / per)
                self.factors.setdefault(j, []).append((n, factor))
            self.divisors.append(Fraction(2) ** math.frexp(float(largest) or 1.0)[1])

    def of(self, pieces: Sequence[tuple[int, Array, Array]]) -> tuple[Array, ...]:
        """`read`, `spots`, `spot_part`, `spot_top`, `spot_sum` and `slack` of `RelaxationArrays`.

        pieces: of every axis in order, with the first and the last cell of each; of levels the level twice.
        """
        read, unit = np.zeros(len(self.grounded.axes), np.bool_), Fraction(2) ** self.bits
        places, part, top, sums = [0], list[int](), list[int](), list[list[float]]()
        for j, first, last in pieces:
            axis, charge, factors = self.grounded.axes[j], self.grounded.charges[j], self.factors.get(j)
            read[j] = factors is not None
            for cells in zip(first.tolist(), last.tolist(), strict=True):
                for index in self._indices(j, *cells) if factors else ():
                    delta, moved = axis.delta(index), axis.value(index) - self._start(j)
                    part.append(math.floor(charge.part(delta) * unit))
                    top.append(math.floor(charge.top(delta) * unit))
                    sums.append([0.0] * len(self.lines))
                    for n, factor in factors or ():
                        sums[-1][n] += float(factor * moved / self.divisors[n] * unit)
                places.append(len(part))
        slack = [
            float((line.constant + sum(factor * self._start(j) for j, factor in line.factors)) / divisor * unit)
            for line, divisor in zip(self.lines, self.divisors, strict=True)
        ]
        spot_sum = np.array(sums, np.float64).reshape(len(part), len(self.lines)).T
        whole = (np.array(column, np.int64) for column in (part, top))
        return read, np.array(places), *whole, np.ascontiguousarray(spot_sum), np.array(slack, np.float64)

    def _start(self, j: int) -> Fraction:
        """The value of an axis at the start."""
        return self.grounded.axes[j].value(self.grounded.axes[j].start)

    def _indices(self, j: int, first: int, last: int) -> list[int]:
        """The indices of a piece that may be the best."""
        axis, ground = self.grounded.axes[j], self.grounded.ground
        if not isinstance(axis, GridAxis):
            return [first]
        first, last = max(first, int(ground.low[j])), min(last, int(ground.high[j]))
        if first > last:
            return []
        low, high = self.grounded.interval(j, first, last)
        return sorted({low, high, *([axis.start] if low < axis.start < high else [])})

    def rules(self, multipliers: Array) -> tuple[tuple[int, int, Fraction], ...]:
        """Multipliers of the lines as a proof holds them."""
        return tuple(
            (line.rule, line.part, line.sign * Fraction(price) / divisor)
            for price, line, divisor in zip(multipliers.tolist(), self.lines, self.divisors, strict=True)
            if price
        )
