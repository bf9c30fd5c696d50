"""Lines through a network over the end states of a node.

In:  a question whose model is a network, and a form for every feature.    Out: `Bound`, with a line each comparison.
Promise: as `mace.plans.bounds`. The margins of rounding are those of `mace.tables.margins`, and our own arithmetic in
doubles is covered by `UNIT` times the sum of magnitudes of everything that is added.
Source: Zhang et al. 2018 (CROWN), for the lines through ReLUs.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mace.plans.bounds import Bound, Box, Floats, Line
from mace.plans.nodes import Forms
from mace.problem.question import Question
from mace.solve.networks.model import columns_of, numbers
from mace.space.axes import GridAxis
from mace.tables.table import Network
from mace.worlds.affine import Ranges

UNIT = 2.0**-53


class Prepared(NamedTuple):
    """The first layer's inputs: slope @ v + base, and something in [low, high], v the indices of the variables.

    size: the sum of magnitudes of what base, low and high are added from.
    """

    slope: Floats
    base: Floats
    low: Floats
    high: Floats
    size: Floats


class NetworkBounds:
    """Lines through a network; see the module."""

    def __init__(self, question: Question, moving: Sequence[str]) -> None:
        model = question.model
        assert isinstance(model, Network)
        self.layers = model.layers
        self.axes = {axis.name: axis for axis in question.axes}
        self.moving = [name for name in moving if name in self.axes]
        parts = numbers(question).parts
        outputs = model.outputs
        ends = list(itertools.accumulate((len(part.than) for part in parts), initial=0))
        self.parts = [range(low, high) for low, high in itertools.pairwise(ends)]
        self.rows = np.concatenate([part.C[:, :outputs] for part in parts])
        self.than = np.concatenate([part.than for part in parts])
        fan_in = sum(len(layer.weights) for layer in model.layers)
        self.unit = 8 * (fan_in + 64) * UNIT
        self._first(question)

    def _first(self, question: Question) -> None:
        """What the first layer makes of features: of those that move, per unit or per level; all others together."""
        first = self.layers[0]
        row = question.row(question.start)
        forms = columns_of(question)
        order = {axis.name: j for j, axis in enumerate(question.axes)}
        moving = {order[name] for name in self.moving}
        still = [c for c, column in enumerate(question.columns) if column.feature not in moving]
        # A number that stays is given as its exact value, like those that move: its rounding is in the margin.
        base = first.bias.copy()
        size = np.abs(first.bias)
        for c in still:
            form, axis = forms[c], question.axes[question.columns[c].feature]
            value = row[c] if form is None else float(form.factor * axis.value(axis.start) + form.shift)
            base = base + value * first.weights[c]
            size = size + abs(value) * np.abs(first.weights[c])
        self.base, self.size = base, size
        self.slope: dict[str, Floats] = {}
        self.levels: dict[str, Floats] = {}
        units = first.weights.shape[1]
        for name in self.moving:
            mine = [c for c, column in enumerate(question.columns) if column.feature == order[name]]
            axis = self.axes[name]
            if isinstance(axis, GridAxis):
                slope, shift, error = np.zeros(units), np.zeros(units), np.zeros(units)
                for c in mine:
                    form = forms[c]
                    assert form is not None
                    slope = slope + float(form.factor) * first.weights[c]
                    shift = shift + float(form.shift) * first.weights[c]
                    error = error + (abs(float(form.shift)) + float(form.magnitude)) * np.abs(first.weights[c])
                self.slope[name] = slope
                self.base = self.base + shift
                self.size = self.size + error
            else:
                values = np.array([[question.columns[c].at(axis, level) for c in mine] for level in range(axis.count)])
                self.levels[name] = np.nan_to_num(values) @ first.weights[mine]
                self.size = self.size + np.abs(np.nan_to_num(values)).max(axis=0) @ np.abs(first.weights[mine])

    def prepare(self, end: Forms, variables: Sequence[str], ranges: Ranges) -> Prepared:
        """See `Bounder`."""
        units = len(self.base)
        slope, base, size = np.zeros((units, len(variables))), self.base.copy(), self.size.copy()
        low, high = np.zeros(units), np.zeros(units)
        for name in self.moving:
            form = end[name]
            if name in self.levels:
                least, most = form.span(ranges)
                levels = self.levels[name]
                some = levels[[level for level in range(len(levels)) if least <= level <= most]]
                low, high = low + some.min(axis=0), high + some.max(axis=0)
                continue
            wide = self.slope[name]
            # Quotients of whole numbers are rounded once.
            start, width = form.least / form.den, (form.most - form.least) / form.den * (1 + 2.0**-50)
            base = base + start * wide
            if width:
                low, high = low + np.minimum(wide, 0) * width, high + np.maximum(wide, 0) * width
            size = size + (abs(start) + width) * np.abs(wide)
            for v, top in form.tops.items():
                slope[:, variables.index(v)] += top / form.den * wide
        return Prepared(slope, base, low, high, size + np.maximum(np.abs(low), np.abs(high)))

    def bound(self, prepared: Prepared, variables: Sequence[str], box: Box) -> Bound:
        """See `Bounder`."""
        ends = np.array([box[name] for name in variables], np.float64).reshape(-1, 2)
        # Indices below 2^53, so that these are exact.
        middle, radius = ends.sum(axis=1) / 2, (ends[:, 1] - ends[:, 0]) / 2
        slope = prepared.slope * radius
        base = prepared.base + prepared.slope @ middle
        size = prepared.size + np.abs(prepared.slope) @ (np.abs(middle) + radius)
        scores = self._through(slope, base, prepared.low, prepared.high, size)
        parts = []
        for part in self.parts:
            lines = [Line(scores.coef[i], float(scores.constant[i])) for i in part]
            if all(line.constant + float(np.abs(line.coef).sum()) * (1 + 2.0**-40) + 1e-300 >= 0 for line in lines):
                parts.append(lines)
        return Bound(parts, scores.worth, scores.spread)

    def likely(self, prepared: Prepared, variables: Sequence[str], point: Sequence[int]) -> bool:  # noqa: ARG002
        """See `Bounder`."""
        values = prepared.base + prepared.slope @ np.array(point, np.float64) + (prepared.low + prepared.high) / 2
        for layer, before in zip(self.layers[1:], self.layers, strict=False):
            values = np.maximum(values, 0) if before.activation == "relu" else values
            values = values @ layer.weights + layer.bias
        margins = self.rows @ values - self.than
        return any(all(margins[i] >= 0 for i in part) for part in self.parts)

    def _through(self, slope: Floats, base: Floats, low: Floats, high: Floats, size: Floats) -> _Lines:
        """Upper lines of the goal's margins over t in [-1, 1]."""
        mine: list[_Relu] = []
        worth = np.zeros(slope.shape[1])
        spread = np.abs(slope).sum(axis=1)
        least, most = base - spread + low - self.unit * size, base + spread + high + self.unit * size
        first = (slope, base, low, high)
        for depth, layer in enumerate(self.layers[1:], 1):
            relu = _relu(least, most, self.layers[depth - 1].activation == "relu")
            mine.append(relu)
            size = np.abs(layer.weights.T) @ size + np.abs(layer.bias)
            if depth == len(self.layers) - 1:
                break
            above = self._back(layer.weights.T, layer.bias, depth, mine, first)
            below = self._back(-layer.weights.T, -layer.bias, depth, mine, first)
            most = above.constant + np.abs(above.coef).sum(axis=1) + self.unit * size
            least = -(below.constant + np.abs(below.coef).sum(axis=1) + self.unit * size)
        last = self.layers[-1]
        weights, offset = self.rows @ last.weights.T, self.rows @ last.bias - self.than
        if not mine:  # a linear model: its one layer is the first
            coef, constant = self.rows @ slope, self.rows @ base - self.than
            constant = constant + np.maximum(self.rows, 0) @ high + np.minimum(self.rows, 0) @ low
            constant = constant + self.unit * (np.abs(self.rows) @ size + np.abs(self.than))
            return _Lines(coef, constant, worth, _spread(self.rows, low, high))
        found = self._back(weights, offset, len(self.layers) - 1, mine, first)
        spare = self.unit * (np.abs(self.rows) @ size + np.abs(self.than))
        # What a unit's lines are off is shared out by what moves it, intervals of forms among it; of deeper layers, by
        # the end's lines.
        part, ends = np.column_stack([np.abs(slope), (high - low) / 2]).T, np.abs(found.coef).sum(axis=0)
        total, ends = part.sum(axis=0), np.append(ends, found.spread / 2)
        worth = np.divide(part, total, out=np.zeros_like(part), where=total > 0) @ found.loss[0]
        worth += sum(float(share.sum()) for share in found.loss[1:]) * ends / max(1e-300, float(ends.sum()))
        return _Lines(found.coef, found.constant + spare, worth[:-1], found.spread + float(worth[-1]))

    def _back(
        self, weights: Floats, offset: Floats, depth: int, relus: list[_Relu],
        first: tuple[Floats, Floats, Floats, Floats],
    ) -> _Backward:  # fmt: skip
        """Upper lines in t of weights @ h + offset, h the outputs of hidden layer `depth`."""
        losses: list[Floats] = []
        for at in range(depth - 1, -1, -1):
            relu = relus[at]
            up, down = np.maximum(weights, 0), np.minimum(weights, 0)
            offset = offset + up @ relu.offset
            losses.append((up * relu.gap - down * relu.dip).sum(axis=0))
            weights = up * relu.slope + down * relu.floor
            if at:
                layer = self.layers[at]
                offset = offset + weights @ layer.bias
                weights = weights @ layer.weights.T
        slope, base, low, high = first
        constant = offset + weights @ base + np.maximum(weights, 0) @ high + np.minimum(weights, 0) @ low
        return _Backward(weights @ slope, constant, losses[::-1], _spread(weights, low, high))


