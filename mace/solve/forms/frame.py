"""A question about forms in doubles: what pieces of the axes and leaves of trees add to the forms and to the goal.

In:  a question whose distance has `Forms`, about an ensemble or a linear model, and one part of its goal.
Out: `FormsPart`, its arrays, and `bound`: what given multipliers prove of a box.
Promise: `bound` is a lower bound of the distance of every point of the box that has the part of the goal, in exact
arithmetic, whatever multipliers it is given: what doubles may lose is taken off.

For multipliers v in [-1, 1] of the forms, lambda >= 0 of the goal's comparisons and prices pi >= 0 of sides of tests,

    d(x) >= v . forms(x) - lambda . (scores(x) - need) - pi . (sides that x takes - sides that its leaves lie on whole)

and the right side is a sum of parts, one an axis and one a tree, of which each is minimised by itself.
Source: the Lagrangian bound of the linear relaxation; of trees Misic 2020, "Optimization of tree ensembles".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.exact import exact
from mace.problem.distance import DistanceProgram, norm
from mace.problem.forms import Forms
from mace.problem.question import Question
from mace.solve.networks.model import column_bounds, columns_of
from mace.space.axes import Axis, Box, GridAxis, LevelAxis, holds
from mace.tables.margins import compare_slack
from mace.tables.table import Compare, Ensemble, Network

Array = NDArray[Any]
UNIT = 2.0**-52
FINE = 40  # binary digits of what a proof holds: of a form's multiplier after the point, of the largest price


class Multipliers(NamedTuple):
    """forms: (forms,) in [-1, 1]. goal: (comparisons,) >= 0. prices: (rows of sides,) >= 0."""

    forms: Array
    goal: Array
    prices: Array

    @property
    def unit(self) -> float:
        """A power of two of which every price, once it is `written`, is a multiple."""
        return float(np.ldexp(1.0, int(np.frexp(self.prices.max(initial=0.0))[1]) - FINE - 1))

    def written(self) -> Multipliers:
        """These multipliers, rounded as a proof writes them."""
        unit = 2 * self.unit  # rounded up, the largest may reach the next power of two
        return Multipliers(np.round(self.forms * 2.0**FINE) / 2.0**FINE, self.goal, np.round(self.prices / unit) * unit)

    def times(self, factor: float) -> Multipliers:
        """All of them, by a power of two."""
        return Multipliers(self.forms * factor, self.goal * factor, self.prices * factor)


class Trees(NamedTuple):
    """The trees of an ensemble over pieces.

    gain:   (comparisons, leaves) what a leaf adds. tree: (leaves,) first: (trees,) where each one's leaves begin.
    holds:  (leaves, items) whether a piece lies on the leaf's side, for all axes on its way.
    leaf_of, row_of: in pairs, each leaf and each row of sides on which it lies whole.
    sides:  (rows, items) the pieces of a side.
    of, node: (rows,) the tree of a side, and the node of that tree to which its test leads.
    """

    gain: Array
    tree: Array
    first: Array
    holds: Array
    leaf_of: Array
    row_of: Array
    sides: Array
    of: Array
    node: Array


class Items(NamedTuple):
    """Pieces of all axes, one after the other: a level, or a run of indices on which all trees answer alike.

    begin: (axes + 1,) where an axis's pieces begin. first, last: lists of indices; of a level twice.
    low, high: (items,) the change at the ends of a piece, in shares of the axis's scale; 0 for levels.
    """

    begin: Array
    first: list[int]
    last: list[int]
    low: Array
    high: Array


class FormsPart:
    """One part of the goal, in arrays: what levels, numbers and leaves add to the forms and to its comparisons.

    effects: (items, forms) of a level; (axes, forms) `slopes` of a number, per change by its whole scale.
    jumps: (axes,) what the change of a number costs once, beside the forms.
    scores, rates: the same for the comparisons; need: what their sums must reach.
    """

    def __init__(self, question: Question, number: int) -> None:
        assert isinstance(question.distance, DistanceProgram) and question.distance.forms is not None
        assert not question.distance.forms.constants, "the prover of forms takes no constants"
        self.axes = question.axes
        part = question.goal.decision[number]
        self.trees: Trees | None = None
        ends: list[list[int]] | None = None
        if isinstance(question.model, Ensemble):
            self.trees, ends, self.need = _trees(question, number)
        self.items = _items(self.axes, ends)
        self.effects, self.slopes = _effects(question.distance.forms, self.axes, self.items)
        self.jumps = np.array(list(map(float, question.distance.forms.jumps(self.axes))))
        count = len(part)
        self.scores, self.rates = np.zeros((len(self.items.low), count)), np.zeros((len(self.axes), count))
        if isinstance(question.model, Network):
            self.need = self._linear(question, question.model, part)
        self.terms = self.effects.shape[1] + len(self.axes) + len(self.items.low) + 50
        self.terms += 0 if self.trees is None else len(self.trees.sides) + len(self.trees.first)

    @property
    def forms(self) -> int:
        """How many forms there are."""
        return int(self.effects.shape[1])

    def _linear(self, question: Question, model: Network, part: Sequence[Compare]) -> Array:
        """Fill in what the values add to a linear model's comparisons; what these must reach."""
        columns = columns_of(question)
        magnitude, error = column_bounds(question, columns)
        weights, bias = model.layers[0].weights, model.layers[0].bias
        need = np.zeros(len(part))
        for c, compare in enumerate(part):
            sides = [(1, compare.plus), (-1, compare.minus)]
            known = [(sign, side) for sign, side in sides if side is not None]
            slack = compare_slack(model, compare, magnitude, error)
            offset = sum((sign * exact(bias[side]) for sign, side in known), Fraction(0))
            for k, (column, form) in enumerate(zip(question.columns, columns, strict=True)):
                j, axis = column.feature, self.axes[column.feature]
                weight = sum((sign * exact(weights[k][side]) for sign, side in known), Fraction(0))
                if form is not None:
                    assert isinstance(axis, GridAxis)
                    self.rates[j, c] += float(weight * form.factor * axis.scale)
                    offset += weight * (form.factor * axis.start_value + form.shift)
                else:
                    values = [exact(value) for value in column.values or ()]
                    for item in range(*self.items.begin[j : j + 2]):
                        self.scores[item, c] += float(weight * values[self.items.first[item]])
            need[c] = float(exact(compare.than) - offset - slack.possible)
        return need

    def active(self, box: Box) -> tuple[Array, Array, Array]:
        """Of a box: which pieces it has (items,), and the change at their ends (items,)."""
        items = self.items
        has, low, high = np.zeros(len(items.low), bool), items.low.copy(), items.high.copy()
        for j, (axis, side) in enumerate(zip(self.axes, box, strict=True)):
            for item in range(*items.begin[j : j + 2]):
                if isinstance(side, tuple):
                    assert isinstance(axis, GridAxis)
                    has[item] = items.first[item] <= side[1] and items.last[item] >= side[0]
                    if has[item] and items.first[item] < side[0]:
                        low[item] = change(axis, side[0])
                    if has[item] and items.last[item] > side[1]:
                        high[item] = change(axis, side[1])
                else:
                    has[item] = bool(side >> items.first[item] & 1)
        return has, low, high

    def reached(self, has: Array) -> Array:
        """Which leaves (leaves,) some point of the pieces reaches."""
        assert self.trees is not None
        both = self.trees.holds & has
        return np.asarray(np.logical_or.reduceat(both, self.items.begin[:-1], axis=1).all(axis=1))

    def moved(self, box: Box) -> float:
        """What the changes of numbers that no point of the box leaves at the start cost once."""
        sides = zip(self.jumps.tolist(), box, self.axes, strict=True)
        return float(sum(jump for jump, side, axis in sides if jump and not holds(side, axis.start)))

    def bound(self, box: Box, by: Multipliers, *, jumps: bool = True) -> float:
        """No point of the box with the goal is nearer; infinite where it has none.

        jumps: whether they count. Without them, and without forms, all above 0 says that no point has the goal.
        """
        once = self.moved(box) if jumps else 0.0
        has, low, high = self.active(box)
        v, goal, size = by.forms, by.goal, np.abs(by.forms)
        paid = np.zeros(len(has)) if self.trees is None else by.prices @ self.trees.sides
        level = self.effects @ v - self.scores @ goal
        slope = np.repeat(self.slopes @ v - self.rates @ goal, np.diff(self.items.begin))
        value = level + np.minimum(slope * low, slope * high) - paid
        total = np.minimum.reduceat(np.where(has, value, np.inf), self.items.begin[:-1]).sum() + goal @ self.need + once
        steep = np.repeat(np.abs(self.slopes) @ size + np.abs(self.rates) @ goal, np.diff(self.items.begin))
        reach = np.abs(self.effects) @ size + np.abs(self.scores) @ goal
        reach = reach + steep * np.maximum(np.abs(low), np.abs(high)) + paid
        mass = np.maximum.reduceat(np.where(has, reach, 0.0), self.items.begin[:-1]).sum()
        mass += goal @ np.abs(self.need) + once
        if self.trees is not None:
            there, one = self.reached(has), self.trees
            cost = np.bincount(one.leaf_of, by.prices[one.row_of], len(one.tree)) - goal @ one.gain
            least = np.minimum.reduceat(np.where(there, cost, np.inf), one.first)
            total += least.sum()
            mass += np.maximum.reduceat(np.abs(cost) + goal @ np.abs(one.gain), one.first).sum()
        return float(total - self.terms * UNIT * mass)


