"""Sets of numbers that a test of a category sends to the left, as intervals of floats.

In:  the categories of a node, whole numbers, and the library's rule for the number that a row holds.
Out: `Members`: closed intervals of what the test sees, rising and apart, their ends numbers of the type to which the
     library casts. (3.0, 3.0) is the number 3.
Promise: a number lies in `Members` if and only if the library takes it for one of the categories. The rules differ:
scikit-learn and OptBinning look numbers up, so that 1.5 is no category; LightGBM cuts off what follows the point
(`static_cast<int>`, tree.h), so that 1.5 is category 1 and -0.5 is category 0; XGBoost does the same to numbers from 0
on and knows no negative ones (`common::InvalidCat`, categorical.h).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal, TypeAlias

from mace.base.exact import float32_to_rank, rank_to_float32

Members: TypeAlias = tuple[tuple[float, float], ...]
Cast: TypeAlias = Literal["float32", "float64"]


def equal_to(numbers: Iterable[float]) -> Members:
    """These numbers and no others."""
    return tuple((number, number) for number in sorted(set(map(float, numbers))))


def truncated(codes: Iterable[int], cast: Cast, *, negative: bool) -> Members:
    """Numbers that are one of the codes, whole numbers >= 0, once what follows the point is cut off.

    negative: whether a number between -1 and 0 counts as 0 (LightGBM); else no negative number is a category (XGBoost).
    """
    found: list[tuple[float, float]] = []
    for code in sorted(set(codes)):
        low = math.nextafter(-1.0, 0.0) if negative and code == 0 else float(code)
        high = neighbour(code + 1.0, cast, up=False)
        if found and neighbour(found[-1][1], cast, up=True) == low:
            low = found.pop()[0]
        found.append((low, high))
    return tuple(found)


def among(members: Members, seen: float) -> bool:
    """Whether a number lies in one of the intervals; NaN lies in none."""
    return any(low <= seen <= high for low, high in members)


def are_whole(members: Members, seen: Iterable[float]) -> bool:
    """Whether those of these numbers that lie in the set are whole: then a list of whole numbers stands for it."""
    return all(number.is_integer() for number in seen if among(members, number))


def whole_numbers(members: Members) -> list[int]:
    """The whole numbers in the set."""
    return [code for low, high in members for code in range(math.ceil(low), math.floor(high) + 1)]


def neighbour(number: float, cast: Cast, *, up: bool) -> float:
    """The next number of a type, above or below."""
    if cast == "float64":
        return math.nextafter(number, math.inf if up else -math.inf)
    return rank_to_float32(float32_to_rank(number) + (1 if up else -1))
