"""Separation of clique cuts, compiled: leaves of which a point reaches at most one, whose shares violate that most.

In:  the leaves that a box leaves open with the sides of their paths, and the share of each in a solved relaxation.
Out: `Finder.found`: cliques whose leaves have shares of more than 1 together.
Promise: any two leaves of a clique are of one tree, or no point lies on the paths to both.

The relaxation lets every axis divide itself among its pieces, so that leaves of several trees each have a half that no
point has. A clique's row allows them no more than one whole. Found greedily: from a leaf on, the one that shares no
point with all those before, and has the largest share itself and in what it leaves to be added; then every other leaf
that is apart from all of them, which only makes the row stronger.
Source: Padberg 1973, "On the facial structure of set packing polyhedra" (clique inequalities).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.relaxation.paths import Leaves

LEAST_SHARE = 0.03  # of a leaf with which a clique begins
BROKEN = 1.03  # the sum of shares of a clique that is worth a row
MOST = 60  # new cliques at a time, of at most
CANDIDATES = 200
WIDE = 50  # leaves with the largest shares, among which the next is chosen
AHEAD = 0.3  # how much the shares that a leaf leaves to be added count beside its own


class Paths(NamedTuple):
    """Of L leaves, and which of them no point reaches together, as far as that was asked.

    tree: (L,); begin: (L + 1,) where the sides of each leaf's path begin in
    axis, low, high: (S,) as of `Leaves`.
    on: (J + 1,) where the sides on each axis begin in
    owner, least, most: (S,) whose they are, and what they leave of the axis.
    grid: (J,); bits: (L, words) of a leaf those of its tree, and those that share no point with it; known: (L,) whose
    are there. apart: (L,) room for the bits of one leaf.
    """

    tree: Array
    begin: Array
    axis: Array
    low: Array
    high: Array
    on: Array
    owner: Array
    least: Array
    most: Array
    grid: Array
    bits: Array
    known: Array
    apart: Array


@lean
def look_at(paths: Paths, k: int) -> None:
    """Find the leaves that no point reaches together with one, unless they are known."""
    if paths.known[k]:
        return
    paths.known[k] = True
    apart = paths.apart
    for other in range(len(apart)):
        apart[other] = paths.tree[other] == paths.tree[k]
    for side in range(paths.begin[k], paths.begin[k + 1]):
        j, low, high = paths.axis[side], paths.low[side], paths.high[side]
        for i in range(paths.on[j], paths.on[j + 1]):
            if paths.grid[j]:
                apart[paths.owner[i]] |= (low > paths.most[i]) | (paths.least[i] > high)
            else:
                apart[paths.owner[i]] |= (low & paths.least[i]) == 0
    apart[k] = False
    for other in range(len(apart)):
        paths.bits[k, other >> 6] |= np.uint64(apart[other]) << np.uint64(other & 63)


@compiled
def look_at_each(paths: Paths, leaves: Array) -> None:
    """The same of several."""
    for k in leaves:
        look_at(paths, k)


@lean
def has(bits: Array, k: int, other: int) -> bool:
    """Whether two leaves are in conflict."""
    return bool((bits[k, other >> 6] >> np.uint64(other & 63)) & np.uint64(1) != np.uint64(0))


@lean
def best_of(bits: Array, share: Array, left: Array, many: int) -> int:
    """Of the first leaves of `left`, those that may be added, the one that promises most.

    Those with the largest shares come first; leaves beyond the first `WIDE` have too little to be looked at.
    """
    best, found, many = -1.0, left[0], min(many, WIDE)
    for i in range(many):
        rest = 0.0
        for h in range(many):
            if has(bits, left[i], left[h]):
                rest += share[left[h]]
        if share[left[i]] + AHEAD * rest > best:
            best, found = share[left[i]] + AHEAD * rest, left[i]
    return int(found)


@compiled
def broken(bits: Array, share: Array, order: Array) -> tuple[Array, Array, Array]:
    """Where cliques begin in their members, (n + 1,), these, and the shares of each clique, more than 1 and different.

    order: leaves with a share, the largest first.
    """
    begin, weight = np.zeros(CANDIDATES + 1, np.int64), np.zeros(CANDIDATES)
    members, left = np.empty(CANDIDATES * len(order), np.int64), np.empty(len(order), np.int64)
    count = used = 0
    for seed in order:
        if count == CANDIDATES:
            break
        first, many, total = used, 0, share[seed]
        members[used] = seed
        used += 1
        for other in order:
            if has(bits, seed, other):
                left[many] = other
                many += 1
        while many > 0:
            one = best_of(bits, share, left, many)
            total += share[one]
            members[used] = one
            used += 1
            kept = 0
            for i in range(many):
                if has(bits, one, left[i]):
                    left[kept] = left[i]
                    kept += 1
            many = kept
        if total <= BROKEN or (np.abs(weight[:count] - total) < 1e-12).any():
            used = first
            continue
        weight[count] = total
        count += 1
        begin[count] = used
    return begin[: count + 1].copy(), members[:used].copy(), weight[:count].copy()


@compiled
def lifted(paths: Paths, members: Array, order: Array) -> Array:
    """A clique, and of all leaves in an order those that are in conflict with everything before them."""
    bits = paths.bits
    leaves, words = bits.shape
    common = np.full(words, ~np.uint64(0), np.uint64)
    found, many = np.zeros(leaves, np.int64), len(members)
    found[:many] = members
    for one in members:
        common &= bits[one]
    for k in order:
        if (common[k >> 6] >> np.uint64(k & 63)) & np.uint64(1) != np.uint64(0):
            found[many] = k
            many += 1
            look_at(paths, k)
            common &= bits[k]
    return found[:many].copy()


class Finder:
    """Looks for cliques among leaves that a box leaves open, none twice; grid: (J,)."""

    def __init__(self, leaves: Leaves, grid: Array) -> None:
        count = len(leaves.tree)
        bits, known = np.zeros((count, (count + 63) // 64), np.uint64), np.zeros(count, np.bool_)
        order = np.argsort(leaves.axis, kind="stable")
        on = np.searchsorted(leaves.axis[order], np.arange(len(grid) + 1))
        owner = np.repeat(np.arange(count), np.diff(leaves.begin))[order]
        sides = leaves.begin, leaves.axis, leaves.low, leaves.high
        by_axis = on, owner, leaves.low[order], leaves.high[order]
        self.paths = Paths(leaves.tree, *sides, *by_axis, grid, bits, known, np.zeros(count, np.bool_))
        self.known: set[bytes] = set()

    def found(self, shares: Array) -> list[Array]:
        """New cliques that shares of leaves break, those that they break most; each as places of leaves, in order."""
        order = np.argsort(-shares, kind="stable")
        some = order[shares[order] > LEAST_SHARE]
        look_at_each(self.paths, some)
        begin, members, weight = broken(self.paths.bits, shares, some)
        found: list[Array] = []
        for c in np.argsort(-weight, kind="stable")[:MOST].tolist():
            clique = np.sort(lifted(self.paths, members[begin[c] : begin[c + 1]], order))
            key = clique.tobytes()
            if key not in self.known:
                self.known.add(key)
                found.append(clique)
        return found
