"""Dual ascent on the linear relaxation of trees, compiled: better multipliers, by a subgradient method.

In:  the arrays of a relaxation, what a box leaves open of it, and multipliers to start from: those of rows are prices.
Out: `ascend`: better multipliers, with the shares (primal values) of pieces and leaves that go with them.
Promise: how good they are changes only the speed: what they prove is computed in whole numbers (`exact_bound.py`).

For given prices the Lagrangian separates: each axis takes its cheapest piece, each tree its cheapest leaf. Where a
tree's leaf lies on a side of a cut and the axis's piece does not, the price of that side rises, in the opposite case it
falls: a subgradient. Steps are Polyak's towards the distance that is to be proved, shorter for prices that moved much,
along a direction that keeps a part of the one before. Pieces taken on the way, the later ones counted more, approach
the primal solution.
Source: Held, Wolfe, Crowder 1974, "Validation of subgradient optimization"; Camerini, Fratta, Maffioli 1975 (the
direction); Duchi, Hazan, Singer 2011 (steps by price); Barahona, Anbil 2000, "The volume algorithm" (the primal side).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.relaxation.frame import Active, OpenRows, RelaxationArrays, on_side, payments, rows_with_price

FADED = np.float32(1e-20)  # less than which is nothing: the smallest singles are dear
RULING = 100.0  # times as fast as prices do multipliers of linear rules move, of which there are few
AIMING = 3.0  # and those of comparisons, of which there are few too
# Squared subgradients of comparisons that count as seen before: what a box has of the one around it is nearly right.
SEEN = 1e4
LATER = 1.05  # a round's pieces count so many times those of the round before
LOOK = 50  # rounds, in which this part of what is missing must be gained for the ascent to go on
SLOW = 0.005


class PieceCosts(NamedTuple):
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
    goal_seen, line_seen: squared subgradients so far. goal_rate, line_rate: directions at the rates that follow.
    """

    goal: Array
    share: Array
    line: Array
    unit: Array
    goal_way: Array
    share_way: Array
    line_way: Array
    goal_seen: Array
    goal_rate: Array
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
def worths(rows: OpenRows, price: Array, some: Array, count: int, worth: Array) -> None:
    """What the rows of every leaf cost it, as differences from leaf to leaf; worth: (leaves + 1,), filled in here.

    some, count: see `rows_with_price`.
    """
    worth[:] = 0.0
    for k in range(count):
        own = price[some[k]]
        for i in range(rows.at[some[k]], rows.at[some[k] + 1]):
            worth[rows.first[i]] += own
            worth[rows.end[i]] -= own


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
def turn_to(
    price: Array, change: Array, way: Array, seen: Array, share: Array, kept: np.float32, lanes: Array
) -> float:  # fmt: skip
    """Turn the direction to a subgradient; returns its size.

    way: the direction, of which a part is kept. seen: squared subgradients so far; prices move by one over the root of
    their sum. share: the direction at these rates.
    All these are singles, whose vectors are twice as long: roots and quotients would take most of a round. One loop for
    each step, so that all of them are vectors; the size in sums beside each other, one for each of `lanes`, (16,).
    """
    nothing = np.float32(0.0)
    for i in range(len(price)):
        own = change[i] + kept * way[i]
        seen[i] += change[i] * change[i]
        way[i] = nothing if (price[i] <= 0.0 and own < nothing) or abs(own) < FADED else own
    for i in range(len(price)):
        share[i] = np.true_divide(way[i], np.sqrt(seen[i]))
    lanes[:] = nothing
    for i in range(0, len(price) - 15, 16):
        for k in range(16):
            lanes[k] += way[i + k] * share[i + k]
    size = 0.0
    for k in range(16):
        size += float(lanes[k])
    for i in range(len(price) - len(price) % 16, len(price)):
        size += float(way[i] * share[i])
    return size


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

    In such units what those trees gain that make a difference changes by about a price.
    """
    trees, compares, leaves = len(active.first) - 1, len(frame.need), len(active.leaf)
    unit, gain = np.empty(compares), np.empty((compares, leaves))
    for c in range(compares):
        spread, count = 0.0, 0
        for t in range(trees):
            least, most = np.inf, -np.inf
            for k in range(active.first[t], active.first[t + 1]):
                own = float(frame.gain[c, active.leaf[k]])
                gain[c, k], least, most = own, min(least, own), max(most, own)
            spread += most - least
            count += most > least
        unit[c] = max(spread / max(count, 1), 1.0)
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
        least, found, k, end = np.inf, active.first[t], active.first[t], active.first[t + 1]
        while k + 1 < end:  # two at a time: most of the time one sum waits for the one before it
            here, own = own + worth[k], own + (worth[k] + worth[k + 1])
            if here - paid_for[k] < least:
                least, found = here - paid_for[k], k
            if own - paid_for[k + 1] < least:
                least, found = own - paid_for[k + 1], k + 1
            k += 2
        if k < end:
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
def cheapest_of_ordered(costs: PieceCosts, paid: Array, share: float, begin: int, end: int) -> tuple[float, int]:
    """What the cheapest piece of an ordered axis costs, and which it is; paid: as in `cheapest_pieces`."""
    least, found, here, piece = np.inf, begin, 0.0, begin
    while piece + 1 < end:  # two at a time, as in `cheapest_leaves`
        before, here = here + paid[piece], here + (paid[piece] + paid[piece + 1])
        own = costs.part[piece] + share * costs.top[piece] - before
        if own < least:
            least, found = own, piece
        own = costs.part[piece + 1] + share * costs.top[piece + 1] - here
        if own < least:
            least, found = own, piece + 1
        piece += 2
    if piece < end:
        own = costs.part[piece] + share * costs.top[piece] - (here + paid[piece])
        if own < least:
            least, found = own, piece
    return least, found


@lean
def cheapest_pieces(
    frame: RelaxationArrays, active: Active, costs: PieceCosts, paid: Array, shares: Array, lines: Array, total: float,
    chosen: Array, moves: Moves,
) -> float:  # fmt: skip
    """Each axis takes its cheapest piece, or index of a piece; returns `total` with what these cost.

    paid: what pieces pay, see `payments`. chosen: (J,) the pieces, filled in here, as is what `moves.share` and
    `moves.line` gain by them.
    """
    for j in range(len(chosen)):
        least, found, spot, here, grid = np.inf, active.begin[j], -1, 0.0, frame.grid[j]
        if grid and not frame.read[j]:
            least, found = cheapest_of_ordered(costs, paid, shares[j], active.begin[j], active.end[j])
            total += least
            chosen[j], moves.share[j] = found, costs.top[found]
            continue
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
def turn_few(
    moves: Moves, goal: Array, lines: Array, largest: bool, free: bool, norm: float, kept: float
) -> float:  # fmt: skip
    """Turn the directions of these multipliers to their subgradients; returns `norm` with what they add to it.

    largest: whether the largest change has a cost, without which the multipliers of axes stay 0. free: see `ascend`.
    """
    for c in range(len(moves.goal)):
        if free and len(moves.goal) == 1:
            break
        gained = moves.goal[c] / moves.unit[c]
        moves.goal_way[c] = gained + kept * moves.goal_way[c]
        moves.goal_seen[c] += gained * gained
        if goal[c] <= 0.0 and moves.goal_way[c] < 0.0:
            moves.goal_way[c] = 0.0
        moves.goal_rate[c] = AIMING * moves.goal_way[c] / np.sqrt(moves.goal_seen[c])
        norm += moves.goal_way[c] * moves.goal_rate[c]
    if largest:
        for j in range(len(moves.share)):
            moves.share_way[j] = moves.share[j] + kept * moves.share_way[j]
            norm += moves.share_way[j] * moves.share_way[j]
    for n in range(len(lines)):
        moves.line_way[n] = moves.line[n] + kept * moves.line_way[n]
        moves.line_seen[n] += moves.line[n] * moves.line[n]
        if lines[n] <= 0.0 and moves.line_way[n] < 0.0:
            moves.line_way[n] = 0.0
        moves.line_rate[n] = RULING * moves.line_way[n] / np.sqrt(max(moves.line_seen[n], 1e-300))
        norm += moves.line_way[n] * moves.line_rate[n]
    return norm


@lean
def step_few(
    moves: Moves, goal: Array, shares: Array, lines: Array, largest: bool, free: bool, step: float
) -> None:  # fmt: skip
    """Move these multipliers along their directions; all stay >= 0, and those of axes at most 1 together."""
    before = after = 0.0
    for c in range(len(goal)):
        before += goal[c] * moves.unit[c]
        goal[c] = max(0.0, goal[c] + step * moves.goal_rate[c] / moves.unit[c])
        after += goal[c] * moves.unit[c]
    if free:
        for c in range(len(goal)):
            goal[c] = goal[c] * (before / after) if after > 0.0 else before / (len(goal) * moves.unit[c])
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
    target: float, rounds: int, largest: bool, free: bool, length: float, kept: float, patient: int, shorter: float,
) -> Climbed:  # fmt: skip
    """Better multipliers than the given ones for what `active` leaves open.

    prices: (R,) and goal: (C,), per scaled gain, in units; shares: (J,). size: units by which steps are measured.
    target: a bound that is good enough, in units; `rounds` at most. largest: whether the largest change has a cost.
    free: nothing has one, so that with all multipliers the bound doubles too; those of comparisons keep their size.
    length: of the first steps, as a part of Polyak's. kept: this part of the last direction goes on in the next one.
    patient: rounds without a better bound, after which steps get `shorter` times as long.
    Long because each round is one pass over leaves, pieces and rows, and its arrays are made once: in parts that are
    handed them it takes 1 to 6 % longer.
    """
    axes, compares, ruled = len(frame.grid), len(frame.need), len(lines)
    open_rows, leaves = len(active.number), len(active.leaf)
    price, best_price = np.empty(open_rows), np.empty(open_rows)
    for i in range(open_rows):
        price[i] = prices[active.number[i]] / size
    way, change = np.zeros(open_rows, np.float32), np.empty(open_rows, np.float32)
    share, seen = np.empty(open_rows, np.float32), np.ones(open_rows, np.float32)
    lanes = np.empty(16, np.float32)
    some = np.empty(open_rows + 1, np.uint32)
    goal, shares, lines = goal / size, shares.copy(), lines.copy()
    best_goal, best_shares, best_lines = goal.copy(), shares.copy(), lines.copy()
    gain, unit = gains_of(frame, active)
    moves = Moves(
        np.zeros(compares), np.zeros(axes), np.zeros(ruled), unit, np.zeros(compares), np.zeros(axes), np.zeros(ruled),
        np.full(compares, SEEN), np.zeros(compares), np.zeros(ruled), np.zeros(ruled),
    )  # fmt: skip
    costs = PieceCosts(
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
            if c and goal[c] == 0.0:  # of many rivals few come near
                continue
            for k in range(leaves):
                paid_for[k] = goal[c] * gain[c, k] + (paid_for[k] if c else 0.0)
        count = rows_with_price(price, some)
        worths(active.rows, price, some, count, worth)
        total = cheapest_leaves(active, gain, worth, paid_for, total, moves.goal, change, reached, weight)
        payments(frame, active, price, some, count, paid)
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
            if idle >= patient:
                length, idle = length * shorter, 0
        if best >= aim:
            break
        if turn % LOOK == LOOK - 1:
            if best - before < SLOW * (aim - best):
                break
            before = best
        lift(frame, active, chosen, change)
        norm = turn_to(price, change, way, seen, share, np.float32(kept), lanes)
        norm = turn_few(moves, goal, lines, largest, free, norm, kept)
        if norm == 0.0:
            break
        step = length * (1.01 * aim - total) / norm
        step_by(price, share, step)
        step_few(moves, goal, shares, lines, largest, free, step)
    every = np.zeros(len(prices), prices.dtype)
    for i in range(open_rows):
        every[active.number[i]] = best_price[i] * size
    to_shares(active.begin, active.end, taken)
    to_shares(active.first[:-1], active.first[1:], reached)
    return Climbed(best * size, every, best_goal * size, best_shares, best_lines, taken, reached)
