"""Every small change of a source file: the mutants that a good test suite tells apart from the original.

Out: `mutants(source)`, in the order of the source. Docstrings, annotations, decorators, and what only type checkers
read stay.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A changed source, and what changed where."""

    line: int
    before: str
    after: str
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """All mutants of a source, each with one change."""
    tree = ast.parse(source)
    skipped = set(decides_nothing(tree))
    for place, node in enumerate(ast.walk(tree)):
        if id(node) in skipped:
            continue
        for changed in changes(node):
            whole = copy.deepcopy(tree)
            target = next(n for k, n in enumerate(ast.walk(whole)) if k == place)
            replace(whole, target, changed)
            line = getattr(node, "lineno", 0)
            yield Mutant(line, ast.unparse(node), ast.unparse(changed), ast.unparse(ast.fix_missing_locations(whole)))


def decides_nothing(tree: ast.AST) -> Iterator[int]:
    """The ids of nodes that decide nothing when the program runs."""
    for node in ast.walk(tree):
        asides: list[ast.AST | None] = []
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Module)) and ast.get_docstring(node) is not None:
            asides.append(node.body[0])
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            asides += node.decorator_list  # A class is frozen for the reader.
        if isinstance(node, ast.FunctionDef):
            asides += [node.returns, *(argument.annotation for argument in (*node.args.args, *node.args.kwonlyargs))]
        if isinstance(node, ast.AnnAssign):
            asides.append(node.annotation)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            asides.append(node)
        if isinstance(node, (ast.Assert, ast.Raise, ast.ImportFrom, ast.Import)):  # Messages are for people.
            asides.append(node)
        for aside in asides:
            if aside is not None:
                yield from map(id, ast.walk(aside))


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand instead of a node."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=rest):
            for place, op in enumerate(ops):
                for other in COMPARISONS[type(op)]:
                    yield ast.Compare(left, [*ops[:place], other(), *ops[place + 1 :]], rest)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            yield ast.BinOp(left, OPERATORS[type(op)](), right)
        case ast.BoolOp(op=op, values=values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            for place in range(len(values)):
                kept = [*values[:place], *values[place + 1 :]]
                yield kept[0] if len(kept) == 1 else ast.BoolOp(op, kept)
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.If(test=test, body=body, orelse=other):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, other)
        case ast.IfExp(test=test, body=body, orelse=other):
            yield ast.IfExp(test, other, body)
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Break() | ast.Continue():
            yield ast.Pass()


def replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    """Put a node in another one's place."""
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, name, new)
                return
            if isinstance(value, list):
                for place, item in enumerate(value):
                    if item is old:
                        value[place] = new
                        return
