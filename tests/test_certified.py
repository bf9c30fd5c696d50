"""Every bound has a certificate that the checker accepts, or the answer says in one line why it has none."""

from __future__ import annotations

import itertools
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

import mace
from mace import Feature, Space
from mace.base.deadline import Deadline
from mace.certify import recheck as recheck_module
from mace.certify.recheck import recheck
from mace.certify.writer import Certificate, certificate
from mace.errors import CertificateError, MaceError
from mace.solve.choice import choose
from mace.solve.driver import Bracket
from mace.solve.ensembles.boxes import plain
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.networks import search as networks_search
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Limits, Unknown


def network(space: Space, rows: pd.DataFrame, weights: list[Any], offsets: list[Any]) -> MLPClassifier:
    """A network whose weights are given, one class an output."""
    hidden, classes = len(offsets[0]), len(offsets[-1])
    with warnings.catch_warnings(action="ignore"):
        model = MLPClassifier((hidden,), max_iter=1, solver="lbfgs", random_state=0)
        model.fit(space.encode(rows), np.arange(len(rows)) % classes)
    model.coefs_, model.intercepts_ = [np.array(w) for w in weights], [np.array(b) for b in offsets]
    return model


def whole_steps() -> tuple[MLPClassifier, Space]:
    """A network of few bits over whole numbers, at whose second step the ball of the bound ends."""
    space = Space(
        [Feature("x0", "integer", 1000, 1004, change="decrease"), Feature("x1", "integer", 1000, 1005)],
    )
    rows = pd.DataFrame([(a, b) for a in range(1000, 1005) for b in range(1000, 1006)], columns=["x0", "x1"])
    weights = [
        [[-0.5, 0.25, 0.5, -0.25], [0.25, -0.75, -0.5, -0.0]],
        [[0.25, -0.5, 0.75], [0.25, -0.75, -0.75], [0.0, -0.75, 0.5], [-0.25, 0.5, -0.75]],
    ]
    return network(space, rows, weights, [[-0.75, -0.75, 0.5, -0.75], [0.25, -0.25, -0.0]]), space


def test_the_prover_s_ball_ends_where_the_checker_s_does() -> None:
    # The search rounds the last step inside a ball with a tolerance; the proof was written with the step outside of it,
    # a ReLU that is 0 in all of the checker's ball was taken for active, and the checker refused the multipliers.
    model, space = whole_steps()
    question, _ = mace.Explainer(model, space).question({"x0": 1003, "x1": 1005})
    reply = NetworkOracle(question).ask(None, Limits.of(600.0))  # without the model the tie at 0.2 stays open
    assert reply.lower is not None and reply.lower < Fraction(1, 5) < question.distance_of(reply.point)
    verdict = certificate(question, reply.lower, reply.point, reply.proof).check()
    assert verdict.accepted, verdict.reason
    answer = mace.explain(model, space, {"x0": 1003, "x1": 1005})
    assert answer.status == "optimal"
    assert answer.certificate.check().accepted


@pytest.mark.parametrize("unit", ["1e-310", "1e-200"])
def test_numbers_that_lie_300_digits_apart_are_no_multipliers(unit: str) -> None:
    # A row of the relaxation was scaled by the inverse of a subnormal number, which is infinite: NaN in the proof.
    tiny = float(unit)
    space = Space(
        [Feature("a", "real", 0.0, 3 * tiny, step=unit), Feature("b", "integer", 0, 3), Feature("c", "binary")]
    )
    rows = pd.DataFrame([(k * tiny, b, c) for k in range(4) for b in range(4) for c in (0, 1)], columns=["a", "b", "c"])
    with warnings.catch_warnings(action="ignore"):
        for seed in (0, 1):
            model = MLPClassifier((3,), solver="lbfgs", random_state=seed)
            model.fit(space.encode(rows), ((rows.b + rows.c) > 2).astype(int))
            for rule in ((), ("not (c == 0)",)):
                answer = mace.explain(model, space, rows.iloc[0], rules=rule)
                assert answer.status in ("optimal", "infeasible"), answer.why
                assert answer.certificate.check().accepted


def test_a_refused_proof_of_a_network_bounds_nothing() -> None:
    model, space = whole_steps()
    question, _ = mace.Explainer(model, space).question({"x0": 1003, "x1": 1005})
    reply = NetworkOracle(question).ask(None, Limits.of(600.0))
    bracket = Bracket(Fraction(3, 10), Fraction(3, 10), reply.point, "optimal", proof=reply.proof)  # it proves 0.2
    recheck(bracket, question, Deadline.after(60.0))
    assert (bracket.status, bracket.lower, bracket.proof) == ("bounded", 0, None)
    assert "refused" in bracket.why


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_where_the_checker_refuses_tightened_bounds_the_answer_is_sought_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    space = Space([Feature(f"x{j}", "real", 0.0, 1.0) for j in range(4)])
    X = pd.DataFrame(rng.random((200, 4)), columns=space.names)
    model = MLPClassifier((8, 8), solver="lbfgs", random_state=3).fit(X.to_numpy(), rng.random(200) < 0.5)
    row, goal = X.iloc[1], not model.predict(X.to_numpy())[1]
    monkeypatch.setattr(networks_search, "STALLED", 1)
    said, asked = recheck_module.objection, []

    def objection(made: Certificate, *more: Any) -> str:
        asked.append(any(node[0] == "tighten" for node in made.data["proof"]))
        return "refused (..)" if asked[-1] else said(made, *more)

    usual = mace.explain(model, space, row, goal=goal)
    monkeypatch.setattr(recheck_module, "objection", objection)
    answer = mace.explain(model, space, row, goal=goal)
    assert asked == [True, False]
    assert answer.status == usual.status == "optimal" and answer.distance == pytest.approx(usual.distance, abs=1e-8)
    assert answer.certificate.check().accepted


