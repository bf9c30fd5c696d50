"""Goals of a mean of probabilities as comparisons of scores: boxes of scores, and a half-space in each.

In:  a table whose probability is a mean (`mace.tables.means`), what the mean shall be at least or at most, and pieces,
     boxes of scores that hold together all that the model can say.
Out: `covered`, the table with one more score for each piece, and the comparisons: some piece, and its half-space.
Promise: every row whose library's mean meets the conditions satisfies the comparisons. They reach beyond it, so a
witness counts only after the deployed model itself said so; the smaller the pieces, the less.
How: over an interval each part lies below a line, that of its least concave majorant at a place of interest. The sum
of the lines, each as often as its part counts, is at least what the sum of the parts must be.
Source: McCormick 1976, Computability of global solutions to factorable nonconvex programs (I): the concave envelopes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from mace.base.cache import Kept, Recent
from mace.base.exact import UNIT_ROUNDOFF, first_float
from mace.errors import EverywhereError, NowhereError
from mace.problem.goal_softmax import Covered, with_scores
from mace.problem.goals import Classes, Margin, Probability, Wanted
from mace.tables.margins import compare_slack
from mace.tables.means import counts, doubt, ends, probability
from mace.tables.table import Compare, Decision, Ensemble, Floats, Label, Link, Network, Table

FARTHEST = 1e300
_FEW, MANY = 513, 16385  # places at which a part is looked at
_NEAR, _FINER = 32, 64  # so few intervals between them are divided into so many
_BENT = 0.0963  # no second derivative of 1 / (1 + exp(-s)) is larger
_UNIT = float(UNIT_ROUNDOFF)


class Condition(NamedTuple):
    """sign * mean >= bound, for a sign of 1 or -1."""

    sign: float
    bound: float


class Piece(NamedTuple):
    """A box of scores, shape (scores,) each, and the place in it where its half-space shall be tight; an infinite score
    for a member of which the half-space shall say nothing.

    also: other places where there shall be a half-space.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    at: tuple[float, ...]
    also: tuple[tuple[float, ...], ...] = ()

    def touched(self, at: tuple[float, ...], most: int) -> Piece:
        """With one more half-space, which touches there; of all others the last `most` ones."""
        return self._replace(at=at, also=(self.at, *self.also)[:most])

    def split(self, score: int, place: float, at: tuple[float, ...]) -> tuple[Piece, Piece]:
        """The two parts up to a place, and from it on."""
        below = (*self.high[:score], place, *self.high[score + 1 :])
        above = (*self.low[:score], place, *self.low[score + 1 :])
        return Piece(self.low, below, at, self.also), Piece(above, self.high, at, self.also)

    def within(self, low: Floats, high: Floats) -> Piece:
        """The part of it that lies between scores, shape (scores,) each; empty where an end lies below the other."""
        least, most = np.maximum(self.low, low), np.minimum(self.high, high)
        ats = [tuple(np.minimum(np.maximum(at, least), most).tolist()) for at in (self.at, *self.also)]
        return Piece(tuple(least.tolist()), tuple(most.tolist()), ats[0], tuple(ats[1:]))


class Line(NamedTuple):
    """No less than a part over an interval: slope * score + constant."""

    slope: float
    constant: float


def is_mean(table: Table) -> bool:
    """Whether what a model says is a mean of probabilities."""
    return isinstance(table, (Ensemble, Network)) and table.link is not None and table.link.kind == "mean"


def about_two(goal: Wanted | None) -> Classes | Probability | None:
    """A goal about the probability of one of two classes, or a lead, which is one as well; None for any other."""
    if isinstance(goal, Margin):
        return None if goal.in_score else goal.of_two()
    if isinstance(goal, Probability) or isinstance(goal, Classes) and len(goal.labels) == 1:
        return goal
    return None


def conditions_of(goal: Classes | Probability, classes: Sequence[Label]) -> tuple[Condition, ...]:
    """A goal about two classes as conditions on the probability of the second.

    Raises EverywhereError for a probability that every input has.
    """
    if isinstance(goal, Classes):
        (label,) = goal.labels
        return (Condition(1.0, 0.5) if label == classes[1] else Condition(-1.0, -0.5),)
    low, high = goal.between.low, goal.between.high
    found = []
    if low is not None and (low > 0 or low == 0 and goal.between.low_strict):  # steps may end at 0 and at 1
        found.append(Condition(1.0, low) if goal.label == classes[1] else Condition(-1.0, low - 1.0))
    if high is not None and (high < 1 or high == 1 and goal.between.high_strict):
        found.append(Condition(-1.0, -high) if goal.label == classes[1] else Condition(1.0, 1.0 - high))
    if not found:
        raise EverywhereError(f"every input has the goal `{goal}`")
    return tuple(found)


