"""Every call of OptBinning's two tutorials on counterfactuals, with the import changed, on tables that are at hand.

    python -m tests.bench.documented [--original]

The tutorials (a binary and a continuous target) read Adult and California housing from the network. In their place
stand a made-up table of eight variables with their names and scikit-learn's own diabetes table; the scorecards, the
calls and their parameters are the tutorials'. Each answer is held to what it must be: the scorecard's own `predict` of
the nearest raw values, the conditions, the shape of the frame. `--original` runs the same calls with OptBinning's class
and prints what it makes of them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

FEATURES, VALUES = "diversity_features", "diversity_values"
ABLE = ["age", "workclass", "education", "occupation", "hours-per-week"]
FIRST = {"proximity": 2, "closeness": 1}
BOTH_SOFT = {FEATURES: 2, VALUES: 1}


class Call(NamedTuple):
    """What a tutorial gives to `generate`, and to `display`; for a frame instead of a dict as the query, `frame`."""

    given: dict[str, Any]
    shown: Mapping[str, bool] = MappingProxyType({})
    frame: bool = False


BINARY = [
    Call({"n_cf": 1, "max_changes": 3}),
    Call({"n_cf": 1, "max_changes": 3}, {"show_only_changes": True}),
    Call({"n_cf": 1, "max_changes": 3}, {"show_only_changes": True, "show_outcome": True}),
    Call({"n_cf": 1, "max_changes": 4, "actionable_features": ABLE}, {"show_only_changes": True, "show_outcome": True}),
    Call({"n_cf": 1, "method": "weighted", "max_changes": 4}),
    Call({"n_cf": 1, "method": "weighted", "objectives": {"proximity": 0.1, "closeness": 0.9}, "max_changes": 4}),
    Call({"n_cf": 1, "method": "hierarchical", "max_changes": 4}),
    Call({"n_cf": 1, "method": "hierarchical", "objectives": {"proximity": 1, "closeness": 2}, "priority_tol": 0.001,
          "max_changes": 4}),
    Call({"n_cf": 3, "max_changes": 4, "hard_constraints": [FEATURES], "time_limit": 10},
         {"show_only_changes": True, "show_outcome": True}),
    Call({"n_cf": 3, "max_changes": 4, "hard_constraints": [FEATURES, VALUES], "time_limit": 15},
         {"show_only_changes": True, "show_outcome": True}),
]  # fmt: skip
PROBABILITY = [
    Call({"n_cf": 2, "max_changes": 4, "hard_constraints": [FEATURES], "soft_constraints": {"diff_outcome": 1}},
         {"show_only_changes": True, "show_outcome": True}, frame=True),
    Call({"n_cf": 2, "max_changes": 4, "hard_constraints": [FEATURES], "soft_constraints": {"diff_outcome": 100}},
         {"show_only_changes": True, "show_outcome": True}, frame=True),
    Call({"n_cf": 2, "max_changes": 4, "hard_constraints": [FEATURES, "min_outcome"]},
         {"show_only_changes": True, "show_outcome": True}, frame=True),
    Call({"n_cf": 2, "max_changes": 4, "method": "hierarchical", "objectives": FIRST,
          "hard_constraints": ["min_outcome"], "soft_constraints": BOTH_SOFT},
         {"show_only_changes": True, "show_outcome": True}, frame=True),
]  # fmt: skip
CONTINUOUS = [
    Call({"up": True, "n_cf": 1, "max_changes": 3, "hard_constraints": ["min_outcome"]},
         {"show_only_changes": True, "show_outcome": True}, frame=True),
    Call({"up": False, "n_cf": 3, "max_changes": 3, "hard_constraints": [FEATURES, "max_outcome"], "time_limit": 30},
         {"show_only_changes": True, "show_outcome": True}, frame=True),
    Call({"up": False, "n_cf": 3, "max_changes": 3, "hard_constraints": [FEATURES, VALUES, "max_outcome"],
          "time_limit": 30}, {"show_only_changes": True, "show_outcome": True}, frame=True),
]  # fmt: skip


def people(rows: int = 1500) -> tuple[pd.DataFrame, Any]:
    """Eight variables with the tutorial's names, and whether the income is high."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        "age": rng.integers(17, 80, rows), "workclass": rng.choice(["Private", "Gov", "Self"], rows),
        "education": rng.choice(["HS-grad", "Some-college", "Bachelors", "Masters"], rows),
        "marital-status": rng.choice(["Married", "Never-married", "Divorced"], rows),
        "occupation": rng.choice(["Sales", "Exec", "Craft", "Other"], rows),
        "race": rng.choice(["A", "B", "C"], rows), "sex": rng.choice(["Male", "Female"], rows),
        "hours-per-week": rng.integers(10, 80, rows),
    })  # fmt: skip
    score = (X["age"] - 40) / 15 + (X["hours-per-week"] - 40) / 12 + 1.5 * (X["marital-status"] == "Married")
    score += X["education"].map({"HS-grad": -1.0, "Some-college": -0.3, "Bachelors": 0.8, "Masters": 1.5})
    score += 0.7 * (X["occupation"] == "Exec") - 0.5 * (X["occupation"] == "Other") - 1.0
    return X, (score + rng.logistic(size=rows) > 0).astype(int).to_numpy()


