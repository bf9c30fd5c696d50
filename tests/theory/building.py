"""The theory and the checker extracted from it, built where they stand, once for all processes of a test run."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

PROOFS = Path(__file__).parent.parent.parent / "proofs"


TARGETS = {"theory": "compiled", "verified": "check"}


def made(name: str) -> Path:
    """The folder `theory` or `verified`, after `make`, which builds what is not there or older than its source."""
    folder = PROOFS / name
    with (PROOFS / "theory" / "Makefile").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever comes second finds all of it built
        done = subprocess.run(["make", TARGETS[name]], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def copied(name: str, to: Path) -> Path:
    """The same folder elsewhere, with what was built, for a test that changes it."""
    return Path(shutil.copytree(made(name), to / name))
