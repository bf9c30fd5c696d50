"""A proposer beside the prover: one bracket, closed in from both sides.

In:  a question, how points are confirmed, and a proposer with what it may spend.
Out: while the prover runs, better points as they are confirmed, from whichever side they come (`Beside.begun`).
Promise: a point of the proposer only lowers the upper bound: no verdict and no lower bound is its own. It runs in a
thread, which ends with the prover, and only where it came to its own end is what it found the same in every run. The
longer it finds nothing nearer, the less of the prover's time it takes (`Pace`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction

from mace.explain.asking import Asking
from mace.explain.judge import Judge
from mace.explain.proposing import task_of
from mace.problem.question import Question
from mace.search.chart import Floats
from mace.search.protocol import Effort, Proposer, Run
from mace.solve.driver import Bracket
from mace.solve.protocol import Limits
from mace.space.axes import Point


@dataclass
class Nearest:
    """The nearest confirmed point so far; both threads may bring one, and each better one is told to `better`."""

    question: Question
    better: Callable[[Point, Fraction], None]
    point: Point | None = None
    distance: Fraction | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def bring(self, point: Point) -> bool:
        """Take a point that is allowed and confirmed, if it is nearer than all before; whether it is."""
        distance = self.question.distance_of(point)
        with self.lock:
            nearer = self.distance is None or distance < self.distance
            if nearer:
                self.point, self.distance = point, distance
                self.better(point, distance)
        return nearer


@dataclass
class Told:
    """What `watch` is told while two threads close in: the larger lower bound, and the smaller upper one, of both."""

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


IDLE = 8  # steps in a row that found nothing nearer, after which a proposer rests for as long as its next step takes


class Pace:
    """How long a proposer rests between its steps, so that it does not take half of the prover's time for nothing.

    The two threads share one interpreter. After `n` steps in a row that found nothing nearer, the next rest is `n /
    IDLE` times the CPU time of the last step: a proposer that keeps finding nearer points hardly rests at all.
    """

    def __init__(self) -> None:
        self._prover_ended = threading.Event()
        self._idle, self._began = 0, 0.0

    def found(self) -> None:
        """A nearer point was found."""
        self._idle = 0

    def end(self) -> None:
        """The prover has ended: no rest any more, and no further step."""
        self._prover_ended.set()

    def ended(self) -> bool:
        """Rest; then whether the prover has ended. Asked before each step, in the proposer's own thread."""
        if self._idle:
            self._prover_ended.wait((time.thread_time() - self._began) * self._idle / IDLE)
        self._idle, self._began = self._idle + 1, time.thread_time()
        return self._prover_ended.is_set()


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
    def begun(self, question: Question, nearest: Nearest, limits: Limits) -> Iterator[None]:
        """Run in a thread as long as the block does; an error of the proposer is raised at the end of the block."""
        pace, asking = Pace(), Asking(self.judge)
        task = task_of(question, self.judge, self.rows, self.max_calls, limits.deadline)
        run = Run(
            self.proposer, task, self.random_state, Effort(deadline=limits.deadline, stopped=pace.ended),
            confirm=lambda point: asking.confirms(question, point),
        )  # fmt: skip
        errors: list[BaseException] = []

        def propose() -> None:
            try:
                for one in run:
                    if one.score.valid and nearest.bring(one.point):
                        pace.found()
            except BaseException as error:  # noqa: BLE001  raised where the caller waits
                errors.append(error)

        thread = threading.Thread(target=propose, name=f"mace {self.proposer.name}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            pace.end()
            thread.join()
        if errors:
            raise errors[0]
