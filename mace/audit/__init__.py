"""Audit a population: for each row the answer of `explain`, in parallel, and what the answers say together."""

from __future__ import annotations

from mace.audit.export import read
from mace.audit.findings import Findings
from mace.audit.record import Record
from mace.audit.result import Audit
from mace.audit.run import audit

__all__ = ["Audit", "Findings", "Record", "audit", "read"]
