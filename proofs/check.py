#!/usr/bin/env python3
"""Accept or refuse a certificate: that no allowed point with the goal is closer than some distance, or exists at all.

In:  a certificate as proofs/FORMAT.md defines it, as a file (`python -I -S proofs/check.py FILE`) or parsed (`check`);
     or several files, or folders of them.
Out: a `Verdict`; on the command line one line, a summary, and exit status 0 (accepted), 10 (refused) or 2 (unusable);
     of several files a line each, and the largest status.
Promise: accepted means that the claim holds for the floating-point model that the statement describes; what that rests
on is listed in proofs/soundness.md. Standard library only, nothing of mace is imported, no floating-point arithmetic:
* a float is the integer x * 2^1074 (every double is one; infinity is `INFINITE`), rounded by `rounded`;
* a distance is an integer, the exact rational times one common denominator;
* sums that are rounded at all (networks) are rounded outward.
Every field is validated before it is used. No function recurses, so that depth costs memory and never the stack.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import sys
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import gcd, lcm
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

MAX_BYTES = 128 * 2**20  # of the file, and of the text in it; a forest with 130,000 leaves needs about 20 MB
MAX_DIGITS = 4000  # of a number in text
MAX_BITS = 100_000  # of a number that is computed: hostile texts must not grow without end
MAX_FEATURES = 10_000
MAX_LEVELS = 10_000
MAX_NODES = 10_000_000  # of all trees together, and of the proof
MAX_RULE_NODES = 100_000
MAX_VALUES = 20_000_000  # of JSON in the text, lists and objects included
MAX_COLUMNS = 100_000
MAX_CHAIN = 100  # operations that compute one column
MAX_LAYERS = 256
MAX_SPANS = 20_000_000  # sides of the boxes of all leaves of a forest
MAX_HELD = 50_000_000  # entries of the lists that the open nodes of a proof keep, and of the margins of leaves
MAX_MEMORY = 8 * 2**30  # bytes, of the process that checks files from the command line

MODEL = ".model.json.gz"  # how the name of a file ends that holds a model; before it stands the digest

ONE = 1 << 1074
INFINITE = 1 << 4000
DIGITS = {"float64": 53, "float32": 24}
LOWEST = {"float64": -1074, "float32": -149}
BEYOND = {"float64": ONE << 1024, "float32": ONE << 128}
UNIT = {"float64": Fraction(1, 2**53), "float32": Fraction(1, 2**24)}
SMALLEST = {"float64": Fraction(1, 2**1022), "float32": Fraction(1, 2**126)}
# Scores this near to the boundary of a squashed decision count as on either side of it (units of the dtype).
SQUASHED = {"argmax": 0, "softmax": 32, "positive": 0, "nonnegative": 0, "sigmoid": 16, "value": 0}

Span: TypeAlias = Any  # (lowest index, highest index) of a grid, a bit mask of levels
Cost: TypeAlias = tuple[int, int]  # what one axis adds to the sum, and its part of the maximum


class Refused(Exception):  # noqa: N818  # a verdict, not an error
    """Why the certificate is not accepted."""


class Unusable(Exception):  # noqa: N818
    """Why the input is no certificate at all."""


@dataclass
class Verdict:
    """What came of a check. `fired` counts how often each rule of the proof was used."""

    accepted: bool
    reason: str
    claim: str = ""
    fired: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"accepted: {self.claim}" if self.accepted else f"refused at {self.reason}"


# ------------------------------------------------------------------------------------------------ fields


def need(holds: object, why: str) -> None:
    if not holds:
        raise Refused(why)


def fields(data: Any, names: Iterable[str], where: str) -> dict[str, Any]:
    need(type(data) is dict, f"{where}: expected an object")
    names = set(names)
    if set(data) != names:
        found = ", ".join(ascii(name[:20])[1:-1] for name in sorted(data)[:20])
        raise Refused(f"{where}: expected the fields {', '.join(sorted(names))}; found {found}")
    return dict(data)


def items(data: Any, where: str, length: int | None = None) -> list[Any]:
    need(type(data) is list, f"{where}: expected a list")
    need(length is None or len(data) == length, f"{where}: expected {length} entries, found {len(data)}")
    return list(data)


def integer(data: Any, low: int, high: int, where: str) -> int:
    need(type(data) is int and low <= data <= high, f"{where}: expected an integer from {low} to {high}")
    return int(data)


def text(data: Any, choices: Iterable[str], where: str) -> str:
    need(type(data) is str and data in choices, f"{where}: expected one of {', '.join(choices)}")
    return str(data)


def truth(data: Any, where: str) -> bool:
    need(type(data) is bool, f"{where}: expected true or false")
    return bool(data)


RATIONAL = re.compile(r"-?[0-9]+(/[0-9]+)?", re.ASCII)
DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
LONG = re.compile(rb"[0-9]{%d}" % (MAX_DIGITS + 1))
HEX = re.compile(r"(-?)0x([01])(?:\.([0-9a-f]{1,13}))?p([+-][0-9]{1,4})", re.ASCII)


def rational(data: Any, where: str, low: int | None = None) -> Fraction:
    need(type(data) is str and len(data) <= MAX_DIGITS, f"{where}: expected a number as text")
    need(RATIONAL.fullmatch(data), f"{where}: {data[:40]!a} is no rational number such as '3' or '-1/3'")
    above, _, below = data.partition("/")
    need(not below or int(below), f"{where}: {data[:40]!a} divides by zero")
    number = Fraction(int(above), int(below or 1))
    need(low is None or number >= low, f"{where}: expected a number of at least {low}")
    return number


class Floats(dict[Any, int]):
    """From a float's hexadecimal text to the integer x * 2^1074; each distinct text is read once."""

    def __missing__(self, data: Any) -> int:
        match = HEX.fullmatch(data) if type(data) is str else None
        need(match, f"{str(data)[:40]!a} is no float such as '0x1.8p+1'")
        assert match is not None
        sign, lead, digits, exponent = match.groups()
        mantissa, power = int(lead + (digits or "").ljust(13, "0"), 16), int(exponent)
        need(-1022 <= power <= 1023 and (lead == "1" or not mantissa or power == -1022), f"{data!a} is no double")
        number = mantissa << (power + 1022)
        self[data] = number = -number if sign else number
        return number


FLOATS = Floats()


def floating(data: Any, where: str) -> int:
    try:
        return FLOATS[data]
    except (TypeError, Refused) as error:  # a list or an object cannot be looked up at all
        raise Refused(f"{where}: {error}") from None


# ------------------------------------------------------------------------------------------------ floats


def to_dtype(number: int, dtype: str, finer: int = 0) -> int:
    """The float of this type nearest to number * 2^-(1074 + finer), ties to even, as an integer times 2^-1074."""
    size = abs(number)
    drop = max(size.bit_length() - DIGITS[dtype], LOWEST[dtype] + 1074 + finer)
    if drop > 0:
        half, rest = 1 << (drop - 1), size & ((1 << drop) - 1)
        size >>= drop
        if rest > half or (rest == half and size & 1):
            size += 1
        size <<= drop
    size >>= finer
    if size >= BEYOND[dtype]:
        size = INFINITE
    return -size if number < 0 else size


def rounded(above: int, below: int, dtype: str) -> int:
    """The float of this type nearest to above / below, for below > 0."""
    # Two bits more than the finest float: one says whether it is half or more, one whether anything follows.
    quotient, rest = divmod(abs(above) << 1076, below)
    return to_dtype((quotient | bool(rest)) * (-1 if above < 0 else 1), dtype, 2)


def rank_value(rank: int, dtype: str) -> int:
    """The float with this place among all floats of its type, times 2^1074."""
    bits, size = DIGITS[dtype] - 1, abs(rank)
    number = size if size >> bits <= 1 else ((size & ((1 << bits) - 1)) | (1 << bits)) << ((size >> bits) - 1)
    number <<= LOWEST[dtype] + 1074
    return -number if rank < 0 else number


def rank_floor(number: int, dtype: str) -> int:
    """The place of the largest float of this type that is <= number * 2^-1074."""
    size = abs(number) >> (LOWEST[dtype] + 1074)
    exponent = max(size.bit_length() - DIGITS[dtype], 0)
    rank = (exponent << (DIGITS[dtype] - 1)) + (size >> exponent)
    if number >= 0:
        return rank
    return -rank if rank_value(-rank, dtype) <= number else -rank - 1


def gamma(operations: int, dtype: str) -> Fraction:
    """Higham's g(n) = n u / (1 - n u)."""
    error = operations * UNIT[dtype]
    need(error < 1, "statement: too many additions for a rounding bound")
    return error / (1 - error)


# ------------------------------------------------------------------------------------------------ axes


class Axis(ABC):
    """What a grid and a row of levels have in common: how far each index is from the start."""

    start: int
    full: Span
    unit: int
    missing: int | None = None  # the index that stands for "missing"
    missing_cost = Fraction(0)  # the scaled change between it and every other

    def __init__(self, data: dict[str, Any], where: str) -> None:
        need(type(data["name"]) is str, f"{where}: a name is text")
        self.name = str(data["name"])
        self.weight = rational(data["weight"], f"{where}: weight", 0)
        self.known: dict[int, Cost] = {}
        self.jump = self.slope = self.steep = self.lost = self.lost_top = 0

    def measure(self, alpha: Fraction, beta: Fraction, top: Fraction) -> list[Fraction]:
        """The coefficients of this axis: a change at all, a unit of change in the sum, one in the maximum; and what a
        change from or to "missing" adds to the sum, and to the maximum."""
        jump, scale, lost = self.weight * alpha, self.weight / self.reach(), self.weight * self.missing_cost
        return [jump, beta * scale, top * scale, jump + beta * lost if lost else lost, top * lost]

    def at(self, index: int) -> Cost:
        """What an index adds to the distance."""
        cost = self.known.get(index)
        if cost is None:
            cost = self.known[index] = self.between(index, self.start)
        return cost

    def between(self, one: int, other: int) -> Cost:
        """What two points that differ in these indices are apart on this axis."""
        if one != other and self.missing in (one, other):
            return (self.lost, self.lost_top)
        change = self.change(one, other)
        return (self.jump + self.slope * change, self.steep * change) if change else (0, 0)

    def cost(self, span: Span) -> Cost:
        """The least that a point in the span adds to the distance."""
        return self.at(self.nearest(span))

    def has(self, span: Span, index: int) -> bool:
        return not self.empty(self.meet(span, self.only(index)))

    @property
    def may_lack(self) -> bool:
        """Whether "missing" is among the allowed indices."""
        return self.missing is not None and self.has(self.full, self.missing)

    @abstractmethod
    def reach(self) -> Fraction:
        """How much `change` is a scaled change of one."""

    @abstractmethod
    def change(self, index: int, other: int) -> int: ...

    @abstractmethod
    def number(self, index: int) -> int:
        """The value with this index, times `unit`."""

    @abstractmethod
    def nearest(self, span: Span) -> int:
        """The index of a span that is nearest to the start."""

    @abstractmethod
    def side(self, data: Any, where: str) -> Span:
        """The side of a box that a certificate states: [lowest, highest] index, or a mask of levels."""

    @abstractmethod
    def meet(self, one: Span, other: Span) -> Span: ...

    @abstractmethod
    def empty(self, span: Span) -> bool: ...

    @abstractmethod
    def only(self, index: int) -> Span: ...

    @abstractmethod
    def halves(self, span: Span, at: Any, where: str) -> tuple[Span, Span]:
        """A span split in two by a proof."""

    @abstractmethod
    def ends(self, span: Span) -> list[int]:
        """Indices among which every function that is monotone away from some index has its greatest value."""

    @abstractmethod
    def within(self, span: Span, limit: int) -> Span:
        """The part of a span whose own distance stays below the limit."""


