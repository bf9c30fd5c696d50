"""Arguments of another kind than a public function takes are refused by name, before anything is done."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.errors import MaceError

SPACE = mace.Space([mace.Feature(name, "integer", lower=0, upper=3) for name in "ab"])
FRAME = pd.DataFrame([(a, b) for a in range(4) for b in range(4)], columns=list("ab"))
MODEL = DecisionTreeClassifier(max_depth=2, random_state=0).fit(FRAME, FRAME.sum(axis=1) > 3)
ROW = {"a": 0, "b": 0}
ARRAY, SERIES = np.zeros(2), pd.Series([1.0, 2.0])


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("goal", [ARRAY, FRAME, SERIES, {}, [[]]]),
        ("distance", [None, 1, ["l1"], ARRAY, len]),
        ("weights", [1, "a", ARRAY, FRAME]),
        ("gap", [ARRAY, SERIES, b"1", np.array("x"), "x"]),
        ("count", [ARRAY, FRAME]),
        ("diversity", [ARRAY, np.array("x")]),
        ("rules", [None, 1, len]),
        ("oracle", [None, 1, ARRAY]),
        ("background", [1, [], ARRAY, "X"]),
        ("callback", [1, "f", []]),
        ("constrained", [None, 1]),
    ],
)
def test_explain_names_an_argument_of_another_kind(name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(MaceError, match=name):
            mace.explain(MODEL, SPACE, ROW, **{name: value})


@pytest.mark.parametrize("name", ["gap", "rgap"])
@pytest.mark.parametrize("value", [-1, "-1/3", "x", "", True, float("nan")])
def test_a_gap_is_a_number_that_is_not_negative_whoever_is_asked(name: str, value: Any) -> None:
    given: dict[str, Any] = {name: value}
    for ask in (
        lambda: mace.explain(MODEL, SPACE, ROW, **given),
        lambda: mace.explain(MODEL, SPACE, ROW, objectives=["shortfall", "l1"], **given),
        lambda: mace.plan(MODEL, SPACE, ROW, WORLD, goal=True, **given),
        lambda: mace.audit(MODEL, SPACE, FRAME, goal=True, n_jobs=1, **given),
    ):
        with pytest.raises(MaceError, match=f"^{name} must be a number >= 0"):
            ask()
    assert mace.explain(MODEL, SPACE, ROW, **{name: "1/3"}).status == "optimal"


def test_so_do_the_other_functions() -> None:
    with pytest.raises(MaceError, match="expected a row"):
        mace.explain(MODEL, SPACE, np.array("x"))
    with pytest.raises(MaceError, match="most must be a whole number; got None"):
        mace.front(MODEL, SPACE, ROW, most=None)  # type: ignore[arg-type]
    for value in (pd.NA, 1.0, "yes", None):
        with pytest.raises(MaceError, match="discount must be True or False"):
            mace.plan(MODEL, SPACE, ROW, WORLD, discount=value)
    assert mace.plan(MODEL, SPACE, ROW | {"a": 2}, WORLD, goal=True, discount=np.bool_(False)).status == "optimal"  # type: ignore[arg-type]
    with pytest.raises(MaceError, match="safe must be"):
        mace.Explainer(MODEL, SPACE).menu(ROW, safe=ARRAY)  # type: ignore[arg-type]
    with pytest.raises(MaceError, match="a property must be"):
        mace.verify(MODEL, SPACE, None)  # type: ignore[arg-type]
    with pytest.raises(MaceError, match=r"frame must be a DataFrame.*got None"):
        mace.audit(MODEL, SPACE, None)  # type: ignore[arg-type]
    twice = pd.concat([FRAME, FRAME], axis=1)
    with pytest.raises(MaceError, match="frame has several columns called `a`\nRename them"):
        mace.audit(MODEL, SPACE, twice, goal=True)
    with pytest.raises(MaceError, match="two columns have the name 'a'"):
        mace.Space.from_frame(twice)
    with pytest.raises(MaceError, match="second argument must be"):
        mace.audit(MODEL, None, FRAME)  # type: ignore[arg-type]
    with pytest.raises(MaceError, match='rows must be "rejected" or "all"'):
        mace.audit(MODEL, SPACE, FRAME, rows=FRAME)  # type: ignore[arg-type]
    with pytest.raises(MaceError, match="checkpoint must be a path, or None; got 1"):
        mace.audit(MODEL, SPACE, FRAME, goal=True, checkpoint=1)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [None, 1, b"loans", [], ARRAY, SERIES, SPACE, len, "y" * 5000])
def test_a_world_of_another_kind_is_named(value: Any) -> None:
    with pytest.raises(MaceError, match="world"):
        mace.plan(MODEL, SPACE, ROW, value)
    with pytest.raises(MaceError):
        mace.World.read(value, SPACE)


WORLD = mace.World.read("action more:\n    a = a + 1\n    cost 1\naction other:\n    b = 3\n    cost 5\n", SPACE)


@pytest.mark.parametrize("value", [0, -2, 1.5, True, "2"])
def test_at_least_one_core_works(value: Any) -> None:
    with pytest.raises(MaceError, match="n_jobs must be a whole number >= 1, or -1 or None for all cores; got"):
        mace.explain(MODEL, SPACE, ROW, goal=True, n_jobs=value)
    with pytest.raises(MaceError, match="n_jobs must be a whole number >= 1"):
        mace.audit(MODEL, SPACE, FRAME, goal=True, n_jobs=value)


@pytest.mark.parametrize("value", [[[]], np.zeros((2, 2)), np.array("x"), [1], 1])
def test_objectives_of_a_plan_are_names(value: Any) -> None:
    with pytest.raises(MaceError, match="objectives must name each once"):
        mace.plan(MODEL, SPACE, ROW, WORLD, goal=True, objectives=value)


def test_one_name_stands_for_a_list_of_it() -> None:
    plan = mace.plan(MODEL, SPACE, ROW | {"a": 2}, WORLD, goal=True, avoid="b")
    assert not any(step.action == "other" for step in plan.steps)
    audit = mace.audit(MODEL, SPACE, FRAME[:2], "a", goal=True, protected="b", n_jobs=1, flips=False, progress=False)
    assert audit.protected == ("b",)
    wrong: list[Any] = [{"a": 1}, [[]], {"a": None}]
    for groups in wrong:
        with pytest.raises(MaceError, match="groups must be"):
            mace.audit(MODEL, SPACE, FRAME, groups, goal=True)


def test_a_message_is_no_longer_than_people_read() -> None:
    long = "y" * 5000
    for given in ({"rules": long}, {"rules": f"{'a >= 0 and ' * 500}{long} == 1"}, {"weights": {long: 1}}):
        with pytest.raises(MaceError) as caught:
            mace.explain(MODEL, SPACE, ROW, **given)
        assert len(str(caught.value)) < 1500
        assert "yyyyy" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("outcome", 1),
        ("outcome", [True, False]),
        ("prices", ARRAY),
        ("asked", "2"),
        ("seconds", 1),
        ("optimum", [1]),
        ("models", {}),
    ],
)
def test_a_comparison_names_what_does_not_fit(name: str, value: Any) -> None:
    given: dict[str, Any] = {
        "models": MODEL, "rows": FRAME[:1], "counterfactuals": {"ours": FRAME[15:].set_axis([0])}, "space": SPACE,
        "goal": True, "optimum": False,
    }  # fmt: skip
    assert mace.compare(**given).lines
    with pytest.raises(MaceError, match=name):
        mace.compare(**given | {name: value})


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: mace.explain(MODEL, SPACE, FRAME.iloc[0], distnace="l1"), "explain has no argument `distnace`"),
        (lambda: mace.Explainer(MODEL, SPACE, distnace="l1"), "Explainer has no argument `distnace`"),
        (lambda: mace.audit(MODEL, SPACE, FRAME, chekpoint="a"), "Did you mean 'checkpoint'?"),
        (lambda: mace.verify(MODEL, SPACE, "fair(a)", tmeout=1), "Did you mean 'timeout'?"),
        (lambda: mace.report(None, "a.html", persons=1), "Did you mean 'person'?"),
        (lambda: mace.Space.from_frame(FRAME, fixd=["a"]), "Did you mean 'fixed'?"),
        (lambda: mace.front(MODEL, SPACE, FRAME.iloc[0], xyz=1), "It has model, space, x,"),
    ],
)
def test_a_name_that_no_argument_has_is_answered_with_the_nearest(call: Callable[[], object], said: str) -> None:
    with pytest.raises(TypeError) as caught:  # as of any function of Python
        call()
    assert isinstance(caught.value, MaceError) and said in str(caught.value)


def test_a_function_that_checks_shows_its_own_arguments() -> None:
    for function in (mace.explain, mace.audit, mace.verify, mace.report, mace.Space.from_frame):
        assert not {"args", "kwargs"} & inspect.signature(function).parameters.keys()
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        mace.explain(MODEL, SPACE)
