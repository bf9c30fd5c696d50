"""Ctrl-C while several questions are asked keeps what was answered, and says what was not."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.base.deadline import Deadline, stoppable
from mace.errors import CertificateError
from mace.explain import explainer as explainers
from mace.explain import front as fronts
from mace.plans import audit_plans
from mace.plans import certificate as plan_certificates
from mace.plans.run import Planner
from mace.scorecards.counterfactual import Counterfactual
from mace.solve.smt import process as smt_process
from mace.solve.smt.process import SolverProcess
from mace.space.feature import Feature
from mace.space.space import Space
from mace.verify import suite as suites
from mace.verify.command import run_verify
from tests.cards import card, table

pytestmark = pytest.mark.usefixtures("ctrl_c")

SPACE = Space([Feature("Income", "integer", 0, 100), Feature("Sex", "categorical", levels=["f", "m"])])
PROGRAM = 'if Income > 50 and Sex == "m":\n    return 1\nreturn 0\n'
PROPERTIES = ["monotone(Income, increasing)", "fair(Income)", "fair(Sex)", "reachable(1)"]


def pressed(after: int, call: Any) -> Any:
    """A function that presses Ctrl-C once it was called so many times."""
    calls: list[None] = []

    def counted(*given: Any, **more: Any) -> Any:
        found = call(*given, **more)
        calls.append(None)
        if len(calls) == after:
            signal.raise_signal(signal.SIGINT)
        return found

    return counted


def test_verdicts_by_then_are_printed_and_the_others_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "verify", pressed(2, suites.verify))
    text, code = run_verify(PROGRAM, SPACE, None, PROPERTIES, None)
    assert code == 10 and "proved: monotone(Income, increasing)" in text and "violated: fair(Income)" in text
    assert text.count("interrupted before it was asked") == 2
    assert text.endswith("1 proved, 1 violated, 2 unknown")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_front_keeps_its_points_and_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = pd.DataFrame(list(itertools.product(range(11), range(11), range(11))), columns=["A", "B", "C"])
    tree = DecisionTreeClassifier().fit(grid, (grid.A >= 9) | (grid.B >= 2) & (grid.C >= 2))
    space, row = Space.from_frame(grid), {"A": 0, "B": 0, "C": 0}
    whole = mace.front(tree, space, row, objectives=["l1", "changes"])
    assert whole.status == "optimal" and len(whole.points) > 1
    taking = fronts._Fronting.take
    monkeypatch.setattr(fronts._Fronting, "take", pressed(1, taking))
    found = mace.front(tree, space, row, objectives=["l1", "changes"])
    assert (found.status, found.why, len(found.points)) == ("bounded", "interrupted", 1)
    assert found.points[0].objectives in [point.objectives for point in whole.points]
    assert found.points[0].levels[0].certificate.check().accepted


def test_an_audit_of_plans_keeps_its_plans_and_says_how_many_rows_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    space = Space([Feature("Savings", "integer", 0, 100)])
    text = "action save:\n    parameter more: int in [1, 50]\n    Savings = Savings + more\n    cost 1\n"
    world = mace.World.read(text, space)
    frame = pd.DataFrame({"Savings": np.arange(20)})
    monkeypatch.setattr(Planner, "plan", pressed(3, Planner.plan))
    found = audit_plans("return 1 if Savings >= 40 else 0\n", space, frame, world, goal=1)
    assert len(found.plans) == 3 and not found.settled
    assert found.why == found.to_dict()["why"] == "interrupted with 17 of 20 rows left to look at"
    assert "not finished: interrupted with 17 of 20 rows left" in str(found)


def test_the_answers_to_a_frame_by_then_are_kept_and_the_others_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 50, 200), "b": rng.integers(0, 50, 200)})
    tree = DecisionTreeClassifier(max_depth=8, random_state=0).fit(X, (X.a * X.b > 400).astype(int))
    explainer = mace.Explainer(tree, Space.from_frame(X))
    whole = explainer.explain(X.iloc[:6])
    monkeypatch.setattr(explainers, "by_priority", pressed(3, explainers.by_priority))
    found = explainer.explain(X.iloc[:6])
    assert [one.distance for one in found[:3]] == [one.distance for one in whole[:3]]
    assert [one.status for one in found[:3]] == ["optimal"] * 3
    assert all(one.status == "unknown" and one.why.startswith("interrupted") for one in found[3:])
    assert all(one.exact_lower_bound <= other.exact_distance for one, other in zip(found, whole, strict=True))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_plan_is_kept_where_its_certificate_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan was lost: nothing was printed of it."""
    space = Space([Feature("Savings", "integer", 0, 100)])
    text = "action save:\n    parameter more: int in [1, 50]\n    Savings = Savings + more\n    cost more\n"
    frame = pd.DataFrame({"Savings": np.arange(100)})
    made = LogisticRegression().fit(frame, frame["Savings"] > 30)
    plan = mace.plan(made, space, {"Savings": 3}, mace.World.read(text, space), goal=True)
    monkeypatch.setattr(plan_certificates, "world_of", pressed(1, plan_certificates.world_of))
    with pytest.raises(CertificateError, match="no certificate was written: interrupted"):
        plan.certify()
    assert plan.status == "optimal" and plan.certify().check().accepted


def test_who_waits_for_a_solver_notices_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "busy.py").write_text("import time; time.sleep(600)")
    monkeypatch.setattr(smt_process, "WORKER", tmp_path / "busy.py")
    process = SolverProcess("z3")
    press = threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT])
    try:
        with stoppable():
            process.ask([], [])
            press.start()
            began = time.monotonic()
            assert process.answer(Deadline.after(60)) is None
            assert time.monotonic() - began < 30
    finally:
        press.cancel()
        process.stop()


def test_a_deadline_without_a_limit_has_nothing_left_once_ctrl_c_came() -> None:
    with stoppable():
        never = Deadline.asked(None)
        assert never.left() is None and not never.over
        signal.raise_signal(signal.SIGINT)
        assert never.over and never.left() == never.share(0.5).left() == never.within(3).left() == 0


def test_a_scorecard_says_that_it_was_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    made = card(np.random.default_rng(0))
    asked = Counterfactual(made).fit(table(made, np.random.default_rng(1)))
    monkeypatch.setattr(Counterfactual, "_problem", pressed(1, Counterfactual._problem))
    asked.generate(table(made, np.random.default_rng(2), 1), 1, "binary", 2)
    assert asked.status == "UNKNOWN" and "interrupted" in asked.why
