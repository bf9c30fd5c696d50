"""Planted faults are found and replayed, clean models are proved with certificates that the checker accepts."""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.errors import MaceError
from mace.space.feature import Feature
from mace.space.space import Space
from mace.verify import bounded, equivalent, fair, holds, monotone, reachable, robust
from mace.verify.properties import read, text_of

SPACE = Space(
    [
        Feature("Income", "integer", 0, 100),
        Feature("Age", "integer", 18, 90),
        Feature("Sex", "categorical", levels=["f", "m"]),
        Feature("Debt", "real", 0, 10),
        Feature("Job", "categorical", levels=["a", "b", "c"]),
    ]
)
RNG = np.random.default_rng(0)
ROWS = 600
X = pd.DataFrame(
    {
        "Income": RNG.integers(0, 101, ROWS),
        "Age": RNG.integers(18, 91, ROWS),
        "Sex": RNG.choice(["f", "m"], ROWS),
        "Debt": RNG.uniform(0, 10, ROWS),
        "Job": RNG.choice(["a", "b", "c"], ROWS),
    }
)
MATRIX = SPACE.encode(X)
Y = (X["Income"] / 20 - X["Debt"] + RNG.normal(0, 1, ROWS) > 0).astype(int)
RISING = [1 if column == "Income" else 0 for column in MATRIX.columns]
BLIND = MATRIX.assign(**{"Sex=f": 0.0, "Sex=m": 0.0})
DECLARED = {
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(8, max_depth=4, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=10, max_depth=3),
}
PROGRAM = "if Income > 50 and Age > 20:\n    return 1\nreturn 0\n"


def fitted(name: str, rising: bool = False, blind: bool = False):
    model = copy.deepcopy(DECLARED[name])
    if rising:
        model.set_params(monotonic_cst=RISING)
    return model.fit(BLIND if blind else MATRIX, Y)


def says(model, row):
    return model.predict(SPACE.encode(pd.DataFrame([row])))[0]


def replayed(verdict, *models) -> None:
    """The inputs of a violation once more, without mace: rows of the space, and the models' own decisions."""
    rows = verdict.violation.inputs
    asked = [(models[0], row) for row in rows] if len(models) == 1 else [(model, rows[0]) for model in models]
    assert tuple(says(model, row) for model, row in asked) == verdict.violation.decisions
    assert len(set(verdict.violation.decisions)) > 1 or len(asked) == 1


def certified(verdict) -> None:
    assert verdict.status == "proved", str(verdict)
    assert verdict.certified
    for certificate in verdict.certificates:
        assert certificate.check().accepted


# ---------------------------------------------------------------------------------------------- planted faults


def test_an_income_effect_that_falls_is_found() -> None:
    y = Y.where(~X["Income"].between(60, 70), 0)  # whoever earns 60 to 70 is rejected
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(MATRIX, y)
    verdict = mace.verify(model, SPACE, monotone("Income", "increasing"))
    assert verdict.status == "violated"
    replayed(verdict, model)
    assert list(verdict.violation.changes) == ["Income"]
    before, after = verdict.violation.changes["Income"]
    assert before < after and verdict.violation.decisions == (1, 0)
    with pytest.raises(AssertionError, match="violated: monotone"):
        verdict.raise_if_violated()


@pytest.mark.parametrize("name", DECLARED)
def test_a_model_that_uses_sex_is_found(name) -> None:
    y = (X["Income"] / 20 - X["Debt"] + 3.0 * (X["Sex"] == "m") > 0).astype(int)
    model = copy.deepcopy(DECLARED[name]).fit(MATRIX, y)
    verdict = mace.verify(model, SPACE, "fair(Sex)")
    assert verdict.status == "violated"
    replayed(verdict, model)
    assert list(verdict.violation.changes) == ["Sex"]


def test_a_model_that_differs_in_one_leaf_is_found() -> None:
    one = fitted("forest")
    other = copy.deepcopy(one)
    tree = other.estimators_[3].tree_
    leaves = [node for node in range(tree.node_count) if tree.children_left[node] < 0]
    leaf = max(leaves, key=lambda node: tree.n_node_samples[node])
    tree.value[leaf, 0] = tree.value[leaf, 0][::-1]
    verdict = mace.verify(one, SPACE, equivalent(other))
    assert verdict.status == "violated"
    replayed(verdict, one, other)


# ---------------------------------------------------------------------------------------------- clean models


@pytest.mark.parametrize("name", DECLARED)
def test_a_monotone_model_is_proved(name) -> None:
    certified(mace.verify(fitted(name, rising=True), SPACE, "monotone(Income, increasing)"))


@pytest.mark.parametrize("name", DECLARED)
def test_a_model_that_does_not_see_sex_is_proved(name) -> None:
    certified(mace.verify(fitted(name, blind=True), SPACE, "fair(Sex)"))


