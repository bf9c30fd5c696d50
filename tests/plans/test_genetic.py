"""The published search proposes plans that are real, and never cheaper than what is proved."""

from __future__ import annotations

import numpy as np
import pytest

from mace.plans.genetic import Settings, search
from mace.plans.task import task_of
from tests.plans.small_worlds import frame_of
from tests.plans.test_search import planner_of

pytest.importorskip("pymoo")


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
