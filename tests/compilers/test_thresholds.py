"""The closed form of a threshold agrees with numpy's own cast and comparison, at the bits."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest

from mace.compilers.thresholds import largest_passing
from mace.errors import ModelError
from mace.tables.table import Floats
from tests.marks import slow_unless

LARGEST_32 = (2.0**24 - 1) * 2.0**104


def thresholds() -> Floats:
    """More than 100,000 doubles: any bits, float32 numbers and their neighbours, halves between them, extremes."""
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        any_bits = rng.integers(0, 2**64, 30_000, dtype=np.uint64).view(np.float64)
        narrow = rng.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
        halves = (narrow.astype(np.float64) + np.nextafter(narrow, np.float32(np.inf)).astype(np.float64)) / 2
        plain = rng.normal(size=10_000) * 10.0 ** rng.integers(-3, 6, 10_000)
        special = np.array(
            [
                0.0,
                math.inf,
                5e-324,
                2.0**-149,
                2.0**-150,
                2.0**-126,
                2.0**128,
                2.0**128 - 2.0**103,
                LARGEST_32,
                1.0,
                2.5,
            ]
        )
        special = np.concatenate([special, -special])
        exact = np.concatenate([narrow.astype(np.float64), halves, special])
        every = np.concatenate([any_bits, plain, exact, np.nextafter(exact, np.inf), np.nextafter(exact, -np.inf)])
    return every[~np.isnan(every)]


@pytest.mark.parametrize("test", slow_unless(lambda test: test == "<=", ["<=", "<"]))
@pytest.mark.parametrize("cast", ["float32", "float64"])
def test_a_double_passes_exactly_when_it_is_at_most_the_largest_that_passes(
    cast: Literal["float32", "float64"], test: Literal["<=", "<"]
) -> None:
    every = thresholds()
    assert len(every) > 100_000
    last = np.array([largest_passing(float(threshold), cast, test) for threshold in every])

    def passes(x: Floats) -> np.ndarray:
        seen = x.astype(np.float32).astype(np.float64) if cast == "float32" else x
        return seen <= every if test == "<=" else seen < every

    with np.errstate(over="ignore"):
        assert passes(last)[last > -math.inf].all()
        assert not passes(np.nextafter(last, math.inf))[last < math.inf].any()


def test_a_threshold_that_is_no_number_is_refused() -> None:
    with pytest.raises(ModelError, match="a threshold is NaN"):
        largest_passing(math.nan, "float32", "<=")
