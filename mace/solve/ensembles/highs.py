"""HiGHS on the relaxation of trees: solved once, then again and again with other bounds on the columns of the axes.

In:  a `Relaxation`.    Out: `Solver.solve`: a bound in floats, the shares of sides, the duals, and the basis they have.
Promise: nothing here is believed: what a dual proves is worked out again in whole numbers (`Relaxation.bound`).
scipy ships HiGHS with the binding that `highspy` has; that package itself cannot be loaded beside OR-Tools. Where a
version of scipy hides the binding, `linprog` solves every program from the start.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from mace.base.deadline import Deadline
from mace.solve.ensembles.cuts import Array
from mace.solve.ensembles.relaxation import Duals, Program, Relaxation


class Solved(NamedTuple):
    """What came of one program: `value` is about what the duals prove, `shares` are the columns of the axes."""

    value: float
    shares: Array
    duals: Duals
    basis: Any


class Solver:
    """The program of one relaxation. size: about the distance that is to be proved."""

    def __init__(self, relaxation: Relaxation, size: float) -> None:
        self.relaxation, self.size = relaxation, size
        self.program = relaxation.program(size)
        self.leaves = len(relaxation.tree)
        self.highs = _loaded(self.program)

    def solve(
        self, low: Array, high: Array, deadline: Deadline, *, stop: float = math.inf, basis: Any = None, most: int = 0
    ) -> Solved | None:
        """Solve for a box, in cells and masks; None where nothing came of it in time.

        stop:  a value that is good enough, as a distance.
        basis: of a program with other bounds, to start from.
        most:  how many iterations (0: any number); what is reached then is returned.
        """
        lower, upper = self.relaxation.bounds(low, high)
        if self.highs is None:
            return self._from_the_start(lower, upper, deadline)
        highs, seconds = self.highs, deadline.left()
        columns = np.arange(self.leaves, self.leaves + len(lower), dtype=np.int32)
        highs.changeColsBounds(len(columns), columns, lower, upper)
        if basis is not None:
            highs.setBasis(basis)
        highs.setOptionValue("time_limit", math.inf if seconds is None else highs.getRunTime() + seconds)
        highs.setOptionValue(
            "objective_bound", stop / self.size - self.program.constant if stop < math.inf else math.inf
        )
        highs.setOptionValue("simplex_iteration_limit", most or 2**31 - 1)
        highs.run()
        solution = highs.getSolution()
        if not solution.dual_valid:
            return None
        shares = np.array(solution.col_value)[columns] if solution.value_valid else np.zeros(len(columns))
        value = (float(highs.getInfo().objective_function_value) + self.program.constant) * self.size
        return Solved(value, shares, self._duals(np.array(solution.row_dual)), highs.getBasis())

    def _duals(self, rows: Array) -> Duals:
        """Duals of rows that are bounded above are not positive."""
        relaxation = self.relaxation
        sides, goals = len(relaxation.sides.tree), len(relaxation.compares)
        tops = len(relaxation.columns) if relaxation.largest else 0
        rest = rows[sides + goals : sides + goals + tops] * self.size
        return Duals(-rows[:sides] * self.size, rows[sides : sides + goals] * self.size, -rest)

    def _from_the_start(self, lower: Array, upper: Array, deadline: Deadline) -> Solved | None:
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix, vstack

        program, seconds = self.program, deadline.left()
        shape = (len(program.low), len(program.cost))
        matrix = csr_matrix((program.value, program.column, program.start), shape)
        least, most, same = program.low > -np.inf, program.high < np.inf, program.low == program.high
        most, least = most & ~same, least & ~same
        first, last = np.zeros(shape[1]), program.upper.copy()
        here = slice(self.leaves, self.leaves + len(lower))
        first[here], last[here] = lower, upper
        found = linprog(
            program.cost,
            vstack([matrix[most], -matrix[least]]),
            np.concatenate([program.high[most], -program.low[least]]),
            matrix[same],
            program.low[same],
            np.stack([first, last], axis=1),
            "highs",
            options={} if seconds is None else {"time_limit": max(seconds, 1e-3)},
        )
        if found.status != 0:
            return None
        rows = np.zeros(shape[0])
        rows[most] = found.ineqlin.marginals[: most.sum()]
        rows[least] = -found.ineqlin.marginals[most.sum() :]
        return Solved((found.fun + program.constant) * self.size, found.x[here], self._duals(rows), None)


def _loaded(program: Program) -> Any:
    """HiGHS with the program in it; None if scipy does not give it away."""
    try:
        from scipy.optimize._highspy import _core

        highs, made = _core._Highs(), _core.HighsLp()
        made.a_matrix_.format_ = _core.MatrixFormat.kRowwise
    except (ImportError, AttributeError):
        return None
    highs.setOptionValue("output_flag", False)  # noqa: FBT003
    highs.setOptionValue("threads", 1)
    made.num_col_, made.num_row_ = len(program.cost), len(program.low)
    made.col_cost_, made.col_lower_, made.col_upper_ = program.cost, np.zeros(len(program.cost)), program.upper
    made.row_lower_, made.row_upper_ = program.low, program.high
    made.a_matrix_.start_, made.a_matrix_.index_ = program.start, program.column
    made.a_matrix_.value_ = program.value
    highs.passModel(made)
    return highs
