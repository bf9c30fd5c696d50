"""A swarm of particles (mixed-discrete PSO) on the features that matter, inside a box around the start.

1. The information value of every feature, by the background rows; the `active` largest may change, the others stay.
2. Numbers may move by a share `box` of where they stand in their range: z in [z (1 - box), z (1 + box)].
3. V <- inertia V + own r1 (P_i - X) + swarm r2 (P_g - X) + apart r3 (X - mean), X <- X + V. Integers, steps and ranks
   move as reals and go to the nearest value; a feature with levels moves as one real a level, the largest counts.
4. Of k answers: the k best particles ("best"), the best positions that particles ever had ("history"), or one particle
   of each of k clusters of the final positions, drawn at random ("kmeans").

Source: Shekhar et al. 2023, "A PSO Based Method to Generate Actionable Counterfactuals for High Dimensional Data",
algorithm 1; the swarm is that of Chowdhury et al. 2013. The paper does not state its constants: those of Clerc and
Kennedy 2002 stand here, with a small push away from the mean. Its objective is the gap of probability, plus the mean
change, plus the number of changes; unweighted, staying at the start beats every single change, so that validity comes
first here ("paper"), and the plain sum is offered too ("sum").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mace.search.chart import Bools, Chart, Floats
from mace.search.limits import check
from mace.search.protocol import Batches, Task, unmovable
from mace.search.score import Scores
from mace.space.axes import GridAxis

INVALID = 1e6  # more than any change counts


@dataclass(frozen=True)
class Swarm:
    """The swarm.

    particles, iterations: 50 and 100 in the paper.
    active:    how many features may change; None, or without background rows: all.
    box:       how far numbers may move, as a share of where they stand; None: anywhere.
    count:     how many answers it is to give.    choose: how they are chosen.
    objective: "distance": validity first, then the question's distance; "paper": validity first, then the paper's
               terms; "sum": the paper's terms without weights.
    """

    particles: int = 50
    iterations: int = 100
    active: int | None = 10
    box: float | None = None
    count: int = 5
    choose: Literal["best", "history", "kmeans"] = "kmeans"
    objective: Literal["distance", "paper", "sum"] = "distance"
    inertia: float = 0.7298
    own: float = 1.49618
    swarm: float = 1.49618
    apart: float = 0.02
    logarithm: bool = True
    name: str = "swarm"

    def __post_init__(self) -> None:
        check(self)

    def refusal(self, task: Task) -> str | None:
        """Why it does not take a task: something has to be free to change."""
        return unmovable(task)

    def batches(self, task: Task, rng: np.random.Generator) -> Batches:
        """The positions of all particles in each iteration; at the end, several answers."""
        chart = task.chart
        coder = Coder(chart, self.active_features(task), self.box)
        width = coder.high - coder.low
        place = rng.uniform(coder.low, coder.high, (self.particles, len(width)))
        place[0] = coder.code(chart.start[None])[0]
        speed = rng.uniform(-0.1, 0.1, place.shape) * width
        own, own_cost = place.copy(), np.full(self.particles, np.inf)
        cost = own_cost
        for _ in range(self.iterations):
            rows = coder.rows(place)
            cost = self._cost(chart, rows, (yield rows))
            better = cost < own_cost
            own[better], own_cost = place[better], np.where(better, cost, own_cost)
            leader = own[int(own_cost.argmin())]
            r1, r2, r3 = rng.random((3, *place.shape))
            speed = self.inertia * speed + self.own * r1 * (own - place) + self.swarm * r2 * (leader - place)
            speed = np.clip(speed + self.apart * r3 * (place - place.mean(axis=0)), -width, width)
            moved = place + speed
            if _ < self.iterations - 1:
                place = np.clip(moved, coder.low, coder.high)
        return self._several(coder, place, cost, own, own_cost, rng)

    def active_features(self, task: Task) -> Bools:
        """The features that may change."""
        chart, rows = task.chart, task.rows
        if self.active is None or rows is None or chart.free.sum() <= self.active:
            return chart.free
        values = information_values(chart, rows, task.missed_by(rows) == 0, logarithm=self.logarithm)
        chosen = np.argsort(np.where(chart.free, -values, np.inf), kind="stable")[: self.active]
        return np.isin(np.arange(chart.features), chosen)

    def _cost(self, chart: Chart, rows: Floats, scores: Scores) -> Floats:
        """What the swarm minimises."""
        if self.objective == "distance":
            found = np.empty(len(rows))
            terms = scores.distance + 1e-9 * scores.changes
        else:
            terms = chart.deltas(rows).mean(axis=1) + scores.changes
        if self.objective == "sum":
            return np.asarray(scores.goal + terms)
        # What is not valid comes after what is, by how far it is from that.
        late = np.minimum(scores.goal, 1e12) + scores.constrained + scores.doubts
        found = np.where(scores.valid, terms, INVALID * (1 + late) + terms)
        return np.asarray(found)

    def _several(
        self, coder: Coder, place: Floats, cost: Floats, own: Floats, own_cost: Floats, rng: np.random.Generator
    ) -> Floats:
        """The answers that the final swarm is taken for."""
        if self.choose != "kmeans":
            place, cost = (own, own_cost) if self.choose == "history" else (place, cost)
            rows = coder.rows(place[np.argsort(cost, kind="stable")])
            first = np.sort(np.unique(rows, axis=0, return_index=True)[1])
            return rows[first[: self.count]]
        from sklearn.cluster import KMeans

        clusters = min(self.count, len(np.unique(place, axis=0)))
        scaled = (place - coder.low) / np.where(coder.high > coder.low, coder.high - coder.low, 1.0)
        labels = KMeans(clusters, n_init=4, random_state=int(rng.integers(2**31))).fit(scaled).labels_
        drawn = [int(rng.choice(np.flatnonzero(labels == k))) for k in range(clusters) if (labels == k).any()]
        return coder.rows(place[drawn])


class Coder:
    """Rows of a chart as vectors of reals: one a number or rank, one a level of a feature without an order.

    A number that may be missing has a second one, and is missing where that lies above one half.
    """

    def __init__(self, chart: Chart, active: Bools, box: float | None = None) -> None:
        self.chart, self.active = chart, np.flatnonzero(active)
        low: list[float] = []
        high: list[float] = []
        self.slices: list[slice] = []
        for j in self.active:
            known, ordered = chart.levels[j], getattr(chart.place.axes[j], "ordered", False)
            first = len(low)
            if known is not None and not ordered:
                low += [0.0] * len(known)
                high += [1.0] * len(known)
            else:
                ends = room(chart, int(j), box) if known is None else (float(known[0]), float(known[-1]))
                lacks = [1.0] if known is None and _may_lack(chart, int(j)) else []
                low += [ends[0], *(0.0 for _ in lacks)]
                high += [ends[1], *lacks]
            self.slices.append(slice(first, len(low)))
        self.low, self.high = np.array(low), np.array(high)

    def code(self, rows: Floats) -> Floats:
        """The vectors of rows; levels become 0 and 1."""
        found = np.empty((len(rows), len(self.low)))
        for j, part in zip(self.active, self.slices, strict=True):
            known = self.chart.levels[j]
            if part.stop - part.start > 1 and known is not None:
                found[:, part] = rows[:, j, None] == known
            else:
                found[:, part.start] = np.nan_to_num(rows[:, j], nan=self.chart.low[j])
                found[:, part.start + 1 : part.stop] = np.isnan(rows[:, j])[:, None]
        return np.clip(found, self.low, self.high)

    def rows(self, vectors: Floats) -> Floats:
        """The rows that vectors mean, on the grids."""
        found = np.tile(self.chart.start, (len(vectors), 1))
        for j, part in zip(self.active, self.slices, strict=True):
            known = self.chart.levels[j]
            if part.stop - part.start > 1 and known is not None:
                found[:, j] = known[vectors[:, part].argmax(axis=1)]
            else:
                gone = (vectors[:, part.start + 1 : part.stop] > 0.5).any(axis=1)
                found[:, j] = np.where(gone, np.nan, vectors[:, part.start])
        return self.chart.snap(found)


def _may_lack(chart: Chart, j: int) -> bool:
    """Whether a number may be missing."""
    axis = chart.place.axes[j]
    return isinstance(axis, GridAxis) and axis.may_lack


def room(chart: Chart, j: int, box: float | None) -> tuple[float, float]:
    """How far a number may move, by where it stands in the range of its feature."""
    low, high, start = float(chart.low[j]), float(chart.high[j]), float(chart.start[j])
    if box is None or start != start:
        return low, high
    least = float(chart.place.space.features[j].bounds()[0])
    room = box * (start - least)
    return max(low, start - room), max(low, min(high, start + room))


def information_values(
    chart: Chart, rows: Floats, good: Bools, *, bins: int = 10, logarithm: bool = True
) -> NDArray[np.float64]:
    """The information value of every feature: the sum over bins of (p - n) ln(p / n); shape (features,).

    rows: shape (rows, features); good: which of them have the goal. p, n: the shares of those that have it, and of
          those that have not, in a bin; an empty one counts as half a row. Numbers have `bins` equal bins, those
          farther than 1.5 interquartile ranges outside the quartiles left out; levels are bins.
    logarithm: without it (p - n)(p / n), as equation 16 is printed.
    """
    found = np.zeros(chart.features)
    for j, feature in enumerate(chart.place.space.features):
        known = ~np.isnan(rows[:, j])
        column, own = rows[known, j], good[known]
        if feature.numeric:
            if not len(column):
                continue
            first, third = np.quantile(column, [0.25, 0.75])
            reach = 1.5 * (third - first)
            inside = (column >= first - reach) & (column <= third + reach)
            column, own = column[inside], own[inside]
            edges = np.histogram_bin_edges(column, bins)
            places = np.clip(np.searchsorted(edges, column, side="right") - 1, 0, bins - 1)
        else:
            places = column.astype(np.intp)
        count = max(bins, int(places.max(initial=0)) + 1)
        some, other = np.bincount(places[own], minlength=count), np.bincount(places[~own], minlength=count)
        if not some.sum() or not other.sum():
            continue
        used = (some + other) > 0
        p = np.where(some > 0, some, 0.5)[used] / some.sum()
        n = np.where(other > 0, other, 0.5)[used] / other.sum()
        found[j] = ((p - n) * (np.log(p / n) if logarithm else p / n)).sum()
    return found
