"""What can be handed over when the answer came from the solvers: the refuted question, two verdicts, cvc5's proof.

In:  a question, and the bound that the solvers' route gave.
Out: a `SolverCertificate`: the SMT-LIB 2 text that asks for a nearer point (or for any point, where the claim is that
     there is none), what z3 and cvc5 each say of it, and cvc5's proof (CPC, granularity dsl-rewrite: no opaque steps)
     where it comes within the time given.
Promise: weaker than `mace.certificate`, and it says so. That the text means the question is trusted to mace's
encoding; that it is unsatisfiable, to the solvers, or to the proof once a checker of that format accepts it. `check`
asks both solvers again; it accepts when one refutes the text and none satisfies it, and names who said what.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from mace.errors import CertificateError
from mace.exact import text as exact_text
from mace.files import write_whole
from mace.question import Question

FORMAT = 1
SCRIPT = Path(__file__).parent / "oracles" / "smt_script.py"
SOLVERS = ("z3", "cvc5")
SECONDS = 60.0
SUFFIX = ".solvers.gz"  # how the name ends where certificates that stand alone lie in the same folder


class SolversDisagreeError(CertificateError):
    """A solver finds a point where there was said to be none."""


@dataclass(frozen=True, slots=True)
class SolverVerdict:
    """Whether the claim was confirmed, and by whom."""

    accepted: bool
    reason: str
    claim: str

    def __str__(self) -> str:
        return f"{'accepted' if self.accepted else 'refused'}: {self.claim} ({self.reason})"


@dataclass(frozen=True)
class SolverCertificate:
    """The record as plain JSON values: claim, question (SMT-LIB 2), verdicts, proof."""

    data: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return self.data

    @property
    def digest(self) -> str:
        """SHA-256 of the refuted question."""
        return hashlib.sha256(str(self.data["question"]).encode()).hexdigest()

    def check(self, seconds: float = SECONDS) -> SolverVerdict:
        """Ask both solvers again, each within so many seconds."""
        replies = {solver: _ask(solver, self.data["question"], seconds)["verdict"] for solver in SOLVERS}
        accepted = "unsat" in replies.values() and "sat" not in replies.values()
        said = ", ".join(f"{solver} says {verdict}" for solver, verdict in replies.items())
        return SolverVerdict(accepted, said, in_words(self.data["claim"]))

    def save(self, path: str | Path) -> Path:
        """Write the record as JSON, gzipped if the name ends in `.gz`; raises FileError and then leaves nothing."""
        path = Path(path)
        raw = json.dumps(self.data, indent=1).encode()
        return write_whole(path, gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)


def in_words(claim: dict[str, Any]) -> str:
    """The claim as a sentence."""
    if "anywhere" in claim:
        return "no allowed point has the goal"
    return f"no allowed point with the goal is closer than {claim['closer_than']}"


def solver_certificate(question: Question, lower: Fraction | None, seconds: float = SECONDS) -> SolverCertificate:
    """The record for "nothing is closer than `lower`" (None: nothing at all has the goal).

    Raises SolversDisagreeError when a solver finds a point after all.
    """
    from mace.oracles.smt import export

    script = export(question, lower, strict=True)
    replies = {solver: _ask(solver, script, seconds) for solver in SOLVERS}
    if any(reply["verdict"] == "sat" for reply in replies.values()):
        raise SolversDisagreeError("a solver satisfies the question that was refuted; please report this")
    proof = _ask("cvc5", script, seconds, "proof").get("proof") if replies["cvc5"]["verdict"] == "unsat" else None
    return SolverCertificate(
        {
            "mace_solver_certificate": FORMAT,
            "claim": {"anywhere": True} if lower is None else {"closer_than": exact_text(lower)},
            "question": script,
            "verdicts": {solver: reply["verdict"] for solver, reply in replies.items()},
            "proof_format": None if proof is None else "cvc5 CPC, proof-granularity=dsl-rewrite",
            "proof": proof,
        }
    )


def from_dict(data: Any) -> SolverCertificate:
    """A record that was read from a file; raises CertificateError if it is none."""
    keys = {"mace_solver_certificate", "claim", "question", "verdicts", "proof_format", "proof"}
    if not isinstance(data, dict) or set(data) != keys or data["mace_solver_certificate"] != FORMAT:
        raise CertificateError("this is no solver certificate of a known format")
    claim = data["claim"]
    known = isinstance(claim, dict) and (
        claim == {"anywhere": True} or (set(claim) == {"closer_than"} and isinstance(claim["closer_than"], str))
    )
    if not isinstance(data["question"], str) or not known:
        raise CertificateError("the solver certificate is damaged")
    return SolverCertificate(data)


def load(path: str | Path) -> SolverCertificate:
    """Read a record without asking anyone; raises CertificateError for a file that is none."""
    from mace.proofs.check import Unusable
    from mace.proofs.check import load as load_data

    try:
        return from_dict(load_data(path))
    except (OSError, Unusable) as error:
        raise CertificateError(f"{path}: {error}") from None


def _ask(solver: str, script: str, seconds: float, *options: str) -> dict[str, str]:
    """One solver's reply on a script, in a child process that is killed when its time is over."""
    command = [sys.executable, "-P", "-W", "ignore", str(SCRIPT), solver, *options]
    try:
        ran = subprocess.run(command, input=script.encode(), capture_output=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return {"verdict": f"nothing within {seconds:g} s"}
    try:
        reply = json.loads(ran.stdout)
    except ValueError:
        return {"verdict": f"nothing (exit code {ran.returncode})"}
    return {str(key): str(value) for key, value in reply.items()}
