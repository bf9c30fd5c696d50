"""Models as `mace.explain` takes them, read over a space."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mace.base.exact import nearest
from mace.errors import ModelError
from mace.problem.programs import model_program
from mace.space.space import Space
from mace.tables.table import Formula, Network, Table

if TYPE_CHECKING:
    from mace.compilers.pipeline.reader import CompiledPipeline


MOST = 30  # columns of a space that a message names


def read_pipeline(model: object, space: Space) -> CompiledPipeline | None:
    """A model over the space's raw columns; None for one that takes what the space encodes, and for a program."""
    if isinstance(model, (str, Path)):
        return None
    from mace.compilers.registry import over_features

    if not over_features(model, space):
        return None
    from mace.compilers.pipeline.reader import compile_raw  # late, as what follows a pipeline is large

    return compile_raw(model, space)


def read_encoded(model: object, table: Table, space: Space) -> CompiledPipeline | None:
    """A model over the columns that the space encodes, which takes numbers that are missing; None for any other."""
    if isinstance(model, (str, Path)):
        return None
    from mace.compilers.registry import may_lack

    if not may_lack(space):
        return None
    from mace.compilers.encoded import compile_encoded

    return compile_encoded(model, table, space)


def _names_a_model_file(text: str | Path) -> bool:
    """Whether it is a name that `load_model` opens; no program is one word with such an ending."""
    from mace.compilers.libraries import PICKLED, endings

    name = str(text).strip()
    return "\n" not in name and name.endswith((*endings(), *PICKLED))


def read_model(model: object, space: Space) -> Table:
    """The table of a model; a text or a Path is read as a core-language program over the space's features."""
    if isinstance(model, (str, Path)):
        if _names_a_model_file(model):
            raise ModelError(
                f"{model}: this is the name of a model's file, not a model",
                hint="Give what is in it: `from mace.compilers import load_model`, then "
                f"load_model({str(model)!r}). By its name only a .mace program is read.",
            )
        return model_program(model, space)
    from mace.compilers import deployed, read
    from mace.compilers.categories import on_thresholds

    table = read(model, _held(space))
    own = deployed(model)
    names, columns = own.names, [own.spelled(column.name) for column in space.columns]
    if names is not None and list(names) != columns:
        if set(names) == set(columns):
            what = "the same columns in another order"
        else:
            odd = [n for n in names if n not in columns] or [c for c in columns if c not in set(names)]
            what = f"other columns (for instance `{odd[0]}`)"
        raise ModelError(
            f"the model was trained on {what} than the space encodes",
            hint="Train it on space.encode(frame), or set encoding= and columns=. "
            f"The space has: {', '.join(columns[:MOST])}{', ..' if len(columns) > MOST else '.'}",
        )
    return table if isinstance(table, (Network, Formula)) else on_thresholds(table, space.columns, space.features)


def _held(space: Space) -> list[list[float]]:
    """For every column that a space encodes, what its levels become, or the ends of its range."""
    return [
        list(column.values) if column.values is not None else [*map(nearest, space.features[column.feature].bounds())]
        for column in space.columns
    ]
