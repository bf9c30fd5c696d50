"""Two models, or one model twice, as one model: what turns a property of pairs into a question about single points.

In:  two tables of one kind, the columns that each reads, the axes of the points.
Out: a `Product`: one table whose scores are those of both, and `goal(i, j)`: the first decides for its class i and the
     second for its class j, as comparisons of these scores.
Promise: every point at which the two deployed models decide so has the goal of the product, as bounds read it, so a
refutation is one of the property. Witnesses are run through `predict`.

Two kinds of extra scores make the bound of a prover tight; both follow from the decisions, so they exclude nothing:
* `excess`, the exact sum of both sides' margins, rounded up to a coarse lattice. Where the copies reach leaves that are
  equal it is 0, and both decisions together need more than minus the rounding.
* `wrong`, how many trees give the first copy more of what decides for i than the second. Float sums are monotone in
  each term (fl(a + c) <= fl(b + c) for a <= b): with none such, the second decides for i whenever the first does.
  Where the library squashes scores before it compares them, trees count in which the two differ at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from mace.axes import Axis
from mace.columns import Column
from mace.compilers.thresholds import before_cast
from mace.errors import ModelError
from mace.exact import above, below, exact
from mace.margins import compare_slack
from mace.tables import Compare, Decision, Ensemble, Floats, Layer, Network, Tree, decision_of
from mace.verify.merge import Merger, TooLarge, alone

MOST_PAIRS = 12  # of classes, for which there are extra scores
BITS = {"float64": 30, "float32": 16}  # of the lattice of `excess`
Pair: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Product:
    """One table for two models; `extra` maps a pair of classes to the comparisons that follow from it."""

    table: Ensemble | Network
    columns: tuple[Column, ...]
    first: tuple[Decision, ...]
    second: tuple[Decision, ...]
    extra: dict[Pair, tuple[Compare, ...]]

    def goal(self, pairs: Sequence[Pair]) -> Decision:
        """One of these pairs of decisions (indices of classes of the first and of the second model)."""
        return tuple(
            (*one, *other, *self.extra.get((i, j), ()))
            for i, j in pairs
            for one in self.first[i]
            for other in self.second[j]
        )


def decisions_of(table: Ensemble | Network) -> tuple[Decision, ...]:
    """One decision a class; of a regression model, whose scores are compared as they are, one that always holds."""
    if not table.classes:
        return (((),),)
    return tuple(decision_of(table, index) for index in range(len(table.classes)))


def product(
    one: Ensemble | Network,
    one_columns: Sequence[Column],
    other: Ensemble | Network,
    other_columns: Sequence[Column],
    axes: Sequence[Axis],
    pairs: Sequence[Pair],
) -> Product:
    """The product of two models.

    axes:  one a feature; columns name features by their place there.
    pairs: the decisions that will be asked for.
    Raises ModelError for a network beside an ensemble.
    """
    columns, place = _union(one_columns, other_columns, axes)
    if isinstance(one, Network) and isinstance(other, Network):
        return _networks(one, place[0], other, place[1], columns)
    if isinstance(one, Ensemble) and isinstance(other, Ensemble):
        return _Trees(one, place[0], other, place[1], columns, axes, pairs).product()
    raise ModelError("no prover takes a network and a tree ensemble together")


def _union(
    one: Sequence[Column], other: Sequence[Column], axes: Sequence[Axis]
) -> tuple[tuple[Column, ...], list[list[int]]]:
    """The columns of both, equal ones once, and where each column of each model went."""
    columns: list[Column] = []
    seen: dict[object, int] = {}
    places: list[list[int]] = []
    for given in (one, other):
        place: list[int] = []
        for column in given:
            column = column.on(axes[column.feature])
            # NaN is not equal to itself: by its text it is. Of one model no two columns are made one: that would add
            # their weights, and round.
            same = (column.feature, repr(column.values), repr(column.chain), repr(column.missing))
            number = 0
            while seen.get((*same, number)) in place:
                number += 1
            key = (*same, number)
            if key not in seen:
                seen[key] = len(columns)
                columns.append(column)
            place.append(seen[key])
        places.append(place)
    return tuple(columns), places


def _moved(decision: Decision, by: int) -> Decision:
    return tuple(
        tuple(
            replace(c, plus=None if c.plus is None else c.plus + by, minus=None if c.minus is None else c.minus + by)
            for c in part
        )
        for part in decision
    )


# ---------------------------------------------------------------------------------------------- ensembles


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
    ) -> None:
        self.columns, self.axes = columns, axes
        self.same_sums = (one.dtype, one.divide) == (other.dtype, other.divide)
        self.error = max(exact(one.error), exact(other.error))
        if not self.same_sums:
            if any(c.than and t.divide != 1 for t in (one, other) for d in decisions_of(t) for p in d for c in p):
                raise ModelError("the two models divide their sums differently, and compare them with numbers")
            # Sums of another precision or divisor: each score is known up to its own rounding.
            self.error = max(_loosened(one), _loosened(other))
        self.squashed = {one.rule, other.rule} & {"sigmoid", "softmax"}
        self.alike = one.rule == other.rule and self.same_sums and not self.error and one.ordered and other.ordered
        self.one, self.other = _tested_alike(one, other)
        self.one, self.other = _on(self.one, one_place, len(columns)), _on(self.other, other_place, len(columns))
        self.shift = one.outputs
        self.opposed = self._opposed(pairs)
        self.unit = self._unit()

    def product(self) -> Product:
        """The table and what follows from each pair of decisions."""
        one, other = self.one, self.other
        trees: list[Tree] = []
        merger = Merger(one, self.columns, self.axes)
        empty_one, empty_other = np.zeros(one.outputs), np.zeros(other.outputs)
        for number in range(max(len(one.trees), len(other.trees))):
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
        table = Ensemble(
            tuple(trees),
            len(self.columns),
            start,
            # The rule only says how much rounding there is behind the scores: the larger of the two.
            "softmax" if "softmax" in self.squashed else "sigmoid" if self.squashed else "value",
            (),
            one.cast,
            one.test,
            one.dtype if self.same_sums else "float64",
            one.divide if self.same_sums else 1,
            f"{one.name} twice" if one.name == other.name else f"{one.name} and {other.name}",
            self.same_sums and one.ordered and other.ordered,
            above(self.error),
        )
        first = decisions_of(one)
        second = tuple(_moved(decision, self.shift) for decision in decisions_of(other))
        extra = {pair: self._follows(number, pair, table) for number, pair in enumerate(self.opposed)}
        return Product(table, self.columns, first, second, extra)

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
            mine, others = decisions_of(self.one)[i], decisions_of(self.other)[j]
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
            shifted = _moved(((others,),), self.shift)[0][0]
            slack = compare_slack(table, mine).possible + compare_slack(table, shifted).possible
        needed = (exact(mine.than) + exact(others.than)) * table.divide - slack
        than = below(needed / table.divide)
        # One of the two comparisons is strict: without rounding, so is their sum.
        compares.append(Compare(place, None, than, strict=needed == slack == 0))
        if self.alike and not self._leaf(self.one.start, self.other.start)[place + 1]:
            compares.append(Compare(place + 1, None, below(Fraction(1, 2 * table.divide))))
        return tuple(compares)


def _at(value: Floats, place: int | None) -> float:
    return 0.0 if place is None else float(value[place])


def _loosened(table: Ensemble) -> Fraction:
    """How far a score of the library, times the divisor, may lie from the exact sum."""
    return max(compare_slack(table, Compare(output, None)).possible for output in range(table.outputs))


def _on(table: Ensemble, place: Sequence[int], columns: int) -> Ensemble:
    """The same trees over other columns."""
    where = np.array([*place, -1], np.int32)  # -1, a leaf's column, stays -1
    return replace(
        table, trees=tuple(replace(tree, column=where[tree.column]) for tree in table.trees), columns=columns
    )


def _tested_alike(one: Ensemble, other: Ensemble) -> tuple[Ensemble, Ensemble]:
    """Both with one cast and one comparison: thresholds of one or both are moved, which changes no answer."""
    if (one.cast, one.test) == (other.cast, other.test):
        return one, other
    return _plainly_tested(one), _plainly_tested(other)


def _plainly_tested(table: Ensemble) -> Ensemble:
    """Tests `x <= t` of the float64 itself: t becomes the largest float64 that passes the library's own test."""
    known: dict[float, float] = {}

    def moved(threshold: float) -> float:
        if threshold not in known:
            known[threshold] = _last_passing(table, threshold)
        return known[threshold]

    trees = tuple(
        replace(
            tree,
            threshold=np.array(
                [
                    moved(float(t)) if tree.column[node] >= 0 and node not in tree.members else float(t)
                    for node, t in enumerate(tree.threshold)
                ],
                np.float64,
            ),
            members={node: before_cast(found, table.cast) for node, found in tree.members.items()},
        )
        for tree in table.trees
    )
    return replace(table, trees=trees, cast="float64", test="<=")


