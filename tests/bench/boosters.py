"""How long boosted trees take to the proved optimum: CPU seconds a row, first rejected rows, distance l1.

    python -m tests.bench.boosters [--rows 10]

XGBoost with 300 trees of depth 6 on Adult, with its rules and with every feature free; scikit-learn's boosting with 100
trees of depth 3 on the 15 features of the loan table. The first row of a setting also compiles the model.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from typing import Any

from mace import Space, datasets
from mace.explain.explainer import Explainer


def ask(name: str, model: Any, space: Space, data: Any, rows: int) -> None:
    """Print one line: seconds, verdicts, largest gap over the distance."""
    refused = data.X[model.predict(space.encode(data.X)) == 0].head(rows)
    explainer = Explainer(model, space, background=data.X)
    seconds, ended, gap = [], Counter[str](), 0.0
    for _, row in refused.iterrows():
        began = time.process_time()
        answer = explainer.explain(row, goal=1, timeout=60)
        seconds.append(time.process_time() - began)
        ended[answer.status] += 1
        if answer.exact_distance:
            gap = max(gap, float(1 - answer.exact_lower_bound / answer.exact_distance))
    told = ", ".join(f"{count} {status}" for status, count in ended.items())
    print(f"| {name} | {told} | {gap:.1%} | {statistics.median(seconds):.3f} | {max(seconds):.2f} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10)
    rows = parser.parse_args().rows
    import xgboost
    from sklearn.ensemble import GradientBoostingClassifier

    print("| model | verdicts | largest gap | CPU s, median | worst |\n|---|---|---|---|---|")
    adult, loans = datasets.load("adult"), datasets.load("loans")
    trees = xgboost.XGBClassifier(n_estimators=300, max_depth=6, random_state=0, n_jobs=1)
    trees.fit(adult.space.encode(adult.X), adult.y)
    ask("XGBoost 300 x 6, Adult", trees, adult.space, adult, rows)
    ask("XGBoost 300 x 6, Adult, all free", trees, adult.free_space, adult, rows)
    boosting = GradientBoostingClassifier(n_estimators=100, max_depth=3, random_state=0)
    boosting.fit(loans.space.encode(loans.X), loans.y)
    ask("boosting 100 x 3, loans", boosting, loans.space, loans, rows)


if __name__ == "__main__":
    main()
