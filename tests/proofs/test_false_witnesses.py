"""Witnesses that are none by a hair: the refusal says which condition they break, and the true twin is accepted."""

from __future__ import annotations

from typing import Any

import pytest

from mace.proofs.check import check
from tests.proofs.by_hand import AT_LEAST_0, at_least, certificate, forest, grid, network, number

AT_3 = forest([[0.0], [1.0]], at=[3.0])
PROOF = [["split", 0, 3], ["trees"], ["distance"]]
LEVELS = {"name": "l", "weight": "1", "kind": "levels", "count": 3, "allowed": 5, "start": 0, "ordered": False}


def at(*point: int, far: str = "4") -> dict[str, Any]:
    return {"point": list(point), "distance": far}


def made(witness: Any, closer: str | None = "4", **more: Any) -> Any:
    """x >= 4 has the goal; nothing is closer than 4."""
    return certificate(AT_3, at_least(1.0), closer, PROOF, witness, **more)


TWO = {"features": [grid(0, 10, 0), LEVELS]}
TENTHS = network([[[0.1]]], [[-0.3]])  # at 3 by 2.8e-17 above 0, which other orders of rounding need not see
SQUASHED = forest([[0.0], [2.0**-50]], at=[3.0], rule="sigmoid")

# Name -> (what the refusal says, a false certificate, its true twin)
CASES: dict[str, tuple[str, Any, Any]] = {
    "another distance": ("wrong distance", made(at(4, far="4000000001/1000000000")), made(at(4))),
    "a smaller distance": ("wrong distance", made(at(5)), made(at(5, far="5"))),
    "nearer than the claim": ("it is nearer than the claim", made(at(4), "4000000001/1000000000"), made(at(4))),
    "a point for a claim that there is none": (
        "the claim is that there is none",
        certificate(AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["changes"]], at(4), most_changes=1),
        certificate(AT_3, at_least(1.0), None, [["split", 0, 3], ["trees"], ["changes"]], most_changes=0),
    ),
    "without the goal": ("the model may not say so there", made(at(3, far="3"), "3"), made(at(4), "3")),
    "above the axis": ("the value of 'x' is not allowed", made(at(11, far="11")), made(at(10, far="10"))),
    "below the axis": (
        "the value of 'x' is not allowed",
        certificate(forest([[1.0], [0.0]]), at_least(1.0), "0", [["distance"]], at(-1, far="1")),
        certificate(forest([[1.0], [0.0]]), at_least(1.0), "0", [["distance"]], at(0, far="0")),
    ),
    "a level that is not allowed": (
        "the value of 'l' is not allowed",
        made(at(4, 1, far="5"), **TWO),
        made(at(4, 2, far="5"), **TWO),
    ),
    "against a rule": (
        "it breaks rule 1",
        made(at(5, far="5"), rules=[["true"], ["<", ["x", 0], ["c", "5"]]]),
        made(at(5, far="5"), rules=[["true"], ["<=", ["x", 0], ["c", "5"]]]),
    ),
    "an excluded point": (
        "it lies in excluded region 1",
        made(at(5, far="5"), avoid=[{"point": [4]}, {"point": [5]}]),
        made(at(5, far="5"), avoid=[{"point": [4]}, {"point": [6]}]),
    ),
    "in an excluded ball": (
        "it lies in excluded region 0",
        made(at(5, far="5"), avoid=[{"near": [7], "radius": "2000000001/1000000000"}]),
        made(at(5, far="5"), avoid=[{"near": [7], "radius": "2"}]),
    ),
    "in an excluded box": (
        "it lies in excluded region 0",
        made(at(5, far="5"), avoid=[{"box": [[5, 7]]}]),
        made(at(5, far="5"), avoid=[{"box": [[6, 7]]}]),
    ),
    "an excluded set of changes": (
        "it lies in excluded region 0",
        made(at(4, 2, far="5"), avoid=[{"changes": [0, 1]}], **TWO),
        made(at(4, 0), avoid=[{"changes": [0, 1]}], **TWO),
    ),
    "one change too many": (
        "it changes 2 features",
        made(at(4, 2, far="5"), most_changes=1, **TWO),
        made(at(4, 0), most_changes=1, **TWO),
    ),
    "a tie that does not count": (
        "the model may not say so there",
        certificate(AT_3, at_least(1.0, strict=True), "0", [["distance"]], at(4)),
        made(at(4)),
    ),
    "an average that rounds": (
        "the model may not say so there",
        certificate(forest([[5.0]], divide=3), at_least(5.0 / 3, strict=True), "0", [["distance"]], at(4)),
        certificate(forest([[5.0]], divide=3), at_least(5.0 / 3), "0", [["distance"]], at(4)),
    ),
    "a network's last bit": (
        "the model may not say so there",
        certificate(TENTHS, AT_LEAST_0, "0", [["distance"]], at(3, far="3")),
        certificate(TENTHS, AT_LEAST_0, "0", [["distance"]], at(4)),
    ),
    "a network's tie": (
        "the model may not say so there",
        certificate(network([[[1.0]]], [[-4.0]]), AT_LEAST_0, "0", [["distance"]], at(4)),
        certificate(network([[[1.0]]], [[-4.0]]), AT_LEAST_0, "0", [["distance"]], at(5, far="5")),
    ),
    "a squashed last bit": (
        "the model may not say so there",
        certificate(SQUASHED, AT_LEAST_0, "0", [["distance"]], at(4)),
        certificate({**SQUASHED, "rule": "positive"}, at_least(2.0**-50), "4", PROOF, at(4)),
    ),
    "averaged on the way": (
        "the model may not say so there",
        certificate({**AT_3, "error": number(0.5)}, at_least(0.5), "0", [["distance"]], at(4)),
        certificate({**AT_3, "error": number(0.25)}, at_least(0.5), "0", [["distance"]], at(4)),
    ),
    "one part of the goal in half": (
        "the model may not say so there",
        certificate(AT_3, [[*at_least(1.0)[0], *at_least(2.0)[0]]], "0", [["distance"]], at(4)),
        certificate(AT_3, [*at_least(2.0), *at_least(1.0)], "0", [["distance"]], at(4)),
    ),
    "one part of a network's goal in half": (
        "the model may not say so there",
        certificate(network([[[1.0]]], [[0.0]]), [[*at_least(1.0)[0], *at_least(9.0)[0]]], "0", [["distance"]], at(4)),
        certificate(network([[[1.0]]], [[0.0]]), [*at_least(9.0), *at_least(1.0)], "0", [["distance"]], at(4)),
    ),
    "a ReLU that lets less than nothing through": (
        "the model may not say so there",
        certificate(network([[[-1.0]], [[-1.0]]], [[0.0], [-1.0]]), AT_LEAST_0, "0", [["distance"]], at(4)),
        certificate(network([[[-1.0]], [[-1.0]]], [[0.0], [1.0]]), AT_LEAST_0, "0", [["distance"]], at(4)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_witness_that_is_none_is_refused_for_what_it_breaks(name: str) -> None:
    words, false, _ = CASES[name]
    verdict = check(false)
    assert not verdict.accepted
    assert verdict.reason == f"witness: {words}"


@pytest.mark.parametrize("name", CASES)
def test_its_true_twin_is_accepted(name: str) -> None:
    verdict = check(CASES[name][2])
    assert verdict.accepted, verdict.reason


def test_the_claim_says_how_near_the_witness_is() -> None:
    assert check(made(at(4))).claim.endswith("is closer than 4, and one is at this very distance")
    assert check(made(at(5, far="5"))).claim.endswith("is closer than 4, and one is at 5")
