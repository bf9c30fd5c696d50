"""A budget as a formula: what one norm may reach at most, beside the distance that is minimised.

In:  the axes as terms, a `Budget`, and a number that no other budget of the question has.
Out: assertions, satisfied by every point within the budget, and by no other point of the axes.
How: each axis pays at least what its change costs, and the sum of what is paid is within the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from mace.problem.budget import Budget
from mace.problem.distance import FREE, Charge
from mace.solve.smt.axes import GridTerm, LevelTerm, Term, Terms


class _Payers(NamedTuple):
    """What one axis pays to the sum, and to the largest change."""

    paid: Term
    largest: Term
    charge: Charge

    def at_least(self, terms: Terms, condition: Term, delta: Fraction) -> None:
        """Under the condition, pay for a change of delta."""
        terms.when(condition, terms.at_least(self.paid, self.charge.part(delta)))
        terms.when(condition, terms.at_least(self.largest, self.charge.top(delta)))


def assert_budget(terms: Terms, axes: Sequence[GridTerm | LevelTerm], budget: Budget, number: int) -> None:
    """Assert that a point is within a budget."""
    make, largest = terms.make, terms.real(f"b{number}_largest")
    terms.add(terms.at_least(largest, Fraction(0)))
    parts = [(Fraction(1), largest)]
    for j, axis in enumerate(axes):
        charge = budget.norm.charges[j]
        if charge == FREE or axis.fixed and axis.axis.allows(axis.axis.start):
            continue
        payers = _Payers(terms.real(f"b{number}_{j}"), largest, charge)
        terms.add(terms.at_least(payers.paid, Fraction(0)))
        parts.append((Fraction(1), payers.paid))
        if isinstance(axis, LevelTerm):
            for level in axis.levels:
                payers.at_least(terms, terms.no(axis.differs(level)), axis.axis.delta(level))
        else:
            _of_grid(terms, axis, payers)
    total, most = terms.sum(parts), terms.number(budget.most)
    terms.add(make.LT(total, most) if budget.strict else make.LE(total, most))


def _of_grid(terms: Terms, axis: GridTerm, payers: _Payers) -> None:
    source, charge = axis.axis, payers.charge
    if source.lacks:
        payers.at_least(terms, axis.there, source.missing_cost)
        return
    payers.at_least(terms, terms.no(axis.there), source.missing_cost)
    value, up = axis.real(), axis.at_most(source.start)  # above the start where this is false
    for side, sign in ((axis.at_most(source.start - 1), -1), (terms.all([terms.no(up), axis.there]), 1)):
        slope = sign / source.scale
        for payer, fixed, rate in (
            (payers.paid, charge.once, charge.slope),
            (payers.largest, Fraction(0), charge.peak),
        ):
            cost = terms.sum([(rate * slope, value)], fixed - rate * slope * source.start_value)
            terms.when(side, terms.make.GE(payer, cost))
