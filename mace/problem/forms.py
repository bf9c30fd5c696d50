"""Sums of absolute values of linear forms: what "closeness" is, beside the program that computes the same.

    d(x) = sum_i | constant_i + sum_k weights_ik (column_k(x) - column_k(start)) |  +  sum_j what the change of j costs

In:  a matrix, a row for each form, over the columns that a space encodes; for each feature what a change costs.
Out: `Forms`: what each level, or each unit, of a feature adds to every form, exact. What a change costs is one more
     form of a single feature, but for what the change of a number costs once, however small it is.
     `FormsRule`: that such a sum does not exceed a number, which is what an earlier objective leaves to later ones.
Promise: `Forms.of` is what the distance program returns (tests/oracles/test_forms.py compares). On a box a rule closes
what a checker closes that evaluates the same sum by intervals (`mace.certify.budgets` writes it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from mace.base.exact import exact, magnitude
from mace.problem.programs import Extent, Rule
from mace.space.axes import Axis, GridAxis, Point
from mace.space.columns import Column
from mace.space.space import Space

Row = tuple[Fraction, ...]  # one number a form


@dataclass(frozen=True)
class Forms:
    """weights: shape (forms, columns); columns: those of the space, in its order.

    constants: what each form is at the start, none for zeros. Certificates speak of them; the prover of forms and what
               an earlier objective leaves to later ones take none.
    once, slopes: of each feature, what a change costs, and what it costs for each delta of 1 (`Axis.delta`); or none.
    finest: about what the feature costs that is cheapest to change, see `measured`; 0 where nobody has said.
    """

    weights: tuple[Row, ...]
    columns: tuple[Column, ...]
    constants: Row = ()
    once: Row = ()
    slopes: Row = ()
    finest: Fraction = Fraction(0)

    def measured(self, space: Space) -> Forms:
        """The same, with what the cheapest feature costs alone, as a power of two: a number from one end of its range
        to the other, or another level than the first. A point may differ from the nearest by a part of this alone.
        """
        found = []
        for j, feature in enumerate(space.features):
            first, *others = self.per_feature.get(j, ((),))
            moved = [sum((abs(a - b) for a, b in zip(first, other, strict=True)), Fraction(0)) for other in others]
            if feature.numeric:
                lower, upper = feature.bounds()
                moved = [sum(map(abs, first)) * (upper - lower)]
            beside = self.once[j] + self.slopes[j] if self.once else Fraction(0)
            found += [one + beside for one in moved or [Fraction(0)]]
        least = min(filter(None, found), default=None)
        return self if least is None else replace(self, finest=Fraction(2) ** magnitude(least))

    def counted_in(self, unit: Fraction) -> Forms:
        """The same sum, in another unit."""
        constants, once, slopes, *rows = (
            tuple(one / unit for one in row) for row in (self.constants, self.once, self.slopes, *self.weights)
        )
        return Forms(tuple(rows), self.columns, constants, once, slopes, self.finest / unit)

    @cached_property
    def per_feature(self) -> dict[int, tuple[Row, ...]]:
        """By feature: of a number one row, per unit of its value; of levels a row for each."""
        found: dict[int, list[list[Fraction]]] = {}
        for k, column in enumerate(self.columns):
            weights = [row[k] for row in self.weights]
            values = [Fraction(1)] if column.values is None else [exact(value) for value in column.values]
            rows = found.setdefault(column.feature, [[Fraction(0)] * len(weights) for _ in values])
            for row, value in zip(rows, values, strict=True):
                if value:
                    row[:] = [old + weight * value for old, weight in zip(row, weights, strict=True)]
        return {feature: tuple(map(tuple, rows)) for feature, rows in found.items()}

    def _effects(self, j: int, axis: Axis) -> tuple[Row, ...]:
        """What a feature adds to the forms of the matrix; see `by_axis`."""
        rows = self.per_feature.get(j)
        if rows is None:
            nothing = (Fraction(0),) * len(self.weights)
            return (nothing,) if isinstance(axis, GridAxis) else (nothing,) * axis.count
        if isinstance(axis, GridAxis):
            return rows
        start = rows[axis.start]
        return tuple(tuple(a - b for a, b in zip(row, start, strict=True)) for row in rows[: axis.count])

    def _charge(self, j: int, axis: Axis, index: int, *, jumps: bool) -> Fraction:
        """What the change of one feature costs by itself; of a number without what it costs once, unless `jumps`."""
        if index == axis.start or not self.once:
            return Fraction(0)
        once = self.once[j] if jumps or not isinstance(axis, GridAxis) else Fraction(0)
        return once + self.slopes[j] * axis.delta(index)

    def by_axis(self, axes: Sequence[Axis]) -> list[tuple[Row, ...]]:
        """What each feature adds to all forms: of a number per unit of its change, of levels each one's change from the
        start. After those of the matrix come the forms of single features.
        """
        found = [list(self._effects(j, axis)) for j, axis in enumerate(axes)]
        for j, axis in enumerate(axes):
            if not self.once or not (self.slopes[j] or self.once[j] and not isinstance(axis, GridAxis)):
                continue
            for i, rows in enumerate(found):
                if i != j:
                    added = [Fraction(0)] * len(rows)
                elif isinstance(axis, GridAxis):
                    added = [self.slopes[j] / axis.scale]
                else:
                    added = [self._charge(j, axis, level, jumps=True) for level in range(axis.count)]
                found[i] = [(*row, one) for row, one in zip(rows, added, strict=True)]
        return [tuple(rows) for rows in found]

    def jumps(self, axes: Sequence[Axis]) -> Row:
        """What the change of each feature costs once beside all forms: of numbers alone."""
        return tuple(
            self.once[j] if self.once and isinstance(axis, GridAxis) else Fraction(0) for j, axis in enumerate(axes)
        )

    def of(self, axes: Sequence[Axis], point: Point) -> Fraction:
        """The distance of a point from the start."""
        sums, charged = list(self.constants or (Fraction(0),) * len(self.weights)), Fraction(0)
        for j, (axis, index) in enumerate(zip(axes, point, strict=True)):
            charged += self._charge(j, axis, index, jumps=True)
            if index == axis.start or j not in self.per_feature:
                continue
            rows = self._effects(j, axis)
            if isinstance(axis, GridAxis):
                change = axis.value(index) - axis.start_value
                sums = [total + change * slope for total, slope in zip(sums, rows[0], strict=True)]
            else:
                sums = [total + effect for total, effect in zip(sums, rows[index], strict=True)]
        return sum(map(abs, sums), charged)


class Effect(NamedTuple):
    """What a feature adds to the forms.

    rows:  of a number one row, per unit of its change from `start`; of levels a row for each.
    start: of a number; None for levels.
    """

    rows: tuple[Row, ...]
    start: Fraction | None

    def between(self, form: int, side: Extent) -> tuple[Fraction, Fraction]:
        """The least and the largest that an interval of numbers, or the levels from the first to the last of some, add.

        Of several levels any that lie between may count at once: intervals do not tell them apart.
        """
        if isinstance(side, tuple):
            assert self.start is not None
            ends = [self.rows[0][form] * (value - self.start) for value in side]
            return min(ends), max(ends)
        first, last = min(side), max(side)
        if first == last:
            return self.rows[first][form], self.rows[first][form]
        found = [self.rows[level][form] for level in range(first, last + 1)]
        below, above = [one for one in found if one < 0], [one for one in found if one > 0]
        return sum(below, Fraction(0)), sum(above, Fraction(0))


@dataclass(frozen=True, kw_only=True)
class FormsRule(Rule):
    """A sum of forms is at most `most`, or below it if `strict`.

    effects: by the name of a feature. jumps: of numbers of which a change costs something once, this, and their axes.
    """

    effects: Mapping[str, Effect]
    jumps: Mapping[str, tuple[Fraction, GridAxis]]
    most: Fraction
    strict: bool

    @classmethod
    def of(cls, rule: Rule, forms: Forms, axes: Sequence[Axis], most: Fraction, *, strict: bool) -> FormsRule:
        """A rule whose program says the same."""
        assert not forms.constants, "such a rule has no constants"
        effects, jumps, by_axis = {}, {}, forms.by_axis(axes)
        once = forms.jumps(axes)
        for name, j in rule.reads.items():
            axis = axes[j]
            effects[name] = Effect(by_axis[j], axis.start_value if isinstance(axis, GridAxis) else None)
            if once[j] and isinstance(axis, GridAxis):
                jumps[name] = (once[j], axis)
        return cls(rule.source, rule.program, rule.reads, effects=effects, jumps=jumps, most=most, strict=strict)

    @property
    def forms(self) -> int:
        """How many forms there are."""
        return len(next(iter(self.effects.values())).rows[0]) if self.effects else 0

    def holds(self, axes: Sequence[Axis], point: Point) -> bool:
        """Whether a point obeys the rule."""
        total = self.value(axes, point)
        return total < self.most if self.strict else total <= self.most

    def value(self, axes: Sequence[Axis], point: Point) -> Fraction:
        """The sum at a point."""
        sums = [Fraction(0)] * self.forms
        for name, effect in self.effects.items():
            index = point[self.reads[name]]
            factor, row = Fraction(1), effect.rows[0 if effect.start is not None else index]
            if effect.start is not None:
                factor = axes[self.reads[name]].value(index) - effect.start
            if factor:
                sums = [total + factor * weight for total, weight in zip(sums, row, strict=True)]
        moved = (once for name, (once, axis) in self.jumps.items() if point[self.reads[name]] != axis.start)
        return sum(map(abs, sums), sum(moved, Fraction(0)))

    def can_hold(self, box: Mapping[str, Extent]) -> bool:
        """False only if no point of a box obeys the rule."""
        least = Fraction(0)
        for name, (once, axis) in self.jumps.items():
            side = box[name]
            assert isinstance(side, tuple)
            if not side[0] <= axis.start_value <= side[1]:
                least += once
        for form in range(self.forms):
            sides = [effect.between(form, box[name]) for name, effect in self.effects.items()]
            low, high = sum(low for low, _ in sides), sum(high for _, high in sides)
            least += max(low, -high, Fraction(0))
            if least > self.most:
                return False
        return least < self.most if self.strict else least <= self.most
