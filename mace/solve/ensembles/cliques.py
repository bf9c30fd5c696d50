"""Compiled: cliques, sets of leaves of which a point reaches at most one, that the shares of leaves break most.

In:  the leaves that a box leaves open with the boxes of their paths, and the share of each in a solved relaxation.
Out: `Finder.found`: cliques whose leaves have shares of more than 1 together.
Promise: any two leaves of a clique are of one tree, or no point of the box lies on the paths to both.

The relaxation lets every axis divide itself among its pieces, so that leaves of several trees each have a half that no
point has. A clique's row allows them no more than one whole. Found greedily: from a leaf on, the one that shares no
point with all those before, and has the largest share itself and in what it leaves to be added; then every other leaf
that is apart from all of them, which only makes the row stronger.
Source: Padberg 1973, "On the facial structure of set packing polyhedra" (clique inequalities).
"""

from __future__ import annotations

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.cuts import Array

LEAST_SHARE = 0.03  # of a leaf with which a clique begins
BROKEN = 1.03  # the sum of shares of a clique that is worth a row
MOST = 60  # new cliques at a time, of at most
CANDIDATES = 200
AHEAD = 0.3  # how much the shares that a leaf leaves to be added count beside its own


@compiled
def conflicts(tree: Array, low: Array, high: Array, grid: Array, first: Array, last: Array) -> Array:
    """(leaves, words) bits: which leaves are of the same tree as each, or share no point with it.

    tree: (leaves,); low, high: (leaves, J) the boxes of their paths; first, last: (J,) the box that holds them.
    """
    leaves, axes = len(tree), len(grid)
    bits = np.zeros((leaves, (leaves + 63) // 64), np.uint64)
    narrow, many = np.empty((leaves, axes), np.int32), np.zeros(leaves, np.int32)  # the axes that each path narrows
    for k in range(leaves):
        for j in range(axes):
            if low[k, j] != first[j] or high[k, j] != last[j]:
                narrow[k, many[k]] = j
                many[k] += 1
    for k in range(leaves):
        for other in range(k):
            apart = tree[k] == tree[other]
            i = 0
            while not apart and i < many[k]:
                j = narrow[k, i]
                if grid[j]:
                    apart = low[k, j] > high[other, j] or low[other, j] > high[k, j]
                else:
                    apart = low[k, j] & low[other, j] == 0
                i += 1
            if apart:
                bits[k, other >> 6] |= np.uint64(1) << np.uint64(other & 63)
                bits[other, k >> 6] |= np.uint64(1) << np.uint64(k & 63)
    return bits


@lean
def has(bits: Array, k: int, other: int) -> bool:
    """Whether two leaves are in conflict."""
    return bool((bits[k, other >> 6] >> np.uint64(other & 63)) & np.uint64(1) != np.uint64(0))


@lean
def best_of(bits: Array, share: Array, left: Array, many: int) -> int:
    """Of the first leaves of `left`, those that may be added, the one that promises most."""
    best, found = -1.0, left[0]
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
def lifted(bits: Array, members: Array, order: Array) -> Array:
    """A clique, and of all leaves in an order those that are in conflict with everything before them."""
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
            common &= bits[k]
    return found[:many].copy()


class Finder:
    """Looks for cliques among leaves that a box leaves open, none twice.

    tree, low, high: of these leaves as in `conflicts`; grid: (J,); first, last: the box.
    """

    def __init__(self, tree: Array, low: Array, high: Array, grid: Array, first: Array, last: Array) -> None:
        self.bits = conflicts(tree, low, high, grid, first, last)
        self.known: set[bytes] = set()

    def found(self, shares: Array) -> list[Array]:
        """New cliques that shares of leaves break, those that they break most; each as places of leaves, in order."""
        order = np.argsort(-shares, kind="stable")
        begin, members, weight = broken(self.bits, shares, order[shares[order] > LEAST_SHARE])
        found: list[Array] = []
        for c in np.argsort(-weight, kind="stable")[:MOST].tolist():
            clique = np.sort(lifted(self.bits, members[begin[c] : begin[c + 1]], order))
            key = clique.tobytes()
            if key not in self.known:
                self.known.add(key)
                found.append(clique)
        return found
