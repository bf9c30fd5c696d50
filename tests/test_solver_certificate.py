"""Answers of the solvers' route carry the refuted question, and a wrong claim is refused."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from mace.errors import CertificateError
from mace.solver_certificate import SolverCertificate, from_dict, solver_certificate
from tests.reference import nearest, random_question

ANSWERED = [q for q in map(random_question, range(20)) if (b := nearest(q)) and b[0] > 0][:3]
HOPELESS = next(q for q in map(random_question, range(100)) if nearest(q) is None)


@pytest.mark.parametrize("question", ANSWERED, ids=["first", "second", "third"])
def test_both_solvers_refute_what_enumeration_refutes(question):
    made = solver_certificate(question, nearest(question)[0])
    assert made.data["verdicts"] == {"z3": "unsat", "cvc5": "unsat"}
    assert made.check().accepted
    assert made.data["proof"]


def test_a_proved_impossibility_has_a_record_too():
    assert solver_certificate(HOPELESS, None).check().accepted


def test_a_claim_that_is_too_large_is_not_written():
    with pytest.raises(CertificateError, match="satisfies"):
        solver_certificate(ANSWERED[0], nearest(ANSWERED[0])[0] + Fraction(1, 1000))


def test_a_changed_question_is_refused():
    made = solver_certificate(ANSWERED[0], nearest(ANSWERED[0])[0])
    weaker = made.data | {"question": "(declare-const x Int)\n(assert (> x 3))\n(check-sat)"}
    assert not SolverCertificate(weaker).check().accepted
    nothing = made.data | {"question": "(this is no script"}
    assert not SolverCertificate(nothing).check().accepted


def test_a_saved_record_is_read_back(tmp_path):
    made = solver_certificate(HOPELESS, None)
    made.save(tmp_path / "record.json")
    assert from_dict(json.loads((tmp_path / "record.json").read_text())).data == made.data
    with pytest.raises(CertificateError, match="no solver certificate"):
        from_dict({"mace_certificate": 1})
