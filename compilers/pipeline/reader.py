"""Read a model over raw columns: a scikit-learn Pipeline, or a booster that codes categories by itself.

In:  a fitted Pipeline (nested ones, ColumnTransformer and FeatureUnion too) whose last step is a class that `read`
     knows, or a booster fitted on a frame with categories; a space whose features are the raw columns it was fitted on.
Out: `compile_raw`: the last step's table, the columns that it sees as functions of one feature each, and a way to
     hand rows of the space to the model; `compile_pipeline`: the same for pipelines only.
Promise: for a feature with levels the columns are what the real steps gave for each level. For a number they are a
chain of float64 operations, compared bit for bit with what the real steps gave at some hundred numbers of its range;
any difference is a ModelError. Trees come out over the raw numbers (`thresholds.py`), exactly.
What the model cannot take as missing is left out of the columns: a row that needs it is a RowError (`usable_axes`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.cache import FieldsAlone
from mace.base.exact import exact, nearest
from mace.compilers import adversarial
from mace.compilers.adversarial import OfFeature
from mace.compilers.categories import on_thresholds
from mace.compilers.containers import as_given
from mace.compilers.crosscheck import LACKING, Rows, cross_check
from mace.compilers.deployed import Deployed, decide, names_of, quiet
from mace.compilers.library import Intake, is_a
from mace.compilers.pipeline.additive import MOST_VALUES, additive
from mace.compilers.pipeline.filled import with_missing_above
from mace.compilers.pipeline.missing import without_nan
from mace.compilers.pipeline.products import PRODUCTS, multiplied
from mace.compilers.pipeline.rows import encoded_frame, frame_of, takes_features, told_apart
from mace.compilers.pipeline.thresholds import on_raw_numbers, places_of
from mace.compilers.pipeline.walk import Route, Walk, passes_on
from mace.compilers.reading import read_chain
from mace.compilers.recoding import Recoding
from mace.compilers.registry import (
    Chain,
    chain_of,
    deployed,
    given_rows,
    intake_of,
    library_of,
    over_features,
    spelling,
    step_of,
    types_of,
)  # fmt: skip
from mace.errors import ModelError, UnreadableError
from mace.space.columns import Column, Step
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Ensemble, Network, Table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class CompiledPipeline(FieldsAlone):
    """A model over raw columns as a table over columns, and the deployed model itself.

    names:      the raw columns it is given, in its own order; None if it was fitted on an array without names.
    markers:    per feature, what stands for a missing value in its column (NaN where absent).
    types:      the features that it is given as columns of pandas' type `category`, or `object`.
    encoded:    whether it is given what `Space.encode` makes of rows; `names` are columns of that.
    assumed:    what nobody says of the columns that it was fitted on, and was taken for granted.
    """

    pipeline: Any
    space: Space
    table: Table
    columns: tuple[Column, ...]
    names: tuple[str, ...] | None
    markers: Mapping[str, object]
    types: Mapping[str, str] = field(default_factory=dict)
    encoded: bool = False
    assumed: str = ""

    def frame(self, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        """Rows of the space, with None for what is missing, as the raw frame that the model takes.

        Numbers are float64 (integers int64 where none may be missing); levels keep their own type.
        """
        if self.encoded:
            return encoded_frame(self.space, rows, self.names)
        return frame_of(self.space, rows, self.names, self.markers, self.types)

    def row(self, values: Mapping[str, Any]) -> NDArray[np.float64]:
        """A row of the space as the table's columns; shape (columns,)."""
        out = []
        level: dict[int, int] = {}  # of a feature: it may have a column for each of thousands
        for column in self.columns:
            feature = self.space.features[column.feature]
            value = values[feature.name]
            if column.values is not None:
                if column.feature not in level:
                    level[column.feature] = feature.levels.index(value)
                out.append(column.values[level[column.feature]])
            else:
                out.append(
                    column.of(column.given(exact(value)))
                    if value is not None
                    else float("nan" if column.missing is None else column.missing)
                )
        return np.array(out, dtype=np.float64)

    @cached_property
    def deployed(self) -> Deployed:
        """The model's own `predict`, for frames as `frame` makes them."""
        own = deployed(self.pipeline, raw="array" if self.names is None else "frame")
        own = replace(own, assumed=self.assumed) if self.assumed and not own.assumed else own
        return replace(own, predict=self._emulated) if own.note else own

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """The deployed model's own decisions for a frame; shape (rows,)."""
        return self.deployed.predict(frame)

    def _emulated(self, frame: pd.DataFrame) -> NDArray[Any]:
        """The table's decisions, for a file whose library is not installed."""
        held = frame.astype(object).where(frame.notna(), None)
        rows = [dict(zip(held.columns, row, strict=True)) for row in held.to_numpy().tolist()]
        return np.array([decide(self.table, self.row(row)) for row in rows])


