"""Elaborate a proof about trees: the cuts of thresholds, and which leaves of which trees a box cannot reach.

Promise: none is needed, see `convert.py`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

from mace.proofs.kernel.axes import Axis, Span, empty, meet
from mace.proofs.kernel.ensembles import Ensemble, Reach, Sides
from mace.proofs.kernel.floats import DIGITS, LOWEST, Refused, float_with_bits
from mace.proofs.kernel.proof import RULES, Check
from mace.proofs.kernel.state import State
from mace.proofs.kernel.statement import Column, Statement


def below(number: int, dtype: str) -> int:
    """The place among the floats of a type of the largest that is <= number * 2^-1074."""
    size = abs(number) >> (LOWEST[dtype] + 1074)
    exponent = max(size.bit_length() - DIGITS[dtype], 0)
    rank = (exponent << (DIGITS[dtype] - 1)) + (size >> exponent)
    if number >= 0:
        return rank
    return -rank if float_with_bits(-rank, dtype) <= number else -rank - 1


def last(axis: Axis, number: int) -> int:
    """The largest index whose value is <= number / unit."""
    if axis.grid != "step":
        return below(number, axis.grid)
    found = number // axis.step
    if axis.extra is None or found < axis.place - 1:
        return found
    return found + 1 if found >= axis.place or number >= axis.extra else found


def first(axis: Axis, number: int) -> int:
    """The smallest index whose value is >= number / unit."""
    found = last(axis, number)
    return found if axis.number(found) == number else found + 1


def cut(model: Ensemble, column: Column, threshold: int) -> int:
    """The last index before the one where the test changes its answer; lower - 1 or upper if it never does."""
    axis, boundary = column.axis, threshold
    if model.cast == "float32":  # Halfway to the next float32 is where the rounding of the input turns.
        rank = below(threshold, "float32")
        boundary = (float_with_bits(rank, "float32") + float_with_bits(rank + 1, "float32")) // 2
    guess = last(axis, boundary if axis.grid != "step" else (boundary * axis.unit) >> 1074)
    # Invariant: low is before the change (or below the axis), high is not (or above it).
    low, high = axis.full[0] - 1, axis.full[1] + 1
    while high - low > 1:
        probe = guess if low < guess < high else guess + 1 if low == guess else (low + high) // 2
        if model.passes(column.at(probe), threshold) != column.falling:
            low = probe
        else:
            high = probe
    return int(low)


class Cuts(dict[int, Any]):
    """The sides of each test that is looked up, and its cut."""

    def __init__(self, reach: Reach) -> None:
        super().__init__()
        self.reach = reach
        self.found: list[int | None] = [None] * len(reach.model.tests)
        self.update((number, sides) for number, sides in enumerate(reach.uncut()) if sides is not None)

    def __missing__(self, number: int) -> Any:
        test = self.reach.model.tests[number]
        column = self.reach.statement.columns[test[0]]
        self.found[number] = at = cut(self.reach.model, column, test[1])
        self[number] = sides = self.reach.model.cut(number, column, at)
        return sides


class Open:
    """An open box: where in each tree's list of leaves, best first, the first one stands that is still reached.

    For each comparison: `front`, its places; `cost`, the least distance of each of these leaves in the box, as sum and
    maximum; `sum`, what they add up to; `passed`, the leaves that were reached above and are no longer, as
    [tree, from, to, written].
    """

    __slots__ = ("cost", "front", "node", "parent", "passed", "state", "sum")

    def __init__(self, state: State, parent: Open | None, node: int) -> None:
        self.state, self.parent, self.node = state, parent, node
        self.front: list[list[int]] = []
        self.cost: list[list[tuple[int, int]]] = []
        self.sum: list[int] = []
        self.passed: list[list[list[Any]]] = []


class Forest:
    """The elaboration of a proof about trees."""

    def __init__(self, statement: Statement, model: Ensemble) -> None:
        self.check = Check.__new__(Check)
        self.check.statement = self.statement = statement
        full = [axis.full for axis in statement.axes]
        self.root = State(full, statement.least(full), range(len(statement.goal)))
        self.reach = reach = Reach.__new__(Reach)
        reach.statement, reach.model = statement, model
        self.cuts = Cuts(reach)
        reach.sides = self.cuts  # type: ignore[assignment]  # looked up when a walk comes to them
        reach.prepare(self.root)
        most = sum(sum(max((axis.between(i, axis.start) for i in axis.ends(s)), key=sum)) for axis, s in self.spans())
        self.limit = most + 1 if statement.limit is None else statement.limit
        names = [{bit: (n, sides) for n, (bit, sides) in found.items()} for found in reach.leaves]
        # Comparison -> tree -> its leaves, best first: margin, node, sides
        self.order = [
            [[(margin, *named[bit]) for margin, bit in best] for best, named in zip(row, names, strict=True)]
            for row in (reach.best[k] for k in reach.shared)
        ]
        self.prunes: dict[int, dict[int, list[int]]] = {}

    def spans(self) -> Iterable[tuple[Axis, Span]]:
        """The axes with their allowed indices."""
        return ((axis, axis.full) for axis in self.statement.axes)

    def inside(self, state: State, sides: Sides) -> tuple[int, int] | None:
        """The least distance of a leaf's part of a box, as sum and maximum; None if it is empty or too far."""
        total, largest = state.total, state.largest
        for j, side in sides.items():
            span = state.box[j]
            part = meet(span, side)
            if empty(part):
                return None
            if part != span:
                axis = self.statement.axes[j]
                old, new = axis.cost(span), axis.cost(part)
                total += new[0] - old[0]
                largest = max(largest, new[1])
        return None if total + largest >= self.limit else (total, largest)

    def opened(self, state: State, parent: Open | None, node: int, j: int) -> Open:
        """An open box, whose fronts have been moved to leaves that it reaches. j: the axis that it was split on."""
        found = Open(state, parent, node)
        if parent is None:
            found.front = [[0] * len(row) for row in self.order]
            found.cost = [[self.inside(state, leaves[0][2]) or (0, 0) for leaves in row] for row in self.order]
            found.sum, found.passed = [state.sums[k] for k in self.reach.shared], [[] for _ in self.order]
            return found
        limit, axis = self.limit, self.statement.axes[j]
        before, after = parent.state.box[j], state.box[j]
        old, least = axis.cost(before)[0], axis.cost(after)
        found.sum = list(parent.sum)
        for k, row in enumerate(self.order):
            front, costs, passed = list(parent.front[k]), list(parent.cost[k]), []
            for t, leaves in enumerate(row):
                began = place = front[t]
                if place == len(leaves):
                    continue
                # Of the first leaf only the split axis is another.
                side = leaves[place][2].get(j)
                total, largest = costs[t]
                if side is None:
                    costs[t] = total, largest = total - old + least[0], max(largest, least[1])
                else:
                    part = meet(side, after)
                    if empty(part):
                        total = limit
                    else:
                        new = axis.cost(part)
                        total += new[0] - axis.cost(meet(side, before))[0]
                        costs[t] = total, largest = total, max(largest, new[1])
                if total + largest < limit:
                    continue
                place += 1
                while place < len(leaves):
                    side = leaves[place][2].get(j)
                    inside = (
                        None if side is not None and empty(meet(side, after)) else self.inside(state, leaves[place][2])
                    )
                    if inside is not None:
                        costs[t] = inside
                        break
                    place += 1
                front[t] = place
                passed.append([t, began, place, False])
                if place < len(leaves):
                    found.sum[k] += leaves[place][0] - leaves[began][0]
            found.front.append(front)
            found.cost.append(costs)
            found.passed.append(passed)
        return found

    def close(self, at: Open) -> None:
        """Write what has to be pruned for a leaf `trees` to close: for each part of the goal by some comparison."""
        path = []
        step: Open | None = at
        while step is not None:
            path.append(step)
            step = step.parent
        path.reverse()
        for t, leaves in enumerate(self.order[0] if self.order else []):
            if at.front[0][t] == len(leaves):  # A tree without a leaf closes by itself.
                self.write(path, 0, {t})
                return
        for part in at.state.parts:
            ks = [self.reach.compares.index(compare) for compare in self.statement.goal[part]]
            k = next((k for k in ks if at.sum[k] < self.reach.needed[k]), None)
            if k is not None:
                self.write(path, k, self.chosen(path, k, self.reach.needed[k] - at.sum[k]))

    def chosen(self, path: list[Open], k: int, room: int) -> set[int]:
        """Trees whose passed leaves must be pruned, so that what the others' unpruned leaves add stays below `room`."""
        start: dict[int, int] = {}
        cost: dict[int, int] = {}
        for step in path:
            for t, began, ended, written in step.passed[k]:
                if not written:
                    start.setdefault(t, began)
                    cost[t] = cost.get(t, 0) + ended - began
        front = path[-1].front[k]
        order = self.order[k]
        gains = {t: order[t][began][0] - order[t][front[t]][0] for t, began in start.items()}
        for t in sorted(gains, key=lambda t: gains[t] // cost[t]):
            if gains[t] >= room:
                break
            room -= gains.pop(t)
        return set(gains)

    def write(self, path: list[Open], k: int, trees: set[int]) -> None:
        """Prune the passed leaves of some trees at the nodes that passed them."""
        for step in path:
            for entry in step.passed[k]:
                t, began, ended, written = entry
                if t in trees and not written:
                    entry[3] = True
                    nodes = self.prunes.setdefault(step.node, {}).setdefault(t, [])
                    nodes += [n for _, n, _ in self.order[k][t][began:ended] if n not in nodes]

    def look_up(self, trees: Iterable[int]) -> None:
        """Find the cuts of all tests of some trees."""
        for t in {*trees}:
            for test in self.reach.model.trees[t].test:
                if test >= 0:
                    self.cuts[test]

    def of_cliques(self, cliques: Any) -> Iterable[int]:
        """The trees of leaves that are counted through all trees."""
        ends = [*accumulate(len(tree.test) for tree in self.reach.model.trees)]
        return (bisect_right(ends, number) for steps in cliques for number in accumulate(steps))

    def narrowed(self, at: Open, number: int, axes: Any) -> tuple[State, Open, int]:
        """What a node `narrow` leaves open: the state, and the box without what it narrows on its last axis."""
        state, parent, axis = at.state, at, 0
        for j, said in axes:
            if state is not at.state:
                parent = self.opened(state, parent, number, axis)
            sides = self.statement.axes[j]
            axis, state = j, state.narrowed(j, sides, meet(state.box[j], sides.span(said, "span")))
            if state.empty:
                break
        return state, parent, axis

    def remaining(self, state: State) -> list[list[int]]:
        """For a leaf `cell`: of each tree the leaves that the box does not reach."""
        found = []
        for t, leaves in enumerate(self.reach.leaves):
            gone = [n for n, (_, sides) in leaves.items() if self.reach.unreached(state, sides)]
            found += [[t, *gone]] if gone else []
        return found


def of_trees(
    statement: Statement, model: Ensemble, proof: Any, look: Callable[[], None]
) -> tuple[list[int | None], list[Any]]:
    """Cuts and proof of a certificate about trees."""
    forest = Forest(statement, model)
    nodes: list[Any] = [[*node] for node in proof]
    todo: list[tuple[State, Open | None, int]] = [(forest.root, None, -1)]
    try:
        for number, node in enumerate(nodes):
            state, parent, axis = todo.pop()
            if number % 256 == 0:
                look()
            if state.empty:
                todo += [(state, parent, axis)] * RULES[node[0]].children
                continue
            if node == ["cell"]:
                node += forest.remaining(state)
            if node[0] in ("prices", "narrow"):
                parts = node[1 + (node[0] == "narrow") :]
                forest.look_up(entry[0] for part in parts for entry in part["prices"])
            if node[0] == "cliques":
                forest.look_up(forest.of_cliques(node[1:]))
                todo.append((state, parent, axis))
            if node[0] == "part":
                todo += [(child, parent, axis) for child in reversed(forest.check.part(state, *node[1:]))]
            if node[0] not in ("split", "narrow", "trees"):
                continue
            at = forest.opened(state, parent, number, axis)
            if node[0] == "narrow":
                todo.append(forest.narrowed(at, number + 1, node[1]))
            elif node[0] == "split":
                todo += [(child, at, node[1]) for child in reversed(forest.check.split(state, *node[1:]))]
            else:
                forest.close(at)
    except (Refused, LookupError, TypeError, ValueError):
        pass  # The kernel says what is wrong.
    found = []
    for number, node in enumerate(nodes):
        pruned = [[t, *sorted(leaves)] for t, leaves in sorted(forest.prunes.get(number, {}).items())]
        if pruned and node[0] == "trees":
            node += pruned
        elif pruned:
            found.append(["prune", *pruned])
        found.append(node)
    return forest.cuts.found, found
