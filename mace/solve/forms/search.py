"""Branch and bound over boxes, by the linear relaxation.

In:  the witnesses of a question, a known point or none, how close the bounds must come, a deadline.
Out: `Search`: the nearest point found, and `lower`, below which there is none.
Promise: `lower` is what `FormsPart.bound` shows of the boxes that are left, and of those that were closed. A box from
which nothing can be cut off any more, and whose points rounding leaves in doubt, stays, and bounds `lower`.
"""

from __future__ import annotations

import heapq
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.deadline import Deadline, TimeOverError
from mace.base.exact import exact
from mace.problem.proof import Leaf, Split
from mace.problem.question import Question
from mace.solve.conditions import Closed, broken, close_or_cut
from mace.solve.forms.frame import FormsPart, change
from mace.solve.forms.program import Program, Relaxed
from mace.solve.forms.written import Branch, PartBound
from mace.solve.protocol import Gap
from mace.solve.witnesses import Witnesses
from mace.space.axes import Box, GridAxis, LevelAxis, Point, holds, whole

WHOLE = 1e-6  # a share this near to 1 is one
ROUGH = 1e-9  # of a distance in doubles
NUDGES = (0.0, 1e-13, 1e-11, 1e-9, 1e-8)  # of a scale: so near to the boundary HiGHS does not look
POLISHED = 400  # points that are looked at to make one better


class FormsNode(NamedTuple):
    """A box of which something is known: nothing in it is nearer than `bound`; `number` tells nodes apart."""

    bound: float
    number: int
    known: tuple[PartBound, ...]
    branch: Branch

    @property
    def box(self) -> Box:
        """The points."""
        return self.branch.box

    @property
    def part(self) -> int:
        """The part of the goal of which the least is known."""
        return min(range(len(self.known)), key=lambda k: self.known[k].bound)


