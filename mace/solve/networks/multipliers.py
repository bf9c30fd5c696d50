"""Multipliers as proofs hold them: in few bits, without zeros, and for bounds of hidden units that a checker computes.

In:  a node's multipliers in doubles, and its bounds of hidden units.    Out: `Multipliers`.
Promise: a checker's bounds may be a little narrower than the ones here; what depends on their signs is said.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mace.problem.proof import Multipliers
from mace.solve.networks.model import Array, Net, Numbers, Units

LEAST = 2.0**-140  # multipliers are multiples of 2^-V, with 53 bits above
NEAR_ZERO = 2.0**-33  # more than bounds of hidden units near 0 may differ from a checker's, but for rounding


class Rough(NamedTuple):
    """Multipliers of one part of the goal, rounded; as in `relax.Relaxed`."""

    goal: Array
    slope: Array
    mu: Array
    share: Array
    changes: float = 0.0


class Tight(NamedTuple):
    """Why one end of a unit's interval holds: `end` is 0 for the lower one, 1 for the upper one."""

    layer: int
    unit: int
    end: int
    theta: float
    parts: tuple[Rough, ...]


def at_zero(net: Net, units: Units) -> Units:
    """The bounds with those that may be 0 at 0: a checker's own are a little narrower than those that are known here.

    Which line replaces a ReLU depends on the signs of its bounds. So a leaf must close with both.
    """
    L, U, phase = units
    near = NEAR_ZERO + 2 * net.rough
    return Units(np.where(np.abs(L) <= near, 0.0, L), np.where(np.abs(U) <= near, 0.0, U), phase)


def packed(numbers: Numbers, found: Rough, units: Units, most: float = 1.0) -> Multipliers:
    """Multipliers as a proof holds them, without the zeros; shares that are together at most `most`."""
    net, lines = numbers.net, numbers.lines
    goal, slope, mu, share, changes = found
    goal, prices = goal[: len(goal) - len(lines)], goal[len(goal) - len(lines) :]
    relu = net.relu[:, None]
    # Where it may be that l >= 0, an absent slope would mean 1.
    needed = relu & (units.L < 0) & (units.U > 0) & ((slope != 0) | (units.L + 2 * net.rough >= -NEAR_ZERO))

    shares = {j: _fraction(s) for j, s in enumerate(share.tolist()) if s > 0}
    if math.fsum(share[share > 0]) >= most:  # else the exact sum is less, too
        total, limit = sum(shares.values(), Fraction(0)), Fraction(most)
        if total > limit:
            scale = Fraction(math.floor(2**40 * limit / total), 2**40)
            shares = {j: s * scale for j, s in shares.items()}
    return Multipliers(
        tuple(map(_fraction, goal.tolist())),
        _table(slope, needed),
        _table(mu, (units.phase != 0) & (mu > 0)),
        shares,
        changes=Fraction(changes),
        rules=tuple(
            (line.rule, line.part, line.sign * Fraction(price))
            for line, price in zip(lines, prices.tolist(), strict=True)
            if price
        ),
    )


def _table(values: Array, where: Array) -> dict[tuple[int, int], Fraction]:
    """Numbers by layer and unit, of those that count."""
    layers, places = np.nonzero(where)
    numbers = map(_fraction, values[layers, places].tolist())
    return dict(zip(zip(layers.tolist(), places.tolist(), strict=True), numbers, strict=True))


# Most multipliers have few bits: there are thousands of them, and tens of thousands of places.
_fraction = lru_cache(1 << 14)(Fraction)


def goal_of(numbers: Numbers, found: Multipliers) -> Array:
    """The multipliers of the comparisons and of rules as `packed` takes them."""
    place = {(line.rule, line.part, line.sign): k for k, line in enumerate(numbers.lines)}
    prices = np.zeros(len(numbers.lines))
    for rule, part, price in found.rules:
        sign = 1 if (rule, part, -1) not in place or price > 0 else -1
        prices[place[rule, part, sign]] += sign * float(price)
    return np.concatenate([np.array([float(q) for q in found.goal]), prices])


def rounded(values: Array, bits: int, *, down: bool = True) -> Array:
    """Each number with this many leading bits, and 0 for what is too small to matter.

    down: or else to the nearest, so that a slope of nearly 1 is 1.
    """
    mantissa, exponent = np.frexp(values)
    scaled = np.ldexp(mantissa, bits)
    kept = np.ldexp(np.floor(scaled) if down else np.rint(scaled), exponent - bits)
    return np.where(np.abs(values) < LEAST, 0.0, kept)
