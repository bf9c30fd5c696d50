"""Scorecards of OptBinning, in a process of their own: its solver does not share one with highspy."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np, pandas as pd
from optbinning import BinningProcess, Scorecard
from sklearn.linear_model import LogisticRegression
from fractions import Fraction
from mace.compilers import deployed, read
from mace.margins import compare_slack, exact_margin, exact_scores, possible, surely
from mace.tables import decision_of

rng = np.random.default_rng(0)
names = ["age", "income", "noise", "code"]
X = pd.DataFrame(rng.normal(size=(800, 4)) * [10, 1000, 1, 1] + [40, 3000, 0, 0], columns=names)
X["code"] = rng.integers(0, 6, 800)
y = ((X.age - 40) / 10 + (X.income - 3000) / 1000 + (X.code == 2) + rng.normal(size=800) > 0).astype(int)
X.loc[rng.random(800) < 0.05, "income"] = np.nan
bins = BinningProcess(names, categorical_variables=["code"], selection_criteria={"iv": {"min": 0.005}})
card = Scorecard(bins, LogisticRegression()).fit(X, y, metric_missing="empirical")
table = read(card)
rows = X.to_numpy()[rng.integers(0, 800, 11000)].copy()
rows[:5000, :3] += rng.normal(size=(5000, 3))
for tree in table.trees:
    for node, (column, threshold) in enumerate(zip(tree.column, tree.threshold)):
        if column >= 0 and abs(threshold) < 1e30 and node not in tree.members:
            place = rng.integers(0, len(rows), 60)
            near = [threshold, np.nextafter(threshold, -np.inf), np.nextafter(threshold, np.inf)]
            rows[place, column] = rng.choice(near, 60)
rows[rng.random(len(rows)) < 0.02, 1] = np.nan
rows[rng.random(len(rows)) < 0.02, 3] = 77
said = deployed(card).predict(pd.DataFrame(rows, columns=names))
wrong = doubtful = 0
for row, label in list(zip(rows, said))[::4]:
    exact = exact_scores(table, row)
    for index, one in enumerate(table.classes):
        (compare,), = decision_of(table, index)
        margin, slack = exact_margin(table, compare, exact), compare_slack(table, compare)
        wrong += label == one and not possible(compare, margin, slack)
        wrong += label != one and surely(compare, margin, slack)
        doubtful += label == one and not surely(compare, margin, slack)
print("wrong", wrong, "doubtful", doubtful, "trees", len(table.trees), len(set(said.tolist())))
assert not wrong and not doubtful and len(table.trees) >= 3 and any(tree.members for tree in table.trees)
"""


def test_a_scorecard_decides_as_the_library() -> None:
    if importlib.util.find_spec("optbinning") is None:
        pytest.skip("an extra that is not installed: optbinning")
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, cwd=root, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
