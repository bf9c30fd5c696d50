"""`mace.scorecards.Counterfactual` beside OptBinning's class of that name, on random scorecards and queries.

    python -m tests.bench.drop_in [--count 50] [--seed 0] [--limit SECONDS]

Both are asked the same in the library's own weights of proximity. What each finds is judged alike: whether the
scorecard's own `predict` says so of the nearest raw values in the bins, whether the conditions are met, and the
objective, worked out here. The exit code is 1 if ours is ever invalid, worse, or has nothing where there is a set.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from mace.scorecards import Counterfactual

BOTH = ("diversity_features", "diversity_values")
AIMS: list[dict[str, float]] = [{"proximity": 1.0}, {"proximity": 1.0, "closeness": 1.0}, {"closeness": 1.0}]


class Asked(NamedTuple):
    """A scorecard, its training table, a row of it, and what is asked of both."""

    card: Any
    X: pd.DataFrame
    query: pd.DataFrame
    question: dict[str, Any]


class Judged(NamedTuple):
    """What one of the two said: its status, the objective of a valid set, or what is wrong with it."""

    status: str
    objective: float | None
    wrong: str = ""


def random_asked(seed: int) -> Asked:
    """A random scorecard of three to five variables; every fifth predicts a number, every fourth has coefficients 0."""
    from optbinning import BinningProcess, Scorecard
    from sklearn.linear_model import LinearRegression, LogisticRegression

    rng = np.random.default_rng(seed)
    rows, names = 500, [f"x{j}" for j in range(int(rng.integers(3, 6)))]
    X = pd.DataFrame({name: rng.normal(size=rows).round(2) for name in names})
    texts = [name for name in names if rng.random() < 0.3]
    for name in texts:
        X[name] = rng.choice(["a", "b", "c", "d"], rows)
    known = [pd.Categorical(X[name]).codes if name in texts else X[name] for name in names]
    score = sum(rng.normal() * np.asarray(column, dtype=float) for column in known) + rng.normal(size=rows)
    number = seed % 5 == 4
    y = score if number else (score > np.median(score)).astype(int)
    if number:
        estimator: Any = LinearRegression()
    elif seed % 4 == 1:
        estimator = LogisticRegression(l1_ratio=1.0, C=0.05, solver="liblinear")
    else:
        estimator = LogisticRegression()
    card = Scorecard(BinningProcess(names, categorical_variables=texts), estimator).fit(X, y)
    query = X.iloc[[int(rng.integers(rows))]]
    question: dict[str, Any] = {
        "n_cf": int(rng.integers(1, 3)), "max_changes": int(rng.integers(1, 4)), "objectives": AIMS[seed % 3],
    }  # fmt: skip
    hard = [name for name in BOTH if question["n_cf"] > 1 and rng.random() < 0.6] or [*BOTH[: question["n_cf"] - 1]]
    said = card.predict(query)[0]
    if number:
        question |= {"y": float(said + rng.uniform(0.1, 1.5)), "outcome_type": "continuous"}
        hard = [*hard, "min_outcome"]
    else:
        question |= {"y": int(1 - said), "outcome_type": "binary"}
    return Asked(card, X, query, question | {"hard_constraints": hard or None})


def compared(seed: int, limit: float = 10.0) -> tuple[Judged, Judged]:
    """Ours and the original's answer to one random question."""
    from optbinning.scorecard import Counterfactual as Original

    asked = random_asked(seed)
    ours = Counterfactual(asked.card, proximity="library").fit(asked.X)
    ours.generate(asked.query, **asked.question, time_limit=limit)
    theirs = Original(asked.card).fit(asked.X)
    try:
        theirs.generate(asked.query, **asked.question, time_limit=int(limit))
        status = str(theirs.status)
        found = theirs.display(show_only_changes=True) if status in ("OPTIMAL", "FEASIBLE") else None
    except Exception as error:  # noqa: BLE001 - whatever the original raises is its answer
        original = Judged(type(error).__name__, None, f"it raises {type(error).__name__}: {str(error)[:80]}")
    else:
        original = judged(asked, ours, status, found)
    mine = ours.display(show_only_changes=True) if ours.status in ("OPTIMAL", "FEASIBLE") else None
    return judged(asked, ours, ours.status, mine), original


