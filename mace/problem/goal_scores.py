"""Probabilities and margins as comparisons of float scores: the arithmetic behind `mace.problem.goals`.

In:  a table's link (`mace.tables.table.Link`) and the ends of an interval of probabilities; or a margin between scores.
Out: comparisons, and for margins a table with more scores.
Promise: a point whose deployed model, with any libm of a few ulp, has a probability in the interval satisfies the
comparisons. How: the link is a monotone function of one score; the ends, moved outward by more than its last bits can
differ, are found by bisection over the doubles through the function itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from mace.base.exact import UNIT_ROUNDOFF, UNIT_ROUNDOFF_32, below, exact, first_float
from mace.errors import EverywhereError, GoalError, NowhereError
from mace.tables.margins import SMALLEST, compare_slack, squashed_between, turns_of
from mace.tables.table import Bools, Compare, Decision, Ensemble, Floats, Layer, Link, Network, decision_of, runs

FARTHEST = 1e300
"""Scores beyond this are not looked at."""
_UNITS = 16
"""Probabilities of two libraries for one score differ by fewer than half as many units of rounding."""
_LEAST_ODDS = 1e-12
"""What scikit-learn adds to probabilities before it takes their logarithms (`_convert_to_logits`)."""


def fraction_between(
    score: int, low: float | None, high: float | None, low_strict: bool, high_strict: bool
) -> tuple[Compare, ...]:
    """A score that is itself the number asked for: the comparisons are the library's own, exactly."""
    part = []
    if low is not None:
        part.append(Compare(score, None, low, low_strict))
    if high is not None:
        part.append(Compare(None, score, -high, high_strict))
    return tuple(part)


def linked_between(
    link: Link, dtype: str, place: int, low: float | None, high: float | None, goal: str
) -> tuple[Compare, ...]:
    """The probability of class `place` (of two) within low..high, or within the last bits of it.

    Raises GoalError where the floats of the library cannot tell the probability from 0 or 1, or nothing reaches it.
    """
    computed_in = "float32" if "float32" in (dtype, link.dtype) else "float64"
    unit = float(UNIT_ROUNDOFF_32 if computed_in == "float32" else UNIT_ROUNDOFF)
    probability = _probability(link)
    # What a link has inside is a probability, and so is what has odds.
    lowest, highest = (0.0, 1.0) if link.inside is not None or link.kind == "odds" else (-FARTHEST, FARTHEST)

    def of_class(score: float) -> float:
        return probability(score) if place else 1.0 - probability(score)

    rising = of_class(highest) > of_class(lowest)
    part = []
    for end, is_low in ((low, True), (high, False)):
        if end is None:
            continue
        # 1 / (1 + exp(-s)) has a small relative error; one minus it, and interpolation, a small absolute one.
        doubt = _UNITS * (unit * (end if place and link.kind != "steps" else 1.0) + float(SMALLEST[computed_in]))
        if link.kind == "logistic" and not 4 * doubt <= min(end, 1 - end):
            raise GoalError(
                f"`{goal}`: a logistic probability is never exactly 0 or 1, and its floats do not tell so near to them",
                hint="Ask for a probability such as 0.001 or 0.999.",
            )
        moved = end - doubt if is_low else end + doubt
        above = rising == is_low  # whether the score must be large

        def holds(score: float, moved: float = moved, is_low: bool = is_low) -> bool:
            return of_class(score) >= moved if is_low else of_class(score) <= moved

        if not holds(highest if above else lowest):
            raise NowhereError(f"no input has the goal `{goal}`: the model's calibration never gives it")
        if holds(lowest if above else highest):
            continue  # every score has it
        turn = _turn(holds, *((highest, lowest) if above else (lowest, highest)))
        turn += (-1 if above else 1) * unit * _blur(link, turn)
        if link.inside is not None:
            # A probability that is at most the turn lies below the next float.
            turn = turn if above else math.nextafter(turn, 2.0)
            part += _squashed(link.inside, computed_in, turn, above=above)
        else:
            part.append(Compare(link.score, None, turn) if above else Compare(None, link.score, -turn))
    if not part:
        raise EverywhereError(f"every input has the goal `{goal}`, or misses it by the last bits of a probability only")
    return tuple(part)


def exponential_between(
    link: Link, dtype: str, low: float | None, high: float | None, goal: str
) -> tuple[Compare, ...]:
    """A number that is the exponential of a score, or one less, within low..high, or within its last bits.

    Raises NowhereError where no number lies there, EverywhereError where each does.
    """
    computed_in = "float32" if "float32" in (dtype, link.dtype) else "float64"
    unit = float(UNIT_ROUNDOFF_32 if computed_in == "float32" else UNIT_ROUNDOFF)
    least, log = (0.0, math.log) if link.kind == "exp" else (-1.0, math.log1p)
    part = []
    for end, is_low in ((low, True), (high, False)):
        if end is None:
            continue
        doubt = _UNITS * (unit * abs(end) + float(SMALLEST[computed_in]))
        moved = end - doubt if is_low else end + doubt
        if moved <= least:
            if is_low:
                continue  # every number is larger
            raise NowhereError(f"no input has the goal `{goal}`: the model predicts no number below {least:g}")
        turn = log(moved)
        blur = _UNITS * float(UNIT_ROUNDOFF) * abs(turn)  # of the logarithm
        part.append(Compare(link.score, None, turn - blur) if is_low else Compare(None, link.score, -(turn + blur)))
    if not part:
        raise EverywhereError(f"every input has the goal `{goal}`: the model predicts numbers above {least:g}")
    return tuple(part)


