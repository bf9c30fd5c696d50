"""What a proposer is given, what it gives, and how it is run.

A proposer is a generator: it yields batches of rows (`mace.search.chart`), and is sent the scores of each. One batch is
a step. `Run` stands between it and the model: it moves rows onto the grids, asks the model about those that are
allowed, keeps the best, and ends the search after so many steps, calls or seconds.

In:  a `Task` with the model to ask (`mace.search.asked`), a random state, an `Effort`.
Out: an iterator over `Proposal`s, each better than the one before; afterwards `why` it ended, and the counts.
Promise: the same task, model, random state and numbers of steps and calls give the same proposals.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from mace.base.deadline import NEVER, Deadline
from mace.base.escape import short
from mace.errors import MaceError
from mace.problem.around import Around
from mace.search.asked import AskedModel, ExhaustedError
from mace.search.chart import Chart, Floats
from mace.search.score import WORST, Score, Scores
from mace.space.axes import Point

Batches: TypeAlias = Generator[Floats, Scores, Floats | None]
"""What a proposer is; at its end it may return rows that it takes for several answers."""


@dataclass(frozen=True)
class Task:
    """What is looked for: points of a place with the goal, near its start.

    place:       a `Question` where the model was read; some proposers need that.
    asked:       the model.
    rows:        of the background, as rows of a chart, shape (rows, features); they need not lie on its axes.
    constrained: features (indices) that had better not change, a level of the score of its own.
    known:       the nearest point with the goal so far, where somebody else searches too.
    """

    place: Around
    asked: AskedModel
    rows: Floats | None = None
    constrained: frozenset[int] = frozenset()
    known: Callable[[], Point | None] = lambda: None
    chart: Chart = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "chart", Chart(self.place))

    def missed_by(self, rows: Floats) -> Floats:
        """How far the model misses the goal at background rows, shape (rows,); asks about all of them."""
        return self.asked.about(self.chart.taken(rows)).missed


SAME_DISTANCE = 9  # digits: of points that differ by less, those with fewer changes are better
PERFECT = Score(0, 0, 0, 0, 0)


class Proposer(Protocol):
    """A heuristic with its settings."""

    @property
    def name(self) -> str:
        """How it is called."""
        ...

    def refusal(self, task: Task) -> str | None:
        """Why it does not take a task; None if it does."""
        ...

    def batches(self, task: Task, rng: np.random.Generator) -> Batches:
        """Yield batches of rows, and be sent their scores."""
        ...


class Proposal(NamedTuple):
    """A point that is better than all before, and after how much work it was found.

    distance: exact.    calls: rows that the model was asked about by then.
    """

    point: Point
    score: Score
    distance: Fraction
    steps: int
    calls: int
    seconds: float


@dataclass(frozen=True)
class Effort:
    """When a search ends: after so many steps (batches of its proposer), or at a deadline. Calls are the model's.

    stopped: asked before every step; true where somebody else has ended it.
    """

    steps: int | None = None
    deadline: Deadline = NEVER
    stopped: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        if self.steps is not None and (isinstance(self.steps, bool) or not isinstance(self.steps, int)):
            raise MaceError(f"the number of steps must be a whole number, got {short(self.steps)}")
        if self.steps is not None and self.steps < 1:
            raise MaceError(f"the number of steps must be at least 1, got {self.steps}")


@contextmanager
def _spoken_for(proposer: Proposer) -> Iterator[None]:
    """What a proposer raises, which may be anybody's, in words."""
    try:
        yield
    except (MaceError, ExhaustedError, StopIteration, MemoryError):
        raise
    except Exception as error:
        raise MaceError(f"the proposer {proposer.name!r} raised {type(error).__name__}: {error}") from error


def unmovable(task: Task) -> str | None:
    """Why a search that moves features does not take a task: none may change; None where one may."""
    return None if task.chart.free.any() else "no feature may change"


