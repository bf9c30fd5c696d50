"""Functions compiled by numba once they are worth it, and kept on disk.

In:  a function of arrays and numbers.    Out: the same function, compiled for the types that it is called with.
Promise: an interpreted call has the results of a compiled one: numba's integers wrap as numpy's do, and neither
reorders sums. What is on disk is never a reason to fail (`mace.solve.code_files`).

A new installation has nothing on disk, and compiling takes a minute, where a small question takes a tenth of a
second even in Python. So functions are interpreted until a process has spent `READING` in them, which is what numba
itself takes to start; only then those on disk are read. After `PATIENCE` another process compiles the others
(`mace.solve.ahead`), and they are interpreted until they are there, so that no time limit waits. Only what such
a process has not made, or what cannot be kept, is compiled here, while the clock of all deadlines stands.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from mace.base.deadline import NEVER, Deadline, standing
from mace.solve import ahead, code_files

F = TypeVar("F", bound=Callable[..., Any])

PATIENCE = 3.0  # CPU seconds, about a tenth of what compiling one kind of search takes, or less
READING = 0.5  # CPU seconds, about what importing numba and reading the functions of a search takes
UNASKED = 15  # calls of a function within an interpreted one, of each that asks whether it is worth compiling by now
SHORT = 0.02  # CPU seconds: calls that together take longer ask one by one, for asking is nothing beside them


def compiled(function: F) -> F:
    """Compile a function once it is worth it."""
    return cast(F, Function(function, counting=True))


def lean(function: F) -> F:
    """Compile a function that neither makes nor returns arrays, and so need not count who holds those it is given.

    Counting takes longer than a small function itself: it is done for every array of every tuple, in every call.
    """
    return cast(F, Function(function, counting=False))


def at_once() -> None:
    """From now on compile before the first call: for whoever asks much, or measures."""
    _interpreting.patience = _interpreting.reading = 0.0


def read_at_once() -> None:
    """From now on read what is on disk before the first call: for a process that answers many questions."""
    _interpreting.reading = 0.0


def interpreted() -> bool:
    """Whether nothing has been worth compiling yet, nor reading from disk."""
    return _interpreting.by_now < min(_interpreting.reading, _interpreting.patience)


@contextmanager
def interruptible(deadline: Deadline) -> Iterator[None]:
    """Raise TimeOverError out of interpreted calls once it is over; what they were changing is not to be used."""
    here = _interpreting.here
    outer, here.deadline = here.deadline, deadline
    try:
        yield
    finally:
        here.deadline = outer


class _UnderWay(threading.local):
    """When this thread's outermost call under way began, on its own CPU clock, and when it may be given up."""

    began: float | None = None
    deadline = NEVER


class _Interpreting:
    """The time that this process has spent in interpreted functions."""

    def __init__(self) -> None:
        self.patience = PATIENCE
        self.reading = READING
        self.spent = 0.0
        self.here = _UnderWay()

    @property
    def by_now(self) -> float:
        """The CPU seconds spent, with those of this thread's call under way."""
        return self.spent + (0.0 if self.here.began is None else time.thread_time() - self.here.began)

    @property
    def over(self) -> bool:
        """Whether compiling is worth it now."""
        return self.by_now >= self.patience

    def call(self, function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
        """Interpret a call; what it calls is asked again, so that a long call ends compiled."""
        self.here.deadline.look()
        if self.here.began is not None:
            return function(*given)
        self.here.began = began = time.thread_time()
        try:
            with np.errstate(all="ignore"):  # compiled code says nothing of infinities either
                return function(*given)
        finally:
            self.spent += time.thread_time() - began
            self.here.began = None


_interpreting = _Interpreting()


class Function:
    """A function that is interpreted as long as its code is neither worth reading from disk nor worth compiling."""

    def __init__(self, function: Callable[..., Any], *, counting: bool) -> None:
        functools.update_wrapper(self, function)
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"
        self.py_func = function
        self._counting = counting
        self._made: Any = None
        # Calls to come that need not ask, which takes longer than a small function; how many there were at first,
        # and when that was.
        self._unasked = self._batch = 0
        self._asked = 0.0

    def __call__(self, *given: Any) -> Any:
        made = self._made
        if made is None:
            if self._unasked > 0 and _interpreting.here.began is not None:
                self._unasked -= 1
                return self.py_func(*given)
            if self._waits():
                self._unasked = self._batch = self._next_batch()
                return _interpreting.call(self.py_func, given)
            made = self.made
        return made(*given)

    def _next_batch(self) -> int:
        """How many calls need not ask: more and more of them, as long as they are short."""
        now, before = time.thread_time(), self._asked
        self._asked = now
        return min(2 * self._batch + 1, UNASKED) if 0.0 <= now - before < SHORT else 0

    def _waits(self) -> bool:
        """Whether it is still interpreted: its code is not worth reading, or is not there and compiled elsewhere."""
        spent = _interpreting.by_now
        if spent >= _interpreting.patience:
            if not _interpreting.patience or self.kept:
                return False
            # What an interpreted call under way asks for may be there for compiled callers alone: it ends as it began.
            inside = _interpreting.here.began is not None and code_files.holds(f"{self.name}-inner")
            return inside or ahead.under_way(self.py_func.__module__)
        return spent < _interpreting.reading or not self.kept

    @property
    def ready(self) -> bool:
        """Whether a call would be that of compiled code, now or after it is compiled here."""
        return self._made is not None or not self._waits()

    @property
    def made(self) -> Any:
        """What numba makes of it; from the first time on it is no longer interpreted."""
        if self._made is None:
            with standing():
                from mace.solve.native import dispatcher

                self._made = dispatcher(self.py_func, self.name, counting=self._counting)
        return self._made

    @property
    def _numba_type_(self) -> Any:
        """How numba sees it where another compiled function calls it."""
        return self._inner._numba_type_

    @cached_property
    def _inner(self) -> Any:
        """What numba makes of it for other compiled functions."""
        with standing():
            from mace.solve.native import dispatcher

            return dispatcher(self.py_func, self.name, counting=self._counting, inner=True)

    @property
    def signatures(self) -> list[Any]:
        """The types for which it has been compiled, or read."""
        inner = self.__dict__.get("_inner")
        return [*getattr(self._made, "signatures", ()), *getattr(inner, "signatures", ())]

    @property
    def kept(self) -> bool:
        """Whether code for some types is on disk."""
        return code_files.holds(self.name)
