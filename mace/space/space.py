"""What a counterfactual may be: features, the rules between them, and their encoding into the model's columns.

In:  declarations (`Feature`), a frame to infer them from (`Space.from_frame`), or a TOML file (`Space.load`).
Out: the model's matrix (`encode`) and the way back (`decode`); for one row, an `Axis` per feature (`axes`).
Promise: `decode(encode(frame))` is `frame`; every allowed point of the axes encodes to float64 values that are what
the model would be given for that row; a row outside its space is a `RowError` that names column, value and reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.base.arguments import is_frame, spelled, spelled_class
from mace.base.escape import one_line, short
from mace.base.exact import nearest
from mace.base.figures import counted
from mace.base.frames import in_pandas
from mace.base.suggestions import among, few, meant
from mace.base.values import hashed, name_of, no_single, plain
from mace.base.views import view
from mace.errors import RowError, SpaceError
from mace.space.assumed import questions
from mace.space.axes import Axis, Point, index_of
from mace.space.columns import Column
from mace.space.feature import Change, Encoding, Feature, Level, Missing
from mace.space.file import load, save
from mace.space.infer import as_frame, infer

if TYPE_CHECKING:
    import pandas as pd

# Equal values of different types are no equal cells: 1 and True.
Cell: TypeAlias = tuple[type, Any]


class Cells(NamedTuple):
    """The cells of a column, and what each different one reads as."""

    cells: list[Cell]
    read: dict[Cell, Fraction | int | None]


@spelled_class
@dataclass(frozen=True)
class Space:
    """All features in order, and the rules between them (core-language texts, one condition each).

    name:      for messages.
    notes:     what was taken for granted where the space was inferred; `from_frame` writes them.
    decisions: what people call the model's classes, by their text: {"0": "refused", "1": "approved"}.
    file:      that it was read from, rules and all, for messages.
    """

    features: Sequence[Feature]
    rules: Sequence[str] = ()
    name: str = "space"
    notes: Sequence[str] = field(default=(), compare=False)
    decisions: Mapping[str, str] = field(default_factory=dict, compare=False)
    file: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        given: object = self.features
        several = tuple(given) if isinstance(given, Iterable) and not isinstance(given, (str, Mapping)) else None
        if several is None or not all(isinstance(one, Feature) for one in several):
            odd = given if several is None else next(one for one in several if not isinstance(one, Feature))
            raise SpaceError(
                f"a space is made of a list of mace.Feature, got {short(odd)}",
                hint="mace.Space.from_frame(X) infers one from a frame, mace.Space.load(path) reads a file.",
            )
        object.__setattr__(self, "features", several)
        object.__setattr__(self, "rules", (self.rules,) if isinstance(self.rules, str) else tuple(self.rules))
        object.__setattr__(self, "notes", tuple(self.notes))
        object.__setattr__(self, "decisions", _decisions(self.decisions))
        if not self.features:
            raise SpaceError("a space needs at least one feature")
        for what, names in (
            ("feature", [f.name for f in self.features]),
            ("model column", [column for f in self.features for column in f.columns]),
        ):
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise SpaceError(f"the {what} `{min(twice)}` is declared twice")

    def __getitem__(self, name: str) -> Feature:
        for feature in self.features:
            if feature.name == name:
                return feature
        raise SpaceError(f"there is no feature `{name}`", hint=among(name, self.names))

    @property
    def names(self) -> list[str]:
        """The features' names, in order."""
        return [feature.name for feature in self.features]

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(self.names)

    @cached_property
    def _index(self) -> pd.Index[Any]:
        """The names as the index of a row that has no others: to compare one is quicker than to list it."""
        import pandas as pd

        return pd.Index(self._names)

    def called(self, label: object) -> str:
        """What people call a class of the model: by `decisions`, or else its own label."""
        name = name_of(label, self.decisions)
        return str(label) if name is None else name

    def names_of_none(self, classes: Sequence[object] | None) -> list[str]:
        """A note about the names in `decisions` that no class of a model bears; none where all do.

        classes: the model's; none for a model that predicts a number, which may share the space of one that decides;
                 None, and lists, where nobody knows by now.
        """
        if not classes or any(isinstance(label, list) for label in classes):
            return []
        called = [name_of(label, self.decisions) for label in classes]
        left = [label for label, name in self.decisions.items() if name not in called]
        if not left:
            return []
        names, known = few(map(one_line, left)), few(map(one_line, map(str, classes)))
        are = "is no class" if len(left) == 1 else "are no classes"
        return [f"the space's `decisions` name {names}, which {are} of the model: its classes are {known}"]

    def __repr__(self) -> str:
        free = sum(feature.change != "fixed" for feature in self.features)
        rules = f", {counted(len(self.rules), 'rule')}" if self.rules else ""
        return f"Space({self.name!r}, {counted(len(self.features), 'feature')}, {free} may change{rules})"

    def _repr_html_(self) -> str:
        return str(view("space as HTML")(self))

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """The model's columns, in order."""
        found: list[Column] = []
        for index, feature in enumerate(self.features):
            if feature.numeric:
                found.append(Column(feature.columns[0], index, None))
            else:
                found += [
                    Column(name, index, values)
                    for name, values in zip(feature.columns, feature.column_values, strict=True)
                ]
        return tuple(found)

    def change(self, rules: Sequence[str] | None = None, **changes: Change) -> Space:
        """A copy in which the named features may change otherwise: `space.change(age="fixed")`.

        rules: in the place of those of the space; None keeps these. Raises SpaceError for a name that is no feature.
        """
        for name in changes:
            _ = self[name]
        features = [replace(f, change=changes[f.name]) if f.name in changes else f for f in self.features]
        if rules is None:
            return replace(self, features=features)
        return replace(self, features=features, rules=rules, file="")

    def free(self) -> Space:
        """A copy in which every feature may change in any direction and no rule holds."""
        return replace(self, features=[replace(f, change="any") for f in self.features], rules=())

    def filling(self, names: Sequence[str] | None = None) -> Space:
        """A copy in which missing values of these features (None: of all) may be given, where they were kept."""
        chosen = self.names if names is None else names
        features = [
            replace(f, missing="fill") if f.missing == "keep" and f.name in chosen else f for f in self.features
        ]
        return replace(self, features=features)

    def row(self, x: object) -> dict[str, Any]:
        """A Series, a dict or a one-row frame as a dict of this space's features, None for what is missing.

        Raises RowError for a missing column or more than one row; further columns are ignored.
        """
        x = in_pandas(x)
        if is_frame(x):
            if len(x) != 1:
                many = "Use frame.iloc[0]; mace.Explainer(..).explain(frame) answers for all of them."
                raise RowError(f"expected one row, got a frame with {len(x)}", hint=many if len(x) else "")
            x = x.iloc[0]
        if hasattr(x, "iloc") and getattr(x, "ndim", 2) == 1:
            same = self._index.equals(x.index)  # type: ignore[attr-defined]  # then no name is there twice
            if not same and not x.index.is_unique:  # type: ignore[attr-defined]
                twice = [name for name in x.index[x.index.duplicated()] if name in self._names]  # type: ignore[attr-defined]
                if twice:
                    raise RowError(
                        f"the row has several values called `{twice[0]}`", hint="Rename them, or drop all but one."
                    )
            else:
                x = dict(zip(self._names if same else x.index.tolist(), x.tolist(), strict=True))  # type: ignore[attr-defined]
        if isinstance(x, np.ndarray) and x.ndim > 1:
            raise RowError(f"expected one row, got an array of shape {x.shape}", hint="Use array[0].")
        if isinstance(x, (list, tuple)) or isinstance(x, np.ndarray) and x.ndim:
            if len(x) != len(self.features):
                raise RowError(f"expected {len(self.features)} values, one per feature; got {len(x)}")
            x = dict(zip(self.names, x, strict=True))
        if not hasattr(x, "keys"):
            raise RowError(f"expected a row (Series, dict or list of values), got {type(x).__name__}")
        missing = [name for name in self._names if name not in x]  # type: ignore[operator]
        if missing:
            raise RowError(
                f"the row has no column `{missing[0]}`",
                hint=meant(missing[0], map(str, x.keys()), f"The space has {few(self.names)}."),
            )
        return {feature.name: feature.own(_cell(x[feature.name])) for feature in self.features}  # type: ignore[index]

    def axes(self, x: object) -> tuple[Axis, ...]:
        """An axis per feature, starting from the row `x`; raises RowError."""
        row = self.row(x)
        return tuple(feature.axis(row[feature.name]) for feature in self.features)

    def point(self, axes: Sequence[Axis], x: object) -> Point | None:
        """A row as a point of these axes; None where they lack a value. Raises RowError for no row of the space."""
        row = self.row(x)
        found = [index_of(axis, f.read(row[f.name])) for f, axis in zip(self.features, axes, strict=True)]
        return None if None in found else tuple(index for index in found if index is not None)

    def show(self, axes: Sequence[Axis], point: Point) -> dict[str, Any]:
        """A point of these axes (indices, one a feature) as values in the features' own types."""
        return {f.name: f.show(axis, i) for f, axis, i in zip(self.features, axes, point, strict=True)}

    def matrix_row(self, axes: Sequence[Axis], point: Point) -> NDArray[np.float64]:
        """The float64 row that `encode` gives for a point; shape (columns,)."""
        return np.array([c.at(axes[c.feature], point[c.feature]) for c in self.columns], dtype=np.float64)

    def encode(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The model's matrix as a frame of float64 with named columns, one row per row of `frame`.

        Raises RowError naming column and row for anything that is not in the space.
        """
        import pandas as pd

        frame, out = in_pandas(frame), dict[str, Any]()
        for feature, numbers in zip(self.features, self.numbers(frame).T, strict=True):
            if feature.numeric:
                if np.isnan(numbers).any():
                    raise RowError(f"column `{feature.name}` lacks numbers", hint="Only a pipeline may impute them.")
                out[feature.columns[0]] = numbers.copy()
            else:
                for name, table in zip(feature.columns, feature.column_values, strict=True):
                    out[name] = np.asarray((*table, np.nan))[numbers.astype(np.intp)]
        return pd.DataFrame(out, index=frame.index)

    def numbers(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """A frame as floats, shape (rows, features): values (missing: NaN), or levels' indices. Raises RowError."""
        frame = in_pandas(frame)
        self._check_columns(frame)
        values = np.empty((len(frame), len(self.features)))
        for j, feature in enumerate(self.features):
            at_once = feature.numbers(frame[feature.name])
            if at_once is not None:
                values[:, j] = at_once
                continue
            cells, read = _cells(feature, frame)
            floats = {cell: np.nan if it is None else nearest(Fraction(it)) for cell, it in read.items()}
            values[:, j] = [floats[cell] for cell in cells]
        return values

    def read(self, frame: pd.DataFrame) -> list[list[Fraction | int | None]]:
        """Per feature what `Feature.read` makes of its column; raises RowError naming column and row."""
        frame = in_pandas(frame)
        self._check_columns(frame)
        return [[read[cell] for cell in cells] for cells, read in (_cells(feature, frame) for feature in self.features)]

    def _check_columns(self, frame: pd.DataFrame) -> None:
        """Raise RowError for a frame without a feature's column, or with several, and for what is no frame."""
        if not is_frame(frame):
            raise RowError(
                f"expected a frame with the space's columns, got {type(frame).__name__}",
                hint="For instance pandas.DataFrame(rows, columns=space.names).",
            )
        missing = [name for name in self.names if name not in frame.columns]
        if missing:
            raise RowError(
                f"the frame has no column `{missing[0]}`",
                hint=among(missing[0], frame.columns),
            )
        twice = [] if frame.columns.is_unique else [n for n in self.names if (frame.columns == n).sum() > 1]
        if twice:
            raise RowError(
                f"the frame has several columns called `{twice[0]}`", hint="Rename them, or drop all but one."
            )

    def decode(self, matrix: pd.DataFrame | NDArray[np.float64]) -> pd.DataFrame:
        """The way back: rows of the model's matrix, shape (rows, columns), as the features people see.

        Raises RowError for a pattern of columns that no level has.
        """
        import pandas as pd

        values = np.asarray(matrix, dtype=np.float64)
        if values.ndim != 2 or values.shape[1] != len(self.columns):
            raise RowError(f"expected {len(self.columns)} columns, got an array of shape {values.shape}")
        out: dict[str, Any] = {}
        place = 0
        for feature in self.features:
            block = values[:, place : place + len(feature.columns)]
            place += len(feature.columns)
            if feature.numeric:
                column = block[:, 0]
                whole = feature.kind == "integer" and bool((column == np.floor(column)).all())
                out[feature.name] = column.astype(np.int64) if whole else column
                continue
            patterns = {pattern: level for level, pattern in enumerate(zip(*feature.column_values, strict=True))}
            lacks = feature.missing and feature.encoding == "as-is"
            labels: list[Level] = []
            for number, pattern in enumerate(map(tuple, block.tolist())):
                if lacks and pattern[0] != pattern[0]:
                    labels.append(None)
                    continue
                if pattern not in patterns:
                    raise RowError(f"row {number}: the columns of `{feature.name}` hold {pattern}, which no level has")
                labels.append(feature.levels[patterns[pattern]])
            out[feature.name] = labels
        return pd.DataFrame(out, index=getattr(matrix, "index", None))

    @classmethod
    @spelled
    def from_frame(
        cls,
        frame: pd.DataFrame | NDArray[Any],
        *,
        fixed: str | Iterable[str] = (),
        increase: str | Iterable[str] = (),
        decrease: str | Iterable[str] = (),
        step: Mapping[str, Any] | None = None,
        ordinal: Mapping[str, Sequence[Level]] | None = None,
        categorical: str | Iterable[str] = (),
        encoding: Mapping[str, Encoding] | None = None,
        unit: Mapping[str, str] | None = None,
        rules: Sequence[str] = (),
        name: str = "space",
        missing: bool | Missing | Mapping[str, bool | Missing] = "keep",
        decisions: Mapping[Any, str] | None = None,
    ) -> Space:
        """Infer a space from a frame; `space.notes` says what was inferred, a line a feature, and what to check.

        frame:   columns of numbers, texts, truths and categories; those of an array are called x0, x1, ..
        fixed, increase, decrease: columns that may not change, may only grow, may only shrink. All others may change.
        step:    column -> the distance of the values that a number may take, in its unit: {"Income": 100}. Others may
                 be any whole number where all observed ones are whole, else any float64.
        ordinal: column -> its levels from the lowest to the highest: a change is then counted in ranks.
        categorical: columns of numbers that are names of levels, without an order.
        encoding: column -> how its levels become the model's columns, see `Feature`; a pipeline encodes by itself.
        unit:    column -> the unit that answers show: {"Income": "EUR a year"}.
        rules:   conditions between features, as texts in the core language: `Age >= start_Age`.
        name:    of the space, for reports.
        decisions: what people call the model's classes: {0: "refused", 1: "approved"}.
        missing: what may happen to missing values, see `Feature`: one word for all columns that lack values in the
                 frame, or column -> word for any of them (the others: "keep" where they lack values).
        Raises SpaceError for a name that is no column and for columns that cannot be a feature (no values at all).
        """
        frame = as_frame(frame)
        directions = {
            "fixed": _names(fixed), "increase": _names(increase), "decrease": _names(decrease)
        }  # fmt: skip
        nominal = _names(categorical)
        features, notes = infer(
            frame,
            directions,
            step or {},
            ordinal or {},
            nominal,
            encoding or {},
            unit or {},
            missing,
        )
        told = {*nominal, *(ordinal or {}), *(name for names in directions.values() for name in names)}
        asked = questions(frame, frozenset(told))
        return cls(
            features, rules, name, [*notes, *(f"please check: {question}" for question in asked)], decisions or {}
        )

    @classmethod
    def load(cls, path: str | Path) -> Space:
        """Read a space from a TOML file; raises FileError or SpaceError naming file, feature and line."""
        return load(Path(path), cls)

    def save(self, path: str | Path) -> None:
        """Write the space as a TOML file that `load` reads back; raises FileError."""
        save(self, Path(path))


def check_space(given: object) -> None:
    """Raise SpaceError for a second argument that is no space, of a function that infers none."""
    if not isinstance(given, Space):
        raise SpaceError(
            f"the second argument must be a mace.Space, got {type(given).__name__}",
            hint="mace.Space.from_frame(X) infers one from a frame, mace.Space.load(path) reads a file.",
        )


def _cells(feature: Feature, frame: pd.DataFrame) -> Cells:
    """The cells of a feature's column, and what each different one reads as: many are equal."""
    values = [_cell(value) for value in frame[feature.name].tolist()]
    cells = [(type(value), value) for value in values]
    read: dict[Cell, Fraction | int | None] = {}
    try:
        new = dict.fromkeys(cells)
    except TypeError:
        place = next(place for place, value in enumerate(values) if not hashed(value))
        what = f"column `{feature.name}`: {no_single(values[place])}"
        raise RowError(f"row {plain(frame.index[place])!r}, {what}") from None
    for cell in new:
        try:
            read[cell] = feature.read(cell[1])
        except RowError as error:
            row = plain(frame.index[cells.index(cell)])
            raise RowError(f"row {row!r}, {error.message}", shown=error.shown, hint=error.hint) from None
    return Cells(cells, read)


def _cell(value: Any) -> Any:
    """A cell of a row, None where it is missing."""
    value = plain(value)
    gone = value.is_nan() if isinstance(value, Decimal) else isinstance(value, float) and value != value
    return None if gone else value


def _decisions(given: Mapping[Any, str]) -> dict[str, str]:
    """What people call classes, by label as text; raises SpaceError where one word would stand for two of them."""
    called: dict[str, str] = {}
    for label, name in ((str(label), str(name)) for label, name in given.items()):
        if not name.strip():
            raise SpaceError(f"`decisions` has no name for the class {short(label)}", hint="Leave the class out.")
        if label in called:
            raise SpaceError(f"`decisions` names the class {short(label)} twice")
        if name in called.values():
            raise SpaceError(f"`decisions` calls two classes {short(name)}", hint="Give each a name of its own.")
        called[label] = name
    for label, name in called.items():
        if name != label and name in called:
            raise SpaceError(
                f"`decisions` calls the class {short(label)} by the label of another class, {short(name)}",
                hint="Give it another name.",
            )
    return called


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    """Names of columns; a text is one name."""
    return (given,) if isinstance(given, str) else tuple(given)
