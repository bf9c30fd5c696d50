"""Feature tweaking of tree ensembles: for each goal leaf of each tree, the changes that lead there.

For every tree and every leaf of it that has the goal by itself, the columns tested on its way are moved just past the
thresholds that the row fails (or past every threshold, as the published algorithm does); the nearest of these rows that
the whole ensemble gives the goal is the answer.

FT:  the columns of the model are moved each by itself, as the paper does; a row of columns that no values of the
     features encode (two levels at once) is dropped.
PFT: "plausible": what is moved are the features, to the nearest of their own values that pass the tests.

Source: Tolomei et al. 2017, algorithm 1; the plausible version: Karimi et al. 2020, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.cache import Kept
from mace.problem.question import Question
from mace.search.chart import Bools, Chart, Floats
from mace.search.limits import check
from mace.search.protocol import Batches, Task
from mace.tables.table import Decision, Ensemble, Tree, decided

BATCH = 512  # rows at a time


class Leaves(NamedTuple):
    """The leaves of all trees that have a goal by themselves, as what their ways demand of the columns.

    above, most: shape (leaves, columns): a column that the model sees must be > above and <= most (where its test is
                 "<", >= above and < most); infinite where nothing is demanded.
    """

    above: Floats
    most: Floats


class Demands(NamedTuple):
    """What the leaves demand of some columns, each demand once, and which of them each leaf has."""

    each: Leaves
    which: NDArray[np.intp]


@dataclass(frozen=True)
class FeatureTweaking:
    """Feature tweaking.

    epsilon:   how far past a threshold a number is moved, as a share of its range; 0: to the next value.
    plausible: PFT, else FT.
    every:     whether numbers that pass all their tests are moved to just past a threshold too.
    """

    epsilon: float = 0.0
    plausible: bool = True
    every: bool = False

    def __post_init__(self) -> None:
        check(self)

    @property
    def name(self) -> str:
        """PFT or FT."""
        return "pft" if self.plausible else "ft"

    def refusal(self, task: Task) -> str | None:
        """Why it does not take a task: it reads trees."""
        place = task.place
        if not isinstance(place, Question) or not isinstance(place.model, Ensemble):
            return "it reads the trees of an ensemble"
        if any(tree.members for tree in place.model.trees):
            return "a tree tests categories as sets"
        if any(column.chain for column in place.columns):
            return "the columns of the model are computed from numbers"
        return None

    def batches(self, task: Task, rng: np.random.Generator) -> Batches:  # noqa: ARG002
        """The rows of all goal leaves, the nearest first, until one has the goal."""
        question, chart = task.place, task.chart
        assert isinstance(question, Question) and isinstance(question.model, Ensemble)
        found, kept = self._moved(question, chart)
        rows = found[kept]
        rows = rows[np.argsort(chart.distances(rows), kind="stable")]
        for first in range(0, len(rows), BATCH):
            scores = yield rows[first : first + BATCH]
            if scores.valid.any():
                return None
        return None

    def _moved(self, question: Question, chart: Chart) -> tuple[Floats, Bools]:
        """For every leaf the row that reaches it, and whether there is one."""
        model, decision = question.model, question.goal.decision
        assert isinstance(model, Ensemble)
        rows = np.tile(chart.start, (len(goal_leaves(model, decision).above), 1))
        kept = np.ones(len(rows), dtype=np.bool_)
        for j in range(chart.features):
            places = [k for k, column in enumerate(question.columns) if column.feature == j]
            if not places:
                continue
            (above, most), which = demands(model, decision, tuple(places))
            if chart.numbers[j]:
                rows[:, j] = self._number(chart, j, above[:, 0], most[:, 0], question)[which]
            else:
                values = np.array([question.columns[k].values for k in places])
                levels, possible = self._level(chart, j, values, Leaves(above, most), question)
                rows[:, j] = levels[which]
                kept &= possible[which]
        return rows, kept

    def _number(self, chart: Chart, j: int, above: Floats, most: Floats, question: Question) -> Floats:
        """A number moved past the thresholds that it fails."""
        model, start = question.model, chart.start[j]
        assert isinstance(model, Ensemble)
        if start != start:
            return np.full(len(above), start)
        seen = float(model.seen(np.array([start]))[0])
        strict = model.test == "<"
        low = seen < above if strict else seen <= above
        high = seen >= most if strict else seen > most
        if self.every:
            low |= ~high & np.isfinite(above)
            high |= ~low & np.isfinite(most)
        if self.epsilon:
            by = self.epsilon * chart.scale[j]
            moved = np.where(low, above + by, np.where(high, most - by, start))
            return chart.snap_column(j, moved)
        # The numbers next to a threshold on either side that the model sees as they are.
        kind = np.float32 if model.cast == "float32" else np.float64
        up = _first_at_least(above, kind) if strict else _first_above(above, kind)
        down = -_first_above(-most, kind) if strict else -_first_at_least(-most, kind)
        moved = np.where(low, chart.snap_column(j, np.where(low, up, start), "up"), start)
        return np.where(high, chart.snap_column(j, np.where(high, down, start), "down"), moved)

    def _level(self, chart: Chart, j: int, values: Floats, leaves: Leaves, question: Question) -> tuple[Floats, Bools]:
        """A level that passes the tests, and whether there is one.

        values: of the feature's columns, shape (columns, levels).
        """
        model = question.model
        assert isinstance(model, Ensemble)
        now, known = int(chart.start[j]), chart.levels[j]
        assert known is not None
        seen = np.array([model.seen(row) for row in values])
        passes: Bools
        if model.test == "<":
            passes = (seen >= leaves.above[..., None]) & (seen < leaves.most[..., None])
        else:
            passes = (seen > leaves.above[..., None]) & (seen <= leaves.most[..., None])
        if self.plausible:
            fits: Bools = np.asarray(passes.all(axis=1))
        else:
            # Each column that fails a test becomes its other value; only a level with these very columns will do.
            wanted = np.where(passes[:, :, now], seen[:, now], seen.min(axis=1) + seen.max(axis=1) - seen[:, now])
            fits = np.asarray((wanted[:, :, None] == seen).all(axis=1))
        possible = np.zeros(fits.shape, dtype=np.bool_)
        levels = known.astype(np.intp)
        possible[:, levels] = fits[:, levels]
        distance = np.abs(np.arange(fits.shape[1]) - now)
        chosen = np.where(possible, distance, fits.shape[1] + 1).argmin(axis=1)
        return chosen.astype(np.float64), np.asarray(possible.any(axis=1))


def _first_at_least(numbers: Floats, kind: type) -> Floats:
    """The first floats of a type that are at least these numbers."""
    found: NDArray[Any] = numbers.astype(kind)
    return np.where(found < numbers, np.nextafter(found, kind(np.inf)), found).astype(np.float64)


def _first_above(numbers: Floats, kind: type) -> Floats:
    """The first floats of a type above these numbers."""
    found: NDArray[Any] = numbers.astype(kind)
    return np.where(found <= numbers, np.nextafter(found, kind(np.inf)), found).astype(np.float64)


_LEAVES: Kept[Leaves] = Kept(4)
_DEMANDS: Kept[Demands] = Kept(1024)  # one a feature


def goal_leaves(model: Ensemble, decision: Decision) -> Leaves:
    """What the ways to all goal leaves demand; kept with the model."""
    return _LEAVES.get(model, decision, lambda: _goal_leaves(model, decision))


def demands(model: Ensemble, decision: Decision, places: tuple[int, ...]) -> Demands:
    """What the goal leaves demand of some columns; kept with the model: they demand few different things."""
    return _DEMANDS.get(model, (decision, places), lambda: _demands(goal_leaves(model, decision), places))


def _demands(leaves: Leaves, places: tuple[int, ...]) -> Demands:
    columns = list(places)
    both = np.hstack([leaves.above[:, columns], leaves.most[:, columns]])
    each, which = np.unique(both, axis=0, return_inverse=True)
    return Demands(Leaves(each[:, : len(columns)], each[:, len(columns) :]), which.reshape(-1))


def _goal_leaves(model: Ensemble, decision: Decision) -> Leaves:
    found = [_of_tree(model, tree, decision) for tree in model.trees]
    return Leaves(np.concatenate([one.above for one in found]), np.concatenate([one.most for one in found]))


def _of_tree(model: Ensemble, tree: Tree, decision: Decision) -> Leaves:
    leaves: list[tuple[Floats, Floats]] = []
    nothing = np.full(model.columns, np.inf)
    waiting: list[tuple[int, Floats, Floats]] = [(0, -nothing, nothing)]
    while waiting:
        node, above, most = waiting.pop()
        column, threshold = int(tree.column[node]), float(tree.threshold[node])
        if column < 0:
            if decided(decision, tree.value[node]):
                leaves.append((above, most))
            continue
        left, right = most.copy(), above.copy()
        left[column], right[column] = min(left[column], threshold), max(right[column], threshold)
        waiting += [(int(tree.right[node]), right, most), (int(tree.left[node]), above, left)]
    if not leaves:
        none: NDArray[np.float64] = np.empty((0, model.columns))
        return Leaves(none, none)
    return Leaves(np.array([one for one, _ in leaves]), np.array([one for _, one in leaves]))
