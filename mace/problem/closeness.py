"""How unusual a change is beside what background rows look like: the l1 norm of a change that is made uncorrelated.

    closeness(x') = sum_i | sum_j U_ij (e_j(x') - e_j(x)) |

with e the columns that the space encodes, and U the symmetric square root of the inverse of their covariance in the
background rows (with a ridge of RIDGE of each column's own variance, so that it exists). U is rounded to DIGITS digits:
the distance is the one with these very numbers, exactly.
Source: Kanamori, Takagi, Kobayashi, Arimura 2020, "DACE: Distribution-Aware Counterfactual Explanation", section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from mace.base.exact import as_written, exact
from mace.errors import MaceError
from mace.language.show import show_name, show_number, show_text
from mace.language.syntax import Level
from mace.problem.distance import DistanceProgram
from mace.problem.forms import Forms
from mace.problem.programs import distance_program, sort_of
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from mace.space.columns import Column

RIDGE = 1e-6
DIGITS = 6


def closeness(space: Space, rows: pd.DataFrame) -> DistanceProgram:
    """The distance; raises MaceError where too few rows lack nothing."""
    mixing = mixing_of(space, rows)
    forms = Forms(tuple(map(tuple, mixing)), tuple(space.columns)).measured(space)
    return DistanceProgram(distance_program(text_of(space, mixing), space), "closeness", forms)


def text_of(space: Space, mixing: Sequence[Sequence[Fraction]], more: Sequence[str] = ()) -> str:
    """The sum of the sizes of forms as a program, with more terms."""
    prefix = "change_"
    while any(name.startswith(prefix) for name in space.names):
        prefix += "_"
    lines = [f"{prefix}{k} = {_change(space, column)}" for k, column in enumerate(space.columns)]
    sums = []
    for row in mixing:
        parts = [f"{show_number(weight)} * {prefix}{k}" for k, weight in enumerate(row) if weight]
        if parts:
            sums.append(f"abs({' + '.join(parts)})")
    return "\n".join([*lines, f"return {' + '.join([*sums, *more] or ['0'])}\n"])


def mixing_of(space: Space, rows: pd.DataFrame) -> list[list[Fraction]]:
    """U, rounded: a row for each sum, a column for each column that the space encodes; raises as above."""
    encoded = space.encode(rows[space.names].dropna()).to_numpy(dtype=np.float64)
    if len(encoded) < 2:
        raise MaceError("closeness is measured by background rows: at least two that lack nothing")
    return _mixing(encoded)


def _mixing(encoded: NDArray[np.float64]) -> list[list[Fraction]]:
    """U, rounded: a row for each sum."""
    spread = encoded.std(axis=0)
    spread[spread == 0] = 1.0  # what never changed in the data counts by its ridge alone
    scaled = (encoded - encoded.mean(axis=0)) / spread
    values, vectors = np.linalg.eigh(scaled.T @ scaled / len(scaled) + RIDGE * np.eye(encoded.shape[1]))
    root = (vectors / np.sqrt(np.maximum(values, RIDGE))) @ vectors.T / spread
    return [[as_written(f"{weight:.{DIGITS}g}") for weight in row] for row in root.tolist()]


def _change(space: Space, column: Column) -> str:
    """The change of one encoded column, as an expression."""
    feature = space.features[column.feature]
    x, start = show_name(feature.name), show_name("start_" + feature.name)
    if column.values is None:
        return f"{x} - {start}"
    of_text = isinstance(sort_of(feature), Level)

    def value(name: str) -> str:
        assert column.values is not None
        groups: dict[float, list[str]] = {}
        for level, number in zip(feature.levels, column.values, strict=True):
            if level is not None:
                groups.setdefault(number, []).append(show_text(str(level)) if of_text else str(int(level)))
        *rest, last = sorted(groups.items(), key=lambda item: len(item[1]))
        text = show_number(exact(last[0]))
        for number, levels in rest:
            test = " or ".join(f"{name} == {level}" for level in levels)
            text = f"({show_number(exact(number))} if {test} else {text})"
        return text

    return f"{value(x)} - {value(start)}"
