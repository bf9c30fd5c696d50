"""What goes wrong outside of mace has a message of its own: "internal error" is left for faults of mace."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import mace
from mace.audit.record import Record, from_json, to_json
from mace.audit.store import Store
from mace.base.deadline import Deadline
from mace.base.escape import short
from mace.base.exact import above, as_written, below, exact, rounded_text, text
from mace.base.files import LARGEST, parse_toml, read_text, write_whole
from mace.certify.export import export_question
from mace.cli import app
from mace.cli.table import as_declared, read_csv, read_rows
from mace.errors import FileError, MaceError, ModelError, NumberError, RowError, SpaceError
from mace.report.read import read_audit
from mace.solve.protocol import memory_asked
from mace.verify.properties import read as read_property
from mace.verify.vnnlib.read import read_property as read_property_file

LONG = "1" * 5000
FRAME = pd.DataFrame({"a": range(20), "b": [k % 3 for k in range(20)]})
SPACE = mace.Space([mace.Feature("a", "integer", 0, 19), mace.Feature("b", "integer", 0, 2)])
PROPERTY = (
    b"(declare-const X_0 Real) (declare-const Y_0 Real) (assert (>= X_0 0)) (assert (<= X_0 1)) (assert (>= Y_0 1))"
)


@pytest.fixture(scope="module")
def model() -> DecisionTreeClassifier:
    return DecisionTreeClassifier(random_state=0).fit(FRAME, (FRAME["a"] > 9).astype(int))


# ------------------------------------------------------------------------------------------------ numbers

BAD = [
    "1/0", "0/0", "-1/00", LONG, f"0.{LONG}", f"{LONG}/3", f"1/{LONG}", "1e9999999999", "1e-9999999999", "1e4001",
    "nan", "inf", "-inf", "abc", "", " ", "1_0", "0x10", "١", "1//2", "1/-2", "1e", "e1", ".", "1 2", "--1", "½",
    float("nan"), float("inf"), 10**5000, -(10**5000), None, [], {}, "1,5", 1j, object(),
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: short(bad)[:20])
def test_what_is_no_number_is_said_to_be_none(bad):
    for read in (exact, as_written):
        with pytest.raises(NumberError, match=r"number|digits|divides by zero"):
            read(bad)


def test_a_number_of_a_billion_digits_is_not_written_out():
    from decimal import Decimal

    for bad in ("1e1000000000", Decimal("1e1000000000"), Decimal("-1e-1000000000"), Fraction(1, 10**5000)):
        with pytest.raises(NumberError, match="more than 4,000 digits"):
            as_written(bad)


def test_a_number_of_any_length_can_be_written_and_what_is_too_long_to_be_read_is_rounded_outwards():
    for whole in (10**9000, 10**4300 - 1, -(7**6000), 12 * 10**12000 + 34):
        assert text(Fraction(whole)).lstrip("-") == "".join(map(str, digits(abs(whole))))
        assert text(Fraction(whole)).startswith("-") == (whole < 0)
    assert text(Fraction(1, 10**5000)) == "1/1" + "0" * 5000
    long = Fraction(1, 3) + Fraction(1, 7**9000)
    assert Fraction(rounded_text(long, above)) > long > Fraction(rounded_text(long, below))
    assert rounded_text(Fraction(1, 3), above) == "1/3"


def digits(whole: int) -> list[int]:
    found = []
    while whole:
        whole, last = divmod(whole, 10)
        found.append(last)
    return found[::-1]


def test_an_answer_whose_distance_has_thousands_of_digits_is_shown_and_has_no_certificate(model):
    weights = {"a": f"1/{10**2500 + 1}", "b": f"{10**2500 + 3}"}
    tree = DecisionTreeClassifier(random_state=0).fit(FRAME, ((FRAME["a"] > 9) & (FRAME["b"] > 0)).astype(int))
    for oracle in ("auto", "z3"):
        answer = mace.explain(tree, SPACE, {"a": 0, "b": 0}, goal=1, weights=weights, oracle=oracle)
        assert answer.status == "optimal" and len(answer.to_dict()["exact_distance"]) > 5000
        assert "optimal" in str(answer) and answer._repr_html_()
    with pytest.raises(MaceError, match="than 4000 digits"):
        _ = answer.certificate
    objectives = [mace.Objective("cost", prices=weights), mace.Objective({"l1": 10**2500, "changes": 1})]
    front = mace.front(tree, SPACE, {"a": 0, "b": 0}, goal=1, objectives=objectives)
    assert front.to_dict()["status"] == "optimal"
    with pytest.raises(MaceError, match="too large to be plotted"):
        front.plot()


@given(st.integers() | st.fractions() | st.floats(allow_nan=False, allow_infinity=False) | st.decimals(-9, 9, places=5))
def test_numbers_are_read_as_they_are(number):
    assert exact(number) == Fraction(number)
    assert as_written(str(number)) == Fraction(str(number))


@pytest.mark.parametrize("bad", ["1/0", LONG, "1e9999999999", 10**5000, "nan", []], ids=lambda bad: short(bad)[:20])
@pytest.mark.parametrize(
    "use",
    [
        lambda m, bad: mace.Feature("a", "real", bad, 19, step="0.5"),
        lambda m, bad: mace.Feature("a", "real", 0, bad),
        lambda m, bad: mace.Feature("a", "real", 0, 1, step=bad),
        lambda m, bad: mace.Feature("a", "integer", 0, bad),
        lambda m, bad: mace.explain(m, SPACE, {"a": 3, "b": 1}, goal=1, weights={"a": bad}),
        lambda m, bad: mace.explain(m, SPACE, {"a": 3, "b": 1}, goal=1, distance={"l0": bad}),
        lambda m, bad: mace.explain(m, SPACE, {"a": 3, "b": 1}, goal=1, gap=[bad]),
        lambda m, bad: mace.explain(m, SPACE, {"a": 3, "b": 1}, goal=1, count=2, diversity=bad or "x"),
        lambda m, bad: mace.explain(m, SPACE, {"a": bad, "b": 1}, goal=1),
        lambda m, bad: mace.explain(m, SPACE, {"a": 3, "b": 1}, goal=bad or "x"),
        lambda m, bad: mace.explain(m, SPACE, {"a": 3, "b": 1}, goal=f"p(1) >= {short(bad)}"),
        lambda m, bad: mace.explain(m, SPACE, {"a": 3, "b": 1}, goal=f"1 by {short(bad)}"),
        lambda m, bad: mace.verify(m, SPACE, f"bounded(0, {short(bad)})"),
        lambda m, bad: mace.rules.linear({"a": bad}, "<=", 3),
        lambda m, bad: export_question(mace.Explainer(m, SPACE).question({"a": 3, "b": 1}, 1)[0], "smt2", bad, None),
    ],
    ids=lambda _: "",
)
def test_every_place_that_reads_a_number_says_what_is_wrong_with_it(model, use, bad):
    import mace.rules  # noqa: F401

    with pytest.raises(MaceError):
        use(model, bad)


def test_limits_that_no_machine_reaches_are_none():
    assert Deadline.asked(10**5000).left() is None
    assert memory_asked(10**5000) is None
    assert memory_asked(0.5) == 1
    for bad in (0, -1, float("nan"), "1", True, []):
        with pytest.raises(MaceError, match="must be a number"):
            memory_asked(bad)
        with pytest.raises(MaceError, match="must be a number"):
            Deadline.asked(bad)


def test_whole_numbers_beyond_all_use_are_refused_or_cut(model):
    row = {"a": 3, "b": 1}
    assert mace.explain(model, SPACE, row, goal=1, most_changes=10**5000).status == "optimal"
    with pytest.raises(MaceError, match="count must be a whole number from 1"):
        mace.explain(model, SPACE, row, goal=1, count=10**5000)


@pytest.mark.parametrize("cell", [[], {}, [1], np.array([1])], ids=repr)
def test_a_cell_that_holds_no_single_value_is_named(cell):
    frame = pd.DataFrame({"a": pd.Series([3, cell], dtype=object), "b": [1, 1]})
    with pytest.raises(RowError, match="row 1, column `a`: a cell holds"):
        SPACE.encode(frame)
    with pytest.raises(SpaceError, match="column `a`: a cell holds"):
        mace.Space.from_frame(frame)
    with pytest.raises(SpaceError, match="a level must be"):
        mace.Feature("c", "categorical", levels=[cell, "x"])


# ------------------------------------------------------------------------------------------------ libraries


def test_what_a_library_raises_in_predict_is_no_internal_error(model):
    explainer = mace.Explainer(model, SPACE)
    for failure in (RuntimeError("fell over"), ValueError("odd"), KeyError("x"), SystemError("bad")):

        def fail(_, failure=failure):
            raise failure

        object.__setattr__(explainer.judge, "deployed", SimpleNamespace(predict=fail, probabilities=fail))
        with pytest.raises(RowError, match="the model does not take these rows"):
            explainer.decisions(FRAME)


def test_what_a_damaged_model_raises_when_it_is_read_is_a_model_error(model):
    import copy

    for attribute, value in {"tree_": 3, "classes_": None, "n_features_in_": "x", "n_outputs_": []}.items():
        damaged = copy.deepcopy(model)
        setattr(damaged, attribute, value)
        with pytest.raises(ModelError):
            mace.Explainer(damaged, SPACE)


# ------------------------------------------------------------------------------------------------ files


TOML = {
    "long": f"a = {LONG}",
    "deep": "a = " + "[" * 5000,
    "not": "a = = 1",
    "twice": "a = 1\na = 2",
    "nul": 'a = "\x00"',
}


@pytest.mark.parametrize("text", TOML.values(), ids=TOML)
def test_toml_that_cannot_be_read_is_a_file_error(text, tmp_path):
    with pytest.raises(FileError, match=r"x\.toml: is not valid TOML"):
        parse_toml(text, "x.toml")
    (tmp_path / "s.toml").write_text(text)
    with pytest.raises(MaceError, match="is not valid TOML"):
        mace.Space.load(tmp_path / "s.toml")


BOM = b"\xef\xbb\xbf"  # a byte order mark, which some editors and spreadsheets begin a text with


def test_a_byte_order_mark_is_no_part_of_a_text(model, tmp_path):
    def marked(name: str, raw: bytes) -> Path:
        (tmp_path / name).write_bytes(BOM + raw)
        return tmp_path / name

    SPACE.save(tmp_path / "space.toml")
    assert mace.Space.load(marked("marked.toml", (tmp_path / "space.toml").read_bytes())) == SPACE
    program = marked("marked.mace", b"input a: int in [0, 19]\nreturn a > 9\n")
    assert CliRunner().invoke(app, ["compile", str(program)]).exit_code == 0
    assert read_property_file(marked("marked.vnnlib", PROPERTY)).inputs == 1
    assert list(read_csv(str(marked("marked.csv", b"a,b\n1,2\n")))) == ["a", "b"]
    audit = mace.audit(model, SPACE, FRAME, goal=1, limit=2, n_jobs=1, progress=False)
    for ending in (".json", ".jsonl", ".csv"):
        raw = audit.save(tmp_path / f"audit{ending}").read_bytes()
        found = read_audit(marked(f"marked{ending}", raw))
        assert [record.status for record in found.records] == [record.status for record in audit.records]


def test_what_is_no_utf_8_says_so_without_the_words_of_a_codec(tmp_path):
    for raw, said in (("a,b\n1,2\n".encode("utf-16"), "in UTF-16"), (b"a,b\n1,\xe9\n", "holds the byte 0xe9")):
        (tmp_path / "a.csv").write_bytes(raw)
        for read in (lambda path: read_csv(str(path)), read_property_file, lambda path: read_text(path, "")):
            with pytest.raises(FileError, match=said):
                read(tmp_path / "a.csv")


def test_a_csv_file_holds_what_the_space_declares(tmp_path):
    """pandas takes NA for a missing value, 01 for 1, and all numbers of a column for texts where one cell is none."""
    space = mace.Space(
        [
            mace.Feature("region", "categorical", levels=["NA", "EU"]),
            mace.Feature("zip", "categorical", levels=["01", "10"]),
            mace.Feature("flag", "binary", levels=["True", "False"]),
            mace.Feature("n", "integer", 0, 9),
            mace.Feature("x", "real", 0, 9, missing="keep"),
        ]
    )
    text = "region,zip,flag,n,x,note\nNA,01,True,1,0.5,NA\nEU,10,False,1_0,,a\n,7,no,2,abc,b\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    read = as_declared(read_csv(str(tmp_path / "a.csv")), str(tmp_path / "a.csv"), space)
    assert read.iloc[0, :5].tolist() == ["NA", "01", "True", 1, 0.5] and pd.isna(read["note"][0])
    assert read.iloc[1, :4].tolist() == ["EU", "10", "False", "1_0"] and pd.isna(read["x"][1])
    assert pd.isna(read["region"][2]) and read.iloc[2, 1:5].tolist() == ["7", "no", 2, "abc"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("t.csv", "a,b,c\n1,2,3\n4,5\n", "its line 3 has 2 values, and its first line 3 names"),
        ("t.csv", "a,b,c\n1,2,\n\n,,\n4\n", "its line 5 has 1 value, and its first line 3 names"),
        ("t.xlsx", "PK", "a table is read from CSV or Parquet"),
        ("t.json", "[]", "a table is read from CSV or Parquet"),
        ("", "", "this is a folder, not a file"),
    ],
)
def test_what_is_no_whole_table_is_said_to_be_none(name, text, said, tmp_path):
    if name:
        (tmp_path / name).write_text(text)
    with pytest.raises(FileError, match=said):
        read_rows(str(tmp_path / name))


def test_a_missing_value_at_the_end_of_a_row_is_one(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n1,\n\n"2\n",3\n')
    assert len(read_rows(str(tmp_path / "t.csv"))) == 2


def test_what_is_open_already_is_written_to_and_not_replaced(model, tmp_path):
    question = mace.Explainer(model, SPACE).question(FRAME.iloc[0], 1)[0]
    with (tmp_path / "out").open("wb+") as file:  # as /dev/stdout is, where a shell sends it to a file
        path = Path(f"/dev/fd/{file.fileno()}")
        assert export_question(question, "smt2", None, path) == ""
        write_whole(path, b"; more\n")
        said = (tmp_path / "out").read_text()
    assert said == export_question(question, "smt2", None, None) + "; more\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_records_of_an_audit_are_read_where_nothing_can_be_written(model, tmp_path, monkeypatch):
    audit = mace.audit(model, SPACE, FRAME, goal=1, limit=2, n_jobs=1, progress=False)
    saved = audit.save(tmp_path / "audit.csv")

    def read_only(**_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.TemporaryFile", read_only)
    assert len(read_audit(saved).records) == 2


def test_a_file_without_an_end_is_read_up_to_its_limit():
    """Its size is said to be nought."""
    if not Path("/dev/zero").exists():
        pytest.skip("needs /dev/zero")
    with pytest.raises(FileError, match="larger than"):
        read_text(Path("/dev/zero"), "", LARGEST)


PROPERTIES = {
    "deep": "monotone(" * 500,
    "lists": "bounded(" + "[" * 150 + "]" * 150 + ")",
    "digits": f"bounded(0, {LONG})",
    "hexadecimal": "bounded(0xg)",
    "nul": "\x00",
    "long": "a" * 9999,
}


@pytest.mark.parametrize("text", PROPERTIES.values(), ids=PROPERTIES)
def test_a_property_that_cannot_be_read_is_said_to_be_none_in_a_few_words(text, recwarn):
    with pytest.raises(MaceError) as caught:
        read_property(text)
    assert len(str(caught.value)) < 700
    assert not recwarn.list, "Python's own opinion of a number is no message of ours"


CHANGED = [
    {"row": "x"}, {"status": "fine"}, {"status": []}, {"changes": {"a": 1}}, {"core": [1]}, {"proof": "sure"},
    {"start": None}, {"distance": "far"}, {"more": 1}, {"label": None}, {"failure": "odd"},
    {"status": "optimal"}, {"status": "optimal", "distance": 0.5}, {"status": "infeasible", "distance": 0.5},
    {"status": "bounded", "distance": 0.5, "lower_bound": 0.75}, {"status": "infeasible", "failure": "timeout"},
    {"status": "infeasible", "proof": "accepted"}, {"status": "bounded", "distance": float("nan")},
    {"status": "bounded", "distance": -0.5}, {"status": "infeasible", "changes": {"a": [1, 2]}},
]  # fmt: skip
NO_RECORDS = ["{}", "[]", "3", "null", '"x"', "{", '{"row": 0}', "[" * 99999, '{"row": ' + LONG + "}", "\x00"]


@pytest.mark.parametrize(
    "line",
    NO_RECORDS + [json.dumps(json.loads(to_json(Record(0, "0", "main", "k"))) | change) for change in CHANGED],
    ids=lambda line: line[-40:],
)
def test_a_damaged_record_in_a_checkpoint_is_said_to_be_one(line, tmp_path):
    with pytest.raises(ValueError, match=r".") as caught:
        from_json(line)
    assert not isinstance(caught.value, MaceError)
    path = tmp_path / "a.sqlite"
    Store(path, {"model": "x"}).close()
    with sqlite3.connect(path) as base:
        base.execute(
            "INSERT INTO records VALUES ('k', 'main', 'optimal', ?, ?)",
            (line, hashlib.sha256(line.encode()).hexdigest()),
        )
    base.close()
    with pytest.raises(FileError, match="a record in the checkpoint is damaged"):
        Store(path, {"model": "x"})
    ran = CliRunner().invoke(app, ["report", str(path), "--out", str(tmp_path / "r.html")])
    assert isinstance(ran.exception, FileError)


def test_a_checkpoint_that_takes_no_more_says_so_and_keeps_what_it_has(tmp_path):
    path = tmp_path / "a.sqlite"
    with Store(path, {"model": "x"}) as store:
        store.put(Record(0, "0", "main", "first"))
        (pages,) = store._base.execute("PRAGMA page_count").fetchone()
        store._base.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(FileError, match=r"takes no more answers \(database or disk is full\)"):
            store.put(Record(1, "x" * 100_000, "main", "second"))
    with Store(path, {"model": "x"}) as store:
        assert set(store.records) == {"first"}


# ------------------------------------------------------------------------------------------------ a full disk


def limited(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command that may write a few bytes to any file and no more, as on a disk that is full."""
    return subprocess.run(
        [sys.executable, "-m", "mace", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"MACE_DEBUG": "", "PYTHONDONTWRITEBYTECODE": "1"},  # Python keeps what it wrote of byte code
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)),
    )


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    folder = tmp_path_factory.mktemp("full")
    (folder / "p.mace").write_text("input a: int in [0, 9]\nif a > 5:\n    return 1\nreturn 0\n")
    mace.Space([mace.Feature("a", "integer", 0, 9)]).save(folder / "s.toml")
    pd.DataFrame({"a": range(10)}).to_csv(folder / "a.csv", index=False)
    return folder, ["--model", "p.mace", "--space", "s.toml", "--data", "a.csv", "--goal", "1"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "out"),
    [
        ("explain", ["--certificate", "c.json"]),
        ("export", ["--to", "smt2", "--out", "q"]),
        ("audit", ["--n-jobs", "1", "--out", "o.csv"]),
        ("audit", ["--n-jobs", "1", "--out", "o.json"]),
        ("audit", ["--n-jobs", "1", "--checkpoint", "k.sqlite"]),
    ],
    ids=["certificate", "export", "csv", "json", "checkpoint"],
)
def test_a_full_disk_is_no_internal_error_and_leaves_no_half_file(program, command, out):
    folder, given = program
    ran = limited(folder, command, *given, *out)
    assert ran.returncode == 2, ran.stderr
    assert "internal error" not in ran.stderr
    assert "Traceback" not in ran.stderr
    assert f"mace: {out[-1]}" in ran.stderr
    left = {path.name for path in folder.iterdir()} - {"p.mace", "s.toml", "a.csv"}
    assert {name for name in left if not name.startswith("k.sqlite")} == set()


