"""A question about a network as arrays for the compiled loops, and as integers for the exact ones.

In:  a Question whose model is a Network and whose distance is a Norm.
Out: `Numbers`, doubles in which a grid axis is measured by its own scaled, signed change; and for each part of the goal
     its comparisons with the rounding margins already taken off (bounds) or put on (witnesses).
Promise: the margins are those of `mace.tables.margins` over the whole declared range of every feature, so at least as
large as the ones that a checker derives for the allowed box.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.exact import exact, nearest
from mace.base.kept import Kept
from mace.problem.distance import Norm
from mace.problem.proof import Phase, Split
from mace.problem.question import Question
from mace.space.axes import Grid, GridAxis
from mace.space.columns import Column
from mace.tables.margins import compare_slack
from mace.tables.table import Network

Array = NDArray[Any]
FLOATS, STEPS, LEVELS = 0, 1, 2  # kinds of axes
# What a checker rounds in its own derivation of the margin is far smaller than this share of it.
LOOSER = 1 + Fraction(1, 2**20)


@dataclass(frozen=True, eq=False)
class Affine:
    """A numeric column as factor * value + shift of its feature's exact value, up to `error`; |column| <= magnitude."""

    factor: Fraction
    shift: Fraction
    magnitude: Fraction
    error: Fraction


@dataclass(frozen=True, eq=False)
class Part:
    """One conjunction of the goal. C (comparisons, N) against the scores; than: what it must reach to be possible."""

    C: Array
    than: Array
    slack: tuple[Fraction, ...]  # E of each comparison


class Axes(NamedTuple):
    """The axes of a question. J axes; I items: one per grid axis, which holds its change, and one per level.

    kind:         (J,) FLOATS, STEPS (multiples of a step) or LEVELS.
    first, count: (J,) an axis's items.
    jump, rate:   (J,) what a change costs in l0, and in l1 per unit; peak: its weight in linf.
    change:       (I,) a level's delta.
    offset, steps: (J,) the start and the scale in steps of the grid.
    """

    kind: Array
    first: Array
    count: Array  # type: ignore[assignment]
    jump: Array
    rate: Array
    peak: Array
    change: Array
    offset: Array
    steps: Array


class Net(NamedTuple):
    """The layers: H hidden ones of up to N units.

    W0: (I, N) an item's effect on the first layer. W: (H + 1, N, N) the other layers. B: (H + 1, N) all offsets.
    relu, size: (H,) whether the layer has ReLUs, and how many units.
    """

    W0: Array
    W: Array
    B: Array
    relu: Array
    size: Array


class Hull(NamedTuple):
    """A box. lo, hi: (J,) the signed scaled change of a grid axis; on: (I,) which levels are left."""

    lo: Array
    hi: Array
    on: Array


class Units(NamedTuple):
    """What a node knows of hidden units. L, U: (H, N) bounds of inputs; phase: (H, N) +1 or -1 where it is fixed."""

    L: Array
    U: Array
    phase: Array


def narrowed(units: Units, split: Split | Phase, side: int) -> Units:
    """What one half of a split node knows of hidden units: a copy, with the phase that it fixes."""
    units = Units(*map(np.copy, units))
    if isinstance(split, Phase):
        place = (split.layer, split.unit)
        units.phase[place] = 1 if side else -1
        if side:
            units.L[place] = max(0.0, units.L[place])
        else:
            units.U[place] = min(0.0, units.U[place])
    return units


@dataclass(frozen=True, eq=False)
class Numbers:
    """A question in doubles, in the units of scaled changes."""

    axes: Axes
    net: Net
    parts: tuple[Part, ...]
    forms: tuple[Affine | None, ...]

    def around(self, hull: Hull) -> Array:
        """The items (I,) of some point of a box."""
        point = np.zeros(len(self.axes.change))
        for first, count, kind, low, high in zip(
            self.axes.first, self.axes.count, self.axes.kind, hull.lo, hull.hi, strict=True
        ):
            if kind != LEVELS:
                point[first] = min(max(0.0, low), high)
            else:
                point[first + int(np.argmax(hull.on[first : first + count]))] = 1.0
        return point


def affine(axis: GridAxis, column: Column, dtype: str) -> Affine:
    """What a column is, exactly, as a function of its feature, and how far the model's float64 may be from it."""
    return _affine(axis.grid, axis.lower, axis.upper, column, dtype)


@lru_cache(maxsize=1024)  # most rows of a space allow the same values
def _affine(grid: Grid, lower: int, upper: int, column: Column, dtype: str) -> Affine:
    largest = max(abs(grid.value(lower)), abs(grid.value(upper)))
    whole = grid.step.denominator == 1 and (grid.extra is None or grid.extra.denominator == 1)
    representable = grid.kind != "step" or (whole and largest <= 2**53)
    error = Fraction(0) if representable else largest / 2**53 + Fraction(1, 2**1074)
    factor, shift = column.affine()
    error = column.error(largest, error)
    size = abs(factor) * largest + abs(shift)
    if dtype == "float32":
        error += (size + error) / 2**24 + Fraction(1, 2**149)
    return Affine(factor, shift, size, error)


def columns_of(question: Question) -> list[Affine | None]:
    """Per column its affine form; None for columns of features with levels."""
    assert isinstance(question.model, Network)
    found: list[Affine | None] = []
    for column in question.columns:
        axis = question.axes[column.feature]
        found.append(
            affine(axis, column, question.model.dtype) if isinstance(axis, GridAxis) and column.values is None else None
        )
    return found


