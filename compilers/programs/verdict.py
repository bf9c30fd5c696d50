"""The last part of every compiled program: from exact scores to a class, or to whether a goal is met.

In:  a table, and expressions of the core language for its exact scores.
Out: statements that return the index of the class (the first of the largest scores, by exact arithmetic), or, for a
     goal, a bool: with reading "possible" true wherever the deployed float model may meet the goal, with "sure" only
     where it surely does, with "exact" where a model without rounding would.
Promise: possible and sure use the slack of `mace.tables.margins`, so they enclose the library's own decision.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from mace.base.exact import exact
from mace.errors import ModelError
from mace.language.syntax import Apply, Assign, Block, Expr, If, Input, Name, Number, Op, Real, Return, Truth
from mace.tables import margins
from mace.tables.margins import Needed, Slack
from mace.tables.table import Compare, Decision, Ensemble, Network, decision_of

Reading: TypeAlias = Literal["possible", "sure", "exact"]
Operands: TypeAlias = tuple[int | None, int | None]  # plus and minus of a Compare


@dataclass(frozen=True)
class Purpose:
    """What a program is compiled for.

    names:     the model's columns, in order; the inputs of the program.
    goal:      None for the class.
    magnitude, input_error: shape (columns,), for networks, see `mace.tables.margins.network_error`.
    """

    names: tuple[str, ...]
    goal: Decision | None = None
    reading: Reading = "exact"
    magnitude: tuple[Fraction, ...] | None = None
    input_error: tuple[Fraction, ...] | None = None

    def inputs(self) -> tuple[Input, ...]:
        """One real input a column."""
        return tuple(Input(name, Real()) for name in self.names)

    def fresh(self, name: str) -> str:
        """A variable that is not called like an input."""
        while name in self.names:
            name += "_"
        return name

    def slack(self, table: Ensemble | Network, compare: Compare) -> Slack:
        """The slack of a comparison under this reading; 0 for "exact"."""
        if self.reading == "exact":
            return Slack(Fraction(0), Fraction(0))
        return margins.compare_slack(table, compare, self.magnitude, self.input_error)

    def needed(self, table: Ensemble | Network, compare: Compare) -> Needed:
        """What the exact margin must be for the comparison to count under this reading."""
        return margins.needed(compare, self.slack(table, compare), sure=self.reading == "sure")


def sides(table: Ensemble | Network, goal: Decision | None) -> tuple[Operands, ...]:
    """The differences of scores that decide, each once: all that a program has to compute."""
    if goal is not None:
        return tuple(dict.fromkeys((compare.plus, compare.minus) for part in goal for compare in part))
    if table.decisions is not None:
        return sides(table, tuple(part for decision in table.decisions for part in decision))
    if table.rule not in ("argmax", "softmax"):
        return ((0, None),)
    return ((1, 0),) if table.outputs == 2 else tuple((output, None) for output in range(table.outputs))


def difference(side: Operands, scores: Sequence[Fraction]) -> Fraction:
    """The difference that a side stands for."""
    plus, minus = side
    return (scores[plus] if plus is not None else Fraction(0)) - (scores[minus] if minus is not None else Fraction(0))


def verdict(table: Ensemble | Network, asked: Purpose, of: Callable[[Operands], Expr]) -> Block:
    """The statements that return; `of` gives the expression of a side, not divided."""
    if asked.goal is not None:
        return (Return(_met(table, asked, of, asked.goal)),)
    if not table.classes:
        raise ModelError(f"{table.name} has no classes: give a goal")
    exactly = Purpose(asked.names)
    if len(table.classes) == 1:
        return (Return(Number(Fraction(0))),)
    if len(table.classes) == 2:
        return (_returns(_met(table, exactly, of, decision_of(table, 1)), 1, 0),)
    best, winner = asked.fresh("best"), asked.fresh("winner")
    block: list[Assign | If | Return] = [Assign(best, of((0, None))), Assign(winner, Number(Fraction(0)))]
    for output in range(1, table.outputs):
        score = of((output, None))
        then = (Assign(best, score), Assign(winner, Number(Fraction(output))))
        block.append(If(Apply(Op.GT, (score, Name(best))), then))
    return (*block, Return(Name(winner)))


def decide(table: Ensemble | Network, asked: Purpose, scores: Sequence[Fraction]) -> Expr:
    """What `verdict` would return for known scores, as a literal."""
    if asked.goal is None:
        return Number(Fraction(max(range(table.outputs), key=lambda output: (scores[output], -output))))
    divide = table.divide if isinstance(table, Ensemble) else 1

    def counts(compare: Compare) -> bool:
        margin = difference((compare.plus, compare.minus), scores) - exact(compare.than) * divide
        return asked.needed(table, compare).met(margin)

    return Truth(any(all(counts(compare) for compare in part) for part in asked.goal))


def _met(table: Ensemble | Network, asked: Purpose, of: Callable[[Operands], Expr], goal: Decision) -> Expr:
    """The goal as one bool expression."""
    divide = table.divide if isinstance(table, Ensemble) else 1

    def counts(compare: Compare) -> Expr:
        bound, strict = asked.needed(table, compare)
        side = of((compare.plus, compare.minus))
        return Apply(Op.GT if strict else Op.GE, (side, Number(bound + exact(compare.than) * divide)))

    return joined(Op.OR, [joined(Op.AND, [counts(compare) for compare in part]) for part in goal])


def joined(op: Literal[Op.AND, Op.OR], parts: Sequence[Expr]) -> Expr:
    """All or any of the parts, whatever their number."""
    if len(parts) == 1:
        return parts[0]
    return Apply(op, tuple(parts)) if parts else Truth(op is Op.AND)


def total(parts: Sequence[Expr]) -> Expr:
    """The sum of the parts, whatever their number."""
    if len(parts) == 1:
        return parts[0]
    return Apply(Op.ADD, tuple(parts)) if parts else Number(Fraction(0))


def _returns(test: Expr, then: int, other: int) -> If:
    return If(test, (Return(Number(Fraction(then))),), (Return(Number(Fraction(other))),))
