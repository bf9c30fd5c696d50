"""The certificate of a set of bins: a linear model over the values of bins, and a proof that is written as it is found.

In:  a `Problem` whose costs add up over the variables, the rules, the set or that there is none.
Out: a `Certificate` of a set (proofs/FORMAT.md, section 11).

The statement is about values of bins: each variable is a grid of doubles, and a rule says that it has the value of one
of its bins. Facts: outside the listed single choices none is nearer than what the sum needs. Where values must differ
and every choice takes one of a few bins, fewer than the answers, these bins are the regions instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from mace.base.deadline import NEVER, Deadline, TimeOverError
from mace.certify.sets import Asked, Fact, set_certificate
from mace.certify.writer import Certificate
from mace.errors import CertificateError
from mace.problem.distance import Norm
from mace.problem.diversity import Diversity
from mace.problem.exclusions import AvoidBox
from mace.problem.programs import rule_of
from mace.problem.proof import Dual, Leaf, Multipliers, Proof, Split
from mace.problem.question import Goal, Question
from mace.scorecards.choosing import Chosen, Rules, hitting
from mace.scorecards.problem import DOUBT, Array, Problem
from mace.solve.conditions import ends
from mace.solve.regions import cheapest
from mace.space.axes import Box, GridAxis, Point, full, index_alone
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Compare, Layer, Network

MOST_POINTS = 1500  # which a checker compares with each other
EXACTLY = 20.0  # seconds, to see whether another set is better by less than doubles tell
LARGE = Fraction(2**100)  # a multiplier with which the score alone decides
ROOM = 1e-7  # beyond the sum's need, so that no rounding of costs leaves a point out


def certificate_of(
    problem: Problem, rules: Rules, count: int, objective: Mapping[str, float], chosen: Chosen | None, status: str
) -> Certificate:
    """The certificate of what was found; raises CertificateError with the reason where there is none."""
    _certifiable(problem, rules, count, objective, chosen, status)
    question = _question(problem, objective.get("proximity", 1.0))
    listed = problem.singles({"proximity": 1.0}, math.inf, NEVER)
    if _in_doubt(problem):
        raise CertificateError("no certificate: a score lies so near to the end that only the scorecard can tell")
    diversity = Diversity(rules.features, rules.values)
    if chosen is None:
        bins = hitting(listed.bins, count - 1) if rules.values else None
        boxes = _points(problem, question, listed.bins) if bins is None else _bins(problem, question, bins)
        proof = _Prover(problem, question, boxes, None).run()
        fact = Fact(question.without(map(AvoidBox, boxes)), None, proof)
        return set_certificate(question, Asked(count, diversity, None), [], boxes, [fact], [])
    weight = objective.get("proximity", 1.0)
    reach = Fraction(chosen.reach) * (1 + Fraction(ROOM))
    near = listed.bins[weight * listed.parts["proximity"] <= float(reach) * (1 + ROOM)]
    boxes = _points(problem, question, near)
    points = [tuple(_index(question, j, problem, k) for j, k in enumerate(problem.places(b))) for b in chosen.bins]
    points = _exactly(question, rules, near, boxes, points)
    claim = sum(map(question.distance_of, points), Fraction(0))
    proof = _Prover(problem, question, boxes, reach).run()
    fact = Fact(question.without(map(AvoidBox, boxes)), reach, proof)
    return set_certificate(question, Asked(count, diversity, claim), points, boxes, [fact], [])


def _certifiable(
    problem: Problem, rules: Rules, count: int, objective: Mapping[str, float], chosen: Chosen | None, status: str
) -> None:
    """Raise CertificateError where no certificate can be written."""
    if status not in ("OPTIMAL", "INFEASIBLE"):
        raise CertificateError(f"no certificate: the status is {status}")
    if chosen is not None and (
        set(objective) != {"proximity"} or problem.target or rules.by_features or rules.by_values
    ):
        raise CertificateError("no certificate: closeness and soft constraints do not add up over the variables")
    for j, choice in enumerate(problem.choices):
        held = [float(problem.values[j][k]) for k in choice]
        if count > 1 and len(set(held)) < len(held):
            raise CertificateError(f"no certificate: two bins of `{problem.card.names[j]}` have one value")


def _question(problem: Problem, weight: float) -> Question:
    """The problem over values of bins."""
    features, rules, weights, row = [], [], [], {}
    for j in range(len(problem.card.variables)):
        name, now = f"v{j}", float(problem.values[j][problem.start[j]])
        held = sorted({now, *(float(problem.values[j][k]) for k in problem.choices[j])})
        wide = held if held[-1] > held[0] else [now, now + 1.0]
        features.append(Feature(name, "real", wide[0], wide[-1], change="any" if len(held) > 1 else "fixed"))
        rules.append(" or ".join(f"{name} == {_text(value)}" for value in held))
        # The distance counts in shares of the range.
        weights.append(Fraction(weight) * Fraction(problem.weights[j]) * (Fraction(wide[-1]) - Fraction(wide[0])))
        row[name] = now
    space = Space(features)
    axes = space.axes(row)
    coefficients = np.array([[variable.coefficient] for variable in problem.card.variables])
    layer = Layer(coefficients, np.array([problem.card.intercept]), "identity")
    parts = []
    if problem.low > -math.inf:
        parts.append(Compare(0, None, problem.low))
    if problem.high < math.inf:
        parts.append(Compare(None, 0, -problem.high))
    return Question(
        space, axes, Network((layer,), len(features), "positive", (0, 1)),
        Goal("outcome", frozenset(), (tuple(parts),)),
        Norm(Fraction(0), Fraction(1), Fraction(0), tuple(weights), "proximity"),
        tuple(rule_of(rule, space).at(axes) for rule in rules),
        most_changes=min(problem.most_changes, len(axes)),
    )  # fmt: skip


def _text(value: float) -> str:
    """A double as an exact expression of the language."""
    above, below = value.as_integer_ratio()
    return f"({above} / {below})" if below > 1 else f"({above})"


def _index(question: Question, j: int, problem: Problem, k: int) -> int:
    """The index of a bin's value on its axis."""
    axis = question.axes[j]
    assert isinstance(axis, GridAxis)
    return axis.grid.floor(Fraction(float(problem.values[j][k])))


