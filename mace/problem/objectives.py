"""What is minimised, in order of priority: norms, counts, costs, programs, and weighted sums of them.

In:  for each objective a text such as `"l1"`, `"changes"` or `"l1 within 1%"`, a Path to a .mace program, a dict of
     weights such as `{"l1": 1, "changes": 0.05}`, or an `Objective` with weights, prices and a tolerance.
Out: `Priority`: a distance that provers and solvers minimise, the unit in which people see it, and the tolerance.
     `bounded`: a question in which an objective does not exceed a number, which is what a level leaves to the next.

    "l0", "l1", "linf"   as `distance=` takes them (`mace.problem.distance`)
    "changes"            the number of features that change
    "cost"               money, from a table of prices: for each unit of a number, each rank of an ordinal, each change
                         of any other feature
    "gower"              the mean over all features of |x - x'| / range, or 0 and 1 for levels: the same as "l1"
    "closeness"          how unusual the change is beside the background rows (`mace.problem.closeness`)
    "plausibility"       the l1 distance to the nearest background row that has the goal (`mace.problem.plausibility`)
    "shortfall"          how far the goal is missed, where it cannot be met (`mace.problem.shortfall`)
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from mace.base.arguments import spelled_class
from mace.base.escape import short
from mace.base.exact import as_written, nearest
from mace.base.suggestions import meant
from mace.errors import MaceError, NumberError
from mace.language.syntax import Apply, Number, Op, returning
from mace.problem.budget import Budget
from mace.problem.distance import Distance, DistanceError, DistanceProgram, NearestRow, Norm, norm, shares_of
from mace.problem.forms import FormsRule
from mace.problem.plausibility import least_of
from mace.problem.programs import Rule, distance_program
from mace.problem.question import Question
from mace.problem.sums import summed
from mace.space.axes import Point
from mace.space.space import Space

if TYPE_CHECKING:
    import pandas as pd

DistanceSpec = str | Mapping[str, object] | Path
NAMES = ("l0", "l1", "linf", "changes", "cost", "gower", "closeness", "plausibility", "shortfall")
NOT_SUMMED = {  # why, and what to do
    "shortfall": (
        "it is no distance, but what the goal itself becomes",
        'Let it come first: objectives=["shortfall", {"l1": 1, "changes": 0.05}].',
    ),
    "plausibility": (
        "it is measured from each background row in turn, the other parts from the row that is explained",
        'Let one come after the other, with a tolerance: objectives=["plausibility within 10%", "l1"].',
    ),
    "program": ("programs are objectives of their own", "Write the sum as one program."),
}
_WITHIN = re.compile(r"^(.*\S)\s+within\s+(\S+?)\s*(%?)$")


@spelled_class
@dataclass(frozen=True, slots=True)
class Objective:
    """One objective, where a text alone does not say it.

    of:       "l0", "l1", "linf", "changes", "cost", "gower", "closeness", "plausibility", "shortfall", a Path to a
              .mace program, or a dict of weights: a weighted sum of norms, gower, changes, cost and closeness.
    weights:  feature name -> weight >= 0 of its change, for l0, l1, linf, gower and plausibility; 1 where absent.
    prices:   feature name -> money, for "cost"; every feature that may change needs one, be it 0.
    absolute, relative: how far later objectives may exceed its optimum: by so much, or by such a share of it; the
              larger of the two counts. Nothing lies below an optimum, so that this is what it means on both sides, too.
    name:     what answers call it.
    """

    of: DistanceSpec
    weights: Mapping[str, object] | None = None
    prices: Mapping[str, object] | None = None
    absolute: object = 0
    relative: object = 0
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Shortfall:
    """How far a goal is missed: no distance, but what the goal itself becomes."""

    name: str = "shortfall"


ObjectiveSpec: TypeAlias = DistanceSpec | Objective


class Priority(NamedTuple):
    """An objective as it is solved.

    of:   what is minimised.
    unit: what a value of 1 of it is to people: "changes" is a norm of which each change costs 1/J, shown times J.
    absolute, relative: the tolerance, the first in people's units.
    """

    of: Distance | Shortfall
    name: str
    unit: Fraction = Fraction(1)
    absolute: Fraction = Fraction(0)
    relative: Fraction = Fraction(0)

    def held(self, value: Fraction) -> Fraction:
        """How large it may be in later levels when `value` was reached; both as `of` counts."""
        return value + max(self.absolute / self.unit, self.relative * value)


# ---------------------------------------------------------------------------------------------- reading


def read_distance(spec: DistanceSpec, space: Space, weights: Mapping[str, object] | None = None) -> Distance:
    """A norm over the space's features, or a distance program; raises DistanceError or ProgramError."""
    if _is_program(spec):
        if weights:
            raise MaceError("weights belong to l0, l1, linf and mixtures; a distance program has its own")
        assert isinstance(spec, (str, Path))
        return DistanceProgram(distance_program(spec, space))
    assert not isinstance(spec, Path)
    return norm(spec, len(space.features), _of_features(weights, space, 1, "weight") if weights else None)


