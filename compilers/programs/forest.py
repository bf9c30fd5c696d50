"""Compile an ensemble: each tree assigns what it adds, the sums are compared.

In:  an Ensemble, and what is asked.    Out: a Program over the model's columns, linear in the number of nodes.
Promise: the sums are exact; `verdict.py` compares them with the slack that the library's float sums need.
Only the differences of scores that decide are computed: one a tree for two classes.
"""

from __future__ import annotations

from fractions import Fraction

from mace.base.exact import exact
from mace.compilers.programs.tree import nested
from mace.compilers.programs.verdict import Operands, Purpose, difference, sides, total, verdict
from mace.language.syntax import Assign, Block, Expr, Name, Number, Program
from mace.tables.table import Ensemble


def forest_program(table: Ensemble, asked: Purpose) -> Program:
    """The program of an ensemble of any number of trees."""
    wanted = sides(table, asked.goal)
    start = [exact(value) for value in table.start]
    body: list[Block] = []
    parts: dict[Operands, list[Expr]] = {side: [] for side in wanted}
    for side in wanted:
        if difference(side, start) or not table.trees:
            parts[side].append(Number(difference(side, start)))
    for number, tree in enumerate(table.trees):
        votes = {side: asked.fresh(_called("vote", number, place)) for place, side in enumerate(wanted)}
        values = [[exact(value) for value in row] for row in tree.value.tolist()]

        def assigned(leaf: int, votes: dict[Operands, str] = votes, values: list[list[Fraction]] = values) -> Block:
            return tuple(Assign(name, Number(difference(side, values[leaf]))) for side, name in votes.items())

        body.append(nested(table, number, asked.names, assigned))
        for side, name in votes.items():
            parts[side].append(Name(name))
    sums = {side: asked.fresh(_called("score", place)) for place, side in enumerate(wanted)}
    body.append(tuple(Assign(name, total(parts[side])) for side, name in sums.items()))
    body.append(verdict(table, asked, lambda side: Name(sums[side])))
    return Program(asked.inputs(), (), tuple(stmt for block in body for stmt in block), table.name)


def _called(word: str, *numbers: int) -> str:
    return "_".join([word, *map(str, numbers)])
