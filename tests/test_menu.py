"""The menu against enumeration: sets of features that suffice, the nearest change of each, boxes that keep the goal."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, PoissonRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import mace
from mace.base.bits import members
from mace.base.deadline import Deadline
from mace.errors import GoalError, MaceError
from mace.explain.combinatorics.subsets import Reply, all_subsets, hitting_sets, spared
from mace.explain.menu import Menu, Way
from mace.explain.safe import Safe, opposites
from mace.problem.goal_text import parse

SPACE = mace.Space(
    [
        mace.Feature("Age", "integer", 0, 4, change="increase"),
        mace.Feature("Debts", "real", 0, 3, step=1),
        mace.Feature("Job", "categorical", levels=["a", "b", "c"]),
        mace.Feature("Owns", "binary"),
        mace.Feature("Sex", "binary", change="fixed"),
    ],
    decisions={"0": "refused", "1": "approved"},
)
VALUES = {"Age": range(5), "Debts": [0.0, 1.0, 2.0, 3.0], "Job": ["a", "b", "c"], "Owns": [0, 1], "Sex": [0, 1]}
ALL = pd.DataFrame(itertools.product(*VALUES.values()), columns=list(VALUES))


def fitted(kind: str, seed: int) -> Any:
    made = np.random.default_rng(seed)
    X = SPACE.encode(ALL)
    y = (X.to_numpy() @ made.normal(size=X.shape[1]) + made.normal(scale=2, size=len(X)) > 1.5).astype(int)
    y[0], y[1] = 0, 1
    models = {
        "forest": RandomForestClassifier(5, max_depth=4, random_state=seed),
        "boosting": GradientBoostingClassifier(n_estimators=4, max_depth=2, random_state=seed),
        "logistic": LogisticRegression(),
    }
    return models[kind].fit(X, y)


class World:
    """What enumeration says about one row."""

    def __init__(self, model: Any, space: mace.Space, row: dict[str, Any], has: Any) -> None:
        said = model.predict(space.encode(ALL))
        self.good = {tuple(values): bool(has(each)) for values, each in zip(ALL.to_numpy().tolist(), said, strict=True)}
        self.space, self.start, self.names = space, tuple(row.values()), list(row)
        axes = space.axes(row)
        self.allowed = [
            [v for v in VALUES[f.name] if axis.allows(_index(f, axis, v))]
            for f, axis in zip(space.features, axes, strict=True)
        ]

    def points(self, changed: set[str]) -> list[tuple]:
        sides = [self.allowed[j] if name in changed else [self.start[j]] for j, name in enumerate(self.names)]
        return [point for point in itertools.product(*sides) if self.obeys(point)]

    def obeys(self, point: tuple) -> bool:
        return not self.space.rules or point[1] <= point[0]  # the rule of the test below

    def suffices(self, changed: set[str]) -> bool:
        return any(self.good[point] for point in self.points(changed))

    def nearest(self, changed: set[str]) -> float:
        return min(self.distance(point) for point in self.points(changed) if self.good[point])

    def distance(self, point: tuple) -> float:
        parts = []
        for f, a, b in zip(self.space.features, self.start, point, strict=True):
            parts.append(abs(a - b) / (f.upper - f.lower) if f.numeric else float(a != b))
        return sum(parts) / len(parts)


def _index(feature, axis, value):
    return axis.grid.floor(feature.read(value)) if feature.numeric else feature.read(value)


def compare(menu: Menu, world: World) -> None:
    free = set(menu.free)
    every = [frozenset(some) for n in range(len(free) + 1) for some in itertools.combinations(sorted(free), n)]
    good = {some: world.suffices(set(some)) for some in every}
    minimal = {some for some in every if good[some] and not any(good[other] for other in every if other < some)}
    maximal = {some for some in every if not good[some] and all(good[other] for other in every if other > some)}
    assert menu.complete
    assert {frozenset(way.features) for way in menu.ways} == minimal
    assert {frozenset(one.features) for one in menu.cannot} == maximal
    for way in menu.ways:
        assert way.answer.status == "optimal"
        assert way.answer.distance == pytest.approx(world.nearest(set(way.features)), abs=1e-9)
        for features, box in (
            (tuple(way.answer.counterfactuals[0].changes), way.box),
            *(((n,), b) for n, b in way.ranges.items()),
        ):
            compare_box(world, way, features, box)


def compare_box(world: World, way: Way, features: tuple[str, ...], box: Safe | None) -> None:
    """Every point of the box keeps the goal, and no side of it can be moved by one more value."""
    if not features:
        return
    assert box is not None and box.largest and box.most and set(box.ranges) == set(features)
    point = tuple(way.answer.counterfactuals[0].values.values())
    inside = [
        [v for v in world.allowed[j] if _in(world.space[name], box.ranges[name], v)]
        if name in box.ranges
        else [point[j]]
        for j, name in enumerate(world.names)
    ]
    assert all(world.good[at] for at in itertools.product(*inside))
    for j, name in enumerate(world.names):
        if name not in box.ranges:
            continue
        beyond = [v for v in world.allowed[j] if v not in inside[j]]
        if world.space[name].numeric:  # the next one on either side
            beyond = [
                v
                for v in (
                    max((v for v in beyond if v < inside[j][0]), default=None),
                    min((v for v in beyond if v > inside[j][-1]), default=None),
                )
                if v is not None
            ]
        for value in beyond:
            assert not all(world.good[at] for at in itertools.product(*inside[:j], [value], *inside[j + 1 :]))


def _in(feature, values, value):
    return values[0] <= value <= values[1] if feature.numeric else value in values


def row_of(place: int) -> dict[str, Any]:
    return {name: ALL.iloc[place][name] for name in VALUES} | {
        "Age": int(ALL.iloc[place]["Age"]),
        "Debts": float(ALL.iloc[place]["Debts"]),
        "Owns": int(ALL.iloc[place]["Owns"]),
        "Sex": int(ALL.iloc[place]["Sex"]),
    }


@pytest.mark.parametrize(
    ("kind", "seed"), [("forest", 0), ("forest", 1), ("forest", 2), ("boosting", 3), ("logistic", 4)]
)
def test_a_menu_is_what_enumeration_finds_and_every_line_is_certified(kind, seed):
    model = fitted(kind, seed)
    explainer = mace.Explainer(model, SPACE)
    refused = np.flatnonzero(explainer.decisions(ALL) == 0)
    for place in random.Random(seed).sample(refused.tolist(), 2):
        row = row_of(place)
        menu = explainer.menu(row, goal=1)
        compare(menu, World(model, SPACE, row, lambda said: said == 1))
        assert {name for name in VALUES if name not in menu.free} == set(menu.held)
    assert all(answer.certificate.check().accepted for answer in menu.proofs())


def test_rules_hold_for_ways_and_not_for_boxes():
    space = mace.Space(SPACE.features, rules=["Debts <= Age"])
    model = fitted("forest", 5)
    explainer = mace.Explainer(model, space)
    places = [p for p in np.flatnonzero(explainer.decisions(ALL) == 0) if ALL.Debts[p] <= ALL.Age[p]]
    for place in places[:2]:
        row = row_of(place)
        compare(explainer.menu(row, goal=1), World(model, space, row, lambda said: said == 1))


def test_the_menu_of_a_number_has_boxes_between_both_ends():
    X = SPACE.encode(ALL)
    y = X.to_numpy() @ np.arange(1, X.shape[1] + 1)
    model = RandomForestRegressor(4, max_depth=4, random_state=0).fit(X, y)
    row = row_of(int(np.argmin(model.predict(X))))
    low, high = np.quantile(model.predict(X), [0.5, 0.8]).tolist()
    menu = mace.Explainer(model, SPACE).menu(row, goal=f"{low!r} <= y <= {high!r}")
    compare(menu, World(model, SPACE, row, lambda said: low <= said <= high))


def test_of_boxes_that_exclude_each_other_the_larger_one_is_taken():
    grid = pd.DataFrame(itertools.product(range(10), repeat=2), columns=["x", "y"])
    space = mace.Space([mace.Feature(name, "integer", 0, 9) for name in grid])
    good = ((grid.x <= 8) | (grid.y <= 2)) & (grid.min(axis=1) >= 1)
    menu = mace.Explainer(DecisionTreeClassifier().fit(grid, good.astype(int)), space).menu({"x": 0, "y": 0}, goal=1)
    (way,) = menu.ways
    assert way.answer.counterfactuals[0].values == {"x": 1, "y": 1}
    # Moving x first as far as it goes would leave 1 .. 9 by 1 .. 2.
    assert way.box is not None and way.box.ranges == {"x": (1, 8), "y": (1, 9)} and way.box.largest
    assert {name: box.ranges[name] for name, box in way.ranges.items()} == {"x": (1, 9), "y": (1, 9)}


def test_no_other_box_around_the_new_values_has_more_of_them():
    grid = pd.DataFrame(itertools.product(range(6), repeat=3), columns=["x", "y", "z"])
    space = mace.Space([mace.Feature(name, "integer", 0, 5) for name in grid])
    seen = 0
    for seed in range(4):
        said = np.random.default_rng(seed).uniform(size=len(grid)) + (grid.min(axis=1) > 1) + (grid.sum(axis=1) > 8)
        good = (said > 1.1).to_numpy(copy=True)
        good[0] = False
        explainer = mace.Explainer(DecisionTreeClassifier().fit(grid, good.astype(int)), space)
        for way in explainer.menu({"x": 0, "y": 0, "z": 0}, goal=1).ways:
            assert way.box is not None and way.box.most and way.box.largest
            at = way.answer.counterfactuals[0].values
            sides = [way.box.ranges.get(name, (at[name], at[name])) for name in grid]
            every = [
                [(low, high) for low in range(at[name] + 1) for high in range(at[name], 6)]
                if name in way.box.ranges
                else [(at[name], at[name])]
                for name in grid
            ]
            cube = good.reshape(6, 6, 6)
            most = max(
                math.prod(high - low + 1 for low, high in box)
                for box in itertools.product(*every)
                if cube[tuple(slice(low, high + 1) for low, high in box)].all()
            )
            assert math.prod(high - low + 1 for low, high in sides) == most
            seen += 1
    assert seen > 8


def test_the_largest_box_without_some_points_is_what_enumeration_finds():
    from mace.explain.combinatorics import boxes

    made = random.Random(0)
    for _ in range(40):
        axes = mace.Space([*SPACE.features[:3]]).axes({"Age": 0, "Debts": 1.0, "Job": "b"})
        at = (made.randrange(5), made.randrange(4), made.randrange(3))
        points = [p for p in ((made.randrange(5), made.randrange(4), made.randrange(3)) for _ in range(9)) if p != at]
        sides = dict(enumerate(axes))
        every = itertools.product(
            [(low, high) for low in range(at[0] + 1) for high in range(at[0], 5)],
            [(low, high) for low in range(at[1] + 1) for high in range(at[1], 4)],
            [levels for levels in range(8) if levels >> at[2] & 1],
        )
        free = [
            (x[1] - x[0] + 1) * (y[1] - y[0] + 1) * z.bit_count()
            for x, y, z in every
            if not any(x[0] <= p[0] <= x[1] and y[0] <= p[1] <= y[1] and z >> p[2] & 1 for p in points)
        ]
        sought = boxes.Largest(sides, at, Fraction(0))
        found = sought.without(points)
        assert found is not None and sought.sure
        assert math.prod(boxes.size(side) for side in found.values()) == max(free)
        assert boxes.Largest(sides, at, Fraction(max(free))).without(points) is None
        short = boxes.Largest(sides, at, Fraction(0), left=1)
        short.without(points)
        assert short.sure == (not points)


def test_a_side_on_which_no_number_lies_needs_no_proof():
    points = SPACE.encode(ALL)
    rate = PoissonRegressor().fit(points, np.exp(points.to_numpy() @ np.linspace(-0.5, 0.5, points.shape[1])))
    chance = fitted("logistic", 4)
    row = row_of(int(np.argmax(rate.predict(points))))
    low = float(np.quantile(rate.predict(points), 0.3))
    for goal in (f"0 <= y <= {low}", f"-1 <= y <= {low}"):
        menu = mace.Explainer(rate, SPACE).menu(row, goal=goal)
        compare(menu, World(rate, SPACE, row, lambda said: said <= low))
        assert menu.ways and not menu.notes
    assert [str(one) for one in opposites(parse("0 <= p(1) <= 0.4", [0, 1]), [0, 1])] == ["p(1) > 0.4"]
    row = row_of(int(np.argmax(chance.predict_proba(points)[:, 1])))
    assert all(way.box for way in mace.Explainer(chance, SPACE).menu(row, goal="0 <= p(1) <= 0.4").ways)


def test_a_row_with_the_goal_needs_no_change():
    model = fitted("forest", 0)
    explainer = mace.Explainer(model, SPACE)
    place = int(np.flatnonzero(explainer.decisions(ALL) == 1)[0])
    menu = explainer.menu(row_of(place), goal=1)
    assert [way.features for way in menu.ways] == [()] and not menu.cannot
    assert menu.sentences() == ["Nothing has to change: the decision is approved already."]
    assert menu.ways[0].box is None and "Nothing has to change" in str(menu) and "<table>" in menu._repr_html_()


def test_what_a_time_limit_leaves_open_is_undecided():
    explainer = mace.Explainer(fitted("forest", 0), SPACE)
    place = int(np.flatnonzero(explainer.decisions(ALL) == 0)[0])
    menu = explainer.menu(row_of(place), goal=1, timeout=1e-9)
    assert not menu.complete and not menu.cannot and "time limit" in menu.why
    assert "not known" in " ".join(menu.sentences()) and "undecided" in str(menu)
    assert menu.wanted == "approved"  # as people call it, as in every other menu


def test_a_menu_that_is_stopped_keeps_the_points_that_were_found():
    model, start = fitted("forest", 0), 0
    explainer = mace.Explainer(model, SPACE)
    row = row_of(int(np.flatnonzero(explainer.decisions(ALL) == 0)[0]))
    stopped = 0
    for moments in range(20, 400, 40):
        clock = itertools.count(start).__next__
        menu = explainer.menu(row, goal=1, timeout=Deadline.after(moments, clock))
        stopped += bool(menu.ways) and not menu.complete
        for way in menu.ways:
            (nearest,) = way.answer.counterfactuals
            assert set(nearest.changes) <= set(way.features)
            assert model.predict(SPACE.encode(pd.DataFrame([nearest.values]))) == [1]
        assert menu.complete or "perhaps with less" in str(menu)
    assert stopped
    lost = replace(menu.ways[-1], features=("Age", "Job"), answer=replace(menu.ways[-1].answer, counterfactuals=[]))
    assert "Age and Job: " in str(replace(menu, ways=[lost]))


def test_an_answer_has_its_menu_which_says_what_each_feature_can_do_alone():
    model = fitted("forest", 0)
    explainer = mace.Explainer(model, SPACE)
    place = int(np.flatnonzero(explainer.decisions(ALL) == 0)[0])
    answer = explainer.explain(row_of(place), goal=1)
    menu = answer.menu(safe=False)
    said = menu.sentences()
    assert [text.partition(" alone is ")[0] for text in said[: len(menu.free)]] == list(menu.free)
    for name, text in zip(menu.free, said, strict=False):
        found = menu.alone(name)
        assert ("not enough, whatever it becomes: proved" in text) == (found in menu.cannot)
        assert (" alone is enough: " in text) == (found in menu.ways)
    for shown in (str(menu), menu._repr_html_()):
        assert "refused" in shown and "approved" in shown
    assert len(repr(menu)) < 100 and menu.to_dict()["complete"] is True
    import pickle

    with pytest.raises(MaceError, match="does not hold its model"):
        pickle.loads(pickle.dumps(answer)).menu()


def test_goals_whose_opposite_is_no_goal_have_no_boxes_and_say_so():
    with pytest.raises(GoalError, match="no goal is the opposite"):
        opposites(parse("1 by 0.1", [0, 1]), [0, 1])
    assert list(map(str, opposites(parse("p(1) >= 0.7", [0, 1]), [0, 1]))) == ["p(1) < 0.7"]
    assert list(map(str, opposites(parse("1 < y <= 2", []), []))) == ["y <= 1", "y > 2"]


def test_minimal_and_maximal_sets_of_any_monotone_question():
    for seed in range(200):
        made = random.Random(seed)
        count = made.randint(1, 5)
        base = [made.randrange(1 << count) for _ in range(made.randint(0, 4))]

        def enough(mask: int, base: list[int] = base) -> bool:
            return any(one & ~mask == 0 for one in base)

        def ask(mask: int, base: list[int] = base, made: random.Random = made) -> Reply:
            if not enough(mask, base):
                return Reply(suffices=False)
            return Reply(suffices=True, part=made.choice([one for one in base if one & ~mask == 0]))

        found, masks = all_subsets(count, ask), range(1 << count)
        assert sorted(found.minimal) == [
            m for m in masks if enough(m) and not any(enough(m & ~(1 << k)) for k in members(m))
        ]
        assert sorted(found.maximal) == [
            m for m in masks if not enough(m) and all(enough(m | 1 << k) for k in range(count) if not m >> k & 1)
        ]
    assert hitting_sets([]) == [0] and hitting_sets([0]) == []
    assert spared(["a", "b", "c"], lambda kept: None if kept == {"b", "c"} else "b" in kept) == (["a", "b"], False)


@pytest.mark.parametrize(("goal", "box"), [("2 <= y <= 4", (2, 4)), ("3 <= y <= 3", (3, 3))])
@pytest.mark.parametrize("start", [0, 7])
def test_a_side_that_one_end_of_a_goal_holds_is_not_asked_about_for_the_other_end(
    goal: str, box: tuple[int, int], start: int
) -> None:
    """Nothing lay beyond it: the prover read past the end of its arrays."""
    rows = pd.DataFrame({"a": range(8), "b": [0, 1] * 4})
    model = DecisionTreeRegressor(random_state=0).fit(rows[["a"]].assign(b=0), rows.a)
    menu = mace.Explainer(model, mace.Space.from_frame(rows)).menu({"a": start, "b": 1}, goal=goal)
    assert [(way.features, way.box and way.box.ranges) for way in menu.ways] == [(("a",), {"a": box})]
    assert all(answer.certificate.check().accepted for answer in menu.proofs())
