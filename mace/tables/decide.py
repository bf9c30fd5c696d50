"""Does the deployed model satisfy a decision at a row: certainly, certainly not, or can nobody tell?

In:  a table, a decision over its scores (`mace.tables.table.Decision`), a row of shape (columns,).
Out: True or False where every computation that the library may do gives it; None where the last bits of its scores
     decide and are not known: in which order it adds, how its exponential rounds.
Promise: this is the only reading of a row. Question, provers, solvers, judge, readers and the writer of
certificates ask here; `proofs/check.py`, which shares no code with anything, has the only other one, and accepts as a
witness just the points for which this is True. What is None is for the deployed model itself to say
(`mace.explain.deployed.judge`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mace.base.cache import Kept
from mace.base.exact import SMALLEST_32, UNIT_ROUNDOFF_32, above, exact
from mace.errors import ModelError
from mace.tables import leaves
from mace.tables.margins import Slack, compare_slack, exact_margin, exact_scores, possible, surely
from mace.tables.means import around
from mace.tables.table import Bools, Compare, Decision, Ensemble, Floats, Network, decided, decision_of


def decides(table: Ensemble | Network, decision: Decision, row: Floats) -> bool | None:
    """Whether the library's own scores of a row satisfy a decision, whatever is not known of them.

    Raises ModelError where a score may overflow.
    """
    if isinstance(table, Ensemble) and table.certain:
        return decided(decision, _SCORES.get(table, row.tobytes(), lambda: leaves.one(table, row)))
    reading = _READINGS.get(table, row.tobytes(), lambda: _Reading(table, row))
    doubtful = False
    for part in decision:
        said = reading.conjunction(part)
        if said:
            return True
        doubtful = doubtful or said is None
    return None if doubtful else False


def class_of(table: Ensemble | Network, row: Floats) -> int | None:
    """The class that the deployed model decides for at a row, as a number; None where rounding may decide."""
    if table.link is not None and table.link.kind == "mean":
        mean = mean_at(table, row)
        return 1 if mean.low > 0.5 else 0 if mean.high < 0.5 else None
    for index in range(len(table.classes)):
        said = decides(table, decision_of(table, index), row)
        if said is not False:
            return index if said else None
    return None


class Mean(NamedTuple):
    """The least and the largest probability of class 1 that the library may compute."""

    low: float
    high: float


def mean_at(table: Ensemble | Network, row: Floats) -> Mean:
    """The probability of class 1 at a row, of a model that says the mean of several."""
    return _MEANS.get(table, row.tobytes(), lambda: _mean_at(table, row))


def _mean_at(table: Ensemble | Network, row: Floats) -> Mean:
    assert table.link is not None
    if isinstance(table, Ensemble):
        found = leaves.one(table, row)
        slacks = _SLACKS.get(table, None, lambda: _slacks(table, None))
    else:
        found, slacks = table.scores(row), _slacks(table, tuple(map(abs, row.tolist())))
    error = np.array([above(slack) for slack in slacks]) + 4 * np.spacing(np.abs(found))
    low, high = around(table.link, found[None, :], error)
    return Mean(float(low[0]), float(high[0]))


def _slacks(table: Ensemble | Network, size: tuple[float, ...] | None) -> list[Fraction]:
    """How far a library's scores may lie from ours; size: of the inputs of a network."""
    divide = table.divide if isinstance(table, Ensemble) else 1
    moved = None if size is None else moved_by_cast(table, size)
    # What stands here was rounded as well, by no more than the library's own sums.
    return [2 * max(compare_slack(table, Compare(k, None), size, moved)) / divide for k in range(table.outputs)]


_SLACKS: Kept[list[Fraction]] = Kept(1)


