"""The symbols and assertions of one question to the solvers: pySMT's terms, with constants folded as they are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from mace.base.deadline import NEVER, Deadline

Term = Any  # a pysmt.fnode.FNode
Values = Mapping[str, "bool | Fraction"]


class Terms:
    """The symbols and assertions of one question, in a pySMT environment of their own.

    deadline: for making and printing them; whoever asks anew sets it anew. `look` and `add` raise TimeOverError.
    """

    def __init__(self, deadline: Deadline = NEVER) -> None:
        self.deadline = deadline
        from pysmt.environment import Environment

        self.environment = Environment()
        self.make = self.environment.formula_manager
        self.true, self.false = self.make.TRUE(), self.make.FALSE()
        self.asserted: list[Term] = []
        self.assumptions: list[Term] = []

    def look(self) -> None:
        """Stop when the time is over; every loop that may be long asks."""
        self.deadline.look("writing the question for the solvers")

    def truth(self, name: str) -> Term:
        """A symbol of sort Bool."""
        return self.make.Symbol(name, self.environment.type_manager.BOOL())

    def integer(self, name: str) -> Term:
        """A symbol of sort Int."""
        return self.make.Symbol(name, self.environment.type_manager.INT())

    def real(self, name: str) -> Term:
        """A symbol of sort Real."""
        return self.make.Symbol(name, self.environment.type_manager.REAL())

    def assumption(self, name: str) -> Term:
        """A Bool that is declared even where no assertion mentions it: a goal may hold everywhere."""
        symbol = self.truth(name)
        if symbol not in self.assumptions:
            self.assumptions.append(symbol)
        return symbol

    def number(self, value: Fraction | int) -> Term:
        """A constant of sort Real."""
        return self.make.Real(Fraction(value))

    def add(self, formula: Term) -> None:
        """Assert, unless it says nothing."""
        self.look()
        if formula is not self.true:
            self.asserted.append(formula)

    def any(self, literals: Sequence[Term]) -> Term:
        """A disjunction, constants folded."""
        rest = [literal for literal in literals if literal is not self.false]
        if any(literal is self.true for literal in rest):
            return self.true
        return self.make.Or(rest) if rest else self.false

    def all(self, literals: Sequence[Term]) -> Term:
        """A conjunction, constants folded."""
        rest = [literal for literal in literals if literal is not self.true]
        if any(literal is self.false for literal in rest):
            return self.false
        return self.make.And(rest) if rest else self.true

    def no(self, literal: Term) -> Term:
        """A negation, constants and double negations folded."""
        if literal is self.true or literal is self.false:
            return self.false if literal is self.true else self.true
        return literal.arg(0) if literal.is_not() else self.make.Not(literal)

    def when(self, condition: Term, formula: Term) -> None:
        """Assert condition -> formula."""
        self.add(self.any([self.no(condition), formula]))

    def sum(self, parts: Sequence[tuple[Fraction, Term]], constant: Fraction = Fraction(0)) -> Term:
        """constant + sum of factor * term, of sort Real."""
        terms = [
            term if factor == 1 else self.make.Times(self.number(factor), term) for factor, term in parts if factor
        ]
        if constant or not terms:
            terms.append(self.number(constant))
        return terms[0] if len(terms) == 1 else self.make.Plus(terms)

    def at_least(self, left: Term, right: Fraction) -> Term:
        """left >= right."""
        return self.make.GE(left, self.number(right))

    def at_most(self, left: Term, right: Fraction) -> Term:
        """left <= right."""
        return self.make.LE(left, self.number(right))
