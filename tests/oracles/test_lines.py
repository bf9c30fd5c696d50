"""Linear rules as rows of linear programs: with networks and linear models, against enumeration and both checkers."""

from __future__ import annotations

import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier

import mace
from mace.certify.rules import comparison, expression_of
from mace.certify.writer import Certificate, certificate
from mace.problem.lines import lines_of
from mace.problem.programs import rule_of
from mace.problem.proof import Dual, Priced
from mace.problem.question import Question
from mace.proofs.check import check
from mace.proofs.kernel.world import Rule as Written
from mace.solve.ensembles import prover
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.networks import search as networks_search
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Found, Gap, Limits, Refuted, Unknown
from mace.space.axes import GridAxis
from mace.space.feature import Feature
from mace.space.space import Space
from tests.checkers import accepted_by_all
from tests.marks import exhaustive_from
from tests.oracles.small_ensembles import random_question as trees_question
from tests.oracles.test_ensembles import as_enumerated
from tests.oracles.test_networks import CLOSE, agree, drawn
from tests.reference import random_question, random_rule


def random_line(space: Space, rng: np.random.Generator) -> str:
    """A linear comparison of a few features."""
    numbers = [f for f in space.features if f.numeric]
    if not numbers:
        return random_rule(space, rng)
    chosen = rng.permutation(np.arange(len(numbers)))[: int(rng.integers(1, 4))]
    factors = [int(rng.choice([-2, -1, 1, 1, 2, 3])) for _ in chosen]
    middle = Fraction(0)
    for k, factor in zip(chosen, factors, strict=True):
        low, high = map(Fraction, numbers[int(k)].bounds())
        middle += factor * (low + (high - low) * int(rng.integers(0, 5)) / 4)
    text = " + ".join(
        f"{numbers[int(k)].name}" if factor == 1 else f"({factor}) * {numbers[int(k)].name}"
        for k, factor in zip(chosen, factors, strict=True)
    )
    return f"{text} {rng.choice(['<=', '<', '>=', '>', '<=', '>=', '=='])} {middle}"


def ruled(seed: int, kind: str | None = None) -> Question:
    """A random question about a network or a linear model with one to four rules, most of them linear."""
    question, rng = random_question(seed, kind or ("linear", "network")[seed % 2]), np.random.default_rng(seed)
    texts = []
    for _ in range(int(rng.integers(1, 4))):
        text = random_line(question.space, rng)
        texts.append(f"({text}) and ({random_line(question.space, rng)})" if rng.random() < 0.2 else text)
    if rng.random() < 0.3:
        texts.append(random_rule(question.space, rng))
    return replace(question, rules=tuple(rule_of(text, question.space) for text in dict.fromkeys(texts)))


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_the_answer_with_linear_rules_is_that_of_enumeration(first: int) -> None:
    for seed in range(first, first + 20):
        agree(ruled(seed))


def test_with_linear_rules_bounds_of_units_are_tightened_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks_search, "STALLED", 1)
    for seed in range(1, 60, 2):
        agree(ruled(seed))


def proofs_of(seeds: range) -> list[Certificate]:
    """Certificates of the answers, each of which multiplies what a rule compares."""
    found = []
    for seed in seeds:
        question = ruled(seed)
        reply = NetworkOracle(question).ask(None, Limits.of(600.0))
        if isinstance(reply, Unknown) or reply.proof is None:
            continue
        lower = None if isinstance(reply, Refuted) else reply.lower
        point = None if isinstance(reply, Refuted) else reply.point
        if any(isinstance(node, Dual) and any(part.rules for part in node.parts) for node in reply.proof):
            found.append(certificate(question, lower, point, reply.proof))
    return found


def test_both_checkers_accept_what_rules_compare() -> None:
    found = proofs_of(range(40))
    assert len(found) > 5
    assert all(check(one.data).accepted for one in found)
    accepted_by_all(found)


