"""Arguments of another kind than a public function takes are refused by name, before anything is done."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import mace
import mace.scorecards
from mace.compilers import load_model
from mace.errors import ArgumentError, MaceError
from mace.plans import audit_plans
from mace.search.swarm import Swarm

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


def test_so_do_audits_of_plans_proposers_and_black_boxes() -> None:
    for value in (None, "x", [1], ARRAY):
        with pytest.raises(MaceError, match="frame must be"):
            audit_plans(MODEL, SPACE, value, WORLD, goal=True)  # type: ignore[arg-type]
    with pytest.raises(MaceError, match="groups must be"):
        audit_plans(MODEL, SPACE, FRAME, WORLD, goal=True, groups=1)  # type: ignore[arg-type]
    assert list(audit_plans(MODEL, SPACE, FRAME, WORLD, goal=True, groups="a").groups) == ["a"]
    for make in (lambda: Swarm(inertia=10**400), lambda: Swarm(choose=ARRAY), lambda: mace.Targets({0: 1}, 10**400)):  # type: ignore[arg-type]
        with pytest.raises(MaceError):
            make()
    for classes in (1, "ab"):
        with pytest.raises(MaceError, match="classes must be a list"):
            mace.BlackBox(len, classes=classes)  # type: ignore[arg-type]


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
        (
            lambda: mace.Explainer(MODEL, SPACE).explain(FRAME.iloc[0], objectives=["l1"]),
            "Explainer.explain has no argument `objectives`\nGive it where the Explainer is made: Explainer(..",
        ),
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


MADE_BY_MACE = {"Answer", "Audit", "Comparison", "Front", "Menu", "Plan", "Verdict", "World"}
"""Results, which people do not make themselves."""
INSIDE = {"asked", "over", "ready", "warm", "step", "start", "question"}
"""Methods that mace itself calls."""


def called_by_people() -> dict[str, Callable[..., object]]:
    """The public functions, the classes that people make, and their methods, that take what may be left out."""
    found: dict[str, Callable[..., object]] = {"load_model": load_model}
    for module in (mace, mace.datasets, mace.metrics, mace.rules, mace.scorecards):
        here = module.__name__
        names = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
        for name in names:
            thing = getattr(module, name)
            if getattr(thing, "__module__", "").startswith(here) and inspect.isfunction(thing):
                found[f"{here}.{name}"] = thing
            if module is mace and inspect.isclass(thing):
                if name not in MADE_BY_MACE:
                    found[name] = thing
                methods = [key for key in vars(thing) if not key.startswith("_") and key not in INSIDE]
                found |= {f"{name}.{key}": getattr(thing, key) for key in methods if callable(getattr(thing, key))}
    return {name: thing for name, thing in found.items() if _may_be_left_out(thing)}


def _may_be_left_out(thing: Callable[..., object]) -> bool:
    takes = list(inspect.signature(thing).parameters.values())
    if any(one.kind is one.VAR_KEYWORD for one in takes):  # features, or what `mace.report` takes
        return False
    several = len([one for one in takes if one.name != "self"]) > 1
    return several and any(one.default is not one.empty for one in takes)


@pytest.mark.parametrize("name", sorted(called_by_people()))
def test_whatever_people_call_answers_a_misspelt_name(name: str) -> None:
    with pytest.raises(ArgumentError, match="has no argument `nonsense`"):
        called_by_people()[name](nonsense=1)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: mace.Feature("a", "real", lower=0, uper=1), "Did you mean 'upper'?"),
        (lambda: mace.BlackBox(len, clases=[]), "Did you mean 'classes'?"),
        (lambda: mace.datasets.load("loans", pth="."), "Did you mean 'path'?"),
        (lambda: mace.datasets.load("loan"), "Did you mean 'loans'?"),
    ],
)  # fmt: skip
def test_the_nearest_name_is_said(call: Callable[[], object], said: str) -> None:
    with pytest.raises(MaceError) as caught:
        call()
    assert said in str(caught.value)


def test_numbers_out_of_an_array_are_numbers() -> None:
    two = np.int64(2)
    answer = mace.explain(
        MODEL, SPACE, ROW, goal=True, count=two, n_jobs=np.int32(1), most_changes=two, timeout=np.float32(9),
        memory_mb=np.int16(4096), gap=np.float64(0),
    )  # fmt: skip
    assert answer.status == "optimal" and answer.counterfactuals
    audit = mace.audit(MODEL, SPACE, FRAME, goal=True, limit=two, n_jobs=np.int64(1), cores=two, progress=np.False_)
    assert len(audit.records) == 2
    assert mace.front(MODEL, SPACE, ROW, goal=True, objectives=["l1", "changes"], most=two).points
    assert mace.plan(MODEL, SPACE, ROW, WORLD, goal=True, horizon=np.int64(1), count=np.int64(1)).status
    assert mace.BlackBox(len, batch=two, retries=two).batch == 2
    with pytest.raises(MaceError, match="limit must be a whole number"):
        mace.audit(MODEL, SPACE, FRAME, goal=True, limit=np.float64(1.5))


def test_a_model_in_a_file_cannot_be_asked_and_the_message_says_so(tmp_path: Path) -> None:
    from xgboost import XGBClassifier

    path = tmp_path / "model.json"
    XGBClassifier(n_estimators=2, n_jobs=1).fit(FRAME, FRAME.sum(axis=1) > 3).save_model(path)
    with pytest.raises(MaceError, match=r"^model\.json is read, and cannot be asked\nLeave out oracle=\"search\""):
        mace.explain(load_model(path), SPACE, ROW, oracle="search")


def test_a_tolerance_that_is_no_number_is_named_in_the_words_of_the_objective() -> None:
    for spec in ("l1 within nan%", mace.Objective("l1 within nan%")):
        with pytest.raises(MaceError, match=r"^the tolerance of the objective `l1 within nan%`: 'nan' is not"):
            mace.explain(MODEL, SPACE, ROW, objectives=[spec])
