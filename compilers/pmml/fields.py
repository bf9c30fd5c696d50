"""The fields of a PMML file: raw columns with what happens to odd values of them, and what is made of one column.

In:  DataDictionary, the MiningSchema of the whole model.
Out: `Source`, a raw column; `Field`, a column after expressions; `Scope`, which names mean which fields.
Promise: what the standard makes of missing, invalid and extreme values is done in its order, and values of which it
gives no prediction raise NoResultError. Treatments that are not known, and those of inner models that differ from the
whole model's, are a ModelError.
Source: PMML 4.4, DataDictionary, MiningSchema (dmg.org/pmml/v4-4).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

from mace.base.exact import to_float32
from mace.compilers.formats.xml import Element
from mace.compilers.pmml.expressions import (
    KINDS,
    Cast,
    Expression,
    Interval,
    Value,
    attribute_of,
    interval_of,
    made_of,
    written,
)
from mace.compilers.pmml.tags import given, number, unsupported, word, wrong

OTHER = "\0other"
"""Stands for every category that a file does not name."""
_DIFFER = "Scorers differ in which of the two they do: leave one of them out."
_TREATMENTS = ("returnInvalid", "asIs", "asMissing", "asValue")
_ACTIVE = ("active", "order", "group", "supplementary", "analysisType", "frequencyWeight")
_TARGET = ("target", "predicted")


class NoResultError(ValueError):
    """The standard gives a row no prediction."""


@dataclass(frozen=True, eq=False)
class Source:
    """A raw column.

    numeric:  whether it holds numbers; else categories, as texts.
    levels:   the categories that are valid; none: all.
    valid:    intervals of valid numbers; none: all.
    absent, odd: values that count as missing, and as invalid.
    fill:     what a missing value becomes; None: it stays missing, or has no prediction if `needed`.
    invalid:  what is done with an invalid value; `instead`: what becomes of it.
    low, high: where numbers become extreme; `outliers`: what is done then.
    """

    name: str
    kind: str
    numeric: bool
    levels: tuple[str, ...] = ()
    valid: tuple[Interval, ...] = ()
    absent: tuple[Value, ...] = ()
    odd: tuple[Value, ...] = ()
    fill: Value = None
    needed: bool = False
    invalid: str = "returnInvalid"
    instead: Value = None
    outliers: str = "asIs"
    low: float = -math.inf
    high: float = math.inf

    def of(self, value: Value) -> Value:
        """What a model sees of a raw value, a float or a text; raises NoResultError."""
        if isinstance(value, float) and self.kind == "float":
            value = to_float32(value)
        if value is not None and value in self.absent:
            value = None
        if value is not None and self._is_invalid(value):
            if self.invalid == "returnInvalid":
                raise NoResultError(f"{value!r} is no valid value of `{self.name}`")
            value = {"asIs": value, "asMissing": None, "asValue": self.instead}[self.invalid]
        if isinstance(value, float) and not self.low <= value <= self.high:
            if self.outliers == "asMissingValues":
                value = None
            elif self.outliers == "asExtremeValues":
                value = self.low if value < self.low else self.high
        if value is None and self.fill is None and self.needed:
            raise NoResultError(f"`{self.name}` is missing")
        return self.fill if value is None else value

    def _is_invalid(self, value: float | str) -> bool:
        if value in self.odd:
            return True
        if isinstance(value, float):
            return bool(self.valid) and not any(one.holds(value) for one in self.valid)
        return bool(self.levels) and value not in self.levels

    def cuts(self) -> set[float]:
        """The last numbers before it is treated otherwise."""
        found = {cut for one in self.valid for cut in one.cuts()}
        for place in (*self.absent, *self.odd, self.low, self.high):
            if isinstance(place, float) and math.isfinite(place):
                found |= {math.nextafter(place, -math.inf), place}
        return found

    def names(self) -> set[str]:
        """The categories that it names."""
        return {*self.levels, *(name for name in (*self.absent, *self.odd, self.fill) if isinstance(name, str))}


@dataclass(frozen=True, eq=False)
class Field:
    """A raw column after expressions.

    numeric: whether it is a number then.    kind: of what type.
    """

    source: Source
    steps: tuple[Expression, ...]
    kind: str
    numeric: bool

    def of(self, raw: Value) -> Value:
        """Its value for a raw one; raises NoResultError."""
        value = self.source.of(raw)
        for step in self.steps:
            value = step.of(value)
        return value

    def cuts(self, numbers: Iterable[float] = ()) -> set[float]:
        """Numbers of a raw column that holds numbers: between two of them, comparisons with these do not change."""
        found = set(numbers)
        for step in reversed(self.steps):
            found = step.back(found)
        if self.source.kind == "float":
            found = Cast(single=True).back(found | self.source.cuts())
        return found | self.source.cuts()

    def names(self) -> set[str]:
        """The categories that it, or what happens to it, names."""
        return self.source.names().union(*(step.names() for step in self.steps))


@dataclass(frozen=True)
class Scope:
    """Which names mean which fields; `scores` are sums: those of models before, in a chain, and derived ones."""

    fields: Mapping[str, Field]
    scores: Mapping[str, object] = field(default_factory=dict)

    def field(self, name: str, element: Element) -> Field:
        """The field of a name; raises ModelError."""
        found = self.fields.get(name)
        if found is None:
            if name in self.scores:
                raise unsupported(element, f"a test of `{name[:60]}`, which is a sum of several columns")
            raise wrong(element, f"is about a field `{name[:60]}`, which is not there")
        return found


# ------------------------------------------------------------------------------------------------- raw columns


def scope_of(dictionary: Element, schema: Element) -> Scope:
    """The raw columns of a file, as the model's own schema treats them."""
    declared = {given(one, "name"): one for one in dictionary.all("DataField")}
    found: dict[str, Field] = {}
    for mining in schema.all("MiningField"):
        usage = word(mining, "usageType", (*_ACTIVE, *_TARGET), "active")
        name = given(mining, "name")
        if usage in _TARGET:
            continue
        if name not in declared:
            raise wrong(mining, f"is about a field `{name[:60]}`, which is not there")
        source = _source(declared[name], mining)
        found[name] = Field(source, (), source.kind, source.numeric)
    return Scope(found)


