"""Which steps of a proof about a network no leaf uses: tightened ends of hidden units' intervals, and phases from them.

In:  the steps (items) in the order of the proof, each with the ends and phases that it reads.
Out: which steps some leaf needs, directly or through other steps; and which ends are read as the root has them.
Promise: none is needed, since the checker verifies what is written. An end that no needed step reads may stay as wide
as it was: then every number that is read comes out as before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.networks.model import Array

ROOT = -1  # an end that is from the root, or that a split makes


class Sources(NamedTuple):
    """Which item of a proof each end (2, H, N) and each phase (H, N) of a state comes from, or `ROOT`."""

    ends: Array
    phases: Array

    @classmethod
    def of_root(cls, shape: tuple[int, ...]) -> Sources:
        """Where nothing is narrowed yet."""
        return cls(np.full(shape, ROOT), np.full(shape[1:], ROOT))

    def copy(self) -> Sources:
        """One that may be changed."""
        return Sources(self.ends.copy(), self.phases.copy())


class Reads(NamedTuple):
    """What something reads: ends (2, H, N) and phases (H, N)."""

    ends: Array
    phases: Array


class Items:
    """The items of a proof, numbered as they come, what each rests on, and what is wanted of them."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.used = np.zeros(shape, np.bool_)  # the ends that are read from the root, once all is known
        self._rests: list[Array] = []
        self._roots: list[Array] = []
        self._wanted: list[Array] = []

    def add(self, reads: Reads, sources: Sources) -> int:
        """A new item, and its number."""
        rests, roots = _of(reads, sources)
        self._rests.append(rests)
        self._roots.append(roots)
        return len(self._rests) - 1

    def want(self, reads: Reads, sources: Sources) -> None:
        """What a leaf reads, or anything that stays in the proof."""
        rests, roots = _of(reads, sources)
        self._wanted.append(rests)
        self.used.reshape(-1)[roots] = True

    def needed(self) -> Array:
        """Of each item whether it is needed, (items,); `used` then knows what those read."""
        found = np.zeros(len(self._rests), np.bool_)
        for rests in self._wanted:
            found[rests] = True
        for item in range(len(found) - 1, -1, -1):  # what an item rests on came before it
            if found[item]:
                found[self._rests[item]] = True
                self.used.reshape(-1)[self._roots[item]] = True
        return found


def _of(reads: Reads, sources: Sources) -> tuple[Array, Array]:
    """The items that are read, and the places of ends that are read from the root."""
    ends, phases = sources.ends[reads.ends], sources.phases[reads.phases]
    places = np.flatnonzero(reads.ends)
    return np.concatenate([ends[ends != ROOT], phases[phases != ROOT]]), places[ends == ROOT]
