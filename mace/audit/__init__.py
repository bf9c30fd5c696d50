"""Audit a population: for each row the answer of `explain`, in parallel, and what the answers say together.

`mace.audit(model, space, frame, ...)` is the function; `mace.audit.run`, `.findings`, .. are its modules. Python sets
the name of a package on its parent whenever a module of it is imported, so the package itself can be called.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mace.audit.findings import Findings as Findings
    from mace.audit.record import Record as Record
    from mace.audit.run import Audit as Audit
    from mace.audit.run import audit as audit

PUBLIC = {
    "Audit": "mace.audit.run",
    "Findings": "mace.audit.findings",
    "Record": "mace.audit.record",
    "audit": "mace.audit.run",
    "read": "mace.audit.export",
}

__all__ = ["Audit", "Findings", "Record", "audit"]


class _Callable(ModuleType):
    """The package itself: when called, it does what `mace.audit.run.audit` does."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from mace.audit.run import audit

        return audit(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable


def __getattr__(name: str) -> object:
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(sorted(PUBLIC))}")
    return getattr(import_module(PUBLIC[name]), name)