def judged(asked: Asked, ours: Counterfactual, status: str, found: pd.DataFrame | None) -> Judged:
    """A set of choices, "-" where a variable stays: whether it is valid, and its objective."""
    if found is None:
        return Judged(status, None)
    problem, question = ours._generated.problem, asked.question
    sets = []
    for row in found[list(problem.card.names)].to_dict("records"):
        sets.append([place(v, row[v.name]) for v in problem.card.variables])
    bins = np.array(sets, dtype=np.int16)
    wrong = clash(sets, question)
    for one in sets:
        raw = ours._raw(asked.query.iloc[0].to_dict(), problem.places(one), problem.start)
        said = asked.card.predict(pd.DataFrame([raw])[list(asked.X.columns)])[0]
        if not (said >= question["y"] - 1e-9 if question["outcome_type"] == "continuous" else said == question["y"]):
            wrong = wrong or "the scorecard says something else"
    near = [sum(problem.steps[j][problem.choices[j].index(b)] for j, b in enumerate(one) if b >= 0) for one in sets]
    total = question["objectives"].get("proximity", 0.0) * float(sum(near))
    total += question["objectives"].get("closeness", 0.0) * float(problem.closeness(bins).sum())
    return Judged(status, None if wrong else total, wrong)


def place(variable: Any, text: Any) -> int:
    """The bin that OptBinning shows: a text, or the members of a list; -1 where a variable stays."""
    if isinstance(text, str):
        if text == "-":
            return -1
        return next(k for k, one in enumerate(variable.bins) if one.text == text)
    return next(k for k, one in enumerate(variable.bins) if set(one.members) == set(text))


def clash(sets: Sequence[Sequence[int]], question: dict[str, Any]) -> str:
    """Which condition a set does not meet."""
    hard = question["hard_constraints"] or ()
    for n, one in enumerate(sets):
        if sum(b >= 0 for b in one) > question["max_changes"]:
            return "too many changes"
        for other in sets[:n]:
            if BOTH[0] in hard and [b >= 0 for b in one] == [b >= 0 for b in other]:
                return "the same features change"
            if BOTH[1] in hard and any(a == b >= 0 for a, b in zip(one, other, strict=True)):
                return "the same value twice"
    return ""


def verdict(ours: Judged, theirs: Judged) -> str:
    """How the two compare, in a few words; what begins with `ours` must not be."""
    if ours.wrong:
        return f"ours is invalid: {ours.wrong}"
    if ours.objective is None:
        if ours.status != "INFEASIBLE":
            return f"ours has no answer: {ours.status}"
        if theirs.objective is not None:
            return "ours says infeasible, and there is a set"
        return "both infeasible" if theirs.status == "INFEASIBLE" else f"infeasible; original: {theirs.wrong}"
    if theirs.wrong:
        return f"original invalid: {theirs.wrong}"
    if theirs.objective is None:
        return f"original has none: {theirs.status}"
    if ours.objective > theirs.objective + 1e-6:
        return f"ours is worse: {ours.objective:.6f} > {theirs.objective:.6f}"
    return "ours is better" if ours.objective < theirs.objective - 1e-6 else "equal"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=10.0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    ended: Counter[str] = Counter()
    began = time.process_time()
    for seed in range(given.seed, given.seed + given.count):
        found = verdict(*compared(seed, given.limit))
        ended[found] += 1
        if found not in ("equal", "both infeasible"):
            print(f"seed {seed}: {found}", flush=True)
    for words, count in ended.most_common():
        print(f"{count:4} {words}")
    print(f"{time.process_time() - began:.0f} CPU seconds")
    return 1 if any(words.startswith("ours ") and words != "ours is better" for words in ended) else 0


if __name__ == "__main__":
    sys.exit(main())
