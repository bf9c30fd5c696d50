"""A budget as a formula: what one norm may reach at most, beside the distance that is minimised.

In:  the axes as terms, a `Budget`, and a number that no other budget of the question has.
Out: assertions, satisfied by every point within the budget, and by no other point of the axes.
How: each axis pays at least what its change costs, and the sum of what is paid is within the budget; from one of the
starts, where there are several.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from mace.problem.budget import Budget
from mace.problem.distance import FREE, Charge
from mace.solve.smt.axes import GridTerm, LevelTerm
from mace.solve.smt.terms import Term, Terms
from mace.space.axes import Axis, GridAxis, LevelAxis


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
    make, most = terms.make, terms.number(budget.most)
    kept = []
    for n, counted in enumerate(budget.counted([axis.axis for axis in axes])):
        total = _total(terms, axes, counted, budget, f"b{number}" if not budget.starts else f"b{number}s{n}")
        kept.append(make.LT(total, most) if budget.strict else make.LE(total, most))
    terms.add(terms.any(kept))


def _total(
    terms: Terms, axes: Sequence[GridTerm | LevelTerm], counted: Sequence[Axis], budget: Budget, name: str
) -> Term:
    """What a point pays at least for its changes from the start of the axes in `counted`."""
    largest = terms.real(f"{name}_largest")
    terms.add(terms.at_least(largest, Fraction(0)))
    parts = [(Fraction(1), largest)]
    for j, (axis, source) in enumerate(zip(axes, counted, strict=True)):
        charge = budget.norm.charges[j]
        if charge == FREE or axis.fixed and source.allows(source.start) and not budget.starts:
            continue
        payers = _Payers(terms.real(f"{name}_{j}"), largest, charge)
        terms.add(terms.at_least(payers.paid, Fraction(0)))
        parts.append((Fraction(1), payers.paid))
        if isinstance(axis, LevelTerm):
            assert isinstance(source, LevelAxis)
            for level in axis.levels:
                payers.at_least(terms, terms.no(axis.differs(level)), source.delta(level))
        else:
            assert isinstance(source, GridAxis)
            _of_grid(terms, axis, source, payers)
    return terms.sum(parts)


def _of_grid(terms: Terms, axis: GridTerm, source: GridAxis, payers: _Payers) -> None:
    charge = payers.charge
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
