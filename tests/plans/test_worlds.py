"""Worlds: the paper's figure, the steps of the published worlds, and what is said of worlds that are wrong."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import pytest

import mace
from mace.errors import MaceError, ProgramError
from mace.worlds import Refused, World, known_worlds

SPACE = mace.Space(
    [
        mace.Feature("loc", "categorical", levels=["Germany", "US"]),
        mace.Feature("edu", "ordinal", levels=["HS", "BSc", "MSc"]),
        mace.Feature("job", "categorical", levels=["none", "developer"]),
        mace.Feature("age", "integer", lower=18, upper=80),
        mace.Feature("debt", "real", lower=0, upper=100, step="0.1"),
    ]
)
FIGURE_2 = """
action job:
    job = "developer"
    cost 10
action study:
    edu = "BSc"
    cost 5
action move:
    loc = "US"
    cost 15
consequence loc -> edu: 1 if loc == "US" else 0.5
consequence loc -> job: 0.5 if loc == "US" else 1
consequence edu -> job: 0.5 if edu != "HS" else 1
"""
START = {"loc": "Germany", "edu": "HS", "job": "none", "age": 30, "debt": 10}
MODEL = """
input loc: one of "Germany", "US"
input edu: one of "HS", "BSc", "MSc"
input job: one of "none", "developer"
if loc == "US" and edu != "HS" and job == "developer":
    return 1
return 0
"""
COSTS = {"jsm": "27.5", "jms": "30", "sjm": "25", "smj": "22.5", "mjs": "27.5", "msj": "25"}


def test_figure_2_by_the_interpreter() -> None:
    """The costs of all six orders, as the paper has them."""
    world = World.read(FIGURE_2, SPACE)
    axes = SPACE.axes(START)
    found = {}
    for order in itertools.permutations(["job", "study", "move"]):
        state, cost = world.start(axes), Fraction(0)
        for action in order:
            step = world.step(axes, state, action, {})
            assert not isinstance(step, Refused)
            state, cost = step.after, cost + step.cost
        found["".join(action[0] for action in order)] = cost
    assert found == {name: Fraction(cost) for name, cost in COSTS.items()}


def test_figure_2_by_the_planner() -> None:
    plan = mace.plan(MODEL, SPACE, START, World.read(FIGURE_2, SPACE), goal=1, gap=0, rgap=0)
    assert plan.status == "optimal"
    assert plan.exact_cost == plan.exact_lower_bound == Fraction("22.5")
    assert [step.action for step in plan.steps] == ["study", "move", "job"]
    assert [step.sources for step in plan.steps][2] == (
        ("loc", "job", Fraction(1, 2)),
        ("edu", "job", Fraction(1, 2)),
    )


def test_without_discounts_the_order_costs_the_same() -> None:
    plan = mace.plan(MODEL, SPACE, START, World.read(FIGURE_2, SPACE), goal=1, discount=False, gap=0, rgap=0)
    assert plan.exact_cost == plan.exact_lower_bound == 30


def test_a_state_takes_the_nearest_value_of_its_grid() -> None:
    world = World.read("action pay:\n    debt = debt * 0.997\n    cost 1\n", SPACE)
    axes = SPACE.axes({**START, "debt": 50})
    step = world.step(axes, world.start(axes), "pay", {})
    assert not isinstance(step, Refused)
    assert step.after["debt"] == Fraction("49.8")  # of 49.85, which lies in the middle, the even multiple


@pytest.mark.parametrize(
    ("action", "values", "why"),
    [
        ("wait", {"years": Fraction(60)}, "leaves its range"),
        ("wait", {"years": Fraction(1, 2)}, "no value"),
        ("owe", {}, "condition before"),
        ("split", {}, "divides by zero"),
    ],
)
def test_what_cannot_be_done_says_why(action: str, values: dict[str, Fraction], why: str) -> None:
    text = """
action wait:
    parameter years: int in [1, 70]
    age = age + years
    cost years
action owe:
    before debt < 5
    debt = 5
    cost 1
action split:
    debt = 10 / (debt - 10)
    cost 1
