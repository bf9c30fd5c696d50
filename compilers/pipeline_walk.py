"""The real steps of a pipeline, run on rows of the space beside what is said about them.

In:  a space, the steps before the model, and the names of the raw columns that the pipeline was fitted on.
Out: the columns that the model sees, each as a function of one feature; what stands for a missing value.
Promise: every column of a number was compared with the real step's, bit for bit, on all the rows of `probes`, after
every step; every column of levels was read off the real steps' output.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mace.columns import Column
from mace.compilers.pipeline_steps import At, Traced, handler, is_a
from mace.errors import ModelError
from mace.exact import nearest
from mace.space import Feature, Space

if TYPE_CHECKING:
    import pandas as pd

ROWS = 400  # rows on which the real steps are compared with what is said about them


def is_pipeline(model: object) -> bool:
    """Whether a model is a scikit-learn Pipeline; imports nothing."""
    return is_a(model, "sklearn.pipeline.Pipeline")


def frame_of(
    space: Space,
    rows: Sequence[Mapping[str, Any]],
    names: Sequence[str] | None,
    markers: Mapping[str, object],
    types: Mapping[str, str],
) -> pd.DataFrame:
    """Rows of the space as the raw frame that a pipeline takes; see `CompiledPipeline.frame`."""
    import pandas as pd

    features = [f for f in space.features if names is None] or [space[n] for n in names or () if n in space.names]
    return pd.DataFrame(
        {
            f.name: _series(f, [row[f.name] for row in rows], markers.get(f.name, float("nan")), types.get(f.name))
            for f in features
        }
    )


def _series(feature: Feature, values: list[Any], marker: object, kind: str | None) -> pd.Series[Any]:
    import pandas as pd

    if kind is not None and kind != "object":
        known = pd.Index([level for level in feature.levels if level is not None])
        return pd.Series(pd.Categorical(values, known if kind == "category" else known.astype(kind)))
    # By what may be missing, not by what is: a column that had gaps when the pipeline was fitted was float64 then.
    absent = feature.missing
    if feature.numeric:
        if feature.kind == "integer" and not absent and all(abs(value) < 2**63 for value in values):
            return pd.Series(values, dtype=np.int64)
        return pd.Series([float("nan") if value is None else float(value) for value in values], dtype=np.float64)
    kinds = {type(level) for level in feature.levels if level is not None} if kind is None else {str}
    if kinds == {bool} and not absent:
        return pd.Series(values, dtype=np.bool_)
    if kinds == {int} and not absent:
        return pd.Series(values, dtype=np.int64)
    if kinds <= {int, float} and marker != marker:
        return pd.Series([marker if value is None else float(value) for value in values], dtype=np.float64)
    return pd.Series([marker if value is None else value for value in values], dtype=object)


@contextmanager
def quiet() -> Iterator[None]:
    """Without the library's warnings: rows are tried here that nobody asked about."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


