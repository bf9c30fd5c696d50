"""What PMML makes of one field before a model sees it: norms, bins, maps.

In:  the expression of a DerivedField.
Out: `Expression`: `of`, the value that becomes of one, None for a missing one; `back`, for numbers: where along the
     value that enters it the value that leaves it may pass some numbers.
Promise: `of` computes in doubles as the standard writes its formulas. Between two neighbours of `back` no comparison of
what leaves with one of these numbers changes. Expressions of several fields, functions and tables elsewhere are a
ModelError that names them.
Source: PMML 4.4, Transformations (dmg.org/pmml/v4-4/Transformations.html).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise
from typing import TypeAlias

from mace.base.exact import first_float, to_float32
from mace.compilers.formats.xml import Element
from mace.compilers.pmml.tags import given, number, number_of, only_child, unsupported, word, wrong
from mace.compilers.thresholds import largest_passing

Value: TypeAlias = float | str | None
KINDS = ("string", "integer", "float", "double", "boolean")
EXPRESSIONS = ("FieldRef", "NormContinuous", "NormDiscrete", "Discretize", "MapValues", "Apply")
FARTHEST = 1e307
"""Numbers beyond are not looked at: no space has them."""


def written(value: object, kind: str) -> str:
    """A category as one text, however it is written: `1`, `1.0` and True each have one."""
    if isinstance(value, bool):
        return "true" if value else "false"
    text = str(value)
    if kind in ("integer", "float", "double"):
        try:
            found = float(text)
        except (ValueError, OverflowError):
            return text
        return str(int(found)) if found.is_integer() else repr(found)
    return text.lower() if kind == "boolean" else text


@dataclass(frozen=True, eq=False)
class Expression:
    """The value itself, or what stands for a missing one."""

    absent: Value = None

    def of(self, value: Value) -> Value:
        """What becomes of a value."""
        return self.absent if value is None else self.present(value)

    def present(self, value: float | str) -> Value:
        """What becomes of a value that is not missing."""
        return value

    def back(self, cuts: Iterable[float]) -> set[float]:
        """The last numbers up to which a comparison of what leaves with these holds, or does not."""
        return set(cuts)

    def names(self) -> set[str]:
        """The categories of what enters that it knows."""
        return set()


@dataclass(frozen=True, eq=False)
class Cast(Expression):
    """A number, `single`: as one of single precision."""

    single: bool = False

    def present(self, value: float | str) -> Value:
        """See `Expression`."""
        return to_float32(value) if self.single and isinstance(value, float) else value

    def back(self, cuts: Iterable[float]) -> set[float]:
        """See `Expression`."""
        if self.single:
            cuts = [largest_passing(cut, "float32", "<=") for cut in cuts]
        return {cut for cut in cuts if math.isfinite(cut)}


def turns(made: Callable[[float], Value], number: float, low: float, high: float) -> list[float]:
    """The last value up to which what a monotone function makes of it is, or is not, at most a number; none at all."""

    def up_to(value: float) -> bool:
        found = made(value)
        return isinstance(found, float) and found <= number

    first = up_to(low)
    if up_to(high) == first:
        return []
    return [math.nextafter(first_float(lambda value: up_to(value) != first, low, high), -math.inf)]


@dataclass(frozen=True, eq=False)
class Norm(Expression):
    """Linear from knot to knot. `beyond`: what becomes of values outside of them."""

    knots: tuple[tuple[float, float], ...] = ()
    beyond: str = "asIs"

    def present(self, value: float | str) -> Value:
        """See `Expression`."""
        if not isinstance(value, float):
            return None
        first, last = self.knots[0], self.knots[-1]
        if not first[0] <= value <= last[0]:
            if self.beyond == "asMissingValues":
                return self.absent
            if self.beyond == "asExtremeValues":
                return first[1] if value < first[0] else last[1]
        place = min(max(bisect_right([x for x, _ in self.knots], value) - 1, 0), len(self.knots) - 2)
        (x, y), (x2, y2) = self.knots[place : place + 2]
        return y if y == y2 else y + (value - x) / (x2 - x) * (y2 - y)

    def back(self, cuts: Iterable[float]) -> set[float]:
        """See `Expression`."""
        found: set[float] = set()
        for x, _ in self.knots:
            found |= {math.nextafter(x, -math.inf), x}
        ends = [-FARTHEST, *(x for x, _ in self.knots), FARTHEST]
        numbers = list(cuts)
        for before, after in pairwise(ends):
            low, high = math.nextafter(before, math.inf), math.nextafter(after, -math.inf)
            if low < high:  # Every operation is monotone as it is rounded, and so is this part as a whole.
                found |= {cut for number in numbers for cut in turns(self.present, number, low, high)}
        return found


@dataclass(frozen=True, eq=False)
class Indicator(Expression):
    """1 for one category, 0 for all others."""

    name: str = ""

    def present(self, value: float | str) -> Value:
        """See `Expression`."""
        return float(value == self.name)

    def names(self) -> set[str]:
        """See `Expression`."""
        return {self.name}


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers between two ends, which may be infinite; an end that is open does not belong to it."""

    low: float
    high: float
    low_open: bool
    high_open: bool

    def holds(self, value: float) -> bool:
        """Whether a number lies in it."""
        above = value > self.low if self.low_open else value >= self.low
        return above and (value < self.high if self.high_open else value <= self.high)

    def cuts(self) -> set[float]:
        """The last numbers before it begins and ends; an end that is infinite is none."""
        found: set[float] = set()
        if math.isfinite(self.low):
            found.add(self.low if self.low_open else math.nextafter(self.low, -math.inf))
        if math.isfinite(self.high):
            found.add(math.nextafter(self.high, -math.inf) if self.high_open else self.high)
        return {cut for cut in found if math.isfinite(cut)}


