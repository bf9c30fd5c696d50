"""`mace.compare`: methods side by side, beside optima that were proved."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.errors import GoalError, MaceError, ModelError

LOANS = mace.datasets.load("loans")
FRAME = LOANS.X.iloc[:300]


@pytest.fixture(scope="module")
def tree():
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(LOANS.space.encode(FRAME), LOANS.y.iloc[:300])


@pytest.fixture(scope="module")
def rows(tree):
    return FRAME[tree.predict(LOANS.space.encode(FRAME)) == 0].iloc[:4]


@pytest.fixture(scope="module")
def optima(tree, rows):
    return mace.Explainer(tree, LOANS.space, background=FRAME).explain(rows, goal=1)


def proved(optima, rows):
    """The nearest counterfactuals as a frame; a row without one is missing throughout."""
    lines = [a.counterfactuals[0].values if a.counterfactuals else {} for a in optima]
    return pd.DataFrame(lines, columns=LOANS.space.names, index=rows.index)


def copied(rows, tree):
    """The same row with the income that the tree likes best: far, and sometimes no way at all."""
    return rows.assign(Income=180000)


def test_the_proved_answers_are_at_the_optimum_and_others_are_not_nearer(tree, rows, optima):
    said = mace.compare(
        tree, rows, {"ours": proved(optima, rows), "rich": copied(rows, tree)}, LOANS.space,
        goal=1, data=FRAME, seconds={"rich": [1.0, 3.0]},
    )  # fmt: skip
    ours, rich = said.lines
    found = sum(answer.exact_distance is not None for answer in optima)
    assert (ours.method, ours.rows, ours.answers, ours.compared, ours.met) == ("ours", 4, found, found, found)
    assert (ours.validity, ours.allowed, ours.over_optimum, ours.missed) == (1.0, 1.0, 0.0, 0)
    assert rich.over_optimum >= 0
    assert rich.compared + rich.missed == found
    assert rich.seconds == 2.0
    assert math.isnan(ours.seconds)
    assert math.isnan(ours.cost)
    for line in said.lines:
        frame = proved(optima, rows) if line.method == "ours" else copied(rows, tree)
        assert line.proximity == mace.metrics.proximity(rows, frame, LOANS.space, FRAME)


def test_the_table_the_frame_the_json_and_the_plot_say_the_same(tree, rows, optima):
    said = mace.compare(tree, rows, {"ours": proved(optima, rows)}, LOANS.space, goal=1, data=FRAME, optimum=optima)
    text = str(said)
    assert "over the optimum" in text
    assert "+0.0%" in text
    assert said.to_frame()["over_optimum"].tolist() == [0.0]
    assert json.loads(json.dumps(said.to_dict()))["lines"][0]["over_optimum"] == 0.0
    assert "ours: +0.0% on" in said.plot().alt


def test_without_optima_the_table_says_so(tree, rows, optima):
    said = mace.compare(
        {"a": tree, "b": tree}, rows, {"ours": proved(optima, rows)}, LOANS.space, goal=1, optimum=False
    )
    assert [line.model for line in said.lines] == ["a", "b"]
    assert said.lines[0].compared == 0
    assert "no optimum was asked for" in str(said)
    with pytest.raises(MaceError, match="nothing to plot"):
        said.plot()


def test_what_the_space_forbids_is_not_compared(tree, rows, optima):
    space = LOANS.space.change(Income="fixed")
    said = mace.compare(tree, rows, {"rich": copied(rows, tree)}, space, goal=1, data=FRAME, optimum=False)
    assert said.lines[0].allowed == 0.0
    assert math.isnan(said.lines[0].distance)


def test_an_answer_below_a_proved_bound_is_not_believed(tree, rows, optima):
    from dataclasses import replace

    wrong = [
        a
        if a.exact_distance is None
        else replace(a, exact_lower_bound=a.exact_distance * 2, exact_distance=a.exact_distance * 2)
        for a in optima
    ]
    with pytest.raises(ModelError, match="nearer than the bound that was proved"):
        mace.compare(tree, rows, {"ours": proved(optima, rows)}, LOANS.space, goal=1, optimum=wrong)


def test_what_does_not_fit_is_said(tree, rows, optima):
    frame = proved(optima, rows)
    with pytest.raises(GoalError, match="depends on the goal"):
        mace.compare(tree, rows, {"ours": frame}, LOANS.space, goal=None)
    with pytest.raises(MaceError, match="the name of a method"):
        mace.compare(tree, rows, {}, LOANS.space, goal=1)
    with pytest.raises(MaceError, match="one a row"):
        mace.compare(tree, rows, {"ours": frame}, LOANS.space, goal=1, optimum=optima[:2])
    with pytest.raises(MaceError, match="a frame in the space's columns, got list"):
        mace.compare(tree, rows, {"x": [1]}, LOANS.space, goal=1)
    with pytest.raises(MaceError, match="the rows that were explained are a frame"):
        mace.compare(tree, rows.iloc[0], {"ours": frame}, LOANS.space, goal=1)


def test_a_method_without_answers_is_a_line_of_nothing(tree, rows, optima):
    none = pd.DataFrame(np.nan, index=rows.index, columns=LOANS.space.names)
    said = mace.compare(tree, rows, {"none": none}, LOANS.space, goal=1, data=FRAME, optimum=optima)
    (line,) = said.lines
    assert (line.answers, line.coverage, line.compared) == (0, 0.0, 0)
    assert line.missed == sum(answer.exact_distance is not None for answer in optima)
    assert str(said)
