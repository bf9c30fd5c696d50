"""What can be verified: a property is a value, with a text that is read back as the same.

In:  calls such as `monotone("Income", "increasing")`, or the same as text: `monotone(Income, increasing)`.
Out: one of the frozen classes below; `read` for texts.
Promise: nothing is evaluated: a text is a name, a parenthesis, and words, numbers, texts and lists of them.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mace.base.escape import short
from mace.base.exact import as_written, nearest
from mace.base.files import read_text
from mace.base.suggestions import meant
from mace.base.values import plain
from mace.errors import MaceError, NumberError

Direction: TypeAlias = Literal["increasing", "decreasing"]


@dataclass(frozen=True)
class Monotone:
    """Moving one feature alone in a direction never turns a favourable decision into another one.

    favourable: classes; None: the second of two. For a model that predicts a number: the number never falls.
    What is missing is neither above nor below any value: rows that lack the feature are compared with none, and what
    another feature lacks is missing in both inputs.
    """

    feature: str
    direction: Direction = "increasing"
    favourable: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Fair:
    """Changing only these features never changes the decision.

    A value that is missing is one more value: from a number to none, and back, is a change too.
    within: numbers of all other features may differ too, each by this part of its range; what is missing, and other
            levels, stay the same.
    """

    features: tuple[str, ...]
    within: Fraction = Fraction(0)


@dataclass(frozen=True, eq=False)
class Robust:
    """No input closer to a row than `radius` gets another decision; None: the largest such radius is found.

    row: a row, or the number of a row of the data. Inputs that lack a number which the row has, or have one that it
         lacks, are at no distance from it: the verdict names the features whose numbers may be missing.
    """

    row: Any
    radius: Fraction | None = None
    distance: str = "l1"


@dataclass(frozen=True)
class Reachable:
    """Some allowed input gets this class."""

    label: Any


@dataclass(frozen=True)
class Unreachable:
    """No allowed input gets this class."""

    label: Any


@dataclass(frozen=True)
class Bounded:
    """The predicted number, or the probability of class `label`, lies in lower..upper wherever `where` holds."""

    lower: float | None = None
    upper: float | None = None
    where: tuple[str, ...] = ()
    label: Any = None


@dataclass(frozen=True, eq=False)
class Equivalent:
    """Another model gives the same decision (or number) on every allowed input.

    other: the model, the path of its file, or a program of the core language.
    """

    other: Any


@dataclass(frozen=True)
class Holds:
    """A program of the core language is true for all inputs.

    It reads features and `f`, the class of the model (its number, or its label as a text); of a second input it may
    read `other_` features and `other_f`. Features whose `other_` name it does not read are the same in both inputs,
    missing ones too; of a number that may be missing it can read nothing.
    """

    program: str


Property: TypeAlias = Monotone | Fair | Robust | Reachable | Unreachable | Bounded | Equivalent | Holds


def monotone(feature: str, direction: str = "increasing", favourable: Any = None) -> Monotone:
    """See `Monotone`; `favourable` is a class or a list of classes."""
    if direction not in ("increasing", "decreasing"):
        raise MaceError(f"monotone: the direction is `increasing` or `decreasing`, got {direction!r}")
    good = None if favourable is None else _several(favourable)
    if good == ():
        raise MaceError("monotone: name a favourable class", hint="Without `favourable` it is the second of two.")
    return Monotone(str(feature), direction, good)  # type: ignore[arg-type]


def fair(*features: str, within: object = 0) -> Fair:
    """See `Fair`: `fair("Sex")`, `fair("Sex", "Race", within="1/20")`."""
    if not features:
        raise MaceError("fair: name the protected features", hint='For instance fair("Sex").')
    part = _number("fair", "within", within)
    assert part is not None
    if not 0 <= part <= 1:
        raise MaceError(f"fair: `within` is a part of each range, from 0 to 1; got {within!r}")
    return Fair(tuple(map(str, features)), part)


def robust(row: Any, radius: object = None, distance: str = "l1") -> Robust:
    """See `Robust`."""
    known = _number("robust", "radius", radius)
    if known is not None and known <= 0:
        raise MaceError(f"robust: the radius must be > 0, got {radius!r}")
    # NumPy's whole numbers are numbers of rows, as people find them by `np.flatnonzero`.
    return Robust(int(row) if isinstance(row, Integral) and not isinstance(row, bool) else row, known, str(distance))


def reachable(label: Any) -> Reachable:
    """See `Reachable`."""
    return Reachable(label)


def unreachable(label: Any) -> Unreachable:
    """See `Unreachable`."""
    return Unreachable(label)


def bounded(lower: Any = None, upper: Any = None, where: Any = (), label: Any = None) -> Bounded:
    """See `Bounded`; `where` is a condition or a list of conditions between features."""
    if lower is None and upper is None:
        raise MaceError("bounded: give `lower`, `upper`, or both")
    ends = [
        None if end is None else nearest(_number("bounded", "a bound", end) or Fraction(0)) for end in (lower, upper)
    ]
    if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
        raise MaceError(f"bounded: no number is >= {ends[0]:g} and <= {ends[1]:g}", hint="The lower bound comes first.")
    return Bounded(ends[0], ends[1], tuple(map(str, _several(where))), label)


def equivalent(other: Any) -> Equivalent:
    """See `Equivalent`."""
    return Equivalent(other)


def holds(program: str | Path) -> Holds:
    """See `Holds`; a Path is a .mace file."""
    if isinstance(program, Path) or program.endswith(".mace"):
        from mace.language.syntax import MAX_BYTES

        program = read_text(Path(program), "Give the path of a .mace program.", MAX_BYTES)
    return Holds(program)


READY: Mapping[str, Callable[..., Property]] = {
    "monotone": monotone,
    "fair": fair,
    "robust": robust,
    "reachable": reachable,
    "unreachable": unreachable,
    "bounded": bounded,
    "equivalent": equivalent,
    "holds": holds,
}


def text_of(given: Property) -> str:
    """The property as text; a model, or a row, that is no file and no number is shown by its kind."""
    shown = []
    for place, field in enumerate(fields(given)):
        value = getattr(given, field.name)
        if isinstance(given, Fair) and field.name == "features":
            shown += [_word(name) for name in value]
        elif isinstance(given, Equivalent) and (not isinstance(value, (str, Path)) or is_program(value)):
            shown.append("a program" if isinstance(value, str) else type(value).__name__)
        elif isinstance(given, Robust) and field.name == "row" and not isinstance(value, int):
            shown.append("a row")
        elif field.name == "direction":
            shown.append(value)
        elif value != field.default and value is not None:
            shown.append(_word(value) if not place else f"{field.name}={_word(value)}")
    return f"{type(given).__name__.lower()}({', '.join(shown)})"


def is_program(text: str | Path) -> bool:
    """Whether a text is a program itself, and not the name of a file."""
    return isinstance(text, str) and ("\n" in text or "return" in text.split())


def _word(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return _word(value[0]) if len(value) == 1 else "[" + ", ".join(map(_word, value)) + "]"
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else f'"{value}"'
    value = plain(value)
    text = str(value)
    if isinstance(value, (str, Path)):
        return text if text.isidentifier() else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return text


def read(text: str) -> Property:
    """A property from its text; raises MaceError saying what was expected."""
    hint = f"For instance `monotone(Income, increasing)`; the properties are {', '.join(READY)}."
    shown = short(text, 200)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python thinks of the style of a number is no message of ours
            call = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        quoted = 'A name with spaces or other signs stands in quotes: `monotone("late payments", decreasing)`.'
        whole = text.count("(") == text.count(")")
        raise MaceError(f"the property {shown} cannot be read", hint=f"{quoted} {hint}" if whole else hint) from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in READY:
        word = text.partition("(")[0].strip()
        raise MaceError(f"the property {shown} is none that mace knows", hint=meant(word, READY, hint))
    try:
        given = [_literal(part) for part in call.args]
        named = {part.arg: _literal(part.value) for part in call.keywords if part.arg is not None}
        if len(named) != len(call.keywords):
            raise ValueError("`**` has no meaning here")
        return READY[call.func.id](*given, **named)
    except (TypeError, ValueError, RecursionError) as error:
        if call.func.id == "holds":
            hint = 'A program stands in quotes: `holds("Age < 18 implies f == 0")`.'
        raise MaceError(f"the property {shown} cannot be read: {error}", hint=hint) from None


def _literal(node: ast.expr) -> Any:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=value) if isinstance(value, (str, int, float, bool)) or value is None:
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=value)) if isinstance(value, (int, float)):
            return -value
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_literal(part) for part in parts]
        case _:
            raise ValueError("expected words, numbers, texts in quotes, and lists of them")


def _several(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, str) else (value,)


def _number(name: str, what: str, value: object) -> Fraction | None:
    if value is None:
        return None
    if isinstance(value, bool):
        raise MaceError(f"{name}: {what} must be a number, got {value!r}")
    try:
        return as_written(value)
    except NumberError as error:
        raise MaceError(f"{name}: {what} must be a number: {error.message}", hint=error.hint) from None