def _in_doubt(problem: Problem) -> bool:
    """Whether some choice, allowed or not, has a score at an end of what will do."""
    wide = replace(problem, low=-math.inf, high=math.inf)
    bins = wide.singles({"proximity": 1.0}, math.inf, NEVER).bins
    scores = problem.scores(bins)
    ends = [end for end in (problem.low, problem.high) if math.isfinite(end)]
    return any(bool((np.abs(scores - end) <= 2 * DOUBT).any()) for end in ends)


# --- regions ---------------------------------------------------------------------------------------------------------


def _points(problem: Problem, question: Question, bins: Array) -> list[Box]:
    """A region for each choice."""
    if len(bins) > MOST_POINTS:
        raise CertificateError(
            f"no certificate: {len(bins):,} single choices would be listed, at most {MOST_POINTS:,} are"
        )
    return [
        tuple(index_alone(question.axes[j], _index(question, j, problem, k)) for j, k in enumerate(problem.places(one)))
        for one in bins
    ]


def _bins(problem: Problem, question: Question, bins: Sequence[tuple[int, int]]) -> list[Box]:
    """A region for each of some bins: all points in it."""
    everything = tuple(full(axis) for axis in question.axes)
    return [
        (*everything[:j], index_alone(question.axes[j], _index(question, j, problem, k)), *everything[j + 1 :])
        for j, k in bins
    ]


def _exactly(question: Question, rules: Rules, bins: Array, boxes: Sequence[Box], points: list[Point]) -> list[Point]:
    """The best set of the listed choices in exact numbers, where doubles found one that is as good but for rounding."""
    listed = [tuple(ends(side)[0] for side in box) for box in boxes]
    moved, goes = bins >= 0, []
    for k, one in enumerate(bins):
        fits = np.arange(len(bins)) != k
        if rules.features:
            fits &= (moved != moved[k]).any(axis=1)
        if rules.values:
            fits &= ~((bins == one) & moved).any(axis=1)
        goes.append(int.from_bytes(np.packbits(fits, bitorder="little").tobytes(), "little"))
    total = sum(map(question.distance_of, points), Fraction(0))
    try:
        found = cheapest(list(map(question.distance_of, listed)), goes, len(points), total, Deadline.after(EXACTLY))
    except TimeOverError:
        return points
    return points if found is None else [listed[k] for k in found]


