"""Elaborate a proof: from the nodes that a prover writes (format 1) to those that the kernel verifies (format 2).

In:  a statement, the kernel's model of it, and a proof whose leaves say only by which rule they close.
Out: the cuts of thresholds, and the same tree of boxes with what the kernel does not look for: which leaves of which
     trees a box cannot reach, where an axis ends that is near enough, and the θ of each bound of a hidden unit.
Promise: none is needed. What is written here is verified by the kernel; a mistake costs a proof, never truth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mace.proofs.kernel.axes import Axis, Span, empty, levels
from mace.proofs.kernel.ensembles import Ensemble, Reach, Test
from mace.proofs.kernel.floats import DIGITS, LOWEST, Refused, float_with_bits
from mace.proofs.kernel.networks import FINE, Linear
from mace.proofs.kernel.proof import RULES, Check, State, read_model
from mace.proofs.kernel.statement import Column, Statement


def converted(data: dict[str, Any], model: Any) -> dict[str, Any]:
    """A certificate of format 1 in format 2; where it makes no sense, something that the kernel refuses."""
    found = {**data, "mace_certificate": 2}
    found["cuts"], found["proof"] = elaborated(data.get("statement"), data.get("proof"), model)
    return found


def elaborated(
    statement: Any, proof: Any, model: Any = None, look: Callable[[], None] = lambda: None
) -> tuple[list[int | None], Any]:
    """The cuts and the proof of a certificate; from the first node that makes no sense on, the nodes as they are.

    model: what the kernel made of the statement's model; None: it is read here. look: called now and then; may raise.
    """
    try:
        model = read_model(statement["model"]) if model is None else model
        problem = Statement(statement, model)
        if isinstance(model, Ensemble):
            return of_trees(problem, model, proof, look)
        return [], of_network(problem, proof, look)
    except (Refused, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return [None] * len(model.tests) if isinstance(model, Ensemble) else [], proof


# --- cuts ------------------------------------------------------------------------------------------------------------


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
        self.tests: list[Test] = list(reach.model.tests)
        self.found: list[int | None] = [None] * len(self.tests)

    def __missing__(self, number: int) -> Any:
        test = self.tests[number]
        column = self.reach.statement.columns[test[0]]
        if column.table is None and not isinstance(test[1], frozenset):
            self.found[number] = cut(self.reach.model, column, test[1])
        self[number] = sides = self.reach.cut(test, self.found[number])
        return sides


# --- trees -----------------------------------------------------------------------------------------------------------


class Open:
    """An open box: where in each tree's list of leaves, best first, the first one stands that is still reached.

    For each comparison: `front`, its places; `sum`, what the leaves there add up to; `passed`, on the way from the root
    the leaves that each node's box no longer reaches, as [tree, from, to, written].
    """

    __slots__ = ("front", "node", "parent", "passed", "state", "sum")

    def __init__(self, state: State, parent: Open | None, node: int) -> None:
        self.state, self.parent, self.node = state, parent, node
        self.front: list[list[int]] = parent.front if parent else []
        self.sum: list[int] = parent.sum if parent else []
        self.passed: list[list[list[Any]]] = []


class Forest:
    """The elaboration of a proof about trees."""

    def __init__(self, statement: Statement, model: Ensemble) -> None:
        self.check = Check.__new__(Check)
        self.check.statement = self.statement = statement
        full = [axis.full for axis in statement.axes]
        self.root = State(full, statement.least(full))
        self.reach = reach = Reach.__new__(Reach)
        reach.statement, reach.model = statement, model
        self.cuts = Cuts(reach)
        reach.sides = self.cuts  # type: ignore[assignment]  # looked up when a walk comes to them
        reach.prepare(self.root)
        # Comparison -> tree -> its leaves, best first: margin, node, sides
        self.order = [
            [
                [(margin, *named[bit]) for margin, bit in best]
                for best, named in zip(
                    row, ({bit: (n, sides) for n, (bit, sides) in found.items()} for found in reach.leaves), strict=True
                )
            ]
            for row in reach.best
        ]
        self.prunes: dict[int, dict[int, list[int]]] = {}

    def opened(self, state: State, parent: Open | None, node: int) -> Open:
        """An open box, whose fronts have been moved to leaves that it reaches."""
        found = Open(state, parent, node)
        if state.empty:
            return found
        if parent is None:
            found.front = [[0] * len(row) for row in self.order]
            found.sum = list(state.sums)
        found.front, found.sum = [list(front) for front in found.front], list(found.sum)
        for k, row in enumerate(self.order):
            front, passed = found.front[k], []
            for t, leaves in enumerate(row):
                place = began = front[t]
                while place < len(leaves) and self.reach.unreached(state, leaves[place][2]):
                    place += 1
                if place > began:
                    front[t] = place
                    passed.append([t, began, place, False])
                    if place < len(leaves):
                        found.sum[k] += leaves[place][0] - leaves[began][0]
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
        for part in self.statement.goal:
            ks = [self.reach.compares.index(compare) for compare in part]
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

    def look_up(self, parts: Any) -> None:
        """Find the cuts of all tests of the trees that have prices."""
        for t in {entry[0] for part in parts for entry in part["prices"]}:
            for test in self.reach.model.trees[t].test:
                if test >= 0:
                    self.cuts[test]

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
    todo: list[tuple[State, Open | None]] = [(forest.root, None)]
    try:
        for number, node in enumerate(nodes):
            state, parent = todo.pop()
            if number % 256 == 0:
                look()
            if state.empty:
                todo += [(state, parent)] * RULES[node[0]].children
                continue
            if node == ["cell"]:
                node += forest.remaining(state)
            if node[0] == "prices":
                forest.look_up(node[1:])
            if node[0] not in ("split", "trees"):
                continue
            at = forest.opened(state, parent, number)
            if node[0] == "split":
                todo += [(child, at) for child in reversed(forest.check.split(state, *node[1:]))]
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


# --- networks --------------------------------------------------------------------------------------------------------


def of_network(statement: Statement, proof: Any, look: Callable[[], None]) -> list[Any]:
    """The proof of a certificate about a network."""
    check = Check(statement, [])
    nodes: list[Any] = []
    todo = [deeper(check, nearer(check, check.root, nodes), nodes)]
    for number, node in enumerate(proof):
        look()
        try:
            state = todo.pop()
            name, *rest = node
            if not state.empty and name in ("bounds", "dual"):
                state = nearer(check, state, nodes)
            if state.empty:
                children = [state] * RULES[name].children
            elif name == "bounds":
                children = [deeper(check, state, nodes)]
            elif name in ("split", "phase"):
                children = (check.split if name == "split" else check.model.phase)(state, *rest)
            else:
                children = []
        except (Refused, LookupError, TypeError, ValueError):
            return [*nodes, *proof[number:]]  # The kernel says what is wrong.
        if name != "bounds" or state.empty:
            nodes.append(node)
        todo += reversed(children)
    return nodes


def nearer(check: Check, state: State, nodes: list[Any]) -> State:
    """A state without the indices that alone, with the least that the other axes add, are too far."""
    limit, sides = check.statement.limit, []
    if limit is None:
        return state
    for j, (axis, span) in enumerate(zip(check.statement.axes, state.box, strict=True)):
        kept = closer(axis, span, limit - state.total + axis.cost(span)[0])
        if kept != span:
            sides.append([j, list(kept) if axis.is_grid else kept])
            if empty(kept):
                sides = sides[-1:]
                break
    if not sides:
        return state
    nodes.append(["near", *sides])
    return check.near(state, *sides)


def closer(axis: Axis, span: Span, limit: int) -> Span:
    """The part of a span whose own distance stays below a limit."""
    if not axis.is_grid:
        return sum(1 << level for level in levels(span) if sum(axis.between(level, axis.start)) < limit)
    own = axis.only(axis.start)
    pace = axis.slope + axis.steep
    if limit <= 0:
        own = (1, 0)
    elif limit > axis.jump:
        if not pace:
            return span
        most, centre = (limit - 1 - axis.jump) // pace, axis.number(axis.start)
        own = (first(axis, centre - most), last(axis, centre + most))
    kept = max(span[0], own[0]), min(span[1], own[1])
    return (1, 0) if empty(kept) else kept


def deeper(check: Check, state: State, nodes: list[Any]) -> State:
    """A state with new bounds of all hidden units that are not decided."""
    if state.empty:
        return state
    model, units = check.model, []
    for k, intervals in enumerate(state.units):
        for n in range(len(intervals)):
            low, high = state.units[k][n]
            if low >= 0 or high <= 0:
                continue
            unit = [k, n, *(theta(check, state, k, n, sign) for sign in (1, -1))]
            units.append(unit)
            state = model.bounds(state, unit)
    if units:
        nodes.append(["bounds", *units])
    return state


def theta(check: Check, state: State, k: int, n: int, sign: int) -> str:
    """The best price of distance for one end of a unit's interval."""
    statement, model = check.statement, check.model
    if statement.claim is None:
        return (0.0).hex()
    row = [sign * int(o == n) << FINE for o in range(len(model.model.layers[k].bias))]
    f = model.columns(state, k, model.model.layers[k].back(Linear(row, 0, FINE)), None, {})
    _, parts = model.parts(state, f)
    one, common = 1 << f.shift, statement.common
    choices = [[(value / one, summed / common) for value, summed, _ in axis] for axis in parts]
    budget, turns = float(statement.claim), {0.0}
    for choice in choices:
        for value, part in choice:
            turns.update((value - v) / (p - part) for v, p in choice if p > part and v < value)
    order, low, high = sorted(turns), 0, len(turns) - 1
    while low < high:  # the bound is concave in θ: find the first turn where the points chosen fit the budget
        middle = (low + high) // 2
        price = order[middle] * (1 + 2.0**-50)
        used = sum(min((v + price * p, p) for v, p in choice)[1] for choice in choices)
        low, high = (low, middle) if used <= budget else (middle + 1, high)
    return order[low].hex()
