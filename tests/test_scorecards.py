"""Counterfactuals of scorecards: equal to trying every choice of bins, certificates accepted, and right where the
original is not."""

from __future__ import annotations

import importlib.util
import itertools
import math
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import PoissonRegressor, RidgeClassifier, SGDClassifier

from mace.base.deadline import NEVER
from mace.errors import MaceError
from mace.scorecards import Bin, Card, Counterfactual, Variable, card_of, choosing, listing, read_card
from mace.scorecards.choosing import Rules, _Search
from mace.scorecards.listing import Singles, list_singles
from mace.scorecards.pricing import priced
from mace.solve.compatible import least
from tests.cards import HARD, card, cards_agree, claimed, every_set, table


@pytest.mark.parametrize("seed", [*range(12), 204])
def test_a_set_of_bins_is_the_best_of_all(seed: int) -> None:
    cards_agree(seed)  # of 204 two sets have one sum but for rounding


@pytest.mark.parametrize("seed", range(6))
def test_prices_leave_the_best_set_of_all(seed: int) -> None:
    rng = np.random.default_rng(seed + 50)
    made = card(rng, 4, 4)
    found = Counterfactual(made).fit(table(made, rng))
    row = {v.name: int(rng.integers(0, 4)) + 0.5 for v in made.variables}
    y = int(made.score(made.places(row)) <= 0)
    for rules, aims in ((HARD, {"proximity": 1.0}), (HARD[1:], {"proximity": 0.5, "closeness": 1.0})):
        found.generate(row, y, "binary", 3, max_changes=2, objectives=aims, hard_constraints=rules)
        truth = every_set(found, 3, rules, aims)
        assert found.status == ("INFEASIBLE" if truth is None else "OPTIMAL")
        certificate = found.certificate
        assert certificate.check().accepted
        assert truth is None or claimed(certificate) == pytest.approx(truth, rel=1e-9)
        assert truth is None or certificate.data["set"]["prices"]["values"]


