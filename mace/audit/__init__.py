"""Audit a population: for each row the answer of `explain`, in parallel, and what the answers say together.

`mace.audit(model, space, frame, ...)` is the function; `mace.audit.run`, `.findings`, .. are its modules. The
package itself can be called, see `mace.base.lazy`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mace.base.lazy import package

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

__getattr__ = package(__name__, PUBLIC)
