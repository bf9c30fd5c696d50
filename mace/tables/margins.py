"""How far the deployed float scores of a model may lie from its exact ones, and what that means for a comparison.

In:  a table, a comparison of its scores, and for networks a bound on the inputs.
Out: a `Slack`, in exact rationals. With the exact margin of a comparison (see `exact_margin`):
     * a float comparison that holds has `possible(compare, margin, slack)`: use it for lower bounds;
     * `surely(compare, margin, slack)` guarantees the float comparison: use it for witnesses.
Promise: both hold for any order of summation, with or without fused multiply-add, and with subnormal numbers flushed
to zero or not. Where no operation can round, the slack is 0 and both are the comparison itself.
How: ensembles are computed in exact rationals. Networks are computed in doubles that are rounded outward
(`_upper`), a few microseconds a layer: the bounds are sums and products of non-negative numbers, so one factor covers
all their own rounding.
Source: Higham, Accuracy and Stability of Numerical Algorithms (2nd ed.), sections 3.1 and 3.5, lemma 3.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from operator import mul
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.cache import Kept
from mace.base.exact import (
    LARGEST_32,
    UNIT_ROUNDOFF,
    UNIT_ROUNDOFF_32,
    above,
    exact,
    first_float,
    gamma,
)
from mace.errors import ModelError
from mace.tables import leaves
from mace.tables.table import Bools, Compare, Ensemble, Floats, Network, Rule

# Below the smallest normal number an operation errs by at most that number, even where processors flush to zero.
SMALLEST = {"float64": Fraction(1, 2**1022), "float32": Fraction(1, 2**126)}
_LARGEST = {"float64": Fraction((2**53 - 1) * 2**971), "float32": LARGEST_32}
_UNIT = {"float64": UNIT_ROUNDOFF, "float32": UNIT_ROUNDOFF_32}
_DIGITS = {"float64": 53, "float32": 24}

# Scores this near to the boundary of a squashed decision count as on either side of it, in units of the dtype: exp is
# not correctly rounded, so where 1 / (1 + exp(-s)) leaves 1/2, and which exponentials tie, depends on the library's
# own libm. The sums, quotients and an exp of at most 4 ulp move the boundary by fewer than these many units.
_SQUASHED: dict[Rule, int] = {"sigmoid": 16, "softmax": 32}

FEW_VALUES = 256  # of leaves that are looked at before all of them


class Slack(NamedTuple):
    """How far a float comparison may differ from the exact one; both are >= 0, see `possible` and `surely`."""

    possible: Fraction
    sure: Fraction


class Needed(NamedTuple):
    """What an exact margin must reach: `bound`, or more than it if `strict`."""

    bound: Fraction
    strict: bool

    def met(self, margin: Fraction) -> bool:
        """Whether an exact margin reaches it."""
        return margin > self.bound if self.strict else margin >= self.bound


def needed(compare: Compare, slack: Slack, *, sure: bool) -> Needed:
    """The exact margin from which on the float comparison may hold, or, if `sure`, from which on it holds."""
    if sure:
        return Needed(slack.sure, strict=compare.strict or slack.sure > 0)
    return Needed(-slack.possible, strict=compare.strict and slack.possible == 0)


def possible(compare: Compare, margin: Fraction, slack: Slack) -> bool:
    """Whether the float comparison may hold, given its exact margin."""
    return needed(compare, slack, sure=False).met(margin)


def surely(compare: Compare, margin: Fraction, slack: Slack) -> bool:
    """Whether the float comparison holds for certain, given its exact margin."""
    return needed(compare, slack, sure=True).met(margin)


def compare_slack(
    table: Ensemble | Network,
    compare: Compare,
    magnitude: Sequence[Fraction | float] | None = None,
    input_error: Sequence[Fraction] | None = None,
) -> Slack:
    """The slack of one comparison of float scores.

    magnitude, input_error: shape (columns,), for networks only, see `network_error`.
    Raises ModelError when a score may overflow, or when a network comes without `magnitude`.
    """
    if isinstance(table, Ensemble):
        slack = _ensemble_slack(table, compare)
        moved = exact(table.error) * sum(side is not None for side in (compare.plus, compare.minus))
        slack = Slack(slack.possible + moved, slack.sure + moved)
    else:
        if magnitude is None:
            raise ModelError("the rounding margin of a network needs a bound on every input column")
        errors = network_error(table, magnitude, input_error)
        total = sum((errors[side] for side in (compare.plus, compare.minus) if side is not None), Fraction(0))
        slack = Slack(total, total)
    squashed = _SQUASHED.get(table.rule, 0) * _UNIT[table.dtype]
    if isinstance(table, Ensemble):
        squashed *= table.divide  # The margins of ensembles are not divided.
    return Slack(slack.possible + squashed, slack.sure + squashed)


# ---------------------------------------------------------------------------------------------- exact scores


def exact_scores(table: Ensemble | Network, row: Floats) -> tuple[Fraction, ...]:
    """The scores of a row of shape (columns,) without any rounding; those of an ensemble are not divided."""
    if isinstance(table, Ensemble):
        reached = leaves.values_of(table, row)
        if reached is None:
            reached = np.array([tree.value[table.leaf(tree, row)] for tree in table.trees])
        return tuple(exact(first) + _exact_sum(column) for first, column in zip(table.start, reached.T, strict=True))
    ratios = [float(value).as_integer_ratio() for value in row]
    scale = max((bottom.bit_length() - 1 for _, bottom in ratios), default=0)
    values = [(top << scale) // bottom for top, bottom in ratios]  # times 2^scale
    bits, layers = in_integers(table)
    for layer, (weights, offsets) in zip(table.layers, layers, strict=True):
        columns = zip(*weights, strict=True)
        values = [sum(map(mul, values, c)) + (b << scale) for c, b in zip(columns, offsets, strict=True)]
        scale += bits
        if layer.activation == "relu":
            values = [max(value, 0) for value in values]
    return tuple(Fraction(value, 1 << scale) for value in values)


def _exact_sum(values: Floats) -> Fraction:
    """The sum of finite floats of shape (n,), without any rounding."""
    mantissa, exponent = np.frexp(values.astype(np.float64))
    least = int(exponent.min(initial=0))
    whole = np.ldexp(mantissa, 53).astype(np.int64).tolist()
    total = sum(number << (place - least) for number, place in zip(whole, exponent.tolist(), strict=True))
    return Fraction(total << max(least - 53, 0), 1 << max(53 - least, 0))


class Integers(NamedTuple):
    """A network's numbers as integers times 2^-bits: per layer the weights [input][output] and the offsets."""

    bits: int
    layers: list[tuple[list[list[int]], list[int]]]


