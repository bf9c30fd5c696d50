"""Names and their values, with writes that can be taken back: what an analysis of two branches needs.

In:  writes, and `enter` / `leave` around each branch.
Out: `leave` gives what the branch wrote and restores what was there before.
Promise: the cost is that of the writes alone, so that a walk over a program with many branches stays linear;
copying all names at every `if` would not.
"""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T")


class Scope(Generic[T]):
    """A dictionary of names; see the module."""

    def __init__(self, values: dict[str, T] | None = None) -> None:
        self.values: dict[str, T] = dict(values or {})
        self._before: list[dict[str, T | None]] = []

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def __getitem__(self, name: str) -> T:
        return self.values[name]

    def get(self, name: str) -> T | None:
        """The value of a name, or None."""
        return self.values.get(name)

    def __setitem__(self, name: str, value: T) -> None:
        if self._before:
            self._before[-1].setdefault(name, self.values.get(name))
        self.values[name] = value

    def enter(self) -> None:
        """Start a branch."""
        self._before.append({})

    def leave(self) -> dict[str, T]:
        """End a branch: what it wrote. The names have their earlier values again."""
        before = self._before.pop()
        written = {name: self.values[name] for name in before}
        for name, value in before.items():
            if value is None:
                del self.values[name]
            else:
                self.values[name] = value
        return written