def _source(data: Element, mining: Element) -> Source:
    kind = word(data, "dataType", KINDS)
    optype = mining.attributes.get("optype") or given(data, "optype")
    numeric = optype == "continuous" and kind in ("integer", "float", "double")
    if optype == "continuous" and not numeric:
        raise wrong(data, f"is continuous, and of the type {kind}")
    if data.attributes.get("isCyclic", "0") not in ("0", "false"):
        raise unsupported(data, "a cyclic field")

    value = partial(attribute_of, kind=kind, numeric=numeric)
    by = {"valid": list[Value](), "missing": list[Value](), "invalid": list[Value]()}
    for one in data.all("Value"):
        by[word(one, "property", tuple(by), "valid")].append(value(one, "value"))
    valid = tuple(map(interval_of, data.all("Interval"))) if numeric else ()
    invalid = word(mining, "invalidValueTreatment", _TREATMENTS, "returnInvalid")
    if numeric and invalid == "returnInvalid" and (by["valid"] or len(valid) > 1):
        raise unsupported(
            data, "a list of valid numbers, or several intervals of them, all others being invalid",
            "Keep one interval, or let invalidValueTreatment say what becomes of the others.",
        )  # fmt: skip
    outliers = word(mining, "outliers", ("asIs", "asMissingValues", "asExtremeValues"), "asIs")
    low, high = number(mining, "lowValue", -math.inf), number(mining, "highValue", math.inf)
    if outliers != "asIs" and not (numeric and low <= high):
        raise wrong(mining, "has outliers without numbers between which there are none")
    fill, instead = value(mining, "missingValueReplacement"), value(mining, "invalidValueReplacement")
    needed = mining.attributes.get("missingValueTreatment") == "returnInvalid"
    if needed and fill is not None:
        raise unsupported(mining, "a missing value that is replaced, and has no prediction", _DIFFER)
    kept = {"asIs": True, "asValue": not (isinstance(instead, float) and low <= instead <= high)}
    if outliers != "asIs" and (valid or by["valid"] or by["invalid"]) and kept.get(invalid, False):
        raise unsupported(mining, "a treatment of outliers beside invalid values that are kept", _DIFFER)
    return Source(
        name=given(data, "name"),
        kind=kind,
        numeric=numeric,
        levels=() if numeric else tuple(map(str, by["valid"])),
        valid=valid,
        absent=tuple(by["missing"]),
        odd=tuple(by["invalid"]),
        fill=fill,
        needed=needed,
        invalid=invalid,
        instead=instead,
        outliers=outliers,
        low=low,
        high=high,
    )


