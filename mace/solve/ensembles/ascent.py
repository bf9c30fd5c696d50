"""Dual ascent on the linear relaxation of trees, compiled: prices under which all trees share one distance.

In:  `RelaxationArrays`, the leaves, rows and pieces of a relaxation; a box in cells and masks; prices to start from.
Out: better prices (`ascend`), and what rounded ones prove in whole numbers (`proved`).
Promise: what `proved` returns is a lower bound whatever the prices; how good `ascend`'s are changes only the speed.

For given prices the relaxation falls apart: each axis takes its cheapest piece, each tree its cheapest leaf. Where a
tree's leaf lies on a side of a cut and the axis's piece does not, the price of that side rises, in the opposite case it
falls: a subgradient. Steps are Polyak's towards the distance that is to be proved, shorter for prices that moved much,
along a direction that keeps a part of the one before. Pieces taken on the way, the later ones counted more, approach
the primal solution.
Source: Held, Wolfe, Crowder 1974, "Validation of subgradient optimization"; Camerini, Fratta, Maffioli 1975 (the
direction); Duchi, Hazan, Singer 2011 (steps by price); Barahona, Anbil 2000, "The volume algorithm" (the primal side).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.cells import Ground
from mace.solve.ensembles.cuts import Array
from mace.solve.ensembles.walk import Box, measure, side_of

OUTSIDE, CUTTING, WITHIN = -1, 0, 1
NOTHING, ANYTHING = -(2**62), 2**62  # what `proved` says where its sums do not fit, and of a box without the goal
LARGEST = 2.0**59  # units that sums may have
MANY = 1024  # axes whose indices may each add so much the less
KEPT = np.float32(0.6)  # of the last direction
FADED = np.float32(1e-20)  # less than which is nothing: the smallest singles are dear
PATIENT = 10  # rounds without a better bound, after which steps get shorter
SHORTER = 0.8
RULING = 100.0  # times as fast as prices do multipliers of linear rules move, of which there are few
LATER = 1.05  # a round's pieces count so many times those of the round before
LOOK = 50  # rounds, in which this part of what is missing must be gained for the ascent to go on
SLOW = 0.005


class RelaxationArrays(NamedTuple):
    """The linear relaxation of trees.

    T trees, L leaves, P pairs of a leaf and a row, R rows, J axes, K pieces, C comparisons.
    The last axis is that of cliques, which no box has: its one piece costs nothing, and lies on the sides of all its
    rows. Such a row says that the leaves of a clique have shares of at most 1 together.

    first:  (T + 1,) where each tree's leaves begin. at: (L + 1,) where each leaf's rows begin in `rows`, (P,).
    gain:   (C, L) scaled gains, need: (C,) what their sums must reach.
    axis, cut, side, place: (R,) of a row: its side of a cut, in cells or as a mask; the cut's place among the pieces.
    grid:   (J,) whether an axis is ordered.
    begin:  (J + 1,) where each axis's pieces begin; begin_cell, end_cell: (K,) their first and last cell, or the level.
    part, top: (K,) costs in units, rounded down.
    read:   (J,) whether one of N linear rules reads an axis.
    spots:  (K + 1,) where the S indices of each piece begin of which one is best; none but on axes that are read.
    spot_part, spot_top: (S,) what they cost; spot_sum: (N, S) what they add to the sums of rules, in units.
    slack:  (N,) these sums at the start.
    """

    first: Array
    at: Array
    rows: Array
    gain: Array
    need: Array
    axis: Array
    cut: Array
    side: Array
    place: Array
    grid: Array
    begin: Array
    begin_cell: Array
    end_cell: Array
    part: Array
    top: Array
    read: Array
    spots: Array
    spot_part: Array
    spot_top: Array
    spot_sum: Array
    slack: Array


class Rows(NamedTuple):
    """The rows that a box leaves open as passes over all of them read them. R rows, J axes, K pieces, I intervals.

    begin: (J + 1,) where each axis's rows begin; over: (J,) of an ordered axis those of sides above their cuts.
    after: (R,) of ordered axes the first piece above the cut, nowhere less than in the row before on the same side.
    under: (K,) of a piece of an ordered axis: it lies on the sides below cuts of the rows under .. over - 1,
    above: (K,) and on the sides above cuts of the rows over .. above - 1.
    first, end: (R + I,) leaves that are next to one another, of each row in its place and then all others.
    row:        (I,) whose the others are.
    """

    begin: Array
    over: Array
    after: Array
    under: Array
    above: Array
    first: Array
    end: Array
    row: Array


class Active(NamedTuple):
    """What of a relaxation a box leaves open.

    first, leaf, at: as in `RelaxationArrays`, for the leaves that are reached; row: their rows, as places in `number`.
    number:     the rows whose cut divides the box, and that hold some leaf.
    begin, end: (J,) the pieces begin..end - 1 that meet the box; mask: (J,) of a level axis the pieces themselves.
    empty:      whether some tree has no leaf.
    rows:       the rows and pairs once more.
    """

    first: Array
    leaf: Array
    at: Array
    row: Array
    number: Array
    begin: Array
    end: Array
    mask: Array
    empty: bool
    rows: Rows


class Costs(NamedTuple):
    """Costs of a relaxation's pieces, and of the indices among which one is best, in the units of one ascent.

    part, top: (K,); spot_part, spot_top: (S,); spot_sum: (N, S); slack: (N,), as in `RelaxationArrays`.
    """

    part: Array
    top: Array
    spot_part: Array
    spot_top: Array
    spot_sum: Array
    slack: Array


class Moves(NamedTuple):
    """Of the multipliers of comparisons (C,), axes (J,) and linear rules (N,), which are few beside the prices of rows.

    goal, share, line: subgradients, what the bound gains where they rise.
    unit: (C,) the units in which those of comparisons move.
    goal_way, share_way, line_way: directions.
    line_seen: squared subgradients so far. line_rate: the direction at the rates that follow from them.
    """

    goal: Array
    share: Array
    line: Array
    unit: Array
    goal_way: Array
    share_way: Array
    line_way: Array
    line_seen: Array
    line_rate: Array


class Climbed(NamedTuple):
    """Prices by row, multipliers by comparison, axis and linear rule; the bound in units.

    pieces: the share of every piece; leaves: of every leaf that was open.
    """

    value: float
    prices: Array
    goal: Array
    shares: Array
    lines: Array
    pieces: Array
    leaves: Array


@lean
def state(frame: RelaxationArrays, row: int, low: Array, high: Array) -> int:
    """Whether a box lies on a row's side whole, in part, or not at all; of a clique's row always in part."""
    axis, cut = frame.axis[row], frame.cut[row]
    if axis == len(low):
        return CUTTING
    if frame.grid[axis]:
        below, above = high[axis] <= cut, low[axis] > cut
    else:
        below, above = low[axis] & ~cut == 0, low[axis] & cut == 0
    if frame.side[row] == 1:
        below, above = above, below
    return WITHIN if below else OUTSIDE if above else CUTTING


@lean
def cost_of_leaf(
    frame: RelaxationArrays,
    ground: Ground,
    box: Box,
    number: Array,
    row: Array,
    begin: int,
    end: int,
    low: Array,
    high: Array,
) -> int:
    """The scaled cost of the part of a box that lies on all these rows' sides; `ANYTHING` if that is empty.

    row: places in `number`, those from begin to end. low, high: those of the box, changed here, and left as they were.
    """
    total: Any = box.total[0]
    largest: Any = box.total[1]
    empty = False
    for k in range(begin, end):
        r = number[row[k]]
        axis, cut = frame.axis[r], frame.cut[r]
        if axis == len(low):
            break  # cliques come last
        if not frame.grid[axis]:
            low[axis] &= cut if frame.side[r] == 0 else ~cut
            empty |= low[axis] == 0
        elif frame.side[r] == 0:
            high[axis] = min(high[axis], cut)
            empty |= low[axis] > high[axis]
        else:
            low[axis] = max(low[axis], cut + 1)
            empty |= low[axis] > high[axis]
    for k in range(begin, end):
        axis = frame.axis[number[row[k]]]
        if axis == len(low):
            break
        if low[axis] != box.low[axis] or high[axis] != box.high[axis]:
            if not empty:
                side = side_of(ground, axis, low[axis], high[axis])
                total += side.part - box.part[axis]
                largest = max(largest, side.top)
            low[axis], high[axis] = box.low[axis], box.high[axis]
    return ANYTHING if empty else int(total + largest)


@compiled
def rows_of(
    frame: RelaxationArrays, active_begin: Array, active_end: Array, number: Array, at: Array, row: Array
) -> Rows:
    """The rows of `number`, which are in the order of the relaxation; active_begin .. row: as in `Active`."""
    rows, axes, pieces = len(number), len(frame.grid), len(frame.part)
    # Unsigned, since places that may be negative are looked at each time.
    begin, over = np.empty(axes + 1, np.uint32), np.empty(axes, np.uint32)
    after, under, above = np.zeros(rows, np.uint32), np.zeros(pieces, np.uint32), np.zeros(pieces, np.uint32)
    i = 0
    for j in range(axes):
        begin[j] = i
        low = high = i
        while i < rows and frame.axis[number[i]] == j:
            if frame.grid[j]:
                after[i] = frame.begin[j] + frame.place[number[i]] + 1
                high += frame.side[number[i]] == 0
            i += 1
        over[j] = middle = high
        if frame.grid[j]:
            for piece in range(active_begin[j], active_end[j]):
                while low < middle and after[low] <= piece:
                    low += 1
                while high < i and after[high] <= piece:
                    high += 1
                under[piece], above[piece] = low, high
    begin[axes] = i
    # A row's leaves come one after the other, mostly without a gap: a few intervals instead of many pairs.
    first, end = np.zeros(rows + len(row), np.uint32), np.zeros(rows + len(row), np.uint32)
    whose, last, others = np.empty(len(row), np.int32), np.full(rows, -1, np.int32), 0
    for k in range(len(at) - 1):
        for pair in range(at[k], at[k + 1]):
            i = row[pair]
            if last[i] < 0:
                last[i] = i
                first[i] = k
            elif end[last[i]] != k:
                whose[others] = i
                last[i] = rows + others
                first[last[i]] = k
                others += 1
            end[last[i]] = k + 1
    return Rows(
        begin, over, after, under, above, first[: rows + others].copy(), end[: rows + others].copy(),
        whose[:others].copy(),
    )  # fmt: skip


@compiled
def held(number: Array, row: Array) -> Array:
    """Of rows those that hold some leaf: a price of others gains nothing. Their places replace those of `row`."""
    place, count = np.zeros(len(number), np.int32), 0
    kept = np.empty(len(number), np.int32)
    for pair in range(len(row)):
        place[row[pair]] = 1
    for i in range(len(number)):
        if place[i]:
            kept[count], place[i] = number[i], count
            count += 1
    for pair in range(len(row)):
        row[pair] = place[row[pair]]
    return kept[:count].copy()


def whole(frame: RelaxationArrays) -> Active:
    """All of a relaxation, from which boxes take what they leave open."""
    some, axes = np.zeros(0, np.uint32), len(frame.grid)
    rows = Rows(some, some, some, some, some, some, some, np.zeros(0, np.int32))
    first, at, row = (column.astype(np.int32) for column in (frame.first, frame.at, frame.rows))
    leaf, number = np.arange(len(at) - 1, dtype=np.int32), np.arange(len(frame.axis), dtype=np.int32)
    begin, end = (frame.begin[k : k + axes].astype(np.int32) for k in (0, 1))
    return Active(first, leaf, at, row, number, begin, end, np.full(axes, -1, np.int64), empty=False, rows=rows)


@compiled
def opened(frame: RelaxationArrays, ground: Ground, box: Box, limit: int, above: Active, idle: Array) -> Active:
    """The leaves, rows and pieces of a box, of whose sides and costs only the sides need be filled in.

    limit: leaves whose part of the box has a scaled cost >= this are not reached.
    above: what a box around this one left open, with a limit no smaller; or all.
    idle: (cliques,) those that are left out.
    Long because what is open of rows, leaves and pieces is written down in one pass each, without a list between.
    """
    rows, trees, axes = len(above.number), len(above.first) - 1, len(frame.grid)
    measure(ground, box)
    low, high = box.low.copy(), box.high.copy()
    cliques = len(frame.axis) - len(idle)  # the first of their rows
    place = np.empty(rows, np.int32)
    number = np.empty(rows, np.int32)
    open_rows = 0
    for i in range(rows):
        found = state(frame, above.number[i], low, high)
        if above.number[i] >= cliques and idle[above.number[i] - cliques]:
            found = WITHIN
        place[i] = -1 if found == WITHIN else -2
        if found == CUTTING:
            place[i] = open_rows
            number[open_rows] = above.number[i]
            open_rows += 1
    first = np.empty(trees + 1, np.int32)
    leaf = np.empty(len(above.leaf), np.int32)
    at = np.empty(len(above.at), np.int32)
    row = np.empty(len(above.row), np.int32)
    leaves, pairs, empty = 0, 0, False
    for t in range(trees):
        first[t] = leaves
        for one in range(above.first[t], above.first[t + 1]):
            at[leaves] = pairs
            kept, reached = pairs, True
            for k in range(above.at[one], above.at[one + 1]):
                where = place[above.row[k]]
                if where == -2:
                    reached = False
                    break
                if where >= 0:
                    row[kept] = where
                    kept += 1
            if reached and cost_of_leaf(frame, ground, box, number, row, pairs, kept, low, high) < limit:
                pairs = kept
                leaf[leaves] = above.leaf[one]
                leaves += 1
        if first[t] == leaves:
            empty = True
    first[trees], at[leaves] = leaves, pairs
    begin, end, mask = np.empty(axes, np.int32), np.empty(axes, np.int32), np.zeros(axes, np.int64)
    for j in range(axes):
        begin[j], end[j] = frame.begin[j], frame.begin[j + 1]
        if j == len(low):
            continue
        if frame.grid[j]:
            while frame.end_cell[begin[j]] < low[j]:
                begin[j] += 1
            while frame.begin_cell[end[j] - 1] > high[j]:
                end[j] -= 1
        else:
            mask[j] = low[j]
    leaf, at = leaf[:leaves].copy(), at[: leaves + 1].copy()
    row = row[:pairs].copy()
    number = held(number[:open_rows], row)
    rows_read = rows_of(frame, begin, end, number, at, row)
    return Active(first, leaf, at, row, number, begin, end, mask, empty, rows_read)


@lean
def on_side(frame: RelaxationArrays, row: int, piece: int) -> bool:
    """Whether a piece of the row's axis lies on its side."""
    axis = frame.axis[row]
    if frame.grid[axis]:
        return bool((piece - frame.begin[axis] <= frame.place[row]) == (frame.side[row] == 0))
    return bool(((frame.cut[row] >> frame.begin_cell[piece]) & 1 == 1) == (frame.side[row] == 0))


