"""The product of two tree ensembles: tree by tree, so that what both share is tested once.

In:  two ensembles, where each one's columns stand among those of the product, the pairs of decisions to be asked for.
Out: a `Product` whose table has the scores of the first, those of the second, and extra ones.
Promise: the leaves that a row reaches are those that both ensembles reach, each by its own tests; extra scores follow
from the decisions, so they exclude nothing.

Two kinds of extra scores make the bound of a prover tight:
* `excess`, the exact sum of both sides' margins, rounded up to a coarse lattice. Where the copies reach leaves that are
  equal it is 0, and both decisions together need more than minus the rounding.
* `wrong`, how many trees give the first copy more of what decides for i than the second. Float sums are monotone in
  each term (fl(a + c) <= fl(b + c) for a <= b): with none such, the second decides for i whenever the first does.
  Where the library squashes scores before it compares them, trees count in which the two differ at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from mace.base.deadline import NEVER, Deadline
from mace.base.exact import UNIT_ROUNDOFF, above, below, exact
from mace.compilers.thresholds import before_cast, largest_passing
from mace.space.axes import Axis
from mace.space.columns import Column
from mace.tables.margins import compare_slack
from mace.tables.table import Compare, Decision, Ensemble, Floats, Tree
from mace.verify.product.joint import NoProduct, Pair, Product, decisions_of, moved, name_of
from mace.verify.product.merge import MERGING, Merger, TooLarge, alone

MOST_PAIRS = 12  # of classes, for which there are extra scores
BITS = {"float64": 30, "float32": 16}  # of the lattice of `excess`


def of_ensembles(
    one: Ensemble,
    one_place: Sequence[int],
    other: Ensemble,
    other_place: Sequence[int],
    columns: tuple[Column, ...],
    axes: Sequence[Axis],
    pairs: Sequence[Pair],
    deadline: Deadline = NEVER,
) -> Product:
    """Both ensembles as one; raises NoProduct where their tests or scores have no common form, and TimeOverError."""
    return _Trees(one, one_place, other, other_place, columns, axes, pairs, deadline).product()


class _Trees:
    """The product of two ensembles."""

    def __init__(
        self,
        one: Ensemble,
        one_place: Sequence[int],
        other: Ensemble,
        other_place: Sequence[int],
        columns: tuple[Column, ...],
        axes: Sequence[Axis],
        pairs: Sequence[Pair],
        deadline: Deadline,
    ) -> None:
        self.columns, self.axes, self.deadline = columns, axes, deadline
        self.first, self.second = decisions_of(one), decisions_of(other)
        self.same_sums = (one.dtype, one.divide) == (other.dtype, other.divide)
        self.error = max(exact(one.error), exact(other.error))
        self.alike = one.rule == other.rule and self.same_sums and not self.error and one.ordered and other.ordered
        self.ordered = self.same_sums and one.ordered and other.ordered
        self.squashed = {one.rule, other.rule} & {"sigmoid", "softmax"}
        if not self.same_sums:
            one, other = self._with_common_sums(one, other)
        one, other = _on(one, one_place, len(columns)), _on(other, other_place, len(columns))
        self.one, self.other = _tested_alike(one, other, deadline)
        self.shift = one.outputs
        self.opposed = self._opposed(pairs)
        self.unit = self._unit()

    def _with_common_sums(self, one: Ensemble, other: Ensemble) -> tuple[Ensemble, Ensemble]:
        """Both as sums that are not divided; each score is then known up to its own rounding, which is `error`."""
        found: list[Ensemble] = []
        for table, beside in ((one, other), (other, one)):
            # Numbers of two models are compared with each other: they need one divisor. Decisions compare a model's
            # own scores, with each other or with a number.
            by = 1 if table.classes else beside.divide // math.gcd(one.divide, other.divide)
            scaled, rounding = _times(table, by)
            self.error = max(self.error, _loosened(table) * by + rounding)
            found.append(scaled)
        self.first, self.second = (
            tuple(_undivided(decision, table.divide) for decision in decisions)
            for decisions, table in ((self.first, one), (self.second, other))
        )
        return found[0], found[1]

    def product(self) -> Product:
        """The table and what follows from each pair of decisions."""
        one, other = self.one, self.other
        trees: list[Tree] = []
        merger = Merger(one, self.columns, self.axes, self.deadline)
        empty_one, empty_other = np.zeros(one.outputs), np.zeros(other.outputs)
        for number in range(max(len(one.trees), len(other.trees))):
            self.deadline.look(MERGING)
            a = one.trees[number] if number < len(one.trees) else None
            b = other.trees[number] if number < len(other.trees) else None
            if a is not None and b is not None:
                try:
                    trees.append(merger.merge(a, b, self._leaf))
                    continue
                except TooLarge:
                    pass
            if a is not None:
                trees.append(alone(a, lambda v, known=b is None: self._leaf(v, empty_other, known=known)))  # type: ignore[misc]
            if b is not None:
                trees.append(alone(b, lambda v, known=a is None: self._leaf(empty_one, v, known=known)))  # type: ignore[misc]
        start = self._leaf(one.start, other.start)
        table = replace(
            one,
            trees=tuple(trees),
            columns=len(self.columns),
            start=start,
            # The rule only says how much rounding there is behind the scores: the larger of the two.
            rule="softmax" if "softmax" in self.squashed else "sigmoid" if self.squashed else "value",
            classes=(),
            dtype=one.dtype if self.same_sums else "float64",
            divide=one.divide if self.same_sums else 1,
            name=name_of(one, other),
            ordered=self.ordered,
            error=above(self.error),
            decisions=None,
            link=None,
        )
        second = tuple(moved(decision, self.shift) for decision in self.second)
        extra = {pair: self._follows(number, pair, table) for number, pair in enumerate(self.opposed)}
        return Product(table, self.columns, self.first, second, extra)

    # -------------------------------------------------------------------- extra scores

    def _opposed(self, pairs: Sequence[Pair]) -> dict[Pair, tuple[Compare, Compare]]:
        """For each pair of decisions the two comparisons that contradict each other when the scores are the same."""
        if self.one.outputs != self.other.outputs:
            return {}
        found: dict[Pair, tuple[Compare, Compare]] = {}
        if not self.one.classes:
            # Nothing is decided: the first score shall be larger than the second.
            return {(0, 0): (Compare(0, None), Compare(None, 0))} if pairs else {}
        for i, j in pairs[:MOST_PAIRS]:
            mine, others = self.first[i], self.second[j]
            if len(mine) != 1 or len(others) != 1:
                continue
            for a in mine[0]:
                for b in others[0]:
                    together = a.than + b.than
                    opposed = together > 0 or together == 0 and (a.strict or b.strict)
                    if opposed and (a.plus, a.minus) == (b.minus, b.plus):
                        found[i, j] = (a, b)
        return found

    def _leaf(self, a: Floats, b: Floats, *, known: bool = True) -> Floats:
        """Scores of both, then excess and wrong for each opposed pair; `known`: whether both leaves are."""
        extra: list[float] = []
        for mine, others in self.opposed.values():
            extra.append(self._excess(a, b, mine, others))
            ours = (_at(a, mine.plus), _at(b, others.minus)), (_at(b, others.plus), _at(a, mine.minus))
            fine = known and all(x == y if self.squashed else x <= y for x, y in ours)
            extra.append(0.0 if fine else 1.0)
        return np.concatenate([a, b, extra])

    def _excess(self, a: Floats, b: Floats, mine: Compare, others: Compare) -> float:
        total = (
            exact(_at(a, mine.plus))
            - exact(_at(a, mine.minus))
            + exact(_at(b, others.plus))
            - exact(_at(b, others.minus))
        )
        return float(math.ceil(total / self.unit) * self.unit)

    def _unit(self) -> Fraction:
        """The lattice of `excess`: so coarse that all sums of it are exact."""
        size = sum(
            (
                exact(float(np.abs(tree.value).max(initial=0.0)))
                for model in (self.one, self.other)
                for tree in model.trees
            ),
            exact(float(np.abs(self.one.start).max() + np.abs(self.other.start).max())),
        )
        exponent = math.frexp(float(4 * size) or 1.0)[1]
        return Fraction(2) ** (exponent - BITS[self.one.dtype if self.same_sums else "float64"])

    def _follows(self, number: int, pair: Pair, table: Ensemble) -> tuple[Compare, ...]:
        mine, others = self.opposed[pair]
        place = self.one.outputs + self.other.outputs + 2 * number
        compares: list[Compare] = []
        if not self.one.classes:
            # The very comparison of the two scores, as floats.
            compares.append(Compare(0, self.shift, 0.0, strict=True))
            slack = compare_slack(table, compares[0]).possible
        else:
            shifted = moved(((others,),), self.shift)[0][0]
            slack = compare_slack(table, mine).possible + compare_slack(table, shifted).possible
        needed = (exact(mine.than) + exact(others.than)) * table.divide - slack
        # One of the two comparisons is strict: without rounding, so is their sum. Sums of `excess` are whole multiples
        # of the unit: half a unit less than the least of them is beyond all rounding.
        least = math.floor(needed / self.unit) + 1 if needed == slack == 0 else math.ceil(needed / self.unit)
        compares.append(Compare(place, None, below((least - Fraction(1, 2)) * self.unit / table.divide)))
        if self.alike and not self._leaf(self.one.start, self.other.start)[place + 1]:
            compares.append(Compare(place + 1, None, below(Fraction(1, 2 * table.divide))))
        return tuple(compares)


def _at(value: Floats, place: int | None) -> float:
    return 0.0 if place is None else float(value[place])


def _loosened(table: Ensemble) -> Fraction:
    """How far a score of the library, times the divisor, may lie from the exact sum."""
    return max(compare_slack(table, Compare(output, None)).possible for output in range(table.outputs))


def _times(table: Ensemble, by: int) -> tuple[Ensemble, Fraction]:
    """The ensemble with all that it adds times a whole number, and how far that may round its sums."""
    if by == 1:
        return table, Fraction(0)
    parts = [table.start[None, :], *(tree.value for tree in table.trees)]
    size = sum((exact(float(np.abs(part).max(initial=0.0))) for part in parts), Fraction(0))
    trees = tuple(replace(tree, value=tree.value * by) for tree in table.trees)
    return replace(table, trees=trees, start=table.start * by), size * by * 2 * UNIT_ROUNDOFF


def _undivided(decision: Decision, divide: int) -> Decision:
    """The decision about sums that are not divided, or one that holds wherever it does."""
    return tuple(tuple(replace(c, than=below(exact(c.than) * divide)) for c in part) for part in decision)


def _on(table: Ensemble, place: Sequence[int], columns: int) -> Ensemble:
    """The same trees over other columns."""
    where = np.array([*place, -1], np.int32)  # -1, a leaf's column, stays -1
    return replace(
        table, trees=tuple(replace(tree, column=where[tree.column]) for tree in table.trees), columns=columns
    )


def _tested_alike(one: Ensemble, other: Ensemble, deadline: Deadline) -> tuple[Ensemble, Ensemble]:
    """Both with one cast and one comparison: thresholds of one or both are moved, which changes no answer."""
    if (one.cast, one.test) == (other.cast, other.test):
        return one, other
    return _plainly_tested(one, deadline), _plainly_tested(other, deadline)


def _plainly_tested(table: Ensemble, deadline: Deadline) -> Ensemble:
    """Tests `x <= t` of the float64 itself: t becomes the largest float64 that passes the library's own test."""
    known: dict[float, float] = {}

    def last(threshold: float) -> float:
        if threshold not in known:
            known[threshold] = largest_passing(threshold, table.cast, table.test)
            if not math.isfinite(known[threshold]):
                raise NoProduct(f"the threshold {threshold!r} of {table.name} has no place among the float64 numbers")
        return known[threshold]

    trees = []
    for tree in table.trees:
        deadline.look(MERGING)
        threshold = [
            last(float(t)) if tree.column[node] >= 0 and node not in tree.members else float(t)
            for node, t in enumerate(tree.threshold)
        ]
        members = {node: before_cast(found, table.cast) for node, found in tree.members.items()}
        trees.append(replace(tree, threshold=np.array(threshold, np.float64), members=members))
    return replace(table, trees=tuple(trees), cast="float64", test="<=")


__all__ = ["of_ensembles"]
