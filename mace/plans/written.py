"""A world as its certificate has it: for every action lines, each an operation on earlier ones.

In:  a task.    Out: plain values, FORMAT.md 12.2; or a CertificateError.
Promise: every step that the interpreter takes can be taken by these lines, with the same state after it and cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, assert_never

from mace.certify.numbers import text
from mace.errors import CertificateError
from mace.language import Apply, Assign, Block, Expr, If, Name, Number, Op, Program, Return, Text, Truth, to_ssa
from mace.language.syntax import fold
from mace.plans.task import Task
from mace.space.axes import GridAxis
from mace.worlds.parts import Action

Names: TypeAlias = Mapping[str, int]  # of a program -> the line that holds its value

SAME = {
    Op.NEGATE: "neg", Op.ADD: "+", Op.DIVIDE: "/", Op.ABS: "abs", Op.MIN: "min", Op.MAX: "max",
    Op.LT: "<", Op.LE: "<=", Op.NOT: "not", Op.AND: "and", Op.OR: "or", Op.IF: "if",
}  # fmt: skip
TURNED = {Op.GT: "<", Op.GE: "<="}
TRUTHS = frozenset({"<", "<=", "==", "!=", "not", "and", "or", "true", "false"})


def unwritable(task: Task) -> str | None:
    """Why no certificate can hold a world; None if one can."""
    named = {name for action in task.world.actions for name in action.affects}
    read = {name for name in task.start if _speaks(task, name)}
    for axis in task.question.axes:
        if axis.name in named and isinstance(axis, GridAxis) and axis.grid.kind != "step":
            return f"`{axis.name}` takes all floats, and an action changes it"
        if axis.name in named | read and axis.missing is not None:
            return f"`{axis.name}` may be missing, and the world speaks of it"
    return None


def _speaks(task: Task, name: str) -> bool:
    """Whether a program of the world reads a feature."""
    programs = [edge.factor for edge in task.world.consequences]
    for action in task.world.actions:
        programs += [*action.before, action.change, *action.after, action.cost]
    return any(declared.name in (name, f"before_{name}") for program in programs for declared in program.inputs)


def world_of(task: Task) -> dict[str, Any]:
    """The world and the horizon. Raises CertificateError."""
    reason = unwritable(task)
    if reason is not None:
        raise CertificateError(f"no certificate of plans can be written: {reason}")
    # Where no action is the fewest, the claim is about no action or one: the format knows no shorter plans.
    actions = [_Lines(task, action).written() for action in task.world.actions]
    return {"horizon": max(task.horizon, 1), "actions": actions}


class _Lines:
    """The lines of one action."""

    def __init__(self, task: Task, action: Action) -> None:
        self.task, self.action = task, action
        self.lines: list[list[Any]] = []
        self.known: dict[str, int] = {}
        self.place = {axis.name: j for j, axis in enumerate(task.question.axes)}

    def written(self) -> dict[str, Any]:
        action = self.action
        before = [self.program(test, self.first) for test in action.before]
        change = [[self.place[name], self.program(action.makes(name), self.first)] for name in action.affects]
        edges = [self.task.world.into.get(name, ()) for name in action.affects if self.task.discount]
        factors = [[self.program(edge.factor, self.first) for edge in into] for into in edges if into]
        count = len(self.lines)
        after = [self.program(test, self.then) for test in action.after]
        cost = self.program(action.cost, self.then)
        return {
            "parameters": [
                {"step": text(one.step), "first": one.first, "last": one.last} for one in action.parameters
            ],
            "lines": self.lines[:count], "before": before, "change": change, "then": self.lines[count:],
            "after": after, "cost": cost, "factors": factors,
        }  # fmt: skip

    # --- names ---

    def first(self, name: str) -> int:
        """The line of a name that the state before the action gives."""
        for k, one in enumerate(self.action.parameters):
            if one.name == name:
                return self.line("p", k)
        if name.startswith("start_"):
            return self.line("c", text(self.task.start[name.removeprefix("start_")]))
        return self.line("x", self.place[name.removeprefix("before_")])

    def then(self, name: str) -> int:
        """The same after the action."""
        return self.line("y", self.place[name]) if name in self.place else self.first(name)

    # --- programs ---

    def line(self, *parts: Any) -> int:
        """The number of a line, which is written once."""
        key = repr(parts)
        if key not in self.known:
            self.known[key] = len(self.lines)
            self.lines.append([*parts])
        return self.known[key]

    def program(self, program: Program, named: Callable[[str], int]) -> int:
        """The line that holds what a program returns."""
        straight = to_ssa(program)
        names = {declared.name: named(declared.name) for declared in straight.inputs}
        result = self.block(straight.body, names)
        assert result is not None
        return result

    def block(self, body: Block, names: dict[str, int]) -> int | None:
        """Add a block to the names; the line of what it returns."""
        for stmt in body:
            match stmt:
                case Assign(name=name, value=value):
                    names[name] = self.expression(value, names)
                case Return(value=value):
                    return self.expression(value, names)
                case If(test=test, then=then, other=other):
                    asked = self.expression(test, names)
                    one, two = dict(names), dict(names)
                    returned = self.block(then, one), self.block(other, two)
                    if None not in returned:
                        return self.line("if", asked, *returned)
                    for name in one.keys() & two.keys():
                        same = one[name] == two[name]
                        names[name] = one[name] if same else self.line("if", asked, one[name], two[name])
                case _:
                    raise AssertionError(f"{type(stmt).__name__} in a program in single assignment form")
        return None

    def expression(self, expr: Expr, names: Names) -> int:
        """The line of an expression."""

        def combine(node: Expr, parts: Sequence[int]) -> int:
            match node:
                case Name(name=name):
                    return names[name]
                case Number(value=number):
                    return self.line("c", text(number))
                case Truth(value=truth):
                    return self.line("true" if truth else "false")
                case Apply(op=op):
                    return self.applied(op, list(parts))
                case Text():
                    raise AssertionError("levels of worlds are numbers")
                case _:
                    assert_never(node)

        return fold(expr, combine)

    def applied(self, op: Op, parts: list[int]) -> int:
        """The line of an operator on lines."""
        if op is Op.TIMES:
            made = parts[0]
            for part in parts[1:]:
                made = self.line("*", made, part)
            return made
        if op in TURNED:
            return self.line(TURNED[op], parts[1], parts[0])
        if op is Op.IMPLIES:
            return self.line("or", self.line("not", parts[0]), parts[1])
        if op in (Op.EQ, Op.NE):
            if not self.truth(parts[0]):
                return self.line("==" if op is Op.EQ else "!=", *parts)
            same = self.line("or", self.line("and", *parts), self.line("not", self.line("or", *parts)))
            return same if op is Op.EQ else self.line("not", same)
        return self.line(SAME[op], *parts)

    def truth(self, number: int) -> bool:
        """Whether a line is a condition."""
        name, *rest = self.lines[number]
        return self.truth(rest[1]) if name == "if" else name in TRUTHS
