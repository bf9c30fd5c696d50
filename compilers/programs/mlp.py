"""Compile a ReLU network: every unit is a weighted sum and a maximum with zero.

In:  a Network, and what is asked.    Out: a Program over the model's columns, linear in the number of weights.
Promise: the sums are exact; `verdict.py` compares them with the slack that the library's float sums need.
Source: Karimi et al. 2020, figure 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from mace.compilers.programs.linear import scored, weighted
from mace.compilers.programs.verdict import Purpose
from mace.language.syntax import Apply, Assign, Name, Number, Op, Program
from mace.tables.table import Network


def mlp_program(table: Network, asked: Purpose) -> Program:
    """The program of a network of any number of layers."""
    arriving: Sequence[str] = asked.names
    body: list[Assign] = []
    for number, layer in enumerate(table.layers[:-1]):
        leaving = []
        for unit in range(len(layer.bias)):
            reached = asked.fresh(f"sum_{number}_{unit}")
            body.append(Assign(reached, weighted(layer, unit, arriving)))
            if layer.activation == "relu":
                kept = asked.fresh(f"unit_{number}_{unit}")
                body.append(Assign(kept, Apply(Op.MAX, (Name(reached), Number(Fraction(0))))))
                reached = kept
            leaving.append(reached)
        arriving = leaving
    return Program(asked.inputs(), (), (*body, *scored(table, asked, arriving)), table.name)
