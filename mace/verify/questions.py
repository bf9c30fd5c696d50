"""From a property to questions: if none of them has an answer, the property holds.

In:  the model under test, a property.
Out: `Case`s. Each is a Question about points of one input, or of a pair, and a `replay` that makes real rows of a point
     and asks the deployed model whether they break the property.
Promise: every pair of allowed rows that breaks the property is a point of one of the cases with its goal.

Three shapes: single inputs (`reachable`, `bounded`, programs that read one input); pairs, where features that may
differ have two axes and all others one, for each pattern of what either input lacks; and steps, for monotone ensembles,
where one axis counts the places at which some tree changes its answer along the feature: steps at each of them alone,
one after the other, make up every rise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from mace.base.deadline import NEVER, Deadline
from mace.base.values import plain
from mace.errors import GoalError, MaceError
from mace.language.show import show_name
from mace.problem.distance import norm
from mace.problem.programs import Rule, rule_of
from mace.problem.question import Goal, Question
from mace.space.axes import Axis, LevelAxis, Point
from mace.space.columns import Column
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Decision, Ensemble, Formula, Label
from mace.verify.product import Pair, product
from mace.verify.programs import OTHER, denied, other_rule, pair_space, result_is
from mace.verify.subject import Subject

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = tuple[Row, ...]
Broken: TypeAlias = Callable[[Rows], tuple[Label, ...] | None]
STEPS = 60  # on one axis: the prover for ensembles takes up to 63 levels


@dataclass(frozen=True)
class Case:
    """One question; `rows` makes rows of a point, `broken` replays them: the decisions if they break the property.

    exact: whether a point stands for its own rows only, so that one refused by the replay may be excluded. If not,
           such a point leaves the question undecided.
    """

    question: Question
    rows: Callable[[Point], Rows]
    broken: Broken
    exact: bool = True


def question_of(
    space: Space, axes: Sequence[Axis], table: Any, columns: Sequence[Column], goal: Goal, rules: Sequence[Rule]
) -> Question:
    """A question about whether any point has the goal; the distance only orders the search."""
    return Question(space, tuple(axes), table, goal, norm("l1", len(axes)), tuple(rules), inputs=tuple(columns))


def plain_goal(text: str, decision: Decision) -> Goal:
    """A goal over the scores of a product."""
    return Goal(text, frozenset(), decision)


# ---------------------------------------------------------------------------------------------- pairs


class Lacking(NamedTuple):
    """Which features the first and the second of two inputs lack."""

    one: frozenset[str]
    other: frozenset[str]

    @property
    def apart(self) -> frozenset[str]:
        """The features that one of the two lacks, and the other does not."""
        return self.one ^ self.other


@dataclass(frozen=True)
class Pairs:
    """Two inputs that agree but for some features: their space, axes and rules.

    first, second: the models of the first and of the second input (the same subject, or two for `equivalent`).
    doubled:  the features that may differ: in their values, and in whether they are missing.
    apart:    features of which one at least differs; none: that is not asked for.
    relation: doubled feature -> a condition between its two values, as a text; it says nothing of what is missing.
    fits:     which patterns of missing features are asked about.
    present:  features with levels that neither input may lack.
    deadline: when making the questions stops, with TimeOverError.
    """

    first: Subject
    second: Subject
    doubled: tuple[str, ...]
    apart: tuple[str, ...] = ()
    relation: Mapping[str, str] = field(default_factory=dict)
    fits: Callable[[Lacking], bool] = lambda lacking: True
    present: tuple[str, ...] = ()
    deadline: Deadline = NEVER

    def __post_init__(self) -> None:
        for name in self.doubled:
            _ = self.first.space[name]
            if OTHER + name in self.first.space.names:
                raise MaceError(f"the feature `{OTHER}{name}` stands in the way of the second value of `{name}`")

    def cases(self, pairs: Sequence[Pair], broken: Broken, text: str) -> Iterator[Case]:
        """The questions whether the first input may get class i and the second class j, for some of the pairs."""
        for one, other in itertools.product(self.first.wholes, repeat=2):
            lacking = Lacking(one.lacking, other.lacking)
            if lacking.apart <= set(self.doubled) and self.fits(lacking):
                conditions = self._conditions(lacking)
                if conditions is not None:
                    yield from self._cases(one.axes, other.axes, conditions, pairs, broken, text)

    def _conditions(self, lacking: Lacking) -> list[str] | None:
        """The conditions between inputs of a pattern; None if no two such inputs meet them."""
        both = lacking.one & lacking.other
        found = [text for name, text in self.relation.items() if name not in lacking.one | lacking.other]
        if self.apart and not lacking.apart & set(self.apart):
            differ = [f"{show_name(OTHER + name)} != {show_name(name)}" for name in self.apart if name not in both]
            if not differ:
                return None
            found.append(" or ".join(differ))
        return found

    def _with_values(self, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
        """The axes, those of `present` without the level "missing"."""
        found = list(axes)
        for j, feature in enumerate(self.first.space.features):
            axis = axes[j]
            if feature.name in self.present and isinstance(axis, LevelAxis) and None in feature.levels[: axis.count]:
                found[j] = replace(axis, allowed=axis.allowed & ~(1 << feature.levels.index(None)))
        return tuple(found)

    def _cases(
        self, axes: tuple[Axis, ...], others: tuple[Axis, ...], conditions: Sequence[str], pairs: Sequence[Pair],
        broken: Broken, text: str,
    ) -> Iterator[Case]:  # fmt: skip
        space = pair_space(self.first.space, self.doubled)
        place = [self.first.space.names.index(name) for name in self.doubled]
        axes, others = self._with_values(axes), self._with_values(others)
        both = (*axes, *(replace(others[j], name=OTHER + others[j].name) for j in place))
        rules = list(self.first.rules)
        for rule in self.first.rules:
            same = other_rule(rule, space.names, self.doubled)
            if same is not None:
                rules.append(same)
        rules += [rule_of(source, space) for source in conditions]

        def rows(point: Point) -> Rows:
            one = self.first.space.show(axes, point[: len(axes)])
            if not self.doubled:
                return (one,)
            moved = list(point[: len(axes)])
            for number, j in enumerate(place):
                moved[j] = point[len(axes) + number]
            return one, self.first.space.show(others, tuple(moved))

        one, other = self.first.table, self.second.table
        if isinstance(one, Formula) or isinstance(other, Formula):
            yield from self._programs(space, both, rules, rows, pairs, broken, text)
            return
        feature = {j: len(axes) + number for number, j in enumerate(place)}
        moved = [replace(c, feature=feature.get(c.feature, c.feature)) for c in self.second.columns]
        made = product(one, self.first.columns, other, moved, both, pairs, self.deadline)
        question = question_of(space, both, made.table, made.columns, plain_goal(text, made.goal(pairs)), rules)
        yield Case(question, rows, broken)

    def _programs(
        self,
        space: Space,
        axes: tuple[Axis, ...],
        rules: list[Rule],
        rows: Callable[[Point], Rows],
        pairs: Sequence[Pair],
        broken: Broken,
        text: str,
    ) -> Iterator[Case]:
        """With a program on one side, its result is a rule beside the question about the other side."""
        from mace.verify.programs import renamed

        one, other = self.first.table, self.second.table
        for i in sorted({i for i, _ in pairs}):
            results = sorted({j for k, j in pairs if k == i})
            if isinstance(other, Formula):
                names = {name: OTHER + name for name in self.doubled}
                rule = result_is(renamed(other.program, names), results, space.names)
                yield Case(self._single(space, axes, one, i, [*rules, rule], text), rows, broken)
                continue
            assert isinstance(one, Formula)
            rule = result_is(one.program, [i], space.names)
            for j in results:
                yield Case(self._single(space, axes, other, j, [*rules, rule], text), rows, broken)

    def _single(
        self, space: Space, axes: tuple[Axis, ...], table: Any, index: int, rules: list[Rule], text: str
    ) -> Question:
        subject = self.first if table is self.first.table else self.second
        return question_of(space, axes, table, subject.columns, class_goal(subject, index, text), rules)


def class_goal(subject: Subject, index: int, text: str = "") -> Goal:
    """The goal of one class, by its number."""
    table, label = subject.table, subject.classes[index]
    if isinstance(table, Formula):
        return Goal(text or repr(label), frozenset([label]), (), frozenset([index]))
    from mace.tables.table import decision_of

    return Goal(text or repr(label), frozenset([label]), decision_of(table, index))


def within_of(space: Space, features: Sequence[str], within: Fraction) -> dict[str, str]:
    """The other features that may differ between two alike persons, and the conditions on how."""
    found: dict[str, str] = {}
    for feature in space.features:
        if not within or feature.name in features or not feature.numeric:
            continue
        lower, upper = feature.bounds()
        most = within * (upper - lower)
        if most:
            found[feature.name] = (
                f"abs({show_name(OTHER + feature.name)} - {show_name(feature.name)}) <= {_fraction(most)}"
            )
    return found


def _fraction(number: Fraction) -> str:
    return f"{number.numerator} / {number.denominator}" if number.denominator != 1 else str(number)


# ---------------------------------------------------------------------------------------------- steps


def step_cases(
    subject: Subject, feature: str, rising: bool, pairs: Sequence[Pair], broken: Broken, text: str, *, exact: bool,
    deadline: Deadline = NEVER,
) -> Iterator[Case]:  # fmt: skip
    """Monotone by single steps: from each place where some tree changes its answer along the feature to the next.

    Rules that read the feature are left out: a refutation without them says more. A witness must obey them.
    exact: whether there are no such rules: then a step that the deployed model refuses may be left out.
    Raises TimeOverError.
    """
    table, space = subject.table, subject.space
    assert isinstance(table, Ensemble)
    j = space.names.index(feature)
    rules = [rule for rule in subject.rules if feature not in rule.reads]
    for axes, lacking in subject.wholes:
        if feature in lacking:
            continue
        for low, high in _chunks(_steps(subject, axes, j, deadline)):
            if not rising:
                low, high = high, low
            axis = axes[j]
            along = LevelAxis(feature, len(low), (1 << len(low)) - 1, 0, ordered=True)
            walked = (*axes[:j], along, *axes[j + 1 :])
            one, other = (_placed(subject.columns, axis, j, side) for side in (low, high))
            made = product(table, one, table, other, walked, pairs, deadline)
            question = question_of(space, walked, made.table, made.columns, plain_goal(text, made.goal(pairs)), rules)

            def rows(point: Point, axes: tuple[Axis, ...] = axes, low: list[int] = low, high: list[int] = high) -> Rows:
                ends = (low[point[j]], high[point[j]])
                return tuple(space.show(axes, (*point[:j], end, *point[j + 1 :])) for end in ends)

            yield Case(question, rows, broken, exact)


def _placed(columns: Sequence[Column], axis: Axis, feature: int, indices: list[int]) -> list[Column]:
    """The columns of a feature as functions of the number of the step."""
    return [
        c if c.feature != feature else Column(c.name, feature, tuple(c.on(axis).at(axis, index) for index in indices))
        for c in columns
    ]


def _steps(subject: Subject, axes: tuple[Axis, ...], j: int, deadline: Deadline) -> list[tuple[int, int]]:
    """Neighbouring indices of an axis between which some tree may change its answer."""
    from mace.solve.ensembles.cuts import tests_of

    axis, table = axes[j], subject.table
    if isinstance(axis, LevelAxis):
        # The level of what is missing is neither above nor below the others.
        known = subject.space.features[j].levels
        return list(itertools.pairwise(level for level in axis.levels() if known and known[level] is not None))
    assert isinstance(table, Ensemble)
    question = question_of(subject.space, axes, table, subject.columns, Goal("", frozenset(), ()), ())
    cuts = tests_of(question, table, lambda: deadline.look("finding where trees change their answer")).cuts[j]
    last = axis.last - (axis.missing is None)  # beyond the last value there is only "missing"
    return [(cut, cut + 1) for cut in cuts.tolist() if axis.lower <= cut <= last]


def _chunks(steps: list[tuple[int, int]]) -> Iterator[tuple[list[int], list[int]]]:
    for first in range(0, len(steps), STEPS):
        part = steps[first : first + STEPS]
        yield [low for low, _ in part], [high for _, high in part]


def ordered(feature: Feature) -> bool:
    """Whether "higher" has a meaning for a feature."""
    return feature.numeric or feature.kind in ("ordinal", "binary")


# ---------------------------------------------------------------------------------------------- programs


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
    read = rule_of(source, everything).reads.keys()
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
    from mace.problem.programs import typed

    values: dict[str, Fraction] = {}
    for row, prefix in zip(rows, ("", OTHER), strict=False):
        for axis in subject.space.axes(row):
            values[prefix + axis.name] = axis.value(axis.start)
    for name, decision in zip(RESULTS, decisions, strict=False):
        values[name] = Fraction(subject.classes.index(decision))
    program = condition.rule.program
    return bool(run(program, typed(program, {d.name: values[d.name] for d in program.inputs})))


__all__ = [
    "Broken",
    "Case",
    "Condition",
    "Lacking",
    "Pairs",
    "Row",
    "Rows",
    "class_goal",
    "condition_cases",
    "condition_of",
    "holds_for",
    "ordered",
    "question_of",
    "step_cases",
    "within_of",
]  # fmt: skip
