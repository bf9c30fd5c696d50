"""Two roads from a prover's proof about trees to a certificate: the prover's own arrays, and the statement alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from mace.base.deadline import NEVER
from mace.certify import elaboration, models, networks, writer
from mace.certify.writer import Certificate, certificate
from mace.explain.explainer import Explainer
from mace.problem.distance import Norm, norm
from mace.problem.proof import Bounds, Dual, Multipliers
from mace.problem.question import Goal, Question
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Found, Limits, Refuted, Reply
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Layer, Network, decision_for
from tests import reference
from tests.marks import slow_unless
from tests.oracles.small_ensembles import random_question


def written(question: Question, reply: Reply) -> Certificate:
    assert reply.proof is not None
    return certificate(question, claim(reply), reply.point if isinstance(reply, Found) else None, reply.proof)


def claim(reply: Reply) -> Fraction | None:
    return None if isinstance(reply, Refuted) else reply.lower


def closing(made: Certificate) -> list[Any]:
    """The proof without what is said of trees."""
    return [node[:1] if node[0] in ("trees", "cell") else node for node in made.data["proof"] if node[0] != "prune"]


@pytest.mark.parametrize("seed", slow_unless(lambda seed: seed < 120, range(100, 160)))
def test_both_roads_lead_to_certificates_of_the_same_claim_that_are_accepted(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = random_question(seed)
    reply = EnsembleOracle(question).ask(None, Limits())
    if reply.proof is None:
        return
    assert elaboration.of_trees(question, claim(reply), reply.proof, NEVER) is not None
    quick = written(question, reply)
    monkeypatch.setattr(writer, "of_trees", lambda *_: None)
    plain = written(question, reply)
    for made in (quick, plain):
        verdict = made.check()
        assert verdict.accepted, verdict.reason
    assert quick.data["statement"] == plain.data["statement"]
    assert quick.data["witness"] == plain.data["witness"]
    assert closing(quick) == closing(plain)
    pairs = zip(quick.data["cuts"], plain.data["cuts"], strict=True)
    assert all(one == other for one, other in pairs if one is not None and other is not None)


@pytest.mark.parametrize("seed", range(200, 210))
def test_both_roads_of_a_network_lead_to_accepted_certificates_and_the_quick_one_says_fewer_bounds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = reference.random_question(seed, "network")
    reply = NetworkOracle(question).ask(None, Limits())
    assert reply.proof is not None
    # As if each leaf were one for which the prover had derived its bounds anew.
    proof = [one for node in reply.proof for one in ([Bounds(), node] if isinstance(node, Dual) else [node])]
    renewed = [one for place, one in enumerate(proof) if not (isinstance(one, Bounds) and proof[place - 1] == one)]
    reply = replace(reply, proof=renewed)
    quick = written(question, reply)
    monkeypatch.setattr(networks, "of_network", lambda *_: None)
    plain = written(question, replace(reply, proof=[*renewed]))
    for made in (quick, plain):
        verdict = made.check()
        assert verdict.accepted, verdict.reason
    assert ends(quick) <= ends(plain)


def ends(made: Certificate) -> int:
    """How many ends of hidden units a certificate says."""
    said = [entry for node in made.data["proof"] if node[0] == "bounds" for entry in node[1:]]
    return sum((below is not None) + (above is not None) for _, _, below, above in said)


@pytest.mark.parametrize("seed", range(20))
def test_tests_are_numbered_as_a_checker_numbers_them(seed: int) -> None:
    from mace.proofs.kernel.ensembles import Ensemble

    table = random_question(seed).model
    numbers, known = models.numbering(table), Ensemble(models.model_part(table))
    at = np.concatenate([[0], np.cumsum([tree.nodes for tree in table.trees])])
    assert len(numbers.first) == len(known.tests)
    for t, tree in enumerate(known.trees):
        mine = numbers.test[at[t] : at[t + 1]][np.argsort(numbers.place[at[t] : at[t + 1]])]
        assert mine.tolist() == tree.test


def test_a_model_is_written_once_for_all_its_certificates_and_who_changes_a_copy_changes_none_of_them() -> None:
    question = random_question(3)
    reply = EnsembleOracle(question).ask(None, Limits())
    made = written(question, reply)
    assert made.data["statement"]["model"] is models.model_part(question.model)
    made.to_dict()["statement"]["model"]["trees"].clear()
    assert written(question, reply).data["statement"]["model"]["trees"]


def test_a_proof_about_a_network_is_elaborated_once_for_the_check_before_the_answer_and_for_its_certificate(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls, of_network = [], networks.of_network

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return of_network(*arguments)

    monkeypatch.setattr(networks, "of_network", counted)
    space = Space([Feature("a", "integer", 0, 9), Feature("b", "integer", 0, 9)])
    matrix = np.array([[a, b] for a in range(10) for b in range(10)])
    model = MLPClassifier((3,), max_iter=3000, random_state=0).fit(matrix, matrix.sum(axis=1) > 9)
    explainer = Explainer(model, space)
    for row, count in (({"a": 1, "b": 1}, 1), ({"a": 2, "b": 1}, 2)):
        answer = explainer.explain(row, goal=True)
        verdicts = [answer.certificate.check() for _ in range(2)]
        assert all(verdict.accepted for verdict in verdicts)
        assert len(calls) == count


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_ends_are_left_out_only_where_a_leaf_closes_with_bounds_at_zero_too() -> None:
    """Of weights that are whole numbers many an end is 0, and rounding says on which side of it."""
    model = MLPClassifier(hidden_layer_sizes=(1, 9), max_iter=1).fit(np.eye(5), [0, 1, 0, 1, 0])
    second = [[w] for w in (-2, 3, -3, 2, -1, -3, -3, 2, 2)]
    weights = [[[0], [-1], [0], [-3], [1]], [[3, 0, 1, 3, -2, -1, -2, 3, 2]], second]
    model.coefs_ = [np.array(layer, float) for layer in weights]
    model.intercepts_ = [np.array(layer, float) for layer in ([1], [-4, 1, 1, 2, -4, 2, 1, 0, 2], [2])]
    features = [
        Feature("a", "categorical", levels=["p", "q"]), Feature("b", "integer", -3, 3, change="decrease"),
        Feature("c", "integer", -4, 3), Feature("d", "integer", 2, 10),
    ]  # fmt: skip
    third = Fraction(1, 3)
    explainer = Explainer(model, Space(features), distance={"l0": third, "l1": third, "linf": third})
    answer = explainer.explain({"a": "q", "b": 1, "c": -3, "d": 8}, goal=0)
    assert answer.status == "infeasible"
    assert answer.certificate.check().accepted


@pytest.mark.parametrize("renewed", [False, True])
def test_ends_are_written_of_units_whose_coefficients_are_next_to_nothing(renewed: bool) -> None:
    """What two comparisons make of the unit cancels, and of what a third one does floats keep nothing: a checker that
    was told no bound of the unit refused the proof.
    """
    space = Space([Feature("a", "integer", 0, 4)])
    last = Layer(
        np.array([[-125000.0, -625000.0, -375000.0, -500000.0]]), np.array([1.75, 0.625, 0.375, 0.5]), "identity"
    )
    model = Network((Layer(np.array([[0.5]]), np.array([-0.5]), "relu"), last), 1, "argmax", (0, 1, 2, 3))
    goal = Goal("2", frozenset({2}), decision_for(model, {2}))
    question = Question(space, space.axes({"a": 2}), model, goal, norm("l1", 1))
    price = Fraction(67, 2**34)
    dual = Dual((Multipliers((price, price, Fraction(143, 2**93)), {(0, 0): Fraction(85, 256)}, {}, {}),))
    verdict = certificate(question, None, None, [Bounds(), dual] if renewed else [dual]).check()
    assert verdict.accepted, verdict.reason


@pytest.mark.parametrize("seed", [1277, 2614, 3506, 3885, 9671, 9695])
def test_ends_are_left_out_by_what_is_read_where_floats_do_not_see_what_is_lost(seed: int) -> None:
    """A distance is that of one dear change and of cheap ones, which are less than the last digit of a double: ends
    that the bound of the cheap ones rests on were left out, and the checker refused the proof.
    """
    question = reference.random_question(seed, "network", extras=False)
    distance = question.distance
    assert isinstance(distance, Norm)
    weights = tuple(w * Fraction(10) ** (9 if (seed + j) % 2 else -9) for j, w in enumerate(distance.weights))
    question = replace(question, distance=replace(distance, weights=weights))
    verdict = written(question, NetworkOracle(question).ask(None, Limits())).check()
    assert verdict.accepted, verdict.reason
