"""How good counterfactuals are, whoever found them: the measures of the field, each a function of frames.

In:  the rows, their counterfactuals (a frame whose index says which row each one answers), and the space.
Out: numbers, each with its definition, unit and source in the docstring; `compare` puts several methods side by side.
Promise: a row of NaN is no answer, and is counted as none; a frame that does not fit is a RowError that says where.
"""

from __future__ import annotations

from mace.metrics.comparison import Comparison, compare
from mace.metrics.dice import DiceMetrics, dice
from mace.metrics.distances import mads
from mace.metrics.measures import (
    closeness,
    cost,
    coverage,
    diversity,
    normalised_diversity,
    plausibility,
    proximity,
    sparsity,
    time,
)
from mace.metrics.validity import valid, validity

__all__ = [
    "Comparison",
    "DiceMetrics",
    "closeness",
    "compare",
    "cost",
    "coverage",
    "dice",
    "diversity",
    "mads",
    "normalised_diversity",
    "plausibility",
    "proximity",
    "sparsity",
    "time",
    "valid",
    "validity",
]