@pytest.mark.parametrize("seed", range(4))
def test_prices_bound_every_set(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bins = rng.integers(-1, 4, (30, 4))
    cost = np.sort(rng.exponential(size=30))
    found = priced(bins, cost, 3, NEVER, features=True)
    assert found is not None
    for members in itertools.combinations(range(30), 3):
        pairs = list(itertools.combinations(bins[list(members)], 2))
        if any(((a >= 0) & (a == b)).any() or ((a >= 0) == (b >= 0)).all() for a, b in pairs):
            continue
        assert cost[list(members)].sum() >= found.bound + found.excess[list(members)].sum() - 1e-9


def by_hand() -> tuple[Card, pd.DataFrame]:
    """Three variables; `idle` has the coefficient 0."""
    rows: list[dict[str, Any]] = []
    for name, coefficient, values in (
        ("a", -1.0, (1.5, 0.0, -1.0)),
        ("b", -1.0, (0.5, -0.5, -2.0)),
        ("idle", 0.0, (1.0, 0.0)),
    ):
        ends = [None, *range(1, len(values)), None]
        rows += [
            {"variable": name, "coefficient": coefficient, "value": v, "low": low, "high": high, "points": -v}
            for v, low, high in zip(values, ends, ends[1:], strict=False)
        ]  # fmt: skip
    made = read_card(rows, 0.0)
    return made, table(made, np.random.default_rng(0))


START = {"a": 0.5, "b": 0.5, "idle": 0.5}


def test_closeness_alone_changes_what_it_must() -> None:
    made, X = by_hand()
    found = Counterfactual(made).fit(X).generate(START, 1, "binary", 1, max_changes=2, objectives={"closeness": 1})
    assert found.status == "OPTIMAL" and (found.display(show_outcome=True)["outcome"] > 0.5).all()


@pytest.mark.parametrize("proximity", ["paper", "library"])
def test_a_coefficient_of_zero_makes_nothing_infeasible(proximity: Any) -> None:
    made, X = by_hand()
    found = (
        Counterfactual(made, proximity=proximity).fit(X).generate(START, 1, "binary", 1, objectives={"proximity": 1})
    )
    assert found.status == "OPTIMAL"
    assert found.display(show_only_changes=True).iloc[0].tolist() == ["-", "[2.00, inf)", "-"] or found.objective


@pytest.mark.parametrize(
    ("wanted", "side"), [(0.7, "min_outcome"), (0.3, "max_outcome"), (0.9525741268224334, "min_outcome")]
)
def test_a_probability_is_met_exactly(wanted: float, side: str) -> None:
    made, X = by_hand()
    start = START if side == "min_outcome" else {"a": 2.5, "b": 2.5, "idle": 0.5}
    found = (
        Counterfactual(made).fit(X).generate(start, wanted, "probability", 2, max_changes=3, hard_constraints=[side])
    )
    outcome = found.display(show_outcome=True)["outcome"]
    assert (outcome >= wanted).all() if side == "min_outcome" else (outcome <= wanted).all()


@pytest.mark.parametrize("wanted", [1.0, 1 - 1e-10, 1 - 2**-52, 1e-10, 1e-308, 0.0])
@pytest.mark.parametrize("side", ["min_outcome", "max_outcome"])
@pytest.mark.filterwarnings("error")
def test_probabilities_near_to_0_and_1_are_those_of_their_floats(wanted: float, side: str) -> None:
    """The float of a probability is 1 from a score of 37 on, and was said to be out of reach."""
    values = [-800.0, -30.0, -23.02585093, 0.0, 23.02585093, 30.0, 36.0, 800.0]
    ends = [-math.inf, *range(1, len(values)), math.inf]
    own = [Bin(str(v), "interval", v, low=a, high=b) for v, a, b in zip(values, ends, ends[1:], strict=False)]
    made = Card((Variable("a", 1.0, tuple(own)), Variable("b", 1e-7, tuple(own))), 0.0)
    X = pd.DataFrame({name: np.random.default_rng(k).integers(0, 8, 90) + 0.5 for k, name in enumerate("ab")})
    found = Counterfactual(made).fit(X)
    for start in (0.5, 7.5):
        row = {"a": start, "b": 3.5}
        found.generate(row, wanted, "probability", 1, objectives={"proximity": 1}, hard_constraints=[side])
        outcomes = [made.outcome((k, 3)) for k in range(8)] + [made.outcome((int(start), k)) for k in range(8)]
        reached = [(p >= wanted) if side == "min_outcome" else (p <= wanted) for p in outcomes]
        assert found.status == ("OPTIMAL" if any(reached) else "INFEASIBLE")
        outcome = [] if not any(reached) else found.display(show_outcome=True)["outcome"]
        assert all(p >= wanted if side == "min_outcome" else p <= wanted for p in outcome)


def test_a_card_says_what_its_estimator_predicts() -> None:
    """A sum of points was taken for the prediction where that is its exponential, and for odds where there are none."""
    optbinning = pytest.importorskip("optbinning")
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.normal(size=300) for name in "ab"})
    score = X["a"] + X["b"] + rng.normal(size=300) / 4
    y = (score > 0).astype(int)

    def fitted(estimator: Any, target: Any) -> Any:
        return optbinning.Scorecard(optbinning.BinningProcess(list("ab")), estimator).fit(X, target)

    with pytest.raises(MaceError, match="PoissonRegressor is not supported: it does not predict the sum"):
        Counterfactual(fitted(PoissonRegressor(), np.exp(score))).fit(X)
    for estimator in (RidgeClassifier(), SGDClassifier(loss="modified_huber", random_state=0)):
        made = fitted(estimator, y)
        found, query = Counterfactual(made).fit(X), X.iloc[[int(y.argmin())]]
        found.generate(query, 1 - int(made.predict(query)[0]), "binary", 1, max_changes=2)
        assert made.predict(found.rows())[0] != made.predict(query)[0]
        with pytest.raises(MaceError, match="probabilities of this scorecard"):
            found.display(show_outcome=True)
        with pytest.raises(MaceError, match="probabilities of this scorecard"):
            found.generate(query, 0.6, "probability", 1, hard_constraints=["min_outcome"])


def test_a_variable_that_stays_in_its_bin_has_not_changed() -> None:
    made, X = by_hand()
    found = Counterfactual(made).fit(X)
    found.generate(START, 1, "binary", 4, max_changes=2, actionable_features=["a", "b"], hard_constraints=HARD)
    assert found.status == "INFEASIBLE" and found.core
    assert found.certificate.check().accepted
    with pytest.raises(MaceError, match="INFEASIBLE"):
        found.display()


def test_levels_and_soft_constraints_count() -> None:
    made, X = by_hand()
    found = Counterfactual(made).fit(X)
    found.generate(START, 1, "binary", 1, max_changes=2, objectives={"proximity": 1})
    least = found.objective["proximity"]
    found.generate(
        START, 1, "binary", 1, max_changes=2, method="hierarchical", objectives={"proximity": 2, "closeness": 1}
    )
    assert least <= found.objective["proximity"] <= 1.1 * least + 1e-9
    found.generate(START, 1, "binary", 2, max_changes=2, objectives={"proximity": 1}, soft_constraints={HARD[0]: 100.0})
    shown = found.display(show_only_changes=True)
    moved = [[value != "-" for value in row] for row in shown.to_numpy()]
    assert sum(a != b for a, b in zip(*moved, strict=True)) >= 2
    found.generate(START, 0.8, "probability", 1, max_changes=2, soft_constraints={"diff_outcome": 1000.0})
    best = min(
        abs(made.outcome(p) - 0.8) for p in itertools.product(range(3), range(3), range(2))
        if sum(k != 0 for k in p) <= 2
    )  # fmt: skip
    assert abs(found.display(show_outcome=True)["outcome"].iloc[0] - 0.8) == pytest.approx(best)


