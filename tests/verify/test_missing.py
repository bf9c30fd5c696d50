"""Verdicts over rows that may lack values: every pattern of both inputs is asked about, or named as left out."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.errors import MaceError, ModelError, RowError
from mace.space.axes import LevelAxis
from mace.space.feature import Feature
from mace.space.space import Space
from mace.verify import bounded, equivalent, fair, holds, monotone, robust
from mace.verify.subject import Subject
from tests.marks import slow_unless

LOW, HIGH = 1, 4
SPACE = Space([Feature("x", "integer", LOW, HIGH, missing=True), Feature("z", "integer", 0, 2, missing=True)])
SIDES = {"x": [None, 1, 2, 3, 4], "z": [None, 0, 1, 2]}
ROWS = [dict(zip(SIDES, point, strict=True)) for point in itertools.product(*SIDES.values())]
FRAME = pd.DataFrame(ROWS, dtype=np.float64)


def fitted(y, estimator=None):
    """A pipeline that sees what is missing as columns of its own."""
    last = DecisionTreeClassifier(random_state=0) if estimator is None else estimator
    return make_pipeline(SimpleImputer(add_indicator=True), last).fit(FRAME, y)


def pairs(names, near=()):
    """All pairs of rows that differ in some of the names, and in no feature but these."""
    for one, other in itertools.permutations(ROWS, 2):
        differ = {name for name in SIDES if one[name] != other[name]}
        if differ & set(names) and differ <= {*names, *near}:
            yield one, other


def said_by(model):
    known = dict(zip(map(str, ROWS), model.predict(FRAME), strict=True))
    return lambda row: known[str(row)]


def agrees(model, given, truth: bool) -> None:
    verdict = mace.verify(model, SPACE, given)
    assert verdict.status == ("proved" if truth else "violated"), str(verdict)
    assert all(certificate.check().accepted for certificate in verdict.certificates)


def test_from_a_number_to_none_is_a_change_that_fair_asks_about() -> None:
    model = fitted(FRAME["x"].isna())
    agrees(model, fair("x"), truth=False)
    violation = mace.verify(model, SPACE, fair("x")).violation
    assert violation is not None and None in violation.changes["x"]
    agrees(model, fair("z"), truth=True)


def test_a_number_and_none_are_told_apart_where_none_would_count_as_0() -> None:
    """The axis of a number that is missing has one index, 0; a feature may have the value 0."""
    agrees(fitted(FRAME["z"].isna()), fair("z"), truth=False)
    agrees(fitted(FRAME["z"].isna() & (FRAME["x"] > 2)), fair("x", "z"), truth=False)


@pytest.mark.parametrize("kind", slow_unless(lambda kind: kind == "linear", ["tree", "linear"]))
def test_verdicts_agree_with_enumeration_over_all_patterns(kind) -> None:
    rng = np.random.default_rng(len(kind))
    for _ in range(5):
        y = (np.nan_to_num(FRAME.to_numpy(), nan=rng.integers(0, 5)) @ rng.normal(size=2) > rng.normal()).astype(int)
        if len(set(y)) == 1:
            continue
        estimator = DecisionTreeClassifier(max_depth=2) if kind == "tree" else LogisticRegression()
        model = fitted(y, estimator)
        says = said_by(model)
        for names in (["x"], ["z"], ["x", "z"]):
            agrees(model, fair(*names), all(says(one) == says(other) for one, other in pairs(names)))
        near = all(
            says(one) == says(other)
            for one, other in pairs(["x"], ["z"])
            if one["z"] == other["z"] or None not in (one["z"], other["z"]) and abs(one["z"] - other["z"]) <= 1
        )
        agrees(model, fair("x", within="1/2"), near)
        for direction, sign in (("increasing", 1), ("decreasing", -1)):
            keeps = all(
                says(one) <= says(other)
                for one, other in pairs(["x"])
                if None not in (one["x"], other["x"]) and sign * (other["x"] - one["x"]) > 0
            )
            agrees(model, monotone("x", direction), keeps)


def test_equivalent_asks_about_rows_that_lack_numbers() -> None:
    one, other = fitted(FRAME["x"] > 2), fitted((FRAME["x"] > 2) | FRAME["z"].isna())
    agrees(one, equivalent(other), truth=False)
    with pytest.raises(ModelError, match="the other model does not take all rows"):
        mace.verify(one, SPACE, equivalent(LogisticRegression().fit(FRAME.fillna(0), FRAME["x"] > 2)))


def test_a_program_is_not_compared_where_it_would_read_what_is_missing() -> None:
    model = fitted(FRAME["x"] > 2)
    with pytest.raises(ModelError, match="the other model does not take rows that lack `x`"):
        mace.verify(model, SPACE, equivalent("if x > 2:\n    return 1\nreturn 0\n"))


def test_a_condition_holds_for_no_row_that_lacks_what_it_reads() -> None:
    model = fitted(FRAME["x"].isna(), DecisionTreeClassifier(max_depth=2))
    assert mace.verify(model, SPACE, bounded(upper=0.5, label=1)).status == "violated"
    assert mace.verify(model, SPACE, bounded(upper=0.5, label=1, where="x >= 0")).status == "proved"


def test_rows_that_the_model_does_not_take_are_named_as_left_out() -> None:
    model = LogisticRegression().fit(FRAME.fillna(0), FRAME["x"] > 2)
    verdict = mace.verify(model, SPACE, fair("z"))
    assert "rows that lack `x` are left out: the model does not take them" in verdict.notes


def test_a_rule_that_reads_a_number_holds_for_no_row_that_lacks_it() -> None:
    ruled = Space(SPACE.features, rules=["x >= 0"])
    verdict = mace.verify(fitted(FRAME["x"].isna()), ruled, fair("x"))
    assert verdict.status == "proved"
    assert "rows that lack `x` are left out: the rule `x >= 0` reads it" in verdict.notes


def test_a_program_cannot_read_what_may_be_missing() -> None:
    with pytest.raises(MaceError, match="the program reads `x`, which may be missing"):
        mace.verify(fitted(FRAME["x"].isna()), SPACE, holds("x < 9 or f == other_f"))


def test_robust_names_what_stays_missing() -> None:
    model = fitted(FRAME["x"] > 2)
    for given in (robust({"x": 1, "z": None}, "1/100"), robust({"x": 1, "z": None})):
        notes = mace.verify(model, SPACE, given).notes
        assert "`x` does not become missing in this claim" in notes
        assert "`z` stays missing in this claim" in notes


def test_nothing_is_proved_of_rows_that_the_library_takes_and_the_table_does_not(monkeypatch) -> None:
    """Left out are rows that the library itself refuses, and no others."""
    model = DecisionTreeClassifier().fit(FRAME.fillna(0), FRAME["x"] > 9)
    monkeypatch.setattr(Subject, "usable", _usable_when_complete)
    for given in (fair("z"), monotone("z")):
        verdict = mace.verify(model, SPACE, given)
        assert verdict.status == "unknown" and "takes rows that lack `x`" in verdict.why


def _usable_when_complete(self, axes):
    """As for a model that is read as taking no row that lacks a number."""
    if any(isinstance(axis, LevelAxis) for axis in axes):
        raise RowError("the value is missing, and the model does not take that")
    return axes


@pytest.mark.parametrize("row", [{"c": None, "z": 0}, {"c": "a", "z": 0}])
def test_what_a_missing_level_costs_is_its_distance_of_robust_as_well(row) -> None:
    price = Feature("c", "categorical", levels=["a", "b"], encoding="one-hot", missing="any", missing_cost="1/3")
    space = Space([price, Feature("z", "integer", 0, 2)])
    rows = pd.DataFrame([{"c": c, "z": z} for c in ("a", "b", None) for z in range(3)])
    model = DecisionTreeClassifier(random_state=0).fit(space.encode(rows), rows.c.isna())
    assert mace.explain(model, space, row).distance == pytest.approx(1 / 6)
    assert mace.verify(model, space, robust(row)).figures["radius"] == pytest.approx(1 / 6, rel=1e-3)
    assert mace.verify(model, space, robust(row, "1/6")).status == "proved"
    assert mace.verify(model, space, robust(row, "1/5")).status == "violated"