def read_objectives(specs: object, space: Space, background: pd.DataFrame | None = None) -> tuple[Priority, ...]:
    """The objectives over a space, the most important first; raises DistanceError, ProgramError or SpaceError.

    background: the rows that "closeness" and "plausibility" are measured by.
    """
    if isinstance(specs, (str, Path, Mapping, Objective)):
        specs = [specs]
    if not isinstance(specs, Sequence) or not specs:
        raise DistanceError(f"objectives are a list, the most important first; got {short(specs)}")
    found = tuple(_read(_objective(spec), space, background) for spec in specs)
    if any(isinstance(one.of, Shortfall) for one in found[1:]):
        raise DistanceError(
            "`shortfall` comes first: what is nearest depends on how near the goal can be reached",
            hint='For instance objectives=["shortfall", "l1"].',
        )
    if isinstance(found[-1].of, Shortfall):
        raise DistanceError("after `shortfall` there must be a distance", hint='objectives=["shortfall", "l1"].')
    return found


def _objective(spec: object) -> Objective:
    """A spec as an `Objective`; a text may hold a tolerance and a sum: `l1=1, changes=0.05 within 1%`."""
    if isinstance(spec, (Path, Mapping)):
        return Objective(spec)
    objective = Objective(spec) if isinstance(spec, str) else spec
    if not isinstance(objective, Objective):
        raise DistanceError(f"an objective is a text, a dict, a Path or a mace.Objective; got {short(spec)}")
    of = objective.of
    if not isinstance(of, str) or "\n" in of:
        return objective
    if said := _WITHIN.match(of):
        of, size, percent = said.groups()
        try:
            tolerance = as_written(size)
        except NumberError as error:
            raise DistanceError(
                f"the tolerance of the objective `{objective.of}`: {error.message}", hint=error.hint
            ) from None
        objective = replace(objective, relative=tolerance / 100) if percent else replace(objective, absolute=tolerance)
    if of.endswith(".mace"):
        return replace(objective, of=Path(of))
    if "=" in of:
        return replace(objective, of=shares_of(of))
    return replace(objective, of=of)


def _read(objective: Objective, space: Space, background: pd.DataFrame | None) -> Priority:
    try:
        absolute, relative = as_written(objective.absolute), as_written(objective.relative)
    except NumberError as error:
        raise DistanceError(f"a tolerance must be a number: {error.message}", hint=error.hint) from None
    if absolute < 0 or relative < 0:
        raise DistanceError("the tolerance of an objective must be >= 0")
    named = objective.of if isinstance(objective.of, Mapping) else (objective.of,)
    for name in ("closeness", "plausibility"):
        if name in named and background is None:
            raise DistanceError(f'the objective "{name}" is measured by background rows', hint="Give background=X.")
    if objective.of == "closeness":
        found = _closeness(space, background)
    elif isinstance(objective.of, Mapping):
        found = _sum(objective, objective.of, space, background)
    else:
        found = _single(objective, objective.of, space)
    return found._replace(name=objective.name or found.name, absolute=absolute, relative=relative)


