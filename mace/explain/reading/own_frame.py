"""A frame of the user's own, beside what the model is given of the same rows.

In:  a model, rows of the frame as the user holds them, and as `Judge.frame` hands them on (float64 or int64).
Out: nothing; a ModelError names the step that computes otherwise, a row, and both numbers.
Promise: an answer is about the model over the frame that it was asked with. Scalers, logarithms and projections compute
in the type of what they are given: in float32 for a frame of float32, in half precision for the logarithm of small
integers. What they make there may lie on the other side of a threshold. Trees, and steps that only choose or fill in,
make the same of every type, and nothing is said of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mace.base.escape import short
from mace.base.frames import as_given, kinds
from mace.base.values import plain
from mace.errors import ModelError
from mace.tables.table import Formula, Network

if TYPE_CHECKING:
    import pandas as pd

    from mace.explain.deployed.judge import Judge

ROWS = 40  # that are compared: where a step computes in another type, nearly every row shows it
SAME = 1e-11  # of the largest number in its column: how far the same products may lie apart in two orders of summation
SINGLE = 1e-5  # the same for what a model in float32 says: its bounds allow for such products, whatever it is given


def hold(judge: Judge, frame: pd.DataFrame, held: Any = None) -> None:
    """Raise ModelError where a model takes a user's frame otherwise than what it is given of its rows.

    held: what stood in the place of a space: the frame, or an array that it was made of.
    A model that is given what the space encodes is not asked with a frame in which this is something else.
    """
    from mace.compilers.pipeline.rows import told_apart

    pipeline = judge.pipeline
    if isinstance(judge.table, Formula):
        return
    within = SINGLE if isinstance(judge.table, Network) and judge.table.dtype == "float32" else SAME
    if pipeline is not None and not pipeline.encoded:
        check(judge.model, frame, judge.frame, array=pipeline.names is None, within=within)
    if held is not None and all(feature.encoding == "as-is" for feature in told_apart(judge.space)):  # NaN is missing
        check_decisions(judge.model, held, frame, judge.frame, within)


def check(
    model: Any, frame: pd.DataFrame, given: Callable[[pd.DataFrame], pd.DataFrame], *, array: bool, within: float | None
) -> None:
    """Raise ModelError where the model's steps, or its decisions, differ between a frame and what is made of its rows.

    given: rows of the frame -> what the model is given of them; array: of both it is given the values alone.
    within: how far numbers that the model says may lie apart; None: it is not asked, since its calls are counted.
    Rows that are not in the space, and a frame that the model does not take, tell nothing.
    """
    from mace.compilers.deployed import quiet

    places = _some(frame)
    rows = frame.iloc[places]
    with quiet():
        try:
            ours = given(rows)
            held = _as_held(frame, places, list(ours.columns))
        except Exception:  # noqa: BLE001  a library, or a step of somebody's own, may raise anything at all
            return
        any(_compared(model, rows, theirs, ours, array, within) for theirs in held)  # up to the first that is taken


def _compared(
    model: Any, rows: pd.DataFrame, theirs: Any, ours: pd.DataFrame, array: bool, within: float | None
) -> bool:
    """Whether the model takes rows as they are held; raises ModelError where it makes something else of them."""
    from mace.compilers.enclosures.reader import unwrapped

    both = [theirs, ours]
    try:
        both = [one.to_numpy() if array else one for one in both]
    except Exception:  # noqa: BLE001
        return False
    said = None if within is None else _both(model, *both)
    if said is None and within is not None:
        return False
    types = _types(theirs, ours)
    for place, step in enumerate(unwrapped(model)[0]):
        try:
            both = [step.transform(one) for one in both]
        except Exception:  # noqa: BLE001
            if not place and within is None:
                return False
            break
        _compare(type(step).__name__, rows, [_numbers(one) for one in both], types)
    if said is not None and within is not None:
        _compare(type(model).__name__, rows, [one.ravel()[:, None] for one in said], types, within)
    return True


def check_decisions(
    model: Any, held: Any, frame: pd.DataFrame, given: Callable[[pd.DataFrame], pd.DataFrame], within: float
) -> None:
    """Raise ModelError where the model says something else of rows as the user holds them than of the same numbers.

    held: a frame or an array that the frame was made of; given: as for `check`. Both are asked about in one way, which
    need not be that of decisions: a booster gives probabilities.
    """
    from mace.compilers.deployed import quiet

    places = _some(frame)
    rows, framed = frame.iloc[places], hasattr(held, "columns")
    with quiet():
        try:
            made = given(rows)
            known = _as_held(frame, places, list(frame.columns)) if framed else [held[places]]
        except Exception:  # noqa: BLE001
            return
        ours = made if framed else made.to_numpy()
        both = next(filter(None, (_both(model, theirs, ours) for theirs in known)), None)
    if both is not None:
        kind = _types(known[0], made) if framed else f"; it holds {held.dtype}"
        _compare(type(model).__name__, rows, [one.reshape(len(one), -1) for one in both], kind, within)


def _both(model: Any, theirs: Any, ours: Any) -> list[NDArray[Any]] | None:
    """What a model says of the same rows in two containers; None where it does not take one of them."""
    try:
        return [np.asarray(model.predict(one)) for one in (theirs, ours)]
    except Exception:  # noqa: BLE001
        return None


def _as_held(frame: pd.DataFrame, places: list[int], names: list[str]) -> list[Any]:
    """Some rows as they may be given to the model: in the frame that was given, and in that of pandas made of it."""
    held, made = as_given(frame), frame.iloc[places][names]
    if held is frame:
        return [made]
    return [_rows(held, places, names), made]


def _rows(held: Any, places: list[int], names: list[str]) -> Any:
    """Some rows of a frame of whichever library."""
    if hasattr(held, "iloc"):
        return held.iloc[places][names]
    rows = held.take(places) if hasattr(held, "column_names") else held[places]  # tables of Arrow are no sequences
    return rows.select(names)


def _some(frame: pd.DataFrame) -> list[int]:
    """Places of rows from all over a frame."""
    places: list[int] = np.unique(np.linspace(0, len(frame) - 1, ROWS).astype(np.intp)).tolist()
    return places if len(frame) else []


def _types(theirs: Any, ours: pd.DataFrame) -> str:
    """How the types of two frames differ, in words; the first may be of another library."""
    apart = [
        f"`{name}` is {one}, and would be given as {other}"
        for name, one, other in zip(ours.columns, kinds(theirs), ours.dtypes, strict=True)
        if str(one).lower() != str(other)
    ]
    return f"; there {apart[0]}" if apart else ""


def _numbers(made: Any) -> NDArray[np.float64] | None:
    """What a step made as numbers, shape (rows, columns); None where it is texts."""
    if hasattr(made, "tocsr"):
        made = made.toarray()
    try:
        return np.asarray(made, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _compare(
    name: str, rows: pd.DataFrame, made: Sequence[NDArray[Any] | None], types: str, within: float = SAME
) -> None:
    """Raise ModelError where a step, or the model, made something else of the one than of the other."""
    one, other = made
    if one is None or other is None:
        return
    if one.shape != other.shape:
        raise _apart(name, rows.index[0], f"{one.shape[1]} columns", f"{other.shape[1]} columns", types)
    for row, column in np.argwhere(~_close(one, other, within))[:1].tolist():
        raise _apart(name, rows.index[row], one[row, column], other[row, column], types)


def _close(one: NDArray[Any], other: NDArray[Any], within: float) -> NDArray[np.bool_]:
    """Which numbers are the same but for the order of a sum."""
    if one.dtype.kind not in "fiub" or other.dtype.kind not in "fiub":
        return np.asarray(one == other, dtype=np.bool_)
    one, other = one.astype(np.float64), other.astype(np.float64)
    size = np.max(np.abs(np.where(np.isfinite(one), one, 0.0)), axis=0, initial=0.0)
    return np.asarray((one == other) | (np.isnan(one) & np.isnan(other)) | (np.abs(one - other) <= within * size))


def _apart(name: str, label: object, one: object, other: object, types: str) -> ModelError:
    return ModelError(
        f"over the frame that was given the {name} makes {short(plain(one))} of the row {short(plain(label))}, and "
        f"{short(plain(other))} where its numbers are float64 or int64{types}",
        hint='Ask with such a frame, and hold the answer to it: X.astype("float64").',
    )
