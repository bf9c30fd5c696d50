"""Between floating-point numbers and exact ones: the only place in the package that rounds.

Every float is a rational number; `exact` reads it without loss. On the way back the direction of rounding is always
named: `nearest` is what the processor does (ties to even), `below` and `above` are the sound directions for lower
and upper bounds.

Source: IEEE 754-2019; Higham, Accuracy and Stability of Numerical Algorithms (2nd ed.), section 3.1, for `gamma`.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from mace.base.escape import short
from mace.errors import NumberError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNIT_ROUNDOFF = Fraction(1, 2**53)
UNIT_ROUNDOFF_32 = Fraction(1, 2**24)
SMALLEST_32 = Fraction(1, 2**149)
MOST_DIGITS = 4000  # of a number that is read, before or behind the point: Python writes none of more than 4300
MOST_BITS = 13_287  # the number of 4,000 nines has no more
NUMBER = re.compile(
    r"[-+]?([0-9]+(/(?P<below>[0-9]+))?|([0-9]+\.?[0-9]*|\.[0-9]+)([eE](?P<power>[-+]?[0-9]+))?)", re.ASCII
)
LARGEST_32 = Fraction((2**24 - 1) * 2**104)


def exact(number: object) -> Fraction:
    """The rational value of an int, float, Decimal, Fraction, numpy scalar, or a text such as `0.1` or `1/3`.

    Texts and Decimals are read as written: `exact("0.1")` is 1/10 while `exact(0.1)` is the double next to it.
    Raises NumberError (a ValueError too) for NaN, infinities, numbers of more than MOST_DIGITS digits before or behind
    the point, and anything that is not a number.
    """
    if isinstance(number, Fraction):
        return number
    if isinstance(number, str):
        return _of_text(number.strip())
    if isinstance(number, int):
        if number.bit_length() > MOST_BITS:
            raise _too_long(number)
        return Fraction(number)
    if isinstance(number, Decimal):
        # Not by way of a Fraction: 10 to the power of a billion would be written out.
        return _of_text(str(number))
    try:
        value = float(number)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise NumberError(f"{short(number)} is not a number") from None
    if not math.isfinite(value):
        raise NumberError(f"{short(number)} is not a finite number")
    return Fraction(value)


def _of_text(text: str) -> Fraction:
    found = NUMBER.fullmatch(text) if len(text) <= MOST_DIGITS else None
    if found is None:
        if len(text) > MOST_DIGITS:
            raise _too_long(text)
        raise NumberError(f"{short(text)} is not a finite number such as 3, 0.5, 1e-6 or 1/3")
    # A power of ten of a few letters could be longer than any memory.
    if abs(int(found["power"] or 0)) > MOST_DIGITS:
        raise _too_long(text)
    if found["below"] and not int(found["below"]):
        raise NumberError(f"{short(text)} divides by zero")
    return Fraction(text)


def _too_long(number: object) -> NumberError:
    return NumberError(f"{short(number)} has more than {MOST_DIGITS:,} digits", hint="Round it, or change its unit.")


def as_written(number: object) -> Fraction:
    """The number a person meant: 0.1 means 1/10, for steps and weights that are typed in, not computed."""
    if isinstance(number, Fraction):
        if max(abs(number.numerator), number.denominator).bit_length() > MOST_BITS:
            raise _too_long(number)
        return number
    if isinstance(number, (int, str, Decimal)):
        return exact(number)
    try:
        value = float(number)  # type: ignore[arg-type]
        # A whole number this small is written as itself.
        return Fraction(int(value)) if abs(value) < 2**53 and value.is_integer() else exact(repr(value))
    except (TypeError, ValueError, OverflowError):
        raise NumberError(f"{short(number)} is not a number") from None


def text(number: Fraction) -> str:
    """Exact text, `3` or `-1/3`, of any length; `exact` reads back what has no more than MOST_DIGITS digits."""
    above_line = _digits(number.numerator)
    return above_line if number.denominator == 1 else f"{above_line}/{_digits(number.denominator)}"


def _digits(whole: int) -> str:
    """A whole number in decimal, in pieces where Python would refuse to write so many digits."""
    if whole.bit_length() <= MOST_BITS:
        return str(whole)
    pieces, rest = [], abs(whole)
    while rest:
        rest, last = divmod(rest, 10**MOST_DIGITS)
        pieces.append(str(last).rjust(MOST_DIGITS, "0"))
    return ("-" if whole < 0 else "") + "".join(reversed(pieces)).lstrip("0")


def rounded_text(number: Fraction, rounded: Callable[[Fraction], float]) -> str:
    """Exact text that `Fraction` reads back: of a number of more digits than that, the float that `rounded` makes.

    rounded: `below` or `above`, so that a bound stays one.
    """
    if max(abs(number.numerator), number.denominator).bit_length() <= MOST_BITS:
        return text(number)
    value = rounded(number)
    return text(Fraction(value) if math.isfinite(value) else number)


def nearest(number: Fraction) -> float:
    """The closest double, ties to even; overflow gives an infinity, as the processor does."""
    try:
        return number.numerator / number.denominator
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def magnitude(number: Fraction) -> int:
    """The power of two that is about a number's size: 2^k is less than twice as large, and more than half as large."""
    return number.numerator.bit_length() - number.denominator.bit_length()


