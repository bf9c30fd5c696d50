"""No bound of a network leaves by any door while the ends that it rests on are floats that no checker has read."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.neural_network import MLPClassifier

import mace
import mace.verify.proved  # or it would be imported while the checker is replaced, and keep what took its place
from mace import Feature, Space
from mace.base.deadline import Deadline, TimeOverError
from mace.certify import recheck
from mace.certify.writer import Certificate
from mace.explain.probabilities import means
from mace.problem.proof import GoalPart, Proof, Tighten
from mace.proofs.check import check
from mace.solve.ensembles import prover
from mace.solve.ensembles.boxes import parted
from mace.solve.networks import search
from tests.clocks import Hand

rng = np.random.default_rng(3)
SPACE = Space([Feature(f"x{j}", "real", 0.0, 1.0) for j in range(4)])
X = pd.DataFrame(rng.random((200, 4)), columns=SPACE.names)
LABELS = rng.random(200) < 0.5
ROW = 15  # one whose proof has tightened ends


@pytest.fixture(scope="module")
def network() -> MLPClassifier:
    with warnings.catch_warnings(action="ignore"):
        return MLPClassifier((8, 8), solver="lbfgs", random_state=3).fit(X.to_numpy(), LABELS)


def tightened(proof: Proof | None) -> bool:
    return any(isinstance(node, Tighten) for node in proof or ())


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Every network is tightened early, and the checker never comes to the end of a proof with tightened ends."""
    monkeypatch.setattr(search, "STALLED", 1)
    said, asked = recheck.objection, []

    def late(made: Certificate, *more: Any) -> str:
        asked.append(any(node[0] == "tighten" for node in made.data["proof"]))
        if asked[-1]:
            raise TimeOverError("time limit (1 s)")
        return said(made, *more)

    monkeypatch.setattr(recheck, "objection", late)
    return asked


def test_an_answer_is_sought_again_without_tightened_ends(network: MLPClassifier, unread: list[bool]) -> None:
    answer = mace.explain(network, SPACE, X.iloc[ROW], goal=not network.predict(X.to_numpy())[ROW])
    assert unread == [True, False]
    assert answer.status == "optimal" and not tightened(answer.proof)