class Grid(Axis):
    """A row of numbers in order, perhaps with "missing" above them; a span is (lowest, highest) index."""

    def __init__(self, data: Any, where: str) -> None:
        names = ("name", "weight", "kind", "grid", "step", "extra", "lower", "upper", "start", "scale")
        data = fields(data, (*names, "missing") if "missing" in data else names, where)
        super().__init__(data, where)
        self.grid = text(data["grid"], ("step", "float64", "float32"), f"{where}: grid")
        self.scale = rational(data["scale"], f"{where}: scale", 0)
        need(self.scale > 0, f"{where}: the scale must be positive")
        step = rational(data["step"], f"{where}: step")
        need(step > 0, f"{where}: the step must be positive")
        self.extra: int | None = None
        if self.grid == "step":
            extra = None if data["extra"] is None else rational(data["extra"], f"{where}: extra")
            self.unit = lcm(step.denominator, 1 if extra is None else extra.denominator)
            self.step = int(step * self.unit)
            largest = 2**1100
            if extra is not None:
                self.extra = int(extra * self.unit)
                self.place = self.extra // self.step + 1
        else:
            need(data["extra"] is None, f"{where}: only a grid of steps has an extra value")
            self.unit, self.step = ONE, 1
            largest = rank_floor(BEYOND[self.grid] - 1, self.grid)
        ends = ("lower", "upper", "start")
        low, high, self.start = (integer(data[name], -largest, largest, f"{where}: {name}") for name in ends)
        need(low <= high, f"{where}: lower lies above upper")
        self.full = (low, high)
        if "missing" in data:
            absent = fields(data["missing"], ("cost", "allowed"), f"{where}: missing")
            self.missing, self.missing_cost = high + 1, rational(absent["cost"], f"{where}: missing: cost", 0)
            self.full = (low, high + truth(absent["allowed"], f"{where}: missing: allowed"))
        for index in (low, high, high if self.start == self.missing else self.start):
            need(abs(self.number(index)) << 1074 < self.unit << 2097, f"{where}: its values are too large for a double")

    def number(self, index: int) -> int:
        if self.grid != "step":
            return rank_value(index, self.grid)
        if self.extra is None or index < self.place:
            return index * self.step
        return self.extra if index == self.place else (index - 1) * self.step

    def index(self, number: int) -> int:
        """The largest index whose value is <= number / unit."""
        if self.grid != "step":
            return rank_floor(number, self.grid)
        index = number // self.step
        if self.extra is None or index < self.place - 1:
            return index
        return index + 1 if index >= self.place or number >= self.extra else index

    def float_at(self, index: int, dtype: str = "float64") -> int:
        """What the model is given for this index, where a value of a step grid is rounded once, to this type."""
        number = self.number(index)
        return number if self.grid != "step" else rounded(number, self.unit, dtype)

    def reach(self) -> Fraction:
        return self.scale * self.unit

    def change(self, index: int, other: int) -> int:
        return abs(self.number(index) - self.number(other))

    def nearest(self, span: Span) -> int:
        low, high = span
        near = int(low if low > self.start else high if high < self.start else self.start)
        return min(near, high, key=self.at) if high == self.missing else near

    def side(self, data: Any, where: str) -> Span:
        low, high = (integer(index, -(2**1200), 2**1200, where) for index in items(data, where, 2))
        return (low, high)

    def meet(self, one: Span, other: Span) -> Span:
        return (one[0] if one[0] > other[0] else other[0], one[1] if one[1] < other[1] else other[1])

    def empty(self, span: Span) -> bool:
        return bool(span[0] > span[1])

    def halves(self, span: Span, at: Any, where: str) -> tuple[Span, Span]:
        need(type(at) is int and abs(at) <= 2**1200, f"{where}: expected an index")
        return (span[0], min(span[1], at)), (max(span[0], at + 1), span[1])

    def only(self, index: int) -> Span:
        return (index, index)

    def ends(self, span: Span) -> list[int]:
        low, high = span
        return [low, high] if high != self.missing or low == high else [low, high - 1, high]

    def within(self, span: Span, limit: int) -> Span:
        if limit <= 0:
            return (1, 0)
        own = self.only(self.start)
        if limit > self.jump:
            pace = self.slope + self.steep
            if not pace:
                return span
            most, centre = (limit - 1 - self.jump) // pace, self.number(self.start)
            own = (-self._mirror(most - centre), self.index(centre + most))
        return self.meet(span, own)

    def _mirror(self, number: int) -> int:
        """Minus the smallest index whose value is >= -number / unit."""
        index = self.index(-number)
        return -index if self.number(index) == -number else -index - 1


class Levels(Axis):
    """A few levels; a span is a bit mask."""

    def __init__(self, data: Any, where: str) -> None:
        names = ("name", "weight", "kind", "count", "allowed", "start", "ordered")
        data = fields(data, (*names, "missing") if "missing" in data else names, where)
        super().__init__(data, where)
        self.count = integer(data["count"], 1, MAX_LEVELS, f"{where}: count")
        self.full = integer(data["allowed"], 1, (1 << self.count) - 1, f"{where}: allowed")
        self.start = integer(data["start"], 0, self.count - 1, f"{where}: start")
        self.ordered = truth(data["ordered"], f"{where}: ordered")
        if "missing" in data:
            absent = fields(data["missing"], ("cost",), f"{where}: missing")
            self.missing, self.missing_cost = self.count - 1, rational(absent["cost"], f"{where}: missing: cost", 0)
        self.unit = 1
        self.near: dict[int, int] = {}

    def number(self, index: int) -> int:
        return index

    def reach(self) -> Fraction:
        return Fraction(max(self.count - 1 - (self.missing is not None), 1) if self.ordered else 1)

    def change(self, index: int, other: int) -> int:
        return abs(index - other) if self.ordered else int(index != other)

    def nearest(self, span: Span) -> int:
        if span not in self.near:
            self.near[span] = min(levels(span), key=self.at)
        return self.near[span]

    def side(self, data: Any, where: str) -> Span:
        return integer(data, 0, (1 << self.count) - 1, where)

    def meet(self, one: Span, other: Span) -> Span:
        return one & other

    def empty(self, span: Span) -> bool:
        return not span

    def halves(self, span: Span, at: Any, where: str) -> tuple[Span, Span]:
        integer(at, 0, (1 << self.count) - 1, where)
        return span & at, span & ~at

    def only(self, index: int) -> Span:
        return 1 << index

    def ends(self, span: Span) -> list[int]:
        return levels(span)

    def within(self, span: Span, limit: int) -> Span:
        return sum(1 << level for level in levels(span) if sum(self.at(level)) < limit)


def levels(mask: int) -> list[int]:
    """The levels of a mask, in order."""
    return [level for level in range(mask.bit_length()) if mask >> level & 1]


# ------------------------------------------------------------------------------------------------ rules of the world

Number: TypeAlias = tuple[Fraction, Fraction, frozenset[Fraction] | None]  # an interval, or all members where known
Bools: TypeAlias = tuple[bool, bool]  # whether it can be false, and true


class Rule:
    """A boolean expression over features, as a list of operations on a stack."""

    def __init__(self, data: Any, axes: Sequence[Axis], where: str) -> None:
        self.steps: list[tuple[str, Any, int]] = []
        todo: list[tuple[Any, bool]] = [(data, False)]
        seen = 0
        while todo:
            node, ready = todo.pop()
            if ready:
                self.steps.append(node)
                continue
            seen += 1
            need(seen <= MAX_RULE_NODES, f"{where}: too long")
            parts = items(node, where)
            need(parts and type(parts[0]) is str, f"{where}: an expression begins with its operator")
            name, rest = parts[0], parts[1:]
            if name == "x":
                j = integer(items(rest, where, 1)[0], 0, len(axes) - 1, f"{where}: x")
                need(isinstance(axes[j], Levels) or not axes[j].may_lack, f"{where}: reads what may be missing")
                self.steps.append((name, j, 0))
            elif name == "c":
                self.steps.append((name, rational(items(rest, where, 1)[0], f"{where}: c"), 0))
            elif name == "*":
                factor, inner = items(rest, where, 2)
                todo += [(("*", rational(factor, f"{where}: *"), 1), True), (inner, False)]
            else:
                need(name in OPERATORS, f"{where}: unknown operator {name[:20]!a}")
                least, most = OPERATORS[name].parts
                need(least <= len(rest) <= most, f"{where}: {name} has {len(rest)} parts")
                todo.append(((name, None, len(rest)), True))
                todo += [(part, False) for part in reversed(rest)]
        self._check_kinds(where)

    def _check_kinds(self, where: str) -> None:
        """Refuse numbers where truths are expected, and the other way round."""
        stack: list[str] = []
        for name, _, count in self.steps:
            parts = [stack.pop() for _ in range(count)]
            takes, gives = (OPERATORS[name].takes, OPERATORS[name].gives) if name in OPERATORS else ("", "number")
            need(all(part == takes for part in parts), f"{where}: {name} takes a {takes}")
            stack.append(gives)
        need(stack == ["truth"], f"{where}: a rule is a condition, not a number")

    def possible(self, axes: Sequence[Axis], box: Sequence[Span]) -> Bools:
        """Whether the rule can be false, and whether it can be true, on a box that is not empty."""
        stack: list[Any] = []
        for name, extra, count in self.steps:
            parts = stack[len(stack) - count :]
            del stack[len(stack) - count :]
            if name == "x":
                axis, span = axes[extra], box[extra]
                held = [Fraction(axis.number(i), axis.unit) for i in axis.ends(span)]
                stack.append((min(held), max(held), frozenset(held) if isinstance(axis, Levels) else None))
            elif name == "c":
                stack.append((extra, extra, frozenset((extra,))))
            else:
                stack.append(OPERATORS[name].on(parts, extra))
                if OPERATORS[name].gives == "number":
                    bits = max(max(abs(x.numerator), x.denominator).bit_length() for x in stack[-1][:2])
                    need(bits < MAX_BITS, "a rule computes numbers that are too long")
        return (stack[0][0], stack[0][1])


