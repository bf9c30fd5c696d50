"""Answers for the rows of a frame: equal rows are asked about once, and an error names its row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mace.errors import RowError
from mace.explain.answer import Answer
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd


def answers_of(space: Space, frame: pd.DataFrame, answer: Callable[[object], Answer]) -> list[Answer]:
    """An answer for each row of a frame; rows that are not in the space are found before the first is answered."""
    space.read(frame)
    answers: dict[tuple[str, ...], Answer] = {}
    found = []
    for label, values in zip(frame.index, frame[space.names].to_dict("records"), strict=True):
        row = space.row(values)
        key = tuple(f"{type(value).__name__} {value!r}" for value in row.values())
        if key not in answers:
            try:
                answers[key] = answer(row)
            except RowError as error:
                raise RowError(f"row {label!r}, {error.message}", shown=error.shown, hint=error.hint) from None
        found.append(answers[key])
    return found
