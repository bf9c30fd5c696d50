"""Every checker of certificates that this machine has: the kernel, and the second one where Go is installed."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import mace.proofs
from mace.certify.writer import Certificate

SECOND = Path(mace.proofs.__file__).resolve().parent / "second"


@lru_cache(maxsize=1)
def second() -> Path | None:
    """The second checker, built outside of the source tree; None without Go."""
    if shutil.which("go") is None:
        return None
    folder = tempfile.mkdtemp(prefix="mace-second-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = Path(folder) / "mace-check"
    subprocess.run(["go", "build", "-o", str(program), "."], cwd=SECOND, check=True)
    return program


def accepted_by_all(certificates: Iterable[Certificate]) -> int:
    """How many checkers accepted certificates; raises AssertionError where one refuses any."""
    kept, program = list(certificates), second()
    for certificate in kept:
        verdict = certificate.check()
        assert verdict.accepted, verdict
    if program is None or not kept:
        return 1
    with tempfile.TemporaryDirectory() as folder:
        for number, certificate in enumerate(kept):
            certificate.save(Path(folder) / f"{number}.json")
        done = subprocess.run([program, folder], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    return 2
