"""Which rows of a frame have a goal already, by the deployed model's own `predict`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mace.errors import RowError
from mace.explain.explainer import Explainer
from mace.problem.goals import Classes, Wanted
from mace.tables.table import Formula

if TYPE_CHECKING:
    import pandas as pd


def have_goal(explainer: Explainer, frame: pd.DataFrame, goal: Wanted) -> list[bool]:
    """Which rows have the goal; a row that is not in the space has not."""
    if isinstance(goal, Classes) and not isinstance(explainer.table, Formula):
        try:
            return [label in goal.labels for label in explainer.decisions(frame).tolist()]
        except RowError:
            pass  # at least one of them; which, the rows themselves say
    found = []
    for place in range(len(frame)):
        try:
            question, _ = explainer.question(frame.iloc[place], goal)
            found.append(explainer.judge.meets(question, question.start))
        except RowError:
            found.append(False)
    return found
