"""Each property as questions to oracles: what would break it, and how rows that do are recognised.

In:  the model under test, a property.
Out: `Attempt`s: the property holds if every question of one attempt is refuted.
Promise: of each attempt, every input (or pair) that breaks the property is a point of one of its questions with its
goal. `broken` asks the deployed model again, and decides by nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, assert_never

from mace.base.deadline import NEVER, Deadline
from mace.errors import GoalError, MaceError, ModelError, RowError
from mace.problem.goal_decision import lower_or_all
from mace.problem.goals import Between, Probability, Value
from mace.problem.programs import Rule, rule_of
from mace.space.axes import Axis, GridAxis, LevelAxis, Point
from mace.tables.table import Ensemble, Formula, Label
from mace.verify import properties as kinds
from mace.verify.conditions import condition_cases, condition_of, holds_for
from mace.verify.pairs import Lacking, Pairs, within_of
from mace.verify.product import Pair
from mace.verify.programs import beyond, pair_space
from mace.verify.properties import Property
from mace.verify.questions import Broken, Case, Row, Rows, class_goal, has_higher, question_of
from mace.verify.steps import step_cases
from mace.verify.structure import same_network
from mace.verify.subject import Subject

Load = Callable[[Path], object] | None


@dataclass(frozen=True)
class Attempt:
    """Questions that settle a property if all of them are refuted; `empty` says why it holds if there is none."""

    cases: Iterable[Case]
    empty: str = "no two allowed inputs differ in what it compares"


def attempts(subject: Subject, given: Property, load: Load, deadline: Deadline = NEVER) -> Iterator[Attempt]:
    """What to ask; a later attempt is for where an earlier one leaves a doubt.

    Raises a MaceError for a property that this model or space cannot have; TimeOverError while a question is made.
    """
    match given:
        case kinds.Monotone():
            yield from _monotone(subject, given, deadline)
        case kinds.Fair():
            yield _fair(subject, given, deadline)
        case kinds.Equivalent():
            yield _equivalent(subject, given, load, deadline)
        case kinds.Reachable(label=label) | kinds.Unreachable(label=label):
            yield Attempt(_reaching(subject, class_of(subject, label)))
        case kinds.Bounded():
            yield Attempt(_outside(subject, given), "no prediction lies outside of it")
        case kinds.Holds(program=source):
            yield _holds(subject, source, deadline)
        case kinds.Robust():
            raise AssertionError("robust is a question about one row")
        case _:
            assert_never(given)


def class_of(subject: Subject, label: Any) -> int:
    """The number of a class given by its label, by the text of it, or as people call it."""
    classes = list(subject.classes)
    for place, known in enumerate(classes):
        if known == label or str(known) == str(label):
            return place
    for place, known in enumerate(classes):
        if subject.space.called(known) == label:
            return place
    shown = ", ".join(map(repr, classes)) or "none: it predicts a number"
    raise GoalError(f"{label!r} is not a class of this model", hint=f"Its classes: {shown}.")


# ---------------------------------------------------------------------------------------------- single inputs


def _single(subject: Subject, axes: tuple[Axis, ...]) -> Callable[[Point], Rows]:
    return lambda point: (subject.space.show(axes, point),)


def _reaching(subject: Subject, index: int) -> Iterator[Case]:
    """Whether some input gets a class."""

    def broken(rows: Rows) -> tuple[Label, ...] | None:
        said = tuple(subject.decisions(rows))
        return said if said[0] == subject.classes[index] else None

    goal = class_goal(subject, index)
    for axes, _ in subject.wholes:
        question = question_of(subject.space, axes, subject.table, subject.columns, goal, subject.rules)
        yield Case(question, _single(subject, axes), broken)


def _outside(subject: Subject, given: kinds.Bounded) -> Iterator[Case]:
    """Whether a prediction, or a probability, lies outside of its bounds."""
    if isinstance(subject.table, Formula):
        raise GoalError("bounded: a program returns a class, not a number")
    label = None
    if subject.classes:
        if given.label is None:
            raise GoalError("bounded: of which class is this the probability?", hint="bounded(0, 0.9, label=1)")
        label = subject.classes[class_of(subject, given.label)]
    where = [rule_of(rule, subject.space) for rule in given.where]
    for rule in where:
        rule.refuse_unbound()
    outside = []
    if given.lower is not None and (label is None or given.lower > 0):
        outside.append(Between(high=given.lower, high_strict=True))
    if given.upper is not None and (label is None or given.upper < 1):
        outside.append(Between(low=given.upper, low_strict=True))
    for side in outside:
        goal, table = lower_or_all(Value(side) if label is None else Probability(label, side), subject.table)
        for axes, lacking in subject.wholes:
            if any(rule.reads.keys() & lacking for rule in where):
                continue  # a condition on what is missing holds nowhere
            rules = [*subject.rules, *where]
            question = question_of(subject.space, axes, table, subject.columns, goal, rules)
            yield Case(question, _single(subject, axes), _lies(subject, side, label, where))


def _lies(subject: Subject, side: Between, label: Label | None, where: Sequence[Rule]) -> Broken:
    """Whether the deployed model's number for a row lies on one side of the bounds."""
    import numpy as np

    def broken(rows: Rows) -> tuple[Any, ...] | None:
        if not all(subject.obeys(rule, row) for row in rows for rule in where):
            return None
        said = subject.decisions(rows) if label is None else subject.probabilities(rows, label)
        return tuple(said) if bool(side.holds(np.asarray(said))[0]) else None

    return broken


