"""Budgets as expressions of proofs/FORMAT.md, section 2.6.

In:  a `Budget`, and the axes of its question; or a `FormsRule`, which needs none.
Out: the same condition as a sum that a checker evaluates: exact on points, and on boxes as `Budget.can_hold` says.
How: that a value is the level k is max(0, 1 - |x - k|). That it differs from the start's is min(1, |x - start| / gap),
where no value lies nearer than `gap`.
Raises CertificateError where a number may be missing: no rule of a certificate reads one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from mace.certify.numbers import text
from mace.errors import CertificateError
from mace.problem.budget import Budget
from mace.problem.distance import FREE
from mace.problem.forms import Effect, FormsRule
from mace.space.axes import Axis, GridAxis, LevelAxis

Expression = list[Any]
ZERO, ONE = ["c", "0"], ["c", "1"]


def expression_of(budget: Budget, axes: Sequence[Axis]) -> Expression:
    """A budget as a condition."""
    kept = [_sum(budget, counted) for counted in budget.counted(axes)]
    least = kept[0] if len(kept) == 1 else ["min", *kept]
    return ["<" if budget.strict else "<=", least, ["c", text(budget.most)]]


def expression_of_forms(rule: FormsRule) -> Expression:
    """A rule about forms as a condition."""
    sums: list[Expression] = [ZERO]
    for form in range(rule.forms):
        parts = [part for name, effect in rule.effects.items() for part in _added(effect, form, rule.reads[name])]
        if parts:
            sums.append(["abs", ["+", *parts]])
    sums += [_times(once, _changed(axis, rule.reads[name])) for name, (once, axis) in rule.jumps.items()]
    return ["<" if rule.strict else "<=", ["+", *sums], ["c", text(rule.most)]]


def _added(effect: Effect, form: int, j: int) -> list[Expression]:
    """What a feature adds to a form, as a sum."""
    if effect.start is not None:
        slope = effect.rows[0][form]
        return [["*", text(slope), ["-", ["x", j], ["c", text(effect.start)]]]] if slope else []
    return [
        ["*", text(row[form]), ["max", ZERO, ["-", ONE, ["abs", ["-", ["x", j], ["c", str(level)]]]]]]
        for level, row in enumerate(effect.rows)
        if row[form]
    ]


def _sum(budget: Budget, axes: Sequence[Axis]) -> Expression:
    """What the change from the start of the axes costs."""
    sums: list[Expression] = [ZERO]
    tops: list[Expression] = [ZERO]
    for j, (axis, charge) in enumerate(zip(axes, budget.norm.charges, strict=True)):
        if charge == FREE or axis.fixed and axis.allows(axis.start):
            continue
        if axis.may_lack or axis.lacks:
            raise CertificateError(f"`{axis.name}` may be missing, and an earlier objective counts its change")
        delta = _delta(axis, j)
        sums += [_times(charge.once, _changed(axis, j)), _times(charge.slope, delta)]
        tops.append(_times(charge.peak, delta))
    sums.append(["max", *tops])
    return ["+", *sums]


def _times(factor: Fraction, part: Expression) -> Expression:
    return ["*", text(factor), part] if factor else ZERO


def _apart(axis: Axis, j: int) -> Expression:
    """|x - start|, in the axis's own values."""
    return ["abs", ["-", ["x", j], ["c", text(axis.value(axis.start))]]]


def _changed(axis: Axis, j: int) -> Expression:
    """1 where the axis differs from the start, else 0."""
    if isinstance(axis, LevelAxis):
        return ["min", ONE, _apart(axis, j)]
    last = {"float64": 0x7FEFFFFFFFFFFFFF, "float32": 0x7F7FFFFF}.get(axis.grid.kind)
    near = [k for k in (axis.start - 1, axis.start + 1) if last is None or abs(k) <= last]
    gap = min(abs(axis.grid.value(k) - axis.start_value) for k in near)
    return ["min", ONE, _times(1 / gap, _apart(axis, j))]


def _delta(axis: Axis, j: int) -> Expression:
    """The scaled change of an axis."""
    if isinstance(axis, GridAxis):
        return _times(1 / axis.scale, _apart(axis, j))
    ranks = axis.count - (axis.missing is not None)
    return _times(Fraction(1, ranks - 1), _apart(axis, j)) if axis.ordered else _changed(axis, j)
