"""A proposer beside the prover: one bracket, closed in from both sides.

In:  a question, how points are confirmed, and a proposer with what it may spend.
Out: while the prover runs, better points as they are confirmed, from whichever side they come (`Beside.begun`).
Promise: the proposer only lowers the upper bound; verdicts and lower bounds are the prover's. The prover does not use
its points, and its time limit does not count the CPU time that they cost (`Own`): its bounds and proofs are those that
it would come to alone. The proposer goes on from the nearest point that either side has found. It runs in a thread
that ends with the prover; what it found is reproducible only if it came to its own end before. The longer it finds
nothing nearer, the less time it takes, and once that is a `SHARE` of the limit, it ends (`Pace`). It asks the trees
that were read, and the model itself only about what rounding leaves in doubt.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import inf
from typing import NamedTuple

from mace.base.deadline import Clock, now
from mace.explain.deployed.confirmation import Confirmation
from mace.explain.deployed.judge import Judge
from mace.explain.proposing.task import task_of
from mace.problem.question import Question
from mace.search.chart import Floats
from mace.search.protocol import Effort, Proposer, Run
from mace.solve.driver import Bracket
from mace.solve.protocol import Limits
from mace.space.axes import Point


class Near(NamedTuple):
    """A point and its exact distance."""

    point: Point
    distance: Fraction


@dataclass
class Nearest:
    """The nearest confirmed point so far; both threads may bring one, and each better one is told to `better`."""

    question: Question
    better: Callable[[Point, Fraction], None]
    near: Near | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def point(self) -> Point | None:
        """The point alone."""
        return None if self.near is None else self.near.point

    def bring(self, point: Point) -> bool:
        """Keep an allowed, confirmed point if it is nearer than all before; returns whether it is."""
        near = Near(point, self.question.distance_of(point))
        with self.lock:
            nearer = self.near is None or near.distance < self.near.distance
            if nearer:
                self.near = near
                self.better(*near)
        return nearer


@dataclass
class Told:
    """Passes on to `watch` the best bounds of both threads: the larger lower bound, and the smaller upper one."""

    watch: Callable[[Bracket], None]
    so_far: Bracket = field(default_factory=Bracket)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def by_prover(self, bracket: Bracket) -> None:
        """What the prover has come to."""
        with self.lock:
            known = self.so_far
            nearer = known.upper is not None and (bracket.upper is None or known.upper < bracket.upper)
            upper, point = (known.upper, known.point) if nearer else (bracket.upper, bracket.point)
            self.so_far = replace(bracket, lower=max(known.lower, bracket.lower), upper=upper, point=point)
            self.watch(self.so_far)

    def better(self, point: Point, distance: Fraction) -> None:
        """A nearer point than all before."""
        with self.lock:
            if self.so_far.upper is None or distance < self.so_far.upper:
                self.so_far = replace(self.so_far, upper=distance, point=point)
                self.watch(self.so_far)


HEAD_START = 0.02  # seconds that the prover has for itself: many questions are answered by then
SHARE = 1 / 40  # of the limit is the most that a proposer may take in vain, and that an answer may take beyond it
ASLEEP = 10  # times what a rest should be is the longest one, since provers may be processes of their own


class Pace:
    """How long a proposer rests between its steps, so that it takes next to nothing of the prover's time in vain.

    The two threads share one interpreter. The prover begins alone. After `n` steps in a row that found nothing nearer,
    the prover has `n * n` times the CPU time of the last step for itself: of steps of 6 ms in vain there are eight in
    the first second, 5 % of it, and 17 in the first ten, 1 %. A proposer that keeps finding nearer points rests less.

    most:  CPU seconds that it may take in vain; then it ends.
    spent: CPU seconds that it has taken.
    """

    def __init__(self, most: float = inf) -> None:
        self._prover_ended = threading.Event()
        self._idle, self._began, self._vain = 0, 0.0, 0.0
        self.most, self.spent = most, 0.0

    def begin(self) -> None:
        """Let the prover begin; called in the proposer's own thread."""
        self._prover_ended.wait(HEAD_START)

    def found(self) -> None:
        """A nearer point was found."""
        self._idle = 0

    def end(self) -> None:
        """The prover has ended: no rest any more, and no further step."""
        self._prover_ended.set()

    def ended(self) -> bool:
        """Rest, then say whether to end; called before each step, in the proposer's own thread."""
        took = time.thread_time() - self._began
        self.spent += took
        if self._idle:
            self._vain += took
            self._rest(took * self._idle**2)
        self._idle, self._began = self._idle + 1, time.thread_time()
        return self._prover_ended.is_set() or self._vain >= self.most

    def _rest(self, seconds: float) -> None:
        """Wait until the other threads have had so many seconds of CPU time, whatever else runs on the machine."""
        over, last = _elsewhere() + seconds, now() + ASLEEP * seconds
        while (left := over - _elsewhere()) > 0 and now() < last:
            if self._prover_ended.wait(left):
                return


def _elsewhere() -> float:
    """The CPU seconds that this process has spent in other threads."""
    return time.process_time() - time.thread_time()


class Own:
    """The prover's clock: it does not count the CPU time that the proposer took, up to `Pace.most`."""

    def __init__(self, clock: Clock, pace: Pace) -> None:
        self.clock, self.pace = clock, pace
        self._last = -inf

    def __call__(self) -> float:
        self._last = max(self._last, self.clock() - min(self.pace.spent, self.pace.most))  # it never goes back
        return self._last

    @property
    def stopped(self) -> bool:
        """Whether somebody has stopped the clock that it is made of."""
        return getattr(self.clock, "stopped", False)


@dataclass(frozen=True)
class Beside:
    """A proposer, and what it may spend.

    rows: of the background, as numbers.
    """

    proposer: Proposer
    judge: Judge
    rows: Floats | None = None
    random_state: int = 0
    max_calls: int | None = None

    @contextmanager
    def begun(self, question: Question, nearest: Nearest, limits: Limits) -> Iterator[Limits]:
        """Run in a thread as long as the block does; gives the prover's limits, on its own clock.

        An error of the proposer is raised at the end of the block.
        """
        left = limits.deadline.left()
        pace, confirmation = Pace(inf if left is None else SHARE * left), Confirmation(self.judge)
        task = replace(
            task_of(question, self.judge, self.rows, self.max_calls, limits.deadline, by_scores=True),
            known=lambda: nearest.point,
        )
        if not task.chart.free.any():  # what the prover says of the row alone is all there is to say
            yield limits
            return
        run = Run(
            self.proposer, task, self.random_state, Effort(deadline=limits.deadline, stopped=pace.ended),
            confirm=lambda point: confirmation.confirms(question, point),
        )  # fmt: skip
        errors: list[BaseException] = []

        def propose() -> None:
            pace.begin()
            try:
                for one in run:
                    if one.score.valid and nearest.bring(one.point):
                        pace.found()
            except BaseException as error:  # noqa: BLE001  raised where the caller waits
                errors.append(error)

        thread = threading.Thread(target=propose, name=f"mace {self.proposer.name}", daemon=True)
        thread.start()
        try:
            yield replace(limits, deadline=replace(limits.deadline, clock=Own(limits.deadline.clock, pace)))
        finally:
            pace.end()
            thread.join()
        if errors:
            raise errors[0]
