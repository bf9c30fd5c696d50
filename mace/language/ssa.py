"""Give every assignment its own name, once per run, and unroll the loops.

In:  a Program that `check` accepted.    Out: a Straight, definitions before uses.
Promise: run(p, x) == run_straight(to_ssa(p), x) for every x; linear in the size of the unrolled program.
Source: Karimi, Barthe, Balle, Valera 2020, appendix A, "Single assignment form": no phi nodes, the two branches of an
`if` assign the joined name instead. What follows an `if` with a returning branch moves into the other branch, so that
a return has no successor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, assert_never

from mace.language.run import evaluate
from mace.language.scope import Scope
from mace.language.syntax import (
    MAX_NESTING,
    Apply,
    Assign,
    Block,
    Expr,
    For,
    If,
    Name,
    Number,
    Program,
    Return,
    Skip,
    Stmt,
    Straight,
    Text,
    Truth,
    Value,
    fold,
    levels_of,
    statements_of,
    too_deep,
)


@dataclass(frozen=True, slots=True)
class Round:
    """The loop index has this value from here on."""

    index: str
    value: int


@dataclass(frozen=True, slots=True)
class Version:
    """How often a name was assigned on this run, at most; and whether it may be read here."""

    count: int
    readable: bool


Work: TypeAlias = Stmt | Round


def to_ssa(program: Program) -> Straight:
    """The single assignment form of a program.

    Returns a Straight: the first assignment of `t` keeps its name, later ones are `t_2`, `t_3`, ...
    Raises  ProgramError if early returns nest beyond MAX_NESTING.
    """
    builder = _Ssa(program)
    body, _ = builder.block(list(reversed(program.body)), 0)
    return Straight(program.inputs, body, program.name)


class _Ssa:
    def __init__(self, program: Program) -> None:
        self.source = program.source
        self.levels = levels_of(program.inputs)
        self.literals: dict[str, Value] = {}  # constants, and loop indices in the round at hand
        for const in program.consts:
            self.literals[const.name] = evaluate(const.value, self.literals)
        self.scope: Scope[Version] = Scope()
        self.taken = {declared.name for declared in program.inputs} | set(self.literals)
        self.taken |= {stmt.name for stmt in statements_of(program.body) if isinstance(stmt, Assign)}
        self.fresh: dict[tuple[str, int], str] = {}

    def block(self, work: list[Work], depth: int) -> tuple[Block, bool]:
        """Straighten what is to be done, last first; also says whether every path returns."""
        if depth > MAX_NESTING:
            raise too_deep(next((stmt.span for stmt in work if not isinstance(stmt, Round)), None), self.source)
        done: list[Stmt] = []
        while work:
            stmt = work.pop()
            match stmt:
                case Skip():
                    pass
                case Round(index=index, value=value):
                    self.literals[index] = Fraction(value)
                case Assign(name=name, value=value):
                    renamed = self._expr(value)
                    done.append(Assign(self._next(name), renamed, stmt.span))
                case For(index=index, first=first, last=last, body=body):
                    if first < last:
                        work.append(For(index, first + 1, last, body, stmt.span))
                    work.extend(reversed(body))
                    work.append(Round(index, first))
                case Return(value=value):
                    done.append(Return(self._expr(value), stmt.span))
                    return tuple(done), True
                case If():
                    joined, returned = self._if(stmt, work, depth)
                    done.append(joined)
                    if returned:
                        return tuple(done), True
                case _:
                    assert_never(stmt)
        return tuple(done), False

    def _if(self, stmt: If, rest: list[Work], depth: int) -> tuple[If, bool]:
        test = self._expr(stmt.test)
        then_work: list[Work] = list(reversed(stmt.then))
        other_work: list[Work] = list(reversed(stmt.other))
        if rest and returns(stmt.then):
            # What follows belongs to the other branch; the list itself moves there, so that nothing is copied.
            rest.extend(other_work)
            other_work = rest
        elif rest and returns(stmt.other):
            rest.extend(then_work)
            then_work = rest
        literals = self.literals
        self.literals = dict(literals) if then_work is rest else literals
        self.scope.enter()
        then, then_returned = self.block(then_work, depth + 1)
        in_then = self.scope.leave()
        self.literals = literals
        self.scope.enter()
        other, other_returned = self.block(other_work, depth + 1)
        in_other = self.scope.leave()
        if not then_returned and not other_returned:
            then, other = self._join(then, in_then, other, in_other)
        elif not then_returned or not other_returned:
            for name, version in (in_other if then_returned else in_then).items():
                self.scope[name] = version
        return If(test, then, other, stmt.span), then_returned and other_returned

    def _join(
        self, then: Block, in_then: dict[str, Version], other: Block, in_other: dict[str, Version]
    ) -> tuple[Block, Block]:
        """Let both branches assign the same last name, and make that name the current one."""
        then_more: list[Stmt] = []
        other_more: list[Stmt] = []
        absent = Version(0, readable=False)
        for name in in_then | in_other:
            before = self.scope.get(name) or absent
            one, two = in_then.get(name, before), in_other.get(name, before)
            count, readable = max(one.count, two.count), one.readable and two.readable
            if readable and one.count < count:
                then_more.append(self._copy(name, one.count, count))
            if readable and two.count < count:
                other_more.append(self._copy(name, two.count, count))
            self.scope[name] = Version(count, readable)
        return then + tuple(then_more), other + tuple(other_more)

    def _copy(self, name: str, old: int, new: int) -> Assign:
        return Assign(self._named(name, new), Name(self._named(name, old)))

    def _next(self, name: str) -> str:
        before = self.scope.get(name)
        count = before.count + 1 if before else 1
        self.scope[name] = Version(count, readable=True)
        return self._named(name, count)

    def _named(self, name: str, count: int) -> str:
        if count == 1:
            return name
        if (name, count) not in self.fresh:
            candidate = f"{name}_{count}"
            while candidate in self.taken:
                candidate += "_"
            self.taken.add(candidate)
            self.fresh[name, count] = candidate
        return self.fresh[name, count]

    def _expr(self, expr: Expr) -> Expr:
        return fold(expr, self._renamed, self.levels)

    def _renamed(self, node: Expr, parts: Sequence[Expr]) -> Expr:
        match node:
            case Name(name=name):
                if name in self.literals:
                    value = self.literals[name]
                    return Truth(value, node.span) if isinstance(value, bool) else Number(Fraction(value), node.span)
                version = self.scope.get(name)
                renamed = self._named(name, version.count) if version else name
                return node if renamed == name else Name(renamed, node.span)
            case Apply(op=op, args=args):
                same = all(part is arg for part, arg in zip(parts, args, strict=True))
                return node if same else Apply(op, tuple(parts), node.span)
            case Number() | Truth() | Text():
                return node
            case _:
                assert_never(node)


def returns(block: Block) -> bool:
    """Whether every path through the block returns."""
    if not block:
        return False
    match block[-1]:
        case Return():
            return True
        case If(then=then, other=other):
            # Both ends decide, unless an earlier `if` moved the rest into one of its branches.
            return returns(then) and returns(other)
        case For(body=body):
            return returns(body)
        case _:
            return False
