"""The least shortfall of a goal: how near it can be reached where it cannot be met, proved.

In:  a question, and how answers are looked for.
Out: `Missed`: the shortfall as a level, the question whose goal is content with it, and a point.
Promise: no allowed point misses the goal by less than the level's lower bound: its certificate says that no allowed
point at all has the goal that this bound leaves. What is missed is what the deployed model says of the point.
How: any point is asked for whose shortfall is at most so much, by bisection; then, twice refuted, one that misses less
than the best point known.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from mace.base.deadline import now
from mace.base.exact import exact, nearest
from mace.certify.recheck import Read, read
from mace.explain.deployed.confirmation import Confirmation
from mace.explain.nearest.search import Search
from mace.explain.proved.level import Level
from mace.problem.distance import Norm
from mace.problem.goal_decision import lower_or_all
from mace.problem.goal_means import is_mean
from mace.problem.goals import Probability, Wanted
from mace.problem.objectives import Priority
from mace.problem.proof import Leaf, Proof
from mace.problem.question import Question
from mace.problem.shortfall import Measured, doubt, measured, missed, relaxed
from mace.solve.choice import choose
from mace.solve.driver import Bracket, bracket_optimum
from mace.solve.protocol import Gap, Limits, Oracle
from mace.solve.status import Status
from mace.space.axes import Point
from mace.tables.table import Ensemble

CLOSE = Fraction(1, 10**9)  # of shortfalls of a network, relative where they are above 1
FARTHEST = Fraction(10**300)
PATIENCE = 2  # refutations in a row until the best point itself is asked about


class Missed(NamedTuple):
    """The level; the question whose goal is relaxed by the shortfall; who confirms its points; one of them, or None."""

    level: Level
    question: Question
    confirmation: Confirmation
    point: Point | None


@dataclass
class _Miss:
    """The search for the least shortfall of one question."""

    search: Search
    question: Question
    goal: Measured
    limits: Limits
    lower: Fraction = Fraction(0)
    upper: Fraction | None = None
    met: bool = False  # whether the point has the goal: one that lies on a strict end misses it, by nothing
    point: Point | None = None
    why: str = ""
    oracle: str = ""
    proof: Proof | None = None
    refuted: Question | None = field(default=None, repr=False)

    def aimed(self, goal: Measured) -> Question:
        """The question about another goal, and no distance. A goal that is content with enough is one of all inputs."""
        made, table = lower_or_all(_beyond_all(goal), self.search.judge.table)
        return replace(self.question, goal=replace(made, text=str(goal)), model=table)

    @property
    def slack(self) -> Fraction:
        """How far the bounds may stay apart."""
        assert self.upper is not None
        table = self.search.judge.table
        rounded = not isinstance(table, Ensemble) or not table.certain
        return max(doubt(self.goal), CLOSE * max(Fraction(1), self.upper) if rounded else Fraction(0))

    def ask(self, question: Question, bound: Fraction) -> bool:
        """Ask for any point with a goal. False if there is none (then `bound` is proved), or if `why` says why not."""
        bracket, answered = self._asked(question)
        self.why = bracket.why
        if bracket.point is not None:
            self.take(bracket.point)
            return True
        if bracket.status == "infeasible":
            self.lower, self.proof, self.refuted = bound, bracket.proof, answered
        return False

    def _asked(self, question: Question) -> Read:
        confirmation = Confirmation(self.search.judge)
        if is_mean(self.search.judge.table):  # comparisons of members' scores reach beyond the goal: by smaller pieces
            found = replace(self.search, callback=None, beside=None).nearest(question, confirmation, self.limits)
            self.oracle = found.oracle
            return Read(found.bracket, found.question)
        oracle, _ = choose(question, self.search.oracle)
        self.oracle = oracle.name
        confirm = partial(confirmation.confirms, question)

        def ask(oracle: Oracle, best: Point | None) -> Bracket:
            return bracket_optimum(question, oracle, confirm, gap=Gap(), limits=self.limits, best=best)

        try:
            return read(question, oracle, ask, self.limits.deadline)
        finally:
            oracle.close()

    def take(self, point: Point) -> None:
        """Keep a point if it misses the goal by less than the best one."""
        value = shortfall_at(self.search, self.goal, self.question, point)
        if self.upper is None or value < self.upper:
            self.point, self.upper = point, value


def _beyond_all(goal: Measured) -> Measured:
    """The same goal; an end at 0 or 1 is moved beyond, so that a comparison that always holds is not dropped."""
    if not isinstance(goal, Probability):
        return goal
    between = goal.between
    low = -1.0 if between.low is not None and between.low <= 0 and not between.low_strict else between.low
    high = 2.0 if between.high is not None and between.high >= 1 and not between.high_strict else between.high
    return replace(goal, between=replace(between, low=low, high=high))


def least_shortfall(search: Search, question: Question, priority: Priority, limits: Limits, gap: Gap) -> Missed:
    """The least shortfall of a question's goal.

    Raises GoalError for a goal whose shortfall is no number.
    """
    began, wanted = now(), question.goal.wanted
    assert wanted is not None
    ones = tuple(Fraction(1) for _ in question.axes)
    anywhere = replace(question, distance=Norm(Fraction(0), Fraction(0), Fraction(0), ones, "nothing"))
    miss = _Miss(search, anywhere, measured(wanted, search.judge.table), limits)
    confirmation = Confirmation(search.judge)
    if question.obeys(question.start) and confirmation.confirms(question, question.start):
        miss.point, miss.upper, miss.met = question.start, Fraction(0), True
    elif miss.ask(anywhere, Fraction(0)):
        miss.upper, miss.met = Fraction(0), True  # a class may win with a lead of 0
    elif not miss.why:
        _close_in(miss, gap)
    level = _level(miss, priority, gap, now() - began)
    if miss.met or miss.upper is None:
        return Missed(level, question, confirmation, miss.point)
    later = replace(miss.aimed(relaxed(miss.goal, priority.held(miss.upper))), distance=question.distance)
    return Missed(level, later, Confirmation(search.judge), miss.point)


def shortfall_at(search: Search, wanted: Wanted | None, question: Question, point: Point) -> Fraction:
    """How far the deployed model misses a goal at a point."""
    assert wanted is not None
    judge = search.judge
    goal = measured(wanted, judge.table)
    return missed(goal, judge.numbers(question, point, goal), judge.table.classes)


def _close_in(miss: _Miss, gap: Gap) -> None:
    """Bisect between what was refuted and the best point."""
    if miss.question.obeys(miss.question.start):
        miss.take(miss.question.start)
    elif not miss.ask(miss.aimed(relaxed(miss.goal, FARTHEST)), FARTHEST):
        return
    refuted = 0  # in a row
    while miss.upper is not None and miss.upper - miss.lower > max(miss.slack, _allowed(gap, miss.upper)):
        if miss.limits.deadline.over:
            miss.why = miss.limits.deadline.why
            return
        if refuted >= PATIENCE:
            # Anything better than the best point, as far as rounding lets that be refuted.
            radius = miss.upper - max(Fraction(0), miss.slack - doubt(miss.goal)) / 2
            found = miss.ask(miss.aimed(relaxed(miss.goal, radius, strict=True)), radius - doubt(miss.goal))
        else:
            radius = exact(nearest((miss.lower + miss.upper) / 2))
            found = miss.ask(miss.aimed(relaxed(miss.goal, radius)), radius)
        if miss.why:
            return
        refuted = 0 if found else refuted + 1


def _allowed(gap: Gap, upper: Fraction) -> Fraction:
    return max(gap.absolute, gap.relative * upper)


def _level(miss: _Miss, priority: Priority, gap: Gap, seconds: float) -> Level:
    """What was found, as a level."""
    upper, met = miss.upper, miss.met
    closed = upper is not None and upper - miss.lower <= max(miss.slack, _allowed(gap, upper))
    nothing = upper is None and not miss.why
    status: Status = "infeasible" if nothing else "optimal" if closed else "unknown" if upper is None else "bounded"
    return Level(
        priority.name,
        status,
        upper,
        miss.lower,
        why=miss.why,
        oracle=miss.oracle,
        seconds=seconds,
        question=miss.question if met else miss.refuted,
        proof=[Leaf("distance")] if met else miss.proof,
        witness=miss.point if met else None,
        claimed=Fraction(0) if met else None,
        timeout=miss.limits.deadline.seconds,
        missing=True,
    )
