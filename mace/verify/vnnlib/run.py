"""Answer a property in VNN-LIB about a network in ONNX: sat, unsat, unknown or timeout.

In:  an `.onnx` file (or what `mace.explain` takes for ONNX) and a property.
Out: an `VnnlibAnswer`.
Promise, for inputs X that are real numbers in a case's box:
* "unsat": for no such X do the outputs obey the case, neither as exact arithmetic gives them nor as a runtime may
  compute them: each X rounded to the nearest number of the network's precision (float32 as a rule), every operation
  rounded to nearest in that precision, sums in any order, with or without fused multiply-add.
* "sat": `inputs` obeys the case exactly, as it is written, and so do `outputs`: the numbers that onnxruntime gave when
  it was asked about that one input; without onnxruntime, mace's own evaluation in the same precision, which `why` says.
What lies between the two, within rounding of the property's boundary, is "unknown".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from mace.base.deadline import Deadline, stoppable
from mace.base.exact import above, below, exact, nearest
from mace.base.formats import schema_of
from mace.compilers.load import load_model
from mace.compilers.model_file import ModelFile
from mace.compilers.onnx import reader as read_onnx
from mace.errors import MaceError, ModelError
from mace.solve.splitting.chain import Chain, Interval, chain_of
from mace.solve.splitting.climb import Wanted
from mace.solve.splitting.search import Settled, search
from mace.tables.table import Floats, Network
from mace.verify.vnnlib.beside import beside
from mace.verify.vnnlib.declared import Tensor
from mace.verify.vnnlib.formula import Atom, Variable
from mace.verify.vnnlib.read import Case, Ends, Specification, read_property

Status: TypeAlias = Literal["sat", "unsat", "unknown", "timeout"]
Runtime: TypeAlias = Callable[[Floats], Floats]
TOGETHER = 2**18  # cases times inequalities that are asked about at once: arrays hold as much for each box
BEYOND_32, HALF_32 = 2**29 - 1, 2**28  # the bits of a double that a float32 has not; half of the last one that it has
EMULATED = "onnxruntime is not installed: the outputs are mace's own evaluation"
NOT_RUN = "onnxruntime does not run this network: the outputs are mace's own evaluation"
FAR = 64  # binary digits of the largest coefficient: as far from 1 it is brought near to it


@dataclass(frozen=True)
class VnnlibAnswer:
    """What was found.

    inputs, outputs: of "sat", one number each, exact. boxes: how many were bounded. root: of each case with outputs to
    bound, how far the bounds of the whole box were from refuting it; 0 or more where it had to be split. tensors: what
    the property declares in version 2 of VNN-LIB, whose words the text is in.
    """

    status: Status
    why: str
    inputs: tuple[Fraction, ...] = ()
    outputs: tuple[Fraction, ...] = ()
    boxes: int = 0
    root: tuple[float, ...] = ()
    tensors: tuple[Tensor, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; numbers of a counterexample as exact texts."""
        return {
            **schema_of("vnnlib"),
            "status": self.status,
            "why": self.why,
            "inputs": [written(value) for value in self.inputs],
            "outputs": [written(value) for value in self.outputs],
            "boxes": self.boxes,
        }

    def __str__(self) -> str:
        """As the tools of VNN-COMP print it: the word, and a counterexample after "sat"."""
        if self.tensors:
            return self._of_tensors()
        if self.status != "sat":
            return self.status
        named = [
            f"({letter}_{number} {written(value)})"
            for letter, values in (("X", self.inputs), ("Y", self.outputs))
            for number, value in enumerate(values)
        ]
        return "sat\n(" + "\n ".join(named) + ")"

    def _of_tensors(self) -> str:
        """Each tensor with its type and shape, and its numbers a line each, in row-major order."""
        lines: list[str] = ["timed-out" if self.status == "timeout" else self.status]
        for tensor in self.tensors if self.status == "sat" else ():
            lines.append(f"{tensor.name} {tensor.type} [{','.join(map(str, tensor.shape))}]")
            lines += map(written, self.inputs if tensor.letter == "X" else self.outputs)
        return "\n".join(lines)


@stoppable()
def answer_of(
    network: object, specification: Specification | str | Path, timeout: float | Deadline | None
) -> VnnlibAnswer:
    """See `mace.verify.vnnlib.verify_vnnlib`."""
    deadline = Deadline.asked(timeout)
    asked = specification if isinstance(specification, Specification) else read_property(specification)
    table, run, note = read_network(network)
    answer = _answer(asked, table, run, note, deadline)
    return replace(answer, tensors=asked.tensors)