@pytest.mark.parametrize("name", DECLARED)
def test_a_copy_of_a_model_is_proved_equivalent(name) -> None:
    model = fitted(name)
    certified(mace.verify(model, SPACE, equivalent(copy.deepcopy(model))))


def test_a_program_of_a_tree_is_proved_equivalent_by_the_solvers() -> None:
    income_only = MATRIX * np.array(RISING)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(income_only, Y)
    tree = model.tree_
    lines = []

    def write(node: int, indent: str) -> None:
        if tree.children_left[node] < 0:
            lines.append(f"{indent}return {int(tree.value[node, 0].argmax())}")
            return
        lines.append(f"{indent}if Income <= {float(tree.threshold[node])!r}:")
        write(tree.children_left[node], indent + "    ")
        lines.append(f"{indent}else:")
        write(tree.children_right[node], indent + "    ")

    write(0, "")
    assert mace.verify(model, SPACE, equivalent("\n".join(lines) + "\n")).status == "proved"
    wrong = "\n".join(lines).replace("return 1", "return 0") + "\n"
    verdict = mace.verify(model, SPACE, equivalent(wrong))
    assert verdict.status == "violated" and verdict.violation.decisions == (1, 0)


def test_a_linear_model_and_a_network_are_settled_too() -> None:
    scaled = MATRIX / MATRIX.abs().max()
    linear = LogisticRegression(max_iter=1000).fit(scaled, Y)
    assert mace.verify(linear, SPACE, "monotone(Income, increasing)").status == "proved"
    assert mace.verify(linear, SPACE, "monotone(Debt, increasing)").status == "violated"
    verdict = mace.verify(linear, SPACE, "fair(Sex)")
    assert verdict.status == "violated"
    replayed(verdict, linear)
    network = MLPClassifier((6,), max_iter=300, random_state=0).fit(scaled, Y)
    verdict = mace.verify(network, SPACE, "fair(Sex)")
    assert verdict.status == "violated"
    replayed(verdict, network)
    assert mace.verify(network, SPACE, equivalent(copy.deepcopy(network))).status == "proved"
    verdict = mace.verify(network, SPACE, equivalent(linear))
    replayed(verdict, network, linear)


# ---------------------------------------------------------------------------------------------- other properties


def test_robustness_and_its_largest_radius_agree() -> None:
    model = fitted("forest")
    largest = mace.verify(model, SPACE, "robust(3)", data=X)
    certified(largest)
    radius = largest.figures["radius"]
    certified(mace.verify(model, SPACE, robust(3, radius * 0.99), data=X))
    verdict = mace.verify(model, SPACE, robust(3, radius * 1.01), data=X)
    assert verdict.status == "violated"
    replayed(verdict, model)


def test_a_class_is_reachable_or_proved_not_to_be() -> None:
    model = DecisionTreeClassifier(max_depth=1).fit(MATRIX, np.where(X["Income"] > 50, 1, 0))
    assert mace.verify(model, SPACE, reachable(1)).witness is not None
    low = Space([Feature("Income", "integer", 0, 40), *SPACE.features[1:]])
    verdict = mace.verify(model, low, "reachable(1)")
    assert verdict.status == "violated" and verdict.certified
    assert all(certificate.check().accepted for certificate in verdict.certificates)
    assert (verdict.asked, verdict.refuted) == (1, 1)
    assert verdict.notes == ("`unreachable` asks for the opposite, which is proved",)


def test_a_network_is_robust_up_to_a_radius_that_is_certified() -> None:
    model = MLPClassifier((3,), random_state=0, max_iter=500, tol=1e-2).fit(MATRIX / 10.0, Y)
    space = Space([Feature(column, "real", 0, 10) for column in MATRIX.columns])
    row = (MATRIX.iloc[0] / 10.0).to_dict()
    largest = mace.verify(model, space, robust(row)).figures["radius"]
    assert largest > 0
    certified(mace.verify(model, space, robust(row, Fraction(largest) * Fraction(9, 10))))


def test_a_number_and_a_probability_are_bounded() -> None:
    model = RandomForestRegressor(4, max_depth=4, random_state=0, n_jobs=1).fit(MATRIX, X["Income"] / 10.0)
    certified(mace.verify(model, SPACE, "bounded(lower=0, upper=10)"))
    verdict = mace.verify(model, SPACE, bounded(lower=5, where="Age >= 30"))
    assert verdict.status == "violated"
    (row,), (said,) = verdict.violation.inputs, verdict.violation.decisions
    assert row["Age"] >= 30 and says(model, row) == said < 5
    forest = fitted("forest")
    verdict = mace.verify(forest, SPACE, "bounded(lower=0.5, label=1)")
    assert f"p(1) = {verdict.violation.decisions[0]!r} (replayed" in str(verdict)  # no class of that name
    probability = forest.predict_proba(SPACE.encode(pd.DataFrame([verdict.violation.inputs[0]])))[0, 1]
    assert verdict.violation.decisions == (probability,) and probability < 0.5


