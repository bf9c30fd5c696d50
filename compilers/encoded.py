"""A model over the matrix that the space encodes, where numbers may be missing and the model takes NaN.

In:  a fitted model of trees, its table, and a space with numbers that may be missing.
Out: `compile_encoded`: the table without NaN and its columns, and a way to hand rows of the space to the model; None
     where no number may be missing, or where the model takes none that is.
Promise: what a missing number does is asked of the deployed model itself; the table is compared with it on such rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mace.compilers.deployed import Deployed, quiet
from mace.compilers.pipeline.filled import with_missing_above
from mace.compilers.pipeline.missing import without_nan
from mace.compilers.pipeline.reader import CompiledPipeline, check_against_library
from mace.compilers.pipeline.rows import encoded_frame, probes
from mace.compilers.registry import deployed, may_lack
from mace.space.space import Space
from mace.tables.table import Ensemble, Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class CompiledEncoded(CompiledPipeline):
    """As `CompiledPipeline`, for a model that takes the columns of `Space.encode`, with NaN for a missing number."""

    def frame(self, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """Rows of the space, with None for what is missing, as the matrix that the model takes."""
        return encoded_frame(self.space, rows)

    @cached_property
    def deployed(self) -> Deployed:
        """The model's own `predict`."""
        return deployed(self.pipeline)


def compile_encoded(model: object, table: Table, space: Space) -> CompiledEncoded | None:
    """See the module's docstring; raises ModelError where table and model do not agree."""
    lacking = may_lack(space)
    if not lacking or not isinstance(table, Ensemble):
        return None
    made = CompiledEncoded(model, space, table, space.columns, None, {}, encoded=True)
    rows = probes(space, {})
    taken = set()
    for feature in lacking:
        try:
            with quiet():
                made.predict(made.frame([{**rows[0], feature.name: None}]))
            taken.add(feature.name)
        except (ValueError, TypeError):
            continue  # A row that lacks it is told so.
    if not taken:
        return None
    columns = [
        c if space.features[c.feature].name not in taken
        else replace(c, missing=float("nan")) if c.values is None
        else replace(c, values=(*c.values, float("nan")))
        for c in space.columns
    ]  # fmt: skip
    table, found = without_nan(*with_missing_above(table, columns, space.features), space.features)
    made = replace(made, table=table, columns=found)
    check_against_library(made)
    return made
