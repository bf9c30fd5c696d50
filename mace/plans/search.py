"""Branch and bound over sets of actions, their orders, and boxes of their parameters.

In:  a task, how close the two bounds must come, and a deadline.
Out: `Found`: the cheapest plan that was found, and a bound below which there is none.
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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from mace.base.deadline import Deadline
from mace.base.exact import below
from mace.plans.bounds import Bound, Line, TreeBounds, bounder_of, middle_of
from mace.plans.reach import Cut, Node, Reach, Reacher, contracted
from mace.plans.task import Replayed, Task
from mace.solve.protocol import Gap
from mace.worlds.forms import ZERO, Form

FEW_ORDERS = 4  # actions without a choice of parameters whose orders are all tried
FEW = 3  # of a rest whose orders are all tried
OLD = 2  # divisions after which forms that are not exact are made anew
MOST_ROUNDS = 4  # of making one box smaller
MOST_POINTS = 4096  # of a box whose points are looked at one by one
ENOUGH = 0.7  # a box is bounded again when a side shrinks below this part
FIRST_TRIES = 12  # halvings towards a first plan
CENTRAL = 0.3  # how far from the middle of an interval a turn may lie to be a place to divide it
ONE = Fraction(1)


@dataclass
class Found:
    """What a search knows at its end.

    plan:  the cheapest plan found.      order: its variants.
    lower: no plan costs less (but for the plans `refused`); None: there is no plan at all.
    why:   which limit stopped the search; empty if none did.
    refused: ends that rounding leaves in doubt, and that the deployed model refused.
    nodes: how many were bounded.
    """

    plan: Replayed | None = None
    lower: Fraction | None = ZERO
    why: str = ""
    refused: int = 0
    nodes: int = 0
    sequences: int = 0


class Tried(NamedTuple):
    """Whether the model seems to agree at a place, and whether some plan there can be taken."""

    said: bool
    taken: bool


class Linear(NamedTuple):
    """slopes @ t + constant, over t in [-1, 1]."""

    slopes: list[Fraction]
    constant: Fraction


class Vertex(NamedTuple):
    """Where the linear bound of a node is attained: its value, and the place of each variable in [-1, 1].

    price: of a unit of the model's margin.
    """

    cost: Fraction
    place: tuple[Fraction, ...]
    price: Fraction


class Known(NamedTuple):
    """What a node leaves its parts: its forms enclose what they can reach, too.

    stale: how many divisions ago the forms were made.
    """

    reach: Reach
    prepared: Any
    stale: int = 0

    @property
    def older(self) -> Known:
        """As a part of the node has it."""
        return self._replace(stale=self.stale + 1)


class Why(NamedTuple):
    """What a node is divided for: whether the model seems to agree where the bound is attained, whether the interpreter
    refuses it, and what a unit of the model's margin costs."""

    said: bool
    refused: bool
    price: float


@dataclass(order=True)
class Entry:
    """A node in the queue; `fresh` if it stands for all larger sets too, `known` where its parent settled it."""

    bound: float
    number: int
    node: Node = field(compare=False)
    fresh: bool = field(compare=False, default=True)
    known: Known | None = field(compare=False, default=None)


