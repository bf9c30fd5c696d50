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
    elaboration.warm(warm.about_trees().model)


def layers() -> None:
    """What answers questions about networks, and elaborates their proofs."""
    from mace.certify import networks
    from mace.solve import warm

    warm.layers()
    networks.warm()


def both() -> None:
    """Each kind in a process of its own."""
    started = [subprocess.Popen([sys.executable, "-m", "tests.ready", kind], cwd=ROOT) for kind in ("trees", "layers")]
    assert [one.wait() for one in started] == [0, 0], "the provers could not be made ready: see above"


if __name__ == "__main__":
    from mace.solve.compiled import at_once

    at_once()
    {"trees": trees, "layers": layers}[sys.argv[1]]()
