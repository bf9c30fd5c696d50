"""How sure a number is: intervals for shares and for means and medians.

Source: Wilson 1927 (shares, through scipy.stats.binomtest); Efron 1987 (bias-corrected and accelerated bootstrap,
scipy.stats.bootstrap). What that corrects gets small as samples grow, and it takes the statistic of as many samples as
there are values, each with all others: of more than `MANY` values the plain percentiles are taken.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

LEVEL = 0.95
RESAMPLES = 2000
MANY = 4000  # values
ROOM = 8_000_000  # numbers that are drawn at a time: all of them at once were 18 GB for 27,000 rows


@dataclass(frozen=True, slots=True)
class Share:
    """`count` of `of`, with the interval in which the share of the population lies with 95 % confidence (Wilson)."""

    count: int
    of: int
    lower: float
    upper: float

    @property
    def value(self) -> float | None:
        """The share itself; None of nothing."""
        return self.count / self.of if self.of else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self) | {"share": self.value}

    def __str__(self) -> str:
        if self.value is None:
            return "0 of 0"
        return f"{self.value:.1%} [{self.lower:.1%}, {self.upper:.1%}] ({self.count} of {self.of})"


def share(count: int, of: int) -> Share:
    """A share with its Wilson interval; of nothing, the interval is everything."""
    if not of:
        return Share(count, of, 0.0, 1.0)
    from scipy.stats import binomtest

    interval = binomtest(count, of).proportion_ci(LEVEL, method="wilson")
    return Share(count, of, float(interval.low), float(interval.high))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic of a sample of size `of`, with its bootstrap interval; None where the sample is too small."""

    of: int
    value: float | None
    lower: float | None
    upper: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        if self.value is None:
            return "none"
        if self.lower is None or self.upper is None:
            return f"{self.value:.4g} (of {self.of} only)"
        return f"{self.value:.4g} [{self.lower:.4g}, {self.upper:.4g}]"


def estimate(values: Sequence[float], statistic: str, random_state: int) -> Estimate:
    """The "mean" or "median" of a sample with its bootstrap interval, which `random_state` fixes."""
    import numpy as np

    functions: dict[str, Any] = {"mean": np.mean, "median": np.median}
    sample = np.asarray(values, dtype=np.float64)
    if not len(sample):
        return Estimate(0, None, None, None)
    value = float(functions[statistic](sample))
    if len(sample) < 2:
        return Estimate(len(sample), value, None, None)
    if float(np.ptp(sample)) == 0.0:
        return Estimate(len(sample), value, value, value)
    from scipy.stats import bootstrap

    for method in ("BCa", "percentile") if len(sample) <= MANY else ("percentile",):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # A degenerate BCa announces itself and gives NaN; see below.
            interval = bootstrap(
                (sample,),
                functions[statistic],
                n_resamples=RESAMPLES,
                batch=max(1, min(RESAMPLES, ROOM // len(sample))),
                confidence_level=LEVEL,
                method=method,
                rng=np.random.default_rng(random_state),
                vectorized=True,
                axis=-1,
            ).confidence_interval
        # The jackknife of a median with many ties is constant, and BCa then has no value: take the plain percentiles.
        if np.isfinite(interval.low) and np.isfinite(interval.high):
            return Estimate(len(sample), value, float(interval.low), float(interval.high))
    return Estimate(len(sample), value, None, None)
