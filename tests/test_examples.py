"""Every example prints what lies beside it, and one is run as a newcomer would run it."""

from __future__ import annotations

import contextlib
import io
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
SCRIPTS = sorted(EXAMPLES.glob("[0-9]*.py"))
NEEDS_DATA = {"02_forest_on_adult", "06_pipeline_on_adult"}


def _cases() -> list:
    found = []
    for script in SCRIPTS:
        marks = [pytest.mark.slow, *([pytest.mark.data] if script.stem in NEEDS_DATA else [])]
        found.append(pytest.param(script, id=script.stem, marks=marks))
    return found


@pytest.mark.parametrize("script", _cases())
def test_an_example_prints_what_lies_beside_it(script, monkeypatch):
    # In this process: eleven new ones would take as long to import the libraries as to run.
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "argv", [str(script)])
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(script), run_name="__main__")
    assert printed.getvalue() == script.with_suffix(".out").read_text(encoding="utf-8")


@pytest.mark.slow
def test_an_example_is_a_script(tmp_path):
    script = EXAMPLES / "01_handwritten_model.py"
    environment = {**os.environ, "COLUMNS": "120"}
    environment.pop("PYTHONPATH", None)
    ran = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == script.with_suffix(".out").read_text(encoding="utf-8")


def test_examples_are_numbered_without_a_gap():
    assert [script.stem[:2] for script in SCRIPTS] == [f"{n:02d}" for n in range(1, len(SCRIPTS) + 1)]
