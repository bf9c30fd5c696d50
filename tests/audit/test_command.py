"""What an auditor types by mistake is refused before the work, and what is printed can be read."""

from __future__ import annotations

import gzip
import hashlib
import inspect
import json
import os
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from threading import Thread
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

import mace
from mace.audit.certificates import EarlierCertificates
from mace.audit.command import run_audit
from mace.base.files import write_whole
from mace.cli import app
from mace.cli.audit import _stoppable
from mace.cli.faults import StoppedError, explained
from mace.cli.resolve import row_of
from mace.datasets.loans import loans
from mace.errors import FileError, MaceError
from mace.proofs.reader import MODEL
from mace.report.text import as_rich
from mace.solve.protocol import jobs_asked
from tests.audit import faults
from tests.report import made


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
        ("audit", ["--goal", "1", "--limit", "0"], "limit must be a whole number >= 1"),
        ("audit", ["--goal", "1", "--random-state", "-1"], "--random-state must be a whole number >= 0"),
        ("verify", ["--property", "fair(Sex)", "--certificates", "/dev/null/x"], "cannot be used as a folder"),
        ("menu", ["--certificates", "/dev/null/x"], "cannot be used as a folder"),
        ("front", ["--certificates", "/proc/x"], "cannot be used as a folder"),
        ("front", ["--plot", "f.foo"], "cannot tell the format from the name"),
        ("plan", ["--world", "loans", "--plot", "absent/p.svg"], "there is no folder absent"),
        ("export", ["--to", "json", "--out", "absent/q"], "there is no folder absent"),
        ("verify", [], "give either --property or --suite"),
        ("serve", ["--goal", "7"], "the goal '7' is not a class of this model"),
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


def test_a_plot_that_cannot_be_drawn_costs_no_answer_and_leaves_no_file(
    given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def half(_: object, file: Any, **__: object) -> None:
        file.write(b"<svg")
        raise KeyboardInterrupt

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", half)
    file = tmp_path / "f.svg"
    with pytest.raises(StoppedError), redirect_stdout(StringIO()) as printed, explained():
        app(["front", *given, "--goal", "1", "--row", "3", "--plot", str(file)], standalone_mode=False)
    assert "proved: these are all" in printed.getvalue() and not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", ["menu", "front"])
def test_certificates_of_one_command_share_the_file_of_their_model(given: list[str], command: str, tmp_path: Path):
    folder = tmp_path / "proofs"
    frame, model = pd.read_csv(given[3]), joblib.load(given[1])
    refused = int(np.flatnonzero(model.predict(faults.space().encode(frame)) == 0)[0])
    asked = [command, *given, "--goal", "1", "--row", str(refused), "--certificates", str(folder)]
    assert CliRunner().invoke(app, asked).exit_code == 0
    names = [path.name for path in folder.iterdir()]
    files = [name for name in names if not name.endswith(MODEL)]
    assert len(names) == len(files) + 1 and len(files) > 1
    ran = CliRunner().invoke(app, ["check", str(folder)])
    assert ran.exit_code == 0 and f"{len(files)} accepted by the checker" in ran.stdout.splitlines()[-1]
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files}
    assert all(EarlierCertificates(folder).whole(*pair) for pair in digests.items())
    for damaged in (b"", b"no gzip", (folder / files[0]).read_bytes()[:-9]):  # an audit asks again
        (folder / files[0]).write_bytes(damaged)
        assert not EarlierCertificates(folder).whole(files[0], digests[files[0]])
    (model_file,) = folder.glob(f"*{MODEL}")
    written = gzip.decompress(model_file.read_bytes())
    for damaged in (b"", b"no gzip", model_file.read_bytes()[:-9], gzip.compress(written.replace(b"1", b"2"))):
        model_file.write_bytes(damaged)
        assert not any(EarlierCertificates(folder).whole(*pair) for pair in digests.items())


def test_json_is_all_that_stands_on_stdout(given: list[str]):
    ran = CliRunner().invoke(app, ["audit", *given, "--goal", "1", "--limit", "2", "--n-jobs", "1", "--format", "json"])
    assert ran.exit_code == 0
    assert len(json.loads(ran.stdout)["records"]) == 2
    assert "mace: 2 of 2 answered" in ran.stderr and "pickle" not in ran.stderr