class Search:
    """One search; `run` does it."""

    def __init__(self, task: Task, gap: Gap, deadline: Deadline) -> None:
        self.task, self.gap, self.deadline = task, gap, deadline
        self.reacher = Reacher(task)
        moving = sorted({name for v in task.variants for name in v.action.affects})
        self.bounder = bounder_of(task.question, moving)
        self.found = Found()
        self.queue: list[Entry] = []
        self.count = itertools.count()
        self.asked: dict[tuple[int, ...], bool] = {}
        self.tried: dict[tuple[object, ...], bool] = {}
        self.least = [self._least(v.number) for v in task.variants]

    def run(self) -> Found:
        """Search until the bounds are close enough, nothing is left, or the time is over."""
        self._push(Node((), frozenset(), {}), 0.0, fresh=True)
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
        self._accept(plan)

    def _done(self, bound: float) -> bool:
        upper = self.found.plan.cost if self.found.plan else None
        return upper is not None and (Fraction(bound) >= upper or self.gap.met(Fraction(bound), upper))

    def _conclude(self) -> None:
        upper = self.found.plan.cost if self.found.plan else None
        if self.found.plan is not None:
            self.task.judge.confirms(self.task.question, self.found.plan.end)
        if self.queue:
            bound = Fraction(self.queue[0].bound)
            self.found.lower = bound if upper is None else min(bound, upper)
        else:
            self.found.lower = upper

    # --- nodes ---

    def _push(self, node: Node, bound: float, known: Known | None = None, *, fresh: bool = False) -> None:
        if self.found.plan is not None and Fraction(bound) >= self.found.plan.cost:
            return
        heapq.heappush(self.queue, Entry(bound, next(self.count), node, fresh, known))

    def _least(self, number: int) -> float:
        """What an action costs at least, wherever it is taken."""
        variant = self.task.variants[number]
        ranges = {name: (Fraction(a), Fraction(b)) for name, (a, b) in self._box(number).items()}
        state = {name: Form.constant(*ends) for name, ends in self.reacher._range.items() if name in self.task.start}
        found = Reach(dict(state))
        if self.reacher._take(found, variant, state, ranges, state) is None:
            return float("inf")
        return below(found.floor)

    def _box(self, number: int) -> dict[str, tuple[int, int]]:
        return {name: (one.first, one.last) for name, one in self.task.variants[number].variables.items()}

    def _larger(self, entry: Entry) -> None:
        """The sets with one more action, each made once."""
        chosen = entry.node.rest
        if len(chosen) >= self.task.horizon:
            return
        floor = sum(self.least[v] for v in chosen)
        for number in self.task.later(chosen):
            least = self.least[number]
            if least < float("inf"):
                box = {**entry.node.box, **self._box(number)}
                # A sum of a few doubles, each rounded down: one part in 2^40 less covers its own rounding.
                self._push(Node((), chosen | {number}, box), max(0.0, (floor + least) * (1 - 2.0**-40)), fresh=True)

    def _expand(self, entry: Entry) -> None:
        """Bound a node; drop it, put it back with a better bound, or divide it."""
        node, known, said, cost = entry.node, entry.known, False, entry.bound
        if len(node.rest) <= FEW_ORDERS and _volume(node) == 1:
            self._every_order(node)
            return
        variables = sorted(node.box)
        for turn in range(MOST_ROUNDS):
            self.found.nodes += 1
            placed = self._known(node, known, variables)
            if placed is None:
                return
            node, known = placed
            bound = self.bounder.bound(known.prepared, variables, node.box)
            linear = self._linear(known.reach, node, variables)
            vertices = self._vertices(linear, bound)
            if not vertices:
                return
            best = min(vertices, key=lambda vertex: vertex.cost)
            cost = max(cost, below(max(best.cost, known.reach.floor)))
            if self._done(cost):
                self._push(node, cost, known)
                return
            smaller = self._tightened(node, linear, bound, variables)
            if smaller is None:
                return
            if smaller is not node:
                node = smaller
                continue
            said = self.bounder.likely(known.prepared, variables, _indices(node, best.place, variables))
            if turn == MOST_ROUNDS - 1 or not (said and known.stale and known.reach.loose):
                break
            known = None  # the model agrees: what a smaller box says of the discounts is worth knowing
        assert known is not None
        if len(node.rest) <= FEW_ORDERS and _volume(node) == 1:
            self._every_order(node)
            return
        refused = self._try(node, known, best, bound, variables)
        if isinstance(self.bounder, TreeBounds) and 1 < _volume(node) <= MOST_POINTS:
            self._points(node, known, cost, variables)
            return
        if self.found.plan is not None and Fraction(cost) >= self.found.plan.cost:
            return
        why = Why(said, refused, float(best.price))
        again = known.older if not refused else None
        for child in self._children(node, known.reach, bound, variables, why):
            self._push(child, cost, again if child.prefix == node.prefix else None)

    def _points(self, node: Node, known: Known, cost: float, variables: list[str]) -> None:
        """Divide a node with few points into those at whose ends the model may have the goal."""
        form, again = known.reach.cost, known.older
        assert isinstance(self.bounder, TreeBounds)
        for point in self.bounder.survivors(known.prepared, variables, node.box).tolist():
            indices = {name: Fraction(index) for name, index in zip(variables, point, strict=True)}
            box = {name: (index, index) for name, index in zip(variables, point, strict=True)}
            self._push(node._replace(box=box), max(cost, below(form.at(indices)[0])), again)

    def _known(self, node: Node, known: Known | None, variables: list[str]) -> tuple[Node, Known] | None:
        """The node, perhaps with a smaller box, and its reach; None if it has none."""
        if known is not None and (known.reach.exact or known.stale < OLD):
            # Forms of a larger box enclose less tightly, unless they are exact; what was open stays so.
            ends = node.ranges() if self.task.question.rules else {}
            return (node, known) if self.reacher.obeys(known.reach.end, ends) else None
        for _ in range(MOST_ROUNDS):
            reach = self.reacher.reach(node)
            smaller = None if reach is None else contracted(node, reach.limits)
            if reach is None or smaller is None:
                return None
            same, node = smaller is node, smaller
            if same:
                break
        assert reach is not None
        return node, Known(reach, self.bounder.prepare(reach.end, variables, node.ranges()))

    # --- bounds ---

    def _linear(self, reach: Reach, node: Node, variables: list[str]) -> Linear:
        """The lower line of the cost over t in [-1, 1]."""
        slopes = []
        for name in variables:
            low, high = node.box[name]
            slopes.append(reach.cost.coef.get(name, ZERO) * Fraction(high - low, 2))
        return Linear(slopes, reach.cost.at({name: middle_of(node.box[name]) for name in variables})[0])

    def _vertices(self, linear: Linear, bound: Bound) -> list[Vertex]:
        """The least linear cost over what each part of the goal leaves; parts that leave nothing are absent."""
        found = []
        for part in bound.parts:
            made = [knapsack(linear, line) for line in part] or [knapsack(linear, None)]
            if all(vertex is not None for vertex in made):
                found.append(max((v for v in made if v is not None), key=lambda vertex: vertex.cost))
        return found

    def _tightened(self, node: Node, linear: Linear, bound: Bound, variables: list[str]) -> Node | None:
        """The node without what costs too much, or what a line of the model excludes; itself if that is little."""
        box = dict(node.box)
        lines = []
        if self.found.plan is not None:
            # slopes @ t + constant <= the cost of the plan found
            lines.append(([-slope for slope in linear.slopes], self.found.plan.cost - linear.constant))
        if len(bound.parts) == 1:
            lines += [([Fraction(float(c)) for c in ln.coef], Fraction(ln.constant)) for ln in bound.parts[0]]
        for coef, constant in lines:
            spare = constant + sum((abs(c) for c in coef), ZERO)
            for name, c in zip(variables, coef, strict=True):
                if not c:
                    continue
                (low, high), (least, most) = node.box[name], box[name]
                # From the end that is best for the line, t may move by spare / |c|.
                room = math.floor(spare / abs(c) * Fraction(high - low, 2))
                box[name] = (max(least, high - room), most) if c > 0 else (least, min(most, low + room))
                if box[name][0] > box[name][1]:
                    return None
        if any(box[n][1] - box[n][0] < ENOUGH * (node.box[n][1] - node.box[n][0]) for n in variables):
            return node._replace(box=box)
        return node

    # --- plans ---

    def _orders(self, node: Node) -> Iterator[tuple[int, ...]]:
        rest = sorted(node.rest)
        if len(rest) <= FEW:
            yield from ((*node.prefix, *order) for order in itertools.permutations(rest))
            return
        for turn in range(len(rest)):
            yield (*node.prefix, *rest[turn:], *rest[:turn])

    def _try(self, node: Node, known: Known, vertex: Vertex, bound: Bound, variables: list[str]) -> bool:
        """Look for a plan at the place where the bound is attained, or as near to it as the model allows.

        Returns whether the model seems to agree there, and the interpreter refuses all plans.
        """
        tries = 1 if self.found.plan is not None else FIRST_TRIES
        said, taken = self._at(node, known, vertex.place, vertex.place, ZERO, variables)
        if said or tries == 1:
            return said and not taken
        goal = [ONE if c >= 0 else -ONE for c in bound.parts[0][0].coef] if bound.parts[0] else list(vertex.place)
        if self._at(node, known, goal, goal, ZERO, variables)[0]:
            near, far = ZERO, ONE
            for _ in range(tries):
                half = (near + far) / 2
                said, _ = self._at(node, known, vertex.place, goal, half, variables)
                near, far = (near, half) if said else (half, far)
        return False

    def _at(
        self, node: Node, known: Known, one: Sequence[Fraction], other: Sequence[Fraction], share: Fraction,
        variables: list[str],
    ) -> Tried:  # fmt: skip
        """Look for plans at a place between two, the nearest indices on either side."""
        said = taken = False
        for up in (False, True):
            indices, whole = {}, True
            for name, a, b in zip(variables, one, other, strict=True):
                low, high = node.box[name]
                exact = Fraction(low + high, 2) + (a + share * (b - a)) * Fraction(high - low, 2)
                index = exact.numerator // exact.denominator
                whole &= index == exact
                indices[name] = min(high, max(low, index + (up and index != exact)))
            if self.bounder.likely(known.prepared, variables, [indices[name] for name in variables]):
                said = True
                for order in self._orders(node):
                    taken |= self._look(order, indices)
            if whole:
                break
        return Tried(said, taken)

    def _every_order(self, node: Node) -> None:
        """The plans of a node without any choice of parameters: all orders of its rest, as far as they are cheap."""
        indices = {name: low for name, (low, _) in node.box.items()}
        todo: list[tuple[tuple[int, ...], frozenset[int]]] = [(node.prefix, node.rest)]
        while todo:
            order, rest = todo.pop()
            if rest:
                todo += [((*order, number), rest - {number}) for number in rest]
            else:
                self._look(order, indices)

    def _look(self, order: tuple[int, ...], indices: Mapping[str, int]) -> bool:
        """Replay a plan, and keep it if it is the best; whether the interpreter takes it."""
        key = (order, *sorted(indices.items()))
        if key not in self.tried:
            plan = self.task.replay(order, indices)
            self.tried[key] = plan is not None
            if plan is not None:
                self._accept(plan)
        return self.tried[key]

    def _accept(self, plan: Replayed) -> None:
        """Keep a plan if it is the cheapest, and the model accepts its end.

        What no rounding changes is confirmed at the end of the search; what rounding leaves in doubt is asked now.
        """
        if self.found.plan is not None and plan.cost >= self.found.plan.cost:
            return
        if plan.end not in self.asked:
            met = self.task.question.has_goal(plan.end)
            if met is None:
                met = self.task.judge.confirms(self.task.question, plan.end)
                self.found.refused += not met
            self.asked[plan.end] = met
        if self.asked[plan.end]:
            self.found.plan = plan

    # --- division ---

    def _children(
        self, node: Node, reach: Reach, bound: Bound, variables: list[str], why: Why
    ) -> Iterator[Node]:  # fmt: skip
        """Two or more nodes that hold all plans of this one."""
        wide = [name for name in variables if node.box[name][0] < node.box[name][1]]
        worth = dict(zip(variables, (float(value) for value in bound.worth), strict=True))
        # What a discount leaves open counts where the model agrees, or where its lines are off by less.
        open_cost = why.said or why.price > 0 and float(reach.loose) > why.price * sum(worth.values())
        # The order comes first where the end depends on it, and last where it only makes a plan cheaper.
        first = not reach.simple or why.refused or open_cost
        if len(node.rest) > 1 and (not wide or reach.order and first):
            for number in sorted(node.rest):
                yield Node((*node.prefix, number), node.rest - {number}, node.box)
            return
        cut = self._turn(node, reach, open_cost, why.refused)
        if cut is None:
            variable = max(wide, key=lambda name: (worth[name], node.box[name][1] - node.box[name][0]))
            low, high = node.box[variable]
            cut = Cut(variable, math.floor(middle_of((low, high))))
        low, high = node.box[cut.variable]
        yield node._replace(box={**node.box, cut.variable: (low, cut.last)})
        yield node._replace(box={**node.box, cut.variable: (cut.last + 1, high)})

    def _turn(self, node: Node, reach: Reach, open_cost: bool, refused: bool) -> Cut | None:
        """Where a condition, an effort or a discount turns; None where the model's bound is looser than these."""
        for cuts, wanted in ((reach.turns, refused), (reach.cuts, True), (reach.shares, open_cost)):
            inside = sorted({cut for cut in cuts if node.box[cut.variable][0] <= cut.last < node.box[cut.variable][1]})
            if inside and wanted:
                cut = min(inside, key=lambda cut: _off(cut, node))
                low, high = node.box[cut.variable]
                # Of turns at an end, as those of a curve in short lines, there may be many: halves come sooner to them.
                return (
                    cut
                    if cuts is not reach.shares or _off(cut, node) < CENTRAL
                    else Cut(cut.variable, math.floor(middle_of((low, high))))
                )
        return None


