"""What a space that is inferred from a frame takes for granted, as questions to whoever knows the table.

In:  a frame.    Out: a question for each column that may not be what it looks like: a date, an identifier, numbers that
are held as objects, or stand beside a few texts, a number that can only grow.
Promise: nothing here changes a space; the questions say what would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mace.base.escape import one_line, short

if TYPE_CHECKING:
    import pandas as pd

MANY = 50  # levels, above which a column of texts may be an identifier
MOSTLY = 0.9  # of the rows, in which an identifier has a value of its own, or which hold numbers
_GROWS = re.compile(r"(^|[^a-z])(age|tenure|seniority|experience|education|years?|months? since)([^a-z]|$)", re.I)
_NAMED_ID = re.compile(r"(^|[^a-z])(id|uuid|guid|key|number|nr)$", re.I)
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")


def questions(frame: pd.DataFrame, told: frozenset[str] = frozenset()) -> list[str]:
    """The questions about a frame; columns of which something was `told` are not asked about."""
    return [
        f"{one_line(column)}: {question}"
        for column in frame.columns
        if column not in told
        for question in _about(str(column), frame[column])
    ]


def _about(column: str, values: pd.Series[Any]) -> Iterator[str]:
    import pandas as pd

    present = values.dropna()
    if present.empty:
        return
    if values.dtype == object and _numeric(present.infer_objects()):
        yield "are these numbers? They are held as objects, and taken for levels: frame.infer_objects() says so"
        return
    if not _numeric(values) and (found := _almost_numbers(present)):
        yield found
        return
    words = _words(column)
    if pd.api.types.is_datetime64_any_dtype(values.dtype) or _dates(present):
        yield "is it a date? Each one counts as a level of its own. A number of days would have an order"
        return
    numeric = _numeric(values)
    distinct = present.nunique() if numeric or present.map(_simple).all() else 0
    own = distinct >= MOSTLY * len(present) and distinct > MANY
    if (not numeric and distinct > MANY) or (own and _NAMED_ID.search(words)):
        found = f"{distinct:,} values in {len(present):,} rows"
        yield f"is it an identifier? It has {found}. Leave it out, or name it in `fixed`"
    elif numeric and _GROWS.search(words):
        in_file = 'in a space file: change = "increase"'
        yield f"can it fall? If it only grows with time, say increase=[{column!r}] ({in_file})"


def _numeric(values: pd.Series[Any]) -> bool:
    """Whether values have a type of numbers; truths, beside which something is missing, are objects and no numbers."""
    import pandas as pd

    return pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)


def _words(column: str) -> str:
    """`YearsOfService` as `years of service`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_\-]+", " ", column).lower()


def _simple(value: object) -> bool:
    return value.__hash__ is not None


def _almost_numbers(present: pd.Series[Any]) -> str:
    """What keeps a column of texts from being one of numbers, where most of it reads as such; else nothing."""
    import pandas as pd

    if not present.map(lambda value: isinstance(value, (str, int, float))).all():
        return ""
    others = pd.to_numeric(present.astype(str), errors="coerce").isna()
    count = int(others.sum())
    if not count or count > (1 - MOSTLY) * len(present):
        return ""
    first, row = present[others].iloc[0], others.index[others][0]
    which = (
        f"but one, {short(first)} in row {short(row)}"
        if count == 1
        else (f"but {count:,}, the first {short(first)} in row {short(row)}")
    )
    return (
        f"is it a number? All {len(present):,} values are {which}. As it stands each one counts as a level of its own"
    )


def _dates(present: pd.Series[Any]) -> bool:
    """Whether the first texts of a column are all written as dates."""
    return all(isinstance(value, str) and _DATE.fullmatch(value.strip()) for value in present.head(20))
