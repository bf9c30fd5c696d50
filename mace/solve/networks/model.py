"""A question about a network as arrays for the compiled loops, and as integers for the exact ones.

In:  a Question whose model is a Network and whose distance is a Norm.
Out: `Numbers`, doubles in which a grid axis is measured by its own scaled, signed change; and for each part of the goal
     its comparisons with the rounding margins already taken off (bounds) or put on (witnesses).
Promise: the margins are those of `mace.tables.margins` over the whole declared range of every feature, so at least as
large as the ones that a checker derives for the allowed box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.cache import Kept
from mace.base.exact import above, exact, moderate, nearest, rank_to_float
from mace.problem.distance import Charge, Norm
from mace.problem.lines import Line, both_ways
from mace.problem.proof import Phase, Split
from mace.problem.question import Question
from mace.space.axes import Axis, Grid, GridAxis
from mace.space.columns import Column
from mace.tables.margins import compare_slack
from mace.tables.table import Network

Array = NDArray[Any]
FLOATS, STEPS, LEVELS = 0, 1, 2  # kinds of axes
# What a checker rounds in its own derivation of the margin is far smaller than this share of it.
LOOSER = 1 + Fraction(1, 2**20)
UNIT = 2.0**-53
MOST = 1e290  # no more is added to an end, so that doubles still hold it


@dataclass(frozen=True, eq=False)
class Affine:
    """A numeric column as factor * value + shift of its feature's exact value, up to `error`; |column| <= magnitude."""

    factor: Fraction
    shift: Fraction
    magnitude: Fraction
    error: Fraction

    @cached_property
    def plain(self) -> bool:
        """Whether it is the feature's value itself."""
        return self.factor == 1 and not self.shift


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
    held, need:   (K, I), (K,) what rules make hold of the items of every point: held @ items >= need.
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
    held: Array
    need: Array


class Net(NamedTuple):
    """The layers: H hidden ones of up to N units.

    W0: (I, N) an item's effect on the first layer. W: (H + 1, N, N) the other layers. B: (H + 1, N) all offsets.
    relu, size: (H,) whether the layer has ReLUs, and how many units.
    rough: (H, N) by how much rounding may move a unit's bounds where they are derived, at most, see `_rough`.
    """

    W0: Array
    W: Array
    B: Array
    relu: Array
    size: Array
    rough: Array


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
    lines: tuple[Line, ...]  # those of `axes.held`

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
    effects, sizes = _effects(question, model, forms)
    layers = _LAYERS.get(model, None, lambda: _padded(model))
    W0 = np.zeros((len(effects), layers.W.shape[1]))
    W0[:, : model.layers[0].weights.shape[1]] = effects
    B = layers.B.copy()
    start = question.row(question.start).astype(np.longdouble)
    shift = start @ model.layers[0].weights.astype(np.longdouble) + model.layers[0].bias.astype(np.longdouble)
    B[0, : effects.shape[1]] = shift.astype(np.float64)
    lines = both_ways(question.rules)
    axes = axes_of(question.axes, norm.charges, lines)
    net = Net(W0, layers.W, B, layers.relu, layers.size, _rough(question, model, forms, axes, sizes))
    # Forms are told apart by identity, and most rows have the same ones.
    key = (question.goal.decision, question.columns, tuple(forms))
    parts = _PARTS.get(model, key, lambda: _parts_of(question, model, forms, B.shape[1]))
    return Numbers(axes, net, parts, tuple(forms), lines)


_PARTS: Kept[tuple[Part, ...]] = Kept(8)


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


def _rough(question: Question, model: Network, forms: list[Affine | None], axes: Axes, sizes: Array) -> Array:
    """By how much rounding may move the bounds that `kernels.derive` finds of hidden units, at most: shape (H, N).

    Every bound is one sum, of offsets, of coefficients times ends of lower layers, and of coefficients times changes.
    Its error is at most the number of roundings that any of its terms goes through, times the unit roundoff, times the
    sum of the terms' magnitudes over all allowed points.
    Source: Higham, Accuracy and Stability of Numerical Algorithms (2nd ed.), section 3.1.
    """
    hidden = model.layers[:-1]
    found = np.zeros((len(hidden), max(len(layer.bias) for layer in model.layers)))
    if not hidden:
        return found
    row, first = question.row(question.start), np.abs(model.layers[0].weights)
    widest, off = np.ones(len(sizes)), np.zeros(len(row))
    for axis, place in zip(question.axes, axes.first, strict=True):
        if isinstance(axis, GridAxis):
            widest[place] = _widest(axis)
    for place, (form, column) in enumerate(zip(forms, question.columns, strict=True)):
        axis = question.axes[column.feature]
        if form is not None and isinstance(axis, GridAxis):  # how far the start's float is from what is meant
            if form.plain and axis.grid.kind == "float64" and float(row[place]) == rank_to_float(axis.start):
                continue
            meant = axis.start_value if form.plain else form.factor * axis.start_value + form.shift
            off[place] = above(abs(exact(float(row[place])) - meant)) if float(row[place]) != meant else 0.0
    roundings = 4 * len(sizes) + 2 * len(row) + 36
    with np.errstate(over="ignore", invalid="ignore"):
        moved = 2 * off @ first
        terms = reach = np.abs(row) @ first + np.abs(model.layers[0].bias) + widest @ sizes
        for k, layer in enumerate(hidden):
            if k:
                weights, bias = np.abs(layer.weights), np.abs(layer.bias)
                # A ReLU adds an end of it, and its coefficient times what its own sum is made of.
                reach, terms, moved = reach @ weights + bias, (reach + terms) @ weights + bias, moved @ weights
            roundings += len(layer.bias) + 8
            found[k, : len(layer.bias)] = moved + 1.01 * roundings * UNIT * terms
    return np.minimum(np.nan_to_num(found, nan=MOST, posinf=MOST), MOST)