CHAINS = [
    ["proximity", *HARD, "closeness"],
    [HARD[1], "proximity"],
    ["closeness", "diff_outcome", HARD[0]],
    ["diff_outcome", "proximity", HARD[1]],
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("names", CHAINS, ids=[chain[0] for chain in CHAINS])
def test_soft_constraints_by_priority_are_those_of_enumeration(seed: int, names: list[str]) -> None:
    rng = np.random.default_rng(seed)
    made = card(rng)
    row = {v.name: int(rng.integers(0, 3)) + 0.5 for v in made.variables}
    found = Counterfactual(made).fit(table(made, rng))
    ranks = {name: 9.0 - k for k, name in enumerate(names)}
    objectives = {name: rank for name, rank in ranks.items() if name in ("proximity", "closeness")}
    soft = {name: rank for name, rank in ranks.items() if name not in objectives}
    least = ["min_outcome"]
    found.generate(
        row, 0.3, "probability", 2, "hierarchical", objectives, 2, hard_constraints=least, soft_constraints=soft
    )
    problem = found._generated.problem
    listed = list_singles(replace(problem, target=None), {}, math.inf, NEVER).bins
    left = [listed[list(pair)] for pair in itertools.combinations(range(len(listed)), 2)]

    def value(name: str, pair: Any) -> float:
        moved = pair >= 0
        if name == "closeness":
            return float(problem.closeness(pair).sum())
        if name == "proximity":
            return sum(float(problem.steps[j][problem.choices[j].index(b)]) for one in pair for j, b in moves(one))
        if name == "diff_outcome":
            return float(problem.far(problem.scores(pair)).sum())
        alone = int((moved[0] != moved[1]).sum())
        both = int((moved[0] & moved[1] & (pair[0] != pair[1])).sum())
        return -float(alone if name == HARD[0] else alone + 2 * both)

    def moves(one: Any) -> list[tuple[int, int]]:
        return [(j, int(b)) for j, b in enumerate(one) if b >= 0]

    if not left:
        assert found.status == "INFEASIBLE"
        return
    assert found.status == "OPTIMAL" and found._generated.chosen is not None
    answer = found._generated.chosen.bins
    for name in names:
        best = min(value(name, pair) for pair in left)
        reached = value(name, answer)
        assert reached <= best + 0.1 * abs(best) + 1e-8, (name, reached, best)
        if name == names[-1]:
            assert reached == pytest.approx(best, abs=1e-8)
        left = [pair for pair in left if value(name, pair) <= best + 0.1 * abs(best) + 1e-9]


def test_bins_stand_for_the_nearest_raw_value(capsys: pytest.CaptureFixture[str]) -> None:
    made, X = by_hand()
    found = (
        Counterfactual(made).fit(X).generate({"a": 5, "b": 0, "idle": 0}, 0, "binary", 1, objectives={"proximity": 1})
    )
    raw = found.rows().iloc[0].to_dict()
    assert made.places(raw) == found._generated.problem.places(found._generated.chosen.bins[0])  # type: ignore[union-attr]
    found.information(print_level=2)
    assert "status: OPTIMAL" in capsys.readouterr().out
    assert found.display(show_points=True)["points"].iloc[0] == made.points(made.places(raw))


@pytest.mark.parametrize("start", [-9, -9.0, 20, 30.5, 99, None])
def test_raw_values_of_a_bin_are_no_special_codes(start: float | None) -> None:
    bins = [
        {"low": None, "high": 0, "value": -2.0}, {"low": 0, "high": 1, "value": -1.0},
        {"low": 1, "high": 20, "value": 0.5}, {"low": 20, "high": 100, "value": 0.0}, {"low": 100, "value": 2.0},
        {"kind": "special", "members": [-9, -8, 0, 99, 98.0, 1], "value": 0.1}, {"kind": "missing", "value": 0.2},
    ]  # fmt: skip
    made = read_card([{"variable": "a", "coefficient": 1.0, **one} for one in bins], 0.0)
    variable = made.variables[0]
    for place, one in enumerate(variable.bins):
        assert variable.place(variable.nearest(place, start)) == place, one
    assert variable.nearest(0, -9) == -10
    assert variable.nearest(3, 99) == 97  # 98 and 99 are codes, 100 is beyond the end
    assert variable.nearest(2, -3) == 2


@pytest.mark.parametrize("rules", [HARD[:1], HARD[1:], HARD])
def test_sets_of_variables_are_told_apart_beyond_one_word(rules: tuple[str, ...]) -> None:
    # The first 65 variables gain nothing: as bits of 64, what the last five change was one and the same set.
    rows = [
        {"variable": f"x{j}", "coefficient": float(j >= 65), "value": value, "low": low, "high": high}
        for j in range(70) for value, low, high in ((0.0, None, 1), (5.0 + j, 1, None))
    ]  # fmt: skip
    made = read_card(rows, -4.0)
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (300, 70)) + 0.5, columns=list(made.names))
    found = Counterfactual(made).fit(X)
    for count in (2, 3, 5):
        found.generate(
            dict.fromkeys(made.names, 0.5), 1, "binary", count, max_changes=1, objectives={"proximity": 1},
            hard_constraints=rules,
        )  # fmt: skip
        assert (found.status, found.objective["proximity"]) == ("OPTIMAL", count)
        assert found.certificate.check().accepted
    found.generate(
        dict.fromkeys(made.names, 0.5), 1, "binary", 6, max_changes=1, objectives={"proximity": 1},
        hard_constraints=rules,
    )  # fmt: skip
    assert found.status == "INFEASIBLE"


