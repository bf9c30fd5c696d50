"""One feature: its kind, its values, how it may change, and the columns of the model that it becomes.

In:  a declaration.    Out: what a cell of a row means (`read`), and for one row the values that may be taken (`axis`).
Promise: a declaration that contradicts itself is a `SpaceError`; a cell that is no value of the feature is a `RowError`
that names column, value and reason.
Source: Karimi et al. 2020, section 4.2 (types, ranges, actionability).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from mace.base.arguments import spelled_class
from mace.base.cache import Recent
from mace.base.escape import short
from mace.base.exact import as_written, exact, float_to_rank, nearest, rank_to_float
from mace.base.suggestions import few
from mace.base.values import hashed, no_single, plain
from mace.errors import NumberError, RowError, SpaceError
from mace.space.axes import Axis, Grid, GridAxis, LevelAxis

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = Literal["real", "integer", "binary", "categorical", "ordinal"]
Change: TypeAlias = Literal["any", "fixed", "increase", "decrease"]
Encoding: TypeAlias = Literal["as-is", "codes", "one-hot", "thermometer"]
GridName: TypeAlias = Literal["float64", "float32"]
Missing: TypeAlias = Literal["keep", "fill", "any"]
Level: TypeAlias = Any  # str, int, float or bool

NUMERIC = ("real", "integer")
INTEGERS = Grid("step")


@spelled_class
@dataclass(frozen=True)
class Feature:
    """One feature of the table that people see.

    name:     the column's name.
    kind:     "real", "integer", "binary", "categorical" or "ordinal" (levels in order).
    lower, upper: the closed range of a numeric feature, in its unit; it also scales the distance.
    levels:   the values of the other kinds; binary without levels means 0 and 1.
    step:     values of a real feature are the multiples of `step` (and the start's own value).
    change:   "any", "fixed", "increase" or "decrease" (for ordinals: in the order of the levels).
    encoding: "as-is" (levels that are numbers; NaN where one is missing), "codes" (0, 1, ..), "one-hot" (a column a
              level) or "thermometer" (a column a level but the first: 1 from that level up). None: "one-hot" of a
              category; of a binary or ordinal feature "as-is" where its levels are numbers, else "codes" (where a
              text reads as another number than its own: "one-hot").
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
        if self.missing and self.encoding == "thermometer":
            raise self._wrong("encoding `thermometer` has no place for what is missing", "Use `one-hot`.")
        object.__setattr__(self, "levels", (*levels, None) if self.missing else levels)
        if self.change in ("increase", "decrease") and self.kind == "categorical":
            raise self._wrong(f"change `{self.change}` needs an order", "Use kind `ordinal`, or a rule.")
        object.__setattr__(self, "encoding", self.encoding or self._usual_encoding(levels))
        if self.encoding == "as-is" and not all(isinstance(level, (int, float)) for level in levels):
            raise self._wrong("encoding `as-is` needs levels that are numbers", "Use `codes` or `one-hot`.")

    def _usual_encoding(self, levels: Sequence[Level]) -> Encoding:
        """How levels become the model's columns if nobody says: "one-hot", or one column with the places of texts.

        Levels that are numbers stay what they are: a model that was fitted on the frame itself, whose columns have the
        same names, was given them. So was one of texts that read as numbers, which libraries make of them, and of such
        and other texts, where no row had the others: these get a column each, so that such a model is told that its
        columns are others.
        """
        if self.kind == "categorical":
            return "one-hot"
        numbers = [_number_of(level) for level in levels]
        others = [number for place, number in enumerate(numbers) if number not in (None, place)]
        if all(number is None for number in numbers) or not others and not self.missing:
            return "codes"
        plain = all(isinstance(level, (int, float)) for level in levels)
        return "as-is" if plain and len(set(numbers)) == len(numbers) else "one-hot"

    def _usual_columns(self) -> tuple[str, ...]:
        if self.encoding == "one-hot":
            return tuple(f"{self.name}={text}" for text in _texts(self.levels))
        if self.encoding == "thermometer":
            return tuple(f"{self.name}>={text}" for text in _texts(self.levels)[1:])
        return (self.name,)

    @property
    def numeric(self) -> bool:
        """Whether values are numbers with a range, rather than levels."""
        return self.kind in NUMERIC

    @property
    def ordered(self) -> bool:
        """Whether values lie one above the other: numbers, or the levels of an ordinal feature."""
        return self.numeric or self.kind == "ordinal"

    @cached_property
    def column_values(self) -> tuple[tuple[float, ...], ...]:
        """For a feature with levels: per model column, the float64 that each level becomes.

        As it is, what is missing has no number: the last level is left out, as where a model cannot take it.
        """
        count = len(self.levels)
        match self.encoding:
            case "one-hot":
                return tuple(tuple(float(k == level) for level in range(count)) for k in range(count))
            case "thermometer":
                return tuple(tuple(float(level >= k) for level in range(count)) for k in range(1, count))
            case "codes":
                return (tuple(float(level) for level in range(count)),)
            case _:
                return (tuple(float(level) for level in self.levels if level is not None),)

    def bounds(self) -> tuple[Fraction, Fraction]:
        """The exact range of a numeric feature."""
        return self._bounds

    @cached_property
    def _bounds(self) -> tuple[Fraction, Fraction]:
        return self._number("lower"), self._number("upper")

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The first and the last index of a numeric feature's whole range, for a start on its grid."""
        lower, upper = self.bounds()
        grid = self.own_grid
        return grid.ceil(lower), grid.floor(upper)

    def read(self, value: object) -> Fraction | int | None:
        """The exact number, or the index of the level, that a cell of a row holds; None for a missing number.

        Raises RowError for a missing value, a wrong type, an unknown level, or a number out of range.
        """
        value = plain(value)
        if value is None or isinstance(value, float) and not math.isfinite(value):
            if self.missing and (value is None or math.isnan(value)):
                return None if self.numeric else len(self.levels) - 1
            if isinstance(value, float) and math.isinf(value):
                hint = "Correct the row, or leave it out."
                raise RowError(f"column `{self.name}`: expected a finite number, got {short(value)}", hint=hint)
            hint = 'Fill it in, or let it be missing in the space: missing = "keep".'
            raise RowError(f"column `{self.name}`: the value is missing, which the space does not allow", hint=hint)
        if not self.numeric:
            if not hashed(value):
                raise RowError(f"column `{self.name}`: {no_single(value)}")
            value = self.own(value)
            for index, level in enumerate(self.levels):
                if level == value and isinstance(level, str) == isinstance(value, str):
                    return index
            hint = f"Known: {few(map(repr, self.levels))}."
            raise RowError(f"column `{self.name}`: {short(value)} is not one of its levels", hint=hint)
        if isinstance(value, (str, bool)):
            raise RowError(f"column `{self.name}`: expected a number, got {short(value)} ({type(value).__name__})")
        try:
            number = as_written(value) if self.step is not None or self.kind == "integer" else exact(value)
        except NumberError as error:
            raise RowError(f"column `{self.name}`: {error.message}", hint=error.hint) from None
        if self.kind == "integer" and number.denominator != 1:
            raise RowError(f"column `{self.name}`: expected an integer, got {short(value)}")
        lower, upper = self.bounds()
        if not lower <= number <= upper:
            raise RowError(
                f"column `{self.name}`: {short(value)} lies outside its range {self.lower}..{self.upper}",
                hint="Widen the range in the space, or correct the row.",
            )
        return number

    def own(self, value: object) -> object:
        """A day as its first moment, and such a moment as the day, where only the other one is a level: libraries turn
        one into the other. Everything else as it is.
        """
        if not isinstance(value, date) or value in self.levels:
            return value
        other = value.date() if isinstance(value, datetime) else datetime.combine(value, time())
        if isinstance(value, datetime) and value != datetime.combine(other, time()):
            return value
        return next((level for level in self.levels if level == other), value)

    def numbers(self, column: pd.Series[Any]) -> NDArray[np.float64] | None:
        """What `read` makes of a column's cells, in floats (missing: NaN), at once; None where only `read` can tell.

        It keeps the order of numbers: none lies out of range where the least and the largest do not.
        """
        if not self.numeric:
            return None
        cells = column.to_numpy()
        if cells.ndim != 1 or cells.dtype.kind not in "iuf" or cells.dtype.itemsize > 8:
            return None
        floats = cells.astype(np.float64) + 0.0  # `read` knows no -0.0
        gone = np.isnan(floats)
        there = cells[~gone]
        if len(there) < len(cells) and not self.missing or self.kind == "integer" and (there != np.floor(there)).any():
            return None
        try:
            for end in (there.min(), there.max()) if len(there) else ():
                self.read(end)
        except RowError:
            return None
        return floats

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
        if self.ordered:
            return replace(self, change="any", missing="keep", missing_cost=None)
        return replace(self, change="any", missing="any")

    def axis(self, value: object) -> Axis:
        """The values this feature may take when it starts from `value`; raises RowError as `read`."""
        value = plain(value)
        if type(value) in (str, int, bool):  # of which there are few
            return self._axes.get((type(value), value), lambda: self._axis(value))
        return self._axis(value)

    @cached_property
    def _axes(self) -> Recent[Axis]:
        return Recent()

    def _axis(self, value: object) -> Axis:
        start = self.read(value)
        if not self.numeric:
            assert start is not None
            return self._level_axis(int(start))
        number = None if start is None else exact(start)
        grid = self._grid(number)
        lower, upper = self.bounds()
        low, high = self.ends if grid.extra is None else (grid.ceil(lower), grid.floor(upper))
        missing, scale = high + 1, self._scale
        if number is None:
            if not self.may_fill or low > high:
                return LevelAxis(self.name, 1, 1, 0)
            return GridAxis(self.name, grid, low, missing, missing, scale, missing, self.price)
        if grid.kind == "float64" and type(value) is float:
            index = float_to_rank(value)
        else:
            index = grid.floor(number)
            if grid.kind != "step" and grid.value(index) != number:
                raise RowError(f"column `{self.name}`: {value!r} is not a {self.grid} number")
        single = lower == upper
        if self.change in ("fixed", "increase") or single:
            low = index
        if self.change in ("fixed", "decrease") or single:
            high = index
        if self.may_lose:
            return GridAxis(self.name, grid, low, missing, index, scale, missing, self.price)
        return GridAxis(self.name, grid, low, high, index, scale)

    @cached_property
    def _scale(self) -> Fraction:
        lower, upper = self.bounds()
        return upper - lower if upper > lower else Fraction(1)

    @cached_property
    def own_grid(self) -> Grid:
        """The grid of a numeric feature, without a start beside it."""
        if self.kind == "integer":
            return INTEGERS
        return Grid(self.grid) if self.step is None else Grid("step", self._number("step"))

    def _grid(self, number: Fraction | None) -> Grid:
        """The same with a start that lies between its steps."""
        grid = self.own_grid
        if self.step is None or self.kind == "integer" or number is None or (number / grid.step).denominator == 1:
            return grid
        return replace(grid, extra=number)

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
        grid = axis.grid
        if self.kind == "integer" and grid.extra is None:
            return index
        if grid.kind == "float64":
            return rank_to_float(index)
        value = axis.value(index)
        return int(value) if self.kind == "integer" else nearest(value)


def _texts(levels: Sequence[Level]) -> list[str]:
    """Levels as texts, each of which stands for one: beside the text "1", or "None", is 1, or what is missing."""
    texts = [str(level) for level in levels]
    count = Counter(texts)
    return [text if count[text] == 1 else repr(level) for text, level in zip(texts, levels, strict=True)]


def _number_of(level: Level) -> float | None:
    """The number that a level is, or reads as; None for any other."""
    try:
        return float(level)
    except (TypeError, ValueError):
        return None
