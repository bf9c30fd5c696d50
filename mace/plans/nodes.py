"""Nodes of the search for plans, what is known of one, and how a node is made smaller.

In:  nothing; `mace.plans.reach` fills these in.    Out: `Node`, `Reach`, and `contracted` nodes.
Promise: `contracted` leaves out no plan that meets the limits it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from mace.worlds.forms import ZERO, Form, Limit, Ranges

Forms = Mapping[str, Form]


class Node(NamedTuple):
    """Plans that begin with `prefix`, in this order, go on with all of `rest`, and whose parameters lie in `box`."""

    prefix: tuple[int, ...]
    rest: frozenset[int]
    box: Mapping[str, tuple[int, int]]

    def ranges(self) -> Ranges:
        """The box in exact numbers."""
        return {name: (Fraction(low), Fraction(high)) for name, (low, high) in self.box.items()}


class Cut(NamedTuple):
    """A place where a test turns: the variable, and the largest index of the lower side."""

    variable: str
    last: int


@dataclass
class Reach:
    """What a node can reach.

    cost:    a form whose lower line bounds the cost.    floor: a constant that does.
    settled: whether all conditions hold for certain.
    exact:   whether end and efforts have the same forms on every smaller box, whatever the order.
    order:   whether the order of the rest may matter; simple: whether it does not matter to the end.
    cuts:    where undecided efforts and effects turn; shares: where discounts do; turns: where conditions do.
    limits:  what has to hold for the conditions to hold.
    loose:   what the discounts that the box leaves open may add to the cost; lean: variable -> how much of that moves
             with it, where they have slopes.
    """

    end: dict[str, Form]
    cost: Form = field(default_factory=lambda: Form.constant(ZERO))
    floor: Fraction = ZERO
    settled: bool = True
    exact: bool = True
    order: bool = False
    simple: bool = True
    cuts: list[Cut] = field(default_factory=list)
    shares: list[Cut] = field(default_factory=list)
    turns: list[Cut] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    loose: Fraction = ZERO
    lean: dict[str, Fraction] = field(default_factory=dict)


def contracted(node: Node, limits: list[Limit]) -> Node | None:
    """The node without the parts of its box where some limit cannot hold; None if nothing is left."""
    box = dict(node.box)
    for form, strict in limits:
        ends = {
            n: (c * box[n][0], c * box[n][1]) if c > 0 else (c * box[n][1], c * box[n][0]) for n, c in form.coef.items()
        }
        least = form.low + sum((low for low, _ in ends.values()), ZERO)
        for name, factor in form.coef.items():
            # factor * v + the least of all others <= 0 (< 0 if strict), v a whole number.
            edge = (ends[name][0] - least) / factor
            below = edge.numerator // edge.denominator
            low, high = box[name]
            if factor > 0:
                high = min(high, below - (strict and edge == below))
            else:
                low = max(low, below if edge == below and not strict else below + 1)
            if low > high:
                return None
            box[name] = (low, high)
        if not form.coef and (form.low > 0 or strict and form.low == 0):
            return None
    return node._replace(box=box) if box != node.box else node


def cuts_of(form: Form, value: Fraction, ranges: Ranges) -> list[Cut]:
    """Where a form of one variable passes a value within a box."""
    if len(form.coef) != 1:
        return []
    ((name, factor),) = form.coef.items()
    if name not in ranges:
        return []
    found = []
    for end in {form.low, form.high}:
        place = (value - end) / factor
        index = place.numerator // place.denominator
        low, high = ranges[name]
        # A turn on the grid itself is cut on either side: tests may hold at it or beyond it.
        found += [Cut(name, at) for at in {index, index - (place == index)} if low <= at < high]
    return found