def _spread(weights: Floats, low: Floats, high: Floats) -> float:
    """How much of weights @ x is left open by x in [low, high], of all rows."""
    return float((np.abs(weights) @ (high - low)).sum())


class _Lines(NamedTuple):
    coef: Floats
    constant: Floats
    worth: Floats
    spread: float


class _Backward(NamedTuple):
    coef: Floats
    constant: Floats
    loss: list[Floats]
    spread: float


class _Relu(NamedTuple):
    """floor * z <= relu(z) <= slope * z + offset; gap and dip: the most that the two lines are off."""

    slope: Floats
    offset: Floats
    floor: Floats
    gap: Floats
    dip: Floats


def _relu(low: Floats, high: Floats, bends: bool) -> _Relu:
    """The lines of a layer of units between two bounds."""
    if not bends:
        one, zero = np.ones_like(low), np.zeros_like(low)
        return _Relu(one, zero, one, zero, zero)
    loose = (low < 0) & (high > 0)
    width = np.where(loose, high - low, 1.0)
    slope = np.where(loose, high / width, np.where(high > 0, 1.0, 0.0))
    # One part in 2^50 more covers the rounding of the quotient and of the product.
    offset = np.where(loose, -slope * low * (1 + 2.0**-50), 0.0)
    slope = np.where(loose, np.minimum(slope * (1 + 2.0**-50), 1.0), slope)
    floor = np.where(loose, np.where(high >= -low, 1.0, 0.0), slope)
    gap = np.where(loose, -slope * low, 0.0)
    return _Relu(slope, offset, floor, gap, np.where(loose, np.minimum(-low, high), 0.0))
