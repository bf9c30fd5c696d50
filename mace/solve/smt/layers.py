"""Networks as solver terms: linear layers, and ReLUs of which most are decided by the ball.

In:  a `Network`, a goal, the axes' terms, the radius of the ball.
Out: two formulae: `possible` (true wherever the float model may have the goal: for refutations) and `sure` (true only
     where it has it for certain, even after every number has moved to its nearest float: for witnesses).
Promise: both bounds hold for any order of summation, see `mace.tables.margins`.

How: weights are rounded to a coarse lattice, because exact simplex arithmetic on 53-bit weights is what costs the time;
what that may move a score by is added to the margin. Hidden units get bounds from the ball: the first layer by filling
the radius greedily with the features that move a unit most, later ones by intervals. A unit that is on or off
everywhere is linear; the others get one Bool each and the triangle around their graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor

import numpy as np

from mace.base.exact import exact, magnitude
from mace.problem.distance import Charge
from mace.problem.question import Question
from mace.solve.smt.axes import GridTerm, LevelTerm
from mace.solve.smt.columns import GridColumns
from mace.solve.smt.terms import Term, Terms
from mace.tables.margins import compare_slack
from mace.tables.table import Compare, Layer, Network

ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Sum:
    """A linear sum of solver terms, and the interval of its values in the ball."""

    parts: tuple[tuple[Fraction, Term], ...]
    constant: Fraction
    lower: Fraction
    upper: Fraction


class NetworkTerms:
    """The formulae of one network.

    bits: weights are rounded to this many binary digits relative to the largest of their layer; None for no rounding.
    """

    def __init__(
        self, question: Question, terms: Terms, axes: list[GridTerm | LevelTerm], charges: list[Charge],
        radius: Fraction | None, bits: int | None,
    ) -> None:  # fmt: skip
        assert isinstance(question.model, Network)
        self.question, self.model, self.terms, self.axes = question, question.model, terms, axes
        self.charges, self.radius = charges, radius
        self.grids = {
            place: GridColumns(terms, axis, [(k, c) for k, c in enumerate(question.columns) if c.feature == place])
            for place, axis in enumerate(axes)
            if isinstance(axis, GridTerm)
        }
        self.magnitude, self.snapped = self._columns()
        self.layers, moved = _rounded(self.model.layers, self.magnitude, bits, terms.look)
        sums = [self._over_features(self.layers[0], unit) for unit in range(len(self.layers[0].bias))]
        for number, (before, layer) in enumerate(pairwise(self.layers)):
            if before.activation == "relu":
                sums = [self._relu(f"{number}_{unit}", total) for unit, total in enumerate(sums)]
            sums = self._next(layer, sums)
        decision = question.goal.decision
        self.possible = terms.any(
            [terms.all([self._compare(compare, sums, moved, sure=False) for compare in part]) for part in decision]
        )
        self.sure = terms.any(
            [terms.all([self._compare(compare, sums, moved, sure=True) for compare in part]) for part in decision]
        )

    def _columns(self) -> tuple[list[Fraction], list[Fraction]]:
        """Per column of the model: the largest magnitude in the ball, and how far a value may move to its float."""
        columns = self.question.columns
        largest, moves = [ZERO] * len(columns), [ZERO] * len(columns)
        for k, column in enumerate(columns):
            axis = self.axes[column.feature]
            if isinstance(axis, LevelTerm):
                assert column.values is not None
                largest[k] = max(abs(exact(column.values[level])) for level in axis.levels)
        for grid in self.grids.values():
            for k, (bound, move) in zip(grid.places, grid.bounds(), strict=True):
                largest[k], moves[k] = bound, move
        return largest, moves

    # ------------------------------------------------------------------ layers

    def _over_features(self, layer: Layer, unit: int) -> Sum:
        """A sum of the first layer; its bounds are those of the ball, not only of each feature by itself."""
        parts: list[tuple[Fraction, Term]] = []
        constant = at_start = exact(layer.bias[unit])
        rises: list[tuple[Fraction, Fraction]] = []  # per feature: how far it moves the sum, and the rate
        falls: list[tuple[Fraction, Fraction]] = []
        for place, axis in enumerate(self.axes):
            self.terms.look()
            mine = [(k, c) for k, c in enumerate(self.question.columns) if c.feature == place]
            if isinstance(axis, GridTerm):
                weights = [exact(layer.weights[k, unit]) for k, _ in mine]
                if not any(weights):
                    continue
                more, base, here = self.grids[place].sum(weights)
                moves = self.grids[place].moves(weights)
                at_start += here
                constant += base
                parts += more
            else:
                gains = {
                    level: sum(
                        (exact(layer.weights[k, unit]) * exact(c.values[level]) for k, c in mine if c.values), ZERO
                    )
                    for level in axis.levels
                }
                base = gains[axis.axis.start]
                at_start += base
                constant += base
                moves = [(gain - base, axis.axis.delta(level)) for level, gain in gains.items()]
                if not axis.fixed:
                    parts += [(gains[level] - base, share) for level, share in axis.shares().items()]
            rises.append(_best(moves, self.charges[place], 1))
            falls.append(_best(moves, self.charges[place], -1))
        return Sum(
            tuple(parts), constant, at_start - _filled(falls, self.radius), at_start + _filled(rises, self.radius)
        )

    def _next(self, layer: Layer, inputs: list[Sum]) -> list[Sum]:
        """The sums of a later layer, over the outputs of the one before; bounds by intervals."""
        sums = []
        for unit in range(len(layer.bias)):
            parts: dict[Term, Fraction] = {}
            constant = lower = upper = exact(layer.bias[unit])
            for source, total in enumerate(inputs):
                self.terms.look()
                weight = exact(layer.weights[source, unit])
                if not weight:
                    continue
                ends = (weight * total.lower, weight * total.upper)
                lower, upper = lower + min(ends), upper + max(ends)
                constant += weight * total.constant
                for factor, term in total.parts:
                    parts[term] = parts.get(term, ZERO) + weight * factor
            sums.append(Sum(tuple((f, t) for t, f in parts.items() if f), constant, lower, upper))
        return sums

    def _relu(self, name: str, total: Sum) -> Sum:
        """max(sum, 0)."""
        if total.lower >= 0:
            return total
        if total.upper <= 0:
            return Sum((), ZERO, ZERO, ZERO)
        terms, make = self.terms, self.terms.make
        z, h, on = terms.real(f"z{name}"), terms.real(f"h{name}"), terms.truth(f"on{name}")
        terms.add(make.Equals(z, terms.sum(total.parts, total.constant)))
        # A solver moves bounds of variables, not of sums: what h exceeds z by is a variable of its own.
        above = terms.real(f"n{name}")
        terms.add(make.Equals(above, make.Minus(h, z)))
        for variable, top in ((h, total.upper), (above, -total.lower)):
            terms.add(terms.at_least(variable, ZERO))
            terms.add(terms.at_most(variable, top))
        terms.when(on, terms.at_most(above, ZERO))
        terms.when(on, terms.at_least(z, ZERO))
        terms.when(terms.no(on), terms.at_most(h, ZERO))
        terms.when(terms.no(on), terms.at_most(z, ZERO))
        # The triangle's upper side: h <= upper (z - lower) / (upper - lower), with a slope of few digits rounded up.
        slope = _up(total.upper / (total.upper - total.lower))
        terms.add(make.LE(h, terms.sum([(slope, z)], -slope * total.lower)))
        return Sum(((Fraction(1), h),), ZERO, ZERO, total.upper)

    # ------------------------------------------------------------------ the goal

    def _compare(self, compare: Compare, sums: list[Sum], moved: list[Fraction], *, sure: bool) -> Term:
        terms = self.terms
        slack = compare_slack(self.model, compare, self.magnitude, self.snapped)
        parts: dict[Term, Fraction] = {}
        constant, extra = -exact(compare.than), ZERO
        for side, sign in ((compare.plus, 1), (compare.minus, -1)):
            if side is not None:
                constant += sign * sums[side].constant
                extra += moved[side]
                for factor, term in sums[side].parts:
                    parts[term] = parts.get(term, ZERO) + sign * factor
        score = [(factor, term) for term, factor in parts.items() if factor]
        bound = (slack.sure if sure else -slack.possible) + (extra if sure else -extra)
        # The margin's own digits need not be exact either: outward, to a short number.
        bound = _up(bound) if sure else -_up(-bound)
        if not score:
            return terms.true if (constant > bound if sure else constant >= bound) else terms.false
        total = terms.sum(score)
        limit = terms.number(bound - constant)
        return terms.make.GT(total, limit) if sure else terms.make.GE(total, limit)


def _best(moves: list[tuple[Fraction, Fraction]], charge: Charge, sign: int) -> tuple[Fraction, Fraction]:
    """The farthest that a feature moves a sum, and the most that it moves it per distance paid (0: it pays nothing)."""
    gains = [(sign * move, charge.part(delta)) for move, delta in moves if sign * move > 0]
    top = max((gain for gain, _ in gains), default=ZERO)
    if any(not price for _, price in gains):
        return top, ZERO
    return top, max((gain / price for gain, price in gains), default=ZERO)


def _filled(moves: list[tuple[Fraction, Fraction]], radius: Fraction | None) -> Fraction:
    """The most that features together move a sum within the radius: the cheapest first, each as far as it goes."""
    if radius is None:
        return sum((top for top, _ in moves), ZERO)
    total, left = sum((top for top, rate in moves if not rate), ZERO), radius
    for top, rate in sorted((move for move in moves if move[1]), key=lambda move: -move[1]):
        taken = min(top, rate * left)
        total += taken
        left -= taken / rate
    return total


def _rounded(
    layers: Sequence[Layer], magnitude: list[Fraction], bits: int | None, look: Callable[[], None]
) -> tuple[list[Layer], list[Fraction]]:
    """Weights of few digits, and how far each output may move by that for inputs of bounded magnitude."""
    size, moved, found = list(magnitude), [ZERO] * len(magnitude), []
    for layer in layers:
        weights, bias = layer.weights, layer.bias
        if bits is not None:
            unit = _unit(layer.weights, bits)
            # Exact: the unit is a power of two, and a number minus its nearest multiple needs no more digits.
            weights, bias = np.round(weights / unit) * unit, np.round(bias / unit) * unit
        after_size, after_moved = [], []
        for o in range(len(layer.bias)):
            look()
            kept = [exact(abs(w)) for w in weights[:, o]]
            lost = [abs(exact(w) - exact(v)) for w, v in zip(layer.weights[:, o], weights[:, o], strict=True)]
            shift = abs(exact(layer.bias[o]) - exact(bias[o]))
            # W h - W' h' = W' (h - h') + (W - W') h, with |h| <= size and |h - h'| <= moved.
            after_moved.append(
                _up(sum((k * m + c * s for k, m, c, s in zip(kept, moved, lost, size, strict=True)), shift))
            )
            whole = [exact(abs(w)) for w in layer.weights[:, o]]
            after_size.append(sum((w * s for w, s in zip(whole, size, strict=True)), exact(abs(layer.bias[o]))))
        size, moved = [_up(s) for s in after_size], after_moved
        found.append(Layer(weights, bias, layer.activation))
    return found, moved


def _unit(weights: np.ndarray[tuple[int, int], np.dtype[np.float64]], bits: int) -> float:
    """The power of two that weights are rounded to."""
    largest = float(np.abs(weights).max(initial=0.0))
    return 2.0 ** (int(np.ceil(np.log2(largest))) - bits) if largest else 1.0


def _up(value: Fraction) -> Fraction:
    """A number of 24 binary digits that is not below a number >= 0; others stay as they are."""
    if value <= 0:
        return value
    shift = 24 - magnitude(value)
    scaled = value * Fraction(2) ** shift
    return -floor(-scaled) / Fraction(2) ** shift
