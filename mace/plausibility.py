"""Programs over the features of a space: rules of the world, distances, and models written by hand.

In:  a text such as `CapitalLoss == 0 or CapitalGain == 0`, or the Path of a .mace file.
Out: a `Rule` (exact on a point, three-valued on a box), or a checked program over the features.
A program names features; those with levels are compared with texts (`Job == "Sales"`), and those whose levels are
0, 1, 2, .. are integers. A distance program may also read the start's values, `start_Age`.
Source: Karimi et al. 2020, section 4.2, plausibility; appendix A.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from mace.axes import Axis, Point
from mace.errors import FileError, ProgramError, SpaceError
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
from mace.language.interval import Side as Enclosed
from mace.language.syntax import MAX_BYTES, statements_of
from mace.space import Feature, Space
from mace.tables import Formula

Side = tuple[Fraction, Fraction] | Set[int]


@dataclass(frozen=True)
class Rule:
    """A condition; `reads` maps each input's name to the index of its feature."""

    source: str
    program: Program
    reads: dict[str, int]

    def holds(self, axes: Sequence[Axis], point: Point) -> bool:
        """Whether a point obeys the rule, by the interpreter."""
        values = {name: axes[j].value(point[j]) for name, j in self.reads.items()}
        return bool(run(self.program, typed(self.program, values)))

    def can_hold(self, box: Mapping[str, Side]) -> bool:
        """False only if no point of a box obeys the rule; a side is a closed interval or a set of levels."""
        sides: dict[str, Enclosed] = {}
        for declared in self.program.inputs:
            side = box[declared.name]
            if isinstance(declared.sort, Bool):
                sides[declared.name] = _bools(side)
            else:
                sides[declared.name] = side if isinstance(side, tuple) else set(side)
        return True in possible(self.program, sides)


def _bools(side: Side) -> frozenset[bool]:
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
    """The names that a program may read; with `start`, also the start's values."""
    sorts = {feature.name: sort_of(feature) for feature in space.features}
    if start:
        sorts |= {"start_" + name: sort for name, sort in sorts.items()}
    return sorts


def rule_of(source: str | Path, space: Space) -> Rule:
    """A rule from an expression, a program's text, or the Path of a .mace file; raises ProgramError."""
    if isinstance(source, Path):
        program = _read(source, inputs_of(space))
        shown = str(source)
    elif isinstance(source, str):
        shown = source.strip()
        body = shown.removeprefix("rule:").strip()
        if "return" in body.split():
            program = _checked(parse_program(source, "<rule>", inputs_of(space)), inputs_of(space))
        else:
            program = parse_rule(body, inputs_of(space), "<rule>")
    else:
        raise SpaceError(f"a rule is a text or the Path of a .mace file, got {type(source).__name__}")
    order = {name: index for index, name in enumerate(space.names)}
    return Rule(shown, program, {declared.name: order[declared.name] for declared in program.inputs})


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
    try:
        if path.stat().st_size > MAX_BYTES:
            raise FileError(f"{path}: larger than {MAX_BYTES} bytes")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: cannot be read ({error})", hint="Give the path of a .mace program.") from None
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