def absolute(a: Number) -> Number:
    low, high, _ = a
    least = Fraction(0) if low <= 0 <= high else min(abs(low), abs(high))
    return (least, max(abs(low), abs(high)), None)


def times(factor: Fraction, a: Number) -> Number:
    ends = (factor * a[0], factor * a[1])
    return (min(ends), max(ends), None)


def equal(a: Number, b: Number) -> Bools:
    if a[0] > b[1] or b[0] > a[1]:
        return (True, False)
    if a[0] == a[1] == b[0] == b[1]:
        return (False, True)
    one, other = (a, b) if a[2] is not None else (b, a)
    if one[2] is None:
        return (True, True)
    if other[2] is not None:
        return (True, not one[2].isdisjoint(other[2]))
    return (True, any(other[0] <= value <= other[1] for value in one[2]))


class Operator(NamedTuple):
    """How many parts it has, of what kind they and the result are, and the result on a box."""

    parts: tuple[int, int]
    takes: str
    gives: str
    on: Callable[[list[Any], Any], Any]


ANY = MAX_RULE_NODES
OPERATORS = {
    "+": Operator((1, ANY), "number", "number", lambda p, _: (sum(a[0] for a in p), sum(a[1] for a in p), None)),
    "-": Operator((2, 2), "number", "number", lambda p, _: (p[0][0] - p[1][1], p[0][1] - p[1][0], None)),
    "neg": Operator((1, 1), "number", "number", lambda p, _: (-p[0][1], -p[0][0], None)),
    "*": Operator((1, 1), "number", "number", lambda p, factor: times(factor, p[0])),
    "abs": Operator((1, 1), "number", "number", lambda p, _: absolute(p[0])),
    "min": Operator((1, ANY), "number", "number", lambda p, _: (min(a[0] for a in p), min(a[1] for a in p), None)),
    "max": Operator((1, ANY), "number", "number", lambda p, _: (max(a[0] for a in p), max(a[1] for a in p), None)),
    "<": Operator((2, 2), "number", "truth", lambda p, _: (p[0][1] >= p[1][0], p[0][0] < p[1][1])),
    "<=": Operator((2, 2), "number", "truth", lambda p, _: (p[0][1] > p[1][0], p[0][0] <= p[1][1])),
    "==": Operator((2, 2), "number", "truth", lambda p, _: equal(p[0], p[1])),
    "!=": Operator((2, 2), "number", "truth", lambda p, _: equal(p[0], p[1])[::-1]),
    "true": Operator((0, 0), "truth", "truth", lambda _, __: (False, True)),
    "false": Operator((0, 0), "truth", "truth", lambda _, __: (True, False)),
    "and": Operator((0, ANY), "truth", "truth", lambda p, _: (any(a[0] for a in p), all(a[1] for a in p))),
    "or": Operator((0, ANY), "truth", "truth", lambda p, _: (all(a[0] for a in p), any(a[1] for a in p))),
    "not": Operator((1, 1), "truth", "truth", lambda p, _: p[0][::-1]),
}


class Region:
    """An excluded region."""

    def __init__(self, data: Any, problem: Problem, where: str) -> None:
        self.point: list[int] | None = None
        self.radius: Fraction | None = None
        self.changes: list[int] = []
        self.box: list[Span] | None = None
        keys = set(data) if type(data) is dict else set()
        if "box" in keys:
            sides = items(fields(data, ("box",), where)["box"], f"{where}: box", len(problem.axes))
            self.box = [axis.side(side, f"{where}: box") for axis, side in zip(problem.axes, sides, strict=True)]
            return
        if "changes" in keys:
            last = len(problem.axes) - 1
            data = fields(data, ("changes",), where)
            self.changes = [integer(j, 0, last, f"{where}: changes") for j in items(data["changes"], where)]
            return
        near = "near" in keys
        data = fields(data, ("near", "radius") if near else ("point",), where)
        self.point = problem.point(data["near" if near else "point"], where)
        self.radius = rational(data["radius"], f"{where}: radius") if near else None

    def holds(self, problem: Problem, box: Sequence[Span]) -> bool:
        """Whether every point of a box that is not empty lies in the region."""
        if self.box is not None:
            return all(axis.meet(s, own) == s for axis, s, own in zip(problem.axes, box, self.box, strict=True))
        if self.point is None:
            return all(not problem.axes[j].has(box[j], problem.axes[j].start) for j in self.changes)
        if self.radius is None:
            return all(problem.axes[j].only(i) == box[j] for j, i in enumerate(self.point))
        total, largest = 0, 0
        for axis, span, index in zip(problem.axes, box, self.point, strict=True):
            apart = [axis.between(i, index) for i in axis.ends(span)]
            total += max(cost[0] for cost in apart)
            largest = max(largest, *(cost[1] for cost in apart))
        return total + largest < self.radius * problem.common


# ------------------------------------------------------------------------------------------------ the problem


class Compare(NamedTuple):
    """One comparison of the goal; `than` is times 2^1074."""

    plus: int | None
    minus: int | None
    than: int
    strict: bool

    def margin(self, scores: Sequence[Any]) -> Any:
        """Plus side minus minus side."""
        return (scores[self.plus] if self.plus is not None else 0) - (
            scores[self.minus] if self.minus is not None else 0
        )


class Column:
    """One column of the model: a feature's float value after a chain of operations, or a float for each level."""

    def __init__(self, data: Any, axes: Sequence[Axis], where: str) -> None:
        parts = items(data, where)
        need(len(parts) in (3, 4), f"{where}: expected 3 or 4 entries, found {len(parts)}")
        j, table, chain, *absent = parts
        self.feature = integer(j, 0, len(axes) - 1, where)
        self.axis = axes[self.feature]
        lacking = isinstance(self.axis, Grid) and self.axis.missing is not None
        need(len(absent) == lacking, f"{where}: a float for what is missing where a number may be, and only there")
        self.table: list[int] | None = None
        self.chain: list[tuple[str, int]] = []
        self.given = "float32" if chain == "float32" else "float64"
        # The column is factor x + shift, but for rounding; so it is after each operation of the chain.
        self.affine = [(Fraction(1), Fraction(0))]
        if isinstance(self.axis, Levels):
            self.table = [floating(x, where) for x in items(table, where, self.axis.count)]
            items(chain, where, 0)
            return
        need(table is None, f"{where}: a grid has no table of levels")
        on_steps = self.given == "float64" or (isinstance(self.axis, Grid) and self.axis.grid == "step")
        need(on_steps, f"{where}: only a value of a grid of steps is rounded once to float32")
        steps = [] if self.given == "float32" else items(chain, where)
        need(len(steps) <= MAX_CHAIN, f"{where}: its operations are too many")
        for step in steps:
            name, operand = items(step, where, 2)
            name, x = text(name, ("add", "sub", "mul", "div"), where), floating(operand, where)
            need(x or name != "div", f"{where}: divides by zero")
            self.chain.append((name, x))
            factor, shift = self.affine[-1]
            if name in ("add", "sub"):
                shift += Fraction(x if name == "add" else -x, ONE)
            else:
                by = Fraction(x, ONE) if name == "mul" else Fraction(ONE, x)
                factor, shift = factor * by, shift * by
            sizes = (factor.numerator, factor.denominator, shift.numerator, shift.denominator)
            need(max(map(int.bit_length, sizes)) < MAX_BITS, f"{where}: its operations are too many")
            self.affine.append((factor, shift))
        self.falling = sum(x < 0 for name, x in self.chain if name in ("mul", "div")) % 2 == 1
        low, high = self.axis.full[0], self.axis.full[1] - self.axis.may_lack
        ends = [self.at(index) for index in (low, high)]  # monotone: what does not overflow at the ends never does
        if lacking:
            self.absent = floating(absent[0], where)
            above = self.absent <= ends[1] if self.falling else self.absent >= ends[1]
            need(above or not self.axis.may_lack, f"{where}: what is missing must lie beyond the largest value")

    def at(self, index: int) -> int:
        """What the model is given for an index of the feature."""
        if self.table is not None:
            return self.table[index]
        assert isinstance(self.axis, Grid)
        if index == self.axis.missing:
            return self.absent
        x = self.axis.float_at(index, self.given)
        need(abs(x) < INFINITE, "statement: columns: a value overflows")
        for name, operand in self.chain:
            if name in ("add", "sub"):
                x = to_dtype(x + operand if name == "add" else x - operand, "float64")
            elif name == "mul":
                x = rounded(x * operand, ONE * ONE, "float64")
            else:
                x = rounded(x if operand > 0 else -x, abs(operand), "float64")
            need(abs(x) < INFINITE, "statement: columns: a value overflows")
        return x


class State:
    """What is known at a node of the proof. `leaves`: per tree, those that are reached; None if not worked out."""

    __slots__ = ("axis", "before", "box", "empty", "held", "kept", "leaves", "parent", "phases", "units")

    def __init__(self, box: list[Span], parent: State | None = None) -> None:
        self.box = box
        self.parent = parent
        self.empty: bool = parent.empty if parent else False
        self.axis = -1
        self.before: Span = None
        self.leaves: list[list[Record]] | None = None
        self.phases: dict[tuple[int, int], bool] = parent.phases if parent else {}
        self.units: list[list[tuple[int, int]]] = parent.units if parent else []
        # How many entries this state and those above it keep, of boxes and units, and of leaves.
        self.held: int = parent.held if parent else 0
        self.kept = 0
        self.hold(len(box))

    def hold(self, entries: int) -> None:
        self.held += entries
        need(self.held <= MAX_HELD, "the proof keeps too many boxes open")


