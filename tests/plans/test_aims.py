"""Counts before costs, fronts, further plans and audits, beside enumeration of all plans."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import mace
from mace.base.deadline import Deadline
from mace.cli import app
from mace.errors import CertificateError, MaceError
from mace.plans import aims, audit_plans
from mace.space.axes import Point
from mace.worlds.steps import point_of
from tests.plans.small_worlds import frame_of, plans
from tests.plans.test_search import planner_of

EXACT = {"gap": 0, "rgap": 0, "timeout": None}


def accepted(planner: mace.Planner, x: object) -> list[tuple[Point, frozenset[str], Fraction]]:
    """Every plan to the goal: its end, its actions and its cost."""
    question, _ = planner.explainer.question(x, 1)
    found = []
    for state, cost, steps in plans(planner.world, question.axes, len(planner.world.actions)):
        point = point_of(question.axes, state)
        if question.obeys(point):
            found.append((point, frozenset(step.action for step in steps), cost))
    said = planner.explainer.decisions(pd.DataFrame([question.values(point) for point, _, _ in found]))
    return [one for one, label in zip(found, said, strict=True) if label == 1]


def cheapest_of_sets(planner: mace.Planner, x: object) -> dict[frozenset[str], Fraction]:
    """Each set of actions that some plan to the goal takes, and the least cost of one."""
    least: dict[frozenset[str], Fraction] = {}
    for _, actions, cost in accepted(planner, x):
        least[actions] = min(cost, least.get(actions, cost))
    return least


def asked(seed: int) -> tuple[mace.Planner, pd.Series | None]:
    """A random world, and a row that lacks the goal, where there is one."""
    planner = planner_of(seed)
    rows = frame_of(planner.space, np.random.default_rng(seed + 1000), 12)
    rows = rows[rows.a + rows.b <= 18]
    refused = rows[planner.explainer.decisions(rows) != 1]
    return planner, None if refused.empty else refused.iloc[0]


def agrees(seed: int) -> int:
    """How many kinds of plans a random world has."""
    planner, x = asked(seed)
    if x is None:
        return 0
    feature = planner.world.actions[0].affects[0]
    least = cheapest_of_sets(planner, x)

    def touching(actions: frozenset[str]) -> int:
        return sum(feature in planner.world[name].affects for name in actions)

    avoided = planner.plan(x, goal=1, avoid=[feature], **EXACT)
    assert avoided.exact_cost == min((c for s, c in least.items() if not touching(s)), default=None)
    for name, count in (("steps", len), (f"touching {feature}", touching)):
        few = planner.plan(x, goal=1, objectives=[name, "cost"], **EXACT)
        wanted = min(((count(actions), cost) for actions, cost in least.items()), default=None)
        assert (few.counts.get(name), few.exact_cost) == (wanted or (None, None))
        costs: dict[int, Fraction] = {}
        for most in range(len(planner.world.actions) + 1):
            allowed = [cost for actions, cost in least.items() if count(actions) <= most]
            if allowed and min(allowed) not in costs.values():
                costs[most] = min(allowed)
        points = planner.front(x, name, goal=1, **EXACT).points
        assert [point.plan.exact_cost for point in points if point.plan.steps] == list(costs.values())
        assert all(point.plan.status in ("optimal", "infeasible") for point in points)
    several = planner.plan(x, goal=1, count=3, **EXACT)
    costs_found = [plan.exact_cost for plan in (several, *several.others) if plan.steps]
    assert costs_found == sorted(least.values())[:3]
    return len(least)


def far(planner: mace.Planner, x: object, end: Point) -> Fraction:
    """Gower's distance, by the definition: |change| / range of numbers, 1 for another level, the mean over features."""
    question, _ = planner.explainer.question(x, 1)
    before, after, total = question.values(question.start), question.values(end), Fraction(0)
    for feature in planner.space.features:
        a, b = before[feature.name], after[feature.name]
        if feature.kind == "categorical":
            total += a != b
        else:
            total += abs(Fraction(b) - Fraction(a)) / (Fraction(str(feature.upper)) - Fraction(str(feature.lower)))
    return total / len(planner.space.features)


