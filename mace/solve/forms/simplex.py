"""A linear program of which only the limits of columns change, solved again and again.

In:  cost, rows and their limits; for each solve the limits of the columns.
Out: `Solved`: a point, and what a row's limit is worth; None where HiGHS does not say.
Promise: none, since whoever asks weighs the multipliers again. HiGHS, as scipy brings it, starts from where it ended
last; where scipy keeps it elsewhere, `linprog` starts anew each time and finds the same, only later.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csc_array

try:
    from scipy.optimize._highspy import _core as highs
except ImportError:
    highs = None

Array = NDArray[Any]


class Solved(NamedTuple):
    """x: (columns,). duals: (rows,) how much the least cost grows per unit by which a row's limits are raised."""

    x: Array
    duals: Array


class Simplex:
    """Least cost @ x with low <= rows @ x <= high, infinite where there is no limit."""

    def __init__(self, cost: Array, rows: csc_array, low: Array, high: Array) -> None:
        self.cost, self.rows, self.low, self.high = cost, rows, low, high
        self.bottom, self.top = np.zeros(len(cost)), np.full(len(cost), np.inf)
        try:
            self.engine = None if highs is None else self._engine()
        except (AttributeError, TypeError):  # what scipy keeps for itself may change
            self.engine = None

    def _engine(self) -> Any:
        program = highs.HighsLp()
        program.num_row_, program.num_col_ = self.rows.shape
        program.col_cost_, program.col_lower_, program.col_upper_ = self.cost, self.bottom, self.top
        program.row_lower_, program.row_upper_ = self.low, self.high
        matrix = program.a_matrix_
        matrix.num_row_, matrix.num_col_ = self.rows.shape
        matrix.format_ = highs.MatrixFormat.kColwise
        matrix.start_, matrix.index_, matrix.value_ = self.rows.indptr, self.rows.indices, self.rows.data
        engine = highs._Highs()
        for option, value in (("output_flag", False), ("presolve", "off"), ("solver", "simplex"), ("threads", 1)):
            engine.setOptionValue(option, value)
        engine.passModel(program)
        return engine

    def solve(self, bottom: Array, top: Array) -> Solved | None:
        """The least cost with bottom <= x <= top."""
        if self.engine is None:
            return self._anew(bottom, top)
        moved = np.flatnonzero((bottom != self.bottom) | (top != self.top)).astype(np.int32)
        self.engine.changeColsBounds(len(moved), moved, bottom[moved], top[moved])
        self.bottom, self.top = bottom, top
        for _ in range(2):
            self.engine.run()
            if self.engine.getModelStatus() == highs.HighsModelStatus.kOptimal:
                found = self.engine.getSolution()
                return Solved(np.array(found.col_value), np.array(found.row_dual))
            self.engine.clearSolver()  # where it ended last was no place to start from
        return None

    def _anew(self, bottom: Array, top: Array) -> Solved | None:
        """The solution by scipy's public function, without a basis to start from."""
        rows = self.rows.tocsr()
        even = self.low == self.high
        above, below = ~even & np.isfinite(self.low), ~even & np.isfinite(self.high)
        found = linprog(
            self.cost, A_ub=np.vstack([-rows[above].toarray(), rows[below].toarray()]),
            b_ub=np.concatenate([-self.low[above], self.high[below]]), A_eq=rows[even], b_eq=self.low[even],
            bounds=np.column_stack([bottom, top]), method="highs",
        )  # fmt: skip
        if found.x is None or found.ineqlin is None or found.eqlin is None or found.status != 0:
            return None
        duals, worth = np.zeros(len(self.low)), np.asarray(found.ineqlin.marginals)
        duals[even] = found.eqlin.marginals
        duals[above] -= worth[: above.sum()]
        duals[below] += worth[above.sum() :]
        return Solved(np.asarray(found.x), duals)