class Search:
    """Branch and bound for one question; `known` is a point with the goal, or None."""

    def __init__(self, witnesses: Witnesses, known: Point | None, gap: Gap, deadline: Deadline) -> None:
        self.witnesses, self.gap, self.deadline = witnesses, gap, deadline
        question = witnesses.question
        self.frames = [FormsPart(question, part) for part in range(len(question.goal.decision))]
        self.programs = [Program(frame) for frame in self.frames]
        self.best, self.upper = known, math.inf
        self.distance: Fraction | None = None
        self.open: list[FormsNode] = []
        self.stuck: list[float] = []  # bounds of boxes that nothing divides any further
        self.least = math.inf  # of the bounds of boxes that were closed because of them
        self.root = Branch(whole(question.axes))
        self.count = 0
        self.floats = any(isinstance(axis, GridAxis) and axis.grid.kind != "step" for axis in question.axes)
        if known is not None:
            self.distance = question.distance_of(known)
            self.upper = float(self.distance)

    @property
    def question(self) -> Question:
        """With what the deployed model refused among its exclusions."""
        return self.witnesses.question

    def run(self) -> None:
        """Search until the bounds are close enough; raises TimeOverError, before which every box is kept or closed."""
        if self.ruled_out(self.root):  # a relaxation of many trees takes many seconds
            return
        self.push(self.root, (PartBound(0.0, None),) * len(self.frames))
        if self.best is not None:
            self.polish(self.best)
        while self.open and not self.closed(self.open[0].bound):
            self.deadline.look("bounding boxes")
            node = heapq.heappop(self.open)
            try:
                self.expand(node)
            except TimeOverError:  # while the point that it has shown was polished: nothing more is known of the box
                heapq.heappush(self.open, node)
                raise

    def closed(self, bound: float) -> bool:
        """Whether a box with this bound need not be looked at."""
        return bound >= self.upper - max(float(self.gap.absolute), float(self.gap.relative) * self.upper)

    def lower(self) -> Fraction | None:
        """No point with the goal is nearer; None where there is none at all."""
        bounds = [node.bound for node in self.open] + self.stuck + [self.least]
        least = min(bounds)
        if math.isinf(least):
            return None
        found = exact(max(least, 0.0))
        return found if self.distance is None else min(found, self.distance)

    def push(self, branch: Branch, known: tuple[PartBound, ...]) -> None:
        """Keep a box, unless it is closed."""
        branch.known = known
        bound = min(one.bound for one in known)
        if math.isinf(bound):
            return
        if self.closed(bound):
            self.least = min(self.least, bound)
            return
        self.count += 1
        heapq.heappush(self.open, FormsNode(bound, self.count, known, branch))

    def expand(self, node: FormsNode) -> None:
        """Bound a box better, look for a point in it, and divide it."""
        part, branch = node.part, node.branch
        relaxed = self.programs[part].solve(node.box)
        if relaxed is not None:
            better = self.better(part, node, relaxed)
            node = node._replace(known=(*node.known[:part], better, *node.known[part + 1 :]))
            if node.part != part or math.isinf(better.bound):
                self.push(branch, node.known)
                return
        branch.known = node.known
        bound = node.known[part].bound
        cut = None if self.closed(bound) else self.cut(node, relaxed)
        if isinstance(cut, Leaf):
            branch.leaf = cut
        elif self.closed(bound):  # perhaps by a point that was just found
            self.least = min(self.least, bound)
        elif cut is None:
            self.stuck.append(bound)
        else:
            branch.cut = cut
            branch.halves = [None if box is None else Branch(box) for box in halves(node.box, cut)]
            for half in branch.halves:
                if half is not None:
                    self.enter(half, cut.axis, node, relaxed)

    def enter(self, half: Branch, axis: int, node: FormsNode, relaxed: Relaxed | None) -> None:
        """Keep half of a box that was divided on an axis, unless the question's conditions close it."""
        question = self.question
        if self.ruled_out(half, axis):
            return
        most = question.most_changes
        if most is not None:
            moved = sum(not holds(side, one.start) for side, one in zip(half.box, question.axes, strict=True))
            if moved > most:
                half.leaf = Leaf("changes")
                return
        known = []
        for part, one in enumerate(node.known):
            by = relaxed.by if relaxed is not None and part == node.part else one.by
            bound = one.bound if by is None else self.frames[part].bound(half.box, by)
            known.append(PartBound(bound, by) if bound > one.bound else one)
        self.push(half, tuple(known))

    def ruled_out(self, branch: Branch, axis: int | None = None) -> bool:
        """Whether some rule closes a box; of a half, some rule that reads the axis on which it was divided."""
        for k, rule in enumerate(self.question.rules):
            if (axis is None or axis in rule.reads.values()) and broken(self.question, k, branch.box):
                branch.leaf = Leaf("rule", k)
                return True
        return False

    def better(self, part: int, node: FormsNode, relaxed: Relaxed) -> PartBound:
        """What is known of a part once its relaxation is solved."""
        frame, known = self.frames[part], node.known[part]
        bound = frame.bound(node.box, relaxed.by)
        if relaxed.missing:
            without = relaxed.by._replace(forms=np.zeros_like(relaxed.by.forms))
            if frame.bound(node.box, without, jumps=False) > 0:
                return PartBound(math.inf, without)
        return PartBound(bound, relaxed.by) if bound > known.bound else known

    # ------------------------------------------------------------------------------------------ points

    def cut(self, node: FormsNode, relaxed: Relaxed | None) -> Split | Leaf | None:
        """Where to divide a box, or what closes it, once the points that its relaxation shows were looked at."""
        if relaxed is None:
            return widest(node.box)
        for nudge in (*NUDGES, None) if self.floats else (0.0, None):
            point = self.rounded(node, relaxed, nudge)
            if self.rough(node.part, point) < self.upper and self.question.obeys(point):
                self.offer(point, polish=True)
        # A rule says more of a box than how far the relaxation is from a point.
        if not all(rule.holds(self.question.axes, point) for rule in self.question.rules):
            return self.forbidden(node.box, point)
        where = self.fractional(node, relaxed)
        if where is not None:
            return where
        most = self.question.most_changes
        if most is not None and len(moved := self.question.changed(point)) > most:
            return self.unmoved(node.box, point, moved)
        if not self.question.obeys(point):
            return self.forbidden(node.box, point)
        if self.frames[node.part].trees is not None:
            return self.isolated(node, point)
        return self.stepped(node.box, point)

    def forbidden(self, box: Box, point: Point) -> Split | Leaf:
        """What to do with a box of which a point is not allowed."""
        found = close_or_cut(self.question, box, point, edges=True)
        return Leaf(found.by, found.number) if isinstance(found, Closed) else Split(*found)

    def rounded(self, node: FormsNode, relaxed: Relaxed, nudge: float | None) -> Point:
        """A point of the box near to the relaxation's.

        nudge: None for the nearest values; else numbers go where the goal's multipliers want them, floats by so much of
        the scale.
        """
        frame, point = self.frames[node.part], list[int]()
        for j, (axis, side) in enumerate(zip(self.question.axes, node.box, strict=True)):
            mine = range(*frame.items.begin[j : j + 2])
            if isinstance(axis, LevelAxis):
                point.append(frame.items.first[max(mine, key=lambda item: relaxed.shares[item])])
                continue
            assert isinstance(side, tuple)
            value = placed(axis, relaxed.change[j])
            low, high = axis.grid.floor(value), axis.grid.ceil(value)
            near = low if value - axis.value(low) <= axis.value(high) - value else high
            away = abs(axis.value(near) - value)
            wanted = float(frame.rates[j] @ relaxed.by.goal)
            if nudge and axis.grid.kind != "step" and wanted and abs(relaxed.change[j]) > NUDGES[-1]:
                near = axis.grid.floor(value + exact(math.copysign(nudge, wanted)) * axis.scale)
            elif nudge is not None and away > abs(axis.value(high) - axis.value(low)) / 2**20:
                near = high if wanted > 0 else low
            point.append(min(max(near, side[0]), side[1]))
        return tuple(point)

    def rough(self, part: int, point: Point) -> float:
        """The distance of a point, in doubles."""
        frame, items = self.frames[part], self.frames[part].items
        sums, once = np.zeros(frame.forms), 0.0
        for j, (axis, index) in enumerate(zip(self.question.axes, point, strict=True)):
            if index == axis.start:
                continue
            if isinstance(axis, GridAxis):
                sums += change(axis, index) * frame.slopes[j]
                once += frame.jumps[j]
            else:
                begin = int(items.begin[j])
                sums += frame.effects[begin + items.first[begin : int(items.begin[j + 1])].index(index)]
        return float(np.abs(sums).sum() + once) * (1 - ROUGH)

    def offer(self, point: Point, *, polish: bool = False) -> bool:
        """Take an allowed point as the best one if it is nearer and has the goal."""
        question = self.question
        distance = question.distance_of(point)
        if self.distance is not None and distance >= self.distance:
            return False
        if question.has_goal(point) is False or not self.witnesses.counts(point):
            return False
        self.best, self.distance, self.upper = point, distance, float(distance)
        if polish:
            self.polish(point)
        return True

    def polish(self, point: Point) -> None:
        """Undo or move single changes of the best point, as long as that makes it better."""
        tried, again = 0, True
        while again and tried < POLISHED:
            again = False
            for j, axis in enumerate(self.question.axes):
                for index in others(axis, point[j]):
                    self.deadline.look("looking for a nearer point")
                    one = (*point[:j], index, *point[j + 1 :])
                    tried += 1
                    if self.rough(0, one) < self.upper and self.question.obeys(one) and self.offer(one):
                        point, again = one, True

    # ------------------------------------------------------------------------------------------ cuts

    def fractional(self, node: FormsNode, relaxed: Relaxed) -> Split | None:
        """The axis on which the relaxation is farthest from any point, as the forms count, and a cut there."""
        losses = [self.loss(node, relaxed, j) for j in range(len(node.box))]
        j = int(np.argmax(losses))
        if losses[j] <= 0:
            return None
        items, side, axis = self.frames[node.part].items, node.box[j], self.question.axes[j]
        begin = int(items.begin[j])
        shares = relaxed.shares[begin : int(items.begin[j + 1])]
        if isinstance(side, int):
            return Split(j, 1 << items.first[begin + int(shares.argmax())])
        assert isinstance(axis, GridAxis)
        if self.jumped(node, relaxed, j):
            at = axis.start if relaxed.change[j] > 0 else axis.start - 1
        elif shares.max() > 1 - WHOLE:
            at = axis.grid.floor(placed(axis, relaxed.change[j]))
        else:
            used = np.flatnonzero(shares > WHOLE / 10)
            half = int(np.searchsorted(np.cumsum(shares), 0.5))
            at = items.last[begin + min(max(half, int(used[0])), int(used[-1]) - 1)]
        return Split(j, at) if side[0] <= at < side[1] else None

    def jumped(self, node: FormsNode, relaxed: Relaxed, j: int) -> bool:
        """Whether a number of the relaxation changes without what that costs once."""
        axis, side, way = self.question.axes[j], node.box[j], relaxed.change[j]
        if not self.frames[node.part].jumps[j] or not isinstance(side, tuple):
            return False
        return bool(side[0] <= axis.start < side[1] and way > 0 or side[0] < axis.start <= side[1] and way < 0)

    def loss(self, node: FormsNode, relaxed: Relaxed, j: int) -> float:
        """How far an axis of the relaxation is from any value."""
        frame, axis = self.frames[node.part], self.question.axes[j]
        if self.jumped(node, relaxed, j):
            return float(frame.jumps[j])
        mine = slice(*frame.items.begin[j : j + 2])
        shares = relaxed.shares[mine]
        most = int(shares.argmax())
        if isinstance(axis, LevelAxis):
            if shares[most] > 1 - WHOLE:
                return 0.0
            effects = frame.effects[mine]
            return float(shares @ np.abs(effects - effects[most]).sum(axis=1))
        size = float(np.abs(frame.slopes[j]).sum())
        if shares[most] <= 1 - WHOLE:
            return float(1 - shares[most]) * (size + WHOLE)
        if axis.grid.kind != "step":
            return 0.0
        value = placed(axis, relaxed.change[j])
        low, high = axis.grid.floor(value), axis.grid.ceil(value)
        off = min(value - axis.value(low), axis.value(high) - value)
        return 0.0 if off <= axis.grid.step / 2**20 else float(off / axis.scale) * size

    def unmoved(self, box: Box, point: Point, moved: tuple[int, ...]) -> Split | None:
        """Divide an axis that changed and need not into its start and the rest."""
        for j in moved:
            axis, side = self.question.axes[j], box[j]
            if holds(side, axis.start):
                if isinstance(side, int):
                    return Split(j, 1 << axis.start)
                return Split(j, axis.start if point[j] > axis.start else axis.start - 1)
        return None

    def isolated(self, node: FormsNode, point: Point) -> Split | Leaf | None:
        """Divide the first axis with more than one piece beside a point's; trees answer alike where there is none."""
        items = self.frames[node.part].items
        for j, side in enumerate(node.box):
            if isinstance(side, int):
                if side & (side - 1):
                    return Split(j, 1 << point[j])
                continue
            item = next(k for k in range(*items.begin[j : j + 2]) if items.first[k] <= point[j] <= items.last[k])
            if items.last[item] < side[1]:
                return Split(j, items.last[item])
            if items.first[item] > side[0]:
                return Split(j, items.first[item] - 1)
        return Leaf("cell") if self.question.has_goal(point) is False else None

    def stepped(self, box: Box, point: Point) -> Split | None:
        """Divide an axis of steps beside a point; of floats there is nothing to be gained."""
        wide = (0, -1)
        for j, (axis, side) in enumerate(zip(self.question.axes, box, strict=True)):
            if isinstance(axis, GridAxis) and axis.grid.kind == "step":
                assert isinstance(side, tuple)
                wide = max(wide, (side[1] - side[0], j))
        if wide[1] < 0 or wide[0] == 0:
            return None
        side = box[wide[1]]
        assert isinstance(side, tuple)
        return Split(wide[1], min(max(point[wide[1]], side[0]), side[1] - 1))


