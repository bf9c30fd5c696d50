"""The checker reads the proof of a network, or of a distance of forms, before anything rests on it.

In:  a question, an oracle and how it is asked (`read`); or a bracket with its proof, and the question as the prover
     answered it (`recheck`).
Out: the bracket as it was, or without the bound and the proof, and with the reason.
Promise: no bound is returned whose certificate the checker was seen to refuse, and none whose proof rests on floats
that no checker has read: for lack of time, or because no certificate can be written. Whoever asks an oracle asks here.
Why: the prover verifies each leaf in exact arithmetic, with its own bounds of hidden units: they hold, but are a little
wider than a checker's. That a box is empty it may have from floats alone, and the ends that it tightens are floats,
which cancellation may leave narrower than their multipliers prove. The bounds of forms are doubles that err on the
safe side, so that without time for a reading they count. Any other proof about trees holds no floats, nor does one
about a linear model, which has no hidden units.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mace.base.deadline import NEVER, Deadline, TimeOverError
from mace.base.files import write_whole
from mace.certify.models import model_written
from mace.certify.numbers import canonical
from mace.certify.rules import holdable
from mace.certify.statement import certifiable
from mace.errors import CertificateError
from mace.problem.distance import Norm
from mace.problem.programs import rule_of
from mace.problem.proof import Leaf, Proof, Tighten
from mace.problem.question import Question
from mace.solve.driver import Bracket
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Oracle
from mace.space.axes import Point
from mace.tables.table import Formula, Network, Table

if TYPE_CHECKING:
    from mace.certify.writer import Certificate

READING = "the checker was reading the proof"
SHORT = 300_000
"""Certificates of fewer characters are checked at once: starting a process takes longer."""
DENSER = 4
"""So many times as long does the checker need for the same number of characters of a network."""


class Read(NamedTuple):
    """A bracket that the checker has read, and the question as it was answered: without what the model refused."""

    bracket: Bracket
    question: Question


def read(
    question: Question, oracle: Oracle, ask: Callable[[Oracle, Point | None], Bracket], deadline: Deadline = NEVER
) -> Read:
    """Ask an oracle, and let the checker read what it proved.

    ask: puts the question to an oracle, with the best point known so far. It is called again, with a prover that
         tightens nothing, where a bound had to be taken away that rests on tightened ends.
    """
    bracket = ask(oracle, None)
    answered = question.without(bracket.refused)
    # Of the rows of Adult, in raw units, about one in two hundred.
    if recheck(bracket, answered, deadline) and not deadline.over:
        bracket = ask(NetworkOracle(question, tightens=False), bracket.point)
        answered = question.without(bracket.refused)
        recheck(bracket, answered, deadline)
    return Read(bracket, answered)


def recheck(bracket: Bracket, question: Question, deadline: Deadline = NEVER) -> bool:
    """Take a bound away whose proof the checker refuses, or, where floats decided, cannot read or not in time.

    Returns whether it was taken away, and rests on bounds of hidden units that were tightened.
    A rule that no certificate can hold stands here as `false`: leaves that it closes pass, and all others are read.
    """
    proof = bracket.proof
    if proof is None:
        return False
    nodes = dict(zip(map(id, proof), proof, strict=True)).values()  # of trees, thousands are few different ones
    tightened = any(isinstance(node, Tighten) for node in nodes)
    by_floats = tightened or any(isinstance(node, Leaf) and node.rule == "empty" for node in nodes)
    model, formed = question.model, not isinstance(question.distance, Norm)
    if not by_floats and not formed and not (isinstance(model, Network) and len(model.layers) > 1):
        return False
    if question.rules:
        never = rule_of("false", question.space)
        kept = tuple(rule if holdable(rule, question.axes) else never for rule in question.rules)
        question = replace(question, rules=kept)
    lower = None if bracket.status == "infeasible" else bracket.lower
    refusal, unread, spare = "", certifiable(question) or "", None
    if not unread:
        if bracket.spare is not None and bracket.spare.proof is not proof:  # read first: afterwards no time may be left
            spare = None if any(_read(question, *bracket.spare, deadline)) else bracket.spare
        refusal, unread = _read(question, lower, proof, deadline)
    if not refusal and not (unread and by_floats):
        return False
    bracket.proof, bracket.lower, bracket.why = None, Fraction(0), refusal or unread
    bracket.status = "unknown" if bracket.point is None else "bounded"
    if unread and spare is not None:
        bracket.lower, bracket.proof = spare
        bracket.why += "; the bound is that of a shorter proof"
    return tightened


def _read(question: Question, lower: Fraction | None, proof: Proof | None, deadline: Deadline) -> tuple[str, str]:
    """Why the checker refuses a proof, and why it has not read it; both are empty where it accepts."""
    assert proof is not None
    from mace.certify.writer import certificate  # late: of trees nothing is read

    try:
        return objection(certificate(question, lower, None, proof, deadline=deadline), deadline, question.model), ""
    except CertificateError as error:
        return "", error.message
    except TimeOverError as error:
        return "", str(error)


def objection(made: Certificate, deadline: Deadline, model: Table) -> str:
    """Why the checker refuses a certificate about a model, empty if it accepts; raises TimeOverError.

    With a limit, the checker of a long one is a process of its own.
    """
    from mace.proofs import check

    refused = "the checker refused the prover's proof ({}); please report this"
    deadline.look(READING)
    assert not isinstance(model, Formula)
    said, known = made.data["statement"], model_written(model)
    # By way of the text, so that the checker sees what a file would hold; the model's is the same for all questions.
    raw, left = canonical({**made.data, "statement": {**said, "model": {}}}), deadline.left()
    size = (len(raw) + len(known.text)) * (DENSER if isinstance(model, Network) else 1)
    if left is None or left > 0 and size < SHORT:
        data = json.loads(raw)
        data["statement"]["model"] = known.parsed
        verdict = check.check(data)
        return "" if verdict.accepted else refused.format(verdict.reason)

    with tempfile.TemporaryDirectory() as folder:
        file = write_whole(Path(folder) / "proof.json", canonical(made.data))
        command = [sys.executable, "-I", "-S", check.__file__, str(file)]
        try:
            deadline.look(READING)
            done = subprocess.run(command, capture_output=True, text=True, timeout=deadline.left(), check=False)
        except subprocess.TimeoutExpired:
            raise TimeOverError(f"{deadline.why}, reached while {READING}") from None
    return "" if done.returncode == 0 else refused.format((done.stdout or done.stderr).strip())
