"""Rows of a space as the raw frame that a pipeline is given, and rows on which its steps are tried.

In:  a space, the raw columns that the model was fitted on, what stands for a missing value in each of them.
Out: `frame_of`: a frame with one column a feature; `encoded_frame`: one with the columns that the space encodes;
     `probes`: rows that hold every level and many numbers.
Promise: the type of a column depends on its feature alone, never on the rows: integers are int64 and other numbers
float64 (integers too where one may be missing, or is beyond 64 bits); levels keep their own type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from mace.base.exact import nearest
from mace.space.columns import Column
from mace.space.feature import Feature
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

SHARES = 2**53  # of a range: random floats are multiples of one of them
ROWS = 400  # rows on which the real steps are compared with what is said about them
NAN: object = float("nan")
HOLD_OTHERS = ("steps", "transformer_list", "transformers_", "estimators_", "calibrated_classifiers_")
HOLD_ONE = ("estimator_", "best_estimator_", "final_estimator_", "estimator")


def frame_of(
    space: Space,
    rows: Sequence[Mapping[str, Any]],
    names: Sequence[str] | None,
    markers: Mapping[str, object],
    types: Mapping[str, str],
) -> pd.DataFrame:
    """Rows of the space as the raw frame that a pipeline takes; see `CompiledPipeline.frame`."""
    import pandas as pd

    features = [f for f in space.features if names is None] or [space[n] for n in names or () if n in space.names]
    return pd.DataFrame(
        {
            f.name: _series(f, [row[f.name] for row in rows], markers.get(f.name, float("nan")), types.get(f.name))
            for f in features
        }
    )


def in_order(columns: Sequence[Column], names: Sequence[str] | None) -> tuple[Column, ...]:
    """Columns that a space encodes in the order in which a model knows them, where it knows just these by name."""
    known = {column.name: column for column in columns}
    if names is None or len(names) != len(known) or set(names) != set(known):
        return tuple(columns)
    return tuple(known[name] for name in names)


def encoded_frame(space: Space, rows: Sequence[Mapping[str, Any]], names: Sequence[str] | None = None) -> pd.DataFrame:
    """Rows of the space, with None for what is missing, as `Space.encode` makes them; only named columns, if any."""
    import pandas as pd

    columns = space.columns
    if names is not None:
        known = {column.name: column for column in columns}
        columns = tuple(known[name] for name in names)
    return pd.DataFrame({c.name: [_encoded(space, c, row) for row in rows] for c in columns}, dtype="float64")


def _encoded(space: Space, column: Column, row: Mapping[str, Any]) -> float:
    """One number of the matrix; NaN for what is missing."""
    feature = space.features[column.feature]
    value = row[feature.name]
    if column.values is None or value is None and feature.encoding == "as-is":
        return float("nan") if value is None else float(value)
    return column.values[feature.levels.index(value)]


def _series(feature: Feature, values: list[Any], marker: object, kind: str | None) -> pd.Series[Any]:
    import pandas as pd

    if kind is not None and kind != "object":
        known = pd.Index([level for level in feature.levels if level is not None])
        return pd.Series(pd.Categorical(values, known if kind == "category" else known.astype(kind)))
    # By what may be missing, not by what is: a column that had gaps when the pipeline was fitted was float64 then.
    absent = feature.missing
    if feature.numeric:
        if feature.kind == "integer" and not absent and max(map(abs, feature.bounds())) < 2**63:
            return pd.Series(values, dtype=np.int64)
        return pd.Series([float("nan") if value is None else float(value) for value in values], dtype=np.float64)
    kinds = {type(level) for level in feature.levels if level is not None} if kind is None else {str}
    if kinds == {bool} and not absent:
        return pd.Series(values, dtype=np.bool_)
    if kinds == {int} and not absent:
        return pd.Series(values, dtype=np.int64)
    if kinds <= {int, float} and marker != marker:
        return pd.Series([marker if value is None else float(value) for value in values], dtype=np.float64)
    return pd.Series([marker if value is None else value for value in values], dtype=object)


def marker_of(step: Any, place: int) -> object:
    """What stands for a missing value in a column of a step, as it was told or trained; NaN where it says nothing."""
    marker = getattr(step, "missing_values", 0)
    if marker is None or type(marker).__name__ == "NAType":
        return marker
    known = getattr(step, "categories_", None)
    return None if known is not None and any(level is None for level in known[place]) else NAN


def markers_of(model: Any) -> dict[str, object]:
    """What stands for missing values in the raw columns of a model that is only asked, by its steps that know them."""
    found: dict[str, object] = {}
    todo: list[tuple[Any, Sequence[str]]] = [(model, ())]  # a part, and the raw columns that it is given without names
    seen = set()
    while todo:
        part, given = todo.pop()
        if part is None or isinstance(part, str) or id(part) in seen:
            continue
        seen.add(id(part))
        names = [str(name) for name in getattr(part, "feature_names_in_", given)]
        inside = [one for attribute in HOLD_OTHERS for one in _listed(getattr(part, attribute, None))]
        todo += [(getattr(part, attribute, None), ()) for attribute in HOLD_ONE]
        piped = hasattr(part, "steps")
        for one in inside:
            todo.append((one, names if piped else ()))
            names = names if piped and type(one).__name__ == "SimpleImputer" and not one.add_indicator else []
        if not inside and hasattr(part, "transform"):
            known = len(getattr(part, "categories_", names)) == len(names)
            markers = {name: marker_of(part, place) for place, name in enumerate(names)} if known else {}
            found |= {name: marker for name, marker in markers.items() if marker is not NAN}
    return found


def _listed(held: Any) -> list[Any]:
    """The parts in a list of them, or of tuples such as (name, part, columns)."""
    parts = np.ravel(held).tolist() if isinstance(held, np.ndarray) else held if isinstance(held, list) else []
    return [part[1] if isinstance(part, tuple) and len(part) > 1 else part for part in parts]


def told_apart(space: Space) -> list[Feature]:
    """The features with levels that are other numbers, or none at all, in the columns that the space encodes."""
    return [f for f in space.features if not f.numeric and (f.missing or f.column_values != (f.levels,))]


def takes_features(
    predict: Callable[[pd.DataFrame], Any], space: Space, names: Sequence[str] | None, types: Mapping[str, str]
) -> bool | None:
    """Whether a model takes features that hold texts, rather than what the space encodes of them.

    None where no text tells these apart.    predict: the model, given a frame of the features.
    Some that were fitted on numbers take every text for a category that they do not know: to these the levels are no
    other texts than any, and the numbers are.
    """
    if not any(isinstance(level, str) for feature in told_apart(space) for level in feature.levels):
        return None
    rows = probes(space, {})
    frame = frame_of(space, rows, names, {}, types)
    said = _said(predict, frame)
    if said is None:
        return False
    for name in frame.columns:
        if frame[name].dtype != "category":
            frame[name] = frame[name].map(lambda cell: f"no {cell} at all" if isinstance(cell, str) else cell)
    strange = _said(predict, frame)
    if strange is None or not np.array_equal(said, strange):
        return True
    numbers = _said(predict, encoded_frame(space, rows, names)) if names is None or _encodes(space, names) else None
    return numbers is None or np.array_equal(said, numbers)


def _said(predict: Callable[[pd.DataFrame], Any], frame: pd.DataFrame) -> Any:
    """What a model says of rows; None where it refuses them."""
    try:
        return np.asarray(predict(frame))
    except Exception:  # noqa: BLE001  a library may raise anything at all where it is given texts
        return None


def _encodes(space: Space, names: Sequence[str]) -> bool:
    """Whether a space encodes columns of these names."""
    return {*names} <= {column.name for column in space.columns}


def probes(space: Space, critical: Mapping[int, Sequence[float]]) -> list[dict[str, Any]]:
    """Rows of the space without missing values: every level in turn, ends of ranges and random numbers.

    critical: per feature numbers of its range to try as well.
    """
    rng = np.random.default_rng(0)
    count = max(ROWS, *(2 * len(f.levels) for f in space.features), *map(len, critical.values()), 1)
    values: dict[str, list[Any]] = {}
    for j, feature in enumerate(space.features):
        if not feature.numeric:
            levels = [level for level in feature.levels if level is not None]
            values[feature.name] = [levels[k % len(levels)] for k in range(count)]
            continue
        lower, upper = feature.bounds()
        # Whole numbers over one denominator: fractions of many features take long.
        unit = math.lcm(lower.denominator, upper.denominator)
        first, wide = int(lower * unit) * SHARES, int((upper - lower) * unit)
        shares = [0, SHARES, *(rng.random(count - 2) * SHARES).astype(np.int64).tolist()]
        numbers, below = [first + wide * share for share in shares], unit * SHARES
        if feature.kind == "integer":
            values[feature.name] = [int(Fraction(number, below)) for number in numbers]
        else:
            # Half of them short decimals, where sums and quotients are most often exact.
            low, high = nearest(lower), nearest(upper)
            floats = [number / below for number in numbers]  # as `nearest` rounds: once
            values[feature.name] = [
                min(max(x if k % 2 else float(f"{x:.3g}"), low), high) for k, x in enumerate(floats)
            ]
        values[feature.name][: len(critical.get(j, ()))] = critical.get(j, ())
    return [{name: column[k] for name, column in values.items()} for k in range(count)]
