"""Actions: when one may be taken, what it changes and what it costs, on boxes of states and spans of parameters.

What the world says of an action is a list of lines, each an operation on the values of earlier ones. The value of a
line is an interval, or None where nothing is known of it; or whether a condition can be false, and can be true.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from mace.proofs.kernel.axes import Axis, Span, empty, levels, meet
from mace.proofs.kernel.fields import anything, index, integer, positive, read
from mace.proofs.kernel.floats import need, rational
from mace.proofs.kernel.world import NUMBER, OPERATORS, TRUTH, Number, Operator, values_of

ACTION = {
    "parameters": [{"step": positive, "first": index, "last": index}], "lines": [[anything]], "before": [index],
    "change": [(index, index)], "then": [[anything]], "after": [index], "cost": index, "factors": [[index]],
}  # fmt: skip
LONGEST = 10_000  # bits of a number
ZERO, ONE = Fraction(0), Fraction(1)

Value: TypeAlias = (
    Any  # of a line: a Number, or None where nothing is known of it; or whether it can be false, and true
)


def product(parts: list[Any], _: Any) -> Number:
    """Every product of two numbers of two intervals."""
    ends = [a * b for a in parts[0][:2] for b in parts[1][:2]]
    return min(ends), max(ends), None


def quotient(parts: list[Any], _: Any) -> Number | None:
    """Every quotient of two numbers of two intervals; nothing is known where the divisor can be 0."""
    low, high, _ = parts[1]
    return None if low <= 0 <= high else product([parts[0], (1 / high, 1 / low, None)], None)


def hull(one: Value, other: Value) -> Value:
    """What is in one of the two."""
    if one is None or other is None:
        return None
    if type(one[0]) is bool:
        return one[0] or other[0], one[1] or other[1]
    known = None if one[2] is None or other[2] is None else one[2] | other[2]
    return min(one[0], other[0]), max(one[1], other[1]), known


LINES = {
    **OPERATORS,
    "*": Operator(2, NUMBER, NUMBER, product),
    "/": Operator(2, NUMBER, NUMBER, quotient),
}


class Line(NamedTuple):
    """An operation: on a number of its own (of a feature, of a parameter), or on the values of earlier lines."""

    name: str
    extra: Any
    parts: list[int]


class Taken(NamedTuple):
    """Where an action leads, and the least of its cost.

    `sure`: nothing about it is unknown, so that of a single state and single values it can be taken, at just this cost.
    """

    box: list[Span]
    low: Fraction
    sure: bool


class Action:
    """What an action may choose, when it may be taken, what it changes, and what it costs."""

    def __init__(self, data: Any, axes: Sequence[Axis], where: str) -> None:
        found = read(data, ACTION, where)
        self.axes, self.parameters = axes, found.parameters
        need(all(one.first <= one.last for one in self.parameters), f"{where}: a parameter has no value")
        self.lines: list[Line] = []
        self.kinds: list[str] = []
        self.extend(found.lines, where, then=False)
        first = len(self.lines)
        self.extend(found.then, where, then=True)
        self.first, self.then = self.lines[:first], self.lines[first:]
        self.before, self.after = found.before, found.after
        self.change, self.cost, self.factors = found.change, found.cost, found.factors
        factors = [line for group in self.factors for line in group]
        for lines, end in (
            ([*self.before, *(line for _, line in self.change), *factors], first),
            ([*self.after, self.cost], len(self.lines)),
        ):
            for line in lines:
                integer(line, 0, end - 1, f"{where}: line")
        need(all(self.kinds[k] == TRUTH for k in (*self.before, *self.after)), f"{where}: a condition is a number")
        numbers = (self.cost, *(line for _, line in self.change), *factors)
        need(all(self.kinds[k] == NUMBER for k in numbers), f"{where}: a condition is no number")
        need(all(self.factors), f"{where}: a feature has no factor")
        changed = [self.feature(j, where) for j, _ in self.change]
        need(len(set(changed)) == len(changed), f"{where}: a feature is changed twice")
        need(all(axes[j].grid in ("", "step") for j in changed), f"{where}: changes a feature whose values are floats")

    def feature(self, j: Any, where: str) -> int:
        """A feature that is never missing."""
        j = integer(j, 0, len(self.axes) - 1, f"{where}: feature")
        need(self.axes[j].missing is None, f"{where}: feature {j} may be missing")
        return int(j)

    def extend(self, data: list[list[Any]], where: str, then: bool) -> None:
        """Read lines; what they compute follows from what stands before them."""
        for node in data:
            name: Any = node[0] if node else None
            need(type(name) is str, f"{where}: a line begins with its operator")
            rest = node[1:]
            if name in ("c", "p", "x", "y"):
                need(len(rest) == 1, f"{where}: {name} has {len(rest)} parts")
                need(then or name != "y", f"{where}: the state after the action is not known yet")
                if name == "c":
                    extra: Any = rational(rest[0], where)
                elif name == "p":
                    extra = integer(rest[0], 0, len(self.parameters) - 1, f"{where}: parameter")
                else:
                    extra = self.feature(rest[0], where)
                self.add(Line(name, extra, []), NUMBER)
                continue
            parts = [integer(part, 0, len(self.lines) - 1, f"{where}: line") for part in rest]
            kinds = [self.kinds[part] for part in parts]
            if name == "if":
                chosen = len(parts) == 3 and kinds[0] == TRUTH and kinds[1] == kinds[2]
                need(chosen, f"{where}: if takes a condition and two of one kind")
                self.add(Line(name, None, parts), kinds[1])
                continue
            need(name in LINES, f"{where}: unknown operator {name[:20]!a}")
            most, takes, gives, _ = LINES[name]
            fits: Any = len(parts) == most if most is not None else parts or takes == TRUTH
            need(fits and set(kinds) <= {takes}, f"{where}: {name} takes other parts")
            self.add(Line(name, None, parts), gives)

    def add(self, line: Line, kind: str) -> None:
        self.lines.append(line)
        self.kinds.append(kind)

    def run(self, lines: list[Line], values: list[Value], before: list[Span], after: list[Span], spans: Any) -> None:
        """Add the values of some lines to those of the lines before them.

        Lemma: whatever the values of two states in these boxes and of the parameters in their spans, the value of a
        line, if it has one, lies in what is added for it.
        """
        for name, extra, parts in lines:
            if name == "c":
                value: Value = (extra, extra, frozenset((extra,)))
            elif name == "p":
                one, (low, high) = self.parameters[extra], spans[extra]
                value = (low * one.step, high * one.step, None)
            elif name in ("x", "y"):
                value = values_of(self.axes[extra], (before if name == "x" else after)[extra])
            else:
                held = [values[part] for part in parts]
                if name == "if":
                    (no, yes), then, other = held
                    value = hull(then, other) if no and yes else then if yes else other
                elif None in held:
                    value = None if LINES[name].gives == NUMBER else (True, True)
                else:
                    value = LINES[name].on(held, None)
            if value is not None:
                long = max(number.bit_length() for end in value[:2] for number in (end.numerator, end.denominator))
                need(long <= LONGEST, "a number of the world grows too long")
            values.append(value)

    def settled(self, j: int, value: Value) -> Span:
        """The indices that a feature may take for a number: the nearest ones, where they are allowed.

        Lemma: the nearest value of a grid, of two the one with the even index, is a monotone function of the number.
        """
        axis = self.axes[j]
        if value is None:
            return axis.full
        low, high, known = value
        if not axis.is_grid:
            fits = [k for k in levels(axis.full) if low <= k <= high and (known is None or k in known)]
            return sum(1 << k for k in fits)
        return meet((nearest(axis, low), nearest(axis, high)), axis.full)

    def take(self, box: list[Span], spans: Any) -> Taken | None:
        """Where the action leads from a box of states; None if it cannot be taken in any of them."""
        values: list[Value] = []
        self.run(self.first, values, box, box, spans)
        after = [*box]
        for j, line in self.change:
            after[j] = self.settled(j, values[line])
        if any(map(empty, after)):
            return None
        self.run(self.then, values, box, after, spans)
        held = [values[k] for k in (*self.before, *self.after)]
        if not all(yes for _, yes in held):
            return None
        effort, shares = values[self.cost], [[values[k] for k in group] for group in self.factors]
        if effort is None or any(value is None for group in shares for value in group):
            return Taken(after, ZERO, sure=False)
        low, high = ([sum(v[end] for v in group) / len(group) for group in shares] for end in (0, 1))
        least, most = (sum(part) / len(part) if part else ONE for part in (low, high))
        if effort[1] < 0 or most < 0 or least > 1:
            return None
        sure = not any(no for no, _ in held) and all(values[line] is not None for _, line in self.change)
        return Taken(after, max(effort[0], ZERO) * max(least, ZERO), sure)


def nearest(axis: Axis, value: Fraction) -> int:
    """The index whose value is nearest to a number, of two the even one."""
    x = value * axis.unit
    below = x // axis.step
    return min(range(below, below + 3), key=lambda k: (abs(axis.number(k) - x), k % 2))
