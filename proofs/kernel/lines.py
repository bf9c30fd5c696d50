"""Linear comparisons in rules, and what multipliers make of them where they have to hold."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm
from typing import Any

from mace.proofs.kernel.axes import Axis, Span
from mace.proofs.kernel.floats import floor, need
from mace.proofs.kernel.forms import Pull
from mace.proofs.kernel.world import Line, Rule

FINE = 160  # multipliers are integers times 2^-160, rounded down


def held(rules: Sequence[Rule], axes: Sequence[Axis], box: Sequence[Span], data: Any, where: str) -> Pull | None:
    """What multipliers of comparisons in rules, `[rule, comparison, m]` each, make of them over a box; None where none
    are given.

    Lemma: where a rule cannot be true if one of its comparisons is false, the comparison is true at every point of the
    box that obeys the rule: m (a - b) <= 0 there for a <= b and m >= 0. So it is for m <= 0 where the comparison has to
    be false, and m (a - b) = 0 where a and b have to be equal.
    """
    if data is None:
        return None
    found: list[tuple[Fraction, Line]] = []
    for k, m, q in data:
        need(0 <= k < len(rules) and 0 <= m < len(rules[k].comparisons), f"{where}: rules: no such comparison")
        name, line = rules[k].comparisons[m]
        factor = Fraction(floor(q, FINE), 1 << FINE)
        true = name == "==" or (name != "!=" and factor >= 0)
        known = line is not None and all(axes[j].start != axes[j].missing for j in line.factors)
        need(known, f"{where}: rules: comparison {m} of rule {k} is not linear, or reads what is missing at the start")
        ruled = not rules[k].possible(axes, box, (m, (true, not true)))[1]
        need(ruled, f"{where}: rules: rule {k} leaves its comparison {m} open")
        found.append((factor, line))
    units = [(x / axes[j].unit).denominator for _, line in found for j, x in line.factors.items()]
    below = lcm(*units, *(line.constant.denominator for _, line in found)) << FINE
    weights, constant = [[0] * (1 if axis.is_grid else axis.count) for axis in axes], Fraction(0)
    for factor, line in found:
        constant += factor * line.constant
        for j, x in line.factors.items():
            axis, per = axes[j], int(factor * x / axes[j].unit * below)
            if axis.is_grid:
                weights[j][0] += per
                constant += factor * x * Fraction(axis.number(axis.start), axis.unit)
            else:
                weights[j] = [weight + per * level for level, weight in enumerate(weights[j])]
    return Pull(axes, weights, below, int(constant * below))
