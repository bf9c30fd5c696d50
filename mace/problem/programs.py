"""Programs over the features of a space: rules of the world, distances, and models written by hand.

In:  a text such as `CapitalLoss == 0 or CapitalGain == 0`, or the Path of a .mace file.
Out: a `Rule` (exact on a point, three-valued on a box), or a checked program over the features.
A program names features; those with levels are compared with texts (`Job == "Sales"`), and those whose levels are
0, 1, 2, .. are integers. A rule or a distance may also read the start's values, `start_Age`: a rule that does holds
for one row, and `Rule.at` makes it a plain one for that row, the start's values its constants.
Source: Karimi et al. 2020, section 4.2, plausibility; appendix A.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from mace.base.cache import Recent
from mace.base.files import read_text
from mace.errors import ProgramError, SpaceError
from mace.language import (
    Bool,
    Input,
    Int,
    Level,
    Number,
    Program,
    Real,
    Return,
    Sort,
    parse_program,
    parse_rule,
    possible,
    run,
)
from mace.language.interval import Enclosed
from mace.language.show import show_name
from mace.language.syntax import (
    MAX_BYTES,
    Block,
    Const,
    Levels,
    Truth,
    fold,
    levels_of,
    rebuilt,
    statements_of,
    with_args,
    with_values,
)
from mace.space.axes import Axis, Grid, Point
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Formula

Extent = tuple[Fraction, Fraction] | Set[int]  # of a feature in a box: a closed interval of its values, or levels

KEPT = 1024  # points of a rule, and boxes, of which is known whether they obey it


class RuleMemory(NamedTuple):
    """What was found out of a rule: of points and of boxes, by the indices of the features that it reads.

    grids: what indices stand for on the axes of these features; None: for levels. axes: the last that had them.
    """

    axes: Sequence[Axis]
    grids: list[Grid | None]
    held: Recent[bool]
    broken: Recent[bool]


@dataclass(frozen=True)
class Rule:
    """A condition; `reads` maps each input's name to the index of its feature.

    starts: the same for inputs such as `start_Age`; where there are any, the rule says nothing before `at`.
    """

    source: str
    program: Program
    reads: dict[str, int]
    starts: dict[str, int] = field(default_factory=dict)

    def at(self, axes: Sequence[Axis]) -> Rule:
        """The rule for one row: the start's values are constants of its program."""
        if not self.starts:
            return self
        sorts = {declared.name: declared.sort for declared in self.program.inputs}
        consts = []
        for name, j in self.starts.items():
            value = axes[j].value(axes[j].start)
            consts.append(Const(name, Truth(bool(value)) if isinstance(sorts[name], Bool) else Number(value)))
        program = replace(
            self.program,
            inputs=tuple(declared for declared in self.program.inputs if declared.name not in self.starts),
            consts=(*consts, *self.program.consts),
            # A text beside a start's level means an index; beside a constant it would mean nothing.
            body=_coded(self.program.body, levels_of(self.program.inputs)),
        )
        return Rule(self.source, program, self.reads)

    def holds(self, axes: Sequence[Axis], point: Point) -> bool:
        """Whether a point obeys the rule, by the interpreter."""
        return self.known(axes).held.get(self._read(point), lambda: self._holds(axes, point))

    def _holds(self, axes: Sequence[Axis], point: Point) -> bool:
        self.refuse_unbound()
        values = {name: axes[j].value(point[j]) for name, j in self.reads.items()}
        return bool(run(self.program, typed(self.program, values)))

    @cached_property
    def _places(self) -> tuple[int, ...]:
        return tuple(self.reads.values())

    @cached_property
    def _read(self) -> Callable[[Point], object]:
        """The indices of a point on which the rule depends."""
        return itemgetter(*(self._places or (slice(0),)))

    def known(self, axes: Sequence[Axis]) -> RuleMemory:
        """What was found out of points and boxes of axes on whose grids indices mean the same."""
        last = self._last[0]  # threads may meet here: what is taken belongs together
        if last.axes is not axes:
            grids = [getattr(axes[j], "grid", None) for j in self._places]
            alike = last.grids == grids
            last = last._replace(axes=axes) if alike else RuleMemory(axes, grids, Recent(KEPT), Recent(KEPT))
            self._last[0] = last
        return last

    @cached_property
    def _last(self) -> list[RuleMemory]:
        return [RuleMemory((), [], Recent(), Recent())]

    def can_hold(self, box: Mapping[str, Extent]) -> bool:
        """False only if no point of a box obeys the rule; a side is a closed interval or a set of levels."""
        self.refuse_unbound()
        sides: dict[str, Enclosed] = {}
        for declared in self.program.inputs:
            side = box[declared.name]
            if isinstance(declared.sort, Bool):
                sides[declared.name] = _bools(side)
            else:
                sides[declared.name] = side if isinstance(side, tuple) else set(side)
        return True in possible(self.program, sides)

    def refuse_unbound(self) -> None:
        """Raise ProgramError for a rule that reads a row's own values: of inputs alone it says nothing."""
        if self.starts:
            raise ProgramError(
                f"the rule `{self.source}` compares with the row's own values, and here is no row",
                hint="It takes part in explanations of a row; leave it out elsewhere.",
            )


def _coded(block: Block, levels: Levels) -> Block:
    """A block with every text replaced by the index that it means."""
    return rebuilt(block, lambda stmt: with_values(stmt, lambda value: fold(value, with_args, levels)))


def _bools(side: Extent) -> frozenset[bool]:
    if isinstance(side, tuple):
        return frozenset(value for value in (False, True) if side[0] <= value <= side[1])
    return frozenset(map(bool, side))


