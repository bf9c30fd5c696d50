"""Nothing that others wrote moves a cursor, changes a colour, turns the writing or begins a line of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Group
from rich.table import Table
from rich.text import Text
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import mace
from mace.base.console import console
from mace.base.escape import from_cell, json_text, lines, one_line, short, to_cell
from mace.cli import app
from mace.errors import MaceError

CLEAR = "\x1b[2J\x1b]0;title\x07"
TURNED = "\u202egnp.exe"
ODD = f"[red]{CLEAR}{TURNED}\x9b31m\x7f\n0 unknown: forged\r\t\u2028\u200b[/nothing]"
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def test_a_long_run_of_spaces_is_no_work() -> None:
    shown = io.StringIO()
    began = time.process_time()
    console(file=shown, width=120_000).print("a" + " " * 100_000 + "b" + " " * 10_000 + "\nc")
    assert shown.getvalue() == "a" + " " * 100_000 + "b\nc\n"
    assert time.process_time() - began < 5  # three times as long where each space begins a search of its own


def unseen(text: str, allowed: str = "\n") -> set[str]:
    """The characters of a text that cannot be seen, those aside that join letters."""
    return {c for c in text if unicodedata.category(c) in UNSEEN and c not in allowed + "\u200c\u200d"}


def test_every_character_that_cannot_be_seen_is_escaped():
    every = "".join(map(chr, range(0x110000)))
    assert unseen(one_line(every), "") == set()
    assert unseen(lines(every), "\n\t") == set()
    assert one_line("\x1b\n\u202e\U000e0041\ud800") == r"\x1b\n\u202e\U000e0041\ud800"
    assert lines("a\n\tb\r") == "a\n\tb\\r"


@pytest.mark.parametrize("text", ["Zürich", "naïve 100 %", "می‌خواهم", "👩‍👩‍👧", "日本", "a b", "×·−→…", ""])
def test_what_people_write_stays(text):
    assert one_line(text) == lines(text) == text


@given(st.text())
def test_what_was_escaped_stays_as_it_is(text):
    assert one_line(one_line(text)) == one_line(text)
    assert lines(one_line(text)) == one_line(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
)  # fmt: skip


@given(VALUES)
def test_json_is_the_same_value(value):
    for indent in (None, 2):
        text = json_text(value, indent)
        assert json.loads(text.encode()) == value
        assert unseen(text) == set()


@given(st.text(st.sampled_from("'=+-@\t\r\n0123456789eE.x \"＝")))
def test_a_cell_is_read_back(text):
    assert from_cell(to_cell(text)) == text


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-x", "@sum(1)", "\t=1", "\r=1", "\n=1", "＝1+1", "'=1", "-1+1"])
def test_a_cell_that_a_spreadsheet_would_run_stands_behind_an_apostrophe(text):
    assert to_cell(text) == "'" + text


@pytest.mark.parametrize("text", ["", "-5", "+1.5", "-1e-9", "1=1", "a", "'", "don't", "'a", "{}", '"=1"'])
def test_other_cells_stay(text):
    assert to_cell(text) == from_cell(text) == text


def test_the_console_escapes_what_it_is_given_and_reads_no_markup():
    from rich.table import Table
    from rich.text import Text

    out = io.StringIO()
    table = Table(title="[bold]title" + CLEAR)
    table.add_column(ODD)
    table.add_row(Text(ODD, style="red"))
    terminal = console(file=out, force_terminal=True, width=200, color_system="standard")
    terminal.print(table, ODD)
    shown = out.getvalue()
    assert "[red]" in shown
    assert "\x1b[2J" not in shown
    assert "\x1b]0;" not in shown
    assert unseen(shown.replace("\x1b[31m", "").replace("\x1b[3m", "").replace("\x1b[1m", "").replace("\x1b[0m", "")
                  .replace("\x1b[1;31m", "")) <= {"\x1b"}  # fmt: skip


def test_lines_that_go_to_no_terminal_end_with_their_last_word():
    table = Table("feature", "needed")
    table.add_row("Income", "1 ")
    table.add_row(Text("Long name", style="bold"), Text("two\nlines  ", style="red"))
    for to_terminal in (False, True):
        out = io.StringIO()
        console(file=out, force_terminal=to_terminal, width=60).print(Group(table, Text("a  b \n  c ")), "e ")
        printed = out.getvalue().split("\n")
        assert any("Income" in line for line in printed) and any(line.startswith("  c") for line in printed)
        assert any(line.endswith(" ") for line in printed) == to_terminal


def test_an_error_shows_what_a_file_or_a_name_holds_without_obeying_it():
    error = MaceError(f"{CLEAR} is wrong", hint=TURNED)
    assert unseen(str(error)) == set()
    assert str(error) == r"\x1b[2J\x1b]0;title\x07 is wrong" + "\n" + r"\u202egnp.exe"


# ------------------------------------------------------------------------------------------------ every command


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a space and a table in whose names and levels stands everything that a terminal might obey."""
    folder = tmp_path_factory.mktemp("odd")
    levels = [ODD, "=cmd|' /C calc'!A0" + CLEAR, "@" + TURNED]
    frame = pd.DataFrame({ODD: [18 + k % 30 for k in range(60)], "job" + ODD: [levels[k % 3] for k in range(60)]})
    features = [
        mace.Feature(ODD, "integer", 18, 48, unit=CLEAR),
        mace.Feature("job" + ODD, "categorical", levels=levels),
    ]
    space = mace.Space(features, name="space" + ODD)
    label = [f"yes{ODD}" if k % 30 > 12 and k % 3 else "=no" + CLEAR for k in range(60)]
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(space.encode(frame), label)
    joblib.dump(model, folder / "model.joblib")
    space.save(folder / "space.toml")
    frame.to_csv(folder / "rows.csv", index=False)
    return folder