def covered(
    table: Ensemble | Network,
    conditions: Sequence[Condition],
    pieces: Sequence[Piece] | None,
    goal: str,
    whole: Piece | None = None,
) -> Covered:
    """The conditions as comparisons: those of some piece.

    pieces: None for what is known of the table alone.
    whole:  what holds all scores, whose ends nobody has to ask about; None for what is known of the table alone.
    Raises NowhereError where no piece meets them.
    """
    link = table.link
    assert link is not None
    whole = whole or whole_of(table)
    if pieces is None:
        pieces = _first(link, conditions[0], whole) if isinstance(table, Network) else (whole,)
    found = (_of_piece(link, conditions, piece, whole) for piece in pieces)
    return stated(table, [part for part in found if part is not None], goal)


def stated(table: Ensemble | Network, parts: Sequence[Part], goal: str) -> Covered:
    """That all comparisons of some part hold; raises NowhereError where there is no part."""
    if not parts:
        raise NowhereError(f"no input has the goal `{goal}`: the members never agree on it")
    rows: list[Floats] = []
    constants: list[float] = []
    told: list[list[Compare]] = []
    for part in parts:
        told.append([*part.ends])
        for weights, constant in part.halves:
            told[-1].append(Compare(table.outputs + len(rows), None, 0.0))
            rows.append(weights)
            constants.append(constant)
    decision: Decision = tuple(map(tuple, told))
    any_: Decision = ((),)
    wide = replace(table, decisions=(any_, any_), link=None)
    if rows:
        wide = with_scores(table, np.array(rows).T, np.array(constants), (any_, any_))
    return Covered(decision, wide)


def nowhere(table: Ensemble | Network) -> Covered:
    """A score that no row has, in the place of a goal that no row has."""
    return _one_score(table, FARTHEST)


def anywhere(table: Ensemble | Network) -> Covered:
    """A score that every row has, in the place of a goal that every row has."""
    return _one_score(table, -FARTHEST)


def _one_score(table: Ensemble | Network, least: float) -> Covered:
    if is_mean(table):
        any_: Decision = ((),)
        table = replace(table, decisions=(any_, any_), link=None)
    return Covered(((Compare(0, None, least),),), table)


def whole_of(table: Ensemble | Network) -> Piece:
    """All scores that a table can have; without end for a network, which is not asked for its inputs."""
    return _WHOLES.get(table, None, lambda: _whole_of(table))


_WHOLES: Kept[Piece] = Kept(1)


def _whole_of(table: Ensemble | Network) -> Piece:
    assert table.link is not None
    count = table.outputs
    low, high = np.full(count, -math.inf), np.full(count, math.inf)
    if isinstance(table, Ensemble):
        slack = [float(max(compare_slack(table, Compare(k, None)))) for k in range(count)]
        leaves = [tree.value[tree.column < 0] for tree in table.trees]
        low = table.start + sum(values.min(axis=0) for values in leaves)
        high = table.start + sum(values.max(axis=0) for values in leaves)
        far = np.array(slack) * 2 + 1e-9 * (1 + np.abs(low) + np.abs(high))
        low, high = (low - far) / table.divide, (high + far) / table.divide
    at = tuple(_middle(part, float(a), float(b)) for part, a, b in zip(table.link.parts, low, high, strict=True))
    return Piece(tuple(low.tolist()), tuple(high.tolist()), at)


def _middle(part: Link, low: float, high: float) -> float:
    """The score between two ends at which a part crosses 1/2, or else the end that is nearest to there."""
    rising = is_rising(part)
    turn = _turn(part, Condition(1.0 if rising else -1.0, 0.5 if rising else -0.5))
    return min(max(turn, low), high) if math.isfinite(turn) else min(max(0.0, low), high)


def is_rising(part: Link) -> bool:
    said = most_of(part, 1.0, np.array([-FARTHEST, FARTHEST]))
    return bool(said[1] >= said[0])


def most_of(part: Link, sign: float, scores: Floats) -> Floats:
    """The most that sign * part may be as the library rounds it, but for `doubt`; monotone as the part is."""
    said = ends(part, scores)
    return said.high if sign > 0 else -said.low


def _turn(part: Link, condition: Condition) -> float:
    """The least score of a part that meets a condition by itself, or, of a falling one, the largest; infinite where all
    or none do."""
    up = is_rising(part) == (condition.sign > 0)

    def holds(score: float) -> bool:
        return bool(most_of(part, condition.sign, np.array([score]))[0] >= condition.bound)

    inner, outer = (FARTHEST, -FARTHEST) if up else (-FARTHEST, FARTHEST)
    if not holds(inner) or holds(outer):
        return -outer if not holds(inner) else outer * math.inf
    if up:
        return first_float(holds, outer, inner)
    return math.nextafter(first_float(lambda score: not holds(score), inner, outer), -math.inf)


