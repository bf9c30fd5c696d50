"""A mean of probabilities: the pieces of scores that make its goal tight where the nearest point lies.

In:  a question about a model that says a mean (`mace.problem.goal_means`), and a way to ask an oracle and the model.
Out: the same question with a goal of smaller pieces, and the nearest point with the goal that was met on the way.
How: branch and bound over boxes of scores. The nearest point of the best piece, with its half-space, is asked of the
deployed model; where that refuses it, the piece is split at its scores, along the member whose line is farthest above
what the member says there. Pieces that are no nearer than the best point known stay as they are.
Promise: the pieces hold together all scores that the model can have nearer than the best point, so that up to there
the goal encloses the same as before; farther away no answer claims anything.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.deadline import Deadline, TimeOverError
from mace.base.exact import above
from mace.certify.recheck import read
from mace.errors import NowhereError
from mace.problem.goal_means import (
    Condition,
    Part,
    Piece,
    about_two,
    conditions_of,
    covered,
    leaning,
    nowhere,
    over,
    stated,
    whole_of,
)
from mace.problem.question import Goal, Question
from mace.solve.choice import choose
from mace.solve.driver import Bracket, bracket_optimum, bracket_within, conclude, pull_back
from mace.solve.ensembles.means.reached import sums_within
from mace.solve.onward import onward
from mace.solve.protocol import Gap, Limits, Oracle
from mace.space.axes import GridAxis, Point
from mace.tables.decide import mean_at
from mace.tables.margins import network_error
from mace.tables.means import counts, probability
from mace.tables.table import Decision, Ensemble, Floats, Network

MOST_PIECES = 1000
MOST_TOGETHER = 24  # with more, one proof about all of them takes far longer than the pieces did
TIME = 0.5  # of the time allowed, for the pieces
GUESSING = 0.3  # of that, for a first point of networks
LENGTHS = (1.0, 1.5, 3.0)
"""Of the way on which all members come to say the mean, where a first point of networks is looked for."""
_LOOSE = Fraction(1, 5)
"""Of what lies between a piece's bound and the best point, or of its distance, its bounds may stay apart: where it is
split then, its nearest point is of no interest."""
MOST_TOUCHING = 8  # half-spaces of a piece beside the last one
_ENOUGH = 0.5  # of what a point is short of the goal a half-space may leave, else its piece is split
_NARROW = 0.1  # of a piece: how near to its end a point lies so near that it is not split there
_TIGHT = 1e-7  # lines that are no farther above a member are not brought nearer


class Refined(NamedTuple):
    """The question with its pieces, the best point known, and the distance below which every piece was refuted.

    pieces: how many there are.
    why:    which limit ended the search for them, or why nothing better is known of some; "" for none.
    """

    question: Question
    best: Point | None
    lower: Fraction
    pieces: int
    why: str = ""

    @property
    def unproved(self) -> str:
        """Why a bound that rests on the pieces alone has no certificate."""
        return f"it rests on one proof for each of {self.pieces} pieces of the goal"

    def bracket(self, gap: Gap) -> Bracket | None:
        """What the pieces prove by themselves, where there are too many for one proof."""
        if self.best is None or self.pieces <= MOST_TOGETHER:
            return None
        upper = self.question.distance_of(self.best)
        found = Bracket(self.lower, upper, self.best, why=self.why, unproved=self.unproved)
        conclude(found, gap)
        return found

    def raises(self, bracket: Bracket, gap: Gap) -> None:
        """Raise the bound of a bracket that one proof of all pieces left open, if theirs is higher."""
        if bracket.status not in ("bounded", "unknown") or self.lower <= bracket.lower:
            return
        bracket.lower = self.lower if bracket.upper is None else min(self.lower, bracket.upper)
        bracket.proof, bracket.unproved = None, self.unproved
        conclude(bracket, gap)


class Asks(NamedTuple):
    """How pieces are asked about. confirm: whether the deployed model has the goal at a point; oracle: by its name."""

    confirm: Callable[[Point], bool]
    oracle: str
    gap: Gap
    limits: Limits

    def share(self, part: float) -> Asks:
        """The same within a part of the time that is left."""
        return self._replace(limits=replace(self.limits, deadline=self.limits.deadline.share(part)))


def nearer(
    question: Question,
    table: Ensemble | Network,
    asks: Asks,
    best: Point,
    deadline: Deadline,
    rough: Callable[[Point], bool] | None = None,
) -> Point:
    """A point with the goal, pulled back towards the start.

    rough: what may have the goal, by a faster way than to ask the table.
    """
    wanted = about_two(question.goal.wanted)
    assert wanted is not None
    conditions = conditions_of(wanted, table.classes)
    anything = question.aimed(Goal(question.goal.text, question.goal.labels, ((),), enclosed=True), table)

    def sure(point: Point) -> bool:
        return _surely(table, conditions, question.row(point))

    found = best if rough is None else pull_back(anything, best, rough, deadline)
    if rough is None or not sure(found):
        found = pull_back(anything, best, sure, deadline)
    return found if asks.confirm(found) else best


def _surely(table: Ensemble | Network, conditions: Sequence[Condition], row: Floats) -> bool:
    """Whether a row has the goal, beyond rounding error, by what was read of the model."""
    mean = mean_at(table, row)
    return all(one.sign * (mean.low if one.sign > 0 else mean.high) > one.bound for one in conditions)


def within(whole: Piece, low: Floats, high: Floats) -> Piece:
    """The scores between sums, for whose rounding there is room."""
    far = 1e-9 * (1.0 + np.abs(low) + np.abs(high))
    return whole.within(low - far, high + far)


def refined(question: Question, table: Ensemble | Network, asks: Asks, best: Point | None) -> Refined:
    """Divide the goal into pieces of scores until the nearest point is known, or a limit is reached.

    table: the model's own, of which the question's has more scores.
    """
    wanted = about_two(question.goal.wanted)
    if wanted is None:
        return Refined(question, best, Fraction(0), 1)
    conditions = conditions_of(wanted, table.classes)
    search = _Pieces(question, table, conditions, asks, best)
    search.run()
    try:
        decision, wide = covered(table, conditions, search.pieces, str(wanted), search.ball)
    except NowhereError:
        if search.best is not None:  # nothing nearer has the goal; the point itself lies at the very end of a piece
            return Refined(question, search.best, search.lower, 1)
        decision, wide = nowhere(table)  # what is asked reaches beyond the goal: its points would be refused one by one
    goal = replace(question.goal, decision=decision)
    found = replace(question, goal=goal, model=wide)
    return Refined(found, search.best, search.lower, len(decision), search.why)


class _Open(NamedTuple):
    """An open piece and a bound of it; of equal bounds the least `order` is next.

    tight: whether its nearest point itself is wanted.
    """

    bound: Fraction
    order: int
    piece: Piece
    tight: bool = False


class _Pieces:
    """The search: open pieces by the bound of what they were cut from, and closed ones."""

    def __init__(
        self,
        question: Question,
        table: Ensemble | Network,
        conditions: tuple[Condition, ...],
        asks: Asks,
        best: Point | None,
    ) -> None:
        self.question, self.table, self.asks, self.best = question, table, asks, best
        assert table.link is not None
        self.link, self.counts = table.link, counts(table.link)
        self.conditions = conditions
        self.limits = asks.share(TIME).limits
        self.ball = whole_of(table)
        self.open: list[_Open] = []
        if isinstance(table, Network) and best is None:
            self._guess()
            best = self.best
        if best is not None:
            self.best = nearer(question, table, asks, best, self.limits.deadline)
        self.ball = self._ball()
        self.open = [_Open(Fraction(0), 0, self.ball)]
        self.closed: list[Piece] = []
        self.why = ""
        self.least: Fraction | None = None  # bound of pieces whose nearest point was taken, or no line could refuse

    @property
    def lower(self) -> Fraction:
        """No point with the goal is nearer than this."""
        bounds = [one.bound for one in self.open] + ([] if self.least is None else [self.least])
        bounds += [] if self.best is None else [self.question.distance_of(self.best)]
        return min(bounds, default=Fraction(0))

    @property
    def pieces(self) -> list[Piece]:
        """All pieces, within what can be reached nearer than the best point."""
        found = [self._inside(piece) for piece in (*self.closed, *(one.piece for one in self.open))]
        return [piece for piece in found if piece is not None]

    def run(self) -> None:
        """Split pieces until none is nearer than the best point, or there are too many."""
        made = 1
        # Invariant: no point with the goal whose scores lie in an open piece is nearer than its bound.
        while self.open:
            bound, _, piece, tight = self.open[0]
            if self.best is not None and self._enough(bound, self.question.distance_of(self.best)):
                return
            if made >= MOST_PIECES or self.limits.deadline.over:
                self.why = self.limits.deadline.why if self.limits.deadline.over else f"{made} pieces of the goal"
                return
            heapq.heappop(self.open)
            inside = self._inside(piece)
            found = None if inside is None else self._nearest(inside, bound, tight=tight)
            if found is not None and found.why and (found.point is None or self.limits.deadline.over):
                if not self.limits.deadline.over:  # rounding decides about some point, or a proof was refused
                    if tight:
                        self._close(piece, found.lower)
                        self.why = found.why
                    else:
                        heapq.heappush(self.open, _Open(max(bound, found.lower), 0, piece, tight=True))
                    continue
                heapq.heappush(self.open, _Open(max(bound, found.lower), 0, piece))
                self.why = found.why
                return
            if found is None or found.point is None and found.status != "unknown":
                self.closed.append(piece)
                continue
            if found.point is None:
                self._close(piece, found.lower)
                self.why = found.why
                continue
            split = () if self._taken(found.point) else self._split(piece, found.point)
            self._go_on(found.point)
            if not split and not tight and found.lower < self.question.distance_of(found.point):
                heapq.heappush(self.open, _Open(max(bound, found.lower), 0, piece, tight=True))
            elif not split:  # the gap that was asked for may lie between the bound and the point
                self._close(piece, found.lower)
                self.why = self.why or found.why
            # Of equal bounds the latest half comes first in which members say more: a point with the goal is met there.
            for child in sorted(split, key=self._said):
                made += 1
                heapq.heappush(self.open, _Open(max(bound, found.lower), -made, child))

    def _guess(self) -> None:
        """A first point: where one weighted sum of the scores says what the mean shall, or beyond."""
        here = self.table.scores(self.question.row(self.question.start))
        gap = replace(self.asks.gap, relative=max(self.asks.gap.relative, _LOOSE))
        limits = self.asks.share(TIME * GUESSING).limits
        for length in LENGTHS:
            half = leaning(self.table, self.conditions[0], here, length)
            if half is None or limits.deadline.over:
                return
            found = self._asked(*stated(self.table, [Part([], [half])], self.question.goal.text), gap, limits)
            if found.point is not None and not self._taken(found.point):
                self._go_on(found.point)
            if self.best is not None or found.point is None:
                return

    def _ball(self) -> Piece:
        """The scores that the model can have nearer than the best point known."""
        whole = self.ball
        if isinstance(self.table, Network):
            low, high = _reached(self.question, self.table, self.best)
        elif self.best is None:
            return whole
        else:
            radius = self.question.distance_of(self.best)
            try:
                low, high = sums_within(self.question, radius, self.limits.deadline)
            except TimeOverError:  # what is known of a larger ball, or of all points, holds as well
                return whole
            low, high = low[: self.table.outputs], high[: self.table.outputs]
        return within(whole, low, high)

    def _inside(self, piece: Piece) -> Piece | None:
        """The part of a piece that lies in the ball; None for an empty one."""
        found = piece.within(np.array(self.ball.low), np.array(self.ball.high))
        return found if all(a <= b for a, b in zip(found.low, found.high, strict=True)) else None

    def _nearest(self, piece: Piece, bound: Fraction, *, tight: bool) -> Bracket | None:
        """The nearest point of a piece, as its half-space has it, about so or `tight`; None where none has the goal.

        bound: what is known of it.
        """
        try:
            decision, wide = covered(self.table, self.conditions, [piece], self.question.goal.text, self.ball)
        except NowhereError:
            return None
        radius = None if self.best is None else self.question.distance_of(self.best)
        gap = self.asks.gap
        if not tight and radius is None:
            gap = replace(gap, relative=max(gap.relative, _LOOSE))
        elif not tight and radius is not None:
            gap = replace(gap, absolute=max(gap.absolute, _LOOSE * (radius - bound)))
        return self._asked(decision, wide, gap, self.limits)

    def _asked(self, decision: Decision, wide: Ensemble | Network, gap: Gap, limits: Limits) -> Bracket:
        """The nearest point of comparisons that is nearer than the best one known."""
        asked = replace(self.question, goal=replace(self.question.goal, decision=decision), model=wide)
        oracle, _ = choose(asked, self.asks.oracle)
        radius = None if self.best is None else self.question.distance_of(self.best)

        def accept(_: Point) -> bool:
            return True

        def ask(oracle: Oracle, known: Point | None) -> Bracket:
            if radius is None:
                return bracket_optimum(asked, oracle, accept, gap=gap, limits=limits, best=known)
            return bracket_within(asked, oracle, accept, radius, gap=gap, limits=limits, best=known)

        try:
            return read(asked, oracle, ask, limits.deadline).bracket
        finally:
            oracle.close()

    def _enough(self, bound: Fraction, upper: Fraction) -> bool:
        """Whether a bound is as near to the best point's distance as was asked for."""
        return bound >= upper or self.asks.gap.met(bound, upper)

    def _close(self, piece: Piece, lower: Fraction) -> None:
        """Leave a piece as it is, with a bound that lies below the best point's distance."""
        self.closed.append(piece)
        self.least = lower if self.least is None else min(self.least, lower)

    def _go_on(self, point: Point) -> None:
        """Of a network the nearest point of a piece lies on the goal's edge, just short of it: a little farther on the
        model has the goal."""
        if not isinstance(self.table, Network) or point == self.best:
            return

        def has_it(point: Point) -> bool:  # by what was read of the model first: its own numbers cost more
            return _surely(self.table, self.conditions, self.question.row(point)) and self.asks.confirm(point)

        known = None if self.best is None else self.question.distance_of(self.best)
        farther = onward(self.question, point, has_it, known, self.limits.deadline)
        if farther is not None:
            self.best = farther
            self.ball = self._ball()

    def _taken(self, point: Point) -> bool:
        """Whether the nearest point of a piece has the goal; then it may be the best one."""
        mean = mean_at(self.table, self.question.row(point))
        possible = all(one.sign * (mean.high if one.sign > 0 else mean.low) >= one.bound for one in self.conditions)
        if not possible or not self.asks.confirm(point):
            return False
        if self.best is None or self.question.distance_of(point) < self.question.distance_of(self.best):
            self.best = point
            self.ball = self._ball()
        return True

    def _said(self, piece: Piece) -> float:
        """What the members say at most in a piece, towards the first condition."""
        sign = self.conditions[0].sign
        ends = [probability(part, np.array([piece.low[k], piece.high[k]])) for k, part in enumerate(self.link.parts)]
        return float(sum(counted * (sign * end).max() for counted, end in zip(self.counts, ends, strict=True)))

    def _split(self, piece: Piece, point: Point) -> tuple[Piece, ...]:
        """What takes the place of a piece whose nearest point lacks the goal: itself with one more half-space, where
        that takes most away of what the point has too much, or its two halves at the point's scores; nothing where no
        line would come nearer."""
        row = self.question.row(point)
        at = tuple(np.clip(self.table.scores(row), piece.low, piece.high).tolist())
        touching, mean = piece._replace(at=at), mean_at(self.table, row)
        gaps = self.counts * np.array([
            [over(part, condition, touching, at, k) for k, part in enumerate(self.link.parts)]
            for condition in self.conditions
        ])  # fmt: skip
        missing = [one.bound - one.sign * (mean.low if one.sign > 0 else mean.high) for one in self.conditions]
        left = gaps.mean(axis=1) / np.maximum(missing, _TIGHT)  # of what is missing, once that half-space is there
        if isinstance(self.table, Network) and left.min() < _ENOUGH and at not in (piece.at, *piece.also):
            return (piece.touched(at, MOST_TOUCHING),)
        inside = np.array([low < x < high for low, x, high in zip(piece.low, at, piece.high, strict=True)])
        over_ = np.where(inside, gaps.max(axis=0), 0.0)
        worst = int(np.argmax(over_))
        return piece.split(worst, self._place(piece, worst, at[worst]), at) if over_[worst] > _TIGHT else ()

    def _place(self, piece: Piece, score: int, at: float) -> float:
        """Where a piece is split that has a point at some score: there, or, where that is so near to one of its ends
        that the other half would hardly be smaller, beyond, so that the point has a narrow piece to itself."""
        low, high = piece.low[score], piece.high[score]
        near = min(at - low, high - at)
        if not isinstance(self.table, Network) or not near < _NARROW * (high - low):
            return at
        return at + near if at - low == near else at - near


