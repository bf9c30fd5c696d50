"""Certificates of plans: the checker accepts them, refuses them a hair higher, and their lines are the interpreter."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from fractions import Fraction

import pytest

import mace
from mace.errors import CertificateError
from mace.plans.task import task_of
from mace.plans.written import world_of
from mace.proofs.check import check
from mace.worlds import Refused
from tests.plans.test_roads import hard_planner, refused
from tests.plans.test_worlds import FIGURE_2, MODEL, SPACE, START
from tests.proofs.plan_cases import taken

HAIR = Fraction(1, 10**9)


def certified(seed: int) -> str:
    """Plan for a row, and have the certificate checked, as it is and with a claim that is larger by a hair."""
    planner = hard_planner(seed)
    for _, x in refused(planner, seed).head(1).iterrows():
        found = planner.plan(x, goal=1, horizon=1 + seed % len(planner.world.actions), gap=0, rgap=0, timeout=None)
        made = found.certify(timeout=None)
        verdict = made.check()
        assert verdict.accepted, verdict
        if found.exact_cost is not None:
            larger = {**made.to_dict(), "claim": {"cheaper_than": str(found.exact_cost + HAIR)}}
            assert not check(larger).accepted
            assert made.data["witness"] is None or "costs just this" in verdict.claim
        return found.status
    return "nobody is refused"


def test_small_plans_have_certificates() -> None:
    assert {"optimal", "infeasible"} <= {certified(seed) for seed in (40, 41, 43, 44)}


@pytest.mark.slow
def test_plans_of_many_worlds_have_certificates() -> None:
    assert Counter(map(certified, range(200, 220)))["optimal"] > 3


def test_the_lines_of_a_world_are_what_the_interpreter_does() -> None:
    """Every action with every value of its parameters, in some states of some worlds."""
    compared = Counter[bool]()
    for seed in (40, 43, 46):
        planner = hard_planner(seed)
        for _, x in refused(planner, seed).head(2).iterrows():
            task = task_of(planner.explainer, planner.world, x, 1, None, True)
            axes, written = task.question.axes, world_of(task)
            features = planner.plan(x, goal=1).certify().data["statement"]["features"]
            for action, lines in zip(planner.world.actions, written["actions"], strict=True):
                for values in itertools.product(*(range(p.first, p.last + 1) for p in action.parameters)):
                    named = {p.name: p.value(i) for p, i in zip(action.parameters, values, strict=True)}
                    step = planner.world.step(axes, task.start, action.name, named)
                    data = {"statement": {"features": features}}
                    said = taken(data, lines, task.question.start, list(values))
                    compared[said is None] += 1
                    assert (said is None) is isinstance(step, Refused)
                    if said is not None:
                        assert not isinstance(step, Refused)
                        assert said[1] == step.cost
                        assert [axis.value(i) for axis, i in zip(axes, said[0], strict=True)] == [
                            step.after[axis.name] for axis in axes
                        ]
    assert min(compared.values()) > 3


def test_a_program_has_no_certificate_and_says_so() -> None:
    plan = mace.plan(MODEL, SPACE, START, mace.World.read(FIGURE_2, SPACE), goal=1)
    assert any("it has no certificate: the model is a program" in note for note in plan.notes)
    with pytest.raises(CertificateError, match="the model is a program"):
        plan.certify()


def test_a_plan_is_pickled_without_its_model() -> None:
    planner = hard_planner(40)
    _, x = next(refused(planner, 40).iterrows())
    found = planner.plan(x, goal=1, horizon=2)
    kept = pickle.loads(pickle.dumps(found))
    assert kept == found and kept.to_dict() == found.to_dict() and kept.steps == found.steps
    assert pickle.loads(pickle.dumps(planner.front(x, "steps", goal=1, horizon=1))).to_dict()
    with pytest.raises(CertificateError, match="does not hold its model any more"):
        kept.certify()
    assert found.certify().check().accepted


def test_a_certificate_that_takes_too_long_is_none() -> None:
    planner = hard_planner(44)
    _, x = next(refused(planner, 44).iterrows())
    with pytest.raises(CertificateError, match="time limit"):
        planner.plan(x, goal=1).certify(timeout=1e-9)