@lean
def payments(frame: RelaxationArrays, active: Active, prices: Array, paid: Array) -> None:
    """What every piece of the box pays; of an ordered axis, how much more than the piece before it.

    prices: one for each row of `active`. paid: filled in here. Without branches, since about every other row has a
    price.
    """
    rows = active.rows
    paid[:] = 0
    for j in range(len(rows.over)):
        if not frame.grid[j]:
            for i in range(rows.begin[j], rows.begin[j + 1]):
                for piece in range(active.begin[j], active.end[j]):
                    if on_side(frame, active.number[i], piece):
                        paid[piece] += prices[i]
            continue
        below = prices.dtype.type(0)
        for i in range(rows.begin[j], rows.over[j]):
            below += prices[i]
            paid[rows.after[i]] -= prices[i]
        for i in range(rows.over[j], rows.begin[j + 1]):
            paid[rows.after[i]] += prices[i]
        paid[active.begin[j]] += below


@lean
def worths(rows: Rows, price: Array, worth: Array, some: Array) -> None:
    """What the rows of every leaf cost it, as differences from leaf to leaf; worth: (leaves + 1,), filled in here.

    some: room for the rows that have a price, every third or so; to find them first takes less than to ask each time.
    """
    worth[:] = 0.0
    count = 0
    for i in range(len(price)):
        some[count] = i
        count += price[i] > 0.0
    for k in range(count):
        worth[rows.first[some[k]]] += price[some[k]]
        worth[rows.end[some[k]]] -= price[some[k]]
    for i in range(len(rows.row)):
        worth[rows.first[len(price) + i]] += price[rows.row[i]]
        worth[rows.end[len(price) + i]] -= price[rows.row[i]]