def typed(program: Program, values: Mapping[str, Fraction]) -> dict[str, Fraction | bool]:
    """Exact numbers as the sorts that a program declares: a bool input gets a bool."""
    bools = {declared.name for declared in program.inputs if isinstance(declared.sort, Bool)}
    return {name: bool(value) if name in bools else value for name, value in values.items()}


def sort_of(feature: Feature) -> Sort:
    """The sort of a feature in programs: a number, or one of its levels."""
    if feature.kind == "real":
        return Real()
    present = [level for level in feature.levels if level is not None]
    if feature.kind == "integer" or present == list(range(len(present))):
        return Int()
    return Level(tuple(str(level) for level in feature.levels))


def inputs_of(space: Space, start: bool = False) -> dict[str, Sort]:
    """The names that a program may read; with `start`, also the start's values (a feature of that name hides one)."""
    sorts = {feature.name: sort_of(feature) for feature in space.features}
    if start:
        sorts |= {name: sort for feature, sort in sorts.items() if (name := "start_" + feature) not in sorts}
    return sorts


def rules_of(space: Space, more: Sequence[str | Path] = ()) -> tuple[Rule, ...]:
    """The rules of a space, and more; raises ProgramError, which names the file that a wrong rule was read from."""
    own = []
    for source in space.rules:
        try:
            own.append(rule_of(source, space))
        except ProgramError as error:
            if space.file:
                error.reword(f"{space.file}: {error.message}")
            raise
    return (*own, *(rule_of(source, space) for source in more))


def rule_of(source: str | Path, space: Space) -> Rule:
    """A rule from an expression, a program's text, or the Path of a .mace file; raises ProgramError."""
    inputs = inputs_of(space, start=True)
    if isinstance(source, Path):
        program = _read(source, inputs)
        shown = str(source)
    elif isinstance(source, str):
        shown = source.strip()
        body = shown.removeprefix("rule:").strip()
        try:
            if "return" in body.split():
                program = _checked(parse_program(source, "<rule>", inputs), inputs)
            else:
                program = parse_rule(body, inputs, "<rule>")
        except ProgramError as error:
            raise _in_backquotes(error, body, space) from None
    else:
        raise SpaceError(f"a rule is a text or the Path of a .mace file, got {type(source).__name__}")
    order = {name: index for index, name in enumerate(space.names)}
    reads = {declared.name: order[declared.name] for declared in program.inputs if declared.name in order}
    starts = {
        declared.name: order[declared.name.removeprefix("start_")]
        for declared in program.inputs
        if declared.name not in order
    }
    return Rule(shown, program, reads, starts)


def _in_backquotes(error: ProgramError, body: str, space: Space) -> ProgramError:
    """The error about a rule, with a hint where it has a name with spaces or other signs that is not marked as one."""
    plain = re.sub(r"`[^`]*`", "", body)
    marked = [name for name in space.names if show_name(name) != name]
    bare = [name for name in marked if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", plain)]
    if bare:
        name = show_name(max(bare, key=len))
        error.hint = f"A name with spaces or other signs, or of the language, is written in backquotes: {name}."
        error.reword(error.message)
    return error


def distance_program(source: str | Path, space: Space) -> Program:
    """A distance from a program's text or Path; it may read features and `start_` features."""
    inputs = inputs_of(space, start=True)
    path = Path(source) if isinstance(source, Path) or source.endswith(".mace") else None
    if path is not None:
        return _read(path, inputs)
    return _checked(parse_program(str(source), "<distance>", inputs), inputs)


def model_program(source: str | Path, space: Space) -> Formula:
    """A model from a program's text or Path; its result is the class: a whole number, or true and false."""
    inputs = inputs_of(space)
    path = Path(source) if isinstance(source, Path) or source.endswith(".mace") else None
    if path is not None:
        program, name = _read(path, inputs), path.name
    else:
        program, name = _checked(parse_program(str(source), "<model>", inputs), inputs), "program"
    results: set[int] = set()
    for statement in statements_of(program.body):
        if isinstance(statement, Return) and isinstance(statement.value, Number):
            if statement.value.value.denominator != 1 or statement.value.value < 0:
                raise ProgramError(
                    "a model returns class numbers, which are whole and not negative",
                    span=statement.value.span,
                    text=program.source,
                )
            results.add(int(statement.value.value))
    return Formula(program, tuple(range(max(results | {1}) + 1)), name)


def _read(path: Path, inputs: Mapping[str, Sort]) -> Program:
    text = read_text(path, "Give the path of a .mace program.", MAX_BYTES)
    return _checked(parse_program(text, str(path), inputs), inputs)


def _checked(program: Program, inputs: Mapping[str, Sort]) -> Program:
    """A program that declares its own inputs must declare features, with sorts that hold every value of theirs."""
    for declared in program.inputs:
        if declared.name not in inputs:
            known = ", ".join(name for name in inputs if not name.startswith("start_"))
            raise ProgramError(
                f"the input `{declared.name}` is not a feature of the space",
                span=declared.span,
                text=program.source,
                hint=f"Features: {known}.",
            )
        if not _fits(declared, inputs[declared.name]):
            raise ProgramError(
                f"the input `{declared.name}` is declared {_name(declared.sort)}, but the feature is "
                f"{_name(inputs[declared.name])}",
                span=declared.span,
                text=program.source,
            )
    return program


def _fits(declared: Input, sort: Sort) -> bool:
    if isinstance(sort, Level) or isinstance(declared.sort, Level):
        return declared.sort == sort
    return isinstance(declared.sort, Real) or not isinstance(sort, Real)


def _name(sort: Sort) -> str:
    return "one of " + ", ".join(map(repr, sort.levels)) if isinstance(sort, Level) else type(sort).__name__.lower()