def test_a_proof_that_is_not_read_in_time_leaves_the_bound_that_was_kept_first(
    network: MLPClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A default network on wine had a bound of half the distance at a limit of .5 s, and none at limits of 1 to 8 s.
    for name, value in (("STALLED", 1), ("FIRST_KEPT", 1), ("ALONE", 0.0)):
        monkeypatch.setattr(search, name, value)
    said, lengths, clock = recheck.objection, [], Hand()

    def late(made: Certificate, *more: Any) -> str:
        lengths.append(len(made.data["proof"]))
        if len(lengths) > 1:
            clock.now += 6000
            raise TimeOverError("time limit (600 s)")
        return said(made, *more)

    monkeypatch.setattr(recheck, "objection", late)
    goal = not network.predict(X.to_numpy())[ROW]
    answer = mace.Explainer(network, SPACE).explain(X.iloc[ROW], goal=goal, timeout=Deadline.after(600, clock))
    assert answer.status == "bounded" and answer.distance > answer.lower_bound > 0
    assert "shorter proof" in answer.why
    assert len(lengths) == 2 and len(answer.certificate.data["proof"]) == lengths[0] <= lengths[1]
    assert check(answer.certificate.data).accepted


def test_so_is_one_of_which_no_certificate_can_be_written(
    network: MLPClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "STALLED", 1)
    monkeypatch.setattr(recheck, "certifiable", lambda _: "the checker does not know it")
    answer = mace.explain(network, SPACE, X.iloc[ROW], goal=not network.predict(X.to_numpy())[ROW])
    assert answer.status == "optimal" and not tightened(answer.proof)


def test_a_proof_by_parts_about_trees_holds_no_floats(monkeypatch: pytest.MonkeyPatch) -> None:
    """That no part of the goal is left closes its last box; it was read as a box that floats empty, and a booster of
    three classes had, at a time limit, no bound at all."""
    for module, name, value in ((prover, "PATIENCE", 0), (parted, "MOST", 2.0)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(recheck, "objection", lambda *_: pytest.fail("the checker was asked about trees"))
    classes = (3 * X.iloc[:, 0] + rng.random(len(X))).astype(int).clip(0, 2)
    booster = GradientBoostingClassifier(n_estimators=5, max_depth=3, random_state=0).fit(X.to_numpy(), classes)
    answer = mace.explain(booster, SPACE, X.iloc[ROW])
    assert any(isinstance(node, GoalPart) for node in answer.proof or ())
    assert answer.status == "optimal" and check(answer.certificate.data).accepted


def test_so_is_every_level(network: MLPClassifier, unread: list[bool]) -> None:
    goal = not network.predict(X.to_numpy())[ROW]
    answer = mace.explain(network, SPACE, X.iloc[ROW], goal=goal, objectives=["linf", "l1"])
    assert True in unread
    assert answer.status == "optimal" and not any(tightened(level.proof) for level in answer.levels)


def test_no_door_lets_a_bound_out_that_the_checker_refuses(
    network: MLPClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recheck, "objection", lambda *_: "refused (..)")
    monkeypatch.setattr(means, "MOST_TOGETHER", 0)
    row, goal = X.iloc[ROW], not network.predict(X.to_numpy())[ROW]
    held = Space([*(replace(one, change="fixed") for one in SPACE.features[:2]), *SPACE.features[2:]])
    base = MLPClassifier((3,), solver="lbfgs", random_state=1, max_iter=50)
    with warnings.catch_warnings(action="ignore"):
        mean = CalibratedClassifierCV(base, cv=2, method="sigmoid").fit(X.to_numpy(), LABELS)
    for answer in (
        mace.explain(network, SPACE, row, goal=goal),
        mace.explain(mean, SPACE, row, goal=not mean.predict(X.to_numpy())[0]),
    ):
        assert answer.status == "bounded" and answer.exact_lower_bound == 0 and "refused" in answer.why
    other, rows = not network.predict(X.to_numpy())[3], X.iloc[20:23]
    near = mace.explain(network, held, X.iloc[3], goal=other, objectives=["plausibility"], background=rows)
    assert near.status == "bounded" and "refused" in near.why
    for radius in (", 0.01", ""):
        verdict = mace.verify(network, SPACE, f"robust(0{radius})", data=X)
        assert verdict.status == "unknown" and "refused" in verdict.why
    few = Space([Feature(f"x{j}", "real", 0.0, 1e-6) for j in range(4)])
    for level in mace.explain(network, few, dict.fromkeys(few.names, 0.0), objectives=["shortfall", "l1"]).levels:
        assert level.exact_lower_bound == 0 and "refused" in level.why


def test_a_mean_bounds_no_more_than_its_pieces_prove(monkeypatch: pytest.MonkeyPatch) -> None:
    # The gap that was asked for lay between the bound of a piece and the point that was taken from it; the point's
    # distance was then called proved.
    monkeypatch.setattr(means, "MOST_TOGETHER", 0)
    space, draw = Space([Feature(name, "integer", 0, 9) for name in ("a", "b")]), np.random.default_rng(0)
    rows = pd.DataFrame(draw.integers(0, 10, (80, 2)), columns=space.names)
    labels = (rows.a - 2 * rows.b + draw.normal(size=80) * 3 > -4).to_numpy()
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    model = CalibratedClassifierCV(forest, cv=3).fit(rows.to_numpy(), labels)
    every = np.array([(a, b) for a in range(10) for b in range(10)])
    said = model.predict(every)
    for row in (9, 90):
        least = (np.abs(every[said != said[row]] - every[row]).sum(axis=1) / 18).min()
        answer = mace.explain(model, space, dict(zip(space.names, every[row], strict=True)), gap=0.2)
        assert answer.lower_bound <= least + 1e-12 and least <= answer.distance + 1e-12
