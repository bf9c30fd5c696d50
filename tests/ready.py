"""Compile the provers once, before the tests run in several processes of which each would compile for itself.

`python -m tests.ready trees`, `layers`, `relaxation` or `proofs`: one part of them; kept on disk.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def trees() -> None:
    """What answers questions about ensembles."""
    from mace.solve import warm

    warm.trees()


def relaxation() -> None:
    """What a search among many trees, and one for a mean of trees, needs beside; after `trees`."""
    from mace.solve import warm

    warm.relaxation()
    warm.members()


def proofs() -> None:
    """What elaborates the proofs about ensembles; after `trees`."""
    from mace.certify import elaboration
    from mace.solve import warm

    elaboration.warm(warm.about_trees().model)


def layers() -> None:
    """What answers questions about networks, and elaborates their proofs."""
    from mace.certify import networks
    from mace.solve import warm

    warm.layers()
    warm.tightening()
    networks.warm()


def all_of_it() -> None:
    """Two at a time, each in a process of its own."""
    for pair in (("trees", "layers"), ("relaxation", "proofs")):
        started = [subprocess.Popen([sys.executable, "-m", "tests.ready", kind], cwd=ROOT) for kind in pair]
        assert [one.wait() for one in started] == [0, 0], "the provers could not be made ready: see above"


if __name__ == "__main__":
    from mace.solve.compiled import at_once

    at_once()
    {"trees": trees, "layers": layers, "relaxation": relaxation, "proofs": proofs}[sys.argv[1]]()
