"""Elaborate a proof about a network: where an axis ends that is near enough, and the θ of each bound of a hidden unit.

Promise: none is needed, see `convert.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from mace.proofs.elaborate_trees import first, last
from mace.proofs.kernel.axes import Axis, Span, empty, levels
from mace.proofs.kernel.floats import Refused, floor
from mace.proofs.kernel.networks import Linear
from mace.proofs.kernel.proof import RULES, Check
from mace.proofs.kernel.relaxation import BOUND, FINE, Part
from mace.proofs.kernel.state import State
from mace.proofs.kernel.statement import Statement

ALL, NONE = -1, 1 << 30  # layers behind which intervals may be narrower


def of_network(statement: Statement, proof: Any, look: Callable[[], None]) -> list[Any]:
    """The proof of a certificate about a network."""
    check = Check(statement, [])
    nodes: list[Any] = []
    # A state, and the last layer behind which intervals may be narrower than they are: ALL where its box is.
    todo = [(deeper(check, nearer(check, check.root, nodes), nodes), NONE)]
    for number, node in enumerate(proof):
        look()
        try:
            state, since = todo.pop()
            name, *rest = node
            if not state.empty and name in ("bounds", "dual", "tighten"):
                before, state = state, nearer(check, state, nodes)
                since = since if state is before else ALL
            if state.empty:
                children = [(state, NONE)] * RULES[name].children
            elif name == "bounds":
                children = [(deeper(check, state, nodes, since), NONE)]
            elif name == "tighten":
                children = [(check.model.tighten(state, *rest), ALL)]
            elif name == "split":
                children = [(child, ALL) for child in check.split(state, *rest)]
            elif name == "part":
                children = [(child, since) for child in check.part(state, *rest)]
            elif name == "phase":
                children = [(child, min(since, rest[0])) for child in check.model.phase(state, *rest)]
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


def deeper(check: Check, state: State, nodes: list[Any], since: int = -1) -> State:
    """A state with new bounds of hidden units behind layer `since` that are not decided, where they are narrower."""
    if state.empty:
        return state
    units, child = [], state.child()
    child.units = [[*intervals] for intervals in state.units]
    for k, intervals in enumerate(child.units):
        for n, (low, high) in enumerate(intervals if k > since else ()):
            if low >= 0 or high <= 0:
                continue
            (below, least), (above, most) = (priced(check, child, k, n, sign) for sign in (1, -1))
            if least > low or -most < high:
                units.append([k, n, below if least > low else None, above if -most < high else None])
                intervals[n] = (max(low, least), min(high, -most))
                child.empty = child.empty or intervals[n][0] > intervals[n][1]
    if not units:
        return state
    nodes.append(["bounds", *units])
    return child


def priced(check: Check, state: State, k: int, n: int, sign: int) -> tuple[str, int]:
    """The best price of distance for one end of a unit's interval, and that end: below, or minus the one above."""
    model = check.model
    f = model.unit_input(state, k, n, sign, {})
    parts = model.parts(state, f)
    price = 0.0 if check.statement.claim is None else best_price(check.statement, f, parts)
    return price.hex(), floor(model.least(parts, f, floor(Fraction(price), FINE), None), BOUND - f.shift)


def best_price(statement: Statement, f: Linear, parts: list[list[Part]]) -> float:
    """The θ for which the least of f + θ (distance - q) is greatest, but for rounding.

    As θ grows each axis goes from its least value to nearer ones, along the lower hull of its points (value, distance);
    the bound is concave in θ, and greatest where the points chosen first fit the budget q.
    """
    one = 1 << f.shift
    used = -statement.limit / statement.common if statement.limit else 0.0
    turns: list[tuple[float, float]] = []  # a θ at which an axis takes a nearer point, and how much nearer it is
    for axis in parts:
        points = [(value / one, summed / below) for value, summed, _, below in axis]
        value, part = min(points)
        used += part
        while nearer_ones := [((v - value) / (part - p), p, v) for v, p in points if p < part]:
            turn, p, value = min(nearer_ones)
            turns.append((turn, part - p))
            part = p
    price = 0.0
    for turn, saved in sorted(turns):
        if used <= 0:
            break
        price, used = turn, used - saved
    return price
