"""A model that is asked about rows in batches: counted, limited, and never twice about the same row.

In:  a function from rows of a chart to `Said`, and how many rows it may be asked about.
Out: `AskedModel`, whose `about` gives what the model said of each row; what could not be asked any more is infinite.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from mace.base.deadline import NEVER, Deadline
from mace.base.escape import short
from mace.errors import MaceError
from mace.problem.shortfall import LEAST_MISSED
from mace.search.chart import Floats

FARTHEST = 1e300  # a goal is missed by no more, so that infinity is left for what could not be asked


class ExhaustedError(Exception):
    """Nothing more may be asked; the message says why. No error of the user: the search ends with what it has."""


class Said(NamedTuple):
    """What a model said of rows, each of shape (rows,).

    missed: how far each misses the goal, 0 where it is met.
    doubts: how many outputs have a confidence below their threshold.
    """

    missed: Floats
    doubts: Floats

    @classmethod
    def of(cls, missed: Floats) -> Said:
        """Of a model that gives no confidence."""
        return cls(missed, np.zeros(len(missed)))


class AskedModel:
    """A model that is asked.

    calls:   rows that it was asked about.
    batches: how often it was asked.
    lacking: whether there was a row that it could not be asked about.
    why:     why nothing more is asked; "" as long as something may be.
    """

    def __init__(
        self,
        ask: Callable[[Floats], Said],
        most: int | None = None,
        deadline: Deadline = NEVER,
        batch: int | None = None,
        aside: int = 0,
    ) -> None:
        """aside: how many of the calls are not for a search."""
        self.ask, self.limit, self.deadline, self.batch = ask, calls_asked(most), deadline, batch
        self.most = None if self.limit is None else max(1, self.limit - aside)
        self.calls = self.batches = 0
        self.why, self.lacking = "", False
        self._known: dict[bytes, tuple[float, float]] = {}

    def about(self, rows: Floats) -> Said:
        """What the model says of rows; infinite for those that it could not be asked about any more."""
        keys = [row.tobytes() for row in np.ascontiguousarray(rows + 0.0)]  # -0.0 is 0.0
        new = list(dict.fromkeys(key for key in keys if key not in self._known))
        if new:
            places = {key: place for place, key in enumerate(keys)}
            self._learn(new, rows[[places[key] for key in new]])
        nothing = (np.inf, np.inf)
        self.lacking = self.lacking or any(key not in self._known for key in new)
        found = np.array([self._known.get(key, nothing) for key in keys]).reshape(len(keys), 2)
        return Said(found[:, 0], found[:, 1])

    def deny(self, row: Floats) -> float:
        """Keep that a row misses the goal after all; by how much, at least."""
        self._known[np.ascontiguousarray(row + 0.0).tobytes()] = (LEAST_MISSED, 0.0)
        return LEAST_MISSED

    def _learn(self, keys: Sequence[bytes], rows: Floats) -> None:
        """Ask about rows that are not known, in batches, as far as that is allowed."""
        size = self.batch or len(rows)
        for first in range(0, len(rows), size):
            part = rows[first : first + size]
            if self.most is not None:
                part = part[: self.most - self.calls]
            if not self.why and self.deadline.over:
                self.why = self.deadline.why
            if self.why or not len(part):
                self.why = self.why or f"limit of calls ({self.limit})"
                return
            try:
                said = self.ask(part)
            except ExhaustedError as end:
                self.why = str(end)
                return
            self.calls, self.batches = self.calls + len(part), self.batches + 1
            pairs = zip(np.minimum(said.missed, FARTHEST).tolist(), said.doubts.tolist(), strict=True)
            self._known |= zip(keys[first : first + len(part)], pairs, strict=True)
        if self.most is not None and self.calls >= self.most:
            self.why = f"limit of calls ({self.limit})"


def calls_asked(most: object) -> int | None:
    """How many rows a model may be asked about; None for any number. Raises MaceError."""
    if most is None:
        return None
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1:
        raise MaceError(f"max_calls must be a whole number > 0, or None for no limit; got {short(most)}")
    return int(most)
