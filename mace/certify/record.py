"""What can be handed over when the answer came from the solvers: the refuted question, two verdicts, cvc5's proof.

In:  a question, and the bound that the solvers' route gave.
Out: a `SolverCertificate`: the SMT-LIB 2 text that asks for a nearer point (or for any point, where the claim is that
     there is none), what z3 and cvc5 each say of it, and cvc5's proof (CPC, granularity dsl-rewrite: no opaque steps)
     where it comes within the time given.
Promise: weaker than `mace.certify.writer`, and it says so: it is never "accepted". That the text means the question is
trusted to mace's encoding; that it is unsatisfiable, to the solvers, or to the proof once a checker of that format
accepts it. `check` believes nothing that stands in the record: it makes the text again from the question and the claim,
refuses a record whose text is another, and asks both solvers about its own.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, TypeAlias

from mace.base.deadline import NEVER, Deadline
from mace.base.figures import counted
from mace.base.files import write_whole
from mace.certify.exclusions import without
from mace.certify.numbers import text as exact_text
from mace.errors import CertificateError
from mace.problem.exclusions import AvoidPoint
from mace.problem.question import Question
from mace.solve.protocol import memory_asked
from mace.solve.smt.oracle import export
from mace.solve.smt.process import SolverAnswer, SolverName, SolverProcess
from mace.space.axes import Point

FORMAT = 2
SOLVERS: tuple[SolverName, ...] = ("z3", "cvc5")
SECONDS = 60.0
MEMORY = 4096  # MB
SUFFIX = ".solvers.gz"  # how the name ends where certificates that stand alone lie in the same folder
FIELDS = {
    "mace_solver_certificate",
    "mace",
    "claim",
    "excluded",
    "question",
    "verdicts",
    "proof_format",
    "proof",
}
MAX_DIGITS = 4000  # of a number in text
MAX_EXCLUDED = 10_000  # points, and numbers in each
RATIONAL = re.compile(r"[0-9]+(/[1-9][0-9]*)?", re.ASCII)

Status: TypeAlias = Literal["agreed", "undecided", "refused"]
WORDS: dict[Status, str] = {
    "agreed": "two solvers agree on a text",
    "undecided": "undecided",
    "refused": "refused",
}


class SolversDisagreeError(CertificateError):
    """A solver finds a point where there was said to be none."""


@dataclass(frozen=True, slots=True)
class SolverVerdict:
    """What came of asking the solvers again.

    status: "agreed": both refute the text, which was made again from the question. "undecided": neither contradicts
            the claim, and not both confirm it. "refused": one contradicts it, or the text is not that of the question.
    """

    status: Status
    reason: str
    claim: str

    @property
    def accepted(self) -> bool:
        """False: only what the checker of `mace.proofs` proves is accepted."""
        return False

    @property
    def agreed(self) -> bool:
        """Whether both solvers refuted the text."""
        return self.status == "agreed"

    def __str__(self) -> str:
        return f"{WORDS[self.status]}: {self.claim} ({self.reason})"


@dataclass(frozen=True)
class SolverCertificate:
    """The record as plain JSON values: claim, question (SMT-LIB 2), verdicts, proof.

    asked: the question that it was made from; None for a record that was read from a file.
    """

    data: dict[str, Any]
    asked: Question | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The JSON object."""
        return self.data

    @property
    def digest(self) -> str:
        """SHA-256 of the refuted question."""
        return hashlib.sha256(str(self.data["question"]).encode()).hexdigest()

    def check(
        self,
        question: Question | None = None,
        meets: Callable[[Point], bool] | None = None,
        seconds: float | None = SECONDS,
        memory_mb: int | None = MEMORY,
    ) -> SolverVerdict:
        """Make the text again, compare it byte by byte, and ask both solvers about it.

        question: whose answer the record is said to be; it may be left out where the record was made in this process.
        meets:    whether the deployed model has the goal at a point; needed where the record excludes points.
        seconds, memory_mb: for each solver; MB.
        Raises CertificateError for a record that came from a file, without a question.
        """
        known = question if question is not None else self.asked
        if known is None:
            raise CertificateError(
                "this record of solvers says nothing by itself: its text may ask anything",
                hint="It is compared with a model and a row: give --model, --data and --row, as to `mace explain`.",
            )
        refused = {avoid.point for avoid in known.avoid if isinstance(avoid, AvoidPoint)}  # asked in this process
        listed = [{"point": point} for point in self.data["excluded"]]
        try:
            narrowed = without(replace(known, avoid=()), listed, meets or (lambda point: point not in refused))
        except CertificateError as error:
            return SolverVerdict("refused", error.message, in_words(self.data))
        refusal = self._other_text(narrowed)
        if refusal:
            return SolverVerdict("refused", refusal, in_words(self.data))
        replies = {solver: _ask(solver, self.data["question"], seconds, memory_mb) for solver in SOLVERS}
        verdicts = {reply.verdict for reply in replies.values()}
        status: Status = "agreed" if verdicts == {"unsat"} else "refused" if "sat" in verdicts else "undecided"
        said = ", ".join(f"{solver} says {_words(reply)}" for solver, reply in replies.items())
        return SolverVerdict(status, said, in_words(self.data))

    def _other_text(self, question: Question) -> str:
        """Where the record's text is not the one of the question and the claim; "" if it is."""
        expected = export(question, _closer_than(self.data["claim"]), strict=True)
        found = self.data["question"]
        if found == expected:
            return ""
        lines = zip([*expected.split("\n"), ""], [*found.split("\n"), ""], strict=False)
        place = next((number for number, (a, b) in enumerate(lines, 1) if a != b), 1)
        return (
            "its text is not the one of this model, space, row and claim: they differ from line "
            f"{place} on{_versions(self.data['mace'])}"
        )

    def save(self, path: str | Path) -> Path:
        """Write the record as JSON, gzipped if the name ends in `.gz`; raises FileError and then leaves nothing."""
        path = Path(path)
        raw = json.dumps(self.data, indent=1).encode()
        return write_whole(path, gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)