def _widest(axis: GridAxis) -> float:
    """At least the largest change of an axis."""
    if axis.grid.kind == "float64" and axis.missing is None:
        start, scale = nearest(axis.start_value), nearest(axis.scale)
        far = max(abs(rank_to_float(axis.lower) - start), abs(rank_to_float(axis.upper) - start))
        if far < 1e99 and moderate(scale):
            return far / scale * (1 + 2.0**-49) + 2.0**-1000  # more than four roundings
    return above(max(axis.delta(axis.lower), axis.delta(axis.upper)))


def axes_of(all_axes: Sequence[Axis], charges: Sequence[Charge], lines: Sequence[Line]) -> Axes:
    """Some axes, with what their changes cost, and what lines say of them."""
    J = len(all_axes)
    kind, count = np.zeros(J, np.int64), np.ones(J, np.int64)
    offset, steps = np.zeros(J), np.ones(J)
    change: list[float] = []
    for j, axis in enumerate(all_axes):
        if not isinstance(axis, GridAxis):
            kind[j], count[j] = LEVELS, axis.count
            change += [float(axis.delta(level)) for level in range(axis.count)]
            continue
        change.append(0.0)
        kind[j] = STEPS if axis.grid.kind == "step" else FLOATS
        if axis.grid.kind == "step":
            offset[j], steps[j] = nearest(axis.start_value / axis.grid.step), nearest(axis.scale / axis.grid.step)
    jump, rate, peak = (np.array([float(share) for share in shares]) for shares in zip(*charges, strict=True))
    first = np.cumsum(count) - count
    held, need = np.zeros((len(lines), len(change))), np.zeros(len(lines))
    for k, line in enumerate(lines):
        at_start = line.constant
        for j, factor in line.factors:
            axis = all_axes[j]
            if isinstance(axis, GridAxis):
                at_start += factor * axis.start_value
                held[k, first[j]] -= nearest(factor * axis.scale)
            else:
                at_start += factor * axis.start
                held[k, first[j] : first[j] + axis.count] -= nearest(factor) * (np.arange(axis.count) - axis.start)
        need[k] = nearest(at_start)
    return Axes(kind, first, count, jump, rate, peak, np.array(change), offset, steps, held, need)


class Effects(NamedTuple):
    """What each item does to the first layer's sums, and the sums of magnitudes behind that: shape (I, units)."""

    of: Array
    sizes: Array


def _effects(question: Question, model: Network, forms: list[Affine | None]) -> Effects:
    """The effects of the items: of a change of 1, or of a level that takes the place of the start's."""
    columns: list[list[tuple[int, tuple[float, ...] | None]]] = [[] for _ in question.axes]
    for place, column in enumerate(question.columns):
        columns[column.feature].append((place, column.values))
    weights = model.layers[0].weights
    if all(isinstance(axis, GridAxis) and len(mine) == 1 for axis, mine in zip(question.axes, columns, strict=True)):
        # The same as below, at once.
        places = [place for ((place, _),) in columns]
        alone = np.array([_per(axis, forms[place]) for axis, place in zip(question.axes, places, strict=True)])
        return Effects(alone[:, None] * weights[places], np.abs(alone[:, None]) * np.abs(weights[places]))
    effects, sizes = list[Array](), list[Array]()
    for axis, mine in zip(question.axes, columns, strict=True):
        places = [place for place, _ in mine]
        if isinstance(axis, GridAxis):
            per = [_per(axis, forms[place]) for place in places]
            change = size = np.array([per])
        else:
            values = np.array([values for _, values in mine]).reshape(len(mine), axis.count).T
            change, size = values - values[axis.start], np.abs(values) + np.abs(values[axis.start])
        effects.append(change @ weights[places])
        sizes.append(np.abs(size) @ np.abs(weights[places]))
    return Effects(np.concatenate(effects), np.concatenate(sizes))


def _per(axis: Axis, form: Affine | None) -> float:
    """What a change of 1 does to a column of a grid."""
    assert isinstance(axis, GridAxis) and form is not None
    return nearest(axis.scale if form.plain else axis.scale * form.factor)


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
