"""Answers about a small table of all people there are, held to the nearest of them that are accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mace.explain.explainer import Explainer
from tests.checkers import accepted_by_all


def held_to_all(
    asked: Explainer,
    people: pd.DataFrame,
    decided: Any,
    distances: Callable[[pd.DataFrame, Any], Sequence[pd.Series]],
    every: int,
) -> None:
    """Ask from some refused people: the answer's distance is the least mean of distances, and its proof is accepted.

    decided: the model's own decisions for all people, 1 for those accepted.
    distances: accepted people and a start -> for each feature how far every one of them is.
    every: of the refused people one in so many is asked about.
    """
    accepted = people[decided == 1]
    for place in np.flatnonzero(decided == 0)[::every].tolist():
        start = people.iloc[place]
        parts = distances(accepted, start)
        answer = asked.explain(start, goal=1)
        assert answer.status == "optimal"
        assert answer.distance == pytest.approx(float(sum(parts).min()) / len(parts), abs=1e-12)
        accepted_by_all([answer.certificate])
