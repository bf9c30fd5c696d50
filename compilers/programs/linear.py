"""Compile a linear model: one weighted sum a score.

In:  a Network of one layer, and what is asked.    Out: a Program over the model's columns.
Promise: the sums are exact; `verdict.py` compares them with the slack that the library's float sums need.
"""

from __future__ import annotations

from collections.abc import Sequence

from mace.base.exact import exact
from mace.compilers.programs.verdict import Operands, Purpose, sides, total, verdict
from mace.errors import ModelError
from mace.language.syntax import Apply, Assign, Block, Expr, Name, Number, Op, Program
from mace.tables.table import Layer, Network


def linear_program(table: Network, asked: Purpose) -> Program:
    """The program of a network of one layer."""
    if len(table.layers) != 1:
        raise ModelError(f"{table.name} has {len(table.layers)} layers, a linear model has one")
    return Program(asked.inputs(), (), scored(table, asked, asked.names), table.name)


def scored(table: Network, asked: Purpose, arriving: Sequence[str]) -> Block:
    """The last layer and the verdict; `arriving` names what the layer is given."""
    wanted = {output for side in sides(table, asked.goal) for output in side if output is not None}
    names = {output: asked.fresh(f"score_{output}") for output in sorted(wanted)}
    assigned = tuple(Assign(name, weighted(table.layers[-1], output, arriving)) for output, name in names.items())

    def of(side: Operands) -> Expr:
        plus, minus = side
        parts: list[Expr] = [Name(names[plus])] if plus is not None else []
        if minus is not None:
            parts.append(Apply(Op.NEGATE, (Name(names[minus]),)))
        return total(parts)

    return (*assigned, *verdict(table, asked, of))


def weighted(layer: Layer, output: int, arriving: Sequence[str]) -> Expr:
    """One weighted sum of a layer, with its bias; weights of zero are left out."""
    parts: list[Expr] = [
        Apply(Op.TIMES, (Number(exact(weight)), Name(name)))
        for weight, name in zip(layer.weights[:, output].tolist(), arriving, strict=True)
        if weight != 0
    ]
    bias = exact(layer.bias[output])
    if bias or not parts:
        parts.append(Number(bias))
    return total(parts)
