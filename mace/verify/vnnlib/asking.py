"""One box of a property in VNN-LIB, as the search by splitting takes it.

In:  a network, what computes its outputs, a box of inputs and the cases that share it.
Out: `Asking`: the search in that box, and the exact inputs and outputs that obey a case, where some were found.
Promise: what is bounded is at most as strong as what the cases say, and a point is found only where the cases hold
exactly, as they are written, for the inputs and the runtime's outputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mace.base.deadline import Deadline
from mace.base.exact import above, below, exact, magnitude, nearest
from mace.solve.splitting.chain import Chain, Interval, chain_of
from mace.solve.splitting.climb import Wanted
from mace.solve.splitting.search import Settled, search
from mace.tables.table import Floats, Network
from mace.verify.vnnlib.beside import beside
from mace.verify.vnnlib.formula import Atom, Variable
from mace.verify.vnnlib.network import Runtime
from mace.verify.vnnlib.read import Case, Ends

TOGETHER = 2**18  # cases times inequalities that are asked about at once: arrays hold as much for each box
BEYOND_32, HALF_32 = 2**29 - 1, 2**28  # the bits of a double that a float32 has not; half of the last one that it has
FAR = 64  # binary digits of the largest coefficient: as far from 1 it is brought near to it


def by_box(cases: tuple[Case, ...]) -> Iterator[tuple[Ends, list[Case]]]:
    """The cases that share a box, up to `TOGETHER`: its bounds are found once for all of them."""
    found: dict[Ends, list[Case]] = {}
    for case in cases:
        found.setdefault(case.box, []).append(case)
    for box, sharing in found.items():
        some, rows = list[Case](), 0
        for case in sharing:
            if some and (len(some) + 1) * (rows + len(case.outputs) + len(case.relations)) > TOGETHER:
                yield box, some
                some, rows = [], 0
            some.append(case)
            rows += len(case.outputs) + len(case.relations)
        yield box, some


def _of_inputs(atom: Atom) -> frozenset[tuple[int, Fraction]]:
    """The part of an inequality that is over inputs."""
    return frozenset((one.number, factor) for one, factor in atom.coefficients.items() if one.letter == "X")


def _near_one(atom: Atom) -> Atom:
    """The same inequality, with coefficients that doubles hold: times a power of two, so that nothing rounds."""
    largest = max(map(abs, atom.coefficients.values()))
    power = magnitude(largest)
    if abs(power) <= FAR:
        return atom
    unit = Fraction(2) ** power
    return replace(
        atom, coefficients={one: factor / unit for one, factor in atom.coefficients.items()}, least=atom.least / unit
    )


class _Given(NamedTuple):
    """The ends of a box, shape (columns,). least, most: the doubles next to them, inside.

    low, high: the numbers of the network's precision that are nearest; nearest: the double nearest to the lower end.
    """

    least: Floats
    most: Floats
    low: Floats
    high: Floats
    nearest: Floats


class Asking:
    """The search in one box; `found` are inputs and outputs that obey a case.

    chain: of the table, which is asked about where no case relates inputs to anything.
    """

    def __init__(self, table: Network, chain: Chain, box: Ends, cases: list[Case], run: Runtime) -> None:
        self.table, self.dtype, self.box, self.cases, self.run = table, table.dtype, box, cases, run
        # Each form of inputs that some case names, with the output of the chain that gives it.
        self.forms: dict[frozenset[tuple[int, Fraction]], int] = {}
        # The inequalities of each case as they are bounded.
        self.bounded = [[_near_one(atom) for atom in (*case.outputs, *case.relations)] for case in cases]
        for atom in (atom for atoms in self.bounded for atom in atoms):
            if of_inputs := _of_inputs(atom):
                self.forms.setdefault(of_inputs, len(self.forms))
        self.chain, self.less = chain, tuple[Fraction, ...]()
        if self.forms:
            network, self.less = beside(table, *box, [dict(form) for form in self.forms])
            self.chain = chain_of(network)
        self.found: tuple[tuple[Fraction, ...], tuple[Fraction, ...]] | None = None

    def search(self, deadline: Deadline) -> Settled:
        """Look for a point of the box."""
        ends = Interval(
            np.array([below(end) for end in self.box.lower]), np.array([above(end) for end in self.box.upper])
        )
        return search(self.chain, ends, self._wanted(), self.confirm, deadline)

    def _wanted(self) -> Wanted:
        rows = [atom for atoms in self.bounded for atom in atoms]
        forms, levels = np.zeros((len(rows), len(self.chain.stages[-1].bias))), [atom.least for atom in rows]
        for row, atom in enumerate(rows):
            for variable, factor in atom.coefficients.items():
                if variable.letter == "Y":
                    forms[row, variable.number] = nearest(factor)
            if of_inputs := _of_inputs(atom):
                forms[row, self.table.outputs + self.forms[of_inputs]] = 1.0
                levels[row] -= self.less[self.forms[of_inputs]]
        parts = np.zeros((len(self.cases), len(rows)), dtype=np.bool_)
        place = 0
        for part, atoms in enumerate(self.bounded):
            parts[part, place : place + len(atoms)] = True
            place += len(atoms)
        least = np.array([below(level) for level in levels])
        size = float(np.abs(least).max(initial=0.0)) + float(np.abs(forms).max(initial=0.0))
        return Wanted(forms, least, parts, 1e-5 * max(size, 1e-3))

    def confirm(self, entered: Floats) -> bool:
        """Whether the runtime's outputs for the inputs near to a point obey a case, exactly."""
        given = self.chain.leave(entered)
        outputs = self.run(self._row(given))
        if not np.isfinite(outputs).all():
            return False
        values = {Variable("Y", k): exact(value) for k, value in enumerate(outputs)}
        # Most points fail here, before every input of a large network is written as an exact number.
        near = [case for case in self.cases if all(atom.holds(values) for atom in case.outputs)]
        if not near:
            return False
        inputs = tuple(
            _inside(float(value), low, high, self.dtype) for value, low, high in zip(given, *self.box, strict=True)
        )
        values |= {Variable("X", k): value for k, value in enumerate(inputs)}
        if any(all(atom.holds(values) for atom in case.atoms) for case in near):
            self.found = inputs, tuple(exact(value) for value in outputs)
        return self.found is not None

    def _row(self, given: Floats) -> Floats:
        """`rounded` of `_inside` of every value."""
        ends = self.ends
        with np.errstate(over="ignore", invalid="ignore"):
            row = np.where(np.isfinite(given), given, ends.nearest).astype(self.dtype).astype(np.float64)
        # An end between two numbers of the precision: what is below it as a double is below it.
        row = np.where(row < ends.least, ends.low, row)
        return np.where(row > ends.most, ends.high, row)

    @cached_property
    def ends(self) -> _Given:
        """The ends of the box as the runtime may be given them."""
        lower, upper = self.box
        return _Given(
            np.array([above(end) for end in lower]),
            np.array([below(end) for end in upper]),
            np.array([rounded(end, self.dtype) for end in lower]),
            np.array([rounded(end, self.dtype) for end in upper]),
            np.array([nearest(end) for end in lower]),
        )


def _inside(value: float, low: Fraction, high: Fraction, dtype: str) -> Fraction:
    """A number of the network's precision near to a value; where none near it lies in the interval, an end of that."""
    found = exact(float(np.asarray(value if math.isfinite(value) else nearest(low), dtype=dtype)))
    return min(max(found, low), high)


def rounded(value: Fraction, dtype: str) -> float:
    """The number of a precision that is nearest to an exact one, ties to even."""
    double = nearest(value)
    if dtype == "float64":
        return double
    with np.errstate(over="ignore"):
        near = np.float32(double)
    if 2.0**-126 <= abs(double) < 2.0**127 and int(np.float64(double).view(np.uint64)) & BEYOND_32 != HALF_32:
        return float(near)
    # Halfway between two, and rounded twice: a neighbour may be nearer to the exact number, or as near and even.
    options = [np.nextafter(near, np.float32(-np.inf)), near, np.nextafter(near, np.float32(np.inf))]
    even = [bool(int(one.view(np.uint32)) & 1) for one in options]
    finite = [
        (abs(exact(float(one)) - value), odd, float(one))
        for one, odd in zip(options, even, strict=True)
        if np.isfinite(one)
    ]
    return min(finite)[2]


__all__ = ["Asking", "by_box", "rounded"]
