"""Nodes of the search for plans, what is known of one, and how a node is made smaller.

In:  nothing; `mace.plans.reach` fills these in.    Out: `PlanNode`, `Reach`, and `contracted` nodes.
Promise: `contracted` leaves out no plan that meets the limits it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from mace.worlds.affine import ZERO, Form, Ranges
from mace.worlds.forms import Limit

Forms = Mapping[str, Form]


class PlanNode(NamedTuple):
    """Plans that begin with `prefix`, in this order, go on with all of `rest`, and whose parameters lie in `box`."""

    prefix: tuple[int, ...]
    rest: frozenset[int]
    box: Mapping[str, tuple[int, int]]


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

    def add(self, part: Reach) -> None:
        """Add what is known of further actions: all but the end, and what depends on their order."""
        self.cost, self.floor, self.loose = self.cost + part.cost, self.floor + part.floor, self.loose + part.loose
        for variable, moved in part.lean.items():
            self.lean[variable] = self.lean.get(variable, ZERO) + moved
        self.settled &= part.settled
        self.exact &= part.exact
        self.cuts += part.cuts
        self.shares += part.shares
        self.turns += part.turns
        self.limits += part.limits


def contracted(node: PlanNode, limits: list[Limit]) -> PlanNode | None:
    """The node without the parts of its box where some limit cannot hold; None if nothing is left."""
    box = dict(node.box)
    for form, strict in limits:
        # Signs alone count: whole numbers, `den` times the form. `< 0` is `<= -1` then.
        first = {name: top * box[name][top < 0] for name, top in form.tops.items()}
        least = form.least + sum(first.values()) + strict
        for name, top in form.tops.items():
            # top * v + the least of all others <= 0, v a whole number.
            room = first[name] - least
            low, high = box[name]
            if top > 0:
                high = min(high, room // top)
            else:
                low = max(low, -(room // -top))
            if low > high:
                return None
            box[name] = (low, high)
        if not form.tops and least > 0:
            return None
    return node._replace(box=box) if box != node.box else node


def cuts_of(form: Form, value: Fraction, ranges: Ranges) -> list[Cut]:
    """Where a form of one variable passes a value within a box."""
    if len(form.tops) != 1:
        return []
    ((name, top),) = form.tops.items()
    if name not in ranges:
        return []
    low, high = ranges[name]
    found = []
    for end in {form.least, form.most}:
        place, den = value.numerator * form.den - end * value.denominator, top * value.denominator
        index, rest = divmod(place, den)
        # A turn on the grid itself is cut on either side: tests may hold at it or beyond it.
        found += [Cut(name, at) for at in {index, index - (not rest)} if low <= at < high]
    return found