def test_a_multiplier_of_a_comparison_that_need_not_hold_is_refused() -> None:
    refused = 0
    for one in proofs_of(range(60)):
        data = copy.deepcopy(one.data)
        # The rule may as well hold for another reason, which closes no box.
        data["statement"]["rules"] = [
            ["or", rule, ["<=", ["c", "0"], ["abs", ["x", 0]]]] for rule in data["statement"]["rules"]
        ]
        data["witness"] = None
        verdict = check(data)
        assert not verdict.accepted
        refused += "open" in verdict.reason
    assert refused > 5


@pytest.mark.parametrize("spec", ["l0", "l1", "linf"])
@pytest.mark.parametrize("layers", [(), (6,), (6, 5)])
def test_on_floats_the_gap_closes_where_the_nearest_points_barely_obey(layers: tuple[int, ...], spec: str) -> None:
    barely = 0
    for seed in range(4):
        plain = drawn(layers, seed, spec, levels=seed > 1)
        rules = ("x1 >= x0 and x1 >= x2", "x2 + 2 * x3 <= 1/3", "-1/2 * x0 < x3 + 1")
        question = replace(plain, rules=tuple(rule_of(text, plain.space) for text in rules))
        reply = NetworkOracle(question).ask(None, Limits.of(600.0))
        assert isinstance(reply, (Found, Refuted)) and reply.proof is not None
        lower, best = (reply.lower, reply.point) if isinstance(reply, Found) else (None, None)
        assert check(certificate(question, lower, best, reply.proof).data).accepted
        rng = np.random.default_rng(seed)
        for _ in range(500):
            point = tuple(
                axis.grid.floor(Fraction(rng.uniform(-3, 3))) if isinstance(axis, GridAxis) else int(rng.integers(3))
                for axis in question.axes
            )
            nearer = lower is None or question.distance_of(point) < lower
            assert not (nearer and question.obeys(point) and question.has_goal(point))
        if not isinstance(reply, Found) or reply.lower is None:
            continue
        assert question.obeys(reply.point) and question.has_goal(reply.point)
        assert question.distance_of(reply.point) - reply.lower <= CLOSE
        values = [float(axis.value(k)) for axis, k in zip(question.axes, reply.point, strict=True)]
        edges = (values[1] - values[0], values[1] - values[2], 1 / 3 - values[2] - 2 * values[3])
        barely += any(abs(room) < 1e-9 for room in edges)
    assert barely or layers or spec == "l0"


@pytest.mark.parametrize(
    ("text", "factors", "constant", "equal"),
    [
        ("Debt + 2 * Rent <= Income / 3", {"Debt": 1, "Rent": 2, "Income": Fraction(-1, 3)}, 0, False),
        ("Income > Debt - 5", {"Debt": 1, "Income": -1}, -5, False),
        ("not (Debt <= Income)", None, 0, False),
        ("Debt == -(Income - 4) * 2", {"Debt": 1, "Income": 2}, -8, True),
        ("Debt != Income", None, 0, False),
        ("abs(Debt) <= Income", None, 0, False),
        ("Debt <= Income or Rent >= 1", None, 0, False),
        ("Debt <= Income and (Rent >= 1 or Debt >= 1)", None, 0, False),
        ("Debt + Rent - Debt <= 3", {"Rent": 1}, -3, False),
    ],
)
def test_what_a_linear_rule_says(text: str, factors: dict[str, Any] | None, constant: int, equal: bool) -> None:
    space = Space([Feature(name, "real", -9, 9) for name in ("Debt", "Rent", "Income")])
    found = lines_of([rule_of(text, space)])
    if factors is None:
        assert not found
        return
    (line,) = found
    names = [feature.name for feature in space.features]
    assert {names[j]: q for j, q in line.factors} == factors
    assert (line.constant, line.equal, line.rule, line.part) == (constant, equal, 0, 0)