def column_bounds(question: Question, columns: list[Affine | None]) -> tuple[list[Fraction], list[Fraction]]:
    """Per column the largest magnitude of its exact value, and how far the model's float64 may be from it."""
    magnitude, error = [], []
    for column, form in zip(question.columns, columns, strict=True):
        magnitude.append(form.magnitude if form else max(abs(exact(value)) for value in set(column.values or (0.0,))))
        error.append(form.error if form else Fraction(0))
    return magnitude, error


def numbers(question: Question) -> Numbers:
    """The arrays of a question; raises TypeError if its model or distance is of another kind."""
    model, norm = question.model, question.distance
    if not isinstance(model, Network) or not isinstance(norm, Norm):
        raise TypeError("the networks oracle takes a Network and a Norm")
    forms = columns_of(question)
    effects = _effects(question, model, forms)
    layers = _LAYERS.get(model, None, lambda: _padded(model))
    W0 = np.zeros((len(effects), layers.W.shape[1]))
    W0[:, : model.layers[0].weights.shape[1]] = effects
    B = layers.B.copy()
    start = question.row(question.start).astype(np.longdouble)
    shift = start @ model.layers[0].weights.astype(np.longdouble) + model.layers[0].bias.astype(np.longdouble)
    B[0, : effects.shape[1]] = shift.astype(np.float64)
    net = Net(W0, layers.W, B, layers.relu, layers.size)
    return Numbers(_axes_of(question, norm), net, _parts_of(question, model, forms, B.shape[1]), tuple(forms))


class Layers(NamedTuple):
    """What of a `Net` is the model's alone: as there, but for the offsets of the first layer, which are 0."""

    W: Array
    B: Array
    relu: Array
    size: Array


_LAYERS: Kept[Layers] = Kept(1)


def _padded(model: Network) -> Layers:
    layers, N = model.layers, max(len(layer.bias) for layer in model.layers)
    W, B = np.zeros((len(layers), N, N)), np.zeros((len(layers), N))
    for k, layer in enumerate(layers[1:], start=1):
        W[k, : layer.weights.shape[0], : layer.weights.shape[1]] = layer.weights
        B[k, : len(layer.bias)] = layer.bias
    relu = np.array([layer.activation == "relu" for layer in layers[:-1]], dtype=np.bool_)
    return Layers(W, B, relu, np.array([len(layer.bias) for layer in layers[:-1]], dtype=np.int64))


def _axes_of(question: Question, norm: Norm) -> Axes:
    """The axes, with what their changes cost."""
    J = len(question.axes)
    kind, count = np.zeros(J, np.int64), np.ones(J, np.int64)
    offset, steps = np.zeros(J), np.ones(J)
    change: list[float] = []
    for j, axis in enumerate(question.axes):
        if not isinstance(axis, GridAxis):
            kind[j], count[j] = LEVELS, axis.count
            change += [float(axis.delta(level)) for level in range(axis.count)]
            continue
        change.append(0.0)
        kind[j] = STEPS if axis.grid.kind == "step" else FLOATS
        if axis.grid.kind == "step":
            offset[j], steps[j] = nearest(axis.start_value / axis.grid.step), nearest(axis.scale / axis.grid.step)
    jump, rate, peak = (np.array([float(share) for share in shares]) for shares in zip(*norm.charges, strict=True))
    return Axes(kind, np.cumsum(count) - count, count, jump, rate, peak, np.array(change), offset, steps)


def _effects(question: Question, model: Network, forms: list[Affine | None]) -> Array:
    """What each item does to the first layer's sums, shape (I, units): a change of 1, or a level for the start's."""
    columns: list[list[tuple[int, tuple[float, ...] | None]]] = [[] for _ in question.axes]
    for place, column in enumerate(question.columns):
        columns[column.feature].append((place, column.values))
    weights = model.layers[0].weights
    effects: list[Array] = []
    for axis, mine in zip(question.axes, columns, strict=True):
        levels = [0] if isinstance(axis, GridAxis) else range(axis.count)
        for level in levels:
            effect = np.zeros(weights.shape[1])
            for place, values in mine:
                form = forms[place]
                if isinstance(axis, GridAxis):
                    assert form is not None
                    effect = effect + float(axis.scale * form.factor) * weights[place]
                else:
                    assert values is not None
                    effect = effect + (values[level] - values[axis.start]) * weights[place]
            effects.append(effect)
    return np.array(effects)


def _parts_of(question: Question, model: Network, forms: list[Affine | None], N: int) -> tuple[Part, ...]:
    """The parts of the goal, with their rounding margins."""
    magnitude, error = column_bounds(question, forms)
    parts = []
    for part in question.goal.decision:
        C, than, slack = np.zeros((len(part), N)), np.zeros(len(part)), []
        for i, compare in enumerate(part):
            if compare.plus is not None:
                C[i, compare.plus] += 1.0
            if compare.minus is not None:
                C[i, compare.minus] -= 1.0
            found = compare_slack(model, compare, magnitude, error)
            slack.append(max(found.possible, found.sure) * LOOSER)
            than[i] = float(exact(compare.than) - slack[-1])
        parts.append(Part(C, than, tuple(slack)))
    return tuple(parts)
