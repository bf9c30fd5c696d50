"""Every family that is read, beside its library: the same decisions on many rows, the same nearest points.

    python -m tests.held                                    a table of all families: 11,000 rows, 50 problems each
    python -m tests.held boosters links --rows 2200         some groups of families, with fewer rows
    python -m tests.held --alone 2000                       all rows in a batch, the first 2,000 one at a time as well
    python -m tests.held --only EBM-2 --problems 0          rows alone, of one family

Of the rows, a tenth (at most 1,000) are adversarial: on, just below and just above thresholds, and the two neighbouring
floats between which the library itself changes its decision. All are asked in a batch, and one at a time as well, the
adversarial ones first; `--alone` limits that. "in doubt" are rows on which the table leaves the decision to rounding,
"moved" those of which the library said something else alone than in the batch.
Problems are random questions over a small space, compared with the library's word at every point (`tests/roads.py`).
The last table adds up each group's families: who answered, and how many questions rounding left open.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd

from mace.compilers import deployed
from mace.compilers.crosscheck import Rows, _Said
from mace.compilers.pipeline.reader import compile_raw
from mace.errors import MaceError
from mace.explain.reading.models import read_model
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.decide import class_of, settled
from mace.tables.means import around
from tests.compilers.pipelines import adversarial_rows, random_rows
from tests.held_boxes import boxed_model, doubts, in_boxes, misses
from tests.held_families import GROUPS
from tests.roads import Family, agree, frame_of

WIDE = (
    Feature("a", "real", -5.0, 5.0),
    Feature("b", "real", 0.0, 100.0),
    Feature("c", "real", -0.3, 0.4),
    Feature("d", "integer", 0, 9),
)
MOST_NEAR = 1000
"""Adversarial rows."""
HALVINGS = 70
"""Steps of a bisection: two floats that lie anywhere in a range become neighbours."""


@dataclass(frozen=True, eq=False)
class Model:
    """A family's model over a wide space: its table, and the library.

    matrix: rows of the space -> what the table sees.    frame: rows -> what the library is given.
    """

    space: Space
    table: Any
    columns: Sequence[Any]
    deployed: Any
    matrix: Callable[[list[dict[str, Any]]], Any]
    frame: Callable[[list[dict[str, Any]]], pd.DataFrame]


class Compared(NamedTuple):
    """What was seen of a family's rows.

    doubt: rows on which rounding decides.    alone: rows that were asked one at a time.
    moved: of these, rows of which the library said something else in the batch.
    """

    rows: int
    doubt: int
    alone: int
    moved: int


def wide(feature: Feature) -> Feature:
    """A feature of a small space with a longer range."""
    if feature.kind == "integer":
        return replace(feature, upper=16 * feature.upper)
    return replace(feature, upper=10 * feature.upper, step=None) if feature.kind == "real" else feature


def model_of(family: Family, rows: int = 300) -> Any:
    """The family's model, fitted to random rows of a wide space: a `Model`, or a `Boxed` one without a table."""
    rng = np.random.default_rng([5, family.classes])
    space = Space([wide(feature) for feature in family.features] or WIDE)
    given = random_rows(space, rows)
    X = frame_of(space, given, family.raw)
    numbers = frame_of(space, given, raw=False).fillna(0.0).to_numpy()
    y = (numbers - numbers.mean(0)) / (numbers.std(0) + 1e-9) @ rng.normal(size=numbers.shape[1])
    y = y + rng.normal(size=rows) / 3
    if family.classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, family.classes) / family.classes))
    if family.boxed:
        return boxed_model(family, space, given, y, rng)
    model = family.make(X, y, rng)
    compiled = compile_raw(model, space) if family.raw else None
    if compiled is None:
        return Model(
            space, read_model(model, space), space.columns, deployed(model),
            lambda some: frame_of(space, some, False).to_numpy(dtype=np.float64),
            lambda some: frame_of(space, some, False),
        )  # fmt: skip
    return Model(
        space, compiled.table, compiled.columns, compiled.deployed,
        lambda some: np.array([compiled.row(row) for row in some]), compiled.frame,
    )  # fmt: skip


