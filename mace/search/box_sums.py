"""How near points of a box can have a goal where scores are sums of functions of one feature each.

In:  boxes as for `mace.search.box_distances`, of a model that is additive.
Out: `Nearest`, as there; and rows that may have the goal.
Promise: distances are bounded from below, as there.

What a feature brings is bounded on pieces of its side, on each by a line. A price for a unit of growth then makes every
feature choose its best piece by itself, and what all of them would save at that price bounds what the growth costs: the
Lagrangian dual of a knapsack of multiple choices (Fisher 1981). The price is bisected; any price bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mace.compilers.enclosures.bounds import along, of_boxes
from mace.compilers.enclosures.enclosed import lenient
from mace.compilers.enclosures.ranges import Floats, Range
from mace.search.box_distances import LOOSE, MOST, Extents, Nearest, Nearness, loosened, needed
from mace.search.chart import Chart
from mace.tables.table import Bools

LARGEST = 500_000  # numbers in one array
PIECES = 16  # of a side, on either side of the nearest point
PRICES = 60  # that are tried
FURTHER = (0.0, 1e-3, 1e-2, 3e-2)  # by what share farther than proved rows are tried
FEWEST, DEAREST = 1e-9, 1e9  # of them, relative to what a unit costs about


class Choices(NamedTuple):
    """What each feature can choose, shape (boxes, features, choices): an end of a piece, or a level.

    change: by how much more the feature is changed there.    place: where that is: a signed change from the start, or a
            level.    brings: shape (boxes, features, choices, numbers), -infinite for what is not allowed.
    """

    change: Floats
    place: Floats
    brings: Floats


class Dual(NamedTuple):
    """The best price of each box, what it proves of the sum of changes, and which choices it makes."""

    price: Floats
    proved: Floats
    chosen: Floats


@dataclass(frozen=True, eq=False)
class Sums:
    """How near boxes can have a goal, in a norm, of an additive model; width: of its numbers, see `Enclosed`."""

    nearness: Nearness
    chart: Chart
    width: int

    @property
    def rows(self) -> int:
        """How many pieces there are in a box."""
        return 2 * PIECES * int(self.nearness.belongs.shape[1])

    @property
    def fit(self) -> bool:
        """Whether there are few enough features to look at all pieces of a box at once."""
        return self.rows * len(self.nearness.layout.feature) <= 2 * LARGEST

    @property
    def boxes_at_once(self) -> int:
        """How many boxes are bounded at once."""
        return int(max(1, min(8, LARGEST // max(1, self.rows * self.width))))

    def of(self, extents: Extents, farthest: float, within: Floats) -> tuple[Nearest, Floats]:
        """What is known of boxes, as by `Nearness.of`; and rows that may have the goal, shape (rows, features)."""
        with np.errstate(all="ignore"):
            return self._of(extents, farthest, within)

    def _of(self, extents: Extents, farthest: float, within: Floats) -> tuple[Nearest, Floats]:
        near, shape = self.nearness, extents.delta.shape
        whole = of_boxes(near.needs.numbers, extents.columns)
        start = along(near.needs.numbers, Range(extents.at, extents.at), extents.at, near.layout.straight)
        choices = self._choices(extents, start.at.low)
        rows = [self.chart.start[None]]

        def of_need(number: int, least: float) -> Nearest:
            has = start.at.high[:, number] + whole.error[:, number]
            need = needed(least, lenient(has))
            never = lenient(whole.said.high[:, number]) < least
            found, some = self._one(extents, choices, number, need, never, farthest)
            rows.append(some[np.isfinite(found.distance)].reshape(-1, shape[1]))
            return found

        return near.of_parts(of_need, shape, within < farthest), np.concatenate(rows)

    def _one(
        self, extents: Extents, choices: Choices, number: int, need: Floats, never: Bools, farthest: float
    ) -> tuple[Nearest, Floats]:
        """The same of one need."""
        near, delta = self.nearness, extents.delta
        brings = choices.brings[..., number]
        brings = np.where(np.isnan(brings), MOST, np.minimum(brings, MOST))
        once = np.where(delta > 0, 0.0, near.once)
        cost = once[:, :, None] + near.slope[:, None] * choices.change
        part, top = near.paid(delta)
        never = never | (np.maximum(brings.max(axis=2, initial=0.0), 0.0).sum(axis=1) * (1 + LOOSE) < need)
        dual = self._dual(brings, cost, need)
        rows = self._row(choices, dual)
        if near.peaked:
            top, rows = self._top(choices, brings, delta, need, top)
        proved = np.where(never, np.inf, (part + dual.proved + top) * (1 - LOOSE))
        worth = _worth(dual.price, brings, cost)
        saved = np.maximum(worth.max(axis=2, initial=0.0), 0.0)
        limit, left = np.full(delta.shape, np.inf), loosened(farthest)
        if np.isfinite(farthest):
            # With a choice the cost is at least what is proved, more by what the choice saves less than the best one.
            with_it = (part + top + dual.proved)[:, None, None] + saved[:, :, None]
            kept = with_it - worth < left
            kept |= np.roll(kept, 1, axis=2) | np.roll(kept, -1, axis=2)  # the other end of the piece
            limit = np.where(kept & np.isfinite(brings), choices.change, -1.0).max(axis=2, initial=-1.0)
        limit = np.where(never[:, None], -1.0, limit)
        return Nearest(proved, limit, self._loose(brings, cost, dual)), rows

    # ------------------------------------------------------------------------------------------- what can be chosen

    def _choices(self, extents: Extents, start: Floats) -> Choices:
        """The ends of all pieces, and all levels; start: bounds from below on the numbers at the nearest point."""
        layout, (boxes, features) = self.nearness.layout, extents.delta.shape
        share = np.arange(PIECES + 1) / PIECES
        found = [
            self._pieces(extents, start, share, extents.first, extents.down, -1.0),
            self._pieces(extents, start, share, extents.last, extents.up, 1.0),
        ]
        change, place, brings = (np.concatenate(parts, axis=2) for parts in zip(*found, strict=True))
        count = max([change.shape[2], *(len(levels.deltas) for levels in layout.levels.values())])
        more = count - change.shape[2]
        change, place = (np.pad(one, ((0, 0), (0, 0), (0, more))) for one in (change, place))
        brings = np.pad(brings, ((0, 0), (0, 0), (0, more), (0, 0)), constant_values=-np.inf)
        for j, (values, deltas) in layout.levels.items():
            own, known = np.flatnonzero(layout.feature == j), len(deltas)
            rows = np.repeat(extents.at[:, None, :], known, axis=1)
            rows[:, :, own] = values
            rows = rows.reshape(-1, rows.shape[2])
            high = along(self.nearness.needs.numbers, Range(rows, rows), rows, layout.straight).at.high
            brings[:, j] = -np.inf
            brings[:, j, :known] = high.reshape(boxes, known, -1) - start[:, None, :]
            brings[:, j, :known][~extents.allowed[j]] = -np.inf
            change[:, j, :known] = np.maximum(deltas - extents.delta[:, [j]], 0.0)
            place[:, j, :known] = np.arange(known)
        assert change.shape[1] == features
        return Choices(change, place, brings)

    def _pieces(
        self, extents: Extents, start: Floats, share: Floats, ends: Floats, farther: Floats, sign: float
    ) -> tuple[Floats, Floats, Floats]:
        """Both ends of every piece on the way to one end of each side."""
        layout, (boxes, features) = self.nearness.layout, extents.delta.shape
        own = self.nearness.belongs.T.astype(bool)[None, :, None, :]
        way = np.where(own & layout.straight, (ends - extents.at)[:, None, None, :], 0.0)
        first = extents.at[:, None, None, :] + way * share[:-1, None]
        last = extents.at[:, None, None, :] + way * share[1:, None]
        bent = own & ~layout.straight
        low, high = (
            np.where(bent, side[:, None, None, :], end)
            for side, end in zip(extents.columns, (np.minimum(first, last), np.maximum(first, last)), strict=True)
        )
        columns = Range(*(side.reshape(-1, side.shape[3]) for side in (low, high)))
        tight = along(
            self.nearness.needs.numbers, columns, first.reshape(columns.low.shape), layout.straight, layout.doubt
        )
        shape = (boxes, features, len(share) - 1, -1)
        near = tight.at.high.reshape(shape) - start[:, None, None, :]
        far = near + tight.slopes[:, 0].reshape(shape)
        change = np.stack([farther[:, :, None] * share[:-1], farther[:, :, None] * share[1:]], axis=3)
        change = change.reshape(boxes, features, -1)
        brings = np.stack([near, far], axis=3).reshape(boxes, features, change.shape[2], -1)
        return change, sign * (extents.delta[:, :, None] + change), brings

    # ------------------------------------------------------------------------------------------- what it costs

    def _dual(self, brings: Floats, cost: Floats, need: Floats) -> Dual:
        """The best of many prices, by bisection on what is bought at them."""
        boxes = len(need)
        best, proved = np.zeros(boxes), np.zeros(boxes)
        chosen = np.full(brings.shape[:2], -1)
        if not self.nearness.summed:
            return Dual(best, proved, chosen)
        about = np.maximum(cost.max(axis=2).sum(axis=1), 1e-300) / np.maximum(need, 1e-300)
        low, high = np.log(about * FEWEST), np.log(about * DEAREST)
        for _ in range(PRICES):
            middle = (low + high) / 2
            price = np.exp(middle)
            worth = _worth(price, brings, cost)
            place = worth.argmax(axis=2)
            worth = np.take_along_axis(worth, place[:, :, None], 2)[:, :, 0]
            bought = np.take_along_axis(brings, place[:, :, None], 2)[:, :, 0]
            total = price * need - np.maximum(worth, 0.0).sum(axis=1)
            enough = np.where(worth > 0, bought, 0.0).sum(axis=1) >= need
            better = (total > proved) & (need > 0)
            best[better], proved[better] = price[better], total[better]
            chosen[enough] = np.where(worth > 0, place, -1)[enough]
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return Dual(best, proved, chosen)

    def _top(
        self, choices: Choices, brings: Floats, delta: Floats, need: Floats, base: Floats
    ) -> tuple[Floats, Floats]:
        """The least of the largest change, by bisection: of each piece what is brought up to there; and such rows."""
        peak, change = self.nearness.peak, choices.change
        pieces = change.shape[2] // 2 * 2
        start, end = change[:, :, :pieces:2], change[:, :, 1:pieces:2]
        first, last = brings[:, :, :pieces:2], brings[:, :, 1:pieces:2]
        wide = np.maximum(end - start, 1e-300)

        def best(top: Floats) -> tuple[Floats, Floats]:
            """What each feature brings at most, and where."""
            reach = np.where(peak > 0, top[:, None] / peak - delta, np.inf)[:, :, None]
            part = first + np.where(np.isfinite(first), last - first, 0.0) * np.clip((reach - start) / wide, 0.0, 1.0)
            there = np.where(reach >= start, np.maximum(first, part), 0.0)
            place = there.argmax(axis=2)[:, :, None]
            sign = np.sign(np.take_along_axis(choices.place[:, :, 1:pieces:2], place, 2))[:, :, 0]
            moved = np.minimum(reach[:, :, 0], np.take_along_axis(end, place, 2)[:, :, 0])
            there = np.maximum(np.take_along_axis(there, place, 2)[:, :, 0], 0.0)
            at = np.where(there > 0, sign * (delta + moved), sign * delta)
            for j in self.nearness.layout.levels:
                some = np.where(reach[:, j] >= change[:, j], brings[:, j], -np.inf)
                there[:, j] = np.maximum(some.max(axis=1), 0.0)
                at[:, j] = np.where(there[:, j] > 0, some.argmax(axis=1), self.chart.start[j])
            return np.where(np.isnan(there), MOST, there), at

        low, high = self.nearness.least_top(lambda top: best(top)[0].sum(axis=1), need, base)
        further = np.stack([self._moved(best(high * (1 + more))[1]) for more in FURTHER], axis=1)
        return low, further

    def _loose(self, brings: Floats, cost: Floats, dual: Dual) -> Floats:
        """How far apart what each feature chooses is just below and above the best price."""
        bought = []
        for share in (1 - 1e-6, 1 + 1e-6):
            worth = _worth(dual.price * share, brings, cost)
            place = worth.argmax(axis=2)[:, :, None]
            chosen = np.take_along_axis(worth, place, 2) > 0
            bought.append(np.where(chosen, np.take_along_axis(brings, place, 2), 0.0)[:, :, 0])
        return np.asarray(np.abs(bought[1] - bought[0]) + 1e-6 * np.abs(bought[1]))

    def _row(self, choices: Choices, dual: Dual) -> Floats:
        """The row that is chosen at the least price that buys enough."""
        chosen = np.maximum(dual.chosen, 0)[:, :, None]
        place = np.take_along_axis(choices.place, chosen, 2)[:, :, 0]
        return np.where(dual.chosen >= 0, self._moved(place), self.chart.start)[:, None]

    def _moved(self, place: Floats) -> Floats:
        """Rows of which each number is changed by so much, and each level is that."""
        chart = self.chart
        return np.asarray(np.where(chart.numbers, chart.start + place * chart.scale, place))


def _worth(price: Floats, brings: Floats, cost: Floats) -> Floats:
    """What each choice saves at a price; of one that is not allowed, a price of 0 makes nothing better."""
    return np.where(brings == -np.inf, -np.inf, price[:, None, None] * brings - cost)