def _volume(node: Node) -> int:
    """How many points a box has."""
    return math.prod(high - low + 1 for low, high in node.box.values())


def _indices(node: Node, place: Sequence[Fraction], variables: list[str]) -> list[int]:
    """The indices next to a place in [-1, 1]."""
    found = []
    for name, at in zip(variables, place, strict=True):
        low, high = node.box[name]
        found.append(min(high, max(low, math.floor(Fraction(low + high + 1, 2) + at * Fraction(high - low, 2)))))
    return found


def _off(cut: Cut, node: Node) -> float:
    """How far a cut is from the middle of its interval, as a part of it."""
    low, high = node.box[cut.variable]
    return abs((cut.last - low + 0.5) / (high - low) - 0.5)


def knapsack(linear: Linear, line: Line | None) -> Vertex | None:
    """The least of slopes @ t + constant over t in [-1, 1] with line.coef @ t + line.constant >= 0; None if empty.

    Exact: a linear program with one constraint; from the cheapest corner the variables that reach the constraint at the
    least price are moved, the last of them in part.
    """
    slopes, constant = linear
    place = [Fraction(-1) if slope >= 0 else Fraction(1) for slope in slopes]
    cost = constant - sum((abs(slope) for slope in slopes), ZERO)
    if line is None:
        return Vertex(cost, tuple(place), ZERO)
    coef = [Fraction(float(value)) for value in line.coef]
    short = -Fraction(line.constant) - sum((c * p for c, p in zip(coef, place, strict=True)), ZERO)
    moves = sorted(
        (abs(slope) / abs(c), at) for at, (slope, c, p) in enumerate(zip(slopes, coef, place, strict=True)) if c * p < 0
    )
    last = ZERO
    for price, at in moves:
        if short <= 0:
            break
        last = price
        gain = min(2 * abs(coef[at]), short)
        short -= gain
        cost += price * gain
        place[at] += (gain / abs(coef[at])) * (1 if coef[at] > 0 else -1)
    return None if short > 0 else Vertex(cost, tuple(place), last)


__all__ = ["Found", "Search", "knapsack"]
