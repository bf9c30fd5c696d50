"""PMML's Apply of plus, minus, times and divided by, of one field and constants: how scalers are written.

In:  an Apply element.    Out: the name of its field, and its operations in order, each an `Expression`.
Promise: each operation rounds once to a double, as scorers compute it, and is monotone. Anything else is a ModelError.
Source: PMML 4.4, Built-in functions (dmg.org/pmml/v4-4/BuiltinFunctions.html); sklearn2pmml writes StandardScaler,
MinMaxScaler and the like in this way.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from mace.compilers.formats.xml import Element
from mace.compilers.pmml.expressions import FARTHEST, Expression, Value, attribute_of, turns
from mace.compilers.pmml.tags import given, number_of, unsupported
from mace.space.columns import Step

_OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
_HINT = "Derive it before the model, as a column of its own. Supported are + - * / of one field and constants."
DEEPEST = 20


@dataclass(frozen=True, eq=False)
class Operation(Expression):
    """The value plus, minus, times or divided by a number; `before`: the number minus the value."""

    operator: str = "add"
    number: float = 0.0
    before: bool = False

    def present(self, value: float | str) -> Value:
        """See `Expression`."""
        if not isinstance(value, float):
            return None
        match self.operator:
            case "add":
                return value + self.number
            case "sub":
                return self.number - value if self.before else value - self.number
            case "mul":
                return value * self.number
            case _:
                return value / self.number

    def back(self, cuts: Iterable[float]) -> set[float]:
        """See `Expression`."""
        return {cut for number in cuts for cut in turns(self.present, number, -FARTHEST, FARTHEST)}

    def steps(self) -> tuple[Step, ...]:
        """The same as a `Column` has it, to the last bit."""
        if self.before:
            return (("mul", -1.0), ("add", self.number))
        return ((self.operator, self.number),)  # type: ignore[return-value]


class Applied(NamedTuple):
    """A field, and what is done with it."""

    field: str
    steps: tuple[Expression, ...]


def applied(element: Element, kind: str, deep: int = 0) -> Applied:
    """What an Apply makes of which field; `kind`: the type of what leaves it. Raises ModelError."""
    name = given(element, "function")
    if name not in _OPERATORS or deep > DEEPEST:
        raise unsupported(element, f"a field derived by Apply of `{name[:40]}`", _HINT)
    for attribute in ("defaultValue", "invalidValueTreatment"):
        if element.attributes.get(attribute, "returnInvalid") != "returnInvalid":
            raise unsupported(element, f"an Apply with {attribute}", _HINT)
    parts = element.all("FieldRef", "Apply", "Constant")
    constants = [part for part in parts if part.name == "Constant"]
    if len(parts) != 2 or len(parts) != len(element.children) or len(constants) != 1:
        raise unsupported(element, "an Apply of anything but one field and constants", _HINT)
    first = parts[0] is constants[0]
    inner = parts[1] if first else parts[0]
    number, operator = constant(constants[0]), _OPERATORS[name]
    if operator in ("mul", "div") and not 1e-150 < abs(number) < 1e150 or abs(number) > FARTHEST / 4:
        raise unsupported(element, f"an Apply that is {name} {number!r}", _HINT)
    if first and operator == "div":
        raise unsupported(element, "a number divided by a field", _HINT)
    if inner.name == "Apply":
        field, before = applied(inner, "double", deep + 1)
    else:
        lacking = Expression(attribute_of(inner, "mapMissingTo", "double", numeric=True))
        field, before = given(inner, "field"), (lacking,)
    absent = attribute_of(element, "mapMissingTo", kind, numeric=True)
    made = Operation(absent, operator, number, first and operator == "sub")
    return Applied(field, (*before, made))


def constant(element: Element) -> float:
    """The number of a Constant, which has to be a double: among whole numbers and floats programs divide otherwise."""
    number, text = number_of(element.text.strip(), element, "a constant"), element.text.strip().lower()
    kind = element.attributes.get("dataType") or ("double" if set(text) & set(".e") else "integer")
    if kind != "double" or element.attributes.get("missing", "false") not in ("false", "0"):
        raise unsupported(
            element, f"a constant of the type {kind[:20]} in an Apply", 'Write it with dataType="double".'
        )
    assert math.isfinite(number)
    return number