def exactly_between(
    link: Link,
    dtype: str,
    place: int,
    ends: tuple[float | None, float | None],
    strict: tuple[bool, bool],
    goal: str,
) -> Decision:
    """The same for steps that are known to the last bit: the runs of floats that have it, not one float more.

    ends, strict: of the interval, the low and the high one.
    Raises NowhereError where no float has it, EverywhereError where each does.
    """
    x, y = np.array(link.knots, dtype=np.float64).T
    found: Decision = ((),)
    for end, compare in zip(
        ends, (np.greater if strict[0] else np.greater_equal, np.less if strict[1] else np.less_equal), strict=True
    ):
        if end is None:
            continue

        def holds(given: Floats, end: float = end, compare: Any = compare) -> Bools:
            p = np.interp(given, x, y)
            return np.asarray(compare(p if place else 1.0 - p, end), dtype=np.bool_)

        first, turns = turns_of(holds, x)
        kept = runs(turns, link.score)[0 if first else 1]
        found = tuple(one + other for one in found for other in kept)
    if not found:
        raise NowhereError(f"no input has the goal `{goal}`: the model's calibration never gives it")
    if found == ((),):
        raise EverywhereError(f"every input has the goal `{goal}`")
    if (inside := link.inside) is None:
        return found
    return tuple(
        tuple(
            moved
            for c in part
            for moved in _squashed(inside, dtype, abs(c.than), above=c.plus is not None)  # probabilities are >= 0
        )
        for part in found
    )


def _blur(link: Link, turn: float) -> float:
    """How far from its place the roundings before the link's last function may move a turn, in units of rounding."""
    if link.kind == "odds":  # of the two logarithms: at most 28 of them each, over their slope, and of what they take
        return 256 * (min(turn, 1 - turn) + 2 * _LEAST_ODDS)
    return 16 * (abs(turn) + (abs(link.shift / link.slope) if link.slope else 0.0))


def _squashed(link: Link, dtype: str, turn: float, *, above: bool) -> list[Compare]:
    """What the score must be for a rounded 1 / (1 + exp(-slope * s)) to be at least a turn, or to lie below it."""
    if not 0 < turn <= 1:  # moved beyond what probabilities are: nothing is left to ask
        return []
    least, most = squashed_between(turn, dtype)
    # slope * s rounds, and so does the division.
    blur = 8 * float(UNIT_ROUNDOFF_32 if dtype == "float32" else UNIT_ROUNDOFF) * max(abs(least), abs(most))
    if above:
        return [Compare(link.score, None, (least - blur) / link.slope)]
    return [Compare(None, link.score, -(most + blur) / link.slope)]


def _probability(link: Link) -> Callable[[float], float]:
    """The probability of class 1 as a function of what the link is given; as scipy's expit computes "logistic"."""

    def logistic(z: float) -> float:
        if z >= 0:
            return 1.0 / (1.0 + math.exp(-z)) if z < 700 else 1.0
        return math.exp(z) / (1.0 + math.exp(z)) if z > -745 else 0.0

    if link.kind == "logistic":
        return lambda score: logistic(link.slope * score + link.shift)
    if link.kind == "odds":
        return lambda p: logistic(link.slope * (math.log(p + _LEAST_ODDS) - math.log(1.0 - p + _LEAST_ODDS)))
    x, y = (np.array(side, dtype=np.float64) for side in zip(*link.knots, strict=True))
    return lambda score: float(np.interp(score, x, y))


def _turn(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """The double that is nearest to `outside` of those for which something holds, as it does from there to `inside`."""
    if inside > outside:
        return first_float(holds, outside, inside)
    return math.nextafter(first_float(lambda score: not holds(score), inside, outside), -math.inf)


def scores_apart(
    table: Ensemble | Network, place: int, others: Sequence[int], by: Fraction, unit: Fraction
) -> Ensemble | Network:
    """The table with one more score for each other class: its own plus `by`, less a little for all roundings.

    Then "class `place` leads by `by`, up to `unit`" implies that its score is at least each of them, in floats too.
    """
    own_classes = tuple(decision_of(table, k) for k in range(len(table.classes)))  # the new scores are no classes
    if isinstance(table, Network):
        last = table.layers[-1]
        # The margins of `mace.tables.margins` are relative to the bias, which is moved here: by far less than the unit.
        added = [below(exact(last.bias[k]) + by - 2 * unit * (1 + abs(exact(last.bias[k])))) for k in others]
        layer = Layer(
            np.hstack([last.weights, last.weights[:, list(others)]]), np.append(last.bias, added), last.activation
        )
        return replace(table, layers=(*table.layers[:-1], layer), decisions=own_classes, link=None)
    trees = tuple(replace(t, value=np.hstack([t.value, t.value[:, list(others)]])) for t in table.trees)
    start = np.append(table.start, [below(exact(table.start[k]) + by * table.divide) for k in others])
    wide = replace(table, trees=trees, start=start, decisions=own_classes, link=None)
    own = [below(exact(start[table.outputs + n])) for n in range(len(others))]
    coarse = 2**30 if table.dtype == "float32" else 1  # floats of that type are 2^29 times as far apart
    for n in range(len(others)):
        slack = compare_slack(wide, Compare(place, table.outputs + n))
        less = 2 * (slack.possible + slack.sure) + 2 * unit * coarse * table.divide * (1 + abs(exact(own[n])))
        start[table.outputs + n] = below(exact(own[n]) - less)
    return replace(wide, start=start)
