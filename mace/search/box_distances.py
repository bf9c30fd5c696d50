"""How near points of a box can have a goal, by how fast the model changes over it.

In:  of many boxes: the changes of the features at the nearest point, what each column is at the ends of the box, and
     bounds on the model over it (`mace.compilers.enclosures.bounds.Tight`).
Out: `Nearest`: a distance below which no point of the box has the goal, and how far each feature may move.
Promise: distances are bounded from below: in floats, and then lessened by `LOOSE`.

The number that must grow by `need` from the nearest point c of a box grows by no more than the sum of what the features
bring. Feature j brings at most `most`, and at most `rate` for each unit of its change beyond that at c. So the least
that is paid is that of a knapsack whose parts may be cut: the sum of changes, by the features in order of what a unit
of growth costs (Dantzig 1957); the largest change, by bisection. Where some points are known to be too far, a feature
can move only as far as its reduced cost allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from mace.base.exact import nearest
from mace.compilers.enclosures.bounds import Tight
from mace.compilers.enclosures.enclosed import lenient
from mace.compilers.enclosures.ranges import UNSURE, Ball, Floats, Range
from mace.problem.distance import Norm
from mace.search.box_curves import Steep, by_diagonal, by_pairs, of_cubes, owed
from mace.search.box_goals import Needs
from mace.tables.table import Bools

Distances = TypeVar("Distances", float, Floats)

LOOSE = 1e-9  # relative to a distance: what floats may be off by
HALVINGS = 40  # of the largest change
MOST = 1e200  # what is brought where no bound is known


class Levels(NamedTuple):
    """What the levels of a feature are: its columns' values, shape (levels, its columns), and its changes."""

    values: Floats
    deltas: Floats


@dataclass(frozen=True, eq=False)
class Layout:
    """What belongs to which feature.

    feature: of each column.    straight: the columns that are linear functions of a number.
    levels:  of the features that have some.
    doubt:   by how much roundings take a column off the line between two values of its number.
    """

    feature: NDArray[np.intp]
    straight: NDArray[np.bool_]
    levels: dict[int, Levels]
    doubt: Floats


@dataclass(frozen=True, eq=False)
class Extents:
    """Of boxes: their columns and features.

    columns: bounds on the columns, shape (boxes, columns).    at, first, last: the columns at the nearest point, and
             at the lowest and highest value of a number.
    delta:   the change of every feature at the nearest point, shape (boxes, features).
    down, up: by how much more it is changed at the lowest and highest value; 0 for levels.
    allowed: feature -> which of its levels, shape (boxes, levels).
    """

    columns: Range
    at: Floats
    first: Floats
    last: Floats
    delta: Floats
    down: Floats
    up: Floats
    allowed: dict[int, NDArray[np.bool_]]


class Gains(NamedTuple):
    """What features may bring beyond the nearest point, shape (boxes, features).

    free: for no change at all.    most: beyond that.    rate: of this, for each unit of change.
    """

    free: Floats
    most: Floats
    rate: Floats


class Nearest(NamedTuple):
    """What is known of boxes.

    distance: below which no point of a box has the goal, shape (boxes,); infinite where none has. Where the bounds hold
              within a distance only, what is not below that says no more.
    limit:    how far each feature may move beyond the nearest point, shape (boxes, features); -1 where not at all.
    loose:    how much of the bound is owed to what is not known of each feature, shape (boxes, features).
    """

    distance: Floats
    limit: Floats
    loose: Floats


class _Paid(NamedTuple):
    """What the growth costs.

    distance: from below, shape (boxes,).    part: the sum in it.    price: of the last unit of growth in that sum.
    order: what a unit of growth costs by each feature, shape (boxes, features).
    """

    distance: Floats
    price: Floats
    part: Floats
    order: Floats


def loosened(distance: Distances) -> Distances:
    """A distance, or many, that is surely no less than what floats make of it."""
    return distance * (1 + LOOSE) + 1e-12


