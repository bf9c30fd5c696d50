"""The measures that DiCE defines for k counterfactuals of a row, under its own names and signs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mace.base.arguments import spelled
from mace.metrics.distances import categorical, changed, continuous, mads
from mace.metrics.frames import paired
from mace.metrics.measures import over_pairs, over_rows
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd


class DiceMetrics(NamedTuple):
    """For k counterfactuals c_1 .. c_k of a row x with d features; of several rows, the means over rows with answers.

    validity:              share of the answers asked for that are valid and no repetition of another one.
    continuous_proximity:  - 1/k sum_i dist_cont(c_i, x); 0 is nearest.
    categorical_proximity: 1 - 1/k sum_i dist_cat(c_i, x); 1 is nearest.
    sparsity:              1 - 1/(k d) sum_i sum_l [c_il != x_l]; 1 changes nothing.
    continuous_diversity:  the mean over pairs of dist_cont(c_i, c_j).
    categorical_diversity: the mean over pairs of dist_cat(c_i, c_j).
    count_diversity:       the mean over pairs of the share of features in which c_i and c_j differ.
    """

    validity: float
    continuous_proximity: float
    categorical_proximity: float
    sparsity: float
    continuous_diversity: float
    categorical_diversity: float
    count_diversity: float


@spelled
def dice(
    rows: pd.DataFrame,
    counterfactuals: pd.DataFrame,
    space: Space,
    data: pd.DataFrame | None = None,
    valid: Sequence[bool] | None = None,
    asked: int | None = None,
) -> DiceMetrics:
    """DiCE's measures; dist_cont is the mean of |x - x'| / MAD, dist_cat the share of features that differ.

    data:  training rows, which give the deviations; None: `rows`.
    valid: of each row of `counterfactuals`, whether it is valid (`mace.metrics.valid`); None: all are.
    asked: k, how many answers a row was asked for; None: as many as it has.
    Source: Mothilal, Sharma, Tan 2020, "Explaining machine learning classifiers through diverse counterfactual
    explanations", evaluation metrics; DiCE's notebook on feature weights prints range / MAD.
    """
    pairs = paired(rows, counterfactuals, space)
    mad = mads(rows if data is None else data, space)
    counts = np.ones(len(counterfactuals), dtype=bool) if valid is None else np.asarray(valid, dtype=bool)
    shares = []
    for group in pairs.groups():
        good = [place for place in group.tolist() if counts[pairs.place[place]]]
        unlike = {pairs.after[place].tobytes() for place in good}
        shares.append(min(1.0, len(unlike) / (len(group) if asked is None else asked)))
    without = len(rows) - len(shares) if asked is not None else 0
    differ = changed(pairs.before, pairs.after)
    return DiceMetrics(
        float(np.mean(shares + [0.0] * without)) if shares or without else float("nan"),
        -over_rows(pairs, continuous(pairs.before, pairs.after, space, mad)),
        1 - over_rows(pairs, categorical(pairs.before, pairs.after, space)),
        1 - over_rows(pairs, differ.mean(axis=1)),
        over_pairs(pairs, lambda one, other: continuous(one, other, space, mad)),
        over_pairs(pairs, lambda one, other: categorical(one, other, space)),
        over_pairs(pairs, lambda one, other: changed(one, other).mean(axis=1)),
    )
