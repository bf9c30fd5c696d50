"""Whole answers about easy rows: CPU milliseconds of a reused `Explainer`, and of `explain` called afresh.

    python -m tests.bench.answers [--rows 30] [--models forest-10x6 ..] [--profile cumulative]

The mixed features are those of `tests.bench.ensembles`. Median and worst are what a reused explainer takes for a row,
from the call to the returned answer, the best of three; `afresh` is one call of `mace.explain` on a model that it has
not seen, beside what reading that model takes alone (the median of five): `more` is what lies between them, `first` the
part of it that a reused explainer does not take. Each aim stands beside its figure. The last column is a loop of plain
Python, timed beside each model: a crowded machine shows there.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import time
import warnings
from collections import Counter
from typing import Any, NamedTuple

import pandas as pd

import mace
from mace.explain.explainer import Explainer
from mace.explain.reading import recall
from mace.space.space import Space
from tests.bench.ensembles import mixed
from tests.bench.ensembles import models as trees

AIMS = {
    "tree-10": 2, "forest-10x6": 4, "forest-100x6": 10, "forest-100": 60, "boosting-100x3": 5, "logistic": 4,
    "xgboost-300x6, Adult": 12, "xgboost-300x6, Adult free": 12, "ebm-30-terms": 20,
}  # fmt: skip
AFRESH = 15  # more than reading takes


class Task(NamedTuple):
    """A trained model, its space, and rows that it rejects."""

    model: Any
    space: Space
    rows: list[Any]


def untrained(name: str) -> Any:
    """The model of a name."""
    if name.startswith("xgboost"):
        import xgboost

        return xgboost.XGBClassifier(n_estimators=300, max_depth=6, random_state=0, n_jobs=1)
    if name.startswith("ebm"):
        from interpret.glassbox import ExplainableBoostingClassifier

        return ExplainableBoostingClassifier(interactions=15, random_state=0, n_jobs=1, outer_bags=2, max_rounds=300)
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(max_iter=3000)
    return trees()[name]


def task(name: str, rows: int) -> Task:
    """Train a model on three quarters of its table, and choose the first other rows that it rejects."""
    if "Adult" in name:
        adult = mace.datasets.load("adult")
        space, frame, target = adult.free_space if "free" in name else adult.space, adult.X, adult.y
    else:
        space, frame, target = mixed()
    matrix = space.encode(frame)
    train = len(frame) * 3 // 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = untrained(name).fit(matrix.iloc[:train].to_numpy(), target[:train])
        rejected = model.predict(matrix.iloc[train:].to_numpy()) == 0
    frame = pd.DataFrame(frame.iloc[train:][rejected])
    return Task(model, space, [frame.iloc[i] for i in range(rows)])


def afresh(one: Task) -> tuple[float, float]:
    """Milliseconds of one `mace.explain` on a model that nobody has read, and of reading it alone."""
    called, read = [], []
    for row in one.rows[:5]:
        for times in (called, read):
            recall._HELD.clear()
            began = time.process_time()
            if times is called:
                mace.explain(one.model, one.space, row)
            else:
                Explainer(one.model, one.space)
            times.append(1000 * (time.process_time() - began))
    return statistics.median(called), statistics.median(read)


def loop() -> float:
    """Milliseconds of a loop that is always the same."""
    began, total = time.process_time(), 0
    for i in range(1_000_000):
        total += i * i % 7
    return 1000 * (time.process_time() - began)


def main() -> None:
    """Print one line a model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=30)
    parser.add_argument("--models", nargs="*", default=list(AIMS), choices=list(AIMS))
    parser.add_argument("--profile", help="also the profile of the answers, by this order")
    given = parser.parse_args()
    print(
        f"{'':26} {'aim ms':>7} {'median':>7} {'worst':>8}  | {'afresh':>7} {'reading':>8} {'more':>6} {'first':>6} "
        f"(aim of more: {AFRESH})"
    )
    for name in given.models:
        one = task(name, given.rows)
        explainer, profile = Explainer(one.model, one.space), cProfile.Profile()
        for row in one.rows[:2]:
            explainer.explain(row)  # compiles
        spent, ended = [], Counter[str]()
        for row in one.rows:
            tries = []
            for _ in range(3):
                began = time.process_time()
                answer = explainer.explain(row)
                tries.append(1000 * (time.process_time() - began))
            spent.append(min(tries))
            ended[answer.status] += 1
            if given.profile:
                profile.runcall(explainer.explain, row)
        called, read = afresh(one)
        again = statistics.median(spent[:5])  # of the rows that are asked about afresh
        print(
            f"{name:26} {AIMS[name]:7} {statistics.median(spent):7.1f} {max(spent):8.1f}  | {called:7.1f} {read:8.1f} "
            f"{called - read:6.1f} {called - read - again:6.1f}  "
            f"{', '.join(f'{count} {status}' for status, count in ended.items())}, "
            f"loop {loop():.0f}",
            flush=True,
        )
        if given.profile:
            pstats.Stats(profile).sort_stats(given.profile).print_stats(40)


if __name__ == "__main__":
    main()
