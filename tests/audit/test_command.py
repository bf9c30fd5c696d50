"""What an auditor types by mistake is refused before the work, and what is printed can be read."""

from __future__ import annotations

import json
from pathlib import Path

import joblib
import pytest
from rich.console import Console
from typer.testing import CliRunner

import mace
from mace.base.files import write_whole
from mace.cli import app
from mace.errors import FileError, MaceError
from mace.report.text import as_rich
from tests.audit import faults


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("given")
    frame = faults.people(60)
    joblib.dump(faults.forest(frame, faults.fair(frame), trees=2), folder / "model.joblib")
    frame.to_csv(folder / "people.csv", index=False)
    faults.space().save(folder / "space.toml")
    names = {"--model": "model.joblib", "--data": "people.csv", "--space": "space.toml"}
    return [*(part for option, name in names.items() for part in (option, str(folder / name))), "--trust-pickle"]


@pytest.mark.parametrize(
    ("command", "options", "words"),
    [
        ("explain", ["--certificate", "absent/c.json"], "there is no folder absent"),
        ("audit", ["--goal", "1", "--out", "absent/a.csv"], "there is no folder absent"),
        ("audit", ["--goal", "1", "--out", "a.txt"], "cannot tell the format from the name"),
        ("audit", ["--goal", "1", "--resume"], "nothing to resume without a checkpoint"),
        ("audit", ["--goal", "1", "--groups", "Colour"], "the frame has no column `Colour`"),
        ("audit", ["--goal", "1", "--rows", "0"], "limit must be a whole number >= 1"),
        ("verify", ["--property", "fair(Sex)", "--certificates", "/dev/null/x"], "cannot be used as a folder"),
        ("verify", [], "give either --property or --suite"),
        ("explain", ["--row", "60"], "the data has the rows 0..59"),
    ],
)
def test_a_mistake_is_a_message(
    given: list[str], command: str, options: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(app, [command, *given, *options])
    assert isinstance(ran.exception, MaceError)
    assert ran.exception.exit_code == 2
    assert words in str(ran.exception)


def test_json_is_all_that_stands_on_stdout(given: list[str]):
    ran = CliRunner().invoke(
        app, ["audit", *given, "--goal", "1", "--rows", "2", "--processes", "1", "--format", "json"]
    )
    assert ran.exit_code == 0
    assert len(json.loads(ran.stdout)["records"]) == 2
    assert "pickle" in ran.stderr


def test_no_number_is_broken_in_two_on_a_narrow_terminal():
    frame = faults.people()
    model = faults.forest(frame, faults.fair(frame), trees=2)
    audit = mace.audit(model, faults.space(), frame, ["Sex"], goal=1, limit=4, processes=1)
    console = Console(width=80, record=True, color_system=None)
    console.print(as_rich(audit))
    words = console.export_text().split()
    for line in audit.findings.distances:
        assert f"{line.median.value:.4g}" in words
        assert f"{line.mean.value:.4g}" in words


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path):
    write_whole(Path("/dev/null"), b"nothing")
    assert Path("/dev/null").is_char_device()
    with pytest.raises(FileError, match="cannot be written"):
        write_whole(tmp_path / "absent" / "x", b"")