def _end(axis: GridAxis, cuts: Array, cut: int) -> int:
    """The last index on the left of a cut; below 0 and beyond the last one are tests that say the same everywhere."""
    if cut < 0:
        return axis.lower - 1
    return int(cuts[cut]) if cut < len(cuts) else axis.upper


def change(axis: GridAxis, index: int) -> float:
    """The signed change at an index, in shares of the scale."""
    return float((axis.value(index) - axis.start_value) / axis.scale)


def _items(axes: Sequence[Axis], ends: Sequence[Sequence[int]] | None) -> Items:
    """Pieces of all axes; `ends`: of each grid axis the last index of each piece but the last."""
    begin, first, last = [0], list[int](), list[int]()
    low, high = list[float](), list[float]()
    for j, axis in enumerate(axes):
        if isinstance(axis, LevelAxis):
            first += axis.levels()
            last += axis.levels()
            low += [0.0] * len(axis.levels())
            high += [0.0] * len(axis.levels())
        else:
            cuts = [] if ends is None else [k for k in ends[j] if axis.lower <= k < axis.upper]
            firsts, lasts = [axis.lower, *(k + 1 for k in cuts)], [*cuts, axis.upper]
            first += firsts
            last += lasts
            low += [change(axis, k) for k in firsts]
            high += [change(axis, k) for k in lasts]
        begin.append(len(first))
    return Items(np.array(begin), first, last, np.array(low), np.array(high))


