"""The proof that outside of some boxes of choices nothing is nearer than a number, written as it is found.

In:  a problem, its question over values of bins, the weights of what is measured, the boxes.
Out: a `Proof` for `mace.certify`: a tree over the values of one variable after the other.
Promise: it is a proof wherever no score and no cost is nearer to an end than doubles tell; else a checker refuses it.

The last variable is decided first: of closeness, whose factor is a lower triangle, each form reads a variable and those
after it, so that its size is known once these are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from mace.base.deadline import Deadline
from mace.problem.proof import Dual, Leaf, Multipliers, Proof, Split
from mace.problem.question import Question
from mace.scorecards.problem import Array, Problem
from mace.scorecards.statement import index_of
from mace.space.axes import Box, GridAxis, whole

LARGE = Fraction(2**100)  # a multiplier with which the score alone decides
WHOLE = 2**40  # of a form: the multiplier 1
ROOM = 5e-8  # beyond the claim, for the rounding of costs


@dataclass
class Prover:
    """Splits variable by variable into values of bins, and closes what is far, changes too much or scores too low.

    objective: weights of proximity and closeness.
    reach: None where nothing is claimed of distances.
    """

    problem: Problem
    question: Question
    objective: Mapping[str, float]
    boxes: Sequence[Box]
    reach: Fraction | None
    deadline: Deadline

    def run(self) -> Proof:
        """The nodes, in preorder; raises TimeOverError."""
        problem, question = self.problem, self.question
        self.order = list(range(len(question.axes)))[::-1]
        self.values, self.numbers = [], []
        for j, axis in enumerate(question.axes):
            assert isinstance(axis, GridAxis)
            held = {axis.start, *(index_of(question, j, problem, k) for k in problem.choices[j])}
            self.values.append(sorted(held))
            self.numbers.append([float(axis.value(i)) for i in self.values[-1]])
        gains = [
            [v.coefficient * number for number in own]
            for v, own in zip(problem.card.variables, self.numbers, strict=True)
        ]
        ways = range(len(gains) + 1)
        self.gains = gains
        self.least = [math.fsum(min(gains[j]) for j in self.order[n:]) for n in ways]
        self.most = [math.fsum(max(gains[j]) for j in self.order[n:]) for n in ways]
        starts = [problem.values[j][now] for j, now in enumerate(problem.start)]
        here = [v.coefficient * float(start) for v, start in zip(problem.card.variables, starts, strict=True)]
        self.unmoved = [math.fsum(here[j] for j in self.order[n:]) for n in ways]
        # What the ends of each variable add to the score, and cost.
        self.ends = [
            [
                (gains[j][k] - here[j], problem.weights[j] * self.objective.get("proximity", 0.0)
                 * abs(self.numbers[j][k] - float(starts[j])))
                for k in (0, -1)
            ]
            for j in range(len(gains))
        ]  # fmt: skip
        self._closeness()
        self.points = {tuple(side[0] for side in box): n for n, box in enumerate(self.boxes)}  # type: ignore[index]
        everywhere = whole(question.axes)
        # Regions by the variable on which they are one index, where there is only one.
        self.single = {
            (j, box[j][0]): n  # type: ignore[index]
            for n, box in enumerate(self.boxes) for j in range(len(everywhere))
            if box[j] != everywhere[j] and all(box[i] == everywhere[i] for i in range(len(everywhere)) if i != j)
        }  # fmt: skip
        return list(self.nodes((), np.zeros(len(self.at_start)), 0.0, 0, problem.card.intercept))

    def _closeness(self) -> None:
        """The forms of closeness: what each value of each variable adds, and what they are at the start."""
        near, weight = self.problem.near, self.objective.get("closeness", 0.0)
        forms = near.factor.T * weight if near is not None and weight else np.zeros((0, len(self.values)))
        starts = np.array([self.problem.values[j][now] for j, now in enumerate(self.problem.start)])
        self.moves = [
            np.array([forms[:, j] * (number - starts[j]) for number in own]) for j, own in enumerate(self.numbers)
        ]
        self.at_start = forms @ (starts - near.mean) if near is not None and weight else np.zeros(0)
        # How many variables must be decided before a form is: those that it reads come last.
        reads = forms[:, self.order] != 0
        self.known_after = [max(np.flatnonzero(row), default=-1) + 1 for row in reads]

    def closed(
        self, taken: tuple[int, ...], sums: Array, cost: float, changes: int, score: float
    ) -> Leaf | Dual | None:
        """What closes a box of which the first variables of the order are decided."""
        n, problem = len(taken), self.problem
        if self.reach is not None:
            far = self._far(taken, sums, cost, score)
            if far is not None:
                return far
        if changes > problem.most_changes:
            return Leaf("changes")
        if taken and (self.order[n - 1], taken[-1]) in self.single:
            return Leaf("avoid", self.single[self.order[n - 1], taken[-1]])
        low, high = problem.low > -math.inf, problem.high < math.inf
        if low and score + self.most[n] < problem.low - problem.doubt:
            return _dual(0, low + high)
        if high and score + self.least[n] > problem.high + problem.doubt:
            return _dual(int(low), low + high)
        if n == len(self.order):
            return Leaf("avoid", self.points[taken[::-1]])
        return None

    def _far(self, taken: tuple[int, ...], sums: Array, cost: float, score: float) -> Leaf | Dual | None:
        """What says that no point of a box with a score that will do is near; None where nothing does.

        For any factor >= 0 a point costs at least what the decided variables and forms do, the factor times what the
        score lacks yet, and for each other variable the least of its cost less the factor times its gain: 0, or at an
        end. Of factors the best one is where some end has 0.
        """
        n, problem, wanted = len(taken), self.problem, float(self.reach or 0) * (1 + ROOM)
        known = np.array([n >= after for after in self.known_after], bool)
        cost += float(np.abs(sums[known]).sum())
        place, lacks = 0, problem.low - score - self.unmoved[n]
        if problem.low == -math.inf:
            place, lacks = 0, score + self.unmoved[n] - problem.high
        sign = 1.0 if problem.low > -math.inf else -1.0
        if cost >= wanted:
            return self._multiplied(taken, sums, known, 0.0, place)
        if math.isinf(lacks):  # every score will do
            return None
        left = self.order[n:]
        dear = np.array([end for j in left for end in self.ends[j]]).reshape(-1, 2)
        gain, price = sign * dear[:, 0], dear[:, 1]
        factors = (price / np.where(gain > 0, gain, 1.0))[gain > 0]
        if not len(factors):
            return None
        parts = np.minimum(price - factors[:, None] * gain, 0.0)
        bounds = cost + factors * lacks + np.minimum(parts[:, ::2], parts[:, 1::2]).sum(axis=1)
        best = int(bounds.argmax())
        return self._multiplied(taken, sums, known, float(factors[best]), place) if bounds[best] >= wanted else None

    def _multiplied(self, taken: tuple[int, ...], sums: Array, known: Array, factor: float, place: int) -> Leaf | Dual:
        """The multipliers of the score and of the forms that such a bound has."""
        comparisons = len(self.question.goal.decision[0])
        goal = tuple(Fraction(factor) if k == place else Fraction(0) for k in range(comparisons))
        if not self.objective.get("closeness"):
            return Dual((Multipliers(goal, {}, {}, {}),)) if factor else Leaf("distance")
        signs, by = [], 1.0 if self.problem.low > -math.inf else -1.0
        for j, weight in enumerate(self.problem.weights):
            weight *= self.objective.get("proximity", 0.0)
            if weight:
                at, start = self.order.index(j), self.question.axes[j].start
                slope = by * factor * self.problem.card.variables[j].coefficient / weight
                if at < len(taken):
                    slope = float(int(taken[at] > start) - int(taken[at] < start))
                signs.append(round(WHOLE * min(max(slope, -1.0), 1.0)))
        signs += [WHOLE * int(np.sign(value)) if sure else 0 for value, sure in zip(sums, known, strict=True)]
        return Dual((Multipliers(goal, {}, {}, {}, tuple(signs)),))

    def nodes(
        self, taken: tuple[int, ...], moved: Array, cost: float, changes: int, score: float
    ) -> Iterator[Split | Leaf | Dual]:
        """The proof about a box, in preorder; moved: what the decided variables add to the forms."""
        leaf = self.closed(taken, self.at_start + moved, cost, changes, score)
        if leaf is not None:
            yield leaf
            return
        self.deadline.look("writing the proof")
        j = self.order[len(taken)]
        axis, rule = self.question.axes[j], Leaf("rule", j)
        assert isinstance(axis, GridAxis)
        weight = self.problem.weights[j] * self.objective.get("proximity", 0.0)
        start = float(self.problem.values[j][self.problem.start[j]])
        for n, index in enumerate(self.values[j]):
            if axis.lower < axis.upper:
                yield from (Split(j, index - 1), rule, Split(j, index))
            part = weight * abs(self.numbers[j][n] - start)
            yield from self.nodes(
                (*taken, index), moved + self.moves[j][n], cost + part, changes + (index != axis.start),
                score + self.gains[j][n],
            )  # fmt: skip
        if axis.lower < axis.upper:
            yield rule


def _dual(place: int, count: int) -> Dual:
    """Multipliers by which one comparison alone fails."""
    goal = tuple(LARGE if n == place else Fraction(0) for n in range(count))
    return Dual((Multipliers(goal, {}, {}, {}),))
