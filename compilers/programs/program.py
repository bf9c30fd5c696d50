"""From a table to a program of the core language.

In:  a table (`mace.tables.table`), names for its columns, and what is asked: the class, or whether a goal is met.
Out: a Program whose inputs are the model's columns, all real.
Promise: run on the exact values of a float64 row, the program returns what the library's `predict` returns wherever
exact arithmetic decides; with a goal, "possible" is true wherever the deployed model meets the goal, and "sure" is
true only where it does (tests/compilers/test_programs.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mace.compilers.programs.forest import forest_program
from mace.compilers.programs.linear import linear_program
from mace.compilers.programs.mlp import mlp_program
from mace.compilers.programs.tree import tree_program
from mace.compilers.programs.verdict import Purpose, Reading
from mace.errors import ModelError
from mace.language.syntax import Program
from mace.tables.table import Decision, Ensemble, Formula, Table


def to_program(
    table: Table,
    column_names: Sequence[str] | None = None,
    goal: Decision | None = None,
    reading: Reading = "exact",
    magnitude: Sequence[Fraction] | None = None,
    input_error: Sequence[Fraction] | None = None,
) -> Program:
    """Compile a table.

    column_names: one for each column of the model, in order; they become the inputs. None: x0, x1, ...
    goal:         None for a program that returns the index of the class.
    reading:      with a goal: "possible" for lower bounds, "sure" for witnesses, "exact" for a model without rounding.
    magnitude, input_error: shape (columns,), needed for networks unless the reading is "exact"; the program may be
                  believed where |column| <= magnitude, see `mace.tables.margins.network_error`.
    Raises ModelError if the names do not fit, or a tree is deeper than programs nest.
    """
    if isinstance(table, Formula):
        return table.program
    names = tuple(f"x{column}" for column in range(table.columns)) if column_names is None else tuple(column_names)
    if len(names) != table.columns:
        raise ModelError(f"{table.name} has {table.columns} columns, and {len(names)} names were given")
    for name in names:
        if names.count(name) > 1:
            raise ModelError(f"two columns are called {name!r}", hint="Give every column a name of its own.")
        if not name or not name.isprintable() or "`" in name:
            raise ModelError(f"the column name {name!r} cannot be written in a program")
    asked = Purpose(
        names,
        goal,
        reading,
        None if magnitude is None else tuple(magnitude),
        None if input_error is None else tuple(input_error),
    )
    if isinstance(table, Ensemble):
        one_class = goal is None and table.rule == "argmax" and table.decisions is None
        single = len(table.trees) == 1 and (goal is not None or one_class)
        return tree_program(table, asked) if single else forest_program(table, asked)
    return linear_program(table, asked) if len(table.layers) == 1 else mlp_program(table, asked)


__all__ = ["Reading", "to_program"]
