"""Where a test of a tree really changes its answer, for inputs that are exact numbers.

In:  a threshold as the library stores it, the cast of its inputs, and its comparison.
Out: T, the largest double that the test still sends to the left; for a set of categories, the doubles that it holds.
Promise: for every double x, `cast(x) test threshold` holds if and only if x <= T (tests/compilers/test_thresholds.py
compares with numpy at the bits). A real-valued encoding of the stored threshold is wrong here: about one forest
threshold in four lies below its own float32 rounding.
Source: IEEE 754-2019, rounding to nearest, ties to even.
"""

from __future__ import annotations

import math
from typing import Literal

from mace.base.exact import LARGEST_32, float32_to_rank, next_float32, rank_to_float32, to_float32
from mace.errors import ModelError
from mace.tables.members import Members

# Where float32 would have its next number if it had one more exponent: a double from halfway on becomes infinite.
_BEYOND_32 = 2.0**128


def largest_passing(threshold: float, cast: Literal["float32", "float64"], test: Literal["<=", "<"]) -> float:
    """The largest double x with `cast(x) test threshold`; -inf if no finite double passes, inf if every one does.

    threshold: any double but NaN.
    Raises ModelError for NaN, which no test can pass.
    """
    if math.isnan(threshold):
        raise ModelError("a threshold is NaN")
    if math.isinf(threshold):
        # `x < inf` stops where x itself, or its cast, becomes infinite.
        if threshold < 0:
            return -math.inf if test == "<" else _last_before(-math.inf, cast)
        return math.inf if test == "<=" else _last_before(math.nextafter(math.inf, 0), cast)
    if cast == "float64":
        return threshold if test == "<=" else math.nextafter(threshold, -math.inf)
    return _last_before(_float32_below(threshold, strict=test == "<"), cast)


def before_cast(members: Members, cast: Literal["float32", "float64"]) -> Members:
    """The doubles whose cast lies in a set of numbers, none of them infinite."""
    ends = ((largest_passing(low, cast, "<"), largest_passing(high, cast, "<=")) for low, high in members)
    return tuple((math.nextafter(before, math.inf), last) for before, last in ends if before < last)


def _float32_below(threshold: float, *, strict: bool) -> float:
    """The largest float32 that is <= threshold (or < threshold if strict)."""
    found = to_float32(threshold)
    if found > threshold or (strict and found == threshold):
        if found == math.inf:
            return float(LARGEST_32)
        return rank_to_float32(float32_to_rank(found) - 1) if found != 0 else -next_float32(0.0)
    return found


def _last_before(passing: float, cast: Literal["float32", "float64"]) -> float:
    """The largest double whose cast is at most `passing`, a number of the cast's own type."""
    if cast == "float64":
        return passing
    if passing > float(LARGEST_32):
        passing = float(LARGEST_32)
    following = next_float32(passing)
    upper = _BEYOND_32 if following == math.inf else following
    lower = -_BEYOND_32 if passing == -math.inf else passing
    middle = (lower + upper) / 2  # exact: one bit more than float32 has
    return middle if to_float32(middle) <= passing else math.nextafter(middle, -math.inf)
