"""The leaves of a forest with their paths: against a walk from each root down.

They are apart where no cell is shared, and on the sides of cuts where their whole boxes are.
"""

from __future__ import annotations

import numpy as np
import pytest

from mace.solve.ensembles.arrays import walk
from mace.solve.ensembles.arrays.cells import Forest, Grounded, ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.relaxation.cliques import Finder, look_at_each
from mace.solve.ensembles.relaxation.paths import leaves_of
from mace.solve.ensembles.relaxation.sides import sides_of
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
    for some in (np.arange(len(leaves.node)), np.arange(0, len(leaves.node), 2)):
        fewer = leaves.of(some)
        for place, node in enumerate(fewer.node.tolist()):
            low, high = grounded.ground.low.copy(), grounded.ground.high.copy()
            here = slice(*fewer.begin[place : place + 2])
            low[fewer.axis[here]], high[fewer.axis[here]] = fewer.low[here], fewer.high[here]
            assert (low == expected[node][0]).all() and (high == expected[node][1]).all()


@pytest.mark.parametrize("seed", range(40))
def test_a_leaf_lies_on_a_side_of_a_cut_that_its_tree_tests_where_its_whole_box_does(seed: int) -> None:
    grounded = ground(random_question(seed))
    axes, forest = grounded.ground, cut_down(grounded)
    leaves, known = leaves_of(axes, forest), walked(grounded, forest)
    rows, at, row = sides_of(grounded, forest, leaves)
    tested = np.flatnonzero(forest.test[:, 0] >= 0)
    trees = np.searchsorted(forest.roots, tested, side="right") - 1
    cuts = {(int(t), *forest.test[n, :2].tolist()) for t, n in zip(trees, tested, strict=True)}
    expected: dict[tuple[int, ...], list[int]] = {}
    for leaf, node in enumerate(leaves.node.tolist()):
        low, high = known[node]
        for t, j, cut in cuts:
            mask = int(axes.at[axes.base[j] + cut]) if not axes.grid[j] else 0
            for side in (0, 1):
                if axes.grid[j]:
                    inside = low[j] > cut if side else high[j] <= cut
                else:
                    inside = low[j] & (mask if side else ~mask) == 0
                if inside and t == leaves.tree[leaf]:
                    expected.setdefault((t, j, cut, side), []).append(leaf)
    names = list(zip(*(column.tolist() for column in rows[:4]), strict=True))
    assert sorted(names) == sorted(expected)
    assert names == sorted(names, key=lambda name: (name[1], name[3], name[2]))  # axis, side, cut
    found: dict[tuple[int, ...], list[int]] = {}
    for leaf in range(len(leaves.node)):
        mine = row[at[leaf] : at[leaf + 1]].tolist()
        assert mine == sorted(set(mine))
        for number in mine:
            found.setdefault(names[number], []).append(leaf)
    assert found == expected
    for (t, j, cut, side), node in zip(names, rows.node.tolist(), strict=True):
        above = int(grounded.forest.up[node])
        assert grounded.forest.test[above, :2].tolist() == [j, cut]
        assert grounded.forest.test[above, 2 + side] == node
        assert np.searchsorted(grounded.forest.roots, node, side="right") - 1 == t


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