@lean
def lift(frame: RelaxationArrays, active: Active, chosen: Array, change: Array) -> None:
    """Take one from the change of every row on whose side the chosen piece of its axis lies."""
    rows = active.rows
    for j in range(len(chosen)):
        if frame.grid[j]:
            for i in range(rows.under[chosen[j]], rows.over[j]):
                change[i] -= 1.0
            for i in range(rows.over[j], rows.above[chosen[j]]):
                change[i] -= 1.0
        else:
            for i in range(rows.begin[j], rows.begin[j + 1]):
                change[i] -= 1.0 if on_side(frame, active.number[i], chosen[j]) else 0.0


@lean
def turn_to(price: Array, change: Array, way: Array, seen: Array, share: Array) -> float:
    """Turn the direction to a subgradient; returns its size.

    way: the direction. seen: squared subgradients so far; prices move by one over the root of their sum.
    share: the direction at these rates.
    All these are singles, whose vectors are twice as long: roots and quotients would take most of a round. One loop for
    each step, so that most of them are vectors; the size in four sums, which need not wait for each other.
    """
    nothing = np.float32(0.0)
    for i in range(len(price)):
        own = change[i] + KEPT * way[i]
        seen[i] += change[i] * change[i]
        way[i] = nothing if (price[i] <= 0.0 and own < nothing) or abs(own) < FADED else own
    for i in range(len(price)):
        share[i] = np.true_divide(way[i], np.sqrt(seen[i]))
    one = two = three = four = 0.0
    for i in range(0, len(price) - 3, 4):
        one += float(way[i]) * float(share[i])
        two += float(way[i + 1]) * float(share[i + 1])
        three += float(way[i + 2]) * float(share[i + 2])
        four += float(way[i + 3]) * float(share[i + 3])
    for i in range(len(price) - len(price) % 4, len(price)):
        one += float(way[i]) * float(share[i])
    return one + two + three + four