def run(folder: Path, command: str, *arguments: object) -> str:
    """What a command says on stdout and stderr, or as its error."""
    trained = ["--model", folder / "model.joblib", "--trust-pickle"]
    trained += ["--space", folder / "space.toml"] if command != "report" else []
    given = ["--data", folder / "rows.csv"]
    options = {"report": [], "check": [], "compile": trained}.get(command, [*trained, *given])
    done = CliRunner().invoke(app, [command, *map(str, [*options, *arguments])])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        assert isinstance(done.exception, MaceError), done.exception
        return done.output + str(done.exception)
    return done.output


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("explain", ["--goal", f"yes{ODD}"]),
        ("explain", ["--goal", f"yes{ODD}", "--format", "json"]),
        ("explain", ["--goal", f"yes{ODD}", "--oracle", "z3", "--count", "3"]),
        ("explain", ["--goal", CLEAR]),
        ("explain", ["--rule", CLEAR]),
        ("explain", ["--weight", f"{CLEAR}=1"]),
        ("explain", ["--distance", CLEAR]),
        ("inspect", []),
        ("inspect", ["--format", "json"]),
        ("verify", ["--property", f"reachable(\"{CLEAR}\")"]),
        ("verify", ["--property", "monotone(x, increasing)"]),
        ("verify", ["--property", CLEAR]),
        ("audit", ["--goal", f"yes{ODD}", "--n-jobs", "1", "--groups", "job" + ODD, "--limit", "4"]),
        ("audit", ["--goal", f"yes{ODD}", "--n-jobs", "1", "--limit", "4", "--format", "json"]),
        ("audit", ["--groups", CLEAR]),
        ("export", ["--to", "smt2"]),
        ("export", ["--to", "json"]),
        ("export", ["--to", CLEAR]),
        ("compile", []),
        ("compile", ["--to", "smt2"]),
        ("check", [CLEAR]),
        ("check", ["/dev/null"]),
        ("report", [CLEAR, "--out", "x.html"]),
    ],
    ids=lambda value: value if isinstance(value, str) else ascii(" ".join(value))[:40],
)  # fmt: skip
def test_no_command_prints_what_a_terminal_would_obey(odd, command, arguments):
    said = run(odd, command, *arguments)
    assert said
    assert unseen(said, "\n\t") == set()
    assert "\n0 unknown: forged" not in said, "a name with a line break must not look like a line of its own"