def _first(link: Link, condition: Condition, whole: Piece) -> list[Piece]:
    """Pieces without ends: where a mean meets a condition, so does one of its parts."""
    found = []
    wider = condition._replace(bound=condition.bound - 2 * doubt(link))
    for part in link.parts:
        turn, k = _turn(part, wider), part.score
        turn += (
            (-1 if is_rising(part) == (condition.sign > 0) else 1) * 1e-12 * abs(turn) if math.isfinite(turn) else 0.0
        )
        below, above = whole.split(k, turn, whole.at)
        found.append(above if is_rising(part) == (condition.sign > 0) else below)
    return found


class Part(NamedTuple):
    """Comparisons that all hold: of single scores, and of sums of them."""

    ends: list[Compare]
    halves: list[Half]


class Half(NamedTuple):
    """A half-space: weights @ scores + constant >= 0, the magnitudes of the weights adding up to 1."""

    weights: Floats
    constant: float


def _of_piece(link: Link, conditions: Sequence[Condition], piece: Piece, whole: Piece) -> Part | None:
    """The box's own comparisons, and its half-spaces; None where nothing in it meets the conditions."""
    ends = []
    for k, (low, high) in enumerate(zip(piece.low, piece.high, strict=True)):
        ends += [Compare(k, None, low)] if low > whole.low[k] else []
        ends += [Compare(None, k, -high)] if high < whole.high[k] else []
    halves = half_spaces(link, conditions, piece)
    return None if halves is None else Part(ends, halves)


def half_spaces(link: Link, conditions: Sequence[Condition], piece: Piece) -> list[Half] | None:
    """Half-spaces that hold all of a piece that meets the conditions; None where nothing in it does."""
    halves, low, high = [], np.array(piece.low), np.array(piece.high)
    places, counted = dict.fromkeys((piece.at, *piece.also)), counts(link)
    for (sign, bound), at in itertools.product(conditions, places):
        touching = piece._replace(at=at)
        lines = [line_above(one, sign, touching, k) for k, one in enumerate(link.parts)]
        slopes = counted * [line.slope for line in lines]
        constants = counted * [line.constant for line in lines]
        above = float(constants.sum()) - len(lines) * (bound - doubt(link))
        size = float(np.abs(slopes).sum())
        if size * max([1.0, *(abs(end) for end in (*piece.low, *piece.high) if math.isfinite(end))]) < 1e-9:
            if above < -1e-6:
                return None
            continue
        weights = slopes / size
        ends = [max(abs(a), abs(b)) for a, b, w in zip(piece.low, piece.high, weights, strict=True) if w]
        constant = above / size
        constant += 32 * _UNIT * (abs(constant) + sum(ends))
        used = weights != 0
        least, most = (
            float((weights[used] * np.where((weights[used] > 0) == top, high[used], low[used])).sum()) + constant
            for top in (False, True)
        )
        if most < -1e-9 * (1 + abs(constant)):
            return None
        if least < 0:  # else it says nothing of the piece, and lines that are nearly flat have huge constants
            halves.append(Half(weights, constant))
    return halves


def leaning(table: Ensemble | Network, condition: Condition, scores: Floats, length: float) -> Half | None:
    """One half-space that leans as the way does from scores to where every part says what the mean shall, and begins
    after so much of that way; None where no part ever says it. It says nothing of the mean: that is where to look.

    scores: shape (scores,).
    """
    assert table.link is not None
    turns = np.array([_turn(part, condition) for part in table.link.parts])
    ups = np.array([1.0 if is_rising(part) == (condition.sign > 0) else -1.0 for part in table.link.parts])
    told = np.isfinite(turns) & (np.abs(turns) < FARTHEST)
    if not told.any():
        return None
    way = np.where(told, ups * (np.where(told, turns, 0.0) - scores), 0.0)
    way = np.maximum(way, 0.1 * max(float(way.max()), 1e-9))  # of parts that say enough already
    weights = np.where(told, ups / way, 0.0)
    weights /= np.abs(weights).sum()
    return Half(weights, -float((weights * (scores + length * ups * way)).sum()))


def over(part: Link, condition: Condition, piece: Piece, at: Sequence[float], k: int) -> float:
    """How far the line above a member (`line_above`) lies above what the member says at a place, a score of each."""
    line = line_above(part, condition.sign, piece, k)
    said = condition.sign * float(probability(part, np.array([at[k]]))[0])
    return line.slope * at[k] + line.constant - said


