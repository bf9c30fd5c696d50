"""The real steps of a pipeline, run on rows of the space beside what is said about them.

In:  a space, the steps before the model, and the names of the raw columns that the pipeline was fitted on.
Out: the columns that the model sees, each as a function of one feature; the stage that it is given; what stands for a
     missing value.
Promise: every column of a number was compared with the real step's, bit for bit, on all the rows of `probes`, after
every step; every column of levels was read off the real steps' output, and so was what a sparse matrix stores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mace.base.exact import nearest
from mace.base.suggestions import among
from mace.compilers.containers import Stage, column_of, matrix_of
from mace.compilers.deployed import quiet
from mace.compilers.library import Intake, is_a
from mace.compilers.pipeline.rows import NAN, encoded_frame, frame_of, marker_of, probes
from mace.compilers.pipeline.steps import At, Traced, handler, is_pipeline
from mace.compilers.recoding import Recoding
from mace.compilers.sklearn.common import DAMAGE
from mace.errors import ModelError, UnreadableError
from mace.space.columns import Column, Floats, Step
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Route:
    """What a walk follows.

    steps:  with their names; the last may be a model's own numbering of categories.
    names:  the raw columns, in the model's order; None if it was fitted on an array without names.
    types:  the features that it is given as columns of pandas' type `category`, or `object`.
    what:   "pipeline" or "model", for messages.
    intake: how the last model's library reads what it is given.
    encoded: the first step is given what `Space.encode` makes, and `names` are columns of that.
    side_by_side: the last step gives the columns of several models, beside each other.
    """

    space: Space
    steps: Sequence[tuple[str, Any]]
    names: tuple[str, ...] | None
    types: Mapping[str, str]
    what: str
    intake: Intake
    encoded: bool = False
    side_by_side: bool = False


class Walk:
    """The real steps, run on rows that hold every level and many numbers, beside what is said about them."""

    def __init__(self, route: Route, critical: Mapping[int, Sequence[float]] | None = None) -> None:
        self.route = route
        self.space, self.steps, self.names = route.space, route.steps, route.names
        self.types, self.what = route.types, route.what
        self.markers: dict[str, object] = {}
        self.rows = probes(self.space, critical or {})
        self.numbers = {
            j: np.array([float(row[f.name]) for row in self.rows])
            for j, f in enumerate(self.space.features) if f.numeric
        }  # fmt: skip
        self.given = self._raw()

    def _raw(self) -> list[Traced | None]:
        """The columns that the first step is given; None for one that the space does not have."""
        if self.route.encoded:
            known = {c.name: Traced(c.feature, c.name, c.values is None) for c in self.space.columns}
        else:
            known = {f.name: Traced(j, f.name, f.numeric) for j, f in enumerate(self.space.features)}
        return [known.get(name) for name in (known if self.names is None else self.names)]

    def columns(self) -> tuple[tuple[Column, ...], Stage]:
        """The columns of the last step, without what missing values become, and what the library is given."""
        data, traced = self._data(self.rows), self.given
        stage = Stage.of(data, f"the {self.what}")
        for name, step in self.steps:
            data, traced = self._through(name, step, data, traced)
            if not isinstance(step, Recoding):  # done inside the library
                stage = Stage.of(data, _named(name, step))
        present = [self._needed(column, order) for order, column in enumerate(traced)]
        matrix = self._matrix(data, present)
        found = []
        for place, (column, name) in enumerate(zip(present, self._column_names(present), strict=True)):
            seen = matrix[:, place]
            found.append(self._of_number(column, name, seen) if column.numeric else self._of_levels(column, name, seen))
        return tuple(found), stage

    def _of_number(self, traced: Traced, name: str, seen: Floats) -> Column:
        feature = self.space.features[traced.feature]
        lower, upper = map(nearest, feature.bounds())
        ends = traced.column(name).of_many(np.array([lower, upper]))
        if not np.isfinite(ends).all():
            raise ModelError(
                f"over the range {feature.lower}..{feature.upper} of `{feature.name}` the {self.what}'s column "
                f"`{name}` runs from {ends[0]} to {ends[1]}",
                hint="Narrow the range in the space.",
            )
        made = traced.column(name, absent_is_missing=self.route.intake.absent == "missing")
        said = made.of_many(self.numbers[traced.feature])
        if not np.array_equal(said, seen, equal_nan=True):
            odd = int(np.flatnonzero(np.isnan(said) != np.isnan(seen))[0])
            raise ModelError(
                f"the {self.what}'s column `{name}` at {feature.name} = {self.numbers[traced.feature][odd]!r}: whether "
                "the sparse matrix stores it was not followed",
                hint="Give the model a dense matrix: sparse_threshold=0, sparse_output=False.",
            )
        return made

    def _of_levels(self, traced: Traced, name: str, seen: Floats) -> Column:
        feature = self.space.features[traced.feature]
        values = seen[: sum(level is not None for level in feature.levels)]
        if not np.array_equal(seen, np.resize(values, len(seen)), equal_nan=True):
            raise ModelError(f"the {self.what}'s column `{name}` is not a function of `{feature.name}` alone")
        return Column(name, traced.feature, tuple(values.tolist()))

    def with_missing(
        self, predict: Callable[[pd.DataFrame], Any] | None, columns: tuple[Column, ...]
    ) -> tuple[Column, ...]:
        """The columns with what a missing value becomes, where the deployed model takes it.

        predict: the model's own; None where its library, which takes any such value, is not installed.
        """
        for j, feature in enumerate(self.space.features):
            if not feature.missing or not any(column is not None and column.feature == j for column in self.given):
                continue
            rows = [{**self.rows[0], feature.name: None}]
            data = self._data(rows)
            try:
                with quiet():
                    if predict is not None:
                        predict(self._frame(rows))
                    for _, step in self.steps:
                        data = data if passes_on(step) else step.transform(data)
                matrix = matrix_of(data, self.route.intake)
            except DAMAGE:
                continue  # The columns stay without it, and a row that needs it is told so.
            columns = tuple(
                column if column.feature != j
                else replace(column, missing=float(matrix[0, place])) if column.values is None
                else replace(column, values=(*column.values, float(matrix[0, place])))
                for place, column in enumerate(columns)
            )  # fmt: skip
        return columns

    def _frame(self, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        if self.route.encoded:
            return encoded_frame(self.space, rows, self.names)
        return frame_of(self.space, rows, self.names, self.markers, self.types)

    def _data(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        return self._frame(rows) if self.names is not None else self._frame(rows).to_numpy()

    def _needed(self, column: Traced | None, place: int) -> Traced:
        if column is None:
            name = self.names[place] if self.names is not None else place
            raise ModelError(
                f"the {self.what} reads the column `{name}`, which the space does not have",
                hint=among(name, self.space.names, "The space"),
            )
        return column

    def _column_names(self, columns: Sequence[Traced]) -> list[str]:
        """The library's own names, or else those of the features; each one once."""
        names: Any = None if self.names is None else list(self.names)
        try:
            for _, step in self.steps:
                names = names if passes_on(step) else step.get_feature_names_out(names)
        except (ValueError, AttributeError, TypeError):
            names = None
        if names is None or len(names) != len(columns):
            names = [column.name for column in columns]
        out: list[str] = []
        for name in map(str, names):
            count = 1
            while (unique := name if count == 1 else f"{name}_{count}") in out:
                count += 1
            out.append(unique)
        return out

    # ------------------------------------------------------------------ one step

    def _through(
        self, name: str, step: Any, data: Any, columns: Sequence[Traced | None]
    ) -> tuple[Any, list[Traced | None]]:
        """What leaves a step: the real step's matrix, and what is said about its columns; compared here."""
        if passes_on(step):
            return data, list(columns)
        if is_pipeline(step):
            for inner, part in step.steps:
                data, columns = self._through(f"{name}__{inner}", part, data, columns)
            return data, list(columns)
        try:
            parts = self._parts(name, step, data, columns)
        except DAMAGE as error:  # Its attributes are not those that `fit` leaves: of other lengths or types, or absent.
            reason = f"{type(error).__name__}: {error}"
            raise ModelError(
                f"the step `{name}` of the pipeline cannot be followed ({reason})", hint="Fit it again."
            ) from error
        if self.route.side_by_side and step is self.steps[-1][1]:
            self._refuse_mixed({sparse for sparse, _ in parts})
        after = self._transform(name, step, data)
        sparse = hasattr(after, "tocsr")
        out = [column.inside(sparse=sparse, before=before) for before, made in parts for column in made]
        self._compare(name, step, out, after)
        return after, list(out)

    def _parts(
        self, name: str, step: Any, data: Any, columns: Sequence[Traced | None]
    ) -> list[tuple[bool, list[Traced]]]:
        """The columns that a step gives, or each of its parts, and whether they come from a sparse matrix."""
        weights = getattr(step, "transformer_weights", None) or {}
        if any(not weight > 0 for weight in weights.values()):
            raise ModelError(f"the step `{name}` ({type(step).__name__}) has weights that are not above zero")
        if is_a(step, "sklearn.compose.ColumnTransformer"):
            chosen = [
                (inner, part, _selected(step, data, places), places)
                for inner, part, _ in step.transformers_
                if len(places := step._transformer_to_input_indices.get(inner, []))
            ]
        elif is_a(step, "sklearn.pipeline.FeatureUnion"):
            chosen = [(inner, part, data, range(len(columns))) for inner, part in step.transformer_list]
        else:
            does, sparse = handler(step, name), hasattr(data, "tocsr")
            present = [self._needed(column, place) for place, column in enumerate(columns)]
            self._note_markers(step, present)
            return [(sparse, does(At(name, step, present, sparse)))]
        out = []
        for inner, part, given, places in chosen:
            if isinstance(part, str) and part == "drop":
                continue
            mine = [self._needed(columns[place], place) for place in places]
            after, made = self._through(f"{name}__{inner}", part, given, mine)
            by: list[Step] = [("mul", float(weights[inner]))] if inner in weights else []
            out.append((hasattr(after, "tocsr"), [column.then(*by) for column in made if column is not None]))
        return out

    def _refuse_mixed(self, sparse: set[bool]) -> None:
        """Refuse models side by side of which some are given sparse matrices, where that makes a difference."""
        if len(sparse) > 1 and self.route.intake != replace(self.route.intake, absent="zero", sparse=None):
            raise UnreadableError(
                "some of the models that are averaged are given sparse matrices and others are not, which is not "
                "supported",
                hint="Give them all dense ones: sparse_threshold=0, sparse_output=False.",
            )

    def _note_markers(self, step: Any, columns: Sequence[Traced]) -> None:
        """What stands for a missing value: NaN, unless the step was told or trained otherwise."""
        for place, column in enumerate(columns):
            marker = marker_of(step, place)
            if marker is not NAN:
                self.markers[column.name] = marker

    def _transform(self, name: str, step: Any, data: Any) -> Any:
        try:
            with quiet():
                return step.transform(data)
        except (ValueError, TypeError, KeyError) as error:
            place = self._culprit(step, data)
            raise ModelError(
                f"the step `{name}` ({type(step).__name__}) of the {self.what} does not take {place}: {error}",
                hint=f"The space may only have levels and ranges that the {self.what} takes.",
            ) from error
        except AttributeError as error:
            raise ModelError(f"the step `{name}` ({type(step).__name__}) is not fitted, or damaged: {error}") from error

    def _culprit(self, step: Any, data: Any) -> str:
        """The first value that a step does not take, in words."""
        for number, row in enumerate(self.rows):
            try:
                with quiet():
                    step.transform(data[number : number + 1])
            except (ValueError, TypeError, KeyError):
                return "the row " + ", ".join(f"{key}={value!r}" for key, value in row.items())
        return "these rows"

    def _compare(self, name: str, step: Any, columns: Sequence[Traced], data: Any) -> None:
        stage = Stage.of(data, _named(name, step))
        if len(stage.dtypes) != len(columns):
            raise ModelError(f"{_named(name, step)} gives {len(stage.dtypes)} columns, expected were {len(columns)}")
        for place, column in enumerate(columns):
            if not column.numeric:
                continue
            if stage.dtypes[place] == "float32":
                raise ModelError(
                    f"{_named(name, step)} gives `{column.name}` in float32, which is not supported",
                    hint="Leave its dtype at float64, and fit it on float64 columns.",
                )
            said = column.column(column.name).of_many(self.numbers[column.feature])
            real = column_of(data, place)
            if not np.array_equal(said, real, equal_nan=True):
                odd = int(np.flatnonzero(~((said == real) | (np.isnan(said) & np.isnan(real))))[0])
                raise ModelError(
                    f"{_named(name, step)} makes {real[odd]!r} of "
                    f"{column.name} = {self.numbers[column.feature][odd]!r}, where {said[odd]!r} was computed",
                    hint="Fit it on float64 columns; a step in float32 is not supported.",
                )

    def _matrix(self, data: Any, columns: Sequence[Traced]) -> Floats:
        """What the model sees, shape (rows, columns)."""
        try:
            return matrix_of(data, self.route.intake)
        except (ValueError, TypeError):
            for place, column in enumerate(columns):
                try:
                    column_of(data, place)
                except (ValueError, TypeError):
                    raise ModelError(
                        f"`{column.name}` reaches the model as text", hint="Encode it in the pipeline, or drop it."
                    ) from None
            raise


def _named(name: str, step: Any) -> str:
    return f"the step `{name}` ({type(step).__name__})"


def passes_on(step: Any) -> bool:
    """Whether a step is the word "passthrough"."""
    return step is None or isinstance(step, str) and step == "passthrough"


def _selected(step: Any, data: Any, places: Any) -> Any:
    """The columns of one part of a ColumnTransformer; by name, because a frame need not have the unused ones."""
    if hasattr(data, "iloc"):
        names = getattr(step, "feature_names_in_", None)
        return data.iloc[:, places] if names is None else data[[n for n in names[list(places)] if n in data.columns]]
    return data[:, places]