# ---------------------------------------------------------------------------------------------- pairs


def _monotone(subject: Subject, given: kinds.Monotone, deadline: Deadline) -> Iterator[Attempt]:
    name = given.feature
    feature = subject.space[name]
    if not has_higher(feature):
        raise MaceError(f"monotone: `{name}` is {feature.kind}: its levels have no order")
    good = _favourable(subject, given.favourable)
    pairs: list[Pair] = [(i, j) for i in good for j in range(len(subject.classes)) if j not in good]
    if subject.classes and not pairs:
        yield Attempt((), "every class is favourable")
        return
    pairs = pairs or [(0, 0)]
    rising = given.direction == "increasing"

    def broken(rows: Rows) -> tuple[Label, ...] | None:
        one, other = rows
        if one[name] is None or other[name] is None or not _only_differ(one, other, [name]):
            return None
        (axis, moved) = (feature.axis(row[name]) for row in rows)
        gain = moved.value(moved.start) - axis.value(axis.start)
        if gain == 0 or (gain > 0) != rising:
            return None
        before, after = subject.decisions(rows)
        if not subject.classes:
            return (before, after) if after < before else None
        worse = subject.classes.index(before) in good and subject.classes.index(after) not in good
        return (before, after) if worse else None

    text = f"moving {name} turns the decision"
    read = any(name in rule.reads for rule in subject.rules)
    if isinstance(subject.table, Ensemble):
        yield Attempt(
            step_cases(subject, name, rising, pairs, broken, text, exact=not read, deadline=deadline),
            "no tree changes its answer along it",
        )
        if not read:
            return  # else, with the rules that read the feature, it may still be settled
    names = pair_space(subject.space, [name]).names
    relation = {name: beyond(feature, rising, names)}

    def there(lacking: Lacking) -> bool:
        return name not in lacking.one | lacking.other

    yield Attempt(
        Pairs(subject, subject, (name,), relation=relation, fits=there, present=(name,), deadline=deadline).cases(
            pairs, broken, text
        )
    )


def _favourable(subject: Subject, labels: tuple[Any, ...] | None) -> list[int]:
    classes = subject.classes
    if labels is not None:
        return [class_of(subject, label) for label in labels]
    if len(classes) > 2:
        raise GoalError("monotone: which classes are favourable?", hint=f"favourable=[{classes[-1]!r}], for instance")
    return [1] if len(classes) == 2 else []


def _only_differ(one: Row, other: Row, names: Sequence[str]) -> bool:
    return all(one[name] == other[name] for name in one if name not in names)