def binary_card() -> tuple[Any, pd.DataFrame]:
    from optbinning import BinningProcess, Scorecard
    from sklearn.linear_model import LogisticRegression

    X, y = people()
    card = Scorecard(
        binning_process=BinningProcess(list(X.columns)),
        estimator=LogisticRegression(solver="lbfgs", class_weight="balanced"), scaling_method="min_max",
        scaling_method_params={"min": 300, "max": 850},
    )  # fmt: skip
    return card.fit(X, y), X


def continuous_card() -> tuple[Any, pd.DataFrame]:
    from optbinning import BinningProcess, Scorecard
    from sklearn.datasets import load_diabetes
    from sklearn.linear_model import HuberRegressor

    data = load_diabetes(as_frame=True)
    X = data.data
    card = Scorecard(
        binning_process=BinningProcess(list(X.columns)), estimator=HuberRegressor(max_iter=200),
        scaling_method="min_max", scaling_method_params={"min": 0, "max": 100}, reverse_scorecard=True, verbose=True,
    )  # fmt: skip
    return card.fit(X, np.log(data.target)), X  # whole numbers would be taken for classes


def judged(made: Any, card: Any, X: pd.DataFrame, call: Call, y: float, kind: str) -> str:
    """What is wrong with what was generated; empty if nothing is."""
    count = call.given["n_cf"]
    if made.status not in ("OPTIMAL", "FEASIBLE"):
        return "" if made.status == "INFEASIBLE" else f"status {made.status}"
    shown = made.display(**call.shown)
    columns = [*X.columns, *(["outcome"] if call.shown.get("show_outcome") else [])]
    if list(shown.columns) != columns or len(shown) != count:
        return f"a frame of shape {shown.shape}"
    if not hasattr(made, "rows"):
        return ""
    raw = made.rows()[list(X.columns)]
    said = card.predict(raw) if kind != "probability" else card.predict_proba(raw)[:, 1]
    hard = call.given.get("hard_constraints", [])
    met = (said == y) if kind == "binary" else np.ones(len(said), bool)
    met &= (said >= y - 1e-12) if "min_outcome" in hard else True
    met &= (said <= y + 1e-12) if "max_outcome" in hard else True
    if not met.all():
        return "the scorecard's own predict says something else"
    full = made.display(show_outcome=True)["outcome"]
    own = said if kind != "binary" else card.predict_proba(raw)[:, 1]
    if not np.allclose(np.asarray(full, dtype=float), own):
        return "the outcome shown is not the scorecard's"
    changes = (made.display(show_only_changes=True) != "-").sum(axis=1)
    return "" if (changes <= call.given["max_changes"]).all() else "too many changes"


def said(made: Any) -> str:
    """What `information` prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        made.information()
        made.information(print_level=2)
    return out.getvalue()


def run(counterfactual: Any) -> list[tuple[str, str, str]]:
    """Every call: which one, its status, and what is wrong with it."""
    found = []
    card, X = binary_card()
    query = X.iloc[int(np.argmin(card.predict_proba(X)[:, 1])), :].to_dict()
    frame = pd.DataFrame([query], columns=query.keys())
    made = counterfactual(scorecard=card)
    made.fit(X)
    calls = [(call, 1, "binary") for call in BINARY] + [(call, 0.7, "probability") for call in PROBABILITY]
    for number, (call, y, kind) in enumerate(calls):
        given = {"time_limit": 20, **call.given}
        made.generate(query=frame if call.frame else query, y=y, outcome_type=kind, **given)
        assert said(made)
        found.append((f"binary tutorial, {number}", made.status, judged(made, card, X, call, y, kind)))
    made = counterfactual(scorecard=card, special_missing=True)
    made.fit(X)
    call = Call({"n_cf": 1, "max_changes": 4}, {"show_only_changes": True})
    made.generate(query=query, y=1, outcome_type="binary", **call.given)
    found.append(("binary tutorial, special and missing bins", made.status, judged(made, card, X, call, 1, "binary")))
    card, X = continuous_card()
    query = X.iloc[0, :].to_frame().T
    now = float(card.predict(query)[0])
    made = counterfactual(scorecard=card, verbose=True)
    made.fit(X)
    for number, call in enumerate(CONTINUOUS):
        given = dict(call.given)
        y = now * (1.05 if given.pop("up") else 0.9)
        made.generate(query=query, y=y, outcome_type="continuous", **given)
        found.append((f"continuous tutorial, {number}", made.status, judged(made, card, X, call, y, "continuous")))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--original", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.original:
        from optbinning.scorecard import Counterfactual
    else:
        from mace.scorecards import Counterfactual
    found = run(Counterfactual)
    for name, status, wrong in found:
        print(f"{name}: {status}{f', {wrong}' if wrong else ''}")
    return int(any(wrong for _, _, wrong in found))


if __name__ == "__main__":
    sys.exit(main())
