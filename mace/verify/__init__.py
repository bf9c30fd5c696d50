"""Verify properties of a model on its whole space: proved, violated with a replayed witness, or unknown.

`mace.verify(model, space, property)` is the function; `mace.verify.run`, `.suite`, .. are its modules. The
package itself can be called, see `mace.base.lazy`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mace.base.lazy import package

if TYPE_CHECKING:
    from mace.verify.properties import bounded as bounded
    from mace.verify.properties import equivalent as equivalent
    from mace.verify.properties import fair as fair
    from mace.verify.properties import holds as holds
    from mace.verify.properties import monotone as monotone
    from mace.verify.properties import reachable as reachable
    from mace.verify.properties import robust as robust
    from mace.verify.properties import unreachable as unreachable
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
    "unreachable": "mace.verify.properties",
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
    "unreachable",
    "verify",
]

__getattr__ = package(__name__, PUBLIC)
