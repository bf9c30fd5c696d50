"""Numbers, values of features and shares as people read them.

In:  a value in its own type.    Out: a text in one line.
Promise: a bound can be rounded so that it says no more than was proved; what is not all is no 100 %, and what is not
nothing no 0 %.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any, Literal

from mace.base.escape import one_line

Rounding = Literal["down", "up", "nearest"]
_ROUNDING = {"down": ROUND_FLOOR, "up": ROUND_CEILING, "nearest": ROUND_HALF_EVEN}
DIGITS = 9  # of a bound
MOVED = 12  # of a difference
MOST_DIGITS = 17  # of a float that is read back as the same one


def number(value: Fraction | float, digits: int = 6, rounding: Rounding = "nearest") -> str:
    """A number with so many significant digits; a lower bound is rounded down, an upper bound up.

    From 10^15 on, and below 10^-5, it has an exponent.
    """
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    top, bottom = value.as_integer_ratio()
    rounded = Context(prec=digits, rounding=_ROUNDING[rounding]).divide(Decimal(top), Decimal(bottom))
    if rounded and not -5 <= rounded.adjusted() < 15:
        return f"{rounded.normalize():e}"
    text = f"{rounded:,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def counted(count: int, one: str, several: str = "") -> str:
    """How many of something: `1 row`, `2 rows`.

    several: the word for more than one, where it is not the word for one and an s.
    """
    return f"1 {one}" if count == 1 else f"{count:,} {several or f'{one}s'}"


def size_of(count: int) -> str:
    """So many bytes, in a unit in which they are no long number and not nothing."""
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB" if count >= 1e3 else f"{count} bytes"


def at_least(lower: Fraction | float, digits: int = DIGITS) -> str:
    """A lower bound, which says no more than was proved."""
    return number(lower, digits, "down")


def at_most(upper: Fraction | float, digits: int = DIGITS) -> str:
    """An upper bound likewise."""
    return number(upper, digits, "up")


def cell(value: Any, unit: str = "") -> str:
    """A value of a feature, as people write it, in one line; a float that is read back is the same one.

    The nearest change ends on the last float before, or the first behind, a threshold: rounded, it may miss the goal.
    """
    if value is None or value != value:
        return "missing"
    words = isinstance(value, bool) or not isinstance(value, (int, float))
    shown = value if words else f"{value:,}" if isinstance(value, int) else _read_back(value)
    return one_line(f"{shown} {unit}".strip())


def _read_back(value: float) -> str:
    """The shortest text that reads as this float, with commas between thousands."""
    return number(value if math.isinf(value) else Fraction(repr(float(value))), MOST_DIGITS)


def move(before: Any, after: Any) -> str:
    """By how much a number moves; nothing for what is no number."""
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in (before, after)):
        return ""
    # As people subtract: 0.3 - 0.1 is 0.2.
    by = Decimal(str(after)) - Decimal(str(before))
    size = f"{abs(int(by)):,}" if by == int(by) else number(abs(Fraction(by)), MOVED)
    return f"{'+' if by > 0 else '-'}{size}"


def percent(share: float | None, *, exact: bool = False) -> str:
    """A share in percent; what is not all never shows as 100 %, what is not nothing never as 0 %."""
    if share is None:
        return "none"
    text = f"{share:.1%}"
    if not exact and text == "100.0%" and share < 1:
        return ">99.9%"
    if not exact and text == "0.0%" and share > 0:
        return "<0.1%"
    return text
