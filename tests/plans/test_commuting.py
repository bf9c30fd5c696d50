"""Which actions may change places, and that one sequence of all that differ in that is kept."""

from __future__ import annotations

import itertools

import numpy as np

import mace
from mace.plans.changes import Changes
from mace.plans.commuting import commuting, superfluous
from mace.plans.task import task_of
from tests.plans.test_worlds import FIGURE_2, MODEL, SPACE, START


def _reachable(word: tuple[int, ...], commutes: list[set[int]]) -> set[tuple[int, ...]]:
    """All words that changes of neighbours that commute make of a word."""
    found, todo = {word}, [word]
    while todo:
        one = todo.pop()
        for at in range(len(one) - 1):
            if one[at + 1] in commutes[one[at]]:
                other = (*one[:at], one[at + 1], one[at], *one[at + 2 :])
                if other not in found:
                    found.add(other)
                    todo.append(other)
    return found


def test_of_sequences_that_differ_in_places_of_what_commutes_one_is_kept() -> None:
    rng, dropped = np.random.default_rng(0), 0
    for _ in range(40):
        size = int(rng.integers(2, 5))
        commutes: list[set[int]] = [set() for _ in range(size)]
        for a, b in itertools.combinations(range(size), 2):
            if rng.random() < 0.5:
                commutes[a].add(b)
                commutes[b].add(a)
        words = list(itertools.permutations(range(size)))
        kept = {
            word
            for word in words
            if not any(superfluous(commutes, word[:at], word[at], set(word[at + 1 :])) for at in range(size))
        }
        dropped += len(words) - len(kept)
        for word in words:
            assert min(_reachable(word, commutes)) in kept
    assert dropped > 100


def _commuting(text: str, start: dict[str, object]) -> list[frozenset[int]]:
    planner = mace.Planner(MODEL, SPACE, mace.World.read(text, SPACE))
    return commuting(Changes(task_of(planner.explainer, planner.world, start, 1, None, True)))


def test_consequences_keep_actions_in_their_order() -> None:
    assert _commuting(FIGURE_2, START) == [frozenset(), frozenset(), frozenset()]


def test_a_condition_that_always_holds_keeps_no_order() -> None:
    text = """
action wait:
    parameter years: int in [1, 4]
    age = age + years
    cost years
action pay:
    before age > {}
    debt = debt / 2
    cost 1
action study:
    edu = "BSc"
    cost debt
"""
    assert _commuting(text.format(20), START) == [{1, 2}, {0}, {0}]
    assert _commuting(text.format(32), START) == [{2}, frozenset(), {0}]
