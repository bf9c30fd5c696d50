"""Bounds of sums of functions of one axis or two, compiled: tables from above by sums of functions of one axis each.

In:  `SumTerms`, what each cell costs, the cells of a box, and messages to start from: what the classes of tables are
     worth.
Out: better messages and the price for the goal under which they prove most (`evaluate`).
Promise: none is needed: what they prove is found in whole numbers (`mace.solve.ensembles.additive.payments`).

With messages instead of tables, and the largest error of each, to reach the goal at the least cost is a knapsack with
choices, whose linear relaxation one price for the goal solves. For a price, messages are passed along an order of the
axes and back: each axis divides what its cells cost among the tables that come later.
Source: Sinha, Zoltners 1979, "The multiple-choice knapsack problem"; Kolmogorov 2006, "Convergent tree-reweighted
message passing for energy minimization" (the messages).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.additive.ladders import SumTerms
from mace.solve.ensembles.arrays.cuts import Array

STEPS = 200  # towards the best price for the goal
FAR = 1e300
ENOUGH = 1.125  # times what is of interest: more need not be proved


class Inside(NamedTuple):
    """Cells of a box that are near enough by themselves: their places, one axis after the other, and where each begins.

    cost: of these, beyond the least of their axes. least: of the classes of tables, `FAR` where there is no cell.
    some, from: the classes that have a cell, ladder by ladder, and where those of each begin.
    """

    place: Array
    begin: Array
    cost: Array
    least: Array
    some: Array
    from_: Array


class PricedBound(NamedTuple):
    """The bound beyond the cost of the box, the price, and the places of the cells that axes take on both sides of it.

    missing: to the goal, with the cells of the left side. axis, one, other: a place where the box may be divided, the
    axis by place, between two cells; -1 if all fits.
    """

    bound: Any
    price: Any
    missing: Any
    left: Array
    right: Array
    axis: Any
    one: Any
    other: Any


class Taken(NamedTuple):
    """What axes take at a price for the goal proves, and what of the goal is missing with it."""

    bound: Any
    missing: Any


@lean
def singles_of(terms: SumTerms) -> int:
    """How many ladders are of trees of one axis."""
    return len(terms.tree) - 2 * (len(terms.table) - 1)


@lean
def class_of(terms: SumTerms, ladder: int, j: int, i: int) -> Any:
    """The class that a cell, by place, is of on a ladder of its axis."""
    return terms.begin[ladder] + terms.kind[terms.kinds[ladder] + i - terms.first[j]]


@lean
def partner_of(ladder: int, singles: int) -> int:
    """The other ladder of a table."""
    return ladder + 1 if (ladder - singles) % 2 == 0 else ladder - 1


@compiled
def inside_of(terms: SumTerms, cost: Array, active: Array, room: float) -> Inside:
    """The cells of a box that points of interest may take: less than `room` dearer than the cheapest of their axis.

    cost, active: by cell, what it costs, and whether the box has it. room: what such points may cost beyond the box.
    """
    axes, ladders, classes = len(terms.axis), len(terms.tree), len(terms.gain)
    singles = singles_of(terms)
    place, begin = np.empty(len(cost), np.int64), np.zeros(axes + 1, np.int64)
    own, least = np.empty(len(cost)), np.full(classes, FAR)
    count = 0
    for j in range(axes):
        near = FAR
        for i in range(terms.first[j], terms.first[j + 1]):
            if active[i]:
                near = min(near, float(cost[i]))
        for i in range(terms.first[j], terms.first[j + 1]):
            if active[i] and float(cost[i]) - near < room:
                place[count], own[count] = i, float(cost[i]) - near
                count += 1
        begin[j + 1] = count
    some, from_ = np.empty(classes, np.int64), np.zeros(ladders + 1, np.int64)
    used = 0
    for ladder in range(ladders):
        if ladder >= singles:
            j = terms.on[ladder]
            for k in range(begin[j], begin[j + 1]):
                c = class_of(terms, ladder, j, place[k])
                least[c] = min(least[c], own[k])
            for c in range(terms.begin[ladder], terms.begin[ladder + 1]):
                if least[c] < FAR:
                    some[used] = c
                    used += 1
        from_[ladder + 1] = used
    return Inside(place[:count].copy(), begin, own[:count].copy(), least, some[:used].copy(), from_)


@lean
def errors(terms: SumTerms, inside: Inside, message: Array, room: float, most: Array, where: Array) -> Any:
    """The largest error of each table, and the classes that have it; returns their sum."""
    total = 0.0
    singles = singles_of(terms)
    for p in range(len(terms.table) - 1):
        one, two = singles + 2 * p, singles + 2 * p + 1
        width = terms.begin[two + 1] - terms.begin[two]
        best = -FAR
        for m in range(inside.from_[one], inside.from_[one + 1]):
            a = inside.some[m]
            row = terms.table[p] + (a - terms.begin[one]) * width - terms.begin[two]
            for n in range(inside.from_[two], inside.from_[two + 1]):
                b = inside.some[n]
                if inside.least[a] + inside.least[b] < room:
                    error = terms.entry[row + b] - message[a] - message[b]
                    if error > best:
                        best = error
                        where[p, 0], where[p, 1] = a, b
        most[p] = best
        total += best
    return total


@lean
def worths(terms: SumTerms, inside: Inside, message: Array, worth: Array) -> None:
    """What each cell adds to the goal, by messages."""
    for j in range(len(terms.axis)):
        for k in range(inside.begin[j], inside.begin[j + 1]):
            i = inside.place[k]
            total = terms.whole[i]
            for n in range(terms.near[j], terms.near[j + 1]):
                total += message[class_of(terms, terms.ladder[n], j, i)]
            worth[k] = total


@lean
def taken(inside: Inside, worth: Array, need: float, price: float, chosen: Array) -> Taken:
    """What axes take at a price for the goal."""
    bound, missing = price * need, need
    for j in range(len(inside.begin) - 1):
        least, best = FAR, inside.begin[j]
        for k in range(inside.begin[j], inside.begin[j + 1]):
            own = inside.cost[k] - price * worth[k]
            if own < least or (own == least and worth[k] > worth[best]):
                least, best = own, k
        chosen[j] = best
        bound += least
        missing -= worth[best]
    return Taken(bound, missing)


@lean
def same(one: Array, other: Array) -> bool:
    """Whether two arrays of one shape hold the same."""
    differ = 0
    for j in range(len(one)):
        differ += one[j] != other[j]
    return differ == 0


@compiled
def best_price(
    inside: Inside, worth: Array, need: float, price: float, room: float, left: Array, right: Array, middle: Array
) -> Any:
    """The price that proves most, what it proves, and what is missing with the cells of `left`."""
    low, high = 0.0, price
    one = taken(inside, worth, need, 0.0, left)
    if one.missing <= 0:
        right[:] = left
        return 0.0, one.bound, one.missing
    other = taken(inside, worth, need, high, right)
    best_at, best = (0.0, one.bound) if one.bound > other.bound else (high, other.bound)
    for _ in range(STEPS):  # until the goal is reached, or the bound is beyond all that is of interest
        if other.missing <= 0 or other.bound > 2 * room:
            break
        low, one = high, other
        left[:] = right
        high = 2 * high
        other = taken(inside, worth, need, high, right)
        if other.bound > best:
            best_at, best = high, other.bound
    if other.missing > 0:
        left[:] = right
        return best_at, best, other.missing
    for _ in range(STEPS):
        at = (other.bound - one.bound + one.missing * low - other.missing * high) / (one.missing - other.missing)
        if not low < at < high:
            break
        new = taken(inside, worth, need, at, middle)
        if new.bound > best:
            best_at, best = at, new.bound
        if same(middle, left) or same(middle, right):
            break
        if new.missing <= 0:
            high, other = at, new
            right[:] = middle
        else:
            low, one = at, new
            left[:] = middle
    return best_at, best, one.missing


@lean
def send(
    terms: SumTerms, inside: Inside, ladder: int, price: float, share: float, total: Array, message: Array
) -> None:
    """Renew the message that a table gives on the other ladder: of what this one's axis costs, `share` is its part."""
    singles = singles_of(terms)
    p = (ladder - singles) // 2
    first = (ladder - singles) % 2 == 0
    two = partner_of(ladder, singles)
    width = terms.begin[singles + 2 * p + 2] - terms.begin[singles + 2 * p + 1]
    for n in range(inside.from_[two], inside.from_[two + 1]):
        b = inside.some[n]
        best = FAR
        for m in range(inside.from_[ladder], inside.from_[ladder + 1]):
            a = inside.some[m]
            row, column = a - terms.begin[ladder], b - terms.begin[two]
            if not first:
                row, column = column, row
            own = total[a] * share + price * (message[a] - terms.entry[terms.table[p] + row * width + column])
            best = min(best, own)
        message[b] = -best / price


