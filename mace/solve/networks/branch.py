"""Branching of the network prover: on the phase of a ReLU, a level, an integer, an l0 jump, or what a rule reads.

In:  a node with its relaxed point.    Out: splits, best first: by how much of the distance the relaxation loses there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mace.base.bits import members
from mace.base.exact import exact
from mace.problem.exclusions import AvoidBox, AvoidChanges, AvoidNear, AvoidPoint
from mace.problem.proof import Phase, Split
from mace.solve.conditions import Closed, border, close_or_cut
from mace.solve.networks.kernels import INFINITY
from mace.solve.networks.model import FLOATS
from mace.solve.networks.nodes import ON, Frame, Node
from mace.space.axes import Axis, Box, GridAxis, Side, ends, holds, is_single, nearest_on

FREE = 1e-7  # of what a relaxation loses at a unit: no more than what counts where no multiplier does
POINTS = 64  # for each unit that may be on or off: of so few a feature is halved rather than a unit's phase fixed
LEAST_UNITS = 4  # that may be on or off: with fewer, phases are always split on
TRIED = 16  # splits that are tried before one is chosen
COARSE = Fraction(1, 10**11)  # of a range; brackets close to within 1e-9
FINE = Fraction(1, 10**6)  # of a range: so near to each other floats are next to no loss of a relaxation
FLOAT_SPLITS = 500  # a search: which of very many pairs of floats is nearest may take for ever, for the last 1e-8


class Candidate(NamedTuple):
    """A split, and about what the relaxation loses there, in the unit of the distance."""

    loss: float
    split: Split | Phase


class Branching:
    """Chooses splits for the nodes of one search.

    float_splits: how many pairs of neighbouring floats were split between.
    """

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.float_splits = 0
        # Rules that linear programs know: points near relaxed ones break them by rounding alone.
        self.lined = {line.rule for line in frame.numbers.lines}

    def candidates(self, node: Node, missing: float = 0.0) -> list[Split | Phase]:
        """Where to split, the likeliest first; empty if the node is one point or nothing can be gained.

        missing: how much its bound lacks.
        """
        assert node.point is not None and node.scores is not None and node.loss is not None
        if (split := self.ruled(node, lined=False) or self.edge(node)) is not None:
            return [split]
        if (halved := self._few(node)) is not None:
            return [halved]
        found, floats = self._phases(node), self._between_floats(node, missing)
        # Where the goal costs nothing yet, it changes nothing that values lie between steps.
        between = not found or found[0].loss >= FREE
        if self.frame.all_multiples:
            found += self._on_multiples(node, between=between)
        for j, side in enumerate(() if self.frame.all_multiples else node.box):
            if isinstance(side, tuple):
                found += self._on_grid(node, j, side, floats, between=between)
            elif not is_single(side):
                found += self._on_levels(node, j, side)
        if found:
            found.sort(key=lambda one: -one.loss)
            return [one.split for one in found]
        last = self.narrow(node, floats)
        return [last] if last is not None else []

    def _few(self, node: Node) -> Split | None:
        """Half of the feature with most values, where a node has few points for the units that may be on or off.

        Each phase leaves all points and decides one unit; a box of one point decides them all.
        """
        units = self.frame.unsettled(node)
        if units < LEAST_UNITS or not self.frame.stepped:
            return None
        counts, points = self.frame.values_left(node), 1
        for count in counts:
            points *= count
            if points > POINTS * units:
                return None
        return middle(node.box, counts.index(max(counts))) if points > 1 else None

    def _phases(self, node: Node) -> list[Candidate]:
        """The `TRIED` ReLUs at which the relaxation loses most."""
        assert node.scores is not None
        flat = node.scores.ravel()
        return [
            Candidate(float(flat[place]), Phase(*divmod(int(place), node.scores.shape[1])))
            for place in np.argsort(-flat, kind="stable")[:TRIED]
            if flat[place] > 0.0
        ]

    def _between_floats(self, node: Node, missing: float) -> bool:
        """Whether splits between neighbouring floats may still close a box.

        Next to every real point lies one of floats, less than one step on in each feature. So where floats lie as close
        as those of single precision do, such splits add to a bound no more than one step in every feature costs.
        """
        if self.float_splits >= FLOAT_SPLITS:
            return False
        n, axes, most = self.frame.numbers.axes, self.frame.question.axes, 0.0
        for j in np.flatnonzero(n.kind == FLOATS).tolist():
            if not is_single(node.box[j]) and coarse(axes[j]):
                if spacing(axes[j]) > FINE:
                    return True
                most += float(spacing(axes[j])) * float(n.rate[j] + n.peak[j])
        return most >= missing

    def _on_grid(
        self, node: Node, j: int, side: tuple[int, int], between_floats: bool, *, between: bool
    ) -> Iterator[Candidate]:
        """Splits of an ordered axis: the start from the rest, where any change costs; beside the relaxed value.

        between: whether values between steps count.
        """
        axis, n = self.frame.question.axes[j], self.frame.numbers.axes
        assert isinstance(axis, GridAxis) and node.point is not None and node.loss is not None
        if side[0] == side[1]:
            return
        first = int(n.first[j])
        change = float(node.point[first])
        if node.loss[first] > 1e-13 and side[0] <= axis.start <= side[1]:
            at = axis.start if change > 0 and axis.start < side[1] or axis.start == side[0] else axis.start - 1
            yield Candidate(float(node.loss[first]), Split(j, at))
        floats = n.kind[j] == FLOATS
        if change == 0.0 or not between or floats and not (between_floats and coarse(axis)):
            return
        value = axis.start_value + exact(change) * axis.scale
        low = min(max(axis.grid.floor(value), side[0]), side[1] - 1)
        gap = float((axis.grid.value(low + 1) - axis.grid.value(low)) / axis.scale)
        part = float((value - axis.grid.value(low)) / axis.scale)
        unclear = max(1e-9 * gap, 4e-16)
        if unclear < part < gap - unclear:
            lost = min(part, gap - part) * float(n.rate[j] + n.peak[j])
            yield Candidate(lost + min(part / gap, 1 - part / gap) * 1e-6, Split(j, low))
            self.float_splits += int(floats)

    def _on_multiples(self, node: Node, *, between: bool) -> Iterator[Candidate]:
        """As `_on_grid`, of all axes at once, where each is a grid of multiples of one step: the `TRIED` likeliest."""
        n, sides = self.frame.numbers.axes, np.array(node.box)
        assert node.point is not None and node.loss is not None
        low, high, start = sides[:, 0], sides[:, 1], self.frame.indices[2]
        change, loss = node.point[n.first], node.loss[n.first]
        jumps = (loss > 1e-13) & (low < high) & (low <= start) & (start <= high)
        after = np.where((change > 0) & (start < high) | (start == low), start, start - 1)
        places = n.offset + change * n.steps
        below = np.minimum(np.maximum(np.floor(places), low), high - 1)
        part = places - below
        inside = between & (change != 0.0) & (low < high) & (part > ON) & (part < 1 - ON)
        near = np.minimum(part, 1 - part)
        lost = near * (n.rate + n.peak) / np.abs(n.steps) + near * 1e-6
        for worth, at in ((np.where(jumps, loss, -1.0), after), (np.where(inside, lost, -1.0), below)):
            for j in np.argsort(-worth, kind="stable")[:TRIED].tolist():
                if worth[j] >= 0.0:
                    yield Candidate(float(worth[j]), Split(j, int(at[j])))

    def _on_levels(self, node: Node, j: int, mask: int) -> Iterator[Candidate]:
        """The level whose share is the most fractional, apart from all others."""
        n = self.frame.numbers.axes
        assert node.point is not None
        first = int(n.first[j])
        shares, changes = node.point[first : first + n.count[j]], n.change[first : first + n.count[j]]
        worth = max(float(n.jump[j] + (n.rate[j] + n.peak[j]) * changes.max()), 1e-6)
        level = int(np.argmax(np.minimum(shares, 1 - shares)))
        if 1e-9 < shares[level] < 1 - 1e-9 and mask >> level & 1:
            yield Candidate(float(min(shares[level], 1 - shares[level])) * worth, Split(j, 1 << level))

    def ruled(self, node: Node, *, lined: bool) -> Split | None:
        """A split where a rule that the relaxed point breaks changes its mind; None where it breaks none.

        A rule says more of a box than what the relaxation loses at a unit, a level or an integer. lined: of those that
        the relaxation knows.
        """
        assert node.point is not None
        question = self.frame.question
        rules = tuple(rule for k, rule in enumerate(question.rules) if (k in self.lined) == lined)
        if not rules:
            return None
        point = self.frame.rounded(node.point, outward=False)
        excluded = any(question.excluded(avoid, point) for avoid in question.avoid)
        if excluded or all(rule.holds(question.axes, point) for rule in rules):
            return None
        found = close_or_cut(replace(question, rules=rules), node.box, point, edges=True)
        return None if isinstance(found, Closed) else Split(*found)

    def edge(self, node: Node) -> Split | None:
        """Where no phase is chosen yet: a split between the start and values that a rule takes only beside a change of
        another feature; None where there are none left.

        That change makes them dear, often farther than the ball reaches: then units are bounded without them.
        """
        question, kinds = self.frame.question, self.frame.numbers.axes.kind
        if not question.rules or node.units.phase.any() or not self.frame.numbers.net.relu.any():
            return None
        near = tuple(map(nearest_on, question.axes, node.box))
        for k, rule in enumerate(question.rules):
            reads = sorted(set(rule.reads.values()))
            if k in self.lined or any(kinds[j] == FLOATS for j in reads) or not rule.holds(question.axes, near):
                continue
            alone = replace(question, rules=(rule,), avoid=())
            for j in reads:
                for index in self._farthest(node, j) if near[j] == question.start[j] else ():
                    point = (*near[:j], index, *near[j + 1 :])
                    if not rule.holds(question.axes, point):
                        found = close_or_cut(alone, node.box, point, edges=True)
                        if not isinstance(found, Closed):
                            return Split(*found)
        return None

    def _farthest(self, node: Node, j: int) -> list[int]:
        """The values of an axis of steps at the ends of a node's ball, or all its levels there."""
        n, axis, side = self.frame.numbers.axes, self.frame.question.axes[j], node.box[j]
        if isinstance(axis, GridAxis):
            assert isinstance(side, tuple)
            places = (n.offset[j] + end * n.steps[j] for end in (node.hull.lo[j], node.hull.hi[j]))
            return [min(max(round(place), side[0]), side[1]) for place in places]
        assert isinstance(side, int)
        return [level for level in members(side) if node.hull.on[n.first[j] + level]]

    def narrow(self, node: Node, between_floats: bool) -> Split | Phase | None:
        """A split for a node whose relaxation is exact but whose point is not allowed, or is not certain."""
        assert node.point is not None
        point = self.frame.rounded(node.point, outward=False)
        question = self.frame.question
        wide = [j for j, side in enumerate(node.box) if not is_single(side)]
        moved = [j for j in wide if point[j] != question.axes[j].start and holds(node.box[j], question.axes[j].start)]
        if question.most_changes is not None and len(question.changed(point)) > question.most_changes and moved:
            return isolate(node.box[moved[0]], moved[0], question.axes[moved[0]].start)
        for avoid in question.avoid:
            if question.excluded(avoid, point):
                match avoid:
                    case AvoidPoint(point=other):
                        for j in wide:
                            if holds(node.box[j], other[j]):
                                return isolate(node.box[j], j, other[j])
                    case AvoidChanges(features=features):
                        for j in features:
                            if j in wide and holds(node.box[j], question.axes[j].start):
                                return isolate(node.box[j], j, question.axes[j].start)
                    case AvoidBox(box=box):
                        return Split(*border(box, node.box))
                    case AvoidNear():
                        return middle(node.box, max(wide, key=lambda j: self.width(node.box, j)))
        split = self.ruled(node, lined=True)
        if split is not None and self.frame.numbers.axes.kind[split.axis] != FLOATS:
            return split
        low, high, _ = node.units
        undecided = (low < 0) & (high > 0) & self.frame.numbers.net.relu[:, None] & (np.abs(high) < INFINITY)
        if undecided.any():
            return Phase(*divmod(int(np.argmax(np.where(undecided, np.minimum(-low, high), -1.0))), low.shape[1]))
        # Splitting fine floats gains nothing: the point's score lies within the rounding margin.
        steps = [j for j in wide if self.frame.numbers.axes.kind[j] != FLOATS]
        if not steps and between_floats:
            steps = [j for j in wide if coarse(question.axes[j])]
            self.float_splits += bool(steps)
        return middle(node.box, steps[0]) if steps else None

    def width(self, box: Box, j: int) -> Fraction:
        """How much an axis of a box can still vary, in delta."""
        side = box[j]
        if isinstance(side, tuple):
            axis = self.frame.question.axes[j]
            assert isinstance(axis, GridAxis)
            return (axis.value(side[1]) - axis.value(side[0])) / axis.scale
        return Fraction(side.bit_count() - 1)


def coarse(axis: Axis) -> bool:
    """Whether floats of an axis lie so far apart that what is between two of them shows in the distance."""
    return isinstance(axis, GridAxis) and axis.lower < axis.upper and spacing(axis) > COARSE


@lru_cache
def spacing(axis: GridAxis) -> Fraction:
    """How far floats of an axis lie apart, at the end where that is more, as a part of its scale."""
    low, near, high, below = map(axis.given, (axis.lower, axis.lower + 1, axis.upper, axis.upper - 1))
    return exact(max(near - low, high - below)) / axis.scale


def isolate(side: Side, j: int, index: int) -> Split:
    """A split towards the child that holds one value only."""
    if isinstance(side, tuple):
        return Split(j, index if side[0] == index else index - 1)
    return Split(j, 1 << index)


def middle(box: Box, j: int) -> Split:
    """A split of one axis into halves."""
    side = box[j]
    if isinstance(side, tuple):
        return Split(j, (side[0] + side[1]) // 2)
    left = ends(side)
    return Split(j, sum(1 << level for level in left[: len(left) // 2]))
