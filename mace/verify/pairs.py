"""Questions about pairs of inputs: features that may differ have two axes and all others one.

There is a question for each pattern of what either input lacks.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

from mace.base.deadline import NEVER, Deadline
from mace.errors import MaceError
from mace.language.show import show_name
from mace.problem.programs import Rule, rule_of
from mace.problem.question import Question
from mace.space.axes import Axis, LevelAxis, Point
from mace.space.space import Space
from mace.tables.table import Formula
from mace.verify.product import Pair, product
from mace.verify.programs import OTHER, other_rule, pair_space, result_is
from mace.verify.questions import Broken, Case, Rows, class_goal, plain_goal, question_of
from mace.verify.subject import Subject


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
    relation: doubled feature -> a condition between its two values, as a text, or as the rule itself; it says nothing
              of what is missing.
    fits:     which patterns of missing features are asked about.
    present:  features with levels that neither input may lack.
    deadline: when making the questions stops, with TimeOverError.
    """

    first: Subject
    second: Subject
    doubled: tuple[str, ...]
    apart: tuple[str, ...] = ()
    relation: Mapping[str, str | Rule] = field(default_factory=dict)
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

    def _conditions(self, lacking: Lacking) -> list[str | Rule] | None:
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
        self, axes: tuple[Axis, ...], others: tuple[Axis, ...], conditions: Sequence[str | Rule],
        pairs: Sequence[Pair], broken: Broken, text: str,
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
        rules += [given if isinstance(given, Rule) else rule_of(given, space) for given in conditions]

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
