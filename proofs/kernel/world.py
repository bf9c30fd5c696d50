"""Rules of the world and excluded regions: what is said of every point of a box."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from typing import Any, NamedTuple, TypeAlias

from mace.proofs.kernel.axes import Axis, Span, farthest, meet
from mace.proofs.kernel.fields import index, integer, once, read
from mace.proofs.kernel.floats import need, rational

Number: TypeAlias = tuple[Fraction, Fraction, frozenset[Fraction] | None]  # an interval, or all members where known
Bools: TypeAlias = tuple[bool, bool]  # whether it can be false, and true


NUMBER, TRUTH = "number", "condition"
COMPARISONS = ("<", "<=", "==", "!=")


class Operator(NamedTuple):
    """How many parts it has (None: any number), of what kind they and the result are, and the result on a box."""

    parts: int | None
    takes: str
    gives: str
    on: Callable[[list[Any], Any], Any]


@lru_cache(1 << 12)
def values_of(axis: Axis, span: Span) -> Number:
    """The values of a span that is not empty."""
    held = [Fraction(axis.number(k), axis.unit) for k in axis.ends(span)]
    return min(held), max(held), None if axis.is_grid else frozenset(held)


def times(factor: Fraction, a: Number) -> Number:
    ends = (factor * a[0], factor * a[1])
    return min(ends), max(ends), None


def absolute(a: Number) -> Number:
    low, high, _ = a
    least = Fraction(0) if low <= 0 <= high else min(abs(low), abs(high))
    return least, max(abs(low), abs(high)), None


def equal(a: Number, b: Number) -> Bools:
    """Whether two numbers can differ, and can be equal."""
    if a[0] > b[1] or b[0] > a[1]:
        return True, False
    if a[0] == a[1] == b[0] == b[1]:
        return False, True
    one, other = (a, b) if a[2] is not None else (b, a)
    if one[2] is None:
        return True, True
    if other[2] is not None:
        return True, not one[2].isdisjoint(other[2])
    return True, any(other[0] <= value <= other[1] for value in one[2])


OPERATORS = {
    "+": Operator(None, NUMBER, NUMBER, lambda p, _: (sum(a[0] for a in p), sum(a[1] for a in p), None)),
    "-": Operator(2, NUMBER, NUMBER, lambda p, _: (p[0][0] - p[1][1], p[0][1] - p[1][0], None)),
    "neg": Operator(1, NUMBER, NUMBER, lambda p, _: (-p[0][1], -p[0][0], None)),
    "*": Operator(1, NUMBER, NUMBER, lambda p, factor: times(factor, p[0])),
    "abs": Operator(1, NUMBER, NUMBER, lambda p, _: absolute(p[0])),
    "min": Operator(None, NUMBER, NUMBER, lambda p, _: (min(a[0] for a in p), min(a[1] for a in p), None)),
    "max": Operator(None, NUMBER, NUMBER, lambda p, _: (max(a[0] for a in p), max(a[1] for a in p), None)),
    "<": Operator(2, NUMBER, TRUTH, lambda p, _: (p[0][1] >= p[1][0], p[0][0] < p[1][1])),
    "<=": Operator(2, NUMBER, TRUTH, lambda p, _: (p[0][1] > p[1][0], p[0][0] <= p[1][1])),
    "==": Operator(2, NUMBER, TRUTH, lambda p, _: equal(p[0], p[1])),
    "!=": Operator(2, NUMBER, TRUTH, lambda p, _: equal(p[0], p[1])[::-1]),
    "true": Operator(0, TRUTH, TRUTH, lambda _, __: (False, True)),
    "false": Operator(0, TRUTH, TRUTH, lambda _, __: (True, False)),
    "and": Operator(None, TRUTH, TRUTH, lambda p, _: (any(a[0] for a in p), all(a[1] for a in p))),
    "or": Operator(None, TRUTH, TRUTH, lambda p, _: (all(a[0] for a in p), any(a[1] for a in p))),
    "not": Operator(1, TRUTH, TRUTH, lambda p, _: p[0][::-1]),
}


class Line(NamedTuple):
    """A linear function of values of features: a factor for each axis that counts, and a constant."""

    factors: dict[int, Fraction]
    constant: Fraction

    def times(self, factor: Fraction) -> Line:
        """The function times a number."""
        return Line({j: x * factor for j, x in self.factors.items()}, self.constant * factor)

    def plus(self, other: Line) -> Line:
        """The sum of two functions."""
        sums = {**self.factors, **{j: self.factors.get(j, Fraction(0)) + x for j, x in other.factors.items()}}
        return Line(sums, self.constant + other.constant)


def linear(name: str, extra: Any, parts: Sequence[Line | None]) -> Line | None:
    """An operation on linear functions, where that is one again. Of a comparison of a with b it is a - b."""
    if name == "x":
        return Line({extra: Fraction(1)}, Fraction(0))
    if name == "c":
        return Line({}, extra[0])
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or name not in ("+", "-", "neg", "*", *COMPARISONS):
        return None
    if name in ("neg", "*"):
        return known[0].times(extra if name == "*" else Fraction(-1))
    sign = Fraction(1 if name == "+" else -1)
    return reduce(lambda total, part: total.plus(part.times(sign)), known)


class Rule:
    """A condition on the features, as operations on a stack. lacking: a 1 for each feature that may be missing."""

    def __init__(self, data: Any, lacking: bytes, where: str) -> None:
        self.steps: list[tuple[str, Any, int]] = []
        todo: list[tuple[Any, str]] = [(data, TRUTH)]  # expressions, and of what kind each is to be
        while todo:
            node, kind = todo.pop()
            begins = type(node) is list and node and type(node[0]) is str
            need(begins, f"{where}: an expression begins with its operator")
            name, rest = node[0], node[1:]
            extra: Any = None
            if name in ("x", "c", "*"):
                need(len(rest) == 1 + (name == "*"), f"{where}: {name} has {len(rest)} parts")
                extra = integer(rest[0], 0, len(lacking) - 1, where) if name == "x" else rational(rest[0], where)
                rest = rest[1:]
            if name in ("x", "c"):
                need(name == "c" or not lacking[extra], f"{where}: reads what may be missing")
                need(kind == NUMBER, f"{where}: {name} is a number, where a {kind} is expected")
            else:
                need(name in OPERATORS, f"{where}: unknown operator {name[:20]!a}")
                parts, takes, gives, _ = OPERATORS[name]
                need(gives == kind, f"{where}: {name} is a {gives}, where a {kind} is expected")
                fits = len(rest) == parts if parts is not None else rest or takes == TRUTH
                need(fits, f"{where}: {name} has {len(rest)} parts")
                todo += [(part, takes) for part in rest]
            if name == "c":
                extra = extra, extra, frozenset((extra,))
            self.steps.append((name, extra, len(rest)))
        # An operator came before its parts, the last of them first: turned round, each follows its parts.
        self.steps.reverse()
        self.reads = sorted({extra for name, extra, _ in self.steps if name == "x"})

    @cached_property
    def comparisons(self) -> list[tuple[str, Line | None]]:
        """The comparisons as they follow each other: of a with b the kind, and a - b where that is linear."""
        stack: list[Line | None] = []
        found = []
        for name, extra, count in self.steps:
            parts = stack[len(stack) - count :]
            del stack[len(stack) - count :]
            stack.append(linear(name, extra, parts))
            if name in COMPARISONS:
                found.append((name, stack[-1]))
        return found

    def possible(self, axes: Sequence[Axis], box: Sequence[Span], said: tuple[int, Bools] | None = None) -> Bools:
        """Whether the rule can be false, and can be true, on a box that is not empty: interval arithmetic, in which
        every value that is taken in the box lies; exact on a box of one point.

        said: the number of a comparison, and what it can be, whatever the box says.
        """
        return possible(self, tuple([axes[j] for j in self.reads]), tuple([box[j] for j in self.reads]), said)


@lru_cache(1 << 12)
def possible(rule: Rule, axes: Sequence[Axis], spans: Sequence[Span], said: tuple[int, Bools] | None) -> Bools:
    """`Rule.possible`, of the axes that the rule reads and their spans, which many boxes share."""
    values = {j: values_of(axes[k], spans[k]) for k, j in enumerate(rule.reads)}
    stack: list[Any] = []
    seen = 0
    for name, extra, count in rule.steps:
        if name == "x":
            stack.append(values[extra])
        elif name == "c":
            stack.append(extra)
        else:
            parts = stack[len(stack) - count :]
            del stack[len(stack) - count :]
            stack.append(OPERATORS[name].on(parts, extra))
            if name in COMPARISONS:
                if said is not None and said[0] == seen:
                    stack[-1] = said[1]
                seen += 1
    return stack[0][0], stack[0][1]


@once
def read_rules(data: Any, lacking: bytes) -> list[Rule]:
    """The rules of a statement; lacking: as for `Rule`."""
    return [Rule(rule, lacking, f"statement: rule {k}") for k, rule in enumerate(data)]


class Region:
    """An excluded region: a point, a box, all points that differ from the start in some features, or a ball."""

    def __init__(self, data: Any, axes: Sequence[Axis], where: str) -> None:
        self.kind = next(iter(data), None) if type(data) is dict else None
        self.kind = "near" if self.kind == "radius" else self.kind
        if self.kind == "changes":
            found = read(data, {"changes": [index]}, where).changes
            self.changes = [integer(j, 0, len(axes) - 1, where) for j in found]
        elif self.kind == "box":
            self.box = read(data, {"box": tuple(axis.span for axis in axes)}, where).box
        else:
            shape = {"near": tuple(axis.index for axis in axes), "radius": rational}
            ball = read(data, shape if self.kind == "near" else {"point": shape["near"]}, where)
            self.point = ball.near if self.kind == "near" else ball.point
            self.radius = ball.radius if self.kind == "near" else None

    def holds(self, axes: Sequence[Axis], box: Sequence[Span], common: int) -> bool:
        """Whether every point of a box that is not empty lies in the region; distances count in units of 1 / common."""
        if self.kind == "changes":
            return all(not axes[j].has(box[j], axes[j].start) for j in self.changes)
        if self.kind == "box":
            return all(meet(span, own) == span for span, own in zip(box, self.box, strict=True))
        point = [axis.only(k) for axis, k in zip(axes, self.point, strict=True)]
        return box == point if self.radius is None else farthest(axes, box, point) < self.radius * common
