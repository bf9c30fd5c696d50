"""Bounds of hidden units over the points that have the goal and are near enough, by linear programs.

In:  a node with bounds of hidden units, inside the ball of the best known distance.
Out: narrower bounds, and for each of their ends the multipliers that prove it: `Tight`.
Promise: as for all floats of the search, nothing here is trusted; the checker computes every end anew.
How: each end of a unit that may be on or off is a linear program, with the goal and the limit of the distance among its
rows. What one end gains serves the next, so that a few rounds gain far more than one.
Source: optimality-based bound tightening, e.g. Gleixner et al. 2017.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.deadline import Deadline
from mace.base.exact import above
from mace.problem.proof import End, Leaf, Phase, Proof, Tighten
from mace.solve.networks.aims import Aims, aims
from mace.solve.networks.kernels import WIDER, dual_bound, plain
from mace.solve.networks.model import Array, Hull, Units
from mace.solve.networks.multipliers import Rough, Tight, packed, rounded
from mace.solve.networks.nodes import CELL, Frame, Node

AT_ONCE = 32  # units, between which the clock is looked at; fewer of a wide layer, where each takes a tenth of a second
PIVOTS = 200  # for both ends of a unit, about
BITS = (10, 20, 53)
KEPT = 0.95  # of what an end gains: so much has to be left when its multipliers are rounded
GAINS = 0.02  # of a unit's interval: an end that gains less is left as it was
NEAR = 1e-7  # an end so near to 0 may lie on the other side of it for a checker, so that it is left as it was
NOTHING = 1e-9  # of the largest of some shares: less is what rounding leaves of 0
CROSSED = 1e-6  # of 1 + its size: a lower end so far above the upper one is above it for a checker, too


def tighten(frame: Frame, node: Node, limit: float, until: Deadline) -> bool:
    """Narrow the bounds of a node's hidden units once, in place; False if that leaves no point."""
    net = frame.numbers.net
    at_once = max(1, min(AT_ONCE, int(1.0 / (CELL * PIVOTS * frame.cells(node)))))  # about a second
    for layer in range(len(node.units.L) - 1, -1, -1):
        for first in range(0, int(net.size[layer]), at_once):
            if until.over:
                return True
            units = range(first, min(first + at_once, int(net.size[layer])))
            found = _aims(frame, node, layer, units, limit)
            if not all(_unit(frame, node, layer, unit, found, limit) for unit in units):
                return False
    return True


def _aims(frame: Frame, node: Node, layer: int, units: range, limit: float) -> list[Aims]:
    """What linear programs say of the ends of some units' intervals, for each part of the goal."""
    arrays, nodes = (plain(frame.numbers.axes), plain(frame.numbers.net)), (plain(node.hull), plain(node.units))
    given = (layer, units.start, units.stop, limit, GAINS, frame.most)
    return [aims(*given, part.C, part.than, *arrays, *nodes) for part in frame.numbers.parts]


def _unit(frame: Frame, node: Node, layer: int, unit: int, found: list[Aims], limit: float) -> bool:
    """Narrow both ends of one unit; False if nothing is left of its interval."""
    L, U, _ = node.units
    for end in (0, 1):
        low, high = float(L[layer, unit]), float(U[layer, unit])
        if not frame.numbers.net.relu[layer] or low >= 0 or high <= 0:
            return True
        tight = _end(frame, node, (layer, unit, end), found, limit, GAINS * (high - low))
        if tight is not None and narrow(frame, node.hull, node.units, tight, limit):
            node.tight = [*(node.tight or []), tight]
            if crossed(node.units, tight):
                return False
    return True


def _end(
    frame: Frame, node: Node, place: tuple[int, int, int], found: list[Aims], limit: float, least: float
) -> Tight | None:
    """The multipliers of one end, in few bits; None if it does not gain as much as `least`."""
    layer, unit, end = place
    old = float(node.units[0][layer, unit] if end == 0 else -node.units[1][layer, unit])
    gained = min((float(one.bound[end, unit]) for one in found), default=old) - old
    if not gained >= least:
        return None
    here = [Aims(*(array[end, unit] for array in one)) for one in found]
    if not all(np.isfinite(array).all() for one in here for array in one):
        return None
    theta = float(max(one.theta for one in here))
    off = node.units.U <= NEAR
    for bits in BITS:
        parts = tuple(
            Rough(
                rounded(one.goal, bits), np.where(off, 0.0, rounded(one.slope, bits, down=False)),
                rounded(one.mu, bits), rounded(_heard(one.share), bits), float(rounded(np.array(one.changes), bits)),
            )
            for one in here
        )  # fmt: skip
        tight = Tight(layer, unit, end, theta, parts)
        if proved(frame, node.hull, node.units, tight, limit) - old >= KEPT * gained:
            return tight
    return None


