"""A model over a space as bounds over boxes of it: the columns of a box, then the model.

In:  a model that is only asked, its space, and whether its rows are the space's raw columns.
Out: `Enclosure`: the model, and its columns as functions of one feature each.
Promise: columns are compared with the real steps of a pipeline, bit for bit, as those of models that are read
(`mace.compilers.pipeline.walk`); a chain of operations that is monotone is bounded by its ends, moved outwards where a
library's function has a say.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from mace.base.exact import UNIT_ROUNDOFF, nearest
from mace.compilers.enclosures.bounds import over
from mace.compilers.enclosures.enclosed import Enclosed, possible, probabilities
from mace.compilers.enclosures.ranges import UNSURE, Range
from mace.compilers.enclosures.registry import behind, enclosed
from mace.compilers.enclosures.steps import mixes
from mace.compilers.pipeline.reader import columns_of_steps
from mace.compilers.pipeline.rows import in_order
from mace.compilers.pipeline.steps import is_pipeline
from mace.compilers.registry import names_known, registered
from mace.compilers.sklearn.common import DAMAGE, name_of
from mace.errors import UnreadableError
from mace.space.axes import Axis, GridAxis, LevelAxis, Side
from mace.space.columns import ARITHMETIC, Column, Step, apply
from mace.space.space import Space

IN_TAILS = 2.0**-28


class Ends(NamedTuple):
    """The least and the largest value of a column."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Enclosure:
    """A model, and the columns that it is given."""

    model: Enclosed
    columns: tuple[Column, ...]


def enclose(model: Any, space: Space, *, raw: bool) -> Enclosure:
    """A model over a space.

    raw: it is given the space's own columns, not those that the space encodes.
    Raises UnreadableError where it has no bounds, and what readers raise.
    """
    try:
        return _tried(_enclosed(model, space, raw))
    except DAMAGE as error:
        raise UnreadableError(f"this {name_of(model)} cannot be bounded ({error})") from error


def _tried(enclosure: Enclosure) -> Enclosure:
    """The same, if its parts fit together: at one row they give what they promise."""
    model, row = enclosure.model, np.zeros((1, len(enclosure.columns)))
    over(model.scores, Range(row, row))
    if model.classes:
        possible(model, Range(row, row))
    if model.classes and model.probable is not None:
        given = probabilities(model, Range(row, row)).low.shape[1]
        if given != len(model.classes):
            raise UnreadableError(f"{model.name} gives {given} probabilities of {len(model.classes)} classes")
    return enclosure


def _enclosed(model: Any, space: Space, raw: bool) -> Enclosure:
    """As `enclose`; what does not fit together is not noticed."""
    steps, final = unwrapped(model)
    if not raw and not all(feature.numeric for feature in space.features):
        found, columns = behind(steps, enclosed(final)), in_order(space.columns, names_known(model))
    else:
        first = next((place for place, step in enumerate(steps) if mixes(step)), len(steps))
        found = behind(steps[first:], enclosed(final))
        columns = columns_of_steps(steps[:first], [*steps[first:], final], space)
    if found.columns != len(columns):
        raise UnreadableError(f"{found.name} takes {found.columns} columns, and is given {len(columns)}")
    for column in columns:
        if any(step[0] == "nonzero" for step in column.chain):
            raise UnreadableError(f"the column `{column.name}` of a sparse matrix is not bounded over boxes")
    return Enclosure(found, columns)


def unwrapped(model: Any) -> tuple[list[Any], Any]:
    """The steps before the last model, those of nested pipelines too, and that model."""
    steps: list[Any] = []
    while True:
        found = registered(model)
        if is_pipeline(model):
            steps += [step for _, step in model.steps[:-1]]
            model = model.steps[-1][1]
        elif found is not None and found.reader.passes_on and found.reader.inside is not None:
            model = found.reader.inside(model)
        else:
            return _flat(steps), model


def _flat(steps: Sequence[Any]) -> list[Any]:
    """Steps, with those of a pipeline among them one by one."""
    found: list[Any] = []
    for step in steps:
        if is_pipeline(step):
            found += _flat([inner for _, inner in step.steps])
        elif step is not None and not (isinstance(step, str) and step == "passthrough"):
            found.append(step)
    return found


def levels_of(column: Column, axis: LevelAxis) -> tuple[float, ...]:
    """What each level of a feature becomes; NaN for one that the column does not know, which the last may be."""
    known = column.on(axis).values
    assert known is not None
    return (*known, *[math.nan] * (axis.count - len(known)))


def knows(columns: Sequence[Column], axes: Sequence[Axis]) -> bool:
    """Whether it is known what every allowed level becomes."""
    levels = ((column, axes[column.feature]) for column in columns)
    return all(
        math.isfinite(levels_of(column, axis)[level])
        for column, axis in levels
        if isinstance(axis, LevelAxis)
        for level in axis.levels()
    )


def ends_of(column: Column, axis: Axis, side: Side) -> Ends:
    """What a column may be over a side of its feature."""
    if isinstance(side, int):
        assert isinstance(axis, LevelAxis)
        values = [value for index, value in enumerate(levels_of(column, axis)) if side >> index & 1]
        return Ends(min(values), max(values))
    assert isinstance(axis, GridAxis)
    given = [column.given(axis.value(index)) for index in side]
    if side[0] == side[1]:
        alone = column.of(given[0])
        return Ends(alone, alone)
    bins = next((step[1] for step in column.chain if step[0] == "steps"), None)
    if bins is not None:
        before = Column(column.name, column.feature, None, column.chain[:-1])
        numbered = Column("", 0, None, (("steps", (bins[0], tuple(map(float, range(len(bins[1])))))),))
        low, high = sorted(int(numbered.of(before.of(number))) for number in given)
        return Ends(min(bins[1][low : high + 1]), max(bins[1][low : high + 1]))
    return _along_chain(column, given)


def _along_chain(column: Column, given: Sequence[float]) -> Ends:
    """What a chain makes of all numbers between two: arithmetic in floats keeps their order, a library's function is
    off by what that may round, and what comes behind it carries that on.
    """
    ends = np.array(given)
    with np.errstate(all="ignore"):
        for step in column.chain:
            ends = np.sort(apply(step, ends))
            ends += np.array([-1.0, 1.0]) * _rounded_by(step, float(np.abs(ends).max()))
    least, most = ends.tolist()
    return Ends(-math.inf, math.inf) if math.isnan(least) or math.isnan(most) else Ends(least, most)


def _rounded_by(step: Step, size: float) -> float:
    """How far a step may be off a monotone function, where that is no larger than `size`."""
    if step[0] in ARITHMETIC or step[0] == "clip":
        return 0.0
    if step[0] != "quantile":
        return UNSURE * size
    # What is interpolated in 0..1 is off by so much of 1; at its ends the normal distribution makes much of that.
    return (IN_TAILS if step[1][2] else UNSURE) * max(1.0, size)


def off_line(column: Column, axis: Axis) -> float:
    """By how much roundings may take an arithmetic column off the line between two values of its number.

    Where the range is narrow beside the numbers in it, that is much: the column moves by steps.
    """
    assert isinstance(axis, GridAxis)
    size = max(abs(axis.value(end)) for end in (axis.lower, axis.upper))
    given = Fraction(0) if axis.grid.kind == "float64" else UNIT_ROUNDOFF * size
    return nearest(2 * column.error(size, given)) * (1 + UNSURE)  # at one of the values and in between
