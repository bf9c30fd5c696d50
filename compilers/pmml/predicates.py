"""PMML's predicates: true, false or unknown of a row.

In:  a predicate element, and the fields that it may be about.
Out: a `Test` of one field, or `Several` of them.
Promise: `holds` is three-valued as the standard has it: a comparison with a missing value is unknown. Predicates of
other kinds are a ModelError.
Source: PMML 4.4, TreeModel, Predicates (dmg.org/pmml/v4-4/TreeModel.html).
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from mace.compilers.formats.xml import Element
from mace.compilers.pmml.expressions import Value, made_of
from mace.compilers.pmml.fields import Field, Scope
from mace.compilers.pmml.tags import given, unsupported, word, wrong

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "equal": operator.eq, "notEqual": operator.ne, "lessThan": operator.lt, "lessOrEqual": operator.le,
    "greaterThan": operator.gt, "greaterOrEqual": operator.ge,
}  # fmt: skip
_UNARY = ("isMissing", "isNotMissing")
PREDICATES = ("SimplePredicate", "SimpleSetPredicate", "CompoundPredicate", "True", "False")
_ITEM = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')
DEEPEST = 50

Row: TypeAlias = Mapping[str, Value]  # raw values by the names of raw columns


@dataclass(frozen=True, eq=False)
class Test:
    """A comparison of one field with one value, or with a set of them.

    operator: of the file; isIn and isNotIn for sets.
    """

    field: Field
    operator: str
    values: tuple[float | str, ...] = ()

    def of(self, raw: Value) -> bool | None:
        """Whether it holds for a raw value of the field's column; None if that is unknown."""
        value = self.field.of(raw)
        if self.operator in _UNARY:
            return (value is None) == (self.operator == "isMissing")
        if value is None:
            return None
        if self.operator in ("isIn", "isNotIn"):
            return (value in self.values) == (self.operator == "isIn")
        return _COMPARE[self.operator](value, self.values[0])

    def holds(self, row: Row) -> bool | None:
        """The same of a row."""
        return self.of(row[self.field.source.name])

    def cuts(self) -> set[float]:
        """Numbers of the raw column between which it does not change."""
        at = [one for one in self.values if isinstance(one, float)] if self.field.numeric else []
        return self.field.cuts({*at, *(math.nextafter(one, -math.inf) for one in at)})

    def names(self) -> set[str]:
        """Categories that tell apart what it says of all others."""
        own = set() if self.field.numeric or self.field.steps else {str(one) for one in self.values}
        return self.field.names() | own


@dataclass(frozen=True, eq=False)
class Several:
    """Predicates together: `and`, `or`, `xor`, or `surrogate`, the first one that is not unknown. None: always true, or
    if `or`, never."""

    how: str
    parts: tuple[Predicate, ...]

    def holds(self, row: Row) -> bool | None:
        """See `Test.holds`."""
        said: bool | None = self.how == "and"
        if self.how == "surrogate":
            return next((found for part in self.parts if (found := part.holds(row)) is not None), None)
        if self.how == "xor":
            each = [part.holds(row) for part in self.parts]
            return None if None in each else sum(map(bool, each)) % 2 == 1
        for part in self.parts:
            found = part.holds(row)
            if found is (self.how == "or"):
                return found
            said = None if found is None else said
        return said


Predicate: TypeAlias = Test | Several
TRUE = Several("and", ())


def predicate_of(element: Element, scope: Scope, deep: int = 0) -> Predicate:
    """The predicate that an element is."""
    if deep > DEEPEST:
        raise unsupported(element, f"predicates nested deeper than {DEEPEST}")
    if element.name in ("True", "False"):
        return TRUE if element.name == "True" else Several("or", ())
    if element.name == "CompoundPredicate":
        how = word(element, "booleanOperator", ("and", "or", "xor", "surrogate"))
        parts = tuple(predicate_of(one, scope, deep + 1) for one in element.all(*PREDICATES))
        if not parts:
            raise wrong(element, "has no predicates")
        return Several(how, parts)
    field = scope.field(given(element, "field"), element)
    if element.name == "SimpleSetPredicate":
        how = word(element, "booleanOperator", ("isIn", "isNotIn"))
        array = element.first("Array")
        if array is None:
            raise wrong(element, "has no Array")
        found = tuple(made_of(text, field.kind, array, numeric=field.numeric) for text in items_of(array))
        return Test(field, how, found)
    how = word(element, "operator", (*_COMPARE, *_UNARY))
    if how in _UNARY:
        return Test(field, how)
    if not field.numeric and how not in ("equal", "notEqual"):
        raise unsupported(element, f"{how} of a category")
    return Test(field, how, (made_of(given(element, "value"), field.kind, element, numeric=field.numeric),))


def inside(element: Element, scope: Scope) -> Predicate:
    """The predicate of a node, an attribute, a segment."""
    found = element.first(*PREDICATES)
    if found is None:
        raise wrong(element, "has no predicate that is known")
    return predicate_of(found, scope)


def items_of(array: Element) -> list[str]:
    """The items of an Array: words, or texts in quotes, in which a backslash makes the next quote part of the text.

    How many it says there are is not asked: published files are wrong about it.
    """
    return [quoted.replace('\\"', '"') if quoted or not word else word for quoted, word in _ITEM.findall(array.text)]
