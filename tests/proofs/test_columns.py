"""What is in columns, prices and whole proofs, is read as the entries and nodes that it stands for."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from mace.certify import columns as writing
from mace.certify.columns import in_columns
from mace.certify.writer import certificate as written
from mace.proofs.columns import begins, entries, unfolded
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.protocol import Found, Limits
from tests.oracles.small_ensembles import random_question
from tests.proofs.test_check import certificates, with_columns

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


def test_a_proof_in_columns_is_the_same_nodes() -> None:
    rng, begin = random.Random(0), begins(certificate())
    for _ in range(300):
        nodes = [random_node(rng) for _ in range(rng.randrange(12))]
        data = {**certificate(), "proof": in_columns(nodes, begin)}
        data["statement"]["model"]["kind"] = "ensemble"
        assert unfolded(data)["proof"] == nodes


def random_node(rng: random.Random) -> list[Any]:
    """A split, leaves in any order and of any trees, also of none, or something else."""
    rule = rng.choice(["split", "prune", "trees", "trees", "near", "cell"])
    if rule == "split":
        return [rule, rng.randrange(2), rng.randrange(3)]
    trees = [rng.randrange(len(SIZES)) for _ in range(rng.randrange(4))]
    return [rule, *([t, *(rng.randrange(SIZES[t]) for _ in range(rng.randrange(3)))] for t in trees)]


def test_every_certificate_in_columns_says_what_it_said() -> None:
    trees = [data for data in certificates() if data["statement"]["model"]["kind"] == "ensemble"]
    assert len(trees) > 50
    for data in trees:
        assert unfolded(with_columns(data)) == unfolded(data)


def test_a_long_proof_is_written_in_columns_and_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(100, 140):
        question = random_question(seed)
        reply = EnsembleOracle(question).ask(None, Limits())
        if not isinstance(reply, Found) or reply.proof is None:
            continue
        plain = written(question, reply.lower, reply.point, reply.proof)
        with monkeypatch.context() as patched:
            patched.setattr(writing, "LONG", 2)
            made = written(question, reply.lower, reply.point, reply.proof)
        assert isinstance(made.data["proof"], dict) == (len(plain.data["proof"]) >= 2)
        assert made.check() == plain.check() and made.check().accepted
