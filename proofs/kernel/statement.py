"""The question and the claim: features, columns, the goal, the distance, and what no point may be."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from math import gcd, lcm
from typing import Any, NamedTuple

from mace.proofs.kernel.axes import Axis, Mix, Span, read_axis, read_mix
from mace.proofs.kernel.fields import anything, below_or, index, integer, maybe, once, one_of, read, truth
from mace.proofs.kernel.floats import INFINITE, ONE, floating, need, quotient, to_float
from mace.proofs.kernel.forms import Forms
from mace.proofs.kernel.world import Region, Rule, read_rules

SHAPE = {
    "features": [anything], "columns": [anything], "model": anything,
    "goal": [[(maybe(index), maybe(index), floating, truth)]],
    "distance": anything, "rules": [anything], "avoid": [anything], "most_changes": maybe(index),
    "claim": below_or("closer_than", "anywhere"),
}  # fmt: skip
OPERATIONS = one_of("add", "sub", "mul", "div")


class Compare(NamedTuple):
    """One comparison of the goal, s[plus] - s[minus] >= than (> if strict); `than` is times 2^1074."""

    plus: int | None
    minus: int | None
    than: int
    strict: bool

    @property
    def sides(self) -> list[int]:
        """The scores that are compared."""
        return [side for side in (self.plus, self.minus) if side is not None]

    def margin(self, scores: Sequence[Any]) -> Any:
        """Plus side minus minus side."""
        plus = scores[self.plus] if self.plus is not None else 0
        return plus - scores[self.minus] if self.minus is not None else plus

    def holds(self, margin: int | Fraction, slack: int | Fraction) -> bool:
        """Whether it holds for certain, given its exact margin above `than` and how far that may be off."""
        return margin > slack or (not slack and not self.strict and margin == 0)


class Column:
    """One column of the model: a float for each level, or a value's float after a chain of operations.

    Rounding, each operation and the overflow check are monotone functions of the index, so that what holds of the two
    ends of a grid holds of all between them.
    """

    def __init__(self, data: Any, axis: Axis, where: str) -> None:
        self.feature, self.axis = data[0], axis
        self.table: list[int] | None = None
        self.chain: list[list[Any]] = []
        self.given = "float64"
        if not self.axis.is_grid:
            self.table = read(data, (anything, (floating,) * self.axis.count, ()), where)[1]
            return
        if len(data) > 2 and data[2] == "float32":
            need(self.axis.grid == "step", f"{where}: only a value of a grid of steps is rounded once to float32")
            self.given, data = "float32", [*data[:2], [], *data[3:]]
        absent = (floating,) if self.axis.missing is not None else ()
        _, table, self.chain, *beyond = read(data, (anything, anything, [(OPERATIONS, floating)], *absent), where)
        need(table is None, f"{where}: a grid has no table of levels")
        need(all(x or name != "div" for name, x in self.chain), f"{where}: divides by zero")
        self.falling = sum(x < 0 for name, x in self.chain if name in ("mul", "div")) % 2 == 1
        _, high = (self.at(k) for k in (self.axis.full[0], self.axis.full[1] - self.axis.may_lack))
        self.absent = beyond[0] if beyond else 0
        above = self.absent <= high if self.falling else self.absent >= high
        need(above or not self.axis.may_lack, f"{where}: what is missing must lie beyond the largest value")

    def at(self, index: int) -> int:
        """The float that the model is given for an index of the feature, times 2^1074."""
        if self.table is not None:
            return self.table[index]
        if index == self.axis.missing:
            return self.absent
        x = self.axis.number(index)
        x = x if self.axis.grid != "step" else quotient(x, self.axis.unit, self.given)
        for name, y in self.chain:
            need(abs(x) < INFINITE, "statement: columns: a value overflows")
            if name in ("add", "sub"):
                x = to_float(x + y if name == "add" else x - y, "float64")
            else:
                above, below = (x * y, ONE * ONE) if name == "mul" else (x if y > 0 else -x, abs(y))
                x = quotient(above, below, "float64")
        need(abs(x) < INFINITE, "statement: columns: a value overflows")
        return x


class Written:
    """A column as it is written: statements about one model share all of theirs, whatever their axes allow."""

    def __init__(self, data: Any, axes: int, where: str) -> None:
        need(type(data) is list and data, f"{where}: expected a list")
        self.data, self.feature, self.where = data, integer(data[0], 0, axes - 1, where), where


@once
def read_columns(data: Any, axes: int) -> list[Written]:
    """The columns of a statement with so many axes."""
    return [Written(column, axes, f"statement: column {k}") for k, column in enumerate(data)]


@lru_cache(1 << 16)
def column(written: Written, axis: Axis) -> Column:
    """A column of its axis."""
    return Column(written.data, axis, written.where)


class Statement:
    """A validated statement; costs of axes, and `limit` (None: the claim is `anywhere`), count in 1 / `common`."""

    def __init__(self, data: Any, model: Any) -> None:
        found = read(data, SHAPE, "statement")
        mix: Mix = read_mix(found.distance, "statement: distance")
        started = [read_axis(entry, f"statement: feature {j}") for j, entry in enumerate(found.features)]
        axes = [axis for axis, _ in started]
        self.columns = [column(one, axes[one.feature]) for one in read_columns(found.columns, len(axes))]
        self.claim: Fraction | None = found.claim
        claim = [] if self.claim is None else [self.claim]
        self.common = lcm(*(n.denominator for part in (claim, *(axis.measure(mix) for axis in axes)) for n in part))
        self.axes = [axis.counted(mix, self.common).started(start) for axis, start in started]
        self.limit = None if self.claim is None else int(self.claim * self.common)
        self.model = model
        self.goal = [[Compare(*entry) for entry in part] for part in found.goal]
        for compare in (compare for part in self.goal for compare in part):
            known = all(0 <= side < model.outputs for side in compare.sides)
            need(known and compare.sides, "statement: goal: no score is compared, or one that the model does not have")
            plain = len(compare.sides) == 1 or not compare.than
            need(plain, "statement: goal: two scores are compared without a number")
        lacking = bytes(axis.may_lack for axis in axes)
        self.rules: list[Rule] = read_rules(found.rules, lacking)
        self.avoid = [Region(r, axes, f"statement: avoid {k}") for k, r in enumerate(found.avoid)]
        self.most = len(axes) if found.most_changes is None else found.most_changes
        self.forms = Forms(mix.forms, self.axes)
        near = any(region.kind == "near" for region in self.avoid)
        need(not (near and self.forms.count), "statement: avoid: a ball is measured without forms")

    def refutes(self, bound: Fraction) -> bool:
        """Whether no point as far as a bound, or farther, is against the claim.

        Lemma: each part of each cost is a multiple of the axis's `grain`, and so every distance is one of their
        divisor: none lies between the last of these that is below the claim and the claim. What forms add is a multiple
        of nothing.
        """
        if self.claim is None:
            return bound > 0
        return bound >= self.claim if self.forms.count else bound > self.last_below

    @cached_property
    def last_below(self) -> Fraction:
        """The largest number below the claim that can be a distance; where none costs anything, 0."""
        assert self.limit is not None
        common = gcd(*(axis.grain for axis in self.axes))
        return Fraction((self.limit - 1) // common * common if common else 0, self.common)

    def row(self, point: Sequence[int]) -> list[int]:
        """The floats that the model is given at a point."""
        return [column.at(point[column.feature]) for column in self.columns]

    def distance(self, point: Sequence[int]) -> Fraction:
        """How far a point is from the start."""
        return Fraction(sum(self.least(self.box(point))), self.common) + self.forms.of(point)

    def box(self, point: Sequence[int]) -> list[Span]:
        """The box of one point."""
        return [axis.only(k) for axis, k in zip(self.axes, point, strict=True)]

    def least(self, box: Sequence[Span]) -> tuple[int, int]:
        """Two numbers whose sum is the least distance of a box that is not empty, forms aside: of the sum, and of the
        maximum. What forms add is never negative.
        """
        costs = [axis.cost(span) for axis, span in zip(self.axes, box, strict=True)]
        return sum(cost[0] for cost in costs), max((cost[1] for cost in costs), default=0)
