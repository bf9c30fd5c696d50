"""Families that are read late beside the nearest one that is read long: CPU seconds a row, to the proved optimum.

    python -m tests.bench.families [--rows 8] [--only boosters,machines,calibrated]

CatBoost beside XGBoost, 300 trees of depth 6 on the loan table; EBMs of 30 terms, of features alone and with pairs; a
classifier calibrated with scikit-learn's defaults, five members of 50 trees, beside one of these members. Each line:
verdicts, accepted certificates, the median and the largest time. The first row also compiles the model, and is apart.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from mace import Feature, Space, datasets
from mace.errors import MaceError
from mace.explain.explainer import Explainer

TIMEOUT = 60


def ask(name: str, model: Any, space: Space, rows: pd.DataFrame, background: pd.DataFrame) -> None:
    """Print one line."""
    explainer = Explainer(model, space, background=background)
    seconds, ended, accepted = [], Counter[str](), 0
    for _, row in rows.iterrows():
        began = time.process_time()
        answer = explainer.explain(row, goal=1, timeout=TIMEOUT)
        seconds.append(time.process_time() - began)
        ended[answer.status] += 1
        with contextlib.suppress(MaceError):  # it has none
            accepted += answer.certificate.check().accepted
    told = ", ".join(f"{count} {status}" for status, count in ended.items())
    later = seconds[1:]
    first, median, largest = (1000 * x for x in (seconds[0], statistics.median(later), max(later)))
    print(f"| {name} | {told} | {accepted} of {len(rows)} | {first:.0f} | {median:.1f} | {largest:.0f} |", flush=True)


def boosters(rows: int) -> None:
    """CatBoost beside XGBoost."""
    import catboost
    import xgboost

    loans = datasets.load("loans")
    X = loans.space.encode(loans.X)
    one = xgboost.XGBClassifier(n_estimators=300, max_depth=6, random_state=0, n_jobs=1).fit(X, loans.y)
    options: dict[str, Any] = {"verbose": 0, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
    other = catboost.CatBoostClassifier(iterations=300, depth=6, **options).fit(X, loans.y)
    refused = loans.X[(one.predict(X) == 0) & (other.predict(X) == 0)].head(rows)
    ask("XGBoost 300 x 6, loans", one, loans.space, refused, loans.X)
    ask("CatBoost 300 x 6, loans", other, loans.space, refused, loans.X)


def machines(rows: int) -> None:
    """EBMs of 30 terms."""
    from interpret.glassbox import ExplainableBoostingClassifier

    rng = np.random.default_rng(0)
    names = [f"x{k}" for k in range(30)]
    X = pd.DataFrame(rng.normal(size=(2000, 30)).round(3), columns=names)
    bent = np.sin(2 * X.to_numpy()) @ rng.normal(size=30)
    space = Space([Feature(name, "real", -5, 5, step="0.001") for name in names])
    for pairs in (0, 10):
        count = 30 - pairs
        options: dict[str, Any] = {"interactions": pairs, "outer_bags": 1, "max_rounds": 300, "n_jobs": 1}
        model = ExplainableBoostingClassifier(**options).fit(X[names[:count]], (bent > 0).astype(int))
        part = X[names[:count]]
        refused = part[model.predict(part) == 0].head(rows)
        over = Space(space.features[:count])
        ask(f"EBM of 30 terms, {pairs} of them pairs", model, over, refused, part)


def calibrated(rows: int) -> None:
    """Calibrated classifiers with scikit-learn's defaults beside one member."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

    loans = datasets.load("loans")
    X = loans.space.encode(loans.X)
    members: Sequence[tuple[str, Any]] = (
        ("boosting 50 x 3", GradientBoostingClassifier(n_estimators=50, random_state=0)),
        ("forest 50 x 8", RandomForestClassifier(50, max_depth=8, random_state=0)),
    )
    for name, member in members:
        for method in ("sigmoid", "isotonic"):
            whole = CalibratedClassifierCV(member, method=method).fit(X, loans.y)
            one = whole.calibrated_classifiers_[0].estimator
            refused = loans.X[(one.predict(X) == 0) & (whole.predict(X) == 0)].head(rows)
            ask(f"{name}, loans", one, loans.space, refused, loans.X)
            ask(f"five of them, {method}", whole, loans.space, refused, loans.X)


PARTS = {"boosters": boosters, "machines": machines, "calibrated": calibrated}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--only", default=",".join(PARTS))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| model | verdicts | certificates | first, CPU ms | median | largest |\n|---|---|---|---|---|---|")
    for part in asked.only.split(","):
        PARTS[part](asked.rows)


if __name__ == "__main__":
    main()
