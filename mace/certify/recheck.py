"""The checker reads the proof of a network, or of a distance of forms, before the answer is returned.

In:  a bracket with a proof, and the question as the prover answered it.
Out: the bracket as it was, or without the bound and the proof, and with the reason.
Promise: no answer is returned whose certificate the checker was seen to refuse, and none whose proof rests on floats
that no checker has read.
Why: the prover verifies each leaf in exact arithmetic, but with its own bounds of hidden units, which are a little
wider than a checker's; and that a box is empty it may have from floats alone. The bounds of forms are doubles, too. Any
other proof about trees holds no floats, nor does one about a linear model, which has no hidden units.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from mace.base.deadline import NEVER, Deadline, TimeOverError
from mace.base.files import write_whole
from mace.certify.writer import Certificate, canonical, certifiable, certificate, holdable
from mace.errors import CertificateError
from mace.problem.distance import Norm
from mace.problem.programs import rule_of
from mace.problem.proof import Leaf, Tighten
from mace.problem.question import Question
from mace.solve.driver import Bracket
from mace.tables.table import Network

READING = "the checker was reading the proof"
SHORT = 300_000
"""Certificates of fewer characters are checked at once: starting a process takes longer."""
DENSER = 4
"""So many times as long does the checker need for the same number of characters of a network."""


def recheck(bracket: Bracket, question: Question, deadline: Deadline = NEVER) -> bool:
    """Take a bound away whose proof the checker refuses, or, where floats alone decided, does not accept in time.

    Returns whether the checker refused it, and the proof has bounds of hidden units that rest on one another.
    A rule that no certificate can hold stands here as `false`: leaves that it closes pass, and all others are read.
    """
    proof = bracket.proof
    if proof is None:
        return False
    by_floats = any(isinstance(node, Leaf) and node.rule == "empty" for node in proof)
    model, formed = question.model, not isinstance(question.distance, Norm)
    if not by_floats and not formed and not (isinstance(model, Network) and len(model.layers) > 1):
        return False
    never = rule_of("false", question.space)
    kept = tuple(rule if holdable(rule, question.axes) else never for rule in question.rules)
    question = replace(question, rules=kept)
    lower = None if bracket.status == "infeasible" else bracket.lower
    unread, refusal = certifiable(question) or "", ""
    if not unread:
        try:
            refusal = objection(certificate(question, lower, None, proof, deadline=deadline), deadline)
        except CertificateError as error:
            unread = error.message
        except TimeOverError as error:
            unread = str(error)
    if refusal or unread and by_floats:
        bracket.proof, bracket.lower, bracket.why = None, Fraction(0), refusal or unread
        bracket.status = "unknown" if bracket.point is None else "bounded"
    return bool(refusal) and any(isinstance(node, Tighten) for node in proof)


def objection(made: Certificate, deadline: Deadline) -> str:
    """Why the checker refuses a certificate, empty if it accepts; raises TimeOverError.

    With a limit, the checker of a long one is a process of its own.
    """
    refused = "the checker refused the prover's proof ({}); please report this"
    deadline.look(READING)
    raw = canonical(made.data)
    left = deadline.left()
    size = len(raw) * (DENSER if made.data["statement"]["model"].get("kind") == "network" else 1)
    if left is None or left > 0 and size < SHORT:
        verdict = made.check()
        return "" if verdict.accepted else refused.format(verdict.reason)
    from mace.proofs import check

    with tempfile.TemporaryDirectory() as folder:
        file = write_whole(Path(folder) / "proof.json", raw)
        command = [sys.executable, "-I", "-S", check.__file__, str(file)]
        try:
            deadline.look(READING)
            done = subprocess.run(command, capture_output=True, text=True, timeout=deadline.left(), check=False)
        except subprocess.TimeoutExpired:
            raise TimeOverError(f"{deadline.why}, reached while {READING}") from None
    return "" if done.returncode == 0 else refused.format((done.stdout or done.stderr).strip())
