"""Trees that share one distance: a bound by prices for taking sides of their tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from math import lcm
from typing import Any, TypeAlias

from mace.proofs.kernel.axes import Axis, Span, empty, levels, meet, outside
from mace.proofs.kernel.cliques import numbers
from mace.proofs.kernel.ensembles import Reach, Sides
from mace.proofs.kernel.fields import anything, index, integer, least_0, read
from mace.proofs.kernel.floats import ONE, need, rational
from mace.proofs.kernel.forms import Pull
from mace.proofs.kernel.lines import held
from mace.proofs.kernel.state import Clique

PRICES = {
    "largest": [(index, least_0)], "unit": least_0, "prices": [(index, index, index)], "forms?": [anything],
    "rules?": [(index, index, rational)], "cliques?": {"numbers": [index], "units": [index]},
}  # fmt: skip
Entered: TypeAlias = tuple[Span, int]  # a side of a test, and the price of taking it, in units


def prices(reach: Reach, state: Any, *parts: Any) -> None:
    """No point against the claim is in the state: for each open part of the goal a bound of its distance is too large.

    Lemma: prices >= 0 are given for nodes of trees. A point pays the price of each node on whose side it lies, the side
    of the parent's test that leads there, whether it comes that way or not. Its payments, counted by axes and by trees,
    are the same; on each axis it lies in a cell, and of each tree it reaches a leaf, whose path's box, met with the
    state's, may lie on sides whole: for those it pays. So with multipliers and shares >= 0 its distance is at least

        sum over axes of the least (cost - payments) of a cell
        + sum over trees of the least (payments for its box - multipliers * margins) of a leaf
        + multipliers * what the margins of a point with the goal reach.

    What multipliers make of forms, and of the comparisons that rules make hold in the box, is a part of the cost.
    Cliques have prices >= 0 as well: each leaf pays those of the cliques that hold it. Of a clique a point reaches one
    leaf at most, so that all of its leaves together pay no more than these prices, which are subtracted.
    """
    for k, found in priced(reach, state, parts):
        refuted = all(map(reach.statement.refutes, found.bounds(state)))
        need(refuted, f"part {k}: the prices allow a point with the goal")


def narrow(reach: Reach, state: Any, *fields: Any) -> Any:
    """A state without indices of some axes, `[axis, span]` each: the span is what stays; then prices as above.

    Lemma: the bound of `prices` is a sum of what each axis and each tree has least. If the index of a point on one axis
    goes, its cell on this axis is one of those that go: its distance is at least the bound with the least of these in
    the place of the axis's. Every axis is narrowed by itself, so that none needs what another one has narrowed.
    """
    need(fields, "expected a list of axes, and prices")
    axes, before, kept, gone = reach.statement.axes, -1, [], []
    for j, said in read(fields[0], [(index, anything)], "axes"):
        integer(j, before + 1, len(axes) - 1, "axes")
        stays = axes[j].span(said, "span")
        kept.append((j, stays))
        gone.append((j, outside(axes[j], state.box[j], stays)))
        before = j
    gone = [(j, spans) for j, spans in gone if spans]
    for k, found in priced(reach, state, fields[1:]):
        refuted = all(map(reach.statement.refutes, found.bounds(state, gone)[1:]))
        need(refuted, f"part {k}: the prices allow a point with the goal outside of the spans")
    for j, stays in kept:
        state = state.narrowed(j, axes[j], meet(state.box[j], stays))
    return state


def priced(reach: Reach, state: Any, parts: Sequence[Any]) -> Iterator[tuple[int, Prices]]:
    """The open parts of the goal, with the prices of each."""
    need(len(parts) == len(state.parts), f"expected prices for {len(state.parts)} open parts of the goal")
    for k, part in zip(state.parts, parts, strict=True):
        yield k, Prices(reach, part, k, state.cliques)


class Prices:
    """The prices of part k of the goal; `entered`: for each tree and axis the sides that have one; `on`: for each axis.

    `shared`: for each tree what its leaves, by their bits, pay for cliques; `spent`: what all cliques together cost.
    """

    def __init__(self, reach: Reach, data: Any, k: int, known: Sequence[Clique]) -> None:
        self.reach, self.statement, where = reach, reach.statement, f"part {k}"
        goal = self.statement.goal[k]
        found = read(data, {**PRICES, "goal": (least_0,) * len(goal)}, where)
        self.goal, self.unit, self.compares = found.goal, found.unit, [reach.compares.index(c) for c in goal]
        self.pull = self.statement.forms.pull(found.forms, where)
        need(self.pull is None or self.statement.claim is not None, f"{where}: forms: the claim is not about distance")
        self.rules, self.where = found.rules, where
        self.shares: dict[int, Fraction] = {}
        for j, share in found.largest:
            new = 0 <= j < len(self.statement.axes) and j not in self.shares
            need(new, f"{where}: largest: not a feature, or twice")
            self.shares[j] = share
        need(sum(self.shares.values()) <= 1, f"{where}: largest: the shares are more than 1")
        trees = reach.model.trees
        self.entered: list[dict[int, list[Entered]]] = [{} for _ in trees]
        self.on: dict[int, list[Entered]] = {}
        before = (-1, 0)
        for t, n, price in found.prices:
            need(0 <= t < len(trees) and before < (t, n), f"{where}: prices: not a tree, or not in order")
            need(price >= 0, f"{where}: prices: a price is not negative")
            before = (t, n)
            leading = reach.leading(t)
            need(n in leading, f"{where}: prices: no test whose cut is known leads to node {n} of tree {t}")
            j, side = leading[n]
            self.entered[t].setdefault(j, []).append((side, price))
            self.on.setdefault(j, []).append((side, price))
        self.shared: list[dict[int, int]] = [{} for _ in trees]
        self.spent = 0
        if found.cliques is not None:
            self._share(found.cliques, known)

    def _share(self, found: Any, known: Sequence[Clique]) -> None:
        """What leaves pay for some of the cliques of the state."""
        where = f"{self.where}: cliques"
        chosen = numbers(found.numbers, where)
        need(len(chosen) == len(found.units), f"{where}: expected a price for each")
        for number, price in zip(chosen, found.units, strict=True):
            need(number < len(known) and price >= 0, f"{where}: not one of the state, or a price that is negative")
            self.spent += price
            for t, bit in known[number]:
                self.shared[t][bit] = self.shared[t].get(bit, 0) + price

    def bounds(self, state: Any, places: Sequence[tuple[int, Sequence[Span]]] = ()) -> list[Fraction]:
        """No point of the state with this part of the goal is nearer than the first; none at all if there is none,
        since some tree has no leaf for one. Then, for each place, an axis and spans of it: no point is nearer whose
        index on that axis lies in one of them.
        """
        reach, common = self.reach, self.statement.common
        # Leaves count in units of 1 / fine, cells of 1 / small: whole numbers both.
        fine = self.unit.denominator * lcm(*(factor.denominator for factor in self.goal)) * ONE
        factors = [
            (int(factor * fine / ONE), reach.compares[c]) for factor, c in zip(self.goal, self.compares, strict=True)
        ]
        total = sum(
            factor * (reach.needed[c] - compare.margin(reach.model.start))
            for (factor, compare), c in zip(factors, self.compares, strict=True)
        )
        price = int(self.unit * fine)
        total -= price * self.spent
        for t, leaves in enumerate(reach.leaves):
            value, paid = reach.model.trees[t].value, self._payments(t, state.box)
            worth = [
                price * (paid(sides) + self.shared[t].get(bit, 0))
                - sum(factor * compare.margin(value[n]) for factor, compare in factors)
                for n, (bit, sides) in leaves.items()
                if bit & state.alive[t] and not reach.unreached(state, sides)
            ]
            if not worth:
                return []
            total += min(worth)
        small = common * self.unit.denominator * lcm(*(share.denominator for share in self.shares.values()))
        ruled = held(self.statement.rules, self.statement.axes, state.box, self.rules, self.where)
        small *= lcm(*(pull.below for pull in (self.pull, ruled) if pull is not None))
        counts = small, 0 if self.statement.limit is None else small // common, int(self.unit * small)
        least = [self._axis(j, span, counts, ruled) for j, span in enumerate(state.box)]
        whole = sum(least)
        all_axes = [whole]
        for j, spans in places:
            all_axes.append(whole - least[j] + min(self._axis(j, span, counts, ruled) for span in spans))
        return [Fraction(total, fine) + Fraction(axes, small) for axes in all_axes]

    def _payments(self, t: int, box: Sequence[Span]) -> Callable[[Sides], int]:
        """What every point of a leaf's box pays for nodes of its tree, by where the leaf's path narrows the axes."""
        entered = self.entered[t]

        @cache
        def within(j: int, span: Span) -> int:
            return sum(price for side, price in entered[j] if meet(span, side) == span)

        whole = {j: within(j, box[j]) for j in entered}
        everywhere = sum(whole.values())
        return lambda sides: (
            everywhere + sum(within(j, meet(side, box[j])) - whole[j] for j, side in sides.items() if j in whole)
        )

    def _axis(self, j: int, span: Span, counts: tuple[int, int, int], ruled: Pull | None) -> int:
        """The least cost of a value of an axis without its payments, in units of 1 / small.

        counts: small, and how many of these a unit of costs and one of prices have.
        ruled: what multipliers make of rules, which adds to the cost of every single value.
        """
        axis, (small, cost, price) = self.statement.axes[j], counts
        top = int(self.shares.get(j, 0) * cost)
        found = []
        for cell, paid in cells(axis, span, self.on.get(j, ())):
            own = axis.cost(cell)
            pulled = 0 if self.pull is None else self.pull.least(j, cell) * (small // self.pull.below)
            if ruled is None:
                found.append(cost * own[0] + top * own[1] - price * paid + pulled)
                continue
            for k in {*axis.ends(cell), axis.nearest(cell)}:
                own, beside = axis.between(k, axis.start), ruled.at(j, k) * (small // ruled.below)
                found.append(cost * own[0] + top * own[1] + beside - price * paid + pulled)
        return min(found)


def cells(axis: Axis, span: Span, entered: Sequence[Entered]) -> Iterator[tuple[Span, int]]:
    """A span in pieces, each of them in a side or outside of it, and with the prices of the sides that hold it."""
    if not axis.is_grid:
        for level in levels(span):
            yield axis.only(level), sum(price for side, price in entered if side >> level & 1)
        return
    change: dict[int, int] = {span[0]: 0}
    for side, price in entered:
        first, last = meet(span, side)
        if not empty((first, last)):
            change[first] = change.get(first, 0) + price
            change[last + 1] = change.get(last + 1, 0) - price
    firsts = sorted(first for first in change if first <= span[1])
    paid = 0
    for first, last in zip(firsts, [*(first - 1 for first in firsts[1:]), span[1]], strict=True):
        paid += change[first]
        yield (first, last), paid