def _heard(shares: Array) -> Array:
    """Shares without those that are as small as what rounding leaves of 0."""
    return np.where(shares < NOTHING * shares.max(initial=0.0), 0.0, shares)


def proved(frame: Frame, hull: Hull, units: Units, tight: Tight, limit: float) -> float:
    """A lower bound of a unit's input (end 0), or of minus it, over what is left of a node within the limit."""
    way, none, into = 1.0 - 2.0 * tight.end, np.full((2, *units.L.shape), -1.0), np.empty_like(units.L)
    peak, arrays = frame.numbers.axes.peak, (plain(frame.numbers.axes), plain(frame.numbers.net))
    found = [
        dual_bound(
            tight.theta, (tight.layer, tight.unit), way, one.goal, none, one.mu, one.share * peak,
            (one.changes, frame.most), part.C, part.than, *arrays, plain(hull), plain(units), one.slope, into,
        )
        for one, part in zip(tight.parts, frame.numbers.parts, strict=True)
    ]  # fmt: skip
    return min(found) - tight.theta * limit


def narrow(frame: Frame, hull: Hull, units: Units, tight: Tight, limit: float) -> bool:
    """Narrow one end of a unit, in place, by a little less than is proved; False if it stays as it was.

    A unit that is on or off by that gets the phase: its bounds hold of points with the goal alone, and only the phase
    tells linear programs, which know all points, to look at no others.
    """
    found = proved(frame, hull, units, tight, limit)
    found -= WIDER * (1.0 + abs(found) + tight.theta * limit)
    place, (L, U, _) = (tight.layer, tight.unit), units
    if not np.isfinite(found) or abs(found) <= NEAR or found <= (L[place] if tight.end == 0 else -U[place]):
        return False
    if tight.end == 0:
        L[place] = found
    else:
        U[place] = -found
    if found > 0:
        units.phase[place] = 1 - 2 * tight.end
    return True


def crossed(units: Units, tight: Tight) -> bool:
    """Whether nothing is left of a unit's interval, for a checker too."""
    low, high = units.L[tight.layer, tight.unit], units.U[tight.layer, tight.unit]
    return bool(low > high + CROSSED * (1.0 + abs(high)))


class Applied(NamedTuple):
    """What a proof says of a node that was tightened.

    nodes: `Tighten`, and for every unit that got a phase by it the split of which one side is empty.
    after: how many such sides are empty that come after everything else of the node.
    left:  whether there may be a point.
    """

    nodes: Proof
    after: int
    left: bool


def applied(frame: Frame, hull: Hull, units: Units, tights: list[Tight], q: Fraction) -> Applied:
    """Narrow a node's bounds, in place, as `tights` do at the distance q, and say it as a proof does."""
    limit, after = above(q), 0
    nodes: Proof = []
    ends: list[End] = []
    for tight in tights:
        before = Units(*map(np.copy, units))
        if not narrow(frame, hull, units, tight, limit):
            continue
        parts = tuple(packed(frame.numbers, one, before, tight.theta) for one in tight.parts)
        ends.append(End(tight.layer, tight.unit, tight.end, tight.theta, parts))
        if crossed(units, tight):
            return Applied([*nodes, Tighten(tuple(ends)), Leaf("empty")], after, left=False)
        if units.phase[tight.layer, tight.unit] != before.phase[tight.layer, tight.unit]:
            nodes += [Tighten(tuple(ends)), Phase(tight.layer, tight.unit)]
            ends = []
            if tight.end == 0:
                nodes.append(Leaf("empty"))
            else:
                after += 1
    return Applied([*nodes, Tighten(tuple(ends))] if ends or not nodes else nodes, after, left=True)
