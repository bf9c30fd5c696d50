"""Minimum observable: the nearest row of the background that has the goal.

Source: Wexler et al. 2019; a baseline of Karimi et al. 2020. It finds whatever was observed, and never anything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mace.search.chart import Chart, Floats
from mace.search.limits import check
from mace.search.protocol import Batches, Task

NO_ROWS = "it looks among background rows, and there are none"


@dataclass(frozen=True)
class MinimumObservable:
    """The nearest allowed background row with the goal; it is asked about in order of distance.

    batch: how many rows are asked about at once.
    """

    batch: int = 256
    name: str = "mo"

    def __post_init__(self) -> None:
        check(self)

    def refusal(self, task: Task) -> str | None:
        """Why it does not take a task: it needs background rows."""
        return NO_ROWS if task.rows is None else None

    def batches(self, task: Task, rng: np.random.Generator) -> Batches:  # noqa: ARG002
        """The allowed rows, nearest first, until one has the goal."""
        assert task.rows is not None
        rows = nearest_observed(task.chart, task.rows)
        for first in range(0, len(rows), self.batch):
            scores = yield rows[first : first + self.batch]
            if (scores.goal == 0).any():
                return None
        return None


def nearest_observed(chart: Chart, observed: Floats) -> Floats:
    """The background rows that are points of the axes, each once, the nearest first; shape (rows, features)."""
    import pandas as pd

    found = chart.fitted(observed)
    rows: Floats = found.rows[found.fit]
    rows = rows[
        ~np.asarray(pd.DataFrame(rows).duplicated(), dtype=bool)
    ]  # by hashing: numpy's `unique` sorts whole rows
    return rows[np.argsort(chart.distances(rows), kind="stable")]
