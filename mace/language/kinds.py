"""The sort of every expression, and the two limits of a linear language.

In:  an expression and the kinds of the names in scope.    Out: its kind, or a ProgramError at the part that is wrong.
Promise: an expression that passes has a value for every value of its names: operators get what `OPERATORS` says they
take, no product has two variable factors, and every divisor is a constant other than zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import assert_never

from mace.base.suggestions import closest, few
from mace.errors import ProgramError, Span
from mace.language.run import MEANING
from mace.language.show import show, show_text
from mace.language.syntax import (
    COMPARISONS,
    MAX_NESTING,
    OPERATORS,
    Apply,
    Expr,
    LevelIndex,
    Levels,
    Name,
    Number,
    Op,
    Text,
    TooLargeError,
    Truth,
    Value,
    comparable,
    fold,
    literal,
    numbers_of,
    out_of_order,
    too_deep,
)

BOOL, NUMBER, TEXT = "bool", "number", "text"


@dataclass(frozen=True, slots=True)
class Kind:
    """What an expression is: bool, number or text; whether it is constant; and how deep it nests."""

    sort: str
    constant: bool = False
    depth: int = 0
    # A loop index is one number in each round, so it may be a factor; but it may also be zero, so never a divisor.
    index: bool = False
    value: Value | None = None  # of a constant that holds no loop index
    # The levels of which it is a place; none at all where it is one of several lists.
    levels: tuple[str, ...] | None = None


class Kinds:
    """Finds kinds. `names` is what may be read here, `source` serves messages, `linear` see `check`."""

    def __init__(self, names: Mapping[str, Kind], levels: Levels, source: str, linear: bool = True) -> None:
        self.linear = linear
        self.names = names
        self.levels = levels
        self.source = source

    def of(self, expr: Expr) -> Kind:
        """The kind of an expression."""
        kind = fold(expr, self._kind)
        if kind.sort == TEXT:
            raise self._text(expr)
        return kind

    def wrong(self, message: str, span: Span | None, hint: str) -> ProgramError:
        """An error at a place in the source."""
        return ProgramError(message, span=span, text=self.source, hint=hint)

    def _kind(self, node: Expr, parts: Sequence[Kind]) -> Kind:
        match node:
            case Name(name=name):
                return replace(self.names[name], levels=self.levels.get(name, self.names[name].levels))
            case Number(value=value):
                if not isinstance(value, Fraction):
                    raise self.wrong(f"{value!r} is not exact", node.span, "Give a Fraction, such as Fraction(1, 10).")
                return Kind(NUMBER, constant=True, value=value)
            case Truth(value=truth):
                return Kind(BOOL, constant=True, value=truth)
            case Text():
                return Kind(TEXT, constant=True)
            case Apply():
                return self._kind_of_apply(node, parts)
            case _:
                assert_never(node)

    def _kind_of_apply(self, node: Apply, parts: Sequence[Kind]) -> Kind:
        op, signature = node.op, OPERATORS[node.op]
        if len(parts) < signature.least or (signature.most is not None and len(parts) > signature.most):
            most = "" if signature.most == signature.least else " or more"
            plural = "argument" if signature.most == 1 else "arguments"
            raise self.wrong(
                f"`{op.value}` takes {signature.least}{most} {plural} and got {len(parts)}", node.span,
                "Give it another argument, or leave it out.",
            )  # fmt: skip
        depth = 1 + max(part.depth for part in parts)
        if depth > MAX_NESTING:
            raise too_deep(node.span, self.source)
        constant, index = all(part.constant for part in parts), any(part.index for part in parts)
        if op in COMPARISONS and any(part.sort == TEXT for part in parts):
            self._compared_text(node)
            return Kind(BOOL, constant=False, depth=depth)
        if (odd := not_meant(node, self.levels) or self._other_places(node, parts)) is not None:
            raise self.wrong(odd[0], node.span, odd[1])
        for arg, part in zip(node.args, parts, strict=True):
            if part.sort == TEXT:
                raise self._text(arg)
        if op is Op.IF:
            self._expect(BOOL, node.args[0], parts[0], "the test of `if`")
            self._alike(node, parts[1:], node.args[1:])
            return Kind(
                parts[1].sort,
                constant,
                depth,
                index,
                self._value(node, parts),
                either(parts[1].levels, parts[2].levels),
            )
        if signature.takes == "same":
            self._alike(node, parts, node.args)
        else:
            for arg, part in zip(node.args, parts, strict=True):
                self._expect(signature.takes, arg, part, f"`{op.value}`")
        if self.linear and op is Op.TIMES and sum(not part.constant for part in parts) > 1:
            raise self.wrong(
                "this is a product of two variables", node.span,
                "The language is linear: at most one factor may be other than a constant (`const`).",
            )  # fmt: skip
        if op is Op.DIVIDE:
            self._divisor(node.args[1], parts[1])
        return Kind(signature.gives, constant, depth, index, self._value(node, parts))

    def _other_places(self, node: Apply, parts: Sequence[Kind]) -> tuple[str, str] | None:
        """Message and hint where a place in a list of levels would count as one in another, or as a number."""
        if node.op is Op.IF:
            return None
        held = [part.levels for part in parts if part.levels is not None]
        asked = [*zip(node.args, parts, strict=True)]
        computed = [
            (arg, part.levels) for arg, part in asked if not (isinstance(arg, Name) and arg.name in self.levels)
        ]
        odd = next((arg for arg, own in computed if own is not None and (not own or numbers_of(own))), None)
        if odd is None and computed and node.op in COMPARISONS and len(set(held)) > 1:
            odd = computed[0][0]
        if odd is None:
            return None
        return (
            f"`{show(odd)}` is the place of a level in its own list, which says nothing here",
            "Compare the inputs themselves, or each with a level, and assign what comes of it.",
        )

    def _value(self, node: Apply, parts: Sequence[Kind]) -> Value | None:
        """The value of a constant; a number that is too large is refused here, before anything computes with it."""
        values = [part.value for part in parts if part.value is not None]
        if len(values) < len(parts):
            return None
        try:
            return MEANING[node.op](values)
        except TooLargeError as error:
            raise error.at(node.span, self.source) from None

    def _divisor(self, arg: Expr, part: Kind) -> None:
        if self.linear and (not part.constant or part.index):
            raise self.wrong(
                f"division by `{show(arg)}`, which is not a constant", arg.span,
                "Divide by a number or a `const`, or multiply both sides out.",
            )  # fmt: skip
        if part.value == 0:
            raise self.wrong("division by zero", arg.span, "Divide by a number other than zero.")

    def _expect(self, sort: str, arg: Expr, part: Kind, taker: str) -> None:
        if part.sort != sort:
            raise self.wrong(
                f"{taker} takes a {sort}, and `{show(arg)}` is a {part.sort}", arg.span,
                "Compare it to make a bool, such as `x > 0`." if sort == BOOL
                else "Turn it into a number with `1 if ... else 0`.",
            )  # fmt: skip

    def _alike(self, node: Apply, parts: Sequence[Kind], args: Sequence[Expr]) -> None:
        if parts[0].sort != parts[1].sort:
            raise self.wrong(
                f"`{node.op.value}` takes two of one sort: `{show(args[0])}` is a {parts[0].sort}, "
                f"`{show(args[1])}` a {parts[1].sort}", node.span,
                "Compare numbers with numbers, and bools with bools.",
            )  # fmt: skip

    def _text(self, expr: Expr) -> ProgramError:
        text = show(expr)
        return self.wrong(
            f"the text {text} stands for a level only beside the input that it is compared with", expr.span,
            f"Write a comparison such as `job == {text}`, with `job` declared as `one of {text}, ...`.",
        )  # fmt: skip

    def _compared_text(self, node: Apply) -> None:
        match node.args:
            case (Text() as text, other) | (other, Text() as text):
                pass
            case _:
                raise AssertionError(node)
        if not isinstance(other, Name) or other.name not in self.levels:
            raise self.wrong(
                f"the text {show(text)} is compared with `{show(other)}`, which is not an input with levels",
                text.span or node.span, f"Declare it as `one of {show(text)}, ...`, or compare with a number.",
            )  # fmt: skip
        levels = self.levels[other.name]
        if text.value not in levels:
            message, hint = no_level(show(other), text.value, levels)
            raise self.wrong(message, text.span or node.span, hint)
        if (odd := not_meant(node, self.levels)) is not None:
            raise self.wrong(odd[0], node.span, odd[1])


def either(one: tuple[str, ...] | None, other: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """The levels of what is one of two things; a number beside a place is one as well."""
    if one is None or other is None or one == other:
        return one if other is None else other
    return ()


def not_meant(node: Apply, levels: Levels) -> tuple[str, str] | None:
    """Message and hint where people would not take the name of a level for its index, as it would be; else None."""
    if node.op not in COMPARISONS:
        odd = next((one for one in node.args if isinstance(one, Name) and numbers_of(levels.get(one.name, ()))), None)
        if odd is None or OPERATORS[node.op].takes != "number":
            return None
        return (
            f"`{show(odd)}` has levels, and would count by their places here, not by the numbers that they are",
            "Declare it as an integer, or compare it with each of its levels.",
        )
    for name, other in (node.args, node.args[::-1]):
        if not isinstance(name, Name) or name.name not in levels:
            continue
        own = levels[name.name]
        if out_of_order(node.op, own) and (isinstance(other, Text) or isinstance(other, Name) and other.name in levels):
            return (
                f"the levels of `{show(name)}` are numbers, in another order ({few(own)}), so that `{node.op.value}` "
                "may mean either",
                f"Compare it with a number (`{show(name)} {node.op.value} {own[0]}`), or declare the levels from the "
                "least to the largest.",
            )
        if isinstance(other, Name) and other.name in levels:
            if comparable(node.op, own, levels[other.name]):
                continue
            return (
                f"`{show(name)}` and `{show(other)}` have levels in different orders, so that neither is more",
                "Declare both with the same levels, or compare each with a level.",
            )
        if numbers_of(own) is not None and not isinstance(other, Text | LevelIndex) and literal(other) is None:
            return (
                f"`{show(name)}` has levels, which are numbers, and `{show(other)}` is not one of them",
                f"Compare it with one, such as `{show(name)} {node.op.value} {own[0]}`, or declare an integer.",
            )
    return None


def no_level(shown: str, level: str, levels: Sequence[str]) -> tuple[str, str]:
    """Message and hint about a text that is no level of the name that is shown."""
    close = closest(level, levels)
    hint = f"Did you mean {show_text(close)}?" if close else f"Its levels are {few(map(show_text, levels))}."
    return f"`{shown}` has no level {show_text(level)}", hint
