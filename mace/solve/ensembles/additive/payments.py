"""What messages between axes prove of a box in whole numbers, and the prices of a certificate that say so, compiled.

In:  `SumTerms`, what each cell costs, the cells of a box, messages and a price for the goal, whatever they are.
Out: `Paid`.
Promise: the bound holds, and a checker that evaluates the prices (proofs/FORMAT.md, 6.14) finds no less.

A tree pays for a class of its cells what it adds to the goal there, one of two axes what the message says: steps
between classes are prices for the side of the test on which more is paid.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.additive.ladders import SumTerms
from mace.solve.ensembles.additive.messages import Inside, class_of, singles_of
from mace.solve.ensembles.arrays.cuts import Array

LARGEST = 2.0**57  # of whole numbers that are added up
NOTHING = -(2**62)


class Paid(NamedTuple):
    """What prices prove in whole units (`NOTHING` where whole numbers do not hold them), and the prices: (n, 3) tree,
    node, price."""

    bound: Any
    rows: Array


class Pays(NamedTuple):
    """What trees pay, by class of a ladder; (C,) and (L,).

    up, down: what the steps between classes before it, and after it, add up to. seen: has the box cells of the class
    that points of interest may take? lowest, highest: by ladder, the first and the last class that the box has at all.
    """

    own: Array
    up: Array
    down: Array
    seen: Array
    lowest: Array
    highest: Array


@lean
def taken(gain: float, price: float) -> Any:
    """What the goal takes of a payment, rounded up."""
    own = price * gain
    return np.int64(np.ceil(own + abs(own) * 2.0**-50)) + 1


@lean
def pay(terms: SumTerms, inside: Inside, message: Array, price: float, ladder: int, smooth: bool, pays: Pays) -> bool:
    """Set what the tree of a ladder pays for its classes; whether whole numbers hold it.

    smooth: the axis is a grid. What no point of interest has pays as what is beside it there, else as little as any.
    """
    j, first, end = terms.on[ladder], terms.begin[ladder], terms.begin[ladder + 1]
    single = ladder < singles_of(terms)
    for k in range(inside.begin[j], inside.begin[j + 1]):
        pays.seen[class_of(terms, ladder, j, inside.place[k])] = True
    least: Any = np.int64(2**62)
    for c in range(first, end):
        if pays.seen[c]:
            own = price * (terms.gain[c] if single else message[c])
            if not abs(own) < LARGEST / 64:
                return False
            pays.own[c] = np.int64(np.floor(own + 0.5))
            least = min(least, pays.own[c])
    before = -1
    for c in range(first, end):
        if pays.seen[c]:
            if before < 0:
                pays.own[first:c] = pays.own[c] if smooth else least
            before = c
        elif before >= 0:
            pays.own[c] = pays.own[before] if smooth else least
    return True


@lean
def steps(terms: SumTerms, active: Array, ladder: int, pays: Pays, rows: Array, count: int) -> tuple[int, float]:
    """Add the steps between the classes of a ladder to the prices; how many there are now, and how large sums get."""
    j, first, end = terms.on[ladder], terms.begin[ladder], terms.begin[ladder + 1]
    own, up, down = pays.own, pays.up, pays.down
    up[first] = down[end - 1] = 0
    most = 0.0
    for c in range(first, end - 1):
        step = own[c + 1] - own[c]
        up[c + 1] = up[c] + max(step, 0)
        if step != 0:
            rows[count, 0], rows[count, 2] = terms.tree[ladder], abs(step)
            rows[count, 1] = terms.above[c] if step > 0 else terms.below[c]
            count += 1
    for c in range(end - 1, first, -1):
        down[c - 1] = down[c] + max(own[c - 1] - own[c], 0)
    for c in range(first, end):
        most = max(most, abs(float(own[c])))
    pays.lowest[ladder], pays.highest[ladder] = end, first
    for i in range(terms.first[j], terms.first[j + 1]):
        if active[i]:
            c = class_of(terms, ladder, j, i)
            pays.lowest[ladder], pays.highest[ladder] = min(pays.lowest[ladder], c), max(pays.highest[ladder], c)
    return count, most + float(up[end - 1]) + float(down[first])


@lean
def least_of_ladder(terms: SumTerms, price: float, ladder: int, pays: Pays) -> Any:
    """The least that a tree of one axis has left of its payment when the goal has taken what the tree adds to it."""
    least: Any = np.int64(2**62)
    for c in range(terms.begin[ladder], terms.begin[ladder + 1]):
        if pays.seen[c]:
            least = min(least, pays.own[c] - taken(terms.gain[c], price))
    return least


@lean
def least_of_table(terms: SumTerms, inside: Inside, price: float, p: int, room: float, pays: Pays) -> Any:
    """The same of a tree of two axes; `NOTHING` where whole numbers do not hold it.

    A leaf is near enough where one of its entries is: it pays for what the box has of it, whole.
    """
    i = singles_of(terms) + 2 * p
    j = i + 1
    one, two = terms.begin[i], terms.begin[j]
    width = terms.begin[j + 1] - two
    base = pays.own[one] - pays.down[one] + pays.own[two] - pays.down[two]
    least: Any = np.int64(2**62)
    for m in range(inside.from_[i], inside.from_[i + 1]):
        for n in range(inside.from_[j], inside.from_[j + 1]):
            k, q = inside.some[m], inside.some[n]
            if inside.least[k] + inside.least[q] >= room:
                continue
            leaf = terms.which[terms.table[p] + (k - one) * width + q - two]
            a, b = max(one + terms.box[leaf, 0], pays.lowest[i]), min(one + terms.box[leaf, 1], pays.highest[i])
            c, d = max(two + terms.box[leaf, 2], pays.lowest[j]), min(two + terms.box[leaf, 3], pays.highest[j])
            if not abs(price * terms.adds[leaf]) < LARGEST / 64:
                return np.int64(NOTHING)
            here = base + pays.up[a] + pays.down[b] + pays.up[c] + pays.down[d]
            least = min(least, here - taken(terms.adds[leaf], price))
    return least


@lean
def least_of_axis(terms: SumTerms, cost: Array, active: Array, unit: int, j: int, pays: Pays) -> Any:
    """The least that a cell of an axis costs when trees have been paid."""
    singles = singles_of(terms)
    least: Any = np.int64(2**62)
    for i in range(terms.first[j], terms.first[j + 1]):
        if not active[i]:
            continue
        own = np.int64(cost[i]) * unit
        for ladder in range(singles):
            if terms.on[ladder] == j:
                own -= pays.own[class_of(terms, ladder, j, i)]
        for n in range(terms.near[j], terms.near[j + 1]):
            own -= pays.own[class_of(terms, terms.ladder[n], j, i)]
        least = min(least, own)
    return least


@compiled
def paid(
    terms: SumTerms, inside: Inside, cost: Array, active: Array, ordered: Array, message: Array, price: float,
    need: float, unit: int, room: float,
) -> Paid:  # fmt: skip
    """What messages and a price for the goal prove of a box, beyond the cost of the axes that no tree tests.

    unit: how many of the units of prices a unit of costs has. price: of the goal, in these.
    ordered: (J,) which axes are grids.
    Lemma: products of doubles are moved by more than their rounding in the sound direction; sums are of whole numbers.
    """
    classes, ladders = len(terms.gain), len(terms.tree)
    pays = Pays(
        np.zeros(classes, np.int64), np.zeros(classes, np.int64), np.zeros(classes, np.int64),
        np.zeros(classes, np.bool_), np.empty(ladders, np.int64), np.empty(ladders, np.int64),
    )  # fmt: skip
    rows = np.empty((classes, 3), np.int64)
    nothing = Paid(np.int64(NOTHING), rows[:0].copy())
    goal = price * need
    count, size = 0, abs(goal)
    for ladder in range(ladders):
        if not pay(terms, inside, message, price, ladder, ordered[terms.on[ladder]], pays):
            return nothing
        count, more = steps(terms, active, ladder, pays, rows, count)
        size += more
    if size > LARGEST:
        return nothing
    total: Any = np.int64(np.floor(goal - abs(goal) * 2.0**-50)) - 1
    for ladder in range(singles_of(terms)):
        total += least_of_ladder(terms, price, ladder, pays)
    for p in range(len(terms.table) - 1):
        least = least_of_table(terms, inside, price, p, room, pays)
        if least == NOTHING:
            return nothing
        total += least
    for j in range(len(terms.axis)):
        total += least_of_axis(terms, cost, active, unit, j, pays)
    order = np.argsort(rows[:count, 0] * np.int64(2**31) + rows[:count, 1])
    return Paid(total, rows[:count][order].copy())
