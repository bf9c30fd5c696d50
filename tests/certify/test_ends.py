"""What of a proof about a network is left out of its certificate, since nothing rests on it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mace.certify.ends import Items, Reads, Sources
from mace.certify.networks import Elaboration
from mace.certify.writer import certificate
from mace.problem.proof import Leaf, Phase, Proof, Tighten
from mace.solve.networks import search as networks_search
from mace.solve.networks.model import Units
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Found, Gap, Limits
from mace.tables.table import Network
from tests.checkers import accepted_by_all
from tests.oracles.test_networks import drawn

SHAPE = (2, 1, 4)


def reads(*ends: int, phases: tuple[int, ...] = ()) -> Reads:
    """Lower ends of the only layer, and phases."""
    found = Reads(np.zeros(SHAPE, np.bool_), np.zeros(SHAPE[1:], np.bool_))
    found.ends[0, 0, list(ends)] = True
    found.phases[0, list(phases)] = True
    return found


def test_what_leaves_read_is_needed_and_what_that_reads() -> None:
    items, root = Items(SHAPE), Sources.of_root(SHAPE)
    first = items.add(reads(0), root)
    sources = root.copy()
    sources.ends[0, 0, 1] = first
    second = items.add(reads(1, 2), sources)
    idle = items.add(reads(3), sources)
    later = sources.copy()
    later.ends[0, 0, 2], later.phases[0, 3] = second, idle
    items.want(reads(2), later)
    assert items.needed().tolist() == [True, True, False]
    assert np.argwhere(items.used).tolist() == [[0, 0, 0], [0, 0, 2]]  # of the root; 2 is read there by the second
    items.want(reads(phases=(3,)), later)
    assert items.needed().all() and items.used[0, 0, 3]
    assert root.ends.max() == sources.ends[0, 0, 2] == -1  # copies are their own


@pytest.mark.parametrize("spec", ["l1", "linf"])
def test_a_certificate_holds_no_end_and_no_phase_that_no_leaf_rests_on(
    monkeypatch: pytest.MonkeyPatch, spec: str
) -> None:
    monkeypatch.setattr(networks_search, "STALLED", 1)
    made, proved, written, phases = [], 0, 0, [0, 0]
    for seed in (2, 5, 7):
        question = drawn((10, 10), seed, spec)
        reply = NetworkOracle(question).ask(None, Limits.of(600.0))
        assert isinstance(reply, Found) and reply.proof is not None
        made.append(certificate(question, reply.lower, reply.point, reply.proof))
        nodes = made[-1].data["proof"]
        proved += sum(len(node.ends) for node in reply.proof if isinstance(node, Tighten))
        written += sum(len(node) - 1 for node in nodes if node[0] == "tighten")
        phases[0] += sum(isinstance(node, Phase) for node in reply.proof)
        phases[1] += sum(node[0] == "phase" for node in nodes)
    assert accepted_by_all(made)
    assert 0 < written < 0.9 * proved and phases[1] < phases[0]


@pytest.mark.parametrize("settled", [0, 1, -1])
def test_of_what_an_end_rules_out_nothing_is_written_but_that_it_is_empty(settled: int) -> None:
    # A proof is written for a smaller ball than was searched: there an end may settle a unit that was split on below.
    made, unit = Elaboration(drawn((10, 10), 5, "linf"), Fraction(1)), (1, 3)
    low, high, phase = made.root.units = Units(*(np.full((2, 10), end) for end in (-1.0, 1.0, 0)))
    phase[unit] = settled
    if settled:
        (low if settled > 0 else high)[unit] = 0.5 * settled
    other: Proof = [Leaf("avoid", 0)]
    ruled_out: Proof = [Phase(0, 2), Leaf("avoid", 1), Leaf("avoid", 2)]
    nothing: Proof = [Leaf("empty")] if settled else ruled_out
    proof = [Phase(*unit), *(other + ruled_out if settled < 0 else ruled_out + other)]
    assert made.walk(proof, lambda: None)
    nodes = [node for node in made.nodes if not isinstance(node, list)]
    assert nodes == [Phase(*unit), *(other + nothing if settled < 0 else nothing + other)]
    kept = [node for node in made.rested(0)[0] if not isinstance(node, list)]
    assert kept == (other if settled else nodes)  # nobody reads the phase


def test_an_end_that_a_leaf_derives_no_better_than_above_comes_from_above(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks_search, "STALLED", 2)
    question = drawn((8, 8), 106572, "l0", "1/4")
    reply = NetworkOracle(question).ask(None, Limits(), gap=Gap(Fraction(1, 10**9)))
    assert isinstance(reply, Found) and any(isinstance(node, Tighten) for node in reply.proof or [])
    assert accepted_by_all([certificate(question, reply.lower, reply.point, reply.proof)])


@pytest.mark.parametrize("seed", [1, 3])
def test_of_hidden_units_as_small_as_a_billionth_ends_that_move_are_written(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    # What moved by less than 1e-9 was left out, whatever the size of its unit: half of such proofs were refused.
    monkeypatch.setattr(networks_search, "STALLED", 1)
    question = drawn((8, 8), seed, "linf", "0.5")
    assert isinstance(question.model, Network)
    first, second, last = question.model.layers
    layers = (
        replace(first, weights=first.weights * 1e-9, bias=first.bias * 1e-9),
        replace(second, bias=second.bias * 1e-9),
        replace(last, weights=last.weights * 1e9),
    )
    question = replace(question, model=replace(question.model, layers=layers))
    reply = NetworkOracle(question).ask(None, Limits())
    assert isinstance(reply, Found) and reply.proof is not None and len(reply.proof) > 100
    assert accepted_by_all([certificate(question, reply.lower, reply.point, reply.proof)])
