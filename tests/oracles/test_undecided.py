"""Which cuts a relaxation's shares leave most undecided: against a definition that looks at all of them."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from mace.solve.ensembles.arrays import walk
from mace.solve.ensembles.arrays.cells import ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.relaxation.relaxation import Relaxation
from mace.solve.ensembles.relaxation.undecided import most_undecided
from tests.oracles.small_ensembles import random_question


def dividing(relaxation: Relaxation, axis: int, shares: Array, low: int, high: int) -> list[tuple[float, int, float]]:
    """How undecided each cut, or level, is that divides an axis's span in the box; it, and the share that it has."""
    items, found = relaxation.columns[axis].items.tolist(), []
    if not relaxation.ground.grid[axis]:
        for item, share in zip(items, shares.tolist(), strict=True):
            if low >> item & 1 and low != 1 << item:
                found.append((min(share, 1 - share) + 1e-6 * share, item, share))
        return found
    below = np.cumsum(shares)[: len(items)]
    middle = int((below < 0.5).sum())
    for k, item in enumerate(items):
        if low <= item < high:
            share = float(below[k])
            found.append((min(share, 1 - share) - 1e-6 * abs(k + 0.5 - middle), item, share))
    return found


def test_no_other_cut_of_an_axis_is_more_undecided() -> None:
    rng, cuts, none = np.random.default_rng(0), 0, 0
    for seed in range(120):
        grounded = ground(random_question(seed))
        axes, box = grounded.ground, walk.new_box(len(grounded.ground.low))
        box.low[:], box.high[:] = axes.low, axes.high
        walk.measure(axes, box)
        forest = walk.shrink(axes, grounded.forest, box, 2**62, walk.new_stack(grounded.depth))
        relaxation = Relaxation(grounded, forest, 0, Fraction(1))
        begin = relaxation.framed.begin
        shares = np.concatenate(
            [rng.dirichlet(np.full(last - first, 0.3)) for first, last in itertools.pairwise(begin)]
        )
        low, high = axes.low.astype(np.int64), axes.high.astype(np.int64)
        for j in range(len(low)):
            if axes.grid[j]:
                low[j], high[j] = sorted(rng.integers(low[j], high[j] + 1, 2).tolist())
            else:
                low[j] = int(low[j]) & int(rng.integers(1, 2**20)) or int(low[j])
        items, below = most_undecided(relaxation.framed, shares, low, high)
        for j in range(len(low)):
            others = dividing(relaxation, j, shares[begin[j] : begin[j + 1]], int(low[j]), int(high[j]))
            if not others:
                none += 1
                assert items[j] == -1
                continue
            cuts += 1
            own = [one for one in others if one[1] == items[j]]
            assert own, "it divides the box"
            assert own[0][0] == max(one[0] for one in others)
            assert abs(below[j] - own[0][2]) < 1e-12
    assert cuts > 60 and none > 10
