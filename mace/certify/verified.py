"""The checker that is extracted from the mechanised theory: run on a file, and what it read compared with the file.

In:  a certificate's file, and what `proofs/check.py` read in it.
Out: `Verified`: what the program says, and whether its reader and proofs/readback.py read the same.
Promise: "accepted" is said only where both hold; then the claim is a theorem (proofs/theory: `certificate_sound`, of
a linear model `linear_certificate_sound`) about what both read. The program is not part of the package: `make
proofs` builds it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import mace.proofs
from mace.errors import CertificateError

STATUSES = {0: "accepted", 10: "refused", 2: "unusable", 3: "not covered"}


class Verified(NamedTuple):
    """A status of `STATUSES`, or "misread"; and words for people."""

    status: str
    words: str


def program() -> Path:
    """Where the extracted checker is; raises CertificateError, saying how to build it, where it is not."""
    path = Path(mace.proofs.__file__).resolve().parent / "verified" / "check"
    if not path.is_file():
        raise CertificateError(
            f"the verified checker is not built: there is no {path}",
            hint="Debian: `apt install --no-install-recommends coq ocaml-nox ocaml-findlib libzarith-ocaml-dev`, then "
            "`make proofs` in mace's source tree.",
        )
    return path


def verified(file: Path, data: Any) -> Verified:
    """The verdict on a file, of which `data` is what the checker in Python read."""
    from mace.proofs.readback import readback

    run = subprocess.run([program(), "--print", file.resolve()], capture_output=True, text=True, check=False)
    words, _, read = run.stdout.partition("\n")
    status = STATUSES.get(run.returncode)
    if status is None:
        return Verified("refused", f"the verified checker failed ({run.stderr.strip() or run.returncode})")
    if status != "accepted":
        return Verified(status, words)
    try:
        same = read.strip() == readback(data)
    except (KeyError, TypeError, ValueError):
        same = False
    if not same:
        return Verified("misread", "the verified checker accepts, but did not read what this file says")
    return Verified("accepted", "accepted: the claim is a theorem (proofs/theory)")
