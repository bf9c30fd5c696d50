"""Models that misbehave on planted rows, in worker processes only, and small populations to audit.

A subclass may not redefine `predict` (its table would be another's), so faults sit in what `predict` calls first.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import mace

HANGS, CRASHES, EATS = 91, 92, 93  # ages of planted rows
FEW = 16  # rows: a few with their counterfactuals, which are asked about together


class Faulty(RandomForestClassifier):  # type: ignore[misc]
    """A forest that hangs, dies or wants all memory when asked about a few rows of which one has a planted age."""

    delay = 0.0

    def _validate_X_predict(self, X: Any) -> Any:
        checked = super()._validate_X_predict(X)
        if len(checked) <= FEW and multiprocessing.parent_process() is not None:
            time.sleep(self.delay)
            ages = set(checked[:, 0].tolist())
            if HANGS in ages:
                while True:
                    time.sleep(1)
            if CRASHES in ages:
                os.kill(os.getpid(), signal.SIGSEGV)
            if EATS in ages:
                assert len(np.empty(2**33))  # 64 GB
        return checked


def people(count: int = 300, seed: int = 0) -> pd.DataFrame:
    """Made-up applicants."""
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "Age": random.integers(20, 71, count),
            "Income": random.integers(10, 101, count),
            "Debts": random.integers(0, 51, count),
            "Sex": random.choice(["Female", "Male"], count),
        }
    )


def space(**changes: Any) -> mace.Space:
    """Their space; by default only income and debts may change freely."""
    made = mace.Space(
        [
            mace.Feature("Age", "integer", 18, 99),
            mace.Feature("Income", "integer", 0, 150, unit="kEUR"),
            mace.Feature("Debts", "integer", 0, 100, unit="kEUR"),
            mace.Feature("Sex", "binary", levels=["Female", "Male"]),
        ]
    )
    return made.change(**({"Age": "increase", "Sex": "fixed"} | changes))


def forest(frame: pd.DataFrame, approved: Any, kind: type = RandomForestClassifier, trees: int = 5) -> Any:
    """A small forest on the encoded frame."""
    return kind(trees, max_depth=5, random_state=0).fit(space().encode(frame), approved)


def fair(frame: pd.DataFrame) -> Any:
    """A decision that rests on money only."""
    return (frame["Income"] - frame["Debts"] > 40).astype(int)


def verdicts(audit: mace.Audit) -> list[tuple[Any, ...]]:
    """What must not depend on how an audit ran."""
    return [(r.row, r.status, r.failure, r.exact_distance, r.changes, r.proof) for r in audit.records]