def check_inner(schema: Element, scope: Scope) -> None:
    """Refuse an inner model's schema that treats values otherwise than the whole model's did before."""
    for mining in schema.all("MiningField"):
        known = scope.fields.get(mining.attributes.get("name", ""))
        text = mining.attributes.get("missingValueReplacement")
        if text is not None and known is not None:
            fill = made_of(text, known.kind, mining, numeric=known.numeric)
            if known.steps or known.source.fill != fill:
                raise unsupported(mining, "a replacement of missing values in an inner model alone")
        if mining.attributes.get("outliers", "asIs") != "asIs":
            raise unsupported(mining, "a treatment of outliers in an inner model")
        treated = mining.attributes.get("invalidValueTreatment")
        if treated in ("asMissing", "asValue") and (known is None or treated != known.source.invalid or known.steps):
            raise unsupported(mining, "a treatment of invalid values in an inner model")


# ------------------------------------------------------------------------------------------------- atoms


@dataclass(frozen=True, eq=False)
class Atoms:
    """A raw column in parts within which no test of the model changes.

    source:  the column; its place among those of the model.
    ends:    of numbers, the last one of each part but the last, rising.
    names:   of categories, one a part; behind them all others.
    usable:  a bit for each part, and one behind them for what is missing: those that have a prediction.
    """

    source: Source
    place: int
    ends: tuple[float, ...]
    names: tuple[str, ...]
    usable: int

    @property
    def count(self) -> int:
        """How many parts there are, without what is missing."""
        return len(self.ends) + 1 if self.source.numeric else len(self.names) + 1

    @property
    def missing(self) -> int:
        """The bit of what is missing."""
        return 1 << self.count

    def value(self, part: int) -> Value:
        """A raw value of a part."""
        if part == self.count:
            return None
        if not self.source.numeric:
            return (*self.names, OTHER)[part]
        if part < len(self.ends):
            return self.ends[part]
        return math.nextafter(self.ends[-1], math.inf) if self.ends else 0.0


def atoms_of(source: Source, place: int, cuts: set[float], names: set[str]) -> Atoms:
    """The parts of a column that these numbers, or these categories, make."""
    ends = tuple(sorted(cut for cut in cuts if math.isfinite(cut))) if source.numeric else ()
    known = tuple(sorted(names)) if not source.numeric else ()
    made = Atoms(source, place, ends, known, 0)
    usable = 0
    for part in range(made.count + 1):
        try:
            source.of(made.value(part))
            usable |= 1 << part
        except NoResultError:
            continue
    assert all(a < b for a, b in pairwise(ends))
    return replace(made, usable=usable)


__all__ = [
    "OTHER",
    "Atoms",
    "Field",
    "NoResultError",
    "Scope",
    "Source",
    "atoms_of",
    "check_inner",
    "scope_of",
    "written",
]
