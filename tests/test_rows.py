"""The nearest of many rows, by way of floats: against the exact distances of all of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mace.base.exact import float_to_rank
from mace.problem import rows as many
from mace.problem.distance import Norm, norm
from mace.space.axes import Axis, Box, Grid, GridAxis, LevelAxis, Point, Side, started

NORMS = ("l0", "l1", "linf", {"l0": 0.25, "l1": 0.5, "linf": 0.25})


def random_axes(rng: np.random.Generator) -> list[Axis]:
    """Numbers as doubles, with steps, that may be missing; levels with an order or none."""
    low, high = float_to_rank(-2.0), float_to_rank(3.0)
    tiny = float_to_rank(1e-310)
    step = GridAxis("s", Grid("step", Fraction(1, 4)), 0, 20, 3, Fraction(5))
    kinds: list[Axis] = [
        GridAxis("d", Grid("float64"), low, high, 0, Fraction(5)),
        GridAxis("w", Grid("float64"), low, high, 0, Fraction(10) ** 120),  # no float tells changes from nothing
        GridAxis("t", Grid("float64"), -tiny, tiny, 0, Fraction(10) ** 20),
        step,
        replace(step, name="m", missing=21, missing_cost=Fraction(int(rng.integers(3)), 2)),
        LevelAxis("l", 4, 0b1011, 0, ordered=bool(rng.integers(2))),
    ]
    return [kinds[k] for k in sorted(rng.choice(len(kinds), int(rng.integers(1, 6)), replace=False))]


def random_point(axes: list[Axis], rng: np.random.Generator) -> Point:
    point = []
    for axis in axes:
        if isinstance(axis, LevelAxis):
            point.append(int(rng.integers(axis.count)))
        elif axis.grid.kind == "float64":
            near = float_to_rank(float(rng.choice([-1.0, 0.5, 2.0]))) + int(rng.integers(-1, 2))
            point.append(min(max(near, axis.lower), axis.upper) if axis.name != "t" else int(rng.integers(-3, 4)))
        else:
            point.append(int(rng.integers(axis.upper + 1 + (axis.missing is not None))))
    return tuple(point)


def random_box(axes: list[Axis], rng: np.random.Generator) -> Box:
    box: list[Side] = []
    for axis, *ends in zip(axes, random_point(axes, rng), random_point(axes, rng), strict=True):
        box.append(int(rng.integers(1, 16)) if isinstance(axis, LevelAxis) else (min(ends), max(ends)))
    return tuple(box)


def some_norm(axes: list[Axis], rng: np.random.Generator) -> Norm:
    huge = Fraction(10) ** 400 if rng.integers(20) == 0 else 1  # no float
    weights = [Fraction(int(rng.integers(4)), 3) * huge for _ in axes]
    return norm(NORMS[int(rng.integers(len(NORMS)))], len(axes), weights)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(200))
def test_the_least_of_many_is_that_of_each(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "FEW", 0)
    rng = np.random.default_rng(seed)
    axes = random_axes(rng)
    rows = tuple(random_point(axes, rng) for _ in range(int(rng.integers(1, 40))))
    measure, point, box = some_norm(axes, rng), random_point(axes, rng), random_box(axes, rng)
    exact = [
        measure.of([axis.delta(index) for axis, index in zip(started(axes, row), point, strict=True)]) for row in rows
    ]
    assert many.least_to(measure, axes, rows, point) == min(exact)
    bounds = [
        measure.of([many.least_change(a, side) for a, side in zip(started(axes, row), box, strict=True)])
        for row in rows
    ]
    assert many.least_to_box(measure, axes, rows, box, many.least_change) == min(bounds)
    ordered = list(many.by_bound(measure, axes, rows, box, many.least_change))
    assert sorted(row for _, row in ordered) == sorted(rows)
    known = dict(zip(rows, bounds, strict=True))
    for place, (bound, row) in enumerate(ordered):
        # A bound may be 0 where no float tells it from that; and no later row has less.
        assert bound == known[row] or (bound == 0 and known[row] < Fraction(1, 10**300))
        assert all(bound <= known[other] for _, other in ordered[place:])


def test_rows_that_floats_hardly_tell_apart_come_in_order() -> None:
    """The last of those that are as near as floats tell, and the first of the others, may stand the other way round."""
    rng = np.random.default_rng(0)
    low, high = float_to_rank(0.0), float_to_rank(10.0)
    axes: list[Axis] = [GridAxis(name, Grid("float64"), low, high, 0, Fraction(10)) for name in "fg"]
    measure, box = norm("l1", 2), ((0, 0), (0, 0))
    for _ in range(20):
        f, g = rng.random(2)
        firsts = f * (1 + 1e-3 * rng.normal(size=60))
        seconds = (f + g) * many.NEARLY - firsts
        near = [
            (float_to_rank(a), float_to_rank(b) + int(rng.integers(-3, 4)))
            for a, b in zip(firsts, seconds, strict=True)
        ]
        rows = ((float_to_rank(f), float_to_rank(g)), *near)
        found = [bound for bound, _ in many.by_bound(measure, axes, rows, box, many.least_change)]
        assert found == sorted(found)


def test_a_change_too_small_for_a_float_may_be_dear() -> None:
    """5e-324 in the place of 5e-344 is no small loss where a change of the range counts 1e300."""
    tiny = GridAxis("t", Grid("float64"), -20, 20, 0, Fraction(10) ** 20)
    other = GridAxis("u", Grid("float64"), float_to_rank(0.0), float_to_rank(10.0), 0, Fraction(10))
    measure = norm("l1", 2, [10**300, 1])
    rows = (*((k, 0) for k in range(1, 10)), (0, float_to_rank(1e-29)))
    nearest = measure.of([replace(tiny, start=1).delta(0), Fraction(0)])
    assert many.least_to(measure, [tiny, other], rows, (0, 0)) == nearest
    box = ((0, 0), (0, 0))
    assert many.least_to_box(measure, [tiny, other], rows, box, many.least_change) == nearest
    assert next(many.by_bound(measure, [tiny, other], rows, box, many.least_change)) == (nearest, (1, 0))
