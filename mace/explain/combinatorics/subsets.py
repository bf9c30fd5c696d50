"""Which sets of things suffice: all minimal ones that do, and all maximal ones that do not.

In:  a number of things, and `ask`, which says of a set whether it suffices. What contains a set that suffices does too.
Out: `Subsets`; `spared`, the deletion filter, which removes what is superfluous.
Promise: every set holds one of `minimal` or lies in one of `maximal` or of `undecided`; where nothing is undecided both
are all there are. Sets are bit masks.
Source: Bailey and Stuckey 2005: maximal sets are the complements of the minimal hitting sets of the minimal ones, so
each question comes from what is not explained yet; MARCO with maximal seeds, Liffiton et al. 2016; Berge 1989 for the
hitting sets; Chinneck and Dravnieks 1991, the deletion filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from mace.base.bits import members

Name = TypeVar("Name")


class Reply(NamedTuple):
    """Whether a set suffices (None: not decided), and if so, which part of it does."""

    suffices: bool | None
    part: int = 0


class Subsets(NamedTuple):
    """Sets of things, as masks; `maximal` holds those that were refuted, `undecided` those that were not decided."""

    minimal: list[int]
    maximal: list[int]
    undecided: list[int]

    @property
    def complete(self) -> bool:
        """Whether these are all, and each is minimal or maximal."""
        return not self.undecided


def all_subsets(count: int, ask: Callable[[int], Reply], most: int = 1000) -> Subsets:
    """All minimal sets that suffice, and all maximal ones that do not.

    most: after so many questions about maximal sets, what is left counts as undecided.
    """
    everything = (1 << count) - 1
    found = Subsets([], [], [])
    # Invariant: no member of `minimal` holds another; members of `maximal` hold none of them.
    while (seed := _unexplored(found, everything)) is not None:
        reply = ask(seed) if len(found.maximal) + len(found.minimal) < most else Reply(None)
        if reply.suffices:
            found.minimal.append(_shrunk(reply.part, ask, found))
        else:
            (found.maximal if reply.suffices is False else found.undecided).append(seed)
    return found


def spared(names: Sequence[Name], needless: Callable[[set[Name]], bool | None]) -> tuple[list[Name], bool]:
    """What is left when everything superfluous was removed, and whether nothing of that can be spared, for certain.

    needless: whether what is left without some names does all the same; None if that is not decided.
    """
    kept, certain = set(names), True
    for name in names:
        reply = needless(kept - {name})
        if reply:
            kept -= {name}
        elif reply is None:
            certain = False
    return [name for name in names if name in kept], certain


def _unexplored(found: Subsets, everything: int) -> int | None:
    """A maximal set that holds no member of `minimal`, and lies in none of the others; None if there is none."""
    for hitting in hitting_sets(found.minimal):
        seed = everything & ~hitting
        if not any(seed & ~known == 0 for known in (*found.maximal, *found.undecided)):
            return seed
    return None


def _shrunk(part: int, ask: Callable[[int], Reply], found: Subsets) -> int:
    """A set that suffices, without what is superfluous; what stays undecided stays in it, and is kept as undecided."""

    def needless(left: set[int]) -> bool | None:
        mask = sum(1 << place for place in left)
        if any(mask & ~known == 0 for known in found.maximal):
            return False
        reply = ask(mask)
        if reply.suffices is None:
            found.undecided.append(mask)
        return reply.suffices

    kept, _ = spared(members(part), needless)
    return sum(1 << place for place in kept)


def hitting_sets(sets: Iterable[int]) -> list[int]:
    """The minimal sets that have something in common with each of these."""
    found = [0]
    for one in sets:
        made = {hit if hit & one else hit | 1 << place for hit in found for place in members(one)}
        found = [hit for hit in made if not any(other != hit and other & ~hit == 0 for other in made)]
    return sorted(found)
