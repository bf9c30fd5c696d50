"""Elaborate a proof: from the nodes that a prover writes (format 1) to those that the kernel verifies (format 2).

In:  a statement, the kernel's model of it, and a proof whose leaves say only by which rule they close.
Out: the cuts of thresholds, and the same tree of boxes with what the kernel does not look for: which leaves of which
     trees a box cannot reach, where an axis ends that is near enough, and the θ of each bound of a hidden unit.
Promise: none is needed. What is written here is verified by the kernel; a mistake costs a proof, never truth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mace.proofs.elaborate_networks import of_network
from mace.proofs.elaborate_trees import of_trees
from mace.proofs.kernel.ensembles import Ensemble
from mace.proofs.kernel.floats import Refused
from mace.proofs.kernel.proof import read_model
from mace.proofs.kernel.statement import Statement


def converted(data: dict[str, Any], model: Any) -> dict[str, Any]:
    """A certificate of format 1 in format 2; where it makes no sense, something that the kernel refuses."""
    found = {**data, "mace_certificate": 2}
    found["cuts"], found["proof"] = elaborated(data.get("statement"), data.get("proof"), model)
    return found


def elaborated(
    statement: Any, proof: Any, model: Any = None, look: Callable[[], None] = lambda: None
) -> tuple[list[int | None], Any]:
    """The cuts and the proof of a certificate; from the first node that makes no sense on, the nodes as they are.

    model: what the kernel made of the statement's model; None: it is read here. look: called now and then; may raise.
    """
    try:
        model = read_model(statement["model"]) if model is None else model
        problem = Statement(statement, model)
        if isinstance(model, Ensemble):
            return of_trees(problem, model, proof, look)
        return [], of_network(problem, proof, look)
    except (Refused, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return [None] * len(model.tests) if isinstance(model, Ensemble) else [], proof
