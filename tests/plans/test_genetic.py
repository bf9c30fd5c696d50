"""The published search proposes plans that are real, and never cheaper than what is proved."""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import pytest

from mace.base.deadline import Deadline
from mace.errors import MaceError
from mace.plans.genetic import Settings, search
from mace.plans.search import Search
from mace.plans.task import task_of
from tests.plans.small_worlds import frame_of
from tests.plans.test_search import planner_of

pytest.importorskip("pymoo")


def test_a_plan_of_the_genetic_search_is_where_the_proved_search_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    planner = planner_of(2)
    rows = frame_of(planner.space, np.random.default_rng(1002), 12)
    x = rows[(rows.a + rows.b <= 18) & (planner.explainer.decisions(rows) != 1)].iloc[0]
    small = partial(search, settings=Settings(population=30, generations=6))
    monkeypatch.setattr("mace.plans.genetic.search", small)
    offered: list[object] = []
    accept = Search.offer
    monkeypatch.setattr(Search, "offer", lambda self, plan: (offered.append(plan), accept(self, plan)))
    exact = {"goal": 1, "gap": 0, "rgap": 0, "timeout": None}
    plan = planner.plan(x, proposer="brkga", **exact)  # type: ignore[arg-type]
    assert offered
    assert plan.exact_cost == plan.exact_lower_bound == planner.plan(x, **exact).exact_cost  # type: ignore[arg-type]
    with pytest.raises(MaceError, match="no proposer of plans is called 'brgka'"):
        planner.plan(x, proposer="brgka", **exact)  # type: ignore[arg-type]


def test_the_genetic_search_ends_at_its_deadline() -> None:
    planner = planner_of(2)
    rows = frame_of(planner.space, np.random.default_rng(1002), 12)
    x = rows[(rows.a + rows.b <= 18) & (planner.explainer.decisions(rows) != 1)].iloc[0]
    task, endless = task_of(planner.explainer, planner.world, x, 1, None, True), Settings(generations=10**6)
    for seconds in (0.1, 1.0):
        began = time.monotonic()
        search(task, endless, Deadline.after(seconds))
        assert time.monotonic() - began < seconds + 2  # a flag on what had been copied ended nothing


@pytest.mark.slow
def test_what_the_genetic_search_proposes_is_no_cheaper_than_the_proved_optimum() -> None:
    planner = planner_of(1)
    rows = frame_of(planner.space, np.random.default_rng(1), 30)
    said = planner.explainer.decisions(rows)
    compared = 0
    for k in range(30):
        if said[k] == 1 or rows.a[k] + rows.b[k] > 18 or compared == 2:
            continue
        proved = planner.plan(rows.iloc[k], goal=1, gap=0, rgap=0)
        task = task_of(planner.explainer, planner.world, rows.iloc[k], 1, None, True)
        front = search(task, Settings(population=30, generations=6))
        if proved.status == "infeasible":
            assert not front
        elif front:
            compared += 1
            assert front[0].plan.cost >= proved.exact_cost
            assert task.question.has_goal(front[0].plan.end)
            again = search(task, Settings(population=30, generations=6))
            assert [one.objectives for one in again] == [one.objectives for one in front]
    assert compared
