"""`explain`: a model, a space and a row to an answer."""

from __future__ import annotations

from mace.explain.run import explain

__all__ = ["explain"]
