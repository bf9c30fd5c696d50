"""Read PCA directly before a linear model or a network: one more layer, the very products of the library.

In:  the fitted steps of a pipeline directly before its last model that mix columns, and the table of that model.
Out: a Network over the columns that enter the first of them.
Promise: whitening, numbers in float32, and projections before trees are a ModelError.
How the library projects (sklearn/decomposition/_base.py, checked in 1.9): x @ components.T, in any order of summation,
less mean @ components.T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mace.compilers.library import is_a
from mace.compilers.sklearn.common import columns_of, fitted, name_of, numbers
from mace.errors import UnreadableError
from mace.tables.table import Layer, Network, Table

PATH = "sklearn.decomposition.PCA"


def mixes(step: Any) -> bool:
    """Whether a step is a projection that is read here."""
    return is_a(step, PATH)


def projected(steps: Sequence[Any], table: Table) -> Table:
    """The table of the model behind the projections, over what enters the first."""
    for step in reversed(steps):
        if not isinstance(table, Network):
            raise UnreadableError(
                f"{name_of(step)} before {table.name} is not supported: its trees would test sums of columns",
                hint="Supported are projections directly before a linear model or a network.",
            )
        components = fitted(step, "components_")
        if step.whiten or getattr(components, "dtype", None) != np.float64:
            raise UnreadableError(
                f"{name_of(step)} with whitening, or in float32, is not supported",
                hint="Fit it with whiten=False on numbers in float64, and put a StandardScaler before it.",
            )
        columns = columns_of(step)
        weights = numbers(step, "components_", components, (table.columns, columns))
        mean = numbers(step, "mean_", fitted(step, "mean_"), (columns,))
        layer = Layer(weights.T.copy(), -(mean.reshape(1, -1) @ weights.T)[0], "identity")
        table = replace(table, layers=(layer, *table.layers), columns=columns, name=f"{name_of(step)}, {table.name}")
    return table
