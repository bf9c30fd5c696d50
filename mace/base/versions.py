"""What is installed: the version of mace and of everything that an answer may depend on."""

from __future__ import annotations

import platform
from importlib import metadata

MACE = "0.1.0"

PACKAGES = (
    "mace-smt",
    "numpy",
    "scikit-learn",
    "pandas",
    "pysmt",
    "z3-solver",
    "cvc5",
    "numba",
    "lark",
    "typer",
)
OPTIONAL = ("xgboost", "lightgbm", "onnx", "optbinning", "skops")


def versions() -> dict[str, str]:
    """Name -> version of everything that an answer may depend on, or that it is not installed."""
    found = {"python": platform.python_version()}
    for name in (*PACKAGES, *OPTIONAL):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed" + (" (optional)" if name in OPTIONAL else "")
    return found