@lru_cache(maxsize=8)  # tables are compared by identity
def in_integers(network: Network) -> Integers:
    """The weights and offsets of a network, without any rounding."""
    floats = np.concatenate([np.append(layer.weights.ravel(), layer.bias) for layer in network.layers])
    _, exponent = np.frexp(floats[floats != 0])
    bits = max(0, 53 - int(exponent.min(initial=53)))

    def whole(value: float) -> int:
        top, bottom = value.as_integer_ratio()
        return (top << bits) // bottom

    return Integers(
        bits,
        [
            ([[whole(w) for w in row] for row in layer.weights.tolist()], [whole(b) for b in layer.bias.tolist()])
            for layer in network.layers
        ],
    )


def exact_margin(table: Ensemble | Network, compare: Compare, scores: Sequence[Fraction]) -> Fraction:
    """By how much exact scores satisfy a comparison: plus side - minus side - than (times `divide`)."""
    divide = table.divide if isinstance(table, Ensemble) else 1
    margin = -exact(compare.than) * divide
    if compare.plus is not None:
        margin += scores[compare.plus]
    if compare.minus is not None:
        margin -= scores[compare.minus]
    return margin


# ---------------------------------------------------------------------------------------------- ensembles


def _ensemble_slack(table: Ensemble, compare: Compare) -> Slack:
    """Errors of the sums of both sides, of the division, and of nothing else: comparing floats is exact."""
    return _SLACKS.get(table, compare, lambda: _slack_of_sums(table, compare))


# Compilers ask at every leaf, readings of a row once a comparison: half-spaces of ten classes are hundreds of them.
_SLACKS: Kept[Slack] = Kept(2048)


