"""The heuristics that sample: what they promise of their own, and that they find what is there."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.errors import MaceError
from mace.search.chart import Chart
from mace.search.face import Face, embedded
from mace.search.genetic import Genetic
from mace.search.registry import PROPOSERS
from mace.search.spheres import GrowingSpheres
from mace.search.swarm import Coder, Swarm, information_values
from mace.search.tabu import Tabu
from mace.space.feature import Feature
from mace.space.space import Space

SPACE = Space(
    [
        Feature("a", "real", -2, 3),
        Feature("b", "real", 0, 10, step="0.5"),
        Feature("c", "categorical", levels=["u", "v", "w"]),
        Feature("d", "ordinal", levels=["low", "mid", "high"]),
        Feature("e", "integer", 0, 9, change="fixed"),
        Feature("f", "real", 0, 1, missing="any"),
    ]
)
SAMPLED: list[Any] = [
    Tabu(patience=10), Swarm(iterations=20), GrowingSpheres(samples=100, step=0.1), Face(), Face("radius", radius=1.2),
    Genetic(generations=20), Genetic("ga", generations=20),
]  # fmt: skip


@pytest.fixture(scope="module")
def asked() -> Any:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": rng.uniform(-2, 3, 300),
            "b": rng.integers(0, 21, 300) / 2,
            "c": rng.choice(list("uvw"), 300),
            "d": rng.choice(["low", "mid", "high"], 300),
            "e": rng.integers(0, 10, 300),
            "f": rng.uniform(0, 1, 300),
        }
    )

    def model(rows: pd.DataFrame) -> Any:
        return rows.a + rows.b / 5 + (rows.c == "v") + (rows.d == "high") + rows.f.fillna(0.5) > 4.3

    return model, X, X[~model(X)].iloc[1]


@pytest.mark.parametrize("proposer", SAMPLED, ids=lambda proposer: proposer.name)
def test_points_obey_the_question_and_get_better_and_repeat(proposer: Any, asked: Any) -> None:
    model, X, x = asked
    brackets: list[Any] = []
    settings: Any = {"goal": True, "background": X, "max_calls": 2500, "proposer": proposer, "rules": ["b >= 1"]}
    answer = mace.explain(model, SPACE, x, **settings, callback=brackets.append)
    (found,) = answer.counterfactuals
    assert model(pd.DataFrame([found.values]))[0]
    assert found.values["e"] == x["e"]
    assert found.values["b"] >= 1
    assert found.values["b"] % 0.5 == 0
    assert np.diff([float(bracket.upper) for bracket in brackets]).max(initial=-1) <= 1e-9
    again = mace.explain(model, SPACE, x, **settings)
    assert again.counterfactuals == answer.counterfactuals
    assert again.calls == answer.calls


def test_every_proposer_has_a_name_of_its_own() -> None:
    assert {name: make().name for name, make in PROPOSERS.items()} == {name: name for name in PROPOSERS}


def test_a_chart_names_the_points_of_its_rows() -> None:
    start = {"a": 0.1, "b": 3.7, "c": "v", "d": "mid", "e": 4, "f": None}
    axes = SPACE.axes(start)
    from mace.problem.around import Neighbourhood
    from mace.problem.distance import norm

    place = Neighbourhood(SPACE, axes, norm("l1", 6))
    chart = Chart(place)
    assert chart.point(chart.start) == place.start
    rng = np.random.default_rng(1)
    rows = np.vstack([chart.uniform(rng, 50), chart.snap(chart.start)])
    for row, values, distance, delta in zip(
        rows, chart.values(rows), chart.distances(rows), chart.deltas(rows), strict=True
    ):
        point = chart.point(row)
        assert place.obeys(point)
        assert place.values(point) == values
        assert distance == pytest.approx(float(place.distance_of(point)), abs=1e-12)
        assert delta == pytest.approx([float(one) for one in place.deltas(point)], abs=1e-12)
        assert (chart.changed(row[None])[0] == [j in place.changed(point) for j in range(6)]).all()
    assert chart.fitted(rows).fit.all()
    assert not chart.fitted(np.array([[0.1, 3.3, 1, 1, 4, 0.5]])).fit.any()  # 3.3 is no multiple of 0.5
    assert not chart.fitted(np.array([[0.1, 3.5, 1, 1, 5, 0.5]])).fit.any()  # e is fixed


def test_information_values_by_hand() -> None:
    space = Space([Feature("a", "categorical", levels=["u", "v"]), Feature("b", "integer", 0, 9)])
    from mace.problem.around import Neighbourhood
    from mace.problem.distance import norm

    chart = Chart(Neighbourhood(space, space.axes({"a": "u", "b": 1}), norm("l1", 2)))
    rows = np.array([[0, 3]] * 3 + [[1, 3]] + [[0, 3]] + [[1, 3]] * 3, dtype=float)
    good = np.array([True] * 4 + [False] * 4)
    expected = (0.75 - 0.25) * np.log(3) + (0.25 - 0.75) * np.log(1 / 3)
    assert information_values(chart, rows, good) == pytest.approx([expected, 0])
    literal = (0.75 - 0.25) * 3 + (0.25 - 0.75) / 3
    assert information_values(chart, rows, good, logarithm=False) == pytest.approx([literal, 0])


def test_the_swarm_keeps_to_its_active_set_and_box_and_gives_several(asked: Any) -> None:
    model, X, x = asked
    every: list[pd.DataFrame] = []

    def watched(rows: pd.DataFrame) -> Any:
        every.append(rows)
        return model(rows)

    swarm = Swarm(particles=12, iterations=6, active=2, box=0.5)
    mace.explain(watched, SPACE, x, goal=True, background=X, proposer=swarm)
    rows = pd.concat(every[2:])  # after the start and the background
    changed = {name for name in SPACE.names if (rows[name] != x[name]).any()}
    assert len(changed) == 2
    for name in changed & {"a", "b", "f"}:
        low, high = float(SPACE[name].lower), float(SPACE[name].upper)
        room = 0.5 * (x[name] - low) + 0.25  # and half a step
        assert rows[name].between(max(low, x[name] - room), min(high, x[name] + room)).all()


def test_a_swarm_gives_as_many_answers_as_it_has_clusters() -> None:
    X = pd.DataFrame({"a": np.linspace(0, 1, 50), "b": np.linspace(1, 0, 50)})
    space = Space([Feature("a", "real", 0, 1), Feature("b", "real", 0, 1)])
    model = LogisticRegression(C=100).fit(X, (X.a > 0.6).astype(int))
    explainer = mace.Explainer(model, space, background=X)
    found = explainer.propose(X.iloc[5], Swarm(particles=20, iterations=15, count=4), goal=1)
    assert found.counterfactuals == found.several and str(found).count("Counterfactual(") == len(found.several)
    assert "nothing is proved" in str(found)
    assert found.offered == 4
    assert found.best is not None
    assert all(model.predict(pd.DataFrame([one.values]))[0] == 1 for one in found.several)


def test_face_goes_through_rows_and_ends_at_one(asked: Any) -> None:
    model, X, x = asked
    answer = mace.explain(model, SPACE, x, goal=True, background=X, proposer=Face(neighbours=10))
    if answer.counterfactuals:
        values = answer.counterfactuals[0].values
        assert (X[list(values)] == pd.Series(values)).all(axis=1).any()
    chart_rows = np.array([[0.0, 1, 0, 0, 3, 0.5], [0.0, 1, 1, 0, 3, 0.5]])
    from mace.problem.around import Neighbourhood
    from mace.problem.distance import norm

    chart = Chart(Neighbourhood(SPACE, SPACE.axes(x), norm("l1", 6)))
    one, other = embedded(chart, chart_rows)
    assert np.linalg.norm(one - other) == pytest.approx(1)  # another level counts as the whole range


def test_spheres_grow_from_the_start(asked: Any) -> None:
    model, _, x = asked
    answer = mace.explain(model, SPACE, x, goal=True, proposer=GrowingSpheres(samples=200, step=0.1))
    assert answer.status == "bounded"
    assert answer.why == "the search came to its own end"


def test_a_vector_and_its_row_are_one() -> None:
    from mace.problem.around import Neighbourhood
    from mace.problem.distance import norm

    chart = Chart(
        Neighbourhood(SPACE, SPACE.axes({"a": 0.1, "b": 3.5, "c": "v", "d": "mid", "e": 4, "f": 0.5}), norm("l1", 6))
    )
    coder = Coder(chart, chart.free)
    rows = chart.uniform(np.random.default_rng(0), 20)
    assert np.array_equal(coder.rows(coder.code(rows)), rows, equal_nan=True)
    rows[::2, 5] = np.nan
    assert np.array_equal(coder.rows(coder.code(rows)), rows, equal_nan=True)


@pytest.mark.parametrize("proposer", [Swarm(iterations=40), Genetic("ga", generations=40), GrowingSpheres()])
def test_a_number_that_is_missing_may_stay_so(proposer: Any) -> None:
    """Vectors said 0 for it, so that every row that lacks a number was given one."""
    space = Space([Feature("a", "real", 0, 1), Feature("b", "real", 0, 1, missing="any")])
    answer = mace.explain(
        lambda rows: (rows.a > 0.4) & rows.b.isna(), space, {"a": 0.3, "b": None}, goal=True,
        proposer=proposer, max_calls=9000,
    )  # fmt: skip
    (found,) = answer.counterfactuals
    assert list(found.changes) == ["a"]


def test_tabu_finds_the_optimum_of_a_tree_beside_brute_force() -> None:
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.integers(0, 12, (200, 4)), columns=list("abcd"))
    space = Space([Feature(name, "integer", 0, 11) for name in "abcd"])
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, (X.a + X.b - X.c > 8).astype(int))
    explainer = mace.Explainer(model, space)
    for row in X[model.predict(X) == 0].iloc[:2].to_dict("records"):
        found = explainer.propose(row, Tabu(patience=60), goal=1)
        exact = explainer.propose(row, "pft", goal=1)  # of one tree it is exact
        assert found.best is not None
        assert exact.best is not None
        assert found.best.exact_distance == exact.best.exact_distance


@pytest.mark.skipif(importlib.util.find_spec("dice_ml") is not None, reason="DiCE is installed")
def test_dice_says_what_to_install(asked: Any) -> None:
    model, X, x = asked
    with pytest.raises(MaceError, match="DiCE's, which is not installed") as caught:
        mace.explain(model, SPACE, x, goal=True, background=X, proposer="dice-random")
    assert "pip install 'dice-ml'" in str(caught.value)


def test_pymoo_says_what_to_install(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _, x = asked
    monkeypatch.setattr("mace.search.extra.find_spec", lambda module: None)
    with pytest.raises(MaceError, match="pymoo's, which is not installed") as caught:
        mace.explain(model, SPACE, x, goal=True, proposer=Genetic())
    assert "pip install 'mace-smt[search]'" in str(caught.value)
