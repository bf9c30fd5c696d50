"""What the model shall say instead: classes, a probability, a number, a margin; one small type with a text form.

In:  a text such as `>50K`, `not 0`, `p(good) >= 0.7`, `300 <= price <= 350`, `price within 5% of 320`, `good by 0.1`;
     or a label, several labels, or an object of this file.
Out: `parse`, the object, whose `str` is a text that is read back as the same; `lower`, the question's `Goal`: the same
     as comparisons of the table's float scores.
Promise: every point whose deployed model says what is wanted satisfies the comparisons; so a bound on them is a bound
on the goal. Where they say no more than that (the last bits of an exponential depend on the library's libm), they
are a little wider, and a witness counts only after `met` was true of what the deployed model itself returned.

    goal        = classes | probability | number | margin
    classes     = label {("," | "or") label} | ("not" | "anything but") label {("," | "or") label}
    probability = "p(" label ")" compare value | value compare "p(" label ")" [compare value]
    number      = name compare value | value compare name [compare value] | name "within" value ["%"] "of" value
    margin      = label "by" value ["in score"]
    compare     = "<=" | "<" | ">=" | ">"

A margin is over the runner-up: of its probability, or `in score` of the scores that the model compares; it counts up
to a difference of `MARGIN_UNIT`. `within 5% of y` is |f - y| <= 0.05 |y|, and |f| < 0.05 for y = 0; its
ends are computed exactly, then read as if they were written: `within 5% of 0.6` is `0.57 <= f <= 0.63`.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mace.base.escape import short
from mace.base.exact import as_written, nearest
from mace.base.values import plain
from mace.errors import GoalError
from mace.problem.goal_scores import exactly_between, fraction_between, linked_between, scores_apart
from mace.problem.question import Goal
from mace.tables.table import Bools, Compare, Decision, Ensemble, Formula, Label, Network, Table, decision_for
from mace.tables.validity import validate

MARGIN_UNIT = 2.0**-40
"""Margins are met up to this much: 0.6 - 0.4 is 0.2, although the difference of the two floats is not."""


@dataclass(frozen=True, slots=True)
class Between:
    """An interval of numbers; a side is None where it is open to infinity."""

    low: float | None = None
    high: float | None = None
    low_strict: bool = False
    high_strict: bool = False

    def holds(self, values: NDArray[Any]) -> Bools:
        """Which values lie in it; they are compared as doubles."""
        numbers = np.asarray(values, dtype=np.float64)
        inside = np.ones(numbers.shape, dtype=np.bool_)
        if self.low is not None:
            inside &= numbers > self.low if self.low_strict else numbers >= self.low
        if self.high is not None:
            inside &= numbers < self.high if self.high_strict else numbers <= self.high
        return inside

    def shown(self, name: str) -> str:
        """`0.3 <= name <= 0.6`."""
        low, high = ("<" if self.low_strict else "<="), ("<" if self.high_strict else "<=")
        if self.low is None:
            return f"{name} {high} {_number(self.high)}"
        if self.high is None:
            return f"{name} {'>' if self.low_strict else '>='} {_number(self.low)}"
        return f"{_number(self.low)} {low} {name} {high} {_number(self.high)}"


@dataclass(frozen=True, slots=True)
class Classes:
    """One of some classes. `but_not` only for the text: the class that it is not."""

    labels: frozenset[Label]
    but_not: Label | None = None

    def __str__(self) -> str:
        if self.but_not is not None and len(self.labels) != 1:
            return f"anything but {self.but_not!r}"
        return " or ".join(repr(label) for label in sorted(self.labels, key=repr))

    def met(self, said: NDArray[Any], classes: Sequence[Label]) -> Bools:  # noqa: ARG002
        """Which decisions, shape (rows,), are among the classes."""
        return np.asarray(np.isin(said, list(self.labels)), dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class Probability:
    """The probability of a class lies in an interval."""

    label: Label
    between: Between

    def __str__(self) -> str:
        return self.between.shown(f"p({self.label})")

    def met(self, said: NDArray[Any], classes: Sequence[Label]) -> Bools:
        """Which probabilities, shape (rows, classes), have it."""
        return self.between.holds(said[:, list(classes).index(self.label)])


@dataclass(frozen=True, slots=True)
class Value:
    """A predicted number lies in an interval."""

    between: Between
    name: str = "y"

    def __str__(self) -> str:
        return self.between.shown(self.name)

    def met(self, said: NDArray[Any], classes: Sequence[Label]) -> Bools:  # noqa: ARG002
        """Which predictions, shape (rows,), lie in it."""
        return self.between.holds(said)


@dataclass(frozen=True, slots=True)
class Margin:
    """A class leads all others by so much, in probability or in score."""

    label: Label
    by: float
    in_score: bool = False

    def __str__(self) -> str:
        return f"{self.label} by {_number(self.by)}{' in score' if self.in_score else ''}"

    def met(self, said: NDArray[Any], classes: Sequence[Label]) -> Bools:
        """Which probabilities or scores, shape (rows, classes), have it; one score is that of class 1 over class 0."""
        numbers = np.asarray(said, dtype=np.float64)
        place = list(classes).index(self.label)
        if numbers.shape[1] == 1:
            lead = numbers[:, 0] if place else -numbers[:, 0]
        else:
            lead = numbers[:, place] - np.delete(numbers, place, axis=1).max(axis=1)
        return np.asarray(lead >= self.by - MARGIN_UNIT * max(1.0, self.by), dtype=np.bool_)


Wanted: TypeAlias = Classes | Probability | Value | Margin


# ---------------------------------------------------------------------------------------------- objects and texts


def wanted(goal: object, classes: Sequence[Label], present: Label | None = None) -> Wanted:
    """What a caller means by a goal.

    goal:    None for anything but the present class; a label, several labels, a text, or an object of this file.
    classes: the model's; none for a model that predicts a number.
    Raises GoalError for what is no goal of such a model.
    """
    if isinstance(goal, (Classes, Probability, Value, Margin)):
        return goal
    if goal is None:
        if not classes:
            raise GoalError("a model that predicts a number needs a goal", hint=_HINT_NUMBER)
        return Classes(frozenset(label for label in classes if label != present), present)
    if isinstance(goal, (list, tuple, set, frozenset)):
        return Classes(_known([plain(label) for label in goal], classes))
    label = plain(goal)
    if isinstance(label, str) and label not in classes:
        return parse(label, classes)
    return Classes(_known([label], classes))


_NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*%?)"
_COMPARE = r"(<=|>=|<|>)"
_CHAIN = rf"^(?:{_NUMBER}\s*{_COMPARE}\s*)?NAME(?:\s*{_COMPARE}\s*{_NUMBER})?$"
_PROBABILITY = re.compile(_CHAIN.replace("NAME", r"p\(\s*(.+?)\s*\)"))
_COMPARED = re.compile(_CHAIN.replace("NAME", r"`?([^\W\d][^<>=`]*?)`?"))
_WITHIN = re.compile(rf"^`?([^\W\d][^<>=`]*?)`?\s+within\s+{_NUMBER}\s+of\s+{_NUMBER}$")
_MARGIN = re.compile(rf"^(.+?)\s+by\s+{_NUMBER}(\s+in\s+score)?$")
_BUT = re.compile(r"^(?:not|anything\s+but)\s+(.+)$")
_HINT_NUMBER = "For instance `300 <= y <= 350`, `y >= 300`, or `y within 5% of 320`."


def parse(text: str, classes: Sequence[Label]) -> Wanted:
    """The goal that a text means for a model with these classes (none: it predicts a number).

    Raises GoalError for a text that is no goal, and for one that names no class of the model.
    """
    text = text.strip()
    if not classes:
        return _parse_number(text)
    if (label := _find(text, classes)) is not None:
        return Classes(frozenset([label[0]]))
    if found := _BUT.match(text):
        out = _labels(found[1], classes)
        return Classes(_known([c for c in classes if c not in out], classes), out[0] if len(out) == 1 else None)
    if found := _PROBABILITY.match(text):
        low, first, name, second, high = found.groups()
        return Probability(_labels(name, classes, one=True)[0], _between(text, low, first, second, high, share=True))
    if (found := _MARGIN.match(text)) and _find(found[1], classes) is not None:
        by = _value(found[2])
        if by <= 0:
            raise GoalError(f"the margin of the goal `{text}` must be > 0")
        return Margin(_labels(found[1], classes, one=True)[0], by, bool(found[3]))
    return Classes(frozenset(_labels(text, classes)))


def _parse_number(text: str) -> Value:
    if found := _WITHIN.match(text):
        name, tolerance, target = found[1], found[2].replace(" ", ""), as_written(found[3].strip("% "))
        size = as_written(tolerance.rstrip("%")) / (100 if tolerance.endswith("%") else 1)
        if size < 0:
            raise GoalError(f"the tolerance of the goal `{text}` must be >= 0")
        if not tolerance.endswith("%"):
            return Value(Between(nearest(target - size), nearest(target + size)), name)
        if target == 0:  # A share of nothing is nothing: then the tolerance itself is the limit.
            return Value(Between(-nearest(size), nearest(size), low_strict=True, high_strict=True), name)
        return Value(Between(nearest(target - size * abs(target)), nearest(target + size * abs(target))), name)
    if (found := _COMPARED.match(text)) and (found[2] or found[4]):
        low, first, name, second, high = found.groups()
        return Value(_between(text, low, first, second, high), name)
    raise GoalError(f"`{text}` is no goal for a model that predicts a number", hint=_HINT_NUMBER)


def _between(
    text: str, left: str | None, first: str | None, second: str | None, right: str | None, share: bool = False
) -> Between:
    """The interval of `left first x second right`."""
    low: tuple[float, bool] | None = None
    high: tuple[float, bool] | None = None
    for compare, end, is_left in ((first, left, True), (second, right, False)):
        if compare is None or end is None:
            continue
        number, strict = _value(end), len(compare) == 1
        if share and not 0 <= number <= 1:
            raise GoalError(f"`{text}`: a probability lies between 0 and 1")
        if (compare[0] == "<") == is_left:
            low, twice = (number, strict), low is not None
        else:
            high, twice = (number, strict), high is not None
        if twice:
            raise GoalError(f"`{text}` bounds the same side twice", hint="Write `0.3 <= x <= 0.6`.")
    if low is None and high is None:
        raise GoalError(f"`{text}` says nothing about what it names", hint="Compare it with a number: `>= 0.7`.")
    if low is not None and high is not None and (low[0] > high[0] or (low[0] == high[0] and (low[1] or high[1]))):
        raise GoalError(f"`{text}` holds for no number")
    return Between(
        None if low is None else low[0],
        None if high is None else high[0],
        low is not None and low[1],
        high is not None and high[1],
    )


def _value(text: str) -> float:
    share = text.strip().endswith("%")
    return nearest(as_written(text.strip("% ")) / (100 if share else 1))


def _labels(text: str, classes: Sequence[Label], one: bool = False) -> list[Label]:
    """The labels in a list of names; the whole text is tried first, for a name may hold a comma or an `or`."""
    if (whole := _find(text, classes)) is not None:
        return [whole[0]]
    found = []
    for part in [text] if one else _parts(text):
        label = _find(part, classes)
        if label is None:
            raise _no_class(part, classes)
        found.append(label[0])
    return found


def _parts(text: str) -> list[str]:
    """The parts of a list between commas and `or`, those inside quotes aside."""
    masked = re.sub(r"'[^']*'|\"[^\"]*\"", lambda quoted: "_" * len(quoted[0]), text)
    cuts = [(0, 0), *(cut.span() for cut in re.finditer(r"\s*,\s*|\s+or\s+", masked)), (len(text), len(text))]
    return [text[end:start] for (_, end), (start, _) in itertools.pairwise(cuts)]


def _find(text: str, classes: Sequence[Label]) -> tuple[Label] | None:
    """The class that a text names, by its own text, its quoted text or its number; in a tuple, for None may be one."""
    text = text.strip()
    for name in (str, repr):
        for label in classes:
            if name(label) == text:
                return (label,)
    try:
        number = float(text)
    except ValueError:
        return None
    same = [label for label in classes if isinstance(label, (int, float)) and label == number]
    return (same[0],) if same and not isinstance(same[0], bool) else None


def _known(labels: Iterable[Label], classes: Sequence[Label]) -> frozenset[Label]:
    """The labels, all of them classes of the model, and at least one."""
    known = []
    for label in labels:
        if not classes:
            raise GoalError("a regression model has no classes; its goal is an interval", hint=_HINT_NUMBER)
        named = _find(label, classes) if isinstance(label, str) and label not in classes else (label,)
        if named is None or named[0] not in classes:
            raise _no_class(label, classes)
        known.append(named[0])
    if not known:
        raise GoalError("the goal names no class", hint=f"Its classes are {_listed(classes)}.")
    return frozenset(known)


def _no_class(name: object, classes: Sequence[Label]) -> GoalError:
    return GoalError(
        f"the goal {short(name)} is not a class of this model",
        hint=f"Its classes are {_listed(classes)}. Goals may also be `not {classes[0]}`, `p({classes[-1]}) >= 0.7` "
        f"or `{classes[-1]} by 0.1`.",
    )


def _listed(classes: Sequence[Label]) -> str:
    return ", ".join(repr(label) for label in classes)


def _number(value: float | None) -> str:
    assert value is not None
    return repr(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)


# ---------------------------------------------------------------------------------------------- comparisons of scores


def lower(goal: Wanted, table: Table) -> tuple[Goal, Table]:
    """The goal as comparisons of float scores, and the table that they speak of.

    The table is the given one; for a margin over several runners-up, with the runners-up moved by it as more scores.
    Raises GoalError for a goal that this model cannot have, or that no comparison of its scores expresses.
    """
    text = str(goal)
    if isinstance(table, Formula):
        if not isinstance(goal, Classes):
            raise GoalError(f"the goal `{text}` is not for a program", hint="A program returns a class: name one.")
        labels = _known(goal.labels, table.classes)
        return Goal(text, labels, (), frozenset(table.classes.index(label) for label in labels), goal), table
    if isinstance(goal, Value) != (not table.classes):
        if table.classes:
            raise GoalError(f"`{text}` is a goal for a number, and this model has classes: {_listed(table.classes)}")
        raise GoalError(f"`{text}` is a goal for classes, and this model predicts a number", hint=_HINT_NUMBER)
    match goal:
        case Classes():
            labels = _known(goal.labels, table.classes)
            return Goal(text, labels, decision_for(table, labels), wanted=goal), table
        case Value():
            return Goal(text, frozenset(), _value_decision(goal), wanted=goal), table
        case Probability():
            _ = _known([goal.label], table.classes)
            return Goal(text, frozenset(), _probable(goal, table), wanted=goal), table
        case Margin():
            _ = _known([goal.label], table.classes)
            decision, moved = _leading(goal, table)
            if moved is not table:
                validate(moved, "a lead over several classes")
            return Goal(text, frozenset(), decision, wanted=goal), moved


def _value_decision(goal: Value) -> Decision:
    between = goal.between
    return (fraction_between(0, between.low, between.high, between.low_strict, between.high_strict),)


def _probable(goal: Probability, table: Ensemble | Network) -> Decision:
    """The probability of a class, as comparisons of scores, by the link of the table."""
    between, link = goal.between, table.link
    if link is None:
        raise _no_link(goal, table)
    # What every probability satisfies is not asked.
    low = None if between.low == 0 and not between.low_strict else between.low
    high = None if between.high == 1 and not between.high_strict else between.high
    if low is None and high is None:
        raise GoalError(f"every input has the goal `{goal}`")
    place = table.classes.index(goal.label)
    if link.kind == "fraction":
        return (fraction_between(place, low, high, between.low_strict, between.high_strict),)
    if link.exact:
        strict = (between.low_strict, between.high_strict)
        return exactly_between(link, table.dtype, place, (low, high), strict, str(goal))
    return (linked_between(link, table.dtype, place, low, high, str(goal)),)


def _no_link(goal: Probability, table: Ensemble | Network) -> GoalError:
    """What to ask instead of a probability that is no function of one score."""
    if len(table.classes) == 2:
        return GoalError(
            f"`{goal}`: no probability of {table.name} is known as a function of its score",
            hint="Calibrate it, as CalibratedClassifierCV(model, ensemble=False), or ask for the class, or for a lead "
            f"of its score, for instance `{goal.label} by 0.5 in score`.",
        )
    error = f"`{goal}`: with {len(table.classes)} classes the probabilities of {table.name} compare no two scores"
    hint, p = "Ask for the class, or for a lead over every other class", goal.between.low
    if p is None or not 0 < p < 1:
        return GoalError(error, hint=f"{hint}, for instance `{goal.label} by 0.5 in score`.")
    # p(k) >= p says that the sum of exp(s_j - s_k) over the others is at most (1 - p) / p: each of them is, at least,
    # and they are if each is at most its share.
    needed, enough = math.log(p / (1 - p)), math.log((len(table.classes) - 1) * p / (1 - p))
    said = [f"`{goal.label} by {math.ceil(enough * 100 + 1e-6) / 100} in score` is enough"] if enough > 0 else []
    if needed >= 0.01:
        said.append(f"`{goal.label} by {math.floor(needed * 100 - 1e-6) / 100} in score` is needed")
    said = said or [f"`{goal.label}` is enough"]
    return GoalError(error, hint=f"{hint}. If they are the softmax of the scores, {', and '.join(said)}.")


def _leading(goal: Margin, table: Ensemble | Network) -> tuple[Decision, Ensemble | Network]:
    """The lead of a class over all others, as comparisons of scores."""
    place, unit = table.classes.index(goal.label), MARGIN_UNIT * max(1.0, goal.by)
    if not goal.in_score:
        if goal.by >= 1:
            raise GoalError(f"`{goal}`: a probability leads by less than 1", hint=f"`{goal} in score` means scores.")
        if table.link is None:
            raise GoalError(
                f"`{goal}`: the probabilities of {table.name} are no comparison of scores",
                hint=f"Ask for a margin of the scores themselves: `{goal} in score`.",
            )
        if len(table.classes) == 2:
            # The two add up to 1, so the lead is 2 p - 1; the unit covers the rounding of the sums.
            least = Between((1 + goal.by) / 2 - unit)
            return _probable(Probability(goal.label, least), table), table
    if table.decisions is not None or (isinstance(table, Ensemble) and table.error):
        raise GoalError(f"`{goal}`: {table.name} compares no scores of its classes")
    if table.outputs == 1:
        least_score = goal.by - 2 * unit
        return ((Compare(0, None, least_score) if place else Compare(None, 0, least_score),),), table
    others = [k for k in range(len(table.classes)) if k != place]
    moved = scores_apart(table, place, others, Fraction(goal.by), Fraction(unit))
    return (tuple(Compare(place, table.outputs + k) for k in range(len(others))),), moved