def _single(objective: Objective, of: str | Path, space: Space) -> Priority:
    """One objective by its name, or a program."""
    features = len(space.features)
    if objective.prices is not None and of != "cost":
        raise DistanceError(f'prices belong to the objective "cost", not to `{of}`')
    if objective.weights is not None and of in ("changes", "cost", "shortfall"):
        raise DistanceError(f"the objective `{of}` takes no weights")
    if of == "shortfall":
        return Priority(Shortfall(), "shortfall")
    if of == "changes":
        return Priority(replace(norm("l0", features), name="changes"), "changes", Fraction(features))
    if of == "cost":
        return _cost(objective.prices, space)
    if of == "plausibility":
        read = read_distance("l1", space, objective.weights)
        assert isinstance(read, Norm)
        return Priority(NearestRow(read), of)
    if not _is_program(of) and of not in NAMES:
        known = (
            f"Use one of {', '.join(NAMES)}, or the Path of a .mace program; `l1 within 1%` leaves so much to the next."
        )
        raise DistanceError(f"unknown objective {short(of)}", hint=meant(of, NAMES, known))
    read = read_distance("l1" if of == "gower" else of, space, objective.weights)
    return Priority(replace(read, name="gower") if of == "gower" else read, "gower" if of == "gower" else read.name)


def _closeness(space: Space, background: pd.DataFrame | None) -> Priority:
    from mace.problem.closeness import closeness

    assert background is not None
    return Priority(closeness(space, background), "closeness")


def _cost(prices: Mapping[str, object] | None, space: Space) -> Priority:
    """What the changes cost, by a table of prices."""
    for name in prices or {}:
        _ = space[name]
    lacking = [f.name for f in space.features if f.change != "fixed" and f.name not in (prices or {})]
    if prices is None or lacking:
        raise DistanceError(
            f'the objective "cost" needs a price for {", ".join(f"`{name}`" for name in lacking)}',
            hint='mace.Objective("cost", prices={"Age": 100, ..}), or --price Age=100; 0 where a change is free.',
        )
    found = []
    for feature, price in zip(space.features, _of_features(prices, space, 0, "price"), strict=True):
        lower, upper = feature.bounds() if feature.numeric else (Fraction(0), Fraction(0))
        ranks = len([level for level in feature.levels if level is not None]) - 1
        found.append(price * (upper - lower if upper > lower else max(ranks, 1) if feature.kind == "ordinal" else 1))
    total = sum(found) or Fraction(1)
    weights = tuple(price / total for price in found)
    return Priority(Norm(Fraction(0), Fraction(1), Fraction(0), weights, "cost"), "cost", total)


def _sum(objective: Objective, parts: Mapping[str, object], space: Space, background: pd.DataFrame | None) -> Priority:
    """A weighted sum."""
    found: list[tuple[Fraction, Norm | DistanceProgram]] = []
    for name, share in parts.items():
        if name in NOT_SUMMED or _is_program(name):
            why, hint = NOT_SUMMED.get(name, NOT_SUMMED["program"])
            raise DistanceError(f"`{name}` is no part of a weighted sum: {why}", hint=hint)
        part = Objective(
            name,
            objective.weights if name in ("l0", "l1", "linf", "gower") else None,
            objective.prices if name == "cost" else None,
        )
        one = _closeness(space, background) if name == "closeness" else _single(part, name, space)
        try:
            factor = as_written(share)
        except NumberError as error:
            raise DistanceError(f"the weight of `{name}` must be a number: {error.message}", hint=error.hint) from None
        if factor < 0:
            raise DistanceError(f"a weighted sum has weights >= 0; `{name}` has {factor}")
        assert isinstance(one.of, (Norm, DistanceProgram))
        found.append((factor * one.unit, one.of))
    if not found or not any(factor for factor, _ in found):
        raise DistanceError("a weighted sum needs a part that counts")
    name = " + ".join(f"{nearest(as_written(share)):g} {part}" for part, share in parts.items())
    of, unit = summed(found, space, name)
    return Priority(of, name, unit)


