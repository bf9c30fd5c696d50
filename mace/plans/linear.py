"""The linear program of a node: the least cost over the points that a line of the model leaves.

In:  a lower line of the cost, upper lines of the model's margins, and a box of variables.
Out: vertices, of which the cheapest bounds the cost of all plans in the box; and the box without what costs too much.
Promise: exact; no plan that reaches the goal and costs less than the bound has its variables in the box.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from mace.plans.bounds import Bound, Line, middle_of
from mace.plans.nodes import Node, Reach
from mace.worlds.forms import ZERO

ENOUGH = 0.7  # a box is bounded again when a side shrinks below this part


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


def linear_of(reach: Reach, node: Node, variables: list[str]) -> Linear:
    """The lower line of the cost over t in [-1, 1]."""
    slopes = []
    for name in variables:
        low, high = node.box[name]
        slopes.append(reach.cost.coef.get(name, ZERO) * Fraction(high - low, 2))
    return Linear(slopes, reach.cost.at({name: middle_of(node.box[name]) for name in variables})[0])


def vertices_of(linear: Linear, bound: Bound) -> list[Vertex]:
    """The least linear cost over what each part of the goal leaves; parts that leave nothing are absent."""
    found = []
    for part in bound.parts:
        made = [knapsack(linear, line) for line in part] or [knapsack(linear, None)]
        if all(vertex is not None for vertex in made):
            found.append(max((v for v in made if v is not None), key=lambda vertex: vertex.cost))
    return found


def tightened(node: Node, linear: Linear, bound: Bound, variables: list[str], most: Fraction | None) -> Node | None:
    """The node without what costs more than `most`, or what a line of the model excludes; itself if that is little."""
    box = dict(node.box)
    lines = []
    if most is not None:
        # slopes @ t + constant <= most
        lines.append(([-slope for slope in linear.slopes], most - linear.constant))
    if len(bound.parts) == 1:
        lines += [([Fraction(float(c)) for c in ln.coef], Fraction(ln.constant)) for ln in bound.parts[0]]
    for coef, constant in lines:
        spare = constant + sum((abs(c) for c in coef), ZERO)
        for name, c in zip(variables, coef, strict=True):
            if not c:
                continue
            (low, high), (first, last) = node.box[name], box[name]
            # From the end that is best for the line, t may move by spare / |c|.
            room = math.floor(spare / abs(c) * Fraction(high - low, 2))
            box[name] = (max(first, high - room), last) if c > 0 else (first, min(last, low + room))
            if box[name][0] > box[name][1]:
                return None
    if any(box[n][1] - box[n][0] < ENOUGH * (node.box[n][1] - node.box[n][0]) for n in variables):
        return node._replace(box=box)
    return node


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