def test_bins_are_told_apart_beyond_one_word() -> None:
    bins, cost = np.array([[2], [1], [65], [129]]), np.array([1.0, 2.0, 3.0, 4.0])
    for count in (2, 3, 4):
        assert least(bins, cost, np.arange(4), 4, count) <= cost[:count].sum()
    singles = Singles(bins.astype(np.int16), cost, {}, whole=True)
    assert _Search(singles, Rules(values=True), 4, NEVER).exact() == [0, 1, 2, 3]


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9, 1e12])
def test_an_outcome_that_is_reached_exactly_is_found_at_every_scale(scale: float) -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        small = card(rng)
        variables = tuple(
            v._replace(coefficient=1.0, bins=tuple(b._replace(value=b.value * scale) for b in v.bins))
            for v in small.variables
        )
        made = Card(variables, 0.3 * scale, "continuous")
        every = list(itertools.product(range(3), repeat=3))
        start, wanted = every[int(rng.integers(27))], made.outcome(every[int(rng.integers(27))])
        found = Counterfactual(made).fit(table(made, rng))
        found.generate(
            {v.name: k + 0.5 for v, k in zip(variables, start, strict=True)}, wanted, "continuous", 1,
            objectives={"proximity": 1}, max_changes=3, hard_constraints=["max_outcome" if seed % 2 else "min_outcome"],
        )  # fmt: skip
        sides = {p: made.outcome(p) - wanted for p in every}
        problem = found._generated.problem
        least = min(
            sum(w * abs(v.bins[k].value - v.bins[s].value)
                for v, w, k, s in zip(variables, problem.weights, p, start, strict=True))
            for p, side in sides.items() if (side <= 0 if seed % 2 else side >= 0)
        )  # fmt: skip
        assert found.objective["proximity"] == pytest.approx(least, abs=1e-9), seed


@pytest.mark.filterwarnings("error")
def test_closeness_of_values_without_a_spread_is_refused() -> None:
    made = card(np.random.default_rng(0))
    X = table(made, np.random.default_rng(1))
    for same in (X.assign(x1=0.5), X.iloc[:1], X.iloc[:0]):
        found = Counterfactual(made).fit(same)
        with pytest.raises(MaceError, match="linearly"):
            found.generate(dict.fromkeys(X, 0.5), 1, "binary", 1)
        found.generate(dict.fromkeys(X, 0.5), 1, "binary", 1, objectives={"proximity": 1})
        assert found.status in ("OPTIMAL", "INFEASIBLE")


def test_a_variable_of_one_value_counts_nothing_in_closeness() -> None:
    rng = np.random.default_rng(0)
    made = card(rng)
    one = Variable(
        "still", 0.7, (Bin("all", "interval", 0.0, low=-np.inf, high=np.inf), Bin("Missing", "missing", 0.0))
    )
    X = table(made, np.random.default_rng(1))
    query = dict.fromkeys(made.names, 0.5)
    without = Counterfactual(made).fit(X).generate(query, 1, "binary", 1, max_changes=3)
    wider = Card((made.variables[0], one, *made.variables[1:]), made.intercept)
    found = (
        Counterfactual(wider).fit(X.assign(still=1.0)).generate({**query, "still": 1.0}, 1, "binary", 1, max_changes=3)
    )
    assert found.status == without.status == "OPTIMAL"
    assert found.objective == pytest.approx(without.objective)
    assert found.certificate.check().accepted


def test_a_variable_that_follows_from_others_is_named() -> None:
    made = card(np.random.default_rng(0))
    twin = Card((*made.variables, Variable("twin", 0.5, made.variables[0].bins)), made.intercept)
    X = table(made, np.random.default_rng(1))
    asked = Counterfactual(twin).fit(X.assign(twin=X["x0"]))
    with pytest.raises(MaceError, match=r"those of 'twin' follow from others\nAsk for objectives={\"proximity\": 1}"):
        asked.generate(dict.fromkeys(twin.names, 0.5), 1, "binary", 1)


def test_what_is_out_of_reach_by_itself_is_named() -> None:
    made, X = by_hand()
    found = Counterfactual(made).fit(X)
    settings: dict[str, Any] = {"hard_constraints": "min_outcome", "max_changes": 3}
    row = pd.Series(START)
    assert found.generate(row, 1 - 1e-12, "probability", 1, **settings).core == ("y",)
    assert found.certificate.check().claim == "no allowed point has the goal"
    assert found.generate(row, 1, "binary", 1000, max_changes=3).core == ("n_cf",)
    fixed = {"max_changes": 1, "actionable_features": "idle"}  # its coefficient is 0
    assert found.generate(row, 1, "binary", 1, **fixed).core == ("actionable_features",)


