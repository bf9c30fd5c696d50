"""What a node of the search can reach: enclosures of its end states and of its cost, on a box of parameters.

In:  a task; a prefix of actions in order, a rest in any order, and a box of indices of their parameters.
Out: `Reach`: a form for every feature at the end, a linear and a constant lower bound of the cost; or None, if no plan
     of the node can be taken.
Promise: every plan of the node that the interpreter replays ends within the forms and costs at least as much; all
arithmetic is exact. Of the rest nothing is assumed but that each of its actions is taken once: their conditions, costs
and discounts are enclosed over all states that some of them, in any order, can lead to.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from mace.language import Program
from mace.language.interval import NO, YES
from mace.plans.changes import Changes
from mace.plans.commuting import commuting, read_by
from mace.plans.near import kept_to, near
from mace.plans.nodes import Forms, PlanNode, Reach, contracted, cuts_of
from mace.plans.rest import all_of, anywhere
from mace.plans.task import COST, Task, Variant
from mace.problem.budget import Budget
from mace.problem.programs import Extent, Rule
from mace.space.axes import GridAxis
from mace.worlds.affine import ZERO, Form, Ranges
from mace.worlds.costs import NeverError, least_of
from mace.worlds.forms import Enclosing, Limit, UnboundedError
from mace.worlds.parts import Consequence

ONE = Fraction(1)
MOST_KEPT = 20_000  # actions from states


class Factor(NamedTuple):
    """What a consequence can give on a box of states, where tests of inputs turn, and its slopes in inputs."""

    low: Fraction
    high: Fraction
    turns: tuple[tuple[str, Fraction], ...] = ()
    slopes: tuple[tuple[str, Fraction], ...] = ()


class Reacher:
    """Makes the reach of nodes of one task; keeps what does not depend on the node."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.changes = Changes(task)
        self._factors: dict[tuple[object, ...], Factor] = {}
        self._taken: dict[tuple[object, ...], tuple[Reach, dict[str, Form]] | None] = {}
        self._reads = [self._reading(variant) for variant in task.variants]
        self.commuting = commuting(self.changes)
        self._tests = [
            {
                declared.name.removeprefix("before_")
                for program in (*variant.action.before, *variant.action.after)
                for declared in program.inputs
            }
            for variant in task.variants
        ]

    # --- nodes ---

    def reach(self, node: PlanNode) -> Reach | None:
        """What a node can reach; None if nothing."""
        ranges = node.box
        found = Reach(dict(self.changes.start))
        for number in node.prefix:
            after = self.take(found, self.task.variants[number], found.end, ranges, found.end)
            if after is None:
                return None
            found.end = after
        if node.rest and not self._rest(found, [self.task.variants[v] for v in sorted(node.rest)], ranges):
            return None
        return found if self.obeys(found.end, ranges) and self._measured(found, ranges) else None

    def _measured(self, found: Reach, ranges: Ranges) -> bool:
        """Keep to what plans may cost and how far they may lead, and bound what is made least; False if none can."""
        task = self.task
        if task.dearest is not None:
            if found.floor > task.dearest:
                return False
            found.limits.append(Limit(found.cost.wider(-task.dearest, -task.dearest), strict=False))
        budgets = [rule for rule in task.question.rules if isinstance(rule, Budget)]
        if not budgets and task.measure == COST:
            return True
        ends = near(task, found.end, ranges)
        for budget in budgets:
            limits = kept_to(budget, ends)
            if limits is None:
                return False
            found.limits += limits
        found.exact &= ends.exact
        found.cuts += ends.cuts
        if task.measure != COST:
            found.cost, found.floor = ends.line, ends.floor
            if task.dearest is None:  # what plans cost does not matter
                found.loose, found.lean, found.shares = ZERO, {}, []
                found.order &= not (found.simple and found.settled)
        return True

    def _rest(self, found: Reach, rest: list[Variant], ranges: Mapping[str, tuple[int, int]]) -> bool:
        """Enclose what the rest does in any order; False if one of it can never be taken."""
        if len(rest) == 1:
            after = self.take(found, rest[0], found.end, ranges, found.end)
            found.end = after or found.end
            return after is not None
        if all(b.number in self.commuting[a.number] for a, b in itertools.combinations(rest, 2)):
            for variant in rest:
                after = self.take(found, variant, found.end, ranges, found.end)
                if after is None:
                    return False
                found.end = after
            return True
        within = anywhere(self.changes, found.end, rest, ranges)
        part = Reach(within)
        for variant in rest:
            if self.take(part, variant, within, ranges, found.end) is None:
                return False
        for pair in self._pairs(rest):
            orders = self._orders(found.end, within, rest, pair, ranges)
            if not orders:
                return False
            if len(orders) == 1:
                part.limits += orders[0]
        end = all_of(self.changes, found.end, rest, ranges)
        simple = len(end) == len({name for v in rest for name in v.action.affects})
        found.end |= {name: form for name, form in within.items() if name not in end} | end
        found.simple = simple
        found.order = not (simple and part.settled and part.exact and not part.loose)
        found.add(part)
        found.exact &= simple
        return True

    def _pairs(self, rest: list[Variant]) -> list[tuple[Variant, Variant]]:
        """Pairs each of which changes what conditions of the other read: perhaps neither can follow the other."""
        return [
            (a, b)
            for a, b in itertools.combinations(rest, 2)
            if not self._tests[a.number].isdisjoint(b.action.affects)
            and not self._tests[b.number].isdisjoint(a.action.affects)
        ]

    def _orders(
        self, state: Forms, within: Forms, rest: list[Variant], pair: tuple[Variant, Variant],
        ranges: Mapping[str, tuple[int, int]],
    ) -> list[list[Limit]]:  # fmt: skip
        """For each order in which two actions of the rest can be taken, what has to hold for that.

        Until both are taken, what they alone change is as it was; after the first, as the first made it.
        """
        counts = Counter(name for variant in rest for name in variant.action.affects)
        mine = Counter(name for variant in pair for name in variant.action.affects)
        before = {**within, **{name: state[name] for name, count in mine.items() if counts[name] == count}}
        found = []
        for first, second in (pair, pair[::-1]):
            part = Reach({})
            made = self.take(part, first, before, ranges, state)
            if made is None:
                continue
            changed = {name: made[name] for name in first.action.affects if counts[name] == 1}
            mixed = {name: within[name] for name in first.action.affects if counts[name] > 1}
            if self.take(part, second, {**before, **changed, **mixed}, ranges, state) is None:
                continue
            if contracted(PlanNode((), frozenset(), ranges), part.limits) is not None:
                found.append(part.limits)
        return found

    # --- steps ---

    def take(self, found: Reach, variant: Variant, state: Forms, ranges: Ranges, here: Forms) -> dict[str, Form] | None:
        """Enclose one action from a state: adds its cost to what was found; None if it cannot be taken.

        here: forms of what discounts read, whose slopes say what moves them.
        """
        key = self._key(variant, state, ranges, here)
        if key not in self._taken:
            if len(self._taken) >= MOST_KEPT:
                self._taken.clear()
            part = Reach({})
            changed = self._enclosed(part, variant, state, ranges, here)
            self._taken[key] = None if changed is None else (part, changed)
        made = self._taken[key]
        if made is None:
            return None
        found.add(made[0])
        return {**state, **made[1]}

    def _key(self, variant: Variant, state: Forms, ranges: Ranges, here: Forms) -> tuple[object, ...]:
        """Everything that what is known of an action depends on."""
        key: list[object] = [variant.number]
        moving = set(variant.variables)
        for name in self._reads[variant.number]:
            for form in (state[name],) if here is state else (state[name], here[name]):
                key += (form.least, form.most, form.den, *form.tops.items())
                moving.update(form.tops)
        key += [ranges[variable] for variable in sorted(moving)]
        return tuple(key)

    def _reading(self, variant: Variant) -> list[str]:
        """The features on which conditions, changes, cost and discount of an action depend."""
        action = variant.action
        return sorted(read_by(self.changes, variant, (*action.before, *action.after)))

    def _enclosed(
        self, found: Reach, variant: Variant, state: Forms, ranges: Ranges, here: Forms
    ) -> dict[str, Form] | None:
        """What an action makes of the features that it affects, and in `found` what else is known of it."""
        walk, tests = Enclosing(ranges), Enclosing(ranges)
        names = self.changes.names(variant, state, state)
        held = self._holds(found, tests, variant.action.before, names)
        if held == NO:
            return None
        changed = self.changes.changed(variant, state, walk)
        made: dict[str, Form] = {}
        for name in variant.action.affects:
            low, high = changed[name].span(ranges)
            first, last = self.changes.ends(name)
            if high < first or low > last:
                return None
            if low < first or high > last:
                found.settled = False
                tests.undecided += [changed[name].wider(-end, -end) for end in (first, last)]
                found.limits.append(Limit(changed[name].wider(-last, -last), strict=False))
                found.limits.append(Limit(changed[name].wider(-first, -first).times(-1), strict=False))
            made[name] = self.changes.inside(name, changed[name])
        names = self.changes.names(variant, state, {**state, **made})
        then = self._holds(found, tests, variant.action.after, names)
        if then == NO:
            return None
        found.settled &= held == then == YES
        try:
            self._charge(found, variant, names, state, walk, here)
        except NeverError:
            return None
        found.exact &= not walk.curved and not walk.undecided and all(form.exact for form in made.values())
        found.cuts += [cut for form in walk.undecided for cut in cuts_of(form, ZERO, ranges)]
        found.turns += [cut for form in tests.undecided for cut in cuts_of(form, ZERO, ranges)]
        return made

    def _charge(
        self, found: Reach, variant: Variant, names: Forms, state: Forms, walk: Enclosing, here: Forms
    ) -> None:  # fmt: skip
        """Add the cost of an action: its effort times the least discount. Raises NeverError."""
        try:
            effort = least_of(walk, variant.action.cost, names)
        except UnboundedError:
            found.exact = False
            return
        top = effort.line.span(walk.box)[1]
        high = max(top if effort.high is None else effort.high, ZERO)
        share = self._discount(found, variant, state, walk.box, here)
        for name, slope in share.slopes:
            for variable, factor in here[name].coef.items() if slope else ():
                first, last = walk.box[variable]
                moved = high * abs(slope * factor) * (last - first)
                found.lean[variable] = found.lean.get(variable, ZERO) + moved
        found.loose += high * (share.high - share.low)
        found.floor += max(effort.low, ZERO) * share.low
        # Effort is never negative, so the least discount bounds the cost below; where only the line is, 0 does.
        found.cost += effort.line.times(share.low) if top > 0 else Form.constant(ZERO)

    def _discount(self, found: Reach, variant: Variant, state: Forms, ranges: Ranges, here: Forms) -> Factor:
        """The least and the largest discount of an action on a box of states (equations 1 and 2)."""
        if not self.task.discount:
            return Factor(ONE, ONE)
        lows, highs = [], []
        slopes: list[tuple[str, Fraction]] = []
        for feature in variant.action.affects:
            edges = self.task.world.into.get(feature, ())
            factors = [self._factor(edge, state, ranges) for edge in edges]
            for factor in factors:
                for name, value in factor.turns:
                    found.shares += cuts_of(here[name.removeprefix("start_")], value, ranges)
                slopes += [(name, slope / len(factors)) for name, slope in factor.slopes if name in here]
            if factors:
                lows.append(sum((f.low for f in factors), ZERO) / len(factors))
                highs.append(sum((f.high for f in factors), ZERO) / len(factors))
        if not lows:
            return Factor(ONE, ONE)
        share = [(name, slope / len(lows)) for name, slope in slopes]
        return Factor(sum(lows, ZERO) / len(lows), sum(highs, ZERO) / len(highs), (), tuple(share))

    def _factor(self, edge: Consequence, state: Forms, ranges: Ranges) -> Factor:
        """What a consequence can give; kept by the intervals of what it reads."""
        read = [declared.name for declared in edge.factor.inputs]
        forms = {name: self.changes.base[name] if name in self.changes.base else state[name] for name in read}
        spans = {name: form.span(ranges) for name, form in forms.items()}
        key = (id(edge), *spans.values())
        if key not in self._factors:
            walk = Enclosing(spans)
            slopes: Mapping[str, Fraction] = {}
            try:
                form = walk.run(edge.factor, {name: Form.variable(name) for name in read})[0]
                assert isinstance(form, Form)
                low, high = form.span(spans)
                low, high, slopes = max(ZERO, low), min(ONE, high), form.coef
            except UnboundedError:
                low, high = ZERO, ONE
            turns = [(n, -u.low / c) for u in walk.undecided if len(u.coef) == 1 for n, c in u.coef.items()]
            self._factors[key] = (
                Factor(low, high, tuple(turns), tuple(slopes.items())) if low < high else Factor(low, high)
            )
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

    def obeys(self, end: Forms, ranges: Ranges) -> bool:
        """Whether the end may obey the rules of the question."""
        rules = self.task.question.rules
        if not rules:
            return True
        box: dict[str, Extent] = {}
        for name, form in end.items():
            low, high = form.span(ranges)
            axis = self.changes.axes[name]
            if isinstance(axis, GridAxis):
                box[name] = (low, high)
            else:
                box[name] = {level for level in range(axis.count) if low <= level <= high}
        return all(
            rule.can_hold(box) for rule in rules if isinstance(rule, Rule) and all(name in box for name in rule.reads)
        )
