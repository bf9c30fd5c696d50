"""Which actions may change places, and of sequences that differ in such changes alone the one that is kept.

In:  the changes that a task's actions make.    Out: for each variant those that commute with it.
Promise: two neighbours that commute may change places: the conditions of both hold as before, and their changes, costs
and discounts stay the same. Of all sequences that such changes make of each other the first in the order of numbers is
never `superfluous`.
Source: Mazurkiewicz 1977, traces; Anisimov and Knuth 1979, their first words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from mace.language import Program
from mace.language.interval import YES
from mace.plans.changes import Changes
from mace.plans.nodes import Forms
from mace.plans.rest import anywhere
from mace.plans.task import Variant
from mace.worlds.forms import Enclosing, UnboundedError


def read_by(changes: Changes, variant: Variant, tests: Iterable[Program]) -> set[str]:
    """The features on which changes, cost and discount of an action depend, and some of its conditions."""
    action = variant.action
    edges = [edge for name in action.affects for edge in changes.task.world.into.get(name, ())]
    programs = [*tests, action.change, action.cost, *(edge.factor for edge in edges)]
    read = {declared.name for program in programs for declared in program.inputs}
    plain = {name.removeprefix(prefix) for name in read for prefix in ("before_", "start_", "")}
    return (plain | set(action.affects)) & changes.start.keys()


def commuting(changes: Changes) -> list[frozenset[int]]:
    """For each variant those of other actions that commute with it."""
    variants = changes.task.variants
    ranges = {name: (one.first, one.last) for v in variants for name, one in v.variables.items()}
    states = anywhere(changes, changes.start, list(variants), ranges)
    reads = []
    for variant in variants:
        # What a condition reads that holds in every state that can be reached is of no account.
        walk, names = Enclosing(ranges), changes.names(variant, states, states)
        tests = (*variant.action.before, *variant.action.after)
        reads.append(read_by(changes, variant, [test for test in tests if not _holds(walk, test, names)]))
    return [
        frozenset(
            other.number
            for other in variants
            if other.action is not one.action
            and reads[one.number].isdisjoint(other.action.affects)
            and reads[other.number].isdisjoint(one.action.affects)
        )
        for one in variants
    ]


def _holds(walk: Enclosing, test: Program, names: Forms) -> bool:
    try:
        return walk.holds([test], names) == YES
    except UnboundedError:
        return False


def superfluous(commutes: Sequence[Set[int]], prefix: Sequence[int], number: int, rest: Set[int]) -> bool:
    """Whether `number` after a prefix, and then all of a rest in any order, are sequences of which earlier ones exist.

    The number may change places with the greater one before it; or what comes later, and is less, with all up to it.
    """
    if prefix and prefix[-1] > number and number in commutes[prefix[-1]]:
        return True
    return any(one < number and number in commutes[one] and rest - {one} <= commutes[one] for one in rest)
