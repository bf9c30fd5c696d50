"""Attempts: places in a node where a cheap plan may be, replayed, and asked of the model.

In:  a node, the vertex where its bound is attained, and what guesses at the model there.
Out: the cheapest plan that was accepted, in `SearchResult`.
Promise: a plan is kept only after the interpreter replayed it and the model accepted its end.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from mace.plans.bounds import Bound, Bounder
from mace.plans.linear import Linear, Vertex
from mace.plans.nodes import PlanNode
from mace.plans.task import Replayed, Task
from mace.worlds.affine import ZERO

FEW = 3  # of a rest whose orders are all tried
FIRST_TRIES = 12  # halvings towards a first plan
CLOSE = 1e-6  # to a whole number


@dataclass
class SearchResult:
    """What a search knows at its end.

    plan:  the best plan found: the cheapest, or that whose end is the nearest.
    lower: no plan has less (but for the plans `refused`); None: there is no plan at all.
    why:   which limit stopped the search; empty if none did.
    refused: ends that rounding leaves in doubt, and that the deployed model refused.
    nodes: how many were bounded.
    """

    plan: Replayed | None = None
    lower: Fraction | None = ZERO
    why: str = ""
    refused: int = 0
    nodes: int = 0


class Tried(NamedTuple):
    """Whether the model seems to agree at a place, and whether some plan there can be taken."""

    said: bool
    taken: bool


class Attempts:
    """Looks for plans of one task; `found` holds the best."""

    def __init__(self, task: Task, bounder: Bounder) -> None:
        self.task, self.bounder = task, bounder
        self.found = SearchResult()
        self.asked: dict[tuple[int, ...], bool] = {}
        self.tried: dict[tuple[object, ...], bool] = {}

    def _orders(self, node: PlanNode) -> Iterator[tuple[int, ...]]:
        rest = sorted(node.rest)
        if len(rest) <= FEW:
            yield from ((*node.prefix, *order) for order in itertools.permutations(rest))
            return
        for turn in range(len(rest)):
            yield (*node.prefix, *rest[turn:], *rest[:turn])

    def near(
        self, node: PlanNode, prepared: Any, vertex: Vertex, linear: Linear, bound: Bound, variables: list[str]
    ) -> bool:  # fmt: skip
        """Look for a plan at the place where the bound is attained, or as near to it as the model allows.

        Returns whether the model seems to agree there, and the interpreter refuses all plans.
        """
        best = self.found.plan
        said, taken = self._at(node, prepared, vertex.place, vertex.place, 0.0, variables)
        if said:
            return not taken
        goal = [1.0 if c >= 0 else -1.0 for c in bound.parts[0][0].coef] if bound.parts[0] else list(vertex.place)
        if best is not None:
            # On the model's boundary rounding may refuse what a step further is accepted, at hardly more.
            if linear.constant + sum(s * p for s, p in zip(linear.slopes, goal, strict=True)) < best.value:
                self._at(node, prepared, goal, goal, 0.0, variables)
            return False
        if self._at(node, prepared, goal, goal, 0.0, variables)[0]:
            near, far = 0.0, 1.0
            for _ in range(FIRST_TRIES):
                half = (near + far) / 2
                said, _ = self._at(node, prepared, vertex.place, goal, half, variables)
                near, far = (near, half) if said else (half, far)
        return False

    def _at(
        self, node: PlanNode, prepared: Any, one: Sequence[float], other: Sequence[float], share: float,
        variables: list[str],
    ) -> Tried:  # fmt: skip
        """Look for plans at a place between two, the nearest indices on either side."""
        said = taken = False
        for up in (False, True):
            indices, whole = {}, True
            for name, a, b in zip(variables, one, other, strict=True):
                low, high = node.box[name]
                exact = (low + high) / 2 + (a + share * (b - a)) * ((high - low) / 2)
                index = math.floor(exact + CLOSE)
                is_whole = exact - index < CLOSE
                whole &= is_whole
                indices[name] = min(high, max(low, index + (up and not is_whole)))
            if self.bounder.likely(prepared, variables, [indices[name] for name in variables]):
                said = True
                for order in self._orders(node):
                    taken |= self._look(order, indices)
            if whole:
                break
        return Tried(said, taken)

    def every_order(self, node: PlanNode) -> None:
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
                self.accept(plan)
        return self.tried[key]

    def accept(self, plan: Replayed) -> None:
        """Keep a plan if it is the best, and the model accepts its end.

        What no rounding changes is confirmed at the end of the search; what rounding leaves in doubt is asked now.
        """
        if self.found.plan is not None and plan.value >= self.found.plan.value:
            return
        if plan.end not in self.asked:
            met = self.task.question.settled(plan.end)
            if met is None:
                met = self.task.judge.confirms(self.task.question, plan.end)
                self.found.refused += not met
            self.asked[plan.end] = met
        if self.asked[plan.end]:
            self.found.plan = plan


def indices_at(node: PlanNode, place: Sequence[float], variables: list[str]) -> list[int]:
    """The indices next to a place in [-1, 1]."""
    found = []
    for name, at in zip(variables, place, strict=True):
        low, high = node.box[name]
        found.append(min(high, max(low, math.floor((low + high + 1) / 2 + at * ((high - low) / 2)))))
    return found
