"""Plans for the solvers: the world unrolled step by step beside the question's own encoding, as a reference.

In:  a task.    Out: `Unrolled`, formulae over selectors, states and the cost; `cheapest`, what z3 says of them.
Promise: every plan of at most `horizon` steps that the interpreter takes, at whose end the deployed model may have the
goal, satisfies the assertions under `possible` with its own cost; so "unsat" below a cost refutes. What satisfies them
is replayed by the interpreter, and asked of the model, before it is believed.
Source: Ramakrishnan et al. 2020 (sequences of actions as programs); the encoding of the model is `mace.solve.smt`'s.

Parameters are chosen by selectors, one for each of their values, so that a product with a parameter is linear.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from mace.base.deadline import NEVER, Deadline, TimeOverError
from mace.errors import MaceError
from mace.language import Program
from mace.plans.changes import Changes
from mace.plans.task import COST, Indices, Replayed, Task, Variant
from mace.solve.smt.encode import Encoding
from mace.solve.smt.process import SolverAnswer, SolverProcess
from mace.solve.smt.terms import Term
from mace.space.axes import Axis, GridAxis
from mace.worlds.affine import Form
from mace.worlds.forms import Enclosing, UnboundedError
from mace.worlds.parts import Parameter

MOST_CHOICES = 600  # actions with values, that a step may choose from


class Choice(NamedTuple):
    """An action with values for all of its parameters."""

    variant: Variant
    indices: Indices


class Solved(NamedTuple):
    """The cheapest plan that the solver knows, whether it refuted all cheaper ones, and if not, why."""

    plan: Replayed | None
    proved: bool
    why: str = ""


def unrollable(task: Task) -> str | None:
    """Why the solvers cannot be asked about a task; None if they can."""
    if task.measure != COST or task.dearest is not None:
        return "it is not about the least cost alone"
    count = sum(1 for _ in _choices(task))
    if count > MOST_CHOICES:
        return f"a step may choose from {count} actions with values, more than {MOST_CHOICES}"
    moving = {name for action in task.world.actions for name in action.affects}
    for axis in task.question.axes:
        if axis.name in moving and isinstance(axis, GridAxis) and axis.grid.kind != "step":
            return f"`{axis.name}` takes all floats; its rounding is not written for solvers"
    changes = Changes(task)
    ranges = {**changes.all_ends, **{v: (Fraction(p.first), Fraction(p.last)) for v, p in _parameters(task)}}
    state = {name: Form.variable(name) for name in changes.start}
    for variant in task.variants:
        names = changes.names(variant, state, state)
        action = variant.action
        for program in (*action.before, action.change, *action.after, action.cost):
            try:
                Enclosing(ranges).run(program, names)
            except UnboundedError:
                return f"`{action.name}` divides by a number that may be 0"
    return None


def _parameters(task: Task) -> Iterator[tuple[str, Parameter]]:
    for variant in task.variants:
        yield from variant.variables.items()


def _choices(task: Task) -> Iterator[Choice]:
    for variant in task.variants:
        names = list(variant.variables)
        ranges = [range(one.first, one.last + 1) for one in variant.variables.values()]
        for indices in itertools.product(*ranges):
            yield Choice(variant, dict(zip(names, indices, strict=True)))


class Unrolled(Encoding):
    """The question's encoding, whose `distance` is the cost of a plan, and whose point is the end of that plan."""

    def __init__(self, task: Task, bits: int | None = None, deadline: Deadline = NEVER) -> None:
        self.task = task
        self.choices = list(_choices(task))
        self.moving = sorted({name for action in task.world.actions for name in action.affects} & task.start.keys())
        self.taken: list[list[Term]] = []  # for each step, which choice
        super().__init__(task.question, None, bits, deadline)

    def _assert_distance(self, largest: Term | None) -> None:  # noqa: ARG002
        """The cost in the place of the distance; the end of the plan is the point."""
        terms, make = self.terms, self.terms.make
        place = {axis.name: j for j, axis in enumerate(self.question.axes)}
        state = {name: terms.number(value) for name, value in self.task.start.items()}
        base = {f"start_{name}": term for name, term in state.items()}
        costs: list[tuple[Fraction, Term]] = []
        for step in range(self.task.horizon):
            after = {name: terms.real(f"s{step}.{place[name]}") for name in self.moving}
            cost = terms.real(f"cost{step}")
            self._step(step, base, state, {**state, **after}, cost)
            state, costs = {**state, **after}, [*costs, (Fraction(1), cost)]
        for j, axis in enumerate(self.question.axes):
            if axis.name in self.moving:
                terms.add(make.Equals(self.axes[j].real(), state[axis.name]))
            else:
                terms.add(terms.no(self.axes[j].differs(axis.start)))
        terms.add(make.Equals(self.distance, terms.sum(costs)))

    def _step(
        self, step: int, base: Mapping[str, Term], state: Mapping[str, Term], after: Mapping[str, Term], cost: Term
    ) -> None:
        """One step: nothing from here on, or one choice of an action that was not taken before."""
        terms, make = self.terms, self.terms.make
        mine = [terms.truth(f"t{step}.{k}") for k in range(len(self.choices))]
        for one, other in itertools.combinations(mine, 2):
            terms.add(terms.any([terms.no(one), terms.no(other)]))
        some = terms.any(mine)
        if self.taken:
            terms.add(terms.any([terms.no(some), *self.taken[-1]]))
        for earlier in self.taken:
            for (k, one), (n, other) in itertools.product(enumerate(earlier), enumerate(mine)):
                if self.choices[k].variant.action is self.choices[n].variant.action:
                    terms.add(terms.any([terms.no(one), terms.no(other)]))
        self.taken.append(mine)
        raw = {name: terms.real(f"v{step}.{name}") for name in self.moving}
        for axis in self.question.axes:
            if axis.name in raw:
                self._settled(axis, f"{step}.{axis.name}", raw[axis.name], after[axis.name])
        terms.add(
            terms.any([some, terms.all([*self._same(raw, state, ()), make.Equals(cost, terms.number(Fraction(0)))])])
        )
        for k, (taken, choice) in enumerate(zip(mine, self.choices, strict=True)):
            said = self._said(f"p{step}.{k}.", choice, base, state, after)
            held = [make.Equals(raw[name], term) for name, term in said.changed.items()]
            same = self._same(raw, state, choice.variant.action.affects)
            terms.when(taken, terms.all([*said.conditions, *held, *same, make.Equals(cost, said.cost)]))

    def _same(self, raw: Mapping[str, Term], state: Mapping[str, Term], but: tuple[str, ...]) -> list[Term]:
        return [self.terms.make.Equals(raw[name], state[name]) for name in self.moving if name not in but]

    def _settled(self, axis: Axis, name: str, raw: Term, value: Term) -> None:
        """The value that a feature takes for a number: `mace.worlds.steps.index_of`."""
        terms, make = self.terms, self.terms.make
        if not isinstance(axis, GridAxis):
            levels = [Fraction(k) for k in range(axis.count) if axis.allows(k)]
            terms.add(terms.any([make.Equals(raw, terms.number(level)) for level in levels]))
            terms.add(make.Equals(value, raw))
            return
        index, half = terms.integer(f"i{name}"), terms.integer(f"h{name}")
        last = axis.upper - 1 if axis.upper == axis.missing else axis.upper
        terms.add(make.GE(index, make.Int(int(axis.lower))))
        terms.add(make.LE(index, make.Int(int(last))))

        def at(moved: int) -> Term:
            """The value of the index `moved` beyond this one."""
            there, grid = make.Plus(index, make.Int(moved)), axis.grid
            number = make.Times(terms.number(grid.step), make.ToReal(there))
            if grid.extra is None:
                return number
            place = make.Int(int(grid.floor(grid.extra)))
            beyond = make.Minus(number, terms.number(grid.step))
            return make.Ite(
                make.LT(there, place), number,
                make.Ite(make.Equals(there, place), terms.number(grid.extra), beyond),
            )  # fmt: skip

        even = make.Equals(index, make.Times(make.Int(2), half))
        twice = make.Times(terms.number(2), raw)
        for neighbour, compare in ((make.Plus(at(0), at(1)), make.LE), (make.Plus(at(-1), at(0)), make.GE)):
            terms.add(compare(twice, neighbour))
            # Half-way between two values, the even one is taken.
            terms.add(terms.any([terms.no(make.Equals(twice, neighbour)), even]))
        terms.add(make.Equals(value, at(0)))

    def _said(
        self, prefix: str, choice: Choice, base: Mapping[str, Term], state: Mapping[str, Term],
        after: Mapping[str, Term],
    ) -> _Said:  # fmt: skip
        """What the programs of an action say, in terms of the states before and after it."""
        action, count = choice.variant.action, itertools.count()
        values = {name: self._plain(value) for name, value in choice.variant.values(choice.indices).items()}
        before = {f"before_{name}": term for name, term in state.items()}

        def told(program: Program, names: Mapping[str, Term]) -> Term:
            from mace.language.logic import translate

            inputs = {declared.name: names[declared.name] for declared in program.inputs}
            constraints, result = translate(program, inputs, f"{prefix}{next(count)}.")
            self.terms.add(constraints)
            return result

        first = {**base, **before, **state, **values}
        then = {**base, **before, **after, **values}
        conditions = [told(test, first) for test in action.before] + [told(test, then) for test in action.after]
        changed = {name: self._number(told(action.makes(name), first)) for name in action.affects}
        cost = self._number(told(action.cost, then))
        for share in self._shares(choice.variant, {**base, **state}, told):
            cost = self.terms.make.Times(cost, share)
        return _Said(conditions, changed, cost)

    def _shares(
        self, variant: Variant, names: Mapping[str, Term], told: Callable[[Program, Mapping[str, Term]], Term]
    ) -> list[Term]:
        """The discount of an action (equations 1 and 2), as a factor; none where there is no consequence."""
        shares = []
        for feature in variant.action.affects if self.task.discount else ():
            edges = self.task.world.into.get(feature, ())
            factors = [(Fraction(1, len(edges)), self._number(told(edge.factor, names))) for edge in edges]
            if factors:
                shares.append(self.terms.sum(factors))
        return [self.terms.sum([(Fraction(1, len(shares)), share) for share in shares])] if shares else []

    def _number(self, term: Term) -> Term:
        """As a number of sort Real."""
        from mace.language.logic.terms import as_real

        return as_real(term)

    def _plain(self, value: Fraction) -> Term:
        return self.terms.make.Int(int(value)) if value.denominator == 1 else self.terms.number(value)


