"""`explain`: a model, a space and a row to an answer. The package itself can be called, see `mace.base.lazy`."""

from __future__ import annotations

from mace.base.lazy import package

PUBLIC = {
    "Answer": "mace.explain.answer",
    "Explainer": "mace.explain.explainer",
    "explain": "mace.explain.explainer",
}

__getattr__ = package(__name__, PUBLIC)