def placed(axis: GridAxis, change: float) -> Fraction:
    """The value at a change in shares of the scale."""
    return axis.start_value + exact(float(change)) * axis.scale


def halves(box: Box, cut: Split) -> list[Box | None]:
    """Both parts of a box, None for one that is empty."""
    side = box[cut.axis]
    if isinstance(side, tuple):
        parts = [(side[0], min(side[1], cut.at)), (max(side[0], cut.at + 1), side[1])]
        kept: list[tuple[int, int] | int | None] = [part if part[0] <= part[1] else None for part in parts]
    else:
        kept = [mask or None for mask in (side & cut.at, side & ~cut.at)]
    return [None if part is None else (*box[: cut.axis], part, *box[cut.axis + 1 :]) for part in kept]


def widest(box: Box) -> Split | None:
    """A cut of a box of which nothing is known: of the first axis with more than one index."""
    for j, side in enumerate(box):
        if isinstance(side, tuple):
            if side[0] < side[1]:
                return Split(j, (side[0] + side[1]) // 2)
        elif side & (side - 1):
            return Split(j, side & -side)
    return None


def others(axis: GridAxis | LevelAxis, index: int) -> list[int]:
    """Other values of a feature that are worth a try."""
    if index == axis.start and isinstance(axis, GridAxis):
        return []
    if isinstance(axis, LevelAxis):
        return [level for level in axis.levels() if level != index]
    found, far = [axis.start] if axis.allows(axis.start) else [], index - axis.start
    while far:
        far = int(far / 2)
        found.append(index - far)
    return [one for one in dict.fromkeys(found) if axis.allows(one) and one != index]