def turning_rows(model: Any, count: int) -> list[dict[str, Any]]:
    """Pairs of rows that differ by single floats, and of which the library decides differently; fewer if it turns
    rarely."""
    names = [feature.name for feature in model.space.features if feature.kind == "real"]
    one = random_rows(model.space, count)
    rng = np.random.default_rng(3)
    ends = np.array([[row[name] for name in names] for row in one], dtype=np.float64)
    other = ends[rng.permutation(count)]

    def with_numbers(numbers: Any) -> list[dict[str, Any]]:
        return [{**row, **dict(zip(names, some, strict=True))} for row, some in zip(one, numbers.tolist(), strict=True)]

    def said(numbers: Any) -> Any:
        return np.asarray(model.deployed.predict(model.frame(with_numbers(numbers))))

    before = said(ends)
    turns = before != said(other)
    # Invariant: of rows that turn, the library says of `ends` what it said at first, and of `other` something else.
    for _ in range(HALVINGS if turns.any() else 0):
        middle = ends + (other - ends) / 2
        same = (said(middle) == before)[:, None]
        ends, other = np.where(same, middle, ends), np.where(same, other, middle)
    pairs = zip(with_numbers(ends), with_numbers(other), turns.tolist(), strict=True)
    return [row for a, b, turned in pairs if turned for row in (a, b)]


