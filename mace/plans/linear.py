"""The linear program of a node: the least cost over the points that a line of the model leaves.

In:  a lower line of the cost, upper lines of the model's margins, and a box of variables.
Out: vertices, of which the cheapest bounds the cost of all plans in the box; and the box without what costs too much.
Promise: no plan that reaches the goal and costs less than the bound has its variables in the box. The bound is that of
the dual for a price of the margin, which holds for every price >= 0: only its one sum is rounded, and that is covered
by `UNIT` times the magnitudes of all that is added.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mace.plans.bounds import Bound, Line
from mace.plans.nodes import PlanNode, Reach

ENOUGH = 0.7  # a box is bounded again when a side shrinks below this part
UNIT = 2.0**-52
TINY = 1e-300


class Linear(NamedTuple):
    """slopes @ t + constant, over t in [-1, 1]; what they bound lies at most `error` lower."""

    slopes: list[float]
    constant: float
    error: float


class Vertex(NamedTuple):
    """Where the linear bound of a node is attained: its value, and the place of each variable in [-1, 1].

    price: of a unit of the model's margin.
    """

    cost: float
    place: tuple[float, ...]
    price: float


def linear_of(reach: Reach, node: PlanNode, variables: list[str]) -> Linear:
    """The lower line of the cost over t in [-1, 1]."""
    tops, twice = reach.cost.tops, 2 * reach.cost.den
    slopes, constant = [], 2 * reach.cost.least
    for name in variables:
        low, high = node.box[name]
        top = tops.get(name, 0)
        slopes.append(top * (high - low) / twice)
        constant += top * (high + low)
    middle = constant / twice  # quotients of whole numbers are rounded once
    return Linear(slopes, middle, UNIT * (abs(middle) + sum(map(abs, slopes))) + TINY)


def vertices_of(linear: Linear, bound: Bound) -> list[Vertex]:
    """The least linear cost over what each part of the goal leaves; parts that leave nothing are absent."""
    found = []
    for part in bound.parts:
        made = [knapsack(linear, line) for line in part] or [knapsack(linear, None)]
        if all(vertex is not None for vertex in made):
            found.append(max((v for v in made if v is not None), key=lambda vertex: vertex.cost))
    return found


def tightened(
    node: PlanNode, linear: Linear, bound: Bound, variables: list[str], most: float | None
) -> PlanNode | None:
    """The node without what costs more than `most`, or what a line of the model excludes; itself if that is little."""
    box = dict(node.box)
    lines = []
    if most is not None:
        # slopes @ t + constant <= most
        lines.append(([-slope for slope in linear.slopes], most - linear.constant + linear.error))
    if len(bound.parts) == 1:
        lines += [(ln.coef.tolist(), ln.constant) for ln in bound.parts[0]]
    for coef, constant in lines:
        size = sum(map(abs, coef))
        spare = constant + size
        spare += UNIT * (len(coef) + 4) * (abs(constant) + (0.0 if most is None else abs(most)) + size) + TINY
        for name, c in zip(variables, coef, strict=True):
            if not c:
                continue
            (low, high), (first, last) = node.box[name], box[name]
            # From the end that is best for the line, t may move by spare / |c|.
            share = spare / abs(c) / 2 * (1 + 2.0**-40)
            room = math.floor(share * (high - low) * (1 + 2.0**-40)) if share < 1 else high - low
            box[name] = (max(first, high - room), last) if c > 0 else (first, min(last, low + room))
            if box[name][0] > box[name][1]:
                return None
    if any(box[n][1] - box[n][0] < ENOUGH * (node.box[n][1] - node.box[n][0]) for n in variables):
        return node._replace(box=box)
    return node


def knapsack(linear: Linear, line: Line | None) -> Vertex | None:
    """The least of slopes @ t + constant over t in [-1, 1] with line.coef @ t + line.constant >= 0; None if empty.

    A linear program with one constraint; from the cheapest corner the variables that reach the constraint at the least
    price are moved, the last of them in part. The last price is that of the dual.
    """
    slopes, constant, error = linear
    place = [-1.0 if slope >= 0 else 1.0 for slope in slopes]
    if line is None:
        return Vertex(constant - sum(map(abs, slopes)) - (len(slopes) + 2) * error, tuple(place), 0.0)
    coef = line.coef.tolist()
    short = -line.constant - sum(c * p for c, p in zip(coef, place, strict=True))
    moves = sorted(
        (abs(slope) / abs(c), at) for at, (slope, c, p) in enumerate(zip(slopes, coef, place, strict=True)) if c * p < 0
    )
    price = 0.0
    for each, at in moves:
        if short <= 0:
            break
        price = each
        gain = min(2 * abs(coef[at]), short)
        short -= gain
        place[at] += (gain / abs(coef[at])) * (1 if coef[at] > 0 else -1)
    size = abs(line.constant) + sum(map(abs, coef))
    if short > UNIT * (4 * len(coef) + 8) * size:
        return None
    # min of slopes @ t + constant - price * (coef @ t + line.constant), for any price >= 0
    cost = constant - price * line.constant - sum(abs(s - price * c) for s, c in zip(slopes, coef, strict=True))
    size = abs(constant) + price * size + sum(map(abs, slopes))
    return Vertex(cost - error - UNIT * (4 * len(coef) + 8) * size - TINY, tuple(place), price)