def test_a_part_of_a_rule_is_the_comparison_of_that_number() -> None:
    space = Space([Feature(name, "integer", 0, 9) for name in "abc"])
    texts = ("a <= b and (b <= c and c >= 2 * a)", "a + b + c <= 20", "(a <= 4 and b >= 1) and c == a")
    rules = [rule_of(text, space) for text in texts]
    for line in lines_of(rules):
        written = Written(expression_of(rules[line.rule]), bytes(3), "rule")
        name, said = written.comparisons[comparison(rules[line.rule], (), line.part)]
        assert said is not None and (name == "==") == line.equal
        assert {j: q for j, q in said.factors.items() if q} == dict(line.factors)
        assert said.constant == line.constant


def before_trees(seed: int) -> Question:
    """A random question about trees with one to four rules, most of them linear."""
    question, rng = trees_question(seed), np.random.default_rng(seed)
    texts = [random_line(question.space, rng) for _ in range(int(rng.integers(1, 4)))]
    if rng.random() < 0.3:
        texts.append(random_rule(question.space, rng))
    return replace(question, rules=tuple(rule_of(text, question.space) for text in dict.fromkeys(texts)))


@pytest.mark.parametrize("patience", [0, prover.PATIENCE])
@pytest.mark.parametrize("first", exhaustive_from(100, range(0, 200, 50)))
def test_before_trees_the_answer_is_that_of_enumeration(
    first: int, patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prover, "PATIENCE", patience)
    for seed in range(first, first + 50):
        as_enumerated(before_trees(seed))


def ordered(seed: int, spec: str) -> Question:
    """A question about a forest over doubles that are ordered, far from the goal."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(300, 6)), columns=[f"x{k}" for k in range(6)])
    X["x1"], X["x3"] = X["x0"] + abs(X["x1"]), X["x2"] + abs(X["x3"])
    y = (X["x0"] + X["x2"] - 0.3 * X["x4"] > 0.3).astype(int)
    space = mace.Space.from_frame(X, rules=["x1 >= x0", "x3 >= x2", "x4 + x5 <= 3/2 and 2 * x4 >= x0 - 5"])
    model = RandomForestClassifier(20, max_depth=5, random_state=seed).fit(X, y)
    row = X[model.predict(X) == 0].iloc[seed]
    return mace.Explainer(model, space, distance=spec).question(row, goal=1)[0]


@pytest.mark.parametrize("spec", ["l0", "l1", "linf"])
def test_before_trees_several_features_share_what_a_rule_asks(spec: str) -> None:
    priced = barely = 0
    for seed in range(4):
        question = ordered(seed, spec)
        reply = EnsembleOracle(question).ask(None, Limits.of(600.0), gap=Gap(CLOSE))
        assert isinstance(reply, Found) and reply.lower is not None and reply.proof is not None
        assert question.obeys(reply.point) and question.has_goal(reply.point)
        assert question.distance_of(reply.point) - reply.lower <= CLOSE
        proof = certificate(question, reply.lower, reply.point, reply.proof)
        assert check(proof.data).accepted
        accepted_by_all([proof])
        priced += sum(isinstance(n, Priced) and any(part.rules for part in n.parts) for n in reply.proof)
        values = [float(axis.value(k)) for axis, k in zip(question.axes, reply.point, strict=True)]
        barely += min(values[1] - values[0], values[3] - values[2]) < 1e-9
    assert spec != "l1" or (priced and barely)


@pytest.mark.parametrize("seed", [1, 10])
def test_what_rules_close_before_a_mean_of_trees_is_closed_for_each_part_of_the_goal_that_is_certified(
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0)
    model = CalibratedClassifierCV(forest, method="isotonic", cv=3).fit(X, y)
    space = mace.Space.from_frame(pd.DataFrame(X, columns=["x0", "x1", "x2"]), rules=["x0 + x1 <= 0.6", "x0 <= x2"])
    explainer, priced = mace.Explainer(model, space), 0
    for row in X[model.predict(X) == 0][:6]:
        answer = explainer.explain(row, goal=1)
        assert answer.status in ("optimal", "infeasible")
        priced += any("prices" in str(node) for node in answer.certificate.data["proof"])
        accepted_by_all([answer.certificate])
    assert priced
