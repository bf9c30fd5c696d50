"""Compile one tree: nested conditionals, one `return` a leaf.

In:  an Ensemble of one tree, and what is asked.    Out: a Program over the model's columns.
Promise: a test of the library on a rounded input becomes `column <= T` on the exact one (`thresholds.py`), so that
both go the same way for every double; a score of one tree is not rounded, so all three readings agree where no
division or offset rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from mace.base.exact import exact
from mace.compilers.programs.verdict import Purpose, decide, joined
from mace.compilers.thresholds import before_cast, largest_passing
from mace.errors import ModelError
from mace.language.syntax import MAX_NESTING, Apply, Block, Expr, If, Name, Number, Op, Program, Return, Truth
from mace.tables.table import Ensemble, Tree

DEEPEST = MAX_NESTING - 10
"""Tests above a leaf: some levels are left for the expressions at the leaves."""


def tree_program(table: Ensemble, asked: Purpose) -> Program:
    """The program of an ensemble of one tree."""
    tree = table.trees[0]
    start = [exact(value) for value in table.start]

    def returned(leaf: int) -> Block:
        return (Return(decide(table, asked, [s + exact(v) for s, v in zip(start, tree.value[leaf], strict=True)])),)

    body = nested(table, 0, asked.names, returned)
    return Program(asked.inputs(), (), body, table.name)


def nested(table: Ensemble, number: int, names: Sequence[str], at_leaf: Callable[[int], Block]) -> Block:
    """The tree with this number as nested conditionals, with the given statements at its leaves."""
    tree = table.trees[number]
    order, depth = [0], {0: 0}
    for node in order:  # grows: every node after its parent
        if tree.column[node] >= 0:
            for child in (int(tree.left[node]), int(tree.right[node])):
                depth[child] = depth[node] + 1
                order.append(child)
    if max(depth.values()) > DEEPEST:
        raise ModelError(
            f"tree {number} has leaves {max(depth.values())} tests deep, and a program nests at most {DEEPEST}",
            hint="Limit max_depth, or use the prover for ensembles, which needs no program.",
        )
    blocks: dict[int, Block] = {}
    for node in reversed(order):
        if tree.column[node] < 0:
            blocks[node] = at_leaf(node)
            continue
        then, other = blocks.pop(int(tree.left[node])), blocks.pop(int(tree.right[node]))
        passes = _passes(table, tree, node, Name(names[int(tree.column[node])]))
        if isinstance(passes, Truth):
            blocks[node] = then if passes.value else other
        elif then == other and len(then) == 1 and isinstance(then[0], Return):
            blocks[node] = then
        else:
            blocks[node] = (If(passes, then, other),)
    return blocks[0]


def _passes(table: Ensemble, tree: Tree, node: int, column: Name) -> Expr:
    """The test of an inner node on an exact number; programs have no NaN."""
    if node in tree.members:
        found = before_cast(tree.members[node], table.cast)
        return joined(Op.OR, [_within(column, low, high) for low, high in found])
    last = largest_passing(float(tree.threshold[node]), table.cast, table.test)
    if abs(last) == float("inf"):  # every finite double goes the same way
        return Truth(last > 0)
    return Apply(Op.LE, (column, Number(Fraction(last))))


def _within(column: Name, low: float, high: float) -> Expr:
    above, below = (Apply(op, (column, Number(Fraction(x)))) for op, x in ((Op.GE, low), (Op.LE, high)))
    return Apply(Op.AND, (above, below))