@lean
def step_by(price: Array, share: Array, step: float) -> None:
    """Move prices, which stay >= 0."""
    for i in range(len(price)):
        own = price[i] + step * float(share[i])
        price[i] = own if own > 0.0 else 0.0


@lean
def onto_simplex(shares: Array) -> None:
    """The nearest shares >= 0 whose sum is at most 1."""
    total = 0.0
    for j in range(len(shares)):
        shares[j] = max(0.0, shares[j])
        total += shares[j]
    if total <= 1.0:
        return
    least, most = 0.0, total
    for _ in range(60):
        level, left = (least + most) / 2, 0.0
        for j in range(len(shares)):
            left += max(0.0, shares[j] - level)
        if left > 1.0:
            least = level
        else:
            most = level
    for j in range(len(shares)):
        shares[j] = max(0.0, shares[j] - most)


@compiled
def gains_of(frame: RelaxationArrays, active: Active) -> tuple[Array, Array]:
    """(C, leaves) the gains of the leaves that are reached; (C,) the units in which multipliers of comparisons move.

    In such units a tree's gain changes by about a tenth of a price.
    """
    trees, compares, leaves = len(active.first) - 1, len(frame.need), len(active.leaf)
    unit, gain = np.empty(compares), np.empty((compares, leaves))
    for c in range(compares):
        spread = 0.0
        for k in range(leaves):
            gain[c, k] = frame.gain[c, active.leaf[k]]
        for t in range(trees):
            of_tree = gain[c, active.first[t] : active.first[t + 1]]
            spread += of_tree.max() - of_tree.min()
        unit[c] = max(10.0 * spread / trees, 1.0)
    return gain, unit