def _of_features(given: Mapping[str, object] | None, space: Space, absent: int, what: str) -> list[Fraction]:
    """One number >= 0 a feature; raises SpaceError for a name that is none, DistanceError for another number or none.

    absent: of features that are not named. what: what the number is called in messages.
    """
    given = given or {}
    for name in given:
        _ = space[name]
    found = []
    for name in space.names:
        try:
            number = as_written(given.get(name, absent))
        except NumberError as error:
            raise DistanceError(f"the {what} of `{name}` must be a number: {error.message}", hint=error.hint) from None
        if number < 0:
            hint = f"Give a {what} of 0 to a feature whose changes cost nothing."
            raise DistanceError(f"the {what} of `{name}` must not be negative; it is {short(given[name])}", hint=hint)
        found.append(number)
    return found


def _is_program(spec: object) -> bool:
    return isinstance(spec, Path) or isinstance(spec, str) and ("\n" in spec or spec.endswith(".mace"))


# ---------------------------------------------------------------------------------------------- as a constraint


def each_change(distance: Distance) -> Fraction | None:
    """What every change costs, where a norm counts changes and nothing else; None for any other distance."""
    if not isinstance(distance, Norm) or distance.beta or distance.gamma or len(set(distance.weights)) != 1:
        return None
    return distance.alpha * distance.weights[0] or None


def bounded(question: Question, distance: Distance, most: Fraction, *, strict: bool = False) -> Question:
    """The question with one more condition: a distance is at most `most`, or below it if `strict`."""
    each = each_change(distance)
    # A limit on changes counts those that cost nothing, too: missing values that may be given for nothing.
    free = any(axis.missing is not None and not axis.missing_cost for axis in question.axes)
    if each is not None and not free:
        changes = max(math.ceil(most / each) - 1, -1) if strict else math.floor(most / each)
        if changes >= 0:
            least = changes if question.most_changes is None else min(changes, question.most_changes)
            return replace(question, most_changes=min(least, len(question.axes)))
    if isinstance(distance, Norm):
        return replace(question, rules=(*question.rules, Budget.of(distance, question.axes, most, strict=strict)))
    if isinstance(distance, NearestRow):
        known = takewhile(lambda one: one[0] <= most, least_of(question, distance))
        near = tuple(row for _, row in known) or distance.rows[:1]
        norm = replace(distance.norm, name=distance.name)
        budget = Budget.of(norm, question.axes, most, strict=strict, starts=near)
        return replace(question, rules=(*question.rules, budget))
    return replace(question, rules=(*question.rules, _limited(distance, question, most, strict=strict)))


def value_of(question: Question, distance: Distance, point: Point) -> Fraction:
    """What a distance other than the question's own is at a point."""
    asked = question if distance is question.distance else replace(question, distance=distance)
    return asked.distance_of(point)


def _limited(distance: DistanceProgram, question: Question, most: Fraction, *, strict: bool) -> Rule:
    """A rule: what a program returns is at most a number."""
    program, place = distance.program, {axis.name: j for j, axis in enumerate(question.axes)}
    op, limit = Op.LT if strict else Op.LE, Number(most)
    limited = replace(program, body=returning(program.body, lambda value: Apply(op, (value, limit))))
    names = [declared.name for declared in program.inputs]
    reads = {name: place[name] for name in names if name in place}
    starts = {name: place[name.removeprefix("start_")] for name in names if name not in place}
    text = f"{distance.name} {'<' if strict else '<='} {float(most):.6g}"
    rule = Rule(text, limited, reads, starts).at(question.axes)
    if distance.forms is None or any(axis.may_lack or axis.lacks for axis in question.axes):
        return rule
    return FormsRule.of(rule, distance.forms, question.axes, most, strict=strict)
