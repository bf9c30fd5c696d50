"""What levels and sets cost beside the nearest point alone: CPU seconds of a forest of 100 trees on 15 mixed features.

    python -m tests.bench.levels [--people 10] [--trees 100] [--depth 6] [--boosting] [--seed 0] [--count 3]
                                 [--diversity F]

Asked are l1; then l1 within 1 % and the fewest changes; then three answers at once that change different features.
"""

from __future__ import annotations

import argparse
import gc
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import mace


def people(rows: int, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Six whole numbers, three real ones, four categories and two yes or no; and who is good."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"whole{j}": rng.integers(0, 60, rows) for j in range(6)})
    for j in range(3):
        X[f"real{j}"] = rng.normal(size=rows).round(2)
    for j in range(4):
        X[f"kind{j}"] = rng.choice(list("abcde"), rows)
    for j in range(2):
        X[f"yes{j}"] = rng.integers(0, 2, rows)
    score = X.filter(like="whole").sum(axis=1) / 60 + X.filter(like="real").sum(axis=1) / 2
    score += (X.filter(like="kind") == "a").sum(axis=1) * 0.5 + rng.normal(size=rows) * 0.3
    return X, (score > score.quantile(0.6)).astype(int)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--boosting", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=3)
    parser.add_argument("--diversity", default="F")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = people(3000, given.seed)
    space = mace.Space.from_frame(X)
    kind = GradientBoostingClassifier if given.boosting else RandomForestClassifier
    model = kind(n_estimators=given.trees, max_depth=given.depth, random_state=given.seed).fit(space.encode(X), y)
    refused = X[model.predict(space.encode(X)) == 0].head(given.people)
    nearest = mace.Explainer(model, space, background=X)
    levels = mace.Explainer(model, space, background=X, objectives=["l1 within 1%", "changes"])
    nearest.ready()
    nearest.explain(refused.iloc[0], goal=1)  # what is read once
    levels.explain(refused.iloc[0], goal=1)
    gc.freeze()  # what was read once is not looked through again in the time of one person
    at_once = f"{given.count} at once"
    spent: dict[str, list[float]] = {"l1": [], "l1, changes": [], at_once: []}
    for _, row in refused.iterrows():
        asked: list[tuple[str, mace.Explainer, dict[str, Any]]] = [
            ("l1", nearest, {}),
            ("l1, changes", levels, {}),
            (at_once, nearest, {"count": given.count, "together": True, "diversity": given.diversity}),
        ]
        line = []
        for name, explainer, more in asked:
            began = time.process_time()
            answer = explainer.explain(row, goal=1, timeout=300, **more)
            spent[name].append(time.process_time() - began)
            line.append(f"{name}: {answer.status} {spent[name][-1]:.2f} s")
        print(" | ".join(line), flush=True)
    base = np.array(spent["l1"])
    for name, seconds in spent.items():
        times = np.array(seconds) / base
        print(
            f"{name:14} median {np.median(seconds):.2f} s, {np.median(seconds) / np.median(base):.1f} times l1;", end=""
        )
        print(f" person by person {np.median(times):.1f} times in the median, at most {times.max():.1f}")


if __name__ == "__main__":
    main()
