"""What is worked out of all axes at once, against one axis after the other: what cuts cost, and nearest points."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from mace.base.cache import Recent
from mace.base.exact import float32_to_rank, float_to_rank
from mace.problem.distance import Norm, norm
from mace.solve.ensembles.arrays import cuts as cutting
from mace.solve.ensembles.arrays.cells import ground, refusal
from mace.solve.ensembles.arrays.costs import charges_of, costs_of, scale_of
from mace.solve.ensembles.arrays.tariff import tariff_of
from mace.space.axes import Axis, Grid, GridAxis, LevelAxis
from tests.oracles.small_ensembles import random_question

NORMS = ["l0", "l1", "linf", {"l0": "1/4", "l1": "1/4", "linf": "1/2"}]


def some_axis(rng: random.Random, name: str) -> tuple[Axis, list[int]]:
    """An axis of any kind, now and then with a start outside of what is allowed, and cuts on its whole range."""
    kind = rng.choice(["float64", "float64", "integer", "step", "huge", "extra", "float32", "missing", "level"])
    if kind == "level":
        count = rng.randint(2, 5)
        axis = LevelAxis(name, count, rng.randint(1, 2**count - 1), rng.randrange(count), ordered=rng.random() < 0.5)
        return axis, [rng.randrange(2**count) for _ in range(rng.randint(0, 3))]
    scale = Fraction(20)
    if kind in ("float64", "float32"):
        rank = float_to_rank if kind == "float64" else float32_to_rank
        places = sorted(rank(float(np.float32(rng.uniform(-10, 10)))) for _ in range(9))
        grid = Grid(kind)  # type: ignore[arg-type]
    else:
        step = {"step": Fraction(3, 7), "huge": Fraction(1, 2**62 + 1)}.get(kind, Fraction(1))
        grid = Grid("step", step, Fraction(1, 3) if kind == "extra" else None)
        places = sorted(rng.randint(int(-10 / min(step, 1)) // 8, int(10 / min(step, 1)) // 8) for _ in range(9))
    ends = sorted((rng.choice(places), rng.choice(places)))
    start = rng.choice([*places, ends[0], ends[1]])
    missing = places[-1] + 1 if kind == "missing" else None
    axis = GridAxis(name, grid, ends[0], ends[1], start, scale, missing, Fraction(1, 3))
    return axis, sorted({rng.choice(places) for _ in range(rng.randint(0, 5))} - {places[-1]})


@pytest.mark.parametrize("spec", NORMS, ids=str)
def test_as_one_axis_after_the_other(spec: str | dict[str, str]) -> None:
    for seed in range(150):
        rng = random.Random(seed)
        axes, lists = zip(*(some_axis(rng, f"x{j}") for j in range(rng.randint(1, 6))), strict=True)
        cuts = tuple(np.array(one, np.int64) for one in lists)
        base = np.cumsum([0, *map(len, cuts)])[:-1]
        tests = cutting.Tests(
            np.zeros((0, 4)), cuts, np.concatenate(cuts), base, cutting.Trees(*[None] * 11), Recent(4)
        )  # type: ignore[arg-type]
        weights = [rng.choice([0, 1, "1/3"]) for _ in axes]
        by = norm(spec, len(axes), weights)
        assert isinstance(by, Norm)
        scale = scale_of(axes, by).scale
        assert_alike(axes, cuts, tests, by, scale)


def assert_alike(
    axes: tuple[Axis, ...], cuts: tuple[np.ndarray, ...], tests: cutting.Tests, by: Norm, scale: int
) -> None:
    tariff = tariff_of(axes, by, tests, scale)
    assert tariff_of(axes, by, tests, scale) is tariff
    row = tariff.at_once(axes)
    for j, (axis, own, charge) in enumerate(zip(axes, cuts, charges_of(by, scale), strict=True)):
        here = slice(int(tests.base[j]), int(tests.base[j]) + len(own))
        if isinstance(axis, LevelAxis):
            every = tariff.of_levels(j, axis)
            assert [list(one) for one in every.costs] == [
                list(one) for one in costs_of(axis, charge, np.arange(axis.count))
            ]
            assert sorted(every.order) == list(range(axis.count)) and every.order[0] == axis.start
            continue
        if j in row.left:
            assert not row.part[here].any() and not row.top[here].any()
            assert axis.missing is not None or axis.grid.kind != "float64"
            continue
        ends = [int((own < end).sum()) for end in (axis.start, axis.lower, axis.upper)]
        assert [row.start[j], row.low[j], row.high[j]] == ends
        first, last = min(ends[0], ends[1]), max(ends[0], ends[2])
        part, top = np.zeros((2, len(own)), np.int64)
        beside = own[first:last] + (own[first:last] >= axis.start)
        part[first:last], top[first:last] = costs_of(axis, charge, beside)
        assert row.part[here].tolist() == part.tolist() and row.top[here].tolist() == top.tolist()


def test_the_nearest_point_of_a_box_is_nearest_on_every_axis_and_as_far_as_its_changes_say() -> None:
    at_once = 0
    for seed in range(40):
        question, rng = random_question(seed), np.random.default_rng(seed)
        if refusal(question) is not None:
            continue
        found = ground(question)
        at_once += found._ends is not None
        for _ in range(5):
            low, high = found.ground.low.copy(), found.ground.high.copy()
            for j, axis in enumerate(question.axes):
                if isinstance(axis, LevelAxis):
                    low[j] &= int(rng.integers(1, 2**axis.count)) or int(low[j])
                    low[j] = low[j] or found.ground.low[j]
                else:
                    low[j], high[j] = sorted(rng.integers(low[j], high[j] + 1, 2).tolist())
            near = found.nearest(low, high)
            for j, axis in enumerate(question.axes):
                if isinstance(axis, GridAxis):
                    assert near[j] == axis.nearest(*found.interval(j, int(low[j]), int(high[j])))
                else:
                    assert axis.delta(near[j]) == min(axis.delta(k) for k in range(axis.count) if int(low[j]) >> k & 1)
            assert isinstance(question.distance, Norm) and all(type(index) is int for index in near)
            assert question.distance_of(near) == question.distance.of(question.deltas(near))
    assert at_once > 5
