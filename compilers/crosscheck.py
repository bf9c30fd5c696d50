"""A table beside the library that it was read from: both say the same of the same rows, or the model is refused.

In:  a table, the deployed model, and rows that are made to tell them apart (`adversarial.py`).
Out: nothing; a ModelError names a row, what the library says of it, and what its table says.
Promise: rows are asked for in one batch, and some of them one by one. Compared are decisions, a regressor's numbers,
and the probabilities that the table knows. Where scores are not the library's own to the last bit, a row counts if they
lie beyond their rounding error of every boundary.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from mace.base.exact import exact
from mace.compilers.adversarial import AnyNumber, rows
from mace.compilers.deployed import Deployed, quiet
from mace.errors import ModelError
from mace.space.columns import Column
from mace.tables import leaves
from mace.tables.decide import moved_by_cast, settled
from mace.tables.margins import compare_slack
from mace.tables.means import around
from mace.tables.table import Bools, Compare, Ensemble, Floats, Label, Network, Table, decided, decision_of, predicted

if TYPE_CHECKING:
    import pandas as pd
    from threadpoolctl import ThreadpoolController

ALONE = 2  # rows that are asked for one by one
LACKING = 24  # rows with missing values
PROBABLE = 64  # rows whose probabilities are compared
SHOWN = 20  # columns in a message
LARGEST = {"float32": 1e38, "float64": 1e300}  # libraries refuse what their floats do not hold


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows for which a table and its library are asked.

    matrix: what the table sees, shape (rows, columns).
    frame:  places of rows -> what the deployed model is given.
    show:   the place of a row -> the row, for a message.
    """

    matrix: Floats
    frame: Callable[[Sequence[int]], pd.DataFrame]
    show: Callable[[int], dict[str, Any]]


def cross_check_matrix(table: Table, deployed: Deployed, known: Sequence[Sequence[float]] | None = None) -> None:
    """Compare a table with a model that is given its columns as they are.

    known: for every column, numbers that it holds in use (ends of its range, what levels become).
    Raises ModelError.
    """
    import pandas as pd

    if not isinstance(table, (Ensemble, Network)) or deployed.note:  # Without its library there is nothing to ask.
        return
    names = list(deployed.names or ()) or [f"column {k}" for k in range(table.columns)]
    if len(names) != table.columns:
        raise ModelError(f"{table.name} has {table.columns} columns, and names for {len(names)}")
    largest = LARGEST[table.cast] if isinstance(table, Ensemble) else 1e6
    if known is None or len(known) != table.columns:  # A space of other columns is refused where a question is asked.
        known = [()] * table.columns
    values = [AnyNumber(tuple(held), largest) for held in known]
    matrix = np.array(rows(table, [Column(name, k, None) for k, name in enumerate(names)], values), dtype=np.float64)
    lacking = matrix[:LACKING].copy()
    lacking[np.random.default_rng(1).random(lacking.shape) < max(0.3, 1 / table.columns)] = np.nan

    def given(which: Floats) -> Rows:
        return Rows(
            which,
            lambda places: pd.DataFrame(which[places], columns=names),
            lambda place: dict(zip(names, which[place].tolist(), strict=True)),
        )

    cross_check(table, deployed, given(matrix), given(lacking) if isinstance(table, Ensemble) else None)