def compared(family: Family, rows: int, alone: int) -> Compared:
    """Ask a family's library about rows, and hold its table to that; raises ModelError where they differ."""
    model = model_of(family)
    if family.boxed:
        return compared_boxes(model, family, rows, alone)
    near = min(MOST_NEAR, rows // 10)
    given = turning_rows(model, near // 2)[: near // 2] if family.classes else []
    given += adversarial_rows(model, near - len(given))  # type: ignore[arg-type]
    given += random_rows(model.space, rows - near)
    matrix, frame = model.matrix(given), model.frame(given)
    said = _Said(model.table, Rows(matrix, lambda places: frame.iloc[list(places)], lambda place: given[place]))
    batch = np.asarray(model.deployed.predict(frame)).tolist()
    said.compare(range(rows), batch)
    one = [np.asarray(model.deployed.predict(frame.iloc[[k]])).tolist()[0] for k in range(min(alone, rows))]
    said.compare(range(len(one)), one)
    doubt = 0
    for k in _unsettled(said).tolist():
        place = class_of(model.table, matrix[k])
        doubt += place is None
        known = () if place is None else (batch[k], *one[k : k + 1])
        assert all(label == model.table.classes[place] for label in known), (given[k], place, known)
    return Compared(rows, doubt, len(one), sum(a != b for a, b in zip(one, batch, strict=False)))


def compared_boxes(model: Any, family: Family, rows: int, alone: int) -> Compared:
    """As `compared`, of a model that is bounded over boxes; raises AssertionError where bounds do not hold."""
    near = min(MOST_NEAR, rows // 10)
    given = turning_rows(model, near // 2)[:near]
    given += random_rows(model.space, rows - len(given))
    matrix, frame = model.matrix(given), model.frame(given)
    batch = np.asarray(model.deployed.predict(frame))
    known = model.deployed.probabilities
    wrong = misses(model.model, matrix, matrix, batch, None if known is None else np.asarray(known(frame)))
    assert not wrong.any(), [given[k] for k in np.flatnonzero(wrong)[:3]]
    count = min(alone, rows)
    one = np.array([np.asarray(model.deployed.predict(frame.iloc[[k]])).tolist()[0] for k in range(count)])
    wrong = misses(model.model, matrix[:count], matrix[:count], one)
    assert not wrong.any(), [given[k] for k in np.flatnonzero(wrong)[:3]]
    assert not in_boxes(model, frame.to_numpy()), "what a library says of points in a box its bounds exclude"
    return Compared(rows, doubts(model.model, matrix), count, int((one != batch[:count]).sum()))


def _unsettled(said: Any) -> Any:
    """Rows on which scores lie near a boundary, and have to be read one by one; of a number, none."""
    if not said.table.classes:
        return np.arange(0)
    if said.error is None:
        return np.arange(len(said.scores))
    if said.mean is not None:
        low, high = around(said.mean, said.scores, said.error)
        return np.flatnonzero((low <= 0.5) & (high >= 0.5))
    return np.flatnonzero(~settled(said.compares, said.scores, said.error))


@dataclass(frozen=True)
class Held:
    """What was seen of a family, and how its problems ended.

    seconds: of CPU, for the rows and for the problems.
    """

    seen: Compared
    ended: Counter[str]
    seconds: tuple[float, float]

    def __str__(self) -> str:
        told = "; ".join(f"{count} {how.removeprefix('auto: ')}" for how, count in self.ended.most_common())
        return f"{' | '.join(map(str, self.seen))} | {told} | {' + '.join(f'{one:.0f}' for one in self.seconds)}"


ANSWERED = {
    "certificate accepted": "certified", "both solvers agree": "by solvers", "by bounds over boxes": "over boxes",
    "rounding decides": "open", "": "nothing to do",
}  # fmt: skip
"""What a problem's ending says in it, and the column it counts in; last, of rows that have the goal already."""


def summed(group: str, found: Sequence[Held | None]) -> str:
    """A line of the last table: all families of a group; None stands for one that failed."""
    whole = [one for one in found if one is not None]
    counted = Counter[str]()
    for how, count in (pair for one in whole for pair in one.ended.items()):
        counted[next(column for text, column in ANSWERED.items() if text in how)] += count
    total = [sum(one.seen[k] for one in whole) for k in range(3)]
    parts = [group, len(found), *total, counted.total(), *(counted[column] for column in ANSWERED.values())]
    return f"| {' | '.join(map(str, parts))} | {len(found) - len(whole)} |"


SUMMED = f"| group | families | rows | in doubt | alone | problems | {' | '.join(ANSWERED.values())} | failed |"


def held(family: Family, rows: int, alone: int, problems: int) -> Held:
    """A family beside its library; raises AssertionError or MaceError where it is not what its library says."""
    began = time.process_time()
    seen = compared(family, rows, alone) if rows else Compared(0, 0, 0, 0)
    between = time.process_time()
    # Small spaces would be asked about as a whole.
    with mock.patch("mace.explain.unread.explainer.MOST", 0) if family.boxed else nullcontext():
        ended = agree(family, range(100, 100 + problems), ("auto",)) if problems else Counter[str]()
    return Held(seen, ended, (between - began, time.process_time() - between))


def main() -> int:
    """Print the table; 1 if a family differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.held", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--only", default="", help="families, by name")
    parser.add_argument("--rows", type=int, default=11_000)
    parser.add_argument("--alone", type=int, help="rows that are asked one at a time as well (all)")
    parser.add_argument("--problems", type=int, default=50)
    asked = parser.parse_args()
    alone = asked.rows if asked.alone is None else asked.alone
    names = [one for one in asked.only.split(",") if one]
    found: dict[str, list[Held | None]] = {}
    print("| family | rows | in doubt | alone | moved | problems | CPU s |\n|---|---|---|---|---|---|---|", flush=True)
    for group, family in ((name, one) for name in asked.groups or GROUPS for one in GROUPS[name]):
        if names and family.name not in names:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                one = held(family, asked.rows, alone, asked.problems)
        except ImportError as error:
            print(f"| {family.name} | not installed: {error.name} | | | | | |", flush=True)
            continue
        except (AssertionError, MaceError):
            print(f"| {family.name} | FAILED | | | | | |", flush=True)
            print(traceback.format_exc()[-1500:], file=sys.stderr)
            one = None
        found.setdefault(group, []).append(one)
        if one is not None:
            print(f"| {family.name} | {one} |", flush=True)
    print(f"\n{SUMMED}\n|{'---|' * (SUMMED.count('|') - 1)}")
    print("\n".join(summed(group, some) for group, some in found.items()))
    failed = sum(some.count(None) for some in found.values())
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