def moderate(size: float) -> bool:
    """Whether products and quotients of a few such sizes lose no more than a few roundings, relative to them."""
    return 1e-99 < size < 1e99


def below(number: Fraction) -> float:
    """The largest double that is <= number."""
    value = nearest(number)
    if value == math.inf or (math.isfinite(value) and Fraction(value) > number):
        return math.nextafter(value, -math.inf)
    return value


def above(number: Fraction) -> float:
    """The smallest double that is >= number."""
    return -below(-number)


def shown_above(upper: Fraction, lower: Fraction | None) -> float:
    """What was reached, as people see it: rounded up, or to the nearest double where the lower bound is the same."""
    return nearest(upper) if upper == lower else above(upper)


def shown_below(lower: Fraction, upper: Fraction | None) -> float:
    """A lower bound, as people see it: rounded down, or to the nearest double where that much was reached."""
    return nearest(lower) if upper == lower else below(lower)


def to_float32(value: float) -> float:
    """The closest float32 (ties to even) as a double; what numpy's `astype(float32)` gives, infinities included."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def nearest_float32(number: Fraction) -> float:
    """The closest float32 to an exact number, in one rounding (ties to even), as a double."""
    value = to_float32(nearest(number))
    if not math.isfinite(value) or Fraction(value) == number:
        return value
    rank = float32_to_rank(value)
    # Through the closest double it may be the neighbour of the closest one.
    around = [rank_to_float32(rank + k) for k in (-1, 0, 1)]
    near = min(abs(Fraction(x) - number) for x in around if math.isfinite(x))
    found = [x for x in around if math.isfinite(x) and abs(Fraction(x) - number) == near]
    return next(x for x in found if len(found) == 1 or float32_to_rank(x) % 2 == 0)


def next_float32(value: float) -> float:
    """The next float32 above `value`, which is itself a float32."""
    bits = int(struct.unpack("<i", struct.pack("<f", value + 0.0))[0])
    return float(struct.unpack("<f", struct.pack("<i", bits + 1 if bits >= 0 else bits - 1))[0])


def float_to_rank(value: float) -> int:
    """The place of a double among all doubles, in order; neighbours differ by one, and both zeros have place 0."""
    bits = int(struct.unpack("<q", struct.pack("<d", value))[0])
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def rank_to_float(rank: int) -> float:
    """The double at a place; inverse of `float_to_rank`."""
    magnitude = float(struct.unpack("<d", struct.pack("<q", abs(rank)))[0])
    return magnitude if rank >= 0 else -magnitude


def ranks_to_floats(ranks: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
    """The doubles at many places: `rank_to_float` of each."""
    import numpy as np

    places = np.array(ranks, np.int64)
    return np.where(places < 0, -1.0, 1.0) * np.abs(places).view(np.float64)


def floats_to_ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The places of many doubles, infinities too: `float_to_rank` of each."""
    import numpy as np

    places = np.abs(values).view(np.int64)
    return np.where(values < 0, -places, places)


def float32_to_rank(value: float) -> int:
    """The place of a float32 among all float32 numbers."""
    bits = int(struct.unpack("<i", struct.pack("<f", value))[0])
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF)


def rank_to_float32(rank: int) -> float:
    """The float32 at a place, as a double; inverse of `float32_to_rank`."""
    magnitude = float(struct.unpack("<f", struct.pack("<i", abs(rank)))[0])
    return magnitude if rank >= 0 else -magnitude


def gamma(operations: int, unit: Fraction = UNIT_ROUNDOFF) -> Fraction:
    """Higham's g(n) = n u / (1 - n u): the relative error of a sum of n + 1 floats, in any order."""
    return operations * unit / (1 - operations * unit)


# ---------------------------------------------------------------------------------------------- monotone tests


def first_holding(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Bisection: the least whole number in low + 1 .. high for which a monotone condition holds.

    It fails at `low` and holds at `high`, neither of which is asked. Used on indices of an axis and on ranks of floats;
    where small numbers pass a test, the last that passes is the one before the first that fails.
    """
    while high - low > 1:  # Invariant: it fails at `low` and holds at `high`.
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def farthest_holding(holds: Callable[[int], bool], near: int, far: int) -> int:
    """The whole number farthest from `near`, towards `far`, up to which a monotone condition holds; `near` if none."""
    if holds(far):
        return far
    towards = 1 if far > near else -1
    return near + towards * (first_holding(lambda k: not holds(near + towards * k), 0, max(1, abs(far - near))) - 1)


def first_float(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The least double above `low` for which a monotone condition holds; it fails at `low` and holds at `high`."""
    return rank_to_float(
        first_holding(lambda rank: holds(rank_to_float(rank)), float_to_rank(low), float_to_rank(high))
    )


def first_holding_each(
    holds: Callable[[NDArray[np.int64]], NDArray[np.bool_]], low: NDArray[np.int64], high: NDArray[np.int64]
) -> NDArray[np.int64]:
    """`first_holding` for one condition for each entry of the arrays; all three have the same shape."""
    import numpy as np

    while bool((high - 1 > low).any()):
        middle = (low >> 1) + (high >> 1) + (low & high & 1)  # ranks of doubles: the sum would overflow
        held = holds(middle)
        low, high = np.where(held, low, middle), np.where(held, middle, high)
    return high