def cross_check(table: Ensemble | Network, deployed: Deployed, given: Rows, lacking: Rows | None = None) -> None:
    """Compare a table with its library.

    lacking: rows with missing values, which count only if the library takes them.
    Raises ModelError where they differ, and where the library takes none of the rows.
    """
    with quiet(), _one_thread():
        said = _Said(table, given)
        places, answers = _ask_all(table, deployed, given)
        said.compare(places, answers)
        for place in places[:: max(1, len(places) // ALONE)][:ALONE]:
            said.compare([place], _asked(table, deployed.predict(given.frame([place])), 1))
        if deployed.probabilities is not None and (some := places[:PROBABLE]):
            try:
                found = np.asarray(deployed.probabilities(given.frame(some)))
            except Exception as error:
                reason = f"{type(error).__name__}: {error}"
                raise ModelError(
                    f"{table.name} was read, but the model's own `predict_proba` fails ({reason})"
                ) from error
            said.compare_probabilities(some, found)
        if lacking is not None and len(lacking.matrix):
            every = list(range(len(lacking.matrix)))
            try:
                found = deployed.predict(lacking.frame(every))
            except Exception:  # noqa: BLE001  It takes no missing values; then no question has any.
                return
            _Said(table, lacking).compare(every, _asked(table, found, len(every)))


def _ask_all(table: Table, deployed: Deployed, given: Rows) -> tuple[list[int], list[Any]]:
    """The rows that the library takes, and what it says of them."""
    every = list(range(len(given.matrix)))
    try:
        return every, _asked(table, deployed.predict(given.frame(every)), len(every))
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001  a library may raise anything at all
        reason = f"{type(error).__name__}: {error}"
    taken, answers = [], []
    for place in every[:: max(1, len(every) // 32)]:
        try:
            answers += _asked(table, deployed.predict(given.frame([place])), 1)
            taken.append(place)
        except ModelError:
            raise
        except Exception as error:  # noqa: BLE001
            reason = f"{type(error).__name__}: {error}"
    if not taken:
        raise ModelError(f"{table.name} was read, but the model's own `predict` fails ({reason})")
    return taken, answers


def _asked(table: Table, found: Any, count: int) -> list[Any]:
    found = np.asarray(found)
    if found.shape != (count,):
        raise ModelError(
            f"{table.name} decides for {count} rows with numbers of shape {found.shape}, which is not read"
        )
    answers: list[Any] = found.tolist()
    return answers


class _Said:
    """What a table says, and how far its scores may lie from the library's."""

    def __init__(self, table: Ensemble | Network, given: Rows) -> None:
        self.table, self.given = table, given
        self.mean = table.link if table.link is not None and table.link.kind == "mean" else None
        classes = range(len(table.classes)) if self.mean is None else ()
        self.decisions = [decision_of(table, index) for index in classes]
        self.compares = list({compare: None for decision in self.decisions for part in decision for compare in part})
        self.scores, self.error = self._scores(given.matrix), self._error(given.matrix)

    def compare(self, places: Sequence[int], answers: Sequence[Any]) -> None:
        """Raise ModelError unless the library's decisions, or its numbers, are the table's."""
        if self.error is None:
            return
        scores = self.scores[list(places)]
        if self.mean is not None:
            low, high = around(self.mean, scores, self.error)
            for k in np.flatnonzero((low > 0.5) | (high < 0.5)).tolist():
                ours = self.table.classes[int(low[k] > 0.5)]
                if answers[k] != ours:
                    raise self._apart(places[k], answers[k], ours)
            return
        if not self.table.classes:
            for k in np.flatnonzero(~self._near(np.array(answers, dtype=np.float64), scores))[:1].tolist():
                raise self._apart(places[k], answers[k], float(predicted(self.table, scores[[k]])[0]))
            return
        for k in np.flatnonzero(settled(self.compares, scores, self.error)).tolist():
            ours = self._decision(scores[k])
            if answers[k] != ours:
                raise self._apart(places[k], answers[k], ours)

    def _near(self, answers: Floats, scores: Floats) -> Bools:
        """Which numbers the scores may have given, within their rounding error and that of an exponential."""
        assert self.error is not None
        link = self.table.link
        if link is None:
            return np.asarray(np.abs(answers - scores[:, 0]) <= self.error[0], dtype=np.bool_)
        coarse = 1e-5 if "float32" in (self.table.dtype, link.dtype) else 1e-12
        low, high = (predicted(self.table, scores + side * self.error[0]) for side in (-1.0, 1.0))
        with np.errstate(invalid="ignore", over="ignore"):  # both may be infinite
            slack = coarse * np.minimum(np.abs(high) + 1.0, 1e300)
            return np.asarray((answers >= low - slack) & (answers <= high + slack) | (answers == high), dtype=np.bool_)

    def compare_probabilities(self, places: Sequence[int], answers: Floats) -> None:
        """Raise ModelError where the library's probabilities are not those that follow from the scores."""
        if self.mean is not None and self.error is not None:
            low, high = around(self.mean, self.scores[list(places)], self.error)
            for k in np.flatnonzero((answers[:, 1] < low) | (answers[:, 1] > high))[:1].tolist():
                what = f"a probability of {{}} for {self.table.classes[1]!r}"
                raise self._apart(places[k], float(answers[k, 1]), float(low[k]), what)
            return
        ours = self._probabilities(self.scores[list(places)])
        if ours is None or self.error is None:
            return
        if answers.shape != ours.shape or answers.dtype.kind not in "fiu":
            raise ModelError(f"{self.table.name} gives probabilities of shape {answers.shape}, expected {ours.shape}")
        link = self.table.link
        coarse = "float32" in (self.table.dtype, link.dtype if link else "")
        steep = abs(link.slope) if link else 1.0
        far = ~(np.abs(answers - ours) <= steep * self.error.max() + (1e-5 if coarse else 1e-9))
        for k, label in np.argwhere(far)[:1].tolist():
            what = f"a probability of {{}} for {self.table.classes[label]!r}"
            raise self._apart(places[k], float(answers[k, label]), float(ours[k, label]), what)

    def _scores(self, matrix: Floats) -> Floats:
        """The table's float scores, shape (rows, outputs)."""
        if isinstance(self.table, Ensemble):
            return leaves.scores(self.table, matrix)
        with np.errstate(all="ignore"):
            return self.table.scores(matrix)

    def _error(self, matrix: Floats) -> Floats | None:
        """How far a score of the library may lie from the table's; None where it has no bound. Shape (outputs,)."""
        table = self.table
        if isinstance(table, Ensemble) and table.certain:
            return np.zeros(table.outputs)
        size = [exact(x) for x in np.abs(matrix).max(axis=0)] if isinstance(table, Network) else None
        moved = None if size is None else moved_by_cast(table, size)
        found = []
        for output in range(table.outputs):
            alone = (c for c in self.compares if {c.plus, c.minus} == {output, None})
            try:
                slack = compare_slack(table, next(alone, Compare(output, None)), size, moved)
            except ModelError:  # A score may overflow on these rows, which nobody has asked about.
                return None
            # Both lie that far from the exact score; the factor covers the roundings of this sum itself.
            divide = table.divide if isinstance(table, Ensemble) else 1
            found.append(2.000001 * float(max(slack)) / divide)
        return np.array(found)

    def _decision(self, scores: Floats) -> Label | None:
        return next(
            (
                label
                for label, decision in zip(self.table.classes, self.decisions, strict=True)
                if decided(decision, scores)
            ),
            None,
        )

    def _probabilities(self, scores: Floats) -> Floats | None:
        """One column a class; None where the table does not know them."""
        link = self.table.link
        with np.errstate(over="ignore"):
            if link is not None and link.kind == "fraction":
                return scores
            if link is not None and link.kind == "logistic" and link.inside is None:
                p = 1.0 / (1.0 + np.exp(-(link.slope * scores[:, link.score] + link.shift)))
                return np.stack([1.0 - p, p], axis=1)
            if link is not None and link.kind == "softmax":
                powers = np.exp(scores - scores.max(axis=1, keepdims=True))
                return np.asarray(powers / powers.sum(axis=1, keepdims=True))
        return None

    def _apart(self, place: int, said: Any, ours: Any, what: str = "{}") -> ModelError:
        row = self.given.show(place)
        shown = ", ".join(f"{name}={value!r}" for name, value in list(row.items())[:SHOWN])
        shown += f", and {len(row) - SHOWN} more columns" if len(row) > SHOWN else ""
        return ModelError(
            f"the model's own library says {what.format(repr(said))} and what was read of the model says "
            f"{what.format(repr(ours))} ({self.table.name}) for the row {shown}",
            hint="The model is not what it looks like: no answer about it would hold. Please report this.",
        )


@contextmanager
def _one_thread() -> Iterator[None]:
    """Libraries predict in this thread: for so few rows, starting others takes longer."""
    with ExitStack() as stack:
        if "joblib" in sys.modules:
            import joblib

            stack.enter_context(joblib.parallel_config(backend="sequential"))
        if "threadpoolctl" in sys.modules:
            stack.enter_context(_pools(len(sys.modules)).limit(limits=1))
        yield


@lru_cache(maxsize=1)
def _pools(modules: int) -> ThreadpoolController:  # noqa: ARG001
    """The libraries with threads that are loaded; looked for again once so many modules are more, or fewer."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
