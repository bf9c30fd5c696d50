"""Branch and bound over sets of actions, their orders, and boxes of their parameters.

In:  a task, how close the two bounds must come, and a deadline.
Out: `SearchResult`: the cheapest plan that was found, and a bound below which there is none.
Promise: every plan of at most `horizon` actions belongs to one node at all times; a node is dropped only when its
lower bound, exact or rounded down, reaches what is wanted, when none of its plans can be taken, or when the model
certainly lacks the goal at all of its ends. A plan is returned only after the interpreter replayed it and the deployed
model accepted its end.

A node is a prefix in order, a rest in any order, and a box (`mace.plans.reach`). It is divided by the next action where
the order may matter, else by a parameter. A linear bound of the cost over the points that a line of the model leaves
(a knapsack with one constraint) is exact where model and cost are affine, so boxes close soon.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from mace.base.deadline import Deadline
from mace.base.exact import above, below
from mace.plans.attempts import Attempts, SearchResult, indices_at
from mace.plans.bounders import bounder_of
from mace.plans.division import Why, children
from mace.plans.linear import linear_of, tightened, vertices_of
from mace.plans.nodes import PlanNode, Reach, contracted
from mace.plans.reach import Reacher
from mace.plans.task import COST, Replayed, Task
from mace.plans.tree_bounds import TreeBounds
from mace.solve.protocol import Gap
from mace.worlds.affine import Form

FEW_ORDERS = 4  # actions without a choice of parameters whose orders are all tried
OLD = 2  # divisions after which forms that are not exact are made anew
MOST_ROUNDS = 4  # of making one box smaller
MOST_POINTS = 4096  # of a box whose points are looked at one by one


class Inherited(NamedTuple):
    """What a node leaves its parts: its forms enclose what they can reach, too.

    stale: how many divisions ago the forms were made.
    """

    reach: Reach
    prepared: Any
    stale: int = 0

    @property
    def older(self) -> Inherited:
        """What is handed on to a part of the node: the same, older by one division."""
        return self._replace(stale=self.stale + 1)


@dataclass(order=True)
class Entry:
    """A node in the queue; `fresh` if it stands for all larger sets too, `known` where its parent settled it."""

    bound: float
    number: int
    node: PlanNode = field(compare=False)
    fresh: bool = field(compare=False, default=True)
    known: Inherited | None = field(compare=False, default=None)


class Search:
    """One search; `run` does it."""

    def __init__(self, task: Task, gap: Gap, deadline: Deadline) -> None:
        self.task, self.gap, self.deadline = task, gap, deadline
        self.reacher = Reacher(task)
        moving = sorted({name for v in task.variants for name in v.action.affects})
        self.full = {name: one.last - one.first for variant in task.variants for name, one in variant.variables.items()}
        self.bounder = bounder_of(task.question, moving)
        self.attempts = Attempts(task, self.bounder)
        self.found = self.attempts.found
        self.queue: list[Entry] = []
        self.count = itertools.count()
        self.least = [self._least(v.number) for v in task.variants]

    def run(self) -> SearchResult:
        """Search until the bounds are close enough, nothing is left, or the time is over."""
        self._push(PlanNode((), frozenset(), {}), 0.0, fresh=True)
        while self.queue:
            entry = self.queue[0]
            if self._done(entry.bound):
                break
            if self.deadline.over:
                self.found.why = self.deadline.why
                break
            heapq.heappop(self.queue)
            if entry.fresh and not entry.node.prefix:
                self._larger(entry)
            self._expand(entry)
        self._conclude()
        return self.found

    def offer(self, plan: Replayed) -> None:
        """A plan from elsewhere that was replayed; it is asked about, and kept if it is cheaper."""
        self.attempts.accept(plan)

    @property
    def _upper(self) -> Fraction | None:
        """What the best plan has."""
        return self.found.plan.value if self.found.plan else None

    @property
    def _most(self) -> float | None:
        """The value of the best plan, rounded up; None where none is known."""
        return above(self.found.plan.value) if self.found.plan else None

    def _done(self, bound: float) -> bool:
        upper = self._upper
        return upper is not None and (Fraction(bound) >= upper or self.gap.met(Fraction(bound), upper))

    def _conclude(self) -> None:
        upper = self._upper
        if self.found.plan is not None:
            self.task.judge.confirms(self.task.question, self.found.plan.end)
        if self.queue:
            bound = Fraction(self.queue[0].bound)
            self.found.lower = bound if upper is None else min(bound, upper)
        else:
            self.found.lower = upper

    # --- nodes ---

    def _push(self, node: PlanNode, bound: float, known: Inherited | None = None, *, fresh: bool = False) -> None:
        if self.found.plan is not None and Fraction(bound) >= self.found.plan.value:
            return
        heapq.heappush(self.queue, Entry(bound, next(self.count), node, fresh, known))

    def _least(self, number: int) -> float:
        """What an action costs at least, wherever it is taken."""
        variant = self.task.variants[number]
        ranges = self._box(number)
        state = {
            name: Form.constant(*ends)
            for name, ends in self.reacher.changes.all_ends.items()
            if name in self.task.start
        }
        found = Reach(dict(state))
        if self.reacher.take(found, variant, state, ranges, state) is None:
            return float("inf")
        return below(found.floor)

    def _box(self, number: int) -> dict[str, tuple[int, int]]:
        return {name: (one.first, one.last) for name, one in self.task.variants[number].variables.items()}

    def _larger(self, entry: Entry) -> None:
        """The sets with one more action, each made once."""
        chosen = entry.node.rest
        if len(chosen) >= self.task.horizon:
            return
        floor = sum((Fraction(self.least[v]) for v in chosen), Fraction(0))
        for number in self.task.later(chosen):
            least = self.least[number]
            if least == float("inf") or self.task.exceeds(chosen | {number}):
                continue
            cost, dearest = floor + Fraction(least), self.task.dearest
            if dearest is None or cost <= dearest:
                box = {**entry.node.box, **self._box(number)}
                bound = below(cost) if self.task.measure == COST else 0.0
                self._push(PlanNode((), chosen | {number}, box), bound, fresh=True)

    def _expand(self, entry: Entry) -> None:
        """Bound a node; drop it, put it back with a better bound, or divide it."""
        node, known, said, cost = entry.node, entry.known, False, entry.bound
        if not node.prefix and self.task.left_out(node.rest):
            return
        if len(node.rest) <= FEW_ORDERS and _volume(node) == 1:
            self.attempts.every_order(node)
            return
        variables = sorted(node.box)
        for turn in range(MOST_ROUNDS):
            self.found.nodes += 1
            placed = self._known(node, known, variables)
            if placed is None:
                return
            node, known = placed
            bound = self.bounder.bound(known.prepared, variables, node.box)
            linear = linear_of(known.reach, node, variables)
            vertices = vertices_of(linear, bound)
            if not vertices:
                return
            best = min(vertices, key=lambda vertex: vertex.cost)
            cost = max(cost, best.cost, below(known.reach.floor))
            if self._done(cost):
                self._push(node, cost, known)
                return
            smaller = tightened(node, linear, bound, variables, self._most)
            if smaller is None:
                return
            if smaller is not node:
                node = smaller
                continue
            said = self.bounder.likely(known.prepared, variables, indices_at(node, best.place, variables))
            if turn == MOST_ROUNDS - 1 or not (said and known.stale and known.reach.loose):
                break
            known = None  # the model agrees: what a smaller box says of the discounts is worth knowing
        assert known is not None
        if len(node.rest) <= FEW_ORDERS and _volume(node) == 1:
            self.attempts.every_order(node)
            return
        refused = self.attempts.near(node, known.prepared, best, linear, bound, variables)
        if isinstance(self.bounder, TreeBounds) and 1 < _volume(node) <= MOST_POINTS:
            self._points(node, known, cost, variables)
            return
        if self.found.plan is not None and Fraction(cost) >= self.found.plan.value:
            return
        why = Why(said, refused, best.price)
        curved = bound.spread > float(bound.worth.sum())  # what the forms enclose too widely is worth making anew
        again = known.older if not refused and not curved else None
        for child in children(node, known.reach, bound, variables, why, self.reacher.commuting, self.full):
            self._push(child, cost, again if child.prefix == node.prefix else None)

    def _points(self, node: PlanNode, known: Inherited, cost: float, variables: list[str]) -> None:
        """Divide a node with few points into those at whose ends the model may have the goal."""
        form, again = known.reach.cost, known.older
        assert isinstance(self.bounder, TreeBounds)
        for point in self.bounder.survivors(known.prepared, variables, node.box).tolist():
            indices = dict(zip(variables, point, strict=True))
            box = {name: (index, index) for name, index in zip(variables, point, strict=True)}
            self._push(node._replace(box=box), max(cost, below(form.at(indices)[0])), again)

    def _known(
        self, node: PlanNode, known: Inherited | None, variables: list[str]
    ) -> tuple[PlanNode, Inherited] | None:
        """The node, perhaps with a smaller box, and its reach; None if it has none."""
        if known is not None and (known.stale < OLD or known.reach.exact and not known.reach.loose):
            # Forms of a larger box enclose less tightly, unless they are exact and no discount is open.
            ends = node.box if self.task.question.rules else {}
            return (node, known) if self.reacher.obeys(known.reach.end, ends) else None
        for _ in range(MOST_ROUNDS):
            reach = self.reacher.reach(node)
            smaller = None if reach is None else contracted(node, reach.limits)
            if reach is None or smaller is None:
                return None
            same, node = smaller is node, smaller
            if same or reach.exact and not reach.loose and not reach.order:
                break  # the forms are the same on every smaller box
        assert reach is not None
        return node, Inherited(reach, self.bounder.prepare(reach.end, variables, node.box))


def _volume(node: PlanNode) -> int:
    """How many points a box has."""
    return math.prod(high - low + 1 for low, high in node.box.values())