def _slack_of_sums(table: Ensemble, compare: Compare) -> Slack:
    sides = [side for side in (compare.plus, compare.minus) if side is not None]
    start = table.start[sides]
    added = _leaves_of(table)
    added = added._replace(values=added.values[:, sides])
    unit, terms = _UNIT[table.dtype], len(table.trees) + (1 if any(start) else 0)
    # |fl(sum) - sum| <= g(n - 1) times the sum of magnitudes, in any order; both sides come from the same leaves.
    size = _exact_sum(np.abs(start)) + _largest_rows(added)
    if size * (1 + gamma(terms + 1, unit)) > _LARGEST[table.dtype]:
        raise ModelError(f"the sums of {table.name} may overflow {table.dtype}; its leaf values are not usable")

    # What divides all values divides a few; most forests have sums of which that is too fine already.
    grain = _grain(start, added.values[:FEW_VALUES])
    if not grain or size <= grain * 2 ** _DIGITS[table.dtype]:
        grain = _grain(start, added.values)
    if table.dtype == "float32" and not _all_float32(table):
        terms += 1  # Every leaf is rounded to float32 once before it is added.
        summing = gamma(terms - 1, unit) * size + terms * SMALLEST["float32"]
    elif size <= grain * 2 ** _DIGITS[table.dtype]:
        summing = Fraction(0)  # Every partial sum is a multiple of `grain` that the format holds exactly.
    else:
        summing = gamma(max(terms - 1, 0), unit) * size

    if table.divide & (table.divide - 1) == 0 and summing == 0 and grain / table.divide >= SMALLEST[table.dtype]:
        return Slack(Fraction(0), Fraction(0))  # Division by a power of two is exact.
    dividing = Fraction(0)
    if table.divide != 1:
        # Quotients are monotone, so they cannot change the order of two sums, only make neighbours equal: harmless
        # where that does not alter the answer, and impossible between sums a whole `grain` apart if it is coarse.
        dividing = 2 * unit * size * (1 + gamma(terms, unit)) + 2 * table.divide * SMALLEST[table.dtype]
        if len(sides) == 2 and compare.than == 0 and summing == 0 and grain > dividing:
            dividing = Fraction(0)
    both = len(sides) == 2 and compare.than == 0
    loosened = dividing if not (both and compare.strict) else Fraction(0)
    tightened = dividing if not (both and not compare.strict) else Fraction(0)
    return Slack(summing + loosened, summing + tightened)


class _Leaves(NamedTuple):
    """What the leaves of all trees add, shape (leaves, outputs), and where those of each tree begin."""

    values: Floats
    begins: NDArray[np.intp]


@lru_cache(maxsize=8)  # every comparison asks; tables are compared by identity
def _leaves_of(table: Ensemble) -> _Leaves:
    if not table.trees:
        return _Leaves(np.zeros((0, len(table.start))), np.zeros(0, dtype=np.intp))
    flat = leaves.flat(table)
    places = np.flatnonzero(flat.column < 0)
    return _Leaves(flat.value.take(places, axis=0), np.searchsorted(places, flat.roots))


def _largest_rows(added: _Leaves) -> Fraction:
    """The largest sum of magnitudes of one leaf, of each tree, added and rounded up."""
    if not len(added.begins):
        return Fraction(0)
    with np.errstate(over="ignore"):
        # Column by column, since numpy is slow at adding up short rows.
        sums, sides = sum(np.abs(added.values).T, np.zeros(len(added.values))), added.values.shape[1]
    if not np.isfinite(sums).all():
        return 2 * _LARGEST["float64"]
    found = _exact_sum(np.maximum.reduceat(sums, added.begins))
    return found * (1 + gamma(sides)) if sides > 1 else found


def _grain(start: Floats, added: Floats) -> Fraction:
    """The largest power of two that divides every value: all sums are multiples of it; 0 where all values are 0."""
    added = added.ravel(order="K")
    if added.size > FEW_VALUES:
        some = _grain(start, added[:FEW_VALUES])
        # That of a few is no smaller. Dividing by no more than 1 is exact, and what is infinite then is a multiple.
        if SMALLEST["float64"] <= some <= 1:
            with np.errstate(over="ignore"):
                times = added * float(1 / some)
            finer = added[times != np.floor(times)]
            return min(some, _grain(start, finer)) if finer.size else some
    bits = np.abs(np.concatenate([start, added])).view(np.int64)
    bits = bits[bits != 0]
    if not bits.size:
        return Fraction(0)
    exponent = bits >> 52
    whole = bits & (2**52 - 1) | (exponent > 0).astype(np.int64) << 52  # a value is this times 2^(exponent - 1075)
    lowest = ((whole & -whole).astype(np.float64).view(np.int64) >> 52) - 1023
    return Fraction(2) ** int((np.maximum(exponent, 1) + lowest).min() - 1075)


def _all_float32(table: Ensemble) -> bool:
    """Whether every number that is added is a float32 already."""
    parts = [table.start, *(tree.value for tree in table.trees)]
    with np.errstate(over="ignore"):
        return all(bool(np.array_equal(part.astype(np.float32).astype(np.float64), part)) for part in parts)


# ---------------------------------------------------------------------------------------------- networks


def network_error(
    network: Network, magnitude: Sequence[Fraction | float], input_error: Sequence[Fraction] | None = None
) -> tuple[Fraction, ...]:
    """For every output, a bound on |float score - exact score| over all inputs of bounded magnitude.

    magnitude:   shape (columns,); |exact value of the column| <= magnitude.
    input_error: shape (columns,); |float input - exact value of the column|, 0 where absent.
    Raises ModelError when a score may overflow.
    Source: E(k+1) = |W| E(k) + g(n+1) (|W| (A(k) + E(k)) + |b|), A(k+1) = |W| A(k) + |b|, n the fan-in; ReLU is exact
    and cannot enlarge an error.
    """
    errors: Sequence[Fraction | float] = input_error if input_error is not None else [0.0] * network.columns
    if len(magnitude) != network.columns or len(errors) != network.columns:
        raise ModelError(f"{network.name} has {network.columns} columns, the margin was asked for {len(magnitude)}")
    return _network_error(network, tuple(map(_upper_end, magnitude)), tuple(map(_upper_end, errors)))


