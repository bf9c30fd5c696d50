"""Certificates of plans: what is accepted is true by trying every plan; false ones by a hair are refused."""

from __future__ import annotations

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mace.proofs import reader
from mace.proofs.check import check
from mace.proofs.reader import load
from tests.checkers import second
from tests.proofs import plan_edges
from tests.proofs.plan_cases import CASES, GOAL, LIFT, PROOF, TRUE, plan, true, with_parts, witnessed

ALL = {**CASES, **plan_edges.CASES}


@pytest.mark.parametrize("name", ALL)
def test_what_is_accepted_is_true(name: str) -> None:
    verdict = check(ALL[name])
    assert verdict.accepted is not name.startswith("false: "), verdict
    assert "unforeseen" not in verdict.reason
    if verdict.accepted:
        assert true(ALL[name]) and witnessed(ALL[name])


@pytest.mark.parametrize("name", plan_edges.FALSE)
def test_what_is_false_by_one_thing_is_false(name: str) -> None:
    assert not true(plan_edges.FALSE[name])


def test_a_proof_that_opens_too_many_sequences_is_unusable() -> None:
    verdict = check(plan(proof=[["step"]] * 3000, actions=[LIFT] * 3000))
    assert verdict.unusable
    assert "sequences of actions" in verdict.reason


def test_the_nodes_of_all_ends_are_nodes_of_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = len(PROOF) + sum(len(node) - 1 for node in PROOF if node[0] == "end")
    monkeypatch.setattr(reader, "MAX_NODES", nodes)
    assert check(plan()).accepted
    longer = [["end", ["near"], *node[1:]] if k == 1 else node for k, node in enumerate(PROOF)]
    verdict = check(plan(proof=longer))
    assert verdict.unusable and verdict.reason == f"more than {nodes} nodes of the proof"


def test_an_end_whose_boxes_all_stay_open_is_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_HELD", 1000)
    for opening in (["split", 0, -1], ["part", 0]):
        verdict = check(with_parts([opening] * 300, GOAL[0]))
        assert verdict.unusable and "entries that the proof keeps open" in verdict.reason
        assert not check(with_parts([opening] * 30, GOAL[0])).unusable


@pytest.mark.slow
def test_an_end_of_millions_of_nodes_is_unusable_for_both_checkers(tmp_path: Path) -> None:
    text = json.dumps(plan(proof=[["step"], ["end", "here"], *PROOF[2:]]))
    file = tmp_path / "plan.json"
    file.write_text(text.replace('"here"', ",".join(["[]"] * reader.MAX_NODES)))
    assert str(check(load(file))) == f"unusable: more than {reader.MAX_NODES} nodes of the proof"
    if program := second():
        done = subprocess.run([program, file], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (2, "") and "too large: a proof of more than" in done.stdout


def edited(data: Any, rng: np.random.Generator) -> Any:
    """A certificate with one entry in its world, claim, witness, proof or features changed."""
    data = copy.deepcopy(data)
    places: list[tuple[Any, Any]] = []

    def look(inside: Any) -> None:
        for key in inside if isinstance(inside, dict) else range(len(inside)):
            if isinstance(inside[key], (dict, list)):
                look(inside[key])
            else:
                places.append((inside, key))

    look([data["world"], data["claim"], data["witness"] or [], data["proof"], data["statement"]["features"]])
    inside, key = places[int(rng.integers(len(places)))]
    old = inside[key]
    if isinstance(old, bool):
        inside[key] = not old
    elif isinstance(old, int):
        inside[key] = old + int(rng.choice([-2, -1, 1, 2]))
    elif isinstance(old, str) and old[:1] in "-0123456789":
        inside[key] = str(rng.choice(["0", "1", "3", "4", "-1", "1/2", "7/2"]))
    else:
        inside[key] = str(rng.choice(["+", "*", "min", "max", "<", "<=", "x", "y", "p", "if", "dear", "never", "end"]))
    return data


def accepted_and_true(edits: int, seed: int) -> int:
    rng, names, found = np.random.default_rng(seed), sorted(TRUE), 0
    for _ in range(edits):
        data = edited(CASES[names[int(rng.integers(len(names)))]], rng)
        verdict = check(data)
        assert "unforeseen" not in verdict.reason, verdict
        if verdict.accepted:
            found += 1
            assert true(data) and witnessed(data), data
    return found


def test_edits_that_are_accepted_are_true() -> None:
    assert accepted_and_true(80, 1) > 5


@pytest.mark.slow
def test_many_edits_that_are_accepted_are_true() -> None:
    assert accepted_and_true(600, 2) > 50
