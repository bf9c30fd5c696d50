"""The planner agrees with enumeration, on random worlds and models of every kind; its plans are replayed."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import mace
from mace.plans.network_bounds import NetworkBounds, _relu
from mace.plans.nodes import PlanNode
from mace.plans.reach import Reacher
from mace.plans.task import task_of
from tests.plans.small_worlds import EFFECTS, KINDS, frame_of, least, model_of, space_of, text_of


def planner_of(seed: int) -> mace.Planner:
    rng = np.random.default_rng(seed)
    space = space_of(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = model_of(KINDS[seed % 4], space, rng)
    return mace.Planner(model, space, mace.World.read(text_of(rng), space))


def agrees(seed: int) -> str:
    planner = planner_of(seed)
    rng = np.random.default_rng(seed + 1000)
    rows = frame_of(planner.space, rng, 12)
    rows = rows[rows.a + rows.b <= 18]
    refused = rows[planner.explainer.decisions(rows) != 1]
    if refused.empty:
        return "nobody is refused"
    x = refused.iloc[0]
    horizon = int(rng.integers(1, len(planner.world.actions) + 1))
    found = planner.plan(x, goal=1, horizon=horizon, gap=0, rgap=0, timeout=None)
    wanted = least(planner, x, 1, horizon)
    if wanted is None:
        assert found.status == "infeasible"
    else:
        assert found.status == "optimal"
        assert found.exact_cost == found.exact_lower_bound == wanted
        assert sum(step.cost for step in found.steps) == wanted
        assert len({step.action for step in found.steps}) == len(found.steps) <= horizon
    return found.status


def test_the_planner_finds_what_enumeration_finds() -> None:
    found = [agrees(seed) for seed in range(12)]
    assert {"optimal", "infeasible"} <= set(found)


@pytest.mark.slow
def test_the_planner_finds_what_enumeration_finds_in_many_worlds() -> None:
    found = [agrees(seed) for seed in range(12, 60)]
    assert found.count("optimal") > 12


def test_forms_enclose_what_the_interpreter_does() -> None:
    """Every plan of a node that can be taken ends within its forms, and costs at least its bounds."""
    rng = np.random.default_rng(3)
    for seed in range(4):
        planner = planner_of(seed)
        x = frame_of(planner.space, rng, 1).iloc[0]
        task = task_of(planner.explainer, planner.world, x, 1, None, True)
        reacher = Reacher(task)
        for _ in range(20):
            order = tuple(int(v) for v in rng.permutation(len(task.variants))[: int(rng.integers(1, 4))])
            if len({task.variants[v].action.name for v in order}) < len(order):
                continue
            box, indices = {}, {}
            for number in order:
                for name, one in task.variants[number].variables.items():
                    low, high = sorted(int(k) for k in rng.integers(one.first, one.last + 1, 2))
                    box[name], indices[name] = (low, high), int(rng.integers(low, high + 1))
            plan = task.replay(order, indices)
            if plan is None:
                continue
            ranges = {name: (Fraction(k), Fraction(k)) for name, k in indices.items()}
            for cut in range(len(order) + 1):
                reach = reacher.reach(PlanNode(order[:cut], frozenset(order[cut:]), box))
                assert reach is not None
                for name, value in plan.steps[-1].after.items():
                    low, high = reach.end[name].span(ranges)
                    assert low <= value <= high
                assert reach.cost.span(ranges)[0] <= plan.cost
                assert reach.floor <= plan.cost


def test_lines_through_a_network_bound_its_margins() -> None:
    """At random points of random boxes the lines lie above the margins that the network has there."""
    rng = np.random.default_rng(5)
    planner = planner_of(3)
    x = frame_of(planner.space, rng, 1).iloc[0]
    task = task_of(planner.explainer, planner.world, x, 1, None, True)
    reacher = Reacher(task)
    bounds = NetworkBounds(task.question, list(planner.space.names))
    names = sorted({name for v in task.variants for name in v.variables})
    chosen = tuple(v.number for v in task.variants if not v.levels)
    if len({task.variants[v].action.name for v in chosen}) < len(chosen):
        pytest.skip("an action has several variants")
    for _ in range(40):
        box = {}
        for number in chosen:
            for name, one in task.variants[number].variables.items():
                low, high = sorted(int(k) for k in rng.integers(one.first, one.last + 1, 2))
                box[name] = (low, high)
        node = PlanNode(chosen, frozenset(), box)
        reach = reacher.reach(node)
        if reach is None:
            continue
        names = sorted(box)
        found = bounds.bound(bounds.prepare(reach.end, names, node.box), names, box)
        for _ in range(10):
            indices = {name: int(rng.integers(low, high + 1)) for name, (low, high) in box.items()}
            plan = task.replay(chosen, indices)
            if plan is None or not task.question.has_goal(plan.end):
                continue
            place = np.array(
                [0.0 if a == b else (2 * indices[n] - a - b) / (b - a) for n, (a, b) in ((n, box[n]) for n in names)]
            )
            assert any(all(line.coef @ place + line.constant >= -1e-9 for line in part) for part in found.parts)


def test_a_unit_as_far_on_as_off_has_the_line_that_a_checker_gives_it() -> None:
    """FORMAT.md 6.13, "without slopes": of l < 0 < u the lower line has slope 1 if and only if u >= -l."""
    for low, high in [(-1.0, 1.0), (-1.0, 0.75), (-0.75, 1.0)]:
        lines = _relu(np.array([low]), np.array([high]), bends=True)
        assert lines.floor[0] == (high >= -low)


def test_a_plan_of_one_person_shows_itself() -> None:
    planner = planner_of(1)
    rows = frame_of(planner.space, np.random.default_rng(1), 30)
    said = planner.explainer.decisions(rows)
    plans = [planner.plan(rows.iloc[k], goal=1) for k in range(30) if said[k] != 1 and rows.a[k] + rows.b[k] <= 18]
    plan = next(plan for plan in plans if plan.steps)
    text = str(plan)
    assert plan.status in text and plan.steps[0].action in text
    assert "<table>" in plan._repr_html_()
    frame = plan.to_frame()
    assert len(frame) == len(plan.steps) + 1 and frame.cost.sum() == pytest.approx(plan.cost)
    assert plan.to_dict()["steps"][0]["action"] == plan.steps[0].action
    assert plan.lower_bound <= plan.cost


def test_a_plan_that_time_did_not_suffice_for_promises_no_certificate_and_no_bound_of_nothing() -> None:
    planner = planner_of(1)
    rows = frame_of(planner.space, np.random.default_rng(1), 30)
    said = planner.explainer.decisions(rows)
    x = next(rows.iloc[k] for k in range(30) if said[k] != 1 and rows.a[k] + rows.b[k] <= 18)
    plan = planner.plan(x, goal=1, timeout=1e-9)
    assert plan.status == "unknown" and "certify" not in str(plan) and "less than 0" not in str(plan)
    assert "it is not known whether there is one" in str(plan)


def test_a_plan_within_a_gap_says_so() -> None:
    planner = planner_of(1)
    rows = frame_of(planner.space, np.random.default_rng(1), 30)
    said = planner.explainer.decisions(rows)
    plan = planner.plan(next(rows.iloc[k] for k in range(30) if said[k] != 1 and rows.a[k] + rows.b[k] <= 18), goal=1)
    assert plan.status == "optimal" and "gap" not in plan.meaning
    less = replace(plan, exact_lower_bound=plan.exact_cost - Fraction(1, 1000))
    assert "no plan of this length costs less by more than the gap" in str(less)


def test_a_row_that_has_the_goal_needs_no_plan() -> None:
    planner = planner_of(1)
    rows = frame_of(planner.space, np.random.default_rng(1), 30)
    x = rows[(planner.explainer.decisions(rows) == 1) & (rows.a + rows.b <= 18)].iloc[0]
    for objectives in (None, ["steps", "cost"]):  # the second asks for the cheapest of those with no step
        plan = planner.plan(x, goal=1, objectives=objectives)
        assert (plan.status, plan.cost, plan.steps) == ("optimal", 0, [])
        assert plan.certify().check().accepted


def test_every_action_of_the_random_worlds_is_read() -> None:
    space = space_of(np.random.default_rng(0))
    text = "".join(f"action do {k}:\n{effect}    cost {cost}\n" for k, (effect, cost) in enumerate(EFFECTS))
    assert len(mace.World.read(text, space).actions) == len(EFFECTS)


def test_a_discount_with_a_slope_is_divided_where_it_moves() -> None:
    """Steep where the plan ends: forms of a larger box would leave thousands of boxes open."""
    space = mace.Space(
        [
            mace.Feature("hours", "real", lower=0, upper=90, step="0.001"),
            mace.Feature("gain", "real", lower=0, upper=100, step="0.001"),
        ]
    )
    world = mace.World.read(
        "action work:\n    parameter v: real in [0.1, 50] step 0.001\n    hours = hours + v\n    cost v / 10\n"
        "action save:\n    parameter v: real in [0.1, 100] step 0.001\n    gain = gain + v\n    cost v\n"
        "consequence hours -> gain: 1 - max(0, min(0.6, 0.3 * (hours - 78)))\n",
        space,
    )
    model = LogisticRegression().fit(np.array([[0.0, 0.0], [1.0, 1.0]]), [0, 1])
    model.coef_, model.intercept_ = np.array([[0.01, 1.0]]), np.array([-80.0])
    plan = mace.plan(model, space, {"hours": 40, "gain": 0}, world, goal=1, timeout=None)
    assert plan.status == "optimal"
    assert plan.searched < 200


def test_a_goal_that_is_only_enclosed_is_asked_of_the_model_at_the_end_of_every_plan() -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.integers(0, 7, (80, 2)), columns=list("ab"))
    labels = (frame.a + frame.b + rng.normal(0, 2, 80) > 7).astype(int)
    model = CalibratedClassifierCV(RandomForestClassifier(3, max_depth=3, random_state=0), cv=2).fit(frame, labels)
    space = mace.Space([mace.Feature(name, "integer", lower=0, upper=6) for name in "ab"])
    text = "".join(
        f"action more {n}:\n    parameter v: int in [1, 3]\n    {n} = {n} + v\n    cost v + {k}\n"
        for k, n in enumerate("ab")
    )
    planner = mace.Planner(model, space, mace.World.read(text, space))
    for start in ({"a": 3, "b": 3}, {"a": 4, "b": 1}):
        goal = 1 - int(model.predict(pd.DataFrame([start]))[0])
        plan = planner.plan(start, goal=goal, gap=0, rgap=0)
        want = least(planner, start, goal, 2)
        assert (plan.exact_cost, plan.status) == (want, "infeasible" if want is None else "optimal")
