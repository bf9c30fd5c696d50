"""A question as formulae that z3 and cvc5 read: axes, distance, rules, exclusions, and two readings of the goal.

In:  a `Question`, and the radius of a ball to restrict it to (None: everything).
Out: an `Encoding`: assertions in pySMT, printed as SMT-LIB 2 once; assumptions by name (`possible`, `sure`, `within`);
     and the way back from a solver's values to a point.
Promise: every allowed point of the ball that the deployed float model may give the goal satisfies the assertions
under `possible`; so "unsat" refutes. What satisfies them is a candidate, to be checked exactly.
Source: Karimi et al. 2020, sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from io import StringIO
from typing import Any, assert_never

from mace.base.deadline import NEVER, Deadline
from mace.language import Program
from mace.problem.budget import Budget
from mace.problem.distance import FREE, DistanceProgram, Norm
from mace.problem.exclusions import Avoid, AvoidBox, AvoidChanges, AvoidNear, AvoidPoint
from mace.problem.question import Question
from mace.solve.smt.axes import GridTerm, LevelTerm, axis_term
from mace.solve.smt.budgets import assert_budget
from mace.solve.smt.layers import NetworkTerms
from mace.solve.smt.process import Text
from mace.solve.smt.terms import Term, Terms, Values
from mace.solve.smt.trees import EnsembleTerms
from mace.space.axes import Point, Side
from mace.tables.table import Ensemble, Formula

PART = 2000  # assertions that a solver is given at once
LARGEST_TREE = 500  # nodes, counted with repetition, up to which an assertion is printed without `let`


class Encoding:
    """One question in one ball; grows by assertions (`within`, `forbid`), never shrinks.

    ball: only points at a distance <= ball are described; None for all.
    bits: see `NetworkTerms`.
    Raises TimeOverError, as every call that adds or prints does; what was being added is then not whole.
    """

    def __init__(
        self, question: Question, ball: Fraction | None = None, bits: int | None = None, deadline: Deadline = NEVER
    ) -> None:
        self.question, self.ball = question, ball
        self.terms = terms = Terms(deadline)
        self._printed = 0
        self._radii: dict[tuple[Fraction, bool], str] = {}
        self._model: EnsembleTerms | NetworkTerms | None = None
        with self._environment():
            norm = question.distance if isinstance(question.distance, Norm) else None
            self._charges = list(norm.charges) if norm else [FREE] * len(question.axes)
            largest = terms.real("largest") if norm and norm.gamma else None
            self.axes: list[GridTerm | LevelTerm] = [
                axis_term(terms, j, axis, charge, largest, ball)
                for j, (axis, charge) in enumerate(zip(question.axes, self._charges, strict=True))
            ]
            self._assert_model(bits)
            self._assert_rules()
            self.distance = terms.real("distance")
            self._assert_distance(largest)
            for avoid in question.avoid:
                terms.add(self._avoided(avoid))
            self._limit_changes()
            if ball is not None:
                terms.add(terms.at_most(self.distance, ball))

    @contextmanager
    def _environment(self) -> Iterator[None]:
        """Make this encoding's environment pySMT's current one: programs are translated there."""
        from pysmt.environment import pop_env, push_env

        push_env(self.terms.environment)
        try:
            yield
        finally:
            pop_env()

    # ------------------------------------------------------------------ assumptions

    def within(self, radius: Fraction, *, strict: bool) -> str:
        """The name of the assumption "distance <= radius", or "< radius"."""
        key = (radius, strict)
        if key not in self._radii:
            self._radii[key] = f"within_{len(self._radii)}"
            limit = self.terms.number(radius)
            make = self.terms.make
            compare = make.LT(self.distance, limit) if strict else make.LE(self.distance, limit)
            self.terms.when(self.terms.assumption(self._radii[key]), compare)
        return self._radii[key]

    def forbid(self, point: Point, under: str | None = None) -> None:
        """Exclude one point; `under` an assumption only, if one is named."""
        terms = self.terms
        other = terms.any([axis.differs(index) for axis, index in zip(self.axes, point, strict=True)])
        terms.when(terms.assumption(under) if under is not None else terms.true, other)

    def exclude(self, point: Point) -> None:
        """Exclude a point whose exact scores do not have the goal, and with it all that must have the same scores."""
        if isinstance(self._model, EnsembleTerms):
            self.terms.add(self._model.against(point))
        else:
            self.forbid(point)

    # ------------------------------------------------------------------ the way back

    @property
    def wanted(self) -> list[str]:
        """The names of the symbols that `point` reads."""
        return [symbol.symbol_name() for axis in self.axes for symbol in axis.wanted]

    def point(self, values: Values) -> Point:
        """The point that a solver's values describe, moved to the grids."""
        return tuple(axis.index(values) for axis in self.axes)

    # ------------------------------------------------------------------ text

    def text(self) -> Iterator[Text]:
        """What was asserted since the last call, printed, in parts of `PART` assertions."""
        new, self._printed = self.terms.asserted[self._printed :], len(self.terms.asserted)
        for begin in range(0, len(new), PART):
            yield self._text(new[begin : begin + PART])

    def whole(self) -> Text:
        """Everything that was asserted, printed."""
        return self._text(self.terms.asserted)

    def _text(self, formulae: list[Term]) -> Text:
        with self._environment():
            return print_text(formulae, self.terms.assumptions, self.terms.look)

    # ------------------------------------------------------------------ assertions

    def _assert_model(self, bits: int | None) -> None:
        question, terms = self.question, self.terms
        goal = terms.assumption("possible")
        self.possible, self.sure, self.skip = "possible", "possible", "skip"
        if isinstance(question.model, Formula):
            result = self._program(question.model.program, "m.")
            terms.when(goal, self._result_among(result, sorted(question.goal.results)))
        elif isinstance(question.model, Ensemble):
            self._model = EnsembleTerms(question, terms, self.axes, self._charges, self.ball)
            terms.when(goal, self._model.possible)
        else:
            self._model = NetworkTerms(question, terms, self.axes, self._charges, self.ball, bits)
            terms.when(goal, self._model.possible)
            terms.when(terms.assumption("sure"), self._model.sure)
            self.sure = "sure"
        self.rounds = self.sure == "sure" and bits is not None
        # Whether points can be excluded one by one: not where a network reads a number out of 2^62.
        self.finite = not (
            isinstance(self._model, NetworkTerms)
            and any(isinstance(axis, GridTerm) and axis.axis.grid.kind != "step" for axis in self.axes)
        )

    def _result_among(self, result: Term, wanted: list[int]) -> Term:
        """A program's result is one of these class numbers; truths count as 1 and 0."""
        terms, make, kind = self.terms, self.terms.make, self.terms.environment.stc.get_type(result)
        if kind.is_bool_type():
            return terms.any([result if number else terms.no(result) for number in wanted if number in (0, 1)])
        number = make.Int if kind.is_int_type() else terms.number
        return terms.any([make.Equals(result, number(one)) for one in wanted])

    def _program(self, program: Program, prefix: str) -> Term:
        """The result of a program over the features, its constraints asserted."""
        from mace.language import Bool
        from mace.language.logic import translate

        inputs: dict[str, Any] = {}
        place = {axis.name: j for j, axis in enumerate(self.question.axes)}
        for declared in program.inputs:
            name = declared.name
            if name in place:
                term = self.axes[place[name]].value()
            else:
                axis = self.question.axes[place[name.removeprefix("start_")]]
                start = axis.value(axis.start)
                whole = start.denominator == 1
                term = self.terms.make.Int(int(start)) if whole else self.terms.number(start)
            if isinstance(declared.sort, Bool):
                term = self.terms.make.Equals(term, self.terms.make.Int(1))
            inputs[name] = term
        constraints, result = translate(program, inputs, prefix)
        self.terms.add(constraints)
        return result

    def _assert_rules(self) -> None:
        for number, rule in enumerate(self.question.rules):
            if isinstance(rule, Budget):
                assert_budget(self.terms, self.axes, rule, number)
            else:
                self.terms.add(self._program(rule.program, f"r{number}."))

    def _assert_distance(self, largest: Term | None) -> None:
        """The symbol `distance` is at least the exact distance, and may be equal to it."""
        terms, make, question = self.terms, self.terms.make, self.question
        if not isinstance(question.distance, Norm):
            assert isinstance(question.distance, DistanceProgram), "each row is a question of its own"
            result = self._program(question.distance.program, "d.")
            if terms.environment.stc.get_type(result).is_int_type():
                result = make.ToReal(result)
            terms.add(make.GE(self.distance, result))
            return
        parts = [(Fraction(1), axis.cost) for axis in self.axes if axis.cost is not None]
        if largest is not None:
            terms.add(terms.at_least(largest, Fraction(0)))
            parts.append((Fraction(1), largest))
        terms.add(make.GE(self.distance, terms.sum(parts)))

    def _limit_changes(self) -> None:
        if self.question.most_changes is None:
            return
        terms, parts = self.terms, []
        for axis in self.axes:
            if axis.changed is not terms.false:
                counted = terms.real(f"c{axis.place}")
                terms.add(terms.at_least(counted, Fraction(0)))
                terms.when(axis.changed, terms.at_least(counted, Fraction(1)))
                parts.append((Fraction(1), counted))
        if parts:
            terms.add(terms.at_most(terms.sum(parts), Fraction(self.question.most_changes)))

    def _avoided(self, avoid: Avoid) -> Term:
        terms = self.terms
        match avoid:
            case AvoidPoint(point=point):
                return terms.any([axis.differs(index) for axis, index in zip(self.axes, point, strict=True)])
            case AvoidChanges(features=features):
                return terms.any([terms.no(self.axes[j].changed) for j in features])
            case AvoidNear(point=point, radius=radius):
                return self._far_from(point, radius)
            case AvoidBox(box=box):
                return terms.any([self._outside(axis, side) for axis, side in zip(self.axes, box, strict=True)])
            case _:
                assert_never(avoid)

    def _outside(self, axis: GridTerm | LevelTerm, side: Side) -> Term:
        """The value of an axis is outside of a box's side."""
        if isinstance(axis, LevelTerm):
            assert isinstance(side, int)
            return self.terms.all([axis.differs(level) for level in axis.levels if side >> level & 1])
        assert isinstance(side, tuple)
        return self.terms.any([axis.at_most(side[0] - 1), self.terms.no(axis.at_most(side[1]))])

    def _far_from(self, point: Point, radius: Fraction) -> Term:
        """The distance from another point is at least `radius`."""
        terms, make, number = self.terms, self.terms.make, len(self.terms.asserted)
        norm = self.question.distance
        if not isinstance(norm, Norm):
            return self._program_far_from(point, radius)
        parts: list[tuple[Fraction, Term]] = []
        steps: list[Term] = []
        for axis, index, charge in zip(self.axes, point, self._charges, strict=True):
            if charge == FREE:
                continue
            moved = replace(axis.axis, start=index)
            paid, step = terms.real(f"n{axis.place}_{number}"), terms.real(f"m{axis.place}_{number}")
            parts.append((Fraction(1), paid))
            steps.append(step)
            # `paid` and `step` are at most what the axis adds; so their sum is at most the distance.
            if isinstance(axis, LevelTerm):
                for level in axis.levels:
                    delta = moved.delta(level)
                    here = terms.no(axis.differs(level))
                    terms.when(here, terms.at_most(paid, charge.part(delta)))
                    terms.when(here, terms.at_most(step, charge.top(delta)))
            else:
                here, lost = terms.no(axis.differs(index)), terms.no(axis.there)
                if index == moved.missing:
                    lost = axis.there
                terms.when(lost, terms.at_most(paid, charge.part(axis.axis.missing_cost)))
                terms.when(lost, terms.at_most(step, charge.top(axis.axis.missing_cost)))
                terms.when(here, terms.at_most(paid, Fraction(0)))
                if index == moved.missing:
                    terms.when(here, terms.at_most(step, Fraction(0)))
                    continue
                value, other = axis.real(), moved.value(index)
                up = axis.at_most(index)  # above the other point where this is false
                for side, sign in ((up, -1), (terms.no(up), 1)):
                    literal = terms.all([side, axis.there])
                    slope = sign / axis.axis.scale
                    rise = terms.sum([(charge.slope * slope, value)], charge.once - charge.slope * slope * other)
                    terms.when(literal, make.LE(paid, rise))
                    terms.when(literal, make.LE(step, terms.sum([(charge.peak * slope, value)],
                                                               -charge.peak * slope * other)))  # fmt: skip
        if not norm.gamma:
            return terms.at_least(terms.sum(parts), radius)
        return terms.any([terms.at_least(terms.sum([*parts, (Fraction(1), step)]), radius) for step in steps])

    def _program_far_from(self, point: Point, radius: Fraction) -> Term:
        """As `_far_from`, for a distance program: the other point takes the place of the start."""
        from mace.language.logic import translate

        terms, make, question = self.terms, self.terms.make, self.question
        assert isinstance(question.distance, DistanceProgram)
        program = question.distance.program
        inputs, reads = dict[str, Any](), {declared.name for declared in program.inputs}
        for axis, source, index in zip(self.axes, question.axes, point, strict=True):
            if source.name in reads:
                inputs[source.name] = axis.value()
            if "start_" + source.name in reads:
                other = source.value(index)
                whole = other.denominator == 1
                inputs.setdefault("start_" + source.name, make.Int(int(other)) if whole else terms.number(other))
        constraints, result = translate(program, inputs, f"f{len(terms.asserted)}.")
        terms.add(constraints)
        number = make.Int(0) if terms.environment.stc.get_type(result).is_int_type() else None
        if number is not None:
            result = make.ToReal(result)
        return terms.at_least(result, radius)