def _answer(asked: Specification, table: Network, run: Runtime, note: str, deadline: Deadline) -> VnnlibAnswer:
    """The answer about a network that was read."""
    if (asked.inputs, asked.outputs) != (table.columns, table.outputs):
        raise MaceError(
            f"{asked.name} has {asked.inputs} inputs and {asked.outputs} outputs, "
            f"the network {table.columns} and {table.outputs}"
        )
    for tensor in asked.tensors:
        if tensor.type not in ("real", table.dtype):
            raise MaceError(
                f"{asked.name} declares {tensor.name} in {tensor.type}, and the network computes in {table.dtype}",
                hint=f"Declare it in {table.dtype}, or as real.",
            )
    chain = chain_of(table)
    boxes, root, unsettled = 0, list[float](), ""
    possible = asked.cases
    if _ends_in_relu(table):
        possible = tuple(case for case in possible if not any(map(_negative, case.outputs)))
    for box, cases in by_box(possible):
        asking = Asking(table, chain, box, cases, run)
        settled = asking.search(deadline)
        boxes += settled.boxes
        root += [float(slack) for slack in settled.root]
        if asking.found is not None:
            return VnnlibAnswer("sat", note, *asking.found, boxes, tuple(root))
        if settled.status == "time":
            return VnnlibAnswer("timeout", deadline.why, boxes=boxes, root=tuple(root))
        if settled.status == "open":
            unsettled = "within rounding of the property's boundary, or beyond the numbers that are bounded"
    if unsettled:
        return VnnlibAnswer("unknown", unsettled, boxes=boxes, root=tuple(root))
    return VnnlibAnswer("unsat", "no case is possible", boxes=boxes, root=tuple(root))


def _ends_in_relu(table: Network) -> bool:
    """Whether no output is negative, whatever rounds: what follows the last ReLU, if anything, changes nothing."""
    if len(table.layers) < 2:
        return False
    *_, before, last = table.layers
    same = np.array_equal(last.weights, np.eye(*last.weights.shape)) and not last.bias.any()
    return before.activation == "relu" and last.activation == "identity" and same


def _negative(atom: Atom) -> bool:
    """Whether an inequality holds of no outputs of which none is negative."""
    none = all(factor <= 0 for factor in atom.coefficients.values())
    return none and (atom.least > 0 or atom.least == 0 and atom.strict)


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


def read_network(given: object) -> tuple[Network, Runtime, str]:
    """The table of a network, what computes its outputs as a runtime does, and a note on that."""
    if isinstance(given, (str, Path)):
        given = load_model(given)
    content = given.content if isinstance(given, ModelFile) else given
    if isinstance(given, ModelFile) and given.format.package != "onnx":
        raise ModelError(f"a property in VNN-LIB is about a network in ONNX, and {given.path.name} is none")
    followed = read_onnx.follow(read_onnx.graph_of(content))
    table = followed.table
    if not isinstance(table, Network) or not followed.scores:
        raise ModelError(
            "a property in VNN-LIB is about the numbers that a ReLU network computes; this one is a "
            f"{table.name} whose output is something else",
            hint="Export the network up to its last linear layer.",
        )
    try:
        import onnxruntime
    except ImportError:
        return table, lambda row: _emulated(table, row), EMULATED
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(followed.file, options, providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001  its errors have no common kind; some operations it knows in float32 alone
        return table, lambda row: _emulated(table, row), NOT_RUN
    asked, dtype = session.get_inputs()[0], np.dtype(table.dtype)
    vector = len(asked.shape) == 1
    rows = asked.shape[0] if isinstance(asked.shape[0], int) and not vector else 1  # a file may say how many it takes

    def run(row: Floats) -> Floats:
        given = row.astype(dtype) if vector else np.tile(row.astype(dtype), (rows, 1))
        found = np.asarray(session.run(None, {asked.name: given})[0], dtype=np.float64)
        return np.asarray(found.reshape(rows, -1)[0])

    return table, run, "the outputs are onnxruntime's"


def _emulated(table: Network, row: Floats) -> Floats:
    """The outputs for a row, every operation in the network's precision."""
    values: Any = row.astype(table.dtype)
    for layer in table.layers:
        values = values @ layer.weights.astype(table.dtype) + layer.bias.astype(table.dtype)
        if layer.activation == "relu":
            values = np.maximum(values, 0)
    return np.asarray(values, dtype=np.float64)


def _of_inputs(atom: Atom) -> frozenset[tuple[int, Fraction]]:
    """The part of an inequality that is over inputs."""
    return frozenset((one.number, factor) for one, factor in atom.coefficients.items() if one.letter == "X")


def _near_one(atom: Atom) -> Atom:
    """The same inequality, with coefficients that doubles hold: times a power of two, so that nothing rounds."""
    largest = max(map(abs, atom.coefficients.values()))
    power = largest.numerator.bit_length() - largest.denominator.bit_length()
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


def written(value: Fraction) -> str:
    """A number as a decimal: exactly where that is possible, else the nearest double."""
    double = nearest(value)
    if exact(double) == value:
        return repr(double)
    with localcontext() as context:
        context.prec = 2000
        decimal = Decimal(value.numerator) / Decimal(value.denominator)
        if exact(decimal) == value:
            return str(decimal)
    return repr(double)


__all__ = ["Status", "VnnlibAnswer", "answer_of"]
