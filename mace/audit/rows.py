"""Which rows of a frame are asked about, and the group that each belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from mace.audit.digest import digest
from mace.base.arguments import names
from mace.base.figures import counted
from mace.base.suggestions import among
from mace.base.values import for_json, plain
from mace.errors import RowError
from mace.explain.explainer import Explainer
from mace.explain.goal_rows import have_goal
from mace.problem.goals import Wanted

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 2000  # rows whose decisions are asked for at once, while the first so many rejected ones are looked for


def choose(
    explainer: Explainer, frame: pd.DataFrame, goal: Wanted | None, rows: str, limit: int | None
) -> list[tuple[int, dict[str, Any]]]:
    """Places and values of the rows to ask about; a row that the model cannot decide on is one of them."""
    chosen: list[tuple[int, dict[str, Any]]] = []
    missing = [name for name in explainer.space.names if name not in frame.columns]
    if missing:
        raise RowError(
            f"the frame has no column `{missing[0]}`",
            hint=among(missing[0], frame.columns),
        )
    for begin in range(0, len(frame), CHUNK):
        part = frame.iloc[begin : begin + CHUNK]
        values = part[explainer.space.names].to_dict("records")
        have = [False] * len(part) if rows == "all" or goal is None else have_goal(explainer, part, goal)
        for offset, (row, has) in enumerate(zip(values, have, strict=True)):
            if has:
                continue
            chosen.append((begin + offset, {str(name): _cell(value) for name, value in row.items()}))
            if limit is not None and len(chosen) >= limit:
                return chosen
    return chosen


def _cell(value: object) -> object:
    """A cell as the frame holds it, a date or an interval included; its text, where it has no digest to be found by."""
    value = plain(value)
    if isinstance(value, float) and isnan(value):
        return None
    try:
        digest(value)
    except TypeError:
        return for_json(value)
    return value


def taken(explainer: Explainer, frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of a frame that the space and the model take."""
    kept, waiting = list[int](), [(0, len(frame))]
    while waiting:
        begin, end = waiting.pop()
        try:
            explainer.decisions(frame.iloc[begin:end])
            kept += range(begin, end)
        except RowError:
            if end - begin > 1:
                middle = (begin + end) // 2
                waiting += [(middle, end), (begin, middle)]
    return frame.iloc[kept]


def groups_of(
    groups: Iterable[str] | Mapping[str, Sequence[Any]] | None, frame: pd.DataFrame, places: list[int]
) -> dict[str, list[str]]:
    """Name -> the group of each of these rows, as text; raises RowError for a column that the frame has not."""
    if groups is None:
        return {}
    if hasattr(groups, "iloc") and getattr(groups, "ndim", 0) == 1:  # a Series: the group of each row, in its order
        groups = {str(getattr(groups, "name", None) or "group"): list(groups)}
    if not isinstance(groups, Mapping):
        groups = names(groups)
        absent = [name for name in groups if name not in frame.columns]
        if absent:
            raise RowError(
                f"groups: the frame has no column `{absent[0]}`",
                hint=among(absent[0], frame.columns),
            )
        groups = {name: frame[name].tolist() for name in groups}
    out: dict[str, list[str]] = {}
    for name, given in groups.items():
        labels = list(given)
        if len(labels) != len(frame):
            entries = counted(len(labels), "entry", "entries")
            raise RowError(f"groups: `{name}` has {entries}, the frame has {counted(len(frame), 'row')}")
        out[str(name)] = [str(for_json(labels[place])) for place in places]
    return out