def compile_raw(model: Any, space: Space) -> CompiledPipeline | None:
    """A model over the space's raw columns; None for one that takes what the space encodes.

    Raises ModelError as `compile_pipeline`.
    """
    if not over_features(model, space):
        return None
    chain = chain_of(model)
    if chain.steps is not None:
        return compile_pipeline(model, space)
    step = step_of(model)
    if isinstance(step, Recoding):
        step = step.on(space)
    return _compile(model, chain, step, space)


def compile_pipeline(pipeline: Any, space: Space) -> CompiledPipeline:
    """See the module's docstring; also for a model that has a pipeline inside."""
    chain = chain_of(pipeline)
    if isinstance(chain.final, str) or chain.final is None:
        raise ModelError("the pipeline ends in a step that is not a model", hint="Give the pipeline with its model.")
    return _compile(pipeline, chain, step_of(chain.final), space)


def columns_of_steps(steps: Sequence[Any], behind: Sequence[Any], space: Space) -> tuple[Column, ...]:
    """The columns of a space's raw rows after steps, each a function of one feature; without missing values.

    behind: what is given them, which may know the names of the raw columns where there are no steps.
    Raises ModelError for a step that is not supported, and for steps that do not fit the space.
    """
    named = [(f"{type(step).__name__.lower()}{place or ''}", step) for place, step in enumerate(steps)]
    what = "pipeline" if steps else "model"
    names, encoded = _names(what, [*steps, *behind], behind[-1], None, space)
    return Walk(Route(space, named, names, {}, what, Intake(), encoded)).columns()[0]


def _compile(model: Any, chain: Chain, coding: Any, space: Space) -> CompiledPipeline:
    """coding: how the final model numbers categories before its trees see them; None if it does not."""
    table, steps = read_chain(chain), [step for _, step in _steps_of(chain)]
    what = "model" if chain.steps is None else "pipeline"
    names, encoded = _names(what, [*steps, *chain.mixing], chain.final, coding, space)
    given = Given(space, names, encoded)
    if encoded or chain.steps is None or coding is not None or not _either(names, space):
        return _compiled(model, chain, table, coding, given)
    own = deployed(model, raw="array" if names is None else "frame")
    types = types_of(chain.final, None, space, behind=True)
    with quiet():
        refused = not own.note and takes_features(own.predict, space, names, types) is False
    if refused:
        try:
            return _compiled(model, chain, table, None, given._replace(encoded=True))
        except UnreadableError:
            raise
        except ModelError:  # it takes neither, and what it says of the features says more
            pass
    return replace(_compiled(model, chain, table, None, given), assumed=_assumed(names, space))


def _steps_of(chain: Chain) -> list[tuple[str, Any]]:
    """The steps of a pipeline that do anything, by name."""
    return [(name, step) for name, step in chain.steps or () if not passes_on(step)]


class Given(NamedTuple):
    """What a model is given: the space's features by these names, or what the space encodes of them."""

    space: Space
    names: tuple[str, ...] | None
    encoded: bool


