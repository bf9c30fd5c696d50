"""Trees: which leaves a box reaches, the sum of the best of them, and the rounding of the library's own sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from itertools import chain
from operator import or_
from typing import Any, NamedTuple, TypeAlias

from mace.proofs.kernel.axes import Half, Span
from mace.proofs.kernel.fields import anything, count, float_0, index, integer, one_of, read, truth
from mace.proofs.kernel.floats import (
    BEYOND,
    DIGITS,
    INFINITE,
    ONE,
    SMALLEST,
    UNIT,
    Refused,
    floating,
    gamma,
    need,
    quotient,
    to_float,
)  # fmt: skip
from mace.proofs.kernel.statement import Column, Compare, Statement

# Scores this near to the boundary of a squashed decision count as on either side of it (units of the dtype).
SQUASHED = {"argmax": 0, "softmax": 32, "positive": 0, "nonnegative": 0, "sigmoid": 16, "value": 0}
ENSEMBLE = {
    "kind": one_of("ensemble"), "rule": one_of(*SQUASHED), "cast": one_of(*DIGITS), "test": one_of("<=", "<"),
    "dtype": one_of(*DIGITS), "ordered": truth, "error": float_0, "divide": count, "start": [floating],
    "trees": [{name: [anything] for name in ("column", "threshold", "left", "right", "value")}],
}  # fmt: skip

Test: TypeAlias = tuple[int, Any]  # a column, and its threshold times 2^1074 or the categories that go left
Cut: TypeAlias = tuple[int, Span, Span]  # the axis of a test, the indices that go left, and those that go right
Sides: TypeAlias = dict[int, Span]  # where a leaf's path narrows the axes
CUTS = 1 << 16  # of a model, of which the sides are kept


class Tree(NamedTuple):
    """A tree over its nodes: the number of each one's test (-1: a leaf), its children, and the values of leaves."""

    test: list[int]
    left: list[int]
    right: list[int]
    value: dict[int, tuple[int, ...]]


@lru_cache(1 << 14)
def cast(number: int, dtype: str) -> int:
    """What tests see of a float; many tests see the same few."""
    return to_float(number, dtype)