@dataclass(frozen=True, eq=False)
class Bins(Expression):
    """The value of the first interval that holds a number."""

    bins: tuple[tuple[Interval, str | float], ...] = ()
    other: Value = None

    def present(self, value: float | str) -> Value:
        """See `Expression`."""
        if not isinstance(value, float):
            return None
        return next((found for interval, found in self.bins if interval.holds(value)), self.other)

    def back(self, cuts: Iterable[float]) -> set[float]:
        """See `Expression`: what leaves changes where a bin ends, and nowhere else."""
        del cuts
        return {cut for interval, _ in self.bins for cut in interval.cuts()}


@dataclass(frozen=True, eq=False)
class Map(Expression):
    """A value for each category."""

    pairs: tuple[tuple[str, str | float], ...] = ()
    other: Value = None

    def present(self, value: float | str) -> Value:
        """See `Expression`."""
        return dict(self.pairs).get(str(value), self.other)

    def names(self) -> set[str]:
        """See `Expression`."""
        return {name for name, _ in self.pairs}


# ------------------------------------------------------------------------------------------------- as they are written


def attribute_of(element: Element, name: str, kind: str, *, numeric: bool) -> Value:
    """The value that an attribute says; None for one that is absent."""
    text = element.attributes.get(name)
    return None if text is None else made_of(text, kind, element, numeric=numeric)


def made_of(text: str, kind: str, element: Element, *, numeric: bool) -> str | float:
    """What a text in a file says, for a field of numbers or of categories."""
    if not numeric:
        return written(text, kind)
    found = number_of(text, element, "a value")
    return to_float32(found) if kind == "float" else found


def interval_of(element: Element) -> Interval:
    """An Interval; raises ModelError."""
    closure = word(element, "closure", ("openOpen", "openClosed", "closedOpen", "closedClosed"))
    low, high = number(element, "leftMargin", -math.inf), number(element, "rightMargin", math.inf)
    if low > high:
        raise wrong(element, "ends before it begins")
    return Interval(low, high, closure.startswith("open"), closure.endswith("Open"))


def expression_of(element: Element, kind: str, entering: str, *, numeric: bool, from_number: bool) -> Expression:
    """What an expression makes of its field.

    kind, numeric: of what leaves it.    entering, from_number: of its field.
    """
    value = partial(attribute_of, element, kind=kind, numeric=numeric)

    def needs(*, number_enters: bool) -> None:
        if number_enters != from_number:
            raise unsupported(element, f"{element.name} of {'numbers' if from_number else 'categories'}")

    absent = value("mapMissingTo")
    if element.name == "FieldRef":
        return Expression(absent)
    if element.name == "NormContinuous":
        needs(number_enters=True)
        return _norm(element, absent, kind)
    if element.name == "NormDiscrete":
        needs(number_enters=False)
        return Indicator(absent, written(given(element, "value"), entering))
    if element.name == "Discretize":
        needs(number_enters=True)
        bins = tuple(
            (interval_of(only_child(one, "Interval")), made_of(given(one, "binValue"), kind, one, numeric=numeric))
            for one in element.all("DiscretizeBin")
        )
        _refuse_shared(element, bins)
        return Bins(absent, bins, value("defaultValue"))
    needs(number_enters=False)
    return Map(absent, _pairs(element, kind, entering, numeric=numeric), value("defaultValue"))


def _refuse_shared(element: Element, bins: Sequence[tuple[Interval, str | float]]) -> None:
    """Raise where two bins make different values of one number: not every scorer takes the first of them."""
    for (one, said), (other, beside) in combinations(bins, 2):
        low = max(one.low, other.low)
        if said != beside and (
            low < min(one.high, other.high) or low == min(one.high, other.high) and one.holds(low) and other.holds(low)
        ):
            raise unsupported(
                element, f"bins of which two hold {low:g}", "Open one of the two at its end: scorers differ there."
            )


def _norm(element: Element, absent: Value, kind: str) -> Norm:
    beyond = word(element, "outliers", ("asIs", "asMissingValues", "asExtremeValues"), "asIs")
    if beyond == "asMissingValues" and absent is not None:
        raise unsupported(
            element, "outliers as missing values, and a number for what is missing",
            "Scorers differ: write outliers=asExtremeValues, or leave mapMissingTo out.",
        )  # fmt: skip
    knots = tuple((number(one, "orig"), number(one, "norm")) for one in element.all("LinearNorm"))
    if len(knots) < 2 or any(a >= b for (a, _), (b, _) in pairwise(knots)):
        raise wrong(element, "has no two LinearNorm whose `orig` rise")
    if any(abs(x) > FARTHEST / 4 for knot in knots for x in knot) or kind not in ("double", "float"):
        raise unsupported(element, "a norm of such large numbers, or whose numbers are whole")
    return Norm(absent, knots, beyond)


def _pairs(element: Element, kind: str, entering: str, *, numeric: bool) -> tuple[tuple[str, str | float], ...]:
    """The rows of a MapValues over one field."""
    columns = element.all("FieldColumnPair")
    if len(columns) != 1 or element.first("InlineTable") is None:
        raise unsupported(element, "a map of several fields, or whose table is elsewhere")
    before, after = given(columns[0], "column"), given(element, "outputColumn")
    before, after = before.rpartition(":")[2], after.rpartition(":")[2]
    found: dict[str, str | float] = {}
    for row in only_child(element, "InlineTable").all("row"):
        cells = {cell.name: cell.text.strip() for cell in row.children}
        if before in cells and after in cells:
            found.setdefault(written(cells[before], entering), made_of(cells[after], kind, row, numeric=numeric))
    return tuple(found.items())