def _upper_end(bound: Fraction | float) -> float:
    """The least double that is no smaller."""
    return bound if isinstance(bound, float) else above(bound)


@lru_cache(maxsize=16)  # a decision asks once for every comparison; tables are compared by identity
def _network_error(
    network: Network, magnitude: tuple[float, ...], input_error: tuple[float, ...]
) -> tuple[Fraction, ...]:
    size, error = np.array(magnitude), np.array(input_error)
    for layer in network.layers:
        weights, bias, fan_in = np.abs(layer.weights), np.abs(layer.bias), len(layer.weights)
        relative = above(gamma(fan_in + 1, _UNIT[network.dtype]))
        smallest = above((2 * fan_in + 2) * SMALLEST[network.dtype])
        with np.errstate(over="ignore", invalid="ignore"):
            rounding = relative * _upper(weights, _upward(size + error), bias) + smallest
            error = _upward(_upper(weights, error, np.zeros_like(bias)) + _upward(_upward(rounding)))
            size = _upper(weights, size, bias)
            largest = size + error
        if not np.all(largest < float(_LARGEST[network.dtype]) / 2):
            raise ModelError(f"the scores of {network.name} may overflow {network.dtype} on these inputs")
    return tuple(exact(bound) for bound in error)


def _upper(matrix: Floats, vector: Floats, shift: Floats) -> Floats:
    """An upper bound of vector @ matrix + shift, all of them >= 0, whatever the order of summation.

    With n terms, exact <= (computed + n eta) / (1 - g(n + 1)) <= (computed + n eta) (1 + 2 (n + 1) u) for n < 2^50;
    the factor below has six units more, for its own product and sum.
    """
    terms = len(matrix) + 1
    if not shift.any() and not (matrix.any() and vector.any()):
        return np.zeros_like(shift)
    factor = 1.0 + (2 * terms + 8) * float(UNIT_ROUNDOFF)
    return _upward((vector @ matrix + shift + terms * float(SMALLEST["float64"])) * factor)


def _upward(values: Floats) -> Floats:
    """The next doubles above: undoes one rounding to nearest."""
    return np.where(values > 0, np.nextafter(values, np.inf), values)


# ---------------------------------------------------------------------------------------------- functions of one score

SATURATED = (-800.0, 40.0)
"""Below the first, 1 / (1 + exp(-s)) is exactly 0 in floats of either type; from the second on it is exactly 1."""


def turns_of(holds: Callable[[Floats], Bools], knots: Floats) -> tuple[bool, tuple[float, ...]]:
    """Whether something holds for the lowest doubles, and each double from which on it is otherwise.

    knots: shape (n,), rising. Below the first and above the last nothing changes; between two neighbours, these aside,
    it changes once at most. (`numpy.interp` gives the knots their own values, and between two of them rounds a sum and
    a product, which are monotone: it may pass a knot's value by an ulp just before the knot, and fall back there.)
    """
    with np.errstate(over="ignore"):
        near = np.concatenate([knots, np.nextafter(knots[:-1], np.inf), np.nextafter(knots[1:], -np.inf)])
    places = np.unique(near)
    held = holds(places)
    changes = np.flatnonzero(held[1:] != held[:-1])

    def other(than: bool) -> Callable[[float], bool]:
        return lambda score: bool(holds(np.array([score]))[0]) != than

    turns = [first_float(other(bool(held[k])), float(places[k]), float(places[k + 1])) for k in changes.tolist()]
    return bool(held[0]), tuple(turns)


def squashed_between(place: float, dtype: str) -> tuple[float, float]:
    """Two scores around the one whose 1 / (1 + exp(-s)) is `place`, which lies above 0 and is at most 1.

    Up to the first it is below `place`, and from the second on at least `place`, in floats of `dtype`, whatever the
    libm, if its exp errs by at most 4 ulp: then the whole errs by fewer than 16 units, or by numbers below the normal.
    """
    relative, tiny = 16 * float(_UNIT[dtype]), 2 * float(SMALLEST[dtype])

    def squashed(score: float) -> float:
        small = math.exp(-abs(score))
        return 1.0 / (1.0 + small) if score >= 0 else small / (1.0 + small)

    low, high = SATURATED
    may = first_float(lambda s: s == high or squashed(s) * (1 + relative) + tiny >= place, low, high)
    must = first_float(lambda s: s == high or squashed(s) * (1 - relative) - tiny >= place, low, high)
    return max(low, math.nextafter(may, -math.inf)), must
