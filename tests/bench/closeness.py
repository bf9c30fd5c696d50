"""Closeness on Adult: CPU seconds a person for a logistic regression and a forest of 10, each answer with its proof.

    MACE_DATA=... python -m tests.bench.closeness [--people 20] [--changes 0] [--only logistic] [--depth 6] [--limit 9]

Asked are the first people whom a model refuses, in the 12 features of the table, categories one-hot. Every certificate
is given to both checkers, whose time does not count; the limit is one of the wall clock. With `--changes 0.5` closeness
is part of a weighted sum, in which each change counts as much.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import mace
from mace import datasets
from tests.checkers import accepted_by_all

BAR = 10.0  # CPU seconds a person


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--depth", type=int, default=6)
    parser.add_argument("--only", choices=("logistic", "forest"))
    parser.add_argument("--limit", type=float, default=120.0)
    parser.add_argument("--changes", type=float, default=0.0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    data = datasets.load("adult")
    columns = data.space.encode(data.X)
    models: dict[str, Any] = {
        "logistic": LogisticRegression(max_iter=2000),
        "forest": RandomForestClassifier(10, max_depth=given.depth, random_state=0),
    }
    for name, model in models.items():
        if given.only in (None, name):
            people(name, model.fit(columns, data.y), data, given)


def people(name: str, model: Any, data: Any, given: argparse.Namespace) -> None:
    """Ask for the people whom one model refuses."""
    objective = {"closeness": 1, "changes": given.changes} if given.changes else "closeness"
    explainer = mace.Explainer(model, data.space, objectives=[objective], background=data.X)
    rows = np.flatnonzero(model.predict(data.space.encode(data.X)) == 0)[: given.people]
    explainer.ready()
    spent, proved, accepted = [], 0, 0
    for row in rows:
        began = time.process_time()
        answer = explainer.explain(data.X.iloc[row], goal=1, timeout=given.limit)
        spent.append(time.process_time() - began)
        proved += answer.status == "optimal"
        certificate = answer.levels[0].certificate
        both = certificate is not None and accepted_by_all([certificate]) == 2
        accepted += both
        bounds = f"{answer.lower_bound:.6f} .. {answer.distance:.6f}"
        print(f"{name} {row}: {answer.status} {bounds}, {spent[-1]:.2f} s{', accepted by both' * both}", flush=True)
    print(
        f"{name}: {proved} of {len(rows)} proved, {accepted} accepted by both, median {np.median(spent):.2f} s, "
        f"worst {max(spent):.2f} s, within {BAR:g} s {sum(s <= BAR for s in spent)}"
    )


if __name__ == "__main__":
    main()
