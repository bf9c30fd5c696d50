"""What a refutation leaves behind: a certificate that the checker has read, or a line that says why there is none.

In:  the question that was refuted, and the proof of it.
Out: a `Evidence`. A proof that the checker refuses is no proof: then there is a doubt, and no verdict rests on it.
Promise: a certificate that is returned was accepted by the checker. One that could not be written and read in the time
allowed is not returned: `note` says so, and more time gives it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from mace.base.deadline import Deadline, TimeOverError
from mace.certify.recheck import objection
from mace.errors import CertificateError
from mace.problem.proof import Proof
from mace.problem.question import Question

if TYPE_CHECKING:
    from mace.certify.writer import Certificate
    from mace.explain.answer import Answer
    from mace.tables.table import Table


class Evidence(NamedTuple):
    """A certificate if there is one; a note for the verdict, and why the refutation cannot count: empty if it does."""

    certificate: Certificate | None = None
    note: str = ""
    doubt: str = ""


def evidence(question: Question, proof: Proof | None, lower: Fraction | None, deadline: Deadline) -> Evidence:
    """Write the certificate of a refutation, and let the checker read it.

    lower: nothing with the goal is closer; None: there is nothing with the goal at all.
    """
    from mace.certify.statement import certifiable
    from mace.certify.writer import certificate

    if proof is None:
        why = certifiable(question) or "the solvers refuted a question, and their refutations are no certificates"
        return Evidence(note=_without(why))
    return _read(lambda: certificate(question, lower, None, proof, deadline=deadline), deadline, question.model)


def evidence_of(answer: Answer, deadline: Deadline) -> Evidence:
    """The same for the bound of an answer."""
    from mace.certify.statement import certifiable
    from mace.certify.writer import certificate

    assert answer.question is not None
    if answer.proof is None:
        why = certifiable(answer.question) or answer.why or f"the oracle {answer.oracle!r} writes none"
        return Evidence(note=_without(why))
    question, witness = answer.question, answer.witness
    lower = None if answer.status == "infeasible" else answer.exact_lower_bound
    return _read(
        lambda: certificate(question, lower, witness, answer.short_proof(deadline), deadline=deadline),
        deadline,
        question.model,
    )


def _read(write: Callable[[], Certificate], deadline: Deadline, model: Table) -> Evidence:
    """The certificate, if it can be written and the checker accepts it, both in the time allowed."""
    try:
        made = write()
        why = objection(made, deadline, model)
    except CertificateError as error:
        return Evidence(note=_without(error.message.removeprefix("no certificate can be written: ")))
    except TimeOverError as over:
        return Evidence(note=_without(f"{over}; more time gives one"))
    return Evidence(doubt=why) if why else Evidence(made)


def _without(why: str) -> str:
    return f"no certificate: {why}"


__all__ = ["Evidence", "evidence", "evidence_of"]
