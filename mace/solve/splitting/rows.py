"""Coefficients of linear forms on their way back through a chain: a row for each form, full or sparse.

In:  a form's coefficients for the sums of a stage, and the box that each form is for.
Out: `Full` or `Sparse`, which answer alike: the coefficients that are kept as one array, their sums with numbers of
     the units, and the coefficients for the values that a stage was given.
How: a unit of a sparse stage depends on few units below it. Rows become full where that is no longer so.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.solve.splitting.chain import Stage
from mace.tables.table import Floats

MANY = 8  # rows are full from one coefficient in so many on


class Full:
    """values: (rows, units), every coefficient; box: (rows,) which box each form is for."""

    def __init__(self, values: Floats, box: NDArray[np.int64]) -> None:
        self.values, self.box = values, box

    def of(self, units: Floats) -> Floats:
        """The number that each coefficient's unit has in the form's box, from (boxes, units)."""
        return units[self.box]

    def summed(self, values: Floats, units: Floats) -> Floats:
        """For each form the sum of these values, laid out as the coefficients are, times the numbers of the units."""
        found: Floats = values @ units if units.ndim == 1 else np.einsum("ri,ri->r", values, units[self.box])
        return found

    def with_values(self, values: Floats) -> Full:
        """Other coefficients of the same units."""
        return Full(values, self.box)

    def through(self, stage: Stage) -> Full:
        """The coefficients of the values that a stage was given."""
        return Full(stage.back(self.values), self.box)

    def full(self) -> Floats:
        """All coefficients, (rows, units)."""
        return self.values


class Sparse:
    """matrix: the coefficients as a sparse array in rows; the methods are those of `Full`."""

    def __init__(self, matrix: Any, box: NDArray[np.int64]) -> None:
        self.matrix, self.box = matrix, box
        self.values: Floats = matrix.data
        self._row = np.repeat(np.arange(len(box)), np.diff(matrix.indptr))

    def of(self, units: Floats) -> Floats:
        found: Floats = units[self.box[self._row], self.matrix.indices]
        return found

    def summed(self, values: Floats, units: Floats) -> Floats:
        each = units[self.matrix.indices] if units.ndim == 1 else self.of(units)
        found: Floats = np.bincount(self._row, values * each, len(self.box)).astype(np.float64)
        return found

    def with_values(self, values: Floats) -> Sparse:
        matrix = type(self.matrix)((values, self.matrix.indices, self.matrix.indptr), self.matrix.shape)
        return Sparse(matrix, self.box)

    def through(self, stage: Stage) -> Rows:
        self.matrix.eliminate_zeros()
        found = stage.back(self.matrix)
        if not stage.sparse or found.nnz * MANY > found.shape[0] * found.shape[1]:
            return Full(found if isinstance(found, np.ndarray) else found.toarray(), self.box)
        return Sparse(found, self.box)

    def full(self) -> Floats:
        found: Floats = self.matrix.toarray()
        return found


Rows: TypeAlias = Full | Sparse


def of_units(units: NDArray[np.int64], signs: Floats, stage: Stage, box: NDArray[np.int64]) -> Rows:
    """The forms that are single sums of a stage, each with its sign."""
    count, width = len(units), len(stage.bias)
    if not stage.sparse:
        ends = np.zeros((count, width))
        ends[np.arange(count), units] = signs
        return Full(ends, box)
    from scipy.sparse import csr_array

    return Sparse(csr_array((signs, units, np.arange(count + 1)), shape=(count, width)), box)


__all__ = ["Full", "Rows", "Sparse", "of_units"]
