"""Make a witness simple: as few features as possible differ, and what does not matter takes a plain value.

In:  rows that break a property, and a test whether other rows do, by replay.
Out: rows that break it, from which no single feature can be taken back.
Promise: every row returned was accepted by the test; the number of replays is limited.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mace.verify.questions import Row, Rows

MOST_REPLAYS = 400


def shrink(rows: Rows, breaks: Callable[[Rows], bool], plain: Mapping[str, Any]) -> Rows:
    """Take back differences between two rows, then give shared values that do not matter those of `plain`.

    breaks: whether rows are allowed and break the property; asked at most MOST_REPLAYS times.
    plain:  feature -> a value that says nothing: of a typical row, or simply 0.
    """
    left = MOST_REPLAYS

    def tried(candidate: Rows) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and breaks(candidate)

    def taken_back(candidate: Rows, name: str) -> list[Rows]:
        one, other = candidate
        return [(one, {**other, name: one[name]}), ({**one, name: other[name]}, other)]

    # Invariant: `rows` break the property.
    again = len(rows) == 2
    while again:
        again = False
        for name in [name for name in rows[0] if rows[0][name] != rows[1][name]]:
            for candidate in taken_back(rows, name):
                if tried(candidate):
                    rows, again = candidate, True
                    break
    for name, value in plain.items():
        if any(row[name] != rows[0][name] for row in rows) or rows[0][name] == value:
            continue
        plainer = tuple(_put(row, name, value) for row in rows)
        if tried(plainer):
            rows = plainer
    return rows


def _put(row: Row, name: str, value: Any) -> Row:
    return {**row, name: value}
