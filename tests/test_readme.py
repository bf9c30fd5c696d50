"""The README's code prints what the README shows."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path

import joblib
import pytest
from sklearn.ensemble import RandomForestClassifier
from typer.testing import CliRunner

from mace import datasets
from mace.cli import app

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line.partition("#")[0].split(maxsplit=1)[1]
    for block in re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("mace ")
]
SHOWN = re.findall(r"```python\n((?:(?!```).)*)```\n\n```text\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(0, marks=[pytest.mark.slow]),
        pytest.param(1, marks=[pytest.mark.slow, pytest.mark.data]),
        pytest.param(2, marks=[pytest.mark.slow]),
    ],
    ids=["ten lines", "pipeline", "plan"],
)
def test_the_code_prints_what_stands_below_it(number):
    code, shown = SHOWN[number]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "README.md", "exec"), {})
    assert printed.getvalue() == shown


def test_the_quickstart_has_ten_lines():
    code, _ = SHOWN[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 10


@pytest.mark.slow
def test_every_command_runs_where_the_ones_before_it_ran(tmp_path, monkeypatch):
    examples = Path(__file__).parent.parent / "examples"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(examples)
    loans = datasets.load("loans")
    forest = RandomForestClassifier(10, max_depth=4, random_state=0).fit(loans.space.encode(loans.X), loans.y)
    joblib.dump(forest, "forest.joblib")
    assert len(COMMANDS) >= 9
    for command in COMMANDS:
        if "--pyodide" in command and not Path("node_modules/pyodide").exists():
            continue  # it comes from npm; tests/proofs has a test of the page
        few = ["--limit", "4"] if command.startswith("audit ") else []
        run = CliRunner().invoke(app, [*shlex.split(command), *few])
        allowed = (0, 10) if command.startswith("verify ") else (0,)  # this small forest need not be monotone
        assert run.exit_code in allowed, f"mace {command}\n{run.output}"
