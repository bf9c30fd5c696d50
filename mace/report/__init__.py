"""Hand over an audit: one HTML file that stands alone, and the plots in it.

`mace.report(audit, path, ...)` is the function; `mace.report.make`, `.displays`, .. are its modules. The package itself
can be called, for the same reason as `mace.audit`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mace.report.make import report as report
    from mace.report.make import to_html as to_html
    from mace.report.read import read_audit as read_audit

PUBLIC = {
    "read_audit": "mace.report.read",
    "report": "mace.report.make",
    "to_html": "mace.report.make",
}

__all__ = ["read_audit", "report", "to_html"]


class _Callable(ModuleType):
    """The package itself: when called, it does what `mace.report.make.report` does."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from mace.report.make import report

        return report(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable


def __getattr__(name: str) -> object:
    if name not in PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(sorted(PUBLIC))}")
    return getattr(import_module(PUBLIC[name]), name)
