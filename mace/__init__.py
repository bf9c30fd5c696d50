"""Nearest counterfactuals of a trained model, with a proof that there is none nearer.

The public names are below. Each is imported when it is first used (PEP 562), so that `import mace` and `mace --help`
answer at once: no solver, no scikit-learn and no pandas is loaded before it is needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mace.base.versions import MACE

if TYPE_CHECKING:
    from mace import datasets as datasets
    from mace.audit.run import Audit as Audit
    from mace.audit.run import audit as audit
    from mace.explain.answer import Answer as Answer
    from mace.explain.explainer import Explainer as Explainer
    from mace.explain.explainer import explain as explain
    from mace.report.make import report as report
    from mace.space.space import Feature as Feature
    from mace.space.space import Space as Space
    from mace.verify import Verdict as Verdict
    from mace.verify import verify as verify

__version__ = MACE

# Public name -> the module that defines it. A name that is its own module stands for the module.
PUBLIC = {
    "Answer": "mace.explain.answer",
    "Audit": "mace.audit.run",
    "Explainer": "mace.explain.explainer",
    "Feature": "mace.space.space",
    "Space": "mace.space.space",
    "Verdict": "mace.verify.verdict",
    "audit": "mace.audit",
    "datasets": "mace.datasets",
    "explain": "mace.explain",
    "report": "mace.report",
    "verify": "mace.verify",
}

__all__ = [
    "Answer",
    "Audit",
    "Explainer",
    "Feature",
    "Space",
    "Verdict",
    "__version__",
    "audit",
    "datasets",
    "explain",
    "report",
    "verify",
]


def __getattr__(name: str) -> object:
    """Import the public name `name` from its module, once."""
    if name not in PUBLIC:
        raise AttributeError(f"module 'mace' has no attribute {name!r}; it has {', '.join(sorted(PUBLIC))}")
    module = import_module(PUBLIC[name])
    found = module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *PUBLIC})