def in_words(data: dict[str, Any]) -> str:
    """The claim of a record as a sentence."""
    claim, count = data["claim"], len(data["excluded"])
    aside = f", {counted(count, 'point')} aside that the model refused" if count else ""
    if "anywhere" in claim:
        return f"no allowed point has the goal{aside}"
    return f"no allowed point with the goal is closer than {claim['closer_than']}{aside}"


def solver_certificate(
    question: Question,
    lower: Fraction | None,
    seconds: float | None = SECONDS,
    memory_mb: int | None = MEMORY,
    deadline: Deadline = NEVER,
) -> SolverCertificate:
    """The record for "nothing is closer than `lower`" (None: nothing at all has the goal).

    seconds, memory_mb: for each of three questions to a solver; MB.
    Raises TimeOverError when the text cannot be written before the deadline.
    Raises SolversDisagreeError when a solver finds a point after all; CertificateError for a question that excludes
    more than single points.
    """
    points = [list(avoid.point) for avoid in question.avoid if isinstance(avoid, AvoidPoint)]
    if len(points) != len(question.avoid):
        raise CertificateError("the solvers' record is for a first answer, not for one that must differ from others")
    script = export(question, lower, strict=True, deadline=deadline)
    replies = {solver: _ask(solver, script, seconds, memory_mb) for solver in SOLVERS}
    if any(reply.verdict == "sat" for reply in replies.values()):
        raise SolversDisagreeError("a solver satisfies the question that was refuted; please report this")
    refuted = replies["cvc5"].verdict == "unsat"
    proof = _ask("cvc5", script, seconds, memory_mb, proof=True).proof if refuted else ""
    return SolverCertificate(
        {
            "mace_solver_certificate": FORMAT,
            "mace": _version(),
            "claim": {"anywhere": True} if lower is None else {"closer_than": exact_text(lower)},
            "excluded": points,
            "question": script,
            "verdicts": {solver: _words(reply) for solver, reply in replies.items()},
            "proof_format": "cvc5 CPC, proof-granularity=dsl-rewrite" if proof else None,
            "proof": proof or None,
        },
        question,
    )


def from_dict(data: Any) -> SolverCertificate:
    """A record that was read from a file; raises CertificateError if it is none."""
    if not isinstance(data, dict) or data.get("mace_solver_certificate") != FORMAT or set(data) != FIELDS:
        raise CertificateError("this is no solvers' record of a known format")
    texts = (data["mace"], data["question"], *(data[name] or "" for name in ("proof", "proof_format")))
    verdicts = data["verdicts"]
    sound = (
        all(isinstance(text, str) for text in texts)
        and isinstance(verdicts, dict)
        and all(isinstance(said, str) for said in verdicts.values())
        and _is_claim(data["claim"])
        and _are_points(data["excluded"])
    )
    if not sound:
        raise CertificateError("the solvers' record is damaged")
    return SolverCertificate(data)


def load(path: str | Path) -> SolverCertificate:
    """Read a record without asking anyone; raises CertificateError for a file that is none."""
    from mace.proofs.check import Unusable
    from mace.proofs.check import load as load_data

    try:
        return from_dict(load_data(path))
    except (OSError, Unusable) as error:
        raise CertificateError(f"{path}: {error}") from None


def _is_claim(claim: Any) -> bool:
    """Whether a claim is `{"anywhere": true}`, or `{"closer_than": q}` with an exact rational text in lowest terms."""
    if not isinstance(claim, dict) or len(claim) != 1:
        return False
    if "anywhere" in claim:
        return claim["anywhere"] is True
    bound = claim.get("closer_than")
    if not isinstance(bound, str) or len(bound) > MAX_DIGITS or not RATIONAL.fullmatch(bound):
        return False
    return exact_text(Fraction(bound)) == bound


def _are_points(points: Any) -> bool:
    """Whether this is a list of lists of whole numbers."""
    return (
        isinstance(points, list)
        and len(points) <= MAX_EXCLUDED
        and all(isinstance(point, list) and len(point) <= MAX_EXCLUDED for point in points)
        and all(type(index) is int for point in points for index in point)
    )


def _closer_than(claim: dict[str, Any]) -> Fraction | None:
    return None if "anywhere" in claim else Fraction(claim["closer_than"])


def _versions(wrote: str) -> str:
    """What to think of where the record is of another version, which may write another text for the same question."""
    return "" if wrote == _version() else f"; mace {wrote[:20]} wrote it, and this is mace {_version()}"


def _version() -> str:
    try:
        return metadata.version("mace-smt")
    except metadata.PackageNotFoundError:
        return "unknown"


def _words(reply: SolverAnswer) -> str:
    return reply.verdict if reply.verdict != "unknown" else f"nothing: {reply.why}"


def _ask(
    solver: SolverName, script: str, seconds: float | None, memory_mb: int | None, *, proof: bool = False
) -> SolverAnswer:
    """One solver's reply on a script, in a child process that is killed when its time is over; MB of memory."""
    room, deadline = memory_asked(memory_mb), Deadline.asked(seconds)
    process = SolverProcess(solver, None if room is None else room * 2**20)
    try:
        process.ask_script(script, proof=proof)
        return process.answer(deadline) or SolverAnswer("unknown", why=deadline.why)
    finally:
        process.stop()
