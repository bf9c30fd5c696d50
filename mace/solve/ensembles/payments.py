"""What messages between axes prove of a box in whole numbers, and the prices of a certificate that say so, compiled.

In:  `Terms`, what each cell costs, the cells of a box, messages and a price for the goal, whatever they are.
Out: `Paid`.
Promise: the bound holds, and a checker that evaluates the prices (proofs/FORMAT.md, 6.14) finds no less.

A tree pays for a class of its cells what it adds to the goal there, one of two axes what the message says: steps
between classes are prices for the side of the test on which more is paid.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mace.solve.compiled import compiled
from mace.solve.ensembles.cuts import Array
from mace.solve.ensembles.ladders import Terms
from mace.solve.ensembles.messages import Inside

LARGEST = 2.0**57  # of whole numbers that are added up
NOTHING = -(2**62)


class Paid(NamedTuple):
    """What prices prove in whole units (`NOTHING` where whole numbers do not hold them), and the prices: (n, 3) tree,
    node, price."""

    bound: Any
    rows: Array


@compiled
def paid(
    terms: Terms, inside: Inside, cost: Array, active: Array, ordered: Array, message: Array, price: float, need: float,
    unit: int, room: float,
) -> Paid:  # fmt: skip
    """What messages and a price for the goal prove of a box, beyond the cost of the axes that no tree tests.

    unit: how many of the units of prices a unit of costs has. price: of the goal, in these.
    ordered: (J,) which axes are grids.
    Lemma: products of doubles are moved by more than their rounding in the sound direction; sums are of whole numbers.
    Long because it goes through classes, leaves and cells in turn, with one array of what classes pay.
    """
    axes, ladders, tables = len(terms.axis), len(terms.tree), len(terms.table) - 1
    singles = ladders - 2 * tables
    pays = np.zeros(len(terms.gain), np.int64)
    seen = np.zeros(len(terms.gain), np.bool_)
    up, down = np.zeros(len(terms.gain), np.int64), np.zeros(len(terms.gain), np.int64)
    rows = np.empty((len(terms.gain), 3), np.int64)
    lowest, highest = np.empty(ladders, np.int64), np.empty(ladders, np.int64)  # classes that the box has
    count, size = 0, abs(price * need)
    for ladder in range(ladders):
        j, first, end = terms.on[ladder], terms.begin[ladder], terms.begin[ladder + 1]
        for k in range(inside.begin[j], inside.begin[j + 1]):
            seen[first + terms.kind[terms.kinds[ladder] + inside.place[k] - terms.first[j]]] = True
        least: Any = np.int64(2**62)
        for c in range(first, end):
            if seen[c]:
                own = price * (terms.gain[c] if ladder < singles else message[c])
                if not abs(own) < LARGEST / 64:
                    return Paid(np.int64(NOTHING), rows[:0].copy())
                pays[c] = np.int64(np.floor(own + 0.5))
                least = min(least, pays[c])
        # What no point of interest has pays as what is beside it, or as little as anything.
        before = -1
        for c in range(first, end):
            if seen[c]:
                if before < 0:
                    pays[first:c] = pays[c] if ordered[j] else least
                before = c
            elif before >= 0:
                pays[c] = pays[before] if ordered[j] else least
        up[first] = down[end - 1] = 0
        most = 0.0
        for c in range(first, end - 1):
            step = pays[c + 1] - pays[c]
            up[c + 1] = up[c] + max(step, 0)
            if step != 0:
                rows[count, 0], rows[count, 2] = terms.tree[ladder], abs(step)
                rows[count, 1] = terms.above[c] if step > 0 else terms.below[c]
                count += 1
        for c in range(end - 1, first, -1):
            down[c - 1] = down[c] + max(pays[c - 1] - pays[c], 0)
        for c in range(first, end):
            most = max(most, abs(float(pays[c])))
        lowest[ladder], highest[ladder] = end, first
        for i in range(terms.first[j], terms.first[j + 1]):
            if active[i]:
                c = first + terms.kind[terms.kinds[ladder] + i - terms.first[j]]
                lowest[ladder], highest[ladder] = min(lowest[ladder], c), max(highest[ladder], c)
        size += most + float(up[end - 1]) + float(down[first])
    if size > LARGEST:
        return Paid(np.int64(NOTHING), rows[:0].copy())
    goal = price * need
    total: Any = np.int64(np.floor(goal - abs(goal) * 2.0**-50)) - 1
    for ladder in range(singles):
        least = np.int64(2**62)
        for c in range(terms.begin[ladder], terms.begin[ladder + 1]):
            if seen[c]:
                own = price * terms.gain[c]
                least = min(least, pays[c] - np.int64(np.ceil(own + abs(own) * 2.0**-50)) - 1)
        total += least
    for p in range(tables):
        one, two = terms.begin[singles + 2 * p], terms.begin[singles + 2 * p + 1]
        base = pays[one] - down[one] + pays[two] - down[two]
        least = np.int64(2**62)
        i, j = singles + 2 * p, singles + 2 * p + 1
        width = terms.begin[j + 1] - two
        # A leaf is near enough where one of its entries is: it pays for what the box has of it, whole.
        for m in range(inside.from_[i], inside.from_[i + 1]):
            for n in range(inside.from_[j], inside.from_[j + 1]):
                k, q = inside.some[m], inside.some[n]
                if inside.least[k] + inside.least[q] >= room:
                    continue
                leaf = terms.which[terms.table[p] + (k - one) * width + q - two]
                a, b = max(one + terms.box[leaf, 0], lowest[i]), min(one + terms.box[leaf, 1], highest[i])
                c, d = max(two + terms.box[leaf, 2], lowest[j]), min(two + terms.box[leaf, 3], highest[j])
                own = price * terms.adds[leaf]
                if not abs(own) < LARGEST / 64:
                    return Paid(np.int64(NOTHING), rows[:0].copy())
                here = base + up[a] + down[b] + up[c] + down[d]
                least = min(least, here - np.int64(np.ceil(own + abs(own) * 2.0**-50)) - 1)
        total += least
    for j in range(axes):
        least = np.int64(2**62)
        for i in range(terms.first[j], terms.first[j + 1]):
            if not active[i]:
                continue
            own = np.int64(cost[i]) * unit
            for ladder in range(singles):
                if terms.on[ladder] == j:
                    own -= pays[terms.begin[ladder] + terms.kind[terms.kinds[ladder] + i - terms.first[j]]]
            for n in range(terms.near[j], terms.near[j + 1]):
                ladder = terms.ladder[n]
                own -= pays[terms.begin[ladder] + terms.kind[terms.kinds[ladder] + i - terms.first[j]]]
            least = min(least, own)
        total += least
    order = np.argsort(rows[:count, 0] * np.int64(2**31) + rows[:count, 1])
    return Paid(total, rows[:count][order].copy())