@lean
def cheapest_leaves(
    active: Active, gain: Array, worth: Array, paid_for: Array, total: float, missing: Array, change: Array,
    reached: Array, weight: float,
) -> float:  # fmt: skip
    """Each tree takes its cheapest leaf; returns `total` with what these cost.

    worth: what its rows cost a leaf, see `worths`; paid_for: what is paid for its gain. missing: (C,) the gains are
    taken off; change: one is added for every row of these leaves, and `weight` to what was taken of leaves, `reached`.
    """
    own = 0.0
    for t in range(len(active.first) - 1):
        least, found = np.inf, active.first[t]
        for k in range(active.first[t], active.first[t + 1]):
            own += worth[k]
            if own - paid_for[k] < least:
                least, found = own - paid_for[k], k
        total += least
        reached[found] += weight
        for c in range(len(missing)):
            missing[c] -= gain[c, found]
        for i in range(active.at[found], active.at[found + 1]):
            change[active.row[i]] += 1.0
    return total


@lean
def cheapest_pieces(
    frame: RelaxationArrays, active: Active, costs: Costs, paid: Array, shares: Array, lines: Array, total: float,
    chosen: Array, moves: Moves,
) -> float:  # fmt: skip
    """Each axis takes its cheapest piece, or index of a piece; returns `total` with what these cost.

    paid: what pieces pay, see `payments`. chosen: (J,) the pieces, filled in here, as is what `moves.share` and
    `moves.line` gain by them.
    """
    for j in range(len(chosen)):
        least, found, spot, here, grid = np.inf, active.begin[j], -1, 0.0, frame.grid[j]
        for piece in range(active.begin[j], active.end[j]):
            here = paid[piece] + (here if grid else 0.0)
            if not grid and not (active.mask[j] >> frame.begin_cell[piece]) & 1:
                continue
            if frame.read[j]:
                for s in range(frame.spots[piece], frame.spots[piece + 1]):
                    own = costs.spot_part[s] + shares[j] * costs.spot_top[s] - here
                    for n in range(len(lines)):
                        own += lines[n] * costs.spot_sum[n, s]
                    if own < least:
                        least, found, spot = own, piece, s
            else:
                own = costs.part[piece] + shares[j] * costs.top[piece] - here
                if own < least:
                    least, found = own, piece
        total += least
        chosen[j] = found
        moves.share[j] = costs.top[found] if spot < 0 else costs.spot_top[spot]
        if spot >= 0:
            for n in range(len(lines)):
                moves.line[n] += costs.spot_sum[n, spot]
    return total


