"""Hand over an audit: as text, as plots, and as one HTML file that stands alone."""

from __future__ import annotations

from mace.report.make import report, to_html
from mace.report.read import read_audit

__all__ = ["read_audit", "report", "to_html"]