def _compiled(model: Any, chain: Chain, table: Table, coding: Any, given: Given) -> CompiledPipeline:
    """The model as it is read over what it is given; table: its last step's."""
    (space, names, encoded), final, steps = given, chain.final, _steps_of(chain)
    piped, what = chain.steps is not None, "model" if chain.steps is None else "pipeline"
    if coding is not None:
        steps = [*steps, ("categories", coding)]
    types = {} if encoded else types_of(final, coding, space, behind=piped)
    library = library_of(final)
    products = None if library is None else library.products(final)
    if products is None and coding is None and not chain.mixing and steps and is_a(steps[-1][1], PRODUCTS):
        products = [np.repeat(np.arange(len(row)), row).tolist() for row in steps.pop()[1].powers_]
    route = Route(space, steps, names, types, what, intake_of(final), encoded, side_by_side=chain.side_by_side)
    walk = Walk(route)
    columns, stage = walk.columns()
    if products is not None:
        table = multiplied(table, products, columns, space.features)
    if isinstance(table, (Ensemble, Network)) and table.columns != len(columns):
        raise ModelError(f"{table.name} takes {table.columns} columns, the steps before it give {len(columns)}")
    own = deployed(model, raw="array" if names is None else "frame")
    columns = walk.with_missing(None if own.note else own.predict, columns)
    _compare_at(route, places_of(columns, space.features))
    table, columns = as_given(table, route.intake, stage, columns, space.features)
    table, columns = _on_raw_numbers(route, table, columns)
    compiled = CompiledPipeline(model, space, table, columns, names, walk.markers, types, encoded)
    check_against_library(compiled)
    return compiled


def _on_raw_numbers(route: Route, table: Table, columns: tuple[Column, ...]) -> tuple[Table, tuple[Column, ...]]:
    """The table and its columns as provers take them: trees over raw numbers, arithmetic before networks."""
    features = route.space.features
    if isinstance(table, Network):
        columns = tuple(_for_network(column, features[column.feature]) for column in columns)
        made = additive(table, columns, features)
        if made is None:
            return table, columns
        return without_nan(*with_missing_above(*made, features), features)
    if not isinstance(table, Ensemble):
        raise ModelError(f"a pipeline may not end in {table.name}")
    table = on_thresholds(table, columns, features)
    raw, columns = on_raw_numbers(table, columns, features)
    if raw is not table:
        cuts = [(c.feature, tree.threshold[tree.column == k]) for tree in raw.trees for k, c in enumerate(columns)]
        _compare_at(route, [(j, float(cut)) for j, found in cuts for cut in found.tolist()])
    return without_nan(*with_missing_above(raw, columns, features), features)


def _names(what: str, steps: list[Any], final: Any, coding: Any, space: Space) -> tuple[tuple[str, ...] | None, bool]:
    """The columns that the model was fitted on, as the space spells them, and whether they are those that it encodes.

    None for the names if it was fitted without any.

    what: "pipeline" or "model", for messages.
    """
    # How a model numbers categories is no step of its own: both are given the same columns.
    first = [step for step in steps[:1] if not _idle(step)] or [*given_rows(final), coding]
    given, spelled = next((found for part in first if (found := _raw_names(part))[0] is not None), (None, str))
    if given is None:
        parts = [*steps, *first, final]
        count = next((n for part in parts if isinstance(n := getattr(part, "n_features_in_", None), int)), None)
        if count == len(space.features):
            return None, False
        if coding is None and count == len(space.columns):
            return None, True
        raise ModelError(
            f"the {what} was fitted on {count} columns without names, not on {len(space.features)} features"
            + (f", nor on the {len(space.columns)} columns that the space encodes" if coding is None else ""),
            hint="Fit it on a frame with named columns.",
        )
    encoded = {spelled(column.name): column.name for column in space.columns}
    if coding is None and set(given) <= set(encoded) and not set(given) <= set(map(spelled, space.names)):
        return tuple(encoded[name] for name in given), True
    known = {spelled(name): name for name in space.names}
    names = tuple(known.get(name, name) for name in given)
    if not set(names) & set(space.names):
        raise ModelError(
            f"the {what} was fitted on other columns (for instance `{names[0]}`) than the space's features",
            hint=f"Fit it on the raw frame; the space has: {', '.join(space.names)}.",
        )
    return names, False


def _either(names: tuple[str, ...] | None, space: Space) -> bool:
    """Whether columns with these names, or without any, may be the features and what the space encodes of them."""
    columns = {column.name for column in space.columns}
    return len(space.columns) == len(space.features) if names is None else set(names) <= columns


def _assumed(names: tuple[str, ...] | None, space: Space) -> str:
    """What is taken for granted of a pipeline that was fitted on such columns; nothing where its texts tell."""
    known = [f for f in told_apart(space) if f.encoding != "as-is" and (names is None or f.name in names)]
    if not known or any(isinstance(level, str) for feature in known for level in feature.levels):
        return ""
    said = ", ".join(f"`{feature.name}`" for feature in known)
    return f"the pipeline is given the levels of {said} as they are, and not what the space encodes of them"