@pytest.mark.slow
def test_what_cannot_be_printed_is_no_internal_error(program):
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    folder, given = program
    for arguments in (["--help"], ["inspect", *given[:4]], ["explain", *given, "--format", "json"]):
        with Path("/dev/full").open("w") as full:
            command = [sys.executable, "-m", "mace", *arguments]
            ran = subprocess.run(command, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        assert ran.returncode == 2, ran.stderr
        assert "mace: the system says: No space left on device" in ran.stderr  # behind a sign of life, where it is slow
        assert "internal error" not in ran.stderr
        assert "Exception ignored" not in ran.stderr


def test_a_reader_that_has_seen_enough_ends_the_command_quietly(program):
    folder, given = program
    command = [sys.executable, "-m", "mace", "inspect", *given[:4]]
    child = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.close()
    said = child.stderr.read()
    child.stderr.close()
    assert child.wait() == 0
    assert said == b""


@pytest.mark.parametrize(("encoding", "seen"), [("ascii", "Größe €"), ("latin-1", "Größe \\u20ac")])
def test_what_an_encoding_does_not_hold_is_no_internal_error(encoding, seen, tmp_path):
    mace.Space([mace.Feature("Größe €", "integer", 0, 9)]).save(tmp_path / "s.toml")
    command = [sys.executable, "-m", "mace", "inspect", "--space", "s.toml"]
    ran = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"PYTHONIOENCODING": encoding}, capture_output=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert seen in ran.stdout.decode("utf-8" if encoding == "ascii" else encoding)