@lean
def turn_few(moves: Moves, lines: Array, largest: bool, norm: float) -> float:
    """Turn the directions of these multipliers to their subgradients; returns `norm` with what they add to it.

    largest: whether the largest change has a cost, without which the multipliers of axes stay 0.
    """
    for c in range(len(moves.goal)):
        moves.goal_way[c] = moves.goal[c] / moves.unit[c] + KEPT * moves.goal_way[c]
        norm += moves.goal_way[c] * moves.goal_way[c]
    if largest:
        for j in range(len(moves.share)):
            moves.share_way[j] = moves.share[j] + KEPT * moves.share_way[j]
            norm += moves.share_way[j] * moves.share_way[j]
    for n in range(len(lines)):
        moves.line_way[n] = moves.line[n] + KEPT * moves.line_way[n]
        moves.line_seen[n] += moves.line[n] * moves.line[n]
        if lines[n] <= 0.0 and moves.line_way[n] < 0.0:
            moves.line_way[n] = 0.0
        moves.line_rate[n] = RULING * moves.line_way[n] / np.sqrt(max(moves.line_seen[n], 1e-300))
        norm += moves.line_way[n] * moves.line_rate[n]
    return norm


@lean
def step_few(moves: Moves, goal: Array, shares: Array, lines: Array, largest: bool, step: float) -> None:
    """Move these multipliers along their directions; all stay >= 0, and those of axes at most 1 together."""
    for c in range(len(goal)):
        goal[c] = max(0.0, goal[c] + step * moves.goal_way[c] / moves.unit[c])
    if largest:
        for j in range(len(shares)):
            shares[j] += step * moves.share_way[j]
        onto_simplex(shares)
    for n in range(len(lines)):
        lines[n] = max(0.0, lines[n] + step * moves.line_rate[n])


@lean
def to_shares(begin: Array, end: Array, taken: Array) -> None:
    """How often pieces or leaves were taken, as shares of those of an axis or a tree; begin, end: which these are."""
    for j in range(len(begin)):
        total = 0.0
        for piece in range(begin[j], end[j]):
            total += taken[piece]
        for piece in range(begin[j], end[j]):
            taken[piece] /= total


