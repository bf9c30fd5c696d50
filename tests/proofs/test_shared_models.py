"""Certificates of an audit name their model, which lies beside them: with it they are whole, without it unusable."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import mace
from mace.audit.certificates import Writer
from mace.certify.numbers import canonical
from mace.certify.statement import same_statement
from mace.certify.writer import zipped
from mace.cli import app
from mace.errors import CertificateError
from mace.proofs import check as checker
from mace.proofs.check import MODEL, Unusable, check, load
from mace.proofs.translate import TranslationError, read, translate
from tests.audit import faults
from tests.proofs.bomb import bomb

CHECKER = Path(checker.__file__)


@pytest.fixture(scope="module")
def rows() -> tuple[Any, Any]:
    """A forest and people whom it refuses."""
    frame = faults.people()
    model = faults.forest(frame, faults.fair(frame))
    return model, frame[model.predict(faults.space().encode(frame)) == 0].head(4)


@pytest.fixture(scope="module")
def answers(rows: tuple[Any, Any]) -> list[mace.Answer]:
    model, people = rows
    explainer = mace.Explainer(model, faults.space(), background=people)
    return [explainer.explain(people.iloc[k], goal=1) for k in range(2)]


@pytest.fixture
def folder(answers: list[mace.Answer], tmp_path: Path) -> Path:
    """Two certificates, `0.json.gz` and `1.json.gz`, and their model."""
    assert answers[0].question is not None
    writer = Writer(answers[0].question.model)
    for k, answer in enumerate(answers):
        raw = writer.save(writer.of(answer), tmp_path / f"{k}.json.gz")
        assert (tmp_path / f"{k}.json.gz").read_bytes() == raw
    return tmp_path


def model_in(folder: Path) -> Path:
    (found,) = folder.glob("*" + MODEL)
    return found


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-S", str(CHECKER), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_a_certificate_with_its_model_beside_it_is_the_one_with_its_model_in_it(
    answers: list[mace.Answer], folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    away = tmp_path_factory.mktemp("away")
    for k, answer in enumerate(answers):
        path = folder / f"{k}.json.gz"
        alone = answer.certificate.save(away / path.name)
        assert load(path) == load(alone)
        again = mace.certify.writer.load(path)
        assert again.digest == answer.certificate.digest
        assert again.check().accepted
        # Read and saved it stands alone, wherever it is.
        assert again.save(away / "again.json.gz").read_bytes() == alone.read_bytes()
        assert answer.question is not None
        assert same_statement(load(path), answer.question) == []
        assert translate(read(path)) == translate(read(alone))


def test_the_model_is_written_once_under_the_digest_of_its_text(folder: Path) -> None:
    model = model_in(folder)
    raw = gzip.decompress(model.read_bytes())
    assert model.name == hashlib.sha256(raw).hexdigest() + MODEL
    assert raw == canonical(json.loads(raw))
    assert len(list(folder.iterdir())) == 3


def damage(folder: Path, how: str) -> None:
    model, one = model_in(folder), folder / "0.json.gz"
    raw = model.read_bytes()
    data = json.loads(gzip.decompress(one.read_bytes()))
    other = data["statement"]["model"]["sha256"]
    match how:
        case "absent":
            model.unlink()
        case "a folder":
            model.unlink()
            model.mkdir()
        case "cut short":
            model.write_bytes(raw[:-9])
        case "no gzip":
            model.write_bytes(raw[:2] + b"nothing")
        case "one leaf differs":
            changed = json.loads(gzip.decompress(raw))
            changed["start"][0] = (1.0).hex()
            model.write_bytes(zipped(canonical(changed)))
        case "the same in other words":
            model.write_bytes(zipped(gzip.decompress(raw) + b" "))
        case "too large":
            model.write_bytes(bomb())
        case "no json":
            nothing = b"[" * 100_000
            other = hashlib.sha256(nothing).hexdigest()
            (folder / (other + MODEL)).write_bytes(zipped(nothing))
    data["statement"]["model"]["sha256"] = other
    one.write_bytes(zipped(canonical(data)))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("absent", "the model of this certificate is not beside it"),
        ("a folder", "the model of this certificate is not beside it"),
        ("cut short", "the gzip file ends too early"),
        ("no gzip", "damaged gzip"),
        ("one leaf differs", "it holds something else, with the SHA-256"),
        ("the same in other words", "it holds something else, with the SHA-256"),
        ("too large", "bytes of text"),
        ("no json", "nested too deeply"),
    ],
)
def test_without_its_model_a_certificate_is_unusable(folder: Path, how: str, words: str) -> None:
    damage(folder, how)
    done = run(folder / "0.json.gz")
    assert (done.returncode, done.stderr) == (2, "")
    assert words in done.stdout
    assert MODEL in done.stdout
    assert "copy it from the folder that the certificate was written to" in done.stdout
    with pytest.raises(CertificateError, match="copy it from the folder"):
        mace.certify.writer.load(folder / "0.json.gz")
    if how not in ("too large", "no json"):
        with pytest.raises(TranslationError):
            read(folder / "0.json.gz")


@pytest.mark.parametrize(
    "reference",
    [
        {"sha256": None},
        {"sha256": "../../../etc/passwd"},
        {"sha256": "0" * 63},
        {"sha256": "0" * 64 + "\n"},
        {"sha256": "A" * 64},
        {"sha256": "0" * 64, "path": "x"},
    ],
)
def test_a_reference_is_a_digest_and_nothing_else(folder: Path, reference: Any) -> None:
    one = folder / "0.json.gz"
    data = json.loads(gzip.decompress(one.read_bytes()))
    data["statement"]["model"] = reference
    one.write_bytes(zipped(canonical(data)))
    with pytest.raises(Unusable, match="expected sha256 alone, with 64 hexadecimal digits"):
        load(one)


def test_a_certificate_whose_model_was_not_read_is_refused(folder: Path) -> None:
    data = json.loads(gzip.decompress((folder / "0.json.gz").read_bytes()))
    assert "which only `load` reads" in check(data).reason


def test_a_model_that_is_itself_a_reference_is_refused(folder: Path) -> None:
    raw = canonical({"sha256": "0" * 64})
    digest = hashlib.sha256(raw).hexdigest()
    (folder / (digest + MODEL)).write_bytes(zipped(raw))
    data = json.loads(gzip.decompress((folder / "0.json.gz").read_bytes()))
    data["statement"]["model"]["sha256"] = digest
    (folder / "0.json.gz").write_bytes(zipped(canonical(data)))
    assert not check(load(folder / "0.json.gz")).accepted


def test_a_folder_is_checked_file_by_file(folder: Path) -> None:
    done = run(folder)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr, len(lines)) == (0, "", 3)
    assert lines[0].startswith(f"{folder / '0.json.gz'}: accepted: no allowed point")
    assert lines[2] == "2 accepted, 0 refused, 0 unusable"

    data = json.loads(gzip.decompress((folder / "0.json.gz").read_bytes()))
    (folder / "lies.json").write_bytes(canonical({**data, "proof": []}))
    done = run(folder)
    assert done.returncode == 10
    assert "lies.json: refused at " in done.stdout
    assert run(folder / "0.json.gz", folder / "1.json.gz").returncode == 0

    (folder / "lies.json").write_bytes(b"{")
    (folder / "x\naccepted.json").write_bytes(b"{")
    done = run(folder)
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 5
    assert done.stdout.endswith("2 accepted, 0 refused, 2 unusable\n")


def test_a_folder_without_certificates_is_unusable(folder: Path) -> None:
    (folder / "empty").mkdir()
    done = run(folder / "empty")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (2, "0 accepted, 0 refused, 1 unusable")
    assert run(folder / "0.json.gz", folder / "empty").returncode == 2
    assert run().returncode == 2


def test_many_certificates_of_one_model_read_it_once(folder: Path) -> None:
    models: dict[str, Any] = {}
    first = load(folder / "0.json.gz", models)
    model_in(folder).unlink()
    assert load(folder / "1.json.gz", models)["statement"]["model"] is first["statement"]["model"]
    assert check(first).accepted


def test_writers_at_once_leave_whole_files(answers: list[mace.Answer], tmp_path: Path) -> None:
    assert answers[0].question is not None
    table = answers[0].question.model
    started = threading.Barrier(4)

    def write(k: int) -> None:
        writer = Writer(table)
        short = writer.of(answers[0])
        started.wait()
        for n in range(5):
            writer.save(short, tmp_path / f"{k}-{n}.json.gz")

    threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(tmp_path.iterdir())) == 21
    assert run(tmp_path).stdout.endswith("20 accepted, 0 refused, 0 unusable\n")


def test_a_damaged_model_is_written_again(answers: list[mace.Answer], folder: Path) -> None:
    damage(folder, "cut short")
    assert answers[0].question is not None
    writer = Writer(answers[0].question.model)
    writer.save(writer.of(answers[0]), folder / "0.json.gz")
    assert check(load(folder / "1.json.gz")).accepted


def audit(rows: tuple[Any, Any], folder: Path) -> mace.Audit:
    model, people = rows
    return mace.audit(
        model, faults.space(), people, goal=1, n_jobs=1, cores=0, progress=False,
        checkpoint=folder / "a.sqlite", certificates=folder / "certificates",
    )  # fmt: skip


@pytest.mark.slow
def test_an_audit_asks_again_where_a_certificate_is_not_the_one_it_wrote(rows: tuple[Any, Any], tmp_path: Path) -> None:
    first = audit(rows, tmp_path)
    written = tmp_path / "certificates"
    assert {record.proof for record in first.records} == {"accepted"}
    assert len(list(written.iterdir())) == len(first.records) + 1
    assert audit(rows, tmp_path).asked == 0

    # The same certificate with its model in it is accepted, but it may as well have been of another question.
    alone = written / first.records[0].certificate
    mace.certify.writer.load(alone).save(alone)
    assert run(written).returncode == 0
    assert audit(rows, tmp_path).asked == 1
    model_in(written).unlink()
    assert audit(rows, tmp_path).asked == len(first.records)
    assert run(written).returncode == 0
    assert audit(rows, tmp_path).asked == 0


def test_the_command_line_reads_the_model_beside_a_certificate(folder: Path) -> None:
    done = CliRunner().invoke(app, ["check", str(folder / "0.json.gz")])
    assert (done.exit_code, done.output.split(":")[0]) == (0, "accepted")
    model_in(folder).unlink()
    done = CliRunner().invoke(app, ["check", str(folder / "0.json.gz")])
    assert "copy it from the folder" in str(done.exception)