def test_what_is_no_scorecard_and_no_table_is_named() -> None:
    with pytest.raises(MaceError, match=r"an optbinning.Scorecard, or a mace.scorecards.Card; got dict"):
        Counterfactual({}).fit(pd.DataFrame())
    with pytest.raises(MaceError, match="X must be a DataFrame, the table of the training; got ndarray"):
        Counterfactual(by_hand()[0]).fit(np.zeros((3, 2)))


def test_numbers_of_numpy_and_single_names_are_taken() -> None:
    made, X = by_hand()
    found = Counterfactual(made).fit(X)
    same: list[Any] = []
    for settings in (
        {"y": 1, "n_cf": 2, "max_changes": 1, "time_limit": 10, "hard_constraints": ["diversity_features"],
         "actionable_features": ["a"], "objectives": {"proximity": 1}},
        {"y": np.int64(1), "n_cf": np.int64(2), "max_changes": np.int64(1), "time_limit": np.int64(10),
         "hard_constraints": "diversity_features", "actionable_features": "a",
         "objectives": {"proximity": np.int64(1)}},
    ):  # fmt: skip
        given: dict[str, Any] = settings
        same.append(found.generate(START, outcome_type="binary", **given))
        same[-1] = (found.status, found.core, found.objective)
    assert same[0] == same[1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("special", [[0], {"none": 0, "many": [25, 50]}])
def test_values_of_bins_are_the_librarys_where_codes_lie_at_their_ends(special: Any) -> None:
    optbinning = pytest.importorskip("optbinning")
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 100, 600), "one bin": rng.random(600)})
    y = (X["a"] + 60 * X["one bin"] * (X["a"] > 0) + 40 * rng.normal(size=600) > 70).astype(int)
    X.loc[:99, "one bin"] = 0.0
    splits = {"a": {"user_splits": [25, 50], "user_splits_fixed": [True, True]}, "one bin": {"max_n_bins": 1}}
    process = optbinning.BinningProcess(list(X), special_codes=special, binning_fit_params=splits)
    card_ = optbinning.Scorecard(process, LogisticRegression()).fit(X, y, metric_special="empirical")
    made = card_of(card_)
    known = card_.binning_process_.transform(X, metric="woe", metric_special="empirical")
    for variable in made.variables:
        own = [variable.bins[variable.place(value)].value for value in X[variable.name].tolist()]
        assert np.allclose(own, known[variable.name]), variable.name
    assert [one.kind for one in made.variables[1].bins].count("interval") == 1


def test_the_missing_bin_of_a_table_may_be_chosen_when_asked_for() -> None:
    rows = [
        {"high": 1, "value": -1.0}, {"low": 1, "value": 0.5}, {"kind": "missing", "value": 2.0},
        {"kind": "special", "value": 9.0},
    ]  # fmt: skip
    made = read_card([{"variable": "a", "coefficient": 1.0, **one} for one in rows], -1.0)
    X = pd.DataFrame({"a": [0.0, 2.0, None] * 4})
    for asked, status in ((False, "INFEASIBLE"), (True, "OPTIMAL")):
        found = Counterfactual(made, special_missing=asked).fit(X)
        found.generate({"a": 0.0}, 1, "binary", 1, objectives={"proximity": 1}, max_changes=1)
        assert found.status == status  # no row is in the special bin, which has no codes
    assert found.objective == {"proximity": pytest.approx(1.0)} and found.rows()["a"].isna().all()
    assert found.certificate.check().accepted


@pytest.mark.parametrize(("wider", "beam"), [(1.25, 3), (1.02, 1)])
def test_a_list_that_grows_ends_at_the_best_set(monkeypatch: pytest.MonkeyPatch, wider: float, beam: int) -> None:
    for name, value in (("FEW_CHOICES", 0), ("FEW", 2), ("WIDER", wider)):
        monkeypatch.setattr(choosing, name, value)
    monkeypatch.setattr(listing, "CHUNK", 5)
    monkeypatch.setattr(listing, "BEAM", beam)
    for seed in range(4):
        cards_agree(seed)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("aims", [{"proximity": 1.0}, {"proximity": 0.5, "closeness": 2.0}, {"closeness": 1.0}])
