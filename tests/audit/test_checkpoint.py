"""A run that was killed goes on where it was; a file of something else is left alone."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import make_dataclass
from pathlib import Path

import joblib
import pytest
from typer.testing import CliRunner

import mace
from mace.audit.digest import digest
from mace.audit.store import Store
from mace.cli import app
from mace.errors import FileError, MaceError
from mace.proofs.reader import MODEL
from mace.report.read import read_audit
from tests.audit import faults, run_slowly
from tests.audit.log import read_log

pytestmark = pytest.mark.slow  # many models fitted, or many answers compared

ROOT = Path(__file__).parent.parent.parent
WINDOW = 20  # two processes with a few queries each, a fourth of what is left at most, and as many that wait


def answered(path: Path) -> list[str]:
    with suppress(sqlite3.Error):
        return [key for key, event in read_log(path) if event != "asked"]
    return []


def start_and_kill(path: Path, after: int) -> list[str]:
    """Run the slow audit in a process of its own, kill it with SIGKILL, and give the keys it had answered."""
    child = subprocess.Popen([sys.executable, "-m", "tests.audit.run_slowly", str(path)], cwd=ROOT)
    try:
        end = time.monotonic() + 120
        while len(answered(path)) < after:
            assert child.poll() is None, "the run ended before it could be killed"
            assert time.monotonic() < end
            time.sleep(0.02)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    return answered(path)


def test_a_killed_run_leaves_no_process_behind_and_loses_only_what_was_in_flight(tmp_path: Path, monkeypatch):
    reference = run_slowly.run(None, delay=0.0)
    path = tmp_path / "audit.sqlite"
    mark = f"MACE_TEST_{os.getpid()}_{time.monotonic_ns()}"
    monkeypatch.setenv(mark, "1")
    before = start_and_kill(path, 6)
    monkeypatch.delenv(mark)
    end = time.monotonic() + 20
    while (left := _marked(mark)) and time.monotonic() < end:
        time.sleep(0.1)
    assert left == []
    assert 6 <= len(before) < run_slowly.ROWS
    resumed = run_slowly.run(str(path), delay=0.0, resume=True)
    assert faults.verdicts(resumed) == faults.verdicts(reference)
    assert resumed.asked == run_slowly.ROWS - len(before), "what was answered is not asked again"
    asked = Counter(key for key, event in read_log(path) if event == "asked")
    assert set(asked) == {record.key for record in reference.records}, "nothing is lost"
    twice = {key for key, count in asked.items() if count > 1}
    assert len(twice) <= WINDOW
    assert not twice & set(before), "only what was in flight is done twice"
    assert Counter(answered(path)) == Counter(asked.keys()), "each has exactly one answer"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "said"),
    [
        (
            signal.SIGINT,
            130,
            "mace: interrupted\nWhat was answered is in a.sqlite: the same command goes on from there.",
        ),
        (
            signal.SIGTERM,
            143,
            "mace: terminated\nWhat was answered is in a.sqlite: the same command goes on from there.",
        ),
        (signal.SIGKILL, -9, None),
    ],
    ids=["interrupted", "terminated", "killed"],
)
def test_a_command_that_is_stopped_keeps_its_answers_and_leaves_nothing_else(tmp_path: Path, number, code, said):
    frame = faults.people()
    model = faults.forest(frame, faults.fair(frame), faults.Faulty)
    model.delay = 0.1
    joblib.dump(model, tmp_path / "model.joblib")
    frame.to_csv(tmp_path / "people.csv", index=False)
    faults.space().save(tmp_path / "space.toml")
    asked = "--model model.joblib --trust-pickle --data people.csv --space space.toml --goal 1 --limit 24 --n-jobs 2"
    written = "--checkpoint a.sqlite --out a.csv"
    command = [sys.executable, "-m", "mace", "audit", *f"{asked} {written}".split()]
    # Sockets need short names, so this is not below tmp_path.
    with tempfile.TemporaryDirectory() as scratch:
        settings = os.environ | {"TMPDIR": scratch, "PYTHONPATH": str(ROOT)}
        child = subprocess.Popen(
            command, cwd=tmp_path, env=settings, stderr=subprocess.PIPE, text=True, start_new_session=True,
            preexec_fn=listen_to_interrupts,
        )  # fmt: skip
        end = time.monotonic() + 120
        while len(answered(tmp_path / "a.sqlite")) < 3 and time.monotonic() < end:
            assert child.poll() is None, "the run ended before it could be stopped"
            time.sleep(0.02)
        child.send_signal(number)
        _, errors = child.communicate(timeout=60)
        assert child.returncode == code
        assert said is None or errors.strip().endswith(said)
        assert "Traceback" not in errors
        end = time.monotonic() + 20
        while (left := [path.name for path in Path(scratch).iterdir()]) and time.monotonic() < end:
            if number == signal.SIGKILL and all(name.startswith("pymp-") for name in left):
                break  # Nobody but the killed process may remove multiprocessing's folder: others may share it.
            time.sleep(0.1)
        else:
            assert left == []
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith((".", "a.csv"))]
    before = set(answered(tmp_path / "a.sqlite"))
    assert 3 <= len(before) < 24
    assert (
        CliRunner().invoke(app, ["report", str(tmp_path / "a.sqlite"), "--out", str(tmp_path / "r.html")]).exit_code
        == 0
    )


def listen_to_interrupts() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so do its children unless told otherwise."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _marked(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir() if Path("/proc").is_dir() else ():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):
                if mark.encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
    return found


def small(path: Path | None, **more: object) -> mace.Audit:
    frame = faults.people()
    settings: dict[str, object] = {"goal": 1, "limit": 4, "n_jobs": 1, "checkpoint": path}
    return mace.audit(faults.forest(frame, faults.fair(frame)), faults.space(), frame, **(settings | more))


def test_a_second_run_asks_nothing(tmp_path: Path):
    first = small(tmp_path / "a.sqlite")
    second = small(tmp_path / "a.sqlite")
    assert (first.asked, second.asked) == (4, 0)
    assert second == first
    assert small(tmp_path / "a.sqlite", limit=6).asked == 2, "more rows of the same question go on in the same file"


def test_resume_asks_again_what_failed_and_nothing_else(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    first = small(path)
    with sqlite3.connect(path) as base:
        key = first.records[1].key
        (json,) = base.execute("SELECT json FROM records WHERE key = ?", (key,)).fetchone()
        json = json.replace('"status": "optimal", "failure": ""', '"status": "unknown", "failure": "crashed"')
        sha256 = hashlib.sha256(json.encode()).hexdigest()
        base.execute("UPDATE records SET json = ?, outcome = 'crashed', sha256 = ? WHERE key = ?", (json, sha256, key))
    base.close()
    kept = small(path)
    assert kept.asked == 0
    assert kept.records[1].outcome == "crashed"
    again = small(path, resume=True)
    assert again.asked == 1
    assert faults.verdicts(again) == faults.verdicts(first)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"distance": "l0"}, "distance"),
        ({"timeout": 7.0}, "limits"),
        ({"goal": 0}, "goal"),
        ({"rules": ["Debts <= Income"]}, "rules"),
    ],
)
def test_a_checkpoint_of_another_question_is_refused_and_left_as_it_is(tmp_path: Path, change, named):
    path = tmp_path / "a.sqlite"
    small(path)
    before = path.read_bytes()
    with pytest.raises(FileError, match=f"another question; these differ: {named}"):
        small(path, **change)
    assert path.read_bytes() == before


def test_another_model_or_space_is_another_question(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    small(path)
    frame = faults.people()
    other = faults.forest(frame, faults.fair(frame), trees=6)
    with pytest.raises(FileError, match="these differ: model"):
        mace.audit(other, faults.space(), frame, goal=1, limit=4, n_jobs=1, checkpoint=path)
    same = faults.forest(frame, faults.fair(frame))
    with pytest.raises(FileError, match="these differ: space"):
        mace.audit(same, faults.space(Age="fixed"), frame, goal=1, limit=4, n_jobs=1, checkpoint=path)


def test_a_checkpoint_of_another_version_is_refused(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    small(path)
    base = sqlite3.connect(path)
    base.execute("PRAGMA user_version=99")
    base.close()
    with pytest.raises(FileError, match="format 99"):
        small(path)


def test_records_that_changed_in_the_file_are_damaged(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    small(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        kept = base.execute("SELECT key, json FROM records").fetchall()
        (one, said), (other, also) = [pair for pair in kept if json.loads(pair[1])["distance"]][:2]
        for changes, wrong in (
            ({one: also, other: said}, "another question"),
            ({one: json.dumps(json.loads(said) | {"exact_distance": "1/0"})}, "`distance` is"),
            ({one: json.dumps(json.loads(said) | {"distance": 17.0})}, "`distance` is 17.0"),
            ({one: json.dumps(json.loads(said) | {"lower_bound": 1e-9})}, "`lower_bound` is"),
            ({one: json.dumps(json.loads(said) | {"changes": {}})}, "not as it was written"),
            ({one: json.dumps(json.loads(also) | {"key": one})}, "not as it was written"),
            ({one: said[:200]}, "."),
        ):
            for key, text in changes.items():
                base.execute("UPDATE records SET json=? WHERE key=?", (text, key))
            with pytest.raises(FileError, match=f"damaged.*{wrong}"):
                small(path)
            with pytest.raises(FileError, match=f"cannot be read as an audit.*{wrong}"):
                read_audit(path)
            base.executemany("UPDATE records SET json=? WHERE key=?", [(text, key) for key, text in kept])
    assert small(path).asked == 0


@pytest.mark.parametrize("content", [b"not a data base at all, but long enough " * 40, None])
def test_a_file_that_is_no_checkpoint_is_refused_and_left_as_it_is(tmp_path: Path, content):
    path = tmp_path / "a.sqlite"
    if content is None:
        base = sqlite3.connect(path)
        base.execute("CREATE TABLE accounts (name TEXT)")
        base.commit()
        base.close()
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises(FileError, match="no checkpoint of an audit"):
        small(path)
    assert path.read_bytes() == before


def test_a_run_that_found_no_room_for_its_first_step_goes_on(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    base = sqlite3.connect(path)
    base.execute("PRAGMA journal_mode=WAL")  # a file of one page, without a table
    base.close()
    assert path.stat().st_size
    assert small(path).asked == 4


def test_a_certificate_that_found_no_room_is_written_by_the_next_run(tmp_path: Path):
    folder, path = tmp_path / "proofs", tmp_path / "a.sqlite"
    small(path, certificates=folder)
    kept = {file.name: file.read_bytes() for file in folder.iterdir()}
    path.unlink()
    stolen = next(name for name in kept if not name.endswith(MODEL))
    (folder / stolen).unlink()
    (folder / stolen).mkdir()  # no file can take its place
    short = small(path, certificates=folder)
    (one,) = [record for record in short.records if record.proof == "kept"]
    assert (one.status, one.certificate) == ("optimal", "") and "cannot be written" in one.proof_why
    assert any("could not be written" in note for note in one.notes)
    assert "1 could not be written" in str(short) and "no certificates were asked for" not in str(short)
    (folder / stolen).rmdir()
    later = small(path, certificates=folder)
    assert later.asked == 1 and all(record.proof == "accepted" for record in later.records)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == kept


def test_a_distance_that_no_record_holds_is_the_failure_of_its_row_and_not_of_the_audit(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    done = small(path, weights=dict.fromkeys(faults.space().names, 10**400))
    assert done.records and all(record.failure == "error" and "largest float" in record.why for record in done.records)
    assert read_audit(done.save(tmp_path / "a.json")).records == done.records == read_audit(path).records


def test_a_certificate_that_is_not_the_row_s_own_is_written_anew(tmp_path: Path):
    folder, path = tmp_path / "proofs", tmp_path / "a.sqlite"
    first = small(path, certificates=folder)
    kept = {file.name: file.read_bytes() for file in folder.iterdir()}
    one, other = (record.certificate for record in first.records[:2])
    (folder / one).write_bytes(kept[other])  # which the checker would accept, of another row
    again = small(path, certificates=folder)
    assert again.asked == 1 and faults.verdicts(again) == faults.verdicts(first)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == kept


def test_reading_a_checkpoint_leaves_no_file_beside_it(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    small(path)
    assert len(read_log(path)) == 8
    assert CliRunner().invoke(app, ["report", str(path), "--out", str(tmp_path / "r.html")]).exit_code == 0
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.sqlite", "r.html"]


def test_a_checkpoint_that_can_be_no_file_is_named_with_what_to_do(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileError, match=r"folder: this is a folder\nGive the name of a file"):
        Store(tmp_path / "folder", {})
    with pytest.raises(FileError, match=r"a\.sqlite: there is no folder .*absent\nMake it"):
        Store(tmp_path / "absent" / "a.sqlite", {})


def test_to_resume_needs_a_checkpoint():
    with pytest.raises(MaceError, match="nothing to resume without a checkpoint"):
        small(None, resume=True)


def test_two_audits_do_not_write_to_one_checkpoint(tmp_path: Path):
    path = tmp_path / "a.sqlite"
    seen = []

    def meanwhile(*_: object) -> None:
        with pytest.raises(FileError, match="another audit is writing"):
            small(path)
        seen.append(1)

    small(path, progress=False, callback=meanwhile)
    assert len(seen) == 4


def test_a_field_with_its_default_does_not_count_so_that_a_later_version_may_have_one_more():
    before = make_dataclass("Table", [("a", int)])
    after = make_dataclass("Table", [("a", int), ("link", object, None), ("error", float, 0.0)])
    assert digest(before(1)) == digest(after(1))
    others = [after(1, "x"), after(1, None, -0.0), after(1, None, 0), after(2)]
    assert len({digest(one) for one in [before(1), *others]}) == 5
