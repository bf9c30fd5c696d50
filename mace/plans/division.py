"""How a node of the search is divided: by the next action, or by a variable, where something turns if anything does.

In:  a node, what it can reach, its bound, and what it is divided for.    Out: nodes that together hold all its plans.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from mace.plans.bounds import Bound, middle_of
from mace.plans.commuting import superfluous
from mace.plans.nodes import Cut, PlanNode, Reach
from mace.worlds.affine import ZERO

CENTRAL = 0.3  # how far from the middle of an interval a turn may lie to be a place to divide it

COARSE = 1 / 256  # of a variable's range: below, intervals of forms come from rounding rather than from curves


class Why(NamedTuple):
    """What a node is divided for: whether the model seems to agree where the bound is attained, whether the interpreter
    refuses it, and what a unit of the model's margin costs."""

    said: bool
    refused: bool
    price: float


def children(
    node: PlanNode, reach: Reach, bound: Bound, variables: list[str], why: Why, commutes: Sequence[Set[int]],
    full: Mapping[str, int],
) -> Iterator[PlanNode]:  # fmt: skip
    """Nodes that hold all plans of this one; of those that differ in the places of neighbours that commute, one.

    commutes: for each variant those that may change places with it.    full: how wide each variable is at most.
    """
    wide = [name for name in variables if node.box[name][0] < node.box[name][1]]
    worth = dict(zip(variables, (float(value) for value in bound.worth), strict=True))
    # What a discount leaves open counts where the model agrees, or where its lines are off by less.
    open_cost = why.said or why.price > 0 and float(reach.loose) > why.price * sum(worth.values())
    # The order comes first where the end depends on it, and last where it only makes a plan cheaper.
    first = not reach.simple or why.refused or open_cost
    if len(node.rest) > 1 and (not wide or reach.order and first):
        for number in sorted(node.rest):
            rest = node.rest - {number}
            if not superfluous(commutes, node.prefix, number, rest):
                yield PlanNode((*node.prefix, number), rest, node.box)
        return
    cut = _turn(node, reach, open_cost, why.refused)
    if cut is None:
        # Where what a discount leaves open counts most, what moves it is divided.
        lean = {name: reach.lean[name] for name in wide if reach.lean.get(name)} if open_cost else {}
        parts = {name: (node.box[name][1] - node.box[name][0]) / full[name] for name in wide}
        if not lean and bound.spread > sum(worth.values()) and max(parts.values()) > COARSE:
            # What loosens the bound most are the intervals of curved forms: these shrink with all their variables.
            worth = parts
        variable = max(lean or wide, key=lambda n: (lean.get(n, ZERO), worth[n], node.box[n][1] - node.box[n][0]))
        low, high = node.box[variable]
        cut = Cut(variable, math.floor(middle_of((low, high))))
    low, high = node.box[cut.variable]
    yield node._replace(box={**node.box, cut.variable: (low, cut.last)})
    yield node._replace(box={**node.box, cut.variable: (cut.last + 1, high)})


def _turn(node: PlanNode, reach: Reach, open_cost: bool, refused: bool) -> Cut | None:
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


def _off(cut: Cut, node: PlanNode) -> float:
    """How far a cut is from the middle of its interval, as a part of it."""
    low, high = node.box[cut.variable]
    return abs((cut.last - low + 0.5) / (high - low) - 0.5)