def test_no_choice_costs_less_than_the_floor_and_what_it_exceeds(seed: int, aims: dict[str, float]) -> None:
    rng = np.random.default_rng(seed)
    made = card(rng, 4, 4)
    found = Counterfactual(made).fit(table(made, rng))
    row = {v.name: int(rng.integers(0, 4)) + 0.5 for v in made.variables}
    found.generate(row, int(made.score(made.places(row)) <= 0), "binary", 1, max_changes=3)
    problem = found._generated.problem
    floor, every = listing.floor_of(problem, aims), list_singles(problem, aims, math.inf, NEVER)
    assert every.size
    for bins, cost in zip(every.bins, every.cost, strict=True):
        for bound in (floor.whole, *[floor.near] * ("proximity" in aims and len(aims) == 1)):
            over = [
                stay if b < 0 else own[choice.index(b)]
                for b, stay, own, choice in zip(bins, bound.stay, bound.excess, problem.choices, strict=True)
            ]
            assert bound.least + sum(over) <= cost
        assert cost <= floor.whole.least + floor.widest + 1e-9
    for most in (every.cost[0], float(np.median(every.cost))):
        near = list_singles(problem, aims, most, NEVER)
        assert near.bins.tolist() == every.bins[: near.size].tolist()
        assert near.size == (every.cost <= most).sum()


def test_twelve_variables_are_answered_as_the_library_is_asked_by_default() -> None:
    # Half of them may change: 123 million choices, of which all had been listed.
    rng = np.random.default_rng(1)
    made = card(rng, 12, 8)
    row = {v.name: int(rng.integers(0, 8)) + 0.5 for v in made.variables}
    found = Counterfactual(made).fit(table(made, rng, 500))
    y = int(made.score(made.places(row)) <= 0)
    found.generate(row, y, "binary", 1, objectives={"proximity": 1})
    assert found.status == "OPTIMAL" and found.objective["proximity"] == pytest.approx(0.71875)
    assert not found.why
    for limit in (0.2, 1):
        found.generate(row, y, "binary", 1, time_limit=limit)
        assert found.status in ("FEASIBLE", "OPTIMAL")
        assert (found.display(show_outcome=True)["outcome"] > 0.5).all() == (y == 1)


def test_a_limit_is_an_answer_that_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(listing, "MOST_SINGLES", 3)
    rng = np.random.default_rng(1)
    made = card(rng, 4, 4)
    row = {v.name: int(rng.integers(0, 4)) + 0.5 for v in made.variables}
    found = Counterfactual(made).fit(table(made, rng, 500))
    found.generate(row, int(made.score(made.places(row)) <= 0), "binary", 1)
    assert (found.status, found.why) == ("UNKNOWN", "more than 3 choices of bins")
    with pytest.raises(MaceError, match=r"UNKNOWN \(more than 3 choices of bins\)"):
        found.display()
    found.information()
    assert "status: UNKNOWN (more than 3 choices of bins)" in capsys.readouterr().out


def test_a_search_that_begins_anew_ends_at_the_best_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "STEPS", 10)
    for seed in range(4):
        cards_agree(seed)


def test_soft_constraints_keep_to_the_time_limit() -> None:
    rng = np.random.default_rng(3)
    made = card(rng, 12, 8)
    found = Counterfactual(made).fit(table(made, rng, 2000))
    row = {v.name: int(rng.integers(0, 8)) + 0.5 for v in made.variables}
    y = int(made.score(made.places(row)) <= 0)
    spent = []
    for limit in (0.01, 0.5):  # the first reads what is compiled
        began = time.process_time()
        found.generate(
            row, y, "binary", 5, objectives={"proximity": 1}, max_changes=4, hard_constraints=HARD[:1],
            soft_constraints={HARD[1]: 0.3}, time_limit=limit,
        )  # fmt: skip
        spent.append(time.process_time() - began)
    assert found.status in ("UNKNOWN", "FEASIBLE")
    assert spent[-1] < 4  # one look at all rows of a large table took ten seconds between two looks at the clock


def test_what_is_no_table_of_bins_is_refused() -> None:
    low = {"variable": "a", "coefficient": 1.0, "value": 0.0, "high": 1}
    high = {"variable": "a", "coefficient": 1.0, "value": 1.0, "low": 1}
    some, other = {**high, "members": ["x", "y"]}, {**low, "members": ["y"]}
    wrong: list[tuple[Any, Any, str]] = [
        (None, 0.0, "got None"), (SimpleNamespace(columns=["a"]), 0.0, "expected a frame"),
        ([low, high], "x", "intercept"), ([low, high], math.nan, "intercept"),
        ([low, {**high, "low": 0.5}], 0.0, "overlap"), ([low, {**high, "low": 2, "high": 1}], 0.0, "empty"),
        ([low, {**high, "kind": "foo"}], 0.0, "foo"), ([some, other], 0.0, "'y' is in two bins"),
        ([{**low, "members": "abc"}], 0.0, "`members` is a list"),
    ]  # fmt: skip
    for rows, intercept, said in wrong:
        with pytest.raises(MaceError, match=said):
            read_card(rows, intercept)
    assert read_card([{**some, "members": np.array(["x", "y"])}], 0.0).variables[0].bins[0].members == ("x", "y")


