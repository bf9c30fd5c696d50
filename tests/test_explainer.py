"""Many rows of a frame are answered as each would be alone, and what they share is done once."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.base.deadline import Deadline
from mace.errors import RowError
from mace.explain.nearest import search
from mace.solve.protocol import Limits
from mace.space.feature import Feature
from mace.space.space import Space
from tests.clocks import Hand

SPACE = Space(
    [
        Feature("age", "integer", 18, 40, change="increase"),
        Feature("job", "categorical", levels=("none", "clerk", "cook")),
        Feature("debt", "real", 0, 10, step=0.5),
    ]
)
PEOPLE = pd.DataFrame(
    {
        "age": [18, 25, 18, 40, 33, 25, 18],
        "job": ["none", "cook", "none", "clerk", "cook", "cook", "clerk"],
        "debt": [9.5, 2.0, 9.5, 0.0, 7.5, 2.0, 9.5],
        "ignored": list("abcdefg"),
    },
    index=["r", "s", "t", "u", "v", "w", "r"],  # a name may stand twice
)
DIFFERENT = 5  # rows that are unlike one another


def fitted(kind: str) -> Any:
    random = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": random.integers(18, 41, 200),
            "job": random.choice(["none", "clerk", "cook"], 200),
            "debt": random.integers(0, 21, 200) / 2,
        }
    )
    y = (frame["age"] / 10 + (frame["job"] == "cook") - frame["debt"] / 3 > 1.5).astype(int)
    model = {
        "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
        "forest": RandomForestClassifier(5, max_depth=4, random_state=0),
        "network": MLPClassifier((4,), max_iter=300, random_state=0),
    }[kind]
    return model.fit(SPACE.encode(frame), y), frame


def without_clocks(answer: mace.Answer) -> dict[str, Any]:
    found = answer.to_dict() | {"seconds": 0}
    return found | {"trace": [asked | {"seconds": 0} for asked in found["trace"]]}


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("kind", ["tree", "forest", "network"])
@pytest.mark.parametrize("settings", [{}, {"goal": 1, "count": 2}, {"goal": "not 1", "most_changes": 1}], ids=str)
def test_a_frame_is_answered_as_each_of_its_rows(kind: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch):
    model, frame = fitted(kind)
    alone = [mace.Explainer(model, SPACE, background=frame).explain(row, **settings) for _, row in PEOPLE.iterrows()]
    explainer = mace.Explainer(model, SPACE, background=frame)
    asked = []
    one = search.Search.nearest
    monkeypatch.setattr(search.Search, "nearest", lambda *given: asked.append(given[1].start) or one(*given))
    together = explainer.explain(PEOPLE, **settings)
    assert [without_clocks(answer) for answer in together] == [without_clocks(answer) for answer in alone]
    assert len(set(asked)) == DIFFERENT and len(asked) <= DIFFERENT * settings.get("count", 1)
    assert [answer.start["age"] for answer in together] == PEOPLE["age"].tolist()


def test_a_frame_without_rows_has_no_answers():
    model, _ = fitted("tree")
    assert mace.Explainer(model, SPACE).explain(PEOPLE.iloc[:0]) == []


def test_a_row_that_is_not_in_the_space_is_named_before_any_other_is_answered(monkeypatch: pytest.MonkeyPatch):
    model, _ = fitted("tree")
    monkeypatch.setattr(search.Search, "nearest", lambda *_: pytest.fail("a row was answered"))
    with pytest.raises(RowError, match="row 'w', column `age`: 99 lies outside its range"):
        mace.Explainer(model, SPACE).explain(PEOPLE.assign(age=[18, 25, 18, 40, 33, 99, 18]))


def test_the_function_takes_one_row():
    model, _ = fitted("tree")
    row = PEOPLE.iloc[[0]]
    assert without_clocks(mace.explain(model, SPACE, row)) == without_clocks(mace.explain(model, SPACE, row.iloc[0]))
    with pytest.raises(RowError, match="expected one row, got a frame with 7"):
        mace.explain(model, SPACE, PEOPLE)


@pytest.mark.parametrize("runs", [True, False])
def test_of_several_points_each_may_use_half_of_what_is_left(monkeypatch: pytest.MonkeyPatch, runs: bool) -> None:
    model, frame = fitted("tree")
    clock, used = Hand(), []
    asked = Deadline.asked
    monkeypatch.setattr(Deadline, "asked", lambda given: Deadline.after(given, clock) if given == 8.0 else asked(given))
    one = search.Search.nearest

    def seen(*given: Any) -> Any:
        limits = next(x for x in given if isinstance(x, Limits))
        found = one(*given)
        used.append(limits.deadline.end - clock.now)
        clock.now = limits.deadline.end  # it has used all that it may
        return found

    monkeypatch.setattr(search.Search, "nearest", seen)
    explainer = mace.Explainer(model, SPACE, background=frame)
    explainer.ready("auto")
    answer = explainer.explain(
        PEOPLE.iloc[0], count=3, diversity="points", timeout=Deadline.after(8.0, clock) if runs else 8.0
    )
    assert len(answer.counterfactuals) == 3
    assert used == pytest.approx([4.0, 2.0, 2.0], abs=0.1)  # compiling is on nobody's clock


@pytest.mark.parametrize("piped", [False, True])
def test_an_explainer_that_has_answered_is_pickled_and_answers_the_same_elsewhere(piped: bool) -> None:
    model, frame = fitted("forest")
    background = PEOPLE
    if piped:
        frame = frame[["age", "debt"]]
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(
            frame, frame["age"] / 10 - frame["debt"] > 1.5
        )
        background = PEOPLE[["age", "debt"]]
    space = Space([SPACE[name] for name in frame.columns])
    explainer = mace.Explainer(model, space, background=background)
    said = explainer.explain(background.iloc[0])
    for made in (pickle.loads(pickle.dumps(explainer)), copy.deepcopy(explainer)):
        assert without_clocks(made.explain(background.iloc[0])) == without_clocks(said)


def test_a_planner_that_has_planned_is_pickled() -> None:
    loans = mace.datasets.load("loans")
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(loans.space.encode(loans.X), loans.y)
    planner = mace.Planner(forest, loans.space, "loans")
    row = loans.X[forest.predict(loans.space.encode(loans.X)) == 0].iloc[0]
    said = planner.plan(row, goal=1, horizon=1)
    assert str(pickle.loads(pickle.dumps(planner)).plan(row, goal=1, horizon=1)) == str(said)