class _Reading:
    """What is known of a row's scores: their exact values, and how far the library's may lie from them."""

    def __init__(self, table: Ensemble | Network, row: Floats) -> None:
        self.table, self._row = table, row
        self._size = tuple(map(abs, row.tolist())) if isinstance(table, Network) else ()
        self._slacks: dict[Compare, Slack] = {}

    @cached_property
    def scores(self) -> tuple[Fraction, ...]:
        """The exact scores."""
        return exact_scores(self.table, self._row)

    def conjunction(self, part: Sequence[Compare]) -> bool | None:
        """Whether all comparisons hold; None if rounding decides."""
        said: bool | None = True
        for compare in part:
            holds = self._holds(compare)
            if holds is False:
                return False
            said = said and holds
        return said

    def _holds(self, compare: Compare) -> bool | None:
        """Whether a comparison holds; None if rounding decides."""
        margin = exact_margin(self.table, compare, self.scores)
        for slack_of in (self._rough, self._slack):
            slack = slack_of(compare)
            if slack is None:
                continue
            if not possible(compare, margin, slack):
                return False
            if surely(compare, margin, slack):
                return True
        return None

    def _rough(self, compare: Compare) -> Slack | None:
        """No less than the slack: that of rows with larger numbers, which is known already; None where there is none.

        Nearly always it decides. Where it does, the slack itself decides in the same way.
        """
        return _of_rows(self.table, self._size, compare) if isinstance(self.table, Network) else None

    def _slack(self, compare: Compare) -> Slack:
        if compare not in self._slacks:
            around = (self._size, moved_by_cast(self.table, self._size)) if isinstance(self.table, Network) else ()
            self._slacks[compare] = compare_slack(self.table, compare, *around)
        return self._slacks[compare]


class _Rows(NamedTuple):
    """The largest magnitude of each column so far, shape (columns,), and the slacks of comparisons for such rows."""

    size: tuple[float, ...]
    slacks: dict[Compare, Slack | None]


def _of_rows(table: Network, size: tuple[float, ...], compare: Compare) -> Slack | None:
    """The slack of rows as large as any so far, one of these magnitudes included; None where scores may overflow."""
    known = _ROWS.get(table, None, list)
    if not known or any(x > y for x, y in zip(size, known[0].size, strict=True)):
        known[:] = [_Rows(tuple(map(max, size, known[0].size)) if known else size, {})]
    rows = known[0]
    if compare not in rows.slacks:
        try:
            rows.slacks[compare] = compare_slack(table, compare, rows.size, moved_by_cast(table, rows.size))
        except ModelError:
            rows.slacks[compare] = None
    return rows.slacks[compare]


_ROWS: Kept[list[_Rows]] = Kept(1)

# Of rows, by their bytes: a point is read several times before an answer, and once more for its certificate, before
# which an audit has asked about several rows.
_ROWS_KEPT = 128
_READINGS: Kept[_Reading] = Kept(_ROWS_KEPT)
_SCORES: Kept[Floats] = Kept(_ROWS_KEPT)
_MEANS: Kept[Mean] = Kept(_ROWS_KEPT)


def moved_by_cast(table: Ensemble | Network, size: Sequence[Fraction | float]) -> tuple[Fraction, ...] | None:
    """How far the cast to float32 moves numbers of at most these magnitudes; None for a model that casts nothing."""
    return tuple(exact(x) * UNIT_ROUNDOFF_32 + SMALLEST_32 for x in size) if table.dtype == "float32" else None


def settled(compares: Iterable[Compare], scores: Floats, error: Floats) -> Bools:
    """The rows whose decision stays the same however the library rounds, shape (rows,).

    compares: all that a decision of the model asks.    scores: in float64, shape (rows, outputs).
    error:    how far a score of the library may lie from ours, shape (outputs,).
    """
    found = np.ones(len(scores), dtype=np.bool_)
    if not error.any():
        return found
    for c in compares:
        margin = np.full(len(scores), -c.than)
        margin += 0.0 if c.plus is None else scores[:, c.plus]
        margin -= 0.0 if c.minus is None else scores[:, c.minus]
        found &= np.abs(margin) > sum(error[side] for side in (c.plus, c.minus) if side is not None)
    return found
