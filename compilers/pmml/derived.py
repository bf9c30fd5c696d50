"""Fields derived of others: of one column, a `Field` after expressions; a sum of several numbers, a `Sum`.

In:  TransformationDictionary, LocalTransformations.    Out: a `Scope` with their names.
Promise: what a field is derived of stands before it. A sum stands where its numbers are added to others, as in a line
behind a projection; a test of it is a ModelError. Where a number of a sum is missing, the row has no prediction: `sum`
would leave it out, and `+` would not.
Source: PMML 4.4, Transformations, Built-in functions (dmg.org/pmml/v4-4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from mace.base.exact import exact
from mace.compilers.formats.xml import Element
from mace.compilers.pmml.arithmetic import DEEPEST, applied, constant
from mace.compilers.pmml.content import Number, Sum
from mace.compilers.pmml.expressions import EXPRESSIONS, KINDS, Cast, Expression, expression_of
from mace.compilers.pmml.fields import Field, Scope
from mace.compilers.pmml.tags import given, unsupported, word, wrong

_ADDED = ("sum", "+", "-")
_ONE = Fraction(1)


def derived(scope: Scope, within: Element | None) -> Scope:
    """With the fields that a TransformationDictionary, or LocalTransformations, derives."""
    for element in [] if within is None else within.children:
        if element.name == "DefineFunction":
            raise unsupported(element, "a function of its own", "Write what it does where it is used.")
        if element.name != "DerivedField":
            continue
        name = given(element, "name")
        total = _total(element, scope)
        if total is None:
            scope = replace(scope, fields={**scope.fields, name: _of_one(element, scope)})
        elif name in scope.fields:
            raise wrong(element, f"derives `{name[:60]}`, which is there already")
        else:
            scope = replace(scope, scores={**scope.scores, name: total})
    return scope


# ------------------------------------------------------------------------------------------------- one column


def _of_one(element: Element, scope: Scope) -> Field:
    """A field derived of one."""
    kind = word(element, "dataType", KINDS)
    optype = word(element, "optype", ("continuous", "categorical", "ordinal"))
    numeric = optype == "continuous" and kind in ("integer", "float", "double")
    inner = element.first(*EXPRESSIONS)
    if inner is None:
        what = next((child.name for child in element.children if child.name != "Value"), "nothing")
        raise unsupported(
            element, f"a field derived by {what}", "Derive it before the model, as a column of its own. "
            f"Supported are {', '.join(EXPRESSIONS)}, of one field each.",
        )  # fmt: skip
    if inner.name == "Apply":
        return _computed(element, inner, kind, scope, numeric=numeric)
    columns = inner.all("FieldColumnPair") or [inner]
    before = scope.field(given(columns[0], "field"), inner)
    made = expression_of(inner, kind, before.kind, numeric=numeric, from_number=before.numeric)
    steps: list[Expression] = [*before.steps, made]
    gives_number = inner.name in ("NormContinuous", "NormDiscrete") or (inner.name == "FieldRef" and before.numeric)
    if gives_number and not numeric:
        raise unsupported(element, "a number as a category", "Write it as a DerivedField with optype=continuous.")
    if inner.name == "FieldRef" and not before.numeric and numeric:
        raise unsupported(element, "a category as a number")
    if numeric:
        steps.append(Cast(single=kind == "float"))
    return Field(before.source, tuple(steps), kind, numeric)


def _computed(element: Element, inner: Element, kind: str, scope: Scope, *, numeric: bool) -> Field:
    """A field that an Apply computes of one number."""
    name, operations = applied(inner, kind)
    before = scope.field(name, inner)
    if not (numeric and before.numeric) or kind == "integer":
        raise unsupported(element, "an Apply of a category, or that gives one or a whole number")
    steps = (*before.steps, *operations, Cast(single=kind == "float"))
    return Field(before.source, steps, kind, numeric)


# ------------------------------------------------------------------------------------------------- sums of several


def _total(element: Element, scope: Scope) -> Sum | None:
    """The sum that a field is; None where it is something else, or of one column."""
    inner = element.first("Apply")
    if inner is None or not _adds(inner, scope):
        return None
    if element.attributes.get("optype") != "continuous" or element.attributes.get("dataType") != "double":
        raise unsupported(element, "a sum that is no double", 'Write it with optype="continuous" dataType="double".')
    return _sum(inner, scope, 0)


def _adds(apply: Element, scope: Scope) -> bool:
    """Whether an Apply adds up fields, and not one field and a constant."""
    if apply.attributes.get("function") not in _ADDED:
        return False
    return len(_fields(apply)) > 1 or any(name in scope.scores for name in _fields(apply))


def _fields(apply: Element) -> set[str]:
    """The names of the fields below an Apply."""
    return {given(one, "field") for one in apply.walk() if one.name == "FieldRef"}


def _sum(element: Element, scope: Scope, deep: int) -> Sum:
    """What an expression adds up."""
    if element.name == "Constant":
        return Sum(exact(constant(element)), ())
    if element.name == "FieldRef":
        name = given(element, "field")
        score = scope.scores.get(name) if name not in scope.fields else None
        return score if isinstance(score, Sum) else _number(element, name, (), scope)
    if element.name == "Apply" and _adds(element, scope) and deep < DEEPEST:
        for name in ("mapMissingTo", "defaultValue", "invalidValueTreatment"):
            if element.attributes.get(name, "returnInvalid") != "returnInvalid":
                raise unsupported(element, f"an Apply with {name}, of several fields")
        return _joined(element, [_sum(one, scope, deep + 1) for one in element.children])
    if element.name != "Apply":
        raise unsupported(element, "a sum of anything but numbers")
    name, operations = applied(element, "double")
    return _number(element, name, operations, scope)


def _joined(element: Element, parts: Sequence[Sum]) -> Sum:
    """Parts added, or one less another."""
    operator = element.attributes.get("function")
    if not parts or operator != "sum" and len(parts) != 2:
        raise wrong(element, f"has {len(parts)} parts")
    signs = [_ONE, -_ONE] if operator == "-" else [_ONE] * len(parts)
    total = Sum(Fraction(0), ())
    for part, sign in zip(parts, signs, strict=True):
        total = total.plus(part.times(sign))
    return total


def _number(element: Element, name: str, operations: Sequence[Expression], scope: Scope) -> Sum:
    """The number that a field is after some operations."""
    before = scope.field(name, element)
    if not before.numeric or any(step.absent is not None for step in operations):
        raise unsupported(element, "a sum of categories, or of numbers that stand for missing ones")
    field = Field(before.source, (*before.steps, *operations, Cast(single=False)), "double", numeric=True)
    return Sum(Fraction(0), ((Number(field), _ONE),))
