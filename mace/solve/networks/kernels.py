"""The hot loops of the network prover, compiled on first use: boxes, bounds of hidden units, relaxations and duals.

In:  the arrays of `model.py`: `Axes`, `Net`, and of a node `Hull` and `Units`, in doubles.
Out: multipliers, and what they prove in floating point; `exact.py` repeats the proof without rounding.
Promise: the bounds that `derive` finds hold, whatever rounding does. Nothing else here is trusted: a wrong number costs
time, never soundness.
Source: the linear relaxations of ReLUs are those of Ehlers 2017 (the triangle) and of Zhang et al. 2018 (CROWN, going
backwards); fixing phases with multipliers is Wang et al. 2021 (beta-CROWN).
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.networks.model import LEVELS, STEPS, Array, Axes, Hull, Net, Units

T = TypeVar("T", bound=tuple[Any, ...])

INFINITY = 1e300
NOWHERE = (-1, -1)  # no hidden unit
CANCELLED = 2.0**-40  # of what a coefficient is a sum of: less may be of either sign, of which floats lost it
WIDER = 2.0**-37  # More than a checker's own 2^-40; `Net.rough` is this file's rounding.


def plain(named: T) -> T:
    """Arrays as a plain tuple: numba recognises one several times as fast as a named one."""
    return cast(T, tuple(named))


@compiled
def axis_least(axes: Axes, hull: Hull, j: int) -> float:
    """The least l0 and l1 cost of an axis inside its box."""
    kind, first, count, jump, rate, _, change, _, _, _, _ = axes
    lo, hi, on = hull
    if kind[j] != LEVELS:
        if lo[j] <= 0.0 <= hi[j]:
            return 0.0
        return float(jump[j] + rate[j] * min(abs(lo[j]), abs(hi[j])))
    least = INFINITY
    for i in range(first[j], first[j] + count[j]):
        if on[i]:
            cost = jump[j] + rate[j] * change[i] if change[i] > 0 else 0.0
            least = min(least, cost)
    return least


@compiled
def cut(q: float, axes: Axes, hull: Hull) -> bool:
    """Cut a box, in place, to the values that leave the whole point closer than q; False if nothing is left."""
    kind, first, count, jump, rate, peak, change, offset, steps, _, _ = axes
    lo, hi, on = hull
    J = len(kind)
    total = 0.0
    least = np.zeros(J)
    for j in range(J):
        least[j] = axis_least(axes, hull, j)
        total += least[j]
    if total >= q:
        return False
    for j in range(J):
        budget = q - (total - least[j])
        if kind[j] == LEVELS:
            left = False
            for i in range(first[j], first[j] + count[j]):
                if on[i] and change[i] > 0 and jump[j] + (rate[j] + peak[j]) * change[i] >= budget + 1e-13:
                    on[i] = False
                left = left or on[i]
            if not left:
                return False
            continue
        room = budget - jump[j]
        if room <= 0.0:
            reach = 0.0
        elif rate[j] + peak[j] > 0:
            reach = room / (rate[j] + peak[j]) * (1 + 1e-13)
        else:
            reach = INFINITY
        inside = lo[j] <= 0.0 <= hi[j]
        high, low = min(hi[j], reach), max(lo[j], -reach)
        if kind[j] == STEPS:
            if high < hi[j]:
                high = (np.floor(offset[j] + high * steps[j] + 1e-7) - offset[j]) / steps[j]
            if low > lo[j]:
                low = (np.ceil(offset[j] + low * steps[j] - 1e-7) - offset[j]) / steps[j]
            if inside:
                high, low = max(high, 0.0), min(low, 0.0)
            # The same value of the grid, computed in two ways, differs in its last bits.
            if low > high and (low - high) * steps[j] < 1e-6:
                low = high
        if low > high:
            return False
        lo[j], hi[j] = low, high
    return True


@lean
def corners(
    k: Array, first: int, last: int, on: Array, jump: float, rate: float, change: Array, gains: Array, costs: Array,
    n: int,
) -> tuple[int, float, float]:  # fmt: skip
    """Write what the corners of the upper hull of a feature's levels, first to last (left out), gain and cost, each
    beside the one before it, from n on; returns the next place, and what the cheapest level costs and gains.

    k: what a level gains.
    """
    cost, gain = INFINITY, 0.0
    for i in range(first, last):
        if on[i]:
            c = jump + rate * change[i] if change[i] > 0 else 0.0
            if c < cost or (c == cost and k[i] > gain):
                cost, gain = c, k[i]
    cheapest = cost, gain
    while True:  # Invariant: (cost, gain) is on the upper hull; step to its next corner.
        best, next_cost, next_gain = 0.0, cost, gain
        for i in range(first, last):
            if on[i] and k[i] > gain:
                c = jump + rate * change[i] if change[i] > 0 else 0.0
                slope = (k[i] - gain) / max(c - cost, 1e-300)
                if slope > best or (slope == best and c > next_cost):
                    best, next_cost, next_gain = slope, c, k[i]
        if best == 0.0:
            return n, cheapest[0], cheapest[1]
        gains[n], costs[n] = next_gain - gain, next_cost - cost
        n += 1
        cost, gain = next_cost, next_gain


@compiled
def knapsack(
    k: Array, q: float, kind: Array, first: Array, count: Array, lo: Array, hi: Array, on: Array, jump: Array,
    rate: Array, change: Array,
) -> tuple[float, float]:  # fmt: skip
    """The largest value of k . x over a box, within the budget q of l0 and l1 cost (q < 0: without a budget), and the
    price of the budget: what a little more of it would add, per unit.

    Takes arrays, because it is called twice for every unit: named tuples would be taken apart each time.
    """
    J, most = len(kind), len(k) + len(kind)
    gains, costs, ratio = np.empty(most), np.empty(most), np.empty(most)
    n = 0
    value, left = 0.0, q
    for j in range(J):
        f = first[j]
        if kind[j] != LEVELS:
            near = 0.0
            if lo[j] > 0.0:
                near = lo[j]
            elif hi[j] < 0.0:
                near = hi[j]
            far = hi[j] if k[f] > 0 else lo[j]
            value += k[f] * near
            spent = jump[j] + rate[j] * abs(near) if near != 0.0 else 0.0
            left -= spent
            gain = k[f] * (far - near)
            if gain > 0.0:
                gains[n] = gain
                costs[n] = max((jump[j] + rate[j] * abs(far) if far != 0.0 else 0.0) - spent, 0.0)
                n += 1
        else:
            n, cost, gain = corners(k, f, f + count[j], on, jump[j], rate[j], change, gains, costs, n)
            value += gain
            left -= cost
    for i in range(n):
        ratio[i] = -gains[i] / max(costs[i], 1e-300)
    if q < 0.0:
        for i in range(n):
            value += gains[i]
        return value, 0.0
    left = max(left, 0.0)
    for i in np.argsort(ratio[:n]):
        if costs[i] <= left:
            value += gains[i]
            left -= costs[i]
        else:
            return value + gains[i] * (left / costs[i]), -ratio[i]
    return value, 0.0


@compiled
def derive(q: float, axes: Axes, net: Net, hull: Hull, units: Units, wanted: Array, prices: Array) -> bool:
    """Narrow the bounds of the hidden ReLUs in place (FORMAT.md, "Bounds of the hidden ReLUs"); False: no point.

    The bounds hold of the exact sums: they are widened by what rounding may have moved them.
    wanted: (2, H, N) which ends are derived, lower and upper ones. prices: (2, H, N) of the budget q, for each derived
            end; written here.
    """
    kind, first, count, jump, rate, _, change, _, _, _, _ = axes
    lo, hi, on = hull
    W0, W, B, relu, size, rough = net
    L, U, _ = units
    H, N = L.shape
    for layer in range(H):
        if not relu[layer]:
            continue
        for unit in range(size[layer]):
            if L[layer, unit] >= 0.0 or U[layer, unit] <= 0.0:
                continue
            for end in range(2):
                if not wanted[end, layer, unit]:
                    continue
                sign = -1.0 if end == 0 else 1.0
                constant = sign * B[layer, unit]
                if layer == 0:
                    k = sign * W0[:, unit]
                else:
                    z, v = np.zeros(N), sign * W[layer, :, unit]
                    for below in range(layer - 1, -1, -1):
                        for i in range(N):
                            z[i] = 0.0
                        for i in range(size[below]):
                            if not relu[below] or (L[below, i] >= 0.0 and U[below, i] > 0.0):
                                z[i] = v[i]
                            elif U[below, i] > 0.0:
                                low, high = L[below, i], U[below, i]
                                if v[i] >= 0.0:
                                    z[i] = v[i] * high / (high - low)
                                    constant -= z[i] * low
                                elif high >= -low:
                                    z[i] = v[i]
                            constant += z[i] * B[below, i]
                        if below > 0:
                            v = W[below] @ z
                    k = W0 @ z
                most, prices[end, layer, unit] = knapsack(k, q, kind, first, count, lo, hi, on, jump, rate, change)
                found = constant + most
                found += WIDER * (1.0 + abs(found)) + rough[layer, unit]
                if end == 1:
                    U[layer, unit] = min(U[layer, unit], found)
                else:
                    L[layer, unit] = max(L[layer, unit], -found)
            if L[layer, unit] > U[layer, unit] + 1e-6:
                return False
    return True


@lean
def slope_of(v: float, below: float, above: float) -> float:
    """The slope t of a ReLU with the coefficient v, by the multipliers of its lines a >= z and a <= chord(z).

    What the line above has beyond what the one below makes of it says that z >= l, which a slope below 0 tells.
    """
    size, implied = abs(v), max(below - v, 0.0)
    more = above - implied
    wanted = -(above - max(-v, 0.0)) if more > below + 1e-9 * (size + above) else below
    return wanted / size if size > 1e-14 * abs(wanted) else 0.0


@lean
def through_units(
    layer: int, v: Array, z: Array, lines: Array, mu: Array, slope: Array, weight: Array, net: Net, units: Units,
    constant: float,
) -> float:  # fmt: skip
    """From the coefficients v of the outputs of a layer's units to those of their inputs, written to z (zeros before).

    Returns the constant with what the lines above ReLUs add; slope, weight: as in `dual_bound`.
    """
    L, U, phase = units
    relu, size = net[3], net[4]
    for i in range(size[layer]):
        low, high = L[layer, i], U[layer, i]
        weight[layer, i] = v[i]
        if not relu[layer]:
            z[i] = v[i]
        elif high <= 0.0:
            z[i] = 0.0
        elif low >= 0.0:
            z[i] = v[i]
        else:
            if lines[0, layer, i] >= 0.0:
                slope[layer, i] = slope_of(v[i], lines[0, layer, i], lines[1, layer, i])
            t = slope[layer, i]
            if t >= 0.0:
                z[i] = abs(v[i]) * t
                over = z[i] - v[i]
            else:
                z[i] = 0.0
                over = abs(v[i]) * -t + max(-v[i], 0.0)
            if over > 0.0:
                steep = high / (high - low)
                z[i] -= over * steep
                constant += over * steep * low
        if phase[layer, i] != 0:
            z[i] -= phase[layer, i] * mu[layer, i]
    return constant


@lean
def over_axes(k: Array, theta: float, push: float, share: Array, axes: Axes, hull: Hull, constant: float) -> float:
    """The constant and the least, over a box, of k . x and what changes cost, each axis by itself.

    theta, push: how much of the distance counts, and what it costs beside it that a feature changes.
    """
    kind, first, size_of, jump, rate, _, change, _, _, _, _ = axes
    lo, hi, on = hull
    for j in range(len(kind)):
        f = first[j]
        best = INFINITY
        if kind[j] != LEVELS:
            once, per = theta * jump[j] + push, theta * rate[j] + share[j]
            if lo[j] <= 0.0 <= hi[j]:
                best = 0.0
            best = min(best, k[f] * lo[j] + (once + per * abs(lo[j]) if lo[j] != 0.0 else 0.0))
            best = min(best, k[f] * hi[j] + (once + per * abs(hi[j]) if hi[j] != 0.0 else 0.0))
        else:
            for i in range(f, f + size_of[j]):
                if on[i]:
                    cost = theta * jump[j] + push + (theta * rate[j] + share[j]) * change[i] if change[i] > 0 else 0.0
                    best = min(best, cost + k[i])
        constant += best
    return constant


@compiled
def dual_bound(
    theta: float, aim: tuple[int, int], way: float, goal: Array, lines: Array, mu: Array, share: Array,
    count: tuple[float, float], C: Array, than: Array, axes: Axes, net: Net, hull: Hull, units: Units, slope: Array,
    weight: Array,
) -> float:  # fmt: skip
    """What multipliers prove, in floating point; writes the slopes t and each hidden unit's coefficient.

    theta:  what the distance counts: 1, or 0 for a claim about every distance.
    aim:    the layer and the place of a unit whose input counts `way` times beside it; `NOWHERE` where there is none.
    goal:   multipliers of the comparisons, and of what rules make hold.
    lines:  (2, H, N) multipliers of a >= z and of the lines above, from which t follows; if negative, t is read from
            `slope`.
    share:  (J,) multipliers of the largest change, in cost, not divided by gamma.
    count:  the multiplier of how many features change, and how many may.
    """
    held, need = axes[9], axes[10]
    push, most = count
    W0, W, B = net[0], net[1], net[2]
    H, N = units[0].shape
    constant = -push * most
    v = np.zeros(N)
    for i in range(len(than)):
        constant += goal[i] * than[i]
        for o in range(C.shape[1]):
            v[o] -= goal[i] * C[i, o]
    z = v
    for layer in range(H - 1, -1, -1):
        for o in range(N):
            constant += z[o] * B[layer + 1, o]
        v = W[layer + 1] @ z
        z = np.zeros(N)
        constant = through_units(layer, v, z, lines, mu, slope, weight, net, units, constant)
        if layer == aim[0]:
            z[aim[1]] += way
    for o in range(N):
        constant += z[o] * B[0, o]
    k = W0 @ z
    for r in range(len(need)):
        price = goal[len(than) + r]
        if price != 0.0:
            constant += price * need[r]
            k -= price * held[r]
    return over_axes(k, theta, push, share, axes, hull, constant)


@compiled
def ends_read(
    aim: tuple[int, int], way: float, goal: Array, slope: Array, mu: Array, C: Array, wide: Array, net: Net,
    units: Units, found: Array,
) -> bool:  # fmt: skip
    """Mark in `found`, shape (2, H, N), the ends of hidden units that what multipliers prove depends on: those that
    decide a unit, or that a line above it goes through. Other ends may be as wide as they like.

    Whether any unit is in doubt: its coefficient is a sum that cancels, so that a checker may see one of another sign.
    aim, way, goal, slope, mu: as in `dual_bound`.    wide: the sizes of `net.W`.
    """
    W, relu, size = net[1], net[3], net[4]
    L, U, _ = units
    H, N = L.shape
    lines, weight = np.full((2, H, N), -1.0), np.zeros((H, N))
    z, reach, doubt = np.zeros(N), np.zeros(N), False
    for i in range(len(C)):
        for o in range(C.shape[1]):
            z[o] -= goal[i] * C[i, o]
            reach[o] += goal[i] * abs(C[i, o])
    for layer in range(H - 1, -1, -1):
        v, reach = W[layer + 1] @ z, wide[layer + 1] @ reach
        z = np.zeros(N)
        through_units(layer, v, z, lines, mu, slope, weight, net, units, 0.0)
        for i in range(size[layer]):
            if relu[layer]:
                t, off, on = slope[layer, i], U[layer, i] <= 0.0, L[layer, i] >= 0.0
                unclear = reach[i] > 0.0 and abs(v[i]) <= CANCELLED * reach[i]
                doubt = doubt or unclear
                below = v[i] < 0.0 or unclear
                line = not on and not off and (below or t > 1.0 or t < 0.0)
                if line or (on and not off and (v[i] != 0.0 or unclear)):
                    found[0, layer, i] = True
                if line or (off and (below or t != 0.0 or (on and v[i] != 0.0))):
                    found[1, layer, i] = True
                often = 0.0 if off else 1.0 if on else abs(t) + (1.0 if below else 0.0)
                reach[i] = reach[i] * often + mu[layer, i]
        if layer == aim[0]:
            z[aim[1]] += way
            reach[aim[1]] += 1.0
    return bool(doubt)


@compiled
def without_each(
    ends: Array, before: Units, theta: float, goal: Array, slope: Array, mu: Array, share: Array,
    count: tuple[float, float], C: Array, than: Array, axes: Axes, net: Net, hull: Hull, units: Units,
) -> Array:  # fmt: skip
    """What multipliers prove (`dual_bound`) when one end of a hidden unit's bounds is as in `before`: for each of some
    ends, shape (E, 3): 0 for the lower or 1 for the upper one, layer, unit.
    """
    found, weight = np.empty(len(ends)), np.empty_like(slope)
    none = np.full((2, *slope.shape), -1.0)
    for e in range(len(ends)):
        here, there = (units[0], before[0]) if ends[e, 0] == 0 else (units[1], before[1])
        place = (ends[e, 1], ends[e, 2])
        kept = here[place]
        here[place] = there[place]
        found[e] = dual_bound(
            theta, NOWHERE, 0.0, goal, none, mu, share, count, C, than, axes, net, hull, units, slope, weight
        )
        here[place] = kept
    return found
