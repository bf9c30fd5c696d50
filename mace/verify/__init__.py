"""Verify properties of a model on its whole space: proved, violated with a replayed witness, or unknown."""

from __future__ import annotations

from mace.verify.properties import bounded, equivalent, fair, holds, monotone, reachable, robust, unreachable
from mace.verify.run import verify
from mace.verify.suite import run_suite
from mace.verify.verdict import PropertyViolated, Verdict, Violation
from mace.verify.vnnlib import verify_vnnlib

__all__ = [
    "PropertyViolated",
    "Verdict",
    "Violation",
    "bounded",
    "equivalent",
    "fair",
    "holds",
    "monotone",
    "reachable",
    "robust",
    "run_suite",
    "unreachable",
    "verify",
    "verify_vnnlib",
]