@lean
def passed(terms: SumTerms, inside: Inside, price: float, message: Array, total: Array) -> None:
    """Pass messages along the axes and back."""
    axes = len(terms.axis)
    singles = singles_of(terms)
    for turn in range(2):
        for step in range(axes):
            j = step if turn == 0 else axes - 1 - step
            before = after = 0
            for n in range(terms.near[j], terms.near[j + 1]):
                ladder = terms.ladder[n]
                other = terms.on[partner_of(ladder, singles)]
                if other > j:
                    after += 1
                else:
                    before += 1
            if before + after == 0:
                continue
            for n in range(terms.near[j], terms.near[j + 1]):
                ladder = terms.ladder[n]
                for m in range(inside.from_[ladder], inside.from_[ladder + 1]):
                    total[inside.some[m]] = FAR
            for k in range(inside.begin[j], inside.begin[j + 1]):
                i = inside.place[k]
                own = terms.whole[i]
                for n in range(terms.near[j], terms.near[j + 1]):
                    own += message[class_of(terms, terms.ladder[n], j, i)]
                own = inside.cost[k] - price * own
                for n in range(terms.near[j], terms.near[j + 1]):
                    c = class_of(terms, terms.ladder[n], j, i)
                    total[c] = min(total[c], own)
            share = 1.0 / max(before, after)
            for n in range(terms.near[j], terms.near[j + 1]):
                ladder = terms.ladder[n]
                other = terms.on[partner_of(ladder, singles)]
                if (other > j) == (turn == 0):
                    send(terms, inside, ladder, price, share, total, message)


