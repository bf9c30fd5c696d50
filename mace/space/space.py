"""What a counterfactual may be: features with kinds, ranges, directions, and their encoding into the model's columns.

In:  declarations (`Feature`), a frame to infer them from (`Space.from_frame`), or a TOML file (`Space.load`).
Out: the model's matrix (`encode`) and the way back (`decode`); for one row, an `Axis` per feature (`axes`).
Promise: `decode(encode(frame))` is `frame`; every allowed point of the axes encodes to float64 values that are what
the model would be given for that row; a row outside its space is a `RowError` that names column, value and reason.
Source: Karimi et al. 2020, section 4.2 (types, ranges, actionability).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from mace.base.escape import short
from mace.base.exact import as_written, exact, nearest
from mace.base.values import plain
from mace.errors import NumberError, RowError, SpaceError
from mace.space.axes import Axis, Grid, GridAxis, LevelAxis, Point
from mace.space.columns import Column as Column
from mace.space.columns import Step as Step

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = Literal["real", "integer", "binary", "categorical", "ordinal"]
Change: TypeAlias = Literal["any", "fixed", "increase", "decrease"]
Encoding: TypeAlias = Literal["as-is", "codes", "one-hot", "thermometer"]
GridName: TypeAlias = Literal["float64", "float32"]
Missing: TypeAlias = Literal["keep", "fill", "any"]
Level: TypeAlias = Any  # str, int, float or bool

NUMERIC = ("real", "integer")
DEFAULT_ENCODING: dict[Kind, Encoding] = {
    "real": "as-is",
    "integer": "as-is",
    "binary": "codes",
    "ordinal": "codes",
    "categorical": "one-hot",
}


@dataclass(frozen=True)
class Feature:
    """One feature of the table that people see.

    name:     the column's name.
    kind:     "real", "integer", "binary", "categorical" or "ordinal" (levels in order).
    lower, upper: the closed range of a numeric feature, in its unit; it also scales the distance.
    levels:   the values of the other kinds; binary without levels means 0 and 1.
    step:     values of a real feature are the multiples of `step` (and the start's own value).
    change:   "any", "fixed", "increase" or "decrease" (for ordinals: in the order of the levels).
    encoding: "as-is", "codes" (0, 1, ..), "one-hot" (a column a level) or "thermometer" (a column a level but the
              first: 1 from that level up).
    columns:  names of the model's columns, if not the usual ones.
    unit:     shown beside values.
    grid:     the floats on which a real feature without `step` lives.
    missing:  False: a value is never missing. "keep": it may be; one that is missing stays missing, and one that is
              there stays there. "fill": one that is missing may be given any value of the feature, whatever `change`
              says (unless it is "fixed"). "any": as "fill", and one that is there may become missing, if `change` is
              "any". True means "keep". Features with levels have one more level for it, None, at the end.
    missing_cost: what giving a missing value, or taking one away, counts as: a change of this size, in 0..1 (1: the
              whole range, as a changed category). Only for "fill" and "any".
    Raises SpaceError for a declaration that contradicts itself.
    """

    name: str
    kind: Kind
    lower: Any = None
    upper: Any = None
    levels: Sequence[Level] = ()
    step: Any = None
    change: Change = "any"
    encoding: Encoding | None = None
    columns: Sequence[str] = ()
    unit: str = ""
    grid: GridName = "float64"
    missing: bool | Missing = False
    missing_cost: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SpaceError(f"a feature needs a name, as text; got {self.name!r}")
        self._choose("kind", get_args(Kind))
        self._choose("change", get_args(Change))
        self._choose("grid", get_args(GridName))
        if self.encoding is not None:
            self._choose("encoding", get_args(Encoding))
        self._check_missing()
        if self.kind in NUMERIC:
            self._check_numeric()
        else:
            self._check_levels()
        if isinstance(self.columns, str):
            raise self._wrong("`columns` must be a list of names")
        object.__setattr__(self, "columns", tuple(self.columns) or self._usual_columns())
        if len(self.columns) != len(self._usual_columns()):
            raise self._wrong(f"needs {len(self._usual_columns())} column names, got {len(self.columns)}")

    def _wrong(self, message: str, hint: str = "") -> SpaceError:
        return SpaceError(f"feature `{self.name}`: {message}", hint=hint)

    def _choose(self, key: str, allowed: tuple[str, ...]) -> None:
        if getattr(self, key) not in allowed:
            raise self._wrong(f"{key} {getattr(self, key)!r} is not one of {', '.join(allowed)}")

    def _check_missing(self) -> None:
        if not isinstance(self.missing, bool):
            self._choose("missing", get_args(Missing))
        elif self.missing:
            object.__setattr__(self, "missing", "keep")
        if self.missing_cost is None:
            return
        if self.missing not in ("fill", "any"):
            raise self._wrong(
                "`missing_cost` is what giving a missing value costs, and none may be given here",
                'Add missing="fill", or missing="any".',
            )
        if not 0 <= self._number("missing_cost") <= 1:
            raise self._wrong(f"`missing_cost` must be a number in 0..1, got {self.missing_cost!r}")

    def _number(self, key: str) -> Fraction:
        value = getattr(self, key)
        if isinstance(value, bool):
            raise self._wrong(f"`{key}` must be a finite number, got {value!r}")
        try:
            # On a grid of floats a bound is a float; elsewhere 0.1 is meant as it is written.
            written = key == "missing_cost" or self.step is not None or self.kind == "integer"
            return as_written(value) if written else exact(value)
        except NumberError as error:
            raise self._wrong(f"`{key}` must be a finite number: {error.message}", error.hint) from None

    def _check_numeric(self) -> None:
        if self.levels:
            raise self._wrong(f"a {self.kind} feature has no levels", "Use kind `ordinal` or `categorical`.")
        for key in ("lower", "upper"):
            if getattr(self, key) is None:
                raise self._wrong(f"a {self.kind} feature needs `{key}`", "The range also scales the distance.")
        if self.step is not None and (self._number("step") <= 0 or self.kind == "integer" and self.step != 1):
            raise self._wrong(f"`step` must be a number > 0 (and 1 for integers), got {self.step!r}")
        if self._number("lower") > self._number("upper"):
            raise self._wrong(f"`lower` {self.lower} is above `upper` {self.upper}")
        if self.kind == "integer" and (self._number("lower").denominator, self._number("upper").denominator) != (1, 1):
            raise self._wrong(f"the range {self.lower}..{self.upper} of an integer must end in integers")
        if self.encoding not in (None, "as-is"):
            raise self._wrong(f"encoding `{self.encoding}` needs levels", "Numbers are encoded `as-is`.")
        object.__setattr__(self, "encoding", "as-is")

    def _check_levels(self) -> None:
        for key in ("lower", "upper", "step"):
            if getattr(self, key) is not None:
                raise self._wrong(f"a {self.kind} feature has levels, not `{key}`")
        if isinstance(self.levels, str):
            raise self._wrong("`levels` must be a list")
        levels = tuple(plain(level) for level in self.levels)
        if self.missing:
            levels = tuple(level for level in levels if level is not None)
        levels = levels or ((0, 1) if self.kind == "binary" else ())
        if len(levels) < 1 or self.kind == "binary" and len(levels) != 2:
            raise self._wrong(f"needs {'two' if self.kind == 'binary' else 'at least one'} `levels`, got {len(levels)}")
        odd = [level for level in levels if not isinstance(level, Hashable)]
        if odd:
            raise self._wrong(f"a level must be a text, a number or a truth, got {short(odd[0])}")
        if len(set(levels)) != len(levels):
            raise self._wrong(f"the same level stands twice in {list(levels)}")
        if any(isinstance(level, float) and not np.isfinite(level) or level is None for level in levels):
            raise self._wrong("a level is missing (NaN or None)", "Declare the feature with missing=True.")
        if self.missing and self.encoding in ("as-is", "thermometer"):
            raise self._wrong(f"encoding `{self.encoding}` has no place for what is missing", "Use `one-hot`.")
        object.__setattr__(self, "levels", (*levels, None) if self.missing else levels)
        if self.change in ("increase", "decrease") and self.kind == "categorical":
            raise self._wrong(f"change `{self.change}` needs an order", "Use kind `ordinal`, or a rule.")
        object.__setattr__(self, "encoding", self.encoding or DEFAULT_ENCODING[self.kind])
        if self.encoding == "as-is" and not all(isinstance(level, (int, float)) for level in levels):
            raise self._wrong("encoding `as-is` needs levels that are numbers", "Use `codes` or `one-hot`.")

    def _usual_columns(self) -> tuple[str, ...]:
        if self.encoding == "one-hot":
            return tuple(f"{self.name}={level}" for level in self.levels)
        if self.encoding == "thermometer":
            return tuple(f"{self.name}>={level}" for level in self.levels[1:])
        return (self.name,)

    @property
    def numeric(self) -> bool:
        """Whether values are numbers with a range, rather than levels."""
        return self.kind in NUMERIC

    @cached_property
    def column_values(self) -> tuple[tuple[float, ...], ...]:
        """For a feature with levels: per model column, the float64 that each level becomes."""
        count = len(self.levels)
        match self.encoding:
            case "one-hot":
                return tuple(tuple(float(k == level) for level in range(count)) for k in range(count))
            case "thermometer":
                return tuple(tuple(float(level >= k) for level in range(count)) for k in range(1, count))
            case "codes":
                return (tuple(float(level) for level in range(count)),)
            case _:
                return (tuple(float(level) for level in self.levels),)

    def bounds(self) -> tuple[Fraction, Fraction]:
        """The exact range of a numeric feature."""
        return self._number("lower"), self._number("upper")

    def read(self, value: object) -> Fraction | int | None:
        """The exact number, or the index of the level, that a cell of a row holds; None for a missing number.

        Raises RowError for a missing value, a wrong type, an unknown level, or a number out of range.
        """
        value = plain(value)
        if value is None or isinstance(value, float) and not np.isfinite(value):
            if self.missing and (value is None or np.isnan(value)):
                return None if self.numeric else len(self.levels) - 1
            hint = "" if isinstance(value, float) and np.isinf(value) else "Features may be declared with missing=True."
            raise RowError(f"column `{self.name}`: the value is missing or not finite ({value!r})", hint=hint)
        if not self.numeric:
            for index, level in enumerate(self.levels):
                if level == value and isinstance(level, str) == isinstance(value, str):
                    return index
            known = ", ".join(repr(level) for level in self.levels[:12]) + (", .." if len(self.levels) > 12 else "")
            raise RowError(f"column `{self.name}`: {short(value)} is not one of its levels", hint=f"Known: {known}.")
        if isinstance(value, (str, bool)):
            raise RowError(f"column `{self.name}`: expected a number, got {short(value)} ({type(value).__name__})")
        number = as_written(value) if self.step is not None or self.kind == "integer" else exact(value)
        if self.kind == "integer" and number.denominator != 1:
            raise RowError(f"column `{self.name}`: expected an integer, got {short(value)}")
        lower, upper = self.bounds()
        if not lower <= number <= upper:
            raise RowError(
                f"column `{self.name}`: {short(value)} lies outside its range {self.lower}..{self.upper}",
                hint="Widen the range in the space, or correct the row.",
            )
        return number

    @property
    def price(self) -> Fraction:
        """What giving a missing value counts as: a change of this size, exact."""
        return Fraction(1) if self.missing_cost is None else self._number("missing_cost")

    @property
    def may_fill(self) -> bool:
        """Whether a missing value may be given."""
        return self.missing in ("fill", "any") and self.change != "fixed"

    @property
    def may_lose(self) -> bool:
        """Whether a value that is there may become missing."""
        return self.missing == "any" and self.change == "any"

    def free(self) -> Feature:
        """A copy that may change to any value from any other; a missing number or rank stays missing."""
        if not self.missing:
            return replace(self, change="any")
        number = self.numeric or self.kind == "ordinal"
        return replace(self, change="any", missing="keep" if number else "any", missing_cost=None)

    def axis(self, value: object) -> Axis:
        """The values this feature may take when it starts from `value`; raises RowError as `read`."""
        start = self.read(value)
        if not self.numeric:
            assert start is not None
            return self._level_axis(int(start))
        number = None if start is None else Fraction(start)
        grid = self._grid(number, value)
        lower, upper = self.bounds()
        low, high = grid.ceil(lower), grid.floor(upper)
        missing = high + 1
        scale = upper - lower if upper > lower else Fraction(1)
        if number is None:
            if not self.may_fill or low > high:
                return LevelAxis(self.name, 1, 1, 0)
            return GridAxis(self.name, grid, low, missing, missing, scale, missing, self.price)
        index = grid.floor(number)
        if self.change in ("fixed", "increase") or lower == upper:
            low = index
        if self.change in ("fixed", "decrease") or lower == upper:
            high = index
        if self.may_lose:
            return GridAxis(self.name, grid, low, missing, index, scale, missing, self.price)
        return GridAxis(self.name, grid, low, high, index, scale)

    def _grid(self, number: Fraction | None, value: object) -> Grid:
        """The grid of a numeric feature, with its start on it."""
        if self.kind == "integer":
            return Grid("step")
        if self.step is not None:
            step = self._number("step")
            return Grid("step", step, None if number is None or (number / step).denominator == 1 else number)
        grid = Grid(self.grid)
        if number is not None and grid.value(grid.floor(number)) != number:
            raise RowError(f"column `{self.name}`: {value!r} is not a {self.grid} number")
        return grid

    def _level_axis(self, start: int) -> LevelAxis:
        """The levels that may be taken from one of them."""
        ordered, count = self.kind == "ordinal", len(self.levels)
        known = count - bool(self.missing)
        everything = (1 << known) - 1
        if start == known and not self.may_fill:
            return LevelAxis(self.name, count, 1 << start, start)
        if start == known:
            allowed = 1 << start | everything
        else:
            allowed = {
                "any": everything,
                "fixed": 1 << start,
                "increase": everything >> start << start,
                "decrease": (2 << start) - 1,
            }[self.change] | (1 << known if self.may_lose else 0)
            if ordered and not allowed >> known:
                return LevelAxis(self.name, known, allowed, start, ordered=True)
        if not self.missing or not ordered and self.price == 1:
            return LevelAxis(self.name, count, allowed, start, ordered)
        return LevelAxis(self.name, count, allowed, start, ordered, known, self.price)

    def show(self, axis: Axis, index: int) -> Any:
        """The value with this index, in the feature's own type: a level, an int, or a float."""
        if isinstance(axis, LevelAxis):
            return None if self.numeric else self.levels[index]
        if index == axis.missing:
            return None
        value = axis.value(index)
        return int(value) if self.kind == "integer" else nearest(value)


@dataclass(frozen=True)
class Space:
    """All features in order, and the rules between them (core-language texts, one condition each)."""

    features: Sequence[Feature]
    rules: Sequence[str] = ()
    name: str = "space"
    notes: Sequence[str] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        object.__setattr__(self, "rules", (self.rules,) if isinstance(self.rules, str) else tuple(self.rules))
        object.__setattr__(self, "notes", tuple(self.notes))
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
        raise SpaceError(f"there is no feature `{name}`", hint=f"Features: {', '.join(self.names)}.")

    @property
    def names(self) -> list[str]:
        """The features' names, in order."""
        return [feature.name for feature in self.features]

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
        """A copy in which the named features may change otherwise: `space.change(age="fixed")`."""
        for name in changes:
            _ = self[name]
        features = [replace(f, change=changes[f.name]) if f.name in changes else f for f in self.features]
        return replace(self, features=features, rules=self.rules if rules is None else rules)

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
        """A Series, a dict or a one-row frame as a dict of this space's features.

        Raises RowError for a missing column or more than one row; further columns are ignored.
        """
        if hasattr(x, "iloc") and getattr(x, "ndim", 1) == 2:
            if len(x) != 1:  # type: ignore[arg-type]
                raise RowError(f"expected one row, got a frame with {len(x)}", hint="Use frame.iloc[0].")  # type: ignore[arg-type]
            x = x.iloc[0]
        if isinstance(x, (np.ndarray, list, tuple)):
            if len(x) != len(self.features):
                raise RowError(f"expected {len(self.features)} values, one per feature; got {len(x)}")
            x = dict(zip(self.names, x, strict=True))
        if not hasattr(x, "keys"):
            raise RowError(f"expected a row (Series, dict or list of values), got {type(x).__name__}")
        missing = [name for name in self.names if name not in x]  # type: ignore[operator]
        if missing:
            raise RowError(f"the row has no column `{missing[0]}`", hint=f"The space has {', '.join(self.names)}.")
        return {name: plain(x[name]) for name in self.names}  # type: ignore[index]

    def axes(self, x: object) -> tuple[Axis, ...]:
        """An axis per feature, starting from the row `x`; raises RowError."""
        row = self.row(x)
        return tuple(feature.axis(row[feature.name]) for feature in self.features)

    def show(self, axes: Sequence[Axis], point: Point) -> dict[str, Any]:
        """A point as values in the features' own types."""
        return {f.name: f.show(axis, i) for f, axis, i in zip(self.features, axes, point, strict=True)}

    def matrix_row(self, axes: Sequence[Axis], point: Point) -> NDArray[np.float64]:
        """The float64 row that `encode` gives for a point; shape (columns,)."""
        return np.array([c.at(axes[c.feature], point[c.feature]) for c in self.columns], dtype=np.float64)

    def encode(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The model's matrix as a frame of float64 with named columns, one row per row of `frame`.

        Raises RowError naming column and row for anything that is not in the space.
        """
        import pandas as pd

        out: dict[str, Any] = {}
        for feature, read in zip(self.features, self.read(frame), strict=True):
            if feature.numeric:
                if any(number is None for number in read):
                    raise RowError(f"column `{feature.name}` lacks numbers", hint="Only a pipeline may impute them.")
                out[feature.columns[0]] = np.array([nearest(Fraction(number)) for number in read if number is not None])
            else:
                for name, table in zip(feature.columns, feature.column_values, strict=True):
                    out[name] = np.asarray(table)[np.asarray(read, dtype=np.intp)]
        return pd.DataFrame(out, index=frame.index)

    def read(self, frame: pd.DataFrame) -> list[list[Fraction | int | None]]:
        """Per feature what `Feature.read` makes of its column; raises RowError naming column and row."""
        missing = [name for name in self.names if name not in frame.columns]
        if missing:
            raise RowError(f"the frame has no column `{missing[0]}`", hint=f"It has {', '.join(map(str, frame))}.")
        out: list[list[Fraction | int | None]] = []
        for feature in self.features:
            values = [None if isinstance(v, float) and v != v else v for v in frame[feature.name].tolist()]
            # Each distinct value is read once; columns have few of them or are numbers read one by one.
            unique = {}
            for place, value in enumerate(values):
                if not isinstance(value, Hashable):
                    what = f"column `{feature.name}`: a cell holds {short(value)}, which is no single value"
                    raise RowError(f"row {frame.index[place]!r}, {what}")
                key = (type(value), value)
                if key in unique:
                    continue
                try:
                    unique[key] = feature.read(value)
                except RowError as error:
                    raise RowError(
                        f"row {frame.index[place]!r}, {error.message}", shown=error.shown, hint=error.hint
                    ) from None
            out.append([unique[type(value), value] for value in values])
        return out

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
            labels = []
            for number, pattern in enumerate(map(tuple, block.tolist())):
                if pattern not in patterns:
                    raise RowError(f"row {number}: the columns of `{feature.name}` hold {pattern}, which no level has")
                labels.append(feature.levels[patterns[pattern]])
            out[feature.name] = labels
        return pd.DataFrame(out, index=getattr(matrix, "index", None))

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        fixed: Iterable[str] = (),
        increase: Iterable[str] = (),
        decrease: Iterable[str] = (),
        step: Mapping[str, Any] | None = None,
        ordinal: Mapping[str, Sequence[Level]] | None = None,
        categorical: Iterable[str] = (),
        encoding: Mapping[str, Encoding] | None = None,
        unit: Mapping[str, str] | None = None,
        rules: Sequence[str] = (),
        name: str = "space",
        missing: bool | Missing | Mapping[str, bool | Missing] = "keep",
    ) -> Space:
        """Infer a space from a frame; `space.notes` says what was inferred, one line a feature.

        missing: what may happen to missing values, see `Feature`: one word for all columns that lack values in the
                 frame, or column -> word for any of them (the others: "keep" where they lack values).
        Raises SpaceError for a name that is no column and for columns that cannot be a feature (no values at all).
        """
        from mace.space.infer import infer

        return infer(
            frame,
            {"fixed": tuple(fixed), "increase": tuple(increase), "decrease": tuple(decrease)},
            step or {},
            ordinal or {},
            tuple(categorical),
            encoding or {},
            unit or {},
            rules,
            name,
            missing,
        )

    @classmethod
    def load(cls, path: str | Path) -> Space:
        """Read a space from a TOML file; raises FileError or SpaceError naming file, feature and line."""
        from mace.space.file import load

        return load(Path(path))

    def save(self, path: str | Path) -> None:
        """Write the space as a TOML file that `load` reads back."""
        from mace.space.file import save

        save(self, Path(path))