def test_the_proof_about_a_linear_model_needs_no_reading_before_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    space = Space([Feature("x", "real", 0.0, 1.0), Feature("n", "integer", 0, 9), Feature("b", "binary")])
    X = pd.DataFrame({"x": rng.random(60), "n": rng.integers(0, 10, 60), "b": rng.integers(0, 2, 60)})
    model = LogisticRegression().fit(space.encode(X), X.x + X.n / 9 + rng.normal(size=60) / 3 > 1)
    explainer = mace.Explainer(model, space)
    with monkeypatch.context() as patched:
        patched.setattr(recheck_module, "objection", lambda *_: pytest.fail("the checker was asked"))
        answers = [explainer.explain(X.iloc[i]) for i in range(12)]
    assert {answer.status for answer in answers} == {"optimal"}
    assert all(answer.certificate.check().accepted for answer in answers)


def test_a_search_that_ends_early_keeps_the_proof_of_what_it_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    space = Space([Feature(f"x{j}", "real", 0.0, 1.0) for j in range(6)])
    X = pd.DataFrame(rng.random((300, 6)), columns=space.names)
    model = GradientBoostingClassifier(n_estimators=30, max_depth=3, random_state=0).fit(X, X.sum(axis=1) > 4.2)
    question, _ = mace.Explainer(model, space).question(X.iloc[int(X.sum(axis=1).argmin())])
    oracle, bounded = EnsembleOracle(question), 0
    monkeypatch.setattr(oracle, "_first", lambda *_: None)  # no witness before the search
    monkeypatch.setattr(plain, "FIRST_BUDGET", 50)
    monkeypatch.setattr(plain, "LARGEST_BUDGET", 50)
    for looks in range(0, 80, 4):
        clock = itertools.count()
        reply = oracle.ask(None, Limits(Deadline(1.0, looks, lambda ticks=clock: next(ticks))))
        if isinstance(reply, Unknown) and reply.lower:
            assert reply.proof is not None
            assert certificate(question, reply.lower, None, reply.proof).check().accepted
            bounded += 1
    assert bounded


def test_a_row_that_has_the_goal_already_has_a_certificate_too() -> None:
    model, space = whole_steps()
    answer = mace.explain(model, space, {"x0": 1003, "x1": 1002}, goal=[0, 1, 2])
    assert answer.exact_distance == 0
    assert "at this very distance" in answer.certificate.check().claim


def test_an_answer_says_why_it_has_no_certificate() -> None:
    model, space = whole_steps()
    row = {"x0": 1003, "x1": 1005}
    answer = mace.explain(model, space, row, rules=["low = 1000\nreturn x0 >= low"])
    assert answer.status == "optimal"
    (note,) = [note for note in answer.notes if note.startswith("no certificate: ")]
    assert "several statements" in note
    assert note in str(answer)
    with pytest.raises(CertificateError, match="several statements"):
        _ = answer.certificate


# --- which oracle answers ---------------------------------------------------------------------------------------------


def seventy() -> tuple[Any, Space, pd.DataFrame]:
    rng = np.random.default_rng(0)
    levels = [f"l{k}" for k in range(70)]
    space = Space([Feature("c", "ordinal", levels=levels, encoding="codes"), Feature("a", "integer", 0, 9)])
    rows = pd.DataFrame({"c": rng.choice(levels, 300), "a": rng.integers(0, 10, 300)})
    model = GradientBoostingClassifier(n_estimators=2, random_state=0)
    return model.fit(space.encode(rows), rows["a"] + rng.integers(0, 3, 300) > 5), space, rows


def test_what_a_prover_does_not_take_goes_to_the_solvers_and_the_answer_says_so() -> None:
    model, space, rows = seventy()
    answer = mace.explain(model, space, rows.iloc[0])
    assert (answer.status, answer.oracle) == ("optimal", "smt")
    assert any("70 levels" in note and "solvers" in note for note in answer.notes)
    verdict = mace.verify.verify(model, space, "reachable(True)")
    assert verdict.status == "proved"
    assert any("70 levels" in note for note in verdict.notes)
    with pytest.raises(MaceError, match="70 levels"):
        mace.explain(model, space, rows.iloc[0], oracle="ensembles")


def test_each_oracle_says_itself_what_it_does_not_take() -> None:
    model, space, rows = seventy()
    large, _ = mace.Explainer(model, space).question(rows.iloc[0])
    net, small = whole_steps()
    linear, _ = mace.Explainer(net, small).question({"x0": 1003, "x1": 1005})
    assert EnsembleOracle.accepts(large) is not None and NetworkOracle.accepts(linear) is None
    assert "model is a" in str(EnsembleOracle.accepts(linear))
    assert "model is a" in str(NetworkOracle.accepts(large))
    assert choose(linear).note == ""
    assert choose(large).oracle.name == "smt"
    with pytest.raises(MaceError, match="unknown oracle"):
        choose(linear, "oracle of Delphi")
