"""Scorecards of OptBinning, in a process of their own: its solver does not share one with highspy."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared

CHILD = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np, pandas as pd
from optbinning import BinningProcess, Scorecard
from sklearn.linear_model import LogisticRegression
from fractions import Fraction
from mace.compilers import deployed, read
from mace.tables.margins import compare_slack, exact_margin, exact_scores, possible, surely
from mace.tables.table import decision_of

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


RAW = """
import warnings
warnings.simplefilter("ignore")
import numpy as np, pandas as pd
from optbinning import BinningProcess, Scorecard
from sklearn.linear_model import LogisticRegression
import mace
from mace.compilers.pipeline.reader import compile_raw
from mace.tables.margins import compare_slack, exact_margin, exact_scores, possible, surely
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import decision_of
from tests.compilers.pipelines import adversarial_rows, random_rows

rng = np.random.default_rng(0)
n = 900
regions = ["north", "east", "south, or so", "west"]
X = pd.DataFrame({"age": rng.integers(18, 80, n).astype(float), "region": rng.choice(regions, n).astype(object),
                  "code": rng.integers(0, 5, n), "debt": np.round(rng.exponential(5000, n), 2)})
score = (X.age - 45) / 15 + 1.5 * (X.region == "west") - (X.region == "east") + (X.code == 2) - X.debt / 5000
y = (score + rng.normal(size=n) > 0).astype(int)
X.loc[rng.random(n) < 0.1, "region"] = None
X.loc[rng.random(n) < 0.05, "region"] = "secret"
X.loc[rng.random(n) < 0.1, "age"] = np.nan
X.loc[rng.random(n) < 0.1, "debt"] = -999.0
special = {"debt": {"special_codes": {"gone": [-999.0, -998.0]}}, "region": {"special_codes": ["secret"]}}
bins = BinningProcess(list(X.columns), categorical_variables=["region", "code"], binning_fit_params=special)
card = Scorecard(bins, LogisticRegression()).fit(X, y, metric_missing="empirical", metric_special="empirical")
space = Space([
    Feature("debt", "real", -1000, 30000, step="0.5"), Feature("age", "integer", 18, 80, missing=True),
    Feature("region", "categorical", levels=["moon", "secret", *regions], missing=True),
    Feature("code", "categorical", levels=[0, 1, 2, 3, 4, 7])])
compiled = compile_raw(card, space)
rows = [*random_rows(space, 10000), *adversarial_rows(compiled, 1000)]
for row in rows[::7]:
    row["debt"] = float(rng.choice([-999.0, -998.0, -998.5, -999.5, np.nextafter(-999.0, 0)]))
said = compiled.predict(compiled.frame(rows))
wrong = doubtful = 0
for row, label in list(zip(rows, said))[::4]:
    values = compiled.row(row)
    exact = exact_scores(compiled.table, values)
    for index, one in enumerate(compiled.table.classes):
        (compare,), = decision_of(compiled.table, index)
        margin, slack = exact_margin(compiled.table, compare, exact), compare_slack(compiled.table, compare)
        wrong += label == one and not possible(compare, margin, slack)
        wrong += label != one and surely(compare, margin, slack)
        doubtful += label == one and not surely(compare, margin, slack)
print("wrong", wrong, "doubtful", doubtful, "trees", len(compiled.table.trees))
assert not wrong and not doubtful and len(compiled.table.trees) == 4 and len(set(said.tolist())) == 2
for row in rows[:6]:
    answer = mace.explain(card, space, {**row, "debt": round(row["debt"] * 2) / 2})
    assert answer.status == "optimal" and answer.certificate.check().accepted, answer
    witness = pd.DataFrame([answer.counterfactuals[0].values])[list(X.columns)].astype(X.dtypes.to_dict())
    assert card.predict(witness)[0] != answer.decision
"""


def test_a_scorecard_decides_as_the_library() -> None:
    if importlib.util.find_spec("optbinning") is None:
        pytest.skip("an extra that is not installed: optbinning")
    # Both in one process: half of the time of each is to import the library.
    command = [sys.executable, "-c", "import sys\nfor code in sys.argv[1:]: exec(code, {})", CHILD, RAW]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert done.stdout.count("wrong 0 doubtful 0") == 2, done.stdout