@compiled
def ascend(
    frame: RelaxationArrays, active: Active, prices: Array, goal: Array, shares: Array, lines: Array, size: float,
    target: float, rounds: int, largest: bool, length: float,
) -> Climbed:  # fmt: skip
    """Better multipliers than the given ones for what `active` leaves open.

    prices: (R,) and goal: (C,), per scaled gain, in units; shares: (J,). size: units by which steps are measured.
    target: a bound that is good enough, in units; `rounds` at most. largest: whether the largest change has a cost.
    length: of the first steps, as a part of Polyak's.
    Long because each round is one pass over leaves, pieces and rows, and its arrays are made once.
    """
    axes, compares, ruled = len(frame.grid), len(frame.need), len(lines)
    open_rows, leaves = len(active.number), len(active.leaf)
    price, best_price = np.empty(open_rows), np.empty(open_rows)
    for i in range(open_rows):
        price[i] = prices[active.number[i]] / size
    way, change = np.zeros(open_rows, np.float32), np.empty(open_rows, np.float32)
    share, seen = np.empty(open_rows, np.float32), np.ones(open_rows, np.float32)
    some = np.empty(open_rows + 1, np.uint32)
    goal, shares, lines = goal / size, shares.copy(), lines.copy()
    best_goal, best_shares, best_lines = goal.copy(), shares.copy(), lines.copy()
    gain, unit = gains_of(frame, active)
    moves = Moves(
        np.zeros(compares), np.zeros(axes), np.zeros(ruled), unit, np.zeros(compares), np.zeros(axes), np.zeros(ruled),
        np.zeros(ruled), np.zeros(ruled),
    )  # fmt: skip
    costs = Costs(
        frame.part / size, frame.top / size, frame.spot_part / size, frame.spot_top / size, frame.spot_sum / size,
        frame.slack / size,
    )  # fmt: skip
    worth, paid_for = np.empty(leaves + 1), np.empty(leaves)
    paid, taken, chosen = np.empty(len(frame.part)), np.zeros(len(frame.part)), np.empty(axes, np.int32)
    reached = np.zeros(leaves)
    best, before, idle, weight = -np.inf, -np.inf, 0, 1.0
    aim = target / size
    for turn in range(rounds):
        total = 0.0
        change[:] = 0.0
        for c in range(compares):
            total += goal[c] * frame.need[c]
            moves.goal[c] = frame.need[c]
            for k in range(leaves):
                paid_for[k] = goal[c] * gain[c, k] + (paid_for[k] if c else 0.0)
        worths(active.rows, price, worth, some)
        total = cheapest_leaves(active, gain, worth, paid_for, total, moves.goal, change, reached, weight)
        payments(frame, active, price, paid)
        for n in range(ruled):
            total += lines[n] * costs.slack[n]
            moves.line[n] = costs.slack[n]
        total = cheapest_pieces(frame, active, costs, paid, shares, lines, total, chosen, moves)
        for j in range(axes):
            taken[chosen[j]] += weight
        weight *= LATER
        if total > best:
            best, idle = total, 0
            best_price[:], best_goal[:], best_shares[:], best_lines[:] = price, goal, shares, lines
        else:
            idle += 1
            if idle >= PATIENT:
                length, idle = length * SHORTER, 0
        if best >= aim:
            break
        if turn % LOOK == LOOK - 1:
            if best - before < SLOW * (aim - best):
                break
            before = best
        lift(frame, active, chosen, change)
        norm = turn_few(moves, lines, largest, turn_to(price, change, way, seen, share))
        if norm == 0.0:
            break
        step = length * (1.01 * aim - total) / norm
        step_by(price, share, step)
        step_few(moves, goal, shares, lines, largest, step)
    every = np.zeros(len(prices), prices.dtype)
    for i in range(open_rows):
        every[active.number[i]] = best_price[i] * size
    to_shares(active.begin, active.end, taken)
    to_shares(active.first[:-1], active.first[1:], reached)
    return Climbed(best * size, every, best_goal * size, best_shares, best_lines, taken, reached)


