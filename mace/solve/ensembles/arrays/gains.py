"""What leaves add to the comparisons of a goal, in scaled integers.

In:  a model's trees, and the comparisons that a goal is made of.
Out: `LeafGains`: of every leaf what it adds to each comparison, and the sum that a comparison needs.
Promise: the scaled gain of a leaf is an upper bound of its exact gain, and sums below a need show that its comparison
does not hold, whatever the rounding of the library's sums (`mace.tables.margins`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.exact import exact
from mace.solve.ensembles.arrays.cuts import Array, Trees
from mace.tables.margins import compare_slack, needed
from mace.tables.table import Compare, Decision, Ensemble

ALWAYS = -(2**61)  # the need of a comparison that holds whatever the trees say, or a little less


class LeafGains(NamedTuple):
    """Of C comparisons and N nodes of all trees, in units of 2^-exponent.

    gain: (C, N) the largest scaled gain of a leaf below the node.
    need: (C,) a comparison cannot hold when its scaled sum is below this.
    """

    gain: Array
    need: Array
    exponent: int


def gains_of(model: Ensemble, compares: Sequence[Compare], trees: Trees) -> LeafGains:
    """What the leaves of a model add to some comparisons."""
    leaves = np.flatnonzero(trees.column < 0)
    value = trees.value.take(leaves, axis=0)
    sides = [_sides(compare, value) for compare in compares]
    largest = max([1e-300, *(float(np.abs(plus - minus).max()) for plus, minus in sides)])
    exponent = 58 - math.frexp(largest * (len(trees.roots) + 1))[1]
    gain = np.zeros((len(compares), len(trees.column)), np.int64)
    need = np.zeros(len(compares), np.int64)
    for c, (compare, (plus, minus)) in enumerate(zip(compares, sides, strict=True)):
        gain[c, leaves] = _scaled_up(plus, minus, exponent)
        need[c] = _need(model, compare, exponent)
    spread(trees, gain)
    return LeafGains(gain, need, exponent)


def _sides(compare: Compare, value: Array) -> tuple[Array, Array]:
    zero = np.zeros(len(value))
    return (
        value[:, compare.plus] if compare.plus is not None else zero,
        value[:, compare.minus] if compare.minus is not None else zero,
    )


def _scaled_up(plus: Array, minus: Array, exponent: int) -> Array:
    """plus - minus in units of 2^-exponent, rounded up unless it is exact."""
    difference = plus - minus
    rounded = difference - plus  # Knuth's TwoSum: zero when the difference is exact
    error = (plus - (difference - rounded)) - (minus + rounded)
    scaled = np.ldexp(difference, exponent)
    above = np.ceil(scaled)
    if not error.any() and (scaled == above).all():
        return np.asarray(scaled.astype(np.int64))
    spare = np.ceil(np.abs(scaled) * 2.0**-52) + 1
    return np.asarray(above.astype(np.int64) + spare.astype(np.int64))


def _need(model: Ensemble, compare: Compare, exponent: int) -> int:
    """The scaled sum below which a comparison cannot hold, whatever the rounding of the library's sums."""
    least = needed(compare, compare_slack(model, compare), sure=False)
    first = Fraction(0)
    for sign, side in ((1, compare.plus), (-1, compare.minus)):
        first += sign * exact(model.start[side]) if side is not None else 0
    wanted = (exact(compare.than) * model.divide - first + least.bound) * Fraction(2) ** exponent
    limit = math.floor(wanted) + 1 if least.strict else math.ceil(wanted)
    return min(max(limit, ALWAYS), 2**61)


def spread(trees: Trees, gain: Array) -> None:
    """Give every inner node the largest gain below it, from the deepest row upwards."""
    for row in reversed(trees.rows):
        below = gain.take(trees.children.take(row, axis=0), axis=1)
        gain[:, row] = np.maximum(below[:, :, 0], below[:, :, 1])


def is_fuzzy(model: Ensemble, decision: Decision) -> bool:
    """Whether some comparison of the goal cannot be decided by repeating the sums in the order of the trees."""
    if model.certain:
        return False
    return any(any(compare_slack(model, compare)) for part in decision for compare in part)
