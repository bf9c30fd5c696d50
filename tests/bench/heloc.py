"""Tables 4 and 6 of Navas-Palencia 2021 on HELOC, which FICO hands out on request: the paper's figures beside ours.

`tests.bench.scorecards` prints them where `MACE_DATA` has `heloc_dataset_v1.csv`, and else says so. The scorecard is
made as the paper makes its own: 23 variables, special codes -9, -8, -7, the 12 with the highest information value in
[.02, 1] and a quality score of .01 or more, logistic regression, points from 300 to 850. The person is row 7, counted
from 0, who is to be good.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mace.scorecards import Counterfactual

FILE, TARGET, ROW = "heloc_dataset_v1.csv", "RiskPerformance", 7
WEIGHTED: dict[str, Any] = {"method": "weighted", "objectives": {"proximity": 1.0, "closeness": 1.0}}
PROXIMITY: dict[str, Any] = {"method": "hierarchical", "objectives": {"proximity": 2.0, "closeness": 1.0}}
CLOSENESS: dict[str, Any] = {"method": "hierarchical", "objectives": {"proximity": 1.0, "closeness": 2.0}}


class Row(NamedTuple):
    """How many at once, how many changes, what is minimised, its name, the paper's figures."""

    count: int
    changes: int
    how: dict[str, Any]
    name: str
    paper: str


TABLE_4 = [
    Row(1, 1, WEIGHTED, "weighted", "1.134 9.356 .484, .3 s"),
    Row(1, 2, WEIGHTED, "weighted", "1.672 7.544 .436, .3 s"),
    Row(1, 3, WEIGHTED, "weighted", "1.767 5.524 .478, .4 s"),
    Row(1, 4, WEIGHTED, "weighted", "1.816 5.406 .489, .5 s"),
    Row(1, 2, PROXIMITY, "proximity first", ".993 8.742 .489, .5 s"),
    Row(1, 2, CLOSENESS, "closeness first", "1.504 8.206 .476, .9 s"),
]
TABLE_6 = [
    Row(3, 2, WEIGHTED, "weighted", "1.638 7.901 .422 .. .457"),
    Row(4, 3, WEIGHTED, "weighted", "1.807 7.494 .455 .. .487"),
    Row(3, 2, PROXIMITY, "proximity first", "1.096 8.895 .477 .. .495"),
    Row(3, 2, CLOSENESS, "closeness first", "1.203 8.561 .477 .. .489"),
]


def fitted(table: pd.DataFrame) -> tuple[Any, pd.DataFrame]:
    """The scorecard of the paper, and its training table."""
    from optbinning import BinningProcess, Scorecard
    from sklearn.linear_model import LogisticRegression

    X = table.drop(columns=[TARGET])
    criteria = {
        "iv": {"min": 0.02, "max": 1.0, "strategy": "highest", "top": 12}, "quality_score": {"min": 0.01},
    }  # fmt: skip
    process = BinningProcess(list(X.columns), selection_criteria=criteria, special_codes=[-9, -8, -7])
    made = Scorecard(
        process, LogisticRegression(), scaling_method="min_max", scaling_method_params={"min": 300, "max": 850}
    )
    return made.fit(X, (table[TARGET] == "Bad").to_numpy().astype(int)), X


def line(made: Counterfactual, query: pd.DataFrame, row: Row, limit: float) -> str:
    """One line of a table: mean proximity, mean closeness, probabilities of default, CPU seconds."""
    hard = ["diversity_features", "diversity_values"] if row.count > 1 else None
    began = time.process_time()
    made.generate(
        query, 0, "binary", row.count, max_changes=row.changes, hard_constraints=hard, time_limit=limit, **row.how
    )
    spent = time.process_time() - began
    shown = made.status.lower()
    if made.status == "OPTIMAL":
        outcome = np.asarray(made.display(show_outcome=True)["outcome"], dtype=float)
        parts = " ".join(f"{made.objective[name] / row.count:.3f}" for name in ("proximity", "closeness"))
        shown = f"{parts} {outcome.min():.3f}" + (f" .. {outcome.max():.3f}" if row.count > 1 else "")
    return f"{row.count} {row.changes} {row.name} | {row.paper} | {shown}, {spent:.2f} s"


def tables(limit: float) -> None:
    """Print both tables, or that the file is not there."""
    file = Path(os.environ.get("MACE_DATA", ".")) / FILE
    if not file.exists():
        print(f"\nno tables 4 and 6: {file} is not there. FICO hands HELOC out on request; MACE_DATA is its folder.")
        return
    card, X = fitted(pd.read_csv(file))
    made = Counterfactual(card).fit(X)
    for number, rows in ((4, TABLE_4), (6, TABLE_6)):
        print(f"\nTable {number}: K, k | the paper: proximity, closeness, probabilities | here, CPU s")
        for row in rows:
            print(line(made, X.iloc[[ROW]], row, limit), flush=True)
