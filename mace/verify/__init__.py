"""Verify properties of a model on its whole space: proved, violated with a replayed witness, or unknown.

`mace.verify(model, space, property)` is the function; `mace.verify.run`, `.suite`, .. are its modules. Python sets the
name of a package on its parent whenever a module of it is imported, so the package itself can be called.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mace.verify.properties import bounded as bounded
    from mace.verify.properties import equivalent as equivalent
    from mace.verify.properties import fair as fair
    from mace.verify.properties import holds as holds
    from mace.verify.properties import monotone as monotone
    from mace.verify.properties import reachable as reachable
    from mace.verify.properties import robust as robust
    from mace.verify.run import verify as verify
    from mace.verify.suite import run_suite as run_suite
    from mace.verify.verdict import PropertyViolated as PropertyViolated
    from mace.verify.verdict import Verdict as Verdict
    from mace.verify.verdict import Violation as Violation

PUBLIC = {
    "PropertyViolated": "mace.verify.verdict",
    "Verdict": "mace.verify.verdict",
    "Violation": "mace.verify.verdict",
    "bounded": "mace.verify.properties",
    "equivalent": "mace.verify.properties",
    "fair": "mace.verify.properties",
    "holds": "mace.verify.properties",
    "monotone": "mace.verify.properties",
    "reachable": "mace.verify.properties",
    "robust": "mace.verify.properties",
    "run_suite": "mace.verify.suite",
    "verify": "mace.verify.run",
}

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
    "verify",
]


class _Callable(ModuleType):
    """The package itself: when called, it does what `mace.verify.run.verify` does."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from mace.verify.run import verify

        return verify(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable


def __getattr__(name: str) -> object:
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(sorted(PUBLIC))}")
    return getattr(import_module(PUBLIC[name]), name)
