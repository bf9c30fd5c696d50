"""Bounds of a network over many boxes at once: linear functions of the inputs, found by going back through the layers.

In:  a `Chain`, boxes of what its first stage is given, bounds of hidden units that are known already.
Out: bounds of the hidden units, and for linear forms of the outputs a linear function of the inputs that is above them.
Promise: everything holds for the deployed model and for the exact one, as `chain` says: the rounding of every sum
counts as a shift of that sum, and what the doubles here lose is counted with it.
How: a unit that may be on or off lies between slope * z and the line through its two ends. Only units whose phase is
open are bounded again, and those whose phase was chosen, with an end at 0: a child keeps the phases of its parent.
Source: Singh et al. 2019 (DeepPoly); Zhang et al. 2018 (CROWN).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.deadline import NEVER, Deadline
from mace.solve.splitting.chain import Chain, Interval, Stage
from mace.solve.splitting.rows import Rows, of_units
from mace.tables.table import Floats

ROWS = 2048  # of coefficients that are carried back at a time: they stay in the processor's cache
LEAST_ROWS = 64
COEFFICIENTS = 2**21  # of one stage that are held at a time
AT_ONCE = 2**32  # products, about a second, between which the clock is looked at
UNIT = 2.0**-53
LOST = 1e-280  # more than all products that are too small for a double come to, with sums below `chain.LARGEST`


class Lines(NamedTuple):
    """What replaces the units of one layer, in each box: shape (boxes, units).

    steep, above: a unit's output is at most steep * z + above. flat: it is at least flat * z.
    shift: how far a sum may be from what exact arithmetic makes of the values before it.
    """

    steep: Floats
    above: Floats
    flat: Floats
    shift: Floats


class Forms(NamedTuple):
    """Linear functions of the inputs: slope (rows, columns), constant (rows,); how much of that stands for rounding."""

    slope: Floats
    constant: Floats
    rounding: Floats


class Choice(NamedTuple):
    """What may be chosen for each form, in full rows; for each stage but the last, (rows, units).

    flat: slopes below units, from 0 to 1 where both phases are possible. paid: what is added to the coefficients of
    sums, of the sign that a sum has. carried: is given the coefficients of units, the last stage first.
    """

    flat: list[Floats]
    paid: list[Floats]
    carried: list[Floats]


class BoundedUnits(NamedTuple):
    """Boxes after their units were bounded. units: for each stage but the last, (boxes, units).

    lines: for each stage; sound: (boxes,) False where a sum may overflow, or is no number.
    asked: how many units of all boxes linear functions were found for.
    """

    units: list[Interval]
    lines: list[Lines]
    sound: NDArray[np.bool_]
    asked: int


def rows_at_once(chain: Chain) -> int:
    """How many rows of coefficients are carried back between two looks at the clock."""
    return max(LEAST_ROWS, min(ROWS, AT_ONCE // chain.weights, COEFFICIENTS // chain.widest))


def bounded(chain: Chain, boxes: Interval, known: list[Interval] | None, deadline: Deadline = NEVER) -> BoundedUnits:
    """Bound the hidden units of boxes, shape (boxes, columns); `known` holds bounds for each stage but the last.

    Raises TimeOverError: a wide network's units may take minutes.
    """
    count = len(boxes.lower)
    lines: list[Lines] = []
    units: list[Interval] = []
    asked = 0
    sound = np.ones(count, dtype=np.bool_)
    largest = np.maximum(np.abs(boxes.lower), np.abs(boxes.upper))
    for place, stage in enumerate(chain.stages):
        sums = (stage.forward_size(largest) + np.abs(stage.bias)) * (1 + 2.0**-40)
        shift = sums * stage.rounding + stage.tiny
        sound &= (sums + shift < chain.largest).all(axis=1)
        if place == len(chain.stages) - 1:
            none = np.zeros_like(shift)
            lines.append(Lines(none, none, none, shift))
            break
        lower, upper = -(sums + shift), sums + shift
        if known is not None:
            lower, upper = np.maximum(lower, known[place].lower), np.minimum(upper, known[place].upper)
        if place == 0 or stage.relu:
            asked += int(np.count_nonzero((lower < 0) & (upper > 0)))
            lower, upper = _tightened(chain, boxes, [*lines, Lines(shift, shift, shift, shift)], lower, upper, deadline)
        units.append(Interval(lower, upper))
        lines.append(_lines(stage, lower, upper, shift))
        largest = np.maximum(upper, 0.0) if stage.relu else np.maximum(np.abs(lower), np.abs(upper))
    return BoundedUnits(units, lines, sound, asked)


def _tightened(
    chain: Chain, boxes: Interval, lines: list[Lines], lower: Floats, upper: Floats, deadline: Deadline
) -> tuple[Floats, Floats]:
    """Bounds of the units of the last of the given stages, where both phases are possible, or one was chosen."""
    box, unit = np.nonzero((lower <= 0) & (upper >= 0))
    if not len(box):
        return lower, upper
    lower, upper = lower.copy(), upper.copy()
    stage, half = chain.stages[len(lines) - 1], rows_at_once(chain) // 2
    for start in range(0, len(box), half):
        deadline.look("units were bounded")
        b, i = box[start : start + half], unit[start : start + half]
        twice = np.concatenate([b, b])
        ends = of_units(np.concatenate([i, i]), np.repeat([1.0, -1.0], len(b)), stage, twice)
        found = greatest(back(chain, lines, ends), boxes, twice)
        upper[b, i] = np.fmin(upper[b, i], found[: len(b)])
        lower[b, i] = np.fmax(lower[b, i], -found[len(b) :])
    return lower, upper


def _lines(stage: Stage, lower: Floats, upper: Floats, shift: Floats) -> Lines:
    if not stage.relu:
        one = np.ones_like(lower)
        return Lines(one, np.zeros_like(lower), one, shift)
    opened = (lower < 0) & (upper > 0)
    on = (lower >= 0).astype(np.float64)
    width = np.where(opened, upper - lower, 1.0)
    steep = np.where(opened, np.minimum(upper / width, 1.0), on)
    # The line passes above both corners for this very `steep`; the rest is for rounding, here and where it is used.
    size = np.maximum(-lower, upper)
    over = np.maximum(-steep * lower, upper - steep * upper) + 16 * UNIT * size
    flat = np.where(opened, (upper > -lower).astype(np.float64), on)
    return Lines(steep, np.where(opened, over * (1 + 2.0**-40) + 1e-300, 0.0), flat, shift)


def back(chain: Chain, lines: list[Lines], ends: Rows, choice: Choice | None = None) -> Forms:
    """Linear functions of the inputs that are above linear forms of the sums of a stage.

    lines: of every stage up to that one. Where a form's coefficients are rounded, `chain`'s rounding allows for it.
    choice: what is chosen for each form; without one the slopes from below are those of the lines.
    """
    constant, total, rounding = (np.zeros(len(ends.box)) for _ in range(3))

    def add(term: Floats) -> None:
        np.add(constant, term, out=constant)
        np.add(total, np.abs(term), out=total)

    for place in range(len(lines) - 1, -1, -1):
        stage, line = chain.stages[place], lines[place]
        add(ends.summed(ends.values, stage.bias))
        shift = ends.summed(np.abs(ends.values), line.shift) * (1 + 2.0**-40)
        add(shift)
        rounding += shift
        ends = ends.through(stage)
        if place == 0:
            break
        under = lines[place - 1]
        up = np.maximum(ends.values, 0.0)
        down = ends.values - up
        add(ends.summed(up, under.above) * (1 + 2.0**-40))
        if choice is None:
            ends = ends.with_values(up * ends.of(under.steep) + down * ends.of(under.flat))
            continue
        choice.carried.append(ends.values)
        paid = choice.paid[place - 1]
        # Where both nearly cancel, the first is rounded by more than a part of what is left.
        add(ends.summed(np.abs(paid), under.shift) * (1 + 2.0**-40))
        ends = ends.with_values(up * ends.of(under.steep) + down * choice.flat[place - 1] + paid)
    return Forms(ends.full(), constant + (8 * len(lines) + 16) * UNIT * total + LOST, rounding)


def steepest(chain: Chain, lines: list[Lines], ends: Floats, box: NDArray[np.int64]) -> Floats:
    """About the largest slope that a form has anywhere in its box, for each input; shape (rows, columns).

    Where many units may be on or off this says more about an input than the slope of one linear function above all.
    """
    low = high = ends
    for place in range(len(lines) - 1, -1, -1):
        stage = chain.stages[place]
        middle, reach = stage.back((low + high) / 2), stage.back_size((high - low) / 2)
        low, high = middle - reach, middle + reach
        if place:
            under = lines[place - 1]
            on = ((under.steep == 1) & (under.above == 0))[box]
            opened = (under.above > 0)[box]
            low = np.where(on, low, np.where(opened, np.minimum(low, 0), 0.0))
            high = np.where(on, high, np.where(opened, np.maximum(high, 0), 0.0))
    return np.maximum(np.abs(low), np.abs(high))


def greatest(forms: Forms, boxes: Interval, box: NDArray[np.int64]) -> Floats:
    """The largest value of each form in its box, rounded up; shape (rows,)."""
    lower, upper = boxes.lower[box], boxes.upper[box]
    up = np.maximum(forms.slope, 0.0)
    reach = np.einsum("ri,ri->r", up, upper) + np.einsum("ri,ri->r", forms.slope - up, lower)
    size = np.einsum("ri,ri->r", np.abs(forms.slope), np.maximum(np.abs(lower), np.abs(upper)))
    terms = forms.slope.shape[1] + 8
    found: Floats = forms.constant + reach + 4 * terms * UNIT * (size + np.abs(forms.constant)) + LOST
    return found


__all__ = ["BoundedUnits", "Choice", "Forms", "back", "bounded", "greatest", "rows_at_once", "steepest"]