class Problem:
    """A validated statement."""

    def __init__(self, data: Any) -> None:
        names = ("features", "columns", "model", "goal", "distance", "rules", "avoid", "most_changes", "claim")
        data = fields(data, names, "statement")
        self.axes: list[Axis] = []
        for j, entry in enumerate(items(data["features"], "statement: features")):
            need(j < MAX_FEATURES, "statement: too many features")
            where = f"statement: feature {j}"
            need(type(entry) is dict, f"{where}: expected an object")
            kind = text(entry.get("kind"), ("grid", "levels"), f"{where}: kind")
            self.axes.append(Grid(entry, where) if kind == "grid" else Levels(entry, where))
        columns = items(data["columns"], "statement: columns")
        need(len(columns) <= MAX_COLUMNS, "statement: too many columns")
        self.columns = [Column(entry, self.axes, f"statement: column {c}") for c, entry in enumerate(columns)]
        self._measure(data["distance"], data["claim"])
        model = data["model"]
        shared = type(model) is dict and "sha256" in model
        need(not shared, "statement: model: it is in a file of its own, which only `load` reads")
        kind = text(model.get("kind") if type(model) is dict else None, MODELS, "statement: model: kind")
        self.model: Ensemble | Network = MODELS[kind](model, self)
        self.goal: list[list[Compare]] = [
            [self._compare(compare, f"statement: goal {k}") for compare in items(part, f"statement: goal {k}")]
            for k, part in enumerate(items(data["goal"], "statement: goal"))
        ]
        self.rules = [Rule(r, self.axes, f"statement: rule {k}") for k, r in enumerate(items(data["rules"], "rules"))]
        self.avoid = [Region(r, self, f"statement: avoid {k}") for k, r in enumerate(items(data["avoid"], "avoid"))]
        most = data["most_changes"]
        self.most = len(self.axes) if most is None else integer(most, 0, 2**31, "statement: most_changes")
        self.root = State([axis.full for axis in self.axes])

    def _measure(self, distance: Any, claim: Any) -> None:
        """Bring every distance to one denominator, `common`; the claim becomes `limit`, None for `anywhere`."""
        distance = fields(distance, ("alpha", "beta", "gamma"), "statement: distance")
        mix = [rational(distance[name], f"statement: distance: {name}", 0) for name in ("alpha", "beta", "gamma")]
        need(type(claim) is dict and len(claim) == 1, "statement: claim: expected one field")
        self.claim: Fraction | None = None
        if "anywhere" in claim:
            need(truth(claim["anywhere"], "statement: claim"), "statement: claim: anywhere is true or absent")
        else:
            claim = fields(claim, ("closer_than",), "statement: claim")
            self.claim = rational(claim["closer_than"], "statement: claim", 0)
        self.common = self.claim.denominator if self.claim is not None else 1
        measures = [axis.measure(*mix) for axis in self.axes]
        for measure in measures:
            for number in measure:
                self.common = lcm(self.common, number.denominator)
                need(self.common.bit_length() < MAX_BITS, "statement: the distance needs numbers that are too long")
        for axis, measure in zip(self.axes, measures, strict=True):
            costs = (int(number * self.common) for number in measure)
            axis.jump, axis.slope, axis.steep, axis.lost, axis.lost_top = costs
        self.limit = None if self.claim is None else int(self.claim * self.common)

    def _compare(self, data: Any, where: str) -> Compare:
        plus, minus, than, strict = items(data, where, 4)
        for side in (plus, minus):
            if side is not None:
                integer(side, 0, self.model.outputs - 1, where)
        compare = Compare(plus, minus, floating(than, where), truth(strict, where))
        need(plus is not None or minus is not None, f"{where}: no score is compared")
        need(plus is None or minus is None or not compare.than, f"{where}: two scores are compared without a number")
        return compare

    def point(self, data: Any, where: str) -> list[int]:
        """A point: one index an axis, not always an allowed one."""
        found = []
        for axis, index in zip(self.axes, items(data, where, len(self.axes)), strict=True):
            limit = axis.count - 1 if isinstance(axis, Levels) else 2**1200
            found.append(integer(index, 0 if isinstance(axis, Levels) else -limit, limit, where))
            if isinstance(axis, Grid) and axis.grid != "step":
                integer(abs(index), 0, rank_floor(BEYOND[axis.grid] - 1, axis.grid), where)
        return found

    def least(self, box: Sequence[Span]) -> int:
        """The least distance of a box that is not empty."""
        costs = [axis.cost(span) for axis, span in zip(self.axes, box, strict=True)]
        return sum(cost[0] for cost in costs) + max((cost[1] for cost in costs), default=0)

    def row(self, point: Sequence[int]) -> list[int]:
        """The floats that the model is given at a point."""
        return [column.at(point[column.feature]) for column in self.columns]


# ------------------------------------------------------------------------------------------------ ensembles

Record: TypeAlias = tuple[int, int, dict[int, Span], tuple[int, ...], tuple[int, ...]]
Test: TypeAlias = int | frozenset[int]  # a threshold, or the categories that go left; times 2^1074
Tree: TypeAlias = tuple[list[int], list[Test], list[int], list[int], list[Any]]
# A leaf that can be reached: sum part and maximum of its distance, where it is narrow, margins, values.


