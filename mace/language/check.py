"""Well-formedness: what every other part of the package may rely on.

In:  a Program, from a text or built by a compiler.    Out: the sort that it returns; nothing else changes.
Promise: a program that passes returns a value of that sort on every admitted input; every name is assigned before it
is read on every path; every path ends in one return, and nothing follows a return; expressions are linear; loops
have literal bounds and end; size and depth are within the limits of `syntax`. The walk is linear in the program.
Source: Karimi et al. 2020, appendix A ("a return has no successor"; "defined before use").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import assert_never

from mace.base.suggestions import closest, few
from mace.errors import ProgramError, Span
from mace.language.kinds import BOOL, NUMBER, Kind, Kinds, either
from mace.language.paths import path_text, path_to
from mace.language.scope import Scope
from mace.language.show import PLAIN_NAME, quoted, show, show_name, show_text
from mace.language.syntax import (
    MAX_NESTING,
    MAX_UNROLLED,
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
    Program,
    Real,
    Return,
    Skip,
    Sort,
    Stmt,
    levels_of,
    nodes_of,
    statements_of,
    too_deep,
)


class Flow(Enum):
    """How a block ends."""

    FALLS = auto()  # every path reaches the end of the block
    RETURNS = auto()  # every path returns
    SPLITS = auto()  # some paths return; those that do not meet in one place, where what follows can stand
    MIXED = auto()  # some paths return, and those that do not are in several places


@dataclass(slots=True)
class OpenBlock:
    """A block under way: where we are in it, and the condition under which it was entered."""

    block: Block
    at: int
    test: Expr | None
    holds: bool = True


def check(program: Program, known: Sequence[str] = (), *, linear: bool = True) -> Sort:
    """Accept a program, or say what is wrong with it.

    known:  more names that could have been meant, for suggestions only.
    linear: whether a product of variables and a division by one are refused. Where they are allowed, whoever runs the
            program answers for divisors that are 0.
    Returns the sort of its result: Bool() or Real().
    Raises  ProgramError with the place in `program.source`, where the nodes know theirs.
    """
    return _Check(program, known, linear).result()


def check_rule(program: Program, known: Sequence[str] = ()) -> None:
    """Accept a rule: a program whose result is a bool. As `check`."""
    if check(program, known) != Bool():
        last = program.body[-1]
        raise ProgramError(
            "a rule is true or false, and this is a number", span=last.span, text=program.source,
            hint="Compare it, such as `... <= 1`.",
        )  # fmt: skip


class _Check:
    def __init__(self, program: Program, known: Sequence[str] = (), linear: bool = True) -> None:
        self.program = program
        self.known = known
        self.scope: Scope[Kind] = Scope()
        self.sorts: dict[str, str] = {}
        self.fixed: dict[str, str] = {}  # inputs, constants and loop indices: what may not be assigned
        self.frames: list[OpenBlock] = []
        self.rounds = 1  # how often the statement at hand is unrolled
        self.unrolled = 0
        self.returns: str | None = None
        self.kinds = Kinds(self.scope.values, levels_of(program.inputs), program.source, linear)

    def result(self) -> Sort:
        for declared in self.program.inputs:
            self._input(declared)
        for const in self.program.consts:
            self._declare(const.name, "constant", const.span)
            kind = self._expr(const.value)
            if not kind.constant:
                raise self._wrong(
                    f"the constant {quoted(const.name)} is not constant", const.value.span,
                    "Use numbers and earlier constants only, or assign a variable below the declarations.",
                )  # fmt: skip
            self.scope[const.name] = kind
        for stmt in statements_of(self.program.body):
            if isinstance(stmt, For):
                self._index(stmt)
        if self._block(self.program.body) is not Flow.RETURNS:
            conditions = path_to(self.program.body, len(self.program.body), None)
            last = self.program.body[-1].span if self.program.body else None
            raise self._wrong(
                f"a path does not return{path_text(conditions)}" if self.program.body else "the program is empty",
                last, "End every path with `return`.",
            )  # fmt: skip
        return Bool() if self.returns == BOOL else Real()

    # --- declarations ---

    def _input(self, declared: Input) -> None:
        self._declare(declared.name, "input", declared.span)
        lower, upper, sort = declared.lower, declared.upper, declared.sort
        match sort:
            case Bool() | Level():
                bad = lower is not None or upper is not None or (isinstance(sort, Level) and not sort.levels)
                self.scope[declared.name] = Kind(BOOL if isinstance(sort, Bool) else NUMBER)
            case Int() | Real():
                bad = lower is not None and upper is not None and lower > upper
                if isinstance(sort, Int):
                    bad |= any(end is not None and end.denominator != 1 for end in (lower, upper))
                self.scope[declared.name] = Kind(NUMBER)
            case _:
                assert_never(sort)
        if bad:
            raise self._wrong(
                f"the range of {quoted(declared.name)} is empty or not of its sort", declared.span,
                "Ranges belong to int (whole ends) and real, lower end first; levels are one or more texts.",
            )  # fmt: skip

    def _declare(self, name: str, what: str, span: Span | None) -> None:
        self._name(name, span)
        if name in self.fixed:
            raise self._wrong(
                f"{quoted(name)} is declared twice", span, f"It is already an {self.fixed[name]}: choose another."
                if self.fixed[name] == "input" else f"It is already a {self.fixed[name]}: choose another.",
            )  # fmt: skip
        self.fixed[name] = what

    def _name(self, name: str, span: Span | None) -> None:
        if not PLAIN_NAME.fullmatch(name) and (not name or "`" in name or not name.isprintable()):
            raise self._wrong(
                f"{name!r} cannot be a name", span, "Use printable characters other than the backquote, at least one."
            )

    def _index(self, loop: For) -> None:
        self._name(loop.index, loop.span)
        if self.fixed.setdefault(loop.index, "loop index") != "loop index":
            raise self._wrong(
                f"the loop index {quoted(loop.index)} is also a declared {self.fixed[loop.index]}", loop.span,
                "Give the index a name of its own.",
            )  # fmt: skip

    # --- statements ---

    def _block(self, block: Block, test: Expr | None = None, *, holds: bool = True) -> Flow:
        if len(self.frames) > MAX_NESTING:
            raise too_deep(block[0].span if block else None, self.program.source)
        frame = OpenBlock(block, 0, test, holds)
        self.frames.append(frame)
        flow = Flow.FALLS
        for at, stmt in enumerate(block):
            frame.at = at
            self._successor(flow, stmt)
            self._size(stmt, 1)
            match stmt:
                case Skip():
                    continue
                case Assign(name=name, value=value):
                    self._assign(name, self._expr(value), stmt)
                case Return(value=value):
                    self._return(self._expr(value), stmt)
                    flow = Flow.RETURNS
                case If():
                    # A split stays a split until a return closes its one open end.
                    flow = _after(flow, self._if(stmt))
                case For():
                    flow = _after(flow, self._for(stmt))
                case _:
                    assert_never(stmt)
        self.frames.pop()
        return flow

    def _successor(self, flow: Flow, stmt: Stmt) -> None:
        if flow is Flow.RETURNS:
            raise self._wrong("code after return", stmt.span, "Remove it, or move it before the `return`.")
        if flow is Flow.MIXED:
            raise self._wrong(
                "some paths have returned before this line, and the others come from several branches", stmt.span,
                "Assign the result to a variable in each branch, and return it once at the end.",
            )  # fmt: skip

    def _assign(self, name: str, kind: Kind, stmt: Assign) -> None:
        if name in self.fixed:
            article = "an" if self.fixed[name] == "input" else "a"
            raise self._wrong(
                f"{quoted(name)} is {article} {self.fixed[name]} and cannot be assigned", stmt.span,
                "Assign a variable with another name.",
            )  # fmt: skip
        if name not in self.sorts:
            self._name(name, stmt.span)
        if self.sorts.setdefault(name, kind.sort) != kind.sort:
            raise self._wrong(
                f"{quoted(name)} was a {self.sorts[name]} and cannot become a {kind.sort}", stmt.span,
                "Use another name for it.",
            )  # fmt: skip
        self.scope[name] = Kind(kind.sort, levels=kind.levels)

    def _return(self, kind: Kind, stmt: Return) -> None:
        self.returns = self.returns or kind.sort
        if self.returns != kind.sort:
            raise self._wrong(
                f"this path returns a {kind.sort}, another one a {self.returns}", stmt.value.span or stmt.span,
                "Return the same sort on every path.",
            )  # fmt: skip

    def _if(self, stmt: If) -> Flow:
        if self._expr(stmt.test).sort != BOOL:
            raise self._wrong(
                f"the test `{show(stmt.test)}` is a number", stmt.test.span, "Compare it, such as `x > 0`."
            )
        if not stmt.then:
            raise self._wrong("an `if` without statements", stmt.span, "Write `skip`.")
        self.scope.enter()
        then = self._block(stmt.then, stmt.test)
        in_then = self.scope.leave()
        self.scope.enter()
        other = self._block(stmt.other, stmt.test, holds=False)
        in_other = self.scope.leave()
        if Flow.RETURNS in (then, other):
            self._take(in_then if other is Flow.RETURNS else {})
            self._take(in_other if then is Flow.RETURNS else {})
        else:
            self._take(self._joined(in_then, in_other))
        return _either(then, other)

    def _take(self, assigned: Mapping[str, Kind]) -> None:
        for name, kind in assigned.items():
            self.scope[name] = kind

    def _joined(self, one: Mapping[str, Kind], other: Mapping[str, Kind]) -> dict[str, Kind]:
        """What is assigned after two branches: in both of them, or before."""
        joined = {}
        for name in dict.fromkeys([*one, *other]):
            kinds = [kind for kind in (place.get(name, self.scope.get(name)) for place in (one, other)) if kind]
            if len(kinds) == 2:
                joined[name] = replace(kinds[0], levels=either(kinds[0].levels, kinds[1].levels))
        return joined

    def _for(self, stmt: For) -> Flow:
        if stmt.first > stmt.last or not stmt.body:
            raise self._wrong("this loop never does anything", stmt.span, "Write the lower bound first, and a body.")
        if stmt.index in self.scope:
            raise self._wrong(
                f"the loop index {quoted(stmt.index)} is already counting an outer loop", stmt.span,
                "Give each of two nested loops an index of its own.",
            )  # fmt: skip
        outside, self.rounds = self.rounds, self.rounds * (stmt.last - stmt.first + 1)
        self.scope.values[stmt.index] = Kind(NUMBER, constant=True, index=True)
        # The first round reads what was assigned before the loop; later rounds can only read more, and places of other
        # levels.
        before, unrolled = {name: kind.levels for name, kind in self.scope.values.items()}, self.unrolled
        flow = self._block(stmt.body)
        moved = {name for name, levels in before.items() if self.scope[name].levels != levels}
        if moved and stmt.first < stmt.last:
            for name in moved:
                self.scope[name] = replace(self.scope[name], levels=either(before[name], self.scope[name].levels))
            self.unrolled = unrolled
            flow = self._block(stmt.body)
        del self.scope.values[stmt.index]
        self.rounds = outside
        if stmt.first < stmt.last and flow in (Flow.RETURNS, Flow.MIXED):
            raise self._wrong(
                "this loop returns in its first round" if flow is Flow.RETURNS
                else "this loop returns on some paths, and goes on from several branches", stmt.span,
                "Assign the result to a variable in the loop, and return it after the loop.",
            )  # fmt: skip
        return flow

    # --- expressions ---

    def _expr(self, expr: Expr) -> Kind:
        for node in nodes_of(expr):
            self._size(node, 1)
            if isinstance(node, Name) and node.name not in self.scope:
                raise self._unassigned(node)
        return self.kinds.of(expr)

    def _size(self, node: Expr | Stmt, count: int) -> None:
        self.unrolled += count * self.rounds
        if self.unrolled > MAX_UNROLLED:
            raise self._wrong(
                f"the program has more than {MAX_UNROLLED:,} nodes when its loops are unrolled", node.span,
                "Lower the bounds of the loops, or split the program.",
            )  # fmt: skip

    def _unassigned(self, node: Name) -> ProgramError:
        name = quoted(node.name)
        assigned = {s.name for s in statements_of(self.program.body) if isinstance(s, Assign)}
        if self.fixed.get(node.name) == "loop index":
            return self._wrong(
                f"the loop index {name} is read outside its loop", node.span, "Assign it to a variable in the loop."
            )
        if node.name not in assigned:
            known = list(dict.fromkeys([*self.fixed, *assigned, *self.known]))
            close = closest(node.name, known)
            level = any(node.name in levels for levels in self.kinds.levels.values())
            return self._wrong(
                f"{name} is not an input, a constant or a variable", node.span,
                f"A level stands in quotes: {show_text(node.name)}." if level else
                f"Did you mean `{close}`?" if close else
                f"Declare it: `input {show_name(node.name)}: real`." if not self.known else
                f"The names are {few(map(show_name, known))}.",
            )  # fmt: skip
        conditions: list[Expr] = []
        for frame in self.frames:
            if frame.test is not None:
                conditions += path_to((), 0, None, frame.test, frame.holds)
            conditions += path_to(frame.block, frame.at, node.name)
        return self._wrong(
            f"{name} may be read before it is assigned{path_text(conditions)}", node.span,
            f"Assign {name} before the `if`, or in both branches." if conditions
            else f"Assign {name} above this line.",
        )  # fmt: skip

    def _wrong(self, message: str, span: Span | None, hint: str) -> ProgramError:
        if span is None:
            message = f"{self.program.name}: {message}"
        return ProgramError(message, span=span, text=self.program.source, hint=hint)


def _after(flow: Flow, then: Flow) -> Flow:
    """A block that ended in `flow`, followed by a statement that ends in `then`."""
    return flow if then is Flow.FALLS else then


def _either(then: Flow, other: Flow) -> Flow:
    """The two branches of an `if`."""
    match then, other:
        case (Flow.RETURNS, Flow.RETURNS) | (Flow.FALLS, Flow.FALLS):
            return then
        case (Flow.RETURNS, Flow.FALLS | Flow.SPLITS) | (Flow.FALLS | Flow.SPLITS, Flow.RETURNS):
            return Flow.SPLITS
        case _:
            return Flow.MIXED
