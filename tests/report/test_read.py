"""An audit can be read from each file that `mace audit` writes; anything else is refused, and files are left alone."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import mace
from mace.cli import app
from mace.errors import FileError, RowError
from mace.report import read_audit, to_html
from tests.audit import faults
from tests.report import made


def test_the_whole_audit_comes_back_from_json(tmp_path: Path):
    path = made.audit().save(tmp_path / "a.json")
    assert read_audit(path) == made.audit()
    assert to_html(read_audit(path), 0) == to_html(made.audit(), 0)


@pytest.mark.parametrize("suffix", [".jsonl", ".csv"])
def test_the_answers_come_back_from_a_table(tmp_path: Path, suffix: str):
    read = read_audit(made.audit().save(tmp_path / f"a{suffix}"))
    assert (read.records, read.groups, read.extra, read.about) == (made.audit().records, made.audit().groups, {}, {})


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("checkpoint") / "audit.sqlite"
    frame = faults.people()
    done = mace.audit(
        faults.forest(frame, faults.fair(frame)), faults.space(), frame, ["Sex"], goal=1, limit=5, n_jobs=1,
        protected=["Age"], checkpoint=path, progress=False,
    )  # fmt: skip
    return path, done


def test_the_last_run_comes_back_from_a_checkpoint(checkpoint):
    path, done = checkpoint
    before = path.read_bytes()
    assert read_audit(path) == done
    assert path.read_bytes() == before


def test_a_checkpoint_of_a_run_that_was_stopped_knows_what_was_left(checkpoint, tmp_path: Path):
    path, done = checkpoint
    copy, left = tmp_path / "stopped.sqlite", done.records[-1].key
    copy.write_bytes(path.read_bytes())
    with sqlite3.connect(copy) as base:
        run = json.loads(base.execute("SELECT json FROM run").fetchone()[0])
        run |= {"finished": False, "rows": {"main": run["rows"]["main"]}}
        base.execute("UPDATE run SET json = ?", (json.dumps(run),))
        base.execute("DELETE FROM records WHERE key = ?", (left,))
    base.close()
    read = read_audit(copy)
    places = [place for place, record in enumerate(done.records) if record.key != left]
    assert not read.finished and read.records == [done.records[place] for place in places]
    assert read.about["planned"] == len(done.records) and read.about["goal"] == done.about["goal"]
    assert read.protected == done.protected
    assert read.groups == {name: [labels[place] for place in places] for name, labels in done.groups.items()}
    assert f"({len(places)} of {len(done.records)} rows answered)" in to_html(read)


def test_a_checkpoint_of_a_run_that_never_ended_has_its_records(checkpoint, tmp_path: Path):
    path, done = checkpoint
    copy = tmp_path / "killed.sqlite"
    copy.write_bytes(path.read_bytes())
    with sqlite3.connect(copy) as base:
        base.execute("DROP TABLE run")
    base.close()
    read = read_audit(copy, ["Sex"])
    assert read.records == done.records
    assert read.groups == done.groups
    assert read.protected == ("Age",)
    assert "This report was made from a checkpoint" in to_html(read)
    with pytest.raises(RowError, match="no record has a feature `Nothing` to group by\nThere are Age, Debts"):
        read_audit(copy, ["Nothing"])


def test_a_row_that_left_no_values_is_in_a_group_of_its_own(tmp_path: Path):
    path = replace(made.audit(), groups={}).save(tmp_path / "a.jsonl")
    assert read_audit(path, ["Sex"]).groups["Sex"][5] == "(not recorded)"


def broken(change) -> str:
    data = made.audit().to_dict()
    change(data)
    return json.dumps(data)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "[" * 100_000,
        '{"records": NaN}',
        broken(lambda d: d["records"][0].update(distance="near")),
        broken(lambda d: d["records"][0].update(status="proved")),
        broken(lambda d: d["records"][0].update(changes={"Age": 3})),
        broken(lambda d: d["records"][0].update(unheard=1)),
        broken(lambda d: d["records"][0].update(core=[1])),
        broken(lambda d: d["groups"].update(x=["a"])),
        broken(lambda d: d["extra"]["core"][0].update(row=1000)),
        broken(lambda d: d.update(about=3)),
        broken(lambda d: d.update(about={"limit": "many", "rules": 3})),
        broken(lambda d: d.update(random_state="x")),
    ],
    ids=lambda text: text[:12],
)
def test_a_damaged_file_is_refused_with_its_name(tmp_path: Path, text: str):
    path = tmp_path / "damaged.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=r"damaged.json: cannot be read as an audit") as caught:
        read_audit(path)
    assert "KeyError" not in str(caught.value)


def test_a_file_of_another_kind_is_refused(tmp_path: Path):
    with pytest.raises(FileError, match="there is no such file"):
        read_audit(tmp_path / "absent.json")
    with pytest.raises(FileError, match="an audit is one file\nName what --checkpoint"):
        read_audit(tmp_path)
    (tmp_path / "a.sqlite").touch()
    with pytest.raises(FileError, match=r"It holds a\.sqlite: name one"):
        read_audit(tmp_path)
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    with pytest.raises(FileError, match="cannot tell the format"):
        read_audit(tmp_path / "a.txt")
    (tmp_path / "a.sqlite").write_text("x" * 4096, encoding="utf-8")
    with pytest.raises(FileError, match="cannot be read as an audit"):
        read_audit(tmp_path / "a.sqlite")
    with sqlite3.connect(tmp_path / "b.sqlite") as base:
        base.execute("CREATE TABLE t (x)")
    base.close()
    with pytest.raises(FileError, match="this is no checkpoint of an audit"):
        read_audit(tmp_path / "b.sqlite")


def test_the_command_writes_the_report(checkpoint, tmp_path: Path):
    path, done = checkpoint
    out = tmp_path / "report.html"
    ran = CliRunner().invoke(app, ["report", str(path), "--out", str(out), "--person", str(done.records[0].row)])
    assert ran.exit_code == 0, ran.output
    assert ran.stdout.strip() == f"report of 5 rows written to {out}"
    assert out.read_text(encoding="utf-8") == to_html(done, done.records[0].row)


def test_the_command_never_replaces_the_audit(tmp_path: Path):
    path = made.audit().save(tmp_path / "a.json")
    before = path.read_bytes()
    ran = CliRunner().invoke(app, ["report", str(path), "--out", str(path)])
    assert isinstance(ran.exception, FileError)
    assert "would replace the audit" in str(ran.exception)
    assert path.read_bytes() == before


def test_a_report_is_a_page_or_a_pdf_and_a_wrong_audit_says_what_to_give(tmp_path: Path):
    with pytest.raises(FileError, match=r"letter.txt: a report is .html or .pdf\nGive the file one of these"):
        mace.report(made.audit(), tmp_path / "letter.txt")
    assert not (tmp_path / "letter.txt").exists()
    with pytest.raises(FileError, match=r"there is no such file\nGive what `mace audit` wrote"):
        read_audit(tmp_path / "none.sqlite")