@pytest.mark.parametrize("form", ["text", "json", "junit", "sarif"])
def test_verdicts_show_odd_names_in_every_format(odd, form):
    name = json.dumps(ODD)
    said = run(odd, "verify", "--property", f"monotone({name}, increasing)", "--format", form)
    assert unseen(said, "\n\t") == set()


def test_answers_verdicts_and_audits_print_safely_in_python_too(odd):
    space = mace.Space.load(odd / "space.toml")
    frame = pd.read_csv(odd / "rows.csv")
    model = joblib.load(odd / "model.joblib")
    answer = mace.explain(model, space, frame.iloc[0], goal=f"yes{ODD}", background=frame)
    assert answer.status == "optimal"
    for said in (str(answer), answer._repr_html_(), repr(MaceError(ODD))):
        assert unseen(said) == set()


def test_an_audit_in_csv_is_read_back_and_starts_no_formula(odd, tmp_path):
    space = mace.Space.load(odd / "space.toml")
    frame = pd.read_csv(odd / "rows.csv")
    model = joblib.load(odd / "model.joblib")
    frame.index = [f"=1+{k}" for k in range(len(frame))]
    audit = mace.audit(model, space, frame, ["job" + ODD], goal=f"yes{ODD}", n_jobs=1, limit=4)
    from mace.audit.export import read

    for suffix in (".csv", ".jsonl", ".json"):
        assert read(audit.save(tmp_path / f"a{suffix}"))[0] == audit.records
        text = (tmp_path / f"a{suffix}").read_text(encoding="utf-8")
        assert suffix == ".csv" or unseen(text) == set()
    cells = pd.read_csv(tmp_path / "a.csv", dtype=str, keep_default_na=False)
    starts = {cell[:1] for column in cells for cell in cells[column]}
    assert starts & set("=+-@\t\r\n") == set()
    assert "'=1+0" in set(cells["label"])
    page = run(odd, "report", tmp_path / "a.json", "--out", tmp_path / "r.html", "--person", "0")
    assert unseen(page) == set()
    html = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert unseen(html) == set()
    assert CLEAR not in html


def test_the_parser_of_the_command_line_echoes_no_control_characters():
    """Names of files that a shell fills in come back in its messages."""
    command = [sys.executable, "-m", "mace", "check", "a", CLEAR, TURNED]
    ran = subprocess.run(command, capture_output=True, check=False, env=os.environ | {"PYTHONUTF8": "1"})
    assert ran.returncode == 2
    assert unseen(ran.stderr.decode()) == set()
    assert r"\x1b[2J" in ran.stderr.decode()


def test_the_command_line_prints_in_one_place():
    root = Path(mace.__file__).parent
    printing = [
        path.name
        for path in sorted(root.rglob("*.py"))
        if any(word in path.read_text(encoding="utf-8") for word in ("typer.echo(", "import Console", "click.echo("))
        and "compilers" not in path.parts
    ]
    assert printing == ["console.py", "output.py"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(1.5), "1.5"),
        ([np.int64(0), np.str_("a (b)"), np.str_("it's")], """[0, 'a (b)', "it's"]"""),
        ((np.bool_(True), np.uint8(3)), "(True, 3)"),
        (np.datetime64("2020"), "np.datetime64('2020')"),
    ],
)
def test_messages_show_scalars_of_numpy_as_those_of_python(value: object, text: str) -> None:
    assert short(value) == text