def _better(one: Nearest, other: Nearest) -> Nearest:
    """What is known by both."""
    loose = np.where((other.distance > one.distance)[:, None], other.loose, one.loose)
    return Nearest(np.fmax(one.distance, other.distance), np.fmin(one.limit, other.limit), loose)


def needed(least: float, has: Floats) -> Floats:
    """By how much numbers must grow at least; where no bound is known, not at all."""
    need = least - has
    return np.where(np.isfinite(need), need, 0.0) * (1 - LOOSE)


class Nearness:
    """How near boxes can have a goal, in a norm."""

    def __init__(self, norm: Norm, layout: Layout, needs: Needs) -> None:
        self.norm, self.layout, self.needs = norm, layout, needs
        self.once, self.slope, self.peak = (np.array([nearest(charge[k]) for charge in norm.charges]) for k in range(3))
        count = len(norm.charges)
        self.belongs = (layout.feature[:, None] == np.arange(count)).astype(np.float64)
        self.leveled = np.isin(np.arange(count), list(layout.levels))
        # Columns of numbers that are no linear functions of these may change at once.
        self.costly = layout.straight | self.leveled[layout.feature]
        self.summed = bool((self.once > 0).any() or (self.slope > 0).any())
        self.peaked = bool((self.peak > 0).any())

    def paid(self, delta: Floats) -> tuple[Floats, Floats]:
        """What changes cost in the sum, and as the largest one; shape (boxes,)."""
        charged = self.norm.charged(delta)
        return charged.part.sum(axis=1), charged.top.max(axis=1, initial=0.0)

    def of(self, extents: Extents, tight: Tight, farthest: float, within: Floats, ball: Ball | None) -> Nearest:
        """What is known of boxes of which only points nearer than `farthest` are of interest.

        within: the distances within which the bounds hold, shape (boxes,).    ball: what changes cost there.
        """
        return self.of_parts(
            lambda number, least: self._one(extents, tight, number, least, farthest, ball), extents.delta.shape,
            within < farthest,
        )  # fmt: skip

    def of_parts(
        self, of_need: Callable[[int, float], Nearest], shape: tuple[int, ...], partly: NDArray[np.bool_]
    ) -> Nearest:
        """What is known of boxes by what is known of each need: all of those of a part, of any part.

        of_need: a number and the least that it must be -> what is known.    shape: (boxes, features).
        partly:  the boxes that were looked at up to a distance only, in which nothing can be narrowed.
        """
        distance, limit, loose = np.full(shape[0], np.inf), np.full(shape, -1.0), np.zeros(shape)
        of_need = lru_cache(None)(of_need)  # of duels of many classes a few needs stand in hundreds of parts
        for part in self.needs.parts:
            here, far, unknown = np.zeros(shape[0]), np.full(shape, np.inf), np.zeros(shape)
            for number, least in part:
                found = of_need(number, least)
                harder = found.distance >= here
                unknown[harder] = found.loose[harder]
                here, far = np.fmax(here, found.distance), np.fmin(far, found.limit)
            nearer = here < distance
            loose[nearer] = unknown[nearer]
            distance, limit = np.minimum(distance, here), np.maximum(limit, far)
        limit[partly] = np.inf
        return Nearest(distance, limit, loose)

    def _one(
        self, extents: Extents, tight: Tight, number: int, least: float, farthest: float, ball: Ball | None
    ) -> Nearest:
        """The same of one need."""
        never = lenient(tight.said.high[:, number]) < least
        loose = tight.blame[:, :, number] @ self.belongs
        gains = self.gains(extents, tight.slopes[:, :, number])
        has = least, lenient(tight.at.high[:, number])
        found = self._bought(extents, gains, has, loose, never, farthest)
        if tight.form is None:
            return found
        high, slopes, matrix = tight.form.high[:, number], tight.form.slopes[:, :, number], tight.form.matrix[:, number]
        down, up = (
            np.maximum(side, 0.0) for side in (extents.at - extents.columns.low, extents.columns.high - extents.at)
        )
        if ball is None:
            constant, steep = by_diagonal(matrix, slopes, down, up)
            high, slopes = high + constant, np.zeros_like(slopes)
        else:
            steep = by_pairs(matrix, slopes, down, up, ball)
        if tight.form.third is not None:
            more = of_cubes(tight.form.third[:, number], down, up, ball)
            steep = Steep(steep.down + more.down, steep.up + more.up)
        has, gains = (least, lenient(high)), self.gains(extents, slopes, steep)
        loose = owed(matrix, down, up, ball) @ self.belongs
        return _better(found, self._bought(extents, gains, has, loose, never, farthest))

    def _bought(
        self, extents: Extents, gains: Gains, has: tuple[float, Floats], loose: Floats, never: Bools, farthest: float
    ) -> Nearest:
        """What is known by what features may bring of a need.

        has:   the least that a number must be, and what it is at the nearest point.
        loose: how much of what they may bring is not known.    never: the boxes in which it is not met at all.
        """
        need = needed(has[0], has[1] + gains.free.sum(axis=1))
        never = never | (gains.most.sum(axis=1) * (1 + LOOSE) < need)
        paid = self._paid(extents.delta, gains, need)
        distance = np.where(never, np.inf, paid.distance * (1 - LOOSE))
        limit = np.where(never[:, None], -1.0, self._limit(extents.delta, gains, paid, farthest))
        return Nearest(distance, limit, loose + gains.free)

    # ------------------------------------------------------------------------------------------- what is near enough

    def near(self, extents: Extents, within: Floats) -> tuple[Extents, Ball | None]:
        """What of boxes is no farther than a distance, shape (boxes,); and what their columns' changes cost there."""
        delta, layout = extents.delta, self.layout
        part, top = self.paid(delta)
        ends = loosened(within)
        once = np.where(delta > 0, 0.0, self.once)
        left = ends - part - top
        beyond = left[:, None] - once  # is left for the change itself
        with np.errstate(all="ignore"):
            reach = np.where(self.slope > 0, beyond / self.slope, np.where(beyond < 0, -1.0, np.inf))
            reach = np.minimum(reach, np.where(self.peak > 0, (ends - part)[:, None] / self.peak - delta, np.inf))
        reach = np.maximum(reach, 0.0)
        first, last = extents.first.copy(), extents.last.copy()
        down, up = np.minimum(extents.down, reach), np.minimum(extents.up, reach)
        low, high = extents.columns.low.copy(), extents.columns.high.copy()
        straight, feature = layout.straight, layout.feature
        for ends_of, was, now in ((first, extents.down, down), (last, extents.up, up)):
            with np.errstate(all="ignore"):
                share = np.where(was > 0, np.minimum(now / was * (1 + LOOSE), 1.0), 1.0)[:, feature]
            ends_of[:] = np.where(straight & (share < 1), extents.at + (ends_of - extents.at) * share, ends_of)
        cut = straight & ((down < extents.down) | (up < extents.up))[:, feature]
        size = UNSURE * extents.columns.size + layout.doubt
        low = np.where(cut, np.maximum(low, np.minimum(np.minimum(first, last), extents.at) - size), low)
        high = np.where(cut, np.minimum(high, np.maximum(np.maximum(first, last), extents.at) + size), high)
        allowed = {}
        for j, (values, deltas) in layout.levels.items():
            allowed[j] = extents.allowed[j] & (deltas - delta[:, [j]] <= np.maximum(reach[:, [j]], LOOSE))
            columns = np.flatnonzero(feature == j)
            some = allowed[j][:, :, None]
            low[:, columns] = np.where(some, values, np.inf).min(axis=1, initial=np.inf)
            high[:, columns] = np.where(some, values, -np.inf).max(axis=1, initial=-np.inf)
        found = Extents(Range(low, high), extents.at, first, last, delta, down, up, allowed)
        return found, self._ball(found, once, left) if self.summed else None

    def _ball(self, extents: Extents, once: Floats, left: Floats) -> Ball:
        """What the changes of columns cost in the sum; those of one feature share it."""
        layout = self.layout
        further = np.maximum(extents.down, extents.up)
        shared = np.bincount(layout.feature[self.costly], minlength=len(self.once))
        shares = np.where(self.costly, 1.0 / np.maximum(shared, 1)[layout.feature], 0.0)
        for j, (_, deltas) in layout.levels.items():
            more = np.where(extents.allowed[j], deltas - extents.delta[:, [j]], np.inf)
            further[:, j] = np.where(more > LOOSE, more, np.inf).min(axis=1, initial=np.inf)
            further[:, j] = np.where((extents.allowed[j] & (more <= LOOSE)).sum(axis=1) > 1, 0.0, further[:, j])
            further[:, j] = np.where(np.isfinite(further[:, j]), further[:, j], 0.0)
        costs = []
        for change in (extents.down, extents.up):
            moved = np.where(self.leveled, further, change)
            whole = (self.slope * moved + np.where(moved > 0, once, 0.0))[:, layout.feature] * shares
            costs.append(np.where(np.isfinite(whole), whole, 0.0) * (1 - LOOSE))
        # At the least value of a column that falls its feature is at its highest.
        falls = extents.first > extents.last
        down, up = np.where(falls, costs[1], costs[0]), np.where(falls, costs[0], costs[1])
        return Ball(down, up, np.maximum(left, 0.0))

    # ------------------------------------------------------------------------------------------- what changes bring

    def gains(self, extents: Extents, slopes: Floats, steep: Steep | None = None) -> Gains:
        """What features may bring by the slopes of their columns, shape (boxes, columns).

        steep: what columns bring beyond that.
        """
        layout, shape = self.layout, extents.delta.shape

        def brought(change: Floats) -> Floats:
            if steep is None:
                return np.asarray(slopes * change)
            return np.asarray(slopes * change + np.abs(change) * np.where(change < 0, steep.down, steep.up))

        with np.errstate(all="ignore"):
            up, down = (brought(end - extents.at) for end in (extents.last, extents.first))
            bent = np.maximum(*(brought(end - extents.at) for end in extents.columns))
            straight = layout.straight
            slack = UNSURE * (np.abs(slopes) + (0.0 if steep is None else np.maximum(*steep))) * extents.columns.size
            free = np.where(straight, slack, np.maximum(bent, 0.0)) @ self.belongs
            up, down = (np.where(straight, part, 0.0) @ self.belongs for part in (up, down))
            most = np.maximum(np.maximum(up, down), 0.0)
            rate = np.zeros(shape)
            for part, change in ((up, extents.up), (down, extents.down)):
                rate = np.fmax(rate, np.where(part > 0, part / change, 0.0))
            for j in layout.levels:
                free[:, j], most[:, j], rate[:, j] = self._of_levels(j, extents, slopes, steep)
        most = np.minimum(np.where(np.isnan(most), MOST, most), MOST)
        return Gains(free, most, np.where(np.isnan(rate), np.inf, rate))

    def _of_levels(
        self, j: int, extents: Extents, slopes: Floats, steep: Steep | None
    ) -> tuple[Floats, Floats, Floats]:
        """The same of a feature with levels, each of which brings what it brings at once."""
        columns, (values, deltas) = np.flatnonzero(self.layout.feature == j), self.layout.levels[j]
        change = values[None] - extents.at[:, None, columns]
        moved = slopes[:, None, columns] * change
        if steep is not None:
            down, up = (side[:, None, columns] for side in steep)
            moved += np.abs(change) * np.where(change < 0, down, up)
        brings = moved.sum(axis=2) + UNSURE * np.abs(moved).sum(axis=2)
        brings = np.where(extents.allowed[j], brings, 0.0)
        further = deltas - extents.delta[:, [j]]
        at_once = further <= LOOSE
        free = np.maximum(np.where(at_once, brings, 0.0).max(axis=1, initial=0.0), 0.0)
        more = np.where(at_once, 0.0, np.maximum(brings - free[:, None], 0.0))
        rate = np.where(more > 0, more / np.where(at_once, 1.0, further), 0.0)
        return free, more.max(axis=1, initial=0.0), rate.max(axis=1, initial=0.0)

    # ------------------------------------------------------------------------------------------- what they cost

    def _paid(self, delta: Floats, gains: Gains, need: Floats) -> _Paid:
        """The least distance of what grows by `need`."""
        part, top = self.paid(delta)
        order = self._order(delta, gains)
        price = np.zeros(len(need))
        if self.summed:
            places = np.argsort(order, axis=1)
            cost, most = np.take_along_axis(order, places, 1), np.take_along_axis(gains.most, places, 1)
            before = np.cumsum(most, axis=1) - most
            taken = np.clip(need[:, None] - before, 0.0, most)
            price = np.where(taken > 0, cost, 0.0).max(axis=1, initial=0.0)
            part = part + (taken * np.where(taken > 0, cost, 0.0)).sum(axis=1)
        if self.peaked:
            top = self._top(delta, gains, need, top)
        return _Paid(part + top, price, part, order)

    def _order(self, delta: Floats, gains: Gains) -> Floats:
        """What a unit of growth costs in the sum, by each feature; infinite where it brings nothing."""
        with np.errstate(all="ignore"):
            once = np.where(delta > 0, 0.0, self.once) / gains.most
            cost = np.where(self.slope > 0, self.slope / gains.rate, 0.0) + np.where(self.once > 0, once, 0.0)
        return np.where(gains.most > 0, np.nan_to_num(cost, nan=0.0), np.inf)

    def _top(self, delta: Floats, gains: Gains, need: Floats, base: Floats) -> Floats:
        """The least of the largest change."""

        def grown(top: Floats) -> Floats:
            with np.errstate(all="ignore"):
                change = np.where(self.peak > 0, top[:, None] / self.peak - delta, np.inf)
                brought = np.where(gains.most > 0, gains.rate * np.maximum(change, 0.0), 0.0)
            brought = np.where(np.isnan(brought), np.inf, brought)  # at once, and no change
            return np.asarray(np.minimum(gains.most, brought).sum(axis=1))

        return self.least_top(grown, need, base)[0]

    def least_top(self, grown: Callable[[Floats], Floats], need: Floats, base: Floats) -> tuple[Floats, Floats]:
        """The least of the largest change by which enough can grow: bounds from below and above, by bisection.

        grown: the largest change -> the most that grows by it.    base: that of the nearest point.
        """
        low, high = base, base + self.peak.max(initial=0.0)
        enough = grown(low) >= need
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            short = grown(middle) < need
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        return np.where(enough, base, low), high

    def _limit(self, delta: Floats, gains: Gains, paid: _Paid, farthest: float) -> Floats:
        """How far each feature may move beyond the nearest point, if nothing as far as `farthest` is of interest."""
        limit = np.full(delta.shape, np.inf)
        if not np.isfinite(farthest):
            return limit
        ends = loosened(farthest)
        if self.peaked:
            part, _ = self.paid(delta)
            with np.errstate(all="ignore"):
                top = np.where(self.peak > 0, (ends - part)[:, None] / self.peak - delta, np.inf)
            limit = np.minimum(limit, top)
        if not self.summed:
            return limit
        left = (ends - paid.part)[:, None]
        once = np.where(delta > 0, 0.0, self.once)
        with np.errstate(all="ignore"):
            price, saved = paid.price[:, None], np.maximum(paid.price[:, None] - paid.order, 0.0) * gains.most
            saved = np.where(gains.most > 0, np.nan_to_num(saved), 0.0)
            # The cost of a change e is at least part + saved + once + slope e - price * min(most, rate e).
            spare = left - saved - once
            beyond = (spare + price * gains.most) / self.slope  # where it brings all that it can
            along = np.where(self.slope > price * gains.rate, spare / (self.slope - price * gains.rate), np.inf)
            full = np.where(gains.rate > 0, gains.most / gains.rate, 0.0)
            found = np.where(along < full, along, np.fmax(beyond, full))
            free = np.where(spare + np.maximum(price * gains.most, 0.0) < 0, -1.0, np.inf)
        found = np.where(self.slope > 0, np.where(np.isnan(found), np.inf, found), free)
        return np.asarray(np.minimum(limit, np.where(found < 0, -1.0, found)))