class _Said(NamedTuple):
    """The conditions of an action, what it makes of the features that it affects, and its cost with the discount."""

    conditions: list[Term]
    changed: dict[str, Term]
    cost: Term


def cheapest(task: Task, deadline: Deadline = NEVER) -> Solved:
    """The cheapest plan by z3: cheaper and cheaper ones until there is none. Raises MaceError: see `unrollable`."""
    reason = unrollable(task)
    if reason is not None:
        raise MaceError(f"the solvers cannot be asked about this plan: {reason}")
    process = SolverProcess("z3")
    try:
        return _descend(task, Unrolled(task, None, deadline), process, deadline)
    except TimeOverError as over:
        return Solved(None, proved=False, why=str(over))
    finally:
        process.stop()


def _descend(task: Task, encoding: Unrolled, process: SolverProcess, deadline: Deadline) -> Solved:
    best: Replayed | None = None
    taken = {term.symbol_name(): k for step in encoding.taken for k, term in enumerate(step)}
    while True:
        assume = ["possible"] + ([encoding.within(best.cost, strict=True)] if best else [])
        for text in encoding.text():
            process.add(text)
        process.ask(assume, [*encoding.wanted, *taken])
        answer = process.answer(deadline)
        if answer is None or answer.verdict == "unknown":
            return Solved(best, proved=False, why=answer.why if answer else deadline.why)
        if answer.verdict == "unsat":
            return Solved(best, proved=True)
        plan = task.replay(*_read(encoding, answer))
        if plan is None or best is not None and plan.cost >= best.cost:
            return Solved(best, proved=False, why="a plan of the solver cannot be taken: please report this")
        said = task.question.settled(plan.end)
        if said or said is None and task.judge.confirms(task.question, plan.end):
            best = plan
        else:
            encoding.exclude(plan.end)


def _read(encoding: Unrolled, answer: SolverAnswer) -> tuple[list[int], Indices]:
    """The order and the parameters of the plan that a solver's values describe."""
    order: list[int] = []
    indices: dict[str, int] = {}
    for step in encoding.taken:
        for k, term in enumerate(step):
            if answer.values.get(term.symbol_name()):
                order.append(encoding.choices[k].variant.number)
                indices |= encoding.choices[k].indices
    return order, indices
