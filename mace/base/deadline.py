"""How much time is left: the one clock that every stage of an answer looks at.

In:  the seconds that the caller allowed (None: no limit).
Out: a `Deadline`, which is handed on whole, or in part (`share`, `within`), to whatever takes time.
Promise: the clock never goes back, and no part of a deadline ends after the whole. Whoever finds it over either stops
with what is known, or raises `TimeOverError`; the driver turns that into `unknown` or `bounded`, never into a verdict.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from mace.base.escape import short
from mace.errors import MaceError

LONGEST = 1e18  # seconds
Clock = Callable[[], float]


class TimeOverError(Exception):
    """The time allowed is over; the message says how much it was. No error of the user: it ends as an answer."""


class _Standing:
    """How long the clock has stood in all, since when it stands if it does, and how often `standing` is entered.

    Other threads read both numbers at once, so that their clock never goes back.
    """

    state: tuple[float, float | None] = 0.0, None
    entered = 0
    lock = threading.RLock()


def now() -> float:
    """The clock of every deadline, in seconds; it stands while `standing` is entered."""
    away, since = _Standing.state
    return (time.monotonic() if since is None else since) - away


def stands() -> bool:
    """Whether the clock stands, since something is done once and kept."""
    return _Standing.state[1] is not None


@contextmanager
def standing() -> Iterator[None]:
    """Stop the clock of every deadline within the block, for work that no single question should pay for.

    That is what is done once and kept, such as compiling.
    """
    _enter(1)
    try:
        yield
    finally:
        _enter(-1)


def _enter(by: int) -> None:
    """The clock stands from the first thread that enters to the last that leaves."""
    with _Standing.lock:
        _Standing.entered += by
        away, since = _Standing.state
        if since is None and _Standing.entered:
            _Standing.state = away, time.monotonic()
        elif since is not None and not _Standing.entered:
            _Standing.state = away + time.monotonic() - since, None
        else:
            return
        _wind()


class _Alarm:
    """When the one alarm of this process is to ring, on the clock of every deadline."""

    end = math.inf


def rings() -> bool:
    """Whether `alarm` rings here: where the system has such a clock, in the main thread."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


def _wind() -> None:
    """Set the timer of the system to the alarm, if there is one."""
    if _Alarm.end < math.inf:
        signal.setitimer(signal.ITIMER_REAL, 0.0 if stands() else max(_Alarm.end - now(), 0.001))  # 0: never


@contextmanager
def alarm(seconds: float | None, ring: Callable[..., None] | signal.Handlers = signal.SIG_DFL) -> Iterator[None]:
    """Call `ring` after so many seconds within the block, on the clock of every deadline; the default ends the process.

    For code that looks at no deadline. Of two nested alarms the inner one rings first; the outer one waits for its end.
    Where `rings` is false, and where seconds is None, nothing ever rings.
    """
    if seconds is None or not rings():
        yield
        return
    outer, before = _Alarm.end, signal.signal(signal.SIGALRM, ring)
    _Alarm.end = now() + seconds
    _wind()
    try:
        yield
    finally:
        try:  # what `ring` raises may come as late as here
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        finally:
            signal.signal(signal.SIGALRM, before)
            _Alarm.end = outer
            _wind()


class _Stoppable:
    """A clock that jumps to the end of time once it is stopped, so that every deadline that reads it is over."""

    def __init__(self) -> None:
        self.stopped = False

    def __call__(self) -> float:
        return math.inf if self.stopped else now()


_clocks: list[_Stoppable] = []  # that of the outermost `stoppable`


@contextmanager
def stoppable() -> Iterator[None]:
    """Let Ctrl-C end the deadlines that begin within the block, so that the answer is what is known by then.

    A second Ctrl-C interrupts as ever. Where somebody else handles Ctrl-C, and in other threads, nothing changes.
    """
    here = threading.current_thread() is threading.main_thread()
    if _clocks or not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    clock = _Stoppable()

    def stop(number: int, frame: object) -> None:  # noqa: ARG001
        signal.signal(signal.SIGINT, signal.default_int_handler)
        clock.stopped = True

    _clocks.append(clock)
    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        _clocks.clear()
        signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment when a time limit is over.

    seconds: what the caller allowed, for messages; None for no limit.
    end:     on the clock.
    """

    seconds: float | None = None
    end: float = math.inf
    clock: Clock = field(default=now, repr=False, compare=False)

    @classmethod
    def after(cls, seconds: float | None, clock: Clock | None = None) -> Deadline:
        """The deadline so many seconds from now (None: never)."""
        read = clock or (_clocks[0] if _clocks else now)
        return cls(seconds, math.inf if seconds is None else read() + seconds, read)

    @classmethod
    def asked(cls, limit: float | Deadline | None) -> Deadline:
        """The deadline that a caller wants: of a number of seconds > 0 from now, none, or one that runs already.

        Raises MaceError for anything else.
        """
        if isinstance(limit, Deadline):
            return limit
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit > 0):
            raise MaceError(f"timeout must be a number of seconds > 0, or None for no limit; got {short(limit)}")
        # What is longer than the age of the world is no limit, and may be too long for a float.
        return cls.after(limit if limit is None or limit < LONGEST else None)

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self.clock() >= self.end

    def left(self) -> float | None:
        """The seconds left, 0 when it is over; None for no limit. For what takes a timeout: sockets, processes."""
        at = self.clock()
        return 0.0 if at >= self.end else None if self.end == math.inf else self.end - at

    def share(self, part: float) -> Deadline:
        """The deadline at which this part (0 to 1) of what is left now is used up."""
        left = self.left()
        return self if left is None else replace(self, end=self.clock() + part * left)

    def within(self, seconds: float | None) -> Deadline:
        """The deadline so many seconds from now, or this one if that is earlier (None: this one)."""
        return self if seconds is None else replace(self, end=min(self.end, self.clock() + seconds))

    def later(self, seconds: float) -> Deadline:
        """The deadline moved on, for time that is not the question's: what is made ready once."""
        return replace(self, end=self.end + seconds)

    @property
    def why(self) -> str:
        """What an answer says that this limit has stopped."""
        if getattr(self.clock, "stopped", False):
            return "interrupted"
        return "time limit" if self.seconds is None else f"time limit ({self.seconds:g} s)"

    def look(self, doing: str = "") -> None:
        """Raise TimeOverError if it is over; `doing` says what was not finished."""
        if self.over:
            raise TimeOverError(f"{self.why}, reached while {doing}" if doing else self.why)


class Pace:
    """How many seconds of a deadline pass for a second of this process's work: more than 1 where other work runs too.

    deadline: whose clock counts. What comes at its end, and was never timed, takes so much longer on a busy machine.
    """

    MOST = 4.0  # a process that waits for something else is not slow

    def __init__(self, deadline: Deadline) -> None:
        self.clock = deadline.clock
        self.began = self.clock(), time.process_time()

    def __call__(self) -> float:
        """From 1 to `MOST`, since this was made."""
        passed, worked = self.clock() - self.began[0], time.process_time() - self.began[1]
        return min(max(passed / worked, 1.0), self.MOST) if worked > 0 and math.isfinite(passed) else 1.0


NEVER = Deadline()
