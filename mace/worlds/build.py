"""From sections to programs: names are resolved, levels become numbers, and everything is checked by the language.

In:  the sections of a world, and a space.    Out: its actions and consequences.
Promise: every program that comes out passed `mace.language.check`; texts have become indices of levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple, assert_never

from mace.base.suggestions import among, closest
from mace.errors import ProgramError, Span
from mace.language import (
    Apply,
    Assign,
    Block,
    Bool,
    Expr,
    For,
    If,
    Input,
    Int,
    Level,
    Name,
    Number,
    Op,
    Program,
    Real,
    Return,
    Skip,
    Stmt,
    Text,
    check,
    statements_of,
)
from mace.language.kinds import no_level, not_meant
from mace.language.show import show_name
from mace.language.syntax import COMPARISONS, LevelIndex, coded, fold, nodes_of, rebuilt, with_args, with_values
from mace.problem.programs import inputs_of
from mace.space.space import Space
from mace.worlds.parts import Action, Consequence, Parameter
from mace.worlds.sections import ActionText, Declared, EdgeText, Sections

BEFORE, START = "before_", "start_"
MOST_VALUES = 2**53  # of a parameter
MOST_ACTIONS = 64


class Parts(NamedTuple):
    """What a world is made of."""

    actions: tuple[Action, ...]
    edges: tuple[Consequence, ...]


def build(found: Sections, text: str, file: str, space: Space) -> Parts:
    """Make the programs of a world; raises ProgramError."""
    return _Builder(found, text, file, space).parts()


@dataclass
class _Builder:
    found: Sections
    text: str
    file: str
    space: Space

    def __post_init__(self) -> None:
        self.names = self.space.names
        sorts = inputs_of(self.space)
        own = {name: sort.levels for name, sort in sorts.items() if isinstance(sort, Level)}
        self.levels = {prefix + name: levels for name, levels in own.items() for prefix in ("", BEFORE, START)}

    def parts(self) -> Parts:
        names = [action.name for action in self.found.actions]
        if not names:
            raise ProgramError(f"{self.file}: the world has no action", hint="Write `action NAME:` and its lines.")
        if len(names) > MOST_ACTIONS:
            raise ProgramError(f"{self.file}: the world has more than {MOST_ACTIONS} actions", hint="Leave some out.")
        for at, action in enumerate(self.found.actions):
            if action.name in names[:at]:
                raise self._wrong("this action is declared twice", action.span, "Give each a name of its own.")
        for prefix, name in ((p, n) for p in (BEFORE, START) for n in self.names if p + n in self.names):
            raise ProgramError(
                f"{self.file}: `{prefix}{name}` is a feature, and what worlds call the earlier value of `{name}`",
                hint="Give one of these two features another name.",
            )
        return Parts(tuple(map(self._action, self.found.actions)), tuple(map(self._edge, self.found.edges)))

    # --- actions ---

    def _action(self, action: ActionText) -> Action:
        parameters = tuple(map(self._parameter, action.parameters))
        for at, one in enumerate(parameters):
            if one.name in self.names or one.name in [other.name for other in parameters[:at]]:
                raise self._wrong(
                    f"`{one.name}` is a feature or a parameter already", action.parameters[at].span,
                    "Give the parameter a name of its own.",
                )  # fmt: skip
        mine = [one.name for one in parameters]
        levels = {**self.levels, **{one.name: one.levels for one in parameters if one.levels}}
        if action.cost is None:
            raise self._wrong(f"the action `{action.name}` has no cost", action.span, "Add a line `cost 1`.")
        body = self._coded(action.change, levels)
        assigned = [stmt.name for stmt in statements_of(body) if isinstance(stmt, Assign)]
        self._refuse_foreign(body, mine)
        affects = tuple(name for name in self.names if name in assigned)
        if not affects:
            hint = "Assign to a feature."
            if assigned:
                hint = f"`{assigned[0]}` is no feature. {among(assigned[0], self.names, 'The space')}"
            raise self._wrong(f"the action `{action.name}` changes no feature", action.span, hint)
        first = tuple(Assign(name, Name(BEFORE + name)) for name in affects)
        change = self._program((*first, *body, Return(Number(Fraction(1)))), [*mine, *self._states(BEFORE)])
        known = [*mine, *self._states()]

        def conditions(tests: Iterable[Expr], names: list[str]) -> tuple[Program, ...]:
            return tuple(self._condition(test, levels, names) for test in tests)

        return Action(
            action.name,
            parameters,
            conditions(action.before, [name for name in known if not name.startswith(BEFORE)]),
            change,
            conditions(action.after, known),
            self._number(action.cost, levels, known),
            affects,
            action.span,
        )

    def _refuse_foreign(self, body: Block, parameters: list[str]) -> None:
        """Refuse `x = x + 1` where x is no feature: the name is wrong, or the world was made for another space."""
        known = {*self.names, *parameters, *(const.name for const in self.found.consts)}
        for stmt in statements_of(body):
            if isinstance(stmt, Assign) and stmt.name not in known:
                for node in _nodes(stmt):
                    if isinstance(node, Name) and node.name == stmt.name:
                        hint = among(stmt.name, self.names, "The space")
                        raise self._wrong(f"`{stmt.name}` is no feature of the space", node.span, hint)
                known.add(stmt.name)

    def _parameter(self, declared: Declared) -> Parameter:
        made, span = declared.input, declared.span
        match made.sort:
            case Level(levels=levels):
                return Parameter(made.name, Fraction(1), 0, len(levels) - 1, levels)
            case Bool():
                raise self._wrong("a parameter is a number or one of some levels", span, 'Write `one of "no", "yes"`.')
            case Int() | Real():
                step = declared.step
                if isinstance(made.sort, Int):
                    step = step or Fraction(1)
                if made.lower is None or made.upper is None:
                    raise self._wrong("the range of this parameter has no end", span, "Write `real in [0.1, 5]`.")
                if step is None or step <= 0 or isinstance(made.sort, Int) and step.denominator != 1:
                    raise self._wrong(
                        "this parameter needs a step > 0 (of whole numbers: a whole one)", span,
                        "Write `real in [0.1, 5] step 0.1`: over all real numbers no least cost need be attained.",
                    )  # fmt: skip
                first, last = math.ceil(made.lower / step), math.floor(made.upper / step)
                if first > last:
                    raise self._wrong("no multiple of the step lies in this range", span, "Widen the range.")
                if max(abs(first), abs(last)) > MOST_VALUES:
                    raise self._wrong("this parameter has too many values", span, "Choose a larger step.")
                return Parameter(made.name, step, first, last, ())
            case _:
                assert_never(made.sort)

    # --- consequences ---

    def _edge(self, edge: EdgeText) -> Consequence:
        for name in (edge.source, edge.target):
            if name not in self.names:
                close = closest(name, self.names)
                raise self._wrong(
                    f"`{name}` is not a feature of the space", edge.span,
                    f"Did you mean `{close}`?" if close else f"Features: {', '.join(self.names)}.",
                )  # fmt: skip
        known = [name for name in self._states() if not name.startswith(BEFORE)]
        if isinstance(edge.of, tuple):
            factor = self._program(self._coded(edge.of, self.levels), known)
            if check(factor, linear=False) == Bool():
                raise self._wrong("a factor is a number", edge.span, "Write `return 0.5`.")
        else:
            factor = self._number(edge.of, self.levels, known)
        return Consequence(edge.source, edge.target, factor, edge.span)

    # --- programs ---

    def _states(self, prefix: str = "") -> list[str]:
        """Every name that a program may read of states: where one is given, of those with that prefix and the start."""
        kinds = ("", BEFORE, START) if not prefix else ("", prefix, START)
        return [kind + name for kind in kinds for name in self.names]

    def _condition(self, test: Expr, levels: Mapping[str, tuple[str, ...]], known: list[str]) -> Program:
        program = self._program((Return(self._expr(test, levels), test.span),), known)
        if check(program, linear=False) != Bool():
            raise self._wrong("a condition is true or false, and this is a number", test.span, "Compare it: `... > 0`.")
        return program

    def _number(self, value: Expr, levels: Mapping[str, tuple[str, ...]], known: list[str]) -> Program:
        program = self._program((Return(self._expr(value, levels), value.span),), known)
        if check(program, linear=False) == Bool():
            raise self._wrong(
                "a cost or a factor is a number, and this is true or false", value.span, "Write `1 if ... else 0`."
            )
        return program

    def _program(self, body: Block, known: list[str]) -> Program:
        """A checked program whose inputs are the known names that it reads; features that it assigns are variables."""
        assigned = {stmt.name for stmt in statements_of(body) if isinstance(stmt, Assign)}
        read = {node.name for stmt in statements_of(body) for node in _nodes(stmt) if isinstance(node, Name)}
        inputs = tuple(Input(name, Real()) for name in known if name in read and name not in assigned)
        consts = tuple(const for const in self.found.consts)
        program = Program(inputs, consts, body, self.file, self.text)
        check(program, known, linear=False)
        return program

    # --- levels ---

    def _coded(self, block: Block, levels: Mapping[str, tuple[str, ...]]) -> Block:
        def statement(stmt: Stmt) -> Stmt:
            if isinstance(stmt, Assign) and stmt.name in levels:
                return replace(stmt, value=self._level(stmt.value, stmt.name, levels))
            return with_values(stmt, lambda value: self._expr(value, levels))

        return rebuilt(block, statement)

    def _level(self, value: Expr, name: str, levels: Mapping[str, tuple[str, ...]]) -> Expr:
        """What is assigned to a feature with levels, as the index of a level of it."""
        match value:
            case Text(value=level, span=span):
                self._known(level, name, span, levels)
                return Number(Fraction(levels[name].index(level)), span)
            case Name(name=other) if other in levels:
                if levels[other] == levels[name]:
                    return value
                for level in levels[other]:
                    self._known(level, name, value.span, levels)
                mine = [Number(Fraction(levels[name].index(level))) for level in levels[other]]
                made: Expr = mine[0]
                for at, index in enumerate(mine[1:], 1):
                    made = Apply(Op.IF, (Apply(Op.EQ, (value, LevelIndex(Fraction(at)))), index, made), value.span)
                return made
            case Apply(op=Op.IF, args=(test, then, other_value)):
                parts = (self._expr(test, levels), *(self._level(v, name, levels) for v in (then, other_value)))
                return replace(value, args=parts)
            case _:
                raise self._wrong(
                    f"`{name}` has levels, and is given something else",
                    value.span,
                    f'Write `{name} = "{levels[name][0]}"`.',
                )

    def _expr(self, expr: Expr, levels: Mapping[str, tuple[str, ...]]) -> Expr:
        """An expression with every text replaced by the index that it means."""
        for node in nodes_of(expr):
            if not isinstance(node, Apply):
                continue
            match node.args:
                case (Name(name=name), Text(value=value, span=span)) | (
                    Text(value=value, span=span),
                    Name(name=name),
                ) if node.op in COMPARISONS and name in levels:
                    self._known(value, name, span, levels)
            if (wrong := not_meant(node, levels)) is not None:
                raise self._wrong(wrong[0], node.span, wrong[1])

        if isinstance(expr, Apply) and expr.op in COMPARISONS:
            expr = coded(expr, levels)
        return fold(expr, with_args, levels)

    def _known(self, level: str, name: str, span: Span | None, levels: Mapping[str, tuple[str, ...]]) -> None:
        """Refuse a level that a feature does not have."""
        if level in levels[name]:
            return
        message, hint = no_level(show_name(name), level, levels[name])
        raise self._wrong(message, span, hint)

    def _wrong(self, message: str, span: Span | None, hint: str) -> ProgramError:
        return ProgramError(message, span=span, text=self.text, hint=hint)


def _nodes(stmt: Stmt) -> Iterable[Expr]:
    """The expressions of one statement, without those of statements inside it."""
    match stmt:
        case Assign(value=value) | Return(value=value):
            return nodes_of(value)
        case If(test=test):
            return nodes_of(test)
        case For() | Skip():
            return ()
        case _:
            assert_never(stmt)
