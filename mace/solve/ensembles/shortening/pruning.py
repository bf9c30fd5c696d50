"""Compiled elaboration of a proof about trees: which of their leaves its boxes do not reach, and where to say so.

In:  the arrays of a question, the leaves that its root reaches, the scaled claim, a proof tree in preorder (`Steps`).
Out: `elaborate`: at which node of the proof which leaves of which trees are pruned, so that every leaf of the proof
     closes by the sums of the best leaves that are left.
Promise: what is pruned is not reached for certain: costs are rounded down. Imported only when a proof is written down.

For each comparison the leaves of a tree stand in a list, best first. The front of a tree is the first leaf that the box
reaches; it only moves forward as boxes shrink. Where it moves is noted. When a leaf of the proof must close, leaves
that the fronts passed are chosen that have to go, others, which would save little, may stay; and each goes at the node
where the front passed it, once for all leaves of the proof below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.compiled import compiled, lean
from mace.solve.ensembles.arrays.cells import Aim, Ground
from mace.solve.ensembles.arrays.cuts import Array
from mace.solve.ensembles.arrays.walk import Box, side_of
from mace.solve.ensembles.shortening.leaves import Half, Reached, enlarged, half

SPLIT, TREES, CELL, OTHER = 0, 1, 2, 3
FIRST, REST = 4, 5  # a split of which one child alone is there
# Columns of an event, of an open split, and of a pruned leaf.
NODE, COMPARE, TREE, BEGAN, ENDED, WRITTEN, BEFORE = 0, 1, 2, 3, 4, 5, 6
AXIS, OLD_LOW, OLD_HIGH, EVENTS, DEAD, SECOND, PLACE = 0, 1, 2, 3, 4, 5, 6


class Steps(NamedTuple):
    """A proof tree in preorder, P nodes.

    kind: (P,) SPLIT, FIRST or REST, TREES, CELL, or OTHER for leaves that say nothing of trees.
    axis: (P,) of a split; at: (P,) its cut, local to the axis, or the mask of levels.
    """

    kind: Array
    axis: Array
    at: Array


class Elaborated(NamedTuple):
    """The pruned leaves, as rows (node of the proof, tree, leaf by its place in `Reached`).

    failed: a node of the proof that does not close by what is known here; -1 if there is none.
    """

    pruned: Array
    failed: int


class Lists(NamedTuple):
    """For each of C comparisons the leaves of every tree, best first.

    order: (C, L) their places in `Reached`; gain: (C, L) their scaled gains, in this order.
    alike: (C, T) the first comparison that has the leaves of a tree in the same order: one walk does for all.
    """

    order: Array
    gain: Array
    alike: Array


class Fronts(NamedTuple):
    """The fronts of the present box. C comparisons, T trees.

    front: (C, T) places of the first leaves that it reaches; sums: (C,) what these add up to.
    last:  (C,) the last event of each comparison, -1 for none. moved: (T,) room for fronts on their way.
    """

    front: Array
    sums: Array
    last: Array
    moved: Array


@compiled
def advance(
    ground: Ground, reached: Reached, box: Box, limit: int, order: Array, c: int, begin: Array, end: Array
) -> None:
    """Move each place of `begin` on to the first one before its `end` whose leaf the box may reach; else to the end.

    A leaf is reached if its part of the box is not empty, and at a cost < limit.
    order: (C, L) leaves, those in row c; begin: (n,), changed here; end: (n,).
    Long because no function is called, and no array taken out of a tuple, where millions of leaves are looked at.
    """
    grid, base, start, turn, last = ground.grid, ground.base, ground.start, ground.turn, ground.high
    parts, tops, level_part, level_top = ground.part, ground.top, ground.level_part, ground.level_top
    nearer, levels = ground.order, ground.order.shape[1]
    sides, on, lowest, highest = reached.sides, reached.axis, reached.low, reached.high
    part, low, high = box.part, box.low, box.high
    whole, most, leaves = box.total[0], box.total[1], order[c]
    for t in range(len(begin)):
        place = begin[t]
        while place < end[t]:
            leaf = leaves[place]
            total, largest = whole, most
            for s in range(sides[leaf], sides[leaf + 1]):
                axis = on[s]
                one, other = low[axis], high[axis]
                near = start[axis]
                if grid[axis]:
                    if lowest[s] <= one and other <= highest[s]:
                        continue
                    one, other = max(one, lowest[s]), min(other, highest[s])
                    if one > other:
                        total = limit
                        break
                    # As `side_of`.
                    if one > near:
                        g = base[axis] + (other if one >= turn[axis] and other == last[axis] else one) - 1
                        total += parts[g]
                        largest = max(largest, tops[g])
                    elif other < near:
                        g = base[axis] + other
                        total += parts[g]
                        largest = max(largest, tops[g])
                else:
                    one &= lowest[s]
                    if one == low[axis]:
                        continue
                    if one == 0:
                        total = limit
                        break
                    for k in range(levels):
                        near = nearer[axis, k]
                        if (one >> near) & 1:
                            break
                    total += level_part[axis, near]
                    largest = max(largest, level_top[axis, near])
                total -= part[axis]
            if total + largest < limit:
                break
            place += 1
        begin[t] = place


@compiled
def narrow(ground: Ground, box: Box, axis: int, side: Half) -> bool:
    """Give a box another side on an axis, with its cost; returns whether there is none."""
    box.low[axis], box.high[axis] = side.low, side.high
    if side.empty == 0:
        own = side_of(ground, axis, side.low, side.high)
        box.total[0] += own.part - box.part[axis]
        box.part[axis], box.top[axis] = own.part, own.top
        box.total[1] = box.top.max()
    return bool(side.empty == 1)


@compiled
def unwritten(events: Array, last: int, front: Array) -> Array:
    """For every tree the place of the first leaf that the front passed and that is not pruned yet; else the front.

    last: the last event of the comparison, each of which names the one before; -1 for none.
    """
    base, e = front.copy(), last
    while e >= 0:
        if events[e, WRITTEN] < events[e, ENDED]:
            base[events[e, TREE]] = events[e, WRITTEN]
        e = events[e, BEFORE]
    return base


@compiled
def costs(events: Array, last: int, share: Array, size: int) -> Array:
    """What it costs to prune a passed leaf, by place: the share of one leaf of the proof, if all leaves below the node
    that prunes it pay alike. Only places of passed leaves that are not pruned yet are filled in.
    """
    cost_of, e = np.empty(size, np.float64), last
    while e >= 0:
        for place in range(events[e, WRITTEN], events[e, ENDED]):
            cost_of[place] = share[events[e, NODE]]
        e = events[e, BEFORE]
    return cost_of


@compiled
def steps_of(gain: Array, cost_of: Array, base: Array, front: Array) -> Array:
    """Which leaves of a tree are pruned together, as rows (tree, first place, place after the last).

    gain, cost_of: (L,) by place. The steps of a tree follow each other from `base` to `front`; each saves the most
    margin for its cost, so that they form the upper hull of what is saved.
    """
    found, count = np.empty((max(1, (front - base).sum()), 3), np.int64), 0
    for t in range(len(base)):
        begin = base[t]
        while begin < front[t]:
            best, end, cost = -1.0, begin, 0.0
            for k in range(begin + 1, front[t] + 1):
                cost += cost_of[k - 1]
                rate = float(gain[begin] - gain[k]) / cost
                if rate >= best:
                    best, end = rate, k
            found[count, 0], found[count, 1], found[count, 2] = t, begin, end
            count += 1
            begin = end
    return found[:count]


@compiled
def chosen(lists: Lists, events: Array, last: int, share: Array, c: int, room: int, front: Array) -> Array:
    """For every tree the place up to which its passed leaves are pruned, so that what the others may still add stays
    below `room`: greedily, the steps that save most for their cost first.

    share: (P,) one part in how many leaves the proof has below each node.
    """
    gain, base = lists.gain[c], unwritten(events, last, front)
    cost_of = costs(events, last, share, len(gain))
    upto, steps = base.copy(), steps_of(gain, cost_of, base, front)
    saved, rate = np.empty(len(steps), np.int64), np.empty(len(steps), np.float64)
    over = -room  # what is to be saved yet, and more than that
    for i in range(len(steps)):
        saved[i] = gain[steps[i, 1]] - gain[steps[i, 2]]
        rate[i] = -float(saved[i]) / cost_of[steps[i, 1] : steps[i, 2]].sum()
        if i > 0 and steps[i, 0] == steps[i - 1, 0]:  # which comes first, however rates are rounded
            rate[i] = max(rate[i], rate[i - 1])
        over += saved[i]
    order = np.argsort(rate, kind="mergesort")
    taken = 0
    while over >= 0 and taken < len(order):
        i = order[taken]
        over -= saved[i]
        upto[steps[i, 0]] = steps[i, 2]
        taken += 1
    # What was taken before the last may be more than is needed.
    for k in range(taken - 1, -1, -1):
        t, begin = steps[order[k], 0], steps[order[k], 1]
        while upto[t] > begin and upto[t] <= steps[order[k], 2] and over + gain[upto[t] - 1] - gain[upto[t]] < 0:
            over += gain[upto[t] - 1] - gain[upto[t]]
            upto[t] -= 1
    return upto


@compiled
def needed(
    aim: Aim, lists: Lists, reached: Reached, events: Array, last: Array, share: Array, front: Array, sums: Array
) -> Array:
    """Up to which place the passed leaves of each tree have to go for a leaf `trees` to close: (C, T); 0 for none.

    With no comparison that misses in some part of the goal, no rows at all: (0, T).
    """
    trees, compares = front.shape[1], front.shape[0]
    upto, known = np.zeros((compares, trees), np.int64), np.zeros(compares, np.bool_)
    for t in range(trees if compares > 0 else 0):
        if front[0, t] == reached.first[t + 1]:  # A tree without a leaf closes by itself.
            upto[0, t] = front[0, t]
            return upto
    for p in range(len(aim.begin) - 1):
        found = -1
        for i in range(aim.begin[p], aim.begin[p + 1]):
            c = aim.part_of[i]
            if found < 0 and sums[c] < aim.need[c]:
                found = c
        if found < 0:
            return upto[:0]
        if not known[found]:
            known[found] = True
            room = aim.need[found] - sums[found]
            upto[found] = chosen(lists, events, last[found], share, found, room, front[found])
    return upto


@compiled
def shares(kind: Array) -> Array:
    """One part in how many leaves a proof has below each of its nodes; kind: as in `Steps`."""
    end, share = np.empty(len(kind) + 1, np.int64), np.empty(len(kind), np.float64)
    end[-1] = len(kind)
    for node in range(len(kind) - 1, -1, -1):
        # The first child comes next, and where its tree ends the second one.
        end[node] = node + 1
        if kind[node] == SPLIT:
            end[node] = end[end[node + 1]]
        elif kind[node] in (FIRST, REST):
            end[node] = end[node + 1]
        share[node] = 2.0 / float(end[node] - node + 1)
    return share


@compiled
def at_root(reached: Reached, lists: Lists, dead: bool) -> Fronts:
    """The fronts where a proof begins; dead: they are never looked at."""
    trees, compares = len(reached.first) - 1, len(lists.gain)
    front, sums = np.empty((compares, trees), np.int64), np.zeros(compares, np.int64)
    for c in range(compares):
        front[c] = reached.first[:-1]
        for t in range(0 if dead else trees):
            sums[c] += lists.gain[c, reached.first[t]]
    return Fronts(front, sums, np.full(compares, -1, np.int64), np.empty(trees, np.int64))


@lean
def move_on(
    ground: Ground, reached: Reached, lists: Lists, box: Box, limit: int, node: int, fronts: Fronts, events: Array,
    count: int,
) -> int:  # fmt: skip
    """Move every front on to what the box of a node reaches, and note where; returns how many events there are now.

    events: with room for one of each tree and comparison.
    """
    front, sums, last, moved = fronts
    end, alike = reached.first[1:], lists.alike
    for c in range(len(front)):
        for t in range(len(moved)):
            moved[t] = front[c, t] if alike[c, t] == c else end[t]
        advance(ground, reached, box, limit, lists.order, c, moved, end)
        for t in range(len(moved)):
            began, place = front[c, t], moved[t] if alike[c, t] == c else front[alike[c, t], t]
            if place == began:
                continue
            front[c, t] = place
            if place < end[t]:
                sums[c] += lists.gain[c, place] - lists.gain[c, began]
            events[count, NODE], events[count, COMPARE], events[count, TREE] = node, c, t
            events[count, BEGAN], events[count, ENDED], events[count, WRITTEN] = began, place, began
            events[count, BEFORE], last[c] = last[c], count
            count += 1
    return count


@lean
def move_back(reached: Reached, lists: Lists, fronts: Fronts, events: Array, count: int, until: int) -> None:
    """Undo all but the first `until` of `count` events."""
    for e in range(count - 1, until - 1, -1):
        c, t = events[e, COMPARE], events[e, TREE]
        fronts.front[c, t], fronts.last[c] = events[e, BEGAN], events[e, BEFORE]
        if events[e, ENDED] < reached.first[t + 1]:
            fronts.sums[c] += lists.gain[c, events[e, BEGAN]] - lists.gain[c, events[e, ENDED]]


@compiled
def prune_passed(lists: Lists, events: Array, count: int, upto: Array, out: Array, written: int) -> tuple[Array, int]:
    """Prune the leaves that fronts passed before the places `upto`, see `needed`, each where the front passed it.

    Returns the pruned leaves, and how many there are now.
    """
    for e in range(count):
        c, t = events[e, COMPARE], events[e, TREE]
        for place in range(events[e, WRITTEN], min(events[e, ENDED], upto[c, t])):
            if written == len(out):
                out = enlarged(out)
            out[written, 0], out[written, 1], out[written, 2] = events[e, NODE], t, lists.order[c, place]
            written += 1
            events[e, WRITTEN] = place + 1
    return out, written


@compiled
def prune_cell(
    ground: Ground, reached: Reached, box: Box, limit: int, node: int, out: Array, written: int
) -> tuple[Array, int]:
    """Prune what the box of a leaf `cell` does not reach; if it reaches two leaves of a tree the number is -1."""
    end, every = reached.first[1:], np.arange(len(reached.leaf)).reshape(1, -1)
    for t in range(len(end)):
        left, place = 0, reached.first[t : t + 1].copy()
        while place[0] < end[t]:
            began = place[0]
            advance(ground, reached, box, limit, every, 0, place, end[t : t + 1])
            for leaf in range(began, place[0]):
                if written == len(out):
                    out = enlarged(out)
                out[written, 0], out[written, 1], out[written, 2] = node, t, leaf
                written += 1
            left += place[0] < end[t]
            place[0] += 1
        if left > 1:
            return out, -1
    return out, written


@lean
def enter(ground: Ground, steps: Steps, node: int, box: Box, dead: bool, count: int, open_: Array, depth: int) -> bool:
    """Go to the first child of a split that is there, the next of the open ones; whether its box is dead."""
    axis, at, kind = steps.axis[node], steps.at[node], steps.kind[node]
    open_[depth, AXIS], open_[depth, OLD_LOW], open_[depth, OLD_HIGH] = axis, box.low[axis], box.high[axis]
    open_[depth, EVENTS], open_[depth, DEAD], open_[depth, SECOND], open_[depth, PLACE] = count, dead, kind != SPLIT, at
    if dead:
        return True
    return narrow(ground, box, axis, half(ground, axis, at, box.low[axis], box.high[axis], kind == REST))


@lean
def leave(
    ground: Ground, reached: Reached, lists: Lists, box: Box, fronts: Fronts, events: Array, count: int, open_: Array,
    depth: int, dead: bool,
) -> tuple[int, int, bool]:  # fmt: skip
    """Go to the second child of the last split that has one left; how many events and open splits remain, and whether
    its box is dead.
    """
    while depth > 0:
        last = depth - 1
        axis, low, high = open_[last, AXIS], open_[last, OLD_LOW], open_[last, OLD_HIGH]
        move_back(reached, lists, fronts, events, count, open_[last, EVENTS])
        count, dead = open_[last, EVENTS], open_[last, DEAD] != 0
        if not dead:
            narrow(ground, box, axis, Half(low, high, 0))
        if open_[last, SECOND] == 0:
            open_[last, SECOND] = 1
            if not dead:
                dead = narrow(ground, box, axis, half(ground, axis, open_[last, PLACE], low, high, 1))
            break
        depth -= 1
    return count, depth, dead


@compiled
def elaborate(
    ground: Ground, aim: Aim, reached: Reached, lists: Lists, steps: Steps, box: Box, limit: int
) -> Elaborated:
    """Prune what the proof's leaves need.

    Invariant: the fronts are those of the present box; what an event noted is undone when the box is left. None are
    looked at while the box is dead: empty, or too far, or without a leaf of some tree.
    """
    events, open_, out = np.empty((1024, 7), np.int64), np.empty((256, 7), np.int64), np.empty((1024, 3), np.int64)
    count = depth = written = 0
    dead = box.total[0] + box.total[1] >= limit or (reached.first[1:] == reached.first[:-1]).any()
    share, fronts = shares(steps.kind), at_root(reached, lists, dead)
    for node in range(len(steps.kind)):
        kind = steps.kind[node]
        if not dead and kind != OTHER:
            while len(events) < count + lists.alike.size:
                events = enlarged(events)
            count = move_on(ground, reached, lists, box, limit, node, fronts, events, count)
        if kind in (SPLIT, FIRST, REST):
            if depth == len(open_):
                open_ = enlarged(open_)
            dead = enter(ground, steps, node, box, dead, count, open_, depth)
            depth += 1
            continue
        if not dead and kind == TREES:
            upto = needed(aim, lists, reached, events, fronts.last, share, fronts.front, fronts.sums)
            if len(upto) < len(lists.gain):
                return Elaborated(out[:0].copy(), node)
            out, written = prune_passed(lists, events, count, upto, out, written)
        if not dead and kind == CELL:
            out, written = prune_cell(ground, reached, box, limit, node, out, written)
            if written < 0:
                return Elaborated(out[:0].copy(), node)
        count, depth, dead = leave(ground, reached, lists, box, fronts, events, count, open_, depth, dead)
    return Elaborated(out[:written].copy(), -1)
