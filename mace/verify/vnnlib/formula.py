"""Formulae of VNN-LIB as a disjunction of conjunctions of linear inequalities.

In:  expressions under `assert`, and which variable an atom means.
Out: `Atom`s: sum of coefficient * variable >= `least` (> if strict), in exact numbers, each with its place.
Promise: the disjunction means the same as the formula. Whatever is not linear, or not read, is a ProgramError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from mace.base.exact import exact
from mace.errors import NumberError
from mace.verify.vnnlib.text import Expression, Text

MOST_PARTS = 20_000
MOST_ATOMS = 2_000_000  # of all parts together
CONNECTIVES = ("and", "or")
COMPARISONS = ("<=", ">=", "<", ">", "=", "==", "!=")


class Variable(NamedTuple):
    """X_0, X_1, .. are inputs, Y_0, Y_1, .. are outputs."""

    letter: str
    number: int


@dataclass(frozen=True, slots=True)
class Atom:
    """sum of coefficients[v] * v >= least, or > if strict; `there` is where it stands."""

    coefficients: dict[Variable, Fraction]
    least: Fraction
    strict: bool
    there: Expression

    def holds(self, values: dict[Variable, Fraction]) -> bool:
        """Whether it holds, exactly."""
        total = sum((factor * values[variable] for variable, factor in self.coefficients.items()), Fraction(0))
        return total > self.least if self.strict else total >= self.least


class _Linear(NamedTuple):
    coefficients: dict[Variable, Fraction]
    constant: Fraction

    def plus(self, other: _Linear, sign: int) -> _Linear:
        total = dict(self.coefficients)
        for variable, factor in other.coefficients.items():
            total[variable] = total.get(variable, Fraction(0)) + sign * factor
        return _Linear({v: f for v, f in total.items() if f}, self.constant + sign * other.constant)

    def times(self, factor: Fraction) -> _Linear:
        return _Linear({v: f * factor for v, f in self.coefficients.items() if factor}, self.constant * factor)


Parts = list[tuple[Atom, ...]]


class Formulae:
    """Reads the formulae of one text."""

    def __init__(self, text: Text, variable: Callable[[Expression], Variable | None]) -> None:
        self.text, self.variable = text, variable

    def all_of(self, asserted: Sequence[Expression]) -> Parts:
        """The conjunction of formulae; raises ProgramError."""
        return self._product([self._parts(one) for one in asserted], asserted[-1] if asserted else None)

    def _parts(self, given: Expression) -> Parts:
        head, inside = given.head, given.items[1:]
        if head == "and":
            return self._product([self._parts(one) for one in inside], given)
        if head == "or":
            found = [part for one in inside for part in self._parts(one)]
            self._refuse_many(len(found), sum(map(len, found)), given)
            return found
        if head == "!=":
            return [self._comparison(given, "<"), self._comparison(given, ">")]
        if head in COMPARISONS:
            return [self._comparison(given, "=" if head == "==" else head)]
        return self.text.wrong(
            f"`{head or given.atom or '()'}` is not read here",
            given,
            f"A formula is made of {', '.join((*CONNECTIVES, *COMPARISONS))}.",
        )

    def _product(self, factors: Sequence[Parts], there: Expression | None) -> Parts:
        """The conjunction of disjunctions, multiplied out; what has one part only is joined to all others once."""
        common = tuple(atom for parts in factors if len(parts) == 1 for atom in parts[0])
        found: Parts = [()]
        for parts in factors:
            if len(parts) == 1:
                continue
            if there is not None:
                size = sum(map(len, found)) * len(parts) + sum(map(len, parts)) * len(found)
                self._refuse_many(len(found) * len(parts), size, there)
            found = [(*one, *other) for one in found for other in parts]
        if there is not None:
            self._refuse_many(len(found), sum(map(len, found)) + len(common) * len(found), there)
        return [(*common, *part) for part in found]

    def _refuse_many(self, parts: int, atoms: int, there: Expression) -> None:
        if parts > MOST_PARTS or atoms > MOST_ATOMS:
            self.text.wrong(
                f"multiplied out, this has {parts:,} cases with {atoms:,} inequalities; "
                f"read are {MOST_PARTS:,} and {MOST_ATOMS:,}",
                there,
            )

    def _comparison(self, given: Expression, sign: str) -> tuple[Atom, ...]:
        if len(given.items) != 3:
            self.text.wrong(f"`{given.head}` compares two terms, and is given {len(given.items) - 1}", given)
        one, other = self._term(given.items[1]), self._term(given.items[2])
        atoms = []
        if sign in (">=", ">", "="):
            atoms.append(_atom(one.plus(other, -1), sign == ">", given))
        if sign in ("<=", "<", "="):
            atoms.append(_atom(other.plus(one, -1), sign == "<", given))
        return tuple(atoms)

    def _term(self, given: Expression) -> _Linear:
        if given.atom is not None:
            variable = self.variable(given)
            if variable is not None:
                return _Linear({variable: Fraction(1)}, Fraction(0))
            return _Linear({}, self._number(given))
        head, inside = given.head, given.items[1:]
        if head not in ("+", "-", "*", "/") or not inside:
            self.text.wrong(
                f"`{head or '()'}` is not read in a term", given, "A term is made of +, -, *, /, numbers and variables."
            )
        total = self._term(inside[0])
        if head == "-" and len(inside) == 1:
            return total.times(Fraction(-1))
        for one in inside[1:]:
            next_one = self._term(one)
            match head:
                case "+" | "-":
                    total = total.plus(next_one, 1 if head == "+" else -1)
                case "*":
                    if total.coefficients and next_one.coefficients:
                        self.text.wrong("a product of variables is not linear", given)
                    scaled = total if total.coefficients else next_one
                    factor = next_one.constant if total.coefficients else total.constant
                    total = scaled.times(factor)
                case _:
                    if next_one.coefficients or not next_one.constant:
                        self.text.wrong("division by a variable or by 0", one)
                    total = total.times(1 / next_one.constant)
        return total

    def _number(self, given: Expression) -> Fraction:
        assert given.atom is not None
        try:
            return exact(given.atom)
        except NumberError:
            self.text.wrong(f"`{given.atom}` is neither a number nor a declared variable", given)


def _atom(side: _Linear, strict: bool, there: Expression) -> Atom:
    return Atom(side.coefficients, -side.constant, strict, there)


__all__ = ["Atom", "Formulae", "Parts", "Variable"]