def nearest_agrees(seed: int) -> int:
    """How many plans to the goal a random world has; the nearest ends and the cheapest plans are found together."""
    planner, x = asked(seed)
    if x is None:
        return 0
    all_plans = [(far(planner, x, end), cost, len(actions)) for end, actions, cost in accepted(planner, x)]
    near = planner.plan(x, goal=1, objectives="gower", **EXACT)
    dear = planner.plan(x, goal=1, objectives=["cost", "gower"], **EXACT)
    few = planner.plan(x, goal=1, objectives=["steps", "gower"], **EXACT)
    if not all_plans:
        assert near.status == dear.status == few.status == "infeasible"
        return 0
    first, second = min(all_plans)[:2], min((cost, gower) for gower, cost, _ in all_plans)
    both = planner.plan(x, goal=1, objectives=["gower", "steps"], **EXACT)
    assert (both.exact_gower, both.counts["steps"], both.exact_cost) == min((g, s, c) for g, c, s in all_plans)
    third = min((steps, gower, cost) for gower, cost, steps in all_plans)
    assert (near.exact_gower, near.exact_cost) == (near.exact_gower_bound, near.exact_lower_bound) == first
    assert near.gower == near.gower_bound and dear.gower == dear.gower_bound  # one number, rounded in one way
    assert (dear.exact_cost, dear.exact_gower) == (dear.exact_lower_bound, dear.exact_gower_bound) == second
    assert (few.counts["steps"], few.exact_gower, few.exact_cost) == third
    assert {near.status, dear.status, few.status} == {"optimal"}
    points = planner.front(x, "gower", goal=1, points=20, **EXACT).points
    for point in points:
        most = point.plan.exact_gower_limit or 1
        cheapest = min(cost for gower, cost, _ in all_plans if gower <= most)
        assert point.plan.exact_cost == point.plan.exact_lower_bound == cheapest
    assert (points[0].plan.exact_gower, points[-1].plan.exact_cost) == (first[0], second[0])
    return len(all_plans)


def test_ends_that_are_nearest_are_those_of_enumeration() -> None:
    assert sum(nearest_agrees(seed) > 1 for seed in (2, 17)) == 2


@pytest.mark.slow
def test_ends_that_are_nearest_in_many_worlds() -> None:
    assert sum(nearest_agrees(seed) > 1 for seed in (33, 38, 19, 29)) == 4


def test_counts_fronts_and_further_plans_are_those_of_enumeration() -> None:
    assert sum(agrees(seed) > 1 for seed in (2, 17, 20, 33, 38)) == 5


@pytest.mark.slow
def test_counts_fronts_and_further_plans_in_many_worlds() -> None:
    assert sum(agrees(seed) > 1 for seed in (19, 29, 34, 44)) == 4