def print_text(formulae: list[Term], assumptions: list[Term], look: Callable[[], None]) -> Text:
    """Assertions as SMT-LIB 2, with the symbols they use and the assumptions, in the order in which they were made."""
    from mace.language.logic.show import DagPrinter, TreePrinter
    from mace.language.logic.terms import smt_name

    symbols: dict[int, Term] = {symbol.node_id(): symbol for symbol in assumptions}
    out = StringIO()
    plain, shared = TreePrinter(out), DagPrinter(out)
    lines = []
    for formula in formulae:
        look()
        out.seek(0)
        out.truncate()
        (plain if _small(formula, symbols) else shared).printer(formula)
        lines.append(f"(assert {out.getvalue()})")
    declare = [
        (smt_name(symbol.symbol_name()), symbol.symbol_type().as_smtlib(funstyle=False))
        for _, symbol in sorted(symbols.items())
    ]
    return Text(declare, lines)


def _small(formula: Term, symbols: dict[int, Term]) -> bool:
    """Whether a formula has few nodes, counted with repetition; notes its symbols."""
    size, todo, seen = 0, [formula], set()
    while todo:
        node = todo.pop()
        size += 1
        if node.is_symbol():
            symbols[node.node_id()] = node
        elif size <= LARGEST_TREE:
            todo.extend(node.args())
        elif node.node_id() not in seen:  # From here on only for the symbols.
            seen.add(node.node_id())
            todo.extend(node.args())
    return size <= LARGEST_TREE
