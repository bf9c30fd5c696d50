"""Prices in columns are read as the entries that they stand for."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from mace.proofs.columns import begins, entries, unfolded

SIZES = [3, 1, 7, 5]
MODEL = {"trees": [{"column": [0] * size} for size in SIZES]}


def certificate(*proof: Any, **more: Any) -> dict[str, Any]:
    return {"statement": {"model": MODEL}, "proof": list(proof), **more}


def test_columns_say_what_entries_do() -> None:
    rng = random.Random(0)
    begin = begins(certificate())
    assert begin == [0, 3, 4, 11, 16]
    nodes = [(t, n) for t, size in enumerate(SIZES) for n in range(size)]
    for _ in range(200):
        wanted = [[t, n, rng.randrange(50)] for t, n in sorted(rng.sample(nodes, rng.randrange(len(nodes))))]
        numbers = [begin[t] + n for t, n, _ in wanted]
        steps = [own - before for before, own in zip([0, *numbers], numbers, strict=False)]
        assert entries(steps, [n for *_, n in wanted], begin) == wanted


def test_columns_of_facts_are_unfolded_and_nothing_that_was_given_changes() -> None:
    node = ["prices", {"prices": {"nodes": [1, 5], "units": [7, 8]}}, {"prices": [[0, 1, 2]]}]
    given = certificate(["split", 0, 1], node, facts=[{"proof": [node]}, 3])
    before = copy.deepcopy(given)
    found = unfolded(given)
    assert given == before
    wanted = ["prices", {"prices": [[0, 1, 7], [2, 2, 8]]}, {"prices": [[0, 1, 2]]}]
    assert found["proof"] == [["split", 0, 1], wanted]
    assert found["facts"] == [{"proof": [wanted]}, 3]


@pytest.mark.parametrize("data", [{}, {"proof": 3}, {"proof": [[], 2, ["prices", None]], "facts": 1}])
def test_what_makes_no_sense_stays_as_it_is(data: dict[str, Any]) -> None:
    assert unfolded(data) == data


@pytest.mark.parametrize("model", [None, {}, {"trees": 3}, {"trees": [{"column": None}]}, {"trees": []}])
def test_columns_of_a_model_that_is_none_stay_as_they_are(model: Any) -> None:
    data = {"statement": {"model": model}, "proof": [["prices", {"prices": {"nodes": [0], "units": [1]}}]]}
    assert unfolded(data) == data
