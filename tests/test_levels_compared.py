"""In rules, programs and worlds, levels are compared by what they are: never by their place in two different lists."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.errors import ProgramError
from mace.language import parse_program
from mace.problem.programs import rule_of
from mace.space.feature import Feature
from mace.space.space import Space

SPACE = Space(
    [
        Feature("code", "ordinal", levels=[1, 2, 4]),
        Feature("home", "categorical", levels=["x", "y", "z"]),
        Feature("work", "categorical", levels=["z", "y"]),
        Feature("rank", "ordinal", levels=["p", "q", "r", "s"]),
        Feature("part", "ordinal", levels=["q", "s"]),
    ]
)
GRID = pd.DataFrame(list(itertools.product([1, 2, 4], "xyz", "zy", "pqrs", "qs")), columns=SPACE.names)
RANK, PART = GRID["rank"].map("pqrs".index), GRID["part"].map("pqrs".index)
ROW = {"code": 2, "home": "y", "work": "y", "rank": "q", "part": "s"}
MEANT: dict[str, Any] = {
    "home == work": GRID.home == GRID.work,
    "home != work": GRID.home != GRID.work,
    "rank < part": RANK < PART,
    "part <= rank": PART <= RANK,
    "rank == part or code <= 1": (RANK == PART) | (GRID.code <= 1),
    "code == 2": GRID.code == 2,
    "code != 3": GRID.code != 3,
    "code == 3": GRID.code == 3,
    "2 < code": GRID.code > 2,
    "code > -1": GRID.code > -1,
    'code >= "2"': GRID.code >= 2,
    "code > start_code": GRID.code > 2,
    "home == work implies code >= 4": (GRID.home != GRID.work) | (GRID.code >= 4),
}


@pytest.mark.parametrize("rule", MEANT)
def test_a_rule_holds_where_people_would_say_so_and_the_nearest_answer_obeys_it(rule: str) -> None:
    axes = SPACE.axes(ROW)
    read = rule_of(rule, SPACE).at(axes)
    points = [tuple(SPACE[name].levels.index(level) for name, level in row.items()) for row in GRID.to_dict("records")]
    assert [read.holds(axes, point) for point in points] == MEANT[rule].tolist()
    labels = (np.random.default_rng(0).random(len(GRID)) < 0.4).astype(int)
    tree = DecisionTreeClassifier(random_state=0).fit(SPACE.encode(GRID), labels)
    deltas = np.stack(
        [abs(GRID.code.map([1, 2, 4].index) - 1) / 2, GRID.home != "y", GRID.work != "y", abs(RANK - 1) / 3,
         GRID.part != "s"], axis=1,
    )  # fmt: skip
    far = deltas.astype(float).mean(axis=1)[(labels == 1) & MEANT[rule]]
    for oracle in ("auto", "z3"):
        answer = mace.explain(tree, SPACE, ROW, goal=1, rules=[rule], oracle=oracle, timeout=60)
        assert answer.status == ("optimal" if len(far) else "infeasible")
        assert not len(far) or answer.distance == pytest.approx(far.min())
        assert oracle == "z3" or answer.certificate.check().accepted


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("home < work", "levels in different orders"),
        ("code >= rank", "levels in different orders"),
        ("code + 1 > 2", "by their places here"),
        ("abs(code) > 1", "by their places here"),
    ],
)
def test_what_would_compare_places_is_refused(rule: str, words: str) -> None:
    with pytest.raises(ProgramError, match=words):
        rule_of(rule, SPACE)
    with pytest.raises(ProgramError, match=words):
        mace.World.read(f'action a:\n    before {rule}\n    home = "x"\n    cost 1\n', SPACE)


@pytest.mark.parametrize("kind", ["ordinal", "categorical"])
@pytest.mark.parametrize("levels", [[4, 2, 1], ["4", "2", "1"], [10, 9]])
def test_more_is_not_asked_of_numbers_in_another_order_unless_beside_a_number(kind: Any, levels: list[Any]) -> None:
    # `grade >= 2` is about numbers; `grade >= start_grade` was about places, which go the other way here.
    space = Space([Feature("grade", kind, levels=levels), Feature("other", kind, levels=levels)])
    for rule in ("grade >= start_grade", "grade < other", f'grade <= "{levels[1]}"', f'"{levels[1]}" > grade'):
        with pytest.raises(ProgramError, match="are numbers, in another order"):
            rule_of(rule, space)
        text = f"action a:\n    before {rule.replace('start_grade', 'other')}\n    grade = other\n    cost 1\n"
        with pytest.raises(ProgramError, match="are numbers, in another order"):
            mace.World.read(text, space)
    axes = space.axes({"grade": levels[1], "other": levels[0]})
    for rule, holds in (
        (f"grade >= {levels[1]}", [int(level) >= int(levels[1]) for level in levels]),
        ("grade == start_grade", [level == levels[1] for level in levels]),
        ("grade != other", [level != levels[0] for level in levels]),
    ):
        read = rule_of(rule, space).at(axes)
        assert [read.holds(axes, (place, 0)) for place in range(len(levels))] == holds


def test_a_level_without_quotes_is_told_to_have_them() -> None:
    with pytest.raises(ProgramError, match='A level stands in quotes: "x"'):
        rule_of("home == x", SPACE)


def test_a_program_compares_levels_of_two_inputs_by_their_names() -> None:
    answer = mace.explain("return 1 if home == work else 0\n", SPACE, {**ROW, "home": "z"}, goal=1)
    assert answer.counterfactuals[0].changes in ({"home": ("z", "y")}, {"work": ("y", "z")})


@pytest.mark.parametrize(("now", "to"), itertools.product(["home", "away", "abroad"], ["away", "abroad"]))
def test_a_parameter_with_fewer_levels_than_its_feature_means_the_same_ones(now: str, to: str) -> None:
    space = Space([Feature("City", "categorical", levels=["home", "away", "abroad"]), Feature("k", "integer", 0, 3)])
    text = 'action move:\n    parameter where: one of "away", "abroad"\n    before City != where\n    City = where\n'
    world = mace.World.read(f"{text}    cost 5 if k >= 1 else 4\n", space)
    frame = pd.DataFrame({"City": ["home", "away", "abroad"] * 4, "k": [0, 1, 2, 3] * 3})
    tree = DecisionTreeClassifier().fit(space.encode(frame), (frame.City == to).astype(int))
    plan = mace.plan(tree, space, {"City": now, "k": 0}, world, goal=1)
    assert (plan.status, plan.cost) == ("optimal", 0 if now == to else 4)
    assert plan.certify().check().accepted


HELD = {
    "in a variable": "held = home\nreturn 1 if held == work else 0",
    "in one of two branches": "held = rank\nif home == 'x':\n    held = part\nreturn 1 if held == rank else 0",
    "in both branches": "if home == 'x':\n    held = part\nelse:\n    held = rank\nreturn 1 if held <= rank else 0",
    "in one of two values": "return 1 if (home if rank == 'p' else work) == home else 0",
    "in a later round": "held = home\nn = 0\nfor i in 0..1:\n    n = n + (1 if held == home else 0)\n    held = work\n"
    "return n",
    "of levels that are numbers": "held = code\nreturn 1 if held == 2 else 0",
    "of levels that are numbers, added to": "held = code\nreturn held + 1",
}


@pytest.mark.parametrize("name", HELD)
def test_a_place_in_one_list_of_levels_is_compared_with_no_other(name: str) -> None:
    with pytest.raises(ProgramError, match=r"is the place of a level in its own list|by their places"):
        parse_program(DECLARED + HELD[name])


def test_a_place_in_the_same_list_is() -> None:
    held = "held = home\nif rank == 'p':\n    held = 0\nreturn 1 if held == home and held == 1 else 0"
    parse_program(DECLARED + held)


DECLARED = """input code: one of "1", "2", "4"
input home: one of "x", "y", "z"
input work: one of "z", "y"
input rank: one of "p", "q", "r", "s"
input part: one of "q", "s"
"""
