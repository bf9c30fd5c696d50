"""Exact numbers, and floats as integers: a double x is the integer x * 2^1074, infinity is `INFINITE`.

No floating-point arithmetic is done anywhere in the kernel. Every function here is exact or says how it rounds.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

ONE = 1 << 1074
INFINITE = 1 << 4000
DIGITS = {"float64": 53, "float32": 24}
LOWEST = {"float64": -1074, "float32": -149}  # the smallest positive float is 2 to this power
BEYOND = {"float64": ONE << 1024, "float32": ONE << 128}  # what rounds to this or more is infinite
LAST = {"float64": 0x7FEFFFFFFFFFFFFF, "float32": 0x7F7FFFFF}  # the bit pattern of the largest finite float
UNIT = {"float64": Fraction(1, 2**53), "float32": Fraction(1, 2**24)}
SMALLEST = {"float64": Fraction(1, 2**1022), "float32": Fraction(1, 2**126)}

RATIONAL = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000})?")
HEX = re.compile(r"(-?)0x([01])(?:\.([0-9a-f]{1,13}))?p([+-][0-9]{1,4})")


class Refused(Exception):  # noqa: N818  # a verdict, not an error
    """Why the certificate is not accepted."""


def need(holds: object, why: str) -> None:
    """Refuse for this reason unless something holds."""
    if not holds:
        raise Refused(why)


@lru_cache(1 << 12)
def fraction(text: str) -> Fraction | str:
    """A rational number from its text, or why it is none."""
    if not RATIONAL.fullmatch(text):
        return "expected a number as text, such as '3' or '-1/3'"
    above, below = map(int, f"{text}/1".split("/")[:2])
    return Fraction(above, below) if below else f"{text[:40]!a} divides by zero"


def rational(data: Any, where: str) -> Fraction:
    """A rational number from its text, such as "3" or "-1/3"."""
    number = fraction(data if type(data) is str else "")
    if type(number) is not Fraction:
        raise Refused(f"{where}: {number}")
    return number


@lru_cache(1 << 16)
def double(text: str) -> int | None:
    """A double from its hexadecimal text, times 2^1074; None for a text that is none."""
    match = HEX.fullmatch(text)
    if match is None:
        return None
    sign, lead, digits, exponent = match.groups()
    mantissa, power = int(lead + (digits or "").ljust(13, "0"), 16), int(exponent)
    if not (-1022 <= power <= 1023 and (lead == "1" or not mantissa or power == -1022)):
        return None
    return -mantissa << (power + 1022) if sign else mantissa << (power + 1022)


def floating(data: Any, where: str) -> int:
    """A double, times 2^1074."""
    number = double(data) if type(data) is str else None
    if number is None:
        raise Refused(f"{where}: {str(data)[:40]!a} is no float such as '0x1.8p+1'")
    return number


def to_float(number: int, dtype: str, finer: int = 0) -> int:
    """The float of this type nearest to number * 2^-(1074 + finer), ties to even, times 2^1074."""
    size = abs(number)
    drop = max(size.bit_length() - DIGITS[dtype], LOWEST[dtype] + 1074 + finer)
    rest = size & ((1 << drop) - 1) if drop > 0 else 0
    if rest:
        half = 1 << (drop - 1)
        size >>= drop
        if rest > half or (rest == half and size & 1):
            size += 1
        size <<= drop
    size >>= finer
    if size >= BEYOND[dtype]:
        size = INFINITE
    return -size if number < 0 else size


@lru_cache(1 << 14)
def quotient(above: int, below: int, dtype: str) -> int:
    """The float of this type nearest to above / below, for below > 0."""
    # Two bits more than the finest float: one says whether it is half or more, one whether anything follows.
    found, rest = divmod(abs(above) << 1076, below)
    return to_float((found | bool(rest)) * (-1 if above < 0 else 1), dtype, 2)


def float_with_bits(rank: int, dtype: str) -> int:
    """The float whose bit pattern is `rank`, or minus the one of `-rank`, times 2^1074."""
    bits, size = DIGITS[dtype] - 1, abs(rank)
    number = size if size >> bits <= 1 else ((size & ((1 << bits) - 1)) | (1 << bits)) << ((size >> bits) - 1)
    number <<= LOWEST[dtype] + 1074
    return -number if rank < 0 else number


def gamma(operations: int, dtype: str) -> Fraction:
    """Higham's g(n) = n u / (1 - n u)."""
    error = operations * UNIT[dtype]
    need(error < 1, "statement: too many additions for a rounding bound")
    return error / (1 - error)


def floor(number: Fraction | int, shift: int) -> int:
    """A rational number times 2^shift, rounded down."""
    above, below = number.numerator, number.denominator
    return (above << shift) // below if shift >= 0 else above // (below << -shift)


def ceiling(number: Fraction | int, shift: int) -> int:
    """A rational number times 2^shift, rounded up."""
    return -floor(-number, shift)