def _reached(question: Question, table: Network, best: Point | None) -> tuple[Floats, Floats]:
    """The least and the largest scores that a network can have on the rows that a question allows.

    best: only on those that are nearer, where a point is known.
    """
    from mace.solve.networks.model import column_bounds, columns_of  # late: most models are no networks
    from mace.solve.networks.spans import span

    low, high = np.empty(table.columns), np.empty(table.columns)
    error = network_error(table, *column_bounds(question, columns_of(question)))
    for k, column in enumerate(question.columns):
        axis = question.axes[column.feature]
        if isinstance(axis, GridAxis):
            ends = [column.of(column.given(axis.value(index))) for index in (axis.lower, axis.upper)]
        else:
            ends = [column.at(axis, level) for level in axis.levels()]
        low[k], high[k] = min(ends), max(ends)
    for layer in table.layers:
        low, high = _through(layer.weights, low, high) + layer.bias
        if layer.activation == "relu":
            low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
    if best is not None and (near := span(question, table, question.distance_of(best))) is not None:
        low, high = np.maximum(low, near.low), np.minimum(high, near.high)
    # The model's own rounding, that of the sums here, and room for pieces that end there.
    far = 4 * np.array([above(one) for one in error]) + 1e-6 * (1.0 + np.abs(low) + np.abs(high))
    return low - far, high + far


def _through(weights: Floats, low: Floats, high: Floats) -> Floats:
    """The least and the largest sums, shape (2, outputs), of a layer over a box."""
    positive, negative = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    return np.stack([low @ positive + high @ negative, high @ positive + low @ negative])
