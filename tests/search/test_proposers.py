"""Proposers: what they find is real, obeys the question, and is as good as the method can be on small spaces."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.errors import MaceError
from mace.search.chart import Chart
from mace.search.dice import Dice
from mace.search.face import Face
from mace.search.genetic import Genetic
from mace.search.neighbourhoods import Neighbourhoods
from mace.search.observed import MinimumObservable
from mace.search.recourse import ActionableRecourse
from mace.search.registry import PROPOSERS
from mace.search.spheres import GrowingSpheres
from mace.search.swarm import Swarm
from mace.search.tabu import Tabu
from mace.search.tweaking import FeatureTweaking, demands, goal_leaves
from mace.space.feature import Feature
from mace.space.space import Space

SPACE = Space(
    [
        Feature("a", "integer", 0, 6),
        Feature("b", "integer", 0, 6, change="increase"),
        Feature("c", "categorical", levels=["u", "v", "w"]),
        Feature("d", "ordinal", levels=[0, 1, 2], change="fixed"),
    ]
)
EVERY = pd.DataFrame(
    [*itertools.product(range(7), range(7), "uvw", range(3))], columns=["a", "b", "c", "d"]
)  # fmt: skip


WRONG: list[tuple[type, dict[str, Any], str]] = [
    (Swarm, {"particles": 0}, "particles is a whole number >= 1; got 0"),
    (Swarm, {"particles": 2.5}, "particles"),
    (Swarm, {"active": 0}, "active is a whole number >= 1, or None"),
    (Swarm, {"box": -0.1}, "box is a number >= 0, or None"),
    (Swarm, {"box": math.nan}, "box"),
    (Swarm, {"choose": "worst"}, "choose is one of 'best', 'history', 'kmeans'; got 'worst'"),
    (Swarm, {"objective": None}, "objective"),
    (Swarm, {"logarithm": "no"}, "logarithm is True or False"),
    (Genetic, {"kind": "nsga3"}, "kind"),
    (Face, {"graph": "mst"}, "graph"),
    (Face, {"radius": -1}, "radius"),
    (GrowingSpheres, {"step": 0}, "step is a number > 0"),  # which would never end
    (Tabu, {"moves": True}, "moves"),
    (Neighbourhoods, {"patience": 0}, "patience"),
    (Dice, {"method": "gradient"}, "method"),
    (MinimumObservable, {"batch": 0}, "batch"),
    (ActionableRecourse, {"bins": 0}, "bins"),
    (FeatureTweaking, {"epsilon": math.inf}, "epsilon"),
]


@pytest.mark.parametrize(("proposer", "settings", "said"), WRONG)
def test_a_setting_that_makes_no_sense_is_refused_by_its_name(
    proposer: type, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(MaceError, match=f"{proposer.__name__}: {said}"):
        proposer(**settings)


def test_numbers_of_numpy_are_settings() -> None:
    assert Swarm(particles=np.int64(3), box=np.float32(0.5), active=None)  # type: ignore[arg-type]
    assert Tabu(size=0, observed=0)
    assert {type(make()) for make in PROPOSERS.values()} == {proposer for proposer, _, _ in WRONG}


def labels(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    noise = rng.normal(scale=0.7, size=len(EVERY))
    score = EVERY.a + 1.5 * EVERY.b - 2 * (EVERY.c == "v") + EVERY.d + noise
    return (score > np.quantile(score, 0.7)).astype(int)


def fitted(model: Any, seed: int = 0) -> Any:
    return model.fit(SPACE.encode(EVERY), labels(seed))


def start_of(model: Any) -> pd.Series[Any]:
    rejected = EVERY[model.predict(SPACE.encode(EVERY)) == 0]
    return rejected.iloc[len(rejected) // 3]


def nearest_of(explainer: mace.Explainer, model: Any, x: pd.Series[Any], rows: pd.DataFrame) -> float | None:
    """The least distance of the given rows that have the goal and are allowed."""
    question, _ = explainer.question(x, 1)
    good = rows[model.predict(SPACE.encode(rows)) == 1]
    cells = zip(*SPACE.read(good), strict=True)
    points = [tuple(int(cell) for cell in row if cell is not None) for row in cells]
    return min((float(question.distance_of(p)) for p in points if question.obeys(p)), default=None)


def check(explainer: mace.Explainer, model: Any, x: pd.Series[Any], found: Any) -> None:
    question, _ = explainer.question(x, 1)
    assert model.predict(SPACE.encode(pd.DataFrame([found.best.values])))[0] == 1
    scores = [one.score for one in found.trace]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == len(scores)
    assert all(question.obeys(one.point) for one in found.trace)
    assert found.best.exact_distance == found.trace[-1].distance


@pytest.mark.parametrize("distance", ["l0", "l1", "linf"])
def test_the_minimum_observable_is_the_nearest_allowed_row_with_the_goal(distance: str) -> None:
    model = fitted(RandomForestClassifier(5, random_state=0))
    rows = EVERY.sample(80, random_state=1)
    explainer = mace.Explainer(model, SPACE, background=rows, distance=distance)
    x = start_of(model)
    found = explainer.propose(x, "mo", goal=1)
    assert found.counterfactuals == [found.best]
    check(explainer, model, x, found)
    assert found.best.distance == nearest_of(explainer, model, x, rows)
    assert found.calls <= len(rows)


def test_what_is_proposed_moves_to_the_nearest_allowed_value() -> None:
    space = Space([*SPACE.features, Feature("e", "ordinal", levels=[0, 1, 2, 3], change="increase")])
    model = RandomForestClassifier(2, random_state=0).fit(space.encode(EVERY.assign(e=EVERY.d)), labels(0))
    question, _ = mace.Explainer(model, space).question({"a": 2, "b": 3, "c": "v", "d": 1, "e": 1}, 0)
    chart = Chart(question)
    rows = np.array([[2.4, 9.0, 0.5, 2.0, 0.0], [np.nan, 1.0, 7.0, 0.0, 2.5], [-3.0, 4.5, np.nan, 1.0, 2.6]])
    moved = [[2, 6, 0, 1, 1], [2, 3, 2, 1, 2], [0, 4, 1, 1, 3]]  # in the middle between two levels: the lower one
    assert chart.snap(rows).tolist() == moved
    assert [chart.snap_column(j, rows[:, j]).tolist() for j in range(5)] == np.transpose(moved).tolist()


def test_leaves_that_demand_the_same_of_a_column_are_moved_together() -> None:
    model = fitted(RandomForestClassifier(5, random_state=0))
    question, _ = mace.Explainer(model, SPACE).question(start_of(model), 1)
    leaves = goal_leaves(question.model, question.goal.decision)
    for places in ((0,), (2, 3, 4), (1, 5)):
        (above, most), which = demands(question.model, question.goal.decision, places)
        assert np.array_equal(above[which], leaves.above[:, places])
        assert np.array_equal(most[which], leaves.most[:, places])
        assert len(above) < len(which)


@pytest.mark.parametrize("distance", ["l0", "l1", "linf"])
def test_plausible_tweaking_of_one_tree_is_exact(distance: str) -> None:
    model = fitted(DecisionTreeClassifier(random_state=0))
    explainer = mace.Explainer(model, SPACE, distance=distance)
    x = start_of(model)
    found = explainer.propose(x, "pft", goal=1)
    check(explainer, model, x, found)
    assert found.best.distance == nearest_of(explainer, model, x, EVERY)


def test_tweaking_of_a_forest_finds_points_that_flip_it() -> None:
    model = fitted(RandomForestClassifier(5, random_state=0))
    explainer = mace.Explainer(model, SPACE)
    x = start_of(model)
    best = nearest_of(explainer, model, x, EVERY)
    assert best is not None
    found = [explainer.propose(x, one, goal=1) for one in ("ft", "pft", FeatureTweaking(every=True))]
    for one in found:
        check(explainer, model, x, one)
        assert one.best.distance >= best
    assert found[2].best.distance >= found[1].best.distance  # numbers that pass their tests are moved too


@pytest.mark.parametrize("distance", ["l0", "l1", "linf"])
def test_large_neighbourhoods_of_a_forest_hold_the_nearest_point_here(distance: str) -> None:
    model = fitted(RandomForestClassifier(5, random_state=0))
    explainer = mace.Explainer(model, SPACE, distance=distance, rules=["a != 4 or b == 3"])
    x = start_of(model)
    found = explainer.propose(x, "lns", goal=1, steps=100)
    check(explainer, model, x, found)
    assert found.best.distance == nearest_of(explainer, model, x, EVERY)
    assert found.calls < 20  # it asks about what it proposes, and nothing else
    assert explainer.propose(x, "lns", goal=1, steps=100).trace[-1].point == found.trace[-1].point
    few = explainer.propose(x, "lns", goal=1, steps=100, most_changes=1)
    assert few.best is None or len(few.best.changes) == 1


@pytest.mark.parametrize("distance", ["l0", "l1", "linf"])
def test_recourse_on_the_whole_grid_is_exact(distance: str) -> None:
    model = fitted(LogisticRegression())
    explainer = mace.Explainer(model, SPACE, distance=distance, rules=["a != 4"])
    x = start_of(model)
    found = explainer.propose(x, "ar", goal=1)
    check(explainer, model, x, found)
    assert found.best.distance == pytest.approx(nearest_of(explainer, model, x, EVERY), abs=1e-12)


def test_a_limit_of_calls_is_kept_and_said() -> None:
    model = fitted(RandomForestClassifier(5, random_state=0))
    found = mace.Explainer(model, SPACE, background=EVERY).propose(start_of(model), "mo", goal=1, max_calls=1)
    assert found.calls == 1
    assert found.why == "limit of calls (1)"
    assert found.best is None


@pytest.mark.parametrize(
    ("proposer", "settings", "words"),
    [
        ("mo", {}, "it looks among background rows, and there are none"),
        ("pft", {}, "it reads the trees of an ensemble"),
        ("best", {}, "unknown proposer 'best'"),
        (3, {}, "a proposer is a name or an object of mace.search, got 3"),
        ("ar", {"max_calls": 0}, "max_calls must be a whole number > 0"),
        ("ar", {"steps": 0}, "the number of steps must be at least 1"),
        ("ar", {"random_state": -1}, "random_state must be a whole number >= 0"),
        ("ar", {"constrained": ["z"]}, "there is no feature `z`"),
    ],
)
def test_what_a_proposer_cannot_do_is_one_message(proposer: Any, settings: dict[str, Any], words: str) -> None:
    model = fitted(LogisticRegression())
    with pytest.raises(MaceError, match=words):
        mace.Explainer(model, SPACE).propose(start_of(model), proposer, goal=1, **settings)