@pytest.mark.parametrize(("lower", "upper"), [(None, 5), (-3, 9), (0.5, None), (None, 1), (0, None), (1, 12)])
def test_bounds_of_a_number_are_asked_on_both_sides_whatever_they_are(lower, upper) -> None:
    # 0 and 1 bound nothing where a probability is asked for, and are bounds as any other of a number.
    model = RandomForestRegressor(2, max_depth=3, random_state=0, n_jobs=1).fit(MATRIX, X["Income"] / 10.0 - 2.0)
    said = model.predict(MATRIX)
    inside = (lower is None or said.min() >= lower) and (upper is None or said.max() <= upper)
    verdict = mace.verify(model, SPACE, bounded(lower=lower, upper=upper))
    assert verdict.status == ("proved" if inside else "violated")


def test_a_number_that_depends_on_a_feature_is_not_fair() -> None:
    model = RandomForestRegressor(2, max_depth=3, random_state=0, n_jobs=1).fit(MATRIX, X["Income"] + (X["Sex"] == "f"))
    verdict = mace.verify(model, SPACE, fair("Income"))
    assert verdict.status == "violated"
    replayed(verdict, model)
    certified(mace.verify(model, SPACE, fair("Job")))


def test_a_class_may_be_named_by_its_text() -> None:
    model = DecisionTreeClassifier(max_depth=1).fit(MATRIX, np.where(X["Income"] > 50, 1, 0))
    assert mace.verify(model, SPACE, reachable("1")).witness is not None
    with pytest.raises(MaceError, match="'2' is not a class of this model"):
        mace.verify(model, SPACE, reachable("2"))


def test_programs_over_one_and_two_inputs() -> None:
    model = fitted("tree", rising=True)
    certified(mace.verify(model, SPACE, holds("other_Income >= Income implies other_f >= f")))
    verdict = mace.verify(model, SPACE, holds("Income >= 50 implies f == 1"))
    assert verdict.status == "violated" and verdict.violation.inputs[0]["Income"] >= 50
    assert verdict.violation.decisions == (0,)
    with pytest.raises(MaceError, match="Incme"):
        mace.verify(model, SPACE, holds("Incme >= 50 implies f == 1"))


def test_a_model_written_as_a_program_is_verified_by_the_solvers() -> None:
    assert mace.verify(PROGRAM, SPACE, "monotone(Income, increasing)").status == "proved"
    assert mace.verify(PROGRAM, SPACE, "fair(Sex, Job)").status == "proved"
    verdict = mace.verify(PROGRAM, SPACE, "fair(Age)")
    assert verdict.status == "violated" and list(verdict.violation.changes) == ["Age"]
    assert verdict.why == "these two inputs, which differ in Age, break it"
    assert mace.verify(PROGRAM, SPACE, equivalent(PROGRAM.replace("20", "21"))).status == "violated"


def test_rules_of_the_space_hold_for_both_inputs() -> None:
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(MATRIX, np.where(X["Income"].between(30, 60), 1, 0))
    assert mace.verify(model, SPACE, "monotone(Income, increasing)").status == "violated"
    ruled = Space(SPACE.features, rules=["Income <= 50"])
    assert mace.verify(model, ruled, "monotone(Income, increasing)").status == "proved"


# ---------------------------------------------------------------------------------------------- limits and mistakes


def test_a_timeout_is_unknown() -> None:
    model = GradientBoostingClassifier(n_estimators=40, max_depth=5, random_state=0)
    model.fit(MATRIX, RNG.integers(0, 2, ROWS))
    verdict = mace.verify(model, SPACE, "fair(Sex)", timeout=1e-3)
    assert verdict.status == "unknown" and "time limit" in verdict.why
    assert not verdict.certificates
    assert verdict.raise_if_violated() is verdict
    with pytest.raises(AssertionError):
        verdict.raise_if_violated(unknown=True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("monotone(Job, increasing)", "no order"),
        ("monotone(Nope)", "no feature `Nope`"),
        ("monotone(Income, upwards)", "increasing"),
        ("fair()", "name the protected"),
        ("reachable(7)", "not a class"),
        ("bounded(0, 1)", "of which class"),
        ("robust(0)", "no row 0"),
        ("robust(0, radius=-1)", "must be > 0"),
        ("open('x')", "none that mace knows"),
        ("fair(__import__('os'))", "expected words"),
        ("holds('Age <')", "expected"),
    ],
)
def test_a_wrong_property_says_what_is_wrong(text, message) -> None:
    with pytest.raises(MaceError, match=message):
        mace.verify(fitted("tree"), SPACE, text)


@pytest.mark.parametrize(
    "given",
    [
        monotone("Income", "decreasing", ["a", "b"]),
        fair("Sex", "Marital status", within="1/20"),
        reachable("high risk"),
        bounded(None, 0.5, ["Age >= 3", 'Sex == "f"'], 1),
        holds("Age > 3 implies f == 0"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_property_is_read_back_from_its_text(given) -> None:
    assert read(text_of(given)) == given