def line_above(part: Link, sign: float, piece: Piece, k: int) -> Line:
    """A line that no value of sign * part exceeds in a piece, the lowest one at the piece's place."""
    low, high, at = piece.low[k], piece.high[k], piece.at[k]
    return _LINES.get((part, sign, low, high, at), lambda: _line_above(part, sign, low, high, at))


_LINES: Recent[Line] = Recent(4096)  # pieces share most of their ends


def _line_above(part: Link, sign: float, low: float, high: float, at: float) -> Line:
    if not (math.isfinite(low) and math.isfinite(high)):
        far = [low if math.isfinite(low) else -FARTHEST, high if math.isfinite(high) else FARTHEST]
        return Line(0.0, float(most_of(part, sign, np.array(far)).max()))  # it is monotone
    few, values, over = _SEEN.get((part, sign, low, high), lambda: _seen(part, sign, low, high))
    slope = _slope(few, values, min(max(at, low), high)) if math.isfinite(at) else 0.0
    if over is not None:
        constant = _most_above(part, sign, few, values - slope * few, over, slope)
    else:  # between two places a monotone function is no larger than at one of them
        many = places_of(part, low, high, at, MANY)
        most, lines = most_of(part, sign, many), slope * many
        found = np.maximum(most[1:], most[:-1]) - np.minimum(lines[1:], lines[:-1])
        constant = found.max(initial=float(most[0] - lines[0]))
    return Line(slope, float(constant) + 1e-13 + 16 * _UNIT * abs(slope) * max(abs(low), abs(high)))


def _most_above(part: Link, sign: float, x: Floats, above: Floats, over: float, slope: float) -> float:
    """The most that sign * part may be above slope * score, which is known at rising places, and between two of them is
    no more than `over` above the chord. Where that may be the most of all, more places are looked at."""
    top = float(above.max())
    near = np.flatnonzero(np.maximum(above[1:], above[:-1]) + over >= top)
    if not len(near) or len(near) > _NEAR:
        return top + over
    finer = np.linspace(x[near], x[near + 1], _FINER + 1).ravel()
    return max(top, float((most_of(part, sign, finer) - slope * finer).max()) + over / _FINER**2)


class _Seen(NamedTuple):
    """A part at some rising places between two scores; no chord lies more than `over` below it (None: nobody knows)."""

    places: Floats
    values: Floats
    over: float | None


_SEEN: Recent[_Seen] = Recent(1024)


def _seen(part: Link, sign: float, low: float, high: float) -> _Seen:
    bend = bend_of(part)
    places = places_of(part, low, high, low, 2 if bend == 0.0 else _FEW)  # chords between knots are the part itself
    over = None if bend is None else float(np.diff(places).max(initial=0.0)) ** 2 * bend / 8
    return _Seen(places, most_of(part, sign, places), over)


def bend_of(part: Link) -> float | None:
    """An upper bound of a part's second derivative between the places that are looked at; None if none is known."""
    inner = part.inside
    if part.kind == "steps" and inner is None:
        return 0.0
    if part.kind == "logistic" and inner is None:
        return _BENT * part.slope**2
    if part.kind == "logistic" and inner is not None and inner.kind == "logistic" and inner.inside is None:
        return 1.00001 * inner.slope**2 * _BENT * (part.slope**2 / 16 + abs(part.slope) / 4)  # `ends` stretches by less
    return None


def places_of(part: Link, low: float, high: float, at: float, count: int) -> Floats:
    """Places between two scores: both, those of knots, and many between; rising."""
    own = [np.linspace(low, high, count), np.array([at])]
    if part.kind == "steps":
        knots = np.array([x for x, _ in part.knots])
        if part.inside is not None:
            inner = knots[(knots > 0) & (knots < 1)]
            knots = (np.log(inner) - np.log1p(-inner) - part.inside.shift) / part.inside.slope
        own.append(knots)
    found = np.unique(np.concatenate(own))
    return found[(found >= low) & (found <= high)]


def _slope(x: Floats, y: Floats, at: float) -> float:
    """The slope, at a place, of the least concave function above points."""
    left, right = x <= at, x >= at
    # Invariant: the line through two points on either side of the place, such that no point lies above it.
    a, b = int(np.flatnonzero(left)[-1]), int(np.flatnonzero(right)[0])
    if a == b:
        a, b = max(a - 1, 0), min(b + 1, len(x) - 1)
    for _ in range(4 * len(x)):
        if x[a] == x[b]:
            return 0.0
        slope = (y[b] - y[a]) / (x[b] - x[a])
        over = y - (y[a] + slope * (x - x[a]))
        worst = int(over.argmax())
        if over[worst] <= 1e-12 or worst in (a, b):
            return float(slope)
        a, b = (worst, b) if x[worst] <= at else (a, worst)
    return float(slope)
