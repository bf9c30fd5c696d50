"""One answer: a first point from the background rows, then an oracle, then the checker's reading of its proof.

In:  a question, limits, and what asks the deployed model about points (`Confirmation`).
Out: `Searched`: the bracket, the question as the oracle answered it (with what the model refused), the oracle's name.
Promise: the point was confirmed; the bound is one that `mace.certify.recheck` lets count.
How: most questions are one call of `bracket_optimum`. A mean of probabilities is searched by its members or in pieces,
plausibility row by row; where a network's goal is a probability of several classes, cutting planes come first.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mace.base.deadline import NEVER, Deadline
from mace.certify.recheck import Read, read
from mace.explain.deployed.confirmation import Confirmation
from mace.explain.deployed.judge import Judge
from mace.explain.probabilities.means import Asks, refined
from mace.explain.probabilities.members import Members, by_members
from mace.explain.probabilities.softmax import touched, well_inside
from mace.explain.proposing.beside import Beside, Nearest, Told
from mace.explain.proved.level import Level
from mace.problem.distance import Distance, DistanceError, NearestRow, is_measured
from mace.problem.goal_means import is_mean
from mace.problem.goals import Classes, Margin, Wanted
from mace.problem.lines import lines_of
from mace.problem.plausibility import from_row, least_of
from mace.problem.proof import FromRow, Leaf, Proof, ProofNode
from mace.problem.question import Question
from mace.solve.background import Background
from mace.solve.choice import choose, known
from mace.solve.driver import Bracket, bracket_optimum, bracket_within, bring_in, conclude, pull_back
from mace.solve.ensembles.means.cover import Refuted
from mace.solve.ensembles.means.prover import PATIENCE
from mace.solve.lattice import denominator
from mace.solve.protocol import NEARLY, Gap, Limits, Oracle
from mace.solve.status import is_final
from mace.space.axes import Point
from mace.tables.table import Ensemble, Formula, Network

HEAD_START = 0.3  # of the time allowed, for a first upper bound
HALF = 0.5  # of the time left, for pieces that bound a mean no better than its members did
UNPROVED = "from some background row the bound has no proof"


class Searched(NamedTuple):
    """A bracket, the question as the oracle answered it, the oracle's name, and a note on the choice of it.

    claim:  what the proof says of the question's distance, where that is not the bracket's bound.
    levels: of an answer by objectives.
    unit:   what a distance of 1 is to people.
    gap:    how close two bounds count as equal.
    """

    bracket: Bracket
    question: Question
    oracle: str
    note: str
    claim: Fraction | None = None
    levels: tuple[Level, ...] = ()
    unit: Fraction = Fraction(1)
    gap: Gap = Gap()


def tighter(one: Searched, other: Searched, gap: Gap) -> Searched:
    """Of two answers to the same question the one with the larger bound, with the nearer point of both."""
    if is_final(other.bracket.status) or other.bracket.lower >= one.bracket.lower:
        return other
    if other.bracket.point is not None and other.bracket.upper is not None:
        bring_in(one.bracket, other.bracket.point, other.bracket.upper, gap)
    one.bracket.why = other.bracket.why
    return one


def nothing_less(distance: Distance) -> Proof | None:
    """The proof that no distance is below 0; None where certificates do not speak of the distance."""
    if isinstance(distance, NearestRow):
        return []
    return [Leaf("distance")] if is_measured(distance) else None


@dataclass(frozen=True)
class Search:
    """How every answer to one row is looked for.

    judge: says which background rows have a goal.
    rows:  for what is wanted, the background rows with what the model says of each that tells whether they have it.
    oracle, gap, rgap, callback: as for `mace.explain`.
    beside: a proposer that runs beside the oracle.
    """

    judge: Judge
    rows: Callable[[Wanted], Background | None]
    oracle: str
    gap: object
    rgap: object
    callback: Callable[[Bracket], None] | None
    beside: Beside | None = None

    def __post_init__(self) -> None:
        # Not only where it comes to a search: a row may have the goal already.
        known(self.oracle)
        Gap.asked(self.gap, self.rgap)

    def watch(self, bracket: Bracket) -> None:
        """Say how far the search is."""
        if self.callback is not None:
            self.callback(bracket)

    def located(self, question: Question, distance: Distance, deadline: Deadline = NEVER) -> Distance:
        """A distance; that to the nearest background row with the question's goal with these rows.

        Raises DistanceError where there is none, and TimeOverError before all are known.
        """
        if not isinstance(distance, NearestRow) or distance.rows:
            return distance
        goal = question.goal.wanted
        rough = _by_decision(goal)
        known = None if rough is None else self.rows(rough)
        if known is None or rough is None:
            raise DistanceError("plausibility is measured by what a trained model says of background rows")
        known.read(deadline)
        deadline.look("reading background rows")
        points, left_out = known.points(question, lambda said: self.judge.met(rough, said), deadline)
        if rough is not goal:
            points = [point for point in points if self.judge.meets(question, point)]
        if not points and left_out:
            raise DistanceError(
                f"no background row with the goal `{question.goal.text}` is a point of the space: each is off a "
                "feature's grid, or lacks a value that may not be missing",
                hint="Give features a `step` on which the rows lie, or leave out plausibility.",
            )
        if not points:
            raise DistanceError(
                f"no background row has the goal `{question.goal.text}`, so that none can be near",
                hint="Give more background rows, or leave out plausibility.",
            )
        return replace(distance, rows=tuple(points), left_out=left_out)

    def nearest(
        self, question: Question, confirmation: Confirmation, limits: Limits, best: Point | None = None,
        refuted: list[Refuted] | None = None,
    ) -> Searched:  # fmt: skip
        """One answer of an oracle; the caller settles its point with `confirmation`.

        best: an allowed point with the goal, if one is known.
        refuted: gets the scores that the proof refutes of a mean of trees, whose goal the caller names then.
        """
        told = Told(self.watch)
        nearest = Nearest(question, told.better)
        asked = question

        def confirm(point: Point) -> bool:
            accepted = confirmation.confirms(question, point)
            if accepted and self.beside is not None and question.obeys(point):
                nearest.bring(point)
            return accepted

        free = question.obeys(question.start) and question.distance_of(question.start) <= 0
        if free and confirm(question.start):
            proof = nothing_less(question.distance)
            done = Bracket(Fraction(0), Fraction(0), question.start, "optimal", proof=proof)
            return Searched(done, question, "none (no change is needed)", "")
        if isinstance(question.distance, NearestRow):
            return self._by_rows(question, question.distance, confirmation, limits, best)
        oracle, note = choose(question, self.oracle)
        gap = _gap(self.gap, self.rgap, oracle, question)
        best = best or self._first(question, oracle, confirmation, limits.deadline.share(HEAD_START))
        asks = Asks(confirm, self.oracle, gap, limits)
        table = question.model if question.goal.wanted is None else self.judge.table
        if oracle.optimises and is_mean(table) and not isinstance(table, Formula):
            oracle.close()
            found = self._mean(question, table, oracle.name, asks, best, told, nearest, refuted)
            return found._replace(note=found.note or note)
        if oracle.optimises:
            question, best = touched(question, table, asks, best)
            if question is not asked:
                oracle.close()
                oracle, note = choose(question, self.oracle)
        bracket, answered = self._read(question, oracle, asks, best, told, nearest)
        self._inside(question, bracket, confirmation, limits, gap)
        if nearest.near is not None:
            bring_in(bracket, *nearest.near, gap)
        return Searched(bracket, answered, oracle.name, note, gap=gap)

    def _mean(
        self, question: Question, table: Ensemble | Network, name: str, asks: Asks, best: Point | None, told: Told,
        nearest: Nearest, refuted: list[Refuted] | None,
    ) -> Searched:  # fmt: skip
        """A mean of probabilities: by its members, where they are trees; where that stalls, or they are not, by pieces.

        name: the oracle's. refuted: see `nearest`; scores are refuted by the members' search alone.
        """
        gap, deadline = asks.gap, asks.limits.deadline
        members = by_members(question, table) if name == "ensembles" else None

        def answer(question: Question, oracle: Oracle, asks: Asks, best: Point | None, note: str = "") -> Searched:
            bracket, answered = self._read(question, oracle, asks, best, told, nearest)
            if nearest.near is not None:
                bring_in(bracket, *nearest.near, gap)
            return Searched(bracket, answered, name, note, gap=gap)

        def named(members: Members, found: Searched) -> Searched:
            return found._replace(question=members.named(found.bracket, found.question, deadline, refuted))

        first: Searched | None = None
        if members is not None:
            members.oracle.patience = PATIENCE if refuted is None else None
            best = best if best is None else members.nearer(question, asks, best)
            first = answer(question, members.oracle, asks, best)
            if not members.oracle.stalled or deadline.over:
                return named(members, first)
            best = first.bracket.point or best
        pieces = refined(question, table, asks, best)
        known = pieces.bracket(gap)
        if known is not None:
            found = Searched(known, pieces.question, name, "", gap=gap)
        else:
            oracle, note = choose(pieces.question, self.oracle)
            behind = first is not None and pieces.lower <= first.bracket.lower
            found = answer(pieces.question, oracle, asks.share(HALF) if behind else asks, pieces.best, note)
            pieces.raises(found.bracket, gap)
        done = is_final(found.bracket.status)
        if members is None or first is None or done or found.bracket.lower > first.bracket.lower:
            return found
        # Lines above what members say leave too much, as above steps; but a nearer point may be known now.
        members.oracle.patience = None
        again = answer(question, members.oracle, asks, found.bracket.point or pieces.best)
        return named(members, tighter(first, again, gap))

    def _read(
        self, question: Question, oracle: Oracle, asks: Asks, best: Point | None, told: Told, nearest: Nearest
    ) -> Read:
        """What an oracle says, beside a proposer where there is one; the oracle is closed then."""
        limits = asks.limits
        beside = nullcontext(limits) if self.beside is None else self.beside.begun(question, nearest, limits)

        def ask(own: Limits, oracle: Oracle, known: Point | None) -> Bracket:
            return bracket_optimum(
                question, oracle, asks.confirm, gap=asks.gap, limits=own, best=known or best, watch=told.by_prover
            )

        try:
            with beside as own:
                return read(question, oracle, partial(ask, own), own.deadline)
        finally:
            oracle.close()

    def _inside(
        self, question: Question, bracket: Bracket, confirmation: Confirmation, limits: Limits, gap: Gap
    ) -> None:
        """A nearer point, where a probability of several classes is covered by half-spaces that reach beyond it: the
        nearest one that lies well inside."""
        asked = well_inside(question, self.judge.table) if bracket.status == "bounded" else None
        if asked is None:
            return
        oracle, _ = choose(asked, self.oracle)
        try:
            found = bracket_optimum(
                asked,
                oracle,
                lambda point: confirmation.confirms(question, point),
                gap=gap,
                limits=limits,
                best=bracket.point,
            )
        finally:
            oracle.close()
        if found.point is not None and found.upper is not None:
            bring_in(bracket, found.point, found.upper, gap)

    def _by_rows(
        self, question: Question, distance: NearestRow, confirmation: Confirmation, limits: Limits, best: Point | None
    ) -> Searched:
        """The point that is nearest to any of the rows: each is asked about, the nearest to what is allowed first.

        Where there is no point with the goal at all, one proof speaks of all rows.
        """
        bracket = Bracket(point=best, upper=None if best is None else question.distance_of(best))
        searched: Searched | None = None
        left: list[Fraction] = []  # bounds of rows that were not closed
        proofs: list[ProofNode] = []
        proved = True
        for least, row in least_of(question, distance):
            if bracket.why or bracket.upper is not None and least >= bracket.upper:
                left.append(least)
                break
            found = self._nearer(from_row(question, distance, row), confirmation, limits, bracket)
            searched = found if searched is None else found._replace(note=searched.note or found.note)
            one = found.bracket
            if one.status == "infeasible":
                return found
            left.append(max(least, one.lower))
            if one.lower > least and one.proof is not None:
                proofs.append(FromRow(row, one.refused, one.proof))
            proved = proved and (one.lower <= least or one.proof is not None)
        assert searched is not None or bracket.upper is not None
        bracket.lower = min(left, default=Fraction(0))
        if bracket.upper is not None:
            bracket.lower = min(bracket.lower, bracket.upper)
        gap = searched.gap if searched is not None else Gap()
        conclude(bracket, gap)
        bracket.proof, bracket.unproved = (proofs, "") if proved else (None, UNPROVED)
        note = "" if searched is None else searched.note
        oracle = "none" if searched is None else f"{searched.oracle}, for each background row"
        return Searched(bracket, question, oracle, note, gap=gap)

    def _nearer(self, question: Question, confirmation: Confirmation, limits: Limits, best: Bracket) -> Searched:
        """One row: a point nearer to it than the best one known, which it takes the place of, or a bound."""
        confirm = partial(confirmation.confirms, question)
        oracle, note = choose(question, self.oracle)
        gap, radius = _gap(self.gap, self.rgap, oracle, question), best.upper

        def ask(oracle: Oracle, known: Point | None) -> Bracket:
            if radius is None or not oracle.optimises:
                return bracket_optimum(question, oracle, confirm, gap=gap, limits=limits, best=known, watch=self.watch)
            return bracket_within(question, oracle, confirm, radius, gap=gap, limits=limits, best=known)

        try:
            found, _ = read(question, oracle, ask, limits.deadline)
        finally:
            oracle.close()
        best.trace += found.trace
        best.why = found.why
        best.refused = tuple(dict.fromkeys((*best.refused, *found.refused)))
        if found.point is not None and found.upper is not None and (best.upper is None or found.upper < best.upper):
            best.point, best.upper = found.point, found.upper
        self.watch(best)
        return Searched(found, question, oracle.name, note, gap=gap)

    def _first(
        self, question: Question, oracle: Oracle, confirmation: Confirmation, deadline: Deadline
    ) -> Point | None:
        """The nearest background row with the goal, pulled back towards the start unless the oracle does it itself."""
        rough = _by_decision(question.goal.wanted)
        known = None if rough is None else self.rows(rough)
        if known is None or rough is None:
            return None

        confirm = partial(confirmation.confirms, question)
        for point in known.near(question, _Met(self.judge, rough), deadline):
            if deadline.over:
                break
            # The model said that this row has the goal: where its numbers deny that, it is asked again, alone.
            if confirm(point) or confirmation.ask(question, point):
                return point if oracle.optimises else pull_back(question, point, confirm, deadline)
        return None


@dataclass(frozen=True)
class _Met:
    """Which rows have a goal, by what the model says of them; the same for the same goal."""

    judge: Judge
    goal: Wanted

    def __call__(self, said: NDArray[Any]) -> NDArray[np.bool_]:
        return self.judge.met(self.goal, said)


def _by_decision(goal: Wanted | None) -> Wanted | None:
    """A goal as background rows tell it: a margin in score is judged by scores, but the class leads there at least."""
    return Classes(frozenset([goal.label])) if isinstance(goal, Margin) and goal.in_score else goal


def _gap(gap: object, rgap: object, oracle: Oracle, question: Question) -> Gap:
    """The gap asked for; when nothing is said, what the oracle reaches as a matter of course."""
    if gap is None and rgap is None:
        if not oracle.optimises:
            return Gap.usual(question.distance, Fraction(1, 10**6), Fraction(1, 1000))
        if oracle.name == "forms":
            return Gap.usual(question.distance, NEARLY, Fraction(1, 10**6))
        # Where linear rules hold barely, the nearest values lie between those of a grid.
        between = bool(lines_of(question.rules)) and denominator(question.axes, question.distance) is None
        return Gap.usual(question.distance, NEARLY) if between or oracle.name != "ensembles" else Gap()
    return Gap.asked(gap, rgap)