# --- the proof -------------------------------------------------------------------------------------------------------


@dataclass
class _Prover:
    """Splits variable by variable into values of bins, and closes what is far, changes too much or scores too low."""

    problem: Problem
    question: Question
    boxes: Sequence[Box]
    reach: Fraction | None

    def run(self) -> Proof:
        problem, question = self.problem, self.question
        self.values = []
        for j, axis in enumerate(question.axes):
            assert isinstance(axis, GridAxis)
            held = {axis.start, *(_index(question, j, problem, k) for k in problem.choices[j])}
            self.values.append(sorted(held))
        self.numbers = [
            [float(axis.value(i)) for i in own] for axis, own in zip(question.axes, self.values, strict=True)
        ]
        sides = [
            sorted((v.coefficient * own[0], v.coefficient * own[-1]))
            for v, own in zip(problem.card.variables, self.numbers, strict=True)
        ]
        self.least = [math.fsum(side[0] for side in sides[j:]) for j in range(len(sides) + 1)]
        self.most = [math.fsum(side[1] for side in sides[j:]) for j in range(len(sides) + 1)]
        # Regions by the first variable on which they are one index.
        self.points = {tuple(side[0] for side in box): n for n, box in enumerate(self.boxes)}  # type: ignore[index]
        whole = tuple(full(axis) for axis in question.axes)
        self.single = {
            (j, box[j][0]): n  # type: ignore[index]
            for n, box in enumerate(self.boxes) for j in range(len(whole))
            if box[j] != whole[j] and all(box[i] == whole[i] for i in range(len(whole)) if i != j)
        }  # fmt: skip
        return list(self.nodes((), Fraction(0), 0, problem.card.intercept))

    def closed(self, taken: tuple[int, ...], cost: Fraction, changes: int, score: float) -> Leaf | Dual | None:
        """What closes a box whose first variables are decided."""
        j, problem = len(taken), self.problem
        if self.reach is not None and cost >= self.reach:
            return Leaf("distance")
        if changes > problem.most_changes:
            return Leaf("changes")
        if taken and (j - 1, taken[-1]) in self.single:
            return Leaf("avoid", self.single[j - 1, taken[-1]])
        low, high = problem.low > -math.inf, problem.high < math.inf
        if low and score + self.most[j] < problem.low - DOUBT:
            return _dual(0, low + high)
        if high and score + self.least[j] > problem.high + DOUBT:
            return _dual(int(low), low + high)
        if j == len(self.values):
            return Leaf("avoid", self.points[taken])
        return None

    def nodes(
        self, taken: tuple[int, ...], cost: Fraction, changes: int, score: float
    ) -> Iterator[Split | Leaf | Dual]:
        """The proof about a box, in preorder."""
        leaf = self.closed(taken, cost, changes, score)
        if leaf is not None:
            yield leaf
            return
        j = len(taken)
        axis, rule = self.question.axes[j], Leaf("rule", j)
        assert isinstance(self.question.distance, Norm) and isinstance(axis, GridAxis)
        for n, index in enumerate(self.values[j]):
            if axis.lower < axis.upper:
                yield from (Split(j, index - 1), rule, Split(j, index))
            part = self.question.distance.charges[j].part(axis.delta(index))
            gain = self.problem.card.variables[j].coefficient * self.numbers[j][n]
            yield from self.nodes((*taken, index), cost + part, changes + (index != axis.start), score + gain)
        if axis.lower < axis.upper:
            yield rule


def _dual(place: int, count: int) -> Dual:
    """Multipliers by which one comparison alone fails."""
    goal = tuple(LARGE if n == place else Fraction(0) for n in range(count))
    return Dual((Multipliers(goal, {}, {}, {}),))