class Division(NamedTuple):
    """An axis, by place, and two cells of it, by place, to be told apart; -1 where nothing is divided."""

    axis: Any
    one: Any
    other: Any


@lean
def division(
    terms: SumTerms, inside: Inside, message: Array, price: float, most: Array, where: Array, left: Array, right: Array
) -> Division:
    """Where to divide a box: an axis and two of its cells, about which its bound is least sure.

    That is where messages and a table disagree most, or where the goal is met by cells of two prices. Arguments as the
    fields of `PricedBound`; most, where: as `errors` fills them in.
    """
    # Where do messages disagree with tables most?
    tables, singles = len(terms.table) - 1, singles_of(terms)
    axis: Any = np.int64(-1)
    one: Any = np.int64(-1)
    other: Any = np.int64(-1)
    highest = 0.0
    for p in range(tables):
        first, second = singles + 2 * p, singles + 2 * p + 1
        j, i = terms.on[first], terms.on[second]
        k, m = inside.place[left[j]], inside.place[left[i]]
        a, b = class_of(terms, first, j, k), class_of(terms, second, i, m)
        width = terms.begin[second + 1] - terms.begin[second]
        entry = terms.entry[terms.table[p] + (a - terms.begin[first]) * width + b - terms.begin[second]]
        slack = price * (message[a] + message[b] + most[p] - entry)
        if slack > highest:
            first_differs = where[p, 0] != a
            second_differs = where[p, 1] != b
            if first_differs and second_differs:
                second_differs = abs(message[where[p, 1]] - message[b]) > abs(message[where[p, 0]] - message[a])
            ladder = second if second_differs else first
            aimed = where[p, 1] if second_differs else where[p, 0]
            of = i if second_differs else j
            if not first_differs and not second_differs:
                continue
            for n in range(inside.begin[of], inside.begin[of + 1]):
                cell = inside.place[n]
                if class_of(terms, ladder, of, cell) == aimed:
                    highest, axis, one, other = slack, of, m if second_differs else k, cell
                    break
    # Or is it the knapsack that is divided?
    for j in range(len(left)):
        if left[j] != right[j]:
            spread = 0.5 * abs(inside.cost[left[j]] - inside.cost[right[j]])
            if spread > highest:
                highest, axis = spread, j
                one, other = inside.place[left[j]], inside.place[right[j]]
    return Division(axis, one, other)


@compiled
def evaluate(
    terms: SumTerms, inside: Inside, need: float, message: Array, price: float, room: float, target: float, rounds: int,
    least: float,
) -> PricedBound:  # fmt: skip
    """The best bound in so many rounds of messages, which are changed to those that prove it.

    need: what the goal needs beyond trees without a test. target: a bound, beyond the cost of the box, that is enough.
    least: by so much a round must raise the bound for another one.
    """
    axes, tables = len(terms.axis), len(terms.table) - 1
    worth, total = np.empty(len(inside.place)), np.empty(len(terms.gain))
    most, where = np.zeros(tables), np.zeros((tables, 2), np.int64)
    left, right, middle = np.zeros(axes, np.int64), np.zeros(axes, np.int64), np.zeros(axes, np.int64)
    best, best_price_, missing = -FAR, price, 0.0
    best_message = message.copy()
    best_left, best_right = left.copy(), right.copy()
    for turn in range(rounds):
        error = errors(terms, inside, message, room, most, where)
        worths(terms, inside, message, worth)
        new, bound, lack = best_price(inside, worth, need - error, price, room, left, right, middle)
        gained = bound - best
        if gained > 0:
            best, best_price_, missing = bound, new, lack
            best_message[:] = message
            best_left[:], best_right[:] = left, right
        if best >= target or tables == 0 or turn == rounds - 1 or (turn > 0 and gained < least) or new <= 0.0:
            break
        price = new
        passed(terms, inside, price, message, total)
    message[:] = best_message
    errors(terms, inside, message, room, most, where)
    place = division(terms, inside, message, best_price_, most, where, best_left, best_right)
    if best > ENOUGH * room:  # under a smaller price less is proved, and enough
        best_price_ *= ENOUGH * room / best
    for j in range(axes):
        left[j], right[j] = inside.place[best_left[j]], inside.place[best_right[j]]
    return PricedBound(best, best_price_, missing, left, right, place.axis, place.one, place.other)