@pytest.mark.parametrize(
    "value",
    [pd.Timestamp("2020-01-01"), range(3), b"x", 1j, np.array([1, 2]), {1}, object()],
    ids=lambda value: type(value).__name__,
)
def test_a_value_that_no_bin_can_hold_is_named(value: Any) -> None:
    made, X = by_hand()
    found = Counterfactual(made).fit(X)
    with pytest.raises(MaceError, match="`a`: no bin of the scorecard holds"):
        found.generate({**START, "a": value}, 1, "binary", 1)
    with pytest.raises(MaceError, match="no bin of the scorecard holds"):
        Counterfactual(made).fit(X.astype(object).assign(a=[value] + [0.5] * (len(X) - 1)))


def test_arguments_of_other_kinds_and_sizes_are_refused_or_answered() -> None:
    made, X = by_hand()
    found = Counterfactual(made).fit(X)
    array = np.array([1, 2])
    wrong: dict[str, Any] = {"outcome_type": array, "method": array, "soft_constraints": array, "y": 10**400}
    for name, value in wrong.items():
        with pytest.raises(MaceError):
            found.generate(**{"query": START, "y": 1, "outcome_type": "binary", "n_cf": 1, name: value})
    some = np.array(["diversity_features"])
    assert found.generate(START, 1, "binary", 1, hard_constraints=some, max_changes=10**400).status == "OPTIMAL"
    assert found.generate(START, 1, "binary", 10**400).status == "INFEASIBLE"
    with pytest.raises(MaceError, match="print_level"):
        found.information("x")  # type: ignore[arg-type]
    for name in ("show_only_changes", "show_outcome", "show_points"):
        with pytest.raises(MaceError, match=f"{name} must be True or False; got Series"):
            found.display(**{name: pd.Series([1])})
    with pytest.raises(MaceError, match="special_missing must be True or False"):
        Counterfactual(made, special_missing=array)  # type: ignore[arg-type]


def test_numbers_whose_products_no_double_holds_are_refused() -> None:
    """There were numpy's and scipy's own errors, and "INFEASIBLE" where costs were infinite."""
    X = pd.DataFrame({"a": np.arange(20) / 10})
    for value, coefficient in ((1e308, 1.0), (1e-320, 1.0), (1.0, 1e200)):
        rows = [{"variable": "a", "coefficient": coefficient, "value": s * value, "low": s - 1} for s in (0.5, 1)]
        rows[0]["high"] = 0
        with pytest.raises(MaceError, match="between 1e-99 and 1e99"):
            read_card(rows, 0.0)
    rows = [{"variable": "a", "coefficient": 1, "value": s, "low": s, "high": s + 1} for s in (0, 1)]
    found = Counterfactual(read_card(rows, 0.0, "continuous")).fit(X)
    asked: dict[str, Any] = {"outcome_type": "continuous", "n_cf": 1, "max_changes": 1, "objectives": {"proximity": 1}}
    with pytest.raises(MaceError, match="between 1e-99 and 1e99"):
        found.generate({"a": 0.5}, 1e308, soft_constraints={"diff_outcome": 5}, **asked)
    for weight in (1e308, 5e-324):
        with pytest.raises(MaceError, match="from 1e-99 to 1e99"):
            found.generate({"a": 0.5}, 1, **{**asked, "objectives": {"proximity": weight, "closeness": weight}})
    assert found.generate({"a": 0.5}, 1e98, soft_constraints={"diff_outcome": 1e98}, **asked).status == "OPTIMAL"


def test_what_is_refused_is_named() -> None:
    made, X = by_hand()
    with pytest.raises(MaceError, match="not fitted"):
        Counterfactual(made).generate(START, 1, "binary", 1)
    found = Counterfactual(made).fit(X)
    with pytest.raises(MaceError, match="nothing was generated"):
        found.display()
    for wrong, said in (
        ({"outcome_type": "continuous"}, "binary or probability"),
        ({"y": 2}, "0 or 1"),
        ({"outcome_type": "probability"}, "needs min_outcome"),
        ({"hard_constraints": ["x"]}, "'x'"),
        ({"soft_constraints": {"x": 1}}, "'x'"),
        ({"objectives": {"x": 1}}, "'x'"),
        ({"objectives": {"proximity": 0}}, "> 0"),
        ({"method": "x"}, "hierarchical"),
        ({"actionable_features": ["x"]}, "'x'"),
        ({"n_cf": 0}, "n_cf"),
        ({"max_changes": -1}, "max_changes"),
        ({"max_changes": True}, "max_changes"),
        ({"objectives": ["proximity"]}, "objectives must be a dict"),
        ({"soft_constraints": "diversity_features"}, "soft_constraints must be a dict"),
        ({"hard_constraints": 1}, "hard_constraints must be a name"),
        ({"priority_tol": math.nan}, "priority_tol"),
        ({"priority_tol": None}, "priority_tol"),
    ):
        settings: dict[str, Any] = {"y": 1, "outcome_type": "binary", "n_cf": 1, **wrong}
        with pytest.raises(MaceError, match=said):
            found.generate(START, **settings)
    for query, said in (([1, 2], "a dict, a Series"), (None, "a dict, a Series"), (START | {"a": [1]}, "no bin")):
        with pytest.raises(MaceError, match=said):
            found.generate(query, 1, "binary", 1)  # type: ignore[arg-type]
    for wrong_table, said in (
        (None, "DataFrame"), (X.to_numpy(), "DataFrame"), (X[["a"]], "no column"), (X[[*X, "a"]], "`a`"),
    ):  # fmt: skip
        with pytest.raises(MaceError, match=said):
            Counterfactual(made).fit(wrong_table)


