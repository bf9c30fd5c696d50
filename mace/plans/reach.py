"""What a node of the search can reach: enclosures of its end states and of its cost, on a box of parameters.

In:  a task; a prefix of actions in order, a rest in any order, and a box of indices of their parameters.
Out: `Reach`: a form for every feature at the end, a linear and a constant lower bound of the cost; or None, if no plan
     of the node can be taken.
Promise: every plan of the node that the interpreter replays ends within the forms and costs at least as much; all
arithmetic is exact. Of the rest nothing is assumed but that each of its actions is taken once: their conditions, costs
and discounts are enclosed over all states that some of them, in any order, can lead to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from mace.language import Program
from mace.language.interval import NO, YES
from mace.plans.task import Task, Variant
from mace.problem.programs import Rule, Side
from mace.space.axes import Axis, GridAxis
from mace.worlds.forms import ZERO, Enclosing, Form, Limit, Ranges, UnboundedError, hull
from mace.worlds.parts import Consequence

Forms = Mapping[str, Form]
ONE = Fraction(1)


class Node(NamedTuple):
    """Plans that begin with `prefix`, in this order, go on with all of `rest`, and whose parameters lie in `box`."""

    prefix: tuple[int, ...]
    rest: frozenset[int]
    box: Mapping[str, tuple[int, int]]

    def ranges(self) -> Ranges:
        """The box in exact numbers."""
        return {name: (Fraction(low), Fraction(high)) for name, (low, high) in self.box.items()}


class Cut(NamedTuple):
    """A place where a test turns: the variable, and the largest index of the lower side."""

    variable: str
    last: int


@dataclass
class Reach:
    """What a node can reach.

    cost:    a form whose lower line bounds the cost.    floor: a constant that does.
    settled: whether all conditions hold for certain.
    exact:   whether end and efforts have the same forms on every smaller box, whatever the order.
    order:   whether the order of the rest may matter; simple: whether it does not matter to the end.
    cuts:    where undecided efforts and effects turn; shares: where discounts do; turns: where conditions do.
    limits:  what has to hold for the conditions to hold.
    loose:   what the discounts that the box leaves open may add to the cost.
    """

    end: dict[str, Form]
    cost: Form = field(default_factory=lambda: Form.constant(ZERO))
    floor: Fraction = ZERO
    settled: bool = True
    exact: bool = True
    order: bool = False
    simple: bool = True
    cuts: list[Cut] = field(default_factory=list)
    shares: list[Cut] = field(default_factory=list)
    turns: list[Cut] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    loose: Fraction = ZERO


class Factor(NamedTuple):
    """What a consequence can give on a box of states, and at which values of which inputs its tests turn."""

    low: Fraction
    high: Fraction
    turns: tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True)
class Effect:
    """What a variant does to a feature where that is simple: adds a form of its parameters, or sets it to one."""

    adds: bool
    form: Form


class Reacher:
    """Makes the reach of nodes of one task; keeps what does not depend on the node."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.axes: dict[str, Axis] = {axis.name: axis for axis in task.question.axes}
        self.start: dict[str, Form] = {name: Form.constant(value) for name, value in task.start.items()}
        self.base = {f"start_{name}": form for name, form in self.start.items()}
        self._factors: dict[tuple[object, ...], Factor] = {}
        self.effects = [self._effects(variant) for variant in task.variants]
        self.reads = [
            {name for i in v.action.change.inputs for name in (i.name, i.name.removeprefix("before_"))}
            for v in task.variants
        ]

    # --- nodes ---

    def reach(self, node: Node) -> Reach | None:
        """What a node can reach; None if nothing."""
        ranges = node.ranges()
        found = Reach(dict(self.start))
        for number in node.prefix:
            after = self._take(found, self.task.variants[number], found.end, ranges, found.end)
            if after is None:
                return None
            found.end = after
        if node.rest and not self._rest(found, [self.task.variants[v] for v in sorted(node.rest)], ranges):
            return None
        return found if self.obeys(found.end, ranges) else None

    def _rest(self, found: Reach, rest: list[Variant], ranges: Ranges) -> bool:
        """Enclose what the rest does in any order; False if one of it can never be taken."""
        if len(rest) == 1:
            after = self._take(found, rest[0], found.end, ranges, found.end)
            found.end = after or found.end
            return after is not None
        within = self._anywhere(found.end, rest, ranges)
        part = Reach(within)
        for variant in rest:
            if self._take(part, variant, within, ranges, found.end) is None:
                return False
        end = self._all_of(found.end, rest, ranges)
        simple = len(end) == len({name for v in rest for name in v.action.affects})
        found.end |= {name: form for name, form in within.items() if name not in end} | end
        found.simple = simple
        found.order = not (simple and part.settled and part.exact and not part.loose)
        found.cost, found.floor, found.loose = (
            found.cost + part.cost, found.floor + part.floor, found.loose + part.loose
        )  # fmt: skip
        found.settled &= part.settled
        found.exact &= part.exact and simple
        found.cuts += part.cuts
        found.shares += part.shares
        found.turns += part.turns
        found.limits += part.limits
        return True

    def _anywhere(self, state: Forms, rest: list[Variant], ranges: Ranges) -> dict[str, Form]:
        """All states that some of the rest can lead to, in any order."""
        found = dict(state)
        mixed, alone = self._mixed(rest), self._alone(rest)
        for name, variant in alone.items():
            found[name] = hull(state[name], self._changed(variant, state, Enclosing(ranges))[name], ranges)
        for name in {name for v in rest for name in v.action.affects}:
            effects = [self.effects[v.number].get(name) for v in rest if name in v.action.affects]
            if name in mixed or name in alone:
                continue
            # What sets a feature may come first, and what adds to it after that.
            for effect in sorted((e for e in effects if e is not None), key=lambda e: e.adds):
                if effect.adds:
                    low, high = effect.form.span(ranges)
                    found[name] = found[name].wider(min(low, ZERO), max(high, ZERO))
                else:
                    found[name] = hull(found[name], effect.form, ranges)
            slack = self._slack(name, found[name], ranges) * len(effects)
            found[name] = found[name].wider(-slack, slack)
        for _ in rest if mixed else ():
            now = dict(found)
            for variant in (v for v in rest if mixed.intersection(v.action.affects)):
                changed = self._changed(variant, now, Enclosing(ranges))
                for name in variant.action.affects:
                    if name in mixed:
                        found[name] = hull(found[name], changed[name], ranges)
        return {name: self._inside(name, form) for name, form in found.items()}

    def _mixed(self, rest: Iterable[Variant]) -> set[str]:
        """Features to which some of the rest does what is not simple, and that it does not do alone."""
        alone = self._alone(rest)
        return {n for v in rest for n in v.action.affects if self.effects[v.number].get(n) is None and n not in alone}

    def _alone(self, rest: Iterable[Variant]) -> dict[str, Variant]:
        """Features that one of the rest changes by itself, in a way that reads nothing the others change.

        They are changed alike whenever its turn comes.
        """
        some: list[Variant] = list(rest)
        found: dict[str, Variant] = {}
        for variant in some:
            others = {name for v in some if v is not variant for name in v.action.affects}
            if self.reads[variant.number].isdisjoint(others):
                found |= {
                    n: variant
                    for n in variant.action.affects
                    if n not in others and n not in self.effects[variant.number]
                }
        return found

    def _all_of(self, state: Forms, rest: list[Variant], ranges: Ranges) -> dict[str, Form]:
        """The features that all of the rest together change in one way, whatever the order."""
        found = {
            name: self._changed(variant, state, Enclosing(ranges))[name] for name, variant in self._alone(rest).items()
        }
        for name in {name for v in rest for name in v.action.affects} - found.keys():
            effects = [self.effects[v.number].get(name) for v in rest if name in v.action.affects]
            if any(effect is None for effect in effects):
                continue
            if all(effect is not None and effect.adds for effect in effects):
                form = state[name]
                for effect in effects:
                    assert effect is not None
                    form = self._rounded(name, form + effect.form)
                found[name] = form
            elif len(effects) == 1 and effects[0] is not None:
                found[name] = effects[0].form
        return found

    # --- steps ---

    def _take(
        self, found: Reach, variant: Variant, state: Forms, ranges: Ranges, here: Forms
    ) -> dict[str, Form] | None:
        """Enclose one action from a state: adds its cost to what was found; None if it cannot be taken."""
        walk, tests = Enclosing(ranges), Enclosing(ranges)
        names = self._names(variant, state, state)
        held = self._holds(found, tests, variant.action.before, names)
        if held == NO:
            return None
        changed = self._changed(variant, state, walk)
        after = dict(state)
        for name in variant.action.affects:
            low, high = changed[name].span(ranges)
            first, last = self._ends(name)
            if high < first or low > last:
                return None
            if low < first or high > last:
                found.settled = False
                tests.undecided += [changed[name].wider(-end, -end) for end in (first, last)]
                found.limits.append(Limit(changed[name].wider(-last, -last), strict=False))
                found.limits.append(Limit(changed[name].wider(-first, -first).times(-ONE), strict=False))
            after[name] = self._inside(name, changed[name])
        names = self._names(variant, state, after)
        then = self._holds(found, tests, variant.action.after, names)
        if then == NO:
            return None
        found.settled &= held == then == YES
        self._charge(found, variant, names, state, walk, here)
        found.exact &= not walk.curved and not walk.undecided
        found.cuts += [cut for form in walk.undecided for cut in _cuts(form, ZERO, ranges)]
        found.turns += [cut for form in tests.undecided for cut in _cuts(form, ZERO, ranges)]
        return after

    def _charge(
        self, found: Reach, variant: Variant, names: Forms, state: Forms, walk: Enclosing, here: Forms
    ) -> None:  # fmt: skip
        """Add the cost of an action: its effort times the least discount."""
        try:
            effort = walk.run(variant.action.cost, names)[0]
        except UnboundedError:
            found.exact = False
            return
        assert isinstance(effort, Form)
        low, high = effort.span(walk.box)
        share = self._discount(found, variant, state, walk.box, here)
        found.loose += max(high, ZERO) * (share.high - share.low)
        found.floor += max(low, ZERO) * share.low
        # Effort is never negative, so the least discount bounds the cost below; where only the line is, 0 does.
        found.cost += effort.times(share.low) if high > 0 else Form.constant(ZERO)

    def _discount(self, found: Reach, variant: Variant, state: Forms, ranges: Ranges, here: Forms) -> Factor:
        """The least and the largest discount of an action on a box of states (equations 1 and 2)."""
        if not self.task.discount:
            return Factor(ONE, ONE, ())
        lows, highs = [], []
        for feature in variant.action.affects:
            edges = self.task.world.into.get(feature, ())
            factors = [self._factor(edge, state, ranges) for edge in edges]
            for factor in factors:
                for name, value in factor.turns:
                    found.shares += _cuts(here[name.removeprefix("start_")], value, ranges)
            if factors:
                lows.append(sum((f.low for f in factors), ZERO) / len(factors))
                highs.append(sum((f.high for f in factors), ZERO) / len(factors))
        if not lows:
            return Factor(ONE, ONE, ())
        return Factor(sum(lows, ZERO) / len(lows), sum(highs, ZERO) / len(highs), ())

    def _factor(self, edge: Consequence, state: Forms, ranges: Ranges) -> Factor:
        """What a consequence can give; kept by the intervals of what it reads."""
        read = [declared.name for declared in edge.factor.inputs]
        forms = {name: self.base[name] if name in self.base else state[name] for name in read}
        spans = {name: form.span(ranges) for name, form in forms.items()}
        key = (id(edge), *spans.values())
        if key not in self._factors:
            walk = Enclosing(spans)
            try:
                form = walk.run(edge.factor, {name: Form.variable(name) for name in read})[0]
                assert isinstance(form, Form)
                low, high = form.span(spans)
                low, high = max(ZERO, low), min(ONE, high)
            except UnboundedError:
                low, high = ZERO, ONE
            turns = [(n, -u.low / c) for u in walk.undecided if len(u.coef) == 1 for n, c in u.coef.items()]
            self._factors[key] = Factor(low, high, tuple(turns) if low < high else ())
        return self._factors[key]

    def _holds(self, found: Reach, walk: Enclosing, tests: tuple[Program, ...], names: Forms) -> frozenset[bool]:
        """Whether conditions hold; what has to be for them to hold is noted."""
        try:
            said = walk.holds(tests, names)
            if said != YES:
                found.limits += Enclosing(walk.box).limits(tests, names)
            return said
        except UnboundedError:
            return frozenset({True, False})

    def _names(self, variant: Variant, before: Forms, after: Forms) -> dict[str, Form]:
        names = {**self.base, **{f"before_{name}": form for name, form in before.items()}, **after}
        names |= {name: Form.constant(value) for name, value in variant.levels.items()}
        return names | {one.name: Form.variable(v, one.step) for v, one in variant.variables.items()}

    def _changed(self, variant: Variant, state: Forms, walk: Enclosing) -> dict[str, Form]:
        """What an action makes of the features that it affects, on their grids."""
        try:
            made = walk.run(variant.action.change, self._names(variant, state, state))[1]
        except UnboundedError:
            return {name: Form.constant(*self._ends(name)) for name in variant.action.affects}
        found = {}
        for name in variant.action.affects:
            form = made[name]
            assert isinstance(form, Form)
            found[name] = self._rounded(name, form, walk.box)
        return found

    # --- features ---

    def _ends(self, name: str) -> tuple[Fraction, Fraction]:
        return self._range[name]

    @cached_property
    def _range(self) -> dict[str, tuple[Fraction, Fraction]]:
        found = {}
        for name, axis in self.axes.items():
            if isinstance(axis, GridAxis):
                last = axis.upper - 1 if axis.upper == axis.missing else axis.upper
                found[name] = (axis.value(axis.lower), axis.value(last))
            else:
                found[name] = (ZERO, Fraction(axis.count - 1))
        return found

    def _inside(self, name: str, form: Form) -> Form:
        """A form that is an interval alone, cut off at the range of its feature."""
        if form.coef or form.exact:
            return form
        first, last = self._ends(name)
        low, high = max(first, form.low), min(last, form.high)
        return Form.constant(low, high) if low <= high else form

    def _slack(self, name: str, form: Form, ranges: Ranges) -> Fraction:
        """How far a value may be moved on its way to the nearest value of its feature's grid."""
        axis = self.axes[name]
        if not isinstance(axis, GridAxis):
            return ZERO
        if axis.grid.kind == "step":
            step = axis.grid.step
            # Indices are whole numbers, so that whole multiples of the step stay as they are.
            whole = form.exact and all((c / step).denominator == 1 for c in (*form.coef.values(), form.low))
            return ZERO if whole else step / 2
        largest = max(map(abs, (*form.span(ranges), *self._ends(name))))
        return (
            largest / 2**52 + Fraction(1, 2**1000)
            if axis.grid.kind == "float64"
            else largest / 2**23 + Fraction(1, 2**140)
        )

    def _rounded(self, name: str, form: Form, ranges: Ranges | None = None) -> Form:
        slack = self._slack(name, form, self._all if ranges is None else ranges)
        return form.wider(-slack, slack) if slack else form

    @cached_property
    def _all(self) -> Ranges:
        """The whole box of all parameters."""
        return {
            name: (Fraction(one.first), Fraction(one.last))
            for variant in self.task.variants
            for name, one in variant.variables.items()
        }

    def _effects(self, variant: Variant) -> dict[str, Effect]:
        """What a variant does to features, where that is to add, or to set, a form of its parameters alone."""
        ranges = {**self._all, **{f"state {name}": ends for name, ends in self._range.items()}}
        state = {name: Form.variable(f"state {name}") for name in self.start}
        try:
            made = Enclosing(ranges).run(variant.action.change, self._names(variant, state, state))[1]
        except UnboundedError:
            return {}
        found = {}
        for name in variant.action.affects:
            form = made[name]
            assert isinstance(form, Form)
            if not form.exact:
                continue
            coef = dict(form.coef)
            adds = coef.pop(f"state {name}", ZERO)
            if adds in (0, 1) and all(key in variant.variables for key in coef):
                part = Form(coef, form.low, form.high)
                found[name] = Effect(adds == 1, part if adds else self._rounded(name, part))
        return found

    def obeys(self, end: Forms, ranges: Ranges) -> bool:
        """Whether the end may obey the rules of the question."""
        rules = self.task.question.rules
        if not rules:
            return True
        box: dict[str, Side] = {}
        for name, form in end.items():
            low, high = form.span(ranges)
            axis = self.axes[name]
            if isinstance(axis, GridAxis):
                box[name] = (low, high)
            else:
                box[name] = {level for level in range(axis.count) if low <= level <= high}
        return all(
            rule.can_hold(box) for rule in rules if isinstance(rule, Rule) and all(name in box for name in rule.reads)
        )