def _idle(step: Any) -> bool:
    """Whether a step hands on what it is given: the word "passthrough", or nothing but such words inside."""
    parts = [*getattr(step, "steps", ()), *getattr(step, "transformer_list", ())]
    return all(_idle(part) for _, part in parts) if parts else passes_on(step)


def _raw_names(part: Any) -> tuple[tuple[str, ...] | None, Callable[[str], str]]:
    """The names that a part was given, and how it spells them; of nested ones those of the first that knows them."""
    inside = [step for _, step in getattr(part, "steps", ()) if not passes_on(step)][:1]
    inside += [step for _, step in getattr(part, "transformer_list", ())]
    for step in inside:
        found, spelled = _raw_names(step)
        if found is not None:
            return found, spelled
    return names_of(part), spelling(part)


def _for_network(column: Column, feature: Feature) -> Column:
    """A column that networks can take: arithmetic, or a table over bins or over the values of an integer."""
    if column.values is not None or column.is_affine:
        return column
    lower, upper = feature.bounds()
    chain: list[Step] = []
    for step in column.chain:
        if step[0] == "clip":
            before = Column(column.name, column.feature, None, tuple(chain))
            if before.of(nearest(lower)) >= step[1][0] and before.of(nearest(upper)) <= step[1][1]:
                continue  # Nothing in the range is clipped.
        chain.append(step)
    column = replace(column, chain=tuple(chain))
    if column.is_affine or column.chain[-1][0] == "steps":
        return column
    if feature.kind == "integer" and upper - lower < MOST_VALUES:
        numbers = np.arange(int(lower), int(upper) + 1, dtype=np.float64)
        values = column.of_many(numbers)
        return replace(column, chain=(("steps", (tuple(numbers[1:].tolist()), tuple(values.tolist()))),))
    odd = next(step[0] for step in column.chain if step[0] in ("log", "log1p", "sqrt", "clip", "power", "quantile"))
    raise UnreadableError(
        f"column `{column.name}`: `{odd}` of a real number before a network or a linear model is not supported",
        hint="Bin the number (KBinsDiscretizer), declare it as an integer, or use trees.",
    )


def _compare_at(route: Route, places: Sequence[tuple[int, float]]) -> None:
    """Run the real steps again on both sides of the numbers where a test or a bin changes: (feature, number) each."""
    critical: dict[int, set[float]] = {}
    for j, number in places:
        feature = route.space.features[j]
        if not feature.numeric or not math.isfinite(number):
            continue
        low, high = feature.bounds()
        sides = [math.nextafter(number, -math.inf), number, math.nextafter(number, math.inf)]
        if feature.kind == "integer":
            sides = [math.floor(number), math.floor(number) + 1]
        critical.setdefault(j, set()).update(side for side in sides if low <= side <= high)
    if any(critical.values()):
        Walk(route, {j: sorted(numbers) for j, numbers in critical.items()}).columns()


def check_against_library(compiled: CompiledPipeline) -> None:
    """Compare table and deployed model on rows that are made to tell them apart, missing values included."""
    table, space = compiled.table, compiled.space
    assert isinstance(table, (Ensemble, Network))
    if compiled.deployed.note:  # Without its library there is nothing to compare with.
        return
    features = space.features
    found = adversarial.rows(table, compiled.columns, [OfFeature(feature) for feature in features])
    taken = [
        j for j, feature in enumerate(features) if feature.missing
        and all(_takes_missing(column, feature) for column in compiled.columns if column.feature == j)
    ]  # fmt: skip
    lacking = [row.copy() for row in found[:LACKING]] if taken else []
    for number, row in enumerate(lacking):
        row[taken[number % len(taken)]] = None

    def given(rows: Sequence[Sequence[Any]]) -> Rows:
        named = [dict(zip(space.names, row, strict=True)) for row in rows]
        matrix = np.array([compiled.row(row) for row in named]).reshape(len(named), table.columns)
        return Rows(matrix, lambda places: compiled.frame([named[k] for k in places]), lambda place: named[place])

    cross_check(table, compiled.deployed, given(found), given(lacking))


def _takes_missing(column: Column, feature: Feature) -> bool:
    return column.missing is not None if column.values is None else len(column.values) == len(feature.levels)
