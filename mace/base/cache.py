"""Results that are kept with the object they are about, so that they are worked out once.

In:  an object (a table, whose content never changes), a key for whatever else the result depends on, a way to make it.
Out: the result, made or kept.
Promise: results of one object are never given for another (objects are told apart by identity, and forgotten with it);
each object keeps `most` of them, and forgets those first that were not asked for longest.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import fields
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


class FieldsAlone:
    """A dataclass of which the fields alone are pickled and copied: what it worked out is worked out anew there.

    Ways to ask a library are functions made on the spot, which cannot be pickled.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {part.name: getattr(self, part.name) for part in fields(self)}  # type: ignore[arg-type]


class Kept(Generic[T]):
    """Results of one kind, by object and key. Who takes one out must not change it."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._of: WeakKeyDictionary[Any, dict[Hashable, T]] = WeakKeyDictionary()

    def get(self, about: object, key: Hashable, make: Callable[[], T]) -> T:
        """The result for an object, compared by identity, and a key, compared by equality."""
        results = self._of.get(about)
        if results is None:
            results = self._of.setdefault(about, {})
        # Threads may meet here: then something is made twice.
        found = results.pop(key, _NOTHING)
        result: T = make() if found is _NOTHING else found  # type: ignore[assignment]
        results[key] = result
        while len(results) > self.most:
            with suppress(KeyError, RuntimeError, StopIteration):
                del results[next(iter(results))]
        return result


class Recent(Generic[T]):
    """Results that were asked for lately, by key; all are forgotten when they become too many."""

    def __init__(self, most: int = 64) -> None:
        self.most = most
        self._of: dict[Hashable, T] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result for a key, made or known."""
        known = self._of
        if key in known:
            return known[key]
        if len(known) >= self.most:
            known = self._of = {}  # threads may meet here: then something is made twice
        made = known[key] = make()
        return made


_NOTHING = object()
