"""Hand over an audit: one HTML file that stands alone, and the plots in it.

`mace.report(audit, path, ...)` is the function; `mace.report.make`, `.displays`, .. are its modules. The package itself
can be called, for the same reason as `mace.audit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mace.base.lazy import package

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

__getattr__ = package(__name__, PUBLIC)
