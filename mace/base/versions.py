"""What is installed: the version of mace and of everything that an answer may depend on."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib import metadata

MACE = "0.1.0"

PACKAGES = (
    "mace-smt",
    "numpy",
    "scikit-learn",
    "pandas",
    "pysmt",
    "numba",
    "lark",
    "typer",
)
SOLVERS = {"z3-solver": ("z3-solver",), "cvc5": ("cvc5",)}  # optional: programs, and rules that no prover takes


def versions(optional: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Name -> version of everything that an answer may depend on, or that it is not installed.

    optional: what mace can do without, by the name that people know: the names under which it may be installed.
    """
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        found[name] = _version(name) or "not installed"
    for name, known in (SOLVERS | dict(optional)).items():
        found[name] = next(filter(None, map(_version, known)), "not installed (optional)")
    return found


def _version(distribution: str) -> str:
    """The version of what is installed under a name; empty if nothing is."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
