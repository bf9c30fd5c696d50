"""The incumbent of a search over a network: what is accepted, how it is moved nearer, and the ball that is left.

In:  points near relaxed ones.    Out: the best point with the goal (the incumbent), and its distance.
Promise: the best point has the goal for certain, or the deployed model said so; it obeys the question.
How: within a linear region of the network the nearest point is a linear program: floats are moved there, and the point
is rounded to its grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.deadline import NEVER, Deadline, TimeOverError
from mace.base.exact import nearest
from mace.problem.distance import Norm
from mace.problem.proof import Phase
from mace.solve.compiled import interruptible
from mace.solve.lattice import denominator
from mace.solve.networks.kernels import INFINITY, cut, derive, plain
from mace.solve.networks.model import FLOATS, Array, Part, Units
from mace.solve.networks.nodes import CELL, Frame, Node
from mace.solve.networks.relax import MOST_PIVOTS, Relaxed, relax
from mace.solve.networks.simplex import BEYOND, CUTOFF, OPTIMAL, STUCK
from mace.solve.networks.start import greedy
from mace.solve.networks.trials import tried
from mace.solve.protocol import Gap
from mace.solve.witnesses import Witnesses
from mace.space.axes import Axis, GridAxis, LevelAxis, Point, Side

SMALLEST_GAP = Fraction(1, 10**9)
SMALL = Fraction(1, 2**40)
MENDED = 1000  # points that are looked at for one that obeys rules
POLISHING = 500  # pivots in a linear region, where few are needed
DOUBTED = 200  # points in doubt that the deployed model is asked about before boxes come down to them


class LinearRegion(NamedTuple):
    """A linear region, in which a search for points moves floats.

    sides:  what features other than free floats have.
    active: which units of a layer of ReLUs are active, as bytes.
    anywhere: whether points count at any distance.
    """

    sides: tuple[tuple[int, Side], ...]
    active: tuple[tuple[int, bytes], ...]
    anywhere: bool


class Aim(NamedTuple):
    """The bound from which a node is of no interest, and the radius that boxes are cut to: see `Points`."""

    target: float
    reach: float


class Points(Frame):
    """The best point so far, and what bounds nodes by it."""

    def __init__(self, witnesses: Witnesses, gap: Gap, radius: Fraction | None, strict: bool) -> None:
        question = witnesses.question
        assert isinstance(question.distance, Norm)
        super().__init__(witnesses)
        self.radius, self.strict, self.gap = radius, strict, gap
        # What the clock says; `searching` ends first, and may be moved on.
        self.deadline: Deadline = NEVER
        self.searching: Deadline = NEVER
        self.arrays = (plain(self.numbers.axes), plain(self.numbers.net))
        ends = (2, *self.numbers.net.B[1:].shape)
        self.ends = (np.ones(ends, np.bool_), np.zeros(ends))
        # Whether each feature is a float that nothing but the size of its change is charged for.
        self.free = not ((self.numbers.axes.kind != FLOATS).any() or self.numbers.axes.jump.any() or self.sparse)
        self._ample = CELL * MOST_PIVOTS * self.cells()  # seconds, for any program
        self.moving = bool((self.numbers.axes.kind == FLOATS).any())  # whether any feature moves in a linear region
        self.best: Point | None = None
        # No distance is larger than this.
        self.widest = question.distance.widest + 1
        self.distance = self.widest
        if radius is not None and radius < self.widest:
            # A little more than was asked, so that what is proved reaches the radius after rounding.
            self.distance = radius + SMALLEST_GAP
        below = denominator(question.axes, question.distance)
        self.unit = Fraction(1, below) if below is not None else None  # of which every distance is a multiple
        if radius is not None and radius < self.widest and strict and self.unit is not None:
            self.distance = radius  # what is nearer is nearer by a unit: a bound between the two distances reaches it
        self.horizon = self.widest  # no node looks farther than this, see `Search.run`
        self.anywhere = False  # whether the claim is that no point has the goal at all
        self.exactly = False  # whether boxes are cut, and nodes closed, at the distance itself, not a little beyond it
        self._aimed: tuple[tuple[bool, Fraction, Fraction, bool, bool], Aim] | None = None  # and for what it was made
        self.tried: set[Point] = set()
        self.polished: dict[LinearRegion, float] = {}  # and below which distance nothing of it is worth a look
        self.doubted = 0  # points of which rounding decides whether they have the goal
        self.seeds: set[Point] = set()
        # Witnesses must be beyond the margin on the other side, and stay so when they are rounded to the grid.
        self.certain = [p.than + np.array([3 * float(e) + 2.0**-49 for e in p.slack]) for p in self.numbers.parts]
        # So it is with what rules make hold.
        axes = self.numbers.axes
        self.surely = (plain(axes._replace(need=axes.need + self.rounding())), self.arrays[1])

    # ------------------------------------------------------------------------------------------ the target

    @property
    def sums_nothing(self) -> bool:
        """Whether a distance is that of the largest change alone."""
        axes = self.numbers.axes
        return not axes.jump.any() and not axes.rate.any()

    @property
    def ball(self) -> Fraction:
        """The radius of what is searched at present."""
        return min(self.distance, self.horizon)

    @property
    def slack(self) -> Fraction:
        """How far the bounds may stay apart."""
        if self.exactly:
            return Fraction(0)
        return max(SMALLEST_GAP, self.gap.absolute, self.gap.relative * self.distance)

    @property
    def target(self) -> float:
        """The bound from which a node need not be looked at any more."""
        return self._aim.target

    @property
    def reach(self) -> float:
        """The radius of the ball that boxes are cut to; slightly more, so that rounding keeps what is inside."""
        return self._aim.reach

    @property
    def _aim(self) -> Aim:
        state = (self.anywhere, self.horizon, self.distance, self.best is None, self.exactly)
        if self._aimed is None or self._aimed[0] != state:
            self._aimed = state, Aim(self._target(), self._reach())
        return self._aimed[1]

    def _target(self) -> float:
        if self.anywhere:
            return 1e-9
        if self.horizon < self.distance:
            return min(float(self.horizon), self.enough(self.horizon))
        if self.best is None:
            far = float(self.distance) + (0.0 if self.radius is not None else 1.0) - 1e-10
            return far if self.radius is None else min(far, self.enough(self.distance))
        return min(float(self.distance - self.slack / 2), self.enough(self.distance))

    def _reach(self) -> float:
        if self.anywhere or (self.best is None and self.radius is None and self.horizon >= self.distance):
            return INFINITY
        if self.unit is not None:  # what is nearer is nearer by a unit, which may be less than doubles tell apart
            last = self._last_below(self.ball, self.unit)
            return max(float(last + self.unit / 2), float(last) * (1 + 1e-12))
        return float(self.ball) * (1 + 1e-12) + 1e-15

    def refutes(self, bound: Fraction, q: Fraction) -> bool:
        """Whether a bound leaves nothing nearer than q: it is beyond the last distance that a point nearer can have."""
        return bound >= q if self.unit is None else bound > self._last_below(q, self.unit)

    def enough(self, q: Fraction) -> float:
        """A bound in floats that leaves nothing nearer than q, with some room for rounding where there is any."""
        if self.unit is None:
            return float(q)
        return float(self._last_below(q, self.unit) + min(self.unit, SMALLEST_GAP) / 4)

    def claim(self, q: Fraction) -> Fraction:
        """What a bound in floats is claimed as: a little less, in few bits; or the next distance of a point."""
        q = Fraction(math.floor((q - SMALL) * 2**48), 2**48)
        return q if self.unit is None else min(math.ceil(q / self.unit) * self.unit, self.distance)

    @staticmethod
    def _last_below(q: Fraction, unit: Fraction) -> Fraction:
        return (math.ceil(q / unit) - 1) * unit

    def within(self, distance: Fraction) -> bool:
        """Whether a distance is within the radius asked."""
        return self.radius is None or distance < self.radius or distance == self.radius and not self.strict

    def nearer(self, distance: Fraction) -> bool:
        """Whether a point at a distance would be a better one: within the radius, which the ball exceeds a little."""
        return distance < self.distance and self.within(distance)

    def cut_to(self, node: Node, q: float) -> bool:
        """Cut a node's arrays to the ball of radius q; False if nothing is left."""
        if not self.exactly:
            return bool(cut(q, self.arrays[0], plain(node.hull)))
        return self.cut_exactly(node, self.ball)

    def cut_exactly(self, node: Node, q: Fraction) -> bool:
        """Cut a node's arrays to its cut box in the ball of radius q, as a checker does; False if nothing is left."""
        inside = self.exact.cut(node.box, q)
        if inside is None:
            return False
        self.enclose_all(node, inside)
        return True

    def derive(self, node: Node, q: float, units: Units) -> bool:
        """Narrow bounds of hidden units, in place, inside a node's box and the ball of radius q (q < 0: no ball)."""
        return bool(derive(q, *self.arrays, plain(node.hull), plain(units), *self.ends))

    def rounding(self) -> Array:
        """By how much doubles may move what rules make hold, at most: shape (K,)."""
        found = np.zeros(len(self.numbers.lines))
        for k, line in enumerate(self.numbers.lines):
            for j, factor in line.factors:
                axis = self.question.axes[j]
                if self.numbers.axes.kind[j] == FLOATS and isinstance(axis, GridAxis):
                    largest = max(abs(axis.value(axis.lower)), abs(axis.value(axis.upper)))
                    found[k] += nearest(abs(factor) * largest) * 2.0**-49
        return found

    def solve(self, node: Node, part: Part, than: Array | None = None, rounds: int = MOST_PIVOTS) -> Relaxed:
        """The relaxation of a node for one part of the goal; with `than` in place of the part's own, of points that are
        to stay what they are when they are rounded.

        After the deadline interpreted pivots end, and the relaxation shows what it does without any.
        """
        arrays, than = (self.arrays, part.than) if than is None else (self.surely, than)
        rounds = min(rounds, self.affordable(node))
        nodes = (plain(node.hull), plain(node.units))
        given = (self.most, part.C, than, *arrays, *nodes)
        try:
            with interruptible(self.deadline):
                found: Relaxed = relax(not self.anywhere, self.target, rounds, *given)
        except TimeOverError:
            found = relax(not self.anywhere, self.target, 0, *given)
        if found.status != BEYOND or all(np.isfinite(value).all() for value in found):
            return found
        # Numbers too far apart for doubles: any multipliers are sound, and these prove nothing.
        goal, slope, mu, share = map(np.zeros_like, (found.goal, found.slope, found.mu, found.share))
        loss, scores, weight = map(np.nan_to_num, (found.loss, found.scores, found.weight))
        bound, point = 0.0 if not self.anywhere else -INFINITY, self.numbers.around(node.hull)
        return Relaxed(bound, STUCK, goal, slope, mu, share, 0.0, point, loss, scores, weight)

    def affordable(self, node: Node) -> int:
        """For about how many pivots of a node's program there is time: of a wide network each takes milliseconds."""
        left = self.searching.left() or self.deadline.left()
        if left is None or left > self._ample:
            return MOST_PIVOTS
        return int(min(left / (CELL * self.cells(node)), MOST_PIVOTS))

    def trials(self, node: Node, phases: list[Phase]) -> Array:
        """About which bounds a node has where each unit is off, and where it is on: shape (phases, 2)."""
        weakest = min(node.duals, key=lambda k: node.duals[k].bound)
        part, places = self.numbers.parts[weakest], np.array([(phase.layer, phase.unit) for phase in phases])
        nodes = (plain(node.hull), plain(node.units))
        found: Array = tried(not self.anywhere, self.target, self.most, part.C, part.than, *self.arrays, *nodes, places)
        return found

    # ------------------------------------------------------------------------------------------ points

    def offer(self, point: Point, *, trusted: bool = False) -> bool:
        """Take a point as the best one if it is closer, allowed, and has the goal (or is trusted to)."""
        if point in self.tried:
            return False
        self.tried.add(point)
        if not trusted and not self.exact.near(point):  # sooner seen than how far it is
            return False
        distance = self.question.distance_of(point)
        if not self.nearer(distance) or not self.question.obeys(point):
            return False
        if not trusted and not self.counts(point):
            return False
        self.best, self.distance = point, distance
        return True

    def counts(self, point: Point) -> bool:
        """Whether a point has the goal: for certain, or, where rounding decides, by what the deployed model says."""
        said = self.exact.accepts(point)
        if said is None:
            self.doubted += 1
            return self.doubted <= DOUBTED and bool(self.witnesses.counts(point, exclude=False))
        return said and bool(self.witnesses.counts(point))

    def begin(self) -> None:
        """Offer a point that has the goal, and what is left of it when its changes are undone one by one."""
        x = greedy(self, self.searching)
        if x is None and self.sparse:
            x = greedy(self, self.searching, by_cost=False)
        if x is None:
            return
        for outward in (True, False):
            point = self.rounded(x, outward)
            self.offer(point)
            self.polish(point)
        if self.best is None:
            self.mend(point)
        if not self.free:
            self.shorten()

    def mend(self, point: Point) -> None:
        """Offer points beside one with the goal that breaks rules: with other values of what these read, until they
        hold.
        """
        question, waiting = self.question, [point]
        seen = {point}
        for one in waiting:
            if self.best is not None or len(seen) > MENDED or self.searching.over:
                return
            broken = next((rule for rule in question.rules if not rule.holds(question.axes, one)), None)
            if broken is None:
                self.offer(one)
                self.polish(one)
                continue
            for j in sorted(set(broken.reads.values())):
                for index in usual_values(question.axes[j]):
                    other = (*one[:j], index, *one[j + 1 :])
                    if other not in seen and broken.holds(question.axes, other):
                        seen.add(other)
                        waiting.append(other)

    def shorten(self) -> None:
        """Undo the changes of the best point one by one, the costliest first, as long as it keeps the goal."""
        improved = True
        while improved and self.best is not None:
            improved = False
            point: Point = self.best
            deltas = self.question.deltas(point)
            for j in sorted(self.question.changed(point), key=lambda j: -deltas[j]):
                if self.searching.over:
                    return
                shorter = (*point[:j], self.question.axes[j].start, *point[j + 1 :])
                self.polish(shorter)
                if self.offer(shorter) or self.best != point:
                    improved = True
                    break

    def propose(self, node: Node) -> None:
        """Try the points near a relaxed one: as it is, away from the start, and the nearest of its linear region."""
        if node.point is None:
            return
        x = self.fewer(node, node.point) if self.sparse else node.point
        for outward in (False, True):
            point = self.rounded(x, outward)
            if point not in self.seeds:
                self.seeds.add(point)
                self.offer(point)
                self.polish(point)

    def fewer(self, node: Node, x: Array) -> Array:
        """A relaxed point with as many changes as are allowed: those that go farthest on their way to the box's end."""
        n, (low, high, on), x = self.numbers.axes, node.hull, x.copy()
        gone = np.empty(len(n.first))
        for j, axis in enumerate(self.question.axes):
            first = n.first[j]
            if not isinstance(axis, GridAxis):
                gone[j] = 1.0 - x[first + axis.start] if on[first + axis.start] else np.inf
            elif low[j] > 0.0 or high[j] < 0.0:
                gone[j] = np.inf
            else:
                reach = high[j] if x[first] > 0.0 else -low[j]
                gone[j] = abs(x[first]) / reach if reach > 0.0 else 0.0
        for j in np.argsort(-gone, kind="stable")[int(self.most) :]:
            axis, first = self.question.axes[j], n.first[j]
            x[first : first + n.count[j]] = 0.0
            if not isinstance(axis, GridAxis):
                x[first + axis.start] = 1.0
        return x

    def polish(self, point: Point) -> None:
        """Move the floats of a point as near to the start as its own linear region allows, several times.

        Where a change has a price of its own, what has not changed stays.
        """
        n = self.numbers
        for _ in range(5 * self.moving):
            if self.deadline.over:
                return
            region = self.region(point)
            if self.polished.get(region, 0.0) >= self.target:  # what is nearest there was offered, or is farther
                return
            self.polished[region] = self.target  # a larger ball than the present one may hold what is nearest there
            node = self.first_node()
            for j, side in region.sides:
                self.restrict(node, j, side)
            if self.reach < INFINITY and not self.cut_to(node, self.reach):
                return
            self.fix_phases(node, region.active)
            rounds = max(POLISHING, 3 * len(n.axes.first))  # under linf each feature may need a pivot of its own
            solved = [self.solve(node, *part, rounds=rounds) for part in zip(n.parts, self.certain, strict=True)]
            found = min((one for one in solved if one.status == OPTIMAL), key=lambda one: one.bound, default=None)
            if found is None:
                cut_off = [one.bound for one in solved if one.status == CUTOFF]
                self.polished[region] = max(self.target, min(cut_off, default=0.0))
                return
            self.polished[region] = INFINITY
            nearest = [self.rounded(x, outward=False) for x in (found.point, *self.trimmed(found))]
            moved = [one for one in nearest if self.offer(one)]
            if not moved:
                return
            point = moved[-1]

    def trimmed(self, found: Relaxed) -> list[Array]:
        """Where the largest change alone counts, the point of a program with no float beyond it: a tableau lets some go
        a little farther, which shows in the distance where a weight is huge.
        """
        if self.anywhere or not self.sums_nothing:
            return []
        axes = self.numbers.axes
        floats, x = (axes.kind == FLOATS) & (axes.peak > 0.0), found.point.copy()
        most, places = found.bound / axes.peak[floats], axes.first[floats]
        x[places] = np.clip(x[places], -most, most)
        return [x]

    def region(self, point: Point) -> LinearRegion:
        """Where the floats of a point may move: its ReLUs keep their phases, and other features their values."""
        n, net = self.numbers, self.numbers.net
        x, sides = np.zeros(len(n.axes.change)), list[tuple[int, Side]]()
        changes = self.changes(point)
        if self.free:
            x = changes
        for j, axis in enumerate(() if self.free else self.question.axes):
            first = n.axes.first[j]
            if not isinstance(axis, GridAxis):
                x[first + point[j]] = 1.0
                sides.append((j, 1 << point[j]))
                continue
            x[first] = changes[j]
            if n.axes.kind[j] != FLOATS:
                sides.append((j, (point[j], point[j])))
            elif n.axes.jump[j] > 0.0 or self.sparse:
                # What a change costs at once is charged in full only where the start is left out.
                sides.append((j, _side_of(axis, point[j])))
        values, active = net.B[0] + x @ net.W0, []
        for layer in range(len(net.size)):
            if net.relu[layer]:
                active.append((layer, (values > 0).tobytes()))
                values = np.maximum(values, 0.0)
            values = values @ net.W[layer + 1] + net.B[layer + 1]
        return LinearRegion(tuple(sides), tuple(active), self.anywhere)

    def fix_phases(self, node: Node, active: Iterable[tuple[int, bytes]]) -> None:
        """Give a node the phases of every ReLU, by layer."""
        net, units = self.numbers.net, node.units
        for layer, flags in active:
            on = np.frombuffer(flags, np.bool_)
            units.phase[layer, : net.size[layer]] = np.where(on, 1, -1)[: net.size[layer]]
            units.L[layer], units.U[layer] = np.where(on, 0.0, -1e9), np.where(on, 1e9, 0.0)


def _side_of(axis: GridAxis, index: int) -> Side:
    """The values on one side of the start, or the start alone."""
    if index == axis.start:
        return index, index
    return (axis.lower, axis.start - 1) if index < axis.start else (axis.start + 1, axis.upper)


def usual_values(axis: Axis) -> list[int]:
    """Some values that an axis allows: all levels; of a number the ends, the start, and what is next to it."""
    if isinstance(axis, LevelAxis):
        return [level for level in axis.levels() if axis.allows(level)]
    near = (axis.start, axis.start - 1, axis.start + 1, axis.lower, axis.last)
    return [index for index in dict.fromkeys(near) if axis.allows(index)]