def test_no_number_is_broken_in_two_on_a_narrow_terminal():
    frame = faults.people()
    model = faults.forest(frame, faults.fair(frame), trees=2)
    audit = mace.audit(model, faults.space(), frame, ["Sex"], goal=1, limit=4, n_jobs=1)
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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("name", ["audit.csv", "audit.jsonl", "audit.json"])
def test_a_pipe_that_is_called_like_an_audit_is_written_to_and_not_replaced(name: str, tmp_path: Path) -> None:
    pipe, heard = tmp_path / name, list[str]()
    os.mkfifo(pipe)
    reader = Thread(target=lambda: heard.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    made.audit().save(pipe)
    reader.join(10)
    assert pipe.is_fifo() and list(tmp_path.iterdir()) == [pipe]
    assert heard == [made.audit().save(tmp_path / f"again.{name}").read_text(encoding="utf-8")]


def test_who_reads_what_is_written_may_stop() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        with pytest.raises(BrokenPipeError):
            write_whole(Path(f"/dev/fd/{write}"), b"nothing")
    finally:
        os.close(write)


@pytest.mark.parametrize(
    ("function", "old"),
    [
        (mace.explain, ["memory", "watch"]),
        (mace.Explainer.explain, ["memory", "watch"]),
        (mace.audit, ["processes", "seed", "memory", "watch"]),
        (mace.verify, ["memory"]),
        (mace.verify.run_suite, ["memory", "watch"]),  # type: ignore[attr-defined]
        (loans, ["seed"]),
    ],
    ids=lambda given: getattr(given, "__qualname__", None),
)
def test_arguments_are_called_as_elsewhere_and_by_one_name(function: Callable[..., object], old: list[str]):
    known = inspect.signature(function).parameters
    assert not set(old) & set(known)
    usual = {"memory": "memory_mb", "watch": "callback", "processes": "n_jobs", "seed": "random_state"}
    assert {usual[name] for name in old} <= set(known)
    with pytest.raises(TypeError, match=r"has no argument|unexpected keyword argument"):
        function(**dict.fromkeys(old, 1))


@pytest.mark.parametrize(
    ("command", "option", "new"),
    [
        ("audit", "--processes", "--n-jobs"),
        ("audit", "--rows", "--limit"),
        ("audit", "--seed", "--random-state"),
        ("audit", "--memory", "--memory-mb"),
        ("explain", "--memory", "--memory-mb"),
        ("verify", "--memory", "--memory-mb"),
        ("check", "--memory", "--memory-mb"),
    ],
)
def test_an_option_has_the_name_of_its_argument(command: str, option: str, new: str):
    assert f"No such option: {option}" in " ".join(CliRunner().invoke(app, [command, option, "1"]).output.split())
    assert "No such option" not in CliRunner().invoke(app, [command, new, "1"]).output


@pytest.mark.parametrize("n_jobs", [0, -2, 1.5, True, "2"])
def test_a_number_of_jobs_is_one_that_joblib_would_take(n_jobs: object):
    with pytest.raises(MaceError, match="n_jobs must be a whole number >= 1, or -1 or None for all cores"):
        jobs_asked(n_jobs)
    assert jobs_asked(None) == jobs_asked(-1) == (os.cpu_count() or 1)
    assert jobs_asked(3) == 3


def test_an_audit_that_is_interrupted_before_its_first_answer_names_no_file(tmp_path: Path):
    file = tmp_path / "a.sqlite"
    for words in ("Nothing was answered yet", "goes on from there"):
        with pytest.raises(MaceError) as raised, _stoppable(file):
            raise KeyboardInterrupt
        assert words in str(raised.value)
        file.touch()


def test_an_empty_table_has_no_rows():
    with pytest.raises(MaceError, match="--row 0: the data has no rows"):
        row_of(pd.DataFrame({"x": []}), 0)


def test_what_finds_no_room_at_the_end_costs_no_answers(tmp_path: Path):
    frame = faults.people()
    model, folder = faults.forest(frame, faults.fair(frame)), tmp_path / "certs"
    asked: dict[str, Any] = {"goal": 1, "limit": 2, "n_jobs": 1, "progress": False, "certificates": folder}

    def callback(*_: object) -> None:
        (tmp_path / "a.csv").mkdir(exist_ok=True)  # after the name was looked at, and before it is written to

    done, code, failed = run_audit(
        model, faults.space(), frame, tmp_path / "a.csv", callback=callback, **asked | {"progress": None}
    )
    assert len(done.records) == 2 and code == 0 and "a.csv" in str(failed)
    for name in {record.certificate for record in done.records}:
        (folder / name).unlink()
        (folder / name).mkdir()  # no file can take its place
    done, _, failed = run_audit(model, faults.space(), frame, None, **asked)
    assert len(done.records) == 2 and "2 certificates could not be written; the first: " in str(failed)
