"""Calls that do not wait for each other, on as many cores as a search may use.

In:  a function that changes nothing that another call reads, and what it is called with.
Out: what the calls return, in the order of what they were given.
Promise: the results are those of one call after the other, whatever the number of threads. Compiled code really runs
at the same time (`mace.solve.native`); all else takes turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import starmap
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class SideBySide:
    """So many threads, which are there from the first call for more than one of them to the end of the block."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if "_threads" in self.__dict__:
            self.__dict__.pop("_threads").shutdown(cancel_futures=True)

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.jobs, "mace")

    def each(self, function: Callable[..., T], given: Iterable[tuple[Any, ...]]) -> list[T]:
        """The function called with each of the given arguments; it may not ask for the same here."""
        calls = list(given)
        if self.jobs == 1 or len(calls) < 2:
            return list(starmap(function, calls))
        return list(self._threads.map(lambda arguments: function(*arguments), calls))