class Ensemble:
    """Trees as flat lists, and the rounding slack of their sums."""

    def __init__(self, data: Any, problem: Problem) -> None:
        where = "statement: model"
        names = ("kind", "rule", "cast", "test", "dtype", "ordered", "error", "divide", "start", "trees")
        data = fields(data, names, where)
        self.problem = problem
        self.rule = text(data["rule"], SQUASHED, f"{where}: rule")
        self.cast = text(data["cast"], DIGITS, f"{where}: cast")
        self.strict = text(data["test"], ("<=", "<"), f"{where}: test") == "<"
        self.dtype = text(data["dtype"], DIGITS, f"{where}: dtype")
        self.ordered = truth(data["ordered"], f"{where}: ordered")
        self.error = floating(data["error"], f"{where}: error")
        need(self.error >= 0, f"{where}: an error is not negative")
        self.divide = integer(data["divide"], 1, 2**31, f"{where}: divide")
        self.values: dict[Any, int] = {}
        self.start = [self._stored(x, f"{where}: start") for x in items(data["start"], f"{where}: start")]
        self.outputs = len(self.start)
        self.trees = []
        room = MAX_NODES
        for t, tree in enumerate(items(data["trees"], f"{where}: trees")):
            self.trees.append(self._tree(tree, f"{where}: tree {t}"))
            room -= len(self.trees[-1][0])
            need(room >= 0, f"{where}: too many nodes")
        self.cuts: dict[tuple[int, Test], tuple[Span, Span]] = {}
        self.compares: dict[Compare, int] = {}

    def _stored(self, data: Any, where: str) -> int:
        """A float as the library adds it: rounded to its dtype."""
        number = self.values.get(data) if type(data) is str else None
        if number is None:
            number = self.values[data] = to_dtype(floating(data, where), self.dtype)
            need(abs(number) < INFINITE, f"{where}: a value overflows")
        return number

    def _tree(self, data: Any, where: str) -> Tree:
        data = fields(data, ("column", "threshold", "left", "right", "value"), where)
        column = items(data["column"], where)
        count, last = len(column), len(self.problem.columns) - 1
        need(count, f"{where}: has no node")
        threshold, left, right, value = (items(data[k], where, count) for k in ("threshold", "left", "right", "value"))
        parents = bytearray(count)
        for n in range(count):
            c = column[n]
            if type(c) is int and c == -1:
                need(threshold[n] == left[n] == right[n] == 0, f"{where}: node {n}: a leaf tests nothing")
                value[n] = tuple([self._stored(x, where) for x in items(value[n], where, self.outputs)])
                continue
            need(type(c) is int and 0 <= c <= last, f"{where}: node {n}: no column {c!a}")
            need(value[n] is None, f"{where}: node {n}: only a leaf has values")
            if type(threshold[n]) is list:
                need(self.problem.columns[c].table is not None, f"{where}: node {n}: tests categories of a grid")
                threshold[n] = frozenset(ONE * integer(k, -MAX_LEVELS, MAX_LEVELS, where) for k in threshold[n])
            else:
                threshold[n] = floating(threshold[n], f"{where}: node {n}")
            for child in (left[n], right[n]):
                # A child after its parent, with no other: so every walk ends, and none is longer than the tree.
                need(type(child) is int and n < child < count, f"{where}: node {n}: its child must come after it")
                need(not parents[child], f"{where}: node {child} has two parents")
                parents[child] = 1
        need(parents.count(1) == count - 1, f"{where}: not every node is reached")
        return column, threshold, left, right, value

    def passing(self, c: int, threshold: Test) -> tuple[Span, Span]:
        """The indices of the column's feature that go left, and those that go right."""
        found = self.cuts.get((c, threshold))
        if found is None:
            column = self.problem.columns[c]
            if column.table is not None:
                mask = sum(1 << level for level, x in enumerate(column.table) if self._passes(x, threshold))
                found = (mask, ~mask)
            else:
                assert isinstance(threshold, int)
                low, high = column.axis.full
                cut = self._cut(column, threshold)
                found = ((low, cut), (cut + 1, high))
                found = found[::-1] if column.falling else found
            self.cuts[c, threshold] = found
        return found

    def _passes(self, number: int, threshold: Test) -> bool:
        seen = to_dtype(number, "float32") if self.cast == "float32" else number
        if isinstance(threshold, frozenset):
            return seen in threshold
        return seen < threshold if self.strict else seen <= threshold

    def _cut(self, column: Column, threshold: int) -> int:
        """The last index before the one where the test changes its answer; lower - 1 or upper if it never does."""
        axis = column.axis
        assert isinstance(axis, Grid)
        boundary = threshold
        if self.cast == "float32":  # Halfway to the next float32 is where the rounding of the input turns.
            rank = rank_floor(threshold, "float32")
            boundary = (rank_value(rank, "float32") + rank_value(rank + 1, "float32")) // 2
        guess = axis.index(boundary if axis.grid != "step" else (boundary * axis.unit) >> 1074)
        # Invariant: low is before the change (or below the axis), high is not (or above it). Rounding, the chain, the
        # cast and the comparison are monotone, so these two tests are all that matters, and the guess needs no trust.
        low, high = axis.full[0] - 1, axis.full[1] + 1
        while high - low > 1:
            probe = guess if low < guess < high else guess + 1 if low == guess else (low + high) // 2
            if self._passes(column.at(probe), threshold) != column.falling:
                low = probe
            else:
                high = probe
        return int(low)

    def leaf(self, tree: int, row: Sequence[int]) -> tuple[int, ...]:
        """The values of the leaf that a row of floats reaches."""
        column, threshold, left, right, value = self.trees[tree]
        n = 0
        while column[n] >= 0:
            n = left[n] if self._passes(row[column[n]], threshold[n]) else right[n]
        return tuple(value[n])

    def scores(self, leaves: Sequence[Sequence[int]]) -> list[int]:
        """The library's own float scores: added in order, each sum rounded, divided at the end."""
        scores = list(self.start)
        for values in leaves:
            scores = [to_dtype(s + v, self.dtype) for s, v in zip(scores, values, strict=True)]
        if self.divide > 1:
            scores = [rounded(s, self.divide * ONE, self.dtype) for s in scores]
        return scores

    def slack(self, compare: Compare) -> tuple[Fraction, Fraction]:
        """How far below zero the exact margin of a float comparison that holds may lie, and above, of one that fails.

        Both in units of the score times `divide`. See proofs/soundness.md, "Rounding of ensembles".
        """
        sides = [s for s in (compare.plus, compare.minus) if s is not None]
        size = sum(abs(self.start[s]) for s in sides)
        grain = gcd(*(self.start[s] for s in sides))
        for column, _, _, _, value in self.trees:
            leaves = [tuple(v) for c, v in zip(column, value, strict=True) if c < 0]
            size += max(sum(abs(v[s]) for s in sides) for v in leaves)
            grain = gcd(grain, *(v[s] for v in leaves for s in sides))
        grain &= -grain  # the largest power of two that divides every value
        terms = len(self.trees) + any(self.start[s] for s in sides)
        need(size * (1 + gamma(terms + 1, self.dtype)) < BEYOND[self.dtype] // 2, "statement: model: sums may overflow")
        exact = size <= grain << DIGITS[self.dtype]
        summing = Fraction(0) if exact else gamma(max(terms - 1, 0), self.dtype) * size
        loose = tight = Fraction(0)
        halved = not self.divide & (self.divide - 1) and Fraction(grain, self.divide) >= SMALLEST[self.dtype] * ONE
        whole = exact and halved
        if self.divide > 1 and not whole:
            # Division is monotone: it can only make two neighbouring sums equal.
            error = 2 * UNIT[self.dtype] * size * (1 + gamma(terms, self.dtype))
            error += 2 * self.divide * SMALLEST[self.dtype] * ONE
            if not (len(sides) == 2 and exact and grain > error):
                loose = Fraction(0) if len(sides) == 2 and compare.strict else error
                tight = Fraction(0) if len(sides) == 2 and not compare.strict else error
        squashed = SQUASHED[self.rule] * UNIT[self.dtype] * ONE * self.divide + self.error * len(sides)
        return (summing + loose + squashed) / ONE, (summing + tight + squashed) / ONE

    def prepare(self) -> None:
        """Work out which leaves of each tree are reached from the root, nearer than the claim, best first."""
        problem = self.problem
        for part in problem.goal:
            for compare in part:
                self.compares.setdefault(compare, len(self.compares))
        size = sum(len(tree[0]) for tree in self.trees)
        need(size * len(self.compares) <= MAX_HELD, "statement: goal: too many comparisons")
        self.needed: list[int] = []
        for compare in self.compares:
            slack, _ = self.slack(compare)
            least = compare.than * self.divide - slack * ONE - compare.margin(self.start)
            # The comparison cannot hold if the sum of margins is below this integer.
            tie = not slack and compare.strict
            self.needed.append(int(least) + 1 if tie else -(-least.numerator // least.denominator))
        most = sum(sum(max((axis.at(i) for i in axis.ends(axis.full)), key=sum)) for axis in problem.axes)
        self.limit = problem.limit if problem.limit is not None else most + 1
        self.spans = 0
        problem.root.leaves = [self._reached(tree) for tree in self.trees]
        problem.root.kept = sum(map(len, problem.root.leaves))

    def _reached(self, tree: Tree) -> list[Record]:
        column, threshold, left, right, value = tree
        axes, root, limit, found = self.problem.axes, self.problem.root.box, self.limit, []
        costs = [axis.cost(span) for axis, span in zip(axes, root, strict=True)]
        first = (sum(cost[0] for cost in costs), max((cost[1] for cost in costs), default=0))
        todo: list[tuple[int, int, int, dict[int, Span]]] = [(0, *first, {})]
        while todo:
            n, total, largest, spans = todo.pop()
            if total + largest >= limit:
                continue
            c = column[n]
            if c < 0:
                margins = tuple([compare.margin(value[n]) for compare in self.compares])
                found.append((total, largest, spans, margins, value[n]))
                continue
            j = self.problem.columns[c].feature
            axis = axes[j]
            span: Span = spans.get(j, root[j])
            before = axis.cost(span)
            for child, side in zip((left[n], right[n]), self.passing(c, threshold[n]), strict=True):
                half = axis.meet(span, side)
                if half == span:
                    todo.append((child, total, largest, spans))
                elif not axis.empty(half):
                    cost = axis.cost(half)
                    inside = {**spans, j: half}
                    self.spans += len(inside)
                    need(self.spans <= MAX_SPANS, "statement: model: its trees are too deep")
                    todo.append((child, total - before[0] + cost[0], max(largest, cost[1]), inside))
        if self.compares:
            found.sort(key=lambda record: record[3][0], reverse=True)
        return found

    def reached(self, state: State) -> list[list[Record]]:
        """Per tree, the leaves that are reached in a box, nearer than the claim."""
        chain = []
        at: State | None = state
        while at is not None and at.leaves is None:
            chain.append(at)
            at = at.parent
        for step in reversed(chain):
            assert at is not None
            assert at.leaves is not None
            step.leaves = [list(self._still(records, step)) for records in at.leaves]
            step.kept = at.kept + sum(map(len, step.leaves))
            need(step.kept <= MAX_HELD, "the proof keeps too many leaves")
            at = step
        assert state.leaves is not None
        return state.leaves

    def _still(self, records: Sequence[Record], state: State) -> Iterator[Record]:
        """Those of the parent's leaves that are reached in its child, in the same order."""
        j, before, after = state.axis, state.before, state.box[state.axis]
        axis, limit = self.problem.axes[j], self.limit
        old_cost, new_cost = axis.cost(before), axis.cost(after)
        more, floor = new_cost[0] - old_cost[0], new_cost[1]
        for record in records:
            total, largest, spans, margins, values = record
            own = spans.get(j)
            if own is None:
                if not more and floor <= largest:
                    yield record
                    continue
                total += more
                largest = max(largest, floor)
            else:
                new = axis.meet(own, after)
                if axis.empty(new):
                    continue
                old = axis.meet(own, before)
                if new == old:
                    yield record
                    continue
                cost = axis.cost(new)
                total += cost[0] - axis.cost(old)[0]
                largest = max(largest, cost[1])
            if total + largest < limit:
                yield (total, largest, spans, margins, values)

    def best(self, state: State, k: int) -> int | None:
        """The most that the trees can add up to in a box for comparison k; None if no point is near enough."""
        if k == 0 and state.leaves is None and state.parent is not None:
            # The lists are sorted by this margin: the first leaf that is still reached is the best.
            firsts = [next(self._still(records, state), None) for records in self.reached(state.parent)]
            return None if None in firsts else sum(record[3][0] for record in firsts if record is not None)
        lists = self.reached(state)
        return None if not all(lists) else sum(max(record[3][k] for record in records) for records in lists)

    def witness(self, point: Sequence[int]) -> None:
        """Refuse unless the float model certainly has the goal at a point."""
        row = self.problem.row(point)
        leaves = [self.leaf(t, row) for t in range(len(self.trees))]
        scores = self.scores(leaves)
        sums = [self.start[o] + sum(values[o] for values in leaves) for o in range(self.outputs)]
        squashed = SQUASHED[self.rule] * UNIT[self.dtype] * ONE

        def holds(compare: Compare) -> bool:
            if self.ordered and not squashed and not self.error:
                return held(compare.margin(scores) - compare.than, Fraction(0), compare)
            _, tight = self.slack(compare)
            return held(compare.margin(sums) - compare.than * self.divide, tight * ONE, compare)

        need(any(all(map(holds, part)) for part in self.problem.goal), "witness: the model does not say so there")


def held(margin: int | Fraction, slack: Fraction, compare: Compare) -> bool:
    """Whether a comparison holds for certain, given its exact margin."""
    return margin > slack or (not slack and not compare.strict and margin == 0)


# ------------------------------------------------------------------------------------------------ networks

BOUND = 100  # interval ends of ReLU inputs are integers times 2^-100, rounded outward
FINE = 160  # multipliers, and distances in the knapsack, are integers times 2^-160, rounded in the sound direction
SLOPE = 64  # slopes are integers times 2^-64
ERROR = 1200  # rounding errors are integers times 2^-1200, rounded up
WIDE = 1 << 6000

Unit: TypeAlias = tuple[int, int]  # layer and place of a hidden ReLU


class Layer:
    """weights[input][output] and bias, integers times 2^-shift."""

    def __init__(self, data: Any, inputs: int, where: str) -> None:
        data = fields(data, ("weights", "bias", "activation"), where)
        bias = [floating(x, where) for x in items(data["bias"], where)]
        need(bias, f"{where}: has no output")
        rows = [
            [floating(x, where) for x in items(row, where, len(bias))] for row in items(data["weights"], where, inputs)
        ]
        self.relu = text(data["activation"], ("relu", "identity"), where) == "relu"
        common = gcd(*bias, *(w for row in rows for w in row)) or ONE
        drop = min((common & -common).bit_length() - 1, 1074)
        self.shift = 1074 - drop
        self.bias = [b >> drop for b in bias]
        self.rows = [[w >> drop for w in row] for row in rows]

    def backward(self, coefficients: Sequence[int], constant: int) -> tuple[list[int], int]:
        """From coefficients of the outputs to those of the inputs; the numbers have 2^-shift more than before."""
        constant = (constant << self.shift) + sum(v * b for v, b in zip(coefficients, self.bias, strict=True))
        return [sum(map(int.__mul__, row, coefficients)) for row in self.rows], constant


class Network:
    """Layers, the rounding margin of their scores, and bounds by going backwards through them."""

    def __init__(self, data: Any, problem: Problem) -> None:
        where = "statement: model"
        data = fields(data, ("kind", "rule", "dtype", "layers"), where)
        self.problem = problem
        self.rule = text(data["rule"], SQUASHED, f"{where}: rule")
        self.dtype = text(data["dtype"], DIGITS, f"{where}: dtype")
        self.layers: list[Layer] = []
        for axis in problem.axes:
            known = isinstance(axis, Levels) or axis.missing is None
            need(known, f"{where}: a network takes no number that may be missing")
        wide = all(column.given == "float64" for column in problem.columns)
        need(wide, f"{where}: a network takes no number that is rounded once to float32")
        width = len(problem.columns)
        layers = items(data["layers"], f"{where}: layers")
        need(len(layers) <= MAX_LAYERS, f"{where}: too many layers")
        for k, layer in enumerate(layers):
            self.layers.append(Layer(layer, width, f"{where}: layer {k}"))
            width = len(self.layers[-1].bias)
        need(self.layers, f"{where}: has no layer")
        need(not self.layers[-1].relu, f"{where}: the last layer is the identity")
        self.outputs = width
        common = gcd(*(x for column in problem.columns for x in column.table or ())) or ONE
        drop = min((common & -common).bit_length() - 1, 1074)
        self.grain = 1074 - drop
        self.tables = [[x >> drop for x in column.table or ()] for column in problem.columns]
        # Coefficients of a grid's value are integers over this denominator, because a chain may divide.
        self.below = [1] * len(problem.axes)
        for column in problem.columns:
            self.below[column.feature] = lcm(self.below[column.feature], column.affine[-1][0].denominator)
        self.factors = [int(column.affine[-1][0] * self.below[column.feature]) for column in problem.columns]
        self.parts: dict[tuple[int, int], int] = {}

    # -------------------------------------------------------------------- rounding

    def errors(self, magnitude: Sequence[Fraction], moved: Sequence[Fraction]) -> list[int]:
        """For every score a bound on |float - exact|, times 2^1200; see proofs/soundness.md, "Rounding of networks"."""
        size = [up(bound, ERROR) for bound in magnitude]
        error = [up(bound, ERROR) for bound in moved]
        for layer in self.layers:
            count = len(layer.rows)
            relative = up(gamma(count + 1, self.dtype), ERROR)
            smallest = up((2 * count + 2) * SMALLEST[self.dtype], ERROR)
            sizes, errors = [], []
            for o, bias in enumerate(layer.bias):
                weights = [abs(row[o]) for row in layer.rows]
                shifted = abs(bias) << ERROR
                old = ceil_shift(sum(w * e for w, e in zip(weights, error, strict=True)), layer.shift)
                new = sum(w * (s + e) for w, s, e in zip(weights, size, error, strict=True)) + shifted
                new = ceil_shift(relative * ceil_shift(new, layer.shift), ERROR)
                errors.append(old + new + smallest)
                sizes.append(ceil_shift(sum(w * s for w, s in zip(weights, size, strict=True)) + shifted, layer.shift))
                need(sizes[o] + errors[o] < BEYOND[self.dtype] << (ERROR - 1076), "statement: model: may overflow")
            size, error = sizes, errors
        return error

    def slack(self, compare: Compare, errors: Sequence[int]) -> int:
        """How far the exact margin of a comparison may be from the float one, times 2^1200."""
        total = sum(errors[side] for side in (compare.plus, compare.minus) if side is not None)
        return total + up(SQUASHED[self.rule] * UNIT[self.dtype], ERROR)

    def _domain(self) -> tuple[list[Fraction], list[Fraction]]:
        """For every column a bound on its values, and on how far the float that the model is given is from them."""
        sizes, moved = [], []
        for column in self.problem.columns:
            axis, error = column.axis, Fraction(0)
            if column.table is not None:
                held = [column.table[level] for level in levels(axis.full)]
                size = Fraction(max(map(abs, held)), ONE)
                same = all(to_dtype(x, self.dtype) == x for x in held)
            else:
                assert isinstance(axis, Grid)
                size = Fraction(max(abs(axis.number(i)) for i in axis.full), axis.unit)
                whole = axis.unit == 1 and size <= 2**53
                if axis.grid == "step" and not whole:
                    error = size * UNIT["float64"] + Fraction(1, ONE)
                same = axis.grid == "float32" or (whole and size <= 2**24)
                for (name, operand), (factor, shift) in zip(column.chain, column.affine[1:], strict=True):
                    if name in ("mul", "div"):
                        error *= abs(Fraction(operand, ONE) if name == "mul" else Fraction(ONE, operand))
                    # Each operation rounds once, relative to a result that is off by what came before.
                    error += (abs(factor) * size + abs(shift) + error) * UNIT["float64"] + Fraction(1, ONE)
                    same = False
                factor, shift = column.affine[-1]
                size = abs(factor) * size + abs(shift)
            if self.dtype == "float32" and not same:
                error += (size + error) * UNIT["float32"] + Fraction(1, 2**149)
            sizes.append(size)
            moved.append(error)
        return sizes, moved

    def witness(self, point: Sequence[int]) -> None:
        """Refuse unless the float model has the goal at a point, whatever its order of summation."""
        given = [Fraction(x, ONE) for x in self.problem.row(point)]
        values = given
        for layer in self.layers:
            values = [
                (sum((row[o] * v for row, v in zip(layer.rows, values, strict=True)), Fraction(bias)))
                / (1 << layer.shift)
                for o, bias in enumerate(layer.bias)
            ]
            values = [max(v, Fraction(0)) for v in values] if layer.relu else values
        cast = 0 if self.dtype == "float64" else 1
        moved = [Fraction(cast) * (abs(x) * UNIT[self.dtype] + Fraction(1, 2**149)) for x in given]
        errors = self.errors([abs(x) for x in given], moved)

        def holds(compare: Compare) -> bool:
            margin = compare.margin(values) - Fraction(compare.than, ONE)
            return held(margin, Fraction(self.slack(compare, errors), 1 << ERROR), compare)

        need(any(all(map(holds, part)) for part in self.problem.goal), "witness: the model may not say so there")

    # -------------------------------------------------------------------- bounds

    def prepare(self) -> None:
        """Rounding errors over all allowed points, and bounds of the hidden ReLUs at the root."""
        self.error = self.errors(*self._domain())
        root = self.problem.root
        root.units = [[(-WIDE, WIDE)] * len(layer.bias) if layer.relu else [] for layer in self.layers[:-1]]
        self.derive(root)

    def cut(self, box: Sequence[Span]) -> list[Span] | None:
        """The box without what is too far away, given the least that the other axes add; None if nothing stays."""
        axes, limit = self.problem.axes, self.problem.limit
        if limit is None:
            return list(box)
        least = [axis.cost(span)[0] for axis, span in zip(axes, box, strict=True)]
        room = limit - sum(least)
        kept = [axis.within(span, room + own) for axis, span, own in zip(axes, box, least, strict=True)]
        return None if any(axis.empty(span) for axis, span in zip(axes, kept, strict=True)) else kept

    def derive(self, state: State) -> None:
        """Bounds of the hidden ReLUs in a state's box and phases; keeps the intersection with what is known."""
        box = self.cut(state.box)
        if box is None:
            state.empty = True
            return
        state.units = [list(units) for units in state.units]
        for k, units in enumerate(state.units):
            layer = self.layers[k]
            for n, (low, high) in enumerate(units):
                if low >= 0 or high <= 0:
                    continue  # decided already
                weights = [row[n] << FINE for row in layer.rows]
                bias = layer.bias[n] << FINE
                low = max(low, self._least(state, box, k, weights, bias))
                high = min(high, -self._least(state, box, k, [-w for w in weights], -bias))
                units[n] = (low, high)
                if low > high:
                    state.empty = True

    def _least(self, state: State, box: Sequence[Span], k: int, coefficients: list[int], constant: int) -> int:
        """A lower bound, times 2^100, of a linear function of the inputs of layer k, nearer than the claim."""
        shift = self.layers[k].shift + FINE
        coefficients, constant, shift = self.backward(state, k, coefficients, constant, shift, None, {})
        gathered, constant, shift = self._gather(coefficients, constant, shift)
        return floor_shift(self._knapsack(gathered, box, constant), shift - BOUND)

    def backward(
        self,
        state: State,
        k: int,
        coefficients: list[int],
        constant: int,
        shift: int,
        slopes: dict[Unit, int] | None,
        pushes: dict[Unit, Fraction],
    ) -> tuple[list[int], int, int]:
        """From coefficients of the inputs of layer k to coefficients of the columns; the function only gets smaller.

        All numbers are integers times 2^-shift. slopes: see `relaxed`; None chooses 1 where u >= -l, else 0.
        pushes: multipliers of the phases.
        """
        for below in range(k - 1, -1, -1):
            layer = self.layers[below]
            if layer.relu:
                constant <<= 2 * SLOPE
                shift += 2 * SLOPE
                relaxed_coefficients = []
                for n, v in enumerate(coefficients):
                    low, high = state.units[below][n]
                    if slopes is None:
                        slope = None if low >= 0 or high < -low else 1 << SLOPE
                    else:
                        slope = slopes.get((below, n))
                    if slopes is None and v < 0:
                        slope = None
                    v, offset = relaxed(v, low, high, slope)
                    constant += offset
                    push = pushes.get((below, n))
                    if push is not None:
                        amount = floor_fraction(push, shift)
                        v += -amount if state.phases[below, n] else amount
                    relaxed_coefficients.append(v)
                coefficients = relaxed_coefficients
            coefficients, constant = layer.backward(coefficients, constant)
            shift += layer.shift
        return coefficients, constant, shift

    def _gather(self, coefficients: Sequence[int], constant: int, shift: int) -> tuple[list[Any], int, int]:
        """Coefficients by feature: one number for a grid, one for each level."""
        gathered: list[Any] = [[0] * axis.count if isinstance(axis, Levels) else 0 for axis in self.problem.axes]
        constant <<= self.grain
        for c, (column, v) in enumerate(zip(self.problem.columns, coefficients, strict=True)):
            j = column.feature
            if column.table is None:
                gathered[j] += (v << self.grain) * self.factors[c]
                shift_by = column.affine[-1][1]
                constant += (v << self.grain) * shift_by.numerator // shift_by.denominator
            elif v:
                gathered[j] = [old + v * x for old, x in zip(gathered[j], self.tables[c], strict=True)]
        return gathered, constant, shift + self.grain

    def _term(self, j: int, gathered: Any, index: int) -> int:
        axis = self.problem.axes[j]
        if isinstance(axis, Levels):
            return int(gathered[index])
        number = gathered * axis.number(index)
        return int(number >> 1074 if axis.unit * self.below[j] == ONE else number // (axis.unit * self.below[j]))

    def _part(self, j: int, index: int) -> int:
        """What an index adds to the sum of the distance, times 2^160, rounded down."""
        part = self.parts.get((j, index))
        if part is None:
            part = self.parts[j, index] = (self.problem.axes[j].at(index)[0] << FINE) // self.problem.common
        return part

    def _knapsack(self, gathered: Sequence[Any], box: Sequence[Span], constant: int) -> int:
        """The least of a linear function over a box and, for closer_than q, the points whose sum part is below q.

        For every θ >= 0 the sum over the axes of min (k x + θ p(x)), minus θ q, is a lower bound: choose the best θ.
        """
        limited = self.problem.claim is not None
        choices: list[list[tuple[int, int]]] = []
        for j, (axis, span) in enumerate(zip(self.problem.axes, box, strict=True)):
            k = gathered[j]
            ends = axis.ends(span)
            indices = ends if isinstance(axis, Levels) else [ends[0] if k > 0 else ends[1], axis.nearest(span)]
            choices.append([(self._term(j, k, i) << FINE, self._part(j, i) if limited else 0) for i in indices])
        if not limited:
            return (sum(min(choice)[0] for choice in choices) >> FINE) + constant
        assert self.problem.claim is not None
        budget = up(self.problem.claim, FINE)
        turns = {0}
        for choice in choices:
            for value, part in choice:
                turns.update((value - v) // (p - part) + 1 for v, p in choice if p > part and v < value)
        order, low, high = sorted(turns), 0, len(turns) - 1
        while low < high:  # the bound is concave in θ: find the first turn where the points chosen fit the budget
            middle = (low + high) // 2
            theta = order[middle]
            used = sum(min((v + theta * p, p) for v, p in choice)[1] for choice in choices)
            low, high = (low, middle) if used <= budget else (middle + 1, high)
        theta = order[low]
        total = sum(min(v + theta * p for v, p in choice) for choice in choices) - theta * budget
        return (total >> FINE) + constant

    def dual(self, state: State, k: int, data: Any, where: str) -> None:
        """Refuse unless the multipliers show that no point of the state is nearer than the claim and has part k."""
        found = self.bound(state, k, data, where)
        if found is None:
            return
        bound, shift = found
        if self.problem.claim is None:
            need(bound > 0, f"{where}: the bound is not positive")
        else:
            need(bound >= up(self.problem.claim, shift), f"{where}: the bound stays below the claim")

    def bound(self, state: State, k: int, data: Any, where: str) -> tuple[int, int] | None:
        """(n, shift): n * 2^-shift is at most the distance of every point that has part k; None: no point is near."""
        data = fields(data, ("goal", "slopes", "phases", "largest"), where)
        problem, part = self.problem, self.problem.goal[k]
        weights = [floor_fraction(rational(q, where, 0), FINE) for q in items(data["goal"], where, len(part))]
        slopes = {unit: floor_fraction(q, SLOPE) for unit, q in self._by_unit(data["slopes"], where).items()}
        pushes = self._by_unit(data["phases"], where)
        need(all(unit in state.phases for unit in pushes), f"{where}: multiplies a phase that was not split on")
        shares = [0] * len(problem.axes)
        for entry in items(data["largest"], where):
            j, q = items(entry, where, 2)
            shares[integer(j, 0, len(shares) - 1, where)] += floor_fraction(rational(q, where, 0), FINE)
        need(sum(shares) <= 1 << FINE, f"{where}: the shares of the largest change exceed 1")
        box = self.cut(state.box)
        if box is None:
            return None
        coefficients, constant = [0] * self.outputs, 0
        for weight, compare in zip(weights, part, strict=True):
            if compare.plus is not None:
                coefficients[compare.plus] -= weight
            if compare.minus is not None:
                coefficients[compare.minus] += weight
            constant += ((weight * compare.than) >> 1074) - ceil_shift(weight * self.slack(compare, self.error), ERROR)
        last = self.layers[-1]
        coefficients, constant = last.backward(coefficients, constant)
        coefficients, constant, shift = self.backward(
            state, len(self.layers) - 1, coefficients, constant, FINE + last.shift, slopes, pushes
        )
        gathered, bound, shift = self._gather(coefficients, constant, shift)
        for j, (axis, span) in enumerate(zip(problem.axes, box, strict=True)):
            indices = [*axis.ends(span), axis.nearest(span)]
            bound += min(self._worth(j, gathered[j], i, shares[j], shift) for i in indices)
        return bound, shift

    def _worth(self, j: int, gathered: Any, index: int, share: int, shift: int) -> int:
        """Part of the distance plus coefficient times value, at one index, rounded down."""
        term = self._term(j, gathered, index)
        if self.problem.claim is None:
            return term
        total, largest = self.problem.axes[j].at(index)
        return term + (((total << FINE) + share * largest) << shift) // (self.problem.common << FINE)

    def _by_unit(self, data: Any, where: str) -> dict[Unit, Fraction]:
        found: dict[Unit, Fraction] = {}
        for entry in items(data, where):
            layer, unit, q = items(entry, where, 3)
            found[self.unit(layer, unit, where)] = rational(q, where, 0)
        return found

    def unit(self, layer: Any, unit: Any, where: str) -> Unit:
        """A hidden ReLU that exists."""
        integer(layer, 0, len(self.layers) - 2, where)
        need(self.layers[layer].relu, f"{where}: layer {layer} has no ReLU")
        return layer, integer(unit, 0, len(self.layers[layer].bias) - 1, where)


def relaxed(v: int, low: int, high: int, slope: int | None) -> tuple[int, int]:
    """(s, c) with v max(z, 0) >= s z + c for z in [low, high]; s and c have 2^-128 more than v.

    With t the slope: a >= t z for t <= 1, a <= chord(z), and a >= t z - (t - 1) chord(z) for t > 1.
    """
    if high <= 0:
        return 0, 0
    if low >= 0 and (v < 0 or slope is None):
        return v << 2 * SLOPE, 0
    t = slope or 0
    one = 1 << SLOPE
    if v >= 0 and t <= one:
        return v * t << SLOPE, 0
    # The part of the chord; it is rounded up, which keeps it above max(z, 0) on [low, high].
    part = v * (t - one) if v >= 0 else -v * (one + t)
    chord = one if low >= 0 else -((-high << SLOPE) // (high - low))
    offset = 0 if low >= 0 else floor_shift(part * chord * low, BOUND)
    return (abs(v) * t << SLOPE) - part * chord, offset


def up(number: Fraction, shift: int) -> int:
    """A rational number >= 0 as an integer times 2^-shift, rounded up."""
    return -((-number.numerator << shift) // number.denominator)


def floor_fraction(number: Fraction, shift: int) -> int:
    return (number.numerator << shift) // number.denominator


def ceil_shift(number: int, shift: int) -> int:
    return -(-number >> shift)


def floor_shift(number: int, shift: int) -> int:
    return number >> shift if shift >= 0 else number << -shift


MODELS: dict[str, Callable[[Any, Problem], Ensemble | Network]] = {"ensemble": Ensemble, "network": Network}


# ------------------------------------------------------------------------------------------------ the proof

# Each takes the problem, the state of the node and the node's fields; it raises Refused, or returns the states of the
# node's children: none for a leaf. A leaf is asked only about a state that may have points: without it needs no reason.


def split(problem: Problem, state: State, j: Any, at: Any) -> list[State]:
    j = integer(j, 0, len(problem.axes) - 1, "axis")
    axis, before = problem.axes[j], state.box[j]
    children = []
    for half in axis.halves(before, at, "at"):
        child = State(state.box.copy(), state)
        child.box[j], child.axis, child.before = half, j, before
        child.empty = state.empty or axis.empty(half)
        children.append(child)
    return children


def phase(problem: Problem, state: State, layer: Any, unit: Any) -> list[State]:
    k, n = as_network(problem).unit(layer, unit, "unit")
    children = []
    for on in (False, True):
        child = State(state.box, state)
        low, high = state.units[k][n]
        low, high = (max(low, 0), high) if on else (low, min(high, 0))
        child.hold(len(state.units[k]) + len(state.phases))
        child.units = state.units.copy()
        child.units[k] = [*state.units[k][:n], (low, high), *state.units[k][n + 1 :]]
        child.phases = {**state.phases, (k, n): on}
        # A unit is 0 in both phases of a second split on it: the multiplier of the last one is used.
        child.empty = state.empty or low > high
        children.append(child)
    return children


def bounds(problem: Problem, state: State) -> list[State]:
    child = State(state.box, state)
    child.hold(sum(map(len, state.units)))
    if not child.empty:
        as_network(problem).derive(child)
    return [child]


def empty(_: Problem, __: State) -> None:
    raise Refused("there are points in the box")


def distance(problem: Problem, state: State) -> None:
    need(problem.limit is not None, "the claim is not about distance")
    need(problem.least(state.box) >= (problem.limit or 0), "the box has points nearer than the claim")


def changes(problem: Problem, state: State) -> None:
    moved = sum(not axis.has(span, axis.start) for axis, span in zip(problem.axes, state.box, strict=True))
    need(moved > problem.most, f"only {moved} features must change, {problem.most} may")


def avoid(problem: Problem, state: State, k: Any) -> None:
    region = problem.avoid[integer(k, 0, len(problem.avoid) - 1, "region")]
    need(region.holds(problem, state.box), f"the box is not inside region {k}")


def rule(problem: Problem, state: State, k: Any) -> None:
    condition = problem.rules[integer(k, 0, len(problem.rules) - 1, "rule")]
    need(not condition.possible(problem.axes, state.box)[1], f"rule {k} can hold in the box")


def trees(problem: Problem, state: State) -> None:
    model = as_ensemble(problem)

    def misses(compare: Compare) -> bool:
        best = model.best(state, model.compares[compare])
        return best is None or best < model.needed[model.compares[compare]]

    for number, part in enumerate(problem.goal):
        need(any(map(misses, part)), f"part {number} of the goal can still be reached")


def cell(problem: Problem, state: State) -> None:
    model = as_ensemble(problem)
    need(model.ordered and not model.error, "the last bits of the model's scores are not known")
    reached = model.reached(state)
    for t, records in enumerate(reached):
        need(len(records) < 2, f"tree {t} reaches {len(records)} leaves in the box")
    if not all(reached):
        return
    scores = model.scores([records[0][4] for records in reached])
    squashed = SQUASHED[model.rule] * UNIT[model.dtype] * ONE

    def possible(compare: Compare) -> bool:
        margin = int(compare.margin(scores)) - compare.than
        return margin > 0 if compare.strict and not squashed else margin >= -squashed

    need(not any(all(map(possible, part)) for part in problem.goal), "the model has the goal in this cell")


def dual(problem: Problem, state: State, *parts: Any) -> None:
    model = as_network(problem)
    need(len(parts) == len(problem.goal), f"expected multipliers for {len(problem.goal)} parts of the goal")
    for k, part in enumerate(parts):
        model.dual(state, k, part, f"part {k}")


def as_ensemble(problem: Problem) -> Ensemble:
    need(isinstance(problem.model, Ensemble), "the model has no trees")
    assert isinstance(problem.model, Ensemble)
    return problem.model


def as_network(problem: Problem) -> Network:
    need(isinstance(problem.model, Network), "the model is no network")
    assert isinstance(problem.model, Network)
    return problem.model


INNER = ("split", "phase", "bounds")
# Name of a node -> its function, and how many fields follow the name (None: any number).
RULES: dict[str, tuple[Callable[..., list[State] | None], int | None]] = {
    "split": (split, 2),
    "phase": (phase, 2),
    "bounds": (bounds, 0),
    "empty": (empty, 0),
    "distance": (distance, 0),
    "changes": (changes, 0),
    "avoid": (avoid, 1),
    "rule": (rule, 1),
    "trees": (trees, 0),
    "cell": (cell, 0),
    "dual": (dual, None),
}


def check_witness(problem: Problem, data: Any) -> None:
    """Refuse unless the witness is allowed, at the stated distance, not nearer than the claim, and has the goal."""
    data = fields(data, ("point", "distance"), "witness")
    point = problem.point(data["point"], "witness: point")
    box = [axis.only(i) for axis, i in zip(problem.axes, point, strict=True)]
    for axis, index in zip(problem.axes, point, strict=True):
        need(axis.has(axis.full, index), f"witness: the value of {axis.name!a} is not allowed")
    for k, condition in enumerate(problem.rules):
        need(not condition.possible(problem.axes, box)[0], f"witness: it breaks rule {k}")
    for k, region in enumerate(problem.avoid):
        need(not region.holds(problem, box), f"witness: it lies in excluded region {k}")
    moved = sum(i != axis.start for axis, i in zip(problem.axes, point, strict=True))
    need(moved <= problem.most, f"witness: it changes {moved} features")
    least = problem.least(box)
    need(Fraction(least, problem.common) == rational(data["distance"], "witness: distance"), "witness: wrong distance")
    need(problem.limit is not None, "witness: the claim is that there is none")
    need(least >= (problem.limit or 0), "witness: it is nearer than the claim")
    problem.model.witness(point)


def check_proof(problem: Problem, data: Any, fired: dict[str, int]) -> None:
    """Refuse unless every leaf of the proof closes: no allowed point with the goal is nearer than the claim."""
    nodes = items(data, "proof")
    need(len(nodes) <= MAX_NODES, "proof: too many nodes")
    problem.model.prepare()
    todo = [problem.root]  # Invariant: every point against the claim lies in one of these states.
    for number, node in enumerate(nodes):
        where = f"node {number}"
        need(todo, f"{where}: the proof is complete before it")
        name, *rest = items(node, where) or [None]
        need(type(name) is str and name in RULES, f"{where}: no rule {str(name)[:20]!a}")
        function, count = RULES[name]
        need(count is None or len(rest) == count, f"{where}: {name} takes {count} fields, found {len(rest)}")
        state = todo.pop()
        try:
            children = function(problem, state, *rest) if name in INNER or not state.empty else None
        except Refused as error:
            raise Refused(f"{where}: {name}: {error}") from None
        todo += reversed(children or [])
        fired[name] = fired.get(name, 0) + 1
    need(not todo, f"node {len(nodes)}: the proof ends before every box is closed")


def check(data: Any) -> Verdict:
    """Accept or refuse a certificate, given as parsed JSON. Never raises."""
    fired: dict[str, int] = {}
    try:
        names = {"mace_certificate", "statement", "witness", "proof"}
        if type(data) is dict and "about" in data:  # words for people, which claim nothing
            names.add("about")
        data = fields(data, names, "the certificate")
        need(data["mace_certificate"] == 1 and type(data["mace_certificate"]) is int, "the certificate: unknown format")
        problem = Problem(data["statement"])
        if data["witness"] is not None:
            check_witness(problem, data["witness"])
        check_proof(problem, data["proof"], fired)
    except Refused as error:
        return Verdict(accepted=False, reason=str(error), fired=fired)
    except MemoryError:
        return Verdict(accepted=False, reason="its size: it needs more memory than there is", fired=fired)
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        # No input is known to lead here. If one does, it is not accepted.
        return Verdict(accepted=False, reason=f"an unforeseen place: {type(error).__name__}: {error}", fired=fired)
    finally:
        FLOATS.clear()
    return Verdict(accepted=True, reason="", claim=in_words(problem, data["witness"]), fired=fired)


def in_words(problem: Problem, witness: Any) -> str:
    """The claim, and what the witness adds to it."""
    count = len(problem.avoid)
    aside = f", {count} excluded region{'s' if count > 1 else ''} aside" if count else ""
    if problem.claim is None:
        return f"no allowed point has the goal{aside}"
    words = f"no allowed point with the goal is closer than {decimal(problem.claim)}{aside}"
    if witness is None:
        return words
    found = rational(witness["distance"], "witness: distance")
    return words + (
        ", and one is at this very distance" if found == problem.claim else f", and one is at {decimal(found)}"
    )


def decimal(number: Fraction) -> str:
    """A few digits for people; `~` where there are more."""
    digits = number.numerator * 10**12 // number.denominator
    shown = f"{digits // 10**12}.{digits % 10**12:012d}".rstrip("0").rstrip(".")
    return shown if Fraction(digits, 10**12) == number else f"~{shown}"


# ------------------------------------------------------------------------------------------------ the command line


def read_file(path: Path) -> bytes:
    """At most MAX_BYTES + 1 bytes of a regular file; raises Unusable for a pipe or a device, which has no end."""

    def regular(name: str, flags: int) -> int:
        handle = os.open(name, flags | getattr(os, "O_NONBLOCK", 0))
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise Unusable("this is no regular file")
        return handle

    with open(path, "rb", opener=regular) as file:
        return file.read(MAX_BYTES + 1)


def unpacked(raw: bytes) -> bytes:
    """The text in a file's bytes, gzip or not; raises Unusable."""
    if raw[:2] == b"\x1f\x8b":
        unpack = zlib.decompressobj(31)
        try:
            raw = unpack.decompress(raw, MAX_BYTES + 1)
        except zlib.error as error:
            raise Unusable(f"damaged gzip ({error})") from None
        if not unpack.eof and len(raw) <= MAX_BYTES:
            raise Unusable("the gzip file ends too early")
        if unpack.unused_data:
            raise Unusable("something follows the gzip data")
    if len(raw) > MAX_BYTES:
        raise Unusable(f"more than {MAX_BYTES} bytes of text")
    return raw


def parse(raw: bytes) -> Any:
    """The JSON value in a file's bytes, gzip or not; raises Unusable."""

    def no_float(word: str) -> Any:
        raise Unusable(f"the number {word[:20]} is no integer; others are written as text")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise Unusable("an object has the same field twice")
        return found

    try:
        raw = unpacked(raw)
        if raw.count(b",") + raw.count(b"[") + raw.count(b"{") > MAX_VALUES:
            raise Unusable(f"more than {MAX_VALUES} values")
        if LONG.search(raw):
            raise Unusable(f"a number has more than {MAX_DIGITS} digits")
        found = raw.decode("utf-8")
        return json.loads(found, parse_float=no_float, parse_constant=no_float, object_pairs_hook=once)
    except RecursionError:
        raise Unusable("nested too deeply") from None
    except MemoryError:
        raise Unusable("it needs more memory than there is") from None
    except ValueError as error:  # of json, of utf-8, and of an integer with thousands of digits
        raise Unusable(f"no JSON text ({error})") from None


def load(path: str | Path, models: dict[str, Any] | None = None) -> Any:
    """The certificate in a file, with its model in it; raises Unusable, or OSError for the file itself.

    models: keeps the last model that was read, by digest, for the next certificate.
    """
    data = parse(read_file(Path(path)))
    statement = data.get("statement") if type(data) is dict else None
    if type(statement) is dict and type(statement.get("model")) is dict and "sha256" in statement["model"]:
        statement["model"] = shared_model(Path(path).parent, statement["model"], {} if models is None else models)
    return data


def shared_model(folder: Path, reference: dict[str, Any], models: dict[str, Any]) -> Any:
    """The model that `{"sha256": digest}` speaks of, from its file in a folder; raises Unusable."""
    digest = reference["sha256"]
    # Only hexadecimal digits become part of the name: no certificate leads to a file elsewhere.
    if len(reference) != 1 or type(digest) is not str or not DIGEST.fullmatch(digest):
        raise Unusable("statement: model: expected sha256 alone, with 64 hexadecimal digits")
    if digest not in models:
        path = folder / (digest + MODEL)
        advice = "copy it from the folder that the certificate was written to"
        if not path.is_file():
            raise Unusable(f"the model of this certificate is not beside it, in {path.name}: {advice}")
        try:
            raw = unpacked(read_file(path))
            found = hashlib.sha256(raw).hexdigest()
            if found != digest:
                raise Unusable(f"it holds something else, with the SHA-256 {found}")
            models.clear()  # one at a time: they may be large
            models[digest] = parse(raw)
        except (OSError, Unusable) as error:
            raise Unusable(f"{path.name}: {error}: {advice}") from None
    return models[digest]


def check_file(path: Path, models: dict[str, Any]) -> tuple[int, str, Verdict | None]:
    """Exit status, words and verdict of one file."""
    try:
        if path.is_dir():
            raise Unusable("no certificate is in this folder")
        verdict = check(load(path, models))
    except (OSError, Unusable) as error:
        return 2, f"unusable: {error}", None
    return (0 if verdict.accepted else 10), str(verdict), verdict


def files_of(path: Path) -> list[Path]:
    """The certificates in a folder, by name; of anything else, or where there are none, itself."""
    inside = sorted(path.iterdir()) if path.is_dir() else []
    return [p for p in inside if p.name.endswith((".json", ".json.gz")) and not p.name.endswith(MODEL)] or [path]


def limit_memory() -> None:
    """Let no file take more than MAX_MEMORY, where the system can see to it: whatever else runs here goes on."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY if hard < 0 else min(MAX_MEMORY, hard), hard))


def main(arguments: Sequence[str]) -> int:
    """Check files, or all certificates of folders; print the verdict of each, and of one file alone a summary."""
    if not arguments or any(argument.startswith("-") for argument in arguments):
        print("usage: python -I -S check.py FILE-OR-FOLDER ...", file=sys.stderr)
        return 2
    limit_memory()
    models: dict[str, Any] = {}
    if len(arguments) == 1 and not Path(arguments[0]).is_dir():
        status, words, verdict = check_file(Path(arguments[0]), models)
        print(words)
        if verdict is not None and verdict.accepted:
            print("rules: " + ", ".join(f"{name} {count}" for name, count in verdict.fired.items()))
        return status
    statuses = []
    for path in [file for argument in arguments for file in files_of(Path(argument))]:
        status, words, _ = check_file(path, models)
        statuses.append(status)
        # A name with a line break must not look like a line of its own.
        print(f"{path if str(path).isprintable() else ascii(str(path))}: {words}", flush=True)
    counts = [
        f"{statuses.count(status)} {name}" for status, name in ((0, "accepted"), (10, "refused"), (2, "unusable"))
    ]
    print(", ".join(counts))
    return max(statuses)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