@lean
def of_spots(frame: RelaxationArrays, piece: int, share: float, lines: Array) -> int:
    """The least cost of the indices of a piece, with what multipliers of linear rules make of it, in whole units below;
    `ANYTHING` where sums of these might not fit.
    """
    least = np.int64(LARGEST)
    for s in range(frame.spots[piece], frame.spots[piece + 1]):
        own, added, about = frame.spot_part[s], 0.0, 0.0
        if share > 0.0:
            own += max(0, np.int64(np.floor(share * float(frame.spot_top[s]) * (1.0 - 2.0**-50))))
        for n in range(len(lines)):
            product = lines[n] * frame.spot_sum[n, s]
            added, about = added + product, about + abs(product)
        if not about <= LARGEST / MANY:
            return ANYTHING
        least = min(least, own + np.int64(np.floor(added - about * (len(lines) + 4) * 2.0**-50)) - 1)
    return int(least)


@lean
def cost_of_piece(frame: RelaxationArrays, j: int, piece: int, shares: Array, lines: Array) -> int:
    """What a piece of an axis costs, without its payments, in whole units below; `ANYTHING` where sums may not fit."""
    if frame.read[j]:
        return of_spots(frame, piece, shares[j], lines)
    own: Any = np.int64(frame.part[piece])
    if shares[j] > 0.0:
        own += max(0, np.int64(np.floor(shares[j] * float(frame.top[piece]) * (1.0 - 2.0**-50))))
    return int(own)


@compiled
def proved(
    frame: RelaxationArrays, active: Active, prices: Array, goal: Array, shares: Array, lines: Array, whole: Any
) -> int:  # fmt: skip
    """A lower bound of the distance in units: of points of the box with the part of the goal.

    prices: (R,) whole units. goal: (C,) units per scaled gain, of no more than 40 binary digits; whole: (C,) the needs.
    shares: (J,), of no more than 30 digits, with a sum of at most 1. lines: (N,), of no more than 30 digits.
    Lemma: products of doubles are rounded, and the result moved down by more than that; all sums are of whole numbers.
    Long because all sums share one size that they may not exceed.
    """
    if active.empty:
        return ANYTHING
    trees, compares = len(active.first) - 1, len(goal)
    price = np.empty(len(active.number), np.int64)
    size = 0.0
    for i in range(len(active.number)):
        price[i] = prices[active.number[i]]
        size += float(price[i])
    total: Any = np.int64(0)
    for c in range(compares):
        product = goal[c] * float(whole[c])
        size += abs(product)
        if size > LARGEST:
            return NOTHING
        total += np.int64(np.floor(product - abs(product) * 2.0**-50)) - 1
    for t in range(trees):
        least: Any = np.int64(ANYTHING)
        most = 0.0
        for k in range(active.first[t], active.first[t + 1]):
            own, slack = 0.0, 0.0
            for c in range(compares):
                product = goal[c] * float(frame.gain[c, active.leaf[k]])
                own, slack = own - product, slack + abs(product)
            most = max(most, slack)
            if size + slack > LARGEST:
                return NOTHING
            here = np.int64(np.floor(own - slack * (compares + 2) * 2.0**-50)) - 1
            for i in range(active.at[k], active.at[k + 1]):
                here += price[active.row[i]]
            least = min(least, here)
        size += most
        total += least
    for n in range(len(lines)):
        product = lines[n] * frame.slack[n]
        size += abs(product)
        if not size <= LARGEST:
            return NOTHING
        total += np.int64(np.floor(product - abs(product) * 2.0**-48)) - 1
    paid = np.empty(len(frame.part), np.int64)
    payments(frame, active, price, paid)
    for j in range(len(frame.grid)):
        least = np.int64(ANYTHING)
        pays: Any = np.int64(0)
        for piece in range(active.begin[j], active.end[j]):
            pays = paid[piece] + (pays if frame.grid[j] else np.int64(0))
            if frame.grid[j] or (active.mask[j] >> frame.begin_cell[piece]) & 1:
                cost: Any = cost_of_piece(frame, j, piece, shares, lines)
                if cost == ANYTHING:
                    return NOTHING
                least = min(least, np.int64(cost - pays))
        total += least
    return int(total)