class Walk:
    """The real steps, run on rows that hold every level and many numbers, beside what is said about them."""

    def __init__(
        self,
        space: Space,
        steps: list[tuple[str, Any]],
        names: tuple[str, ...] | None,
        types: Mapping[str, str],
        what: str = "pipeline",
        critical: Mapping[int, Sequence[float]] | None = None,
    ) -> None:
        self.space, self.steps, self.names = space, steps, names
        self.types, self.what = types, what
        self.markers: dict[str, object] = {}
        self.rows = probes(space, critical or {})
        self.numbers = {
            j: np.array([float(row[f.name]) for row in self.rows]) for j, f in enumerate(space.features) if f.numeric
        }
        order = space.names if names is None else names
        place = {name: j for j, name in enumerate(space.names)}
        self.given: list[Traced | None] = [
            Traced(place[name], name, space[name].numeric) if name in place else None for name in order
        ]

    def columns(self) -> tuple[Column, ...]:
        """The columns of the last step, without what missing values become."""
        data = self._data(self.rows)
        traced = self.given
        for name, step in self.steps:
            data, traced = self._through(name, step, data, traced)
        present = [self._needed(column, order) for order, column in enumerate(traced)]
        matrix = _matrix(data, present)
        found = []
        for place, (column, name) in enumerate(zip(present, self._column_names(present), strict=True)):
            feature = self.space.features[column.feature]
            if column.numeric:
                made = Column(name, column.feature, None, column.chain)
                lower, upper = map(nearest, feature.bounds())
                ends = made.of_many(np.array([lower, upper]))
                if not np.isfinite(ends).all():
                    raise ModelError(
                        f"over the range {feature.lower}..{feature.upper} of `{feature.name}` the {self.what}'s column "
                        f"`{name}` runs from {ends[0]} to {ends[1]}",
                        hint="Narrow the range in the space.",
                    )
                found.append(made)
            else:
                levels = [level for level in feature.levels if level is not None]
                values = matrix[: len(levels), place]
                if not np.array_equal(matrix[:, place], np.resize(values, len(matrix)), equal_nan=True):
                    raise ModelError(f"the {self.what}'s column `{name}` is not a function of `{feature.name}` alone")
                found.append(Column(name, column.feature, tuple(values.tolist())))
        return tuple(found)

    def with_missing(
        self, predict: Callable[[pd.DataFrame], Any] | None, columns: tuple[Column, ...]
    ) -> tuple[Column, ...]:
        """The columns with what a missing value becomes, where the deployed model takes it.

        predict: the model's own; None where its library, which takes any such value, is not installed.
        """
        for j, feature in enumerate(self.space.features):
            if not feature.missing or (self.names is not None and feature.name not in self.names):
                continue
            rows = [{**self.rows[0], feature.name: None}]
            data = self._data(rows)
            try:
                with quiet():
                    if predict is not None:
                        predict(self._frame(rows))
                    for _, step in self.steps:
                        data = data if passes_on(step) else step.transform(data)
                matrix = _dense(data)
            except (ValueError, TypeError):
                continue  # The columns stay without it, and a row that needs it is told so.
            columns = tuple(
                column if column.feature != j
                else replace(column, missing=float(matrix[0, place])) if column.values is None
                else replace(column, values=(*column.values, float(matrix[0, place])))
                for place, column in enumerate(columns)
            )  # fmt: skip
        return columns

    def _frame(self, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
        return frame_of(self.space, rows, self.names, self.markers, self.types)

    def _data(self, rows: Sequence[Mapping[str, Any]]) -> Any:
        return self._frame(rows) if self.names is not None else self._frame(rows).to_numpy()

    def _needed(self, column: Traced | None, place: int) -> Traced:
        if column is None:
            name = self.names[place] if self.names is not None else place
            raise ModelError(f"the {self.what} reads the column `{name}`, which the space does not have")
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
        out: list[Traced]
        if is_a(step, "sklearn.compose.ColumnTransformer"):
            out = []
            for inner, part, _ in step.transformers_:
                places = step._transformer_to_input_indices.get(inner, [])
                if len(places) and not (isinstance(part, str) and part == "drop"):
                    out += self._part(f"{name}__{inner}", part, _selected(step, data, places), columns, places)
        elif is_a(step, "sklearn.pipeline.FeatureUnion"):
            out = []
            if getattr(step, "transformer_weights", None):
                raise ModelError(f"the step `{name}` (FeatureUnion) has transformer_weights, which are not supported")
            for inner, part in step.transformer_list:
                if not (isinstance(part, str) and part == "drop"):
                    out += self._part(f"{name}__{inner}", part, data, columns, range(len(columns)))
        else:
            does = handler(step, name)
            present = [self._needed(column, place) for place, column in enumerate(columns)]
            self._note_markers(step, present)
            out = does(At(name, step, present, hasattr(data, "tocsr")))
        after = self._transform(name, step, data)
        self._compare(name, step, out, after)
        return after, list(out)

    def _part(self, name: str, part: Any, data: Any, columns: Sequence[Traced | None], places: Any) -> list[Traced]:
        mine = [self._needed(columns[place], place) for place in places]
        _, out = self._through(name, part, data, mine)
        return [column for column in out if column is not None]

    def _note_markers(self, step: Any, columns: Sequence[Traced]) -> None:
        """What stands for a missing value: NaN, unless the step was told or trained otherwise."""
        for place, column in enumerate(columns):
            marker = getattr(step, "missing_values", 0)
            known = getattr(step, "categories_", None)
            if marker is None or type(marker).__name__ == "NAType":
                self.markers[column.name] = marker
            elif known is not None and any(level is None for level in known[place]):
                self.markers[column.name] = None

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
        if data.shape[1] != len(columns):
            raise ModelError(
                f"the step `{name}` ({type(step).__name__}) gives {data.shape[1]} columns, expected were {len(columns)}"
            )
        for place, column in enumerate(columns):
            if not column.numeric:
                continue
            said = Column(column.name, column.feature, None, column.chain).of_many(self.numbers[column.feature])
            real = _column(data, place)
            if not np.array_equal(said, real, equal_nan=True):
                odd = int(np.flatnonzero(~((said == real) | (np.isnan(said) & np.isnan(real))))[0])
                raise ModelError(
                    f"the step `{name}` ({type(step).__name__}) makes {real[odd]!r} of "
                    f"{column.name} = {self.numbers[column.feature][odd]!r}, where {said[odd]!r} was computed",
                    hint="Fit it on float64 columns; a step in float32 is not supported.",
                )


def passes_on(step: Any) -> bool:
    """Whether a step is the word "passthrough"."""
    return step is None or isinstance(step, str) and step == "passthrough"


def _selected(step: Any, data: Any, places: Any) -> Any:
    """The columns of one part of a ColumnTransformer; by name, because a frame need not have the unused ones."""
    if hasattr(data, "iloc"):
        names = getattr(step, "feature_names_in_", None)
        return data.iloc[:, places] if names is None else data[[n for n in names[list(places)] if n in data.columns]]
    return data[:, places]


def _column(data: Any, place: int) -> NDArray[np.float64]:
    if hasattr(data, "iloc"):
        data = data.iloc[:, place].to_numpy()
    else:
        data = data[:, [place]].toarray().ravel() if hasattr(data, "toarray") else data[:, place]
    return np.asarray(data, dtype=np.float64)


def _dense(data: Any) -> NDArray[np.float64]:
    return np.asarray(data.toarray() if hasattr(data, "toarray") else data, dtype=np.float64)


def _matrix(data: Any, columns: Sequence[Traced]) -> NDArray[np.float64]:
    """What the model sees, shape (rows, columns)."""
    try:
        return _dense(data)
    except (ValueError, TypeError):
        for place, column in enumerate(columns):
            try:
                _column(data, place)
            except (ValueError, TypeError):
                raise ModelError(
                    f"`{column.name}` reaches the model as text", hint="Encode it in the pipeline, or drop it."
                ) from None
        raise


# ---------------------------------------------------------------------------------------------- rows to try


def probes(space: Space, critical: Mapping[int, Sequence[float]]) -> list[dict[str, Any]]:
    """Rows of the space without missing values: every level in turn, ends of ranges and random numbers.

    critical: per feature numbers of its range to try as well.
    """
    rng = np.random.default_rng(0)
    count = max(ROWS, *(2 * len(f.levels) for f in space.features), *map(len, critical.values()), 1)
    values: dict[str, list[Any]] = {}
    for j, feature in enumerate(space.features):
        if not feature.numeric:
            levels = [level for level in feature.levels if level is not None]
            values[feature.name] = [levels[k % len(levels)] for k in range(count)]
            continue
        lower, upper = feature.bounds()
        shares = [Fraction(0), Fraction(1), *(Fraction(x) for x in rng.random(count - 2).tolist())]
        numbers = [lower + (upper - lower) * share for share in shares]
        if feature.kind == "integer":
            values[feature.name] = [int(number) for number in numbers]
        else:
            # Half of them short decimals, where sums and quotients are most often exact.
            low, high = nearest(lower), nearest(upper)
            values[feature.name] = [
                min(max(nearest(x) if k % 2 else float(f"{nearest(x):.3g}"), low), high) for k, x in enumerate(numbers)
            ]
        values[feature.name][: len(critical.get(j, ()))] = critical.get(j, ())
    return [{name: column[k] for name, column in values.items()} for k in range(count)]