def _fair(subject: Subject, given: kinds.Fair, deadline: Deadline) -> Attempt:
    for name in given.features:
        _ = subject.space[name]
    near = within_of(subject.space, given.features, given.within)

    def broken(rows: Rows) -> tuple[Label, ...] | None:
        one, other = rows
        if all(one[name] == other[name] for name in given.features):
            return None
        if not _only_differ(one, other, [*given.features, *near]):
            return None
        if not all(_near(subject, name, rows, given.within) for name in near):
            return None
        said = subject.decisions(rows)
        return (said[0], said[1]) if said[0] != said[1] else None

    def alike(lacking: Lacking) -> bool:
        return not lacking.apart & near.keys()

    count = len(subject.classes)
    # The two inputs may change places: each pair of classes is asked for once.
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    if count and not pairs:
        return Attempt((), "the model knows one class only")
    doubled = (*dict.fromkeys(given.features), *near)
    return Attempt(
        Pairs(subject, subject, doubled, given.features, near, alike, deadline=deadline).cases(
            pairs or [(0, 0)], broken, f"changing {', '.join(given.features)} changes the decision"
        )
    )


def _near(subject: Subject, name: str, rows: Rows, within: Fraction) -> bool:
    """Whether two rows have numbers near to each other, or the same or none."""
    feature = subject.space[name]
    one, other = (feature.read(row[name]) for row in rows)
    if one is None or other is None:
        return one is other
    low, high = feature.bounds()
    return abs(Fraction(one) - Fraction(other)) <= within * (high - low)


def _equivalent(subject: Subject, given: kinds.Equivalent, load: Load, deadline: Deadline) -> Attempt:
    other = Subject(_other(given.other, load), subject.space)
    if same_network(subject, other):
        return Attempt((), "both compute the same from the same numbers")
    if bool(subject.classes) != bool(other.classes):
        raise ModelError("one of the two models has classes, and the other predicts a number")
    for whole in subject.wholes:
        _refuse_other_rows(other, whole.axes)

    def broken(rows: Rows) -> tuple[Label, ...] | None:
        said = (*subject.decisions(rows), *other.decisions(rows))
        return said if said[0] != said[1] else None

    text = "the two models differ"
    if not subject.classes:
        return Attempt(
            case
            for first, second in ((subject, other), (other, subject))
            for case in Pairs(first, second, (), deadline=deadline).cases([(0, 0)], broken, text)
        )
    pairs = [(i, j) for i, a in enumerate(subject.classes) for j, b in enumerate(other.classes) if a != b]
    if not pairs:
        return Attempt((), "both know one class only, and it is the same")
    return Attempt(Pairs(subject, other, (), deadline=deadline).cases(pairs, broken, text))


def _other(given: Any, load: Load) -> Any:
    if isinstance(given, (str, Path)) and not kinds.is_program(given):
        if str(given).endswith(".mace"):
            return Path(given)
        if load is None:
            raise ModelError("equivalent: give the model itself", hint="A file is read by the command line only.")
        return load(Path(given))
    return given


def _refuse_other_rows(other: Subject, axes: tuple[Axis, ...]) -> None:
    """Raise ModelError when the other model of `equivalent` does not take rows that the first one takes, as it does."""
    try:
        usable = other.usable(axes)
    except RowError as error:
        raise ModelError(f"equivalent: the other model does not take all rows: {error.message}") from None
    table = other.table
    for feature, axis, own in zip(other.space.features, axes, usable, strict=True):
        grids = {one.grid.rounded_to for one in (axis, own) if isinstance(one, GridAxis)}
        if len(grids) > 1:
            raise ModelError(
                f"equivalent: whole numbers of `{feature.name}` reach one of the models as float64, and not the "
                "other: beyond 2^53 they are rounded differently, which is not supported",
                hint="Narrow its range in the space.",
            )
        lacks = isinstance(axis, LevelAxis) and feature.missing and feature.show(axis, axis.start) is None
        reads = isinstance(table, Formula) and any(d.name == feature.name for d in table.program.inputs)
        if own != axis or lacks and reads and feature.ordered:
            raise ModelError(f"equivalent: the other model does not take rows that lack `{feature.name}`")


# ---------------------------------------------------------------------------------------------- programs


def _holds(subject: Subject, source: str, deadline: Deadline) -> Attempt:
    condition = condition_of(subject, source)

    def broken(rows: Rows) -> tuple[Label, ...] | None:
        said = subject.decisions(rows)
        two = list(said) if len(said) == 2 else [said[0], said[0]]
        return None if holds_for(condition, subject, rows, two) else tuple(said)

    return Attempt(condition_cases(subject, condition, broken, deadline))


__all__ = ["Attempt", "Load", "attempts", "class_of"]
