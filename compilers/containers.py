"""What one stage of a pipeline hands to the next, and what each library makes of it.

In:  the data that a real step gave, or that the model is given.
Out: a `Stage`: the container and the type of each column, and what a library (its `Intake`) reads there.
Promise: a container or type that is not followed is a ModelError that names it.
What the libraries do (scikit-learn 1.9, XGBoost 3.2, LightGBM 4.7; tests/compilers/test_containers.py asks them):
* XGBoost reads what a sparse matrix does not store as missing, and a zero that it stores as zero. Every number goes to
  float32 in one rounding, integers too, whatever the container.
* LightGBM reads what is not stored as zero. Dense rows lose numbers up to 1e-35 on the way, those of a sparse matrix do
  not. An array of integers or booleans goes to float32; a frame to the type that pandas and float32 have in common.
* HistGradientBoosting takes no sparse matrix; all else goes to float64.
* Trees of scikit-learn read what is not stored as zero; the type that all columns have in common goes to float32 in one
  rounding, but an array or a frame of objects goes through float64.
* Linear models and networks compute in the wider of the types of rows and weights, at least in that of the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.compilers.library import Intake, public_name
from mace.errors import ModelError
from mace.space.columns import Column
from mace.space.feature import Feature
from mace.tables.table import Ensemble, Table

Container: TypeAlias = Literal["frame", "array", "sparse"]
Dtype: TypeAlias = Literal["bool", "integer", "float32", "float64", "object", "category"]
Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Stage:
    """The container and types of one stage.

    dtypes: one a column.
    common: the type of one array that holds them all, as pandas has it.
    """

    container: Container
    dtypes: tuple[Dtype, ...]
    common: Dtype

    @classmethod
    def of(cls, data: Any, who: str) -> Stage:
        """The stage that data are.

        who: what gave them, in words. Raises ModelError for containers and types that are not followed.
        """
        if hasattr(data, "tocsr"):
            one = _dtype(data.dtype, who)
            return cls("sparse", (one,) * data.shape[1], one)
        if isinstance(data, np.ndarray):
            one = _dtype(data.dtype, who)
            return cls("array", (one,) * data.shape[1], one)
        if not hasattr(data, "iloc"):
            raise ModelError(
                f"{who} gives a {public_name(type(data))}, which is not supported",
                hint='Supported are arrays, sparse matrices and pandas\' frames: set_output(transform="default").',
            )
        dtypes = tuple(_dtype(kind, who) for kind in data.dtypes)
        return cls("frame", dtypes, _dtype(data.iloc[:0].to_numpy().dtype, who))


def _dtype(kind: Any, who: str) -> Dtype:
    name = type(kind).__name__
    if name == "CategoricalDtype":
        return "category"
    if name == "StringDtype":
        return "object"
    if isinstance(kind, np.dtype):
        if kind.kind in "iu":
            return "integer"
        if kind.kind in "fbO" and kind.itemsize <= 8 and kind != np.float16:
            return {"f4": "float32", "f8": "float64", "b1": "bool"}.get(kind.str[1:], "object")  # type: ignore[return-value]
        if kind.kind in "US":
            return "object"
    raise ModelError(
        f"{who} gives columns of the type {kind}, which is not supported",
        hint="Supported are booleans, integers, float32, float64, objects and categories.",
    )


def as_given(
    table: Table, intake: Intake, stage: Stage, columns: tuple[Column, ...], features: Sequence[Feature]
) -> tuple[Table, tuple[Column, ...]]:
    """The table of a model and its columns as it reads this stage; they are for dense rows of float64.

    Raises ModelError for integers that the library rounds in a way that is not followed.
    """
    if not isinstance(table, Ensemble):
        return table, columns
    if intake.sparse is not None and stage.container == "sparse":
        table = intake.sparse(table)
    integers = {
        place for place, column in enumerate(columns)
        if column.values is None and not column.chain and _integer(intake, stage, place)
    }  # fmt: skip
    large = {columns[place].feature for place in integers if _beyond(features[columns[place].feature], 2**24)}
    if intake.integers == "float32" and stage.container == "array" and large:
        if any(tree.members for tree in table.trees):
            raise ModelError(
                f"{table.name} is given integers beyond 2^24 together with categories, which is not supported",
                hint='Give it a frame: set_output(transform="pandas").',
            )
        table = replace(table, cast="float32")
    if table.cast == "float64":
        return table, columns
    huge = {feature for feature in large if _beyond(features[feature], 2**53)}
    for place, column in enumerate(columns):
        if column.feature in huge and place not in integers:
            raise ModelError(
                f"`{features[column.feature].name}` reaches the model as integers, and in `{column.name}` as float64: "
                "beyond 2^53 these are rounded differently, which is not supported",
                hint="Narrow its range in the space.",
            )
    return table, tuple(
        replace(column, rounded_to="float32") if column.feature in huge else column for column in columns
    )


def _integer(intake: Intake, stage: Stage, place: int) -> bool:
    """Whether a library itself makes floats of a column's integers."""
    alone = intake.by_column and stage.container == "frame"
    return (stage.dtypes[place] if alone else stage.common) == "integer"


def _beyond(feature: Feature, limit: int) -> bool:
    """Whether the range of a feature goes beyond a limit."""
    return max(map(abs, feature.bounds())) > limit


def column_of(data: Any, place: int) -> Floats:
    """One column as float64, shape (rows,): what is not stored is 0."""
    if hasattr(data, "iloc"):
        data = data.iloc[:, place].to_numpy()
    elif hasattr(data, "tocsr"):
        data = data[:, [place]].toarray().ravel()
    else:
        data = data[:, place]
    return np.asarray(data, dtype=np.float64)


def matrix_of(data: Any, intake: Intake) -> Floats:
    """All columns as float64, shape (rows, columns): what is not stored is what the library takes it for."""
    if hasattr(data, "iloc"):
        # Column by column: of integers beside categories of integers pandas makes integers, also where one is missing.
        return np.stack([column_of(data, place) for place in range(data.shape[1])], axis=1)
    if not hasattr(data, "tocsr"):
        return np.asarray(data, dtype=np.float64)
    dense = np.asarray(data.toarray(), dtype=np.float64)
    if intake.absent == "missing":
        stored = np.zeros(dense.shape, dtype=bool)
        entries = data.tocoo()
        stored[entries.row, entries.col] = True
        dense[~stored] = np.nan
    return dense
