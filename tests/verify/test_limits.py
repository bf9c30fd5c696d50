"""Every stage of `verify` looks at the clock: making questions, writing certificates, having them read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import mace
from mace.base import deadline
from mace.base.deadline import Deadline, TimeOverError
from mace.certify import recheck
from mace.problem.proof import Proof
from mace.problem.question import Question
from mace.verify import proved
from mace.verify.cases import attempts
from mace.verify.properties import read
from mace.verify.proved import evidence
from mace.verify.subject import Subject
from tests.clocks import Hand, Ticking, Time

PAIRS = ["monotone(age, increasing)", "fair(owns)"]


def forest(*, rises: bool) -> tuple[RandomForestClassifier, mace.Space]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 200), "owns": rng.integers(0, 2, 200)})
    space = mace.Space.from_frame(frame)
    target = frame["age"] >= 40 if rises else rng.integers(0, 2, 200)
    model = RandomForestClassifier(5, max_depth=4, random_state=0).fit(space.encode(frame), target)
    return model, space


@pytest.mark.parametrize(
    ("given", "seconds", "doing"),
    [
        ("monotone(age, increasing)", 1.0, "finding where trees change their answer"),
        ("monotone(age, increasing)", 10.0, "making one model of the two"),
        ("fair(owns)", 10.0, "making one model of the two"),
        ("holds('not (owns == 1 and other_owns == 0) or f == other_f')", 10.0, "making one model of the two"),
    ],
)
def test_questions_are_made_up_to_the_deadline(given: str, seconds: float, doing: str) -> None:
    asked = attempts(Subject(*forest(rises=False)), read(given), None, Deadline.after(seconds, Ticking()))
    with pytest.raises(TimeOverError, match=f"reached while {doing}"):
        list(next(asked).cases)


@pytest.mark.parametrize("given", PAIRS)
@pytest.mark.parametrize("seconds", [2, 10, 50, 100, 500])
def test_a_verdict_in_too_little_time_is_unknown_and_says_so(
    given: str, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, space = forest(rises=True)
    whole = mace.verify(model, space, given)
    monkeypatch.setattr(deadline, "time", Time(Ticking()))
    verdict = mace.verify(model, space, given, timeout=seconds)
    assert verdict.status in (whole.status, "unknown")
    if verdict.status == "unknown":
        assert f"time limit ({seconds} s)" in verdict.why
    if verdict.status == "proved" and not verdict.certified:
        assert any(f"no certificate: time limit ({seconds} s)" in note for note in verdict.notes)


def refuted() -> tuple[Question, Proof]:
    """A question that is refuted, and the proof."""
    model, space = forest(rises=True)
    low = mace.Space([mace.Feature("age", "integer", 20, 30), space["owns"]])
    answer = mace.explain(model, low, {"age": 25, "owns": 0}, goal=True)
    assert answer.status == "infeasible" and answer.question is not None and answer.proof is not None
    return answer.question, answer.proof


def test_a_proof_that_is_not_written_in_time_is_postponed() -> None:
    question, proof = refuted()
    assert evidence(question, proof, None, Deadline.after(1000, Ticking())).certificate is not None
    for seconds in (0.5, 1.0, 2.0, 3.0):
        found = evidence(question, proof, None, Deadline.after(seconds, Ticking()))
        assert found.certificate is None and found.doubt == ""
        assert found.note.startswith(f"no certificate: time limit ({seconds:g} s), reached while ")


def test_a_certificate_that_is_not_read_in_time_is_postponed_and_never_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Hand()
    question, proof = refuted()
    monkeypatch.setattr(recheck, "SHORT", 0)
    canonical = recheck.canonical

    def slowly(data: object) -> bytes:
        clock.now += 5.0
        return canonical(data)

    monkeypatch.setattr(recheck, "canonical", slowly)
    found = evidence(question, proof, None, Deadline.after(2.0, clock))
    assert (found.certificate, found.doubt) == (None, "")
    assert "time limit (2 s), reached while the checker was reading the proof" in found.note

    def late(*_: object) -> str:
        raise TimeOverError("time limit (2 s)")

    monkeypatch.setattr(proved, "objection", late)
    verdict = mace.verify(*forest(rises=True), "monotone(age, increasing)")
    assert verdict.status == "proved" and verdict.refuted
    assert not verdict.certified and not verdict.certificates
    assert "no certificate: time limit (2 s); more time gives one" in verdict.notes
