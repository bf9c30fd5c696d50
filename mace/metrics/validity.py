"""Whether counterfactuals reach the goal, by the deployed model's own word."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mace.base.frames import in_pandas
from mace.errors import GoalError
from mace.explain.explainer import Explainer
from mace.explain.goal_rows import have_goal
from mace.metrics.frames import answers
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

    from mace.explain.reading.settings import GoalSpec


def valid(model: object, space: Space, counterfactuals: pd.DataFrame, goal: GoalSpec) -> NDArray[np.bool_]:
    """Of each row of a frame, whether it is an answer that the model gives the goal; shape (rows,).

    model: a model as `mace.explain` takes it, or an `Explainer`.
    A row that is missing throughout, and one that is not in the space (a number out of range, an unknown level), is not
    valid. Raises GoalError without a goal, RowError for a frame without the space's columns.
    """
    if goal is None:
        raise GoalError("whether a counterfactual is valid depends on the goal", hint="Give goal=.")
    explainer = model if isinstance(model, Explainer) else Explainer(model, space)
    counterfactuals = in_pandas(counterfactuals)
    given = answers(counterfactuals, space)
    found = np.zeros(len(counterfactuals), dtype=bool)
    if given.any():
        found[given] = have_goal(explainer, counterfactuals[given], explainer.wanted(goal))
    return found


def validity(model: object, space: Space, counterfactuals: pd.DataFrame, goal: GoalSpec) -> float:
    """The share of the answers given that the model gives the goal, from 0 to 1; NaN without answers.

    Arguments as in `valid`. Source: Mothilal, Sharma, Tan 2020, "% valid CFs", here of those given.
    """
    counterfactuals = in_pandas(counterfactuals)
    given = answers(counterfactuals, space)
    return float(valid(model, space, counterfactuals, goal)[given].mean()) if given.any() else float("nan")