CHILD = """
import warnings
warnings.simplefilter("ignore")
import numpy as np, pandas as pd
from optbinning import BinningProcess, Scorecard
from optbinning.scorecard import Counterfactual as Original
from sklearn.linear_model import LinearRegression, LogisticRegression
from mace.scorecards import Counterfactual

rng = np.random.default_rng(0)
n = 500
X = pd.DataFrame({"age": rng.integers(18, 80, n).astype(float), "debt": np.round(rng.exponential(5000, n), 2),
                  "region": rng.choice(["north", "east", "south, or so", "west"], n).astype(object)})
score = (X.age - 45) / 15 + 1.5 * (X.region == "west") - X.debt / 5000
y = (score + rng.normal(size=n) > 0).astype(int)
X.loc[rng.random(n) < 0.05, "age"] = np.nan
process = BinningProcess(list(X.columns), categorical_variables=["region"], max_n_bins=4)
card = Scorecard(process, LogisticRegression()).fit(X, y, metric_missing="empirical")
ours, theirs = Counterfactual(card, proximity="library").fit(X), Original(card).fit(X)
rows = X[card.predict(X) == 0].dropna().head(4)
same = 0
for place in range(len(rows)):
    query = rows.iloc[[place]]
    for settings in ({"n_cf": 1, "objectives": {"proximity": 1}}, {"n_cf": 1},
                     {"n_cf": 2, "hard_constraints": ["diversity_features"]}):
        asked = dict(query=query, y=1, outcome_type="binary", max_changes=2, **settings)
        ours.generate(**asked), theirs.generate(**asked)
        assert ours.status == "OPTIMAL" or theirs.status == "INFEASIBLE", (ours.status, theirs.status)
        if ours.status != "OPTIMAL":
            continue
        assert (card.predict(ours.rows()[X.columns]) == 1).all()
        shown = ours.display(show_outcome=True)
        assert shown.shape == theirs.display(show_outcome=True).shape
        assert np.allclose(shown.outcome, card.predict_proba(ours.rows()[X.columns])[:, 1])
        if settings["n_cf"] == 1:
            same += bool(np.allclose(shown.outcome, theirs.display(show_outcome=True).outcome))
assert same >= 6, same
target = score + rng.normal(size=n) / 5
process = BinningProcess(list(X.columns), categorical_variables=["region"], max_n_bins=4)
number = Scorecard(process, LinearRegression()).fit(X, target)
found = Counterfactual(number).fit(X)
hard = ["min_outcome", "diversity_values"]
wanted = float(number.predict(rows.iloc[[0]])[0]) + 0.3
found.generate(rows.iloc[[0]], wanted, "continuous", 2, hard_constraints=hard, max_changes=3)
assert found.status == "OPTIMAL", (found.status, found.core)
said = number.predict(found.rows()[X.columns])
assert (said >= wanted).all() and np.allclose(said, found.display(show_outcome=True).outcome)
"""


@pytest.mark.slow
def test_code_for_the_library_runs_with_the_import_changed() -> None:
    if importlib.util.find_spec("optbinning") is None:
        pytest.skip("an extra that is not installed: optbinning")
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


PROGRAMS = """
import sys
from tests.bench import documented, faults
sys.exit(documented.main() or faults.main())
"""


@pytest.mark.slow
def test_the_tutorials_run_and_the_faults_of_the_original_are_not_ours() -> None:
    if importlib.util.find_spec("optbinning") is None:
        pytest.skip("an extra that is not installed: optbinning")
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", PROGRAMS], capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    said = done.stdout.splitlines()
    assert sum(line.endswith("OPTIMAL") for line in said) == 18, done.stdout
    assert sum(line.endswith("the original has it, ours has it not") for line in said) == 4, done.stdout


@pytest.mark.exhaustive
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(50))
def test_the_drop_in_is_valid_and_never_worse_than_the_original(seed: int) -> None:
    pytest.importorskip("optbinning")
    from tests.bench.drop_in import compared, verdict

    found = verdict(*compared(seed))
    assert found == "ours is better" or not found.startswith("ours "), found


def test_tables_of_heloc_say_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.bench import heloc

    monkeypatch.setenv("MACE_DATA", str(tmp_path))
    heloc.tables(1.0)
    assert "heloc_dataset_v1.csv is not there" in capsys.readouterr().out
