"""The leaves of a forest with their paths: against a walk from each root down, and apart where no cell is shared."""

from __future__ import annotations

import numpy as np
import pytest

from mace.solve.ensembles import walk
from mace.solve.ensembles.cells import Forest, Grounded, ground
from mace.solve.ensembles.cliques import Finder, look_at_each
from mace.solve.ensembles.cuts import Array
from mace.solve.ensembles.paths import boxes, leaves_of
from tests.oracles.small_ensembles import random_question


def cut_down(grounded: Grounded) -> Forest:
    """The forest of all that is allowed."""
    box = walk.new_box(len(grounded.ground.low))
    box.low[:], box.high[:] = grounded.ground.low, grounded.ground.high
    walk.measure(grounded.ground, box)
    found: Forest = walk.shrink(grounded.ground, grounded.forest, box, 2**62, walk.new_stack(grounded.depth))
    return found


def walked(grounded: Grounded, forest: Forest) -> dict[int, tuple[Array, Array]]:
    """The box of each leaf."""
    axes, found = grounded.ground, dict[int, tuple[Array, Array]]()
    todo = [(int(root), axes.low.copy(), axes.high.copy()) for root in forest.roots]
    while todo:
        node, low, high = todo.pop()
        j, cut, *children = forest.test[node].tolist()
        if j < 0:
            found[node] = low, high
            continue
        for right, child in enumerate(children):
            own = child, low.copy(), high.copy()
            if not axes.grid[j]:
                mask = int(axes.at[axes.base[j] + cut])
                own[1][j] &= ~mask if right else mask
            elif right:
                own[1][j] = max(own[1][j], cut + 1)
            else:
                own[2][j] = min(own[2][j], cut)
            todo.append(own)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_the_sides_of_paths_are_the_boxes_that_a_walk_from_the_root_comes_to(seed: int) -> None:
    grounded = ground(random_question(seed))
    forest = cut_down(grounded)
    leaves, expected = leaves_of(grounded.ground, forest), walked(grounded, forest)
    assert leaves.node.tolist() == sorted(expected)
    every = np.arange(len(grounded.ground.low))
    low, high = boxes(grounded.ground, leaves, slice(0, len(leaves.node)), every)
    for place, node in enumerate(leaves.node.tolist()):
        assert (low[place] == expected[node][0]).all() and (high[place] == expected[node][1]).all()
    some = np.arange(0, len(leaves.node), 2)
    fewer = leaves.of(some)
    assert (boxes(grounded.ground, fewer, slice(0, len(some)), every)[0] == low[some]).all()


@pytest.mark.parametrize("seed", range(40))
def test_leaves_are_apart_where_they_share_no_cell(seed: int) -> None:
    grounded = ground(random_question(seed))
    axes, forest = grounded.ground, cut_down(grounded)
    leaves, known = leaves_of(axes, forest), walked(grounded, forest)
    paths = Finder(leaves, axes.grid).paths
    look_at_each(paths, np.arange(len(leaves.node)))
    for k, one in enumerate(leaves.node.tolist()):
        for h, other in enumerate(leaves.node.tolist()):
            (low, high), (least, most) = known[one], known[other]
            shares = np.where(axes.grid, np.maximum(low, least) <= np.minimum(high, most), low & least != 0)
            apart = leaves.tree[k] == leaves.tree[h] or not shares.all()
            assert bool(int(paths.bits[k, h >> 6]) >> (h & 63) & 1) == (apart and k != h)
