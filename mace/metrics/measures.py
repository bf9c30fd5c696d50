"""The measures of the field, one function each.

In:  rows and their counterfactuals as frames (`mace.metrics.frames` says how they are matched), and the space.
Out: a float; NaN where there is nothing to measure (no answers, or no two answers of one row).
Of several rows the figure is the mean over the rows that have answers, of a row the mean over its answers: the sources
define each measure for one row and its k answers. The distance of two points that several measures share is

    d = d_cont + d_cat,   d_cont = mean over numeric features of |x - x'| / MAD,   d_cat = share of the others changed

Source: Shekhar et al. 2023 (arXiv 2311.12825), section 4; Mothilal, Sharma, Tan 2020 (DiCE) for d.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.arguments import spelled
from mace.base.escape import short
from mace.errors import MaceError
from mace.metrics.distances import categorical, changed, continuous, deltas, mads, norm_of
from mace.metrics.frames import Numbers, Pairs, numbers, paired
from mace.problem.closeness import mixing_of
from mace.problem.distance import Norm
from mace.problem.objectives import DistanceSpec, Objective, read_distance, read_objectives
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

By = Literal["proximity", "sparsity", "pairs"]
CELLS = 2_000_000  # numbers held at once while answers are compared with real rows


@spelled
def proximity(
    rows: pd.DataFrame, counterfactuals: pd.DataFrame, space: Space, data: pd.DataFrame | None = None
) -> float:
    """The mean of d(x', x), in median absolute deviations and shares of features; smaller is nearer.

    data: training rows, which give the deviations; None: `rows`.
    Source: Shekhar et al. 2023, section 4.
    """
    pairs = paired(rows, counterfactuals, space)
    return over_rows(pairs, _between(pairs.before, pairs.after, space, data, rows))


@spelled
def sparsity(rows: pd.DataFrame, counterfactuals: pd.DataFrame, space: Space) -> float:
    """The mean share of features that an answer changes, ||x' - x||_0 / p, from 0 to 1; smaller is sparser.

    Source: Shekhar et al. 2023, section 4. (DiCE's sparsity is 1 minus this: see `dice`.)
    """
    pairs = paired(rows, counterfactuals, space)
    return over_rows(pairs, changed(pairs.before, pairs.after).mean(axis=1))


@spelled
def diversity(
    rows: pd.DataFrame, counterfactuals: pd.DataFrame, space: Space, data: pd.DataFrame | None = None
) -> float:
    """The mean over pairs of answers of one row of d(x'_i, x'_j), in the units of `proximity`; NaN without pairs.

    Source: Shekhar et al. 2023, section 4.
    """
    pairs = paired(rows, counterfactuals, space)
    return over_pairs(pairs, lambda one, other: _between(one, other, space, data, rows))


@spelled
def normalised_diversity(
    rows: pd.DataFrame,
    counterfactuals: pd.DataFrame,
    space: Space,
    data: pd.DataFrame | None = None,
    by: By = "proximity",
) -> float:
    """Diversity beside how far the answers are; three definitions, because the source has three.

    by: "proximity": diversity / proximity, which is what its table II prints.
        "sparsity":  diversity / sparsity, which is what its text says.
        "pairs":     the mean over pairs of d_ij / (d_i + d_j), d_i the distance of an answer from its row: equation 15.
    NaN where there is no pair, or where it would be divided by 0.
    """
    if by == "proximity":
        return _ratio(diversity(rows, counterfactuals, space, data), proximity(rows, counterfactuals, space, data))
    if by == "sparsity":
        return _ratio(diversity(rows, counterfactuals, space, data), sparsity(rows, counterfactuals, space))
    if by != "pairs":
        raise MaceError(f'by is "proximity", "sparsity" or "pairs", got {by!r}')
    pairs = paired(rows, counterfactuals, space)
    mad = mads(rows if data is None else data, space)
    far = _distance(pairs.before, pairs.after, space, mad)
    means = []
    for group in pairs.groups():
        first, second = _two_of(group)
        both = far[first] + far[second]
        apart = _distance(pairs.after[first], pairs.after[second], space, mad)
        if len(first) and (both > 0).all():
            means.append(float((apart / both).mean()))
    return _mean(means)


@spelled
def coverage(
    rows: pd.DataFrame, counterfactuals: pd.DataFrame, space: Space, valid: Sequence[bool] | None = None, asked: int = 1
) -> float:
    """The share of answers that were given (and are valid) among those asked for, from 0 to 1.

    valid: of each row of `counterfactuals`, whether it counts: `mace.metrics.valid`. None: every answer counts.
    asked: how many answers a row was asked for; what one has beyond that number is not counted.
    Source: Shekhar et al. 2023, section 4; Karimi et al. 2020, table 2.
    """
    pairs = paired(rows, counterfactuals, space)
    counts = np.ones(len(pairs.place), dtype=bool) if valid is None else _flags(valid, counterfactuals)[pairs.place]
    if isinstance(asked, bool) or not isinstance(asked, (int, np.integer)) or asked < 1:
        raise MaceError(f"asked must be a whole number >= 1, got {short(asked)}")
    given = [min(int(counts[group].sum()), asked) for group in pairs.groups()]
    return sum(given) / (asked * len(rows)) if len(rows) else float("nan")


@spelled
def closeness(rows: pd.DataFrame, counterfactuals: pd.DataFrame, space: Space, data: pd.DataFrame) -> float:
    """How unusual the changes are beside real rows: the l1 norm of the change, decorrelated; smaller is more usual.

    closeness(x') = || U (e(x') - e(x)) ||_1, e the encoded columns, U the inverse square root of their covariance in
    `data`: the objective "closeness" of `mace.explain` (`mace.problem.closeness`). Dimensionless.
    Raises RowError for answers that are not in the space, MaceError where fewer than two rows of `data` lack nothing.
    Source: Kanamori et al. 2020 (DACE), section 3.1.
    """
    pairs = paired(rows, counterfactuals, space)
    mixing = np.array([[float(weight) for weight in row] for row in mixing_of(space, data)])
    before = space.encode(rows.iloc[pairs.person]).to_numpy()
    after = space.encode(counterfactuals.iloc[pairs.place]).to_numpy()
    return over_rows(pairs, np.abs((after - before) @ mixing.T).sum(axis=1))


@spelled
def plausibility(
    rows: pd.DataFrame,
    counterfactuals: pd.DataFrame,
    space: Space,
    real: pd.DataFrame,
    distance: DistanceSpec = "l1",
) -> float:
    """The mean distance from an answer to the nearest real row that has the goal outcome; smaller is more plausible.

    real:     real rows with the goal outcome, for instance X[y == 1].
    distance: a norm over the space's scaled changes, from 0 to 1; "l1" is Gower's distance.
    Source: Dandl, Molnar, Binder, Bischl 2020, "Multi-Objective Counterfactual Explanations", objective 4, for one
            neighbour and among the rows with the goal outcome.
    """
    norm = _norm(distance, space)
    pairs = paired(rows, counterfactuals, space)
    known = numbers(real, space, "the real rows")
    if not len(known):
        raise MaceError("plausibility needs at least one real row that has the goal outcome")
    chunk = max(1, CELLS // max(known.size, 1))
    nearest = []
    for begin in range(0, len(pairs.after), chunk):
        some = pairs.after[begin : begin + chunk]
        both = np.broadcast_arrays(known[None], some[:, None])
        flat = [np.ascontiguousarray(part).reshape(-1, known.shape[1]) for part in both]
        nearest.append(norm_of(norm, deltas(flat[0], flat[1], space)).reshape(len(some), len(known)).min(axis=1))
    return over_rows(pairs, np.concatenate(nearest) if nearest else np.empty(0))


@spelled
def cost(rows: pd.DataFrame, counterfactuals: pd.DataFrame, space: Space, prices: Mapping[str, object]) -> float:
    """The mean price of an answer, in the unit of the prices: the objective "cost" of `mace.explain`.

    prices: feature name -> price of one unit of a number, one rank of an ordinal, any change of another feature.
    Raises DistanceError where a feature that may change has no price.
    """
    priority = read_objectives([Objective("cost", prices=prices)], space)[0]
    assert isinstance(priority.of, Norm)
    pairs = paired(rows, counterfactuals, space)
    return over_rows(pairs, float(priority.unit) * norm_of(priority.of, deltas(pairs.before, pairs.after, space)))


class Time(NamedTuple):
    """Seconds for a row: mean, median and the longest."""

    mean: float
    median: float
    worst: float


def time(seconds: Sequence[float]) -> Time:
    """What an answer took, from the seconds of each row; rows that were not timed (NaN, None) are left out."""
    try:
        known = np.array([math.nan if second is None else float(second) for second in seconds], dtype=np.float64)
    except (TypeError, ValueError):
        raise MaceError(f"seconds are numbers, one a row; got {short(seconds)}") from None
    known = known[~np.isnan(known)]
    if not len(known):
        return Time(float("nan"), float("nan"), float("nan"))
    return Time(float(known.mean()), float(np.median(known)), float(known.max()))


def over_rows(pairs: Pairs, values: Numbers | NDArray[np.bool_]) -> float:
    """The mean over rows with answers of the mean over their answers."""
    return _mean([float(values[group].mean()) for group in pairs.groups()])


def over_pairs(pairs: Pairs, between: Callable[[Numbers, Numbers], Numbers]) -> float:
    """The mean over rows of the mean over pairs of their answers; NaN if no row has two."""
    means = []
    for group in pairs.groups():
        first, second = _two_of(group)
        if len(first):
            means.append(float(between(pairs.after[first], pairs.after[second]).mean()))
    return _mean(means)


def _two_of(group: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """All pairs of a group, as the places of the first and of the second."""
    found = np.array(list(combinations(group.tolist(), 2)), dtype=np.intp).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def _between(one: Numbers, other: Numbers, space: Space, data: pd.DataFrame | None, rows: pd.DataFrame) -> Numbers:
    return _distance(one, other, space, mads(rows if data is None else data, space))


def _distance(one: Numbers, other: Numbers, space: Space, mad: dict[str, float]) -> Numbers:
    """d = d_cont + d_cat of each pair of points; shape (n,)."""
    return continuous(one, other, space, mad) + categorical(one, other, space)


def _norm(distance: DistanceSpec, space: Space) -> Norm:
    norm = read_distance(distance, space)
    if not isinstance(norm, Norm):
        raise MaceError("here the distance is a norm: l0, l1, linf or a mixture of them")
    return norm


def _flags(valid: Sequence[bool], counterfactuals: pd.DataFrame) -> NDArray[np.bool_]:
    flags = np.asarray(valid, dtype=bool)
    if flags.shape != (len(counterfactuals),):
        raise MaceError(f"valid has {len(flags)} entries, there are {len(counterfactuals)} counterfactuals")
    return flags


def _ratio(above: float, below: float) -> float:
    return above / below if below else float("nan")


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