"""
    world = World.read(text, SPACE)
    axes = SPACE.axes(START)
    refused = world.step(axes, world.start(axes), action, values)
    for wrong, given, words in (
        ("spit", {}, "no action 'spit'\nDid you mean 'split'"), (action, {**values, "x": 1}, "got .*x"),
    ):  # fmt: skip
        with pytest.raises(MaceError, match=words):
            world.step(axes, world.start(axes), wrong, given)
    assert isinstance(refused, Refused)
    assert why in refused.why


def test_a_quotient_by_0_counts_only_where_it_is_taken() -> None:
    text = """
action pay:
    before (100 / debt > 1 if debt > 0 else true)
    age = age + (30 / debt if debt > 0 else 2)
    after 1 > (1 / debt if debt > 1 else 0)
    cost 60 / debt if debt > 0 else 7
consequence debt -> age: 1 if debt > 0 else 0.5
"""
    world = World.read(text, SPACE)
    model = "input age: int\nreturn 1 if age >= 32 else 0\n"
    for debt, cost in ((0, Fraction(7, 2)), (10, Fraction(6))):
        plan = mace.plan(model, SPACE, {**START, "debt": debt}, world, goal=1, gap=0, rgap=0)
        assert (plan.status, plan.exact_cost, plan.exact_lower_bound) == ("optimal", cost, cost)
    strict = World.read("action pay:\n    before debt == 0 or 1 / debt < 1\n    age = 40\n    cost 1\n", SPACE)
    axes = SPACE.axes({**START, "debt": 0})
    assert isinstance(strict.step(axes, strict.start(axes), "pay", {}), Refused)


@pytest.mark.parametrize(
    "change", ["debt = debt + 0.06\n    after debt >= before_debt + 0.1", "age = 39.5\n    after age >= 40"]
)
def test_conditions_after_are_about_numbers_on_their_grids(change: str) -> None:
    world = World.read(f"action a:\n    {change}\n    cost 1\n", SPACE)
    axes = SPACE.axes(START)
    assert not isinstance(world.step(axes, world.start(axes), "a", {}), Refused)


def test_a_cost_that_a_grid_makes_negative_is_named() -> None:
    world = World.read("action a:\n    debt = 1.97\n    cost 1.98 - debt\n", SPACE)
    axes = SPACE.axes(START)
    with pytest.raises(ProgramError, match=r"<world>:3:10: the action `a` costs -0.02 in a state"):
        world.step(axes, world.start(axes), "a", {})


WRONG = {
    "nothing": ("", "the world has no action"),
    "stray": ("age = 3\n", "expected `world`, `const`, `action` or `consequence`"),
    "no cost": ("action a:\n    age = age + 1\n", "has no cost"),
    "no effect": ("action a:\n    cost 1\n", "changes no feature"),
    "no feature": (
        "action a:\n    agee = 20\n    cost 1\n",
        "`agee` is no feature. Did you mean 'age'?",
    ),
    "another space": ("action a:\n    agee = agee + 1\n    cost 1\n", "2:12: `agee` is no feature of the space"),
    "unknown": ("action a:\n    age = ag + 1\n    cost 1\n", "<world>:2:11: `ag` is not an input"),
    "level": ('action a:\n    edu = "PhD"\n    cost 1\n', '`edu` has no level "PhD"'),
    "compared": ('action a:\n    before edu == "Bsc"\n    age = age + 1\n    cost 1\n', 'Did you mean "BSc"?'),
    "negative": ("action a:\n    parameter v: int in [-2, 2]\n    age = age + v\n    cost v\n", "can be negative"),
    "huge": ("action a:\n    age = age + 1\n    cost age * 1e300 * 1e300\n", "<world>:3:10: the cost of `a` can be"),
    "never": ("action a:\n    before age > 90\n    age = age + 1\n    cost 1\n", "<world>:2:12: no state meets"),
    "both": (
        "action a:\n    before age > 50 and age < 20\n    age = age + 1\n    cost 1\n",
        "<world>:2:12: no state meets",
    ),
    "together": (
        "action a:\n    before age > 50\n    before age <= debt\n    before debt <= 50\n    age = 20\n    cost 1\n",
        "<world>:4:12: no state meets",
    ),
    "after": ("action a:\n    age = age + 1\n    after age < before_age\n    cost 1\n", "no state meets"),
    "step": ("action a:\n    parameter v: real in [0, 1]\n    debt = v\n    cost 1\n", "needs a step"),
    "range": ("action a:\n    parameter v: int\n    age = v\n    cost 1\n", "has no end"),
    "twice": ("action a:\n    age = 20\n    cost 1\naction a:\n    age = 20\n    cost 1\n", "declared twice"),
    "name": ("action a:\n    parameter age: int in [1, 2]\n    age = 20\n    cost 1\n", "is a feature"),
    "circle": (
        "action a:\n    age = 20\n    cost 1\nconsequence age -> debt: 0.5\nconsequence debt -> age: 0.5\n",
        "closes a circle",
    ),
    "factor": ("action a:\n    age = 20\n    cost 1\nconsequence age -> debt: age / 20\n", "can leave 0..1"),
    "edge": ("action a:\n    age = 20\n    cost 1\nconsequence agee -> debt: 0.5\n", "Did you mean `age`?"),
    "syntax": ("action a:\n    age = = 20\n    cost 1\n", "<world>:2:11"),
    "half written": ("action a:\n    age = 20\n    cost", "<world>:3:5: expected an expression after `cost`"),
    "condition": ("action a:\n    before age\n    age = 20\n    cost 1\n", "true or false"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_world_says_what_is_wrong(name: str) -> None:
    text, message = WRONG[name]
    with pytest.raises(ProgramError) as error:
        World.read(text, SPACE)
    assert message in str(error.value)


@pytest.mark.parametrize("prefix", ["before_", "start_"])
def test_a_feature_with_the_name_of_an_earlier_value_is_refused(prefix: str) -> None:
    space = mace.Space([mace.Feature(name, "integer", lower=0, upper=9) for name in ("a", f"{prefix}a")])
    with pytest.raises(ProgramError, match="the earlier value of `a`"):
        World.read("action go:\n    a = 3\n    cost 1\n", space)


@pytest.mark.parametrize("horizon", [0, 4, 1000, True, 1.5])
def test_a_horizon_that_makes_no_sense_is_refused(horizon: object) -> None:
    with pytest.raises(MaceError, match="horizon must be a whole number from 1 to 3"):
        mace.plan(MODEL, SPACE, START, World.read(FIGURE_2, SPACE), goal=1, horizon=horizon)  # type: ignore[arg-type]


def test_a_world_of_another_space_is_refused() -> None:
    other = mace.Space([mace.Feature("x", "integer", lower=0, upper=3)])
    with pytest.raises(MaceError, match="another space"):
        mace.plan("return 1 if x > 1 else 0", other, [0], World.read(FIGURE_2, SPACE), goal=1)


def test_the_worlds_that_come_with_mace_are_named() -> None:
    assert known_worlds() == ["adult", "german", "german-corrected", "loans"]
    for name in ("mars", "\0"):
        with pytest.raises(MaceError, match="cannot be read"):
            World.load(name, SPACE)
    with pytest.raises(MaceError, match="by its name, or from a path"):
        World.load(World.read(FIGURE_2, SPACE), SPACE)  # type: ignore[arg-type]
    with pytest.raises(MaceError, match="the name of a world must be a text; got 1"):
        World.read(FIGURE_2, SPACE, 1)  # type: ignore[arg-type]


def test_the_world_of_loans_is_read_and_described() -> None:
    space = mace.datasets.load("loans").space
    told = World.load("loans", space).describe()
    study = next(action for action in told["actions"] if action["name"] == "study")
    assert study["parameters"] == {"degree": "one of vocational, bachelor, master"}
    assert study["before"] == ['degree == 0 or Education != "primary"']  # as people call the levels of a feature
    assert told["consequences"][1]["factor"] == '0.8 if HasGuarantor == "yes" else 1'


def test_a_world_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "moves.mace"
    file.write_text(FIGURE_2)
    assert World.load(file, SPACE).name == "moves"


@pytest.mark.data
def test_the_published_benchmarks_are_there() -> None:
    adult = mace.datasets.load("cscf-adult")
    assert adult.X.shape == (100, 12)
    assert (adult.model.predict(adult.X) != adult.goal).all()
    assert adult.world.actions[0].name == "education"
    german = mace.datasets.load("cscf-german")
    assert (german.model.predict(german.X) != german.goal).all()
    axes = german.space.axes(german.X.iloc[0])
    step = german.world.step(axes, german.world.start(axes), "adjust period", {"more": Fraction(-2000)})
    assert not isinstance(step, Refused)
    assert step.after["loan_duration"] == Fraction("34.486")  # 24 + 24 * 1552 / 3552, to three digits
