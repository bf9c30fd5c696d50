"""False claims by a hair about values that may be missing or given; each stands beside a twin that is true.

By enumeration the first of each pair is false and the second is true; the checker refuses the one, accepts the other.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from mace.proofs.check import check
from tests.proofs import enumeration
from tests.proofs.by_hand import at_least, certificate, dual, forest, grid, network, number

TOP = number(1e300)


def lacking(start: int, cost: str = "3", *, allowed: bool = True, at: str = TOP, upper: int = 10) -> dict[str, Any]:
    """One feature from 0 to `upper`, of steps of 1, that may be missing (index upper + 1), and its column."""
    feature = grid(0, upper, start, missing={"cost": cost, "allowed": allowed})
    return {"features": [feature], "columns": [[0, None, [], at]]}


def ranks(start: int, cost: str, *, allowed: int = 15) -> dict[str, Any]:
    """Three ranks 0, 1, 2 and "missing", 9 to the model."""
    feature = {
        "name": "r", "weight": "1", "kind": "levels", "count": 4, "allowed": allowed, "start": start, "ordered": True,
        "missing": {"cost": cost},
    }  # fmt: skip
    return {"features": [feature], "columns": [[0, [number(x) for x in (0, 1, 2, 9)], []]]}


ABOVE_3, ABOVE_10, UP_TO_5 = (forest(v, at=[t]) for v, t in (([[0.0], [1.0]], 3.0), ([[0.0], [1.0]], 10.0),
                                                               ([[1.0], [0.0]], 5.0)))  # fmt: skip
GOAL = at_least(1.0)
NEAR_5, NEAR_11 = ({"avoid": [{"near": [0], "radius": radius}]} for radius in ("5", "11"))
CUT_3 = [["split", 0, 3], ["trees"]]
BELOW_4 = [["<", ["x", 0], ["c", "4"]]]
PAIRS: dict[str, tuple[Any, Any]] = {
    "what is missing at another price": (
        certificate(ABOVE_10, GOAL, "4", [["split", 0, 10], ["trees"], ["distance"]], **lacking(0)),
        certificate(ABOVE_10, GOAL, "3", [["split", 0, 10], ["trees"], ["distance"]], **lacking(0)),
    ),
    "a leaf whose nearest value is farther than none": (
        certificate(ABOVE_3, GOAL, "4", [["trees"]], **lacking(0)),
        certificate(ABOVE_3, GOAL, "3", [["trees"]], **lacking(0)),
    ),
    "a box whose nearest value is farther than none": (
        certificate(ABOVE_3, GOAL, "4", [*CUT_3, ["distance"]], **lacking(0)),
        certificate(ABOVE_3, GOAL, "3", [*CUT_3, ["distance"]], **lacking(0)),
    ),
    "a box that excludes what is missing": (
        certificate(ABOVE_10, GOAL, None, [["trees"]], **lacking(0)),
        certificate(ABOVE_10, GOAL, None, [["trees"]], **lacking(0, allowed=False)),
    ),
    "a value that is filled in, counted from the top": (
        certificate(UP_TO_5, GOAL, "6", [["split", 0, 5], ["distance"], ["trees"]], **lacking(11)),
        certificate(UP_TO_5, GOAL, "3", [["split", 0, 5], ["distance"], ["trees"]], **lacking(11)),
    ),
    "a value that must be filled in": (
        certificate(UP_TO_5, GOAL, "4", [["distance"]], **lacking(11, allowed=False)),
        certificate(UP_TO_5, GOAL, "3", [["distance"]], **lacking(11, allowed=False)),
    ),
    "what is missing among the numbers": (
        certificate(UP_TO_5, GOAL, "5", [["split", 0, 5], ["distance"], ["trees"]], **lacking(10, at=number(2.0))),
        certificate(UP_TO_5, GOAL, "5", [["split", 0, 5], ["distance"], ["trees"]], **lacking(10)),
    ),
    "a region that holds the first value and none, but not the last": (
        certificate(ABOVE_3, GOAL, None, [*CUT_3, ["avoid", 0]], **lacking(0), **NEAR_5),
        certificate(ABOVE_3, GOAL, None, [*CUT_3, ["avoid", 0]], **lacking(0), **NEAR_11),
    ),
    "a region that does not hold what is missing": (
        certificate(ABOVE_3, GOAL, None, [*CUT_3, ["avoid", 0]], **lacking(0, "11"), **NEAR_11),
        certificate(ABOVE_3, GOAL, None, [*CUT_3, ["avoid", 0]], **lacking(0, "10"), **NEAR_11),
    ),
    "one change that is none": (
        certificate(ABOVE_10, GOAL, None, [["split", 0, 10], ["trees"], ["changes"]], **lacking(11), most_changes=0),
        certificate(ABOVE_10, GOAL, None, [["split", 0, 10], ["trees"], ["changes"]], **lacking(0), most_changes=0),
    ),
    "a rank that is lost at another price": (
        certificate(forest([[0.0], [1.0]], at=[5.0]), GOAL, "1/3", [["trees"]], **ranks(0, "1/4")),
        certificate(forest([[0.0], [1.0]], at=[5.0]), GOAL, "1/4", [["trees"]], **ranks(0, "1/4")),
    ),
    "a rank that is given at another price": (
        certificate(forest([[1.0], [0.0]], at=[5.0]), GOAL, "1/3", [["trees"]], **ranks(3, "1/4")),
        certificate(forest([[1.0], [0.0]], at=[5.0]), GOAL, "1/4", [["trees"]], **ranks(3, "1/4")),
    ),
    "ranks that are scaled by those that are there": (
        certificate(forest([[0.0], [1.0]], at=[0.5]), GOAL, "2/3", [["trees"]], **ranks(0, "1", allowed=7)),
        certificate(forest([[0.0], [1.0]], at=[0.5]), GOAL, "1/2", [["trees"]], **ranks(0, "1", allowed=7)),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_claim_that_is_false_by_a_hair_is_refused_and_its_true_twin_accepted(name: str) -> None:
    false, true = PAIRS[name]
    assert not enumeration.true(false) and not check(false).accepted
    assert enumeration.true(true) and check(true).accepted, check(true).reason


@pytest.mark.parametrize("alpha", ["0", "1"])
def test_what_costs_nothing_is_no_change_in_l0_either(alpha: str) -> None:
    norm = {"alpha": alpha, "beta": "1", "gamma": "0"}
    made = certificate(ABOVE_10, GOAL, "1/1000", [["trees"]], **lacking(0, "0"), distance=norm)
    assert not enumeration.true(made) and not check(made).accepted


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (certificate(ABOVE_3, GOAL, "3", [["trees"]], **lacking(0), rules=BELOW_4), "may be missing"),
        (certificate(network([[[1.0]]], [[0.0]]), GOAL, "3", [dual("1")], **lacking(0)), "a network takes no number"),
        (certificate(ABOVE_3, GOAL, "3", [["trees"]], **{**lacking(0), "columns": [[0, None, []]]}), "4 entries"),
        (certificate(ABOVE_3, GOAL, "3", [["trees"]], columns=[[0, None, [], TOP]]), "expected 3 entries"),
        (certificate(ABOVE_3, GOAL, "3", [["trees"]], **lacking(0, "-1")), "cost: expected a number of at least 0"),
    ],
)  # fmt: skip
def test_a_statement_without_a_meaning_is_refused_by_name(made: Any, words: str) -> None:
    assert words in check(made).reason


def test_a_rule_may_read_a_value_that_must_be_given() -> None:
    proof = [*CUT_3, ["rule", 0]]
    assert check(certificate(ABOVE_3, GOAL, None, proof, **lacking(11, allowed=False), rules=BELOW_4)).accepted


def test_a_falling_column_has_what_is_missing_below() -> None:
    fall = [["mul", number(-1.0)]]
    columns = {"columns": [[0, None, fall, number(-1e300)]]}
    model = forest([[1.0], [0.0]], at=[-11.0])  # only what is missing
    proof = [["split", 0, 10], ["trees"], ["distance"]]
    for claim, accepted in (("3", True), ("4", False)):
        made = certificate(model, GOAL, claim, proof, **{**lacking(0), **columns})
        assert enumeration.true(made) is accepted is check(made).accepted
    wrong = certificate(model, GOAL, "3", proof, **{**lacking(0), "columns": [[0, None, fall, TOP]]})
    assert "beyond the largest value" in check(wrong).reason


def test_a_witness_may_lack_a_value_and_is_measured_so() -> None:
    for distance, accepted in (("3", True), ("4", False)):
        witness = {"point": [11], "distance": distance}
        made = certificate(ABOVE_10, GOAL, "3", [["trees"]], witness, **lacking(0))
        assert check(made).accepted is accepted is enumeration.true(made)


def random_statement(rng: np.random.Generator) -> dict[str, Any]:
    """One or two features, each perhaps missing, before two small trees; added to `certificate`."""
    features, columns = [], []
    for j in range(int(rng.integers(1, 3))):
        cost = str(rng.choice(["0", "1/2", "1", "2", "9"]))
        if rng.random() < 0.7:
            upper = int(rng.integers(0, 4))
            made = lacking(int(rng.integers(0, upper + 2)), cost, allowed=bool(rng.random() < 0.8), upper=upper)
        else:
            made = ranks(int(rng.integers(4)), cost, allowed=int(rng.integers(1, 16)))
        weight = str(rng.choice(["1", "1", "0", "2/3"]))
        features.append({**made["features"][0], "weight": weight})
        columns.append([j, *made["columns"][0][1:]])
    mix = dict(zip(("alpha", "beta", "gamma"), map(str, rng.choice(["0", "1", "1/3"], 3)), strict=True))
    near = {"near": [f["start"] for f in features], "radius": str(rng.integers(1, 4))}
    more = {"avoid": [near] if rng.random() < 0.3 else [], "most_changes": [None, None, 0, 1][int(rng.integers(4))]}
    return {"features": features, "columns": columns, "distance": mix, **more}


def random_proof(rng: np.random.Generator, statement: Any, box: list[list[int]], depth: int) -> list[Any]:
    """Splits at random places down to a depth, and leaves that may or may not close."""
    wide = [j for j, side in enumerate(box) if len(side) > 1]
    if not depth or not wide:
        rule = str(rng.choice(["trees", "trees", "distance", "changes", *(["avoid"] if statement["avoid"] else [])]))
        return [[rule, 0] if rule == "avoid" else [rule]]
    j = int(rng.choice(wide))
    place = int(rng.integers(1, len(box[j])))
    first, second = box[j][:place], box[j][place:]
    at = first[-1] if statement["features"][j]["kind"] == "grid" else sum(1 << level for level in first)
    halves = ([*box[:j], side, *box[j + 1 :]] for side in (first, second))
    return [["split", j, at], *(node for half in halves for node in random_proof(rng, statement, half, depth - 1))]


@pytest.mark.slow
def test_no_proof_of_chance_makes_a_false_claim_about_missing_values_pass() -> None:
    counts = Counter[tuple[bool, bool]]()
    for number_ in range(1500):
        rng = np.random.default_rng(number_)
        more = random_statement(rng)
        leaves = ([[float(v)] for v in rng.integers(0, 2, 2)] for _ in range(2))
        model = forest(*leaves, at=rng.choice([0.5, 1.5, 3, 20], 2).tolist())
        for tree in model["trees"]:
            tree["column"][0] = int(rng.integers(len(more["columns"])))
        claim = [None, "1/2", "1", "2", "3", "19/2"][int(rng.integers(6))]
        goal = at_least(float(rng.integers(1, 3)))
        made = certificate(model, goal, claim, [], **more)
        points = enumeration.points(made["statement"])
        sides = [sorted(set(side)) for side in zip(*points, strict=True)]
        made["proof"] = random_proof(rng, made["statement"], sides, int(rng.integers(0, 4)))
        counts[check(made).accepted, enumeration.true(made)] += 1
    assert not counts[True, False]
    assert counts[True, True] > 200 and counts[False, False] > 200, counts