def _effects(forms: Forms, axes: Sequence[Axis], items: Items) -> tuple[Array, Array]:
    """What a level (items, forms), and a number per its whole scale (axes, forms), adds to the forms."""
    by_axis = forms.by_axis(axes)
    count = len(by_axis[0][0])
    effects, slopes = np.zeros((len(items.low), count)), np.zeros((len(axes), count))
    for j, axis in enumerate(axes):
        rows = by_axis[j]
        if isinstance(axis, GridAxis):
            slopes[j] = [float(slope * axis.scale) for slope in rows[0]]
        else:
            for item in range(*items.begin[j : j + 2]):
                effects[item] = [float(effect) for effect in rows[items.first[item]]]
    return effects, slopes


def grounding(question: Question) -> Question:
    """The same question under a norm, for which the arrays of trees are made."""
    return replace(question, distance=norm("l1", len(question.axes)))


def _trees(question: Question, number: int) -> tuple[Trees, list[list[int]], Array]:
    """The trees over pieces, the ends of the pieces of grid axes, and what the comparisons of a part need."""
    from mace.solve.ensembles.arrays.cells import ground
    from mace.solve.ensembles.relaxation.relaxation import Relaxation

    grounded = ground(grounding(question))
    one = Relaxation(grounded, grounded.forest, number, Fraction(1))
    axes, unit = question.axes, 2.0**-grounded.aim.exponent
    cuts = [grounded.cuts(j) for j in range(len(axes))]
    ends = [
        [_end(axis, cuts[j], int(k)) for k in one.columns[j].items] if isinstance(axis, GridAxis) else []
        for j, axis in enumerate(axes)
    ]
    items = _items(axes, ends)
    sides, lefts = np.zeros((len(one.sides.tree), len(items.low)), bool), dict[tuple[int, int], NDArray[np.bool_]]()
    for row, (j, cut, side) in enumerate(zip(one.sides.axis, one.sides.cut, one.sides.side, strict=True)):
        axis, mine = axes[j], slice(*items.begin[j : j + 2])
        if (j, cut) not in lefts:  # many nodes ask the same
            if isinstance(axis, GridAxis):
                at = _end(axis, cuts[j], int(cut))
                lefts[j, cut] = np.array([last <= at for last in items.last[mine]], bool)
            else:
                at = int(cuts[j][cut])
                lefts[j, cut] = np.array([at >> level & 1 for level in items.first[mine]], bool)
        sides[row, mine] = lefts[j, cut] == (side == 0)
    holds = np.ones((len(one.tree), len(items.low)), bool)
    leaf_of, row_of = np.repeat(np.arange(len(one.tree)), np.diff(one.at)), one.rows
    tested = np.asarray(one.sides.axis)[row_of]
    for j in np.unique(tested).tolist():
        mine, pairs = slice(*items.begin[j : j + 2]), np.flatnonzero(tested == j)
        leaves, firsts = np.unique(leaf_of[pairs], return_index=True)
        holds[leaves, mine] = np.logical_and.reduceat(sides[row_of[pairs], mine], firsts, axis=0)
    gain = one.gain * unit
    need = np.array([float(one.need[k] * unit) for k in range(len(one.compares))])
    node = one.sides.node - grounded.forest.roots[one.sides.tree]
    trees = Trees(gain, one.tree, one.first_leaf, holds, leaf_of, row_of, sides, one.sides.tree, node)
    return trees, ends, need
