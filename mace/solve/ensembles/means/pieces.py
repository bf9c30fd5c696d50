"""The compiled look at one piece of a goal of a mean: cut down, left as it is with half-spaces, or cut in two.

In:  the members' functions (`Functions`), refuted boxes of scores (`ScoreBoxes`), a piece, and which boxes are its own.
Out: `look` changes the piece and its boxes, and says how it ended; what it found stands in `PieceFindings`.
Promise: what it cuts off a piece does not meet the conditions, and what meets them lies in all of its half-spaces.
`mace.solve.ensembles.means.cover` says why, and puts pieces together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.means.functions import Functions, constant_of, fewer, least, reached, up_to

NOWHERE, TOLD, CUT, STUCK = 0, 1, 2, 3  # nothing in it has the goal; its part is told; it is to be cut; it cannot be
ROOM = 1e-9  # for the rounding of comparisons in a certificate
TIGHT = 1e-12
ROUGH = 1e-7  # by how much the concave functions, where they are only looked at, shall miss a condition
FEW = 48  # places at which functions that bend everywhere are looked at in a piece
UNIT = 2.0**-53  # of rounding


class ScoreBoxes(NamedTuple):
    """Refuted boxes of scores.

    low, high: (K, B) their ends; side: (B,) the condition that a box misses most.
    corner:    (K, B) the scores with which it comes nearest to that, turned.
    corners:   (C, K, B) the same of all conditions.
    """

    low: Array
    high: Array
    side: Array
    corner: Array
    corners: Array


class Piece(NamedTuple):
    """The least and the largest scores of a piece, (K,) each."""

    low: Array
    high: Array


class PieceFindings(NamedTuple):
    """What `look` finds of a piece, in arrays that are made once.

    told:   (3,) how many half-spaces and ends, and the member along which to cut; place: (1,) where.
    weights, constant: (B, K), (B,) half-spaces; ends: (2 K,) ends, the lower ones first.
    x, y:   (C, K, Q + 2) the corners of the concave functions, corners: (C, K) how many.
    over:   (C, B) what they say at most at the corners of boxes, beyond what is needed.
    """

    told: Array
    place: Array
    weights: Array
    constant: Array
    ends: Array
    x: Array
    y: Array
    corners: Array
    over: Array


HALVES, ENDS, MEMBER = 0, 1, 2


@lean
def ends_of(functions: Functions, c: int, k: int, piece: Piece) -> tuple[float, float]:
    """The ends of a piece along a member; times -1, and swapped, where its function falls (`Functions.turn`)."""
    if functions.turn[c, k] > 0:
        return float(piece.low[k]), float(piece.high[k])
    return float(-piece.high[k]), float(-piece.low[k])


@lean
def tighten(functions: Functions, piece: Piece) -> bool:
    """Cut a piece down to what in it meets the conditions: what each member must say at least, if the others say the
    most, it says from some score on. False where nothing meets them."""
    for c in range(len(functions.need)):
        spare = TIGHT - functions.need[c]
        for k in range(len(piece.low)):
            spare += up_to(functions, c, k, ends_of(functions, c, k, piece)[1])
        if spare < 0:
            return False
        for k in range(len(piece.low)):
            low, high = ends_of(functions, c, k, piece)
            low = min(least(functions, c, k, up_to(functions, c, k, high) - spare, low), high)
            if functions.turn[c, k] > 0:
                piece.low[k] = low
            else:
                piece.high[k] = -low
    return True


@lean
def below(piece: Piece, whole: Piece, k: int, high: float) -> bool:
    """Whether a box that reaches up to a score ends below the lower end of a piece."""
    low = piece.low[k]
    return bool(high < low - 0.5 * ROOM * (1 + abs(low)) and low > whole.low[k])


@lean
def beyond(piece: Piece, whole: Piece, k: int, low: float) -> bool:
    """Whether a box that begins at a score begins above the upper end of a piece."""
    high = piece.high[k]
    return bool(low > high + 0.5 * ROOM * (1 + abs(high)) and high < whole.high[k])


@lean
def leave_out(boxes: ScoreBoxes, piece: Piece, whole: Piece, inside: Array) -> int:
    """Take the boxes out that a piece leaves out by its ends; returns how many stay."""
    stay = 0
    for b in range(len(inside)):
        for k in range(len(piece.low)):
            if inside[b] and (below(piece, whole, k, boxes.high[k, b]) or beyond(piece, whole, k, boxes.low[k, b])):
                inside[b] = False
        stay += inside[b]
    return int(stay)


@lean
def envelope(functions: Functions, c: int, k: int, piece: Piece, found: PieceFindings) -> None:
    """Fill in about the least concave function above a member's in a piece: its corners."""
    low, high = ends_of(functions, c, k, piece)
    x, y, count = found.x[c, k], found.y[c, k], 1
    x[0], y[0] = low, up_to(functions, c, k, low)
    first = reached(functions.x[c, k], functions.points[c, k], low)
    last = fewer(functions.x[c, k], functions.points[c, k], high)
    step = max(1, (last - first) // FEW) if functions.smooth[c, k] else 1
    i = first
    while i < last + step:
        a, b = (functions.x[c, k, i], functions.y[c, k, i]) if i < last else (high, up_to(functions, c, k, high))
        while count > 1 and (y[count - 1] - y[count - 2]) * (a - x[count - 2]) <= (b - y[count - 2]) * (
            x[count - 1] - x[count - 2]
        ):
            count -= 1
        if a > low:
            x[count], y[count] = a, b
            count += 1
        if i >= last:
            break
        i += step
    found.corners[c, k] = count


@lean
def at_corner(x: Array, y: Array, count: int, score: float) -> float:
    """A function that is linear between points, and constant beyond them."""
    if score <= x[0]:
        return float(y[0])
    if score >= x[count - 1]:
        return float(y[count - 1])
    i = reached(x, count, score)
    return float(y[i - 1] + (y[i] - y[i - 1]) / (x[i] - x[i - 1]) * (score - x[i - 1]))


@lean
def survey(functions: Functions, boxes: ScoreBoxes, piece: Piece, inside: Array, found: PieceFindings) -> None:
    """Fill in the concave functions of a piece, and what they say at the corners of its boxes."""
    for c in range(len(functions.need)):
        for k in range(len(piece.low)):
            envelope(functions, c, k, piece, found)
        for b in range(len(inside)):
            if inside[b]:
                over = -functions.need[c]
                for k in range(len(piece.low)):
                    x, y, count = found.x[c, k], found.y[c, k], found.corners[c, k]
                    over += at_corner(x, y, count, boxes.corners[c, k, b])
                found.over[c, b] = over


@lean
def nearest_side(found: PieceFindings, b: int) -> int:
    """The condition that the concave functions miss most, or meet least, at a box."""
    best = 0
    for c in range(1, len(found.over)):
        if found.over[c, b] < found.over[best, b]:
            best = c
    return best


@lean
def farthest(found: PieceFindings, stays: Array) -> int:
    """The box at which the concave functions reach farthest beyond the condition that is missed most; -1 for none."""
    number = -1
    most = -np.inf
    for b in range(len(stays)):
        over = found.over[nearest_side(found, b), b]
        if stays[b] and (number < 0 or over > most):
            number, most = b, over
    return number


@compiled
def touching(functions: Functions, c: int, piece: Piece, corner: Array, found: PieceFindings) -> bool:
    """Write the next half-space of a piece: its lines touch the concave functions at a corner. False where it says
    nothing.

    Of a member that reaches beyond the piece a half-space had better say nothing: it would let the box in by that.
    """
    number = found.told[HALVES]
    weights, constant, size, sum_, widest = found.weights[number], -functions.need[c], 0.0, 0.0, 1.0
    for k in range(len(corner)):
        low, high = ends_of(functions, c, k, piece)
        x, y, count = found.x[c, k], found.y[c, k], found.corners[c, k]
        slope = 0.0
        if corner[k] < high and count > 1:
            i = min(max(reached(x, count, corner[k]), 1), count - 1)
            slope = max(0.0, (y[i] - y[i - 1]) / (x[i] - x[i - 1]))
        weights[k] = slope
        constant += constant_of(functions, c, k, slope, low, high)
        size += slope
        end = max(abs(low), abs(high))
        sum_, widest = sum_ + end, max(widest, end)
    if size * widest < 1e-9:  # lines that are nearly flat have huge constants
        return False
    constant /= size
    for k in range(len(corner)):
        weights[k] = weights[k] / size * functions.turn[c, k]
    found.constant[number] = constant + 32 * UNIT * (abs(constant) + sum_)
    return True


@lean
def held(boxes: ScoreBoxes, b: int, weights: Array, constant: float) -> float:
    """How far a box reaches into a half-space."""
    reach = constant
    for k in range(len(weights)):
        if weights[k] != 0.0:
            reach += weights[k] * (boxes.high[k, b] if weights[k] > 0 else boxes.low[k, b])
    return float(reach)


@compiled
def halves(functions: Functions, boxes: ScoreBoxes, piece: Piece, inside: Array, found: PieceFindings) -> int:
    """Fill in half-spaces that leave boxes out; returns -1, or the box that none leaves out and at which the concave
    functions reach farthest."""
    stays = inside.copy()
    found.told[HALVES] = 0
    while True:
        b = farthest(found, stays)
        if b < 0:
            return -1
        c = nearest_side(found, b)
        if found.over[c, b] > -ROUGH or not touching(functions, c, piece, boxes.corner[:, b], found):
            return b
        number = found.told[HALVES]
        weights, constant = found.weights[number], found.constant[number]
        if held(boxes, b, weights, constant) > -ROOM:
            return b
        found.told[HALVES] += 1
        for other in range(len(stays)):
            stays[other] = stays[other] and held(boxes, other, weights, constant) > -ROOM


@compiled
def tell_ends(boxes: ScoreBoxes, piece: Piece, whole: Piece, found: PieceFindings) -> None:
    """Of the ends of a piece as many as leave out the boxes that its half-spaces do not; the one that leaves out most
    first."""
    members, count = boxes.low.shape
    left, out = np.ones(count, np.bool_), np.zeros(2 * members, np.int64)
    for b in range(count):
        for number in range(found.told[HALVES]):
            left[b] = left[b] and held(boxes, b, found.weights[number], found.constant[number]) > -ROOM
    found.told[ENDS] = 0
    while True:
        out[:] = 0
        for b in range(count):
            if left[b]:
                for k in range(members):
                    out[k] += below(piece, whole, k, boxes.high[k, b])
                    out[members + k] += beyond(piece, whole, k, boxes.low[k, b])
        end = int(out.argmax())
        if not out[end]:
            return
        found.ends[found.told[ENDS]] = end
        found.told[ENDS] += 1
        for b in range(count):
            if end < members:
                left[b] = left[b] and not below(piece, whole, end, boxes.high[end, b])
            else:
                left[b] = left[b] and not beyond(piece, whole, end - members, boxes.low[end - members, b])


@compiled
def cut_at(
    functions: Functions, boxes: ScoreBoxes, piece: Piece, inside: Array, number: int, found: PieceFindings
) -> bool:
    """Fill in where to cut a piece, which is where a box ends: along a member whose concave function is far above it
    there, so that both halves, cut down, leave out many boxes. False where the box ends nowhere inside."""
    c, members = boxes.side[number], len(piece.low)
    tops, gaps, stays, places = np.zeros(members), np.full(members, -1.0), np.zeros(members), np.zeros(members)
    lows = np.zeros(members)
    spare = -functions.need[c]
    for k in range(members):
        tops[k] = up_to(functions, c, k, ends_of(functions, c, k, piece)[1])
        spare += tops[k]
    near = inside.copy()
    for b in range(len(near)):
        near[b] = inside[b] and found.over[nearest_side(found, b), b] > -ROUGH
    many = max(1, near.sum())
    widest = TIGHT
    for k in range(members):
        low, high = ends_of(functions, c, k, piece)
        corner = boxes.corner[k, number]
        place = corner + ROOM * (1 + abs(corner))
        if not low < place < high:
            continue
        said = up_to(functions, c, k, place)
        less = spare - tops[k] + said  # what the others may say less than the most, where this one is below
        for other in range(members):
            lows[other] = -np.inf if other == k else least(functions, c, other, tops[other] - less, -np.inf)
        for b in range(len(near)):
            if near[b]:
                every = less >= 0
                for other in range(members):
                    every = every and boxes.corner[other, b] >= lows[other]
                stays[k] += every
                stays[k] += boxes.corner[k, b] >= place
        stays[k] /= many
        places[k] = place
        x, y, count = found.x[c, k], found.y[c, k], found.corners[c, k]
        gaps[k] = max(0.0, at_corner(x, y, count, corner) - said)
        widest = max(widest, gaps[k])
    best = -1
    for k in range(members):
        if gaps[k] >= 0.0 and (best < 0 or stays[k] - gaps[k] / widest < stays[best] - gaps[best] / widest):
            best = k
    found.told[MEMBER] = best
    if best >= 0:
        found.place[0] = places[best] * functions.turn[c, best]
    return best >= 0


@compiled
def look(
    functions: Functions, boxes: ScoreBoxes, piece: Piece, whole: Piece, inside: Array, found: PieceFindings
) -> int:
    """Cut a piece down, and tell its part; or say where to cut it, or why that is not to be done."""
    if not tighten(functions, piece):
        return NOWHERE
    found.told[HALVES] = 0
    if leave_out(boxes, piece, whole, inside):
        survey(functions, boxes, piece, inside, found)
        number = halves(functions, boxes, piece, inside, found)
        if number >= 0:
            return CUT if cut_at(functions, boxes, piece, inside, number, found) else STUCK
    tell_ends(boxes, piece, whole, found)
    return TOLD


@compiled
def outermost(low: Array, high: Array) -> Array:
    """Which boxes, (K, B) each, the largest first, lie in none before them."""
    members, count = low.shape
    stays = np.ones(count, np.bool_)
    for b in range(count):
        if stays[b]:
            inside = stays[b + 1 :].copy()
            for k in range(members):
                inside &= (low[k, b] <= low[k, b + 1 :]) & (high[k, b + 1 :] <= high[k, b])
            stays[b + 1 :] &= ~inside
    return stays