class Ensemble:
    """Trees whose different tests are numbered, in the order in which they come: tree by tree, node by node."""

    def __init__(self, data: Any) -> None:
        found = read(data, ENSEMBLE, "statement: model")
        self.kind = found.kind
        self.rule, self.cast, self.strict, self.dtype = found.rule, found.cast, found.test == "<", found.dtype
        self.ordered, self.error, self.divide = found.ordered, found.error, found.divide
        try:
            self.start = self._stored(found.start)
        except Refused as error:
            raise Refused(f"statement: model: start: {error}") from None
        self.outputs = len(self.start)
        self.numbers: dict[Test, int] = {}
        self.trees = [self._tree(tree, f"statement: model: tree {t}") for t, tree in enumerate(found.trees)]
        self.tests = [*self.numbers]
        self.tested: dict[int, list[int]] = {}  # column -> its tests
        for test, number in self.numbers.items():
            self.tested.setdefault(test[0], []).append(number)
        self.squashed = SQUASHED[self.rule] * int(UNIT[self.dtype] * ONE)
        # Statements about one model have most columns, and many cuts, in common.
        self.cut, self.levels = lru_cache(CUTS)(self._cut), lru_cache(CUTS)(self._levels)

    def _stored(self, values: Iterable[int]) -> tuple[int, ...]:
        """Floats as the library adds them: rounded to its dtype."""
        if self.dtype == "float64":
            return tuple(values)
        stored = tuple(to_float(x, self.dtype) for x in values)
        need(all(abs(x) < INFINITE for x in stored), "a value overflows")
        return stored

    def _tree(self, data: Any, where: str) -> Tree:
        size = len(data.column)
        need(all(len(entries) == size for entries in vars(data).values()), f"{where}: expected {size} entries")
        test, value, children = [-1] * size, {}, []
        nodes = zip(data.column, data.threshold, data.left, data.right, data.value, strict=True)
        for n, (column, threshold, left, right, values) in enumerate(nodes):
            try:
                if column == -1:
                    value[n] = self._leaf((threshold, left, right), values)
                    continue
                need(values is None, "only a leaf has values")
                test[n] = self._test(column, threshold)
                fits = type(left) is int and type(right) is int and n < left and n < right
                need(fits, "its children must come after it")
            except Refused as error:
                raise Refused(f"{where}: node {n}: {error}") from None
            children += [left, right]
        # Each child comes after its parent, and has no other: so every walk ends, and none is longer than the tree.
        need([0, *sorted(children)] == [*range(size)], f"{where}: a node has no parent, or two")
        return Tree(test, data.left, data.right, value)

    def _leaf(self, none: tuple[Any, ...], values: Any) -> tuple[int, ...]:
        """The values of a leaf."""
        need(none == (0, 0, 0) and bool not in map(type, none), "a leaf tests nothing")
        need(type(values) is list and len(values) == self.outputs, "expected a value for each score")
        return self._stored([floating(x, "value") for x in values])

    def _test(self, column: Any, threshold: Any) -> int:
        """The number of a test."""
        if type(column) is not int or column < 0:
            raise Refused(f"no column {column!a}")
        if type(threshold) is list:
            threshold = frozenset(ONE * index(k, "threshold") for k in threshold)
        else:
            threshold = floating(threshold, "threshold")
        return self.numbers.setdefault((column, threshold), len(self.numbers))

    def _cut(self, number: int, column: Column, at: int) -> Cut:
        """The sides of a test of a grid, which is cut after an index.

        Lemma: rounding, the chain, the cast and the comparison are monotone functions of the index of a grid, so that
        the two indices beside the cut decide all.
        """
        need(column.table is None, "cuts: levels are not cut")
        test, (low, high) = self.tests[number], column.axis.full
        integer(at, low - 1, high, "cuts")
        before = at < low or self.passes(column.at(at), test[1]) != column.falling
        after = at == high or self.passes(column.at(at + 1), test[1]) == column.falling
        if not (before and after):
            raise Refused(f"cuts: column {test[0]} is not cut after the index {at}")
        sides = ((low, at), (at + 1, high))
        return column.feature, *(sides[::-1] if column.falling else sides)

    def _levels(self, tested: int, column: Column) -> list[tuple[int, Cut]]:
        """The tests of a column of levels, each with its sides: levels are tested one by one."""
        found = []
        for number in self.tested[tested]:
            threshold = self.tests[number][1]
            if column.table is None:
                need(not isinstance(threshold, frozenset), "statement: model: tests categories of a grid")
                continue
            mask = sum(1 << level for level, x in enumerate(column.table) if self.passes(x, threshold))
            found.append((number, (column.feature, mask, ~mask)))
        return found

    def passes(self, number: int, threshold: Any) -> bool:
        """Whether a float goes left."""
        seen = cast(number, self.cast)
        if isinstance(threshold, frozenset):
            return seen in threshold
        return seen < threshold if self.strict else bool(seen <= threshold)

    def scores(self, leaves: Sequence[Sequence[int]]) -> list[int]:
        """The library's own float scores: added in order, each sum rounded, divided at the end."""
        scores = list(self.start)
        for values in leaves:
            scores = [to_float(s + v, self.dtype) for s, v in zip(scores, values, strict=True)]
        return [quotient(s, self.divide * ONE, self.dtype) if self.divide > 1 else s for s in scores]

    def slack(self, compare: Compare) -> tuple[Fraction, Fraction]:
        """How far the exact sums, times 2^1074, of a float comparison that holds may lie below it, and of one that
        fails above it.

        Lemma: with n terms of which the largest sum of sizes is M, |float sum - exact sum| <= g(n - 1) M in any order,
        and 0 if all are multiples of one power of two and M is below 2^digits of it. Division is monotone: it can only
        make neighbours equal, within 2 u M (1 + g(n)) + 2 divide 2^-1022, and keeps exact sums apart where it is by a
        power of two and nothing underflows.
        """
        sides = compare.sides
        size, bits = sum(abs(self.start[s]) for s in sides), reduce(or_, (self.start[s] for s in sides))
        for tree in self.trees:
            parts = [[v[s] for v in tree.value.values()] for s in sides]
            size += max(map(sum, zip(*(map(abs, part) for part in parts), strict=True)))
            bits = reduce(or_, chain(*parts), bits)
        grain = bits & -bits  # the largest power of two that divides every value
        terms = len(self.trees) + any(self.start[s] for s in sides)
        need(size * (1 + gamma(terms + 1, self.dtype)) < BEYOND[self.dtype] // 2, "statement: model: sums may overflow")
        exact = size <= grain << DIGITS[self.dtype]
        summing = Fraction(0) if exact else gamma(max(terms - 1, 0), self.dtype) * size
        loose = tight = Fraction(0)
        halved = not self.divide & (self.divide - 1) and Fraction(grain, self.divide) >= SMALLEST[self.dtype] * ONE
        if self.divide > 1 and not (exact and halved):
            error = 2 * UNIT[self.dtype] * size * (1 + gamma(terms, self.dtype))
            error += 2 * self.divide * SMALLEST[self.dtype] * ONE
            if not (len(sides) == 2 and grain > error):
                loose = Fraction(0) if len(sides) == 2 and compare.strict else error
                tight = Fraction(0) if len(sides) == 2 and not compare.strict else error
        outside = self.squashed * self.divide + self.error * len(sides)
        return summing + loose + outside, summing + tight + outside

    def witness(self, statement: Statement, point: Sequence[int]) -> bool:
        """Whether the float model certainly has the goal at a point: by its own sums, or beyond the slack."""
        row, leaves = statement.row(point), []
        known: dict[int, bool] = {}  # of each test that was come to, whether the point goes left
        for tree in self.trees:
            n = 0
            while (number := tree.test[n]) >= 0:
                if number not in known:
                    column, threshold = self.tests[number]
                    known[number] = self.passes(row[column], threshold)
                n = tree.left[n] if known[number] else tree.right[n]
            leaves.append(tree.value[n])
        scores, sums = self.scores(leaves), [sum(values) for values in zip(self.start, *leaves, strict=True)]

        def holds(compare: Compare) -> bool:
            if self.ordered and not self.squashed and not self.error:
                return compare.holds(compare.margin(scores) - compare.than, 0)
            return compare.holds(compare.margin(sums) - compare.than * self.divide, self.slack(compare)[1])

        return any(all(map(holds, part)) for part in statement.goal)


class Reach:
    """Leaves of the trees that points against the claim can reach, and what the best of them add up to.

    A state holds one set of leaves a tree, `alive`, as a bit mask over those that the root reaches: no point of its box
    nearer than the claim reaches another. `sums` holds for each margin that is compared, plus side minus minus side,
    the sum of the best ones of these leaves: comparisons that differ in `than` alone share it.
    """

    def __init__(self, statement: Statement, model: Ensemble, cuts: Any, root: Any) -> None:
        self.statement, self.model = statement, model
        need(type(cuts) is list and len(cuts) == len(model.tests), f"cuts: expected {len(model.tests)} entries")
        self.sides = self.uncut()
        columns, tests = statement.columns, model.tests
        for number, at in enumerate(cuts):
            if at is None:
                continue
            if type(at) is not int:
                raise Refused("cuts: expected an integer")
            self.sides[number] = model.cut(number, columns[tests[number][0]], at)
        self.led: dict[int, dict[int, tuple[int, Span]]] = {}  # by tree, once prices asked for it
        self.prepare(root)

    def prepare(self, root: Any) -> None:
        """What each comparison needs, and the leaves and sums of the root."""
        self.compares = list(dict.fromkeys(compare for part in self.statement.goal for compare in part))
        # The slack takes a look at every leaf, and is the same whatever `than` is.
        alike = {(c.plus, c.minus, c.strict): c for c in self.compares}
        slack = {key: self.model.slack(c) for key, c in alike.items()}
        self.needed = [self.threshold(c, slack[c.plus, c.minus, c.strict]) for c in self.compares]
        margins = dict.fromkeys((compare.plus, compare.minus) for compare in self.compares)
        self.shared = [[*margins].index((compare.plus, compare.minus)) for compare in self.compares]
        self.margins = [self.compares[self.shared.index(k)] for k in range(len(margins))]
        # For each part of the goal the margins of its comparisons.
        self.of_part = [{self.shared[self.compares.index(c)] for c in part} for part in self.statement.goal]
        self.begin(root)

    def begin(self, root: Any) -> None:
        """Leaves and sums of the root of a proof."""
        model = self.model
        whole: dict[int, list[Half]] = {}
        self.leaves = [self.reached(tree, root, whole) for tree in model.trees]
        self.nodes = [[*found] for found in self.leaves]  # of each tree, in the order of their bits
        # For each margin and tree those of its leaves, the best first, each with the bit of its leaf.
        self.best: list[list[list[tuple[int, int]]]] = [
            [
                sorted([(c.margin(model.trees[t].value[n]), bit) for n, (bit, _) in found.items()], reverse=True)
                for t, found in enumerate(self.leaves)
            ]
            for c in self.margins
        ]
        root.alive = [(1 << len(found)) - 1 for found in self.leaves]
        root.empty = not all(root.alive)
        root.sums = [
            c.margin(model.start) + sum(margins[0][0] for margins in best if margins)
            for c, best in zip(self.margins, self.best, strict=True)
        ]

    def threshold(self, compare: Compare, slacks: tuple[Fraction, Fraction]) -> int:
        """An integer below which the sum of margins shows that a comparison does not hold."""
        slack, _ = slacks
        least = Fraction(compare.than * self.model.divide) - slack
        # A strict comparison of exact sums does not hold at a tie.
        return int(least) + 1 if not slack and compare.strict else -(-least.numerator // least.denominator)

    def uncut(self) -> list[Cut | None]:
        """The sides of the tests of levels, which need no cut; None for those of grids, of which nothing is said."""
        found: list[Cut | None] = [None] * len(self.model.tests)
        for column in self.model.tested:
            if column >= len(self.statement.columns):
                raise Refused(f"statement: model: no column {column}")
            for number, sides in self.model.levels(column, self.statement.columns[column]):
                found[number] = sides
        return found

    def leading(self, t: int) -> dict[int, tuple[int, Span]]:
        """For each node of a tree the axis and the side of the test that leads there, as far as its cut is known."""
        if t in self.led:
            return self.led[t]
        tree, found = self.model.trees[t], self.led.setdefault(t, {})
        for n, test in enumerate(tree.test):
            cut = self.sides[test] if test >= 0 else None
            if cut is not None:
                found[tree.left[n]], found[tree.right[n]] = (cut[0], cut[1]), (cut[0], cut[2])
        return found

    def reached(self, tree: Tree, root: Any, whole: dict[int, list[Half]]) -> dict[int, tuple[int, Sides]]:
        """The leaves that the root reaches: node -> its bit, and where its path narrows the axes.

        whole: keeps for all trees what the sides of tests leave of the root.
        """
        found: dict[int, tuple[int, Sides]] = {}
        limit, axes, cuts = self.statement.limit, self.statement.axes, self.sides
        tests, children = tree.test, (tree.left, tree.right)
        todo: list[tuple[int, Sides, int, int]] = [(0, {}, root.total, root.largest)]
        if limit is not None and root.total + root.largest >= limit:
            todo = []
        while todo:
            n, sides, total, largest = todo.pop()
            number = tests[n]
            if number < 0:
                found[n] = (1 << len(found), sides)
                continue
            cut = cuts[number]
            if cut is None:
                todo += [(child[n], sides, total, largest) for child in children]
                continue
            j, left, right = cut
            # Where nothing has narrowed its axis yet, a test leaves the same of it in every tree.
            halves = axes[j].halves(sides[j], left, right) if j in sides else whole.get(number)
            if halves is None:
                halves = whole[number] = axes[j].halves(root.box[j], left, right)
            for is_right, inside, more, least in halves:
                child = children[is_right][n]
                if inside is None:
                    todo.append((child, sides, total, largest))
                    continue
                spent, most = total + more, least if least > largest else largest
                if limit is None or spent + most < limit:
                    todo.append((child, {**sides, j: inside}, spent, most))
        return found

    def unreached(self, state: Any, sides: Sides) -> bool:
        """Whether no point of a state's box, nearer than the claim, lies in these sides."""
        box, axes, limit = state.box, self.statement.axes, self.statement.limit
        total, largest = state.total, state.largest
        for j, side in sides.items():
            grown = axes[j].inside(box[j], side)
            if grown is None:
                return True
            total += grown[0]
            if grown[1] > largest:
                largest = grown[1]
        return limit is not None and bool(total + largest >= limit)

    def top(self, k: int, t: int, alive: int) -> int:
        """The best margin of a tree's leaves."""
        for margin, bit in self.best[k][t]:
            if bit & alive:
                return margin
        return 0

    def prune(self, state: Any, *pruned: Any) -> Any:
        """A state without some leaves of some trees, `[tree, leaf, ..]` each: no point against the claim reaches them.

        Lemma: a point reaches a leaf only if it lies in the box of the leaf's path. No point of the state's box does,
        or the nearest one that does is not nearer than the claim.
        """
        child = state.child()
        child.alive, child.sums = [*state.alive], [*state.sums]
        # Sums of margins that no open part compares are not looked at any more, and stay what they were: too large.
        margins = set().union(*(self.of_part[part] for part in state.parts))
        for entry in pruned:
            need(type(entry) is list and entry, "expected a list of a tree and leaves")
            t = integer(entry[0], 0, len(self.leaves) - 1, "tree")
            alive, leaves = child.alive[t], self.leaves[t]
            for n in entry[1:]:
                if type(n) is not int or n not in leaves:
                    raise Refused("the root does not reach this leaf")
                bit, sides = leaves[n]
                if not self.unreached(state, sides):
                    raise Refused(f"leaf {n} of tree {t} can be reached")
                alive &= ~bit
            for k in margins:
                child.sums[k] += self.top(k, t, alive) - self.top(k, t, child.alive[t])
            child.alive[t] = alive
            child.empty = child.empty or not alive
        return child

    def trees(self, state: Any, *pruned: Any) -> None:
        """No point of the state has the goal: for each part of it that is open some comparison misses.

        Lemma: the margin of a point against the claim is at most the sum of the best leaves that are left; a float
        comparison holds only if the exact margin is at most `slack` below it.
        """
        state = self.prune(state, *pruned)
        if state.empty:
            return
        found = zip(self.compares, self.shared, self.needed, strict=True)
        missed = {compare for compare, k, needed in found if state.sums[k] < needed}
        for number in state.parts:
            need(not missed.isdisjoint(self.statement.goal[number]), f"part {number} of the goal can still be reached")

    def cell(self, state: Any, *pruned: Any) -> None:
        """Each tree has one leaf left, and the float scores of these do not have the goal.

        Lemma: all points against the claim have these very scores, since the library adds in this order.
        """
        state = self.prune(state, *pruned)
        model = self.model
        need(model.ordered and not model.error, "the last bits of the model's scores are not known")
        if state.empty:
            return
        values = []
        for t, (tree, alive) in enumerate(zip(model.trees, state.alive, strict=True)):
            if alive.bit_count() != 1:
                raise Refused(f"tree {t} reaches {alive.bit_count()} leaves in the box")
            values.append(tree.value[self.nodes[t][alive.bit_length() - 1]])
        scores = model.scores(values)

        def possible(compare: Compare) -> bool:
            margin = compare.margin(scores) - compare.than
            return bool(margin > 0 if compare.strict and not model.squashed else margin >= -model.squashed)

        goal = self.statement.goal
        need(not any(all(map(possible, goal[k])) for k in state.parts), "the model has the goal in this cell")
