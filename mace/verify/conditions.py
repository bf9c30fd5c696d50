"""Properties that are programs over `x`, `other_x`, `f` and `other_f`, as questions whether they may be false."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from mace.base.deadline import NEVER, Deadline
from mace.base.values import plain
from mace.errors import GoalError, MaceError
from mace.problem.distance import norm
from mace.problem.programs import Rule, rule_of, typed
from mace.space.axes import LevelAxis
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Label
from mace.verify.pairs import Pairs
from mace.verify.product import Pair
from mace.verify.programs import OTHER, denied, pair_space
from mace.verify.questions import Broken, Case, Rows, class_goal, question_of
from mace.verify.subject import Subject


@dataclass(frozen=True)
class Condition:
    """A property given as a program, read over a space: which features it doubles, and its rules by classes."""

    source: str
    doubled: tuple[str, ...]
    two: bool
    rule: Rule
    space: Space


RESULTS = ("f", OTHER + "f")


def condition_of(subject: Subject, source: str) -> Condition:
    """Read a program over `x`, `other_x`, `f` and `other_f`; raises ProgramError naming the place."""
    if not subject.classes:
        raise GoalError("a program property is about classes, and this model predicts a number", hint="Use bounded().")
    names = subject.space.names
    for name in RESULTS:
        if name in names:
            raise MaceError(f"the feature `{name}` stands in the way of the model's result of that name")
    results = [Feature(name, "categorical", levels=[plain(label) for label in subject.classes]) for name in RESULTS]
    everything = pair_space(subject.space, names, results)
    rule = rule_of(source, everything)
    rule.refuse_unbound()
    read = rule.reads.keys()
    doubled = tuple(name for name in names if OTHER + name in read)
    space = pair_space(subject.space, doubled, results)
    return Condition(source, doubled, bool(doubled) or RESULTS[1] in read, rule_of(source, space), space)


def condition_cases(
    subject: Subject, condition: Condition, broken: Broken, deadline: Deadline = NEVER
) -> Iterator[Case]:
    """For each class of the first input (and of the second) the question whether the program may be false."""
    count = len(subject.classes)
    _refuse_missing(subject, condition)
    rule = denied(condition.rule.program, condition.space.names, f"not ({condition.source})")
    for i in range(count):
        for j in range(count) if condition.two else [i]:
            yield from _condition_case(subject, condition, (i, j), rule, broken, deadline)


def _condition_case(
    subject: Subject, condition: Condition, pair: Pair, rule: Rule, broken: Broken, deadline: Deadline
) -> Iterator[Case]:
    text = " and ".join(
        f"{name} = {subject.classes[k]!r}" for name, k in zip(RESULTS, pair[: 1 + condition.two], strict=False)
    )
    count = len(subject.classes)
    results = tuple(LevelAxis(name, count, 1 << k, k) for name, k in zip(RESULTS, pair, strict=True))
    pairs = Pairs(subject, subject, condition.doubled, deadline=deadline)
    if condition.two:
        for case in pairs.cases([pair], broken, text):
            question = case.question
            more = replace(
                question, space=condition.space, axes=(*question.axes, *results), rules=(*question.rules, rule),
                distance=norm("l1", len(question.axes) + 2),
            )  # fmt: skip
            yield replace(case, question=more)
        return
    for axes, _ in subject.wholes:
        yield Case(
            question_of(
                condition.space, (*axes, *results), subject.table, subject.columns,
                class_goal(subject, pair[0], text), [*subject.rules, rule],
            ),
            lambda point, axes=axes: (subject.space.show(axes, point[: len(axes)]),),  # type: ignore[misc]
            broken,
        )  # fmt: skip


def _refuse_missing(subject: Subject, condition: Condition) -> None:
    """Raise MaceError when the program reads a number that some rows lack."""
    lacked = frozenset().union(*(whole.lacking for whole in subject.wholes))
    for name in condition.rule.reads:
        if name in lacked or name.removeprefix(OTHER) in lacked:
            raise MaceError(
                f"holds: the program reads `{name.removeprefix(OTHER)}`, which may be missing",
                hint="A number that is missing has no value to compare; declare the feature without `missing` to "
                "leave such rows out.",
            )


def holds_for(condition: Condition, subject: Subject, rows: Rows, decisions: Sequence[Label]) -> bool:
    """Whether the program is true for rows and what the deployed model says of them."""
    from mace.language import run

    values: dict[str, Fraction] = {}
    for row, prefix in zip(rows, ("", OTHER), strict=False):
        for axis in subject.space.axes(row):
            values[prefix + axis.name] = axis.value(axis.start)
    for name, decision in zip(RESULTS, decisions, strict=False):
        values[name] = Fraction(subject.classes.index(decision))
    program = condition.rule.program
    return bool(run(program, typed(program, {d.name: values[d.name] for d in program.inputs})))