@pytest.mark.parametrize("looks", [1, 2, 5, 10, 20])
def test_a_front_by_distance_says_where_the_time_was_over(looks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    planner, x = asked(2)
    assert x is not None
    whole = planner.front(x, "gower", goal=1, **EXACT).points
    nearest = planner.plan(x, goal=1, objectives="gower", **EXACT).exact_gower
    searched = aims.best

    def late(task: Any, wanted: Any, gap: Any, deadline: Any, *rest: Any) -> Any:
        # The cheapest plan is found in time, the nearest end is not.
        left = iter(range(looks))
        clock = Deadline(1.0, 0.0, lambda: -1.0 if next(left, None) is not None else 1.0)
        return searched(task, wanted, gap, clock if wanted[0] == "gower" else deadline, *rest)

    monkeypatch.setattr(aims, "best", late)
    points = planner.front(x, "gower", goal=1, **EXACT).points
    assert points[-1].plan.exact_cost == whole[-1].plan.exact_cost
    if points[0].plan.status != "optimal":  # else the nearest one was found before
        assert points[0].plan.why and points[0].plan.status in ("bounded", "unknown")
        assert points[0].plan.exact_gower is None or nearest <= points[0].plan.exact_gower < points[-1].plan.exact_gower
    assert looks > 1 or points[0].plan.status in ("bounded", "unknown")


def test_a_front_has_no_plan_that_costs_as_much_as_one_with_fewer_actions() -> None:
    space = mace.Space([mace.Feature("debt", "integer", 0, 9), mace.Feature("savings", "integer", 0, 9)])
    text = """
action ask:
    parameter v: int in [0, 1]
    savings = savings + v
    cost v
action pay:
    parameter v: int in [1, 9]
    debt = debt - v
    cost v
"""
    planner = mace.Planner("return 1 if debt <= 2 else 0\n", space, mace.World.read(text, space))
    for by in ("steps", "touching savings", "gower"):
        points = planner.front({"debt": 5, "savings": 3}, by, goal=1, **EXACT).points
        costs = [point.plan.exact_cost for point in points if point.plan.steps]
        assert costs == sorted(set(costs), reverse=True), by
    assert agrees(2045) > 1  # its cheapest plan of three actions takes one that costs nothing


WORLD = """
action save:
    parameter months: int in [1, 12]
    Savings = Savings + 300 * months
    cost months
action repay:
    before Debts > 0
    Debts = 0
    cost 20
"""
RICH = "return 1 if Savings >= 1500 and Debts <= 1500 else 0\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder: Path = tmp_path_factory.mktemp("plans")
    (folder / "saving.mace").write_text(WORLD)
    (folder / "rich.mace").write_text(RICH)
    typed = ["--data", "loans", "--model", str(folder / "rich.mace"), "--world", str(folder / "saving.mace")]
    return [*typed, "--goal", "1", "--format", "json"]


def test_an_audit_of_plans_counts_who_has_none(files: list[str]) -> None:
    loans = mace.datasets.load("loans")
    frame = loans.X.head(40)
    found = audit_plans(files[3], loans.space, frame, files[5], goal=1, groups=["Job"], horizon=1)
    lacking = frame[(frame.Savings < 1500) | (frame.Debts > 1500)]
    none = lacking[(lacking.Savings < 1500) & (lacking.Debts > 1500)]
    short = lacking[(lacking.Savings + 3600 < 1500)]
    assert found.rows == list(lacking.index)
    assert set(found.without) == set(none.index) | set(short.index)
    assert found.settled
    assert found.table.loc["all rows", "no plan"] == len(found.without) / len(lacking)
    assert found.table.loc[[name for name in found.table.index if name != "all rows"], "rows"].sum() == len(lacking)
    assert found.to_frame().status.tolist().count("infeasible") == len(found.without)
    assert f"{len(lacking)}" in str(found)
    with pytest.raises(MaceError, match="no column 'Jobs'"):
        audit_plans(files[3], loans.space, frame, files[5], goal=1, groups=["Jobs"])
    with pytest.raises(MaceError, match="needs a goal"):
        audit_plans(files[3], loans.space, frame, files[5])
    with pytest.raises(MaceError, match="every row has the goal"):
        audit_plans(files[3], loans.space, frame.drop(lacking.index), files[5], goal=1)
    with pytest.raises(MaceError, match="the frame has no rows"):
        audit_plans(files[3], loans.space, frame.iloc[:0], files[5], goal=1)


def test_fronts_and_audits_of_plans_on_the_command_line(files: list[str], tmp_path: Path) -> None:
    run = CliRunner()
    done = run.invoke(app, ["plan", *files, "--row", "0", "--front", "steps"])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["points"]
    done = run.invoke(app, ["plan", *files, "--row", "0", "--front", "gower", "--points", "3"])
    assert [point["plan"]["gower"] for point in json.loads(done.stdout)["points"]]
    done = run.invoke(app, ["plan", *files, "--row", "0", "--objectives", "steps,cost", "--count", "2"])
    told = json.loads(done.stdout)
    assert told["wanted"] == "approved"
    out = tmp_path / "plans.csv"
    done = run.invoke(app, ["audit", *files, "--limit", "3", "--horizon", "1", "--out", str(out)])
    assert done.exit_code == 0
    assert json.loads(done.stdout)["table"]["all rows"]["rows"] == 3
    assert len(pd.read_csv(out)) == 3
    done = run.invoke(app, ["audit", *files, "--out", str(tmp_path / "plans.parquet")])
    assert done.exit_code != 0


def test_the_least_distance_and_the_least_cost_within_it_have_certificates() -> None:
    planner = planner_of(2)
    rows = frame_of(planner.space, np.random.default_rng(1002), 12)
    x = rows[(rows.a + rows.b <= 18) & (planner.explainer.decisions(rows) != 1)].iloc[0]
    plan = planner.plan(x, goal=1, objectives="gower", **EXACT)
    for of, told in (("cost", "costs less than"), ("gower", "no plan of at most")):
        said = plan.certify(of=of).check()
        assert said.accepted
        assert told in said.claim
    with pytest.raises(CertificateError, match="not of 'steps'"):
        plan.certify(of="steps")
    with pytest.raises(CertificateError, match="nothing was proved"):
        planner.plan(x, goal=1, **EXACT).certify(of="gower")


def test_what_cannot_be_counted_is_refused(files: list[str]) -> None:
    loans = mace.datasets.load("loans")
    planner = mace.Planner(files[3], loans.space, files[5])
    x = loans.X.iloc[0]
    for settings, said in (
        ({"objectives": ["cost", "steps"]}, "'steps' after the cost would decide between equal costs alone"),
        ({"objectives": []}, "each once"),
        ({"objectives": ["steps", "steps"]}, "each once"),
        ({"objectives": 3}, "each once"),
        ({"objectives": ["stepz"]}, "counts nothing"),
        ({"objectives": ["touching Income"]}, "no action of the world `saving` touches 'Income'"),
        ({"avoid": ["Income"]}, "no action of the world `saving` touches 'Income'"),
        ({"count": 0}, "count must be a whole number >= 1"),
    ):
        with pytest.raises(MaceError, match=said):
            planner.plan(x, goal=1, **settings)  # type: ignore[arg-type]
    with pytest.raises(MaceError, match="counts nothing"):
        planner.front(x, "cost", goal=1)
    with pytest.raises(MaceError, match="points must be a whole number >= 2"):
        planner.front(x, "gower", goal=1, points=1)
