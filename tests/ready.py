"""Compile the provers once, before the tests run in several processes of which each would compile for itself.

`python -m tests.ready trees` or `layers`: one kind of prover, with what writes its certificates; kept on disk.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def trees() -> None:
    """What answers questions about ensembles, and elaborates their proofs."""
    from mace.certify import elaboration
    from mace.solve import warm

    warm.trees()
    warm.relaxation()
    elaboration.warm()


def layers() -> None:
    """What answers questions about networks."""
    from mace.solve import warm

    warm.layers()


def both() -> None:
    """Each kind in a process of its own; what fails there fails again, and is seen, in the tests."""
    started = [subprocess.Popen([sys.executable, "-m", "tests.ready", kind], cwd=ROOT) for kind in ("trees", "layers")]
    for one in started:
        one.wait()


if __name__ == "__main__":
    from mace.solve.compiled import at_once

    at_once()
    {"trees": trees, "layers": layers}[sys.argv[1]]()
