"""Three roads to the cheapest plan: the search, z3 on the unrolled world, and enumeration of all plans."""

from __future__ import annotations

import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import mace
from mace.base.deadline import Deadline
from mace.errors import MaceError
from mace.plans.task import task_of
from tests.plans.small_worlds import KINDS, curved_text, frame_of, hard_text, least, model_of, space_of
from tests.plans.test_worlds import FIGURE_2, MODEL, SPACE, START
from tests.plans.unrolled import cheapest, unrollable


def hard_planner(seed: int, *, curved: bool = False) -> mace.Planner:
    """A small model that refuses about half of all rows, and a world of corner cases, or of costs that divide."""
    rng = np.random.default_rng(seed)
    space = space_of(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = model_of(KINDS[seed % 4], space, rng, 0.45, layers=(4,))
    return mace.Planner(model, space, mace.World.read(curved_text(rng) if curved else hard_text(rng, space), space))


def refused(planner: mace.Planner, seed: int) -> pd.DataFrame:
    """Rows that the model refuses."""
    rows = frame_of(planner.space, np.random.default_rng(seed + 1000), 30)
    rows = rows[rows.a + rows.b <= 18]
    return rows[planner.explainer.decisions(rows) != 1]


def two_agree(seed: int, *, curved: bool = False) -> str:
    planner = hard_planner(seed, curved=curved)
    horizon = 1 + seed % len(planner.world.actions)
    for _, x in refused(planner, seed).head(1).iterrows():
        found = planner.plan(x, goal=1, horizon=horizon, gap=0, rgap=0, timeout=None)
        wanted = least(planner, x, 1, horizon)
        assert found.exact_cost == wanted
        assert found.status == ("infeasible" if wanted is None else "optimal")
        return found.status
    return "nobody is refused"


def three_agree(seed: int) -> str:
    planner = hard_planner(seed)
    for _, x in refused(planner, seed).head(1).iterrows():
        horizon = min(2, len(planner.world.actions))
        task = task_of(planner.explainer, planner.world, x, 1, horizon, True)
        if unrollable(task) is not None:
            return "not for solvers"
        found = planner.plan(x, goal=1, horizon=horizon, gap=0, rgap=0, timeout=None)
        solved = cheapest(task, Deadline.asked(20))
        if not solved.proved:
            return "open"
        assert found.exact_cost == least(planner, x, 1, horizon) == (solved.plan.cost if solved.plan else None)
        return found.status
    return "nobody is refused"


def test_figure_2_by_the_solvers() -> None:
    planner = mace.Planner(MODEL, SPACE, mace.World.read(FIGURE_2, SPACE))
    solved = cheapest(task_of(planner.explainer, planner.world, START, 1, None, True))
    assert solved.plan is not None
    assert solved.proved
    assert solved.plan.cost == Fraction("22.5")
    assert [step.action for step in solved.plan.steps] == ["study", "move", "job"]


def test_the_search_solvers_and_enumeration_agree() -> None:
    assert three_agree(44) == "optimal"


def test_corner_cases_of_worlds_by_enumeration() -> None:
    assert {"optimal", "infeasible"} <= {two_agree(seed) for seed in range(40, 46)}


def test_costs_that_divide_by_enumeration() -> None:
    assert {"optimal", "infeasible"} <= {two_agree(seed, curved=True) for seed in (3, 5, 7)}


@pytest.mark.slow
def test_many_costs_that_divide_by_enumeration() -> None:
    assert Counter(two_agree(seed, curved=True) for seed in range(10, 19))["optimal"] > 1


@pytest.mark.slow
def test_many_corner_cases_of_worlds_by_enumeration() -> None:
    assert Counter(map(two_agree, range(100, 130)))["optimal"] > 3


@pytest.mark.slow
def test_many_worlds_by_three_roads() -> None:
    said = Counter(map(three_agree, range(60, 76)))
    assert said["optimal"] > 1
    assert said["open"] < 6


def test_what_solvers_cannot_be_asked_is_said() -> None:
    world = mace.World.read("action pay:\n    parameter v: int in [0, 900]\n    debt = v / 9\n    cost v\n", SPACE)
    planner = mace.Planner(MODEL, SPACE, world)
    with pytest.raises(MaceError, match="901 actions with values"):
        cheapest(task_of(planner.explainer, world, START, 1, None, True))
