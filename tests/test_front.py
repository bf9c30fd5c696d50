"""The points of a front are those that enumeration through `predict` leaves, and every cell is proved to be empty."""

from __future__ import annotations

import itertools
import json
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.errors import MaceError
from mace.space.feature import Feature
from mace.space.space import Space
from tests.small_spaces import MIXED as SPACE
from tests.small_spaces import MIXED_ROWS as ROWS

MODELS = {
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(10, max_depth=5, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=12, max_depth=2, random_state=0),
    "logistic": LogisticRegression(max_iter=500),
}
PRICES = {"a": 3, "b": 8, "c": 5, "d": 1}


def fitted(name: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    score = ROWS.a * rng.normal() + 4 * ROWS.b * rng.normal() + 3 * (ROWS.c == "y") + ROWS.d * rng.normal()
    score += rng.normal(size=len(ROWS)) * 2
    return MODELS[name].fit(SPACE.encode(ROWS), (score > score.quantile(0.8)).astype(int))


def measured(rows: pd.DataFrame, row: pd.Series[Any]) -> pd.DataFrame:
    """Every objective of every row."""
    deltas = np.array(
        [abs(rows.a - row.a) / 6, abs(rows.b - row.b), (rows.c != row.c).astype(float), abs(rows.d - row.d) / 6]
    )
    money = 3 * abs(rows.a - row.a) + 8 * abs(rows.b - row.b) + 5 * (rows.c != row.c) + abs(rows.d - row.d)
    return pd.DataFrame(
        {"l1": deltas.mean(axis=0), "changes": (deltas > 0).sum(axis=0), "linf": deltas.max(axis=0), "cost": money}
    )


def unbeaten(values: np.ndarray[Any, Any]) -> set[tuple[float, ...]]:
    """The rows of a table of values that no other row beats, rounded."""
    kept = set(map(tuple, values.round(9)))
    return {
        one
        for one in kept
        if not any(other != one and all(b <= a for a, b in zip(one, other, strict=True)) for other in kept)
    }


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("names", [("l1", "changes"), ("changes", "l1", "linf"), ("cost", "linf"), ("l1", "cost")])
def test_a_front_is_that_of_enumeration(name: str, names: tuple[str, ...]) -> None:
    seed = len(names[0]) + len(name)
    model = fitted(name, seed)
    said = model.predict(SPACE.encode(ROWS))
    row = ROWS[said == 0].iloc[seed * 7]
    rows = ROWS[(said == 1) & (ROWS.d >= row.d)]
    expected = unbeaten(measured(rows, row)[list(names)].to_numpy(dtype=np.float64))
    specs = [mace.Objective("cost", prices=PRICES) if one == "cost" else one for one in names]
    found = mace.front(model, SPACE, row, objectives=specs)
    assert found.status == ("optimal" if expected else "infeasible")
    assert {tuple(round(point.objectives[one], 9) for one in names) for point in found.points} == expected
    for point in found.points:
        assert all(level.certificate.check().accepted for level in point.levels)
        assert model.predict(SPACE.encode(pd.DataFrame([point.counterfactual.values])))[0] == 1
    assert all(cell.level.certificate.check().accepted for cell in found.empty)


def test_a_point_found_in_one_zone_hides_none_in_another_where_the_first_objective_is_less() -> None:
    space = Space(
        [
            Feature("a", "categorical", levels=["x", "y", "z"], encoding="codes"),
            Feature("b", "real", 0, 0.4, step="0.1"),
            Feature("c", "integer", 1, 2),
            Feature("d", "ordinal", levels=["p", "q", "r", "s"]),
        ]
    )
    rows = pd.DataFrame(
        list(itertools.product("xyz", (0, 0.1, 0.2, 0.3, 0.4), (1, 2), "pqrs")), columns=["a", "b", "c", "d"]
    )
    model = DecisionTreeClassifier(random_state=0).fit(space.encode(rows), rows.c == 1)
    there = pd.DataFrame(
        {"a": list("yyzzz"), "b": [0.0, 0.2, 0.1, 0.1, 0.3], "c": 1, "d": list("pqrrr")}, columns=list(rows)
    )
    row, good = pd.Series({"a": "z", "b": 0.2, "c": 2, "d": "p"}), rows[rows.c == 1]

    def far(one: Any) -> pd.Series[Any]:
        ranks = abs(good.d.map("pqrs".index) - "pqrs".index(one.d)) / 3
        return ((good.a != one.a) + abs(good.b - one.b) / 0.4 + abs(good.c - one.c) + ranks) / 4

    changes = (good.a != row.a).astype(float) + (good.b != row.b) + (good.c != row.c) + (good.d != row.d)
    near = pd.concat([far(one) for _, one in there.iterrows()], axis=1).min(axis=1)
    expected = unbeaten(pd.DataFrame({"changes": changes, "near": near, "l1": far(row)}).to_numpy(dtype=np.float64))
    names = ["changes", "plausibility", "l1"]
    found = mace.front(model, space, row, goal=True, objectives=names, background=there)
    assert found.status == "optimal" and len(expected) > 3
    assert {tuple(round(point.objectives[one], 9) for one in names) for point in found.points} == expected


def test_a_front_is_shown_in_four_ways() -> None:
    mpl.use("Agg")
    model = fitted("forest", 4)
    row = ROWS[model.predict(SPACE.encode(ROWS)) == 0].iloc[0]
    found = mace.front(model, SPACE, row, objectives=["linf", "changes"])
    assert "proved: these are all" in str(found)
    assert list(found.to_frame().columns) == ["a", "b", "c", "d", "linf", "changes"]
    assert json.loads(json.dumps(found.to_dict()))["objectives"] == ["linf", "changes"]
    assert found._repr_html_().count("<tr>") == len(found.points) + 1
    assert found.plot().alt.count(";") == len(found.points) - 1


def test_a_front_that_is_left_open_says_so() -> None:
    model = fitted("forest", 4)
    refused = ROWS[model.predict(SPACE.encode(ROWS)) == 0]
    fronts = (mace.front(model, SPACE, row) for _, row in refused.iloc[::20].iterrows())
    place = next(place for place, found in enumerate(fronts) if len(found.points) > 1)
    found = mace.front(model, SPACE, refused.iloc[20 * place], most=1)
    assert (found.status, found.why, len(found.points)) == ("bounded", "1 point was found", 1)


@pytest.mark.parametrize(
    ("objectives", "message"),
    [
        (["l1"], "two or three objectives"),
        (["l1 within 1%", "changes"], "have no tolerance"),
        (["shortfall", "l1"], "none of them the shortfall"),
        (["l1", "l1"], "one name"),
    ],
)
def test_what_is_no_front_is_refused(objectives: list[str], message: str) -> None:
    with pytest.raises(MaceError, match=message):
        mace.front(fitted("tree", 0), SPACE, ROWS.iloc[0], objectives=objectives)


@pytest.mark.parametrize("most", [0, -1])
def test_a_front_of_no_points_is_refused(most: int) -> None:
    with pytest.raises(MaceError, match=f"most must be a whole number >= 1, .* got {most}"):
        mace.front(fitted("tree", 0), SPACE, ROWS.iloc[0], most=most)