def _last_passing(table: Ensemble, threshold: float) -> float:
    if not math.isfinite(threshold):
        return threshold if table.test == "<=" or threshold < 0 else math.nextafter(math.inf, 0.0)

    def passes(value: float) -> bool:
        return bool(table.passes(np.array([value]), np.array([threshold]))[0])

    from mace.exact import float_to_rank, rank_to_float, to_float32

    near = float_to_rank(threshold)
    reach = (
        2
        if table.cast == "float64"
        else max(
            4, abs(float_to_rank(float(np.nextafter(np.float32(to_float32(threshold)), np.float32(np.inf)))) - near) * 4
        )
    )
    low, high = near - reach, near + reach  # Invariant: low passes, high does not.
    if not passes(rank_to_float(low)) or passes(rank_to_float(high)):
        raise ModelError(f"the threshold {threshold!r} of {table.name} cannot be moved to float64")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if passes(rank_to_float(middle)) else (low, middle)
    return rank_to_float(low)


# ---------------------------------------------------------------------------------------------- networks


def _networks(
    one: Network, one_place: Sequence[int], other: Network, other_place: Sequence[int], columns: tuple[Column, ...]
) -> Product:
    """Both networks side by side; hidden units that compute the same of the same are there once."""
    depth = max(len(one.layers), len(other.layers))
    layers: list[Layer] = []
    inputs: list[list[int]] = [list(one_place), list(other_place)]
    width = len(columns)
    tables = [_deepened(one, depth), _deepened(other, depth)]
    for number in range(depth):
        last = number == depth - 1
        units: dict[object, int] = {}
        weights: list[Floats] = []
        bias: list[float] = []
        reached: list[list[int]] = []
        for copy, table in enumerate(tables):
            layer = table.layers[number]
            places = []
            for unit in range(len(layer.bias)):
                row = np.zeros(width)
                for source, weight in zip(inputs[copy], layer.weights[:, unit], strict=True):
                    row[source] += weight
                key = (copy if last else 0, unit if last else 0, row.tobytes(), float(layer.bias[unit]))
                if key not in units:
                    units[key] = len(weights)
                    weights.append(row)
                    bias.append(float(layer.bias[unit]))
                places.append(units[key])
            reached.append(places)
        layers.append(Layer(np.array(weights).T.copy(), np.array(bias), "identity" if last else "relu"))
        inputs, width = reached, len(weights)
    rules = {one.rule, other.rule} & {"sigmoid", "softmax"}
    table = Network(
        tuple(layers),
        len(columns),
        "softmax" if "softmax" in rules else "sigmoid" if rules else "value",
        (),
        f"{one.name} twice" if one.name == other.name else f"{one.name} and {other.name}",
        "float32" if "float32" in (one.dtype, other.dtype) else "float64",
    )
    second = tuple(_moved(decision, one.outputs) for decision in decisions_of(other))
    more = Compare(0, one.outputs, 0.0, strict=True)
    extra: dict[Pair, tuple[Compare, ...]] = {(0, 0): (more,)} if not one.classes else {}
    return Product(table, columns, decisions_of(one), second, extra)


def _deepened(network: Network, depth: int) -> Network:
    """The same function in more layers: relu(a) = a for a >= 0, and x = relu(x) - relu(-x)."""
    layers = list(network.layers)
    while len(layers) < depth:
        if len(layers) == 1:
            only = layers[0]
            inputs = len(only.weights)
            split = Layer(np.hstack([np.eye(inputs), -np.eye(inputs)]), np.zeros(2 * inputs), "relu")
            layers = [split, replace(only, weights=np.vstack([only.weights, -only.weights]))]
        else:
            units = len(layers[-2].bias)
            layers.insert(-1, Layer(np.eye(units), np.zeros(units), "relu"))
    return replace(network, layers=tuple(layers))


__all__ = ["Product", "decisions_of", "product"]
