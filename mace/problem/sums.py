"""Weighted sums of distances from one start.

In:  factors and norms, and closeness among them.
Out: `summed`: one norm, where its parts weigh the features alike; else a sum of forms, which has a prover for trees and
     linear models; where a largest change is among the parts, too, a program, for the solvers.
Promise: exact; the program that a sum of forms has says the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from mace.language.show import show_name, show_number
from mace.problem.closeness import text_of
from mace.problem.distance import Distance, DistanceProgram, Norm
from mace.problem.forms import Forms
from mace.problem.programs import distance_program
from mace.space.space import Space

Parts = Sequence[tuple[Fraction, Norm | DistanceProgram]]


def summed(parts: Parts, space: Space, name: str) -> tuple[Distance, Fraction]:
    """The sum, and what a distance of 1 of it is in units of the parts."""
    norms = [(factor, part) for factor, part in parts if isinstance(part, Norm)]
    near = [(factor, part.forms) for factor, part in parts if isinstance(part, DistanceProgram) and factor]
    if not near and (alike := sum_of(norms)) is not None:
        total = alike.of([Fraction(1)] * len(space.features)) or Fraction(1)
        unit = replace(alike, alpha=alike.alpha / total, beta=alike.beta / total, gamma=alike.gamma / total)
        return replace(unit, name=name), total
    rows = tuple(
        tuple(factor * weight for weight in row) for factor, forms in near if forms is not None for row in forms.weights
    )
    program = distance_program(text_of(space, rows, _terms(norms, space)), space)
    if any(factor and any(charge.peak for charge in part.charges) for factor, part in norms):
        return DistanceProgram(program, name), Fraction(1)
    once, slopes = (
        tuple(
            sum((factor * getattr(part.charges[j], of) for factor, part in norms), Fraction(0))
            for j in range(len(space.features))
        )
        for of in ("once", "slope")
    )
    forms = Forms(rows, tuple(space.columns), once=once, slopes=slopes).measured(space)
    return DistanceProgram(program, name, forms), Fraction(1)


def sum_of(parts: Sequence[tuple[Fraction, Norm]]) -> Norm | None:
    """A weighted sum of norms as one norm; None where it is none."""
    once, slope, peak = (
        [[factor * getattr(one, of) * weight for weight in one.weights] for factor, one in parts]
        for of in ("alpha", "beta", "gamma")
    )
    if sum(any(row) for row in peak) > 1:
        return None
    return _alike(*([sum(column, Fraction(0)) for column in zip(*rows, strict=True)] for rows in (once, slope, peak)))


def _alike(once: list[Fraction], slope: list[Fraction], peak: list[Fraction]) -> Norm | None:
    """The norm whose feature j pays once, per unit of change, and to the maximum; None if there is none."""
    rows = (once, slope, peak)
    weights = next(row for row in rows if any(row))
    lead = next(j for j, weight in enumerate(weights) if weight)
    shares = [row[lead] / weights[lead] for row in rows]
    if any(
        value != share * w
        for row, share in zip(rows, shares, strict=True)
        for value, w in zip(row, weights, strict=True)
    ):
        return None
    return Norm(shares[0], shares[1], shares[2], tuple(weights))


def _terms(parts: Sequence[tuple[Fraction, Norm]], space: Space) -> list[str]:
    """What a sum of norms adds to a program."""
    sums, tops = [], []
    for factor, one in parts:
        largest = []
        for feature, charge in zip(space.features, one.charges, strict=True):
            x, start = show_name(feature.name), show_name("start_" + feature.name)
            delta = changed = f"(0 if {x} == {start} else 1)"
            if feature.ordered:
                lower, upper = feature.bounds() if feature.numeric else (Fraction(0), Fraction(len(feature.levels) - 1))
                delta = f"abs({x} - {start}) * {show_number(1 / (upper - lower) if upper > lower else Fraction(1))}"
            for share, term in ((charge.once, changed), (charge.slope, delta)):
                if factor * share:
                    sums.append(f"{show_number(factor * share)} * {term}")
            if factor * charge.peak:
                largest.append(f"{show_number(factor * charge.peak)} * {delta}")
        if largest:
            tops.append(f"max({', '.join(['0', *largest])})")
    return [*sums, *tops]