def contracted(node: Node, limits: list[Limit]) -> Node | None:
    """The node without the parts of its box where some limit cannot hold; None if nothing is left."""
    box = dict(node.box)
    for form, strict in limits:
        ends = {
            n: (c * box[n][0], c * box[n][1]) if c > 0 else (c * box[n][1], c * box[n][0]) for n, c in form.coef.items()
        }
        least = form.low + sum((low for low, _ in ends.values()), ZERO)
        for name, factor in form.coef.items():
            # factor * v + the least of all others <= 0 (< 0 if strict), v a whole number.
            edge = (ends[name][0] - least) / factor
            below = edge.numerator // edge.denominator
            low, high = box[name]
            if factor > 0:
                high = min(high, below - (strict and edge == below))
            else:
                low = max(low, below if edge == below and not strict else below + 1)
            if low > high:
                return None
            box[name] = (low, high)
        if not form.coef and (form.low > 0 or strict and form.low == 0):
            return None
    return node._replace(box=box) if box != node.box else node


def _cuts(form: Form, value: Fraction, ranges: Ranges) -> list[Cut]:
    """Where a form of one variable passes a value within a box."""
    if len(form.coef) != 1:
        return []
    ((name, factor),) = form.coef.items()
    if name not in ranges:
        return []
    found = []
    for end in {form.low, form.high}:
        place = (value - end) / factor
        index = place.numerator // place.denominator
        low, high = ranges[name]
        # A turn on the grid itself is cut on either side: tests may hold at it or beyond it.
        found += [Cut(name, at) for at in {index, index - (place == index)} if low <= at < high]
    return found
