"""From a program in single assignment form to logic: its characteristic formula, in pySMT's own terms.

In:  a Straight (or a Program, which is straightened first).
Out: a PathFormula phi(inputs, result); or constraints and a term, for use inside a larger question; or, for small
programs, the explicit list of path formulae.
Promise: for every input x within the ranges, phi(x, v) holds exactly when the program returns v on x; the formula is
linear in the size of the program, as a sequence is a conjunction and an `if` a disjunction of two guarded parts.
Source: Karimi, Barthe, Balle, Valera 2020, appendix A, "Path formulae" and "Characteristic formula".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import prod
from typing import assert_never

from pysmt.exceptions import PysmtTypeError
from pysmt.fnode import FNode
from pysmt.shortcuts import GE, LE, TRUE, And, Equals, Iff, Int, Not, Or, Real, Symbol, get_env
from pysmt.typing import BOOL, INT, REAL, PySMTType

from mace import language
from mace.errors import ProgramError
from mace.language import Assign, Block, If, Input, Level, Program, Return, Stmt, Straight, statements_of, to_ssa
from mace.language.logic.terms import as_real, is_bool, term_of

__all__ = ["PathFormula", "count_paths", "formula_of", "path_list", "ranges_of", "translate"]


@dataclass(frozen=True, slots=True)
class PathFormula:
    """The characteristic formula of a program.

    inputs:  the symbol of each input: INT for int and levels, REAL for real, BOOL for bool.
    result:  the symbol of the returned value: BOOL or REAL.
    formula: holds exactly when the program returns `result` on `inputs`.
    ranges:  the declared ranges of the inputs, on their own.
    """

    inputs: Mapping[str, FNode]
    result: FNode
    formula: FNode
    ranges: FNode


def formula_of(program: Straight | Program) -> PathFormula:
    """The characteristic formula of a program, linear in its size.

    program: a Straight, or a Program that `check` accepted.
    Returns  symbols, formula and ranges; the symbols carry the names of the inputs.
    Source:  Karimi et al. 2020, appendix A.
    """
    walk = _walk(program)
    formula = walk.formula(walk.straight.body)
    return PathFormula(walk.inputs, walk.returned(), formula, walk.ranges())


def path_list(program: Straight | Program, limit: int = 1000) -> list[FNode]:
    """The path formulae one by one; their disjunction is equivalent to the characteristic formula.

    limit: the most paths to list; their number can be exponential in the size of the program.
    Raises ProgramError if there are more.
    """
    walk = _walk(program)
    count = count_paths(walk.straight.body)
    if count > limit:
        shown = f"{count:,}" if count < 10**12 else f"about 10^{len(str(count)) - 1}"
        raise ProgramError(
            f"{program.name} has {shown} paths, more than the limit of {limit:,}",
            hint="Raise the limit, or use the characteristic formula (`formula_of`), which stays linear.",
        )
    return [And(conjuncts) for conjuncts in walk.paths(walk.straight.body)]


def translate(program: Straight | Program, terms: Mapping[str, FNode], fresh_prefix: str) -> tuple[FNode, FNode]:
    """A program applied to terms, for use inside a larger question.

    terms:        for each input a pySMT term: BOOL for a bool, INT or REAL for the others.
    fresh_prefix: starts the names of the symbols for variables; one prefix for each use of a program.
    Returns       (constraints, result): wherever the constraints hold, `result` is what the program returns. The
                  constraints fix every new symbol, so that they never exclude an input. A program that is a single
                  `return` needs no symbols: its constraints are true, and its result is the expression itself.
    """
    straight = program if isinstance(program, Straight) else to_ssa(program)
    missing = [declared.name for declared in straight.inputs if declared.name not in terms]
    if missing:
        raise ProgramError(
            f"{program.name} reads `{missing[0]}`, and no term is given for it", hint="Give a term for every input."
        )
    match straight.body:
        case (Return(value=value),):
            return TRUE(), term_of(value, terms)
        case _:
            walk = _Walk(straight, terms, "result", fresh_prefix)
            return walk.formula(straight.body), walk.returned()


def count_paths(body: Block) -> int:
    """How many path formulae a block has."""
    return prod(count_paths(s.then) + count_paths(s.other) for s in body if isinstance(s, If))


def ranges_of(inputs: Sequence[Input], terms: Mapping[str, FNode]) -> FNode:
    """The declared ranges of inputs, as a formula over their terms."""
    bounds: list[FNode] = []
    for declared in inputs:
        term = terms[declared.name]
        if isinstance(declared.sort, Level):
            lower, upper = 0, len(declared.sort.levels) - 1
            bounds += [GE(term, _number(lower, term)), LE(term, _number(upper, term))]
        if declared.lower is not None:
            bounds.append(GE(term, _number(declared.lower, term)))
        if declared.upper is not None:
            bounds.append(LE(term, _number(declared.upper, term)))
    return And(bounds)


# --- the walk --------------------------------------------------------------------------------------------------------


class _Walk:
    """Statements to formulae: `terms` holds the inputs and, as they are defined, the variables."""

    def __init__(self, straight: Straight, inputs: Mapping[str, FNode], result: str, prefix: str) -> None:
        self.straight = straight
        self.inputs = inputs
        self.terms: dict[str, FNode] = dict(inputs)
        self.prefix = prefix
        self.result: FNode | None = None  # made at the first `return`, whose sort it has
        taken = {declared.name for declared in straight.inputs}
        taken |= {stmt.name for stmt in statements_of(straight.body) if isinstance(stmt, Assign)}
        while result in taken:
            result += "_"
        self.result_name = f"{prefix}{result}"

    def returned(self) -> FNode:
        """The symbol of the result, once the body was walked."""
        assert self.result is not None
        return self.result

    def ranges(self) -> FNode:
        return ranges_of(self.straight.inputs, self.inputs)

    def formula(self, body: Block) -> FNode:
        """PF of a block, the disjunction pushed inwards: linear, where the list of paths is exponential."""
        parts: list[FNode] = []
        for stmt in body:
            match stmt:
                case If(test=test, then=then, other=other):
                    guard = term_of(test, self.terms)
                    parts.append(Or(And(guard, self.formula(then)), And(Not(guard), self.formula(other))))
                case _:
                    parts.append(self._defined(stmt))
        return And(parts)

    def paths(self, body: Block) -> list[tuple[FNode, ...]]:
        """PF of a block as the paper has it: one tuple of conjuncts for each path."""
        choices: list[list[tuple[FNode, ...]]] = []
        for stmt in body:
            match stmt:
                case If(test=test, then=then, other=other):
                    guard = term_of(test, self.terms)
                    choices.append(
                        [(guard, *path) for path in self.paths(then)]
                        + [(Not(guard), *path) for path in self.paths(other)]
                    )
                case _:
                    choices.append([(self._defined(stmt),)])
        return [tuple(part for choice in choices_made for part in choice) for choices_made in product(*choices)]

    def _defined(self, stmt: Stmt) -> FNode:
        match stmt:
            case Assign(name=name, value=value):
                term = term_of(value, self.terms)
                if name not in self.terms:
                    # Numbers that a program computes are REAL, be they whole or not: one sort in both branches.
                    self.terms[name] = _symbol(f"{self.prefix}{name}", BOOL if is_bool(term) else REAL)
                return _same(self.terms[name], term)
            case Return(value=value):
                term = term_of(value, self.terms)
                if self.result is None:
                    self.result = _symbol(self.result_name, BOOL if is_bool(term) else REAL)
                return _same(self.result, term)
            case _:
                raise AssertionError(f"{type(stmt).__name__} in a program in single assignment form")


def _walk(program: Straight | Program) -> _Walk:
    straight = program if isinstance(program, Straight) else to_ssa(program)
    inputs = {declared.name: _symbol(declared.name, _type_of(declared)) for declared in straight.inputs}
    return _Walk(straight, inputs, "y", "")


def _type_of(declared: Input) -> PySMTType:
    match declared.sort:
        case language.Bool():
            return BOOL
        case language.Int() | language.Level():
            return INT
        case language.Real():
            return REAL
        case _:
            assert_never(declared.sort)


def _symbol(name: str, sort: PySMTType) -> FNode:
    """The symbol of that name.

    pySMT keeps one sort for each name in a process. Where another program has taken the name with another sort, the
    sort is added after a backquote, which no name of the language contains; `terms.plain_name` takes it off again.
    """
    try:
        return Symbol(name, sort)
    except PysmtTypeError:
        return Symbol(f"{name}`{sort}", sort)


def _same(symbol: FNode, term: FNode) -> FNode:
    return Iff(symbol, term) if is_bool(symbol) else Equals(symbol, as_real(term))


def _number(value: Fraction | int, term: FNode) -> FNode:
    return Int(int(value)) if get_env().stc.get_type(term).is_int_type() else Real(value)
