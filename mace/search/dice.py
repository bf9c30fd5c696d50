"""DiCE's random and genetic search, by the library itself (`dice-ml`) where it is installed.

It is given the background rows, and the model as a classifier of two classes: with the goal, and without. Its own
counterfactuals are what is proposed, after a step onto the grids. It calls the model itself, which counts as any call.
Source: Mothilal, Sharma, Tan 2020.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Literal

import numpy as np

from mace.search.asked import ExhaustedError
from mace.search.chart import Chart, Floats
from mace.search.extra import require
from mace.search.limits import check
from mace.search.observed import NO_ROWS
from mace.search.protocol import Batches, Task, unmovable

if TYPE_CHECKING:
    import pandas as pd

OUTCOME = "__has_goal__"


@dataclass(frozen=True)
class Dice:
    """DiCE.

    method: "random" or "genetic".    count: how many counterfactuals it is asked for.
    """

    method: Literal["random", "genetic"] = "random"
    count: int = 5

    def __post_init__(self) -> None:
        check(self)

    @property
    def name(self) -> str:
        """By its method."""
        return f"dice-{self.method}"

    def refusal(self, task: Task) -> str | None:
        """Why it does not take a task: it needs the library, background rows, and something that may change."""
        require("dice_ml", "DiCE", "dice-ml")
        if task.rows is None or not len(task.rows):
            return NO_ROWS
        return unmovable(task)

    def batches(self, task: Task, rng: np.random.Generator) -> Batches:
        """All of its counterfactuals in one batch."""
        import dice_ml

        chart, rows, features = task.chart, task.rows, task.place.space.features
        assert rows is not None
        frame = _frame(chart, rows)
        frame[OUTCOME] = (task.missed_by(rows) == 0).astype(int)
        numbers = [feature.name for feature in features if feature.numeric]
        data = dice_ml.Data(dataframe=frame, continuous_features=numbers, outcome_name=OUTCOME)
        explainer = dice_ml.Dice(data, dice_ml.Model(model=_Classifier(task), backend="sklearn"), method=self.method)
        free = [feature.name for feature, may in zip(features, chart.free, strict=True) if may]
        try:
            with _seeded(int(rng.integers(2**32))), redirect_stderr(StringIO()):  # it draws a bar there
                made = explainer.generate_counterfactuals(
                    _frame(chart, chart.start[None]), total_CFs=self.count, desired_class=1, features_to_vary=free,
                    verbose=False,
                )  # fmt: skip
        except Exception as error:
            if type(error).__name__ != "UserConfigValidationException":
                raise
            return None  # it found none
        found = made.cf_examples_list[0].final_cfs_df
        if found is None or not len(found):
            return None
        several = _rows(chart, found)
        yield several
        return several


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """The library draws from the generators that all share: they are set for it, and put back."""
    before, numbers = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(before)
        np.random.set_state(numbers)  # noqa: NPY002


class _Classifier:
    """The model as DiCE asks it."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def predict_proba(self, frame: pd.DataFrame) -> Floats:
        """The probabilities of no goal and goal: one half and more where it is met, less by what is missing."""
        rows, asked = self.task.chart.snap(_rows(self.task.chart, frame)), self.task.asked
        missed = np.minimum(asked.about(rows).missed, 1.0)
        if asked.why or asked.deadline.over:  # by itself the library would go on without an answer
            raise ExhaustedError(asked.why or asked.deadline.why)
        goal = np.where(missed == 0, 1.0, 0.5 * (1 - missed) * (1 - 1e-9))
        return np.column_stack([1 - goal, goal])

    def predict(self, frame: pd.DataFrame) -> Floats:
        """Whether it has the goal, 0 or 1."""
        return np.asarray(self.predict_proba(frame)[:, 1] > 0.5).astype(int)


def _frame(chart: Chart, rows: Floats) -> pd.DataFrame:
    """Rows as DiCE takes them: numbers as floats, levels as texts."""
    import pandas as pd

    features = chart.place.space.features
    return pd.DataFrame(
        {
            feature.name: rows[:, j]
            if feature.numeric
            else np.array([str(k) for k in rows[:, j].astype(np.intp).tolist()], dtype=object)
            for j, feature in enumerate(features)
        }
    )


def _rows(chart: Chart, frame: pd.DataFrame) -> Floats:
    """Rows of DiCE's frame; levels are texts of their indices."""
    return np.column_stack([frame[name].astype(float).to_numpy() for name in chart.place.space.names])