def test_a_stream_that_is_closed_is_no_internal_error(program):
    folder, given = program
    command = f'exec "{sys.executable}" -m mace inspect {" ".join(map(str, given[:4]))} >&-'
    ran = subprocess.run(["sh", "-c", command], cwd=folder, stderr=subprocess.PIPE, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_memory_that_is_not_there_is_no_internal_error(monkeypatch):
    def starve(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("mace.cli.self_test.known_versions", starve)
    ran = CliRunner().invoke(app, ["doctor"])
    assert isinstance(ran.exception, MaceError)
    assert str(ran.exception).startswith("out of memory")


INTERRUPTED = """
import os, signal, sys

class Stop:
    once = True

    def find_spec(self, name, path=None, target=None):
        if name == {name!r} and self.once:
            self.once = False
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Stop())
from mace.cli import main
main()
"""


@pytest.mark.parametrize("name", ["mace.cli.commands", "typer", "typer._click", "mace.cli.options", "mace.cli.report"])
@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_while_the_commands_are_imported_ends_in_one_line(name, number, code, word):
    program = INTERRUPTED.format(name=name, number=int(number))
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (code, f"mace: {word}\n")


@pytest.mark.parametrize("name", ["mace.base.views", "mace.base.deadline", "mace.base.suggestions"])
def test_ctrl_c_while_the_package_is_imported_for_a_command_ends_without_a_traceback(name, tmp_path):
    stop = INTERRUPTED.format(name=name, number=int(signal.SIGINT)).partition("from mace")[0]
    (tmp_path / "sitecustomize.py").write_text(stop)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "mace", "--version"]
    ran = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (-signal.SIGINT, "", "")


SWALLOWED = """
import os, signal, sys
from mace.cli import main

def swallows(*_):
    # As Python's compiler and many a library: whatever goes wrong is forgotten, unless somebody pressed Ctrl-C.
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except KeyboardInterrupt:
        raise
    except BaseException:
        pass

import mace.cli.self_test
mace.cli.self_test.known_versions = swallows
sys.argv = ["mace", "doctor"]
main()
"""


TYPED = """
import os, sys
from mace.cli import main
import mace.cli.commands

def stopped(*_):
    os.kill(os.getpid(), {number})

mace.cli.commands.say = stopped
sys.argv = ["mace", "--version"]
main()
"""


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_while_what_was_typed_is_read_ends_in_one_line(number, code, word):
    program = TYPED.format(number=int(number))
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (code, "", f"mace: {word}\n")


@pytest.mark.parametrize(
    ("option", "typed", "what"), [("--row", "1.5", "a whole number"), ("--timeout", "x", "a number")]
)
def test_what_is_no_number_is_named(option, typed, what):
    ran = CliRunner().invoke(app, ["explain", option, typed])
    assert ran.exit_code == 2 and f"must be {what}, got '{typed}'" in " ".join(ran.output.replace("│", "").split())


FINALIZED = """
import os, sys, threading
from mace.cli import main

class Held:
    def __del__(self):
        os.kill(os.getpid(), {number})

def drops(*_):
    Held()
    threading.Event().wait(60)

import mace.cli.self_test
mace.cli.self_test.known_versions = drops
sys.argv = ["mace", "doctor"]
main()
"""


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_that_a_finalizer_swallows_comes_again(number, code, word):
    program = FINALIZED.format(number=int(number))
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (code, "", f"mace: {word}\n")


def test_a_library_that_swallows_all_but_ctrl_c_swallows_no_sigterm():
    ran = subprocess.run([sys.executable, "-c", SWALLOWED], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (143, "", "mace: terminated\n")
