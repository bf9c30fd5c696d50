"""What a verdict rests on: solvers are never counted as the checker, and a refused certificate leaves no verdict."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

import mace
from mace.audit import certificates
from mace.audit.certificates import Writer
from mace.audit.export import read
from mace.audit.task import Query, Task
from mace.audit.worker import Worker
from mace.base import deadline
from mace.certify import record as solver_certificate
from mace.certify.record import load
from mace.cli import app
from mace.problem.goal_text import wanted
from mace.proofs.check import Verdict
from mace.report.make import to_html
from mace.solve.smt.process import SolverAnswer
from tests.audit import faults
from tests.clocks import Hand, Time


def asked(folder: Path, **more: object) -> mace.Audit:
    frame = faults.people()
    model = faults.forest(frame, faults.fair(frame), trees=2)
    rejected = frame[model.predict(faults.space().encode(frame)) == 0]
    settings = {"goal": 1, "limit": 2, "n_jobs": 1, "certificates": folder, "background": frame}
    return mace.audit(model, faults.space(), rejected, **(settings | more))


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> tuple[mace.Audit, Path]:
    folder = tmp_path_factory.mktemp("records")
    return asked(folder, oracle="smt"), folder


def test_what_solvers_answered_is_written_and_not_called_certified(solved: tuple[mace.Audit, Path]):
    audit, folder = solved
    assert audit.findings.statuses.proved.value == 1.0
    assert audit.findings.statuses.certified.count == 0
    assert audit.findings.statuses.proofs == {"solvers": 2}
    for record in audit.records:
        assert record.proof_why == "z3 says unsat, cvc5 says unsat"
        path = folder / record.certificate
        assert path.stat().st_size == record.certificate_bytes
        assert load(path).data["claim"] == {"closer_than": record.exact_lower_bound}


def test_a_folder_is_checked_with_what_solvers_refuted_counted_apart(solved: tuple[mace.Audit, Path], tmp_path: Path):
    audit, folder = solved
    asked(tmp_path, limit=1)
    record = folder / audit.records[0].certificate
    (tmp_path / record.name).write_bytes(record.read_bytes())
    ran = CliRunner().invoke(app, ["check", str(tmp_path)])
    assert ran.output.splitlines()[-1] == "1 accepted by the checker, 1 not checked by solvers"
    assert ran.exit_code == 5
    (tmp_path / "other.json").write_text("{", encoding="utf-8")
    ran = CliRunner().invoke(app, ["check", str(tmp_path), "--format", "json"])
    assert ran.exit_code == 2
    assert [one["status"] for one in json.loads(ran.stdout)["files"]] == ["accepted", "unusable", "not checked"]


def test_the_report_says_what_rests_on_solvers(solved: tuple[mace.Audit, Path]):
    audit, folder = solved
    text = to_html(audit, audit.records[0].row, certificates=folder)
    assert "2 rows rest on solvers, which no checker has confirmed" in text
    assert "2 rows have no certificate that the checker accepted" in text
    assert "Checked again for this report" in text
    assert "z3 says unsat, cvc5 says unsat" in text
    assert "not checked: what solvers said is asked again by the command below" in text
    assert "--model MODEL --data DATA --row" in text


def worker(folder: Path, **more: object) -> tuple[Worker, Query]:
    """In this process, so that what it calls can be replaced."""
    frame = faults.people()
    model = faults.forest(frame, faults.fair(frame), trees=2)
    row = frame[model.predict(faults.space().encode(frame)) == 0].iloc[0].to_dict()
    oracle = str(more.get("oracle", "auto"))
    goal, seconds = wanted(1, (0, 1)), cast(float, more.get("timeout", 60.0))
    task = Task(model, faults.space(), goal, "l1", None, (), None, None, oracle, seconds, None, frame, folder)
    return Worker(task), Query("0" * 64, 0, "0", row)


def test_a_refused_certificate_leaves_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Writer, "check", lambda *_: ("refused", "refused at line 7"))
    record = (lambda w, q: w.answer(q))(*worker(tmp_path))
    assert (record.proof, record.status, record.proved) == ("refused", "bounded", False)
    assert record.exact_lower_bound == "0"
    assert record.changes, "the witness was confirmed by the model itself"
    assert record.why == "its certificate was refused: refused at line 7"


def test_a_certificate_that_the_checker_cannot_use_is_unchecked_and_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asked, query = worker(tmp_path)
    asked.ready()  # it checks what it needs for that, too
    short = "it needs more memory than there is"
    monkeypatch.setattr("mace.proofs.check.check", lambda _: Verdict(accepted=False, reason=short, unusable=True))
    record = asked.answer(query)
    assert (record.status, record.proof, record.proof_why) == ("optimal", "unchecked", f"unusable: {short}")


def test_solvers_that_contradict_themselves_leave_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(solver_certificate, "_ask", lambda *_, **__: SolverAnswer("sat"))
    record = (lambda w, q: w.answer(q))(*worker(tmp_path, oracle="z3"))
    assert (record.proof, record.status, record.certificate) == ("refused", "bounded", "")
    assert list(tmp_path.iterdir()) == []


def test_solvers_that_say_nothing_the_second_time_leave_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(solver_certificate, "_ask", lambda *_, **__: SolverAnswer("unknown", why="timed out"))
    record = (lambda w, q: w.answer(q))(*worker(tmp_path, oracle="z3"))
    assert (record.proof, record.status, record.certificate) == ("none", "optimal", "")
    assert "z3 says nothing: timed out" in record.proof_why
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_audit_knows_when_it_ran_and_its_files_do_too(tmp_path: Path):
    before = datetime.now(UTC) - timedelta(seconds=2)  # the end and the start are each cut to whole seconds
    checkpoint = tmp_path / "a.sqlite"
    audit = asked(tmp_path / "certificates", checkpoint=checkpoint)
    assert audit.period is not None
    first, last = audit.period
    assert before <= first <= last <= datetime.now(UTC)
    assert asked(tmp_path / "certificates", checkpoint=checkpoint).period == audit.period, "nothing was asked again"
    for name in ("a.csv", "a.jsonl", "a.json"):
        assert read(audit.save(tmp_path / name))[0] == audit.records
    shown = f"{first:%Y-%m-%d, %H:%M}"
    for name in ("a.sqlite", "a.csv", "a.json"):
        ran = CliRunner().invoke(app, ["report", str(tmp_path / name), "--out", str(tmp_path / "r.html")])
        assert ran.exit_code == 0, ran.output
        assert f"Date: {shown}" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "a.json").read_text())["period"] == [first.isoformat(), last.isoformat()]


def test_writing_the_model_is_not_charged_to_the_first_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    clock = Hand()
    monkeypatch.setattr(deadline, "time", Time(clock))
    asked, query = worker(tmp_path, timeout=2.0)
    write = certificates.model_written

    def slowly(table: Any) -> Any:
        clock.now += 100.0
        return write(table)

    monkeypatch.setattr(certificates, "model_written", slowly)
    asked.ready()
    assert clock.now == 200.0
    record = asked.answer(query)
    assert (record.status, record.proof, clock.now) == ("optimal", "accepted", 200.0)


def test_a_certificate_that_is_not_read_in_time_is_unchecked_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    clock = Hand()
    monkeypatch.setattr(deadline, "time", Time(clock))
    save = Writer.save

    def slowly(self: Writer, *given: Any) -> int:
        clock.now += 5.0
        return save(self, *given)

    monkeypatch.setattr(Writer, "save", slowly)
    record = (lambda w, q: w.answer(q))(*worker(tmp_path, timeout=2.0))
    assert (record.status, record.proof) == ("optimal", "unchecked")
    assert record.proof_why.startswith("time limit (2 s), reached before the checker had read it")
