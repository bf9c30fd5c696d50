"""Objectives in order of priority: every level's optimum is that of enumeration, and its certificate is accepted."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import mace
from mace.errors import MaceError
from mace.explain.level import Level
from mace.explain.levels import by_priority
from mace.explain.search import Search, Searched
from mace.problem.exclusions import AvoidNear
from mace.problem.objectives import Objective, Priority, read_objectives, value_of
from mace.problem.question import Question
from mace.solve.protocol import Limits
from mace.space.feature import Feature
from mace.space.space import Space
from tests.reference import points, random_question

NAMES = ("l0", "l1", "linf", "changes", "cost", "gower", "sum", "l1 within 10%", "l1 within 0.05", "program")


class Believing:
    """What stands for the deployed model: the exact scores."""

    def confirms(self, question: Question, point: tuple[int, ...]) -> bool:
        return bool(question.has_goal(point))


def searched(question: Question, priorities: tuple[Priority, ...], oracle: str = "auto") -> Searched:
    search = Search(None, lambda _: None, oracle, None, None, None)  # type: ignore[arg-type]
    return by_priority(search, question, priorities, Believing(), Limits.of(60.0))  # type: ignore[arg-type]


def spec(name: str, space: Space, rng: np.random.Generator) -> Any:
    if name == "cost":
        return Objective("cost", prices={f: int(rng.integers(0, 5)) for f in space.names}, relative=Fraction(1, 20))
    if name == "sum":
        return {"l1": 1, "changes": Fraction(1, 4)}
    if name == "program":
        feature = next((f for f in space.features if f.numeric), None)
        return "l0" if feature is None else f"return abs({feature.name} - 2) + 1\n"
    return name


def random_levels(seed: int, space: Space) -> tuple[Priority, ...]:
    rng = np.random.default_rng(seed)
    names = rng.permutation(NAMES)[: int(rng.integers(2, 4))]
    return read_objectives([spec(str(name), space, rng) for name in names], space)


def enumerated(question: Question, priorities: tuple[Priority, ...]) -> list[Fraction]:
    """The optimum of every level, by looking at all points; empty where nothing has the goal."""
    left = [p for p in points(question) if question.obeys(p) and question.has_goal(p)]
    optima = []
    for priority in priorities if left else ():
        values = {p: value_of(question, priority.of, p) for p in left}
        best = min(values.values())
        optima.append(best)
        left = [p for p in left if values[p] <= priority.held(best)]
    return optima


def compare(question: Question, priorities: tuple[Priority, ...], oracle: str = "auto") -> tuple[Level, ...]:
    found = searched(question, priorities, oracle)
    optima = enumerated(question, priorities)
    if not optima:
        assert found.bracket.status == "infeasible"
        return found.levels
    slack = Fraction(0) if found.levels[0].oracle == "ensembles" else Fraction(1, 10**6)
    rough = oracle == "smt" or any(level.oracle == "smt" for level in found.levels)
    for level, priority, optimum in zip(found.levels, priorities, optima, strict=True):
        assert level.status == "optimal", level
        assert level.exact_lower_bound <= optimum * priority.unit, (level, optimum)
        if rough:  # a level that is open by a gap leaves more to the next
            break
        assert level.exact_distance is not None
        assert abs(level.exact_distance / priority.unit - optimum) <= slack, (level, float(optimum))
    point = found.bracket.point
    assert point is not None and question.obeys(point) and question.has_goal(point)
    return found.levels


def plain(seed: int, kind: str | None = None) -> Question:
    question = random_question(seed, kind)
    return replace(question, avoid=tuple(a for a in question.avoid if not isinstance(a, AvoidNear)))


@pytest.mark.parametrize("seed", range(40))
def test_levels_are_those_of_enumeration(seed: int) -> None:
    question = plain(seed)
    levels = compare(question, random_levels(seed, question.space))
    for level in levels:
        if level.proof is None:
            continue
        certificate = level.certificate
        verdict = certificate.check()  # type: ignore[union-attr]
        assert verdict.accepted, (level, verdict)


FRAME = pd.DataFrame({"age": [25, 40, 61, 33], "income": [900.0, 2500.0, 1200.0, 1800.0], "job": ["a", "b", "b", "a"]})
SPACE = Space(
    [
        Feature("age", "integer", 18, 78),
        Feature("income", "real", 0, 4000, step=100),
        Feature("job", "categorical", levels=["a", "b", "c"]),
    ]
)
PRICES = {"age": 100, "income": 1, "job": 900}


@pytest.fixture(scope="module")
def forest() -> RandomForestClassifier:
    rng = np.random.default_rng(3)
    rows = pd.DataFrame(
        {
            "age": rng.integers(18, 79, 300),
            "income": rng.integers(0, 41, 300) * 100.0,
            "job": rng.choice(["a", "b", "c"], 300),
        }
    )
    good = (rows.age > 40) & (rows.income > 1500) | (rows.job == "c") & (rows.income > 2500)
    return RandomForestClassifier(12, max_depth=5, random_state=0).fit(SPACE.encode(rows), good.astype(int))


def test_an_answer_has_a_level_for_each_objective(forest: RandomForestClassifier) -> None:
    row = {"age": 25, "income": 900.0, "job": "a"}
    answer = mace.explain(forest, SPACE, row, goal=1, objectives=["l1 within 10%", "changes", "linf"])
    assert [level.name for level in answer.levels] == ["l1", "changes", "linf"]
    assert all(level.status == "optimal" and level.certificate.check().accepted for level in answer.levels)
    single = mace.explain(forest, SPACE, row, goal=1)
    assert answer.levels[0].value == single.distance == single.levels[0].value
    assert answer.levels[1].value == len(answer.counterfactuals[0].changes)
    assert answer.distance is not None and answer.distance <= 1.1 * single.distance
    assert answer.counterfactuals[0].objectives["linf"] == answer.levels[2].value
    assert "2. changes = lower bound = " in str(answer)
    assert set(answer.to_frame().columns) >= {"l1", "changes", "linf"}
    assert [level["name"] for level in answer.to_dict()["levels"]] == ["l1", "changes", "linf"]


def test_costs_are_counted_in_money(forest: RandomForestClassifier) -> None:
    row = {"age": 25, "income": 900.0, "job": "a"}
    answer = mace.explain(forest, SPACE, row, goal=1, objectives=[Objective("cost", prices=PRICES), "changes"])
    (found,) = answer.counterfactuals
    paid = sum(
        PRICES[name] * (1 if name == "job" else abs(after - before)) for name, (before, after) in found.changes.items()
    )
    assert answer.distance == answer.lower_bound == paid == answer.levels[0].value


@pytest.mark.parametrize(
    ("objectives", "message"),
    [
        (["l1", "shortfall"], "`shortfall` comes first"),
        (["l3"], "unknown objective 'l3'"),
        (["cost"], "needs a price for `age`, `income`, `job`"),
        (["l1 within -1"], "tolerance of an objective must be >= 0"),
        ([{"l1": -1}], "weights >= 0"),
        ([], "a list, the most important first"),
    ],
)
def test_an_objective_that_is_none_is_refused(forest: Any, objectives: Any, message: str) -> None:
    with pytest.raises(MaceError, match=re.escape(message)):
        mace.explain(forest, SPACE, FRAME.iloc[0], objectives=objectives)


def test_objectives_take_the_place_of_a_distance(forest: RandomForestClassifier) -> None:
    with pytest.raises(MaceError, match="short form"):
        mace.explain(forest, SPACE, FRAME.iloc[0], objectives=["l1"], distance="l0")
