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

from dataclasses import replace
from pathlib import Path

import numpy as np

from mace.base.deadline import Deadline, stoppable
from mace.errors import MaceError
from mace.solve.splitting.chain import chain_of
from mace.tables.table import Network
from mace.verify.vnnlib.answer import VnnlibAnswer
from mace.verify.vnnlib.asking import Asking, by_box
from mace.verify.vnnlib.formula import Atom
from mace.verify.vnnlib.network import Runtime, read_network
from mace.verify.vnnlib.read import Specification, read_property


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


__all__ = ["answer_of"]