class Run:
    """One run of a proposer; iterate over it for what it finds.

    confirm: has the last word on a valid point before it is proposed.
    why:     why it ended; "" while it runs, and where the proposer itself came to its end.
    several: the points that the proposer takes for several answers, where it does.
    """

    def __init__(
        self,
        proposer: Proposer,
        task: Task,
        random_state: int = 0,
        effort: Effort = Effort(),
        best: Score = WORST,
        confirm: Callable[[Point], bool] = lambda point: True,
    ) -> None:
        if isinstance(random_state, bool) or not isinstance(random_state, (int, np.integer)) or random_state < 0:
            raise MaceError(f"random_state must be a whole number >= 0, got {short(random_state)}")
        with _spoken_for(proposer):
            reason = proposer.refusal(task)
        if reason is not None:
            raise MaceError(f"the proposer {proposer.name!r} does not take this question: {reason}")
        self.proposer, self.task, self.effort, self.best = proposer, task, effort, best
        self.random_state, self.confirm = random_state, confirm
        self.steps, self.why = 0, ""
        self.several: list[Point] = []

    def __iter__(self) -> Iterator[Proposal]:
        began = time.perf_counter()
        chart = self.task.chart
        with _spoken_for(self.proposer):
            batches = self.proposer.batches(self.task, np.random.default_rng(self.random_state))
            if not isinstance(batches, Generator):
                raise TypeError(f"`batches` is no generator, it gave {short(batches)}")
        try:
            with _spoken_for(self.proposer):
                rows = chart.snap(next(batches))
            while not self._ended() and self.best > PERFECT:
                self.steps += 1
                scores = self.scores(rows)
                place = self._better(rows, scores)
                if place is not None:
                    self.best, point = scores.at(place), chart.point(rows[place])
                    distance, seconds = self.task.place.distance_of(point), time.perf_counter() - began
                    yield Proposal(point, self.best, distance, self.steps, self.task.asked.calls, seconds)
                with _spoken_for(self.proposer):
                    rows = chart.snap(batches.send(scores))
        except StopIteration as end:
            self.why = self.task.asked.why if self.task.asked.lacking else ""
            if end.value is not None:
                self.several = [chart.point(row) for row in chart.snap(end.value)]
        except ExhaustedError as end:  # asked by the proposer itself, about the background rows
            self.why = str(end)
        finally:
            batches.close()

    def _better(self, rows: Floats, scores: Scores) -> int | None:
        """The place of the best row, if it is better than all before; one that is not confirmed misses the goal."""
        for place in map(int, scores.order()):
            if not (scores.at(place) < self.best and np.isfinite(scores.goal[place])):
                return None
            if not scores.at(place).valid or self.confirm(self.task.chart.point(rows[place])):
                return place
            scores.goal[place] = self.task.asked.deny(rows[place])
        return None

    def _ended(self) -> bool:
        if self.effort.stopped():
            self.why = "stopped"
        elif self.effort.deadline.over:
            self.why = self.effort.deadline.why
        elif self.effort.steps is not None and self.steps >= self.effort.steps:
            self.why = f"step limit ({self.effort.steps})"
        else:
            self.why = self.task.asked.why
        return bool(self.why)

    def scores(self, rows: Floats) -> Scores:
        """The levels of rows that lie on the axes; those that are not allowed, or could not be asked, are infinite."""
        chart = self.task.chart
        goal, doubts = np.full(len(rows), np.inf), np.full(len(rows), np.inf)
        allowed = chart.allowed(rows)
        said = self.task.asked.about(rows[allowed])
        goal[allowed], doubts[allowed] = said.missed, said.doubts
        changed = chart.changed(rows)
        constrained = changed[:, sorted(self.task.constrained)].sum(axis=1).astype(np.float64)
        distances = np.round(chart.distances(rows), SAME_DISTANCE)
        return Scores(goal, constrained, doubts, distances, changed.sum(axis=1).astype(np.float64))
