"""Expressions of the core language as pySMT terms.

In:  an expression without texts (`to_ssa` replaced them), and a term for each name in it.    Out: a term.
Promise: the term has the value that `evaluate` gives, for every value of the names; shared parts stay shared, so that
the size is linear. Whole numbers stay INT while all parts are INT; otherwise all become REAL.
Source: SMT-LIB 2.6, theory Reals_Ints (to_real).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import assert_never

from pysmt.fnode import FNode
from pysmt.shortcuts import (
    GE,
    GT,
    LE,
    LT,
    And,
    Bool,
    Div,
    Equals,
    Iff,
    Implies,
    Int,
    Ite,
    Not,
    Or,
    Plus,
    Real,
    Times,
    ToReal,
    get_env,
)
from pysmt.utils import quote

from mace.language import Apply, Expr, Name, Number, Op, Text, Truth
from mace.language.syntax import fold


def term_of(expr: Expr, terms: Mapping[str, FNode]) -> FNode:
    """The term of an expression over the terms of its names."""
    return fold(expr, partial(_term, terms))


def is_bool(term: FNode) -> bool:
    """Whether a term is a formula."""
    return bool(get_env().stc.get_type(term).is_bool_type())


def is_int(term: FNode) -> bool:
    """Whether a term is of sort INT."""
    return bool(get_env().stc.get_type(term).is_int_type())


def as_real(term: FNode) -> FNode:
    """A number as REAL."""
    if not is_int(term):
        return term
    return Real(term.constant_value()) if term.is_int_constant() else ToReal(term)


def plain_name(symbol: FNode) -> str:
    """The name in the program that a symbol stands for: `paths` may have added a backquote and the sort."""
    return str(symbol.symbol_name()).split("`")[0]


def smt_name(name: str) -> str:
    """A name as SMT-LIB writes it: in bars where it needs them.

    A bar or a backslash, which no name of SMT-LIB may hold, becomes a backquote and a digit; no name of the language
    has a backquote, so different names stay different. pySMT puts a backslash before them instead, which solvers read
    as the end of the name, and what follows it as commands.
    """
    return str(quote(name.replace("\\", "`1").replace("|", "`2")))


def _term(terms: Mapping[str, FNode], node: Expr, parts: Sequence[FNode]) -> FNode:
    match node:
        case Name(name=name):
            return terms[name]
        case Number(value=value):
            return Int(value.numerator) if value.denominator == 1 else Real(value)
        case Truth(value=truth):
            return Bool(truth)
        case Apply(op=op):
            return MEANING[op](*_alike(parts))
        case Text():
            raise AssertionError("the single assignment form has no texts")
        case _:
            assert_never(node)


def _alike(parts: Sequence[FNode]) -> Sequence[FNode]:
    """Numbers of mixed sorts all become REAL."""
    if all(is_bool(part) or is_int(part) for part in parts):
        return parts
    return [part if is_bool(part) else as_real(part) for part in parts]


def _negate(a: FNode) -> FNode:
    return Times(Int(-1) if is_int(a) else Real(-1), a)


def _equal(a: FNode, b: FNode) -> FNode:
    return Iff(a, b) if is_bool(a) else Equals(a, b)


def _divide(a: FNode, b: FNode) -> FNode:
    # Of a constant divisor, a product with its inverse keeps every solver within linear arithmetic.
    divisor = as_real(b).simplify()
    return Times(as_real(a), Real(1 / divisor.constant_value())) if divisor.is_constant() else Div(as_real(a), divisor)


def _smaller(a: FNode, b: FNode) -> FNode:
    return Ite(LE(a, b), a, b)


def _larger(a: FNode, b: FNode) -> FNode:
    return Ite(GE(a, b), a, b)


def _zero(a: FNode) -> FNode:
    return Int(0) if is_int(a) else Real(0)


MEANING: Mapping[Op, Callable[..., FNode]] = {
    Op.NEGATE: _negate,
    Op.ADD: Plus,
    Op.TIMES: Times,
    Op.DIVIDE: _divide,
    Op.ABS: lambda a: Ite(GE(a, _zero(a)), a, _negate(a)),
    Op.MIN: lambda *a: reduce(_smaller, a),
    Op.MAX: lambda *a: reduce(_larger, a),
    Op.EQ: _equal,
    Op.NE: lambda a, b: Not(_equal(a, b)),
    Op.LT: LT,
    Op.LE: LE,
    Op.GT: GT,
    Op.GE: GE,
    Op.NOT: Not,
    Op.AND: And,
    Op.OR: Or,
    Op.IMPLIES: Implies,
    Op.IF: Ite,
}
